/* Tests the validation of requests to a device, their number of samples, and their canonical text
 * (device/request.c, docs/recording.md). */
#include "requests.h"

#include <stdio.h>

static void the_text_is_canonical(void **state)
{
    (void)state;
    struct fth_request r = make_request(2, step(FTH_STEP_WALK, FTH_PATH_CA, 0, 128, 2048),
                                        step(FTH_STEP_TIME_HOPS, FTH_PATH_CA, 0, 128, 2048));
    assert_string_equal(request_text(&r), "walk ca 0:128x2048; time-hops ca 0:128x2048");
    r.chase.steps[0].passes = 2;
    r.carveout_percent = 0;
    r.alone = true;
    assert_string_equal(request_text(&r), "walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; "
                                          "carveout 0; alone");
    /* A cold request always runs alone, a chain step of 0 means 1, and entries after the last step
     * are ignored. None of them appears in the text. */
    r.cold = true;
    r.chase.steps[0].chain.step = 0;
    r.chase.steps[2].passes = 7;
    assert_string_equal(request_text(&r), "walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; "
                                          "carveout 0; cold");
    r.alone = false;
    assert_string_equal(request_text(&r), "walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; "
                                          "carveout 0; cold");
    r = make_request(1, step(FTH_STEP_TIME_PASS, FTH_PATH_TEXTURE, 3, 4, 1), r.chase.steps[1]);
    r.chase.steps[0].chain.start_bytes = 4096;
    r.chase.steps[0].chain.step = 7;
    r.chase.steps[0].warp = 31;
    r.chase.steps[0].reverse = true;
    r.chase.steps[0].passes = UINT64_MAX;
    r.sm = 0;
    r.carveout_percent = 100;
    assert_string_equal(request_text(&r),
                        "time-pass texture 3+4096:4x1 step 7 warp 31 reverse passes "
                        "18446744073709551615; sm 0; carveout 100");
    static const char *const paths[] = {"ca", "cg", "readonly", "texture", "constant", "shared"};
    assert_int_equal(FTH_COUNT(paths), FTH_PATH_COUNT);
    for (unsigned i = 0; i < FTH_PATH_COUNT; i++)
        assert_string_equal(fth_path_name((enum fth_path)i), paths[i]);
}

static void samples_are_counted_per_timed_hop_or_pass(void **state)
{
    (void)state;
    struct fth_request r = make_request(2, step(FTH_STEP_WALK, FTH_PATH_CA, 0, 128, 2048),
                                        step(FTH_STEP_TIME_HOPS, FTH_PATH_CA, 0, 128, 2048));
    assert_int_equal(fth_request_samples(&r), 2048);
    r.chase.steps[1].passes = 3;
    assert_int_equal(fth_request_samples(&r), 3 * 2048);
    r.chase.steps[0].kind = FTH_STEP_TIME_PASS;
    r.chase.steps[0].passes = 5;
    assert_int_equal(fth_request_samples(&r), 3 * 2048 + 5);
    r.chase.steps[1].passes = UINT64_MAX;
    assert_int_equal(fth_request_samples(&r), UINT64_MAX);
    r = make_request(2, step(FTH_STEP_TIME_CLOCK, FTH_PATH_CG, 0, 8, 64),
                     step(FTH_STEP_TIME_SINK, FTH_PATH_CG, 0, 8, 32));
    assert_int_equal(fth_request_samples(&r), 96);
    assert_string_equal(request_text(&r), "time-clock cg 0:8x64; time-sink cg 0:8x32");
}

/* A request with one fault. The error must name `member` and contain `cause`. */
struct fault {
    const char *member, *cause;
    struct fth_request request;
};

/* A request that times passes over one chain. `chain_step` is the step of the chain. */
static struct fth_request with_chain(enum fth_path path, uint64_t start, uint64_t stride,
                                     uint64_t count, uint64_t chain_step, bool reverse)
{
    struct fth_request r = simple_request(1);
    r.chase.steps[0] = step(FTH_STEP_TIME_PASS, path, 0, stride, count);
    r.chase.steps[0].chain.start_bytes = start;
    r.chase.steps[0].chain.step = chain_step;
    r.chase.steps[0].reverse = reverse;
    return r;
}

