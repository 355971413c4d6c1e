/* Tests of the launches that the chase family (device/chase/) asks a machine for, and of the clock
 * and the census of runner.c. The machine executes nothing (fake_machine.h). */
#include "device/chase/chase.h"
#include "fake_machine.h"

/* ---- launches of chases, on a machine that executes nothing ---- */

/* What was uploaded last: the tables that are indexed by %smid, the requests, and the constants. */
static uint32_t tables[2][FTH_MAX_SMS];
static struct fth_chase_request uploaded[4];
static uint64_t constants[FTH_BANK_BYTES / 8];

static enum fth_status keep_upload(void *machine, uint64_t address, const void *data,
                                   uint64_t bytes, struct fth_error *error)
{
    if (bytes == sizeof constants)
        memcpy(constants, data, bytes);
    else
        memcpy(tables, data, sizeof tables);
    if (bytes != sizeof constants)
        memcpy(uploaded, (const char *)data + sizeof tables,
               FTH_MIN(bytes - sizeof tables, sizeof uploaded));
    return fake_upload(machine, address, data, bytes, error);
}

/* In the first launch, the second of three requests finds no block on its SM. */
static void answer_chases(void *data, uint64_t address, uint64_t bytes)
{
    static const uint32_t marks[2][4] = {{5, 0, 3}, {5, 1, 3}};
    const bool first = !strstr(fake.log, "download 84 from 4bc0\nupload");
    (void)address;
    memcpy(data, marks[first ? 0 : 1], sizeof marks[0]);
    for (uint32_t i = 4; i < bytes / 4; i++)
        ((uint32_t *)data)[i] = 6 + i;
}

static void answer_served(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    memset(data, 1, bytes);
}

enum { MAX_JOBS = 4 };

/* A batch of requests on a runner with the fake machine. */
struct batch {
    struct fth_machine_ops ops;
    struct fth_runner runner;
    struct fth_request requests[MAX_JOBS];
    struct fth_job jobs[MAX_JOBS];
    struct fth_samples samples[MAX_JOBS];
    size_t count;
};

static void batch_init(struct batch *batch)
{
    *batch = (struct batch){.runner = fake_runner(), .ops = fake_ops};
    batch->ops.upload = keep_upload;
    batch->runner.ops = &batch->ops;
    struct fth_family_slot *slot = &batch->runner.slots[FTH_FAMILY_CHASE];
    assert_int_equal(fth_family_of(FTH_FAMILY_CHASE)->open(&batch->runner, &slot->state, NULL),
                     FTH_OK);
}

/* Executes the requests, all in one group if they can share a launch. */
static void batch_run(struct batch *batch, const char *const *texts, size_t count)
{
    struct fth_error error = NO_ERROR;
    batch->count = count;
    for (size_t i = 0; i < count; i++) {
        struct fth_job *job = &batch->jobs[i];
        *job = (struct fth_job){.samples = &batch->samples[i]};
        if (fth_request_read(texts[i], strlen(texts[i]), &batch->requests[i], &error) != FTH_OK ||
            fth_request_lower(&batch->runner, &batch->requests[i], &job->lowered, &error) != FTH_OK)
            fail_msg("%s: %s", texts[i], error.cause);
    }
    struct fth_family_slot *slot = &batch->runner.slots[FTH_FAMILY_CHASE];
    if (fth_family_of(FTH_FAMILY_CHASE)
            ->run_together(&batch->runner, slot, batch->jobs, count, &error) != FTH_OK)
        fail_msg("%s", error.cause);
}

static void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        fth_samples_fini(&batch->samples[i]);
    batch->count = 0;
}

static void batch_fini(struct batch *batch)
{
    batch_clear(batch);
    fth_family_of(FTH_FAMILY_CHASE)
        ->release(&batch->runner, batch->runner.slots[FTH_FAMILY_CHASE].state);
}

static void check_step(const struct fth_chase_step *step, const struct fth_chase_step *expected)
{
    assert_memory_equal(step, expected, sizeof *step);
}

