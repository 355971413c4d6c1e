/* Executes instructions on registers that are linear in the lane (struct fth_ptx_value).
 *
 * In a sliced launch, most instructions compute addresses from thread indices, arguments and loop
 * counters. Each register is then a linear function of the lane. A sum of two such registers is
 * linear, too, and so is a product if one factor is the same in all lanes. The handlers of this
 * file compute only the coefficients. If an operand is not linear, or if only some of the lanes of
 * a warp take part, the usual handler computes the result, lane by lane, from the rows of the
 * operands.
 *
 * A result of 32 bits is linear modulo 2^32, and its high bits do not matter. Instructions that
 * depend on more, such as a conversion to 64 bits or a comparison, first check that the numbers of
 * the lanes do not wrap around. */
#include "ptx/execute/address.h"
#include "ptx/slice/slice.h"

#include <string.h>

/* The maximum number of operands of the instructions that this file executes. */
enum { MAX_SOURCES = 4 };

/* ---- registers ---- */

static uint32_t row_lanes_of(const struct fth_ptx_warp *warp)
{
    return warp->block->run->row_lanes;
}

/* Reads an operand. Returns false if it is not linear. */
static inline bool get(const struct fth_ptx_warp *warp, int32_t index, struct fth_ptx_linear *value)
{
    if (index < 0) {
        *value = (struct fth_ptx_linear){.base = warp->pool[~index][0]};
        return true;
    }
    *value = warp->values[index].linear;
    return !warp->values[index].irregular;
}

/* Writes the values of the current lanes to a row. The other lanes keep theirs: an instruction such
 * as mma reads the registers of all lanes, even those of threads that do not exist. */
static void fill_current_lanes(const struct fth_ptx_warp *warp, const struct fth_ptx_linear *value,
                               uint64_t *numbers)
{
    if (warp->mask == FULL_MASK) {
        linear_fill(value, row_lanes_of(warp), numbers);
        return;
    }
    uint64_t filled[LANES];
    linear_fill(value, row_lanes_of(warp), filled);
    for (int lane = 0; lane < LANES; lane++)
        if (warp->mask >> lane & 1)
            numbers[lane] = filled[lane];
}

static void put(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                const struct fth_ptx_linear *result)
{
    struct fth_ptx_value *value = &warp->values[inst->d[0]];
    value->linear = *result;
    value->has_row = inst->linear != 0;
    value->irregular = inst->linear & LINEAR_NEVER;
    if (inst->linear)
        fill_current_lanes(warp, result, out_row(warp, inst->d[0]));
}

/* Makes sure that the row of a register has its values. */
static void need_row(struct fth_ptx_warp *warp, int32_t index)
{
    if (index < 0 || warp->values[index].has_row)
        return;
    linear_fill(&warp->values[index].linear, row_lanes_of(warp), out_row(warp, index));
    warp->values[index].has_row = true;
}

/* True if no lane outside of the mask needs the old value of the result, so that the register can
 * become linear as a whole. */
static inline bool is_whole(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            uint32_t mask)
{
    return mask == warp->mask && !(warp->needed_elsewhere & inst->result_bit);
}

/* Executes the instruction lane by lane. */
static void run_by_lane(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    for (int i = 0; i < MAX_SOURCES; i++)
        need_row(warp, inst->s[i]);
    if (inst->result_is_predicate) {
        inst->inner(warp, inst, mask);
        return;
    }
    if (!is_whole(warp, inst, mask))
        need_row(warp, inst->d[0]);
    inst->inner(warp, inst, mask);
    warp->values[inst->d[0]].irregular = warp->values[inst->d[0]].has_row = true;
}

/* ---- arithmetic ---- */

static inline bool is_uniform(const struct fth_ptx_linear *a)
{
    return (a->step | a->row_step) == 0;
}

static inline struct fth_ptx_linear add(const struct fth_ptx_linear *a,
                                        const struct fth_ptx_linear *b)
{
    return (struct fth_ptx_linear){a->base + b->base, a->step + b->step, a->row_step + b->row_step};
}

static inline struct fth_ptx_linear scale(const struct fth_ptx_linear *a, uint64_t factor)
{
    return (struct fth_ptx_linear){a->base * factor, a->step * factor, a->row_step * factor};
}

static inline struct fth_ptx_linear negate(const struct fth_ptx_linear *a)
{
    return (struct fth_ptx_linear){0 - a->base, 0 - a->step, 0 - a->row_step};
}

