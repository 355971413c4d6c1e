/* Text utilities: parsing and formatting sizes, finding the word that a misspelt word resembles,
 * making text safe to print, and naming positions in source code. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns the exponent of 2 that a unit stands for, or -1 if it is not a unit. KB means KiB, as in
 * the documents of GPU vendors. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "KMGTP";
    if (!*unit || strcasecmp(unit, "B") == 0)
        return 0;
    const char *letter = strchr(letters, toupper((unsigned char)*unit));
    if (!letter)
        return -1;
    const char *rest = unit + 1;
    if (*rest && strcasecmp(rest, "B") != 0 && strcasecmp(rest, "iB") != 0)
        return -1;
    return 10 * (int)(letter - letters + 1);
}

enum fth_status fth_size_parse(const char *text, uint64_t *bytes, struct fth_error *error)
{
    const char *operation = "read size";
    const char *at = text;
    while (isspace((unsigned char)*at))
        at++;
    uint64_t digits = 0, divisor = 1;
    bool any = false, fraction = false;
    for (;; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*at))
            break;
        any = true;
        uint64_t digit = (uint64_t)(*at - '0');
        if (digits > (UINT64_MAX - digit) / 10 || (fraction && divisor > UINT64_MAX / 10))
            return fth_fail(error, FTH_INVALID, operation, text, "too many digits");
        digits = digits * 10 + digit;
        if (fraction)
            divisor *= 10;
    }
    if (!any)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "not a number with an optional unit, such as 4096, 32K, 1.5M or 64KiB");
    while (isspace((unsigned char)*at))
        at++;
    int shift = unit_shift(at);
    if (shift < 0)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "'%s' is not a unit; use K, M, G, T or P, with or without B or iB", at);
    /* The size is digits * 2^shift / divisor. The fraction is reduced first, so that the
     * computation is exact and does not overflow. */
    while (divisor > 1 && digits % 10 == 0) {
        digits /= 10;
        divisor /= 10;
    }
    while (shift > 0 && divisor % 2 == 0) {
        divisor /= 2;
        shift--;
    }
    if (digits % divisor != 0)
        return fth_fail(error, FTH_INVALID, operation, text, "not a whole number of bytes");
    digits /= divisor;
    if (shift > 0 && digits >> (64 - shift))
        return fth_fail(error, FTH_INVALID, operation, text, "does not fit 64 bits");
    *bytes = digits << shift;
    return FTH_OK;
}

const char *fth_size_format(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    while (fabs(bytes) >= 1024 && unit + 1 < FTH_COUNT(units)) {
        bytes /= 1024;
        unit++;
    }
    /* Computing in hundredths avoids the decimal separator of the locale. */
    long long hundredths = llround(bytes * 100);
    long long whole = hundredths / 100, part = llabs(hundredths % 100);
    if (part == 0)
        snprintf(text, size, "%lld %s", whole, units[unit]);
    else if (part % 10 == 0)
        snprintf(text, size, "%lld.%lld %s", whole, part / 10, units[unit]);
    else
        snprintf(text, size, "%lld.%02lld %s", whole, part, units[unit]);
    return text;
}

/* Returns the number of edits that turn one word into the other, ignoring case: insertions,
 * deletions, replacements and swaps of neighbouring letters (optimal string alignment). SIZE_MAX if
 * there are `limit` edits or more, or if a word is longer than MAX_LENGTH. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
    enum { MAX_LENGTH = 63 }; /* longer than any name that users type; bounds the stack */
    size_t m = strlen(a), n = strlen(b);
    if (m > MAX_LENGTH || n > MAX_LENGTH || (m > n ? m - n : n - m) >= limit)
        return SIZE_MAX;
    size_t rows[3][MAX_LENGTH + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t min_above = 0; /* the minimum of the row above */
    for (size_t j = 0; j <= n; j++)
        above[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t min = row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            size_t best = above[j - 1] + (ca != cb);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
            min = best < min ? best : min;
        }
        /* The rows below continue from these two, and numbers never decrease on the way. */
        if (min >= limit && min_above >= limit)
            return SIZE_MAX;
        min_above = min;
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[n] < limit ? above[n] : SIZE_MAX;
}

const char *fth_nearest(const char *word, const char *const *words, size_t count, size_t *distance)
{
    size_t length = strlen(word);
    const char *nearest = NULL;
    *distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        /* If one word is the beginning of the other, the user has probably abbreviated or extended
         * it. This counts as at most two edits. The minimum of 3 letters is heuristic. */
        size_t other = strlen(words[i]), shared = other < length ? other : length;
        bool begins = shared >= 3 && strncasecmp(word, words[i], shared) == 0;
        size_t edits = edit_distance(word, words[i], begins ? SIZE_MAX : *distance);
        if (begins && edits > 1)
            edits = 2;
        if (!nearest || edits < *distance) {
            *distance = edits;
            nearest = words[i];
        }
    }
    return nearest;
}

const char *fth_suggest(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word), distance;
    const char *nearest = fth_nearest(word, words, count, &distance);
    /* A misspelling is assumed to change at most a third of the letters, or two letters of a short
     * word. Heuristic. */
    size_t allowed = length / 3 > 2 ? length / 3 : 2;
    return distance <= allowed && distance < length ? nearest : NULL;
}

/* Returns the length in bytes of the UTF-8 sequence at `text`, and the character in *code; 0 if it
 * is not valid (RFC 3629: overlong forms, surrogates and numbers above U+10FFFF are not). */
