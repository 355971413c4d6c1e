/* Conformance test: what every kind of device must do, be it a simulated GPU, a GPU behind the
 * driver (a stand-in or the real one) or a recording. The expected behaviour is the contract in
 * src/device/device.h. Prints TAP.
 *
 * An OpenCL device may refuse a request as unsupported if it gives the reason; it must answer timed
 * passes over data. If the computer has no OpenCL device, the test is skipped. An OpenCL device can
 * be the CPU, on which other programs and other virtual machines disturb measurements: a test that
 * fails there is repeated.
 *
 * usage: conformance DEVICE [RECORD]      RECORD: record the run in this file
 */
#include "device/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of attempts of a test on an OpenCL device. Chosen: on a busy machine with two
 * cores, one of about 30 runs of the whole program fails without repetitions. */
enum { ATTEMPTS = 5 };

static FILE *output; /* what the current attempt of a test prints */
static int checks, failures;
static bool may_refuse; /* an OpenCL device */

/* The device, and what several tests need. `optional`: the device is a recording, which may be
 * older than some requests. */
struct subject {
    struct fth_device *device;
    size_t sms;
    bool optional;
};

static void check(bool good, const char *description, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, description);
    vsnprintf(text, sizeof text, description, arguments);
    va_end(arguments);
    fprintf(output, "%sok %d - %s\n", good ? "" : "not ", ++checks, text);
    failures += !good;
}

/* ---- requests ---- */

static struct fth_request request(int carveout_percent)
{
    return (struct fth_request){.sm = FTH_ANY_SM, .carveout_percent = carveout_percent};
}

static struct fth_step *add_step(struct fth_request *request, enum fth_step_kind kind,
                                 enum fth_path path, struct fth_chain chain, uint64_t passes)
{
    struct fth_step *step = &request->chase.steps[request->chase.step_count++];
    *step = (struct fth_step){.kind = kind, .path = path, .chain = chain, .passes = passes};
    return step;
}

static struct fth_chain chain(uint64_t stride_bytes, uint64_t count)
{
    return (struct fth_chain){.stride_bytes = stride_bytes, .count = count};
}

/* Walks a short chain, then times whole passes, then times each hop. */
static struct fth_request both_timings(enum fth_path path)
{
    struct fth_request made = request(0);
    add_step(&made, FTH_STEP_WALK, path, chain(64, 24), 2);
    add_step(&made, FTH_STEP_TIME_PASS, path, chain(64, 24), 3);
    add_step(&made, FTH_STEP_TIME_HOPS, path, chain(64, 24), 2);
    return made;
}

