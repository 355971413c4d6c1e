/* Measures bandwidth with streams of two lengths.
 *
 * The launch shape with the highest bandwidth is not known in advance, so several shapes are tried
 * and the best one is measured: a short stream and one eight times as long, alternately. The
 * bandwidth is the difference in bytes divided by the difference in time. The fixed costs of a
 * launch (blocks that start late, the first and the last latency) are the same in both and cancel
 * out. For long streams, the result is the same as that of STREAM (McCalpin 1995), which divides
 * all bytes by the whole time. For short streams, STREAM's result would be too low because of these
 * fixed costs.
 *
 * Streams over caches are timed by the kernel. Memory is measured with sweeps, which are timed by
 * the driver and whose results are checked (sweep_durations.c). In this file, "stream" means both.
 *
 * The streams must be long enough for the resolution of the timer and for the noise of the GPU. A
 * first measurement of the shapes with short streams gives the length that the timer requires. Then
 * the best shape is measured in rounds, each with streams four times as long, until the times of
 * identical streams agree. A round consists of one or more batches; a batch is a list of requests
 * that is sent to the device in one call. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <string.h>

static const char operation[] = "find bandwidth";

/* ---- pairs of streams ---- */

enum {
    PAIRS = 5, /* pairs of a short and a long stream per batch; odd, for the median. Chosen. */
    MAX_BATCHES = 3, /* maximum number of batches per round. Chosen to limit the time. */
    MAX_PAIRS = MAX_BATCHES * PAIRS, /* maximum number of pairs per round */
    MEMORY_PAIRS = 3, /* pairs per batch for memory: fewer, because a sweep also writes and checks
                       * the arrays, which takes time */
    LENGTH_RATIO = 8, /* length of the long stream in short streams. Chosen. */
    GROWTH = 4,       /* factor by which streams grow from round to round. Chosen. */
    MAX_ROUNDS = 5    /* Chosen to limit the time. */
};
/* The spread is half the interquartile range of the long times plus half that of the short times,
 * divided by the difference of the medians. A round with at most the target spread is the last one.
 * Chosen, not derived. */
static const double target_spread = 0.006, thorough_target_spread = 0.001;
/* Minimum difference between the times of a long and a short stream, in ticks of the timer. Each
 * time can be off by one tick at its start and at its end, so the error is below 0.1 %. */
static const double min_ticks = 5000;
/* A result with a larger spread is rejected. Chosen, not derived. */
static const double max_spread = 0.1;
/* A long stream agrees with the best one if its rate is at least this part of the best one's.
 * Chosen: on an idle H200, the median is at most 2 % below the best. */
static const double same_rate = 0.97;
/* A result is rejected if a smaller fraction of the long streams agrees with the best one. Chosen,
 * not derived. */
static const double min_agreement = 0.5;

/* ---- shapes ---- */

enum {
    TRIES = 2,           /* streams per shape when shapes are compared again with longer streams */
    MAX_COMPARISONS = 4, /* maximum number of batches that compare the shapes. Chosen. */
    MAX_SHAPES = 32      /* more than there are shapes in either list */
};
/* A later shape replaces the best one only if its rate is higher by this factor. Chosen, not
 * derived. */
static const double min_gain = 1.01;
/* The rate of a shape is certain if its two fastest streams differ by at most this factor. If they
 * differ by more, another program may have used the GPU, and the shapes are compared again.
 * Chosen, not derived. */
static const double max_ratio = 1.05;

/* ---- limits ---- */

/* A result may exceed the theoretical limit by this factor. It is assumed that the clocks are known
 * to about 2 %. */
static const double tolerance = 1.02;
enum {
    WARP_LANES = 32,
    WORD_BYTES = 4,         /* of a load or store of one lane per cycle */
    KEPLER_WORD_BYTES = 8,  /* the same for the shared memory of Kepler */
    TRANSFERS_PER_CLOCK = 2 /* of a memory bus, at double data rate */
};

/* ---- sizes ---- */

/* Bytes per SM of the first short streams. They take about ten times as long as their ramp-up,
 * which is a few latencies. Constant loads deliver fewer bytes per cycle, so their streams start
 * with fewer bytes. first_bytes also limits the arrays in caches and in shared memory, per SM. */
