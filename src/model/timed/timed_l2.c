/* The way from the SMs to the L2 and to memory, with times.
 *
 *   SM ── port ── join unit ── near side ── home side ── memory
 *
 * A read takes the port of its SM, which is busy for a while with each request. At the join unit of
 * its group of SMs, it is joined with a read of the same sectors that is under way, if there is one
 * and that one has not been joined too often. Otherwise it goes to the side that is near the SM.
 * Sectors that this side misses come from the home side of the line or, if that misses, too, from
 * memory. Sides and memory are busy for a while with each sector. A sector that is under way to a
 * side counts as a hit there, but its data arrives no earlier.
 *
 * Writes and atomics go to the home side. The port of an SM and the input of the L2 are busy with
 * each sector of a store, and with a byte mask if a sector is written in part. A write also leaves
 * its complete sectors in the side that is near its SM. Both invalidate what they write in other
 * sides. The L2 keeps sectors that are written in part; when it writes them back, it reads the rest
 * of them from memory. Atomics in the same 512 bytes follow each other at a distance. */
#include "model/timed/timed_joins.h"

#include <stdlib.h>
#include <string.h>

/* Size of the table of units that execute atomics: a power of two. Chosen: enough for the busy
 * ones; two units that share an entry are not delayed. */
enum { ATOMIC_SLOTS = 1 << 12, ATOMIC_SHIFT = 64 - 12 };

/* A store can be sent at most this long before the L2 can take it; until then, the SM waits. Chosen
 * to be the same as MAX_PORT_LEAD_CYCLES of timed_l1.c. */
enum { MAX_INPUT_LEAD_CYCLES = 256 };

/* A unit that executes the atomics of some contiguous bytes, and when it can take the next one. */
struct atomic_unit {
    uint64_t number, free_at;
};

/* What the last read of another side that fetched sectors of a line has fetched, and when it
 * arrived at the home side. Earlier accesses to the home side miss these sectors, although the
 * model handles them later. */
struct late_fetch {
    uint64_t from;
    uint32_t sectors;
};

struct side {
    struct fth_timed_cache cache;
    struct late_fetch *late;   /* [cache.slots] */
    uint64_t *partial_since;   /* [cache.slots] the write that made the line of the slot partial */
    uint64_t free_at;          /* when it can send the next sector */
    struct fth_shadow *shadow; /* NULL: the causes of misses are not wanted */
};

struct fth_timed_l2 {
    struct fth_timing timing;
    struct fth_shape shape;
    struct side *sides;
    uint64_t side_count, home_mask;
    uint64_t memory_free_at;
    uint64_t input_free_at; /* when the L2 can take the next sector of a store */
    uint64_t *port_free_at; /* [sms] */
    uint8_t *side_of_sm;    /* [sms] */
    struct fth_join_units joins;
    size_t sms;
    struct atomic_unit atomics[ATOMIC_SLOTS];
    uint64_t partial_ways; /* maximum number of partly written lines per set; 0: no limit */
    uint64_t partial_writes;
    uint64_t allocated_lines;     /* in this launch */
    uint64_t launch_sectors;      /* that a launch reads from memory if the L2 is empty */
    bool used;                    /* by an earlier launch */
    struct fth_curves *curves;    /* NULL: not wanted */
    struct fth_l2_counts *counts; /* [instructions + 1] */
    size_t instructions;
    struct fth_cache_level_totals totals;
};

/* ---- creation ---- */

