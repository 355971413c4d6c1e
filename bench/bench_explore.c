/* What exploring costs: one core against two, the read hits of L1s of 1 to 16 ways from one profile
 * against a run each, and the models that need not be run because others
 * come to the same. Processor seconds are shown beside, as a machine that does other things shows
 * in the time but not in these. */
#include "clock.h"
#include "fathom/fathom.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void fail(const struct fth_error *error)
{
    char text[600];
    fprintf(stderr, "%s\n", fth_error_text(error, text, sizeof text));
    exit(1);
}

static double processor(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static struct fth_exploration *make(const char *folder)
{
    static const char *const sizes[] = {"N=256"};
    static const char *const varies[] = {"l1.size_bytes=8K,16K,32K,64K", "l1.policy=lru,fifo",
                                         "gpu.mapping=rr,bpart1"};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params;
    struct fth_exploration *exploration;
    char path[512];
    snprintf(path, sizeof path, "%s/mvt.json", folder);
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_explore_create(params, &exploration, &error) != FTH_OK ||
        fth_explore_trace(exploration, path, sizes, 1, NULL, &error) != FTH_OK)
        fail(&error);
    for (size_t i = 0; i < sizeof varies / sizeof varies[0]; i++)
        if (fth_explore_vary(exploration, varies[i], &error) != FTH_OK)
            fail(&error);
    fth_model_params_destroy(params);
    return exploration;
}

static double run(struct fth_exploration *exploration, unsigned threads)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_explore_outcome outcome;
    const struct fth_explore_options options = {.threads = threads};
    const double start = now(), spent = processor();
    if (fth_explore_run(exploration, &options, &outcome, &error) != FTH_OK)
        fail(&error);
    const double seconds = now() - start;
    printf("  %u thread%s  %7.3f s  %7.3f s of the processor\n", threads, threads == 1 ? " " : "s",
           seconds, processor() - spent);
    fth_free(outcome.text);
    return seconds;
}

/* Processor seconds of a model with an L1 of so many ways and 32 sets. */
static double model(const struct fth_trace *trace, unsigned ways, uint64_t *hits,
                    uint64_t profile[16])
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params;
    struct fth_model_result *result;
    char size[24], text[24];
    snprintf(size, sizeof size, "%uK", 4 * ways);
    snprintf(text, sizeof text, "%u", ways);
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_model_set(params, "l1.size_bytes", size, &error) != FTH_OK ||
        fth_model_set(params, "l1.ways", text, &error) != FTH_OK ||
        fth_model_set(params, "l1.sector_bytes", "0", &error) != FTH_OK)
        fail(&error);
    const double spent = processor();
    if (fth_model_run(trace, params, NULL, &result, &error) != FTH_OK)
        fail(&error);
    const double seconds = processor() - spent;
    const struct fth_model_row *row = fth_model_row(result, 0);
    *hits = row->l1.hits[0];
    for (unsigned i = 0; i < ways && profile; i++)
        profile[i] = row->l1_profile[0].counts[i];
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
    return seconds;
}

static void measure_inclusion(const char *folder)
{
    static const char *const sizes[] = {"N=192"};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_launch *launch;
    struct fth_trace *trace;
    uint64_t profile[16], hits, sum = 0, same = 0;
    char file[512], path[] = "/tmp/fathom-bench-explore-XXXXXX";
    snprintf(file, sizeof file, "%s/2mm.json", folder);
    close(mkstemp(path));
    if (fth_launch_read(file, sizes, 1, &launch, &error) != FTH_OK ||
        fth_launch_trace(launch, path, NULL, NULL, &error) != FTH_OK ||
        fth_trace_open(path, &trace, &error) != FTH_OK)
        fail(&error);
    const double once = model(trace, 16, &hits, profile);
    double each = 0;
    for (unsigned ways = 1; ways <= 16; ways++) {
        each += model(trace, ways, &hits, NULL);
        sum += profile[ways - 1];
        same += sum == hits;
    }
    printf(
        "read hits of 2MM for 1 to 16 ways: a run each %.3f s of the processor, one profile %.3f "
        "s, %.1f times less; %llu of 16 the same\n",
        each, once, each / once, (unsigned long long)same);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
    unlink(path);
}

int main(int count, char *words[])
{
    struct fth_error error = FTH_NO_ERROR;
    size_t jobs, points;
    struct fth_exploration *exploration = make(count > 1 ? words[1] : "examples/workloads");
    const double one = run(exploration, 1), two = run(exploration, 2);
    printf("16 points of MVT: one core takes %.2f times as long as two (%ld here)\n", one / two,
           sysconf(_SC_NPROCESSORS_ONLN));
    fth_explore_destroy(exploration);
    measure_inclusion(count > 1 ? words[1] : "examples/workloads");
    struct fth_model_params *params;
    static const char *const small[] = {"N=32"};
    struct fth_explore_outcome outcome;
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_explore_create(params, &exploration, &error) != FTH_OK ||
        fth_explore_preset(exploration, "rdgc", count > 1 ? words[1] : "examples/workloads", small,
                           1, NULL, &error) != FTH_OK ||
        fth_explore_run(exploration, &(struct fth_explore_options){.threads = 0}, &outcome,
                        &error) != FTH_OK)
        fail(&error);
    points = fth_explore_points(exploration, &jobs);
    printf("preset rdgc: %zu points, %zu models: 1 in %.1f is spared\n", points, jobs,
           (double)points / (double)(points - jobs));
    fth_free(outcome.text);
    fth_model_params_destroy(params);
    fth_explore_destroy(exploration);
    return 0;
}
