/* Writes traces. Accesses arrive in any order. The writer collects about RUN_ACCESSES of them,
 * sorts them by number, block and warp, and writes them as one sorted run of several frames. The
 * memory that it needs therefore does not grow with the number of accesses, except for a few bytes
 * per frame. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Accesses per run, accesses per frame, and address differences of irregular accesses at which a
 * run is written early. Runs are large so that a reader has few runs to merge. Frames are small
 * because a reader holds one frame per run: 10^9 accesses make 4,000 runs, and 4,000 frames take at
 * most some hundred megabytes. Chosen within these limits, not derived. */
enum { RUN_ACCESSES = 1 << 18, FRAME_ACCESSES = 1 << 13, RUN_STEPS = 1 << 22 };

const struct fth_container_format fth_trace_format = {
    .magic = FTH_TRACE_MAGIC,
    .end_magic = FTH_TRACE_END,
    .name = "a trace",
    .read = "read trace",
    .write = "write trace",
    /* Level 9 makes files a few percent smaller than level 3, but takes three times as long. */
    .level = 3,
    .checksum = fth_fnv_checksum,
};

struct launch {
    struct fth_trace_launch header;
    uint32_t warps; /* per block */
};

struct fth_trace_writer {
    struct fth_container_writer *file;
    struct fth_arena arena;
    struct launch *launches;
    size_t launch_count, launch_capacity;
    struct fth_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t run_count;
    /* Instructions by the numbers that fth_trace_writer_instruction returns. They get a second
     * number, their index in the file, when the first frame that uses them is written. */
    struct fth_trace_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    uint32_t *ids; /* index in the file; UINT32_MAX: not written yet */
    size_t id_capacity;
    uint32_t written_count;         /* instructions in the file */
    uint32_t *written_instructions; /* by index in the file: the number in `instructions` */
    size_t written_capacity;
    struct fth_records run;          /* the accesses of the current run */
    uint32_t *order, *scratch_order; /* the sorted order of the run, and memory for sorting */
    size_t order_capacity;
    /* The pace and the accesses to shared memory of the current launch; borrowed; NULL: unknown. */
    const struct fth_pace *pace;
    const struct fth_shared_table *shared;
    struct fth_buffer scratch;                     /* content of the part being written */
    struct fth_record frame_items[FRAME_ACCESSES]; /* the accesses of the frame being written */
};

/* Creates a writer to `file`, of which it takes ownership. After a failure, *out is unchanged. */
static enum fth_status create_writer(struct fth_atomic_file *file, struct fth_trace_writer **out,
                                     struct fth_error *error)
{
    struct fth_trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        fth_atomic_abort(file);
        return fth_no_memory(error, "write trace", NULL);
    }
    enum fth_status status = fth_container_create(&fth_trace_format, file, &writer->file, error);
    if (status == FTH_OK)
        *out = writer;
    else
        fth_trace_writer_abort(writer);
    return status;
}

enum fth_status fth_trace_writer_create(const char *path, struct fth_trace_writer **out,
                                        struct fth_error *error)
{
    struct fth_atomic_file *file;
    *out = NULL;
    FTH_TRY(fth_atomic_open(path, &file, error));
    return create_writer(file, out, error);
}

enum fth_status fth_trace_writer_attach(int fd, const char *name, struct fth_trace_writer **out,
                                        struct fth_error *error)
{
    struct fth_atomic_file *file;
    *out = NULL;
    FTH_TRY(fth_atomic_attach(fd, name, &file, error));
    return create_writer(file, out, error);
}

void fth_trace_writer_abort(struct fth_trace_writer *writer)
{
    if (!writer)
        return;
    fth_container_abort(writer->file);
    fth_arena_fini(&writer->arena);
    free(writer->launches);
    free(writer->frames);
    free(writer->instructions);
    free(writer->ids);
    free(writer->written_instructions);
    fth_records_fini(&writer->run);
    free(writer->order);
    free(writer->scratch_order);
    fth_buffer_fini(&writer->scratch);
    free(writer);
}