static enum fth_status init(struct fth_timed_l2 *l2, const struct fth_model_params *params,
                            const struct fth_setting *setting, struct fth_error *error)
{
    l2->sides = calloc((size_t)l2->side_count, sizeof *l2->sides);
    l2->port_free_at = calloc(l2->sms, sizeof *l2->port_free_at);
    l2->side_of_sm = calloc(l2->sms, sizeof *l2->side_of_sm);
    l2->counts = calloc(l2->instructions + 1, sizeof *l2->counts);
    if (!l2->sides || !l2->port_free_at || !l2->side_of_sm || !l2->counts ||
        !fth_totals_init(&l2->totals, &l2->shape))
        return fth_no_memory(error, "model caches", NULL);
    l2->launch_sectors = fth_model_integer(params, FTH_KEY_LAUNCH_SECTORS);
    l2->partial_ways = fth_model_integer(params, FTH_KEY_PARTIAL_WAYS);
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        FTH_TRY(fth_timed_cache_init(&side->cache, &l2->shape, l2->shape.seed + i, 1, error));
        side->partial_since =
            fth_cache_array(side->cache.cache, side->cache.slots, sizeof *side->partial_since);
        side->late = fth_cache_array(side->cache.cache, side->cache.slots, sizeof *side->late);
        if (!side->partial_since || !side->late)
            return fth_no_memory(error, "model caches", NULL);
    }
    FTH_TRY(fth_side_of_sms(params, setting, l2->side_of_sm, error));
    return fth_joins_init(&l2->joins, params, error);
}

enum fth_status fth_timed_l2_create(const struct fth_model_params *params,
                                    const struct fth_setting *setting, size_t instructions,
                                    struct fth_timed_l2 **out, struct fth_error *error)
{
    struct fth_timed_l2 *l2 = calloc(1, sizeof *l2);
    *out = NULL;
    if (!l2)
        return fth_no_memory(error, "model caches", NULL);
    l2->shape = setting->l2;
    l2->side_count = setting->sides;
    l2->home_mask = setting->home_mask;
    l2->sms = (size_t)setting->sms;
    l2->instructions = instructions;
    const enum fth_status status = init(l2, params, setting, error);
    if (status == FTH_OK)
        *out = l2;
    else
        fth_timed_l2_destroy(l2);
    return status;
}

void fth_timed_l2_destroy(struct fth_timed_l2 *l2)
{
    if (!l2)
        return;
    for (uint64_t i = 0; l2->sides && i < l2->side_count; i++) {
        fth_timed_cache_fini(&l2->sides[i].cache);
        fth_shadow_destroy(l2->sides[i].shadow);
    }
    free(l2->sides);
    free(l2->port_free_at);
    free(l2->side_of_sm);
    fth_joins_fini(&l2->joins);
    free(l2->counts);
    fth_totals_fini(&l2->totals);
    free(l2);
}

enum fth_status fth_timed_l2_diagnose(struct fth_timed_l2 *l2, struct fth_error *error)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        FTH_TRY(fth_shadow_create(&l2->shape, l2->shape.lines, &l2->sides[i].shadow, error));
    return FTH_OK;
}

bool fth_timed_l2_failed(const struct fth_timed_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        if (l2->sides[i].shadow && fth_shadow_failed(l2->sides[i].shadow))
            return true;
    return false;
}

/* Empties a side. */
static void clear_side(const struct fth_timed_l2 *l2, struct side *side)
{
    fth_timed_cache_clear(&side->cache);
    if (side->shadow)
        fth_shadow_clear(side->shadow, l2->shape.lines);
}

void fth_timed_l2_begin(struct fth_timed_l2 *l2, const struct fth_timing *timing, bool cold)
{
    l2->timing = *timing;
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        if (cold)
            clear_side(l2, side);
        for (size_t slot = 0; !cold && slot < side->cache.slots; slot++)
            side->cache.flight[slot].ready = 0;
        side->free_at = 0;
    }
    l2->memory_free_at = l2->input_free_at = 0;
    l2->allocated_lines = 0;
    memset(l2->atomics, 0, sizeof l2->atomics);
    l2->counts[l2->instructions].dram_reads += cold || !l2->used ? l2->launch_sectors : 0;
    l2->used = true;
    memset(l2->port_free_at, 0, l2->sms * sizeof *l2->port_free_at);
    fth_joins_begin(&l2->joins);
}

struct fth_l2_counts *fth_timed_l2_counts(struct fth_timed_l2 *l2)
{
    return l2->counts;
}

