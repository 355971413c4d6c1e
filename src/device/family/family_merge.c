/* The merge family: stores of the warps of an SM to the same lines or to different ones
 * (kernels/merge.ptx). Examples of the canonical text:
 *
 *   merge 512 warps 8 repeats 4
 *   merge 512 warps 8 lag 12 repeats 4 shared; sm 3
 *
 * The form is "merge LINES warps WARPS [lag LAG] repeats REPEATS [shared]". */
#include "device/family/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

enum {
    LINE_BYTES = 128,   /* that a warp stores at once */
    MAX_LINES = 4096,   /* chosen, not derived */
    MAX_WARPS = 16,     /* chosen, not derived */
    MAX_REPEATS = 1000, /* chosen, not derived */
    SAMPLES = 3         /* of a repeat */
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

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_merge_stores *merge = &request->merge;
    FTH_TRY(fth_ticket_lower(runner, lowered, error));
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
    struct fth_ticket_memory *state = slot->state;
    const uint64_t span = (uint64_t)merge->lines * LINE_BYTES;
    FTH_TRY(fth_zeroed_grow(runner, &state->data, span * merge->warps, error));
    FTH_TRY(fth_ticket_clear(runner, state, lowered, error));
    const uint64_t results = state->control.address + FTH_TICKET_BYTES;
    const uint64_t arguments[] = {state->data.address,
                                  span,
                                  merge->lines,
                                  merge->shared,
                                  merge->lag,
                                  merge->repeats,
                                  fth_ticket_sm(runner, request),
                                  state->control.address,
                                  results};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "merge";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    FTH_TRY(ops->launch(runner->machine, &launch, error));
    return fth_ticket_read(runner, state, lowered, sizeof *cycles, cycles, error);
}

const struct fth_family_ops fth_family_merge = {
    .word = "merge",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_merge,
    .open = fth_ticket_open,
    .release = fth_ticket_release,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
