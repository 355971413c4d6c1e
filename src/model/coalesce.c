/* Accesses of warps as what a cache sees: a request for each line, with the sectors and the runs of
 * bytes that are wanted of it. */
#include "model/model.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* With at most this from lane to lane no address of the lower half wraps around. */
#define MAX_STEP ((uint64_t)1 << 40)

void fth_requests_clear(struct fth_requests *requests)
{
    requests->count = 0;
    requests->run_count = 0;
}

void fth_requests_drop(struct fth_requests *requests, size_t count)
{
    const size_t left = requests->count - count;
    if (!left) {
        fth_requests_clear(requests);
        return;
    }
    const uint32_t run = requests->items[count].run;
    memmove(requests->items, requests->items + count, left * sizeof *requests->items);
    requests->run_count -= run;
    memmove(requests->runs, requests->runs + run, requests->run_count * sizeof *requests->runs);
    for (size_t i = 0; i < left; i++)
        requests->items[i].run -= run;
    requests->count = left;
}

void fth_requests_fini(struct fth_requests *requests)
{
    free(requests->items);
    free(requests->runs);
    *requests = (struct fth_requests){0};
}

struct fth_cache_run fth_first_sectors(const struct fth_shape *shape, uint64_t *sectors)
{
    const unsigned first = (unsigned)__builtin_ctzll(*sectors);
    const uint64_t rest = ~(*sectors >> first);
    const unsigned count = rest ? (unsigned)__builtin_ctzll(rest) : 64 - first;
    *sectors = first + count < 64 ? *sectors >> (first + count) << (first + count) : 0;
    return (struct fth_cache_run){(uint32_t)first << shape->sector_shift,
                                  (uint32_t)count << shape->sector_shift};
}

bool fth_requests_grow(struct fth_requests *requests)
{
    requests->failed = requests->failed ||
                       !fth_grow((void **)&requests->items, requests->count, &requests->capacity,
                                 sizeof *requests->items) ||
                       !fth_grow((void **)&requests->runs, requests->run_count,
                                 &requests->run_capacity, sizeof *requests->runs);
    return !requests->failed;
}

/* More bytes for the last request, which are one run with the last where they touch it. */
static void extend(struct fth_requests *requests, uint64_t from, uint64_t to)
{
    struct fth_request *request = &requests->items[requests->count - 1];
    struct fth_cache_run *before = &requests->runs[requests->run_count - 1];
    const uint64_t end = (uint64_t)before->from + before->bytes;
    if (from >= before->from && from <= end) {
        if (to > end)
            before->bytes = (uint32_t)(to - before->from);
        return;
    }
    request->run_count++;
    requests->runs[requests->run_count++] =
        (struct fth_cache_run){(uint32_t)from, (uint32_t)(to - from)};
}

/* Bytes of one line. */
static inline void add_piece(struct fth_requests *requests, size_t from,
                             const struct fth_shape *shape, uint64_t line, uint64_t start,
                             uint64_t bytes, const struct fth_request *like)
{
    const uint64_t sectors = fth_sectors_of(shape->sector_shift, start, start + bytes);
    if (!fth_requests_reserve(requests))
        return;
    struct fth_request *request = &requests->items[requests->count];
    if (requests->count > from && request[-1].line == line) {
        request[-1].sectors |= sectors;
        extend(requests, start, start + bytes);
        return;
    }
    *request = *like;
    request->line = line;
    request->sectors = sectors;
    request->run = (uint32_t)requests->run_count;
    request->run_count = 1;
    requests->runs[requests->run_count++] =
        (struct fth_cache_run){(uint32_t)start, (uint32_t)bytes};
    requests->count++;
}

void fth_requests_add(struct fth_requests *requests, size_t from, const struct fth_shape *shape,
                      uint64_t address, uint64_t bytes, const struct fth_request *like)
{
    uint64_t start = address & (shape->line_bytes - 1), line = address - start;
    while (bytes > shape->line_bytes - start) {
        const uint64_t here = shape->line_bytes - start;
        add_piece(requests, from, shape, line, start, here, like);
        line += shape->line_bytes;
        start = 0;
        bytes -= here;
    }
    if (bytes)
        add_piece(requests, from, shape, line, start, bytes, like);
}

/* By insertion: mostly there is nothing to be done. */
static void sort(uint64_t *addresses, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t address = addresses[i];
        uint32_t at = i;
        for (; at > 0 && addresses[at - 1] > address; at--)
            addresses[at] = addresses[at - 1];
        addresses[at] = address;
    }
}

/* The end of what begins there, which no address lies past. */
static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}

