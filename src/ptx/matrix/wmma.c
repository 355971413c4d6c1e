/* wmma: loads matrices from memory into the registers of a warp, multiplies them and stores the
 * result (PTX ISA, "Warp level matrix instructions: wmma"). PTX leaves open which lane holds which
 * element; the engine does what an H200 does.
 *
 * One matrix of a multiplication has 16 or 32 rows, the other 8 or 16 columns: A and B or, with the
 * shape m8n32, the transposes of B and A. In the table, g is lane / 4, t is lane % 4, a register
 * holds n elements, and a row has 4 * n * w elements (with w = 1 or 2):
 *
 *     rows     register r: row r / (2 * w) * 16 + r % 2 * 8 + g,
 *              elements from (t + r / 2 % w * 4) * n on
 *     columns  register r: column r / w * 8 + g, elements from (t + r % w * 4) * n on
 *     result   element i: row g + i / 2 % 2 * 8, column 2 * t + i % 2,
 *              plus 8 columns for each i / 4 or, if there are 32 rows, 16 rows
 *
 * With 8 rows and 8 columns, w is 1, and the result has two elements. With f16, a matrix A or B has
 * eight registers, whatever its size: the elements are repeated. */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/address.h"

/* The shapes: the sizes of the matrices and the elements that they can have. */
struct shape {
    const char *name;
    uint8_t rows, columns, depth;
    uint16_t elements; /* set of enum fth_ptx_element */
};

#define ONE(ELEMENT) (1u << (ELEMENT))

static const struct shape shapes[] = {
    {"m16n16k16", 16, 16, 16,
     ONE(ELEMENT_F16) | ONE(ELEMENT_BF16) | ONE(ELEMENT_S8) | ONE(ELEMENT_U8)},
    {"m32n8k16", 32, 8, 16,
     ONE(ELEMENT_F16) | ONE(ELEMENT_BF16) | ONE(ELEMENT_S8) | ONE(ELEMENT_U8)},
    {"m8n32k16", 8, 32, 16,
     ONE(ELEMENT_F16) | ONE(ELEMENT_BF16) | ONE(ELEMENT_S8) | ONE(ELEMENT_U8)},
    {"m16n16k8", 16, 16, 8, ONE(ELEMENT_TF32)},
    {"m8n8k4", 8, 8, 4, ONE(ELEMENT_F64)},
    {"m8n8k32", 8, 8, 32, ONE(ELEMENT_S4) | ONE(ELEMENT_U4)},
    {"m8n8k128", 8, 8, 128, ONE(ELEMENT_B1)},
};

enum role { ROLE_A, ROLE_B, ROLE_C };

/* A matrix in registers. */
struct fragment {
    const struct shape *shape;
    enum role role;
    enum fth_ptx_element element;
    const int32_t *rows; /* registers */
    unsigned count;      /* of registers */
};

/* A place in a matrix: for A and B, the row or column and the element in it; for C, the row and the
 * column. */
struct place {
    unsigned index, other;
};

static unsigned elements_per_register(enum fth_ptx_element element)
{
    const unsigned bits = fth_ptx_element_bits(element);
    return bits < 32 ? 32 / bits : 1;
}

/* Registers that hold different elements; with f16, more can follow that repeat them. */
static unsigned distinct_registers(const struct fragment *fragment)
{
    const struct shape *shape = fragment->shape;
    const unsigned count = fragment->role == ROLE_C   ? (unsigned)shape->rows * shape->columns
                           : fragment->role == ROLE_A ? (unsigned)shape->rows * shape->depth
                                                      : (unsigned)shape->columns * shape->depth;
    return count / LANES / elements_per_register(fragment->element);
}

static unsigned register_count(const struct fragment *fragment)
{
    return fragment->role != ROLE_C && fragment->element == ELEMENT_F16
               ? 8
               : distinct_registers(fragment);
}

