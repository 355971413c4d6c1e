/* Measures the L2 and device memory. */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pass_method[] = "whole passes over two chains of different lengths, warm caches; "
                                  "median over passes, then over SMs";
static const char hop_method[] = "single loads; plateaus of their latencies";

/* Enough lines to reach every slice of an L2. fit_chains() shortens the chains for small L2s. */
static const struct fth_latency_plan l2_array = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 256,
    .long_count = 1024,
    .every_sm = true,
};

enum {
    /* The longer chain is at most this part of the L2: half of one of two partitions. Chosen. */
    MAX_CHAIN_PART = 4,
    /* Loads of the shortest chain: as many as the kernel unrolls (load_latency.c). */
    MIN_CHAIN_LOADS = 32
};

/* Halves both chains. Returns false if they are as short as possible. */
static bool halve_chains(struct fth_latency_plan *plan)
{
    if (plan->short_count <= MIN_CHAIN_LOADS)
        return false;
    plan->short_count /= 2;
    plan->long_count /= 2;
    return true;
}

/* Shortens the chains so that they fit into an L2 of the size that the driver reports, if it does.
 */
static void fit_chains(const struct fth_gpu *gpu, struct fth_latency_plan *plan)
{
    const double bytes = fth_gpu_number(gpu, "l2", "size_bytes", INFINITY);
    while ((double)(MAX_CHAIN_PART * plan->long_count * plan->stride_bytes) > bytes)
        if (!halve_chains(plan))
            return;
}

/* Writes the latency of the L2, for all SMs together and for each SM. */
static enum fth_status note_l2_latency(struct fth_discovery *discovery, double *by_sm,
                                       struct fth_error *error)
{
    const struct fth_figure *l2 = &discovery->l2;
    FTH_TRY(fth_note(
        discovery->gpu,
        &(struct fth_note){
            .element = "l2", .attribute = "latency_cycles", .figure = l2, .method = pass_method},
        error));
    for (size_t i = 0; i < discovery->prober.sms; i++)
        by_sm[i] = fth_round_to_tenth(by_sm[i]);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "latency_by_sm_cycles",
                                       .numbers = by_sm,
                                       .count = discovery->prober.sms,
                                       .confidence = l2->confidence > 0 ? &l2->confidence : NULL,
                                       .samples = l2->samples,
                                       .method = fth_pass_method},
                    error);
}

/* Measures the latency of the L2 on all SMs, and the timing overhead. */
static enum fth_status measure_l2_latency(struct fth_discovery *discovery,
                                          const struct fth_latency_plan *all,
                                          struct fth_error *error)
{
    struct fth_latency_plan one = *all;
    struct fth_figure l2;
    one.every_sm = false;
    one.by_sm = NULL;
    FTH_TRY(fth_probe_latency(&discovery->prober, all, &discovery->l2, error));
    /* The timing overhead is measured on one SM and needs the latency of that SM. */
    FTH_TRY(fth_probe_latency(&discovery->prober, &one, &l2, error));
    return fth_probe_overhead(&discovery->prober, &one, l2.value, &discovery->l2_overhead_cycles,
                              error);
}

enum fth_status fth_discover_l2_latency(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_latency_plan all = l2_array;
    all.by_sm = calloc(discovery->prober.sms, sizeof *all.by_sm);
    if (!all.by_sm)
        return fth_no_memory(error, "find latency", NULL);
    fit_chains(discovery->gpu, &all);
    enum fth_status status = measure_l2_latency(discovery, &all, error);
    /* The L2 holds less than the driver reports, or its size is not known. */
    while (status == FTH_INCONCLUSIVE && halve_chains(&all)) {
        if (error)
            *error = FTH_NO_ERROR;
        status = measure_l2_latency(discovery, &all, error);
    }
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2"))
        status = note_l2_latency(discovery, all.by_sm, error);
    free(all.by_sm);
    return status;
}

