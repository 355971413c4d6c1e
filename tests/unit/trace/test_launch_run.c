/* Tests launches that run in the PTX engine: the contents of buffers before and after, the shape
 * and arguments that the kernel receives, and the verdicts about expected results. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Stores the shape of the launch, the two numbers and the size of dynamic shared memory. */
static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry shape(.param .u64 out, .param .u32 number, .param .u16 small)\n{\n"
    ".reg .b64 %rd<3>;\n.reg .b32 %r<12>;\n.reg .b16 %h<2>;\n"
    "ld.param.u64 %rd1, [out];\n"
    "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %nctaid.z;\n"
    "mov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ntid.y;\nmov.u32 %r6, %ntid.z;\n"
    "ld.param.u32 %r7, [number];\nld.param.u16 %h1, [small];\ncvt.u32.u16 %r8, %h1;\n"
    "mov.u32 %r9, %dynamic_smem_size;\n"
    "st.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r2;\nst.global.u32 [%rd1+8], %r3;\n"
    "st.global.u32 [%rd1+12], %r4;\nst.global.u32 [%rd1+16], %r5;\nst.global.u32 [%rd1+20], %r6;\n"
    "st.global.u32 [%rd1+24], %r7;\nst.global.u32 [%rd1+28], %r8;\nst.global.u32 [%rd1+32], %r9;\n"
    "ret;\n}\n"
    ".visible .entry cluster(.param .u64 out)\n{\n.reg .b64 %rd1;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %cluster_nctaid.x;\nmov.u32 %r2, "
    "%cluster_nctaid.y;\n"
    "mov.u32 %r3, %cluster_nctaid.z;\nst.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r2;\n"
    "st.global.u32 [%rd1+8], %r3;\nret;\n}\n"
    ".visible .entry nothing()\n{\nret;\n}\n"
    ".visible .entry map(.param .align 64 .b8 m[128])\n{\nret;\n}\n"
    ".visible .entry object(.param .u64 o)\n{\nret;\n}\n";

static struct fth_launch *read_members(const char *members)
{
    struct fth_buffer text = {0};
    struct fth_launch *launch = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.allow_files = true);
    write_plain("kernels.ptx", kernels, strlen(kernels));
    fth_buffer_format(&text, "{\"schema\": \"fathom-launch/1\", \"ptx\": \"kernels.ptx\", %s}",
                      members);
    if (fth_launch_read_text("x.json", text.data, text.size, &options, &launch, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_buffer_fini(&text);
    return launch;
}

#define NOTHING "\"launches\": [{\"kernel\": \"nothing\", \"grid\": 1, \"block\": 1}]"

static void assert_values(struct fth_launch *launch, size_t index, const char *expected)
{
    struct fth_launch_view view;
    char *values = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_launch_show(launch, index, 64, &view, &values, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    if (strcmp(values, expected) != 0)
        fail_msg("buffer %zu: %s, expected %s", index, values, expected);
    fth_free(values);
}

static void buffers_have_their_first_contents(void **state)
{
    (void)state;
    static const char *const expected[] = {"0 0 0",    "0 1 2",   "-5 -5",   "0 0.5 1 1.5", "1 2 4",
                                           "97 98 99", "0 1 255", "7 7 7 7", "3 3 3 3 3 3"};
    write_plain("data", "abc", 3);
    struct fth_launch *launch = read_members(
        "\"sizes\": {\"N\": 3}, \"buffers\": {\"a\": \"f32[N]\", \"b\": \"u64[3]=iota\", "
        "\"c\": \"s16[2]=-5\", \"d\": \"f64[4]=i/2\", \"e\": \"u8[3]=exp(0)*max(1,i*2)\", "
        "\"f\": \"u8[3]=file:data\", \"g\": \"s32[3]=i-(i%2)*0+floor(i/2)*253\", "
        "\"h\": \"u16[4]=random(7,7)\", \"k\": \"s8[6]=random(2.5,3.5)\"}, " NOTHING);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_launch_buffer_count(launch), FTH_COUNT(expected));
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        assert_values(launch, i, expected[i]);
    assert_true(fth_launch_size(launch, "N") == 3);
    assert_true(fth_launch_size(launch, "M") == 0);
    fth_launch_destroy(launch);
}

/* Random numbers are between their limits, and both limits occur; seeds and buffers differ. */
static void random_contents_are_within_limits(void **state)
{
    (void)state;
    struct fth_launch *launch = read_members(
        "\"buffers\": {\"a\": \"s8[400]=random(-3,4)\", \"b\": \"s8[400]=random(-3,4)\", "
        "\"c\": \"f32[400]=random(-2,6)\", \"d\": \"f32[400]=random\", "
        "\"e\": \"u8[4000]=random\"}, " NOTHING);
    struct fth_launch_view view;
    int8_t *whole[2];
    float *real[2];
    uint8_t *bytes;
    assert_int_equal(fth_launch_run(launch, NULL, NULL, NULL), FTH_OK);
    assert_int_equal(fth_launch_values(launch, "a", &view, (void **)&whole[0], NULL), FTH_OK);
    assert_int_equal(fth_launch_values(launch, "b", &view, (void **)&whole[1], NULL), FTH_OK);
    assert_int_equal(fth_launch_values(launch, "c", &view, (void **)&real[0], NULL), FTH_OK);
    assert_int_equal(fth_launch_values(launch, "d", &view, (void **)&real[1], NULL), FTH_OK);
    assert_int_equal(fth_launch_values(launch, "e", &view, (void **)&bytes, NULL), FTH_OK);
    unsigned seen = 0, differ = 0, wide = 0;
    bool values[256] = {false};
    for (size_t i = 0; i < 400; i++) {
        assert_true(whole[0][i] >= -3 && whole[0][i] <= 4);
        assert_true(real[0][i] >= -2 && real[0][i] <= 6);
        assert_true(real[1][i] >= 0 && real[1][i] <= 1);
        seen |= 1U << (whole[0][i] + 3);
        differ += whole[0][i] != whole[1][i];
        wide |= (real[0][i] < -1.8F ? 1U : 0U) | (real[0][i] > 5.8F ? 2U : 0U) |
                (real[1][i] < 0.05F ? 4U : 0U) | (real[1][i] > 0.95F ? 8U : 0U);
    }
    for (size_t i = 0; i < 4000; i++)
        values[bytes[i]] = true;
    for (size_t i = 0; i < 256; i++)
        assert_true(values[i]);
    assert_int_equal(seen, 0xff);
    assert_int_equal(wide, 0xf);
    assert_true(differ > 300);
    for (size_t i = 0; i < 2; i++) {
        free(whole[i]);
        free(real[i]);
    }
    free(bytes);
    fth_launch_destroy(launch);
}

/* The same in the PTX engine and on a simulated GPU. */
static void devices_receive_shape_and_arguments(void **state)
{
    (void)state;
    static const char *const devices[] = {NULL, "sim:h200"};
    for (size_t i = 0; i < FTH_COUNT(devices); i++) {
        struct fth_launch *launch = read_members(
            "\"buffers\": {\"b\": \"u32[12]=9\", \"c\": \"u32[3]\"}, \"launches\": ["
            "{\"kernel\": \"shape\", \"grid\": [2, 3, 4], \"block\": [5, 6, 7], \"shared\": 88, "
            "\"args\": [\"b + 2\", \"u32:0xfedcba98\", \"u16:65534\"]}, "
            "{\"kernel\": \"cluster\", \"grid\": [4, 2, 3], \"block\": 1, "
            "\"cluster\": [4, 1, 3], \"args\": [\"c\"]}]");
        const struct fth_run_options options = FTH_RUN_OPTIONS(.device = devices[i]);
        struct fth_error error = NO_ERROR;
        if (fth_launch_run(launch, &options, NULL, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_values(launch, 0, "9 9 2 3 4 5 6 7 4275878552 65534 88 9");
        assert_values(launch, 1, "4 1 3");
        assert_true(isnan(fth_launch_seconds(launch, 0)));
        fth_launch_destroy(launch);
    }
}

static void kernels_receive_shape_and_arguments(void **state)
{
    (void)state;
    struct fth_launch *launch = read_members(
        "\"buffers\": {\"b\": \"u32[24]=9\"}, \"launches\": ["
        "{\"kernel\": \"shape\", \"grid\": [2, 3, 4], \"block\": [5, 6, 7], \"shared\": 88, "
        "\"args\": [\"b + 2\", \"u32:0xfedcba98\", \"u16:65534\"]}, "
        "{\"kernel\": \"shape\", \"grid\": 11, \"block\": 12, "
        "\"args\": [\"b + 12\", \"s32:-1\", \"u16:13\"]}]");
    struct fth_launch_totals totals = {0, 0};
    assert_false(fth_launch_was_started(launch));
    assert_int_equal(fth_launch_run(launch, NULL, &totals, NULL), FTH_OK);
    assert_true(fth_launch_was_started(launch));
    assert_values(launch, 0,
                  "9 9 2 3 4 5 6 7 4275878552 65534 88 9 "
                  "11 1 1 12 1 1 4294967295 13 0 9 9 9");
    assert_true(isnan(fth_launch_seconds(launch, 0)));
    struct fth_launch_view view;
    char *values = NULL;
    assert_int_equal(fth_launch_show(launch, 0, 3, &view, &values, NULL), FTH_OK);
    assert_string_equal(values, "9 9 2");
    assert_string_equal(view.name, "b");
    assert_int_equal(view.count, 24);
    fth_free(values);
    fth_launch_destroy(launch);
}

static void results_are_verified(void **state)
{
    (void)state;
    /* b is 1, 2, 3, 4 and -10: sum 0, moment (1 + 4 + 9 + 16 - 50) / 5 = -4, magnitude 20. */
    static const struct {
        const char *expect;
        bool matches;
        const char *text;
    } rows[] = {
        {"\"sum\": 0, \"moment\": -4", true, "sum 0, moment -4, as expected"},
        {"\"sum\": 0.5, \"moment\": -4, \"absolute\": 0.5", true, "sum 0, moment -4, as expected"},
        {"\"sum\": 0.75, \"moment\": -4, \"absolute\": 0.5", false,
         "sum 0, expected 0.75; moment -4, expected -4; tolerance 0.5"},
        {"\"sum\": 0, \"moment\": -5, \"relative\": 0.05", true, "sum 0, moment -4, as expected"},
        {"\"sum\": 0, \"moment\": -5.5, \"relative\": 0.05, \"absolute\": 0.25", false,
         "sum 0, expected 0; moment -4, expected -5.5; tolerance 1.25"},
        {"\"file\": \"same\"", true, "all 5 values as expected"},
        {"\"file\": \"near\"", false, "2 of 5 values differ, first [1]: 2, expected 2.5"},
        {"\"file\": \"near\", \"absolute\": 0.5", false,
         "1 of 5 values differ, first [4]: -10, expected -12"},
        {"\"file\": \"near\", \"relative\": 0.2", true, "all 5 values as expected"},
        {"\"file\": \"near\", \"relative\": 0.125, \"absolute\": 0.5", true,
         "all 5 values as expected"},
    };
    const float same[] = {1, 2, 3, 4, -10}, near[] = {1, 2.5F, 3, 4, -12};
    write_plain("same", same, sizeof same);
    write_plain("near", near, sizeof near);
    write_plain("short", same, sizeof same - 1);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char members[256];
        struct fth_verdict verdict;
        snprintf(members, sizeof members,
                 "\"buffers\": {\"b\": \"f32[5]=file:same\"}, \"expect\": [{\"buffer\": \"b\", "
                 "%s}], " NOTHING,
                 rows[i].expect);
        struct fth_launch *launch = read_members(members);
        assert_int_equal(fth_launch_verify(launch, 0, &verdict, NULL), FTH_UNAVAILABLE);
        assert_int_equal(fth_launch_run(launch, NULL, NULL, NULL), FTH_OK);
        assert_int_equal(fth_launch_expectation_count(launch), 1);
        assert_int_equal(fth_launch_verify(launch, 0, &verdict, NULL), FTH_OK);
        assert_string_equal(verdict.buffer, "b");
        assert_string_equal(verdict.text, rows[i].text);
        assert_int_equal(verdict.matches, rows[i].matches);
        assert_int_equal(fth_launch_verify(launch, 1, &verdict, NULL), FTH_NOT_FOUND);
        fth_launch_destroy(launch);
    }
}

static void files_of_another_size_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"4", "the file has more than 16 bytes, but the buffer 'b' has 16"},
        {"6", "the file has 20 bytes, but the buffer 'b' has 24"}};
    const float same[] = {1, 2, 3, 4, -10};
    write_plain("same", same, sizeof same);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char members[256];
        struct fth_verdict verdict;
        struct fth_error error = NO_ERROR;
        snprintf(members, sizeof members,
                 "\"buffers\": {\"b\": \"f32[%s]\"}, \"expect\": [{\"buffer\": \"b\", \"file\": "
                 "\"same\"}], " NOTHING,
                 rows[i][0]);
        struct fth_launch *launch = read_members(members);
        assert_int_equal(fth_launch_run(launch, NULL, NULL, NULL), FTH_OK);
        assert_int_equal(fth_launch_verify(launch, 0, &verdict, &error), FTH_INVALID);
        assert_string_equal(error.cause, rows[i][1]);
        fth_launch_destroy(launch);
    }
}

