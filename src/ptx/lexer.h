/* PTX text as tokens, and errors that point into it. */
#ifndef FTH_PTX_LEXER_H
#define FTH_PTX_LEXER_H

#include "ptx/engine.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,    /* add.s32, %r1, $L__BB0_2, .reg: everything that may hold dots */
    TOKEN_INTEGER, /* value in `integer` */
    TOKEN_FLOAT32, /* 0f3F800000: bits in `integer` */
    TOKEN_FLOAT64, /* 0d3FF0000000000000 or 1.5: bits in `integer` */
    TOKEN_STRING,
    TOKEN_PUNCTUATION /* one character */
};

struct token {
    enum token_kind kind;
    const char *start;
    size_t size;
    uint64_t integer;
    uint32_t line;
};

struct lexer {
    const char *name; /* of the file */
    const char *text, *end, *at;
    uint32_t line;
    struct token token; /* the current one */
    struct fth_error *error;
    enum fth_status status; /* once it failed, every token is TOKEN_END */
};

void lexer_init(struct lexer *lexer, const char *name, const char *text, size_t size,
                struct fth_error *error);
/* Moves on to the next token. */
void lexer_next(struct lexer *lexer);
bool token_is(const struct token *token, const char *text);
/* Takes the token where it is that punctuation or word. */
bool lexer_accept(struct lexer *lexer, const char *text);
/* The same, and an error where it is not. */
bool lexer_expect(struct lexer *lexer, const char *text);
/* "line 12: cause", and the line with a caret under the token. */
FTH_PRINTF(3, 4)
void lexer_report(struct lexer *lexer, const struct token *token, const char *cause, ...);
/* The same, as an expression that is false: for `return`. */
#define lexer_fail(...) (lexer_report(__VA_ARGS__), false)

#endif
