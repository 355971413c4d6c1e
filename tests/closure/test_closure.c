/* Closure tests: fth_discover() must find on a simulated GPU what its description says. The truth
 * is the description: one of those that come with fathom, or a random one. Without noise, all
 * figures must be correct, and only a few may be missing. With noise, the structure of at most one
 * GPU in a hundred may be wrong, and no wrong figure may have a high confidence.
 *
 *   test_closure [noisy] published         the descriptions that come with fathom
 *   test_closure [noisy] FIRST LAST        random descriptions, by their seeds
 */
#include "check.h"
#include "closure/random_gpu.h"
#include "discover/discover.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The figures to compare if the truth has them. Figures with a tolerance of 0 are the structure of
 * the GPU. The tolerance of the others is in cycles. */
static const struct figure {
    const char *element, *attribute;
    double tolerance;
    bool may_be_missing; /* need not be found */
} figures[] = {
    {"l1", "size_bytes", 0, false},
    {"l1", "default_size_bytes", 0, false},
    {"l1", "line_bytes", 0, false},
    {"l1", "sector_bytes", 0, false},
    {"l1", "latency_cycles", 0.05, false},
    {"l1", "per_sm", 0, false},
    {"texture", "size_bytes", 0, false},
    {"texture", "line_bytes", 0, false},
    {"texture", "sector_bytes", 0, false},
    {"texture", "latency_cycles", 0.05, false},
    {"texture", "per_sm", 0, false},
    {"readonly", "size_bytes", 0, false},
    {"readonly", "line_bytes", 0, false},
    {"readonly", "sector_bytes", 0, false},
    {"readonly", "latency_cycles", 0.05, false},
    {"readonly", "per_sm", 0, false},
    {"constant_l1", "size_bytes", 0, false},
    {"constant_l1", "line_bytes", 0, false},
    {"constant_l1", "latency_cycles", 0.05, false},
    {"constant_l1", "per_sm", 0, false},
    {"constant_l15", "size_bytes", 0, false},
    {"constant_l15", "line_bytes", 0, false},
    {"constant_l15", "latency_cycles", 0.05, false},
    {"instruction_l0", "size_bytes", 0, true}, /* a single cache is called L1 */
    {"instruction_l1", "size_bytes", 0, false},
    {"instruction_l15", "size_bytes", 0, false},
    {"instruction_l0", "cycles_per_instruction", 0.05, true},
    {"instruction_l1", "cycles_per_instruction", 0.05, false},
    {"instruction_l15", "cycles_per_instruction", 0.05, false},
    {"shared", "latency_cycles", 0.05, false},
    {"cluster_shared", "latency_cycles", 0.05, false},
    {"cluster_shared", "far_latency_cycles", 0.05, false},
    {"l2", "latency_cycles", 0.05, false},
    {"l2", "partitions", 0, false},
    {"l2", "far_latency_cycles", 0.5, false}, /* from single loads: whole cycles */
    {"l2", "fill_bytes", 0, false},
    {"memory", "latency_cycles", 0.5, false},
    {"memory", "far_latency_cycles", 0.5, false},
    {"tlb_l1", "reach_bytes", 0, false},
    {"tlb_l1", "page_bytes", 0, false},
    {"tlb_l1", "entries", 0, false},
    {"tlb_l1", "miss_penalty_cycles", 0.6, false},
    {"tlb_l2", "reach_bytes", 0, true}, /* can exceed the size of memory */
    {"tlb_l2", "page_bytes", 0, true},
    {"tlb_l2", "entries", 0, true},
    {"tlb_l2", "miss_penalty_cycles", 0.6, true},
};
/* Elements whose "shared_with" is compared. */
static const char *const sharing[] = {"l1", "texture", "readonly", "constant_l15"};

/* The tolerance of latencies with noise: this many cycles, or this fraction if that is more. */
static const double noisy_cycles = 1, noisy_fraction = 0.01;
/* The maximum confidence of a wrong figure. */
static const double max_wrong_confidence = 0.95;

