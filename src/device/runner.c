/* Executes requests on a machine, that is, a GPU behind the CUDA driver or a simulated one
 * (machine.h). Chase requests that do not disturb each other share one launch, with one request per
 * SM: each block of the kernel `chase` looks up the request of its SM in a table. The hardware
 * decides where blocks run, so a launch can leave an SM without a block; requests that were not
 * executed are launched again. Requests of the other families (family.h) run one at a time.
 *
 * A batch is the list of requests of one call of `measure`. struct fth_runner is the state of the
 * open device, which lives through many batches. Two things are called a step: the
 * steps of a request (struct fth_step) are executed one after the other; the step of a chain
 * (fth_chain_step) is the number of elements by which a hop advances.
 *
 * The rate of the SM clock is measured against the GPU's nanosecond timer during the warm-up and
 * after every batch; if the clock never changes (simulated GPUs), only once at the start. The rate
 * at the start of a batch is that of the last measurement before it. docs/measuring.md describes
 * the method. */
#include "device/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SMS = 1024,       /* entries of the tables indexed by %smid; more than any GPU has SMs */
    MAX_LAUNCHES = 8,     /* launches of a request before its SM counts as unreachable; heuristic */
    BANK_BYTES = 65536,   /* size of the constant bank, CUDA's limit for constants */
    CLOCK_CYCLES = 50000, /* duration of a clock measurement: 25 us at 2 GHz. Both ends are aligned
                             to ticks of the timer, so this is long enough although the timer of
                             some GPUs ticks only every 1 us */
    DELAY_CYCLES = 40000, /* duration of the delay kernel, during which the host queues the timed
                             work: 20 us at 2 GHz; a driver call takes 2 to 5 us, and there are at
                             most a few */
    WARM_UP_CYCLES = 200000, /* duration of one warm-up round: 100 us at 2 GHz */
    WARM_UP_ROUNDS = 1000    /* maximum number of rounds: 0.1 s in total */
};
/* Two measurements of the clock that differ by more than clock_tolerance (relative) mean that it
 * changed during a batch. Two that differ by at most warm_up_tolerance mean that it has settled
 * during the warm-up. Heuristics. */
static const double clock_tolerance = 0.01, warm_up_tolerance = 0.002;
/* Time limit of a launch in seconds: min_time_limit_s plus max_hop_s per hop. max_hop_s is meant as
 * an upper bound for one hop, even if it misses in every TLB and the clock is at its minimum. A
 * launch that takes longer counts as hung. Heuristics. */
static const double max_hop_s = 10e-6, min_time_limit_s = 3;
/* Chains are kept from launch to launch and from batch to batch. Before a launch, all are freed if
 * they occupy more than 1 / kept_memory_divisor of the GPU's memory. Heuristic. */
static const uint64_t kept_memory_divisor = 4;

static enum fth_status out_of_memory(struct fth_error *error)
{
    fth_no_memory(error, "run experiments", NULL);
    return FTH_NO_MEMORY;
}

/* Queues a kernel of experiments.ptx, the module of the chase family. (The module is a member of
 * `layout`, because layout.c launches its kernel `build`.) `arguments` are `count` 64-bit values.
 */
static enum fth_status launch(struct fth_runner *runner, const char *kernel, uint32_t blocks,
                              uint32_t threads, const uint64_t *arguments, size_t count,
                              struct fth_error *error)
{
    return runner->ops->launch(runner->machine,
                               &(struct fth_machine_launch){.module = runner->layout.module,
                                                            .kernel = kernel,
                                                            .blocks = blocks,
                                                            .threads = threads,
                                                            .carveout_percent = -1,
                                                            .arguments = arguments,
                                                            .argument_bytes = count * 8},
                               error);
}

/* ---- the clock ---- */

/* Measures the SM clock in MHz; NAN: the timer did not advance. The kernel `pace` waits for
 * `cycles` cycles, and reads the SM clock and the nanosecond timer before and after. */
static enum fth_status measure_clock(struct fth_runner *runner, uint64_t cycles, double *mhz,
                                     struct fth_error *error)
{
    uint64_t stamps[4] = {0};
    const uint64_t arguments[] = {runner->scratch, cycles};
    enum fth_status status = launch(runner, "pace", 1, 1, arguments, 2, error);
    if (status == FTH_OK)
        status = runner->ops->wait(runner->machine, min_time_limit_s, error);
    if (status == FTH_OK)
        status =
            runner->ops->download(runner->machine, stamps, runner->scratch, sizeof stamps, error);
    *mhz = stamps[3] > stamps[1]
               ? (double)(stamps[2] - stamps[0]) * 1e3 / (double)(stamps[3] - stamps[1])
               : NAN;
    return status;
}

/* A simulated GPU needs no delay, because the calls of the host take no time there. */
enum fth_status fth_runner_queue_delay(struct fth_runner *runner, struct fth_error *error)
{
    const uint64_t arguments[] = {runner->scratch, DELAY_CYCLES};
    return runner->facts.host_access_is_free ? FTH_OK
                                             : launch(runner, "pace", 1, 1, arguments, 2, error);
}

