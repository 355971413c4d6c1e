/* Tests explorations: the order of points and the jobs that compute them, the shard that the
 * environment selects, damaged output files, and jobs that share work. The reference for shared
 * work is a separate run of the model for each point. tests/explore/ tests several processes and
 * the merging of their files. */
#include "explore/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LAUNCH FTH_SOURCE_ROOT "/examples/workloads/atax.json"

static struct fth_exploration *create(void)
{
    struct fth_model_params *params = NULL;
    struct fth_exploration *exploration = NULL;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
    assert_int_equal(fth_explore_create(params, &exploration, &error), FTH_OK);
    fth_model_params_destroy(params);
    return exploration;
}

/* Adds a launch file with one size, such as "N=64". */
static void add_launch(struct fth_exploration *exploration, const char *path, const char *size)
{
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = &size, .size_count = 1);
    if (fth_explore_trace(exploration, path, &options, NULL, &error) != FTH_OK)
        fail_msg("%s: %s", path, error.cause);
}

static void add_trace(struct fth_exploration *exploration)
{
    add_launch(exploration, LAUNCH, "N=64");
}

static void vary(struct fth_exploration *exploration, const char *text)
{
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_explore_vary(exploration, text, &error), FTH_OK);
}

static void equal_points_share_a_job(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_point point;
    add_trace(exploration);
    vary(exploration, "l1.size_bytes=8K,8192,16K"); /* 8K and 8192 are the same value */
    vary(exploration, "l2.partitions+l2.banks=1+2,2+1");
    vary(exploration, "l2.latency=4,0.5;8");
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
    assert_int_equal(exploration->points, 12);
    assert_int_equal(exploration->jobs, 8);
    assert_int_equal(exploration->job_of[0], exploration->job_of[4]);
    assert_int_not_equal(exploration->job_of[0], exploration->job_of[8]);
    /* The last axis varies fastest. */
    fth_point_at(exploration, 7, &point);
    assert_int_equal(point.values[0], 1);
    assert_int_equal(point.values[1], 1);
    assert_int_equal(point.values[2], 1);
    assert_int_equal(fth_point_params(exploration, &point, &params, &error), FTH_OK);
    const size_t l2 = fth_model_key(FTH_MODEL_L2, FTH_KEY_SIZE);
    assert_string_equal(fth_model_value(params, l2 + FTH_KEY_PARTITIONS, NULL), "2");
    assert_string_equal(fth_model_value(params, l2 + FTH_KEY_BANKS, NULL), "1");
    assert_string_equal(fth_model_value(params, l2 + FTH_KEY_LATENCY, NULL), "8");
    fth_model_params_destroy(params);
    fth_explore_destroy(exploration);
}

static void rejects_malformed_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } faults[] = {
        {"l1.size=8K", "no such parameter"}, {"l1.size_bytes", "NAME=VALUE"},
        {"l1.size_bytes=", "not a size"},    {"l1.size_bytes=8K,8K", "twice"},
        {"l1.policy=lru,mru", "not one of"}, {"l2.partitions+l2.banks=1+2+3", "3 values for 2"},
    };
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = FTH_NO_ERROR;
        char text[600];
        assert_int_not_equal(fth_explore_vary(exploration, faults[i].text, &error), FTH_OK);
        assert_non_null(strstr(fth_error_text(&error, text, sizeof text), faults[i].cause));
        fth_explore_destroy(exploration);
    }
}

static void identity_depends_on_the_settings(void **state)
{
    (void)state;
    uint64_t identities[3];
    for (int i = 0; i < 3; i++) {
        struct fth_exploration *exploration = create();
        struct fth_error error = FTH_NO_ERROR;
        add_trace(exploration);
        vary(exploration, "l1.ways=2,4");
        if (i == 2)
            assert_int_equal(fth_explore_set(exploration, "l2.ways", "8", &error), FTH_OK);
        assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
        identities[i] = exploration->identity;
        fth_explore_destroy(exploration);
    }
    assert_true(identities[0] == identities[1]);
    assert_true(identities[0] != identities[2]);
}

/* Returns the name of the input of a point. */
static const char *input_of(const struct fth_exploration *exploration, size_t number)
{
    struct fth_point point;
    fth_point_at(exploration, number, &point);
    return point.input->name;
}

