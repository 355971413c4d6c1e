/* Tests of the safety of the file of a store. Enrolled runs must survive killed processes,
 * concurrent writers and full disks, and files that are damaged or belong to other programs must
 * not be changed. */
#include "made_up.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ---- files ---- */

static struct fth_buffer read_content(const char *file)
{
    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read(file, FTH_FILE_LIMIT("a file of the test", 64 << 20), &content, NULL),
        FTH_OK);
    return content;
}

static void run_sql(const char *file, const char *sql)
{
    sqlite3 *database = NULL;
    char *fault = NULL;
    assert_int_equal(sqlite3_open(file, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &fault) != SQLITE_OK)
        fail_msg("%s", fault);
    sqlite3_close(database);
}

static off_t file_size(const char *file)
{
    struct stat info;
    return stat(file, &info) == 0 ? info.st_size : -1;
}

static const struct fth_store_options reading = FTH_STORE_OPTIONS(.read_only = true);

/* Opening the store must fail with that cause and must not change the file. */
static void assert_refused(enum fth_status expected, const char *cause)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    struct fth_buffer before = read_content(path);
    const size_t files = file_count();
    assert_int_equal(fth_store_open(path, &creating, &store, &error), expected);
    assert_null(store);
    assert_contains(error.cause, cause);
    struct fth_buffer after = read_content(path);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    assert_int_equal(file_count(), files);
    fth_buffer_fini(&before);
    fth_buffer_fini(&after);
}

/* SQL statements that create a store with version 1 of the database schema. */
static const char version_1[] =
    "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, device TEXT, uuid TEXT);"
    "CREATE TABLE run (id INTEGER PRIMARY KEY,"
    " gpu INTEGER NOT NULL REFERENCES gpu(id) ON DELETE CASCADE, driver TEXT,"
    " time INTEGER NOT NULL, version INTEGER NOT NULL, features TEXT NOT NULL);"
    "CREATE INDEX run_gpu ON run(gpu);"
    "PRAGMA application_id = 1718904941; PRAGMA user_version = 1;"
    "INSERT INTO gpu VALUES (1, 'old', 'NVIDIA H200', 'GPU-1'), (2, 'older', NULL, NULL);"
    "INSERT INTO run VALUES (1, 1, '580', 1700000000, 1, '[1,2,null]'),"
    " (2, 1, '580', 1700000001, 1, '[1,2,3]'), (3, 2, NULL, 1600000000, 1, '[4,5,6]');";

static void stores_of_version_1_are_upgraded(void **state)
{
    (void)state;
    /* Also if the store is only read: otherwise each export would have other keys. */
    run_sql(path, version_1);
    struct fth_store *store = NULL;
    assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
    assert_int_equal(enroll(store, "new", 1, 2, NULL), FTH_INVALID);
    assert_int_equal(fth_store_begin(store, "test", NULL), FTH_INVALID);
    struct fth_runs runs = {.items = NULL};
    assert_int_equal(fth_store_read(store, "read", &runs, NULL), FTH_OK);
    assert_int_equal(runs.count, 3);
    assert_string_equal(runs.items[0].name, "old");
    assert_string_equal(runs.items[0].uuid, "GPU-1");
    assert_int_equal(runs.items[1].time, 1700000001);
    assert_true(isnan(runs.items[0].features[2]) && runs.items[1].features[2] == 3);
    assert_string_equal(runs.items[2].name, "older");
    assert_null(runs.items[2].device);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(strlen(runs.items[i].key), 32);
        assert_string_not_equal(runs.items[i].key, runs.items[(i + 1) % 3].key);
    }
    fth_runs_fini(&runs);
    fth_store_close(store);
    assert_int_equal(fth_store_open(path, NULL, &store, NULL), FTH_OK);
    assert_int_equal(enroll(store, "new", 1, 2, NULL), FTH_OK);
    fth_store_close(store);
    /* The upgrade happened once; opening the store again finds the same runs. */
    store = open_store();
    assert_int_equal(count_runs(store, NULL), 5);
    fth_store_close(store);
    run_sql(path, "PRAGMA user_version = 3");
    assert_refused(FTH_UNSUPPORTED,
                   "a newer fathom created it (version 3, this one supports up to 2)");
}