/* The tables of the second launch, and the requests. */
static void check_uploads(void)
{
    /* The second launch is only for the second request, on the SM with %smid 0. */
    for (size_t i = 0; i < FTH_MAX_SMS; i++)
        assert_int_equal(tables[0][i] | tables[1][i], i == 0 ? 2 : 0);
    assert_int_equal(uploaded[0].steps, 1);
    assert_int_equal(uploaded[0].served, 0x4bc0);
    check_step(&uploaded[0].step[0], &(struct fth_chase_step){.kind = FTH_CHASE_HOPS,
                                                              .path = FTH_PATH_CA,
                                                              .passes = 1,
                                                              .first = 0x1000,
                                                              .count = 4,
                                                              .samples = 0x4bd0});
    assert_int_equal(uploaded[1].steps, 2);
    assert_int_equal(uploaded[1].served, 0x4bc4);
    check_step(&uploaded[1].step[0], &(struct fth_chase_step){.kind = FTH_CHASE_WALK,
                                                              .path = FTH_PATH_CG,
                                                              .passes = 2,
                                                              .first = 0x1500,
                                                              .count = 3,
                                                              .samples = 0x4be0});
    check_step(&uploaded[1].step[1], &(struct fth_chase_step){.kind = FTH_CHASE_PASSES,
                                                              .path = FTH_PATH_CG,
                                                              .passes = 5,
                                                              .first = 0x1500,
                                                              .count = 3,
                                                              .samples = 0x4be0});
    check_step(&uploaded[2].step[0], &(struct fth_chase_step){.kind = FTH_CHASE_HOPS,
                                                              .path = FTH_PATH_TEXTURE,
                                                              .passes = 1,
                                                              .count = 8,
                                                              .samples = 0x4bf4,
                                                              .texture_or_stride = 77});
}

/* Each chain has its own array: 512 bytes at 0x1000, 1 KiB at 0x1400, and a texture at 0x1c00. The
 * tables at 0x1f00 are followed by three requests of 1,088 bytes, their marks and their samples. */
static void requests_of_a_group_run_on_different_sms(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "time-hops ca 0:128x4; sm 2",
        "walk cg 1+256:256x3 passes 2; time-pass cg 1+256:256x3 passes 5",
        "time-hops texture 2:16x8",
    };
    struct batch batch;
    batch_init(&batch);
    fake.answer = answer_chases;
    batch_run(&batch, texts, 3);
    expect_log("alloc 1024 at 1000\nalloc 2048 at 1400\nalloc 640 at 1c00\n"
               "texture of 32 at 1c00\nalloc 11540 at 1f00\n"
               "launch build 1x256: 1000 1000 80 4 1 8 0\n"
               "launch build 1x256: 1500 1400 100 3 1 8 0\n"
               "launch build 1x256: 1c00 1c00 10 8 1 4 0\n"
               "upload 11540 to 1f00\nlaunch chase 4x32: 1f00 2f00 3f00\nwait 3.000330\n"
               "download 84 from 4bc0\n"
               "upload 8192 to 1f00\nlaunch chase 4x32: 1f00 2f00 3f00\nwait 3.000330\n"
               "download 84 from 4bc0\n");
    check_uploads();
    static const struct {
        uint32_t sm, count, first;
    } answers[] = {{4, 4, 10}, {0, 5, 14}, {2, 8, 19}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(batch.samples[i].status, FTH_OK);
        assert_int_equal(batch.samples[i].sm, answers[i].sm);
        assert_int_equal(batch.samples[i].count, answers[i].count);
        for (uint32_t k = 0; k < answers[i].count; k++)
            assert_int_equal(batch.samples[i].cycles[k], answers[i].first + k);
    }
    batch_clear(&batch);
    /* The next request takes the next SM, and the chain that is there already. */
    static const char *const again[] = {"time-hops ca 0+128:128x3"};
    fake.answer = answer_served;
    batch_run(&batch, again, 1);
    expect_log("upload 9300 to 1f00\nlaunch chase 4x32: 1f00 2f00 3f00\nwait 3.000030\n"
               "download 20 from 4340\n");
    assert_int_equal(tables[0][4], 1);
    assert_int_equal(uploaded[0].step[0].first, 0x1080);
    batch_clear(&batch);
    /* More than 16 KiB of samples are cleared on the GPU instead of being part of the upload. */
    batch_run(&batch, (const char *const[]){"time-hops ca 0:128x4 passes 2000"}, 1);
    expect_log("free 1f00\nalloc 41288 at 4d00\nfill 32000 at 7148 with 0\nupload 9288 to 4d00\n"
               "launch chase 4x32: 4d00 5d00 6d00\nwait 3.080000\ndownload 32008 from 7140\n");
    batch_fini(&batch);
    expect_log("free 1000\nfree 1400\nfree texture 77\nfree 1c00\nfree 4d00\n");
}

