/* The contend family: one SM times reads of lines while other SMs read one line all the time
 * (kernels/contend.ptx). The canonical text is "contend TARGET [by SM,…] lines
 * START:STRIDExCOUNT,…", for example
 *
 *   contend 4096 by 3,9,14 lines 0:128x256,1024:2176x128; sm 5
 *
 * All numbers are bytes within a page, or indices of SMs. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

enum {
    WORD_BYTES = 4,
    LINE_BYTES = 128,
    LAST_SECTOR =
        96, /* offset in the target of the word that is timed; the rivals read the bytes before */
    /* Threads per block. An SM then has up to 256 reads of the target in flight. A simulated GPU,
     * whose blocks run one after the other, has fewer, to save time. */
    THREADS = 1024,
    SIMULATED_THREADS = 512,
    /* Cycles from the start of a block to the first timed read: until then, all blocks have
     * started. Chosen, not derived. */
    DELAY_CYCLES = 8192,
    /* Cycles per line for which the target is read: those of a read and of some that are delayed.
     * Chosen: if the rivals end too early, the last sample shows it. */
    LINE_CYCLES = 800,
    /* Maximum number of reads of the target per cycle, by all SMs together: four times as many as a
     * slice with 64 bytes per cycle serves. Limits the time that a simulated GPU without slices
     * takes. */
    READS_PER_CYCLE = 2,
    /* Shared memory of a block beyond half of the maximum of a block: twice that is more than an SM
     * has, which is at most 1 KiB more than a block can have. */
    MORE_SHARED_BYTES = 1024,
    ROUND_READS = 8 /* reads of the target in a round of the kernel */
};

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static uint64_t count_lines(const struct fth_contend *contend)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < contend->range_count; i++)
        count += contend->ranges[i].count;
    return count;
}

static enum fth_status check_ranges(const struct fth_contend *contend, struct fth_error *error)
{
    if (contend->range_count == 0 || contend->range_count > FTH_CONTEND_MAX_RANGES)
        return refuse(error, "contend.range_count", contend->range_count,
                      "is not in the range 1 to 4");
    for (uint32_t i = 0; i < contend->range_count; i++) {
        const struct fth_contend_range *range = &contend->ranges[i];
        if (range->count == 0 || range->count > FTH_CONTEND_MAX_LINES)
            return refuse(error, "contend.ranges.count", range->count,
                          "is not in the range 1 to 4096");
        if (range->stride_bytes % WORD_BYTES || range->start_bytes % WORD_BYTES ||
            range->stride_bytes > FTH_CONTEND_PAGE_BYTES ||
            range->start_bytes + (uint64_t)(range->count - 1) * range->stride_bytes >=
                FTH_CONTEND_PAGE_BYTES)
            return refuse(error, "contend.ranges.stride_bytes", range->stride_bytes,
                          "is not a multiple of 4 that keeps the lines in the page");
    }
    const uint64_t lines = count_lines(contend);
    return lines > FTH_CONTEND_MAX_LINES
               ? refuse(error, "contend.ranges", lines, "lines are more than 4096")
               : FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_contend *contend = &request->contend;
    if (contend->target_bytes % LINE_BYTES || contend->target_bytes >= FTH_CONTEND_PAGE_BYTES)
        return refuse(error, "contend.target_bytes", contend->target_bytes,
                      "is not a multiple of 128 in the page");
    if (contend->rival_count > FTH_CONTEND_MAX_RIVALS)
        return refuse(error, "contend.rival_count", contend->rival_count, "SMs are more than 64");
    if (request->sm == FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "the request must name its SM");
    for (uint32_t i = 0; i < contend->rival_count; i++)
        if (contend->rivals[i] == request->sm ||
            (i && contend->rivals[i] <= contend->rivals[i - 1]))
            return refuse(error, "contend.rivals", contend->rivals[i],
                          "is not above the previous SM, or times the lines");
    FTH_TRY(check_ranges(contend, error));
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_contend *contend = &request->contend;
    fth_buffer_format(text, "contend %" PRIu32, contend->target_bytes);
    for (uint32_t i = 0; i < contend->rival_count; i++)
        fth_buffer_format(text, "%s%" PRIu32, i ? "," : " by ", contend->rivals[i]);
    for (uint32_t i = 0; i < contend->range_count; i++)
        fth_buffer_format(text, "%s%" PRIu32 ":%" PRIu32 "x%" PRIu32, i ? "," : " lines ",
                          contend->ranges[i].start_bytes, contend->ranges[i].stride_bytes,
                          contend->ranges[i].count);
    fth_request_write_options(request, text);
}

static bool read_range(struct fth_scanner *scanner, struct fth_contend *contend)
{
    if (contend->range_count == FTH_CONTEND_MAX_RANGES)
        return false;
    struct fth_contend_range *range = &contend->ranges[contend->range_count++];
    return fth_scan_u32(scanner, &range->start_bytes) && fth_scan(scanner, ":") &&
           fth_scan_u32(scanner, &range->stride_bytes) && fth_scan(scanner, "x") &&
           fth_scan_u32(scanner, &range->count);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_contend *contend = &request->contend;
    if (!fth_scan_u32(scanner, &contend->target_bytes))
        return false;
    if (fth_scan(scanner, " by "))
        do {
            if (contend->rival_count == FTH_CONTEND_MAX_RIVALS ||
                !fth_scan_u32(scanner, &contend->rivals[contend->rival_count++]))
                return false;
        } while (fth_scan(scanner, ","));
    if (!fth_scan(scanner, " lines "))
        return false;
    do {
        if (!read_range(scanner, contend))
            return false;
    } while (fth_scan(scanner, ","));
    return true;
}

