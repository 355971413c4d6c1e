/* cp.async: each thread copies 4, 8 or 16 bytes from global to shared memory (PTX ISA, "Non-bulk
 * copy"). A thread waits for groups of its copies, or lets an mbarrier count their completion. */
#include "ptx/async/async.h"

/* The instructions, in the field `mode`. */
enum operation { COPY, COMMIT, WAIT_GROUP, WAIT_ALL, MBARRIER, MBARRIER_NOINC };

/* ---- copies ---- */

struct thread_copy {
    struct fth_ptx_copy copy;
    unsigned bytes;
    uint8_t *to[LANES];
    const uint8_t *from[LANES];
    uint8_t sizes[LANES]; /* bytes that are copied; the others become zero */
};

static bool execute_copy(struct fth_ptx_copy *copy, uint32_t lanes)
{
    const struct thread_copy *thread = (const struct thread_copy *)copy;
    if (copy->inst->slice & SLICE_SKIPS)
        return true;
    FOR_LANES(lanes, {
        memset(thread->to[lane], 0, thread->bytes);
        if (thread->sizes[lane])
            memcpy(thread->to[lane], thread->from[lane], thread->sizes[lane]);
    });
    return true;
}

/* The number of bytes that each lane copies: all, those of the fourth operand, or none if the
 * fourth operand is a predicate that is true. */
static unsigned size_of(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        unsigned bytes)
{
    if (inst->predicate != UINT32_MAX)
        return source_predicate(warp, inst) >> lane & 1 ? 0 : bytes;
    const uint64_t size = inst->s[3] != NO_REGISTER ? (uint32_t)row(warp, inst->s[3])[lane] : bytes;
    return size < bytes ? (unsigned)size : bytes;
}

/* Finds the sources of the lanes of copy->sizes, and reports the access. A lane that copies no
 * bytes has no source, so its address can be anything. Returns false after a fault. */
static bool find_sources(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask,
                         const uint64_t *destinations, struct thread_copy *copy)
{
    struct fth_ptx_inst load = *inst;
    load.space = FTH_SPACE_GLOBAL;
    load.s[0] = inst->s[1];
    load.offset = inst->offset2;
    uint32_t whole = 0, parts = 0; /* lanes that copy all bytes, and only some of them */
    FOR_LANES(mask, {
        whole |= (uint32_t)(copy->sizes[lane] == copy->bytes) << lane;
        parts |= (uint32_t)(copy->sizes[lane] && copy->sizes[lane] < copy->bytes) << lane;
    });
    /* The space is fixed, so the first group contains all lanes. */
    struct fth_ptx_lane_group from = {.space = FTH_SPACE_GLOBAL, .block = warp->block};
    uint32_t left = whole;
    if (whole && !fth_ptx_resolve_group(warp, &load, &left, copy->bytes, false, &from))
        return false;
    FOR_LANES(whole, copy->from[lane] = from.host[lane];);
    const uint64_t *base = row(warp, inst->s[1]);
    for (left = parts; left; left &= left - 1) {
        const int lane = first_lane(left);
        from.addresses[lane] = base[lane] + (uint64_t)inst->offset2;
        copy->from[lane] =
            fth_ptx_resolve_global(warp, inst, lane, from.addresses[lane], copy->sizes[lane]);
        if (!copy->from[lane])
            return false;
    }
    from.mask = whole | parts;
    return !from.mask || fth_ptx_notify_sources(warp, &load, &from, copy->bytes, destinations);
}