enum fth_status fth_discover_memory(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure far;
    FTH_TRY(fth_probe_memory_latency(&discovery->prober, discovery->l2_overhead_cycles,
                                     &discovery->memory, &far, error));
    if (!fth_discovery_wants(discovery, "memory"))
        return FTH_OK;
    struct fth_note note = {.element = "memory",
                            .attribute = "latency_cycles",
                            .figure = &discovery->memory,
                            .method = hop_method};
    FTH_TRY(fth_note(discovery->gpu, &note, error));
    note.attribute = "far_latency_cycles";
    note.figure = &far;
    return isfinite(far.value) ? fth_note(discovery->gpu, &note, error) : FTH_OK;
}

/* ---- memory with cold TLBs ---- */

/* Bytes added to the page as the stride of a cold walk, so that its lines use several L2 sets.
 * Chosen, not derived. */
enum { COLD_SKEW_BYTES = 256 };
/* A cold walk covers this many times the reach of the TLBs, and further pages for TLBs of a short
 * reach. More would only take longer. */
static const double cold_reaches = 4;
enum { COLD_EXTRA_PAGES = 512, MAX_COLD_PAGES = 1 << 16 };
/* It must cover at least this many times the reach, so that most loads miss all TLBs, and have at
 * least as many loads as their plateaus need. The four limits are chosen, not derived. */
static const double min_cold_reaches = 1.2;
enum { MIN_COLD_PAGES = 64 };

/* Chooses the stride and the number of loads, one per page, of a walk that exceeds the reach of all
 * TLBs that were found, within the memory that may be allocated. Returns false and sets *reason if
 * that is not possible. */
static bool choose_cold_walk(const struct fth_discovery *discovery, uint64_t *stride,
                             uint64_t *count, const char **reason)
{
    const struct fth_gpu *gpu = discovery->gpu;
    double page = 0, reach = 0;
    for (size_t i = 0; i < FTH_TLB_ELEMENTS; i++) {
        const char *element = fth_tlb_elements[i];
        const double level_reach = fth_gpu_number(gpu, element, "reach_bytes", NAN);
        const double level_page = fth_gpu_number(gpu, element, "page_bytes", NAN);
        if (!fth_gpu_find_section(gpu, element) || element == discovery->hidden_tlb)
            continue;
        if (isnan(level_reach) || isnan(level_page)) {
            *reason = "the reach of a TLB is not known";
            return false;
        }
        reach = fmax(reach, level_reach);
        page = fmax(page, level_page);
    }
    *reason = "no TLB was found";
    if (page <= 0)
        return false;
    const double memory = fth_gpu_number(gpu, "memory", "size_bytes", 0);
    *stride = (uint64_t)page + COLD_SKEW_BYTES;
    *count = (uint64_t)(fth_walked_memory_fraction * memory) / *stride;
    *count = FTH_MIN(*count, COLD_EXTRA_PAGES + (uint64_t)(cold_reaches * reach / page));
    *count = FTH_MIN(*count, MAX_COLD_PAGES);
    *reason = "memory is too small to exceed the reach of the TLBs";
    return (double)*count * page > min_cold_reaches * reach && *count >= MIN_COLD_PAGES;
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
    if (!choose_cold_walk(discovery, &stride, &count, &reason))
        return fth_note_unknown(discovery->gpu, "memory", "cold_latency_cycles", reason, error);
    fth_discovery_report_step(discovery, "memory latency with cold TLBs", 0);
    struct fth_figure cold = {.value = NAN};
    enum fth_status status = fth_probe_cold_latency(
        &discovery->prober, discovery->l2_overhead_cycles, stride, count, &cold, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "memory", "cold_latency_cycles", status, error);
    /* A TLB miss never makes a load faster. */
    if (cold.value < discovery->memory.value)
        return fth_note_unknown(discovery->gpu, "memory", "cold_latency_cycles",
                                "measured as lower than with warm TLBs", error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "memory",
                                       .attribute = "cold_latency_cycles",
                                       .figure = &cold,
                                       .method = method},
                    error);
}

/* ---- L2 ---- */

/* Measurements of the L2 if another program uses the GPU. Odd: a majority decides. */
enum { L2_RUNS = 3 };

/* Combines the decisions of several measurements: the value that most of them agree on. The
 * evidence is the number of measurements that agree, or that of one of them if it is weaker.
 * *disagree is set if there is no such value although at least one measurement has found one. */
