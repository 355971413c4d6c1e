/* Measures shared memory, instruction caches and constant caches. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shared memory ---- */

enum fth_status fth_discover_shared(struct fth_discovery *discovery, struct fth_error *error)
{
    static const struct fth_latency_plan plan = {.path = FTH_PATH_SHARED,
                                                 .carveout_percent = -1,
                                                 .stride_bytes = 16,
                                                 .short_count = 64,
                                                 .long_count = 256};
    struct fth_gpu *gpu = discovery->gpu;
    enum fth_status status = FTH_OK;
    if (fth_discovery_wants(discovery, "shared")) {
        struct fth_figure cycles;
        double overhead;
        char note[FTH_NOTE_BYTES];
        fth_log_progress(discovery->prober.log, "shared memory", 0.4);
        status = fth_probe_latency(&discovery->prober, &plan, &cycles, error);
        if (status == FTH_OK)
            status = fth_probe_overhead(&discovery->prober, &plan, cycles.value, &overhead, error);
        if (status == FTH_OK)
            cycles.note = fth_note_agreement(discovery, cycles.value, overhead, note);
        if (status == FTH_OK)
            status =
                fth_note_latency(gpu, "shared", "latency_cycles", &cycles, fth_pass_method, error);
    }
    if (status != FTH_OK || !fth_discovery_wants(discovery, "cluster_shared"))
        return status;
    struct fth_cluster_latency cluster;
    status = fth_probe_cluster(&discovery->prober, &cluster, error);
    if (status == FTH_UNSUPPORTED) { /* a GPU without clusters has no such element */
        if (error)
            *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status == FTH_OK)
        status = fth_note_text(gpu, "cluster_shared", "scope", "gpc", NULL, error);
    if (status == FTH_OK)
        status =
            fth_note_latency(gpu, "cluster_shared", "latency_cycles", &cluster.near_cycles,
                             "chains in shared memory of other blocks, in clusters of 2, 4 and "
                             "8 blocks; lower plateau",
                             error);
    if (status == FTH_OK && isfinite(cluster.far_cycles.value))
        status = fth_note_latency(gpu, "cluster_shared", "far_latency_cycles", &cluster.far_cycles,
                                  "as latency_cycles; upper plateau", error);
    return status;
}

/* ---- instruction caches ---- */

static const char *const code_names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
enum { CODE_CACHES = sizeof code_names / sizeof code_names[0] };

/* Returns the element of a plateau of cycles per instruction, NULL if there is none. Plateaus are
 * numbered from the innermost cache; the last one is code that no cache holds. A single cache is
 * called L1, two are L0 and L1, three are L0, L1 and L1.5. */
static const char *code_name(const struct fth_fetch_levels *levels, size_t index)
{
    size_t caches = levels->count - 1;
    return index < caches && caches <= CODE_CACHES ? code_names[caches == 1 ? 1 : index] : NULL;
}

static enum fth_status note_code(struct fth_discovery *discovery,
                                 const struct fth_fetch_levels *levels, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    char note[96];
    fth_format(note, sizeof note, "assumes %.4g bytes per instruction",
               (double)levels->code.bytes / (double)levels->code.instructions);
    for (size_t i = 0; i < levels->count && status == FTH_OK; i++) {
        const struct fth_fetch_level *level = &levels->items[i];
        const char *name = code_name(levels, i);
        if (!name || !fth_discovery_wants(discovery, name))
            continue;
        status = fth_note_text(discovery->gpu, name, "scope", "sm", NULL, error);
        if (status == FTH_OK)
            status = fth_note_number(
                discovery->gpu,
                &(struct fth_note){.element = name,
                                   .attribute = "size_bytes",
                                   .value = (double)level->fits_bytes,
                                   .low = (double)level->fits_bytes,
                                   .high = (double)level->misses_bytes,
                                   .confidence = level->confidence,
                                   .samples = levels->samples,
                                   .method = "the longest straight-line code at this rate",
                                   .note = note},
                error);
        if (status == FTH_OK)
            status =
                fth_note_latency(discovery->gpu, name, "cycles_per_instruction", &level->cycles,
                                 "straight-line code executed by one warp", error);
    }
    return status;
}

/* ---- constant caches ---- */

