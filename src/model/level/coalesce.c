/* Coalescing: converts each access of a warp into the requests that a cache receives. There is one
 * request per line that the access touches; of an atomic, one per line and turn. It lists the
 * sectors that the lanes need and the byte ranges ("runs") within the line.
 *
 * The lanes of most accesses follow a simple pattern, which the trace stores as a first address and
 * the steps from lane to lane. Three fast paths use that form directly; only the remaining accesses
 * are expanded to 32 addresses and sorted. */
#include "model/level/level.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* Largest step from lane to lane, in bytes, that the fast paths accept. Together with a first
 * address in the lower half of the address space it guarantees that no lane's address wraps around.
 */
#define MAX_LANE_STEP ((uint64_t)1 << 40)

/* Local memory: bytes of a word, and distance of two words of a lane (see FTH_TRACE_LOCAL). */
enum { LOCAL_WORD = 4, LOCAL_WORD_DISTANCE = 128 };

void fth_line_requests_clear(struct fth_line_requests *requests)
{
    requests->count = 0;
    requests->run_count = 0;
}

void fth_line_requests_drop(struct fth_line_requests *requests, size_t count)
{
    const size_t left = requests->count - count;
    if (!left) {
        fth_line_requests_clear(requests);
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

void fth_line_requests_fini(struct fth_line_requests *requests)
{
    free(requests->items);
    free(requests->runs);
    *requests = (struct fth_line_requests){0};
}

struct fth_cache_run fth_take_sector_run(const struct fth_shape *shape, uint64_t *sectors)
{
    const unsigned first = (unsigned)__builtin_ctzll(*sectors);
    const uint64_t rest = ~(*sectors >> first);
    const unsigned count = rest ? (unsigned)__builtin_ctzll(rest) : 64 - first;
    *sectors = first + count < 64 ? *sectors >> (first + count) << (first + count) : 0;
    return (struct fth_cache_run){(uint32_t)first << shape->sector_shift,
                                  (uint32_t)count << shape->sector_shift};
}

bool fth_line_requests_grow(struct fth_line_requests *requests)
{
    requests->failed = requests->failed ||
                       !fth_grow((void **)&requests->items, requests->count, &requests->capacity,
                                 sizeof *requests->items) ||
                       !fth_grow((void **)&requests->runs, requests->run_count,
                                 &requests->run_capacity, sizeof *requests->runs);
    return !requests->failed;
}

/* Adds the bytes [from, to) of the line to the last request. They are merged into its last run if
 * they touch or overlap it; otherwise they become a new run. */
static void extend_last(struct fth_line_requests *requests, uint64_t from, uint64_t to)
{
    struct fth_line_request *request = &requests->items[requests->count - 1];
    struct fth_cache_run *last_run = &requests->runs[requests->run_count - 1];
    const uint64_t end = (uint64_t)last_run->from + last_run->bytes;
    if (from >= last_run->from && from <= end) {
        if (to > end)
            last_run->bytes = (uint32_t)(to - last_run->from);
        return;
    }
    request->run_count++;
    requests->runs[requests->run_count++] =
        (struct fth_cache_run){(uint32_t)from, (uint32_t)(to - from)};
}

/* Adds bytes that lie within one line: to the last request if that request is for the same line and
 * has at least index `from`, otherwise as a new request with the other fields of `template`. */
static inline void add_piece(struct fth_line_requests *requests, size_t from,
                             const struct fth_shape *shape, uint64_t line, uint64_t start,
                             uint64_t bytes, const struct fth_line_request *template)
{
    const uint64_t sectors = fth_sectors_of(shape->sector_shift, start, start + bytes);
    if (!fth_line_requests_reserve(requests))
        return;
    struct fth_line_request *request = &requests->items[requests->count];
    if (requests->count > from && request[-1].line == line) {
        request[-1].sectors |= sectors;
        extend_last(requests, start, start + bytes);
        return;
    }
    *request = *template;
    request->line = line;
    request->sectors = sectors;
    request->run = (uint32_t)requests->run_count;
    request->run_count = 1;
    requests->runs[requests->run_count++] =
        (struct fth_cache_run){(uint32_t)start, (uint32_t)bytes};
    requests->count++;
}

void fth_line_requests_add(struct fth_line_requests *requests, size_t from,
                           const struct fth_shape *shape, uint64_t address, uint64_t bytes,
                           const struct fth_line_request *template)
{
    uint64_t start = address & (shape->line_bytes - 1), line = address - start;
    while (bytes > shape->line_bytes - start) {
        const uint64_t here = shape->line_bytes - start;
        add_piece(requests, from, shape, line, start, here, template);
        line += shape->line_bytes;
        start = 0;
        bytes -= here;
    }
    if (bytes)
        add_piece(requests, from, shape, line, start, bytes, template);
}

/* Insertion sort, because the addresses are usually almost sorted. */
static void sort_addresses(uint64_t *addresses, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t address = addresses[i];
        uint32_t at = i;
        for (; at > 0 && addresses[at - 1] > address; at--)
            addresses[at] = addresses[at - 1];
        addresses[at] = address;
    }
}

/* Returns address + bytes, limited to UINT64_MAX instead of wrapping around. */
static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}

