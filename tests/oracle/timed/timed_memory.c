/* See timed_memory.h. The sections L1 and "From the SM to memory" of docs/model/time.md. */
#include "timed_parts.h"

#include <stdlib.h>
#include <string.h>

uint64_t timed_ticks(double cycles)
{
    return cycles > 0 ? (uint64_t)(cycles * CYCLE + 0.5) : 0;
}

/* ---- creation ---- */

struct timed_memory *timed_memory_create(const struct timed_gpu *gpu)
{
    struct timed_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        abort();
    memory->gpu = gpu;
    memory->l1s = calloc(gpu->sms, sizeof *memory->l1s);
    memory->joins = calloc(TIMED_MAX_SMS, sizeof *memory->joins);
    if (!memory->l1s || !memory->joins)
        abort();
    const enum fth_write write =
        strcmp(gpu->l1_bypass, "off") == 0 ? FTH_WRITE_THROUGH : FTH_WRITE_EVICT;
    for (uint64_t sm = 0; sm < gpu->sms; sm++)
        timed_lines_init(&memory->l1s[sm].cache, gpu, &gpu->l1, gpu->l1.size_bytes, write,
                         gpu->seed + sm);
    for (uint64_t side = 0; side < gpu->sides; side++)
        timed_lines_init(&memory->sides[side], gpu, &gpu->l2, gpu->l2.size_bytes / gpu->sides,
                         FTH_WRITE_BACK, gpu->seed + side);
    return memory;
}

void timed_memory_destroy(struct timed_memory *memory)
{
    for (uint64_t sm = 0; sm < memory->gpu->sms; sm++)
        timed_lines_fini(&memory->l1s[sm].cache);
    for (uint64_t side = 0; side < memory->gpu->sides; side++)
        timed_lines_fini(&memory->sides[side]);
    free(memory->l1s);
    free(memory->joins);
    free(memory);
}

void timed_memory_begin(struct timed_memory *memory, struct timed_oracle_result *result)
{
    memory->result = result;
    memory->memory_free_at = memory->stores_free_at = memory->input_free_at = 0;
    if (memory->gpu->cold || memory->launches == 0)
        result->dram_reads = memory->gpu->launch_sectors;
    memory->launches++;
    for (uint64_t sm = 0; sm < memory->gpu->sms; sm++) {
        struct l1 *l1 = &memory->l1s[sm];
        timed_lines_clear(&l1->cache);
        l1->cache.flight_count = 0;
        l1->tags_free_at = l1->hits_free_at = l1->data_free_at = l1->port_free_at = 0;
        l1->stalled_until = 0;
        memset(l1->last_reads, 0, sizeof l1->last_reads);
        l1->store = (struct store_entry){0};
        l1->accesses = l1->requests = l1->last = l1->sent = 0;
    }
    for (uint64_t side = 0; side < memory->gpu->sides; side++) {
        if (memory->gpu->cold)
            timed_lines_clear(&memory->sides[side]);
        memory->sides[side].flight_count = 0;
        memory->side_free_at[side] = 0;
    }
    memset(memory->joins, 0, TIMED_MAX_SMS * sizeof *memory->joins);
    memset(memory->atomics, 0, sizeof memory->atomics);
}

/* ---- sectors of a cache ---- */

/* Writes what an access of the L2 has evicted to memory. */
static void write_back(struct timed_memory *memory, struct timed_lines *cache,
                       const struct fth_cache_result *result);

/* Remembers which sectors of a line of the L2 are written in part. */
static void update_partials(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                            uint64_t set);

uint32_t timed_use_line(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                        uint64_t sectors)
{
    const uint64_t sector = memory->gpu->sector_bytes;
    uint64_t at = line, set = 0;
    uint32_t distance = UINT32_MAX;
    bool first = true;
    if (sectors == 0) {
        while (oracle_probe(cache->cache, at, 1) != FTH_CACHE_HIT)
            at++;
        return timed_lines_access(cache, at, 1, FTH_CACHE_READ).distance;
    }
    for (uint64_t i = 0; i < memory->gpu->line_bytes / sector; i++)
        if (sectors >> i & 1) {
            const struct fth_cache_result result =
                timed_lines_access(cache, line + i * sector, sector, FTH_CACHE_READ);
            write_back(memory, cache, &result);
            set = result.set;
            distance = first ? result.distance : distance;
            first = false;
        }
    update_partials(memory, cache, line, set);
    return distance;
}

