/* Reads the accesses of a launch from the trace and keeps them per warp until the warp issues them.
 *
 * The blocks of a launch are divided into *chunks* of consecutive blocks. A chunk is opened when
 * its first block starts, and has a cursor of its own, which returns accesses in the order of their
 * access numbers. It is read on demand: only until the warp that needs its next access has one.
 * Warps progress at similar speeds, so few accesses are in memory, even if blocks are long.
 *
 * The accesses are coalesced (patterns.c) when they are read, and stored in *slabs*. A slab is
 * reused after all of its accesses have been dropped. */
#include "model/timed/timed.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Chosen: much larger than an access, small for the host; a large page of x86-64. */
    SLAB_BYTES = 1 << 21,
    ACCESS_ALIGNMENT = 64, /* that of a line of the host's caches, into which most accesses fit */
    /* Minimum number of accesses per chunk. The trace is sorted in parts of about this size, and
     * each chunk decodes all parts that contain one of its blocks. */
    CHUNK_ACCESSES = 1 << 18,
    GAPS = 256,                 /* chosen: more pairs of accesses than most kernels have */
    MAX_CHUNK_BLOCKS = 1 << 20, /* limits the memory of a chunk */
    /* Blocks per access from which on blocks without accesses are left out. Chosen: protects
     * against a short trace that declares a grid of 2^32 blocks. */
    SPARSE_BLOCKS_PER_ACCESS = 16,
    ONE_BARRIER = 1 << 16, /* unit of struct gap.barriers and fth_warp_stream.barriers */
    /* Instructions between two accesses if the trace does not say how many there are. Chosen: a
     * loop that loads, computes an address and a sum. */
    DEFAULT_GAP = 8
};

/* Slabs are aligned to SLAB_BYTES, so the slab of an access follows from its address. */
struct fth_slab {
    struct fth_slab *next;     /* in the list of free slabs */
    struct fth_slab *next_all; /* in the list of all slabs */
    size_t used;               /* bytes, with this header */
    size_t accesses;           /* that have not been dropped */
    bool closed;               /* nothing more will be added */
    struct fth_slab_pool *pool;
    _Alignas(ACCESS_ALIGNMENT) char memory[];
};

struct chunk {
    struct chunk *next;
    uint64_t first, count;           /* blocks */
    uint64_t open;                   /* blocks that have been opened and not closed */
    uint64_t unopened;               /* blocks that can still be opened */
    struct fth_trace_cursor *cursor; /* NULL: everything has been read */
    struct fth_warp_stream *streams; /* [count][warps_per_block] */
};

/* What a warp does between two accesses, by their instructions. */
struct gap {
    uint32_t last, instruction;
    uint32_t gap, latency; /* as in struct fth_timed_access, as are the following ones */
    uint32_t shared;
    uint32_t barriers; /* on average, in units of 1 / ONE_BARRIER, at most one */
    bool known;
};

struct fth_streams {
    const struct fth_trace *trace;
    size_t launch;
    const struct fth_pace *pace; /* NULL: unknown */
    bool has_constants;          /* a step of `pace` loads different constants */
    struct fth_setting setting;
    uint64_t chunk_blocks;
    struct chunk *chunks; /* open ones, newest first */
    struct fth_slab_pool *pool;
    struct fth_slab *current;
    const struct fth_timed_l1s *l1s; /* NULL: accesses have no rows */
    struct gap gaps[GAPS];           /* those that were needed last, by a hash */
    uint64_t *warps;                 /* [instructions][3] */
    uint64_t loaded;
    bool sparse;
    uint64_t *used_blocks; /* in a sparse launch: blocks with accesses, ascending */
    size_t used_count, used_capacity, used_next;
};

/* ---- slabs ---- */

static void free_slab(struct fth_slab *slab)
{
    slab->next = slab->pool->free;
    slab->pool->free = slab;
}

void fth_slab_pool_fini(struct fth_slab_pool *pool)
{
    while (pool->all) {
        struct fth_slab *slab = pool->all;
        pool->all = slab->next_all;
        free(slab);
    }
    pool->free = NULL;
    fth_patterns_destroy(pool->patterns);
    pool->patterns = NULL;
}

