/* The state of the parser and the functions that its files share. Most functions return false (or
 * NULL) after they have reported an error through the lexer. */
#ifndef FTH_PTX_PARSER_H
#define FTH_PTX_PARSER_H

#include "ptx/parse/lexer.h"

enum fth_ptx_symbol_kind {
    SYMBOL_REGISTER, /* one, or `count` of them if `parameterized` */
    SYMBOL_PREDICATE,
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_TABLE, /* a .branchtargets list */
    SYMBOL_PROTOTYPE
};

struct fth_ptx_symbol {
    const char *name;
    size_t size;
    enum fth_ptx_symbol_kind kind;
    enum fth_ptx_type type;
    bool parameterized; /* %r<100>: declares %r0 to %r99 */
    uint32_t first;     /* index of the first register, of the function or of the table */
    uint32_t count;     /* registers */
    struct fth_ptx_variable variable; /* SYMBOL_VARIABLE */
    uint32_t scope;
    struct fth_ptx_symbol *next_in_bucket;
};

/* The definition of a label. */
struct fth_ptx_label {
    struct fth_ptx_token token;
    uint32_t scope, pc;
};

/* A reference to a label, which can precede the definition. fth_ptx_parser_resolve_labels stores
 * the instruction index of the label. */
struct fth_ptx_label_use {
    struct fth_ptx_token token;
    uint32_t scope;
    uint32_t *target; /* where to store it, if `inst` is UINT32_MAX (an element of a table) */
    uint32_t inst;    /* otherwise, the index of the branch; code can still move in memory */
};

/* A position in the source, from a .loc directive. */
struct fth_ptx_place {
    struct fth_source_position position; /* fth_ptx_name_places sets the names */
    uint32_t file_number, column;
    const char *file_text; /* name of the file in a comment, without folders; NULL: the number */
    size_t file_size;
    const char *label; /* of the function's name in .debug_str, in the text; NULL: none */
    size_t label_size;
    uint64_t label_offset; /* of the name from the label, in bytes */
    size_t function;       /* index of the function that the directive is in */
    struct fth_ptx_place *next_in_bucket;
};

/* A source file, from a .file directive. */
struct fth_ptx_file {
    uint32_t number;
    const char *name;
};

/* The size of the hash tables and the maximum depth of nested braces. Chosen, not derived;
 * compilers nest a few levels at most. */
enum { BUCKETS = 1024, MAX_SCOPE_DEPTH = 64 };

struct fth_ptx_parser {
    struct fth_ptx_lexer lexer;
    struct fth_ptx_module *module;
    struct fth_ptx_symbol *buckets[BUCKETS];
    uint32_t scope_ids[MAX_SCOPE_DEPTH]; /* the open scopes, outermost first */
    uint32_t *scope_parents;             /* of every scope of the module, by id */
    size_t scope_count, scope_capacity;
    uint32_t depth;                 /* index of the innermost open scope */
    struct fth_ptx_symbol **scoped; /* stack of the symbols of all open scopes */
    size_t scoped_count, scoped_capacity;
    size_t scope_starts[MAX_SCOPE_DEPTH]; /* per open scope, its first index in `scoped` */

    struct fth_ptx_function *function; /* the one that is being parsed, or NULL */
    size_t function_index;
    struct fth_ptx_label *labels;
    size_t label_count, label_capacity;
    struct fth_ptx_label_use *uses;
    size_t use_count, use_capacity;
    struct fth_ptx_place *places[BUCKETS]; /* of all .loc directives, the last one first */
    bool has_function_names;               /* of at least one of them */
    struct fth_ptx_file *files;
    size_t file_count, file_capacity;
    uint32_t file;                            /* from the last .loc: the number of the file, */
    const struct fth_source_position *source; /* and the position; NULL: unknown */
    uint64_t dynamic_align;                   /* maximum alignment of dynamic shared memory */
    uint64_t function_shared_end; /* end of the shared variables declared in the kernel */
    /* End of the shared variables of the kernels that can call functions which the file declares
     * before them and defines after them. */
    uint64_t shared_floor;
    const struct fth_ptx_placement *placements; /* addresses of variables */
    size_t placement_count;
};