/* ---- parts ---- */

/* Encode the header of a launch (kernel, grid, block), its totals, and one instruction. */
static void put_launch(const struct fth_trace_launch *launch, struct fth_buffer *out)
{
    fth_put_text(launch->kernel, out);
    for (int i = 0; i < 3; i++)
        fth_put_varint(launch->grid[i], out);
    for (int i = 0; i < 3; i++)
        fth_put_varint(launch->block[i], out);
}

static void put_totals(const struct fth_trace_launch *launch, struct fth_buffer *out)
{
    const uint64_t totals[] = {launch->longest, launch->accesses, launch->shared,
                               launch->local,   launch->constant, launch->texture};
    for (size_t i = 0; i < FTH_COUNT(totals); i++)
        fth_put_varint(totals[i], out);
}

static void put_instruction(const struct fth_trace_instruction *instruction, struct fth_buffer *out)
{
    const uint32_t facts[] = {
        instruction->line,
        instruction->source_file,
        instruction->source_line,
        instruction->index,
        (uint32_t)instruction->kind,
        instruction->bytes,
        instruction->cache_op | instruction->hints << FTH_TRACE_HINTS_SHIFT,
    };
    for (size_t i = 0; i < FTH_COUNT(facts); i++)
        fth_put_varint(facts[i], out);
}

/* Writes the scratch buffer as a part. */
static enum fth_status put(struct fth_trace_writer *writer, enum fth_part type, uint64_t *offset,
                           struct fth_error *error)
{
    return fth_container_put(writer->file, type, &writer->scratch, offset, error);
}

enum fth_status fth_trace_writer_begin(struct fth_trace_writer *writer, const char *kernel,
                                       const uint32_t grid[3], const uint32_t block[3],
                                       struct fth_error *error)
{
    struct launch launch = {.warps = 1};
    launch.header.kernel = fth_arena_text(&writer->arena, kernel);
    if (!launch.header.kernel || !fth_grow((void **)&writer->launches, writer->launch_count,
                                           &writer->launch_capacity, sizeof launch))
        return fth_no_memory(error, "write trace", NULL);
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        launch.header.grid[i] = grid[i] ? grid[i] : 1;
        launch.header.block[i] = block[i] ? block[i] : 1;
        threads *= launch.header.block[i];
    }
    launch.warps = (uint32_t)((threads + 31) / 32);
    writer->launches[writer->launch_count++] = launch;
    writer->scratch.size = 0;
    put_launch(&launch.header, &writer->scratch);
    return put(writer, FTH_PART_LAUNCH, NULL, error);
}

size_t fth_trace_writer_instruction(struct fth_trace_writer *writer,
                                    const struct fth_trace_instruction *instruction)
{
    /* Search from the end: the instructions of the current kernel were added last. */
    for (size_t i = writer->instruction_count; i-- > 0;) {
        const struct fth_trace_instruction *other = &writer->instructions[i];
        if (other->line == instruction->line && other->index == instruction->index &&
            other->source_file == instruction->source_file &&
            other->source_line == instruction->source_line && other->kind == instruction->kind &&
            other->bytes == instruction->bytes && other->cache_op == instruction->cache_op &&
            other->hints == instruction->hints && other->wait == instruction->wait &&
            fth_source_equal(other->source, instruction->source))
            return i;
    }
    size_t count = writer->instruction_count;
    if (!fth_grow((void **)&writer->instructions, count, &writer->instruction_capacity,
                  sizeof *instruction) ||
        !fth_grow((void **)&writer->ids, count, &writer->id_capacity, sizeof *writer->ids))
        return SIZE_MAX;
    writer->instructions[count] = *instruction;
    if (!fth_source_copy(instruction->source, &writer->arena, &writer->instructions[count].source))
        return SIZE_MAX;
    writer->ids[count] = UINT32_MAX;
    return writer->instruction_count++;
}

/* ---- sorting ---- */

enum key { KEY_NUMBER, KEY_BLOCK, KEY_WARP };