/* Creates runs with features of version 1, which had three stream features instead of four. */
static struct fth_fingerprint *make_old(double factor, size_t runs)
{
    enum { FIRST_STREAM = 8, STREAMS = 4, OLD_STREAMS = 3 };
    struct fth_fingerprint *fingerprint = make_fingerprint(factor, 0.002, runs, FEATURES);
    for (size_t i = 0; i < runs; i++) {
        struct fth_run *run = &fingerprint->runs.items[i];
        double *values = fth_arena_array(&fingerprint->runs.arena, FEATURES - STREAMS + OLD_STREAMS,
                                         sizeof *values);
        assert_non_null(values);
        for (size_t j = 0; j < FEATURES; j++)
            if (j < FIRST_STREAM)
                values[j] = run->features[j];
            else if (j >= FIRST_STREAM + STREAMS)
                values[j - STREAMS + OLD_STREAMS] = run->features[j];
        for (size_t j = 0; j < OLD_STREAMS; j++) /* values that must be ignored */
            values[FIRST_STREAM + j] = 1e6 * (double)(i + 1);
        run->version = 1;
        run->features = values;
        run->count = FEATURES - STREAMS + OLD_STREAMS;
    }
    return fingerprint;
}

/* Runs of version 1 and of the current version are compared by the features that both have. The old
 * runs stay unchanged in the store. */
static void features_of_version_1_are_still_compared(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double factor;
    } gpus[] = {{"old", 1}, {"older", 1.05}};
    struct fth_store *store = open_store();
    for (size_t i = 0; i < FTH_COUNT(gpus); i++) {
        struct fth_fingerprint *fingerprint = make_old(gpus[i].factor, 5);
        assert_int_equal(fth_store_enroll(store, gpus[i].name, fingerprint, NULL, NULL), FTH_OK);
        fth_fingerprint_destroy(fingerprint);
    }
    /* Round 0: the store has only old runs. Round 1: it also has runs of the current version. */
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i <= FTH_COUNT(gpus); i++) {
            const bool unknown = i == FTH_COUNT(gpus);
            struct fth_fingerprint *fingerprint =
                make_fingerprint(unknown ? 1.1 : gpus[i].factor, 0.002, 1, FEATURES);
            struct fth_identification found;
            assert_int_equal(fth_store_identify(store, fingerprint, &found, NULL), FTH_OK);
            if (unknown)
                assert_null(found.name);
            else
                assert_string_equal(found.name, gpus[i].name);
            fth_identification_fini(&found);
            fth_fingerprint_destroy(fingerprint);
        }
        assert_int_equal(enroll(store, "old", 1, 3, NULL), FTH_OK);
    }
    struct fth_runs runs = {.items = NULL};
    assert_int_equal(fth_store_read(store, "read", &runs, NULL), FTH_OK);
    size_t found[16];
    assert_int_equal(runs.count, FTH_COUNT(found));
    assert_int_equal(fth_leave_one_out(&runs, found, NULL), FTH_OK);
    for (size_t i = 0; i < runs.count; i++)
        assert_string_equal(runs.items[found[i]].name, runs.items[i].name);
    assert_int_equal(runs.items[0].version, 1);
    assert_int_equal(runs.items[0].count, FEATURES - 1);
    fth_runs_fini(&runs);
    fth_store_close(store);
}

static void other_files_are_refused_and_not_changed(void **state)
{
    (void)state;
    static const char text[] = "my notes\n";
    write_plain(path, text, sizeof text - 1);
    assert_refused(FTH_INVALID, "not a fingerprint store; the file was not changed");
    unlink(path);
    run_sql(path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    assert_refused(FTH_INVALID, "a database of another program; it was not changed");
    unlink(path);
    run_sql(path, "PRAGMA application_id = 7; CREATE TABLE t (x)");
    assert_refused(FTH_INVALID, "a database of another program");
    unlink(path);
    /* An empty file is accepted and becomes a store. */
    write_plain(path, "", 0);
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    fth_store_close(store);

    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_store_open("no/such/folder/x.db", &creating, &store, &error), FTH_IO);
    assert_contains(error.cause, "No such file or directory");
    error = NO_ERROR;
    assert_int_equal(fth_store_open(".", &creating, &store, &error), FTH_INVALID);
    assert_contains(error.cause, "it is a folder, not a regular file");
    assert_int_equal(fth_store_open("", &creating, &store, NULL), FTH_INVALID);
    /* The special names of SQLite are ordinary file names here. */
    assert_int_equal(fth_store_open(":memory:", NULL, &store, NULL), FTH_NOT_FOUND);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    const size_t page = 4096;
    struct fth_store *store = open_store();
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(enroll(store, i % 2 ? "a" : "b", 1, 10, NULL), FTH_OK);
    fth_store_close(store);
    struct fth_buffer good = read_content(path);
    assert_true(good.size > 8 * page);
    /* Pages in the middle are overwritten. */
    struct fth_buffer bad = {0};
    fth_buffer_append(&bad, good.data, good.size);
    memset(bad.data + 2 * page, 0xa5, 4 * page);
    write_plain(path, bad.data, bad.size);
    assert_refused(FTH_INVALID, "the file is damaged");
    /* The end is missing. */
    write_plain(path, good.data, good.size - 3 * page);
    assert_refused(FTH_INVALID, "the file is damaged");
    fth_buffer_fini(&good);
    fth_buffer_fini(&bad);
}