/* Multiplies two numbers, one of which must be the same in all lanes. */
static inline bool multiply(const struct fth_ptx_linear *a, const struct fth_ptx_linear *b,
                            struct fth_ptx_linear *product)
{
    const bool swap = !is_uniform(b);
    *product = scale(swap ? b : a, swap ? a->base : b->base);
    return !swap || is_uniform(a);
}

/* Converts the numbers of the lanes of `mask` from 32 to 64 bits. Returns false if they are not
 * linear then. */
static inline bool extend(const struct fth_ptx_warp *warp, uint32_t mask, struct fth_ptx_linear *a,
                          bool is_signed)
{
    uint64_t low, span;
    a->step = (uint64_t)(int32_t)a->step;
    a->row_step = (uint64_t)(int32_t)a->row_step;
    a->base = is_signed ? (uint64_t)(int32_t)a->base : (uint32_t)a->base;
    if (!linear_range(a, row_lanes_of(warp), mask, &low, &span))
        return false;
    low += is_signed ? (uint64_t)1 << 31 : 0;
    return low <= UINT32_MAX && low + span <= UINT32_MAX;
}

/* Converts a number to 64 bits, so that differences of two numbers do not wrap around. */
static bool widen(const struct fth_ptx_warp *warp, uint32_t mask, enum fth_ptx_type type,
                  struct fth_ptx_linear *a)
{
    const uint64_t limit = (uint64_t)1 << 60;
    uint64_t low, span;
    if (fth_ptx_type_bytes(type) == 4)
        return extend(warp, mask, a, fth_ptx_type_is_signed(type));
    return linear_range(a, row_lanes_of(warp), mask, &low, &span) &&
           low + (fth_ptx_type_is_signed(type) ? limit : 0) < 2 * limit;
}

/* ---- handlers ---- */

/* Defines a handler with the given number of operands. COMPUTE sets r from a, b and c, and is false
 * if the result is not linear. */
#define HANDLER(NAME, SOURCES, COMPUTE)                                                            \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        struct fth_ptx_linear a, b, c, r;                                                          \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        if (is_whole(warp, inst, mask) && get(warp, inst->s[0], &a) &&                             \
            ((SOURCES) < 2 || get(warp, inst->s[1], &b)) &&                                        \
            ((SOURCES) < 3 || get(warp, inst->s[2], &c)) && (COMPUTE))                             \
            put(warp, inst, &r);                                                                   \
        else                                                                                       \
            run_by_lane(warp, inst, mask);                                                         \
    }

HANDLER(linear_mov, 1, (r = a, true))
HANDLER(linear_add, 2, (r = add(&a, &b), true))
HANDLER(linear_sub, 2, (b = negate(&b), r = add(&a, &b), true))
HANDLER(linear_neg, 1, (r = negate(&a), true))
HANDLER(linear_mul, 2, multiply(&a, &b, &r))
HANDLER(linear_mad, 3, multiply(&a, &b, &r) && (r = add(&r, &c), true))
HANDLER(linear_mul_wide_s32, 2,
        extend(warp, mask, &a, true) && extend(warp, mask, &b, true) && multiply(&a, &b, &r))
HANDLER(linear_mul_wide_u32, 2,
        extend(warp, mask, &a, false) && extend(warp, mask, &b, false) && multiply(&a, &b, &r))
HANDLER(linear_mad_wide_s32, 3,
        extend(warp, mask, &a, true) && extend(warp, mask, &b, true) && multiply(&a, &b, &r) &&
            (r = add(&r, &c), true))
HANDLER(linear_mad_wide_u32, 3,
        extend(warp, mask, &a, false) && extend(warp, mask, &b, false) && multiply(&a, &b, &r) &&
            (r = add(&r, &c), true))
HANDLER(linear_shl_32, 2,
        is_uniform(&b) &&
            (r = scale(&a, (uint32_t)b.base < 32 ? (uint64_t)1 << (uint32_t)b.base : 0), true))
HANDLER(linear_shl_64, 2,
        is_uniform(&b) &&
            (r = scale(&a, (uint32_t)b.base < 64 ? (uint64_t)1 << (uint32_t)b.base : 0), true))
HANDLER(linear_extend_s32, 1, extend(warp, mask, &a, true) && (r = a, true))
HANDLER(linear_extend_u32, 1, extend(warp, mask, &a, false) && (r = a, true))
HANDLER(linear_cvta, 1, (r = a, r.base += window_of(inst->space), true))
HANDLER(linear_cvta_to, 1, (r = a, r.base -= window_of(inst->space), true))

