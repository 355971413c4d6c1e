/* Video instructions: arithmetic on bytes and halves of 32-bit registers. The scalar ones, such as
 * vadd, operate on one byte, half or word of each operand. The SIMD ones, such as vadd2 and vadd4,
 * operate on two halves or four bytes at once. Both end with a secondary operation: a second
 * addition, minimum or maximum with the operand c, or the replacement of a part of c.
 *
 * The SIMD instructions follow the formulas of the PTX ISA. The scalar ones do what an H200 does.
 * It has no such instructions; ptxas replaces them by others. The replacements follow the formulas
 * as long as no result exceeds the type of d. Otherwise saturation, comparisons with c and products
 * differ, as described at the functions below. These rules follow from the results of an H200
 * (tests/differential/) and from the machine code that ptxas makes. */
#include "ptx/video/video.h"

enum operation { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_AVERAGE, V_SHL, V_SHR, V_MAD, V_SET };

/* The instructions, and the number of elements that they operate on. */
static const struct {
    const char *base;
    uint8_t operation, elements;
} instructions[] = {
    {"vadd", V_ADD, 1},       {"vsub", V_SUB, 1},  {"vabsdiff", V_ABSDIFF, 1},
    {"vmin", V_MIN, 1},       {"vmax", V_MAX, 1},  {"vshl", V_SHL, 1},
    {"vshr", V_SHR, 1},       {"vmad", V_MAD, 1},  {"vset", V_SET, 1},
    {"vadd2", V_ADD, 2},      {"vsub2", V_SUB, 2}, {"vabsdiff2", V_ABSDIFF, 2},
    {"vmin2", V_MIN, 2},      {"vmax2", V_MAX, 2}, {"vavrg2", V_AVERAGE, 2},
    {"vset2", V_SET, 2},      {"vadd4", V_ADD, 4}, {"vsub4", V_SUB, 4},
    {"vmin4", V_MIN, 4},      {"vmax4", V_MAX, 4}, {"vabsdiff4", V_ABSDIFF, 4},
    {"vavrg4", V_AVERAGE, 4}, {"vset4", V_SET, 4},
};

/* A byte, half or word of a register. */
struct part {
    uint8_t shift, bits;
};

struct video {
    struct fth_ptx_detail detail;
    uint8_t operation, elements;
    bool is_signed[3]; /* of d, a and b */
    bool saturate, wrap;
    uint8_t secondary;  /* A_NONE, A_ADD, A_MIN or A_MAX */
    uint8_t comparison; /* vset */
    /* vmad */
    bool plus_one, negate_product, negate_c;
    uint8_t scale; /* shift to the right */
    bool has_c;
    bool merges; /* the result replaces a part of c */
    struct part d, a, b;
    /* SIMD: the selected elements of the concatenation of b and a, and the elements written, as a
     * mask */
    uint8_t a_from[4], b_from[4], mask;
};

/* ---- execution ---- */

/* Returns `bits` bits of a value from bit `shift` on, with the sign that the type has. */
static inline int64_t extract(uint64_t value, unsigned shift, unsigned bits, bool is_signed)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1, part = value >> shift & mask;
    return is_signed && part >> (bits - 1) ? (int64_t)part - (int64_t)mask - 1 : (int64_t)part;
}

static inline int64_t clamp(int64_t value, unsigned bits, bool is_signed)
{
    const int64_t max = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    const int64_t min = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    return value < min ? min : value > max ? max : value;
}

static inline bool compare(unsigned comparison, int64_t a, int64_t b)
{
    switch (comparison) {
    case C_EQ: return a == b;
    case C_NE: return a != b;
    case C_LT: return a < b;
    case C_LE: return a <= b;
    case C_GT: return a > b;
    default: return a >= b;
    }
}

/* The operation on one pair of elements. Averages are rounded away from zero, as the PTX ISA
 * defines. */
static inline int64_t operate(const struct video *video, int64_t a, int64_t b)
{
    switch (video->operation) {
    case V_ADD: return a + b;
    case V_SUB: return a - b;
    case V_ABSDIFF: return a > b ? a - b : b - a;
    case V_MIN: return a < b ? a : b;
    case V_MAX: return a > b ? a : b;
    case V_AVERAGE: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    default: return compare(video->comparison, a, b);
    }
}