/* Returns a slab without accesses, or NULL. */
static struct fth_slab *take_slab(struct fth_streams *streams)
{
    struct fth_slab_pool *pool = streams->pool;
    struct fth_slab *slab = pool->free;
    if (slab) {
        pool->free = slab->next;
    } else {
        slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES);
        if (!slab)
            return NULL;
        fth_memory_use_large_pages(slab, SLAB_BYTES);
        slab->pool = pool;
        slab->next_all = pool->all;
        pool->all = slab;
    }
    slab->used = sizeof *slab;
    slab->accesses = 0;
    slab->closed = false;
    return slab;
}

/* Returns memory for an access, or NULL. */
static struct fth_timed_access *allocate(struct fth_streams *streams, size_t bytes)
{
    struct fth_slab *slab = streams->current;
    bytes = (bytes + ACCESS_ALIGNMENT - 1) / ACCESS_ALIGNMENT * ACCESS_ALIGNMENT;
    if (!slab || slab->used + bytes > SLAB_BYTES) {
        if (slab) {
            slab->closed = true;
            if (slab->accesses == 0)
                free_slab(slab);
        }
        streams->current = slab = take_slab(streams);
        if (!slab)
            return NULL;
    }
    struct fth_timed_access *access =
        (struct fth_timed_access *)(void *)((char *)slab + slab->used);
    slab->used += bytes;
    slab->accesses++;
    return access;
}

/* Sets the rows of the lines of an access, behind its `bytes` bytes. */
static void set_rows(const struct fth_streams *streams, struct fth_timed_access *access,
                     size_t bytes)
{
    access->rows_at = bytes <= UINT16_MAX ? (uint16_t)bytes : 0;
    if (access->rows_at)
        fth_timed_l1s_find_rows(streams->l1s, access->lines, access->line_count,
                                (uint16_t *)(void *)((char *)access + access->rows_at));
}

void fth_streams_place(const struct fth_streams *streams, const struct fth_timed_access *access,
                       uint64_t address)
{
    /* The access is in a slab of the streams, which may change it. */
    struct fth_timed_access *own = (struct fth_timed_access *)access;
    for (uint32_t i = 0; i < own->line_count; i++)
        own->lines[i].line += address;
    if (own->rows_at)
        set_rows(streams, own, own->rows_at);
}

void fth_streams_set_l1s(struct fth_streams *streams, const struct fth_timed_l1s *l1s)
{
    streams->l1s = l1s;
}

void fth_streams_drop(const struct fth_timed_access *access)
{
    struct fth_slab *slab =
        (struct fth_slab *)(void *)((char *)access - (uintptr_t)access % SLAB_BYTES);
    if (--slab->accesses == 0 && slab->closed)
        free_slab(slab);
}

/* ---- reading ---- */

const struct fth_cache_run *fth_streams_runs(const struct fth_timed_access *access)
{
    return (const struct fth_cache_run *)(const void *)(access->lines + access->line_count);
}

/* Returns the average of `count` numbers with this sum, rounded to the nearest integer, at most
 * `max`. */
static uint32_t average(uint64_t sum, uint64_t count, uint32_t max)
{
    const uint64_t rounded = (sum + count / 2) / count;
    return rounded < max ? (uint32_t)rounded : max;
}

struct fth_timed_tail fth_streams_tail(const struct fth_streams *streams,
                                       const struct fth_warp_stream *stream)
{
    const struct fth_pace_step *step =
        streams->pace ? fth_pace_find(streams->pace, stream->instruction, FTH_PACE_END) : NULL;
    if (!step || !step->count)
        return (struct fth_timed_tail){0};
    return (struct fth_timed_tail){average(step->instructions, step->count, UINT32_MAX / 2),
                                   average(step->latency_cycles, step->count, UINT32_MAX)};
}

/* Whether an access is a part of the instruction of the access before it, so that it follows at
 * once. */
static bool continues(const struct fth_streams *streams, uint32_t instruction)
{
    return fth_trace_instruction_at(streams->trace, instruction)->hints & FTH_TRACE_CONTINUES;
}