static void values_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    struct fth_launch *launch = read_members("\"buffers\": {\"b\": \"u8[8]=254+i\"}, " NOTHING);
    assert_int_equal(fth_launch_run(launch, NULL, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "the value 256 of element 2 is not a number of type u8");
    fth_launch_destroy(launch);
}

/* ---- an executor that fails on demand ---- */

/* The calls of an executor, and the call that fails, counted from 1; 0: none. */
enum { ALLOC, WRITE, READ, RUN, OBJECT, CALLS };
struct fake {
    size_t calls[CALLS], failing[CALLS];
    bool closed;
};

static enum fth_status called(void *context, int call, struct fth_error *error)
{
    struct fake *fake = context;
    return ++fake->calls[call] == fake->failing[call]
               ? fth_fail(error, FTH_IO, "use device", NULL, "the device is gone")
               : FTH_OK;
}

static enum fth_status fake_alloc(void *context, uint64_t bytes, uint64_t *address,
                                  struct fth_error *error)
{
    *address = 1000 + bytes;
    return called(context, ALLOC, error);
}

static enum fth_status fake_write(void *context, uint64_t address, const void *data, uint64_t bytes,
                                  struct fth_error *error)
{
    (void)data;
    assert_int_equal(address, 1000 + bytes);
    return called(context, WRITE, error);
}

