/* Makes a new trace from a trace and an edit: reads all accesses, changes them, and writes them to
 * a temporary file. Launches, instructions with their sources, and what warps execute between
 * accesses are kept. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "edit trace";

enum {
    RECORDS = 1 << 12, /* accesses that are given to the writer together */
    /* Accesses of the blocks that are processed together. Chosen: with 32 sectors each, they take
     * at most 128 MiB. */
    CHUNK_ACCESSES = 1 << 17
};

bool fth_launch_is_of(const struct fth_trace_launch *launch, const char *kernel)
{
    return !kernel || strcmp(launch->kernel, kernel) == 0;
}

uint64_t fth_launch_blocks(const struct fth_trace_launch *launch)
{
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

uint64_t fth_launch_warps(const struct fth_trace_launch *launch)
{
    return ((uint64_t)launch->block[0] * launch->block[1] * launch->block[2] + 31) / 32;
}

uint64_t fth_edit_chunk(const struct fth_trace_launch *launch)
{
    const uint64_t blocks = fth_launch_blocks(launch);
    if (blocks == 0)
        return 1; /* a damaged trace, which the model refuses */
    const uint64_t per_block = launch->accesses / blocks + 1;
    const uint64_t chunk = per_block < CHUNK_ACCESSES ? CHUNK_ACCESSES / per_block : 1;
    return chunk < blocks ? chunk : blocks;
}

enum fth_status fth_edit_check(const struct fth_trace_launch *launch,
                               const struct fth_trace_access *access, struct fth_error *error)
{
    if (access->block < fth_launch_blocks(launch) && access->warp < fth_launch_warps(launch))
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, NULL,
                    "the trace is damaged: an access belongs to a block or a warp that does not "
                    "exist");
}

/* The state of an edit while it is applied. */
struct edit_pass {
    const struct fth_trace *trace;
    const struct fth_edit *edit;
    const char *kernel;
    const struct fth_log *log;
    struct fth_trace_writer *writer;
    uint32_t *numbers; /* by instruction: its number in the writer */
    struct fth_records records;
    struct fth_layout *layout; /* FTH_EDIT_LAYOUT */
    struct fth_merging *merge; /* FTH_EDIT_MERGE: of the current launch */
};

/* ---- instructions ---- */

/* Gives all instructions to the writer, so that they have numbers. */
static enum fth_status add_instructions(struct edit_pass *pass, struct fth_error *error)
{
    const size_t count = fth_trace_instruction_count(pass->trace);
    pass->numbers = calloc(count + 1, sizeof *pass->numbers);
    if (!pass->numbers)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count; i++) {
        struct fth_trace_instruction instruction = *fth_trace_instruction_at(pass->trace, i);
        if (pass->edit->kind == FTH_EDIT_HINT && pass->edit->chosen[i] &&
            !fth_edit_operator(pass->trace, pass->edit, (uint32_t)i, &instruction))
            return fth_no_memory(error, operation, NULL);
        const size_t number = fth_trace_writer_instruction(pass->writer, &instruction);
        if (number == SIZE_MAX)
            return fth_no_memory(error, operation, NULL);
        pass->numbers[i] = (uint32_t)number;
    }
    return FTH_OK;
}

/* Copies what a launch executes between accesses, with the numbers of the writer. */
static enum fth_status copy_pace(const struct edit_pass *pass, const struct fth_pace *from,
                                 struct fth_pace *to, struct fth_error *error)
{
    for (size_t i = 0; from && i < from->count; i++) {
        const struct fth_pace_step *step = &from->steps[i];
        const uint32_t first =
            step->from == FTH_PACE_START ? step->from : pass->numbers[step->from];
        const uint32_t second = step->to == FTH_PACE_END ? step->to : pass->numbers[step->to];
        struct fth_pace_step *copy = fth_pace_step(to, first, second);
        if (!copy)
            return fth_no_memory(error, operation, NULL);
        *copy = *step;
        copy->from = first;
        copy->to = second;
    }
    return FTH_OK;
}

/* ---- accesses ---- */

/* Gives the collected accesses to the writer. */
static enum fth_status flush(struct edit_pass *pass, struct fth_error *error)
{
    FTH_TRY(fth_trace_writer_add(pass->writer, &pass->records, error));
    fth_records_clear(&pass->records);
    return fth_log_interrupted(pass->log)
               ? fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted")
               : FTH_OK;
}

static enum fth_status add_access(struct edit_pass *pass, const struct fth_trace_launch *launch,
                                  const struct fth_trace_access *from, struct fth_error *error)
{
    struct fth_trace_access access = *from;
    FTH_TRY(fth_edit_check(launch, from, error));
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(pass->trace, access.instruction);
    if (pass->layout && fth_edit_global(instruction))
        fth_layout_move(pass->layout, access.addresses, access.threads);
    if (pass->merge)
        FTH_TRY(fth_merging_access(pass->merge, &access, error));
    if (!access.mask)
        return FTH_OK;
    const struct fth_record record = {
        .number = access.number,
        .block = pass->edit->kind == FTH_EDIT_BLOCKS
                     ? fth_blocks_number(pass->edit, launch->grid, access.block)
                     : access.block,
        .instruction = pass->numbers[access.instruction],
        .warp = access.warp,
        .mask = access.mask};
    if (!fth_records_add(&pass->records, &record, access.addresses))
        return fth_no_memory(error, operation, NULL);
    return pass->records.count >= RECORDS ? flush(pass, error) : FTH_OK;
}

