/* See timed_memory.h. The sections L1 and "From the SM to memory" of docs/model/time.md. */
#include "timed_memory.h"
#include "timed_lines.h"
#include "timed_requests.h"

#include <stdlib.h>
#include <string.h>

enum {
    MERGE_ENTRIES = 64,
    JOIN_ENTRIES = 8192,
    ATOMIC_ENTRIES = 4096,
    LOOKUP_LEAD = 64 * CYCLE,
    PORT_LEAD = 256 * CYCLE,
    INPUT_LEAD = 256 * CYCLE
};

struct merge_entry {
    uint64_t line, time, sectors;
    bool used;
};

struct l1 {
    struct timed_lines cache;
    uint64_t tags_free_at, hits_free_at, data_free_at, port_free_at;
    struct merge_entry reads[MERGE_ENTRIES], store;
};

struct join_entry {
    uint64_t line, sectors;
    uint64_t arrived; /* at the join unit */
    uint64_t back;    /* there, with its data */
    uint64_t at_sm;
    uint64_t reads;
};

struct timed_memory {
    const struct timed_gpu *gpu;
    struct timed_oracle_result *result;
    struct l1 *l1s;
    struct timed_lines sides[TIMED_MAX_SIDES];
    uint64_t side_free_at[TIMED_MAX_SIDES], memory_free_at, input_free_at;
    uint64_t event; /* time of the event whose access is performed */
    struct {
        uint64_t unit, free_at;
    } atomics[ATOMIC_ENTRIES];
    struct join_entry (*joins)[JOIN_ENTRIES]; /* [groups] */
    uint64_t launches;                        /* so far */
};

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
    memory->memory_free_at = memory->input_free_at = 0;
    if (memory->gpu->cold || memory->launches == 0)
        result->dram_reads = memory->gpu->launch_sectors;
    memory->launches++;
    for (uint64_t sm = 0; sm < memory->gpu->sms; sm++) {
        struct l1 *l1 = &memory->l1s[sm];
        timed_lines_clear(&l1->cache);
        l1->cache.flight_count = 0;
        l1->tags_free_at = l1->hits_free_at = l1->data_free_at = l1->port_free_at = 0;
        memset(l1->reads, 0, sizeof l1->reads);
        l1->store = (struct merge_entry){0};
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

/* Uses a line and makes sectors present that arrive at `ready`. Returns its reuse distance. At
 * least one byte of the line is present if there are none of them. */
static uint32_t fill(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                     uint64_t sectors, uint64_t now, uint64_t ready)
{
    const uint64_t sector = memory->gpu->sector_bytes;
    const bool fresh = !timed_lines_hold(cache, line);
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
    return distance;
}

/* Notes which sectors a read misses and fetches. */
static void note_read(struct timed_lines *cache, uint64_t line, uint64_t missed, uint64_t fetched,
                      uint64_t *counts)
{
    miss_history_miss(&cache->history, line, missed, fetched, timed_lines_hold(cache, line),
                      counts);
}

/* Writes the bytes of a request. Returns the reuse distance of their line. */
static uint32_t write_bytes(struct timed_memory *memory, struct timed_lines *cache,
                            const struct timed_request *request)
{
    uint64_t set = 0;
    uint32_t distance = UINT32_MAX;
    bool first = true;
    if (!timed_lines_hold(cache, request->line))
        *timed_lines_flight(cache, request->line) = (struct timed_flight){.line = request->line};
    for (uint64_t i = 0; i < memory->gpu->line_bytes; i++)
        if (request->bytes[i]) {
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

static uint64_t read_memory(struct timed_memory *memory, uint64_t sectors, uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t count = count_bits(sectors);
    memory->result->dram_reads += count;
    return occupy(&memory->memory_free_at, now, count * memory_ticks(gpu)) +
           timed_ticks(gpu->memory_cycles - gpu->l2_cycles);
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
    note_read(home, line, *missed, *missed, NULL);
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
    note_read(cache, request->line, found.missed, found.fetched, misses);
    found.distance = fill(memory, cache, request->line, found.fetched, now, arrival);
    timed_lines_note_use(cache, request->line, sectors | found.fetched);
    found.ready = later(found.ready, arrival);
    return found;
}

/* Counts sectors, of which `hits` are hits. */
static void count(struct timed_oracle_counts *counts, enum fth_trace_access_kind kind,
                  uint64_t sectors, uint64_t hits, uint64_t flying, uint64_t distance,
                  uint64_t ways)
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
    count(&memory->result->l2, request->issue->instruction->kind, sectors,
          sectors & ~found->missed & ~(config->merged_hits ? 0 : found->flying), found->flying,
          found->distance, config->ways);
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

/* Reads sectors. Returns when they arrive at the SM. *fetched: those that the L2 has fetched for
 * this request. */
static uint64_t read_l2(struct timed_memory *memory, const struct timed_request *request,
                        uint64_t sectors, uint64_t now, uint64_t *fetched)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t sm = request->issue->sm, joined = timed_ticks(join_cycles(gpu));
    const uint64_t at_join = pass_port(memory, request, now);
    const uint64_t index = request->line * GOLDEN / (UINT64_C(1) << 40) % JOIN_ENTRIES;
    struct join_entry *entry = &memory->joins[gpu->join_group[sm]][index];
    const uint64_t duration = entry->back - entry->arrived;
    const uint64_t lag =
        at_join > entry->arrived ? at_join - entry->arrived : entry->arrived - at_join;
    if (gpu->joins && entry->line == request->line && entry->sectors == sectors && lag < duration &&
        entry->reads < gpu->join_reads) {
        entry->reads++;
        return entry->at_sm;
    }
    const uint64_t side = gpu->side_of[sm], looked_up = at_join + to_l2(gpu);
    const uint64_t wait = enter_side(memory, side, sectors, at_join) - looked_up;
    uint64_t *misses = memory->result->l2.misses;
    struct found found = read_side(memory, side, request, sectors, looked_up, misses);
    const uint64_t again = (*fetched & sectors) | found.early;
    miss_history_again(&memory->sides[side].history, request->line,
                       (again | (gpu->l2.merged_hits ? 0 : found.flying)) & ~found.missed, misses);
    found.missed |= again;
    found.flying &= ~again;
    count_l2(memory, request, sectors, &found);
    *fetched |= found.fetched;
    const uint64_t back = found.ready + to_l2(gpu), at_sm = back + wait + joined;
    *entry = (struct join_entry){request->line, sectors, at_join, back, at_sm, 1};
    return at_sm;
}

/* Writes bytes in the home side and makes their sectors absent in all others but `near`. */
static uint32_t write_home(struct timed_memory *memory, const struct timed_request *request,
                           uint64_t near)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t home = home_of(gpu, request->line);
    const uint32_t distance = write_bytes(memory, &memory->sides[home], request);
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
    const double rate = gpu->write_bytes_per_s > 0 ? gpu->write_bytes_per_s : gpu->l2_bytes_per_s;
    if (memory->input_free_at > INPUT_LEAD)
        now = later(now, memory->input_free_at - INPUT_LEAD);
    occupy(&memory->input_free_at, memory->event, count * sector_ticks(gpu, rate));
    return occupy(&memory->l1s[request->issue->sm].port_free_at, now, busy) + busy;
}

static uint64_t write_l2(struct timed_memory *memory, const struct timed_request *request,
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

static uint64_t atomic_l2(struct timed_memory *memory, const struct timed_request *request,
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

/* ---- L1 ---- */

static void count_l1(struct timed_memory *memory, const struct timed_request *request,
                     uint64_t present, uint64_t flying, uint32_t distance)
{
    const struct timed_cache_config *config = &memory->gpu->l1;
    count(&memory->result->l1, request->issue->instruction->kind, request->sectors,
          present & ~(config->merged_hits ? 0 : flying), flying, distance, config->ways);
}

static uint64_t send_misses(struct timed_memory *memory, const struct timed_request *request,
                            uint64_t sectors, uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    const uint64_t index = request->line / gpu->line_bytes * GOLDEN / (UINT64_C(1) << 58);
    struct merge_entry *entry = &memory->l1s[request->issue->sm].reads[index];
    if (!entry->used || entry->line != request->line || now >= entry->time)
        *entry = (struct merge_entry){
            .line = request->line, .time = now + merge_time(gpu, request->line, now), .used = true};
    return read_l2(memory, request, sectors, now, &entry->sectors);
}

/* A read that is looked up at `now`. A hit has its data at `hit`, other data waits for `backlog`.
 */
static uint64_t read_l1(struct timed_memory *memory, const struct timed_request *request,
                        uint64_t now, uint64_t hit, uint64_t backlog, bool *is_hit)
{
    const struct timed_gpu *gpu = memory->gpu;
    struct timed_lines *cache = &memory->l1s[request->issue->sm].cache;
    const bool allocates = request->issue->instruction->l1 != ORACLE_NO_ALLOCATE;
    const uint64_t missing =
        timed_lines_missing(cache, request->line, request->sectors, request->bytes);
    const uint64_t present = request->sectors & ~missing;
    const uint64_t flying = timed_lines_flying(cache, request->line, present, hit);
    uint64_t arrival = 0;
    if (flying)
        arrival = timed_lines_flight(cache, request->line)->ready;
    if (missing)
        arrival = later(arrival, send_misses(memory, request, missing, now));
    uint32_t distance = UINT32_MAX;
    uint64_t *misses = memory->result->l1.misses;
    note_read(cache, request->line, missing, 0, misses);
    if (!gpu->l1.merged_hits)
        miss_history_again(&cache->history, request->line, flying, misses);
    if (present || allocates) {
        distance = fill(memory, cache, request->line, allocates ? missing : 0, now, arrival);
        timed_lines_note_use(cache, request->line, request->sectors);
    }
    count_l1(memory, request, present, flying, distance);
    *is_hit = present == request->sectors && !flying;
    return *is_hit ? hit : later(hit, arrival + backlog);
}

/* Returns the sectors of a store that do not merge with an earlier one. */
static uint64_t merge_store(struct timed_memory *memory, const struct timed_request *request,
                            uint64_t now)
{
    struct merge_entry *entry = &memory->l1s[request->issue->sm].store;
    uint64_t counted = request->sectors;
    if (entry->used && entry->line == request->line && entry->time > now) {
        counted &= ~entry->sectors;
        entry->sectors |= request->sectors;
        entry->time = now + timed_ticks(memory->gpu->store_merge_cycles);
    } else {
        *entry = (struct merge_entry){.line = request->line,
                                      .time = now + timed_ticks(memory->gpu->store_merge_cycles),
                                      .sectors = request->sectors,
                                      .used = true};
    }
    return counted;
}

static uint64_t write_l1(struct timed_memory *memory, const struct timed_request *request,
                         uint64_t now)
{
    const struct timed_gpu *gpu = memory->gpu;
    struct timed_lines *cache = &memory->l1s[request->issue->sm].cache;
    const bool allocates = request->issue->instruction->l1 != ORACLE_NO_ALLOCATE;
    const uint64_t hits = timed_lines_touched(cache, request->line, request->sectors);
    uint32_t distance = UINT32_MAX;
    if (strcmp(gpu->l1_bypass, "off") != 0)
        timed_lines_drop(cache, request->line);
    else if (allocates || timed_lines_hold(cache, request->line))
        distance = write_bytes(memory, cache, request);
    count_l1(memory, request, hits, 0, distance);
    return write_l2(memory, request, merge_store(memory, request, now), now);
}

/* A request that bypasses the L1. */
static uint64_t bypass_l1(struct timed_memory *memory, const struct timed_request *request,
                          uint64_t now)
{
    const struct timed_instruction *instruction = request->issue->instruction;
    uint64_t fetched = 0;
    if (instruction->kind != FTH_TRACE_READ || instruction->l1 == ORACLE_EVICT)
        timed_lines_drop(&memory->l1s[request->issue->sm].cache, request->line);
    count_l1(memory, request, 0, 0, UINT32_MAX);
    if (instruction->kind == FTH_TRACE_READ)
        memory->result->l1.misses[MISS_COLD] += count_bits(request->sectors);
    if (instruction->kind == FTH_TRACE_READ)
        return read_l2(memory, request, request->sectors, now, &fetched);
    if (instruction->kind == FTH_TRACE_ATOMIC)
        return atomic_l2(memory, request, now);
    return write_l2(memory, request, merge_store(memory, request, now), now);
}

static bool bypasses(const struct timed_memory *memory, const struct timed_instruction *instruction)
{
    return instruction->kind == FTH_TRACE_ATOMIC || instruction->l1 == ORACLE_BYPASS ||
           instruction->l1 == ORACLE_EVICT || strcmp(memory->gpu->l1_bypass, "rwon") == 0;
}

/* Performs the line requests of an access. Returns how many are reads that hit. */
static uint64_t perform(struct timed_memory *memory, const struct timed_issue *issue, uint64_t busy,
                        uint64_t count, struct timed_l1_times *times)
{
    const bool is_read = issue->instruction->kind == FTH_TRACE_READ;
    const uint64_t delivery = later(times->begun, memory->l1s[issue->sm].hits_free_at);
    const uint64_t backlog = times->left - times->begun;
    struct timed_request request = {.line = UINT64_MAX};
    uint64_t hits = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t now = times->begun + (is_read ? i / 4 * CYCLE : i * busy / count);
        const uint64_t hit = delivery + hits * busy / count + timed_ticks(memory->gpu->l1_cycles);
        bool is_hit = false;
        uint64_t ready = now;
        timed_next_request(memory->gpu, issue, &request);
        if (bypasses(memory, issue->instruction))
            ready = bypass_l1(memory, &request, now) + (is_read ? backlog : 0);
        else if (is_read)
            ready = read_l1(memory, &request, now, hit, backlog, &is_hit);
        else
            ready = write_l1(memory, &request, now);
        ready = is_read ? later(ready, hit) : ready;
        if (is_read && !is_hit)
            ready += spread(memory->gpu, request.line, now);
        times->done = later(times->done, ready);
        hits += is_hit;
    }
    return hits;
}

void timed_memory_access(struct timed_memory *memory, const struct timed_issue *issue, uint64_t now,
                         struct timed_l1_times *times)
{
    struct l1 *l1 = &memory->l1s[issue->sm];
    const bool is_read = issue->instruction->kind == FTH_TRACE_READ;
    uint64_t count = 0;
    memory->event = now;
    const uint64_t busy = timed_l1_cycles(memory->gpu, issue, &count) * CYCLE;
    if (issue->shared) {
        const uint64_t begin = later(now, later(l1->tags_free_at, l1->hits_free_at));
        l1->tags_free_at = l1->hits_free_at = begin + issue->shared * CYCLE;
        occupy(&l1->data_free_at, begin, issue->shared * CYCLE);
    }
    times->begun = later(now, l1->tags_free_at);
    if (l1->hits_free_at > LOOKUP_LEAD)
        times->begun = later(times->begun, l1->hits_free_at - LOOKUP_LEAD);
    if (l1->port_free_at > PORT_LEAD)
        times->begun = later(times->begun, l1->port_free_at - PORT_LEAD);
    times->done = times->begun;
    times->left = occupy(&l1->data_free_at, times->begun, busy);
    const uint64_t hits = perform(memory, issue, busy, count, times);
    l1->tags_free_at = times->begun + (is_read ? (count + 3) / 4 * CYCLE : busy);
    occupy(&l1->hits_free_at, times->begun, is_read && count ? hits * busy / count : busy);
}
