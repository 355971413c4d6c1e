/* Tests of recording and replay (device/recording_device.c, replay_device.c). A fake device returns
 * random answers. A replay must return the same answers. */
#include "fake_device.h"

/* ---- recording and replaying ---- */

enum { BATCH = 5, BATCHES = 60 };

static void replay_returns_the_recorded_answers(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 1, "round.rec");
    struct fth_rng rng;
    fth_rng_init(&rng, 2);
    static struct fth_request requests[BATCHES][BATCH];
    static struct fth_samples answers[BATCHES][BATCH];
    struct fth_error error = NO_ERROR;
    for (size_t i = 0; i < BATCHES; i++) {
        for (size_t j = 0; j < BATCH; j++)
            requests[i][j] = i % 3 == 2 && j % 2 ? requests[i - 1][j] : random_request(&rng);
        assert_int_equal(ask(&f.device, requests[i], BATCH, answers[i], &error), FTH_OK);
    }
    end_recording(&f);

    struct fth_device *device = open_replay("round.rec");
    assert_string_equal(device->id, "replay:round.rec");
    for (size_t i = 0; i < BATCHES; i++) {
        struct fth_samples again[BATCH];
        assert_int_equal(ask(device, requests[i], BATCH, again, &error), FTH_OK);
        for (size_t j = 0; j < BATCH; j++)
            assert_same(&answers[i][j], &again[j]);
        release_samples(again, BATCH);
    }
    close_replay(device);

    /* The requests can be grouped and ordered differently. Only repetitions of the same request are
     * answered in the recorded order. */
    device = open_replay("round.rec");
    for (size_t j = 0; j < BATCH; j++)
        for (size_t i = 0; i < BATCHES; i++) {
            struct fth_samples again;
            assert_int_equal(ask(device, &requests[i][j], 1, &again, &error), FTH_OK);
            assert_same(&answers[i][j], &again);
            fth_samples_fini(&again);
        }
    close_replay(device);
    for (size_t i = 0; i < BATCHES; i++)
        release_samples(answers[i], BATCH);
}

