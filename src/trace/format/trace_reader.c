/* Reads traces. A trace file is a sequence of parts, of which the last one is the index. A frame is
 * a part with up to 8,192 accesses. A run is a sequence of frames of one launch whose accesses are
 * sorted by access number (the index of the access within its warp), block and warp (trace.h,
 * docs/traces.md).
 *
 * Opening a trace reads the index, whose offset is in the tail, the last 24 bytes of the file. If
 * the file has no tail, opening reads all parts up to the first incomplete one (FTH_UNAVAILABLE).
 *
 * A cursor then merges the runs of a launch and returns its accesses in the same order. It holds
 * one frame of each run in memory and selects the next access with a heap of the runs. */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a frame in bytes. A cursor keeps one frame of each run in memory. A frame of
 * 8,192 accesses with 32 addresses of ten bytes each has less than 3 MB. */
enum { MAX_FRAME_BYTES = 8 << 20 };

struct fth_trace {
    struct fth_container *container;
    struct fth_arena arena;
    struct fth_trace_launch *launches;
    size_t launch_count, launch_capacity;
    struct fth_trace_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    struct fth_frame *frames; /* in the order of the file: by launch, run, and sort key */
    size_t frame_count, frame_capacity;
    struct fth_paces paces;
    struct fth_shared_tables shared;
    char truncated[160]; /* message for a truncated file; empty otherwise */
};

static enum fth_status refuse(const struct fth_trace *trace, const char *cause,
                              struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "read trace", fth_container_path(trace->container), "%s",
                    cause);
}

/* ---- metadata: launches, instructions, frame headers ---- */

static enum fth_status get_launch(struct fth_trace *trace, struct fth_bytes *bytes,
                                  struct fth_error *error)
{
    struct fth_trace_launch launch = {.kernel = fth_get_text(bytes, &trace->arena),
                                      .shared_bytes = UINT64_MAX};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        launch.grid[i] = fth_get_varint32(bytes);
    for (int i = 0; i < 3; i++) {
        launch.block[i] = fth_get_varint32(bytes);
        /* CUDA allows 1024 threads per block. A dimension above 1024 makes the product 0, which is
         * refused below. Multiplying with such dimensions could overflow. */
        threads *= launch.block[i] <= 1024 ? launch.block[i] : 0;
    }
    if (bytes->no_memory)
        return fth_no_memory(error, "read trace", fth_container_path(trace->container));
    if (bytes->failed || threads == 0 || threads > 1024)
        return refuse(trace, "the file is damaged: a launch has no valid header", error);
    if (!fth_grow((void **)&trace->launches, trace->launch_count, &trace->launch_capacity,
                  sizeof launch))
        return fth_no_memory(error, "read trace", NULL);
    trace->launches[trace->launch_count++] = launch;
    return FTH_OK;
}

/* Reads the totals of the last launch. */
static enum fth_status get_totals(struct fth_trace *trace, struct fth_bytes *bytes,
                                  struct fth_error *error)
{
    if (trace->launch_count == 0)
        return refuse(trace, "the file is damaged: a launch ends that did not begin", error);
    struct fth_trace_launch *launch = &trace->launches[trace->launch_count - 1];
    launch->longest = fth_get_varint(bytes);
    launch->accesses = fth_get_varint(bytes);
    launch->shared = fth_get_varint(bytes);
    launch->local = fth_get_varint(bytes);
    launch->constant = fth_get_varint(bytes);
    launch->texture = fth_get_varint(bytes);
    return bytes->failed
               ? refuse(trace, "the file is damaged: the totals of a launch are incomplete", error)
               : FTH_OK;
}

/* Read the shared memory per block and the local memory per thread in bytes. The file has the
 * former plus one, or 0 if it is unknown, which then becomes UINT64_MAX. Older files have neither;
 * the latter is absent if no launch accesses local memory. */
static void get_shared_bytes(struct fth_trace_launch *launch, struct fth_bytes *bytes)
{
    if (launch && !bytes->failed && bytes->at < bytes->end)
        launch->shared_bytes = fth_get_varint(bytes) - 1;
}

