/* Tests of recording and replay (device/record.c, recording.c, replay.c). A fake device returns
 * random answers. A replay must return the same answers, and truncated, altered and foreign files
 * must be refused. One test checks the bytes of the format (docs/recording.md). */
#include "device/recording.h"
#include "folder.h"
#include "requests.h"

#include <math.h>

/* Reads a file without decompressing it. */
static struct fth_buffer read_raw(const char *path)
{
    struct fth_buffer raw = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fth_buffer_reserve(&raw, 4 << 20));
    raw.size = fread(raw.data, 1, 4 << 20, file);
    assert_true(raw.size < 4 << 20);
    fclose(file);
    return raw;
}

/* ---- a device with random answers ---- */

struct fake {
    struct fth_rng rng;
    unsigned descriptions;
    bool failing;      /* every operation fails */
    bool extra_sample; /* answers have one sample too many */
    bool steady;       /* no request fails; samples are 300 +- 5 cycles */
    bool *closed;
};

static enum fth_status fake_describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
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

static enum fth_status fake_measure(void *state, const struct fth_request *requests, size_t count,
                                    struct fth_samples *samples, struct fth_error *error)
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

static void fake_close(void *state)
{
    struct fake *fake = state;
    *fake->closed = true;
}

static const struct fth_device_ops fake_ops = {fake_describe, fake_measure, NULL, fake_close};

struct fixture {
    struct fake fake;
    struct fth_device device;
    bool closed;
};

static void init_fixture(struct fixture *f, uint64_t seed)
{
    *f = (struct fixture){.device = {.ops = &fake_ops, .state = &f->fake, .id = "fake:0"}};
    f->fake.closed = &f->closed;
    fth_rng_init(&f->fake.rng, seed);
}

static void start_recording(struct fixture *f, uint64_t seed, const char *path)
{
    init_fixture(f, seed);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_device_record(&f->device, path, &error), FTH_OK);
}

static void end_recording(struct fixture *f)
{
    struct fth_error error = NO_ERROR;
    assert_int_equal(f->device.ops->finish(f->device.state, &error), FTH_OK);
    f->device.ops->close(f->device.state);
    assert_true(f->closed);
}

static struct fth_device *open_replay(const char *path)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    enum fth_status status = fth_backend_replay.open(path, NULL, &device, &error);
    assert_string_equal(error.cause, "");
    assert_int_equal(status, FTH_OK);
    return device;
}

static void close_replay(struct fth_device *device)
{
    assert_null(device->ops->finish);
    fth_device_close(device);
}

static enum fth_status ask(struct fth_device *device, const struct fth_request *requests,
                           size_t count, struct fth_samples *samples, struct fth_error *error)
{
    return device->ops->measure(device->state, requests, count, samples, error);
}

static void release_samples(struct fth_samples *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fth_samples_fini(&samples[i]);
}

static void assert_same(const struct fth_samples *a, const struct fth_samples *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->cause, b->cause);
    assert_int_equal(a->sm, b->sm);
    assert_true(isnan(a->clock_mhz) ? isnan(b->clock_mhz) : a->clock_mhz == b->clock_mhz);
    assert_int_equal(a->count, b->count);
    if (a->count)
        assert_memory_equal(a->cycles, b->cycles, a->count * sizeof *a->cycles);
}

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
    assert_string_equal(error.cause,
                        "the recording has no answer to: time-hops ca 0:128x2048; "
                        "alone; to record it: fathom topo --device fake:0 --record FILE");
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
    assert_contains(error.cause, "...; to record it: fathom topo --device fake:0 --record FILE");
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

/* Returns what a device adds to an empty description, as JSON. The caller frees the text. */
static char *describe_as_text(const struct fth_device *device)
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

/* ---- the file ---- */

/* Records a small session, which is the same in each call. */
static void record_small(const char *path)
{
    struct fixture f;
    start_recording(&f, 6, path);
    fth_free(describe_as_text(&f.device));
    struct fth_request requests[] = {simple_request(20), simple_request(3), simple_request(20)};
    struct fth_samples samples[3];
    struct fth_error error = NO_ERROR;
    assert_int_equal(ask(&f.device, requests, 3, samples, &error), FTH_OK);
    release_samples(samples, 3);
    end_recording(&f);
}

static void equal_sessions_produce_identical_files(void **state)
{
    (void)state;
    record_small("one.rec");
    record_small("two.rec");
    struct fth_buffer one = read_raw("one.rec"), two = read_raw("two.rec");
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
    fth_buffer_fini(&one);
    fth_buffer_fini(&two);
}