static uint64_t key_of(const struct fth_record *record, enum key key)
{
    return key == KEY_NUMBER ? record->number : key == KEY_BLOCK ? record->block : record->warp;
}

/* Sorts by one key with a stable counting sort. The key has `values` possible values from `low` on;
 * `counts` has space for values + 1 counters. `from` is the order before, `to` the order after. */
static void count_pass(const struct fth_records *run, enum key key, uint64_t low, uint32_t *counts,
                       size_t values, const uint32_t *from, uint32_t *to)
{
    memset(counts, 0, (values + 1) * sizeof *counts);
    for (size_t i = 0; i < run->count; i++)
        counts[key_of(&run->items[i], key) - low + 1]++;
    for (size_t i = 0; i < values; i++)
        counts[i + 1] += counts[i];
    for (size_t i = 0; i < run->count; i++)
        to[counts[key_of(&run->items[from[i]], key) - low]++] = from[i];
}

/* Sorts by one key with a stable merge sort, for keys with too many possible values to count. */
static void merge_pass(const struct fth_records *run, enum key key, uint32_t *from, uint32_t *to)
{
    size_t count = run->count;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            for (size_t a = low, b = middle, at = low; at < high; at++) {
                bool first = a < middle && (b >= high || key_of(&run->items[from[a]], key) <=
                                                             key_of(&run->items[from[b]], key));
                to[at] = from[first ? a++ : b++];
            }
        }
        memcpy(from, to, count * sizeof *from);
    }
    memcpy(to, from, count * sizeof *to);
}

/* The range of a key in the run. */
struct key_range {
    uint64_t low, high;
};

static inline void widen_range(struct key_range *range, uint64_t value)
{
    range->low = value < range->low ? value : range->low;
    range->high = value > range->high ? value : range->high;
}

/* Finds the ranges of the keys. Returns true if the run is already sorted by block and warp. It
 * usually is, unless the warps of a block wait for each other. */
static bool examine_run(const struct fth_records *run, struct key_range ranges[3])
{
    bool in_order = true;
    for (int key = KEY_NUMBER; key <= KEY_WARP; key++)
        ranges[key] = (struct key_range){UINT64_MAX, 0};
    for (size_t i = 0; i < run->count; i++) {
        const struct fth_record *b = &run->items[i], *a = i ? b - 1 : b;
        in_order =
            in_order && (a->block < b->block || (a->block == b->block && a->warp <= b->warp));
        widen_range(&ranges[KEY_NUMBER], b->number);
        widen_range(&ranges[KEY_BLOCK], b->block);
        widen_range(&ranges[KEY_WARP], b->warp);
    }
    return in_order;
}

/* Sorts the run by number, block and warp, the least significant key first (radix sort), and leaves
 * the order in writer->order. */
static enum fth_status sort_run(struct fth_trace_writer *writer, struct fth_error *error)
{
    static const enum key keys[] = {KEY_WARP, KEY_BLOCK, KEY_NUMBER};
    const struct fth_records *run = &writer->run;
    struct key_range ranges[3];
    /* Maximum range of a key for the counting sort. Chosen, not derived: keeps the counters in
     * proportion to the number of accesses. */
    size_t max_values = 4 * run->count + 1024;
    if (run->count > writer->order_capacity) {
        free(writer->order);
        free(writer->scratch_order);
        writer->order = calloc(run->count, sizeof *writer->order);
        writer->scratch_order = calloc(run->count, sizeof *writer->scratch_order);
        writer->order_capacity = writer->order && writer->scratch_order ? run->count : 0;
    }
    uint32_t *counts = malloc((max_values + 1) * sizeof *counts);
    if (!counts || !writer->order_capacity) {
        free(counts);
        return fth_no_memory(error, "write trace", NULL);
    }
    for (size_t i = 0; i < run->count; i++)
        writer->order[i] = (uint32_t)i;
    for (size_t k = examine_run(run, ranges) ? FTH_COUNT(keys) - 1 : 0; k < FTH_COUNT(keys); k++) {
        const struct key_range range = ranges[keys[k]];
        if (range.low == range.high)
            continue;
        if (range.high - range.low < max_values)
            count_pass(run, keys[k], range.low, counts, (size_t)(range.high - range.low) + 1,
                       writer->order, writer->scratch_order);
        else
            merge_pass(run, keys[k], writer->order, writer->scratch_order);
        uint32_t *sorted = writer->scratch_order;
        writer->scratch_order = writer->order;
        writer->order = sorted;
    }
    free(counts);
    return FTH_OK;
}

