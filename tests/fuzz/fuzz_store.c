/* Fuzzes fingerprint stores (fth_store_open and what follows). A store is made of the input and
 * used as all commands do: every use must succeed, or fail with a message. What is accepted for
 * reading is not changed by it, an export can be read again, and fathom can read what it has
 * written.
 *
 * The first byte of the input decides what follows:
 *   0 to 63       the bytes of a database
 *   64 to 255     changes of a valid store, of version 1 if the byte is odd: SQL statements, then
 *                 single bytes of the file
 * If the bit with value 2 is set, the store is not only read but also changed. */
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FEATURES = 14, MAX_STATEMENTS = 8, MAX_BYTES = 64, MAX_SIZE = 1 << 20 };

/* ---- input ---- */

struct input {
    const uint8_t *data;
    size_t size;
};

/* Returns the next byte; 0 at the end. */
static unsigned next(struct input *input)
{
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

static unsigned next_number(struct input *input)
{
    const unsigned high = next(input);
    return high << 8 | next(input);
}

/* ---- files ---- */

/* The path of the store, in memory if the system has such a folder. It has the same name in all
 * inputs, and another one in each process. */
static const char *store_path(void)
{
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof path, "%s/fathom-fuzz-%ld.db",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    return path;
}

static void remove_files(void)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < FTH_COUNT(suffixes); i++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", store_path(), suffixes[i]);
        unlink(path);
    }
}

