/* Tests the documents that go into the HTML page: curves of a recording, loads of a dissection,
 * lists of points, condensed model runs and fleets, and the page itself. */
#include "device/recording.h"
#include "expected.h"
#include "folder.h"

#include <math.h>

/* ---- recordings ---- */

/* Appends a complete recording with a description and answers. Each request has the samples 100 *
 * n, 200 * n and 900 * n, where n is its number, from 1. */
static void put_recording(const char *const *requests, size_t count, struct fth_buffer *out)
{
    static const char description[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Card\", \"backend\": \"cuda\", "
        "\"uuid\": \"GPU-1\"}, \"elements\": {}}";
    fth_recording_put_header("cuda:0", out);
    fth_recording_put_description(description, strlen(description), out);
    for (size_t i = 0; i < count; i++) {
        const uint32_t scale = 100 * (uint32_t)(i + 1);
        uint32_t cycles[] = {scale, 2 * scale, 9 * scale};
        const struct fth_samples samples = {
            .sm = 5, .clock_mhz = NAN, .cycles = cycles, .count = 3};
        fth_recording_put_answer(requests[i], strlen(requests[i]), &samples, out);
    }
    fth_recording_put_end(
        count + 1, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, out->data, out->size), out);
}

/* Returns the curves of a recording with these requests as JSON text, which the caller releases. */
static char *read_curves(const char *const *requests, size_t count)
{
    struct fth_buffer recording = {0}, text = {0};
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    put_recording(requests, count, &recording);
    if (fth_evidence_read("x", &recording, &document, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_json_write(&text, document.root, 12, true);
    fth_json_fini(&document);
    fth_buffer_fini(&recording);
    return text.data;
}

static void recordings_are_converted_completely(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "walk ca 0:32x32 passes 2; time-hops ca 0:32x32; sm 3; carveout 0",
        "walk ca 0:32x64 passes 2; time-hops ca 0:32x64; sm 3; carveout 0",
        "walk ca 0:32x64 passes 2; time-hops ca 0:32x64; sm 4; carveout 0",
        "walk ca 0:32x128 passes 2; time-hops ca 0:32x128; sm 3; carveout 0",
        "walk ca 0:32x256 passes 2; time-hops ca 0:32x256; sm 3; carveout 0",
        "walk cg 0:128x64 passes 2; time-pass cg 0:128x64 passes 15; sm 0",
        "walk cg 0:128x128 passes 2; time-pass cg 0:128x128 passes 15; sm 0",
        "walk cg 0:128x256 passes 2; time-pass cg 0:128x256 passes 15; sm 0",
        "walk cg 0:128x512 passes 2; time-pass cg 0:128x512 passes 15; sm 0",
        "fetch 64 passes 8",
        "fetch 128 passes 8",
        "fetch 256 passes 8",
        "fetch 512 passes 2",
        "walk cg 0:64x64 passes 2; time-pass cg 0:64x64 passes 15; sm 0",
        "no request",
    };
    char *text = read_curves(requests, FTH_COUNT(requests));
    check_text("results/evidence.json", text);
    free(text);
}

/* Each of these requests differs from a walk that gives a point of a curve. In each row, four
 * requests with different footprints would be a curve. */
static void other_requests_give_no_curves(void **state)
{
    (void)state;
    static const char *const formats[] = {
        "time-hops ca 0:32x%u",
        "walk ca 0:32x%u passes 2; walk ca 0:32x%u passes 2; time-hops ca 0:32x%u",
        "time-hops ca 0:32x%u; time-hops ca 0:32x%u",
        "walk ca 0:32x%u step 3 passes 2; time-hops ca 0:32x%u step 3",
        "walk ca 0:32x%u passes 2; time-hops ca 0:32x%u warp 1",
        "walk ca 0:32x%u passes 2; time-hops ca 0:32x%u reverse",
        "walk ca 0:32x%u warp 1 passes 2; time-hops ca 0:32x%u",
        "walk ca 0:32x%u passes 2; time-hops cg 0:32x%u",
        "walk ca 0:32x%u passes 2; time-hops ca 1:32x%u",
        "walk ca 0:32x%u passes 2; time-hops ca 0:32x7",
        "walk ca 0:32x%u passes 2; time-hops ca 0:32x%u; walk ca 0:32x%u",
        "fetch %u",
        "fetch %u passes 8; carveout 50",
        "fetch %u passes 8; sm 1",
    };
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        char texts[4][160];
        const char *requests[4];
        for (unsigned k = 0; k < 4; k++) {
            const unsigned lines = 64U << k;
            snprintf(texts[k], sizeof texts[k], formats[i], lines, lines, lines);
            requests[k] = texts[k];
            struct fth_request request;
            struct fth_error error = NO_ERROR;
            if (fth_request_read(texts[k], strlen(texts[k]), &request, &error) != FTH_OK)
                fail_msg("%s: %s", texts[k], error.cause);
        }
        char *text = read_curves(requests, 4);
        if (!strstr(text, "\"curves\":[]"))
            fail_msg("%s: %s", formats[i], text);
        free(text);
    }
}