static void run_copy(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const unsigned bytes = (unsigned)row(warp, inst->s[2])[first_lane(mask)];
    if (bytes != 4 && bytes != 8 && bytes != 16) {
        fth_ptx_warp_fault(warp, inst, first_lane(mask),
                           "cp.async of %u bytes; it must be 4, 8 or 16", bytes);
        return;
    }
    struct fth_ptx_inst store = *inst;
    store.space = FTH_SPACE_SHARED;
    /* The space is fixed, so the first group contains all lanes. */
    struct fth_ptx_lane_group to;
    uint32_t lanes = mask;
    if (!fth_ptx_resolve_group(warp, &store, &lanes, bytes, true, &to))
        return;
    struct thread_copy *copy = fth_ptx_copy_create(warp, inst, COPY_THREAD, mask, sizeof *copy);
    if (!copy)
        return;
    copy->copy.execute = execute_copy;
    copy->bytes = bytes;
    FOR_LANES(mask, {
        copy->to[lane] = to.host[lane];
        copy->sizes[lane] = (uint8_t)size_of(warp, inst, lane, bytes);
    });
    if (!find_sources(warp, inst, mask, to.addresses, copy) ||
        !fth_ptx_notify_access(warp, &store, &to, bytes, FTH_ACCESS_WRITE))
        copy->copy.lanes = 0; /* the queue frees it without executing it */
    fth_ptx_copy_issue(&copy->copy);
}

static void run_group(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    if (inst->mode == COMMIT) {
        fth_ptx_copies_commit(warp, COPY_THREAD, mask);
        return;
    }
    const bool all = inst->mode == WAIT_ALL;
    const uint64_t pending = all ? 0 : (uint32_t)row(warp, inst->s[0])[first_lane(mask)];
    fth_ptx_copies_wait(
        warp, mask,
        &(struct fth_ptx_wait){.kind = COPY_THREAD, .pending = pending, .uncommitted = all});
}

/* ---- arrivals at an mbarrier when the copies before are complete ---- */

struct arrival {
    struct fth_ptx_copy copy;
    uint8_t *mbarriers[LANES];
};

static bool execute_arrival(struct fth_ptx_copy *copy, uint32_t lanes)
{
    const struct arrival *arrival = (const struct arrival *)copy;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = first_lane(left);
        if (!fth_ptx_mbarrier_arrive(arrival->mbarriers[lane], 1)) {
            fth_ptx_warp_fault(copy->warp, copy->inst, lane,
                               "arrives at an mbarrier that expects no more arrivals");
            return false;
        }
        if (copy->warp->block->run->check_async)
            fth_hazard_count(copy, lane, arrival->mbarriers[lane]);
    }
    return true;
}

static void run_arrival(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    struct arrival *arrival = fth_ptx_copy_create(warp, inst, COPY_THREAD, mask, sizeof *arrival);
    if (!arrival)
        return;
    arrival->copy.execute = execute_arrival;
    arrival->copy.last = arrival->copy.signals = true;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, sizeof(uint64_t), true, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, sizeof(uint64_t), FTH_ACCESS_ATOMIC)) {
            arrival->copy.lanes = 0;
            break;
        }
        FOR_LANES(group.mask, arrival->mbarriers[lane] = group.host[lane];);
        for (uint32_t left = group.mask; left; left &= left - 1)
            if (!fth_ptx_notify_mbarrier(warp, group.addresses[first_lane(left)],
                                         group.host[first_lane(left)], false))
                arrival->copy.lanes = 0;
    }
    /* Without .noinc, the arrivals are additional to those that the mbarrier waits for. */
    for (uint32_t left = inst->mode == MBARRIER ? arrival->copy.lanes : 0; left; left &= left - 1)
        if (!fth_ptx_mbarrier_expect(arrival->mbarriers[first_lane(left)], 1)) {
            fth_ptx_warp_fault(warp, inst, first_lane(left), "this is not an mbarrier");
            arrival->copy.lanes = 0;
            break;
        }
    fth_ptx_copy_issue(&arrival->copy);
}

/* ---- parsing ---- */

/* Parses ".ca.shared.global.L2::128B" after "cp.async". */
static bool parse_copy_words(struct fth_ptx_statement *statement, struct fth_ptx_inst *inst)
{
    static const char *const caches[] = {"ca", "cg"}, *const prefetches[] = {"L2::64B", "L2::128B",
                                                                             "L2::256B"};
    const int cache = fth_ptx_take_one_of(statement, caches, 2);
    inst->cache_op = cache == 0 ? FTH_CACHE_CA : FTH_CACHE_CG;
    uint8_t to = 0, from = 0;
    if (cache < 0 || !fth_ptx_take_space(statement, &to) || !fth_ptx_take_space(statement, &from) ||
        to != FTH_SPACE_SHARED || from != FTH_SPACE_GLOBAL)
        return false;
    (void)fth_ptx_take_word(statement, "L2::cache_hint");
    const int prefetch = fth_ptx_take_one_of(statement, prefetches, FTH_COUNT(prefetches));
    inst->l2_bytes = prefetch < 0 ? 0 : (uint16_t)(64 << prefetch);
    return true;
}

