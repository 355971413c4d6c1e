/* Completes lines of inputs with what a fuzzer cannot guess. */
#include "support/complete.h"

#include "device/recording.h"
#include "explore/explore.h"

#include <math.h>
#include <string.h>

void fuzz_put_points_line(struct fth_buffer *file, const char *line, size_t size)
{
    const size_t from = file->size;
    const char mark = size ? *line : '\0';
    const bool marked = mark == '#' || mark == '!';
    const char *tab = size ? memchr(line, '\t', size) : NULL;
    const size_t described = from == 0 && !marked && tab ? (size_t)(tab - line) : size;
    fth_buffer_append(file, line + marked, described - marked);
    if (from == 0 && !marked)
        fth_buffer_format(file, ",\"exploration\":\"%016llx\"",
                          (unsigned long long)fth_line_checksum(line, described, FTH_LINE_START));
    if (described < size)
        fth_buffer_append(file, tab + 1, size - described - 1);
    if (mark != '#')
        fth_line_add_checksum(file, from);
    fth_buffer_text(file, "\n");
}

/* Appends the answer of one line to a recording. */
static void put_answer(struct fth_buffer *file, const char *line, size_t size)
{
    enum { MAX_SAMPLES = 64 };
    const char *equals = memchr(line, '=', size);
    const size_t key_size = equals ? (size_t)(equals - line) : size;
    uint32_t cycles[MAX_SAMPLES];
    struct fth_samples samples = {.clock_mhz = NAN, .cycles = cycles};
    uint32_t number = 0;
    for (size_t i = key_size + 1; i < size && samples.count < MAX_SAMPLES; i++) {
        if (line[i] >= '0' && line[i] <= '9')
            number = number * 10 + (uint32_t)(line[i] - '0');
        if (i + 1 == size || line[i] == ',') {
            cycles[samples.count++] = number;
            number = 0;
        }
    }
    fth_recording_put_answer(line, key_size, &samples, file);
}

void fuzz_put_recording(struct fth_buffer *file, const char *lines, size_t size)
{
    const size_t begin = file->size;
    uint64_t entries = 0;
    fth_recording_put_header("cuda:0", file);
    for (size_t from = 0; from < size; entries++) {
        const char *line = lines + from, *stop = memchr(line, '\n', size - from);
        const size_t length = stop ? (size_t)(stop - line) : size - from;
        put_answer(file, line, length);
        from += length + 1;
    }
    fth_recording_put_end(entries,
                          fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, file->data + begin,
                                                 file->size - begin),
                          file);
}
