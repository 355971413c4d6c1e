/* Measures features that identify an individual GPU among others of the same model.
 *
 * Qiu, Jo and Goswami ("Microbenchmarking NVIDIA GPUs", section V.A) executed the STREAM kernels
 * with one thread and one block, which excludes the effects of schedulers, on five cards of one
 * model and used the times as a fingerprint. 88 % of the test runs were identified correctly; with
 * more threads and blocks, the times did not distinguish the cards. fathom does the same and adds
 * features that carry more information: different SMs are disabled on each chip, so the SM of a
 * given index is at a different place on each, with a different distance to the L2. The mean L2
 * latency of each SM, divided by the median over all SMs, is a map of these distances.
 *
 * Root mean square difference between two maps, over the SMs of an H200 (docs/fingerprints.md):
 *
 *   0.02 %        same GPU, same lines, one SM after the other
 *   0.8 %         same GPU, same lines, all SMs at once, which disturb each other
 *   1.5 %         same GPU, 128 KiB of different memory
 *   0.12 %        same GPU, different memory, as many lines 33 KiB apart
 *   1.1 to 3.1 %  different GPUs
 *
 * Therefore the SMs are measured one after the other, over lines that are far apart, and each run
 * uses different memory: the influence of the location of an array then counts as variation between
 * runs and not as part of the identity. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

/* ---- caches of an SM ---- */

enum {
    LINE_BYTES = 128,     /* stride of the chains: the longest line of a cache of an SM */
    SM_LINES = 64,        /* lines of a chain in a cache of an SM: 8 KiB, which fits into all */
    CONSTANTS = 16,       /* elements of the chain in the constant L1 */
    CONSTANT_STRIDE = 64, /* bytes: the 16 elements are 1 KiB, half of the smallest constant L1 */
    SM_HOPS = 6400        /* timed hops per chain in a cache of an SM: 100 passes. Chosen. */
};

/* ---- L2 and memory ---- */

enum {
    L2_LINES = 1024, /* lines in L2, spread over 34 MB; they fit into the smallest L2 */
    L2_STRIDE = 265 * LINE_BYTES, /* bytes: an odd number of lines, so that all sets are used */
    MEMORY_HOPS = 1024,           /* timed loads from memory. Chosen, not derived. */
    MEMORY_STRIDE = 4096 + 128,   /* as in load_latency.c */
    /* Distance in bytes between the memory regions of consecutive runs: more than the lines in L2
     * are spread over. */
    REGION_BYTES = 48 << 20,
    REGIONS = 8 /* memory regions that runs use one after the other. Chosen, not derived. */
};

/* ---- streams ---- */

enum {
    STREAM_WORDS = 2048, /* about 0.6 ms; the driver's events resolve 0.5 us */
    WORD_BYTES = 4,
    STREAM_REPEATS = 3 /* the fastest one counts. Chosen, not derived. */
};

/* A load that takes longer than this multiple of the median was disturbed. On an H200, the slowest
 * L2 hit takes 1.7 times as long as the fastest. */
static const double max_medians = 2;

static const char operation[] = "measure fingerprint";

/* Indices of the features that every GPU has; those of the SMs follow. Changing the order or the
 * meaning requires a new FTH_FEATURES_VERSION. docs/fingerprints.md names them all. */
enum {
    CLOCK_RATIO, /* measured clock of the SMs, relative to the nominal one */
    L1,          /* cycles of a hit; likewise the next four */
    READONLY,
    TEXTURE,
    CONSTANT,
    SHARED,
    MEMORY_LOW,  /* mean cycles of the faster half of loads from memory */
    MEMORY_HIGH, /* and of the slower half */
    STREAM_COPY, /* nanoseconds per word; likewise the next three */
    STREAM_MUL,
    STREAM_ADD,
    STREAM_TRIAD,
    L2,      /* median over the SMs of the cycles of a hit */
    FIRST_SM /* cycles of a hit in L2 from each SM, relative to that median */
};
/* Version 1 had three features instead of the four streams: read, write and copy by one warp. */
enum { V1_STREAMS = 3, V1_L2 = STREAM_COPY + V1_STREAMS, V1_FIRST_SM };

size_t fth_feature_count(const struct fth_prober *prober)
{
    return FIRST_SM + prober->sms;
}

/* The map of the SMs (132 on an H200) has the same total weight as all other features together, so
 * that it does not outweigh them. */
double fth_feature_weight(size_t index, size_t count)
{
    return index < FIRST_SM || count <= FIRST_SM ? 1
                                                 : (double)FIRST_SM / (double)(count - FIRST_SM);
}

