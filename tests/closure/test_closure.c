/* The loop closes: what is discovered on a simulated GPU is what it was made from. For every
 * description that comes with fathom and for random ones; and in noise, where the structure must
 * still be found in all but one of a hundred, and nothing wrong may be said with confidence.
 *
 *   test_closure [noisy] published         those that come with fathom
 *   test_closure [noisy] FIRST LAST        random ones, by their seeds
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
 * Those without a tolerance are structure. */
static const struct figure {
    const char *element, *attribute;
    double tolerance;
    bool may_be_missing;
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
    {"instruction_l0", "size_bytes", 0, true}, /* one cache alone is taken for the L1 */
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
    {"l2", "far_latency_cycles", 0.5, false}, /* single loads are as fine as the clock */
    {"l2", "fill_bytes", 0, false},
    {"memory", "latency_cycles", 0.5, false},
    {"memory", "far_latency_cycles", 0.5, false},
    {"tlb_l1", "reach_bytes", 0, false},
    {"tlb_l1", "page_bytes", 0, false},
    {"tlb_l1", "entries", 0, false},
    {"tlb_l1", "miss_penalty_cycles", 0.6, false},
    {"tlb_l2", "reach_bytes", 0, true}, /* may be beyond the memory that there is */
    {"tlb_l2", "page_bytes", 0, true},
    {"tlb_l2", "entries", 0, true},
    {"tlb_l2", "miss_penalty_cycles", 0.6, true},
};
static const char *const sharing[] = {"l1", "texture", "readonly", "constant_l15"};

/* What is compared in noise: latencies to this many cycles or that part, whichever is more. */
static const double noisy_cycles = 1, noisy_part = 0.01;
/* What is wrong must not be told with more confidence. */
static const double confident = 0.95;

/* What one loop came to. */
struct outcome {
    bool noisy;
    struct fth_buffer why; /* what differs */
    bool structure;        /* something of it differs */
    bool brazen;           /* something wrong was told with confidence */
};

FTH_PRINTF(2, 3)
static void complain(struct outcome *outcome, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_buffer_format(&outcome->why, " %s;", text);
}

/* Whether what was found goes for the truth: where it had a confidence, none is brazen. */
static void judge(struct outcome *outcome, bool structure, const struct fth_attribute *seen)
{
    outcome->structure = outcome->structure || structure;
    /* A figure without a confidence is told as it is. */
    outcome->brazen = outcome->brazen || (seen && !(seen->confidence <= confident));
}

