/* Checks the amount of shared memory that the driver reports, and measures the carve-outs and the
 * size of L1 at each of them. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* Maximum relative difference between the cycles per load of a chain over all of shared memory and
 * of a chain over a part of it. The overhead of a pass causes a small difference. Heuristic. */
static const double max_difference = 0.02;
/* Maximum relative difference that occasional slow loads can explain. Loads that leave the SM take
 * far longer. Heuristic. */
static const double max_disturbed_difference = 0.25;

static enum fth_status note_carveouts(struct fth_discovery *discovery,
                                      const struct fth_carveouts *found, struct fth_error *error)
{
    if (found->count == 1)
        return fth_note_unknown(discovery->gpu, "shared", "carveout_bytes",
                                "the size of L1 does not depend on the carve-out", error);
    double shared[FTH_MAX_CARVEOUTS], l1[FTH_MAX_CARVEOUTS];
    for (size_t i = 0; i < found->count; i++) {
        shared[i] = (double)found->items[i].shared_bytes;
        l1[i] = (double)found->items[i].l1_bytes;
    }
    FTH_TRY(fth_note(discovery->gpu,
                     &(struct fth_note){.element = "shared",
                                        .attribute = "carveout_bytes",
                                        .numbers = shared,
                                        .count = found->count,
                                        .source = FTH_SOURCE_DERIVED,
                                        .evidence = &found->evidence,
                                        .samples = found->samples,
                                        .method = "the multiple of 4 KiB between the last "
                                                  "percentage that yields this size of L1 and the "
                                                  "next"},
                     error));
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l1",
                                       .attribute = "carveout_size_bytes",
                                       .numbers = l1,
                                       .count = found->count,
                                       .evidence = &found->evidence,
                                       .samples = found->samples,
                                       .method = "the largest footprint without a miss in repeated "
                                                 "walks, under each of shared.carveout_bytes"},
                    error);
}

static enum fth_status find_carveouts(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const double l1_bytes = fth_gpu_number(gpu, "l1", "size_bytes", NAN);
    const double l1_cycles = fth_gpu_number(gpu, "l1", "latency_cycles", NAN);
    const double line_bytes = fth_gpu_number(gpu, "l1", "line_bytes", NAN);
    const double shared_bytes = fth_gpu_number(gpu, "shared", "size_bytes", NAN);
    if (!isfinite(l1_bytes) || !isfinite(l1_cycles) || !isfinite(line_bytes) ||
        !isfinite(shared_bytes))
        return FTH_OK;
    const struct fth_carveout_plan plan = {
        .l1 = {.path = FTH_PATH_CA,
               .stride_bytes = (uint64_t)line_bytes,
               .hit_cycles = l1_cycles + discovery->l2_overhead_cycles,
               .miss_cycles = discovery->l2.value + discovery->l2_overhead_cycles},
        .l1_bytes = (uint64_t)l1_bytes,
        .shared_bytes = (uint64_t)shared_bytes,
    };
    struct fth_carveouts found;
    enum fth_status status = fth_probe_carveouts(&discovery->prober, &plan, &found, error);
    return status == FTH_OK
               ? note_carveouts(discovery, &found, error)
               : fth_note_failure(discovery->gpu, "shared", "carveout_bytes", status, error);
}

/* Checks the maximum shared memory per block that the driver reports, with a chain over all of it,
 * and adds the result to the attribute as a note. */
static enum fth_status check_shared(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char *const names[] = {"max_block_bytes", "size_bytes"};
    const struct fth_attribute *reported = NULL;
    for (size_t i = 0; i < FTH_COUNT(names) && !reported; i++)
        reported = fth_gpu_attribute(discovery->gpu, "shared", names[i]);
    const double expected = fth_gpu_number(discovery->gpu, "shared", "latency_cycles", NAN);
    if (!reported || !isfinite(expected))
        return FTH_OK;
    double cycles = NAN;
    size_t samples = 0;
    char note[128];
    enum fth_status status = fth_probe_shared_bytes(&discovery->prober, (uint64_t)reported->number,
                                                    &cycles, &samples, error);
    if (status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED) {
        if (error)
            *error = FTH_NO_ERROR;
        snprintf(note, sizeof note, "could not be checked: no block received this amount");
    } else if (status != FTH_OK) {
        return status;
    } else if (fabs(cycles / expected - 1) <= max_difference) {
        snprintf(note, sizeof note, "checked by a chain over all of it");
    } else if (cycles > expected && cycles / expected - 1 <= max_disturbed_difference) {
        snprintf(note, sizeof note, "checked by a chain over all of it (disturbed)");
    } else {
        fth_format(note, sizeof note, "a chain over all of it took %.1f cycles per load", cycles);
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "shared.%s: %s", reported->name,
                        note);
    }
    struct fth_attribute checked = *reported;
    checked.note = note;
    return fth_note_attribute(discovery->gpu, "shared", &checked, error);
}

enum fth_status fth_discover_carveouts(struct fth_discovery *discovery, struct fth_error *error)
{
    FTH_TRY(check_shared(discovery, error));
    return find_carveouts(discovery, error);
}
