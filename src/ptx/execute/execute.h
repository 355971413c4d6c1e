/* Tools for instruction handlers. A handler is a function that executes one instruction for the
 * active lanes of a warp. Its operation is written once, for one lane. FOR_LANES repeats it for the
 * lanes of a mask. With a full mask it is a plain loop over 32 lanes, which the compiler can
 * vectorise. */
#ifndef FTH_PTX_EXECUTE_H
#define FTH_PTX_EXECUTE_H

#include "ptx/execute/warp.h"

#include <string.h>

#define FOR_LANES(mask, ...)                                                                       \
    do {                                                                                           \
        if ((mask) == FULL_MASK) {                                                                 \
            for (int lane = 0; lane < LANES; lane++) {                                             \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t left_ = (mask); left_; left_ &= left_ - 1) {                             \
                int lane = __builtin_ctz(left_);                                                   \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* Each macro defines a handler that computes EXPRESSION from one, two or three operands of type T.
 * EXPRESSION refers to the operands as a, b and c. */
#define UNARY(NAME, T, EXPRESSION)                                                                 \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        FOR_LANES(mask, T a = (T)ra[lane]; rd[lane] = (uint64_t)(EXPRESSION););                    \
    }

#define BINARY(NAME, T, EXPRESSION)                                                                \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        FOR_LANES(mask, T a = (T)ra[lane]; T b = (T)rb[lane]; rd[lane] = (uint64_t)(EXPRESSION);); \
    }

#define TERNARY(NAME, T, EXPRESSION)                                                               \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        const uint64_t *rc = row(warp, inst->s[2]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        FOR_LANES(mask, T a = (T)ra[lane]; T b = (T)rb[lane]; T c = (T)rc[lane];                   \
                  rd[lane] = (uint64_t)(EXPRESSION););                                             \
    }

/* Computes the numbers of all lanes. */
static FTH_INLINE void fill_rows(const struct fth_ptx_linear *linear, uint32_t row_lanes,
                                 uint64_t numbers[LANES])
{
    uint64_t base = linear->base;
    for (uint32_t row = 0; row < LANES; row += row_lanes, base += linear->row_step)
        for (uint32_t lane = 0; lane < row_lanes; lane++)
            numbers[row + lane] = base + lane * linear->step;
}

static inline void linear_fill(const struct fth_ptx_linear *linear, uint32_t row_lanes,
                               uint64_t numbers[LANES])
{
    /* With a constant, the compiler can vectorise the loop. */
    if (row_lanes == LANES)
        fill_rows(linear, LANES, numbers);
    else if (row_lanes == 16)
        fill_rows(linear, 16, numbers);
    else
        fill_rows(linear, row_lanes, numbers);
}

/* Computes the smallest number of the lanes of a mask, or a smaller one, and the distance to the
 * largest one, or a larger one. Returns false if the numbers can wrap around. */
static inline bool linear_range(const struct fth_ptx_linear *linear, uint32_t row_lanes,
                                uint32_t mask, uint64_t *low, uint64_t *span)
{
    const uint64_t limit = (uint64_t)1 << 48;
    uint32_t first = 0, columns = row_lanes - 1, rows = LANES / row_lanes - 1;
    if (mask != FULL_MASK && row_lanes == LANES) {
        first = (uint32_t)first_lane(mask);
        columns = LANES - 1 - (uint32_t)__builtin_clz(mask) - first;
    }
    const int64_t x = (int64_t)(linear->step * columns), y = (int64_t)(linear->row_step * rows);
    *low = linear->base + first * linear->step + (uint64_t)((x < 0 ? x : 0) + (y < 0 ? y : 0));
    *span = (uint64_t)((x < 0 ? -x : x) + (y < 0 ? -y : y));
    return linear->step + limit < 2 * limit && linear->row_step + limit < 2 * limit;
}

/* An entry in a table of handlers. `run` executes the opcode `base` with this type, exactly these
 * flags and this number of source operands. */
struct fth_ptx_handler {
    const char *base;
    uint8_t type;
    uint32_t flags;
    uint8_t sources;
    fth_ptx_run_function *run;
};

/* True if the instruction has exactly `count` source registers. */
static inline bool has_sources(const struct fth_ptx_inst *inst, int count)
{
    for (int i = 0; i < 6; i++)
        if ((inst->s[i] != NO_REGISTER) != (i < count))
            return false;
    return true;
}

/* True if the instruction writes one register and has exactly `sources` source registers. */
static inline bool has_operands(const struct fth_ptx_inst *inst, int sources)
{
    return has_sources(inst, sources) && inst->d[0] >= 0 && !inst->result_is_predicate &&
           inst->predicate_source_count == 0;
}

/* Sets inst->run from the first entry that matches the instruction. False if none does. */
static inline bool select_handler(struct fth_ptx_inst *inst, const char *base,
                                  const struct fth_ptx_handler *handlers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (handlers[i].type == inst->type && handlers[i].flags == inst->flags &&
            strcmp(handlers[i].base, base) == 0 && has_operands(inst, handlers[i].sources)) {
            inst->run = handlers[i].run;
            return true;
        }
    return false;
}

/* Executes an atomic operation on a word of memory: the operands are its value, b and, for cas, c.
 * `global`: the word is in global memory, where some additions flush subnormal numbers. Returns the
 * old value. */
uint64_t fth_ptx_update(enum fth_ptx_type type, enum fth_ptx_atomic_op op, uint8_t *host,
                        uint64_t b, uint64_t c, bool global);

/* Returns the minimum or maximum of two f16 or bf16 numbers, or of each half of two pairs. A number
 * is preferred to a NaN; two NaNs give a NaN. -0 is less than +0. */
uint64_t fth_ptx_half_min_max(enum fth_ptx_type type, uint64_t a, uint64_t b, bool maximum);
/* Sets the results of setp for the lanes of `mask`. The comparison holds for `lanes`. */
void fth_ptx_set_compared(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask,
                          uint32_t lanes);
/* Executes an instruction that has no effect in the engine. */
fth_ptx_run_function fth_ptx_run_nothing, fth_ptx_run_fence;
/* address.c: tells the observer about a prefetch. */
fth_ptx_run_function fth_ptx_run_prefetch;
/* The instructions of spill/: report an access to local memory without data. */
fth_ptx_run_function fth_ptx_run_spill;
/* Calls inst->inner with the rounding mode of the instruction. */
fth_ptx_run_function fth_ptx_run_rounded;

static inline float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint32_t float_bits(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static inline double as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The lanes whose source predicate is true, after the negation of the operand, if any. */
static inline uint32_t source_predicate(const struct fth_ptx_warp *warp,
                                        const struct fth_ptx_inst *inst)
{
    uint32_t lanes = warp->predicates[inst->predicate];
    return inst->negated ? ~lanes : lanes;
}

/* Sets a predicate to `lanes`, for the lanes of `mask` only. A negative index means that the
 * instruction has no such destination. */
static inline void set_predicate(struct fth_ptx_warp *warp, int32_t index, uint32_t mask,
                                 uint32_t lanes)
{
    if (index >= 0)
        warp->predicates[index] = (warp->predicates[index] & ~mask) | (lanes & mask);
}

#endif