static bool lists(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* L1.5 past the constant bank shows only where code lies in it, too. */
static bool is_hidden(const struct fth_gpu *truth, const struct figure *figure)
{
    return strcmp(figure->element, "constant_l15") == 0 &&
           strcmp(figure->attribute, "size_bytes") == 0 &&
           fth_gpu_number(truth, "constant_l15", "size_bytes", 0) >= 65536 &&
           !fth_gpu_attribute(truth, "constant_l15", "shared_with");
}

static void compare_figure(const struct fth_gpu *truth, const struct fth_gpu *found,
                           const struct figure *figure, struct outcome *outcome)
{
    const struct fth_attribute *is = fth_gpu_attribute(truth, figure->element, figure->attribute);
    const struct fth_attribute *seen = fth_gpu_attribute(found, figure->element, figure->attribute);
    if (!is || (!seen && figure->may_be_missing))
        return;
    double tolerance = figure->tolerance;
    /* Single loads are as fine as the clock. */
    if (tolerance > 0 && seen && seen->method && strncmp(seen->method, "single loads", 12) == 0)
        tolerance = fmax(tolerance, 0.5);
    if (outcome->noisy && tolerance > 0)
        tolerance = fmax(noisy_cycles, noisy_part * is->number);
    if (is_hidden(truth, figure) ? !seen
                                 : seen && fabs(seen->number - is->number) <= tolerance + 1e-9)
        return;
    const char *unknown = fth_gpu_unknown(found, figure->element, figure->attribute);
    char text[200];
    if (seen)
        snprintf(text, sizeof text, "found %g (%g)", seen->number, seen->confidence);
    else
        snprintf(text, sizeof text, "not found: %s", unknown ? unknown : "no reason");
    complain(outcome, "%s.%s is %g, %s", figure->element, figure->attribute, is->number, text);
    judge(outcome, figure->tolerance == 0, seen);
}

/* Both must name the same others, of those that are compared. */
static void compare_sharing(const struct fth_gpu *truth, const struct fth_gpu *found,
                            const char *element, struct outcome *outcome)
{
    const struct fth_attribute *is = fth_gpu_attribute(truth, element, "shared_with");
    const struct fth_attribute *seen = fth_gpu_attribute(found, element, "shared_with");
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (lists(is, sharing[i]) != lists(seen, sharing[i])) {
            complain(outcome, "%s shared with %s: %s", element, sharing[i],
                     lists(is, sharing[i]) ? "not found" : "found, and is not");
            judge(outcome, true, seen);
        }
}

/* Whole passes and single loads of a simulated GPU agree to a cycle. */
static void compare_ways(const struct fth_gpu *found, struct outcome *outcome)
{
    static const char *const elements[] = {"l1", "texture", "readonly", "constant_l1", "shared"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++) {
        const struct fth_attribute *cycles =
            fth_gpu_attribute(found, elements[i], "latency_cycles");
        if (cycles && cycles->note && strstr(cycles->note, "load by load"))
            complain(outcome, "%s: %s", elements[i], cycles->note);
    }
}

static unsigned count_code(const struct fth_gpu *gpu)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    unsigned count = 0;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        count += fth_gpu_attribute_count(gpu, names[i]) > 0;
    return count;
}

