/* The pair family: two SMs read the same lines, one shortly after the other (kernels/pair.ptx). The
 * canonical text is "pair FIRST SECOND lag LAG STRIDExLINES [bytes BYTES] [offset OFFSET]", for
 * example
 *
 *   pair 0 16 lag 32 1152x12
 *
 * Members with their default value are left out. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

enum {
    WORD_BYTES = 4,
    /* Bytes that a warp can read of a line: one word per lane. */
    MAX_BYTES = 128,
    MAX_LINES = 4096,          /* chosen, not derived */
    MAX_STRIDE_BYTES = 1 << 20 /* chosen, not derived */
};

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_pair *pair = &request->pair;
    if (pair->first == pair->second)
        return refuse(error, "pair.second", pair->second, "is also the first SM");
    if (pair->lag_cycles > FTH_PAIR_MAX_LAG_CYCLES)
        return refuse(error, "pair.lag_cycles", pair->lag_cycles, "cycles are too many");
    if (pair->lines == 0 || pair->lines > MAX_LINES)
        return refuse(error, "pair.lines", pair->lines, "is not in the range 1 to 4096");
    if (pair->bytes == 0 || pair->bytes > MAX_BYTES || pair->bytes % WORD_BYTES)
        return refuse(error, "pair.bytes", pair->bytes, "is not a multiple of 4 up to 128");
    if (pair->offset_bytes > MAX_BYTES || pair->offset_bytes % WORD_BYTES)
        return refuse(error, "pair.offset_bytes", pair->offset_bytes,
                      "is not a multiple of 4 up to 128");
    if (pair->stride_bytes < pair->bytes + pair->offset_bytes ||
        pair->stride_bytes > MAX_STRIDE_BYTES || pair->stride_bytes % WORD_BYTES)
        return refuse(error, "pair.stride_bytes", pair->stride_bytes,
                      "is not a multiple of 4 that separates the lines");
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "the request names its SMs itself");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_pair *pair = &request->pair;
    fth_buffer_format(text, "pair %" PRIu32 " %" PRIu32 " lag %" PRIu32 " %" PRIu64 "x%" PRIu32,
                      pair->first, pair->second, pair->lag_cycles, pair->stride_bytes, pair->lines);
    if (pair->bytes != MAX_BYTES)
        fth_buffer_format(text, " bytes %" PRIu32, pair->bytes);
    if (pair->offset_bytes)
        fth_buffer_format(text, " offset %" PRIu32, pair->offset_bytes);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_pair *pair = &request->pair;
    pair->bytes = MAX_BYTES;
    return fth_scan_u32(scanner, &pair->first) && fth_scan(scanner, " ") &&
           fth_scan_u32(scanner, &pair->second) && fth_scan(scanner, " lag ") &&
           fth_scan_u32(scanner, &pair->lag_cycles) && fth_scan(scanner, " ") &&
           fth_scan_number(scanner, UINT64_MAX, &pair->stride_bytes) && fth_scan(scanner, "x") &&
           fth_scan_u32(scanner, &pair->lines) &&
           fth_scan_option_u32(scanner, " bytes ", &pair->bytes) &&
           fth_scan_option_u32(scanner, " offset ", &pair->offset_bytes);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return 4 * (uint64_t)request->pair.lines;
}

/* ---- execution ---- */

/* The counter at which the two blocks meet comes first in the memory for results, in a sector of
 * its own. */
enum { MEETING_BYTES = 32 };

/* Memory that the family keeps from request to request. */
struct pair_state {
    struct fth_zeroed data;    /* the lines */
    struct fth_zeroed control; /* the counter and the samples */
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct pair_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct pair_state *state = opaque;
    fth_zeroed_release(runner, &state->data);
    fth_zeroed_release(runner, &state->control);
    free(state);
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_pair *pair = &lowered->request->pair;
    if (pair->first >= runner->sm_count || pair->second >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = runner->facts.sms;
    lowered->threads = 32;
    /* Each block requests the maximum of shared memory, so that no two blocks share an SM. */
    lowered->shared_bytes = runner->facts.block_shared_bytes;
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + 2 * (double)pair->lines * FTH_MAX_HOP_S;
    return FTH_OK;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_pair *pair = &lowered->request->pair;
    struct pair_state *state = slot->state;
    const uint64_t sample_bytes = lowered->sample_count * sizeof *cycles;
    FTH_TRY(fth_zeroed_grow(runner, &state->data, pair->lines * pair->stride_bytes, error));
    FTH_TRY(fth_zeroed_grow(runner, &state->control, MEETING_BYTES + sample_bytes, error));
    FTH_TRY(
        ops->fill(runner->machine, state->control.address, 0, MEETING_BYTES + sample_bytes, error));
    const uint64_t arguments[] = {state->data.address,
                                  pair->stride_bytes,
                                  pair->lines,
                                  runner->sms[pair->first],
                                  runner->sms[pair->second],
                                  pair->lag_cycles,
                                  pair->bytes,
                                  pair->offset_bytes,
                                  runner->facts.concurrent ? state->control.address : 0,
                                  state->control.address + MEETING_BYTES};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "pair";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    FTH_TRY(ops->launch(runner->machine, &launch, error));
    FTH_TRY(ops->wait(runner->machine, lowered->time_limit_s, error));
    return ops->download(runner->machine, cycles, state->control.address + MEETING_BYTES,
                         sample_bytes, error);
}

const struct fth_family_ops fth_family_pair = {
    .word = "pair",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_pair,
    .open = open_state,
    .release = release_state,
    .lower = lower,
    .run = run,
};
