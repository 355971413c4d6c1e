/* Measures the L2 and device memory. */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char pass_method[] = "whole passes over two chains of different lengths, warm caches; "
                                  "median over passes, then over SMs";
static const char hop_method[] = "single loads; plateaus of their latencies";

/* Enough lines to reach every slice of an L2, and few enough to fit into the smallest one. */
static const struct fth_latency_plan l2_array = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 256,
    .long_count = 1024,
    .every_sm = true,
};

/* Writes the L2 latency of each SM. */
static enum fth_status note_by_sm(struct fth_discovery *discovery, double *by_sm,
                                  struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(fth_note_section(discovery->gpu, "l2", &section, error));
    for (size_t i = 0; i < discovery->prober.sms; i++)
        by_sm[i] = round(by_sm[i] * 10) / 10;
    struct fth_attribute list = fth_attribute_make("latency_by_sm_cycles", FTH_NUMBERS);
    list.numbers = by_sm;
    list.count = discovery->prober.sms;
    list.source = FTH_SOURCE_MEASURED;
    list.method = fth_pass_method;
    list.samples = (double)discovery->l2.samples;
    list.confidence = discovery->l2.confidence > 0 ? discovery->l2.confidence : NAN;
    return fth_gpu_set(discovery->gpu, section, &list, error);
}

enum fth_status fth_discover_l2_latency(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_latency_plan all = l2_array, one = l2_array;
    struct fth_figure l2;
    one.every_sm = false;
    all.by_sm = calloc(discovery->prober.sms, sizeof *all.by_sm);
    if (!all.by_sm)
        return fth_no_memory(error, "find latency", NULL);
    fth_log_progress(discovery->prober.log, "L2 latency", 0.05);
    enum fth_status status = fth_probe_latency(&discovery->prober, &all, &discovery->l2, error);
    /* The timing overhead is measured on one SM and needs the latency of that SM. */
    if (status == FTH_OK)
        status = fth_probe_latency(&discovery->prober, &one, &l2, error);
    if (status == FTH_OK)
        status = fth_probe_overhead(&discovery->prober, &one, l2.value,
                                    &discovery->l2_overhead_cycles, error);
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2"))
        status = fth_note_latency(discovery->gpu, "l2", "latency_cycles", &discovery->l2,
                                  pass_method, error);
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2"))
        status = note_by_sm(discovery, all.by_sm, error);
    free(all.by_sm);
    return status;
}

enum fth_status fth_discover_memory(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure far;
    fth_log_progress(discovery->prober.log, "memory latency", 0.6);
    enum fth_status status = fth_probe_memory_latency(
        &discovery->prober, discovery->l2_overhead_cycles, &discovery->memory, &far, error);
    if (status != FTH_OK || !fth_discovery_wants(discovery, "memory"))
        return status;
    status = fth_note_latency(discovery->gpu, "memory", "latency_cycles", &discovery->memory,
                              hop_method, error);
    if (status == FTH_OK && isfinite(far.value))
        status = fth_note_latency(discovery->gpu, "memory", "far_latency_cycles", &far, hop_method,
                                  error);
    return status;
}

/* ---- memory with cold TLBs ---- */

/* Chooses the stride and the number of loads, one per page, of a walk that exceeds the reach of all
 * TLBs that were found, within the memory that may be allocated. Returns false and sets *reason if
 * that is not possible. */
