/* Tests the text, CSV and JSON reports (report/): the drawing, the tables, and that no description
 * can break them. The expected output is written out in the tests. */
#include "check.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>

static char *render(const char *format, const struct fth_gpu *gpu, bool utf8, unsigned width)
{
    struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = utf8, .width = width);
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    if (fth_report_gpu(format, gpu, &options, &text, &size, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(strlen(text), size);
    return text;
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    char line[4096];
    while (*text) {
        size_t size = strcspn(text, "\n");
        assert_true(size < sizeof line);
        memcpy(line, text, size);
        line[size] = '\0';
        size_t columns = fth_text_columns(line);
        widest = columns > widest ? columns : widest;
        text += size + (text[size] == '\n');
    }
    return widest;
}

static struct fth_gpu *read_gpu(const char *name)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, name, NULL, &gpu, NULL), FTH_OK);
    fth_catalogue_close(catalogue);
    return gpu;
}

static void every_gpu_of_the_catalogue_fits_in_80_columns(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        struct fth_gpu *gpu = read_gpu(fth_catalogue_name(catalogue, i));
        for (int utf8 = 0; utf8 < 2; utf8++) {
            char *text = render("text", gpu, utf8, 80);
            assert_int_equal(widest_line(text), 80);
            for (const char *at = text; !utf8 && *at; at++)
                assert_true((unsigned char)*at < 0x80);
            fth_free(text);
        }
        fth_gpu_destroy(gpu);
    }
    fth_catalogue_close(catalogue);
}

static struct fth_gpu *read_parts(const char *device, const char *elements)
{
    char text[512];
    struct fth_gpu *gpu = NULL;
    snprintf(text, sizeof text, "{\"schema\": \"fathom-gpu/1\", \"device\": %s, \"elements\": %s}",
             device, elements);
    assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, NULL), FTH_OK);
    return gpu;
}

