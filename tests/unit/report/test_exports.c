/* Tests the exports for other programs (mt4g's JSON, hwloc's XML), the comparison of descriptions,
 * and the data that goes into the HTML page. The truth is the description or recording of an H200
 * in tests/replay, or values written out here. tests/exports checks the XML with hwloc's tools, and
 * tests/browser checks the page in a browser. */
#include "base/json.h"
#include "check.h"
#include "folder.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>

static struct fth_gpu *read_description(const char *path)
{
    char file[512];
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    snprintf(file, sizeof file, "%s/%s", FTH_SOURCE_ROOT, path);
    if (fth_gpu_read_file(file, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", file, error.cause);
    return gpu;
}

/* Returns the mt4g export of the description as a document, which the caller releases. */
static struct fth_json_document export_mt4g(const struct fth_gpu *gpu)
{
    char *text = NULL;
    size_t size = 0;
    struct fth_json_document document = {0};
    struct fth_error error = NO_ERROR;
    if (fth_report_gpu("mt4g", gpu, NULL, &text, &size, &error) != FTH_OK ||
        fth_json_parse("mt4g", text, size, &document, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_free(text);
    return document;
}

/* Returns the value at a path of keys such as "a/b/c", or NULL. */
static const struct fth_json *value_at(const struct fth_json *root, const char *path)
{
    char key[64];
    while (root && *path) {
        size_t size = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)size, path);
        root = fth_json_get(root, key);
        path += size + (path[size] == '/');
    }
    return root;
}

static void mt4g_export_has_the_figures_under_its_keys(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_description("tests/replay/h200.json");
    const struct {
        const char *path;
        double value;
    } rows[] = {
        {"compute/multiProcessorCount", 132},
        {"compute/regsPerMultiProcessor", 65536},
        {"compute/warpSize", 32},
        {"general/clockRate/value", 1980000},
        {"general/computeCapability/major", 9},
        {"general/computeCapability/minor", 0},
        {"memory/constant/l1/size/size", 2048},
        {"memory/constant/l1.5/latency/p50", 102},
        {"memory/constant/l1.5/lineSize/size", 256},
        {"memory/constant/totalConstMem/value", 65536},
        {"memory/l1/size/size", 246784},
        {"memory/l1/amountPerMultiprocessor", 1},
        {"memory/l1/fetchGranularity/size", 32},
        {"memory/l1/lineSize/size", 128},
        {"memory/l1/latency/mean", 32},
        {"memory/l2/size/value", 62914560},
        {"memory/l2/segmentSize/size", 31457280},
        /* Figures that differ from card to card are taken from the description. */
        {"memory/l2/readBandwidth/value",
         fth_gpu_number(gpu, "l2", "read_bytes_per_s", NAN) / 1073741824.0},
        {"memory/main/latency/p50", fth_gpu_number(gpu, "memory", "latency_cycles", NAN)},
        {"memory/main/totalGlobalMem/value", 150109880320},
        {"memory/main/memoryBusWidth/value", 6016},
        {"memory/readOnly/latency/p50", 32},
        {"memory/texture/latency/p50", 88},
        {"memory/shared/sharedMemPerMultiProcessor/value", 233472},
        {"memory/shared/latency/low", 23},
        {"memory/l2/latency/p95", fth_gpu_attribute(gpu, "l2", "latency_cycles")->high},
        {"meta/driver", 13000},
    };
    struct fth_json_document document = export_mt4g(gpu);
    const struct fth_json *root = document.root;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_json *value = value_at(root, rows[i].path);
        if (!fth_json_is_number(value))
            fail_msg("no number at %s", rows[i].path);
        if (fabs(fth_json_double(value) - rows[i].value) > 1e-9 * rows[i].value)
            fail_msg("%s is %g", rows[i].path, fth_json_double(value));
    }
    const struct fth_json *shared = value_at(root, "memory/l1/sharedWith");
    assert_int_equal(fth_json_count(shared), 2);
    assert_string_equal(fth_json_string(fth_json_item(shared, 0)), "Texture");
    assert_string_equal(fth_json_string(fth_json_item(shared, 1)), "Read Only");
    assert_true(fth_json_is(value_at(root, "memory/l1/globalL1CacheSupported"), FTH_JSON_TRUE));
    /* Keys of unknown figures are absent. */
    assert_null(value_at(root, "memory/l1/latency/stdev"));
    fth_json_fini(&document);
    fth_gpu_destroy(gpu);
}

static void every_gpu_of_the_catalogue_can_be_exported(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        struct fth_gpu *gpu = NULL;
        assert_int_equal(
            fth_catalogue_read(catalogue, fth_catalogue_name(catalogue, i), NULL, &gpu, NULL),
            FTH_OK);
        struct fth_json_document document = export_mt4g(gpu);
        assert_true(fth_json_is(value_at(document.root, "memory/main"), FTH_JSON_OBJECT));
        fth_json_fini(&document);
        fth_gpu_destroy(gpu);
    }
    fth_catalogue_close(catalogue);
}