/* What was found and is not there at all. */
static void find_inventions(const struct fth_gpu *truth, const struct fth_gpu *found,
                            struct outcome *outcome)
{
    static const char *const elements[] = {"texture", "readonly", "constant_l1",    "constant_l15",
                                           "tlb_l1",  "tlb_l2",   "cluster_shared", "tlb_l3"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        if (fth_gpu_attribute_count(found, elements[i]) &&
            !fth_gpu_attribute_count(truth, elements[i])) {
            const bool tlb = strncmp(elements[i], "tlb", 3) == 0;
            complain(outcome, "there is no %s", elements[i]);
            judge(outcome, true,
                  fth_gpu_attribute(found, elements[i], tlb ? "reach_bytes" : "size_bytes"));
        }
    /* Which of three names two have is a matter of taste. */
    if (count_code(found) > count_code(truth)) {
        complain(outcome, "%u instruction caches, and not %u", count_code(found),
                 count_code(truth));
        judge(outcome, true, NULL);
    }
    if (fth_gpu_attribute(found, "l1", "default_size_bytes") &&
        !fth_gpu_attribute(truth, "l1", "default_size_bytes") &&
        !fth_gpu_attribute(truth, "l1", "unified_bytes")) {
        complain(outcome, "L1 does not shrink");
        judge(outcome, true, fth_gpu_attribute(found, "l1", "default_size_bytes"));
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

static void compare(const struct fth_gpu *truth, const struct fth_gpu *found,
                    struct outcome *outcome)
{
    const bool global = caches_global(truth);
    const struct fth_attribute *l1 = fth_gpu_attribute(found, "l1", "size_bytes");
    if (!global && l1) {
        complain(outcome, "an L1 was found that does not cache global loads");
        judge(outcome, true, l1);
    }
    for (size_t i = 0; i < FTH_COUNT(figures); i++)
        if (global || strcmp(figures[i].element, "l1") != 0)
            compare_figure(truth, found, &figures[i], outcome);
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (global || strcmp(sharing[i], "l1") != 0)
            compare_sharing(truth, found, sharing[i], outcome);
    find_inventions(truth, found, outcome);
    compare_ways(found, outcome);
}

/* How many loops there were, and what they came to. */
struct tally {
    unsigned all, wrong, structure, brazen;
};

/* Discovers the simulated GPU of a description; `path` is a file to put it in. */
static void close_loop(const char *path, const char *name, const struct fth_gpu *truth,
                       struct outcome outcome, struct tally *tally)
{
    char id[300], *written = NULL;
    size_t size = 0;
    struct fth_device *device = NULL;
    struct fth_gpu *found = NULL, *again = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_discover_options options = {0};
    assert_int_equal(fth_gpu_write_text(truth, &written, &size, NULL), FTH_OK);
    if (fth_gpu_read_text(name, written, size, NULL, &again, &error) != FTH_OK)
        fail_msg("%s: %s", name, error.cause);
    assert_int_equal(fth_file_write(path, written, size, NULL), FTH_OK);
    snprintf(id, sizeof id, "sim:%s", path);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK ||
        fth_discover(device, &options, &found, &error) != FTH_OK) {
        complain(&outcome, "%s", error.cause);
        outcome.structure = true;
    } else {
        compare(truth, found, &outcome);
    }
    if (outcome.why.size)
        print_message("# %s:%s%s\n", name, outcome.why.data, outcome.brazen ? " BRAZEN" : "");
    tally->all++;
    tally->wrong += outcome.why.size > 0;
    tally->structure += outcome.structure;
    tally->brazen += outcome.brazen;
    fth_buffer_fini(&outcome.why);
    fth_gpu_destroy(found);
    fth_gpu_destroy(again);
    fth_free(written);
    fth_device_close(device);
}

static bool noisy;
static uint64_t first_seed, last_seed;

static void check_tally(const struct tally *tally)
{
    print_message("# %u: %u wrong, %u in structure, %u with confidence\n", tally->all, tally->wrong,
                  tally->structure, tally->brazen);
    if (!noisy)
        assert_int_equal(tally->wrong, 0);
    assert_int_equal(tally->brazen, 0);
    assert_true(tally->structure <= tally->all / 100);
}

static int make_file(char *path)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    return close(file);
}

static void published(void **state)
{
    (void)state;
    const char *folder = FTH_SOURCE_ROOT "/data/gpus";
    char copy[] = "/tmp/fathom-closure-XXXXXX";
    struct dirent *entry;
    struct tally tally = {0};
    DIR *files = opendir(folder);
    assert_non_null(files);
    assert_int_equal(make_file(copy), 0);
    while ((entry = readdir(files))) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        char path[512];
        struct fth_gpu *truth = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(fth_gpu_read_file(path, NULL, &truth, NULL), FTH_OK);
        if (noisy)
            make_noisy(truth, tally.all + 1);
        close_loop(copy, entry->d_name, truth, (struct outcome){.noisy = noisy}, &tally);
        fth_gpu_destroy(truth);
    }
    closedir(files);
    unlink(copy);
    assert_true(tally.all >= 14);
    check_tally(&tally);
}

static void invented(void **state)
{
    (void)state;
    char path[] = "/tmp/fathom-closure-XXXXXX";
    struct tally tally = {0};
    assert_int_equal(make_file(path), 0);
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        struct fth_gpu *truth = random_gpu(seed);
        char name[32];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        if (noisy)
            make_noisy(truth, seed);
        close_loop(path, name, truth, (struct outcome){.noisy = noisy}, &tally);
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
    const struct CMUnitTest first[] = {cmocka_unit_test(published)};
    const struct CMUnitTest second[] = {cmocka_unit_test(invented)};
    if (count == 2)
        return cmocka_run_group_tests(first, NULL, NULL);
    if (count != 3)
        return 2;
    first_seed = strtoull(words[1], NULL, 10);
    last_seed = strtoull(words[2], NULL, 10);
    return cmocka_run_group_tests(second, NULL, NULL);
}
