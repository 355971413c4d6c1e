/* Tests the formats of judgements of fleets, with a judgement that is filled by hand: its numbers
 * and texts must be found in the outputs, also after other programs' rules for escaping. */
#include "base/json.h"
#include "check.h"
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GPUS = 4, FIGURES = 4 };

/* The judgement and the fleet that it belongs to. */
struct filled {
    struct fth_fleet fleet;
    struct fth_fleet_figure figures[FIGURES];
    struct fth_fleet_gpu gpus[GPUS];
    struct fth_fleet_value values[GPUS][FIGURES];
    struct fth_fleet_measurement measurements[GPUS];
    size_t by_gpu[GPUS];
    struct fth_fleet_problem problem;
    struct fth_fleet_judgement judgement;
    struct fth_fleet_result results[GPUS];
    float scores[GPUS][2];
    struct fth_fleet_finding findings[2];
    struct fth_fleet_cohort_summary cohort;
    struct fth_fleet_figure_summary summaries[2];
    struct fth_fleet_group_finding group;
    const char *columns[2];
};

static void fill_fleet(struct filled *filled)
{
    static const struct fth_fleet_figure figures[FIGURES] = {
        {"memory.read_bytes_per_s", FTH_FLEET_RATE},
        {"memory.latency_cycles", FTH_FLEET_TIME},
        {"device.temperature_c", FTH_FLEET_CONTEXT},
        {"l1.policy", FTH_FLEET_EXACT}};
    static const double numbers[GPUS][2] = {
        {4e12, 500}, {3.2e12, 500.5}, {4.1e12, 499}, {4e12, 501}};
    static const char *const names[GPUS] = {"GPU-a", "GPU \"b\"\\\n", "GPU-c", "d.json"};
    static const char *const hosts[GPUS] = {"node1", "node2", "node1", NULL};
    memcpy(filled->figures, figures, sizeof figures);
    for (uint32_t i = 0; i < GPUS; i++) {
        filled->gpus[i] = (struct fth_fleet_gpu){.name = names[i],
                                                 .uuid = i < 3 ? names[i] : NULL,
                                                 .host = hosts[i],
                                                 .model = "H, 200",
                                                 .driver = "580",
                                                 .backend = "cuda",
                                                 .first_measurement = i,
                                                 .measurement_count = 1};
        filled->by_gpu[i] = i;
        filled->values[i][0] = (struct fth_fleet_value){.figure = 0, .number = numbers[i][0]};
        filled->values[i][1] = (struct fth_fleet_value){.figure = 1, .number = numbers[i][1]};
        filled->values[i][2] = (struct fth_fleet_value){.figure = 2, .number = 38};
        filled->values[i][3] = (struct fth_fleet_value){.figure = 3, .number = NAN, .text = "lru"};
        filled->measurements[i] = (struct fth_fleet_measurement){.gpu = i,
                                                                 .time = 1700000000,
                                                                 .file = names[i],
                                                                 .values = filled->values[i],
                                                                 .value_count = FIGURES};
    }
    filled->problem =
        (struct fth_fleet_problem){.file = "broken\xff.json", .reason = "it is not JSON"};
    filled->fleet = (struct fth_fleet){.figures = filled->figures,
                                       .figure_count = FIGURES,
                                       .gpus = filled->gpus,
                                       .gpu_count = GPUS,
                                       .measurements = filled->measurements,
                                       .measurement_count = GPUS,
                                       .by_gpu = filled->by_gpu,
                                       .by_gpu_count = GPUS,
                                       .problems = &filled->problem,
                                       .problem_count = 1};
}