const struct fth_cache_level_totals *fth_timed_l2_totals(const struct fth_timed_l2 *l2)
{
    return &l2->totals;
}

void fth_timed_l2_get_use(const struct fth_timed_l2 *l2, struct fth_l2_use *use)
{
    *use = (struct fth_l2_use){.allocated_lines = l2->allocated_lines};
    for (uint64_t i = 0; i < l2->side_count; i++) {
        const struct fth_cache *cache = l2->sides[i].cache.cache;
        use->lines += cache->slots;
        for (uint32_t slot = 0; cache->dirty && slot < cache->slots; slot++)
            if (cache->lines[slot].number != FTH_NO_LINE)
                use->dirty_sectors += fth_count_bits(cache->dirty[slot]);
    }
}

void fth_timed_l2_set_curves(struct fth_timed_l2 *l2, struct fth_curves *curves)
{
    l2->curves = curves;
}

void fth_timed_l2_reset_counts(struct fth_timed_l2 *l2)
{
    memset(l2->counts, 0, (l2->instructions + 1) * sizeof *l2->counts);
    fth_totals_clear(&l2->totals);
}

/* ---- parts of an access ---- */

static uint64_t home_of(const struct fth_timed_l2 *l2, uint64_t line)
{
    if (l2->side_count == 2)
        return (uint64_t)__builtin_parityll(line & l2->home_mask);
    return fth_count_bits(line & l2->home_mask) % l2->side_count;
}

/* Occupies something for a time, from `now` on or when it is free. Returns when it begins. */
static uint64_t occupy(uint64_t *free_at, uint64_t now, uint64_t time)
{
    const uint64_t start = now > *free_at ? now : *free_at;
    *free_at = start + time;
    return start;
}

/* Reads sectors from memory. Returns when their data arrives. */
static uint64_t read_memory(struct fth_timed_l2 *l2, uint32_t instruction, uint32_t sectors,
                            uint64_t now)
{
    const uint32_t count = fth_count_bits(sectors);
    l2->counts[instruction].dram_reads += count;
    return occupy(&l2->memory_free_at, now, count * l2->timing.mem_sector) + l2->timing.to_memory;
}

/* Writes the changed sectors of an evicted line to memory. */
static void write_back(struct fth_timed_l2 *l2, const struct fth_cache_result *result)
{
    if (!result->evicted || !result->evicted_dirty)
        return;
    const uint32_t count = fth_count_bits(result->evicted_dirty);
    l2->counts[l2->instructions].dram_writes += count;
    l2->memory_free_at += count * l2->timing.mem_sector;
}

/* Reads what is missing of the partly written sectors of a slot, because they are written back. */
static void complete(struct fth_timed_l2 *l2, struct fth_slot_flight *slot)
{
    const uint32_t count = fth_count_bits(slot->partial);
    l2->counts[l2->instructions].dram_reads += count;
    l2->memory_free_at += count * l2->timing.mem_sector;
    slot->partial = 0;
}

/* Prepares a slot for a line that has just been allocated in it. */
static void renew(struct fth_timed_l2 *l2, struct side *side, uint32_t slot)
{
    side->cache.flight[slot].ready = 0;
    side->late[slot].sectors = 0;
    l2->allocated_lines++;
    if (side->cache.flight[slot].partial)
        complete(l2, &side->cache.flight[slot]);
}

/* Places sectors that arrive at `ready` in a side. */
static uint32_t fill(struct fth_timed_l2 *l2, struct side *side,
                     struct fth_cache_location *location, uint32_t sectors, uint64_t now,
                     uint64_t ready)
{
    struct fth_timed_cache *cache = &side->cache;
    struct fth_cache_result result;
    const bool fresh = location->slot == FTH_NO_SLOT;
    fth_cache_fill(cache->cache, location, sectors, &result);
    write_back(l2, &result);
    if (fresh)
        renew(l2, side, location->slot);
    if (sectors) {
        fth_flight_add(&cache->flight[location->slot], fresh, sectors, now, ready);
        cache->flight[location->slot].partial &= ~sectors;
    }
    return result.distance;
}

