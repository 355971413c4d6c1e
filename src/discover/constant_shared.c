/* Measures shared memory, instruction caches and constant caches. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Writes the scope of an element. It is not measured: CUDA guarantees that the blocks of a cluster
 * run on one GPC, and the other elements are parts of an SM on all supported GPUs. */
static enum fth_status note_scope(struct fth_gpu *gpu, const char *element, const char *scope,
                                  struct fth_error *error)
{
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "scope",
                                       .text = scope,
                                       .source = FTH_SOURCE_DERIVED,
                                       .method = "from the architecture"},
                    error);
}

/* ---- shared memory ---- */

static enum fth_status find_shared(struct fth_discovery *discovery, struct fth_error *error)
{
    static const struct fth_latency_plan plan = {.path = FTH_PATH_SHARED,
                                                 .carveout_percent = -1,
                                                 .stride_bytes = 16,
                                                 .short_count = 64,
                                                 .long_count = 256};
    struct fth_figure cycles;
    double overhead;
    char note[FTH_NOTE_BYTES];
    FTH_TRY(fth_probe_latency(&discovery->prober, &plan, &cycles, error));
    FTH_TRY(fth_probe_overhead(&discovery->prober, &plan, cycles.value, &overhead, error));
    cycles.note = fth_note_agreement(discovery, cycles.value, overhead, note);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "shared",
                                       .attribute = "latency_cycles",
                                       .figure = &cycles,
                                       .method = fth_pass_method},
                    error);
}

static enum fth_status find_cluster_shared(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char element[] = "cluster_shared";
    struct fth_gpu *gpu = discovery->gpu;
    struct fth_cluster_latency cluster;
    enum fth_status status = fth_probe_cluster(&discovery->prober, &cluster, error);
    if (status == FTH_UNSUPPORTED) { /* a GPU without clusters has no such element */
        if (error)
            *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status != FTH_OK)
        return status;
    FTH_TRY(note_scope(gpu, element, "gpc", error));
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "latency_cycles",
                                        .figure = &cluster.near_cycles,
                                        .method = "chains in shared memory of other blocks, in "
                                                  "clusters of 2, 4 and 8 blocks; lower plateau"},
                     error));
    if (!isfinite(cluster.far_cycles.value))
        return FTH_OK;
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "far_latency_cycles",
                                       .figure = &cluster.far_cycles,
                                       .method = "as latency_cycles; upper plateau"},
                    error);
}

enum fth_status fth_discover_shared(struct fth_discovery *discovery, struct fth_error *error)
{
    if (fth_discovery_wants(discovery, "shared"))
        FTH_TRY(find_shared(discovery, error));
    return fth_discovery_wants(discovery, "cluster_shared") ? find_cluster_shared(discovery, error)
                                                            : FTH_OK;
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
    struct fth_gpu *gpu = discovery->gpu;
    char note[96];
    fth_format(note, sizeof note, "assumes %.4g bytes per instruction",
               (double)levels->code.bytes / (double)levels->code.instructions);
    for (size_t i = 0; i < levels->count; i++) {
        const struct fth_fetch_level *level = &levels->items[i];
        const double fits = (double)level->fits_bytes, misses = (double)level->misses_bytes;
        const char *name = code_name(levels, i);
        if (!name || !fth_discovery_wants(discovery, name))
            continue;
        FTH_TRY(note_scope(gpu, name, "sm", error));
        FTH_TRY(fth_note(gpu,
                         &(struct fth_note){.element = name,
                                            .attribute = "size_bytes",
                                            .number = fits,
                                            .interval = (const double[]){fits, misses},
                                            .evidence = &level->evidence,
                                            .samples = levels->samples,
                                            .method = "the longest straight-line code at this rate",
                                            .note = note},
                         error));
        FTH_TRY(fth_note(gpu,
                         &(struct fth_note){.element = name,
                                            .attribute = "cycles_per_instruction",
                                            .figure = &level->cycles,
                                            .method = "straight-line code executed by one warp"},
                         error));
    }
    return FTH_OK;
}

/* ---- constant caches ---- */

static enum fth_status note_constant_size(struct fth_gpu *gpu, const char *element,
                                          const struct fth_capacity *capacity,
                                          struct fth_error *error)
{
    const double fits = (double)capacity->fits_bytes, misses = (double)capacity->misses_bytes;
    if (capacity->misses_bytes == 0)
        return fth_note_unknown(gpu, element, "size_bytes",
                                "at least 64 KiB: a constant bank is not larger, and sharing with "
                                "code was not found",
                                error);
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "size_bytes",
                                       .number = fits,
                                       .interval = (const double[]){fits, misses},
                                       .evidence = &capacity->evidence,
                                       .samples = capacity->samples,
                                       .method = "the largest footprint without a miss in repeated "
                                                 "walks"},
                    error);
}

