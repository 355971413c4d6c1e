/* Tests that writing and reading capsules without memory fails with FTH_NO_MEMORY, that a file
 * which cannot grow is reported, and that what was written can be read; and how threads share the
 * cache of parts. tests/leaks checks that nothing is left. */
#include "capsule_example.h"
#include "failing.h"
#include "folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ---- allocations of libzstd, and of copies of texts ---- */

ZSTD_CCtx *__real_ZSTD_createCCtx(void);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
size_t __real_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level);
size_t __wrap_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level);
size_t __real_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);
size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);

static const size_t no_memory = -(size_t)ZSTD_error_memory_allocation;

ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    return fails() ? NULL : __real_ZSTD_createCCtx();
}

size_t __wrap_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level)
{
    return fails() ? no_memory : __real_ZSTD_compressCCtx(context, to, capacity, from, size, level);
}

/* Threads that decompress wait while `is_held` is set. */
static struct {
    atomic_bool is_held;
    sem_t entered, released;
    atomic_int count; /* of calls */
} gate;

size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size)
{
    gate.count++;
    if (gate.is_held) {
        sem_post(&gate.entered);
        sem_wait(&gate.released);
    }
    return fails() ? no_memory : __real_ZSTD_decompress(to, capacity, from, size);
}

char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

char *__wrap_strndup(const char *text, size_t size)
{
    const size_t length = strnlen(text, size);
    char *copy = __wrap_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

/* ---- memory ---- */

/* Reads the file that is left, which must be a beginning of the example or have no complete part.
 */
static void read_rest(void)
{
    struct fth_capsule *capsule;
    if (fth_capsule_open(capsule_path, &capsule, NULL) != FTH_OK)
        return;
    for (size_t i = 0; i < fth_capsule_launch_count(capsule); i++)
        compare_launch(fth_capsule_launch(capsule, i), &example_launches[i]);
    for (uint32_t i = 1; i <= fth_capsule_scope(capsule)->image_count; i++)
        compare_image(capsule, i);
    fth_capsule_close(capsule);
}

/* Writes the example; `append`: in two steps. */
static enum fth_status write_all(bool append, struct fth_error *error)
{
    struct fth_capsule_writer *writer;
    FTH_TRY(fth_capsule_create(capsule_path, &example_info, &writer, error));
    enum fth_status status = put_example(writer, error);
    if (status == FTH_OK)
        status = fth_capsule_finish(writer, error);
    else
        fth_capsule_abandon(writer);
    if (status != FTH_OK || !append)
        return status;
    FTH_TRY(fth_capsule_append(capsule_path, &writer, error));
    status = fth_capsule_put_ptx(writer, 2, "ptx", 3, error);
    if (status == FTH_OK)
        status = fth_capsule_finish(writer, error);
    else
        fth_capsule_abandon(writer);
    return status;
}

static void writing_needs_memory(void **state)
{
    (void)state;
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status != FTH_OK; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        status = write_all(true, &error);
        const bool failed = has_failed();
        fail_from(0, false);
        assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
        assert_int_equal(error.status, status);
        if (failed)
            read_rest();
        else
            assert_true(number > 60);
    }
}

static enum fth_status read_all(struct fth_error *error)
{
    struct fth_capsule *capsule;
    struct fth_buffer ptx = {0};
    FTH_TRY(fth_capsule_open(capsule_path, &capsule, error));
    static unsigned char data[LARGE_BYTES];
    enum fth_status status = fth_capsule_load_ptx(capsule, 1, &ptx, error);
    if (status == FTH_OK)
        status = fth_capsule_read_image(capsule, 1, 0, LARGE_BYTES, data, error);
    fth_buffer_fini(&ptx);
    fth_capsule_close(capsule);
    return status;
}

static void reading_needs_memory(void **state)
{
    (void)state;
    enum fth_status status = FTH_NO_MEMORY;
    write_example();
    for (size_t number = 1; status != FTH_OK; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        status = read_all(&error);
        const bool failed = has_failed();
        fail_from(0, false);
        assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
        assert_int_equal(error.status, status);
        assert_true(failed || number > 15); /* allocations */
    }
}

