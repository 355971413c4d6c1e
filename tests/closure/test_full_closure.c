/* Closure test of 'fathom topo --full': measures small simulated GPUs with random placement of SMs
 * and blocks, joined reads, stores, loads with hints, instruction and constant caches, TLBs, and
 * structures and slices of the L2 (full_gpu.c), and compares each figure with the description that
 * the GPU was made from. A figure must be right or unknown, or have a confidence below 0.95, and at
 * least MIN_RIGHT_PERCENT of all figures must be right. Every measured figure must have a
 * confidence or an interval.
 *
 *   test_full_closure [noisy | disturbed] [FIRST LAST]      the range of seeds; 1 to 12 by default
 *   test_full_closure [noisy | disturbed] seeds SEED...     these seeds
 *   test_full_closure print SEED                            print the description of one seed
 *
 * The output has a line for each figure that is not right, and a table of the results by figure. */
#include "check.h"
#include "closure/discovered.h"
#include "closure/full_gpu.h"
#include "described_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- comparison ---- */

/* How a figure is compared:
 *
 *   EQUAL      the same value
 *   GROUPS     the same groups of SMs, with any numbers
 *   TIME       a time that the probe brackets, within TIME_TOLERANCE_CYCLES
 *   CYCLES     a latency, within the maximum error or the interval of the figure
 *   VARIANTS   the value of each variant of a load that was found (access_variants)
 *   PARITIES   masks of address bits with the same linear hull, up to the home of a line
 *   DISTANT    SMs with the same latencies to all slices are in one group, and SMs whose latencies
 *              differ by more than MIN_GROUP_CYCLES, on average, are not
 *   LATENCIES  for each SM, the sorted latencies of the slices, within the maximum error and the
 *              difference of SMs in one group
 */
enum comparison { EQUAL, GROUPS, TIME, CYCLES, VARIANTS, PARITIES, DISTANT, LATENCIES };
/* Maximum error of a time that is bracketed by measurements at several lags: the distance of two
 * lags of the probe (src/probe/l2/l2_joins.c), and the cycles between issue and join. */
enum { TIME_TOLERANCE_CYCLES = 24 };
/* Maximum error of a latency: this many cycles or this fraction, whichever is larger, as for a
 * figure that test_closure counts as close. */
static const double max_error_cycles = 1, max_error_fraction = 0.01;
/* SMs are in one group if their latencies differ by at most 2 cycles on average
 * (src/probe/l2/l2_slices.c). A group can so have SMs that differ by twice as much. */
enum { MIN_GROUP_CYCLES = 4 };

enum result { RIGHT, UNKNOWN, DOUBTED, WRONG, RESULTS };