/* Traces with the same file name are the same only if their contents are. */
static void traces_with_the_same_file_name_are_distinguished(void **state)
{
    (void)state;
    char folder[] = "/tmp/fathom-test-explore-XXXXXX", paths[2][64], copy[64];
    struct fth_exploration *exploration = create();
    struct fth_error error = FTH_NO_ERROR;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
        assert_int_equal(mkdir(paths[i], 0777), 0);
        snprintf(paths[i], sizeof paths[i], "%s/%d/t.txt", folder, i);
        assert_int_equal(fth_file_write(paths[i], i ? "0 0 0 R 4\n1 0 0 R 8\n" : "0 0 0 R 4\n",
                                        i ? 20 : 10, NULL),
                         FTH_OK);
    }
    snprintf(copy, sizeof copy, "%s/./0/t.txt", folder);
    assert_int_equal(fth_explore_trace(exploration, paths[0], NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_explore_trace(exploration, paths[1], NULL, NULL, &error), FTH_OK);
    assert_int_equal(fth_explore_trace(exploration, copy, NULL, NULL, &error), FTH_OK);
    add_launch(exploration, LAUNCH, "N=64");
    add_launch(exploration, LAUNCH, "N=32");
    add_launch(exploration, LAUNCH, "N=64");
    assert_int_equal(exploration->input_count, 4);
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
    static const char *const names[] = {"t.txt",     "t.txt#2",     "t.txt",
                                        "atax.json", "atax.json#2", "atax.json"};
    assert_int_equal(exploration->points, FTH_COUNT(names));
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        assert_string_equal(input_of(exploration, i), names[i]);
    fth_explore_destroy(exploration);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        *strrchr(paths[i], '/') = '\0';
        rmdir(paths[i]);
    }
    rmdir(folder);
}

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_STEP_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
};

static void finds_the_shard_from_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *environment; /* NAME=VALUE, separated by blanks */
        size_t number, count;    /* of the shard; 0: an error */
    } cases[] = {
        {"", 1, 1},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", 3, 4},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", 1, 1},
        {"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4", 0, 0},
        {"PMI_RANK=1 PMI_SIZE=2", 2, 2},
        {"PMIX_RANK=1 SLURM_NTASKS=3", 2, 3},
        {"PMIX_RANK=1", 0, 0},
        {"SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_STEP_ID=0", 6, 8},
        {"SLURM_PROCID=0 SLURM_NTASKS=8", 1, 1}, /* a batch script outside srun */
        {"SLURM_ARRAY_TASK_ID=14 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=10 "
         "SLURM_ARRAY_TASK_STEP=2",
         3, 3},
        {"SLURM_ARRAY_TASK_ID=17 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3", 0, 0},
        {"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_ARRAY_TASK_ID=2 "
         "SLURM_ARRAY_TASK_COUNT=3",
         6, 6},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_shard shard;
        struct fth_error error = FTH_NO_ERROR;
        char text[300];
        for (size_t v = 0; v < FTH_COUNT(variables); v++)
            unsetenv(variables[v]);
        snprintf(text, sizeof text, "%s", cases[i].environment);
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
            char *equals = strchr(word, '=');
            *equals = '\0';
            setenv(word, equals + 1, 1);
        }
        const enum fth_status status = fth_shard_find(&shard, &error);
        assert_int_equal(status == FTH_OK, cases[i].count > 0);
        if (status == FTH_OK) {
            assert_int_equal(shard.number, cases[i].number);
            assert_int_equal(shard.count, cases[i].count);
        }
    }
    for (size_t v = 0; v < FTH_COUNT(variables); v++)
        unsetenv(variables[v]);
}

static void parses_shards_and_names_their_files(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "1", "0/4", "5/4", "1/", "-1/4", "1/4x", "a/b"};
    struct fth_shard shard;
    char *path = NULL;
    assert_int_equal(fth_shard_parse("2/4", &shard, NULL), FTH_OK);
    assert_int_equal(fth_shard_path("out/%r.jsonl", &shard, &path, NULL), FTH_OK);
    assert_string_equal(path, "out/2.jsonl");
    fth_free(path);
    assert_int_equal(fth_shard_path("out.jsonl", &shard, &path, NULL), FTH_OK);
    assert_string_equal(path, "out.jsonl.2");
    fth_free(path);
    for (size_t i = 0; i < FTH_COUNT(wrong); i++)
        assert_int_equal(fth_shard_parse(wrong[i], &shard, NULL), FTH_INVALID);
}