/* The kernel builds chains in shared memory itself. The bank of constants is uploaded. */
static void shared_memory_and_constants_need_no_array(void **state)
{
    (void)state;
    static const char *const texts[] = {"walk shared 0+64:16x5 step 7 warp 1; "
                                        "time-hops constant 1+64:16x5 step 2; carveout 50"};
    struct batch batch;
    batch_init(&batch);
    fake.answer = answer_served;
    batch_run(&batch, texts, 1);
    expect_log("alloc 9308 at 1000\nupload 65536 to a000\nupload 9308 to 1000\n"
               "launch chase 4x1024 shared 144 carveout 50: 1000 2000 3000\nwait 3.000100\n"
               "download 28 from 3440\n");
    assert_int_equal(uploaded[0].steps, 3);
    check_step(&uploaded[0].step[0], &(struct fth_chase_step){.kind = FTH_CHASE_BUILD_SHARED,
                                                              .warp = 1,
                                                              .passes = 1,
                                                              .first = 64,
                                                              .count = 5,
                                                              .texture_or_stride = 16,
                                                              .step = 2});
    check_step(&uploaded[0].step[1], &(struct fth_chase_step){.kind = FTH_CHASE_WALK,
                                                              .path = FTH_PATH_SHARED,
                                                              .warp = 1,
                                                              .passes = 1,
                                                              .first = 64,
                                                              .count = 5,
                                                              .samples = 0x3448});
    assert_int_equal(uploaded[0].step[2].first, 0x40 + 64); /* the bank begins at 0x40 */
    /* Elements 0, 2, 4, 1, 3 follow each other. The back links lead to the back links. */
    static const uint64_t next[] = {2, 3, 4, 0, 1}, before[] = {3, 4, 0, 1, 2};
    for (size_t i = 0; i < FTH_COUNT(constants); i++) {
        const size_t element = i >= 8 && i < 18 ? (i - 8) / 2 : 0;
        const uint64_t start = 0x40 + 64;
        assert_int_equal(constants[i], i < 8 || i >= 18 ? 0
                                       : i % 2 == 0     ? start + 16 * next[element]
                                                        : start + 16 * before[element] + 8);
    }
    batch_fini(&batch);
    /* Chains in memory order are not closed. Small strides have no space for back links. */
    uint64_t bank[8] = {0};
    fth_chase_build_constants(&(struct fth_chain){.start_bytes = 8, .stride_bytes = 8, .count = 3},
                              0x100, bank);
    const uint64_t expected[8] = {0, 0x110, 0x118, 0x120};
    assert_memory_equal(bank, expected, sizeof bank);
}

/* A cold request is alone, and the L2 is flushed before it. The array has a header of 128 KiB, at
 * whose end the control data is. */
