/* Moves and atomic operations on registers of 128 bits, and atomic operations on vectors.
 *
 *     mov.b128 %rq, {%lo, %hi}                   mov.b128 {%lo, %hi}, %rq
 *     atom.global.cas.b128 %rq0, [%rd], %rq1, %rq2
 *     red.global.add.v4.f32 [%rd], {%f0, %f1, %f2, %f3}
 *
 * A register of 128 bits is two rows: the low and the high half. As an operand, it is a vector of
 * both. Loads and stores of 128 bits are those of two 64-bit elements. */
#include "ptx/execute/address.h"
#include "ptx/parse/operand.h"

#include <pthread.h>

enum { HALVES = 2, MAX_VECTOR = 8 };

/* The operands of an atomic operation: `count` elements of `type`, or one of 128 bits. */
struct fth_ptx_wide {
    struct fth_ptx_detail detail;
    enum fth_ptx_atomic_op op;
    enum fth_ptx_type type;
    unsigned count;                                      /* rows of each operand below */
    int32_t d[MAX_VECTOR], b[MAX_VECTOR], c[MAX_VECTOR]; /* d: NO_REGISTER: none; c: of cas */
};

/* ---- execution ---- */

static void run_mov(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t values[HALVES][LANES];
    for (int h = 0; h < HALVES; h++)
        memcpy(values[h], row(warp, inst->s[h]), sizeof values[h]);
    for (int h = 0; h < HALVES; h++)
        if (inst->d[h] >= 0) { /* not "_" */
            uint64_t *rd = out_row(warp, inst->d[h]);
            FOR_LANES(mask, rd[lane] = values[h][lane];);
        }
}

/* Exchanges 16 bytes; with cas, only if they are the same as `b`. The launch has one lock for this:
 * not all hosts have an atomic operation of this size. */
static void exchange(struct fth_ptx_run *run, uint8_t *host, const uint64_t *compared,
                     const uint64_t stored[HALVES], uint64_t old[HALVES])
{
    pthread_mutex_lock(run->lock);
    memcpy(old, host, HALVES * sizeof *old);
    if (!compared || memcmp(old, compared, HALVES * sizeof *old) == 0)
        memcpy(host, stored, HALVES * sizeof *old);
    pthread_mutex_unlock(run->lock);
}

static void update_lane(struct fth_ptx_warp *warp, const struct fth_ptx_wide *wide, int lane,
                        uint8_t *host, bool global, uint64_t old[MAX_VECTOR])
{
    uint64_t b[MAX_VECTOR], c[HALVES] = {0, 0};
    for (unsigned i = 0; i < wide->count; i++)
        b[i] = row(warp, wide->b[i])[lane];
    if (wide->type == T_B128) {
        for (unsigned i = 0; wide->op == A_CAS && i < HALVES; i++)
            c[i] = row(warp, wide->c[i])[lane];
        exchange(warp->block->run, host, wide->op == A_CAS ? b : NULL, wide->op == A_CAS ? c : b,
                 old);
        return;
    }
    const unsigned bytes = fth_ptx_type_bytes(wide->type);
    for (unsigned i = 0; i < wide->count; i++)
        old[i] = fth_ptx_update(wide->type, wide->op, host + (size_t)i * bytes, b[i], 0, global);
}

static void run_atomic(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_wide *wide = (const struct fth_ptx_wide *)inst->detail;
    const unsigned bytes = wide->type == T_B128 ? 16 : wide->count * fth_ptx_type_bytes(wide->type);
    uint64_t old[LANES][MAX_VECTOR] = {{0}};
    const uint32_t all = mask;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, bytes, true, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, bytes, FTH_ACCESS_ATOMIC))
            return;
        const bool global = group.space == FTH_SPACE_GLOBAL;
        FOR_LANES(group.mask, update_lane(warp, wide, lane, group.host[lane], global, old[lane]););
    }
    for (unsigned i = 0; i < wide->count; i++)
        if (wide->d[i] >= 0) {
            uint64_t *rd = out_row(warp, wide->d[i]);
            FOR_LANES(all, rd[lane] = old[lane][i];);
        }
}

/* ---- parsing ---- */

bool fth_ptx_is_wide(const struct fth_ptx_statement *statement)
{
    const bool atomic = strcmp(statement->base, "atom") == 0 || strcmp(statement->base, "red") == 0;
    if (strcmp(statement->base, "mov") == 0 || atomic) {
        if (fth_ptx_has_word(statement, "b128"))
            return true;
    }
    return atomic && (fth_ptx_has_word(statement, "v2") || fth_ptx_has_word(statement, "v4") ||
                      fth_ptx_has_word(statement, "v8"));
}

