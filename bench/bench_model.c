/* Measures the speed of the cache model on one core:
 * - sectors per second of the whole model, on traces of 24 to 43 million sectors (SRAD: 12), and
 *   of counting the accesses of the same trace, as 'fathom trace' does;
 * - the slowdown relative to the H200 (tests/model/h200-counters.csv), next to the slowdown in the
 *   RDGC paper (Kiani and Rajabzadeh);
 * - exact stack distances, compared with a set-associative cache on the same references. */
#include "cache/cache.h"
#include "mix.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *name, const struct fth_error *error)
{
    char text[600];
    fprintf(stderr, "%s: %s\n", name, fth_error_text(error, text, sizeof text));
    exit(1);
}

static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Returns the model parameters of a GPU of the catalogue. The caller destroys them. */
static struct fth_model_params *params_of(const char *name)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK ||
        fth_catalogue_read(catalogue, name, NULL, &gpu, &error) != FTH_OK ||
        fth_model_params_create(gpu, &params, &error) != FTH_OK)
        fail(name, &error);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return params;
}

/* Returns the seconds that all kernels of a workload took on the H200. */
static double gpu_seconds(const char *root, const char *name)
{
    char path[512], line[512], workload[64], ns[32];
    double sum = 0;
    snprintf(path, sizeof path, "%s/tests/model/h200-counters.csv", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line,
                   "%63[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*["
                   "^,],%*[^,],%*[^,],%31[^,\n]",
                   workload, ns) == 2 &&
            strcmp(workload, name) == 0)
            sum += strtod(ns, NULL) * 1e-9;
    }
    if (file)
        fclose(file);
    return sum;
}

/* Traces a workload, runs the model and prints a row. `paper` is the slowdown in the paper. */
static void measure(const char *root, const char *name, double paper)
{
    struct fth_launch *launch;
    struct fth_trace *trace;
    struct fth_trace_stats *stats;
    struct fth_model_result *result;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params = params_of("h200");
    char file[512], path[64];
    snprintf(file, sizeof file, "%s/examples/workloads/%s.json", root, name);
    snprintf(path, sizeof path, "/tmp/bench-model-%d", (int)getpid());
    if (fth_launch_read(file, NULL, 0, &launch, &error) != FTH_OK ||
        fth_launch_trace(launch, path, NULL, NULL, &error) != FTH_OK ||
        fth_trace_open(path, &trace, &error) != FTH_OK)
        fail(name, &error);
    clock_t start = clock();
    if (fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail(name, &error);
    const double counting = seconds_since(start);
    start = clock();
    if (fth_model_run(trace, params, &(struct fth_model_options)FTH_MODEL_OPTIONS(.threads = 1),
                      &result, &error) != FTH_OK)
        fail(name, &error);
    const double spent = seconds_since(start);
    double sectors = 0;
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        for (int kind = 0; kind < 3 && !row->instruction && row->launch == SIZE_MAX; kind++)
            sectors += (double)row->l1.sectors[kind];
    const double gpu = gpu_seconds(root, name);
    printf("%-8s %5.1f M sectors  %6.1f M/s  (counting %6.1f M/s)  %7.0f times as long as the H200 "
           "(paper: %.0f)\n",
           name, sectors / 1e6, sectors / spent / 1e6, sectors / counting / 1e6, spent / gpu,
           paper);
    fth_model_result_destroy(result);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
    fth_model_params_destroy(params);
    unlink(path);
}

static void measure_distances(void)
{
    enum { COUNT = 20 << 20, BATCH = 4096 };
    uint64_t *lines = malloc((size_t)COUNT * sizeof *lines);
    struct fth_distances *distances;
    struct fth_cache *cache;
    if (!lines || !mix_fill(lines, COUNT, 1) || fth_distances_create(&distances, NULL) != FTH_OK ||
        fth_cache_create(&(struct fth_cache_config){.line_bytes = 128, .sets = 1024, .ways = 16},
                         &cache, NULL) != FTH_OK)
        exit(1);
    clock_t start = clock();
    for (size_t i = 0; i < COUNT; i += BATCH)
        if (!fth_distances_add(distances, lines + i, BATCH, NULL))
            exit(1);
    const double exact = seconds_since(start);
    start = clock();
    fth_cache_read_lines(cache, lines, COUNT, NULL);
    const double set_associative = seconds_since(start);
    printf("exact stack distances %.1f M/s, one set-associative level %.1f M/s, on %.0f M "
           "references\n",
           COUNT / exact / 1e6, COUNT / set_associative / 1e6, COUNT / 1e6);
    fth_distances_destroy(distances);
    fth_cache_destroy(cache);
    free(lines);
}

int main(int argc, char **argv)
{
    /* The slowdowns relative to a GTX 970 from Table 4 of the RDGC paper. */
    static const struct {
        const char *name;
        double paper;
    } workloads[] = {{"2dconv", 212000}, {"3dconv", 69200}, {"2mm", 59200}, {"syr2k", 80300},
                     {"gesummv", 64800}, {"fdtd", 58400},   {"srad", 11400}};
    if (argc != 2)
        return 2;
    measure_distances();
    for (size_t i = 0; i < FTH_COUNT(workloads); i++)
        measure(argv[1], workloads[i].name, workloads[i].paper);
    return 0;
}