/* Notes that a read misses sectors of a line, which is in the side or not, and fetches some. */
static void note_miss(const struct side *side, const struct fth_cache_location *location,
                      uint64_t line, uint32_t missed, uint32_t fetched,
                      struct fth_model_misses *misses)
{
    if (side->shadow && missed)
        fth_shadow_miss(side->shadow, line, missed, fetched, location->slot != FTH_NO_SLOT, misses);
}

/* Notes that an access has used a line and these of its sectors. */
static void note_use(const struct side *side, const struct fth_cache_location *location,
                     uint64_t line, uint32_t sectors)
{
    if (side->shadow)
        fth_shadow_use(side->shadow, line, location->slot,
                       side->cache.cache->lines[location->slot].valid & sectors);
}

/* Fetches sectors from the home side of a line, which is not the near one. Returns when they arrive
 * at the near side. *missed gets those that the home side misses. */
static uint64_t read_home(struct fth_timed_l2 *l2, uint64_t home, uint64_t line, uint32_t sectors,
                          uint32_t instruction, uint64_t now, uint32_t *missed)
{
    struct fth_timed_cache *cache = &l2->sides[home].cache;
    struct fth_cache_location location = fth_cache_locate(cache->cache, line);
    const uint64_t there = now + l2->timing.to_far;
    uint64_t ready = there;
    *missed = (uint32_t)fth_cache_missing(cache->cache, &location, sectors, NULL, 0);
    const uint32_t held = sectors & ~*missed;
    if (held && fth_flight_pending(&cache->flight[location.slot], held, there))
        ready = cache->flight[location.slot].ready;
    if (*missed) {
        const uint64_t arrival = read_memory(l2, instruction, *missed, there);
        ready = arrival > ready ? arrival : ready;
    }
    note_miss(&l2->sides[home], &location, line, *missed, *missed, NULL);
    fill(l2, &l2->sides[home], &location, *missed, there, ready);
    if (*missed)
        l2->sides[home].late[location.slot] = (struct late_fetch){there, *missed};
    note_use(&l2->sides[home], &location, line, sectors);
    return ready + l2->timing.from_far;
}

/* Whole fills of the size that a hint or the L2 has. */
static uint32_t find_fills(const struct fth_timed_l2 *l2, uint8_t flags, uint32_t missing)
{
    const unsigned number = (flags & FTH_LINE_REQUEST_L2_FLAGS) >> FTH_LINE_REQUEST_FILL_SHIFT;
    uint64_t bytes = number ? UINT64_C(16) << number : l2->shape.fill_bytes;
    if (bytes < l2->shape.sector_bytes)
        bytes = l2->shape.sector_bytes;
    if (bytes > l2->shape.line_bytes)
        bytes = l2->shape.line_bytes;
    return (uint32_t)fth_whole_fills(&l2->shape, bytes, missing);
}

/* What a read found in a side. */
struct found {
    uint32_t missed;  /* requested sectors that it did not have */
    uint32_t flying;  /* requested sectors that are under way */
    uint32_t early;   /* those of them that nobody had requested there at this time */
    uint32_t fetched; /* sectors that were fetched, in whole fills */
    uint32_t distance;
    uint64_t ready;
};

/* Returns those of some sectors under way that a read of another side fetches whose request arrives
 * only after `now`. This access is then the first one to their fills. */
static uint32_t find_early(const struct fth_timed_l2 *l2, struct late_fetch *late, uint32_t flying,
                           uint64_t now)
{
    const uint32_t early = now < late->from ? flying & late->sectors : 0;
    if (early)
        late->sectors &= ~(uint32_t)fth_whole_fills(&l2->shape, l2->shape.fill_bytes, early);
    return early;
}

