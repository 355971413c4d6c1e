/* Tests the tables of the points of an exploration: their columns, their width, their order, and
 * the points that no other one dominates. */
#include "expected.h"

static char *show(const char *format, const char *points, const struct fth_points_view *view,
                  unsigned columns)
{
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.columns = columns);
    if (fth_report_points_view(format, points, strlen(points), view, &options, &text, &size,
                               &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(size, strlen(text));
    return text;
}

static void points_are_written_completely(void **state)
{
    (void)state;
    const struct fth_points_view views[] = {FTH_POINTS_VIEW(), FTH_POINTS_VIEW(.rdgc = true)};
    static const struct {
        const char *format, *name;
        int view;
        unsigned columns;
    } rows[] = {{"text", "results/points.txt", 0, 0},
                {"text", "results/points-rdgc.txt", 1, 0},
                {"csv", "results/points.csv", 0, 0}};
    char *points = read_expected("results/points", NULL);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = show(rows[i].format, points, &views[rows[i].view], rows[i].columns);
        check_text(rows[i].name, text);
        fth_free(text);
    }
    free(points);
}

#define HEADER(...) "{\"studies\":[{\"vary\":[{\"names\":[" __VA_ARGS__ "]}]}]}\n"
/* A point of trace t with one kernel. */
#define POINT(number, trace, size, time, dram, hits)                                               \
    "{\"point\":" #number ",\"trace\":\"" trace "\",\"values\":{\"l1.size_bytes\":\"" size         \
    "\"},\"timed\":true,\"rows\":[{\"kernel\":\"k\",\"l1\":{\"sectors\":[100,0,0],\"hits\":"       \
    "[" #hits ",0,0]},\"time_us\":" #time ",\"dram_bytes\":" #dram "}]}\n"

static const char four_points[] =
    HEADER("\"l1.size_bytes\"") POINT(0, "t", "16K", 9, 640, 10) POINT(1, "t", "32K", 7, 640, 30)
        POINT(2, "t", "64K", 8, 320, 30) POINT(3, "t", "128K", 7, 960, 50);

/* Returns the numbers of the points in the order of the table, from its CSV. */
static void order_of(const char *points, const struct fth_points_view *view, char order[32])
{
    char *text = show("csv", points, view, 0);
    size_t count = 0;
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
        order[count++] = line[1];
    order[count] = '\0';
    fth_free(text);
}

static void points_are_sorted_and_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *objective, *pareto, *order;
    } rows[] = {
        {NULL, NULL, "0123"},
        {"time", NULL, "1320"}, /* equal ones by number */
        {"dram", NULL, "2013"},
        {"l1_hit", NULL, "3120"},
        {NULL, "l1.size_bytes,time", "01"}, /* 3 is as fast as 1, but larger */
        {NULL, "l1.size_bytes,dram", "02"},
        {NULL, "time,dram", "12"},
        {NULL, "dram,time", "21"},
        {NULL, "l1.size_bytes,l1_hit", "013"},
        {NULL, "l1.size_bytes,time,dram", "012"},
        {"time", "l1.size_bytes,time,dram", "120"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char order[32];
        order_of(four_points,
                 &(struct fth_points_view)FTH_POINTS_VIEW(.objective = rows[i].objective,
                                                          .pareto = rows[i].pareto),
                 order);
        assert_string_equal(order, rows[i].order);
    }
}

/* Points of different traces are not compared. */
static void traces_are_sorted_separately(void **state)
{
    (void)state;
    static const char points[] = HEADER("\"l1.size_bytes\"") POINT(0, "b", "16K", 9, 640, 10)
        POINT(1, "b", "32K", 8, 640, 30) POINT(2, "a", "16K", 2, 320, 30)
            POINT(3, "a", "32K", 1, 960, 50);
    const struct fth_points_view best = FTH_POINTS_VIEW(.objective = "time");
    const struct fth_points_view pareto = FTH_POINTS_VIEW(.pareto = "l1.size_bytes,time");
    char order[32];
    order_of(points, &best, order);
    assert_string_equal(order, "1032");
    order_of(points, &pareto, order);
    assert_string_equal(order, "0123");
    char *text = show("text", points, &best, 0);
    assert_contains(text, "Best time of b: point 1, 8 us, l1.size_bytes=32K.\n"
                          "Best time of a: point 3, 1 us, l1.size_bytes=32K.\n");
    fth_free(text);
}

