/* What a text is and which kernels it has, found without parsing it. This takes a small part of the
 * time of parsing, and works for PTX that the parser refuses. */
#include "ptx/ptx.h"

#include <string.h>

bool fth_ptx_is_binary(const void *data, size_t size)
{
    /* Text has no NUL. Chosen: the beginning of a file suffices. */
    enum { MAX_SEARCHED = 4096 };
    return size && memchr(data, '\0', size < MAX_SEARCHED ? size : MAX_SEARCHED);
}

/* Returns the end of the comment that begins at `at`; `at` itself if there is none. */
static const char *skip_comment(const char *at, const char *end)
{
    if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*'))
        return at;
    const bool line = at[1] == '/';
    for (at += 2; at < end; at++) {
        if (line ? *at == '\n' : at[0] == '*' && end - at > 1 && at[1] == '/')
            return at + (line ? 1 : 2);
    }
    return end;
}

/* Returns the first character that is neither a blank nor in a comment. */
static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end) {
        const char *next = strchr(" \t\r\n", *at) && *at ? at + 1 : skip_comment(at, end);
        if (next == at)
            break;
        at = next;
    }
    return at;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

bool fth_ptx_scan_kernels(const char *text, size_t size, struct fth_buffer *names)
{
    static const char directive[] = ".entry";
    enum { DIRECTIVE_BYTES = sizeof directive - 1 };
    const char *end = text + size;
    for (const char *at = text; at < end;) {
        const char *next = skip_comment(at, end);
        if (next > at || end - at < DIRECTIVE_BYTES + 1 ||
            memcmp(at, directive, DIRECTIVE_BYTES) != 0) {
            at = next > at ? next : at + 1;
            continue;
        }
        const char *name = skip_blanks(at + DIRECTIVE_BYTES, end);
        at += DIRECTIVE_BYTES;
        if (name == at)
            continue; /* a longer word */
        for (at = name; at < end && is_name_character(*at);)
            at++;
        if (at > name) {
            fth_buffer_append(names, name, (size_t)(at - name));
            fth_buffer_append(names, "", 1);
        }
    }
    return !names->failed;
}