static void linear_special(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    struct fth_ptx_linear value;
    if (is_whole(warp, inst, mask) && fth_ptx_find_linear_special(warp, inst, &value))
        put(warp, inst, &value);
    else
        run_by_lane(warp, inst, mask);
}

/* Executes an instruction for one lane, if its operands, and therefore its results, are the same in
 * all lanes. */
static void linear_uniform(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    const int lane = first_lane(mask);
    struct fth_ptx_linear a;
    bool is_possible = is_whole(warp, inst, mask);
    for (int i = 0; i < MAX_SOURCES && is_possible; i++)
        is_possible = inst->s[i] < 0 || (get(warp, inst->s[i], &a) && is_uniform(&a));
    if (!is_possible) {
        run_by_lane(warp, inst, mask);
        return;
    }
    for (int i = 0; i < MAX_SOURCES; i++)
        if (inst->s[i] >= 0)
            out_row(warp, inst->s[i])[lane] = warp->values[inst->s[i]].linear.base;
    inst->inner(warp, inst, 1u << lane);
    put(warp, inst, &(struct fth_ptx_linear){.base = out_row(warp, inst->d[0])[lane]});
}

/* Returns the lanes whose number is negative. */
static inline uint32_t negative_lanes(const struct fth_ptx_linear *a, uint32_t row_lanes)
{
    const int64_t step = (int64_t)a->step, last = row_lanes - 1;
    const uint32_t all = FULL_MASK >> (LANES - row_lanes);
    uint32_t lanes = 0;
    int64_t number = (int64_t)a->base;
    for (uint32_t row = 0; row < LANES; row += row_lanes, number += (int64_t)a->row_step) {
        const bool first_is = number < 0, last_is = number + last * step < 0;
        uint32_t found = first_is ? all : 0;
        if (first_is && !last_is) /* the first ones, up to the one that is 0 or more */
            found = ~(FULL_MASK << ((-number + step - 1) / step));
        else if (last_is && !first_is) /* all but the first ones, which are 0 or more */
            found = all & FULL_MASK << (number / -step + 1);
        lanes |= found << row;
    }
    return lanes;
}

/* Computes a - b without overflow. Returns false if it is not linear. */
static bool subtract(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                     uint32_t mask, struct fth_ptx_linear *difference)
{
    const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    struct fth_ptx_linear a, b;
    if (!get(warp, inst->s[0], &a) || !get(warp, inst->s[1], &b) || !widen(warp, mask, type, &a) ||
        !widen(warp, mask, type, &b))
        return false;
    b = negate(&b);
    *difference = add(&a, &b);
    return true;
}

static void linear_setp(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint32_t row_lanes = row_lanes_of(warp);
    struct fth_ptx_linear less, more;
    uint32_t lanes;
    if (!subtract(warp, inst, mask, &less)) {
        run_by_lane(warp, inst, mask);
        return;
    }
    more = negate(&less);
    switch (inst->comparison) {
    case C_EQ:
        lanes = ~(negative_lanes(&less, row_lanes) | negative_lanes(&more, row_lanes));
        break;
    case C_NE: lanes = negative_lanes(&less, row_lanes) | negative_lanes(&more, row_lanes); break;
    case C_LT:
    case C_LO: lanes = negative_lanes(&less, row_lanes); break;
    case C_LE:
    case C_LS: lanes = ~negative_lanes(&more, row_lanes); break;
    case C_GT:
    case C_HI: lanes = negative_lanes(&more, row_lanes); break;
    default: lanes = ~negative_lanes(&less, row_lanes); break; /* C_GE, C_HS */
    }
    fth_ptx_set_compared(warp, inst, mask, lanes);
}

/* Gives the lanes of `lanes` the first operand and the others the second one. */
static void choose(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask,
                   uint32_t lanes)
{
    struct fth_ptx_linear value;
    lanes &= mask;
    if (is_whole(warp, inst, mask) && (lanes == 0 || lanes == mask) &&
        get(warp, inst->s[lanes == 0], &value))
        put(warp, inst, &value);
    else
        run_by_lane(warp, inst, mask);
}

static void linear_min_max(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    struct fth_ptx_linear less;
    if (!subtract(warp, inst, mask, &less)) {
        run_by_lane(warp, inst, mask);
        return;
    }
    const uint32_t lanes = negative_lanes(&less, row_lanes_of(warp));
    choose(warp, inst, mask, inst->opcode[1] == 'i' ? lanes : ~lanes); /* min or max */
}

static void linear_selp(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    choose(warp, inst, mask, source_predicate(warp, inst));
}