/* ---- other processes ---- */

/* Calls `child` in a new process, whose exit status is its result. */
static pid_t start_process(int (*child)(int argument), int argument)
{
    fflush(NULL);
    const pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0)
        _exit(child(argument));
    return id;
}

/* Returns the exit status of a process, or the negative number of the signal that ended it. */
static int wait_for_exit(pid_t id)
{
    int status = 0;
    assert_int_equal(waitpid(id, &status, 0), id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Enrolls three runs at a time until it is killed. Writes one byte to the pipe after each
 * enrolment. */
static int enroll_forever(int pipe_end)
{
    struct fth_store *store = NULL;
    for (;;) {
        if (fth_store_open(path, &creating, &store, NULL) != FTH_OK)
            return 1;
        for (int i = 0; i < 3; i++)
            if (enroll(store, "a", 1, 3, NULL) != FTH_OK || write(pipe_end, "x", 1) != 1)
                return 1;
        fth_store_close(store);
    }
}

static void wait_us(uint64_t us)
{
    const struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

/* A process is killed at random times while it enrolls runs. Afterwards, the store must open and
 * hold only complete enrolments, among them all that the process has acknowledged. */
static void sigkill_leaves_only_complete_enrolments(void **state)
{
    (void)state;
    enum { KILLS = 40 };
    struct fth_rng rng;
    size_t acknowledged = 0, journals = 0;
    fth_rng_init(&rng, 9);
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        char bytes[4096];
        assert_int_equal(pipe(ends), 0);
        const pid_t id = start_process(enroll_forever, ends[1]);
        close(ends[1]);
        /* Kill after zero to three enrolments and a random time, in which more may complete. */
        for (uint64_t left = fth_rng_below(&rng, 4); left > 0; left--)
            acknowledged += read(ends[0], bytes, 1) == 1;
        wait_us(fth_rng_below(&rng, 20000));
        assert_int_equal(kill(id, SIGKILL), 0);
        assert_int_equal(wait_for_exit(id), -SIGKILL);
        ssize_t got;
        while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
            acknowledged += (size_t)got;
        close(ends[0]);
        journals += access("store.db-journal", F_OK) == 0;
        /* Reading undoes an interrupted enrolment, too. */
        struct fth_store *store = NULL;
        const bool exists = access(path, F_OK) == 0 && file_size(path) > 0;
        if (i % 2 == 0 || !exists)
            store = open_store();
        else
            assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
        const size_t runs = count_runs(store, "a");
        if (runs % 3 || runs / 3 < acknowledged || runs / 3 > acknowledged + (size_t)i + 1)
            fail_msg("%zu runs after %zu acknowledged enrolments", runs, acknowledged);
        fth_store_close(store);
    }
    print_message("# %d kills, %zu enrolments, %zu journals to roll back\n", KILLS, acknowledged,
                  journals);
    assert_true(acknowledged > 0);
}

static int enroll_often(int writer)
{
    struct fth_store *store = NULL;
    if (fth_store_open(path, &creating, &store, NULL) != FTH_OK)
        return 1;
    for (int i = 0; i < 25; i++)
        if (enroll(store, i % 2 ? "shared" : writer ? "one" : "two", 1, 2, NULL) != FTH_OK)
            return 2;
    fth_store_close(store);
    return 0;
}

/* Neither process finds an existing file: they may also create it at the same time. */
static void two_processes_can_write_at_once(void **state)
{
    (void)state;
    const pid_t one = start_process(enroll_often, 1), two = start_process(enroll_often, 0);
    assert_int_equal(wait_for_exit(one), 0);
    assert_int_equal(wait_for_exit(two), 0);
    struct fth_store *store = open_store();
    assert_int_equal(count_runs(store, "one"), 26);
    assert_int_equal(count_runs(store, "two"), 26);
    assert_int_equal(count_runs(store, "shared"), 48);
    fth_store_close(store);
}

/* While another process holds the write lock, an enrolment waits until the timeout (here 30 ms) and
 * then fails. Reading is possible. */
static void a_locked_store_is_reported_after_the_timeout(void **state)
{
    (void)state;
    struct fth_store *store = open_store(), *other = open_store();
    struct fth_error error = NO_ERROR;
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    assert_int_equal(fth_store_begin(other, "keep", NULL), FTH_OK);
    sqlite3_busy_timeout(store->database, 30);
    assert_int_equal(enroll(store, "a", 1, 2, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "another process keeps it locked; nothing was changed");
    assert_int_equal(count_runs(store, NULL), 2);
    assert_int_equal(fth_store_end(other, "keep", FTH_OK, NULL), FTH_OK);
    assert_int_equal(enroll(store, "a", 1, 2, NULL), FTH_OK);
    fth_store_close(store);

    /* Nobody can read while a process writes to the file. */
    static const struct fth_store_options ways[] = {
        FTH_STORE_OPTIONS(.read_only = true, .wait_ms = 30), FTH_STORE_OPTIONS(.wait_ms = 30),
        FTH_STORE_OPTIONS(.create = true, .wait_ms = 30)};
    assert_int_equal(fth_store_run(other, "keep", "BEGIN EXCLUSIVE", NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(ways); i++) {
        error = NO_ERROR;
        assert_int_equal(fth_store_open(path, &ways[i], &store, &error), FTH_UNAVAILABLE);
        assert_contains(error.cause, "another process keeps it locked");
    }
    assert_int_equal(fth_store_end(other, "keep", FTH_OK, NULL), FTH_OK);
    fth_store_close(other);
}

/* By default, a process waits for another one. */
static int keep_locked(int pipe_end)
{
    struct fth_store *store = open_store();
    if (fth_store_run(store, "keep", "BEGIN EXCLUSIVE", NULL) != FTH_OK ||
        write(pipe_end, "x", 1) != 1)
        return 1;
    wait_us(300000);
    if (fth_store_end(store, "keep", FTH_OK, NULL) != FTH_OK)
        return 2;
    fth_store_close(store);
    return 0;
}

static void opening_waits_for_another_process(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    struct fth_store *store = NULL;
    fth_store_close(open_store());
    assert_int_equal(pipe(ends), 0);
    const pid_t id = start_process(keep_locked, ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
    assert_int_equal(store->wait_ms, 10000);
    fth_store_close(store);
    assert_int_equal(wait_for_exit(id), 0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- a full disk ---- */

/* Enrolls runs until a file would exceed `max_bytes`, which has the same effect as a full disk.
 * Returns 0 if the error is the expected one. */
static int enroll_until_full(int max_bytes)
{
    const struct rlimit limit = {(rlim_t)max_bytes, (rlim_t)max_bytes};
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    enum fth_status status = fth_store_open(path, &creating, &store, &error);
    for (int i = 0; i < 100 && status == FTH_OK; i++)
        status = enroll(store, "a", 1, 5, &error);
    fth_store_close(store);
    return status == FTH_IO && strstr(error.cause, "is the disk or a quota full?") &&
                   strstr(error.cause, "Nothing was changed")
               ? 0
               : 2;
}

static void full_disk_loses_no_data(void **state)
{
    (void)state;
    static const int limits[] = {0, 4096, 40000, 100000};
    for (size_t i = 0; i < FTH_COUNT(limits); i++) {
        assert_int_equal(wait_for_exit(start_process(enroll_until_full, limits[i])), 0);
        struct fth_store *store = open_store();
        const size_t before = count_runs(store, "a");
        assert_int_equal(before % 5, 0);
        assert_true(limits[i] < 40000 ? before == 0 : before > 0);
        assert_int_equal(enroll(store, "a", 1, 5, NULL), FTH_OK);
        assert_int_equal(count_runs(store, "a"), before + 5);
        fth_store_close(store);
        unlink(path);
    }
}

/* Uses the store as a user without permission to write. Returns 0 if only enrolling fails. */
static int use_read_only_store(int runs)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
    if (fth_store_open(path, &reading, &store, NULL) != FTH_OK ||
        count_runs(store, "a") != (size_t)runs)
        return 2;
    fth_store_close(store);
    if (fth_store_open(path, NULL, &store, NULL) != FTH_OK ||
        count_runs(store, "a") != (size_t)runs)
        return 3;
    if (enroll(store, "a", 1, 5, &error) != FTH_IO ||
        !strstr(error.cause, "the file is not writable"))
        return 4;
    fth_store_close(store);
    return 0;
}

static void read_only_stores_can_be_read(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 5, NULL), FTH_OK);
    fth_store_close(store);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(wait_for_exit(start_process(use_read_only_store, 5)), 0);
}

/* As a user without permission to write to the folder: the store can be read, but not changed.
 * Returns 0 if the error is the expected one. */
static int use_read_only_folder(int runs)
{
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
    if (fth_store_open(path, &reading, &store, NULL) != FTH_OK ||
        count_runs(store, "a") != (size_t)runs)
        return 2;
    fth_store_close(store);
    if (fth_store_open(path, NULL, &store, NULL) != FTH_OK ||
        enroll(store, "a", 1, 5, &error) != FTH_IO)
        return 3;
    fth_store_close(store);
    return !strstr(error.cause, "its folder is not writable, which a change requires");
}

/* Opens the store as a user without permission to write. Returns 0 if this fails with the cause of
 * this index, whether the store is opened for reading or for writing. */
static int fail_to_open(int cause)
{
    static const char *const causes[] = {
        "an interrupted change must be undone first, but the file is not writable",
        "the file is not writable"};
    const struct fth_store_options *const ways[] = {NULL, &reading};
    if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
    for (size_t i = 0; i < FTH_COUNT(ways); i++) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_store_open(path, ways[i], &store, &error) != FTH_IO ||
            !strstr(error.cause, causes[cause]))
            return 2;
    }
    return 0;
}

/* Dies in the middle of a change, so that a journal is left behind. Without synchronisation, SQLite
 * writes the beginning of the journal at once. */
static int die_while_forgetting(int argument)
{
    struct fth_store *store = open_store();
    (void)argument;
    return fth_store_run(store, "test", "PRAGMA synchronous = OFF", NULL) != FTH_OK ||
           fth_store_begin(store, "test", NULL) != FTH_OK ||
           fth_store_run(store, "test", "DELETE FROM gpu", NULL) != FTH_OK;
}

static void folders_and_files_without_permission_are_reported(void **state)
{
    (void)state;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "a", 1, 5, NULL), FTH_OK);
    fth_store_close(store);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(".", 0755), 0);
    if (geteuid() != 0)
        assert_int_equal(chmod(".", 0555), 0);
    assert_int_equal(wait_for_exit(start_process(use_read_only_folder, 5)), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(wait_for_exit(start_process(die_while_forgetting, 0)), 0);
    assert_int_equal(access("store.db-journal", F_OK), 0);
    assert_int_equal(chmod("store.db-journal", 0444), 0);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(wait_for_exit(start_process(fail_to_open, 0)), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(fth_store_open(path, &reading, &store, NULL), FTH_OK);
    assert_int_equal(count_runs(store, "a"), 5);
    assert_int_equal(access("store.db-journal", F_OK), -1);
    fth_store_close(store);
    /* A store of version 1 must be migrated. */
    unlink(path);
    run_sql(path, version_1);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(wait_for_exit(start_process(fail_to_open, 1)), 0);
}

static void contradicting_options_are_refused(void **state)
{
    (void)state;
    const struct fth_store_options both = FTH_STORE_OPTIONS(.create = true, .read_only = true);
    const struct fth_store_options no_size = {.create = true};
    struct fth_store *store = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_store_open(path, &both, &store, &error), FTH_INVALID);
    assert_contains(error.cause, "'create' and 'read_only' exclude each other");
    assert_int_equal(fth_store_open(path, &no_size, &store, NULL), FTH_INVALID);
    assert_int_equal(access(path, F_OK), -1);
}

