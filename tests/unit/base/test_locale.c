/* The library in a program whose locale has a decimal comma, as most European locales have: numbers
 * in descriptions, PTX, launch files and parameters are read with a point, all texts are written
 * with a point, and the locale of the program stays as it is.
 *
 * The test does not need an installed locale. It writes one itself, in the format of glibc, and is
 * skipped where the C library does not accept it. */
#include "folder.h"

#include "fathom/fathom.h"

#include <locale.h>
#include <math.h>
#include <sys/stat.h>

/* ---- the locale ---- */

/* Writes the file LC_NUMERIC of a locale with the decimal separator ',', as locale/loadlocale.c of
 * glibc reads it: a magic number, the number of fields, their offsets, the fields. */
static void write_locale(void)
{
    enum { FIELDS = 6, HEAD = 4 * (2 + FIELDS) };
    static const struct {
        uint32_t words[2 + FIELDS];
        char texts[8];
        uint32_t wide[2];
        char codeset[8];
    } file = {
        /* 1 is LC_NUMERIC. Fields: separator, separator of thousands, grouping, the two separators
         * as wide characters, character set. */
        {0x20031115 ^ 1, FIELDS, HEAD, HEAD + 2, HEAD + 4, HEAD + 8, HEAD + 12, HEAD + 16},
        ",\0\0\0\x7f",
        {',', 0},
        "UTF-8",
    };
    assert_int_equal(mkdir("comma", 0700), 0);
    write_plain("comma/LC_NUMERIC", &file, sizeof file);
    setenv("LOCPATH", folder, 1);
}

/* Returns whether the program has a decimal comma now. */
static bool has_comma(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

static int use_comma(void **state)
{
    int result = enter_folder(state);
    if (result == 0)
        write_locale();
    if (setlocale(LC_NUMERIC, "comma"))
        assert_true(has_comma());
    return result;
}

static int restore_locale(void **state)
{
    setlocale(LC_NUMERIC, "C");
    return leave_folder(state);
}

#define SKIP_WITHOUT_COMMA                                                                         \
    do {                                                                                           \
        if (!has_comma())                                                                          \
            skip();                                                                                \
    } while (0)

static void fail_with(const struct fth_error *error)
{
    char text[sizeof *error];
    fail_msg("%s\n%s", fth_error_text(error, text, sizeof text), error->excerpt);
}

/* ---- tests ---- */

static void descriptions_are_read_and_written_with_a_point(void **state)
{
    (void)state;
    SKIP_WITHOUT_COMMA;
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL, *again = NULL;
    struct fth_error error = NO_ERROR;
    char *first = NULL, *second = NULL;
    size_t first_size, second_size;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK ||
        fth_catalogue_read(catalogue, "h200", NULL, &gpu, &error) != FTH_OK ||
        fth_gpu_write_text(gpu, &first, &first_size, &error) != FTH_OK ||
        fth_gpu_read_text("h200", first, first_size, NULL, &again, &error) != FTH_OK ||
        fth_gpu_write_text(again, &second, &second_size, &error) != FTH_OK)
        fail_with(&error);
    assert_string_equal(first, second);
    const double cycles = fth_gpu_number(gpu, "l2", "far_latency_cycles", NAN);
    assert_true(cycles != rint(cycles));
    fth_free(first);
    fth_free(second);
    /* Every report is the same as with a point. */
    const char *format;
    for (size_t i = 0; (format = fth_report_format(i, NULL)); i++) {
        if (fth_report_gpu(format, gpu, NULL, &first, &first_size, &error) != FTH_OK)
            fail_with(&error);
        assert_true(has_comma());
        setlocale(LC_NUMERIC, "C");
        if (fth_report_gpu(format, gpu, NULL, &second, &second_size, &error) != FTH_OK)
            fail_with(&error);
        setlocale(LC_NUMERIC, "comma");
        assert_string_equal(first, second);
        fth_free(first);
        fth_free(second);
    }
    fth_gpu_destroy(gpu);
    fth_gpu_destroy(again);
    fth_catalogue_close(catalogue);
}

/* out[0] = in + 0.25 + 1.5e-1 */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add(.param .u64 out, .param .f32 in)\n"
                          "{\n"
                          "  .reg .f32 %f<2>; .reg .u64 %a;\n"
                          "  ld.param.u64 %a, [out]; ld.param.f32 %f0, [in];\n"
                          "  add.f32 %f0, %f0, 0.25; add.f32 %f0, %f0, 1.5e-1;\n"
                          "  st.global.f32 [%a], %f0;\n"
                          "  ret;\n"
                          "}\n";
static const char launch_file[] =
    "{\"schema\": \"fathom-launch/1\", \"ptx\": \"add.ptx\", \"sizes\": {\"N\": 4},\n"
    " \"buffers\": {\"out\": \"f32[N*0.5]=2.5\"},\n"
    " \"launches\": [{\"kernel\": \"add\", \"grid\": 1, \"block\": 1, "
    "\"args\": [\"out\", \"f32:0.5\"]}]}\n";

static void kernels_are_read_and_run_with_a_point(void **state)
{
    (void)state;
    SKIP_WITHOUT_COMMA;
    struct fth_launch *launch = NULL;
    struct fth_launch_view view;
    struct fth_error error = NO_ERROR;
    char *values = NULL;
    write_plain("add.ptx", ptx, sizeof ptx - 1);
    write_plain("add.json", launch_file, sizeof launch_file - 1);
    if (fth_launch_read("add.json", NULL, 0, &launch, &error) != FTH_OK ||
        fth_launch_run(launch, NULL, NULL, &error) != FTH_OK ||
        fth_launch_show(launch, 0, 0, &view, &values, &error) != FTH_OK)
        fail_with(&error);
    assert_string_equal(values, "0.899999976 2.5");
    assert_true(has_comma());
    fth_free(values);
    fth_launch_destroy(launch);
}

static void parameters_and_messages_have_a_point(void **state)
{
    (void)state;
    SKIP_WITHOUT_COMMA;
    struct fth_model_params *params = NULL;
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    static const char document[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"clock_mhz\": "
        "{\"value\": 1500, \"confidence\": 1.5}}, \"elements\": {}}";
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_model_set(params, "l1.latency", "4,0.5", &error) != FTH_OK ||
        fth_model_set(params, "l1.latency_cycles", "32.5", &error) != FTH_OK)
        fail_with(&error);
    assert_int_equal(fth_gpu_read_text("bad", document, sizeof document - 1, NULL, &gpu, &error),
                     FTH_INVALID);
    assert_contains(error.cause, "1.5");
    assert_true(has_comma());
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_read_and_written_with_a_point),
        cmocka_unit_test(kernels_are_read_and_run_with_a_point),
        cmocka_unit_test(parameters_and_messages_have_a_point),
    };
    return cmocka_run_group_tests(tests, use_comma, restore_locale);
}
