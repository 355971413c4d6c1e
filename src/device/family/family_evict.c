/* The evict family: lines that evict each other from the L2 (kernels/evict.ptx). Examples of the
 * canonical text:
 *
 *   evict search 2097152x128 seed 7 pool 491520 target 0 threshold 391 repeats 3 tests 6000
 *   evict script 4096x128 seed 7 flush 1536 lines 9,77,4 read 0,1,0 time 0,2
 *
 * The form is "evict search LINESxBYTES seed SEED [warm BYTES] pool ELEMENTS target TARGET
 * threshold CYCLES repeats REPEATS tests TESTS [passes PASSES]" or "evict script LINESxBYTES seed
 * SEED [warm BYTES] [flush ELEMENTS] lines NUMBER,… [read INDEX,… [passes PASSES]] [pool ELEMENTS]
 * time INDEX,…". An index is the position of a line in the list of lines. */
#include "device/family/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

enum {
    MIN_LINE_BYTES = 4,
    MAX_LINE_BYTES = 1 << 20, /* chosen, not derived */
    MAX_REPEATS = 1000,       /* chosen, not derived */
    MAX_TESTS = 1 << 20,      /* chosen, not derived */
    MAX_PASSES = 1 << 16,     /* chosen, not derived */
    /* A search is given up after this many reads per element of the pool, times the passes of a
     * trial plus 1. On simulated GPUs with LRU and 4 to 24 ways, 130 reads per element suffice. */
    READS_PER_ELEMENT = 200,
    /* Samples of a search before the members. */
    HEADER = 5,
    THREADS = 1024 /* CUDA's maximum per block, for many reads in flight */
};
/* Rate of line reads by one SM that every GPU exceeds, for the time limit. Chosen, not derived. */
static const double min_lines_per_s = 1e8;

_Static_assert(sizeof(struct fth_evict) <= sizeof(struct fth_chase),
               "fth_request.chase must be the largest member");
_Static_assert((int)FTH_EVICT_MAX_MEMBERS == (int)FTH_EVICT_MEMBERS,
               "requests and kernel store the same number of lines");

/* ---- requests ---- */

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check_search(const struct fth_evict *evict, struct fth_error *error)
{
    if (evict->pool == 0 || evict->pool >= evict->lines)
        return refuse(error, "evict.pool", evict->pool, "is not less than the number of lines");
    if (evict->target >= evict->lines - evict->pool)
        return refuse(error, "evict.target", evict->target, "is beyond the end of the array");
    if (evict->threshold_cycles == 0)
        return refuse(error, "evict.threshold_cycles", 0, "is not a number of cycles");
    if (evict->passes == 0 || evict->passes > MAX_PASSES)
        return refuse(error, "evict.passes", evict->passes, "is not in the range 1 to 65536");
    if (evict->repeats == 0 || evict->repeats > MAX_REPEATS)
        return refuse(error, "evict.repeats", evict->repeats, "is not in the range 1 to 1000");
    if (evict->max_tests == 0 || evict->max_tests > MAX_TESTS)
        return refuse(error, "evict.max_tests", evict->max_tests,
                      "is not in the range 1 to 1048576");
    return FTH_OK;
}

/* Checks that all indices are positions in the list of lines. */
static enum fth_status check_indices(const struct fth_evict *evict, const char *member,
                                     const uint8_t *indices, uint32_t count,
                                     struct fth_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (indices[i] >= evict->number_count)
            return refuse(error, member, indices[i], "is not an index of a line");
    return FTH_OK;
}