static void the_text_names_the_best_point(void **state)
{
    (void)state;
    const struct fth_points_view view = FTH_POINTS_VIEW(.objective = "l1_hit");
    char *text = show("text", four_points, &view, 0);
    assert_contains(text, "All rows: trace t, kernel k.\n"
                          "Best l1_hit: point 3, 50 %, l1.size_bytes=128K.\n");
    fth_free(text);
    const struct fth_points_view pareto = FTH_POINTS_VIEW(.pareto = "l1.size_bytes,time");
    text = show("text", four_points, &pareto, 0);
    assert_contains(text, "Pareto points of l1.size_bytes and time: 2 of 4 points.\n");
    fth_free(text);
}

static void views_are_checked(void **state)
{
    (void)state;
    static const struct {
        struct fth_points_view view;
        enum fth_status checked, shown;
        const char *cause;
    } rows[] = {
        {FTH_POINTS_VIEW(.objective = "speed"), FTH_NOT_FOUND, FTH_NOT_FOUND,
         "it is not one of time, floor, dram, l2_bytes, l1_hit, l2_hit"},
        {FTH_POINTS_VIEW(.pareto = "time"), FTH_INVALID, FTH_INVALID, "expected 2 to 8 figures"},
        {FTH_POINTS_VIEW(.pareto = "time,"), FTH_INVALID, FTH_INVALID, "expected 2 to 8 figures"},
        {FTH_POINTS_VIEW(.pareto = "l1.sise,time"), FTH_NOT_FOUND, FTH_NOT_FOUND, NULL},
        {FTH_POINTS_VIEW(.pareto = "l1.ways,time"), FTH_OK, FTH_NOT_FOUND, "does not vary"},
        {FTH_POINTS_VIEW(.objective = "floor"), FTH_OK, FTH_INVALID, "no point has this figure"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_points_view_check(&rows[i].view, &error), rows[i].checked);
        if (rows[i].checked != FTH_OK && rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
        error = NO_ERROR;
        assert_int_equal(fth_report_points_view("text", four_points, strlen(four_points),
                                                &rows[i].view, NULL, &text, &size, &error),
                         rows[i].shown);
        if (rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
        assert_null(text);
    }
}

#define LONG_VALUES                                                                                \
    "\"values\":{\"l1.size_bytes\":\"16K\",\"l1.latency_cycles\":\"30\",\"gpu.timing\":\"auto\"}"
#define LONG_ROW(kernel)                                                                           \
    "{\"kernel\":\"" kernel                                                                        \
    "\",\"l1\":{\"sectors\":[3,0,0],\"hits\":[1,0,0]},\"l2\":{\"sectors\":"                        \
    "[3,0,0],\"hits\":[2,0,0]},\"l2_bytes\":123456789,\"dram_bytes\":98765432,\"time_us\":"        \
    "123456.789}"

/* Returns the number of characters of the longest line of the table. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (const char *line = strstr(text, "Point"); line && *line;) {
        const size_t size = strcspn(line, "\n");
        longest = size > longest ? size : longest;
        line += size + (line[size] == '\n');
    }
    return longest;
}

/* Tables with several parameters and long names of kernels fit, too. */
static void tables_fit_the_width(void **state)
{
    (void)state;
    static const char points[] = HEADER(
        "\"l1.size_bytes\",\"l1.latency_cycles\",\"gpu.timing\"") "{\"point\":0,\"trace\":"
                                                                  "\"a\"," LONG_VALUES
                                                                  ",\"rows\":[" LONG_ROW(
                                                                      "kernel_"
                                                                      "with_a_"
                                                                      "very_"
                                                                      "long_"
                                                                      "name_"
                                                                      "indeed_a") "," LONG_ROW("ker"
                                                                                               "nel"
                                                                                               "_wi"
                                                                                               "th_"
                                                                                               "a_"
                                                                                               "ver"
                                                                                               "y_"
                                                                                               "lon"
                                                                                               "g_"
                                                                                               "nam"
                                                                                               "e_"
                                                                                               "ind"
                                                                                               "eed"
                                                                                               "_b") "]}\n{"
                                                                                                     "\"point\":"
                                                                                                     "1,"
                                                                                                     "\"trace\":"
                                                                                                     "\"a\","
                                                                                                     "\"values\":"
                                                                                                     "{\"l1.size_"
                                                                                                     "bytes\":"
                                                                                                     "\"32K\","
                                                                                                     "\"l1."
                                                                                                     "latency_"
                                                                                                     "cycles\":"
                                                                                                     "\"31\","
                                                                                                     "\"gpu."
                                                                                                     "timing\":"
                                                                                                     "\"off\"},"
                                                                                                     "\"rows\":"
                                                                                                     "[" LONG_ROW(
                                                                                                         "kernel_"
                                                                                                         "c") "]}"
                                                                                                              "\n";
    static const unsigned widths[] = {0, 80, 100, 160, 250};
    for (size_t i = 0; i < FTH_COUNT(widths); i++) {
        char *text = show("text", points, NULL, widths[i]);
        const size_t width = longest_line(text), limit = widths[i] ? widths[i] : 80;
        assert_true(width <= limit && width >= 60);
        assert_true((strstr(text, "values of l1.size_bytes, l1.latency_cycles, gpu.timing") !=
                     NULL) == (limit <= 160)); /* so that all figures fit */
        assert_true((strstr(text, "Left out: ") != NULL) == (limit <= 100));
        fth_free(text);
    }
}

/* A study that varies many parameters. The table still has the figures of each point, and says
 * which ones it leaves out. */
static void many_parameters_leave_the_figures(void **state)
{
    (void)state;
    enum { NAMES = 64 };
    struct fth_buffer points = {0};
    fth_buffer_text(&points, "{\"studies\":[{\"vary\":[{\"names\":[");
    for (int i = 0; i < NAMES; i++)
        fth_buffer_format(&points, "%s\"p%d\"", i ? "," : "", i);
    fth_buffer_text(&points, "]}]}]}\n");
    for (int point = 0; point < 2; point++) {
        fth_buffer_format(&points, "{\"point\":%d,\"trace\":\"t\",\"values\":{", point);
        for (int i = 0; i < NAMES; i++)
            fth_buffer_format(&points, "%s\"p%d\":\"%d\"", i ? "," : "", i, 100 * point + i);
        fth_buffer_format(
            &points,
            "},\"timed\":true,\"rows\":[{\"kernel\":\"k\",\"l1\":{\"sectors\":[100,0,0],"
            "\"hits\":[50,0,0]},\"time_us\":%d,\"dram_bytes\":320}]}\n",
            7 + point);
    }
    char *text = show("text", points.data, NULL, 0);
    assert_true(longest_line(text) <= 80);
    assert_contains(text, "Values"); /* all in one column */
    assert_contains(text, " 63");
    assert_contains(text, " 163");
    assert_contains(text, "DRAM");
    assert_contains(text, "320 B");
    assert_contains(text, "    7"); /* the times */
    assert_contains(text, "    8");
    fth_free(text);
    text = show("text", points.data, NULL, 1000);
    assert_true(longest_line(text) <= 1000);
    assert_contains(text, "p63  L1 hit%  L2 hit%  L2 bytes   DRAM  Time us");
    assert_null(strstr(text, "Left out"));
    fth_free(text);
    fth_buffer_fini(&points);
}

static void skipped_points_are_named(void **state)
{
    (void)state;
    char *points = read_expected("results/points", NULL), *reasons = NULL;
    size_t count = 9;
    assert_int_equal(fth_points_skipped(points, strlen(points), 8, &count, &reasons, NULL), FTH_OK);
    assert_int_equal(count, 1);
    assert_string_equal(reasons, "point 3 of b, l1.ways=3: policy: not 3\n");
    fth_free(reasons);
    assert_int_equal(fth_points_skipped(points, strlen(points), 0, &count, &reasons, NULL), FTH_OK);
    assert_int_equal(count, 1);
    assert_string_equal(reasons, "");
    fth_free(reasons);
    assert_int_equal(fth_points_skipped("{", 1, 0, &count, NULL, NULL), FTH_INVALID);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_written_completely),
        cmocka_unit_test(points_are_sorted_and_chosen),
        cmocka_unit_test(traces_are_sorted_separately),
        cmocka_unit_test(the_text_names_the_best_point),
        cmocka_unit_test(views_are_checked),
        cmocka_unit_test(tables_fit_the_width),
        cmocka_unit_test(many_parameters_leave_the_figures),
        cmocka_unit_test(skipped_points_are_named),
    };
    return cmocka_run_group_tests_name("points_view", tests, NULL, NULL);
}
