/* What the files of the bench `copies` share. */
#ifndef FTH_BENCH_COPIES_H
#define FTH_BENCH_COPIES_H

#include "bench/bench.h"

/* Passes of a latency and of a rate, and of both on a simulated GPU, which is exact. A sequence of
 * copies is compared with one that has FTH_COPIES_LENGTH_RATIO times as many copies. Chosen. */
enum {
    FTH_COPIES_PASSES = 41,
    FTH_COPIES_QUICK_PASSES = 3,
    FTH_COPIES_RATE_PASSES = 5,
    FTH_COPIES_LENGTH_RATIO = 3
};

/* The samples of a request, in cycles: the median, the range of 80 % of them, and the minimum. */
struct fth_copies_result {
    double median, low, high, min;
    size_t samples;
    double clock_mhz;
};

/* Returns a request for one copy of `bytes` bytes by one thread, without a span. */
struct fth_request fth_copies_request(enum fth_copies_kind kind, uint32_t bytes);
/* Executes a request with at most FTH_COPIES_PASSES passes. */
FTH_MUST_USE enum fth_status fth_copies_cycles(const struct fth_bench_run *run,
                                               const struct fth_request *request,
                                               struct fth_copies_result *result,
                                               struct fth_error *error);
/* The bytes per cycle of a block: from the fastest passes, and from the medians. */
struct fth_copies_rate {
    double best, median;
};
/* Measures a rate: the slope between the request and one with more copies. */
FTH_MUST_USE enum fth_status fth_copies_measure_rate(const struct fth_bench_run *run,
                                                     const struct fth_request *request,
                                                     struct fth_copies_rate *rate,
                                                     struct fth_error *error);
/* Rounds to tenths. */
double fth_copies_round(double number);

/* ---- bench_copies_cluster.c ---- */

/* The tables of copies within clusters, and of copies by threads. */
fth_bench_function fth_bench_cluster_copies, fth_bench_thread_copies;

#endif
