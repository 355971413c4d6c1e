/* Measures what the optimisations of an exploration save (docs/explore.md):
 * - two threads compared with one;
 * - L1s of 1 to 16 ways in one pass, and L2s behind one L1, compared with a separate run per value;
 *   the results must be equal;
 * - models of the preset `rdgc` that are not run because several points share one model.
 * Times are processor seconds where possible, because other load on the machine affects them less
 * than elapsed time. */
#include "clock.h"
#include "fathom/fathom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_VALUES = 16 };

static void fail(const struct fth_error *error)
{
    char text[600];
    fprintf(stderr, "%s\n", fth_error_text(error, text, sizeof text));
    exit(1);
}

/* Traces a workload and writes the trace to a new file. `path` is a template for mkstemp and gets
 * the name of the file. */
static void make_trace(const char *folder, const char *workload, const char *size, char *path)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_launch *launch;
    char file[512];
    snprintf(file, sizeof file, "%s/%s.json", folder, workload);
    close(mkstemp(path));
    if (fth_launch_read(file, &size, 1, &launch, &error) != FTH_OK ||
        fth_launch_trace(launch, path, NULL, NULL, &error) != FTH_OK)
        fail(&error);
    fth_launch_destroy(launch);
}

/* Creates an exploration of one trace. `settings` are pairs of a parameter and its value, `varies`
 * are parameters to vary, as for --vary. NULL ends each list. */
static struct fth_exploration *make_exploration(const char *trace, const char *const *settings,
                                                const char *const *varies)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params;
    struct fth_exploration *exploration = NULL;
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_explore_create(params, &exploration, &error) != FTH_OK ||
        fth_explore_trace(exploration, trace, NULL, NULL, &error) != FTH_OK)
        fail(&error);
    for (; *settings; settings += 2)
        if (fth_explore_set(exploration, settings[0], settings[1], &error) != FTH_OK)
            fail(&error);
    for (; *varies; varies++)
        if (fth_explore_vary(exploration, *varies, &error) != FTH_OK)
            fail(&error);
    fth_model_params_destroy(params);
    return exploration;
}

/* Runs the exploration and returns the processor seconds that it took. */
static double run(struct fth_exploration *exploration, unsigned threads,
                  struct fth_explore_outcome *outcome)
{
    struct fth_error error = FTH_NO_ERROR;
    const double spent = processor_seconds();
    if (fth_explore_run(exploration,
                        &(struct fth_explore_options)FTH_EXPLORE_OPTIONS(.threads = threads),
                        outcome, &error) != FTH_OK)
        fail(&error);
    return processor_seconds() - spent;
}

/* Runs the exploration and returns the elapsed seconds. */
static double measure_threads(struct fth_exploration *exploration, unsigned threads)
{
    struct fth_explore_outcome outcome;
    const double start = now();
    const double spent = run(exploration, threads, &outcome);
    const double seconds = now() - start;
    printf("  %u thread%s  %7.3f s  %7.3f s of processor time\n", threads, threads == 1 ? " " : "s",
           seconds, spent);
    fth_free(outcome.text);
    return seconds;
}

static void measure_scaling(const char *folder)
{
    char trace[] = "/tmp/fathom-speed-explore-XXXXXX";
    static const char *const varies[] = {"l1.size_bytes=8K,16K,32K,64K", "l1.policy=lru,fifo",
                                         "gpu.mapping=rr,bpart1", NULL};
    make_trace(folder, "mvt", "N=512", trace);
    struct fth_exploration *exploration =
        make_exploration(trace, (const char *const[]){NULL}, varies);
    const double one = measure_threads(exploration, 1), two = measure_threads(exploration, 2);
    printf("16 points of MVT: one thread takes %.2f times as long as two (cores: %ld)\n", one / two,
           sysconf(_SC_NPROCESSORS_ONLN));
    fth_explore_destroy(exploration);
    unlink(trace);
}

/* Finds the results of a point, "rows", in the JSON lines of an exploration. *size gets their size
 * in bytes, without the checksum that follows. */
static const char *rows_of(const char *text, size_t point, size_t *size)
{
    for (size_t i = 0; i <= point; i++)
        text = strchr(text, '\n') + 1;
    const char *rows = strstr(text, "\"rows\"");
    *size = (size_t)(strstr(rows, ",\"check\"") - rows);
    return rows;
}

