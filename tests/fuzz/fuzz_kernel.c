/* Fuzzes launches from the text to the cache model. The input is a launch file, a line "=", and the
 * text of its PTX file k.ptx. An input that both readers accept is run, traced and modelled:
 *
 *   1. The launches run in the PTX engine with a limited number of instructions. Launches that need
 *      more memory than a limit are left out.
 *   2. They are traced. Status, number of instructions and contents of the buffers must be those of
 *      the first run. A trace without data must be the same.
 *   3. The trace is modelled with small caches. There must not be more hits than sectors.
 *
 * The mutator changes the PTX by its grammar (support/ptx_mutator.c), and numbers and bytes of the
 * launch file. */
#define _GNU_SOURCE /* memfd_create */
#include "model/model.h"
#include "ptx/engine.h"
#include "support/ptx_mutator.h"
#include "trace/launch/launch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The limits keep an execution in the range of milliseconds: instructions per warp, digits of the
 * numbers in a launch file with loops, launches, warps over all launches, bytes of buffers, and
 * bytes of variables and of shared, local and parameter memory. */
enum {
    MAX_INSTRUCTIONS = 1000,
    MAX_LOOP_DIGITS = 3,
    MAX_LAUNCHES = 8,
    MAX_WARPS = 64,
    MAX_BUFFER_BYTES = 1 << 18,
    MAX_MEMORY_BYTES = 1 << 20
};

static void check_message(enum fth_status status, const struct fth_error *error)
{
    if (status != FTH_OK && (!error->cause[0] || strchr(error->cause, '\n')))
        abort();
}

/* Returns whether a launch file can have thousands of launches: it has a loop and a number with
 * many digits or a positive exponent. The reader accepts 65,536 launches, but needs seconds for
 * them with sanitizers. */
static bool has_large_loop(const char *text, size_t size)
{
    size_t digits = 0;
    bool has_large_number = false;
    for (size_t i = 0; i + 1 < size; i++) {
        const bool is_exponent = digits > 0 && tolower((unsigned char)text[i]) == 'e';
        digits = isdigit((unsigned char)text[i]) ? digits + 1 : 0;
        has_large_number =
            has_large_number || (is_exponent && text[i + 1] != '-') || digits > MAX_LOOP_DIGITS;
    }
    return has_large_number && memmem(text, size, "\"for\"", 5);
}

/* Returns whether a launch stays within the limits, except that of instructions. */
static bool is_small(const struct fth_launch *launch)
{
    uint64_t buffers = 0, warps = 0;
    uint64_t bytes = launch->module->dynamic_shared + launch->module->global_end - GLOBAL_BASE;
    for (size_t i = 0; i < launch->module->function_count; i++) {
        const struct fth_ptx_function *function = &launch->module->functions[i];
        bytes += LANES * (function->local_bytes + function->param_bytes +
                          sizeof(uint64_t) * (uint64_t)function->register_count);
    }
    for (size_t i = 0; i < launch->buffer_count && buffers <= MAX_BUFFER_BYTES; i++) {
        if (launch->buffers[i].fill == FTH_FILL_FILE || launch->buffers[i].count > MAX_BUFFER_BYTES)
            return false;
        buffers += launch->buffers[i].count * launch->buffers[i].element->bytes;
    }
    for (size_t i = 0; i < launch->step_count && warps <= MAX_WARPS; i++) {
        const struct fth_launch_step *step = &launch->steps[i];
        double blocks = (double)step->grid[0] * step->grid[1] * step->grid[2];
        double threads = (double)step->block[0] * step->block[1] * step->block[2];
        if (blocks * (threads / LANES + 1) > MAX_WARPS)
            return false;
        warps += (uint64_t)(blocks * (threads / LANES + 1));
        bytes += step->shared_bytes;
    }
    return launch->step_count <= MAX_LAUNCHES && buffers <= MAX_BUFFER_BYTES &&
           warps <= MAX_WARPS && bytes <= MAX_MEMORY_BYTES;
}

/* ---- running, tracing, modelling ---- */

static const struct fth_run_options options =
    FTH_RUN_OPTIONS(.threads = 1, .max_instructions = MAX_INSTRUCTIONS);