static void a_request_is_answered_as_often_as_it_was_recorded(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 3, "often.rec");
    struct fth_request repeated = simple_request(50), once = simple_request(51);
    struct fth_request batch[] = {repeated, once, repeated};
    struct fth_samples answers[3], more, again[3];
    struct fth_error error = NO_ERROR;
    assert_int_equal(ask(&f.device, batch, 3, answers, &error), FTH_OK);
    assert_int_equal(ask(&f.device, &repeated, 1, &more, &error), FTH_OK);
    end_recording(&f);

    struct fth_device *device = open_replay("often.rec");
    struct fth_request too_often[] = {repeated, once, repeated, once};
    struct fth_samples four[4];
    /* A batch that cannot be answered completely uses up no answers. */
    assert_int_equal(ask(device, too_often, 4, four, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "the recording has only 1 answer to: time-hops ca 0:128x51; ");
    release_samples(four, 4);
    error = NO_ERROR;
    assert_int_equal(ask(device, batch, 3, again, &error), FTH_OK);
    for (size_t i = 0; i < 3; i++)
        assert_same(&answers[i], &again[i]);
    release_samples(again, 3);
    assert_int_equal(ask(device, &repeated, 1, again, &error), FTH_OK);
    assert_same(&more, &again[0]);
    release_samples(again, 1);
    assert_int_equal(ask(device, &repeated, 1, again, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "only 3 answers to");
    release_samples(again, 1);
    close_replay(device);
    release_samples(answers, 3);
    fth_samples_fini(&more);
}

static void requests_that_were_not_recorded_are_reported(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 4, "empty.rec");
    end_recording(&f);
    struct fth_device *device = open_replay("empty.rec");
    struct fth_request r = simple_request(2048);
    r.alone = true;
    struct fth_samples samples;
    struct fth_error error = NO_ERROR;
    assert_int_equal(ask(device, &r, 1, &samples, &error), FTH_UNAVAILABLE);
    fth_samples_fini(&samples);
    assert_string_equal(error.argument, "empty.rec");
    assert_string_equal(
        error.cause,
        "the recording has no answer to: time-hops ca 0:128x2048; "
        "alone; to record it, use the same command with --device fake:0 --record FILE");
    /* The text of a long request is shortened, so that the advice fits into the message. */
    r.chase.step_count = FTH_MAX_STEPS;
    for (size_t i = 0; i < FTH_MAX_STEPS; i++) {
        r.chase.steps[i] = step(FTH_STEP_TIME_PASS, FTH_PATH_CONSTANT, (unsigned)i, 64, 1000);
        r.chase.steps[i].warp = 31;
        r.chase.steps[i].passes = UINT64_C(1) << 40;
    }
    error = NO_ERROR;
    assert_int_equal(ask(device, &r, 1, &samples, &error), FTH_UNAVAILABLE);
    fth_samples_fini(&samples);
    assert_contains(error.cause,
                    "...; to record it, use the same command with --device fake:0 --record FILE");
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    error = NO_ERROR;
    assert_int_equal(device->ops->describe(device->state, gpu, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "no description");
    fth_gpu_destroy(gpu);
    close_replay(device);

    assert_null(fth_backend_replay.list);
    error = NO_ERROR;
    assert_int_equal(fth_backend_replay.open("no.rec", NULL, &device, &error), FTH_NOT_FOUND);
    assert_string_equal(error.argument, "no.rec");
    error = NO_ERROR;
    assert_int_equal(fth_backend_replay.open("", NULL, &device, &error), FTH_INVALID);
}

static void descriptions_are_replayed_in_order(void **state)
{
    (void)state;
    struct fixture f;
    init_fixture(&f, 5);
    char *plain = describe_as_text(&f.device);
    start_recording(&f, 5, "describe.rec");
    char *first = describe_as_text(&f.device), *second = describe_as_text(&f.device);
    assert_string_equal(first, plain);
    assert_string_not_equal(first, second);
    f.fake.failing = true;
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(f.device.ops->describe(f.device.state, gpu, &error), FTH_UNAVAILABLE);
    end_recording(&f);

    struct fth_device *device = open_replay("describe.rec");
    const char *const expected[] = {first, second, second, second};
    for (size_t i = 0; i < FTH_COUNT(expected); i++) {
        char *text = describe_as_text(device);
        assert_string_equal(text, expected[i]);
        fth_free(text);
    }
    /* The description can be added repeatedly to a document that has content already. */
    error = NO_ERROR;
    for (int i = 0; i < 2; i++)
        assert_int_equal(device->ops->describe(device->state, gpu, &error), FTH_OK);
    assert_string_equal(fth_gpu_text(gpu, "device", "backend"), "fake");
    assert_string_equal(fth_gpu_unknown(gpu, "l2", "ways"), "nobody says");
    assert_int_equal(fth_gpu_section(gpu, "l2")->unknown.count, 1);
    fth_gpu_destroy(gpu);
    close_replay(device);
    fth_free(plain);
    fth_free(first);
    fth_free(second);
}

/* ---- failures while recording ---- */

static void unwritable_path_is_refused_at_once(void **state)
{
    (void)state;
    struct fixture f;
    init_fixture(&f, 8);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_record(&f.device, "no/such/folder/x.rec", &error), FTH_IO);
    assert_string_equal(error.argument, "no/such/folder/x.rec");
    assert_ptr_equal(f.device.ops, &fake_ops);
    assert_ptr_equal(f.device.state, &f.fake);
}

static void a_device_cannot_be_recorded_twice(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 8, "once.rec");
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_record(&f.device, "twice.rec", &error), FTH_INVALID);
    assert_contains(error.cause, "already");
    end_recording(&f);
    assert_int_equal(access("twice.rec", F_OK), -1);
}

