/* cp.async.bulk and cp.reduce.async.bulk: one thread copies a range of bytes between global memory
 * and the shared memory of the cluster, or adds it to the destination (PTX ISA, "Bulk copy"). An
 * mbarrier counts the bytes that have arrived in shared memory; a thread waits for groups of copies
 * to global memory. */
#include "ptx/async/async.h"

/* ---- copies ---- */

struct bulk_copy {
    struct fth_ptx_copy copy;
    uint8_t *to, *mbarrier; /* mbarrier: NULL: none */
    const uint8_t *from;
    uint32_t bytes;
    const struct fth_ptx_reduction *reduction; /* NULL: a plain copy */
    uint16_t mask;                             /* of the bytes of each 16 that are copied */
};

static bool execute_bulk(struct fth_ptx_copy *copy, uint32_t lanes)
{
    const struct bulk_copy *bulk = (const struct bulk_copy *)copy;
    if (copy->inst->slice & SLICE_SKIPS) {
        /* Only the completion matters. */
    } else if (bulk->reduction) {
        fth_ptx_reduce(bulk->reduction, bulk->to, bulk->from, bulk->bytes);
    } else if (bulk->mask == UINT16_MAX) {
        memmove(bulk->to, bulk->from, bulk->bytes);
    } else {
        for (uint32_t i = 0; i < bulk->bytes; i++)
            if (bulk->mask >> (i % 16) & 1)
                bulk->to[i] = bulk->from[i];
    }
    return fth_ptx_copy_arrived(copy, first_lane(lanes), bulk->mbarrier, bulk->bytes);
}

bool fth_ptx_copy_arrived(struct fth_ptx_copy *copy, int lane, uint8_t *mbarrier, uint64_t bytes)
{
    if (mbarrier && copy->operation)
        fth_hazard_count(copy, lane, mbarrier);
    if (!mbarrier || fth_ptx_mbarrier_add_bytes(mbarrier, -(int64_t)bytes))
        return true;
    fth_ptx_warp_fault(copy->warp, copy->inst, lane,
                       "the copy is complete, but its mbarrier is not initialised");
    return false;
}

uint64_t fth_ptx_address_in_block(const struct fth_ptx_warp *warp, uint64_t address, unsigned rank)
{
    const uint64_t offset = shared_offset(address);
    return warp->block->cluster->count == 1 ? offset
                                            : (rank + 1) * CLUSTER_WINDOW + offset % CLUSTER_WINDOW;
}

uint8_t *fth_ptx_resolve_mbarrier(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                  int lane, uint64_t address)
{
    uint64_t offset = shared_offset(address);
    struct fth_ptx_block *block = block_at(warp, offset);
    if (warp->block->cluster->count > 1)
        offset %= CLUSTER_WINDOW;
    if (!block || (!block->shared && !fth_ptx_reserve_shared(block)) || offset % 8 ||
        offset > block->shared_bytes || block->shared_bytes - offset < 8) {
        fth_ptx_warp_fault(
            warp, inst, lane,
            "the mbarrier at 0x%llx is not aligned to 8, or outside the shared memory",
            (unsigned long long)address);
        return NULL;
    }
    return block->shared + offset;
}

bool fth_ptx_notify_mbarrier(struct fth_ptx_warp *warp, uint64_t address, const uint8_t *mbarrier,
                             bool bulk)
{
    const uint64_t offset = shared_offset(address);
    return fth_ptx_notify_copies(
        warp, (struct fth_ptx_copy_event){.step = FTH_COPY_STEP_SIGNAL,
                                          .bulk = bulk,
                                          .mbarrier = offset % CLUSTER_WINDOW,
                                          .target = block_at(warp, offset)->rank,
                                          .parity = fth_ptx_mbarrier_parity(mbarrier)});
}

/* Issues the copy of one lane to one block: `target` is the rank of the block, or -1 for the one
 * that the address belongs to. Returns false after a fault. */
