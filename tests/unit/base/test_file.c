/* Tests files and zstd streams (base/): a written file is complete or does not appear, limits on
 * the size, and the detection of damaged files. */
#include "base/base.h"
#include "folder.h"

#include <fcntl.h>
#include <sys/stat.h>

static void assert_content(const char *path, const char *expected)
{
    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL), FTH_OK);
    assert_int_equal(content.size, strlen(expected));
    assert_memory_equal(content.data ? content.data : "", expected, content.size);
    fth_buffer_fini(&content);
}

static void writing_replaces_a_file_and_leaves_no_other_behind(void **state)
{
    (void)state;
    size_t before = file_count();
    assert_int_equal(fth_file_write("a", "one", 3, NULL), FTH_OK);
    assert_content("a", "one");
    assert_int_equal(fth_file_write("a", "second", 6, NULL), FTH_OK);
    assert_content("a", "second");
    assert_int_equal(file_count(), before + 1);
}

static void an_aborted_write_keeps_the_old_file(void **state)
{
    (void)state;
    assert_int_equal(fth_file_write("b", "old", 3, NULL), FTH_OK);
    size_t before = file_count();
    struct fth_atomic_file *file = NULL;
    assert_int_equal(fth_atomic_open("b", &file, NULL), FTH_OK);
    assert_int_equal(fth_atomic_write(file, "new", 3, NULL), FTH_OK);
    assert_content("b", "old");
    fth_atomic_abort(file);
    fth_atomic_abort(NULL);
    assert_content("b", "old");
    assert_int_equal(file_count(), before);
}

static void writing_to_a_link_replaces_its_target(void **state)
{
    (void)state;
    assert_int_equal(fth_file_write("target", "old", 3, NULL), FTH_OK);
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(fth_file_write("link", "new", 3, NULL), FTH_OK);
    assert_content("target", "new");
    char where[32] = "";
    assert_int_equal(readlink("link", where, sizeof where - 1), 6);
}

static void a_device_is_written_not_replaced(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_file_write("/dev/null", "x", 1, &error), FTH_OK);
    assert_int_equal(access("/dev/null", W_OK), 0);
    FILE *null = fopen("/dev/null", "r");
    assert_int_equal(fgetc(null), EOF);
    fclose(null);
    assert_int_equal(fth_file_write("/dev/full", "x", 1, &error), FTH_IO);
    assert_contains(error.cause, "No space left");
}

static void reports_missing_folders_and_files(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_file_write("no/such/folder/file", "x", 1, &error), FTH_IO);
    assert_contains(error.cause, "No such file or directory");
    assert_string_equal(error.argument, "no/such/folder/file");
    struct fth_buffer content = {0};
    error = NO_ERROR;
    assert_int_equal(
        fth_file_read("nothing", FTH_FILE_LIMIT("a file of the test", 10), &content, &error),
        FTH_NOT_FOUND);
    error = NO_ERROR;
    assert_int_equal(
        fth_file_read("/tmp", FTH_FILE_LIMIT("a file of the test", 10), &content, &error),
        FTH_INVALID);
    assert_contains(error.cause, "Is a directory");
    fth_buffer_fini(&content);
}

static void a_file_above_the_size_limit_is_rejected(void **state)
{
    (void)state;
    write_plain("ten", "0123456789", 10);
    struct fth_buffer content = {0};
    assert_int_equal(fth_file_read("ten", FTH_FILE_LIMIT("a file of the test", 10), &content, NULL),
                     FTH_OK);
    fth_buffer_fini(&content);
    struct fth_error error = NO_ERROR;
    assert_int_equal(
        fth_file_read("ten", FTH_FILE_LIMIT("a file of the test", 9), &content, &error),
        FTH_INVALID);
    assert_string_equal(error.cause, "larger than 9 B, the limit for a file of the test");
    fth_buffer_fini(&content);
    /* The limit applies to the decompressed size: a small file must not exhaust the memory. */
    struct fth_zwriter *writer = NULL;
    static const char zeros[1 << 16];
    assert_int_equal(fth_zwriter_open("bomb.zst", 3, &writer, NULL), FTH_OK);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(fth_zwriter_write(writer, zeros, sizeof zeros, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_commit(writer, NULL), FTH_OK);
    error = NO_ERROR;
    assert_int_equal(
        fth_file_read("bomb.zst", FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, &error),
        FTH_INVALID);
    assert_string_equal(error.cause, "larger than 1 MiB, the limit for a file of the test");
    assert_true(content.size < 2 << 20);
    fth_buffer_fini(&content);
}

static void the_limit_and_its_option_are_named(void **state)
{
    (void)state;
    const struct fth_file_limit limit = {"a list", 3, "--longer"};
    struct fth_buffer content = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_file_read("ten", &limit, &content, &error), FTH_INVALID);
    assert_string_equal(error.cause,
                        "larger than 3 B, the limit for a list; to raise it, use --longer");
    fth_buffer_fini(&content);
}

