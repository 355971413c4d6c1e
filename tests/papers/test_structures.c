/* The papers on the structure of caches: the descriptions of the GPUs that they took apart say what
 * they found. (That it is found again on the simulated ones is for the dissection to show.) */
#include "closure/discovered.h"
#include "papers/structures.h"

#include <math.h>
#include <stdio.h>

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

static int check_index(const struct structure *should, const struct fth_gpu *gpu)
{
    const struct fth_attribute *index = fth_gpu_attribute(gpu, should->element, "index");
    if (!should->index)
        return differs(should, "an index", index != NULL, 0);
    return differs(should, should->index, index && strcmp(index->text, should->index) == 0, 1);
}

static void table_5(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(structures); i++) {
        const struct structure *should = &structures[i];
        const bool tlb = strncmp(should->element, "tlb", 3) == 0;
        struct fth_gpu *gpu = described(should->gpu);
        const char *bytes = tlb ? "reach_bytes" : "size_bytes";
        const char *line = tlb ? "page_bytes" : "line_bytes";
        wrong += differs(should, bytes, fth_gpu_number(gpu, should->element, bytes, NAN),
                         (double)should->bytes);
        wrong += differs(should, line, fth_gpu_number(gpu, should->element, line, NAN),
                         (double)should->line_bytes);
        wrong += differs(should, "sets", fth_gpu_number(gpu, should->element, "sets", NAN),
                         should->sets);
        wrong += check_ways(should, gpu);
        wrong += check_policy(should, gpu);
        wrong += check_index(should, gpu);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_5),
        cmocka_unit_test(fermi_replaces_the_second_way),
        cmocka_unit_test(page_tables_are_switched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
