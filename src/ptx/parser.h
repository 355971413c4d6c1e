/* Reading a function: the names in scope, and the operands of an instruction. */
#ifndef FTH_PTX_PARSER_H
#define FTH_PTX_PARSER_H

#include "ptx/lexer.h"

enum symbol_kind {
    SYMBOL_REGISTER, /* `count` of them from `first`, named name0, name1, … where `ranged` */
    SYMBOL_PREDICATE,
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_TABLE, /* of a brx.idx */
    SYMBOL_PROTOTYPE
};

struct symbol {
    const char *name;
    size_t size;
    enum symbol_kind kind;
    enum type type;
    bool ranged;
    uint32_t first, count;    /* registers; index of a function or table */
    struct variable variable; /* SYMBOL_VARIABLE */
    uint32_t scope;
    struct symbol *shadowed; /* the next in the bucket */
};

/* A place that a branch names before or after it is known. */
struct label {
    const char *name;
    size_t size;
    uint32_t scope, pc;
};

struct label_use {
    struct token token;
    uint32_t scope;
    uint32_t *target; /* of an instruction (by index, as code moves) or table */
    uint32_t inst;    /* UINT32_MAX: `target` counts */
};

enum { BUCKETS = 1024, DEEPEST_SCOPE = 64 };

struct parser {
    struct lexer lexer;
    struct fth_ptx_module *module;
    struct symbol *buckets[BUCKETS];
    uint32_t scope_ids[DEEPEST_SCOPE]; /* the scopes that are open, outermost first */
    uint32_t *scope_parents;           /* of every scope of the function, by id */
    size_t scope_count, scope_capacity;
    uint32_t depth;
    struct symbol **scoped; /* a stack of symbols, to be taken out of the buckets */
    size_t scoped_count, scoped_capacity;
    size_t scope_starts[DEEPEST_SCOPE];

    struct function *function; /* the one being read, or NULL */
    size_t function_index;
    struct label *labels;
    size_t label_count, label_capacity;
    struct label_use *uses;
    size_t use_count, use_capacity;
    uint32_t file, source_line;
    uint64_t function_shared; /* end of the kernel's own shared variables */
};

/* ---- names.c ---- */

/* Room for one more in a growing array; false, with an error, when there is no memory. */
bool parser_grow(struct parser *parser, void **items, size_t count, size_t *capacity, size_t size);
/* A copy that lives as long as the module; NULL, with an error, when there is no memory. */
const char *parser_keep_text(struct parser *parser, const char *text, size_t size);
struct symbol *parser_find(struct parser *parser, const char *name, size_t size);
/* A new name in the current scope; NULL, with an error, where it is there already. */
struct symbol *parser_define(struct parser *parser, const struct token *token,
                             enum symbol_kind kind);
bool parser_open_scope(struct parser *parser);
void parser_close_scope(struct parser *parser);
/* The register or predicate that a word names; false where it names none. */
bool parser_register(struct parser *parser, const struct token *token, struct symbol **symbol,
                     uint32_t *index);
/* A fresh register of the function. */
int32_t parser_temporary(struct parser *parser);
/* The pool row of an immediate, as an operand. */
int32_t parser_immediate(struct parser *parser, uint64_t bits);
/* A label here, and one that is meant by the instruction `inst`, or by *target. */
bool parser_define_label(struct parser *parser, const struct token *token);
bool parser_use_label(struct parser *parser, const struct token *token, uint32_t inst,
                      uint32_t *target);
/* At the end of a function: every label that is used must be there. */
bool parser_resolve_labels(struct parser *parser);

/* ---- data.c ---- */

struct declaration {
    enum type type;
    uint64_t align, bytes;
    bool has_array, open_array; /* name[] */
    struct token name;
};

/* The type that ".u32" names; T_NONE where it is none. */
enum type parse_type(const char *text, size_t size);
/* A constant where only a number can stand: .align 8, [16], <100>. */
bool parser_count(struct parser *parser, uint64_t max, uint64_t *count);
uint64_t align_up(uint64_t address, uint64_t align);
/* From behind the space: [.align N] .type [.ptr …] name [N]…. */
bool parse_declaration(struct parser *parser, struct declaration *out);
bool parse_variable(struct parser *parser, enum fth_ptx_space space, bool external);
bool parse_registers(struct parser *parser);

/* ---- assemble.c ---- */

/* One instruction, from its guard or opcode to its semicolon, onto the end of the function. */
bool parse_instruction(struct parser *parser);
/* Appends an instruction; NULL when there is no memory. */
struct inst *parser_emit(struct parser *parser, const struct token *token, const char *opcode);

/* ---- modifiers.c ---- */

/* Opcodes for which eq, lo, hi and the like are comparisons. */
bool compares(const char *base);
/* Applies one word behind the opcode to the instruction; false where it is not known. */
bool apply_modifier(struct inst *inst, const char *base, const char *word, size_t size);

/* ---- expression.c ---- */

/* A number that the text gives: 64 bits of an integer, or of a double. */
struct constant {
    uint64_t bits;
    bool is_float, is_unsigned;
    bool single; /* one 0f literal: `word` has its very bits */
    uint32_t word;
};

bool parse_constant(struct parser *parser, struct constant *constant);

/* ---- execute_warp.c: special registers ---- */

/* The number of a special register (%tid.x), or -1. */
int special_register(const char *name, size_t size);
run_function run_special; /* inst->mode says which */

#endif
