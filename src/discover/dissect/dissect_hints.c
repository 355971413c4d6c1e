/* What accesses with cache operators and hints leave in L1 and L2, for 'fathom dissect'
 * (probe/cache/access_fills.c, access_keeps.c, access_priorities.c). The results become lists with
 * one entry per variant, or reasons under "unknown". */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* Maximum number of lines of an L2 of a simulated GPU whose priorities are measured, because of the
 * time: the probe reads about 200 times as many lines. */
static const double max_simulated_lines = 8192;

/* The cache to dissect. */
struct hinted {
    const char *element;
    enum fth_path path;
    int carveout_percent;
    double line_bytes, sector_bytes, lines;
    uint64_t start_bytes;    /* of the memory for its experiments */
    double threshold_cycles; /* 0: not known */
};

/* Memory of each experiment but the last one. Chosen: larger than what the experiments with the L1
 * and the trials with the L2 use. */
enum { REGION_BYTES = 16 << 20 };
/* Where in the memory of an experiment those with stores and copies begin, and the trials that find
 * out which lines stay. Chosen: behind what the other parts of the experiment use. */
enum { STORES_BYTES = 8 << 20, KEEPS_BYTES = REGION_BYTES - (256 << 10) };

/* Writes the variants and the bytes that each of them fills. */
static enum fth_status note_fills(struct fth_gpu *gpu, const struct hinted *cache,
                                  const struct fth_access_fills *fills, struct fth_error *error)
{
    const char *names[FTH_VARIANTS];
    double bytes[FTH_VARIANTS];
    char note[96];
    for (size_t i = 0; i < fills->count; i++) {
        names[i] = fth_variant_names[fills->variants[i]];
        bytes[i] = (double)fills->bytes[i];
    }
    snprintf(note, sizeof note, "%zu variants are not in the list: their trials contradict",
             fills->undecided);
    const struct fth_note common = {.element = cache->element,
                                    .count = fills->count,
                                    .evidence = &fills->evidence,
                                    .samples = fills->samples,
                                    .method = "access a word that is not cached, then time a read "
                                              "of each sector around it",
                                    .note = fills->undecided ? note : NULL};
    struct fth_note variants = common, sizes = common;
    variants.attribute = "access_variants";
    variants.texts = names;
    sizes.attribute = "access_fill_bytes";
    sizes.numbers = bytes;
    FTH_TRY(fth_note(gpu, &variants, error));
    return fth_note(gpu, &sizes, error);
}

/* Writes the priority of each variant. `filling` has the variants that fill the cache, in the order
 * of `found`. */
static enum fth_status note_priorities(struct fth_gpu *gpu, const struct hinted *cache,
                                       const struct fth_access_fills *fills,
                                       const struct fth_access_priorities *found,
                                       struct fth_error *error)
{
    static const char *const words[] = {[FTH_ACCESS_UNKNOWN] = "unknown",
                                        [FTH_ACCESS_NORMAL] = "normal",
                                        [FTH_ACCESS_FIRST] = "first",
                                        [FTH_ACCESS_LAST] = "last"};
    const char *names[FTH_VARIANTS];
    size_t next = 0;
    for (size_t i = 0; i < fills->count; i++)
        names[i] = fills->bytes[i] ? words[found->priorities[next++]] : "none";
    return fth_note(gpu,
                    &(struct fth_note){.element = cache->element,
                                       .attribute = "access_priorities",
                                       .texts = names,
                                       .count = fills->count,
                                       .evidence = &found->evidence,
                                       .samples = found->samples,
                                       .method = "lines of each variant and plain lines that stay "
                                                 "after reads of other lines"},
                    error);
}

/* Finds the priorities of those variants that fill the cache: of stores and copies, or of the
 * others. Appends them to `found`. */
