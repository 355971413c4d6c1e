/* Tests the reports of results: cache model, benches, dissections, series of loads, points of an
 * exploration, tables and plots. The results are made up, so that every count is different; the
 * expected output is in expected/results or in the tests. */
#include "expected.h"
#include "model/model.h"

#include <math.h>

/* ---- cache model ---- */

static uint64_t counts_read[] = {5, 7, 0, 11, 2, 20}, counts_write[] = {1, 2, 3};
static const struct fth_source_position outer = {.file = "src/kernel.cu", .line = 70};
static const struct fth_source_position middle = {
    .file = "inc/wrapper.h", .line = 30, .inlined_at = &outer, .function = "wrap"};
static const struct fth_source_position inner = {
    .file = "inc/helper.h", .line = 12, .inlined_at = &middle, .function = "_Z4loadIfET_PKS0_i"};
static const struct fth_trace_instruction instructions[] = {
    {.line = 17, .source_line = 12, .kind = FTH_TRACE_READ, .bytes = 4, .source = &inner},
    {.kind = FTH_TRACE_ATOMIC, .bytes = 8},
};
static struct fth_model_row rows[] = {
    {.kernel = "add",
     .launch = SIZE_MAX,
     .launches = 2,
     .last_launch = 3,
     .warps = {10, 20, 30},
     .l1 = {{100, 50, 7}, {400, 200, 28}, {300, 90, 3}, {31, 32, 34}},
     .l2 = {{60, 40, 6}, {120, 110, 25}, {40, 33, 10}, {4, 5, 6}},
     .bypassed = {{101, 51, 8}, {402, 203, 29}, {201, 99, 17}, {8, 9, 10}},
     .far_hits = 15,
     .dram_reads = 65,
     .dram_writes = 77,
     .l1_steps = 1001,
     .l2_steps = 1002,
     .l1_fails = 13,
     .l2_fails = 14,
     .l1_bytes = 131072,
     .blocks_at_once = 16,
     .l1_profile = {{counts_read, 6}, {counts_write, 3}},
     .l2_profile = {{counts_write, 3}, {NULL, 0}},
     .seconds = NAN},
    {.kernel = "add",
     .launch = 0,
     .l1 = {.sectors = {300, 0, 0}, .hits = {100, 0, 0}},
     .seconds = NAN},
    {.kernel = "add",
     .launch = 3,
     .l1 = {.sectors = {100, 0, 0}, .hits = {99, 0, 0}},
     .seconds = NAN},
    {.kernel = "one",
     .launch = SIZE_MAX,
     .launches = 1,
     .last_launch = 4,
     .l2_profile = {{counts_read, 4}, {counts_write, 2}},
     .seconds = NAN},
    {.kernel = "add",
     .launch = SIZE_MAX,
     .instruction = &instructions[0],
     .warps = {3, 0, 0},
     .l1 = {{12, 0, 0}, {48, 0, 0}, {24, 0, 0}, {1, 0, 0}},
     .l2 = {{6, 0, 0}, {24, 0, 0}, {18, 0, 0}, {2, 0, 0}},
     .dram_reads = 6},
    {.kernel = "one",
     .launch = SIZE_MAX,
     .instruction = &instructions[1],
     .warps = {0, 0, 5},
     .l2 = {{0, 0, 5}, {0, 0, 20}, {0, 0, 1}, {0, 0, 0}},
     .dram_writes = 19},
};
static uint64_t l1_distances[40] = {[0] = 10, [31] = 20, [32] = 30, [39] = 15};
static uint64_t l2_distances[65] = {[1] = 4, [63] = 6, [64] = 8};
static const struct fth_model_result result = {
    .rows = rows,
    .row_count = FTH_COUNT(rows),
    .curves = {{l1_distances, 40, 25}, {l2_distances, 65, 2}},
};

static struct fth_model_params *make_params(void)
{
    static const char *const values[][2] = {{"l1.latency_cycles", "30"},
                                            {"l2.latency_cycles", "200"},
                                            {"l2.far_latency_cycles", "300"},
                                            {"memory.latency_cycles", "600"}};
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(values); i++)
        if (fth_model_set(params, values[i][0], values[i][1], &error) != FTH_OK)
            fail_msg("%s", error.cause);
    return params;
}

