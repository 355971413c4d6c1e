/* The L1s of the oracle. See timed_memory.h, and the section L1 of docs/model/time.md. */
#include "timed_parts.h"

#include <string.h>

static void count_l1(struct timed_memory *memory, const struct timed_request *request,
                     uint64_t present, uint64_t flying, uint32_t distance)
{
    const struct timed_cache_config *config = &memory->gpu->l1;
    timed_count(&memory->result->l1, request->issue->instruction->kind, request->sectors,
                present & ~(config->merged_hits ? 0 : flying), flying, distance, config->ways);
}

/* Sends missing sectors, as a part of an earlier request if that is possible. */
static uint64_t send_misses(struct timed_memory *memory, const struct timed_request *request,
                            uint64_t sectors, uint64_t now)
{
    struct l1 *l1 = &memory->l1s[request->issue->sm];
    const uint64_t count = l1->requests < MERGE_REQUESTS ? l1->requests : MERGE_REQUESTS;
    struct sent_request *sent = l1->last_reads;
    while (sent < l1->last_reads + count && sent->line != request->line)
        sent++;
    bool merges = sent < l1->last_reads + count;
    if (merges) {
        const bool is_late = sent->sent > now + MERGE_LEAD;
        const bool follows = sent->access == l1->last || sent->access == *request->issue->before;
        merges = is_late || (follows && now < sent->sent + timed_ticks(memory->gpu->merge_cycles));
    }
    if (!merges) {
        sent = l1->last_reads;
        memmove(sent + 1, sent, (MERGE_REQUESTS - 1) * sizeof *sent);
        *sent = (struct sent_request){.line = request->line};
        l1->requests++;
    }
    sent->access = l1->sent = l1->accesses;
    return timed_read_l2(memory, request, sectors, now, sent);
}

/* A read that is looked up at `now`. A hit has its data at `hit`, other data waits for `backlog`.
 * Adds the time that its line waits for storage to `*waited`, that of earlier lines. */
static uint64_t read_l1(struct timed_memory *memory, const struct timed_request *request,
                        uint64_t now, uint64_t hit, uint64_t backlog, uint64_t *waited,
                        bool *is_hit)
{
    const struct timed_gpu *gpu = memory->gpu;
    struct timed_lines *cache = &memory->l1s[request->issue->sm].cache;
    const bool allocates = request->issue->instruction->l1 != ORACLE_NO_ALLOCATE;
    const bool fresh = !timed_lines_hold(cache, request->line);
    const uint64_t missing =
        timed_lines_missing(cache, request->line, request->sectors, request->bytes);
    const uint64_t present = request->sectors & ~missing;
    const uint64_t flying = timed_lines_flying(cache, request->line, present, hit);
    uint64_t arrival = 0;
    if (flying)
        arrival = timed_lines_flight(cache, request->line)->ready;
    uint32_t distance = UINT32_MAX;
    uint64_t *misses = memory->result->l1.misses;
    timed_note_read(cache, request->line, missing, 0, misses);
    if (!gpu->l1.merged_hits)
        miss_history_again(&cache->history, request->line, flying, misses);
    if (present || allocates) {
        distance = timed_use_line(memory, cache, request->line, allocates ? missing : 0);
        timed_lines_note_use(cache, request->line, request->sectors);
        *waited = oracle_time(cache->cache) - now;
    }
    if (missing) {
        const uint64_t idle = 2 * (timed_ticks(join_cycles(gpu)) + to_l2(gpu)) +
                              timed_ticks(gpu->memory_cycles - gpu->l2_cycles);
        const uint64_t at_once = send_misses(memory, request, missing, now);
        const uint64_t takes = at_once - now < idle ? at_once - now : idle;
        arrival = later(arrival, later(at_once, now + *waited + takes));
    }
    if (missing && allocates) {
        timed_add_flight(cache, request->line, missing, fresh, now + *waited, arrival);
        oracle_reserve(cache->cache, request->line, later(hit, arrival + backlog));
    }
    count_l1(memory, request, present, flying, distance);
    *is_hit = present == request->sectors && !flying;
    return *is_hit ? hit : later(hit, arrival + backlog);
}

/* Returns the sectors of a store that do not merge with an earlier one. */
static uint64_t merge_store(struct timed_memory *memory, const struct timed_request *request,
                            uint64_t now)
{
    struct store_entry *entry = &memory->l1s[request->issue->sm].store;
    uint64_t counted = request->sectors;
    if (entry->used && entry->line == request->line && entry->time > now) {
        counted &= ~entry->sectors;
        entry->sectors |= request->sectors;
        entry->time = now + timed_ticks(memory->gpu->store_merge_cycles);
    } else {
        *entry = (struct store_entry){.line = request->line,
                                      .time = now + timed_ticks(memory->gpu->store_merge_cycles),
                                      .sectors = request->sectors,
                                      .used = true};
    }
    return counted;
}

static uint64_t write_l1(struct timed_memory *memory, const struct timed_request *request,
                         uint64_t now, uint64_t *waited)
{
    const struct timed_gpu *gpu = memory->gpu;
    struct timed_lines *cache = &memory->l1s[request->issue->sm].cache;
    const bool allocates = request->issue->instruction->l1 != ORACLE_NO_ALLOCATE;
    const uint64_t hits = timed_lines_touched(cache, request->line, request->sectors);
    uint32_t distance = UINT32_MAX;
    if (strcmp(gpu->l1_bypass, "off") != 0)
        timed_lines_drop(cache, request->line);
    else if (allocates || timed_lines_hold(cache, request->line))
        distance = timed_write_bytes(memory, cache, request);
    *waited = oracle_time(cache->cache) - now;
    count_l1(memory, request, hits, 0, distance);
    return timed_write_l2(memory, request, merge_store(memory, request, now), now);
}