static int compare_cycles(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t median(const uint32_t *samples, size_t count)
{
    uint32_t sorted[4096];
    count = count < 4096 ? count : 4096;
    memcpy(sorted, samples, count * sizeof *samples);
    qsort(sorted, count, sizeof *sorted, compare_cycles);
    return count ? sorted[count / 2] : 0;
}

/* Measures the requests. Prints the error and returns false if that fails. */
static bool measure(struct fth_device *device, const struct fth_request *requests, size_t count,
                    struct fth_samples *samples)
{
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_device_measure(device, requests, count, samples, &error);
    if (status != FTH_OK) {
        char text[sizeof error];
        fprintf(output, "# %s\n", fth_error_text(&error, text, sizeof text));
    }
    return status == FTH_OK;
}

static void free_samples(struct fth_samples *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fth_samples_fini(&samples[i]);
}

/* Whether the device has refused the request as unsupported, which it may. */
static bool is_refused(const struct fth_samples *samples, const char *what)
{
    const bool refused = may_refuse && samples->status == FTH_UNSUPPORTED && samples->count == 0 &&
                         samples->cause[0];
    if (refused)
        check(true, "%s: unsupported, with a reason: %s", what, samples->cause);
    return refused;
}

/* ---- tests ---- */

static void describes_itself(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    struct fth_gpu *gpu = NULL;
    bool good =
        fth_gpu_create(&gpu, NULL) == FTH_OK && fth_device_describe(device, gpu, NULL) == FTH_OK;
    check(good, "the device describes itself");
    const struct fth_attribute *sms = good ? fth_gpu_attribute(gpu, "device", "sms") : NULL;
    const struct fth_attribute *name = good ? fth_gpu_attribute(gpu, "device", "name") : NULL;
    check(sms && sms->number >= 1 && sms->source == FTH_SOURCE_DRIVER,
          "the description has the number of SMs");
    check(name && name->text && name->text[0], "the description has a name");
    size_t count = sms ? (size_t)sms->number : 1;
    const char *backend = good ? fth_gpu_text(gpu, "device", "backend") : NULL;
    may_refuse = backend && strcmp(backend, "opencl") == 0;
    fth_gpu_destroy(gpu);
    subject->sms = count;
}

static void measures_on_every_path(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    for (int path = 0; path < FTH_PATH_COUNT; path++) {
        const char *name = fth_path_name((enum fth_path)path);
        struct fth_request requested = both_timings((enum fth_path)path);
        struct fth_samples samples = {0};
        bool good = measure(device, &requested, 1, &samples);
        if (is_refused(&samples, name))
            continue;
        check(good && samples.status == FTH_OK, "%s: the request is answered", name);
        check(samples.count == fth_request_samples(&requested) && samples.count == 3 + 48,
              "%s: one sample per pass, then one per hop", name);
        bool positive = samples.count > 0;
        for (size_t i = 0; i < samples.count; i++)
            positive = positive && samples.cycles[i] > 0;
        check(positive, "%s: every sample is positive", name);
        /* A pass has 24 loads. The time of a hop includes one load and reading the clock. */
        if (positive) {
            double load = median(samples.cycles, 3) / 24.0;
            double hop = median(samples.cycles + 3, 48);
            fprintf(output, "# %s: %.1f cycles per load in passes, %.0f per timed hop\n", name,
                    load, hop);
            check(load >= 1 && hop >= 0.5 * load && hop <= load + 100,
                  "%s: times of passes and of hops agree", name);
        } else {
            check(false, "%s: times of passes and of hops agree", name);
        }
        check(samples.clock_mhz > 50 && samples.clock_mhz < (may_refuse ? 10000 : 5000),
              "%s: the clock is plausible: %.0f MHz", name, samples.clock_mhz);
        fth_samples_fini(&samples);
    }
}

static void orders_levels_by_latency(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    struct fth_request requested[3] = {request(0), request(0), request(-1)};
    add_step(&requested[0], FTH_STEP_WALK, FTH_PATH_SHARED, chain(16, 64), 2);
    add_step(&requested[0], FTH_STEP_TIME_PASS, FTH_PATH_SHARED, chain(16, 64), 5);
    add_step(&requested[1], FTH_STEP_WALK, FTH_PATH_CG, chain(128, 64), 2);
    add_step(&requested[1], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain(128, 64), 5);
    requested[2].cold = true;
    add_step(&requested[2], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain(4224, 64), 1);
    struct fth_samples samples[3] = {{0}};
    bool good = measure(device, requested, 3, samples);
    for (size_t i = 0; i < 3; i++)
        if (is_refused(&samples[i], "the order of levels")) {
            free_samples(samples, 3);
            return;
        }
    check(good && samples[0].status == FTH_OK && samples[1].status == FTH_OK &&
              samples[2].status == FTH_OK,
          "shared memory, L2 and memory are measured in one batch");
    if (good && samples[0].count == 5 && samples[1].count == 5 && samples[2].count == 1) {
        uint32_t shared = median(samples[0].cycles, 5), l2 = median(samples[1].cycles, 5),
                 memory = samples[2].cycles[0];
        fprintf(output, "# cycles of 64 loads: %u %u %u\n", shared, l2, memory);
        check(shared < l2 && l2 < memory, "shared memory is faster than L2, and L2 than memory");
    } else {
        check(false, "shared memory is faster than L2, and L2 than memory");
    }
    free_samples(samples, 3);
}

/* What the probes of cache hierarchies need: passes over chains in pseudo-random order. */
static void times_passes_in_random_order(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    enum { PASSES = 9, SMALL = 64, LARGE = 1 << 19 };
    struct fth_request requested[2];
    struct fth_samples samples[2] = {{0}};
    for (size_t i = 0; i < 2; i++) {
        struct fth_chain random = chain(64, i ? LARGE : SMALL); /* 4 KiB and 32 MiB */
        random.seed = 1;
        requested[i] = request(-1);
        add_step(&requested[i], FTH_STEP_WALK, FTH_PATH_CA, random, 1);
        add_step(&requested[i], FTH_STEP_TIME_PASS, FTH_PATH_CA, random, i ? 1 : PASSES);
    }
    bool good = measure(device, requested, 2, samples) && samples[0].status == FTH_OK &&
                samples[1].status == FTH_OK && samples[0].count == PASSES && samples[1].count == 1;
    check(good, "passes over chains in pseudo-random order are timed");
    uint32_t least = good ? samples[0].cycles[0] : 0;
    for (size_t i = 0; good && i < PASSES; i++)
        least = samples[0].cycles[i] < least ? samples[0].cycles[i] : least;
    const double small = least / (double)SMALL,
                 large = good ? samples[1].cycles[0] / (double)LARGE : 0;
    fprintf(output, "# cycles per load: %.1f in 4 KiB, %.1f in 32 MiB, %.0f MHz\n", small, large,
            samples[0].clock_mhz);
    check(small >= 1 && large > 2 * small, "a large chain takes longer per load than a small one");
    check(samples[0].clock_mhz > 50 && samples[0].clock_mhz < 10000, "the clock is plausible");
    free_samples(samples, 2);
}

/* Sweeps: the driver times them, and their results are checked. */
static void sweeps_arrays(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    for (int kind = 0; kind < FTH_SWEEP_KINDS; kind++) {
        struct fth_request requested = fth_request_make(-1);
        struct fth_samples samples = {0};
        const char *name = fth_sweep_kind_name((enum fth_sweep_kind)kind);
        requested.family = FTH_FAMILY_SWEEP;
        requested.sweep = (struct fth_sweep){.kind = (enum fth_sweep_kind)kind,
                                             .bytes = 1 << 20,
                                             .blocks = 4,
                                             .threads = 32,
                                             .vector_bytes = 16,
                                             .unroll = 4,
                                             .repeats = 2};
        bool good = measure(device, &requested, 1, &samples);
        check(good && samples.status == FTH_OK && samples.count == 3 && samples.cycles[0] > 0 &&
                  samples.cycles[1] > 0,
              "sweep %s is timed", name);
        check(samples.count == 3 && samples.cycles[2] == 0, "sweep %s: the result is right", name);
        fth_samples_fini(&samples);
    }
}

static uint32_t minimum_cycles(const struct fth_samples *samples)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < samples->count; i++)
        least = samples->cycles[i] < least ? samples->cycles[i] : least;
    return least;
}