static struct row {
    const char *element, *attribute;
    enum comparison comparison;
    unsigned results[RESULTS];
} rows[] = {
    {"device", "gpc_by_sm", GROUPS, {0}},
    {"device", "tpc_by_sm", GROUPS, {0}},
    {"device", "block_order", EQUAL, {0}},
    {"device", "block_refill", EQUAL, {0}},
    {"device", "loads_per_scoreboard", EQUAL, {0}},
    {"l1", "size_bytes", EQUAL, {0}},
    {"l1", "line_bytes", EQUAL, {0}},
    {"l1", "write_miss", EQUAL, {0}},
    {"l1", "write_hit", EQUAL, {0}},
    {"l1", "write_evicts", EQUAL, {0}},
    {"l1", "access_fill_bytes", VARIANTS, {0}},
    {"l1", "access_priorities", VARIANTS, {0}},
    {"l1", "addressing", EQUAL, {0}},
    {"instruction_l1", "size_bytes", EQUAL, {0}},
    {"instruction_l1", "ways", EQUAL, {0}},
    {"instruction_l0", "size_bytes", EQUAL, {0}},
    {"instruction_l0", "ways", EQUAL, {0}},
    {"constant_l1", "size_bytes", EQUAL, {0}},
    {"constant_l1", "line_bytes", EQUAL, {0}},
    {"constant_l1", "sets", EQUAL, {0}},
    {"constant_l1", "ways", EQUAL, {0}},
    {"constant_l1", "policy", EQUAL, {0}},
    {"constant_l15", "size_bytes", EQUAL, {0}},
    {"constant_l15", "line_bytes", EQUAL, {0}},
    {"constant_l15", "sets", EQUAL, {0}},
    {"constant_l15", "ways", EQUAL, {0}},
    {"constant_l15", "policy", EQUAL, {0}},
    {"l2", "fill_bytes", EQUAL, {0}},
    {"l2", "partitions", EQUAL, {0}},
    {"l2", "home_mask", EQUAL, {0}},
    {"l2", "partition_by_sm", EQUAL, {0}},
    {"l2", "sets", EQUAL, {0}},
    {"l2", "ways", EQUAL, {0}},
    {"l2", "policy", EQUAL, {0}},
    {"l2", "write_miss", EQUAL, {0}},
    {"l2", "partial_write", EQUAL, {0}},
    {"l2", "write_far_copy", EQUAL, {0}},
    {"l2", "join_group_by_sm", GROUPS, {0}},
    {"l2", "join_window_cycles", TIME, {0}},
    {"l2", "join_extent", EQUAL, {0}},
    {"l2", "slices", EQUAL, {0}},
    {"l2", "slice_bytes", EQUAL, {0}},
    {"l2", "slice_masks", PARITIES, {0}},
    {"l2", "slice_group_by_sm", DISTANT, {0}},
    {"l2", "slice_latency_cycles", LATENCIES, {0}},
    {"l2", "access_fill_bytes", VARIANTS, {0}},
    {"l2", "access_priorities", VARIANTS, {0}},
    {"tlb_l1", "page_bytes", EQUAL, {0}},
    {"tlb_l1", "entries", EQUAL, {0}},
    {"tlb_l1", "sets", EQUAL, {0}},
    {"tlb_l1", "ways", EQUAL, {0}},
    {"tlb_l1", "policy", EQUAL, {0}},
    {"tlb_l1", "miss_penalty_cycles", CYCLES, {0}},
    {"tlb_l2", "page_bytes", EQUAL, {0}},
    {"tlb_l2", "entries", EQUAL, {0}},
    {"tlb_l2", "sets", EQUAL, {0}},
    {"tlb_l2", "ways", EQUAL, {0}},
    {"tlb_l2", "policy", EQUAL, {0}},
    {"tlb_l2", "miss_penalty_cycles", CYCLES, {0}},
    {"memory", "page_table_bytes", EQUAL, {0}},
    {"memory", "page_table_switch_cycles", CYCLES, {0}},
};

static bool same_numbers(const struct fth_attribute *a, const struct fth_attribute *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->numbers[i] == b->numbers[i];
    return same;
}

/* Whether two lists divide the SMs into the same groups. */
static bool same_groups(const struct fth_attribute *a, const struct fth_attribute *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        for (size_t j = 0; same && j < i; j++)
            same = (a->numbers[i] == a->numbers[j]) == (b->numbers[i] == b->numbers[j]);
    return same;
}

/* Whether both descriptions have the same value for each variant of a load that was found. A
 * priority that is unknown is right. */
static bool same_by_variant(const struct row *row, const struct fth_gpu *truth,
                            const struct fth_gpu *found)
{
    const struct fth_attribute *known = fth_gpu_attribute(truth, row->element, "access_variants"),
                               *names = fth_gpu_attribute(found, row->element, "access_variants"),
                               *want = fth_gpu_attribute(truth, row->element, row->attribute),
                               *have = fth_gpu_attribute(found, row->element, row->attribute);
    for (size_t i = 0; i < have->count; i++) {
        size_t j = 0;
        while (j < known->count && strcmp(known->texts[j], names->texts[i]) != 0)
            j++;
        if (j == known->count) /* a store or a copy, which random GPUs do not describe */
            continue;
        const bool same = have->kind == FTH_NUMBERS ? want->numbers[j] == have->numbers[i]
                                                    : strcmp(want->texts[j], have->texts[i]) == 0 ||
                                                          strcmp(have->texts[i], "unknown") == 0;
        if (!same) {
            print_message("# %s: %g %s\n", names->texts[i],
                          have->kind == FTH_NUMBERS ? have->numbers[i] : NAN,
                          have->kind == FTH_NUMBERS ? "" : have->texts[i]);
            return false;
        }
    }
    return have->count > 0;
}

/* Whether both lists of masks have the same linear hull. All lines that the probe reads have the
 * same home, so that the mask of the home may be added to each of them. */
