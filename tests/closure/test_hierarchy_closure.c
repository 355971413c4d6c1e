/* Closure tests of devices of other vendors than NVIDIA: fth_discover() must find on a simulated
 * device what its random description (hierarchy_gpu.h) says.
 *
 *   test_hierarchy_closure [noisy] [jobs=N] FIRST LAST     random descriptions, by their seeds
 *   test_hierarchy_closure [noisy] [jobs=N] seeds SEED...  the same
 *   test_hierarchy_closure [noisy] [jobs=N] published      those of fathom for other vendors
 *   test_hierarchy_closure [noisy] print SEED              print a description
 *
 * Every figure is right and has a confidence, or is unknown with a reason. Without noise, none is
 * wrong, and sizes, lines and latencies of devices with regular caches are known. With noise, a
 * wrong figure must have a low confidence. N processes share the work. */
#include "check.h"
#include "closure/closure_records.h"
#include "closure/hierarchy_gpu.h"
#include "described_device.h"
#include "discover/discover.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A wrong figure must have a lower confidence than this. */
static const double max_wrong_confidence = 0.95;
/* A latency is right if it differs by at most this many cycles or this fraction. */
static const double close_cycles = 1, close_fraction = 0.01;

static const char *const elements[] = {
    "vector_l1",      "l1",  "l2",     "l3",    "scalar_l1", "constant_l1",
    "instruction_l1", "lds", "shared", "memory"};
static const char sharing[] = "sms_per_instance";
static const char *const attributes[] = {"size_bytes", "line_bytes", "latency_cycles",
                                         "ways",       "sets",       sharing};

enum verdict { RIGHT, UNKNOWN, NOT_REQUIRED, UNEXPLAINED, DOUBTED, WRONG, NONEXISTENT, VERDICTS };
static const char *const words[VERDICTS] = {"right",   "unknown", "unknown",    "no reason",
                                            "doubted", "WRONG",   "NONEXISTENT"};

enum { MAX_JOBS = 64, MAX_PUBLISHED = 16, PATH_BYTES = 512 };
static struct {
    bool noisy, published;
    char paths[MAX_PUBLISHED][PATH_BYTES]; /* [count] of descriptions that come with fathom */
    unsigned jobs;
    const char *records; /* file that the records are appended to; NULL: none */
    uint64_t first;
    size_t count;
    char *const *seeds; /* [count]; NULL: count up from `first` */
} work;

struct results {
    unsigned devices, failed;
    unsigned counts[FTH_COUNT(elements)][FTH_COUNT(attributes)][VERDICTS];
};
struct shared {
    atomic_size_t next; /* index of the next device to measure */
    struct results results[MAX_JOBS];
};

/* ---- one device ---- */

/* Returns why a figure is unknown: its own reason, that of the size, on which others depend, or, if
 * nothing was found of the element, that of the first cache, on which all depend. */
static const char *reason_of(const struct fth_gpu *found, const char *element,
                             const char *attribute)
{
    const char *reason = fth_gpu_unknown(found, element, attribute);
    if (!reason && strcmp(attribute, "sets") == 0) /* they follow from the ways */
        reason = fth_gpu_unknown(found, element, "ways");
    if (!reason)
        reason = fth_gpu_unknown(found, element, "size_bytes");
    if (!reason && !fth_gpu_attribute(found, element, "latency_cycles"))
        reason = fth_gpu_unknown(
            found, fth_gpu_find_section(found, "vector_l1") ? "vector_l1" : "l1", "size_bytes");
    return reason;
}

/* What the driver reports is not measured. */
static bool is_measured(const struct fth_attribute *attribute)
{
    return attribute && attribute->source != FTH_SOURCE_DRIVER;
}

/* Whether the sharing of a cache must be known: of caches of constants, and of the first cache if
 * the one behind it is at least eight times as large, and if there are several units. Otherwise the
 * next level, of which the curve shows a part, may be too small for the test. */
static bool requires_sharing(const struct fth_gpu *truth, const char *element)
{
    const bool is_vector = strcmp(element, "vector_l1") == 0, is_l1 = strcmp(element, "l1") == 0;
    const double l2 = fth_gpu_number(truth, "l2", "size_bytes", NAN),
                 next = is_vector ? fth_gpu_number(truth, "l1", "size_bytes", l2) : l2;
    if (fth_gpu_number(truth, "device", "sms", 0) < 2 || strcmp(element, "l2") == 0 ||
        strcmp(element, "l3") == 0 || strcmp(element, "instruction_l1") == 0)
        return false;
    return (!is_vector && !is_l1) || next >= 8 * fth_gpu_number(truth, element, "size_bytes", NAN);
}

