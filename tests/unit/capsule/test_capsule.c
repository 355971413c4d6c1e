/* Tests capsules: what is written is read back, and equal contents are stored once. */
#include "capsule_example.h"
#include "folder.h"

#include <pthread.h>

static struct fth_capsule *open_example(void)
{
    struct fth_capsule *capsule;
    struct fth_error error = NO_ERROR;
    if (fth_capsule_open(capsule_path, &capsule, &error) != FTH_OK)
        fail_msg("%s: %s", error.operation, error.cause);
    return capsule;
}

static void capsules_are_read_back(void **state)
{
    (void)state;
    write_example();
    assert_true(fth_capsule_is(capsule_path));
    struct fth_capsule *capsule = open_example();
    const struct fth_capsule_info *info = fth_capsule_info(capsule);
    assert_false(fth_capsule_is_truncated(capsule));
    assert_string_equal(info->command, example_info.command);
    assert_string_equal(info->gpu, example_info.gpu);
    assert_int_equal(info->architecture, example_info.architecture);
    assert_int_equal(info->driver_version, example_info.driver_version);
    assert_false(info->is_light);
    assert_int_equal(fth_capsule_module_count(capsule), FTH_COUNT(example_modules));
    for (uint32_t i = 0; i < FTH_COUNT(example_modules); i++)
        compare_module(capsule, i + 1, &example_modules[i]);
    assert_null(fth_capsule_module(capsule, 0));
    assert_null(fth_capsule_module(capsule, FTH_COUNT(example_modules) + 1));
    assert_int_equal(fth_capsule_launch_count(capsule), FTH_COUNT(example_launches));
    for (size_t i = 0; i < FTH_COUNT(example_launches); i++) {
        const struct fth_capsule_launch *launch = fth_capsule_launch(capsule, i);
        compare_launch(launch, &example_launches[i]);
        assert_int_equal(launch->has_after, example_launches[i].has_after);
    }
    for (uint32_t image = 1; image <= 4; image++)
        compare_image(capsule, image);
    fth_capsule_close(capsule);
}

/* ---- images ---- */

static struct fth_capsule_writer *create(void)
{
    struct fth_capsule_writer *writer;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    return writer;
}

/* A chunk of zeros is not stored, and any other one only once: within an image, in another image,
 * and across the end of a part. */
static void equal_contents_are_stored_once(void **state)
{
    (void)state;
    enum { CHUNKS = 2 * FTH_CAPSULE_PART_CHUNKS_WRITTEN + 3 };
    struct fth_capsule_writer *writer = create();
    static unsigned char data[CHUNKS][FTH_CHUNK_BYTES];
    uint32_t first, second, third;
    for (size_t i = 0; i < CHUNKS; i++) /* chunks 0 and 1 are zero, 3 equals 2 */
        data[i][FTH_CHUNK_BYTES - 1] = (unsigned char)(i < 2 ? 0 : i == 3 ? 2 : i);
    assert_int_equal(put_image(writer, 0, data[0], sizeof data, &first, NULL), FTH_OK);
    assert_int_equal(put_image(writer, first, data[0], sizeof data, &second, NULL), FTH_OK);
    assert_int_equal(second, first);
    assert_int_equal(writer->scope.chunk_count, CHUNKS - 3);
    const uint64_t before = fth_container_written(writer->file);
    assert_int_equal(put_image(writer, 0, data[1], sizeof data - FTH_CHUNK_BYTES, &third, NULL),
                     FTH_OK);
    assert_int_equal(third, first + 1);
    assert_true(fth_container_written(writer->file) < before + 100);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    struct fth_capsule *capsule = open_example();
    assert_int_equal(fth_capsule_scope(capsule)->chunk_count, CHUNKS - 3);
    static unsigned char read[CHUNKS][FTH_CHUNK_BYTES];
    assert_int_equal(fth_capsule_read_image(capsule, first, 0, sizeof read, read, NULL), FTH_OK);
    assert_memory_equal(read, data, sizeof data);
    assert_int_equal(
        fth_capsule_read_image(capsule, third, 0, sizeof read - FTH_CHUNK_BYTES, read, NULL),
        FTH_OK);
    assert_memory_equal(read, data[1], sizeof data - FTH_CHUNK_BYTES);
    fth_capsule_close(capsule);
}