void timed_add_flight(struct timed_lines *cache, uint64_t line, uint64_t sectors, bool fresh,
                      uint64_t now, uint64_t ready)
{
    struct timed_flight *flight = timed_lines_flight(cache, line);
    if (fresh)
        flight->late = 0;
    if (!fresh && flight->ready > now) {
        flight->ready = later(flight->ready, ready);
        flight->sectors |= sectors;
    } else {
        flight->ready = ready;
        flight->sectors = sectors;
    }
}

/* Does both. */
static uint32_t fill(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                     uint64_t sectors, uint64_t now, uint64_t ready)
{
    const bool fresh = !timed_lines_hold(cache, line);
    const uint32_t distance = timed_use_line(memory, cache, line, sectors);
    if (sectors)
        timed_add_flight(cache, line, sectors, fresh, now, ready);
    return distance;
}

void timed_note_read(struct timed_lines *cache, uint64_t line, uint64_t missed, uint64_t fetched,
                     uint64_t *counts)
{
    miss_history_miss(&cache->history, line, missed, fetched, timed_lines_hold(cache, line),
                      counts);
}

uint32_t timed_write_bytes(struct timed_memory *memory, struct timed_lines *cache,
                           const struct timed_request *request)
{
    uint64_t set = 0;
    uint32_t distance = UINT32_MAX;
    bool first = true;
    if (!timed_lines_hold(cache, request->line))
        *timed_lines_flight(cache, request->line) = (struct timed_flight){.line = request->line};
    for (uint64_t i = 0; i < memory->gpu->line_bytes; i++)
        if (request->bytes[i]) {
            if (!first && !request->bytes[i - 1]) /* each run of bytes is an access */
                oracle_begin(cache->cache, oracle_time(cache->cache));
            const struct fth_cache_result result =
                timed_lines_access(cache, request->line + i, 1, FTH_CACHE_WRITE);
            write_back(memory, cache, &result);
            set = result.set;
            distance = first ? result.distance : distance;
            first = false;
        }
    timed_lines_note_use(cache, request->line, request->sectors);
    update_partials(memory, cache, request->line, set);
    return distance;
}

/* ---- memory ---- */

/* Reads and writes sectors for which nothing waits. */
static void use_memory(struct timed_memory *memory, uint64_t read, uint64_t written)
{
    memory->result->dram_reads += count_bits(read);
    memory->result->dram_writes += count_bits(written);
    memory->memory_free_at += (count_bits(read) + count_bits(written)) * memory_ticks(memory->gpu);
}

static bool is_side(const struct timed_memory *memory, const struct timed_lines *cache)
{
    return cache >= memory->sides && cache < memory->sides + TIMED_MAX_SIDES;
}

static void write_back(struct timed_memory *memory, struct timed_lines *cache,
                       const struct fth_cache_result *result)
{
    if (result->evicted && is_side(memory, cache))
        use_memory(memory, timed_lines_forget_partial(cache, result->evicted_line),
                   result->evicted_dirty);
}

/* Completes the line of a set that is written in part for the longest time, if there are too many.
 */
static void limit_partials(struct timed_memory *memory, struct timed_lines *cache, uint64_t set)
{
    uint64_t count = 0, oldest = UINT64_MAX;
    for (size_t i = 0; i < cache->partial_count; i++)
        if (cache->partials[i].set == set) {
            oldest = count == 0 ? cache->partials[i].line : oldest;
            count++;
        }
    if (memory->gpu->partial_ways && count > memory->gpu->partial_ways) {
        const uint64_t read = timed_lines_forget_partial(cache, oldest);
        miss_history_add(&cache->history, MISS_COMPLETED, oldest, read);
        use_memory(memory, read, oracle_write_back(cache->cache, oldest));
    }
}

static void update_partials(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                            uint64_t set)
{
    const uint64_t all = ~UINT64_C(0) >> (64 - memory->gpu->line_bytes / memory->gpu->sector_bytes);
    if (!is_side(memory, cache))
        return;
    const uint64_t sectors =
        timed_lines_touched(cache, line, all) & timed_lines_missing(cache, line, all, NULL);
    for (size_t i = 0; i < cache->partial_count && sectors; i++)
        if (cache->partials[i].line == line) {
            cache->partials[i].sectors = sectors;
            return;
        }
    timed_lines_forget_partial(cache, line);
    if (!sectors)
        return;
    cache->partials = timed_grow(cache->partials, cache->partial_count, sizeof *cache->partials);
    cache->partials[cache->partial_count++] = (struct timed_partial){line, set, sectors};
    limit_partials(memory, cache, set);
}