/* The target is timed first and last. */
static uint64_t count_samples(const struct fth_request *request)
{
    return count_lines(&request->contend) + 2;
}

/* ---- execution ---- */

/* Memory that the family keeps from request to request. The tables and the samples have space for
 * the largest request. */
struct contend_state {
    uint64_t memory, page; /* the page is aligned to its size and filled with 0 */
    uint64_t control;
};
enum {
    MAX_SAMPLES = FTH_CONTEND_MAX_LINES + 2,
    MAX_SMS = 1024, /* numbers of SMs, the maximum of runner.c */
    LIST_OFFSET = 0,
    ROLES_OFFSET = 4 * MAX_SAMPLES,
    SAMPLES_OFFSET = ROLES_OFFSET + 4 * MAX_SMS,
    CONTROL_BYTES = SAMPLES_OFFSET + 4 * MAX_SAMPLES
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct contend_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct contend_state *state = opaque;
    if (state->memory)
        runner->ops->free(runner->machine, state->memory);
    if (state->control)
        runner->ops->free(runner->machine, state->control);
    free(state);
}

static enum fth_status allocate(struct fth_runner *runner, struct contend_state *state,
                                struct fth_error *error)
{
    const uint64_t page = FTH_CONTEND_PAGE_BYTES;
    if (!state->control)
        FTH_TRY(fth_runner_alloc(runner, CONTROL_BYTES, &state->control, error));
    if (state->memory)
        return FTH_OK;
    FTH_TRY(fth_runner_alloc(runner, 2 * page, &state->memory, error));
    state->page = (state->memory + page - 1) / page * page;
    return runner->ops->fill(runner->machine, state->memory, 0, 2 * page, error);
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_contend *contend = &lowered->request->contend;
    uint32_t last = lowered->request->sm;
    for (uint32_t i = 0; i < contend->rival_count; i++)
        last = contend->rivals[i] > last ? contend->rivals[i] : last;
    if (last >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = runner->facts.sms;
    lowered->threads = runner->facts.concurrent ? THREADS : SIMULATED_THREADS;
    /* Each block requests more than half of the shared memory, so that no two blocks share an SM.
     * With all of it, the L1 would be so small that it limits the reads in flight, on an H200. */
    const uint64_t max = runner->facts.block_shared_bytes;
    lowered->shared_bytes = FTH_MIN(max / 2 + MORE_SHARED_BYTES, max);
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + 2 * (double)count_lines(contend) * FTH_MAX_HOP_S;
    return lowered->shared_bytes < 4 * lowered->sample_count
               ? fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                          "the shared memory cannot hold the list of lines")
               : FTH_OK;
}

/* Writes the tables of a request: the lines, with the target as the first and the last one, and the
 * roles of the SMs. */
static enum fth_status upload_tables(struct fth_runner *runner, const struct fth_request *request,
                                     uint64_t control, struct fth_error *error)
{
    const struct fth_contend *contend = &request->contend;
    uint32_t list[MAX_SAMPLES], roles[MAX_SMS] = {0};
    uint32_t used = 0;
    list[used++] = contend->target_bytes + LAST_SECTOR;
    for (uint32_t i = 0; i < contend->range_count; i++)
        for (uint32_t j = 0; j < contend->ranges[i].count; j++)
            list[used++] = contend->ranges[i].start_bytes + j * contend->ranges[i].stride_bytes;
    list[used++] = contend->target_bytes + LAST_SECTOR;
    for (uint32_t i = 0; i < contend->rival_count; i++)
        if (runner->sms[contend->rivals[i]] < MAX_SMS)
            roles[runner->sms[contend->rivals[i]]] = 1;
    if (runner->sms[request->sm] < MAX_SMS)
        roles[runner->sms[request->sm]] = 2;
    FTH_TRY(runner->ops->upload(runner->machine, control + LIST_OFFSET, list, used * sizeof *list,
                                error));
    return runner->ops->upload(runner->machine, control + ROLES_OFFSET, roles, sizeof roles, error);
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_request *request = lowered->request;
    const struct fth_contend *contend = &request->contend;
    struct contend_state *state = slot->state;
    const uint64_t length = 2 * (uint64_t)DELAY_CYCLES + LINE_CYCLES * lowered->sample_count;
    const uint32_t warps = contend->rival_count * (lowered->threads / 32);
    const uint64_t rounds = warps ? READS_PER_CYCLE * length / ROUND_READS / warps + 1 : 0;
    FTH_TRY(allocate(runner, state, error));
    FTH_TRY(upload_tables(runner, request, state->control, error));
    const uint64_t samples = state->control + SAMPLES_OFFSET;
    FTH_TRY(ops->fill(runner->machine, samples, 0, lowered->sample_count * sizeof *cycles, error));
    const uint64_t arguments[] = {state->page,
                                  contend->target_bytes,
                                  state->control + LIST_OFFSET,
                                  lowered->sample_count,
                                  state->control + ROLES_OFFSET,
                                  warps == 0,
                                  warps ? DELAY_CYCLES : 0,
                                  length,
                                  rounds,
                                  samples};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "contend";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    FTH_TRY(ops->launch(runner->machine, &launch, error));
    FTH_TRY(ops->wait(runner->machine, lowered->time_limit_s, error));
    FTH_TRY(ops->download(runner->machine, cycles, samples, lowered->sample_count * sizeof *cycles,
                          error));
    /* A read takes at least one cycle. */
    return cycles[0] ? FTH_OK
                     : fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                                "no block of the launch was executed by the SM");
}

const struct fth_family_ops fth_family_contend = {
    .word = "contend",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_contend,
    .open = open_state,
    .release = release_state,
    .lower = lower,
    .run = run,
};
