/* Splits PTX text into tokens, and reports errors that point into the text. */
#ifndef FTH_PTX_LEXER_H
#define FTH_PTX_LEXER_H

#include "ptx/engine.h"

enum fth_ptx_token_kind {
    TOKEN_END,
    TOKEN_WORD,    /* add.s32, %r1, $L__BB0_2, .reg: can contain dots */
    TOKEN_INTEGER, /* value in `integer` */
    TOKEN_FLOAT32, /* 0f3F800000: bits in `integer` */
    TOKEN_FLOAT64, /* 0d3FF0000000000000 or 1.5: bits in `integer` */
    TOKEN_STRING,
    TOKEN_PUNCTUATION /* one character */
};

struct fth_ptx_token {
    enum fth_ptx_token_kind kind;
    const char *start;
    size_t size;
    uint64_t integer;
    uint32_t line;
};

struct fth_ptx_lexer {
    const char *name;            /* of the file */
    const char *text, *end, *at; /* `at` is the end of the current token */
    uint32_t line;
    struct fth_ptx_token token; /* the current token */
    struct fth_error *error;
    enum fth_status status; /* after an error, the current token stays TOKEN_END */
};

void fth_ptx_lexer_init(struct fth_ptx_lexer *lexer, const char *name, const char *text,
                        size_t size, struct fth_error *error);
/* Reads the next token into lexer->token. */
void fth_ptx_lexer_next(struct fth_ptx_lexer *lexer);
/* Returns true if the token is this word or punctuation character. */
bool fth_ptx_token_is(const struct fth_ptx_token *token, const char *text);
/* Skips the current token and returns true if it is this word or punctuation character. */
bool fth_ptx_lexer_accept(struct fth_ptx_lexer *lexer, const char *text);
/* The same, but reports an error if it is not. */
bool fth_ptx_lexer_expect(struct fth_ptx_lexer *lexer, const char *text);
/* Returns a copy of the lexer that stands at the next token, to look ahead. It reports no errors.
 */
struct fth_ptx_lexer fth_ptx_lexer_ahead(const struct fth_ptx_lexer *lexer);
/* Report an error and return false, so that a caller can `return` them. Only the first error is
 * kept. The first two report "line 12: CAUSE", and the line with a caret under the token. The
 * arguments are a token and the cause, as for printf. The lexer's status becomes FTH_INVALID or,
 * for code that is correct PTX but that the engine cannot execute, FTH_UNSUPPORTED. */
#define fth_ptx_lexer_fail(lexer, ...)                                                             \
    (fth_ptx_lexer_report(lexer, FTH_INVALID, __VA_ARGS__), false)
#define fth_ptx_lexer_unsupported(lexer, ...)                                                      \
    (fth_ptx_lexer_report(lexer, FTH_UNSUPPORTED, __VA_ARGS__), false)
FTH_PRINTF(4, 5)
void fth_ptx_lexer_report(struct fth_ptx_lexer *lexer, enum fth_status status,
                          const struct fth_ptx_token *token, const char *cause, ...);
bool fth_ptx_lexer_no_memory(struct fth_ptx_lexer *lexer);

#endif