static void get_local_bytes(struct fth_trace_launch *launch, struct fth_bytes *bytes)
{
    if (launch && !bytes->failed && bytes->at < bytes->end)
        launch->local_bytes = fth_get_varint(bytes);
}

static enum fth_status get_instruction(struct fth_trace *trace, struct fth_bytes *bytes,
                                       struct fth_error *error)
{
    struct fth_trace_instruction instruction = {.line = fth_get_varint32(bytes), /* in the PTX */
                                                .wait = UINT32_MAX};
    instruction.source_file = fth_get_varint32(bytes);
    instruction.source_line = fth_get_varint32(bytes);
    instruction.index = fth_get_varint32(bytes);
    uint32_t kind = fth_get_varint32(bytes);
    instruction.kind = (enum fth_trace_access_kind)kind;
    instruction.bytes = fth_get_varint32(bytes);
    const uint32_t operator_and_hints = fth_get_varint32(bytes);
    instruction.cache_op = operator_and_hints & ((1u << FTH_TRACE_HINTS_SHIFT) - 1);
    instruction.hints = operator_and_hints >> FTH_TRACE_HINTS_SHIFT;
    /* An access has 1 to 64 bytes per lane (struct fth_trace_instruction). */
    if (bytes->failed || kind > FTH_TRACE_ATOMIC || instruction.bytes == 0 ||
        instruction.bytes > 64)
        return refuse(trace, "the file is damaged: an instruction is not valid", error);
    if (!fth_grow((void **)&trace->instructions, trace->instruction_count,
                  &trace->instruction_capacity, sizeof instruction))
        return fth_no_memory(error, "read trace", NULL);
    trace->instructions[trace->instruction_count++] = instruction;
    return FTH_OK;
}

/* Reads a part with the positions of instructions, or with the functions of these positions. */
static enum fth_status get_sources(struct fth_trace *trace, uint32_t type, struct fth_bytes *bytes,
                                   struct fth_error *error)
{
    fth_get_sources(type, trace->instructions, trace->instruction_count, bytes, &trace->arena);
    if (bytes->no_memory)
        return fth_no_memory(error, "read trace", fth_container_path(trace->container));
    return bytes->failed || bytes->at < bytes->end
               ? refuse(trace, "the file is damaged: a position in the source is not valid", error)
               : FTH_OK;
}

/* Reads a part with facts about a launch that older files do not have. */
static enum fth_status get_launch_part(struct fth_trace *trace, uint32_t type,
                                       struct fth_bytes *bytes, struct fth_error *error)
{
    if (type == FTH_PART_PACE ? fth_paces_get(&trace->paces, bytes, trace->launch_count,
                                              trace->instructions, trace->instruction_count)
        : type == FTH_PART_CONSTANTS
            ? fth_paces_get_constants(&trace->paces, bytes)
            : fth_shared_tables_get(&trace->shared, bytes, trace->launch_count, trace->instructions,
                                    trace->instruction_count))
        return FTH_OK;
    return bytes->no_memory
               ? fth_no_memory(error, "read trace", fth_container_path(trace->container))
               : refuse(trace, "the file is damaged: what warps execute is not valid", error);
}

static enum fth_status add_frame(struct fth_trace *trace, const struct fth_frame *frame,
                                 struct fth_error *error)
{
    if (frame->launch >= trace->launch_count || frame->count == 0 ||
        frame->last_block < frame->first_block || frame->last_number < frame->first_number)
        return refuse(trace, "the file is damaged: a frame header is not valid", error);
    if (!fth_grow((void **)&trace->frames, trace->frame_count, &trace->frame_capacity,
                  sizeof *frame))
        return fth_no_memory(error, "read trace", NULL);
    trace->frames[trace->frame_count++] = *frame;
    return FTH_OK;
}