/* As in mt4g's results for this GPU, the vector L1 is "l1", and LDS is "shared". */
static void mt4g_export_has_the_figures_of_an_amd_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        double value;
    } rows[] = {
        {"compute/multiProcessorCount", 304},
        {"compute/numXCDs", 8},
        {"compute/warpSize", 64},
        {"memory/l1/size/size", 32768},
        {"memory/l1/latency/p50", 116},
        {"memory/l2/amount", 8},
        {"memory/l2/size/value", 4194304},
        {"memory/l3/size/value", 268435456},
        {"memory/l3/latency/mean", 455},
        {"memory/scalarL1/lineSize/size", 64},
        {"memory/shared/sharedMemPerBlock/value", 65536},
        {"memory/shared/latency/p50", 52},
    };
    struct fth_gpu *gpu = read_description("data/gpus/mi300x.json");
    struct fth_json_document document = export_mt4g(gpu);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_json *value = value_at(document.root, rows[i].path);
        if (!fth_json_is_number(value) || fth_json_double(value) != rows[i].value)
            fail_msg("%s is not %g", rows[i].path, rows[i].value);
    }
    /* The version in the name of the chip, gfx942. */
    assert_int_equal(fth_json_double(value_at(document.root, "general/computeCapability/major")),
                     9);
    assert_int_equal(fth_json_double(value_at(document.root, "general/computeCapability/minor")),
                     4);
    assert_int_equal(fth_json_double(value_at(document.root, "memory/scalarL1/uniqueAmount")), 152);
    /* sys-sage requires this figure, which the description does not have. */
    assert_int_equal(fth_json_double(value_at(document.root, "memory/l2/writeBandwidth/value")), 0);
    const struct fth_json *unknown = value_at(document.root, "meta/unknown");
    assert_int_equal(fth_json_count(unknown), 4);
    assert_string_equal(fth_json_string(fth_json_item(unknown, 2)), "memory.l2.writeBandwidth");
    fth_json_fini(&document);
    fth_gpu_destroy(gpu);
    gpu = read_description("data/gpus/mi210.json");
    document = export_mt4g(gpu);
    assert_int_equal(fth_json_double(value_at(document.root, "memory/scalarL1/uniqueAmount")), 56);
    assert_null(value_at(document.root, "memory/l3"));
    fth_json_fini(&document);
    fth_gpu_destroy(gpu);
}