uint32_t fth_streams_constants(const struct fth_streams *streams, uint32_t last,
                               uint32_t instruction)
{
    if (!streams->has_constants || continues(streams, instruction))
        return 0;
    const struct fth_pace_step *step = fth_pace_find(streams->pace, last, instruction);
    return step && step->count ? average(step->constants, step->count, UINT32_MAX / 2) : 0;
}

/* Computes what a warp does between its last access, of instruction `last`, and the next one. */
static struct gap find_gap(const struct fth_streams *streams, uint32_t last, uint32_t instruction)
{
    const struct fth_pace_step *step =
        streams->pace ? fth_pace_find(streams->pace, last, instruction) : NULL;
    struct gap result = {
        .known = true, .last = last, .instruction = instruction, .gap = DEFAULT_GAP};
    if (continues(streams, instruction)) {
        result.gap = 0;
        return result;
    }
    if (!step || !step->count)
        return result;
    const uint32_t gap = average(step->instructions, step->count, UINT32_MAX / 2);
    result.gap = gap < 1 ? 1 : gap;
    result.latency = average(step->latency_cycles, step->count, UINT32_MAX);
    result.shared = average(step->shared, step->count, UINT32_MAX / 2);
    result.barriers = (uint32_t)(FTH_MIN(step->barriers, step->count) * ONE_BARRIER / step->count);
    return result;
}

/* Sets what the warp does between its last access and this one. If only some pairs of accesses of
 * the same instructions have a barrier between them, as at the end of a loop, the warp waits at the
 * average distance. */
static void set_gap(struct fth_streams *streams, struct fth_warp_stream *stream,
                    struct fth_timed_access *access)
{
    const uint32_t last = stream->instruction;
    struct gap *gap = &streams->gaps[(last * 31 + access->instruction) % GAPS];
    if (!gap->known || gap->last != last || gap->instruction != access->instruction)
        *gap = find_gap(streams, last, access->instruction);
    access->gap = gap->gap;
    access->latency = gap->latency;
    access->shared = gap->shared;
    stream->barriers += gap->barriers;
    access->barrier = stream->barriers >= ONE_BARRIER;
    if (access->barrier)
        stream->barriers -= ONE_BARRIER;
}

static void append(struct fth_warp_stream *stream, struct fth_timed_access *access)
{
    access->next = NULL;
    if (stream->last)
        stream->last->next = access;
    else
        stream->first = access;
    stream->last = access;
}

static enum fth_status add_access(struct fth_streams *streams, struct chunk *chunk,
                                  const struct fth_compact_access *from, struct fth_error *error)
{
    FTH_TRY(fth_check_access(from, &streams->setting, error));
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(streams->trace, from->instruction);
    const size_t warp =
        (size_t)((from->block - chunk->first) * streams->setting.warps_per_block + from->warp);
    streams->warps[(size_t)from->instruction * 3 + (size_t)instruction->kind]++;
    streams->loaded++;
    size_t bytes = 0;
    uint64_t shift = 0;
    const struct fth_timed_access *pattern =
        fth_patterns_find(streams->pool->patterns, from, instruction, &bytes, &shift);
    const size_t row_bytes = streams->l1s && pattern ? pattern->line_count * sizeof(uint16_t) : 0;
    struct fth_timed_access *access = pattern ? allocate(streams, bytes + row_bytes) : NULL;
    if (!access)
        return fth_no_memory(error, "model caches", NULL);
    memcpy(access, pattern, bytes);
    for (uint32_t i = 0; i < access->line_count; i++)
        access->lines[i].line += shift;
    if (row_bytes)
        set_rows(streams, access, bytes);
    struct fth_warp_stream *stream = &chunk->streams[warp];
    set_gap(streams, stream, access);
    stream->instruction = from->instruction;
    append(stream, access);
    return FTH_OK;
}

/* Reads the next accesses of a chunk. */
static enum fth_status read_more(struct fth_streams *streams, struct chunk *chunk,
                                 struct fth_error *error)
{
    const struct fth_compact_access *accesses = NULL;
    size_t count = 0;
    FTH_TRY(fth_trace_next_compact(chunk->cursor, SIZE_MAX, &accesses, &count, error));
    for (size_t i = 0; i < count; i++)
        if (accesses[i].block - chunk->first < chunk->count)
            FTH_TRY(add_access(streams, chunk, &accesses[i], error));
    if (count == 0) {
        fth_trace_cursor_close(chunk->cursor);
        chunk->cursor = NULL;
    }
    return FTH_OK;
}