static bool same_parities(const struct fth_gpu *truth, const struct fth_attribute *want,
                          const struct fth_attribute *have)
{
    struct fth_gf2 a = {0}, b = {0};
    const uint64_t home = (uint64_t)fth_gpu_number(truth, "l2", "home_mask", 0);
    fth_gf2_add(&a, home);
    fth_gf2_add(&b, home);
    for (size_t i = 0; i < want->count; i++)
        fth_gf2_add(&a, (uint64_t)want->numbers[i]);
    for (size_t i = 0; i < have->count; i++)
        fth_gf2_add(&b, (uint64_t)have->numbers[i]);
    return fth_gf2_equal(&a, &b);
}

static bool is_close(double want, double have)
{
    return fabs(want - have) <= fmax(max_error_cycles, max_error_fraction * want);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Copies the latencies of the slices from one SM, in ascending order, and returns their number. */
static size_t sorted_latencies(const struct fth_gpu *gpu, size_t sm, double list[64])
{
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, "l2", "slice_latency_cycles"),
                               *groups = fth_gpu_attribute(gpu, "l2", "slice_group_by_sm");
    const size_t each = (size_t)(fth_gpu_number(gpu, "l2", "slices", 0) /
                                 fth_gpu_number(gpu, "l2", "partitions", 1));
    const size_t first = (size_t)groups->numbers[sm] * each;
    if (each > 64 || first + each > cycles->count)
        return 0;
    memcpy(list, cycles->numbers + first, each * sizeof *list);
    qsort(list, each, sizeof *list, by_value);
    return each;
}

/* Returns the mean difference of the true latencies of two SMs to each slice. */
static double sm_distance(const struct fth_gpu *truth, size_t a, size_t b)
{
    const struct fth_attribute *cycles = fth_gpu_attribute(truth, "l2", "slice_latency_cycles"),
                               *groups = fth_gpu_attribute(truth, "l2", "slice_group_by_sm");
    const size_t each = (size_t)(fth_gpu_number(truth, "l2", "slices", 0) /
                                 fth_gpu_number(truth, "l2", "partitions", 1));
    double sum = 0;
    for (size_t i = 0; i < each; i++)
        sum += fabs(cycles->numbers[(size_t)groups->numbers[a] * each + i] -
                    cycles->numbers[(size_t)groups->numbers[b] * each + i]);
    return sum / (double)each;
}

/* Whether SMs that are clearly different are in different groups, and equal ones in the same. SMs
 * near different partitions read different slices. */
static bool same_distances(const struct fth_gpu *truth, const struct fth_attribute *have)
{
    const struct fth_attribute *sides = fth_gpu_attribute(truth, "l2", "partition_by_sm");
    bool same = true;
    for (size_t i = 0; same && i < have->count; i++)
        for (size_t j = 0; same && j < i; j++) {
            const bool together = have->numbers[i] == have->numbers[j];
            const bool near = !sides || sides->numbers[i] == sides->numbers[j];
            const double distance = sm_distance(truth, i, j);
            same = together ? distance <= MIN_GROUP_CYCLES || !near : distance > 0 || !near;
        }
    return same;
}

static bool same_latencies(const struct fth_gpu *truth, const struct fth_gpu *found)
{
    const struct fth_attribute *groups = fth_gpu_attribute(truth, "l2", "slice_group_by_sm"),
                               *others = fth_gpu_attribute(found, "l2", "slice_group_by_sm");
    bool same = others && others->count == groups->count;
    for (size_t sm = 0; same && sm < groups->count; sm++) {
        double want[64], have[64];
        const size_t count = sorted_latencies(truth, sm, want);
        same = count == sorted_latencies(found, sm, have);
        for (size_t i = 0; same && i < count; i++)
            same = is_close(want[i], have[i]) || fabs(want[i] - have[i]) <= MIN_GROUP_CYCLES;
    }
    return same;
}

/* The figure is in both descriptions. */
static bool is_same(const struct row *row, const struct fth_gpu *truth, const struct fth_gpu *found)
{
    const struct fth_attribute *want = fth_gpu_attribute(truth, row->element, row->attribute),
                               *have = fth_gpu_attribute(found, row->element, row->attribute);
    if (want->kind != have->kind)
        return false;
    switch (row->comparison) {
    case TIME: return fabs(want->number - have->number) <= TIME_TOLERANCE_CYCLES;
    case CYCLES:
        return is_close(want->number, have->number) ||
               (want->number >= have->low && want->number <= have->high);
    case VARIANTS: return same_by_variant(row, truth, found);
    case PARITIES: return same_parities(truth, want, have);
    case LATENCIES: return same_latencies(truth, found);
    case GROUPS: return same_groups(want, have);
    case DISTANT: return same_distances(truth, have);
    default: break;
    }
    return want->kind == FTH_NUMBERS ? same_numbers(want, have)
           : want->kind == FTH_TEXT  ? strcmp(want->text, have->text) == 0
                                     : want->number == have->number;
}

