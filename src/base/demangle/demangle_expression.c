/* Literals, the names of operator functions, and the expressions that occur in template arguments,
 * sizes of arrays and decltype. */
#include "base/demangle/demangle.h"

#include <ctype.h>
#include <string.h>

/* The operators: their code, their text and the number of their operands as an expression; 0: only
 * the name of a function, or an expression with a syntax of its own. */
static const struct operator_form {
    char code[3];
    unsigned char operands;
    const char *text;
} operators[] = {
    {"aN", 2, "&="},    {"aS", 2, "="},        {"aa", 2, "&&"},  {"ad", 1, "&"},
    {"an", 2, "&"},     {"cl", 0, "()"},       {"cm", 2, ","},   {"co", 1, "~"},
    {"dV", 2, "/="},    {"da", 0, "delete[]"}, {"de", 1, "*"},   {"dl", 0, "delete"},
    {"dv", 2, "/"},     {"eO", 2, "^="},       {"eo", 2, "^"},   {"eq", 2, "=="},
    {"ge", 2, ">="},    {"gt", 2, ">"},        {"ix", 0, "[]"},  {"lS", 2, "<<="},
    {"le", 2, "<="},    {"ls", 2, "<<"},       {"lt", 2, "<"},   {"mI", 2, "-="},
    {"mL", 2, "*="},    {"mi", 2, "-"},        {"ml", 2, "*"},   {"mm", 0, "--"},
    {"na", 0, "new[]"}, {"ne", 2, "!="},       {"ng", 1, "-"},   {"nt", 1, "!"},
    {"nw", 0, "new"},   {"oR", 2, "|="},       {"oo", 2, "||"},  {"or", 2, "|"},
    {"pL", 2, "+="},    {"pl", 2, "+"},        {"pm", 2, "->*"}, {"pp", 0, "++"},
    {"ps", 1, "+"},     {"pt", 0, "->"},       {"rM", 2, "%="},  {"rS", 2, ">>="},
    {"rm", 2, "%"},     {"rs", 2, ">>"},       {"ss", 2, "<=>"},
};

/* Parses the code of an operator. NULL: there is none. */
static const struct operator_form *parse_code(struct fth_demangler *parser)
{
    for (size_t i = 0; i < FTH_COUNT(operators); i++)
        if (fth_demangle_accept(parser, operators[i].code))
            return &operators[i];
    return NULL;
}

fth_node fth_demangle_operator(struct fth_demangler *parser)
{
    if (fth_demangle_accept(parser, "cv")) {
        const fth_node type = fth_demangle_type(parser);
        return type ? fth_demangle_add(parser, FTH_NODE_CONVERSION, type, 0) : 0;
    }
    const struct operator_form *form = parse_code(parser);
    return form ? fth_demangle_text(parser, FTH_NODE_OPERATOR, form->text, strlen(form->text), 0)
                : 0;
}

/* ---- literals ---- */

/* Decimal, or hexadecimal for the bits of floating-point numbers; E ends the literal. */
static bool is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

fth_node fth_demangle_literal(struct fth_demangler *parser)
{
    parser->at++;
    if (fth_demangle_accept(parser, "_Z")) {
        const fth_node node = fth_demangle_encoding(parser, false);
        return node && fth_demangle_accept(parser, "E") ? node : 0;
    }
    const fth_node type = fth_demangle_type(parser);
    if (!type)
        return 0;
    const bool negative = fth_demangle_accept(parser, "n");
    const char *text = parser->at;
    while (is_digit(fth_demangle_peek(parser, 0)))
        parser->at++;
    const fth_node node =
        fth_demangle_text(parser, FTH_NODE_LITERAL, text, (size_t)(parser->at - text), type);
    if (!node || parser->at == text || !fth_demangle_accept(parser, "E"))
        return 0;
    parser->nodes[node].number = negative;
    return node;
}

/* ---- expressions with a syntax of their own ---- */

/* Parses fp_, fp0_, fpT and fL1p0_: a parameter of the function. */
static fth_node parse_function_parameter(struct fth_demangler *parser)
{
    uint32_t number;
    if (fth_demangle_accept(parser, "fpT"))
        return fth_demangle_number(parser, FTH_NODE_ARGUMENT, 0, 0, 0);
    if (fth_demangle_accept(parser, "fL")) {
        if (!fth_demangle_decimal(parser, &number) || !fth_demangle_accept(parser, "p"))
            return 0;
    } else if (!fth_demangle_accept(parser, "fp")) {
        return 0;
    }
    fth_demangle_qualifiers(parser);
    return fth_demangle_sequence(parser, 10, &number)
               ? fth_demangle_number(parser, FTH_NODE_ARGUMENT, number + 1, 0, 0)
               : 0;
}

/* Parses a name that the compiler has not looked up, with its template arguments. */
static fth_node parse_simple_name(struct fth_demangler *parser)
{
    fth_demangle_accept(parser, "on");
    const fth_node name = fth_demangle_unqualified(parser, 0);
    return fth_demangle_peek(parser, 0) == 'I' ? fth_demangle_template(parser, name) : name;
}