/* Compares one exploration over all values of a parameter with a separate run per value. `name`
 * ends with '='. Exits if the results differ. */
static void measure_together(const char *trace, const char *what, const char *const *settings,
                             const char *name, const char *const *values, size_t count)
{
    struct fth_explore_outcome together, alone;
    char all[400] = "";
    double separate = 0;
    size_t same = 0;
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "," : name, values[i]);
    struct fth_exploration *exploration =
        make_exploration(trace, settings, (const char *const[]){all, NULL});
    const double combined = run(exploration, 1, &together);
    fth_explore_destroy(exploration);
    for (size_t i = 0; i < count; i++) {
        size_t size, other_size;
        snprintf(all, sizeof all, "%s%s", name, values[i]);
        exploration = make_exploration(trace, settings, (const char *const[]){all, NULL});
        separate += run(exploration, 1, &alone);
        const char *rows = rows_of(alone.text, 0, &size);
        const char *other = rows_of(together.text, i, &other_size);
        same += size == other_size && memcmp(rows, other, size) == 0;
        fth_free(alone.text);
        fth_explore_destroy(exploration);
    }
    printf(
        "%s: separate runs %.3f s of processor time, together %.3f s, %.1f times less; %zu of %zu "
        "results equal; L1s in one pass: %zu, L1s of another job: %zu\n",
        what, separate, combined, separate / combined, same, count, together.l1_one_pass,
        together.l1_shared);
    fth_free(together.text);
    if (same != count)
        exit(1);
}

static void measure_sharing(const char *folder)
{
    char trace[] = "/tmp/fathom-speed-explore-XXXXXX";
    /* The L1 of the preset's baseline, except for its size. */
    static const char *const l1[] = {
        "gpu.sms", "8", "l2.partitions", "4",   "l2.banks",        "2", "l1.sets", "32",
        "l1.ways", "0", "l1.bypass",     "won", "l1.sector_bytes", "0", NULL};
    static const char *const allocating[] = {"gpu.sms", "8",  "l2.partitions", "4", "l2.banks", "2",
                                             "l1.sets", "32", "l1.ways",       "0", NULL};
    static const char *const none[] = {NULL};
    static const char *const sizes[] = {"256K", "512K", "1M", "2M", "4M", "8M"};
    static char texts[MAX_VALUES][8];
    const char *ways[MAX_VALUES];
    for (int i = 0; i < MAX_VALUES; i++) {
        snprintf(texts[i], sizeof texts[i], "%dK", 4 * (i + 1));
        ways[i] = texts[i];
    }
    make_trace(folder, "2mm", "N=128", trace);
    measure_together(trace, "L1s of 1 to 16 ways, 2MM", l1, "l1.size_bytes=", ways, MAX_VALUES);
    measure_together(trace, "... without inclusion, because writes allocate lines", allocating,
                     "l1.size_bytes=", ways, MAX_VALUES);
    measure_together(trace, "6 L2s behind one L1, 2MM", none, "l2.size_bytes=", sizes, 6);
    unlink(trace);
}

static void measure_preset(const char *folder)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_model_params *params;
    struct fth_exploration *exploration = NULL;
    struct fth_explore_outcome outcome;
    static const char *const small[] = {"N=32"};
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = small, .size_count = 1);
    size_t jobs;
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_explore_create(params, &exploration, &error) != FTH_OK ||
        fth_explore_preset(exploration, "rdgc", folder, &options, NULL, &error) != FTH_OK)
        fail(&error);
    run(exploration, 0, &outcome);
    const size_t points = fth_explore_points(exploration, &jobs);
    printf(
        "preset rdgc: %zu points, %zu models: one point in %.1f needs no model of its own; L1s in "
        "one pass: %zu, L1s of another job: %zu\n",
        points, jobs, (double)points / (double)(points - jobs), outcome.l1_one_pass,
        outcome.l1_shared);
    fth_free(outcome.text);
    fth_model_params_destroy(params);
    fth_explore_destroy(exploration);
}

int main(int count, char *words[])
{
    const char *folder = count > 1 ? words[1] : "examples/workloads";
    measure_scaling(folder);
    measure_sharing(folder);
    measure_preset(folder);
    return 0;
}
