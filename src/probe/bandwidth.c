/* Measures bandwidth with streams of two lengths.
 *
 * The launch shape with the highest bandwidth is not known in advance, so several shapes are tried
 * and the best one is measured: a short stream and one eight times as long, alternately. The
 * bandwidth is the difference in bytes divided by the difference in time. The fixed costs of a
 * launch (blocks that start late, the first and the last latency) are the same in both and cancel
 * out. With long streams the result is the bandwidth of STREAM (McCalpin 1995); with short ones,
 * the ramp-up does not distort it.
 *
 * The streams must be long enough for the resolution of the timer and for the noise of the GPU. A
 * first measurement of the shapes with short streams gives the length that the timer requires. Then
 * the streams are made four times as long until the results agree. */
#include "probe/probe.h"

#include <math.h>
#include <string.h>

enum {
    PAIRS = 5, /* pairs of a short and a long stream per batch; odd, for the median */
    MAX_PAIRS = 3 * PAIRS,
    MEMORY_PAIRS = 3, /* the same for memory, where each sweep also initializes and checks arrays */
    LONGER = 8,       /* length of the long stream in short streams */
    GROWTH = 4,       /* factor by which streams grow from round to round */
    MAX_ROUNDS = 5,   /* rounds until the results must agree */
    TRIES = 2,        /* streams per shape, once the streams are long enough for the timer */
    MAX_SHAPES = 32
};

/* The spread is the sum of half the interquartile ranges of the long and of the short times,
 * divided by the difference of the medians. Rounds are repeated until it is at most this.
 * Heuristic. */
static const double target_spread = 0.006, thorough_target_spread = 0.001;
/* Minimum difference between a long and a short stream, in ticks of the timer. Each time can be off
 * by one tick at its start and at its end. */
static const double min_ticks = 5000;
/* A result with a larger spread is rejected. Heuristic. */
static const double max_spread = 0.1;
/* A later shape replaces the best one only if its rate is higher by this factor. */
static const double min_gain = 1.01;
/* A result may exceed the theoretical limit by this factor: the clocks are known to about 2 %. */
static const double tolerance = 1.02;
/* Bytes per SM. The first short streams take about ten times as long as their ramp-up, which is a
 * few latencies; constants are slower and start with less. The longest streams take about 1 ms from
 * the L1 of a current GPU. */
static const uint64_t first_bytes = 64 << 10, first_constant_bytes = 8 << 10,
                      max_sm_bytes = 256 << 20;
/* Maximum bytes per array in memory, of all SMs: about 1 ms on a current GPU. */
static const uint64_t max_cold_bytes = UINT64_C(4) << 30;
/* Sizes that are assumed if unknown: no supported GPU has less. */
static const double min_l1_bytes = 16384, min_constant_bytes = 1536, min_shared_bytes = 49152,
                    min_l2_bytes = 262144, min_memory_bytes = 1 << 30, min_threads_per_sm = 1024;

/* Where the arrays are. */
enum place {
    IN_MEMORY, /* in no cache */
    IN_L2,     /* one array for all SMs, read past L1 */
    IN_SM      /* one array per block */
};