static struct fth_decision majority_of(const struct fth_decision *const decisions[L2_RUNS],
                                       bool *disagree)
{
    struct fth_decision best = {0};
    bool found = false;
    for (size_t i = 0; i < L2_RUNS; i++) {
        size_t same = 0;
        for (size_t k = 0; k < L2_RUNS; k++)
            same += decisions[k]->value == decisions[i]->value;
        found = found || decisions[i]->value;
        if (2 * same > L2_RUNS && decisions[i]->value)
            best = (struct fth_decision){
                decisions[i]->value,
                fth_weaker_evidence(
                    decisions[i]->evidence,
                    (struct fth_evidence){.repeats = L2_RUNS, .agree = (double)same})};
    }
    *disagree = *disagree || (found && best.value == 0);
    return best;
}

/* Measures the L2. If another program has interrupted a request so far, repeats the measurement and
 * takes what most measurements agree on; *disagree: they agree on some figure only in that it was
 * not found. */
static enum fth_status measure_l2(struct fth_discovery *discovery, const struct fth_l2_plan *plan,
                                  struct fth_l2_found *found, bool *disagree,
                                  struct fth_error *error)
{
    static const size_t places[] = {
        offsetof(struct fth_l2_found, fill),          offsetof(struct fth_l2_found, line),
        offsetof(struct fth_l2_found, sector),        offsetof(struct fth_l2_found, partitions),
        offsetof(struct fth_l2_found, size),          offsetof(struct fth_l2_found, onset),
        offsetof(struct fth_l2_found, full_miss),     offsetof(struct fth_l2_found, near_onset),
        offsetof(struct fth_l2_found, near_full_miss)};
    struct fth_l2_found runs[L2_RUNS];
    FTH_TRY(fth_probe_l2(&discovery->prober, plan, &runs[0], error));
    *found = runs[0];
    if (discovery->interruptions == 0)
        return FTH_OK;
    for (size_t i = 1; i < L2_RUNS; i++) {
        struct fth_l2_plan again = *plan;
        again.repeat = plan->repeat + i;
        FTH_TRY(fth_probe_l2(&discovery->prober, &again, &runs[i], error));
        if (runs[i].partitions.value > found->partitions.value)
            found->far_latency = runs[i].far_latency;
        found->samples += runs[i].samples;
    }
    for (size_t i = 0; i < FTH_COUNT(places); i++) {
        const struct fth_decision *decisions[L2_RUNS];
        for (size_t k = 0; k < L2_RUNS; k++)
            decisions[k] = (const struct fth_decision *)((const char *)&runs[k] + places[i]);
        *(struct fth_decision *)((char *)found + places[i]) = majority_of(decisions, disagree);
    }
    return FTH_OK;
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
 * evicted. The tolerance of 20 % is chosen, not derived. */
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

/* Returns a note on the partitions, written to `text`, or NULL. */
static const char *partitions_note(const struct fth_l2_found *found, char *text, size_t size)
{
    if (found->partitions.value > 1 && found->near_onset.value && found->near_full_miss.value)
        fth_format(text, size,
                   "all lines stay in the near partition up to %.1f MiB, none from %.1f MiB on",
                   (double)found->near_onset.value / 1048576,
                   (double)found->near_full_miss.value / 1048576);
    else if (found->evicts_early)
        snprintf(text, size, "lines are evicted before other memory is accessed");
    else
        return NULL;
    return text;
}

/* Writes the figures that were found, or the reasons why they were not. `early`: lines were evicted
 * too early for full_miss_bytes to be valid. `disagree`: repeated measurements disagree on a figure
 * that has no value. */
static enum fth_status note_found(struct fth_discovery *discovery, const struct fth_l2_found *found,
                                  bool early, bool disagree, struct fth_error *error)
{
    static const struct fth_decision none;
    static const char disturbed_reason[] =
        "repeated measurements disagree: another program uses the GPU";
    static const char footprint_note[] =
        "for this allocation: other pages may be distributed over the sets more or less evenly";
    char near_note[128];
    const struct {
        const char *attribute;
        const struct fth_decision *decision;
        const char *method, *note;
        const char *reason; /* if there is no decision; NULL: none is written */
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
         partitions_note(found, near_note, sizeof near_note),
         "the evictions match neither one partition nor two"},
        {"onset_bytes", &found->onset,
         "the largest of seven footprints around the size after which all lines were in L2, in "
         "four "
         "parts of memory",
         footprint_note, NULL},
        {"full_miss_bytes", early ? &none : &found->full_miss,
         "the smallest of seven footprints around the size after which no line was in L2",
         footprint_note,
         early ? "all lines were evicted by a footprint smaller than the L2" : NULL},
    };
    const double onset[] = {(double)found->onset.value, (double)found->onset_next_bytes};
    const double full_miss[] = {(double)found->full_miss_previous_bytes,
                                (double)found->full_miss.value};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const double *interval = rows[i].decision == &found->onset       ? onset
                                 : rows[i].decision == &found->full_miss ? full_miss
                                                                         : NULL;
        const struct fth_note note = {.element = "l2",
                                      .attribute = rows[i].attribute,
                                      .number = (double)rows[i].decision->value,
                                      .interval = interval,
                                      .evidence = &rows[i].decision->evidence,
                                      .samples = found->samples,
                                      .method = rows[i].method,
                                      .note = rows[i].note};
        const char *reason = disagree ? disturbed_reason : rows[i].reason;
        if (rows[i].decision->value)
            FTH_TRY(fth_note(discovery->gpu, &note, error));
        else if (reason && strcmp(rows[i].attribute, "size_bytes") != 0)
            FTH_TRY(fth_note_unknown(discovery->gpu, "l2", rows[i].attribute, reason, error));
    }
    return FTH_OK;
}

