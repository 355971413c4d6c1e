/* The data caches of an SM: L1, texture and read-only. On many GPUs they share storage: loads on
 * each path evict lines that were loaded on the other. Then the structure is measured once and
 * copied, and only the latency is measured on each path. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path is cached in the SM if the latency of its loads is at most this fraction of L2's.
 * Heuristic. */
static const double max_cached_fraction = 0.9;
/* The range in bytes in which the size of a cache is searched. It includes all data caches in
 * data/gpus, which have 12 to 241 KiB. Chosen, not derived. */
static const uint64_t min_cache_bytes = 4096, max_cache_bytes = 512 << 10;
/* Stride of walks if the sector is not known: the smallest sector of the GPUs in data/gpus. */
static const uint64_t default_stride_bytes = 32;
static const char fit_method[] = "the largest footprint without a miss in repeated walks";

struct cache {
    const char *element;
    enum fth_path path;
    bool present;
    struct fth_figure latency;
    double overhead_cycles;
    char note[FTH_NOTE_BYTES];   /* of the latency */
    struct fth_walker walker;    /* bytes 0: the size is not known */
    const struct cache *same_as; /* the earlier cache that it shares storage with, or NULL */
    struct fth_sharing_found sharing[3]; /* [index of the other cache] whether they share storage;
                                          * without samples: not measured */
};
enum { CACHES = 3 };

static struct fth_latency_plan latency_plan(enum fth_path path)
{
    /* Small enough for every cache, and long enough to resolve a tenth of a cycle. */
    return (struct fth_latency_plan){.path = path,
                                     .carveout_percent = 0,
                                     .stride_bytes = 16,
                                     .short_count = 64,
                                     .long_count = 256};
}

static enum fth_status find_latency(struct fth_discovery *discovery, struct cache *cache,
                                    struct fth_error *error)
{
    const struct fth_latency_plan plan = latency_plan(cache->path);
    FTH_TRY(fth_probe_latency(&discovery->prober, &plan, &cache->latency, error));
    FTH_TRY(fth_probe_overhead(&discovery->prober, &plan, cache->latency.value,
                               &cache->overhead_cycles, error));
    cache->latency.note =
        fth_note_agreement(discovery, cache->latency.value, cache->overhead_cycles, cache->note);
    cache->present = cache->latency.value <= max_cached_fraction * discovery->l2.value;
    cache->walker = (struct fth_walker){.path = cache->path,
                                        .threshold_cycles =
                                            sqrt((cache->latency.value + cache->overhead_cycles) *
                                                 (discovery->l2.value + cache->overhead_cycles)),
                                        .carveout_percent = 0};
    return FTH_OK;
}

/* ---- structure ---- */

static const char interrupted_reason[] =
    "repeated walks contradict each other; another program seems to use the GPU";

static enum fth_status note_capacity(struct fth_gpu *gpu, const char *element,
                                     const struct fth_capacity *capacity, struct fth_error *error)
{
    const struct fth_note notes[] = {
        {.attribute = "size_bytes",
         .number = (double)capacity->fits_bytes,
         .interval = (const double[]){(double)capacity->fits_bytes, (double)capacity->misses_bytes},
         .evidence = &capacity->evidence,
         .method = fit_method,
         .note = capacity->resident_bytes && capacity->resident_bytes < capacity->fits_bytes
                     ? "a reverse walk hits fewer lines than fit: the policy does not always evict "
                       "the oldest line"
                     : NULL},
        {.attribute = "onset_bytes",
         .number = (double)capacity->misses_bytes,
         .evidence = &capacity->evidence,
         .method = "the smallest footprint with misses"},
        {.attribute = "resident_bytes",
         .number = (double)capacity->resident_bytes,
         .evidence = &capacity->resident_evidence,
         .method = "bytes that a reverse walk hits after a walk over 1.25 times the size; maximum "
                   "of several",
         .note = capacity->resident_bytes < capacity->fits_bytes
                     ? "for this allocation: in other memory, a few more or fewer lines stay"
                     : NULL},
        {.attribute = "full_miss_bytes",
         .number = (double)capacity->full_miss_bytes,
         .interval = (const double[]){(double)capacity->full_miss_low_bytes,
                                      (double)capacity->full_miss_bytes},
         .evidence = &capacity->evidence,
         .method = "the smallest footprint without a hit"},
    };
    for (size_t i = 0; i < FTH_COUNT(notes); i++) {
        struct fth_note note = notes[i];
        note.element = element;
        note.samples = capacity->samples;
        if (note.number > 0) /* 0: not found */
            FTH_TRY(fth_note(gpu, &note, error));
    }
    if (!capacity->resident_bytes)
        FTH_TRY(fth_note_unknown(gpu, element, "resident_bytes", interrupted_reason, error));
    if (!capacity->full_miss_bytes)
        FTH_TRY(fth_note_unknown(gpu, element, "full_miss_bytes",
                                 capacity->full_miss_interrupted
                                     ? interrupted_reason
                                     : "no footprint up to twice the size misses with every load",
                                 error));
    return FTH_OK;
}