static const struct {
    const char *element, *attribute;
    enum place place;
    enum fth_stream_kind kind;
    enum fth_path path;
    int carveout_percent;
    uint32_t cluster;
} targets[FTH_BANDWIDTH_TARGETS] = {
    [FTH_BANDWIDTH_MEMORY_READ] = {"memory", "read_bytes_per_s", IN_MEMORY, FTH_STREAM_READ,
                                   FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_MEMORY_WRITE] = {"memory", "write_bytes_per_s", IN_MEMORY, FTH_STREAM_WRITE,
                                    FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_MEMORY_COPY] = {"memory", "copy_bytes_per_s", IN_MEMORY, FTH_STREAM_COPY,
                                   FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_L2_READ] = {"l2", "read_bytes_per_s", IN_L2, FTH_STREAM_READ, FTH_PATH_CG, -1,
                               0},
    [FTH_BANDWIDTH_L2_WRITE] = {"l2", "write_bytes_per_s", IN_L2, FTH_STREAM_WRITE, FTH_PATH_CG, -1,
                                0},
    [FTH_BANDWIDTH_L2_COPY] = {"l2", "copy_bytes_per_s", IN_L2, FTH_STREAM_COPY, FTH_PATH_CG, -1,
                               0},
    [FTH_BANDWIDTH_L1_READ] = {"l1", "read_bytes_per_s", IN_SM, FTH_STREAM_READ, FTH_PATH_CA, 0, 0},
    /* Stores have no choice of path: they go through L1 to L2. */
    [FTH_BANDWIDTH_L1_WRITE] = {"l1", "write_bytes_per_s", IN_SM, FTH_STREAM_WRITE, FTH_PATH_CG, 0,
                                0},
    [FTH_BANDWIDTH_READONLY_READ] = {"readonly", "read_bytes_per_s", IN_SM, FTH_STREAM_READ,
                                     FTH_PATH_READONLY, 0, 0},
    [FTH_BANDWIDTH_TEXTURE_READ] = {"texture", "read_bytes_per_s", IN_SM, FTH_STREAM_READ,
                                    FTH_PATH_TEXTURE, 0, 0},
    [FTH_BANDWIDTH_CONSTANT_READ] = {"constant_l1", "read_bytes_per_s", IN_SM, FTH_STREAM_READ,
                                     FTH_PATH_CONSTANT, -1, 0},
    [FTH_BANDWIDTH_SHARED_READ] = {"shared", "read_bytes_per_s", IN_SM, FTH_STREAM_READ,
                                   FTH_PATH_SHARED, 100, 0},
    [FTH_BANDWIDTH_SHARED_WRITE] = {"shared", "write_bytes_per_s", IN_SM, FTH_STREAM_WRITE,
                                    FTH_PATH_SHARED, 100, 0},
    [FTH_BANDWIDTH_SHARED_COPY] = {"shared", "copy_bytes_per_s", IN_SM, FTH_STREAM_COPY,
                                   FTH_PATH_SHARED, 100, 0},
    /* Larger clusters do not cover all SMs. */
    [FTH_BANDWIDTH_CLUSTER_READ] = {"cluster_shared", "read_bytes_per_s", IN_SM, FTH_STREAM_READ,
                                    FTH_PATH_SHARED, 100, 2},
    [FTH_BANDWIDTH_CLUSTER_WRITE] = {"cluster_shared", "write_bytes_per_s", IN_SM, FTH_STREAM_WRITE,
                                     FTH_PATH_SHARED, 100, 2},
};

/* The shapes that are tried for caches (sweep.c has those for memory). The shapes after the first
 * DEFAULT_CACHE_SHAPES are tried only if the measurement is thorough.
 *
 * Each thread accesses 4 vectors at a time; the list includes shapes whose arrays fit into 8 KiB.
 * Accesses of 4 bytes are tried only if fewer than ENOUGH_SHAPES others are possible. */
static const struct fth_stream_shape cache_shapes[] = {
    {1, 1024, 16, FTH_STREAM_UNROLL, false}, {2, 1024, 16, FTH_STREAM_UNROLL, false},
    {1, 512, 16, FTH_STREAM_UNROLL, false},  {1, 256, 16, FTH_STREAM_UNROLL, false},
    {1, 1024, 4, FTH_STREAM_UNROLL, false},  {2, 1024, 4, FTH_STREAM_UNROLL, false},
    {1, 512, 4, FTH_STREAM_UNROLL, false},   {2, 512, 16, FTH_STREAM_UNROLL, false},
    {4, 512, 16, FTH_STREAM_UNROLL, false},  {1, 1024, 8, FTH_STREAM_UNROLL, false},
    {1, 512, 8, FTH_STREAM_UNROLL, false}};
enum { ENOUGH_SHAPES = 3, DEFAULT_CACHE_SHAPES = 7 };

const char *fth_bandwidth_element(enum fth_bandwidth_target target)
{
    return targets[target].element;
}

const char *fth_bandwidth_attribute(enum fth_bandwidth_target target)
{
    return targets[target].attribute;
}

/* ---- requests ---- */

