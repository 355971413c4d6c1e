/* The differential suite compares the PTX engine with a real GPU. A case is a small kernel around
 * one PTX instruction, with its operands. A real GPU has run all cases (harvest.c), and golden.zst
 * contains its results. The PTX engine must compute the same bits (test_differential.c).
 *
 *   suite.c   builds the suite: cases, PTX, hashes   values.c  edge values and samples
 *   cases/    the cases, one file per theme          golden.c  the golden file
 *
 * Thread i of a kernel loads a[i], b[i], c[i], e[i], executes the instruction and stores d[i] and
 * q[i]. All operands come from memory, so that no compiler can evaluate the instruction, and every
 * bit of the results is stored. The kernels of one family share a module. */
#ifndef FTH_TESTS_SUITE_H
#define FTH_TESTS_SUITE_H

#include "base/base.h"

#define DIFF_OPERANDS 4
#define DIFF_RESULTS 2
#define DIFF_NAME_BYTES 64 /* maximum size of a case's name in bytes, including the final 0 */

/* The type of an operand or result. It determines how the value is loaded and stored, and which
 * edge values it has. The comments show the type's letter in signatures. */
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
    DIFF_PRED    /* p; a byte in memory, 0 or 1 */
};

struct diff_type_info {
    char letter;
    unsigned bytes;
    unsigned exponent_bits, mantissa_bits; /* of a float or of each half of a pair; else 0 */
    bool packed;                           /* two halves in one register */
};

const struct diff_type_info *diff_type_info(enum diff_type type);

/* Values for an operand, as bits. */
struct diff_values {
    const uint64_t *at;
    size_t count;
};

struct diff_case {
    const char *name;   /* "add.rn.ftz.f32"; unique */
    const char *family; /* the module it belongs to */
    char entry[16];     /* the kernel's name in the module */
    const char *ptx;    /* the kernel only, without the head of the module */

    unsigned operands, results;
    enum diff_type operand[DIFF_OPERANDS], result[DIFF_RESULTS];
    unsigned operand_values[DIFF_OPERANDS]; /* that a thread loads */
    size_t operand_offset[DIFF_OPERANDS];   /* in `input`, bytes */
    size_t result_offset[DIFF_RESULTS];     /* in the output, bytes */
    unsigned per_thread;                    /* values that a thread writes per result */

    bool digest; /* the golden file has only digests of the results, one per 32 threads */
    uint32_t grid[3], block[3];
    size_t threads; /* of the whole grid */
    unsigned char *input;
    size_t input_bytes, output_bytes;

    uint64_t hash; /* over PTX, head of the module, operands, grid and block */
};

struct diff_family {
    const char *name;
    size_t first, count; /* its range in `cases` */
    char *ptx;           /* the whole module */
    size_t ptx_bytes;
};

struct diff_suite {
    struct fth_arena arena;
    struct diff_case *cases;
    size_t case_count;
    struct diff_family *families;
    size_t family_count;
    uint64_t hash; /* over the names and hashes of all cases */
};

FTH_MUST_USE enum fth_status diff_suite_create(struct diff_suite **suite, struct fth_error *error);
void diff_suite_destroy(struct diff_suite *suite);

/* Size of the results of a case in the golden file: all of them, or only digests (see diff_digest).
 */
size_t diff_golden_bytes(const struct diff_case *c);
/* Replaces the results of a case by digests if the golden file has only these: 64 bits for each 32
 * threads. */
void diff_digest(const struct diff_case *c, unsigned char *output);

/* Returns the first value of operand `index` of a thread, as bits. */
uint64_t diff_operand(const struct diff_case *c, unsigned index, size_t thread);
/* Returns value `index` of a result, as bits. */
uint64_t diff_result(const struct diff_case *c, const unsigned char *output, unsigned result,
                     size_t index);

/* ---- building the suite: used by suite_*.c ---- */

struct diff_builder;

/* The specification of a case. In `code`, the registers a, b, c, e hold the operands, d and q
 * receive the results, pa, pb, pc, pe, pd, pq are their addresses, i is the thread's index, and j
 * and k are free .b32 registers. If `code` contains the address of an operand or result, for
 * example "[pa", then `code` must load or store it itself. */
