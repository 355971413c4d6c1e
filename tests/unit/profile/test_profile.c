/* Tests the comparison of predictions with the counters of a GPU: CSV, the two layouts of Nsight
 * Compute, the pairing of kernels by name, and the errors. */
#include "folder.h"
#include "profile/profile.h"

#include <math.h>

/* ---- CSV ---- */

static void csv_has_quoted_fields(void **state)
{
    (void)state;
    char text[] = "a,\"b,\"\"c\"\"\nd\",,e\r\n\"\",x\n\"open";
    struct fth_csv_reader csv = {.at = text};
    bool more = false;
    assert_int_equal(fth_csv_next(&csv, &more, NULL), FTH_OK);
    assert_int_equal(csv.count, 4);
    assert_string_equal(csv.fields[0], "a");
    assert_string_equal(csv.fields[1], "b,\"c\"\nd");
    assert_string_equal(csv.fields[2], "");
    assert_string_equal(csv.fields[3], "e");
    assert_int_equal(fth_csv_next(&csv, &more, NULL), FTH_OK);
    assert_int_equal(csv.line, 3);
    assert_int_equal(csv.count, 2);
    assert_string_equal(csv.fields[0], "");
    assert_int_equal(fth_csv_next(&csv, &more, NULL), FTH_OK);
    assert_true(more);
    assert_string_equal(csv.fields[0], "open");
    assert_int_equal(fth_csv_next(&csv, &more, NULL), FTH_OK);
    assert_false(more);
    fth_csv_fini(&csv);
}

/* ---- counters ---- */

#define METADATA "\"ID\",\"Kernel Name\","
#define L1_SECTORS "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
#define L1_HITS "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"

static void read_counters(const char *table, struct fth_profile *profile)
{
    char text[2048];
    snprintf(text, sizeof text, "%s", table);
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_ncu_parse("test", text, profile, &error), FTH_OK);
}

static void raw_page_has_a_launch_per_record(void **state)
{
    (void)state;
    struct fth_profile profile = {0};
    read_counters("==PROF== Profiling\n" METADATA "\"" L1_SECTORS "\",\"" L1_HITS
                  "\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"\n"
                  "\"\",\"\",\"sector\",\"sector\",\"us\",\"Mbyte\"\n"
                  "\"0\",\"add\",\"1,000\",\"250\",\"1.5\",\"2.5\"\n"
                  "\"1\",\"mul\",\"7\",\"n/a\",\"2\",\"1\"\n"
                  "\"2\",\"add\",\"3,000\",\"750\",\"2.5\",\"0.5\"\n==PROF== Disconnected\n",
                  &profile);
    assert_int_equal(profile.count, 2);
    const struct fth_profile_kernel *add = &profile.kernels[0], *mul = &profile.kernels[1];
    assert_string_equal(add->name, "add");
    assert_int_equal(add->launches, 2);
    assert_float_equal(add->values[FTH_PROFILE_L1_READ_SECTORS], 4000, 0);
    assert_float_equal(add->values[FTH_PROFILE_L1_READ_HITS], 1000, 0);
    assert_float_equal(add->values[FTH_PROFILE_TIME_US], 4, 1e-9);
    assert_float_equal(add->values[FTH_PROFILE_DRAM_READ_BYTES], 3e6, 1e-3);
    assert_true(isnan(add->values[FTH_PROFILE_L2_READ_SECTORS]));
    assert_int_equal(mul->launches, 1);
    assert_true(isnan(mul->values[FTH_PROFILE_L1_READ_HITS]));
    fth_profile_fini(&profile);
}

static void details_page_has_a_metric_per_record(void **state)
{
    (void)state;
    struct fth_profile profile = {0};
    read_counters(METADATA "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
                           "\"0\",\"add\",\"x\",\"dram__sectors_read.sum\",\"sector\",\"100\"\n"
                           "\"0\",\"add\",\"x\",\"dram__bytes_read.sum\",\"Kbyte\",\"3.2\"\n"
                           "\"0\",\"add\",\"x\",\"Duration\",\"ms\",\"3.2\"\n"
                           "\"1\",\"add\",\"x\",\"dram__sectors_read.sum\",\"Ksector\",\"2\"\n"
                           "\"1\",\"add\",\"x\",\"dram__bytes_read.sum\",\"Kbyte\",\"64\"\n",
                  &profile);
    assert_int_equal(profile.count, 1);
    assert_int_equal(profile.kernels[0].launches, 2);
    /* Sectors and bytes state the same; they are not added. */
    assert_float_equal(profile.kernels[0].values[FTH_PROFILE_DRAM_READ_BYTES], 2100 * 32, 1e-6);
    fth_profile_fini(&profile);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {"", "no line that begins"},
        {"Kernel Name,ID\nadd,0\n", "no line that begins"},
        {"\"ID\",\"Kernel Name\",\"sm__cycles_elapsed.max\"\n\"0\",\"add\",\"5\"\n",
         "none of the counters"},
        {"\"ID\",\"Kernel Name\",\"" L1_SECTORS "\"\n\"0\",\"add\",\"n/a\"\n",
         "none of the counters"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_profile profile = {0};
        struct fth_error error = FTH_NO_ERROR;
        char text[256];
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(fth_ncu_parse("test", text, &profile, &error), FTH_INVALID);
        assert_non_null(strstr(error.cause, cases[i].cause));
        fth_profile_fini(&profile);
    }
}

