/* Tests of trace/: expressions of launch files, traces of the example workloads, reading back what
 * was written, and damaged and truncated files. test_trace_input.c tests the inputs.
 *
 * Formulas that follow from the algorithm of each kernel give the expected counts of
 * the workloads. */
#include "check.h"
#include "folder.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn static void fail_with(const struct fth_error *error)
{
    char text[700];
    fail_msg("%s", fth_error_text(error, text, sizeof text));
    abort(); /* not reached: cmocka left the test */
}

/* ---- expressions ---- */

/* Many values at once are the same as one by one, also where a remainder is computed by integers.
 */
static void values_are_those_of_each_index(void **state)
{
    (void)state;
    static const char *const texts[] = {"N",
                                        "i * 2 - min(i, N / 3)",
                                        "(7 - i) % 3",
                                        "i % 5 + i % 2.5",
                                        "(1 - 2 * (i % 2)) % N",
                                        "i * 1000000000000 % 4096",
                                        "-i % 4"};
    for (size_t t = 0; t < FTH_COUNT(texts); t++) {
        struct fth_scope scope = {{{"i", 100}, {"N", 64}}, 2};
        double values[FTH_EXPRESSION_VALUES];
        struct fth_expression *expression;
        assert_int_equal(fth_expression_create(texts[t], &scope, &expression, NULL), FTH_OK);
        fth_expression_values(expression, &scope, FTH_COUNT(values), values);
        for (size_t v = 0; v < FTH_COUNT(values); v++) {
            const double i = 100 + (double)v, n = 64;
            const double expected[] = {n,
                                       i * 2 - fmin(i, n / 3),
                                       fmod(7 - i, 3),
                                       fmod(i, 5) + fmod(i, 2.5),
                                       fmod(1 - 2 * fmod(i, 2), n),
                                       fmod(i * 1000000000000, 4096),
                                       fmod(-i, 4)};
            assert_memory_equal(&values[v], &expected[t],
                                sizeof values[v]); /* also the sign of 0 */
        }
        fth_expression_destroy(expression);
    }
}

static void expressions_are_evaluated(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1", 1},
        {"N", 64},
        {"N*N", 4096},
        {"ceil(N/48)", 2},
        {"1 + 2 * 3 - 4 / 8", 6.5},
        {"-(1 - 3) * 2", 4},
        {"10 % 4 % 3", 2},
        {"2 - 3 - 4", -5},
        {"min(max(1, N), 100) + floor(1.5)", 65},
        {"sqrt(N) + exp(0) + sin(0) + cos(0)", 10},
        {"--1", 1},
    };
    const struct fth_scope scope = {{{"i", 3}, {"N", 64}}, 2};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_expression *expression;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_expression_create(cases[i].text, &scope, &expression, &error) != FTH_OK)
            fail_with(&error);
        double value = fth_expression_value(expression, &scope);
        if (!(fabs(value - cases[i].value) < 1e-12))
            fail_msg("%s is %g, not %g", cases[i].text, value, cases[i].value);
        fth_expression_destroy(expression);
    }
    static const char *const wrong[] = {"",      "1 +",    "(1",  "M",         "1 2",
                                        "f(1)",  "min(1)", "1..", "sqrt 2",    "N N",
                                        "max(,", ")",      "*",   "floor(1,2)"};
    for (size_t i = 0; i < FTH_COUNT(wrong); i++) {
        struct fth_expression *expression;
        struct fth_error error = FTH_NO_ERROR;
        assert_int_equal(fth_expression_create(wrong[i], &scope, &expression, &error), FTH_INVALID);
        assert_null(expression);
        assert_string_not_equal(error.cause, "");
    }
    char deep[400];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    struct fth_expression *expression;
    assert_int_equal(fth_expression_create(deep, &scope, &expression, NULL), FTH_INVALID);
}

/* ---- traces of launches ---- */

static struct fth_launch *read_workload(const char *name, const char *size)
{
    struct fth_launch *launch = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char path[512];
    snprintf(path, sizeof path, "%s/examples/workloads/%s.json", FTH_SOURCE_ROOT, name);
    if (fth_launch_read(path, &size, 1, &launch, &error) != FTH_OK)
        fail_with(&error);
    return launch;
}