/* An SM is called as the vendor calls it, and the text says how many share a cache. */
static void units_have_the_words_of_the_device(void **state)
{
    (void)state;
    struct fth_gpu *gpus[] = {
        read_gpu("mi300x"),
        read_parts("{\"name\": \"x\", \"kind\": \"cpu\", \"vendor\": \"AMD\", \"sms\": 4}",
                   "{\"l1\": {\"size_bytes\": 65536}, \"l2\": {\"scope\": \"sm\"}, \"l3\": "
                   "{\"sms_per_instance\": 2, \"instances\": 2}, \"memory\": {}}"),
        read_parts("{\"name\": \"x\", \"vendor\": \"NVIDIA Corporation\", \"sms\": 4}",
                   "{\"l1\": {\"size_bytes\": 65536}}")};
    static const struct {
        size_t gpu;
        const char *part;
    } rows[] = {
        {0, "8 XCDs"},
        {0, "Compute unit ×304"},
        {0, "L2 ×8"},
        {0, "1 per 38 CUs"},
        {0, "8 instances, each"},
        {0, "\nScalar L1        each shared by 2 compute units\n"},
        {0, "\nScalar L1        group    16 KiB    64 B     –      48    1/2"},
        {0, "\nVector L1        CU "},
        {0, "1/N: N compute units share one.\n"},
        {1, "┌ Core ×4 "},
        {1, "\nL1 data          core     64 KiB"},
        {1, "\nL2               core "},
        {1, "\nL3               group         –       –     –       –    1/2"},
        {1, "\nDevice memory    CPU "},
        {1, "/core"},
        {1, "2 instances, each shared by 2 cores"},
        {2, "┌ SM ×4 "},
        {2, "per SM"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = render("text", gpus[rows[i].gpu], true, 80);
        assert_contains(text, rows[i].part);
        fth_free(text);
    }
    for (size_t i = 0; i < FTH_COUNT(gpus); i++)
        fth_gpu_destroy(gpus[i]);
}

static void boxes_are_drawn_side_by_side_if_they_fit(void **state)
{
    (void)state;
    struct fth_drawing drawing = {.utf8 = true};
    const char *lines[] = {"16 KiB", "64 cycles"};
    struct fth_block content = fth_draw_lines(&drawing, lines, 2);
    struct fth_block boxes[] = {fth_draw_box(&drawing, "L1", &content, 0),
                                fth_draw_box(&drawing, "A long title", &content, 0)};
    struct fth_block row = fth_draw_flow(&drawing, boxes, 2, 40);
    static const char *const expected[] = {
        "┌ L1 ───────┐ ┌ A long title ┐",
        "│ 16 KiB    │ │ 16 KiB       │",
        "│ 64 cycles │ │ 64 cycles    │",
        "└───────────┘ └──────────────┘",
    };
    assert_int_equal(row.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(row.lines[i], expected[i]);
    /* Boxes that do not fit in a row are placed in the next one. */
    assert_int_equal(fth_draw_flow(&drawing, boxes, 2, 20).count, 8);
    struct fth_block cut = fth_draw_box(&drawing, "A title that is far too long", &content, 15);
    assert_string_equal(cut.lines[0], "┌ A title th… ┐");
    assert_false(drawing.failed);
    fth_drawing_fini(&drawing);
}

static void the_table_shows_the_known_attributes(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu("k20c");
    char *text = render("text", gpu, true, 80);
    assert_contains(text, "┌ SM ×13 ─");
    assert_contains(text, "┌ Texture + ro ×4 ─");
    assert_contains(text, "Element          Scope      Size    Line Sect. Latency per SM Shared "
                          "with Conf.\n");
    assert_contains(text,
                    "Texture          SM       12 KiB    32 B     –     111      4 ro          "
                    "publ.\n");
    assert_contains(text, "4 sets × 96 ways; index bits:[7,8]; policy lru");
    fth_free(text);
    fth_gpu_destroy(gpu);
    gpu = read_gpu("a100");
    text = render("text", gpu, false, 80);
    assert_contains(text, "  far                                            356.6\n");
    assert_contains(text,
                    "| 40 MiB, 2 partitions of 20 MiB, line 128 B, 223 cycles, far 356.6 cycles");
    fth_free(text);
    fth_gpu_destroy(gpu);
}

/* The attributes of this L2 do not fit on one line of its box. */
static void attributes_of_a_box_continue_on_a_second_line(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {\"l2\": {"
        "\"size_bytes\": 62914560, \"partitions\": 2, \"line_bytes\": 128, "
        "\"latency_cycles\": 278.2, \"latency_ns\": 140.5, \"far_latency_cycles\": 456.2}}}";
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, NULL), FTH_OK);
    char *shown = render("text", gpu, false, 80);
    assert_int_equal(widest_line(shown), 80);
    assert_contains(shown, "| | 60 MiB, 2 partitions of 30 MiB, line 128 B  ");
    assert_contains(shown, "| | 278.2 cycles (140.5 ns), far 456.2 cycles  ");
    fth_free(shown);
    fth_gpu_destroy(gpu);
}

static void confidence_is_the_minimum_of_the_row(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {\"l1\": {"
        "\"size_bytes\": {\"value\": 16384, \"source\": \"measured\", \"confidence\": 0.998},"
        "\"latency_cycles\": {\"value\": 32, \"source\": \"measured\", \"confidence\": 0.95}}}}";
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, NULL), FTH_OK);
    char *shown = render("text", gpu, true, 80);
    assert_contains(shown, " 0.950\n");
    fth_free(shown);
    fth_gpu_destroy(gpu);
}

/* A description as a measurement writes it: elements that the driver reports come first, not in the
 * order of the schema. */
