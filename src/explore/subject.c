/* The traces of an exploration. What is no trace yet (a launch file, another tool's trace) becomes
 * one, in a file that goes with the exploration. Each is known by a checksum over all its accesses,
 * so that parts from several machines are joined only where they looked at the same. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "explore";

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
}

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
        return fth_fail(error, FTH_IO, operation, path,
                        "the trace cannot be kept there meanwhile; TMPDIR can name another folder");
    close(fd);
    return FTH_OK;
}

static enum fth_status make_trace(const char *from, const char *to, const char *const *sizes,
                                  size_t size_count, const struct fth_log *log,
                                  struct fth_error *error)
{
    struct fth_launch *launch = NULL;
    if (!ends_with(from, ".json"))
        return fth_trace_import(from, to, error);
    enum fth_status status = fth_launch_read(from, sizes, size_count, &launch, error);
    if (status == FTH_OK)
        status = fth_launch_trace(launch, to, &(struct fth_run_options){.log = log}, NULL, error);
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

static uint64_t count_lines(const struct fth_trace_access *access)
{
    uint64_t lines = 1;
    for (uint32_t i = 1; i < access->threads; i++)
        lines += access->addresses[i] >> 7 != access->addresses[i - 1] >> 7;
    return lines;
}

/* What the trace is known by. */
static enum fth_status sum_up(struct fth_subject *source, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    uint64_t state = FTH_LINE_START;
    source->lines = calloc(fth_trace_launch_count(source->trace) + 1, sizeof *source->lines);
    if (!source->lines)
        return no_memory(error);
    for (size_t i = 0; i < fth_trace_launch_count(source->trace) && status == FTH_OK; i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(source->trace, i);
        struct fth_trace_cursor *cursor = NULL;
        const struct fth_trace_access *access = NULL;
        source->accesses += launch->accesses;
        for (int k = 0; k < 3; k++)
            state = mix(state, (uint64_t)launch->grid[k] << 32 | launch->block[k]);
        state = mix(state, launch->shared_bytes);
        state = mix(state, fth_line_checksum(launch->kernel, strlen(launch->kernel), state));
        status = fth_trace_cursor_open(source->trace, i, 0, UINT64_MAX, &cursor, error);
        while (status == FTH_OK) {
            status = fth_trace_next(cursor, &access, error);
            if (status != FTH_OK || !access)
                break;
            state = mix_access(state, access);
            source->lines[i] += count_lines(access);
        }
        fth_trace_cursor_close(cursor);
    }
    source->content = state;
    return status;
}

enum fth_status fth_subject_open(struct fth_exploration *exploration, const char *path,
                                 const char *const *sizes, size_t size_count,
                                 const struct fth_log *log, size_t *number, struct fth_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (*number = 0; *number < exploration->source_count; ++*number)
        if (strcmp(exploration->sources[*number].name, name) == 0)
            return FTH_OK;
    if (!fth_grow((void **)&exploration->sources, exploration->source_count,
                  &exploration->source_capacity, sizeof *exploration->sources))
        return no_memory(error);
    struct fth_subject *source = &exploration->sources[exploration->source_count++];
    *source = (struct fth_subject){.name = fth_arena_text(&exploration->arena, name)};
    char temporary[512] = "";
    enum fth_status status = source->name ? FTH_OK : no_memory(error);
    source->temporary = ends_with(path, ".json") || fth_trace_recognise(path) != FTH_TRACE_OWN;
    if (status == FTH_OK && source->temporary)
        status = make_temporary(temporary, sizeof temporary, error);
    if (status == FTH_OK) {
        source->path = strdup(source->temporary ? temporary : path);
        if (!source->path)
            status = no_memory(error);
    }
    if (status == FTH_OK && source->temporary)
        status = make_trace(path, temporary, sizes, size_count, log, error);
    if (status == FTH_OK)
        status = fth_trace_open(source->path, &source->trace, error);
    if (status == FTH_OK && fth_trace_truncated(source->trace))
        status =
            fth_fail(error, FTH_INVALID, operation, path,
                     "the trace is not complete; 'fathom model' takes such, exploring does not");
    return status == FTH_OK ? sum_up(source, error) : status;
}

void fth_subject_close(struct fth_subject *source)
{
    fth_trace_close(source->trace);
    if (source->temporary && source->path)
        unlink(source->path);
    free(source->path);
    free(source->lines);
}