/* Without an attribute in the description, no two SMs join their reads. */
static bool no_joins(const struct row *row, const struct fth_attribute *found)
{
    bool alone = strcmp(row->attribute, "join_group_by_sm") == 0 && found;
    for (size_t i = 0; alone && i < found->count; i++)
        for (size_t j = 0; alone && j < i; j++)
            alone = found->numbers[i] != found->numbers[j];
    return alone;
}

static bool has_one_gpc(const struct fth_gpu *gpu)
{
    const struct fth_attribute *gpcs = fth_gpu_attribute(gpu, "device", "gpc_by_sm");
    for (size_t i = 1; i < gpcs->count; i++)
        if (gpcs->numbers[i] != gpcs->numbers[0])
            return false;
    return true;
}

/* Returns why a figure is unknown: its own reason, or that of a figure of its element that it
 * follows from; NULL: there is no reason. */
static const char *reason_of(const struct fth_gpu *gpu, const struct row *row)
{
    static const char *const causes[] = {"size_bytes",  "access_variants", "slices",
                                         "slice_bytes", "entries",         "reach_bytes",
                                         "sets",        "spectrum_cycles"};
    const char *reason = fth_gpu_unknown(gpu, row->element, row->attribute);
    for (size_t i = 0; i < FTH_COUNT(causes) && !reason; i++)
        if (strncmp(row->attribute, causes[i], 5) == 0 || i == 0 || i >= 4)
            reason = fth_gpu_unknown(gpu, row->element, causes[i]);
    const bool needs_tlb =
        strcmp(row->attribute, "addressing") == 0 || strncmp(row->attribute, "page_table", 10) == 0;
    return !reason && needs_tlb ? fth_gpu_unknown(gpu, "tlb_l1", "page_bytes") : reason;
}

static void print_found(uint64_t seed, const struct row *row, const struct fth_attribute *found,
                        const struct fth_gpu *gpu)
{
    const char *reason = reason_of(gpu, row);
    if (found)
        print_message("# seed %llu: %s.%s is wrong: %g %s, confidence %g\n",
                      (unsigned long long)seed, row->element, row->attribute,
                      found->kind == FTH_NUMBER ? found->number : NAN,
                      found->kind == FTH_TEXT ? found->text : "", found->confidence);
    else
        print_message("# seed %llu: %s.%s is not known: %s\n", (unsigned long long)seed,
                      row->element, row->attribute, reason ? reason : "NO REASON");
}

/* Whether the figure says nothing, or what the GPU does if its description does not have it. */
static bool is_default(const struct row *row, const struct fth_gpu *truth,
                       const struct fth_attribute *want, const struct fth_attribute *have)
{
    if (!want && (!have || row->comparison == VARIANTS || no_joins(row, have)))
        return true; /* the GPU does not have it */
    /* Without allocation, no store leaves a partly written sector. */
    if (!have && strcmp(row->attribute, "partial_write") == 0 &&
        strcmp(fth_gpu_text(truth, "l2", "write_miss"), "no_allocate") == 0)
        return true;
    /* With one GPC, both orders are the same. */
    if (have && strcmp(row->attribute, "block_order") == 0 && has_one_gpc(truth))
        return true;
    /* One partition is the default. */
    return !want && strcmp(row->attribute, "partitions") == 0 && have->number == 1;
}

static void compare(uint64_t seed, const struct fth_gpu *truth, const struct fth_gpu *found)
{
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct row *const row = &rows[i];
        const struct fth_attribute *want = fth_gpu_attribute(truth, row->element, row->attribute);
        const struct fth_attribute *have = fth_gpu_attribute(found, row->element, row->attribute);
        enum result result = RIGHT;
        if (is_default(row, truth, want, have))
            continue;
        if (!have)
            result = reason_of(found, row) ? UNKNOWN : WRONG;
        else if (!want || !is_same(row, truth, found))
            result = have->confidence < 0.95 ? DOUBTED : WRONG;
        if (result != RIGHT)
            print_found(seed, row, have, found);
        row->results[result]++;
    }
}