/* A request that bypasses the L1. */
static uint64_t bypass_l1(struct timed_memory *memory, const struct timed_request *request,
                          uint64_t now)
{
    const struct timed_instruction *instruction = request->issue->instruction;
    struct l1 *l1 = &memory->l1s[request->issue->sm];
    struct sent_request sent = {.line = request->line};
    if (instruction->kind != FTH_TRACE_READ || instruction->l1 == ORACLE_EVICT)
        timed_lines_drop(&l1->cache, request->line);
    count_l1(memory, request, 0, 0, UINT32_MAX);
    if (instruction->kind == FTH_TRACE_READ)
        memory->result->l1.misses[MISS_COLD] += count_bits(request->sectors);
    if (instruction->kind == FTH_TRACE_READ) {
        l1->sent = l1->accesses;
        return timed_read_l2(memory, request, request->sectors, now, &sent);
    }
    if (instruction->kind == FTH_TRACE_ATOMIC)
        return timed_atomic_l2(memory, request, now);
    return timed_write_l2(memory, request, merge_store(memory, request, now), now);
}

static bool bypasses(const struct timed_memory *memory, const struct timed_instruction *instruction)
{
    return instruction->kind == FTH_TRACE_ATOMIC || instruction->l1 == ORACLE_BYPASS ||
           instruction->l1 == ORACLE_EVICT || strcmp(memory->gpu->l1_bypass, "rwon") == 0;
}

/* Performs the line requests of an access. Returns how many are reads that hit. Sets how long lines
 * waited for storage, and from when on the L1 delivers the data of hits. */
static uint64_t perform(struct timed_memory *memory, const struct timed_issue *issue, uint64_t busy,
                        uint64_t count, struct timed_l1_times *times, uint64_t *waited,
                        uint64_t *delivery)
{
    struct l1 *l1 = &memory->l1s[issue->sm];
    const bool is_read = issue->instruction->kind == FTH_TRACE_READ;
    const uint64_t backlog = times->left - times->begun;
    struct timed_request request = {.line = UINT64_MAX};
    uint64_t hits = 0;
    *delivery = later(times->begun, l1->hits_free_at);
    *waited = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t now = times->begun + (is_read ? i / 4 * CYCLE : i * busy / count);
        const uint64_t before = *waited;
        const uint64_t hit = *delivery + hits * busy / count + timed_ticks(memory->gpu->l1_cycles);
        bool is_hit = false;
        timed_next_request(memory->gpu, issue, &request);
        oracle_begin(l1->cache.cache, now + *waited);
        uint64_t ready = now;
        if (bypasses(memory, issue->instruction))
            ready = bypass_l1(memory, &request, now) + (is_read ? backlog : 0);
        else if (is_read)
            ready = read_l1(memory, &request, now, hit, backlog, waited, &is_hit);
        else
            ready = write_l1(memory, &request, now, waited);
        ready = is_read ? later(ready, hit) : ready;
        if (is_read && !is_hit)
            ready += spread(memory->gpu, request.line, now);
        times->done = later(times->done, ready);
        hits += is_hit;
        if (*waited > before)
            l1->stalled_until = now + *waited;
        *delivery = later(*delivery, times->begun + *waited);
    }
    return hits;
}

uint64_t timed_memory_stalled(const struct timed_memory *memory, uint64_t sm)
{
    return memory->l1s[sm].stalled_until;
}

void timed_memory_access(struct timed_memory *memory, const struct timed_issue *issue, uint64_t now,
                         struct timed_l1_times *times)
{
    struct l1 *l1 = &memory->l1s[issue->sm];
    const bool is_read = issue->instruction->kind == FTH_TRACE_READ;
    uint64_t count = 0;
    memory->event = now;
    const uint64_t busy = timed_l1_cycles(memory->gpu, issue, &count) * CYCLE;
    if (issue->shared) {
        const uint64_t begin = later(now, later(l1->tags_free_at, l1->hits_free_at));
        l1->tags_free_at = l1->hits_free_at = begin + issue->shared * CYCLE;
        occupy(&l1->data_free_at, begin, issue->shared * CYCLE);
    }
    times->begun = later(now, l1->tags_free_at);
    if (l1->hits_free_at > LOOKUP_LEAD)
        times->begun = later(times->begun, l1->hits_free_at - LOOKUP_LEAD);
    if (l1->port_free_at > PORT_LEAD)
        times->begun = later(times->begun, l1->port_free_at - PORT_LEAD);
    l1->accesses++;
    times->done = times->begun;
    times->left = occupy(&l1->data_free_at, times->begun, busy);
    uint64_t waited = 0, delivery = 0;
    const uint64_t hits = perform(memory, issue, busy, count, times, &waited, &delivery);
    if (!is_read)
        l1->last = *issue->before = 0;
    else if (l1->sent == l1->accesses)
        l1->last = *issue->before = l1->sent;
    if (is_read && hits == 0 && !issue->shared)
        times->left = times->begun;
    l1->tags_free_at = times->begun + waited + (is_read ? (count + 3) / 4 * CYCLE : busy);
    l1->hits_free_at = delivery + (is_read && count ? hits * busy / count : busy);
}
