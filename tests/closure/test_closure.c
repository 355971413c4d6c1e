/* Closure tests: fth_discover() must find on a simulated GPU what its description says. The truth
 * is the description: one of those that come with fathom, or a random one.
 *
 *   test_closure [noisy | disturbed] [jobs=N] published [NAME...]
 *                                                            the descriptions of fathom
 *   test_closure [noisy | disturbed] [jobs=N] FIRST LAST     random descriptions, by their seeds
 *   test_closure [noisy | disturbed] [jobs=N] seeds SEED...  the same
 *
 * With `records=FILE`, the test only appends one row of CSV for each figure to FILE
 * (closure_compare.h), for scripts/calibrate.
 *
 * A figure that differs must have a low confidence, and a figure that was not found must have a
 * reason. Without noise, all figures of the descriptions that come with fathom must be exact, and
 * nearly all of the random ones that are realistic (is_realistic). With noise, a latency may differ
 * by 1 % or 1 cycle.
 *
 * N processes share the work. The test prints one line for each figure that is not exact, and a
 * table with the number of figures by verdict. */
#include "check.h"
#include "closure/closure_compare.h"
#include "closure/closure_records.h"
#include "closure/random_gpu.h"
#include "discover/discover.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Minimum fraction of exact figures of realistic GPUs without noise, maximum fraction of wrong
 * figures with a low confidence, with noise, and maximum fraction of GPUs that are inconclusive. */
static const double min_exact = 0.97, max_doubted = 0.002, max_inconclusive = 0.002;

enum { MAX_JOBS = 64, MAX_PUBLISHED = 64, PATH_BYTES = 512 };

/* What is to be measured. */
static struct {
    bool noisy, disturbed, published;
    const char *records; /* file that the records are appended to; NULL: the test judges them */
    unsigned jobs;
    uint64_t first_seed;
    size_t count;                          /* GPUs */
    char *const *seeds;                    /* [count]; NULL: count up from first_seed */
    char paths[MAX_PUBLISHED][PATH_BYTES]; /* [count] of descriptions that come with fathom */
} work;

/* The results of one process. */
struct results {
    unsigned gpus, realistic_gpus;
    unsigned
        inconclusive_gpus; /* not realistic, and the L2 latency, which all needs, was not found */
    unsigned failed_gpus;  /* that could not be measured for another reason */
    struct verdicts all, realistic;
};

/* Memory that all processes share. */
struct shared {
    atomic_size_t next; /* index of the next GPU to measure */
    struct results results[MAX_JOBS];
};

/* ---- one GPU ---- */

/* Writes a description to the file `path` and measures the simulated GPU that it describes. */
static enum fth_status measure(const char *path, const struct fth_gpu *truth,
                               struct fth_gpu **found, struct fth_error *error)
{
    char id[PATH_BYTES + 8], *written = NULL;
    size_t size = 0;
    struct fth_gpu *again = NULL;
    struct fth_device *device = NULL;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS();
    assert_int_equal(fth_gpu_write_text(truth, &written, &size, NULL), FTH_OK);
    if (fth_gpu_read_text(path, written, size, NULL, &again, error) != FTH_OK)
        fail_msg("%s", error->cause);
    assert_int_equal(fth_file_write(path, written, size, NULL), FTH_OK);
    snprintf(id, sizeof id, "sim:%s", path);
    enum fth_status status = fth_device_open(id, NULL, &device, error);
    if (status == FTH_OK)
        status = fth_discover(device, &options, found, error);
    fth_device_close(device);
    fth_gpu_destroy(again);
    fth_free(written);
    return status;
}

static void add_verdicts(struct verdicts *sum, const struct verdicts *other)
{
    for (size_t i = 0; i < compared_count(); i++)
        for (size_t k = 0; k < VERDICTS; k++)
            sum->counts[i][k] += other->counts[i][k];
}

