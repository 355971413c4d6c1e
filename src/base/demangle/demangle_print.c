/* Writes the tree of a name as text, in the style of binutils' c++filt. A declaration such as
 * `void (*)(int)` surrounds the place of its name, so a type is written in two parts: what is to
 * the left of that place, and what is to the right of it. */
#include "base/demangle/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct printer {
    const struct fth_demangle_node *nodes;
    char *text;
    size_t size, used; /* of the text */
    size_t steps;      /* nodes that were visited */
    unsigned depth;
    bool in_pack; /* a pack stands for its argument with the index `pack_index` */
    size_t pack_index;
    bool failed; /* a limit was exceeded */
};

static void print_left(struct printer *printer, fth_node index);
static void print_right(struct printer *printer, fth_node index);

static void put(struct printer *printer, const char *text, size_t size)
{
    if (size >= printer->size - printer->used) {
        printer->failed = true;
        return;
    }
    memcpy(printer->text + printer->used, text, size);
    printer->used += size;
}

static void put_text(struct printer *printer, const char *text)
{
    put(printer, text, strlen(text));
}

static char last_character(const struct printer *printer)
{
    return printer->used ? printer->text[printer->used - 1] : '\0';
}

/* Writes both parts of a type, or anything else. */
static void print(struct printer *printer, fth_node index)
{
    print_left(printer, index);
    print_right(printer, index);
}

/* Begins a visit of a node. False: there have been too many, or they are too deep. */
static bool enter(struct printer *printer)
{
    if (++printer->steps > FTH_DEMANGLE_STEPS || printer->depth == FTH_DEMANGLE_DEPTH)
        printer->failed = true;
    if (printer->failed)
        return false;
    printer->depth++;
    return true;
}

/* ---- packs ---- */

/* Returns the item of a list with this index, or 0. */
static fth_node list_item(const struct printer *printer, fth_node list, size_t index)
{
    for (; list && index; index--)
        list = printer->nodes[list].b;
    return list ? printer->nodes[list].a : 0;
}

/* Returns what a template parameter stands for, and any other node itself. */
static fth_node resolve(const struct printer *printer, fth_node index)
{
    for (;;) {
        const struct fth_demangle_node *node = &printer->nodes[index];
        if (node->kind == FTH_NODE_PARAMETER && node->a)
            index = node->a;
        else if (node->kind == FTH_NODE_PACK && printer->in_pack &&
                 list_item(printer, node->a, printer->pack_index))
            index = list_item(printer, node->a, printer->pack_index);
        else
            return index;
    }
}

/* Returns the first pack that a template parameter in `index` stands for, or 0. */
static fth_node find_pack(struct printer *printer, fth_node index)
{
    const struct fth_demangle_node *node = &printer->nodes[index];
    fth_node found = 0;
    if (!index || !enter(printer))
        return 0;
    if (node->kind == FTH_NODE_PARAMETER)
        found = node->a && printer->nodes[node->a].kind == FTH_NODE_PACK ? node->a : 0;
    else if (node->kind != FTH_NODE_EXPANSION)
        found = find_pack(printer, node->a);
    if (!found && node->kind != FTH_NODE_PARAMETER && node->kind != FTH_NODE_EXPANSION)
        found = find_pack(printer, node->b);
    printer->depth--;
    return found;
}

static size_t pack_length(const struct printer *printer, fth_node pack)
{
    size_t length = 0;
    for (fth_node list = printer->nodes[pack].a; list; list = printer->nodes[list].b)
        length++;
    return length;
}

/* Writes items separated by commas. Items that are empty, such as packs without arguments, have no
 * comma. */
static void print_list(struct printer *printer, fth_node list)
{
    const size_t begin = printer->used;
    for (; list && !printer->failed; list = printer->nodes[list].b) {
        const size_t before = printer->used;
        if (before > begin)
            put_text(printer, ", ");
        const size_t after_comma = printer->used;
        print(printer, printer->nodes[list].a);
        if (printer->used == after_comma)
            printer->used = before;
    }
}

/* Writes the pattern with one argument of the pack. */
static void print_expanded(struct printer *printer, fth_node pattern, size_t pack_index)
{
    const struct printer outer = *printer;
    printer->in_pack = true;
    printer->pack_index = pack_index;
    print(printer, pattern);
    printer->in_pack = outer.in_pack;
    printer->pack_index = outer.pack_index;
}