static inline int64_t shift(const struct video *video, int64_t a, int64_t b)
{
    const unsigned amount = video->wrap ? (unsigned)b & 31 : b > 32 ? 32 : (unsigned)b;
    return video->operation == V_SHL ? (int64_t)((uint64_t)a << amount) : a >> amount;
}

static inline bool is_shift(const struct video *video)
{
    return video->operation == V_SHL || video->operation == V_SHR;
}

/* Saturation of a scalar instruction.
 *
 *   shifts           only 34 bits of the result count, the highest of which is its sign
 *   a part as d      the result is compared as an unsigned number, so that a negative one becomes
 *                    the maximum
 *   unsigned words   only negative results are replaced, by 0 */
static inline int64_t saturate(const struct video *video, int64_t value)
{
    if (is_shift(video))
        return clamp(extract((uint64_t)value, 0, 34, true), 32, video->is_signed[0]);
    if (video->merges) {
        const uint64_t max = ((uint64_t)1 << (video->d.bits - video->is_signed[0])) - 1;
        return (uint64_t)value < max ? value : (int64_t)max;
    }
    if (video->is_signed[0])
        return clamp(value, 32, true);
    return value < 0 ? 0 : value;
}

/* The secondary operation of a scalar instruction. An unsigned minimum or maximum compares 64
 * bits. Only the lower 32 bits of a sum count. */
static inline int64_t second(const struct video *video, int64_t value, uint32_t c)
{
    const bool is_less = video->is_signed[0] ? value < (int32_t)c : (uint64_t)value < (uint64_t)c;
    switch (video->secondary) {
    case A_ADD: return (uint32_t)value + c;
    case A_MIN: return is_less ? value : c;
    case A_MAX: return is_less ? c : value;
    default: return value;
    }
}

static uint32_t run_scalar(const struct video *video, uint32_t a, uint32_t b, uint32_t c)
{
    const int64_t x = extract(a, video->a.shift, video->a.bits, video->is_signed[1]);
    const int64_t y = extract(b, video->b.shift, video->b.bits, video->is_signed[2]);
    int64_t value = is_shift(video) ? shift(video, x, y) : operate(video, x, y);
    if (video->saturate)
        value = saturate(video, value);
    /* Sums, differences and saturated shifts have 32 bits, and the highest one is a sign even if d
     * is unsigned. */
    if (video->operation == V_ADD || video->operation == V_SUB ||
        (is_shift(video) && video->saturate))
        value = (int32_t)value;
    value = second(video, value, c);
    if (!video->merges)
        return (uint32_t)value;
    const uint32_t mask = (uint32_t)(((uint64_t)1 << video->d.bits) - 1) << video->d.shift;
    /* ptxas does not move the result to the upper half, which gets the result's own upper half. */
    const uint32_t result =
        video->d.bits == 16 ? (uint32_t)value : (uint32_t)value << video->d.shift;
    return (result & mask) | (c & ~mask);
}

/* vmad. The result is signed if an operand is, or if one is negated. Words count as signed,
 * whatever their type is. A negative result that is saturated becomes 0 or, after a shift to the
 * right, the maximum, unless it is signed. */
static uint32_t run_mad(const struct video *video, uint32_t a, uint32_t b, uint32_t c)
{
    const bool is_signed =
        video->is_signed[1] || video->is_signed[2] || video->negate_product || video->negate_c;
    int64_t value =
        extract(a, video->a.shift, video->a.bits, video->is_signed[1] || video->a.bits == 32) *
        extract(b, video->b.shift, video->b.bits, video->is_signed[2] || video->b.bits == 32);
    if (video->negate_product)
        value = -value;
    value += video->negate_c ? -(int64_t)(int32_t)c : (int32_t)c;
    value = (value + video->plus_one) >> video->scale;
    if (video->saturate && !is_signed && video->scale && value < 0)
        value = UINT32_MAX;
    else if (video->saturate)
        value = clamp(value, 32, is_signed);
    return (uint32_t)value;
}

