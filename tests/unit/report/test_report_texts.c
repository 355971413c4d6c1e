/* Tests complete reports: what fathom writes about the descriptions in expected/ must equal the
 * texts there, which were checked by hand. full.json has most elements and attributes, odd.json has
 * what few descriptions have. */
#include "expected.h"

static void descriptions_are_written_completely(void **state)
{
    (void)state;
    static const struct {
        const char *gpu, *format, *expected;
        struct fth_report_options options;
    } rows[] = {
        {"full.json", "text", "full.txt", FTH_REPORT_OPTIONS(.utf8 = true, .width = 80)},
        {"full.json", "text", "full-wide.txt",
         FTH_REPORT_OPTIONS(.colour = true, .width = 101, .replayed = true)},
        {"full.json", "csv", "full.csv", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"full.json", "hwloc", "full.xml", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"full.json", "mt4g", "full-mt4g.json", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"full.json", "accel-sim", "full-accel-sim.config", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"full.json", "gem5", "full-gem5.txt", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"odd.json", "text", "odd.txt", FTH_REPORT_OPTIONS(.utf8 = true, .width = 79)},
        {"odd.json", "text", "odd-ascii.txt", FTH_REPORT_OPTIONS(.width = 93)},
        {"odd.json", "hwloc", "odd.xml", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"odd.json", "mt4g", "odd-mt4g.json", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"odd.json", "accel-sim", "odd-accel-sim.config", FTH_REPORT_OPTIONS(.utf8 = true)},
        {"odd.json", "gem5", "odd-gem5.txt", FTH_REPORT_OPTIONS(.utf8 = true)},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0;
        struct fth_error error = NO_ERROR;
        struct fth_gpu *gpu = read_gpu(rows[i].gpu);
        if (fth_report_gpu(rows[i].format, gpu, &rows[i].options, &text, &size, &error) != FTH_OK)
            fail_msg("%s: %s", rows[i].expected, error.cause);
        assert_int_equal(strlen(text), size);
        check_text(rows[i].expected, text);
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

/* A width of more than 100 columns is the same as one of 100 columns. */
static void reports_have_at_most_100_columns(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu("full.json");
    char *texts[2] = {NULL, NULL};
    for (unsigned i = 0; i < 2; i++) {
        const struct fth_report_options options = FTH_REPORT_OPTIONS(.width = 100 + 20 * i);
        size_t size = 0;
        assert_int_equal(fth_report_gpu("text", gpu, &options, &texts[i], &size, NULL), FTH_OK);
    }
    assert_string_equal(texts[0], texts[1]);
    fth_free(texts[0]);
    fth_free(texts[1]);
    fth_gpu_destroy(gpu);
}

static void two_cards_are_compared_completely(void **state)
{
    (void)state;
    static const struct {
        const char *format, *expected;
        struct fth_compare_options options;
        size_t count;
    } rows[] = {
        {"text", "cards/compare.txt", FTH_COMPARE_OPTIONS(.all = false), 14},
        {"text", "cards/compare-all.txt", FTH_COMPARE_OPTIONS(.all = true), 18},
        {"text", "cards/compare-within.txt", FTH_COMPARE_OPTIONS(.within = 0.2), 11},
        {"csv", "cards/compare.csv", FTH_COMPARE_OPTIONS(.all = true), 18},
        {"json", "cards/compare.json", FTH_COMPARE_OPTIONS(.all = true), 18},
    };
    struct fth_gpu *a = read_gpu("cards/card-a.json"), *b = read_gpu("cards/card-b.json");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0, count = 0;
        struct fth_error error = NO_ERROR;
        if (fth_report_compare(rows[i].format, &rows[i].options, (const struct fth_gpu *[]){a, b},
                               (const char *[]){"A", "B"}, &text, &size, &count, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        check_text(rows[i].expected, text);
        assert_int_equal(strlen(text), size);
        assert_int_equal(count, rows[i].count);
        fth_free(text);
    }
    fth_gpu_destroy(a);
    fth_gpu_destroy(b);
}

/* A description has no differences to itself. */
static void equal_cards_have_no_differences(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"text", "No differences beyond the intervals and the tolerance (--within).\n"},
        {"csv", "element,attribute,a,b,apart_percent\n"},
        {"json", "{\n  \"schema\": \"fathom-comparison/1\",\n  \"a\": \"A\",\n  \"b\": \"B\",\n"
                 "  \"differences\": []\n}\n"},
    };
    struct fth_gpu *gpu = read_gpu("cards/card-a.json");
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        char *text = NULL;
        size_t size = 0, count = 1;
        assert_int_equal(fth_report_compare(texts[i][0], NULL, (const struct fth_gpu *[]){gpu, gpu},
                                            (const char *[]){"A", "B"}, &text, &size, &count, NULL),
                         FTH_OK);
        assert_string_equal(text, texts[i][1]);
        assert_int_equal(count, 0);
        fth_free(text);
    }
    fth_gpu_destroy(gpu);
}

/* A format that does not exist, or is for descriptions only, is refused before anything is
 * compared.
 */
static void comparisons_need_a_table_format(void **state)
{
    (void)state;
    static const char *const formats[] = {"xml", "", "mt4g", "TEXT"};
    struct fth_gpu *a = read_gpu("cards/card-a.json"), *b = read_gpu("cards/card-b.json");
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        char *text = NULL;
        size_t size = 1, count = 1;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_report_compare(formats[i], NULL, (const struct fth_gpu *[]){a, b},
                                            (const char *[]){"A", "B"}, &text, &size, &count,
                                            &error),
                         FTH_INVALID);
        assert_int_equal(error.status, FTH_INVALID);
        assert_null(text);
        assert_int_equal(size, 0);
        assert_int_equal(count, 0);
    }
    fth_gpu_destroy(a);
    fth_gpu_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_written_completely),
        cmocka_unit_test(reports_have_at_most_100_columns),
        cmocka_unit_test(two_cards_are_compared_completely),
        cmocka_unit_test(equal_cards_have_no_differences),
        cmocka_unit_test(comparisons_need_a_table_format),
    };
    return cmocka_run_group_tests_name("report texts", tests, NULL, NULL);
}