static struct fth_trace *trace_launch(struct fth_launch *launch, const char *path, unsigned threads)
{
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_run_options options = FTH_RUN_OPTIONS(.threads = threads);
    if (fth_launch_trace(launch, path, &options, NULL, &error) != FTH_OK ||
        fth_trace_open(path, &trace, &error) != FTH_OK)
        fail_with(&error);
    assert_null(fth_trace_truncated(trace));
    return trace;
}

/* Sets a grid of blocks with 32 x 8 threads. */
static void set_shape(struct fth_launch *launch, uint32_t x, uint32_t y)
{
    const struct fth_launch_shape shape = FTH_LAUNCH_SHAPE(.grid = {x, y, 1}, .block = {32, 8, 1});
    assert_int_equal(fth_launch_set_shape(launch, &shape, NULL), FTH_OK);
}

/* The maximum number of accesses per warp (L in Table 4 of the RDGC paper) of our kernels. Kernels
 * that keep their sum in memory make two reads and one write per term. The expected numbers also
 * include the accesses before and after the loop. */
static void maximum_accesses_per_warp_match_the_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *size;
        struct {
            const char *kernel;
            uint64_t longest;
        } kernels[4];
    } cases[] = {
        {"2dconv", "N=66", {{"conv2d", 10}}},
        {"2mm", "N=32", {{"product", 3 * 32 + 1}, {"product_add", 3 * 32 + 2}}},
        {"3dconv", "N=20", {{"conv3d", 216}}},
        {"atax", "N=48", {{"rows", 3 * 48 + 1}, {"columns", 3 * 48 + 1}}},
        {"bicg", "N=48", {{"transposed", 3 * 48 + 1}, {"straight", 3 * 48 + 1}}},
        {"corr", "N=16", {{"correlate", 50 * 15 + 1}}},
        {"covar", "N=16", {{"covariances", 800}}},
        {"fdtd", "N=64", {{"electric_y", 4}, {"electric_x", 4}, {"magnetic", 6}}},
        {"gesummv", "N=48", {{"gesummv", 8 * 48 + 3}}},
        {"gramschm", "N=16", {{"subtract", 7 * 16 + 1}}},
        {"mvt", "N=48", {{"straight", 3 * 48 + 1}, {"transposed", 3 * 48 + 1}}},
        {"syr2k", "N=32", {{"syr2k", 5 * 32 + 2}}},
        {"syrk", "N=32", {{"syrk", 3 * 32 + 2}}},
        {"hspot", "N=42", {{"heat", 3}}},
        {"srad", "N=64", {{"moments", 3}, {"coefficients", 12}, {"diffuse", 9}}},
    };
    static const char path[] = "a.trace";
    for (size_t c = 0; c < FTH_COUNT(cases); c++) {
        struct fth_launch *launch = read_workload(cases[c].workload, cases[c].size);
        struct fth_trace *trace = trace_launch(launch, path, 0);
        for (size_t k = 0; k < 4 && cases[c].kernels[k].kernel; k++) {
            uint64_t found = 0;
            for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
                const struct fth_trace_launch *head = fth_trace_launch_at(trace, i);
                if (strcmp(head->kernel, cases[c].kernels[k].kernel) == 0 && head->longest > found)
                    found = head->longest;
            }
            if (found != cases[c].kernels[k].longest)
                fail_msg("%s: L of %s is %llu, not %llu", cases[c].workload,
                         cases[c].kernels[k].kernel, (unsigned long long)found,
                         (unsigned long long)cases[c].kernels[k].longest);
        }
        fth_trace_close(trace);
        fth_launch_destroy(launch);
    }
}

/* C = A B + beta C for N x N matrices. For each term, a warp reads one element of A (one sector)
 * and 32 elements of B (four sectors), and writes 32 elements of C. It also reads and writes C
 * once. */
