/* The papers on the structure of caches: the descriptions of the GPUs that they took apart say what
 * they found, and fth_dissect finds it on the simulated ones, each of which it takes apart once. */
#include "closure/discovered.h"
#include "papers/structures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The GPU of a description that comes with fathom. */
static struct fth_gpu *described(const char *name)
{
    char path[300];
    struct fth_gpu *gpu = NULL;
    snprintf(path, sizeof path, "%s/data/gpus/%s.json", FTH_SOURCE_ROOT, name);
    assert_int_equal(fth_gpu_read_file(path, NULL, &gpu, NULL), FTH_OK);
    return gpu;
}

static int differs(const struct structure *should, const char *what, double is, double expected)
{
    if (is == expected)
        return 0;
    print_message("# %s %s: %s is %.10g, not %.10g\n", should->gpu, should->element, what, is,
                  expected);
    return 1;
}

static int check_ways(const struct structure *should, const struct fth_gpu *gpu)
{
    if (should->first_ways == 0)
        return differs(should, "ways", fth_gpu_number(gpu, should->element, "ways", NAN),
                       should->ways);
    const struct fth_attribute *ways = fth_gpu_attribute(gpu, should->element, "set_ways");
    int wrong = differs(should, "number of sets", ways ? (double)ways->count : 0, should->sets);
    for (size_t i = 0; ways && !wrong && i < ways->count; i++)
        wrong += differs(should, "ways of a set", ways->numbers[i],
                         i ? should->ways : should->first_ways);
    return wrong;
}

/* LRU, or anything but that; where no other policy is known either, that must be said. */
static int check_policy(const struct structure *should, const struct fth_gpu *gpu)
{
    const struct fth_attribute *policy = fth_gpu_attribute(gpu, should->element, "policy");
    const char *unknown = fth_gpu_unknown(gpu, should->element, "policy");
    bool lru = policy && strcmp(policy->text, "lru") == 0;
    bool other = policy ? !lru : unknown && strstr(unknown, "not LRU");
    return differs(should, should->lru ? "LRU" : "not LRU", should->lru ? lru : other, 1);
}

static int check_index(const struct structure *should, const struct fth_gpu *gpu, bool found)
{
    const struct fth_attribute *index = fth_gpu_attribute(gpu, should->element, "index");
    /* What nobody reported is something on a simulated GPU all the same. */
    if (!should->index)
        return found ? 0 : differs(should, "an index", index != NULL, 0);
    return differs(should, should->index, index && strcmp(index->text, should->index) == 0, 1);
}

static int check_structure(const struct structure *should, const struct fth_gpu *gpu, bool found)
{
    const bool tlb = strncmp(should->element, "tlb", 3) == 0;
    const char *bytes = tlb ? "reach_bytes" : "size_bytes";
    const char *line = tlb ? "page_bytes" : "line_bytes";
    int wrong = differs(should, bytes, fth_gpu_number(gpu, should->element, bytes, NAN),
                        (double)should->bytes);
    wrong += differs(should, line, fth_gpu_number(gpu, should->element, line, NAN),
                     (double)should->line_bytes);
    wrong +=
        differs(should, "sets", fth_gpu_number(gpu, should->element, "sets", NAN), should->sets);
    wrong += check_ways(should, gpu);
    wrong += check_policy(should, gpu);
    return wrong + check_index(should, gpu, found);
}

static void table_5_is_described(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(structures); i++) {
        struct fth_gpu *gpu = described(structures[i].gpu);
        wrong += check_structure(&structures[i], gpu, false);
        fth_gpu_destroy(gpu);
    }
    assert_int_equal(wrong, 0);
}

static void fermi_replaces_the_second_way(void **state)
{
    (void)state;
    struct fth_gpu *gpu = described("gtx560ti");
    const struct fth_attribute *weights = fth_gpu_attribute(gpu, "l1", "way_weights");
    double sum = 0;
    assert_true(weights && weights->count == FTH_COUNT(fermi_way_share));
    for (size_t i = 0; i < weights->count; i++)
        sum += weights->numbers[i];
    for (size_t i = 0; i < weights->count; i++)
        assert_true(fabs(weights->numbers[i] / sum - fermi_way_share[i]) < 1e-9);
    fth_gpu_destroy(gpu);
}

/* Those with a pattern P6 have page entries for so much memory at a time; Fermi has none. */
static void page_tables_are_switched(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(spectra); i++) {
        struct fth_gpu *gpu = described(spectra[i].gpu);
        double reach = fth_gpu_number(gpu, "memory", "page_table_bytes", 0);
        assert_true(reach == (spectra[i].patterns & P6 ? (double)active_page_bytes : 0));
        fth_gpu_destroy(gpu);
    }
}

