/* base/demangle/: reads names that a C++ compiler encoded by the rules of the Itanium C++ ABI
 * (section 5.1, "External Names"), which nvcc uses for kernels, and writes them as in C++.
 *
 *   demangle.c              entry points; shared helpers of the parser
 *   demangle_name.c         names, substitutions, template arguments
 *   demangle_type.c         types
 *   demangle_expression.c   literals, operators, expressions in template arguments and types
 *   demangle_print.c        writes the tree as text, in the style of binutils' c++filt
 *   name_match.c            finds the names that a user means
 *
 * The parser makes a tree of nodes. A name is untrusted input: the number of nodes, the depth of
 * the tree, the steps of the printer and the length of the text are limited. A name that exceeds a
 * limit, or uses something that the parser does not know, is not translated at all.
 */
#ifndef FTH_DEMANGLE_H
#define FTH_DEMANGLE_H

#include "base/base.h"

/* Limits. Chosen: the names of the kernels of CUB and Thrust have up to a few hundred nodes and
 * substitutions, and a depth of a few dozen. */
enum {
    FTH_DEMANGLE_NODES = 4096,
    FTH_DEMANGLE_SUBSTITUTIONS = 1024,
    FTH_DEMANGLE_DEPTH = 128,
    FTH_DEMANGLE_STEPS = 32768, /* nodes that the printer visits */
};

/* The index of a node; 0: there is none. */
typedef uint16_t fth_node;

/* Kinds of nodes, with the meaning of the members `a` and `b` of a node. A list is a LIST node, or
 * 0 if it is empty. */
enum fth_node_kind {
    FTH_NODE_NAME,        /* text */
    FTH_NODE_BUILTIN,     /* text: name of a type; number: its letter, or 0 */
    FTH_NODE_QUALIFIED,   /* a::b; a is 0 for the global namespace */
    FTH_NODE_TEMPLATE,    /* a<b>; b: list */
    FTH_NODE_LIST,        /* a: item; b: rest of the list */
    FTH_NODE_PACK,        /* a: list of the arguments that belong to a parameter pack */
    FTH_NODE_PARAMETER,   /* a: the argument of a template parameter; 0: of a generic lambda */
    FTH_NODE_EXPANSION,   /* a: pattern that is repeated for each argument of a pack */
    FTH_NODE_LAMBDA,      /* a: list of parameter types; number: from 1 on */
    FTH_NODE_UNNAMED,     /* number: from 1 on */
    FTH_NODE_TAGGED,      /* a[abi:b] */
    FTH_NODE_CONSTRUCTOR, /* a: name of the class */
    FTH_NODE_DESTRUCTOR,  /* ~a */
    FTH_NODE_OPERATOR,    /* text: name of an operator function */
    FTH_NODE_CONVERSION,  /* a: type of a conversion function */
    FTH_NODE_ENCODING,    /* a: name of a function; b: its type, FTH_NODE_FUNCTION */
    FTH_NODE_POINTER,     /* a* */
    FTH_NODE_REFERENCE,   /* a& */
    FTH_NODE_RVALUE,      /* a&& */
    FTH_NODE_MEMBER,      /* pointer to a member: a: class, b: type of the member */
    FTH_NODE_CV,          /* a: type; number: FTH_CONST and others */
    FTH_NODE_SUFFIXED,    /* a: type; text: a word after it, such as _Complex */
    FTH_NODE_FUNCTION,    /* a: return type or 0; b: list of parameters; number: qualifiers */
    FTH_NODE_ARRAY,       /* a: type of the elements; b: number of elements or 0 */
    FTH_NODE_VECTOR,      /* a: type of the elements; b: number of elements */
    FTH_NODE_DECLTYPE,    /* a: expression */
    FTH_NODE_LITERAL,     /* a: type; text: digits; number: 1 if negative */
    FTH_NODE_ARGUMENT,    /* number: a parameter of the function, from 1 on; 0: this */
    FTH_NODE_UNARY,       /* text: operator; a: operand */
    FTH_NODE_POSTFIX,     /* text: operator; a: operand */
    FTH_NODE_BINARY,      /* text: operator; a, b: operands */
    FTH_NODE_CONDITIONAL, /* a: condition; b: list of both values */
    FTH_NODE_CALL,        /* a: function; b: list of arguments */
    FTH_NODE_CAST,        /* (a)(b): b: list of values; number: 1 if it is one value */
    FTH_NODE_BRACES,      /* a: type or 0; b: list of values */
    FTH_NODE_OPERATION,   /* text: sizeof and others; a: type or expression in parentheses */
    FTH_NODE_PACK_SIZE,   /* a: an expression with a pack, whose arguments are counted */
    FTH_NODE_NAMED_CAST,  /* text<a>(b) */
    FTH_NODE_FOLD,        /* text: operator; a: expression; b: initial value or 0; number: its
                             second letter, l, r, L or R */
};

enum { FTH_CONST = 1, FTH_VOLATILE = 2, FTH_RESTRICT = 4, FTH_LVALUE = 8, FTH_RVALUE = 16 };