/* JSON begins with the parameters, which are left out here. */
static void model_results_are_written_completely(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        enum fth_model_view view;
        const char *expected;
    } views[] = {
        {"csv", FTH_MODEL_VIEW_KERNELS, "results/kernels.csv"},
        {"text", FTH_MODEL_VIEW_LAUNCHES, "results/launches.txt"},
        {"csv", FTH_MODEL_VIEW_LINES, "results/lines.csv"},
        {"text", FTH_MODEL_VIEW_PROFILE, "results/profile.txt"},
        {"csv", FTH_MODEL_VIEW_CURVE, "results/curve.csv"},
        {"json", FTH_MODEL_VIEW_KERNELS, "results/model.json"},
    };
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = false);
    struct fth_model_params *params = make_params();
    for (size_t i = 0; i < FTH_COUNT(views); i++) {
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_report_model(views[i].format, views[i].view, &result, params, &options,
                                          &text, &size, NULL),
                         FTH_OK);
        assert_int_equal(strlen(text), size);
        const char *kernels = strstr(text, "\n  \"kernels\"");
        check_text(views[i].expected, kernels ? kernels + 1 : text);
        fth_free(text);
    }
    fth_model_params_destroy(params);
}

static struct fth_model_row timed_rows[] = {{.kernel = "add",
                                             .launch = SIZE_MAX,
                                             .launches = 1,
                                             .l1 = {.sectors = {8, 0, 0}},
                                             .seconds = 12.3456e-6}};
static const struct fth_model_result timed_result = {
    .rows = timed_rows, .row_count = FTH_COUNT(timed_rows), .timed = true};

/* With time, there is an estimated time, but there are no steps and no fails. */
static void model_results_with_time_have_no_steps(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        const struct fth_model_result *result;
        const char *has[4], *lacks[4];
    } rows_of[] = {
        {"text", &timed_result, {"Time us  Floor us", " 12.346 "}, {"fails", "steps"}},
        {"text", &result, {"fails", "steps", " 1001 "}, {"Time us"}},
        {"csv",
         &timed_result,
         {",l1_fails,l1_steps,", ",time_us,time_floor_us,", "\nadd,1,0,0,8,0,0,,,0,", ",12.346,"},
         {NULL}},
        {"csv", &result, {",13,1001,", ",time_us,"}, {NULL}},
        {"json",
         &timed_result,
         {"\"timed\": true", "\"time_us\": 12.346,", "\"l1_steps\": null", "\"l2_fails\": null"},
         {NULL}},
        {"json", &result, {"\"timed\": false", "\"time_us\": null", "\"l2_fails\": 14"}, {NULL}},
    };
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = false);
    struct fth_model_params *params = make_params();
    for (size_t i = 0; i < FTH_COUNT(rows_of); i++) {
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_report_model(rows_of[i].format, FTH_MODEL_VIEW_KERNELS,
                                          rows_of[i].result, params, &options, &text, &size, NULL),
                         FTH_OK);
        for (size_t k = 0; k < 4 && rows_of[i].has[k]; k++)
            assert_contains(text, rows_of[i].has[k]);
        for (size_t k = 0; k < 4 && rows_of[i].lacks[k]; k++)
            assert_null(strstr(text, rows_of[i].lacks[k]));
        fth_free(text);
    }
    fth_model_params_destroy(params);
}

/* Without a result, JSON and the view of parameters have only the parameters. */
static void model_parameters_are_written_without_a_result(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params();
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(
        fth_report_model("json", FTH_MODEL_VIEW_PARAMETERS, NULL, params, NULL, &text, &size, NULL),
        FTH_OK);
    static const char start[] = "{\n  \"schema\": \"fathom-model/1\",\n  \"parameters\": {\n    \"";
    assert_memory_equal(text, start, strlen(start));
    assert_contains(text, "\"l1.latency_cycles\": {\"value\": \"30\", \"source\": \"set\"},\n");
    assert_string_equal(text + size - strlen("\"}\n  }\n}\n"), "\"}\n  }\n}\n");
    fth_free(text);
    assert_int_equal(
        fth_report_model("csv", FTH_MODEL_VIEW_PARAMETERS, NULL, params, NULL, &text, &size, NULL),
        FTH_OK);
    assert_contains(text, "name,value,source,what\n");
    assert_contains(text, "\nl2.latency_cycles,200,set,");
    fth_free(text);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_report_model("jsn", FTH_MODEL_VIEW_PARAMETERS, NULL, params, NULL, &text,
                                      &size, &error),
                     FTH_INVALID);
    assert_null(text);
    fth_model_params_destroy(params);
}

/* ---- benches ---- */

/* These replace the functions of bench/, which the linker then does not take from the library. */
struct fth_bench {
    struct fth_gpu *gpu;
    const struct fth_bench_series *series;
    size_t count;
};

const struct fth_gpu *fth_bench_gpu(const struct fth_bench *bench)
{
    return bench->gpu;
}

size_t fth_bench_series_count(const struct fth_bench *bench)
{
    return bench->count;
}

