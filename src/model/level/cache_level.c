/* Simulates one cache in steps (Section 4.4 of the paper).
 *
 * The requests that warps issue together wait in one queue per bank. In each step a bank processes
 * the first requests of its queue, one per port. Over all banks, requests of lower warps go first.
 * A hit, or a request that merges with a miss in flight, is done. A miss needs a free MSHR. Without
 * one it fails (the paper's reservation fail) and is tried again in the next step. All requests are
 * done before the next group is accepted.
 *
 * A miss allocates its line in the cache at once, not when the data arrives. Hardware does this
 * with the tag, and so does Table 3: D has distance 2 there, behind F and H, whose data has not
 * arrived yet. Therefore, if merges count as hits, the latency affects hits only through the order
 * in which failed requests are tried again, and through merges with misses whose line was evicted
 * meanwhile. */
#include "model/level/cache_level.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

bool fth_shape_is_bound(const struct fth_shape *shape)
{
    return strcmp(shape->policy, "belady") == 0;
}

enum fth_status fth_shape_create_cache(const struct fth_shape *shape, uint64_t seed,
                                       uint64_t copies, uint32_t extra_bytes,
                                       struct fth_cache **cache, struct fth_error *error)
{
    struct fth_cache_config config = {.line_bytes = shape->line_bytes,
                                      .sector_bytes = shape->sector_bytes,
                                      .sets = shape->sets,
                                      .ways = shape->ways,
                                      .index = shape->index,
                                      .policy = fth_shape_is_bound(shape) ? "lru" : shape->policy,
                                      .masks = shape->masks,
                                      .row_ways = shape->row_ways,
                                      .write = shape->write,
                                      .seed = seed,
                                      .copies = copies,
                                      .extra_bytes = extra_bytes,
                                      .distances = strcmp(shape->policy, "lru") == 0};
    const uint64_t extra = shape->lines % shape->sets;
    if (extra == 0)
        return fth_cache_create(&config, cache, error);
    uint64_t *set_ways = calloc(shape->sets, sizeof *set_ways);
    if (!set_ways)
        return fth_no_memory(error, "model caches", NULL);
    for (uint64_t set = 0; set < shape->sets; set++)
        set_ways[set] = shape->lines / shape->sets + (set < extra);
    config.ways = 0;
    config.set_ways = set_ways;
    enum fth_status status = fth_cache_create(&config, cache, error);
    free(set_ways);
    return status;
}

/* Neighbouring partitions share a set of MSHRs: with 4 sets for 7 partitions (Section 4.4.2), each
 * set serves two partitions and the last one serves one. */
static size_t partitions_per_mshr_set(const struct fth_shape *shape)
{
    return (size_t)((shape->partitions + shape->mshr_sets - 1) / shape->mshr_sets);
}

static enum fth_status create_units(struct fth_cache_level *level, struct fth_error *error)
{
    const struct fth_shape *shape = &level->shape;
    for (size_t i = 0; i < level->mshr_count; i++)
        FTH_TRY(fth_mshr_create(shape->mshr_size, &level->mshrs[i], error));
    for (size_t i = 0; i < level->unit_count; i++) {
        struct fth_unit *unit = &level->units[i];
        unit->mshr = level->mshrs[i / level->banking.cluster_units];
        FTH_TRY(fth_shape_create_cache(shape, shape->seed + i, 1, 0, &unit->cache, error));
        if (fth_shape_is_bound(shape))
            FTH_TRY(fth_belady_create(unit->cache, &unit->belady, error));
    }
    return FTH_OK;
}

static struct fth_interleaving make_interleaving(uint64_t count, uint64_t bytes)
{
    return (struct fth_interleaving){.count = count,
                                     .bytes = bytes,
                                     .powers_of_two =
                                         (count & (count - 1)) == 0 && (bytes & (bytes - 1)) == 0,
                                     .count_shift = (unsigned)__builtin_ctzll(count),
                                     .bytes_shift = (unsigned)__builtin_ctzll(bytes)};
}

static struct fth_banking make_banking(const struct fth_shape *shape)
{
    return (struct fth_banking){
        .partitions = make_interleaving(shape->partitions, shape->partition_bytes),
        .banks = make_interleaving(shape->banks, shape->bank_bytes),
        .unit_count = (size_t)(shape->partitions * shape->banks),
        .cluster_units = partitions_per_mshr_set(shape) * (size_t)shape->banks,
        .ports = shape->ports,
        .line_shift = shape->line_shift};
}

