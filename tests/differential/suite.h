/* The differential suite: small kernels, each around one PTX instruction, with the operands they
 * are given and the way their results are compared. A real GPU has run them all (harvest.c) and
 * what it answered is kept in golden.zst; the PTX engine must answer the same
 * (test_differential.c).
 *
 *   suite.c     the suite: cases, their PTX, their hashes      values.c    edge values and samples
 *   compare.c   what counts as the same answer                 golden.c    the golden file
 *   suite_*.c   the cases, a theme a file
 *
 * Thread i of a kernel loads a[i], b[i], c[i], e[i], executes the instruction and stores d[i] and
 * q[i]. All operands come from memory, so that no compiler knows them, and every bit of the results
 * goes back to memory. Kernels of one family share a module. */
#ifndef FTH_TESTS_SUITE_H
#define FTH_TESTS_SUITE_H

#include "base/base.h"

#define DIFF_OPERANDS 4
#define DIFF_RESULTS 2
#define DIFF_NAME 64 /* bytes of a name at most, its end included */

/* What an operand or result is, as far as loading, storing, choosing values and comparing go. The
 * letter is how it is written in signatures. */
enum diff_type {
    DIFF_NONE,
    DIFF_I16,    /* h */
    DIFF_I32,    /* w */
    DIFF_I64,    /* l */
    DIFF_F16,    /* H */
    DIFF_BF16,   /* B */
    DIFF_F16X2,  /* X */
    DIFF_BF16X2, /* Y */
    DIFF_F32,    /* f */
    DIFF_F64,    /* d */
    DIFF_PRED    /* p: a byte, 0 or 1 */
};

struct diff_type_info {
    char letter;
    unsigned bytes;
    unsigned exponent_bits, mantissa_bits; /* of a float, or of each half of a packed one; else 0 */
    bool packed;
};

const struct diff_type_info *diff_type_info(enum diff_type type);

/* What counts as the same result. `tolerance` is the bound that the PTX ISA documents; what it
 * means is the comparison's. All but DIFF_EXACT take any NaN for any other. */
enum diff_compare {
    DIFF_EXACT,   /* bit for bit */
    DIFF_ANY_NAN, /* bit for bit, but the PTX ISA leaves the payload of a NaN open */
    DIFF_ULP,     /* so many units in the last place away */
    DIFF_RELATIVE,
    DIFF_ABSOLUTE,
    DIFF_LOG2 /* absolute where the operand lies in (0.5, 2), relative elsewhere */
};

/* The values that an operand takes. */
struct diff_values {
    const uint64_t *at;
    size_t count;
};

struct diff_case {
    const char *name;   /* "add.rn.ftz.f32"; unique */
    const char *family; /* the module it belongs to */
    char entry[16];     /* the kernel's name in the module */
    const char *ptx;    /* the kernel alone, without the module's head */

    unsigned operands, results;
    enum diff_type operand[DIFF_OPERANDS], result[DIFF_RESULTS];
    size_t operand_offset[DIFF_OPERANDS]; /* in the input */
    size_t result_offset[DIFF_RESULTS];   /* in the output */
    unsigned per_thread;                  /* values that a thread writes for each result */

    uint32_t grid[3], block[3];
    size_t threads;
    unsigned char *input;
    size_t input_bytes, output_bytes;

    enum diff_compare compare;
    double tolerance;
    uint64_t hash; /* of the PTX, the head of its module, the operands and the shape */
};

struct diff_family {
    const char *name;
    size_t first, count; /* cases */
    char *ptx;           /* the whole module */
    size_t ptx_bytes;
};

struct diff_suite {
    struct fth_arena arena;
    struct diff_case *cases;
    size_t case_count;
    struct diff_family *families;
    size_t family_count;
    uint64_t hash;
};

FTH_MUST_USE enum fth_status diff_suite_create(struct diff_suite **suite, struct fth_error *error);
void diff_suite_destroy(struct diff_suite *suite);

/* Operand `index` of a thread, as bits. */
uint64_t diff_operand(const struct diff_case *c, unsigned index, size_t thread);
/* Value `index` of a result, as bits. */
uint64_t diff_result(const struct diff_case *c, const unsigned char *output, unsigned result,
                     size_t index);

/* ---- building: for suite_*.c ---- */

struct diff_builder;