static uint32_t run_simd(const struct video *video, uint32_t a, uint32_t b, uint32_t c)
{
    const unsigned bits = 32u / video->elements;
    const uint64_t both = (uint64_t)b << 32 | a;
    const uint32_t element = (uint32_t)(((uint64_t)1 << bits) - 1);
    uint32_t result = c;
    for (unsigned i = 0; i < video->elements; i++) {
        if (!(video->mask >> i & 1))
            continue;
        int64_t value =
            operate(video, extract(both, video->a_from[i] * bits, bits, video->is_signed[1]),
                    extract(both, video->b_from[i] * bits, bits, video->is_signed[2]));
        if (video->saturate)
            value = clamp(value, bits, video->is_signed[0]);
        if (video->secondary == A_ADD)
            result += (uint32_t)value;
        else
            result = (result & ~(element << (i * bits))) | ((uint32_t)value & element)
                                                               << (i * bits);
    }
    return result;
}

static void run_video(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct video *video = (const struct video *)inst->detail;
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        const uint32_t a = (uint32_t)ra[lane], b = (uint32_t)rb[lane], c = (uint32_t)rc[lane];
        rd[lane] = video->operation == V_MAD ? run_mad(video, a, b, c)
                   : video->elements == 1    ? run_scalar(video, a, b, c)
                                             : run_simd(video, a, b, c);
    }
}

/* ---- parsing ---- */

/* Returns the index of the instruction in the table, or -1. */
static int find(const char *base)
{
    for (size_t i = 0; *base == 'v' && i < FTH_COUNT(instructions); i++)
        if (strcmp(base, instructions[i].base) == 0)
            return (int)i;
    return -1;
}

bool fth_ptx_is_video(const char *base)
{
    return find(base) >= 0;
}

/* Takes a word that follows the types. Returns false if the instruction does not have it. */
static bool take_modifier(struct fth_ptx_statement *statement, struct video *video)
{
    static const char *const seconds[] = {"add", "min", "max"};
    static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const shifts[] = {"clamp", "wrap"};
    static const char *const scales[] = {"shr7", "shr15"};
    int index;
    if (video->operation == V_SET &&
        (index = fth_ptx_take_one_of(statement, comparisons, FTH_COUNT(comparisons))) >= 0) {
        video->comparison = (uint8_t)(C_EQ + index);
    } else if ((video->operation == V_SHL || video->operation == V_SHR) &&
               (index = fth_ptx_take_one_of(statement, shifts, FTH_COUNT(shifts))) >= 0) {
        video->wrap = index == 1;
    } else if (video->operation == V_MAD &&
               (index = fth_ptx_take_one_of(statement, scales, FTH_COUNT(scales))) >= 0) {
        video->scale = index == 0 ? 7 : 15;
    } else if (video->operation == V_MAD && fth_ptx_take_word(statement, "po")) {
        video->plus_one = true;
    } else if (video->operation != V_SET && fth_ptx_take_word(statement, "sat")) {
        video->saturate = true;
    } else {
        /* vmad has no secondary operation, SIMD instructions have only .add */
        const size_t count = video->operation == V_MAD ? 0 : video->elements > 1 ? 1 : 3;
        index = fth_ptx_take_one_of(statement, seconds, count);
        video->secondary = (uint8_t)(A_ADD + index);
        return index >= 0;
    }
    return true;
}

/* Parses the words of the opcode: the types of d (except for vset), a and b, then the others. */
static bool parse_words(struct fth_ptx_statement *statement, struct video *video)
{
    for (unsigned i = video->operation == V_SET; i < 3; i++) {
        video->is_signed[i] = fth_ptx_take_word(statement, "s32");
        if (!video->is_signed[i] && !fth_ptx_take_word(statement, "u32"))
            return false;
    }
    if (video->operation == V_SET) /* an H200 compares with c (.min, .max) in the type of a */
        video->is_signed[0] = video->is_signed[1];
    while (statement->next_word < statement->word_count)
        if (!take_modifier(statement, video))
            return false;
    return (video->operation != V_SET || video->comparison) &&
           !(video->elements > 1 && video->saturate && video->secondary);
}

/* Parses a part of an operand of a scalar instruction: none, b0 to b3, h0 or h1. */
static bool parse_part(const struct fth_ptx_operand *operand, struct part *part)
{
    const char *text = operand->part;
    *part = (struct part){0, 32};
    if (!operand->part_size)
        return true;
    if (operand->part_size != 2 || !strchr("bh", *text))
        return false;
    const unsigned bits = *text == 'b' ? 8 : 16, index = (unsigned)(text[1] - '0');
    *part = (struct part){(uint8_t)(bits * index), (uint8_t)bits};
    return index < 4 && bits * index < 32;
}

