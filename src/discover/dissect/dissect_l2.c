/* Further figures of the L2 for 'fathom dissect' (probe/l2/l2map.c): the home partitions of lines,
 * the near partition of each SM, slices (probe/l2/l2_slices.c), prefetching, and whether evictions
 * are repeatable. */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Minimum Cohen's kappa for evictions to count as repeatable ("almost perfect" agreement, Landis
 * and Koch 1977), and maximum for them to count as random ("fair" agreement). */
static const double min_ordered_kappa = 0.8, max_random_kappa = 0.4;
/* Fraction of the loads of a first walk that memory does not serve above which memory is considered
 * to prefetch. A few of the 2047 loads may be disturbed. Heuristic. */
static const double min_prefetched_fraction = 0.05;
/* Half-width of the interval of a fraction, in standard deviations: 90 % of a normal distribution.
 */
static const double interval_deviations = 1.645;

/* ---- thresholds ---- */

/* Returns the cycles by which loads that walk the pages of the home mask in turn take longer: the
 * penalties of the TLB levels that hold fewer pages. */
static double find_page_misses(const struct fth_gpu *gpu)
{
    double cycles = 0;
    for (size_t i = 0; i < FTH_TLB_ELEMENTS; i++) {
        const double reach = fth_gpu_number(gpu, fth_tlb_elements[i], "reach_bytes", INFINITY);
        if (reach < (double)FTH_HOME_PAGES * FTH_HOME_PAGE_BYTES)
            cycles += fth_gpu_number(gpu, fth_tlb_elements[i], "miss_penalty_cycles", 0);
    }
    return cycles;
}

/* Sets the thresholds between latencies, in cycles of a timed load, as l2_geometry.c does: a load
 * comes from memory if it takes longer than the 5 % quantile of memory, less 2 cycles; it hits the
 * near partition if it is closer to the near latency than to the far one. */
static enum fth_status make_plan(struct fth_discovery *discovery, struct fth_l2_map_plan *plan,
                                 struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const double overhead = discovery->l2_overhead_cycles;
    const double far_l2 = fth_gpu_number(gpu, "l2", "far_latency_cycles", NAN);
    struct fth_figure near = {.value = NAN, .low = NAN}, far = {.value = NAN};
    FTH_TRY(fth_probe_memory_latency(&discovery->prober, overhead, &near, &far, error));
    const double size = fth_gpu_number(gpu, "l2", "size_bytes", 0);
    const double line =
        fth_gpu_number(gpu, "l2", "line_bytes", fth_gpu_number(gpu, "l2", "sector_bytes", 128));
    *plan =
        (struct fth_l2_map_plan){.size_bytes = (uint64_t)size,
                                 .line_bytes = (uint64_t)line,
                                 .memory_threshold = overhead + near.low - 2,
                                 .far_memory_threshold = overhead + (near.value + far.value) / 2,
                                 .page_miss_cycles = find_page_misses(gpu)};
    plan->near_threshold =
        isnan(far_l2) ? plan->memory_threshold : overhead + (discovery->l2.value + far_l2) / 2;
    return plan->size_bytes && plan->near_threshold <= plan->memory_threshold
               ? FTH_OK
               : fth_fail(error, FTH_INCONCLUSIVE, "map L2", NULL,
                          size > 0 ? "the latencies of L2 and memory overlap"
                                   : "its size is not known");
}

/* ---- homes ---- */

