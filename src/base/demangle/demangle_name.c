/* Names, substitutions and template arguments. */
#include "base/demangle/demangle.h"

#include <ctype.h>
#include <string.h>

/* What parse_name learns about a name. */
struct name_info {
    bool has_arguments; /* it ends with template arguments */
    bool no_return;     /* a constructor, destructor or conversion, which has no return type */
    uint32_t qualifiers;
};

static fth_node parse_name(struct fth_demangler *parser, bool is_function, struct name_info *info);

/* nvcc and others name anonymous namespaces _GLOBAL__N_…, with '_', '.' or '$' in front of the N.
 */
static bool is_anonymous(const char *text, size_t size)
{
    return size >= 10 && memcmp(text, "_GLOBAL_", 8) == 0 && strchr("._$", text[8]) && text[8] &&
           text[9] == 'N';
}

fth_node fth_demangle_source_name(struct fth_demangler *parser)
{
    static const char anonymous[] = "(anonymous namespace)";
    uint32_t size;
    if (!fth_demangle_decimal(parser, &size) || size == 0 ||
        size > (size_t)(parser->end - parser->at))
        return 0;
    const char *text = parser->at;
    parser->at += size;
    if (is_anonymous(text, size))
        return fth_demangle_text(parser, FTH_NODE_NAME, anonymous, sizeof anonymous - 1, 0);
    return fth_demangle_text(parser, FTH_NODE_NAME, text, size, 0);
}

/* ---- substitutions and template parameters ---- */

fth_node fth_demangle_substitution(struct fth_demangler *parser)
{
    static const struct {
        char letter;
        const char *text;
    } standard[] = {
        {'t', "std"},
        {'a', "std::allocator"},
        {'b', "std::basic_string"},
        {'s', "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"},
        {'i', "std::basic_istream<char, std::char_traits<char> >"},
        {'o', "std::basic_ostream<char, std::char_traits<char> >"},
        {'d', "std::basic_iostream<char, std::char_traits<char> >"},
    };
    uint32_t index;
    if (!fth_demangle_accept(parser, "S"))
        return 0;
    for (size_t i = 0; i < FTH_COUNT(standard); i++)
        if (fth_demangle_peek(parser, 0) == standard[i].letter) {
            parser->at++;
            return fth_demangle_text(parser, FTH_NODE_NAME, standard[i].text,
                                     strlen(standard[i].text), 0);
        }
    if (!fth_demangle_sequence(parser, 36, &index) || index >= parser->substitution_count)
        return 0;
    return parser->substitutions[index];
}

fth_node fth_demangle_parameter(struct fth_demangler *parser)
{
    uint32_t index;
    if (!fth_demangle_accept(parser, "T") || !fth_demangle_sequence(parser, 10, &index))
        return 0;
    if (parser->in_lambda)
        return fth_demangle_number(parser, FTH_NODE_PARAMETER, index + 1, 0, 0);
    fth_node list = parser->template_arguments;
    for (uint32_t i = 0; i < index && list; i++)
        list = parser->nodes[list].b;
    return list ? fth_demangle_add(parser, FTH_NODE_PARAMETER, parser->nodes[list].a, 0) : 0;
}

/* ---- template arguments ---- */

static fth_node parse_pack(struct fth_demangler *parser)
{
    fth_node list;
    return fth_demangle_accept(parser, "J") &&
                   fth_demangle_list(parser, fth_demangle_argument, &list)
               ? fth_demangle_add(parser, FTH_NODE_PACK, list, 0)
               : 0;
}

fth_node fth_demangle_argument(struct fth_demangler *parser)
{
    fth_node node = 0;
    if (!fth_demangle_enter(parser))
        return 0;
    switch (fth_demangle_peek(parser, 0)) {
    case 'L': node = fth_demangle_literal(parser); break;
    case 'J': node = parse_pack(parser); break;
    case 'X':
        parser->at++;
        node = fth_demangle_expression(parser);
        if (!fth_demangle_accept(parser, "E"))
            node = 0;
        break;
    default: node = fth_demangle_type(parser); break;
    }
    fth_demangle_leave(parser);
    return node;
}

fth_node fth_demangle_template(struct fth_demangler *parser, fth_node name)
{
    fth_node list;
    return name && fth_demangle_accept(parser, "I") &&
                   fth_demangle_list(parser, fth_demangle_argument, &list)
               ? fth_demangle_add(parser, FTH_NODE_TEMPLATE, name, list)
               : 0;
}

/* ---- names without scope ---- */

