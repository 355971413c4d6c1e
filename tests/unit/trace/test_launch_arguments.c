/* Tests of the arguments, clusters and saved buffers of launches. The kernel `copy` writes the 128
 * bytes of its second parameter to a buffer, `follow` those at the address that it takes, and
 * `rank` the rank of each block in its cluster. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char module[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry copy(.param .u64 to, .param .align 64 .b8 what[128])\n{\n"
    "    .reg .b64 %rd<6>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    mov.u64 %rd3, what;\n    add.u64 %rd4, %rd3, %rd2;\n    ld.param.b32 %r2, [%rd4];\n"
    "    add.u64 %rd5, %rd1, %rd2;\n    st.global.b32 [%rd5], %r2;\n    ret;\n}\n"
    ".visible .entry follow(.param .u64 to, .param .u64 what)\n{\n"
    "    .reg .b64 %rd<6>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    ld.param.u64 %rd3, [what];\n    add.u64 %rd4, %rd3, %rd2;\n    ld.global.b32 %r2, "
    "[%rd4];\n"
    "    add.u64 %rd5, %rd1, %rd2;\n    st.global.b32 [%rd5], %r2;\n    ret;\n}\n"
    ".visible .entry rank(.param .u64 to)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<5>;\n"
    "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ctaid.y;\n"
    "    mov.u32 %r3, %nctaid.x;\n    mad.lo.u32 %r1, %r2, %r3, %r1;\n"
    "    mov.u32 %r4, %cluster_ctarank;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    st.global.b32 [%rd3], %r4;\n    ret;\n}\n"
    ".visible .entry pass(.param .u64 to, .param .f16 h, .param .align 4 .b8 s[12])\n{\n"
    "    .reg .b64 %rd<2>;\n    .reg .b16 %h<2>;\n    .reg .b32 %r<4>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.b16 %h1, [h];\n    st.global.b16 [%rd1], %h1;\n"
    "    ld.param.b32 %r1, [s];\n    ld.param.b32 %r2, [s+4];\n    ld.param.b32 %r3, [s+8];\n"
    "    st.global.b32 [%rd1+4], %r1;\n    st.global.b32 [%rd1+8], %r2;\n"
    "    st.global.b32 [%rd1+12], %r3;\n    ret;\n}\n";

/* Reads a launch file with the given buffers and launches. */
static enum fth_status read_launch(const char *buffers, const char *launches,
                                   struct fth_launch **launch, struct fth_error *error)
{
    char text[2000];
    write_plain("k.ptx", module, sizeof module - 1);
    const int size = snprintf(text, sizeof text,
                              "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"sizes\": "
                              "{\"N\": 4}, \"buffers\": {%s}, \"launches\": [%s]}",
                              buffers, launches);
    assert_in_range(size, 1, sizeof text - 1);
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = NULL);
    return fth_launch_read_text("l.json", text, (size_t)size, &options, launch, error);
}

/* Runs the launches and returns the contents of the buffer `to`; the caller frees them. */
static void *run(const char *device, const char *buffers, const char *launches)
{
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    void *values = NULL;
    char text[sizeof error];
    const struct fth_run_options options = FTH_RUN_OPTIONS(.device = device);
    if (read_launch(buffers, launches, &launch, &error) != FTH_OK ||
        fth_launch_run(launch, &options, NULL, &error) != FTH_OK ||
        fth_launch_values(launch, "to", &view, &values, &error) != FTH_OK)
        fail_msg("%s", fth_error_text(&error, text, sizeof text));
    fth_launch_destroy(launch);
    return values;
}

static const char *const devices[] = {NULL, "sim:h200"};

/* ---- tensor maps ---- */