static bool parse_mov(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                      struct fth_ptx_inst *inst)
{
    const int32_t *to, *from;
    if (!fth_ptx_check_operand_count(parser, statement, 2) ||
        !fth_ptx_take_registers(parser, statement, 0, HALVES, true, &to) ||
        !fth_ptx_take_registers(parser, statement, 1, HALVES, false, &from))
        return false;
    memcpy(inst->d, to, HALVES * sizeof *to);
    memcpy(inst->s, from, HALVES * sizeof *from);
    inst->run = run_mov;
    return true;
}

/* Parses the words of an atomic operation in any order: memory order, scope and cache hints have no
 * effect. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_wide *wide,
                        uint8_t *space, bool *hint)
{
    static const char *const ignored[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                          "cluster", "gpu",     "sys",     "noftz"};
    static const char *const vectors[] = {"v2", "v4", "v8"};
    static const struct {
        const char *word;
        enum fth_ptx_atomic_op op;
    } ops[] = {{"add", A_ADD}, {"min", A_MIN}, {"max", A_MAX}, {"exch", A_EXCH}, {"cas", A_CAS}};
    static const struct {
        const char *word;
        enum fth_ptx_type type;
    } types[] = {{"f32", T_F32},     {"f16", T_F16},       {"bf16", T_BF16},
                 {"f16x2", T_F16X2}, {"bf16x2", T_BF16X2}, {"b128", T_B128}};
    while (statement->next_word < statement->word_count) {
        const size_t before = statement->next_word;
        int found;
        (void)fth_ptx_take_one_of(statement, ignored, FTH_COUNT(ignored));
        (void)fth_ptx_take_space(statement, space);
        if (fth_ptx_take_word(statement, "L2::cache_hint"))
            *hint = true;
        if ((found = fth_ptx_take_one_of(statement, vectors, FTH_COUNT(vectors))) >= 0)
            wide->count = 2u << found;
        for (size_t i = 0; i < FTH_COUNT(ops); i++)
            if (fth_ptx_take_word(statement, ops[i].word))
                wide->op = ops[i].op;
        for (size_t i = 0; i < FTH_COUNT(types); i++)
            if (fth_ptx_take_word(statement, types[i].word))
                wide->type = types[i].type;
        if (statement->next_word == before)
            return false;
    }
    if (wide->type == T_B128)
        return wide->count == 0 && (wide->op == A_EXCH || wide->op == A_CAS);
    const unsigned bytes = wide->count * fth_ptx_type_bytes(wide->type);
    return wide->count && bytes && bytes <= 16 &&
           (wide->op == A_ADD || ((wide->op == A_MIN || wide->op == A_MAX) && wide->type != T_F32));
}

static bool take_vector(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t index, bool result, unsigned count, int32_t *rows)
{
    const int32_t *found;
    if (!fth_ptx_take_registers(parser, statement, index, count, result, &found))
        return false;
    memcpy(rows, found, count * sizeof *rows);
    return true;
}

bool fth_ptx_family_wide(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                         struct fth_ptx_inst *inst)
{
    if (strcmp(statement->base, "mov") == 0)
        return parse_mov(parser, statement, inst);
    struct fth_ptx_wide *wide = fth_arena_alloc(&parser->module->arena, sizeof *wide);
    const bool has_result = strcmp(statement->base, "atom") == 0;
    bool hint = false;
    if (!wide)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *wide = (struct fth_ptx_wide){.op = A_NONE, .type = T_NONE};
    if (!parse_words(statement, wide, &inst->space, &hint))
        return fth_ptx_refuse(parser, statement);
    if (wide->type == T_B128)
        wide->count = HALVES;
    for (unsigned i = 0; i < MAX_VECTOR; i++)
        wide->d[i] = NO_REGISTER;
    size_t next = has_result ? 1 : 0;
    const bool sink =
        has_result && statement->operand_count && statement->operands[0].kind == OPERAND_SINK;
    if (has_result && !sink && !take_vector(parser, statement, 0, true, wide->count, wide->d))
        return false;
    if (!fth_ptx_take_address(parser, statement, next++, inst) ||
        !take_vector(parser, statement, next++, false, wide->count, wide->b) ||
        (wide->op == A_CAS && !take_vector(parser, statement, next++, false, wide->count, wide->c)))
        return false;
    inst->run = run_atomic;
    return fth_ptx_check_operand_count(parser, statement, next + hint) &&
           fth_ptx_set_detail(parser, statement, has_result ? 1 : 0, &wide->detail, inst);
}