/* None of these may block: the pipe has no writer. */
static void only_regular_files_are_opened_where_one_is_expected(void **state)
{
    (void)state;
    static const char *const others[] = {"fifo", "/dev/zero", ".", "to-fifo"};
    int fd;
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_int_equal(symlink("fifo", "to-fifo"), 0);
    for (size_t i = 0; i < FTH_COUNT(others); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_file_open_regular(others[i], &fd, &error), FTH_INVALID);
        assert_int_equal(fd, -1);
        assert_contains(error.cause, "not a regular file");
        assert_false(fth_file_is_regular(others[i]));
    }
    assert_int_equal(fth_file_open_regular("nothing", &fd, NULL), FTH_NOT_FOUND);
    assert_false(fth_file_is_regular("nothing"));
    assert_int_equal(fth_file_open_regular("ten", &fd, NULL), FTH_OK);
    assert_true(fth_file_is_regular("ten"));
    /* From the current position. */
    struct fth_buffer content = {0};
    assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
    assert_int_equal(fth_file_read_open(fd, "ten", FTH_FILE_LIMIT("a file", 6), &content, NULL),
                     FTH_OK);
    assert_string_equal(content.data, "456789");
    fth_buffer_fini(&content);
    close(fd);
}

/* Returns a text that exceeds a chunk of the reader and of the writer; release it with fth_free. */
static char *long_text(size_t *size)
{
    struct fth_buffer buffer = {0};
    struct fth_rng rng;
    fth_rng_init(&rng, 5);
    while (buffer.size < 300000)
        fth_buffer_format(&buffer, "%llu\n", (unsigned long long)fth_rng_next(&rng));
    char *text = NULL;
    assert_int_equal(fth_buffer_take(&buffer, &text, size, NULL), FTH_OK);
    return text;
}

static void compressed_files_read_back(void **state)
{
    (void)state;
    size_t size;
    char *text = long_text(&size);
    struct fth_zwriter *writer = NULL;
    assert_int_equal(fth_zwriter_open("c.zst", 3, &writer, NULL), FTH_OK);
    for (size_t at = 0; at < size; at += 1000)
        assert_int_equal(
            fth_zwriter_write(writer, text + at, size - at < 1000 ? size - at : 1000, NULL),
            FTH_OK);
    assert_int_equal(access("c.zst", F_OK), -1); /* appears only when it is complete */
    assert_int_equal(fth_zwriter_commit(writer, NULL), FTH_OK);

    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read("c.zst", FTH_FILE_LIMIT("a file of the test", size), &content, NULL), FTH_OK);
    assert_int_equal(content.size, size);
    assert_memory_equal(content.data, text, size);
    fth_buffer_fini(&content);

    /* Reading some bytes at a time gives the same text. */
    for (size_t wanted = 1; wanted <= 777; wanted += 776) {
        struct fth_zreader *reader = NULL;
        assert_int_equal(fth_zreader_open("c.zst", &reader, NULL), FTH_OK);
        size_t at = 0, got = 0;
        char chunk[777];
        do {
            assert_int_equal(fth_zreader_read(reader, chunk, wanted, &got, NULL), FTH_OK);
            assert_true(got <= wanted && at + got <= size);
            assert_memory_equal(chunk, text + at, got);
            at += got;
        } while (got);
        assert_int_equal(at, size);
        assert_int_equal(fth_zreader_read(reader, chunk, 0, &got, NULL), FTH_OK);
        assert_int_equal(got, 0);
        fth_zreader_close(reader);
    }
    fth_free(text);
}

static void whole_files_are_compressed(void **state)
{
    (void)state;
    struct fth_buffer text = {0};
    struct stat file;
    fth_buffer_repeat(&text, "0123456789", 100000);
    assert_int_equal(fth_file_write_compressed("whole.zst", text.data, text.size, NULL), FTH_OK);
    assert_int_equal(stat("whole.zst", &file), 0);
    assert_in_range(file.st_size, 10, 10000);
    struct fth_buffer content = {0};
    assert_int_equal(fth_file_read("whole.zst", FTH_FILE_LIMIT("a file", 1 << 21), &content, NULL),
                     FTH_OK);
    assert_int_equal(content.size, text.size);
    assert_string_equal(content.data, text.data);
    fth_buffer_fini(&content);
    fth_buffer_fini(&text);
    assert_int_equal(fth_file_write_compressed("nowhere/whole.zst", "a", 1, NULL), FTH_IO);
}

static void compressed_files_are_recognised(void **state)
{
    (void)state;
    static const char *const paths[] = {"c.zst", "ten", "short"};
    write_plain("short", "\x28\xb5\x2f", 3);
    for (size_t i = 0; i < FTH_COUNT(paths); i++) {
        int fd;
        assert_int_equal(fth_file_open_regular(paths[i], &fd, NULL), FTH_OK);
        assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
        assert_int_equal(fth_file_is_compressed(fd), i == 0);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
        close(fd);
    }
}