/* Reads sectors in a side, and fetches what it misses. `misses` may be NULL. */
static struct found read_side(struct fth_timed_l2 *l2, uint64_t side,
                              const struct fth_timed_request *request, uint32_t sectors,
                              uint64_t now, struct fth_model_misses *misses)
{
    struct fth_timed_cache *cache = &l2->sides[side].cache;
    const uint64_t line = request->line->line, home = home_of(l2, line);
    struct fth_cache_location location = fth_cache_locate(cache->cache, line);
    struct found found = {.ready = now};
    found.missed = (uint32_t)fth_cache_missing(cache->cache, &location, sectors, NULL, 0);
    const uint32_t held = sectors & ~found.missed;
    if (held && (found.flying = fth_flight_pending(&cache->flight[location.slot], held, now))) {
        found.ready = cache->flight[location.slot].ready;
        found.early = find_early(l2, &l2->sides[side].late[location.slot], found.flying, now);
    }
    uint64_t arrival = now;
    if (found.missed) {
        uint32_t from_memory = 0;
        found.fetched = (uint32_t)fth_cache_missing(
            cache->cache, &location, find_fills(l2, request->line->flags, found.missed), NULL, 0);
        if (home == side) {
            arrival = read_memory(l2, request->instruction, found.fetched, now);
        } else {
            arrival =
                read_home(l2, home, line, found.fetched, request->instruction, now, &from_memory);
            l2->counts[request->instruction].far_hits +=
                fth_count_bits(found.missed & ~from_memory);
        }
    }
    note_miss(&l2->sides[side], &location, line, found.missed, found.fetched, misses);
    found.distance = fill(l2, &l2->sides[side], &location, found.fetched, now, arrival);
    note_use(&l2->sides[side], &location, line, sectors | found.fetched);
    found.ready = arrival > found.ready ? arrival : found.ready;
    return found;
}

static void count(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                  enum fth_trace_access_kind kind, uint32_t sectors, const struct found *found)
{
    struct fth_model_counts *counts = &l2->counts[request->instruction].counts;
    const uint32_t misses = fth_count_bits(found->missed), flying = fth_count_bits(found->flying);
    const uint32_t hits = fth_count_bits(sectors) - misses - (l2->shape.merged_hits ? 0 : flying);
    counts->requests[kind]++;
    counts->sectors[kind] += fth_count_bits(sectors);
    counts->hits[kind] += hits;
    counts->merges[kind] += flying;
    fth_totals_add(&l2->totals, kind, found->distance, hits, fth_count_bits(sectors) - hits);
}

/* ---- accesses ---- */

/* Returns the time from the join unit to the near side for a read. */
static uint64_t to_l2(const struct fth_timing *timing, const struct fth_timed_request *request)
{
    if (!timing->l2_deviation)
        return timing->to_l2;
    const uint64_t draw = fth_order_draw(timing->order, request->line->line ^ request->sm);
    return timing->to_l2 - timing->l2_deviation + (2 * timing->l2_deviation * draw >> 16);
}

FTH_CLONES
static uint64_t run_read(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                         uint32_t sectors, uint64_t now, uint32_t *fetched)
{
    const struct fth_timing *timing = &l2->timing;
    const uint64_t line = request->line->line, side = l2->side_of_sm[request->sm];
    const uint64_t sent = occupy(&l2->port_free_at[request->sm], now, timing->port);
    const uint64_t at_join = sent + timing->to_join;
    struct fth_pending_read *read = fth_joins_find(&l2->joins, request->sm, line);
    uint64_t ready;
    if (fth_joins_join(&l2->joins, read, line, sectors, at_join, timing->join_reads, &ready))
        return ready;
    if (l2->curves)
        fth_curves_add_l2(l2->curves, line, sectors);
    const uint64_t at_l2 = at_join + to_l2(timing, request);
    struct fth_model_misses *misses = &l2->counts[request->instruction].misses;
    struct found found = read_side(l2, side, request, sectors, at_l2, misses);
    /* Sectors that an earlier part of the same request has fetched count as missed, and so do those
     * that a read of another side has not requested yet. */
    const uint32_t again = (sectors & *fetched & ~found.missed) | found.early;
    found.missed |= again;
    found.flying &= ~again;
    const uint32_t repeated = again | (l2->shape.merged_hits ? 0 : found.flying);
    if (l2->sides[side].shadow && repeated)
        fth_shadow_miss_again(l2->sides[side].shadow, line, repeated, misses);
    *fetched |= found.fetched;
    count(l2, request, FTH_TRACE_READ, sectors, &found);
    /* The bandwidth of a side limits what it sends, not what it looks up. */
    const uint64_t wait =
        occupy(&l2->sides[side].free_at, at_l2, fth_count_bits(sectors) * timing->l2_sector) -
        at_l2;
    const uint64_t until = found.ready + timing->to_l2;
    ready = until + wait + timing->to_join;
    fth_joins_note(&l2->joins, read, line, sectors, at_join, until, ready);
    return ready;
}

