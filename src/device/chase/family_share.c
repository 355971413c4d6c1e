/* The share family: whether two units (SMs, compute units, cores) share a cache
 * (kernels/ptx/sms/share.ptx; OpenCL devices: kernels/opencl/units.cl). The canonical text is
 * "share FIRST SECOND PATH STRIDE own COUNT other COUNT rounds ROUNDS [seed SEED]", for example
 *
 *   share 0 1 ca 64 own 256 other 2048 rounds 16 seed 7
 *
 * The chains are those of a chase: the own chain in array 0, the other one in array 1. In constant
 * memory, the other chain follows the own one. */
#include "device/chase/chase.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Limits, chosen: more than any cache that is tested. */
enum { WORD_BYTES = 4, MAX_STRIDE_BYTES = 1 << 20, MAX_COUNT = 1 << 24, MAX_ROUNDS = 1 << 12 };

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_share *share = &request->share;
    if (share->path != FTH_PATH_CA && share->path != FTH_PATH_CONSTANT)
        return refuse(error, "share.path", share->path, "is neither ca nor constant");
    if (share->stride_bytes < WORD_BYTES || share->stride_bytes > MAX_STRIDE_BYTES ||
        share->stride_bytes % WORD_BYTES)
        return refuse(error, "share.stride_bytes", share->stride_bytes,
                      "is not a multiple of 4 up to 1048576");
    if (share->own == 0 || share->own > MAX_COUNT)
        return refuse(error, "share.own", share->own, "is not in the range 1 to 16777216");
    if (share->other == 0 || share->other > MAX_COUNT)
        return refuse(error, "share.other", share->other, "is not in the range 1 to 16777216");
    if (share->path == FTH_PATH_CONSTANT &&
        (share->own + share->other) * share->stride_bytes > FTH_MAX_CONSTANT_BYTES)
        return refuse(error, "share.other", share->other, "elements exceed the constant memory");
    if (share->path == FTH_PATH_CONSTANT && share->seed)
        return refuse(error, "share.seed", share->seed, "is only possible with the path ca");
    if (share->rounds == 0 || share->rounds > MAX_ROUNDS)
        return refuse(error, "share.rounds", share->rounds, "is not in the range 1 to 4096");
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "the request names its units itself");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_share *share = &request->share;
    fth_buffer_format(text,
                      "share %" PRIu32 " %" PRIu32 " %s %" PRIu64 " own %" PRIu64 " other %" PRIu64
                      " rounds %" PRIu32,
                      share->first, share->second, fth_path_name(share->path), share->stride_bytes,
                      share->own, share->other, share->rounds);
    if (share->seed)
        fth_buffer_format(text, " seed %" PRIu64, share->seed);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_share *share = &request->share;
    return fth_scan_u32(scanner, &share->first) && fth_scan(scanner, " ") &&
           fth_scan_u32(scanner, &share->second) && fth_scan(scanner, " ") &&
           fth_scan_path(scanner, &share->path) && fth_scan(scanner, " ") &&
           fth_scan_number(scanner, UINT64_MAX, &share->stride_bytes) &&
           fth_scan(scanner, " own ") && fth_scan_number(scanner, UINT64_MAX, &share->own) &&
           fth_scan(scanner, " other ") && fth_scan_number(scanner, UINT64_MAX, &share->other) &&
           fth_scan(scanner, " rounds ") && fth_scan_u32(scanner, &share->rounds) &&
           fth_scan_option(scanner, " seed ", &share->seed);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return request->share.rounds;
}

/* ---- execution ---- */

static const char running[] = "run experiments";

enum {
    ELEMENT_BYTES = 8, /* a pointer */
    /* Longer chains are refused: all of them share one allocation (chase_layout.h). */
    MAX_CHAIN_BYTES = 1 << 29,
    /* Blocks per SM, so that each SM gets one, whatever the order in which the GPU distributes the
     * blocks. Chosen, not derived. */
    BLOCKS_PER_SM = 4,
    /* Where one block runs after the other, an SM needs a block for each round, and one more for
     * the turn 0. If they are not enough, another launch executes the remaining rounds. A launch
     * has blocks for at most this many rounds. Chosen: blocks of one thread are all resident, so
     * that the place of none depends on the end of others. */
    MAX_LAUNCH_ROUNDS = 15,
    /* Upper bound for the cycles of a hop, which is FTH_MAX_HOP_S at 2 GHz. */
    MAX_HOP_CYCLES = 20000,
    STATE_BYTES = 32, /* the words of the kernel's parameter `state`, in a sector of their own */
    TURN_OFFSET = 8
};

