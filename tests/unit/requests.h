/* Device requests for tests: simple requests, random requests, and their canonical text. */
#ifndef FTH_TESTS_REQUESTS_H
#define FTH_TESTS_REQUESTS_H

#include "check.h"
#include "device/device.h"

/* A step with one pass of warp 0 over a chain of `count` elements, `stride` bytes apart. */
static inline struct fth_step step(enum fth_step_kind kind, enum fth_path path, unsigned array,
                                   uint64_t stride, uint64_t count)
{
    return (struct fth_step){
        .kind = kind,
        .path = path,
        .chain = {.array = array, .stride_bytes = stride, .count = count, .step = 1},
        .passes = 1};
}

/* A request with `count` steps, 1 or 2, on any SM and with the driver's default carve-out. */
static inline struct fth_request make_request(size_t count, struct fth_step first,
                                              struct fth_step second)
{
    return (struct fth_request){.chase = {.steps = {first, second}, .step_count = count},
                                .sm = FTH_ANY_SM,
                                .carveout_percent = -1};
}

/* A request that times each hop of one chain of `count` elements. */
static inline struct fth_request simple_request(uint64_t count)
{
    struct fth_step only = step(FTH_STEP_TIME_HOPS, FTH_PATH_CA, 0, 128, count);
    return make_request(1, only, (struct fth_step){0});
}

/* The canonical text of a request, in a static buffer that the next call overwrites. */
static inline const char *request_text(const struct fth_request *request)
{
    static char text[4096];
    struct fth_buffer buffer = {0};
    fth_request_write(request, &buffer);
    assert_true(buffer.size < sizeof text);
    memcpy(text, buffer.data, buffer.size + 1);
    fth_buffer_fini(&buffer);
    return text;
}

/* A valid random request with up to FTH_MAX_STEPS steps and short chains. */
static inline struct fth_request random_request(struct fth_rng *rng)
{
    struct fth_request r = simple_request(1);
    r.chase.step_count = 1 + (size_t)fth_rng_below(rng, FTH_MAX_STEPS);
    for (size_t i = 0; i < r.chase.step_count; i++) {
        struct fth_step *s = &r.chase.steps[i];
        *s = step((enum fth_step_kind)fth_rng_below(rng, 3),
                  (enum fth_path)fth_rng_below(rng, FTH_PATH_COUNT), (unsigned)i,
                  UINT64_C(8) << fth_rng_below(rng, 5), 1 + fth_rng_below(rng, 40));
        s->chain.start_bytes = fth_rng_below(rng, 2) * 1024;
        s->warp = (unsigned)fth_rng_below(rng, FTH_MAX_WARPS);
        s->reverse = s->chain.stride_bytes >= 16 && fth_rng_below(rng, 4) == 0;
        if (!s->reverse && s->chain.count % 2 && fth_rng_below(rng, 3) == 0)
            s->chain.step = 2;
        s->passes = 1 + fth_rng_below(rng, 3);
    }
    r.chase.steps[0].kind = FTH_STEP_TIME_HOPS;
    r.sm = fth_rng_below(rng, 2) ? FTH_ANY_SM : (uint32_t)fth_rng_below(rng, 132);
    r.carveout_percent = (int)fth_rng_below(rng, 102) - 1;
    r.alone = fth_rng_below(rng, 2);
    r.cold = fth_rng_below(rng, 4) == 0;
    assert_int_equal(fth_request_check(&r, NULL), FTH_OK);
    return r;
}

#endif
