/* Tests the validation of requests to a device, their number of samples, and writing and reading
 * their canonical text (device/request.c, device/chase/chase_request.c, docs/recording.md). */
#include "device/recording.h"
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
                                          "steps[0].passes",
                                          "steps[1].reverse"};
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
        case 13: /* a touch has no order */
            r.chase.step_count = 2;
            r.chase.steps[1] = step(FTH_STEP_TOUCH, FTH_PATH_CG, 0, 128, 16);
            r.chase.steps[1].reverse = true;
            break;
        }
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&r, &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
        assert_int_equal(fth_request_check(&r, NULL), FTH_INVALID);
    }
}

/* A write goes through L1, in memory order. */
static void writes_need_a_chain_in_memory_order(void **state)
{
    (void)state;
    static const char *const members[] = {NULL, "steps[1].path", "steps[1].reverse",
                                          "steps[1].chain.step"};
    for (size_t i = 0; i < FTH_COUNT(members); i++) {
        struct fth_request r = simple_request(16);
        struct fth_error error = NO_ERROR;
        r.chase.step_count = 2;
        r.chase.steps[1] = step(FTH_STEP_WRITE, i == 1 ? FTH_PATH_CG : FTH_PATH_CA, 1, 128, 16);
        r.chase.steps[1].reverse = i == 2;
        r.chase.steps[1].chain.step = i == 3 ? 3 : 1;
        assert_int_equal(fth_request_check(&r, &error), members[i] ? FTH_INVALID : FTH_OK);
        if (members[i])
            assert_string_equal(error.argument, members[i]);
    }
}