/* Measures a GPU and compares it with its description. `path` is the file for the description. */
static void check_gpu(const char *path, const char *name, const struct fth_gpu *truth,
                      struct results *results)
{
    struct verdicts verdicts = {0};
    struct fth_buffer lines = {0}, records = {0};
    struct fth_gpu *found = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const bool realistic = is_realistic(truth);
    const enum fth_status status = measure(path, truth, &found, &error);
    if (status == FTH_OK)
        compare_gpus(name, truth, found, &verdicts, &lines, work.records ? &records : NULL);
    else
        fth_buffer_format(&lines, "# %s: %s: %s\n", name, error.operation, error.cause);
    if (status == FTH_INCONCLUSIVE && !realistic)
        results->inconclusive_gpus++;
    else if (status != FTH_OK)
        results->failed_gpus++;
    if (lines.size) /* print_message() would shorten them */
        fputs(lines.data, stdout);
    if (records.size)
        append_records(work.records, &records);
    results->gpus++;
    results->realistic_gpus += realistic;
    add_verdicts(&results->all, &verdicts);
    if (realistic)
        add_verdicts(&results->realistic, &verdicts);
    fth_buffer_fini(&lines);
    fth_buffer_fini(&records);
    fth_gpu_destroy(found);
}

static void add_noise(struct fth_gpu *gpu, uint64_t seed)
{
    if (work.noisy)
        make_noisy(gpu, seed);
    else if (work.disturbed)
        make_disturbed(gpu, seed);
}

static void check_published(const char *path, size_t index, struct results *results)
{
    struct fth_gpu *truth = NULL;
    const char *file = work.paths[index];
    assert_int_equal(fth_gpu_read_file(file, NULL, &truth, NULL), FTH_OK);
    add_noise(truth, index + 1);
    check_gpu(path, strrchr(file, '/') + 1, truth, results);
    fth_gpu_destroy(truth);
}

static void check_random(const char *path, size_t index, struct results *results)
{
    const uint64_t seed =
        work.seeds ? strtoull(work.seeds[index], NULL, 10) : work.first_seed + index;
    struct fth_gpu *truth = random_gpu(seed);
    char name[32];
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    add_noise(truth, seed);
    check_gpu(path, name, truth, results);
    fth_gpu_destroy(truth);
}

/* ---- all GPUs ---- */

/* Measures GPUs until none is left. */
static void work_off(struct shared *shared, unsigned job)
{
    char path[] = "/tmp/fathom-closure-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < work.count;) {
        if (work.published)
            check_published(path, i, &shared->results[job]);
        else
            check_random(path, i, &shared->results[job]);
        fflush(NULL);
    }
    unlink(path);
}

/* Distributes the GPUs to the processes. */
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

static void sum_up(const struct verdicts *verdicts, unsigned total[VERDICTS])
{
    for (size_t i = 0; i < compared_count(); i++)
        for (size_t k = 0; k < VERDICTS; k++)
            total[k] += verdicts->counts[i][k];
}

static void print_row(const char *name, const unsigned counts[VERDICTS])
{
    print_message("# %-36s", name);
    for (size_t k = 0; k < VERDICTS; k++)
        print_message(" %9u", counts[k]);
    print_message("\n");
}

static void print_table(const struct results *results, const unsigned all[VERDICTS],
                        const unsigned realistic[VERDICTS])
{
    print_message("# %-36s %9s %9s %9s %9s %9s %9s\n", "figure", "exact", "close", "unknown",
                  "no reason", "doubted", "WRONG");
    for (size_t i = 0; i < compared_count(); i++) {
        char name[64];
        compared_name(i, name, sizeof name);
        print_row(name, results->all.counts[i]);
    }
    print_row("all figures", all);
    print_row("all figures of realistic GPUs", realistic);
    print_message("# %u GPUs, of which %u are realistic; %u inconclusive, %u failed\n",
                  results->gpus, results->realistic_gpus, results->inconclusive_gpus,
                  results->failed_gpus);
}

static void check_results(const struct results *results)
{
    unsigned all[VERDICTS] = {0}, realistic[VERDICTS] = {0}, sum = 0, realistic_sum = 0;
    sum_up(&results->all, all);
    sum_up(&results->realistic, realistic);
    for (size_t i = 0; i < VERDICTS; i++) {
        sum += all[i];
        realistic_sum += realistic[i];
    }
    print_table(results, all, realistic);
    assert_int_equal(results->gpus, work.count);
    if (work.records)
        return;
    assert_int_equal(results->failed_gpus, 0);
    assert_true(results->inconclusive_gpus <= 1 + max_inconclusive * results->gpus);
    assert_int_equal(all[CONTRADICTED], 0);
    assert_int_equal(all[UNEXPLAINED], 0);
    if (work.noisy || work.disturbed) {
        assert_true(all[DOUBTED] <= 1 + max_doubted * sum);
        return;
    }
    assert_int_equal(realistic[DOUBTED], 0);
    assert_true(realistic[EXACT] >= (work.published ? 1 : min_exact) * realistic_sum);
}