/* Keeps the GPU busy until two clock measurements agree. An idle GPU lowers its clock, and takes
 * some time under load to raise it again. */
static enum fth_status warm_up(struct fth_runner *runner, struct fth_error *error)
{
    double last = NAN, mhz = NAN;
    for (int i = 0; i < WARM_UP_ROUNDS; i++) {
        FTH_TRY(measure_clock(runner, WARM_UP_CYCLES, &mhz, error));
        if (runner->facts.steady_clock || fabs(mhz - last) <= warm_up_tolerance * mhz)
            break;
        if (i == WARM_UP_ROUNDS - 1)
            fth_log_message(runner->log, FTH_LOG_WARNING,
                            "the GPU's clock has not settled: %.0f, then %.0f MHz", last, mhz);
        last = mhz;
    }
    runner->clock_mhz = mhz;
    return FTH_OK;
}

/* ---- opening ---- */

/* Finds the %smid numbers of all SMs (there can be gaps between the numbers), and the address of
 * the constant bank. */
static enum fth_status find_sms(struct fth_runner *runner, struct fth_error *error)
{
    uint32_t *present = calloc(MAX_SMS, sizeof *present);
    runner->sms = calloc(MAX_SMS, sizeof *runner->sms);
    enum fth_status status = present && runner->sms ? FTH_OK : out_of_memory(error);
    const uint64_t bytes = MAX_SMS * sizeof *present;
    const uint64_t arguments[] = {runner->scratch, runner->scratch + bytes};
    if (status == FTH_OK)
        status = runner->ops->fill(runner->machine, runner->scratch, 0, bytes + 8, error);
    /* 8 blocks of 256 threads fill an SM (2048 threads). With 8 blocks per SM in the grid, each SM
     * should receive at least one. */
    if (status == FTH_OK)
        status = launch(runner, "census", runner->facts.sms * 8, 256, arguments, 2, error);
    if (status == FTH_OK)
        status = runner->ops->wait(runner->machine, min_time_limit_s, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, present, runner->scratch, bytes, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, &runner->bank_origin,
                                       runner->scratch + bytes, 8, error);
    for (uint32_t i = 0; i < MAX_SMS && status == FTH_OK; i++)
        if (present[i])
            runner->sms[runner->sm_count++] = i;
    if (status == FTH_OK && runner->sm_count == 0)
        status = fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                          "the first launch executed no block");
    free(present);
    return status;
}

static enum fth_status initialize(struct fth_runner *runner, struct fth_error *error)
{
    struct fth_buffer ptx = {0};
    runner->ops->facts(runner->machine, &runner->facts);
    if (runner->facts.sms == 0 || runner->facts.sms > MAX_SMS)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "GPUs with %u SMs are not supported", runner->facts.sms);
    enum fth_status status = fth_kernels_experiments(&ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "experiments", ptx.data, ptx.size,
                                   &runner->layout.module, error);
    fth_buffer_fini(&ptx);
    uint64_t bytes;
    if (status == FTH_OK)
        status = runner->ops->symbol(runner->machine, runner->layout.module, "bank", &runner->bank,
                                     &bytes, error);
    /* The largest user is find_sms: one word per SM and one address. 64 bytes are more than the
     * address needs. */
    if (status == FTH_OK)
        status = runner->ops->alloc(runner->machine, MAX_SMS * 4 + 64, &runner->scratch, error);
    if (status == FTH_OK)
        status = find_sms(runner, error);
    if (status == FTH_OK)
        status = warm_up(runner, error);
    return status;
}

/* ---- groups ---- */

/* Requests that share a launch. */
struct group {
    const struct fth_request **requests;
    struct fth_samples **samples;
    uint32_t *sms; /* %smid for each request, or FTH_ANY_SM until assign_sms */
    size_t count;
    bool *sm_taken;                    /* [MAX_SMS], by %smid */
    const struct fth_chain *constants; /* the group's first chain in the constant bank, or NULL */
    uint64_t shared_bytes;             /* shared memory per block */
    double hops;                       /* sum over all requests, for the time limit */
};

/* The first chain of the request in the constant bank, or NULL. can_join() assumes that further
 * such chains of the request can share the bank wherever the first one can. */
static const struct fth_chain *constant_chain(const struct fth_request *request)
{
    for (size_t i = 0; i < request->chase.step_count; i++)
        if (request->chase.steps[i].path == FTH_PATH_CONSTANT)
            return &request->chase.steps[i].chain;
    return NULL;
}

/* The shared memory that the request's chains need. */
static uint64_t shared_bytes(const struct fth_request *request)
{
    uint64_t max = 0;
    for (size_t i = 0; i < request->chase.step_count; i++) {
        const struct fth_chain *chain = &request->chase.steps[i].chain;
        uint64_t end = chain->start_bytes + chain->count * chain->stride_bytes;
        if (request->chase.steps[i].path == FTH_PATH_SHARED && end > max)
            max = end;
    }
    return max;
}