static void check_tile(const struct fth_ptx_tensor_map *map)
{
    assert_int_equal(map->type, FTH_TENSOR_F16);
    assert_int_equal(map->rank, 2);
    assert_int_equal(map->address % 256, 64 * 2 % 256);
    assert_int_equal(map->sizes[0], 64);
    assert_int_equal(map->sizes[1], 12);
    assert_int_equal(map->strides[0], 256);
    assert_int_equal(map->box[0], 32);
    assert_int_equal(map->box[1], 4);
    assert_int_equal(map->element_strides[0], 1);
    assert_int_equal(map->element_strides[1], 2);
    assert_int_equal(map->swizzle, FTH_SWIZZLE_64);
    assert_int_equal(map->promotion, FTH_PROMOTION_128);
    assert_int_equal(map->interleave, FTH_INTERLEAVE_NONE);
    assert_true(map->fills_with_nan);
    assert_false(map->is_im2col);
}

static void check_im2col(const struct fth_ptx_tensor_map *map)
{
    assert_int_equal(map->type, FTH_TENSOR_U8); /* the buffer has elements of type e4m3 */
    assert_int_equal(map->rank, 4);
    assert_int_equal(map->strides[0], 32);
    assert_int_equal(map->strides[1], 32 * 8);
    assert_int_equal(map->strides[2], 32 * 8 * 6);
    assert_int_equal(map->element_strides[3], 1);
    assert_int_equal(map->interleave, FTH_INTERLEAVE_16);
    assert_true(map->is_im2col);
    assert_int_equal(map->lower[0], -1);
    assert_int_equal(map->lower[1], -2);
    assert_int_equal(map->upper[0], 0);
    assert_int_equal(map->channels, 32);
    assert_int_equal(map->pixels, 64);
    assert_false(map->fills_with_nan);
}

static void kernels_get_tensor_maps(void **state)
{
    (void)state;
    static const struct {
        const char *buffer, *map;
        void (*check)(const struct fth_ptx_tensor_map *map);
    } cases[] = {
        {"f16[64*128]",
         "{\"tensormap\": \"a+64\", \"sizes\": [64, \"3*N\"], \"strides\": [256], \"box\": [32, 4],"
         " \"element_strides\": [1, 2], \"swizzle\": 64, \"l2_promotion\": 128, \"fill\": \"nan\"}",
         check_tile},
        {"e4m3[32*8*6*2]",
         "{\"tensormap\": \"a\", \"sizes\": [32, 8, 6, 2], \"interleave\": 16, \"channels\": 32,"
         " \"pixels\": 64, \"lower_corner\": [-1, -2]}",
         check_im2col},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        for (int way = 0; way < 3; way++) /* by value, by address, in a struct */
            for (size_t d = 0; d < FTH_COUNT(devices); d++) {
                char buffers[100], launches[500];
                struct fth_ptx_tensor_map map;
                struct fth_error error = NO_ERROR;
                snprintf(buffers, sizeof buffers, "\"to\": \"u32[32]\", \"a\": \"%s\"",
                         cases[i].buffer);
                snprintf(
                    launches, sizeof launches,
                    "{\"kernel\": \"%s\", \"grid\": 1, \"block\": 32, \"args\": [\"to\", %s%s%s]}",
                    way == 1 ? "follow" : "copy", way == 2 ? "[" : "", cases[i].map,
                    way == 2 ? "]" : "");
                unsigned char *bytes = run(devices[d], buffers, launches);
                assert_int_equal(fth_ptx_tensor_map_decode(bytes, &map, &error), FTH_OK);
                cases[i].check(&map);
                free(bytes);
            }
}

/* ---- other arguments ---- */

static void kernels_get_numbers_bytes_and_structs(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        uint16_t half;
        uint32_t words[3];
    } cases[] = {
        {"\"f16:0.5\", \"bytes:01020304fffefdfc00000080\"",
         0x3800,
         {0x04030201, 0xfcfdfeff, 1u << 31}},
        {"\"bf16:-N/8\", [\"u8:1\", \"u16:2\", \"f32:1\", \"e5m2:1e9\", \"bytes:0102\"]",
         0xbf00,
         {0x00020001, 0x3f800000, 0x0002017b}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        char launches[200];
        snprintf(launches, sizeof launches,
                 "{\"kernel\": \"pass\", \"grid\": 1, \"block\": 1, \"args\": [\"to\", %s]}",
                 cases[i].arguments);
        uint32_t *words = run(NULL, "\"to\": \"u32[4]\"", launches);
        assert_int_equal(words[0], cases[i].half);
        assert_memory_equal(words + 1, cases[i].words, sizeof cases[i].words);
        free(words);
    }
}

/* The members of a struct are placed as in C. */
static void structs_can_have_addresses(void **state)
{
    (void)state;
    uint64_t *words = run(
        NULL, "\"to\": \"u64[16]\", \"a\": \"f32[64]\"",
        "{\"kernel\": \"copy\", \"grid\": 1, \"block\": 32, \"args\": [\"to\", [\"u8:7\", \"a\", "
        "\"a+2\", \"null\", \"i32:-1\", "
        "\"bytes:00000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000\"]]}");
    assert_int_equal(words[0], 7);
    assert_int_not_equal(words[1], 0);
    assert_int_equal(words[2], words[1] + 8);
    assert_int_equal(words[3], 0);
    assert_int_equal(words[4], 0xffffffff);
    free(words);
}

static void null_is_an_address(void **state)
{
    (void)state;
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(read_launch("",
                                 "{\"kernel\": \"follow\", \"grid\": 1, \"block\": 1, \"args\": "
                                 "[\"null\", \"null\"]}",
                                 &launch, &error),
                     FTH_OK);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "read of 4 bytes at 0x0");
    fth_launch_destroy(launch);
}