/* Parses the elements that an operand of a SIMD instruction selects, such as h10 or b7654, the
 * highest one first. `first` is the element that is the default for element 0. */
static bool parse_selection(const struct fth_ptx_operand *operand, unsigned elements,
                            unsigned first, uint8_t from[4])
{
    for (unsigned i = 0; i < elements && i < 4; i++)
        from[i] = (uint8_t)(first + i);
    if (!operand->part_size)
        return true;
    if (operand->part_size != 1 + elements || *operand->part != (elements == 2 ? 'h' : 'b'))
        return false;
    for (unsigned i = 0; i < elements; i++) {
        from[i] = (uint8_t)(operand->part[elements - i] - '0');
        if (from[i] >= 2 * elements)
            return false;
    }
    return true;
}

/* Parses the elements that a SIMD instruction writes, such as h0 or b310, in descending order. */
static bool parse_mask(const struct fth_ptx_operand *operand, unsigned elements, uint8_t *mask)
{
    *mask = (uint8_t)((1u << elements) - 1);
    if (!operand->part_size)
        return true;
    *mask = 0;
    unsigned above = elements;
    for (size_t i = 1; i < operand->part_size; i++) {
        const unsigned element = (unsigned)(operand->part[i] - '0');
        if (element >= above)
            return false;
        *mask |= (uint8_t)(1u << element);
        above = element;
    }
    return *mask && *operand->part == (elements == 2 ? 'h' : 'b');
}

/* Parses the parts of the operands, and the signs of those of vmad. */
static bool parse_parts(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        struct video *video)
{
    const struct fth_ptx_operand *d = &statement->operands[0], *a = d + 1, *b = d + 2, *c = d + 3;
    const bool simd = video->elements > 1, mad = video->operation == V_MAD;
    const bool valid[] = {
        simd ? parse_mask(d, video->elements, &video->mask) : parse_part(d, &video->d),
        simd ? parse_selection(a, video->elements, 0, video->a_from) : parse_part(a, &video->a),
        simd ? parse_selection(b, video->elements, video->elements, video->b_from)
             : parse_part(b, &video->b),
        !video->has_c || !c->part_size};
    for (size_t i = 0; i < statement->operand_count; i++)
        if (!valid[i] || (statement->operands[i].minus && (!mad || i == 0 || video->plus_one)))
            return fth_ptx_refuse_operand(parser, statement, i,
                                          "a register with a part that the instruction can select");
    video->merges = !simd && d->part_size;
    video->negate_product = mad && a->minus != b->minus;
    video->negate_c = mad && c->minus;
    return true;
}

bool fth_ptx_family_video(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    struct video *video = fth_arena_alloc(&parser->module->arena, sizeof *video);
    if (!video)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    const int index = find(statement->base);
    *video = (struct video){.operation = instructions[index].operation,
                            .elements = instructions[index].elements};
    if (!parse_words(statement, video))
        return fth_ptx_refuse(parser, statement);
    const bool needs_c = video->elements > 1 || video->operation == V_MAD || video->secondary ||
                         (statement->operand_count && statement->operands[0].part_size);
    video->has_c = needs_c;
    const int32_t *rows[4] = {NULL};
    if (!fth_ptx_check_operand_count(parser, statement, needs_c ? 4 : 3))
        return false;
    for (size_t i = 0; i < (needs_c ? 4 : 3); i++)
        if (!fth_ptx_take_registers(parser, statement, i, 1, i == 0, &rows[i]))
            return false;
    if (!rows[0] || *rows[0] < 0)
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    if (!parse_parts(parser, statement, video) || (video->merges && video->secondary))
        return parser->lexer.status == FTH_OK ? fth_ptx_refuse(parser, statement) : false;
    inst->d[0] = *rows[0];
    for (size_t i = 0; i < 3; i++)
        inst->s[i] =
            i + 1 < statement->operand_count ? *rows[i + 1] : fth_ptx_parser_immediate(parser, 0);
    inst->run = run_video;
    inst->detail = &video->detail;
    return true;
}
