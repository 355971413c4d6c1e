/* One cache, step by step (Section 4.4 of the paper). The requests that warps make together wait in
 * a queue for each bank; in a step a bank takes as many as it has ports, the first ones of each
 * queue in the order of the warps. A request that hits, or joins a miss under way, is done; a miss
 * needs a free register, and without one fails and comes again in the next step. All are done
 * before the next requests come.
 *
 * A miss takes its place in the cache at once, as its tag does in hardware and in Table 3 (where D
 * is at distance 2 behind F and H, which have not come yet). So hits do not depend on the latency,
 * but for the order that fails make. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct unit {
    struct fth_cache *cache;
    struct fth_mshr *mshr; /* of its set; borrowed */
    uint32_t head, tail;   /* queue of requests */
};

/* Addresses that are dealt out to `count`, `bytes` at a time. */
struct dealing {
    uint64_t count, bytes;
    bool even; /* both are powers of two, of these: */
    unsigned count_shift, bytes_shift;
};

struct fth_tier {
    struct fth_shape shape;
    struct dealing partitions, banks;
    struct unit *units;
    size_t unit_count;
    struct fth_mshr **mshrs;
    size_t mshr_count;
    uint64_t step;
    struct fth_tier_totals totals;
    uint32_t *next; /* of the queues */
    uint32_t *turn; /* the requests of a step */
    size_t capacity;
    void (*seen)(void *, const struct fth_attempt *);
    void *seen_context;
    bool failed; /* out of memory */
};

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
        struct unit *unit = &level->units[i];
        unit->head = unit->tail = NONE;
        unit->mshr = level->mshrs[mshr_of(shape, i)];
        status = create_cache(shape, shape->seed + i, &unit->cache, error);
    }
    return status;
}

