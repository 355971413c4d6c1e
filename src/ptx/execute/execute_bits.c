/* Logic, shift and bit-field instructions, and logic on predicates. */
#include "ptx/execute/execute.h"

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
    static void NAME(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)    \
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

static void run_lop3(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
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
static void run_bfi(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]), *rl = row(warp, inst->s[3]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * fth_ptx_type_bytes((enum fth_ptx_type)inst->type);
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

/* ---- predicates ---- */

/* and, or, xor and not on predicates. */
static void run_predicate_logic(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                uint32_t mask)
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

/* ---- selection of handlers ---- */

/* Entries of `handlers` for the opcode BASE, with the untyped .b16, .b32 and .b64. */
#define BIT_TYPES(BASE, SOURCES, NAME)                                                             \
    {BASE, T_B16, 0, SOURCES, NAME##_16}, {BASE, T_B32, 0, SOURCES, NAME##_32},                    \
    {                                                                                              \
        BASE, T_B64, 0, SOURCES, NAME##_64                                                         \
    }

static const struct fth_ptx_handler handlers[] = {
    BIT_TYPES("and", 2, and),
    BIT_TYPES("or", 2, or),
    BIT_TYPES("xor", 2, xor),
    BIT_TYPES("not", 1, not ),
    BIT_TYPES("cnot", 1, cnot),
    BIT_TYPES("shl", 2, shl),
    {"shr", T_B16, 0, 2, shr_u16},
    {"shr", T_B32, 0, 2, shr_u32},
    {"shr", T_B64, 0, 2, shr_u64},
    {"shr", T_U16, 0, 2, shr_u16},
    {"shr", T_S16, 0, 2, shr_s16},
    {"shr", T_U32, 0, 2, shr_u32},
    {"shr", T_S32, 0, 2, shr_s32},
    {"shr", T_U64, 0, 2, shr_u64},
    {"shr", T_S64, 0, 2, shr_s64},
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

/* and.pred, or.pred, xor.pred and not.pred: here s[] holds predicates. */
static bool select_predicate_logic(struct fth_ptx_inst *inst, const char *base)
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

bool fth_ptx_select_bits(struct fth_ptx_inst *inst, const char *base)
{
    /* Logical instructions on predicates have no modifier except the type. The conditions exclude
     * the other instructions of type .pred, vote and bar.red (execute_warp.c). */
    if (inst->type == T_PRED && inst->comparison == C_NONE && inst->flags == 0 &&
        inst->boolean == B_NONE)
        return select_predicate_logic(inst, base);
    return select_handler(inst, base, handlers, FTH_COUNT(handlers));
}
