/* The loop closes: what is discovered on a simulated GPU is what it was made from. For every
 * description that comes with fathom and for random ones.
 *
 *   test_closure [published | FIRST LAST]      those that come with fathom, or seeds of random
 *                                              ones; otherwise both, with the seeds 1 to 200
 */
#include "check.h"
#include "closure/random_gpu.h"
#include "discover/discover.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What is compared, where the truth has it: what is not found is allowed only where it is marked.
 */
static const struct {
    const char *element, *attribute;
    double tolerance;
    bool may_be_missing;
    bool published_only;
} figures[] = {
    {"l1", "size_bytes", 0, false, false},
    {"l1", "default_size_bytes", 0, false, false},
    {"l1", "line_bytes", 0, false, false},
    {"l1", "sector_bytes", 0, false, false},
    {"l1", "latency_cycles", 0.05, false, false},
    {"l1", "per_sm", 0, false, false},
    {"texture", "size_bytes", 0, false, false},
    {"texture", "line_bytes", 0, false, false},
    {"texture", "latency_cycles", 0.05, false, false},
    {"texture", "per_sm", 0, false, false},
    {"readonly", "size_bytes", 0, false, false},
    {"readonly", "line_bytes", 0, false, false},
    {"readonly", "latency_cycles", 0.05, false, false},
    {"readonly", "per_sm", 0, false, false},
    {"constant_l1", "size_bytes", 0, false, false},
    {"constant_l1", "line_bytes", 0, false, false},
    {"constant_l1", "latency_cycles", 0.05, false, false},
    {"constant_l1", "per_sm", 0, false, false},
    {"constant_l15", "size_bytes", 0, false, false},
    {"constant_l15", "line_bytes", 0, false, false},
    {"constant_l15", "latency_cycles", 0.05, false, false},
    {"instruction_l0", "size_bytes", 0, true, false}, /* one cache alone is taken for the L1 */
    {"instruction_l1", "size_bytes", 0, false, false},
    {"instruction_l15", "size_bytes", 0, false, false},
    {"instruction_l0", "cycles_per_instruction", 0.05, true, false},
    {"instruction_l1", "cycles_per_instruction", 0.05, false, false},
    {"shared", "latency_cycles", 0.05, false, false},
    {"cluster_shared", "latency_cycles", 0.05, false, false},
    {"cluster_shared", "far_latency_cycles", 0.05, false, false},
    {"l2", "latency_cycles", 0.05, false, false},
    {"l2", "partitions", 0, false, false},
    {"l2", "far_latency_cycles", 0.5, false, false}, /* single loads are as fine as the clock */
    {"l2", "line_bytes", 0, false, false},
    {"l2", "sector_bytes", 0, false, false},
    {"l2", "fill_bytes", 0, false, false},
    {"memory", "latency_cycles", 0.5, false, false},
    {"memory", "far_latency_cycles", 0.5, false, false},
    {"tlb_l1", "reach_bytes", 0, false, false},
    {"tlb_l1", "page_bytes", 0, false, false},
    {"tlb_l1", "entries", 0, false, false},
    {"tlb_l1", "miss_penalty_cycles", 0.6, false, false},
    {"tlb_l2", "reach_bytes", 0, true, false}, /* may be beyond the memory that there is */
    {"tlb_l2", "page_bytes", 0, true, false},
    {"tlb_l2", "entries", 0, true, false},
    {"tlb_l2", "miss_penalty_cycles", 0.6, true, false},
};
static const char *const sharing[] = {"l1", "texture", "readonly", "constant_l15"};

/* Compares one figure; says where it differs. */
static int differs(const struct fth_gpu *truth, const struct fth_gpu *found, const char *element,
                   const char *attribute, double tolerance, bool may_be_missing, char *why,
                   size_t size)
{
    const struct fth_attribute *is = fth_gpu_attribute(truth, element, attribute);
    const struct fth_attribute *seen = fth_gpu_attribute(found, element, attribute);
    if (!is || (!seen && may_be_missing) ||
        (seen && fabs(seen->number - is->number) <= tolerance + 1e-9))
        return 0;
    size_t used = strlen(why);
    snprintf(why + used, size - used, " %s.%s is %g, found %g;", element, attribute, is->number,
             seen ? seen->number : NAN);
    return 1;
}