/* The time that sectors need to enter the L2. */
static uint64_t entry_ticks(const struct timed_gpu *gpu, uint64_t count)
{
    const double rate = gpu->write_bytes_per_s > 0 ? gpu->write_bytes_per_s : gpu->l2_bytes_per_s;
    return count * sector_ticks(gpu, rate);
}

static uint64_t read_memory(struct timed_memory *memory, uint64_t sectors, uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t count = count_bits(sectors);
    memory->result->dram_reads += count;
    const uint64_t begin = occupy(&memory->memory_free_at, now, count * memory_ticks(gpu));
    const uint64_t enters = occupy(&memory->input_free_at, memory->event, entry_ticks(gpu, count));
    return later(begin, enters) + timed_ticks(gpu->memory_cycles - gpu->l2_cycles);
}

/* ---- L2 ---- */

/* What a read finds in its side. */
struct found {
    uint64_t missed, flying, early, fetched, ready;
    uint32_t distance;
};

/* Looks sectors up in the home side, which is not the near one. Returns when they arrive there. */
static uint64_t read_home(struct timed_memory *memory, uint64_t line, uint64_t sectors,
                          uint64_t now, uint64_t *missed)
{
    struct timed_lines *home = &memory->sides[home_of(memory->gpu, line)];
    uint64_t ready = now;
    *missed = timed_lines_missing(home, line, sectors, NULL);
    if (timed_lines_flying(home, line, sectors & ~*missed, now))
        ready = timed_lines_flight(home, line)->ready;
    if (*missed)
        ready = later(ready, read_memory(memory, *missed, now));
    timed_note_read(home, line, *missed, *missed, NULL);
    fill(memory, home, line, *missed, now, ready);
    if (*missed) {
        timed_lines_flight(home, line)->late = *missed;
        timed_lines_flight(home, line)->requested = now;
    }
    timed_lines_note_use(home, line, sectors);
    return ready;
}

static struct found read_side(struct timed_memory *memory, uint64_t side,
                              const struct timed_request *request, uint64_t sectors, uint64_t now,
                              uint64_t *misses)
{
    const struct timed_gpu *gpu = memory->gpu;
    struct timed_lines *cache = &memory->sides[side];
    struct found found = {.ready = now};
    uint64_t arrival = now, from_memory = 0;
    found.missed = timed_lines_missing(cache, request->line, sectors, NULL);
    found.flying = timed_lines_flying(cache, request->line, sectors & ~found.missed, now);
    if (found.flying) {
        struct timed_flight *flight = timed_lines_flight(cache, request->line);
        found.ready = flight->ready;
        found.early = now < flight->requested ? found.flying & flight->late : 0;
        for (uint64_t i = 0, each = later(gpu->fill_bytes / gpu->sector_bytes, 1); i < 64; i++)
            if (found.early >> i / each * each & ((UINT64_C(1) << each) - 1))
                flight->late &= ~(UINT64_C(1) << i);
    }
    if (found.missed) {
        found.fetched = timed_lines_missing(cache, request->line,
                                            timed_find_fills(gpu, request, found.missed), NULL);
        if (home_of(gpu, request->line) == side) {
            arrival = read_memory(memory, found.fetched, now);
        } else {
            const double both = gpu->far_cycles - gpu->l2_cycles;
            arrival =
                timed_ticks(both * 3 / 4) + read_home(memory, request->line, found.fetched,
                                                      now + timed_ticks(both / 4), &from_memory);
            memory->result->far_hits += count_bits(found.missed & ~from_memory);
        }
    }
    timed_note_read(cache, request->line, found.missed, found.fetched, misses);
    found.distance = fill(memory, cache, request->line, found.fetched, now, arrival);
    timed_lines_note_use(cache, request->line, sectors | found.fetched);
    found.ready = later(found.ready, arrival);
    return found;
}

void timed_count(struct timed_oracle_counts *counts, enum fth_trace_access_kind kind,
                 uint64_t sectors, uint64_t hits, uint64_t flying, uint64_t distance, uint64_t ways)
{
    uint64_t *profile = counts->profile[kind != FTH_TRACE_READ];
    counts->requests[kind]++;
    counts->sectors[kind] += count_bits(sectors);
    counts->merges[kind] += count_bits(flying);
    counts->hits[kind] += count_bits(hits);
    profile[distance < ways ? distance : ways] += count_bits(hits);
    profile[ways] += count_bits(sectors) - count_bits(hits);
}