static const char measured_text[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Tesla V100-SXM2-32GB\","
    " \"architecture\": \"Volta\", \"compute_capability\": \"7.0\", \"sms\": 80,"
    " \"clock_mhz\": 1380, \"backend\": \"simulated\"}, \"elements\": {"
    "\"memory\": {\"size_bytes\": {\"value\": 34359738368, \"source\": \"driver\"},"
    " \"peak_bytes_per_s\": {\"value\": 9e11, \"source\": \"derived\"}},"
    "\"tlb_l1\": {\"reach_bytes\": {\"value\": 33554432, \"source\": \"measured\"}},"
    "\"l2\": {\"size_bytes\": {\"value\": 6291456, \"source\": \"driver\"},"
    " \"latency_cycles\": {\"value\": 215, \"source\": \"measured\"},"
    " \"latency_ns\": {\"value\": 155.8, \"source\": \"measured\"}},"
    "\"novel\": {\"size_bytes\": 1024},"
    "\"l1\": {\"latency_cycles\": {\"value\": 36, \"source\": \"measured\"}}}}";

static struct fth_gpu *read_measured(void)
{
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_read_text("x", measured_text, strlen(measured_text), NULL, &gpu, NULL),
                     FTH_OK);
    return gpu;
}

static void a_measured_gpu_is_shown_in_schema_order_with_its_sources(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_measured();
    char *text = render("text", gpu, true, 80);
    /* The rows are in the order of the schema. An element whose description has no scope is shown
     * with the scope that such elements always have; TLBs have none. */
    const char *l1 = strstr(text, "\nL1 data          SM "),
               *l2 = strstr(text, "\nL2               GPU ");
    const char *tlb = strstr(text, "\nTLB L1           – "),
               *memory = strstr(text, "\nDevice memory    GPU ");
    assert_true(l1 && l2 && tlb && memory && l1 < l2 && l2 < tlb && tlb < memory);
    assert_contains(memory, "\nnovel            – ");
    assert_contains(text, "│ ┌ SM ×80 ─");
    assert_contains(text, "│ 6 MiB, 215 cycles (155.8 ns)");
    /* If the figures of a row have several sources, a line below the table lists the figures of
     * each source. */
    assert_contains(l1, " meas.\nL2 ");
    assert_contains(l2, " mixed\nTLB L1 ");
    assert_contains(memory, " driver\n");
    assert_contains(
        text, "\nL2               measured: latency_cycles, latency_ns; driver: size_bytes\n");
    assert_contains(text, "\nDevice memory    driver: size_bytes; derived: peak_bytes_per_s\n");
    fth_free(text);
    fth_gpu_destroy(gpu);
}

static void the_title_shows_simulated_and_replayed(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_measured();
    struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = true);
    for (int replayed = 0; replayed < 2; replayed++) {
        char *text = NULL;
        size_t size = 0;
        options.replayed = replayed;
        assert_int_equal(fth_report_gpu("text", gpu, &options, &text, &size, NULL), FTH_OK);
        assert_true(widest_line(text) == 80);
        /* A title that does not fit is abbreviated. */
        assert_contains(text, replayed ? "┌ Tesla V100-SXM2-32GB, simulated, replayed · Volta · "
                                         "cc 7.0 · 1380 MHz ─"
                                       : "┌ Tesla V100-SXM2-32GB, simulated · Volta · compute "
                                         "capability 7.0 · 1380 MHz ─");
        fth_free(text);
    }
    fth_gpu_destroy(gpu);
}

