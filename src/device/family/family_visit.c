/* The visit family: single accesses of one thread, each of which is timed (kernels/visit.ptx).
 * Examples of the canonical text:
 *
 *   visit gpu device 128x2048 passes 2
 *   visit cg host 4096x1024 step 5 stamped; sm 3
 *
 * The form is "visit OPERATION MEMORY STRIDExCOUNT [step STEP] [passes PASSES] [stamped]". */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

enum {
    MAX_VISITS = 1 << 24, /* generous bound, so that the samples fit into memory */
    MAX_STRIDE_BYTES = 1 << 30,
    WORD_BYTES = 4,
    DISCARDED_BYTES = 128, /* PTX ISA, discard */
    THREADS = 32,          /* of which one works */
    TICKET_BYTES = 256     /* an allocation of its own line */
};
#define MAX_BYTES (UINT64_C(1) << 40)
/* Upper bounds for one access in seconds: of host memory, and of managed memory that has to be
 * moved first. Chosen, not derived. */
static const double max_host_s = 1e-4, max_managed_s = 10e-3;

/* ---- memory of the host ---- */

static const char *const words[] = {
    [FTH_RESIDES_DEVICE] = "device",
    [FTH_RESIDES_HOST] = "host",
    [FTH_RESIDES_MANAGED] = "managed",
};
static const char prefetched_word[] = "prefetched";

const char *fth_residence_word(enum fth_residence residence, bool prefetched)
{
    return prefetched ? prefetched_word : words[residence];
}

bool fth_scan_residence(struct fth_scanner *scanner, enum fth_residence *residence,
                        bool *prefetched)
{
    *prefetched = fth_scan_name(scanner, prefetched_word);
    if (*prefetched) {
        *residence = FTH_RESIDES_MANAGED;
        return true;
    }
    for (unsigned i = 0; i < FTH_RESIDENCES; i++)
        if (fth_scan_name(scanner, words[i])) {
            *residence = (enum fth_residence)i;
            return true;
        }
    return false;
}

enum fth_status fth_check_residence(enum fth_residence residence, bool prefetched,
                                    struct fth_error *error)
{
    if ((unsigned)residence >= FTH_RESIDENCES)
        return fth_fail(error, FTH_INVALID, operation, "residence", "%u is not a kind of memory",
                        (unsigned)residence);
    if (prefetched && residence != FTH_RESIDES_MANAGED)
        return fth_fail(error, FTH_INVALID, operation, "prefetched",
                        "only managed memory can be prefetched");
    return FTH_OK;
}

enum fth_status fth_host_memory_alloc(struct fth_runner *runner, enum fth_residence residence,
                                      bool prefetched, uint64_t bytes,
                                      struct fth_host_memory *memory, struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    if (!ops->host_alloc)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "kernels cannot access host memory on this device");
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = ops->host_alloc(runner->machine, residence, bytes, memory, &fault);
    if (status == FTH_NO_MEMORY)
        fault.status = FTH_UNAVAILABLE;
    if (status != FTH_OK)
        return fth_error_move(error, &fault);
    if (prefetched)
        status = ops->prefetch(runner->machine, memory->address, bytes, error);
    if (status != FTH_OK)
        ops->host_free(runner->machine, memory);
    return status;
}

/* ---- requests ---- */

