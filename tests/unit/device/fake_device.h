/* A device with random answers, and functions that record and replay it. */
#ifndef FTH_TESTS_FAKE_DEVICE_H
#define FTH_TESTS_FAKE_DEVICE_H

#include "device/recording.h"
#include "folder.h"
#include "requests.h"

#include <math.h>

struct fake {
    struct fth_rng rng;
    unsigned descriptions;
    bool failing;      /* every operation fails */
    bool extra_sample; /* answers have one sample too many */
    bool steady;       /* no request fails; samples are 300 +- 5 cycles */
    bool *closed;
};

static inline enum fth_status fake_describe(void *state, struct fth_gpu *gpu,
                                            struct fth_error *error)
{
    struct fake *fake = state;
    struct fth_attribute name = fth_attribute_make("name", FTH_TEXT);
    name.text = "Made Up";
    struct fth_attribute backend = fth_attribute_make("backend", FTH_TEXT);
    backend.text = "fake";
    struct fth_attribute clock = fth_attribute_make("clock_mhz", FTH_NUMBER);
    clock.number = 1000.25 + fake->descriptions++;
    clock.source = FTH_SOURCE_DRIVER;
    struct fth_attribute size = fth_attribute_make("size_bytes", FTH_NUMBER);
    size.number = 62914560;
    enum fth_status status = FTH_OK;
    if (fake->failing)
        return fth_fail(error, FTH_UNAVAILABLE, "describe", "fake", "it fell off the bus");
    if (!fth_gpu_section(gpu, "l2"))
        status = fth_gpu_add_element(gpu, "l2", error);
    if (status == FTH_OK)
        status = fth_gpu_set(gpu, &gpu->device, &name, error);
    if (status == FTH_OK)
        status = fth_gpu_set(gpu, &gpu->device, &backend, error);
    if (status == FTH_OK)
        status = fth_gpu_set(gpu, &gpu->device, &clock, error);
    if (status == FTH_OK)
        status = fth_gpu_set(gpu, fth_gpu_section(gpu, "l2"), &size, error);
    if (status == FTH_OK && !fth_gpu_unknown(gpu, "l2", "ways"))
        status = fth_gpu_set_unknown(gpu, fth_gpu_section(gpu, "l2"), "ways", "nobody says", error);
    return status;
}

static inline enum fth_status fake_measure(void *state, const struct fth_request *requests,
                                           size_t count, struct fth_samples *samples,
                                           struct fth_error *error)
{
    struct fake *fake = state;
    struct fth_rng *rng = &fake->rng;
    memset(samples, 0, count * sizeof *samples);
    if (fake->failing)
        return fth_fail(error, FTH_UNAVAILABLE, "measure", "fake", "it fell off the bus");
    for (size_t i = 0; i < count; i++) {
        struct fth_samples *s = &samples[i];
        s->sm = requests[i].sm == FTH_ANY_SM ? (uint32_t)fth_rng_below(rng, 132) : requests[i].sm;
        s->clock_mhz = fth_rng_below(rng, 3) ? 1980 * fth_rng_unit(rng) : (double)NAN;
        if (!fake->steady && fth_rng_below(rng, 8) == 0) {
            s->status = (enum fth_status)(1 + fth_rng_below(rng, FTH_INTERRUPTED));
            snprintf(s->cause, sizeof s->cause, "cause %u of 'many'",
                     (unsigned)fth_rng_below(rng, 9));
            continue;
        }
        s->count = (size_t)fth_request_samples(&requests[i]) + fake->extra_sample;
        s->cycles = malloc(s->count * sizeof *s->cycles);
        assert_non_null(s->cycles);
        /* The samples cover a random power of two of values, at most the range of 32 bits. */
        uint64_t range = fake->steady ? 11 : UINT64_C(1) << fth_rng_below(rng, 33);
        uint32_t min = range >> 32 ? 0 : 295;
        for (size_t j = 0; j < s->count; j++)
            s->cycles[j] = min + (uint32_t)fth_rng_below(rng, range);
    }
    return FTH_OK;
}

static inline void fake_close(void *state)
{
    struct fake *fake = state;
    *fake->closed = true;
}

static const struct fth_device_ops fake_ops = {
    .describe = fake_describe, .measure = fake_measure, .close = fake_close};

struct fixture {
    struct fake fake;
    struct fth_device device;
    bool closed;
};

static inline void init_fixture(struct fixture *f, uint64_t seed)
{
    *f = (struct fixture){.device = {.ops = &fake_ops, .state = &f->fake, .id = "fake:0"}};
    f->fake.closed = &f->closed;
    fth_rng_init(&f->fake.rng, seed);
}

static inline void start_recording(struct fixture *f, uint64_t seed, const char *path)
{
    init_fixture(f, seed);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_record(&f->device, path, &error), FTH_OK);
}

static inline void end_recording(struct fixture *f)
{
    struct fth_error error = NO_ERROR;
    assert_int_equal(f->device.ops->finish(f->device.state, &error), FTH_OK);
    f->device.ops->close(f->device.state);
    assert_true(f->closed);
}

static inline struct fth_device *open_replay(const char *path)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    enum fth_status status = fth_backend_replay.open(path, NULL, &device, &error);
    assert_string_equal(error.cause, "");
    assert_int_equal(status, FTH_OK);
    return device;
}

static inline void close_replay(struct fth_device *device)
{
    assert_null(device->ops->finish);
    fth_device_close(device);
}

static inline enum fth_status ask(struct fth_device *device, const struct fth_request *requests,
                                  size_t count, struct fth_samples *samples,
                                  struct fth_error *error)
{
    return device->ops->measure(device->state, requests, count, samples, error);
}

static inline void release_samples(struct fth_samples *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fth_samples_fini(&samples[i]);
}

static inline void assert_same(const struct fth_samples *a, const struct fth_samples *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->cause, b->cause);
    assert_int_equal(a->sm, b->sm);
    assert_true(isnan(a->clock_mhz) ? isnan(b->clock_mhz) : a->clock_mhz == b->clock_mhz);
    assert_int_equal(a->count, b->count);
    if (a->count)
        assert_memory_equal(a->cycles, b->cycles, a->count * sizeof *a->cycles);
}

/* Returns what a device adds to an empty description, as JSON. The caller frees the text. */
static inline char *describe_as_text(const struct fth_device *device)
{
    struct fth_gpu *gpu = NULL;
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(device->ops->describe(device->state, gpu, &error), FTH_OK);
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    fth_gpu_destroy(gpu);
    return text;
}

#endif