/* Whether the constant bank can hold both chains: the elements that they have in common must be
 * equal. A chain with step 1 is not closed, so its links do not depend on its start and length.
 * Otherwise the links depend on the whole chain, so the chains must be the same. */
static bool can_share_bank(const struct fth_chain *a, const struct fth_chain *b)
{
    if (fth_chain_step(a) != 1 || fth_chain_step(b) != 1)
        return a->stride_bytes == b->stride_bytes && a->start_bytes == b->start_bytes &&
               fth_chain_step(a) == fth_chain_step(b) && a->count == b->count;
    return a->stride_bytes == b->stride_bytes &&
           a->start_bytes % a->stride_bytes == b->start_bytes % b->stride_bytes;
}

/* Whether the request must not share a launch. */
static bool is_alone(const struct fth_request *request)
{
    return request->alone || request->cold || request->family != FTH_FAMILY_CHASE;
}

/* Whether the request can share a launch with the group, which is not empty. All blocks of a launch
 * have the same shared memory, which can reduce the L1. It must therefore be exactly what each
 * request needs, so that the results do not depend on the other requests of the group. */
static bool can_join(const struct fth_runner *runner, const struct group *group,
                     const struct fth_request *request)
{
    const struct fth_request *first = group->requests[0];
    if (group->count == runner->sm_count || is_alone(request) || is_alone(first) ||
        request->carveout_percent != first->carveout_percent ||
        shared_bytes(request) != group->shared_bytes)
        return false;
    if (request->sm != FTH_ANY_SM && group->sm_taken[runner->sms[request->sm]])
        return false;
    const struct fth_chain *constants = constant_chain(request);
    return !constants || !group->constants || can_share_bank(constants, group->constants);
}

static void add_to_group(const struct fth_runner *runner, struct group *group,
                         const struct fth_request *request, struct fth_samples *samples)
{
    if (group->count == 0) {
        group->shared_bytes = shared_bytes(request);
        group->constants = NULL;
    }
    if (!group->constants)
        group->constants = constant_chain(request);
    group->requests[group->count] = request;
    group->samples[group->count] = samples;
    uint32_t sm = request->sm == FTH_ANY_SM ? FTH_ANY_SM : runner->sms[request->sm];
    group->sms[group->count++] = sm;
    if (sm != FTH_ANY_SM)
        group->sm_taken[sm] = true;
}

/* Assigns SMs to the requests that accept any SM, in round-robin order so that all SMs are used. */
static void assign_sms(struct fth_runner *runner, struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->sms[i] != FTH_ANY_SM)
            continue;
        while (group->sm_taken[runner->sms[runner->next_sm % runner->sm_count]])
            runner->next_sm++;
        group->sms[i] = runner->sms[runner->next_sm++ % runner->sm_count];
        group->sm_taken[group->sms[i]] = true;
    }
}

/* ---- running one group ---- */

/* Stores why a request has no answer. */
static void set_failure(struct fth_samples *samples, enum fth_status status, const char *cause)
{
    samples->status = status;
    snprintf(samples->cause, sizeof samples->cause, "%.*s", (int)sizeof samples->cause - 1, cause);
}

/* Writes the same links as the kernel `build` in experiments.ptx. The first word of an element is
 * the address of the next element. The second word is the back link, for walks in reverse: the
 * address of the back link of the previous element. Elements less than 16 bytes apart have none. A
 * chain with step 1 is not closed: its last element points to where the next one would be, and its
 * first back link to where the previous one would be. A walk counts its hops and does not follow
 * these two. */
void fth_runner_build_constants(const struct fth_runner *runner, const struct fth_chain *chain,
                                uint64_t *bank)
{
    uint64_t chain_step = fth_chain_step(chain), count = chain->count;
    uint64_t stride = chain->stride_bytes;
    uint64_t origin = runner->bank_origin + chain->start_bytes;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t here = i, next = i + 1, before = i - 1;
        if (chain_step != 1) {
            here = i * chain_step % count;
            next = (i + 1) * chain_step % count;
            before = (i + count - 1) * chain_step % count;
        }
        uint64_t *at = bank + (chain->start_bytes + here * stride) / 8;
        at[0] = origin + next * stride;
        if (stride >= 16)
            at[1] = origin + before * stride + 8;
    }
}

static enum fth_status upload_constants(struct fth_runner *runner, const struct group *group,
                                        struct fth_error *error)
{
    uint64_t *bank = calloc(BANK_BYTES / 8, 8);
    if (!bank)
        return out_of_memory(error);
    for (size_t i = 0; i < group->count; i++)
        for (size_t j = 0; j < group->requests[i]->chase.step_count; j++)
            if (group->requests[i]->chase.steps[j].path == FTH_PATH_CONSTANT)
                fth_runner_build_constants(runner, &group->requests[i]->chase.steps[j].chain, bank);
    enum fth_status status =
        runner->ops->upload(runner->machine, runner->bank, bank, BANK_BYTES, error);
    free(bank);
    return status;
}

