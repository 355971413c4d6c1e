/* The list of benches, in the order in which they run, and the storage of their results. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fth_bench {
    struct fth_arena arena;
    struct fth_gpu *gpu;
    struct series {
        struct fth_bench_series public;
        struct fth_cell *cells;
        size_t capacity, figure_capacity, missing_capacity;
    } * series;
    size_t count, capacity;
};

static const struct {
    const char *name, *summary;
    fth_bench_function *function;
    double weight; /* approximate share of the total time, for the progress display */
} benches[] = {
    {"banks", "latency of shared memory by threads and stride, and the cost of a conflict",
     fth_bench_banks, 1},
    {"shared", "throughput of shared memory by blocks, threads and words in flight",
     fth_bench_shared, 4},
    {"scaling", "bandwidth of L1, L2 and memory by the number of blocks", fth_bench_scaling, 4},
    {"latency", "latency by footprint, stride and path; shared memory with conflicts against L2",
     fth_bench_latency, 4},
    {"arith", "latency and throughput of arithmetic, by type", fth_bench_arith, 3},
    {"atomics", "latency and throughput of atomic operations, contended and not", fth_bench_atomics,
     1},
    {"global", "throughput of memory by CTAs, their size and ILP", fth_bench_global, 2},
    {"copies", "copies by TMA, in clusters and by cp.async: latency and bandwidth",
     fth_bench_copies, 2},
    {"link", "copies between host memory and GPU, and between GPUs; kernels on host memory",
     fth_bench_link, 1},
    {"memory", "memory by stride, with mixed reads and writes; periods of refresh",
     fth_bench_memory, 1},
    /* This bench is last because it allocates nearly all memory. */
    {"stream", "STREAM's kernels, checked, by size and threads", fth_bench_stream, 3},
};

const char *fth_bench_name(size_t index, const char **summary)
{
    if (index >= FTH_COUNT(benches))
        return NULL;
    if (summary)
        *summary = benches[index].summary;
    return benches[index].name;
}

/* ---- results ---- */

static struct series *last(struct fth_bench *bench)
{
    return &bench->series[bench->count - 1];
}

enum fth_status fth_bench_add_series(struct fth_bench *bench, const char *name, const char *title,
                                     const struct fth_column *columns, size_t column_count,
                                     struct fth_error *error)
{
    void *items = bench->series;
    if (!fth_grow(&items, bench->count, &bench->capacity, sizeof *bench->series))
        return fth_no_memory(error, "store results", NULL);
    bench->series = items;
    struct series *series = &bench->series[bench->count++];
    *series =
        (struct series){.public = {.name = fth_arena_text(&bench->arena, name),
                                   .title = fth_arena_text(&bench->arena, title),
                                   .table = {.columns = columns, .column_count = column_count}}};
    return series->public.name && series->public.title
               ? FTH_OK
               : fth_no_memory(error, "store results", NULL);
}

void fth_bench_show_grid(struct fth_bench *bench, size_t down, size_t across, size_t value)
{
    struct fth_bench_series *series = &last(bench)->public;
    series->grid = true;
    series->down = down;
    series->across = across;
    series->value = value;
}

void fth_bench_hide_table(struct fth_bench *bench)
{
    last(bench)->public.detail = true;
}

void fth_bench_show_plot(struct fth_bench *bench, size_t x, size_t y, size_t by)
{
    struct fth_bench_series *series = &last(bench)->public;
    series->plot = true;
    series->x = x;
    series->y = y;
    series->by = by;
}

enum fth_status fth_bench_add_row(struct fth_bench *bench, const struct fth_cell *cells,
                                  struct fth_error *error)
{
    struct series *series = last(bench);
    struct fth_table *table = &series->public.table;
    for (size_t i = 0; i < table->column_count; i++) {
        void *items = series->cells;
        size_t used = table->row_count * table->column_count + i;
        if (!fth_grow(&items, used, &series->capacity, sizeof *cells))
            return fth_no_memory(error, "store results", NULL);
        series->cells = items;
        series->cells[used] = cells[i];
        if (cells[i].text &&
            !(series->cells[used].text = fth_arena_text(&bench->arena, cells[i].text)))
            return fth_no_memory(error, "store results", NULL);
    }
    table->cells = series->cells;
    table->row_count++;
    return FTH_OK;
}

