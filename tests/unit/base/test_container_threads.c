/* Tests containers whose parts are compressed by threads (base/container/container_queue.c): the
 * file is the same as without threads, failures are reported, and a child process leaves it alone.
 */
#include "base/container/container.h"
#include "check.h"
#include "folder.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 200, LARGE_BYTES = 70 << 20 /* more than the queue takes at once */ };

static const struct fth_container_format format = {.magic = "testfile",
                                                   .end_magic = "testtail",
                                                   .name = "a test file",
                                                   .read = "read test",
                                                   .write = "write test",
                                                   .level = 1,
                                                   .plain_bytes = 100,
                                                   .checksum = fth_fnv_checksum};

static struct fth_container_writer *create(const char *path, size_t threads)
{
    struct fth_container_writer *writer;
    struct fth_atomic_file *file;
    assert_int_equal(fth_atomic_open(path, &file, NULL), FTH_OK);
    assert_int_equal(fth_container_create(&format, file, &writer, NULL), FTH_OK);
    fth_container_use_threads(writer, threads);
    return writer;
}

/* Puts `bytes` bytes that depend on `seed` and can be compressed to a half. */
static enum fth_status put(struct fth_container_writer *writer, uint32_t seed, size_t bytes,
                           uint64_t *offset, struct fth_error *error)
{
    struct fth_buffer content = {0};
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    assert_true(fth_buffer_reserve(&content, bytes));
    for (size_t i = 0; i < bytes; i++)
        content.data[i] = (char)(i % 4096 < 16 ? fth_rng_below(&rng, 256) : 7);
    content.size = bytes;
    enum fth_status status = fth_container_put(writer, seed, &content, offset, error);
    fth_buffer_fini(&content);
    return status;
}

/* Writes parts of many sizes, with offsets of some, and returns the contents of the file. */
static struct fth_buffer write_file(const char *path, size_t threads)
{
    struct fth_buffer text = {0};
    struct fth_container_writer *writer = create(path, threads);
    uint64_t offset = 0, middle = 0;
    for (uint32_t i = 0; i < PARTS; i++)
        assert_int_equal(
            put(writer, i, (size_t)i * i * (i % 5), i == PARTS / 2 ? &middle : NULL, NULL), FTH_OK);
    assert_int_equal(put(writer, PARTS, LARGE_BYTES, NULL, NULL), FTH_OK);
    assert_int_equal(put(writer, PARTS + 1, 10, &offset, NULL), FTH_OK);
    assert_true(middle > 0 && middle < offset);
    assert_int_equal(fth_container_commit(writer, offset, NULL), FTH_OK);
    assert_int_equal(fth_file_read(path, FTH_FILE_LIMIT("a test file", 1 << 30), &text, NULL),
                     FTH_OK);
    return text;
}

static void threads_write_the_same_file(void **state)
{
    (void)state;
    struct fth_buffer expected = write_file("plain", 0);
    const size_t threads[] = {1, 2, 7, 1000};
    for (size_t i = 0; i < FTH_COUNT(threads); i++) {
        struct fth_buffer text = write_file("threads", threads[i]);
        assert_int_equal(text.size, expected.size);
        assert_memory_equal(text.data, expected.data, text.size);
        fth_buffer_fini(&text);
    }
    fth_buffer_fini(&expected);
}

/* Contents of at most 65,536 bytes are stored as they are if the format says so, with a header
 * whose form depends on their size. */
