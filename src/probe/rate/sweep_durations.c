/* Measures the duration of launches and copies that are timed as a whole: sweeps (the kernels of
 * STREAM) and transfers by the driver. A duration counts only if the result is right. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "measure";

enum { VECTOR = 16 }; /* bytes per load or store of a thread: a vector of four words */

/* The launch shapes that are tried, as members of struct fth_stream_shape. The first DEFAULT_SHAPES
 * are tried unless the measurement is thorough. Chosen by experiment on an H200: copies are 6 %
 * faster with one block per piece of the arrays (blocks_per_sm 0) than with a fixed number of
 * blocks that traverse the arrays together, and 1 or 2 % faster with hints. Reads are fastest with
 * a fixed number of blocks and many loads in flight. */
static const struct fth_stream_shape shapes[] = {
    {2, 1024, VECTOR, 4, false}, {0, 256, VECTOR, 1, true},  {0, 256, VECTOR, 1, false},
    {4, 512, VECTOR, 4, false},  {8, 256, VECTOR, 4, false}, {1, 1024, VECTOR, 8, false},
    {2, 1024, VECTOR, 8, false}, {4, 512, VECTOR, 2, false}, {0, 1024, VECTOR, 4, false},
    {0, 512, VECTOR, 4, false},  {0, 256, VECTOR, 4, false}, {0, 256, VECTOR, 8, false},
    {0, 128, VECTOR, 1, false},  {0, 512, VECTOR, 1, false}, {0, 256, VECTOR, 2, false},
    {0, 1024, VECTOR, 2, false}, {2, 1024, VECTOR, 4, true}, {1, 1024, VECTOR, 8, true},
    {2, 1024, VECTOR, 8, true},  {0, 128, VECTOR, 1, true},  {0, 512, VECTOR, 1, true},
    {0, 256, VECTOR, 2, true},   {0, 512, VECTOR, 2, true},  {0, 1024, VECTOR, 2, true},
    {0, 256, VECTOR, 4, true},   {0, 512, VECTOR, 4, true},  {0, 1024, VECTOR, 4, true},
    {0, 512, VECTOR, 8, true},
};
enum { DEFAULT_SHAPES = 3 }; /* the best of each kind of grid, with and without hints */

const struct fth_stream_shape *fth_sweep_shapes(size_t *count, size_t *default_count)
{
    *count = FTH_COUNT(shapes);
    *default_count = DEFAULT_SHAPES;
    return shapes;
}

/* Returns the number of blocks of a sweep: at least 1, at most one per piece of the arrays. */
static uint32_t blocks_of(const struct fth_prober *prober, const struct fth_stream_shape *shape,
                          uint64_t bytes)
{
    const uint64_t piece = (uint64_t)shape->threads * shape->unroll * shape->vector_bytes;
    const uint64_t pieces = bytes > piece ? bytes / piece : 1;
    const uint64_t max = shape->blocks_per_sm * (uint64_t)prober->sms;
    return (uint32_t)(max && max < pieces ? max : pieces);
}

struct fth_request fth_sweep_request(const struct fth_prober *prober, enum fth_sweep_kind kind,
                                     bool wide, uint64_t bytes,
                                     const struct fth_stream_shape *shape)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SWEEP;
    request.sweep = (struct fth_sweep){.kind = kind,
                                       .wide = wide,
                                       .hinted = shape->hinted,
                                       .bytes = bytes,
                                       .blocks = blocks_of(prober, shape, bytes),
                                       .threads = shape->threads,
                                       .vector_bytes = shape->vector_bytes,
                                       .unroll = shape->unroll,
                                       .repeats = 1};
    return request;
}

/* ---- durations ---- */

static size_t repeats_of(const struct fth_request *request)
{
    return request->family == FTH_FAMILY_SWEEP ? request->sweep.repeats : request->transfer.repeats;
}

/* Fails if the device found wrong results after the last repeat. */
static enum fth_status check(const struct fth_request *request, const struct fth_samples *answer,
                             struct fth_error *error)
{
    const uint32_t wrong = answer->cycles[repeats_of(request)];
    if (wrong == 0)
        return FTH_OK;
    const bool reads = request->family == FTH_FAMILY_SWEEP && request->sweep.kind == FTH_SWEEP_READ;
    return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                    reads ? "the sum of the data read is wrong"
                          : "%u results are wrong, so the time does not count",
                    (unsigned)wrong);
}

/* Summarizes the samples of one request, which are every `step`-th of the answers. */
static enum fth_status summarize(const struct fth_request *request,
                                 const struct fth_samples *answers, size_t rounds, size_t step,
                                 struct fth_durations *durations, struct fth_error *error)
{
    const size_t repeats = repeats_of(request);
    struct fth_summary summary;
    uint32_t *times = calloc(rounds * repeats, sizeof *times);
    if (!times)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < rounds && status == FTH_OK; i++) {
        status = check(request, &answers[i * step], error);
        memcpy(times + i * repeats, answers[i * step].cycles, repeats * sizeof *times);
    }
    if (status == FTH_OK)
        status = fth_summary_u32(times, rounds * repeats, &summary, error);
    free(times);
    if (status != FTH_OK)
        return status;
    if (!(summary.min > 0))
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL, "the measured time is zero");
    *durations = (struct fth_durations){.best_ns = summary.min,
                                        .median_ns = summary.median,
                                        .worst_ns = summary.max,
                                        .count = rounds * repeats,
                                        .direct = request->family == FTH_FAMILY_TRANSFER &&
                                                  answers[0].cycles[repeats + 1]};
    return FTH_OK;
}

enum fth_status fth_probe_interleaved(const struct fth_prober *prober,
                                      const struct fth_request *requests, size_t count,
                                      size_t rounds, struct fth_durations *durations,
                                      struct fth_error *error)
{
    struct fth_answers answers = {0};
    struct fth_request *all = calloc(count * rounds, sizeof *all);
    if (!all)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count * rounds; i++)
        all[i] = requests[i % count];
    for (size_t i = 0; i < count; i++)
        durations[i] = (struct fth_durations){.best_ns = NAN, .median_ns = NAN, .worst_ns = NAN};
    enum fth_status status = fth_ask(prober, all, count * rounds, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = summarize(&requests[i], &answers.items[i], rounds, count, &durations[i], error);
    fth_answers_fini(&answers);
    free(all);
    return status;
}

enum fth_status fth_probe_durations(const struct fth_prober *prober,
                                    const struct fth_request *request,
                                    struct fth_durations *durations, struct fth_error *error)
{
    return fth_probe_interleaved(prober, request, 1, 1, durations, error);
}