/* Changes some chunks of a region again and again, and reads all images in the end. */
static void images_depend_on_earlier_images(void **state)
{
    (void)state;
    enum { CHUNKS = 100, IMAGES = 60 };
    struct fth_capsule_writer *writer = create();
    static unsigned char data[CHUNKS][FTH_CHUNK_BYTES];
    static unsigned char values[IMAGES][CHUNKS]; /* the first byte of each chunk */
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint32_t number;
        for (int j = 0; j < 4; j++)
            data[fth_rng_below(&rng, CHUNKS)][0] ^= (unsigned char)(1 + fth_rng_below(&rng, 7));
        for (size_t j = 0; j < CHUNKS; j++)
            values[i][j] = data[j][0];
        const uint32_t previous = i % 20 == 19 ? i - 1 : i; /* sometimes one that had a successor */
        assert_int_equal(put_image(writer, previous, data[0], sizeof data, &number, NULL), FTH_OK);
        assert_int_equal(number, i + 1);
    }
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    struct fth_capsule *capsule = open_example();
    assert_int_equal(fth_capsule_scope(capsule)->chunk_count, 7);
    for (uint32_t i = 0; i < IMAGES; i++)
        for (uint32_t j = 0; j < CHUNKS; j++) {
            unsigned char value;
            assert_int_equal(fth_capsule_read_image(capsule, i + 1, (uint64_t)j * FTH_CHUNK_BYTES,
                                                    1, &value, NULL),
                             FTH_OK);
            assert_int_equal(value, values[i][j]);
        }
    fth_capsule_close(capsule);
}

/* Four threads read all images of the example, piece by piece. */
static void *read_images(void *argument)
{
    struct fth_capsule *capsule = argument;
    static const uint64_t step = 5000;
    for (int pass = 0; pass < 20; pass++)
        for (uint32_t image = 1; image <= 4; image++) {
            const uint64_t size = fth_capsule_image_bytes(capsule, image);
            unsigned char *expected = malloc((size_t)size), data[5000];
            fill_image(image, expected, (size_t)size);
            for (uint64_t at = 0; at < size; at += step) {
                const uint64_t bytes = FTH_MIN(step, size - at);
                if (fth_capsule_read_image(capsule, image, at, bytes, data, NULL) != FTH_OK ||
                    memcmp(data, expected + at, (size_t)bytes) != 0) {
                    free(expected);
                    return NULL;
                }
            }
            free(expected);
        }
    return argument;
}

static void threads_share_a_capsule(void **state)
{
    (void)state;
    pthread_t threads[4];
    write_example();
    struct fth_capsule *capsule = open_example();
    for (size_t i = 0; i < FTH_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_images, capsule), 0);
    for (size_t i = 0; i < FTH_COUNT(threads); i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    fth_capsule_close(capsule);
}

/* More parts than the cache has slots, read in an order that replaces them. */
static void parts_replace_each_other(void **state)
{
    (void)state;
    enum { PARTS = 100 };
    struct fth_capsule_writer *writer = create();
    uint32_t number;
    unsigned char data[FTH_CHUNK_BYTES] = {0};
    for (int i = 0; i < PARTS; i++) { /* each image has a part of its own */
        data[1] = (unsigned char)(i + 1);
        assert_int_equal(put_image(writer, 0, data, sizeof data, &number, NULL), FTH_OK);
    }
    fth_capsule_abandon(writer);
    struct fth_capsule *capsule = open_example();
    for (uint32_t i = 0; i < 3 * PARTS; i++) {
        const uint32_t image = i * 7 % PARTS + 1;
        unsigned char byte;
        assert_int_equal(fth_capsule_read_image(capsule, image, 1, 1, &byte, NULL), FTH_OK);
        assert_int_equal(byte, image);
    }
    fth_capsule_close(capsule);
}