/* What a case is made of. Registers a, b, c, e hold the operands and d, q take the results; pa, pb,
 * pc, pe, pd, pq are their addresses; i is the thread's index and j, k are free .b32 registers. An
 * operand or result whose address stands in `code` as "[pa" … is left to the code to load or store.
 */
struct diff_spec {
    const char *name;      /* NULL: the first word of `code` */
    const char *signature; /* operands, a colon, results: "ff:f" */
    const char *code;
    const char *registers;                           /* more declarations; may be NULL */
    const struct diff_values *values[DIFF_OPERANDS]; /* NULL: the edge values of the type */
    /* Chooses the operands of a thread in place of the values above. */
    void (*fill)(struct fth_rng *rng, size_t thread, uint64_t operands[DIFF_OPERANDS]);
    size_t threads;      /* 0: as many as the operands ask for; made a multiple of the block */
    unsigned per_thread; /* 0 counts as 1 */
    uint32_t grid[3], block[3]; /* 0: threads in a row, 128 a block */
    enum diff_compare compare;
    double tolerance;
};

/* Begins a module; `head` (may be NULL) is put in front of its kernels. */
void diff_family(struct diff_builder *builder, const char *name, const char *head);
void diff_add(struct diff_builder *builder, const struct diff_spec *spec);
/* An instruction whose operands stand in the usual order: "OP d, a, b, c;", "OP d|q, a, b;". */
FTH_PRINTF(3, 4)
void diff_op(struct diff_builder *builder, const char *signature, const char *format, ...);
/* The same with a comparison, or with values, that the spec gives; its `code` is made here. */
FTH_PRINTF(3, 4)
void diff_op_as(struct diff_builder *builder, const struct diff_spec *like, const char *format,
                ...);
/* Text that lives as long as the suite. */
FTH_PRINTF(2, 3) const char *diff_text(struct diff_builder *builder, const char *format, ...);

/* ---- values.c ---- */

struct fth_arena *diff_arena(struct diff_builder *builder);

/* The edge values of a type. */
struct diff_values diff_edges(struct fth_arena *arena, enum diff_type type);
/* Those and what lies around the limits and ties of a conversion to `to`. */
struct diff_values diff_conversion_edges(struct fth_arena *arena, enum diff_type from,
                                         enum diff_type to);
uint64_t diff_random(struct fth_rng *rng, enum diff_type type);
/* Fills the operands of all threads: the cross product where it fits, a sample of it otherwise, and
 * random patterns for the rest. `at` holds DIFF_OPERANDS values a thread. */
void diff_sample(struct fth_rng *rng, const enum diff_type *type, const struct diff_values *values,
                 const bool *given, unsigned operands, size_t threads, uint64_t *at);
/* A float's value, and the float next to a value towards zero. */
double diff_decode(enum diff_type type, uint64_t bits);
uint64_t diff_encode(enum diff_type type, double value);

/* ---- compare.c ---- */

bool diff_same(const struct diff_case *c, size_t index, unsigned result, uint64_t got,
               uint64_t expected);

/* ---- golden.c ---- */

struct diff_golden {
    char gpu[64];
    uint32_t driver;
    uint64_t hash; /* of the suite it was made with */
    size_t count;
    struct diff_answer {
        char name[DIFF_NAME];
        uint64_t hash;
        unsigned char *output;
        size_t bytes;
    } * answers;
};

FTH_MUST_USE enum fth_status diff_golden_write(const char *path, const struct diff_suite *suite,
                                               const struct diff_golden *golden,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status diff_golden_read(const char *path, struct diff_golden *golden,
                                              struct fth_error *error);
void diff_golden_fini(struct diff_golden *golden);

/* ---- the themes ---- */

void diff_add_integer(struct diff_builder *builder);
void diff_add_bits(struct diff_builder *builder);
void diff_add_comparisons(struct diff_builder *builder);
void diff_add_conversions(struct diff_builder *builder);
void diff_add_float(struct diff_builder *builder);
void diff_add_approximations(struct diff_builder *builder);
void diff_add_half(struct diff_builder *builder);
void diff_add_memory(struct diff_builder *builder);
void diff_add_atomics(struct diff_builder *builder);
void diff_add_warp(struct diff_builder *builder);
void diff_add_flow(struct diff_builder *builder);

#endif