/* The result of one comparison. */
struct outcome {
    bool noisy;
    struct fth_buffer differences; /* descriptions of all differences */
    bool wrong_structure;          /* a figure of the structure is wrong */
    bool confidently_wrong;        /* a wrong figure has a high confidence */
};

FTH_PRINTF(2, 3)
static void add_difference(struct outcome *outcome, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_buffer_format(&outcome->differences, " %s;", text);
}

/* Records that the figure `measured` is wrong; NULL if it was not found. */
static void record_error(struct outcome *outcome, bool wrong_structure,
                         const struct fth_attribute *measured)
{
    outcome->wrong_structure = outcome->wrong_structure || wrong_structure;
    /* A figure without a confidence (NAN) counts as certain. */
    outcome->confidently_wrong =
        outcome->confidently_wrong || (measured && !(measured->confidence <= max_wrong_confidence));
}

static bool list_contains(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* A constant L1.5 of at least 64 KiB, the size of a constant bank, can only be measured if it also
 * holds code. */
static bool is_not_measurable(const struct fth_gpu *truth, const struct figure *figure)
{
    return strcmp(figure->element, "constant_l15") == 0 &&
           strcmp(figure->attribute, "size_bytes") == 0 &&
           fth_gpu_number(truth, "constant_l15", "size_bytes", 0) >= 65536 &&
           !fth_gpu_attribute(truth, "constant_l15", "shared_with");
}

static void compare_figure(const struct fth_gpu *truth, const struct fth_gpu *found,
                           const struct figure *figure, struct outcome *outcome)
{
    const struct fth_attribute *expected =
        fth_gpu_attribute(truth, figure->element, figure->attribute);
    const struct fth_attribute *measured =
        fth_gpu_attribute(found, figure->element, figure->attribute);
    if (!expected || (!measured && figure->may_be_missing))
        return;
    double tolerance = figure->tolerance;
    /* Single loads are measured in whole cycles. */
    if (tolerance > 0 && measured && measured->method &&
        strncmp(measured->method, "single loads", 12) == 0)
        tolerance = fmax(tolerance, 0.5);
    if (outcome->noisy && tolerance > 0)
        tolerance = fmax(noisy_cycles, noisy_fraction * expected->number);
    if (is_not_measurable(truth, figure)
            ? !measured
            : measured && fabs(measured->number - expected->number) <= tolerance + 1e-9)
        return;
    const char *unknown = fth_gpu_unknown(found, figure->element, figure->attribute);
    char text[200];
    if (measured)
        snprintf(text, sizeof text, "found %g (confidence %g)", measured->number,
                 measured->confidence);
    else
        snprintf(text, sizeof text, "not found: %s", unknown ? unknown : "no reason");
    add_difference(outcome, "%s.%s is %g, %s", figure->element, figure->attribute, expected->number,
                   text);
    record_error(outcome, figure->tolerance == 0, measured);
}

/* Both must list the same of the elements in `sharing`. */
static void compare_sharing(const struct fth_gpu *truth, const struct fth_gpu *found,
                            const char *element, struct outcome *outcome)
{
    const struct fth_attribute *expected = fth_gpu_attribute(truth, element, "shared_with");
    const struct fth_attribute *measured = fth_gpu_attribute(found, element, "shared_with");
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (list_contains(expected, sharing[i]) != list_contains(measured, sharing[i])) {
            add_difference(outcome, "%s shared with %s: %s", element, sharing[i],
                           list_contains(expected, sharing[i]) ? "not found" : "found, but wrong");
            record_error(outcome, true, measured);
        }
}

/* Timing whole passes and timing single loads must give the same latencies on a simulated GPU. The
 * note of a latency reports a difference. */
static void compare_timing_methods(const struct fth_gpu *found, struct outcome *outcome)
{
    static const char *const elements[] = {"l1", "texture", "readonly", "constant_l1", "shared"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++) {
        const struct fth_attribute *cycles =
            fth_gpu_attribute(found, elements[i], "latency_cycles");
        if (cycles && cycles->note && strstr(cycles->note, "load by load"))
            add_difference(outcome, "%s: %s", elements[i], cycles->note);
    }
}

static unsigned count_instruction_caches(const struct fth_gpu *gpu)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    unsigned count = 0;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        count += fth_gpu_attribute_count(gpu, names[i]) > 0;
    return count;
}