static uint64_t step_of(const struct fth_visit *visit)
{
    return visit->step ? visit->step : 1;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_visit *visit = &request->visit;
    if ((unsigned)visit->operation >= FTH_VISIT_OPERATIONS)
        return fth_fail(error, FTH_INVALID, operation, "visit.operation", "unknown operation");
    FTH_TRY(fth_check_residence(visit->residence, visit->prefetched, error));
    if (visit->count == 0 || visit->passes == 0 || visit->count > MAX_VISITS / visit->passes)
        return fth_fail(error, FTH_INVALID, operation, "visit.count",
                        "%" PRIu64 " words and %" PRIu64 " passes are not 1 to %d visits",
                        visit->count, visit->passes, MAX_VISITS);
    if (visit->stride_bytes == 0 || visit->stride_bytes > MAX_STRIDE_BYTES ||
        visit->stride_bytes % WORD_BYTES || visit->count > MAX_BYTES / visit->stride_bytes)
        return fth_fail(error, FTH_INVALID, operation, "visit.stride_bytes",
                        "%" PRIu64 " is not a multiple of 4 up to %d, or the words need more than "
                        "%" PRIu64 " bytes",
                        visit->stride_bytes, MAX_STRIDE_BYTES, MAX_BYTES);
    if (visit->operation == FTH_VISIT_DISCARD && visit->stride_bytes % DISCARDED_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "visit.stride_bytes",
                        "%" PRIu64 " is not a multiple of the %d bytes of a discarded line",
                        visit->stride_bytes, DISCARDED_BYTES);
    if (step_of(visit) > visit->count || fth_gcd(step_of(visit), visit->count) != 1)
        return fth_fail(error, FTH_INVALID, operation, "visit.step",
                        "%" PRIu64 " is more than the number of words, or has a common factor with "
                        "it",
                        visit->step);
    if (request->cold && visit->residence != FTH_RESIDES_DEVICE)
        return fth_fail(error, FTH_INVALID, operation, "cold",
                        "only the GPU's memory is cached in the L2");
    return fth_check_carveout(request, error);
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_visit *visit = &request->visit;
    fth_buffer_format(text, "visit %s %s %" PRIu64 "x%" PRIu64, fth_visit_name(visit->operation),
                      fth_residence_word(visit->residence, visit->prefetched), visit->stride_bytes,
                      visit->count);
    if (step_of(visit) != 1)
        fth_buffer_format(text, " step %" PRIu64, visit->step);
    if (visit->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, visit->passes);
    if (visit->stamped)
        fth_buffer_text(text, " stamped");
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_visit *visit = &request->visit;
    visit->passes = 1;
    while (!fth_scan_name(scanner, fth_visit_name(visit->operation)))
        if (++visit->operation == FTH_VISIT_OPERATIONS)
            return false;
    if (!fth_scan(scanner, " ") ||
        !fth_scan_residence(scanner, &visit->residence, &visit->prefetched) ||
        !fth_scan(scanner, " ") || !fth_scan_number(scanner, UINT64_MAX, &visit->stride_bytes) ||
        !fth_scan(scanner, "x") || !fth_scan_number(scanner, UINT64_MAX, &visit->count) ||
        !fth_scan_option(scanner, " step ", &visit->step) ||
        !fth_scan_option(scanner, " passes ", &visit->passes))
        return false;
    visit->stamped = fth_scan(scanner, " stamped");
    return true;
}

static uint64_t visits_of(const struct fth_visit *visit)
{
    return visit->count * visit->passes;
}

static uint64_t count_samples(const struct fth_request *request)
{
    return visits_of(&request->visit) * (request->visit.stamped ? 2 : 1);
}

/* ---- execution ---- */

/* What visit.ptx stores for each visit. */
struct visit_record {
    uint32_t begin, cycles;
};

/* What the family keeps from request to request. */
struct visit_state {
    struct fth_machine_module *modules[FTH_VISIT_OPERATIONS]; /* NULL: not loaded yet */
    struct fth_zeroed data;                                   /* words in the GPU's memory */
    struct fth_zeroed records; /* the ticket and the records of all visits */
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct visit_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct visit_state *state = opaque;
    for (size_t i = 0; i < FTH_COUNT(state->modules); i++)
        if (state->modules[i])
            runner->ops->unload(runner->machine, state->modules[i]);
    fth_zeroed_release(runner, &state->data);
    fth_zeroed_release(runner, &state->records);
    free(state);
}