#define MAP(rest) "{\"tensormap\": \"a\", " rest "}"
#define BOX "\"sizes\": [64, 2], \"box\": [64, 2]"
static const struct {
    const char *argument, *message;
} wrong_arguments[] = {
    {"true", "expected a number, a string (a buffer, or a number such as \"i32:N\"), an object (a "
             "tensor map, a texture or a surface) or an array (a struct)"},
    {"[[\"a\"]]", "argument 2 has 8 bytes, but the kernel takes"},
    {"[\"a\"]", "argument 2 has 8 bytes, but the kernel takes"},
    {"[]", "argument 2 has 0 bytes"},
    {"\"bytes:\"", "expected two hexadecimal digits per byte"},
    {"\"bytes:123\"", "expected two hexadecimal digits per byte"},
    {"\"bytes:0x\"", "expected two hexadecimal digits per byte"},
    {"\"bytes:00\"", "argument 2 has 1 bytes"},
    {"\"nul\"", "unknown type or buffer"},
    {"{\"tensor\": \"a\"}", "unknown key 'tensor'"},
    {"{\"tensormap\": 1}", "\"tensormap\" must name a buffer"},
    {"{\"tensormap\": \"i32:1\"}", "\"tensormap\" must name a buffer, not 'i32:1'"},
    {MAP("\"type\": 1"), "\"type\" must be a string"},
    {MAP("\"type\": \"e4m3\""), "unknown \"type\" 'e4m3'"},
    {MAP("\"box\": [1]"), "\"sizes\" must be an array"},
    {MAP("\"sizes\": []"), "\"sizes\" must be an array"},
    {MAP("\"sizes\": 3"), "expected an array of at most 5 numbers"},
    {MAP("\"sizes\": [1,2,3,4,5,6]"), "expected an array of at most 5 numbers"},
    {MAP("\"sizes\": [0.5]"), "launches[0].args[1].sizes[0]: 0.5 is not an integer from 1 to"},
    {MAP("\"sizes\": [64, 2]"), "expected \"box\" (tile mode), or \"pixels\""},
    {MAP("\"sizes\": [64, 2], \"box\": [64]"), "\"box\" has 1 numbers"},
    {MAP("\"sizes\": [64, 2], \"strides\": [128, 256]"), "needs 1"},
    {MAP("\"sizes\": [64, 2], \"box\": [64, 0]"),
     "launches[0].args[1].box[1]: 0 is not an integer from 1 to 256"},
    {MAP("\"sizes\": [4294967296, 4294967296, 2], \"box\": [8, 1, 1]"),
     "the stride of dimension 2 would exceed 2^40 bytes"},
    {MAP(BOX ", \"swizzle\": 16"),
     "launches[0].args[1]: \"swizzle\" is 16; expected 0, 32, 64 or 128"},
    {MAP(BOX ", \"interleave\": 64"), "expected 0, 16 or 32"},
    {MAP(BOX ", \"l2_promotion\": 1"), "expected 0, 64, 128 or 256"},
    {MAP(BOX ", \"fill\": \"one\""), "launches[0].args[1]: \"fill\" must be \"zero\" or \"nan\""},
    {MAP(BOX ", \"channels\": 4"), "\"channels\" requires \"pixels\""},
    {MAP(BOX ", \"pixels\": 4"), "\"box\" and \"pixels\" exclude each other"},
    {MAP(BOX ", \"swizzle\": 64"), "with a swizzle of 64 bytes, the maximum is 64"},
    {MAP("\"sizes\": [64, 2], \"pixels\": 4"), "\"pixels\" requires a tensor with 3 to 5"},
    {MAP("\"sizes\": [64, 2, 1], \"pixels\": 4"), "\"channels\" must be an integer"},
    {MAP("\"sizes\": [64, 2, 1], \"pixels\": 4, \"channels\": 4, \"lower_corner\": [1, 2]"),
     "\"lower_corner\" has 2 numbers; a tensor with these sizes needs 1"},
    {"{\"tensormap\": \"a+4\", " BOX "}", "the address 0x8 is not a multiple of 16 bytes"},
};

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(wrong_arguments); i++) {
        char launches[400];
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(launches, sizeof launches,
                 "{\"kernel\": \"copy\", \"grid\": 1, \"block\": 32, \"args\": [\"a\", %s]}",
                 wrong_arguments[i].argument);
        assert_int_equal(read_launch("\"a\": \"f16[256]\"", launches, &launch, &error),
                         FTH_INVALID);
        assert_null(launch);
        assert_contains(error.cause, wrong_arguments[i].message);
    }
}