static enum fth_status add_priorities(const struct fth_discovery *discovery,
                                      const struct fth_priority_plan *plan, bool stores,
                                      const struct fth_access_fills *fills,
                                      struct fth_access_priorities *found, size_t *known,
                                      struct fth_error *error)
{
    enum fth_variant filling[FTH_VARIANTS];
    size_t count = 0;
    struct fth_access_priorities own;
    for (size_t i = 0; i < fills->count; i++)
        if (fills->bytes[i] && (fills->variants[i] >= FTH_VARIANT_LOADS_END) == stores)
            filling[count++] = fills->variants[i];
    if (count == 0)
        return FTH_OK;
    FTH_TRY(fth_probe_access_priorities(&discovery->prober, plan, filling, count, &own, error));
    for (size_t i = 0; i < count; i++)
        found->priorities[(*known)++] = own.priorities[i];
    found->samples += own.samples;
    found->evidence.repeats += own.evidence.repeats;
    found->evidence.agree += own.evidence.agree;
    return FTH_OK;
}

/* Returns the cycles up to which a read hits in the near partition; 0: there is one partition. A
 * load of a line whose home is far leaves a copy in both partitions, and a store may leave one, so
 * that hits in either partition do not compare stored lines with others. */
static double find_near_threshold(const struct fth_discovery *discovery, const struct hinted *cache)
{
    const double near = fth_gpu_number(discovery->gpu, "l2", "latency_cycles", NAN);
    const double far = fth_gpu_number(discovery->gpu, "l2", "far_latency_cycles", NAN);
    return cache->path == FTH_PATH_CG && far > near
               ? (near + far) / 2 + discovery->l2_overhead_cycles
               : 0;
}

static enum fth_status find_priorities(struct fth_discovery *discovery, const struct hinted *cache,
                                       const struct fth_access_fills *fills,
                                       struct fth_error *error)
{
    struct fth_access_priorities found = {.samples = 0};
    size_t known = 0;
    if (isnan(cache->lines))
        return fth_note_unknown(discovery->gpu, cache->element, "access_priorities",
                                "the size of the cache is not known", error);
    if (discovery->simulated && cache->lines > max_simulated_lines)
        return fth_note_unknown(discovery->gpu, cache->element, "access_priorities",
                                "not measured for simulated GPUs with a large cache", error);
    struct fth_priority_plan plan = {.path = cache->path,
                                     .carveout_percent = cache->carveout_percent,
                                     .line_bytes = (uint64_t)cache->line_bytes,
                                     .lines = (uint64_t)cache->lines,
                                     .start_bytes = cache->start_bytes + REGION_BYTES,
                                     .threshold_cycles = fills->threshold_cycles};
    enum fth_status status = add_priorities(discovery, &plan, false, fills, &found, &known, error);
    plan.start_bytes += STORES_BYTES;
    plan.near_threshold_cycles = find_near_threshold(discovery, cache);
    if (status == FTH_OK)
        status = add_priorities(discovery, &plan, true, fills, &found, &known, error);
    return status == FTH_OK ? note_priorities(discovery->gpu, cache, fills, &found, error)
                            : fth_note_failure(discovery->gpu, cache->element, "access_priorities",
                                               status, error);
}

/* Appends what stores and copies fill. If their controls fail, the list has only the other
 * variants. */
static enum fth_status add_stores(const struct fth_discovery *discovery,
                                  const struct fth_fill_plan *plan, struct fth_access_fills *fills,
                                  struct fth_error *error)
{
    struct fth_fill_plan stores = *plan;
    struct fth_access_fills own;
    stores.stores = true;
    const enum fth_status status = fth_probe_access_fills(&discovery->prober, &stores, &own, error);
    if (status != FTH_OK && status != FTH_INCONCLUSIVE && status != FTH_UNSUPPORTED)
        return status;
    if (status != FTH_OK) {
        if (error)
            *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    for (size_t i = 0; i < own.count; i++) {
        fills->variants[fills->count] = own.variants[i];
        fills->bytes[fills->count++] = own.bytes[i];
    }
    fills->undecided += own.undecided;
    fills->samples += own.samples;
    if (own.evidence.agree < fills->evidence.agree)
        fills->evidence = own.evidence;
    return FTH_OK;
}

/* Finds whether a line that was in the L1 is still there after an access of each variant. */
static enum fth_status find_kept(struct fth_discovery *discovery, const struct hinted *cache,
                                 const struct fth_fill_plan *plan,
                                 const struct fth_access_fills *fills, struct fth_error *error)
{
    static const char *const words[] = {
        [FTH_KEPT_UNKNOWN] = "unknown", [FTH_KEPT_YES] = "yes", [FTH_KEPT_NO] = "no"};
    struct fth_fill_plan own = *plan;
    struct fth_access_keeps found;
    const char *names[FTH_VARIANTS];
    own.start_bytes += KEEPS_BYTES;
    own.threshold_cycles = fills->threshold_cycles;
    const enum fth_status status = fth_probe_access_keeps(&discovery->prober, &own, fills->variants,
                                                          fills->count, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, cache->element, "access_keeps", status, error);
    for (size_t i = 0; i < fills->count; i++)
        names[i] = words[found.kept[i]];
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = cache->element,
                                       .attribute = "access_keeps",
                                       .texts = names,
                                       .count = fills->count,
                                       .evidence = &found.evidence,
                                       .samples = found.samples,
                                       .method = "read a word, access it with the variant, then "
                                                 "time a read of it"},
                    error);
}