/* A time that cannot be imported, from a store of an older fathom or of another program. */
static void a_time_that_cannot_be_imported_is_not_exported(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    char *text = NULL;
    size_t size;
    struct fth_store *store = open_store();
    assert_int_equal(enroll(store, "old", 1, 2, NULL), FTH_OK);
    fth_store_close(store);
    run_sql(path, "UPDATE run SET time = -5");
    store = open_store();
    assert_int_equal(fth_store_export(store, &text, &size, &error), FTH_INVALID);
    assert_contains(error.cause, "run 1: time: must be a whole number of seconds within the years "
                                 "1970 to 9999");
    assert_null(text);
    fth_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stores_of_version_1_are_upgraded),
        TEST(features_of_version_1_are_still_compared),
        TEST(other_files_are_refused_and_not_changed),
        TEST(damaged_files_are_refused),
        TEST(sigkill_leaves_only_complete_enrolments),
        TEST(two_processes_can_write_at_once),
        TEST(a_locked_store_is_reported_after_the_timeout),
        TEST(full_disk_loses_no_data),
        TEST(opening_waits_for_another_process),
        TEST(read_only_stores_can_be_read),
        TEST(folders_and_files_without_permission_are_reported),
        TEST(contradicting_options_are_refused),
        TEST(a_time_that_cannot_be_imported_is_not_exported),
    };
    return cmocka_run_group_tests_name("store_files", tests, enter_folder, leave_folder);
}
