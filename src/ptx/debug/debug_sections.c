/* The sections of PTX, which state bytes as numbers, and can have labels:
 *
 *     .section .debug_info              .section .debug_str
 *     {                                 {
 *     .b32 515                          $L__info_string0:
 *     .b8 2,0                           .b8 97,116,0
 *     .b32 .debug_abbrev                }
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

/* Reads a label, if the text up to `end` begins with one, and returns the text after it. */
static const char *read_label(const char *at, const char *end, size_t offset,
                              struct fth_debug_labels *labels)
{
    const size_t length = strcspn(at, " \t\r\n:}");
    const char *after = at + length + strspn(at + length, " \t");
    if (length == 0 || after >= end || *after != ':')
        return at;
    if (labels &&
        !fth_grow((void **)&labels->items, labels->count, &labels->capacity, sizeof *labels->items))
        labels->failed = true;
    else if (labels)
        labels->items[labels->count++] = (struct fth_debug_label){at, length, offset};
    after++;
    return after + strspn(after, " \t\r");
}

void fth_debug_section(const char *text, const char *name, struct fth_buffer *bytes,
                       struct fth_debug_labels *labels)
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
    while (line && *line && *line != '}' && !bytes->failed) {
        line++;
        line += strspn(line, " \t\r");
        const char *end = line + strcspn(line, "\r\n}/"); /* comments begin with a slash */
        line = read_label(line, end, bytes->size, labels);
        const size_t size = number_bytes(line);
        if (size)
            append_numbers(line, end, size, bytes);
        line = *end == '/' ? end + strcspn(end, "\r\n") : end;
    }
}

static int compare_names(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_name(const void *a, const void *b)
{
    const struct fth_debug_label *x = a, *y = b;
    const int order = compare_names(x->name, x->size, y->name, y->size);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

void fth_debug_labels_sort(struct fth_debug_labels *labels)
{
    if (labels->count)
        qsort(labels->items, labels->count, sizeof *labels->items, by_name);
}

const struct fth_debug_label *fth_debug_labels_find(const struct fth_debug_labels *labels,
                                                    const char *name, size_t size)
{
    size_t first = 0, end = labels->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const struct fth_debug_label *label = &labels->items[middle];
        if (compare_names(label->name, label->size, name, size) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    const struct fth_debug_label *found = first < labels->count ? &labels->items[first] : NULL;
    return found && compare_names(found->name, found->size, name, size) == 0 ? found : NULL;
}

void fth_debug_labels_fini(struct fth_debug_labels *labels)
{
    free(labels->items);
    *labels = (struct fth_debug_labels){0};
}
