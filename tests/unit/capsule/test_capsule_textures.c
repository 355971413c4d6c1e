/* Tests the textures and surfaces of launches in capsules: what writers and readers refuse, and
 * records that are cut off. capsule_example.h has valid ones. */
#include "capsule_example.h"
#include "folder.h"

/* The texels of an array of 4 x 3 floats, and memory. */
static const struct fth_capsule_region regions[] = {
    {.kind = FTH_CAPSULE_ARRAY, .address = FTH_CAPSULE_ARRAY_BASE, .bytes = 48},
    {.kind = FTH_CAPSULE_DEVICE, .address = 0x7f0000000000, .bytes = 48}};

/* A valid texture of the array. */
static const struct fth_capsule_texture valid = {
    .handle = 7, .format = 0x20, .channels = 1, .width = 4, .height = 3};

static struct fth_capsule_launch launch_of(const struct fth_capsule_texture *textures, size_t count)
{
    return (struct fth_capsule_launch){.kernel = "k",
                                       .regions = regions,
                                       .region_count = FTH_COUNT(regions),
                                       .textures = textures,
                                       .texture_count = count};
}

/* Changes one field of a texture. */
struct change {
    size_t offset;
    uint32_t value;
    const char *cause; /* NULL: the texture stays valid */
};
#define CHANGE(field, value, cause)                                                                \
    {                                                                                              \
        offsetof(struct fth_capsule_texture, field), value, cause                                  \
    }
static const char other_size[] = "the array of a texture has another size than the texture";
static const struct change changes[] = {
    CHANGE(handle, 0, NULL),
    CHANGE(resource, 2, NULL),
    CHANGE(resource, 3, NULL),
    CHANGE(resource, 1, "a texture has an unknown kind of resource"),
    CHANGE(resource, 4, "a texture has an unknown kind of resource"),
    CHANGE(region, 1, "the array of a texture does not exist"),
    CHANGE(region, 2, "the array of a texture does not exist"),
    CHANGE(region, UINT32_MAX, "the array of a texture does not exist"),
    CHANGE(format, 0, "a texture has an unknown format"),
    CHANGE(format, 0x04, "a texture has an unknown format"),
    CHANGE(format, 0x21, "a texture has an unknown format"),
    CHANGE(format, 0x0a, NULL),
    CHANGE(format, 0x10, other_size),
    CHANGE(channels, 0, "a texture does not have 1, 2 or 4 channels"),
    CHANGE(channels, 3, "a texture does not have 1, 2 or 4 channels"),
    CHANGE(channels, 0x40000001, "a texture does not have 1, 2 or 4 channels"),
    CHANGE(channels, 2, other_size),
    CHANGE(width, 0, other_size),
    CHANGE(width, 5, other_size),
    CHANGE(height, 1, other_size),
    CHANGE(depth, 1, NULL),
    CHANGE(depth, 2, other_size),
    CHANGE(address_modes[1], 3, NULL),
    CHANGE(address_modes[2], 4, "a texture has an unknown address mode"),
    CHANGE(filter, 1, NULL),
    CHANGE(filter, 2, "a texture has an unknown filter"),
    CHANGE(flags, UINT32_MAX, NULL),
};

static struct fth_capsule_texture changed(const struct change *change)
{
    struct fth_capsule_texture texture = valid;
    memcpy((char *)&texture + change->offset, &change->value, sizeof change->value);
    return texture;
}

static void writers_refuse_invalid_textures(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer;
    static struct fth_capsule_texture many[FTH_CAPSULE_MAX_TEXTURES + 1];
    for (size_t i = 0; i < FTH_COUNT(many); i++)
        many[i] = valid;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(changes); i++) {
        struct fth_error error = NO_ERROR;
        const struct fth_capsule_texture texture = changed(&changes[i]);
        const struct fth_capsule_launch launch = launch_of(&texture, 1);
        assert_int_equal(fth_capsule_put_launch(writer, &launch, &error),
                         changes[i].cause ? FTH_INVALID : FTH_OK);
        assert_contains(error.cause, changes[i].cause ? changes[i].cause : "");
    }
    struct fth_error error = NO_ERROR;
    struct fth_capsule_launch launch = launch_of(many, FTH_COUNT(many));
    assert_int_equal(fth_capsule_put_launch(writer, &launch, &error), FTH_INVALID);
    assert_contains(error.cause, "the launch has more than 4,096 textures");
    launch.texture_count--;
    assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
}

