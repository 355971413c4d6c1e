/* Splits PTX text into tokens, and reports errors that point into the text. */
#ifndef FTH_PTX_LEXER_H
#define FTH_PTX_LEXER_H

#include "ptx/engine.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,    /* add.s32, %r1, $L__BB0_2, .reg: can contain dots */
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
    const char *name;            /* of the file */
    const char *text, *end, *at; /* `at` is the end of the current token */
    uint32_t line;
    struct token token; /* the current token */
    struct fth_error *error;
    enum fth_status status; /* after an error, the current token stays TOKEN_END */
};

void lexer_init(struct lexer *lexer, const char *name, const char *text, size_t size,
                struct fth_error *error);
/* Reads the next token into lexer->token. */
void lexer_next(struct lexer *lexer);
/* Returns true if the token is this word or punctuation character. */
bool token_is(const struct token *token, const char *text);
/* Skips the current token and returns true if it is this word or punctuation character. */
bool lexer_accept(struct lexer *lexer, const char *text);
/* The same, but reports an error if it is not. */
bool lexer_expect(struct lexer *lexer, const char *text);
/* Reports the error "line 12: CAUSE", and the line with a caret under the token. Only the first
 * error is kept. */
FTH_PRINTF(3, 4)
void lexer_report(struct lexer *lexer, const struct token *token, const char *cause, ...);
/* The same, as an expression with the value false, for `return`. */
#define lexer_fail(...) (lexer_report(__VA_ARGS__), false)

#endif
