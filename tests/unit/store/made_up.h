/* Made-up fingerprints, and a store to enroll them in, for the tests of store/. */
#ifndef FTH_TESTS_MADE_UP_H
#define FTH_TESTS_MADE_UP_H

#include "folder.h"
#include "noise.h"
#include "store/store.h"

static const char path[] = "store.db";
static const struct fth_store_options creating = FTH_STORE_OPTIONS(.create = true);

/* ---- made-up fingerprints ---- */

enum { FEATURES = 21 };

/* A typical run with features of the current version. */
static const double typical_features[FEATURES] = {1,   32,  32, 80, 40, 28, 450, 600, 470, 480, 690,
                                                  700, 220, 1,  1,  1,  1,  1,   1,   1,   1};

/* Creates a fingerprint of `runs` runs. Each feature is `factor` times the typical value, with a
 * random relative error of at most `noise`. */
static inline struct fth_fingerprint *make_fingerprint(double factor, double noise, size_t runs,
                                                       size_t features)
{
    static struct fth_rng rng = {{1, 2, 3, 4}};
    struct fth_fingerprint *fingerprint = calloc(1, sizeof *fingerprint);
    assert_non_null(fingerprint);
    for (size_t i = 0; i < runs; i++) {
        struct fth_run *run = fth_runs_add(&fingerprint->runs);
        double *values = fth_arena_array(&fingerprint->runs.arena, features, sizeof *values);
        assert_true(run && values);
        for (size_t j = 0; j < features; j++)
            values[j] = typical_features[j % FEATURES] * factor *
                        (1 + noise * (2 * fth_rng_unit(&rng) - 1));
        *run = (struct fth_run){.device = "Made Up",
                                .driver = "1.0",
                                .time = 1700000000 + (int64_t)i,
                                .version = FTH_FEATURES_VERSION,
                                .features = values,
                                .count = features};
    }
    return fingerprint;
}

static inline struct fth_store *open_store(void)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_store_open(path, &creating, &store, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return store;
}

static inline enum fth_status enroll(struct fth_store *store, const char *name, double factor,
                                     size_t runs, struct fth_error *error)
{
    struct fth_fingerprint *fingerprint = make_fingerprint(factor, 0.002, runs, FEATURES);
    enum fth_status status = fth_store_enroll(store, name, fingerprint, NULL, error);
    fth_fingerprint_destroy(fingerprint);
    return status;
}

/* Number of runs with a name, or of all runs if the name is NULL. */
struct run_total {
    const char *name;
    size_t runs;
};

static inline void add_runs(void *user, const struct fth_enrolled *enrolled)
{
    struct run_total *run_total = user;
    if (!run_total->name || strcmp(run_total->name, enrolled->name) == 0)
        run_total->runs += enrolled->runs;
}

static inline size_t count_runs(struct fth_store *store, const char *name)
{
    struct run_total run_total = {name, 0};
    struct fth_error error = NO_ERROR;
    if (fth_store_list(store, false, add_runs, &run_total, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return run_total.runs;
}

static inline int remove_store(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

#define TEST(function) cmocka_unit_test_teardown(function, remove_store)

#endif