/* ---- comparison ---- */

/* Adds a kernel with L1 read sectors and hits and with a time. */
static void add_kernel(struct fth_profile *profile, const char *name, uint64_t launches,
                       double sectors, double hits, double us)
{
    struct fth_profile_kernel *kernel = fth_profile_kernel(profile, name);
    assert_non_null(kernel);
    kernel->launches = launches;
    fth_profile_count(kernel, FTH_PROFILE_L1_READ_SECTORS, sectors, launches);
    fth_profile_count(kernel, FTH_PROFILE_L1_READ_HITS, hits, launches);
    fth_profile_count(kernel, FTH_PROFILE_TIME_US, us, launches);
}

static const struct fth_profile_pair *find_pair(const struct fth_profile_comparison *comparison,
                                                size_t kernel, const char *key)
{
    const struct fth_profile_kernel *last = NULL;
    size_t kernels = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct fth_profile_pair *pair = &comparison->pairs[i];
        kernels += pair->gpu != last;
        last = pair->gpu;
        if (kernels == kernel + 1 && strcmp(pair->figure->key, key) == 0)
            return pair;
    }
    return NULL;
}

static void errors_are_per_launch(void **state)
{
    (void)state;
    struct fth_profile gpu = {0}, model = {0};
    struct fth_profile_comparison comparison = {0};
    struct fth_error error = FTH_NO_ERROR;
    add_kernel(&gpu, "void scale<(int)4>(float *, int)", 2, 40000, 10000, 8);
    add_kernel(&gpu, "small", 1, 100, 100, 1);
    add_kernel(&gpu, "unknown", 1, 100, 100, 1);
    add_kernel(&model, "_Z5scaleILi4EEvPfi", 4, 88000, 44000, 20);
    add_kernel(&model, "small", 1, 200, 100, 1);
    assert_int_equal(fth_profile_compare(&gpu, &model, &comparison, &error), FTH_OK);
    assert_int_equal(comparison.unpaired_count, 1);
    assert_string_equal(comparison.unpaired[0]->name, "unknown");
    const struct fth_profile_pair *pair = find_pair(&comparison, 0, "l1_read_sectors");
    assert_non_null(pair);
    assert_float_equal(pair->measured, 20000, 0);
    assert_float_equal(pair->predicted, 22000, 0);
    assert_float_equal(pair->error, 10, 1e-9);
    assert_true(pair->counts);
    pair = find_pair(&comparison, 0, "l1_read_hit_percent");
    assert_non_null(pair);
    assert_float_equal(pair->error, 25, 1e-9);
    pair = find_pair(&comparison, 1, "l1_read_hit_percent");
    assert_non_null(pair);
    assert_float_equal(pair->error, -50, 1e-9);
    assert_false(pair->counts);
    for (size_t i = 0; i < fth_profile_figure_count; i++) {
        const struct fth_profile_error *e = &comparison.errors[i];
        if (strcmp(fth_profile_figures[i].key, "l1_read_hit_percent") == 0) {
            assert_int_equal(e->kernels, 1);
            assert_float_equal(e->mean, 25, 1e-9);
        }
        if (strcmp(fth_profile_figures[i].key, "time_us") == 0) {
            assert_int_equal(e->kernels, 2);
            assert_float_equal(e->mean, 12.5, 1e-9);
            assert_float_equal(e->maximum, 25, 1e-9);
        }
    }
    fth_profile_comparison_fini(&comparison);
    fth_profile_fini(&gpu);
    fth_profile_fini(&model);
}

/* A launch without a counter, "n/a", is not part of the mean. */
static void missing_counters_do_not_count(void **state)
{
    (void)state;
    struct fth_profile gpu = {0}, model = {0};
    struct fth_profile_comparison comparison = {0};
    struct fth_error error = FTH_NO_ERROR;
    read_counters(METADATA "\"" L1_SECTORS "\",\"" L1_HITS "\"\n"
                           "\"0\",\"add\",\"20000\",\"n/a\"\n"
                           "\"1\",\"add\",\"n/a\",\"500\"\n"
                           "\"2\",\"add\",\"30000\",\"1000\"\n"
                           "\"3\",\"add\",\"n/a\",\"n/a\"\n",
                  &gpu);
    add_kernel(&model, "add", 1, 25000, 100, 1);
    assert_int_equal(fth_profile_compare(&gpu, &model, &comparison, &error), FTH_OK);
    const struct fth_profile_pair *pair = find_pair(&comparison, 0, "l1_read_sectors");
    assert_non_null(pair);
    assert_float_equal(pair->measured, 25000, 0);
    assert_float_equal(pair->error, 0, 0);
    fth_profile_comparison_fini(&comparison);
    fth_profile_fini(&gpu);
    fth_profile_fini(&model);
}