/* Reads the contents of the index: launches, instructions and frame headers. */
static enum fth_status get_index(struct fth_trace *trace, struct fth_bytes *bytes,
                                 struct fth_error *error)
{
    uint64_t offset = 0, count = fth_get_varint(bytes);
    for (uint64_t i = 0; i < count; i++) {
        FTH_TRY(get_launch(trace, bytes, error));
        FTH_TRY(get_totals(trace, bytes, error));
    }
    count = fth_get_varint(bytes);
    for (uint64_t i = 0; i < count; i++)
        FTH_TRY(get_instruction(trace, bytes, error));
    count = fth_get_varint(bytes);
    for (uint64_t i = 0; i < count; i++) {
        struct fth_frame frame;
        fth_get_frame_header(bytes, &frame);
        offset += fth_get_varint(bytes); /* stored as the difference to the previous frame */
        frame.offset = offset;
        if (bytes->failed)
            return refuse(trace, "the file is damaged: the index is incomplete", error);
        FTH_TRY(add_frame(trace, &frame, error));
    }
    for (size_t i = 0; i < trace->launch_count; i++)
        get_shared_bytes(&trace->launches[i], bytes);
    for (size_t i = 0; i < trace->launch_count; i++)
        get_local_bytes(&trace->launches[i], bytes);
    if (bytes->failed || bytes->at != bytes->end)
        return refuse(trace, "the file is damaged: the index is malformed", error);
    return FTH_OK;
}

static enum fth_status read_index(struct fth_trace *trace, struct fth_error *error)
{
    struct fth_buffer content = {0};
    uint32_t type;
    uint64_t next;
    enum fth_status status = fth_container_get(
        trace->container, fth_container_index(trace->container), &type, &content, &next, error);
    if (status == FTH_UNAVAILABLE || (status == FTH_OK && type != FTH_PART_INDEX))
        status = refuse(trace, "the file is damaged: the index is not at its offset", error);
    if (status == FTH_OK) {
        struct fth_bytes bytes = fth_bytes_of(&content);
        status = get_index(trace, &bytes, error);
    }
    fth_buffer_fini(&content);
    return status;
}

/* Checks the parts before the index, and reads those that it does not repeat. The parts must
 * follow each other without a gap, the checksums of all parts except frames must be right, and the
 * frames must be at the offsets that the index states. The checksum of a frame is verified when the
 * frame is read. Together, these checks detect a flipped bit anywhere in the file. */
static enum fth_status check_parts(struct fth_trace *trace, struct fth_error *error)
{
    struct fth_buffer content = {0};
    uint64_t at = sizeof FTH_TRACE_MAGIC - 1, index = fth_container_index(trace->container);
    size_t frames = 0;
    enum fth_status status = FTH_OK;
    while (at < index && status == FTH_OK) {
        struct fth_part_header part = {.next = at};
        status = fth_container_skip(trace->container, at, &part, error);
        if (status == FTH_OK && part.type != FTH_PART_FRAME)
            status =
                fth_container_get(trace->container, at, &part.type, &content, &part.next, error);
        else if (status == FTH_OK &&
                 (frames == trace->frame_count || trace->frames[frames++].offset != at))
            status = refuse(
                trace, "the file is damaged: a frame is not in the index, or at another offset",
                error);
        struct fth_bytes bytes = fth_bytes_of(&content);
        if (status == FTH_OK && (part.type == FTH_PART_SOURCES || part.type == FTH_PART_FUNCTIONS))
            status = get_sources(trace, part.type, &bytes, error);
        else if (status == FTH_OK && fth_is_launch_part(part.type))
            status = get_launch_part(trace, part.type, &bytes, error);
        at = part.next;
    }
    if (status == FTH_UNAVAILABLE ||
        (status == FTH_OK && (at != index || frames != trace->frame_count)))
        status = refuse(trace, "the file is damaged: the parts do not end at the index", error);
    fth_buffer_fini(&content);
    return status;
}

/* ---- truncated files ---- */

