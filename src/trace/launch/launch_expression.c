/* Arithmetic expressions on sizes and indices, such as "N*N", "ceil(N/32)" and "(i % N) / N". A
 * recursive-descent parser translates the text once into postfix operations. A stack machine then
 * evaluates them, for example once per element of a buffer. */
#include "trace/launch/launch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum operation {
    OP_NUMBER,
    OP_VARIABLE,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_NEGATE,
    OP_FLOOR,
    OP_CEIL,
    OP_SQRT,
    OP_SIN,
    OP_COS,
    OP_EXP,
    OP_MIN,
    OP_MAX
};

static const struct {
    const char *name;
    enum operation operation;
    unsigned operand_count;
} functions[] = {
    {"floor", OP_FLOOR, 1}, {"ceil", OP_CEIL, 1}, {"sqrt", OP_SQRT, 1}, {"sin", OP_SIN, 1},
    {"cos", OP_COS, 1},     {"exp", OP_EXP, 1},   {"min", OP_MIN, 2},   {"max", OP_MAX, 2},
};

/* Limits of an expression: the number of operations, and the depth of nested parentheses, function
 * calls and signs. Chosen, not derived: real expressions have a few. Each operation pushes one
 * value, so a stack of MAX_OPERATIONS values always suffices. */
enum { MAX_OPERATIONS = 64, MAX_DEPTH = 32 };

struct postfix_item {
    enum operation operation;
    double number;   /* OP_NUMBER */
    size_t variable; /* OP_VARIABLE: index in the scope */
};

struct fth_expression {
    struct postfix_item items[MAX_OPERATIONS];
    size_t count;
};

struct parser {
    const char *text, *at; /* the whole text, and the next character */
    const struct fth_scope *scope;
    struct fth_expression *out;
    unsigned depth; /* of nesting */
    struct fth_error *error;
};

static bool refuse(struct parser *parser, const char *cause)
{
    fth_fail(parser->error, FTH_INVALID, "read expression", parser->text, "%s at '%.20s'", cause,
             parser->at);
    return false;
}

static bool emit(struct parser *parser, enum operation operation, double number, size_t variable)
{
    if (parser->out->count == MAX_OPERATIONS)
        return refuse(parser, "too many operations");
    parser->out->items[parser->out->count++] = (struct postfix_item){operation, number, variable};
    return true;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

/* Skips blanks, and the next character if it is `character`. Returns whether it was. */
static bool take(struct parser *parser, char character)
{
    skip_blanks(parser);
    if (*parser->at != character)
        return false;
    parser->at++;
    return true;
}

static bool parse_sum(struct parser *parser);

size_t fth_scope_find(const struct fth_scope *scope, const char *name, size_t size)
{
    for (size_t i = 0; i < scope->count; i++)
        if (strlen(scope->variables[i].name) == size &&
            strncmp(scope->variables[i].name, name, size) == 0)
            return i;
    return FTH_MAX_VARIABLES;
}

static bool parse_call(struct parser *parser, enum operation operation, unsigned operand_count)
{
    if (!take(parser, '('))
        return refuse(parser, "expected '('");
    for (unsigned i = 0; i < operand_count; i++) {
        if (i > 0 && !take(parser, ','))
            return refuse(parser, "expected ','");
        if (!parse_sum(parser))
            return false;
    }
    return take(parser, ')') ? emit(parser, operation, 0, 0) : refuse(parser, "expected ')'");
}

static bool parse_name(struct parser *parser)
{
    const char *name = parser->at;
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || name[size] == '_')
        size++;
    size_t variable = fth_scope_find(parser->scope, name, size);
    if (variable < FTH_MAX_VARIABLES) {
        parser->at += size;
        return emit(parser, OP_VARIABLE, 0, variable);
    }
    for (size_t i = 0; i < FTH_COUNT(functions); i++)
        if (strlen(functions[i].name) == size && strncmp(functions[i].name, name, size) == 0) {
            parser->at += size;
            return parse_call(parser, functions[i].operation, functions[i].operand_count);
        }
    return refuse(parser, "unknown size or function");
}

static bool parse_factor(struct parser *parser)
{
    skip_blanks(parser);
    if (parser->depth == MAX_DEPTH)
        return refuse(parser, "nested too deeply");
    bool ok;
    parser->depth++;
    if (take(parser, '(')) {
        ok = parse_sum(parser) && (take(parser, ')') || refuse(parser, "expected ')'"));
    } else if (take(parser, '-')) {
        ok = parse_factor(parser) && emit(parser, OP_NEGATE, 0, 0);
    } else if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
        char *end;
        double number = fth_strtod(parser->at, &end);
        ok = end != parser->at ? emit(parser, OP_NUMBER, number, 0)
                               : refuse(parser, "expected a number");
        parser->at = end;
    } else if (isalpha((unsigned char)*parser->at) || *parser->at == '_') {
        ok = parse_name(parser);
    } else {
        ok = refuse(parser, "expected a number or a name");
    }
    parser->depth--;
    return ok;
}

