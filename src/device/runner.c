/* A device that executes requests on a machine, that is, a GPU behind the CUDA driver or a
 * simulated one (machine.h). A batch is the list of requests of one call of `measure`. Each request
 * is lowered once (lowered.h), and then its family executes it (family.h), alone or together with
 * others of the same family. */
#include "device/family/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of the memory for small results. Its largest user is the census, with one word per SM and
 * one address; 64 bytes are more than the address needs. */
enum { SCRATCH_BYTES = FTH_MAX_SMS * 4 + 64 };
/* To flush the L2, this many times its size is read. With random replacement, exp(-4) of the lines
 * (one in 55) then remain. */
static const uint64_t flush_l2_sizes = 4;
/* Assumed size of the L2 where it is unknown, in bytes: meant as an upper limit, so that flushes
 * and pools are never too small. Chosen: about twice the largest L2 of data/gpus (H200, 60 MiB). */
static const uint64_t unknown_l2_bytes = UINT64_C(128) << 20;

static const char operation[] = "run experiments";

void fth_job_fail(struct fth_job *job, enum fth_status status, const char *cause)
{
    struct fth_samples *samples = job->samples;
    samples->status = status;
    snprintf(samples->cause, sizeof samples->cause, "%.*s", (int)sizeof samples->cause - 1, cause);
    job->done = true;
}

/* ---- services ---- */

/* The memory of a simulated GPU is memory of the host. If its description says that there is
 * enough, it is the host that has not. */
static bool lacks_host_memory(const struct fth_runner *runner, uint64_t bytes)
{
    uint64_t free = 0;
    return runner->facts.host_access_is_free &&
           runner->ops->free_bytes(runner->machine, &free, NULL) == FTH_OK && free >= bytes;
}

enum fth_status fth_runner_alloc(struct fth_runner *runner, uint64_t bytes, uint64_t *address,
                                 struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    if (runner->ops->alloc(runner->machine, bytes, address, &fault) == FTH_OK)
        return FTH_OK;
    if (fault.status == FTH_NO_MEMORY && !lacks_host_memory(runner, bytes))
        fault.status = FTH_UNAVAILABLE;
    return fth_error_move(error, &fault);
}

enum fth_status fth_runner_launch(struct fth_runner *runner, struct fth_machine_launch launch,
                                  struct fth_error *error)
{
    launch.module = runner->module;
    launch.carveout_percent = -1;
    return runner->ops->launch(runner->machine, &launch, error);
}

uint64_t fth_runner_l2_bytes(const struct fth_runner *runner)
{
    return runner->facts.l2_bytes ? runner->facts.l2_bytes : unknown_l2_bytes;
}

enum fth_status fth_runner_flush(struct fth_runner *runner, struct fth_error *error)
{
    if (!runner->flush) {
        const uint64_t bytes = flush_l2_sizes * fth_runner_l2_bytes(runner);
        FTH_TRY(fth_runner_alloc(runner, bytes, &runner->flush, error));
        runner->flush_bytes = bytes;
    }
    const uint64_t arguments[] = {runner->flush, runner->flush_bytes, runner->scratch};
    return fth_runner_launch(runner,
                             (struct fth_machine_launch){.kernel = "flush",
                                                         .blocks = runner->facts.sms * 2,
                                                         .threads = 1024,
                                                         .arguments = arguments,
                                                         .argument_bytes = sizeof arguments},
                             error);
}

void fth_runner_free_flush(struct fth_runner *runner)
{
    if (runner->flush)
        runner->ops->free(runner->machine, runner->flush);
    runner->flush = runner->flush_bytes = 0;
}

/* ---- families ---- */

/* Opens the slot of a family when it is first needed. */
static enum fth_status open_slot(struct fth_runner *runner, enum fth_family family,
                                 struct fth_error *error)
{
    const struct fth_family_ops *ops = fth_family_of(family);
    struct fth_family_slot *slot = &runner->slots[family];
    if (ops->open && !slot->state)
        FTH_TRY(ops->open(runner, &slot->state, error));
    if (!ops->make_ptx || slot->module)
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = ops->make_ptx(&ptx, error);
    if (status == FTH_OK)
        status =
            runner->ops->load(runner->machine, "family", ptx.data, ptx.size, &slot->module, error);
    fth_buffer_fini(&ptx);
    return status;
}