static void print_expansion(struct printer *printer, fth_node pattern)
{
    const fth_node pack = find_pack(printer, pattern);
    const size_t length = pack ? pack_length(printer, pack) : 0;
    for (size_t i = 0; i < length && !printer->failed; i++) {
        if (i)
            put_text(printer, ", ");
        print_expanded(printer, pattern, i);
    }
    if (!pack) {
        print(printer, pattern);
        put_text(printer, "...");
    }
}

/* ---- types ---- */

static void put_qualifiers(struct printer *printer, uint32_t qualifiers)
{
    if (qualifiers & FTH_CONST)
        put_text(printer, " const");
    if (qualifiers & FTH_VOLATILE)
        put_text(printer, " volatile");
    if (qualifiers & FTH_RESTRICT)
        put_text(printer, " restrict");
    if (qualifiers & FTH_LVALUE)
        put_text(printer, " &");
    if (qualifiers & FTH_RVALUE)
        put_text(printer, " &&");
}

/* Returns the kind of a type without its qualifiers. */
static enum fth_node_kind bare_kind(const struct printer *printer, fth_node index)
{
    index = resolve(printer, index);
    while (printer->nodes[index].kind == FTH_NODE_CV ||
           printer->nodes[index].kind == FTH_NODE_SUFFIXED)
        index = resolve(printer, printer->nodes[index].a);
    return (enum fth_node_kind)printer->nodes[index].kind;
}

/* Returns whether a type has a part to the right of the name. */
static bool has_right(const struct printer *printer, fth_node index)
{
    for (;;) {
        index = resolve(printer, index);
        const struct fth_demangle_node *node = &printer->nodes[index];
        switch (node->kind) {
        case FTH_NODE_FUNCTION:
        case FTH_NODE_ARRAY: return true;
        case FTH_NODE_MEMBER: index = node->b; break;
        case FTH_NODE_POINTER:
        case FTH_NODE_REFERENCE:
        case FTH_NODE_RVALUE:
        case FTH_NODE_CV:
        case FTH_NODE_SUFFIXED: index = node->a; break;
        default: return false;
        }
    }
}

/* Begins a pointer, reference or pointer to a member, which needs parentheses if its type has a
 * part to the right of the name. */
static void open_pointer(struct printer *printer, fth_node type)
{
    const enum fth_node_kind kind = bare_kind(printer, type);
    print_left(printer, type);
    if (kind == FTH_NODE_FUNCTION)
        put_text(printer, "(");
    else if (kind == FTH_NODE_ARRAY)
        put_text(printer, " (");
}

static void close_pointer(struct printer *printer, fth_node type)
{
    const enum fth_node_kind kind = bare_kind(printer, type);
    if (kind == FTH_NODE_FUNCTION || kind == FTH_NODE_ARRAY)
        put_text(printer, ")");
    print_right(printer, type);
}

/* Returns the type that a reference refers to, and its kind in *kind: a reference to a reference is
 * an lvalue reference, unless both are rvalue references. */
static fth_node collapse(const struct printer *printer, const struct fth_demangle_node *node,
                         enum fth_node_kind *kind)
{
    *kind = (enum fth_node_kind)node->kind;
    for (;;) {
        const fth_node index = resolve(printer, node->a);
        const struct fth_demangle_node *inner = &printer->nodes[index];
        if (inner->kind != FTH_NODE_REFERENCE && inner->kind != FTH_NODE_RVALUE)
            return node->a;
        if (inner->kind == FTH_NODE_REFERENCE)
            *kind = FTH_NODE_REFERENCE;
        node = inner;
    }
}

static void print_reference(struct printer *printer, const struct fth_demangle_node *node,
                            bool is_left)
{
    enum fth_node_kind kind;
    const fth_node type = collapse(printer, node, &kind);
    if (is_left) {
        open_pointer(printer, type);
        put_text(printer, kind == FTH_NODE_RVALUE ? "&&" : "&");
    } else {
        close_pointer(printer, type);
    }
}

static void print_member(struct printer *printer, const struct fth_demangle_node *node)
{
    open_pointer(printer, node->b);
    if (last_character(printer) != '(')
        put_text(printer, " ");
    print(printer, node->a);
    put_text(printer, "::*");
}

/* The qualifiers of a type. Those that its argument has already are left out. */
static void print_cv(struct printer *printer, const struct fth_demangle_node *node, bool is_left)
{
    const struct fth_demangle_node *inner = &printer->nodes[resolve(printer, node->a)];
    const uint32_t same = inner->kind == FTH_NODE_CV ? inner->number : 0;
    const bool is_function = bare_kind(printer, node->a) == FTH_NODE_FUNCTION;
    if (is_left)
        print_left(printer, node->a);
    else
        print_right(printer, node->a);
    if (is_left == is_function)
        return;
    if (node->kind == FTH_NODE_CV) {
        put_qualifiers(printer, node->number & ~same);
    } else {
        put_text(printer, " ");
        put(printer, node->text, node->size);
    }
}

