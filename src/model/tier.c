/* One cache, step by step (Section 4.4 of the paper). The requests that warps make together wait in
 * a queue for each bank; in a step a bank takes as many as it has ports, the first ones of each
 * queue in the order of the warps. A request that hits, or joins a miss under way, is done; a miss
 * needs a free register, and without one fails and comes again in the next step. All are done
 * before the next requests come.
 *
 * A miss takes its place in the cache at once, as its tag does in hardware and in Table 3 (where D
 * is at distance 2 behind F and H, which have not come yet). So hits do not depend on the latency,
 * but for the order that fails make. */
#include "model/tier.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- making ---- */

/* The first sets have one way more, where the lines do not come out even. */
static enum fth_status create_cache(const struct fth_shape *shape, uint64_t seed,
                                    struct fth_cache **cache, struct fth_error *error)
{
    struct fth_cache_config config = {.line_bytes = shape->line_bytes,
                                      .sector_bytes = shape->sector_bytes,
                                      .sets = shape->sets,
                                      .ways = shape->ways,
                                      .index = shape->index,
                                      .policy = shape->policy,
                                      .write = shape->write,
                                      .seed = seed,
                                      .distances = strcmp(shape->policy, "lru") == 0};
    const uint64_t more = shape->lines % shape->sets;
    if (more == 0)
        return fth_cache_create(&config, cache, error);
    uint64_t *set_ways = calloc(shape->sets, sizeof *set_ways);
    if (!set_ways)
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    for (uint64_t set = 0; set < shape->sets; set++)
        set_ways[set] = shape->lines / shape->sets + (set < more);
    config.ways = 0;
    config.set_ways = set_ways;
    enum fth_status status = fth_cache_create(&config, cache, error);
    free(set_ways);
    return status;
}

/* Section 4.4.2: 4 sets of registers for 7 partitions: two partitions a set, and one for the last.
 */
static size_t mshr_of(const struct fth_shape *shape, size_t unit)
{
    const size_t partition = unit / (size_t)shape->banks;
    const size_t each = (size_t)((shape->partitions + shape->mshr_sets - 1) / shape->mshr_sets);
    return partition / each;
}

static enum fth_status create_units(struct fth_tier *level, struct fth_error *error)
{
    const struct fth_shape *shape = &level->shape;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < level->mshr_count && status == FTH_OK; i++)
        status = fth_mshr_create(shape->mshr_size, &level->mshrs[i], error);
    for (size_t i = 0; i < level->unit_count && status == FTH_OK; i++) {
        struct fth_unit *unit = &level->units[i];
        unit->head = unit->tail = NONE;
        unit->mshr = level->mshrs[mshr_of(shape, i)];
        status = create_cache(shape, shape->seed + i, &unit->cache, error);
    }
    return status;
}

static struct fth_dealing make_dealing(uint64_t count, uint64_t bytes)
{
    return (struct fth_dealing){.count = count,
                                .bytes = bytes,
                                .even = (count & (count - 1)) == 0 && (bytes & (bytes - 1)) == 0,
                                .count_shift = (unsigned)__builtin_ctzll(count),
                                .bytes_shift = (unsigned)__builtin_ctzll(bytes)};
}

enum fth_status fth_tier_create(const struct fth_shape *shape, struct fth_tier **out,
                                struct fth_error *error)
{
    struct fth_tier *level = calloc(1, sizeof *level);
    *out = NULL;
    if (!level)
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    level->shape = *shape;
    level->unit_count = (size_t)(shape->partitions * shape->banks);
    level->mshr_count =
        (size_t)(shape->mshr_sets < shape->partitions ? shape->mshr_sets : shape->partitions);
    level->partitions = make_dealing(shape->partitions, shape->partition_bytes);
    level->banks = make_dealing(shape->banks, shape->bank_bytes);
    level->units = calloc(level->unit_count, sizeof *level->units);
    level->mshrs = calloc(level->mshr_count, sizeof *level->mshrs);
    level->totals.profile_size = (size_t)shape->ways + 1;
    for (int i = 0; i < 2; i++)
        level->totals.profile[i] =
            calloc(level->totals.profile_size, sizeof *level->totals.profile[i]);
    enum fth_status status =
        level->units && level->mshrs && level->totals.profile[0] && level->totals.profile[1]
            ? create_units(level, error)
            : fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    if (status == FTH_OK)
        *out = level;
    else
        fth_tier_destroy(level);
    return status;
}