static enum fth_status load(struct fth_runner *runner, enum fth_visit_operation access,
                            struct fth_machine_module **module, struct fth_error *error)
{
    if (*module)
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_visit(access, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "visit", ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    return status;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_visit *visit = &request->visit;
    const unsigned min = fth_visit_capability(visit->operation);
    if (runner->facts.capability < min)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "%s: requires compute capability %u.%u or later",
                        fth_visit_title(visit->operation), min / 10, min % 10);
    FTH_TRY(fth_ticket_lower(runner, lowered, error));
    lowered->threads = THREADS;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S +
        (double)visits_of(visit) * (visit->residence == FTH_RESIDES_DEVICE ? FTH_MAX_HOP_S
                                    : visit->residence == FTH_RESIDES_HOST ? max_host_s
                                                                           : max_managed_s);
    return FTH_OK;
}

static enum fth_status launch(struct fth_runner *runner, const struct visit_state *state,
                              const struct fth_lowered *lowered, uint64_t memory,
                              struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_visit *visit = &request->visit;
    const uint64_t arguments[] = {memory,
                                  visit->stride_bytes,
                                  visit->count,
                                  step_of(visit) % visit->count,
                                  visit->passes,
                                  state->records.address + TICKET_BYTES,
                                  runner->sms[request->sm == FTH_ANY_SM ? 0 : request->sm],
                                  state->records.address};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = state->modules[visit->operation];
    launch.kernel = "visit";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    if (request->cold)
        FTH_TRY(fth_runner_flush(runner, error));
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    return runner->ops->wait(runner->machine, lowered->time_limit_s, error);
}

static enum fth_status collect(struct fth_runner *runner, const struct visit_state *state,
                               const struct fth_visit *visit, uint32_t *samples,
                               struct fth_error *error)
{
    const uint64_t count = visits_of(visit);
    struct visit_record *records = calloc((size_t)count, sizeof *records);
    if (!records)
        return fth_no_memory(error, "run experiments", NULL);
    enum fth_status status =
        runner->ops->download(runner->machine, records, state->records.address + TICKET_BYTES,
                              count * sizeof *records, error);
    if (status == FTH_OK && records[count - 1].cycles == 0)
        status = fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                          "no block of the launch was executed by the SM");
    for (uint64_t i = 0; i < count && status == FTH_OK; i++) {
        samples[i] = records[i].cycles;
        if (visit->stamped)
            samples[count + i] = records[i].begin - records[0].begin;
    }
    free(records);
    return status;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *samples,
                           struct fth_error *error)
{
    const struct fth_visit *visit = &lowered->request->visit;
    struct visit_state *state = slot->state;
    const uint64_t bytes = visit->stride_bytes * visit->count;
    const uint64_t record_bytes = TICKET_BYTES + visits_of(visit) * sizeof(struct visit_record);
    struct fth_host_memory host = {0};
    FTH_TRY(load(runner, visit->operation, &state->modules[visit->operation], error));
    FTH_TRY(fth_zeroed_grow(runner, &state->records, record_bytes, error));
    FTH_TRY(runner->ops->fill(runner->machine, state->records.address, 0, record_bytes, error));
    const bool on_device = visit->residence == FTH_RESIDES_DEVICE;
    FTH_TRY(on_device ? fth_zeroed_grow(runner, &state->data, bytes, error)
                      : fth_host_memory_alloc(runner, visit->residence, visit->prefetched, bytes,
                                              &host, error));
    enum fth_status status =
        launch(runner, state, lowered, on_device ? state->data.address : host.address, error);
    if (status == FTH_OK)
        status = collect(runner, state, visit, samples, error);
    if (!on_device)
        runner->ops->host_free(runner->machine, &host);
    return status;
}

const struct fth_family_ops fth_family_visit = {.word = "visit",
                                                .check = check,
                                                .write = write,
                                                .read = read_text,
                                                .samples = count_samples,
                                                .lower = lower,
                                                .open = open_state,
                                                .release = release_state,
                                                .disturbs = FTH_DISTURBS_L2,
                                                .run = run};