static void counts_of_a_matrix_product_match_the_formulas(void **state)
{
    (void)state;
    enum { N = SANITIZED ? 96 : 512 };
    const uint64_t warps = (uint64_t)N * N / 32;
    struct fth_launch *launch;
    struct fth_error error = FTH_NO_ERROR;
    static const char path[] = "a.trace";
    char ptx[512], matrix[64], size[32];
    snprintf(ptx, sizeof ptx, "%s/examples/workloads/ptx/2mm.ptx", FTH_SOURCE_ROOT);
    snprintf(matrix, sizeof matrix, "ptr:f32[%d*%d]", N, N);
    snprintf(size, sizeof size, "i32:%d", N);
    if (fth_launch_create(ptx, "product_add", 1, &launch, &error) != FTH_OK)
        fail_with(&error);
    const char *const arguments[] = {matrix, matrix, matrix, size, "f32:2"};
    for (size_t i = 0; i < FTH_COUNT(arguments); i++)
        if (fth_launch_argument(launch, arguments[i], &error) != FTH_OK)
            fail_with(&error);
    set_shape(launch, N / 32, N / 8);
    struct fth_trace *trace = trace_launch(launch, path, 0);
    const struct fth_trace_launch *head = fth_trace_launch_at(trace, 0);
    assert_int_equal(head->longest, 3 * N + 2);
    assert_int_equal(head->accesses, warps * (2 * N + 1 + N + 1));
    struct fth_trace_stats *stats;
    if (fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail_with(&error);
    const struct fth_trace_row *row = fth_trace_stats_row(stats, 0);
    assert_int_equal(row->requests[FTH_TRACE_READ], warps * (2 * N + 1));
    assert_int_equal(row->accesses[FTH_TRACE_READ], 32 * warps * (2 * N + 1));
    assert_int_equal(row->sectors[FTH_TRACE_READ], warps * (5 * N + 4));
    assert_int_equal(row->lines[FTH_TRACE_READ], warps * (2 * N + 1));
    assert_int_equal(row->requests[FTH_TRACE_WRITE], warps * (N + 1));
    assert_int_equal(row->sectors[FTH_TRACE_WRITE], 4 * warps * (N + 1));
    assert_int_equal(row->requests[FTH_TRACE_ATOMIC], 0);
    assert_int_equal(row->footprint_bytes[FTH_TRACE_READ], 12 * N * N);
    assert_int_equal(row->footprint_bytes[FTH_TRACE_WRITE], 4 * N * N);
    assert_int_equal(row->footprint_all_bytes, 12 * N * N);
    /* In each round of the loop, a warp reads one word with all lanes, and 32 words. */
    assert_int_equal(row->requested_bytes[FTH_TRACE_READ], 4 * row->accesses[FTH_TRACE_READ]);
    assert_int_equal(row->used_bytes[FTH_TRACE_READ], warps * ((4 + 128) * N + 128));
    assert_int_equal(row->ideal_sectors[FTH_TRACE_READ], warps * (5 * N + 4));
    assert_int_equal(row->touched_bytes[FTH_TRACE_READ], 12 * N * N);
    assert_int_equal(row->touched_bytes[FTH_TRACE_WRITE], 4 * N * N);
    assert_int_equal(row->touched_all_bytes, 12 * N * N);
    /* Line 28 of the source is in the loop of the kernel. */
    bool found = false;
    for (size_t i = 1; (row = fth_trace_stats_row(stats, i)); i++)
        found = found || row->instruction->source_line == 28;
    assert_true(found);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
}

/* One trace with several kernels, of which the first uses shared memory and atomics. */
static void counts_atomics_and_shared_memory_accesses(void **state)
{
    (void)state;
    static const char path[] = "a.trace";
    struct fth_launch *launch = read_workload("srad", "N=64");
    struct fth_trace *trace = trace_launch(launch, path, 2);
    struct fth_trace_stats *stats;
    assert_int_equal(fth_trace_launch_count(trace), 3);
    const struct fth_trace_launch *head = fth_trace_launch_at(trace, 0);
    assert_string_equal(head->kernel, "moments");
    assert_int_equal(head->grid[0], 16);
    assert_int_equal(head->block[0], 256);
    assert_true(head->shared > 0);
    assert_int_equal(fth_trace_stats_create(trace, NULL, &stats, NULL), FTH_OK);
    const struct fth_trace_row *row = fth_trace_stats_row(stats, 0);
    assert_int_equal(row->requests[FTH_TRACE_READ], 64 * 64 / 32);
    assert_int_equal(row->requests[FTH_TRACE_ATOMIC], 2 * 16);
    assert_int_equal(row->accesses[FTH_TRACE_ATOMIC], 2 * 16);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
}

static void traces_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    static const char *const paths[] = {"one.trace", "seven.trace"};
    struct fth_buffer contents[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        struct fth_launch *launch = read_workload("nw", "N=128");
        fth_trace_close(trace_launch(launch, paths[i], i ? 7 : 1));
        fth_launch_destroy(launch);
        assert_int_equal(fth_file_read(paths[i], FTH_FILE_LIMIT("a file of the test", SIZE_MAX / 4),
                                       &contents[i], NULL),
                         FTH_OK);
    }
    assert_int_equal(contents[0].size, contents[1].size);
    assert_memory_equal(contents[0].data, contents[1].data, contents[0].size);
    fth_buffer_fini(&contents[0]);
    fth_buffer_fini(&contents[1]);
}