static void write_store(const void *data, size_t size)
{
    const int fd = open(store_path(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

/* Returns the contents of the store. */
static struct fth_buffer read_store(void)
{
    struct fth_buffer content = {0};
    char bytes[4096];
    ssize_t got;
    const int fd = open(store_path(), O_RDONLY);
    if (fd < 0)
        abort();
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        fth_buffer_append(&content, bytes, (size_t)got);
    close(fd);
    return content;
}

/* ---- changing a valid store ---- */

/* Values that a cell can get; %u is a number of the input. */
static const char *const values[] = {
    "NULL",
    "''",
    "%u",
    "-%u",
    "1e308",
    "9e999",
    "-9223372036854775808",
    "'a'",
    "'b'",
    "x''",
    "zeroblob(%u)",
    "CAST(x'ff00' AS TEXT)",
    "'a' || char(0)",
    "char(%u)",
    "printf('%%.*c', %u, 'x')",
    "printf('%%.1100000c', 'x')",
    "'[1]'",
    "'[null]'",
    "'[1,2'",
    "'[1e308,-1e308]'",
    "'[1e999]'",
    "'{}'",
    "'[' || replace(printf('%%.*c', %u, '1'), '1', '1,') || '1]'",
    "id",
    "key",
    "x'00000001'",
    "'12345678'",
    "253402300800",
    "-1",
    "1000001",
};
static const char *const cells[] = {"gpu SET id",      "gpu SET name",    "gpu SET device",
                                    "gpu SET uuid",    "run SET id",      "run SET gpu",
                                    "run SET key",     "run SET driver",  "run SET time",
                                    "run SET version", "run SET features"};
static const char *const schemas[] = {
    "PRAGMA user_version = %u",
    "PRAGMA user_version = -%u",
    "PRAGMA application_id = %u",
    "CREATE VIEW v%u AS SELECT * FROM run",
    "CREATE TABLE t%u (x)",
    "CREATE TRIGGER t%u AFTER INSERT ON run BEGIN DELETE FROM gpu; END",
    "CREATE TRIGGER t%u AFTER DELETE ON gpu BEGIN INSERT INTO gpu (name) VALUES ('x'); END",
    "CREATE INDEX i%u ON run(features)",
    "DROP INDEX run_gpu",
    "DROP INDEX run_key",
    "DROP TABLE run",
    "DROP TABLE gpu",
    "ALTER TABLE gpu ADD COLUMN x%u",
    "ALTER TABLE gpu DROP COLUMN uuid",
    "ALTER TABLE run DROP COLUMN driver",
    "ALTER TABLE gpu RENAME TO gpu%u",
    "DROP TABLE run; CREATE VIEW run AS WITH RECURSIVE c(x) AS (SELECT %u UNION ALL SELECT x + 1 "
    "FROM"
    " c) SELECT x AS id, 1 AS gpu, 'd' AS driver, 1 AS time, 1 AS version, '[1]' AS features,"
    " 'k' || x AS key FROM c",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = %u %% 8 WHERE rowid = 1",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = substr(sql, 1, %u) WHERE rowid = "
    "2",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE INDEX run_key ON run(gpu)'"
    " WHERE name = 'run_key'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX run_key ON"
    " run(key)' WHERE name = 'run_key'",
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE rowid = %u %% 6",
    "PRAGMA page_size = 512; VACUUM",
    "PRAGMA page_size = 65536; VACUUM",
    "PRAGMA auto_vacuum = 1; VACUUM",
    "PRAGMA journal_mode = WAL",
    "ANALYZE",
    "DELETE FROM run WHERE id > %u %% 6",
    "DELETE FROM gpu WHERE id = %u %% 3",
    "DELETE FROM gpu",
    "INSERT INTO gpu (name) VALUES ('g%u')",
    "INSERT INTO run (gpu, time, version, features, key) SELECT gpu, time, version, features,"
    " 'copy-%u-' || id FROM run LIMIT 8",
    "INSERT INTO run (gpu, time, version, features, key) SELECT gpu, time, 1, '[1,2]', 'old-%u-' "
    "|| id"
    " FROM run LIMIT 8",
};

/* Writes one statement. A value replaces %u in the texts above. */
static void make_statement(struct input *input, char *sql, size_t size)
{
    char text[512];
    const unsigned kind = next(input), number = next_number(input);
    if (kind % 3 == 0) {
        snprintf(text, sizeof text, "%s", schemas[kind / 3 % FTH_COUNT(schemas)]);
    } else {
        const unsigned row = next(input);
        snprintf(text, sizeof text, "UPDATE %s = %s %s%u", cells[kind / 3 % FTH_COUNT(cells)],
                 values[number % FTH_COUNT(values)], row & 8 ? "--" : "WHERE id = ", row & 7);
    }
    snprintf(sql, size, text, number, number); /* the texts are constants */
}

/* Applies the statements of the input. Many fail, which does not matter. */
static void change_store(struct input *input)
{
    sqlite3 *database = NULL;
    const unsigned count = next(input) % MAX_STATEMENTS;
    if (sqlite3_open(store_path(), &database) != SQLITE_OK)
        abort();
    sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (unsigned i = 0; i < count; i++) {
        char sql[600];
        make_statement(input, sql, sizeof sql);
        sqlite3_exec(database, sql, NULL, NULL, NULL);
    }
    sqlite3_close(database);
}

static void change_bytes(struct input *input)
{
    struct fth_buffer content = read_store();
    for (unsigned i = 0; i < MAX_BYTES && input->size >= 3 && content.size > 0; i++) {
        const size_t at = next_number(input) % content.size;
        content.data[at] = (char)next(input);
    }
    write_store(content.data ? content.data : "", content.size);
    fth_buffer_fini(&content);
}

/* ---- using a store ---- */

static struct fth_fingerprint make_fingerprint(void)
{
    static const double features[2][FEATURES] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
                                                 {2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15}};
    struct fth_fingerprint fingerprint = {.runs = {.items = NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct fth_run *run = fth_runs_add(&fingerprint.runs);
        if (!run)
            abort();
        *run = (struct fth_run){.device = "device",
                                .time = 1,
                                .version = FTH_FEATURES_VERSION,
                                .features = features[i],
                                .count = FEATURES};
    }
    return fingerprint;
}

/* A failure has a message of one line. */
static bool check_status(enum fth_status status, struct fth_error *error)
{
    if (status != FTH_OK && (!error->cause[0] || strchr(error->cause, '\n')))
        abort();
    *error = (struct fth_error)FTH_NO_ERROR;
    return status == FTH_OK;
}

static void check_enrolled(void *user, const struct fth_enrolled *enrolled)
{
    (void)user;
    if (!enrolled->name || !enrolled->runs ||
        enrolled->right + enrolled->wrong + enrolled->refused != enrolled->runs)
        abort();
}

static bool open_store(bool read_only, struct fth_store **store, struct fth_error *error)
{
    const struct fth_store_options options =
        FTH_STORE_OPTIONS(.read_only = read_only, .max_bytes = MAX_SIZE, .wait_ms = 1);
    return check_status(fth_store_open(store_path(), &options, store, error), error);
}

/* Lists, identifies and exports. Returns whether the store can be read. */
static bool read_all(struct fth_store *store, const struct fth_fingerprint *fingerprint)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_identification found;
    struct fth_runs runs = {.items = NULL};
    char *text = NULL;
    size_t size = 0;
    const bool good =
        check_status(fth_store_list(store, true, check_enrolled, NULL, &error), &error);
    if (check_status(fth_store_identify(store, fingerprint, &found, &error), &error)) {
        if (!found.name == !found.reason[0])
            abort();
        fth_identification_fini(&found);
    }
    if (check_status(fth_store_export(store, &text, &size, &error), &error) != good)
        abort();
    if (good && fth_exchange_read("export", text, size, &runs, &error) != FTH_OK)
        abort();
    fth_runs_fini(&runs);
    fth_free(text);
    return good;
}

/* Uses the store for reading, and then for writing if `change` is true. */
static void use_store(bool change)
{
    struct fth_fingerprint fingerprint = make_fingerprint();
    struct fth_error error = FTH_NO_ERROR;
    struct fth_store *store = NULL;
    bool good = false;
    if (open_store(true, &store, &error)) {
        struct fth_buffer before = read_store();
        good = read_all(store, &fingerprint);
        struct fth_buffer after = read_store();
        if (before.size != after.size || memcmp(before.data, after.data, before.size) != 0)
            abort();
        fth_buffer_fini(&before);
        fth_buffer_fini(&after);
        fth_store_close(store);
    }
    if (change && open_store(false, &store, &error)) {
        const bool enrolled =
            check_status(fth_store_enroll(store, "new", &fingerprint, NULL, &error), &error);
        check_status(fth_store_forget(store, "a", NULL, &error), &error);
        check_status(fth_store_forget(store, "nobody", NULL, &error), &error);
        fth_store_close(store);
        if (enrolled && good &&
            (!open_store(true, &store, &error) || !read_all(store, &fingerprint)))
            abort();
        if (enrolled && good)
            fth_store_close(store);
    }
    fth_runs_fini(&fingerprint.runs);
}

/* Creates a store of the current version, or of version 1, with two GPUs and five runs. */
static void create_valid_store(bool old)
{
    static const char rows[] =
        "INSERT INTO gpu VALUES (1, 'a', 'device', 'GPU-1'), (2, 'b', NULL, NULL);"
        "INSERT INTO run (id, gpu, driver, time, version, features%s) VALUES"
        " (1, 1, 'd', 1, 2, '[1,2,3,4,5,6,7,8,9,10,11,12,13,14]'%s),"
        " (2, 1, 'd', 2, 2, '[2,2,3,4,5,6,7,8,9,10,11,12,13,15]'%s),"
        " (3, 1, NULL, 3, 1, '[2,2,3,4,5,6,7,8,9,10,11,12,13]'%s),"
        " (4, 2, 'd', 4, 2, '[4,2,3,4,5,6,7,8,9,10,11,12,13,null]'%s),"
        " (5, 2, 'd', 5, 2, '[1]'%s);";
    static const char tables[] =
        "CREATE TABLE gpu (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, device TEXT, uuid"
        " TEXT);"
        "CREATE TABLE run (id INTEGER PRIMARY KEY,"
        " gpu INTEGER NOT NULL REFERENCES gpu(id) ON DELETE CASCADE, driver TEXT,"
        " time INTEGER NOT NULL, version INTEGER NOT NULL, features TEXT NOT NULL);"
        "CREATE INDEX run_gpu ON run(gpu);"
        "PRAGMA application_id = 1718904941; PRAGMA user_version = 1;";
    static const char upgrade[] = "ALTER TABLE run ADD COLUMN key TEXT NOT NULL DEFAULT '';"
                                  "CREATE UNIQUE INDEX run_key ON run(key);"
                                  "PRAGMA user_version = 2;";
    char sql[1024];
    sqlite3 *database = NULL;
    if (old)
        snprintf(sql, sizeof sql, rows, "", "", "", "", "", "");
    else
        snprintf(sql, sizeof sql, rows, ", key", ", 'key-0001'", ", 'key-0002'", ", 'key-0003'",
                 ", 'key-0004'", ", 'key-0005'");
    if (sqlite3_open(store_path(), &database) != SQLITE_OK ||
        sqlite3_exec(database, "PRAGMA synchronous = OFF; PRAGMA page_size = 1024; BEGIN", NULL,
                     NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, tables, NULL, NULL, NULL) != SQLITE_OK ||
        (!old && sqlite3_exec(database, upgrade, NULL, NULL, NULL) != SQLITE_OK) ||
        sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_close(database);
}

/* Writes such a store. Both are created once and kept. */
static void write_valid_store(bool old)
{
    static char bytes[2][16384];
    static size_t sizes[2];
    if (sizes[old] == 0) {
        create_valid_store(old);
        struct fth_buffer content = read_store();
        if (content.size == 0 || content.size > sizeof bytes[old])
            abort();
        sizes[old] = content.size;
        memcpy(bytes[old], content.data, content.size);
        fth_buffer_fini(&content);
    }
    write_store(bytes[old], sizes[old]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const unsigned kind = next(&input);
    remove_files();
    if (kind < 64) {
        write_store(input.data, input.size);
    } else {
        write_valid_store(kind % 2);
        change_store(&input);
        change_bytes(&input);
    }
    use_store(kind & 2);
    remove_files();
    return 0;
}