/* The place of element e of register r of a lane: see the table above. */
static struct place find_place(const struct fragment *fragment, unsigned r, unsigned e,
                               unsigned lane)
{
    const struct shape *shape = fragment->shape;
    const unsigned g = lane / 4, t = lane % 4, n = elements_per_register(fragment->element);
    const bool swapped = shape->columns == 32; /* m8n32: B has the role of the rows */
    r %= distinct_registers(fragment);
    if (fragment->role == ROLE_C) {
        const unsigned i = r * n + e;
        const bool tall = shape->rows == 32 || swapped;
        const struct place place = {g + i / 2 % 2 * 8 + (tall ? i / 4 * 16 : 0),
                                    2 * t + i % 2 + (tall ? 0 : i / 4 * 8)};
        return swapped ? (struct place){place.other, place.index} : place;
    }
    const unsigned w = shape->depth / (4 * n);
    const bool by_rows = (fragment->role == ROLE_A) != swapped && shape->rows != 8;
    if (by_rows || (swapped && fragment->role == ROLE_B))
        return (struct place){r / (2 * w) * 16 + r % 2 * 8 + g, (t + r / 2 % w * 4) * n + e};
    return (struct place){r / w * 8 + g, (t + r % w * 4) * n + e};
}

/* ---- loads and stores ---- */

enum { MAX_PARTS = 8 }; /* of a register: its elements of at least 4 bits */

struct fth_ptx_wmma_move {
    struct fth_ptx_detail detail;
    struct fragment fragment;
    bool by_column; /* the elements of a column are next to each other in memory */
    int32_t stride; /* row: elements between columns or rows; NO_REGISTER: no gaps */
};

/* The index of an element in memory. */
static uint64_t memory_index(const struct fth_ptx_wmma_move *move, const struct place *place,
                             uint64_t stride)
{
    /* For B, a place is a column and an element of it. */
    const bool transposed = move->by_column != (move->fragment.role == ROLE_B);
    return transposed ? place->other * stride + place->index : place->index * stride + place->other;
}

static uint64_t default_stride(const struct fth_ptx_wmma_move *move)
{
    const struct shape *shape = move->fragment.shape;
    switch (move->fragment.role) {
    case ROLE_A: return move->by_column ? shape->rows : shape->depth;
    case ROLE_B: return move->by_column ? shape->depth : shape->columns;
    default: return move->by_column ? shape->rows : shape->columns;
    }
}

/* The accesses of a GPU differ from the moves of this file in two cases, unless they are to shared
 * memory: observers see those of the GPU. Elements of 16 bits that are not next to each other in
 * memory are loaded and stored with their neighbours, and the lanes exchange them. Two registers
 * with words that are next to each other are loaded and stored together. So does ptxas 13.0 for
 * sm_90. */

/* Moves `bytes` bytes per lane between bit `shift` of values[] and memory. *joined: the caller
 * reports the access, together with others; set to false if it is to shared memory, and thus
 * reported here. Returns false after a fault. */
static bool move_part(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, bool store,
                      const uint64_t addresses[LANES], unsigned bytes, unsigned shift,
                      uint64_t values[LANES], bool *joined)
{
    uint32_t mask = FULL_MASK;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_addresses(warp, inst, addresses, &mask, bytes, store, &group))
            return false;
        *joined = *joined && group.space == FTH_SPACE_GLOBAL && group.mask == FULL_MASK;
        if (!*joined && !fth_ptx_notify_access(warp, inst, &group, bytes,
                                               store ? FTH_ACCESS_WRITE : FTH_ACCESS_READ))
            return false;
        if (inst->slice & SLICE_SKIPS)
            continue;
        FOR_LANES(group.mask, {
            uint64_t value = values[lane] >> shift;
            if (store) {
                memcpy(group.host[lane], &value, bytes);
            } else {
                value = 0;
                memcpy(&value, group.host[lane], bytes);
                values[lane] |= value << shift;
            }
        });
    }
    return true;
}

