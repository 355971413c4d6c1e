/* The flight family: how many loads the warps of an SM can have in flight (kernels/flight.ptx).
 * Examples of the canonical text:
 *
 *   flight 128 repeats 4; cold
 *   flight 32 step 8 warps 8 lanes 32 repeats 2; sm 3; cold
 *   flight 32 step 8 warps 8 lanes 32 repeats 2 warm
 *
 * The form is "flight LOADS [step STEP] [warps WARPS] [lanes LANES] repeats REPEATS [warm]". */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

enum {
    MAX_WARPS = 8,      /* so that the registers of an SM suffice, see flight.ptx */
    MAX_REPEATS = 1000, /* chosen, not derived */
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
    const struct fth_flight *flight = &request->flight;
    if (flight->loads == 0 || flight->loads > FTH_FLIGHT_LOADS)
        return refuse(error, "flight.loads", flight->loads, "is not in the range 1 to 128");
    if (flight->step == 0 || flight->loads % flight->step)
        return refuse(error, "flight.step", flight->step, "does not divide the number of loads");
    if (flight->warps == 0 || flight->warps > MAX_WARPS)
        return refuse(error, "flight.warps", flight->warps, "is not in the range 1 to 8");
    if (flight->lanes != 1 && flight->lanes != 32)
        return refuse(error, "flight.lanes", flight->lanes, "is neither 1 nor 32");
    if (flight->repeats == 0 || flight->repeats > MAX_REPEATS)
        return refuse(error, "flight.repeats", flight->repeats, "is not in the range 1 to 1000");
    if (flight->warm && request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "contradicts warm");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_flight *flight = &request->flight;
    fth_buffer_format(text, "flight %" PRIu32, flight->loads);
    if (flight->step != 1)
        fth_buffer_format(text, " step %" PRIu32, flight->step);
    if (flight->warps != 1)
        fth_buffer_format(text, " warps %" PRIu32, flight->warps);
    if (flight->lanes != 1)
        fth_buffer_format(text, " lanes %" PRIu32, flight->lanes);
    fth_buffer_format(text, " repeats %" PRIu32 "%s", flight->repeats, flight->warm ? " warm" : "");
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_flight *flight = &request->flight;
    flight->step = flight->warps = flight->lanes = 1;
    if (!fth_scan_u32(scanner, &flight->loads) ||
        !fth_scan_option_u32(scanner, " step ", &flight->step) ||
        !fth_scan_option_u32(scanner, " warps ", &flight->warps) ||
        !fth_scan_option_u32(scanner, " lanes ", &flight->lanes) ||
        !fth_scan(scanner, " repeats ") || !fth_scan_u32(scanner, &flight->repeats))
        return false;
    flight->warm = fth_scan(scanner, " warm");
    return true;
}

static uint64_t count_trials(const struct fth_flight *flight)
{
    return (uint64_t)(flight->loads / flight->step) * flight->repeats;
}

static uint64_t count_samples(const struct fth_request *request)
{
    return 2 * count_trials(&request->flight);
}

/* ---- execution ---- */

/* The ticket, in a sector of its own, comes first in the memory for results. */
enum { TICKET_BYTES = 32 };

/* Memory that the family keeps from request to request. */
struct flight_state {
    struct fth_zeroed data;
    struct fth_zeroed control; /* ticket and samples */
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct flight_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct flight_state *state = opaque;
    fth_zeroed_release(runner, &state->data);
    fth_zeroed_release(runner, &state->control);
    free(state);
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_flight *flight = &request->flight;
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = runner->facts.sms * (runner->facts.concurrent ? BLOCKS_PER_SM : 1);
    lowered->threads = 32 * flight->warps;
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + (double)count_trials(flight) * flight->loads *
                                                       flight->warps * flight->lanes *
                                                       FTH_MAX_HOP_S;
    return FTH_OK;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_request *request = lowered->request;
    const struct fth_flight *flight = &request->flight;
    struct flight_state *state = slot->state;
    const uint64_t span = (uint64_t)flight->loads * FTH_FLIGHT_LINE_BYTES;
    const uint64_t trial_span = flight->warm ? 0 : span * flight->warps * flight->lanes;
    const uint64_t trials = count_trials(flight);
    const uint64_t sample_bytes = lowered->sample_count * sizeof *cycles;
    const uint64_t control_bytes = TICKET_BYTES + sizeof *cycles + sample_bytes;
    const uint64_t data_bytes = span * flight->warps * flight->lanes + (trials - 1) * trial_span;
    FTH_TRY(fth_zeroed_grow(runner, &state->data, data_bytes, error));
    FTH_TRY(fth_zeroed_grow(runner, &state->control, control_bytes, error));
    FTH_TRY(ops->fill(runner->machine, state->control.address, 0, control_bytes, error));
    if (request->cold)
        FTH_TRY(fth_runner_flush(runner, error));
    const uint64_t results = state->control.address + TICKET_BYTES;
    const uint64_t arguments[] = {state->data.address,
                                  span,
                                  flight->lanes,
                                  flight->loads,
                                  flight->step,
                                  trials,
                                  trial_span,
                                  flight->warm,
                                  runner->sms[request->sm == FTH_ANY_SM ? 0 : request->sm],
                                  state->control.address,
                                  results};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "flight";
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

const struct fth_family_ops fth_family_flight = {
    .word = "flight",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_flight,
    .open = open_state,
    .release = release_state,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
