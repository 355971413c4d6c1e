/* Tests of discover/ that concern no single probe: how values are written, the table of stages, the
 * selection of elements and interruption. */
#include "check.h"
#include "described_device.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* ---- a simulated GPU ---- */

#define TLB(NAME, ENTRIES, PENALTY)                                                                \
    ", \"" NAME "\": {\"page_bytes\": 2097152, \"entries\": " #ENTRIES                             \
    ", \"miss_penalty_cycles\": " #PENALTY "}"

/* Opens a small simulated GPU with these TLBs and this noise, without a log. */
static struct fth_device *open_device(const char *tlbs, const char *noise)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 4, "
             "\"clock_mhz\": 1000}, \"noise\": {%s}, \"elements\": {"
             "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sector_bytes\": 32, "
             "\"latency_cycles\": 32}, "
             "\"l2\": {\"size_bytes\": 8388608, \"line_bytes\": 128, \"latency_cycles\": 250}, "
             "\"memory\": {\"size_bytes\": 4294967296, \"latency_cycles\": 600}%s}}",
             noise, tlbs);
    return open_simulated(text);
}

/* ---- note.c ---- */

static void notes_become_attributes_with_provenance(void **state)
{
    (void)state;
    static const char *const texts[] = {"l2"};
    const struct fth_figure figure = {.value = 30.04,
                                      .low = 29.96,
                                      .high = 31,
                                      .samples = 7,
                                      .clock_mhz = 2000,
                                      .confidence = 0.5};
    const double zero = 0;
    const struct fth_note notes[] = {
        {.attribute = "size_bytes", .number = 1024, .interval = (const double[]){512, 2048}},
        {.attribute = "latency_cycles", .figure = &figure, .method = "a method"},
        {.attribute = "scope", .text = "sm"},
        {.attribute = "shared_with", .texts = texts, .count = 1, .confidence = &zero},
        {.attribute = "set_ways",
         .numbers = (const double[]){1, 2},
         .count = 2,
         .source = FTH_SOURCE_DERIVED,
         .samples = 3,
         .note = "a note"},
    };
    struct fth_gpu *gpu = NULL;
    char *text = NULL;
    size_t size;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_note_unknown(gpu, "l1", "size_bytes", "a reason", NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(notes); i++) {
        struct fth_note note = notes[i];
        note.element = "l1";
        assert_int_equal(fth_note(gpu, &note, NULL), FTH_OK);
    }
    assert_null(fth_gpu_unknown(gpu, "l1", "size_bytes"));
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    static const char *const lines[] = {
        "\"size_bytes\": {\"value\": 1024, \"source\": \"measured\", \"low\": 512, \"high\": 2048}",
        "\"latency_cycles\": {\"value\": 30, \"source\": \"measured\", \"method\": \"a method\", "
        "\"confidence\": 0.5, \"samples\": 7, \"low\": 30, \"high\": 31}",
        "\"latency_ns\": {\"value\": 15, \"source\": \"measured\", \"method\": \"latency in cycles "
        "/ SM clock observed by the kernel\", \"confidence\": 0.5, \"samples\": 7, \"low\": 15, "
        "\"high\": 15.5}",
        "\"scope\": {\"value\": \"sm\", \"source\": \"measured\"}",
        "\"shared_with\": {\"value\": [\"l2\"], \"source\": \"measured\", \"confidence\": 0}",
        "\"set_ways\": {\"value\": [1, 2], \"source\": \"derived\", \"samples\": 3, \"note\": \"a "
        "note\"}",
    };
    for (size_t i = 0; i < FTH_COUNT(lines); i++)
        assert_contains(text, lines[i]);
    fth_free(text);
    fth_gpu_destroy(gpu);
}

/* ---- stages ---- */

static void every_element_is_measured_by_a_stage(void **state)
{
    (void)state;
    const struct fth_stage *stage;
    static const struct fth_stage *(*const lists[])(size_t) = {fth_discovery_stage,
                                                               fth_hierarchy_stage};
    for (size_t list = 0; list < FTH_COUNT(lists); list++) {
        double fraction = 0;
        for (size_t i = 0; (stage = lists[list](i)); i++) {
            assert_true(stage->fraction >= fraction && stage->fraction < 1);
            fraction = stage->fraction;
            for (size_t k = 0; k < FTH_STAGE_ELEMENTS && stage->elements[k]; k++)
                assert_non_null(fth_schema_element(stage->elements[k]));
        }
    }
    const struct fth_element_def *element;
    for (size_t i = 0; (element = fth_schema_element_at(i)); i++) {
        /* The driver reports the registers, and 'bench copies' measures the copy engine. */
        bool found = strcmp(element->name, "registers") == 0 || strcmp(element->name, "tma") == 0;
        for (size_t list = 0; list < FTH_COUNT(lists); list++)
            for (size_t k = 0; (stage = lists[list](k)); k++)
                for (size_t j = 0; j < FTH_STAGE_ELEMENTS && stage->elements[j]; j++)
                    found = found || strcmp(stage->elements[j], element->name) == 0;
        if (!found)
            fail_msg("no stage measures %s", element->name);
    }
}

