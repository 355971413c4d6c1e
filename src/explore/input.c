/* The traces of an exploration. A checksum over all accesses identifies each trace, so that results
 * from several machines are merged only if they used the same traces. */
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "explore";

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

static enum fth_status scan_launch(struct fth_input *input, size_t index, uint64_t *state,
                                   struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(input->trace, index);
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access = NULL;
    input->accesses += launch->accesses;
    for (int k = 0; k < 3; k++)
        *state = mix(*state, (uint64_t)launch->grid[k] << 32 | launch->block[k]);
    *state = mix(*state, launch->shared_bytes);
    *state = mix(*state, fth_line_checksum(launch->kernel, strlen(launch->kernel), *state));
    enum fth_status status =
        fth_trace_cursor_open(input->trace, index, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next(cursor, &access, error);
        if (status != FTH_OK || !access)
            break;
        *state = mix_access(*state, access);
        input->lines[index] += count_lines(access);
    }
    fth_trace_cursor_close(cursor);
    return status;
}

/* Reads the whole trace: counts accesses and lines, and computes the checksum. */
static enum fth_status scan_trace(struct fth_input *input, const struct fth_log *log,
                                  struct fth_error *error)
{
    uint64_t state = FTH_LINE_START;
    input->lines = calloc(fth_trace_launch_count(input->trace) + 1, sizeof *input->lines);
    if (!input->lines)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < fth_trace_launch_count(input->trace); i++) {
        if (fth_log_interrupted(log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(scan_launch(input, i, &state, error));
    }
    input->content = state;
    return FTH_OK;
}

/* Writes everything that determines the contents of an input: its path and the options. */
static void put_key(struct fth_buffer *key, const char *path,
                    const struct fth_launch_options *options)
{
    fth_buffer_text(key, path);
    for (size_t i = 0; i < options->size_count; i++)
        fth_buffer_format(key, "\nset %s", options->sizes[i]);
    for (size_t i = 0; i < options->argument_count; i++)
        fth_buffer_format(key, "\narg %s", options->arguments[i]);
    if (options->kernel)
        fth_buffer_format(key, "\nentry %s", options->kernel);
    if (options->seed)
        fth_buffer_format(key, "\nseed %llu", (unsigned long long)*options->seed);
    for (int i = 0; i < 3; i++)
        fth_buffer_format(key, "\n%u %u", options->grid[i], options->block[i]);
    fth_buffer_format(key, "\n%zu", options->shared_bytes);
    if (options->kernels)
        fth_buffer_format(key, "\nkernels %s", options->kernels);
    fth_buffer_format(key, "\n%llu %llu", (unsigned long long)options->first_launch,
                      (unsigned long long)options->end_launch);
    for (int i = 0; options->cluster && i < 3; i++)
        fth_buffer_format(key, "\n%u", options->cluster[i]);
}

/* Opens the trace and reads it once. The caller closes the input, also after a failure. */
static enum fth_status load(const struct fth_exploration *exploration, struct fth_input *input,
                            const char *path, const struct fth_launch_options *options,
                            const struct fth_log *log, struct fth_error *error)
{
    const struct fth_trace_options trace =
        FTH_TRACE_OPTIONS(.launch = options, .log = log,
                          .max_instructions = exploration->max_instructions);
    FTH_TRY(fth_trace_obtain(path, &trace, &input->trace, error));
    if (fth_trace_truncated(input->trace))
        return fth_fail(error, FTH_INVALID, operation, path,
                        "the trace is incomplete; only 'fathom model' accepts incomplete traces");
    return scan_trace(input, log, error);
}

static const struct fth_input *find_name(const struct fth_exploration *exploration,
                                         const char *name)
{
    for (size_t i = 0; i < exploration->input_count; i++)
        if (strcmp(exploration->inputs[i].name, name) == 0)
            return &exploration->inputs[i];
    return NULL;
}

/* Adds a loaded input, of which the exploration takes ownership. Its name is its file name, with a
 * number if another input has this name. An input with the same file name and the same contents as
 * an earlier one, such as a copy in another folder, is that one. */
static enum fth_status add_input(struct fth_exploration *exploration, struct fth_input *input,
                                 const char *path, const char *key, size_t *number,
                                 struct fth_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *file = strcmp(path, "-") == 0 ? "standard input" : slash ? slash + 1 : path;
    char name[4096];
    snprintf(name, sizeof name, "%s", file);
    const struct fth_input *other;
    for (size_t i = 2; (other = find_name(exploration, name)); i++) {
        *number = (size_t)(other - exploration->inputs);
        if (other->content == input->content && other->accesses == input->accesses) {
            fth_input_close(input);
            return FTH_OK;
        }
        snprintf(name, sizeof name, "%.4000s#%zu", file, i);
    }
    input->name = fth_arena_text(&exploration->arena, name);
    input->key = fth_arena_text(&exploration->arena, key);
    if (!input->name || !input->key ||
        !fth_grow((void **)&exploration->inputs, exploration->input_count,
                  &exploration->input_capacity, sizeof *exploration->inputs)) {
        fth_input_close(input);
        return fth_no_memory(error, operation, path);
    }
    *number = exploration->input_count++;
    exploration->inputs[*number] = *input;
    return FTH_OK;
}

enum fth_status fth_input_open(struct fth_exploration *exploration, const char *path,
                               const struct fth_launch_options *given, const struct fth_log *log,
                               size_t *number, struct fth_error *error)
{
    struct fth_launch_options options;
    struct fth_buffer key = {0};
    struct fth_input input = {0};
    enum fth_status status = FTH_OK;
    FTH_TRY(fth_options_read("fth_launch_options", given, &options, sizeof options, error));
    put_key(&key, path, &options);
    if (key.failed) {
        status = fth_no_memory(error, operation, path);
        goto out;
    }
    for (*number = 0; *number < exploration->input_count; ++*number)
        if (strcmp(exploration->inputs[*number].key, key.data) == 0)
            goto out;
    status = load(exploration, &input, path, given, log, error);
    if (status == FTH_OK)
        status = add_input(exploration, &input, path, key.data, number, error);
    else
        fth_input_close(&input);
out:
    fth_buffer_fini(&key);
    return status;
}

void fth_input_close(struct fth_input *input)
{
    fth_trace_close(input->trace);
    free(input->lines);
}
