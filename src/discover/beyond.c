/* What lies beyond the SM: L2 and memory. */
#include "discover/discover.h"
#include "probe/l2.h"
#include "probe/tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char pass_method[] = "whole passes over two chains of different length, warm; median "
                                  "over passes, then over SMs";
static const char hop_method[] = "single loads; plateaus of their latencies";

/* Lines enough to meet every slice of an L2, and little enough for the smallest. */
static const struct fth_latency_plan l2_array = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 256,
    .long_count = 1024,
    .every_sm = true,
};

/* One figure an SM. */
static enum fth_status note_by_sm(struct fth_discovery *discovery, double *by_sm,
                                  struct fth_error *error)
{
    struct fth_gpu_section *section;
    enum fth_status status = fth_note_section(discovery->gpu, "l2", &section, error);
    if (status != FTH_OK)
        return status;
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
        return fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    fth_log_progress(discovery->prober.log, "L2 latency", 0.05);
    enum fth_status status = fth_probe_latency(&discovery->prober, &all, &discovery->l2, error);
    /* What timing a hop costs is seen on one SM, against its own latency. */
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

/* A page more than any TLB that was found has, over all the memory that may be taken; false, with
 * the reason, where that is not enough. */
static bool choose_cold_walk(const struct fth_gpu *gpu, uint64_t *stride, uint64_t *count,
                             const char **reason)
{
    static const char *const names[FTH_MAX_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    const uint64_t skew = 256; /* not all lines in one set of the L2 */
    const uint64_t min_count = 512, max_count = 1 << 16;
    double page = 0, reach = 0;
    for (size_t i = 0; i < FTH_MAX_TLBS; i++) {
        const struct fth_attribute *covered = fth_gpu_attribute(gpu, names[i], "reach_bytes");
        const struct fth_attribute *each = fth_gpu_attribute(gpu, names[i], "page_bytes");
        if (fth_gpu_find_section(gpu, names[i]) && !(covered && each)) {
            *reason = "the reach of a TLB is not known";
            return false;
        }
        reach = covered ? fmax(reach, covered->number) : reach;
        page = each ? fmax(page, each->number) : page;
    }
    *reason = "no TLB was found that could be cold";
    if (page <= 0)
        return false;
    const struct fth_attribute *memory = fth_gpu_attribute(gpu, "memory", "size_bytes");
    *stride = (uint64_t)page + skew;
    *count = (uint64_t)(memory ? 0.7 * memory->number : 0) / *stride;
    /* A few times what fits is as good as all of the memory. */
    const uint64_t enough = min_count + (uint64_t)(4 * reach / page);
    *count = *count < enough ? *count : enough;
    *count = *count < max_count ? *count : max_count;
    *reason = "memory is not large enough to leave a TLB";
    return (double)*count * page > 1.2 * reach && *count >= 64;
}

enum fth_status fth_discover_cold(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char method[] = "single loads, a page each, over more than the TLBs reach, with "
                                 "L2 flushed; the lowest plateau of their latencies";
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
    /* A miss of a TLB never makes a load shorter. */
    if (cold.value < discovery->memory.value)
        return fth_note_unknown(discovery->gpu, "memory", "cold_latency_cycles",
                                "measured as shorter than with warm TLBs", error);
    return fth_note_latency(discovery->gpu, "memory", "cold_latency_cycles", &cold, method, error);
}

/* ---- L2 ---- */

/* What was decided, or why it was not. */
static enum fth_status note_verdict(struct fth_discovery *discovery, const char *attribute,
                                    const struct fth_decision *verdict, size_t samples,
                                    const char *method, const char *note, const char *reason,
                                    struct fth_error *error)
{
    const struct fth_note made = {.element = "l2",
                                  .attribute = attribute,
                                  .value = (double)verdict->value,
                                  .low = NAN,
                                  .high = NAN,
                                  .confidence = round(1000 * verdict->confidence) / 1000,
                                  .samples = samples,
                                  .method = method,
                                  .note = note};
    if (verdict->value)
        return fth_note_number(discovery->gpu, &made, error);
    return reason ? fth_note_unknown(discovery->gpu, "l2", attribute, reason, error) : FTH_OK;
}

/* While fewer lines are touched than there is room for, some stay, whatever the policy. */
static bool leaves_too_early(const struct fth_l2_found *found, const struct fth_attribute *told)
{
    return told && found->full_miss.value && (double)found->full_miss.value < told->number;
}

/* The driver's figure, against where lines leave. */
static void check_size(struct fth_discovery *discovery, double told,
                       const struct fth_l2_found *found)
{
    const char *wrong = (double)found->onset.value > 1.2 * told ? "more"
                        : found->full_miss.value && (double)found->full_miss.value < 0.8 * told
                            ? "less"
                            : NULL;
    if (wrong)
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING,
                        "l2.size_bytes: it holds %s than the %.0f bytes that the driver tells",
                        wrong, told);
}

/* `early`: lines left too early for their end to be one. */
static enum fth_status note_found(struct fth_discovery *discovery, const struct fth_l2_found *found,
                                  bool early, struct fth_error *error)
{
    static const struct fth_decision none;
    static const char of_memory[] =
        "of the memory at hand: other pages may share sets more evenly, or less";
    char room[128] = "";
    if (found->unsettled)
        snprintf(room, sizeof room, "lines leave before anything else is touched");
    if (found->partitions.value > 1 && found->near_onset.value && found->near_full_miss.value)
        snprintf(room, sizeof room,
                 "lines stay near up to %.1f MiB, and none does from %.1f MiB on",
                 (double)found->near_onset.value / 1048576,
                 (double)found->near_full_miss.value / 1048576);
    const struct {
        const char *attribute;
        const struct fth_decision *verdict;
        const char *method, *note, *reason;
    } rows[] = {
        {"size_bytes", &found->size, "the least that was touched after which no line was left",
         NULL, NULL},
        {"line_bytes", &found->line,
         "the largest stride at which touching a footprint evicts as much as touching all of it",
         NULL, "no stride evicts clearly less than another"},
        {"sector_bytes", &found->sector,
         "the fewest bytes that, written one by one, need nothing from memory to be read", NULL,
         "what was written is found, or is not, whatever its length"},
        {"fill_bytes", &found->fill,
         "distance between the loads of a first walk that memory answers", NULL, NULL},
        {"partitions", &found->partitions,
         "lines that are neither near nor in memory after a touch of more than half the size",
         room[0] ? room : NULL, "lines do not leave as they would of one partition, or of two"},
        {"onset_bytes", &found->onset,
         "the largest footprint, of seven around the size, after which all lines were in L2",
         of_memory, NULL},
        {"full_miss_bytes", early ? &none : &found->full_miss,
         "the smallest footprint, of seven around the size, after which no line was in L2",
         of_memory,
         early ? "no line was left before as much was touched as there is room for" : NULL},
    };
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(rows) && status == FTH_OK; i++)
        status = note_verdict(discovery, rows[i].attribute, rows[i].verdict, found->samples,
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
    if (status == FTH_OK && leaves_too_early(&found, size)) /* something else may have used it */
        status = fth_probe_l2(&discovery->prober, &plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", size ? "line_bytes" : "size_bytes", status,
                                error);
    if (size)
        check_size(discovery, size->number, &found);
    return note_found(discovery, &found, leaves_too_early(&found, size), error);
}
