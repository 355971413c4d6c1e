/* mbarrier: barriers in shared memory, which count arrivals of threads and bytes of asynchronous
 * copies (PTX ISA, "mbarrier").
 *
 * An mbarrier is an object of 64 bits. PTX leaves its contents open; those of the engine are:
 *
 *     bits  0-19  arrivals that the current phase still waits for
 *     bits 20-39  arrivals that the next phase will wait for
 *     bits 40-60  bytes that the current phase still waits for, from -2^20 on
 *     bit  61     parity of the current phase: 0 for the first one
 *     bits 62-63  the binary number 10, which distinguishes an mbarrier from zeros
 *
 * A phase is complete when it waits neither for arrivals nor for bytes. Then the next phase begins.
 * All blocks of a cluster run on one host thread, so that no access needs to be atomic. */
#include "ptx/async/async.h"

enum { COUNT_BITS = 20, MAX_COUNT = (1 << COUNT_BITS) - 1, BYTES_BIAS = 1 << 20 };
#define VALID ((uint64_t)2 << 62)

struct state {
    uint64_t pending, expected;
    int64_t bytes;
    unsigned parity;
};

static uint64_t encode(const struct state *state)
{
    return VALID | (uint64_t)state->parity << 61 | (uint64_t)(state->bytes + BYTES_BIAS) << 40 |
           state->expected << COUNT_BITS | state->pending;
}

static bool decode(uint64_t bits, struct state *state)
{
    state->pending = bits & MAX_COUNT;
    state->expected = bits >> COUNT_BITS & MAX_COUNT;
    state->bytes = (int64_t)(bits >> 40 & (2 * BYTES_BIAS - 1)) - BYTES_BIAS;
    state->parity = bits >> 61 & 1;
    return bits >> 62 == 2;
}

static bool load(const uint8_t *mbarrier, struct state *state)
{
    uint64_t bits;
    memcpy(&bits, mbarrier, sizeof bits);
    return decode(bits, state);
}

/* Stores the state; begins the next phase if the current one is complete. */
static void store(uint8_t *mbarrier, struct state *state)
{
    if (state->pending == 0 && state->bytes == 0) {
        state->pending = state->expected;
        state->parity ^= 1;
    }
    const uint64_t bits = encode(state);
    memcpy(mbarrier, &bits, sizeof bits);
}

bool fth_ptx_mbarrier_add_bytes(uint8_t *mbarrier, int64_t bytes)
{
    struct state state;
    if (!load(mbarrier, &state) || state.bytes + bytes <= -BYTES_BIAS ||
        state.bytes + bytes >= BYTES_BIAS)
        return false;
    state.bytes += bytes;
    store(mbarrier, &state);
    return true;
}

bool fth_ptx_mbarrier_arrive(uint8_t *mbarrier, uint64_t count)
{
    struct state state;
    if (!load(mbarrier, &state) || count > state.pending)
        return false;
    state.pending -= count;
    store(mbarrier, &state);
    return true;
}

unsigned fth_ptx_mbarrier_parity(const uint8_t *mbarrier)
{
    struct state state;
    return load(mbarrier, &state) ? state.parity : 0;
}

bool fth_ptx_mbarrier_expect(uint8_t *mbarrier, uint64_t count)
{
    struct state state;
    if (!load(mbarrier, &state) || state.pending + count > MAX_COUNT)
        return false;
    state.pending += count;
    const uint64_t bits = encode(&state);
    memcpy(mbarrier, &bits, sizeof bits);
    return true;
}

/* ---- instructions ---- */

/* The instructions, in the field `mode`. */
enum operation { INIT, INVAL, ARRIVE, ARRIVE_DROP, EXPECT, COMPLETE, TEST, TRY, PENDING };
/* Variants, in the field `flags`: mbarrier.arrive.expect_tx, .noComplete, and waits for a parity.
 */
enum { WITH_BYTES = 1, NO_COMPLETE = 2, PARITY = 4 };

static const char not_initialised[] = "this is not an mbarrier; mbarrier.init makes one";
static const char too_many_bytes[] =
    "this is not an mbarrier, or the bytes that it waits for exceed 1048575";