static void full_disk_is_reported_by_finish(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 9, "/dev/full");
    struct fth_error error = NO_ERROR;
    struct fth_request r = simple_request(1 << 20);
    for (int i = 0; i < 3; i++) { /* more than the compressor buffers */
        struct fth_samples samples;
        assert_int_equal(ask(&f.device, &r, 1, &samples, &error), FTH_OK);
        fth_samples_fini(&samples);
    }
    for (int i = 0; i < 2; i++) { /* finish reports it each time */
        error = NO_ERROR;
        assert_int_equal(f.device.ops->finish(f.device.state, &error), FTH_IO);
        assert_string_equal(error.argument, "/dev/full");
        assert_contains(error.cause, "No space left");
    }
    f.device.ops->close(f.device.state);
    assert_true(f.closed);
}

static void unfinished_recording_leaves_no_file(void **state)
{
    (void)state;
    size_t before = file_count();
    struct fixture f;
    start_recording(&f, 10, "gone.rec");
    struct fth_error error = NO_ERROR;
    struct fth_request r = simple_request(100);
    struct fth_samples samples;
    assert_int_equal(ask(&f.device, &r, 1, &samples, &error), FTH_OK);
    fth_samples_fini(&samples);
    f.device.ops->close(f.device.state);
    assert_true(f.closed);
    assert_int_equal(file_count(), before);
}

static void answers_before_a_device_failure_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 10, "part.rec");
    struct fth_error error = NO_ERROR;
    struct fth_request r = simple_request(100);
    struct fth_samples samples, again;
    assert_int_equal(ask(&f.device, &r, 1, &samples, &error), FTH_OK);
    f.fake.failing = true;
    assert_int_equal(ask(&f.device, &r, 1, &again, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "fell off the bus");
    fth_samples_fini(&again);
    end_recording(&f);
    struct fth_device *device = open_replay("part.rec");
    error = NO_ERROR;
    assert_int_equal(ask(device, &r, 1, &again, &error), FTH_OK);
    assert_same(&samples, &again);
    fth_samples_fini(&again);
    assert_int_equal(ask(device, &r, 1, &again, &error), FTH_UNAVAILABLE);
    fth_samples_fini(&again);
    fth_samples_fini(&samples);
    close_replay(device);
}

static void answer_with_wrong_sample_count_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 12, "odd.rec");
    f.fake.extra_sample = true;
    struct fth_error error = NO_ERROR;
    struct fth_request r = simple_request(100);
    struct fth_samples samples;
    assert_int_equal(ask(&f.device, &r, 1, &samples, &error), FTH_OK);
    assert_int_equal(samples.status, FTH_OK);
    fth_samples_fini(&samples);
    end_recording(&f);
    struct fth_device *device = open_replay("odd.rec");
    assert_int_equal(ask(device, &r, 1, &samples, &error), FTH_INVALID);
    assert_contains(error.cause, "101 samples instead of 100 for: time-hops ca 0:128x100");
    fth_samples_fini(&samples);
    close_replay(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_returns_the_recorded_answers),
        cmocka_unit_test(a_request_is_answered_as_often_as_it_was_recorded),
        cmocka_unit_test(requests_that_were_not_recorded_are_reported),
        cmocka_unit_test(descriptions_are_replayed_in_order),
        cmocka_unit_test(unwritable_path_is_refused_at_once),
        cmocka_unit_test(a_device_cannot_be_recorded_twice),
        cmocka_unit_test(full_disk_is_reported_by_finish),
        cmocka_unit_test(unfinished_recording_leaves_no_file),
        cmocka_unit_test(answers_before_a_device_failure_are_kept),
        cmocka_unit_test(answer_with_wrong_sample_count_is_refused),
    };
    return cmocka_run_group_tests_name("record", tests, enter_folder, leave_folder);
}