/* ---- names.c ---- */

/* Makes space for one more element in a growing array. Reports an error when out of memory. */
bool fth_ptx_parser_grow(struct fth_ptx_parser *parser, void **items, size_t count,
                         size_t *capacity, size_t size);
/* Copies a text into the module. Reports an error and returns NULL when out of memory. */
const char *fth_ptx_parser_copy_text(struct fth_ptx_parser *parser, const char *text, size_t size);
/* Returns the innermost symbol of this name, or NULL without an error. */
struct fth_ptx_symbol *fth_ptx_parser_find(struct fth_ptx_parser *parser, const char *name,
                                           size_t size);
/* Adds a symbol to the current scope. Reports an error if the scope already has this name. */
struct fth_ptx_symbol *fth_ptx_parser_define(struct fth_ptx_parser *parser,
                                             const struct fth_ptx_token *token,
                                             enum fth_ptx_symbol_kind kind);
/* The same for the stem of a parameterized name: "%r" of "%r<100>". */
struct fth_ptx_symbol *fth_ptx_parser_define_stem(struct fth_ptx_parser *parser,
                                                  const struct fth_ptx_token *token,
                                                  enum fth_ptx_symbol_kind kind);
bool fth_ptx_parser_open_scope(struct fth_ptx_parser *parser);
void fth_ptx_parser_close_scope(struct fth_ptx_parser *parser);
/* Finds the register or predicate that a token names, and its index. Returns false, without an
 * error, if it names none. */
bool fth_ptx_parser_find_register(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                                  struct fth_ptx_symbol **symbol, uint32_t *index);
/* Adds an unnamed register to the function and returns its row. */
int32_t fth_ptx_parser_new_register(struct fth_ptx_parser *parser);
/* Returns the row of an immediate in the module's pool, as an operand (see engine.h). */
int32_t fth_ptx_parser_immediate(struct fth_ptx_parser *parser, uint64_t bits);
/* Defines a label at the next instruction. */
bool fth_ptx_parser_define_label(struct fth_ptx_parser *parser, const struct fth_ptx_token *token);
/* Records a reference to a label: by the branch with index `inst`, or by *target if `inst` is
 * UINT32_MAX. */
bool fth_ptx_parser_use_label(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                              uint32_t inst, uint32_t *target);
/* Resolves all references at the end of a function. Reports undefined and duplicate labels. */
bool fth_ptx_parser_resolve_labels(struct fth_ptx_parser *parser);

/* ---- function.c ---- */

/* Parses a declaration or definition after .entry or .func. */
bool fth_ptx_parse_function(struct fth_ptx_parser *parser, bool is_kernel);
/* Skips all tokens up to and including the next semicolon. */
bool fth_ptx_skip_statement(struct fth_ptx_parser *parser);
/* Skips a directive with a body in braces that the engine does not use, such as
 * ".section .debug_abbrev { … }". */
bool fth_ptx_skip_braces(struct fth_ptx_parser *parser);

/* ---- position.c ---- */

/* Parses a .loc directive after ".loc". */
bool fth_ptx_parse_location(struct fth_ptx_parser *parser);
/* Parses a .file directive after ".file". */
bool fth_ptx_parse_file(struct fth_ptx_parser *parser);
/* Sets the names of the files and functions of all positions. Called at the end, because compilers
 * write .file directives and the section .debug_str after the functions. */
bool fth_ptx_name_places(struct fth_ptx_parser *parser);

/* ---- data.c ---- */

/* Maximum number of dimensions of an array. Chosen, not derived. */
enum { MAX_DIMENSIONS = 8 };