static void a_hostile_description_cannot_break_the_report(void **state)
{
    (void)state;
    static char text[64 * 1024], name[10 * 1024];
    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = "<script>x"[i % 9];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"\\u001b[31m\\n%s\","
             " \"architecture\": \"\\u202e%s\", \"sms\": 9007199254740992}, \"elements\": {"
             "\"l1\": {\"scope\": \"sm\", \"size_bytes\": 9007199254740992, \"latency_cycles\":"
             " 0.000001, \"per_sm\": 9007199254740992, \"unknown\": {\"sets\": \"%s\\u0007\"}},"
             " \"%s\": {\"scope\": 5}}}",
             name, name, name, name);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    static const char *const formats[] = {"text", "csv"};
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        char *shown = render(formats[i], gpu, true, 80);
        if (i == 0) {
            assert_null(strchr(shown, '\033'));
            assert_null(strchr(shown, '\a'));
            assert_null(strstr(shown, "\xe2\x80\xae"));
        }
        fth_free(shown);
    }
    char *json = render("json", gpu, true, 80);
    assert_null(strchr(json, '\033'));
    fth_free(json);
    fth_gpu_destroy(gpu);
}

/* Cells that a spreadsheet would evaluate, and control characters. */
static void csv_cells_are_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cell;
    } rows[] = {
        {"plain", "plain"},
        {"", ""},
        {NULL, ""},
        {"=1+1", "\"'=1+1\""},
        {"@sum", "\"'@sum\""},
        {"+1 + 2", "\"'+1 + 2\""},
        {"-cmd|' /C calc'!A0", "\"'-cmd|' /C calc'!A0\""},
        {"-", "\"'-\""},
        {"-5", "-5"},
        {"+5", "+5"},
        {"-1.5e-3", "-1.5e-3"},
        {"-1 2 -3", "-1 2 -3"},
        {"-1 =2", "\"'-1 =2\""},
        {"-1  2", "-1  2"},
        {"-1 ", "\"'-1 \""},
        {"\tx", "\"'\tx\""},
        {"\r=1", "\"'\r=1\""},
        {"a=1", "a=1"},
        {"a\tb", "a\tb"},
        {"\033[31m", "?[31m"},
        {"a\xc2\x9b,\"\xe2\x80\xae\"", "\"a?,\"\"?\"\"\""},
        {"a\nb", "\"a\nb\""},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int last = 0; last < 2; last++) {
            struct fth_buffer out = {0};
            char expected[64];
            snprintf(expected, sizeof expected, "%s%s", rows[i].cell, last ? "\n" : ",");
            fth_csv_cell(&out, rows[i].text, last);
            assert_string_equal(out.data, expected);
            fth_buffer_fini(&out);
        }
}

static void csv_quotes_commas_and_quotation_marks(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"a, \\\"b\\\"\"}, \"elements\": {"
        "\"tlb_l1\": {\"set_ways\": {\"value\": [17, 8], \"source\": \"measured\", \"confidence\": "
        "0.5, \"note\": \"n\"}}}}";
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, NULL), FTH_OK);
    char *csv = render("csv", gpu, false, 80);
    assert_string_equal(csv, "section,attribute,value,source,confidence,samples,low,high,method,"
                             "reference,note\n"
                             "device,name,\"a, \"\"b\"\"\",,,,,,,,\n"
                             "tlb_l1,set_ways,17 8,measured,0.5,,,,,,n\n");
    fth_free(csv);
    fth_gpu_destroy(gpu);
}

static void tables_are_written_in_every_format(void **state)
{
    (void)state;
    static const struct fth_column columns[] = {{"name", "Name", FTH_COLUMN_TEXT},
                                                {"size_bytes", "Size", FTH_COLUMN_BYTES},
                                                {"n", "N", FTH_COLUMN_NUMBER},
                                                {"list", "List", FTH_COLUMN_NUMBERS}};
    const struct fth_cell cells[] = {
        {"a\"b", 0}, {NULL, 32768}, {NULL, 1.5}, {"18446744073709551615 -2.5 nan", 0},
        {NULL, 0},   {NULL, NAN},   {NULL, NAN}, {NULL, 0}};
    const struct fth_table table = {columns, 4, cells, 2};
    static const struct {
        const char *format, *text;
    } rows[] = {
        {"text", "Name    Size    N  List\na\"b   32 KiB  1.5  18446744073709551615 -2.5 nan\n-    "
                 "      -    -  -\n"},
        {"json", "[\n  {\"name\": \"a\\\"b\", \"size_bytes\": 32768, \"n\": 1.5, \"list\": "
                 "[18446744073709551615, -2.5, "
                 "null]},\n  {}\n]\n"},
        {"csv",
         "name,size_bytes,n,list\n\"a\"\"b\",32768,1.5,18446744073709551615 -2.5 nan\n,,,\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_report_table(rows[i].format, &table, NULL, &text, &size, NULL),
                         FTH_OK);
        assert_string_equal(text, rows[i].text);
        fth_free(text);
    }
}