static enum fth_status find_homes(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    static const char method[] =
        "which single address bits, within 2 MiB, change the home of a line";
    struct fth_home_mask found;
    enum fth_status status = fth_probe_home_mask(&discovery->prober, plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "home_mask", status, error);
    char reason[200];
    if (found.mixed)
        snprintf(reason, sizeof reason,
                 "not a parity of address bits: bits 0x%llx change the home in some places only, "
                 "bits 0x%llx always",
                 (unsigned long long)found.mixed, (unsigned long long)found.mask);
    else if (found.unknown)
        snprintf(reason, sizeof reason,
                 "the homes of too few lines were found to judge bits 0x%llx",
                 (unsigned long long)found.unknown);
    else
        snprintf(reason, sizeof reason, "no address bit changes the home");
    if (found.mixed || found.unknown || !found.mask)
        return fth_note_unknown(discovery->gpu, "l2", "home_mask", reason, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "home_mask",
                                       .number = (double)found.mask,
                                       .evidence = &found.evidence,
                                       .samples = found.samples,
                                       .method = method,
                                       .note =
                                           "bits from 21 on are not known: 2 MiB pages need not be "
                                           "physically contiguous"},
                    error);
}

/* Writes the near partition of each SM: 0 for that of SM 0, 1 for the other. `numbers` is a buffer
 * for `sms` values. */
static enum fth_status note_sides(struct fth_gpu *gpu, const enum fth_relation *sides,
                                  const struct fth_evidence *evidence, double *numbers, size_t sms,
                                  size_t samples, struct fth_error *error)
{
    size_t doubtful = 0;
    for (size_t i = 0; i < sms; i++) {
        numbers[i] = sides[i] == FTH_RELATION_OPPOSITE ? 1 : 0;
        doubtful += sides[i] != FTH_RELATION_SAME && sides[i] != FTH_RELATION_OPPOSITE;
    }
    char reason[120];
    snprintf(reason, sizeof reason,
             "%zu of %zu SMs see homes that neither match those of SM 0 nor are the opposite",
             doubtful, sms);
    if (doubtful)
        return fth_note_unknown(gpu, "l2", "partition_by_sm", reason, error);
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "partition_by_sm",
                                       .numbers = numbers,
                                       .count = sms,
                                       .evidence = evidence,
                                       .samples = samples,
                                       .method = "the homes of the same lines as seen from each "
                                                 "SM"},
                    error);
}

static enum fth_status find_sides(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    const size_t sms = discovery->prober.sms;
    enum fth_relation *sides = calloc(sms, sizeof *sides);
    double *numbers = calloc(sms, sizeof *numbers);
    size_t samples = 0;
    struct fth_evidence evidence = {.repeats = 0};
    enum fth_status status;
    if (!sides || !numbers) {
        status = fth_no_memory(error, "find the near partition of each SM", NULL);
        goto out;
    }
    status = fth_probe_sm_sides(&discovery->prober, plan, sides, &evidence, &samples, error);
    if (status == FTH_OK)
        status = note_sides(discovery->gpu, sides, &evidence, numbers, sms, samples, error);
    else
        status = fth_note_failure(discovery->gpu, "l2", "partition_by_sm", status, error);
out:
    free(numbers);
    free(sides);
    return status;
}

/* ---- slices ---- */

static enum fth_status note_slice_hash(struct fth_gpu *gpu, const struct fth_slices *found,
                                       struct fth_error *error)
{
    const struct fth_slice_hash *hash = &found->hash;
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = "l2",
                                        .attribute = "slice_bytes",
                                        .number = (double)hash->slice_bytes,
                                        .evidence = &found->evidence,
                                        .samples = found->samples,
                                        .method = "largest aligned block whose lines are all in "
                                                  "the same slice"},
                     error));
    if (!found->has_hash)
        return fth_note_unknown(gpu, "l2", "slice_masks", found->hash_cause, error);
    struct fth_evidence evidence = found->evidence;
    double masks[FTH_MAX_SLICE_MASKS];
    char note[240];
    if (hash->doubtful)
        evidence.doubt = "some further distances of lines leave most of them in their slice";
    for (size_t i = 0; i < hash->mask_count; i++)
        masks[i] = (double)hash->masks[i];
    if (hash->linear)
        snprintf(note, sizeof note,
                 "the parities are the number of the slice; bits from 21 on are not known: 2 MiB "
                 "pages need not be physically contiguous");
    else
        snprintf(
            note, sizeof note,
            "the slice is a function of these parities that is not linear: a partition has %zu "
            "slices. Bits from 21 on are not known: 2 MiB pages need not be physically "
            "contiguous",
            found->per_partition);
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "slice_masks",
                                       .numbers = masks,
                                       .count = hash->mask_count,
                                       .evidence = &evidence,
                                       .samples = found->samples,
                                       .method = "address bits whose parities are the same for two "
                                                 "lines that any page has in the same slice",
                                       .note = note},
                    error);
}