/* A request that times passes over two chains in the same array. `stride` and `chain_step` are
 * those of the second chain. */
static struct fth_request two_chains(enum fth_path first, enum fth_path second, uint64_t stride,
                                     uint64_t chain_step)
{
    struct fth_request r = make_request(2, step(FTH_STEP_TIME_PASS, first, 1, 128, 15),
                                        simple_request(1).chase.steps[0]);
    r.chase.steps[1] = step(FTH_STEP_TIME_PASS, second, 1, stride, 15);
    r.chase.steps[1].chain.step = chain_step;
    return r;
}

static void invalid_chains_are_rejected(void **state)
{
    (void)state;
    const struct fault faults[] = {
        {"step_count", "0 is not in the range", {.chase.step_count = 0}},
        {"step_count", "9 is not in the range", {.chase.step_count = FTH_MAX_STEPS + 1}},
        {"steps[0].chain.stride_bytes", "less than", with_chain(FTH_PATH_CA, 0, 0, 1, 1, false)},
        {"steps[0].chain.stride_bytes", "less than", with_chain(FTH_PATH_CA, 0, 4, 1, 1, false)},
        {"steps[0].chain.stride_bytes", "less than", with_chain(FTH_PATH_CA, 0, 8, 1, 1, true)},
        {"steps[0].chain.stride_bytes", "less than",
         with_chain(FTH_PATH_TEXTURE, 0, 4, 1, 1, true)},
        {"steps[0].chain.stride_bytes", "multiple",
         with_chain(FTH_PATH_SHARED, 0, 12, 1, 1, false)},
        {"steps[0].chain.start_bytes", "multiple", with_chain(FTH_PATH_CG, 4, 8, 1, 1, false)},
        {"steps[0].chain.start_bytes", "multiple", with_chain(FTH_PATH_CG, 8, 16, 1, 1, true)},
        {"steps[0].chain.count", "at least one", with_chain(FTH_PATH_CA, 0, 8, 0, 1, false)},
        {"steps[0].chain.count", "beyond",
         with_chain(FTH_PATH_CA, 0, UINT64_C(1) << 63, 2, 1, false)},
        {"steps[0].chain.count", "beyond",
         with_chain(FTH_PATH_CA, 0, 128, (UINT64_C(1) << 39) + 1, 1, false)},
        {"steps[0].chain.count", "beyond",
         with_chain(FTH_PATH_CA, UINT64_MAX - 7, 128, 1, 1, false)},
        {"steps[0].chain.count", "constant bank",
         with_chain(FTH_PATH_CONSTANT, 0, 64, 1025, 1, false)},
        {"steps[0].chain.count", "shared memory",
         with_chain(FTH_PATH_SHARED, 1 << 20, 8, 1, 1, false)},
        {"steps[0].chain.count", "a texture",
         with_chain(FTH_PATH_TEXTURE, 0, 4, (1 << 27) + 1, 1, false)},
        {"steps[0].chain.step", "common factor", with_chain(FTH_PATH_CA, 0, 8, 10, 4, false)},
        {"steps[0].reverse", "memory order", with_chain(FTH_PATH_CA, 0, 16, 10, 3, true)},
        {"steps[1].chain.stride_bytes", "stride of 128",
         two_chains(FTH_PATH_CA, FTH_PATH_CG, 256, 1)},
        {"steps[1].chain.step", "step of 1", two_chains(FTH_PATH_CA, FTH_PATH_CA, 128, 2)},
        {"steps[1].chain.array", "in global memory and in a texture",
         two_chains(FTH_PATH_READONLY, FTH_PATH_TEXTURE, 128, 1)},
        {"steps[1].chain.array", "in the constant bank and in shared memory",
         two_chains(FTH_PATH_CONSTANT, FTH_PATH_SHARED, 128, 1)},
    };
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&faults[i].request, &error), FTH_INVALID);
        assert_string_equal(error.argument, faults[i].member);
        assert_contains(error.cause, faults[i].cause);
    }
}