/* Adds the content of the part at `offset` to the trace. This replaces reading the index. */
static enum fth_status add_part(struct fth_trace *trace, uint32_t type, uint64_t offset,
                                const struct fth_buffer *content, struct fth_error *error)
{
    struct fth_bytes bytes = fth_bytes_of(content);
    struct fth_frame frame;
    enum fth_status status = FTH_OK;
    switch (type) {
    case FTH_PART_LAUNCH: return get_launch(trace, &bytes, error);
    case FTH_PART_LAUNCH_END:
        FTH_TRY(get_totals(trace, &bytes, error));
        get_shared_bytes(&trace->launches[trace->launch_count - 1], &bytes);
        get_local_bytes(&trace->launches[trace->launch_count - 1], &bytes);
        return FTH_OK;
    case FTH_PART_INSTRUCTIONS:
        while (bytes.at < bytes.end && status == FTH_OK)
            status = get_instruction(trace, &bytes, error);
        return status;
    case FTH_PART_SOURCES:
    case FTH_PART_FUNCTIONS: return get_sources(trace, type, &bytes, error);
    case FTH_PART_PACE:
    case FTH_PART_CONSTANTS:
    case FTH_PART_SHARED: return get_launch_part(trace, type, &bytes, error);
    case FTH_PART_FRAME:
        fth_get_frame_header(&bytes, &frame);
        frame.offset = offset;
        if (bytes.failed)
            return refuse(trace, "the file is damaged: a frame has no valid header", error);
        return add_frame(trace, &frame, error);
    case FTH_PART_INDEX: return FTH_OK; /* it only repeats what the other parts contain */
    default:
        return refuse(trace, "the file is damaged, or of a newer version: unknown type of part",
                      error);
    }
}

/* Computes `accesses` and `longest` of launches whose end is missing, from the frame headers. The
 * counts of the other memory spaces remain 0. */
static void compute_missing_totals(struct fth_trace *trace)
{
    for (size_t l = 0; l < trace->launch_count; l++) {
        struct fth_trace_launch *launch = &trace->launches[l];
        if (launch->longest) /* set by get_totals(): the end of the launch is not missing */
            continue;
        for (size_t i = 0; i < trace->frame_count; i++) {
            const struct fth_frame *frame = &trace->frames[i];
            if (frame->launch != l)
                continue;
            launch->accesses += frame->count;
            if (frame->last_number >= launch->longest)
                launch->longest = frame->last_number + 1;
        }
    }
}

/* Opens a file without a valid tail: reads the parts one after the other, up to the first
 * incomplete one. If the index is complete and only the tail after it is missing, all parts are
 * read. Sets trace->truncated to a message that says how much can be read. */
static enum fth_status walk_parts(struct fth_trace *trace, struct fth_error *error)
{
    struct fth_buffer content = {0};
    uint64_t at = sizeof FTH_TRACE_MAGIC - 1, next = at;
    enum fth_status status;
    uint32_t type = 0;
    for (;; at = next) {
        status = fth_container_get(trace->container, at, &type, &content, &next, error);
        if (status == FTH_OK)
            status = add_part(trace, type, at, &content, error);
        if (status != FTH_OK || type == FTH_PART_INDEX)
            break;
    }
    fth_buffer_fini(&content);
    /* FTH_UNAVAILABLE: the file ends within the part at `at`. FTH_OK: it ends after the index. */
    if (status != FTH_UNAVAILABLE && status != FTH_OK)
        return status;
    snprintf(trace->truncated, sizeof trace->truncated,
             "the trace is truncated: %llu of the %llu bytes in the file can be read (%zu frames)",
             (unsigned long long)(status == FTH_OK ? next : at),
             (unsigned long long)fth_container_bytes(trace->container), trace->frame_count);
    compute_missing_totals(trace);
    return FTH_OK;
}

/* Takes ownership of the container, also on failure. */
static enum fth_status open_container(struct fth_container *container, struct fth_trace **out,
                                      struct fth_error *error)
{
    struct fth_trace *trace = calloc(1, sizeof *trace);
    if (!trace) {
        fth_container_close(container);
        return fth_no_memory(error, "read trace", NULL);
    }
    trace->container = container;
    bool whole = fth_container_index(container) != 0;
    enum fth_status status = whole ? read_index(trace, error) : walk_parts(trace, error);
    if (status == FTH_OK && whole)
        status = check_parts(trace, error);
    if (status == FTH_OK)
        *out = trace;
    else
        fth_trace_close(trace);
    return status;
}

enum fth_status fth_trace_open(const char *path, struct fth_trace **out, struct fth_error *error)
{
    struct fth_container *container;
    *out = NULL;
    FTH_TRY(fth_container_open(&fth_trace_format, path, &container, error));
    return open_container(container, out, error);
}

