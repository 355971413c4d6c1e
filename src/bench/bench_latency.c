/* The average latency of a load by footprint, from 1 KiB to nearly all of the memory, in memory
 * order with several strides and in random order, through the L1 and past it.
 *
 *   few hops       The chain is walked, then timed: loads hit in every cache that is large enough.
 *   many hops      The whole footprint is touched, then some hops are timed: in memory order the
 *                  first ones, which were touched longest ago; in random order some from the whole
 *                  footprint.
 *   far beyond L2  The same hops are timed after a flush of the L2.
 *
 * OpenCL devices execute only walks and timed passes. There, whole footprints are walked and then
 * timed, up to a maximum. The random order is pseudo-random (a seed), because a CPU prefetches
 * regular steps, and a point is the fastest pass, because other programs use a CPU as well.
 *
 * A second table compares shared memory with bank conflicts against the L2, with the same threads
 * and strides (Fig. 5 of Qiu, Jo and Goswami, "Microbenchmarking NVIDIA GPUs"). */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINE = 128,
    MAX_HOPS = 8192, /* timed per point; this and the numbers below are heuristic */
    QUICK_MAX_HOPS = 2048,
    FEW_HOPS = 1024, /* up to this number of hops, FEW_PASSES passes are timed */
    FEW_PASSES = 3,
    WARM_PASSES = 2,
    RANDOM = 0, /* as a stride: random order */
    POINTS_PER_OCTAVE = 4,
    QUICK_POINTS_PER_OCTAVE = 2,
    MAX_FOOTPRINTS = 200,
    OVERHEAD_HOPS = 64, /* a multiple of the loads that the kernel unrolls */
    OVERHEAD_PASSES = 15,
    WORD = 8,
    /* OpenCL devices: the distance of elements in random order, at most the line of all known
     * caches; the seed; timed passes, and their number for more than OPENCL_FEW_HOPS hops */
    OPENCL_LINE = 64,
    OPENCL_SEED = 1,
    OPENCL_FEW_HOPS = 1 << 16,
    OPENCL_PASSES = 9,
    OPENCL_FEW_PASSES = 3,
    OPENCL_MAX_HOPS = 1 << 21 /* a pass of a GPU takes fewer than 2^32 cycles */
};
/* On GPUs, a hop in memory takes about 0.5 us, and long passes are hardly disturbed. There, chains
 * of more than OPENCL_FEW_HOPS hops have one timed pass, those of OPENCL_MAX_HOPS hops no walk
 * before it, because they leave nothing in the caches, and the curves have fewer points from these
 * footprints on: 2 and 1 per octave. */
static const double opencl_sparse_bytes = 4 << 20, opencl_sparser_bytes = 128 << 20;
/* The largest footprints on OpenCL devices: several times the caches of most CPUs, and those of all
 * known GPUs. Chosen so that a curve takes less than a minute. */
static const double opencl_cpu_bytes = 256 << 20, opencl_gpu_bytes = 1 << 30;
static const uint64_t min_footprint_bytes = 1024;
/* Footprints of up to this many times the L2 are touched; for larger ones the L2 is flushed. */
static const double max_touched_l2s = 4, quick_max_touched_l2s = 2;
/* The largest footprint of the curves through the L1 on a simulated GPU: larger than any L1. */
static const double quick_l1_bytes = 1 << 20;
/* The fraction of the memory that is used; the rest is left for the driver and other programs. */
static const double memory_fraction = 0.9;

static const struct curve {
    const char *name;
    enum fth_path path;
    uint64_t stride_bytes;
    bool drawn; /* as a curve in text output; the others are only listed as points */
} curves[] = {
    {"L1, stride 128", FTH_PATH_CA, 128, true},
    {"L1, random", FTH_PATH_CA, RANDOM, true},
    {"past L1, stride 128", FTH_PATH_CG, 128, true},
    {"past L1, random", FTH_PATH_CG, RANDOM, true},
    {"L1, stride 4096", FTH_PATH_CA, 4096, false},
    {"past L1, stride 32", FTH_PATH_CG, 32, false},
    {"past L1, stride 4096", FTH_PATH_CG, 4096, false},
};
static const struct curve opencl_curves[] = {
    {"random", FTH_PATH_CA, RANDOM, true},
    {"stride 128", FTH_PATH_CA, 128, true},
    {"past the first cache, random", FTH_PATH_CG, RANDOM, true},
    {"stride 4096", FTH_PATH_CA, 4096, false},
};