static const uint64_t first_bytes = 64 << 10, first_constant_bytes = 8 << 10;
/* Maximum bytes per SM of a stream over caches: about 1 ms for the L1 of an H200. */
static const uint64_t max_sm_bytes = 256 << 20;
/* Maximum bytes per array in memory, for all SMs together: about 1 ms on an H200. */
static const uint64_t max_memory_bytes = UINT64_C(4) << 30;
/* Sizes that are assumed if unknown: no supported GPU has less. */
static const double min_l1_bytes = 16384, min_constant_bytes = 1536, min_shared_bytes = 49152,
                    min_l2_bytes = 262144, min_memory_bytes = 1 << 30, min_threads_per_sm = 1024;
enum {
    L1_PART = 2,    /* an array is at most half of a cache of an SM, so that no set overflows */
    L2_PART = 4,    /* and a quarter of L2: two partitions each hold their own part of the array and
                     * copies of the other part */
    MEMORY_PART = 8 /* and an eighth of the memory. Chosen: a copy needs two arrays. */
};

/* The shapes that are tried for caches (sweep_durations.c has those for memory): blocks per SM,
 * threads per block, bytes per access (a vector), vectors that a thread has in flight, and hints to
 * L2, which are not used here. The shapes after the first DEFAULT_CACHE_SHAPES are tried only if
 * the measurement is thorough.
 *
 * In one iteration, the threads of an SM access blocks x threads x bytes x vectors (constants: 1/32
 * of this). The array of an SM must be at least this large. For small caches, the list includes
 * shapes that need only 16 or 8 KiB. Unless thorough, the shapes with accesses of 4 bytes are tried
 * only if fewer than ENOUGH_SHAPES of the shapes before them are possible. */
static const struct fth_stream_shape cache_shapes[] = {
    {1, 1024, 16, FTH_STREAM_UNROLL, false}, {2, 1024, 16, FTH_STREAM_UNROLL, false},
    {1, 512, 16, FTH_STREAM_UNROLL, false},  {1, 256, 16, FTH_STREAM_UNROLL, false},
    {1, 1024, 4, FTH_STREAM_UNROLL, false},  {2, 1024, 4, FTH_STREAM_UNROLL, false},
    {1, 512, 4, FTH_STREAM_UNROLL, false},   {2, 512, 16, FTH_STREAM_UNROLL, false},
    {4, 512, 16, FTH_STREAM_UNROLL, false},  {1, 1024, 8, FTH_STREAM_UNROLL, false},
    {1, 512, 8, FTH_STREAM_UNROLL, false}};
enum { ENOUGH_SHAPES = 3, DEFAULT_CACHE_SHAPES = 7 };

/* ---- requests ---- */

struct bandwidth_search {
    const struct fth_prober *prober;
    const struct fth_gpu *known;
    enum fth_bandwidth_target target;
    bool thorough;
    uint64_t sms;
    uint64_t capacity_bytes; /* space for the arrays: per SM, or in the whole L2; not for memory */
    uint64_t threads_per_sm; /* maximum that run at the same time */
    uint64_t sm_bytes;       /* bytes per SM that a short stream moves */
    uint64_t max_bytes;      /* maximum bytes per SM of any stream; of each array for memory */
    struct fth_stream_shape shapes[MAX_SHAPES];
    size_t shape_count;
    uint64_t tick_ns; /* resolution of the timer */
    size_t samples;   /* streams so far */
    /* Times of the short and of the long streams of this round, in ascending order. */
    double short_ns[MAX_PAIRS], long_ns[MAX_PAIRS];
    size_t pairs;
    bool uncertain_shape; /* other programs disturbed the comparison of the shapes */
};

static bool in_memory(const struct bandwidth_search *search)
{
    return fth_bandwidth_sources[search->target].place == FTH_IN_MEMORY;
}

/* Returns the bytes that all threads of an SM access in one iteration. With blocks_per_sm 0 (sweeps
 * only), the SM holds as many blocks as fit. All lanes of a warp load the same constant, so the
 * warp accesses one vector and not 32. */
static uint64_t unit_bytes(const struct bandwidth_search *search,
                           const struct fth_stream_shape *shape)
{
    const uint64_t threads_per_vector =
        fth_bandwidth_sources[search->target].path == FTH_PATH_CONSTANT ? WARP_LANES : 1;
    const uint64_t threads = shape->blocks_per_sm ? (uint64_t)shape->blocks_per_sm * shape->threads
                                                  : search->threads_per_sm;
    return threads / threads_per_vector * shape->vector_bytes * shape->unroll;
}

static uint64_t at_least_one(uint64_t number)
{
    return number ? number : 1;
}

