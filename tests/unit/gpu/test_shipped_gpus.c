/* Tests of the descriptions in data/gpus. Each must be valid, in canonical form and with a source
 * for each figure. A selection of figures is compared with the papers that published them. */
#include "check.h"
#include "gpu/gpu.h"
#include "gpu/source_file.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void fail_on_warning(void *user, enum fth_level level, const char *text)
{
    (void)user, (void)level;
    fail_msg("%s", text);
}

static const char *const shipped[] = {
    "a100",      "a770",    "b200",    "b580",     "gf840m",   "gt740m",    "gtx560ti", "gtx780",
    "gtx970",    "gtx980",  "h100",    "h100pcie", "h200",     "k20c",      "l40s",     "mi100",
    "mi210",     "mi250x",  "mi300a",  "mi300x",   "mi350p",   "p100",      "p6000",    "rtx2060",
    "rtx2080ti", "rtx3090", "rtx4090", "rtx5090",  "rx6900xt", "rx7900xtx", "t4",       "v100"};

/* Every attribute must have a source, and a reference or method unless the driver reported it. The
 * scope of an element and the texts of the device need none. */
static void assert_sources(const char *name, const struct fth_gpu *gpu, const char *section)
{
    for (size_t i = 0; i < fth_gpu_attribute_count(gpu, section); i++) {
        const struct fth_attribute *a = fth_gpu_attribute_at(gpu, section, i);
        bool structural = strcmp(a->name, "scope") == 0 ||
                          (strcmp(section, "device") == 0 && a->kind == FTH_TEXT);
        if (!structural && (a->source == FTH_SOURCE_NONE ||
                            !(a->reference || a->method || a->source == FTH_SOURCE_DRIVER)))
            fail_msg("%s: %s.%s has no source", name, section, a->name);
    }
}

/* Every entry of "references" must be cited by an attribute. */
static void assert_references_used(const char *name, const struct fth_gpu *gpu, const char *text)
{
    for (size_t i = 0; i < gpu->references.count; i++) {
        const char *key = gpu->references.items[i].name;
        bool used = false;
        for (const char *at = text; (at = strstr(at, "\"reference\": \"")) && !used; at++) {
            const char *value = at + strlen("\"reference\": \""), *end = strchr(value, '"');
            char list[1024];
            snprintf(list, sizeof list, "%.*s", (int)(end - value), value);
            const char *rest = list, *each;
            size_t size;
            while (fth_reference_next(&rest, &each, &size))
                used = used || (strlen(key) == size && strncmp(each, key, size) == 0);
        }
        if (!used)
            fail_msg("%s: reference %s is not used", name, key);
    }
}

static void shipped_descriptions_are_valid_and_canonical(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(shipped); i++) {
        char path[64];
        size_t size;
        snprintf(path, sizeof path, "data/gpus/%s.json", shipped[i]);
        char *text = read_source_file(path, &size);
        struct fth_log log = {.message = fail_on_warning};
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_gpu_read_text(path, text, size, &log, &gpu, &error) != FTH_OK)
            fail_msg("%s: %s", path, error.cause);
        char *canonical = NULL;
        assert_int_equal(fth_gpu_write_text(gpu, &canonical, &size, NULL), FTH_OK);
        if (strcmp(text, canonical) != 0)
            fail_msg("%s is not in canonical form; 'fathom gpus FILE --json' prints it", path);
        assert_sources(path, gpu, "device");
        for (size_t e = 0; e < fth_gpu_element_count(gpu); e++)
            assert_sources(path, gpu, fth_gpu_element_name(gpu, e));
        assert_references_used(path, gpu, text);
        fth_free(text);
        fth_free(canonical);
        fth_gpu_destroy(gpu);
    }
}

