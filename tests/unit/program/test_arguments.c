/* Tests the description of the arguments of launches: types from debug information, from C++ names,
 * and from the instructions of the PTX. */
#include "capsule_builder.h"
#include "folder.h"
#include "program/program.h"

#include <stddef.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define DATA 0x7f0000000000
#define TABLE 0x7f0000200000
enum { BYTES = 4096 };

/* ---- the rows of a launch ---- */

/* A row that is expected. */
struct row {
    size_t number, offset;
    const char *name, *type, *value, *memory; /* NULL: none */
};

static void check_text(const char *found, const char *expected)
{
    if (!expected)
        assert_null(found);
    else if (!found || strcmp(found, expected) != 0)
        fail_msg("'%s' instead of '%s'", found ? found : "(none)", expected);
}

/* Writes a capsule with one launch, replays it, and compares its parameters. */
static void check_rows(const char *ptx, const char *kernel, const void *parameters, size_t bytes,
                       const struct row *rows, size_t count)
{
    static const unsigned char zeros[BYTES];
    struct fth_replay *replay = NULL;
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, ptx);
    put_launch(writer,
               (struct fth_capsule_launch){.kernel = kernel,
                                           .module = 1,
                                           .grid = {1, 1, 1},
                                           .block = {1, 1, 1},
                                           .parameters = parameters,
                                           .parameter_bytes = bytes},
               (struct memory[]){{DATA, zeros, NULL, BYTES, NULL},
                                 {TABLE, zeros, NULL, 256, "_ZN3lib5tableE"},
                                 {0}});
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.describes_parameters = true);
    assert_int_equal(fth_capsule_replay("a.capsule", &options, &replay, NULL), FTH_OK);
    const struct fth_replay_launch *launch = fth_replay_launch_at(replay, 0);
    for (size_t i = 0; i < launch->parameter_count && i < count; i++) {
        const struct fth_replay_parameter *found = fth_replay_parameter_at(launch, i);
        assert_int_equal(found->number, rows[i].number);
        assert_int_equal(found->offset, rows[i].offset);
        check_text(found->name, rows[i].name);
        check_text(found->type, rows[i].type);
        check_text(found->value, rows[i].value);
        check_text(found->memory, rows[i].memory);
    }
    assert_int_equal(launch->parameter_count, count);
    assert_null(fth_replay_parameter_at(launch, count));
    fth_replay_destroy(replay);
}