/* Faults in other members, and conflicts between two chains. Case i below must be reported for
 * members[i]. */
static void invalid_members_are_rejected(void **state)
{
    (void)state;
    static const char *const members[] = {"steps[0].kind",
                                          "steps[0].path",
                                          "steps[0].warp",
                                          "steps[0].passes",
                                          "carveout_percent",
                                          "carveout_percent",
                                          "steps",
                                          "steps",
                                          "steps[1].chain.step",
                                          "steps[1].chain.start_bytes",
                                          "steps[1].chain.start_bytes",
                                          "steps[0].path",
                                          "steps[0].passes"};
    for (size_t i = 0; i < FTH_COUNT(members); i++) {
        struct fth_request r = simple_request(16);
        r.chase.steps[1] = r.chase.steps[0];
        switch (i) {
        case 0: r.chase.steps[0].kind = (enum fth_step_kind)9; break;
        case 1: r.chase.steps[0].path = FTH_PATH_COUNT; break;
        case 2: r.chase.steps[0].warp = FTH_MAX_WARPS; break;
        case 3: r.chase.steps[0].passes = 0; break;
        case 4: r.carveout_percent = -2; break;
        case 5: r.carveout_percent = 101; break;
        case 6: r.chase.steps[0].kind = FTH_STEP_WALK; break;
        case 7: r.chase.steps[0].passes = (UINT64_C(1) << 24) + 1; break;
        case 8: /* the same elements, but the order of their links depends on the count */
            r.chase.step_count = 2;
            r.chase.steps[0].chain.step = r.chase.steps[1].chain.step = 3;
            r.chase.steps[1].chain.count = 14;
            break;
        case 9: /* the links of the first chain for the reverse walk overlap the second chain */
            r.chase.step_count = 2;
            r.chase.steps[0].reverse = true;
            r.chase.steps[1].chain.start_bytes = 8;
            break;
        case 10: /* the same with the chains exchanged */
            r.chase.step_count = 2;
            r.chase.steps[1].reverse = true;
            r.chase.steps[0].chain.start_bytes = 8;
            break;
        case 11: r.chase.steps[0].kind = FTH_STEP_TIME_CLOCK; break; /* the path is not CG */
        case 12:
            r.chase.steps[0].kind = FTH_STEP_TIME_SINK;
            r.chase.steps[0].path = FTH_PATH_CG;
            r.chase.steps[0].passes = 2;
            break;
        }
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&r, &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
        assert_int_equal(fth_request_check(&r, NULL), FTH_INVALID);
    }
}

/* Steps beyond the maximum are not stored, and the request is refused when it is sent. */
static void a_request_with_too_many_steps_is_refused(void **state)
{
    (void)state;
    struct {
        struct fth_request request;
        unsigned char behind[2 * sizeof(struct fth_step)];
    } memory = {.request = fth_request_make(-1)};
    memset(memory.behind, 0x5a, sizeof memory.behind);
    const struct fth_chain chain = {.stride_bytes = 128, .count = 16};
    for (int i = 0; i < FTH_MAX_STEPS; i++)
        fth_request_add(&memory.request, FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain, 1);
    const struct fth_request full = memory.request;
    assert_int_equal(fth_request_check(&full, NULL), FTH_OK);
    for (int i = 0; i < 2; i++)
        fth_request_add(&memory.request, FTH_STEP_WALK, FTH_PATH_CG, chain, 3);
    for (size_t i = 0; i < sizeof memory.behind; i++)
        assert_int_equal(memory.behind[i], 0x5a);
    char text[4096];
    snprintf(text, sizeof text, "%s", request_text(&full));
    assert_string_equal(request_text(&memory.request), text);

    static const struct fth_device_ops no_operations = {0};
    struct fth_device device = {.ops = &no_operations};
    struct fth_samples samples;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_measure(&device, &memory.request, 1, &samples, &error),
                     FTH_INVALID);
    assert_string_equal(error.argument, "step_count");
    assert_string_equal(error.cause, "more than 8 steps were added");
    fth_samples_fini(&samples);
}

