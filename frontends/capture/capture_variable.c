/* The names of the variables in PTX. The scan knows only as much of the language as it needs:
 * comments, strings, braces, and the form of a declaration:
 *
 *     .visible .global .attribute(.managed) .align 4 .b8 name[16] = { … };
 *
 * The name is the first word without a dot after the state space that is not a number and not in
 * parentheses. */
#include "capture.h"

#include <ctype.h>

struct scan {
    const char *at, *end;
};

/* Moves over spaces, comments and strings. Returns false at the end. */
static bool skip_blank(struct scan *scan)
{
    while (scan->at < scan->end) {
        const char c = *scan->at;
        const char next = scan->end - scan->at > 1 ? scan->at[1] : '\0';
        if (isspace((unsigned char)c)) {
            scan->at++;
        } else if (c == '/' && next == '/') {
            while (scan->at < scan->end && *scan->at != '\n')
                scan->at++;
        } else if (c == '/' && next == '*') {
            scan->at += 2;
            while (scan->end - scan->at > 1 && (scan->at[0] != '*' || scan->at[1] != '/'))
                scan->at++;
            scan->at = scan->end - scan->at > 1 ? scan->at + 2 : scan->end;
        } else if (c == '"') {
            for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++)
                if (*scan->at == '\\' && scan->end - scan->at > 1)
                    scan->at++;
            if (scan->at < scan->end)
                scan->at++;
        } else {
            return true;
        }
    }
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* Returns the length of the word at this place; 0: another character. */
static size_t word_length(const struct scan *scan)
{
    size_t length = 0;
    while (length < (size_t)(scan->end - scan->at) && is_word(scan->at[length]))
        length++;
    return length;
}

static bool equals(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

/* What is known of the statement at file scope that is being read. */
struct statement {
    bool is_variable; /* it has a state space of memory */
    bool is_done;     /* its name was found, or it has none */
};

void capture_variables(const char *ptx, size_t size,
                       bool (*found)(void *user, const char *name, size_t length), void *user)
{
    struct scan scan = {ptx, ptx + size};
    struct statement statement = {false, false};
    int braces = 0, parentheses = 0;
    while (skip_blank(&scan)) {
        const size_t length = word_length(&scan);
        const char *word = scan.at, c = *word;
        scan.at += length ? length : 1;
        if (length == 0) {
            braces += (c == '{') - (c == '}');
            parentheses += (c == '(') - (c == ')');
            if (braces == 0 && (c == ';' || c == '}') && !(c == '}' && statement.is_variable))
                statement = (struct statement){false, false};
        } else if (braces || parentheses || statement.is_done) {
            continue;
        } else if (equals(word, length, ".global") || equals(word, length, ".const")) {
            statement.is_variable = true;
        } else if (equals(word, length, ".entry") || equals(word, length, ".func") ||
                   equals(word, length, ".section")) {
            statement.is_done = true;
        } else if (statement.is_variable && c != '.' && !isdigit((unsigned char)c)) {
            statement.is_done = true;
            if (!found(user, word, length))
                return;
        }
    }
}