enum fth_status fth_trace_attach(int fd, const char *name, struct fth_trace **out,
                                 struct fth_error *error)
{
    struct fth_container *container;
    *out = NULL;
    FTH_TRY(fth_container_attach(&fth_trace_format, fd, name, &container, error));
    return open_container(container, out, error);
}

void fth_trace_close(struct fth_trace *trace)
{
    if (!trace)
        return;
    fth_container_close(trace->container);
    fth_arena_fini(&trace->arena);
    fth_paces_fini(&trace->paces);
    fth_shared_tables_fini(&trace->shared);
    free(trace->launches);
    free(trace->instructions);
    free(trace->frames);
    free(trace);
}

const char *fth_trace_truncated(const struct fth_trace *trace)
{
    return trace->truncated[0] ? trace->truncated : NULL;
}

uint64_t fth_trace_bytes(const struct fth_trace *trace)
{
    return fth_container_bytes(trace->container);
}

size_t fth_trace_launch_count(const struct fth_trace *trace)
{
    return trace->launch_count;
}

const struct fth_trace_launch *fth_trace_launch_at(const struct fth_trace *trace, size_t index)
{
    return index < trace->launch_count ? &trace->launches[index] : NULL;
}

const struct fth_pace *fth_trace_pace(const struct fth_trace *trace, size_t launch)
{
    const struct fth_paces *paces = &trace->paces;
    return launch < paces->count && paces->items[launch].count ? &paces->items[launch] : NULL;
}

const struct fth_trace_shared *fth_trace_shared_at(const struct fth_trace *trace, size_t launch,
                                                   size_t index)
{
    return fth_shared_tables_at(&trace->shared, launch, index);
}

size_t fth_trace_instruction_count(const struct fth_trace *trace)
{
    return trace->instruction_count;
}

const struct fth_trace_instruction *fth_trace_instruction_at(const struct fth_trace *trace,
                                                             size_t index)
{
    return index < trace->instruction_count ? &trace->instructions[index] : NULL;
}

/* ---- cursors ---- */

/* Accesses of a run that are decoded at a time. Chosen by experiment: decoding them one by one is
 * slower. */
enum { DECODE_BATCH = 32 };

struct run {
    size_t frame, last_frame; /* current and last frame, as indices in trace->frames */
    struct fth_frame_decoder *decoder;
    struct fth_buffer content;
    size_t next, count; /* accesses[next] to accesses[count - 1] are still to be returned */
    struct fth_compact_access accesses[DECODE_BATCH];
};

struct fth_trace_cursor {
    const struct fth_trace *trace;
    uint64_t first, last; /* the blocks whose accesses are returned */
    struct run *runs;
    size_t run_count, run_capacity;
    size_t *heap; /* indices of runs; the run with the earliest next access is on top */
    size_t heap_count;
    /* The earliest next access of the runs other than the top one; NULL: there is no other run. */
    const struct fth_compact_access *second;
    /* Number of accesses that the last call of fth_trace_next_compact() returned. They are still in
     * the top run; the next call skips them. */
    size_t returned;
    struct fth_trace_access access; /* the expanded access that fth_trace_next returns */
};

static const struct fth_compact_access *access_of(const struct fth_trace_cursor *cursor,
                                                  size_t place)
{
    const struct run *run = &cursor->runs[cursor->heap[place]];
    return &run->accesses[run->next];
}

static bool earlier(const struct fth_compact_access *a, const struct fth_compact_access *b)
{
    if (a->number != b->number)
        return a->number < b->number;
    if (a->block != b->block)
        return a->block < b->block;
    return a->warp < b->warp;
}

static void sift_down(struct fth_trace_cursor *cursor, size_t at)
{
    for (;;) {
        size_t min = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < cursor->heap_count &&
                earlier(access_of(cursor, child), access_of(cursor, min)))
                min = child;
        if (min == at)
            return;
        size_t moved = cursor->heap[at];
        cursor->heap[at] = cursor->heap[min];
        cursor->heap[min] = moved;
        at = min;
    }
}