static enum fth_status dissect_hints(struct fth_discovery *discovery, const struct hinted *cache,
                                     struct fth_error *error)
{
    struct fth_access_fills fills = {.count = 0};
    const bool known = !isnan(cache->line_bytes);
    const struct fth_fill_plan plan = {.path = cache->path,
                                       .carveout_percent = cache->carveout_percent,
                                       .line_bytes = known ? (uint64_t)cache->line_bytes : 0,
                                       .sector_bytes = known ? (uint64_t)cache->sector_bytes : 0,
                                       .start_bytes = cache->start_bytes,
                                       .threshold_cycles = cache->threshold_cycles};
    enum fth_status status = known
                                 ? fth_probe_access_fills(&discovery->prober, &plan, &fills, error)
                                 : fth_fail(error, FTH_INCONCLUSIVE, "find what a load fills", NULL,
                                            "its line is not known");
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, cache->element, "access_variants", status, error);
    if (fills.count == 0)
        return fth_note_unknown(discovery->gpu, cache->element, "access_variants",
                                "the trials of every variant contradict", error);
    FTH_TRY(add_stores(discovery, &plan, &fills, error));
    FTH_TRY(note_fills(discovery->gpu, cache, &fills, error));
    if (cache->path == FTH_PATH_CA)
        FTH_TRY(find_kept(discovery, cache, &plan, &fills, error));
    return find_priorities(discovery, cache, &fills, error);
}

/* The smallest sector that is measured, in bytes: that of all GPUs with sectors. */
static const double min_sector_bytes = 32;

/* Returns the distance of the words to be timed. If the sector is not known, it is the smallest
 * one: a word in each part of a line that can be filled alone. */
static double find_sector(const struct fth_gpu *gpu, const char *element)
{
    return fmax(fth_gpu_number(gpu, element, "sector_bytes", min_sector_bytes), min_sector_bytes);
}

enum fth_status fth_dissect_l1_hints(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const double line = fth_gpu_number(gpu, "l1", "line_bytes", NAN);
    const struct hinted cache = {.element = "l1",
                                 .path = FTH_PATH_CA,
                                 .carveout_percent = 0,
                                 .line_bytes = line,
                                 .sector_bytes = find_sector(gpu, "l1"),
                                 .lines = fth_gpu_number(gpu, "l1", "size_bytes", NAN) / line};
    return dissect_hints(discovery, &cache, error);
}

enum fth_status fth_dissect_l2_hints(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const struct fth_l2_map_plan *map = &discovery->l2_map;
    const double line = fth_gpu_number(gpu, "l2", "line_bytes", NAN);
    const struct hinted cache = {.element = "l2",
                                 .path = FTH_PATH_CG,
                                 .carveout_percent = -1,
                                 .line_bytes = line,
                                 .sector_bytes = find_sector(gpu, "l2"),
                                 .lines = fth_gpu_number(gpu, "l2", "size_bytes", NAN) / line,
                                 .start_bytes = UINT64_C(2) * REGION_BYTES,
                                 .threshold_cycles = map->size_bytes ? map->memory_threshold : 0};
    return dissect_hints(discovery, &cache, error);
}
