/* Compares the requests and sectors in the traces of the workloads with hardware counters of an
 * H200 that ran the same PTX. They must be equal. h200-counters.txt describes the counters and how
 * they were obtained.
 *
 * usage: test_counters FILE [large]     FILE is h200-counters.txt. With "large", the workloads have
 *                                       the sizes of the launch files, which takes a minute;
 *                                       otherwise small sizes. */
#include "fathom/fathom.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 24, MAX_ROWS = 128, COUNTS = 6 };

static const char *const count_names[COUNTS] = {"read requests",   "read sectors",
                                                "write requests",  "write sectors",
                                                "atomic requests", "atomic sectors"};

/* The sums of the counters over all launches of a kernel. */
struct row {
    char workload[NAME], size[NAME], kernel[NAME]; /* size "-": that of the launch file */
    uint64_t launches, counts[COUNTS];
};

_Noreturn static void fail(const char *what, const struct fth_error *error)
{
    char text[600];
    printf("Bail out! %s: %s\n", what, error ? fth_error_text(error, text, sizeof text) : "");
    exit(1);
}

/* Parses a line: three names, then numbers. Returns false if it is invalid. */
static bool read_row(const char *line, struct row *row)
{
    int at = 0;
    if (sscanf(line, "%23s %23s %23s%n", row->workload, row->size, row->kernel, &at) != 3)
        return false;
    line += at;
    for (size_t i = 0; i <= COUNTS; i++) {
        char *end;
        *(i ? &row->counts[i - 1] : &row->launches) = strtoull(line, &end, 10);
        if (end == line)
            return false;
        line = end;
    }
    return *line == '\n';
}

static size_t read_rows(const char *path, struct row rows[MAX_ROWS])
{
    FILE *file = fopen(path, "r");
    char line[256];
    size_t count = 0;
    if (!file)
        fail(path, NULL);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (count == MAX_ROWS || !read_row(line, &rows[count++]))
            fail(line, NULL);
    }
    fclose(file);
    return count;
}

static struct fth_trace *trace_workload(const struct row *row, const char *path)
{
    struct fth_launch *launch;
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    const char *size = row->size;
    char file[512];
    snprintf(file, sizeof file, "%s/examples/workloads/%s.json", FTH_SOURCE_ROOT, row->workload);
    if (fth_launch_read(file, &size, strcmp(size, "-") ? 1 : 0, &launch, &error) != FTH_OK ||
        fth_launch_trace(launch, path, NULL, NULL, &error) != FTH_OK ||
        fth_trace_open(path, &trace, &error) != FTH_OK)
        fail(row->workload, &error);
    fth_launch_destroy(launch);
    return trace;
}

static bool compare(const struct row *row, const struct fth_trace_row *traced)
{
    bool equal = row->launches == traced->launches;
    if (!equal)
        printf("# %s: %" PRIu64 " launches, but %" PRIu64 " on the GPU\n", row->kernel,
               traced->launches, row->launches);
    for (size_t i = 0; i < COUNTS; i++) {
        uint64_t count = i % 2 ? traced->sectors[i / 2] : traced->requests[i / 2];
        if (count == row->counts[i])
            continue;
        printf("# %s: %" PRIu64 " %s, but %" PRIu64 " on the GPU\n", row->kernel, count,
               count_names[i], row->counts[i]);
        equal = false;
    }
    return equal;
}

/* Traces one workload and compares each of its kernels with its row. The rows of a workload are
 * consecutive. */
static bool compare_workload(const struct row *rows, size_t count, const char *path)
{
    struct fth_trace *trace = trace_workload(rows, path);
    struct fth_trace_stats *stats;
    const struct fth_trace_row *traced;
    struct fth_error error = FTH_NO_ERROR;
    bool fine = true;
    size_t kernels = 0, found = 0;
    if (fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail(rows->workload, &error);
    for (size_t i = 0; (traced = fth_trace_stats_row(stats, i)); i++) {
        kernels += !traced->instruction;
        for (size_t k = 0; k < count && !traced->instruction; k++)
            if (strcmp(rows[k].kernel, traced->kernel) == 0) {
                fine = compare(&rows[k], traced) && fine;
                found++;
            }
    }
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    if (kernels != count || found != count)
        printf("# %zu kernels, but %zu on the GPU\n", kernels, count);
    return fine && kernels == count && found == count;
}

static bool is_same_workload(const struct row *a, const struct row *b)
{
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->size, b->size) == 0;
}

int main(int count, char **arguments)
{
    static struct row rows[MAX_ROWS];
    char path[] = "/tmp/fathom-counters-XXXXXX";
    const bool large = count == 3;
    int file = mkstemp(path), number = 0;
    bool all = true;
    if (count < 2 || file < 0)
        return 2;
    close(file);
    size_t row_count = read_rows(arguments[1], rows);
    for (size_t i = 0, next; i < row_count; i = next) {
        for (next = i + 1; next < row_count && is_same_workload(&rows[i], &rows[next]);)
            next++;
        if (large != (strcmp(rows[i].size, "-") == 0))
            continue;
        bool fine = compare_workload(rows + i, next - i, path);
        printf("%s %d - %s %s\n", fine ? "ok" : "not ok", ++number, rows[i].workload, rows[i].size);
        fflush(stdout);
        all = all && fine;
    }
    printf("1..%d\n", number);
    unlink(path);
    return all ? 0 : 1;
}