static struct dealing make_dealing(uint64_t count, uint64_t bytes)
{
    return (struct dealing){.count = count,
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
static uint64_t deal(const struct dealing *dealing, uint64_t address, uint64_t *which)
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

/* The sectors, in whole fills. */
static uint64_t whole_fills(const struct fth_shape *shape, uint64_t sectors)
{
    const uint64_t each = shape->fill_bytes >> shape->sector_shift;
    if (each == 1 || !sectors)
        return sectors;
    const uint64_t fill = ~UINT64_C(0) >> (64 - each);
    uint64_t whole = 0;
    for (uint64_t at = 0; at < shape->line_bytes >> shape->sector_shift; at += each)
        if (sectors >> at & fill)
            whole |= fill << at;
    return whole;
}

/* ---- one request ---- */

static unsigned count_bits(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

static void tell_evicted(const struct fth_beneath *beneath, const struct fth_cache_result *result)
{
    if (result->evicted && result->evicted_dirty && beneath && beneath->evicted)
        beneath->evicted(beneath->context, result->evicted_line, result->evicted_dirty);
}

static void note(struct fth_tier *level, const struct fth_request *request, uint32_t distance,
                 uint64_t hits, uint64_t misses)
{
    uint64_t *profile = level->totals.profile[request->kind != FTH_TRACE_READ];
    const size_t last = level->totals.profile_size - 1;
    profile[distance < last ? distance : last] += hits;
    profile[last] += misses;
}

static uint64_t latency(const struct fth_tier *level, const struct fth_mshr *mshr)
{
    return fth_shape_latency(&level->shape, fth_mshr_busy(mshr));
}

/* Joins a miss under way. Where the line was replaced before it came, nothing is brought in for it.
 */
static void merge_line(struct fth_tier *level, struct unit *unit, struct fth_cache_spot *spot,
                       const struct fth_request *request, const struct fth_cache_run *runs,
                       struct fth_model_counts *counts, const struct fth_beneath *beneath,
                       uint32_t *distance)
{
    const unsigned sectors = count_bits(request->sectors);
    if (spot->slot != FTH_NO_SLOT) {
        struct fth_cache_result result;
        const uint64_t missing = fth_cache_missing(unit->cache, spot, request->sectors, runs,
                                                   runs ? request->run_count : 0);
        fth_cache_bring(unit->cache, spot, missing | whole_fills(&level->shape, missing), &result);
        *distance = result.distance;
        tell_evicted(beneath, &result);
    }
    counts->merges[request->kind] += sectors;
    counts->hits[request->kind] += level->shape.merged_hits ? sectors : 0;
    note(level, request, *distance, level->shape.merged_hits ? sectors : 0,
         level->shape.merged_hits ? 0 : sectors);
}

static enum fth_verdict_kind read_line(struct fth_tier *level, struct unit *unit, uint64_t local,
                                       struct fth_request *request,
                                       const struct fth_cache_run *runs,
                                       struct fth_model_counts *counts,
                                       const struct fth_beneath *beneath, uint32_t *distance)
{
    const unsigned sectors = count_bits(request->sectors);
    struct fth_cache_spot spot = fth_cache_look(unit->cache, local);
    struct fth_cache_result result;
    const enum fth_merge merge =
        fth_mshr_merge(unit->mshr, request->line, request->sectors, level->shape.mshr_merges);
    if (merge == FTH_MERGE_FAILED)
        return FTH_RESULT_FAIL;
    if (merge == FTH_MERGE_DONE) {
        merge_line(level, unit, &spot, request, runs, counts, beneath, distance);
        return FTH_RESULT_MERGED;
    }
    const uint64_t missing = fth_cache_missing(unit->cache, &spot, request->sectors, runs,
                                               runs ? request->run_count : 0);
    if (missing && fth_mshr_full(unit->mshr))
        return FTH_RESULT_FAIL;
    /* In whole fills. */
    request->missing = fth_cache_bring(
        unit->cache, &spot, missing ? missing | whole_fills(&level->shape, missing) : 0, &result);
    *distance = result.distance;
    const unsigned misses = missing ? count_bits(missing) : 0;
    counts->hits[request->kind] += sectors - misses;
    note(level, request, *distance, sectors - misses, misses);
    if (!missing)
        return FTH_RESULT_HIT;
    tell_evicted(beneath, &result);
    if (!fth_mshr_add(unit->mshr, request->line, request->missing, latency(level, unit->mshr)))
        level->failed = true;
    if (beneath && beneath->miss)
        beneath->miss(beneath->context, request, missing, request->missing);
    return FTH_RESULT_MISS;
}

static enum fth_verdict_kind write_line(struct fth_tier *level, struct unit *unit, uint64_t local,
                                        struct fth_request *request,
                                        const struct fth_cache_run *runs,
                                        struct fth_model_counts *counts,
                                        const struct fth_beneath *beneath, uint32_t *distance)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; runs && i < request->run_count; i++) {
        struct fth_cache_result result;
        const uint64_t at = local + runs[i].from;
        if (level->shape.write == FTH_WRITE_EVICT) {
            if (fth_cache_probe(unit->cache, at, runs[i].bytes) != FTH_CACHE_HIT)
                missing = request->sectors;
            continue;
        }
        const enum fth_cache_outcome outcome =
            fth_cache_access(unit->cache, at, runs[i].bytes, FTH_CACHE_WRITE, &result);
        if (i == 0)
            *distance = result.distance;
        if (outcome != FTH_CACHE_HIT)
            missing |= result.sectors;
        tell_evicted(beneath, &result);
    }
    if (level->shape.write == FTH_WRITE_EVICT)
        fth_cache_invalidate(unit->cache, local, NULL);
    request->missing = request->sectors; /* all of it goes on */
    const unsigned misses = count_bits(missing);
    counts->hits[request->kind] += count_bits(request->sectors) - misses;
    note(level, request, *distance, count_bits(request->sectors) - misses, misses);
    if (beneath && beneath->miss)
        beneath->miss(beneath->context, request, request->sectors, 0);
    return misses ? FTH_RESULT_MISS : FTH_RESULT_HIT;
}

/* An atomic, where it is done: its sectors are brought in whole, and written. */
static enum fth_verdict_kind change_line(struct fth_tier *level, struct unit *unit, uint64_t local,
                                         struct fth_request *request,
                                         const struct fth_cache_run *runs,
                                         struct fth_model_counts *counts,
                                         const struct fth_beneath *beneath, uint32_t *distance)
{
    const enum fth_verdict_kind kind =
        read_line(level, unit, local, request, NULL, counts, beneath, distance);
    if (kind == FTH_RESULT_FAIL || fth_cache_way(unit->cache, local) == FTH_CACHE_NOWHERE)
        return kind;
    for (uint32_t i = 0; runs && i < request->run_count; i++)
        fth_cache_access(unit->cache, local + runs[i].from, runs[i].bytes, FTH_CACHE_WRITE, NULL);
    return kind;
}

/* Past the cache, of which the line is dropped where it is changed. */
static enum fth_verdict_kind pass(struct fth_tier *level, struct unit *unit, uint64_t local,
                                  struct fth_request *request, const struct fth_beneath *beneath)
{
    if (request->kind != FTH_TRACE_READ && level->shape.bypass != FTH_BYPASS_ALL)
        fth_cache_invalidate(unit->cache, local, NULL);
    request->missing = request->sectors;
    note(level, request, NONE, 0, count_bits(request->sectors));
    if (beneath && beneath->miss)
        beneath->miss(beneath->context, request, request->sectors, 0);
    return FTH_RESULT_MISS;
}

static enum fth_verdict_kind attempt(struct fth_tier *level, size_t which, uint64_t local,
                                     struct fth_request *request, const struct fth_cache_run *runs,
                                     struct fth_model_counts *all,
                                     const struct fth_beneath *beneath)
{
    struct unit *unit = &level->units[which];
    struct fth_model_counts *counts = &all[request->instruction];
    uint32_t distance = NONE;
    enum fth_verdict_kind kind;
    fth_mshr_step(unit->mshr, level->step);
    runs = runs ? runs + request->run : NULL;
    const bool atomic = request->kind == FTH_TRACE_ATOMIC;
    if (level->shape.bypass == FTH_BYPASS_ALL || request->flags & FTH_REQUEST_PAST_L1 ||
        (atomic && level->shape.write != FTH_WRITE_BACK))
        kind = pass(level, unit, local, request, beneath);
    else if (request->kind == FTH_TRACE_READ)
        kind = read_line(level, unit, local, request, runs, counts, beneath, &distance);
    else if (atomic)
        kind = change_line(level, unit, local, request, runs, counts, beneath, &distance);
    else
        kind = write_line(level, unit, local, request, runs, counts, beneath, &distance);
    if (kind == FTH_RESULT_FAIL) {
        level->totals.fails++;
    } else {
        counts->requests[request->kind]++;
        counts->sectors[request->kind] += count_bits(request->sectors);
        if (request->kind != FTH_TRACE_READ && beneath && beneath->changed)
            beneath->changed(beneath->context, request->line);
    }
    if (level->seen) {
        const uint64_t busy = fth_mshr_busy(unit->mshr);
        level->seen(level->seen_context,
                    &(struct fth_attempt){level->step, request->line, kind, distance,
                                          (uint32_t)which, level->shape.mshr_size - busy});
    }
    return kind;
}

/* ---- steps ---- */

static bool extend(uint32_t **items, size_t count)
{
    uint32_t *grown = realloc(*items, count * sizeof *grown);
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
    if (!extend(&level->next, wanted) || !extend(&level->turn, wanted))
        return false;
    level->capacity = wanted;
    return true;
}

static void enqueue(struct fth_tier *level, const struct fth_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t local;
        struct unit *unit = &level->units[find_unit(level, requests[i].line, &local)];
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

static void dequeue(struct fth_tier *level, struct unit *unit, uint32_t request)
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

/* Where every request failed, nothing changes until a register is free: the steps until then, and
 * their fails, are counted at once. */
static void skip(struct fth_tier *level, size_t tried)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < level->mshr_count; i++) {
        fth_mshr_step(level->mshrs[i], level->step - 1);
        const uint64_t change = fth_mshr_next(level->mshrs[i]);
        next = change < next ? change : next;
    }
    if (next != UINT64_MAX && next > level->step && !level->seen) {
        level->totals.fails += (next - level->step) * tried;
        level->totals.steps += next - level->step;
        level->step = next;
    }
}