struct fth_demangle_node {
    const char *text; /* not terminated */
    uint32_t size;    /* of the text */
    uint32_t number;
    uint8_t kind; /* enum fth_node_kind */
    fth_node a, b;
};

struct fth_demangler {
    const char *at, *end; /* the rest of the name */
    struct fth_demangle_node nodes[FTH_DEMANGLE_NODES];
    size_t node_count;
    fth_node substitutions[FTH_DEMANGLE_SUBSTITUTIONS];
    size_t substitution_count;
    fth_node template_arguments; /* list: what T_, T0_, … stand for */
    unsigned depth;
    bool in_lambda; /* the parameters of a lambda: T_ is a type that `auto` stands for */
};

/* All functions that return a node return 0 if the name is not valid or not supported. */

/* ---- demangle.c ---- */

/* Adds a node. */
fth_node fth_demangle_add(struct fth_demangler *parser, enum fth_node_kind kind, fth_node a,
                          fth_node b);
/* Adds a node with a text. */
fth_node fth_demangle_text(struct fth_demangler *parser, enum fth_node_kind kind, const char *text,
                           size_t size, fth_node a);
/* Adds a node with a number. */
fth_node fth_demangle_number(struct fth_demangler *parser, enum fth_node_kind kind, uint32_t number,
                             fth_node a, fth_node b);
/* Returns the next character, or 0 at the end; `ahead` characters further on. */
char fth_demangle_peek(const struct fth_demangler *parser, size_t ahead);
/* Skips `text` if the rest of the name begins with it, and returns whether it does. */
bool fth_demangle_accept(struct fth_demangler *parser, const char *text);
/* Parses a decimal number of at most 9 digits. */
bool fth_demangle_decimal(struct fth_demangler *parser, uint32_t *number);
/* Parses the number of a sequence, which ends with '_': "_" is 0, "0_" is 1, and so on. */
bool fth_demangle_sequence(struct fth_demangler *parser, uint32_t base, uint32_t *number);
/* Parses items with `parse_item` up to the letter E, which it skips. False: it failed. */
bool fth_demangle_list(struct fth_demangler *parser, fth_node (*parse_item)(struct fth_demangler *),
                       fth_node *list);
/* Remembers a node, which S_, S0_, … can refer to. Returns it; 0 if there are too many, or if it is
 * 0. */
fth_node fth_demangle_remember(struct fth_demangler *parser, fth_node node);
/* Begins and ends a function that can call itself. False: the calls are too deep. */
bool fth_demangle_enter(struct fth_demangler *parser);
void fth_demangle_leave(struct fth_demangler *parser);

/* ---- demangle_name.c ---- */

/* Parses the name of a function with its type, or of a variable. Without `with_return`, the return
 * type of the function is left out. */
fth_node fth_demangle_encoding(struct fth_demangler *parser, bool with_return);
/* Parses the name of a class or enumeration. */
fth_node fth_demangle_class(struct fth_demangler *parser);
/* Parses a name without scope. `scope` is the one in front of it, or 0. */
fth_node fth_demangle_unqualified(struct fth_demangler *parser, fth_node scope);
/* Parses a substitution, whose next letter is S. */
fth_node fth_demangle_substitution(struct fth_demangler *parser);
/* Parses a template parameter, whose next letter is T. */
fth_node fth_demangle_parameter(struct fth_demangler *parser);
/* Parses template arguments, whose next letter is I, and makes a node of `name` with them. */
fth_node fth_demangle_template(struct fth_demangler *parser, fth_node name);
/* Parses one template argument. */
fth_node fth_demangle_argument(struct fth_demangler *parser);
/* Parses a name with its length in front of it. */
fth_node fth_demangle_source_name(struct fth_demangler *parser);

/* ---- demangle_type.c ---- */

fth_node fth_demangle_type(struct fth_demangler *parser);
/* Parses the types of parameters up to the end of the name, the letter E or a dot, none of which it
 * skips. `void` alone is an empty list. False: it failed. */
bool fth_demangle_parameters(struct fth_demangler *parser, fth_node *list);
/* Parses the letters r, V and K, and returns their sum of FTH_CONST and others. */
uint32_t fth_demangle_qualifiers(struct fth_demangler *parser);

/* ---- demangle_expression.c ---- */

fth_node fth_demangle_expression(struct fth_demangler *parser);
/* Parses a literal, whose next letter is L. */
fth_node fth_demangle_literal(struct fth_demangler *parser);
/* Parses the name of an operator function. */
fth_node fth_demangle_operator(struct fth_demangler *parser);

/* ---- demangle_print.c ---- */

/* Writes a node as text of at most `size` - 1 bytes. False: it is longer, or exceeds the limit of
 * steps. */
bool fth_demangle_print(const struct fth_demangler *parser, fth_node node, char *text, size_t size);
/* Like fth_demangle_print, for the item with this index of a list of parameters, whose packs are
 * expanded. False also if the list has fewer items. */
bool fth_demangle_print_item(const struct fth_demangler *parser, fth_node list, size_t index,
                             char *text, size_t size);

#endif
