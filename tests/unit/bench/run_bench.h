/* Helpers for tests of benches: run one bench on one device, and find its series and figures. */
#ifndef FTH_TESTS_RUN_BENCH_H
#define FTH_TESTS_RUN_BENCH_H

#include "check.h"

#include <math.h>
#include <string.h>

/* Runs one bench and returns its results. The caller destroys them. */
static inline struct fth_bench *run_bench(const char *device_id, const char *name, bool thorough)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_device *device = NULL;
    struct fth_bench *bench = NULL;
    const struct fth_bench_options options =
        FTH_BENCH_OPTIONS(.names = &name, .count = 1, .thorough = thorough);
    if (fth_device_open(device_id, NULL, &device, &error) != FTH_OK ||
        fth_bench_create(device, &options, &bench, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_device_close(device);
    return bench;
}

/* Returns the series with this name; fails the test if there is none. */
static inline const struct fth_bench_series *series_of(const struct fth_bench *bench,
                                                       const char *name)
{
    for (size_t i = 0; i < fth_bench_series_count(bench); i++)
        if (strcmp(fth_bench_series_at(bench, i)->name, name) == 0)
            return fth_bench_series_at(bench, i);
    fail_msg("no series %s", name);
    return NULL;
}

/* Returns the figure with this key; NAN if there is none. */
static inline double figure_of(const struct fth_bench_series *series, const char *key)
{
    for (size_t i = 0; i < series->figure_count; i++)
        if (strcmp(series->figures[i].key, key) == 0)
            return series->figures[i].value;
    return NAN;
}

#endif
