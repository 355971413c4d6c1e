/* The entry points of the demangler, and what its parsers share. */
#include "base/demangle/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers of the parsers ---- */

fth_node fth_demangle_add(struct fth_demangler *parser, enum fth_node_kind kind, fth_node a,
                          fth_node b)
{
    if (parser->node_count == FTH_DEMANGLE_NODES)
        return 0;
    parser->nodes[parser->node_count] =
        (struct fth_demangle_node){.text = "", .kind = (uint8_t)kind, .a = a, .b = b};
    return (fth_node)parser->node_count++;
}

fth_node fth_demangle_text(struct fth_demangler *parser, enum fth_node_kind kind, const char *text,
                           size_t size, fth_node a)
{
    const fth_node node = fth_demangle_add(parser, kind, a, 0);
    if (node) {
        parser->nodes[node].text = text;
        parser->nodes[node].size = (uint32_t)size;
    }
    return node;
}

fth_node fth_demangle_number(struct fth_demangler *parser, enum fth_node_kind kind, uint32_t number,
                             fth_node a, fth_node b)
{
    const fth_node node = fth_demangle_add(parser, kind, a, b);
    if (node)
        parser->nodes[node].number = number;
    return node;
}

char fth_demangle_peek(const struct fth_demangler *parser, size_t ahead)
{
    return (size_t)(parser->end - parser->at) > ahead ? parser->at[ahead] : '\0';
}

bool fth_demangle_accept(struct fth_demangler *parser, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, text, size) != 0)
        return false;
    parser->at += size;
    return true;
}

bool fth_demangle_decimal(struct fth_demangler *parser, uint32_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (isdigit((unsigned char)fth_demangle_peek(parser, 0)) && digits < 9) {
        *number = *number * 10 + (uint32_t)(*parser->at++ - '0');
        digits++;
    }
    return digits > 0 && !isdigit((unsigned char)fth_demangle_peek(parser, 0));
}

bool fth_demangle_sequence(struct fth_demangler *parser, uint32_t base, uint32_t *number)
{
    *number = 0;
    if (fth_demangle_accept(parser, "_"))
        return true;
    for (int digits = 0; digits < 5; digits++) {
        const char c = fth_demangle_peek(parser, 0);
        if (c == '_') {
            parser->at++;
            ++*number;
            return digits > 0;
        }
        const uint32_t digit = isdigit((unsigned char)c)   ? (uint32_t)(c - '0')
                               : isupper((unsigned char)c) ? (uint32_t)(c - 'A') + 10
                                                           : base;
        if (digit >= base)
            return false;
        *number = *number * base + digit;
        parser->at++;
    }
    return false;
}

bool fth_demangle_list(struct fth_demangler *parser, fth_node (*parse_item)(struct fth_demangler *),
                       fth_node *list)
{
    fth_node last = 0;
    *list = 0;
    while (!fth_demangle_accept(parser, "E")) {
        const fth_node item = parse_item(parser);
        const fth_node cell = item ? fth_demangle_add(parser, FTH_NODE_LIST, item, 0) : 0;
        if (!cell)
            return false;
        if (last)
            parser->nodes[last].b = cell;
        else
            *list = cell;
        last = cell;
    }
    return true;
}

fth_node fth_demangle_remember(struct fth_demangler *parser, fth_node node)
{
    if (!node || parser->substitution_count == FTH_DEMANGLE_SUBSTITUTIONS)
        return 0;
    parser->substitutions[parser->substitution_count++] = node;
    return node;
}

bool fth_demangle_enter(struct fth_demangler *parser)
{
    if (parser->depth == FTH_DEMANGLE_DEPTH)
        return false;
    parser->depth++;
    return true;
}

void fth_demangle_leave(struct fth_demangler *parser)
{
    parser->depth--;
}

/* ---- entry points ---- */

/* Parses a whole name. Returns the node of its encoding. */
static fth_node parse(struct fth_demangler *parser, const char *name)
{
    parser->at = name;
    parser->end = name + strlen(name);
    parser->node_count = 1; /* 0 means that there is no node */
    parser->substitution_count = 0;
    parser->template_arguments = 0;
    parser->depth = 0;
    parser->in_lambda = false;
    if (!fth_demangle_accept(parser, "_Z"))
        return 0;
    const fth_node node = fth_demangle_encoding(parser, true);
    return parser->at == parser->end ? node : 0;
}

bool fth_demangle(const char *name, enum fth_name_form form, char *text, size_t size)
{
    struct fth_demangler parser;
    const fth_node node = parse(&parser, name);
    const struct fth_demangle_node *top = &parser.nodes[node];
    const bool is_function = node && top->kind == FTH_NODE_ENCODING;
    if (is_function && form == FTH_NAME_PARAMETERS)
        parser.nodes[top->b].a = 0;
    const fth_node shown = is_function && form == FTH_NAME_SHORT ? top->a : node;
    if (node && fth_demangle_print(&parser, shown, text, size))
        return true;
    if (size)
        snprintf(text, size, "%s", name);
    return false;
}

bool fth_demangle_parameter_type(const char *name, size_t index, char *text, size_t size)
{
    struct fth_demangler parser;
    const fth_node node = parse(&parser, name);
    const struct fth_demangle_node *top = &parser.nodes[node];
    return node && top->kind == FTH_NODE_ENCODING &&
           fth_demangle_print_item(&parser, parser.nodes[top->b].b, index, text, size);
}
