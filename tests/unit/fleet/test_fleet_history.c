/* Tests of the history of a fleet: the file, and GPUs against their own earlier measurements. */
#include "made_history.h"

#include <sys/stat.h>
#include <time.h>

/* ---- the file ---- */

static void test_round_trip(void **state)
{
    (void)state;
    const double map[] = {277.9, 283.7, 278.4, 1.0 / 3};
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1), .map = map, .sms = 4});
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(2), .bandwidth = 4.6123456789e12});
    make(fleet, (struct made){.uuid = "GPU-b", .host = "node2", .time = day(1), .bandwidth = 0.1});
    assert_int_equal(keep(fleet), 3);
    fleet = load(NULL);
    assert_int_equal(fleet->gpu_count, 2);
    assert_int_equal(fleet->measurement_count, 3);
    const struct fth_fleet_measurement *first = &fleet->measurements[fleet->by_gpu[0]];
    const uint32_t bandwidth = fth_fleet_figure_find(fleet, "memory.read_bytes_per_s");
    assert_true(first->time == day(1));
    assert_string_equal(first->host, "node1");
    assert_string_equal(first->driver, "580.1");
    assert_int_equal(first->value_count, 4);
    assert_int_equal(first->fingerprint_count, 4);
    assert_memory_equal(first->fingerprint, map, sizeof map);
    assert_true(fth_fleet_find(first, bandwidth)->number == 4.61e12);
    assert_true(fth_fleet_find(first, bandwidth)->confidence == 0.5F);
    const struct fth_fleet_value *text =
        fth_fleet_find(first, fth_fleet_figure_find(fleet, "device.throttling"));
    assert_string_equal(text->text, "none");
    assert_true(isnan(text->number) && isnan(text->confidence));
    const struct fth_fleet_measurement *second = &fleet->measurements[fleet->by_gpu[1]];
    assert_true(fth_fleet_find(second, bandwidth)->number == 4.6123456789e12);
    assert_true(fth_fleet_find(&fleet->measurements[fleet->by_gpu[2]], bandwidth)->number == 0.1);
    fth_fleet_destroy(fleet);
}

/* All kinds of numbers read back as they were. */
static void test_numbers(void **state)
{
    (void)state;
    static const double numbers[] = {
        1,       0.1,  123456.789,      1e-300, 1e300, 9007199254740993.0,
        1.0 / 3, 1e15, 4503599627370.5, 0.0001, 2.5e-5};
    struct fth_fleet *fleet = new_fleet();
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        make(fleet,
             (struct made){.uuid = "GPU-a", .time = day((int)i + 1), .bandwidth = numbers[i]});
    keep(fleet);
    fleet = load(NULL);
    const uint32_t bandwidth = fth_fleet_figure_find(fleet, "memory.read_bytes_per_s");
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        assert_true(fth_fleet_find(&fleet->measurements[fleet->by_gpu[i]], bandwidth)->number ==
                    numbers[i]);
    fth_fleet_destroy(fleet);
}

/* The same measurement is stored once, also if the figures of the fleet are in another order. */
static void test_added_once(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1)});
    assert_int_equal(keep(fleet), 1);
    fleet = new_fleet();
    (void)fth_fleet_figure_index(fleet, "device.throttling"); /* another order */
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(2)});
    assert_int_equal(keep(fleet), 1);
    fleet = new_fleet();
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1), .bandwidth = 4.62e12});
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1), .host = "node2"});
    assert_int_equal(keep(fleet), 2);
}

static void test_selection(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    for (int i = 1; i <= 5; i++) {
        make(fleet, (struct made){.uuid = "GPU-a", .time = day(i)});
        make(fleet, (struct made){.uuid = "GPU-b", .time = day(i), .host = "node2"});
    }
    keep(fleet);
    const struct {
        struct fth_fleet_history_options options;
        size_t measurements;
    } cases[] = {
        {FTH_FLEET_HISTORY_OPTIONS(.gpu = "GPU-a"), 5},
        {FTH_FLEET_HISTORY_OPTIONS(.gpu = "GPU-c"), 0},
        {FTH_FLEET_HISTORY_OPTIONS(.host = "node2", .from = day(4)), 2},
        {FTH_FLEET_HISTORY_OPTIONS(.until = day(2)), 2},
        {FTH_FLEET_HISTORY_OPTIONS(.newest = 2), 4},
        {FTH_FLEET_HISTORY_OPTIONS(.gpu = "GPU-b", .newest = 3), 3},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        fleet = load(&cases[i].options);
        assert_int_equal(fleet->measurement_count, cases[i].measurements);
        fth_fleet_destroy(fleet);
    }
    /* The newest ones are meant. */
    fleet = load(&cases[5].options);
    assert_true(fleet->measurements[fleet->by_gpu[0]].time == day(3));
    fth_fleet_destroy(fleet);
}