static uint64_t round_up(uint64_t number, uint64_t unit)
{
    return (number + unit - 1) / unit * unit;
}

/* Returns a sweep over arrays in memory that are in no cache, with at least `sm_bytes` of each
 * array per SM. */
static struct fth_request make_sweep(const struct bandwidth_search *search,
                                     const struct fth_stream_shape *shape, uint64_t sm_bytes)
{
    static const enum fth_sweep_kind kinds[FTH_STREAM_KINDS] = {[FTH_STREAM_READ] = FTH_SWEEP_READ,
                                                                [FTH_STREAM_WRITE] =
                                                                    FTH_SWEEP_WRITE,
                                                                [FTH_STREAM_COPY] = FTH_SWEEP_COPY};
    const uint64_t bytes = round_up(sm_bytes, unit_bytes(search, shape)) * search->sms;
    struct fth_request request = fth_sweep_request(
        search->prober, kinds[fth_bandwidth_sources[search->target].kind], false, bytes, shape);
    request.cold = true;
    return request;
}

/* Returns a stream of this shape that moves about `sm_bytes` per SM. Every thread moves the same
 * number of bytes, so that none finishes before the others. */
static struct fth_request make_request(const struct bandwidth_search *search,
                                       const struct fth_stream_shape *shape, uint64_t sm_bytes)
{
    if (in_memory(search))
        return make_sweep(search, shape, sm_bytes);
    const uint64_t unit = unit_bytes(search, shape);
    struct fth_request request =
        fth_request_make(fth_bandwidth_sources[search->target].carveout_percent);
    request.family = FTH_FAMILY_STREAM;
    struct fth_stream *stream = &request.stream;
    *stream = (struct fth_stream){.kind = fth_bandwidth_sources[search->target].kind,
                                  .path = fth_bandwidth_sources[search->target].path,
                                  .shared_by_all =
                                      fth_bandwidth_sources[search->target].place != FTH_IN_SM,
                                  .blocks_per_sm = shape->blocks_per_sm,
                                  .threads = shape->threads,
                                  .vector_bytes = shape->vector_bytes,
                                  .cluster = fth_bandwidth_sources[search->target].cluster,
                                  .passes = 1};
    if (stream->cluster && search->sms % stream->cluster)
        stream->sms = (uint32_t)(search->sms - search->sms % stream->cluster);
    const bool in_l2 = fth_bandwidth_sources[search->target].place == FTH_IN_L2;
    /* Array bytes per SM: as much as there is space for, but at most first_bytes. (For L2,
     * find_sizes() has applied the same limit.) */
    const uint64_t sm_capacity = in_l2 ? search->capacity_bytes / search->sms
                                 : search->capacity_bytes < first_bytes ? search->capacity_bytes
                                                                        : first_bytes;
    const uint64_t iterations = at_least_one(sm_capacity / unit);
    stream->bytes =
        in_l2 ? iterations * unit * search->sms : iterations * unit / shape->blocks_per_sm;
    stream->passes = at_least_one(sm_bytes / (iterations * unit));
    return request;
}

/* Returns the bytes that a stream or sweep moves in total. */
static double moved_bytes(const struct bandwidth_search *search, const struct fth_request *request)
{
    const struct fth_stream *stream = &request->stream;
    if (in_memory(search))
        return (double)request->sweep.bytes * fth_sweep_arrays(request->sweep.kind);
    const uint64_t sms = stream->sms ? stream->sms : search->sms;
    double arrays = stream->shared_by_all ? 1 : (double)(sms * stream->blocks_per_sm);
    return (double)stream->bytes * (double)stream->passes * arrays *
           (stream->kind == FTH_STREAM_COPY ? 2 : 1);
}

/* Indices of the samples of a stream: its nanoseconds, the cycles of a block, and the resolution of
 * the timer in nanoseconds; and of a sweep: its nanoseconds and the number of wrong results
 * (device.h). All of them are in the array `cycles` of struct fth_samples, whatever their unit. */
enum { STREAM_NS = 0, STREAM_TICK = 2, SWEEP_NS = 0, SWEEP_WRONG = 1 };