/* Changes one bit of every 37th byte of the file, one at a time: a damaged line is never read as a
 * point. */
static void damaged_lines_are_not_read_as_points(void **state)
{
    (void)state;
    char path[] = "/tmp/fathom-test-explore-XXXXXX";
    struct fth_exploration *exploration = create();
    struct fth_explore_outcome outcome;
    struct fth_error error = FTH_NO_ERROR;
    close(mkstemp(path));
    unlink(path);
    add_trace(exploration);
    vary(exploration, "l1.ways=2,4,8");
    const struct fth_explore_options options = FTH_EXPLORE_OPTIONS(.threads = 2, .output = path);
    assert_int_equal(fth_explore_run(exploration, &options, &outcome, &error), FTH_OK);
    assert_int_equal(outcome.computed, 3);
    const size_t second = (size_t)(strchr(outcome.text, '\n') + 1 - outcome.text);
    for (size_t at = second; at < outcome.size - 1; at += 37) {
        struct fth_points points;
        char *altered = malloc(outcome.size);
        memcpy(altered, outcome.text, outcome.size);
        altered[at] ^= 1;
        assert_int_equal(fth_file_write(path, altered, outcome.size, &error), FTH_OK);
        assert_int_equal(fth_points_read(path, FTH_MAX_POINTS_BYTES, &points, &error), FTH_OK);
        assert_true(points.found < 3);
        assert_true(points.damaged > 0);
        fth_points_fini(&points);
        free(altered);
    }
    /* Another run repairs the last of these files and computes only the damaged points. */
    struct fth_explore_outcome again;
    assert_int_equal(fth_explore_run(exploration, &options, &again, &error), FTH_OK);
    assert_int_equal(again.computed + again.found, 3);
    assert_true(again.found > 0);
    assert_string_equal(again.text, outcome.text);
    fth_free(outcome.text);
    fth_free(again.text);
    fth_explore_destroy(exploration);
    unlink(path);
}

/* Runs the model with an L1 of 32 sets. Returns the row of the first kernel, which *result owns. */
static const struct fth_model_row *model(const struct fth_trace *trace, unsigned ways,
                                         struct fth_model_result **result)
{
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char size[24], text[24];
    snprintf(size, sizeof size, "%uK", 4 * ways);
    snprintf(text, sizeof text, "%u", ways);
    const char *const settings[][2] = {
        {"gpu.sms", "2"},    {"l1.size_bytes", size},  {"l1.ways", text},
        {"l1.ports", "1"},   {"l1.sector_bytes", "0"}, {"l1.bypass", "won"},
        {"l1.latency", "1"}, {"l1.mshr_size", "0"},    {"l1.index", "mod"},
    };
    assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(settings); i++)
        assert_int_equal(fth_model_set(params, settings[i][0], settings[i][1], &error), FTH_OK);
    assert_int_equal(fth_model_run(trace, params, NULL, result, &error), FTH_OK);
    fth_model_params_destroy(params);
    return fth_model_row(*result, 0);
}

/* LRU inclusion: the hits of an L1 with fewer ways and the same sets follow from the profile of an
 * L1 with 16 ways, as long as no request merges or fails. */
static void lru_profile_gives_the_hits_of_fewer_ways(void **state)
{
    (void)state;
    struct fth_exploration *exploration = create();
    struct fth_model_result *wide = NULL;
    add_trace(exploration);
    const struct fth_trace *trace = exploration->inputs[0].trace;
    const struct fth_model_row *row = model(trace, 16, &wide);
    uint64_t hits = 0, last = UINT64_MAX, different = 0;
    for (unsigned ways = 1; ways <= 16; ways++) {
        struct fth_model_result *narrow = NULL;
        hits += row->l1_profile[0].counts[ways - 1];
        assert_int_equal(model(trace, ways, &narrow)->l1.hits[FTH_TRACE_READ], hits);
        different += hits != last;
        last = hits;
        fth_model_result_destroy(narrow);
    }
    assert_true(different > 2); /* otherwise the comparison would show nothing */
    fth_model_result_destroy(wide);
    fth_explore_destroy(exploration);
}

