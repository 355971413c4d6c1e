/* The sections of PTX, which state bytes as numbers:
 *
 *     .section .debug_info
 *     {
 *     .b32 515
 *     .b8 2,0
 *     .b32 .debug_abbrev
 *     }
 */
#include "ptx/debug/debug.h"

#include <stdlib.h>
#include <string.h>

/* Returns the size of the numbers of a directive in bytes; 0: it is none of data. */
static size_t number_bytes(const char *line)
{
    static const char *const directives[] = {".b8", ".b16", ".b32", ".b64"};
    for (size_t i = 0; i < FTH_COUNT(directives); i++) {
        const size_t length = strlen(directives[i]);
        if (strncmp(line, directives[i], length) == 0 &&
            (line[length] == ' ' || line[length] == '\t'))
            return (size_t)1 << i;
    }
    return 0;
}

/* Appends the numbers of a directive, which ends at `end`. */
static void append_numbers(const char *line, const char *end, size_t bytes, struct fth_buffer *out)
{
    const char *at = line;
    while (at < end && *at != ' ' && *at != '\t')
        at++;
    while (at && at < end) {
        at += strspn(at, " \t,");
        if (at >= end)
            break;
        const bool is_number = (*at >= '0' && *at <= '9') || *at == '-';
        const uint64_t value = !is_number   ? 0
                               : *at == '-' ? -strtoull(at + 1, NULL, 0)
                                            : strtoull(at, NULL, 0);
        unsigned char word[8];
        for (size_t i = 0; i < sizeof word; i++)
            word[i] = (unsigned char)(value >> 8 * i);
        fth_buffer_append(out, word, bytes);
        at = memchr(at, ',', (size_t)(end - at));
    }
}

void fth_debug_section(const char *text, const char *name, struct fth_buffer *bytes)
{
    static const char directive[] = ".section";
    const size_t length = strlen(name);
    const char *at = text;
    for (bool found = false; !found && (at = strstr(at, directive));) {
        at += sizeof directive - 1;
        at += strspn(at, " \t");
        found = strncmp(at, name, length) == 0 && strchr(" \t\r\n{", at[length]);
    }
    const char *line = at ? strchr(at, '{') : NULL;
    const char *close = line ? strchr(line, '}') : NULL;
    while (line && close && line < close && !bytes->failed) {
        line++;
        line += strspn(line, " \t\r");
        const char *end = line + strcspn(line, "\r\n}");
        const size_t size = number_bytes(line);
        if (size)
            append_numbers(line, end, size, bytes);
        line = end;
    }
}