/* Restores the heap order and `second` after the top has changed. */
static void restore_heap(struct fth_trace_cursor *cursor)
{
    sift_down(cursor, 0);
    cursor->second = NULL;
    for (size_t child = 1; child <= 2 && child < cursor->heap_count; child++) {
        const struct fth_compact_access *access = access_of(cursor, child);
        if (!cursor->second || earlier(access, cursor->second))
            cursor->second = access;
    }
}

/* Reads the current frame of a run and compares its header with the index. */
static enum fth_status begin_frame(const struct fth_trace_cursor *cursor, struct run *run,
                                   struct fth_error *error)
{
    const struct fth_frame *expected = &cursor->trace->frames[run->frame];
    struct fth_frame frame;
    uint32_t type;
    uint64_t next;
    enum fth_status status = fth_container_get(cursor->trace->container, expected->offset, &type,
                                               &run->content, &next, error);
    if (status == FTH_UNAVAILABLE || (status == FTH_OK && type != FTH_PART_FRAME))
        return refuse(cursor->trace, "the file is damaged: a frame is not at its offset", error);
    FTH_TRY(status);
    if (run->content.size > MAX_FRAME_BYTES)
        return refuse(cursor->trace, "a frame is larger than 8 MiB, the limit for frames", error);
    FTH_TRY(
        fth_frame_decoder_begin(run->decoder, run->content.data, run->content.size, &frame, error));
    if (frame.launch != expected->launch || frame.run != expected->run ||
        frame.count != expected->count)
        return refuse(cursor->trace, "the file is damaged: a frame differs from the index", error);
    return FTH_OK;
}

/* Returns whether the access is in the requested blocks. */
static bool is_wanted(const struct fth_trace_cursor *cursor,
                      const struct fth_compact_access *access)
{
    return access->block >= cursor->first && access->block <= cursor->last;
}

/* Moves a run to its next access in the requested blocks. Returns false at the end of the run, and
 * on failure with *status set. */
static bool run_next(const struct fth_trace_cursor *cursor, struct run *run,
                     enum fth_status *status, struct fth_error *error)
{
    for (;;) {
        for (run->next++; run->next < run->count; run->next++)
            if (is_wanted(cursor, &run->accesses[run->next]))
                return true;
        run->count =
            fth_frame_decoder_take(run->decoder, run->accesses, DECODE_BATCH, status, error);
        run->next = SIZE_MAX; /* the increment above makes it 0 */
        if (run->count)
            continue;
        if (*status != FTH_OK || run->frame == run->last_frame)
            return false;
        run->frame++;
        *status = begin_frame(cursor, run, error);
        if (*status != FTH_OK)
            return false;
    }
}

/* Returns whether a frame from `from` to `to` may contain an access of the requested blocks. */
static bool holds_wanted_block(const struct fth_trace_cursor *cursor, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        const struct fth_frame *frame = &cursor->trace->frames[i];
        if (frame->first_block <= cursor->last && frame->last_block >= cursor->first)
            return true;
    }
    return false;
}

/* Finds the runs of the launch that may contain accesses of the requested blocks. */
static enum fth_status find_runs(struct fth_trace_cursor *cursor, size_t launch,
                                 struct fth_error *error)
{
    const struct fth_trace *trace = cursor->trace;
    const uint32_t *block = trace->launches[launch].block;
    uint32_t warps = (block[0] * block[1] * block[2] + 31) / 32;
    for (size_t i = 0, end; i < trace->frame_count; i = end + 1) {
        const struct fth_frame *frame = &trace->frames[i];
        for (end = i; end + 1 < trace->frame_count && trace->frames[end + 1].run == frame->run &&
                      trace->frames[end + 1].launch == frame->launch;)
            end++;
        if (frame->launch != launch || !holds_wanted_block(cursor, i, end))
            continue;
        if (!fth_grow((void **)&cursor->runs, cursor->run_count, &cursor->run_capacity,
                      sizeof *cursor->runs))
            return fth_no_memory(error, "read trace", NULL);
        struct run *run = &cursor->runs[cursor->run_count++];
        *run = (struct run){.frame = i, .last_frame = end};
        FTH_TRY(fth_frame_decoder_create(trace->instruction_count, warps, &run->decoder, error));
    }
    return FTH_OK;
}