/* Writes the groups of SMs, or why they and their latencies are not known. */
static enum fth_status note_slice_groups(struct fth_gpu *gpu, const struct fth_slices *found,
                                         size_t sms, struct fth_error *error)
{
    char reason[160];
    if (!found->sms.clear) {
        fth_format(reason, sizeof reason,
                   "the latencies of SMs differ by up to %.1f cycles within groups and by only "
                   "%.1f cycles between groups",
                   found->sms.widest_cycles, found->sms.closest_cycles);
        FTH_TRY(fth_note_unknown(gpu, "l2", "slice_latency_cycles", reason, error));
        return fth_note_unknown(gpu, "l2", "slice_group_by_sm", reason, error);
    }
    double *numbers = calloc(sms, sizeof *numbers);
    if (!numbers)
        return fth_no_memory(error, "write the latencies of the L2 slices", NULL);
    for (size_t i = 0; i < sms; i++)
        numbers[i] = found->sms.groups[i];
    const enum fth_status status =
        fth_note(gpu,
                 &(struct fth_note){.element = "l2",
                                    .attribute = "slice_group_by_sm",
                                    .numbers = numbers,
                                    .count = sms,
                                    .evidence = &found->evidence,
                                    .samples = found->samples,
                                    .method = "SMs that join their reads, if any do, and whose "
                                              "latencies to all slices are equal to within 1.4 "
                                              "cycles on average"},
                 error);
    free(numbers);
    return status;
}

static enum fth_status note_slice_map(struct fth_discovery *discovery, struct fth_slices *found,
                                      struct fth_error *error)
{
    const size_t count = found->sms.count * found->per_partition;
    FTH_TRY(note_slice_groups(discovery->gpu, found, discovery->prober.sms, error));
    if (!found->sms.clear)
        return FTH_OK;
    for (size_t i = 0; i < count; i++)
        found->cycles[i] = fth_round_to_tenth(found->cycles[i]);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "slice_latency_cycles",
                                       .numbers = found->cycles,
                                       .count = count,
                                       .evidence = &found->evidence,
                                       .samples = found->samples,
                                       .method =
                                           "median over the lines of a slice, mean over the SMs "
                                           "of a group; lines whose home is near"},
                    error);
}

/* Returns the groups of SMs that join their reads; NULL: none do, or they are not known. */
static const double *find_join_groups(const struct fth_gpu *gpu)
{
    const struct fth_attribute *joins = fth_gpu_attribute(gpu, "l2", "join_group_by_sm");
    double groups = 0;
    for (size_t i = 0; joins && i < joins->count; i++)
        groups = fmax(groups, joins->numbers[i] + 1);
    return joins && groups < (double)joins->count ? joins->numbers : NULL;
}

enum fth_status fth_dissect_slices(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const double partitions = fth_gpu_number(gpu, "l2", "partitions", 1);
    const struct fth_attribute *sides = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    const struct fth_slice_plan plan = {
        .line_bytes = (uint64_t)fth_gpu_number(gpu, "l2", "line_bytes", 128),
        .latency_cycles = discovery->l2.value,
        .partitions = (size_t)partitions,
        .partition_by_sm = sides ? sides->numbers : NULL,
        .join_group_by_sm = find_join_groups(gpu),
        .home_mask = (uint64_t)fth_gpu_number(gpu, "l2", "home_mask", 0)};
    struct fth_slices found = {0};
    if (fth_gpu_unknown(gpu, "l2", "partitions"))
        return fth_note_unknown(gpu, "l2", "slices", "the number of partitions is not known",
                                error);
    if (partitions > 1 && !sides)
        return fth_note_unknown(gpu, "l2", "slices", "the near partition of each SM is not known",
                                error);
    enum fth_status status = fth_probe_slices(&discovery->prober, &plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, "l2", "slices", status, error);
    status =
        fth_note(gpu,
                 &(struct fth_note){.element = "l2",
                                    .attribute = "slices",
                                    .number = (double)found.slices,
                                    .evidence = &found.evidence,
                                    .samples = found.samples,
                                    .method = "lines whose reads other SMs delay by reading the "
                                              "same line all the time, in all partitions"},
                 error);
    if (status == FTH_OK)
        status = note_slice_hash(gpu, &found, error);
    if (status == FTH_OK)
        status = note_slice_map(discovery, &found, error);
    fth_slices_fini(&found);
    return status;
}