/* Compares the lines of an exploration with a separate run of the model for each point. */
static void compare_lines(const struct fth_exploration *exploration, const char *text)
{
    struct fth_error error = FTH_NO_ERROR;
    const char *line = strchr(text, '\n') + 1;
    for (size_t i = 0; i < exploration->points; i++) {
        struct fth_point point;
        struct fth_model_params *params = NULL;
        struct fth_model_result *result = NULL;
        struct fth_buffer own = {0};
        fth_point_at(exploration, i, &point);
        assert_int_equal(fth_point_params(exploration, &point, &params, &error), FTH_OK);
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.threads = 1, .bypassed = point.study->l1_off,
                              .kernel = point.kernel);
        assert_int_equal(fth_model_run(point.input->trace, params, &options, &result, &error),
                         FTH_OK);
        fth_line_write(&own, &point, result, params);
        fth_buffer_text(&own, "\n");
        assert_true(strlen(line) >= own.size);
        if (memcmp(line, own.data, own.size) != 0)
            fail_msg("together: %.*sseparately: %s", (int)strcspn(line, "\n") + 1, line, own.data);
        line += own.size;
        fth_buffer_fini(&own);
        fth_model_result_destroy(result);
        fth_model_params_destroy(params);
    }
    assert_int_equal(*line, '\0');
}

/* An exploration whose points share work. */
struct sharing_case {
    const char *workload, *size;
    const char *set[3], *vary[3];
    bool l1_off;
    bool one_pass;      /* some L1s that differ only in their ways run in one pass */
    bool some_separate; /* and some points must still run separately */
    const char *timed;  /* y or n for each point: whether it runs with time. NULL: none does */
};

static const struct sharing_case sharing_cases[] = {
    /* Points that share the reading of the trace, the L1s or the requests to the L2. */
    {"atax",
     "N=96",
     {"gpu.sms=3"},
     {"l1.line_bytes=32,128", "l2.size_bytes=64K,256K", "l2.line_bytes=64,128"},
     true,
     false,
     false,
     NULL},
    {"mvt",
     "N=96",
     {"gpu.sms=3", "l2.sides=2"},
     {"l1.policy=lru,random", "l2.joins=none;0,0,1", "l2.latency=1;a2"},
     true,
     false,
     false,
     NULL},
    {"2dconv",
     "N=64",
     {"gpu.sms=3", "gpu.max_warps=16"},
     {"gpu.mapping=rr,rand,shuffle", "gpu.seed=1,2", "l2.policy=lru,fifo"},
     true,
     false,
     false,
     NULL},
    {"corr",
     "N=48",
     {"gpu.sms=4"},
     {"l1.bypass=off,won,rwon", "l2.partitions+l2.banks=1+1,2+2", "l2.mshr_size=1,32"},
     true,
     false,
     false,
     NULL},
    /* Rounds in which the L2 has a single request. */
    {"corr",
     "N=96",
     {"gpu.sms=8", "gpu.max_blocks=8"},
     {"l1.bypass=won", "l2.size_bytes=128K,1M", "l2.partitions+l2.banks=1+1,4+2"},
     true,
     false,
     false,
     NULL},
    /* L1s in one pass, with 16 sets of 1 to 9 ways; then with 4 sets. */
    {"atax",
     "N=96",
     {"l1.bypass=won", "l1.sets=16", "gpu.sms=3"},
     {"l1.size_bytes=2K,4K,6K,8K,18K", "l1.sector_bytes=0,32", "l1.latency=1;a2"},
     true,
     true,
     false,
     NULL},
    {"gramschm",
     "N=32",
     {"l1.bypass=won", "l1.sets=16", "l1.sector_bytes=0"},
     {"l1.size_bytes=2K,4K,6K,8K,18K", "l1.merged=hit,miss", "l1.ports=1,2,3"},
     false,
     true,
     false,
     NULL},
    {"nw",
     "N=64",
     {"l1.bypass=won", "l1.sets=16", "l1.sector_bytes=0"},
     {"l1.size_bytes=2K,4K,6K,8K,18K", "l1.latency=1;a4;40", "l1.index=mod,prime"},
     false,
     true,
     true,
     NULL},
    {"2mm",
     "N=48",
     {"l1.bypass=won", "l1.sets=4", "l1.sector_bytes=0"},
     {"l1.size_bytes=512,1K,2K,4K,8K", "l1.mshr_size=0,1,2,32", "l1.mshr_merges=0,1"},
     false,
     true,
     true,
     NULL},
    /* Never in one pass: written lines stay in the L1 (off), or all accesses bypass it
     * (rwon). */
    {"atax",
     "N=96",
     {"l1.sets=16", "l1.sector_bytes=0"},
     {"l1.size_bytes=2K,4K,8K", "l1.bypass=off,rwon", "l1.policy=lru,fifo"},
     false,
     false,
     false,
     NULL},
    /* Points with time, which share nothing, and points without time between them. */
    {"atax",
     "N=96",
     {"gpu.sms=3", "l2.sides=2", "l2.joins=0,0,1"},
     {"gpu.timing=auto,off", "l2.size_bytes=64K,256K", "l1.size_bytes=4K,16K"},
     true,
     false,
     false,
     "yyyynnnn"},
    {"mvt",
     "N=96",
     {"gpu.sms=4"},
     {"l1.policy=lru,random", "gpu.timing=off,on", "l1.bypass=off,won"},
     false,
     false,
     false,
     "nnyynnyy"},
};

