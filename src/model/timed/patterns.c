/* Coalesces the accesses of a trace, and remembers the results. The accesses of an instruction
 * usually have few different *patterns*: the distances between the addresses of the lanes, and the
 * position of the first address in its line. The lines of two accesses with the same pattern differ
 * only by a constant. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* The L1 of an H200; see count_read_cycles(). */
    BANKS = 32,
    BANK_BYTES = 4,
    WIDE_BYTES = 16,
    PATTERNS = 1 << 11, /* size of the table. Chosen: some dozens of patterns per instruction */
    MIN_BYTES = 4       /* of most accesses of a lane; positions in a line are multiples of it */
};

/* Addresses from here on are not remembered: their lines could wrap around. */
#define MAX_ADDRESS (UINT64_C(1) << 62)

struct pattern {
    uint32_t instruction, threads, breaks;
    uint32_t mask; /* of an access to a texture, whose requests depend on it; otherwise 0 */
    bool known, affine;
    uint64_t first;           /* address of the first lane */
    uint64_t lowest, highest; /* address of a line */
    uint64_t steps[31];
    struct fth_timed_access *access; /* [bytes] without what depends on its warp */
    size_t bytes, capacity;
};

struct fth_patterns {
    struct fth_shape shape;
    struct fth_line_requests requests; /* of one access */
    struct pattern patterns[PATTERNS]; /* by a hash */
};

struct fth_patterns *fth_patterns_create(const struct fth_shape *shape)
{
    struct fth_patterns *patterns = calloc(1, sizeof *patterns);
    if (patterns)
        patterns->shape = *shape;
    return patterns;
}

void fth_patterns_destroy(struct fth_patterns *patterns)
{
    if (!patterns)
        return;
    for (size_t i = 0; i < PATTERNS; i++)
        free(patterns->patterns[i].access);
    fth_line_requests_fini(&patterns->requests);
    free(patterns);
}

bool fth_is_whole_request(const struct fth_shape *shape, const struct fth_line_request *request,
                          const struct fth_cache_run *runs)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->run_count; i++)
        bytes += runs[request->run + i].bytes;
    return bytes == (uint64_t)__builtin_popcountll(request->sectors) << shape->sector_shift;
}

/* Copies the requests of an access, with the runs of those that do not cover their sectors. */
static void copy_lines(const struct fth_patterns *patterns, struct pattern *pattern)
{
    const struct fth_line_requests *requests = &patterns->requests;
    struct fth_timed_access *access = pattern->access;
    struct fth_cache_run *runs = (struct fth_cache_run *)(void *)(access->lines + requests->count);
    uint32_t run_count = 0;
    pattern->lowest = UINT64_MAX;
    pattern->highest = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const struct fth_line_request *request = &requests->items[i];
        const bool whole = fth_is_whole_request(&patterns->shape, request, requests->runs);
        access->lines[i] =
            (struct fth_timed_line){.line = request->line,
                                    .sectors = (uint32_t)request->sectors,
                                    .run = (uint16_t)run_count,
                                    .run_count = (uint8_t)(whole ? 0 : request->run_count),
                                    .flags = request->flags};
        for (uint32_t k = 0; k < access->lines[i].run_count; k++)
            runs[run_count++] = requests->runs[request->run + k];
        pattern->lowest = request->line < pattern->lowest ? request->line : pattern->lowest;
        pattern->highest = request->line > pattern->highest ? request->line : pattern->highest;
    }
    access->line_count = (uint16_t)requests->count;
    pattern->bytes = (size_t)((char *)(runs + run_count) - (char *)access);
}

/* Returns the cycles that the L1 is busy with a read. It looks up FTH_TAGS_PER_CYCLE lines per
 * cycle. Its data is in banks of one word each, as that of shared memory: a word of all lines is in
 * the same bank, which delivers one of them per cycle. Measured on an H200
 * (docs/results/h200/l1-throughput.md): reads of less than WIDE_BYTES bytes per lane take one cycle
 * more if a bank delivers several words. */
static uint32_t count_read_cycles(const struct fth_line_requests *requests, uint32_t lane_bytes)
{
    uint32_t words[BANKS] = {0}, most = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const struct fth_line_request *request = &requests->items[i];
        const struct fth_cache_run *runs = requests->runs + request->run;
        const uint64_t first = request->line / BANK_BYTES;
        uint32_t next = 0; /* the word after the last run; two runs can be in the same word */
        for (uint32_t k = 0; k < request->run_count; k++) {
            const uint32_t begin = runs[k].from / BANK_BYTES, end = runs[k].from + runs[k].bytes;
            uint32_t word = begin > next ? begin : next;
            for (; word * BANK_BYTES < end; word++)
                words[(first + word) % BANKS]++;
            next = word;
        }
    }
    for (size_t i = 0; i < BANKS; i++)
        most = words[i] > most ? words[i] : most;
    most += most > 1 && lane_bytes < WIDE_BYTES;
    const uint32_t tags =
        (uint32_t)((requests->count + FTH_TAGS_PER_CYCLE - 1) / FTH_TAGS_PER_CYCLE);
    return tags > most ? tags : most;
}