static enum fth_status check_script(const struct fth_evict *evict, struct fth_error *error)
{
    if (evict->flush > evict->lines)
        return refuse(error, "evict.flush", evict->flush, "is more than the array has lines");
    if (evict->pool > evict->lines)
        return refuse(error, "evict.pool", evict->pool, "is more than the array has lines");
    if (evict->number_count == 0 || evict->number_count > FTH_COUNT(evict->numbers))
        return refuse(error, "evict.number_count", evict->number_count,
                      "is not in the range 1 to 65");
    for (uint32_t i = 0; i < evict->number_count; i++)
        if (evict->numbers[i] >= evict->lines)
            return refuse(error, "evict.numbers", evict->numbers[i],
                          "is beyond the end of the array");
    if (evict->read_count > FTH_EVICT_MAX_READS)
        return refuse(error, "evict.read_count", evict->read_count, "is more than 128");
    if (evict->time_count == 0 || evict->time_count > FTH_COUNT(evict->times))
        return refuse(error, "evict.time_count", evict->time_count, "is not in the range 1 to 65");
    if (evict->passes > MAX_PASSES || (evict->passes == 0) != (evict->read_count == 0))
        return refuse(error, "evict.passes", evict->passes,
                      "is not in the range 1 to 65536, or 0 without reads");
    FTH_TRY(check_indices(evict, "evict.reads", evict->reads, evict->read_count, error));
    return check_indices(evict, "evict.times", evict->times, evict->time_count, error);
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_evict *evict = &request->evict;
    if ((unsigned)evict->kind >= FTH_EVICT_KINDS)
        return refuse(error, "evict.kind", (uint64_t)evict->kind, "is not a kind of request");
    if (evict->lines < 2 || evict->lines & (evict->lines - 1))
        return refuse(error, "evict.lines", evict->lines, "is not a power of two above 1");
    if (evict->line_bytes < MIN_LINE_BYTES || evict->line_bytes > MAX_LINE_BYTES ||
        evict->line_bytes % MIN_LINE_BYTES)
        return refuse(error, "evict.line_bytes", evict->line_bytes,
                      "is not a multiple of 4 up to 1048576");
    if (evict->warm_bytes & (evict->warm_bytes - 1) || evict->warm_bytes % MIN_LINE_BYTES ||
        evict->warm_bytes >= (uint64_t)evict->lines * evict->line_bytes)
        return refuse(error, "evict.warm_bytes", evict->warm_bytes,
                      "is not a power of two from 4 to half the array");
    FTH_TRY(evict->kind == FTH_EVICT_SEARCH ? check_search(evict, error)
                                            : check_script(evict, error));
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_numbers(struct fth_buffer *text, const char *word, const uint32_t *numbers,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fth_buffer_format(text, "%s%" PRIu32, i ? "," : word, numbers[i]);
}

static void write_indices(struct fth_buffer *text, const char *word, const uint8_t *indices,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fth_buffer_format(text, "%s%u", i ? "," : word, indices[i]);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_evict *evict = &request->evict;
    const bool search = evict->kind == FTH_EVICT_SEARCH;
    fth_buffer_format(text, "evict %s %" PRIu32 "x%" PRIu32 " seed %" PRIu32,
                      search ? "search" : "script", evict->lines, evict->line_bytes, evict->seed);
    if (evict->warm_bytes)
        fth_buffer_format(text, " warm %" PRIu32, evict->warm_bytes);
    if (search) {
        fth_buffer_format(text,
                          " pool %" PRIu32 " target %" PRIu32 " threshold %" PRIu32
                          " repeats %" PRIu32 " tests %" PRIu32,
                          evict->pool, evict->target, evict->threshold_cycles, evict->repeats,
                          evict->max_tests);
        if (evict->passes > 1)
            fth_buffer_format(text, " passes %" PRIu32, evict->passes);
    } else {
        if (evict->flush)
            fth_buffer_format(text, " flush %" PRIu32, evict->flush);
        write_numbers(text, " lines ", evict->numbers, evict->number_count);
        write_indices(text, " read ", evict->reads, evict->read_count);
        if (evict->passes > 1)
            fth_buffer_format(text, " passes %" PRIu32, evict->passes);
        if (evict->pool)
            fth_buffer_format(text, " pool %" PRIu32, evict->pool);
        write_indices(text, " time ", evict->times, evict->time_count);
    }
    fth_request_write_options(request, text);
}

/* Reads the word and a list of at most `max` numbers or indices. */
static bool read_numbers(struct fth_scanner *scanner, const char *word, uint32_t *numbers,
                         uint8_t *indices, uint32_t max, uint32_t *count)
{
    *count = 0;
    if (!fth_scan(scanner, word))
        return false;
    do {
        uint64_t number;
        if (*count == max || !fth_scan_number(scanner, numbers ? UINT32_MAX : UINT8_MAX, &number))
            return false;
        if (numbers)
            numbers[*count] = (uint32_t)number;
        else
            indices[*count] = (uint8_t)number;
        ++*count;
    } while (fth_scan(scanner, ","));
    return true;
}

static bool read_script(struct fth_scanner *scanner, struct fth_evict *evict)
{
    if (!fth_scan_option_u32(scanner, " flush ", &evict->flush) ||
        !read_numbers(scanner, " lines ", evict->numbers, NULL, FTH_COUNT(evict->numbers),
                      &evict->number_count))
        return false;
    const struct fth_scanner ahead = *scanner;
    if (fth_scan(scanner, " read ")) {
        *scanner = ahead;
        evict->passes = 1;
        if (!read_numbers(scanner, " read ", NULL, evict->reads, FTH_COUNT(evict->reads),
                          &evict->read_count) ||
            !fth_scan_option_u32(scanner, " passes ", &evict->passes))
            return false;
    }
    return fth_scan_option_u32(scanner, " pool ", &evict->pool) &&
           read_numbers(scanner, " time ", NULL, evict->times, FTH_COUNT(evict->times),
                        &evict->time_count);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_evict *evict = &request->evict;
    if (fth_scan(scanner, "script "))
        evict->kind = FTH_EVICT_SCRIPT;
    else if (!fth_scan(scanner, "search "))
        return false;
    if (!fth_scan_u32(scanner, &evict->lines) || !fth_scan(scanner, "x") ||
        !fth_scan_u32(scanner, &evict->line_bytes) || !fth_scan(scanner, " seed ") ||
        !fth_scan_u32(scanner, &evict->seed) ||
        !fth_scan_option_u32(scanner, " warm ", &evict->warm_bytes))
        return false;
    if (evict->kind == FTH_EVICT_SCRIPT)
        return read_script(scanner, evict);
    evict->passes = 1;
    return fth_scan(scanner, " pool ") && fth_scan_u32(scanner, &evict->pool) &&
           fth_scan(scanner, " target ") && fth_scan_u32(scanner, &evict->target) &&
           fth_scan(scanner, " threshold ") && fth_scan_u32(scanner, &evict->threshold_cycles) &&
           fth_scan(scanner, " repeats ") && fth_scan_u32(scanner, &evict->repeats) &&
           fth_scan(scanner, " tests ") && fth_scan_u32(scanner, &evict->max_tests) &&
           fth_scan_option_u32(scanner, " passes ", &evict->passes);
}

static uint64_t count_samples(const struct fth_request *request)
{
    const struct fth_evict *evict = &request->evict;
    return evict->kind == FTH_EVICT_SEARCH ? HEADER + (uint64_t)FTH_EVICT_MAX_MEMBERS
                                           : evict->time_count;
}

/* ---- execution ---- */

/* Where the steps of a script are: behind the ticket and the largest number of samples. */
enum {
    MAX_SAMPLES = 1 + HEADER + FTH_EVICT_MAX_MEMBERS,
    MAX_ACCESSES = FTH_EVICT_MAX_READS + FTH_EVICT_MAX_MEMBERS + 1,
    STEPS_OFFSET = FTH_TICKET_BYTES + 4 * MAX_SAMPLES,
    CONTROL_BYTES = STEPS_OFFSET + 4 * MAX_ACCESSES
};

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_evict *evict = &request->evict;
    FTH_TRY(fth_ticket_lower(runner, lowered, error));
    lowered->threads = THREADS;
    const double tests = evict->kind == FTH_EVICT_SEARCH
                             ? (double)evict->max_tests * evict->repeats * evict->passes
                             : 1;
    const double lines = (double)evict->pool + evict->flush;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + tests * (lines / min_lines_per_s + FTH_MAX_HOP_S) +
        ((double)evict->passes * evict->read_count + evict->time_count) * FTH_MAX_HOP_S;
    return FTH_OK;
}