/* ---- runs ---- */

/* Returns the position of an instruction by its index in the file. */
static const struct fth_source_position *written_source(const struct fth_trace_writer *writer,
                                                        uint32_t index)
{
    return writer->instructions[writer->written_instructions[index]].source;
}

/* Writes the names of the functions of the instructions from index `first` on, if any is known. */
static enum fth_status write_functions(struct fth_trace_writer *writer, uint32_t first,
                                       struct fth_error *error)
{
    struct fth_function_names names = {0};
    bool ok = true;
    for (uint32_t i = first; i < writer->written_count && ok; i++)
        ok = fth_function_names_add(&names, written_source(writer, i));
    writer->scratch.size = 0;
    fth_put_varint(first, &writer->scratch);
    fth_put_function_names(&names, &writer->scratch);
    for (uint32_t i = first; i < writer->written_count && ok && names.count; i++)
        fth_put_functions(&names, written_source(writer, i), &writer->scratch);
    const bool known = names.count != 0;
    free(names.items);
    if (!ok)
        return fth_no_memory(error, "write trace", NULL);
    return known ? put(writer, FTH_PART_FUNCTIONS, NULL, error) : FTH_OK;
}

/* Writes the positions of the instructions from index `first` on, if any is known. */
static enum fth_status write_sources(struct fth_trace_writer *writer, uint32_t first,
                                     struct fth_error *error)
{
    bool known = false;
    writer->scratch.size = 0;
    fth_put_varint(first, &writer->scratch);
    for (uint32_t i = first; i < writer->written_count; i++) {
        fth_put_source(written_source(writer, i), &writer->scratch);
        known = known || written_source(writer, i);
    }
    if (!known)
        return FTH_OK;
    FTH_TRY(put(writer, FTH_PART_SOURCES, NULL, error));
    return write_functions(writer, first, error);
}

/* Assigns a file index to an instruction that has none yet, and encodes it. */
static enum fth_status number_instruction(struct fth_trace_writer *writer, uint32_t instruction,
                                          struct fth_error *error)
{
    if (writer->ids[instruction] != UINT32_MAX)
        return FTH_OK;
    if (!fth_grow((void **)&writer->written_instructions, writer->written_count,
                  &writer->written_capacity, sizeof *writer->written_instructions))
        return fth_no_memory(error, "write trace", NULL);
    writer->written_instructions[writer->written_count] = instruction;
    writer->ids[instruction] = writer->written_count++;
    put_instruction(&writer->instructions[instruction], &writer->scratch);
    return FTH_OK;
}

/* Writes the instructions from index `first` on, which number_instruction() has encoded. */
static enum fth_status write_instructions(struct fth_trace_writer *writer, uint32_t first,
                                          struct fth_error *error)
{
    if (writer->written_count == first)
        return FTH_OK;
    FTH_TRY(put(writer, FTH_PART_INSTRUCTIONS, NULL, error));
    return write_sources(writer, first, error);
}

/* Numbers and writes the instructions of the `count` accesses in writer->frame_items that have not
 * been written yet. */
static enum fth_status number_instructions(struct fth_trace_writer *writer, size_t count,
                                           struct fth_error *error)
{
    const uint32_t before = writer->written_count;
    writer->scratch.size = 0;
    for (size_t i = 0; i < count; i++)
        FTH_TRY(number_instruction(writer, writer->frame_items[i].instruction, error));
    return write_instructions(writer, before, error);
}