static void fill_summaries(struct filled *filled)
{
    filled->summaries[0] = (struct fth_fleet_figure_summary){.name = "memory.read_bytes_per_s",
                                                             .kind = FTH_FLEET_RATE,
                                                             .gpu_count = GPUS,
                                                             .median = 4e12,
                                                             .spread = 0.0125,
                                                             .noise = NAN,
                                                             .low = 3.2e12,
                                                             .high = 4.1e12,
                                                             .detectable = 0.031,
                                                             .from = 3e12,
                                                             .to = 4.2e12,
                                                             .bins = {1, 3},
                                                             .bin_count = 2};
    filled->summaries[1] = (struct fth_fleet_figure_summary){.name = "memory.latency_cycles",
                                                             .kind = FTH_FLEET_TIME,
                                                             .gpu_count = GPUS,
                                                             .median = 500,
                                                             .spread = NAN,
                                                             .noise = NAN,
                                                             .low = NAN,
                                                             .high = NAN,
                                                             .detectable = NAN,
                                                             .reason = "too few values"};
    filled->cohort = (struct fth_fleet_cohort_summary){
        .cohort = {.model = "H, 200", .backend = "cuda", .driver = "580", .gpu_count = GPUS},
        .measurement_count = GPUS,
        .healthy = 2,
        .failed = 1,
        .not_judged = 1,
        .figures = filled->summaries,
        .figure_count = 2};
}

static struct filled *fill(void)
{
    struct filled *filled = calloc(1, sizeof *filled);
    assert_non_null(filled);
    fill_fleet(filled);
    fill_summaries(filled);
    filled->findings[0] = (struct fth_fleet_finding){.figure = "memory.read_bytes_per_s",
                                                     .kind = FTH_FLEET_RATE,
                                                     .value = 3.2e12,
                                                     .usual = 4e12,
                                                     .effect = -0.2,
                                                     .worse = true,
                                                     .distance = -16,
                                                     .p = 1.234567e-9,
                                                     .measurements = 5,
                                                     .deviating = 2,
                                                     .severe = true};
    filled->findings[1] = (struct fth_fleet_finding){.figure = "l1.policy",
                                                     .kind = FTH_FLEET_EXACT,
                                                     .value = NAN,
                                                     .usual = NAN,
                                                     .text = "fifo",
                                                     .usual_text = "lru",
                                                     .effect = NAN,
                                                     .worse = true,
                                                     .distance = NAN,
                                                     .p = 0,
                                                     .measurements = 1,
                                                     .deviating = 1,
                                                     .history = true,
                                                     .note = "The driver changed."};
    static const float scores[GPUS][2] = {{0.5F, 1.2F}, {16, -3}, {2.9F, NAN}, {NAN, NAN}};
    memcpy(filled->scores, scores, sizeof scores);
    for (uint32_t i = 0; i < GPUS; i++)
        filled->results[i] = (struct fth_fleet_result){.gpu = i, .scores = filled->scores[i]};
    filled->results[1].verdict = FTH_FLEET_FAILED;
    filled->results[1].findings = filled->findings;
    filled->results[1].finding_count = 2;
    filled->results[1].cause = "The memory is slow.";
    filled->results[3].verdict = FTH_FLEET_NOT_JUDGED;
    filled->results[3].reason = "There are too few such GPUs.";
    filled->group = (struct fth_fleet_group_finding){
        "host", "node2", "memory.read_bytes_per_s", 8, 3.8e12, 4e12, -0.05, 1e-5};
    filled->columns[0] = "memory.read_bytes_per_s";
    filled->columns[1] = "memory.latency_cycles";
    filled->judgement = (struct fth_fleet_judgement){.fleet = &filled->fleet,
                                                     .false_alarms = 0.001,
                                                     .min_effect = 0.02,
                                                     .results = filled->results,
                                                     .cohorts = &filled->cohort,
                                                     .cohort_count = 1,
                                                     .groups = &filled->group,
                                                     .group_count = 1,
                                                     .columns = filled->columns,
                                                     .column_count = 2,
                                                     .healthy = 2,
                                                     .failed = 1,
                                                     .not_judged = 1};
    return filled;
}

/* Writes the judgement; the caller frees the text. */
static char *write_judgement(const char *format, const struct filled *filled, bool all)
{
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.all = all);
    struct fth_error error = NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_judgement(format, &filled->judgement, &options, &text, &size, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(strlen(text), size);
    return text;
}

static void check_output(const char *format, bool all, const char *expected)
{
    struct filled *filled = fill();
    char *text = write_judgement(format, filled, all);
    assert_string_equal(text, expected);
    fth_free(text);
    free(filled);
}