static void check_text_file(const char *path, char **text)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *text = calloc(1, 1 << 20);
    assert_non_null(*text);
    assert_true(fread(*text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
}

/* ---- debug information ---- */

/* The struct of tests/kernels/spaces/typed_params.cu. */
struct params {
    uint64_t id, x;
    int32_t n;
    struct {
        int16_t first;
        double limits[2];
    } ranges[2];
    float weights[10];
    uint64_t index;
    uint8_t flag;
    int32_t mode;
};
struct typed {
    struct params p;
    uint64_t y;
    float scale;
    _Alignas(16) float v[4];
    uint16_t h;
    uint8_t c;
};

static void debug_information_has_names_and_members(void **state)
{
    (void)state;
    const struct typed parameters = {.p = {.id = 7,
                                           .x = DATA,
                                           .n = -1,
                                           .ranges = {{-3, {0.5, 1.25}}, {4, {2, 3}}},
                                           .weights = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                                           .index = TABLE + 8,
                                           .flag = 1,
                                           .mode = 2},
                                     .y = DATA + 16,
                                     .scale = 0.25f,
                                     .v = {1, 2, 3, 4},
                                     .h = 0x3e00,
                                     .c = 200};
    static const struct row rows[] = {
        {1, 0, "p.id", "unsigned long long", "7", NULL},
        {1, 8, "p.x", "float*", "0x7f0000000000", "4096 bytes"},
        {1, 16, "p.n", "int", "-1", NULL},
        {1, 24, "p.ranges[0].first", "short", "-3", NULL},
        {1, 32, "p.ranges[0].limits", "double[2]", "0.5 1.25", NULL},
        {1, 48, "p.ranges[1].first", "short", "4", NULL},
        {1, 56, "p.ranges[1].limits", "double[2]", "2 3", NULL},
        {1, 72, "p.weights", "float[10]", "1 2 3 4 5 6 7 8 and 2 more", NULL},
        {1, 112, "p.index", "unsigned int const*", "0x7f0000200008",
         "byte 8 of variable 'lib::table'"},
        {1, 120, "p.flag", "bool", "1", NULL},
        {1, 124, "p.mode", "Mode", "2", NULL},
        {2, 0, "y", "float*", "0x7f0000000010", "byte 16 of the 4096 at 0x7f0000000000"},
        {3, 0, "scale", "float const", "0.25", NULL},
        {4, 0, "v.x", "float", "1", NULL},
        {4, 4, "v.y", "float", "2", NULL},
        {4, 8, "v.z", "float", "3", NULL},
        {4, 12, "v.w", "float", "4", NULL},
        {5, 0, "h", "__half", "1.5", NULL},
        {6, 0, "c", "unsigned char", "200", NULL},
    };
    static const struct row plain[] = {
        {1, 0, "x", "float*", "0x1000", NULL},
        {2, 0, "n", "int", "-4", NULL},
        {3, 0, "d", "double", "0.125", NULL},
    };
    const struct {
        uint64_t x;
        int32_t n;
        double d;
    } other = {0x1000, -4, 0.125};
    char *ptx;
    check_text_file(FTH_SOURCE_ROOT "/tests/kernels/spaces/typed_params.ptx", &ptx);
    check_rows(ptx, "_Z5typedIfEv6ParamsPT_S1_6float46__halfh", &parameters, sizeof parameters,
               rows, FTH_COUNT(rows));
    check_rows(ptx, "untyped", &other, sizeof other, plain, FTH_COUNT(plain));
    free(ptx);
}

/* Debug information that is damaged or cut is ignored. */
static void damaged_debug_information_is_ignored(void **state)
{
    (void)state;
    const struct {
        uint64_t x;
        int32_t n;
        double d;
    } parameters = {DATA, 4, 0.125};
    static const struct row rows[] = {
        {1, 0, NULL, "u64", "0x7f0000000000", "4096 bytes"},
        {2, 0, NULL, "s32", "4", NULL},
        {3, 0, NULL, "f64", "0.125", NULL},
    };
    char *ptx;
    check_text_file(FTH_SOURCE_ROOT "/tests/kernels/spaces/typed_params.ptx", &ptx);
    /* Another version of DWARF: the third line of the section. */
    char *version = strstr(ptx, ".section\t.debug_info");
    assert_non_null(version);
    version = strstr(version, ".b8 2\n");
    assert_non_null(version);
    version[4] = '9';
    check_rows(ptx, "untyped", &parameters, sizeof parameters, rows, FTH_COUNT(rows));
    version[4] = '2';
    /* A form that does not exist: the first attribute of the first abbreviation. */
    char *form = strstr(ptx, ".section\t.debug_abbrev");
    assert_non_null(form);
    form = strstr(form, ".b8 8\n");
    assert_non_null(form);
    form[4] = '2';
    check_rows(ptx, "untyped", &parameters, sizeof parameters, rows, FTH_COUNT(rows));
    free(ptx);
}

/* ---- without debug information ---- */

static void names_have_types(void **state)
{
    (void)state;
    static const char ptx[] =
        HEAD ".visible .entry _Z1kPfiPKvRibx5uint26__half("
             ".param .u64 a, .param .u32 b, .param .u64 c, .param .u64 d, .param .u8 e,\n"
             ".param .u64 f, .param .align 8 .b8 g[8], .param .align 2 .b8 h[2]) { ret; }\n";
    const struct {
        uint64_t a;
        int32_t b;
        uint64_t c, d;
        uint8_t e;
        int64_t f;
        uint32_t g[2];
        uint16_t h;
    } parameters = {DATA, -2, 0, TABLE, 1, -7, {1, 2}, 0xc000};
    static const struct row rows[] = {
        {1, 0, NULL, "float*", "0x7f0000000000", "4096 bytes"},
        {2, 0, NULL, "int", "-2", NULL},
        {3, 0, NULL, "void const*", "0x0", NULL},
        {4, 0, NULL, "int&", "0x7f0000200000", "variable 'lib::table'"},
        {5, 0, NULL, "bool", "1", NULL},
        {6, 0, NULL, "long long", "-7", NULL},
        {7, 0, NULL, "uint2", "1 2", NULL},
        {8, 0, NULL, "__half", "-2", NULL},
    };
    check_rows(ptx, "_Z1kPfiPKvRibx5uint26__half", &parameters, sizeof parameters, rows,
               FTH_COUNT(rows));
}

static void structs_have_the_members_that_are_loaded(void **state)
{
    (void)state;
    static const char ptx[] =
        HEAD ".visible .entry _Z1k1SPv(.param .align 8 .b8 s[120], .param .u64 p)\n"
             "{ .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %w<3>; .reg .pred %q;\n"
             "  ld.param.b64 %w0, [s+8]; cvta.to.global.u64 %w1, %w0;\n"
             "  ld.param.b32 %f0, [s+16]; add.f32 %f1, %f0, %f0;\n"
             "  ld.param.b32 %r0, [s+20]; setp.lt.s32 %q, %r0, 5;\n"
             "  ld.param.u32 %r1, [s+24]; add.s32 %r2, %r1, %r0; ret; }\n";
    struct {
        uint64_t zero, pointer;
        float number;
        int32_t n;
        uint32_t m, words[3];
        uint64_t other, rest[9], p;
    } parameters = {.pointer = 0x1000,
                    .number = 1.5f,
                    .n = -5,
                    .m = 0xffffffff,
                    .words = {1, 2, 3},
                    .other = DATA + 1,
                    .p = DATA + BYTES};
    parameters.rest[8] = 1;
    static const struct row rows[] = {
        {1, 0, NULL, "S", "120 bytes", NULL},
        {1, 0, NULL, "b64", "0x0000000000000000", NULL},
        {1, 8, NULL, "b64", "0x1000", NULL},
        {1, 16, NULL, "f32", "1.5", NULL},
        {1, 20, NULL, "s32", "-5", NULL},
        {1, 24, NULL, "u32", "4294967295", NULL},
        {1, 28, NULL, "b32", "0x00000001 0x00000002 0x00000003", NULL},
        {1, 40, NULL, "b64", "0x7f0000000001", "byte 1 of the 4096 at 0x7f0000000000"},
        {1, 48, NULL, "b64",
         "0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000000000000000 "
         "0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000000000000000 and 8 more "
         "bytes",
         NULL},
        {2, 0, NULL, "void*", "0x7f0000001000", NULL},
    };
    check_rows(ptx, "_Z1k1SPv", &parameters, sizeof parameters, rows, FTH_COUNT(rows));
}

/* ---- other launches ---- */

/* If the PTX does not have a kernel, its name states the types. */
static void unknown_kernels_have_the_types_of_their_names(void **state)
{
    (void)state;
    static const char ptx[] = HEAD ".visible .entry k(.param .u64 a) { ret; }\n";
    struct {
        uint32_t n;
        uint64_t data;
        _Alignas(16) float v[4];
        uint8_t flag, padding[7];
        struct {
            uint32_t count, limit;
            uint64_t pointer;
        } rest;
        uint64_t more;
    } parameters = {
        .n = 3, .data = DATA, .v = {1, 2, 3, 4}, .flag = 1, .rest = {1, 2, DATA + 8}, .more = 5};
    static const struct row rows[] = {
        {1, 0, NULL, "int", "3", NULL},
        {2, 0, NULL, "double const*", "0x7f0000000000", "4096 bytes"},
        {3, 0, NULL, "float4", "1 2 3 4", NULL},
        {4, 0, NULL, "bool", "1", NULL},
        {5, 0, NULL, "S", "24 bytes", NULL},
        {5, 0, NULL, "b64", "0x0000000200000001", NULL},
        {5, 8, NULL, "b64", "0x7f0000000008", "byte 8 of the 4096 at 0x7f0000000000"},
        {5, 16, NULL, "b64", "0x0000000000000005", NULL},
    };
    static const struct row bytes[] = {
        {1, 0, NULL, "struct", "8 bytes", NULL},
        {1, 0, NULL, "b64", "0x0000000000000003", NULL},
    };
    /* The last parameter does not fit, so the bytes are shown as they are. */
    static const struct row cut[] = {
        {1, 0, NULL, "int", "3", NULL},
        {2, 0, NULL, "double const*", "4 bytes", NULL},
        {2, 0, NULL, "b32", "0x00000007", NULL},
    };
    const uint32_t words[] = {3, 7};
    check_rows(ptx, "_Z5otheriPKd6float4b1Sx", &parameters,
               offsetof(__typeof__(parameters), more) + 8, rows, FTH_COUNT(rows));
    check_rows(ptx, "other", &parameters.n, 8, bytes, FTH_COUNT(bytes));
    check_rows(ptx, "_Z5otheriPKd", words, sizeof words, cut, FTH_COUNT(cut));
    check_rows(ptx, "_Z5otheri", words, 4, cut, 1);
    check_rows(ptx, "other", words, 0, NULL, 0);
    /* The PTX has the kernel, but the capsule has too few bytes. */
    check_rows(ptx, "k", words, 4, NULL, 0);
}

/* A report has a table of parameters if they are described. */
static void parameters_are_reported(void **state)
{
    (void)state;
    static const char ptx[] = HEAD ".visible .entry _Z1kPf(.param .u64 a) { ret; }\n";
    const uint64_t parameter = DATA;
    struct fth_replay *replay = NULL;
    char *shown = NULL;
    size_t size = 0;
    check_rows(ptx, "_Z1kPf", &parameter, sizeof parameter,
               &(struct row){1, 0, NULL, "float*", "0x7f0000000000", "4096 bytes"}, 1);
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.describes_parameters = true);
    assert_int_equal(fth_capsule_replay("a.capsule", &options, &replay, NULL), FTH_OK);
    assert_int_equal(fth_report_replay("json", replay, NULL, &shown, &size, NULL), FTH_OK);
    assert_contains(shown,
                    "\"parameters\": [\n    {\"launch\": 0, \"parameter\": 1, \"offset\": 0, "
                    "\"type\": \"float*\", \"value\": \"0x7f0000000000\", \"memory\": "
                    "\"4096 bytes\"}");
    fth_free(shown);
    assert_int_equal(fth_report_replay("text", replay, NULL, &shown, &size, NULL), FTH_OK);
    assert_contains(shown, "Launch  Parameter  Offset  Name  Type    Value           Memory\n");
    fth_free(shown);
    fth_replay_destroy(replay);
    assert_int_equal(fth_capsule_replay("a.capsule", NULL, &replay, NULL), FTH_OK);
    assert_int_equal(fth_replay_launch_at(replay, 0)->parameter_count, 0);
    assert_int_equal(fth_report_replay("json", replay, NULL, &shown, &size, NULL), FTH_OK);
    assert_null(strstr(shown, "parameters"));
    fth_free(shown);
    fth_replay_destroy(replay);
}

