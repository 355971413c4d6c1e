/* Integer, logic, shift, bit-field, carry, move and select instructions. Arithmetic that may
 * overflow is done on unsigned types, for which C defines the result. Results are stored in the low
 * bits of the register. The value of the high bits does not matter, because an instruction reads
 * only as many low bits as its type has. */
#include "ptx/execute.h"

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
    static void NAME(struct warp *warp, const struct inst *inst, uint32_t mask)                    \
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

static void run_carry(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    /* add and sub have no third operand; c is then not used, and `ra` is only a placeholder. */
    const uint64_t *rc = inst->mode & MULTIPLIES ? row(warp, inst->s[2]) : ra;
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * type_bytes((enum type)inst->type);
    uint64_t value_mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    bool is_signed = type_is_signed((enum type)inst->type);
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

static bool select_carry(struct inst *inst, const char *base)
{
    static const struct {
        const char *base;
        uint8_t mode;
    } list[] = {{"add", 0},          {"addc", READS_CARRY},
                {"sub", SUBTRACTS},  {"subc", SUBTRACTS | READS_CARRY},
                {"mad", MULTIPLIES}, {"madc", MULTIPLIES | READS_CARRY}};
    enum type type = (enum type)inst->type;
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

/* ---- logic and shifts ---- */

#define LOGIC(BITS, U, S)                                                                          \
    BINARY(and_##BITS, U, (U)(a & b))                                                              \
    BINARY(or_##BITS, U, (U)(a | b))                                                               \
    BINARY(xor_##BITS, U, (U)(a ^ b))                                                              \
    UNARY(not_##BITS, U, (U)~a)                                                                    \
    UNARY(cnot_##BITS, U, (U)(a == 0))                                                             \
    SHIFT(shl_##BITS, U, amount >= BITS ? 0 : (U)((uint64_t)a << amount))                          \
    SHIFT(shr_u##BITS, U, amount >= BITS ? 0 : (U)(a >> amount))                                   \
    SHIFT(shr_s##BITS, S, (S)(a >> (amount >= BITS ? BITS - 1 : amount)))

/* The shift amount has 32 bits, whatever the type of the shifted value is. */
#define SHIFT(NAME, T, EXPRESSION)                                                                 \
    static void NAME(struct warp *warp, const struct inst *inst, uint32_t mask)                    \
    {                                                                                              \
        const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);                   \
        uint64_t *rd = out_row(warp, inst->d[0]);                                                  \
        FOR_LANES(mask, T a = (T)ra[lane]; uint32_t amount = (uint32_t)rb[lane];                   \
                  rd[lane] = (uint64_t)(EXPRESSION););                                             \
    }

LOGIC(16, uint16_t, int16_t)
LOGIC(32, uint32_t, int32_t)
LOGIC(64, uint64_t, int64_t)

/* Funnel shift of the 64-bit value b:a (b is the high word). */
static inline uint32_t funnel(uint32_t a, uint32_t b, uint32_t amount, uint32_t flags)
{
    uint32_t n = flags & F_WRAP ? amount & 31 : amount > 32 ? 32 : amount;
    uint64_t both = (uint64_t)b << 32 | a;
    return flags & F_LEFT ? (uint32_t)(n == 32 ? both : (both << n) >> 32) : (uint32_t)(both >> n);
}
TERNARY(run_funnel, uint32_t, funnel(a, b, c, inst->flags))

/* Any logical function of three operands, given as a truth table: bit i of the table is the result
 * for the bits a:b:c = i. */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

static void run_lop3(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]), *table = row(warp, inst->s[3]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = lop3((uint32_t)ra[lane], (uint32_t)rb[lane], (uint32_t)rc[lane],
                                    (uint32_t)table[lane]););
}

/* ---- bits ---- */

UNARY(popc_32, uint32_t, (uint32_t)__builtin_popcount(a))
UNARY(popc_64, uint64_t, (uint32_t)__builtin_popcountll(a))
UNARY(clz_32, uint32_t, (uint32_t)(a ? __builtin_clz(a) : 32))
UNARY(clz_64, uint64_t, (uint32_t)(a ? __builtin_clzll(a) : 64))

static inline uint64_t reverse_bits(uint64_t a, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        result |= (a >> i & 1) << (bits - 1 - i);
    return result;
}
UNARY(brev_32, uint32_t, reverse_bits(a, 32))
UNARY(brev_64, uint64_t, reverse_bits(a, 64))

/* The position of the highest bit that is set or, for signed numbers, differs from the sign. With
 * .shiftamt, positions are counted from the top. The result has all bits set if there is no such
 * bit. */
static inline uint32_t find_bit(uint64_t a, unsigned bits, bool is_signed, bool from_above)
{
    if (is_signed && a >> (bits - 1) & 1)
        a = ~a;
    if (bits == 32)
        a &= 0xffffffffu;
    if (a == 0)
        return UINT32_MAX;
    uint32_t bit = 63 - (uint32_t)__builtin_clzll(a);
    return from_above ? bits - 1 - bit : bit;
}
UNARY(bfind_u32, uint32_t, find_bit(a, 32, false, inst->flags &F_SHIFTAMT))
UNARY(bfind_s32, uint32_t, find_bit(a, 32, true, inst->flags &F_SHIFTAMT))
UNARY(bfind_u64, uint64_t, find_bit(a, 64, false, inst->flags &F_SHIFTAMT))
UNARY(bfind_s64, uint64_t, find_bit(a, 64, true, inst->flags &F_SHIFTAMT))

/* The position or length of a bit field, from its operand. Instructions of 32 bits use only the low
 * byte of the operand, those of 64 bits use all 32 bits (as on an H200). */
static inline uint64_t field_operand(uint64_t operand, unsigned bits)
{
    return bits == 32 ? operand & 0xff : (uint32_t)operand;
}

/* bfe: c bits of a, from position b. A signed field is extended with its highest bit (PTX ISA,
 * bfe). */
static inline uint64_t extract(uint64_t a, uint64_t b, uint64_t c, unsigned bits, bool is_signed)
{
    uint64_t top = bits - 1, position = field_operand(b, bits), length = field_operand(c, bits);
    uint64_t last = position + length - 1;
    uint64_t sign = 0;
    if (is_signed && length > 0)
        sign = a >> (last < top ? last : top) & 1;
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        result |= (i < length && position + i <= top ? a >> (position + i) & 1 : sign) << i;
    return result;
}

#define EXTRACT(NAME, BITS, SIGNED) TERNARY(NAME, uint64_t, extract(a, b, c, BITS, SIGNED))
EXTRACT(bfe_u32, 32, false)
EXTRACT(bfe_s32, 32, true)
EXTRACT(bfe_u64, 64, false)
EXTRACT(bfe_s64, 64, true)

/* bfi: inserts the low bits of a into b, at position c, with the length in the fourth operand. */
static void run_bfi(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]), *rl = row(warp, inst->s[3]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * type_bytes((enum type)inst->type);
    FOR_LANES(mask, {
        uint64_t position = field_operand(rc[lane], bits), length = field_operand(rl[lane], bits);
        uint64_t result = rb[lane];
        for (unsigned i = 0; i < length && position + i < bits; i++) {
            uint64_t bit = (uint64_t)1 << (position + i);
            result = ra[lane] >> i & 1 ? result | bit : result & ~bit;
        }
        rd[lane] = bits == 32 ? (uint32_t)result : result;
    });
}

/* Selects four of the eight bytes of b:a. The third operand holds four 4-bit selectors. A selector
 * is a 3-bit index and a bit that replaces the byte with copies of its sign. With a mode, the low
 * two bits of the third operand choose one of four predefined sets of selectors (PTX ISA, prmt). */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector, unsigned mode)
{
    static const uint16_t tables[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
        {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
        {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
        {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
        {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
        {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
    };
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    if (mode)
        selector = tables[mode - 1][selector & 3];
    for (unsigned i = 0; i < 4; i++) {
        unsigned pick = selector >> (4 * i) & 0xf;
        uint32_t byte = both >> (8 * (pick & 7)) & 0xff;
        if (pick & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}
TERNARY(run_prmt, uint32_t, permute(a, b, c, inst->mode))

/* bmsk: a mask of b bits, starting at position a. */
static inline uint32_t bit_mask(uint32_t a, uint32_t b, bool wrap)
{
    if (wrap) {
        a &= 31;
        b &= 31;
    }
    uint32_t ones = b >= 32 ? UINT32_MAX : (1u << b) - 1;
    return a >= 32 ? 0 : ones << a;
}
BINARY(run_bmsk, uint32_t, bit_mask(a, b, inst->flags &F_WRAP))

/* szext: the low b bits of a, sign-extended or zero-extended. */
static inline uint32_t extend(uint32_t a, uint32_t b, bool is_signed, bool wrap)
{
    b = wrap ? b & 31 : b > 32 ? 32 : b;
    if (b == 0)
        return 0;
    if (b == 32)
        return a;
    return is_signed ? (uint32_t)((int32_t)(a << (32 - b)) >> (32 - b)) : a << (32 - b) >> (32 - b);
}
BINARY(szext_u32, uint32_t, extend(a, b, false, inst->flags &F_WRAP))
BINARY(szext_s32, uint32_t, extend(a, b, true, inst->flags &F_WRAP))

/* The position of the n-th set bit, counted upwards from bit `base`, or downwards for a negative n.
 * With n = 0, `base` itself if that bit is set. The result has all bits set if there is no such bit
 * (PTX ISA, fns). */
static inline uint32_t find_nth(uint32_t bits, uint32_t base, int32_t n)
{
    if (base > 31)
        return UINT32_MAX;
    if (n == 0)
        return bits >> base & 1 ? base : UINT32_MAX;
    int64_t left = n > 0 ? n : -(int64_t)n, step = n > 0 ? 1 : -1;
    for (int64_t at = base; at >= 0 && at < 32; at += step)
        if (bits >> at & 1 && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}
TERNARY(run_fns, uint32_t, find_nth(a, b, (int32_t)c))

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
static inline uint32_t dot(const struct inst *inst, uint32_t a, uint32_t b, uint32_t c)
{
    bool sa = type_is_signed((enum type)inst->type), sb = type_is_signed((enum type)inst->type2);
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
static inline uint32_t compute_pair(const struct inst *inst, uint32_t a, uint32_t b)
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

static bool select_pairs(struct inst *inst, const char *base)
{
    inst->mode = strcmp(base, "add") == 0   ? PAIR_ADD
                 : strcmp(base, "min") == 0 ? PAIR_MIN
                                            : PAIR_MAX;
    inst->run = run_pairs;
    bool known = inst->mode != PAIR_MAX || strcmp(base, "max") == 0;
    uint32_t allowed = inst->type == T_S16X2 && inst->mode != PAIR_ADD ? F_RELU : 0;
    return known && !(inst->flags & ~allowed) && has_operands(inst, 2);
}

/* ---- moves and selections ---- */

static void run_mov(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = ra[lane];);
}

static void run_mov_predicate(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    /* The source is a predicate (UINT32_MAX: none) or a constant, for which 0 is false. */
    uint32_t lanes = inst->predicate != UINT32_MAX ? source_predicate(warp, inst)
                     : row(warp, inst->s[0])[0]    ? FULL_MASK
                                                   : 0;
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* mov.b64 %rd, {%r1, %r2}, for any number of equal parts. run_unpack is the inverse. */
static void run_pack(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * type_bytes((enum type)inst->type) / inst->vector;
    uint64_t part_mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t packed_row[LANES] = {0};
    for (unsigned i = 0; i < inst->vector; i++) {
        const uint64_t *ra = row(warp, inst->s[i]);
        FOR_LANES(mask, packed_row[lane] |= (ra[lane] & part_mask) << (bits * i););
    }
    FOR_LANES(mask, rd[lane] = packed_row[lane];);
}

static void run_unpack(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    unsigned bits = 8 * type_bytes((enum type)inst->type) / inst->vector;
    uint64_t part_mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t whole[LANES];
    memcpy(whole, row(warp, inst->s[0]), sizeof whole);
    for (unsigned i = 0; i < inst->vector; i++) {
        if (inst->d[i] < 0)
            continue; /* "_" (NO_REGISTER): not stored */
        uint64_t *rd = out_row(warp, inst->d[i]);
        FOR_LANES(mask, rd[lane] = whole[lane] >> (bits * i) & part_mask;);
    }
}

static void run_selp(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    uint32_t lanes = source_predicate(warp, inst);
    FOR_LANES(mask, rd[lane] = lanes >> lane & 1 ? ra[lane] : rb[lane];);
}

/* slct: a if c is not negative, otherwise b. For a float c, -0 counts as 0, a NaN as negative. With
 * .ftz, a subnormal c (its exponent bits are 0) counts as 0. */
static void run_slct(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, {
        float c = as_float(rc[lane]);
        if (inst->flags & F_FTZ && (rc[lane] & 0x7f800000) == 0)
            c = 0;
        bool first = inst->type2 == T_S32 ? (int32_t)rc[lane] >= 0 : c >= 0;
        rd[lane] = first ? ra[lane] : rb[lane];
    });
}

/* and, or, xor and not on predicates. */
static void run_predicate_logic(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint32_t a = warp->predicates[inst->s[0]], b = 0;
    if (inst->s[1] != NO_REGISTER)
        b = warp->predicates[inst->s[1]];
    uint32_t lanes = inst->mode == B_AND   ? a & b
                     : inst->mode == B_OR  ? a | b
                     : inst->mode == B_XOR ? a ^ b
                                           : ~a;
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* The absolute differences of four bytes. Each is stored in its byte of the result or, with .add
 * (`sum`), added to c. */
static inline uint32_t absolute_differences(uint32_t a, uint32_t b, uint32_t c, bool sum)
{
    uint32_t result = sum ? c : 0;
    for (unsigned i = 0; i < 4; i++) {
        int32_t x = (int32_t)(a >> (8 * i) & 0xff), y = (int32_t)(b >> (8 * i) & 0xff);
        uint32_t difference = (uint32_t)(x > y ? x - y : y - x);
        result = sum ? result + difference : result | difference << (8 * i);
    }
    return result;
}
/* The parser stores the modifier .add in `atomic`. */
TERNARY(run_vabsdiff4, uint32_t, absolute_differences(a, b, c, inst->atomic == A_ADD))

/* ---- selection of handlers ---- */

/* Entries of `handlers` for the opcode BASE, one per type. INTEGERS: the same function for signed
 * and unsigned types of a size. SIGNED_AND_UNSIGNED: a function for each of them. BIT_TYPES: the
 * untyped .b16, .b32 and .b64. */

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
#define BIT_TYPES(BASE, SOURCES, NAME)                                                             \
    {BASE, T_B16, 0, SOURCES, NAME##_16}, {BASE, T_B32, 0, SOURCES, NAME##_32},                    \
    {                                                                                              \
        BASE, T_B64, 0, SOURCES, NAME##_64                                                         \
    }

static const struct handler handlers[] = {
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
    BIT_TYPES("and", 2, and),
    BIT_TYPES("or", 2, or),
    BIT_TYPES("xor", 2, xor),
    BIT_TYPES("not", 1, not ),
    BIT_TYPES("cnot", 1, cnot),
    BIT_TYPES("shl", 2, shl),
    {"shr", T_B16, 0, 2, shr_u16},
    {"shr", T_B32, 0, 2, shr_u32},
    {"shr", T_B64, 0, 2, shr_u64},
    SIGNED_AND_UNSIGNED("shr", 0, 2, shr),
    {"lop3", T_B32, 0, 4, run_lop3},
    {"shf", T_B32, F_LEFT | F_WRAP, 3, run_funnel},
    {"shf", T_B32, F_LEFT | F_CLAMP, 3, run_funnel},
    {"shf", T_B32, F_RIGHT | F_WRAP, 3, run_funnel},
    {"shf", T_B32, F_RIGHT | F_CLAMP, 3, run_funnel},
    {"popc", T_B32, 0, 1, popc_32},
    {"popc", T_B64, 0, 1, popc_64},
    {"clz", T_B32, 0, 1, clz_32},
    {"clz", T_B64, 0, 1, clz_64},
    {"brev", T_B32, 0, 1, brev_32},
    {"brev", T_B64, 0, 1, brev_64},
    {"bfind", T_U32, 0, 1, bfind_u32},
    {"bfind", T_S32, 0, 1, bfind_s32},
    {"bfind", T_U64, 0, 1, bfind_u64},
    {"bfind", T_S64, 0, 1, bfind_s64},
    {"bfind", T_U32, F_SHIFTAMT, 1, bfind_u32},
    {"bfind", T_S32, F_SHIFTAMT, 1, bfind_s32},
    {"bfind", T_U64, F_SHIFTAMT, 1, bfind_u64},
    {"bfind", T_S64, F_SHIFTAMT, 1, bfind_s64},
    {"bfe", T_U32, 0, 3, bfe_u32},
    {"bfe", T_S32, 0, 3, bfe_s32},
    {"bfe", T_U64, 0, 3, bfe_u64},
    {"bfe", T_S64, 0, 3, bfe_s64},
    {"bfi", T_B32, 0, 4, run_bfi},
    {"bfi", T_B64, 0, 4, run_bfi},
    {"prmt", T_B32, 0, 3, run_prmt},
    {"fns", T_B32, 0, 3, run_fns},
    {"bmsk", T_B32, F_CLAMP, 2, run_bmsk},
    {"bmsk", T_B32, F_WRAP, 2, run_bmsk},
    {"szext", T_U32, F_CLAMP, 2, szext_u32},
    {"szext", T_U32, F_WRAP, 2, szext_u32},
    {"szext", T_S32, F_CLAMP, 2, szext_s32},
    {"szext", T_S32, F_WRAP, 2, szext_s32},
};

static bool select_mov(struct inst *inst)
{
    if (inst->type == T_PRED) {
        inst->run = run_mov_predicate;
        /* The source is either a predicate register (inst->predicate; UINT32_MAX: none) or a
         * constant (a negative index other than NO_REGISTER). */
        bool constant = inst->s[0] != NO_REGISTER && inst->s[0] < 0;
        return inst->result_is_predicate && (inst->predicate != UINT32_MAX) != constant;
    }
    if (inst->result_is_predicate || inst->flags)
        return false;
    /* The braces of a mov that packs or unpacks hold `vector` parts. When it unpacks, a
     * result can be "_", which is NO_REGISTER, so `results` is used only when it packs. */
    unsigned bytes = type_bytes((enum type)inst->type), sources = 0, results = 0;
    while (sources < FTH_COUNT(inst->s) && inst->s[sources] != NO_REGISTER)
        sources++;
    while (results < FTH_COUNT(inst->d) && inst->d[results] != NO_REGISTER)
        results++;
    bool divisible = inst->vector > 1 && bytes % inst->vector == 0;
    if (inst->vector > 1 && sources > 1) {
        inst->run = run_pack;
        return divisible && sources == inst->vector && results == 1;
    }
    if (inst->vector > 1) {
        inst->run = run_unpack;
        return divisible && sources == 1 && inst->vector <= FTH_COUNT(inst->d);
    }
    inst->run = run_mov;
    return has_operands(inst, 1);
}

/* and.pred, or.pred, xor.pred and not.pred: here s[] holds predicates. */
static bool select_predicate_logic(struct inst *inst, const char *base)
{
    inst->mode = strcmp(base, "and") == 0   ? B_AND
                 : strcmp(base, "or") == 0  ? B_OR
                 : strcmp(base, "xor") == 0 ? B_XOR
                                            : B_NONE;
    bool is_not = strcmp(base, "not") == 0;
    if (!inst->result_is_predicate || (inst->mode == B_NONE && !is_not))
        return false;
    inst->run = run_predicate_logic;
    return inst->predicate_source_count == (is_not ? 1 : 2) && inst->s[2] == NO_REGISTER &&
           (inst->s[1] == NO_REGISTER) == is_not;
}

bool select_integer(struct inst *inst, const char *base)
{
    if (strcmp(base, "mov") == 0)
        return select_mov(inst);
    /* Logical instructions on predicates have no modifier except the type. The conditions exclude
     * the other instructions of type .pred, vote and bar.red (execute_warp.c). */
    if (inst->type == T_PRED && inst->comparison == C_NONE && inst->flags == 0 &&
        inst->boolean == B_NONE)
        return select_predicate_logic(inst, base);
    if (strcmp(base, "selp") == 0) {
        inst->run = run_selp;
        return has_operands(inst, 2) && inst->predicate != UINT32_MAX /* none */;
    }
    if (strcmp(base, "slct") == 0) {
        inst->run = run_slct;
        return has_operands(inst, 3) && (inst->type2 == T_S32 || inst->type2 == T_F32);
    }
    if (strcmp(base, "dp4a") == 0 || strcmp(base, "dp2a") == 0) {
        inst->mode = base[2] == '4' ? 4 : 2;
        inst->run = run_dot;
        return has_operands(inst, 3) && inst->type2 != T_NONE;
    }
    if (inst->type == T_U16X2 || inst->type == T_S16X2)
        return select_pairs(inst, base);
    if (strcmp(base, "vabsdiff4") == 0) {
        inst->run = run_vabsdiff4;
        return has_operands(inst, 3) && inst->type == T_U32 && inst->type2 == T_U32;
    }
    return select_handler(inst, base, handlers, FTH_COUNT(handlers)) || select_carry(inst, base);
}