struct search {
    const struct fth_prober *prober;
    const struct fth_gpu *known;
    enum fth_bandwidth_target target;
    bool thorough;
    uint64_t sms;
    uint64_t capacity_bytes; /* space for the arrays: per SM, or of the whole L2 */
    uint64_t threads_per_sm; /* maximum that run at the same time */
    uint64_t sm_bytes;       /* bytes per SM that a short stream moves */
    uint64_t max_bytes;      /* maximum bytes per SM of any stream */
    struct fth_stream_shape shapes[MAX_SHAPES];
    size_t shape_count;
    uint64_t tick_ns; /* resolution of the timer */
    size_t samples;   /* streams so far */
    /* Times of the short and of the long streams in ns, in ascending order. */
    double shorter[MAX_PAIRS], longer[MAX_PAIRS];
    size_t pairs;
};

static bool in_memory(const struct search *search)
{
    return targets[search->target].place == IN_MEMORY;
}

/* Returns the bytes that all threads of an SM access in one iteration. */
static uint64_t unit_bytes(const struct search *search, const struct fth_stream_shape *shape)
{
    const uint64_t lanes = targets[search->target].path == FTH_PATH_CONSTANT ? 32 : 1;
    const uint64_t threads = shape->blocks_per_sm ? (uint64_t)shape->blocks_per_sm * shape->threads
                                                  : search->threads_per_sm;
    return threads / lanes * shape->vector_bytes * shape->unroll;
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
static struct fth_request make_sweep(const struct search *search,
                                     const struct fth_stream_shape *shape, uint64_t sm_bytes)
{
    static const enum fth_sweep_kind kinds[FTH_STREAM_KINDS] = {[FTH_STREAM_READ] = FTH_SWEEP_READ,
                                                                [FTH_STREAM_WRITE] =
                                                                    FTH_SWEEP_WRITE,
                                                                [FTH_STREAM_COPY] = FTH_SWEEP_COPY};
    const uint64_t bytes = round_up(sm_bytes, unit_bytes(search, shape)) * search->sms;
    struct fth_request request =
        fth_sweep_request(search->prober, kinds[targets[search->target].kind], false, bytes, shape);
    request.cold = true;
    return request;
}

/* Returns a stream of this shape that moves about `sm_bytes` per SM. Every thread moves the same
 * number of bytes, so that none finishes before the others. */
static struct fth_request make_request(const struct search *search,
                                       const struct fth_stream_shape *shape, uint64_t sm_bytes)
{
    if (in_memory(search))
        return make_sweep(search, shape, sm_bytes);
    const uint64_t unit = unit_bytes(search, shape);
    struct fth_request request = fth_request_make(targets[search->target].carveout_percent);
    request.family = FTH_FAMILY_STREAM;
    struct fth_stream *stream = &request.stream;
    *stream = (struct fth_stream){.kind = targets[search->target].kind,
                                  .path = targets[search->target].path,
                                  .shared_by_all = targets[search->target].place != IN_SM,
                                  .blocks_per_sm = shape->blocks_per_sm,
                                  .threads = shape->threads,
                                  .vector_bytes = shape->vector_bytes,
                                  .cluster = targets[search->target].cluster,
                                  .passes = 1};
    if (stream->cluster && search->sms % stream->cluster)
        stream->sms = (uint32_t)(search->sms - search->sms % stream->cluster);
    const bool in_l2 = targets[search->target].place == IN_L2;
    const uint64_t sm_capacity = in_l2 ? search->capacity_bytes / search->sms
                                 : search->capacity_bytes < first_bytes ? search->capacity_bytes
                                                                        : first_bytes;
    const uint64_t rounds = at_least_one(sm_capacity / unit);
    stream->bytes = in_l2 ? rounds * unit * search->sms : rounds * unit / shape->blocks_per_sm;
    stream->passes = at_least_one(sm_bytes / (rounds * unit));
    return request;
}

/* Returns the bytes that a stream or sweep moves in total. */
static double moved_bytes(const struct search *search, const struct fth_request *request)
{
    const struct fth_stream *stream = &request->stream;
    if (in_memory(search))
        return (double)request->sweep.bytes * fth_sweep_arrays(request->sweep.kind);
    const uint64_t sms = stream->sms ? stream->sms : search->sms;
    double arrays = stream->shared_by_all ? 1 : (double)(sms * stream->blocks_per_sm);
    return (double)stream->bytes * (double)stream->passes * arrays *
           (stream->kind == FTH_STREAM_COPY ? 2 : 1);
}

/* Executes the requests and stores the nanoseconds of each. */
static enum fth_status ask(struct search *search, const struct fth_request *requests, size_t count,
                           double *ns, struct fth_bandwidth *bandwidth, struct fth_error *error)
{
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        ns[i] = answers.items[i].cycles[0];
        if (!in_memory(search))
            search->tick_ns = answers.items[i].cycles[2];
        else if (answers.items[i].cycles[1] > 0)
            status = fth_fail(error, FTH_INCONCLUSIVE, "find bandwidth", "memory",
                              "the result of the sweep is wrong");
        search->samples++;
        bandwidth->clock_mhz = answers.items[i].clock_mhz;
    }
    fth_answers_fini(&answers);
    return status;
}

