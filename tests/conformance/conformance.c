/* What every device must do, whoever is behind it: a simulated GPU, the driver (a stand-in or a
 * real one), a recording. Speaks TAP.
 *
 *   conformance DEVICE [RECORD]      RECORD: keep what was measured, to be run again from there
 */
#include "device/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

static void check(bool good, const char *what, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    printf("%sok %d - %s\n", good ? "" : "not ", ++checks, text);
    failures += !good;
}

/* ---- requests ---- */

static struct fth_request request(int carveout_percent)
{
    return (struct fth_request){.sm = FTH_ANY_SM, .carveout_percent = carveout_percent};
}

static struct fth_step *add(struct fth_request *request, enum fth_step_kind kind,
                            enum fth_path path, struct fth_chain chain, uint64_t passes)
{
    struct fth_step *step = &request->steps[request->step_count++];
    *step = (struct fth_step){.kind = kind, .path = path, .chain = chain, .passes = passes};
    return step;
}

static struct fth_chain chain(uint64_t stride_bytes, uint64_t count)
{
    return (struct fth_chain){.stride_bytes = stride_bytes, .count = count};
}

/* A short chain, walked and timed in both ways. */
static struct fth_request both_timings(enum fth_path path)
{
    struct fth_request made = request(0);
    add(&made, FTH_STEP_WALK, path, chain(64, 24), 2);
    add(&made, FTH_STEP_TIME_PASS, path, chain(64, 24), 3);
    add(&made, FTH_STEP_TIME_HOPS, path, chain(64, 24), 2);
    return made;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t median(const uint32_t *samples, size_t count)
{
    uint32_t sorted[4096];
    count = count < 4096 ? count : 4096;
    memcpy(sorted, samples, count * sizeof *samples);
    qsort(sorted, count, sizeof *sorted, by_value);
    return count ? sorted[count / 2] : 0;
}

/* Has them measured and says where that failed. */
static bool measure(struct fth_device *device, const struct fth_request *requests, size_t count,
                    struct fth_samples *samples)
{
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_device_measure(device, requests, count, samples, &error);
    if (status != FTH_OK) {
        char text[sizeof error];
        printf("# %s\n", fth_error_text(&error, text, sizeof text));
    }
    return status == FTH_OK;
}

static void finish(struct fth_samples *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fth_samples_fini(&samples[i]);
}

/* ---- what must hold ---- */

static size_t describes(struct fth_device *device)
{
    struct fth_gpu *gpu = NULL;
    bool good =
        fth_gpu_create(&gpu, NULL) == FTH_OK && fth_device_describe(device, gpu, NULL) == FTH_OK;
    check(good, "it describes itself");
    const struct fth_attribute *sms = good ? fth_gpu_attribute(gpu, "device", "sms") : NULL;
    const struct fth_attribute *name = good ? fth_gpu_attribute(gpu, "device", "name") : NULL;
    check(sms && sms->number >= 1 && sms->source == FTH_SOURCE_DRIVER, "it says how many SMs");
    check(name && name->text && name->text[0], "it has a name");
    size_t count = sms ? (size_t)sms->number : 1;
    fth_gpu_destroy(gpu);
    return count;
}

static void answers_on_every_path(struct fth_device *device)
{
    for (int path = 0; path < FTH_PATH_COUNT; path++) {
        const char *name = fth_path_name((enum fth_path)path);
        struct fth_request asked = both_timings((enum fth_path)path);
        struct fth_samples samples = {0};
        bool good = measure(device, &asked, 1, &samples);
        check(good && samples.status == FTH_OK, "%s: answered", name);
        check(samples.count == fth_request_samples(&asked) && samples.count == 3 + 48,
              "%s: a sample a pass, then one a hop", name);
        bool positive = samples.count > 0;
        for (size_t i = 0; i < samples.count; i++)
            positive = positive && samples.cycles[i] > 0;
        check(positive, "%s: every sample was taken", name);
        /* A pass is 24 loads; a timed hop is a load and the reading of the clock. */
        if (positive) {
            double load = median(samples.cycles, 3) / 24.0;
            double hop = median(samples.cycles + 3, 48);
            printf("# %s: %.1f cycles a load in passes, %.0f a timed hop\n", name, load, hop);
            check(load >= 1 && hop >= 0.5 * load && hop <= load + 100, "%s: passes and hops agree",
                  name);
        } else {
            check(false, "%s: passes and hops agree", name);
        }
        check(samples.clock_mhz > 50 && samples.clock_mhz < 5000, "%s: under a clock of %.0f MHz",
              name, samples.clock_mhz);
        fth_samples_fini(&samples);
    }
}

static void tells_near_from_far(struct fth_device *device)
{
    struct fth_request asked[3] = {request(0), request(0), request(-1)};
    add(&asked[0], FTH_STEP_WALK, FTH_PATH_SHARED, chain(16, 64), 2);
    add(&asked[0], FTH_STEP_TIME_PASS, FTH_PATH_SHARED, chain(16, 64), 5);
    add(&asked[1], FTH_STEP_WALK, FTH_PATH_CG, chain(128, 64), 2);
    add(&asked[1], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain(128, 64), 5);
    asked[2].cold = true;
    add(&asked[2], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain(4224, 64), 1);
    struct fth_samples samples[3] = {{0}};
    bool good = measure(device, asked, 3, samples);
    check(good && samples[0].status == FTH_OK && samples[1].status == FTH_OK &&
              samples[2].status == FTH_OK,
          "shared memory, L2 and memory answer in one batch");
    if (good && samples[0].count == 5 && samples[1].count == 5 && samples[2].count == 1) {
        uint32_t shared = median(samples[0].cycles, 5), l2 = median(samples[1].cycles, 5),
                 memory = samples[2].cycles[0];
        printf("# cycles of 64 loads: %u %u %u\n", shared, l2, memory);
        check(shared < l2 && l2 < memory, "shared memory is nearer than L2, L2 than memory");
    } else {
        check(false, "shared memory is nearer than L2, L2 than memory");
    }
    finish(samples, 3);
}

/* More requests than SMs, every SM named once among them. */
static void answers_large_batches(struct fth_device *device, size_t sms)
{
    size_t count = 2 * sms + 3;
    struct fth_request *asked = calloc(count, sizeof *asked);
    struct fth_samples *samples = calloc(count, sizeof *samples);
    bool *seen = calloc(65536, sizeof *seen);
    if (!asked || !samples || !seen)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        asked[i] = request(-1);
        asked[i].sm = i < sms ? (uint32_t)i : FTH_ANY_SM;
        add(&asked[i], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 8 + i % 5), 1);
        add(&asked[i], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 8 + i % 5), 1);
    }
    bool good = measure(device, asked, count, samples), sized = good, apart = good;
    for (size_t i = 0; i < count && good; i++) {
        sized = sized && samples[i].status == FTH_OK && samples[i].count == 8 + i % 5;
        if (i < sms) {
            apart = apart && samples[i].sm < 65536 && !seen[samples[i].sm];
            seen[samples[i].sm % 65536] = true;
        }
    }
    check(sized, "%zu requests, each with its own number of samples", count);
    check(apart, "named SMs are all different");
    finish(samples, count);
    free(asked);
    free(samples);
    free(seen);
}

