/* Types. */
#include "base/demangle/demangle.h"

#include <ctype.h>
#include <string.h>

/* Types with a code of one letter, or of the letter D and another one. */
static const struct {
    const char *code, *text;
} builtins[] = {
    {"v", "void"},
    {"w", "wchar_t"},
    {"b", "bool"},
    {"c", "char"},
    {"a", "signed char"},
    {"h", "unsigned char"},
    {"s", "short"},
    {"t", "unsigned short"},
    {"i", "int"},
    {"j", "unsigned int"},
    {"l", "long"},
    {"m", "unsigned long"},
    {"x", "long long"},
    {"y", "unsigned long long"},
    {"n", "__int128"},
    {"o", "unsigned __int128"},
    {"f", "float"},
    {"d", "double"},
    {"e", "long double"},
    {"g", "__float128"},
    {"z", "..."},
    {"Da", "auto"},
    {"Dc", "decltype(auto)"},
    {"Dd", "decimal64"},
    {"De", "decimal128"},
    {"Df", "decimal32"},
    {"Dh", "half"},
    {"Di", "char32_t"},
    {"Dn", "decltype(nullptr)"},
    {"Ds", "char16_t"},
    {"Du", "char8_t"},
    {"DF16_", "_Float16"},
    {"DF32_", "_Float32"},
    {"DF64_", "_Float64"},
    {"DF128_", "_Float128"},
    {"DF16b", "std::bfloat16_t"},
};

uint32_t fth_demangle_qualifiers(struct fth_demangler *parser)
{
    uint32_t qualifiers = 0;
    for (;;) {
        const char c = fth_demangle_peek(parser, 0);
        const uint32_t flag = c == 'r'   ? FTH_RESTRICT
                              : c == 'V' ? FTH_VOLATILE
                              : c == 'K' ? FTH_CONST
                                         : 0;
        if (!flag)
            return qualifiers;
        qualifiers |= flag;
        parser->at++;
    }
}

static fth_node parse_builtin(struct fth_demangler *parser)
{
    for (size_t i = 0; i < FTH_COUNT(builtins); i++)
        if (fth_demangle_accept(parser, builtins[i].code)) {
            const fth_node node = fth_demangle_text(parser, FTH_NODE_BUILTIN, builtins[i].text,
                                                    strlen(builtins[i].text), 0);
            if (node)
                parser->nodes[node].number =
                    builtins[i].code[1] ? 0 : (uint32_t)builtins[i].code[0];
            return node;
        }
    return 0;
}

/* Parses a type in the place that `kind` gives it, such as what a pointer points to. */
static fth_node wrap(struct fth_demangler *parser, enum fth_node_kind kind)
{
    const fth_node type = fth_demangle_type(parser);
    return type ? fth_demangle_add(parser, kind, type, 0) : 0;
}

/* Parses a type that `text` follows. */
static fth_node wrap_suffix(struct fth_demangler *parser, const char *text, size_t size)
{
    const fth_node type = fth_demangle_type(parser);
    return type ? fth_demangle_text(parser, FTH_NODE_SUFFIXED, text, size, type) : 0;
}

bool fth_demangle_parameters(struct fth_demangler *parser, fth_node *list)
{
    fth_node last = 0;
    *list = 0;
    for (;;) {
        const char c = fth_demangle_peek(parser, 0), next = fth_demangle_peek(parser, 1);
        if (c == '\0' || c == 'E' || ((c == 'R' || c == 'O') && next == 'E'))
            break;
        const fth_node type = fth_demangle_type(parser);
        const fth_node cell = type ? fth_demangle_add(parser, FTH_NODE_LIST, type, 0) : 0;
        if (!cell)
            return false;
        if (last)
            parser->nodes[last].b = cell;
        else
            *list = cell;
        last = cell;
    }
    if (!last)
        return false; /* there is at least `void` */
    const struct fth_demangle_node *first = &parser->nodes[parser->nodes[*list].a];
    if (last == *list && first->kind == FTH_NODE_BUILTIN && first->number == 'v')
        *list = 0;
    return true;
}

/* Parses F [Y] types [R or O] E, the type of a function. */
static fth_node parse_function(struct fth_demangler *parser)
{
    fth_node list;
    parser->at++;
    fth_demangle_accept(parser, "Y"); /* extern "C" */
    const fth_node result = fth_demangle_type(parser);
    if (!result || !fth_demangle_parameters(parser, &list))
        return 0;
    const uint32_t qualifiers = fth_demangle_accept(parser, "R")   ? FTH_LVALUE
                                : fth_demangle_accept(parser, "O") ? FTH_RVALUE
                                                                   : 0;
    return fth_demangle_accept(parser, "E")
               ? fth_demangle_number(parser, FTH_NODE_FUNCTION, qualifiers, result, list)
               : 0;
}

/* Parses the digits of a number as a node. */
static fth_node parse_digits(struct fth_demangler *parser)
{
    const char *text = parser->at;
    while (isdigit((unsigned char)fth_demangle_peek(parser, 0)))
        parser->at++;
    return fth_demangle_text(parser, FTH_NODE_NAME, text, (size_t)(parser->at - text), 0);
}

/* Parses the size of an array or vector up to '_', and the type of its elements. */
static fth_node parse_array(struct fth_demangler *parser, enum fth_node_kind kind)
{
    fth_node count = 0;
    if (fth_demangle_peek(parser, 0) != '_') {
        count = isdigit((unsigned char)fth_demangle_peek(parser, 0))
                    ? parse_digits(parser)
                    : fth_demangle_expression(parser);
        if (!count)
            return 0;
    }
    const fth_node type = fth_demangle_accept(parser, "_") ? fth_demangle_type(parser) : 0;
    return type ? fth_demangle_add(parser, kind, type, count) : 0;
}