/* Two chains of one unit: a long one evicts the lines of the other one, a short one does not. */
static void evicts_lines_of_a_unit(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    static const char description[] = "a long chain evicts the lines of the same unit";
    struct fth_request place = fth_request_make(-1), requested[2];
    struct fth_samples where = {0}, samples[2] = {{0}};
    place.family = FTH_FAMILY_PLACE;
    place.place = (struct fth_place_request){.blocks = 1, .threads = 1};
    enum fth_status status = fth_device_measure(device, &place, 1, &where, NULL);
    for (size_t i = 0; i < 2 && where.count; i++) {
        requested[i] = fth_request_make(-1);
        requested[i].family = FTH_FAMILY_SHARE;
        requested[i].alone = true;
        requested[i].share = (struct fth_share){.first = where.cycles[0],
                                                .second = where.cycles[0],
                                                .rounds = 5,
                                                .stride_bytes = 64,
                                                .own = 64,
                                                .other = i ? 1 << 14 : 8,
                                                .seed = 1};
    }
    if (status == FTH_OK && where.count)
        status = fth_device_measure(device, requested, 2, samples, NULL);
    const bool evicts = samples[0].count == 5 && samples[1].count == 5 &&
                        minimum_cycles(&samples[0]) < minimum_cycles(&samples[1]);
    if (subject->optional && status == FTH_UNAVAILABLE) {
        fprintf(output, "ok %d - %s # SKIP the recording has none\n", ++checks, description);
    } else if (status == FTH_OK && !is_refused(&where, description) &&
               !is_refused(&samples[0], description) && !is_refused(&samples[1], description)) {
        check(evicts, "%s", description);
    } else if (status != FTH_OK) {
        check(false, "%s", description);
    }
    fth_samples_fini(&where);
    free_samples(samples, 2);
}