size_t fth_features_upgrade(unsigned version, const double *features, size_t count, double *out)
{
    const size_t upgraded_count = count - V1_FIRST_SM + FIRST_SM;
    if (version != 1 || count < V1_FIRST_SM)
        return 0;
    for (size_t i = 0; i < upgraded_count && out; i++)
        out[i] = i < STREAM_COPY ? features[i] : i < L2 ? NAN : features[i - L2 + V1_L2];
    return upgraded_count;
}

/* ---- requests ---- */

/* The chains in the caches of an SM. */
static const struct {
    size_t feature;
    enum fth_path path;
    uint64_t stride_bytes, count;
    int carveout_percent;
} chains[] = {
    {L1, FTH_PATH_CA, LINE_BYTES, SM_LINES, 0},
    {READONLY, FTH_PATH_READONLY, LINE_BYTES, SM_LINES, 0},
    {TEXTURE, FTH_PATH_TEXTURE, LINE_BYTES, SM_LINES, 0},
    {CONSTANT, FTH_PATH_CONSTANT, CONSTANT_STRIDE, CONSTANTS, -1},
    {SHARED, FTH_PATH_SHARED, LINE_BYTES, SM_LINES, -1},
};

/* The STREAM kernels: one thread of one block, word by word over arrays that are in no cache. */
static const struct {
    size_t feature;
    enum fth_sweep_kind kind;
} streams[] = {
    {STREAM_COPY, FTH_SWEEP_COPY},
    {STREAM_MUL, FTH_SWEEP_MUL},
    {STREAM_ADD, FTH_SWEEP_ADD},
    {STREAM_TRIAD, FTH_SWEEP_TRIAD},
};

/* Returns a request that times single loads that hit, on one SM. */
static struct fth_request hit_request(enum fth_path path, struct fth_chain chain, uint64_t passes,
                                      int carveout_percent, size_t sm)
{
    struct fth_request request = fth_request_make(carveout_percent);
    request.sm = (uint32_t)sm;
    request.alone = true;
    fth_request_add(&request, FTH_STEP_WALK, path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, path, chain, passes);
    return request;
}

/* Returns a request that times single loads of lines that are in no cache and whose pages are in
 * the TLBs. */
static struct fth_request memory_request(uint64_t start_bytes)
{
    struct fth_chain chain = {.array = 1,
                              .start_bytes = start_bytes,
                              .stride_bytes = MEMORY_STRIDE,
                              .count = MEMORY_HOPS};
    struct fth_chain same_pages = chain;
    same_pages.start_bytes += MEMORY_STRIDE / 2;
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, same_pages, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    return request;
}

static struct fth_request stream_request(const struct fth_prober *prober, enum fth_sweep_kind kind)
{
    /* One block of one thread, one word at a time. */
    static const struct fth_stream_shape shape = {1, 1, WORD_BYTES, 1, false};
    const struct fth_prober one = {.device = prober->device, .sms = 1};
    struct fth_request request =
        fth_sweep_request(&one, kind, false, (uint64_t)WORD_BYTES * STREAM_WORDS, &shape);
    request.cold = true;
    request.sweep.repeats = STREAM_REPEATS;
    return request;
}

/* Indices of the requests: the streams, the chains, memory, then one per SM. */
enum {
    STREAMS = FTH_COUNT(streams),
    CHAINS = FTH_COUNT(chains),
    FIRST_CHAIN = STREAMS,
    MEMORY = FIRST_CHAIN + CHAINS,
    MAP
};

static void make_requests(const struct fth_prober *prober, unsigned run,
                          struct fth_request *requests)
{
    const uint64_t start_bytes = (uint64_t)(run % REGIONS) * REGION_BYTES;
    for (size_t i = 0; i < STREAMS; i++)
        requests[i] = stream_request(prober, streams[i].kind);
    for (size_t i = 0; i < CHAINS; i++) {
        const struct fth_chain chain = {.array = 2 + (unsigned)i,
                                        .stride_bytes = chains[i].stride_bytes,
                                        .count = chains[i].count};
        requests[FIRST_CHAIN + i] = hit_request(chains[i].path, chain, SM_HOPS / chains[i].count,
                                                chains[i].carveout_percent, 0);
    }
    requests[MEMORY] = memory_request(start_bytes);
    const struct fth_chain lines = {
        .start_bytes = start_bytes, .stride_bytes = L2_STRIDE, .count = L2_LINES};
    for (size_t i = 0; i < prober->sms; i++)
        requests[MAP + i] = hit_request(FTH_PATH_CG, lines, 1, -1, i);
}

