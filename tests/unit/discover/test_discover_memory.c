/* Tests that no failure is ignored while a device is measured, dissected or benchmarked: if an
 * allocation, a request or the writing of a figure fails, the call fails with the same status, or
 * its result is the same as without the failure. Memory is freed in either case.
 *
 * The devices are recordings. One run with a recording tests all places that can fail: at each of
 * them, the process forks. The place fails in the child, which completes the run, checks the
 * result and exits. The parent continues without the failure. A place is a call with the functions
 * that lead to it, so a function that is called from several others is tested with each of them. */
#include "check.h"
#include "device/device.h"
#include "discover/discover.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- places that can fail ---- */

enum {
    STACK_FRAMES = 8,     /* that identify a place */
    MAX_PLACES = 1 << 14, /* a power of two */
    EXIT_FAILED = 1       /* exit code of a child whose result is wrong */
};

static struct {
    bool active;        /* places are tested */
    bool answers;       /* answers that are missing are tested, too */
    unsigned inside;    /* calls whose own allocations do not fail */
    bool is_child;      /* a failure has happened in this process */
    const char *failed; /* what failed */
    enum fth_status failure;
    size_t places; /* tested so far */
    size_t wrong;  /* children with a wrong result */
    long blocks;   /* allocated by the library */
    uint64_t known[MAX_PLACES];
} state;

/* Returns a number that identifies the functions that are being called. */
static uint64_t stack_hash(void)
{
    void *frames[STACK_FRAMES];
    const int count = backtrace(frames, STACK_FRAMES);
    uint64_t hash = 1;
    for (int i = 2; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash ? hash : 1;
}

/* Adds a place. Returns false if it was known. */
static bool add_place(uint64_t hash)
{
    size_t at = hash % MAX_PLACES;
    while (state.known[at] && state.known[at] != hash)
        at = (at + 1) % MAX_PLACES;
    if (state.known[at])
        return false;
    state.known[at] = hash;
    assert_true(++state.places < MAX_PLACES / 2);
    return true;
}

/* Whether the call fails, which is so in the child that tests it. `failure`: with which status. */
static bool fails_with(const char *what, enum fth_status failure)
{
    if (!state.active || state.is_child || state.inside || !add_place(stack_hash()))
        return false;
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        state.is_child = true;
        state.failed = what;
        state.failure = failure;
        return true;
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    state.wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return false;
}

static bool fails(const char *what)
{
    return fails_with(what, FTH_NO_MEMORY);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    void *block = fails("malloc") ? NULL : __real_malloc(size);
    state.blocks += block != NULL;
    return block;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *block = fails("calloc") ? NULL : __real_calloc(count, size);
    state.blocks += block != NULL;
    return block;
}

void *__wrap_realloc(void *block, size_t size)
{
    void *moved = fails("realloc") ? NULL : __real_realloc(block, size);
    state.blocks += moved && !block;
    return moved;
}

char *__wrap_strdup(const char *text)
{
    char *copy = fails("strdup") ? NULL : __real_strdup(text);
    state.blocks += copy != NULL;
    return copy;
}

void __wrap_free(void *block)
{
    state.blocks -= block != NULL;
    __real_free(block);
}

enum fth_status __real_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error);
enum fth_status __wrap_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error);

enum fth_status __wrap_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error)
{
    if (fails("fth_note"))
        return fth_no_memory(error, "test", NULL);
    state.inside++;
    enum fth_status status = __real_fth_note(gpu, note, error);
    state.inside--;
    return status;
}

enum fth_status __real_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error);
enum fth_status __wrap_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error);

enum fth_status __wrap_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error)
{
    if (fails("fth_note_unknown"))
        return fth_no_memory(error, "test", NULL);
    state.inside++;
    enum fth_status status = __real_fth_note_unknown(gpu, element, attribute, reason, error);
    state.inside--;
    return status;
}

/* ---- devices ---- */

static const char no_answer[] = "the device cannot do that";

static const struct fth_device_ops *recorded_ops;

static enum fth_status describe(void *device, struct fth_gpu *gpu, struct fth_error *error)
{
    state.inside++;
    enum fth_status status = recorded_ops->describe(device, gpu, error);
    state.inside--;
    return status;
}