/* ---- series, lists of points, models ---- */

/* Returns the document of a file with this content, as it is in the page. */
static char *page_document(const char *content)
{
    static const char *const paths[] = {"./content"};
    static const char before[] = "{\"file\":\"content\",\"document\":";
    char *page = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    write_plain("content", content, strlen(content));
    if (fth_report_html(paths, 1, NULL, &page, &size, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const char *start = strstr(page, before);
    assert_non_null(start);
    start += strlen(before);
    char *copy = strdup(start);
    *strstr(copy, "}]}\n") = '\0';
    fth_free(page);
    return copy;
}

static void other_files_become_documents(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"element,load,index,cycles,result\nl1,0,0,30,hit\r\nl2,1,1048576,4294967295,miss\n"
         "l1,2,7,310,miss",
         "{\"schema\":\"fathom-series/"
         "1\",\"elements\":{\"l1\":{\"index\":[0,7],\"cycles\":[30,310],"
         "\"miss\":[0,1]},\"l2\":{\"index\":[1048576],\"cycles\":[4294967295],\"miss\":[1]}}}"},
        {"[{\"point\": 1, \"kernel\": \"k\", \"trace\": \"t\"}]",
         "{\"schema\":\"fathom-explore/1\",\"rows\":[{\"point\":1,\"kernel\":\"k\",\"trace\":\"t\"}"
         "]}"},
        {"{\"schema\": \"fathom-model/1\", \"launches\": [1], \"l1_curve\": {\"distances\": "
         "[[0, 1]]}, \"x\": 0.1234567890123456}",
         "{\"schema\":\"fathom-model/1\",\"l1_curve\":{\"distances\":[[0,1]]},"
         "\"x\":0.123456789012}"},
        {"{\"schema\": \"fathom-model/1\", \"instructions\": [5, {\"line\": 7, \"used_bytes\": "
         "[1, 0, 0], \"efficiency\": {\"l1\": 1}, \"l1_misses\": {\"cold\": 0, \"sector\": 0}, "
         "\"l2_misses\": {\"cold\": 0, \"sector\": 3}, \"shared\": {\"requests\": [0, 0, 0], "
         "\"wavefronts\": 0}}, {\"shared\": {\"requests\": [0, 1, 0], \"wavefronts\": 0}}]}",
         "{\"schema\":\"fathom-model/1\",\"instructions\":[5,{\"line\":7,\"l2_misses\":{"
         "\"cold\":0,\"sector\":3}},{\"shared\":{\"requests\":[0,1,0],\"wavefronts\":0}}]}"},
        {"{\"schema\": \"fathom-other/1\", \"launches\": [1]}",
         "{\"schema\":\"fathom-other/1\",\"launches\":[1]}"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *document = page_document(rows[i][0]);
        assert_string_equal(document, rows[i][1]);
        free(document);
    }
}

/* A description is compared with the published one of the same device name, as 'fathom compare
 * --within 5' does: the latency differs by more than 5 %, the size agrees, and the UUID is not
 * compared. */
static void descriptions_are_compared_with_the_published_one(void **state)
{
    (void)state;
    char *own = page_document("{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": "
                              "\"NVIDIA H200\", \"uuid\": \"GPU-1\", \"sms\": 132}, "
                              "\"elements\": {\"l1\": {\"latency_cycles\": 64}, \"l2\": "
                              "{\"size_bytes\": 62914560}}}");
    assert_contains(own, "\"published\":{\"differences\":[{\"section\":\"l1\",\"attribute\":"
                         "\"latency_cycles\",\"a\":{\"value\":64},\"b\":{");
    assert_contains(own, "\"name\":\"h200\",\"identical\":0,\"compared\":4,\"within\":0.05}");
    assert_null(strstr(own, "\"section\":\"l2\""));
    free(own);
    char *other = page_document("{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": "
                                "\"Card\"}, \"elements\": {}}");
    assert_null(strstr(other, "published"));
    free(other);
}

static void lists_of_points_need_three_keys(void **state)
{
    (void)state;
    static const char *const lists[] = {"[{\"kernel\": 1, \"trace\": 2}]",
                                        "[{\"point\": 1, \"trace\": 2}]",
                                        "[{\"point\": 1, \"kernel\": 2}]", "[]", "[5]"};
    for (size_t i = 0; i < FTH_COUNT(lists); i++) {
        static const char *const paths[] = {"list"};
        char *page = NULL;
        size_t size = 0;
        struct fth_error error = NO_ERROR;
        write_plain("list", lists[i], strlen(lists[i]));
        assert_int_equal(fth_report_html(paths, 1, NULL, &page, &size, &error), FTH_INVALID);
        assert_contains(error.cause, "not the output of 'fathom explore --json'");
    }
}

/* Each part of the page is there once, in order, and several documents are separated by commas. */
static void pages_contain_their_parts_in_order(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "d3",        "core",     "charts",  "plots",        "summary", "topology",
        "structure", "several",  "bench",   "model",        "kernel",  "source",
        "explore",   "evidence", "figures", "fleet_charts", "fleet",   "start"};
    static const char *const paths[] = {"one", "two"};
    char *page = NULL, expected[160];
    size_t size = 0;
    write_plain("one", "{\"schema\": \"fathom-x/1\"}", 24);
    write_plain("two", "{\"schema\": \"fathom-fleet/2\"}", 28);
    assert_int_equal(fth_report_html(paths, 2, NULL, &page, &size, NULL), FTH_OK);
    assert_int_equal(strlen(page), size);
    snprintf(expected, sizeof expected,
             "{\"fathom\":\"%s\",\"documents\":[{\"file\":\"one\",\"document\":{\"schema\":"
             "\"fathom-x/1\"}},{\"file\":\"two\",\"document\":{\"schema\":\"fathom-fleet/2\"}}]}"
             "\n",
             fth_version());
    assert_contains(page, expected);
    const char *after = page;
    for (size_t i = 0; i < FTH_COUNT(parts); i++) {
        const struct fth_embedded *part = NULL;
        for (size_t k = 0; k < fth_embedded_page_count; k++)
            if (strcmp(fth_embedded_page[k].name, parts[i]) == 0)
                part = &fth_embedded_page[k];
        assert_non_null(part);
        const char *at = strstr(page, part->data);
        if (!at || at < after)
            fail_msg("the part %s is not at its place", parts[i]);
        after = at + part->size;
        assert_null(strstr(after, part->data));
    }
    assert_null(strstr(page, "@\n"));
    fth_free(page);
}