static void count_gpu(void *user, const struct fth_fleet_history_gpu *gpu)
{
    size_t *count = user;
    if (strcmp(gpu->name, "GPU-a") == 0) {
        assert_string_equal(gpu->host, "node3"); /* that of the newest measurement */
        assert_int_equal(gpu->measurements, 3);
        assert_true(gpu->first_time == day(1) && gpu->last_time == day(3));
    } else {
        assert_string_equal(gpu->name, "node2 0000:00:06.0"); /* it has no UUID */
        assert_null(gpu->uuid);
    }
    ++*count;
}

static void test_list_and_forget(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    struct fth_fleet_history *history = NULL;
    size_t count = 0, removed = 0;
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(3), .host = "node3"});
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(1)});
    make(fleet, (struct made){.uuid = "GPU-a", .time = day(2)});
    make(fleet, (struct made){.host = "node2", .time = day(2)});
    make(fleet, (struct made){.host = "node2", .time = day(3)});
    keep(fleet);
    assert_int_equal(fth_fleet_history_open(path, &creating, &history, NULL), FTH_OK);
    assert_int_equal(fth_fleet_history_list(history, count_gpu, &count, NULL), FTH_OK);
    assert_int_equal(count, 2);
    assert_int_equal(fth_fleet_history_forget(history, day(3), &removed, NULL), FTH_OK);
    assert_int_equal(removed, 3);
    fth_fleet_history_close(history);
    fleet = load(NULL);
    assert_int_equal(fleet->measurement_count, 2);
    fth_fleet_destroy(fleet);
}

/* Executes SQL in the file. */
static void run_sql(const char *sql)
{
    sqlite3 *database = NULL;
    char *fault = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &fault) != SQLITE_OK)
        fail_msg("%s", fault);
    sqlite3_close(database);
}

/* Files that are no history are refused when they are opened, damaged rows when they are read. */
static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *cause;
        bool opens;
    } cases[] = {
        {"PRAGMA application_id = 1718904941", "database of another program", false},
        {"PRAGMA user_version = 9", "a newer fathom created it", false},
        {"CREATE TABLE odd (x)", "which a fleet history does not have", false},
        {"DELETE FROM text WHERE id = (SELECT max(id) FROM text)", "refers to no row", false},
        {"UPDATE measurement SET figures = x'ff'", "malformed", true},
        {"UPDATE measurement SET figures = x'010a00'", "malformed", true},
        {"UPDATE measurement SET figures = substr(figures, 1, length(figures) - 1)", "malformed",
         true},
        {"UPDATE measurement SET figures = 'text'", "type of its values", true},
        {"UPDATE measurement SET fingerprint = x'0200'", "malformed", true},
        {"UPDATE measurement SET time = 'noon'", "the time", true},
        {"UPDATE measurement SET time = -1", "the time", true},
        {"UPDATE measurement SET simulated = 2", "simulated", true},
        {"UPDATE text SET text = x'00' WHERE id = 1", "is not a text", false},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_fleet *fleet = new_fleet();
        struct fth_fleet_history *history = NULL;
        struct fth_error error = NO_ERROR;
        const double map[] = {277.9, 283.7};
        make(fleet, (struct made){.uuid = "GPU-a", .time = day(1), .map = map, .sms = 2});
        keep(fleet);
        run_sql(cases[i].sql);
        fleet = new_fleet();
        enum fth_status status = fth_fleet_history_open(path, &reading, &history, &error);
        assert_int_equal(status == FTH_OK, cases[i].opens);
        if (status == FTH_OK)
            status = fth_fleet_history_read(history, NULL, fleet, &error);
        assert_true(status == FTH_INVALID || status == FTH_UNSUPPORTED);
        assert_non_null(strstr(error.cause, cases[i].cause));
        fth_fleet_history_close(history);
        fth_fleet_destroy(fleet);
        remove(path);
    }
}

