/* The traces of an exploration. Launch files and traces of other tools are first converted to a
 * temporary trace file, which is deleted with the exploration. A checksum over all accesses
 * identifies each trace, so that results from several machines are merged only if they used the
 * same traces. */
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "explore";

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static enum fth_status make_temporary(char *path, size_t size, struct fth_error *error)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/fathom-explore-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0)
        return fth_fail(
            error, FTH_IO, operation, path,
            "cannot create a temporary file for the trace; set TMPDIR to another folder");
    close(fd);
    return FTH_OK;
}

/* Converts a launch file or a trace of another tool to a trace file. */
static enum fth_status make_trace(const char *from, const char *to, const char *const *sizes,
                                  size_t size_count, const struct fth_log *log,
                                  struct fth_error *error)
{
    struct fth_launch *launch = NULL;
    if (!ends_with(from, ".json"))
        return fth_trace_import(from, to, error);
    enum fth_status status = fth_launch_read(from, sizes, size_count, &launch, error);
    if (status == FTH_OK)
        status = fth_launch_trace(launch, to, &(struct fth_run_options)FTH_RUN_OPTIONS(.log = log),
                                  NULL, error);
    fth_launch_destroy(launch);
    return status;
}

static uint64_t mix(uint64_t state, uint64_t number)
{
    state = (state ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 29;
}

static uint64_t mix_access(uint64_t state, const struct fth_trace_access *access)
{
    state = mix(state, access->number);
    state = mix(state, access->block);
    state = mix(state, (uint64_t)access->warp << 32 | access->instruction);
    state = mix(state, access->mask);
    for (uint32_t i = 0; i < access->threads; i++)
        state = mix(state, access->addresses[i]);
    return state;
}

/* Estimates how many 128-byte lines an access touches: changes of the line from lane to lane. */
static uint64_t count_lines(const struct fth_trace_access *access)
{
    uint64_t lines = 1;
    for (uint32_t i = 1; i < access->threads; i++)
        lines += access->addresses[i] >> 7 != access->addresses[i - 1] >> 7;
    return lines;
}

/* Reads the whole trace: counts accesses and lines, and computes the checksum. */
static enum fth_status scan_trace(struct fth_input *input, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    uint64_t state = FTH_LINE_START;
    input->lines = calloc(fth_trace_launch_count(input->trace) + 1, sizeof *input->lines);
    if (!input->lines)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < fth_trace_launch_count(input->trace) && status == FTH_OK; i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(input->trace, i);
        struct fth_trace_cursor *cursor = NULL;
        const struct fth_trace_access *access = NULL;
        input->accesses += launch->accesses;
        for (int k = 0; k < 3; k++)
            state = mix(state, (uint64_t)launch->grid[k] << 32 | launch->block[k]);
        state = mix(state, launch->shared_bytes);
        state = mix(state, fth_line_checksum(launch->kernel, strlen(launch->kernel), state));
        status = fth_trace_cursor_open(input->trace, i, 0, UINT64_MAX, &cursor, error);
        while (status == FTH_OK) {
            status = fth_trace_next(cursor, &access, error);
            if (status != FTH_OK || !access)
                break;
            state = mix_access(state, access);
            input->lines[i] += count_lines(access);
        }
        fth_trace_cursor_close(cursor);
    }
    input->content = state;
    return status;
}

enum fth_status fth_input_open(struct fth_exploration *exploration, const char *path,
                               const char *const *sizes, size_t size_count,
                               const struct fth_log *log, size_t *number, struct fth_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (*number = 0; *number < exploration->input_count; ++*number)
        if (strcmp(exploration->inputs[*number].name, name) == 0)
            return FTH_OK;
    if (!fth_grow((void **)&exploration->inputs, exploration->input_count,
                  &exploration->input_capacity, sizeof *exploration->inputs))
        return fth_no_memory(error, operation, NULL);
    struct fth_input *input = &exploration->inputs[exploration->input_count++];
    *input = (struct fth_input){.name = fth_arena_text(&exploration->arena, name)};
    char temporary[512] = "";
    enum fth_status status = input->name ? FTH_OK : fth_no_memory(error, operation, NULL);
    input->temporary = ends_with(path, ".json") || fth_trace_recognise(path) != FTH_TRACE_OWN;
    if (status == FTH_OK && input->temporary)
        status = make_temporary(temporary, sizeof temporary, error);
    if (status == FTH_OK) {
        input->path = strdup(input->temporary ? temporary : path);
        if (!input->path)
            status = fth_no_memory(error, operation, NULL);
    }
    if (status == FTH_OK && input->temporary)
        status = make_trace(path, temporary, sizes, size_count, log, error);
    if (status == FTH_OK)
        status = fth_trace_open(input->path, &input->trace, error);
    if (status == FTH_OK && fth_trace_truncated(input->trace))
        status = fth_fail(error, FTH_INVALID, operation, path,
                          "the trace is incomplete; only 'fathom model' accepts incomplete traces");
    return status == FTH_OK ? scan_trace(input, error) : status;
}

void fth_input_close(struct fth_input *input)
{
    fth_trace_close(input->trace);
    if (input->temporary && input->path)
        unlink(input->path);
    free(input->path);
    free(input->lines);
}