/* Whether a cache has more lines than those of which fathom searches the size on a simulated
 * device. The chains have the distance of its lines. */
static bool is_too_large(const struct fth_gpu *truth, const char *element)
{
    return fth_gpu_number(truth, element, "size_bytes", 0) /
               fth_gpu_number(truth, element, "line_bytes", 1) >
           8192;
}

/* Whether a figure must be known: sizes, lines and latencies of a device with regular caches. Not
 * the line of an L3, which fathom only measures up to some size, because that takes long, and not
 * the size of shared memory, of which a work-group may have only a part. */
static bool is_required(const struct fth_gpu *truth, const char *element, const char *attribute)
{
    if (attribute == sharing && !requires_sharing(truth, element))
        return false;
    if (strcmp(element, "instruction_l1") == 0 && strcmp(attribute, "size_bytes") != 0)
        return false;
    return hierarchy_is_regular(truth) && !work.noisy && !work.published &&
           strcmp(attribute, "ways") != 0 && strcmp(attribute, "sets") != 0 &&
           (strcmp(attribute, "line_bytes") != 0 || strcmp(element, "l3") != 0) &&
           (strcmp(attribute, "size_bytes") != 0 ||
            (strcmp(element, "lds") != 0 && strcmp(element, "shared") != 0 &&
             !is_too_large(truth, element)));
}

/* Whether fathom tests which units share the element: caches of CPUs, and of GPUs the first cache
 * and that of constants. */
static bool tests_sharing(const struct fth_gpu *truth, const char *element)
{
    const char *kind = fth_gpu_text(truth, "device", "kind");
    const bool has_vector_l1 = fth_gpu_find_section(truth, "vector_l1") != NULL;
    if (kind && strcmp(kind, "cpu") == 0)
        return strcmp(element, "l1") == 0 || strcmp(element, "l2") == 0 ||
               strcmp(element, "l3") == 0;
    return strcmp(element, "vector_l1") == 0 || strcmp(element, "scalar_l1") == 0 ||
           strcmp(element, "constant_l1") == 0 || (strcmp(element, "l1") == 0 && !has_vector_l1);
}

/* Returns what a figure should be; NAN: it must not be measured. The units that share a cache
 * follow from its scope. */
static double expectation(const struct fth_gpu *truth, const char *element, const char *attribute)
{
    const double number = fth_gpu_number(truth, element, attribute, NAN);
    const double sms = fth_gpu_number(truth, "device", "sms", NAN);
    const char *scope = fth_gpu_text(truth, element, "scope");
    if (attribute != sharing)
        return number;
    if (!tests_sharing(truth, element) || !scope)
        return NAN;
    if (strcmp(scope, "group") == 0)
        return fmin(number, sms);
    return strcmp(scope, "sm") == 0 ? 1 : sms;
}

/* Whether a figure may be wrong, or may be of a cache that does not exist. */
static bool is_doubted(const struct fth_attribute *measured)
{
    return measured->confidence < max_wrong_confidence;
}

static enum verdict judge(const struct fth_gpu *truth, const struct fth_gpu *found,
                          const char *element, size_t index)
{
    const double expected = expectation(truth, element, attributes[index]);
    const struct fth_attribute *measured = fth_gpu_attribute(found, element, attributes[index]);
    const bool latency = strcmp(attributes[index], "latency_cycles") == 0;
    if (!measured) {
        if (!reason_of(found, element, attributes[index]))
            return UNEXPLAINED;
        return is_required(truth, element, attributes[index]) ? UNKNOWN : NOT_REQUIRED;
    }
    if (is_measured(measured) && isnan(measured->confidence))
        return UNEXPLAINED;
    const double error = fabs(measured->number - expected);
    if (error <= (latency ? fmax(close_cycles, close_fraction * expected) : 0))
        return RIGHT;
    return is_doubted(measured) ? DOUBTED : WRONG;
}

/* Appends a figure that was found to the records: the same row as closure_compare.c. */
static void record(const struct fth_gpu *truth, const char *element, const char *attribute,
                   enum verdict verdict, const struct fth_attribute *measured,
                   struct fth_buffer *records)
{
    double agree = NAN, repeats = NAN;
    const char *method = measured->method ? measured->method : "";
    /* The repeats follow the last semicolon of the method (discover/note.c). */
    const char *last = strrchr(method, ';');
    char *end = NULL;
    if (last) {
        agree = strtod(last + 1, &end);
        repeats = strncmp(end, " of ", 4) == 0 ? strtod(end + 4, &end) : NAN;
    }
    if (!end || strncmp(end, " repeats agree", 14) != 0)
        agree = repeats = NAN;
    fth_buffer_format(
        records, "%s,%s.%s,%s,%d,%g,%g,%g,%d,%d,0\n", fth_gpu_text(truth, "device", "name"),
        element, attribute, strcmp(attribute, "latency_cycles") == 0 ? "time" : "structure",
        verdict == RIGHT, measured->confidence, repeats, agree,
        strstr(method, " agree, but ") != NULL, strstr(method, "interrupted requests") != NULL);
}