/* Adds simple names, up to the letter E, to the scope `node`, or 0 at the beginning. */
static fth_node parse_levels(struct fth_demangler *parser, fth_node node)
{
    do {
        const fth_node name = parse_simple_name(parser);
        if (!name)
            return 0;
        node = node ? fth_demangle_add(parser, FTH_NODE_QUALIFIED, node, name) : name;
    } while (node && !fth_demangle_accept(parser, "E"));
    return node;
}

/* Parses what follows sr, a member of a type that depends on parameters: type name, names E name,
 * or N type names E name. */
static fth_node parse_scoped(struct fth_demangler *parser)
{
    fth_node node;
    if (isdigit((unsigned char)fth_demangle_peek(parser, 0))) {
        node = parse_levels(parser, 0);
    } else if (fth_demangle_accept(parser, "N")) {
        node = fth_demangle_type(parser);
        node = node ? parse_levels(parser, node) : 0;
    } else {
        node = fth_demangle_type(parser);
    }
    const fth_node name = node ? parse_simple_name(parser) : 0;
    return name ? fth_demangle_add(parser, FTH_NODE_QUALIFIED, node, name) : 0;
}

/* Parses cv type expression, or cv type _ expressions E: a cast. */
static fth_node parse_cast(struct fth_demangler *parser)
{
    fth_node list = 0;
    const fth_node type = fth_demangle_type(parser);
    if (!type)
        return 0;
    const bool single = !fth_demangle_accept(parser, "_");
    if (single)
        list = fth_demangle_expression(parser);
    else if (!fth_demangle_list(parser, fth_demangle_expression, &list))
        return 0;
    return single && !list ? 0 : fth_demangle_number(parser, FTH_NODE_CAST, single, type, list);
}

/* Parses tl type expressions E or il expressions E: values in braces. */
static fth_node parse_braces(struct fth_demangler *parser, bool has_type)
{
    fth_node list;
    const fth_node type = has_type ? fth_demangle_type(parser) : 0;
    if ((has_type && !type) || !fth_demangle_list(parser, fth_demangle_expression, &list))
        return 0;
    return fth_demangle_add(parser, FTH_NODE_BRACES, type, list);
}

static fth_node parse_call(struct fth_demangler *parser)
{
    fth_node list;
    const fth_node function = fth_demangle_expression(parser);
    return function && fth_demangle_list(parser, fth_demangle_expression, &list)
               ? fth_demangle_add(parser, FTH_NODE_CALL, function, list)
               : 0;
}

/* Makes a node of two operands that follow each other. */
static fth_node parse_binary(struct fth_demangler *parser, const char *text, bool is_member)
{
    const fth_node left = fth_demangle_expression(parser);
    const fth_node right = !left       ? 0
                           : is_member ? parse_simple_name(parser)
                                       : fth_demangle_expression(parser);
    const fth_node node =
        right ? fth_demangle_text(parser, FTH_NODE_BINARY, text, strlen(text), left) : 0;
    if (node)
        parser->nodes[node].b = right;
    return node;
}

static fth_node parse_conditional(struct fth_demangler *parser)
{
    const fth_node condition = fth_demangle_expression(parser);
    const fth_node yes = condition ? fth_demangle_expression(parser) : 0;
    const fth_node no = yes ? fth_demangle_expression(parser) : 0;
    const fth_node rest = no ? fth_demangle_add(parser, FTH_NODE_LIST, no, 0) : 0;
    const fth_node both = rest ? fth_demangle_add(parser, FTH_NODE_LIST, yes, rest) : 0;
    return both ? fth_demangle_add(parser, FTH_NODE_CONDITIONAL, condition, both) : 0;
}

/* Parses f, one of l, r, L, R, an operator, and one or two expressions: a fold expression. */
static fth_node parse_fold(struct fth_demangler *parser)
{
    const char side = fth_demangle_peek(parser, 1);
    parser->at += 2;
    const struct operator_form *form = parse_code(parser);
    const fth_node left = form ? fth_demangle_expression(parser) : 0;
    const bool has_initial = side == 'L' || side == 'R';
    const fth_node right = left && has_initial ? fth_demangle_expression(parser) : 0;
    if (!left || (has_initial && !right))
        return 0;
    const fth_node node =
        fth_demangle_text(parser, FTH_NODE_FOLD, form->text, strlen(form->text), left);
    if (node) {
        parser->nodes[node].b = right;
        parser->nodes[node].number = (unsigned char)side;
    }
    return node;
}