enum fth_status fth_bench_add_figure(struct fth_bench *bench, const char *key, double value,
                                     const char *unit, const char *method, struct fth_error *error)
{
    struct series *series = last(bench);
    struct fth_bench_series *public = &series->public;
    void *items = (void *)public->figures;
    if (!fth_grow(&items, public->figure_count, &series->figure_capacity, sizeof *public->figures))
        return fth_no_memory(error, "store results", NULL);
    struct fth_bench_figure *figures = items, *figure = &figures[public->figure_count++];
    public->figures = figures;
    *figure = (struct fth_bench_figure){.key = fth_arena_text(&bench->arena, key),
                                        .value = value,
                                        .unit = fth_arena_text(&bench->arena, unit),
                                        .method = fth_arena_text(&bench->arena, method)};
    return figure->key && figure->unit && figure->method
               ? FTH_OK
               : fth_no_memory(error, "store results", NULL);
}

enum fth_status fth_bench_add_missing(struct fth_bench *bench, const char *reason,
                                      struct fth_error *error)
{
    struct series *series = last(bench);
    void *items = (void *)series->public.missing;
    if (!fth_grow(&items, series->public.missing_count, &series->missing_capacity, sizeof(char *)))
        return fth_no_memory(error, "store results", NULL);
    const char **missing = items;
    series->public.missing = missing;
    missing[series->public.missing_count] = fth_arena_text(&bench->arena, reason);
    return missing[series->public.missing_count++] ? FTH_OK
                                                   : fth_no_memory(error, "store results", NULL);
}

enum fth_status fth_bench_keep_failure(struct fth_bench *bench, const char *what,
                                       enum fth_status status, struct fth_error *error)
{
    if (status != FTH_UNSUPPORTED && status != FTH_INCONCLUSIVE)
        return status;
    char reason[sizeof error->cause + 64];
    snprintf(reason, sizeof reason, "%s: %s", what, error ? error->cause : "not measured");
    if (error)
        *error = FTH_NO_ERROR;
    return fth_bench_add_missing(bench, reason, error);
}

size_t fth_bench_series_count(const struct fth_bench *bench)
{
    return bench->count;
}

const struct fth_bench_series *fth_bench_series_at(const struct fth_bench *bench, size_t index)
{
    return index < bench->count ? &bench->series[index].public : NULL;
}

const struct fth_gpu *fth_bench_gpu(const struct fth_bench *bench)
{
    return bench->gpu;
}

void fth_bench_destroy(struct fth_bench *bench)
{
    if (!bench)
        return;
    for (size_t i = 0; i < bench->count; i++) {
        free(bench->series[i].cells);
        free((void *)bench->series[i].public.figures);
        free((void *)bench->series[i].public.missing);
    }
    free(bench->series);
    fth_arena_fini(&bench->arena);
    fth_gpu_destroy(bench->gpu);
    free(bench);
}

/* ---- running ---- */

enum fth_status fth_bench_progress(const struct fth_bench_run *run, const char *what, double part,
                                   struct fth_error *error)
{
    fth_log_progress(run->prober.log, what, run->from + part * (run->to - run->from));
    return fth_log_interrupted(run->prober.log)
               ? fth_fail(error, FTH_INTERRUPTED, "measure", NULL, "interrupted")
               : FTH_OK;
}

enum fth_status fth_bench_check_rate(const struct fth_bench_run *run, double bytes_per_s,
                                     struct fth_error *error)
{
    static const double tolerance = 1.02;
    return bytes_per_s > run->memory_limit * tolerance
               ? fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL,
                          "measured %.4g GB/s, but memory clock and bus allow only %.4g",
                          bytes_per_s / 1e9, run->memory_limit / 1e9)
               : FTH_OK;
}

/* Whether the device executes the experiments of a bench. */
static bool is_executed(const struct fth_bench_run *run, const char *name)
{
    return !run->opencl || strcmp(name, "latency") == 0 || strcmp(name, "stream") == 0;
}

/* Whether a bench was named, or all were and the device executes it. */
static bool is_selected(const struct fth_bench_run *run, const struct fth_bench_options *options,
                        const char *name)
{
    bool all = options->count == 0;
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->names[i], name) == 0)
            return true;
        all = all || strcmp(options->names[i], "all") == 0;
    }
    return all && is_executed(run, name);
}

enum fth_status fth_bench_check_name(const char *name, struct fth_error *error)
{
    const char *names[FTH_COUNT(benches) + 1] = {"all"};
    for (size_t i = 0; i < FTH_COUNT(benches); i++)
        names[i + 1] = benches[i].name;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return FTH_OK;
    const char *near = fth_suggest(name, names, FTH_COUNT(names));
    return near ? fth_fail(error, FTH_INVALID, "choose bench", name,
                           "no such bench; did you mean '%s'?", near)
                : fth_fail(error, FTH_INVALID, "choose bench", name,
                           "no such bench; see 'fathom bench --help'");
}

