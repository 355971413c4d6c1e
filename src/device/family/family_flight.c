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

static const char operation[] = "check request";

enum {
    MAX_WARPS = 8,     /* so that the registers of an SM suffice, see flight.ptx */
    MAX_REPEATS = 1000 /* chosen, not derived */
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

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_flight *flight = &request->flight;
    FTH_TRY(fth_ticket_lower(runner, lowered, error));
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
    struct fth_ticket_memory *state = slot->state;
    const uint64_t span = (uint64_t)flight->loads * FTH_FLIGHT_LINE_BYTES;
    const uint64_t trial_span = flight->warm ? 0 : span * flight->warps * flight->lanes;
    const uint64_t trials = count_trials(flight);
    const uint64_t data_bytes = span * flight->warps * flight->lanes + (trials - 1) * trial_span;
    FTH_TRY(fth_zeroed_grow(runner, &state->data, data_bytes, error));
    FTH_TRY(fth_ticket_clear(runner, state, lowered, error));
    if (request->cold)
        FTH_TRY(fth_runner_flush(runner, error));
    const uint64_t results = state->control.address + FTH_TICKET_BYTES;
    const uint64_t arguments[] = {state->data.address,
                                  span,
                                  flight->lanes,
                                  flight->loads,
                                  flight->step,
                                  trials,
                                  trial_span,
                                  flight->warm,
                                  fth_ticket_sm(runner, request),
                                  state->control.address,
                                  results};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "flight";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    FTH_TRY(ops->launch(runner->machine, &launch, error));
    return fth_ticket_read(runner, state, lowered, sizeof *cycles, cycles, error);
}

const struct fth_family_ops fth_family_flight = {
    .word = "flight",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_flight,
    .open = fth_ticket_open,
    .release = fth_ticket_release,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