/* ---- reading what was written ---- */

struct example {
    struct fth_trace_access *accesses; /* in the order of the trace */
    size_t count;
};

/* Orders accesses as a trace does: by access number, block and warp. */
static int compare_trace_order(const void *a, const void *b)
{
    const struct fth_trace_access *one = a, *other = b;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    if (one->block != other->block)
        return one->block < other->block ? -1 : 1;
    return one->warp < other->warp ? -1 : one->warp > other->warp;
}

/* Writes random accesses in batches of 1000, in random order of blocks and warps. The addresses of
 * an access have a small step, a random step, or no pattern. Returns the accesses, sorted as in the
 * trace; their `instruction` is the line of the instruction. The caller frees them. */
static struct example write_example(const char *path, size_t count, uint64_t seed)
{
    enum { BLOCKS = 50, WARPS = 32 };
    struct example example = {calloc(count, sizeof *example.accesses), count};
    uint64_t numbers[BLOCKS][WARPS] = {{0}};
    struct fth_trace_writer *writer;
    struct fth_records records = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    if (fth_trace_writer_create(path, &writer, &error) != FTH_OK ||
        fth_trace_writer_begin(writer, "example", (uint32_t[3]){BLOCKS, 1, 1},
                               (uint32_t[3]){32, 8, 4}, &error) != FTH_OK)
        fail_with(&error);
    for (size_t i = 0; i < count; i++) {
        struct fth_trace_access *access = &example.accesses[i];
        uint64_t kind = fth_rng_below(&rng, 5), first = fth_rng_next(&rng) >> 16;
        access->block = fth_rng_below(&rng, BLOCKS);
        access->warp = (uint32_t)fth_rng_below(&rng, WARPS);
        access->number = numbers[access->block][access->warp]++;
        access->mask = kind == 0 ? UINT32_MAX : (uint32_t)fth_rng_next(&rng) | 1;
        access->threads = (uint32_t)__builtin_popcount(access->mask);
        uint64_t step = kind == 1 ? fth_rng_next(&rng) : 4 * fth_rng_below(&rng, 3);
        for (uint32_t t = 0; t < access->threads; t++)
            access->addresses[t] = kind < 3 ? first + t * step : fth_rng_next(&rng) >> 8 * kind;
        const struct fth_trace_instruction instruction = {
            .line = (uint32_t)kind, .kind = FTH_TRACE_WRITE, .bytes = 4, .cache_op = 2};
        access->instruction = (uint32_t)fth_trace_writer_instruction(writer, &instruction);
        const struct fth_record record = {.number = access->number,
                                          .block = access->block,
                                          .instruction = access->instruction,
                                          .warp = access->warp,
                                          .mask = access->mask};
        assert_true(fth_records_add(&records, &record, access->addresses));
        access->instruction = (uint32_t)kind; /* the line; indices in the file may differ */
        if (i % 1000 == 999 || i + 1 == count) {
            if (fth_trace_writer_add(writer, &records, &error) != FTH_OK)
                fail_with(&error);
            fth_records_clear(&records);
        }
    }
    if (fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared = 5}, &error) != FTH_OK ||
        fth_trace_writer_commit(writer, &error) != FTH_OK)
        fail_with(&error);
    fth_records_fini(&records);
    qsort(example.accesses, count, sizeof *example.accesses, compare_trace_order);
    return example;
}

