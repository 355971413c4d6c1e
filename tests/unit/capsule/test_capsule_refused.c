/* Tests what writers and readers of capsules refuse. */
#define _GNU_SOURCE /* for memfd_create */
#include "capsule_example.h"
#include "folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- writers ---- */

static struct fth_capsule_writer *create(void)
{
    struct fth_capsule_writer *writer;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    return writer;
}

static const struct fth_capsule_region one_region[] = {{.address = 100, .bytes = 50}};

static char long_text[FTH_PART_MAX_TEXT_BYTES + 2];
static struct fth_capsule_region many_regions[FTH_CAPSULE_MAX_REGIONS + 1];
static const struct fth_capsule_region invalid_regions[][2] = {
    {{.address = 100, .bytes = 50}, {.address = 149, .bytes = 1}},
    {{.address = 100, .bytes = 50}, {.address = 51, .bytes = 50}},
    {{.address = 100, .bytes = 50}, {.address = 100, .bytes = 50}},
    {{.bytes = FTH_CAPSULE_MAX_REGION_BYTES + 1}},
    {{.address = UINT64_MAX, .bytes = 1}},
    {{.kind = (enum fth_capsule_memory)(FTH_CAPSULE_ARRAY + 1)}},
    {{.kind = FTH_CAPSULE_VARIABLE}},
    {{.kind = FTH_CAPSULE_VARIABLE, .variable = long_text}},
    {{.bytes = LARGE_BYTES, .before = 3}},
    {{.bytes = LARGE_BYTES - 1, .before = 1}},
};
static const struct fth_capsule_tensor_map invalid_maps[][FTH_CAPSULE_MAX_TENSOR_MAPS + 1] = {
    {{.region = 1}},
    {{.region = 0}},
    {{.region = UINT32_MAX, .offset = 33}},
    {{.region = UINT32_MAX, .rank = 6}}};
static const struct {
    struct fth_capsule_launch launch;
    const char *cause;
} invalid_launches[] = {
    {{.module = 4}, "its module does not exist"},
    {{.kernel = long_text}, "the name of its kernel is longer than 65,536 bytes"},
    {{.reason = long_text}, "the reason why it cannot be repeated is longer than 65,536 bytes"},
    {{.parameter_bytes = 65537}, "more than 65,536 bytes of parameters"},
    {{.regions = many_regions, .region_count = 65537}, "more than 65,536 regions"},
    {{.tensor_maps = invalid_maps[0], .tensor_map_count = 257}, "more than 256 tensor maps"},
    {{.regions = invalid_regions[0], .region_count = 2}, "two regions overlap"},
    {{.regions = invalid_regions[1], .region_count = 2}, "two regions overlap"},
    {{.regions = invalid_regions[2], .region_count = 2}, "two regions overlap"},
    {{.regions = invalid_regions[3], .region_count = 1}, "a region is larger than 1 TiB"},
    {{.regions = invalid_regions[4], .region_count = 1}, "a region exceeds the address space"},
    {{.regions = invalid_regions[5], .region_count = 1}, "a region has an unknown kind"},
    {{.regions = invalid_regions[6], .region_count = 1}, "a variable has no name"},
    {{.regions = invalid_regions[7], .region_count = 1},
     "the name of a variable is longer than 65,536 bytes"},
    {{.regions = invalid_regions[8], .region_count = 1}, "the image of a region does not exist"},
    {{.regions = invalid_regions[9], .region_count = 1},
     "the image of a region has another size than the region"},
    {{.regions = one_region,
      .region_count = 1,
      .tensor_maps = invalid_maps[0],
      .tensor_map_count = 1},
     "the region of a tensor map does not exist"},
    {{.regions = one_region,
      .region_count = 1,
      .tensor_maps = invalid_maps[1],
      .tensor_map_count = 1},
     "a tensor map exceeds its region"},
    {{.parameters = example_parameters,
      .parameter_bytes = 160,
      .tensor_maps = invalid_maps[2],
      .tensor_map_count = 1},
     "a tensor map exceeds its region"},
    {{.parameters = example_parameters,
      .parameter_bytes = 160,
      .tensor_maps = invalid_maps[3],
      .tensor_map_count = 1},
     "a tensor map has more than 5 dimensions"},
};