/* Moves each run to its first access, and builds the heap. */
static enum fth_status begin_runs(struct fth_trace_cursor *cursor, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    cursor->heap = calloc(cursor->run_count + 1, sizeof *cursor->heap);
    if (!cursor->heap)
        return fth_no_memory(error, "read trace", NULL);
    for (size_t i = 0; i < cursor->run_count; i++) {
        FTH_TRY(begin_frame(cursor, &cursor->runs[i], error));
        if (run_next(cursor, &cursor->runs[i], &status, error))
            cursor->heap[cursor->heap_count++] = i;
        FTH_TRY(status);
    }
    for (size_t i = cursor->heap_count; i-- > 0;)
        sift_down(cursor, i);
    restore_heap(cursor);
    return FTH_OK;
}

enum fth_status fth_trace_cursor_open(const struct fth_trace *trace, size_t launch, uint64_t first,
                                      uint64_t last, struct fth_trace_cursor **out,
                                      struct fth_error *error)
{
    *out = NULL;
    if (launch >= trace->launch_count)
        return fth_fail(error, FTH_NOT_FOUND, "read trace", fth_container_path(trace->container),
                        "no such launch; the trace has %zu launches", trace->launch_count);
    struct fth_trace_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return fth_no_memory(error, "read trace", NULL);
    *cursor = (struct fth_trace_cursor){.trace = trace, .first = first, .last = last};
    enum fth_status status = find_runs(cursor, launch, error);
    if (status == FTH_OK)
        status = begin_runs(cursor, error);
    if (status == FTH_OK)
        *out = cursor;
    else
        fth_trace_cursor_close(cursor);
    return status;
}

/* Skips the accesses of the top run that the last call of fth_trace_next_compact() returned. */
static enum fth_status skip_returned(struct fth_trace_cursor *cursor, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    struct run *top = &cursor->runs[cursor->heap[0]];
    top->next += cursor->returned - 1; /* run_next() skips one more */
    if (!run_next(cursor, top, &status, error)) {
        cursor->heap[0] = cursor->heap[--cursor->heap_count];
        restore_heap(cursor);
    } else if (cursor->second && earlier(cursor->second, &top->accesses[top->next])) {
        restore_heap(cursor);
    }
    return status;
}

/* Returns the next access of the top run, and those that follow it in this run as long as they are
 * decoded, belong to the requested blocks, and are not later than the next access of other runs. */
enum fth_status fth_trace_next_compact(struct fth_trace_cursor *cursor, size_t max,
                                       const struct fth_compact_access **accesses, size_t *count,
                                       struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (cursor->returned && cursor->heap_count)
        status = skip_returned(cursor, error);
    *accesses = NULL;
    *count = cursor->returned = 0;
    if (status != FTH_OK || !cursor->heap_count)
        return status;
    const struct run *top = &cursor->runs[cursor->heap[0]];
    const struct fth_compact_access *access = *accesses = &top->accesses[top->next];
    const size_t ready = top->count - top->next;
    do {
        access++;
        cursor->returned++;
    } while (cursor->returned < ready && cursor->returned < max && is_wanted(cursor, access) &&
             !(cursor->second && earlier(cursor->second, access)));
    *count = cursor->returned;
    return status;
}

enum fth_status fth_trace_next(struct fth_trace_cursor *cursor,
                               const struct fth_trace_access **access, struct fth_error *error)
{
    const struct fth_compact_access *compact;
    size_t count;
    const enum fth_status status = fth_trace_next_compact(cursor, 1, &compact, &count, error);
    *access = NULL;
    if (!compact)
        return status;
    fth_trace_expand_access(compact, &cursor->access);
    *access = &cursor->access;
    return status;
}

void fth_trace_cursor_close(struct fth_trace_cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t i = 0; i < cursor->run_count; i++) {
        fth_frame_decoder_destroy(cursor->runs[i].decoder);
        fth_buffer_fini(&cursor->runs[i].content);
    }
    free(cursor->runs);
    free(cursor->heap);
    free(cursor);
}