static const struct fth_column columns[] = {
    {"curve", "Curve", FTH_COLUMN_TEXT},
    {"path", "Path", FTH_COLUMN_TEXT},
    {"stride_bytes", "Stride", FTH_COLUMN_BYTES}, /* NAN: random order */
    {"footprint_bytes", "Footprint", FTH_COLUMN_BYTES},
    {"latency_cycles", "Cycles", FTH_COLUMN_NUMBER},
    {"latency_ns", "ns", FTH_COLUMN_NUMBER},
    {"hops", "Hops", FTH_COLUMN_NUMBER},
};
static const struct fth_column conflict_columns[] = {
    {"threads", "Threads", FTH_COLUMN_NUMBER},      {"stride_words", "Stride", FTH_COLUMN_NUMBER},
    {"shared_cycles", "Shared", FTH_COLUMN_NUMBER}, {"l2_cycles", "L2", FTH_COLUMN_NUMBER},
    {"ratio", "Shared / L2", FTH_COLUMN_NUMBER},
};

/* ---- one point ---- */

/* Returns a step that visits all elements in scattered order: about the golden section of the
 * count, and coprime to it. */
static uint64_t random_step(uint64_t count)
{
    uint64_t step = (uint64_t)((double)count * 0.618) | 1;
    while (count > 2 && fth_gcd(step, count) != 1)
        step += 2;
    return count > 2 ? step % count : 1;
}

static uint64_t max_hops(const struct fth_bench_run *run)
{
    return run->quick ? QUICK_MAX_HOPS : MAX_HOPS;
}

/* Returns the chain to time: the whole footprint, or max_hops() hops of it. */
static struct fth_chain chain_of(const struct fth_bench_run *run, const struct curve *curve,
                                 uint64_t footprint_bytes)
{
    const uint64_t max = max_hops(run);
    uint64_t stride = curve->stride_bytes ? curve->stride_bytes : LINE;
    struct fth_chain chain = {.stride_bytes = stride, .count = footprint_bytes / stride};
    if (chain.count > max) {
        chain.count = max;
        /* The stride is an odd number of lines; otherwise all elements would map to few sets. */
        if (curve->stride_bytes == RANDOM)
            chain.stride_bytes = (footprint_bytes / max / LINE - 1) / 2 * 2 * LINE + LINE;
    }
    if (curve->stride_bytes == RANDOM)
        chain.step = random_step(chain.count);
    return chain;
}

/* Makes the request of a point on an OpenCL device. In a larger footprint, elements in random order
 * are an odd number of lines apart; otherwise all would map to few sets. */
static struct fth_request make_opencl_request(const struct fth_bench_run *run,
                                              const struct curve *curve, uint64_t footprint_bytes)
{
    const bool random = curve->stride_bytes == RANDOM;
    uint64_t stride = random ? OPENCL_LINE : curve->stride_bytes;
    if (!run->cpu && footprint_bytes / stride > OPENCL_MAX_HOPS)
        stride = (footprint_bytes / OPENCL_MAX_HOPS / OPENCL_LINE | 1) * OPENCL_LINE;
    const struct fth_chain chain = {.stride_bytes = stride,
                                    .count = footprint_bytes / stride,
                                    .seed = random ? OPENCL_SEED : 0};
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    if (run->cpu || chain.count < OPENCL_MAX_HOPS)
        fth_request_add(&request, FTH_STEP_WALK, curve->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, curve->path, chain,
                    chain.count <= OPENCL_FEW_HOPS ? OPENCL_PASSES
                    : run->cpu                     ? OPENCL_FEW_PASSES
                                                   : 1);
    return request;
}