/* ---- decisions ---- */

/* Finds the shape with the highest rate, `bytes_per_ns`. */
static enum fth_status find_shape(struct search *search, size_t tries, uint64_t sm_bytes,
                                  struct fth_bandwidth *bandwidth, double *bytes_per_ns,
                                  struct fth_error *error)
{
    struct fth_request requests[MAX_SHAPES * TRIES] = {{0}};
    double ns[MAX_SHAPES * TRIES] = {0};
    const size_t count = search->shape_count;
    for (size_t i = 0; i < count * tries; i++)
        requests[i] = make_request(search, &search->shapes[i % count], sm_bytes);
    enum fth_status status = ask(search, requests, count * tries, ns, bandwidth, error);
    *bytes_per_ns = 0;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        double min = ns[i];
        for (size_t k = 1; k < tries; k++)
            min = fmin(min, ns[k * count + i]);
        double rate = min > 0 ? moved_bytes(search, &requests[i]) / min : 0;
        if (i == 0 || rate > *bytes_per_ns * min_gain) {
            *bytes_per_ns = rate;
            bandwidth->shape = search->shapes[i];
        }
    }
    return status;
}

/* Makes the streams longer, so that a long and a short one differ by min_ticks. Returns false if
 * they are already long enough or cannot be longer. */
static bool lengthen(struct search *search, const struct fth_bandwidth *bandwidth,
                     double bytes_per_ns)
{
    const struct fth_request request = make_request(search, &bandwidth->shape, search->sm_bytes);
    const double short_bytes = bytes_per_ns * min_ticks * (double)search->tick_ns / (LONGER - 1);
    const double factor = ceil(short_bytes / moved_bytes(search, &request));
    const double max = floor((double)search->max_bytes / LONGER / (double)search->sm_bytes);
    if (!(fmin(factor, max) > 1))
        return false;
    search->sm_bytes *= (uint64_t)fmin(factor, max);
    return true;
}

/* Returns half of the interquartile range of the times. */
static double scatter(const double *sorted, size_t count)
{
    return (sorted[count - 1 - count / 4] - sorted[count / 4]) / 2;
}

/* Measures further pairs of streams of the best shape; `more_bytes` receives the bytes that a long
 * stream moves more than a short one. */