/* Reports an access of a GPU that stands for several moves. Returns false after a fault. */
static bool report_joined(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, bool store,
                          const uint64_t addresses[LANES], unsigned bytes)
{
    uint32_t mask = FULL_MASK;
    struct fth_ptx_lane_group group;
    return fth_ptx_resolve_addresses(warp, inst, addresses, &mask, bytes, store, &group) &&
           fth_ptx_notify_access(warp, inst, &group, bytes,
                                 store ? FTH_ACCESS_WRITE : FTH_ACCESS_READ);
}

/* Reports the access to a block of 8 x 8 elements of 16 bits. addresses[e] has those of element e
 * of the registers. On a GPU, lane l accesses two elements of line l / 4 of the block, which belong
 * to lanes that are 4 apart. */
static bool report_block(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, bool store,
                         uint64_t addresses[2][LANES])
{
    uint64_t joined[LANES];
    for (unsigned lane = 0; lane < LANES; lane++)
        joined[lane] = addresses[lane / 4 % 2][lane % 4 * 8 + lane / 8];
    return report_joined(warp, inst, store, joined, 4);
}

/* Returns true if register r + 1 has the words after those of register r. */
static bool is_pair(const struct fth_ptx_wmma_move *move, unsigned r)
{
    const struct place first = find_place(&move->fragment, r, 0, 0),
                       second = find_place(&move->fragment, r + 1, 0, 0);
    return fth_ptx_element_bits(move->fragment.element) >= 32 &&
           r + 1 < distinct_registers(&move->fragment) &&
           memory_index(move, &second, 1 << 16) == memory_index(move, &first, 1 << 16) + 1;
}

/* Moves one register. Elements that are next to each other in memory are moved together. A register
 * of a pair is reported with the first one. */
static bool move_register(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, bool store,
                          unsigned r, uint64_t values[LANES])
{
    const struct fth_ptx_wmma_move *move = (const struct fth_ptx_wmma_move *)inst->detail;
    const struct fragment *fragment = &move->fragment;
    const unsigned bits = fth_ptx_element_bits(fragment->element);
    const unsigned count = elements_per_register(fragment->element);
    const struct place first = find_place(fragment, r, 0, 0),
                       second = find_place(fragment, r, 1, 0);
    const uint64_t *base = row(warp, inst->s[0]);
    const bool together = count == 1 || memory_index(move, &second, 1 << 16) ==
                                            memory_index(move, &first, 1 << 16) + 1;
    const unsigned parts = together ? 1 : count;
    const bool begins_pair = is_pair(move, r), ends_pair = r && is_pair(move, r - 1);
    const bool is_block = parts == 2 && bits == 16;
    bool joined = begins_pair || ends_pair || is_block;
    uint64_t addresses[MAX_PARTS][LANES];
    for (unsigned e = 0; e < parts; e++) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint64_t stride = move->stride == NO_REGISTER
                                        ? default_stride(move)
                                        : (uint32_t)row(warp, move->stride)[lane];
            const struct place place = find_place(fragment, r, e, lane);
            addresses[e][lane] = base[lane] + memory_index(move, &place, stride) * bits / 8;
        }
        if (!move_part(warp, inst, store, addresses[e], together && bits < 32 ? 4 : bits / 8,
                       e * bits, values, &joined))
            return false;
    }
    if (joined && is_block)
        return report_block(warp, inst, store, addresses);
    return !joined || !begins_pair || report_joined(warp, inst, store, addresses[0], bits / 4);
}

static void run_load(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_wmma_move *move = (const struct fth_ptx_wmma_move *)inst->detail;
    const unsigned distinct = distinct_registers(&move->fragment);
    uint64_t values[8][LANES] = {{0}};
    (void)mask; /* all lanes take part */
    for (unsigned r = 0; r < distinct; r++)
        if (!move_register(warp, inst, false, r, values[r]))
            return;
    /* The registers that follow repeat the first ones: 1, 2, 4 or 8. */
    for (unsigned r = 0; r < move->fragment.count; r++)
        if (move->fragment.rows[r] >= 0) /* not "_" */
            memcpy(out_row(warp, move->fragment.rows[r]), values[r & (distinct - 1)],
                   sizeof values[0]);
}