static void control_data_is_in_the_header_of_an_array(void **state)
{
    (void)state;
    static const char *const texts[] = {"time-hops cg 8:4096x4; cold", "time-hops cg 8:4096x4"};
    struct batch batch;
    batch_init(&batch);
    fake.answer = answer_served;
    batch_run(&batch, texts, 2);
    expect_log("alloc 163840 at 1000\nlaunch build 1x256: 24000 24000 1000 4 1 8 0\n"
               "upload 9304 to 21b00\n"
               "alloc 4194304 at 29000\nlaunch flush 8x1024: 29000 400000 500\n"
               "launch chase 4x32: 21b00 22b00 23b00\nwait 3.000040\ndownload 24 from 23f40\n");
    assert_true(batch.jobs[0].done && !batch.jobs[1].done);
    batch_fini(&batch);
    fth_runner_free_flush(&batch.runner);
}

static void an_unreachable_sm_is_reported(void **state)
{
    (void)state;
    static const char *const texts[] = {"time-hops cg 0:128x4; sm 3"};
    struct batch batch;
    batch_init(&batch);
    batch_run(&batch, texts, 1);
    unsigned launches = 0;
    for (const char *at = fake.log; (at = strstr(at, "launch chase")); at++)
        launches++;
    assert_int_equal(launches, 8);
    assert_int_equal(batch.samples[0].status, FTH_UNAVAILABLE);
    assert_string_equal(batch.samples[0].cause, "the GPU placed no block on the SM of the request");
    assert_int_equal(tables[0][6], 1);
    batch_fini(&batch);
}

/* After a launch, arrays of more than a quarter of the memory are freed. */
static void large_arrays_are_freed(void **state)
{
    (void)state;
    static const char *const texts[] = {"time-hops cg 0:128x8"};
    for (int large = 0; large < 2; large++) {
        struct batch batch;
        batch_init(&batch);
        fake.answer = answer_served;
        batch.runner.facts.memory_bytes = large ? 4 * 1024 - 4 : 4 * 1024;
        batch_run(&batch, texts, 1);
        assert_int_equal(strstr(fake.log, "free 1000\n") != NULL, large);
        batch_fini(&batch);
    }
}

