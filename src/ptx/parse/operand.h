/* The operands of an instruction, between their text and their place in struct fth_ptx_inst. */
#ifndef FTH_PTX_OPERAND_H
#define FTH_PTX_OPERAND_H

#include "ptx/parse/parser.h"

/* The kinds of operands. A row holds one value per lane, and an operand stores the index of its
 * row: an index >= 0 is a register of the function, and an index i < 0 is row ~i of the module's
 * pool of immediates (engine.h). */
enum fth_ptx_operand_kind {
    OPERAND_ROW, /* a register, or an immediate */
    OPERAND_PREDICATE,
    OPERAND_VECTOR,
    OPERAND_ADDRESS,
    OPERAND_SINK /* '_': a destination that is not needed */
};

/* Maximum number of operands of an instruction, and of elements of a vector. The largest vector is
 * the result of a wgmma instruction with 256 columns. */
enum { MAX_OPERANDS = 12, MAX_ELEMENTS = 128 };

struct fth_ptx_operand {
    enum fth_ptx_operand_kind kind;
    struct fth_ptx_token token;
    int32_t row;         /* index of the row: OPERAND_ROW, and the base of an address */
    uint32_t predicate;  /* OPERAND_PREDICATE: its index */
    uint32_t predicate2; /* the second predicate of p|q; UINT32_MAX: none */
    bool negated;        /* !p */
    bool minus;          /* -%r1, an operand of a video instruction */
    const char *part;    /* "b0" of %r1.b0, an operand of a video instruction; in the text */
    size_t part_size;    /* 0: no part */
    /* Rows of an OPERAND_VECTOR, and coordinates of a texture. The module's arena owns them. */
    const int32_t *elements;
    size_t element_count;
    int32_t sampler; /* row of the sampler of a texture, [texture, sampler, {…}] */
    bool has_sampler;
    int64_t offset; /* added to an address */
    bool has_space; /* the operand is a variable, and `space` is its state space */
    uint8_t space;
};

/* The words of an opcode after its first one: "sync", "aligned" and so on. */
enum { MAX_WORDS = 16 };
struct fth_ptx_word {
    const char *start;
    size_t size;
};

/* An instruction as it is in the text. Families of instructions with a syntax of their own, such as
 * the matrix instructions, store it in struct fth_ptx_inst themselves. */
struct fth_ptx_statement {
    struct fth_ptx_token opcode; /* with all its words */
    char base[16];               /* the opcode up to the first dot; a longer one is cut */
    struct fth_ptx_word words[MAX_WORDS];
    size_t word_count, next_word; /* next_word: see fth_ptx_take_word */
    struct fth_ptx_operand operands[MAX_OPERANDS];
    size_t operand_count;
};

/* ---- statement.c ---- */

/* Returns the instruction family that the statement belongs to: the function that stores it in
 * struct fth_ptx_inst. NULL: the common functions do it (modifiers.c, placement.c). */
typedef bool fth_ptx_family(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                            struct fth_ptx_inst *inst);
fth_ptx_family *fth_ptx_find_family(const struct fth_ptx_statement *statement);
/* Returns true if the opcode has this word, anywhere. */
bool fth_ptx_has_word(const struct fth_ptx_statement *statement, const char *word);
/* Skips the next word of the opcode and returns true if it is this one. */
bool fth_ptx_take_word(struct fth_ptx_statement *statement, const char *word);
/* Skips the next word and returns its index in the list if it is one of `count` words; -1
 * otherwise. */
int fth_ptx_take_one_of(struct fth_ptx_statement *statement, const char *const *words,
                        size_t count);
/* Reports that the engine cannot execute the instruction, at the next word of the opcode or, after
 * the last one, at the opcode. Returns false. */
bool fth_ptx_refuse(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement);
/* Reports that operand `index` is not what the instruction takes, such as "a vector of 4
 * registers". Returns false. */