static struct fth_request make_request(const struct fth_bench_run *run, const struct curve *curve,
                                       uint64_t footprint_bytes)
{
    if (run->opencl)
        return make_opencl_request(run, curve, footprint_bytes);
    const double l2 = fth_gpu_number(run->gpu, "l2", "size_bytes", 1 << 20);
    const struct fth_chain chain = chain_of(run, curve, footprint_bytes);
    const uint64_t stride = curve->stride_bytes ? curve->stride_bytes : LINE;
    struct fth_request request = fth_request_make(0);
    if (footprint_bytes / stride <= max_hops(run)) {
        fth_request_add(&request, FTH_STEP_WALK, curve->path, chain, WARM_PASSES);
    } else if ((double)footprint_bytes <=
               (run->quick ? quick_max_touched_l2s : max_touched_l2s) * l2) {
        const struct fth_chain all = {.stride_bytes = LINE, .count = footprint_bytes / LINE};
        fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, all, 1);
    } else {
        request.cold = true;
    }
    request.sm = 0; /* the same SM for all points, so that its distance to the L2 is the same */
    request.alone = !request.cold;
    fth_request_add(&request, FTH_STEP_TIME_PASS, curve->path, chain,
                    chain.count <= FEW_HOPS ? FEW_PASSES : 1);
    return request;
}

/* Measures the cycles that a timed pass takes in addition to its loads, with two chains that fit
 * into the innermost cache. The longer chain has twice as many loads, so the overhead is twice the
 * time of the shorter one minus the time of the longer one. */
static enum fth_status find_overhead(const struct fth_bench_run *run, enum fth_path path,
                                     double *cycles, struct fth_error *error)
{
    const struct curve curve = {NULL, path, LINE, false};
    struct fth_request requests[2];
    for (size_t i = 0; i < 2; i++) {
        requests[i] = make_request(run, &curve, ((uint64_t)OVERHEAD_HOPS << i) * LINE);
        requests[i].chase.steps[1].passes = OVERHEAD_PASSES;
    }
    struct fth_answers answers = {0};
    struct fth_summary less, more;
    FTH_TRY(fth_ask(&run->prober, requests, 2, &answers, error));
    enum fth_status status =
        fth_summary_u32(answers.items[0].cycles, answers.items[0].count, &less, error);
    if (status == FTH_OK)
        status = fth_summary_u32(answers.items[1].cycles, answers.items[1].count, &more, error);
    if (status == FTH_OK)
        *cycles = fmax(0, 2 * less.median - more.median);
    fth_answers_fini(&answers);
    return status;
}

/* ---- the curves ---- */

/* Chooses the footprints, from the largest to the smallest, so that memory is allocated only once.
 * Returns their number. */
static size_t choose_footprints(const struct fth_bench_run *run, uint64_t *footprints)
{
    const double opencl_max = run->cpu ? opencl_cpu_bytes : opencl_gpu_bytes;
    const double memory =
        fmin(fth_gpu_number(run->gpu, "memory", "size_bytes", 1 << 30) * memory_fraction,
             run->opencl ? opencl_max : INFINITY);
    const double l2 = run->opencl ? memory : fth_gpu_number(run->gpu, "l2", "size_bytes", 1 << 20);
    const int per_octave = run->quick ? QUICK_POINTS_PER_OCTAVE : POINTS_PER_OCTAVE;
    size_t count = 0;
    const double power = exp2(floor(log2(memory)));
    if (memory > power * 1.1)
        footprints[count++] = (uint64_t)memory / LINE * LINE;
    for (int i = (int)floor(log2(memory / (double)min_footprint_bytes)) * per_octave;
         i >= 0 && count < MAX_FOOTPRINTS; i--) {
        const double bytes = (double)min_footprint_bytes * exp2((double)i / per_octave);
        /* Far beyond the L2 only the TLBs change the latency, so fewer points suffice. */
        if (bytes > 8 * l2 && i % per_octave)
            continue;
        if (run->opencl && !run->cpu &&
            ((bytes > opencl_sparse_bytes && i % 2) ||
             (bytes > opencl_sparser_bytes && i % per_octave)))
            continue;
        /* On a simulated GPU large footprints are slow, so only some of them are measured. */
        if (run->quick &&
            ((bytes > quick_l1_bytes && i % per_octave) ||
             (bytes > 2 * l2 && count && (double)footprints[count - 1] < 256 * bytes)))
            continue;
        footprints[count++] = (uint64_t)bytes / LINE * LINE;
    }
    return count;
}