static size_t count_texts(const char *text, const char *part)
{
    size_t count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* Caches that several SMs share are above them, and the other memories that they share belong to
 * the innermost object with these SMs. */
static void hwloc_export_nests_shared_caches(void **state)
{
    (void)state;
    static const struct {
        const char *path, *part;
        size_t count;
    } rows[] = {
        {"data/gpus/mi300x.json", "type=\"L3Cache\"", 1},
        {"data/gpus/mi300x.json", "type=\"L2Cache\"", 8},
        {"data/gpus/mi300x.json", "type=\"L1iCache\"", 152},
        {"data/gpus/mi300x.json", "type=\"L1Cache\"", 304},
        {"data/gpus/mi300x.json", "type=\"Core\" subtype=\"CU\"", 304},
        {"data/gpus/mi300x.json", "type=\"Misc\" subtype=\"scalar_l1\"", 152},
        {"data/gpus/mi300x.json", "type=\"Misc\" subtype=\"lds\"", 304},
        {"data/gpus/mi300x.json", "type=\"Group\"", 0},
        /* The L1 of a shader array is behind the vector L1. */
        {"data/gpus/rx7900xtx.json", "type=\"L4Cache\" subtype=\"L3\"", 1},
        {"data/gpus/rx7900xtx.json", "type=\"L3Cache\" subtype=\"L2\"", 1},
        {"data/gpus/rx7900xtx.json", "type=\"L2Cache\" subtype=\"L1 data\"", 12},
        {"data/gpus/rx7900xtx.json", "type=\"L1Cache\"", 96},
        {"data/gpus/rx7900xtx.json", "type=\"Misc\" subtype=\"lds\"", 48},
        {"data/gpus/h200.json", "type=\"Core\" subtype=\"SM\"", 132},
        {"data/gpus/h200.json", "type=\"L3Cache\"", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = read_description(rows[i].path);
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_report_gpu("hwloc", gpu, NULL, &text, &size, NULL), FTH_OK);
        const size_t count = count_texts(text, rows[i].part);
        if (count != rows[i].count)
            fail_msg("%s: %zu x %s", rows[i].path, count, rows[i].part);
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

/* A memory that SMs without a common cache share is in a group; the L2 of a CPU belongs to a core
 * if the description does not say otherwise. */
static void hwloc_export_of_other_devices(void **state)
{
    (void)state;
    static const struct {
        const char *document, *part;
        size_t count;
    } rows[] = {
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"vendor\": \"AMD\", "
         "\"sms\": 5}, "
         "\"elements\": {\"lds\": {\"sms_per_instance\": 2}}}",
         "type=\"Group\"", 3},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"kind\": \"cpu\", \"sms\": "
         "4}, "
         "\"elements\": {\"l1\": {\"size_bytes\": 65536}, \"l2\": {\"size_bytes\": 1048576, "
         "\"ways\": 8}, "
         "\"l3\": {\"size_bytes\": 33554432}}}",
         "cache_size=\"1048576\" depth=\"2\" cache_linesize=\"0\" cache_associativity=\"8\"", 4},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"kind\": \"cpu\", \"sms\": "
         "4}, "
         "\"elements\": {\"l2\": {\"size_bytes\": 1048576, \"sms_per_instance\": 2}}}",
         "type=\"L2Cache\"", 2},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"kind\": \"cpu\", \"sms\": "
         "4}, "
         "\"elements\": {}}",
         "subtype", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = NULL;
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(
            fth_gpu_read_text("x", rows[i].document, strlen(rows[i].document), NULL, &gpu, NULL),
            FTH_OK);
        assert_int_equal(fth_report_gpu("hwloc", gpu, NULL, &text, &size, NULL), FTH_OK);
        assert_int_equal(count_texts(text, rows[i].part), rows[i].count);
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

static void hwloc_export_requires_a_valid_number_of_sms(void **state)
{
    (void)state;
    static const struct {
        const char *device, *cause;
    } rows[] = {{"{\"name\": \"x\"}", "the number of SMs"},
                {"{\"name\": \"x\", \"sms\": 4097}", "has 4097 SMs; the limit is 4096"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char json[128], *text = NULL;
        size_t size = 0;
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(json, sizeof json,
                 "{\"schema\": \"fathom-gpu/1\", \"device\": %s, \"elements\": {}}",
                 rows[i].device);
        assert_int_equal(fth_gpu_read_text("x", json, strlen(json), NULL, &gpu, NULL), FTH_OK);
        assert_int_equal(fth_report_gpu("hwloc", gpu, NULL, &text, &size, &error), FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        assert_null(text);
        fth_gpu_destroy(gpu);
    }
}

/* If the near partition of every SM is known and every partition has SMs, each L2 partition is an
 * L2Cache object. Otherwise there is one L2Cache object for all SMs. */
static void hwloc_export_has_one_l2_per_partition_if_sms_are_assigned(void **state)
{
    (void)state;
    static const struct {
        double near[4];
        const char *set; /* start of the second L2Cache object; NULL: there is only one */
    } rows[] = {
        {{0, 1, 1, 0}, "<object type=\"L2Cache\" cpuset=\"0x00000006\""},
        {{0, 0, 0, 1}, "<object type=\"L2Cache\" cpuset=\"0x00000008\""},
        {{0, 0, 0, 0}, NULL},
        {{0, 1, 2, 0}, NULL},
    };
    static const char json[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"sms\": 4}, "
        "\"elements\": {\"l2\": {\"size_bytes\": 1048576, \"partitions\": 2}}}";
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0, found = 0;
        struct fth_gpu *gpu = NULL;
        struct fth_attribute near = fth_attribute_make("partition_by_sm", FTH_NUMBERS);
        near.numbers = rows[i].near;
        near.count = 4;
        assert_int_equal(fth_gpu_read_text("x", json, strlen(json), NULL, &gpu, NULL), FTH_OK);
        assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, "l2"), &near, NULL), FTH_OK);
        assert_int_equal(fth_report_gpu("hwloc", gpu, NULL, &text, &size, NULL), FTH_OK);
        for (const char *at = text; (at = strstr(at, "type=\"L2Cache\"")); at++)
            found++;
        assert_int_equal(found, rows[i].set ? 2 : 1);
        if (rows[i].set) {
            assert_contains(text, rows[i].set);
            assert_contains(text, "cache_size=\"524288\"");
        } else {
            assert_contains(text, "cpuset=\"0x0000000f\"");
            assert_contains(text, "L2 partition 1 512 KiB");
        }
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

/* Counts the differences in circumstances in apart[0], and stores the gap of any other difference
 * in apart[1]. */
static void note_difference(void *user, const struct fth_difference *difference)
{
    double *apart = user;
    if (difference->circumstance)
        apart[0]++;
    else
        apart[1] = difference->apart;
}

/* The UUID identifies the card, so it is a circumstance. The gap between the intervals [80, 95] and
 * [58, 62] is 18 cycles, and 90 is the larger of the two numbers. */
static void differences_report_the_gap_between_intervals(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"uuid\": \"a\"}, "
        "\"elements\": "
        "{\"l1\": {\"latency_cycles\": {\"value\": 90, \"low\": 80, \"high\": 95}}}}",
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"uuid\": \"b\"}, "
        "\"elements\": "
        "{\"l1\": {\"latency_cycles\": {\"value\": 60, \"low\": 58, \"high\": 62}}}}"};
    struct fth_gpu *gpus[2];
    double apart[2] = {0, 0};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            fth_gpu_read_text("x", documents[i], strlen(documents[i]), NULL, &gpus[i], NULL),
            FTH_OK);
    assert_int_equal(fth_gpu_compare(gpus[0], gpus[1], note_difference, apart), 2);
    assert_true(apart[0] == 1);
    assert_true(fabs(apart[1] - 18.0 / 90) < 1e-12);
    fth_gpu_destroy(gpus[0]);
    fth_gpu_destroy(gpus[1]);
}

static void some_formats_accept_only_gpu_descriptions(void **state)
{
    (void)state;
    const struct fth_table table = {NULL, 0, NULL, 0};
    struct fth_error error = NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_check("hwloc", FTH_REPORT_GPU, NULL), FTH_OK);
    assert_int_equal(fth_report_check("csv", FTH_REPORT_TABLE, NULL), FTH_OK);
    assert_int_equal(fth_report_table("mt4g", &table, NULL, &text, &size, &error), FTH_INVALID);
    assert_contains(error.cause, "only GPU descriptions");
}