/* Pages have the scripts for their documents only. */
static void pages_have_the_scripts_that_they_need(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        bool fleet, other; /* whether the page can draw fleets and other documents */
    } rows[] = {{"{\"schema\": \"fathom-x/1\"}", false, true},
                {"{\"schema\": \"fathom-fleet/1\"}", true, true},
                {"{\"schema\": \"fathom-fleet/2\"}", true, false},
                {"{\"schema\": \"fathom-fleets/2\"}", false, true}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        static const char *const paths[] = {"one"};
        char *page = NULL;
        size_t size = 0;
        write_plain("one", rows[i].document, strlen(rows[i].document));
        assert_int_equal(fth_report_html(paths, 1, NULL, &page, &size, NULL), FTH_OK);
        assert_int_equal(strstr(page, "function showFleet(") != NULL, rows[i].fleet);
        assert_int_equal(strstr(page, "function drawChip(") != NULL, rows[i].other);
        assert_non_null(strstr(page, "function showHead("));
        fth_free(page);
    }
}

/* ---- fleets ---- */

/* Condenses a document and returns it as text, which the caller releases. */
static char *condensed_fleet(const struct fth_buffer *text)
{
    struct fth_buffer out = {0};
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    if (fth_json_parse("x", text->data, text->size, &document, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_condense(&document);
    assert_false(document.failed);
    fth_json_write(&out, document.root, 12, true);
    fth_json_fini(&document);
    return out.data;
}

/* The page has no healthy GPUs, no figures without a distribution or a reason, six digits, and at
 * most 16 findings per GPU. Entries of other types stay as they are. */
static void fleets_are_condensed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"gpus\":[{\"verdict\":\"healthy\",\"findings\":[]},{\"verdict\":\"failed\","
         "\"findings\":[{\"value\":4.61234567e12,\"p\":1.23456789e-9,\"reason\":null}]},"
         "{\"verdict\":\"healthy\",\"findings\":[{\"worse\":false}]},7]}",
         "{\"gpus\":[{\"verdict\":\"failed\",\"findings\":[{\"value\":4.61235e12,\"p\":"
         "1.23457e-9,\"reason\":null}]},{\"verdict\":\"healthy\",\"findings\":[{\"worse\":"
         "false}]},7]}"},
        {"{\"cohorts\":[{\"figures\":[{\"figure\":\"a\",\"bins\":[1]},{\"figure\":\"b\","
         "\"bins\":[],\"reason\":null},{\"figure\":\"c\",\"reason\":\"few\"}],"
         "\"figures_left_out\":0},5],\"gpus_left_out\":3,\"gpus\":[]}",
         "{\"cohorts\":[{\"figures\":[{\"figure\":\"a\",\"bins\":[1]},{\"figure\":\"c\","
         "\"reason\":\"few\"}]},5],\"gpus\":[],\"gpus_left_out\":3}"},
        {"{\"gpus\":[{\"context\":{\"device.power_w\":5,\"l1.onset_bytes\":7,\"memory.x\":1}}],"
         "\"cohorts\":[{\"reason\":\"few\",\"figures\":[{\"bins\":[1]}]}]}",
         "{\"gpus\":[{\"context\":{\"device.power_w\":5,\"memory.x\":1}}],\"cohorts\":[{\"reason\":"
         "\"few\"}]}"},
        {"{\"gpus\":{\"x\":1},\"cohorts\":[{\"figures\":2}],\"heat_map\":[1]}",
         "{\"gpus\":{\"x\":1},\"cohorts\":[{\"figures\":2}],\"heat_map\":[1]}"},
        {"{\"gpus\":[{\"findings\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]}]}",
         "{\"gpus\":[{\"findings\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],\"more_findings\":2}]"
         "}"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer text = {0};
        fth_buffer_text(&text, rows[i][0]);
        char *own = condensed_fleet(&text);
        assert_string_equal(own, rows[i][1]);
        free(own);
        fth_buffer_fini(&text);
    }
}