static void print_function_right(struct printer *printer, const struct fth_demangle_node *node)
{
    put_text(printer, "(");
    print_list(printer, node->b);
    put_text(printer, ")");
    put_qualifiers(printer, node->number);
    if (node->a)
        print_right(printer, node->a);
}

static void print_right(struct printer *printer, fth_node index)
{
    index = resolve(printer, index);
    const struct fth_demangle_node *node = &printer->nodes[index];
    if (!enter(printer))
        return;
    switch (node->kind) {
    case FTH_NODE_POINTER: close_pointer(printer, node->a); break;
    case FTH_NODE_REFERENCE:
    case FTH_NODE_RVALUE: print_reference(printer, node, false); break;
    case FTH_NODE_MEMBER: close_pointer(printer, node->b); break;
    case FTH_NODE_CV:
    case FTH_NODE_SUFFIXED: print_cv(printer, node, false); break;
    case FTH_NODE_FUNCTION: print_function_right(printer, node); break;
    case FTH_NODE_ARRAY:
        put_text(printer, last_character(printer) == ']' ? "[" : " [");
        if (node->b)
            print(printer, node->b);
        put_text(printer, "]");
        print_right(printer, node->a);
        break;
    default: break;
    }
    printer->depth--;
}

/* Writes the left part of a type. False: it is not a type that has two parts. */
static bool print_type(struct printer *printer, const struct fth_demangle_node *node)
{
    switch (node->kind) {
    case FTH_NODE_POINTER:
        open_pointer(printer, node->a);
        put_text(printer, "*");
        return true;
    case FTH_NODE_REFERENCE:
    case FTH_NODE_RVALUE: print_reference(printer, node, true); return true;
    case FTH_NODE_MEMBER: print_member(printer, node); return true;
    case FTH_NODE_CV:
    case FTH_NODE_SUFFIXED: print_cv(printer, node, true); return true;
    case FTH_NODE_FUNCTION:
        if (node->a)
            print_left(printer, node->a);
        if (node->a && !has_right(printer, node->a))
            put_text(printer, " ");
        return true;
    case FTH_NODE_ARRAY: print_left(printer, node->a); return true;
    case FTH_NODE_VECTOR:
        print(printer, node->a);
        put_text(printer, " __vector(");
        if (node->b)
            print(printer, node->b);
        put_text(printer, ")");
        return true;
    default: return false;
    }
}

/* ---- names ---- */

/* Writes an opening text, a list and a closing text. */
static void print_bracketed(struct printer *printer, const char *open, fth_node list,
                            const char *close)
{
    put_text(printer, open);
    print_list(printer, list);
    put_text(printer, close);
}

static void print_template(struct printer *printer, const struct fth_demangle_node *node)
{
    print(printer, node->a);
    put_text(printer, last_character(printer) == '<' ? " <" : "<");
    print_list(printer, node->b);
    put_text(printer, last_character(printer) == '>' ? " >" : ">");
}

static void print_encoding(struct printer *printer, const struct fth_demangle_node *node)
{
    const struct fth_demangle_node *function = &printer->nodes[node->b];
    if (function->a) {
        print_left(printer, function->a);
        put_text(printer, " ");
    }
    print(printer, node->a);
    print_function_right(printer, function);
}

/* Writes a text with a number, in the form of printf. */
static void print_number(struct printer *printer, const char *format, uint32_t number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    put_text(printer, text);
}