static void null_and_bytes_are_no_buffers(void **state)
{
    (void)state;
    static const char *const buffers[] = {"\"null\": \"u8[1]\"", "\"bytes\": \"u8[1]\"",
                                          "\"f16\": \"u8[1]\""};
    for (size_t i = 0; i < FTH_COUNT(buffers); i++) {
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(read_launch(buffers[i], "", &launch, &error), FTH_INVALID);
        assert_contains(error.cause, "cannot be the name of a buffer");
    }
}

/* ---- clusters ---- */

static void launches_have_clusters(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3};
    for (size_t d = 0; d < FTH_COUNT(devices); d++) {
        void *values =
            run(devices[d], "\"to\": \"u32[16]\"",
                "{\"kernel\": \"rank\", \"grid\": [4, 4], \"block\": 1, \"cluster\": [2, "
                "\"N/2\"], \"args\": [\"to\"]}");
        assert_memory_equal(values, ranks, sizeof ranks);
        free(values);
    }
}

static void wrong_clusters_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *message;
    } cases[] = {
        {"0", "0 is not an integer from 1 to 16"},
        {"[1, 32]", "32 is not an integer from 1 to 16"},
        {"[]", "expected one to three numbers"},
        {"[4, 4, 2]", "a cluster can have at most 16 blocks"},
        {"[1, 3]",
         "the 4 blocks of the grid along y are not a multiple of the 3 blocks of a cluster"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        char launches[200];
        struct fth_launch *launch = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(launches, sizeof launches,
                 "{\"kernel\": \"rank\", \"grid\": [4, 4, 4], \"block\": 1, \"cluster\": %s, "
                 "\"args\": [\"to\"]}",
                 cases[i].cluster);
        assert_int_equal(read_launch("\"to\": \"u32[64]\"", launches, &launch, &error),
                         FTH_INVALID);
        assert_contains(error.cause, cases[i].message);
    }
}

