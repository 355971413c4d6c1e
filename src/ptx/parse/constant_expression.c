/* Parses and evaluates constant expressions, such as "1 << 31" and "2 < 1 ? 10 : 20". PTX allows
 * them wherever it allows a number. Integers have 64 bits, and an operation is unsigned if one of
 * its operands is. Floating-point values are doubles. The operators and their precedence are those
 * of C (PTX ISA, "Constant Expressions"). The method is precedence climbing. */
#include "ptx/parse/parser.h"

#include <string.h>

/* The binary operators. A higher precedence binds more tightly. An operator precedes its prefixes
 * ("<<" precedes "<"), because the first match is taken. */
static const struct {
    const char *text;
    int precedence;
} operators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4}, {"&", 5}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"<", 7}, {">", 7}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};
/* Maximum depth of the recursion, which protects the stack. Chosen, not derived. */
enum { MAX_DEPTH = 64 };

/* Returns the index of the operator at the current token, or -1. The lexer returns an operator of
 * two characters as two tokens, so the text is compared. */
static int peek_operator(const struct fth_ptx_lexer *lexer)
{
    if (lexer->token.kind != TOKEN_PUNCTUATION)
        return -1;
    const char *at = lexer->token.start;
    for (size_t i = 0; i < FTH_COUNT(operators); i++) {
        size_t size = strlen(operators[i].text);
        if ((size_t)(lexer->end - at) >= size && memcmp(at, operators[i].text, size) == 0)
            return (int)i;
    }
    return -1;
}

static double as_double(const struct fth_ptx_constant *constant)
{
    double value;
    memcpy(&value, &constant->bits, sizeof value);
    return constant->is_float      ? value
           : constant->is_unsigned ? (double)constant->bits
                                   : (double)(int64_t)constant->bits;
}

static struct fth_ptx_constant from_double(double value)
{
    struct fth_ptx_constant constant = {.is_float = true};
    memcpy(&constant.bits, &value, sizeof value);
    return constant;
}

static bool apply_float(struct fth_ptx_lexer *lexer, const struct fth_ptx_token *token,
                        const char *text, double a, double b, struct fth_ptx_constant *out)
{
    static const char arithmetic[] = "+-*/";
    if (strlen(text) == 1 && strchr(arithmetic, *text)) {
        *out = from_double(*text == '+'   ? a + b
                           : *text == '-' ? a - b
                           : *text == '*' ? a * b
                                          : a / b);
        return true;
    }
    bool holds = strcmp(text, "<") == 0    ? a < b
                 : strcmp(text, "<=") == 0 ? a <= b
                 : strcmp(text, ">") == 0  ? a > b
                 : strcmp(text, ">=") == 0 ? a >= b
                 : strcmp(text, "==") == 0 ? a == b
                                           : a != b;
    const bool shifts = strcmp(text, "<<") == 0 || strcmp(text, ">>") == 0;
    if (shifts || !strchr("<>=!", *text))
        return fth_ptx_lexer_fail(lexer, token,
                                  "the operator does not apply to floating-point operands");
    *out = (struct fth_ptx_constant){.bits = holds};
    return true;
}

/* Evaluates a binary operator. `token` is for errors. */
static bool apply(struct fth_ptx_lexer *lexer, const struct fth_ptx_token *token, const char *text,
                  const struct fth_ptx_constant *left, const struct fth_ptx_constant *right,
                  struct fth_ptx_constant *out)
{
    if (left->is_float || right->is_float)
        return apply_float(lexer, token, text, as_double(left), as_double(right), out);
    uint64_t a = left->bits, b = right->bits, result;
    bool is_unsigned = left->is_unsigned || right->is_unsigned;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    bool less = is_unsigned ? a < b : sa < sb;
    if ((*text == '/' || *text == '%') && b == 0)
        return fth_ptx_lexer_fail(lexer, token, "division by zero in a constant expression");
    switch (*text) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case '/': result = is_unsigned ? a / b : sb == -1 ? -a : (uint64_t)(sa / sb); break;
    case '%': result = is_unsigned ? a % b : sb == -1 ? 0 : (uint64_t)(sa % sb); break;
    case '^': result = a ^ b; break;
    case '&': result = text[1] ? a && b : a & b; break;
    case '|': result = text[1] ? a || b : a | b; break;
    case '=': result = a == b; break;
    case '!': result = a != b; break;
    default: { /* <, <=, <<, >, >= and >> */
        bool up = *text == '<', greater = !less && a != b;
        if (text[1] == *text) {
            uint64_t amount = b > 63 ? 63 : b;
            result = up                  ? (b > 63 ? 0 : a << b)
                     : left->is_unsigned ? (b > 63 ? 0 : a >> b)
                                         : (uint64_t)(sa >> amount);
            is_unsigned = left->is_unsigned;
        } else {
            result = text[1] == '=' ? (up ? !greater : !less) : up ? less : greater;
        }
    }
    }
    /* The result of a comparison or of && and || is signed. */
    bool truth = strchr("=!<>", *text) ? text[1] != *text : text[1] != '\0';
    *out = (struct fth_ptx_constant){.bits = result, .is_unsigned = is_unsigned && !truth};
    return true;
}

