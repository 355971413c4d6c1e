/* Sampling of launches: which launches of a kernel are simulated, and the estimates for the others.
 */
#include "timed_setup.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE = 8, MAX_LAUNCHES = 128 };

/* Opens a trace of launches of one warp. Launch i reads 2 x reads[i] words. Every second one is in
 * the line of the one before if hits[i]. Otherwise, each is in a line of its own. */
static struct fth_trace *open_launches(const char *const *kernels, const unsigned *reads,
                                       const bool *hits, size_t count)
{
    enum { LINE = 40 };
    size_t size = 0, capacity = 1;
    for (size_t i = 0; i < count; i++)
        capacity += (2 * (size_t)reads[i] + 3) * LINE;
    char *tuples = malloc(capacity);
    assert_non_null(tuples);
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf(tuples + size, capacity - size, "# kernel %s\n# block 32 1 1\n",
                                 kernels[i]);
        for (unsigned k = 0; k < 2 * reads[i]; k++) {
            const unsigned line = hits[i] ? k / 2 : k;
            size +=
                (size_t)snprintf(tuples + size, capacity - size, "%u 0 0 R %u\n", k, line * 128);
        }
    }
    write_plain("launches", tuples, size);
    free(tuples);
    struct fth_trace *trace = NULL;
    assert_int_equal(fth_trace_obtain("launches", NULL, &trace, NULL), FTH_OK);
    return trace;
}

static struct fth_model_result *run(const struct fth_trace *trace, unsigned sample,
                                    const char *const *sets)
{
    struct fth_model_params *params = make_params(simple_gpu, sets);
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.sample = sample, .diagnose = true);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return result;
}

static const char *const none[] = {NULL};

/* Launches of one kernel that grow by the same number of reads each, and hit or not. */
struct launches {
    const char *kernels[MAX_LAUNCHES];
    unsigned reads[MAX_LAUNCHES];
    bool hits[MAX_LAUNCHES];
};

static void set_launches(struct launches *launches, unsigned growth)
{
    for (size_t i = 0; i < MAX_LAUNCHES; i++) {
        launches->kernels[i] = "grow";
        launches->reads[i] = 20 + growth * (unsigned)i;
        launches->hits[i] = true;
    }
}

static uint64_t misses(const struct fth_model_misses *causes)
{
    return causes->cold + causes->capacity + causes->conflict + causes->coherence + causes->sector;
}

/* Eight of 128 launches are simulated. The others are between them. */
static void similar_launches_are_interpolated(void **state)
{
    (void)state;
    struct launches launches;
    set_launches(&launches, 3);
    struct fth_trace *trace =
        open_launches(launches.kernels, launches.reads, launches.hits, MAX_LAUNCHES);
    struct fth_model_result *all = run(trace, 0, none), *some = run(trace, RATE, none);
    const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
    assert_int_equal(a->launches, b->launches);
    assert_true(b->simulated_warps > 0 && b->simulated_warps < a->simulated_warps / RATE);
    assert_true(fabs((double)b->warps[0] / (double)a->warps[0] - 1) < 0.001);
    assert_true(fabs((double)b->l1.hits[0] / (double)a->l1.hits[0] - 1) < 0.001);
    assert_true(fabs((double)b->dram_reads / (double)a->dram_reads - 1) < 0.001);
    assert_true(fabs(b->seconds / a->seconds - 1) < 0.01);
    assert_int_equal(misses(&b->l1_misses), b->l1.sectors[0] - b->l1.hits[0]);
    assert_int_equal(misses(&b->l2_misses), b->l2.sectors[0] - b->l2.hits[0]);
    size_t simulated = 0;
    for (size_t i = 1; i <= MAX_LAUNCHES; i++) {
        const struct fth_model_row *launch = fth_model_row(some, i);
        assert_int_equal(launch->launch, i - 1);
        simulated += launch->simulated_warps != 0;
        assert_true(launch->simulated_warps ? fth_model_sample_error(launch, 1) == 0
                                            : fth_model_sample_error(launch, 1) >= 0.0009);
    }
    assert_int_equal(simulated, MAX_LAUNCHES / 2 / RATE);
    /* What the threads need is not counted. */
    assert_int_equal(b->demand.requested_bytes[0], 0);
    assert_true(a->demand.requested_bytes[0] > 0);
    fth_model_result_destroy(some);
    fth_model_result_destroy(all);
    fth_trace_close(trace);
}

/* Every third launch misses where the others hit: few launches do not show how many there are. */
static void launches_that_differ_are_simulated(void **state)
{
    (void)state;
    struct launches launches;
    set_launches(&launches, 0);
    for (size_t i = 0; i < MAX_LAUNCHES; i++)
        launches.hits[i] = i % 3 != 0;
    struct fth_trace *trace =
        open_launches(launches.kernels, launches.reads, launches.hits, MAX_LAUNCHES);
    struct fth_model_result *all = run(trace, 0, none), *some = run(trace, RATE, none);
    const struct fth_model_row *a = fth_model_row(all, 0), *b = fth_model_row(some, 0);
    assert_int_equal(a->simulated_warps, b->simulated_warps);
    assert_int_equal(a->l1.hits[0], b->l1.hits[0]);
    assert_true(a->seconds == b->seconds);
    assert_true(fth_model_sample_error(b, 1) == 0);
    fth_model_result_destroy(some);
    fth_model_result_destroy(all);
    fth_trace_close(trace);
}

/* Three launches of each kernel are too few; and a warm L2 needs all launches. */
static void small_families_and_warm_launches_are_simulated(void **state)
{
    (void)state;
    struct launches launches;
    static const char *const warm[] = {"l2.cold", "0", NULL};
    set_launches(&launches, 1);
    const char *const kernels[] = {"a", "b", "a", "b", "a", "b"};
    struct fth_trace *few = open_launches(kernels, launches.reads, launches.hits, 6);
    struct fth_model_result *some = run(few, RATE, none);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fth_model_row(some, 5 * i)->simulated_warps,
                         fth_model_row(some, 5 * i)->warps[0]);
    fth_model_result_destroy(some);
    fth_trace_close(few);
    struct fth_trace *many = open_launches(launches.kernels, launches.reads, launches.hits, 64);
    some = run(many, RATE, warm);
    assert_int_equal(fth_model_row(some, 0)->simulated_warps, fth_model_row(some, 0)->warps[0]);
    fth_model_result_destroy(some);
    fth_trace_close(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similar_launches_are_interpolated),
        cmocka_unit_test(launches_that_differ_are_simulated),
        cmocka_unit_test(small_families_and_warm_launches_are_simulated),
    };
    return cmocka_run_group_tests_name("launch_families", tests, enter_folder, leave_folder);
}