/* Tells the other families what a family is about to destroy. */
static void disturb_others(struct fth_runner *runner, enum fth_family family)
{
    const unsigned what = fth_family_of(family)->disturbs;
    for (enum fth_family i = 0; i < FTH_FAMILY_COUNT; i++)
        if (i != family && runner->slots[i].state && fth_family_of(i)->disturb)
            fth_family_of(i)->disturb(runner->slots[i].state, what);
}

static void close_slots(struct fth_runner *runner)
{
    for (enum fth_family i = 0; i < FTH_FAMILY_COUNT; i++) {
        struct fth_family_slot *slot = &runner->slots[i];
        if (slot->state)
            fth_family_of(i)->release(runner, slot->state);
        if (slot->module)
            runner->ops->unload(runner->machine, slot->module);
    }
}

/* ---- batches ---- */

/* Executes one request of a family whose requests share no launch. */
static enum fth_status run_alone(struct fth_runner *runner, struct fth_job *job,
                                 struct fth_error *error)
{
    const struct fth_lowered *lowered = &job->lowered;
    const enum fth_family family = lowered->request->family;
    struct fth_samples *samples = job->samples;
    samples->cycles = calloc(lowered->sample_count, sizeof *samples->cycles);
    if (!samples->cycles)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_family_of(family)->run(runner, &runner->slots[family], lowered, samples->cycles,
                                       error));
    samples->status = FTH_OK;
    samples->cause[0] = '\0';
    samples->count = lowered->sample_count;
    job->done = true;
    return FTH_OK;
}

/* Executes jobs[0], and those of the other jobs that can share its launch. */
static enum fth_status run_first(struct fth_runner *runner, struct fth_job *jobs, size_t count,
                                 struct fth_error *error)
{
    const enum fth_family family = jobs[0].lowered.request->family;
    const struct fth_family_ops *ops = fth_family_of(family);
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = open_slot(runner, family, &fault);
    if (status == FTH_OK) {
        disturb_others(runner, family);
        if (ops->run_together)
            return ops->run_together(runner, &runner->slots[family], jobs, count, error);
        status = run_alone(runner, &jobs[0], &fault);
    }
    if (status == FTH_OK)
        return FTH_OK;
    fth_job_fail(&jobs[0], status, fault.cause);
    /* These two statuses mean that the GPU cannot execute this request, but can execute others. Any
     * other failure ends the batch. */
    return status == FTH_UNSUPPORTED || status == FTH_UNAVAILABLE ? FTH_OK
                                                                  : fth_error_move(error, &fault);
}

/* Executes all jobs of a batch in order. */
static enum fth_status run_jobs(struct fth_runner *runner, struct fth_job *jobs, size_t count,
                                struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].done)
            continue;
        if (fth_log_interrupted(runner->log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(run_first(runner, &jobs[i], count - i, error));
        /* A job also fails with this status if the GPU is lost. Then all others would fail, too. */
        if (jobs[i].done && jobs[i].samples->status == FTH_UNAVAILABLE)
            FTH_TRY(runner->ops->check(runner->machine, error));
    }
    return FTH_OK;
}

/* Lowers the requests. Those that this GPU cannot execute are done. */
static void lower_requests(const struct fth_runner *runner, const struct fth_request *requests,
                           size_t count, struct fth_samples *samples, struct fth_job *jobs)
{
    for (size_t i = 0; i < count; i++) {
        struct fth_error fault = FTH_NO_ERROR;
        jobs[i].samples = &samples[i];
        if (fth_request_lower(runner, &requests[i], &jobs[i].lowered, &fault) != FTH_OK)
            fth_job_fail(&jobs[i], fault.status, fault.cause);
    }
}