/* ---- the HTML page ---- */

static struct fth_json_document read_evidence(const char *path)
{
    char file[512];
    struct fth_buffer content = {0};
    struct fth_error error = NO_ERROR;
    struct fth_json_document document = {0};
    snprintf(file, sizeof file, "%s/%s", FTH_SOURCE_ROOT, path);
    if (fth_file_read(file, FTH_FILE_LIMIT("a file of the test", 1 << 28), &content, &error) !=
            FTH_OK ||
        fth_evidence_read(file, &content, &document, &error) != FTH_OK)
        fail_msg("%s: %s", file, error.cause);
    fth_buffer_fini(&content);
    return document;
}

/* The recording of the H200 contains the walks that measured the size of its L1. A timed load takes
 * about 57 cycles while the footprint fits in the L1, and about 300 cycles if every load misses. */
static void a_recording_yields_latency_curves(void **state)
{
    (void)state;
    struct fth_json_document document = read_evidence("tests/replay/h200.zst");
    size_t found = 0;
    FTH_JSON_EACH_ITEM (curve, fth_json_get(document.root, "curves")) {
        const char *path = fth_json_string(fth_json_get(curve, "path"));
        if (strcmp(path, "ca") != 0 ||
            fth_json_integer(fth_json_get(curve, "stride_bytes")) != 32 ||
            fth_json_integer(fth_json_get(curve, "carveout_percent")) != 0)
            continue;
        found++;
        FTH_JSON_EACH_ITEM (point, fth_json_get(curve, "points")) {
            double bytes = fth_json_double(fth_json_get(point, "footprint"));
            double mean = fth_json_double(fth_json_get(point, "mean"));
            size_t kept = fth_json_count(fth_json_get(point, "samples"));
            if (bytes < 131072)
                assert_true(mean > 50 && mean < 60);
            if (bytes > 340000)
                assert_true(mean > 280 && mean < 330);
            assert_true(kept > 0 && kept <= 96);
            assert_true(fth_json_integer(fth_json_get(point, "count")) >= (int64_t)kept);
        }
    }
    assert_int_equal(found, 1);
    fth_json_fini(&document);
}