/* The size of the texels can exceed 64 bits, in each of its factors. */
static void sizes_do_not_overflow(void **state)
{
    (void)state;
    static const struct {
        uint64_t width, height, depth;
        bool fits;
    } rows[] = {
        {4, 3, 0, true},
        {UINT64_MAX / 4, 1, 1, true},
        {UINT64_MAX / 4 + 1, 1, 1, false},
        {(uint64_t)1 << 40, 1 << 22, 1, false},
        {(uint64_t)1 << 40, 1 << 21, 1, true},
        {(uint64_t)1 << 40, 1 << 10, 1 << 12, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_texture texture = valid;
        uint64_t bytes;
        texture.width = rows[i].width;
        texture.height = rows[i].height;
        texture.depth = rows[i].depth;
        assert_int_equal(fth_capsule_array_bytes(&texture, &bytes), rows[i].fits);
    }
}

/* Opens a capsule with a launch whose content is `content`, which nobody has checked. */
static enum fth_status open_launch(const struct fth_buffer *content, struct fth_error *error)
{
    struct fth_capsule_writer *writer;
    struct fth_capsule *capsule;
    assert_int_equal(fth_capsule_create(capsule_path, &example_info, &writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_put_part(writer, FTH_CAPSULE_PART_LAUNCH, content, NULL, NULL),
                     FTH_OK);
    fth_capsule_abandon(writer);
    const enum fth_status status = fth_capsule_open(capsule_path, &capsule, error);
    fth_capsule_close(capsule);
    return status;
}

static void readers_refuse_invalid_textures(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(changes); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_buffer content = {0};
        const struct fth_capsule_texture texture = changed(&changes[i]);
        const struct fth_capsule_launch launch = launch_of(&texture, 1);
        fth_capsule_encode_launch(&launch, &content);
        assert_int_equal(open_launch(&content, &error), changes[i].cause ? FTH_INVALID : FTH_OK);
        assert_contains(error.cause, changes[i].cause ? changes[i].cause : "");
        fth_buffer_fini(&content);
    }
}

/* The last fields of a launch are its textures. */
static void records_of_wrong_length_are_refused(void **state)
{
    (void)state;
    const struct fth_capsule_launch without = launch_of(NULL, 0), with = launch_of(&valid, 1);
    struct fth_buffer short_content = {0}, content = {0};
    struct fth_error error = NO_ERROR;
    fth_capsule_encode_launch(&without, &short_content);
    fth_capsule_encode_launch(&with, &content);
    assert_int_equal(open_launch(&content, NULL), FTH_OK);
    const size_t size = content.size;
    for (content.size = short_content.size; content.size < size; content.size++) {
        struct fth_error cut = NO_ERROR;
        assert_int_equal(open_launch(&content, &cut), FTH_INVALID);
        assert_contains(cut.cause, "a value is incomplete or too large");
    }
    fth_put_varint(0, &content);
    assert_int_equal(open_launch(&content, &error), FTH_INVALID);
    assert_contains(error.cause, "its content is too long");
    /* A count that the content cannot have. */
    struct fth_error many = NO_ERROR;
    content.size = short_content.size;
    fth_put_varint(FTH_CAPSULE_MAX_TEXTURES + 1, &content);
    assert_int_equal(open_launch(&content, &many), FTH_INVALID);
    assert_contains(many.cause, "the launch has more than 4,096 textures");
    fth_buffer_fini(&short_content);
    fth_buffer_fini(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_refuse_invalid_textures),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(readers_refuse_invalid_textures),
        cmocka_unit_test(records_of_wrong_length_are_refused),
    };
    return cmocka_run_group_tests_name("capsule-textures", tests, enter_folder, leave_folder);
}