/* Adds each maximal range of contiguous bytes of lanes with ascending addresses. */
static void add_sorted(struct fth_line_requests *requests, const struct fth_shape *shape,
                       const uint64_t *addresses, uint32_t count, uint64_t bytes,
                       const struct fth_line_request *template)
{
    const size_t from = requests->count;
    uint64_t start = addresses[0], end = end_of(start, bytes);
    for (uint32_t i = 1; i < count; i++) {
        if (addresses[i] <= end) {
            end = end_of(addresses[i], bytes);
            continue;
        }
        fth_line_requests_add(requests, from, shape, start, end - start, template);
        start = addresses[i];
        end = end_of(start, bytes);
    }
    fth_line_requests_add(requests, from, shape, start, end - start, template);
}

/* The general case: expands the addresses of the lanes and sorts them if needed. */
static void add_lanes(struct fth_line_requests *requests, const struct fth_shape *shape,
                      const struct fth_compact_access *access, uint64_t bytes,
                      const struct fth_line_request *template)
{
    uint64_t addresses[32], unsorted = 0;
    fth_trace_expand(access, addresses);
    for (uint32_t i = 1; i < access->threads; i++)
        unsorted |= addresses[i] < addresses[i - 1];
    if (unsorted)
        sort_addresses(addresses, access->threads);
    add_sorted(requests, shape, addresses, access->threads, bytes, template);
}

/* Adds an atomic. Its lanes with the same address follow one after the other: the k-th lane of each
 * address takes part in turn k, and each turn has requests of its own
 * (docs/results/counting-rules.md). An atomic whose lanes all have one address does not come here.
 * Usually the address is the same in the source, and NVIDIA's assembler lets one lane add for all
 * lanes. */
static void add_turns(struct fth_line_requests *requests, const struct fth_shape *shape,
                      const struct fth_compact_access *access, uint64_t bytes,
                      const struct fth_line_request *template)
{
    uint64_t addresses[32];
    uint32_t left = access->threads;
    fth_trace_expand(access, addresses);
    sort_addresses(addresses, left);
    while (left) {
        uint64_t turn[32], rest[32] = {0};
        uint32_t turn_count = 0, rest_count = 0;
        for (uint32_t i = 0; i < left; i++) {
            if (turn_count && addresses[i] == turn[turn_count - 1])
                rest[rest_count++] = addresses[i];
            else
                turn[turn_count++] = addresses[i];
        }
        add_sorted(requests, shape, turn, turn_count, bytes, template);
        memcpy(addresses, rest, rest_count * sizeof *rest);
        left = rest_count;
    }
}

/* Fast path for lanes whose addresses ascend and are contiguous except for a few gaps: adds one
 * range per contiguous segment. Returns false and adds nothing if the access has another form. */
static bool add_segments(struct fth_line_requests *requests, const struct fth_shape *shape,
                         const struct fth_compact_access *access, uint64_t bytes,
                         const struct fth_line_request *template)
{
    if (access->affine || access->steps[0] != bytes || access->first > UINT64_MAX / 2)
        return false;
    for (uint32_t left = access->breaks; left; left &= left - 1) {
        const uint64_t step = access->steps[__builtin_ctz(left)];
        if (step <= bytes || step > MAX_LANE_STEP)
            return false;
    }
    const size_t from = requests->count;
    uint64_t start = access->first;
    uint32_t lane = 0;
    for (uint32_t left = access->breaks; left; left &= left - 1) {
        const uint32_t last = (uint32_t)__builtin_ctz(left);
        const uint64_t size = (last + 1 - lane) * bytes;
        fth_line_requests_add(requests, from, shape, start, size, template);
        start += size - bytes + access->steps[last];
        lane = last + 1;
    }
    fth_line_requests_add(requests, from, shape, start, (access->threads - lane) * bytes, template);
    return true;
}