static enum fth_status measure(void *device, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    if (fails("request"))
        return fth_no_memory(error, "test", NULL);
    const bool unanswered = state.answers && fails_with("answer", FTH_UNSUPPORTED);
    state.inside++;
    enum fth_status status = recorded_ops->measure(device, requests, count, samples, error);
    state.inside--;
    if (unanswered && status == FTH_OK) {
        samples[count - 1].status = FTH_UNSUPPORTED;
        snprintf(samples[count - 1].cause, sizeof samples[0].cause, "%s", no_answer);
    }
    return status;
}

static void close_device(void *device)
{
    recorded_ops->close(device);
}

/* Asks to stop once. */
static bool interrupt(void *user)
{
    (void)user;
    return fails_with("interruption", FTH_INTERRUPTED);
}

static const struct fth_log interrupting_log = {.interrupted = interrupt};

/* ---- runs ---- */

typedef enum fth_status run_function(struct fth_device *device, char **text,
                                     struct fth_error *error);

static enum fth_status write_text(struct fth_gpu *gpu, char **text, struct fth_error *error)
{
    size_t size;
    state.inside++;
    enum fth_status status = fth_gpu_write_text(gpu, text, &size, error);
    state.inside--;
    return status;
}

static enum fth_status discover(struct fth_device *device, char **text, struct fth_error *error)
{
    struct fth_gpu *gpu = NULL;
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.thorough = true, .log = &interrupting_log);
    enum fth_status status = fth_discover(device, &options, &gpu, error);
    if (status == FTH_OK)
        status = write_text(gpu, text, error);
    else if (status != FTH_INTERRUPTED)
        assert_null(gpu);
    fth_gpu_destroy(gpu);
    return status;
}

static enum fth_status dissect(struct fth_device *device, char **text, struct fth_error *error)
{
    struct fth_gpu *gpu = NULL;
    const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.log = &interrupting_log);
    enum fth_status status = fth_dissect(device, &options, &gpu, error);
    if (status == FTH_OK)
        status = write_text(gpu, text, error);
    else if (status != FTH_INTERRUPTED)
        assert_null(gpu);
    fth_gpu_destroy(gpu);
    return status;
}

/* Appends a line of text to `text`, which has `size` bytes. */
FTH_PRINTF(3, 4)
static void add_line(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    assert_true(added >= 0 && (size_t)added < size - used);
}

/* Appends the tables, the figures and what is missing of all series to `text`. */
static void write_series(const struct fth_bench *bench, char *text, size_t size)
{
    const struct fth_bench_series *series;
    for (size_t i = 0; (series = fth_bench_series_at(bench, i)); i++) {
        add_line(text, size, "%s\n", series->name);
        for (size_t k = 0; k < series->table.row_count * series->table.column_count; k++)
            add_line(text, size, "%s %.17g\n",
                     series->table.cells[k].text ? series->table.cells[k].text : "",
                     series->table.cells[k].number);
        for (size_t k = 0; k < series->figure_count; k++)
            add_line(text, size, "%s %.17g\n", series->figures[k].key, series->figures[k].value);
        for (size_t k = 0; k < series->missing_count; k++)
            add_line(text, size, "%s\n", series->missing[k]);
    }
}

static enum fth_status run_benches(struct fth_device *device, char **text, struct fth_error *error)
{
    enum { TEXT_BYTES = 1 << 18 };
    struct fth_bench *bench = NULL;
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.log = &interrupting_log);
    enum fth_status status = fth_bench_create(device, &options, &bench, error);
    if (status == FTH_OK) {
        state.inside++;
        *text = calloc(TEXT_BYTES, 1);
        assert_non_null(*text);
        write_series(bench, *text, TEXT_BYTES);
        state.inside--;
    }
    fth_bench_destroy(bench);
    return status;
}