/* Writes a name of any kind. False: it is not a name. */
static bool print_name(struct printer *printer, const struct fth_demangle_node *node)
{
    switch (node->kind) {
    case FTH_NODE_NAME:
    case FTH_NODE_BUILTIN: put(printer, node->text, node->size); return true;
    case FTH_NODE_QUALIFIED:
        print(printer, node->a);
        put_text(printer, "::");
        print(printer, node->b);
        return true;
    case FTH_NODE_TEMPLATE: print_template(printer, node); return true;
    case FTH_NODE_PACK: print_list(printer, node->a); return true;
    case FTH_NODE_PARAMETER: print_number(printer, "auto:%u", node->number); return true;
    case FTH_NODE_EXPANSION: print_expansion(printer, node->a); return true;
    case FTH_NODE_LAMBDA:
        print_bracketed(printer, "{lambda(", node->a, ")#");
        print_number(printer, "%u}", node->number);
        return true;
    case FTH_NODE_UNNAMED: print_number(printer, "{unnamed type#%u}", node->number); return true;
    case FTH_NODE_TAGGED:
        print(printer, node->a);
        put_text(printer, "[abi:");
        print(printer, node->b);
        put_text(printer, "]");
        return true;
    case FTH_NODE_DESTRUCTOR: put_text(printer, "~"); /* fall through */
    case FTH_NODE_CONSTRUCTOR: print(printer, node->a); return true;
    case FTH_NODE_OPERATOR:
        put_text(printer, islower((unsigned char)*node->text) ? "operator " : "operator");
        put(printer, node->text, node->size);
        return true;
    case FTH_NODE_CONVERSION:
        put_text(printer, "operator ");
        print(printer, node->a);
        return true;
    case FTH_NODE_ENCODING: print_encoding(printer, node); return true;
    default: return false;
    }
}

/* ---- expressions ---- */

/* Writes an operand, in parentheses unless it is a name. */
static void print_operand(struct printer *printer, fth_node index)
{
    const uint8_t kind = printer->nodes[index].kind;
    const bool simple = kind == FTH_NODE_NAME || kind == FTH_NODE_QUALIFIED ||
                        kind == FTH_NODE_BRACES || kind == FTH_NODE_ARGUMENT;
    if (!simple)
        put_text(printer, "(");
    print(printer, index);
    if (!simple)
        put_text(printer, ")");
}

/* Writes a literal: integers with the suffix of their type, other types in front of the digits. */
static void print_literal(struct printer *printer, const struct fth_demangle_node *node)
{
    static const char *const suffixes[][2] = {{"i", ""},   {"j", "u"},  {"l", "l"},
                                              {"m", "ul"}, {"x", "ll"}, {"y", "ull"}};
    const struct fth_demangle_node *type = &printer->nodes[resolve(printer, node->a)];
    const uint32_t letter = type->kind == FTH_NODE_BUILTIN ? type->number : 0;
    const char *suffix = NULL;
    for (size_t i = 0; i < FTH_COUNT(suffixes); i++)
        if (letter == (unsigned char)suffixes[i][0][0])
            suffix = suffixes[i][1];
    if (letter == 'b' && node->size == 1 && !node->number &&
        (*node->text == '0' || *node->text == '1')) {
        put_text(printer, *node->text == '1' ? "true" : "false");
        return;
    }
    if (!suffix) {
        put_text(printer, "(");
        print(printer, node->a);
        put_text(printer, ")");
    }
    const bool is_float = letter == 'f' || letter == 'd' || letter == 'e' || letter == 'g';
    put_text(printer, node->number ? "-" : "");
    put_text(printer, is_float ? "[" : "");
    put(printer, node->text, node->size);
    put_text(printer, is_float ? "]" : suffix ? suffix : "");
}

/* Writes an operator in front of its operand. The address of a member function has no parameters.
 */
static void print_unary(struct printer *printer, const struct fth_demangle_node *node)
{
    const struct fth_demangle_node *operand = &printer->nodes[node->a];
    const bool is_member = *node->text == '&' && operand->kind == FTH_NODE_ENCODING &&
                           printer->nodes[operand->a].kind == FTH_NODE_QUALIFIED &&
                           !printer->nodes[operand->b].number;
    put(printer, node->text, node->size);
    print_operand(printer, is_member ? operand->a : node->a);
}

static void print_binary(struct printer *printer, const struct fth_demangle_node *node)
{
    const bool is_index = node->text[0] == '[';
    /* An operator that could end the template arguments needs parentheses. */
    const bool is_greater = node->size == 1 && *node->text == '>';
    put_text(printer, is_greater ? "(" : "");
    print_operand(printer, node->a);
    if (is_index) {
        put_text(printer, "[");
        print(printer, node->b);
        put_text(printer, "]");
    } else {
        put(printer, node->text, node->size);
        print_operand(printer, node->b);
    }
    put_text(printer, is_greater ? ")" : "");
}

static void print_conditional(struct printer *printer, const struct fth_demangle_node *node)
{
    const struct fth_demangle_node *values = &printer->nodes[node->b];
    print_operand(printer, node->a);
    put_text(printer, "?");
    print_operand(printer, values->a);
    put_text(printer, " : ");
    print_operand(printer, printer->nodes[values->b].a);
}