static void check_access(const struct fth_trace *trace, const struct fth_trace_access *got,
                         const struct fth_trace_access *want)
{
    assert_int_equal(got->number, want->number);
    assert_int_equal(got->block, want->block);
    assert_int_equal(got->warp, want->warp);
    assert_int_equal(got->mask, want->mask);
    assert_int_equal(got->threads, want->threads);
    assert_int_equal(fth_trace_instruction_at(trace, got->instruction)->line, want->instruction);
    assert_memory_equal(got->addresses, want->addresses, want->threads * sizeof *want->addresses);
}

/* Checks that a cursor over blocks `first` to `last` returns exactly the accesses that the
 * example has in these blocks. */
static void check_blocks(const struct fth_trace *trace, const struct example *example,
                         uint64_t first, uint64_t last)
{
    struct fth_trace_cursor *cursor;
    const struct fth_trace_access *access;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_trace_cursor_open(trace, 0, first, last, &cursor, &error) != FTH_OK)
        fail_with(&error);
    for (size_t i = 0; i < example->count; i++) {
        const struct fth_trace_access *want = &example->accesses[i];
        if (want->block < first || want->block > last)
            continue;
        if (fth_trace_next(cursor, &access, &error) != FTH_OK)
            fail_with(&error);
        assert_non_null(access);
        check_access(trace, access, want);
    }
    assert_int_equal(fth_trace_next(cursor, &access, NULL), FTH_OK);
    assert_null(access);
    fth_trace_cursor_close(cursor);
}

/* The trace has several sorted runs, and each run has several frames. */
static void reads_back_what_was_written(void **state)
{
    (void)state;
    static const char path[] = "a.trace";
    struct example example = write_example(path, SANITIZED ? 300000 : 600000, 1);
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_trace_open(path, &trace, &error) != FTH_OK)
        fail_with(&error);
    const struct fth_trace_launch *head = fth_trace_launch_at(trace, 0);
    assert_int_equal(head->accesses, example.count);
    assert_int_equal(head->longest, example.accesses[example.count - 1].number + 1);
    assert_int_equal(head->shared, 5);
    check_blocks(trace, &example, 0, UINT64_MAX);
    check_blocks(trace, &example, 7, 9);
    check_blocks(trace, &example, 50, UINT64_MAX);
    fth_trace_close(trace);
    free(example.accesses);
}

/* ---- damaged files ---- */

/* Returns the descriptor of a temporary file with these bytes. */
static int file_of(const void *data, size_t size)
{
    int fd;
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(pwrite(fd, data, size, 0), size);
    return fd;
}

/* Reads all accesses of all launches. *count gets the number of accesses before the first error. */
static enum fth_status read_all(int fd, size_t *count, bool *truncated, struct fth_error *error)
{
    struct fth_trace *trace;
    *count = 0;
    *truncated = false;
    enum fth_status status = fth_trace_attach(fd, "damaged trace", &trace, error);
    if (status != FTH_OK)
        return status;
    *truncated = fth_trace_truncated(trace) != NULL;
    for (size_t i = 0; i < fth_trace_launch_count(trace) && status == FTH_OK; i++) {
        struct fth_trace_cursor *cursor;
        const struct fth_trace_access *access = NULL;
        status = fth_trace_cursor_open(trace, i, 0, UINT64_MAX, &cursor, error);
        while (status == FTH_OK) {
            status = fth_trace_next(cursor, &access, error);
            if (status != FTH_OK || !access)
                break;
            ++*count;
        }
        fth_trace_cursor_close(cursor);
    }
    fth_trace_close(trace);
    return status;
}