enum fth_status fth_cache_level_create(const struct fth_shape *shape, struct fth_cache_level **out,
                                       struct fth_error *error)
{
    struct fth_cache_level *level = calloc(1, sizeof *level);
    *out = NULL;
    if (!level)
        return fth_no_memory(error, "model caches", NULL);
    level->shape = *shape;
    level->unit_count = (size_t)(shape->partitions * shape->banks);
    level->mshr_count =
        (size_t)(shape->mshr_sets < shape->partitions ? shape->mshr_sets : shape->partitions);
    level->banking = make_banking(shape);
    level->units = calloc(level->unit_count, sizeof *level->units);
    level->mshrs = calloc(level->mshr_count, sizeof *level->mshrs);
    level->totals.profile_size = (size_t)shape->ways + 1;
    for (int i = 0; i < 2; i++)
        level->totals.profile[i] =
            calloc(level->totals.profile_size, sizeof *level->totals.profile[i]);
    enum fth_status status =
        level->units && level->mshrs && level->totals.profile[0] && level->totals.profile[1]
            ? create_units(level, error)
            : fth_no_memory(error, "model caches", NULL);
    if (status == FTH_OK)
        *out = level;
    else
        fth_cache_level_destroy(level);
    return status;
}

void fth_cache_level_destroy(struct fth_cache_level *level)
{
    if (!level)
        return;
    for (size_t i = 0; level->units && i < level->unit_count; i++) {
        fth_cache_destroy(level->units[i].cache);
        fth_belady_destroy(level->units[i].belady);
    }
    for (size_t i = 0; level->mshrs && i < level->mshr_count; i++)
        fth_mshr_destroy(level->mshrs[i]);
    for (int i = 0; i < 2; i++)
        free(level->totals.profile[i]);
    free(level->units);
    free(level->mshrs);
    free(level->queue);
    free(level->scheduled);
    free(level->locations);
    free(level->unit_of);
    fth_plan_fini(&level->plan);
    fth_shadow_destroy(level->shadow);
    free(level);
}

static uint64_t capacity_lines(const struct fth_cache_level *level)
{
    return level->shape.lines * level->unit_count;
}

enum fth_status fth_cache_level_diagnose(struct fth_cache_level *level, struct fth_error *error)
{
    level->banking.cluster_units = level->unit_count; /* the causes depend on the order of all */
    return fth_shadow_create(&level->shape, capacity_lines(level), &level->shadow, error);
}

void fth_cache_level_set_misses(struct fth_cache_level *level, struct fth_model_misses *misses)
{
    level->misses = misses;
}

bool fth_cache_level_failed(const struct fth_cache_level *level)
{
    return level->failed || (level->shadow && fth_shadow_failed(level->shadow));
}

void fth_cache_level_clear(struct fth_cache_level *level)
{
    for (size_t i = 0; i < level->unit_count; i++) {
        fth_cache_reset(level->units[i].cache);
        if (level->units[i].belady)
            fth_belady_clear(level->units[i].belady);
    }
    for (size_t i = 0; i < level->mshr_count; i++)
        fth_mshr_clear(level->mshrs[i]);
    if (level->shadow)
        fth_shadow_clear(level->shadow, capacity_lines(level));
    level->step = 0;
}

void fth_cache_level_set_latency(struct fth_cache_level *level, const struct fth_shape *shape)
{
    level->shape.latency_fixed = shape->latency_fixed;
    level->shape.latency_per_busy = shape->latency_per_busy;
}

const struct fth_cache_level_totals *fth_cache_level_totals(const struct fth_cache_level *level)
{
    return &level->totals;
}

void fth_cache_level_reset_totals(struct fth_cache_level *level)
{
    level->totals.steps = level->totals.fails = 0;
    for (int i = 0; i < 2; i++)
        memset(level->totals.profile[i], 0,
               level->totals.profile_size * sizeof *level->totals.profile[i]);
}

/* ---- steps ---- */

static bool resize(void **items, size_t count, size_t size)
{
    void *grown = realloc(*items, count * size);
    if (!grown)
        return false;
    *items = grown;
    return true;
}

static bool reserve(struct fth_cache_level *level, size_t count)
{
    const size_t each = (size_t)(level->unit_count * level->shape.ports);
    const size_t wanted = count > each ? count : each;
    if (wanted <= level->capacity)
        return true;
    if (!resize((void **)&level->queue, wanted, sizeof *level->queue) ||
        !resize((void **)&level->scheduled, wanted, sizeof *level->scheduled) ||
        !resize((void **)&level->unit_of, wanted, sizeof *level->unit_of) ||
        !resize((void **)&level->locations, wanted, sizeof *level->locations))
        return false;
    level->capacity = wanted;
    return true;
}

/* Finds the location of every request, with one bank, before the first of them changes the cache.
 * Without writes between the lookups, the host CPU can execute several lookups at the same time. */