/* Appends the contents of all buffers. */
static void put_contents(const struct fth_launch *launch, struct fth_buffer *out)
{
    for (size_t i = 0; i < launch->buffer_count; i++) {
        struct fth_launch_view view;
        void *values;
        if (fth_launch_values(launch, launch->buffers[i].name, &view, &values, NULL) != FTH_OK)
            abort();
        fth_buffer_append(out, values, view.count * view.element_bytes);
        fth_free(values);
    }
}

/* Runs the launches, and compares the buffers with their expected contents. */
static enum fth_status run(struct fth_launch *launch, struct fth_launch_totals *totals,
                           struct fth_buffer *contents)
{
    struct fth_error error = FTH_NO_ERROR;
    const enum fth_status status = fth_launch_run(launch, &options, totals, &error);
    check_message(status, &error);
    for (size_t i = 0; status == FTH_OK && i < fth_launch_expectation_count(launch); i++) {
        struct fth_verdict verdict;
        error = (struct fth_error)FTH_NO_ERROR;
        check_message(fth_launch_verify(launch, i, &verdict, &error), &error);
    }
    if (status == FTH_OK)
        put_contents(launch, contents);
    return status;
}

static void model(const struct fth_trace *trace)
{
    struct fth_model_params *params;
    struct fth_model_result *result = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_model_params_create(NULL, &params, NULL) != FTH_OK ||
        fth_model_set(params, "gpu.sms", "2", NULL) != FTH_OK ||
        fth_model_set(params, "l1.size_bytes", "4K", NULL) != FTH_OK ||
        fth_model_set(params, "l2.size_bytes", "16K", NULL) != FTH_OK)
        abort();
    check_message(fth_model_run(trace, params,
                                &(struct fth_model_options)FTH_MODEL_OPTIONS(.threads = 1), &result,
                                &error),
                  &error);
    for (size_t i = 0; result && fth_model_row(result, i); i++)
        for (int kind = 0; kind < 3; kind++) {
            const struct fth_model_row *row = fth_model_row(result, i);
            if (row->l1.hits[kind] > row->l1.sectors[kind] ||
                row->l2.hits[kind] > row->l2.sectors[kind])
                abort();
        }
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
}

/* Traces the launches into a file in memory, and returns the file. */
static int trace_to_file(struct fth_launch *launch, bool skip_data,
                         struct fth_launch_totals *totals, enum fth_status *status)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_trace_writer *writer;
    const int file = memfd_create("trace", 0);
    if (file < 0 || fth_trace_writer_attach(file, "trace", &writer, NULL) != FTH_OK)
        abort();
    *status = fth_launch_trace_to(launch, writer, skip_data, &options, totals, &error);
    check_message(*status, &error);
    return file;
}

/* Aborts unless both files have the same contents. */
static void compare_files(int a, int b)
{
    const off_t size = lseek(a, 0, SEEK_END);
    if (size != lseek(b, 0, SEEK_END))
        abort();
    for (off_t at = 0; at < size;) {
        char parts[2][4096];
        const ssize_t got = pread(a, parts[0], sizeof parts[0], at);
        if (got <= 0 || pread(b, parts[1], (size_t)got, at) != got ||
            memcmp(parts[0], parts[1], (size_t)got) != 0)
            abort();
        at += got;
    }
}

/* Traces the launches without data, which must give the same trace, or be refused. */
static void trace_without_data(struct fth_launch *launch, int expected,
                               const struct fth_launch_totals *expected_totals)
{
    struct fth_launch_totals totals;
    enum fth_status status;
    const int file = trace_to_file(launch, true, &totals, &status);
    if (status == FTH_OK)
        compare_files(expected, file);
    if (status != FTH_INCONCLUSIVE &&
        (status != FTH_OK || totals.warp_instructions != expected_totals->warp_instructions ||
         totals.thread_instructions != expected_totals->thread_instructions))
        abort();
    close(file);
}