/* Reads all accesses of a file that has only the first `cut` bytes of `file`. */
static enum fth_status read_cut(int fd, const struct fth_buffer *file, size_t cut, size_t *count,
                                bool *truncated)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, file->data, cut, 0), cut);
    return read_all(fd, count, truncated, NULL);
}

/* Copies a trace of one frame. The content of the frame is extended to `frame_bytes` bytes. */
static void copy_with_frame(const char *from, const char *to, size_t frame_bytes)
{
    struct fth_atomic_file *file;
    struct fth_container *container;
    struct fth_container_writer *writer;
    assert_int_equal(fth_atomic_open(to, &file, NULL), FTH_OK);
    assert_int_equal(fth_container_create(&fth_trace_format, file, &writer, NULL), FTH_OK);
    assert_int_equal(fth_container_open(&fth_trace_format, from, &container, NULL), FTH_OK);
    uint32_t type = 0;
    uint64_t index = 0;
    for (uint64_t at = sizeof FTH_TRACE_MAGIC - 1, next; type != FTH_PART_INDEX; at = next) {
        struct fth_buffer content = {0};
        assert_int_equal(fth_container_get(container, at, &type, &content, &next, NULL), FTH_OK);
        if (type == FTH_PART_FRAME)
            fth_buffer_repeat(&content, "x", frame_bytes - content.size);
        assert_int_equal(fth_container_put(writer, (enum fth_part)type, &content, &index, NULL),
                         FTH_OK);
        fth_buffer_fini(&content);
    }
    assert_int_equal(fth_container_commit(writer, index, NULL), FTH_OK);
    fth_container_close(container);
}

/* A frame that expands to more than a writer makes could exhaust the memory, together with those of
 * other runs. */
static void frames_have_a_limit(void **state)
{
    (void)state;
    static const char path[] = "a.trace";
    static const size_t sizes[] = {8 << 20, (8 << 20) + 1};
    struct example example = write_example(path, 40, 3);
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        struct fth_trace *trace;
        struct fth_trace_cursor *cursor = NULL;
        struct fth_error error = FTH_NO_ERROR;
        copy_with_frame(path, "large.trace", sizes[i]);
        if (fth_trace_open("large.trace", &trace, &error) != FTH_OK)
            fail_with(&error);
        const enum fth_status status =
            fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, &error);
        assert_int_equal(status, i ? FTH_INVALID : FTH_OK);
        assert_string_equal(error.cause,
                            i ? "a frame is larger than 8 MiB, the limit for frames" : "");
        fth_trace_cursor_close(cursor);
        fth_trace_close(trace);
    }
    unlink("large.trace");
    free(example.accesses);
}