static void options_have_clusters(void **state)
{
    (void)state;
    static const char *const arguments[] = {"ptr:u32[4]"};
    static const uint32_t cluster[3] = {4};
    struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.kernel = "rank", .grid = {4}, .arguments = arguments,
                           .argument_count = 1, .cluster = cluster);
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    char *values = NULL;
    write_plain("k.ptx", module, sizeof module - 1);
    assert_int_equal(fth_launch_open("k.ptx", &options, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_launch_show(launch, 0, 0, &view, &values, &error), FTH_OK);
    assert_string_equal(values, "0 1 2 3");
    fth_free(values);
    fth_launch_destroy(launch);
    write_plain("l.json", "{}", 2);
    assert_int_equal(
        fth_launch_open("l.json",
                        &(struct fth_launch_options)FTH_LAUNCH_OPTIONS(.cluster = cluster), &launch,
                        &error),
        FTH_INVALID);
    assert_contains(error.cause, "--cluster only applies to PTX files");
}

/* ---- saving ---- */

static void check_file(const char *path, const void *expected, size_t size)
{
    char content[64];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content, file), size);
    assert_memory_equal(content, expected, size);
    fclose(file);
}

static void buffers_are_saved(void **state)
{
    (void)state;
    static const uint8_t numbers[] = {0x00, 0x38, 0x40, 0x44};
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(
        read_launch("\"to\": \"u32[4]\", \"n\": \"e4m3[4]=iota\"",
                    "{\"kernel\": \"rank\", \"grid\": [4], \"block\": 1, \"cluster\": 2, "
                    "\"args\": [\"to\"]}",
                    &launch, &error),
        FTH_OK);
    assert_int_equal(fth_launch_save(launch, "saved", &error), FTH_UNAVAILABLE);
    error = NO_ERROR;
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    for (int i = 0; i < 2; i++) /* the second time, it replaces the files */
        assert_int_equal(fth_launch_save(launch, "saved", &error), FTH_OK);
    check_file("saved/n.bin", numbers, sizeof numbers);
    check_file("saved/to.bin", (const uint32_t[]){0, 1, 0, 1}, 16);
    assert_int_equal(fth_launch_save(launch, "no/folder", &error), FTH_IO);
    error = NO_ERROR;
    assert_int_equal(fth_launch_save(launch, "k.ptx", &error), FTH_IO);
    fth_launch_destroy(launch);
}

static void buffers_without_names_are_saved(void **state)
{
    (void)state;
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    write_plain("k.ptx", module, sizeof module - 1);
    assert_int_equal(fth_launch_create("k.ptx", "pass", 1, &launch, &error), FTH_OK);
    assert_int_equal(fth_launch_argument(launch, "ptr:u32[4]", &error), FTH_OK);
    assert_int_equal(fth_launch_argument(launch, "f16:1", &error), FTH_OK);
    assert_int_equal(fth_launch_argument(launch, "bytes:010000000200000003000000", &error), FTH_OK);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_launch_save(launch, ".", &error), FTH_OK);
    check_file("argument-1.bin", (const uint32_t[]){0x3c00, 1, 2, 3}, 16);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_get_tensor_maps),
        cmocka_unit_test(kernels_get_numbers_bytes_and_structs),
        cmocka_unit_test(structs_can_have_addresses),
        cmocka_unit_test(null_is_an_address),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(null_and_bytes_are_no_buffers),
        cmocka_unit_test(launches_have_clusters),
        cmocka_unit_test(wrong_clusters_are_refused),
        cmocka_unit_test(options_have_clusters),
        cmocka_unit_test(buffers_are_saved),
        cmocka_unit_test(buffers_without_names_are_saved),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
