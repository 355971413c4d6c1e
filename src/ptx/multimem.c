/* multimem: accesses to a multicast object, memory that several devices hold a copy of (PTX ISA,
 * "multimem").
 *
 *     multimem.ld_reduce.relaxed.gpu.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%rd]
 *     multimem.st.weak.global.u32 [%rd], %r
 *     multimem.red.relaxed.gpu.global.add.u64 [%rd], %rd2
 *
 * The engine has one device, and any global address counts as that of a multicast object of this
 * device. A load therefore returns the value in memory, since there is only one value to combine; a
 * store and a reduction change it. */
#include "ptx/async/async.h"

enum { MAX_VECTOR = 8, MAX_BYTES = 16 };

enum multimem_kind { LOAD, STORE, REDUCE };

struct fth_ptx_multimem {
    struct fth_ptx_detail detail;
    enum multimem_kind kind;
    struct fth_ptx_reduction reduction; /* its type is also that of a load or store */
    unsigned count;                     /* of elements */
    const int32_t *rows;                /* results of a load, sources of the others */
};

/* ---- execution ---- */

static void access_lane(struct fth_ptx_warp *warp, const struct fth_ptx_multimem *operands,
                        int lane, uint8_t *host)
{
    const unsigned bytes = fth_ptx_type_bytes(operands->reduction.type);
    for (unsigned i = 0; i < operands->count; i++) {
        uint8_t *place = host + (size_t)i * bytes;
        uint64_t value = 0;
        if (operands->kind != LOAD)
            value = row(warp, operands->rows[i])[lane];
        if (operands->kind == REDUCE) {
            (void)fth_ptx_update(operands->reduction.type, operands->reduction.op, place, value, 0,
                                 true);
        } else if (operands->kind == STORE) {
            memcpy(place, &value, bytes);
        } else if (operands->rows[i] >= 0) { /* not "_" */
            memcpy(&value, place, bytes);
            out_row(warp, operands->rows[i])[lane] = value;
        }
    }
}

static void run_multimem(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    static const enum fth_ptx_access_kind accesses[] = {
        [LOAD] = FTH_ACCESS_READ, [STORE] = FTH_ACCESS_WRITE, [REDUCE] = FTH_ACCESS_ATOMIC};
    const struct fth_ptx_multimem *operands = (const struct fth_ptx_multimem *)inst->detail;
    const unsigned bytes = operands->count * fth_ptx_type_bytes(operands->reduction.type);
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, bytes, operands->kind != LOAD, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, bytes, accesses[operands->kind]))
            return;
        FOR_LANES(group.mask, access_lane(warp, operands, lane, group.host[lane]););
    }
}

/* ---- parsing ---- */

/* Returns true if the instruction combines values of this type in this way. */
static bool combines(const struct fth_ptx_multimem *operands)
{
    const enum fth_ptx_type type = operands->reduction.type;
    switch (operands->reduction.op) {
    case A_ADD: return type != T_S64 && type != T_B32 && type != T_B64;
    case A_MIN:
    case A_MAX: return type != T_F32 && type != T_F64 && type != T_B32 && type != T_B64;
    case A_AND:
    case A_OR:
    case A_XOR: return type == T_B32 || type == T_B64;
    default: return false;
    }
}

/* Returns true if a vector can have `count` elements of the type. Integers and f64 have no vectors,
 * and single 16-bit numbers are always in vectors. */
static bool has_vector(enum fth_ptx_type type, unsigned count)
{
    const unsigned bytes = fth_ptx_type_bytes(type);
    if (bytes == 2)
        return count > 1 && count * bytes <= MAX_BYTES;
    return count == 1 || (fth_ptx_type_is_float(type) && bytes == 4 && count * bytes <= MAX_BYTES);
}

/* Parses ".relaxed.gpu.global.add.acc::f32.v4.f16x2" and the like. The memory order and the scope
 * have no effect, and neither has the precision of a sum of one value. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_multimem *operands)
{
    static const char *const kinds[] = {[LOAD] = "ld_reduce", [STORE] = "st", [REDUCE] = "red"};
    static const char *const orders[] = {"weak", "relaxed", "acquire", "release"};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    static const char *const vectors[] = {"v2", "v4", "v8"};
    struct fth_ptx_reduction *reduction = &operands->reduction;
    const int kind = fth_ptx_take_one_of(statement, kinds, FTH_COUNT(kinds));
    if (kind < 0)
        return false;
    operands->kind = (enum multimem_kind)kind;
    (void)fth_ptx_take_one_of(statement, orders, FTH_COUNT(orders));
    (void)fth_ptx_take_one_of(statement, scopes, FTH_COUNT(scopes));
    (void)fth_ptx_take_word(statement, "global");
    if (kind != STORE && !fth_ptx_take_reduction_op(statement, reduction))
        return false;
    const bool wider = kind == LOAD && fth_ptx_take_word(statement, "acc::f32");
    const int vector = fth_ptx_take_one_of(statement, vectors, FTH_COUNT(vectors));
    operands->count = vector < 0 ? 1 : 2u << vector;
    const size_t type = statement->next_word;
    if (fth_ptx_take_word(statement, "f16x2"))
        reduction->type = T_F16X2;
    else if (fth_ptx_take_word(statement, "bf16x2"))
        reduction->type = T_BF16X2;
    else if (!fth_ptx_take_reduction_type(statement, reduction))
        return false;
    const bool half = fth_ptx_type_is_float(reduction->type) && reduction->type != T_F32 &&
                      reduction->type != T_F64;
    if (has_vector(reduction->type, operands->count) && (kind == STORE || combines(operands)) &&
        (!wider || (half && reduction->op == A_ADD)))
        return statement->next_word == statement->word_count;
    statement->next_word = type; /* the error names the type */
    return false;
}

bool fth_ptx_family_multimem(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                             struct fth_ptx_inst *inst)
{
    struct fth_ptx_multimem *operands = fth_arena_alloc(&parser->module->arena, sizeof *operands);
    if (!operands)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *operands = (struct fth_ptx_multimem){.count = 0};
    if (!parse_words(statement, operands))
        return fth_ptx_refuse(parser, statement);
    const bool loads = operands->kind == LOAD;
    inst->space = FTH_SPACE_GLOBAL;
    inst->cache_op = FTH_CACHE_CG; /* the L2 combines the values */
    inst->run = run_multimem;
    return fth_ptx_check_operand_count(parser, statement, 2) &&
           fth_ptx_take_address(parser, statement, loads ? 1 : 0, inst) &&
           fth_ptx_take_registers(parser, statement, loads ? 0 : 1, operands->count, loads,
                                  &operands->rows) &&
           fth_ptx_set_detail(parser, statement, loads ? 1 : 0, &operands->detail, inst);
}
