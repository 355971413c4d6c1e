/* Tests of contributions: archives, the removal of personal data, and what is refused. The command
 * line tests (tests/cli/contribute) pack recordings of real devices. */
#include "check.h"
#include "contribution/contribution.h"

#include <stdio.h>

/* ---- archives ---- */

static void archives_return_what_was_put_in(void **state)
{
    (void)state;
    struct fth_buffer archive = {0};
    struct fth_tar_file file;
    char large[1500];
    size_t at = 0;
    bool found = false;
    memset(large, 'x', sizeof large);
    fth_tar_put("a.txt", "text", 4, &archive);
    fth_tar_put("empty", "", 0, &archive);
    fth_tar_put("large", large, sizeof large, &archive);
    fth_tar_end(&archive);
    assert_int_equal(archive.size % 512, 0);
    assert_int_equal(fth_tar_next("x", &archive, &at, &file, &found, NULL), FTH_OK);
    assert_true(found);
    assert_string_equal(file.name, "a.txt");
    assert_int_equal(file.size, 4);
    assert_memory_equal(file.data, "text", 4);
    assert_int_equal(fth_tar_next("x", &archive, &at, &file, &found, NULL), FTH_OK);
    assert_string_equal(file.name, "empty");
    assert_int_equal(file.size, 0);
    assert_int_equal(fth_tar_next("x", &archive, &at, &file, &found, NULL), FTH_OK);
    assert_int_equal(file.size, sizeof large);
    assert_memory_equal(file.data, large, sizeof large);
    assert_int_equal(fth_tar_next("x", &archive, &at, &file, &found, NULL), FTH_OK);
    assert_false(found);
    fth_buffer_fini(&archive);
}

/* Every single changed byte of a header, and every truncated archive, is refused or read as the
 * end; nothing outside the archive is returned. */
static void damaged_archives_are_refused(void **state)
{
    (void)state;
    struct fth_buffer archive = {0};
    struct fth_tar_file file;
    size_t at;
    bool found;
    fth_tar_put("a.txt", "text", 4, &archive);
    fth_tar_end(&archive);
    for (size_t i = 0; i < 512; i++) {
        archive.data[i] ^= 1;
        at = 0;
        const bool padded = i >= 148 && i < 156; /* digits, NUL and space of the checksum */
        const enum fth_status status = fth_tar_next("x", &archive, &at, &file, &found, NULL);
        assert_true(status == FTH_INVALID || padded);
        archive.data[i] ^= 1;
    }
    const size_t size = archive.size;
    for (archive.size = 0; archive.size < 512 + 4; archive.size++) {
        at = 0;
        assert_int_equal(fth_tar_next("x", &archive, &at, &file, &found, NULL), FTH_INVALID);
        assert_false(found);
    }
    archive.size = size;
    fth_buffer_fini(&archive);
}

/* ---- personal data ---- */

static bool contains(const struct fth_buffer *bytes, const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i + size <= bytes->size; i++)
        if (memcmp(bytes->data + i, text, size) == 0)
            return true;
    return false;
}

static const char described[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Card\", \"backend\": \"cuda\","
    " \"uuid\": \"GPU-1234\", \"pci_bus\": \"0000:01:00.0\", \"host\": \"secret-host\","
    " \"serial\": \"9876543\", \"sms\": 4}, \"elements\": {}}";

static void descriptions_lose_what_identifies_a_card(void **state)
{
    (void)state;
    struct fth_gpu *gpu = NULL;
    bool found[FTH_PERSONAL_COUNT] = {false};
    assert_int_equal(fth_gpu_read_text("x", described, strlen(described), NULL, &gpu, NULL),
                     FTH_OK);
    fth_contribution_strip(gpu, found);
    for (size_t i = 0; i < FTH_PERSONAL_COUNT; i++) {
        assert_true(found[i]);
        assert_null(fth_gpu_attribute(gpu, "device", fth_personal_name(i)));
    }
    assert_null(fth_personal_name(FTH_PERSONAL_COUNT));
    assert_string_equal(fth_gpu_text(gpu, "device", "name"), "Card");
    assert_true(fth_gpu_number(gpu, "device", "sms", 0) == 4);
    memset(found, 0, sizeof found);
    fth_contribution_strip(gpu, found);
    for (size_t i = 0; i < FTH_PERSONAL_COUNT; i++)
        assert_false(found[i]);
    fth_gpu_destroy(gpu);
}

/* Makes a recording with two answers to one request. */
static struct fth_recording *make_recording(const char *id)
{
    static const char key[] = "walk ca 0:64x32 seed 1";
    uint32_t first[] = {30, 31}, second[] = {40, 41};
    struct fth_samples answers[] = {{.cycles = first, .count = 2, .clock_mhz = 1000},
                                    {.cycles = second, .count = 2, .clock_mhz = 1000}};
    struct fth_buffer bytes = {0};
    struct fth_recording *recording = NULL;
    fth_recording_put_header_of(id, "0.0.7", &bytes);
    fth_recording_put_description(described, strlen(described), &bytes);
    for (size_t i = 0; i < 2; i++)
        fth_recording_put_answer(key, strlen(key), &answers[i], &bytes);
    fth_recording_put_end(
        3, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, bytes.data, bytes.size), &bytes);
    assert_int_equal(fth_recording_parse("made", &bytes, &recording, NULL), FTH_OK);
    return recording;
}

static void recordings_lose_what_identifies_a_card(void **state)
{
    (void)state;
    static const char *const secrets[] = {"GPU-1234", "0000:01:00.0", "secret-host", "9876543"};
    struct fth_recording *recording = make_recording("cuda:GPU-1234"), *stripped = NULL;
    struct fth_buffer bytes = {0};
    struct fth_samples samples = {0};
    bool found[FTH_PERSONAL_COUNT] = {false};
    assert_string_equal(fth_recording_version(recording), "0.0.7");
    assert_int_equal(fth_contribution_strip_recording(recording, found, &bytes, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(secrets); i++) {
        assert_true(found[i]);
        assert_false(contains(&bytes, secrets[i]));
    }
    assert_int_equal(fth_recording_parse("stripped", &bytes, &stripped, NULL), FTH_OK);
    assert_string_equal(fth_recording_device(stripped), "cuda");
    assert_string_equal(fth_recording_version(stripped), "0.0.7");
    assert_int_equal(fth_recording_description_count(stripped), 1);
    assert_int_equal(fth_recording_answer_count(stripped), 2);
    assert_int_equal(fth_recording_answer(stripped, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.cycles[0], 40); /* answers to the same request keep their order */
    fth_samples_fini(&samples);
    fth_recording_destroy(stripped);
    fth_recording_destroy(recording);
    fth_buffer_fini(&bytes);
    recording = make_recording("cuda:0");
    assert_int_equal(fth_contribution_strip_recording(recording, found, &bytes, NULL), FTH_OK);
    assert_true(contains(&bytes, "device cuda:0\n"));
    fth_recording_destroy(recording);
    fth_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_return_what_was_put_in),
        cmocka_unit_test(damaged_archives_are_refused),
        cmocka_unit_test(descriptions_lose_what_identifies_a_card),
        cmocka_unit_test(recordings_lose_what_identifies_a_card),
    };
    return cmocka_run_group_tests_name("contribution", tests, NULL, NULL);
}