/* Parses sizeof and others, whose operand is in parentheses. *found: it is one of them. */
static fth_node parse_operation(struct fth_demangler *parser, bool *found)
{
    static const struct {
        const char *code, *text;
        bool of_type;
    } operations[] = {{"st", "sizeof", true},   {"sz", "sizeof", false}, {"at", "alignof", true},
                      {"az", "alignof", false}, {"ti", "typeid", true},  {"te", "typeid", false},
                      {"nx", "noexcept", false}};
    *found = true;
    for (size_t i = 0; i < FTH_COUNT(operations); i++)
        if (fth_demangle_accept(parser, operations[i].code)) {
            const fth_node operand =
                operations[i].of_type ? fth_demangle_type(parser) : fth_demangle_expression(parser);
            return operand ? fth_demangle_text(parser, FTH_NODE_OPERATION, operations[i].text,
                                               strlen(operations[i].text), operand)
                           : 0;
        }
    *found = false;
    return 0;
}

/* Parses static_cast and others. *found: it is one of them. */
static fth_node parse_named_cast(struct fth_demangler *parser, bool *found)
{
    static const struct {
        const char *code, *text;
    } casts[] = {{"dc", "dynamic_cast"},
                 {"sc", "static_cast"},
                 {"cc", "const_cast"},
                 {"rc", "reinterpret_cast"}};
    *found = true;
    for (size_t i = 0; i < FTH_COUNT(casts); i++)
        if (fth_demangle_accept(parser, casts[i].code)) {
            const fth_node type = fth_demangle_type(parser);
            const fth_node value = type ? fth_demangle_expression(parser) : 0;
            const fth_node node =
                value ? fth_demangle_text(parser, FTH_NODE_NAMED_CAST, casts[i].text,
                                          strlen(casts[i].text), type)
                      : 0;
            if (node)
                parser->nodes[node].b = value;
            return node;
        }
    *found = false;
    return 0;
}

/* Makes a node of a kind with the expression that follows. */
static fth_node wrap(struct fth_demangler *parser, enum fth_node_kind kind, const char *text)
{
    const fth_node operand = fth_demangle_expression(parser);
    return operand ? fth_demangle_text(parser, kind, text, strlen(text), operand) : 0;
}

/* Parses an operator with one or two operands. */
static fth_node parse_operator(struct fth_demangler *parser)
{
    const struct operator_form *form = parse_code(parser);
    if (!form)
        return 0;
    if (form->operands == 1)
        return wrap(parser, FTH_NODE_UNARY, form->text);
    if (form->operands == 2)
        return parse_binary(parser, form->text, false);
    if (strcmp(form->code, "pp") == 0 || strcmp(form->code, "mm") == 0)
        return wrap(parser, fth_demangle_accept(parser, "_") ? FTH_NODE_UNARY : FTH_NODE_POSTFIX,
                    form->text);
    return 0;
}

/* Parses expressions that begin with a code of two letters. */
static fth_node parse_by_code(struct fth_demangler *parser)
{
    bool found;
    if (fth_demangle_accept(parser, "sr"))
        return parse_scoped(parser);
    if (fth_demangle_accept(parser, "sZ"))
        return wrap(parser, FTH_NODE_PACK_SIZE, "");
    if (fth_demangle_accept(parser, "sp"))
        return wrap(parser, FTH_NODE_EXPANSION, "");
    if (fth_demangle_accept(parser, "cv"))
        return parse_cast(parser);
    if (fth_demangle_accept(parser, "tl"))
        return parse_braces(parser, true);
    if (fth_demangle_accept(parser, "il"))
        return parse_braces(parser, false);
    if (fth_demangle_accept(parser, "cl"))
        return parse_call(parser);
    if (fth_demangle_accept(parser, "qu"))
        return parse_conditional(parser);
    if (fth_demangle_accept(parser, "ix"))
        return parse_binary(parser, "[]", false);
    if (fth_demangle_accept(parser, "dt"))
        return parse_binary(parser, ".", true);
    if (fth_demangle_accept(parser, "pt"))
        return parse_binary(parser, "->", true);
    fth_node node = parse_operation(parser, &found);
    if (!found)
        node = parse_named_cast(parser, &found);
    return found ? node : parse_operator(parser);
}

/* Parses an expression by its first letters. */
static fth_node parse_expression(struct fth_demangler *parser)
{
    const char c = fth_demangle_peek(parser, 0), next = fth_demangle_peek(parser, 1);
    if (c == 'L')
        return fth_demangle_literal(parser);
    if (c == 'T')
        return fth_demangle_parameter(parser);
    if (isdigit((unsigned char)c) || (c == 'o' && next == 'n'))
        return parse_simple_name(parser);
    /* fL is a parameter of an outer function if a digit follows, and otherwise a fold. */
    if (c == 'f' &&
        (next == 'p' || (next == 'L' && isdigit((unsigned char)fth_demangle_peek(parser, 2)))))
        return parse_function_parameter(parser);
    if (c == 'f' && next && strchr("lrLR", next))
        return parse_fold(parser);
    return parse_by_code(parser);
}

fth_node fth_demangle_expression(struct fth_demangler *parser)
{
    if (!fth_demangle_enter(parser))
        return 0;
    const fth_node node = parse_expression(parser);
    fth_demangle_leave(parser);
    return node;
}
