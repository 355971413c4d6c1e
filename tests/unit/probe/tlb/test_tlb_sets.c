/* Tests how the sets of a TLB are found (probe/tlb/tlb_sets.c), on simulated GPUs with one level.
 */
#include "check.h"
#include "folder.h"
#include "probe/tlb/probe_tlb.h"

#include <stdio.h>

enum { PAGE = 2 << 20 };

/* Writes a GPU with a TLB that replaces the least recently used page, and opens it. */
static struct fth_device *open_tlb(const char *path, int entries, int ways)
{
    char text[500], id[64];
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    const int size =
        snprintf(text, sizeof text,
                 "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 2}, "
                 "\"elements\": {\"tlb_l1\": {\"scope\": \"gpu\", \"entries\": %d, \"ways\": %d, "
                 "\"policy\": \"lru\", \"page_bytes\": %d, \"miss_penalty_cycles\": 40}, "
                 "\"l2\": {\"size_bytes\": 8388608}, \"memory\": {\"size_bytes\": 68719476736}}}",
                 entries, ways, PAGE);
    write_plain(path, text, (size_t)size);
    snprintf(id, sizeof id, "sim:%s", path);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

/* A device that becomes another one at a certain measurement. */
struct changing_device {
    struct fth_device *devices[2];
    size_t measurements, change;
    size_t alternates; /* the first measurements, in which it is each of them in turn */
};

static enum fth_status measure_changing(void *state, const struct fth_request *requests,
                                        size_t count, struct fth_samples *samples,
                                        struct fth_error *error)
{
    struct changing_device *changing = state;
    const size_t number = changing->measurements++;
    const struct fth_device *now =
        changing->devices[number < changing->alternates ? number % 2 : number >= changing->change];
    return now->ops->measure(now->state, requests, count, samples, error);
}

/* The miss curve is measured twice. If the second one differs, everything is measured again. Here,
 * the TLB has one set until it has four. The last measurement is that of the policy. */
static void a_changing_miss_curve_is_doubted(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_changing};
    struct changing_device changing = {
        .devices = {open_tlb("one.json", 16, 16), open_tlb("four.json", 16, 4)},
        .change = SIZE_MAX};
    struct fth_device device = {.ops = &ops, .state = &changing, .id = "changing"};
    const struct fth_prober prober = {.device = &device, .sms = 2};
    struct fth_tlbs tlbs = {0};
    struct fth_tlb_sets sets;
    assert_int_equal(fth_probe_tlbs(&prober, 1 << 30, 8 << 20, &tlbs, NULL), FTH_OK);
    assert_int_equal(tlbs.levels[0].entries, 16);
    const struct fth_tlb_sets_plan plan = {&tlbs, 0, 1 << 30, 8 << 20};
    changing.measurements = 0;
    assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
    fth_tlb_sets_fini(&sets);
    const size_t last = changing.measurements - 1;
    for (changing.change = last - 3; changing.change <= last; changing.change++) {
        changing.measurements = 0;
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
        assert_null(sets.doubt);
        assert_int_equal(sets.set_size_count, 1);
        assert_int_equal(sets.set_sizes[0].sets, changing.change < last ? 4 : 1);
        assert_int_equal(sets.set_sizes[0].ways, changing.change < last ? 4 : 16);
        fth_tlb_sets_fini(&sets);
    }
    /* Two attempts are not sufficient, but there are more of them. */
    changing.measurements = 0;
    changing.change = 0;
    changing.alternates = 3 * last;
    assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
    assert_null(sets.doubt);
    assert_int_equal(sets.set_sizes[0].sets, 4);
    fth_tlb_sets_fini(&sets);
    changing.alternates = SIZE_MAX;
    assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
    assert_contains(sets.doubt, "a second measurement shows other misses");
    assert_int_equal(sets.set_size_count, 0);
    assert_true(sets.evidence.repeats == 0);
    assert_true(sets.miss_curve_count > 0);
    fth_tlb_sets_fini(&sets);
    assert_null(sets.miss_curve);
    assert_null(sets.series.cycles);
    assert_null(sets.series.missed);
    assert_int_equal(sets.miss_curve_count, 0);
    assert_int_equal(sets.series.count, 0);
    fth_tlb_sets_fini(&sets); /* nothing is left to free */
    for (size_t i = 0; i < 2; i++)
        fth_device_close(changing.devices[i]);
}

/* If a TLB has many entries, the slope of the curve gives the ways: 2 misses per page with one way.
 * It needs some pages more than there are entries. */
static void the_slope_gives_the_ways_of_many_sets(void **state)
{
    (void)state;
    enum { ENTRIES = 2 * FTH_TLB_MANY_LOADS };
    static const struct {
        int ways;
        uint64_t pages; /* that fit into memory */
        const char *doubt;
    } rows[] = {{1, (uint64_t)2 * ENTRIES, NULL},
                {2, (uint64_t)2 * ENTRIES, NULL},
                {ENTRIES, (uint64_t)2 * ENTRIES, NULL}, /* all pages miss at once */
                {2, ENTRIES + 2, "too few sets overflow within the available memory"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_tlb_sets sets;
        struct fth_device *device = open_tlb("many.json", ENTRIES, rows[i].ways);
        const struct fth_prober prober = {.device = device, .sms = 2};
        const struct fth_tlbs tlbs = {.count = 1,
                                      .levels = {{.page_bytes = PAGE,
                                                  .entries = ENTRIES,
                                                  .penalty_cycles = 40,
                                                  .periodic = true,
                                                  .per_load = true}}};
        const struct fth_tlb_sets_plan plan = {
            &tlbs, 0, rows[i].pages * (PAGE + FTH_TLB_SKEW_BYTES), 8 << 20};
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
        assert_int_equal(sets.set_size_count, rows[i].doubt ? 0 : 1);
        if (rows[i].doubt) {
            assert_string_equal(sets.doubt, rows[i].doubt);
        } else {
            assert_null(sets.doubt);
            assert_int_equal(sets.set_sizes[0].sets, ENTRIES / rows[i].ways);
            assert_int_equal(sets.set_sizes[0].ways, rows[i].ways);
        }
        fth_tlb_sets_fini(&sets);
        fth_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changing_miss_curve_is_doubted),
        cmocka_unit_test(the_slope_gives_the_ways_of_many_sets),
    };
    return cmocka_run_group_tests_name("tlb_sets", tests, enter_folder, leave_folder);
}