static enum fth_status ask_pairs(struct search *search, struct fth_bandwidth *bandwidth,
                                 double *more_bytes, struct fth_error *error)
{
    /* The first request is a warm-up: it fetches the instructions, and another shape used the
     * caches before it. */
    struct fth_request requests[1 + 2 * PAIRS];
    double ns[1 + 2 * PAIRS];
    const size_t pairs = in_memory(search) ? MEMORY_PAIRS : PAIRS;
    requests[0] = make_request(search, &bandwidth->shape, search->sm_bytes);
    for (size_t i = 1; i < 1 + 2 * pairs; i++) {
        requests[i] = requests[0];
        if (i % 2 == 0 && in_memory(search))
            requests[i] = make_request(search, &bandwidth->shape, LONGER * search->sm_bytes);
        else if (i % 2 == 0)
            requests[i].stream.passes *= LONGER;
    }
    enum fth_status status = ask(search, requests, 1 + 2 * pairs, ns, bandwidth, error);
    if (status != FTH_OK)
        return status;
    *more_bytes = moved_bytes(search, &requests[2]) - moved_bytes(search, &requests[1]);
    for (size_t i = 0; i < pairs; i++, search->pairs++) {
        search->shorter[search->pairs] = ns[1 + 2 * i];
        search->longer[search->pairs] = ns[2 + 2 * i];
    }
    double scratch[MAX_PAIRS];
    fth_sort_f64(search->shorter, scratch, search->pairs);
    fth_sort_f64(search->longer, scratch, search->pairs);
    return FTH_OK;
}

/* Measures pairs of streams of the best shape. `spread` receives the relative spread of the times;
 * NAN if long streams took no longer than short ones. */
static enum fth_status measure(struct search *search, struct fth_bandwidth *bandwidth,
                               double *spread, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    const size_t max = search->thorough ? MAX_PAIRS : in_memory(search) ? 3 * MEMORY_PAIRS : PAIRS;
    const double enough = in_memory(search) && !search->thorough ? target_spread : 0;
    search->pairs = 0;
    *spread = NAN;
    bandwidth->bytes_per_s = bandwidth->median_bytes_per_s = NAN;
    /* If identical streams take equally long, further pairs add no information. */
    while (status == FTH_OK && search->pairs < max && !(*spread <= enough)) {
        double more_bytes = 0;
        status = ask_pairs(search, bandwidth, &more_bytes, error);
        if (status != FTH_OK)
            break;
        const size_t middle = search->pairs / 2;
        /* The fastest long stream is compared with the median short one. A deviation of the short
         * stream is small against the difference, which is as long as seven short streams. */
        const double median_short = search->shorter[middle],
                     best = search->longer[0] - median_short,
                     median = search->longer[middle] - median_short;
        if (best <= 0 || median <= 0)
            continue;
        bandwidth->bytes_per_s = more_bytes / best * 1e9;
        bandwidth->median_bytes_per_s = more_bytes / median * 1e9;
        *spread =
            (scatter(search->longer, search->pairs) + scatter(search->shorter, search->pairs)) /
            median;
        /* Half of the ticks are accepted, because the stream length was set from an estimated
         * rate. */
        if (median < min_ticks / 2 * (double)search->tick_ns)
            *spread = fmax(*spread, 2 * target_spread);
    }
    return status;
}

double fth_memory_limit(const struct fth_gpu *known)
{
    return fth_gpu_number(known, "device", "memory_bus_bits", NAN) / 8 * 2 *
           fth_gpu_number(known, "device", "memory_clock_mhz", NAN) * 1e6;
}

/* Returns the maximum possible bandwidth in bytes/s; NAN if unknown. An SM loads or stores at most
 * 32 words of 4 bytes per cycle from any level (8 bytes on Kepler, from shared memory). */
static double find_limit(const struct search *search, double clock_mhz)
{
    const struct fth_gpu *known = search->known;
    if (in_memory(search))
        return fth_memory_limit(known);
    const char *capability = fth_gpu_text(known, "device", "compute_capability");
    const bool kepler = capability && strncmp(capability, "3.", 2) == 0;
    if (!isfinite(clock_mhz))
        clock_mhz = fth_gpu_number(known, "device", "clock_mhz", NAN);
    return 32.0 * (kepler ? 8 : 4) * clock_mhz * 1e6 * (double)search->sms;
}

static enum fth_status judge(const struct search *search, const struct fth_bandwidth *bandwidth,
                             double spread, struct fth_error *error)
{
    const char *element = targets[search->target].element;
    if (isnan(bandwidth->bytes_per_s) || isnan(spread) || spread > max_spread)
        return fth_fail(error, FTH_INCONCLUSIVE, "find bandwidth", element,
                        "the times of identical streams differ too much");
    const double limit = find_limit(search, bandwidth->clock_mhz);
    if (bandwidth->bytes_per_s > limit * tolerance)
        return fth_fail(error, FTH_INCONCLUSIVE, "find bandwidth", element,
                        "measured %.4g bytes/s, but the maximum is %.4g, given by %s",
                        bandwidth->bytes_per_s, limit,
                        in_memory(search) ? "the memory clock and bus width"
                                          : "the loads and stores of the SMs");
    return FTH_OK;
}

