/* Tests the container format of trace files (base/container/): what its functions return
 * for each kind of damage, and past the end of the file. */
#include "check.h"
#include "folder.h"
#include "trace/trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAGIC_BYTES = 8 };
static const char path[] = "a.trace";
static const char texts[2][8] = {"content", "index"};

/* Writes a file with two parts and returns their offsets. */
static void write_parts(uint64_t offsets[2])
{
    struct fth_atomic_file *file;
    struct fth_container_writer *writer;
    assert_int_equal(fth_atomic_open(path, &file, NULL), FTH_OK);
    assert_int_equal(fth_container_create(&fth_trace_format, file, &writer, NULL), FTH_OK);
    for (int i = 0; i < 2; i++) {
        struct fth_buffer content = {0};
        fth_buffer_append(&content, texts[i], sizeof texts[i]);
        assert_int_equal(fth_container_put(writer, i ? FTH_PART_INDEX : FTH_PART_LAUNCH, &content,
                                           &offsets[i], NULL),
                         FTH_OK);
        fth_buffer_fini(&content);
    }
    assert_int_equal(fth_container_commit(writer, offsets[1], NULL), FTH_OK);
}

static struct fth_container *open_parts(void)
{
    struct fth_container *container;
    assert_int_equal(fth_container_open(&fth_trace_format, path, &container, NULL), FTH_OK);
    return container;
}

static void parts_are_read_back(void **state)
{
    (void)state;
    uint64_t offsets[2], next = 0;
    write_parts(offsets);
    assert_int_equal(offsets[0], MAGIC_BYTES);
    struct fth_container *container = open_parts();
    assert_int_equal(fth_container_index(container), offsets[1]);
    assert_string_equal(fth_container_path(container), path);
    for (int i = 0; i < 2; i++) {
        struct fth_buffer content = {0};
        struct fth_part_header skipped = {0};
        uint32_t type = 0;
        assert_int_equal(fth_container_skip(container, offsets[i], &skipped, NULL), FTH_OK);
        assert_int_equal(fth_container_get(container, offsets[i], &type, &content, &next, NULL),
                         FTH_OK);
        assert_int_equal(type, i ? FTH_PART_INDEX : FTH_PART_LAUNCH);
        assert_int_equal(skipped.type, type);
        assert_int_equal(skipped.bytes, sizeof texts[i]);
        assert_int_equal(skipped.next, next);
        assert_int_equal(content.size, sizeof texts[i]);
        assert_memory_equal(content.data, texts[i], sizeof texts[i]);
        fth_buffer_fini(&content);
    }
    assert_int_equal(next + FTH_CONTAINER_TAIL_BYTES, fth_container_bytes(container));
    fth_container_close(container);
}

/* Within the last header, at the end, past the end: there is no part, and no message. */
static void parts_past_the_end_are_unavailable(void **state)
{
    (void)state;
    uint64_t offsets[2];
    write_parts(offsets);
    struct fth_container *container = open_parts();
    const uint64_t bytes = fth_container_bytes(container);
    const uint64_t past[] = {
        bytes - FTH_PART_HEADER_BYTES + 1, bytes - 1, bytes, bytes + 1, bytes + 100, UINT64_MAX};
    for (size_t i = 0; i < FTH_COUNT(past); i++) {
        struct fth_buffer content = {0};
        struct fth_error error = NO_ERROR;
        struct fth_part_header header = {.next = 77};
        uint64_t next = 77;
        uint32_t type;
        assert_int_equal(fth_container_skip(container, past[i], &header, &error), FTH_UNAVAILABLE);
        assert_int_equal(header.next, 77);
        assert_int_equal(fth_container_get(container, past[i], &type, &content, &next, &error),
                         FTH_UNAVAILABLE);
        assert_int_equal(error.status, FTH_OK);
        fth_buffer_fini(&content);
    }
    fth_container_close(container);
}

/* The file loses its end while it is open. */
static void files_that_become_shorter_are_reported(void **state)
{
    (void)state;
    uint64_t offsets[2];
    write_parts(offsets);
    const off_t sizes[] = {(off_t)offsets[1], (off_t)offsets[1] + 5,
                           (off_t)offsets[1] + FTH_PART_HEADER_BYTES + 1};
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        struct fth_buffer content = {0};
        struct fth_error error = NO_ERROR, skip_error = NO_ERROR;
        struct fth_part_header header;
        uint64_t next = 0;
        uint32_t type;
        write_parts(offsets);
        struct fth_container *container = open_parts();
        assert_int_equal(truncate(path, sizes[i]), 0);
        assert_int_equal(fth_container_skip(container, offsets[1], &header, &skip_error),
                         i < 2 ? FTH_IO : FTH_OK);
        assert_int_equal(fth_container_get(container, offsets[1], &type, &content, &next, &error),
                         FTH_IO);
        assert_string_equal(error.cause, "the file became shorter while it was being read");
        assert_string_equal(error.operation, "read trace");
        assert_string_equal(error.argument, path);
        if (i < 2)
            assert_string_equal(skip_error.cause, error.cause);
        fth_buffer_fini(&content);
        fth_container_close(container);
    }
}