static enum fth_status note_point(const struct fth_bench_run *run, const struct curve *curve,
                                  uint64_t footprint_bytes, const struct fth_chain *chain,
                                  const struct fth_samples *samples, double overhead_cycles,
                                  struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_u32(samples->cycles, samples->count, &summary, error));
    const double pass = run->opencl ? summary.min : summary.median;
    const double cycles = (pass - overhead_cycles) / (double)chain->count;
    const struct fth_cell cells[] = {{.text = curve->name, .number = NAN},
                                     {.text = fth_path_name(curve->path), .number = NAN},
                                     {.number = curve->stride_bytes == RANDOM ? NAN
                                                : run->opencl ? (double)chain->stride_bytes
                                                              : (double)curve->stride_bytes},
                                     {.number = (double)footprint_bytes},
                                     {.number = round(10 * cycles) / 10},
                                     {.number = round(1e4 * cycles / samples->clock_mhz) / 10},
                                     {.number = (double)chain->count}};
    return fth_bench_add_row(run->bench, cells, error);
}

/* Measures one point of a curve and adds it. */
static enum fth_status trace_point(const struct fth_bench_run *run, const struct curve *curve,
                                   uint64_t footprint_bytes, double overhead_cycles,
                                   struct fth_error *error)
{
    const struct fth_request request = make_request(run, curve, footprint_bytes);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(&run->prober, &request, 1, &answers, error));
    enum fth_status status = note_point(run, curve, footprint_bytes,
                                        &request.chase.steps[request.chase.step_count - 1].chain,
                                        &answers.items[0], overhead_cycles, error);
    fth_answers_fini(&answers);
    return status;
}

/* Measures one curve. Footprints that are inconclusive or not supported are skipped; the reason of
 * the first one is reported. */
static enum fth_status trace_curve(const struct fth_bench_run *run, const struct curve *curve,
                                   const uint64_t *footprints, size_t count, double from, double to,
                                   struct fth_error *error)
{
    double overhead = 0;
    bool reported = false;
    enum fth_status found = find_overhead(run, curve->path, &overhead, error);
    if (found == FTH_UNSUPPORTED) /* such as a path that the device does not have */
        return fth_bench_keep_failure(run->bench, curve->name, found, error);
    if (found != FTH_OK)
        return found;
    for (size_t i = 0; i < count; i++) {
        if (curve->stride_bytes > footprints[i] / 2 ||
            (run->quick && curve->path == FTH_PATH_CA && (double)footprints[i] > quick_l1_bytes))
            continue;
        FTH_TRY(fth_bench_progress(run, curve->name, from + (to - from) * (double)i / (double)count,
                                   error));
        enum fth_status status = trace_point(run, curve, footprints[i], overhead, error);
        const bool skipped = status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED;
        if (status != FTH_OK && !skipped)
            return status;
        if (skipped && !reported)
            FTH_TRY(fth_bench_keep_failure(run->bench, curve->name, status, error));
        else if (skipped && error)
            *error = FTH_NO_ERROR;
        reported = reported || skipped;
    }
    return FTH_OK;
}

static enum fth_status trace_curves(const struct fth_bench_run *run, bool drawn,
                                    const uint64_t *footprints, size_t count,
                                    struct fth_error *error)
{
    FTH_TRY(fth_bench_add_series(run->bench, drawn ? "latency" : "latency.strides",
                                 drawn ? "Latency in cycles by footprint"
                                       : "Latency by footprint, other strides",
                                 columns, FTH_COUNT(columns), error));
    fth_bench_hide_table(run->bench);
    if (drawn)
        fth_bench_show_plot(run->bench, 3, 4, 0);
    const struct curve *all = run->opencl ? opencl_curves : curves;
    const size_t curve_count = run->opencl ? FTH_COUNT(opencl_curves) : FTH_COUNT(curves);
    const double part = 0.9 / (double)curve_count;
    for (size_t i = 0; i < curve_count; i++)
        if (all[i].drawn == drawn && !(run->quick && !drawn))
            FTH_TRY(trace_curve(run, &all[i], footprints, count, part * (double)i,
                                part * (double)(i + 1), error));
    if (!run->quick)
        return FTH_OK;
    return fth_bench_add_missing(run->bench,
                                 drawn ? "simulated GPU: through L1 only up to 1 MiB, and fewer "
                                         "footprints otherwise; use --thorough for all"
                                       : "simulated GPU: measured only with --thorough",
                                 error);
}