/* ---- incomplete capsules ---- */

/* Reads a capsule that is a beginning of the example, and returns its number of launches. */
static size_t read_beginning(struct fth_capsule *capsule)
{
    const struct fth_capsule_scope *scope = fth_capsule_scope(capsule);
    assert_string_equal(fth_capsule_info(capsule)->gpu, example_info.gpu);
    for (uint32_t i = 0; i < scope->module_count; i++)
        compare_module(capsule, i + 1, &example_modules[i]);
    for (size_t i = 0; i < fth_capsule_launch_count(capsule); i++)
        compare_launch(fth_capsule_launch(capsule, i), &example_launches[i]);
    for (uint32_t i = 1; i <= scope->image_count; i++)
        compare_image(capsule, i);
    return fth_capsule_launch_count(capsule);
}

static void read_file(struct fth_buffer *file)
{
    assert_int_equal(fth_file_read(capsule_path, FTH_FILE_LIMIT("a capsule", 1 << 20), file, NULL),
                     FTH_OK);
}

/* A capsule that was cut off anywhere is read up to its last complete part. */
static void beginnings_can_be_read(void **state)
{
    (void)state;
    struct fth_buffer file = {0};
    write_example();
    read_file(&file);
    size_t launches = FTH_COUNT(example_launches), readable = 0;
    bool is_readable = true;
    for (size_t size = file.size; size-- > 0;) {
        struct fth_capsule *capsule;
        struct fth_error error = NO_ERROR;
        assert_int_equal(truncate(capsule_path, (off_t)size), 0);
        const enum fth_status status = fth_capsule_open(capsule_path, &capsule, &error);
        assert_int_equal(fth_capsule_is(capsule_path), size >= 8);
        is_readable = is_readable && status == FTH_OK;
        if (!is_readable) { /* its first part is incomplete */
            assert_int_equal(status, FTH_INVALID);
            assert_contains(error.cause, size < 8 ? "not a capsule" : "the file ends before");
            continue;
        }
        readable++;
        assert_true(fth_capsule_is_truncated(capsule));
        const size_t count =
            size % 5 == 0 ? read_beginning(capsule) : fth_capsule_launch_count(capsule);
        assert_true(count == launches || count + 1 == launches);
        launches = count;
        fth_capsule_close(capsule);
    }
    assert_int_equal(launches, 0);
    assert_true(readable > file.size / 2);
    fth_buffer_fini(&file);
}