/* Arrives for one lane. Returns why it cannot, or NULL. *before is the state before the arrival. */
static const char *arrive(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                          uint8_t *mbarrier, uint64_t *before)
{
    struct state state;
    const bool drop = inst->mode == ARRIVE_DROP, bytes = inst->flags & WITH_BYTES;
    const uint64_t operand = inst->s[1] != NO_REGISTER ? (uint32_t)row(warp, inst->s[1])[lane] : 1;
    const uint64_t count = bytes ? 1 : operand;
    memcpy(before, mbarrier, sizeof *before);
    if (!decode(*before, &state))
        return not_initialised;
    if (count == 0 || count > state.pending || (drop && count > state.expected))
        return "more arrivals than the phase of the mbarrier waits for, or none";
    if (bytes && state.bytes + (int64_t)operand >= BYTES_BIAS)
        return too_many_bytes;
    if ((inst->flags & NO_COMPLETE) && count == state.pending)
        return "the arrival completes the phase, which .noComplete excludes";
    if (bytes)
        state.bytes += (int64_t)operand;
    state.pending -= count;
    state.expected -= drop ? count : 0;
    store(mbarrier, &state);
    return NULL;
}

/* Executes an instruction that changes an mbarrier, for one lane. Returns why it cannot, or NULL.
 * *result is the result of the instruction. */
static const char *change(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                          uint8_t *mbarrier, uint64_t *result)
{
    const uint64_t operand = inst->s[1] != NO_REGISTER ? (uint32_t)row(warp, inst->s[1])[lane] : 0;
    switch (inst->mode) {
    case INIT: {
        const struct state state = {.pending = operand, .expected = operand};
        const uint64_t bits = encode(&state);
        if (operand == 0 || operand > MAX_COUNT)
            return "the number of arrivals must be from 1 to 1048575";
        memcpy(mbarrier, &bits, sizeof bits);
        return NULL;
    }
    case INVAL: memset(mbarrier, 0, sizeof(uint64_t)); return NULL;
    case EXPECT:
        return fth_ptx_mbarrier_add_bytes(mbarrier, (int64_t)operand) ? NULL : too_many_bytes;
    case COMPLETE:
        return fth_ptx_mbarrier_add_bytes(mbarrier, -(int64_t)operand) ? NULL : too_many_bytes;
    default: return arrive(warp, inst, lane, mbarrier, result);
    }
}

static void run_change(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t result[LANES] = {0};
    const uint32_t all = mask;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, sizeof(uint64_t), true, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, sizeof(uint64_t), FTH_ACCESS_ATOMIC))
            return;
        for (uint32_t left = group.mask; left; left &= left - 1) {
            const int lane = first_lane(left);
            const char *cause = change(warp, inst, lane, group.host[lane], &result[lane]);
            if (cause) {
                fth_ptx_warp_fault(warp, inst, lane, "%s", cause);
                return;
            }
        }
    }
    warp->block->cluster->changed = true;
    if (inst->d[0] >= 0) {
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(all, rd[lane] = result[lane];);
    }
}

/* test_wait and try_wait. A wait that is not over ends the turn of the warp, so that others can
 * complete the phase. */
static void run_wait(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint32_t complete = 0;
    const uint32_t all = mask;
    const uint64_t *operand = row(warp, inst->s[1]);
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, sizeof(uint64_t), false, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, sizeof(uint64_t), FTH_ACCESS_READ))
            return;
        for (uint32_t left = group.mask; left; left &= left - 1) {
            const int lane = first_lane(left);
            struct state now, then = {.parity = operand[lane] & 1};
            if (!load(group.host[lane], &now) ||
                (!(inst->flags & PARITY) && !decode(operand[lane], &then))) {
                fth_ptx_warp_fault(warp, inst, lane, "%s", not_initialised);
                return;
            }
            complete |= (uint32_t)(now.parity != then.parity) << lane;
            if (now.parity == then.parity)
                continue;
            if (warp->block->run->check_async)
                fth_hazard_wait(warp, group.host[lane]);
            if (!fth_ptx_notify_copies(
                    warp, (struct fth_ptx_copy_event){
                              .step = FTH_COPY_STEP_TEST,
                              .mbarrier = (uint64_t)(group.host[lane] - group.block->shared),
                              .target = group.block->rank,
                              .parity = then.parity}))
                return;
        }
    }
    set_predicate(warp, inst->d[0], all, complete);
    if (complete != all)
        fth_ptx_yield(warp);
}