/* ---- shared memory with bank conflicts against L2 ---- */

/* Measures the cycles of one load. *cycles is NAN if the device does not support the request or the
 * result is inconclusive. */
static enum fth_status load_cycles(const struct fth_bench_run *run, enum fth_operation operation,
                                   uint32_t threads, uint32_t stride, double *cycles,
                                   struct fth_error *error)
{
    const struct fth_operate_plan plan = {.operate = {.operation = operation,
                                                      .chains = 1,
                                                      .threads = threads,
                                                      .sms = 1,
                                                      .passes = run->quick ? 1 : 3,
                                                      .stride_bytes = (uint64_t)stride * WORD},
                                          .rounds = 1,
                                          .more_rounds = 2,
                                          .carveout_percent = -1};
    struct fth_figure figure = {.value = NAN};
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_probe_operate(&run->prober, &plan, &figure, &fault);
    *cycles = status == FTH_OK ? figure.value : NAN;
    if (status == FTH_OK || status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK;
    return fth_error_move(error, &fault);
}

static enum fth_status compare_with_l2(const struct fth_bench_run *run, struct fth_error *error)
{
    static const uint32_t all_threads[] = {32, 256, 1024};
    const double max = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    FTH_TRY(fth_bench_add_series(
        run->bench, "latency.conflict",
        "Shared memory with conflicts against L2: cycles per 8-byte load, by threads and stride",
        conflict_columns, FTH_COUNT(conflict_columns), error));
    bool missing = false;
    double slowest = 0, fastest = INFINITY;
    for (size_t i = 0; i < FTH_COUNT(all_threads); i++) {
        FTH_TRY(fth_bench_progress(run, "shared memory against L2", 0.9 + 0.03 * (double)i, error));
        for (uint32_t stride = 1; stride <= 32 && all_threads[i] <= max; stride *= 2) {
            double shared = NAN, l2 = NAN;
            FTH_TRY(load_cycles(run, FTH_LOAD_SHARED_8, all_threads[i], stride, &shared, error));
            FTH_TRY(load_cycles(run, FTH_LOAD_L2, all_threads[i], stride, &l2, error));
            const struct fth_cell cells[] = {{.number = all_threads[i]},
                                             {.number = stride},
                                             {.number = round(10 * shared) / 10},
                                             {.number = round(10 * l2) / 10},
                                             {.number = round(100 * shared / l2) / 100}};
            missing = missing || isnan(shared);
            slowest = shared > slowest ? shared : slowest;
            fastest = l2 < fastest ? l2 : fastest;
            FTH_TRY(fth_bench_add_row(run->bench, cells, error));
        }
    }
    if (missing)
        FTH_TRY(fth_bench_add_missing(
            run->bench, "empty cells: they need more shared memory than a block can have", error));
    if (slowest > 0 && isfinite(fastest))
        FTH_TRY(fth_bench_add_figure(
            run->bench, "worst_shared_over_best_l2", round(100 * slowest / fastest) / 100, "",
            "slowest load from shared memory / fastest load from L2", error));
    return FTH_OK;
}

enum fth_status fth_bench_latency(const struct fth_bench_run *run, struct fth_error *error)
{
    uint64_t *footprints = calloc(MAX_FOOTPRINTS, sizeof *footprints);
    if (!footprints)
        return fth_no_memory(error, "measure", NULL);
    const size_t count = choose_footprints(run, footprints);
    enum fth_status status = trace_curves(run, true, footprints, count, error);
    if (status == FTH_OK)
        status = trace_curves(run, false, footprints, count, error);
    free(footprints);
    if (status == FTH_OK && run->opencl)
        return fth_bench_add_missing(run->bench,
                                     "shared memory with conflicts against L2: OpenCL devices do "
                                     "not execute these experiments",
                                     error);
    return status == FTH_OK ? compare_with_l2(run, error) : status;
}