static enum fth_status note_constants(struct fth_discovery *discovery, const char *element,
                                      const struct fth_constant_cache *cache, const char *method,
                                      struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "latency_cycles",
                                        .figure = &cache->cycles,
                                        .method = method},
                     error));
    FTH_TRY(note_scope(gpu, element, "sm", error));
    if (cache->line_bytes)
        FTH_TRY(
            fth_note(gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "line_bytes",
                                        .number = (double)cache->line_bytes,
                                        .evidence = &cache->line_evidence,
                                        .samples = cache->capacity.samples,
                                        .method = "distance between the misses of a first walk"},
                     error));
    return FTH_OK;
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
    return fth_discover_instances(discovery, "constant_l1", &walker, error);
}

static const char sharing_method[] = "constants are evicted as longer and longer code is executed";

/* Writes whether the constant L1.5 and an instruction cache are the same. */
static enum fth_status note_shared_code(struct fth_discovery *discovery,
                                        const struct fth_fetch_levels *levels,
                                        const struct fth_constants *found, struct fth_error *error)
{
    static const char *const l15 = "constant_l15";
    const char *code = found->with_code == FTH_SHARING_YES && found->code_level >= 0
                           ? code_name(levels, (size_t)found->code_level)
                           : NULL;
    if (found->with_code == FTH_SHARING_UNKNOWN)
        return fth_note_unknown(discovery->gpu, l15, "shared_with", found->with_code_reason, error);
    if (found->with_code == FTH_SHARING_NO)
        return fth_note(discovery->gpu,
                        &(struct fth_note){.element = l15,
                                           .attribute = "shared_with",
                                           .texts = &code,
                                           .evidence = &found->with_code_evidence,
                                           .method = sharing_method},
                        error);
    if (!code)
        return fth_note_unknown(discovery->gpu, l15, "shared_with",
                                "it also holds code, but no instruction cache has its size", error);
    const char *const elements[] = {l15, code}, *const others[] = {code, l15};
    for (size_t i = 0; i < 2; i++)
        FTH_TRY(fth_note(discovery->gpu,
                         &(struct fth_note){.element = elements[i],
                                            .attribute = "shared_with",
                                            .texts = &others[i],
                                            .count = 1,
                                            .evidence = &found->with_code_evidence,
                                            .method = sharing_method},
                         error));
    return FTH_OK;
}

/* Writes the figures of the constant L1.5, or that there is none. */
static enum fth_status note_l15(struct fth_discovery *discovery,
                                const struct fth_fetch_levels *levels, struct fth_constants *found,
                                struct fth_error *error)
{
    static const char *const l15 = "constant_l15";
    struct fth_gpu *gpu = discovery->gpu;
    if (!found->has_l15)
        return fth_note_unknown(gpu, l15, "size_bytes",
                                "not found: no constant load takes longer than a hit in L1 and "
                                "clearly less than a hit in L2",
                                error);
    FTH_TRY(note_constants(
        discovery, l15, &found->l15,
        found->l15_by_passes
            ? fth_pass_method
            : "single loads slower than L1 hits and faster than L2 hits; minus the cost of "
              "reading the clock",
        error));
    if (found->l15_status != FTH_OK)
        return fth_note_failure(gpu, l15, "size_bytes", found->l15_status, &found->l15_error);
    FTH_TRY(note_constant_size(gpu, l15, &found->l15.capacity, error));
    return note_shared_code(discovery, levels, found, error);
}

static enum fth_status find_constants(struct fth_discovery *discovery,
                                      const struct fth_fetch_levels *levels,
                                      struct fth_error *error)
{
    struct fth_constants found;
    fth_discovery_report_step(discovery, "constant caches", 1 / 3.0);
    enum fth_status status =
        fth_probe_constants(&discovery->prober, levels->count ? levels : NULL, &found, error);
    if (status != FTH_OK) {
        FTH_TRY(fth_note_failure(discovery->gpu, "constant_l1", "size_bytes", status, error));
        return fth_note_unknown(discovery->gpu, "constant_l15", "size_bytes",
                                "it can only be found behind the constant L1, which was not found",
                                error);
    }
    char note[FTH_NOTE_BYTES];
    found.l1.cycles.note =
        fth_note_agreement(discovery, found.l1.cycles.value, found.overhead_cycles, note);
    FTH_TRY(note_constants(discovery, "constant_l1", &found.l1, fth_pass_method, error));
    FTH_TRY(note_constant_size(discovery->gpu, "constant_l1", &found.l1.capacity, error));
    FTH_TRY(count_constants(discovery, &found, error));
    return note_l15(discovery, levels, &found, error);
}

enum fth_status fth_discover_constants(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_fetch_levels levels = {.count = 0};
    enum fth_status status = fth_probe_fetch(&discovery->prober, &levels, error);
    if (status == FTH_OK)
        FTH_TRY(note_code(discovery, &levels, error));
    else
        FTH_TRY(fth_note_failure(discovery->gpu, "instruction_l1", "size_bytes", status, error));
    const bool constants = fth_discovery_wants(discovery, "constant_l1") ||
                           fth_discovery_wants(discovery, "constant_l15");
    return constants ? find_constants(discovery, &levels, error) : FTH_OK;
}