/* A TLB level is measured together with the levels before it. A level that was named and that the
 * GPU does not have gets a reason. */
static void a_tlb_level_can_be_measured_by_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *tlbs, *only;
        const char *found[3], *absent;
    } rows[] = {
        {TLB("tlb_l1", 16, 20) TLB("tlb_l2", 64, 100), "tlb_l3", {"tlb_l1", "tlb_l2"}, "tlb_l3"},
        {TLB("tlb_l1", 16, 20) TLB("tlb_l2", 64, 100), "tlb_l2", {"tlb_l1", "tlb_l2"}, NULL},
        {TLB("tlb_l1", 16, 20) TLB("tlb_l2", 64, 100) TLB("tlb_l3", 320, 300),
         "tlb_l3",
         {"tlb_l1", "tlb_l2", "tlb_l3"},
         NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_device *device = open_device(rows[i].tlbs, "");
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = rows[i].only);
        if (fth_discover(device, &options, &gpu, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        for (size_t k = 0; k < 3 && rows[i].found[k]; k++)
            if (!fth_gpu_attribute(gpu, rows[i].found[k], "entries"))
                fail_msg("--only %s: %s was not measured", rows[i].only, rows[i].found[k]);
        if (rows[i].absent)
            assert_string_equal(fth_gpu_unknown(gpu, rows[i].absent, "entries"),
                                "this level was not found");
        else
            assert_null(fth_gpu_find_section(gpu, rows[i].found[2] ? "none" : "tlb_l3"));
        fth_gpu_destroy(gpu);
        fth_device_close(device);
    }
}

/* The names are checked before the device is used. Long names are truncated in the message, and a
 * name of 64 or more characters gets no suggestion. */
static void unknown_elements_are_refused(void **state)
{
    (void)state;
#define TEN "abcdefghij"
#define FORTY TEN TEN TEN TEN
    static const struct {
        const char *only, *cause;
    } rows[] = {
        {"l4", "unknown element 'l4' (did you mean 'l1'?)"},
        {"l1,memry,l2", "unknown element 'memry' (did you mean 'memory'?)"},
        {"l1,", "unknown element ''"},
        {"l1," FORTY TEN TEN "abcd", "unknown element '" FORTY "'"},
        {"memry" TEN, "unknown element 'memry" TEN "'"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_gpu *gpu = NULL;
        const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = rows[i].only);
        assert_int_equal(fth_discover(NULL, &options, &gpu, &error), FTH_INVALID);
        assert_string_equal(error.cause, rows[i].cause);
        assert_string_equal(error.operation, "select elements");
        assert_null(gpu);
    }
}

/* The cold latency needs the TLBs that were found, not the ones that were not. */
static void absent_tlbs_do_not_prevent_the_cold_latency(void **state)
{
    (void)state;
    struct fth_device *device = open_device(TLB("tlb_l1", 16, 20), "");
    struct fth_gpu *gpu = NULL;
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.only = "memory,tlb_l1,tlb_l3");
    assert_int_equal(fth_discover(device, &options, &gpu, NULL), FTH_OK);
    assert_non_null(fth_gpu_attribute(gpu, "memory", "cold_latency_cycles"));
    fth_gpu_destroy(gpu);
    fth_device_close(device);
}

/* ---- interruption ---- */

/* Asks to stop after a number of questions, to which `user` points. */
static bool interrupt(void *user)
{
    size_t *left = user;
    *left -= *left > 0;
    return *left == 0;
}

/* The log of the options interrupts, although the device was opened without a log. */
static void the_log_of_the_options_interrupts(void **state)
{
    (void)state;
    static const size_t questions[] = {1, 2, 10, 40};
    for (size_t i = 0; i < FTH_COUNT(questions); i++)
        for (int dissect = 0; dissect < 2; dissect++) {
            size_t left = questions[i];
            const struct fth_log log = {.interrupted = interrupt, .user = &left};
            struct fth_device *device = open_device("", "");
            struct fth_gpu *gpu = NULL;
            struct fth_error error = NO_ERROR;
            const struct fth_discover_options discover = FTH_DISCOVER_OPTIONS(.log = &log);
            const struct fth_dissect_options all = FTH_DISSECT_OPTIONS(.log = &log);
            enum fth_status status = dissect ? fth_dissect(device, &all, &gpu, &error)
                                             : fth_discover(device, &discover, &gpu, &error);
            assert_int_equal(status, FTH_INTERRUPTED);
            assert_string_equal(error.cause, "interrupted");
            assert_string_equal(fth_gpu_text(gpu, "device", "name"), "Test");
            fth_gpu_destroy(gpu);
            fth_device_close(device);
        }
}

/* ---- another program on the GPU ---- */