/* Ensures that the control memory has at least `bytes`. It holds the data of a launch: tables,
 * requests and samples (see run_group). */
static enum fth_status reserve_control(struct fth_runner *runner, uint64_t bytes,
                                       struct fth_error *error)
{
    if (bytes <= runner->control_bytes)
        return FTH_OK;
    if (runner->control)
        runner->ops->free(runner->machine, runner->control);
    runner->control = runner->control_bytes = 0;
    enum fth_status status = runner->ops->alloc(runner->machine, bytes, &runner->control, error);
    if (status == FTH_OK)
        runner->control_bytes = bytes;
    return status;
}

/* The address of the first load of a step. `begin` is the address of the first element of its
 * chain. For textures, both are texel indices instead of addresses. A reverse walk begins at the
 * back link of the last element, which is its second word (for textures, its second texel). Words
 * have 8 bytes, texels 4. */
static uint64_t first_position(const struct fth_step *step, uint64_t begin)
{
    if (!step->reverse)
        return begin;
    uint64_t end = (step->chain.count - 1) * step->chain.stride_bytes;
    return step->path == FTH_PATH_TEXTURE ? begin + end / 4 + 1 : begin + end + 8;
}

/* Converts a step to the form that the kernel reads, and builds its chain if necessary. */
static enum fth_status describe_step(struct fth_runner *runner, const struct fth_request *request,
                                     const struct fth_step *step, struct fth_chase_step *out,
                                     struct fth_error *error)
{
    static const uint32_t kinds[] = {
        [FTH_STEP_WALK] = FTH_CHASE_WALK,        [FTH_STEP_TIME_PASS] = FTH_CHASE_PASSES,
        [FTH_STEP_TIME_HOPS] = FTH_CHASE_HOPS,   [FTH_STEP_TOUCH] = FTH_CHASE_TOUCH,
        [FTH_STEP_TIME_CLOCK] = FTH_CHASE_CLOCK, [FTH_STEP_TIME_SINK] = FTH_CHASE_SINK};
    uint64_t begin = 0, texture_or_stride = 0;
    enum fth_status status = FTH_OK;
    if (step->kind == FTH_STEP_TOUCH) { /* reads the array that another step walks */
        const struct fth_step *walk = fth_request_walk(request, step->chain.array);
        begin =
            fth_layout_address(&runner->layout, walk->path, &walk->chain) + step->chain.start_bytes;
        texture_or_stride = step->chain.stride_bytes;
    } else if (step->path == FTH_PATH_CONSTANT) {
        begin = runner->bank_origin + step->chain.start_bytes;
    } else if (step->path == FTH_PATH_SHARED) {
        begin = step->chain.start_bytes;
    } else {
        status = fth_layout_build(&runner->layout, step->path, &step->chain, step->reverse, &begin,
                                  &texture_or_stride, error);
    }
    *out = (struct fth_chase_step){.kind = kinds[step->kind],
                                   .path = (uint32_t)step->path,
                                   .warp = step->warp,
                                   .passes = step->passes,
                                   .first = first_position(step, begin),
                                   .count = step->chain.count,
                                   .texture_or_stride = texture_or_stride};
    return status;
}

/* Converts a request to the form that the kernel reads. The kernel itself builds chains in shared
 * memory, in additional steps at the start. `*samples` is the address of the request's first
 * sample; it is advanced by the size of its samples. */
static enum fth_status describe_request(struct fth_runner *runner,
                                        const struct fth_request *request, uint64_t *samples,
                                        struct fth_chase_request *out, struct fth_error *error)
{
    *out = (struct fth_chase_request){0};
    /* The chains in shared memory. The kernel requires a chain's step to be less than its count,
     * hence the modulo. */
    for (size_t i = 0; i < request->chase.step_count; i++) {
        const struct fth_step *step = &request->chase.steps[i];
        if (step->path == FTH_PATH_SHARED)
            out->step[out->steps++] =
                (struct fth_chase_step){.kind = FTH_CHASE_BUILD_SHARED,
                                        .warp = step->warp,
                                        .passes = 1,
                                        .first = step->chain.start_bytes,
                                        .count = step->chain.count,
                                        .texture_or_stride = step->chain.stride_bytes,
                                        .step = fth_chain_step(&step->chain) % step->chain.count};
    }
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < request->chase.step_count && status == FTH_OK; i++) {
        const struct fth_step *step = &request->chase.steps[i];
        struct fth_chase_step *chase = &out->step[out->steps++];
        status = describe_step(runner, request, step, chase, error);
        chase->samples = *samples;
        if (step->kind == FTH_STEP_TIME_PASS)
            *samples += 4 * step->passes;
        else if (step->kind != FTH_STEP_WALK && step->kind != FTH_STEP_TOUCH)
            *samples += 4 * step->passes * step->chain.count;
    }
    return status;
}