/* What the family keeps from request to request. */
struct share_state {
    struct fth_layout layout;    /* chains in global memory */
    struct fth_zeroed control;   /* state and samples */
    uint64_t bank, origin;       /* addresses of the constant bank for uploads, and for kernels */
    struct fth_chain own, other; /* that the bank holds; count 0: none */
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    struct share_state *made = calloc(1, sizeof *made);
    *state = made;
    if (!made)
        return fth_no_memory(error, running, NULL);
    made->layout = (struct fth_layout){.runner = runner};
    return FTH_OK;
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct share_state *state = opaque;
    fth_layout_fini(&state->layout);
    fth_zeroed_release(runner, &state->control);
    free(state);
}

static bool has_sm(const struct fth_runner *runner, uint32_t sm)
{
    for (size_t i = 0; i < runner->sm_count; i++)
        if (runner->sms[i] == sm)
            return true;
    return false;
}

/* Hops of a round. */
static uint64_t round_hops(const struct fth_share *share)
{
    return 2 * share->own + share->other;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_share *share = &lowered->request->share;
    if (!has_sm(runner, share->first) || !has_sm(runner, share->second))
        return fth_fail(error, FTH_NOT_FOUND, running, NULL, "the GPU has no SM with this number");
    if (share->stride_bytes % ELEMENT_BYTES)
        return fth_fail(error, FTH_UNSUPPORTED, running, NULL,
                        "the stride is not a multiple of %d bytes, the size of a pointer",
                        ELEMENT_BYTES);
    if ((share->own > share->other ? share->own : share->other) * share->stride_bytes >
        MAX_CHAIN_BYTES)
        return fth_fail(error, FTH_UNSUPPORTED, running, NULL, "a chain exceeds 512 MiB");
    const uint32_t turns = FTH_MIN(share->rounds, MAX_LAUNCH_ROUNDS) + 1;
    lowered->blocks = runner->facts.sms * (runner->facts.concurrent        ? BLOCKS_PER_SM
                                           : share->first == share->second ? 1
                                                                           : turns);
    lowered->threads = 1;
    lowered->time_limit_s =
        2 * FTH_MIN_TIME_LIMIT_S + share->rounds * (double)round_hops(share) * FTH_MAX_HOP_S;
    return FTH_OK;
}

/* The execution of one request. */
struct share_run {
    struct fth_runner *runner;
    struct fth_machine_module *module;
    struct share_state *state;
    const struct fth_lowered *lowered;
    uint64_t own, other; /* addresses of the first elements */
};

/* Launches a kernel and waits for it. */
static enum fth_status launch(const struct share_run *run, const char *kernel, uint32_t blocks,
                              const uint64_t *arguments, size_t count, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct fth_machine_launch launch = fth_lowered_launch(run->lowered);
    launch.module = run->module;
    launch.kernel = kernel;
    launch.blocks = blocks;
    launch.arguments = arguments;
    launch.argument_bytes = count * sizeof *arguments;
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    return runner->ops->wait(runner->machine, run->lowered->time_limit_s, error);
}

/* Finds the addresses of the constant bank of the module. */
static enum fth_status find_bank(const struct share_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct share_state *state = run->state;
    uint64_t address, bytes;
    if (state->bank)
        return FTH_OK;
    FTH_TRY(runner->ops->symbol(runner->machine, run->module, "bank", &address, &bytes, error));
    FTH_TRY(launch(run, "origin", 1, &state->control.address, 1, error));
    FTH_TRY(runner->ops->download(runner->machine, &state->origin, state->control.address,
                                  sizeof state->origin, error));
    state->bank = address;
    return FTH_OK;
}

static bool is_same_chain(const struct fth_chain *a, const struct fth_chain *b)
{
    return a->start_bytes == b->start_bytes && a->stride_bytes == b->stride_bytes &&
           a->count == b->count;
}

/* Writes the chains into the constant bank, unless they are there already. */
static enum fth_status lay_out_constants(struct share_run *run, const struct fth_chain *own,
                                         const struct fth_chain *other, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct share_state *state = run->state;
    FTH_TRY(find_bank(run, error));
    run->own = state->origin;
    run->other = state->origin + other->start_bytes;
    if (is_same_chain(&state->own, own) && is_same_chain(&state->other, other))
        return FTH_OK;
    uint64_t *bank = calloc(FTH_BANK_BYTES / sizeof *bank, sizeof *bank);
    if (!bank)
        return fth_no_memory(error, running, NULL);
    fth_chase_build_constants(own, state->origin, bank);
    fth_chase_build_constants(other, state->origin, bank);
    state->own.count = state->other.count = 0;
    enum fth_status status =
        runner->ops->upload(runner->machine, state->bank, bank, FTH_BANK_BYTES, error);
    if (status == FTH_OK) {
        state->own = *own;
        state->other = *other;
    }
    free(bank);
    return status;
}