/* ---- found again ---- */

static struct {
    const char *name;
    const char *only; /* what the papers took apart */
    struct fth_gpu *gpu;
} cards[] = {
    {"gtx560ti", "l1,texture,tlb_l1,tlb_l2", NULL},
    {"gtx780", "texture,readonly,tlb_l1,tlb_l2", NULL},
    {"gtx980", "l1,texture,readonly,tlb_l1,tlb_l2", NULL},
    {"p100", "texture,readonly", NULL},
};

static int dissect_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cards); i++) {
        char id[64];
        struct fth_device *device = NULL;
        const struct fth_dissect_options options = {.only = cards[i].only};
        snprintf(id, sizeof id, "sim:%s", cards[i].name);
        enum fth_status status = fth_device_open(id, NULL, &device, NULL);
        if (status == FTH_OK)
            status = fth_dissect(device, &options, &cards[i].gpu, NULL);
        fth_device_close(device);
        if (status != FTH_OK)
            return -1;
    }
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cards); i++)
        fth_gpu_destroy(cards[i].gpu);
    return 0;
}

static const struct fth_gpu *found_on(const char *name)
{
    for (size_t i = 0; i < FTH_COUNT(cards); i++)
        if (strcmp(cards[i].name, name) == 0)
            return cards[i].gpu;
    fail_msg("%s was not dissected", name);
    return NULL;
}

static void table_5_is_found(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(structures); i++)
        wrong += check_structure(&structures[i], found_on(structures[i].gpu), true);
    assert_int_equal(wrong, 0);
}

static int compare_down(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Figure 8. A page too many makes all pages of a set miss, which are its entries and one more.
 * Which set overflows first is a matter of where the array begins; on their card it is the large
 * one. The page that the samples go to is at hand whenever it is timed, so that one step may be
 * lower by one. */
static void check_staircase(const struct fth_gpu *gpu)
{
    const struct fth_attribute *pages = fth_gpu_attribute(gpu, "tlb_l2", "overflow_pages");
    const struct fth_attribute *missed = fth_gpu_attribute(gpu, "tlb_l2", "overflow_missed");
    double steps[FTH_COUNT(tlb_staircase)] = {0};
    size_t count = 0;
    assert_true(pages && missed);
    for (size_t i = 1; i < pages->count; i++) {
        assert_true(pages->numbers[i] == pages->numbers[i - 1] + 1);
        if (2 * pages->numbers[i] <= tlb_staircase[0].mib)
            assert_true(missed->numbers[i] == 0);
        else
            steps[count++] = missed->numbers[i] - missed->numbers[i - 1];
        assert_true(count < FTH_COUNT(steps));
    }
    assert_int_equal(count, FTH_COUNT(tlb_staircase) - 1);
    qsort(steps, count, sizeof *steps, compare_down);
    double entries = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        entries += steps[i] - 1;
        if (entries + 1 == tlb_staircase[i + 1].missed)
            off = 1;
        assert_true(entries + off == tlb_staircase[i + 1].missed);
    }
}

static void figure_8(void **state)
{
    (void)state;
    check_staircase(found_on("gtx560ti"));
    check_staircase(found_on("gtx780"));
    check_staircase(found_on("gtx980"));
}

/* Figure 11 and Section 4.5. */
static void figure_11(void **state)
{
    (void)state;
    const struct fth_attribute *shares =
        fth_gpu_attribute(found_on("gtx560ti"), "l1", "way_weights");
    assert_true(shares && shares->count == FTH_COUNT(fermi_way_share));
    for (size_t i = 0; i < shares->count; i++)
        assert_true(fabs(shares->numbers[i] - fermi_way_share[i]) < 0.02);
}

/* What a pattern takes; NAN: it is not there. */
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

/* Figure 14: the patterns that there are, each slower than the one before; what the first TLB costs
 * on the GTX 560 Ti; and that the GTX 980's L1 is asked before any TLB. */
static void figure_14(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(spectra); i++) {
        const struct fth_gpu *gpu = found_on(spectra[i].gpu);
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
    const struct fth_gpu *fermi = found_on("gtx560ti"), *maxwell = found_on("gtx980");
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
        cmocka_unit_test(table_5_is_described),
        cmocka_unit_test(fermi_replaces_the_second_way),
        cmocka_unit_test(page_tables_are_switched),
        cmocka_unit_test(table_5_is_found),
        cmocka_unit_test(figure_8),
        cmocka_unit_test(figure_11),
        cmocka_unit_test(figure_14),
    };
    return cmocka_run_group_tests(tests, dissect_all, forget_all);
}