/* The sum of all samples, which most families take in cycles. */
static uint64_t sum_samples(const struct fth_samples *samples, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < samples[i].count; k++)
            sum += samples[i].cycles[k];
    return sum;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct fth_runner *runner = state;
    struct fth_job *jobs = calloc(count + 1, sizeof *jobs);
    if (!jobs)
        return fth_no_memory(error, operation, NULL);
    double clock_mhz = NAN;
    lower_requests(runner, requests, count, samples, jobs);
    enum fth_status status = run_jobs(runner, jobs, count, error);
    if (status == FTH_OK)
        status = fth_runner_check_clock(runner, sum_samples(samples, count), &clock_mhz, error);
    for (size_t i = 0; i < count; i++)
        samples[i].clock_mhz = clock_mhz;
    free(jobs);
    return status;
}

/* Appends the PTX that a request needs. A family that loads no module of its own appends nothing.
 */
static enum fth_status append_ptx(const struct fth_request *request, struct fth_buffer *ptx,
                                  struct fth_error *error)
{
    const struct fth_family_ops *family = fth_family_of(request->family);
    return family->make_ptx      ? family->make_ptx(ptx, error)
           : family->request_ptx ? family->request_ptx(request, ptx, error)
                                 : FTH_OK;
}

/* Compiles the kernels of the requests ahead. What cannot be compiled is reported when a request
 * needs it. */
static void expect(void *state, const struct fth_request *requests, size_t count)
{
    struct fth_runner *runner = state;
    for (size_t i = 0; i < count && runner->ops->load_ahead; i++) {
        struct fth_buffer ptx = {0};
        const unsigned min_capability = fth_family_of(requests[i].family)->min_capability;
        if (runner->facts.capability >= min_capability &&
            append_ptx(&requests[i], &ptx, NULL) == FTH_OK && ptx.size)
            runner->ops->load_ahead(runner->machine, ptx.data, ptx.size);
        fth_buffer_fini(&ptx);
    }
}

/* ---- the device ---- */

static enum fth_status load_experiments(struct fth_runner *runner, struct fth_error *error)
{
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_experiments(&ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "experiments", ptx.data, ptx.size,
                                   &runner->module, error);
    fth_buffer_fini(&ptx);
    return status;
}

static enum fth_status initialize(struct fth_runner *runner, struct fth_error *error)
{
    uint64_t bytes;
    runner->ops->facts(runner->machine, &runner->facts);
    if (runner->facts.sms == 0 || runner->facts.sms > FTH_MAX_SMS)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "GPUs with %u SMs are not supported", runner->facts.sms);
    FTH_TRY(load_experiments(runner, error));
    FTH_TRY(
        runner->ops->symbol(runner->machine, runner->module, "bank", &runner->bank, &bytes, error));
    FTH_TRY(runner->ops->alloc(runner->machine, SCRATCH_BYTES, &runner->scratch, error));
    FTH_TRY(fth_runner_find_sms(runner, error));
    return fth_runner_warm_up(runner, error);
}

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct fth_runner *runner = state;
    return runner->ops->describe(runner->machine, gpu, error);
}

static enum fth_status describe_load(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct fth_runner *runner = state;
    return runner->ops->describe_load ? runner->ops->describe_load(runner->machine, gpu, error)
                                      : FTH_OK;
}

static void close_runner(void *state)
{
    struct fth_runner *runner = state;
    close_slots(runner);
    fth_pool_release(runner, &runner->arrays);
    fth_runner_free_flush(runner);
    if (runner->scratch)
        runner->ops->free(runner->machine, runner->scratch);
    if (runner->module)
        runner->ops->unload(runner->machine, runner->module);
    runner->ops->close(runner->machine);
    free(runner->sms);
    free(runner);
}

enum fth_status fth_runner_device(const char *id, const struct fth_machine_ops *ops, void *machine,
                                  const struct fth_log *log, struct fth_device **device,
                                  struct fth_error *error)
{
    static const struct fth_device_ops runner_ops = {.describe = describe,
                                                     .describe_load = describe_load,
                                                     .measure = measure,
                                                     .expect = expect,
                                                     .close = close_runner};
    *device = NULL;
    struct fth_runner *runner = calloc(1, sizeof *runner);
    if (!runner) {
        ops->close(machine);
        return fth_no_memory(error, operation, NULL);
    }
    runner->ops = ops;
    runner->machine = machine;
    runner->log = log;
    enum fth_status status = initialize(runner, error);
    if (status == FTH_OK)
        return fth_device_create(id, &runner_ops, runner, device, error);
    close_runner(runner);
    return status;
}
