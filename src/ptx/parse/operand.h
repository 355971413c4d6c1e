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

/* Maximum number of operands of an instruction, and of elements of a vector. */
enum { MAX_OPERANDS = 8, MAX_ELEMENTS = 8 };

struct fth_ptx_operand {
    enum fth_ptx_operand_kind kind;
    struct fth_ptx_token token;
    int32_t row;                    /* index of the row: OPERAND_ROW, and the base of an address */
    uint32_t predicate;             /* OPERAND_PREDICATE: its index */
    uint32_t predicate2;            /* the second predicate of p|q; UINT32_MAX: none */
    bool negated;                   /* !p */
    int32_t elements[MAX_ELEMENTS]; /* rows: OPERAND_VECTOR, and the coordinates of a texture */
    size_t element_count;
    int64_t offset; /* added to an address */
    bool has_space; /* the operand is a variable, and `space` is its state space */
    uint8_t space;
};

/* ---- operand.c ---- */

/* Parses a register, predicate, special register, '_', constant expression, or name of a variable
 * or function. A constant gets the type `type`. A special register, and the address of a local
 * variable or of dynamic shared memory, emit the instruction that reads them. */
bool fth_ptx_parse_simple_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                                  struct fth_ptx_operand *operand);
/* Parses any operand: also vectors, addresses, negated predicates, and pairs of destinations. */
bool fth_ptx_parse_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                           struct fth_ptx_operand *operand);

/* ---- placement.c ---- */

/* Stores the operands where the functions that execute the instruction expect them. `base` is the
 * opcode before the first dot. */
bool fth_ptx_place_operands(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                            const char *base, const struct fth_ptx_operand *operands, size_t count);

/* Checks that the operands which are addresses in brackets are those that the instruction takes. It
 * must be a supported one. */
bool fth_ptx_check_addresses(struct fth_ptx_parser *parser, const struct fth_ptx_inst *inst,
                             const char *base, const struct fth_ptx_operand *operands,
                             size_t count);

/* ---- control.c ---- */

/* Parse the operands of a call, of a branch and of a branch through a table (brx), and store them
 * in the instruction, which must be the next one that is emitted. */
bool fth_ptx_parse_call(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst);
bool fth_ptx_parse_branch(struct fth_ptx_parser *parser);
bool fth_ptx_parse_table_branch(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst);

#endif