static size_t decode(const unsigned char *text, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80                      ? 1
                          : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                          : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                          : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                              : 0;
    *code = length < 2 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (text[i] & 0x3f);
    }
    return *code < smallest[length] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff
               ? 0
               : length;
}

/* Returns whether a character controls the terminal or is invisible and could disguise text: C0 and
 * C1 controls, DEL, invisible and bidirectional formatting characters (Unicode TR 36), and
 * noncharacters, which XML 1.0 forbids in part. */
static bool is_control(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
        {0x2028, 0x202f}, {0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < FTH_COUNT(ranges); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

/* Returns the length of the character at `text` in bytes, at least 1. *printable: it can be shown
 * as it is. */
static size_t character_length(const char *text, bool *printable)
{
    uint32_t code;
    const size_t length = decode((const unsigned char *)text, &code);
    *printable = length > 0 && !is_control(code);
    return length ? length : 1;
}

void fth_make_printable(char *text)
{
    char *to = text;
    while (*text) {
        bool printable;
        const size_t length = character_length(text, &printable);
        if (printable)
            memmove(to, text, length);
        else
            *to = '?';
        to += printable ? length : 1;
        text += length;
    }
    *to = '\0';
}

size_t fth_text_columns(const char *text)
{
    size_t columns = 0;
    bool printable;
    for (; *text; columns++)
        text += character_length(text, &printable);
    return columns;
}

size_t fth_text_append_bytes(struct fth_buffer *buffer, const char *text, size_t bytes)
{
    size_t columns = 0;
    for (const char *end = text + bytes; text < end; columns++) {
        bool printable;
        const size_t length = character_length(text, &printable);
        fth_buffer_append(buffer, printable ? text : "?", printable ? length : 1);
        text += length;
    }
    return columns;
}

/* Returns the width of the first `bytes` bytes of a text. */
static size_t width_of(const char *text, size_t bytes)
{
    size_t columns = 0;
    bool printable;
    for (size_t at = 0; at < bytes; columns++)
        at += character_length(text + at, &printable);
    return columns;
}

/* Returns whether the remark in parentheses that begins after a space at `text` is short enough to
 * be kept on one line. */
static bool is_short_remark(const char *text, size_t columns)
{
    enum { MAX_REMARK = 30 }; /* chosen: intervals are shorter, most other remarks are longer */
    const size_t bytes = strcspn(text, ")");
    const size_t width = width_of(text, bytes);
    return text[bytes] && width <= columns && width <= MAX_REMARK;
}

size_t fth_text_line(const char *text, size_t columns, size_t *width)
{
    size_t bytes = 0, before_space = 0, before_remark = 0, after_mark = 0;
    for (size_t used = 0; text[bytes] && used < columns; used++) {
        const char character = text[bytes];
        bool printable;
        if (character == ' ' && bytes && text[bytes - 1] != ' ')
            before_space = bytes;
        if (character == ' ' && text[bytes + 1] == '(')
            before_remark = before_space;
        else if (character == ')')
            before_remark = 0;
        bytes += character_length(text + bytes, &printable);
        /* Marks near the beginning would leave most of the line empty. */
        if (2 * used >= columns && strchr(",;:/_<>()-", character))
            after_mark = bytes;
    }
    if (text[bytes] && before_remark && is_short_remark(text + before_remark, columns))
        bytes = before_remark;
    else if (text[bytes] && text[bytes] != ' ')
        bytes = before_space ? before_space : after_mark ? after_mark : bytes;
    *width = width_of(text, bytes);
    return bytes;
}

void fth_text_wrap(struct fth_buffer *buffer, const char *lead, const char *text, size_t columns)
{
    const size_t indent = fth_text_columns(lead);
    size_t column = indent;
    fth_buffer_text(buffer, lead);
    while (*text) {
        const size_t bytes = strcspn(text, " ");
        if (column > indent && column + 1 + width_of(text, bytes) > columns) {
            fth_buffer_text(buffer, "\n");
            fth_buffer_repeat(buffer, " ", indent);
            column = indent;
        } else if (column > indent) {
            fth_buffer_text(buffer, " ");
            column++;
        }
        column += fth_text_append_bytes(buffer, text, bytes);
        text += bytes;
        text += strspn(text, " ");
    }
    fth_buffer_text(buffer, "\n");
}

bool fth_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

size_t fth_text_append(struct fth_buffer *buffer, const char *text, size_t columns,
                       const char *ellipsis)
{
    size_t total = fth_text_columns(text), available = columns;
    bool cut = total > columns;
    if (cut) {
        size_t dots = fth_text_columns(ellipsis);
        available = columns > dots ? columns - dots : 0;
    }
    size_t bytes = 0;
    bool printable;
    for (size_t i = 0; text[bytes] && i < available; i++)
        bytes += character_length(text + bytes, &printable);
    size_t used = fth_text_append_bytes(buffer, text, bytes);
    if (cut && columns > 0) {
        fth_buffer_text(buffer, ellipsis);
        used += fth_text_columns(ellipsis);
    }
    return used;
}

const char *fth_source_file(const struct fth_source_position *position)
{
    const char *file = position ? position->file : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? slash + 1 : file;
}

const char *fth_source_text(const struct fth_source_position *position, char *text, size_t size)
{
    size_t used = 0;
    if (size)
        *text = '\0';
    for (const struct fth_source_position *at = position; at && used < size; at = at->inlined_at) {
        const char *file = fth_source_file(at);
        int added =
            snprintf(text + used, size - used, "%s%s%s%u", at == position ? "" : ", inlined at ",
                     file ? file : "line ", file ? ":" : "", at->line);
        used += added > 0 ? (size_t)added : 0;
    }
    return text;
}