static enum fth_status make_page(const char *text, char **page, struct fth_error *error)
{
    static const char *const paths[] = {"document"};
    size_t size;
    write_plain("document", text, strlen(text));
    return fth_report_html(paths, 1, NULL, page, &size, error);
}

static void documents_cannot_insert_markup_into_the_page(void **state)
{
    (void)state;
    char *page = NULL;
    struct fth_error error = NO_ERROR;
    if (make_page("{\"schema\": \"fathom-x/1\", \"a\": \"</script><!--<script>&amp;\\u2028\"}",
                  &page, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    char *data = strstr(page, "id=\"fathom-data\">");
    assert_non_null(data);
    data += strlen("id=\"fathom-data\">");
    char *end = strchr(data, '<');
    assert_non_null(end);
    assert_true(strncmp(end, "</script>", 9) == 0);
    *end = '\0';
    assert_contains(data, "\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e\\u0026amp;\\u2028");
    assert_null(strstr(page, "@data@"));
    fth_free(page);
}

static void reports_files_that_are_not_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"", "empty"},
        {"{", "line 1"},
        {"[]", "not the output of 'fathom explore --json'"},
        {"{\"schema\": 5}", "not a fathom document"},
        {"{\"schema\": \"other/1\"}", "not a fathom document"},
        {"{\"schema\": \"fathom-gpu/1\"}", "device"},
        {"{\"schema\": \"fathom-gpu/2\"}", "schema"},
        {"fathom-recording/1\n", "header"},
        {"element,load,index,cycles,result\nl1,1,2\n", "line 2"},
        {"element,load,index,cycles,result\nl1,0,0,30,hit\n,,,,\nl1\n",
         "line 3 has no valid element name"},
        {"element,load,index,cycles,result\nl1,0,-1,30,hit\n", "line 2 has an index or cycles"},
        {"element,load,index,cycles,result\nl1,0,99999999999,30,hit\n", "too large"},
        {"element,load,index,cycles,result\nl1,0,0,30,maybe\n", "neither hit nor miss"},
        {"element,load,index,cycles,result\nl1,0,0,30,hit\n\n", "line 3 does not have the fields"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char *page = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_not_equal(make_page(rows[i].text, &page, &error), FTH_OK);
        assert_null(page);
        assert_contains(error.cause, rows[i].cause);
    }
}