static enum fth_status note_constants(struct fth_discovery *discovery, const char *element,
                                      const struct fth_constant_cache *cache, const char *method,
                                      struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_capacity *capacity = &cache->capacity;
    enum fth_status status =
        fth_note_latency(gpu, element, "latency_cycles", &cache->cycles, method, error);
    if (status == FTH_OK)
        status = fth_note_text(gpu, element, "scope", "sm", NULL, error);
    if (status == FTH_OK && cache->line_bytes)
        status = fth_note_value(gpu, element, "line_bytes", (double)cache->line_bytes,
                                cache->line_confidence, capacity->samples,
                                "distance between the misses of a first walk", error);
    if (status != FTH_OK)
        return status;
    if (capacity->misses_bytes == 0)
        return fth_note_unknown(gpu, element, "size_bytes",
                                "at least 64 KiB: a constant bank is not larger, and sharing with "
                                "code was not found",
                                error);
    return fth_note_number(gpu,
                           &(struct fth_note){.element = element,
                                              .attribute = "size_bytes",
                                              .value = (double)capacity->fits_bytes,
                                              .low = (double)capacity->fits_bytes,
                                              .high = (double)capacity->misses_bytes,
                                              .confidence = capacity->confidence,
                                              .samples = capacity->samples,
                                              .method = "the largest footprint without a miss in "
                                                        "repeated walks"},
                           error);
}

/* Counts the instances of the innermost constant cache per SM. */
static enum fth_status count_constants(struct fth_discovery *discovery,
                                       const struct fth_constants *found, struct fth_error *error)
{
    if (found->l1.capacity.misses_bytes == 0 || found->l1.line_bytes == 0)
        return FTH_OK;
    const double behind = found->has_l15 ? found->l15.cycles.value : discovery->l2.value;
    /* The timing overhead of hits and misses is about that of L2 loads. */
    const struct fth_walker walker = {
        .path = FTH_PATH_CONSTANT,
        .bytes = found->l1.capacity.fits_bytes,
        .stride_bytes = found->l1.line_bytes,
        .threshold_cycles = sqrt((found->l1.cycles.value + discovery->l2_overhead_cycles) *
                                 (behind + discovery->l2_overhead_cycles)),
        .carveout_percent = -1};
    return fth_note_instances(discovery, "constant_l1", &walker, error);
}

enum fth_status fth_discover_constants(struct fth_discovery *discovery, struct fth_error *error)
{
    bool code = false, constants = fth_discovery_wants(discovery, "constant_l1") ||
                                   fth_discovery_wants(discovery, "constant_l15");
    for (size_t i = 0; i < CODE_CACHES; i++)
        code = code || fth_discovery_wants(discovery, code_names[i]);
    struct fth_fetch_levels levels = {.count = 0};
    enum fth_status status = FTH_OK;
    if (code || constants) {
        fth_log_progress(discovery->prober.log, "instruction caches", 0.45);
        status = fth_probe_fetch(&discovery->prober, &levels, error);
        if (status == FTH_OK)
            status = note_code(discovery, &levels, error);
        else
            status =
                fth_note_failure(discovery->gpu, "instruction_l1", "size_bytes", status, error);
    }
    if (status != FTH_OK || !constants)
        return status;
    struct fth_constants found;
    fth_log_progress(discovery->prober.log, "constant caches", 0.5);
    status = fth_probe_constants(&discovery->prober, levels.count ? &levels : NULL, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "constant_l1", "size_bytes", status, error);
    char note[FTH_NOTE_BYTES];
    found.l1.cycles.note =
        fth_note_agreement(discovery, found.l1.cycles.value, found.overhead_cycles, note);
    status = note_constants(discovery, "constant_l1", &found.l1, fth_pass_method, error);
    if (status == FTH_OK)
        status = count_constants(discovery, &found, error);
    if (status == FTH_OK && found.has_l15)
        status = note_constants(
            discovery, "constant_l15", &found.l15,
            found.l15_by_passes
                ? fth_pass_method
                : "single loads slower than L1 hits and faster than L2 hits; minus the cost of "
                  "reading the clock",
            error);
    const char *with = found.with_code == FTH_SHARING_YES && found.code_level >= 0
                           ? code_name(&levels, (size_t)found.code_level)
                           : NULL;
    static const char method[] = "constants are evicted as longer and longer code is executed";
    const char *const l15[] = {"constant_l15"};
    if (status == FTH_OK && with)
        status = fth_note_texts(discovery->gpu, "constant_l15", "shared_with", &with, 1,
                                found.with_code_confidence, method, error);
    if (status == FTH_OK && with)
        status = fth_note_texts(discovery->gpu, with, "shared_with", l15, 1,
                                found.with_code_confidence, method, error);
    return status;
}