uint64_t fth_timed_l2_port(const struct fth_timed_l2 *l2, uint32_t sm)
{
    return l2->port_free_at[sm];
}

uint64_t fth_timed_l2_read(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                           uint32_t sectors, uint64_t now, uint32_t *fetched)
{
    return run_read(l2, request, sectors, now, fetched);
}

/* Invalidates the written bytes in a side. */
static void invalidate(const struct fth_timed_l2 *l2, struct side *side, uint64_t line,
                       struct fth_cache_run run)
{
    struct fth_cache *cache = side->cache.cache;
    if (side->shadow) {
        const struct fth_cache_location location = fth_cache_locate(cache, line);
        const uint64_t to = run.from + run.bytes;
        uint64_t held = fth_sectors_of(l2->shape.sector_shift, run.from, to);
        held &= ~fth_cache_missing(cache, &location, held, NULL, 0);
        fth_shadow_remove(side->shadow, line, held);
    }
    fth_cache_invalidate_sectors(cache, line + run.from, run.bytes);
}

/* Invalidates the written bytes in all sides but two. */
static void invalidate_others(struct fth_timed_l2 *l2, uint64_t home, uint64_t near, uint64_t line,
                              struct fth_cache_run run)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        if (i != home && i != near)
            invalidate(l2, &l2->sides[i], line, run);
}

/* Returns the sectors that a range of bytes covers completely. */
static uint32_t whole_sectors(const struct fth_shape *shape, struct fth_cache_run run)
{
    const uint64_t first = (run.from + shape->sector_bytes - 1) >> shape->sector_shift;
    const uint64_t end = (uint64_t)(run.from + run.bytes) >> shape->sector_shift;
    return first < end ? (uint32_t)((UINT64_C(1) << end) - (UINT64_C(1) << first)) : 0;
}

/* Leaves a copy of the sectors that a store writes completely in the side near its SM, which is not
 * the home side. Those that it writes in part stay valid there if they were. */
static void keep_near_copy(struct fth_timed_l2 *l2, uint64_t near,
                           const struct fth_timed_line *line, const struct fth_cache_run *runs)
{
    struct side *side = &l2->sides[near];
    struct fth_cache_location location = fth_cache_locate(side->cache.cache, line->line);
    struct fth_cache_result result;
    const bool fresh = location.slot == FTH_NO_SLOT;
    uint32_t whole = line->run_count ? 0 : line->sectors;
    for (uint32_t i = 0; i < line->run_count; i++)
        whole |= whole_sectors(&l2->shape, runs[i]);
    if (!whole)
        return;
    /* Other sectors of the line may be in flight; these are not. */
    fth_cache_fill(side->cache.cache, &location, whole, &result);
    write_back(l2, &result);
    if (fresh)
        renew(l2, side, location.slot);
    note_use(side, &location, line->line, whole);
}