/* A load or store that moves no data. */
static void linear_access(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    struct fth_ptx_linear address;
    if (get(warp, inst->s[0], &address) && fth_ptx_access_linear(warp, inst, address, mask))
        return;
    need_row(warp, inst->s[0]);
    inst->inner(warp, inst, mask);
}

/* ---- selection ---- */

/* True if the type is an integer of 32 or 64 bits. */
static bool is_wide_integer(unsigned type)
{
    const unsigned bytes = fth_ptx_type_bytes((enum fth_ptx_type)type);
    return (bytes == 4 || bytes == 8) && type <= T_S64;
}

static fth_ptx_run_function *select_arithmetic(const struct fth_ptx_inst *inst)
{
    static const struct {
        const char *base;
        uint8_t type; /* T_NONE: integers of 32 and of 64 bits */
        uint32_t flags;
        fth_ptx_run_function *run;
    } handlers[] = {{"add", T_NONE, 0, linear_add},
                    {"sub", T_NONE, 0, linear_sub},
                    {"neg", T_NONE, 0, linear_neg},
                    {"min", T_NONE, 0, linear_min_max},
                    {"max", T_NONE, 0, linear_min_max},
                    {"mul", T_NONE, F_LO, linear_mul},
                    {"mad", T_NONE, F_LO, linear_mad},
                    {"mul", T_S32, F_WIDE, linear_mul_wide_s32},
                    {"mul", T_U32, F_WIDE, linear_mul_wide_u32},
                    {"mad", T_S32, F_WIDE, linear_mad_wide_s32},
                    {"mad", T_U32, F_WIDE, linear_mad_wide_u32},
                    {"shl", T_B32, 0, linear_shl_32},
                    {"shl", T_B64, 0, linear_shl_64}};
    for (size_t i = 0; i < FTH_COUNT(handlers); i++)
        if (fth_ptx_is_opcode(inst, handlers[i].base) && inst->flags == handlers[i].flags &&
            (handlers[i].type ? inst->type == handlers[i].type : is_wide_integer(inst->type)))
            return handlers[i].run;
    /* Each lane computes its result from its own operands. */
    static const char *const others[] = {"abs",  "and", "bfe", "bfi", "bfind", "brev",
                                         "clz",  "div", "not", "or",  "mul",   "popc",
                                         "prmt", "rem", "shf", "shr", "xor",   "lop3"};
    for (size_t i = 0; i < FTH_COUNT(others) && inst->predicate2 == UINT32_MAX; i++)
        if (fth_ptx_is_opcode(inst, others[i]) && is_wide_integer(inst->type))
            return linear_uniform;
    return NULL;
}

static fth_ptx_run_function *select_conversion(const struct fth_ptx_inst *inst)
{
    if (fth_ptx_is_opcode(inst, "cvta"))
        return inst->flags & F_TO ? linear_cvta_to : linear_cvta;
    if (!fth_ptx_is_opcode(inst, "cvt") || !is_wide_integer(inst->type) ||
        !is_wide_integer(inst->type2) || inst->flags)
        return NULL;
    if (fth_ptx_type_bytes((enum fth_ptx_type)inst->type) <=
        fth_ptx_type_bytes((enum fth_ptx_type)inst->type2))
        return linear_mov;
    return fth_ptx_type_is_signed((enum fth_ptx_type)inst->type2) ? linear_extend_s32
                                                                  : linear_extend_u32;
}

fth_ptx_run_function *fth_slice_linear_handler(const struct fth_ptx_inst *inst)
{
    if (inst->run == fth_ptx_run_special)
        return linear_special;
    if (inst->slice == SLICE_SKIPS && !inst->detail &&
        (fth_ptx_is_opcode(inst, "ld") || fth_ptx_is_opcode(inst, "st")))
        return inst->space == FTH_SPACE_GLOBAL || inst->space == FTH_SPACE_SHARED ? linear_access
                                                                                  : NULL;
    if (fth_ptx_is_opcode(inst, "ld") && inst->space == SPACE_ARGUMENT && inst->s[0] < 0)
        return inst->vector > 1 ? NULL : linear_uniform;
    if (fth_ptx_is_opcode(inst, "setp"))
        return is_wide_integer(inst->type) ? linear_setp : NULL;
    if (inst->result_is_predicate)
        return NULL;
    if (fth_ptx_is_opcode(inst, "mov"))
        return inst->vector > 1 || inst->type == T_B128 ? NULL : linear_mov;
    if (fth_ptx_is_opcode(inst, "selp"))
        return linear_selp;
    fth_ptx_run_function *conversion = select_conversion(inst);
    return conversion ? conversion : select_arithmetic(inst);
}