/* Changes bytes of the first part, and its checksum so that it matches if `matches`. */
static void damage(uint64_t offset, uint64_t end, size_t at, const void *bytes, size_t size,
                   bool matches)
{
    unsigned char part[256];
    const size_t covered = (size_t)(end - offset) - FTH_PART_CHECKSUM_BYTES;
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && covered < sizeof part);
    assert_int_equal(pwrite(fd, bytes, size, (off_t)(offset + at)), size);
    assert_int_equal(pread(fd, part, covered, (off_t)offset), covered);
    const uint64_t checksum = fth_fnv_checksum(offset, part, covered);
    if (matches)
        assert_int_equal(pwrite(fd, &checksum, sizeof checksum, (off_t)(offset + covered)),
                         sizeof checksum);
    close(fd);
}

static void damage_is_described(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t bytes[4];
        size_t size;
        bool matches; /* the checksum */
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {12, {0x28}, 1, true, FTH_OK, ""}, /* as it was: the magic number of zstd */
        {12, {0x29}, 1, false, FTH_INVALID, "the part at byte 8 is damaged: wrong checksum"},
        {12,
         {0x29},
         1,
         true,
         FTH_INVALID,
         "the part at byte 8 is damaged: it cannot be decompressed"},
        {4, {9}, 1, true, FTH_INVALID, "the part at byte 8 is damaged: it cannot be decompressed"},
        {4, {7}, 1, true, FTH_INVALID, "the part at byte 8 is damaged: it cannot be decompressed"},
        {4,
         {0, 0, 0, 0x10},
         4,
         true,
         FTH_INVALID,
         "the part at byte 8 is damaged: it cannot be decompressed"},
        {4,
         {1, 0, 0, 0x10},
         4,
         true,
         FTH_INVALID,
         "the part at byte 8 is damaged: it is larger than 256 MiB"},
        {8, {0xff, 0xff}, 2, true, FTH_UNAVAILABLE, ""}, /* the file ends within the part */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer content = {0};
        struct fth_error error = NO_ERROR;
        uint64_t offsets[2], next = 0;
        uint32_t type;
        write_parts(offsets);
        damage(offsets[0], offsets[1], rows[i].at, rows[i].bytes, rows[i].size, rows[i].matches);
        struct fth_container *container = open_parts();
        assert_int_equal(fth_container_get(container, offsets[0], &type, &content, &next, &error),
                         rows[i].status);
        assert_string_equal(error.cause, rows[i].cause);
        fth_buffer_fini(&content);
        fth_container_close(container);
    }
}

/* A tail that is missing or damaged is no error: the container then has no index. */
static void damaged_tails_have_no_index(void **state)
{
    (void)state;
    uint64_t offsets[2];
    write_parts(offsets);
    struct fth_container *container = open_parts();
    const off_t tail = (off_t)fth_container_bytes(container) - FTH_CONTAINER_TAIL_BYTES;
    fth_container_close(container);
    const int fd = open(path, O_RDWR);
    for (int at = 0; at < FTH_CONTAINER_TAIL_BYTES; at++) {
        char byte;
        assert_int_equal(pread(fd, &byte, 1, tail + at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, tail + at), 1);
        container = open_parts();
        assert_int_equal(fth_container_index(container), 0);
        fth_container_close(container);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, tail + at), 1);
    }
    close(fd);
    container = open_parts();
    assert_int_equal(fth_container_index(container), offsets[1]);
    fth_container_close(container);
    assert_int_equal(truncate(path, MAGIC_BYTES), 0);
    container = open_parts();
    assert_int_equal(fth_container_index(container), 0);
    assert_int_equal(fth_container_bytes(container), MAGIC_BYTES);
    fth_container_close(container);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char *const contents[] = {"", "fthtrac", "fthtrac2 and more"};
    struct fth_container *container;
    for (size_t i = 0; i < FTH_COUNT(contents); i++) {
        struct fth_error error = NO_ERROR;
        write_plain(path, contents[i], strlen(contents[i]));
        assert_int_equal(fth_container_open(&fth_trace_format, path, &container, &error),
                         FTH_INVALID);
        assert_null(container);
        assert_string_equal(error.cause,
                            "not a trace: the file does not begin with \"" FTH_TRACE_MAGIC "\"");
    }
    struct fth_error error = NO_ERROR, closed = NO_ERROR;
    assert_int_equal(fth_container_open(&fth_trace_format, "nowhere/a", &container, &error),
                     FTH_NOT_FOUND);
    assert_string_equal(error.cause, "No such file or directory");
    assert_int_equal(fth_container_attach(&fth_trace_format, -1, path, &container, &closed),
                     FTH_IO);
    assert_null(container);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_back),
        cmocka_unit_test(parts_past_the_end_are_unavailable),
        cmocka_unit_test(files_that_become_shorter_are_reported),
        cmocka_unit_test(damage_is_described),
        cmocka_unit_test(damaged_tails_have_no_index),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests_name("container", tests, enter_folder, leave_folder);
}