/* Limits the partly written lines of a set: writes back the oldest one. */
static void limit_partials(struct fth_timed_l2 *l2, struct side *side, uint32_t set)
{
    const uint32_t first = fth_set_first(side->cache.cache, set);
    const uint32_t end = fth_set_first(side->cache.cache, set + 1);
    uint32_t oldest = first;
    uint64_t count = 0;
    for (uint32_t slot = first; slot < end; slot++) {
        if (!side->cache.flight[slot].partial)
            continue;
        if (!count++ || side->partial_since[slot] < side->partial_since[oldest])
            oldest = slot;
    }
    if (!l2->partial_ways || count <= l2->partial_ways)
        return;
    if (side->shadow)
        fth_shadow_complete(side->shadow,
                            side->cache.cache->lines[oldest].number << l2->shape.line_shift,
                            side->cache.flight[oldest].partial);
    complete(l2, &side->cache.flight[oldest]);
    const uint32_t dirty = fth_count_bits(fth_cache_write_back(side->cache.cache, oldest));
    l2->counts[l2->instructions].dram_writes += dirty;
    l2->memory_free_at += dirty * l2->timing.mem_sector;
}

/* Keeps which sectors of a line are written in part, after a write of `touched`. */
static void update_partials(struct fth_timed_l2 *l2, struct side *side,
                            const struct fth_cache_location *location, uint32_t touched)
{
    uint32_t *partial = &side->cache.flight[location->slot].partial;
    const uint32_t before = *partial;
    *partial &= ~touched;
    *partial |= (uint32_t)fth_cache_missing(side->cache.cache, location, touched, NULL, 0);
    if (before || !*partial)
        return;
    side->partial_since[location->slot] = l2->partial_writes++;
    limit_partials(l2, side, location->set);
}

/* Writes the bytes of a request in its home side, and invalidates them in all others except `near`.
 * Returns the distance of the first write. */
static uint32_t write_home(struct fth_timed_l2 *l2, uint64_t home,
                           const struct fth_timed_request *request, uint64_t near)
{
    struct side *side = &l2->sides[home];
    struct fth_timed_cache *cache = &side->cache;
    const struct fth_timed_line *line = request->line;
    struct fth_cache_location location = fth_cache_locate(cache->cache, line->line);
    uint64_t left = line->run_count ? 0 : line->sectors;
    uint32_t distance = UINT32_MAX;
    for (uint32_t i = 0; i < line->run_count || left; i++) {
        struct fth_cache_result result;
        const bool fresh = location.slot == FTH_NO_SLOT;
        const struct fth_cache_run run =
            line->run_count ? request->runs[i] : fth_take_sector_run(&l2->shape, &left);
        fth_cache_write(cache->cache, &location, run, &result);
        distance = i == 0 ? result.distance : distance;
        write_back(l2, &result);
        if (fresh)
            renew(l2, side, location.slot);
        invalidate_others(l2, home, near, line->line, run);
    }
    note_use(side, &location, line->line, line->sectors);
    update_partials(l2, side, &location, line->sectors);
    return distance;
}

/* Sectors that the way from an SM to the L2 is busy with for a store: those that it sends, and one
 * more for the byte mask if it writes a part of a sector. */
static uint32_t store_sectors(const struct fth_timed_l2 *l2,
                              const struct fth_timed_request *request, uint32_t sent)
{
    uint32_t whole = request->line->run_count ? 0 : request->line->sectors;
    for (uint32_t i = 0; i < request->line->run_count; i++)
        whole |= whole_sectors(&l2->shape, request->runs[i]);
    return fth_count_bits(sent) + ((sent & ~whole) != 0);
}

/* Sends a store to the L2. Returns when it has left the SM, which waits if the L2 still has too
 * many earlier ones to take. The input of the L2 is busy from the time of the event on, because SMs
 * send at times that are not in the order of events. */
static uint64_t send_store(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                           uint32_t sectors, uint64_t now)
{
    const struct fth_timing *timing = &l2->timing;
    const uint64_t ahead = (uint64_t)MAX_INPUT_LEAD_CYCLES * FTH_TICKS_PER_CYCLE;
    const uint64_t time = fth_later(timing->port, sectors * timing->store);
    if (l2->input_free_at > ahead)
        now = fth_later(now, l2->input_free_at - ahead);
    occupy(&l2->input_free_at, request->issued, sectors * timing->l2_write);
    return occupy(&l2->port_free_at[request->sm], now, time) + time;
}