static void end_step(struct fth_tier *level, size_t tried, size_t done)
{
    level->step++;
    level->totals.steps++;
    if (!done)
        skip(level, tried);
}

/* One bank, and requests in the order of the warps: then its queue is what failed, and behind it
 * the requests that have not come to a port yet. */
static bool run_single(struct fth_tier *level, struct fth_request *requests, size_t count,
                       const struct fth_cache_run *runs, struct fth_model_counts *counts,
                       const struct fth_beneath *beneath)
{
    uint32_t *turn = level->turn;
    size_t next = 0, tried = 0;
    while (tried || (next < count && !level->failed)) {
        while (tried < level->shape.ports && next < count)
            turn[tried++] = (uint32_t)next++;
        size_t left = 0;
        for (size_t i = 0; i < tried; i++) {
            struct fth_request *request = &requests[turn[i]];
            if (attempt(level, 0, request->line, request, runs, counts, beneath) == FTH_RESULT_FAIL)
                turn[left++] = turn[i];
        }
        end_step(level, tried, tried - left);
        tried = level->failed ? 0 : left;
    }
    return !level->failed;
}

static bool in_order(const struct fth_request *requests, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (requests[i].warp < requests[i - 1].warp)
            return false;
    return true;
}

bool fth_tier_run(struct fth_tier *level, struct fth_request *requests, size_t count,
                  const struct fth_cache_run *runs, struct fth_model_counts *counts,
                  const struct fth_beneath *beneath)
{
    if (!reserve(level, count))
        return false;
    if (level->unit_count == 1 && in_order(requests, count))
        return run_single(level, requests, count, runs, counts, beneath);
    enqueue(level, requests, count);
    for (size_t left = count; left && !level->failed;) {
        const size_t tried = choose(level, requests);
        size_t done = 0;
        for (size_t i = 0; i < tried; i++) {
            const uint32_t at = level->turn[i];
            uint64_t local;
            const size_t unit = find_unit(level, requests[at].line, &local);
            if (attempt(level, unit, local, &requests[at], runs, counts, beneath) ==
                FTH_RESULT_FAIL)
                continue;
            dequeue(level, &level->units[unit], at);
            done++;
        }
        left -= done;
        end_step(level, tried, done);
    }
    return !level->failed;
}

uint64_t fth_tier_read(struct fth_tier *level, uint64_t address, uint64_t sectors,
                       const struct fth_beneath *beneath)
{
    uint64_t local;
    struct unit *unit = &level->units[find_unit(level, address, &local)];
    struct fth_cache_result result;
    fth_cache_read(unit->cache, local, sectors, NULL, 0, &result);
    tell_evicted(beneath, &result);
    return result.fetch;
}

void fth_tier_fetch(const struct fth_tier *level, uint64_t address)
{
    uint64_t local;
    const struct unit *unit = &level->units[find_unit(level, address, &local)];
    fth_cache_fetch(unit->cache, local);
}

void fth_tier_fetch_state(const struct fth_tier *level, uint64_t address)
{
    uint64_t local;
    const struct unit *unit = &level->units[find_unit(level, address, &local)];
    fth_cache_fetch_state(unit->cache, local);
}

void fth_tier_drop(struct fth_tier *level, uint64_t address)
{
    uint64_t local;
    struct unit *unit = &level->units[find_unit(level, address, &local)];
    fth_cache_invalidate(unit->cache, local, NULL);
}