const struct fth_bench_series *fth_bench_series_at(const struct fth_bench *bench, size_t index)
{
    return &bench->series[index];
}

static const struct fth_column bench_columns[] = {{"size_bytes", "Size", FTH_COLUMN_BYTES},
                                                  {"stride", "Stride", FTH_COLUMN_NUMBER},
                                                  {"cycles", "Cycles", FTH_COLUMN_NUMBER},
                                                  {"curve", "Curve", FTH_COLUMN_TEXT}};
static const struct fth_cell bench_cells[] = {
    {NULL, 1024}, {"eight", 8}, {NULL, 100}, {"=a", 0}, /* the first row */
    {NULL, 2048}, {"eight", 8}, {NULL, 200}, {"b", 0},  /* */
    {NULL, 1024}, {NULL, 16},   {NULL, NAN}, {"=a", 0}, /* */
    {NULL, 4096}, {NULL, 16},   {NULL, 300}, {NULL, 0},
};
static const struct fth_bench_figure bench_figures[] = {
    {.key = "peak", .value = 12.5, .unit = "TB/s", .method = "maximum"},
    {.key = "ratio", .value = 0.5, .unit = "", .method = "quotient"}};
static const char *const bench_missing[] = {"writes: not \033supported", "copies: no memory"};
#define BENCH_TABLE                                                                                \
    {                                                                                              \
        bench_columns, 4, bench_cells, 4                                                           \
    }
static const struct fth_bench_series bench_series[] = {
    {.name = "a.plot",
     .title = "A plot",
     .table = BENCH_TABLE,
     .plot = true,
     .x = 0,
     .y = 2,
     .by = 3,
     .detail = true},
    {.name = "a.grid",
     .title = "A grid",
     .table = BENCH_TABLE,
     .grid = true,
     .down = 0,
     .across = 1,
     .value = 2,
     .figures = bench_figures,
     .figure_count = 2},
    {.name = "a.list",
     .title = "A list",
     .table = BENCH_TABLE,
     .missing = bench_missing,
     .missing_count = 2},
    {.name = "empty", .title = "Empty", .table = {bench_columns, 4, NULL, 0}},
};

static void bench_results_are_written_completely(void **state)
{
    (void)state;
    static const struct {
        const char *format, *expected;
        bool utf8, colour;
    } formats[] = {{"text", "results/bench.txt", true, false},
                   {"text", "results/bench-ascii.txt", false, true},
                   {"json", "results/bench.json", true, false},
                   {"csv", "results/bench.csv", true, false}};
    struct fth_bench bench = {.series = bench_series, .count = FTH_COUNT(bench_series)};
    char *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        bench.gpu = read_gpu(formats[i].colour ? "full.json" : "odd.json");
        const struct fth_report_options options =
            FTH_REPORT_OPTIONS(.utf8 = formats[i].utf8, .colour = formats[i].colour);
        assert_int_equal(fth_report_bench(formats[i].format, &bench, &options, &text, &size, NULL),
                         FTH_OK);
        assert_int_equal(strlen(text), size);
        check_text(formats[i].expected, text);
        fth_free(text);
        fth_gpu_destroy(bench.gpu);
    }
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_report_bench("hwloc", &bench, NULL, &text, &size, &error), FTH_INVALID);
    assert_contains(error.cause, "bench results are available as text, json or csv");
    assert_null(text);
}

/* ---- plots and tables ---- */

/* Points at 0, negative and infinite values are not drawn, nor is a ninth curve. The first curve is
 * shown where two have the same point. A number that would touch the previous one is left out. */
static void plots_are_drawn_completely(void **state)
{
    (void)state;
    const struct fth_column columns[] = {
        {"n", "N", FTH_COLUMN_NUMBER}, {"c", "C", FTH_COLUMN_NUMBER}, {"k", "K", FTH_COLUMN_TEXT}};
    const struct fth_cell cells[] = {
        {NULL, 3},        {NULL, 10}, {"a", 0}, {NULL, 0},       {NULL, 5},        {"a", 0},
        {NULL, 5},        {NULL, -1}, {"a", 0}, {NULL, 5},       {NULL, NAN},      {"a", 0},
        {NULL, 3},        {NULL, 10}, {"b", 0}, {NULL, 1 << 20}, {NULL, 500},      {"b", 0},
        {NULL, 1 << 10},  {NULL, 70}, {"c", 0}, {NULL, 2000},    {NULL, 70},       {"d", 0},
        {NULL, 4000},     {NULL, 70}, {"e", 0}, {NULL, 8000},    {NULL, 70},       {"f", 0},
        {NULL, 16000},    {NULL, 70}, {"g", 0}, {NULL, 32000},   {NULL, 70},       {"h", 0},
        {NULL, 64000},    {NULL, 70}, {"i", 0}, {NULL, 40},      {NULL, INFINITY}, {"a", 0},
        {NULL, INFINITY}, {NULL, 40}, {"a", 0},
    };
    struct fth_bench_series series = {
        .table = {columns, 3, cells, FTH_COUNT(cells) / 3}, .y = 1, .by = 2};
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = true);
    struct fth_buffer out = {0};
    fth_text_plot(&series, &options, &out);
    check_text("results/plot.txt", out.data);
    fth_buffer_fini(&out);
    /* A single point, and none. */
    series.table.row_count = 1;
    fth_text_plot(&series, &options, &out);
    check_text("results/plot-point.txt", out.data);
    fth_buffer_fini(&out);
    series.table.row_count = 0;
    fth_text_plot(&series, &options, &out);
    series.table = (struct fth_table){columns, 3, &cells[3], 1};
    fth_text_plot(&series, &options, &out);
    assert_int_equal(out.size, 0);
}

