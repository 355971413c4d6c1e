/* Tests of the file format of recordings (device/recording.c): truncated, altered and foreign files
 * must be refused. One test checks the bytes of the format (docs/recording.md). */
#include "fake_device.h"

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
    assert_int_equal(
        fth_file_read("small.rec", FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL),
        FTH_OK);
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
    assert_int_equal(
        fth_file_read("small.rec", FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL),
        FTH_OK);
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
                assert_int_equal(fth_file_read("copy.rec",
                                               FTH_FILE_LIMIT("a file of the test", 1 << 20), &same,
                                               NULL),
                                 FTH_OK);
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
    /* The rest of these entries is valid. */
    REFUSED("A\x81\x20\0\0\0xxxxxxxx\0", "4097 exceeds the limit of 4096");
    REFUSED("A\1k\x09\0\0xxxxxxxx\0", "9 exceeds the limit of 8");
    REFUSED("A\1k\0\xc0\1\0xxxxxxxx\0", "192 exceeds the limit of 191");
    REFUSED("A\1k\0\0\x80\x80\x80\x80\x10xxxxxxxx\0", "4294967296 exceeds the limit of");
    REFUSED("A\1k\0\0\0xxxxxxxx\1\x80\x80\x80\x80\x10\0", "4294967296 exceeds the limit of");
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
    assert_contains(error.cause, "corrupt, or not a recording");
    error = NO_ERROR;
    assert_int_equal(fth_backend_replay.open("nothing.rec", NULL, &device, &error), FTH_NOT_FOUND);
    assert_string_equal(error.operation, "read recording");
    assert_null(strstr(error.cause, "corrupt"));
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

/* Answers are sorted by their keys. Those with the same key keep their order. */
static void answers_are_found_by_their_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"b", "a", "c", "b", "", "ab", "b", "a", "bb", "c", "b"};
    static const struct {
        const char *key;
        size_t first, count;
        uint32_t sms[4]; /* the index of each answer in the file */
    } rows[] = {
        {"", 0, 1, {4}},     {"a", 1, 2, {1, 7}},        {"aa", 3, 0, {0}},
        {"ab", 3, 1, {5}},   {"b", 4, 4, {0, 3, 6, 10}}, {"bb", 8, 1, {8}},
        {"c", 9, 2, {2, 9}}, {"d", 11, 0, {0}},
    };
    for (size_t count = 0; count <= FTH_COUNT(keys); count++) {
        struct fth_buffer bytes = {0};
        fth_recording_put_header("fake:0", &bytes);
        for (size_t i = 0; i < count; i++) {
            const struct fth_samples samples = {.sm = (uint32_t)i, .clock_mhz = 1};
            fth_recording_put_answer(keys[i], strlen(keys[i]), &samples, &bytes);
        }
        fth_recording_put_end(
            count, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, bytes.data, bytes.size),
            &bytes);
        struct fth_recording *recording = NULL;
        assert_int_equal(fth_recording_parse("bytes", &bytes, &recording, NULL), FTH_OK);
        assert_int_equal(fth_recording_answer_count(recording), count);
        for (size_t i = 0; i < FTH_COUNT(rows); i++) {
            size_t first = 99;
            const size_t found =
                fth_recording_find(recording, rows[i].key, strlen(rows[i].key), &first);
            size_t expected = 0;
            for (size_t k = 0; k < rows[i].count; k++)
                expected += rows[i].sms[k] < count;
            assert_int_equal(found, expected);
            if (count == FTH_COUNT(keys))
                assert_int_equal(first, rows[i].first);
            for (size_t k = 0; k < found; k++) {
                struct fth_samples samples;
                assert_int_equal(fth_recording_answer(recording, first + k, &samples, NULL),
                                 FTH_OK);
                assert_int_equal(samples.sm, rows[i].sms[k]);
            }
        }
        fth_recording_destroy(recording);
    }
}

static struct fth_gpu *read_gpu(const char *text)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return gpu;
}

/* Attributes replace others. Reasons and references are added once. */
static void descriptions_are_merged(void **state)
{
    (void)state;
    struct fth_gpu *from = read_gpu(
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"New\", \"sms\": 8}, "
        "\"noise\": {\"seed\": 5}, \"references\": {\"first\": \"one\", \"second\": \"two\"}, "
        "\"elements\": {\"l1\": {\"size_bytes\": 1024}, \"l2\": {\"size_bytes\": 2048, "
        "\"unknown\": {\"ways\": \"no idea\", \"sets\": \"none\"}}}}");
    struct fth_gpu *gpu =
        read_gpu("{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Old\", \"clock_mhz\": "
                 "900}, \"elements\": {\"l2\": {\"latency_cycles\": 7, \"unknown\": {\"ways\": "
                 "\"kept\"}}}}");
    for (int i = 0; i < 2; i++)
        assert_int_equal(fth_recording_add(gpu, from, NULL), FTH_OK);
    assert_string_equal(fth_gpu_text(gpu, "device", "name"), "New");
    assert_true(fth_gpu_number(gpu, "device", "sms", 0) == 8);
    assert_true(fth_gpu_number(gpu, "device", "clock_mhz", 0) == 900);
    assert_true(fth_gpu_number(gpu, "noise", "seed", 0) == 5);
    assert_true(fth_gpu_number(gpu, "l1", "size_bytes", 0) == 1024);
    assert_true(fth_gpu_number(gpu, "l2", "size_bytes", 0) == 2048);
    assert_true(fth_gpu_number(gpu, "l2", "latency_cycles", 0) == 7);
    assert_int_equal(gpu->element_count, 2);
    assert_int_equal(gpu->references.count, 2);
    assert_string_equal(gpu->references.items[0].name, "first");
    assert_string_equal(gpu->references.items[1].text, "two");
    assert_int_equal(fth_gpu_section(gpu, "l2")->unknown.count, 2);
    assert_string_equal(fth_gpu_unknown(gpu, "l2", "ways"), "kept");
    assert_string_equal(fth_gpu_unknown(gpu, "l2", "sets"), "none");
    fth_gpu_destroy(from);
    fth_gpu_destroy(gpu);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sessions_produce_identical_files),
        cmocka_unit_test(entries_are_encoded_as_specified),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(altered_files_are_refused),
        cmocka_unit_test(counts_are_checked_before_they_are_used),
        cmocka_unit_test(other_files_are_not_accepted_as_recordings),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(answers_are_found_by_their_keys),
        cmocka_unit_test(descriptions_are_merged),
        cmocka_unit_test(a_million_samples_compress_well),
    };
    return cmocka_run_group_tests_name("recording", tests, enter_folder, leave_folder);
}