/* Reads four times as many bytes as the L2 holds. An L2 of unknown size is assumed to hold 64 MiB.
 * With random replacement, exp(-4) of the lines (one in 55) then remain. */
enum fth_status fth_runner_flush(struct fth_runner *runner, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (!runner->flush) {
        uint64_t bytes = 4 * (runner->facts.l2_bytes ? runner->facts.l2_bytes : (uint64_t)64 << 20);
        status = runner->ops->alloc(runner->machine, bytes, &runner->flush, error);
        runner->flush_bytes = status == FTH_OK ? bytes : 0;
    }
    const uint64_t arguments[] = {runner->flush, runner->flush_bytes, runner->scratch};
    if (status == FTH_OK)
        status = launch(runner, "flush", runner->facts.sms * 2, 1024, arguments, 3, error);
    return status;
}

/* Launches the group until every request has been executed, at most MAX_LAUNCHES times.
 *
 * `tables` is a host buffer for two tables that are indexed by %smid. The first one holds 0 for an
 * SM without a request, otherwise the index of its request plus 1. In the second one, a block marks
 * its SM as claimed, so that a second block on this SM exits. `addresses` are the GPU addresses of
 * the two tables, the requests and the marks; the first three are the kernel's arguments. Each
 * request has a mark, at the address fth_chase_request.served. A block sets it after it has
 * executed the request. served[i] becomes true when the mark of request i is set. */
static enum fth_status launch_group(struct fth_runner *runner, const struct group *group,
                                    uint32_t *tables, const uint64_t *addresses, bool *served,
                                    struct fth_error *error)
{
    const struct fth_request *first = group->requests[0];
    /* The hardware reserves some shared memory (1 KiB since Ampere) for every block that an SM
     * could hold, which reduces the L1: with blocks of one warp, by 32 KiB on an H200. Where the
     * carve-out matters, blocks therefore have the maximum size. The warps that have no work exit
     * at once. */
    unsigned warps = first->carveout_percent >= 0 ? FTH_MAX_WARPS : 1;
    for (size_t i = 0; i < group->count; i++)
        for (size_t j = 0; j < group->requests[i]->chase.step_count; j++) {
            const struct fth_step *step = &group->requests[i]->chase.steps[j];
            unsigned needed = step->kind == FTH_STEP_TOUCH ? FTH_MAX_WARPS : step->warp + 1;
            warps = needed > warps ? needed : warps;
        }
    uint32_t *marks = calloc(group->count + 1, sizeof *marks);
    enum fth_status status = marks ? FTH_OK : out_of_memory(error);
    size_t left = group->count;
    for (int round = 0; round < MAX_LAUNCHES && left > 0 && status == FTH_OK; round++) {
        memset(tables, 0, (size_t)2 * MAX_SMS * sizeof *tables);
        for (size_t i = 0; i < group->count; i++)
            if (!served[i])
                tables[group->sms[i]] = (uint32_t)i + 1;
        status = runner->ops->upload(runner->machine, addresses[0], tables,
                                     (size_t)2 * MAX_SMS * sizeof *tables, error);
        if (status == FTH_OK && first->cold)
            status = fth_runner_flush(runner, error);
        if (status == FTH_OK)
            status = runner->ops->launch(
                runner->machine,
                &(struct fth_machine_launch){.module = runner->layout.module,
                                             .kernel = "chase",
                                             .blocks = runner->facts.sms,
                                             .threads = warps * 32,
                                             .shared_bytes = group->shared_bytes,
                                             .carveout_percent = first->carveout_percent,
                                             .arguments = addresses,
                                             .argument_bytes = (size_t)3 * 8},
                error);
        if (status == FTH_OK)
            status = runner->ops->wait(runner->machine, min_time_limit_s + group->hops * max_hop_s,
                                       error);
        if (status == FTH_OK)
            status = runner->ops->download(runner->machine, marks, addresses[3],
                                           group->count * sizeof *marks, error);
        for (size_t i = 0; i < group->count && status == FTH_OK; i++)
            if (!served[i] && marks[i]) {
                served[i] = true;
                left--;
            }
    }
    free(marks);
    return status;
}

/* Downloads the samples of all requests at once, because each transfer has a fixed cost, and
 * distributes them. */