static bool parse_product(struct parser *parser)
{
    if (!parse_factor(parser))
        return false;
    for (;;) {
        enum operation operation = take(parser, '*')   ? OP_MULTIPLY
                                   : take(parser, '/') ? OP_DIVIDE
                                   : take(parser, '%') ? OP_REMAINDER
                                                       : OP_NUMBER;
        if (operation == OP_NUMBER)
            return true;
        if (!parse_factor(parser) || !emit(parser, operation, 0, 0))
            return false;
    }
}

static bool parse_sum(struct parser *parser)
{
    if (!parse_product(parser))
        return false;
    for (;;) {
        enum operation operation = take(parser, '+')   ? OP_ADD
                                   : take(parser, '-') ? OP_SUBTRACT
                                                       : OP_NUMBER;
        if (operation == OP_NUMBER)
            return true;
        if (!parse_product(parser) || !emit(parser, operation, 0, 0))
            return false;
    }
}

enum fth_status fth_expression_create(const char *text, const struct fth_scope *scope,
                                      struct fth_expression **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fth_no_memory(error, "read expression", text);
    struct parser parser = {text, text, scope, *out, 0, error};
    if (parse_sum(&parser)) {
        skip_blanks(&parser);
        if (*parser.at == '\0')
            return FTH_OK;
        refuse(&parser, "expected an operator");
    }
    fth_expression_destroy(*out);
    *out = NULL;
    return FTH_INVALID;
}

void fth_expression_destroy(struct fth_expression *expression)
{
    free(expression);
}

/* fmod(a, b), which is slow, by integers where these are exact. */
static double remainder_of(double a, double b)
{
    const double limit = 9007199254740992.0; /* 2^53: all integers up to it are doubles */
    if (a >= 0 && a < limit && b >= 1 && b < limit && (double)(int64_t)a == a &&
        (double)(int64_t)b == b)
        return (double)((int64_t)a % (int64_t)b);
    return fmod(a, b);
}

/* Applies an operation to `count` pairs of operands, and replaces each a by the result. */
static void apply(enum operation operation, double *a, const double *b, size_t count)
{
#define EACH(EXPRESSION)                                                                           \
    for (size_t i = 0; i < count; i++)                                                             \
    a[i] = EXPRESSION
    switch (operation) {
    case OP_ADD: EACH(a[i] + b[i]); break;
    case OP_SUBTRACT: EACH(a[i] - b[i]); break;
    case OP_MULTIPLY: EACH(a[i] * b[i]); break;
    case OP_DIVIDE: EACH(a[i] / b[i]); break;
    case OP_REMAINDER: EACH(remainder_of(a[i], b[i])); break;
    case OP_MIN: EACH(fmin(a[i], b[i])); break;
    case OP_MAX: EACH(fmax(a[i], b[i])); break;
    case OP_NEGATE: EACH(-b[i]); break;
    case OP_FLOOR: EACH(floor(b[i])); break;
    case OP_CEIL: EACH(ceil(b[i])); break;
    case OP_SQRT: EACH(sqrt(b[i])); break;
    case OP_SIN: EACH(sin(b[i])); break;
    case OP_COS: EACH(cos(b[i])); break;
    default: EACH(exp(b[i])); break;
    }
#undef EACH
}

static bool is_binary(enum operation operation)
{
    return (operation >= OP_ADD && operation <= OP_REMAINDER) || operation == OP_MIN ||
           operation == OP_MAX;
}

/* Each operation is applied to all values before the next one is. */
void fth_expression_values(const struct fth_expression *expression, const struct fth_scope *scope,
                           size_t count, double *values)
{
    double stack[MAX_OPERATIONS][FTH_EXPRESSION_VALUES];
    size_t depth = 0;
    memset(stack[0], 0, sizeof stack[0]); /* an empty expression, which is never parsed, is 0 */
    for (size_t i = 0; i < expression->count; i++) {
        const struct postfix_item *item = &expression->items[i];
        if (item->operation == OP_NUMBER || item->operation == OP_VARIABLE) {
            const double step = item->operation == OP_VARIABLE && item->variable == 0;
            const double value = item->operation == OP_NUMBER
                                     ? item->number
                                     : scope->variables[item->variable].value;
            for (size_t v = 0; v < count; v++)
                stack[depth][v] = value + step * (double)v;
            depth++;
        } else {
            depth -= is_binary(item->operation);
            apply(item->operation, stack[depth - 1],
                  stack[is_binary(item->operation) ? depth : depth - 1], count);
        }
    }
    memcpy(values, stack[0], count * sizeof *values);
}

double fth_expression_value(const struct fth_expression *expression, const struct fth_scope *scope)
{
    double value;
    fth_expression_values(expression, scope, 1, &value);
    return value;
}