static void print_fold(struct printer *printer, const struct fth_demangle_node *node)
{
    put_text(printer, "(");
    if (node->number != 'l')
        print_operand(printer, node->a);
    else
        put_text(printer, "...");
    put(printer, node->text, node->size);
    if (node->number == 'l')
        print_operand(printer, node->a);
    else
        put_text(printer, "...");
    if (node->b) {
        put(printer, node->text, node->size);
        print_operand(printer, node->b);
    }
    put_text(printer, ")");
}

static void print_cast(struct printer *printer, const struct fth_demangle_node *node)
{
    put_text(printer, "(");
    print(printer, node->a);
    put_text(printer, ")");
    if (node->number)
        print_operand(printer, node->b);
    else
        print_bracketed(printer, "(", node->b, ")");
}

/* Writes a text in front of something in parentheses. */
static void print_operation(struct printer *printer, const struct fth_demangle_node *node)
{
    put(printer, node->text, node->size);
    put_text(printer, " (");
    print(printer, node->a);
    put_text(printer, ")");
}

static void print_named_cast(struct printer *printer, const struct fth_demangle_node *node)
{
    put(printer, node->text, node->size);
    put_text(printer, "<");
    print(printer, node->a);
    put_text(printer, last_character(printer) == '>' ? " >(" : ">(");
    print(printer, node->b);
    put_text(printer, ")");
}

static void print_expression(struct printer *printer, const struct fth_demangle_node *node)
{
    switch (node->kind) {
    case FTH_NODE_DECLTYPE:
        put_text(printer, "decltype (");
        print(printer, node->a);
        put_text(printer, ")");
        break;
    case FTH_NODE_LITERAL: print_literal(printer, node); break;
    case FTH_NODE_ARGUMENT:
        print_number(printer, node->number ? "{parm#%u}" : "this", node->number);
        break;
    case FTH_NODE_UNARY: print_unary(printer, node); break;
    case FTH_NODE_POSTFIX:
        print_operand(printer, node->a);
        put(printer, node->text, node->size);
        break;
    case FTH_NODE_BINARY: print_binary(printer, node); break;
    case FTH_NODE_CONDITIONAL: print_conditional(printer, node); break;
    case FTH_NODE_CALL:
        print_operand(printer, node->a);
        print_bracketed(printer, "(", node->b, ")");
        break;
    case FTH_NODE_CAST: print_cast(printer, node); break;
    case FTH_NODE_BRACES:
        if (node->a)
            print(printer, node->a);
        print_bracketed(printer, "{", node->b, "}");
        break;
    case FTH_NODE_OPERATION: print_operation(printer, node); break;
    case FTH_NODE_PACK_SIZE: {
        const fth_node pack = find_pack(printer, node->a);
        print_number(printer, "%u", pack ? (uint32_t)pack_length(printer, pack) : 0);
        break;
    }
    case FTH_NODE_NAMED_CAST: print_named_cast(printer, node); break;
    default: print_fold(printer, node); break;
    }
}

static void print_left(struct printer *printer, fth_node index)
{
    index = resolve(printer, index);
    const struct fth_demangle_node *node = &printer->nodes[index];
    if (!enter(printer))
        return;
    if (!print_type(printer, node) && !print_name(printer, node))
        print_expression(printer, node);
    printer->depth--;
}

/* ---- entry points ---- */

/* Ends the text. False: a limit was exceeded. */
static bool finish(struct printer *printer)
{
    if (printer->failed)
        return false;
    printer->text[printer->used] = '\0';
    return true;
}

bool fth_demangle_print(const struct fth_demangler *parser, fth_node node, char *text, size_t size)
{
    struct printer printer = {.nodes = parser->nodes, .text = text, .size = size};
    print(&printer, node);
    return finish(&printer);
}

bool fth_demangle_print_item(const struct fth_demangler *parser, fth_node list, size_t index,
                             char *text, size_t size)
{
    struct printer printer = {.nodes = parser->nodes, .text = text, .size = size};
    for (; list; list = parser->nodes[list].b) {
        const struct fth_demangle_node *item = &parser->nodes[parser->nodes[list].a];
        const fth_node pack = item->kind == FTH_NODE_EXPANSION ? find_pack(&printer, item->a) : 0;
        const size_t length = pack ? pack_length(&printer, pack) : 1;
        if (index < length) {
            if (pack)
                print_expanded(&printer, item->a, index);
            else
                print(&printer, parser->nodes[list].a);
            return finish(&printer);
        }
        index -= length;
    }
    return false;
}
