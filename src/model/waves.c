/* The accesses of a launch, wave by wave. A trace has them by number first, so that to read one
 * wave is to decode much of what its neighbours have, too: with a thousand waves most of the time
 * went into decoding. Where waves are small, as many as fit into memory are read together and taken
 * apart. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_WORDS = 4, MOST_TOGETHER = 4096 };
static const uint64_t most_words = UINT64_C(8) << 20; /* 64 MiB */

struct bucket {
    uint64_t *words;
    size_t count, capacity, at;
};

struct fth_waves {
    const struct fth_trace *trace;
    const struct fth_placement *placement;
    size_t launch;
    uint64_t together, count; /* waves that are read at a time, and that there are */
    uint64_t first;           /* of those that are here */
    struct bucket *buckets;   /* [together]; NULL where they come one by one */
    struct fth_trace_cursor *cursor;
    uint64_t wave;
    struct fth_trace_access access;
};

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
}

enum fth_status fth_waves_create(const struct fth_trace *trace, size_t launch,
                                 const struct fth_placement *placement, struct fth_waves **out,
                                 struct fth_error *error)
{
    struct fth_waves *waves = calloc(1, sizeof *waves);
    *out = waves;
    if (!waves)
        return no_memory(error);
    waves->trace = trace;
    waves->launch = launch;
    waves->placement = placement;
    waves->count = fth_placement_waves(placement);
    const uint64_t each = fth_trace_launch_at(trace, launch)->accesses / waves->count + 1;
    waves->together = most_words / (HEAD_WORDS + 32) / each;
    if (waves->together > MOST_TOGETHER)
        waves->together = MOST_TOGETHER;
    if (waves->together > waves->count)
        waves->together = waves->count;
    waves->first = UINT64_MAX;
    if (waves->together > 1)
        waves->buckets = calloc((size_t)waves->together, sizeof *waves->buckets);
    return waves->together > 1 && !waves->buckets ? no_memory(error) : FTH_OK;
}

void fth_waves_destroy(struct fth_waves *waves)
{
    if (!waves)
        return;
    for (uint64_t i = 0; waves->buckets && i < waves->together; i++)
        free(waves->buckets[i].words);
    fth_trace_cursor_close(waves->cursor);
    free(waves->buckets);
    free(waves);
}

static bool keep(struct bucket *bucket, const struct fth_trace_access *access)
{
    const size_t wanted = bucket->count + HEAD_WORDS + access->threads;
    if (wanted > bucket->capacity) {
        const size_t capacity = 2 * wanted;
        uint64_t *words = realloc(bucket->words, capacity * sizeof *words);
        if (!words)
            return false;
        bucket->words = words;
        bucket->capacity = capacity;
    }
    uint64_t *to = bucket->words + bucket->count;
    to[0] = access->number;
    to[1] = access->block;
    to[2] = (uint64_t)access->warp << 32 | access->instruction;
    to[3] = (uint64_t)access->mask << 32 | access->threads;
    memcpy(to + HEAD_WORDS, access->addresses, access->threads * sizeof *to);
    bucket->count = wanted;
    return true;
}

static enum fth_status open_range(struct fth_waves *waves, uint64_t from, uint64_t to,
                                  struct fth_error *error)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint64_t wave = from; wave <= to; wave++) {
        uint64_t low, high;
        fth_placement_range(waves->placement, wave, &low, &high);
        first = low < first ? low : first;
        last = high > last ? high : last;
    }
    fth_trace_cursor_close(waves->cursor);
    waves->cursor = NULL;
    return fth_trace_cursor_open(waves->trace, waves->launch, first, last, &waves->cursor, error);
}

/* Reads the waves from `first` on into their buckets. */
static enum fth_status fill(struct fth_waves *waves, uint64_t first, struct fth_error *error)
{
    const uint64_t rest = waves->count - first;
    const uint64_t together = waves->together < rest ? waves->together : rest;
    const struct fth_trace_access *access = NULL;
    for (uint64_t i = 0; i < waves->together; i++)
        waves->buckets[i].count = waves->buckets[i].at = 0;
    waves->first = first;
    enum fth_status status = open_range(waves, first, first + together - 1, error);
    while (status == FTH_OK) {
        uint64_t wave;
        status = fth_trace_next(waves->cursor, &access, error);
        if (status != FTH_OK || !access)
            break;
        fth_placement_sm(waves->placement, access->block, &wave);
        if (wave < first || wave - first >= together)
            continue;
        if (access->threads == 0 || access->threads > 32 ||
            !keep(&waves->buckets[wave - first], access))
            status = access->threads - 1 < 32 ? no_memory(error)
                                              : fth_fail(error, FTH_INVALID, "model caches", NULL,
                                                         "an access of block %llu has no threads",
                                                         (unsigned long long)access->block);
    }
    return status;
}

enum fth_status fth_waves_begin(struct fth_waves *waves, uint64_t wave, struct fth_error *error)
{
    waves->wave = wave;
    if (!waves->buckets)
        return open_range(waves, wave, wave, error);
    if (wave >= waves->first && wave - waves->first < waves->together)
        return FTH_OK;
    return fill(waves, wave, error);
}

enum fth_status fth_waves_next(struct fth_waves *waves, const struct fth_trace_access **access,
                               uint32_t *sm, struct fth_error *error)
{
    uint64_t wave;
    *access = NULL;
    if (waves->buckets) {
        struct bucket *bucket = &waves->buckets[waves->wave - waves->first];
        const uint64_t *from = bucket->words + bucket->at;
        if (bucket->at == bucket->count)
            return FTH_OK;
        struct fth_trace_access *to = &waves->access;
        to->number = from[0];
        to->block = from[1];
        to->warp = (uint32_t)(from[2] >> 32);
        to->instruction = (uint32_t)from[2];
        to->mask = (uint32_t)(from[3] >> 32);
        to->threads = (uint32_t)from[3];
        memcpy(to->addresses, from + HEAD_WORDS, to->threads * sizeof *from);
        bucket->at += HEAD_WORDS + to->threads;
        *access = to;
        *sm = fth_placement_sm(waves->placement, to->block, &wave);
        return FTH_OK;
    }
    for (;;) {
        enum fth_status status = fth_trace_next(waves->cursor, access, error);
        if (status != FTH_OK || !*access)
            return status;
        *sm = fth_placement_sm(waves->placement, (*access)->block, &wave);
        if (wave == waves->wave)
            return FTH_OK;
    }
}