static void gpus_are_found_as_described(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct results results = {0};
    assert_true(shared != MAP_FAILED);
    measure_all(shared);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        results.gpus += shared->results[i].gpus;
        results.realistic_gpus += shared->results[i].realistic_gpus;
        results.failed_gpus += shared->results[i].failed_gpus;
        results.inconclusive_gpus += shared->results[i].inconclusive_gpus;
        add_verdicts(&results.all, &shared->results[i].all);
        add_verdicts(&results.realistic, &shared->results[i].realistic);
    }
    check_results(&results);
    munmap(shared, sizeof *shared);
}

/* ---- command line ---- */

/* Whether fathom measures the GPU of a description as NVIDIA's. test_hierarchy_closure measures the
 * others. */
static bool is_by_nvidia(const char *path)
{
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_read_file(path, NULL, &gpu, NULL), FTH_OK);
    const char *vendor = fth_gpu_text(gpu, "device", "vendor");
    const bool result = !vendor || strcmp(vendor, "NVIDIA") == 0;
    fth_gpu_destroy(gpu);
    return result;
}

/* Whether a file is a description with one of the names, or any description if `count` is 0. */
static bool is_wanted(const char *file, char *const *names, size_t count)
{
    const char *end = strstr(file, ".json");
    bool wanted = end && count == 0;
    for (size_t i = 0; end && i < count; i++)
        wanted = wanted || (strlen(names[i]) == (size_t)(end - file) &&
                            strncmp(file, names[i], strlen(names[i])) == 0);
    return wanted;
}

/* Adds the descriptions in data/gpus, only those with the given names unless `count` is 0. Returns
 * false if one of the names is missing. */
static bool find_published(char *const *names, size_t count)
{
    const char *folder = FTH_SOURCE_ROOT "/data/gpus";
    struct dirent *entry;
    DIR *files = opendir(folder);
    while (files && (entry = readdir(files)) && work.count < MAX_PUBLISHED) {
        char *path = work.paths[work.count];
        snprintf(path, PATH_BYTES, "%s/%s", folder, entry->d_name);
        work.count += is_wanted(entry->d_name, names, count) && is_by_nvidia(path);
    }
    if (files)
        closedir(files);
    work.published = true;
    return count ? work.count == count : work.count > 0;
}

/* Returns false if the words are not as described above. */
static bool read_words(int count, char *words[])
{
    while (count > 1) {
        const char *word = words[1];
        if (strcmp(word, "noisy") == 0)
            work.noisy = true;
        else if (strcmp(word, "disturbed") == 0)
            work.disturbed = true;
        else if (strncmp(word, "records=", 8) == 0)
            work.records = word + 8;
        else if (strncmp(word, "jobs=", 5) == 0)
            work.jobs = (unsigned)strtoul(word + 5, NULL, 10);
        else
            break;
        count--;
        words++;
    }
    if (work.jobs > MAX_JOBS || count < 2)
        return false;
    if (strcmp(words[1], "published") == 0)
        return find_published(words + 2, (size_t)count - 2);
    if (strcmp(words[1], "seeds") == 0) {
        work.seeds = words + 2;
        work.count = (size_t)count - 2;
        return work.count > 0;
    }
    if (count != 3)
        return false;
    work.first_seed = strtoull(words[1], NULL, 10);
    const uint64_t last = strtoull(words[2], NULL, 10);
    work.count = (size_t)(last - work.first_seed + 1);
    return last >= work.first_seed;
}

int main(int count, char *words[])
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus_are_found_as_described)};
    if (!read_words(count, words)) {
        fprintf(stderr,
                "usage: %s [noisy | disturbed] [jobs=N] [records=FILE] {published [NAME...] | "
                "FIRST LAST | seeds SEED...}\n",
                words[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