static void text_names_verdicts_and_reasons(void **state)
{
    (void)state;
    check_output("text", false,
                 "4 GPUs, 4 measurements: 2 healthy, 0 suspect, 1 failed, 1 not judged.\n"
                 "\n"
                 "GPU \"b\"\\? on node2: failed\n"
                 "  The memory is slow.\n"
                 "  memory.read_bytes_per_s  3.200 TB/s  usually 4.000 TB/s  -20.0 %  in 2 of 5\n"
                 "    measurements\n"
                 "  l1.policy                fifo        earlier lru\n"
                 "    The driver changed.\n"
                 "\n"
                 "GPUs that differ together from the others:\n"
                 "  host node2 (8 GPUs): memory.read_bytes_per_s 3.800 TB/s, usually 4.000 TB/s,\n"
                 "    -5.0 %\n"
                 "\n"
                 "Not judged:\n"
                 "  d.json: There are too few such GPUs.\n"
                 "\n"
                 "Files with problems:\n"
                 "  broken?.json: it is not JSON\n"
                 "\n"
                 "H, 200, driver 580: 4 GPUs, 4 measurements\n"
                 "Figure                   GPUs      Median  Spread %  Noise %  Detectable %\n"
                 "memory.read_bytes_per_s     4  4.000 TB/s      1.25        -          3.10\n"
                 "memory.latency_cycles       4         500         -        -             -\n"
                 "Not judged: memory.latency_cycles: too few values\n");
}

/* An infinite difference has no percentage. */
static void text_leaves_out_infinite_effects(void **state)
{
    (void)state;
    struct filled *filled = fill();
    filled->findings[0].effect = INFINITY;
    char *text = write_judgement("text", filled, false);
    assert_contains(text, "3.200 TB/s  usually 4.000 TB/s ");
    assert_null(strstr(text, "inf"));
    fth_free(text);
    free(filled);
}

/* Returns the item of a list, or the member of an object. */
static const struct fth_json *at(const struct fth_json *value, const char *path)
{
    char key[64];
    while (value && *path) {
        const size_t size = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)size, path);
        value = value->kind == FTH_JSON_LIST ? fth_json_item(value, strtoul(key, NULL, 10))
                                             : fth_json_get(value, key);
        path += size + (path[size] == '/');
    }
    return value;
}

/* Values at paths of the document. */
static const struct {
    const char *path;
    double number;
} expected_numbers[] = {
    {"counts/gpus", 4},
    {"counts/failed", 1},
    {"counts/problems", 1},
    {"options/false_alarms", 0.001},
    {"cohorts/0/figures/0/median", 4e12},
    {"cohorts/0/figures/0/detectable", 0.031},
    {"cohorts/0/figures/0/bins/1", 3},
    {"gpus/0/findings/0/value", 3.2e12},
    {"gpus/0/findings/0/effect", -0.2},
    {"gpus/0/findings/0/p", 1.235e-9},
    {"gpus/0/context/device.temperature_c", 38},
    {"groups/0/effect", -0.05},
    {"gpus_left_out", 0},
    {"heat_map/rows/0/gpus", 1},
    {"heat_map/rows/1/gpus", 2},
};
static const struct {
    const char *path, *text;
} expected_texts[] = {
    {"schema", "fathom-fleet/2"},
    {"problems/0/file", "broken?.json"},
    {"gpus/0/gpu", "GPU \"b\"\\\n"},
    {"gpus/0/verdict", "failed"},
    {"gpus/0/findings/1/value", "fifo"},
    {"gpus/0/findings/1/note", "The driver changed."},
    {"gpus/1/verdict", "not_judged"},
    {"gpus/1/reason", "There are too few such GPUs."},
    {"heat_map/figures/1", "memory.latency_cycles"},
    {"heat_map/rows/0/name", "node2"},
    {"heat_map/rows/0/cells", "90"},
    {"heat_map/rows/1/cells", "21"},
    {"heat_map/rows/2/cells", ".."},
};