struct diff_spec {
    const char *name;      /* unique; NULL: the first word of `code` */
    const char *signature; /* types of operands, a colon, types of results: "ff:f" */
    const char *code;
    const char *registers;                           /* further declarations, or NULL */
    const struct diff_values *values[DIFF_OPERANDS]; /* NULL: edge values of the type */
    /* If not NULL: chooses the operands of a thread; `values` is not used. */
    void (*fill)(struct fth_rng *rng, size_t thread, uint64_t operands[DIFF_OPERANDS]);
    /* For code that loads several values of an operand itself, from [pa], [pa+4] and so on: the
     * number of values per thread; 0 means 1. `fill_all` then chooses all values of a thread, those
     * of the first operand first. `user` is passed to it. */
    unsigned operand_values[DIFF_OPERANDS];
    void (*fill_all)(const void *user, struct fth_rng *rng, size_t thread, uint64_t *values);
    const void *user;
    bool digest;                /* too many results for the golden file: see struct diff_case */
    size_t threads;             /* 0: enough for the operands; rounded up to whole blocks */
    unsigned per_thread;        /* values that a thread writes per result; 0 means 1 */
    uint32_t grid[3], block[3]; /* 0: one dimension, 128 threads per block */
};

/* Starts a new family. `head` (may be NULL) is PTX that its module contains before the kernels. */
void diff_family(struct diff_builder *builder, const char *name, const char *head);
/* Adds a case to the current family. */
void diff_add(struct diff_builder *builder, const struct diff_spec *spec);
/* Adds a case for the instruction `format` with its operands in the usual order: "OP d, a, b, c;"
 * or "OP d|q, a, b;". */
FTH_PRINTF(3, 4)
void diff_op(struct diff_builder *builder, const char *signature, const char *format, ...);
/* The same, with the other fields of the specification taken from `like`. */
FTH_PRINTF(3, 4)
void diff_op_as(struct diff_builder *builder, const struct diff_spec *like, const char *format,
                ...);
/* Formats a text that exists as long as the suite. */
FTH_PRINTF(2, 3) const char *diff_text(struct diff_builder *builder, const char *format, ...);

/* ---- values.c ---- */

struct fth_arena *diff_arena(struct diff_builder *builder);

/* Returns the edge values of a type. */
struct diff_values diff_edges(struct fth_arena *arena, enum diff_type type);
/* Returns the edge values of `from`, and values near the limits and rounding ties of a conversion
 * to `to`. */
struct diff_values diff_conversion_edges(struct fth_arena *arena, enum diff_type from,
                                         enum diff_type to);
uint64_t diff_random(struct fth_rng *rng, enum diff_type type);
/* Chooses the operands of all threads: the cross product of `values` if there are enough threads,
 * otherwise a sample of it, and random values for the other threads. given[o] means that operand o
 * takes only values of values[o]. `at` receives DIFF_OPERANDS values per thread. */
void diff_sample(struct fth_rng *rng, const enum diff_type *type, const struct diff_values *values,
                 const bool *given, unsigned operands, size_t threads, uint64_t *at);
/* Decode a float, and encode a value as a float, rounding towards zero. */
double diff_decode(enum diff_type type, uint64_t bits);
uint64_t diff_encode(enum diff_type type, double value);

/* ---- golden.c ---- */

struct diff_golden {
    char gpu[64];
    uint32_t driver; /* CUDA version of the driver: 1000 * major + 10 * minor */
    uint64_t hash;   /* of the suite that was run */
    size_t count;
    struct diff_golden_case {
        char name[DIFF_NAME_BYTES];
        uint64_t hash;
        unsigned char *output;
        size_t bytes;
    } * cases;
};

FTH_MUST_USE enum fth_status diff_golden_write(const char *path, const struct diff_suite *suite,
                                               const struct diff_golden *golden,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status diff_golden_read(const char *path, struct diff_golden *golden,
                                              struct fth_error *error);
void diff_golden_fini(struct diff_golden *golden);

/* ---- suite_*.c ---- */

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
void diff_add_matrix(struct diff_builder *builder);
void diff_add_video(struct diff_builder *builder);

#endif