static void invalid_launches_are_refused(void **state)
{
    (void)state;
    memset(long_text, 'a', sizeof long_text - 1);
    struct fth_capsule_writer *writer = create();
    uint32_t module;
    for (int i = 0; i < 3; i++)
        assert_int_equal(fth_capsule_put_module(writer, &example_modules[1], &module, NULL),
                         FTH_OK);
    assert_int_equal(put_images(writer, 1, 2, NULL), FTH_OK);
    const uint64_t written = fth_container_written(writer->file);
    for (size_t i = 0; i < FTH_COUNT(invalid_launches); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_capsule_launch launch = invalid_launches[i].launch;
        launch.kernel = launch.kernel ? launch.kernel : "k";
        assert_int_equal(fth_capsule_put_launch(writer, &launch, &error), FTH_INVALID);
        assert_string_equal(error.operation, "write capsule");
        assert_contains(error.cause, "a launch is invalid: ");
        assert_contains(error.cause, invalid_launches[i].cause);
    }
    assert_int_equal(fth_container_written(writer->file), written);
    fth_capsule_abandon(writer);
}

static void launches_at_the_limits_are_accepted(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer = create();
    memset(long_text, 'a', sizeof long_text - 1);
    /* The order of regions does not matter, and empty ones do not overlap. */
    static const struct fth_capsule_region fine[] = {
        {.address = 100, .bytes = 50}, {.address = 50, .bytes = 50}, {.address = 120}};
    long_text[FTH_PART_MAX_TEXT_BYTES] = '\0';
    const struct fth_capsule_launch launch = {.kernel = long_text,
                                              .reason = long_text,
                                              .parameters = long_text,
                                              .parameter_bytes = FTH_CAPSULE_MAX_PARAMETER_BYTES,
                                              .regions = fine,
                                              .region_count = FTH_COUNT(fine)};
    const struct fth_capsule_launch with_regions = {
        .kernel = "k", .regions = many_regions, .region_count = FTH_CAPSULE_MAX_REGIONS};
    assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_launch(writer, &with_regions, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    struct fth_capsule *capsule;
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    compare_launch(fth_capsule_launch(capsule, 0), &launch);
    compare_launch(fth_capsule_launch(capsule, 1), &with_regions);
    fth_capsule_close(capsule);
}

static void invalid_modules_are_refused(void **state)
{
    (void)state;
    memset(long_text, 'a', sizeof long_text - 1);
    const struct {
        struct fth_capsule_module module;
        const char *cause;
    } rows[] = {
        {{.name = long_text}, "its name is longer than 65,536 bytes"},
        {{.name = "", .reason = long_text}, "the reason why it has no PTX is longer than"},
        {{.name = "", .ptx = "", .ptx_bytes = FTH_CAPSULE_MAX_PTX_BYTES + 1},
         "PTX is invalid: it is larger than 256 MiB"},
    };
    struct fth_capsule_writer *writer = create();
    const uint64_t written = fth_container_written(writer->file);
    uint32_t module;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_capsule_put_module(writer, &rows[i].module, &module, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_capsule_put_ptx(writer, i, "", 0, &error), FTH_INVALID);
        assert_contains(error.cause, "its module does not exist");
    }
    assert_int_equal(fth_container_written(writer->file), written);
    /* A module without PTX always has a reason. */
    assert_int_equal(
        fth_capsule_put_module(writer, &(struct fth_capsule_module){.name = ""}, &module, NULL),
        FTH_OK);
    fth_capsule_abandon(writer);
    struct fth_capsule *capsule;
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    assert_string_equal(fth_capsule_module(capsule, 1)->reason, "it has no PTX");
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_capsule_load_ptx(capsule, 2, &(struct fth_buffer){0}, &error),
                     FTH_NOT_FOUND);
    assert_string_equal(error.cause, "there is no module 2");
    fth_capsule_close(capsule);
}

static void expect(enum fth_status status, const struct fth_error *error, const char *cause)
{
    assert_int_equal(status, FTH_INVALID);
    assert_contains(error->cause, cause);
}