static void run_store(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_wmma_move *move = (const struct fth_ptx_wmma_move *)inst->detail;
    (void)mask; /* all lanes take part */
    for (unsigned r = 0; r < move->fragment.count; r++) {
        uint64_t values[LANES];
        memcpy(values, row(warp, move->fragment.rows[r]), sizeof values);
        if (!move_register(warp, inst, true, r, values))
            return;
    }
}

/* ---- multiplication ---- */

struct fth_ptx_wmma {
    struct fth_ptx_detail detail;
    struct fth_ptx_product product;
    struct fragment a, b, c, d;
};

/* Copies the elements from registers: to out[index * width + other]. */
static void gather(struct fth_ptx_warp *warp, const struct fragment *fragment, unsigned width,
                   uint64_t *out)
{
    const bool words = fragment->element == ELEMENT_B1; /* 32 elements are one word */
    const unsigned bits = words ? 32 : fth_ptx_element_bits(fragment->element);
    const unsigned count = words ? 1 : elements_per_register(fragment->element);
    const uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    for (unsigned r = 0; r < distinct_registers(fragment); r++) {
        const uint64_t *values = row(warp, fragment->rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < count; e++) {
                const struct place place = find_place(fragment, r, e, lane);
                out[(size_t)place.index * width + place.other / (words ? 32 : 1)] =
                    values[lane] >> (e * bits) & mask;
            }
    }
}

static void scatter(struct fth_ptx_warp *warp, const struct fragment *fragment, unsigned width,
                    const uint64_t *in)
{
    const unsigned bits = fth_ptx_element_bits(fragment->element);
    for (unsigned r = 0; r < fragment->count; r++) {
        if (fragment->rows[r] < 0) /* "_" */
            continue;
        uint64_t *values = out_row(warp, fragment->rows[r]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            values[lane] = 0;
            for (unsigned e = 0; e < elements_per_register(fragment->element); e++) {
                const struct place place = find_place(fragment, r, e, lane);
                values[lane] |= in[(size_t)place.index * width + place.other] << (e * bits);
            }
        }
    }
}

/* Converts between f16 and f32 in place. */
static void convert(uint64_t *values, size_t count, enum fth_ptx_element to)
{
    for (size_t i = 0; i < count; i++) {
        if (to == ELEMENT_F32) {
            const float single = (float)fth_ptx_half_to_double((uint16_t)values[i]);
            values[i] = single != single ? 0x7fffffff : float_bits(single);
        } else {
            values[i] = fth_ptx_half_from_double(as_float(values[i]), R_RN);
        }
    }
}

static void run_wmma(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_wmma *wmma = (const struct fth_ptx_wmma *)inst->detail;
    const struct fth_ptx_product *product = &wmma->product;
    const unsigned depth = product->a == ELEMENT_B1 ? product->depth / 32 : product->depth;
    const size_t count = (size_t)product->rows * product->columns;
    uint64_t a[32 * 32], b[32 * 32], d[32 * 16] = {0};
    (void)mask; /* all lanes take part */
    gather(warp, &wmma->a, depth, a);
    gather(warp, &wmma->b, depth, b);
    gather(warp, &wmma->c, product->columns, d);
    if (wmma->c.element != product->c)
        convert(d, count, product->c);
    fth_ptx_multiply_add(product, a, b, d);
    if (wmma->d.element != product->c)
        convert(d, count, wmma->d.element);
    scatter(warp, &wmma->d, product->columns, d);
}

/* ---- parsing ---- */

static const struct shape *take_shape(struct fth_ptx_statement *statement)
{
    for (size_t i = 0; i < FTH_COUNT(shapes); i++)
        if (fth_ptx_take_word(statement, shapes[i].name))
            return &shapes[i];
    return NULL;
}