/* Copies the accesses of some blocks. */
static enum fth_status copy_blocks(struct edit_pass *pass, size_t index, uint64_t first,
                                   uint64_t count, struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(pass->trace, index);
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access = NULL;
    enum fth_status status =
        fth_trace_cursor_open(pass->trace, index, first, first + count - 1, &cursor, error);
    do {
        if (status == FTH_OK)
            status = fth_trace_next(cursor, &access, error);
        if (status == FTH_OK && access)
            status = add_access(pass, launch, access, error);
    } while (status == FTH_OK && access);
    fth_trace_cursor_close(cursor);
    return status;
}

/* Copies the accesses of a launch. Only FTH_EDIT_MERGE keeps data for each block, so that it
 * processes a part of the blocks at a time. */
static enum fth_status copy_accesses(struct edit_pass *pass, size_t index, struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(pass->trace, index);
    const uint64_t blocks = fth_launch_blocks(launch);
    const uint64_t chunk = pass->merge ? fth_edit_chunk(launch) : blocks;
    for (uint64_t first = 0; first < blocks; first += chunk) {
        const uint64_t count = blocks - first < chunk ? blocks - first : chunk;
        if (pass->merge)
            FTH_TRY(fth_merging_begin(pass->merge, first, count, error));
        FTH_TRY(copy_blocks(pass, index, first, count, error));
        if (pass->merge)
            FTH_TRY(fth_merging_end(pass->merge, error));
    }
    return flush(pass, error);
}

static enum fth_status copy_launch(struct edit_pass *pass, size_t index, struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(pass->trace, index);
    struct fth_trace_launch totals = *launch;
    struct fth_pace copy = {0};
    struct fth_shared_table shared = {0};
    uint32_t grid[3];
    uint64_t dropped = 0;
    fth_blocks_grid(pass->edit, launch->grid, grid);
    FTH_TRY(fth_trace_writer_begin(pass->writer, launch->kernel, grid, launch->block, error));
    enum fth_status status = FTH_OK;
    struct fth_merging *merge = NULL;
    if (pass->edit->kind == FTH_EDIT_MERGE)
        status = fth_merging_create(pass->trace, index, pass->edit, pass->numbers, &merge, error);
    pass->merge = merge;
    if (status == FTH_OK)
        status = copy_accesses(pass, index, error);
    const struct fth_pace *pace = &copy;
    if (status == FTH_OK && pass->merge)
        pace = fth_merging_pace(pass->merge, &dropped);
    else if (status == FTH_OK)
        status = copy_pace(pass, fth_trace_pace(pass->trace, index), &copy, error);
    totals.shared += dropped;
    if (status == FTH_OK &&
        !fth_edit_shared(pass->trace, index, pass->edit, pass->numbers, &shared, &copy))
        status = fth_no_memory(error, operation, NULL);
    if (status == FTH_OK) {
        fth_trace_writer_set_pace(pass->writer, pace);
        fth_trace_writer_set_shared(pass->writer, &shared);
        status = fth_trace_writer_end(pass->writer, &totals, error);
    }
    fth_merging_destroy(pass->merge);
    pass->merge = NULL;
    fth_pace_fini(&copy);
    fth_shared_table_fini(&shared);
    return status;
}

/* ---- traces ---- */

/* Writes the edited launches. Commits the writer, or discards it after a failure. */
static enum fth_status write_launches(struct edit_pass *pass, struct fth_error *error)
{
    enum fth_status status = add_instructions(pass, error);
    if (status == FTH_OK && pass->edit->kind == FTH_EDIT_LAYOUT)
        status = fth_layout_create(pass->trace, pass->edit, pass->kernel, pass->log, &pass->layout,
                                   error);
    for (size_t i = 0; i < fth_trace_launch_count(pass->trace) && status == FTH_OK; i++)
        if (fth_launch_is_of(fth_trace_launch_at(pass->trace, i), pass->kernel))
            status = copy_launch(pass, i, error);
    if (status == FTH_OK)
        status = fth_trace_writer_commit(pass->writer, error);
    else
        fth_trace_writer_abort(pass->writer);
    fth_layout_destroy(pass->layout);
    fth_records_fini(&pass->records);
    free(pass->numbers);
    return status;
}

/* Makes a trace with one edit. */
static enum fth_status apply(const struct fth_trace *trace, const char *text, const char *kernel,
                             const struct fth_log *log, struct fth_trace **edited,
                             struct fth_error *error)
{
    struct fth_edit edit;
    struct edit_pass pass = {.trace = trace, .edit = &edit, .kernel = kernel, .log = log};
    int fd = -1;
    FTH_TRY(fth_edit_parse(text, trace, &edit, error));
    enum fth_status status = fth_temporary_open(&fd, error);
    if (status == FTH_OK)
        status = fth_trace_writer_attach(fd, "temporary trace", &pass.writer, error);
    if (status == FTH_OK)
        status = write_launches(&pass, error);
    if (status == FTH_OK)
        status = fth_trace_attach(fd, "edited trace", edited, error);
    if (fd >= 0)
        close(fd);
    fth_edit_fini(&edit);
    return status;
}

enum fth_status fth_edit_kernel(const struct fth_trace *trace, const char *const *edits,
                                size_t count, const char *kernel, const struct fth_log *log,
                                struct fth_trace **edited, struct fth_error *error)
{
    struct fth_trace *last = NULL;
    *edited = NULL;
    if (count == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL, "there is no edit");
    for (size_t i = 0; i < count; i++) {
        struct fth_trace *next = NULL;
        const enum fth_status status =
            apply(last ? last : trace, edits[i], kernel, log, &next, error);
        fth_trace_close(last);
        last = next;
        if (status != FTH_OK)
            return status;
    }
    *edited = last;
    return FTH_OK;
}

enum fth_status fth_trace_edit(const struct fth_trace *trace, const char *const *edits,
                               size_t count, const struct fth_log *log, struct fth_trace **edited,
                               struct fth_error *error)
{
    return fth_edit_kernel(trace, edits, count, NULL, log, edited, error);
}
