/* Integer arithmetic: the basic operations, carry chains, dot products and pairs. Arithmetic that
 * may overflow is done on unsigned types, for which C defines the result. Results are stored in the
 * low bits of the register. The value of the high bits does not matter, because an instruction
 * reads only as many low bits as its type has. */
#include "ptx/execute/execute.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/* ---- add, subtract, multiply ---- */

#define ARITHMETIC(BITS, U, S)                                                                     \
    BINARY(add_##BITS, U, (U)(a + b))                                                              \
    BINARY(sub_##BITS, U, (U)(a - b))                                                              \
    BINARY(mul_lo_##BITS, U, (U)((uint64_t)a * (uint64_t)b))                                       \
    TERNARY(mad_lo_##BITS, U, (U)((uint64_t)a * (uint64_t)b + (uint64_t)c))                        \
    BINARY(min_u##BITS, U, (a < b ? a : b))                                                        \
    BINARY(max_u##BITS, U, (a > b ? a : b))                                                        \
    BINARY(min_s##BITS, S, (a < b ? a : b))                                                        \
    BINARY(max_s##BITS, S, (a > b ? a : b))                                                        \
    BINARY(div_u##BITS, U, (b == 0 ? (U) ~(U)0 : (U)(a / b)))                                      \
    BINARY(rem_u##BITS, U, (b == 0 ? (U) ~(U)0 : (U)(a % b)))                                      \
    BINARY(div_s##BITS, S, divide_s##BITS(a, b))                                                   \
    BINARY(rem_s##BITS, S, remain_s##BITS(a, b))                                                   \
    UNARY(abs_##BITS, S, (U)(a < 0 ? (U)0 - (U)a : (U)a))                                          \
    UNARY(neg_##BITS, U, (U)((U)0 - a))                                                            \
    TERNARY(sad_u##BITS, U, (U)((U)(a > b ? a - b : b - a) + c))                                   \
    TERNARY(sad_s##BITS, S, (U)((U)(a > b ? (U)a - (U)b : (U)b - (U)a) + (U)c))

/* The quotient and the remainder of a division by zero have all bits set (as on an H200). The one
 * quotient that overflows, the smallest number divided by -1, wraps. */
#define DIVISION(BITS, U, S)                                                                       \
    static inline S divide_s##BITS(S a, S b)                                                       \
    {                                                                                              \
        return (S)(b == 0 ? (S)-1 : b == -1 ? (S)((U)0 - (U)a) : (S)(a / b));                      \
    }                                                                                              \
    static inline S remain_s##BITS(S a, S b)                                                       \
    {                                                                                              \
        return (S)(b == 0 ? (S)-1 : b == -1 ? (S)0 : (S)(a % b));                                  \
    }

DIVISION(16, uint16_t, int16_t)
DIVISION(32, uint32_t, int32_t)
DIVISION(64, uint64_t, int64_t)
ARITHMETIC(16, uint16_t, int16_t)
ARITHMETIC(32, uint32_t, int32_t)
ARITHMETIC(64, uint64_t, int64_t)

BINARY(mul_hi_u16, uint16_t, (uint16_t)(((uint32_t)a * b) >> 16))
BINARY(mul_hi_s16, int16_t, (int16_t)(((int32_t)a * b) >> 16))
BINARY(mul_hi_u32, uint32_t, (uint32_t)(((uint64_t)a * b) >> 32))
BINARY(mul_hi_s32, int32_t, (int32_t)(((int64_t)a * b) >> 32))
BINARY(mul_hi_u64, uint64_t, (uint64_t)(((u128)a * b) >> 64))
BINARY(mul_hi_s64, int64_t, (int64_t)(((s128)a * b) >> 64))
BINARY(mul_wide_u16, uint16_t, (uint32_t)a *b)
BINARY(mul_wide_s16, int16_t, (int32_t)a *b)
BINARY(mul_wide_u32, uint32_t, (uint64_t)a *b)
BINARY(mul_wide_s32, int32_t, (int64_t)a *b)

TERNARY(mad_hi_u16, uint16_t, (uint16_t)((((uint32_t)a * b) >> 16) + c))
TERNARY(mad_hi_s16, int16_t, (uint16_t)(((uint32_t)((int32_t)a * b) >> 16) + (uint16_t)c))
TERNARY(mad_hi_u32, uint32_t, (uint32_t)((((uint64_t)a * b) >> 32) + c))
TERNARY(mad_hi_s32, int32_t, (uint32_t)(((uint64_t)((int64_t)a * b) >> 32) + (uint32_t)c))
TERNARY(mad_hi_u64, uint64_t, (uint64_t)(((u128)a * b) >> 64) + c)
TERNARY(mad_hi_s64, int64_t, (uint64_t)((u128)((s128)a *b) >> 64) + (uint64_t)c)

/* The third operand of mad.wide has the width of the result. */
#define MAD_WIDE(NAME, T, WIDE, UNSIGNED)                                                          \
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        const uint64_t *rc = row(warp, inst->s[2]);                                                \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        FOR_LANES(mask, WIDE product = (WIDE)(T)ra[lane] * (WIDE)(T)rb[lane];                      \
                  rd[lane] = (UNSIGNED)((UNSIGNED)product + (UNSIGNED)rc[lane]););                 \
    }
MAD_WIDE(mad_wide_u16, uint16_t, uint32_t, uint32_t)
MAD_WIDE(mad_wide_s16, int16_t, int32_t, uint32_t)
MAD_WIDE(mad_wide_u32, uint32_t, uint64_t, uint64_t)
MAD_WIDE(mad_wide_s32, int32_t, int64_t, uint64_t)

static inline int32_t saturate32(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

BINARY(add_sat_s32, int32_t, saturate32((int64_t)a + b))
BINARY(sub_sat_s32, int32_t, saturate32((int64_t)a - b))
TERNARY(mad_hi_sat_s32, int32_t, saturate32((((int64_t)a * b) >> 32) + c))

/* 24-bit multiplication uses the low 24 bits of each operand. */
static inline int64_t low24_s(int32_t a)
{
    return (int32_t)((uint32_t)a << 8) >> 8;
}

static inline uint64_t low24_u(uint32_t a)
{
    return a & 0xffffff;
}

/* The product has 48 bits: .lo is bits 0 to 31, .hi is bits 16 to 47. */
BINARY(mul24_lo_u32, uint32_t, (uint32_t)(low24_u(a) * low24_u(b)))
BINARY(mul24_lo_s32, int32_t, (uint32_t)(low24_s(a) * low24_s(b)))
BINARY(mul24_hi_u32, uint32_t, (uint32_t)((low24_u(a) * low24_u(b)) >> 16))
BINARY(mul24_hi_s32, int32_t, (uint32_t)((low24_s(a) * low24_s(b)) >> 16))
TERNARY(mad24_lo_u32, uint32_t, (uint32_t)(low24_u(a) * low24_u(b) + c))
TERNARY(mad24_lo_s32, int32_t, (uint32_t)((uint64_t)(low24_s(a) * low24_s(b)) + (uint32_t)c))
TERNARY(mad24_hi_u32, uint32_t, (uint32_t)(((low24_u(a) * low24_u(b)) >> 16) + c))
TERNARY(mad24_hi_s32, int32_t,
        (uint32_t)((uint64_t)((low24_s(a) * low24_s(b)) >> 16) + (uint32_t)c))
TERNARY(mad24_hi_sat_s32, int32_t, saturate32(((low24_s(a) * low24_s(b)) >> 16) + c))

/* ---- carry chains ---- */

/* Returns a + b + `in` for numbers of `bits` bits. *out is the carry out of the highest bit. */
static inline uint64_t add_carry(uint64_t a, uint64_t b, bool in, unsigned bits, bool *out)
{
    u128 sum = (u128)a + b + in;
    *out = (bool)(sum >> bits & 1);
    return (uint64_t)sum;
}

/* add.cc, addc, sub.cc, subc, mad.cc and madc share one handler. These bits of `mode` distinguish
 * add, addc, sub, subc, mad and madc; F_CC in `flags` is set if the instruction writes the carry
 * flag. A mad is an add whose operands are a half of the product (.lo or .hi) and the third
 * operand. */
enum { READS_CARRY = 1, SUBTRACTS = 2, MULTIPLIES = 4 };

static void run_carry(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    /* add and sub have no third operand; c is then not used, and `ra` is only a placeholder. */
    const uint64_t *rc = inst->mode & MULTIPLIES ? row(warp, inst->s[2]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * fth_ptx_type_bytes((enum fth_ptx_type)inst->type);
    uint64_t value_mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    bool is_signed = fth_ptx_type_is_signed((enum fth_ptx_type)inst->type);
    uint32_t carries = warp->carry;
    FOR_LANES(mask, {
        uint64_t a = ra[lane] & value_mask, b = rb[lane] & value_mask, c = rc[lane] & value_mask;
        bool in = inst->mode & READS_CARRY ? carries >> lane & 1 : false, out;
        if (inst->mode & MULTIPLIES) {
            u128 product = (u128)a * b;
            if (is_signed && inst->flags & F_HI) {
                unsigned shift = 64 - bits;
                product = (u128)((s128)((int64_t)(a << shift) >> shift) *
                                 ((int64_t)(b << shift) >> shift));
            }
            a = (uint64_t)(inst->flags & F_HI ? product >> bits : product) & value_mask;
            b = c;
        }
        if (inst->mode & SUBTRACTS) {
            /* The flag is a borrow: it is set if b plus the incoming borrow exceeds a. */
            u128 taken = (u128)b + in;
            out = taken > a;
            rd[lane] = (uint64_t)(a - (uint64_t)taken) & value_mask;
        } else {
            rd[lane] = add_carry(a, b, in, bits, &out) & value_mask;
        }
        if (inst->flags & F_CC)
            carries = (carries & ~(1u << lane)) | (uint32_t)out << lane;
    });
    warp->carry = carries;
}

static bool select_carry(struct fth_ptx_inst *inst, const char *base)
{
    static const struct {
        const char *base;
        uint8_t mode;
    } list[] = {{"add", 0},          {"addc", READS_CARRY},
                {"sub", SUBTRACTS},  {"subc", SUBTRACTS | READS_CARRY},
                {"mad", MULTIPLIES}, {"madc", MULTIPLIES | READS_CARRY}};
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    if (type != T_U32 && type != T_S32 && type != T_U64 && type != T_S64)
        return false;
    for (size_t i = 0; i < FTH_COUNT(list); i++) {
        bool carry = inst->flags & F_CC || list[i].mode & READS_CARRY;
        uint32_t rest = inst->flags & ~(unsigned)F_CC;
        bool multiplies = list[i].mode & MULTIPLIES;
        if (strcmp(base, list[i].base) == 0 && carry &&
            (multiplies ? rest == F_LO || rest == F_HI : rest == 0) &&
            has_operands(inst, multiplies ? 3 : 2)) {
            inst->mode = list[i].mode;
            inst->run = run_carry;
            return true;
        }
    }
    return false;
}

/* ---- dot products of packed integers ---- */

/* Element `index` of a word that holds elements of 8 or 16 bits. */
static inline int64_t packed_value(uint32_t word, unsigned index, unsigned bits, bool is_signed)
{
    uint32_t value = word >> (bits * index) & (bits == 8 ? 0xff : 0xffff);
    if (!is_signed)
        return value;
    return bits == 8 ? (int8_t)value : (int16_t)value;
}

/* dp4a and dp2a. `type` is that of a, `type2` that of b. dp2a multiplies the two 16-bit halves of a
 * by the two low or, with .hi, the two high bytes of b. */
static inline uint32_t dot(const struct fth_ptx_inst *inst, uint32_t a, uint32_t b, uint32_t c)
{
    bool sa = fth_ptx_type_is_signed((enum fth_ptx_type)inst->type),
         sb = fth_ptx_type_is_signed((enum fth_ptx_type)inst->type2);
    uint64_t sum = c;
    unsigned count = inst->mode;
    for (unsigned i = 0; i < count; i++) {
        unsigned j = count == 2 && inst->flags & F_HI ? i + 2 : i;
        sum += (uint64_t)(packed_value(a, i, 32 / count, sa) * packed_value(b, j, 8, sb));
    }
    return (uint32_t)sum;
}
TERNARY(run_dot, uint32_t, dot(inst, a, b, c))

/* ---- pairs of 16-bit integers ---- */

enum pair_operation { PAIR_ADD, PAIR_MIN, PAIR_MAX };

/* .relu replaces negative results with 0. */
static inline uint32_t compute_pair(const struct fth_ptx_inst *inst, uint32_t a, uint32_t b)
{
    uint32_t result = 0;
    for (unsigned half = 0; half < 32; half += 16) {
        uint16_t x = (uint16_t)(a >> half), y = (uint16_t)(b >> half);
        bool less = inst->type == T_S16X2 ? (int16_t)x < (int16_t)y : x < y;
        uint16_t value = inst->mode == PAIR_ADD   ? (uint16_t)(x + y)
                         : inst->mode == PAIR_MIN ? (less ? x : y)
                                                  : (less ? y : x);
        if (inst->flags & F_RELU && (int16_t)value < 0)
            value = 0;
        result |= (uint32_t)value << half;
    }
    return result;
}
BINARY(run_pairs, uint32_t, compute_pair(inst, a, b))

static bool select_pairs(struct fth_ptx_inst *inst, const char *base)
{
    inst->mode = strcmp(base, "add") == 0   ? PAIR_ADD
                 : strcmp(base, "min") == 0 ? PAIR_MIN
                                            : PAIR_MAX;
    inst->run = run_pairs;
    bool known = inst->mode != PAIR_MAX || strcmp(base, "max") == 0;
    uint32_t allowed = inst->type == T_S16X2 && inst->mode != PAIR_ADD ? F_RELU : 0;
    return known && !(inst->flags & ~allowed) && has_operands(inst, 2);
}

/* ---- .relu: negative results become 0 ---- */

BINARY(min_relu_s32, int32_t, (a < 0 || b < 0 ? 0 : a < b ? a : b))
BINARY(max_relu_s32, int32_t, (a < 0 && b < 0 ? 0 : a > b ? a : b))

/* ---- selection of handlers ---- */

/* Entries of `handlers` for the opcode BASE, one per type. INTEGERS: the same function for signed
 * and unsigned types of a size. SIGNED_AND_UNSIGNED: a function for each of them. */
#define INTEGERS(BASE, FLAGS, SOURCES, NAME)                                                       \
    {BASE, T_U16, FLAGS, SOURCES, NAME##_16}, {BASE, T_S16, FLAGS, SOURCES, NAME##_16},            \
        {BASE, T_U32, FLAGS, SOURCES, NAME##_32}, {BASE, T_S32, FLAGS, SOURCES, NAME##_32},        \
        {BASE, T_U64, FLAGS, SOURCES, NAME##_64},                                                  \
    {                                                                                              \
        BASE, T_S64, FLAGS, SOURCES, NAME##_64                                                     \
    }
#define SIGNED_AND_UNSIGNED(BASE, FLAGS, SOURCES, NAME)                                            \
    {BASE, T_U16, FLAGS, SOURCES, NAME##_u16}, {BASE, T_S16, FLAGS, SOURCES, NAME##_s16},          \
        {BASE, T_U32, FLAGS, SOURCES, NAME##_u32}, {BASE, T_S32, FLAGS, SOURCES, NAME##_s32},      \
        {BASE, T_U64, FLAGS, SOURCES, NAME##_u64},                                                 \
    {                                                                                              \
        BASE, T_S64, FLAGS, SOURCES, NAME##_s64                                                    \
    }

static const struct fth_ptx_handler handlers[] = {
    INTEGERS("add", 0, 2, add),
    INTEGERS("sub", 0, 2, sub),
    INTEGERS("mul", F_LO, 2, mul_lo),
    SIGNED_AND_UNSIGNED("mul", F_HI, 2, mul_hi),
    INTEGERS("mad", F_LO, 3, mad_lo),
    SIGNED_AND_UNSIGNED("mad", F_HI, 3, mad_hi),
    SIGNED_AND_UNSIGNED("min", 0, 2, min),
    SIGNED_AND_UNSIGNED("max", 0, 2, max),
    SIGNED_AND_UNSIGNED("div", 0, 2, div),
    SIGNED_AND_UNSIGNED("rem", 0, 2, rem),
    SIGNED_AND_UNSIGNED("sad", 0, 3, sad),
    INTEGERS("abs", 0, 1, abs),
    INTEGERS("neg", 0, 1, neg),
    {"min", T_S32, F_RELU, 2, min_relu_s32},
    {"max", T_S32, F_RELU, 2, max_relu_s32},
    {"add", T_S32, F_SAT, 2, add_sat_s32},
    {"sub", T_S32, F_SAT, 2, sub_sat_s32},
    {"mad", T_S32, F_HI | F_SAT, 3, mad_hi_sat_s32},
    {"mul", T_U16, F_WIDE, 2, mul_wide_u16},
    {"mul", T_S16, F_WIDE, 2, mul_wide_s16},
    {"mul", T_U32, F_WIDE, 2, mul_wide_u32},
    {"mul", T_S32, F_WIDE, 2, mul_wide_s32},
    {"mad", T_U16, F_WIDE, 3, mad_wide_u16},
    {"mad", T_S16, F_WIDE, 3, mad_wide_s16},
    {"mad", T_U32, F_WIDE, 3, mad_wide_u32},
    {"mad", T_S32, F_WIDE, 3, mad_wide_s32},
    {"mul24", T_U32, F_LO, 2, mul24_lo_u32},
    {"mul24", T_S32, F_LO, 2, mul24_lo_s32},
    {"mul24", T_U32, F_HI, 2, mul24_hi_u32},
    {"mul24", T_S32, F_HI, 2, mul24_hi_s32},
    {"mad24", T_U32, F_LO, 3, mad24_lo_u32},
    {"mad24", T_S32, F_LO, 3, mad24_lo_s32},
    {"mad24", T_U32, F_HI, 3, mad24_hi_u32},
    {"mad24", T_S32, F_HI, 3, mad24_hi_s32},
    {"mad24", T_S32, F_HI | F_SAT, 3, mad24_hi_sat_s32},
};

bool fth_ptx_select_integer(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "dp4a") == 0 || strcmp(base, "dp2a") == 0) {
        inst->mode = base[2] == '4' ? 4 : 2;
        inst->run = run_dot;
        return has_operands(inst, 3) && inst->type2 != T_NONE;
    }
    if (inst->type == T_U16X2 || inst->type == T_S16X2)
        return select_pairs(inst, base);
    return select_handler(inst, base, handlers, FTH_COUNT(handlers)) || select_carry(inst, base);
}