/* True if C and D of this shape can have elements of this type. */
static bool can_accumulate(const struct shape *shape, enum fth_ptx_element element)
{
    const unsigned inputs = shape->elements;
    return (element == ELEMENT_F16 && inputs & ONE(ELEMENT_F16)) ||
           (element == ELEMENT_F32 && inputs & (ONE(ELEMENT_F16) | ONE(ELEMENT_TF32))) ||
           (element == ELEMENT_F64 && inputs & ONE(ELEMENT_F64)) ||
           (element == ELEMENT_S32 &&
            inputs & (ONE(ELEMENT_S8) | ONE(ELEMENT_S4) | ONE(ELEMENT_B1)));
}

/* Parses ".a.sync.aligned.row.m16n16k16.global.f16" after "wmma.load" or "wmma.store". */
static bool parse_move_words(struct fth_ptx_statement *statement, bool load,
                             struct fth_ptx_wmma_move *move, struct fth_ptx_inst *inst)
{
    static const char *const roles[] = {"a", "b", "c"}, *const layouts[] = {"row", "col"};
    const int role = load                                ? fth_ptx_take_one_of(statement, roles, 3)
                     : fth_ptx_take_word(statement, "d") ? ROLE_C
                                                         : -1;
    if (role < 0 || !fth_ptx_take_word(statement, "sync") ||
        !fth_ptx_take_word(statement, "aligned"))
        return false;
    struct fragment *fragment = &move->fragment;
    const int layout = fth_ptx_take_one_of(statement, layouts, 2);
    fragment->role = (enum role)role;
    move->by_column = layout == 1;
    if (layout < 0 || !(fragment->shape = take_shape(statement)))
        return false;
    (void)fth_ptx_take_space(statement, &inst->space);
    if (!fth_ptx_take_element(statement, &fragment->element) ||
        statement->next_word != statement->word_count)
        return false;
    /* Elements of less than a byte have one layout. */
    const bool small = fth_ptx_element_bits(fragment->element) < 8;
    return role == ROLE_C ? can_accumulate(fragment->shape, fragment->element)
                          : (fragment->shape->elements & ONE(fragment->element)) &&
                                (!small || move->by_column == (role == ROLE_B));
}

static bool parse_move(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                       bool load, struct fth_ptx_inst *inst)
{
    struct fth_ptx_wmma_move *move = fth_arena_alloc(&parser->module->arena, sizeof *move);
    if (!move)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *move = (struct fth_ptx_wmma_move){.stride = NO_REGISTER};
    if (!parse_move_words(statement, load, move, inst))
        return fth_ptx_refuse(parser, statement);
    move->fragment.count = register_count(&move->fragment);
    const size_t registers = load ? 0 : 1;
    const int32_t *stride;
    if (statement->operand_count == 3) {
        if (!fth_ptx_take_registers(parser, statement, 2, 1, false, &stride))
            return false;
        move->stride = *stride;
    } else if (!fth_ptx_check_operand_count(parser, statement, 2)) {
        return false;
    }
    return fth_ptx_take_registers(parser, statement, registers, move->fragment.count, load,
                                  &move->fragment.rows) &&
           fth_ptx_take_address(parser, statement, 1 - registers, inst) &&
           fth_ptx_set_detail(parser, statement, load ? 1 : 0, &move->detail, inst) &&
           fth_ptx_converge(parser, load ? run_load : run_store, inst);
}

/* Parses ".sync.aligned.row.col.m16n16k16" and the types after "wmma.mma". With f16, only the types
 * of D and C are given. */