/* Compares the figures of an element. */
static void compare_element(const struct fth_gpu *truth, const struct fth_gpu *found,
                            size_t element, struct results *results, struct fth_buffer *records)
{
    const char *name = elements[element];
    for (size_t i = 0; i < FTH_COUNT(attributes); i++) {
        const double expected = expectation(truth, name, attributes[i]);
        const struct fth_attribute *measured = fth_gpu_attribute(found, name, attributes[i]);
        if (isnan(expected) && !is_measured(measured))
            continue;
        const enum verdict verdict = !isnan(expected)       ? judge(truth, found, name, i)
                                     : is_doubted(measured) ? DOUBTED
                                                            : NONEXISTENT;
        const char *reason = reason_of(found, name, attributes[i]);
        results->counts[element][i][verdict]++;
        if (is_measured(measured))
            record(truth, name, attributes[i], verdict, measured, records);
        if (verdict != RIGHT)
            printf("# %s: %s: %s.%s: is %g, found %g (confidence %g) %s\n",
                   fth_gpu_text(truth, "device", "name"), words[verdict], name, attributes[i],
                   expected, measured ? measured->number : NAN,
                   measured ? measured->confidence : NAN, !measured && reason ? reason : "");
    }
}

/* Measures a device and compares it with its description. */
static void check_device(struct fth_gpu *truth, uint64_t seed, struct results *results)
{
    struct fth_gpu *found = NULL;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_buffer records = {0};
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS();
    if (work.noisy)
        make_hierarchy_noisy(truth, seed);
    struct fth_device *device = open_described(truth);
    const enum fth_status status = fth_discover(device, &options, &found, &error);
    results->devices++;
    if (status != FTH_OK) {
        results->failed++;
        printf("# %s: %s: %s\n", fth_gpu_text(truth, "device", "name"), error.operation,
               error.cause);
    }
    for (size_t i = 0; status == FTH_OK && i < FTH_COUNT(elements); i++)
        compare_element(truth, found, i, results, &records);
    if (work.records && records.size)
        append_records(work.records, &records);
    fth_buffer_fini(&records);
    fth_device_close(device);
    fth_gpu_destroy(found);
}

/* ---- all devices ---- */

/* Measures devices until none is left. */
static void work_off(struct shared *shared, unsigned job)
{
    for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < work.count;) {
        const uint64_t seed = work.seeds ? strtoull(work.seeds[i], NULL, 10) : work.first + i;
        struct fth_gpu *truth = NULL;
        if (work.published)
            assert_int_equal(fth_gpu_read_file(work.paths[i], NULL, &truth, NULL), FTH_OK);
        else
            truth = hierarchy_gpu(seed);
        check_device(truth, seed, &shared->results[job]);
        fth_gpu_destroy(truth);
        fflush(NULL);
    }
}