static bool issue(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane, int target)
{
    const struct fth_ptx_bulk *operands = (const struct fth_ptx_bulk *)inst->detail;
    uint64_t to = row(warp, operands->to)[lane] + (uint64_t)operands->to_offset;
    uint64_t from = row(warp, operands->from)[lane] + (uint64_t)operands->from_offset;
    const uint64_t bytes = (uint32_t)row(warp, operands->size)[lane];
    struct fth_ptx_block *to_block, *from_block;
    if (target >= 0)
        to = fth_ptx_address_in_block(warp, to, (unsigned)target);
    const uint8_t *source = fth_ptx_resolve_range(warp, inst, lane, operands->from_space, &from,
                                                  bytes, false, &from_block);
    uint8_t *destination = source ? fth_ptx_resolve_range(warp, inst, lane, operands->to_space, &to,
                                                          bytes, true, &to_block)
                                  : NULL;
    if (!destination)
        return false;
    uint8_t *mbarrier = NULL;
    uint64_t at = 0;
    if (operands->mbarrier != NO_REGISTER) {
        at = row(warp, operands->mbarrier)[lane] + (uint64_t)operands->mbarrier_offset;
        if (target >= 0)
            at = fth_ptx_address_in_block(warp, at, (unsigned)target);
        mbarrier = fth_ptx_resolve_mbarrier(warp, inst, lane, at);
        if (!mbarrier)
            return false;
    }
    const enum fth_ptx_access_kind writes =
        operands->reduces ? FTH_ACCESS_ATOMIC : FTH_ACCESS_WRITE;
    const bool masked = operands->mask != NO_REGISTER; /* parts of the destination are kept */
    const struct fth_ptx_range range = {.kind = from_block ? writes : FTH_ACCESS_READ,
                                        .address = from_block ? to : from,
                                        .bytes = bytes,
                                        .shared = from_block ? from : to,
                                        .multicast = operands->blocks != NO_REGISTER};
    const bool global = !from_block || !to_block;
    if ((global && !fth_ptx_notify_copied(warp, range)) ||
        !fth_ptx_notify_range(warp, inst, lane, from_block, from, bytes, FTH_ACCESS_READ) ||
        !(masked ? fth_ptx_observe_range(warp, inst, to_block, to, bytes, writes)
                 : fth_ptx_notify_range(warp, inst, lane, to_block, to, bytes, writes)) ||
        (mbarrier && !fth_ptx_notify_mbarrier(warp, at, mbarrier, true)))
        return false;
    struct bulk_copy *copy = fth_ptx_copy_create(warp, inst, COPY_BULK, 1u << lane, sizeof *copy);
    if (!copy)
        return false;
    copy->copy.execute = execute_bulk;
    copy->to = destination;
    copy->from = source;
    copy->bytes = (uint32_t)bytes;
    copy->mbarrier = mbarrier;
    copy->copy.signals = mbarrier != NULL;
    copy->reduction = operands->reduces ? &operands->reduction : NULL;
    copy->mask = masked ? (uint16_t)row(warp, operands->mask)[lane] : UINT16_MAX;
    fth_ptx_copy_issue(&copy->copy);
    return true;
}

void fth_ptx_issue_copies(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          int32_t blocks, uint32_t mask, fth_ptx_issue_copy *issue_copy)
{
    const uint32_t count = warp->block->cluster->count;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        if (blocks == NO_REGISTER) {
            if (!issue_copy(warp, inst, lane, -1))
                return;
            continue;
        }
        const uint16_t targets = (uint16_t)row(warp, blocks)[lane];
        for (unsigned rank = 0; rank < MAX_CLUSTER_BLOCKS; rank++) {
            if (!(targets >> rank & 1))
                continue;
            if (rank >= count) {
                fth_ptx_warp_fault(warp, inst, lane, "copy to block %u of a cluster of %u blocks",
                                   rank, count);
                return;
            }
            if (!issue_copy(warp, inst, lane, (int)rank))
                return;
        }
    }
}

static void run_bulk(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_bulk *operands = (const struct fth_ptx_bulk *)inst->detail;
    const bool within_cluster =
        operands->to_space == SPACE_CLUSTER && operands->from_space == FTH_SPACE_SHARED;
    if (within_cluster && !operands->reduces && !warp->block->run->cluster_is_explicit) {
        fth_ptx_warp_fault(warp, inst, first_lane(mask),
                           "a copy from shared memory to shared memory requires a launch with "
                           "clusters; a GPU ends the kernel with 'illegal instruction'");
        return;
    }
    fth_ptx_issue_copies(warp, inst, operands->blocks, mask, issue);
}

/* ---- groups ---- */

static void run_commit(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)inst;
    fth_ptx_copies_commit(warp, COPY_BULK, mask);
}

/* A wait for the sources to be read (.read, inst->mode) also executes the copies. */
static void run_wait(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t pending = (uint32_t)row(warp, inst->s[0])[first_lane(mask)];
    fth_ptx_copies_wait(
        warp, mask,
        &(struct fth_ptx_wait){.kind = COPY_BULK, .pending = pending, .reads = inst->mode});
}

/* ---- parsing ---- */

/* What the words of a bulk copy say. */
struct words {
    bool to_shared; /* with an mbarrier; otherwise, to global memory, with groups */
    bool multicast, hint, masked;
};