bool fth_ptx_refuse_operand(struct fth_ptx_parser *parser,
                            const struct fth_ptx_statement *statement, size_t index,
                            const char *expected);

/* Reports an error and returns false unless the statement has this number of operands. */
bool fth_ptx_check_operand_count(struct fth_ptx_parser *parser,
                                 const struct fth_ptx_statement *statement, size_t count);
/* Returns the registers of operand `index`, which must be a vector of `count` registers, or one
 * register if `count` is 1. If `result`, '_' is allowed; otherwise, immediates are. */
bool fth_ptx_take_registers(struct fth_ptx_parser *parser,
                            const struct fth_ptx_statement *statement, size_t index, size_t count,
                            bool result, const int32_t **rows);
/* Sets `detail` of the instruction, with the registers of all operands: the first `results`
 * operands are results. */
bool fth_ptx_set_detail(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t results, struct fth_ptx_detail *detail, struct fth_ptx_inst *inst);
/* Skips the next word if it is a state space that asynchronous and matrix instructions access. */
bool fth_ptx_take_space(struct fth_ptx_statement *statement, uint8_t *space);
/* Stores the address in operand `index` in the instruction, whose space must be set. */
bool fth_ptx_take_address(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                          size_t index, struct fth_ptx_inst *inst);
/* Makes the instruction one that all lanes of the warp execute together. */
bool fth_ptx_converge(struct fth_ptx_parser *parser, fth_ptx_run_function *run,
                      struct fth_ptx_inst *inst);

/* ---- ../narrow.c ---- */

/* Returns true for conversions with 8-bit floating-point numbers, tf32, or .satfinite. */
bool fth_ptx_is_narrow(const struct fth_ptx_statement *statement);
fth_ptx_family fth_ptx_family_narrow;
/* cvt.pack */
bool fth_ptx_is_pack(const struct fth_ptx_statement *statement);
fth_ptx_family fth_ptx_family_pack;

/* ---- ../runtime/device_stack.c ---- */

fth_ptx_family fth_ptx_family_stack;

/* ---- ../wide.c ---- */

/* Returns true for moves and atomic operations of 128 bits, and for atomic operations on vectors.
 */
bool fth_ptx_is_wide(const struct fth_ptx_statement *statement);
fth_ptx_family fth_ptx_family_wide;

/* ---- ../multimem.c ---- */

fth_ptx_family fth_ptx_family_multimem;

/* ---- operand.c ---- */

/* Parses a register, predicate, special register, '_', constant expression, or name of a variable
 * or function. A constant gets the type `type`. A special register, and the address of a local
 * variable or of dynamic shared memory, emit the instruction that reads them. */
bool fth_ptx_parse_simple_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                                  struct fth_ptx_operand *operand);
/* Parses any operand: also vectors, addresses, negated predicates, and pairs of destinations. */
bool fth_ptx_parse_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                           struct fth_ptx_operand *operand);
/* Parses an operand of a video instruction: also parts of registers (%r1.b0), and -%r1. */
bool fth_ptx_parse_video_operand(struct fth_ptx_parser *parser, struct fth_ptx_operand *operand);

/* ---- placement.c ---- */

/* Stores the operands where the functions that execute the instruction expect them. `base` is the
 * opcode before the first dot. */
bool fth_ptx_place_operands(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                            const char *base, const struct fth_ptx_operand *operands, size_t count);

/* Checks that the operands which are addresses in brackets are those that the instruction takes. It
 * must be a supported one. */
bool fth_ptx_check_addresses(struct fth_ptx_parser *parser, const char *base,
                             const struct fth_ptx_operand *operands, size_t count);

/* ---- control.c ---- */

/* Parse the operands of a call, of a branch and of a branch through a table (brx), and store them
 * in the instruction, which must be the next one that is emitted. */
bool fth_ptx_parse_call(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst);
bool fth_ptx_parse_branch(struct fth_ptx_parser *parser);
bool fth_ptx_parse_table_branch(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst);

#endif