/* Fast path for lanes whose distance is a multiple of the line size and whose data does not cross
 * the end of a line: every lane has a request of its own. */
static void add_strided(struct fth_line_requests *requests, const struct fth_shape *shape,
                        const struct fth_compact_access *access, uint64_t bytes,
                        const struct fth_line_request *template)
{
    const uint64_t start = access->first & (shape->line_bytes - 1);
    struct fth_line_request request = *template;
    request.line = access->first - start;
    request.sectors = fth_sectors_of(shape->sector_shift, start, start + bytes);
    request.run_count = 1;
    for (uint32_t i = 0; i < access->threads && fth_line_requests_reserve(requests); i++) {
        request.run = (uint32_t)requests->run_count;
        requests->items[requests->count++] = request;
        requests->runs[requests->run_count++] =
            (struct fth_cache_run){(uint32_t)start, (uint32_t)bytes};
        request.line += access->steps[0];
    }
}

/* Returns the number of FTH_LINE_REQUEST_FILL_SHIFT for fills of `bytes`; 0: not a power of two
 * from 32 to 2,048. */
static unsigned fill_number(unsigned bytes)
{
    for (unsigned number = 1; number < 8; number++)
        if (bytes == 16u << number)
            return number;
    return 0;
}

/* Returns the flags of the requests of an instruction. */
static uint8_t find_flags(const struct fth_shape *shape,
                          const struct fth_trace_instruction *instruction)
{
    static const uint8_t flags[] = {[FTH_L1_RULE_UNKNOWN] = 0,
                                    [FTH_L1_RULE_CACHED] = 0,
                                    [FTH_L1_RULE_NO_ALLOCATE] = FTH_LINE_REQUEST_NO_ALLOCATE,
                                    [FTH_L1_RULE_BYPASS] = FTH_LINE_REQUEST_BYPASS_L1,
                                    [FTH_L1_RULE_EVICT] =
                                        FTH_LINE_REQUEST_BYPASS_L1 | FTH_LINE_REQUEST_EVICT};
    static const enum fth_ptx_access_kind kinds[] = {[FTH_TRACE_READ] = FTH_ACCESS_READ,
                                                     [FTH_TRACE_WRITE] = FTH_ACCESS_WRITE,
                                                     [FTH_TRACE_ATOMIC] = FTH_ACCESS_ATOMIC};
    const struct fth_variant_rules *rules = shape->variants;
    const enum fth_ptx_cache_op cache_op = (enum fth_ptx_cache_op)instruction->cache_op;
    const bool bypasses =
        cache_op == FTH_CACHE_CG || cache_op == FTH_CACHE_CV || cache_op == FTH_CACHE_VOLATILE;
    const uint8_t other = bypasses ? FTH_LINE_REQUEST_BYPASS_L1 : 0;
    if (!rules || (cache_op <= FTH_CACHE_CA && instruction->hints == 0))
        return other;
    const struct fth_ptx_variants variants =
        fth_ptx_variants_of(kinds[instruction->kind], cache_op, instruction->hints);
    unsigned rule = rules->l1[variants.base] ? rules->l1[variants.base] : rules->l1[variants.other];
    const uint16_t *fills = rules->l2_fill;
    const unsigned fill = fills[variants.size]         ? fills[variants.size]
                          : fills[variants.other_size] ? fills[variants.other_size]
                          : fills[variants.base]       ? fills[variants.base]
                                                       : fills[variants.other];
    const uint8_t l1_flags = rule == FTH_L1_RULE_UNKNOWN ? other : flags[rule];
    return instruction->kind == FTH_TRACE_READ
               ? (uint8_t)(l1_flags | fill_number(fill) << FTH_LINE_REQUEST_FILL_SHIFT)
               : l1_flags;
}

