/* The causes of misses (docs/model/misses.md), for the oracles of the cache models. It keeps
 * everything that a cache has done since it was emptied, and determines the cause of a miss by
 * reading this history backwards. */
#ifndef FTH_TESTS_MISS_ORACLE_H
#define FTH_TESTS_MISS_ORACLE_H

#include "fathom/cache_model.h"

enum miss_cause {
    MISS_COLD,
    MISS_CAPACITY,
    MISS_CONFLICT,
    MISS_COHERENCE,
    MISS_SECTOR,
    MISS_CAUSES
};

enum miss_event_kind {
    MISS_USED,      /* the line was used; afterwards, the cache has these sectors completely */
    MISS_COMPLETED, /* the sectors became complete without a use of the line */
    MISS_REMOVED,   /* the sectors were removed, but not replaced */
    MISS_MISSED     /* the sectors were missed, for this cause */
};

struct miss_event {
    enum miss_event_kind kind;
    enum miss_cause cause;
    uint64_t line, sectors;
    size_t previous; /* index of the previous use of the line; SIZE_MAX: none */
};

struct miss_history {
    uint64_t lines; /* capacity of the cache */
    struct miss_event *events;
    size_t count;
};

void miss_history_fini(struct miss_history *history);
void miss_history_add(struct miss_history *history, enum miss_event_kind kind, uint64_t line,
                      uint64_t sectors);
/* A read misses sectors and fetches others. `present`: the cache has the line. counts[cause] is
 * increased for each sector that is missed; NULL: they are not counted. */
void miss_history_miss(struct miss_history *history, uint64_t line, uint64_t missed,
                       uint64_t fetched, bool present, uint64_t *counts);
/* Sectors that are under way are missed again. */
void miss_history_again(const struct miss_history *history, uint64_t line, uint64_t sectors,
                        uint64_t *counts);
/* The counts of a result of the model, by cause. */
void miss_counts(const struct fth_model_misses *misses, uint64_t counts[MISS_CAUSES]);

#endif
