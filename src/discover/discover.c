/* The order in which a GPU is found out. So far: what the driver tells, the latency of L1, L2 and
 * memory, and how much L1 holds. */
#include "discover/discover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Small enough for every L1, and long enough that a tenth of a cycle shows. */
static const struct fth_latency_plan small_array = {
    .path = FTH_PATH_CA,
    .carveout_percent = 0,
    .stride_bytes = 16,
    .short_count = 64,
    .long_count = 256,
};
/* Lines enough to meet every slice of an L2, and little enough for the smallest. */
static const struct fth_latency_plan l2_array = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 256,
    .long_count = 1024,
    .every_sm = true,
};
/* L1 is taken to be one where loads through it need at most this part of an L2's latency. */
static const double l1_part = 0.8;

static const char pass_method[] =
    "whole passes over two chains of different length, warm; median over passes";

static bool wanted(const struct fth_discovery *discovery, const char *element)
{
    if (!discovery->only)
        return true;
    size_t size = strlen(element);
    for (const char *at = discovery->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, element, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Refuses what is no element. */
static enum fth_status check_only(const char *only, struct fth_error *error)
{
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        size_t size = strcspn(at, ",");
        if (size < sizeof name) {
            memcpy(name, at, size);
            name[size] = '\0';
            if (fth_schema_element(name))
                continue;
        }
        const char *near = size < sizeof name ? fth_schema_suggest_element(name) : NULL;
        return fth_fail(error, FTH_INVALID, "choose elements", only,
                        near ? "there is no '%.*s' (did you mean '%s'?)" : "there is no '%.*s'",
                        (int)(size < 40 ? size : 40), at, near);
    }
    return FTH_OK;
}

static enum fth_status find_l1(struct fth_discovery *discovery, const struct fth_figure *l1,
                               const struct fth_figure *l2, struct fth_error *error)
{
    const struct fth_capacity_plan plan = {
        .path = FTH_PATH_CA,
        .carveout_percent = 0,
        .stride_bytes = 32,
        .smallest_bytes = 2048,
        .largest_bytes = 512 * 1024,
        .hit_cycles = l1->value + discovery->overhead_cycles,
        .miss_cycles = l2->value + discovery->overhead_cycles,
    };
    struct fth_capacity capacity;
    enum fth_status status = fth_probe_capacity(&discovery->prober, &plan, &capacity, error);
    if (status == FTH_INCONCLUSIVE && error) {
        status = fth_note_unknown(discovery->gpu, "l1", "size_bytes", error->cause, NULL);
        *error = FTH_NO_ERROR;
        return status;
    }
    if (status != FTH_OK)
        return status;
    if (capacity.misses_bytes == 0)
        return fth_note_unknown(discovery->gpu, "l1", "size_bytes",
                                "no footprint up to 512 KiB had a miss", error);
    return fth_note_number(discovery->gpu,
                           &(struct fth_note){.element = "l1",
                                              .attribute = "size_bytes",
                                              .value = (double)capacity.fits_bytes,
                                              .low = (double)capacity.fits_bytes,
                                              .high = (double)capacity.misses_bytes,
                                              .confidence = NAN,
                                              .samples = capacity.samples,
                                              .method = "the largest footprint without a miss in "
                                                        "repeated walks, L1 at its largest"},
                           error);
}

/* What timing a hop costs differs between a hit in L1 and a load that leaves the SM; the latter is
 * seen on one SM and its own latency. */
static enum fth_status find_l2_overhead(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_latency_plan plan = l2_array;
    struct fth_figure l2;
    plan.every_sm = false;
    enum fth_status status = fth_probe_latency(&discovery->prober, &plan, &l2, error);
    if (status == FTH_OK)
        status = fth_probe_overhead(&discovery->prober, &plan, l2.value,
                                    &discovery->l2_overhead_cycles, error);
    return status;
}

static enum fth_status find_caches(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure l1, l2;
    struct fth_gpu *gpu = discovery->gpu;
    fth_log_progress(discovery->prober.log, "L1 latency", 0.1);
    enum fth_status status = fth_probe_latency(&discovery->prober, &small_array, &l1, error);
    if (status == FTH_OK)
        status = fth_probe_overhead(&discovery->prober, &small_array, l1.value,
                                    &discovery->overhead_cycles, error);
    fth_log_progress(discovery->prober.log, "L2 latency", 0.2);
    if (status == FTH_OK)
        status = fth_probe_latency(&discovery->prober, &l2_array, &l2, error);
    if (status == FTH_OK)
        status = find_l2_overhead(discovery, error);
    if (status != FTH_OK)
        return status;
    if (wanted(discovery, "l2"))
        status = fth_note_latency(gpu, "l2", "latency_cycles", &l2, pass_method, error);
    if (status != FTH_OK || !wanted(discovery, "l1"))
        return status;
    if (l1.value > l1_part * l2.value)
        return fth_note_unknown(gpu, "l1", "size_bytes",
                                "global loads are not cached in L1: with and without it they take "
                                "equally long",
                                error);
    status = fth_note_latency(gpu, "l1", "latency_cycles", &l1, pass_method, error);
    fth_log_progress(discovery->prober.log, "L1 size", 0.4);
    if (status == FTH_OK)
        status = find_l1(discovery, &l1, &l2, error);
    return status;
}

static enum fth_status find_memory(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char method[] = "single loads past all caches after L2 was flushed, TLBs warm; "
                                 "plateaus of their latencies";
    struct fth_figure near, far;
    fth_log_progress(discovery->prober.log, "memory latency", 0.8);
    enum fth_status status = fth_probe_memory_latency(
        &discovery->prober, discovery->l2_overhead_cycles, &near, &far, error);
    if (status == FTH_OK)
        status = fth_note_latency(discovery->gpu, "memory", "latency_cycles", &near, method, error);
    if (status == FTH_OK && isfinite(far.value))
        status =
            fth_note_latency(discovery->gpu, "memory", "far_latency_cycles", &far, method, error);
    return status;
}

enum fth_status fth_discover(struct fth_device *device, const struct fth_discover_options *options,
                             struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_discovery discovery = {.prober = {.device = device, .log = options->log},
                                      .only = options->only};
    *gpu = NULL;
    enum fth_status status = check_only(options->only, error);
    if (status == FTH_OK)
        status = fth_gpu_create(&discovery.gpu, error);
    if (status == FTH_OK)
        status = fth_device_describe(device, discovery.gpu, error);
    if (status == FTH_OK) {
        const struct fth_attribute *sms = fth_gpu_attribute(discovery.gpu, "device", "sms");
        discovery.prober.sms = sms && sms->number >= 1 ? (size_t)sms->number : 1;
        status = find_caches(&discovery, error);
    }
    if (status == FTH_OK && wanted(&discovery, "memory"))
        status = find_memory(&discovery, error);
    fth_log_progress(options->log, "done", 1);
    if (status == FTH_OK || status == FTH_INTERRUPTED)
        *gpu = discovery.gpu;
    else
        fth_gpu_destroy(discovery.gpu);
    return status;
}