/* The arrays of a launch, which do not fit into the memory that the texts before them use. */
static void large_launches_need_memory(void **state)
{
    (void)state;
    enum { REGIONS = 2000 };
    static struct fth_capsule_region regions[REGIONS];
    static const struct fth_capsule_launch launch = {
        .kernel = "k", .regions = regions, .region_count = REGIONS};
    struct fth_capsule_writer *writer;
    struct fth_capsule *capsule;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    enum fth_status status = FTH_NO_MEMORY;
    for (size_t number = 1; status != FTH_OK; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        status = fth_capsule_open(capsule_path, &capsule, &error);
        assert_int_equal(status, has_failed() ? FTH_NO_MEMORY : FTH_OK);
        fail_from(0, false);
        assert_int_equal(error.status, status);
    }
    compare_launch(fth_capsule_launch(capsule, 0), &launch);
    fth_capsule_close(capsule);
}

/* After a chunk could not be read for lack of memory, it can be read. */
static void chunks_can_be_read_later(void **state)
{
    (void)state;
    struct fth_capsule *capsule;
    unsigned char byte;
    write_example();
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    fail_from(1, true);
    assert_int_equal(fth_capsule_read_image(capsule, 1, 0, 1, &byte, NULL), FTH_NO_MEMORY);
    fail_from(0, false);
    compare_image(capsule, 1);
    /* Now the cache has it. */
    fail_from(1, true);
    assert_int_equal(fth_capsule_read_image(capsule, 1, 0, 1, &byte, NULL), FTH_OK);
    fail_from(0, false);
    fth_capsule_close(capsule);
}

/* Lists and tables that cannot grow. */
static void long_lists_need_memory(void **state)
{
    (void)state;
    enum { CHUNKS = 600 }; /* more than the first places of the table */
    static unsigned char chunk[FTH_CHUNK_BYTES];
    struct fth_capsule_writer *writer;
    uint32_t number;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    const uint64_t bytes = (uint64_t)CHUNKS * FTH_CHUNK_BYTES;
    size_t failures = 0;
    for (size_t at = 0; at < 12; at++) {
        enum fth_status status = fth_capsule_begin_image(writer, 0, bytes, NULL);
        for (uint32_t i = 0; status == FTH_OK && i < CHUNKS; i++) {
            memcpy(chunk, &i, sizeof i);
            chunk[4] = (unsigned char)at;
            chunk[5] = 1;
            if (i == 50 * at)
                fail_from(1, true);
            status = fth_capsule_add_to_image(writer, chunk, sizeof chunk, NULL);
            fail_from(0, false);
        }
        /* Writing a part needs no memory once one of its size was written. */
        failures += status != FTH_OK;
        if (status != FTH_OK)
            assert_int_equal(fth_capsule_end_image(writer, &number, NULL), FTH_INVALID);
    }
    assert_true(failures > 0);
    fth_capsule_abandon(writer);
    struct fth_capsule *capsule;
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    fth_capsule_close(capsule);
}

/* ---- threads that read parts ---- */

enum { PARTS = 40, SLOTS = 32 }; /* more parts than the cache has slots */

/* A thread that reads one byte of an image. */
struct reader {
    pthread_t thread;
    struct fth_capsule *capsule;
    uint32_t image;
    unsigned char byte;
    enum fth_status status;
};

static void *read_byte(void *argument)
{
    struct reader *reader = argument;
    reader->status =
        fth_capsule_read_image(reader->capsule, reader->image, 0, 1, &reader->byte, NULL);
    return NULL;
}

/* Opens a capsule with images whose chunks are in different parts. Image i begins with the byte i.
 */
static struct fth_capsule *open_many_parts(void)
{
    struct fth_capsule_writer *writer;
    struct fth_capsule *capsule;
    uint32_t number;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    for (int i = 1; i <= PARTS; i++) {
        const unsigned char byte = (unsigned char)i;
        assert_int_equal(put_image(writer, 0, &byte, 1, &number, NULL), FTH_OK);
    }
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    gate.count = 0;
    gate.is_held = true;
    assert_int_equal(sem_init(&gate.entered, 0, 0) | sem_init(&gate.released, 0, 0), 0);
    return capsule;
}

static void start(struct reader *reader, struct fth_capsule *capsule, uint32_t image)
{
    *reader = (struct reader){.capsule = capsule, .image = image};
    assert_int_equal(pthread_create(&reader->thread, NULL, read_byte, reader), 0);
}