/* Builds a chain in global memory, unless it exists already. */
static enum fth_status lay_out(struct share_run *run, const struct fth_chain *chain,
                               uint64_t *address, struct fth_error *error)
{
    struct fth_layout *layout = &run->state->layout;
    size_t region;
    FTH_TRY(fth_layout_find(layout, false, chain, &region, error));
    FTH_TRY(fth_layout_reserve(layout, region, 0, chain->count * chain->stride_bytes, error));
    FTH_TRY(fth_layout_build(layout, region, chain, false, error));
    *address = layout->regions[region].address;
    return FTH_OK;
}

static enum fth_status lay_out_both(struct share_run *run, const struct fth_chain *own,
                                    const struct fth_chain *other, struct fth_error *error)
{
    FTH_TRY(lay_out(run, own, &run->own, error));
    return lay_out(run, other, &run->other, error);
}

static enum fth_status lay_out_chains(struct share_run *run, struct fth_error *error)
{
    const struct fth_share *share = &run->lowered->request->share;
    struct fth_chain own = {.stride_bytes = share->stride_bytes,
                            .count = share->own,
                            .seed = share->seed},
                     other = own;
    other.count = share->other;
    if (share->path == FTH_PATH_CONSTANT) {
        other.start_bytes = share->own * share->stride_bytes;
        return lay_out_constants(run, &own, &other, error);
    }
    other.array = 1;
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = lay_out_both(run, &own, &other, &fault);
    if (status == FTH_UNAVAILABLE) {
        fth_layout_clear(&run->state->layout); /* the chains of earlier requests */
        return lay_out_both(run, &own, &other, error);
    }
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &fault);
}

/* Executes up to `rounds` rounds. *done is the number of those with a sample. */
static enum fth_status run_rounds(const struct share_run *run, uint32_t rounds, uint32_t *cycles,
                                  uint32_t *done, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_share *share = &run->lowered->request->share;
    const uint64_t control = run->state->control.address, samples = control + STATE_BYTES;
    const uint64_t patience = runner->facts.concurrent
                                  ? FTH_STREAM_MAX_WAIT_CYCLES + MAX_HOP_CYCLES * round_hops(share)
                                  : 0;
    const uint64_t arguments[] = {share->first, share->second,    (uint64_t)share->path,
                                  run->own,     share->own,       run->other,
                                  share->other, (uint64_t)rounds, control,
                                  patience,     samples};
    uint32_t turn = 0;
    FTH_TRY(runner->ops->fill(runner->machine, control, 0, STATE_BYTES + rounds * sizeof *cycles,
                              error));
    FTH_TRY(launch(run, "share", run->lowered->blocks, arguments, FTH_COUNT(arguments), error));
    FTH_TRY(
        runner->ops->download(runner->machine, &turn, control + TURN_OFFSET, sizeof turn, error));
    /* Turn 2 gives the first sample. */
    *done = turn ? (turn - 1) / 2 : 0;
    return runner->ops->download(runner->machine, cycles, samples, *done * sizeof *cycles, error);
}

static enum fth_status run_share(struct fth_runner *runner, struct fth_family_slot *slot,
                                 const struct fth_lowered *lowered, uint32_t *cycles,
                                 struct fth_error *error)
{
    const uint32_t rounds = lowered->request->share.rounds;
    struct share_run run = {
        .runner = runner, .module = slot->module, .state = slot->state, .lowered = lowered};
    uint32_t done = 0;
    FTH_TRY(
        fth_zeroed_grow(runner, &run.state->control, STATE_BYTES + rounds * sizeof *cycles, error));
    FTH_TRY(lay_out_chains(&run, error));
    for (uint32_t left = rounds; left; left -= done) {
        FTH_TRY(run_rounds(&run, left, cycles + (rounds - left), &done, error));
        if (done == 0)
            return fth_fail(error, FTH_UNAVAILABLE, running, NULL,
                            "the GPU did not execute blocks on both SMs");
    }
    return FTH_OK;
}

const struct fth_family_ops fth_family_share = {
    .word = "share",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_share,
    .open = open_state,
    .release = release_state,
    .lower = lower,
    .disturbs = FTH_DISTURBS_L2,
    .run = run_share,
};