/* Executes the requests and stores the nanoseconds of each. */
static enum fth_status ask(struct bandwidth_search *search, const struct fth_request *requests,
                           size_t count, double *ns, struct fth_bandwidth *bandwidth,
                           struct fth_error *error)
{
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        ns[i] = answers.items[i].cycles[in_memory(search) ? SWEEP_NS : STREAM_NS];
        if (!in_memory(search))
            search->tick_ns = answers.items[i].cycles[STREAM_TICK];
        else if (answers.items[i].cycles[SWEEP_WRONG] > 0)
            status = fth_fail(error, FTH_INCONCLUSIVE, operation, "memory",
                              "the results of the kernel are wrong, so its time does not count");
        search->samples++;
        bandwidth->clock_mhz = answers.items[i].clock_mhz;
    }
    fth_answers_fini(&answers);
    return status;
}

/* ---- decisions ---- */

/* The two fastest streams of a shape, in nanoseconds; INFINITY: none. */
struct fastest {
    double first, second;
};

static void add_time(struct fastest *fastest, double ns)
{
    if (ns < fastest->first) {
        fastest->second = fastest->first;
        fastest->first = ns;
    } else if (ns < fastest->second) {
        fastest->second = ns;
    }
}

/* Runs `tries` streams of each shape, and keeps the two fastest of each. Runs further streams, if
 * there are several tries, as long as the two fastest streams of some shape differ too much. */
static enum fth_status time_shapes(struct bandwidth_search *search, size_t tries, uint64_t sm_bytes,
                                   struct fth_bandwidth *bandwidth, struct fastest *fastest,
                                   struct fth_error *error)
{
    struct fth_request requests[MAX_SHAPES * TRIES] = {{0}};
    double ns[MAX_SHAPES * TRIES] = {0};
    const size_t count = search->shape_count;
    for (size_t i = 0; i < count * tries; i++)
        requests[i] = make_request(search, &search->shapes[i % count], sm_bytes);
    for (size_t i = 0; i < count; i++)
        fastest[i] = (struct fastest){INFINITY, INFINITY};
    for (int comparison = 0; comparison < MAX_COMPARISONS; comparison++) {
        FTH_TRY(ask(search, requests, count * tries, ns, bandwidth, error));
        for (size_t i = 0; i < count * tries; i++)
            add_time(&fastest[i % count], ns[i]);
        search->uncertain_shape = false;
        for (size_t i = 0; i < count && tries > 1; i++)
            if (fastest[i].second > max_ratio * fastest[i].first)
                search->uncertain_shape = true;
        if (!search->uncertain_shape)
            break;
    }
    return FTH_OK;
}

/* Finds the best shape. Runs `tries` streams of each shape; the rate of a shape is that of its
 * fastest stream. A later shape replaces an earlier one only if its rate is higher by the factor
 * min_gain. `bytes_per_ns` receives the rate of the best shape. */
static enum fth_status find_shape(struct bandwidth_search *search, size_t tries, uint64_t sm_bytes,
                                  struct fth_bandwidth *bandwidth, double *bytes_per_ns,
                                  struct fth_error *error)
{
    struct fastest fastest[MAX_SHAPES];
    *bytes_per_ns = 0;
    FTH_TRY(time_shapes(search, tries, sm_bytes, bandwidth, fastest, error));
    for (size_t i = 0; i < search->shape_count; i++) {
        const struct fth_request request = make_request(search, &search->shapes[i], sm_bytes);
        const double ns = fastest[i].first;
        const double rate = ns > 0 ? moved_bytes(search, &request) / ns : 0;
        if (i == 0 || rate > *bytes_per_ns * min_gain) {
            *bytes_per_ns = rate;
            bandwidth->shape = search->shapes[i];
        }
    }
    return FTH_OK;
}

/* Makes the streams longer, so that the times of a long and a short one differ by min_ticks.
 * Returns false if they are already long enough or cannot be longer. */
static bool lengthen(struct bandwidth_search *search, const struct fth_bandwidth *bandwidth,
                     double bytes_per_ns)
{
    const struct fth_request request = make_request(search, &bandwidth->shape, search->sm_bytes);
    /* Bytes of a short stream, all SMs together, and the factor by which it must grow. */
    const double wanted_bytes =
        bytes_per_ns * min_ticks * (double)search->tick_ns / (LENGTH_RATIO - 1);
    const double factor = ceil(wanted_bytes / moved_bytes(search, &request));
    const double max_factor =
        floor((double)search->max_bytes / LENGTH_RATIO / (double)search->sm_bytes);
    if (!(fmin(factor, max_factor) > 1))
        return false;
    search->sm_bytes *= (uint64_t)fmin(factor, max_factor);
    return true;
}