/* Measures the size under the largest carve-out, and writes it if it differs. */
static enum fth_status find_default_size(struct fth_discovery *discovery, struct cache *cache,
                                         struct fth_capacity_plan plan, struct fth_error *error)
{
    struct fth_capacity capacity;
    plan.carveout_percent = 100;
    plan.evidence = false;
    plan.largest_bytes = 2 * cache->walker.bytes; /* it cannot be larger than without carve-out */
    enum fth_status status = fth_probe_capacity(&discovery->prober, &plan, &capacity, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, cache->element, "default_size_bytes", status,
                                error);
    if (capacity.misses_bytes == 0 || capacity.fits_bytes == cache->walker.bytes)
        return FTH_OK;
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = cache->element,
                                       .attribute = "default_size_bytes",
                                       .number = (double)capacity.fits_bytes,
                                       .interval = (const double[]){(double)capacity.fits_bytes,
                                                                    (double)capacity.misses_bytes},
                                       .evidence = &capacity.evidence,
                                       .samples = capacity.samples,
                                       .method = fit_method,
                                       .note = "under the largest carve-out"},
                    error);
}

static enum fth_status find_line(struct fth_discovery *discovery, struct cache *cache,
                                 const struct fth_capacity *capacity, struct fth_error *error)
{
    const struct fth_line_plan plan = {.path = cache->path,
                                       .carveout_percent = 0,
                                       .size_bytes = cache->walker.bytes,
                                       .threshold_cycles = cache->walker.threshold_cycles,
                                       .miss_low_cycles = capacity->miss_low_cycles,
                                       .miss_high_cycles = capacity->miss_high_cycles};
    struct fth_length line;
    enum fth_status status =
        fth_probe_line_bytes(&discovery->prober, &plan, cache->walker.stride_bytes, &line, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, cache->element, "line_bytes", status, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = cache->element,
                                       .attribute = "line_bytes",
                                       .number = (double)line.bytes,
                                       .evidence = &line.evidence,
                                       .samples = line.samples,
                                       .method = "bytes that a full cache evicts together"},
                    error);
}

/* Measures the sector. *bytes is 0 if it was not found. */
static enum fth_status find_sector(struct fth_discovery *discovery, const struct cache *cache,
                                   uint64_t *bytes, struct fth_error *error)
{
    const struct fth_line_plan plan = {.path = cache->path,
                                       .carveout_percent = 0,
                                       .threshold_cycles = cache->walker.threshold_cycles};
    struct fth_length fetch = {0};
    enum fth_status status = fth_probe_fetch_bytes(&discovery->prober, &plan, &fetch, error);
    *bytes = fetch.bytes;
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, cache->element, "sector_bytes", status, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = cache->element,
                                       .attribute = "sector_bytes",
                                       .number = (double)fetch.bytes,
                                       .evidence = &fetch.evidence,
                                       .samples = fetch.samples,
                                       .method = "distance between the misses of a first walk"},
                    error);
}

static enum fth_status find_structure(struct fth_discovery *discovery, struct cache *cache,
                                      struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    uint64_t sector_bytes = 0;
    FTH_TRY(find_sector(discovery, cache, &sector_bytes, error));
    cache->walker.stride_bytes = sector_bytes ? sector_bytes : default_stride_bytes;
    const struct fth_capacity_plan plan = {
        .path = cache->path,
        .carveout_percent = 0,
        .stride_bytes = cache->walker.stride_bytes,
        .smallest_bytes = min_cache_bytes,
        .largest_bytes = max_cache_bytes,
        .hit_cycles = cache->latency.value + cache->overhead_cycles,
        .miss_cycles = discovery->l2.value + cache->overhead_cycles,
        .evidence = true,
        .disturbed = cache->latency.disturbed,
    };
    struct fth_capacity capacity = {0};
    enum fth_status status = fth_probe_capacity(&discovery->prober, &plan, &capacity, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, cache->element, "size_bytes", status, error);
    if (capacity.misses_bytes == 0)
        return fth_note_unknown(gpu, cache->element, "size_bytes",
                                "no footprint up to 512 KiB had a miss", error);
    cache->walker.bytes = capacity.fits_bytes;
    FTH_TRY(note_capacity(gpu, cache->element, &capacity, error));
    FTH_TRY(find_default_size(discovery, cache, plan, error));
    return sector_bytes ? find_line(discovery, cache, &capacity, error) : FTH_OK;
}