static bool choose_cold_walk(const struct fth_gpu *gpu, uint64_t *stride, uint64_t *count,
                             const char **reason)
{
    static const char *const names[FTH_MAX_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    const uint64_t skew = 256; /* bytes added to the stride, so that lines use several L2 sets */
    const uint64_t min_count = 512, max_count = 1 << 16;
    double page = 0, reach = 0;
    for (size_t i = 0; i < FTH_MAX_TLBS; i++) {
        const struct fth_attribute *reach_attribute =
            fth_gpu_attribute(gpu, names[i], "reach_bytes");
        const struct fth_attribute *page_attribute = fth_gpu_attribute(gpu, names[i], "page_bytes");
        if (fth_gpu_find_section(gpu, names[i]) && !(reach_attribute && page_attribute)) {
            *reason = "the reach of a TLB is not known";
            return false;
        }
        reach = reach_attribute ? fmax(reach, reach_attribute->number) : reach;
        page = page_attribute ? fmax(page, page_attribute->number) : page;
    }
    *reason = "no TLB was found";
    if (page <= 0)
        return false;
    const struct fth_attribute *memory = fth_gpu_attribute(gpu, "memory", "size_bytes");
    *stride = (uint64_t)page + skew;
    *count = (uint64_t)(memory ? 0.7 * memory->number : 0) / *stride;
    /* Four times the reach is enough; more would only take longer. */
    const uint64_t sufficient_count = min_count + (uint64_t)(4 * reach / page);
    *count = *count < sufficient_count ? *count : sufficient_count;
    *count = *count < max_count ? *count : max_count;
    *reason = "memory is too small to exceed the reach of the TLBs";
    return (double)*count * page > 1.2 * reach && *count >= 64;
}

enum fth_status fth_discover_cold(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char method[] =
        "single loads, one per page, over more than the reach of the TLBs, "
        "with L2 flushed; lowest plateau of their latencies";
    uint64_t stride, count;
    const char *reason;
    if (!fth_discovery_wants(discovery, "memory") || !fth_discovery_wants(discovery, "tlb_l1"))
        return FTH_OK;
    if (!choose_cold_walk(discovery->gpu, &stride, &count, &reason))
        return fth_note_unknown(discovery->gpu, "memory", "cold_latency_cycles", reason, error);
    fth_log_progress(discovery->prober.log, "memory latency with cold TLBs", 0.85);
    struct fth_figure cold = {.value = NAN};
    enum fth_status status = fth_probe_cold_latency(
        &discovery->prober, discovery->l2_overhead_cycles, stride, count, &cold, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "memory", "cold_latency_cycles", status, error);
    /* A TLB miss never makes a load faster. */
    if (cold.value < discovery->memory.value)
        return fth_note_unknown(discovery->gpu, "memory", "cold_latency_cycles",
                                "measured as lower than with warm TLBs", error);
    return fth_note_latency(discovery->gpu, "memory", "cold_latency_cycles", &cold, method, error);
}

/* ---- L2 ---- */

/* Writes the decision or, if there is none, the reason under "unknown". `reason` may be NULL. */
static enum fth_status note_decision(struct fth_discovery *discovery, const char *attribute,
                                     const struct fth_decision *decision, size_t samples,
                                     const char *method, const char *note, const char *reason,
                                     struct fth_error *error)
{
    const struct fth_note made = {.element = "l2",
                                  .attribute = attribute,
                                  .value = (double)decision->value,
                                  .low = NAN,
                                  .high = NAN,
                                  .confidence = round(1000 * decision->confidence) / 1000,
                                  .samples = samples,
                                  .method = method,
                                  .note = note};
    if (decision->value)
        return fth_note_number(discovery->gpu, &made, error);
    return reason ? fth_note_unknown(discovery->gpu, "l2", attribute, reason, error) : FTH_OK;
}

/* Whether all lines were evicted by a footprint smaller than the size that the driver reports. No
 * policy does that, so something else must have used the L2. */
static bool evicts_too_early(const struct fth_l2_found *found,
                             const struct fth_attribute *driver_size)
{
    return driver_size && found->full_miss.value &&
           (double)found->full_miss.value < driver_size->number;
}

/* Warns if the size that the driver reports does not match the footprints at which lines are
 * evicted. The tolerance of 20 % is a heuristic. */
static void check_size(struct fth_discovery *discovery, double driver_size,
                       const struct fth_l2_found *found)
{
    const char *wrong =
        (double)found->onset.value > 1.2 * driver_size                                 ? "more"
        : found->full_miss.value && (double)found->full_miss.value < 0.8 * driver_size ? "less"
                                                                                       : NULL;
    if (wrong)
        fth_log_message(
            discovery->prober.log, FTH_LOG_WARNING,
            "l2.size_bytes: the L2 holds %s than the %.0f bytes that the driver reports", wrong,
            driver_size);
}

/* `early`: lines were evicted too early for full_miss_bytes to be valid. */
static enum fth_status note_found(struct fth_discovery *discovery, const struct fth_l2_found *found,
                                  bool early, struct fth_error *error)
{
    static const struct fth_decision none;
    static const char footprint_note[] =
        "for this allocation: other pages may be distributed over the sets more or less evenly";
    char near_note[128] = "";
    if (found->evicts_early)
        snprintf(near_note, sizeof near_note, "lines are evicted before other memory is accessed");
    if (found->partitions.value > 1 && found->near_onset.value && found->near_full_miss.value)
        fth_format(near_note, sizeof near_note,
                   "all lines stay in the near partition up to %.1f MiB, none from %.1f MiB on",
                   (double)found->near_onset.value / 1048576,
                   (double)found->near_full_miss.value / 1048576);
    const struct {
        const char *attribute;
        const struct fth_decision *decision;
        const char *method, *note, *reason;
    } rows[] = {
        {"size_bytes", &found->size, "the smallest footprint that evicts all lines", NULL, NULL},
        {"line_bytes", &found->line,
         "the largest stride at which accessing a footprint evicts as many lines as accessing all "
         "of it",
         NULL, "no stride evicts clearly fewer lines than another"},
        {"sector_bytes", &found->sector,
         "the smallest write to the start of a line after which a read needs no memory access",
         NULL, "whether a read after a write hits does not depend on the size of the write"},
        {"fill_bytes", &found->fill,
         "distance between the loads of a first walk that memory serves", NULL, NULL},
        {"partitions", &found->partitions,
         "share of lines found neither in the near partition nor in memory after accesses to more "
         "than half the size",
         near_note[0] ? near_note : NULL, "the evictions match neither one partition nor two"},
        {"onset_bytes", &found->onset,
         "the largest of seven footprints around the size after which all lines were in L2",
         footprint_note, NULL},
        {"full_miss_bytes", early ? &none : &found->full_miss,
         "the smallest of seven footprints around the size after which no line was in L2",
         footprint_note,
         early ? "all lines were evicted by a footprint smaller than the L2" : NULL},
    };
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(rows) && status == FTH_OK; i++)
        status = note_decision(discovery, rows[i].attribute, rows[i].decision, found->samples,
                               rows[i].method, rows[i].note, rows[i].reason, error);
    if (status == FTH_OK && found->partitions.value > 1)
        status = fth_note_latency(discovery->gpu, "l2", "far_latency_cycles", &found->far_latency,
                                  hop_method, error);
    return status;
}