/* Returns half of the interquartile range of the times, which are in ascending order. */
static double half_quartile_range(const double *sorted, size_t count)
{
    return (sorted[count - 1 - count / 4] - sorted[count / 4]) / 2;
}

/* Measures further pairs of streams of the best shape. `more_bytes` receives the number of bytes by
 * which a long stream exceeds a short one. */
static enum fth_status ask_pairs(struct bandwidth_search *search, struct fth_bandwidth *bandwidth,
                                 double *more_bytes, struct fth_error *error)
{
    /* The first request is a warm-up: it fetches the instructions, and it replaces what another
     * shape left in the caches. */
    struct fth_request requests[1 + 2 * PAIRS];
    double ns[1 + 2 * PAIRS];
    const size_t pairs = in_memory(search) ? MEMORY_PAIRS : PAIRS;
    requests[0] = make_request(search, &bandwidth->shape, search->sm_bytes);
    for (size_t i = 1; i < 1 + 2 * pairs; i++) {
        requests[i] = requests[0];
        if (i % 2 == 0 && in_memory(search))
            requests[i] = make_request(search, &bandwidth->shape, LENGTH_RATIO * search->sm_bytes);
        else if (i % 2 == 0)
            requests[i].stream.passes *= LENGTH_RATIO;
    }
    FTH_TRY(ask(search, requests, 1 + 2 * pairs, ns, bandwidth, error));
    *more_bytes = moved_bytes(search, &requests[2]) - moved_bytes(search, &requests[1]);
    for (size_t i = 0; i < pairs; i++, search->pairs++) {
        search->short_ns[search->pairs] = ns[1 + 2 * i];
        search->long_ns[search->pairs] = ns[2 + 2 * i];
    }
    double scratch[MAX_PAIRS];
    fth_sort_f64(search->short_ns, scratch, search->pairs);
    fth_sort_f64(search->long_ns, scratch, search->pairs);
    return FTH_OK;
}

/* Returns the fraction of the long streams that agree with the fastest one. The times are
 * sorted. */
static double find_agreement(const struct bandwidth_search *search)
{
    const double short_ns = search->short_ns[search->pairs / 2];
    const double max_ns = (search->long_ns[0] - short_ns) / same_rate + short_ns;
    size_t agreeing = 0;
    while (agreeing < search->pairs && search->long_ns[agreeing] <= max_ns)
        agreeing++;
    return (double)agreeing / (double)search->pairs;
}

/* Measures one round: pairs of streams of the best shape. `spread` receives the relative spread of
 * the times; NAN if long streams took no longer than short ones. */
static enum fth_status measure(struct bandwidth_search *search, struct fth_bandwidth *bandwidth,
                               double *spread, struct fth_error *error)
{
    const size_t max_pairs = search->thorough    ? MAX_PAIRS
                             : in_memory(search) ? MAX_BATCHES * MEMORY_PAIRS
                                                 : PAIRS;
    /* Memory gets further pairs only if the first ones have not reached the target spread. A
     * thorough measurement stops early only if the spread is 0, as on a simulated GPU without
     * noise: further pairs would then add no information. */
    const double enough = in_memory(search) && !search->thorough ? target_spread : 0;
    search->pairs = 0;
    *spread = NAN;
    bandwidth->bytes_per_s = bandwidth->median_bytes_per_s = bandwidth->agreement = NAN;
    while (search->pairs < max_pairs && !(*spread <= enough)) {
        double more_bytes = 0;
        FTH_TRY(ask_pairs(search, bandwidth, &more_bytes, error));
        const size_t middle = search->pairs / 2;
        /* The bandwidth is that of the fastest long stream, the one that was disturbed least, as in
         * STREAM. The short stream is the median one. It need not be the fastest: its deviation is
         * small compared with the difference, which is as long as seven short streams. */
        const double median_short = search->short_ns[middle],
                     best = search->long_ns[0] - median_short,
                     median = search->long_ns[middle] - median_short;
        if (best <= 0 || median <= 0)
            continue;
        bandwidth->bytes_per_s = more_bytes / best * 1e9;
        bandwidth->median_bytes_per_s = more_bytes / median * 1e9;
        bandwidth->agreement = find_agreement(search);
        *spread = (half_quartile_range(search->long_ns, search->pairs) +
                   half_quartile_range(search->short_ns, search->pairs)) /
                  median;
        /* If the difference is too short for the timer, a spread above the target makes the caller
         * add a round with longer streams. lengthen() aims at min_ticks, but with an estimated
         * rate, so the difference can be shorter than that. Half of min_ticks is accepted. */
        if (median < min_ticks / 2 * (double)search->tick_ns)
            *spread = fmax(*spread, 2 * target_spread);
    }
    return FTH_OK;
}