/* Adds PTX to the second module, and a launch with images. */
static void append_to_example(void)
{
    struct fth_capsule_writer *writer;
    struct fth_error error = NO_ERROR;
    unsigned char data[SMALL_BYTES] = {9};
    uint32_t image, module;
    assert_int_equal(fth_capsule_append(capsule_path, &writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_ptx(writer, 1, "a", 1, &error), FTH_INVALID);
    assert_contains(error.cause, "its module has PTX already");
    assert_int_equal(fth_capsule_put_ptx(writer, 2, "later", 5, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_ptx(writer, 2, "later", 5, NULL), FTH_INVALID);
    assert_int_equal(fth_capsule_put_module(writer, &example_modules[0], &module, NULL), FTH_OK);
    assert_int_equal(put_image(writer, 4, data, sizeof data, &image, NULL), FTH_OK);
    const struct fth_capsule_region region = {.bytes = SMALL_BYTES, .before = image};
    const struct fth_capsule_launch launch = {
        .number = 9, .kernel = "k", .module = module, .regions = &region, .region_count = 1};
    assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_after(writer, 9, &image, 1, NULL), FTH_OK);
    /* The launches before, of which the first one has images after it. */
    assert_int_equal(fth_capsule_put_after(writer, 3, &image, 1, NULL), FTH_INVALID);
    assert_int_equal(fth_capsule_put_after(writer, 7, NULL, 0, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
}

/* To a complete capsule, to one without a tail, without an end, and with a part of its end. */
static void capsules_can_be_continued(void **state)
{
    (void)state;
    struct fth_buffer file = {0};
    write_example();
    read_file(&file);
    struct fth_container *container;
    assert_int_equal(fth_container_open(&fth_capsule_format, capsule_path, &container, NULL),
                     FTH_OK);
    const size_t end = (size_t)fth_container_index(container);
    fth_container_close(container);
    const size_t sizes[] = {file.size,
                            file.size - 1,
                            file.size - FTH_CONTAINER_TAIL_BYTES,
                            file.size - FTH_CONTAINER_TAIL_BYTES - 1,
                            end + 1,
                            end};
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        write_plain(capsule_path, file.data, sizes[i]);
        append_to_example();
        struct fth_capsule *capsule = open_example();
        assert_false(fth_capsule_is_truncated(capsule));
        const struct fth_capsule_module later = {.name = "",
                                                 .ptx = "later",
                                                 .ptx_bytes = 5,
                                                 .code_bytes = example_modules[1].code_bytes,
                                                 .code = example_modules[1].code};
        compare_module(capsule, 2, &later);
        compare_module(capsule, 4, &example_modules[0]);
        assert_int_equal(fth_capsule_launch_count(capsule), 3);
        for (size_t j = 0; j < 2; j++)
            compare_launch(fth_capsule_launch(capsule, j), &example_launches[j]);
        assert_true(fth_capsule_launch(capsule, 1)->has_after);
        const struct fth_capsule_region *region = fth_capsule_launch(capsule, 2)->regions;
        assert_int_equal(region->before, 5);
        assert_int_equal(region->after, 5);
        for (uint32_t image = 1; image <= 4; image++)
            compare_image(capsule, image);
        unsigned char byte;
        assert_int_equal(fth_capsule_read_image(capsule, 5, 0, 1, &byte, NULL), FTH_OK);
        assert_int_equal(byte, 9);
        fth_capsule_close(capsule);
    }
    fth_buffer_fini(&file);
}

/* A light capsule has no images. */
static void light_capsules_are_marked(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer;
    struct fth_capsule_info info = example_info;
    struct fth_error error = NO_ERROR;
    info.is_light = true;
    assert_int_equal(fth_capsule_create(capsule_path, &info, &writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_launch(writer, &example_launches[1], NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_after(writer, 7, NULL, 0, &error), FTH_INVALID);
    assert_contains(error.cause, "or the capsule is light");
    fth_capsule_abandon(writer);
    assert_int_equal(fth_capsule_append(capsule_path, &writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_after(writer, 7, NULL, 0, NULL), FTH_INVALID);
    fth_capsule_abandon(writer);
    struct fth_capsule *capsule = open_example();
    assert_true(fth_capsule_info(capsule)->is_light);
    assert_true(fth_capsule_is_truncated(capsule));
    assert_int_equal(fth_capsule_launch_count(capsule), 1);
    fth_capsule_close(capsule);
}

/* A command line can be longer than the texts of a capsule; it is cut. */
static void long_command_lines_are_cut(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer;
    static char command[FTH_PART_MAX_TEXT_BYTES + 10];
    memset(command, 'a', sizeof command - 1);
    const struct fth_capsule_info info = {.command = command, .gpu = ""};
    assert_int_equal(fth_capsule_create(capsule_path, &info, &writer, NULL), FTH_OK);
    fth_capsule_abandon(writer);
    struct fth_capsule *capsule = open_example();
    assert_int_equal(strlen(fth_capsule_info(capsule)->command), FTH_PART_MAX_TEXT_BYTES);
    fth_capsule_close(capsule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capsules_are_read_back),
        cmocka_unit_test(equal_contents_are_stored_once),
        cmocka_unit_test(images_depend_on_earlier_images),
        cmocka_unit_test(threads_share_a_capsule),
        cmocka_unit_test(parts_replace_each_other),
        cmocka_unit_test(beginnings_can_be_read),
        cmocka_unit_test(capsules_can_be_continued),
        cmocka_unit_test(light_capsules_are_marked),
        cmocka_unit_test(long_command_lines_are_cut),
    };
    return cmocka_run_group_tests_name("capsule", tests, enter_folder, leave_folder);
}