static void detects_every_flipped_bit(void **state)
{
    (void)state;
    static const char path[] = "a.trace";
    size_t count;
    bool truncated;
    struct example example = write_example(path, 40, 3);
    struct fth_buffer file = {0};
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", SIZE_MAX / 4), &file, NULL),
        FTH_OK);
    char *content = file.data;
    size_t size = file.size;
    int fd = file_of(content, size);
    assert_int_equal(read_all(fd, &count, &truncated, NULL), FTH_OK);
    assert_int_equal(count, example.count);
    assert_false(truncated);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        struct fth_error error = FTH_NO_ERROR;
        const char flipped = (char)(content[bit / 8] ^ 1 << bit % 8);
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
        enum fth_status status = read_all(fd, &count, &truncated, &error);
        if (status == FTH_OK && !truncated)
            fail_msg("a flip of bit %zu (of %zu bytes) was not detected", bit, size);
        if (status != FTH_OK)
            assert_string_not_equal(error.cause, "");
        assert_int_equal(pwrite(fd, &content[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    close(fd);
    fth_buffer_fini(&file);
    free(example.accesses);
}

/* The file is truncated before, inside and after each of its parts. The reader returns the
 * accesses of every complete frame and reports that the file is truncated. */
static void reads_the_whole_frames_of_truncated_files(void **state)
{
    (void)state;
    static const char path[] = "a.trace";
    size_t count, whole = 0, frames = 0;
    bool truncated;
    struct example example = write_example(path, 20000, 4);
    struct fth_buffer file = {0};
    struct fth_container *container;
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", SIZE_MAX / 4), &file, NULL),
        FTH_OK);
    assert_int_equal(fth_container_open(&fth_trace_format, path, &container, NULL), FTH_OK);
    int fd = file_of("", 0);
    for (size_t cut = 0; cut < sizeof FTH_TRACE_MAGIC - 1; cut++)
        assert_int_equal(read_cut(fd, &file, cut, &count, &truncated), FTH_INVALID);
    struct fth_part_header part = {0};
    for (uint64_t at = sizeof FTH_TRACE_MAGIC - 1, next; part.type != FTH_PART_INDEX; at = next) {
        assert_int_equal(fth_container_skip(container, at, &part, NULL), FTH_OK);
        next = part.next;
        const uint64_t cuts[] = {at, at + 1, at + 12, (at + next) / 2, next - 1};
        for (size_t i = 0; i < FTH_COUNT(cuts); i++) {
            assert_int_equal(read_cut(fd, &file, cuts[i], &count, &truncated), FTH_OK);
            assert_true(truncated);
            assert_int_equal(count, whole);
        }
        if (part.type == FTH_PART_FRAME)
            whole = ++frames < 3 ? 8192 * frames : example.count;
        assert_int_equal(read_cut(fd, &file, next, &count, &truncated), FTH_OK);
        assert_int_equal(count, whole);
    }
    assert_int_equal(frames, 3);
    for (size_t cut = file.size - FTH_CONTAINER_TAIL_BYTES; cut < file.size; cut++) {
        assert_int_equal(read_cut(fd, &file, cut, &count, &truncated), FTH_OK);
        assert_true(truncated);
        assert_int_equal(count, example.count);
    }
    close(fd);
    fth_container_close(container);
    fth_buffer_fini(&file);
    free(example.accesses);
}

static void a_failed_launch_leaves_no_trace_file(void **state)
{
    (void)state;
    struct fth_launch *launch;
    struct fth_error error = FTH_NO_ERROR;
    static const char path[] = "fault.trace";
    char ptx[512];
    snprintf(ptx, sizeof ptx, "%s/examples/workloads/ptx/syrk.ptx", FTH_SOURCE_ROOT);
    assert_int_equal(fth_launch_create(ptx, NULL, 1, &launch, &error), FTH_OK);
    const char *const arguments[] = {"ptr:f32[8*8]", "ptr:f32[64*64]", "i32:64", "f32:1", "f32:1"};
    for (size_t i = 0; i < FTH_COUNT(arguments); i++)
        assert_int_equal(fth_launch_argument(launch, arguments[i], &error), FTH_OK);
    set_shape(launch, 2, 8);
    assert_int_equal(fth_launch_trace(launch, path, NULL, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "outside the global memory");
    assert_contains(error.cause, "thread");
    assert_int_equal(access(path, F_OK), -1);
    fth_launch_destroy(launch);
    error = FTH_NO_ERROR;
    launch = read_workload("syrk", "N=32");
    assert_int_not_equal(fth_launch_trace(launch, "/no/such/folder/x", NULL, NULL, &error), FTH_OK);
    fth_launch_destroy(launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_evaluated),
        cmocka_unit_test(values_are_those_of_each_index),
        cmocka_unit_test(maximum_accesses_per_warp_match_the_formulas),
        cmocka_unit_test(counts_of_a_matrix_product_match_the_formulas),
        cmocka_unit_test(counts_atomics_and_shared_memory_accesses),
        cmocka_unit_test(traces_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(frames_have_a_limit),
        cmocka_unit_test(detects_every_flipped_bit),
        cmocka_unit_test(reads_the_whole_frames_of_truncated_files),
        cmocka_unit_test(a_failed_launch_leaves_no_trace_file),
    };
    return cmocka_run_group_tests_name("trace", tests, enter_folder, leave_folder);
}