static enum fth_status write_frame(struct fth_trace_writer *writer, const uint32_t *order,
                                   uint32_t count, struct fth_error *error)
{
    const struct fth_records *run = &writer->run;
    struct launch *launch = &writer->launches[writer->launch_count - 1];
    struct fth_record *items = writer->frame_items;
    struct fth_frame frame = {.count = count,
                              .run = writer->run_count,
                              .launch = writer->launch_count - 1,
                              .first_block = UINT64_MAX,
                              .first_number = run->items[order[0]].number,
                              .last_number = run->items[order[count - 1]].number};
    for (uint32_t i = 0; i < count; i++) {
        items[i] = run->items[order[i]];
        frame.first_block = items[i].block < frame.first_block ? items[i].block : frame.first_block;
        frame.last_block = items[i].block > frame.last_block ? items[i].block : frame.last_block;
    }
    if (frame.last_number >= launch->header.longest)
        launch->header.longest = frame.last_number + 1;
    launch->header.accesses += count;
    FTH_TRY(number_instructions(writer, count, error));
    writer->scratch.size = 0;
    FTH_TRY(fth_frame_encode(run, items, &frame, launch->warps, writer->ids,
                             writer->instruction_count, &writer->scratch, error));
    FTH_TRY(put(writer, FTH_PART_FRAME, &frame.offset, error));
    if (!fth_grow((void **)&writer->frames, writer->frame_count, &writer->frame_capacity,
                  sizeof frame))
        return fth_no_memory(error, "write trace", NULL);
    writer->frames[writer->frame_count++] = frame;
    return FTH_OK;
}

/* Sorts and writes the current run, if it is not empty, and starts a new one. */
static enum fth_status flush_run(struct fth_trace_writer *writer, struct fth_error *error)
{
    size_t count = writer->run.count;
    if (count == 0)
        return FTH_OK;
    enum fth_status status = sort_run(writer, error);
    for (size_t at = 0; at < count && status == FTH_OK; at += FRAME_ACCESSES) {
        size_t left = count - at;
        status = write_frame(writer, writer->order + at,
                             (uint32_t)(left < FRAME_ACCESSES ? left : FRAME_ACCESSES), error);
    }
    writer->run_count++;
    fth_records_clear(&writer->run);
    return status;
}

enum fth_status fth_trace_writer_add(struct fth_trace_writer *writer,
                                     const struct fth_records *records, struct fth_error *error)
{
    if (writer->run.count + records->count > RUN_ACCESSES)
        FTH_TRY(flush_run(writer, error));
    if (!fth_records_append(&writer->run, records))
        return fth_no_memory(error, "write trace", NULL);
    return writer->run.count >= RUN_ACCESSES || writer->run.step_count >= RUN_STEPS
               ? flush_run(writer, error)
               : FTH_OK;
}

void fth_trace_writer_set_pace(struct fth_trace_writer *writer, const struct fth_pace *pace)
{
    writer->pace = pace;
}

/* Writes the pace of the current launch, if it is known, and its loads of different constants. */
static enum fth_status write_pace(struct fth_trace_writer *writer, struct fth_error *error)
{
    const struct fth_pace *pace = writer->pace;
    writer->pace = NULL;
    if (!pace || !pace->count)
        return FTH_OK;
    writer->scratch.size = 0;
    if (!fth_put_pace(pace, writer->launch_count - 1, writer->ids, writer->instructions,
                      &writer->scratch))
        return fth_no_memory(error, "write trace", NULL);
    FTH_TRY(put(writer, FTH_PART_PACE, NULL, error));
    writer->scratch.size = 0;
    if (!fth_put_constants(pace, writer->launch_count - 1, writer->ids, writer->instructions,
                           &writer->scratch))
        return fth_no_memory(error, "write trace", NULL);
    return writer->scratch.size ? put(writer, FTH_PART_CONSTANTS, NULL, error) : FTH_OK;
}

void fth_trace_writer_set_shared(struct fth_trace_writer *writer,
                                 const struct fth_shared_table *shared)
{
    writer->shared = shared;
}