static void valid_requests_are_accepted(void **state)
{
    (void)state;
    const struct fth_request valid[] = {
        simple_request(1),
        with_chain(FTH_PATH_CA, 0, 8, 1, 1, false),
        with_chain(FTH_PATH_CA, 0, 16, 1, 0, true),
        with_chain(FTH_PATH_CA, 0, 128, UINT64_C(1) << 39, 1, false),
        with_chain(FTH_PATH_CONSTANT, 0, 64, 1024, 1, false),
        with_chain(FTH_PATH_SHARED, 0, 8, 1 << 17, 1, false),
        with_chain(FTH_PATH_TEXTURE, 0, 4, 1 << 27, 1, false),
        with_chain(FTH_PATH_TEXTURE, 8, 8, 1000, 1, true),
        with_chain(FTH_PATH_CA, 0, 8, 10, 3, false),
        two_chains(FTH_PATH_CA, FTH_PATH_READONLY, 128, 1),
        two_chains(FTH_PATH_CONSTANT, FTH_PATH_CONSTANT, 128, 0),
    };
    for (size_t i = 0; i < FTH_COUNT(valid); i++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_request_check(&valid[i], &error);
        assert_string_equal(error.cause, "");
        assert_int_equal(status, FTH_OK);
    }
    /* Two interleaved chains of different lengths. */
    struct fth_request r = two_chains(FTH_PATH_CA, FTH_PATH_CA, 128, 1);
    r.chase.steps[1].chain.start_bytes = 64;
    r.chase.steps[1].chain.count = 7;
    r.chase.steps[0].reverse = true;
    assert_int_equal(fth_request_check(&r, NULL), FTH_OK);
}

/* Changes one member so that the request has another meaning. */
static void mutate(struct fth_request *r, struct fth_rng *rng)
{
    struct fth_step *s = &r->chase.steps[fth_rng_below(rng, r->chase.step_count)];
    uint64_t more = 1 + fth_rng_below(rng, 9);
    switch (fth_rng_below(rng, 14)) {
    case 0: s->kind = (enum fth_step_kind)(((unsigned)s->kind + 1) % 3); break;
    case 1: s->path = (enum fth_path)(((unsigned)s->path + more % 5 + 1) % FTH_PATH_COUNT); break;
    case 2: s->chain.array += (unsigned)more; break;
    case 3: s->chain.start_bytes += more; break;
    case 4: s->chain.stride_bytes += more; break;
    case 5: s->chain.count += more; break;
    case 6: s->chain.step += more; break;
    case 7: s->warp += (unsigned)more; break;
    case 8: s->reverse = !s->reverse; break;
    case 9: s->passes += more; break;
    case 10: r->sm += (uint32_t)more; break;
    case 11: r->carveout_percent += (int)more; break;
    case 12: r->cold = !r->cold; break;
    case 13:
        if (r->chase.step_count < FTH_MAX_STEPS)
            r->chase.steps[r->chase.step_count++] = *s;
        else
            r->chase.step_count--;
        break;
    }
}

static void different_requests_have_different_texts(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (int i = 0; i < 20000; i++) {
        struct fth_request one = random_request(&rng), other = one;
        char text[4096];
        snprintf(text, sizeof text, "%s", request_text(&one));
        assert_string_equal(request_text(&other), text);
        assert_null(strchr(text, '\n'));
        mutate(&other, &rng);
        assert_string_not_equal(request_text(&other), text);
        if (!one.cold) {
            other = one;
            other.alone = !one.alone;
            assert_string_not_equal(request_text(&other), text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(samples_are_counted_per_timed_hop_or_pass),
        cmocka_unit_test(invalid_chains_are_rejected),
        cmocka_unit_test(invalid_members_are_rejected),
        cmocka_unit_test(a_request_with_too_many_steps_is_refused),
        cmocka_unit_test(valid_requests_are_accepted),
        cmocka_unit_test(different_requests_have_different_texts),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