static bool parse_mma_words(struct fth_ptx_statement *statement, struct fth_ptx_wmma *wmma)
{
    static const char *const layouts[] = {"row", "col"}, *const operations[] = {"xor", "and"};
    struct fth_ptx_product *product = &wmma->product;
    const int operation = fth_ptx_take_one_of(statement, operations, 2);
    product->is_and = operation == 1;
    if ((operation >= 0 && !fth_ptx_take_word(statement, "popc")) ||
        !fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned") ||
        fth_ptx_take_one_of(statement, layouts, 2) < 0 ||
        fth_ptx_take_one_of(statement, layouts, 2) < 0)
        return false;
    const struct shape *shape = take_shape(statement);
    /* The rounding comes before the types in the PTX ISA, and after them in the PTX of nvcc. It is
     * the only one of a tensor core. */
    bool is_rounded = fth_ptx_take_word(statement, "rn");
    enum fth_ptx_element types[4];
    size_t count = 0;
    while (shape && count < 4 && fth_ptx_take_element(statement, &types[count]))
        count++;
    if (!shape || (count != 2 && count != 4))
        return false;
    wmma->d.element = types[0];
    wmma->c.element = types[count - 1];
    wmma->a.element = count == 4 ? types[1] : ELEMENT_F16;
    wmma->b.element = count == 4 ? types[2] : ELEMENT_F16;
    product->saturate = fth_ptx_take_word(statement, "satfinite");
    is_rounded = fth_ptx_take_word(statement, "rn") || is_rounded;
    product->a = wmma->a.element;
    product->b = wmma->b.element;
    product->c = wmma->c.element == ELEMENT_F16 ? wmma->d.element : wmma->c.element;
    product->in_halves = product->a == ELEMENT_TF32; /* as two instructions with half the depth */
    product->rows = shape->rows;
    product->columns = shape->columns;
    product->depth = shape->depth;
    wmma->a.shape = wmma->b.shape = wmma->c.shape = wmma->d.shape = shape;
    wmma->a.role = ROLE_A;
    wmma->b.role = ROLE_B;
    wmma->c.role = wmma->d.role = ROLE_C;
    return statement->next_word == statement->word_count && product->a == product->b &&
           shape->elements & ONE(product->a) && (operation >= 0) == (product->a == ELEMENT_B1) &&
           can_accumulate(shape, wmma->c.element) && can_accumulate(shape, wmma->d.element) &&
           (wmma->c.element == wmma->d.element || product->a == ELEMENT_F16) &&
           (!product->saturate || product->c == ELEMENT_S32) &&
           (!is_rounded || wmma->d.element == ELEMENT_F64);
}

static bool parse_mma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                      struct fth_ptx_inst *inst)
{
    struct fth_ptx_wmma *wmma = fth_arena_alloc(&parser->module->arena, sizeof *wmma);
    if (!wmma)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *wmma = (struct fth_ptx_wmma){.product = {.rows = 0}};
    if (!parse_mma_words(statement, wmma))
        return fth_ptx_refuse(parser, statement);
    struct fragment *const fragments[] = {&wmma->d, &wmma->a, &wmma->b, &wmma->c};
    if (!fth_ptx_check_operand_count(parser, statement, FTH_COUNT(fragments)))
        return false;
    for (size_t i = 0; i < FTH_COUNT(fragments); i++) {
        fragments[i]->count = register_count(fragments[i]);
        if (!fth_ptx_take_registers(parser, statement, i, fragments[i]->count, i == 0,
                                    &fragments[i]->rows))
            return false;
    }
    return fth_ptx_set_detail(parser, statement, 1, &wmma->detail, inst) &&
           fth_ptx_converge(parser, run_wmma, inst);
}

bool fth_ptx_family_wmma(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                         struct fth_ptx_inst *inst)
{
    if (fth_ptx_take_word(statement, "load"))
        return parse_move(parser, statement, true, inst);
    if (fth_ptx_take_word(statement, "store"))
        return parse_move(parser, statement, false, inst);
    if (fth_ptx_take_word(statement, "mma"))
        return parse_mma(parser, statement, inst);
    return fth_ptx_refuse(parser, statement);
}