/* The bytes do not depend on the byte order of the host. */
static void entries_are_encoded_as_specified(void **state)
{
    (void)state;
    uint32_t cycles[] = {300, 301, 299, 1300, UINT32_MAX};
    struct fth_samples samples = {.status = FTH_INCONCLUSIVE,
                                  .cause = "why",
                                  .sm = 131,
                                  .clock_mhz = 1980,
                                  .cycles = cycles,
                                  .count = FTH_COUNT(cycles)};
    static const unsigned char answer[] = {'A', 3, 'k', 'e', 'y',  7, 3,    'w',  'h',  'y',  0x83,
                                           1,   0, 0,   0,   0,    0, 0xf0, 0x9e, 0x40, 5,    0xab,
                                           2,   1, 2,   0,   0xe9, 7, 0xd4, 0xfd, 0xff, 0xff, 0x0f};
    static const unsigned char nothing[] = {'A', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 0};
    struct fth_buffer bytes = {0};
    fth_recording_put_answer("key", 3, &samples, &bytes);
    assert_int_equal(bytes.size, sizeof answer);
    assert_memory_equal(bytes.data, answer, sizeof answer);
    bytes.size = 0;
    samples = (struct fth_samples){.clock_mhz = -(double)NAN};
    fth_recording_put_answer("", 0, &samples, &bytes);
    assert_int_equal(bytes.size, sizeof nothing);
    assert_memory_equal(bytes.data, nothing, sizeof nothing);
    bytes.size = 0;
    fth_recording_put_description("{}", 2, &bytes);
    assert_int_equal(bytes.size, 4);
    assert_memory_equal(bytes.data, "D\2{}", 4);
    bytes.size = 0;
    /* The authors of FNV-1a publish the hash of "foobar" as a test vector. */
    assert_true(fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, "foobar", 6) ==
                UINT64_C(0x85944171f73967e8));
    fth_recording_put_end(2, FTH_RECORDING_CHECKSUM_START, &bytes);
    assert_int_equal(bytes.size, 2 + FTH_RECORDING_CHECKSUM_BYTES);
    fth_buffer_fini(&bytes);
}

/* Parses a copy of the bytes, which are not compressed. */
static enum fth_status parse(const void *data, size_t size, struct fth_error *error)
{
    struct fth_buffer content = {0};
    struct fth_recording *recording = NULL;
    fth_buffer_append(&content, data, size);
    enum fth_status status = fth_recording_parse("bytes", &content, &recording, error);
    assert_null(content.data);
    assert_int_equal(recording != NULL, status == FTH_OK);
    fth_recording_destroy(recording);
    return status;
}

/* Writes the bytes to a file and opens the file as a replay. */
static enum fth_status reopen(const void *data, size_t size, struct fth_error *error)
{
    struct fth_device *device = NULL;
    write_plain("copy.rec", data, size);
    enum fth_status status = fth_backend_replay.open("copy.rec", NULL, &device, error);
    assert_int_equal(device != NULL, status == FTH_OK);
    if (device)
        close_replay(device);
    return status;
}

