/* Helpers of the tests with hostile stores. */
#ifndef FTH_TESTS_HOSTILE_H
#define FTH_TESTS_HOSTILE_H

#include "made_up.h"

static const struct fth_store_options reading = FTH_STORE_OPTIONS(.read_only = true);

static inline void run_sql(const char *sql)
{
    sqlite3 *database = NULL;
    char *fault = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(database, sql, NULL, NULL, &fault) != SQLITE_OK)
        fail_msg("%s: %s", sql, fault);
    sqlite3_close(database);
}

static inline struct fth_buffer read_content(void)
{
    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 64 << 20), &content, NULL),
        FTH_OK);
    return content;
}

/* Makes a store with three runs of the GPU "a" and two of "b". The first one is kept in a hidden
 * file, of which the others are copies, because a copy is faster than a commit. */
static inline void make_store(void)
{
    static const char first[] = ".first.db";
    struct fth_buffer content = {0};
    if (fth_file_read(first, FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL) !=
        FTH_OK) {
        struct fth_store *store = NULL;
        assert_int_equal(fth_store_open(first, &creating, &store, NULL), FTH_OK);
        assert_int_equal(enroll(store, "a", 1, 3, NULL), FTH_OK);
        assert_int_equal(enroll(store, "b", 1.1, 2, NULL), FTH_OK);
        fth_store_close(store);
        assert_int_equal(
            fth_file_read(first, FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL),
            FTH_OK);
    }
    unlink(path); /* overwriting a file takes much longer on some file systems */
    write_plain(path, content.data, content.size);
    fth_buffer_fini(&content);
}

/* Opening for reading, for changing and for creating must all fail with this status and cause, and
 * must not change the file. */
static inline void assert_refused(enum fth_status expected, const char *cause)
{
    const struct fth_store_options *const ways[] = {&reading, NULL, &creating};
    struct fth_buffer before = read_content();
    const size_t files = file_count();
    for (size_t i = 0; i < FTH_COUNT(ways); i++) {
        struct fth_store *store = NULL;
        struct fth_error error = NO_ERROR;
        const enum fth_status status = fth_store_open(path, ways[i], &store, &error);
        if (status != expected)
            fail_msg("status %d instead of %d for '%s': %s", status, expected, cause, error.cause);
        assert_null(store);
        assert_contains(error.cause, cause);
        assert_string_equal(error.argument, path);
        assert_int_equal(file_count(), files);
    }
    struct fth_buffer after = read_content();
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    fth_buffer_fini(&before);
    fth_buffer_fini(&after);
}

static inline void ignore(void *user, const struct fth_enrolled *enrolled)
{
    (void)user;
    (void)enrolled;
}

#endif