static enum fth_status fake_read(void *context, uint64_t address, void *data, uint64_t bytes,
                                 struct fth_error *error)
{
    (void)address;
    memset(data, 1, bytes);
    return called(context, READ, error);
}

static enum fth_status fake_run(void *context, const struct fth_launch_step *step,
                                const void *arguments, size_t argument_bytes,
                                const struct fth_run_options *options,
                                struct fth_launch_totals *totals, struct fth_error *error)
{
    (void)step;
    (void)arguments;
    (void)argument_bytes;
    (void)options;
    (void)totals;
    return called(context, RUN, error);
}

static enum fth_status fake_tensor_map(void *context, const struct fth_ptx_tensor_map *map,
                                       unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                       struct fth_error *error)
{
    assert_int_equal(map->address, 1000 + 64 + 16); /* the buffer, and 4 elements */
    memset(bytes, 0, FTH_TENSOR_MAP_BYTES);
    return called(context, OBJECT, error);
}

static enum fth_status fake_texture(void *context, const struct fth_ptx_image *image,
                                    const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                    struct fth_error *error)
{
    (void)sampling;
    assert_int_equal(image->address, 1000 + 64 + 16);
    *handle = 5;
    return called(context, OBJECT, error);
}

static double fake_seconds(void *context)
{
    return (double)((struct fake *)context)->calls[RUN] / 4;
}