/* Lanes in the order of addresses, in as few pieces as they come to. */
static void add_lanes(struct fth_requests *requests, const struct fth_shape *shape,
                      const struct fth_trace_told *access, uint64_t bytes,
                      const struct fth_request *like)
{
    const size_t from = requests->count;
    uint64_t addresses[32], falls = 0;
    fth_trace_expand(access, addresses);
    for (uint32_t i = 1; i < access->threads; i++)
        falls |= addresses[i] < addresses[i - 1];
    if (falls)
        sort(addresses, access->threads);
    uint64_t start = addresses[0], end = end_of(start, bytes);
    for (uint32_t i = 1; i < access->threads; i++) {
        if (addresses[i] <= end) {
            end = end_of(addresses[i], bytes);
            continue;
        }
        fth_requests_add(requests, from, shape, start, end - start, like);
        start = addresses[i];
        end = end_of(start, bytes);
    }
    fth_requests_add(requests, from, shape, start, end - start, like);
}

/* Lanes that lie side by side but for a few breaks, each behind the one before: as many pieces as
 * there are breaks, and one. False, and nothing done, where they are not so. */
static bool add_rows(struct fth_requests *requests, const struct fth_shape *shape,
                     const struct fth_trace_told *access, uint64_t bytes,
                     const struct fth_request *like)
{
    if (access->affine || access->steps[0] != bytes || access->first > UINT64_MAX / 2)
        return false;
    for (uint32_t left = access->breaks; left; left &= left - 1) {
        const uint64_t step = access->steps[__builtin_ctz(left)];
        if (step <= bytes || step > MAX_STEP)
            return false;
    }
    const size_t from = requests->count;
    uint64_t start = access->first;
    uint32_t lane = 0;
    for (uint32_t left = access->breaks; left; left &= left - 1) {
        const uint32_t last = (uint32_t)__builtin_ctz(left);
        const uint64_t size = (last + 1 - lane) * bytes;
        fth_requests_add(requests, from, shape, start, size, like);
        start += size - bytes + access->steps[last];
        lane = last + 1;
    }
    fth_requests_add(requests, from, shape, start, (access->threads - lane) * bytes, like);
    return true;
}

/* Lanes that are whole lines apart, none of them over the end of its own. */
static void add_apart(struct fth_requests *requests, const struct fth_shape *shape,
                      const struct fth_trace_told *access, uint64_t bytes,
                      const struct fth_request *like)
{
    const uint64_t start = access->first & (shape->line_bytes - 1);
    struct fth_request request = *like;
    request.line = access->first - start;
    request.sectors = fth_sectors_of(shape->sector_shift, start, start + bytes);
    request.run_count = 1;
    for (uint32_t i = 0; i < access->threads && fth_requests_reserve(requests); i++) {
        request.run = (uint32_t)requests->run_count;
        requests->items[requests->count++] = request;
        requests->runs[requests->run_count++] =
            (struct fth_cache_run){(uint32_t)start, (uint32_t)bytes};
        request.line += access->steps[0];
    }
}

void fth_coalesce(struct fth_requests *requests, const struct fth_shape *shape,
                  const struct fth_trace_told *access,
                  const struct fth_trace_instruction *instruction)
{
    const struct fth_request like = {.warp = access->warp,
                                     .instruction = access->instruction,
                                     .kind = (uint8_t)instruction->kind,
                                     .flags = instruction->cache_op == FTH_CACHE_CG ||
                                                      instruction->cache_op == FTH_CACHE_CV ||
                                                      instruction->cache_op == FTH_CACHE_VOLATILE
                                                  ? FTH_REQUEST_PAST_L1
                                                  : 0};
    const uint64_t bytes = instruction->bytes;
    const uint64_t step = access->threads > 1 ? access->steps[0] : 0;
    const uint64_t last = access->first + (access->threads - 1) * step;
    /* Mostly the lanes lie side by side, or all at one place: one run. */
    if (access->affine && (step == 0 || (step == bytes && last >= access->first)))
        fth_requests_add(requests, requests->count, shape, access->first,
                         end_of(last, bytes) - access->first, &like);
    else if (access->affine && step && (step & (shape->line_bytes - 1)) == 0 && step <= MAX_STEP &&
             access->first <= UINT64_MAX / 2 &&
             (access->first & (shape->line_bytes - 1)) + bytes <= shape->line_bytes)
        add_apart(requests, shape, access, bytes, &like);
    else if (!add_rows(requests, shape, access, bytes, &like))
        add_lanes(requests, shape, access, bytes, &like);
}