static void count_l2(struct timed_memory *memory, const struct timed_request *request,
                     uint64_t sectors, const struct found *found)
{
    const struct timed_cache_config *config = &memory->gpu->l2;
    timed_count(&memory->result->l2, request->issue->instruction->kind, sectors,
                sectors & ~found->missed & ~(config->merged_hits ? 0 : found->flying),
                found->flying, found->distance, config->ways);
}

/* Sends a request through the port of its SM. Returns when it arrives at the join unit. */
static uint64_t pass_port(struct timed_memory *memory, const struct timed_request *request,
                          uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    return occupy(&memory->l1s[request->issue->sm].port_free_at, now,
                  timed_ticks(gpu->port_cycles)) +
           timed_ticks(join_cycles(gpu));
}

/* Occupies a side with sectors that leave the join unit at `now`. Returns when it begins. */
static uint64_t enter_side(struct timed_memory *memory, uint64_t side, uint64_t sectors,
                           uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    return occupy(&memory->side_free_at[side], now + to_l2(gpu),
                  count_bits(sectors) *
                      sector_ticks(gpu, gpu->l2_bytes_per_s / (double)gpu->sides));
}

/* Tries to join a request, or a further part of one. Returns whether that is possible. */
static bool join(struct timed_memory *memory, const struct timed_request *request, uint64_t sectors,
                 uint64_t at_join, struct sent_request *sent, struct join_entry *entry,
                 bool *recorded)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t duration = entry->back - entry->arrived;
    const uint64_t lag =
        at_join > entry->arrived ? at_join - entry->arrived : entry->arrived - at_join;
    const bool pending = gpu->joins && entry->line == request->line && !entry->closed &&
                         entry->reads && lag < duration;
    if (sent->sectors) /* a further part */
        return sent->joined && pending && !(sectors & ~entry->sectors);
    *recorded = true;
    if (pending && sectors != entry->sectors && sectors != entry->first) {
        entry->closed = true;
        *recorded = false;
    } else if (pending && entry->reads < gpu->join_reads) {
        entry->reads++;
        sent->joined = true;
    }
    return sent->joined;
}

uint64_t timed_read_l2(struct timed_memory *memory, const struct timed_request *request,
                       uint64_t sectors, uint64_t now, struct sent_request *sent)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t sm = request->issue->sm, joined = timed_ticks(join_cycles(gpu));
    const bool is_first = !sent->sectors;
    bool recorded = false;
    if (is_first)
        sent->sent = pass_port(memory, request, now) - joined;
    const uint64_t at_join = sent->sent + joined;
    const uint64_t index = request->line * GOLDEN / (UINT64_C(1) << 40) % JOIN_ENTRIES;
    struct join_entry *entry = &memory->joins[gpu->join_group[sm]][index];
    const bool shared = join(memory, request, sectors, at_join, sent, entry, &recorded);
    sent->sectors |= sectors;
    if (shared)
        return entry->at_sm;
    const uint64_t side = gpu->side_of[sm], looked_up = at_join + to_l2(gpu);
    const uint64_t wait = enter_side(memory, side, sectors, at_join) - looked_up;
    uint64_t *misses = memory->result->l2.misses;
    struct found found = read_side(memory, side, request, sectors, looked_up, misses);
    const uint64_t again = (sent->fetched & sectors) | found.early;
    miss_history_again(&memory->sides[side].history, request->line,
                       (again | (gpu->l2.merged_hits ? 0 : found.flying)) & ~found.missed, misses);
    found.missed |= again;
    found.flying &= ~again;
    count_l2(memory, request, sectors, &found);
    sent->fetched |= found.fetched;
    const uint64_t back = found.ready + to_l2(gpu), at_sm = back + wait + joined;
    if (recorded) {
        *entry = (struct join_entry){.line = request->line,
                                     .first = sectors,
                                     .sectors = sectors,
                                     .arrived = at_join,
                                     .back = back,
                                     .at_sm = at_sm,
                                     .reads = 1};
    } else if (!is_first && !sent->joined && entry->reads && entry->line == request->line &&
               entry->arrived == at_join) {
        entry->sectors |= sectors;
        entry->back = later(entry->back, back);
        entry->at_sm = later(entry->at_sm, at_sm);
    }
    return at_sm;
}

