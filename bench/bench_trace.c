/* What tracing costs: accesses of warps a second on one core, beside the same launch without a
 * trace; bytes an access on disk, beside those of the paper's tuples, which its own reduction
 * makes 2.3 times smaller; and the peak memory of 2DCONV with 16 M threads. */
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

/* A thread's tuple as text, "AN BID TID S ADD\n", has some 30 characters; the paper keeps one a
 * line. */
#define TUPLE_BYTES 30.0

/* Of the processor, on one thread: a machine that does other things beside must not matter. */
static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Accesses of threads, of which the paper keeps a tuple each. */
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

static void measure(const char *folder, const char *name, const char *size, const char *path)
{
    struct fth_launch *launch;
    struct fth_trace *trace;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_run_options one = {.threads = 1};
    char file[512];
    snprintf(file, sizeof file, "%s/%s.json", folder, name);
    if (fth_launch_read(file, &size, 1, &launch, &error) != FTH_OK)
        fail(name, &error);
    clock_t start = clock();
    if (fth_launch_run(launch, &one, NULL, &error) != FTH_OK)
        fail(name, &error);
    double plain = seconds_since(start);
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
    printf("%-8s %-7s %6.2f M accesses/s traced, %.2f times as long as without; %.3f bytes an "
           "access, %.0f times less than tuples (paper: 2.3)\n",
           name, size, 1e-6 * accesses / traced, traced / plain, bytes / accesses,
           thread_accesses(trace) * TUPLE_BYTES / bytes);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
}

int main(int count, char **words)
{
    char path[] = "/tmp/fathom-bench-XXXXXX";
    struct rusage usage;
    int file = mkstemp(path);
    if (count != 2 || file < 0)
        return 2;
    close(file);
    measure(words[1], "2dconv", "N=4096", path);
    getrusage(RUSAGE_SELF, &usage);
    printf("2dconv   N=4096  %.0f MiB at most, of which 128 are its images; 2048 are allowed\n",
           (double)usage.ru_maxrss / 1024);
    measure(words[1], "2mm", "N=256", path);
    measure(words[1], "atax", "N=2048", path);
    measure(words[1], "cfd", "N=193536", path);
    measure(words[1], "nw", "N=1024", path);
    unlink(path);
    return 0;
}