static void fake_close(void *context)
{
    ((struct fake *)context)->closed = true;
}

static void failures_of_a_device_are_reported(void **state)
{
    (void)state;
    static const struct {
        int call;
        size_t number;
        const char *cause;
        size_t calls[CALLS]; /* that are made in all */
    } rows[] = {
        {ALLOC, 0, NULL, {2, 1, 0, 2}},
        {ALLOC, 1, "buffer 'a': the device is gone", {1, 0, 0, 0}},
        {ALLOC, 2, "buffer 'b': the device is gone", {2, 0, 0, 0}},
        {WRITE, 1, "the device is gone", {2, 1, 0, 0}},
        {RUN, 1, "launch 1 of 2: the device is gone", {2, 1, 0, 1}},
        {RUN, 2, "launch 2 of 2: the device is gone", {2, 1, 0, 2}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fake fake = {.closed = false};
        const struct fth_executor executor = {.context = &fake,
                                              .alloc = fake_alloc,
                                              .write = fake_write,
                                              .read = fake_read,
                                              .run = fake_run,
                                              .close = fake_close,
                                              .seconds = fake_seconds};
        const struct fth_run_options options = FTH_RUN_OPTIONS(.threads = 1);
        struct fth_error error = NO_ERROR;
        struct fth_launch *launch = read_members(
            "\"buffers\": {\"a\": \"u8[3]\", \"b\": \"u16[2]=7\"}, \"launches\": [{\"kernel\": "
            "\"nothing\", \"grid\": 1, \"block\": 1}, {\"kernel\": \"nothing\", \"grid\": 1, "
            "\"block\": 1}]");
        fake.failing[rows[i].call] = rows[i].number;
        const enum fth_status status = fth_launch_run_on(launch, &executor, &options, NULL, &error);
        assert_int_equal(status, rows[i].cause ? FTH_IO : FTH_OK);
        if (rows[i].cause)
            assert_string_equal(error.cause, rows[i].cause);
        assert_memory_equal(fake.calls, rows[i].calls, sizeof fake.calls);
        if (i == 0) {
            struct fth_launch_view view;
            void *values = NULL;
            assert_true(fth_launch_seconds(launch, 0) == 0.25);
            assert_true(fth_launch_seconds(launch, 1) == 0.5);
            assert_true(isnan(fth_launch_seconds(launch, 2)));
            assert_values(launch, 0, "1 1 1");
            fake.failing[READ] = 2;
            assert_int_equal(fth_launch_values(launch, "b", &view, &values, NULL), FTH_IO);
            assert_null(values);
            assert_int_equal(fth_launch_values(launch, "c", &view, &values, NULL), FTH_NOT_FOUND);
            assert_int_equal(fth_launch_first_values(launch, "b", &view, &values, NULL), FTH_OK);
            assert_memory_equal(values, ((const uint16_t[]){7, 7}), 4);
            assert_string_equal(view.type, "u16");
            free(values);
        } else if (rows[i].call == RUN) {
            assert_true(isnan(fth_launch_seconds(launch, rows[i].number - 1)));
        }
        assert_false(fake.closed);
        fth_launch_destroy(launch);
        assert_true(fake.closed);
    }
}

static const struct {
    const char *kernel, *argument;
    int call;
    const char *cause;
    size_t calls[CALLS];
} objects[] = {
    {"map", "\"tensormap\": \"b+4\", \"box\": [4]", ALLOC, NULL, {1, 0, 0, 1, 1}},
    {"map",
     "\"tensormap\": \"b+4\", \"box\": [4]",
     OBJECT,
     "tensor map of buffer 'b': the device is gone",
     {1, 0, 0, 0, 1}},
    /* by address: the map is copied to the memory of the device */
    {"object", "\"tensormap\": \"b+4\", \"box\": [4]", ALLOC, NULL, {2, 1, 0, 1, 1}},
    {"object",
     "\"tensormap\": \"b+4\", \"box\": [4]",
     OBJECT,
     "tensor map of buffer 'b': the device is gone",
     {1, 0, 0, 0, 1}},
    {"object",
     "\"tensormap\": \"b+4\", \"box\": [4]",
     WRITE,
     "the device is gone",
     {2, 1, 0, 0, 1}},
    {"object", "\"texture\": \"b+4\"", ALLOC, NULL, {1, 0, 0, 1, 1}},
    {"object",
     "\"texture\": \"b+4\"",
     OBJECT,
     "texture of buffer 'b': the device is gone",
     {1, 0, 0, 0, 1}},
    {"object",
     "\"surface\": \"b+4\"",
     OBJECT,
     "surface of buffer 'b': the device is gone",
     {1, 0, 0, 0, 1}},
};

static void failures_of_objects_name_the_buffer(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(objects); i++) {
        struct fake fake = {.closed = false};
        const struct fth_executor executor = {.context = &fake,
                                              .alloc = fake_alloc,
                                              .write = fake_write,
                                              .read = fake_read,
                                              .run = fake_run,
                                              .close = fake_close,
                                              .tensor_map = fake_tensor_map,
                                              .texture = fake_texture};
        const struct fth_run_options options = FTH_RUN_OPTIONS(.threads = 1);
        struct fth_error error = NO_ERROR;
        char members[300];
        snprintf(members, sizeof members,
                 "\"buffers\": {\"b\": \"u32[16]\"}, \"launches\": [{\"kernel\": \"%s\", "
                 "\"grid\": 1, \"block\": 1, \"args\": [{%s, \"sizes\": [8]}]}]",
                 objects[i].kernel, objects[i].argument);
        struct fth_launch *launch = read_members(members);
        if (objects[i].cause)
            fake.failing[objects[i].call] = 1;
        assert_int_equal(fth_launch_run_on(launch, &executor, &options, NULL, &error),
                         objects[i].cause ? FTH_IO : FTH_OK);
        if (objects[i].cause)
            assert_string_equal(error.cause, objects[i].cause);
        assert_memory_equal(fake.calls, objects[i].calls, sizeof fake.calls);
        fth_launch_destroy(launch);
    }
}