/* Finds elements that were found although the truth does not have them. */
static void find_nonexistent(const struct fth_gpu *truth, const struct fth_gpu *found,
                             struct outcome *outcome)
{
    static const char *const elements[] = {"texture", "readonly", "constant_l1",    "constant_l15",
                                           "tlb_l1",  "tlb_l2",   "cluster_shared", "tlb_l3"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        if (fth_gpu_attribute_count(found, elements[i]) &&
            !fth_gpu_attribute_count(truth, elements[i])) {
            const bool tlb = strncmp(elements[i], "tlb", 3) == 0;
            add_difference(outcome, "%s does not exist", elements[i]);
            record_error(outcome, true,
                         fth_gpu_attribute(found, elements[i], tlb ? "reach_bytes" : "size_bytes"));
        }
    /* Two instruction caches may have any two of the three names. */
    if (count_instruction_caches(found) > count_instruction_caches(truth)) {
        add_difference(outcome, "%u instruction caches, not %u", count_instruction_caches(found),
                       count_instruction_caches(truth));
        record_error(outcome, true, NULL);
    }
    if (fth_gpu_attribute(found, "l1", "default_size_bytes") &&
        !fth_gpu_attribute(truth, "l1", "default_size_bytes") &&
        !fth_gpu_attribute(truth, "l1", "unified_bytes")) {
        add_difference(outcome, "the L1 does not shrink with the carve-out");
        record_error(outcome, true, fth_gpu_attribute(found, "l1", "default_size_bytes"));
    }
}

/* Returns whether the L1 caches global loads. */
static bool caches_global(const struct fth_gpu *gpu)
{
    const struct fth_attribute *caches = fth_gpu_attribute(gpu, "l1", "caches");
    bool global = !caches && fth_gpu_attribute(gpu, "l1", "size_bytes");
    for (size_t i = 0; caches && i < caches->count; i++)
        global = global || strcmp(caches->texts[i], "global") == 0;
    return global;
}

static void compare(const struct fth_gpu *truth, const struct fth_gpu *found,
                    struct outcome *outcome)
{
    const bool global = caches_global(truth);
    const struct fth_attribute *l1 = fth_gpu_attribute(found, "l1", "size_bytes");
    if (!global && l1) {
        add_difference(outcome, "an L1 was found, but global loads are not cached");
        record_error(outcome, true, l1);
    }
    for (size_t i = 0; i < FTH_COUNT(figures); i++)
        if (global || strcmp(figures[i].element, "l1") != 0)
            compare_figure(truth, found, &figures[i], outcome);
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (global || strcmp(sharing[i], "l1") != 0)
            compare_sharing(truth, found, sharing[i], outcome);
    find_nonexistent(truth, found, outcome);
    compare_timing_methods(found, outcome);
}

/* Number of comparisons, and of those with each kind of error. */
struct tally {
    unsigned all, wrong, wrong_structure, confidently_wrong;
};

/* Writes a description to the file `path`, measures the simulated GPU that it describes, and
 * compares the result with the description. */
static void check_closure(const char *path, const char *name, const struct fth_gpu *truth,
                          struct outcome outcome, struct tally *tally)
{
    char id[300], *written = NULL;
    size_t size = 0;
    struct fth_device *device = NULL;
    struct fth_gpu *found = NULL, *again = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS();
    assert_int_equal(fth_gpu_write_text(truth, &written, &size, NULL), FTH_OK);
    if (fth_gpu_read_text(name, written, size, NULL, &again, &error) != FTH_OK)
        fail_msg("%s: %s", name, error.cause);
    assert_int_equal(fth_file_write(path, written, size, NULL), FTH_OK);
    snprintf(id, sizeof id, "sim:%s", path);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK ||
        fth_discover(device, &options, &found, &error) != FTH_OK) {
        add_difference(&outcome, "%s", error.cause);
        outcome.wrong_structure = true;
    } else {
        compare(truth, found, &outcome);
    }
    if (outcome.differences.size)
        print_message("# %s:%s%s\n", name, outcome.differences.data,
                      outcome.confidently_wrong ? " HIGH CONFIDENCE" : "");
    tally->all++;
    tally->wrong += outcome.differences.size > 0;
    tally->wrong_structure += outcome.wrong_structure;
    tally->confidently_wrong += outcome.confidently_wrong;
    fth_buffer_fini(&outcome.differences);
    fth_gpu_destroy(found);
    fth_gpu_destroy(again);
    fth_free(written);
    fth_device_close(device);
}

