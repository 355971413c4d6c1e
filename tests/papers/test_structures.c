/* Compares the structures of caches and TLBs with those that papers report (structures.h). The
 * descriptions of these GPUs that come with fathom must contain them, and fth_dissect() must find
 * them on the simulated GPUs. Each GPU is dissected only once. */
#include "closure/discovered.h"
#include "papers/structures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads a description that comes with fathom. */
static struct fth_gpu *read_description(const char *name)
{
    char path[300];
    struct fth_gpu *gpu = NULL;
    snprintf(path, sizeof path, "%s/data/gpus/%s.json", FTH_SOURCE_ROOT, name);
    assert_int_equal(fth_gpu_read_file(path, NULL, &gpu, NULL), FTH_OK);
    return gpu;
}

/* Prints a difference. Returns 1 if there is one, else 0. */
static int differs(const struct structure *row, const char *what, double actual, double expected)
{
    if (actual == expected)
        return 0;
    print_message("# %s %s: %s is %.10g, not %.10g\n", row->gpu, row->element, what, actual,
                  expected);
    return 1;
}

static int check_ways(const struct structure *row, const struct fth_gpu *gpu)
{
    if (row->first_ways == 0)
        return differs(row, "ways", fth_gpu_number(gpu, row->element, "ways", NAN), row->ways);
    const struct fth_attribute *ways = fth_gpu_attribute(gpu, row->element, "set_ways");
    int wrong = differs(row, "number of sets", ways ? (double)ways->count : 0, row->sets);
    for (size_t i = 0; ways && !wrong && i < ways->count; i++)
        wrong += differs(row, "ways of a set", ways->numbers[i], i ? row->ways : row->first_ways);
    return wrong;
}

/* The policy must be LRU, or must not be. In the latter case it may be unknown, if the reason says
 * that it is not LRU. */
static int check_policy(const struct structure *row, const struct fth_gpu *gpu)
{
    const struct fth_attribute *policy = fth_gpu_attribute(gpu, row->element, "policy");
    const char *unknown = fth_gpu_unknown(gpu, row->element, "policy");
    bool lru = policy && strcmp(policy->text, "lru") == 0;
    bool other = policy ? !lru : unknown && strstr(unknown, "not LRU");
    return differs(row, row->lru ? "LRU" : "not LRU", row->lru ? lru : other, 1);
}

static int check_index(const struct structure *row, const struct fth_gpu *gpu, bool found)
{
    const struct fth_attribute *index = fth_gpu_attribute(gpu, row->element, "index");
    /* A description has no index function that was not reported. A dissection of the simulated GPU
     * may find any. */
    if (!row->index)
        return found ? 0 : differs(row, "an index", index != NULL, 0);
    return differs(row, row->index, index && strcmp(index->text, row->index) == 0, 1);
}

/* Compares a GPU with one row and returns the number of differences. `found`: the GPU was
 * dissected; otherwise it is a description. */
static int check_structure(const struct structure *row, const struct fth_gpu *gpu, bool found)
{
    const bool tlb = strncmp(row->element, "tlb", 3) == 0;
    const char *bytes = tlb ? "reach_bytes" : "size_bytes";
    const char *line = tlb ? "page_bytes" : "line_bytes";
    int wrong =
        differs(row, bytes, fth_gpu_number(gpu, row->element, bytes, NAN), (double)row->bytes);
    wrong +=
        differs(row, line, fth_gpu_number(gpu, row->element, line, NAN), (double)row->line_bytes);
    wrong += differs(row, "sets", fth_gpu_number(gpu, row->element, "sets", NAN), row->sets);
    wrong += check_ways(row, gpu);
    wrong += check_policy(row, gpu);
    return wrong + check_index(row, gpu, found);
}

static void descriptions_match_table_5(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(structures); i++) {
        struct fth_gpu *gpu = read_description(structures[i].gpu);
        wrong += check_structure(&structures[i], gpu, false);
        fth_gpu_destroy(gpu);
    }
    assert_int_equal(wrong, 0);
}