/* ---- the probe ---- */

/* Finds the space for the arrays, and the first and maximum length of streams. */
static void find_limits(struct search *search)
{
    const struct fth_gpu *known = search->known;
    const char *element = targets[search->target].element;
    double capacity = 0;
    search->sm_bytes = first_bytes;
    search->max_bytes = max_sm_bytes;
    const bool in_l1 =
        targets[search->target].place == IN_SM && targets[search->target].path == FTH_PATH_CG;
    switch (in_l1 ? FTH_PATH_CA : targets[search->target].path) {
    case FTH_PATH_CONSTANT:
        search->sm_bytes = first_constant_bytes;
        capacity = fth_gpu_number(known, element, "size_bytes", min_constant_bytes);
        break;
    case FTH_PATH_SHARED:
        capacity = fth_gpu_number(known, element, "max_block_bytes", min_shared_bytes);
        capacity /= targets[search->target].kind == FTH_STREAM_COPY ? 2 : 1;
        break;
    case FTH_PATH_CA:
    case FTH_PATH_READONLY:
    case FTH_PATH_TEXTURE:
        /* Half of the cache, so that no set overflows. */
        capacity = fth_gpu_number(known, element, "size_bytes", min_l1_bytes);
        capacity = fmax(capacity / 2, fmin(capacity, min_l1_bytes));
        break;
    default:
        /* A quarter of L2, so that the array fits into each partition together with the copies of
         * lines whose home is another one; and at most first_bytes per SM, which is enough to
         * spread over the whole L2. */
        capacity = fth_gpu_number(known, "l2", "size_bytes", min_l2_bytes) / 4;
        capacity /= targets[search->target].kind == FTH_STREAM_COPY ? 2 : 1;
        capacity = fmin(capacity, (double)(first_bytes * search->sms));
        break;
    }
    search->capacity_bytes = (uint64_t)capacity;
    if (!in_memory(search))
        return;
    double bytes = fth_gpu_number(known, "memory", "size_bytes", min_memory_bytes) / 8;
    bytes = fmin(bytes, (double)max_cold_bytes);
    search->max_bytes = (uint64_t)bytes / search->sms;
}

/* Finds the resolution of the timer with a stream on one SM. Sweeps over memory are timed by the
 * driver's events and do not report it, but the timer is the same: on an H200 both advance by 32
 * ns. */
static enum fth_status find_tick(struct search *search, struct fth_error *error)
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
    enum fth_status status = fth_ask(search->prober, &request, 1, &answers, error);
    if (status == FTH_OK)
        search->tick_ns = answers.items[0].cycles[2];
    fth_answers_fini(&answers);
    return status;
}

/* Returns whether the GPU supports hints to L2 about which data to keep. */
static bool has_hints(const struct search *search)
{
    static const struct fth_stream_shape hinted = {0, 256, 16, 1, true};
    struct fth_answers answers = {0};
    const struct fth_request request = make_sweep(search, &hinted, 1);
    const enum fth_status status = fth_ask(search->prober, &request, 1, &answers, NULL);
    fth_answers_fini(&answers);
    return status == FTH_OK;
}

/* Selects the shapes of sweeps over memory that this GPU can run. */
static void find_sweeps(struct search *search)
{
    size_t all, default_count;
    const struct fth_stream_shape *list = fth_sweep_shapes(&all, &default_count);
    const bool hints = has_hints(search);
    for (size_t i = 0; i < (search->thorough ? all : default_count); i++) {
        struct fth_stream_shape shape = list[i];
        /* Unless thorough, a shape is not tried again without hints. */
        const bool again = i > 0 && hints && !search->thorough && list[i - 1].hinted &&
                           !shape.hinted && list[i - 1].threads == shape.threads;
        if (again || (shape.hinted && !hints) || shape.threads > search->threads_per_sm)
            continue;
        if ((uint64_t)shape.blocks_per_sm * shape.threads > search->threads_per_sm)
            shape.blocks_per_sm = (uint32_t)(search->threads_per_sm / shape.threads);
        search->shapes[search->shape_count++] = shape;
    }
}

