/* Fuzzes the values in the history of a fleet (fth_fleet_history_read and what follows). The input
 * is the values and, after a byte with their number, the fingerprint of a measurement in a valid
 * file. Reading must succeed or fail with FTH_INVALID; what was read is added again to another
 * history and read from there. */
#include "fleet/history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fth_store_options creating = FTH_STORE_OPTIONS(.create = true);

/* Returns the path of a file, in memory if the system has such a folder. */
static const char *file_path(char *path, size_t size, const char *suffix)
{
    snprintf(path, size, "%s/fathom-fuzz-%ld-%s.db",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid(), suffix);
    return path;
}

/* Opens a new file. */
static struct fth_fleet_history *open_new(const char *path)
{
    struct fth_fleet_history *history = NULL;
    unlink(path);
    if (fth_fleet_history_open(path, &creating, &history, NULL) != FTH_OK)
        abort();
    return history;
}

/* Adds a measurement, whose values are replaced by the input. */
static void add_input(struct fth_fleet_history *history, const uint8_t *data, size_t size)
{
    const size_t values = size > 0 ? FTH_MIN((size_t)data[0], size - 1) : 0;
    const uint8_t *rest = size > 0 ? data + 1 + values : data;
    const size_t rest_size = size > 0 ? size - 1 - values : 0;
    struct fth_fleet *fleet = NULL;
    sqlite3_stmt *statement = NULL;
    if (fth_fleet_create(&fleet, NULL) != FTH_OK)
        abort();
    const struct fth_fleet_value value[] = {
        {fth_fleet_figure_index(fleet, "l2.size_bytes"), 1, 50, NULL},
        {fth_fleet_figure_index(fleet, "device.throttling"), 1, (double)NAN, "none"}};
    const struct fth_fleet_draft draft = {.gpu = {.name = "GPU-a", .uuid = "GPU-a", .host = "node"},
                                          .file = "a",
                                          .values = value,
                                          .value_count = 2};
    if (fth_fleet_add(fleet, &draft, NULL) != FTH_OK ||
        fth_fleet_history_add(history, fleet, NULL, NULL) != FTH_OK ||
        fth_store_prepare(history->store, "fuzz",
                          "UPDATE measurement SET figures = ?1, fingerprint = ?2", &statement,
                          NULL) != FTH_OK)
        abort();
    sqlite3_bind_blob(statement, 1, size ? (const void *)(data + 1) : "", (int)values,
                      SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, rest_size ? (const void *)rest : "", (int)rest_size,
                      SQLITE_STATIC);
    if (fth_store_step(history->store, "fuzz", statement, NULL, NULL, NULL) != FTH_OK)
        abort();
    sqlite3_finalize(statement);
    fth_fleet_destroy(fleet);
}

/* What was read can be added and read again, and is the same. */
static void check_again(const struct fth_fleet *fleet)
{
    char path[80];
    struct fth_fleet *again = NULL;
    struct fth_fleet_history *history = open_new(file_path(path, sizeof path, "again"));
    if (fth_fleet_history_add(history, fleet, NULL, NULL) != FTH_OK ||
        fth_fleet_create(&again, NULL) != FTH_OK ||
        fth_fleet_history_read(history, NULL, again, NULL) != FTH_OK)
        abort();
    const struct fth_fleet_measurement *a = fleet->measurements, *b = again->measurements;
    if (a->value_count != b->value_count || a->fingerprint_count != b->fingerprint_count ||
        (a->fingerprint_count &&
         memcmp(a->fingerprint, b->fingerprint, a->fingerprint_count * sizeof(double)) != 0))
        abort();
    fth_fleet_destroy(again);
    fth_fleet_history_close(history);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[80];
    struct fth_fleet *fleet = NULL;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_fleet_history *history = open_new(file_path(path, sizeof path, "input"));
    add_input(history, data, size);
    if (fth_fleet_create(&fleet, NULL) != FTH_OK)
        abort();
    const enum fth_status status = fth_fleet_history_read(history, NULL, fleet, &error);
    if (status == FTH_OK)
        check_again(fleet);
    else if (status != FTH_INVALID || !error.cause[0])
        abort();
    fth_fleet_destroy(fleet);
    fth_fleet_history_close(history);
    unlink(path);
    return 0;
}
