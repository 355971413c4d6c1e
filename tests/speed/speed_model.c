/* Measures the speed of the cache model on one core:
 * - one cache level (1,024 sets of 16 ways) and exact stack distances, in references per second on
 *   those of mix.h, compared with the plain cache of plain_lru.h;
 * - sectors per second of the whole model, on traces of 24 to 43 million sectors (SRAD: 12),
 *   compared with counting the accesses of the same trace, as 'fathom trace' does;
 * - sectors per second of the model with time, compared with the model without time;
 * - the slowdown relative to the H200 (tests/model/h200-counters.csv), next to the slowdown in the
 *   RDGC paper (Kiani and Rajabzadeh). */
#include "mix.h"
#include "model/level/level.h"
#include "plain_lru.h"

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

/* Runs the model with gpu.timing set to `timing`, on one thread. Returns the processor time in
 * seconds, and in *sectors the sectors that warps request. */
static double run_model(const char *name, const struct fth_trace *trace, const char *timing,
                        double *sectors)
{
    struct fth_model_result *result;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params = params_of("h200");
    if (fth_model_set(params, "gpu.timing", timing, &error) != FTH_OK)
        fail(name, &error);
    const clock_t start = clock();
    if (fth_model_run(trace, params, &(struct fth_model_options)FTH_MODEL_OPTIONS(.threads = 1),
                      &result, &error) != FTH_OK)
        fail(name, &error);
    const double spent = seconds_since(start);
    const struct fth_model_row *row;
    *sectors = 0;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        for (int kind = 0; kind < 3 && !row->instruction && row->launch == SIZE_MAX; kind++)
            *sectors += (double)row->l1.sectors[kind];
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
    return spent;
}

/* Traces a workload, runs the models and prints two rows. `paper` is the slowdown in the paper. */
static void measure(const char *root, const char *name, double paper)
{
    struct fth_launch *launch = NULL;
    struct fth_trace *trace = NULL;
    struct fth_trace_stats *stats = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char file[512], path[64];
    snprintf(file, sizeof file, "%s/examples/workloads/%s.json", root, name);
    snprintf(path, sizeof path, "/tmp/fathom-speed-model-%d", (int)getpid());
    if (fth_launch_read(file, NULL, 0, &launch, &error) != FTH_OK ||
        fth_launch_trace(launch, path, NULL, NULL, &error) != FTH_OK ||
        fth_trace_open(path, &trace, &error) != FTH_OK)
        fail(name, &error);
    const clock_t start = clock();
    if (fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail(name, &error);
    const double counting = seconds_since(start);
    double sectors, timed_sectors;
    const double spent = run_model(name, trace, "off", &sectors);
    const double timed = run_model(name, trace, "on", &timed_sectors);
    const double gpu = gpu_seconds(root, name);
    printf(
        "%-8s %5.1f M sectors  %6.1f M/s, counting %6.1f M/s, ratio %.2f; %7.0f times as long as "
        "the H200 (paper: %.0f)\n",
        name, sectors / 1e6, sectors / spent / 1e6, sectors / counting / 1e6, counting / spent,
        spent / gpu, paper);
    printf("%-8s with time        %6.1f M/s, without time %6.1f M/s, ratio %.2f\n", name,
           timed_sectors / timed / 1e6, sectors / spent / 1e6, spent / timed);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
    unlink(path);
}

/* ---- parts of the model ---- */

enum { REFERENCES = 4 << 20, SETS = 1024, WAYS = 16 };

/* The rate of a part of the model, next to that of the plain cache on the same references. */
static void print_part(const char *what, double spent, double reference)
{
    printf("%-40s %6.1f M references/s, a plain LRU cache %6.1f, ratio %.2f\n", what,
           REFERENCES / spent / 1e6, REFERENCES / reference / 1e6, reference / spent);
}

/* Reads whole lines in groups as large as those that four warps with 32 lines each issue. Returns
 * the hits. */
static uint64_t run_level(const uint64_t *lines)
{
    enum { GROUP = 128, LINE = 128, SECTOR = 32 };
    const struct fth_shape shape = {.line_bytes = LINE,
                                    .sector_bytes = SECTOR,
                                    .fill_bytes = SECTOR,
                                    .line_shift = 7,
                                    .sector_shift = 5,
                                    .sets = SETS,
                                    .ways = WAYS,
                                    .lines = (uint64_t)SETS * WAYS,
                                    .partitions = 1,
                                    .banks = 1,
                                    .ports = 2,
                                    .partition_bytes = LINE,
                                    .bank_bytes = LINE,
                                    .index = "mod",
                                    .policy = "lru",
                                    .merged_hits = true,
                                    .mshr_sets = 1,
                                    .latency_fixed = 1,
                                    .write = FTH_WRITE_THROUGH};
    struct fth_cache_level *level;
    struct fth_model_counts counts = {0};
    if (fth_cache_level_create(&shape, &level, NULL) != FTH_OK)
        exit(1);
    for (size_t i = 0; i < REFERENCES; i += GROUP) {
        struct fth_line_request group[GROUP];
        for (size_t k = 0; k < GROUP; k++)
            group[k] = (struct fth_line_request){.line = lines[i + k] * LINE, .sectors = 0xf};
        if (!fth_cache_level_run(level, group, GROUP, NULL, &counts, NULL))
            exit(1);
    }
    fth_cache_level_destroy(level);
    return counts.hits[FTH_TRACE_READ] / (LINE / SECTOR);
}

static void run_distances(const uint64_t *lines)
{
    enum { PIECE = 4096 };
    struct fth_distances *distances;
    if (fth_distances_create(&distances, NULL) != FTH_OK)
        exit(1);
    for (size_t i = 0; i < REFERENCES; i += PIECE)
        if (!fth_distances_add(distances, lines + i, PIECE, NULL))
            exit(1);
    fth_distances_destroy(distances);
}

static void measure_parts(void)
{
    uint64_t *lines = malloc((size_t)REFERENCES * sizeof *lines);
    struct plain_lru *plain = plain_lru_create(SETS, WAYS);
    if (!lines || !plain || !mix_fill(lines, REFERENCES, 1))
        exit(1);
    clock_t start = clock();
    const uint64_t expected = plain_lru_read(plain, lines, REFERENCES);
    const double reference = seconds_since(start);
    start = clock();
    const uint64_t hits = run_level(lines);
    print_part("one cache level, 1,024 sets of 16 ways", seconds_since(start), reference);
    start = clock();
    run_distances(lines);
    print_part("exact stack distances", seconds_since(start), reference);
    if (hits != expected) {
        fprintf(stderr, "the hits differ: %llu, %llu in the plain cache\n",
                (unsigned long long)hits, (unsigned long long)expected);
        exit(1);
    }
    plain_lru_destroy(plain);
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
    measure_parts();
    for (size_t i = 0; i < FTH_COUNT(workloads); i++)
        measure(argv[1], workloads[i].name, workloads[i].paper);
    return 0;
}
