/* Tests that each statistical function without memory fails with FTH_NO_MEMORY, and that it frees
 * what it has allocated until then (tests/leaks checks that). One allocation fails: the first one,
 * then the second one, and so on, until the function succeeds. */
#include "check.h"
#include "failing.h"
#include "stats/stats.h"

static const double values[] = {30, 31, 32, 30, 31, 32, 280, 281, 282, 280, 281, 282};
static const uint32_t cycles[] = {30, 31, 32, 30, 31, 32, 280, 281, 282, 280, 281, 282};
enum { COUNT = FTH_COUNT(values) };

static enum fth_status summarize(struct fth_error *error)
{
    struct fth_summary summary;
    return fth_summary_u32(cycles, COUNT, &summary, error);
}

static enum fth_status find_quantile(struct fth_error *error)
{
    double quantile;
    return fth_quantile_f64(values, COUNT, 0.5, &quantile, error);
}

static enum fth_status find_mean(struct fth_error *error)
{
    double mean;
    enum fth_status status = fth_core_mean_u32(cycles, COUNT, &mean, error);
    return status == FTH_OK ? fth_clean_mean_u32(cycles, COUNT, &mean, error) : status;
}

static enum fth_status find_plateaus(struct fth_error *error)
{
    struct fth_clusters clusters;
    return fth_cluster_u32(cycles, COUNT, NULL, &clusters, error);
}

static enum fth_status find_modes(struct fth_error *error)
{
    struct fth_clusters clusters;
    return fth_modes_u32(cycles, COUNT, 0.1, &clusters, error);
}

static enum fth_status find_changes(struct fth_error *error)
{
    struct fth_changes changes = {NULL, 0};
    double penalty;
    enum fth_status status = fth_change_penalty(values, COUNT, 1, &penalty, error);
    if (status == FTH_OK)
        status = fth_changes_find(values, COUNT, 2, penalty, &changes, error);
    if (status == FTH_OK)
        assert_int_equal(changes.count, 1);
    fth_changes_fini(&changes);
    return status;
}

static enum fth_status group_vectors(struct fth_error *error)
{
    struct fth_vector_groups groups;
    enum fth_status status = fth_vectors_group(values, COUNT / 2, 2, 50, 4, &groups, error);
    if (status == FTH_OK) {
        assert_int_equal(groups.count, 2);
        fth_vector_groups_fini(&groups);
    }
    return status;
}

static enum fth_status compare_samples(struct fth_error *error)
{
    struct fth_ks ks;
    return fth_ks_test(values, 6, values + 6, 6, &ks, error);
}

static enum fth_status bootstrap(struct fth_error *error)
{
    struct fth_interval interval;
    return fth_bootstrap_interval(values, COUNT, 0.9, 10, 1, &interval, error);
}

/* 40 classes of 40 features: more memory than one block of an arena has. */
static enum fth_status fit_classes(struct fth_error *error)
{
    static double examples[40][40];
    size_t labels[40];
    for (size_t i = 0; i < 40; i++)
        labels[i] = i;
    struct fth_nearest *nearest = NULL;
    enum fth_status status =
        fth_nearest_fit(examples[0], labels, 40, 40, NULL, 40, &nearest, error);
    assert_int_equal(nearest != NULL, status == FTH_OK);
    fth_nearest_destroy(nearest);
    return status;
}

/* Each function, and the number of allocations that it makes at least. */
static void every_allocation_is_needed(void **state)
{
    (void)state;
    static const struct {
        enum fth_status (*function)(struct fth_error *error);
        size_t allocations;
    } rows[] = {{summarize, 1},   {find_quantile, 1}, {find_mean, 2},       {find_plateaus, 2},
                {find_modes, 2},  {find_changes, 4},  {compare_samples, 4}, {bootstrap, 2},
                {fit_classes, 4}, {group_vectors, 3}};
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        size_t number = 0;
        for (;;) {
            struct fth_error error = NO_ERROR;
            fail_from(++number, false);
            const enum fth_status status = rows[row].function(&error);
            if (!has_failed()) {
                assert_int_equal(status, FTH_OK);
                break;
            }
            if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0])
                fail_msg("function %zu, allocation %zu: status %d", row, number, (int)status);
        }
        assert_in_range(number, rows[row].allocations + 1, 100);
    }
    fail_from(0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_is_needed),
    };
    return cmocka_run_group_tests_name("stats-no-memory", tests, NULL, NULL);
}
