/* For tests of the history of a fleet: measurements that are made up. */
#ifndef FTH_TESTS_MADE_HISTORY_H
#define FTH_TESTS_MADE_HISTORY_H

#include "fleet/history/history.h"
#include "folder.h"

#include <math.h>

static const char path[] = "fleet.db";
static const struct fth_store_options creating = FTH_STORE_OPTIONS(.create = true);
static const struct fth_store_options reading = FTH_STORE_OPTIONS(.read_only = true);

/* The time of a day in November 2026. */
static inline int64_t day(int number)
{
    return 1793491200 + (int64_t)number * 86400;
}

/* A measurement to be made. Members that are 0 get usual values. */
struct made {
    const char *uuid, *host, *slot, *driver;
    int64_t time;
    double bandwidth; /* memory.read_bytes_per_s */
    double size;      /* l2.size_bytes */
    const double *map;
    size_t sms;
    float confidence; /* of l2.size_bytes; 0: the driver reports it */
    const char *file;
};

static inline struct fth_fleet *new_fleet(void)
{
    struct fth_fleet *fleet = NULL;
    assert_int_equal(fth_fleet_create(&fleet, NULL), FTH_OK);
    return fleet;
}

/* Adds a measurement to a fleet. */
static inline void make(struct fth_fleet *fleet, struct made made)
{
    struct fth_fleet_value values[] = {
        {fth_fleet_figure_index(fleet, "memory.read_bytes_per_s"), 0.5F,
         made.bandwidth > 0 ? made.bandwidth : 4.61e12, NULL},
        {fth_fleet_figure_index(fleet, "l2.size_bytes"),
         made.confidence > 0 ? made.confidence : (float)NAN, made.size > 0 ? made.size : 62914560,
         NULL},
        {fth_fleet_figure_index(fleet, "l2.latency_cycles"), NAN, 277.9, NULL},
        {fth_fleet_figure_index(fleet, "device.throttling"), NAN, NAN, "none"},
    };
    const struct fth_fleet_draft draft = {
        .gpu = {.name = made.uuid,
                .uuid = made.uuid,
                .host = made.host ? made.host : "node1",
                .slot = made.slot ? made.slot : "0000:00:06.0",
                .model = "NVIDIA H200",
                .driver = made.driver ? made.driver : "580.1",
                .backend = "cuda"},
        .time = made.time,
        .file = made.file ? made.file : "made.json",
        .values = values,
        .value_count = sizeof values / sizeof values[0],
        .fingerprint = made.map,
        .fingerprint_count = made.map ? made.sms : 0,
    };
    assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
}

/* Adds a fleet to the history in the file, and destroys it. Returns the number of new
 * measurements. */
static inline size_t keep(struct fth_fleet *fleet)
{
    struct fth_fleet_history *history = NULL;
    struct fth_error error = NO_ERROR;
    size_t added = 0;
    if (fth_fleet_history_open(path, &creating, &history, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    if (fth_fleet_history_add(history, fleet, &added, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_history_close(history);
    fth_fleet_destroy(fleet);
    return added;
}

static inline struct fth_fleet_history *open_reading(void)
{
    struct fth_fleet_history *history = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_fleet_history_open(path, &reading, &history, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return history;
}

/* Reads measurements into a new fleet, which is arranged. */
static inline struct fth_fleet *load(const struct fth_fleet_history_options *options)
{
    struct fth_fleet_history *history = open_reading();
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    if (fth_fleet_history_read(history, options, fleet, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    fth_fleet_history_close(history);
    return fleet;
}

static inline int remove_store(void **state)
{
    (void)state;
    remove(path);
    return 0;
}

#endif