FTH_CLONES
static uint64_t run_write(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                          uint32_t counted, uint64_t now)
{
    const uint64_t home = home_of(l2, request->line->line);
    const uint64_t near = l2->side_of_sm[request->sm];
    const uint64_t sent =
        counted ? send_store(l2, request, store_sectors(l2, request, counted), now) : now;
    struct found found = {.distance = write_home(l2, home, request, near)};
    if (near != home)
        keep_near_copy(l2, near, request->line, request->runs);
    if (counted) {
        /* The L2 of an H200 counts every written sector as a hit. */
        count(l2, request, FTH_TRACE_WRITE, counted, &found);
    }
    return sent;
}

/* Returns when an atomic that arrives at `now` begins. It occupies the unit of its line with each
 * sector. A unit has 512 contiguous bytes, as on an H200 (docs/results/diagnosis-h200.md). */
static uint64_t begin_atomic(struct fth_timed_l2 *l2, const struct fth_timed_line *line,
                             uint64_t now)
{
    enum { UNIT_BYTES = 512 };
    const uint64_t number = line->line / UNIT_BYTES;
    struct atomic_unit *unit = &l2->atomics[number * UINT64_C(0x9e3779b97f4a7c15) >> ATOMIC_SHIFT];
    if (unit->number != number)
        *unit = (struct atomic_unit){.number = number};
    return occupy(&unit->free_at, now,
                  fth_count_bits(line->sectors) *
                      l2->timing.atomic[(line->flags & FTH_LINE_REQUEST_FLOAT) != 0]);
}

uint64_t fth_timed_l2_write(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                            uint32_t counted, uint64_t now)
{
    return run_write(l2, request, counted, now);
}

uint64_t fth_timed_l2_atomic(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                             uint64_t now)
{
    const struct fth_timing *timing = &l2->timing;
    const uint64_t home = home_of(l2, request->line->line);
    const uint32_t sectors = request->line->sectors;
    const uint64_t sent = occupy(&l2->port_free_at[request->sm], now, timing->port);
    const uint64_t at_l2 = occupy(&l2->sides[home].free_at, sent + timing->to_join + timing->to_l2,
                                  fth_count_bits(sectors) * timing->l2_sector);
    const uint64_t begin = begin_atomic(l2, request->line, at_l2);
    struct found found = read_side(l2, home, request, sectors, begin, NULL);
    found.missed |= found.early;
    found.flying &= ~found.early;
    count(l2, request, FTH_TRACE_ATOMIC, sectors, &found);
    write_home(l2, home, request, home);
    return found.ready + timing->to_l2 + timing->to_join;
}

void fth_timed_l2_prepare(const struct fth_timed_l2 *l2, uint32_t sm,
                          const struct fth_timed_line *line)
{
    const struct side *near = &l2->sides[l2->side_of_sm[sm]];
    const struct side *home = &l2->sides[home_of(l2, line->line)];
    fth_timed_cache_prepare(&near->cache, near->shadow, line);
    if (home != near)
        fth_timed_cache_prepare(&home->cache, home->shadow, line);
    fth_prefetch(fth_joins_find(&l2->joins, sm, line->line));
}

void fth_timed_l2_prepare_slot(const struct fth_timed_l2 *l2, uint32_t sm,
                               const struct fth_timed_line *line, bool writes)
{
    const struct side *near = &l2->sides[l2->side_of_sm[sm]];
    const struct side *home = &l2->sides[home_of(l2, line->line)];
    const bool found = fth_timed_cache_prepare_slot(&near->cache, near->shadow, line, writes);
    if (home != near && (!found || writes))
        fth_timed_cache_prepare_slot(&home->cache, home->shadow, line, writes);
}