/* Appends a list of `count` objects with a number in their names and the members `entry`. */
static void put_entries(struct fth_buffer *out, const char *key, const char *entry, size_t count)
{
    fth_buffer_format(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(out, "%s{\"name\":\"entry-%06zu\",%s}", i ? "," : "", i, entry);
    fth_buffer_text(out, "]");
}

/* Appends the judgement of 10,000 GPUs: 1,000 of them are not healthy and have ten findings, there
 * are 60 cohorts with 40 distributions, 1,500 hosts with 50 figures, and 10,000 bad files. */
static void put_large_fleet(struct fth_buffer *out)
{
    static const char finding[] =
        "{\"figure\":\"memory.read_bytes_per_s\",\"kind\":\"rate\",\"value\":4240012345678,"
        "\"usual\":4611234567890,\"effect\":-0.0805,\"worse\":true,\"distance\":-15.21,\"p\":"
        "1.2345e-11,\"measurements\":1,\"deviating\":1,\"severe\":true}";
    struct fth_buffer gpu = {0}, cohort = {0}, row = {0};
    fth_buffer_text(&gpu, "\"verdict\":\"failed\",\"context\":{\"device.power_w\":112.25},"
                          "\"findings\":[");
    for (size_t i = 0; i < 10; i++)
        fth_buffer_format(&gpu, "%s%s", i ? "," : "", finding);
    fth_buffer_text(&gpu, "]");
    fth_buffer_text(&cohort, "\"figures\":[");
    for (size_t i = 0; i < 40; i++) {
        fth_buffer_format(&cohort, "%s{\"figure\":\"l2.latency_cycles\",\"bins\":[", i ? "," : "");
        for (size_t k = 0; k < 40; k++)
            fth_buffer_format(&cohort, "%s250", k ? "," : "");
        fth_buffer_text(&cohort, "]}");
    }
    fth_buffer_text(&cohort, "]");
    fth_buffer_text(&row,
                    "\"gpus\":7,\"cells\":\"01234567890123456789012345678901234567890123456789\"");
    fth_buffer_text(out, "{\"schema\":\"fathom-fleet/2\"");
    put_entries(out, "gpus", gpu.data, 1000);
    put_entries(out, "cohorts", cohort.data, 60);
    put_entries(out, "groups", "\"kind\":\"host\"", 10000);
    put_entries(out, "problems", "\"reason\":\"the file is empty\"", 10000);
    fth_buffer_text(out, ",\"heat_map\":{\"figures\":[]");
    put_entries(out, "rows", row.data, 1500);
    fth_buffer_text(out, "}}");
    fth_buffer_fini(&gpu);
    fth_buffer_fini(&cohort);
    fth_buffer_fini(&row);
}

/* Returns how often `part` occurs in `text`. */
static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* What does not fit is removed, the last entries first, and counted. */
static void the_page_of_a_large_fleet_has_at_most_1_mb(void **state)
{
    (void)state;
    static const char *const paths[] = {"fleet"};
    struct fth_buffer text = {0};
    struct fth_json_document document = {0};
    char *page = NULL;
    size_t size = 0;
    put_large_fleet(&text);
    assert_true(text.size > 3000000);
    write_plain("fleet", text.data, text.size);
    assert_int_equal(fth_report_html(paths, 1, NULL, &page, &size, NULL), FTH_OK);
    assert_in_range(size, 800000, 1000000);
    fth_free(page);
    char *own = condensed_fleet(&text);
    assert_int_equal(fth_json_parse("x", own, strlen(own), &document, NULL), FTH_OK);
    const struct fth_json *root = document.root, *gpus = fth_json_get(root, "gpus");
    const size_t listed = fth_json_count(gpus), detailed = occurrences(own, "device.power_w");
    assert_in_range(detailed, 50, 200);
    assert_in_range(listed, detailed + 100, 999);
    assert_int_equal(fth_json_integer(fth_json_get(root, "gpus_left_out")), 1000 - listed);
    assert_int_equal(fth_json_count(fth_json_get(fth_json_item(gpus, 0), "findings")), 10);
    const struct fth_json *last = fth_json_item(gpus, listed - 1);
    assert_int_equal(fth_json_count(fth_json_get(last, "findings")), 1);
    assert_int_equal(fth_json_integer(fth_json_get(last, "more_findings")), 9);
    const struct fth_json *cohorts = fth_json_get(root, "cohorts");
    assert_int_equal(fth_json_count(cohorts), 60);
    assert_null(fth_json_get(fth_json_item(cohorts, 0), "figures_left_out"));
    assert_int_equal(fth_json_integer(fth_json_get(fth_json_item(cohorts, 59), "figures_left_out")),
                     40);
    assert_int_equal(fth_json_count(fth_json_get(fth_json_get(root, "heat_map"), "rows")), 1500);
    const size_t problems = fth_json_count(fth_json_get(root, "problems"));
    assert_in_range(problems, 100, 1000);
    assert_int_equal(fth_json_integer(fth_json_get(root, "problems_left_out")), 10000 - problems);
    assert_non_null(fth_json_get(root, "groups_left_out"));
    fth_json_fini(&document);
    free(own);
    fth_buffer_fini(&text);
}

/* Condenses a curve with this first pair and 256 others. Returns the number of kept pairs. */
static size_t condensed_count(const char *first, size_t others)
{
    struct fth_buffer text = {0};
    struct fth_json_document document = {0};
    fth_buffer_format(&text, "{\"l2_curve\": {\"distances\": [%s", first);
    for (size_t i = 1; i <= others; i++)
        fth_buffer_format(&text, ",[%zu,1]", i);
    fth_buffer_text(&text, "]}}");
    assert_int_equal(fth_json_parse("x", text.data, text.size, &document, NULL), FTH_OK);
    fth_model_condense(&document);
    const size_t count =
        fth_json_count(fth_json_get(fth_json_get(document.root, "l2_curve"), "distances"));
    fth_json_fini(&document);
    fth_buffer_fini(&text);
    return count;
}

/* The counts of all pairs but the last may add up to 2^53, which is also the largest distance.
 * Otherwise the curve stays as it is. The total of [0,0] and 256 others is 256, so that each of the
 * others is 1/256 of it. */
static void condensing_checks_the_pairs(void **state)
{
    (void)state;
    assert_int_equal(condensed_count("[0,9]", 255), 256); /* short enough */
    assert_in_range(condensed_count("[0,9007199254740737]", 256), 40, 80);
    assert_int_equal(condensed_count("[0,9007199254740738]", 256), 257);
    assert_in_range(condensed_count("[9007199254740992,1000]", 256), 40, 80);
    assert_int_equal(condensed_count("[0,0]", 256), 257);
    static const char *const refused[] = {
        "[0,9007199254740993]", "[0,-1]", "[-1,1]", "[0]", "[0,1,2]", "[0,1.5]", "[0.5,1]", "5",
        "[9007199254740993,1]"};
    for (size_t i = 0; i < FTH_COUNT(refused); i++)
        assert_int_equal(condensed_count(refused[i], 256), 257);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_are_converted_completely),
        cmocka_unit_test(other_requests_give_no_curves),
        cmocka_unit_test(other_files_become_documents),
        cmocka_unit_test(descriptions_are_compared_with_the_published_one),
        cmocka_unit_test(lists_of_points_need_three_keys),
        cmocka_unit_test(pages_contain_their_parts_in_order),
        cmocka_unit_test(pages_have_the_scripts_that_they_need),
        cmocka_unit_test(condensing_checks_the_pairs),
        cmocka_unit_test(fleets_are_condensed),
        cmocka_unit_test(the_page_of_a_large_fleet_has_at_most_1_mb),
    };
    return cmocka_run_group_tests_name("page", tests, enter_folder, leave_folder);
}