void fth_tier_destroy(struct fth_tier *level)
{
    if (!level)
        return;
    for (size_t i = 0; level->units && i < level->unit_count; i++)
        fth_cache_destroy(level->units[i].cache);
    for (size_t i = 0; level->mshrs && i < level->mshr_count; i++)
        fth_mshr_destroy(level->mshrs[i]);
    for (int i = 0; i < 2; i++)
        free(level->totals.profile[i]);
    free(level->units);
    free(level->mshrs);
    free(level->next);
    free(level->turn);
    free(level->spots);
    free(level);
}

void fth_tier_clear(struct fth_tier *level)
{
    for (size_t i = 0; i < level->unit_count; i++)
        fth_cache_reset(level->units[i].cache);
    for (size_t i = 0; i < level->mshr_count; i++)
        fth_mshr_clear(level->mshrs[i]);
    level->step = 0;
}

void fth_tier_tune(struct fth_tier *level, const struct fth_shape *shape)
{
    level->shape.fixed = shape->fixed;
    level->shape.per_busy = shape->per_busy;
}

const struct fth_tier_totals *fth_tier_totals(const struct fth_tier *level)
{
    return &level->totals;
}

void fth_tier_reset_totals(struct fth_tier *level)
{
    level->totals.steps = level->totals.fails = 0;
    for (int i = 0; i < 2; i++)
        memset(level->totals.profile[i], 0,
               level->totals.profile_size * sizeof *level->totals.profile[i]);
}

void fth_tier_watch(struct fth_tier *level, void (*seen)(void *, const struct fth_attempt *),
                    void *context)
{
    level->seen = seen;
    level->seen_context = context;
}

/* ---- where a line is ---- */

/* What one gets lies without gaps. */
static uint64_t deal(const struct fth_dealing *dealing, uint64_t address, uint64_t *which)
{
    if (dealing->even) {
        const uint64_t piece = address >> dealing->bytes_shift;
        *which = piece & (dealing->count - 1);
        return piece >> dealing->count_shift << dealing->bytes_shift |
               (address & (dealing->bytes - 1));
    }
    const uint64_t piece = address / dealing->bytes;
    *which = piece % dealing->count;
    return piece / dealing->count * dealing->bytes + address % dealing->bytes;
}

/* Two-level interleaving: over partitions, and within one over its banks (Figure 1 b). */
static size_t find_unit(const struct fth_tier *level, uint64_t address, uint64_t *local)
{
    uint64_t partition, bank;
    if (level->unit_count == 1) {
        *local = address;
        return 0;
    }
    address = deal(&level->partitions, address, &partition);
    *local = deal(&level->banks, address, &bank);
    return (size_t)(partition * level->banks.count + bank);
}

/* ---- steps ---- */

static bool extend(void **items, size_t count, size_t size)
{
    void *grown = realloc(*items, count * size);
    if (!grown)
        return false;
    *items = grown;
    return true;
}

static bool reserve(struct fth_tier *level, size_t count)
{
    const size_t each = (size_t)(level->unit_count * level->shape.ports);
    const size_t wanted = count > each ? count : each;
    if (wanted <= level->capacity)
        return true;
    if (!extend((void **)&level->next, wanted, sizeof *level->next) ||
        !extend((void **)&level->turn, wanted, sizeof *level->turn) ||
        !extend((void **)&level->spots, wanted, sizeof *level->spots))
        return false;
    level->capacity = wanted;
    return true;
}

/* Where the lines are before any of them is used. A processor has several under way at a time as
 * long as nothing is written between them. */
static void look(struct fth_tier *level, const struct fth_request *requests, size_t count)
{
    const struct fth_cache *cache = level->units[0].cache;
    struct fth_cache_spot *spots = level->spots;
    for (size_t i = 0; i < count && level->unit_count > 1; i++) {
        uint64_t local;
        const size_t unit = find_unit(level, requests[i].line, &local);
        spots[i] = fth_cache_look(level->units[unit].cache, local);
    }
    for (size_t done = 0; done < count && level->unit_count == 1; done += FTH_LOOK_MAX) {
        const size_t here = count - done < FTH_LOOK_MAX ? count - done : FTH_LOOK_MAX;
        uint64_t lines[FTH_LOOK_MAX];
        for (size_t i = 0; i < here; i++)
            lines[i] = requests[done + i].line >> cache->line_shift;
        fth_cache_look_all(cache, lines, here, spots + done);
    }
}