static void catalogue_contains_every_shipped_description(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(shipped); i++) {
        struct fth_gpu *gpu = NULL;
        assert_int_equal(fth_catalogue_read(catalogue, shipped[i], NULL, &gpu, NULL), FTH_OK);
        fth_gpu_destroy(gpu);
    }
    /* Each file in the folder must be in the list above, and thus in the catalogue. */
    DIR *stream = opendir(FTH_SOURCE_ROOT "/data/gpus");
    size_t files = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream)))
        files += entry->d_name[0] != '.';
    closedir(stream);
    assert_int_equal(files, FTH_COUNT(shipped));
    assert_true(fth_catalogue_count(catalogue) >= files);
    for (size_t i = 1; i < fth_catalogue_count(catalogue); i++)
        assert_true(strcmp(fth_catalogue_name(catalogue, i - 1), fth_catalogue_name(catalogue, i)) <
                    0);
    assert_null(fth_catalogue_name(catalogue, 999));
    assert_null(fth_catalogue_path(catalogue, 999));
    fth_catalogue_close(catalogue);
    fth_catalogue_close(NULL);
}

/* Figures copied from the publications, to detect copying errors in data/gpus. */
static const struct {
    const char *gpu, *section, *name;
    double number;
} figures[] = {
    /* Mei & Chu, Tables 3, 5 and 6, Section 6.2 */
    {"gtx560ti", "l1", "size_bytes", 16384},
    {"gtx560ti", "l1", "sets", 32},
    {"gtx560ti", "l1", "ways", 4},
    {"gtx560ti", "l1", "line_bytes", 128},
    {"gtx560ti", "texture", "size_bytes", 12288},
    {"gtx560ti", "texture", "sets", 4},
    {"gtx560ti", "tlb_l1", "reach_bytes", 33554432},
    {"gtx560ti", "tlb_l2", "reach_bytes", 136314880},
    {"gtx560ti", "shared", "latency_cycles", 50},
    {"gtx560ti", "memory", "copy_bytes_per_s", 109.38e9},
    {"gtx780", "readonly", "ways", 96},
    {"gtx780", "shared", "bank_bytes", 8},
    {"gtx780", "shared", "latency_cycles", 47},
    {"gtx980", "l1", "size_bytes", 24576},
    {"gtx980", "l1", "ways", 192},
    {"gtx980", "shared", "latency_cycles", 28},
    /* Capturing the Memory Topology of GPUs, Tables 5.3 to 5.9 */
    {"k20c", "l1", "latency_cycles", 64},
    {"k20c", "texture", "per_sm", 4},
    {"k20c", "readonly", "latency_cycles", 130},
    {"k20c", "constant_l15", "line_bytes", 256},
    {"gf840m", "texture", "per_sm", 2},
    {"gf840m", "l2", "latency_cycles", 173},
    {"p6000", "l1", "per_sm", 2},
    {"p6000", "texture", "latency_cycles", 85},
    {"v100", "l1", "default_size_bytes", 32768},
    {"v100", "l1", "latency_cycles", 36},
    {"v100", "memory", "latency_cycles", 430},
    {"rtx2080ti", "l1", "default_size_bytes", 32768},
    {"rtx2080ti", "l2", "latency_cycles", 230},
    {"a100", "l1", "default_size_bytes", 28672},
    {"a100", "shared", "size_bytes", 167936},
    {"a100", "memory", "latency_cycles", 567},
    /* Pascal GPU memory and cache hierarchy (blog post, 2019) */
    {"p100", "texture", "sets", 4},
    {"p100", "texture", "ways", 192},
    /* Qiu, Jo and Goswami, report on the RTX 2060, Table II */
    {"rtx2060", "shared", "latency_cycles", 22},
    {"rtx2060", "shared", "conflict_cycles", 2},
    /* Kiani and Rajabzadeh (RDGC), Table 5 */
    {"gtx970", "l1", "ways", 192},
    {"gtx970", "l2", "size_bytes", 1835008},
    {"gt740m", "l2", "size_bytes", 524288},
    {"gt740m", "device", "sms", 2},
    /* First measurements of an H200 */
    {"h200", "l2", "size_bytes", 62914560},
    {"h200", "shared", "size_bytes", 233472},
    /* AMD, GPU specifications; mt4g's sample results; gpu-benches */
    {"mi210", "device", "sms", 104},
    {"mi210", "vector_l1", "latency_cycles", 125},
    {"mi210", "scalar_l1", "instances", 56},
    {"mi210", "l2", "latency_cycles", 249},
    {"mi300x", "device", "sms", 304},
    {"mi300x", "device", "warp_size", 64},
    {"mi300x", "vector_l1", "size_bytes", 32768},
    {"mi300x", "scalar_l1", "sms_per_instance", 2},
    {"mi300x", "instruction_l1", "size_bytes", 65536},
    {"mi300x", "l2", "size_bytes", 4194304},
    {"mi300x", "l2", "instances", 8},
    {"mi300x", "l2", "sms_per_instance", 38},
    {"mi300x", "l3", "size_bytes", 268435456},
    {"mi300x", "l3", "latency_cycles", 455},
    {"mi300x", "memory", "latency_cycles", 866},
    {"rx7900xtx", "l1", "instances", 12},
    {"rx7900xtx", "l2", "size_bytes", 6291456},
    {"rx7900xtx", "l3", "size_bytes", 100663296},
    {"rx7900xtx", "lds", "size_bytes", 131072},
    /* Chips and Cheese, RDNA 3 */
    {"rx7900xtx", "scalar_l1", "latency_ns", 15.4},
    {"rx7900xtx", "l3", "latency_ns", 150.3},
    {"rx7900xtx", "memory", "latency_ns", 234.55},
    /* mt4g's sample results; M. Dewing; gpu-benches; CUDA Programming Guide */
    {"h100", "device", "sms", 132},
    {"h100", "l1", "default_size_bytes", 28672},
    {"h100", "l2", "size_bytes", 52428800},
    {"h100", "l2", "latency_cycles", 291},
    {"h100", "memory", "latency_cycles", 700},
    {"h100pcie", "device", "sms", 114},
    {"h100pcie", "l2", "far_latency_cycles", 414.1},
    {"b200", "device", "sms", 148},
    {"b200", "l2", "size_bytes", 132644864},
    {"b200", "l1", "unified_bytes", 262144},
    {"rtx5090", "device", "sms", 170},
    {"rtx5090", "l2", "latency_cycles", 360},
    {"rtx4090", "l2", "size_bytes", 75497472},
    {"rtx4090", "shared", "max_block_bytes", 101376},
    {"rtx4090", "tlb_l1", "reach_bytes", 33554432},
    {"l40s", "device", "sms", 142},
    {"l40s", "l2", "latency_cycles", 276.5},
    {"rtx3090", "device", "max_blocks_per_sm", 16},
    {"rtx3090", "l2", "size_bytes", 6291456},
    {"t4", "l1", "size_bytes", 65536},
    {"t4", "instruction_l0", "size_bytes", 16384},
    {"mi100", "scalar_l1", "instances", 48},
    {"mi100", "l2", "slices", 32},
    {"mi250x", "device", "sms", 110},
    {"mi300a", "l2", "instances", 6},
    {"mi300a", "vector_l1", "latency_cycles", 112},
    {"mi350p", "lds", "size_bytes", 163840},
    {"mi350p", "l3", "size_bytes", 134217728},
    {"rx6900xt", "l3", "size_bytes", 134217728},
    {"rx6900xt", "vector_l1", "latency_cycles", 73},
    {"b580", "device", "sms", 20},
    {"b580", "l2", "size_bytes", 18874368},
    /* Intel, product specifications */
    {"a770", "device", "sms", 32},
    {"a770", "memory", "peak_bytes_per_s", 560e9},
};

static void shipped_descriptions_contain_the_published_figures(void **state)
{
    (void)state;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(figures); i++) {
        struct fth_gpu *gpu = NULL;
        assert_int_equal(fth_catalogue_read(catalogue, figures[i].gpu, NULL, &gpu, NULL), FTH_OK);
        double number = fth_gpu_number(gpu, figures[i].section, figures[i].name, NAN);
        if (number != figures[i].number)
            fail_msg("%s: %s.%s is %g instead of %g", figures[i].gpu, figures[i].section,
                     figures[i].name, number, figures[i].number);
        fth_gpu_destroy(gpu);
    }
    fth_catalogue_close(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_descriptions_are_valid_and_canonical),
        cmocka_unit_test(catalogue_contains_every_shipped_description),
        cmocka_unit_test(shipped_descriptions_contain_the_published_figures),
    };
    return cmocka_run_group_tests_name("shipped-gpus", tests, NULL, NULL);
}