static void description_has_the_way_weights_of_fermi(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_description("gtx560ti");
    const struct fth_attribute *weights = fth_gpu_attribute(gpu, "l1", "way_weights");
    double sum = 0;
    assert_true(weights && weights->count == FTH_COUNT(fermi_way_share));
    for (size_t i = 0; i < weights->count; i++)
        sum += weights->numbers[i];
    for (size_t i = 0; i < weights->count; i++)
        assert_true(fabs(weights->numbers[i] / sum - fermi_way_share[i]) < 1e-9);
    fth_gpu_destroy(gpu);
}

/* GPUs with the pattern P6 have active page entries for 512 MiB. Fermi does not have P6. */
static void descriptions_have_the_size_of_active_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(spectra); i++) {
        struct fth_gpu *gpu = read_description(spectra[i].gpu);
        double reach = fth_gpu_number(gpu, "memory", "page_table_bytes", 0);
        assert_true(reach == (spectra[i].patterns & P6 ? (double)active_page_bytes : 0));
        fth_gpu_destroy(gpu);
    }
}

/* ---- dissections ---- */

static struct {
    const char *name;
    const char *only; /* the elements that the papers dissected */
    struct fth_gpu *gpu;
} gpus[] = {
    {"gtx560ti", "l1,texture,tlb_l1,tlb_l2", NULL},
    {"gtx780", "texture,readonly,tlb_l1,tlb_l2", NULL},
    {"gtx980", "l1,texture,readonly,tlb_l1,tlb_l2", NULL},
    {"p100", "texture,readonly", NULL},
};

static int dissect_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(gpus); i++) {
        char id[64];
        struct fth_device *device = NULL;
        const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.only = gpus[i].only);
        snprintf(id, sizeof id, "sim:%s", gpus[i].name);
        enum fth_status status = fth_device_open(id, NULL, &device, NULL);
        if (status == FTH_OK)
            status = fth_dissect(device, &options, &gpus[i].gpu, NULL);
        fth_device_close(device);
        if (status != FTH_OK)
            return -1;
    }
    return 0;
}

static int destroy_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(gpus); i++)
        fth_gpu_destroy(gpus[i].gpu);
    return 0;
}

static const struct fth_gpu *dissected(const char *name)
{
    for (size_t i = 0; i < FTH_COUNT(gpus); i++)
        if (strcmp(gpus[i].name, name) == 0)
            return gpus[i].gpu;
    fail_msg("%s was not dissected", name);
    return NULL;
}

static void dissections_match_table_5(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(structures); i++)
        wrong += check_structure(&structures[i], dissected(structures[i].gpu), true);
    assert_int_equal(wrong, 0);
}

static int compare_descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Figure 8. With one page more than a set has entries, all pages of that set miss: its entries plus
 * one. The paper counts the entries. The order in which the sets overflow depends on the address of
 * the array; on the GPUs of the paper the large set is the first, so the steps are sorted. The page
 * that receives the samples never misses, so one step may be lower by one. */
static void check_miss_curve(const struct fth_gpu *gpu)
{
    const struct fth_attribute *pages = fth_gpu_attribute(gpu, "tlb_l2", "overflow_pages");
    const struct fth_attribute *missed = fth_gpu_attribute(gpu, "tlb_l2", "overflow_missed");
    double steps[FTH_COUNT(tlb_miss_curve)] = {0};
    size_t count = 0;
    assert_true(pages && missed);
    for (size_t i = 1; i < pages->count; i++) {
        assert_true(pages->numbers[i] == pages->numbers[i - 1] + 1);
        if (2 * pages->numbers[i] <= tlb_miss_curve[0].mib)
            assert_true(missed->numbers[i] == 0);
        else
            steps[count++] = missed->numbers[i] - missed->numbers[i - 1];
        assert_true(count < FTH_COUNT(steps));
    }
    assert_int_equal(count, FTH_COUNT(tlb_miss_curve) - 1);
    qsort(steps, count, sizeof *steps, compare_descending);
    double entries = 0, sample_page = 0;
    for (size_t i = 0; i < count; i++) {
        entries += steps[i] - 1;
        if (entries + 1 == tlb_miss_curve[i + 1].missed)
            sample_page = 1;
        assert_true(entries + sample_page == tlb_miss_curve[i + 1].missed);
    }
}