static enum fth_status collect(struct fth_runner *runner, const struct group *group,
                               const bool *served, uint64_t address, uint64_t sample_count,
                               struct fth_error *error)
{
    uint32_t *all = calloc(sample_count + 1, sizeof *all), *next = all;
    enum fth_status status =
        all ? runner->ops->download(runner->machine, all, address, sample_count * 4, error)
            : out_of_memory(error);
    for (size_t i = 0; i < group->count && status == FTH_OK; i++) {
        struct fth_samples *samples = group->samples[i];
        uint64_t count = fth_request_samples(group->requests[i]);
        if (!served[i]) {
            set_failure(samples, FTH_UNAVAILABLE,
                        "the GPU placed no block on the SM of the request");
        } else if ((samples->cycles = calloc(count, sizeof *samples->cycles))) {
            memcpy(samples->cycles, next, count * sizeof *next);
            samples->count = count;
            samples->sm = group->sms[i];
            samples->status = FTH_OK;
            samples->cause[0] = '\0';
        } else {
            status = out_of_memory(error);
        }
        next += count;
    }
    free(all);
    return status;
}

/* Some arrays have a header: FTH_HEADER_BYTES of free memory directly in front of them. Control
 * data in the header occupies no further page while a probe measures TLBs (device.h). Returns an
 * address in the header of the first array with a header that the request walks with FTH_PATH_CG,
 * the path of the TLB probes. The offset in the header is the largest multiple of 256 bytes from
 * which `bytes` fit. 0: there is no header, or it is too small. */
static uint64_t find_header(struct fth_runner *runner, const struct fth_request *request,
                            uint64_t bytes)
{
    for (size_t i = 0; i < request->chase.step_count && bytes <= FTH_HEADER_BYTES; i++)
        if (request->chase.steps[i].chain.array >= FTH_FIRST_HEADER_ARRAY &&
            request->chase.steps[i].path == FTH_PATH_CG &&
            request->chase.steps[i].kind != FTH_STEP_TOUCH) {
            uint64_t header =
                fth_layout_header(&runner->layout, FTH_PATH_CG, &request->chase.steps[i].chain);
            return header ? header + (FTH_HEADER_BYTES - bytes) / 256 * 256 : 0;
        }
    return 0;
}

/* Executes a group and stores the answers. The control data consists, in this order, of the two
 * tables by SM (which request the SM has, whether a block has claimed the SM), the requests, one
 * mark per request, and the samples. For a request that runs alone, it is in the header of an array
 * if there is one. Otherwise it is in the control memory. */
static enum fth_status run_group(struct fth_runner *runner, const struct group *group,
                                 struct fth_error *error)
{
    uint64_t sample_count = 0, table_bytes = (size_t)2 * MAX_SMS * sizeof(uint32_t);
    uint64_t request_bytes = group->count * sizeof(struct fth_chase_request);
    uint64_t mark_bytes = (group->count * 4 + 7) / 8 * 8;
    for (size_t i = 0; i < group->count; i++)
        sample_count += fth_request_samples(group->requests[i]);
    uint32_t *tables = calloc(1, table_bytes);
    struct fth_chase_request *requests = calloc(group->count + 1, sizeof *requests);
    bool *served = calloc(group->count + 1, sizeof *served);
    enum fth_status status = tables && requests && served ? FTH_OK : out_of_memory(error);
    uint64_t bytes = table_bytes + request_bytes + mark_bytes + sample_count * 4;
    uint64_t header =
        is_alone(group->requests[0]) ? find_header(runner, group->requests[0], bytes) : 0;
    if (status == FTH_OK && !header)
        status = reserve_control(runner, bytes, error);
    const uint64_t control = header ? header : runner->control;
    uint64_t addresses[4] = {control, control + table_bytes / 2, control + table_bytes,
                             control + table_bytes + request_bytes};
    uint64_t samples = addresses[3] + mark_bytes, next = samples;
    for (size_t i = 0; i < group->count && status == FTH_OK; i++) {
        status = describe_request(runner, group->requests[i], &next, &requests[i], error);
        requests[i].served = addresses[3] + i * 4;
    }
    if (status == FTH_OK && group->constants)
        status = upload_constants(runner, group, error);
    if (status == FTH_OK)
        status = runner->ops->upload(runner->machine, addresses[2], requests, request_bytes, error);
    if (status == FTH_OK)
        status = runner->ops->fill(runner->machine, addresses[3], 0, mark_bytes + sample_count * 4,
                                   error);
    if (status == FTH_OK)
        status = launch_group(runner, group, tables, addresses, served, error);
    if (status == FTH_OK)
        status = collect(runner, group, served, samples, sample_count, error);
    free(tables);
    free(requests);
    free(served);
    return status;
}

/* Reserves memory for the chain of a step. A step of kind FTH_STEP_TOUCH has no chain of its own:
 * it reads the array of a chain that another step of the request walks. That array is then reserved
 * up to the last byte that is touched, if the chain is shorter. */
static enum fth_status reserve_step(struct fth_runner *runner, const struct fth_request *request,
                                    const struct fth_step *step, struct fth_error *error)
{
    uint64_t touched_bytes = 0;
    if (step->kind == FTH_STEP_TOUCH) {
        touched_bytes = step->chain.start_bytes + step->chain.count * step->chain.stride_bytes;
        step = fth_request_walk(request, step->chain.array);
    }
    return fth_layout_reserve(&runner->layout, step->path, &step->chain, touched_bytes, error);
}