static void invalid_images_are_refused(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer = create();
    const char *const not_begun = "an image is invalid: it was not begun, or it has failed";
    uint32_t number;
    struct fth_error errors[8] = {{0}};
    expect(fth_capsule_begin_image(writer, 1, 10, &errors[0]), &errors[0],
           "an image is invalid: the previous image does not exist");
    expect(fth_capsule_begin_image(writer, 0, FTH_CAPSULE_MAX_REGION_BYTES + 1, &errors[1]),
           &errors[1], "an image is invalid: it is larger than 1 TiB");
    expect(fth_capsule_add_to_image(writer, "", 1, &errors[2]), &errors[2], not_begun);
    expect(fth_capsule_end_image(writer, &number, &errors[3]), &errors[3], not_begun);
    assert_int_equal(fth_capsule_begin_image(writer, 0, 10, NULL), FTH_OK);
    expect(fth_capsule_add_to_image(writer, "0123456789a", 11, &errors[4]), &errors[4],
           "it has more bytes than its region");
    expect(fth_capsule_end_image(writer, &number, &errors[5]), &errors[5], not_begun);
    assert_int_equal(fth_capsule_begin_image(writer, 0, 10, NULL), FTH_OK);
    assert_int_equal(fth_capsule_add_to_image(writer, "012345678", 9, NULL), FTH_OK);
    expect(fth_capsule_end_image(writer, &number, &errors[6]), &errors[6],
           "it has fewer bytes than its region");
    expect(fth_capsule_add_to_image(writer, "9", 1, &errors[7]), &errors[7], not_begun);
    /* An image that was not ended is dropped, with a chunk that was not written. */
    static const unsigned char chunk[FTH_CHUNK_BYTES] = {1};
    assert_int_equal(fth_capsule_begin_image(writer, 0, UINT64_C(2) * FTH_CHUNK_BYTES, NULL),
                     FTH_OK);
    assert_int_equal(fth_capsule_add_to_image(writer, chunk, sizeof chunk, NULL), FTH_OK);
    assert_int_equal(fth_capsule_begin_image(writer, 0, 0, NULL), FTH_OK);
    assert_int_equal(fth_capsule_end_image(writer, &number, NULL), FTH_OK);
    assert_int_equal(number, 1);
    /* A previous image of another size does not count. */
    assert_int_equal(put_image(writer, 1, chunk, 10, &number, NULL), FTH_OK);
    assert_int_equal(fth_capsule_begin_image(writer, 2, FTH_CHUNK_BYTES, NULL), FTH_OK);
    assert_int_equal(fth_capsule_add_to_image(writer, chunk, sizeof chunk, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    struct fth_capsule *capsule;
    unsigned char data[10];
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    assert_int_equal(fth_capsule_scope(capsule)->image_count, 2);
    assert_int_equal(fth_capsule_image_bytes(capsule, 1), 0);
    assert_int_equal(fth_capsule_image_bytes(capsule, 3), 0);
    assert_int_equal(fth_capsule_read_image(capsule, 1, 0, 0, data, NULL), FTH_OK);
    static const uint64_t invalid[][3] = {{0, 0, 0},  {3, 0, 0},  {2, 0, 11},
                                          {2, 11, 0}, {2, 10, 1}, {2, 5, UINT64_MAX}};
    for (size_t i = 0; i < FTH_COUNT(invalid); i++) {
        struct fth_error error = NO_ERROR;
        expect(fth_capsule_read_image(capsule, (uint32_t)invalid[i][0], invalid[i][1],
                                      invalid[i][2], data, &error),
               &error, " bytes at byte ");
    }
    fth_capsule_close(capsule);
}

static void invalid_images_after_launches_are_refused(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer = create();
    static const struct fth_capsule_region regions[] = {{.bytes = LARGE_BYTES, .before = 1}};
    static const struct fth_capsule_launch launch = {
        .number = 5, .kernel = "k", .regions = regions, .region_count = 1};
    static const struct {
        uint64_t number;
        uint32_t images[2];
        size_t count;
        const char *cause;
    } rows[] = {
        {4, {1}, 1, "the launch does not exist"},
        {5, {1}, 2, "their number differs from that of the regions"},
        {5, {0}, 0, "their number differs from that of the regions"},
        {5, {3}, 1, "the image of a region does not exist"},
        {5, {2}, 1, "the image of a region has another size than the region"},
        {5, {1}, 1, NULL},
        {5, {1}, 1, "the launch has such images already"},
    };
    assert_int_equal(put_images(writer, 1, 2, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(
            fth_capsule_put_after(writer, rows[i].number, rows[i].images, rows[i].count, &error),
            rows[i].cause ? FTH_INVALID : FTH_OK);
        assert_contains(error.cause, rows[i].cause ? rows[i].cause : "");
    }
    fth_capsule_abandon(writer);
}

/* ---- files ---- */

static void files_that_cannot_be_written_are_refused(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer, *second;
    struct fth_error missing = NO_ERROR, locked = NO_ERROR, pipe = NO_ERROR, other = NO_ERROR;
    assert_int_equal(fth_capsule_create("nowhere/a", &example_info, &writer, &missing), FTH_IO);
    assert_null(writer);
    assert_string_equal(missing.cause, "No such file or directory");
    writer = create();
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &second, &locked), FTH_IO);
    assert_contains(locked.cause, "another process is writing it");
    assert_int_equal(fth_capsule_append(capsule_path, &second, NULL), FTH_IO);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    const int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_int_equal(fth_capsule_create("pipe", &example_info, &writer, &pipe), FTH_INVALID);
    assert_string_equal(pipe.cause, "it is not a regular file");
    close(reader);
    assert_false(fth_capsule_is("pipe"));
    assert_false(fth_capsule_is("nowhere/a"));
    write_plain("other", "fthtrac1", 8);
    assert_false(fth_capsule_is("other"));
    assert_int_equal(fth_capsule_append("other", &writer, &other), FTH_INVALID);
    assert_string_equal(other.cause, "not a capsule: the file does not begin with \"fthcaps1\"");
    assert_int_equal(fth_capsule_append("nowhere/a", &writer, NULL), FTH_NOT_FOUND);
    assert_null(writer);
}

/* A file whose contents cannot be removed. */
static void files_that_cannot_be_replaced_are_refused(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer;
    struct fth_error error = NO_ERROR;
    char name[32];
    const int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
    assert_int_equal(write(fd, "kept", 4), 4);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert_int_equal(fth_capsule_create(name, &example_info, &writer, &error), FTH_IO);
    assert_string_equal(error.cause, "Operation not permitted");
    assert_null(writer);
    close(fd);
}

/* ---- damage ---- */

struct part {
    uint32_t type;
    const char *content;
    size_t size;
};

/* Text without its NUL as the content of a part. */
#define PART(type, text)                                                                           \
    {                                                                                              \
        FTH_CAPSULE_PART_##type, text, sizeof(text) - 1                                            \
    }

static const unsigned char chunk[FTH_CHUNK_BYTES] = {1};
/* Two modules, of which the first one has PTX, a chunk, an image of it, and a launch with one
 * region of the size of a chunk. */
static const struct part beginning[] = {
    PART(INFO, "\1a\1b\0\0\0"),
    PART(TEXT, "ptx"),
    PART(MODULE, "\1m\1\0\0\0"),
    PART(MODULE, "\1m\0\1r\0\0\0"),
    {FTH_CAPSULE_PART_CHUNKS, (const char *)chunk, sizeof chunk},
    PART(IMAGE, "\x80\x80\4\0\1\0\1\0"),
    PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\1\0\0\x80\x80\4\1\0"),
};

/* Writes a capsule of parts, and opens it. */
static enum fth_status open_parts(const struct part *parts, size_t count, struct fth_error *error)
{
    struct fth_atomic_file *file;
    struct fth_container_writer *writer;
    struct fth_capsule *capsule;
    uint64_t index = 0;
    assert_int_equal(fth_atomic_open(capsule_path, &file, NULL), FTH_OK);
    assert_int_equal(fth_container_create(&fth_capsule_format, file, &writer, NULL), FTH_OK);
    for (size_t i = 0; i < count; i++) {
        struct fth_buffer content = {0};
        fth_buffer_append(&content, parts[i].content, parts[i].size);
        assert_int_equal(fth_container_put(writer, parts[i].type, &content, &index, NULL), FTH_OK);
        fth_buffer_fini(&content);
    }
    assert_int_equal(fth_container_commit(writer, index, NULL), FTH_OK);
    const enum fth_status status = fth_capsule_open(capsule_path, &capsule, error);
    fth_capsule_close(capsule);
    return status;
}

/* The last part, after those above, is damaged in one way. */
static const struct {
    struct part part;
    const char *cause; /* NULL: none */
} damaged_parts[] = {
    {PART(END, "\2\1\1\1\1"), NULL},
    {PART(END, "\2\1\1\1\2"), "the capsule lacks parts"},
    {PART(END, "\3\1\1\1\1"), "the capsule lacks parts"},
    {PART(END, "\2\1\1\1"), "the capsule lacks parts"},
    {PART(END, "\2\1\1\1\1\0"), "its content is too long"},
    {PART(INFO, "\1a\1b\0\0\0"), "it is not the first part"},
    {{0x31323334, "", 0}, "its type is unknown"},
    {PART(MODULE, "\1m\2\0\0\0"), "its PTX does not exist"},
    {PART(MODULE, "\1m"), "a value is incomplete or too large"},
    {PART(MODULE, "\xff\xff\xff\xff\x0f"), "a value is incomplete or too large"},
    {PART(PTX, "\2"), "a value is incomplete or too large"},
    {PART(PTX, "\0\1"), "it is PTX for a module that does not exist or has PTX"},
    {PART(PTX, "\3\1"), "it is PTX for a module that does not exist or has PTX"},
    {PART(PTX, "\1\1"), "it is PTX for a module that does not exist or has PTX"},
    {PART(PTX, "\2\0"), "its PTX does not exist"},
    {PART(PTX, "\2\2"), "its PTX does not exist"},
    {PART(CHUNKS, ""), "it does not have 1 to 64 whole chunks"},
    {PART(CHUNKS, "1"), "it does not have 1 to 64 whole chunks"},
    {PART(IMAGE, "\x80\x80\4\0"), "a value is incomplete or too large"},
    {PART(IMAGE, "\x80\x80\x80\x80\x80\x20\0\1"), "the capsule does not end"}, /* 1 TiB */
    {PART(IMAGE, "\x81\x80\x80\x80\x80\x20\0\1"), "the image is larger than 1 TiB"},
    {PART(IMAGE, "\x80\x80\4\2\1"), "the previous image does not exist"},
    {PART(IMAGE, "\x81\x80\4\1\1"), "the previous image has another size"},
    {PART(IMAGE, "\x80\x80\4\0\2"), "the number of chunks before it is wrong"},
    {PART(IMAGE, "\x80\x80\4\0\1\1\1\0"), "an image has too many chunks"},
    {PART(IMAGE, "\x80\x80\4\0\1\0\2\0"), "an image has too many chunks"},
    {PART(IMAGE, "\x80\x80\4\0\1\2\0"), "an image has too many chunks"},
    {PART(IMAGE, "\x80\x80\4\0\1\0\1\2"), "a chunk does not exist"},
    {PART(IMAGE, "\x80\x80\4\0\1\0\1\3"), "a chunk does not exist"},
    {PART(IMAGE, "\x80\x80\4\0\1\0\1"), "a value is incomplete or too large"},
    {PART(LAUNCH, "\0\1k\3\1\1\0\1\1\0\1\1\0\0\0\0\0\0"), "its module does not exist"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\10\0\0\0"), "the launch has unknown properties"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\x81\x80\4"),
     "more than 65,536 bytes of parameters"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\5abcd"), "a value is incomplete"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\x81\x80\4"), "more than 65,536 regions"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\1\5\0\0\0\0"), "a region has an unknown kind"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\1\0\0\x80\x80\4\2\0"),
     "the image of a region does not exist"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\1\0\0\1\1\0"),
     "the image of a region has another size than the region"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\2\0\0\2\0\0\1\2\0\0"), "two regions overlap"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\0\x81\2"), "more than 256 tensor maps"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\0\1\1\0\0\1\0\0\0\0\0\0\0\0\0"),
     "the region of a tensor map does not exist"},
    {PART(LAUNCH, "\0\1k\1\1\1\0\1\1\0\1\1\0\0\0\0\0\1\0\0\0\6\0\0\0\0\0\0"),
     "a tensor map has more than 5 dimensions"},
    {PART(AFTER, ""), "a value is incomplete or too large"},
    {PART(AFTER, "\1"), "it belongs to a launch that does not exist or has such images"},
    {PART(AFTER, "\0\2"), "the image of a region does not exist"},
    {PART(AFTER, "\0"), "a value is incomplete or too large"},
    {PART(AFTER, "\0\1\1"), "its content is too long"},
};