static void tlb_misses_match_figure_8(void **state)
{
    (void)state;
    check_miss_curve(dissected("gtx560ti"));
    check_miss_curve(dissected("gtx780"));
    check_miss_curve(dissected("gtx980"));
}

/* Figure 11 and Section 4.5: the fraction of replacements of each way. */
static void way_shares_match_figure_11(void **state)
{
    (void)state;
    const struct fth_attribute *shares =
        fth_gpu_attribute(dissected("gtx560ti"), "l1", "way_weights");
    assert_true(shares && shares->count == FTH_COUNT(fermi_way_share));
    for (size_t i = 0; i < shares->count; i++)
        assert_true(fabs(shares->numbers[i] - fermi_way_share[i]) < 0.02);
}

/* Returns the latency of a pattern, NAN if it does not occur. */
static double pattern_cycles(const struct fth_gpu *gpu, const char *element, unsigned pattern)
{
    char name[8];
    const struct fth_attribute *words = fth_gpu_attribute(gpu, element, "spectrum_patterns");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, element, "spectrum_cycles");
    snprintf(name, sizeof name, "P%u", pattern);
    assert_true(words && cycles && words->count == cycles->count);
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->texts[i], name) == 0)
            return cycles->numbers[i];
    return NAN;
}

/* Figure 14: the patterns that occur, each slower than the one before; the penalty of an L1 TLB
 * miss on the GTX 560 Ti; and that the L1 of the GTX 980 is accessed with virtual addresses. */
static void latency_patterns_match_figure_14(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(spectra); i++) {
        const struct fth_gpu *gpu = dissected(spectra[i].gpu);
        const char *element = spectra[i].through_l1 ? "l1" : "l2";
        double last = 0;
        for (unsigned pattern = 1; pattern <= 6; pattern++) {
            const double cycles = pattern_cycles(gpu, element, pattern);
            if (isnan(cycles) == !!(spectra[i].patterns & 1u << pattern))
                fail_msg("%s %s: P%u is %g", spectra[i].gpu, element, pattern, cycles);
            assert_false(cycles <= last);
            last = isnan(cycles) ? last : cycles;
        }
    }
    const struct fth_gpu *fermi = dissected("gtx560ti"), *maxwell = dissected("gtx980");
    assert_true(fabs(pattern_cycles(fermi, "l1", 2) - pattern_cycles(fermi, "l1", 1) - 288) < 1);
    assert_true(fabs(pattern_cycles(fermi, "l2", 2) - pattern_cycles(fermi, "l2", 1) - 27) < 1);
    assert_string_equal(fth_gpu_text(fermi, "l1", "addressing"), "physical");
    assert_string_equal(fth_gpu_text(maxwell, "l1", "addressing"), "virtual");
    assert_true(fth_gpu_number(maxwell, "memory", "page_table_bytes", 0) ==
                (double)active_page_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_match_table_5),
        cmocka_unit_test(description_has_the_way_weights_of_fermi),
        cmocka_unit_test(descriptions_have_the_size_of_active_pages),
        cmocka_unit_test(dissections_match_table_5),
        cmocka_unit_test(tlb_misses_match_figure_8),
        cmocka_unit_test(way_shares_match_figure_11),
        cmocka_unit_test(latency_patterns_match_figure_14),
    };
    return cmocka_run_group_tests(tests, dissect_all, destroy_all);
}
