/* One set of miss status holding registers (MSHRs): the misses of a cache that are in flight.
 *
 * Misses are answered in the order in which they were issued. When the adaptive latency decreases,
 * a later miss waits until all earlier ones are answered; the paper avoids latencies that reorder
 * accesses (Section 4.4.1). The registers are therefore a ring buffer, with a hash table from line
 * to register.
 *
 * A miss issued in step i with a latency of n steps is answered in step i + n - 1. Its register is
 * free from that step on, and its data is in the cache from step i + n on. This timing follows
 * Table 3 of the paper, which has two registers, a latency of two steps, and two misses in each of
 * the steps 0 to 3. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Hash buckets per entry of the ring. With four, most lines have a bucket of their own.
 * Chosen, not derived. */
enum { BUCKETS_PER_ENTRY = 4 };

/* Allocates a ring of `capacity` entries (a power of two) and its hash table, and moves the
 * entries of the previous ring there. Returns false without memory, with the previous ring intact.
 */
static bool allocate(struct fth_mshr *mshr, uint32_t capacity)
{
    struct fth_mshr_entry *ring = calloc(capacity, sizeof *ring);
    const size_t head_count = (size_t)capacity * BUCKETS_PER_ENTRY;
    uint32_t *heads = malloc(head_count * sizeof *heads);
    if (!ring || !heads) {
        free(ring);
        free(heads);
        return false;
    }
    memset(heads, 0xff, head_count * sizeof *heads);
    const uint32_t mask = mshr->mask;
    struct fth_mshr_entry *old_ring = mshr->ring;
    free(mshr->heads);
    mshr->heads = heads;
    mshr->ring = ring;
    mshr->mask = capacity - 1;
    mshr->head_mask = (uint32_t)head_count - 1;
    for (uint64_t i = mshr->first; i < mshr->end; i++) {
        struct fth_mshr_entry *entry = &ring[i & mshr->mask];
        *entry = old_ring[i & mask];
        entry->next = heads[fth_mshr_bucket(mshr, entry->line)];
        heads[fth_mshr_bucket(mshr, entry->line)] = (uint32_t)(i & mshr->mask);
    }
    free(old_ring);
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
        return fth_no_memory(error, "model caches", NULL);
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
    mshr->first = mshr->first_pending = mshr->end = mshr->step = mshr->last_arrival = 0;
    mshr->next_change = UINT64_MAX;
}

/* Removes the oldest entry from its bucket. Buckets list the newest entry first, so it is the last.
 */
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
    uint64_t first_pending = mshr->first_pending, first = mshr->first;
    while (first_pending < end && ring[first_pending & mask].arrival <= step)
        first_pending++;
    for (; first < first_pending && ring[first & mask].arrival < step; first++)
        unlink_oldest(mshr, (uint32_t)(first & mask));
    mshr->first_pending = first_pending;
    mshr->first = first;
    mshr->next_change = first_pending < end ? ring[first_pending & mask].arrival
                        : first < end       ? mshr->last_arrival + 1
                                            : UINT64_MAX;
}

enum fth_merge fth_mshr_merge_any(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                  uint64_t max_merges)
{
    uint64_t in_flight = 0;
    struct fth_mshr_entry *newest = NULL;
    for (uint32_t at = mshr->heads[fth_mshr_bucket(mshr, line)]; at != NONE;
         at = mshr->ring[at].next) {
        struct fth_mshr_entry *entry = &mshr->ring[at];
        if (entry->line != line || entry->arrival < mshr->step)
            continue;
        in_flight |= entry->sectors;
        if (!newest && entry->sectors & sectors)
            newest = entry;
    }
    if (!newest || sectors & ~in_flight)
        return FTH_MERGE_NONE;
    if (max_merges && newest->merge_count >= max_merges)
        return FTH_MERGE_FAILED;
    newest->merge_count++;
    return FTH_MERGE_DONE;
}

bool fth_mshr_grow(struct fth_mshr *mshr)
{
    return mshr->mask < UINT32_C(1) << 29 && allocate(mshr, 2 * (mshr->mask + 1));
}