static void run_pending(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *states = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = states[lane] & MAX_COUNT;);
}

/* ---- parsing ---- */

static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_inst *inst)
{
    static const char *const operations[] = {"init",        "inval",     "arrive",
                                             "arrive_drop", "expect_tx", "complete_tx",
                                             "test_wait",   "try_wait",  "pending_count"};
    static const char *const orders[] = {"release", "acquire", "relaxed"};
    static const char *const scopes[] = {"cta", "cluster"};
    const int operation = fth_ptx_take_one_of(statement, operations, FTH_COUNT(operations));
    if (operation < 0)
        return false;
    inst->mode = (uint8_t)operation;
    inst->space = FTH_SPACE_GENERIC;
    if (operation == ARRIVE || operation == ARRIVE_DROP) {
        if (fth_ptx_take_word(statement, "expect_tx"))
            inst->flags |= WITH_BYTES;
        else if (fth_ptx_take_word(statement, "noComplete"))
            inst->flags |= NO_COMPLETE;
    } else if ((operation == TEST || operation == TRY) && fth_ptx_take_word(statement, "parity")) {
        inst->flags |= PARITY;
    }
    (void)fth_ptx_take_one_of(statement, orders, FTH_COUNT(orders));
    (void)fth_ptx_take_one_of(statement, scopes, FTH_COUNT(scopes));
    (void)fth_ptx_take_space(statement, &inst->space);
    return inst->space != FTH_SPACE_GLOBAL && fth_ptx_take_word(statement, "b64") &&
           statement->next_word == statement->word_count;
}

/* Takes the result: a predicate of a wait, or a register or '_'. */
static bool take_result(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        bool predicate, struct fth_ptx_inst *inst)
{
    const struct fth_ptx_operand *operand = &statement->operands[0];
    if (statement->operand_count == 0)
        return fth_ptx_check_operand_count(parser, statement, predicate ? 3 : 2);
    if (predicate) {
        if (operand->kind != OPERAND_PREDICATE || operand->negated)
            return fth_ptx_refuse_operand(parser, statement, 0, "a predicate");
        inst->result_is_predicate = true;
        inst->d[0] = (int32_t)operand->predicate;
        return true;
    }
    if (operand->kind != OPERAND_SINK && (operand->kind != OPERAND_ROW || operand->row < 0))
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    inst->d[0] = operand->kind == OPERAND_SINK ? NO_REGISTER : operand->row;
    return true;
}

bool fth_ptx_family_mbarrier(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                             struct fth_ptx_inst *inst)
{
    /* Numbers of operands: at least, at most. */
    static const uint8_t counts[][2] = {
        [INIT] = {2, 2},        [INVAL] = {1, 1},  [ARRIVE] = {2, 3},
        [ARRIVE_DROP] = {2, 3}, [EXPECT] = {2, 2}, [COMPLETE] = {2, 2},
        [TEST] = {3, 3},        [TRY] = {3, 4},    [PENDING] = {2, 2}};
    if (!parse_words(statement, inst))
        return fth_ptx_refuse(parser, statement);
    const unsigned mode = inst->mode;
    if (statement->operand_count < counts[mode][0] || statement->operand_count > counts[mode][1])
        return fth_ptx_check_operand_count(parser, statement, counts[mode][0]);
    if (((inst->flags & (WITH_BYTES | NO_COMPLETE)) && statement->operand_count != 3))
        return fth_ptx_check_operand_count(parser, statement, 3);
    const bool waits = mode == TEST || mode == TRY;
    const bool has_result = waits || mode == ARRIVE || mode == ARRIVE_DROP || mode == PENDING;
    if (has_result && !take_result(parser, statement, waits, inst))
        return false;
    if (mode == PENDING) {
        inst->run = run_pending;
        return (inst->d[0] >= 0 || fth_ptx_refuse_operand(parser, statement, 0, "a register")) &&
               fth_ptx_take_row(parser, statement, 1, &inst->s[0]);
    }
    inst->run = waits ? run_wait : run_change;
    inst->unit = FTH_UNIT_BARRIER;
    const size_t last = has_result ? 2 : 1; /* some forms have no operand after the address */
    return fth_ptx_take_address(parser, statement, has_result ? 1 : 0, inst) &&
           (last >= statement->operand_count ||
            fth_ptx_take_row(parser, statement, last, &inst->s[1]));
}