static void join(const struct reader *reader)
{
    assert_int_equal(pthread_join(reader->thread, NULL), 0);
    assert_int_equal(reader->status, FTH_OK);
    assert_int_equal(reader->byte, reader->image);
}

/* Gives threads that can continue the time to do so. */
static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Threads that need the same part decompress it once. */
static void parts_are_read_once(void **state)
{
    (void)state;
    struct fth_capsule *capsule = open_many_parts();
    struct reader readers[3];
    start(&readers[0], capsule, 1);
    assert_int_equal(sem_wait(&gate.entered), 0);
    for (size_t i = 1; i < FTH_COUNT(readers); i++)
        start(&readers[i], capsule, 1);
    wait_a_moment();
    gate.is_held = false;
    sem_post(&gate.released);
    for (size_t i = 0; i < FTH_COUNT(readers); i++)
        join(&readers[i]);
    assert_int_equal(gate.count, 1);
    fth_capsule_close(capsule);
}

/* While all slots are in use, other threads wait for one. */
static void threads_wait_for_a_slot(void **state)
{
    (void)state;
    struct fth_capsule *capsule = open_many_parts();
    struct reader readers[PARTS];
    for (uint32_t i = 0; i < PARTS; i++)
        start(&readers[i], capsule, i + 1);
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(sem_wait(&gate.entered), 0);
    wait_a_moment();
    assert_int_equal(gate.count, SLOTS);
    gate.is_held = false;
    for (int i = 0; i < SLOTS; i++)
        sem_post(&gate.released);
    for (size_t i = 0; i < PARTS; i++)
        join(&readers[i]);
    assert_int_equal(gate.count, PARTS);
    fth_capsule_close(capsule);
}

/* ---- files ---- */

/* The file cannot grow beyond some size. Each call after the first one that failed fails in the
 * same way, and what was written can be read. */
static void full_disks_are_reported(void **state)
{
    (void)state;
    struct rlimit before;
    struct fth_buffer file = {0};
    write_example();
    assert_int_equal(fth_file_read(capsule_path, FTH_FILE_LIMIT("a capsule", 1 << 20), &file, NULL),
                     FTH_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t size = 0; size <= file.size; size += size + 20 > file.size ? 1 : 17) {
        struct rlimit limit = before;
        struct fth_capsule_writer *writer;
        struct fth_error error = NO_ERROR, again = NO_ERROR, end = NO_ERROR;
        limit.rlim_cur = size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum fth_status status = fth_capsule_create(capsule_path, &example_info, &writer, &error);
        const bool created = status == FTH_OK;
        if (created)
            status = put_example(writer, &error);
        if (created && status != FTH_OK) {
            assert_int_equal(fth_capsule_put_ptx(writer, 2, "ptx", 3, &again),
                             writer->scope.module_count < 2 ? FTH_INVALID : FTH_IO);
            assert_int_equal(fth_capsule_finish(writer, &end), FTH_IO);
            assert_string_equal(end.cause, error.cause);
        } else if (created) {
            status = fth_capsule_finish(writer, &error);
        }
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, size < file.size ? FTH_IO : FTH_OK);
        if (status != FTH_OK)
            assert_string_equal(error.cause, "File too large");
        read_rest();
    }
    signal(SIGXFSZ, handler);
    fth_buffer_fini(&file);
}

/* A program that is executed does not inherit the file. */
static void files_are_closed_on_exec(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    size_t found = 0;
    for (int fd = 0; fd < 100; fd++) {
        char link[32], target[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t size = readlink(link, target, sizeof target - 1);
        target[size < 0 ? 0 : size] = '\0';
        if (strstr(target, capsule_path)) {
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
            found++;
        }
    }
    assert_int_equal(found, 1);
    fth_capsule_abandon(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_needs_memory),       cmocka_unit_test(reading_needs_memory),
        cmocka_unit_test(large_launches_need_memory), cmocka_unit_test(parts_are_read_once),
        cmocka_unit_test(threads_wait_for_a_slot),    cmocka_unit_test(chunks_can_be_read_later),
        cmocka_unit_test(long_lists_need_memory),     cmocka_unit_test(full_disks_are_reported),
        cmocka_unit_test(files_are_closed_on_exec),
    };
    return cmocka_run_group_tests_name("capsule-no-memory", tests, enter_folder, leave_folder);
}