/* A batch with more requests than the GPU has SMs; each SM is named by exactly one request. */
static void measures_large_batches(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    const size_t sms = subject->sms;
    size_t count = 2 * sms + 3;
    struct fth_request *requested = calloc(count, sizeof *requested);
    struct fth_samples *samples = calloc(count, sizeof *samples);
    bool *seen = calloc(65536, sizeof *seen);
    if (!requested || !samples || !seen)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        requested[i] = request(-1);
        requested[i].sm = i < sms ? (uint32_t)i : FTH_ANY_SM;
        add_step(&requested[i], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 8 + i % 5), 1);
        add_step(&requested[i], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 8 + i % 5), 1);
    }
    bool good = measure(device, requested, count, samples), counts_match = good, sms_differ = good;
    for (size_t i = 0; i < count && good; i++) {
        if (is_refused(&samples[i], "a request of a large batch"))
            continue;
        counts_match = counts_match && samples[i].status == FTH_OK && samples[i].count == 8 + i % 5;
        if (i < sms) {
            sms_differ = sms_differ && samples[i].sm < 65536 && !seen[samples[i].sm];
            seen[samples[i].sm % 65536] = true;
        }
    }
    check(counts_match, "%zu requests: each gets its own number of samples", count);
    check(sms_differ, "requests that name different SMs run on different SMs");
    free_samples(samples, count);
    free(requested);
    free(samples);
    free(seen);
}

static void walks_in_other_orders(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    /* A chain of 32 elements walked forwards and then timed backwards; a chain in another order;
     * and a chain that a second warp walks between the steps of the first one. */
    struct fth_request requested[3] = {request(0), request(0), request(0)};
    add_step(&requested[0], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 32), 1);
    add_step(&requested[0], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 32), 1)->reverse = true;
    struct fth_chain shuffled = chain(128, 32);
    shuffled.step = 7;
    add_step(&requested[1], FTH_STEP_WALK, FTH_PATH_CA, shuffled, 1);
    add_step(&requested[1], FTH_STEP_TIME_HOPS, FTH_PATH_CA, shuffled, 2);
    struct fth_chain other = chain(128, 16);
    other.array = 1;
    add_step(&requested[2], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 32), 1);
    add_step(&requested[2], FTH_STEP_WALK, FTH_PATH_READONLY, other, 2)->warp = 1;
    add_step(&requested[2], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 32), 1);
    struct fth_samples samples[3] = {{0}};
    bool good = measure(device, requested, 3, samples);
    const size_t expected[] = {32, 64, 32};
    static const char *const description[] = {"a chain is walked backwards",
                                              "a chain is walked in another order",
                                              "a second warp walks a chain"};
    for (size_t i = 0; i < 3; i++)
        if (!is_refused(&samples[i], description[i]))
            check(good && samples[i].status == FTH_OK && samples[i].count == expected[i], "%s",
                  description[i]);
    free_samples(samples, 3);
}

/* Chains in pseudo-random order: a short one, which the first cache holds, a longer one, and two in
 * one request. */