/* ---- dissections ---- */

static void dissections_are_written_completely(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"results/dissected.json", "results/dissection.txt"},
                                           {"odd.json", "results/dissection-odd.txt"}};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_report_options options =
            FTH_REPORT_OPTIONS(.utf8 = i == 0, .replayed = i == 1);
        struct fth_gpu *gpu = read_gpu(names[i][0]);
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_report_dissection(gpu, &options, &text, &size, NULL), FTH_OK);
        check_text(names[i][1], text);
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

static char *write_series(const struct fth_series *series, bool utf8)
{
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = utf8);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_series(series, &options, &text, &size, NULL), FTH_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

/* Three lines, seven passes; the last one is incomplete. In pass n, the first n loads miss. */
static void series_are_drawn(void **state)
{
    (void)state;
    uint32_t cycles[20];
    for (size_t i = 0; i < 20; i++)
        cycles[i] = i % 3 < i / 3 ? 101 : 100;
    static const uint32_t lines[] = {2, 0, 1};
    static const int ways[] = {1, -1, 2};
    struct fth_series series = {.element = "l1",
                                .stride_bytes = 128,
                                .lines = 3,
                                .count = 20,
                                .cycles = cycles,
                                .threshold_cycles = 100,
                                .ways = 2,
                                .replay_count = 3,
                                .replay_lines = lines,
                                .replay_ways = ways};
    char *text = write_series(&series, false);
    assert_string_equal(text, "l1: misses of a walk over 3 lines of 128 bytes, one more than fits\n"
                              "  pass 2  #..  1\n  pass 3  ##.  2\n  pass 4  ###  3\n"
                              "  pass 5  ###  3\n"
                              "  one set, load by load\n  load      way 1   way 2 \n"
                              "  line 3      1       3*   miss\n"
                              "  line 1      1       3    hit\n"
                              "  line 2      1       3    miss\n");
    fth_free(text);
    series.ways = 9;
    text = write_series(&series, true);
    assert_contains(text, "  pass 2  █··  1\n");
    assert_null(strstr(text, "one set"));
    fth_free(text);
    series.lines = 0;
    text = write_series(&series, true);
    assert_string_equal(text,
                        "l1: misses of a walk over 0 lines of 128 bytes, one more than fits\n");
    fth_free(text);
}

/* A strip has 64 characters; 96 pages are drawn as 64 characters for one or two pages each. */
static void series_of_pages_are_drawn(void **state)
{
    (void)state;
    static bool missed[200];
    missed[1] = missed[3] = missed[4] = missed[5] = missed[95] = missed[96] = true;
    struct fth_series series = {.element = "tlb_l1", .lines = 96, .count = 200, .missed = missed};
    char *text = write_series(&series, true);
    char expected[1024], dots[64 * 2 + 1] = "";
    for (size_t i = 0; i < 60; i++)
        strcat(dots, "·");
    snprintf(expected, sizeof expected,
             "tlb_l1: misses of a walk over 96 pages, more than fit, one load per page\n"
             "  pass 1  ·▒██%.*s▒  5\n  pass 2  █···%s  1\n",
             (int)(59 * strlen("·")), dots, dots);
    assert_string_equal(text, expected);
    fth_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_results_are_written_completely),
        cmocka_unit_test(model_results_with_time_have_no_steps),
        cmocka_unit_test(model_parameters_are_written_without_a_result),
        cmocka_unit_test(bench_results_are_written_completely),
        cmocka_unit_test(plots_are_drawn_completely),
        cmocka_unit_test(dissections_are_written_completely),
        cmocka_unit_test(series_are_drawn),
        cmocka_unit_test(series_of_pages_are_drawn),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