/* Adds the requests of an access of `bytes` per lane. */
static void add_access(struct fth_line_requests *requests, const struct fth_shape *shape,
                       const struct fth_compact_access *access, uint64_t bytes,
                       const struct fth_line_request *template)
{
    const uint64_t step = access->threads > 1 ? access->steps[0] : 0;
    const uint64_t last = access->first + (access->threads - 1) * step;
    if (template->kind == FTH_TRACE_ATOMIC && !access->affine)
        add_turns(requests, shape, access, bytes, template);
    /* The most common cases: contiguous lanes, or all lanes at the same address. Both are one
     * range. */
    else if (access->affine && (step == 0 || (step == bytes && last >= access->first)))
        fth_line_requests_add(requests, requests->count, shape, access->first,
                              end_of(last, bytes) - access->first, template);
    else if (access->affine && step && (step & (shape->line_bytes - 1)) == 0 &&
             step <= MAX_LANE_STEP && access->first <= UINT64_MAX / 2 &&
             (access->first & (shape->line_bytes - 1)) + bytes <= shape->line_bytes)
        add_strided(requests, shape, access, bytes, template);
    else if (!add_segments(requests, shape, access, bytes, template))
        add_lanes(requests, shape, access, bytes, template);
}

/* Adds an access to local memory. Each word of the lanes has requests of its own, and the L1 of an
 * H200 does not keep a store of less than a word (docs/results/counting-rules.md). */
static void add_local(struct fth_line_requests *requests, const struct fth_shape *shape,
                      const struct fth_compact_access *access, uint64_t bytes,
                      struct fth_line_request template)
{
    struct fth_compact_access word = *access;
    if (bytes < LOCAL_WORD && template.kind == FTH_TRACE_WRITE)
        template.flags |= FTH_LINE_REQUEST_NO_ALLOCATE;
    for (uint64_t at = 0; at < bytes; at += LOCAL_WORD, word.first += LOCAL_WORD_DISTANCE)
        add_access(requests, shape, &word, bytes < LOCAL_WORD ? bytes : LOCAL_WORD, &template);
}

/* Lines that the texture unit of an H200 looks up in a cycle (docs/results/textures-h200.md). */
enum { TEXTURE_LINES = 4 };

/* Adds an access to a texture or surface. The lanes of each request of the texture unit have line
 * requests of their own. */
static void add_texels(struct fth_line_requests *requests, const struct fth_shape *shape,
                       const struct fth_compact_access *access,
                       const struct fth_trace_instruction *instruction,
                       const struct fth_line_request *template)
{
    const uint32_t bits =
        FTH_TRACE_TEXELS(instruction->hints) * FTH_TRACE_TEXTURE_LANES(instruction->hints);
    const uint32_t low = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
    uint64_t addresses[32];
    uint32_t done = 0;
    fth_trace_expand(access, addresses);
    for (uint32_t first = 0; first < 32; first += bits) {
        const uint32_t count = (uint32_t)__builtin_popcount(access->mask >> first & low);
        if (!count)
            continue;
        const size_t from = requests->count;
        sort_addresses(addresses + done, count);
        add_sorted(requests, shape, addresses + done, count, instruction->bytes, template);
        for (size_t i = from; i < requests->count; i++)
            if ((i - from) % TEXTURE_LINES)
                requests->items[i].flags |= FTH_LINE_REQUEST_TOGETHER;
        done += count;
    }
}

void fth_coalesce(struct fth_line_requests *requests, const struct fth_shape *shape,
                  const struct fth_compact_access *access,
                  const struct fth_trace_instruction *instruction)
{
    struct fth_line_request template = {.warp = access->warp,
                                        .instruction = access->instruction,
                                        .kind = (uint8_t)instruction->kind,
                                        .flags = find_flags(shape, instruction)};
    if (instruction->hints & FTH_TRACE_FLOAT)
        template.flags |= FTH_LINE_REQUEST_FLOAT;
    if (instruction->hints & FTH_TRACE_LOCAL)
        add_local(requests, shape, access, instruction->bytes, template);
    else if (instruction->hints & FTH_TRACE_TEXTURE)
        add_texels(requests, shape, access, instruction, &template);
    else
        add_access(requests, shape, access, instruction->bytes, &template);
}