/* Parses a lambda, after "Ul": its parameters and its number. */
static fth_node parse_lambda(struct fth_demangler *parser)
{
    const bool outer = parser->in_lambda;
    fth_node list;
    uint32_t number;
    parser->in_lambda = true;
    const bool parsed = fth_demangle_parameters(parser, &list);
    parser->in_lambda = outer;
    if (!parsed || !fth_demangle_accept(parser, "E") || !fth_demangle_sequence(parser, 10, &number))
        return 0;
    return fth_demangle_number(parser, FTH_NODE_LAMBDA, number + 1, list, 0);
}

/* Returns the node whose text is the name of the class `scope`: the last part of it, without
 * template arguments. */
static fth_node class_name(const struct fth_demangler *parser, fth_node scope)
{
    for (;;) {
        const struct fth_demangle_node *node = &parser->nodes[scope];
        if (node->kind == FTH_NODE_QUALIFIED)
            scope = node->b;
        else if (node->kind == FTH_NODE_TEMPLATE || node->kind == FTH_NODE_TAGGED)
            scope = node->a;
        else
            return scope;
    }
}

/* Parses C1 and other constructors, and D1 and other destructors. */
static fth_node parse_structor(struct fth_demangler *parser, fth_node scope)
{
    const bool constructor = fth_demangle_peek(parser, 0) == 'C';
    if (!scope || fth_demangle_peek(parser, 1) < '0' || fth_demangle_peek(parser, 1) > '5')
        return 0;
    parser->at += 2;
    const fth_node name = class_name(parser, scope);
    return fth_demangle_add(parser, constructor ? FTH_NODE_CONSTRUCTOR : FTH_NODE_DESTRUCTOR, name,
                            0);
}

fth_node fth_demangle_unqualified(struct fth_demangler *parser, fth_node scope)
{
    const char c = fth_demangle_peek(parser, 0);
    fth_node node = 0;
    uint32_t number;
    /* L is in front of a name with internal linkage. */
    if (isdigit((unsigned char)c) || fth_demangle_accept(parser, "L"))
        node = fth_demangle_source_name(parser);
    else if (islower((unsigned char)c))
        node = fth_demangle_operator(parser);
    else if (c == 'C' || c == 'D')
        node = parse_structor(parser, scope);
    else if (fth_demangle_accept(parser, "Ul"))
        node = parse_lambda(parser);
    else if (fth_demangle_accept(parser, "Ut") && fth_demangle_sequence(parser, 10, &number))
        node = fth_demangle_number(parser, FTH_NODE_UNNAMED, number + 1, 0, 0);
    while (node && fth_demangle_accept(parser, "B")) {
        const fth_node tag = fth_demangle_source_name(parser);
        node = tag ? fth_demangle_add(parser, FTH_NODE_TAGGED, node, tag) : 0;
    }
    return node;
}

/* ---- names with scope ---- */

/* Parses the next part of a nested name, which follows `scope`, or 0 at its beginning. *is_new: the
 * part can be the target of a substitution. */
static fth_node parse_part(struct fth_demangler *parser, fth_node scope, bool *is_new)
{
    const char c = fth_demangle_peek(parser, 0), next = fth_demangle_peek(parser, 1);
    *is_new = true;
    if (!scope && c == 'S') {
        *is_new = false;
        return fth_demangle_substitution(parser);
    }
    if (!scope && c == 'T')
        return fth_demangle_parameter(parser);
    if (!scope && c == 'D' && (next == 't' || next == 'T')) {
        *is_new = false; /* the type itself is a target already */
        return fth_demangle_type(parser);
    }
    const fth_node name = fth_demangle_unqualified(parser, scope);
    return name && scope ? fth_demangle_add(parser, FTH_NODE_QUALIFIED, scope, name) : name;
}

/* Sets what follows from the kind of the last part of a name. */
static void note_structor(const struct fth_demangler *parser, fth_node node, struct name_info *info)
{
    const struct fth_demangle_node *last = &parser->nodes[node];
    if (last->kind == FTH_NODE_QUALIFIED)
        last = &parser->nodes[last->b];
    info->no_return = last->kind == FTH_NODE_CONSTRUCTOR || last->kind == FTH_NODE_DESTRUCTOR ||
                      last->kind == FTH_NODE_CONVERSION;
}

/* Parses N [qualifiers] parts E. */
static fth_node parse_nested(struct fth_demangler *parser, bool is_function, struct name_info *info)
{
    fth_node node = 0;
    parser->at++;
    info->qualifiers = fth_demangle_qualifiers(parser);
    if (fth_demangle_accept(parser, "R"))
        info->qualifiers |= FTH_LVALUE;
    else if (fth_demangle_accept(parser, "O"))
        info->qualifiers |= FTH_RVALUE;
    while (!fth_demangle_accept(parser, "E")) {
        bool is_new = true;
        info->has_arguments = fth_demangle_peek(parser, 0) == 'I';
        if (info->has_arguments) {
            node = fth_demangle_template(parser, node);
            if (node && is_function)
                parser->template_arguments = parser->nodes[node].b;
        } else if (node && fth_demangle_accept(parser, "M")) {
            continue; /* the initialiser of a member, in which a lambda is */
        } else {
            node = parse_part(parser, node, &is_new);
            note_structor(parser, node, info);
        }
        if (!node ||
            (is_new && fth_demangle_peek(parser, 0) != 'E' && !fth_demangle_remember(parser, node)))
            return 0;
    }
    return node;
}