/* A fingerprint store is no history, and the reverse. */
static void test_other_kinds(void **state)
{
    (void)state;
    struct fth_store *store = NULL;
    struct fth_fleet_history *history = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_store_open(path, &creating, &store, NULL), FTH_OK);
    fth_store_close(store);
    assert_int_equal(fth_fleet_history_open(path, &creating, &history, &error), FTH_INVALID);
    assert_null(history);
    remove(path);
    keep(new_fleet());
    assert_int_equal(fth_store_open(path, &creating, &store, NULL), FTH_INVALID);
    write_plain(path, "no database, but longer than a header of SQLite is", 50);
    error = NO_ERROR;
    assert_int_equal(fth_fleet_history_open(path, &creating, &history, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "not a fleet history"));
    remove(path);
    assert_int_equal(fth_fleet_history_open(path, &reading, &history, &error), FTH_NOT_FOUND);
}

/* 10,000 measurements of 100 figures are added in seconds, and take less than 30 MB. */
static void test_large(void **state)
{
    (void)state;
    enum { GPUS = SANITIZED ? 1000 : 10000, FIGURES = 100, SMS = 132 };
    struct fth_fleet *fleet = new_fleet();
    struct fth_rng rng;
    struct stat info;
    fth_rng_init(&rng, 1);
    for (int i = 0; i < GPUS; i++) {
        struct fth_fleet_value values[FIGURES];
        double map[SMS];
        char uuid[48], name[48];
        snprintf(uuid, sizeof uuid, "GPU-%08d-722e-a8e2-9e43-cd231be1%04d", i, i);
        for (int j = 0; j < FIGURES; j++) {
            snprintf(name, sizeof name, "element%d.figure_%d_bytes_per_s", j / 10, j);
            values[j] =
                (struct fth_fleet_value){fth_fleet_figure_index(fleet, name), 0.75F,
                                         1e12 + 1e9 * (double)fth_rng_below(&rng, 1000), NULL};
        }
        for (int j = 0; j < SMS; j++)
            map[j] = (2700 + (double)fth_rng_below(&rng, 200)) / 10;
        const struct fth_fleet_draft draft = {.gpu = {.name = uuid, .uuid = uuid, .host = "node"},
                                              .time = day(1),
                                              .file = uuid,
                                              .values = values,
                                              .value_count = FIGURES,
                                              .fingerprint = map,
                                              .fingerprint_count = SMS};
        assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
    }
    const clock_t start = clock();
    assert_int_equal(keep(fleet), GPUS);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(stat(path, &info), 0);
    print_message("# %d measurements: %.1f s, %.1f MB\n", GPUS, seconds,
                  (double)info.st_size / 1e6);
    assert_true(seconds < (SANITIZED ? 60 : 10));
    assert_true((double)info.st_size < 3000.0 * GPUS);
    fleet = load(NULL);
    assert_int_equal(fleet->measurement_count, GPUS);
    fth_fleet_destroy(fleet);
}

/* ---- changes ---- */

/* Ten GPUs with `days` measurements and a noise of 0.45 %; then one day on which GPU 0 has `factor`
 * times its bandwidth. Returns the judgement of that day with the history. */