/* Parses "[to], [from], size", and what can follow: the size of the source or a predicate, and a
 * cache policy, which has no effect. */
static bool parse_copy_operands(struct fth_ptx_parser *parser,
                                const struct fth_ptx_statement *statement,
                                struct fth_ptx_inst *inst)
{
    const int32_t *rows;
    struct fth_ptx_inst source = *inst;
    const bool hint = fth_ptx_has_word(statement, "L2::cache_hint");
    if (statement->operand_count < 3 || statement->operand_count > (hint ? 5 : 4))
        return fth_ptx_check_operand_count(parser, statement, 3);
    if (!fth_ptx_take_address(parser, statement, 1, &source) ||
        !fth_ptx_take_address(parser, statement, 0, inst) ||
        !fth_ptx_take_registers(parser, statement, 2, 1, false, &rows))
        return false;
    inst->s[1] = source.s[0];
    inst->offset2 = source.offset;
    inst->s[2] = *rows;
    if (statement->operand_count == 3)
        return true;
    const struct fth_ptx_operand *fourth = &statement->operands[3];
    if (hint && statement->operand_count == 4)
        return true; /* the fourth operand is the cache policy */
    if (fourth->kind == OPERAND_PREDICATE) {
        inst->predicate = fourth->predicate;
        inst->negated = fourth->negated;
        return true;
    }
    if (!fth_ptx_take_registers(parser, statement, 3, 1, false, &rows))
        return false;
    inst->s[3] = *rows;
    return true;
}

/* Parses ".arrive.noinc.shared.b64 [mbarrier]" after "cp.async.mbarrier". */
static bool parse_arrival(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    if (!fth_ptx_take_word(statement, "arrive"))
        return fth_ptx_refuse(parser, statement);
    inst->mode = fth_ptx_take_word(statement, "noinc") ? MBARRIER_NOINC : MBARRIER;
    (void)fth_ptx_take_space(statement, &inst->space);
    if (!fth_ptx_take_word(statement, "b64") || statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    inst->run = run_arrival;
    inst->unit = FTH_UNIT_BARRIER;
    return fth_ptx_check_operand_count(parser, statement, 1) &&
           fth_ptx_take_address(parser, statement, 0, inst);
}

bool fth_ptx_family_cp(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                       struct fth_ptx_inst *inst)
{
    static const char *const groups[] = {"commit_group", "wait_group", "wait_all"};
    if (fth_ptx_take_word(statement, "reduce"))
        return fth_ptx_family_reduce(parser, statement, inst);
    if (!fth_ptx_take_word(statement, "async"))
        return fth_ptx_refuse(parser, statement);
    if (fth_ptx_take_word(statement, "bulk"))
        return fth_ptx_family_bulk(parser, statement, inst);
    if (fth_ptx_take_word(statement, "mbarrier"))
        return parse_arrival(parser, statement, inst);
    const int group = fth_ptx_take_one_of(statement, groups, FTH_COUNT(groups));
    if (group < 0) {
        inst->mode = COPY;
        inst->async = ASYNC_THREAD;
        inst->run = run_copy;
        inst->unit = FTH_UNIT_LANE_COPY;
        if (!parse_copy_words(statement, inst) || statement->next_word != statement->word_count)
            return fth_ptx_refuse(parser, statement);
        return parse_copy_operands(parser, statement, inst);
    }
    inst->mode = (uint8_t)(COMMIT + group);
    inst->run = run_group;
    if (statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_check_operand_count(parser, statement, inst->mode == WAIT_GROUP ? 1 : 0))
        return false;
    const int32_t *rows;
    if (inst->mode != WAIT_GROUP)
        return true;
    if (!fth_ptx_take_registers(parser, statement, 0, 1, false, &rows))
        return false;
    inst->s[0] = *rows;
    return true;
}
