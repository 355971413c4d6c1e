/* The merge family: stores of the warps of an SM to the same lines or to different ones
 * (kernels/merge.ptx). Examples of the canonical text:
 *
 *   merge 512 warps 8 repeats 4
 *   merge 512 warps 8 lag 12 repeats 4 shared; sm 3
 *
 * The form is "merge LINES warps WARPS [lag LAG] repeats REPEATS [shared]". */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

enum {
    LINE_BYTES = 128,   /* that a warp stores at once */
    MAX_LINES = 4096,   /* chosen, not derived */
    MAX_WARPS = 16,     /* chosen, not derived */
    MAX_REPEATS = 1000, /* chosen, not derived */
    SAMPLES = 3,        /* of a repeat */
    /* Blocks per SM. One of them executes the request. Several, so that the SM gets at least one,
     * whatever the order in which the GPU distributes the blocks. */
    BLOCKS_PER_SM = 4
};

/* ---- requests ---- */

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_merge_stores *merge = &request->merge;
    if (merge->lines == 0 || merge->lines > MAX_LINES)
        return refuse(error, "merge.lines", merge->lines, "is not in the range 1 to 4096");
    if (merge->warps == 0 || merge->warps % 2 || merge->warps > MAX_WARPS)
        return refuse(error, "merge.warps", merge->warps, "is not an even number up to 16");
    if (merge->lag > FTH_MERGE_WAITS)
        return refuse(error, "merge.lag", merge->lag, "is too large");
    if (merge->repeats == 0 || merge->repeats > MAX_REPEATS)
        return refuse(error, "merge.repeats", merge->repeats, "is not in the range 1 to 1000");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_merge_stores *merge = &request->merge;
    fth_buffer_format(text, "merge %" PRIu32 " warps %" PRIu32, merge->lines, merge->warps);
    if (merge->lag)
        fth_buffer_format(text, " lag %" PRIu32, merge->lag);
    fth_buffer_format(text, " repeats %" PRIu32 "%s", merge->repeats,
                      merge->shared ? " shared" : "");
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_merge_stores *merge = &request->merge;
    if (!fth_scan_u32(scanner, &merge->lines) || !fth_scan(scanner, " warps ") ||
        !fth_scan_u32(scanner, &merge->warps) ||
        !fth_scan_option_u32(scanner, " lag ", &merge->lag) || !fth_scan(scanner, " repeats ") ||
        !fth_scan_u32(scanner, &merge->repeats))
        return false;
    merge->shared = fth_scan(scanner, " shared");
    return true;
}

static uint64_t count_samples(const struct fth_request *request)
{
    return (uint64_t)SAMPLES * request->merge.repeats;
}

/* ---- execution ---- */

/* The ticket, in a sector of its own, comes first in the memory for results. */
enum { TICKET_BYTES = 32 };

/* Memory that the family keeps from request to request. */
struct merge_state {
    struct fth_zeroed data;
    struct fth_zeroed control; /* ticket and samples */
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct merge_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct merge_state *state = opaque;
    fth_zeroed_release(runner, &state->data);
    fth_zeroed_release(runner, &state->control);
    free(state);
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_merge_stores *merge = &request->merge;
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = runner->facts.sms * (runner->facts.concurrent ? BLOCKS_PER_SM : 1);
    lowered->threads = 32 * merge->warps;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)merge->repeats * merge->lines * merge->warps * FTH_MAX_HOP_S;
    return FTH_OK;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_request *request = lowered->request;
    const struct fth_merge_stores *merge = &request->merge;
    struct merge_state *state = slot->state;
    const uint64_t span = (uint64_t)merge->lines * LINE_BYTES;
    const uint64_t sample_bytes = lowered->sample_count * sizeof *cycles;
    const uint64_t control_bytes = TICKET_BYTES + sizeof *cycles + sample_bytes;
    FTH_TRY(fth_zeroed_grow(runner, &state->data, span * merge->warps, error));
    FTH_TRY(fth_zeroed_grow(runner, &state->control, control_bytes, error));
    FTH_TRY(ops->fill(runner->machine, state->control.address, 0, control_bytes, error));
    const uint64_t results = state->control.address + TICKET_BYTES;
    const uint64_t arguments[] = {state->data.address,
                                  span,
                                  merge->lines,
                                  merge->shared,
                                  merge->lag,
                                  merge->repeats,
                                  runner->sms[request->sm == FTH_ANY_SM ? 0 : request->sm],
                                  state->control.address,
                                  results};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "merge";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    FTH_TRY(ops->launch(runner->machine, &launch, error));
    FTH_TRY(ops->wait(runner->machine, lowered->time_limit_s, error));
    /* The first word of the results is not 0 if a block has executed the request. */
    uint32_t done = 0;
    FTH_TRY(ops->download(runner->machine, &done, results, sizeof done, error));
    if (!done)
        return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                        "no block of the launch was executed by the SM");
    return ops->download(runner->machine, cycles, results + sizeof done, sample_bytes, error);
}

const struct fth_family_ops fth_family_merge = {
    .word = "merge",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_merge,
    .open = open_state,
    .release = release_state,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