static fth_node parse_member_pointer(struct fth_demangler *parser)
{
    parser->at++;
    const fth_node class = fth_demangle_type(parser);
    const fth_node member = class ? fth_demangle_type(parser) : 0;
    return member ? fth_demangle_add(parser, FTH_NODE_MEMBER, class, member) : 0;
}

/* Parses the types whose code begins with D. *is_new: a substitution can refer to it. */
static fth_node parse_d(struct fth_demangler *parser, bool *is_new)
{
    if (fth_demangle_accept(parser, "Dp"))
        return wrap(parser, FTH_NODE_EXPANSION);
    if (fth_demangle_accept(parser, "Dv"))
        return parse_array(parser, FTH_NODE_VECTOR);
    if (fth_demangle_accept(parser, "Dt") || fth_demangle_accept(parser, "DT")) {
        const fth_node expression = fth_demangle_expression(parser);
        return expression && fth_demangle_accept(parser, "E")
                   ? fth_demangle_add(parser, FTH_NODE_DECLTYPE, expression, 0)
                   : 0;
    }
    if (fth_demangle_accept(parser, "Do")) { /* a function that is noexcept */
        static const char text[] = "noexcept";
        return wrap_suffix(parser, text, sizeof text - 1);
    }
    *is_new = false;
    return parse_builtin(parser);
}

/* Parses a type that begins with a substitution, a template parameter or a name. */
static fth_node parse_named(struct fth_demangler *parser, bool *is_new)
{
    const char c = fth_demangle_peek(parser, 0), next = fth_demangle_peek(parser, 1);
    if (c == 'S' && next != 't') {
        const fth_node node = fth_demangle_substitution(parser);
        *is_new = fth_demangle_peek(parser, 0) == 'I';
        return *is_new ? fth_demangle_template(parser, node) : node;
    }
    if (c == 'T' && (next == 's' || next == 'u' || next == 'e')) {
        parser->at += 2; /* struct, union or enum in front of the name */
        return fth_demangle_class(parser);
    }
    if (c == 'T') {
        const fth_node node = fth_demangle_parameter(parser);
        if (fth_demangle_peek(parser, 0) != 'I')
            return node;
        return fth_demangle_template(parser, fth_demangle_remember(parser, node));
    }
    return fth_demangle_class(parser);
}

/* Parses U name type: a type with a qualifier of the compiler's own. */
static fth_node parse_vendor_qualifier(struct fth_demangler *parser)
{
    parser->at++;
    const fth_node name = fth_demangle_source_name(parser);
    const fth_node type = name ? fth_demangle_type(parser) : 0;
    if (!type)
        return 0;
    return fth_demangle_text(parser, FTH_NODE_SUFFIXED, parser->nodes[name].text,
                             parser->nodes[name].size, type);
}

static fth_node parse_qualified(struct fth_demangler *parser)
{
    const uint32_t qualifiers = fth_demangle_qualifiers(parser);
    const fth_node type = fth_demangle_type(parser);
    const struct fth_demangle_node *node = &parser->nodes[type];
    if (type && node->kind == FTH_NODE_FUNCTION) /* of a member function, in front of & and && */
        return fth_demangle_number(parser, FTH_NODE_FUNCTION, qualifiers | node->number, node->a,
                                   node->b);
    return type ? fth_demangle_number(parser, FTH_NODE_CV, qualifiers, type, 0) : 0;
}

/* Parses a type by its first letter. *is_new: a substitution can refer to it. */
static fth_node parse_by_letter(struct fth_demangler *parser, bool *is_new)
{
    static const char complex[] = "_Complex", imaginary[] = "_Imaginary";
    const char c = fth_demangle_peek(parser, 0);
    switch (c) {
    case 'r':
    case 'V':
    case 'K': return parse_qualified(parser);
    case 'P': parser->at++; return wrap(parser, FTH_NODE_POINTER);
    case 'R': parser->at++; return wrap(parser, FTH_NODE_REFERENCE);
    case 'O': parser->at++; return wrap(parser, FTH_NODE_RVALUE);
    case 'C': parser->at++; return wrap_suffix(parser, complex, sizeof complex - 1);
    case 'G': parser->at++; return wrap_suffix(parser, imaginary, sizeof imaginary - 1);
    case 'F': return parse_function(parser);
    case 'A': parser->at++; return parse_array(parser, FTH_NODE_ARRAY);
    case 'M': return parse_member_pointer(parser);
    case 'D': return parse_d(parser, is_new);
    case 'u': parser->at++; return fth_demangle_source_name(parser);
    case 'U':
        return isdigit((unsigned char)fth_demangle_peek(parser, 1)) ? parse_vendor_qualifier(parser)
                                                                    : fth_demangle_class(parser);
    default:
        if (islower((unsigned char)c)) {
            *is_new = false;
            return parse_builtin(parser);
        }
        return parse_named(parser, is_new);
    }
}

fth_node fth_demangle_type(struct fth_demangler *parser)
{
    bool is_new = true;
    if (!fth_demangle_enter(parser))
        return 0;
    const fth_node node = parse_by_letter(parser, &is_new);
    fth_demangle_leave(parser);
    return is_new ? fth_demangle_remember(parser, node) : node;
}