/* Options that only the PTX engine has are refused with a device, and unknown ones always. */
static void options_of_the_engine_are_checked(void **state)
{
    (void)state;
    const struct {
        struct fth_run_options options;
        const char *cause;
    } rows[] = {
        {FTH_RUN_OPTIONS(.device = "sim:h200", .check_async = true), "need the PTX engine"},
        {FTH_RUN_OPTIONS(.device = "sim:h200", .copy_order = FTH_COPY_EARLY),
         "need the PTX engine"},
        {FTH_RUN_OPTIONS(.copy_order = (enum fth_copy_order)3), "there is no copy order 3"},
    };
    struct fth_launch *launch = read_members(NOTHING);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_launch_run(launch, &rows[i].options, NULL, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
    const struct fth_run_options options =
        FTH_RUN_OPTIONS(.copy_order = FTH_COPY_RANDOM, .copy_seed = 7, .check_async = true);
    assert_int_equal(fth_launch_run(launch, &options, NULL, NULL), FTH_OK);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_have_their_first_contents),
        cmocka_unit_test(random_contents_are_within_limits),
        cmocka_unit_test(kernels_receive_shape_and_arguments),
        cmocka_unit_test(devices_receive_shape_and_arguments),
        cmocka_unit_test(results_are_verified),
        cmocka_unit_test(files_of_another_size_are_refused),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test(failures_of_a_device_are_reported),
        cmocka_unit_test(failures_of_objects_name_the_buffer),
        cmocka_unit_test(options_of_the_engine_are_checked),
    };
    return cmocka_run_group_tests_name("launch run", tests, enter_folder, leave_folder);
}