static void damaged_parts_are_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(damaged_parts); i++) {
        struct part parts[FTH_COUNT(beginning) + 1];
        struct fth_error error = NO_ERROR;
        memcpy(parts, beginning, sizeof beginning);
        parts[FTH_COUNT(beginning)] = damaged_parts[i].part;
        const enum fth_status status = open_parts(parts, FTH_COUNT(parts), &error);
        assert_int_equal(status, damaged_parts[i].cause ? FTH_INVALID : FTH_OK);
        if (damaged_parts[i].cause && !strstr(error.cause, damaged_parts[i].cause))
            fail_msg("row %zu: %s", i, error.cause);
    }
}

static void parts_at_wrong_places_are_described(void **state)
{
    (void)state;
    static const struct part module_first[] = {PART(MODULE, "\1m\0\1r\0\0\0")};
    static const struct part two_images[] = {PART(AFTER, "\0\1"), PART(AFTER, "\0\1")};
    static const struct part early_end[] = {PART(END, "\2\1\1\1\1"), PART(PTX, "\2\1")};
    struct part parts[FTH_COUNT(beginning) + 2];
    struct fth_error first = NO_ERROR, twice = NO_ERROR, early = NO_ERROR, none = NO_ERROR;
    assert_int_equal(open_parts(module_first, 1, &first), FTH_INVALID);
    assert_string_equal(
        first.cause, "the part at byte 8 is damaged: the first part does not describe the program");
    memcpy(parts, beginning, sizeof beginning);
    memcpy(parts + FTH_COUNT(beginning), two_images, sizeof two_images);
    assert_int_equal(open_parts(parts, FTH_COUNT(parts), &twice), FTH_INVALID);
    assert_contains(twice.cause, "a launch that does not exist or has such images");
    memcpy(parts + FTH_COUNT(beginning), early_end, sizeof early_end);
    assert_int_equal(open_parts(parts, FTH_COUNT(parts), &early), FTH_INVALID);
    assert_contains(early.cause, "the capsule does not end after it");
    assert_int_equal(open_parts(NULL, 0, &none), FTH_INVALID);
    assert_contains(none.cause, "the file ends before the description of the program");
}