/* ---- one line ---- */

static void a_session_shows_arguments_in_one_line(void **state)
{
    (void)state;
    static const char ptx[] = HEAD ".global .u32 _ZN3lib5tableE[4];\n"
                                   ".visible .entry _Z1kPfi1S(.param .u64 a, .param .u32 b,\n"
                                   ".param .align 8 .b8 c[16]) { ret; }\n";
    struct fth_gpu *gpu;
    struct fth_catalogue *catalogue;
    struct fth_session *session;
    struct fth_session_module *module;
    struct {
        uint64_t a;
        int32_t b;
        uint64_t c[2];
    } arguments = {.b = -1};
    uint64_t bytes;
    char text[160], expected[160];
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    const struct fth_session_options options = {.gpu = gpu};
    assert_int_equal(fth_session_create(&options, &session, NULL), FTH_OK);
    assert_int_equal(fth_session_load(session, "k", ptx, sizeof ptx - 1, &module, NULL), FTH_OK);
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_DEVICE, 64, &arguments.a, NULL), FTH_OK);
    assert_true(fth_session_variable(module, "_ZN3lib5tableE", &arguments.c[1], &bytes));
    const struct fth_session_launch launch = {.module = module,
                                              .kernel = fth_session_kernel(module, "_Z1kPfi1S"),
                                              .arguments = &arguments};
    fth_session_show_arguments(session, &launch, text, sizeof text);
    snprintf(expected, sizeof expected,
             "float* = 0x%llx (64 bytes), int = -1, S = 16 bytes, b64 at byte 0 = "
             "0x0000000000000000, b64 at byte 8 = 0x%llx (variable 'lib::table')",
             (unsigned long long)arguments.a, (unsigned long long)arguments.c[1]);
    assert_string_equal(text, expected);
    fth_session_show_arguments(session, &launch, text, 10);
    assert_string_equal(text, "float*...");
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_information_has_names_and_members),
        cmocka_unit_test(damaged_debug_information_is_ignored),
        cmocka_unit_test(names_have_types),
        cmocka_unit_test(structs_have_the_members_that_are_loaded),
        cmocka_unit_test(unknown_kernels_have_the_types_of_their_names),
        cmocka_unit_test(parameters_are_reported),
        cmocka_unit_test(a_session_shows_arguments_in_one_line),
    };
    return cmocka_run_group_tests_name("arguments", tests, enter_folder, leave_folder);
}
