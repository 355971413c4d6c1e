/* The history of a fleet: measurements of many GPUs over time, in a file (docs/fleets.md). */
#ifndef FATHOM_FLEET_HISTORY_H
#define FATHOM_FLEET_HISTORY_H

#include <fathom/fingerprints.h>
#include <fathom/fleets.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A file of measurements. Each function below that changes the file does so completely or not at
 * all, even if the process or the machine fails meanwhile. Several processes can use one file. All
 * functions can return FTH_UNAVAILABLE (another process keeps the file locked) and FTH_INVALID (the
 * file is damaged). */
struct fth_fleet_history;

/* Writes the default path to `path`: "$XDG_DATA_HOME/fathom/fleet.db", or
 * "$HOME/.local/share/fathom/fleet.db" if XDG_DATA_HOME is not an absolute path. FTH_INVALID:
 * neither variable is an absolute path, or the result does not fit `size` bytes. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_default_path(char *path, size_t size,
                                                                    struct fth_error *error);
/* Opens a history; `path` NULL is the default path. Options and statuses are those of
 * fth_store_open, but options->max_bytes 0 means 4 GiB. The file can be hostile: its schema and its
 * consistency are checked here, and its rows when they are read. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_open(const char *path,
                                                            const struct fth_store_options *options,
                                                            struct fth_fleet_history **history,
                                                            struct fth_error *error);
/* Returns the path of the file, also if NULL was passed to fth_fleet_history_open. */
FTH_API const char *fth_fleet_history_path(const struct fth_fleet_history *history);
/* Closes a history; NULL is allowed. What its functions have changed is already in the file. */
FTH_API void fth_fleet_history_close(struct fth_fleet_history *history);

/* Adds all measurements of a fleet. A measurement that the history already has is not added again:
 * the GPU, the host, the slot, the time and all values are the same. *added gets the number of new
 * measurements; `added` may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_add(struct fth_fleet_history *history,
                                                           const struct fth_fleet *fleet,
                                                           size_t *added, struct fth_error *error);

/* Which measurements of a history are meant. Initialise it with FTH_FLEET_HISTORY_OPTIONS. */
struct fth_fleet_history_options {
    size_t size;         /* of this struct in bytes */
    const char *gpu;     /* only this GPU: its UUID, or its name if it has none; NULL: all */
    const char *host;    /* only GPUs of this host; NULL: all */
    int64_t from, until; /* only measurements from this time on and before this one, in seconds
                          * since 1970 (UTC); 0: no limit. Without a time, they count as time 0. */
    uint32_t newest;     /* only the newest measurements of each GPU, at most this number; 0: all */
};
/* Initialises a struct fth_fleet_history_options; the arguments are designated initialisers. */
#define FTH_FLEET_HISTORY_OPTIONS(...) FTH_OPTIONS(struct fth_fleet_history_options, __VA_ARGS__)

/* Adds measurements of the history to a fleet. `options` may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_read(
    struct fth_fleet_history *history, const struct fth_fleet_history_options *options,
    struct fth_fleet *fleet, struct fth_error *error);

/* A GPU of a history. */
struct fth_fleet_history_gpu {
    const char *name;        /* the UUID; without one, host and slot; without these, the file */
    const char *uuid;        /* NULL: unknown, as the texts below */
    const char *host, *slot; /* of the newest measurement, as the texts below */
    const char *model, *driver;
    size_t measurements;
    int64_t first_time, last_time; /* of the measurements, in seconds since 1970 (UTC) */
};
/* Calls `each` for every GPU of the history, in the order of host, slot and name. The struct and
 * its texts are valid during the call. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_list(
    struct fth_fleet_history *history,
    void (*each)(void *user, const struct fth_fleet_history_gpu *gpu), void *user,
    struct fth_error *error);
/* Reads a date such as "2026-01-31" as the seconds from 1970 to its beginning in UTC. Returns false
 * if the text is no date from 1970 on. */
FTH_API bool fth_date_parse(const char *text, int64_t *time);
/* Removes all measurements before a time (in seconds since 1970, UTC) for good; those without a
 * time stay. Later measurements use their space in the file. *removed gets their number; `removed`
 * may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_history_forget(struct fth_fleet_history *history,
                                                              int64_t before, size_t *removed,
                                                              struct fth_error *error);

/* Compares each GPU of a judgement with its own earlier measurements in the history, and adds what
 * changed for the worse to its findings. Adds notes about cards that were swapped or moved. Of the
 * options, false_alarms and min_effect are used; NULL is allowed. Measurements of the judgement
 * that are already in the history are not compared with themselves. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_judge_history(
    struct fth_fleet_judgement *judgement, struct fth_fleet_history *history,
    const struct fth_fleet_judge_options *options, struct fth_error *error);

/* What a fleet should consist of. Initialise it with FTH_FLEET_EXPECT_OPTIONS. */
struct fth_fleet_expect_options {
    size_t size; /* of this struct in bytes */
    size_t gpus; /* number of GPUs that must have been judged; 0: any number */
    /* File with the hosts that must have GPUs, one per line; what follows a comma, empty lines and
     * lines that begin with '#' are ignored. NULL: any hosts. */
    const char *hosts;
    /* If GPUs are missing, those of this history that were measured in the last 30 days are named;
     * may be NULL. */
    struct fth_fleet_history *history;
    /* The GPUs of these hosts were measured just now, and no others: also count the GPUs that could
     * not be judged, and name only missing GPUs of hosts that the judgement has. */
    bool measured;
};
/* Initialises a struct fth_fleet_expect_options; the arguments are designated initialisers. */
#define FTH_FLEET_EXPECT_OPTIONS(...) FTH_OPTIONS(struct fth_fleet_expect_options, __VA_ARGS__)
/* Adds to a judgement which GPUs and hosts are missing, for its reports. *complete is false if
 * fewer GPUs were judged than expected, or if a host of the list has no GPU. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_expect(
    struct fth_fleet_judgement *judgement, const struct fth_fleet_expect_options *options,
    bool *complete, struct fth_error *error);

/* Writes what a history shows: "text", "json" (fathom-fleet-history/1) or "csv" (one row per GPU,
 * figure and time). With a GPU in `selected`, the text is a table of its figures over time;
 * otherwise a list of GPUs and of the cards that were swapped or moved. `selected` and `options`
 * may be NULL. FTH_INVALID: another format. FTH_NOT_FOUND: nothing is selected. */
FTH_API FTH_MUST_USE enum fth_status fth_report_fleet_history(
    const char *format, struct fth_fleet_history *history,
    const struct fth_fleet_history_options *selected, const struct fth_report_options *options,
    char **text, size_t *size, struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