static void json_can_be_read_again(void **state)
{
    (void)state;
    struct filled *filled = fill();
    char *text = write_judgement("json", filled, false);
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    if (fth_json_parse("judgement", text, strlen(text), &document, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < FTH_COUNT(expected_numbers); i++) {
        const struct fth_json *value = at(document.root, expected_numbers[i].path);
        if (!fth_json_is_number(value) || fth_json_double(value) != expected_numbers[i].number)
            fail_msg("%s", expected_numbers[i].path);
    }
    for (size_t i = 0; i < FTH_COUNT(expected_texts); i++) {
        const char *found = fth_json_string(at(document.root, expected_texts[i].path));
        if (!found || strcmp(found, expected_texts[i].text) != 0)
            fail_msg("%s: %s", expected_texts[i].path, found ? found : "nothing");
    }
    assert_int_equal(fth_json_count(at(document.root, "gpus")), 2);
    assert_true(fth_json_is(at(document.root, "cohorts/0/figures/0/noise"), FTH_JSON_NULL));
    fth_json_fini(&document);
    fth_free(text);
    text = write_judgement("json", filled, true);
    assert_int_equal(fth_json_parse("judgement", text, strlen(text), &document, NULL), FTH_OK);
    assert_int_equal(fth_json_count(at(document.root, "gpus")), 4);
    fth_json_fini(&document);
    fth_free(text);
    free(filled);
}

static void csv_has_a_row_per_finding(void **state)
{
    (void)state;
    check_output(
        "csv", false,
        "gpu,host,group,model,driver,verdict,cause,figure,kind,value,usual,effect,worse,distance,p,"
        "measurements,deviating,severe\n"
        "\"GPU \"\"b\"\"\\\n\",node2,,\"H, 200\",580,failed,The memory is "
        "slow.,memory.read_bytes_per_s,rate,3200000000000,4000000000000,-0.2,yes,-16,1.2346e-09,5,"
        "2,yes\n"
        "\"GPU \"\"b\"\"\\\n\",node2,,\"H, 200\",580,failed,The memory is "
        "slow.,l1.policy,exact,fifo,lru,,yes,,0,1,1,no\n"
        "d.json,,,\"H, 200\",580,not_judged,There are too few such GPUs.,,,,,,,,,,,\n");
}

static void long_form_has_a_row_per_figure(void **state)
{
    (void)state;
    struct filled *filled = fill();
    filled->fleet.gpu_count = 1;
    char *text = write_judgement("long", filled, false);
    assert_string_equal(
        text, "gpu,host,group,model,driver,verdict,time,figure,value,text\n"
              "GPU-a,node1,,\"H, 200\",580,healthy,2023-11-14T22:13:20Z,memory.read_bytes_"
              "per_s,4000000000000,\n"
              "GPU-a,node1,,\"H, "
              "200\",580,healthy,2023-11-14T22:13:20Z,memory.latency_cycles,500,\n"
              "GPU-a,node1,,\"H, "
              "200\",580,healthy,2023-11-14T22:13:20Z,device.temperature_c,38,\n"
              "GPU-a,node1,,\"H, 200\",580,healthy,2023-11-14T22:13:20Z,l1.policy,,lru\n");
    fth_free(text);
    free(filled);
}

static void lines_have_numbers_as_numbers(void **state)
{
    (void)state;
    struct filled *filled = fill();
    char *text = write_judgement("jsonl", filled, false), *line = text;
    for (size_t i = 0; i < GPUS; i++) {
        struct fth_json_document document = {0};
        const size_t size = strcspn(line, "\n");
        assert_int_equal(fth_json_parse("line", line, size, &document, NULL), FTH_OK);
        assert_string_equal(fth_json_string(fth_json_get(document.root, "gpu")),
                            filled->gpus[i].name);
        const struct fth_json *figures = fth_json_get(document.root, "figures");
        assert_true(fth_json_double(fth_json_get(figures, "memory.read_bytes_per_s")) ==
                    filled->values[i][0].number);
        assert_string_equal(
            fth_json_string(fth_json_get(fth_json_get(document.root, "texts"), "l1.policy")),
            "lru");
        assert_int_equal(fth_json_count(fth_json_get(document.root, "findings")), 0);
        assert_string_equal(fth_json_string(fth_json_get(document.root, "verdict")),
                            i == 1   ? "failed"
                            : i == 3 ? "not_judged"
                                     : "healthy");
        fth_json_fini(&document);
        line += size + 1;
    }
    assert_string_equal(line, "");
    fth_free(text);
    free(filled);
}

static void prometheus_escapes_labels(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "# TYPE fathom_gpu_verdict gauge\n",
        "\nfathom_fleet_gpus{verdict=\"failed\"} 1\n",
        "\nfathom_fleet_problems 1\n",
        "\nfathom_gpu_verdict{gpu=\"GPU \\\"b\\\"\\\\\\n\",host=\"node2\",slot=\"0:6\"} 2\n",
        "\nfathom_gpu_verdict{gpu=\"d.json\"} -1\n",
        "\nfathom_gpu_info{gpu=\"d.json\",model=\"H, 200\",driver=\"580\"} 1\n",
        "host=\"node2\",slot=\"0:6\",figure=\"memory.read_bytes_per_s\"} 3200000000000\n",
        "\nfathom_gpu_measured_timestamp_seconds{gpu=\"d.json\"} 1700000000\n",
        "host=\"node2\",slot=\"0:6\",figure=\"memory.read_bytes_per_s\"} -0.2\n",
        "figure=\"memory.latency_cycles\"} -0.002\n",
    };
    struct filled *filled = fill();
    filled->gpus[1].slot = "0:6";
    char *text = write_judgement("prometheus", filled, true);
    for (size_t i = 0; i < FTH_COUNT(lines); i++)
        if (!strstr(text, lines[i]))
            fail_msg("%s is missing in\n%s", lines[i], text);
    assert_null(strstr(text, "l1.policy"));
    fth_free(text);
    /* Without `all`, only the figures of findings are written. */
    text = write_judgement("prometheus", filled, false);
    assert_null(strstr(text, "fathom_gpu_figure"));
    assert_null(strstr(text, "memory.latency_cycles"));
    assert_non_null(strstr(text, "figure=\"memory.read_bytes_per_s\"} -0.2\n"));
    fth_free(text);
    free(filled);
}