struct fth_ptx_declaration {
    enum fth_ptx_type type;
    uint64_t align, bytes;
    unsigned vector;                /* elements of .v2 and .v4; 1: no vector */
    unsigned dimensions;            /* of name[2][3]: 2; 0: no array */
    uint64_t sizes[MAX_DIMENSIONS]; /* of the dimensions */
    bool open_array;                /* name[]: the first size is that of the initial value, or 0 */
    struct fth_ptx_token name;
};

/* Parses an integer from 0 to `max`, as in ".align 8", "[16]" and "<100>". */
bool fth_ptx_parse_count(struct fth_ptx_parser *parser, uint64_t max, uint64_t *count);
uint64_t fth_ptx_align_up(uint64_t address, uint64_t align);
/* Parses a declaration after its state space: [.align N] .type [.ptr …] name [N]… */
bool fth_ptx_parse_declaration(struct fth_ptx_parser *parser, struct fth_ptx_declaration *out);
/* Parses variables after the state space, with initial values, up to the semicolon. `external` is
 * true after .extern. */
bool fth_ptx_parse_variable(struct fth_ptx_parser *parser, enum fth_ptx_space space, bool external);
/* Parses a .reg declaration after ".reg". */
bool fth_ptx_parse_registers(struct fth_ptx_parser *parser);

/* ---- assemble.c ---- */

/* Keeps the lexer's error, whose status is FTH_UNSUPPORTED, as the reason why the function cannot
 * be launched, unless it has one. The lexer then has no error any more; the caller sets its
 * position. */
bool fth_ptx_keep_unsupported(struct fth_ptx_parser *parser, struct fth_ptx_function *function);
/* Parses one instruction, from its guard or opcode to its semicolon, and appends it to the
 * function. */
bool fth_ptx_parse_instruction(struct fth_ptx_parser *parser);
/* Appends an instruction without operands to the function. Reports an error and returns NULL when
 * out of memory. The pointer is valid until the next call. */
struct fth_ptx_inst *fth_ptx_parser_emit(struct fth_ptx_parser *parser,
                                         const struct fth_ptx_token *token, const char *opcode);

/* ---- control.c ---- */

/* Returns true if the called function has these arguments and results. Indirect calls are checked
 * when they are executed. */
bool fth_ptx_call_fits(const struct fth_ptx_module *module, const struct fth_ptx_call_site *site);

/* ---- modifiers.c ---- */

/* Returns true for the opcodes set and setp, after which .lo and .hi are comparisons. */
bool fth_ptx_compares(const char *base);
/* Applies one modifier, such as "f32" of "add.f32", to the instruction. `base` is the opcode before
 * the first dot. Returns false, without an error, if the modifier is not supported. */
bool fth_ptx_apply_modifier(struct fth_ptx_inst *inst, const char *base, const char *word,
                            size_t size);

/* ---- constant_expression.c ---- */

/* The value of a constant expression. */
struct fth_ptx_constant {
    uint64_t bits; /* of an integer, or of a double if is_float */
    bool is_float, is_unsigned;
    bool is_f32_literal; /* a single 0f literal; `word` has its exact bits */
    uint32_t word;
};

bool fth_ptx_parse_constant(struct fth_ptx_parser *parser, struct fth_ptx_constant *constant);

/* ---- dependences.c ---- */

/* Registers and predicates of one instruction. The largest list is that of a matrix instruction,
 * which reads and writes 128 registers of an accumulator. */
struct fth_ptx_numbers {
    size_t count;
    uint32_t at[256];
};
/* Lists what an instruction reads and writes, including the arguments and results of a call and the
 * results of the function if it returns. Predicates have the numbers from function->register_count
 * on. */
void fth_ptx_list_operands(const struct fth_ptx_module *module,
                           const struct fth_ptx_function *function, const struct fth_ptx_inst *inst,
                           struct fth_ptx_numbers *reads, struct fth_ptx_numbers *writes);

/* Sets `operands` of every instruction of the function. `code_offset` is the offset of the
 * function's code in the code of the module, in bytes. Returns false when out of memory. */
bool fth_ptx_find_operands(struct fth_ptx_module *module, struct fth_ptx_function *function,
                           uint64_t code_offset);

#endif