static void short_contents_are_read_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 99, 255, 256, 257, 65535, 65536, 65537};
    struct fth_container_format plain = format;
    plain.plain_bytes = 65536;
    struct fth_container_writer *writer;
    struct fth_atomic_file *file;
    struct fth_container *container;
    uint64_t offsets[FTH_COUNT(sizes)], next;
    assert_int_equal(fth_atomic_open("plain", &file, NULL), FTH_OK);
    assert_int_equal(fth_container_create(&plain, file, &writer, NULL), FTH_OK);
    for (uint32_t i = 0; i < FTH_COUNT(sizes); i++)
        assert_int_equal(put(writer, i, sizes[i], &offsets[i], NULL), FTH_OK);
    assert_int_equal(fth_container_commit(writer, offsets[0], NULL), FTH_OK);
    assert_int_equal(fth_container_open(&plain, "plain", &container, NULL), FTH_OK);
    for (uint32_t i = 0; i < FTH_COUNT(sizes); i++) {
        struct fth_buffer content = {0};
        struct fth_rng rng;
        uint32_t type;
        fth_rng_init(&rng, i);
        assert_int_equal(fth_container_get(container, offsets[i], &type, &content, &next, NULL),
                         FTH_OK);
        assert_int_equal(type, i);
        assert_int_equal(content.size, sizes[i]);
        if (sizes[i] == 65537)
            assert_true(next - offsets[i] < 5000);
        else
            assert_in_range(next - offsets[i], sizes[i] + 20, sizes[i] + 31);
        for (size_t at = 0; at < sizes[i]; at++)
            if (content.data[at] != (char)(at % 4096 < 16 ? fth_rng_below(&rng, 256) : 7))
                fail_msg("size %zu: byte %zu differs", sizes[i], at);
        fth_buffer_fini(&content);
    }
    fth_container_close(container);
}

static void sizes_include_what_is_waiting(void **state)
{
    (void)state;
    struct fth_container_writer *plain = create("plain", 0), *threads = create("threads", 2);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(put(plain, i, 100000, NULL, NULL), FTH_OK);
        assert_int_equal(put(threads, i, 100000, NULL, NULL), FTH_OK);
        const uint64_t written = fth_container_written(plain);
        assert_false(fth_container_exceeds(threads, written));
        assert_true(fth_container_exceeds(threads, written - 1));
        assert_false(fth_container_exceeds(threads, UINT64_MAX));
        assert_int_equal(fth_container_written(threads), written);
    }
    fth_container_abort(plain);
    fth_container_abort(threads);
}

/* The file system refuses to write more than 1 MiB. A later part, the next wait for an offset, and
 * the end report it. */
static void failures_are_reported(void **state)
{
    (void)state;
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 1 << 20;
    struct fth_error error = NO_ERROR, second = NO_ERROR, third = NO_ERROR;
    struct fth_container_writer *writer = create("failed", 3);
    enum fth_status status = FTH_OK;
    uint64_t offset;
    const unsigned count = (unsigned)(setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 100000 : 0);
    for (uint32_t i = 0; i < count && status == FTH_OK; i++)
        status = put(writer, i, 200000, NULL, &error);
    const enum fth_status again = put(writer, 1, 100, &offset, &second);
    const enum fth_status end = fth_container_commit(writer, 8, &third);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, FTH_IO);
    assert_int_equal(error.status, FTH_IO);
    assert_string_equal(error.operation, "write");
    assert_int_equal(again, FTH_IO);
    assert_string_equal(second.cause, error.cause);
    assert_int_equal(end, FTH_IO);
    assert_string_equal(third.cause, error.cause);
    assert_int_equal(access("failed", F_OK), -1); /* nothing incomplete gets the name */
}

/* A child process has none of the threads; it frees the writer and does not wait. */
static void children_abandon_the_file(void **state)
{
    (void)state;
    int result = 0;
    uint64_t offset = 0;
    struct fth_container_writer *writer = create("threads", 2);
    assert_int_equal(put(writer, 1, 1000, NULL, NULL), FTH_OK);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        fth_container_abort(writer);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(put(writer, 2, 1000, &offset, NULL), FTH_OK);
    assert_int_equal(fth_container_commit(writer, offset, NULL), FTH_OK);
    assert_int_equal(access("threads", F_OK), 0);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_write_the_same_file),
        cmocka_unit_test(short_contents_are_read_back),
        cmocka_unit_test(sizes_include_what_is_waiting),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(children_abandon_the_file),
    };
    return cmocka_run_group_tests_name("container threads", tests, enter_folder, leave_folder);
}