/* Returns the cycles that the L1 is busy with an access. */
static uint32_t count_cycles(const struct fth_line_requests *requests,
                             const struct fth_trace_instruction *instruction)
{
    if (instruction->kind == FTH_TRACE_READ && !(instruction->hints & FTH_TRACE_TEXTURE))
        return count_read_cycles(requests, instruction->bytes);
    uint32_t cycles = 0;
    for (size_t i = 0; i < requests->count; i++)
        cycles += !(requests->items[i].flags & FTH_LINE_REQUEST_TOGETHER);
    return cycles;
}

/* Returns the mask that accesses with the same pattern have in common. */
static uint32_t mask_of(const struct fth_compact_access *access,
                        const struct fth_trace_instruction *instruction)
{
    return instruction->hints & FTH_TRACE_TEXTURE ? access->mask : 0;
}

/* Coalesces an access. Returns false without memory. */
static bool compute(struct fth_patterns *patterns, const struct fth_compact_access *from,
                    const struct fth_trace_instruction *instruction, struct pattern *pattern)
{
    struct fth_line_requests *requests = &patterns->requests;
    pattern->known = false;
    fth_line_requests_clear(requests);
    fth_coalesce(requests, &patterns->shape, from, instruction);
    const size_t most = sizeof *pattern->access + requests->count * sizeof *pattern->access->lines +
                        requests->run_count * sizeof *requests->runs;
    if (requests->failed)
        return false;
    if (most > pattern->capacity) {
        free(pattern->access);
        pattern->access = malloc(most);
        pattern->capacity = pattern->access ? most : 0;
        if (!pattern->access)
            return false;
    }
    *pattern->access = (struct fth_timed_access){.instruction = from->instruction,
                                                 .kind = (uint8_t)instruction->kind};
    copy_lines(patterns, pattern);
    pattern->access->cycles = (uint16_t)count_cycles(requests, instruction);
    pattern->known = pattern->highest < MAX_ADDRESS && from->first < MAX_ADDRESS;
    pattern->instruction = from->instruction;
    pattern->threads = from->threads;
    pattern->breaks = from->breaks;
    pattern->mask = mask_of(from, instruction);
    pattern->affine = from->affine;
    pattern->first = from->first;
    if (from->threads > 1)
        memcpy(pattern->steps, from->steps,
               (from->affine ? 1 : from->threads - 1) * sizeof *pattern->steps);
    return true;
}

/* Whether an access has a pattern. `mask`: from mask_of(). */
static bool matches(const struct fth_patterns *patterns, const struct pattern *pattern,
                    const struct fth_compact_access *access, uint32_t mask)
{
    const uint64_t shift = access->first - pattern->first;
    if (!pattern->known || pattern->instruction != access->instruction ||
        pattern->threads != access->threads || pattern->breaks != access->breaks ||
        pattern->affine != access->affine || pattern->mask != mask ||
        shift & (patterns->shape.line_bytes - 1) || access->first >= MAX_ADDRESS)
        return false;
    /* No line wraps around. */
    if (pattern->lowest + shift > pattern->highest + shift ||
        pattern->highest + shift >= MAX_ADDRESS)
        return false;
    if (access->threads == 1)
        return true;
    return access->affine ? pattern->steps[0] == access->steps[0]
                          : memcmp(pattern->steps, access->steps,
                                   (access->threads - 1) * sizeof *pattern->steps) == 0;
}

const struct fth_timed_access *fth_patterns_find(struct fth_patterns *patterns,
                                                 const struct fth_compact_access *access,
                                                 const struct fth_trace_instruction *instruction,
                                                 size_t *bytes, uint64_t *shift)
{
    const uint64_t position = (access->first & (patterns->shape.line_bytes - 1)) / MIN_BYTES;
    struct pattern *pattern =
        &patterns->patterns[(access->instruction * UINT64_C(37) + position) % PATTERNS];
    if (!matches(patterns, pattern, access, mask_of(access, instruction)) &&
        !compute(patterns, access, instruction, pattern))
        return NULL;
    *bytes = pattern->bytes;
    *shift = access->first - pattern->first;
    return pattern->access;
}