static void another_format_is_refused(void **state)
{
    (void)state;
    struct filled *filled = fill();
    struct fth_error error = NO_ERROR;
    char *text;
    size_t size;
    assert_int_equal(
        fth_report_judgement("promethius", &filled->judgement, NULL, &text, &size, &error),
        FTH_INVALID);
    assert_string_equal(error.cause, "no such format; did you mean 'prometheus'?");
    assert_null(text);
    assert_int_equal(fth_report_check("long", FTH_REPORT_FLEET, NULL), FTH_OK);
    assert_int_equal(fth_report_check("long", FTH_REPORT_GPU, NULL), FTH_INVALID);
    assert_string_equal(fth_report_judgement_format(5), "prometheus");
    assert_null(fth_report_judgement_format(6));
    free(filled);
}

/* A judgement with 10,000 failed GPUs, each in a cohort of its own, and as many groups. */
enum { MANY = 10000 };
struct large {
    struct filled *filled;
    struct fth_fleet_gpu gpus[MANY];
    struct fth_fleet_result results[MANY];
    char hosts[MANY][16];
    struct fth_fleet_cohort_summary cohorts[MANY];
    struct fth_fleet_group_finding groups[MANY];
    struct fth_fleet_figure_summary summaries[MANY];
    const char *columns[MANY];
    float scores[MANY];
};

static struct large *fill_large(void)
{
    struct large *large = calloc(1, sizeof *large);
    assert_non_null(large);
    struct filled *filled = large->filled = fill();
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(large->hosts[i], sizeof large->hosts[i], "node%u", i / 4);
        large->gpus[i] = filled->gpus[1];
        large->gpus[i].host = large->hosts[i];
        large->results[i] = filled->results[1];
        large->results[i].gpu = i;
        large->summaries[i] = filled->summaries[0];
        large->cohorts[i] = filled->cohort;
        large->cohorts[i].cohort.gpu_count = i == 77 ? 9 : 1;
        large->cohorts[i].figures = large->summaries;
        large->cohorts[i].figure_count = i == 77 ? MANY : 2;
        large->groups[i] = filled->group;
        large->columns[i] = "memory.read_bytes_per_s";
    }
    filled->fleet.gpus = large->gpus;
    filled->fleet.gpu_count = MANY;
    filled->judgement.results = large->results;
    filled->judgement.failed = MANY;
    filled->judgement.cohorts = large->cohorts;
    filled->judgement.cohort_count = MANY;
    filled->judgement.groups = large->groups;
    filled->judgement.group_count = MANY;
    return large;
}