/* Reserves memory for all chains of a request. If there is not enough and `may_clear` is set, it
 * frees the chains of earlier requests and the memory of fth_runner_flush, and tries again. `*fit`
 * is false if the memory still does not suffice; the samples then hold the reason. */
static enum fth_status reserve(struct fth_runner *runner, const struct fth_request *request,
                               struct fth_samples *samples, bool may_clear, bool *fit,
                               struct fth_error *error)
{
    *fit = false;
    for (int attempt = 0; attempt < 2; attempt++) {
        struct fth_error fault = FTH_NO_ERROR;
        enum fth_status status = FTH_OK;
        for (size_t i = 0; i < request->chase.step_count && status == FTH_OK; i++)
            if (request->chase.steps[i].path != FTH_PATH_CONSTANT &&
                request->chase.steps[i].path != FTH_PATH_SHARED)
                status = reserve_step(runner, request, &request->chase.steps[i], &fault);
        if (status == FTH_OK) {
            *fit = true;
            return FTH_OK;
        }
        if (status != FTH_NO_MEMORY)
            return fth_error_move(error, &fault);
        set_failure(samples, FTH_UNAVAILABLE, fault.cause);
        if (!may_clear)
            return FTH_OK;
        fth_layout_clear(&runner->layout);
        if (runner->flush)
            runner->ops->free(runner->machine, runner->flush);
        runner->flush = 0;
    }
    return FTH_OK;
}

/* Returns false, with the reason in `samples`, if this GPU cannot execute the request at all. */
static bool check_support(const struct fth_runner *runner, const struct fth_request *request,
                          struct fth_samples *samples)
{
    uint64_t shared = shared_bytes(request);
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        set_failure(samples, FTH_NOT_FOUND, "the GPU has no SM with this index");
    else if (shared > runner->facts.block_shared_bytes && runner->facts.block_shared_bytes)
        set_failure(samples, FTH_UNSUPPORTED,
                    "the request needs more shared memory than a block can have");
    else
        return true;
    return false;
}

/* The bytes of all regions, that is, of the arrays that hold chains (layout.h). Huge regions (1 GiB
 * and more) are not counted. They share one allocation. If it were counted, the limit would often
 * be exceeded, and freeing and allocating it again takes long. When the other regions exceed the
 * limit, fth_layout_clear() frees this allocation, too. */
static uint64_t layout_bytes(const struct fth_layout *layout)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < layout->count; i++)
        if (!layout->regions[i].huge)
            sum += layout->regions[i].bytes;
    return sum;
}

/* Executes a request of a family other than the chase. */
static enum fth_status run_family(struct fth_runner *runner, const struct fth_request *request,
                                  struct fth_samples *samples, struct fth_error *error)
{
    const struct fth_family_ops *family = fth_family_of(request->family);
    struct fth_machine_module **module = &runner->modules[request->family];
    struct fth_error fault = FTH_NO_ERROR;
    if (runner->facts.capability < family->min_capability) {
        set_failure(samples, FTH_UNSUPPORTED, family->too_old);
        return FTH_OK;
    }
    enum fth_status status = FTH_OK;
    if (!*module && family->make_ptx) {
        struct fth_buffer ptx = {0};
        status = family->make_ptx(&ptx, &fault);
        if (status == FTH_OK)
            status =
                runner->ops->load(runner->machine, "family", ptx.data, ptx.size, module, &fault);
        fth_buffer_fini(&ptx);
    }
    uint64_t count = fth_request_samples(request);
    samples->cycles = calloc(count, sizeof *samples->cycles);
    if (!samples->cycles)
        return out_of_memory(error);
    if (status == FTH_OK)
        status = family->run(runner, *module, request, samples->cycles, &fault);
    samples->status = status;
    samples->cause[0] = '\0';
    if (status == FTH_OK) {
        samples->count = count;
        return FTH_OK;
    }
    set_failure(samples, status, fault.cause);
    /* These two statuses mean that the GPU cannot execute this request, but can execute others. Any
     * other failure ends the batch. */
    return status == FTH_UNSUPPORTED || status == FTH_UNAVAILABLE ? FTH_OK
                                                                  : fth_error_move(error, &fault);
}