enum fth_status fth_discover_instances(struct fth_discovery *discovery, const char *element,
                                       const struct fth_walker *walker, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    struct fth_instances found;
    enum fth_status status = fth_probe_instances(&discovery->prober, walker, &found, error);
    if (status == FTH_OK)
        status = fth_note(
            gpu,
            &(struct fth_note){.element = element,
                               .attribute = "per_sm",
                               .number = found.count,
                               .evidence = &found.evidence,
                               .samples = found.samples,
                               .method = "which warps of a full block evict lines that the first "
                                         "one loaded"},
            error);
    else
        status = fth_note_failure(gpu, element, "per_sm", status, error);
    if (status != FTH_OK)
        return status;
    /* The fraction for each warp, rounded to a thousandth. */
    for (size_t i = 0; i < FTH_MAX_WARPS; i++)
        found.disturbed[i] = round(1000 * found.disturbed[i]) / 1000;
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "disturbed_by_warp",
                                       .numbers = found.disturbed,
                                       .count = FTH_MAX_WARPS,
                                       .evidence = &found.evidence,
                                       .samples = found.samples,
                                       .method = "share of the first warp's lines that each warp "
                                                 "evicted"},
                    error);
}

/* ---- sharing ---- */

/* Determines whether loads on each of the two paths evict lines that the other has loaded. */
static enum fth_status find_sharing(struct fth_discovery *discovery, const struct cache *a,
                                    const struct cache *b, struct fth_sharing_found *found,
                                    struct fth_error *error)
{
    struct fth_walker walkers[2] = {a->walker, b->walker};
    /* The structure of b is not known yet, so it walks the same footprint with the same stride as
     * a. With the same number of accesses per line, a policy that keeps frequently used lines
     * treats both alike. */
    walkers[1].bytes = walkers[0].bytes;
    walkers[1].stride_bytes = walkers[0].stride_bytes;
    return fth_probe_sharing(&discovery->prober, &walkers[0], &walkers[1], found, error);
}

/* Copies the attributes of a cache to another one that shares its storage. If not all repeats agree
 * that it does (`sharing`), they are the evidence for the copies. */
static enum fth_status copy_structure(struct fth_discovery *discovery, const struct cache *from,
                                      struct cache *to, struct fth_evidence sharing,
                                      struct fth_error *error)
{
    static const char *const copied[] = {
        "size_bytes", "default_size_bytes", "onset_bytes", "resident_bytes",   "full_miss_bytes",
        "line_bytes", "sector_bytes",       "per_sm",      "disturbed_by_warp"};
    char note[96], method[96];
    const double confidence = fth_round_confidence(fth_confidence(sharing));
    snprintf(note, sizeof note, "shares storage with %s, where it was measured", from->element);
    fth_format(method, sizeof method, "shares storage with %s; %.0f of %.0f repeats agree",
               from->element, sharing.agree, sharing.repeats);
    to->walker.bytes = from->walker.bytes;
    to->walker.stride_bytes = from->walker.stride_bytes;
    for (size_t i = 0; i < FTH_COUNT(copied); i++) {
        const struct fth_attribute *attribute =
            fth_gpu_attribute(discovery->gpu, from->element, copied[i]);
        const char *reason = fth_gpu_unknown(discovery->gpu, from->element, copied[i]);
        if (!attribute && reason)
            FTH_TRY(fth_note_unknown(discovery->gpu, to->element, copied[i], reason, error));
        if (!attribute)
            continue;
        struct fth_attribute copy = *attribute;
        copy.note = note;
        if (fth_evidence_share(sharing) < 1 && confidence < copy.confidence) {
            copy.confidence = confidence;
            copy.method = method;
        }
        FTH_TRY(fth_note_attribute(discovery->gpu, to->element, &copy, error));
    }
    return FTH_OK;
}

/* Writes which caches share storage with the cache. An empty list says that it shares with none of
 * the others that were measured. */