static struct fth_fleet_judgement *judge_last(int days, double factor, const char *driver,
                                              struct fth_fleet **last)
{
    struct fth_fleet *fleet = new_fleet();
    struct fth_rng rng;
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_error error = NO_ERROR;
    char uuid[16], host[16];
    fth_rng_init(&rng, 7);
    *last = new_fleet();
    for (int i = 0; i < 10; i++)
        for (int j = 1; j <= days + 1; j++) {
            double noise = -6;
            for (int k = 0; k < 12; k++)
                noise += fth_rng_unit(&rng);
            snprintf(uuid, sizeof uuid, "GPU-%d", i);
            snprintf(host, sizeof host, "node%d", i);
            const bool is_last = j > days;
            /* Cards differ by 3 %, so that a change of 4 % of one is usual among them. */
            const double usual = 4.6e12 * (1 + 0.03 * (i % 3 - 1)) * (1 + 0.0045 * noise);
            const bool changed = is_last && i == 0;
            make(is_last ? *last : fleet,
                 (struct made){.uuid = uuid,
                               .host = host,
                               .time = day(j),
                               .driver = changed && driver ? driver : NULL,
                               .bandwidth = changed ? usual * factor : usual});
        }
    keep(fleet);
    assert_int_equal(fth_fleet_judge(*last, NULL, &judgement, &error), FTH_OK);
    struct fth_fleet_history *history = open_reading();
    if (fth_fleet_judge_history(judgement, history, NULL, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_history_close(history);
    return judgement;
}

/* Returns the finding of the history for the bandwidth of a GPU, NULL if there is none. */
static const struct fth_fleet_finding *history_finding(const struct fth_fleet_judgement *judgement,
                                                       size_t gpu)
{
    const struct fth_fleet_result *result = &judgement->results[gpu];
    for (size_t i = 0; i < result->finding_count; i++)
        if (result->findings[i].history)
            return &result->findings[i];
    return NULL;
}

/* A drop that is larger than the noise is found, also with two earlier measurements. */
static void test_worse(void **state)
{
    (void)state;
    static const int days[] = {2, 5, 20};
    for (size_t i = 0; i < FTH_COUNT(days); i++) {
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = judge_last(days[i], 0.94, "590.2", &fleet);
        const struct fth_fleet_finding *finding = history_finding(judgement, 0);
        assert_non_null(finding);
        assert_string_equal(finding->figure, "memory.read_bytes_per_s");
        assert_true(finding->effect < -0.04 && finding->effect > -0.08);
        assert_true(finding->worse && finding->p < 0.001);
        assert_non_null(strstr(finding->note, "driver 580.1 -> 590.2"));
        assert_true(judgement->results[0].verdict != FTH_FLEET_HEALTHY);
        for (size_t j = 1; j < 10; j++)
            assert_null(history_finding(judgement, j));
        const struct fth_fleet_counts counts = fth_fleet_judgement_counts(judgement);
        assert_int_equal(counts.healthy + counts.suspect + counts.failed + counts.not_judged, 10);
        assert_true(counts.suspect + counts.failed >= 1);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
        remove(path);
    }
}

/* What is within the noise, below the minimum effect, or better, is no finding. */
static void test_not_worse(void **state)
{
    (void)state;
    static const double factors[] = {1, 0.995, 1.08};
    for (size_t i = 0; i < FTH_COUNT(factors); i++) {
        struct fth_fleet *fleet;
        struct fth_fleet_judgement *judgement = judge_last(5, factors[i], NULL, &fleet);
        for (size_t j = 0; j < 10; j++)
            assert_null(history_finding(judgement, j));
        assert_int_equal(judgement->note_count, 0);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(fleet);
        remove(path);
    }
}

/* False alarms: 2000 GPUs without a fault, with five earlier measurements each. One of 200 measured
 * sizes is wrong. */
static void test_false_alarms(void **state)
{
    (void)state;
    enum { GPUS = 2000, DAYS = 5 };
    struct fth_fleet *fleet = new_fleet(), *last = new_fleet();
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_rng rng;
    size_t alarms = 0;
    char uuid[24];
    fth_rng_init(&rng, 11);
    for (int i = 0; i < GPUS; i++)
        for (int j = 1; j <= DAYS + 1; j++) {
            double noise = -6;
            for (int k = 0; k < 12; k++)
                noise += fth_rng_unit(&rng);
            snprintf(uuid, sizeof uuid, "GPU-%d", i);
            /* A noise of 2 %, so that the minimum effect does not prevent alarms. */
            make(j > DAYS ? last : fleet,
                 (struct made){.uuid = uuid,
                               .host = uuid,
                               .time = day(j),
                               .size = fth_rng_below(&rng, 200) ? 6e7 : 3e7,
                               .confidence = 0.99F,
                               .bandwidth = 4.6e12 * (1 + 0.02 * noise)});
        }
    keep(fleet);
    assert_int_equal(fth_fleet_judge(last, NULL, &judgement, NULL), FTH_OK);
    struct fth_fleet_history *history = open_reading();
    assert_int_equal(fth_fleet_judge_history(judgement, history, NULL, NULL), FTH_OK);
    fth_fleet_history_close(history);
    for (size_t i = 0; i < GPUS; i++)
        alarms += history_finding(judgement, i) != NULL;
    print_message("# %zu false alarms among %d GPUs\n", alarms, GPUS);
    assert_true(alarms <= 6); /* 2 are permitted on average: P(more than 6) = 0.5 % */
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* Measurements that were added before they are judged are not compared with themselves; an exact
 * figure that changed is a finding. */
static void test_exact(void **state)
{
    (void)state;
    struct fth_fleet *last = new_fleet();
    struct fth_fleet_judgement *judgement = NULL;
    for (int j = 1; j <= 4; j++) {
        struct fth_fleet *fleet = new_fleet();
        make(fleet, (struct made){.uuid = "GPU-a", .time = day(j), .size = j == 4 ? 5e7 : 6e7});
        keep(fleet);
    }
    make(last, (struct made){.uuid = "GPU-a", .time = day(4), .size = 5e7});
    assert_int_equal(fth_fleet_judge(last, NULL, &judgement, NULL), FTH_OK);
    struct fth_fleet_history *history = open_reading();
    assert_int_equal(fth_fleet_judge_history(judgement, history, NULL, NULL), FTH_OK);
    fth_fleet_history_close(history);
    const struct fth_fleet_finding *finding = history_finding(judgement, 0);
    assert_non_null(finding);
    assert_string_equal(finding->figure, "l2.size_bytes");
    assert_true(finding->usual == 6e7 && finding->value == 5e7);
    assert_int_equal(judgement->results[0].verdict, FTH_FLEET_SUSPECT);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* Judges the newest measurements, which are destroyed with the judgement, with the history. */
static struct fth_fleet_judgement *judge_with_history(struct fth_fleet *last)
{
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_fleet_judge(last, NULL, &judgement, &error), FTH_OK);
    struct fth_fleet_history *history = open_reading();
    if (fth_fleet_judge_history(judgement, history, NULL, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_history_close(history);
    return judgement;
}

/* Adds `days` measurements of a GPU to the history, whose bandwidth alternates by 0.2 %. */
static void keep_days(struct made made, int days)
{
    struct fth_fleet *fleet = new_fleet();
    for (int i = 1; i <= days; i++) {
        made.time = day(i);
        made.bandwidth = 4.6e12 * (i % 2 ? 1.001 : 0.999);
        make(fleet, made);
    }
    keep(fleet);
}

/* A measured value can be wrong: one other value is no finding, three equal ones are. A single one
 * is a finding if the values of other GPUs never change. */
static void test_measured_exact(void **state)
{
    (void)state;
    static const struct {
        int runs, other_gpus;
        bool found;
    } cases[] = {{1, 0, false}, {3, 0, true}, {1, 400, true}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_fleet *last = new_fleet(), *others = new_fleet();
        char uuid[16];
        keep_days((struct made){.uuid = "GPU-a", .size = 6e7, .confidence = 0.99F}, 5);
        for (int j = 0; j < cases[i].other_gpus; j++) {
            struct made made = {.uuid = uuid, .host = uuid, .size = 6e7, .confidence = 0.99F};
            snprintf(uuid, sizeof uuid, "GPU-%d", j);
            for (int k = 1; k <= 12; k++) {
                made.time = day(k);
                make(others, made);
            }
            made.time = day(13);
            make(last, made);
        }
        keep(others);
        for (int j = 0; j < cases[i].runs; j++)
            make(last, (struct made){
                           .uuid = "GPU-a", .time = day(13) + j, .size = 5e7, .confidence = 0.99F});
        struct fth_fleet_judgement *judgement = judge_with_history(last);
        const struct fth_fleet_result *result = &judgement->results[last->gpu_count - 1];
        bool found = false;
        for (size_t j = 0; j < result->finding_count; j++)
            found = found || strcmp(result->findings[j].figure, "l2.size_bytes") == 0;
        assert_int_equal(found, cases[i].found);
        fth_fleet_judgement_destroy(judgement);
        fth_fleet_destroy(last);
        remove(path);
    }
}

/* A GPU without a UUID is found in the history by its host and slot, whatever its file is named. */
static void test_without_uuid(void **state)
{
    (void)state;
    struct fth_fleet *last = new_fleet();
    keep_days((struct made){.host = "node1", .file = "monday/node1.json"}, 8);
    make(last,
         (struct made){
             .host = "node1", .file = "tuesday/gpu.json", .time = day(9), .bandwidth = 4.2e12});
    struct fth_fleet_judgement *judgement = judge_with_history(last);
    assert_non_null(history_finding(judgement, 0));
    assert_int_equal(judgement->results[0].verdict, FTH_FLEET_FAILED);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* Findings of the history are in the order of their importance, and have a cause. */
static void test_order_and_cause(void **state)
{
    (void)state;
    struct fth_fleet *last = new_fleet();
    keep_days((struct made){.uuid = "GPU-a", .size = 6e7}, 8);
    make(last,
         (struct made){.uuid = "GPU-a", .time = day(9), .bandwidth = 4.6e12 * 0.96, .size = 5e7});
    struct fth_fleet_judgement *judgement = judge_with_history(last);
    const struct fth_fleet_result *result = &judgement->results[0];
    assert_int_equal(result->finding_count, 2);
    assert_string_equal(result->findings[0].figure, "l2.size_bytes"); /* impossible by chance */
    assert_string_equal(result->findings[1].figure, "memory.read_bytes_per_s");
    assert_non_null(result->cause);
    assert_non_null(strstr(result->cause, "Only the memory bandwidth is lower (4.0 %)"));
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* A card that was 3 % faster than the others and is now 3 % slower has lost 6 %: it has failed,
 * although the comparison with the others only makes it suspect. */
static void test_severe_change(void **state)
{
    (void)state;
    struct fth_fleet *last = new_fleet(), *earlier = new_fleet();
    char uuid[16];
    for (int i = 0; i < 40; i++)
        for (int j = 1; j <= 9; j++) {
            snprintf(uuid, sizeof uuid, "GPU-%d", i);
            const double factor = i ? 1 + 0.0005 * (i % 5) : j < 9 ? 1.03 : 0.97;
            make(j < 9 ? earlier : last,
                 (struct made){.uuid = uuid,
                               .host = uuid,
                               .time = day(j),
                               .bandwidth = 4.6e12 * factor * (j % 2 ? 1.001 : 0.999)});
        }
    keep(earlier);
    struct fth_fleet_judgement *alone = NULL;
    assert_int_equal(fth_fleet_judge(last, NULL, &alone, NULL), FTH_OK);
    assert_int_equal(alone->results[0].verdict, FTH_FLEET_SUSPECT);
    fth_fleet_judgement_destroy(alone);
    struct fth_fleet_judgement *judgement = judge_with_history(last);
    const struct fth_fleet_result *result = &judgement->results[0];
    assert_int_equal(result->verdict, FTH_FLEET_FAILED);
    assert_int_equal(judgement->failed, 1);
    assert_int_equal(result->finding_count, 2);
    assert_true(result->findings[0].history && result->findings[0].severe);
    assert_false(result->findings[1].history);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* What else has changed is not the cause of a change. */
static void test_cause_with_context(void **state)
{
    (void)state;
    struct fth_fleet *last = new_fleet();
    keep_days((struct made){.uuid = "GPU-a"}, 8);
    make(last, (struct made){
                   .uuid = "GPU-a", .time = day(9), .driver = "590.2", .bandwidth = 4.6e12 * 0.96});
    struct fth_fleet_judgement *judgement = judge_with_history(last);
    const struct fth_fleet_result *result = &judgement->results[0];
    assert_int_equal(result->finding_count, 1);
    assert_non_null(strstr(result->findings[0].note, "driver 580.1 -> 590.2"));
    assert_non_null(strstr(result->cause, "Only the memory bandwidth is lower (4.0 %)"));
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(last);
}

/* The p-values of a GPU without others are right: of 6000 new measurements without a change, 2 %
 * have p < 0.01, because increases and decreases are tested. */
static void test_lone_gpu(void **state)
{
    (void)state;
    enum { TRIALS = 6000, DAYS = 8 };
    struct fth_rng rng;
    size_t small = 0;
    fth_rng_init(&rng, 3);
    for (int i = 0; i < TRIALS; i++) {
        struct fth_fleet *fleet = new_fleet();
        const struct fth_history_noise noise = {.count = 0};
        struct fth_history_change *changes;
        size_t count;
        for (int j = 1; j <= DAYS + 1; j++) {
            double sum = -6;
            for (int k = 0; k < 12; k++)
                sum += fth_rng_unit(&rng);
            make(fleet, (struct made){.uuid = "GPU-a",
                                      .time = day(j),
                                      .bandwidth = 4.6e12 * (1 + 0.02 * sum)});
        }
        assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
        const struct fth_history_span before = {fleet, fleet->by_gpu, DAYS};
        const struct fth_history_span now = {fleet, fleet->by_gpu + DAYS, 1};
        assert_int_equal(
            fth_history_compare(&before, &now, &noise, &fleet->arena, &changes, &count, NULL),
            FTH_OK);
        for (size_t j = 0; j < count; j++)
            if (strncmp(fleet->figures[changes[j].figure].name, "memory", 6) == 0)
                small += changes[j].single_p < 0.01;
        fth_fleet_destroy(fleet);
    }
    print_message("# %zu of %d p-values are below 0.01\n", small, TRIALS);
    assert_in_range(small, 60, 140); /* 120 are expected, with a standard deviation of 11 */
}

/* A history may have more figures than a fleet. The message says so. */
static void test_too_many_figures(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    for (int part = 0; part < 2; part++) {
        enum { FIGURES = 2500 };
        struct fth_fleet *fleet = new_fleet();
        struct fth_fleet_value *values = calloc(FIGURES, sizeof *values);
        char name[32];
        for (int i = 0; i < FIGURES; i++) {
            snprintf(name, sizeof name, "element.figure%d", FIGURES * part + i);
            values[i] = (struct fth_fleet_value){fth_fleet_figure_index(fleet, name), NAN, 1, NULL};
        }
        const struct fth_fleet_draft draft = {.gpu = {.name = "GPU-a", .uuid = "GPU-a"},
                                              .time = day(part + 1),
                                              .file = "made.json",
                                              .values = values,
                                              .value_count = FIGURES};
        assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
        free(values);
        keep(fleet);
    }
    struct fth_fleet_history *history = open_reading();
    struct fth_fleet *fleet = new_fleet();
    assert_int_equal(fth_fleet_history_read(history, NULL, fleet, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "more than 4096 figures"));
    fth_fleet_history_close(history);
    fth_fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_round_trip, remove_store),
        cmocka_unit_test_teardown(test_numbers, remove_store),
        cmocka_unit_test_teardown(test_added_once, remove_store),
        cmocka_unit_test_teardown(test_selection, remove_store),
        cmocka_unit_test_teardown(test_list_and_forget, remove_store),
        cmocka_unit_test_teardown(test_damaged, remove_store),
        cmocka_unit_test_teardown(test_other_kinds, remove_store),
        cmocka_unit_test_teardown(test_large, remove_store),
        cmocka_unit_test_teardown(test_worse, remove_store),
        cmocka_unit_test_teardown(test_not_worse, remove_store),
        cmocka_unit_test_teardown(test_false_alarms, remove_store),
        cmocka_unit_test_teardown(test_exact, remove_store),
        cmocka_unit_test_teardown(test_measured_exact, remove_store),
        cmocka_unit_test_teardown(test_without_uuid, remove_store),
        cmocka_unit_test_teardown(test_order_and_cause, remove_store),
        cmocka_unit_test_teardown(test_severe_change, remove_store),
        cmocka_unit_test_teardown(test_cause_with_context, remove_store),
        cmocka_unit_test(test_lone_gpu),
        cmocka_unit_test_teardown(test_too_many_figures, remove_store),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