/* Which requests share a launch. */
static void requests_share_a_launch_if_nothing_differs(void **state)
{
    (void)state;
    static const struct {
        const char *texts[2];
        bool together;
    } rows[] = {
        {{"time-hops cg 0:128x4", "time-hops ca 1:64x4"}, true},
        {{"time-hops cg 0:128x4; sm 1", "time-hops ca 1:64x4; sm 2"}, true},
        {{"time-hops cg 0:128x4; sm 1", "time-hops ca 1:64x4; sm 1"}, false},
        {{"time-hops cg 0:128x4", "time-hops cg 0:128x4; carveout 0"}, false},
        {{"time-hops cg 0:128x4; carveout 0", "time-hops cg 1:128x4; carveout 0"}, true},
        {{"time-hops cg 0:128x4", "time-hops cg 0:128x4; alone"}, false},
        {{"time-hops cg 0:128x4; alone", "time-hops cg 0:128x4"}, false},
        {{"time-hops shared 0:8x4", "time-hops shared 0:8x5"}, false},
        {{"time-hops shared 0:8x4", "time-hops shared 0:16x2"}, true},
        {{"time-hops shared 0:8x4", "time-hops cg 0:8x4"}, false},
        {{"time-hops constant 0:64x4", "time-hops constant 1:64x8"}, true},
        {{"time-hops constant 0:64x4", "time-hops constant 1:32x8"}, false},
        {{"time-hops constant 0:64x4", "time-hops constant 0+128:64x4"}, true},
        {{"time-hops constant 0:64x4", "time-hops constant 0+32:64x4"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0:64x5 step 2"}, true},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0:64x5 step 3"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0:64x5"}, false},
        {{"time-hops constant 0:64x5", "time-hops constant 0:64x5 step 2"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0:64x7 step 2"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0+64:64x5 step 2"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops constant 0:32x5 step 2"}, false},
        {{"time-hops constant 0:64x5 step 2", "time-hops cg 0:64x5"}, true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct batch batch;
        batch_init(&batch);
        fake.answer = answer_served;
        batch_run(&batch, rows[i].texts, 2);
        assert_true(batch.jobs[0].done);
        if (batch.jobs[1].done != rows[i].together)
            fail_msg("row %zu", i);
        batch_fini(&batch);
    }
}

/* Fails unless the log begins with this text. */
static void check_begin(const char *text)
{
    assert_memory_equal(fake.log, text, strlen(text));
}

/* Arrays of 1 GiB and more share one allocation, which is larger than needed. Building one chain
 * overwrites the others. */
static void huge_arrays_share_their_memory(void **state)
{
    (void)state;
    static const char *const first[] = {"time-hops cg 0:1048576x1024"},
                             *const second[] = {"time-hops cg 1:1048576x1024"},
                             *const larger[] = {"time-hops cg 2:1048576x3072"};
    static const char built[] = "launch build 4x256: 200000 200000 100000 400 1 8 0\n";
    struct batch batch;
    batch_init(&batch);
    fake.answer = answer_served;
    batch_run(&batch, first, 1);
    check_begin("alloc 3221225472 at 1000\nalloc 13384 at c0001000\n");
    assert_non_null(strstr(fake.log, built));
    static const char *const *const sequence[] = {first, second, second, first};
    static const bool builds[] = {false, true, false, true};
    for (size_t i = 0; i < FTH_COUNT(sequence); i++) {
        batch_clear(&batch);
        fake.log[0] = '\0';
        batch_run(&batch, sequence[i], 1);
        assert_int_equal(strstr(fake.log, built) != NULL, builds[i]);
        assert_null(strstr(fake.log, "alloc"));
    }
    /* A larger array replaces the memory. If there is not more, it has exactly the size. */
    batch_clear(&batch);
    fake.log[0] = '\0';
    fake.max_bytes = (UINT64_C(3) << 30) + (1 << 21);
    batch_run(&batch, larger, 1);
    check_begin("free 1000\nno 5368709120\nalloc 3223322624 at ");
    batch_clear(&batch);
    fake.log[0] = '\0';
    batch_run(&batch, first, 1); /* its chain is lost */
    assert_non_null(strstr(fake.log, "launch build 4x256: "));
    /* Without enough memory, the request fails. */
    batch_clear(&batch);
    fake.max_bytes = 1 << 20;
    static const char *const most[] = {"time-hops cg 3:1048576x9000"};
    batch_run(&batch, most, 1);
    assert_int_equal(batch.samples[0].status, FTH_UNAVAILABLE);
    assert_string_equal(batch.samples[0].cause, "9439281152 bytes");
    batch_fini(&batch);
}

/* Requests whose arrays do not fit next to those of the group wait for a later launch. */
static void arrays_that_do_not_fit_wait(void **state)
{
    (void)state;
    static const char *const texts[] = {"time-hops cg 0:128x8", "time-hops cg 1:128x80",
                                        "time-hops cg 2:128x8"};
    struct batch batch;
    batch_init(&batch);
    fake.answer = answer_served;
    fake.max_bytes = 16384; /* the control data needs 12,000 */
    batch_run(&batch, texts, 3);
    assert_true(batch.jobs[0].done && !batch.jobs[1].done && batch.jobs[2].done);
    assert_int_equal(batch.samples[0].status, FTH_OK);
    batch_fini(&batch);
}

/* Whichever operation of the machine fails, the batch fails in the same way, and everything that
 * was allocated is freed. */
static void every_operation_can_fail(void **state)
{
    (void)state;
    static const char *const texts[][3] = {
        {"time-hops ca 0:128x4; sm 2", "walk cg 1:256x3; time-pass cg 1:256x3",
         "time-hops texture 2:16x8"},
        {"walk shared 0:16x5; time-hops constant 1:16x5"},
        {"walk cg 8:4096x4; touch cg 8:64x4; time-hops cg 8:4096x4; cold"},
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        bool failed = true;
        for (unsigned number = 1; failed; number++) {
            struct batch batch;
            struct fth_error error = NO_ERROR;
            size_t count = 0;
            batch_init(&batch);
            fake.answer = answer_served;
            for (; count < 3 && texts[i][count]; count++) {
                struct fth_job *job = &batch.jobs[count];
                *job = (struct fth_job){.samples = &batch.samples[count]};
                assert_int_equal(fth_request_read(texts[i][count], strlen(texts[i][count]),
                                                  &batch.requests[count], NULL),
                                 FTH_OK);
                assert_int_equal(
                    fth_request_lower(&batch.runner, &batch.requests[count], &job->lowered, NULL),
                    FTH_OK);
            }
            batch.count = count;
            fake.fails_at = number;
            const enum fth_status status =
                fth_family_of(FTH_FAMILY_CHASE)
                    ->run_together(&batch.runner, &batch.runner.slots[FTH_FAMILY_CHASE], batch.jobs,
                                   count, &error);
            failed = fake.failed != NULL;
            if (status != (failed ? FTH_IO : FTH_OK) || error.status != status)
                fail_msg("row %zu: operation %u (%s): status %d", i, number,
                         failed ? fake.failed : "none", (int)status);
            batch_fini(&batch);
            fth_runner_free_flush(&batch.runner);
            assert_int_equal(fake.live, 0);
        }
    }
    for (unsigned number = 1; number <= 5; number++) { /* the same for the clock and the census */
        struct fth_runner runner = fake_runner();
        double mhz = 0;
        fake.fails_at = number;
        assert_int_equal(fth_runner_check_clock(&runner, 2000000, &mhz, NULL),
                         number < 4 ? FTH_IO : FTH_OK);
        runner = fake_runner();
        fake.fails_at = number;
        assert_int_equal(fth_runner_warm_up(&runner, NULL), FTH_IO);
        runner = fake_runner();
        fake.fails_at = number;
        fake.answer = answer_served;
        runner.sm_count = 0;
        assert_int_equal(fth_runner_find_sms(&runner, NULL), FTH_IO);
        free(runner.sms);
    }
}

/* ---- the clock ---- */

static struct {
    uint64_t mhz[4]; /* of each measurement; the last one repeats */
    size_t count;
    char message[200];
} pace;

/* The kernel `pace` stores cycles and nanoseconds before and after 1,000 ns. */
static void answer_pace(void *data, uint64_t address, uint64_t bytes)
{
    assert_int_equal(address, 0x500);
    assert_int_equal(bytes, 32);
    const uint64_t mhz = pace.mhz[pace.count < 3 ? pace.count : 3];
    const uint64_t stamps[] = {700, 5000, 700 + mhz, mhz ? 6000 : 5000};
    pace.count++;
    memcpy(data, stamps, sizeof stamps);
}

static void keep_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    assert_int_equal(level, FTH_LOG_WARNING);
    snprintf(pace.message, sizeof pace.message, "%s", text);
}

static void the_clock_is_measured_until_it_settles(void **state)
{
    (void)state;
    static const struct {
        uint64_t mhz[4];
        bool steady;
        size_t count;
        double result;
    } rows[] = {
        {{1000, 1000, 1, 1}, false, 2, 1000},       {{1000, 1500, 1503, 1503}, false, 3, 1503},
        {{1000, 1500, 1504, 1504}, false, 4, 1504}, {{1000, 1, 1, 1}, true, 1, 1000},
        {{0, 1000, 1001, 1}, false, 3, 1001},
    };
    const struct fth_log log = {.message = keep_message};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_runner runner = fake_runner();
        runner.log = &log;
        runner.facts.steady_clock = rows[i].steady;
        fake.answer = answer_pace;
        memset(&pace, 0, sizeof pace);
        memcpy(pace.mhz, rows[i].mhz, sizeof pace.mhz);
        assert_int_equal(fth_runner_warm_up(&runner, NULL), FTH_OK);
        assert_int_equal(pace.count, rows[i].count);
        assert_true(runner.clock_mhz == rows[i].result);
        assert_string_equal(pace.message, "");
        assert_non_null(strstr(fake.log, "launch pace 1x1: 500 30d40\nwait 3.000000\n"));
    }
}

static void a_change_of_the_clock_is_reported(void **state)
{
    (void)state;
    static const struct {
        uint64_t after;
        bool steady;
        double mean;
        const char *message;
    } rows[] = {
        {1010, false, 1005, ""},
        {990, false, 995, ""},
        {1011, false, 1005.5,
         "the GPU's clock changed from 1000 to 1011 MHz during the measurement"},
        {989, false, 994.5, "the GPU's clock changed from 1000 to 989 MHz during the measurement"},
        {500, true, 1000, ""},
    };
    const struct fth_log log = {.message = keep_message};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_runner runner = fake_runner();
        double mean = 0;
        runner.log = &log;
        runner.clock_mhz = 1000;
        runner.facts.steady_clock = rows[i].steady;
        fake.answer = answer_pace;
        memset(&pace, 0, sizeof pace);
        pace.mhz[0] = rows[i].after;
        assert_int_equal(fth_runner_check_clock(&runner, 2000000, &mean, NULL), FTH_OK);
        assert_true(mean == rows[i].mean);
        assert_string_equal(pace.message, rows[i].message);
        expect_log(rows[i].steady ? ""
                                  : "launch pace 1x1: 500 c350\nwait 3.000000\n"
                                    "download 32 from 500\n");
    }
}

/* The kernel `census` writes a word for each %smid, and then the address of the bank. */
static void answer_census(void *data, uint64_t address, uint64_t bytes)
{
    uint32_t *words = data;
    (void)address;
    if (bytes == 8)
        words[0] = 0x123;
    else
        words[0] = words[7] = words[1023] = 1;
}

static void the_census_finds_the_sms(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    runner.sm_count = 0;
    fake.answer = answer_census;
    assert_int_equal(fth_runner_find_sms(&runner, NULL), FTH_OK);
    expect_log("fill 4104 at 500 with 0\nlaunch census 32x256: 500 1500\nwait 3.000000\n"
               "download 4096 from 500\ndownload 8 from 1500\n");
    assert_int_equal(runner.sm_count, 3);
    assert_int_equal(runner.sms[0], 0);
    assert_int_equal(runner.sms[1], 7);
    assert_int_equal(runner.sms[2], 1023);
    assert_int_equal(runner.bank_origin, 0x123);
    free(runner.sms);
    struct fth_error error = NO_ERROR;
    runner = fake_runner();
    runner.sm_count = 0;
    assert_int_equal(fth_runner_find_sms(&runner, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "the first launch executed no block");
    free(runner.sms);
}

/* ---- the whole device ---- */

static void fake_facts(void *machine, struct fth_machine_facts *facts)
{
    (void)machine;
    *facts = (struct fth_machine_facts){
        .sms = 4, .capability = 90, .block_shared_bytes = 49152, .steady_clock = true};
}

static void fake_close(void *machine)
{
    (void)machine;
    fake_log("close\n");
}

/* The census finds SM 0, and every request is served. */
static void answer_all(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    memset(data, 0, bytes);
    for (uint64_t i = 0; bytes != 4096 && i < bytes; i += 4)
        memset((char *)data + i, (int)(1 + i / 4), 1);
    *(char *)data = 1;
}

static enum fth_status open_fake(struct fth_machine_ops *ops, struct fth_device **device,
                                 unsigned fails_at, struct fth_error *error)
{
    (void)fake_runner(); /* resets the machine */
    *ops = fake_ops;
    ops->facts = fake_facts;
    ops->close = fake_close;
    fake.answer = answer_all;
    fake.fails_at = fails_at;
    return fth_runner_device("fake:0", ops, NULL, NULL, device, error);
}

static void opening_a_device_can_fail(void **state)
{
    (void)state;
    bool failed = true;
    for (unsigned number = 1; failed; number++) {
        struct fth_machine_ops ops;
        struct fth_device *device = NULL;
        const enum fth_status status = open_fake(&ops, &device, number, NULL);
        failed = fake.failed != NULL;
        assert_int_equal(status, failed ? FTH_IO : FTH_OK);
        assert_int_equal(device != NULL, !failed);
        fth_device_close(device);
        assert_int_equal(fake.live, 0);
        assert_non_null(strstr(fake.log, "close\n"));
    }
}

/* A request that the GPU cannot execute does not end the batch; another failure does. */
static void failures_end_the_batch_or_not(void **state)
{
    (void)state;
    static const char *const texts[] = {"transfer to-device pinned 12",
                                        "time-hops cg 0:128x4; sm 7",
                                        "cluster 2 target 1 8x7 passes 2", "time-hops cg 0:128x4"};
    enum { COUNT = sizeof texts / sizeof *texts };
    static const struct {
        enum fth_status transfer, status, statuses[COUNT];
    } rows[] = {
        {FTH_OK, FTH_OK, {FTH_OK, FTH_NOT_FOUND, FTH_OK, FTH_OK}},
        {FTH_UNSUPPORTED, FTH_OK, {FTH_UNSUPPORTED, FTH_NOT_FOUND, FTH_OK, FTH_OK}},
        {FTH_UNAVAILABLE, FTH_OK, {FTH_UNAVAILABLE, FTH_NOT_FOUND, FTH_OK, FTH_OK}},
        {FTH_IO, FTH_IO, {FTH_IO, FTH_NOT_FOUND, FTH_UNAVAILABLE, FTH_UNAVAILABLE}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_machine_ops ops;
        struct fth_device *device = NULL;
        struct fth_request requests[COUNT];
        struct fth_samples samples[COUNT];
        assert_int_equal(open_fake(&ops, &device, 0, NULL), FTH_OK);
        fake.transfer_status = rows[i].transfer;
        for (size_t k = 0; k < COUNT; k++)
            assert_int_equal(fth_request_read(texts[k], strlen(texts[k]), &requests[k], NULL),
                             FTH_OK);
        const enum fth_status status = fth_device_measure(device, requests, COUNT, samples, NULL);
        assert_int_equal(status, rows[i].status);
        for (size_t k = 0; k < COUNT; k++) {
            if (samples[k].status != rows[i].statuses[k])
                fail_msg("row %zu, request %zu: %d: %s", i, k, (int)samples[k].status,
                         samples[k].cause);
            assert_int_equal(samples[k].cause[0] == '\0', samples[k].status == FTH_OK);
            assert_int_equal(samples[k].count > 0, samples[k].status == FTH_OK);
            fth_samples_fini(&samples[k]);
        }
        if (status == FTH_OK)
            assert_non_null(strstr(fake.log, "launch cluster 2x1 cluster 2"));
        fth_device_close(device);
        assert_int_equal(fake.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_a_group_run_on_different_sms),
        cmocka_unit_test(shared_memory_and_constants_need_no_array),
        cmocka_unit_test(control_data_is_in_the_header_of_an_array),
        cmocka_unit_test(an_unreachable_sm_is_reported),
        cmocka_unit_test(large_arrays_are_freed),
        cmocka_unit_test(requests_share_a_launch_if_nothing_differs),
        cmocka_unit_test(huge_arrays_share_their_memory),
        cmocka_unit_test(arrays_that_do_not_fit_wait),
        cmocka_unit_test(every_operation_can_fail),
        cmocka_unit_test(the_clock_is_measured_until_it_settles),
        cmocka_unit_test(a_change_of_the_clock_is_reported),
        cmocka_unit_test(the_census_finds_the_sms),
        cmocka_unit_test(opening_a_device_can_fail),
        cmocka_unit_test(failures_end_the_batch_or_not),
    };
    return cmocka_run_group_tests_name("chase_runs", tests, NULL, NULL);
}