static void reports_unknown_formats(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu("v100");
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_report_gpu("jsn", gpu, NULL, &text, &size, &error), FTH_INVALID);
    assert_contains(error.cause, "did you mean 'json'?");
    assert_null(text);
    const char *summary = NULL;
    assert_string_equal(fth_report_format(0, &summary), "text");
    assert_non_null(summary);
    assert_null(fth_report_format(99, NULL));
    fth_gpu_destroy(gpu);
}

static void invalid_points_leave_no_text(void **state)
{
    (void)state;
    char before[] = "", *text = before;
    size_t size = 1;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_report_points("json", "no points", 9, NULL, &text, &size, &error),
                     FTH_INVALID);
    assert_null(text);
    assert_int_equal(size, 0);
}

/* Two points lie in opposite corners of the plot, a third one is in the middle. */
static void plots_use_their_whole_area(void **state)
{
    (void)state;
    const struct fth_column columns[3] = {{0}};
    const struct fth_cell cells[] = {{.number = 1},    {.number = 1},   {.text = "a"},
                                     {.number = 1024}, {.number = 256}, {.text = "a"},
                                     {.number = 32},   {.number = 16},  {.text = "b"}};
    const struct fth_bench_series series = {
        .table = {.columns = columns, .column_count = 3, .cells = cells, .row_count = 3},
        .y = 1,
        .by = 2};
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = false);
    struct fth_buffer out = {0};
    fth_text_plot(&series, &options, &out);
    const char *line = out.data;
    for (size_t row = 0; row < 17; row++) {
        const char *end = strchr(line, '\n');
        const size_t length = (size_t)(end - line);
        assert_int_equal(length, row == 0 ? 76 : row == 8 ? 44 : row == 16 ? 11 : 10);
        if (row % 8 == 0)
            assert_int_equal(end[-1], row == 8 ? 'o' : '*');
        line = end + 1;
    }
    line = strchr(line, '\n') + 1; /* after the axis */
    const char *scale = strchr(line, '\n');
    assert_int_equal(line[10], '1');
    assert_memory_equal(line + 43, "32", 2);
    assert_memory_equal(line + 75, "1024", 4);
    assert_string_equal(scale, "\n        * a\n        o b\n");
    fth_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gpu_of_the_catalogue_fits_in_80_columns),
        cmocka_unit_test(units_have_the_words_of_the_device),
        cmocka_unit_test(boxes_are_drawn_side_by_side_if_they_fit),
        cmocka_unit_test(the_table_shows_the_known_attributes),
        cmocka_unit_test(attributes_of_a_box_continue_on_a_second_line),
        cmocka_unit_test(confidence_is_the_minimum_of_the_row),
        cmocka_unit_test(a_measured_gpu_is_shown_in_schema_order_with_its_sources),
        cmocka_unit_test(the_title_shows_simulated_and_replayed),
        cmocka_unit_test(a_hostile_description_cannot_break_the_report),
        cmocka_unit_test(csv_cells_are_harmless),
        cmocka_unit_test(csv_quotes_commas_and_quotation_marks),
        cmocka_unit_test(tables_are_written_in_every_format),
        cmocka_unit_test(reports_unknown_formats),
        cmocka_unit_test(invalid_points_leave_no_text),
        cmocka_unit_test(plots_use_their_whole_area),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