/* ---- chunks ---- */

static struct chunk *find_chunk(const struct fth_streams *streams, uint64_t block)
{
    struct chunk *chunk = streams->chunks;
    while (chunk && block - chunk->first >= chunk->count)
        chunk = chunk->next;
    return chunk;
}

static void free_chunk(struct chunk *chunk)
{
    fth_trace_cursor_close(chunk->cursor);
    free(chunk->streams);
    free(chunk);
}

/* Frees chunks that are not needed any more. */
static void free_chunks(struct fth_streams *streams)
{
    for (struct chunk **link = &streams->chunks; *link;) {
        struct chunk *chunk = *link;
        if (chunk->open || chunk->unopened) {
            link = &chunk->next;
            continue;
        }
        *link = chunk->next;
        free_chunk(chunk);
    }
}

static enum fth_status open_chunk(struct fth_streams *streams, uint64_t first,
                                  struct fth_error *error)
{
    const uint64_t left = streams->setting.blocks - first;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return fth_no_memory(error, "model caches", NULL);
    /* Blocks are opened in ascending order: of older chunks, none will be. */
    for (struct chunk *older = streams->chunks; older; older = older->next)
        older->unopened = 0;
    free_chunks(streams);
    chunk->next = streams->chunks;
    streams->chunks = chunk;
    chunk->first = first;
    chunk->count = chunk->unopened = left < streams->chunk_blocks ? left : streams->chunk_blocks;
    const size_t warps = (size_t)(chunk->count * streams->setting.warps_per_block);
    chunk->streams = calloc(warps, sizeof *chunk->streams);
    if (!chunk->streams)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < warps; i++)
        chunk->streams[i] =
            (struct fth_warp_stream){.instruction = FTH_PACE_START, .barriers = ONE_BARRIER / 2};
    return fth_trace_cursor_open(streams->trace, streams->launch, first, first + chunk->count - 1,
                                 &chunk->cursor, error);
}

enum fth_status fth_streams_open_block(struct fth_streams *streams, uint64_t block,
                                       struct fth_warp_stream **warps, struct fth_error *error)
{
    struct chunk *chunk = find_chunk(streams, block);
    if (!chunk) {
        FTH_TRY(open_chunk(streams, block, error));
        chunk = streams->chunks;
    }
    chunk->unopened = chunk->count - (block - chunk->first) - 1;
    chunk->open++;
    *warps = &chunk->streams[(block - chunk->first) * streams->setting.warps_per_block];
    return FTH_OK;
}

void fth_streams_close_block(struct fth_streams *streams, uint64_t block)
{
    struct chunk *chunk = find_chunk(streams, block);
    if (chunk && --chunk->open == 0 && !chunk->unopened)
        free_chunks(streams);
}

enum fth_status fth_streams_read(struct fth_streams *streams, uint64_t block,
                                 struct fth_warp_stream *stream, struct fth_error *error)
{
    struct chunk *chunk = find_chunk(streams, block);
    stream->first = stream->last = NULL;
    while (!stream->first && chunk->cursor)
        FTH_TRY(read_more(streams, chunk, error));
    return FTH_OK;
}

