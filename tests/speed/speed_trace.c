/* Measures the cost of tracing:
 * - warp accesses per second on one core, compared with the same launch without a trace;
 * - bytes per access on disk, compared with the tuples of the RDGC paper (Kiani and Rajabzadeh),
 *   which its own reduction makes 2.3 times smaller;
 * - the speed of a trace without the data that no access depends on;
 * - the maximum memory of 2DCONV with 16 M threads. */
#include "fathom/fathom.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *name, const struct fth_error *error)
{
    char text[600];
    fprintf(stderr, "%s: %s\n", name, fth_error_text(error, text, sizeof text));
    exit(1);
}

/* Bytes per thread access in the trace files of the paper, which have one tuple per line. As text,
 * "AN BID TID S ADD\n" has about 30 characters. */
#define TUPLE_BYTES 30.0

/* Processor seconds since `start`. Other load on the machine does not count. */
static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Returns the number of thread accesses; the paper stores one tuple for each. 0 on failure. */
static double thread_accesses(const struct fth_trace *trace)
{
    struct fth_trace_stats *stats;
    const struct fth_trace_row *row;
    double total = 0;
    if (fth_trace_stats_create(trace, NULL, &stats, NULL) != FTH_OK)
        return 0;
    for (size_t i = 0; (row = fth_trace_stats_row(stats, i)); i++)
        for (int kind = 0; kind < 3 && !row->instruction; kind++)
            total += (double)row->accesses[kind];
    fth_trace_stats_destroy(stats);
    return total;
}

/* Returns the processor seconds of a trace without the data that no access depends on. */
static double trace_without_data(const char *file, const char *size, const char *path)
{
    const struct fth_launch_options launch = FTH_LAUNCH_OPTIONS(.sizes = &size, .size_count = 1);
    const struct fth_trace_options options =
        FTH_TRACE_OPTIONS(.launch = &launch, .output = path, .threads = 1);
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    const clock_t start = clock();
    if (fth_trace_obtain(file, &options, &trace, &error) != FTH_OK)
        fail(file, &error);
    const double seconds = seconds_since(start);
    fth_trace_close(trace);
    return seconds;
}

/* Runs a workload without and with a trace, writes the trace to `path`, and prints a row. */
static void measure(const char *folder, const char *name, const char *size, const char *path)
{
    struct fth_launch *launch;
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_run_options one = FTH_RUN_OPTIONS(.threads = 1);
    char file[512];
    snprintf(file, sizeof file, "%s/%s.json", folder, name);
    if (fth_launch_read(file, &size, 1, &launch, &error) != FTH_OK)
        fail(name, &error);
    clock_t start = clock();
    if (fth_launch_run(launch, &one, NULL, &error) != FTH_OK)
        fail(name, &error);
    double untraced = seconds_since(start);
    start = clock();
    if (fth_launch_trace(launch, path, &one, NULL, &error) != FTH_OK)
        fail(name, &error);
    double traced = seconds_since(start);
    if (fth_trace_open(path, &trace, &error) != FTH_OK)
        fail(name, &error);
    double accesses = 0;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++)
        accesses += (double)fth_trace_launch_at(trace, i)->accesses;
    double bytes = (double)fth_trace_bytes(trace);
    printf(
        "%-8s %-7s %6.2f M accesses/s traced, %.2f times as long as without a trace; %.3f bytes "
        "per access, %.0f times less than tuples (paper: 2.3); %.2f times as fast without data\n",
        name, size, 1e-6 * accesses / traced, traced / untraced, bytes / accesses,
        thread_accesses(trace) * TUPLE_BYTES / bytes,
        traced / trace_without_data(file, size, path));
    fth_trace_close(trace);
    fth_launch_destroy(launch);
}

int main(int count, char **words)
{
    char path[] = "/tmp/fathom-speed-XXXXXX";
    struct rusage usage;
    int file = mkstemp(path);
    if (count != 2 || file < 0)
        return 2;
    close(file);
    measure(words[1], "2dconv", "N=4096", path);
    getrusage(RUSAGE_SELF, &usage);
    printf("2dconv   N=4096  maximum memory %.0f MiB, including 128 of images; the limit is 2048\n",
           (double)usage.ru_maxrss / 1024);
    measure(words[1], "2mm", "N=256", path);
    measure(words[1], "atax", "N=2048", path);
    measure(words[1], "cfd", "N=193536", path);
    measure(words[1], "nw", "N=1024", path);
    unlink(path);
    return 0;
}
