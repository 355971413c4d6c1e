/* Atomic operations on memory: atom and red. */
#include "ptx/execute/address.h"

/* Bit patterns of f32: the sign, the exponent (0 for zero and subnormal numbers), and the NaN that
 * additions return. */
#define F32_SIGN 0x80000000u
#define F32_EXPONENT 0x7f800000
#define F32_NAN 0x7fffffffu
/* Bit patterns of f64: the NaN of an addition without a NaN operand, such as inf - inf, and the bit
 * that makes a NaN quiet. */
#define F64_NAN 0xfff8000000000000u
#define F64_QUIET 0x0008000000000000u

/* As on an H200: f32 additions in global memory treat subnormal operands and results as zero; f64
 * additions in global memory return a NaN operand unchanged, preferably the operand of the
 * instruction. In shared memory, additions follow IEEE 754; they return a NaN operand made quiet,
 * preferably the value in memory. */
static uint64_t add_f32(uint64_t old, uint64_t b, bool global)
{
    uint32_t x = (uint32_t)old, y = (uint32_t)b;
    if (global && (x & F32_EXPONENT) == 0)
        x &= F32_SIGN;
    if (global && (y & F32_EXPONENT) == 0)
        y &= F32_SIGN;
    float sum = as_float(x) + as_float(y);
    uint32_t bits = sum != sum ? F32_NAN : float_bits(sum);
    return global && (bits & F32_EXPONENT) == 0 ? bits & F32_SIGN : bits;
}

static uint64_t add_f64(uint64_t old, uint64_t b, bool global)
{
    double x = as_double(old), y = as_double(b), sum = x + y;
    if (sum == sum)
        return double_bits(sum);
    if (global)
        return y != y ? b : x != x ? old : F64_NAN;
    return x != x ? old | F64_QUIET : y != y ? b | F64_QUIET : F64_NAN;
}

/* The new value of a word in memory. `old` is its present value; b and c are the operands. */
static uint64_t atomic_result(enum fth_ptx_type type, enum fth_ptx_atomic_op op, uint64_t old,
                              uint64_t b, uint64_t c, bool global)
{
    bool wide = fth_ptx_type_bytes(type) == 8;
    switch (op) {
    case A_ADD:
        if (type == T_F32)
            return add_f32(old, b, global);
        if (type == T_F64)
            return add_f64(old, b, global);
        if (type == T_F16X2 || type == T_BF16X2) {
            uint64_t result = 0;
            for (int half = 0; half < 32; half += 16) {
                uint16_t x = (uint16_t)(old >> half), y = (uint16_t)(b >> half);
                uint16_t sum =
                    type == T_F16X2
                        ? fth_ptx_half_from_double(
                              fth_ptx_half_to_double(x) + fth_ptx_half_to_double(y), R_RN)
                        : fth_ptx_bfloat_from_double(
                              fth_ptx_bfloat_to_double(x) + fth_ptx_bfloat_to_double(y), R_RN);
                result |= (uint64_t)sum << half;
            }
            return result;
        }
        if (type == T_F16)
            return fth_ptx_half_from_double(
                fth_ptx_half_to_double((uint16_t)old) + fth_ptx_half_to_double((uint16_t)b), R_RN);
        if (type == T_BF16)
            return fth_ptx_bfloat_from_double(fth_ptx_bfloat_to_double((uint16_t)old) +
                                                  fth_ptx_bfloat_to_double((uint16_t)b),
                                              R_RN);
        return old + b;
    case A_MIN:
        if (fth_ptx_type_is_float(type))
            return fth_ptx_half_min_max(type, old, b, false);
        if (fth_ptx_type_is_signed(type))
            return wide ? ((int64_t)old < (int64_t)b ? old : b)
                        : ((int32_t)old < (int32_t)b ? old : b);
        return old < b ? old : b;
    case A_MAX:
        if (fth_ptx_type_is_float(type))
            return fth_ptx_half_min_max(type, old, b, true);
        if (fth_ptx_type_is_signed(type))
            return wide ? ((int64_t)old > (int64_t)b ? old : b)
                        : ((int32_t)old > (int32_t)b ? old : b);
        return old > b ? old : b;
    case A_INC: return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
    case A_DEC: return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    case A_EXCH: return b;
    default: return old == b ? c : old; /* cas */
    }
}

/* Executes any atomic operation on a word. Other blocks may run on other threads of the host, so
 * the host memory is updated atomically, by a loop of compare-and-swap. Returns the old value. */
#define UPDATE(T)                                                                                  \
    do {                                                                                           \
        T *place = (T *)(void *)host, seen = __atomic_load_n(place, __ATOMIC_RELAXED), next;       \
        do                                                                                         \
            next = (T)atomic_result(type, op, seen, (T)b, (T)c, global);                           \
        while (!__atomic_compare_exchange_n(place, &seen, next, false, __ATOMIC_SEQ_CST,           \
                                            __ATOMIC_RELAXED));                                    \
        return seen;                                                                               \
    } while (0)

uint64_t fth_ptx_update(enum fth_ptx_type type, enum fth_ptx_atomic_op op, uint8_t *host,
                        uint64_t b, uint64_t c, bool global)
{
    switch (fth_ptx_type_bytes(type)) {
    case 2: UPDATE(uint16_t);
    case 4: UPDATE(uint32_t);
    default: UPDATE(uint64_t);
    }
}

static void run_atomic(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    const enum fth_ptx_atomic_op op = (enum fth_ptx_atomic_op)inst->atomic;
    unsigned bytes = fth_ptx_type_bytes(type);
    const uint64_t *rb = row(warp, inst->s[1]);
    const uint64_t *rc = inst->s[2] != NO_REGISTER ? row(warp, inst->s[2]) : rb;
    uint64_t old[LANES] = {0};
    uint32_t all = mask;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, bytes, true, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, bytes, FTH_ACCESS_ATOMIC))
            return;
        if (inst->slice & SLICE_SKIPS)
            continue;
        bool global = group.space == FTH_SPACE_GLOBAL;
        FOR_LANES(group.mask, old[lane] = fth_ptx_update(type, op, group.host[lane], rb[lane],
                                                         rc[lane], global););
    }
    if (inst->d[0] >= 0 && !(inst->slice & SLICE_SKIPS)) { /* red has no result; that of atom can
                                                            * be "_" */
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(all, rd[lane] = old[lane];);
    }
}

/* ---- selection of handlers ---- */

bool fth_ptx_select_atomic(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "atom") != 0 && strcmp(base, "red") != 0)
        return false;
    bool may_have_result = base[0] == 'a'; /* red has none */
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    unsigned bytes = fth_ptx_type_bytes(type);
    int values = inst->atomic == A_CAS ? 2 : 1;
    bool is_float = fth_ptx_type_is_float(type);
    inst->run = run_atomic;
    return inst->atomic != A_NONE && inst->vector == 0 && !inst->result_is_predicate &&
           (bytes == 4 || bytes == 8 || (bytes == 2 && (inst->atomic == A_CAS || is_float))) &&
           (!is_float || inst->atomic == A_ADD || inst->atomic == A_EXCH) &&
           inst->s[0] != NO_REGISTER && value_count(inst) == values &&
           !(inst->flags & ~(uint32_t)F_STRONG) && (may_have_result || inst->d[0] == NO_REGISTER);
}