/* What the model with time needs. */
static const char *const times[][2] = {
    {"l1.latency_cycles", "30"}, {"l2.latency_cycles", "200"},   {"memory.latency_cycles", "600"},
    {"l2.bytes_per_s", "5e12"},  {"memory.bytes_per_s", "3e12"}, {"gpu.clock_hz", "1.5e9"}};

/* Creates the exploration of a case, without running it. */
static struct fth_exploration *create_case(const struct sharing_case *each)
{
    struct fth_exploration *exploration = create();
    struct fth_error error = FTH_NO_ERROR;
    char path[300];
    snprintf(path, sizeof path, FTH_SOURCE_ROOT "/examples/workloads/%s.json", each->workload);
    for (size_t k = 0; k < 3 && each->set[k]; k++) {
        char name[40];
        const char *equals = strchr(each->set[k], '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - each->set[k]), each->set[k]);
        assert_int_equal(fth_explore_set(exploration, name, equals + 1, &error), FTH_OK);
    }
    for (size_t k = 0; each->timed && k < FTH_COUNT(times); k++)
        assert_int_equal(fth_explore_set(exploration, times[k][0], times[k][1], &error), FTH_OK);
    if (strncmp(each->vary[0], "l1.size_bytes", 13) == 0)
        assert_int_equal(fth_explore_set(exploration, "l1.ways", "0", &error), FTH_OK);
    add_launch(exploration, path, each->size);
    for (size_t k = 0; k < 3; k++)
        vary(exploration, each->vary[k]);
    fth_explore_scope(exploration, each->l1_off);
    return exploration;
}

/* Checks the member "timed" of the lines of all points. */
static void check_timed(const struct fth_exploration *exploration, const char *text,
                        const char *timed)
{
    const char *line = strchr(text, '\n') + 1;
    assert_true(!timed || strlen(timed) == exploration->points);
    for (size_t i = 0; i < exploration->points; i++, line = strchr(line, '\n') + 1) {
        char copy[20000];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        const bool with_time = timed && timed[i] == 'y';
        assert_non_null(strstr(copy, with_time ? "\"timed\": true" : "\"timed\": false"));
        assert_int_equal(strstr(copy, "\"time_us\": ") != NULL, with_time);
        assert_int_equal(strstr(copy, "\"l1_steps\": ") != NULL, !with_time);
    }
}

/* Sharing work between points does not change their results. */
static void sharing_work_does_not_change_results(void **state)
{
    (void)state;
    size_t shared = 0;
    for (size_t i = 0; i < FTH_COUNT(sharing_cases); i++) {
        const struct sharing_case *each = &sharing_cases[i];
        struct fth_exploration *exploration = create_case(each);
        struct fth_explore_outcome outcome;
        struct fth_error error = FTH_NO_ERROR;
        assert_int_equal(
            fth_explore_run(exploration,
                            &(struct fth_explore_options)FTH_EXPLORE_OPTIONS(.threads = 1),
                            &outcome, &error),
            FTH_OK);
        compare_lines(exploration, outcome.text);
        check_timed(exploration, outcome.text, each->timed);
        assert_int_equal(outcome.l1_one_pass > 0, each->one_pass);
        shared += outcome.l1_shared;
        if (each->some_separate)
            assert_true(outcome.l1_one_pass < outcome.jobs);
        fth_free(outcome.text);
        fth_explore_destroy(exploration);
    }
    assert_true(shared > 0);
}

/* Every block runs, whatever the mapping of blocks to SMs. The launch has about 128 waves, which
 * the model does not read all at once. */
static void every_mapping_runs_all_blocks(void **state)
{
    (void)state;
    static const char *const mappings[] = {"rr", "bpart2", "rand", "shuffle", "0,1,1"};
    struct fth_exploration *exploration = create();
    struct fth_error error = FTH_NO_ERROR;
    uint64_t requests = 0;
    add_launch(exploration, FTH_SOURCE_ROOT "/examples/workloads/2dconv.json", "N=256");
    for (size_t i = 0; i < FTH_COUNT(mappings); i++) {
        struct fth_model_params *params = NULL;
        struct fth_model_result *result = NULL;
        assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
        assert_int_equal(fth_model_set(params, "gpu.sms", "2", &error), FTH_OK);
        assert_int_equal(fth_model_set(params, "gpu.max_warps", "8", &error), FTH_OK);
        assert_int_equal(fth_model_set(params, "gpu.mapping", mappings[i], &error), FTH_OK);
        assert_int_equal(fth_model_run(exploration->inputs[0].trace, params, NULL, &result, &error),
                         FTH_OK);
        const uint64_t seen = fth_model_row(result, 0)->l1.requests[FTH_TRACE_READ];
        requests = i ? requests : seen;
        assert_true(seen > 0 && seen == requests);
        fth_model_result_destroy(result);
        fth_model_params_destroy(params);
    }
    fth_explore_destroy(exploration);
}

static void preset_has_the_configurations_of_the_paper(void **state)
{
    (void)state;
    static const char *const sizes[] = {"N=32"};
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = sizes, .size_count = 1);
    struct fth_exploration *exploration = create();
    struct fth_error error = FTH_NO_ERROR;
    assert_string_equal(fth_explore_preset_at(0), "rdgc");
    assert_int_equal(fth_explore_preset(exploration, "rdgc", FTH_SOURCE_ROOT "/examples/workloads",
                                        &options, NULL, &error),
                     FTH_OK);
    assert_int_equal(fth_plan_complete(exploration, &error), FTH_OK);
    /* The configurations of Section 5.3 of RDGC, and 40 of Section 5.1. */
    assert_int_equal(exploration->points, 263 + 40);
    /* They are those of the model without time, also if the description has times. */
    for (size_t i = 0; i < exploration->points; i++) {
        struct fth_point point;
        struct fth_model_params *params = NULL;
        const char *reason = NULL;
        fth_point_at(exploration, i, &point);
        assert_int_equal(fth_point_params(exploration, &point, &params, &error), FTH_OK);
        assert_false(fth_model_timed(params, &reason));
        assert_string_equal(reason, "gpu.timing is off");
        fth_model_params_destroy(params);
    }
    fth_explore_destroy(exploration);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_points_share_a_job),
        cmocka_unit_test(rejects_malformed_parameters),
        cmocka_unit_test(identity_depends_on_the_settings),
        cmocka_unit_test(traces_with_the_same_file_name_are_distinguished),
        cmocka_unit_test(finds_the_shard_from_the_environment),
        cmocka_unit_test(parses_shards_and_names_their_files),
        cmocka_unit_test(damaged_lines_are_not_read_as_points),
        cmocka_unit_test(lru_profile_gives_the_hits_of_fewer_ways),
        cmocka_unit_test(sharing_work_does_not_change_results),
        cmocka_unit_test(every_mapping_runs_all_blocks),
        cmocka_unit_test(preset_has_the_configurations_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
