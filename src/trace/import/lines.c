/* Reads text line by line, and numbers from a line, for the formats of other tools. */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fth_lines {
    struct fth_zreader *reader;
    const struct fth_log *log;
    struct fth_buffer line;
    char chunk[1 << 16];
    size_t at, size;  /* next byte and number of bytes in the chunk */
    size_t number;    /* of the line that was returned last, from 1 */
    uint64_t bytes;   /* read so far */
    const char *name; /* for messages; borrowed */
    bool end;
};

/* Maximum length of a line in bytes. It bounds the memory that a file without line breaks takes.
 * Chosen: a tuple with 32 addresses has less than a thousand bytes. */
#define MAX_LINE_BYTES ((size_t)1 << 16)
_Static_assert(MAX_LINE_BYTES == 65536, "the message of fth_lines_next states this limit");
/* Maximum size of a text in bytes, after decompression. It bounds the work and the disk space that
 * a small compressed file can cost. Chosen: about a billion accesses, some minutes of work. */
#define MAX_TEXT_BYTES ((uint64_t)64 << 30)

enum fth_status fth_lines_open(const struct fth_trace_input *input, const struct fth_log *log,
                               struct fth_lines **out, struct fth_error *error)
{
    *out = NULL;
    FTH_TRY(fth_trace_input_rewind(input, error));
    struct fth_lines *lines = calloc(1, sizeof *lines);
    if (!lines)
        return fth_no_memory(error, "read", input->name);
    lines->log = log;
    lines->name = input->name;
    enum fth_status status = fth_zreader_attach(input->fd, input->name, &lines->reader, error);
    if (status == FTH_OK)
        *out = lines;
    else
        free(lines);
    return status;
}

/* Reads the next chunk of the file. */
static enum fth_status fill_chunk(struct fth_lines *lines, struct fth_error *error)
{
    if (fth_log_interrupted(lines->log))
        return fth_fail(error, FTH_INTERRUPTED, "read trace", NULL, "interrupted");
    lines->at = 0;
    FTH_TRY(
        fth_zreader_read(lines->reader, lines->chunk, sizeof lines->chunk, &lines->size, error));
    lines->end = lines->size == 0;
    lines->bytes += lines->size;
    return lines->bytes <= MAX_TEXT_BYTES
               ? FTH_OK
               : fth_file_too_large(lines->name,
                                    FTH_FILE_LIMIT("a trace in text form", (size_t)MAX_TEXT_BYTES),
                                    error);
}

enum fth_status fth_lines_next(struct fth_lines *lines, char **line, struct fth_error *error)
{
    lines->line.size = 0;
    *line = NULL;
    for (;;) {
        if (lines->at == lines->size && !lines->end)
            FTH_TRY(fill_chunk(lines, error));
        const char *from = lines->chunk + lines->at;
        const char *feed = memchr(from, '\n', lines->size - lines->at);
        size_t size = feed ? (size_t)(feed - from) : lines->size - lines->at;
        fth_buffer_append(&lines->line, from, size);
        lines->at += size + (feed ? 1 : 0);
        if (lines->line.failed)
            return fth_no_memory(error, "read trace", NULL);
        if (lines->line.size > MAX_LINE_BYTES)
            return fth_fail(error, FTH_INVALID, "read trace", NULL,
                            "line %zu is longer than 65536 bytes", lines->number + 1);
        if (feed || (lines->end && lines->line.size > 0))
            break;
        if (lines->end)
            return FTH_OK;
    }
    lines->number++;
    fth_buffer_text(&lines->line, ""); /* allocates memory also for an empty line */
    *line = lines->line.data;
    return *line ? FTH_OK : fth_no_memory(error, "read trace", NULL);
}

size_t fth_lines_number(const struct fth_lines *lines)
{
    return lines->number;
}

void fth_lines_close(struct fth_lines *lines)
{
    if (!lines)
        return;
    fth_zreader_close(lines->reader);
    fth_buffer_fini(&lines->line);
    free(lines);
}

const char *fth_text_after(const char *text, const char *beginning)
{
    size_t size = strlen(beginning);
    return strncmp(text, beginning, size) == 0 ? text + size : NULL;
}

bool fth_text_integer(const char *text, uint64_t *number)
{
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    errno = 0;
    *number = strtoull(text, &end, hexadecimal ? 16 : 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

bool fth_text_numbers(const char *text, int base, uint64_t max, size_t count, uint64_t *numbers)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        text += strspn(text, " \t,(");
        errno = 0;
        numbers[i] = strtoull(text, &end, base);
        if (end == text || *text == '-' || errno || numbers[i] > max)
            return false;
        text = end;
    }
    return true;
}
