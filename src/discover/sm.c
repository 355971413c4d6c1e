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
    bool shares[3];              /* [index of the other cache] shares storage with it */
    double share_confidence[3];
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
    enum fth_status status = fth_probe_latency(&discovery->prober, &plan, &cache->latency, error);
    if (status == FTH_OK)
        status = fth_probe_overhead(&discovery->prober, &plan, cache->latency.value,
                                    &cache->overhead_cycles, error);
    if (status != FTH_OK)
        return status;
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

static enum fth_status note_capacity(struct fth_gpu *gpu, const char *element,
                                     const struct fth_capacity *capacity, struct fth_error *error)
{
    const struct fth_note size = {.element = element,
                                  .attribute = "size_bytes",
                                  .value = (double)capacity->fits_bytes,
                                  .low = (double)capacity->fits_bytes,
                                  .high = (double)capacity->misses_bytes,
                                  .confidence = capacity->confidence,
                                  .samples = capacity->samples,
                                  .method = fit_method,
                                  .note = capacity->resident_bytes < capacity->fits_bytes
                                              ? "a reverse walk hits fewer lines than fit: the "
                                                "policy does not always evict the oldest line"
                                              : NULL};
    enum fth_status status = fth_note_number(gpu, &size, error);
    if (status == FTH_OK)
        status = fth_note_count(gpu, element, "onset_bytes", (double)capacity->misses_bytes,
                                capacity->samples, "the smallest footprint with misses", error);
    if (status == FTH_OK && capacity->resident_bytes)
        status = fth_note_count(gpu, element, "resident_bytes", (double)capacity->resident_bytes,
                                capacity->samples,
                                "bytes that a reverse walk hits after a walk over 1.25 times the "
                                "size; maximum of several",
                                error);
    if (status == FTH_OK && capacity->full_miss_bytes)
        status = fth_note_count(gpu, element, "full_miss_bytes", (double)capacity->full_miss_bytes,
                                capacity->samples, "the smallest footprint without a hit", error);
    return status;
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
    return fth_note_number(discovery->gpu,
                           &(struct fth_note){.element = cache->element,
                                              .attribute = "default_size_bytes",
                                              .value = (double)capacity.fits_bytes,
                                              .low = (double)capacity.fits_bytes,
                                              .high = (double)capacity.misses_bytes,
                                              .confidence = capacity.confidence,
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
    return fth_note_value(discovery->gpu, cache->element, "line_bytes", (double)line.bytes,
                          line.confidence, line.samples, "bytes that a full cache evicts together",
                          error);
}

static enum fth_status find_structure(struct fth_discovery *discovery, struct cache *cache,
                                      struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_line_plan first = {.path = cache->path,
                                        .carveout_percent = 0,
                                        .threshold_cycles = cache->walker.threshold_cycles};
    struct fth_length fetch;
    enum fth_status status = fth_probe_fetch_bytes(&discovery->prober, &first, &fetch, error);
    if (status == FTH_OK)
        status = fth_note_value(gpu, cache->element, "sector_bytes", (double)fetch.bytes,
                                fetch.confidence, fetch.samples,
                                "distance between the misses of a first walk", error);
    else
        status = fth_note_failure(gpu, cache->element, "sector_bytes", status, error);
    cache->walker.stride_bytes = fetch.bytes ? fetch.bytes : 32;
    const struct fth_capacity_plan plan = {
        .path = cache->path,
        .carveout_percent = 0,
        .stride_bytes = cache->walker.stride_bytes,
        .smallest_bytes = 4096,
        .largest_bytes = 512 << 10,
        .hit_cycles = cache->latency.value + cache->overhead_cycles,
        .miss_cycles = discovery->l2.value + cache->overhead_cycles,
        .evidence = true,
        .disturbed = cache->latency.disturbed,
    };
    struct fth_capacity capacity = {0};
    if (status == FTH_OK)
        status = fth_probe_capacity(&discovery->prober, &plan, &capacity, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, cache->element, "size_bytes", status, error);
    if (capacity.misses_bytes == 0)
        return fth_note_unknown(gpu, cache->element, "size_bytes",
                                "no footprint up to 512 KiB had a miss", error);
    cache->walker.bytes = capacity.fits_bytes;
    status = note_capacity(gpu, cache->element, &capacity, error);
    if (status == FTH_OK)
        status = find_default_size(discovery, cache, plan, error);
    if (status == FTH_OK && fetch.bytes)
        status = find_line(discovery, cache, &capacity, error);
    return status;
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

/* Copies the attributes of a cache to another one that shares its storage. */
static enum fth_status copy_structure(struct fth_discovery *discovery, const struct cache *from,
                                      struct cache *to, struct fth_error *error)
{
    static const char *const copied[] = {
        "size_bytes", "default_size_bytes", "onset_bytes", "resident_bytes",   "full_miss_bytes",
        "line_bytes", "sector_bytes",       "per_sm",      "disturbed_by_warp"};
    struct fth_gpu_section *section;
    enum fth_status status = fth_note_section(discovery->gpu, to->element, &section, error);
    for (size_t i = 0; i < FTH_COUNT(copied) && status == FTH_OK; i++) {
        const struct fth_attribute *attribute =
            fth_gpu_attribute(discovery->gpu, from->element, copied[i]);
        if (!attribute)
            continue;
        struct fth_attribute copy = *attribute;
        char note[96];
        snprintf(note, sizeof note, "shares storage with %s, where it was measured", from->element);
        copy.note = note;
        status = fth_gpu_set(discovery->gpu, section, &copy, error);
    }
    to->walker.bytes = from->walker.bytes;
    to->walker.stride_bytes = from->walker.stride_bytes;
    return status;
}

static enum fth_status note_sharing(struct fth_discovery *discovery, const struct cache *caches,
                                    size_t index, struct fth_error *error)
{
    const char *names[CACHES];
    size_t count = 0;
    double share_confidence = 1;
    for (size_t i = 0; i < CACHES; i++)
        if (i != index && caches[index].shares[i]) {
            names[count++] = caches[i].element;
            share_confidence = fmin(share_confidence, caches[index].share_confidence[i]);
        }
    if (count == 0) {
        fth_note_remove(discovery->gpu, caches[index].element, "shared_with");
        return FTH_OK;
    }
    return fth_note_texts(discovery->gpu, caches[index].element, "shared_with", names, count,
                          share_confidence, "loads on either path evict lines loaded on the other",
                          error);
}

static enum fth_status find_cache(struct fth_discovery *discovery, struct cache *caches,
                                  size_t index, struct fth_error *error)
{
    struct cache *cache = &caches[index];
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < index && status == FTH_OK; i++) {
        struct fth_sharing_found found;
        if (!caches[i].present || caches[i].walker.bytes == 0)
            continue;
        status = find_sharing(discovery, &caches[i], cache, &found, error);
        cache->shares[i] = caches[i].shares[index] = found.sharing == FTH_SHARING_YES;
        cache->share_confidence[i] = caches[i].share_confidence[index] = found.confidence;
        if (status == FTH_OK && found.sharing == FTH_SHARING_UNKNOWN)
            status = fth_note_unknown(discovery->gpu, cache->element, "shared_with",
                                      "only one path evicts lines of the other, or only some of "
                                      "them",
                                      error);
        if (found.sharing == FTH_SHARING_YES && !cache->same_as)
            cache->same_as = &caches[i];
    }
    if (status == FTH_OK)
        status = fth_note_latency(discovery->gpu, cache->element, "latency_cycles", &cache->latency,
                                  fth_pass_method, error);
    if (status != FTH_OK)
        return status;
    if (cache->same_as)
        return copy_structure(discovery, cache->same_as, cache, error);
    status = find_structure(discovery, cache, error);
    if (status == FTH_OK && cache->walker.bytes)
        status = fth_note_instances(discovery, cache->element, &cache->walker, error);
    return status;
}

enum fth_status fth_discover_sm(struct fth_discovery *discovery, struct fth_error *error)
{
    struct cache caches[CACHES] = {{.element = "l1", .path = FTH_PATH_CA},
                                   {.element = "texture", .path = FTH_PATH_TEXTURE},
                                   {.element = "readonly", .path = FTH_PATH_READONLY}};
    enum fth_status status = FTH_OK;
    /* The read-only path exists since compute capability 3.5. */
    const struct fth_attribute *capability =
        fth_gpu_attribute(discovery->gpu, "device", "compute_capability");
    bool has_readonly =
        !capability || !capability->text || fth_strtod(capability->text, NULL) >= 3.5;
    for (size_t i = 0; i < CACHES && status == FTH_OK; i++) {
        struct cache *cache = &caches[i];
        if (!fth_discovery_wants(discovery, cache->element) ||
            (cache->path == FTH_PATH_READONLY && !has_readonly))
            continue;
        fth_log_progress(discovery->prober.log, cache->element, 0.1 + 0.1 * (double)i);
        status = find_latency(discovery, cache, error);
        if (status != FTH_OK)
            break;
        if (cache->present)
            status = find_cache(discovery, caches, i, error);
        else
            status = fth_note_unknown(discovery->gpu, cache->element, "size_bytes",
                                      "loads on this path are not cached in the SM: they take as "
                                      "long as from L2",
                                      error);
    }
    for (size_t i = 0; i < CACHES && status == FTH_OK; i++)
        status = note_sharing(discovery, caches, i, error);
    return status;
}
