/* Splits PTX text into tokens. Comments and white space are skipped. A word can contain dots and
 * double colons, so an opcode with all its modifiers is one token. */
#include "ptx/parse/lexer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read PTX";
/* Maximum size in bytes of the excerpt of a line. Chosen: it fits into fth_error.excerpt together
 * with the line of the caret. */
enum { MAX_EXCERPT = 100 };

void fth_ptx_lexer_init(struct fth_ptx_lexer *lexer, const char *name, const char *text,
                        size_t size, struct fth_error *error)
{
    *lexer = (struct fth_ptx_lexer){
        .name = name, .text = text, .end = text + size, .at = text, .line = 1, .error = error};
    fth_ptx_lexer_next(lexer);
}

/* Sets the status. No token follows an error. */
static void stop(struct fth_ptx_lexer *lexer, enum fth_status status)
{
    lexer->status = status;
    lexer->token =
        (struct fth_ptx_token){.kind = TOKEN_END, .start = lexer->end, .line = lexer->line};
}

bool fth_ptx_lexer_no_memory(struct fth_ptx_lexer *lexer)
{
    if (lexer->status == FTH_OK)
        stop(lexer, fth_no_memory(lexer->error, operation, lexer->name));
    return false;
}

/* Appends a part of a line, which goes to a terminal: blanks for tabs, and '?' for other control
 * characters and for bytes that are not UTF-8. Returns its width in columns. */
static size_t put_line_part(struct fth_buffer *out, const char *from, const char *to)
{
    char text[MAX_EXCERPT + 1];
    const size_t size = (size_t)(to - from);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)(from[i] == '\t' ? ' ' : from[i] == '\0' ? '?' : from[i]);
    text[size] = '\0';
    return fth_text_append(out, text, size, "");
}

/* Stores the line from `start` to `end`, and a caret under `at`, as the excerpt of the error. */
static void put_excerpt(struct fth_error *error, const char *start, const char *at, const char *end)
{
    struct fth_buffer out = {0};
    fth_buffer_text(&out, "  ");
    const size_t columns = put_line_part(&out, start, at);
    put_line_part(&out, at, end);
    fth_buffer_text(&out, "\n  ");
    fth_buffer_repeat(&out, " ", columns);
    fth_buffer_text(&out, "^");
    if (out.data && !out.failed)
        snprintf(error->excerpt, sizeof error->excerpt, "%s", out.data);
    fth_buffer_fini(&out);
}

void fth_ptx_lexer_report(struct fth_ptx_lexer *lexer, enum fth_status status,
                          const struct fth_ptx_token *token, const char *cause, ...)
{
    if (lexer->status != FTH_OK)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, cause);
    vsnprintf(text, sizeof text, cause, arguments);
    va_end(arguments);

    /* The excerpt is the line of the token. A long line is cut to at most 60 bytes before the token
     * and MAX_EXCERPT in total. */
    const char *start = token->start, *end = token->start;
    while (start > lexer->text && start[-1] != '\n' && token->start - start < 60)
        start--;
    while (end < lexer->end && *end != '\n' && end - start < MAX_EXCERPT)
        end++;
    while (start < token->start && isspace((unsigned char)*start))
        start++;
    bool first = lexer->error && lexer->error->status == FTH_OK;
    fth_fail(lexer->error, FTH_INVALID, operation, lexer->name, "line %u: %s", token->line, text);
    if (first)
        put_excerpt(lexer->error, start, token->start, end);
    stop(lexer, status);
}

static bool skip_blank(struct fth_ptx_lexer *lexer)
{
    const char *at = lexer->at, *end = lexer->end;
    for (;;) {
        while (at < end && isspace((unsigned char)*at)) {
            lexer->line += *at == '\n';
            at++;
        }
        if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            while (at < end && *at != '\n')
                at++;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            struct fth_ptx_token open = {.start = at, .size = 2, .line = lexer->line};
            at += 2;
            while (end - at >= 2 && !(at[0] == '*' && at[1] == '/')) {
                lexer->line += *at == '\n';
                at++;
            }
            if (end - at < 2)
                return fth_ptx_lexer_fail(lexer, &open, "unterminated comment");
            at += 2;
        } else {
            lexer->at = at;
            return true;
        }
    }
}

static bool word_start(char c)
{
    return isalpha((unsigned char)c) || (c && strchr("_$%.", c));
}

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$.", c));
}

/* Reads an integer (decimal, hexadecimal, octal, binary), a 0f or 0d bit pattern, or a decimal
 * number with a point or an exponent. */