/* The beginning of a name is not the name; kernels in unnamed namespaces are found. */
static void names_are_whole(void **state)
{
    (void)state;
    struct fth_profile gpu = {0}, model = {0};
    struct fth_profile_comparison comparison = {0};
    struct fth_error error = FTH_NO_ERROR;
    add_kernel(&gpu, "reduce", 1, 40000, 10000, 8);
    add_kernel(&gpu, "void at::<unnamed>::cat<(int)4>(float *)", 1, 40000, 10000, 8);
    add_kernel(&model, "reduce_final", 1, 1, 1, 1);
    add_kernel(&model, "_ZN2at12_GLOBAL__N_13catILi4EEEvPf", 1, 1, 1, 1);
    add_kernel(&model, "_ZN2at12_GLOBAL__N_15otherEPf", 1, 1, 1, 1);
    assert_int_equal(fth_profile_compare(&gpu, &model, &comparison, &error), FTH_OK);
    assert_int_equal(comparison.unpaired_count, 1);
    assert_string_equal(comparison.unpaired[0]->name, "reduce");
    assert_string_equal(comparison.pairs[0].model->name, "_ZN2at12_GLOBAL__N_13catILi4EEEvPf");
    fth_profile_comparison_fini(&comparison);
    fth_profile_fini(&gpu);
    fth_profile_fini(&model);
}

static void names_must_be_unique(void **state)
{
    (void)state;
    struct fth_profile gpu = {0}, model = {0};
    struct fth_profile_comparison comparison = {0};
    struct fth_error error = FTH_NO_ERROR;
    add_kernel(&gpu, "scale", 1, 40000, 10000, 8);
    add_kernel(&model, "_Z5scaleILi4EEvPfi", 1, 1, 1, 1);
    add_kernel(&model, "_Z5scaleILi8EEvPfi", 1, 1, 1, 1);
    assert_int_equal(fth_profile_compare(&gpu, &model, &comparison, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "--print-kernel-base mangled"));
    fth_profile_comparison_fini(&comparison);
    fth_profile_fini(&gpu);
    fth_profile_fini(&model);
}

static void other_kernels_are_refused(void **state)
{
    (void)state;
    struct fth_profile gpu = {0}, model = {0};
    struct fth_profile_comparison comparison = {0};
    struct fth_error error = FTH_NO_ERROR;
    add_kernel(&gpu, "add", 1, 40000, 10000, 8);
    add_kernel(&model, "scale", 1, 1, 1, 1);
    assert_int_equal(fth_profile_compare(&gpu, &model, &comparison, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "scale"));
    fth_profile_comparison_fini(&comparison);
    fth_profile_fini(&gpu);
    fth_profile_fini(&model);
}

/* ---- predictions ---- */

static void write_text(const char *path, const char *text)
{
    write_plain(path, text, strlen(text));
}

static void model_rows_are_read(void **state)
{
    (void)state;
    struct fth_profile profile = {0};
    struct fth_error error = FTH_NO_ERROR;
    char *gpu = NULL;
    write_text("model.json",
               "{\"schema\": \"fathom-model/1\", \"gpu\": \"NVIDIA H200\", \"parameters\": "
               "{\"l2.sector_bytes\": {\"value\": \"64\"}}, \"kernels\": [{\"kernel\": \"add\", "
               "\"launches\": 3, \"l1\": {\"sectors\": [10, 20, 30], \"hits\": [5, 6, 7]}, \"l2\": "
               "{\"sectors\": [40, 50, 60], \"hits\": [8, 9, 10]}, \"dram_read_sectors\": 2, "
               "\"dram_write_sectors\": 3, \"time_us\": null}]}");
    assert_int_equal(fth_model_totals_read("model.json", &profile, &gpu, &error), FTH_OK);
    assert_string_equal(gpu, "NVIDIA H200");
    assert_int_equal(profile.count, 1);
    static const double expected[FTH_PROFILE_COUNT] = {10,  5,  NAN, 20,  40, 8,
                                                       NAN, 50, 128, 192, NAN};
    assert_int_equal(profile.kernels[0].launches, 3);
    for (size_t i = 0; i < FTH_PROFILE_COUNT; i++)
        if (isnan(expected[i]))
            assert_true(isnan(profile.kernels[0].values[i]));
        else
            assert_float_equal(profile.kernels[0].values[i], expected[i], 0);
    assert_true(fth_is_model_result("model.json"));
    write_text("gpu.json", "{\"schema\": \"fathom-gpu/1\"}");
    assert_false(fth_is_model_result("gpu.json"));
    assert_false(fth_is_model_result("missing.json"));
    fth_profile_fini(&profile);
    free(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_quoted_fields),
        cmocka_unit_test(raw_page_has_a_launch_per_record),
        cmocka_unit_test(details_page_has_a_metric_per_record),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(errors_are_per_launch),
        cmocka_unit_test(missing_counters_do_not_count),
        cmocka_unit_test(names_are_whole),
        cmocka_unit_test(names_must_be_unique),
        cmocka_unit_test(other_kernels_are_refused),
        cmocka_unit_test(model_rows_are_read),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
