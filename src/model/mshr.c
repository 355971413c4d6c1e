/* Misses that are under way (miss status holding registers).
 *
 * Answers come in the order of the questions: where the latency falls, an answer waits for those
 * before it, since "probabilistic" latencies that pass each other are what the paper does away with
 * (Section 4.4.1). So the registers are a ring, with a hash table over its lines.
 *
 * A miss of step i with a latency of n is answered in step i + n - 1, is in the cache from i + n
 * on, and its register is free again in the step of the answer: Table 3 of the paper has two
 * registers, a latency of two steps, and two misses in each of the steps 0 to 3. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { HEADS = 4 }; /* of the table, for each place of the ring */

static bool allocate(struct fth_mshr *mshr, uint32_t capacity)
{
    struct fth_mshr_entry *ring = calloc(capacity, sizeof *ring);
    const size_t head_count = (size_t)capacity * HEADS; /* mostly a line has one for itself */
    uint32_t *heads = malloc(head_count * sizeof *heads);
    if (!ring || !heads) {
        free(ring);
        free(heads);
        return false;
    }
    memset(heads, 0xff, head_count * sizeof *heads);
    const uint32_t mask = mshr->mask;
    struct fth_mshr_entry *before = mshr->ring;
    free(mshr->heads);
    mshr->heads = heads;
    mshr->ring = ring;
    mshr->mask = capacity - 1;
    mshr->head_mask = (uint32_t)head_count - 1;
    for (uint64_t i = mshr->first; i < mshr->end; i++) {
        struct fth_mshr_entry *entry = &ring[i & mshr->mask];
        *entry = before[i & mask];
        entry->next = heads[fth_mshr_bucket(mshr, entry->line)];
        heads[fth_mshr_bucket(mshr, entry->line)] = (uint32_t)(i & mshr->mask);
    }
    free(before);
    return true;
}

enum fth_status fth_mshr_create(uint64_t size, struct fth_mshr **out, struct fth_error *error)
{
    struct fth_mshr *mshr = calloc(1, sizeof *mshr);
    *out = NULL;
    if (mshr)
        mshr->size = size;
    if (!mshr || !allocate(mshr, 64)) {
        free(mshr);
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    }
    *out = mshr;
    return FTH_OK;
}

void fth_mshr_destroy(struct fth_mshr *mshr)
{
    if (!mshr)
        return;
    free(mshr->ring);
    free(mshr->heads);
    free(mshr);
}

void fth_mshr_clear(struct fth_mshr *mshr)
{
    memset(mshr->heads, 0xff, ((size_t)mshr->head_mask + 1) * sizeof *mshr->heads);
    mshr->first = mshr->held = mshr->end = mshr->step = mshr->last_answer = 0;
    mshr->change = UINT64_MAX;
}

/* Takes the oldest out of its bucket, in which it is the last. */
static void unlink_oldest(const struct fth_mshr *mshr, uint32_t index)
{
    uint32_t *link = &mshr->heads[fth_mshr_bucket(mshr, mshr->ring[index].line)];
    while (*link != index)
        link = &mshr->ring[*link].next;
    *link = NONE;
}

void fth_mshr_advance(struct fth_mshr *mshr, uint64_t step)
{
    const struct fth_mshr_entry *ring = mshr->ring;
    const uint32_t mask = mshr->mask;
    const uint64_t end = mshr->end;
    uint64_t held = mshr->held, first = mshr->first;
    while (held < end && ring[held & mask].answer <= step)
        held++;
    for (; first < held && ring[first & mask].answer < step; first++)
        unlink_oldest(mshr, (uint32_t)(first & mask));
    mshr->held = held;
    mshr->first = first;
    mshr->change = held < end    ? ring[held & mask].answer
                   : first < end ? mshr->last_answer + 1
                                 : UINT64_MAX;
}

enum fth_merge fth_mshr_merge_any(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                  uint64_t max)
{
    uint64_t coming = 0;
    struct fth_mshr_entry *newest = NULL;
    for (uint32_t at = mshr->heads[fth_mshr_bucket(mshr, line)]; at != NONE;
         at = mshr->ring[at].next) {
        struct fth_mshr_entry *entry = &mshr->ring[at];
        if (entry->line != line || entry->answer < mshr->step)
            continue;
        coming |= entry->sectors;
        if (!newest && entry->sectors & sectors)
            newest = entry;
    }
    if (!newest || sectors & ~coming)
        return FTH_MERGE_NONE;
    if (max && newest->joined >= max)
        return FTH_MERGE_FAILED;
    newest->joined++;
    return FTH_MERGE_DONE;
}

bool fth_mshr_grow(struct fth_mshr *mshr)
{
    return mshr->mask < UINT32_C(1) << 29 && allocate(mshr, 2 * (mshr->mask + 1));
}