static void measure_all(struct shared *shared)
{
    pid_t children[MAX_JOBS];
    if (work.jobs <= 1) {
        work_off(shared, 0);
        return;
    }
    fflush(NULL);
    for (unsigned i = 0; i < work.jobs; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            work_off(shared, i);
            fflush(NULL);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < work.jobs; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

/* Adds the counts of all processes to those of the first one. */
static void sum_up(struct shared *shared)
{
    struct results *sum = &shared->results[0];
    for (size_t k = 1; k < MAX_JOBS; k++) {
        const struct results *each = &shared->results[k];
        sum->devices += each->devices;
        sum->failed += each->failed;
        for (size_t i = 0; i < FTH_COUNT(elements); i++)
            for (size_t j = 0; j < FTH_COUNT(attributes); j++)
                for (size_t v = 0; v < VERDICTS; v++)
                    sum->counts[i][j][v] += each->counts[i][j][v];
    }
}

/* Prints the verdicts by figure, and adds them up. */
static void print_table(const struct results *results, unsigned total[VERDICTS])
{
    print_message("# %-28s %7s %9s %9s %9s %7s %7s %7s\n", "figure", "right", "unknown*", "unknown",
                  "no reason", "doubted", "WRONG", "NONE");
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        for (size_t j = 0; j < FTH_COUNT(attributes); j++) {
            const unsigned *counts = results->counts[i][j];
            char name[64];
            unsigned sum = 0;
            for (size_t v = 0; v < VERDICTS; v++) {
                total[v] += counts[v];
                sum += counts[v];
            }
            snprintf(name, sizeof name, "%s.%s", elements[i], attributes[j]);
            if (sum)
                print_message("# %-28s %7u %9u %9u %9u %7u %7u %7u\n", name, counts[RIGHT],
                              counts[UNKNOWN], counts[NOT_REQUIRED], counts[UNEXPLAINED],
                              counts[DOUBTED], counts[WRONG], counts[NONEXISTENT]);
        }
    print_message("# %u devices, %u failed; unknown*: of regular caches, without noise\n",
                  results->devices, results->failed);
}

static void devices_are_found_as_described(void **state)
{
    (void)state;
    unsigned total[VERDICTS] = {0};
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    measure_all(shared);
    sum_up(shared);
    const struct results *results = &shared->results[0];
    print_table(results, total);
    assert_int_equal(results->devices, work.count);
    assert_int_equal(results->failed, 0);
    assert_true(total[RIGHT] > 0);
    assert_int_equal(total[WRONG], 0);
    assert_int_equal(total[NONEXISTENT], 0);
    assert_int_equal(total[UNEXPLAINED], 0);
    assert_int_equal(total[UNKNOWN], 0);
    /* Latencies of an L3 have a confidence of at most 0.8. */
    if (!work.noisy)
        assert_true(total[DOUBTED] <= (total[RIGHT] + 199) / 200);
    munmap(shared, sizeof *shared);
}

/* ---- command line ---- */

static int print_description(uint64_t seed)
{
    struct fth_gpu *gpu = hierarchy_gpu(seed);
    char *text = NULL;
    size_t size = 0;
    if (work.noisy)
        make_hierarchy_noisy(gpu, seed);
    const enum fth_status status = fth_gpu_write_text(gpu, &text, &size, NULL);
    if (status == FTH_OK)
        fwrite(text, 1, size, stdout);
    fth_free(text);
    fth_gpu_destroy(gpu);
    return status == FTH_OK ? 0 : 1;
}

/* Finds the descriptions that come with fathom and are not of NVIDIA's GPUs. */
static void find_published(void)
{
    const char *folder = FTH_SOURCE_ROOT "/data/gpus";
    struct dirent *entry;
    DIR *files = opendir(folder);
    while (files && (entry = readdir(files)) && work.count < MAX_PUBLISHED) {
        struct fth_gpu *gpu = NULL;
        char *path = work.paths[work.count];
        snprintf(path, PATH_BYTES, "%s/%s", folder, entry->d_name);
        if (!strstr(path, ".json") || fth_gpu_read_file(path, NULL, &gpu, NULL) != FTH_OK)
            continue;
        const char *vendor = fth_gpu_text(gpu, "device", "vendor");
        work.count += vendor && strcmp(vendor, "NVIDIA") != 0;
        fth_gpu_destroy(gpu);
    }
    if (files)
        closedir(files);
    work.published = true;
}

int main(int count, char *words_given[])
{
    char **argument = words_given + 1;
    int left = count - 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_are_found_as_described)};
    work.noisy = left && strcmp(*argument, "noisy") == 0;
    argument += work.noisy;
    left -= work.noisy;
    if (left && strncmp(*argument, "jobs=", 5) == 0) {
        work.jobs = (unsigned)strtoul(*argument + 5, NULL, 10);
        argument++;
        left--;
    }
    if (left && strncmp(*argument, "records=", 8) == 0) {
        work.records = *argument + 8;
        argument++;
        left--;
    }
    if (left == 2 && strcmp(argument[0], "print") == 0)
        return print_description(strtoull(argument[1], NULL, 10));
    if (left == 1 && strcmp(argument[0], "published") == 0)
        find_published();
    if (left > 1 && strcmp(argument[0], "seeds") == 0) {
        work.seeds = argument + 1;
        work.count = (size_t)left - 1;
    } else if (left == 2) {
        work.first = strtoull(argument[0], NULL, 10);
        work.count = (size_t)(strtoull(argument[1], NULL, 10) - work.first + 1);
    }
    if (work.count == 0 || work.count > 1000000 || work.jobs > MAX_JOBS) {
        fprintf(
            stderr,
            "usage: %s [noisy] [jobs=N] [records=FILE] {FIRST LAST | seeds SEED... | published | "
            "print SEED}\n",
            words_given[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