static void walks_shuffled_chains(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    struct fth_request requested[3] = {request(-1), request(-1), request(-1)};
    struct fth_chain small = chain(64, 64), large = chain(256, 4096), other = small;
    small.seed = large.seed = 5;
    other.seed = 6;
    other.array = 1;
    for (size_t i = 0; i < 3; i++) {
        const struct fth_chain timed = i == 1 ? large : small;
        requested[i].alone = true;
        add_step(&requested[i], FTH_STEP_WALK, FTH_PATH_CA, timed, 2);
        if (i == 2)
            add_step(&requested[i], FTH_STEP_TIME_PASS, FTH_PATH_CA, other, 4);
        add_step(&requested[i], FTH_STEP_TIME_PASS, FTH_PATH_CA, timed, 5);
    }
    struct fth_samples samples[3] = {{0}};
    struct fth_error error = FTH_NO_ERROR;
    const enum fth_status status = fth_device_measure(device, requested, 3, samples, &error);
    static const char description[] = "chains in pseudo-random order";
    if (subject->optional && status == FTH_UNAVAILABLE) {
        fprintf(output, "ok %d - %s # SKIP the recording has none\n", ++checks, description);
        return;
    }
    if (status != FTH_OK) {
        char text[sizeof error];
        fprintf(output, "# %s\n", fth_error_text(&error, text, sizeof text));
    }
    const bool good = status == FTH_OK && samples[0].status == FTH_OK &&
                      samples[1].status == FTH_OK && samples[2].status == FTH_OK;
    check(good, "%s are walked", description);
    check(good && samples[0].count == 5 && samples[1].count == 5 && samples[2].count == 9,
          "%s: one sample per pass", description);
    if (good && samples[0].count == 5 && samples[1].count == 5 && samples[2].count == 9) {
        const double near = median(samples[0].cycles, 5) / 64.0;
        const double far = median(samples[1].cycles, 5) / 4096.0;
        const double again = median(samples[2].cycles + 4, 5) / 64.0;
        fprintf(output, "# %s: %.1f cycles per load in 4 KiB, %.1f in 1 MiB\n", description, near,
                far);
        check(near >= 1 && near < 1000 && far >= near && far < 10000,
              "%s: the times per load are plausible", description);
        check(again >= 0.5 * near && again <= 2 * near,
              "%s: another chain in the same request changes little", description);
    } else {
        check(false, "%s: the times per load are plausible", description);
    }
    free_samples(samples, 3);
}

static void reports_impossible_requests(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    const size_t sms = subject->sms;
    struct fth_request requested[4] = {request(-1), request(-1), request(-1), request(-1)};
    const enum fth_path path = may_refuse ? FTH_PATH_CA : FTH_PATH_CG;
    for (size_t i = 0; i < 4; i++)
        add_step(&requested[i], FTH_STEP_TIME_PASS, path, chain(128, 4), 1);
    requested[0].sm = (uint32_t)sms + 7;
    requested[1].chase.steps[0].path = FTH_PATH_SHARED;
    requested[1].chase.steps[0].chain = chain(128, 8192); /* 1 MiB */
    requested[2].chase.steps[0].chain = chain((uint64_t)1 << 40, 8);
    struct fth_samples samples[4] = {{0}};
    bool good = measure(device, requested, 4, samples);
    check(good, "a batch with impossible requests is answered");
    check(samples[0].status == FTH_NOT_FOUND && samples[0].cause[0],
          "a request for an SM that does not exist is not found");
    check(samples[1].status == FTH_UNSUPPORTED && samples[1].cause[0],
          "a chain larger than shared memory is unsupported");
    check(samples[2].status == FTH_UNAVAILABLE && samples[2].cause[0],
          "a chain larger than memory is unavailable: %s", samples[2].cause);
    check(samples[3].status == FTH_OK && samples[3].count == 1,
          "the other requests of the batch are measured");
    free_samples(samples, 4);
}

/* Code of twice the length takes about twice as long. Twice as many branches can take longer than
 * that, because other structures than the instruction cache have limits. Devices that are not CPUs
 * may refuse branches. */