static void locate_lines(struct fth_cache_level *level, const struct fth_line_request *requests,
                         size_t count)
{
    const struct fth_cache *cache = level->units[0].cache;
    for (size_t done = 0; done < count; done += FTH_LOCATE_MAX) {
        const size_t here = count - done < FTH_LOCATE_MAX ? count - done : FTH_LOCATE_MAX;
        uint64_t lines[FTH_LOCATE_MAX];
        for (size_t i = 0; i < here; i++)
            lines[i] = requests[done + i].line >> cache->line_shift;
        fth_cache_locate_all(cache, lines, here, level->locations + done);
    }
}

static bool in_order(const struct fth_line_request *requests, size_t count)
{
    bool descends = false;
    for (size_t i = 1; i < count; i++)
        descends |= requests[i].warp < requests[i - 1].warp;
    return !descends;
}

/* Plans a group for fth_cache_level_run_banks(). False: out of memory. */
static bool make_plan(struct fth_cache_level *level, const struct fth_line_request *requests,
                      size_t count, struct fth_group_plan *plan)
{
    fth_plan_use(&level->plan, &level->banking);
    level->plan.count = 0;
    if (!fth_plan_extend(&level->plan, requests, count))
        return false;
    *plan = fth_plan_group(&level->plan, 0);
    return true;
}

FTH_CLONES
static bool run_group(struct fth_cache_level *level, const struct fth_group_plan *plan,
                      struct fth_line_request *requests, size_t count,
                      const struct fth_cache_run *runs, struct fth_model_counts *counts,
                      const struct fth_next_level *next_level)
{
    if (!reserve(level, count))
        return false;
    level->forwards = false;
    if (fth_cache_level_is_bypassed(level, next_level)) {
        fth_cache_level_run_bypassed(level, requests, count, counts);
        return true;
    }
    if (level->unit_count == 1 && in_order(requests, count)) {
        locate_lines(level, requests, count);
        return fth_cache_level_run_single(level, requests, count, runs, counts, next_level);
    }
    struct fth_group_plan own;
    return !count || ((plan || make_plan(level, requests, count, &own)) &&
                      fth_cache_level_run_banks(level, plan ? plan : &own, requests, count, runs,
                                                counts, next_level));
}

bool fth_cache_level_run_planned(struct fth_cache_level *level, const struct fth_group_plan *plan,
                                 struct fth_line_request *requests, size_t count,
                                 const struct fth_cache_run *runs, struct fth_model_counts *counts,
                                 const struct fth_next_level *next_level)
{
    static const struct fth_next_level none = {0};
    return run_group(level, plan, requests, count, runs, counts, next_level ? next_level : &none) &&
           !fth_cache_level_failed(level);
}

bool fth_cache_level_run(struct fth_cache_level *level, struct fth_line_request *requests,
                         size_t count, const struct fth_cache_run *runs,
                         struct fth_model_counts *counts, const struct fth_next_level *next_level)
{
    return fth_cache_level_run_planned(level, NULL, requests, count, runs, counts, next_level);
}

const struct fth_banking *fth_cache_level_banking(const struct fth_cache_level *level)
{
    return level->unit_count > 1 ? &level->banking : NULL;
}

bool fth_cache_level_forwards(const struct fth_cache_level *level)
{
    return level->forwards;
}

/* ---- access without ports and MSHRs ---- */

/* The location of the line of `access` in this cache. */
static struct fth_cache_location locate_line(const struct fth_cache_level *level,
                                             const struct fth_port_access *access)
{
    struct fth_cache_location location = *access->location;
    location.slot = fth_lookup_find(level->units[access->unit].cache, location.set, location.line);
    return location;
}

uint64_t fth_cache_level_read(struct fth_cache_level *level, const struct fth_port_access *access,
                              uint64_t sectors, const struct fth_next_level *next_level)
{
    struct fth_cache *cache = level->units[access->unit].cache;
    struct fth_cache_location location = locate_line(level, access);
    struct fth_cache_result result;
    if (level->units[access->unit].belady)
        return fth_cache_level_read_bound(level, access, &location, sectors, next_level);
    const uint64_t missing = fth_cache_missing(cache, &location, sectors, NULL, 0);
    if (level->shadow && missing)
        fth_shadow_miss(level->shadow, access->request->line, missing, missing,
                        location.slot != FTH_NO_SLOT, NULL);
    fth_cache_fill(cache, &location, missing, &result);
    if (level->shadow)
        fth_shadow_use(level->shadow, access->request->line, location.slot, sectors);
    fth_cache_level_report_eviction(next_level, &result);
    return missing;
}

void fth_cache_level_drop(struct fth_cache_level *level, const struct fth_port_access *access)
{
    struct fth_cache_location location = locate_line(level, access);
    fth_cache_level_drop_line(level, access, &location);
}