/* Measures the L1 of a simulated GPU. */
static struct fth_gpu *discover_l1(const char *noise)
{
    struct fth_device *device = open_device("", noise);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = "l1");
    if (fth_discover(device, &options, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_device_close(device);
    return gpu;
}

/* The other program empties the caches before some loads. What is measured is right or unknown, and
 * has a confidence. If it is rare, everything is found. */
static void another_program_makes_no_figure_wrong(void **state)
{
    (void)state;
    static const char *const figures[] = {"latency_cycles", "size_bytes",      "onset_bytes",
                                          "resident_bytes", "full_miss_bytes", "line_bytes",
                                          "sector_bytes",   "per_sm"};
    static const char *const rates[] = {"1e-3", "3e-4", "1e-4", "3e-5", "1e-7"};
    size_t unknown = 0, interrupted = 0;
    struct fth_gpu *quiet = discover_l1("");
    for (size_t i = SANITIZED ? FTH_COUNT(rates) - 2 : 0; i < FTH_COUNT(rates); i++) {
        char noise[80];
        snprintf(noise, sizeof noise, "\"seed\": 5, \"neighbour_rate\": %s", rates[i]);
        struct fth_gpu *busy = discover_l1(noise);
        for (size_t k = 0; k < FTH_COUNT(figures); k++) {
            const struct fth_attribute *figure = fth_gpu_attribute(busy, "l1", figures[k]);
            if (figure) {
                assert_true(figure->confidence > 0);
                if (strstr(figure->method, "; another program interrupted requests")) {
                    const struct fth_attribute *before = fth_gpu_attribute(quiet, "l1", figures[k]);
                    assert_true(figure->confidence < before->confidence);
                    interrupted++;
                }
                if (figure->number != fth_gpu_number(quiet, "l1", figures[k], NAN))
                    fail_msg("%s at a rate of %s: %g at %g", figures[k], rates[i], figure->number,
                             figure->confidence);
            }
            unknown += !figure;
            if (i + 1 == FTH_COUNT(rates))
                assert_non_null(figure);
        }
        fth_gpu_destroy(busy);
    }
    assert_true(SANITIZED || (unknown > 0 && interrupted > 0));
    fth_gpu_destroy(quiet);
}

/* ---- announced requests ---- */

/* The kernels that were announced: the families of the requests, and the kinds of streams. */
static unsigned announced[FTH_FAMILY_COUNT], announced_clusters;

static void keep_announced(void *state, const struct fth_request *requests, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        announced[requests[i].family]++;
        announced_clusters += requests[i].family == FTH_FAMILY_STREAM && requests[i].stream.cluster;
    }
}

static enum fth_status describe_nothing(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    (void)state;
    (void)gpu;
    return fth_fail(error, FTH_UNAVAILABLE, "describe", NULL, "nothing to describe");
}

/* The kernels that take long to compile are announced before anything else. */
static void kernels_are_announced(void **state)
{
    (void)state;
    static const struct {
        const char *only;
        unsigned fetches, streams, cluster_streams, sweeps, clusters;
        bool quick;
    } rows[] = {{NULL, 1, 15, 2, 9, 1, false},
                {NULL, 0, 2, 0, 5, 0, true},
                {"instruction_l15", 1, 0, 0, 0, 0, false},
                {"shared,tlb_l1", 0, 4, 0, 0, 0, false},
                {"memory,cluster_shared", 0, 2, 2, 9, 1, false}};
    static const struct fth_device_ops ops = {.describe = describe_nothing,
                                              .expect = keep_announced};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_device device = {.ops = &ops};
        struct fth_gpu *gpu = NULL;
        const struct fth_discover_options options =
            FTH_DISCOVER_OPTIONS(.only = rows[i].only, .quick = rows[i].quick);
        memset(announced, 0, sizeof announced);
        announced_clusters = 0;
        assert_int_equal(fth_discover(&device, &options, &gpu, NULL), FTH_UNAVAILABLE);
        assert_int_equal(announced[FTH_FAMILY_FETCH], rows[i].fetches);
        assert_int_equal(announced[FTH_FAMILY_STREAM], rows[i].streams);
        assert_int_equal(announced_clusters, rows[i].cluster_streams);
        assert_int_equal(announced[FTH_FAMILY_SWEEP], rows[i].sweeps);
        assert_int_equal(announced[FTH_FAMILY_CLUSTER], rows[i].clusters);
    }
}

/* A quick measurement has fixed elements. */
static void quick_cannot_be_combined(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.describe = describe_nothing};
    const struct fth_discover_options rows[] = {
        FTH_DISCOVER_OPTIONS(.quick = true, .only = "l1"),
        FTH_DISCOVER_OPTIONS(.quick = true, .full = true),
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_device device = {.ops = &ops};
        struct fth_gpu *gpu = NULL;
        assert_int_equal(fth_discover(&device, &rows[i], &gpu, NULL), FTH_INVALID);
        assert_null(gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_become_attributes_with_provenance),
        cmocka_unit_test(every_element_is_measured_by_a_stage),
        cmocka_unit_test(unknown_elements_are_refused),
        cmocka_unit_test(a_tlb_level_can_be_measured_by_its_name),
        cmocka_unit_test(absent_tlbs_do_not_prevent_the_cold_latency),
        cmocka_unit_test(the_log_of_the_options_interrupts),
        cmocka_unit_test(kernels_are_announced),
        cmocka_unit_test(quick_cannot_be_combined),
        cmocka_unit_test(another_program_makes_no_figure_wrong),
    };
    return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