/* Handles the failure of fth_probe_l2: it is the reason for all figures. */
static enum fth_status note_l2_failure(struct fth_gpu *gpu, bool has_no_size,
                                       enum fth_status status, struct fth_error *error)
{
    static const char *const attributes[] = {"size_bytes", "line_bytes", "sector_bytes",
                                             "fill_bytes", "partitions"};
    struct fth_error cause = error ? *error : (struct fth_error)FTH_NO_ERROR;
    for (size_t i = !has_no_size; i < FTH_COUNT(attributes); i++) {
        struct fth_error copy = cause;
        const enum fth_status noted = fth_note_failure(gpu, "l2", attributes[i], status, &copy);
        if (noted != FTH_OK)
            return error ? fth_error_move(error, &copy) : noted;
    }
    if (error)
        *error = FTH_NO_ERROR;
    return FTH_OK;
}

enum fth_status fth_discover_l2(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_attribute *size = fth_gpu_attribute(gpu, "l2", "size_bytes");
    const struct fth_attribute *memory = fth_gpu_attribute(gpu, "memory", "size_bytes");
    struct fth_l2_plan plan = {.size_bytes = size ? (uint64_t)size->number : 0,
                               .max_bytes =
                                   memory ? (uint64_t)memory->number / 4 : (uint64_t)256 << 20,
                               .l2_cycles = discovery->l2.value,
                               .memory = &discovery->memory,
                               .overhead_cycles = discovery->l2_overhead_cycles};
    struct fth_l2_found found;
    bool disagree = false;
    enum fth_status status = measure_l2(discovery, &plan, &found, &disagree, error);
    if (status == FTH_OK && evicts_too_early(&found, size)) { /* something else may use the L2 */
        plan.repeat = L2_RUNS;
        status = measure_l2(discovery, &plan, &found, &disagree, error);
    }
    if (status != FTH_OK)
        return note_l2_failure(gpu, !size, status, error);
    if (size)
        check_size(discovery, size->number, &found);
    FTH_TRY(note_found(discovery, &found, evicts_too_early(&found, size), disagree, error));
    if (found.partitions.value <= 1)
        return FTH_OK;
    if (!fth_gpu_attribute(gpu, "memory", "far_latency_cycles") &&
        fth_discovery_wants(discovery, "memory"))
        FTH_TRY(fth_note_unknown(gpu, "memory", "far_latency_cycles",
                                 "the latencies of loads from memory form only one plateau",
                                 error));
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "far_latency_cycles",
                                       .figure = &found.far_latency,
                                       .method = hop_method},
                    error);
}