/* Traces the launches and models the trace. */
static enum fth_status trace_and_model(struct fth_launch *launch, struct fth_launch_totals *totals,
                                       struct fth_buffer *contents)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_trace *trace;
    enum fth_status status;
    const int file = trace_to_file(launch, false, totals, &status);
    if (status == FTH_OK) {
        put_contents(launch, contents);
        trace_without_data(launch, file, totals);
        if (fth_trace_attach(file, "trace", &trace, &error) != FTH_OK)
            abort();
        model(trace);
        fth_trace_close(trace);
    }
    close(file);
    return status;
}

static bool same(const struct fth_buffer *a, const struct fth_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* ---- the input ---- */

/* The folder of the launch file and of k.ptx, in memory where the system has /dev/shm. */
static char folder[64];

static void remove_folder(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    unlink(path);
    rmdir(folder);
}

static void write_ptx(const void *text, size_t size)
{
    char path[96];
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/fathom-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(folder) || atexit(remove_folder) != 0)
            abort();
    }
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* Returns the line "=" that ends the launch file, or the end of the input. */
static const uint8_t *find_end(const uint8_t *data, size_t size)
{
    const uint8_t *found = memmem(data, size, "\n=\n", 3);
    return found ? found : data + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_launch *launch = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const uint8_t *end = find_end(data, size);
    const size_t launch_size = (size_t)(end - data);
    char path[96];
    if (launch_size == size || has_large_loop((const char *)data, launch_size))
        return 0;
    write_ptx(end + 3, size - launch_size - 3);
    snprintf(path, sizeof path, "%s/launch.json", folder);
    const struct fth_launch_options plain = FTH_LAUNCH_OPTIONS(.kernel = NULL);
    check_message(
        fth_launch_read_text(path, (const char *)data, launch_size, &plain, &launch, &error),
        &error);
    if (launch && is_small(launch)) {
        struct fth_buffer first = {0}, second = {0};
        struct fth_launch_totals run_totals, trace_totals;
        if (run(launch, &run_totals, &first) != trace_and_model(launch, &trace_totals, &second) ||
            !same(&first, &second) ||
            run_totals.warp_instructions != trace_totals.warp_instructions ||
            run_totals.thread_instructions != trace_totals.thread_instructions)
            abort();
        fth_buffer_fini(&first);
        fth_buffer_fini(&second);
    }
    fth_launch_destroy(launch);
    return 0;
}

/* ---- the mutator ---- */

/* Replaces a number of the launch file, or changes it at random. Returns its new size. */
static size_t mutate_launch(char *text, size_t size, size_t max_size, struct fth_rng *rng)
{
    static const char *const numbers[] = {"0",     "1",  "2",  "3",          "4",    "8",   "31",
                                          "32",    "33", "64", "-1",         "1e9",  "0.5", "1024",
                                          "65536", "N",  "i",  "2147483648", "1e300"};
    size_t start = size ? fth_rng_below(rng, size) : 0, length = 0;
    while (start < size && !isdigit((unsigned char)text[start]))
        start++;
    while (start + length < size && isdigit((unsigned char)text[start + length]))
        length++;
    const char *number = numbers[fth_rng_below(rng, FTH_COUNT(numbers))];
    const size_t digits = strlen(number);
    if (length == 0 || size - length + digits > max_size || fth_rng_below(rng, 4) == 0)
        return LLVMFuzzerMutate((uint8_t *)text, size, max_size);
    memmove(text + start + digits, text + start + length, size - start - length);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(text + start, number, digits);
    return size - length + digits;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct fth_rng rng;
    const uint8_t *end = find_end(data, size);
    const size_t head = (size_t)(end - data), tail = size - head;
    fth_rng_init(&rng, seed);
    if (tail < 3)
        return LLVMFuzzerMutate(data, size, max_size);
    if (fth_rng_below(&rng, 3))
        return head + 3 +
               fuzz_mutate_ptx((char *)data + head + 3, tail - 3, max_size - head - 3, seed);
    char *changed = malloc(max_size);
    if (!changed)
        abort();
    memcpy(changed, data, head);
    const size_t changed_head = mutate_launch(changed, head, max_size - tail, &rng);
    memmove(data + changed_head, end, tail);
    memcpy(data, changed, changed_head);
    free(changed);
    return changed_head + tail;
}