static void lex_number(struct fth_ptx_lexer *lexer)
{
    struct fth_ptx_token *token = &lexer->token;
    const char *at = token->start, *end = lexer->end;
    /* strtoull and strtod need a terminated string. */
    char digits[64];
    size_t size = 0;
    while (at + size < end && size < sizeof digits - 1 &&
           (isalnum((unsigned char)at[size]) || at[size] == '.' ||
            ((at[size] == '+' || at[size] == '-') && size > 0 && tolower(at[size - 1]) == 'e' &&
             !(size > 1 && at[0] == '0' && strchr("xXfFdD", at[1]))))) {
        digits[size] = at[size];
        size++;
    }
    digits[size] = '\0';
    token->size = size;
    lexer->at = at + size;
    char *stop;
    char marker = size > 2 && digits[0] == '0' ? (char)tolower(digits[1]) : '\0';
    if ((marker == 'f' && size == 10) || (marker == 'd' && size == 18)) {
        token->kind = marker == 'f' ? TOKEN_FLOAT32 : TOKEN_FLOAT64;
        token->integer = strtoull(digits + 2, &stop, 16);
    } else if (marker != 'x' && strpbrk(digits, ".eE")) {
        double value = fth_strtod(digits, &stop);
        token->kind = TOKEN_FLOAT64;
        memcpy(&token->integer, &value, sizeof value);
    } else {
        token->kind = TOKEN_INTEGER;
        bool binary = marker == 'b';
        token->integer = strtoull(digits + (binary ? 2 : 0), &stop, binary ? 2 : 0);
        if (*stop == 'U' || *stop == 'u')
            stop++;
    }
    if (*stop != '\0')
        fth_ptx_lexer_report(lexer, FTH_INVALID, token, "invalid number");
}

void fth_ptx_lexer_next(struct fth_ptx_lexer *lexer)
{
    if (lexer->status != FTH_OK || !skip_blank(lexer))
        return;
    struct fth_ptx_token *token = &lexer->token;
    *token = (struct fth_ptx_token){.start = lexer->at, .size = 1, .line = lexer->line};
    if (lexer->at == lexer->end) {
        token->kind = TOKEN_END;
        token->size = 0;
        return;
    }
    const char *at = lexer->at;
    if (isdigit((unsigned char)*at)) {
        lex_number(lexer);
        return;
    }
    if (*at == '"') {
        token->kind = TOKEN_STRING;
        at++;
        while (at < lexer->end && *at != '"' && *at != '\n')
            at++;
        if (at == lexer->end || *at != '"') {
            fth_ptx_lexer_report(lexer, FTH_INVALID, token, "unterminated string");
            return;
        }
        at++;
    } else if (word_start(*at) &&
               !(*at == '%' &&
                 !(lexer->end - at > 1 && word_part(at[1])))) { /* the operator in "a % b" */
        token->kind = TOKEN_WORD;
        at++;
        for (;;) {
            if (at < lexer->end && word_part(*at))
                at++;
            else if (lexer->end - at > 2 && at[0] == ':' && at[1] == ':' && word_part(at[2]))
                at += 2;
            else
                break;
        }
    } else {
        token->kind = TOKEN_PUNCTUATION;
        at++;
    }
    token->size = (size_t)(at - token->start);
    lexer->at = at;
}

struct fth_ptx_lexer fth_ptx_lexer_ahead(const struct fth_ptx_lexer *lexer)
{
    struct fth_ptx_lexer ahead = *lexer;
    ahead.error = NULL;
    fth_ptx_lexer_next(&ahead);
    return ahead;
}

bool fth_ptx_token_is(const struct fth_ptx_token *token, const char *text)
{
    return (token->kind == TOKEN_WORD || token->kind == TOKEN_PUNCTUATION) &&
           strlen(text) == token->size && memcmp(token->start, text, token->size) == 0;
}

bool fth_ptx_lexer_accept(struct fth_ptx_lexer *lexer, const char *text)
{
    if (!fth_ptx_token_is(&lexer->token, text))
        return false;
    fth_ptx_lexer_next(lexer);
    return true;
}

bool fth_ptx_lexer_expect(struct fth_ptx_lexer *lexer, const char *text)
{
    if (fth_ptx_lexer_accept(lexer, text))
        return true;
    const struct fth_ptx_token *token = &lexer->token;
    if (token->kind == TOKEN_END)
        return fth_ptx_lexer_fail(lexer, token, "expected '%s' before the end of the file", text);
    return fth_ptx_lexer_fail(lexer, token, "expected '%s'", text);
}