/* Runs with a recording. Returns the status and the text of the result, which the caller frees. */
static enum fth_status run_once(run_function *run, const char *recording, char **text,
                                struct fth_error *error)
{
    char id[512];
    struct fth_device *device = NULL;
    const struct fth_device_ops ops = {
        .describe = describe, .measure = measure, .close = close_device};
    snprintf(id, sizeof id, "replay:%s/tests/replay/simulated/%s", FTH_SOURCE_ROOT, recording);
    *text = NULL;
    state.inside++;
    if (fth_device_open(id, NULL, &device, error) != FTH_OK)
        fail_msg("%s: %s", id, error->cause);
    state.inside--;
    recorded_ops = device->ops;
    device->ops = &ops;
    enum fth_status status = run(device, text, error);
    fth_device_close(device);
    return status;
}

/* Whether the result of a child is right. After an interruption the call fails, and without memory
 * it fails or gives the same result. If a request has no answer, the call fails for this reason or
 * gives another result, for which it may need requests that were not recorded. */
static bool is_right(enum fth_status status, const struct fth_error *error, const char *text,
                     const char *expected)
{
    const bool same = status == FTH_OK && strcmp(text, expected) == 0;
    /* The C library prints NULL as "(null)". */
    const bool named = error->operation[0] && !strstr(error->operation, "(null)");
    if (error->status != status || (status != FTH_OK && !named))
        return false;
    if (state.failure == FTH_UNSUPPORTED)
        return status == FTH_OK || status == FTH_UNAVAILABLE ||
               (status == FTH_UNSUPPORTED && strcmp(error->cause, no_answer) == 0);
    return status == state.failure || (state.failure == FTH_NO_MEMORY && same);
}

static _Noreturn void end_child(enum fth_status status, const struct fth_error *error,
                                const char *text, const char *expected, long blocks)
{
    if (!is_right(status, error, text, expected)) {
        fprintf(stderr, "# %s %zu fails, status %d and %d: %s\n", state.failed, state.places,
                (int)status, (int)error->status,
                status == FTH_OK ? "another result" : error->cause);
        _exit(EXIT_FAILED);
    }
    if (blocks != (text ? 1 : 0)) {
        fprintf(stderr, "# %s %zu fails: %ld blocks are not freed\n", state.failed, state.places,
                blocks);
        _exit(EXIT_FAILED);
    }
    _exit(0);
}

static void check_run(run_function *run, const char *recording)
{
    struct fth_error error = NO_ERROR;
    char *expected = NULL, *text = NULL;
    if (run_once(run, recording, &expected, &error) != FTH_OK)
        fail_msg("%s: %s", recording, error.cause);
    const long before = state.blocks;
    state.active = true;
    enum fth_status status = run_once(run, recording, &text, &error);
    state.active = false;
    if (state.is_child)
        end_child(status, &error, text, expected, state.blocks - before);
    assert_int_equal(status, FTH_OK);
    assert_string_equal(text, expected);
    assert_int_equal(state.blocks - before, 1);
    fth_free(text);
    fth_free(expected);
    assert_int_equal(state.wrong, 0);
}

static void no_failure_of_a_dissection_is_ignored(void **unused)
{
    (void)unused;
    static const char *const recordings[] = {
        "gt740m/dissect.zst", "two-partitions/dissect.zst", "random-22/dissect.zst",
        "v100/dissect.zst",   "gtx560ti/dissect.zst",
    };
    for (size_t i = 0; i < (SANITIZED ? 2 : FTH_COUNT(recordings)); i++) {
        /* A run without an answer continues to its end, so only the first recording is used. */
        state.answers = i == 0;
        check_run(dissect, recordings[i]);
    }
    assert_true(state.places > 100);
}

static void no_failure_of_a_discovery_is_ignored(void **unused)
{
    (void)unused;
    state.answers = true;
    check_run(discover, "two-sms/topo.zst");
}

static void no_failure_of_a_bench_is_ignored(void **unused)
{
    (void)unused;
    state.answers = true;
    check_run(run_benches, "two-sms/bench.zst");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_failure_of_a_dissection_is_ignored),
        cmocka_unit_test(no_failure_of_a_discovery_is_ignored),
        cmocka_unit_test(no_failure_of_a_bench_is_ignored),
    };
    return cmocka_run_group_tests_name("discover-memory", tests, NULL, NULL);
}