double fth_memory_limit(const struct fth_gpu *known)
{
    return fth_gpu_number(known, "device", "memory_bus_bits", NAN) / 8 * TRANSFERS_PER_CLOCK *
           fth_gpu_number(known, "device", "memory_clock_mhz", NAN) * 1e6;
}

/* Returns the maximum possible bandwidth in bytes/s; NAN if unknown. An SM loads or stores at most
 * one word of 4 bytes per lane of a warp and cycle, whatever the level; only the words of the
 * shared memory of Kepler have 8 bytes. */
static double theoretical_limit(const struct bandwidth_search *search, double clock_mhz)
{
    const struct fth_gpu *known = search->known;
    if (in_memory(search))
        return fth_memory_limit(known);
    const char *capability = fth_gpu_text(known, "device", "compute_capability");
    const bool wide_words = capability && strncmp(capability, "3.", 2) == 0 &&
                            fth_bandwidth_sources[search->target].path == FTH_PATH_SHARED;
    if (!isfinite(clock_mhz))
        clock_mhz = fth_gpu_number(known, "device", "clock_mhz", NAN);
    return (double)WARP_LANES * (wide_words ? KEPLER_WORD_BYTES : WORD_BYTES) * clock_mhz * 1e6 *
           (double)search->sms;
}

/* Fails if the result varies too much or exceeds the theoretical limit. The spread is NAN if long
 * streams took no longer than short ones. */
static enum fth_status judge(const struct bandwidth_search *search,
                             const struct fth_bandwidth *bandwidth, double spread,
                             struct fth_error *error)
{
    const char *element = fth_bandwidth_sources[search->target].element;
    if (isnan(bandwidth->bytes_per_s) || isnan(spread) || spread > max_spread)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, element,
                        "the times of the streams vary too much");
    if (search->uncertain_shape || bandwidth->agreement < min_agreement)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, element,
                        "identical streams take different times; another program seems to use the "
                        "GPU");
    const double limit = theoretical_limit(search, bandwidth->clock_mhz);
    if (bandwidth->bytes_per_s > limit * tolerance)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, element,
                        "measured %.4g bytes/s, but the maximum is %.4g, given by %s",
                        bandwidth->bytes_per_s, limit,
                        in_memory(search) ? "the memory clock and bus width"
                                          : "the loads and stores that SMs can execute per cycle");
    return FTH_OK;
}

/* ---- the probe ---- */

/* Finds the space for the arrays, and the first and maximum length of streams. */
static void find_sizes(struct bandwidth_search *search)
{
    const struct fth_gpu *known = search->known;
    const char *element = fth_bandwidth_sources[search->target].element;
    double capacity = 0;
    search->sm_bytes = first_bytes;
    search->max_bytes = max_sm_bytes;
    /* Stores to L1 have no path of their own, but their arrays are those of loads through L1. */
    const bool in_l1 = fth_bandwidth_sources[search->target].place == FTH_IN_SM &&
                       fth_bandwidth_sources[search->target].path == FTH_PATH_CG;
    switch (in_l1 ? FTH_PATH_CA : fth_bandwidth_sources[search->target].path) {
    case FTH_PATH_CONSTANT:
        search->sm_bytes = first_constant_bytes;
        capacity = fth_gpu_number(known, element, "size_bytes", min_constant_bytes);
        break;
    case FTH_PATH_SHARED:
        capacity = fth_gpu_number(known, element, "max_block_bytes", min_shared_bytes);
        capacity /= fth_bandwidth_sources[search->target].kind == FTH_STREAM_COPY ? 2 : 1;
        break;
    case FTH_PATH_CA:
    case FTH_PATH_READONLY:
    case FTH_PATH_TEXTURE:
        /* But 16 KiB (min_l1_bytes) or the whole cache if half is less, because hardly any shape is
         * possible with a smaller array. */
        capacity = fth_gpu_number(known, element, "size_bytes", min_l1_bytes);
        capacity = fmax(capacity / L1_PART, fmin(capacity, min_l1_bytes));
        break;
    default:
        /* At most first_bytes per SM, which is enough to spread over the whole L2. */
        capacity = fth_gpu_number(known, "l2", "size_bytes", min_l2_bytes) / L2_PART;
        capacity /= fth_bandwidth_sources[search->target].kind == FTH_STREAM_COPY ? 2 : 1;
        capacity = fmin(capacity, (double)(first_bytes * search->sms));
        break;
    }
    search->capacity_bytes = (uint64_t)capacity;
    if (!in_memory(search))
        return;
    double bytes = fth_gpu_number(known, "memory", "size_bytes", min_memory_bytes) / MEMORY_PART;
    bytes = fmin(bytes, (double)max_memory_bytes);
    search->max_bytes = (uint64_t)bytes / search->sms;
}