/* Writes the accesses of the current launch to shared memory, if there are any, and their
 * instructions, in the order of the PTX: their numbers depend on the timing of host threads. */
static enum fth_status write_shared(struct fth_trace_writer *writer, struct fth_error *error)
{
    const struct fth_shared_table *shared = writer->shared;
    const uint32_t before = writer->written_count;
    size_t count = 0;
    writer->shared = NULL;
    if (!shared)
        return FTH_OK;
    uint32_t *order = fth_shared_order(shared, writer->instructions, &count);
    if (!order)
        return fth_no_memory(error, "write trace", NULL);
    enum fth_status status = FTH_OK;
    writer->scratch.size = 0;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = number_instruction(writer, order[i], error);
    if (status == FTH_OK)
        status = write_instructions(writer, before, error);
    writer->scratch.size = 0;
    fth_put_varint(writer->launch_count - 1, &writer->scratch);
    for (size_t i = 0; i < count; i++)
        fth_put_shared(&shared->rows[order[i]], writer->ids[order[i]], &writer->scratch);
    free(order);
    return status == FTH_OK && count ? put(writer, FTH_PART_SHARED, NULL, error) : status;
}

enum fth_status fth_trace_writer_end(struct fth_trace_writer *writer,
                                     const struct fth_trace_launch *totals, struct fth_error *error)
{
    FTH_TRY(flush_run(writer, error));
    FTH_TRY(write_pace(writer, error));
    FTH_TRY(write_shared(writer, error));
    struct fth_trace_launch *launch = &writer->launches[writer->launch_count - 1].header;
    launch->shared = totals->shared;
    launch->local = totals->local;
    launch->constant = totals->constant;
    launch->texture = totals->texture;
    launch->shared_bytes = totals->shared_bytes;
    launch->local_bytes = totals->local_bytes;
    writer->scratch.size = 0;
    put_totals(launch, &writer->scratch);
    fth_put_varint(launch->shared_bytes + 1, &writer->scratch);
    if (launch->local_bytes)
        fth_put_varint(launch->local_bytes, &writer->scratch);
    return put(writer, FTH_PART_LAUNCH_END, NULL, error);
}

/* Encodes the local memory of all launches, unless none uses any. */
static void put_local_bytes(const struct fth_trace_writer *writer, struct fth_buffer *out)
{
    bool used = false;
    for (size_t i = 0; i < writer->launch_count; i++)
        used = used || writer->launches[i].header.local_bytes;
    for (size_t i = 0; i < writer->launch_count && used; i++)
        fth_put_varint(writer->launches[i].header.local_bytes, out);
}

enum fth_status fth_trace_writer_commit(struct fth_trace_writer *writer, struct fth_error *error)
{
    struct fth_buffer *out = &writer->scratch;
    uint64_t index, before = 0;
    out->size = 0;
    fth_put_varint(writer->launch_count, out);
    for (size_t i = 0; i < writer->launch_count; i++) {
        put_launch(&writer->launches[i].header, out);
        put_totals(&writer->launches[i].header, out);
    }
    fth_put_varint(writer->written_count, out);
    for (uint32_t i = 0; i < writer->written_count; i++)
        put_instruction(&writer->instructions[writer->written_instructions[i]], out);
    fth_put_varint(writer->frame_count, out);
    for (size_t i = 0; i < writer->frame_count; i++) {
        fth_put_frame_header(&writer->frames[i], out);
        fth_put_varint(writer->frames[i].offset - before, out);
        before = writer->frames[i].offset;
    }
    for (size_t i = 0; i < writer->launch_count; i++)
        fth_put_varint(writer->launches[i].header.shared_bytes + 1, out);
    put_local_bytes(writer, out);
    enum fth_status status = put(writer, FTH_PART_INDEX, &index, error);
    if (status == FTH_OK) {
        status = fth_container_commit(writer->file, index, error);
        writer->file = NULL;
    }
    fth_trace_writer_abort(writer);
    return status;
}