/* The execution of one request. */
struct evict_run {
    struct fth_runner *runner;
    struct fth_family_slot *slot;
    const struct fth_lowered *lowered;
    const struct fth_ticket_memory *state;
};

enum { COMMON_ARGUMENTS = 8, MAX_FURTHER = 8 };

/* Queues a kernel with the parameters that both kernels have and further ones. */
static enum fth_status launch(const struct evict_run *run, const char *kernel,
                              const uint64_t *further, size_t count, struct fth_error *error)
{
    const struct fth_request *request = run->lowered->request;
    const struct fth_evict *evict = &request->evict;
    uint64_t arguments[COMMON_ARGUMENTS + MAX_FURTHER] = {run->state->data.address,
                                                          evict->line_bytes,
                                                          evict->lines - 1,
                                                          evict->seed,
                                                          fth_ticket_sm(run->runner, request),
                                                          run->state->control.address,
                                                          evict->warm_bytes,
                                                          run->state->control.address +
                                                              FTH_TICKET_BYTES};
    for (size_t i = 0; i < count; i++)
        arguments[COMMON_ARGUMENTS + i] = further[i];
    struct fth_machine_launch launch = fth_lowered_launch(run->lowered);
    launch.module = run->slot->module;
    launch.kernel = kernel;
    launch.arguments = arguments;
    launch.argument_bytes = (COMMON_ARGUMENTS + count) * sizeof *arguments;
    return run->runner->ops->launch(run->runner->machine, &launch, error);
}

