/* fuse/: fused multiplications.
 *
 * PTX allows a multiplication and an addition without rounding modifiers to be fused: the product
 * is not rounded before it is added (PTX ISA, "mul", "add"). NVIDIA's assembler does this by
 * default, so a GPU computes other low bits than separate instructions would. This pass makes the
 * same choices, as they were observed with ptxas 13.0 for sm_90a (docs/ptx.md). It changes the
 * instructions of a function after parsing and before anything else looks at them: an addition
 * becomes a multiplication with an addition, and a product that nothing else needs has no effect.
 *
 *   fuse_scan.c     products, sums, and instructions that separate blocks
 *   fuse_uses.c     finds the uses of each product
 *   fuse.c          decides which sums are fused, and changes the instructions */
#ifndef FTH_PTX_FUSE_H
#define FTH_PTX_FUSE_H

#include "ptx/parse/parser.h"

#define FUSE_NONE UINT32_MAX

/* What the pass knows about an instruction. A product is known by the index of its instruction. */
struct fth_fuse_node {
    uint32_t block;       /* number of its block: instructions in which the assembler fuses */
    uint32_t product;     /* its result is this product, maybe negated; FUSE_NONE: another result */
    uint32_t operands[2]; /* of a sum: the products that it adds, or FUSE_NONE */
    bool negated;         /* its result is the negated product */
    bool operand_negated[2];
    bool is_sum;
    bool is_overwritten; /* the register has another value at the end of the block */
    uint8_t fused;       /* of a sum: number of the operand that is fused, plus 1; 0: none */
    /* The following describe a product. */
    uint32_t uses;      /* instructions that read it, directly or through copies */
    uint8_t constant;   /* number of the factor that is a constant, plus 1; 0: none */
    bool is_blocked;    /* something else than a sum needs it */
    bool is_addend;     /* it is added to a fused product */
    bool is_needed;     /* its value is needed */
    bool is_fused;      /* at least one sum is fused with it */
    bool is_kept;       /* its factors can change before a sum */
    int32_t factors[2]; /* rows of the factors for the sums */
};

/* What the pass knows about a register. */
struct fth_fuse_register {
    uint32_t definition;  /* the only instruction that writes it, or the last one seen */
    uint32_t write_count; /* instructions that write it */
    bool is_exposed;      /* a block reads a value that it has not written */
};

struct fth_fuse {
    const struct fth_ptx_module *module;
    struct fth_ptx_function *function;
    struct fth_fuse_node *nodes;         /* of the instructions */
    struct fth_fuse_register *registers; /* and predicates, after the registers */
    uint32_t predicates;                 /* number of the first predicate */
};

/* Fuses the multiplications of a function. Returns false when out of memory. */
bool fth_ptx_fuse(struct fth_ptx_module *module, struct fth_ptx_function *function);

/* ---- fuse_scan.c ---- */

/* Returns true if the function can have sums with products. */
bool fth_fuse_has_work(const struct fth_ptx_function *function);
/* Returns true if the guard of the instruction is not a constant. */
bool fth_fuse_is_guarded(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst);
bool fth_fuse_is_product(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst);
bool fth_fuse_is_sum(const struct fth_ptx_inst *inst);
/* Counts the writes to each register. */
void fth_fuse_count_writes(struct fth_fuse *fuse);
/* Numbers the blocks. */
void fth_fuse_number_blocks(struct fth_fuse *fuse);
/* Finds the constant factor of a product. */
uint8_t fth_fuse_find_constant(const struct fth_fuse *fuse, const struct fth_ptx_inst *inst);

/* ---- fuse_uses.c ---- */

/* Finds the products and their uses. */
void fth_fuse_find_uses(struct fth_fuse *fuse);

#endif