/* ---- blocks without accesses ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Lists the blocks that have accesses. */
static enum fth_status find_used_blocks(struct fth_streams *streams, struct fth_error *error)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_compact_access *accesses = NULL;
    size_t count = 0;
    enum fth_status status =
        fth_trace_cursor_open(streams->trace, streams->launch, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_compact(cursor, SIZE_MAX, &accesses, &count, error);
        if (status != FTH_OK || count == 0)
            break;
        for (size_t i = 0; i < count && status == FTH_OK; i++) {
            if (streams->used_count &&
                streams->used_blocks[streams->used_count - 1] == accesses[i].block)
                continue;
            if (fth_grow((void **)&streams->used_blocks, streams->used_count,
                         &streams->used_capacity, sizeof *streams->used_blocks))
                streams->used_blocks[streams->used_count++] = accesses[i].block;
            else
                status = fth_no_memory(error, "model caches", NULL);
        }
    }
    fth_trace_cursor_close(cursor);
    if (streams->used_blocks)
        qsort(streams->used_blocks, streams->used_count, sizeof *streams->used_blocks, compare);
    if (status == FTH_OK && streams->used_count &&
        streams->used_blocks[streams->used_count - 1] >= streams->setting.blocks)
        status = fth_fail(error, FTH_INVALID, "model caches", NULL,
                          "the trace has an access of block %llu, but the grid has %llu blocks",
                          (unsigned long long)streams->used_blocks[streams->used_count - 1],
                          (unsigned long long)streams->setting.blocks);
    return status;
}

uint64_t fth_streams_next_block(struct fth_streams *streams, uint64_t block)
{
    if (!streams->sparse)
        return block;
    while (streams->used_next < streams->used_count &&
           streams->used_blocks[streams->used_next] < block)
        streams->used_next++;
    return streams->used_next < streams->used_count ? streams->used_blocks[streams->used_next]
                                                    : streams->setting.blocks;
}

/* ---- creation ---- */

static enum fth_status init(struct fth_streams *streams, uint64_t resident_blocks,
                            struct fth_error *error)
{
    const uint64_t accesses = fth_trace_launch_at(streams->trace, streams->launch)->accesses;
    const uint64_t blocks = streams->setting.blocks;
    const uint64_t fit = CHUNK_ACCESSES / (accesses / blocks + 1) + 1;
    streams->chunk_blocks = fit > resident_blocks ? fit : resident_blocks;
    if (streams->chunk_blocks > MAX_CHUNK_BLOCKS)
        streams->chunk_blocks = MAX_CHUNK_BLOCKS;
    streams->warps =
        calloc(3 * (fth_trace_instruction_count(streams->trace) + 1), sizeof *streams->warps);
    if (!streams->pool->patterns)
        streams->pool->patterns = fth_patterns_create(&streams->setting.l1);
    if (!streams->warps || !streams->pool->patterns)
        return fth_no_memory(error, "model caches", NULL);
    streams->sparse = blocks > resident_blocks && blocks / SPARSE_BLOCKS_PER_ACCESS > accesses;
    return streams->sparse ? find_used_blocks(streams, error) : FTH_OK;
}

enum fth_status fth_streams_create(const struct fth_trace *trace, size_t launch,
                                   const struct fth_setting *setting, uint64_t resident_blocks,
                                   struct fth_slab_pool *pool, struct fth_streams **out,
                                   struct fth_error *error)
{
    struct fth_streams *streams = calloc(1, sizeof *streams);
    *out = NULL;
    if (!streams)
        return fth_no_memory(error, "model caches", NULL);
    streams->trace = trace;
    streams->launch = launch;
    streams->pool = pool;
    streams->pace = fth_trace_pace(trace, launch);
    for (size_t i = 0; streams->pace && i < streams->pace->count; i++)
        streams->has_constants = streams->has_constants || streams->pace->steps[i].constants;
    streams->setting = *setting;
    const enum fth_status status = init(streams, resident_blocks, error);
    if (status == FTH_OK)
        *out = streams;
    else
        fth_streams_destroy(streams);
    return status;
}

void fth_streams_destroy(struct fth_streams *streams)
{
    if (!streams)
        return;
    while (streams->chunks) {
        struct chunk *chunk = streams->chunks;
        streams->chunks = chunk->next;
        free_chunk(chunk);
    }
    /* After a failure, or with sampling, accesses have not been dropped. */
    streams->pool->free = NULL;
    for (struct fth_slab *slab = streams->pool->all; slab; slab = slab->next_all)
        free_slab(slab);
    free(streams->used_blocks);
    free(streams->warps);
    free(streams);
}

const uint64_t *fth_streams_warps(const struct fth_streams *streams)
{
    return streams->warps;
}

uint64_t fth_streams_loaded(const struct fth_streams *streams)
{
    return streams->loaded;
}