static enum fth_status note_sharing(struct fth_discovery *discovery, const struct cache *caches,
                                    size_t index, struct fth_error *error)
{
    const char *names[CACHES] = {NULL}, *const element = caches[index].element;
    size_t count = 0, known = 0;
    bool untested = false;
    struct fth_evidence evidence = {0};
    if (!caches[index].present)
        return FTH_OK;
    for (size_t i = 0; i < CACHES; i++) {
        const struct fth_sharing_found *found = &caches[index].sharing[i];
        if (found->samples && found->sharing == FTH_SHARING_UNKNOWN)
            return fth_note_unknown(discovery->gpu, element, "shared_with",
                                    "only one path evicts lines of the other, or only some of them",
                                    error);
        if (found->samples == 0) {
            untested = untested || (i != index && caches[i].present);
            continue;
        }
        evidence = known ? fth_weaker_evidence(evidence, found->evidence) : found->evidence;
        known++;
        if (found->sharing == FTH_SHARING_YES)
            names[count++] = caches[i].element;
    }
    if (known == 0)
        return fth_note_unknown(discovery->gpu, element, "shared_with",
                                "the size of no other data cache of the SM was measured", error);
    if (untested)
        return fth_note_unknown(discovery->gpu, element, "shared_with",
                                "the size of another data cache of the SM is unknown", error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "shared_with",
                                       .texts = names,
                                       .count = count,
                                       .evidence = &evidence,
                                       .method = "loads on either path evict lines loaded on the "
                                                 "other"},
                    error);
}

static enum fth_status find_cache(struct fth_discovery *discovery, struct cache *caches,
                                  size_t index, struct fth_error *error)
{
    struct cache *cache = &caches[index];
    for (size_t i = 0; i < index; i++) {
        struct fth_sharing_found found;
        if (!caches[i].present || caches[i].walker.bytes == 0)
            continue;
        FTH_TRY(find_sharing(discovery, &caches[i], cache, &found, error));
        cache->sharing[i] = caches[i].sharing[index] = found;
        if (found.sharing == FTH_SHARING_YES && !cache->same_as)
            cache->same_as = &caches[i];
    }
    FTH_TRY(fth_note(discovery->gpu,
                     &(struct fth_note){.element = cache->element,
                                        .attribute = "latency_cycles",
                                        .figure = &cache->latency,
                                        .method = fth_pass_method},
                     error));
    if (cache->same_as)
        return copy_structure(discovery, cache->same_as, cache,
                              cache->sharing[cache->same_as - caches].evidence, error);
    FTH_TRY(find_structure(discovery, cache, error));
    return cache->walker.bytes
               ? fth_discover_instances(discovery, cache->element, &cache->walker, error)
               : FTH_OK;
}

enum fth_status fth_discover_l1_latency(struct fth_discovery *discovery, struct fth_error *error)
{
    struct cache cache = {.element = "l1", .path = FTH_PATH_CA};
    FTH_TRY(find_latency(discovery, &cache, error));
    if (!cache.present)
        return fth_note_unknown(discovery->gpu, cache.element, "latency_cycles",
                                "loads are not cached in the SM: they take as long as from L2",
                                error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = cache.element,
                                       .attribute = "latency_cycles",
                                       .figure = &cache.latency,
                                       .method = fth_pass_method},
                    error);
}

enum fth_status fth_discover_sm(struct fth_discovery *discovery, struct fth_error *error)
{
    struct cache caches[CACHES] = {{.element = "l1", .path = FTH_PATH_CA},
                                   {.element = "texture", .path = FTH_PATH_TEXTURE},
                                   {.element = "readonly", .path = FTH_PATH_READONLY}};
    /* The read-only path exists since compute capability 3.5. */
    const struct fth_attribute *capability =
        fth_gpu_attribute(discovery->gpu, "device", "compute_capability");
    bool has_readonly =
        !capability || !capability->text || fth_strtod(capability->text, NULL) >= 3.5;
    for (size_t i = 0; i < CACHES; i++) {
        struct cache *cache = &caches[i];
        if (!fth_discovery_wants(discovery, cache->element) ||
            (cache->path == FTH_PATH_READONLY && !has_readonly))
            continue;
        fth_discovery_report_step(discovery, cache->element, (double)i / CACHES);
        FTH_TRY(find_latency(discovery, cache, error));
        if (cache->present)
            FTH_TRY(find_cache(discovery, caches, i, error));
        else
            FTH_TRY(fth_note_unknown(discovery->gpu, cache->element, "size_bytes",
                                     "loads on this path are not cached in the SM: they take as "
                                     "long as from L2",
                                     error));
    }
    for (size_t i = 0; i < CACHES; i++)
        FTH_TRY(note_sharing(discovery, caches, i, error));
    return FTH_OK;
}