/* ---- features ---- */

/* Computes the mean of the samples between two quantiles, without disturbed ones; NAN if the
 * request failed. */
static enum fth_status mean(const struct fth_samples *samples, double from, double to,
                            double *value, struct fth_error *error)
{
    *value = NAN;
    if (samples->status != FTH_OK)
        return FTH_OK;
    double *sorted = NULL, sum = 0;
    FTH_TRY(fth_sorted_u32(samples->cycles, samples->count, operation, &sorted, error));
    size_t count = samples->count;
    const double max = max_medians * fth_quantile_sorted(sorted, count, 0.5);
    while (count > 1 && sorted[count - 1] > max)
        count--;
    const size_t first = (size_t)(from * (double)count), last = (size_t)(to * (double)count);
    for (size_t i = first; i < last; i++)
        sum += sorted[i];
    if (last > first)
        *value = sum / (double)(last - first);
    free(sorted);
    return FTH_OK;
}

/* Computes the L2 latency of each SM relative to the median over all SMs, and that median. */
static enum fth_status compute_sm_features(const struct fth_samples *samples, size_t sms,
                                           double *features, struct fth_error *error)
{
    double *known = calloc(sms, sizeof *known);
    if (!known)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    size_t count = 0;
    for (size_t i = 0; i < sms && status == FTH_OK; i++) {
        status = mean(&samples[i], 0, 1, &features[FIRST_SM + i], error);
        if (isfinite(features[FIRST_SM + i]))
            known[count++] = features[FIRST_SM + i];
    }
    if (status == FTH_OK && count > 0)
        status = fth_quantile_f64(known, count, 0.5, &features[L2], error);
    for (size_t i = 0; i < sms; i++)
        features[FIRST_SM + i] /= features[L2];
    free(known);
    return status;
}

/* Returns the nanoseconds per word of the fastest repeat; NAN if the request failed or its result
 * is wrong. */
static double best_stream(const struct fth_samples *samples)
{
    double best = NAN;
    if (samples->status != FTH_OK || samples->cycles[STREAM_REPEATS] > 0)
        return best;
    for (size_t i = 0; i < STREAM_REPEATS; i++)
        best = fmin(best, (double)samples->cycles[i] / STREAM_WORDS);
    return best;
}

static enum fth_status compute_features(const struct fth_samples *samples, size_t sms,
                                        double nominal_clock_mhz, double *features,
                                        struct fth_error *error)
{
    for (size_t i = 0; i < FIRST_SM + sms; i++)
        features[i] = NAN;
    features[CLOCK_RATIO] = samples[MAP].clock_mhz / nominal_clock_mhz;
    for (size_t i = 0; i < STREAMS; i++)
        features[streams[i].feature] = best_stream(&samples[i]);
    for (size_t i = 0; i < CHAINS; i++)
        FTH_TRY(mean(&samples[FIRST_CHAIN + i], 0, 1, &features[chains[i].feature], error));
    /* The faster and the slower half: near and far memory, if there are two. */
    FTH_TRY(mean(&samples[MEMORY], 0, 0.5, &features[MEMORY_LOW], error));
    FTH_TRY(mean(&samples[MEMORY], 0.5, 1, &features[MEMORY_HIGH], error));
    return compute_sm_features(samples + MAP, sms, features, error);
}

enum fth_status fth_probe_fingerprint(const struct fth_prober *prober, double nominal_clock_mhz,
                                      unsigned run, double *features, struct fth_error *error)
{
    const size_t count = MAP + prober->sms;
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_samples *samples = calloc(count, sizeof *samples);
    enum fth_status status = FTH_OK;
    if (!requests || !samples) {
        status = fth_no_memory(error, operation, NULL);
        goto out;
    }
    make_requests(prober, run, requests);
    status = fth_device_measure(prober->device, requests, count, samples, error);
    if (status != FTH_OK)
        goto out;
    /* A feature that the GPU does not support stays NAN, but L2 latencies are required. */
    if (samples[MAP].status == FTH_OK)
        status = compute_features(samples, prober->sms, nominal_clock_mhz, features, error);
    else
        status = fth_fail(error, FTH_INCONCLUSIVE, operation, "l2", "%s", samples[MAP].cause);
out:
    for (size_t i = 0; samples && i < count; i++)
        fth_samples_fini(&samples[i]);
    free(samples);
    free(requests);
    return status;
}