static bool noisy;
static uint64_t first_seed, last_seed;

static void check_tally(const struct tally *tally)
{
    print_message("# %u GPUs: %u wrong, %u in structure, %u with high confidence\n", tally->all,
                  tally->wrong, tally->wrong_structure, tally->confidently_wrong);
    if (!noisy)
        assert_int_equal(tally->wrong, 0);
    assert_int_equal(tally->confidently_wrong, 0);
    assert_true(tally->wrong_structure <= tally->all / 100);
}

static int create_file(char *path)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    return close(file);
}

static void published_gpus_are_found_as_described(void **state)
{
    (void)state;
    const char *folder = FTH_SOURCE_ROOT "/data/gpus";
    char copy[] = "/tmp/fathom-closure-XXXXXX";
    struct dirent *entry;
    struct tally tally = {0};
    DIR *files = opendir(folder);
    assert_non_null(files);
    assert_int_equal(create_file(copy), 0);
    while ((entry = readdir(files))) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        char path[512];
        struct fth_gpu *truth = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(fth_gpu_read_file(path, NULL, &truth, NULL), FTH_OK);
        if (noisy)
            make_noisy(truth, tally.all + 1);
        check_closure(copy, entry->d_name, truth, (struct outcome){.noisy = noisy}, &tally);
        fth_gpu_destroy(truth);
    }
    closedir(files);
    unlink(copy);
    assert_true(tally.all >= 14);
    check_tally(&tally);
}

static void random_gpus_are_found_as_described(void **state)
{
    (void)state;
    char path[] = "/tmp/fathom-closure-XXXXXX";
    struct tally tally = {0};
    assert_int_equal(create_file(path), 0);
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        struct fth_gpu *truth = random_gpu(seed);
        char name[32];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        if (noisy)
            make_noisy(truth, seed);
        check_closure(path, name, truth, (struct outcome){.noisy = noisy}, &tally);
        fth_gpu_destroy(truth);
    }
    unlink(path);
    check_tally(&tally);
}

int main(int count, char *words[])
{
    if (count > 1 && strcmp(words[1], "noisy") == 0) {
        noisy = true;
        count--;
        words++;
    }
    const struct CMUnitTest first[] = {cmocka_unit_test(published_gpus_are_found_as_described)};
    const struct CMUnitTest second[] = {cmocka_unit_test(random_gpus_are_found_as_described)};
    if (count == 2)
        return cmocka_run_group_tests(first, NULL, NULL);
    if (count != 3)
        return 2;
    first_seed = strtoull(words[1], NULL, 10);
    last_seed = strtoull(words[2], NULL, 10);
    return cmocka_run_group_tests(second, NULL, NULL);
}