/* Each pseudo-random order begins with element 0 and visits every element once. */
static void a_seed_gives_an_order_of_all_elements(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t order[COUNT], other[COUNT], in_order = 0;
    bool seen[COUNT] = {false};
    fth_chain_order(&(struct fth_chain){.count = COUNT, .seed = 1}, order);
    fth_chain_order(&(struct fth_chain){.count = COUNT, .seed = 2}, other);
    assert_int_equal(order[0], 0);
    assert_memory_not_equal(order, other, sizeof order);
    for (size_t i = 0; i < COUNT; i++) {
        assert_in_range(order[i], 0, COUNT - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        in_order += i > 0 && order[i] == order[i - 1] + 1;
    }
    assert_in_range(in_order, 0, 10); /* one is expected */
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

/* ---- reading the text ---- */

/* Asserts that the text is that of a request which has the same text again. */
static void assert_round_trip(const char *text, size_t size)
{
    struct fth_request request;
    struct fth_error error = NO_ERROR;
    if (fth_request_read(text, size, &request, &error) != FTH_OK)
        fail_msg("%s: %.*s", error.cause, (int)size, text);
    struct fth_buffer again = {0};
    fth_request_write(&request, &again);
    assert_int_equal(again.size, size);
    assert_memory_equal(again.data, text, size);
    fth_buffer_fini(&again);
}

/* One text per form in docs/recording.md, and every option of every family. */
static const char *const texts[] = {
    "walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; carveout 0; alone",
    "time-pass texture 3+4096:8x1000 warp 31 reverse passes 7; sm 131; carveout 100; cold",
    "time-hops constant 4294967295:8x7 step 3",
    "walk ca 0:64x512 seed 5 passes 2; time-pass ca 0:64x512 seed 5 passes 9",
    "walk cg 1:1024x1; touch cg 1+512:256x64 passes 2; time-hops cg 0:128x16; sm 0; alone",
    "walk ca 0:128x8; write ca 0+32:128x8 warp 2 passes 3; time-hops ca 0:128x8; cold",
    "time-clock cg 0:8x4; time-sink cg 1:8x4",
    "walk shared 0:8x4; walk readonly 1:8x4; time-pass ca 2:8x4; cold",
    "fetch 64",
    "fetch 4096 passes 8",
    "fetch 1024 passes 2; time-hops constant 0+64:64x256 step 3; sm 5; carveout 50",
    "cluster 8 target 3 8x1024 passes 15",
    "cluster 2 target 0 +64:16x7 step 3; carveout 100",
    "stream read cg 16777216 2x1024x16 passes 8",
    "stream read ca 32768 each 1x1024x16 passes 64; carveout 0",
    "stream read cg 10485760 each 240256 1x1024x16 passes 4",
    "stream copy cg 67108864 2x1024x16; cold",
    "stream write shared 65536 each 1x1024x16 sms 4 cluster 2 passes 64; carveout 100",
    "operate fma.f32 chains 8 rounds 64 threads 1024 sms 1 passes 5",
    "operate add.f16x2 chains 1 rounds 1 threads 1 sms 0",
    "operate copy.shared.4 chains 6 rounds 4 threads 256 sms 0 per-sm 2; stride 4",
    ("operate atomic.global chains 1 rounds 1 threads 256 sms 132 passes 2; stride 8 blocks "
     "65536; carveout 25"),
    "branch 64x256",
    "branch 2048x8 passes 7; sm 2",
    "place 1x1",
    "place 198x32 shared 232448 hold 4000 stagger 8000",
    "place 2112x1024 cluster 16 hold 10000000; carveout 0",
    "sweep triad f64 1073741824 264x1024 vector 16 unroll 4 hinted repeats 5; cold",
    "sweep copy f32 4096 1x32 vector 4 unroll 1",
    "transfer to-device pinned 268435456 repeats 5",
    "transfer from-device pageable 1",
    "transfer to-peer 268435456 peer 1",
    "transfer within 3",
    "pair 0 16 lag 36 1152x12",
    "copies bulk-load 4096 threads 2 depth 8 count 64 span 131072 sms 1 passes 9",
    "copies bulk-load 16 span 128; cold",
    "copies bulk-store 128 depth 4 span 1024; carveout 100",
    "copies tensor-load 4096 rank 5 row 128 span 131072 passes 3",
    "copies tensor-load 1024 rank 1 row 1024 span 1024",
    "copies async-ca 4 threads 1024 depth 8 span 65536",
    "copies async-cg 16 threads 32 span 512",
    "copies load-store 8 threads 64 depth 8 count 16 span 8192",
    "copies cluster 1024 depth 2 count 16 cluster 8 partner 4",
    "copies store-async 8 count 64 cluster 16 partner 15 passes 2",
    "copies multicast 65536 cluster 2",
    "contend 4096 by 0,2 lines 0:128x8,1024:2176x128; sm 5",
    "evict search 4096x128 seed 7 warm 64 pool 99 target 3 threshold 400 repeats 2 tests 9",
    "evict script 4096x128 seed 7 flush 9 lines 9,77 read 0,1,0 passes 3 pool 50 time 1,0",
    ("hint fill none,ld.ca,ld.L2::128B via cg 1024 offset 128 words 32x16 repeats 8 delay 0; "
     "cold"),
    "hint fill none,ld.cg,st.wb,cp.async.ca via ca 384 offset 0 words 32x1 repeats 8 delay 9 held",
    "flight 128 repeats 4; cold",
    "merge 256 warps 4 lag 12 repeats 5 shared; sm 3",
    "flight 32 step 8 warps 8 lanes 32 repeats 2 warm; sm 3",
    "hint survive ld.cs via ca 128 first 9 prior 512 targets 64 pressure 2048; carveout 0",
    "operate red.gpu chains 1 rounds 1 threads 64 sms 0; stride 128 per-warp blocks 65536",
    "operate atom.shared.f64 chains 1 rounds 1 threads 64 sms 1; stride 8",
    "visit cg device 128x16; cold",
    "visit discard device 128x8 passes 2048 stamped; sm 2",
    "visit sys host 4224x512 step 5 passes 3; carveout 0",
    "visit none managed 4096x4096 passes 2",
    "visit ca prefetched 4x1",
    "traffic device 1073741824 264x1024x16 part 32 of 128 repeats 3; cold",
    "traffic host 67108864 1x1024x4 part 67108864 of 67108864 writes 32",
    "traffic prefetched 8192 1x32x8 part 8 of 24",
    "share 0 65537 ca 64 own 256 other 2048 rounds 16 seed 7",
    "share 3 3 constant 64 own 32 other 256 rounds 1",
};

static void texts_of_all_families_are_read(void **state)
{
    (void)state;
    bool seen[FTH_FAMILY_COUNT] = {false};
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        struct fth_request request;
        assert_round_trip(texts[i], strlen(texts[i]));
        assert_int_equal(fth_request_read(texts[i], strlen(texts[i]), &request, NULL), FTH_OK);
        seen[request.family] = true;
    }
    for (size_t i = 0; i < FTH_FAMILY_COUNT; i++)
        assert_true(seen[i]);
}

static void random_requests_survive_their_text(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 12);
    for (int i = 0; i < 20000; i++) {
        const struct fth_request request = random_request(&rng);
        char text[4096];
        snprintf(text, sizeof text, "%s", request_text(&request));
        assert_round_trip(text, strlen(text));
        /* No prefix of the text has the same meaning. */
        struct fth_request read;
        const size_t size = (size_t)fth_rng_below(&rng, strlen(text));
        if (fth_request_read(text, size, &read, NULL) == FTH_OK)
            assert_string_not_equal(request_text(&read), text);
    }
}