/* Finds the resolution of the timer with a stream on one SM. Sweeps over memory are timed by the
 * driver's events and do not report it. Their resolution is assumed to be the same, because on an
 * H200 both timers advance by 32 ns. */
static enum fth_status find_tick(struct bandwidth_search *search, struct fth_error *error)
{
    enum { THREADS = 32, VECTOR = 16 };
    struct fth_answers answers = {0};
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_STREAM;
    request.stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                         .path = FTH_PATH_CG,
                                         .bytes = (uint64_t)THREADS * VECTOR * FTH_STREAM_UNROLL,
                                         .shared_by_all = true,
                                         .sms = 1,
                                         .blocks_per_sm = 1,
                                         .threads = THREADS,
                                         .vector_bytes = VECTOR,
                                         .passes = 1};
    FTH_TRY(fth_ask(search->prober, &request, 1, &answers, error));
    search->tick_ns = answers.items[0].cycles[STREAM_TICK];
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Finds out whether the GPU supports hints to L2 about which data to keep: tries the shortest sweep
 * with hints. */
static enum fth_status find_hints(const struct bandwidth_search *search, bool *hints,
                                  struct fth_error *error)
{
    static const struct fth_stream_shape hinted = {0, 256, 16, 1, true};
    struct fth_answers answers = {0};
    struct fth_error fault = FTH_NO_ERROR;
    const struct fth_request request = make_sweep(search, &hinted, 1);
    const enum fth_status status = fth_ask(search->prober, &request, 1, &answers, &fault);
    fth_answers_fini(&answers);
    *hints = status == FTH_OK;
    if (status == FTH_OK || status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK;
    return fth_error_move(error, &fault);
}

/* Keeps the shape that is best on H200s, for a quick measurement: the first one or, of sweeps that
 * write, the first one with a block per piece of the arrays. */
static void keep_one_shape(struct bandwidth_search *search)
{
    const bool reads = fth_bandwidth_sources[search->target].kind == FTH_STREAM_READ;
    size_t kept = 0;
    while (in_memory(search) && !reads && kept + 1 < search->shape_count &&
           search->shapes[kept].blocks_per_sm)
        kept++;
    search->shapes[0] = search->shapes[kept];
    search->shape_count = 1;
}

/* Selects the shapes of sweeps over memory that this GPU can run. */
static enum fth_status select_sweep_shapes(struct bandwidth_search *search, struct fth_error *error)
{
    size_t all, default_count;
    bool hints;
    const struct fth_stream_shape *list = fth_sweep_shapes(&all, &default_count);
    FTH_TRY(find_hints(search, &hints, error));
    for (size_t i = 0; i < (search->thorough ? all : default_count); i++) {
        struct fth_stream_shape shape = list[i];
        /* In the list, a shape with hints can be followed by the same shape without hints. If the
         * GPU supports hints, the latter is tried only if the measurement is thorough. */
        const bool again = i > 0 && hints && !search->thorough && list[i - 1].hinted &&
                           !shape.hinted && list[i - 1].threads == shape.threads;
        if (again || (shape.hinted && !hints) || shape.threads > search->threads_per_sm)
            continue;
        if ((uint64_t)shape.blocks_per_sm * shape.threads > search->threads_per_sm)
            shape.blocks_per_sm = (uint32_t)(search->threads_per_sm / shape.threads);
        search->shapes[search->shape_count++] = shape;
    }
    return FTH_OK;
}

/* Selects those of cache_shapes whose blocks all run at the same time and whose arrays fit. */
static void select_stream_shapes(struct bandwidth_search *search)
{
    const size_t count = search->thorough ? FTH_COUNT(cache_shapes) : DEFAULT_CACHE_SHAPES;
    for (size_t i = 0; i < count; i++) {
        const struct fth_stream_shape *shape = &cache_shapes[i];
        uint64_t unit = unit_bytes(search, shape);
        if (fth_bandwidth_sources[search->target].place == FTH_IN_L2)
            unit *= search->sms;
        const uint32_t cluster = fth_bandwidth_sources[search->target].cluster;
        if ((cluster && (shape->blocks_per_sm > 1 || search->sms < cluster)) ||
            (uint64_t)shape->threads * shape->blocks_per_sm > search->threads_per_sm ||
            unit > search->capacity_bytes ||
            (shape->vector_bytes == 4 && search->shape_count >= ENOUGH_SHAPES &&
             !search->thorough) ||
            !fth_kernels_has_stream(fth_bandwidth_sources[search->target].kind,
                                    fth_bandwidth_sources[search->target].path,
                                    shape->vector_bytes))
            continue;
        search->shapes[search->shape_count++] = *shape;
    }
}

/* Finds the best shape with short streams, and again with longer ones if the timer requires them.
 * For memory, the best shape shows only in long streams: the time of short ones depends mainly on
 * how soon the blocks start. One such stream per shape is sufficient, unless another program has
 * interrupted requests: then it may also slow down the best shape. */
static enum fth_status choose_shape(struct bandwidth_search *search,
                                    struct fth_bandwidth *bandwidth, struct fth_error *error)
{
    double bytes_per_ns = 0;
    if (in_memory(search))
        FTH_TRY(find_tick(search, error));
    FTH_TRY(find_shape(search, 1, search->sm_bytes, bandwidth, &bytes_per_ns, error));
    const bool lengthened = lengthen(search, bandwidth, bytes_per_ns);
    if (in_memory(search) && !search->prober->quick) {
        const size_t *interruptions = search->prober->interruptions;
        return find_shape(search, interruptions && *interruptions > 0 ? TRIES : 1,
                          LENGTH_RATIO * search->sm_bytes, bandwidth, &bytes_per_ns, error);
    }
    return lengthened && !search->prober->quick
               ? find_shape(search, TRIES, search->sm_bytes, bandwidth, &bytes_per_ns, error)
               : FTH_OK;
}

/* Measures the best shape in rounds, and keeps the round with the least spread. */
static enum fth_status measure_rounds(struct bandwidth_search *search,
                                      struct fth_bandwidth *bandwidth, double *spread,
                                      struct fth_error *error)
{
    const double target = search->thorough ? thorough_target_spread : target_spread;
    struct fth_bandwidth last = *bandwidth;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double last_spread = NAN;
        const enum fth_status status = measure(search, &last, &last_spread, error);
        if (round == 0 || isnan(*spread) || last_spread < *spread) {
            *spread = last_spread;
            *bandwidth = last;
        }
        if (status != FTH_OK || *spread <= target)
            return status;
        /* If the streams cannot grow, the same length is repeated: the disturbance may be over. */
        if (search->sm_bytes * GROWTH * LENGTH_RATIO <= search->max_bytes)
            search->sm_bytes *= GROWTH;
    }
    return FTH_OK;
}