static bool lists(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* Both must name the same others, of those that are compared. */
static void differs_in_sharing(const struct fth_gpu *truth, const struct fth_gpu *found,
                               const char *element, char *why, size_t size)
{
    const struct fth_attribute *is = fth_gpu_attribute(truth, element, "shared_with");
    const struct fth_attribute *seen = fth_gpu_attribute(found, element, "shared_with");
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (lists(is, sharing[i]) != lists(seen, sharing[i])) {
            size_t used = strlen(why);
            snprintf(why + used, size - used, " %s shared with %s: %s;", element, sharing[i],
                     lists(is, sharing[i]) ? "not found" : "found, and is not");
        }
}

/* What was found and is not there at all. */
static void invents(const struct fth_gpu *truth, const struct fth_gpu *found, char *why,
                    size_t size)
{
    static const char *const elements[] = {"texture",      "readonly",       "constant_l1",
                                           "constant_l15", "cluster_shared", "tlb_l1",
                                           "tlb_l2",       "tlb_l3"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        if (fth_gpu_attribute_count(found, elements[i]) &&
            !fth_gpu_attribute_count(truth, elements[i])) {
            size_t used = strlen(why);
            snprintf(why + used, size - used, " there is no %s;", elements[i]);
        }
}

static bool caches_global(const struct fth_gpu *gpu)
{
    const struct fth_attribute *caches = fth_gpu_attribute(gpu, "l1", "caches");
    bool global = !caches && fth_gpu_attribute(gpu, "l1", "size_bytes");
    for (size_t i = 0; caches && i < caches->count; i++)
        global = global || strcmp(caches->texts[i], "global") == 0;
    return global;
}

/* Discovers the simulated GPU of a description in a file; "" or what is wrong. */
static void close_loop(const char *path, const struct fth_gpu *truth, const char *only, char *why,
                       size_t size)
{
    char id[300];
    struct fth_device *device = NULL;
    struct fth_gpu *found = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_discover_options options = {.only = only};
    snprintf(id, sizeof id, "sim:%s", path);
    why[0] = '\0';
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK ||
        fth_discover(device, &options, &found, &error) != FTH_OK) {
        fth_error_text(&error, why, size);
    } else {
        bool global = caches_global(truth);
        if (!global && fth_gpu_attribute(found, "l1", "size_bytes"))
            snprintf(why, size, " an L1 was found that does not cache global loads;");
        for (size_t i = 0; i < FTH_COUNT(figures); i++)
            if ((global || strcmp(figures[i].element, "l1") != 0) &&
                (!only || !figures[i].published_only))
                differs(truth, found, figures[i].element, figures[i].attribute,
                        figures[i].tolerance, figures[i].may_be_missing || only, why, size);
        if (!only)
            invents(truth, found, why, size);
        for (size_t i = 0; !only && i < FTH_COUNT(sharing); i++)
            if (global || strcmp(sharing[i], "l1") != 0)
                differs_in_sharing(truth, found, sharing[i], why, size);
    }
    fth_gpu_destroy(found);
    fth_device_close(device);
}

static void published(void **state)
{
    (void)state;
    const char *folder = FTH_SOURCE_ROOT "/data/gpus";
    struct dirent *entry;
    DIR *files = opendir(folder);
    assert_non_null(files);
    int count = 0, wrong = 0;
    while ((entry = readdir(files))) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        char path[512], why[512];
        struct fth_gpu *truth = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(fth_gpu_read_file(path, NULL, &truth, NULL), FTH_OK);
        close_loop(path, truth, NULL, why, sizeof why);
        if (why[0])
            print_message("# %s:%s\n", entry->d_name, why);
        wrong += why[0] != '\0';
        count++;
        fth_gpu_destroy(truth);
    }
    closedir(files);
    assert_true(count >= 14);
    assert_int_equal(wrong, 0);
}

static uint64_t first_seed = 1, last_seed = 200;

static void invented(void **state)
{
    (void)state;
    char path[] = "/tmp/fathom-closure-XXXXXX";
    int file = mkstemp(path), wrong = 0;
    assert_true(file >= 0);
    close(file);
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        struct fth_gpu *truth = random_gpu(seed), *again = NULL;
        char *written = NULL, why[512];
        size_t size = 0;
        struct fth_error error = FTH_NO_ERROR;
        assert_int_equal(fth_gpu_write_text(truth, &written, &size, NULL), FTH_OK);
        if (fth_gpu_read_text("random", written, size, NULL, &again, &error) != FTH_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.cause);
        assert_int_equal(fth_file_write(path, written, size, NULL), FTH_OK);
        close_loop(path, truth, "l1,l2,memory", why, sizeof why);
        if (why[0])
            print_message("# seed %llu:%s\n", (unsigned long long)seed, why);
        wrong += why[0] != '\0';
        fth_gpu_destroy(truth);
        fth_gpu_destroy(again);
        fth_free(written);
    }
    unlink(path);
    assert_int_equal(wrong, 0);
}

int main(int count, char *words[])
{
    if (count > 2) {
        first_seed = strtoull(words[1], NULL, 10);
        last_seed = strtoull(words[2], NULL, 10);
    }
    const struct CMUnitTest both[] = {cmocka_unit_test(published), cmocka_unit_test(invented)};
    const struct CMUnitTest first[] = {cmocka_unit_test(published)};
    const struct CMUnitTest second[] = {cmocka_unit_test(invented)};
    return count > 2    ? cmocka_run_group_tests(second, NULL, NULL)
           : count == 2 ? cmocka_run_group_tests(first, NULL, NULL)
                        : cmocka_run_group_tests(both, NULL, NULL);
}