/* Every request that was sent to a real GPU. */
static void recorded_requests_survive_their_text(void **state)
{
    (void)state;
    static const char *const names[] = {
        "bench-arith-h200", "bench-caches-h200", "bench-memory-h200", "conformance-h200", "h200",
        "l1-h200"};
    size_t families[FTH_FAMILY_COUNT] = {0};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        char path[512];
        struct fth_recording *recording = NULL;
        snprintf(path, sizeof path, "%s/tests/replay/%s.zst", FTH_SOURCE_ROOT, names[i]);
        assert_int_equal(fth_recording_read(path, &recording, NULL), FTH_OK);
        for (size_t j = 0; j < fth_recording_answer_count(recording); j++) {
            struct fth_request request;
            size_t size;
            const char *text = fth_recording_key(recording, j, &size);
            assert_round_trip(text, size);
            assert_int_equal(fth_request_read(text, size, &request, NULL), FTH_OK);
            families[request.family]++;
        }
        fth_recording_destroy(recording);
    }
    /* The recordings are older than the family `place`. */
    for (size_t i = 0; i < FTH_FAMILY_PLACE; i++)
        assert_true(families[i] > 0);
}

struct refused {
    const char *text, *cause;
};

static void assert_refused(const struct refused *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fth_request request;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_read(rows[i].text, strlen(rows[i].text), &request, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct refused rows[] = {
        {"", "unexpected text after 0 bytes"},
        {"walk", "unexpected text after 0 bytes"},
        {"jump ca 0:128x16", "unexpected text after 0 bytes"},
        {"time-hops ca 0:128x16; ", "unexpected text after 21 bytes"},
        {"time-hops ca 0:128x16; cold; alone",
         "the canonical form is: time-hops ca 0:128x16; cold"},
        {"time-hops ca 0:128x16; alone; cold", "unexpected text after 28 bytes"},
        {"time-hops ca 0:128x16 passes 1", "the canonical form is: time-hops ca 0:128x16"},
        {"time-hops ca 00:128x16", "the canonical form is: time-hops ca 0:128x16"},
        {"time-hops ca 0:128x18446744073709551616", "unexpected text"},
        {"time-hops ca 4294967296:128x16", "unexpected text"},
        {"time-hops caa 0:128x16", "unexpected text after 10 bytes"},
        {"time-hops ca 0:127x16", "not a multiple"},
        {"walk ca 0:128x16", "at least one step must be timed"},
        {"time-pass shared 0:128x16 seed 1", "only chains in global memory can have a seed"},
        {"time-pass ca 0:8x67108865 seed 1", "at most 67108864 elements"},
        {"time-pass ca 0:128x16 step 3 seed 1", "a chain with a step cannot have a seed"},
        {"time-pass ca 0:128x16 seed 1 reverse", "walked forwards"},
        {"walk ca 0:128x16 seed 1; time-pass ca 0:128x16", "already has a chain with the seed 1"},
        {"walk ca 0:128x16 seed 1; time-pass ca 0:128x8 seed 1", "another chain with a seed"},
        {"walk ca 0:128x16 seed 1; time-pass ca 0+128:128x16 seed 1", "another chain with a seed"},
        {"walk ca 0:128x16 seed 1; time-pass ca 0+8:128x8 seed 1", "another chain with a seed"},
        {"time-hops ca 0:8x1; time-hops ca 0:8x1; time-hops ca 0:8x1; time-hops ca 0:8x1; "
         "time-hops ca 0:8x1; time-hops ca 0:8x1; time-hops ca 0:8x1; time-hops ca 0:8x1; "
         "time-hops ca 0:8x1",
         "unexpected text"},
        {"time-hops ca 0:128x16; carveout 101", "unexpected text"},
        {"fetch 64; cold", "code cannot be evicted"},
        {"fetch 64 ", "unexpected text after 8 bytes"},
        {"fetching 64", "unexpected text after 0 bytes"},
        {"stream read cg 65536 128 1x256x4", "requires reads of one global array per block"},
        {"stream burn cg 65536 1x256x4", "unexpected text"},
        {"cluster 2 target 0 8x4; alone", "the canonical form is: cluster 2 target 0 8x4"},
        {"operate add.f chains 1 rounds 1 threads 1 sms 0", "unexpected text"},
        {"place 0x32", "0 is not in the range 1 to 1048576"},
        {"place 16x1025", "1025 is not in the range 1 to 1024"},
        {"place 16x32 cluster 6", "6 is neither 0 nor a power of two in the range 2 to 16"},
        {"place 16x32 cluster 32", "32 is neither 0 nor a power of two"},
        {"place 18x32 cluster 4", "18 blocks cannot be divided into clusters of 4"},
        {"place 16x32 shared 1048577", "1048577 exceeds 1048576"},
        {"place 16x32 hold 10000001", "exceeds 10000000"},
        {"place 16x32 stagger 10000001", "exceeds 10000000"},
        {"place 16x32 hold 0", "the canonical form is: place 16x32"},
        {"place 16x32; sm 3", "the SM cannot be chosen"},
        {"place 16x32; cold", "not available for this family"},
        {"place 16", "unexpected text after 8 bytes"},
        {"transfer within pinned 4096", "uses no host memory"},
        {"sweep copy f16 4096 1x32 vector 4 unroll 1", "unexpected text"},
    };
    assert_refused(rows, FTH_COUNT(rows));
}

static void wrong_copies_are_refused(void **state)
{
    (void)state;
    static const struct refused rows[] = {
        {"copies bulk-loads 16 span 128", "unexpected text after 7 bytes"},
        {"copies bulk-load 8 span 128", "not a multiple of 16"},
        {"copies bulk-load 524304 span 524416", "not a multiple of 16 in the range"},
        {"copies bulk-load 16 depth 0 span 128", "0 is not in the range 1 to 128"},
        {"copies bulk-load 16 depth 129 span 128", "129 is not in the range 1 to 128"},
        {"copies bulk-load 16 threads 3 depth 64 span 384", "at most 128 copies in flight"},
        {"copies bulk-load 16 depth 2 count 3 span 128", "a multiple of the copies in flight"},
        {"copies bulk-load 16 threads 33 span 4224", "33 is not in the range 1 to 32"},
        {"copies bulk-load 16 threads 2 span 128", "a multiple of the copies of all threads"},
        {"copies bulk-load 16 span 130", "a multiple of the copies of all threads"},
        {"copies bulk-load 16", "a multiple of the copies of all threads"},
        {"copies bulk-load 16 rank 1 span 128", "0 otherwise"},
        {"copies bulk-load 16 row 16 span 128", "must be 0, except for tensors"},
        {"copies bulk-load 16 span 128 cluster 2", "0 otherwise"},
        {"copies bulk-load 16 span 128 partner 1", "no such block"},
        {"copies bulk-load 16 span 128 passes 0", "not in the range 1 to 1048576"},
        {"copies bulk-load 16 depth 1 span 128", "the canonical form is: copies bulk-load 16"},
        {"copies bulk-load 16 span 128; sm 3", "the SM cannot be chosen"},
        {"copies tensor-load 4096 rank 6 row 128 span 4096", "must be 1 to 5"},
        {"copies tensor-load 4096 rank 1 row 4096 span 4096", "no box of this rank"},
        {"copies tensor-load 8192 rank 2 row 16 span 8192", "no box of this rank"},
        {"copies tensor-load 384 rank 2 row 128 span 384", "no box of this rank"},
        {"copies async-cg 8 threads 32 span 256", "a thread cannot copy as many bytes"},
        {"copies load-store 16 threads 32 depth 9 span 4608", "9 is not in the range 1 to 8"},
        {"copies async-ca 4 threads 1025 span 4100", "1025 is not in the range 1 to 1024"},
        {"copies store-async 16 cluster 2 partner 1", "a store must have 8 bytes"},
        {"copies cluster 1024 cluster 3 partner 1", "a power of two from 2 to 16"},
        {"copies cluster 1024 cluster 2 partner 2", "no such block"},
        {"copies cluster 1024 span 1024 cluster 2 partner 1", "no span"},
        {"copies cluster 262144 depth 3 cluster 2 partner 1", "at most 524288 bytes"},
        {"copies cluster 1024 cluster 2 partner 1; cold", "not available for copies in a cluster"},
        {"copies multicast 1024 cluster 2 partner 1", "no such block"},
    };
    assert_refused(rows, FTH_COUNT(rows));
}

static void invalid_hints_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"hint fill ld.ca,ld.cx via cg 1024 offset 0 words 32x16 repeats 8 delay 0",
         "unexpected text after 16 bytes"},
        {"hint fill ld.cg,ld.ca via cg 1024 offset 0 words 32x16 repeats 8 delay 0",
         "the canonical form is: hint fill ld.ca,ld.cg via"},
        {"hint fill ld.ca via shared 1024 offset 0 words 32x16 repeats 8 delay 0",
         "unexpected text"},
        {"hint fill ld.ca via cg 1024 offset 0 words 32x17 repeats 8 delay 0",
         "less than twice the size of the timed words"},
        {"hint fill ld.ca via cg 1024 offset 496 words 32x16 repeats 8 delay 0",
         "not a multiple of 32 within the part"},
        {"hint survive ld.ca,ld.cg via ca 128 prior 0 targets 64 pressure 9",
         "more than one variant"},
        {"hint survive ld.ca via ca 128 prior 0 targets 64 pressure 9; cold",
         "only available for fills"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_request request;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_read(rows[i].text, strlen(rows[i].text), &request, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(samples_are_counted_per_timed_hop_or_pass),
        cmocka_unit_test(invalid_chains_are_rejected),
        cmocka_unit_test(invalid_members_are_rejected),
        cmocka_unit_test(writes_need_a_chain_in_memory_order),
        cmocka_unit_test(a_request_with_too_many_steps_is_refused),
        cmocka_unit_test(a_seed_gives_an_order_of_all_elements),
        cmocka_unit_test(valid_requests_are_accepted),
        cmocka_unit_test(different_requests_have_different_texts),
        cmocka_unit_test(texts_of_all_families_are_read),
        cmocka_unit_test(random_requests_survive_their_text),
        cmocka_unit_test(recorded_requests_survive_their_text),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(invalid_hints_are_refused),
        cmocka_unit_test(wrong_copies_are_refused),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
