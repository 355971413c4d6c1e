/* Fuzzes the reader of traces (fth_trace_attach). The input is a list of parts: a letter for
 * the type, two bytes for the size, and the content. This file compresses the parts and adds their
 * checksums, because otherwise almost every input would be rejected. If the last part is an index,
 * the trace is complete, otherwise it is cut off. It must be rejected with a message, or all its
 * accesses can be read. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Opens a trace of these bytes through a file without a name, which all inputs reuse. */
static enum fth_status open_bytes(const struct fth_buffer *file, struct fth_trace **trace,
                                  struct fth_error *error)
{
    static int fd = -1;
    if (fd < 0 && fth_temporary_open(&fd, error) != FTH_OK)
        abort();
    if (ftruncate(fd, 0) || pwrite(fd, file->data, file->size, 0) != (ssize_t)file->size)
        abort();
    return fth_trace_attach(fd, "fuzzed trace", trace, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_fixed(uint64_t number, size_t bytes, struct fth_buffer *out)
{
    for (size_t i = 0; i < bytes; i++)
        fth_buffer_append(out, &(char){(char)(number >> (8 * i))}, 1);
}

static uint32_t type_of(uint8_t letter)
{
    return letter == 'L'   ? FTH_PART_LAUNCH
           : letter == 'I' ? FTH_PART_INSTRUCTIONS
           : letter == 'F' ? FTH_PART_FRAME
           : letter == 'E' ? FTH_PART_LAUNCH_END
           : letter == 'P' ? FTH_PART_PACE
           : letter == 'S' ? FTH_PART_SOURCES
           : letter == 'X' ? FTH_PART_INDEX
                           : letter;
}

static void put_part(uint8_t letter, const uint8_t *content, size_t size, struct fth_buffer *out)
{
    char packed[ZSTD_COMPRESSBOUND(65536)];
    size_t at = out->size, stored = ZSTD_compress(packed, sizeof packed, content, size, 1);
    put_fixed(type_of(letter), 4, out);
    put_fixed(size, 4, out);
    put_fixed(stored, 4, out);
    fth_buffer_append(out, packed, stored);
    put_fixed(fth_fnv_checksum(at, out->data + at, out->size - at), 8, out);
}

/* Every step of a pace can be found, and refers to instructions of the trace. */
static void check_pace(const struct fth_trace *trace, size_t launch)
{
    const struct fth_pace *pace = fth_trace_pace(trace, launch);
    for (size_t i = 0; pace && i < pace->count; i++) {
        const struct fth_pace_step *step = &pace->steps[i];
        if (fth_pace_find(pace, step->from, step->to) != step || !step->count ||
            (step->to != FTH_PACE_END && !fth_trace_instruction_at(trace, step->to)) ||
            (step->from != FTH_PACE_START && !fth_trace_instruction_at(trace, step->from)))
            abort();
    }
}

static void read_all(const struct fth_trace *trace)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_trace_stats *stats;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        struct fth_trace_cursor *cursor;
        const struct fth_trace_access *access;
        check_pace(trace, i);
        enum fth_status status = fth_trace_cursor_open(trace, i, 1, 9, &cursor, &error);
        while (status == FTH_OK) {
            status = fth_trace_next(cursor, &access, &error);
            if (status != FTH_OK || !access)
                break;
            if (access->block < 1 || access->block > 9 || access->threads == 0 ||
                access->threads > 32 || !fth_trace_instruction_at(trace, access->instruction))
                abort();
        }
        if (status != FTH_OK && !error.cause[0])
            abort();
        fth_trace_cursor_close(cursor);
    }
    if (fth_trace_stats_create(trace, NULL, &stats, NULL) == FTH_OK)
        fth_trace_stats_destroy(stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer file = {0};
    struct fth_trace *trace = NULL;
    struct fth_error error = FTH_NO_ERROR;
    uint64_t index = 0;
    uint8_t letter = 0;
    fth_buffer_text(&file, FTH_TRACE_MAGIC);
    while (size >= 3) {
        size_t bytes = data[1] | (size_t)data[2] << 8;
        letter = data[0];
        data += 3;
        size -= 3;
        bytes = bytes < size ? bytes : size;
        index = file.size;
        put_part(letter, data, bytes, &file);
        data += bytes;
        size -= bytes;
    }
    if (letter == 'X') {
        size_t at = file.size;
        put_fixed(index, 8, &file);
        put_fixed(fth_fnv_checksum(at, file.data + at, 8), 8, &file);
        fth_buffer_text(&file, FTH_TRACE_END);
    }
    enum fth_status status = open_bytes(&file, &trace, &error);
    if ((status == FTH_OK) != (trace != NULL) || (status != FTH_OK && !error.cause[0]))
        abort();
    if (trace)
        read_all(trace);
    fth_trace_close(trace);
    fth_buffer_fini(&file);
    return 0;
}