static void executes_code(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    struct fth_request requested[4];
    for (size_t i = 0; i < 4; i++) {
        requested[i] = request(-1);
        requested[i].family = FTH_FAMILY_FETCH;
        requested[i].fetch = (struct fth_fetch){.instructions = UINT64_C(64) << i % 2, .passes = 5};
        requested[i].fetch.stride_bytes = i < 2 ? 0 : 64;
    }
    for (size_t i = 0; i < 4; i += 2) {
        const char *name = i ? "branches" : "straight-line code";
        struct fth_samples samples[2] = {{0}};
        const bool good = measure(device, requested + i, 2, samples);
        if (!is_refused(&samples[0], name)) {
            check(good && samples[0].count == 5 && samples[1].count == 5, "%s: one sample per pass",
                  name);
            const double less = median(samples[0].cycles, samples[0].count),
                         more = median(samples[1].cycles, samples[1].count);
            fprintf(output, "# %s: %.0f and %.0f cycles\n", name, less, more);
            check(less > 0 && more > 1.3 * less && more < 8 * less,
                  "%s: twice the length takes longer", name);
        }
        free_samples(samples, 2);
    }
}

static void rejects_invalid_requests(struct subject *subject)
{
    struct fth_device *const device = subject->device;
    struct fth_request requested = request(-1);
    add_step(&requested, FTH_STEP_TIME_PASS, FTH_PATH_CA, chain(0, 4), 1);
    struct fth_samples samples = {0};
    struct fth_error error = FTH_NO_ERROR;
    check(fth_device_measure(device, &requested, 1, &samples, &error) == FTH_INVALID &&
              error.cause[0],
          "a stride of 0 is rejected");
    fth_samples_fini(&samples);
}

static void finishes(struct subject *subject)
{
    check(fth_device_finish(subject->device, NULL) == FTH_OK,
          "the device finishes without an error");
}

/* Runs a test, and prints the results of its last attempt. */
static void run(void (*test)(struct subject *subject), struct subject *subject)
{
    const int checks_before = checks, failures_before = failures;
    for (int attempt = 1;; attempt++) {
        char *text = NULL;
        size_t length = 0;
        output = open_memstream(&text, &length);
        if (!output)
            exit(1);
        checks = checks_before;
        failures = failures_before;
        test(subject);
        if (fclose(output) != 0)
            exit(1);
        const bool last = failures == failures_before || !may_refuse || attempt == ATTEMPTS;
        if (last)
            fputs(text, stdout);
        else
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                printf("# attempt %d: %s\n", attempt, line);
        free(text);
        if (last)
            return;
    }
}

int main(int count, char *argv[])
{
    if (count < 2) {
        fprintf(stderr, "usage: conformance DEVICE [RECORD]\n");
        return 2;
    }
    struct fth_error error = FTH_NO_ERROR;
    struct fth_device *device = NULL;
    char text[sizeof error];
    enum fth_status status = fth_device_open(argv[1], NULL, &device, &error);
    if (status == FTH_UNAVAILABLE && strncmp(argv[1], "opencl:", 7) == 0) {
        printf("1..0 # SKIP %s\n", fth_error_text(&error, text, sizeof text));
        return 0;
    }
    if (status != FTH_OK || (count > 2 && fth_device_record(device, argv[2], &error) != FTH_OK)) {
        printf("Bail out! %s\n", fth_error_text(&error, text, sizeof text));
        return 1;
    }
    struct subject subject = {.device = device, .optional = strncmp(argv[1], "replay:", 7) == 0};
    run(describes_itself, &subject);
    run(measures_on_every_path, &subject);
    run(orders_levels_by_latency, &subject);
    if (may_refuse) {
        run(times_passes_in_random_order, &subject);
        run(sweeps_arrays, &subject);
        run(executes_code, &subject);
    }
    run(measures_large_batches, &subject);
    run(walks_in_other_orders, &subject);
    run(walks_shuffled_chains, &subject);
    run(evicts_lines_of_a_unit, &subject);
    run(reports_impossible_requests, &subject);
    run(rejects_invalid_requests, &subject);
    run(finishes, &subject);
    fth_device_close(device);
    printf("1..%d\n", checks);
    return failures > 0;
}
