/* Arithmetic on sizes and indices, "N*N", "ceil(N/32)", "(i % N) / N": read once, into a row of
 * operations on a stack, and then evaluated for every element of a buffer. */
#include "trace/launch.h"

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
    unsigned operands;
} functions[] = {
    {"floor", OP_FLOOR, 1}, {"ceil", OP_CEIL, 1}, {"sqrt", OP_SQRT, 1}, {"sin", OP_SIN, 1},
    {"cos", OP_COS, 1},     {"exp", OP_EXP, 1},   {"min", OP_MIN, 2},   {"max", OP_MAX, 2},
};

/* Every operation puts one value on the stack and takes at most two, so that the stack is never
 * deeper than the row is long. */
enum { MAX_OPERATIONS = 64, MAX_DEPTH = 32 };

struct operation_row {
    enum operation operation;
    double number;
    size_t variable;
};

struct fth_expression {
    struct operation_row rows[MAX_OPERATIONS];
    size_t count;
};

struct parser {
    const char *text, *at;
    const struct fth_scope *scope;
    struct fth_expression *out;
    unsigned depth;
    struct fth_error *error;
};

static bool refuse(struct parser *parser, const char *cause)
{
    fth_fail(parser->error, FTH_INVALID, "read expression", parser->text, "%s at '%.20s'", cause,
             parser->at);
    return false;
}

static bool put(struct parser *parser, enum operation operation, double number, size_t variable)
{
    if (parser->out->count == MAX_OPERATIONS)
        return refuse(parser, "too long");
    parser->out->rows[parser->out->count++] = (struct operation_row){operation, number, variable};
    return true;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

/* Whether the next character is this one; takes it then. */
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

static bool parse_call(struct parser *parser, enum operation operation, unsigned operands)
{
    if (!take(parser, '('))
        return refuse(parser, "'(' expected");
    for (unsigned i = 0; i < operands; i++) {
        if (i > 0 && !take(parser, ','))
            return refuse(parser, "',' expected");
        if (!parse_sum(parser))
            return false;
    }
    return take(parser, ')') ? put(parser, operation, 0, 0) : refuse(parser, "')' expected");
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
        return put(parser, OP_VARIABLE, 0, variable);
    }
    for (size_t i = 0; i < FTH_COUNT(functions); i++)
        if (strlen(functions[i].name) == size && strncmp(functions[i].name, name, size) == 0) {
            parser->at += size;
            return parse_call(parser, functions[i].operation, functions[i].operands);
        }
    return refuse(parser, "no such size or function");
}

static bool parse_factor(struct parser *parser)
{
    skip_blanks(parser);
    if (parser->depth == MAX_DEPTH)
        return refuse(parser, "nested too deeply");
    bool fine;
    parser->depth++;
    if (take(parser, '(')) {
        fine = parse_sum(parser) && (take(parser, ')') || refuse(parser, "')' expected"));
    } else if (take(parser, '-')) {
        fine = parse_factor(parser) && put(parser, OP_NEGATE, 0, 0);
    } else if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
        char *end;
        double number = strtod(parser->at, &end);
        fine = end != parser->at ? put(parser, OP_NUMBER, number, 0)
                                 : refuse(parser, "a number expected");
        parser->at = end;
    } else if (isalpha((unsigned char)*parser->at) || *parser->at == '_') {
        fine = parse_name(parser);
    } else {
        fine = refuse(parser, "a number or a name expected");
    }
    parser->depth--;
    return fine;
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
        if (!parse_factor(parser) || !put(parser, operation, 0, 0))
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
        if (!parse_product(parser) || !put(parser, operation, 0, 0))
            return false;
    }
}

enum fth_status fth_expression_create(const char *text, const struct fth_scope *scope,
                                      struct fth_expression **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fth_fail(error, FTH_NO_MEMORY, "read expression", text, "out of memory");
    struct parser parser = {text, text, scope, *out, 0, error};
    if (parse_sum(&parser)) {
        skip_blanks(&parser);
        if (*parser.at == '\0')
            return FTH_OK;
        refuse(&parser, "no operator");
    }
    fth_expression_destroy(*out);
    *out = NULL;
    return FTH_INVALID;
}

void fth_expression_destroy(struct fth_expression *expression)
{
    free(expression);
}

static double apply(enum operation operation, double a, double b)
{
    switch (operation) {
    case OP_ADD: return a + b;
    case OP_SUBTRACT: return a - b;
    case OP_MULTIPLY: return a * b;
    case OP_DIVIDE: return a / b;
    case OP_REMAINDER: return fmod(a, b);
    case OP_MIN: return fmin(a, b);
    case OP_MAX: return fmax(a, b);
    case OP_NEGATE: return -b;
    case OP_FLOOR: return floor(b);
    case OP_CEIL: return ceil(b);
    case OP_SQRT: return sqrt(b);
    case OP_SIN: return sin(b);
    case OP_COS: return cos(b);
    case OP_EXP: return exp(b);
    default: return NAN;
    }
}

static bool takes_two(enum operation operation)
{
    return (operation >= OP_ADD && operation <= OP_REMAINDER) || operation == OP_MIN ||
           operation == OP_MAX;
}

double fth_expression_value(const struct fth_expression *expression, const struct fth_scope *scope)
{
    double stack[MAX_OPERATIONS] = {NAN};
    size_t depth = 0;
    for (size_t i = 0; i < expression->count; i++) {
        const struct operation_row *row = &expression->rows[i];
        if (row->operation == OP_NUMBER) {
            stack[depth++] = row->number;
        } else if (row->operation == OP_VARIABLE) {
            stack[depth++] = scope->variables[row->variable].value;
        } else {
            double b = stack[--depth], a = takes_two(row->operation) ? stack[--depth] : 0;
            stack[depth++] = apply(row->operation, a, b);
        }
    }
    return stack[0];
}
