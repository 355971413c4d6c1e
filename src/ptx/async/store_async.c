/* st.async and red.async: stores and reductions in the shared memory of another block of the
 * cluster, whose mbarrier counts the bytes that have arrived (PTX ISA, "st.async", "red.async"). */
#include "ptx/async/async.h"

enum { MAX_VECTOR = 4 };

struct fth_ptx_store_async {
    struct fth_ptx_detail detail;
    bool reduces;
    struct fth_ptx_reduction reduction; /* its type is also that of a store */
    unsigned count;                     /* of elements */
    const int32_t *values;
    int32_t mbarrier;
    int64_t mbarrier_offset;
};

struct waiting_store {
    struct fth_ptx_copy copy;
    unsigned bytes;
    uint8_t *to[LANES], *mbarriers[LANES];
    uint8_t data[LANES][MAX_VECTOR * sizeof(uint64_t)];
};

static bool execute(struct fth_ptx_copy *copy, uint32_t lanes)
{
    const struct waiting_store *store = (const struct waiting_store *)copy;
    const struct fth_ptx_store_async *operands =
        (const struct fth_ptx_store_async *)copy->inst->detail;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = first_lane(left);
        if (operands->reduces)
            fth_ptx_reduce(&operands->reduction, store->to[lane], store->data[lane], store->bytes);
        else
            memcpy(store->to[lane], store->data[lane], store->bytes);
        if (!fth_ptx_copy_arrived(copy, lane, store->mbarriers[lane], store->bytes))
            return false;
    }
    return true;
}

static void run_store(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_store_async *operands = (const struct fth_ptx_store_async *)inst->detail;
    const unsigned size = fth_ptx_type_bytes(operands->reduction.type);
    const uint32_t all = mask;
    struct waiting_store *store = fth_ptx_copy_create(warp, inst, COPY_BULK, mask, sizeof *store);
    if (!store)
        return;
    store->copy.execute = execute;
    store->copy.signals = true;
    store->bytes = size * operands->count;
    bool ok = true;
    while (mask && ok) {
        struct fth_ptx_lane_group group;
        ok = fth_ptx_resolve_group(warp, inst, &mask, store->bytes, true, &group) &&
             fth_ptx_notify_access(warp, inst, &group, store->bytes,
                                   operands->reduces ? FTH_ACCESS_ATOMIC : FTH_ACCESS_WRITE);
        if (ok)
            FOR_LANES(group.mask, store->to[lane] = group.host[lane];);
    }
    for (uint32_t left = ok ? all : 0; left; left &= left - 1) {
        const int lane = first_lane(left);
        const uint64_t at =
            row(warp, operands->mbarrier)[lane] + (uint64_t)operands->mbarrier_offset;
        store->mbarriers[lane] = fth_ptx_resolve_mbarrier(warp, inst, lane, at);
        ok = ok && store->mbarriers[lane] &&
             fth_ptx_notify_mbarrier(warp, at, store->mbarriers[lane], true);
        for (unsigned i = 0; i < operands->count; i++)
            memcpy(store->data[lane] + (size_t)i * size, &row(warp, operands->values[i])[lane],
                   size);
    }
    if (!ok)
        store->copy.lanes = 0; /* the queue frees it without executing it */
    fth_ptx_copy_issue(&store->copy);
}

/* ---- parsing ---- */

bool fth_ptx_is_store_async(const struct fth_ptx_statement *statement)
{
    return (strcmp(statement->base, "st") == 0 || strcmp(statement->base, "red") == 0) &&
           fth_ptx_has_word(statement, "async");
}

/* Parses ".async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32" and, for red,
 * ".async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32": the words in any
 * order up to the operation and the type. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_store_async *store,
                        uint8_t *space)
{
    static const char *const ignored[] = {"weak", "relaxed", "cluster"};
    static const char *const vectors[] = {"v2", "v4"};
    bool completes = false;
    if (!fth_ptx_take_word(statement, "async"))
        return false;
    for (;;) {
        const size_t before = statement->next_word;
        (void)fth_ptx_take_one_of(statement, ignored, FTH_COUNT(ignored));
        (void)fth_ptx_take_space(statement, space);
        completes = fth_ptx_take_word(statement, "mbarrier::complete_tx::bytes") || completes;
        if (statement->next_word == before)
            break;
    }
    const int vector = store->reduces ? -1 : fth_ptx_take_one_of(statement, vectors, 2);
    store->count = vector < 0 ? 1 : 2u << vector;
    const bool types = store->reduces ? fth_ptx_take_reduction(statement, &store->reduction)
                                      : fth_ptx_take_reduction_type(statement, &store->reduction);
    return completes && types && statement->next_word == statement->word_count &&
           (*space == SPACE_CLUSTER || *space == FTH_SPACE_GENERIC) &&
           fth_ptx_type_bytes(store->reduction.type) >= 4;
}

bool fth_ptx_family_store_async(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                                struct fth_ptx_inst *inst)
{
    struct fth_ptx_store_async *store = fth_arena_alloc(&parser->module->arena, sizeof *store);
    if (!store)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *store = (struct fth_ptx_store_async){.reduces = statement->base[0] == 'r'};
    if (!parse_words(statement, store, &inst->space))
        return fth_ptx_refuse(parser, statement);
    inst->run = run_store;
    inst->async = ASYNC_COUNTED;
    return fth_ptx_check_operand_count(parser, statement, 3) &&
           fth_ptx_take_address(parser, statement, 0, inst) &&
           fth_ptx_take_registers(parser, statement, 1, store->count, false, &store->values) &&
           fth_ptx_take_place(parser, statement, 2, &store->mbarrier, &store->mbarrier_offset) &&
           fth_ptx_set_detail(parser, statement, 0, &store->detail, inst);
}