static void truncated_files_are_refused(void **state)
{
    (void)state;
    record_small("small.rec");
    struct fth_buffer raw = read_raw("small.rec"), content = {0};
    assert_int_equal(fth_file_read("small.rec", 1 << 20, &content, NULL), FTH_OK);
    for (size_t size = 0; size < raw.size; size++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(reopen(raw.data, size, &error), FTH_INVALID);
        assert_contains(error.cause, "truncated");
        assert_string_equal(error.argument, "copy.rec");
    }
    for (size_t size = 0; size < content.size; size++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(parse(content.data, size, &error), FTH_INVALID);
        assert_contains(error.cause, "truncated");
    }
    /* If the file ends after a complete zstd frame, only the missing end marker shows that it is
     * truncated. */
    size_t frame = content.size - 2 - FTH_RECORDING_CHECKSUM_BYTES;
    struct fth_zwriter *writer = NULL;
    assert_int_equal(fth_zwriter_open("frame.rec", 3, &writer, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_write(writer, content.data, frame, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_commit(writer, NULL), FTH_OK);
    struct fth_buffer first = read_raw("frame.rec");
    struct fth_error error = NO_ERROR;
    assert_int_equal(reopen(first.data, first.size, &error), FTH_INVALID);
    assert_contains(error.cause, "truncated: the file ends after 4 entries");
    /* The end marker may be in a second frame. It must be compressed like the rest, and there must
     * not be a second one. */
    fth_buffer_append(&first, content.data + frame, content.size - frame);
    error = NO_ERROR;
    assert_int_equal(reopen(first.data, first.size, &error), FTH_INVALID);
    assert_int_equal(fth_zwriter_open("frame2.rec", 3, &writer, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_write(writer, content.data + frame, content.size - frame, NULL),
                     FTH_OK);
    assert_int_equal(fth_zwriter_commit(writer, NULL), FTH_OK);
    assert_int_equal(system("cat frame.rec frame2.rec > whole.rec; cat whole.rec frame2.rec > "
                            "more.rec"),
                     0);
    close_replay(open_replay("whole.rec"));
    struct fth_device *device = NULL;
    error = NO_ERROR;
    assert_int_equal(fth_backend_replay.open("more.rec", NULL, &device, &error), FTH_INVALID);
    assert_contains(error.cause, "10 bytes follow the end marker");
    fth_buffer_fini(&first);
    fth_buffer_fini(&raw);
    fth_buffer_fini(&content);
}

static void altered_files_are_refused(void **state)
{
    (void)state;
    record_small("small.rec");
    struct fth_buffer raw = read_raw("small.rec"), content = {0};
    assert_int_equal(fth_file_read("small.rec", 1 << 20, &content, NULL), FTH_OK);
    static const char masks[] = {1, 0x10, (char)0x80, (char)0xff};
    size_t harmless = 0;
    for (size_t at = 0; at < raw.size; at++)
        for (size_t i = 0; i < FTH_COUNT(masks); i++) {
            struct fth_error error = NO_ERROR;
            raw.data[at] ^= masks[i];
            enum fth_status status = reopen(raw.data, raw.size, &error);
            raw.data[at] ^= masks[i];
            if (status == FTH_OK) { /* a bit of the zstd frame that does not affect the content */
                struct fth_buffer same = {0};
                assert_int_equal(fth_file_read("copy.rec", 1 << 20, &same, NULL), FTH_OK);
                assert_int_equal(same.size, content.size);
                assert_memory_equal(same.data, content.data, content.size);
                fth_buffer_fini(&same);
                harmless++;
            } else {
                assert_int_equal(status, FTH_INVALID);
                assert_true(error.cause[0]);
            }
        }
    assert_true(harmless < 8);
    for (size_t at = 0; at < content.size; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct fth_error error = NO_ERROR;
            content.data[at] ^= (char)(1 << bit);
            assert_int_equal(parse(content.data, content.size, &error), FTH_INVALID);
            content.data[at] ^= (char)(1 << bit);
        }
    struct fth_error error = NO_ERROR;
    content.data[content.size - 1] ^= 1;
    assert_int_equal(parse(content.data, content.size, &error), FTH_INVALID);
    assert_contains(error.cause, "corrupt: the checksum is ");
    fth_buffer_fini(&raw);
    fth_buffer_fini(&content);
}

/* Parses a recording with a valid header, the given bytes, and an end marker with `entries` entries
 * and a valid checksum. The cause of the refusal must contain `cause`. */
static void assert_refused(const void *entry, size_t size, uint64_t entries, const char *cause)
{
    struct fth_buffer bytes = {0};
    fth_recording_put_header("fake:0", &bytes);
    fth_buffer_append(&bytes, entry, size);
    fth_recording_put_end(
        entries, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, bytes.data, bytes.size),
        &bytes);
    struct fth_error error = NO_ERROR;
    assert_int_equal(parse(bytes.data, bytes.size, &error), FTH_INVALID);
    assert_contains(error.cause, cause);
    fth_buffer_fini(&bytes);
}

#define REFUSED(entry, cause) assert_refused(entry, sizeof(entry) - 1, 1, cause)

static void counts_are_checked_before_they_are_used(void **state)
{
    (void)state;
    REFUSED("A\xff\xff\xff\xff\x0f", "4294967295 exceeds the limit of 4096");
    REFUSED("A\x80\x20", "announces 4096 bytes");
    REFUSED("D\xff\xff\xff\x07", "announces 16777215 bytes");
    REFUSED("D\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "exceeds the limit of 16777216");
    REFUSED("D\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "invalid number");
    REFUSED("D\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "invalid number");
    REFUSED("D\x81\x00x", "invalid number");
    REFUSED("D\x02{}", "schema");
    REFUSED("A\x01k\x09", "9 exceeds the limit of 8");
    REFUSED("A\x01k\x00\xc0\x01", "192 exceeds the limit of 191");
    REFUSED("A\x01k\x00\x00\x80\x80\x80\x80\x10", "4294967296 exceeds the limit of");
    REFUSED("A\x01k\x00\x00\x00xxxxxxxx\x81\x80\x80\x80\x01",
            "268435457 exceeds the limit of 268435456");
    REFUSED("A\x01k\x00\x00\x00xxxxxxxx\x80\x80\x80\x80\x01\x05", "announces 268435456 samples");
    REFUSED("A\x01k\x00\x00\x00xxxxxxxx\x02\xff\xff\xff\xff\x0f\x00\x01",
            "1 exceeds the limit of 0");
    REFUSED("Z", "unknown entry type 0x5a");
    assert_refused("A\x01k\x00\x00\x00xxxxxxxx\x00", 15, 2, "states 2 entries, but there are 1");
    assert_refused("", 0, UINT64_MAX, "entries, but there are 0");
    struct fth_error error = NO_ERROR;
    char header[5000] = "fathom-recording/1\n";
    memset(header + strlen(header), 'x', sizeof header - strlen(header));
    assert_int_equal(parse(header, sizeof header, &error), FTH_INVALID);
    assert_contains(error.cause, "the header has no end");
}

static void other_files_are_not_accepted_as_recordings(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    static const char future[] = "fathom-recording/2\nanything\n";
    assert_int_equal(parse(future, strlen(future), &error), FTH_INVALID);
    assert_string_equal(
        error.cause,
        "unsupported format 'fathom-recording/2'; this version of fathom reads fathom-recording/1");
    error = NO_ERROR;
    assert_int_equal(parse("fathom-recording/11\n", 20, &error), FTH_INVALID);
    assert_contains(error.cause, "unsupported format 'fathom-recording/11'; ");
    error = NO_ERROR;
    assert_int_equal(parse("{\"schema\": \"fathom-gpu/1\"}", 26, &error), FTH_INVALID);
    assert_contains(error.cause, "not a fathom recording");
    error = NO_ERROR;
    struct fth_device *device = NULL;
    assert_int_equal(fth_backend_replay.open("/tmp", NULL, &device, &error), FTH_INVALID);
    assert_contains(error.cause, "Is a directory");
}

static void control_characters_are_replaced(void **state)
{
    (void)state;
    struct fth_samples samples = {.status = FTH_IO, .cause = "a\x1b[2Jb\nc", .clock_mhz = 1};
    struct fth_buffer bytes = {0};
    fth_recording_put_header("x\ny \x1b", &bytes);
    fth_recording_put_answer("k", 1, &samples, &bytes);
    fth_recording_put_end(
        1, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, bytes.data, bytes.size), &bytes);
    struct fth_recording *recording = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_recording_parse("bytes", &bytes, &recording, &error), FTH_OK);
    assert_string_equal(fth_recording_device(recording), "x?y ?");
    size_t first, size;
    assert_int_equal(fth_recording_find(recording, "k", 1, &first), 1);
    assert_int_equal(fth_recording_find(recording, "kk", 2, &first), 0);
    assert_int_equal(fth_recording_find(recording, "", 0, &first), 0);
    assert_memory_equal(fth_recording_key(recording, 0, &size), "k", 1);
    assert_int_equal(fth_recording_answer(recording, 0, &samples, &error), FTH_OK);
    assert_string_equal(samples.cause, "a?[2Jb?c");
    fth_recording_destroy(recording);
}

static void a_million_samples_compress_well(void **state)
{
    (void)state;
    struct fixture f;
    start_recording(&f, 7, "million.rec");
    f.fake.steady = true;
    struct fth_error error = NO_ERROR;
    for (uint32_t i = 0; i < 512; i++) {
        struct fth_request r = simple_request(2048);
        struct fth_samples samples;
        r.sm = i % 132;
        assert_int_equal(ask(&f.device, &r, 1, &samples, &error), FTH_OK);
        assert_int_equal(samples.count, 2048);
        fth_samples_fini(&samples);
    }
    end_recording(&f);
    struct fth_buffer raw = read_raw("million.rec");
    print_message("# 2^20 samples of 300 +- 5 cycles: %zu bytes\n", raw.size);
    assert_true(raw.size < 600000); /* the entropy of 11 equally likely values is 453 000 bytes */
    fth_buffer_fini(&raw);
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
        cmocka_unit_test(equal_sessions_produce_identical_files),
        cmocka_unit_test(entries_are_encoded_as_specified),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(altered_files_are_refused),
        cmocka_unit_test(counts_are_checked_before_they_are_used),
        cmocka_unit_test(other_files_are_not_accepted_as_recordings),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(a_million_samples_compress_well),
        cmocka_unit_test(unwritable_path_is_refused_at_once),
        cmocka_unit_test(a_device_cannot_be_recorded_twice),
        cmocka_unit_test(full_disk_is_reported_by_finish),
        cmocka_unit_test(unfinished_recording_leaves_no_file),
        cmocka_unit_test(answers_before_a_device_failure_are_kept),
        cmocka_unit_test(answer_with_wrong_sample_count_is_refused),
    };
    return cmocka_run_group_tests_name("record", tests, enter_folder, leave_folder);
}