/* Skips what distinguishes entities of the same name in a function: _3 or __12_. */
static bool skip_discriminator(struct fth_demangler *parser)
{
    uint32_t number;
    if (fth_demangle_peek(parser, 0) != '_')
        return true;
    if (fth_demangle_accept(parser, "__"))
        return fth_demangle_decimal(parser, &number) && fth_demangle_accept(parser, "_");
    parser->at++;
    if (!isdigit((unsigned char)fth_demangle_peek(parser, 0)))
        return false;
    parser->at++;
    return true;
}

/* Parses Z function E entity: something that is declared inside a function. */
static fth_node parse_local(struct fth_demangler *parser, bool is_function, struct name_info *info)
{
    parser->at++;
    const fth_node function = fth_demangle_encoding(parser, false);
    if (!function || !fth_demangle_accept(parser, "E"))
        return 0;
    fth_node entity;
    if (fth_demangle_accept(parser, "s")) {
        static const char literal[] = "string literal";
        entity = fth_demangle_text(parser, FTH_NODE_NAME, literal, sizeof literal - 1, 0);
    } else {
        entity = parse_name(parser, is_function, info);
    }
    if (!entity || !skip_discriminator(parser))
        return 0;
    return fth_demangle_add(parser, FTH_NODE_QUALIFIED, function, entity);
}

/* Parses a name in the global namespace or in std, or one that begins with a substitution. */
static fth_node parse_unscoped(struct fth_demangler *parser, struct name_info *info)
{
    fth_node node;
    const bool is_std = fth_demangle_peek(parser, 1) == 't';
    if (fth_demangle_peek(parser, 0) == 'S') {
        node = fth_demangle_substitution(parser);
        if (!node || !is_std)
            return node;
        const fth_node name = fth_demangle_unqualified(parser, 0);
        node = name ? fth_demangle_add(parser, FTH_NODE_QUALIFIED, node, name) : 0;
    } else {
        node = fth_demangle_unqualified(parser, 0);
    }
    note_structor(parser, node, info);
    return fth_demangle_peek(parser, 0) == 'I' ? fth_demangle_remember(parser, node) : node;
}

/* Parses any name. `is_function`: it is that of the function whose parameters follow, so its
 * template arguments are those that T_ stands for. */
static fth_node parse_name(struct fth_demangler *parser, bool is_function, struct name_info *info)
{
    fth_node node;
    *info = (struct name_info){0};
    if (!fth_demangle_enter(parser))
        return 0;
    switch (fth_demangle_peek(parser, 0)) {
    case 'N': node = parse_nested(parser, is_function, info); break;
    case 'Z': node = parse_local(parser, is_function, info); break;
    default:
        node = parse_unscoped(parser, info);
        info->has_arguments = fth_demangle_peek(parser, 0) == 'I';
        if (info->has_arguments)
            node = fth_demangle_template(parser, node);
        if (node && info->has_arguments && is_function)
            parser->template_arguments = parser->nodes[node].b;
        break;
    }
    fth_demangle_leave(parser);
    return node;
}

fth_node fth_demangle_class(struct fth_demangler *parser)
{
    struct name_info info;
    return parse_name(parser, false, &info);
}

fth_node fth_demangle_encoding(struct fth_demangler *parser, bool with_return)
{
    struct name_info info;
    const fth_node outer_arguments = parser->template_arguments;
    const bool outer_lambda = parser->in_lambda;
    fth_node result = 0, list = 0;
    parser->template_arguments = 0;
    parser->in_lambda = false;
    const fth_node name = parse_name(parser, true, &info);
    const char next = fth_demangle_peek(parser, 0);
    if (!name)
        return 0;
    if (next == '\0' || next == 'E') {
        result = name; /* a variable, or a function such as main, which has no type */
    } else {
        const bool has_return = info.has_arguments && !info.no_return;
        const fth_node type = has_return ? fth_demangle_type(parser) : 0;
        if ((has_return && !type) || !fth_demangle_parameters(parser, &list))
            return 0;
        const fth_node function = fth_demangle_number(parser, FTH_NODE_FUNCTION, info.qualifiers,
                                                      with_return ? type : 0, list);
        result = function ? fth_demangle_add(parser, FTH_NODE_ENCODING, name, function) : 0;
    }
    parser->template_arguments = outer_arguments;
    parser->in_lambda = outer_lambda;
    return result;
}
