/* Tests of the families of experiments (device/family/): what they ask a machine to do, and the
 * samples that they compute. The machine executes nothing (fake_machine.h). */
#include "fake_machine.h"

static struct fth_request read_request(const char *text)
{
    struct fth_request request;
    struct fth_error error = NO_ERROR;
    if (fth_request_read(text, strlen(text), &request, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    return request;
}

/* Executes a request. Returns its status; the samples are in `samples`. */
static enum fth_status run_request(struct fth_runner *runner, const char *text, uint32_t *samples,
                                   struct fth_error *error)
{
    const struct fth_request request = read_request(text);
    const struct fth_family_ops *family = fth_family_of(request.family);
    struct fth_family_slot *slot = &runner->slots[request.family];
    struct fth_lowered lowered;
    FTH_TRY(fth_request_lower(runner, &request, &lowered, error));
    if (family->open && !slot->state)
        FTH_TRY(family->open(runner, &slot->state, error));
    return family->run(runner, slot, &lowered, samples, error);
}

static void run_valid(struct fth_runner *runner, const char *text, uint32_t *samples)
{
    struct fth_error error = NO_ERROR;
    if (run_request(runner, text, samples, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
}

static void close_runner(struct fth_runner *runner)
{
    for (enum fth_family i = 0; i < FTH_FAMILY_COUNT; i++)
        if (runner->slots[i].state)
            fth_family_of(i)->release(runner, runner->slots[i].state);
    fth_pool_release(runner, &runner->arrays);
}

/* ---- streams ---- */

struct stream_times {
    uint64_t begin_ns, end_ns;
    uint32_t cycles, tick_ns;
    uint64_t unused;
};

/* Eight blocks run from 1000 to 1700 ns, with 90, 80, ... cycles. */
static void answer_stream(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    struct stream_times *times = data;
    for (uint64_t i = 0; i < bytes / sizeof *times; i++)
        times[i] = (struct stream_times){1070 - 10 * i, 1700 - 50 * i, (uint32_t)(90 - 10 * i),
                                         i ? 0 : 32, 0};
}

/* The arguments of the kernel: source, target, distance of the arrays of two blocks, of the parts
 * of two blocks, bytes, step, whether there is an untimed pass, passes, barrier, times, texture. */
static void a_warm_stream_reads_its_array_before(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[3] = {0};
    fake.answer = answer_stream;
    run_valid(&runner, "stream read cg 65536 2x64x4 passes 8", samples);
    /* 2 * 4 blocks of 2 warps; a warp accesses 512 bytes at a time. */
    expect_log("load stream\nalloc 288 at 1000\nalloc 66048 at 1200\nfill 288 at 1000 with 0\n"
               "launch read_cg_4 8x64: 1200 1200 0 400 10000 2000 0 1 0 1020 0\n"
               "launch read_cg_4 8x64: 1200 1200 0 400 10000 2000 0 8 1000 1020 0\n"
               "wait 3.001638\ndownload 256 from 1020\n"); /* 9 * 64 KiB + 1 MiB, at 1 GB/s */
    assert_int_equal(samples[0], 700);
    assert_int_equal(samples[1], 60); /* the median */
    assert_int_equal(samples[2], 32);
    /* The array is still in the L2. */
    fake.answer = NULL;
    run_valid(&runner, "stream read cg 65536 2x64x4 passes 8", samples);
    expect_log("fill 288 at 1000 with 0\n"
               "launch read_cg_4 8x64: 1200 1200 0 400 10000 2000 0 8 1000 1020 0\n"
               "wait 3.001638\ndownload 256 from 1020\n");
    assert_int_equal(samples[0] | samples[1], 0);
    assert_int_equal(samples[2], 1); /* the resolution is not known */
    /* A part of it as well, with 16 bytes per load, but not after another family. */
    run_valid(&runner, "stream read cg 32768 1x1024x16 sms 2; carveout 50", samples);
    expect_log(
        "load stream\nfill 96 at 1000 with 0\n"
        "launch read_cg_16 2x1024 carveout 50: 1200 1200 0 10000 8000 20000 0 1 1000 1020 0\n"
        "wait 3.001114\ndownload 64 from 1020\n");
    fth_family_of(FTH_FAMILY_STREAM)
        ->disturb(runner.slots[FTH_FAMILY_STREAM].state, FTH_DISTURBS_ARRAYS);
    run_valid(&runner, "stream read cg 32768 1x1024x16 sms 2", samples);
    assert_null(strstr(fake.log, " 0 1 0 1020 0"));
    fth_family_of(FTH_FAMILY_STREAM)
        ->disturb(runner.slots[FTH_FAMILY_STREAM].state, FTH_DISTURBS_L2);
    run_valid(&runner, "stream read cg 32768 1x1024x16 sms 2", samples);
    assert_non_null(strstr(fake.log, " 0 1 0 1020 0"));
    fake.log[0] = '\0';
    close_runner(&runner);
    expect_log("unload\nunload\nfree 1200\nfree 1000\n");
}

static void a_cold_stream_uses_other_memory(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[3] = {0};
    /* The pool has twice the 128 KiB of both arrays, and five times the L2. A copy of 1 MiB in all
     * prepares the L2. */
    run_valid(&runner, "stream copy cg 65536 2x64x4; cold", samples);
    expect_log("load stream\nalloc 288 at 1000\nalloc 5505024 at 1200\nfill 288 at 1000 with 0\n"
               "launch copy_cg_4 8x64: 1200 81200 0 400 80000 2000 0 1 0 1020 0\n"
               "launch copy_cg_4 8x64: 101200 111200 0 400 10000 2000 0 1 1000 1020 0\n"
               "wait 3.001311\ndownload 256 from 1020\n"); /* 2 * 128 KiB + 1 MiB */
    /* The L2 is full of such data already, so the next copy takes the next memory. */
    run_valid(&runner, "stream copy cg 65536 2x64x4; cold", samples);
    expect_log("fill 288 at 1000 with 0\n"
               "launch copy_cg_4 8x64: 121200 131200 0 400 10000 2000 0 1 1000 1020 0\n"
               "wait 3.001311\ndownload 256 from 1020\n");
    /* A cold read after a copy prepares the L2 again, and then needs no preparation. */
    run_valid(&runner, "stream read cg 65536 2x64x4; cold", samples);
    expect_log("load stream\nfill 288 at 1000 with 0\n"
               "launch read_cg_4 8x64: 141200 141200 0 400 100000 2000 0 1 0 1020 0\n"
               "launch read_cg_4 8x64: 241200 241200 0 400 10000 2000 0 1 1000 1020 0\n"
               "wait 3.001180\ndownload 256 from 1020\n");
    run_valid(&runner, "stream read cg 65536 2x64x4", samples);
    run_valid(&runner, "stream read cg 65536 2x64x4; cold", samples);
    expect_log("fill 288 at 1000 with 0\n"
               "launch read_cg_4 8x64: 1200 1200 0 400 10000 2000 0 1 0 1020 0\n"
               "launch read_cg_4 8x64: 1200 1200 0 400 10000 2000 0 1 1000 1020 0\n"
               "wait 3.001180\ndownload 256 from 1020\nfill 288 at 1000 with 0\n"
               "launch read_cg_4 8x64: 251200 251200 0 400 10000 2000 0 1 1000 1020 0\n"
               "wait 3.001180\ndownload 256 from 1020\n");
    close_runner(&runner);
}

static void a_stream_per_block_has_its_own_arrays(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[3] = {0};
    runner.facts.concurrent = false;
    run_valid(&runner, "stream read ca 4096 each 1x64x4 passes 2", samples);
    expect_log("load stream\nalloc 160 at 1000\nalloc 16896 at 1100\nfill 160 at 1000 with 0\n"
               "launch read_ca_4 4x64: 1100 1100 1000 0 1000 400 1 2 0 1020 0\n"
               "wait 3.001098\ndownload 128 from 1020\n"); /* 3 * 16 KiB + 1 MiB */
    run_valid(&runner, "stream read cg 4096 each 1280 1x64x4", samples);
    expect_log("load stream\nfill 160 at 1000 with 0\n"
               "launch read_cg_4 4x64: 1100 1100 500 0 1000 400 1 1 0 1020 0\n"
               "wait 3.001064\ndownload 128 from 1020\n"); /* 2 * (3 * 1280 + 4096) + 1 MiB */
    run_valid(&runner, "stream copy cg 2048 each 1x64x4", samples);
    expect_log("load stream\nfill 160 at 1000 with 0\n"
               "launch copy_cg_4 4x64: 1100 3100 800 0 800 400 1 1 0 1020 0\n"
               "wait 3.001081\ndownload 128 from 1020\n");
    /* The texture is aligned to 512 bytes. */
    run_valid(&runner, "stream read texture 4096 each 1x64x4", samples);
    expect_log("load stream\ntexture of 4096 at 1200\nfill 160 at 1000 with 0\n"
               "launch read_texture_4 4x64: 0 1100 1000 0 1000 400 1 1 0 1020 4d\n"
               "wait 3.001081\ndownload 128 from 1020\nfree texture 77\n");
    run_valid(&runner, "stream copy shared 4096 each 1x64x4", samples);
    expect_log("load stream\nfill 160 at 1000 with 0\n"
               "launch copy_shared_4 4x64 shared 8192: 1100 1000 0 0 1000 400 1 1 0 1020 0\n"
               "wait 3.001114\ndownload 128 from 1020\n");
    run_valid(&runner, "stream read shared 4096 each 1x64x4 cluster 2", samples);
    expect_log("load stream\nfill 160 at 1000 with 0\n"
               "launch read_cluster_4 4x64 cluster 2 shared 49152: 1100 0 0 0 1000 400 1 1 0 1020 "
               "0\nwait 3.001081\ndownload 128 from 1020\n");
    close_runner(&runner);
}

/* ---- operations ---- */

static void answer_operate(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    uint32_t *words = data;
    /* Three blocks of one pass: the SM plus 1, then the clock at the start and the end. */
    const uint32_t records[] = {1, 0, 100, 150, 2, 0, 100, 130, 3, 0, 100, 120};
    memcpy(words, records, bytes < sizeof records ? bytes : sizeof records);
}

/* Blocks 0 and 2 run on one SM from 100 to 190, blocks 1, 3 and 4 on another one, and blocks 5 and
 * 6 on a third one around the overflow of the clock. Block 7 exited at once. */
static void answer_several(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    const uint32_t records[] = {1,   0,  100, 150, 2,          0,  100, 120, 1,   0, 130,
                                190, 2,  0,   100, 130,        2,  0,   100, 140, 5, 0,
                                10,  60, 5,   0,   0xfffffff0, 30, 0,   0,   0,   0};
    memcpy(data, records, bytes < sizeof records ? bytes : sizeof records);
}

static void answer_unequal(void *data, uint64_t address, uint64_t bytes)
{
    answer_several(data, address, bytes);
    uint32_t *words = data;
    words[8] = 9;  /* block 2 has another SM */
    words[20] = 8; /* block 5, too */
}

static void operations_are_timed_per_block(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[5] = {0};
    fake.answer = answer_operate;
    /* 64 rounds of 512 operations and 6 passes, at 20 us. The factor is 1.0. */
    run_valid(&runner, "operate add.s32 chains 8 rounds 64 threads 1024 sms 1 passes 5", samples);
    assert_non_null(strstr(fake.log, "load add.s32\nalloc 256 at 1000\nfill 256 at 1000 with 0\n"
                                     "launch operate 1x1024: 40 5 1000 1100 0 0 "));
    assert_non_null(strstr(fake.log, " 0 1\nwait 6.932160\ndownload 48 from 1000\nfree 1000\n"));
    fake.log[0] = '\0';
    run_valid(&runner, "operate add.s32 chains 8 rounds 1 threads 32 sms 3", samples);
    assert_int_equal(samples[0], 30); /* the median of 50, 30 and 20 */
    assert_null(strstr(fake.log, "load add"));
    fake.log[0] = '\0';
    run_valid(&runner,
              "operate atomic.global chains 1 rounds 1 threads 256 sms 3; stride 8 blocks 65536",
              samples);
    /* The words of a block take 8 * 256 bytes, and those of three blocks 2 * 64 KiB more. */
    assert_non_null(strstr(fake.log, "alloc 133376 at 1200\nfill 256 at 1200 with 0\n"
                                     "launch operate 3x256: 1 1 1200 1300 8 10000 "));
    assert_non_null(strstr(fake.log, "wait 3.020480\n"));
    fake.log[0] = '\0';
    close_runner(&runner);
}

static void several_blocks_per_sm_count_together(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[5] = {0};
    struct fth_error error = NO_ERROR;
    static const char text[] =
        "operate copy.shared.4 chains 6 rounds 4 threads 256 sms 3 per-sm 2; stride 4";
    fake.answer = answer_several;
    run_valid(&runner, text, samples);
    /* 90 cycles on SM 0, and 76 on SM 4, from 16 before to 60 after the overflow. SM 1 had three
     * blocks. The upper median counts. */
    assert_int_equal(samples[0], 90);
    assert_non_null(strstr(fake.log, "alloc 256 at 1000\nfill 256 at 1000 with 0\n"
                                     "launch operate 8x256 shared 12288: 4 1 1000 1100 4 1800 "));
    assert_non_null(strstr(fake.log, " 3 0\nwait 3.163840\ndownload 128 from 1000\n"));
    fake.answer = answer_unequal;
    assert_int_equal(run_request(&runner, text, samples, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "no SM received 2 blocks");
    close_runner(&runner);
}

/* ---- sweeps ---- */

/* A timed launch of the sweep below. `pace` keeps the GPU busy while the host queues the rest. */
#define TIMED_SWEEP                                                                                \
    "fill 32772 at 1000 with 0\nlaunch pace 1x1: 500 9c40\nbegin\n"                                \
    "launch sweep 4x64: 9100 d100 b100 2000 4000 1000\nend\nwait 3.024576\n"
#define TRIAD "sweep triad f64 8192 4x64 vector 16 unroll 4 repeats 2"

static void answer_wrong(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    ((uint32_t *)data)[bytes / 4 - 1] = 5;
}

/* The arrays x, z and y have 1,024 elements each. The number of wrong ones follows the 8,192 sums.
 * The expected value of z is x + 3 y. */
static void sweeps_check_their_results(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[3] = {0};
    fake.answer = answer_wrong;
    run_valid(&runner, TRIAD, samples);
    expect_log("load sweep\nalloc 32772 at 1000\nalloc 24576 at 9100\nload pattern\n"
               "launch write 32x256: 9100 400 1 0 0 9000\n"
               "launch write 32x256: d100 400 0 1 0 9000\nfill 8192 at b100 with ff\n" TIMED_SWEEP
                   TIMED_SWEEP TIMED_SWEEP "launch check 32x256: b100 400 1 3 0 9000\n"
               "wait 3.024576\ndownload 32772 from 1000\n");
    assert_int_equal(samples[0], 1100); /* the first launch is not counted */
    assert_int_equal(samples[1], 1200);
    assert_int_equal(samples[2], 5);
    /* The arrays and the kernel are used again. */
    fake.answer = NULL;
    run_valid(&runner, TRIAD, samples);
    expect_log("fill 8192 at b100 with ff\n" TIMED_SWEEP TIMED_SWEEP TIMED_SWEEP
               "launch check 32x256: b100 400 1 3 0 9000\nwait 3.024576\n"
               "download 32772 from 1000\n");
    assert_int_equal(samples[2], 0);
    /* Another family does not change them, unless it uses the same memory. */
    void *memory = runner.slots[FTH_FAMILY_SWEEP].state;
    fth_family_of(FTH_FAMILY_SWEEP)->disturb(memory, FTH_DISTURBS_L2);
    run_valid(&runner, TRIAD, samples);
    assert_null(strstr(fake.log, "launch write"));
    fth_family_of(FTH_FAMILY_SWEEP)->disturb(memory, FTH_DISTURBS_ARRAYS);
    run_valid(&runner, TRIAD, samples);
    assert_non_null(strstr(fake.log, "launch write 32x256: d100"));
    fake.log[0] = '\0';
    /* Two arrays do not replace the pattern of three, another type or length does. */
    run_valid(&runner, "sweep copy f64 8192 4x64 vector 16 unroll 4", samples);
    assert_null(strstr(fake.log, "launch write"));
    run_valid(&runner, "sweep copy f32 8192 4x64 vector 16 unroll 4", samples);
    assert_non_null(strstr(fake.log, "load pattern\nlaunch write 32x256: 9100 800 1 0 0 9000\n"));
    fake.log[0] = '\0';
    run_valid(&runner, "sweep copy f32 4096 4x32 vector 16 unroll 2", samples);
    assert_non_null(strstr(fake.log, "launch write 32x256: 9100 400 1 0 0 9000\n"));
    assert_non_null(strstr(fake.log, "launch sweep 4x32: 9100 0 a100 1000 1000 1000\n"));
    fake.log[0] = '\0';
    run_valid(&runner, TRIAD, samples);
    assert_non_null(strstr(fake.log, "launch write 32x256: d100"));
    fake.log[0] = '\0';
    close_runner(&runner);
    expect_log("unload\nunload\nunload\nunload\nunload\nunload\nfree 1000\nfree 9100\n");
}

#define COLD_SWEEP(X, Z)                                                                           \
    "fill 4096 at " Z " with ff\nFLUSHfill 32772 at 1000 with 0\nlaunch pace 1x1: 500 9c40\n"      \
    "begin\nlaunch sweep 1x32: " X " 0 " Z " 1000 80 1000\nend\nwait 3.012288\n"

/* Each cold launch has other arrays, and the L2 is flushed before it. */
static void cold_sweeps_flush_the_l2(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[3] = {0};
    run_valid(&runner, "sweep copy f32 4096 1x32 vector 4 unroll 1 repeats 2; cold", samples);
    static const char flush[] = "launch flush 8x1024: 50d100 400000 500\n";
    char expected[4096] = "";
    static const char pattern[] =
        "load sweep\nalloc 32772 at 1000\nalloc 5259264 at 9100\nload "
        "pattern\n"
        "launch write 32x256: 9100 400 1 0 0 9000\n" COLD_SWEEP(
            "9100", "a100") "launch write 32x256: b100 400 1 0 0 "
                            "9000\n" COLD_SWEEP("b100", "c100") "launch check 32x256: "
                                                                "c100 400 1 0 0 "
                                                                "9000\nwait "
                                                                "3.012288\ndownload "
                                                                "32772 from 1000\n";
    const char *from = pattern;
    for (const char *place; (place = strstr(from, "FLUSH")); from = place + strlen("FLUSH"))
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%.*s%s%s",
                 (int)(place - from), from, from == pattern ? "alloc 4194304 at 50d100\n" : "",
                 flush);
    snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s", from);
    expect_log(expected);
    assert_int_equal(samples[0], 1000);
    assert_int_equal(samples[1], 1100);
    close_runner(&runner);
    fth_runner_free_flush(&runner);
    assert_int_equal(runner.flush | runner.flush_bytes, 0);
}

/* A read is checked by the sum of all words. */
static void answer_sums(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    uint32_t *words = data;
    words[3] = 7;
    words[8191] = (uint32_t)-9;
    words[bytes / 4 - 1] = 2;
}

static void reads_are_checked_by_their_sum(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[2] = {0, 9};
    fake.answer = answer_sums;
    run_valid(&runner, "sweep read f32 4096 1x32 vector 4 unroll 1", samples);
    assert_non_null(strstr(fake.log, "launch total 32x256: 9100 400 1 0 0 9000\n"));
    assert_int_equal(samples[1], 0); /* 7 - 9 + 2 */
    fake.answer = answer_wrong;
    run_valid(&runner, "sweep read f32 4096 1x32 vector 4 unroll 1", samples);
    assert_int_equal(samples[1], 1);
    close_runner(&runner);
}

static unsigned char uploaded[1 << 20];

static enum fth_status keep_upload(void *machine, uint64_t address, const void *data,
                                   uint64_t bytes, struct fth_error *error)
{
    assert_in_range(address - 0x9100 + bytes, 0, sizeof uploaded);
    memcpy(uploaded + (address - 0x9100), data, bytes);
    return fake_upload(machine, address, data, bytes, error);
}

/* Array z follows x, and the control data is not in this range. One element is wrong. */
static void answer_uploaded(void *data, uint64_t address, uint64_t bytes)
{
    if (address < 0x9100)
        return;
    memcpy(data, uploaded + (address - 0x9100 - 400000), bytes);
    if (address == 0x9100 + 400000)
        ((unsigned char *)data)[11] ^= 1;
}

/* Where access to the memory of the GPU is free, the host writes and checks the arrays in parts of
 * 64 Ki elements. */
static void the_host_checks_sweeps_of_simulated_gpus(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    struct fth_machine_ops ops = fake_ops;
    uint32_t samples[2] = {0, 9};
    ops.upload = keep_upload;
    runner.ops = &ops;
    runner.facts.host_access_is_free = true;
    fake.answer = answer_uploaded;
    run_valid(&runner, "sweep copy f32 400000 1x1 vector 4 unroll 1", samples);
    expect_log("load sweep\nalloc 32772 at 1000\nalloc 800000 at 9100\n"
               "upload 262144 to 9100\nupload 137856 to 49100\nfill 400000 at 6ab80 with ff\n"
               "fill 32772 at 1000 with 0\nbegin\nlaunch sweep 1x1: 9100 0 6ab80 61a80 4 1000\n"
               "end\nwait 4.200000\n"
               "fill 32772 at 1000 with 0\nbegin\nlaunch sweep 1x1: 9100 0 6ab80 61a80 4 1000\n"
               "end\nwait 4.200000\n"
               "download 262144 from 6ab80\ndownload 137856 from aab80\nwait 4.200000\n"
               "download 32772 from 1000\n");
    assert_int_equal(samples[1], 1);
    static const uint64_t x[3] = {1, 0, 0};
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(((uint32_t *)(void *)uploaded)[i], fth_sweep_element(i, false, x));
    close_runner(&runner);
}

/* ---- copies, clusters and code ---- */

static void answer_copy(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    memset(data, 0x5a, bytes);
    ((unsigned char *)data)[bytes - 1] = 0;
}

#define TIMED_COPY                                                                                 \
    "launch pace 1x1: 500 9c40\nbegin\ncopy 100096 from 1000 to 19700\nend\nwait 3.001001\n"

/* The bytes are rounded up to 256. Both ends of the target are checked. */
static void copies_within_the_gpu_are_checked(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[4] = {0};
    fake.answer = answer_copy;
    run_valid(&runner, "transfer within 100000 repeats 2", samples);
    expect_log("alloc 200192 at 1000\nfill 100096 at 1000 with 5a\nfill 100096 at 19700 with "
               "a5\n" TIMED_COPY TIMED_COPY TIMED_COPY
               "download 65536 from 19700\ndownload 65536 from 21e00\n");
    assert_int_equal(samples[0], 1100);
    assert_int_equal(samples[1], 1200);
    assert_int_equal(samples[2], 2);
    samples[1] = 0;
    run_valid(&runner, "transfer within 1", samples);
    assert_non_null(strstr(fake.log, "copy 256 from 1000 to 1100\n"));
    assert_non_null(strstr(fake.log, "download 256 from 1100\ndownload 256 from 1100\n"));
    assert_int_equal(samples[1], 2);
    fake.log[0] = '\0';
    run_valid(&runner, "transfer to-device pinned 12", samples);
    expect_log("transfer 12\n");
    struct fth_error error = NO_ERROR;
    fake.transfer_status = FTH_UNSUPPORTED;
    assert_int_equal(run_request(&runner, "transfer to-peer 12", samples, &error), FTH_UNSUPPORTED);
    close_runner(&runner);
}

static void answer_numbers(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    for (uint32_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)data)[i] = 10 + i;
}

static void clusters_chase_in_shared_memory(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[5] = {0};
    fake.answer = answer_numbers;
    run_valid(&runner, "cluster 2 target 1 +64:16x7 step 10 passes 5; carveout 100", samples);
    /* The step is 10 modulo 7. Six passes of 7 hops take at most 10 us each. */
    expect_log("alloc 20 at 1000\nfill 20 at 1000 with 0\n"
               "launch cluster 2x1 cluster 2 shared 49152 carveout 100: 1 40 10 7 3 5 1000\n"
               "wait 3.000420\ndownload 20 from 1000\nfree 1000\n");
    assert_int_equal(samples[0], 10);
    assert_int_equal(samples[4], 14);
    runner.facts.block_shared_bytes = 0; /* not known */
    run_valid(&runner, "cluster 4 target 0 8x7", samples);
    expect_log("alloc 4 at 1100\nfill 4 at 1100 with 0\n"
               "launch cluster 4x1 cluster 4 shared 56: 0 0 8 7 1 1 1100\n"
               "wait 3.000140\ndownload 4 from 1100\nfree 1100\n");
    close_runner(&runner);
}

/* The second launch reaches the SM. */
static void answer_fetch(void *data, uint64_t address, uint64_t bytes)
{
    static unsigned launches;
    (void)address;
    if (bytes == 8)
        *(uint64_t *)data = 0x300; /* the address of the bank in the constant space */
    if (bytes > sizeof(struct fth_fetch_request)) {
        answer_numbers((struct fth_fetch_request *)data + 1, address,
                       bytes - sizeof(struct fth_fetch_request));
        launches++;
        ((struct fth_fetch_request *)data)->served = launches % 2 == 0;
    }
}

/* The request in memory: blocks of 64 instructions, passes, hops, %smid, two marks, the factor 1.0
 * and the summand, the first constant and the address of the samples. Six samples, 0, follow. */
#define FETCH_128 "2 2 4 4 0 0 3f800000 0 340 0 1030 0 0 0 0 0 0 0"

static void code_runs_on_the_requested_sm(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    uint32_t samples[6] = {0};
    fake.answer = answer_fetch;
    run_valid(&runner, "fetch 128 passes 2; time-hops constant 0+64:64x4; sm 2", samples);
    expect_log("alloc 72 at 1000\nsymbol bank\nlaunch origin 1x1: 1000\nwait 3.000296\n"
               "download 8 from 1000\nupload 65536 to b000\n"
               "upload 72 to 1000: " FETCH_128 "\n"
               "launch fetch 4x1: 1000\nwait 3.000296\ndownload 72 from 1000\n"
               "upload 72 to 1000: " FETCH_128 "\n"
               "launch fetch 4x1: 1000\nwait 3.000296\ndownload 72 from 1000\n");
    assert_int_equal(samples[0], 10);
    assert_int_equal(samples[5], 15);
    /* The constants stay in the bank, whose address is looked up only once. */
    run_valid(&runner, "fetch 128 passes 2; time-hops constant 0+64:64x4; sm 2", samples);
    assert_ptr_equal(strstr(fake.log, "upload 72 to 1000: " FETCH_128 "\nlaunch fetch"), fake.log);
    fake.log[0] = '\0';
    run_valid(&runner, "fetch 128 passes 2; time-hops constant 0+64:64x3; sm 2", samples);
    assert_ptr_equal(strstr(fake.log, "upload 65536 to b000\nupload 68 to 1000: "), fake.log);
    fake.log[0] = '\0';
    /* Without an SM, one block suffices; without constants, there is no bank. The memory is kept.
     */
    run_valid(&runner, "fetch 64; carveout 50", samples);
    assert_ptr_equal(strstr(fake.log,
                            "upload 52 to 1000: 1 1 0 ffffffff 0 0 3f800000 0 0 0 1030 0 0\n"
                            "launch fetch 1x1 carveout 50: 1000\nwait 3.000064\n"
                            "download 52 from 1000\n"),
                     fake.log);
    fake.answer = NULL;
    fake.log[0] = '\0';
    struct fth_error error = NO_ERROR;
    assert_int_equal(run_request(&runner, "fetch 64; sm 0", samples, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "the GPU placed no block on the requested SM");
    unsigned launches = 0;
    for (const char *at = fake.log; (at = strstr(at, "launch fetch")); at++)
        launches++;
    assert_int_equal(launches, 8);
    fake.log[0] = '\0';
    close_runner(&runner);
    assert_non_null(strstr(fake.log, "free 1000\n"));
}

/* ---- failures ---- */

static void answer_served(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    memset(data, 1, bytes);
}

/* Whichever operation of the machine fails, the request fails in the same way, and everything that
 * was allocated is freed. Only allocations are tried again, after old memory was freed. */
static void every_operation_can_fail(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "stream read cg 65536 2x64x4 passes 8",
        "stream copy cg 65536 2x64x4; cold",
        "stream read texture 4096 each 1x64x4",
        "operate add.s32 chains 8 rounds 1 threads 32 sms 3",
        "sweep triad f64 8192 4x64 vector 16 unroll 4 repeats 2",
        "sweep copy f32 4096 1x32 vector 4 unroll 1 repeats 2; cold",
        "sweep read f32 4096 1x32 vector 4 unroll 1",
        "cluster 2 target 1 8x7",
        "fetch 128 passes 2; time-hops constant 0+64:64x4",
        "transfer within 100000 repeats 2",
        "transfer to-device pinned 12",
    };
    for (size_t i = 0; i < 2 * FTH_COUNT(texts); i++) {
        bool failed = true;
        for (unsigned number = 1; failed; number++) {
            struct fth_runner runner = fake_runner();
            struct fth_error error = NO_ERROR;
            uint32_t samples[8] = {0};
            /* In the second half, access to the memory of the GPU is free. */
            runner.facts.host_access_is_free = i >= FTH_COUNT(texts);
            fake.fails_at = number;
            fake.answer = answer_served;
            const enum fth_status status =
                run_request(&runner, texts[i % FTH_COUNT(texts)], samples, &error);
            failed = fake.failed != NULL;
            const bool retried = failed && strcmp(fake.failed, "alloc") == 0 && status == FTH_OK;
            if (status != (failed && !retried ? FTH_IO : FTH_OK) || error.status != status)
                fail_msg("%s: operation %u (%s): status %d", texts[i % FTH_COUNT(texts)], number,
                         failed ? fake.failed : "none", (int)status);
            close_runner(&runner);
            fth_runner_free_flush(&runner);
            assert_int_equal(fake.live, 0);
        }
    }
}

/* ---- memory ---- */

static void pools_keep_old_memory(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    struct fth_pool pool = {0};
    assert_int_equal(fth_pool_grow(&runner, &pool, 1000, NULL), FTH_OK);
    assert_int_equal(fth_pool_grow(&runner, &pool, 1000, NULL), FTH_OK);
    assert_int_equal(fth_pool_grow(&runner, &pool, 1001, NULL), FTH_OK);
    expect_log("alloc 1000 at 1000\nalloc 1001 at 1400\n");
    /* Pieces are aligned to 256 bytes. One that does not fit begins again at the start. */
    assert_int_equal(fth_pool_take(&pool, 300), 0x1400);
    assert_int_equal(fth_pool_take(&pool, 256), 0x1600);
    assert_int_equal(fth_pool_take(&pool, 233), 0x1700);
    assert_int_equal(fth_pool_take(&pool, 1), 0x1400);
    assert_int_equal(fth_pool_take(&pool, 746), 0x1400);
    assert_int_equal(fth_pool_cold_bytes(&runner, 100), 200 + 5 * 1048576);
    /* All old memory is freed when there is no space to remember more of it. */
    for (size_t i = 1; i < FTH_COUNT(pool.old); i++)
        assert_int_equal(fth_pool_grow(&runner, &pool, 1001 + i, NULL), FTH_OK);
    assert_int_equal(pool.old_count, FTH_COUNT(pool.old));
    assert_null(strstr(fake.log, "free"));
    assert_int_equal(fth_pool_grow(&runner, &pool, 2000, NULL), FTH_OK);
    assert_int_equal(pool.old_count, 1);
    assert_non_null(strstr(fake.log, "free 1000\n"));
    fake.log[0] = '\0';
    /* Without enough memory, the old memory is freed first. */
    struct fth_error error = NO_ERROR;
    const uint64_t last = pool.address;
    char expected[200];
    fake.max_bytes = 3000;
    assert_int_equal(fth_pool_grow(&runner, &pool, 4000, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "4000 bytes");
    snprintf(expected, sizeof expected, "no 4000\nfree %llx\nfree %llx\nno 4000\n", full(last),
             full(last - 0x400));
    expect_log(expected);
    assert_int_equal(pool.address | pool.bytes | pool.next | pool.old_count, 0);
    fth_pool_release(&runner, &pool);
    expect_log("");
    /* On a simulated GPU with enough memory, it is the host that has none. */
    runner.facts.host_access_is_free = true;
    fake.free_bytes = 3999;
    assert_int_equal(fth_pool_grow(&runner, &pool, 4000, NULL), FTH_UNAVAILABLE);
    fake.free_bytes = 4000;
    assert_int_equal(fth_pool_grow(&runner, &pool, 4000, NULL), FTH_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_stream_reads_its_array_before),
        cmocka_unit_test(a_cold_stream_uses_other_memory),
        cmocka_unit_test(a_stream_per_block_has_its_own_arrays),
        cmocka_unit_test(operations_are_timed_per_block),
        cmocka_unit_test(several_blocks_per_sm_count_together),
        cmocka_unit_test(sweeps_check_their_results),
        cmocka_unit_test(cold_sweeps_flush_the_l2),
        cmocka_unit_test(reads_are_checked_by_their_sum),
        cmocka_unit_test(the_host_checks_sweeps_of_simulated_gpus),
        cmocka_unit_test(clusters_chase_in_shared_memory),
        cmocka_unit_test(code_runs_on_the_requested_sm),
        cmocka_unit_test(every_operation_can_fail),
        cmocka_unit_test(pools_keep_old_memory),
        cmocka_unit_test(copies_within_the_gpu_are_checked),
    };
    return cmocka_run_group_tests_name("family_runs", tests, NULL, NULL);
}