/* A curve with 100000 distances is reduced to a few hundred. The number of hits of a cache of each
 * kept size must not change, condensing again must change nothing, and short curves stay. */
static void condensing_a_model_keeps_the_hits_at_the_kept_sizes(void **state)
{
    (void)state;
    enum { DISTANCES = 100000 };
    static const char short_curve[] = "[[0,5],[9,1]]";
    struct fth_json_document document = {0};
    struct fth_buffer text = {0}, once = {0}, twice = {0};
    fth_buffer_text(&text, "{\"l1_curve\": {\"distances\": [");
    for (int i = 0; i < DISTANCES; i++)
        fth_buffer_format(&text, "%s[%d,%d]", i ? "," : "", i, i % 7 + 1);
    fth_buffer_format(&text,
                      "], \"new\": 3}, \"l2_curve\": {\"distances\": %s}, \"launches\": [], "
                      "\"kernels\": []}",
                      short_curve);
    assert_int_equal(fth_json_parse("model", text.data, text.size, &document, NULL), FTH_OK);
    fth_model_condense(&document);
    fth_json_write(&once, document.root, 17, true);
    const struct fth_json *model = document.root, *l1 = fth_json_get(model, "l1_curve");
    const struct fth_json *kept = fth_json_get(l1, "distances");
    int64_t hits = 0, expected = 0, next = 0;
    assert_in_range(fth_json_count(kept), 100, 600);
    FTH_JSON_EACH_ITEM (pair, kept) {
        hits += fth_json_integer(fth_json_item(pair, 1));
        for (; next <= fth_json_integer(fth_json_item(pair, 0)); next++)
            expected += next % 7 + 1;
        assert_int_equal(hits, expected);
    }
    assert_int_equal(next, DISTANCES);
    fth_model_condense(&document);
    fth_json_write(&twice, document.root, 17, true);
    assert_string_equal(once.data, twice.data);
    assert_contains(once.data, short_curve);
    assert_contains(once.data, "]],\"new\":3}"); /* the members keep their order */
    assert_null(fth_json_get(model, "launches"));
    assert_non_null(fth_json_get(model, "kernels"));
    fth_json_fini(&document);
    fth_buffer_fini(&text);
    fth_buffer_fini(&once);
    fth_buffer_fini(&twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mt4g_export_has_the_figures_under_its_keys),
        cmocka_unit_test(every_gpu_of_the_catalogue_can_be_exported),
        cmocka_unit_test(mt4g_export_has_the_figures_of_an_amd_gpu),
        cmocka_unit_test(hwloc_export_nests_shared_caches),
        cmocka_unit_test(hwloc_export_of_other_devices),
        cmocka_unit_test(hwloc_export_requires_a_valid_number_of_sms),
        cmocka_unit_test(hwloc_export_has_one_l2_per_partition_if_sms_are_assigned),
        cmocka_unit_test(differences_report_the_gap_between_intervals),
        cmocka_unit_test(some_formats_accept_only_gpu_descriptions),
        cmocka_unit_test(a_recording_yields_latency_curves),
        cmocka_unit_test(documents_cannot_insert_markup_into_the_page),
        cmocka_unit_test(reports_files_that_are_not_documents),
        cmocka_unit_test(condensing_a_model_keeps_the_hits_at_the_kept_sizes),
    };
    return cmocka_run_group_tests_name("exports", tests, enter_folder, leave_folder);
}