/* A document of a large fleet stays small: all of its lists have limits. */
static void documents_stay_small(void **state)
{
    (void)state;
    struct large *large = fill_large();
    struct filled *filled = large->filled;
    char *text = write_judgement("json", filled, false);
    struct fth_json_document document = {0};
    assert_in_range(strlen(text), 100000, 800000);
    assert_int_equal(fth_json_parse("judgement", text, strlen(text), &document, NULL), FTH_OK);
    static const struct {
        const char *list, *left_out;
        double total;
    } lists[] = {{"gpus", "gpus_left_out", MANY},
                 {"cohorts", "cohorts_left_out", MANY},
                 {"groups", "groups_left_out", MANY},
                 {"heat_map/rows", "heat_map/rows_left_out", 0.25 * MANY}};
    for (size_t i = 0; i < FTH_COUNT(lists); i++) {
        const double listed = (double)fth_json_count(at(document.root, lists[i].list));
        assert_true(listed > 50 && listed <= 1500);
        assert_true(listed + fth_json_double(at(document.root, lists[i].left_out)) ==
                    lists[i].total);
    }
    assert_true(fth_json_double(at(document.root, "cohorts/77/figures_left_out")) == MANY - 400);
    fth_json_fini(&document);
    fth_free(text);

    /* A heat map with thousands of figures has fewer rows. */
    for (size_t i = 0; i < MANY; i++)
        large->results[i].scores = large->scores;
    filled->judgement.columns = large->columns;
    filled->judgement.column_count = 2000;
    text = write_judgement("json", filled, false);
    assert_in_range(strlen(text), 100000, 900000);
    fth_free(text);
    free(filled);
    free(large);
}

enum { FLEET = 6 };

/* Descriptions of GPUs that are equal, but for the bandwidth of one. */
static void make_gpus(struct fth_gpu *gpus[FLEET])
{
    char text[400];
    for (size_t i = 0; i < FLEET; i++) {
        const int size = snprintf(text, sizeof text,
                                  "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Card\", "
                                  "\"backend\": \"cuda\", \"uuid\": \"GPU-%zu\"}, \"elements\": "
                                  "{\"memory\": {\"read_bytes_per_s\": %s}}}",
                                  i, i == 3 ? "800000000000" : "1000000000000");
        assert_int_equal(fth_gpu_read_text("card", text, (size_t)size, NULL, &gpus[i], NULL),
                         FTH_OK);
    }
}

static void descriptions_are_judged_as_a_fleet(void **state)
{
    (void)state;
    static const char *const names[FLEET] = {"a", "b", "c", "d", "e", "f"};
    static const struct {
        struct fth_compare_options options;
        size_t count;
    } rows[] = {{FTH_COMPARE_OPTIONS(.all = false), 1}, {FTH_COMPARE_OPTIONS(.within = 0.3), 0}};
    struct fth_gpu *gpus[FLEET];
    make_gpus(gpus);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        char *text = NULL;
        size_t size = 0, count = 9;
        if (fth_report_fleet("text", &rows[i].options, (const struct fth_gpu *const *)gpus, names,
                             FLEET, &text, &size, &count, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_int_equal(count, rows[i].count);
        assert_int_equal(strstr(text, "\nGPU-3: failed\n") != NULL, rows[i].count);
        assert_non_null(strstr(text, "6 GPUs, 6 measurements: "));
        fth_free(text);
    }
    char *text = NULL;
    size_t size = 1, count = 1;
    assert_int_equal(fth_report_fleet("hwloc", NULL, (const struct fth_gpu *const *)gpus, names,
                                      FLEET, &text, &size, &count, NULL),
                     FTH_INVALID);
    assert_null(text);
    assert_int_equal(size + count, 0);
    for (size_t i = 0; i < FLEET; i++)
        fth_gpu_destroy(gpus[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_names_verdicts_and_reasons),
        cmocka_unit_test(text_leaves_out_infinite_effects),
        cmocka_unit_test(json_can_be_read_again),
        cmocka_unit_test(csv_has_a_row_per_finding),
        cmocka_unit_test(long_form_has_a_row_per_figure),
        cmocka_unit_test(lines_have_numbers_as_numbers),
        cmocka_unit_test(prometheus_escapes_labels),
        cmocka_unit_test(another_format_is_refused),
        cmocka_unit_test(documents_stay_small),
        cmocka_unit_test(descriptions_are_judged_as_a_fleet),
    };
    return cmocka_run_group_tests_name("judgements", tests, NULL, NULL);
}