/* Executes all requests. Each round forms a group from the requests that are not done yet. */
static enum fth_status run_all(struct fth_runner *runner, const struct fth_request *requests,
                               size_t count, struct fth_samples *samples, struct group *group,
                               bool *done, struct fth_error *error)
{
    for (size_t from = 0; from < count; from++) {
        if (done[from])
            continue;
        if (fth_log_interrupted(runner->log))
            return fth_fail(error, FTH_INTERRUPTED, "run experiments", NULL, "interrupted");
        if (runner->facts.memory_bytes &&
            layout_bytes(&runner->layout) > runner->facts.memory_bytes / kept_memory_divisor)
            fth_layout_clear(&runner->layout);
        if (requests[from].family != FTH_FAMILY_CHASE) {
            enum fth_status status = run_family(runner, &requests[from], &samples[from], error);
            if (status != FTH_OK)
                return status;
            continue;
        }
        group->count = 0;
        group->hops = 0;
        memset(group->sm_taken, 0, MAX_SMS * sizeof *group->sm_taken);
        for (size_t i = from; i < count; i++) {
            bool fit = true;
            if (requests[i].family != FTH_FAMILY_CHASE)
                continue;
            if (!done[i] && !check_support(runner, &requests[i], &samples[i]))
                done[i] = true;
            if (done[i] || (group->count && !can_join(runner, group, &requests[i])))
                continue;
            enum fth_status status =
                reserve(runner, &requests[i], &samples[i], group->count == 0, &fit, error);
            if (status != FTH_OK)
                return status;
            /* A request whose memory does not fit next to that of the group waits for a later
             * group. If it does not fit alone either, it is done: its samples hold the failure. */
            done[i] = fit || group->count == 0;
            if (!fit)
                continue;
            add_to_group(runner, group, &requests[i], &samples[i]);
            for (size_t j = 0; j < requests[i].chase.step_count; j++)
                group->hops += (double)requests[i].chase.steps[j].passes *
                               (double)requests[i].chase.steps[j].chain.count;
        }
        if (group->count == 0)
            continue;
        assign_sms(runner, group);
        /* The group changes the contents of the L2, so stream.c must no longer assume that the L2
         * holds the data of the last stream. */
        fth_stream_invalidate(runner);
        FTH_TRY(run_group(runner, group, error));
    }
    return FTH_OK;
}

/* Executes one batch. The clock before it is that of the previous batch or of the warm-up. */
static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct fth_runner *runner = state;
    struct group group = {.requests = calloc(count + 1, sizeof *group.requests),
                          .samples = calloc(count + 1, sizeof *group.samples),
                          .sms = calloc(count + 1, sizeof *group.sms),
                          .sm_taken = calloc(MAX_SMS, sizeof *group.sm_taken)};
    bool *done = calloc(count + 1, sizeof *done);
    enum fth_status status = FTH_OK;
    if (!group.requests || !group.samples || !group.sms || !group.sm_taken || !done)
        status = out_of_memory(error);
    if (status == FTH_OK)
        status = run_all(runner, requests, count, samples, &group, done, error);
    double before = runner->clock_mhz;
    if (status == FTH_OK && !runner->facts.steady_clock)
        status = measure_clock(runner, CLOCK_CYCLES, &runner->clock_mhz, error);
    if (status == FTH_OK && fabs(runner->clock_mhz - before) > clock_tolerance * before)
        fth_log_message(runner->log, FTH_LOG_WARNING,
                        "the GPU's clock changed from %.0f to %.0f MHz during the measurement",
                        before, runner->clock_mhz);
    for (size_t i = 0; i < count; i++)
        samples[i].clock_mhz = (before + runner->clock_mhz) / 2;
    free(group.requests);
    free(group.samples);
    free(group.sms);
    free(group.sm_taken);
    free(done);
    return status;
}

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct fth_runner *runner = state;
    return runner->ops->describe(runner->machine, gpu, error);
}

static void close_runner(void *state)
{
    struct fth_runner *runner = state;
    fth_layout_fini(&runner->layout);
    if (runner->flush)
        runner->ops->free(runner->machine, runner->flush);
    fth_stream_release(runner);
    fth_operate_release(runner);
    fth_sweep_release(runner);
    if (runner->control)
        runner->ops->free(runner->machine, runner->control);
    if (runner->scratch)
        runner->ops->free(runner->machine, runner->scratch);
    for (size_t i = 0; i < FTH_FAMILY_COUNT; i++)
        if (runner->modules[i])
            runner->ops->unload(runner->machine, runner->modules[i]);
    if (runner->layout.module)
        runner->ops->unload(runner->machine, runner->layout.module);
    runner->ops->close(runner->machine);
    free(runner->sms);
    free(runner);
}

enum fth_status fth_runner_device(const char *id, const struct fth_machine_ops *ops, void *machine,
                                  const struct fth_log *log, struct fth_device **device,
                                  struct fth_error *error)
{
    static const struct fth_device_ops runner_ops = {
        .describe = describe, .measure = measure, .close = close_runner};
    *device = NULL;
    struct fth_runner *runner = calloc(1, sizeof *runner);
    if (!runner) {
        ops->close(machine);
        return out_of_memory(error);
    }
    runner->ops = runner->layout.ops = ops;
    runner->machine = runner->layout.machine = machine;
    runner->log = log;
    enum fth_status status = initialize(runner, error);
    if (status == FTH_OK)
        return fth_device_create(id, &runner_ops, runner, device, error);
    close_runner(runner);
    return status;
}