/* Selects the shapes for caches whose blocks all run at the same time and whose arrays fit. */
static void find_streams(struct search *search)
{
    const size_t count = search->thorough ? FTH_COUNT(cache_shapes) : DEFAULT_CACHE_SHAPES;
    for (size_t i = 0; i < count; i++) {
        const struct fth_stream_shape *shape = &cache_shapes[i];
        uint64_t unit = unit_bytes(search, shape);
        if (targets[search->target].place == IN_L2)
            unit *= search->sms;
        const uint32_t cluster = targets[search->target].cluster;
        if ((cluster && (shape->blocks_per_sm > 1 || search->sms < cluster)) ||
            (uint64_t)shape->threads * shape->blocks_per_sm > search->threads_per_sm ||
            unit > search->capacity_bytes ||
            (shape->vector_bytes == 4 && search->shape_count >= ENOUGH_SHAPES &&
             !search->thorough) ||
            !fth_kernels_has_stream(targets[search->target].kind, targets[search->target].path,
                                    shape->vector_bytes))
            continue;
        search->shapes[search->shape_count++] = *shape;
    }
}

enum fth_status fth_probe_bandwidth(const struct fth_prober *prober, const struct fth_gpu *known,
                                    enum fth_bandwidth_target target, bool thorough,
                                    struct fth_bandwidth *bandwidth, struct fth_error *error)
{
    struct search search = {.prober = prober,
                            .known = known,
                            .target = target,
                            .thorough = thorough,
                            .sms = at_least_one(prober->sms),
                            .threads_per_sm = (uint64_t)fth_gpu_number(
                                known, "device", "max_threads_per_sm", min_threads_per_sm)};
    *bandwidth = (struct fth_bandwidth){.clock_mhz = NAN};
    find_limits(&search);
    if (in_memory(&search))
        find_sweeps(&search);
    else
        find_streams(&search);
    if (search.shape_count == 0)
        return fth_fail(error, FTH_UNSUPPORTED, "find bandwidth", targets[target].element,
                        "%llu bytes are too few for a stream",
                        (unsigned long long)search.capacity_bytes);
    double spread = NAN, bytes_per_ns = 0;
    enum fth_status status = in_memory(&search) ? find_tick(&search, error) : FTH_OK;
    if (status == FTH_OK)
        status = find_shape(&search, 1, search.sm_bytes, bandwidth, &bytes_per_ns, error);
    const bool longer = status == FTH_OK && lengthen(&search, bandwidth, bytes_per_ns);
    /* For memory, the best shape shows only in long streams: the time of short ones depends mainly
     * on how soon the blocks start. */
    if (status == FTH_OK && (longer || in_memory(&search)))
        status =
            in_memory(&search)
                ? find_shape(&search, 1, LONGER * search.sm_bytes, bandwidth, &bytes_per_ns, error)
                : find_shape(&search, TRIES, search.sm_bytes, bandwidth, &bytes_per_ns, error);
    struct fth_bandwidth last = *bandwidth;
    for (int round = 0; round < MAX_ROUNDS && status == FTH_OK; round++) {
        double last_spread = NAN;
        status = measure(&search, &last, &last_spread, error);
        if (round == 0 || isnan(spread) || last_spread < spread) { /* keep the least spread */
            spread = last_spread;
            *bandwidth = last;
        }
        if (spread <= (thorough ? thorough_target_spread : target_spread))
            break;
        /* If the streams cannot grow, the same length is repeated: the disturbance may be over. */
        if (search.sm_bytes * GROWTH * LONGER <= search.max_bytes)
            search.sm_bytes *= GROWTH;
    }
    bandwidth->samples = search.samples;
    return status == FTH_OK ? judge(&search, bandwidth, spread, error) : status;
}