/* ---- the test ---- */

static uint64_t first_seed = 1, last_seed = 12;
static char **listed_seeds; /* [listed_count]; NULL: the range counts */
static size_t listed_count;
static bool noise, neighbour;
static size_t bare_figures, inconclusive_gpus;
/* Most figures that stay unknown are those of FIFO L2s: reads of a line do not change when FIFO
 * evicts it, so that the search for eviction sets finds no stable ones. Chosen below the 89 % that
 * were right in the first 128 seeds. */
enum { MIN_RIGHT_PERCENT = 85 };
/* At most one GPU in this many may be inconclusive: not even the latency of its L2 is known. */
enum { MAX_INCONCLUSIVE_PART = 100 };

static void measure(uint64_t seed)
{
    struct fth_buffer text = full_description(seed, noise, neighbour);
    struct fth_gpu *truth = NULL, *found = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.full = true, .only = NULL);
    if (fth_gpu_read_text("random", text.data, text.size, NULL, &truth, &error) != FTH_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, error.cause, text.data);
    struct fth_device *device = open_described(truth);
    const enum fth_status status = fth_discover(device, &options, &found, &error);
    if (status == FTH_INCONCLUSIVE) {
        print_message("# seed %llu: inconclusive: %s\n", (unsigned long long)seed, error.cause);
        inconclusive_gpus++;
    } else if (status != FTH_OK) {
        fail_msg("seed %llu: %s: %s\n%s", (unsigned long long)seed, error.argument, error.cause,
                 text.data);
    } else {
        compare(seed, truth, found);
        bare_figures += count_bare_figures(found);
    }
    fth_gpu_destroy(found);
    fth_gpu_destroy(truth);
    fth_device_close(device);
    fth_buffer_fini(&text);
}

static void random_gpus_are_described_correctly(void **state)
{
    (void)state;
    unsigned all[RESULTS] = {0};
    for (uint64_t seed = first_seed; !listed_seeds && seed <= last_seed; seed++)
        measure(seed);
    for (size_t i = 0; i < listed_count; i++)
        measure(strtoull(listed_seeds[i], NULL, 10));
    print_message("# %-43s right unknown doubted wrong\n", "figure");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const unsigned *results = rows[i].results;
        print_message("# %-16s%-26s %6u %7u %7u %5u\n", rows[i].element, rows[i].attribute,
                      results[RIGHT], results[UNKNOWN], results[DOUBTED], results[WRONG]);
        for (size_t k = 0; k < RESULTS; k++)
            all[k] += results[k];
    }
    const uint64_t gpus = listed_seeds ? listed_count : last_seed - first_seed + 1;
    const unsigned sum = all[RIGHT] + all[UNKNOWN] + all[DOUBTED] + all[WRONG];
    print_message("# %llu GPUs, %zu of them inconclusive, %u figures: %u right, %u unknown, %u "
                  "doubted, %u wrong\n",
                  (unsigned long long)gpus, inconclusive_gpus, sum, all[RIGHT], all[UNKNOWN],
                  all[DOUBTED], all[WRONG]);
    assert_true(MAX_INCONCLUSIVE_PART * inconclusive_gpus <= gpus);
    assert_int_equal(all[WRONG], 0);
    assert_int_equal(bare_figures, 0);
    /* Seeds that are listed are no random sample: they were chosen because a figure was wrong. */
    assert_true(listed_seeds || 100 * all[RIGHT] >= MIN_RIGHT_PERCENT * sum);
}

int main(int count, char *words[])
{
    int at = 1;
    if (count == 3 && strcmp(words[1], "print") == 0) {
        struct fth_buffer text = full_description(strtoull(words[2], NULL, 10), false, false);
        puts(text.data);
        fth_buffer_fini(&text);
        return 0;
    }
    noise = count > at && strcmp(words[at], "noisy") == 0;
    neighbour = count > at && strcmp(words[at], "disturbed") == 0;
    at += noise || neighbour;
    if (count > at + 1 && strcmp(words[at], "seeds") == 0) {
        listed_seeds = words + at + 1;
        listed_count = (size_t)(count - at - 1);
    } else if (count > at + 1) {
        first_seed = strtoull(words[at], NULL, 10);
        last_seed = strtoull(words[at + 1], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_gpus_are_described_correctly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