/* Changes one byte of the header of the part at `offset`. */
static void change_byte(off_t offset, unsigned char value)
{
    const int fd = open(capsule_path, O_WRONLY);
    assert_int_equal(pwrite(fd, &value, 1, offset), 1);
    close(fd);
}

/* The size of a part, which its header has, is checked before the part is read. */
static void large_parts_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct part part;
        unsigned char highest; /* byte of the size of its content */
        const char *cause;
    } rows[] = {
        {PART(TEXT, "\1"), 0x10, "it is larger than 256 MiB"},
        {PART(CHUNKS, ""), 0x01, "it does not have 1 to 64 whole chunks"},
        {PART(PTX, "\1"), 0x10, "it is larger than 256 MiB"},
        {PART(PTX, "\1"), 0x40, "the modules, images and launches up to here have more than 1 GiB"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct part parts[] = {beginning[0], rows[i].part};
        struct fth_error error = NO_ERROR;
        struct fth_container *container;
        struct fth_capsule *capsule;
        (void)open_parts(parts, FTH_COUNT(parts), NULL);
        assert_int_equal(fth_container_open(&fth_capsule_format, capsule_path, &container, NULL),
                         FTH_OK);
        change_byte((off_t)fth_container_index(container) + 7, rows[i].highest);
        fth_container_close(container);
        assert_int_equal(fth_capsule_open(capsule_path, &capsule, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
}

/* Decoding stops before it needs too much memory. */
static void memory_is_limited(void **state)
{
    (void)state;
    static const char launch[] = "\0\4name\1\1\1\0\1\1\0\1\1\0\0\2\1r\1p\1\3\0\0\0\1v\1\0\0\0\1\0\0"
                                 "\0\0\0\0\0\0\0";
    struct fth_capsule_launch decoded;
    uint64_t needed = 0;
    enum fth_status status = FTH_INVALID;
    for (; status != FTH_OK; needed += 8) {
        struct fth_arena arena = {0};
        struct fth_capsule_decoder decoder = {
            .bytes = {.at = (const unsigned char *)launch,
                      .end = (const unsigned char *)launch + sizeof launch - 1},
            .arena = &arena,
            .memory = needed};
        decoded = (struct fth_capsule_launch){0};
        fth_capsule_decode_launch(&decoder, &decoded);
        status = fth_capsule_decoded(&decoder);
        if (status != FTH_OK)
            assert_string_equal(
                decoder.fault,
                "the modules and launches up to here need more than 2 GiB of memory");
        fth_arena_fini(&arena);
    }
    assert_true(needed > sizeof decoded + sizeof *decoded.regions + sizeof *decoded.tensor_maps);
}

/* ---- damaged bytes ---- */

/* Reads everything. Returns FTH_OK if all of it is as it was written. */
static enum fth_status read_everything(struct fth_error *error)
{
    struct fth_capsule *capsule;
    static unsigned char data[LARGE_BYTES], expected[LARGE_BYTES];
    FTH_TRY(fth_capsule_open(capsule_path, &capsule, error));
    enum fth_status status = FTH_OK;
    for (uint32_t i = 1; status == FTH_OK && i <= fth_capsule_module_count(capsule); i++) {
        struct fth_buffer ptx = {0};
        if (!fth_capsule_module(capsule, i)->reason)
            status = fth_capsule_load_ptx(capsule, i, &ptx, error);
        fth_buffer_fini(&ptx);
    }
    for (uint32_t i = 1; status == FTH_OK && i <= fth_capsule_scope(capsule)->image_count; i++) {
        const uint64_t size = fth_capsule_image_bytes(capsule, i);
        status = fth_capsule_read_image(capsule, i, 0, size, data, error);
        if (status == FTH_OK) {
            fill_image(i, expected, (size_t)size);
            assert_memory_equal(data, expected, (size_t)size);
        }
    }
    for (size_t i = 0; status == FTH_OK && i < fth_capsule_launch_count(capsule); i++)
        compare_launch(fth_capsule_launch(capsule, i), &example_launches[i]);
    if (status == FTH_OK && fth_capsule_launch_count(capsule) < FTH_COUNT(example_launches))
        assert_true(fth_capsule_is_truncated(capsule));
    fth_capsule_close(capsule);
    return status;
}

/* A byte that changed anywhere is found, unless it is in the tail. */
static void each_damaged_byte_is_found(void **state)
{
    (void)state;
    struct fth_buffer file = {0};
    write_example();
    assert_int_equal(fth_file_read(capsule_path, FTH_FILE_LIMIT("a capsule", 1 << 20), &file, NULL),
                     FTH_OK);
    for (size_t at = 0; at < file.size; at++) {
        struct fth_error error = NO_ERROR;
        change_byte((off_t)at, (unsigned char)(file.data[at] ^ 1 << at % 8));
        const enum fth_status status = read_everything(&error);
        change_byte((off_t)at, (unsigned char)file.data[at]);
        assert_int_equal(status, at < file.size - FTH_CONTAINER_TAIL_BYTES ? FTH_INVALID : FTH_OK);
        assert_int_equal(error.cause[0] != '\0', status != FTH_OK);
    }
    assert_int_equal(read_everything(NULL), FTH_OK);
    fth_buffer_fini(&file);
}

/* Gives the part at `offset` another type and a matching checksum, or a size that exceeds the file.
 */
static void change_part(uint64_t offset, bool is_too_large)
{
    static unsigned char bytes[4096];
    const int fd = open(capsule_path, O_RDWR);
    assert_true(pread(fd, bytes, sizeof bytes, (off_t)offset) > 0);
    const size_t covered = FTH_PART_HEADER_BYTES + (size_t)fth_get_fixed(bytes + 8, 4);
    assert_true(covered + 8 < sizeof bytes);
    bytes[is_too_large ? 10 : 0] ^= 0xff;
    fth_set_fixed(fth_capsule_format.checksum(offset, bytes, covered), 8, bytes + covered);
    assert_int_equal(pwrite(fd, bytes, covered + 8, (off_t)offset), covered + 8);
    close(fd);
}

/* Other parts are at the places of chunks and PTX after the capsule was opened. */
static void changed_parts_are_reported(void **state)
{
    (void)state;
    for (int is_too_large = 0; is_too_large < 2; is_too_large++)
        for (int type = 0; type < 2; type++) {
            struct fth_capsule *capsule;
            struct fth_container *container;
            struct fth_error error = NO_ERROR;
            struct fth_buffer ptx = {0};
            struct fth_part_header header = {.next = FTH_CONTAINER_MAGIC_BYTES};
            uint64_t at = 0;
            unsigned char byte;
            write_example();
            assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
            assert_int_equal(
                fth_container_open(&fth_capsule_format, capsule_path, &container, NULL), FTH_OK);
            while (header.type != (type ? FTH_CAPSULE_PART_CHUNKS : FTH_CAPSULE_PART_TEXT)) {
                at = header.next;
                assert_int_equal(fth_container_skip(container, at, &header, NULL), FTH_OK);
            }
            fth_container_close(container);
            change_part(at, is_too_large);
            assert_int_equal(type ? fth_capsule_read_image(capsule, 1, 0, 1, &byte, &error)
                                  : fth_capsule_load_ptx(capsule, 1, &ptx, &error),
                             FTH_INVALID);
            assert_contains(error.cause, "it changed after the capsule was opened");
            fth_buffer_fini(&ptx);
            fth_capsule_close(capsule);
        }
}

/* The file loses its end while it is open. */
static void shortened_files_are_reported(void **state)
{
    (void)state;
    struct fth_capsule *capsule;
    struct fth_buffer ptx = {0};
    struct fth_error chunk_error = NO_ERROR, text_error = NO_ERROR;
    unsigned char byte;
    write_example();
    assert_int_equal(fth_capsule_open(capsule_path, &capsule, NULL), FTH_OK);
    assert_int_equal(truncate(capsule_path, 8), 0);
    assert_int_equal(fth_capsule_read_image(capsule, 1, 0, 1, &byte, &chunk_error), FTH_IO);
    assert_int_equal(fth_capsule_load_ptx(capsule, 1, &ptx, &text_error), FTH_IO);
    assert_contains(chunk_error.cause, "became shorter");
    assert_contains(text_error.cause, "became shorter");
    fth_buffer_fini(&ptx);
    fth_capsule_close(capsule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_launches_are_refused),
        cmocka_unit_test(launches_at_the_limits_are_accepted),
        cmocka_unit_test(invalid_modules_are_refused),
        cmocka_unit_test(invalid_images_are_refused),
        cmocka_unit_test(invalid_images_after_launches_are_refused),
        cmocka_unit_test(files_that_cannot_be_written_are_refused),
        cmocka_unit_test(files_that_cannot_be_replaced_are_refused),
        cmocka_unit_test(damaged_parts_are_described),
        cmocka_unit_test(parts_at_wrong_places_are_described),
        cmocka_unit_test(large_parts_are_refused),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(each_damaged_byte_is_found),
        cmocka_unit_test(changed_parts_are_reported),
        cmocka_unit_test(shortened_files_are_reported),
    };
    return cmocka_run_group_tests_name("capsule-refused", tests, enter_folder, leave_folder);
}