/* Writes bytes in the home side and makes their sectors absent in all others but `near`. */
static uint32_t write_home(struct timed_memory *memory, const struct timed_request *request,
                           uint64_t near)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t home = home_of(gpu, request->line);
    const uint32_t distance = timed_write_bytes(memory, &memory->sides[home], request);
    for (uint64_t side = 0; side < gpu->sides; side++)
        for (uint64_t i = 0; side != home && side != near && i < gpu->line_bytes; i++)
            if (request->bytes[i]) {
                struct timed_lines *other = &memory->sides[side];
                const uint64_t sector = UINT64_C(1) << i / gpu->sector_bytes;
                miss_history_add(&other->history, MISS_REMOVED, request->line,
                                 sector & ~timed_lines_missing(other, request->line, sector, NULL));
                oracle_invalidate_sector(other->cache, request->line + i);
            }
    return distance;
}

/* Makes the sectors that a write covers completely present in a side. */
static void keep_copy(struct timed_memory *memory, struct timed_lines *cache,
                      const struct timed_request *request)
{
    const uint64_t sector = memory->gpu->sector_bytes;
    uint64_t copied = 0;
    for (uint64_t at = 0; at < memory->gpu->line_bytes; at += sector) {
        uint64_t covered = 0;
        for (uint64_t i = 0; i < sector; i++)
            covered += request->bytes[at + i];
        if (covered < sector)
            continue;
        if (!timed_lines_hold(cache, request->line))
            *timed_lines_flight(cache, request->line) =
                (struct timed_flight){.line = request->line};
        const struct fth_cache_result result =
            timed_lines_access(cache, request->line + at, sector, FTH_CACHE_READ);
        write_back(memory, cache, &result);
        copied |= UINT64_C(1) << at / sector;
    }
    if (copied)
        timed_lines_note_use(cache, request->line, copied);
}

/* Returns whether the request writes only a part of one of the sectors. */
static bool is_partial(const struct timed_memory *memory, const struct timed_request *request,
                       uint64_t sectors)
{
    for (uint64_t i = 0; i < memory->gpu->line_bytes; i++)
        if (sectors >> i / memory->gpu->sector_bytes & 1 && !request->bytes[i])
            return true;
    return false;
}

/* Sends these sectors of a store. Returns when the SM has sent them. */
static uint64_t send_store(struct timed_memory *memory, const struct timed_request *request,
                           uint64_t sectors, uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t count = count_bits(sectors) + is_partial(memory, request, sectors);
    const uint64_t busy =
        later(timed_ticks(gpu->port_cycles), count * timed_ticks(gpu->store_cycles));
    if (memory->stores_free_at > INPUT_LEAD)
        now = later(now, memory->stores_free_at - INPUT_LEAD);
    occupy(&memory->stores_free_at, memory->event, entry_ticks(gpu, count));
    occupy(&memory->input_free_at, memory->event, entry_ticks(gpu, count));
    return occupy(&memory->l1s[request->issue->sm].port_free_at, now, busy) + busy;
}

uint64_t timed_write_l2(struct timed_memory *memory, const struct timed_request *request,
                        uint64_t counted, uint64_t now)
{
    const uint64_t near = memory->gpu->side_of[request->issue->sm];
    const struct found found = {.distance = write_home(memory, request, near)};
    if (near != home_of(memory->gpu, request->line))
        keep_copy(memory, &memory->sides[near], request);
    if (!counted)
        return now;
    count_l2(memory, request, counted, &found);
    return send_store(memory, request, counted, now);
}

uint64_t timed_atomic_l2(struct timed_memory *memory, const struct timed_request *request,
                         uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t home = home_of(gpu, request->line);
    const uint64_t at_l2 =
        enter_side(memory, home, request->sectors, pass_port(memory, request, now));
    const uint64_t unit = request->line / 512;
    const uint64_t index = unit * GOLDEN / (UINT64_C(1) << 52);
    if (memory->atomics[index].unit != unit)
        memory->atomics[index].free_at = 0;
    memory->atomics[index].unit = unit;
    const uint64_t begin =
        occupy(&memory->atomics[index].free_at, at_l2,
               (uint64_t)__builtin_popcountll(request->sectors) *
                   timed_ticks(gpu->atomic_cycles[request->issue->instruction->is_float]));
    struct found found = read_side(memory, home, request, request->sectors, begin, NULL);
    found.missed |= found.early;
    found.flying &= ~found.early;
    count_l2(memory, request, request->sectors, &found);
    write_home(memory, request, home);
    return found.ready + to_l2(gpu) + timed_ticks(join_cycles(gpu));
}