static void walks_both_ways(struct fth_device *device)
{
    /* 32 elements forth and back, an order of its own, and a second warp's chain in between. */
    struct fth_request asked[3] = {request(0), request(0), request(0)};
    add(&asked[0], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 32), 1);
    add(&asked[0], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 32), 1)->reverse = true;
    struct fth_chain shuffled = chain(128, 32);
    shuffled.step = 7;
    add(&asked[1], FTH_STEP_WALK, FTH_PATH_CA, shuffled, 1);
    add(&asked[1], FTH_STEP_TIME_HOPS, FTH_PATH_CA, shuffled, 2);
    struct fth_chain other = chain(128, 16);
    other.array = 1;
    add(&asked[2], FTH_STEP_WALK, FTH_PATH_CA, chain(128, 32), 1);
    add(&asked[2], FTH_STEP_WALK, FTH_PATH_READONLY, other, 2)->warp = 1;
    add(&asked[2], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain(128, 32), 1);
    struct fth_samples samples[3] = {{0}};
    bool good = measure(device, asked, 3, samples);
    const size_t expected[] = {32, 64, 32};
    static const char *const what[] = {"backwards", "in another order", "with a second warp"};
    for (size_t i = 0; i < 3; i++)
        check(good && samples[i].status == FTH_OK && samples[i].count == expected[i], "%s",
              what[i]);
    finish(samples, 3);
}

static void says_what_it_cannot(struct fth_device *device, size_t sms)
{
    struct fth_request asked[4] = {request(-1), request(-1), request(-1), request(-1)};
    for (size_t i = 0; i < 4; i++)
        add(&asked[i], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain(128, 4), 1);
    asked[0].sm = (uint32_t)sms + 7;
    asked[1].steps[0].path = FTH_PATH_SHARED;
    asked[1].steps[0].chain = chain(128, 8192); /* 1 MiB */
    asked[2].steps[0].chain = chain((uint64_t)1 << 40, 8);
    struct fth_samples samples[4] = {{0}};
    bool good = measure(device, asked, 4, samples);
    check(good, "a batch with impossible requests is answered");
    check(samples[0].status == FTH_NOT_FOUND && samples[0].cause[0], "no such SM");
    check(samples[1].status == FTH_UNSUPPORTED && samples[1].cause[0], "too much shared memory");
    check(samples[2].status == FTH_UNAVAILABLE && samples[2].cause[0], "too much memory: %s",
          samples[2].cause);
    check(samples[3].status == FTH_OK && samples[3].count == 1, "the rest is measured");
    finish(samples, 4);
}

static void refuses_nonsense(struct fth_device *device)
{
    struct fth_request asked = request(-1);
    add(&asked, FTH_STEP_TIME_PASS, FTH_PATH_CA, chain(0, 4), 1);
    struct fth_samples samples = {0};
    struct fth_error error = FTH_NO_ERROR;
    check(fth_device_measure(device, &asked, 1, &samples, &error) == FTH_INVALID && error.cause[0],
          "a stride of 0 is refused");
    fth_samples_fini(&samples);
}

int main(int count, char *words[])
{
    if (count < 2) {
        fprintf(stderr, "usage: conformance DEVICE [RECORD]\n");
        return 2;
    }
    struct fth_error error = FTH_NO_ERROR;
    struct fth_device *device = NULL;
    char text[sizeof error];
    if (fth_device_open(words[1], NULL, &device, &error) != FTH_OK ||
        (count > 2 && fth_device_record(device, words[2], &error) != FTH_OK)) {
        printf("Bail out! %s\n", fth_error_text(&error, text, sizeof text));
        return 1;
    }
    size_t sms = describes(device);
    answers_on_every_path(device);
    tells_near_from_far(device);
    answers_large_batches(device, sms);
    walks_both_ways(device);
    says_what_it_cannot(device, sms);
    refuses_nonsense(device);
    check(fth_device_finish(device, &error) == FTH_OK, "it comes to an end");
    fth_device_close(device);
    printf("1..%d\n", checks);
    return failures > 0;
}