static enum fth_status launch_search(const struct evict_run *run, struct fth_error *error)
{
    const struct fth_evict *evict = &run->lowered->request->evict;
    unsigned shift = 0;
    while (evict->pool >> shift > FTH_EVICT_LIST)
        shift++;
    const uint64_t further[] = {evict->pool >> shift,
                                shift,
                                (uint64_t)evict->pool + evict->target,
                                evict->threshold_cycles,
                                evict->repeats,
                                evict->max_tests,
                                evict->passes,
                                (uint64_t)READS_PER_ELEMENT * (evict->passes + 1) * evict->pool};
    return launch(run, "search", further, FTH_COUNT(further), error);
}

static enum fth_status launch_script(const struct evict_run *run, struct fth_error *error)
{
    const struct fth_machine_ops *ops = run->runner->ops;
    const struct fth_evict *evict = &run->lowered->request->evict;
    uint32_t steps[MAX_ACCESSES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < evict->read_count; i++)
        steps[count++] = evict->numbers[evict->reads[i]];
    for (uint32_t i = 0; i < evict->time_count; i++)
        steps[count++] = evict->numbers[evict->times[i]];
    const uint64_t address = run->state->control.address + STEPS_OFFSET;
    FTH_TRY(ops->upload(run->runner->machine, address, steps, count * sizeof *steps, error));
    const uint64_t further[] = {address,       evict->read_count, evict->time_count,
                                evict->passes, evict->flush,      evict->pool};
    return launch(run, "script", further, FTH_COUNT(further), error);
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_evict *evict = &lowered->request->evict;
    const bool search = evict->kind == FTH_EVICT_SEARCH;
    struct fth_ticket_memory *state = slot->state;
    const struct evict_run run = {runner, slot, lowered, state};
    FTH_TRY(fth_zeroed_grow(runner, &state->control, CONTROL_BYTES, error));
    FTH_TRY(
        fth_zeroed_grow(runner, &state->data, (uint64_t)evict->lines * evict->line_bytes, error));
    FTH_TRY(ops->fill(runner->machine, state->control.address, 0, STEPS_OFFSET, error));
    FTH_TRY(search ? launch_search(&run, error) : launch_script(&run, error));
    /* The word that says whether the request was executed is the first sample of a search, and
     * precedes those of a script. */
    return fth_ticket_read(runner, state, lowered, search ? 0 : sizeof *cycles, cycles, error);
}

const struct fth_family_ops fth_family_evict = {
    .word = "evict",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_evict,
    .open = fth_ticket_open,
    .release = fth_ticket_release,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