static bool parse_binary(struct fth_ptx_parser *parser, int min_precedence, int depth,
                         struct fth_ptx_constant *out);

/* Parses a number, a prefix operator and its operand, a cast, or an expression in parentheses. */
static bool parse_primary(struct fth_ptx_parser *parser, int depth, struct fth_ptx_constant *out)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const struct fth_ptx_token token = lexer->token;
    if (depth == MAX_DEPTH)
        return fth_ptx_lexer_fail(lexer, &token, "the expression is nested too deeply");
    if (fth_ptx_lexer_accept(lexer, "(")) {
        /* (.s64) and (.u64) are casts. */
        bool to_signed = fth_ptx_lexer_accept(lexer, ".s64"),
             to_unsigned = fth_ptx_lexer_accept(lexer, ".u64");
        if (to_signed || to_unsigned) {
            if (!fth_ptx_lexer_expect(lexer, ")") || !parse_primary(parser, depth + 1, out))
                return false;
            if (out->is_float)
                return fth_ptx_lexer_fail(lexer, &token,
                                          "a floating-point value cannot be cast to an integer");
            out->is_unsigned = to_unsigned;
            return true;
        }
        return parse_binary(parser, 0, depth + 1, out) && fth_ptx_lexer_expect(lexer, ")");
    }
    bool minus = fth_ptx_token_is(&token, "-"), invert = fth_ptx_token_is(&token, "~");
    if (minus || invert || fth_ptx_token_is(&token, "!") || fth_ptx_token_is(&token, "+")) {
        fth_ptx_lexer_next(lexer);
        if (!parse_primary(parser, depth + 1, out))
            return false;
        if (out->is_float && minus)
            *out = from_double(-as_double(out));
        else if (out->is_float)
            return fth_ptx_token_is(&token, "+") ||
                   fth_ptx_lexer_fail(lexer, &token,
                                      "the operator does not apply to a floating-point operand");
        else if (minus || invert)
            out->bits = minus ? -out->bits : ~out->bits;
        else if (fth_ptx_token_is(&token, "!"))
            *out = (struct fth_ptx_constant){.bits = out->bits == 0};
        return true;
    }
    if (token.kind == TOKEN_FLOAT32) {
        float single;
        uint32_t word = (uint32_t)token.integer;
        memcpy(&single, &word, sizeof single);
        *out = from_double((double)single);
        out->is_f32_literal = true;
        out->word = word;
    } else if (token.kind == TOKEN_FLOAT64) {
        *out = (struct fth_ptx_constant){.bits = token.integer, .is_float = true};
    } else if (token.kind == TOKEN_INTEGER) {
        bool suffix = token.size && (token.start[token.size - 1] | 0x20) == 'u';
        *out = (struct fth_ptx_constant){.bits = token.integer,
                                         .is_unsigned = suffix || token.integer > INT64_MAX};
    } else {
        return fth_ptx_lexer_fail(lexer, &token, "expected an operand");
    }
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Parses operands and the operators with at least this precedence between them. Precedence 0
 * includes the conditional operator ?:. */
static bool parse_binary(struct fth_ptx_parser *parser, int min_precedence, int depth,
                         struct fth_ptx_constant *out)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!parse_primary(parser, depth, out))
        return false;
    for (int i; (i = peek_operator(lexer)) >= 0 &&
                operators[i].precedence >= (min_precedence ? min_precedence : 1);) {
        const struct fth_ptx_token token = lexer->token;
        for (size_t n = strlen(operators[i].text); n > 0; n--)
            fth_ptx_lexer_next(lexer);
        struct fth_ptx_constant right;
        if (!parse_binary(parser, operators[i].precedence + 1, depth + 1, &right) ||
            !apply(lexer, &token, operators[i].text, out, &right, out))
            return false;
    }
    if (min_precedence == 0 && fth_ptx_lexer_accept(lexer, "?")) {
        struct fth_ptx_constant yes, no;
        bool holds = out->is_float ? as_double(out) != 0 : out->bits != 0;
        if (!parse_binary(parser, 0, depth + 1, &yes) || !fth_ptx_lexer_expect(lexer, ":") ||
            !parse_binary(parser, 0, depth + 1, &no))
            return false;
        *out = holds ? yes : no;
    }
    return true;
}

bool fth_ptx_parse_constant(struct fth_ptx_parser *parser, struct fth_ptx_constant *constant)
{
    return parse_binary(parser, 0, 0, constant);
}