/* ---- prefetching and eviction order ---- */

static enum fth_status find_prefetch(struct fth_discovery *discovery,
                                     const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    double part = NAN;
    size_t samples = 0;
    enum fth_status status = fth_probe_prefetch(&discovery->prober, plan, &part, &samples, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "prefetched_part", status, error);
    const double error_of_part =
        interval_deviations * sqrt((part * (1 - part) + 1 / (double)samples) / (double)samples);
    return fth_note(
        discovery->gpu,
        &(struct fth_note){
            .element = "l2",
            .attribute = "prefetched_part",
            .number = round(1000 * part) / 1000,
            .interval = (const double[]){round(1000 * fmax(part - error_of_part, 0)) / 1000,
                                         round(1000 * fmin(part + error_of_part, 1)) / 1000},
            .samples = samples,
            .method = "share of the loads of a first walk, one per line after a "
                      "flush, that memory does not serve",
            .note = part > min_prefetched_fraction ? "memory delivers more than is requested"
                                                   : "nothing is prefetched"},
        error);
}

static enum fth_status find_order(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    double agreement = NAN;
    struct fth_evidence evidence = {.repeats = 0};
    size_t samples = 0;
    enum fth_status status =
        fth_probe_l2_order(&discovery->prober, plan, &agreement, &evidence, &samples, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "periodic", status, error);
    char method[160];
    if (isnan(agreement))
        snprintf(method, sizeof method,
                 "at every footprint, either all lines were evicted or none, in every repetition");
    else
        fth_format(
            method, sizeof method,
            "whether a repetition evicts the same lines: agreement beyond chance %.2f, median of "
            "five footprints",
            agreement);
    if (agreement < min_ordered_kappa && agreement > max_random_kappa)
        return fth_note_unknown(discovery->gpu, "l2", "periodic", method, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "periodic",
                                       .text = agreement <= max_random_kappa ? "no" : "yes",
                                       .evidence = &evidence,
                                       .samples = samples,
                                       .method = method},
                    error);
}

/* Writes why the homes of lines are not known, if the number of partitions is not. */
static enum fth_status note_no_homes(struct fth_gpu *gpu, struct fth_error *error)
{
    static const char *const names[] = {"home_mask", "partition_by_sm", "write_far_copy"};
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        FTH_TRY(
            fth_note_unknown(gpu, "l2", names[i], "the number of partitions is not known", error));
    return FTH_OK;
}

enum fth_status fth_dissect_l2_map(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_l2_map_plan plan;
    enum fth_status status = make_plan(discovery, &plan, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "prefetched_part", status, error);
    discovery->l2_map = plan;
    if (fth_gpu_number(discovery->gpu, "l2", "partitions", 1) == 2) {
        FTH_TRY(find_homes(discovery, &plan, error));
        FTH_TRY(find_sides(discovery, &plan, error));
    }
    if (!fth_gpu_attribute(discovery->gpu, "l2", "partitions"))
        FTH_TRY(note_no_homes(discovery->gpu, error));
    FTH_TRY(fth_dissect_eviction_sets(discovery, &plan, error));
    FTH_TRY(find_prefetch(discovery, &plan, error));
    return find_order(discovery, &plan, error);
}