static void concatenated_frames_are_read_as_one_file(void **state)
{
    (void)state;
    assert_int_equal(system("cat c.zst c.zst > twice.zst"), 0);
    struct fth_buffer once = {0}, twice = {0};
    assert_int_equal(
        fth_file_read("c.zst", FTH_FILE_LIMIT("a file of the test", 1 << 20), &once, NULL), FTH_OK);
    assert_int_equal(
        fth_file_read("twice.zst", FTH_FILE_LIMIT("a file of the test", 1 << 20), &twice, NULL),
        FTH_OK);
    assert_int_equal(twice.size, 2 * once.size);
    fth_buffer_fini(&once);
    fth_buffer_fini(&twice);
}

static void truncated_and_altered_files_are_detected(void **state)
{
    (void)state;
    FILE *file = fopen("c.zst", "rb");
    static char data[1 << 20];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    for (size_t kept = 4; kept < size; kept += size / 50 + 1) {
        struct fth_buffer content = {0};
        struct fth_error error = NO_ERROR;
        write_plain("cut.zst", data, kept);
        assert_int_equal(fth_file_read("cut.zst", FTH_FILE_LIMIT("a file of the test", 1 << 20),
                                       &content, &error),
                         FTH_INVALID);
        assert_contains(error.cause, "truncated");
        fth_buffer_fini(&content);
    }
    /* A file with a flipped bit is rejected, or, if the bit is an unused one of the frame header,
     * gives the original text. It never gives another text. */
    size_t text_size, rejected = 0;
    char *text = long_text(&text_size);
    for (size_t at = 4; at < size; at += at < 16 ? 1 : size / 100 + 1) {
        struct fth_buffer content = {0};
        data[at] ^= 0x10;
        write_plain("bad.zst", data, size);
        data[at] ^= 0x10;
        enum fth_status status =
            fth_file_read("bad.zst", FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL);
        if (status == FTH_OK) {
            assert_int_equal(content.size, text_size);
            assert_memory_equal(content.data, text, text_size);
        }
        rejected += status == FTH_INVALID;
        fth_buffer_fini(&content);
    }
    assert_true(rejected > 95);
    fth_free(text);
}

/* A program at the other end of a pipe may write a line and wait for an answer to it. */
static void a_reader_returns_what_has_arrived(void **state)
{
    (void)state;
    int ends[2];
    char data[16];
    size_t got = 0;
    struct fth_zreader *reader = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(pipe(ends), 0);
    /* A read that would wait for more fails instead. */
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], "first", 5), 5);
    assert_int_equal(fth_zreader_attach(ends[0], "pipe", &reader, NULL), FTH_OK);
    assert_int_equal(fth_zreader_read(reader, data, sizeof data, &got, NULL), FTH_OK);
    assert_int_equal(got, 5);
    assert_memory_equal(data, "first", 5);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(fth_zreader_read(reader, data, sizeof data, &got, NULL), FTH_OK);
    assert_int_equal(got, 1);
    assert_int_equal(data[0], 'x');
    assert_int_equal(fth_zreader_read(reader, data, sizeof data, &got, &error), FTH_IO);
    assert_string_equal(error.argument, "pipe");
    close(ends[1]);
    assert_int_equal(fth_zreader_read(reader, data, sizeof data, &got, NULL), FTH_OK);
    assert_int_equal(got, 0);
    fth_zreader_close(reader);
    close(ends[0]);
}

static void an_aborted_stream_leaves_no_file(void **state)
{
    (void)state;
    size_t before = file_count();
    struct fth_zwriter *writer = NULL;
    assert_int_equal(fth_zwriter_open("gone.zst", 3, &writer, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_write(writer, "abc", 3, NULL), FTH_OK);
    fth_zwriter_abort(writer);
    fth_zwriter_abort(NULL);
    fth_zreader_close(NULL);
    assert_int_equal(file_count(), before);
}

static void reports_a_full_disk(void **state)
{
    (void)state;
    struct fth_zwriter *writer = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_zwriter_open("/dev/full", 3, &writer, &error), FTH_OK);
    assert_int_equal(fth_zwriter_write(writer, "abc", 3, &error), FTH_OK);
    assert_int_equal(fth_zwriter_commit(writer, &error), FTH_IO);
    assert_contains(error.cause, "No space left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_replaces_a_file_and_leaves_no_other_behind),
        cmocka_unit_test(an_aborted_write_keeps_the_old_file),
        cmocka_unit_test(writing_to_a_link_replaces_its_target),
        cmocka_unit_test(a_device_is_written_not_replaced),
        cmocka_unit_test(reports_missing_folders_and_files),
        cmocka_unit_test(a_file_above_the_size_limit_is_rejected),
        cmocka_unit_test(the_limit_and_its_option_are_named),
        cmocka_unit_test(only_regular_files_are_opened_where_one_is_expected),
        cmocka_unit_test(compressed_files_read_back),
        cmocka_unit_test(whole_files_are_compressed),
        cmocka_unit_test(compressed_files_are_recognised),
        cmocka_unit_test(concatenated_frames_are_read_as_one_file),
        cmocka_unit_test(truncated_and_altered_files_are_detected),
        cmocka_unit_test(a_reader_returns_what_has_arrived),
        cmocka_unit_test(an_aborted_stream_leaves_no_file),
        cmocka_unit_test(reports_a_full_disk),
    };
    return cmocka_run_group_tests_name("file", tests, enter_folder, leave_folder);
}