enum fth_status fth_probe_bandwidth(const struct fth_prober *prober, const struct fth_gpu *known,
                                    enum fth_bandwidth_target target, bool thorough,
                                    struct fth_bandwidth *bandwidth, struct fth_error *error)
{
    struct bandwidth_search search = {
        .prober = prober,
        .known = known,
        .target = target,
        .thorough = thorough,
        .sms = at_least_one(prober->sms),
        .threads_per_sm =
            (uint64_t)fth_gpu_number(known, "device", "max_threads_per_sm", min_threads_per_sm)};
    *bandwidth = (struct fth_bandwidth){.clock_mhz = NAN};
    find_sizes(&search);
    if (in_memory(&search))
        FTH_TRY(select_sweep_shapes(&search, error));
    else
        select_stream_shapes(&search);
    if (prober->quick && search.shape_count)
        keep_one_shape(&search);
    if (search.shape_count == 0)
        return fth_fail(error, FTH_UNSUPPORTED, operation, fth_bandwidth_sources[target].element,
                        "no launch shape is possible on this GPU (space for arrays: %llu bytes)",
                        (unsigned long long)(in_memory(&search) ? search.max_bytes * search.sms
                                                                : search.capacity_bytes));
    double spread = NAN;
    enum fth_status status = choose_shape(&search, bandwidth, error);
    if (status == FTH_OK)
        status = measure_rounds(&search, bandwidth, &spread, error);
    bandwidth->samples = search.samples;
    return status == FTH_OK ? judge(&search, bandwidth, spread, error) : status;
}