static void enqueue(struct fth_tier *level, const struct fth_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t local;
        struct fth_unit *unit = &level->units[find_unit(level, requests[i].line, &local)];
        level->next[i] = NONE;
        if (unit->head == NONE)
            unit->head = (uint32_t)i;
        else
            level->next[unit->tail] = (uint32_t)i;
        unit->tail = (uint32_t)i;
    }
}

/* The requests that come to a port in this step. Those of the first warps go first, and of these
 * the first bank's (Table 3: of A, B, C, D it is A and C that get the registers, and in the next
 * step B and D before the second warp's). They come by banks; by insertion, as mostly they are in
 * order. */
static size_t choose(struct fth_tier *level, const struct fth_request *requests)
{
    size_t count = 0;
    for (size_t u = 0; u < level->unit_count; u++) {
        uint32_t at = level->units[u].head;
        for (uint64_t port = 0; port < level->shape.ports && at != NONE; port++) {
            size_t place = count++;
            for (; place && requests[level->turn[place - 1]].warp > requests[at].warp; place--)
                level->turn[place] = level->turn[place - 1];
            level->turn[place] = at;
            at = level->next[at];
        }
    }
    return count;
}

static void dequeue(struct fth_tier *level, struct fth_unit *unit, uint32_t request)
{
    uint32_t before = NONE;
    uint32_t *link = &unit->head;
    while (*link != request) {
        before = *link;
        link = &level->next[*link];
    }
    *link = level->next[request];
    if (unit->tail == request)
        unit->tail = before;
}

/* The first step after the last in which something changes. */
static uint64_t next_change(const struct fth_tier *level)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < level->mshr_count; i++) {
        fth_mshr_step(level->mshrs[i], level->step - 1);
        const uint64_t change = fth_mshr_next(level->mshrs[i]);
        next = change < next ? change : next;
    }
    return next;
}

static bool in_order(const struct fth_request *requests, size_t count)
{
    bool falls = false;
    for (size_t i = 1; i < count; i++)
        falls |= requests[i].warp < requests[i - 1].warp;
    return !falls;
}

bool fth_tier_run(struct fth_tier *level, struct fth_request *requests, size_t count,
                  const struct fth_cache_run *runs, struct fth_model_counts *counts,
                  const struct fth_beneath *beneath)
{
    if (!reserve(level, count))
        return false;
    level->sends = false;
    look(level, requests, count);
    if (level->unit_count == 1 && in_order(requests, count))
        return fth_tier_run_single(level, requests, count, runs, counts, beneath);
    enqueue(level, requests, count);
    for (size_t left = count; left && !level->failed;) {
        const size_t tried = choose(level, requests);
        size_t done = 0;
        for (size_t i = 0; i < tried; i++) {
            const uint32_t at = level->turn[i];
            uint64_t local;
            struct fth_request *request = &requests[at];
            const size_t unit = find_unit(level, request->line, &local);
            struct fth_turn turn = {.unit = unit,
                                    .spot = &level->spots[at],
                                    .request = request,
                                    .runs = runs ? runs + request->run : NULL,
                                    .counts = &counts[request->instruction],
                                    .beneath = beneath};
            if (fth_tier_attempt(level, &turn) == FTH_RESULT_FAIL)
                continue;
            dequeue(level, &level->units[unit], at);
            done++;
        }
        left -= done;
        fth_tier_end_step(level);
        if (!done)
            fth_tier_skip(level, tried, next_change(level));
    }
    return !level->failed;
}

bool fth_tier_sends(const struct fth_tier *level)
{
    return level->sends;
}

static struct fth_cache_spot look_for(const struct fth_tier *level, const struct fth_turn *turn)
{
    struct fth_cache_spot spot = *turn->spot;
    spot.slot = fth_lookup_find(level->units[turn->unit].cache, spot.set, spot.line);
    return spot;
}

uint64_t fth_tier_read(struct fth_tier *level, const struct fth_turn *turn, uint64_t sectors,
                       const struct fth_beneath *beneath)
{
    struct fth_cache *cache = level->units[turn->unit].cache;
    struct fth_cache_spot spot = look_for(level, turn);
    struct fth_cache_result result;
    const uint64_t missing = fth_cache_missing(cache, &spot, sectors, NULL, 0);
    fth_cache_bring(cache, &spot, missing, &result);
    fth_tier_tell_evicted(beneath, &result);
    return missing;
}

void fth_tier_drop(struct fth_tier *level, const struct fth_turn *turn)
{
    struct fth_cache_spot spot = look_for(level, turn);
    fth_cache_drop(level->units[turn->unit].cache, &spot);
}