/* Parses ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
 * and the like. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_bulk *bulk,
                        struct words *words)
{
    if (!fth_ptx_take_space(statement, &bulk->to_space) ||
        !fth_ptx_take_space(statement, &bulk->from_space))
        return false;
    words->to_shared = fth_ptx_take_word(statement, "mbarrier::complete_tx::bytes");
    if (words->to_shared == (bulk->to_space == FTH_SPACE_GLOBAL) ||
        (!words->to_shared && !fth_ptx_take_word(statement, "bulk_group")) ||
        (bulk->to_space == FTH_SPACE_GLOBAL && bulk->from_space != FTH_SPACE_SHARED))
        return false;
    /* The address of the destination can be in any block of the cluster. */
    if (bulk->to_space == FTH_SPACE_SHARED)
        bulk->to_space = SPACE_CLUSTER;
    words->multicast = fth_ptx_take_word(statement, "multicast::cluster");
    words->hint = fth_ptx_take_word(statement, "L2::cache_hint");
    words->masked = fth_ptx_take_word(statement, "cp_mask");
    if (bulk->reduces && !fth_ptx_take_reduction(statement, &bulk->reduction))
        return false;
    return statement->next_word == statement->word_count;
}

bool fth_ptx_take_place(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t index, int32_t *row, int64_t *offset)
{
    struct fth_ptx_inst address = {.space = FTH_SPACE_GLOBAL};
    if (!fth_ptx_take_address(parser, statement, index, &address))
        return false;
    *row = address.s[0];
    *offset = address.offset;
    return true;
}

bool fth_ptx_take_row(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                      size_t index, int32_t *row)
{
    const int32_t *rows;
    if (!fth_ptx_take_registers(parser, statement, index, 1, false, &rows))
        return false;
    *row = *rows;
    return true;
}

static bool parse_copy(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                       bool reduces, struct fth_ptx_inst *inst)
{
    struct fth_ptx_bulk *bulk = fth_arena_alloc(&parser->module->arena, sizeof *bulk);
    struct words words;
    size_t next = 0;
    if (!bulk)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *bulk = (struct fth_ptx_bulk){
        .mbarrier = NO_REGISTER, .blocks = NO_REGISTER, .mask = NO_REGISTER, .reduces = reduces};
    if (!parse_words(statement, bulk, &words))
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_take_place(parser, statement, next++, &bulk->to, &bulk->to_offset) ||
        !fth_ptx_take_place(parser, statement, next++, &bulk->from, &bulk->from_offset) ||
        !fth_ptx_take_row(parser, statement, next++, &bulk->size))
        return false;
    if (words.to_shared &&
        !fth_ptx_take_place(parser, statement, next++, &bulk->mbarrier, &bulk->mbarrier_offset))
        return false;
    if (words.multicast && !fth_ptx_take_row(parser, statement, next++, &bulk->blocks))
        return false;
    next += words.hint; /* the cache policy has no effect */
    if (words.masked && !fth_ptx_take_row(parser, statement, next++, &bulk->mask))
        return false;
    inst->run = run_bulk;
    inst->async = words.to_shared ? ASYNC_COUNTED : ASYNC_BULK;
    inst->unit = FTH_UNIT_COPY_ENGINE;
    /* Copies pass the L1. */
    inst->cache_op = FTH_CACHE_CG;
    return fth_ptx_check_operand_count(parser, statement, next) &&
           fth_ptx_set_detail(parser, statement, 0, &bulk->detail, inst);
}

bool fth_ptx_family_bulk(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                         struct fth_ptx_inst *inst)
{
    if (fth_ptx_take_word(statement, "commit_group")) {
        inst->run = run_commit;
        return fth_ptx_check_operand_count(parser, statement, 0);
    }
    if (fth_ptx_take_word(statement, "wait_group")) {
        inst->mode = fth_ptx_take_word(statement, "read");
        inst->run = run_wait;
        return fth_ptx_check_operand_count(parser, statement, 1) &&
               fth_ptx_take_row(parser, statement, 0, &inst->s[0]);
    }
    if (fth_ptx_take_word(statement, "prefetch")) {
        inst->run = fth_ptx_run_nothing;
        return true;
    }
    if (fth_ptx_take_word(statement, "tensor"))
        return fth_ptx_parse_tensor_copy(parser, statement, false, inst);
    return parse_copy(parser, statement, false, inst);
}

bool fth_ptx_family_reduce(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                           struct fth_ptx_inst *inst)
{
    if (!fth_ptx_take_word(statement, "async") || !fth_ptx_take_word(statement, "bulk"))
        return fth_ptx_refuse(parser, statement);
    if (fth_ptx_take_word(statement, "tensor"))
        return fth_ptx_parse_tensor_copy(parser, statement, true, inst);
    return parse_copy(parser, statement, true, inst);
}