enum fth_status fth_discover_l2(struct fth_discovery *discovery, struct fth_error *error)
{
    if (!fth_discovery_wants(discovery, "l2"))
        return FTH_OK;
    fth_log_progress(discovery->prober.log, "L2", 0.7);
    const struct fth_attribute *size = fth_gpu_attribute(discovery->gpu, "l2", "size_bytes");
    const struct fth_attribute *memory = fth_gpu_attribute(discovery->gpu, "memory", "size_bytes");
    const struct fth_l2_plan plan = {.size_bytes = size ? (uint64_t)size->number : 0,
                                     .max_bytes = memory ? (uint64_t)memory->number / 4
                                                         : (uint64_t)256 << 20,
                                     .l2_cycles = discovery->l2.value,
                                     .memory = &discovery->memory,
                                     .overhead_cycles = discovery->l2_overhead_cycles};
    struct fth_l2_found found;
    enum fth_status status = fth_probe_l2(&discovery->prober, &plan, &found, error);
    if (status == FTH_OK && evicts_too_early(&found, size)) /* something else may use the L2 */
        status = fth_probe_l2(&discovery->prober, &plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", size ? "line_bytes" : "size_bytes", status,
                                error);
    if (size)
        check_size(discovery, size->number, &found);
    return note_found(discovery, &found, evicts_too_early(&found, size), error);
}