bool fth_bench_ended_early(enum fth_status status)
{
    return status == FTH_INTERRUPTED || status == FTH_UNAVAILABLE;
}

/* Notes in the last series that points are missing, and why. Returns the status of the bench, or
 * FTH_NO_MEMORY. */
static enum fth_status mark_end(struct fth_bench *bench, enum fth_status status,
                                const struct fth_error *error)
{
    char reason[sizeof error->cause + 64];
    snprintf(reason, sizeof reason, "%s%s: points are missing",
             status == FTH_INTERRUPTED ? "interrupted" : "the device failed: ",
             status == FTH_INTERRUPTED ? "" : error->cause);
    if (bench->count == 0)
        return status;
    return fth_bench_add_missing(bench, reason, NULL) == FTH_OK ? status : FTH_NO_MEMORY;
}

/* Fails if a bench was named that the device does not execute. */
static enum fth_status check_executed(const struct fth_bench_run *run,
                                      const struct fth_bench_options *options,
                                      struct fth_error *error)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->names[i], "all") != 0 && !is_executed(run, options->names[i]))
            return fth_fail(error, FTH_UNSUPPORTED, "bench", options->names[i],
                            "OpenCL devices execute only the benches latency and stream");
    return FTH_OK;
}

/* Runs the selected benches, each with its share of the progress. */
static enum fth_status run_selected(struct fth_bench_run *run,
                                    const struct fth_bench_options *options,
                                    struct fth_error *error)
{
    double all = 0, done = 0;
    for (size_t i = 0; i < FTH_COUNT(benches); i++)
        all += is_selected(run, options, benches[i].name) ? benches[i].weight : 0;
    for (size_t i = 0; i < FTH_COUNT(benches); i++) {
        if (!is_selected(run, options, benches[i].name))
            continue;
        run->from = done / all;
        done += benches[i].weight;
        run->to = done / all;
        enum fth_status status = benches[i].function(run, error);
        if (fth_bench_ended_early(status))
            status = mark_end(run->bench, status, error);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

/* Reads what the driver reports, and runs the selected benches. */
static enum fth_status fill(struct fth_bench *bench, struct fth_device *device,
                            const struct fth_bench_options *options, struct fth_error *error)
{
    FTH_TRY(fth_gpu_create(&bench->gpu, error));
    FTH_TRY(fth_device_describe(device, bench->gpu, error));
    const char *backend = fth_gpu_text(bench->gpu, "device", "backend");
    const char *kind = fth_gpu_text(bench->gpu, "device", "kind");
    struct fth_bench_run run = {
        .prober = {.device = device,
                   .log = options->log,
                   .sms = (size_t)fth_gpu_number(bench->gpu, "device", "sms", 1)},
        .gpu = bench->gpu,
        .described = bench->gpu,
        .bench = bench,
        .memory_limit = fth_memory_limit(bench->gpu),
        .l2_bytes = (uint64_t)fth_gpu_number(bench->gpu, "l2", "size_bytes", 128 << 20),
        .opencl = backend && strcmp(backend, "opencl") == 0,
        .cpu = kind && strcmp(kind, "cpu") == 0,
        .quick = backend && strcmp(backend, "simulated") == 0 && !options->thorough,
    };
    FTH_TRY(check_executed(&run, options, error));
    enum fth_status status = run_selected(&run, options, error);
    fth_log_progress(options->log, "done", 1);
    return status;
}

enum fth_status fth_bench_create(struct fth_device *device, const struct fth_bench_options *options,
                                 struct fth_bench **out, struct fth_error *error)
{
    struct fth_error ignored = FTH_NO_ERROR;
    if (!error) /* benches read the cause of an error, to report it with their results */
        error = &ignored;
    struct fth_bench_options known;
    *out = NULL;
    FTH_TRY(fth_options_read("fth_bench_options", options, &known, sizeof known, error));
    options = &known;
    for (size_t i = 0; i < options->count; i++)
        FTH_TRY(fth_bench_check_name(options->names[i], error));
    struct fth_bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return fth_no_memory(error, "store results", NULL);
    enum fth_status status = fill(bench, device, options, error);
    if (status == FTH_OK || fth_bench_ended_early(status))
        *out = bench;
    else
        fth_bench_destroy(bench);
    return status;
}
