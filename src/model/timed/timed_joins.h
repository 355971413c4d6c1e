/* The units on the way to the L2 that join reads: one per group of SMs. A unit knows the last read
 * of each line that it has sent on. docs/model/time.md defines when reads are joined. */
#ifndef FTH_MODEL_TIMED_JOINS_H
#define FTH_MODEL_TIMED_JOINS_H

#include "model/timed/timed.h"

/* Size of the table of reads under way, per group of SMs: a power of two. Chosen: about as many as
 * a group has under way at full load; a read that another one replaces is not joined any more. */
enum { FTH_JOIN_SLOTS = 1 << 13 };

/* A read that is under way, as the join unit knows it. */
struct fth_pending_read {
    uint64_t line;
    uint64_t begin; /* when it arrived at the join unit */
    uint64_t until; /* when the L2 has its data; up to then, other reads can be joined to it */
    uint64_t ready; /* when its data is at the SM */
    uint32_t sectors, count;
};

struct fth_join_units {
    uint32_t *group_of_sm; /* [group_sms]; NULL: reads are not joined */
    size_t group_sms;
    struct fth_pending_read *reads; /* [groups][FTH_JOIN_SLOTS] */
    /* The times of `reads` include the duration of the launches before the current one, so that
     * reads of these launches are no longer under way. */
    uint64_t epoch, latest;
};

FTH_MUST_USE enum fth_status fth_joins_init(struct fth_join_units *joins,
                                            const struct fth_model_params *params,
                                            struct fth_error *error);
void fth_joins_fini(struct fth_join_units *joins);

/* Begins a launch. */
static inline void fth_joins_begin(struct fth_join_units *joins)
{
    joins->epoch = joins->latest;
}

/* Returns the entry for reads of a line by an SM. NULL: its reads are not joined. */
static inline struct fth_pending_read *fth_joins_find(const struct fth_join_units *joins,
                                                      uint32_t sm, uint64_t line)
{
    if (!joins->group_of_sm)
        return NULL;
    const uint64_t hash = line * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return &joins->reads[(size_t)joins->group_of_sm[sm % joins->group_sms] * FTH_JOIN_SLOTS +
                         hash % FTH_JOIN_SLOTS];
}

/* Joins a read that arrives at the unit at `now` with the one of an entry, if that is possible.
 * *ready: when its data is at the SM. Reads are handled in the order in which their SMs issue them,
 * so the other read may arrive after this one. It would then be joined to this one only if it
 * arrives before the data of this one, which takes about as long. `most`: reads that become one. */
static inline bool fth_joins_join(const struct fth_join_units *joins, struct fth_pending_read *read,
                                  uint64_t line, uint32_t sectors, uint64_t now, uint32_t most,
                                  uint64_t *ready)
{
    const uint64_t at = joins->epoch + now;
    if (!read || read->line != line || read->sectors != sectors || read->count >= most ||
        at >= read->until || read->begin >= at + (read->until - read->begin))
        return false;
    read->count++;
    *ready = read->ready - joins->epoch;
    return true;
}

/* Makes a read that goes on to the L2 the one of its entry. NULL: reads are not joined. */
static inline void fth_joins_note(struct fth_join_units *joins, struct fth_pending_read *read,
                                  uint64_t line, uint32_t sectors, uint64_t begin, uint64_t until,
                                  uint64_t ready)
{
    if (!read)
        return;
    *read = (struct fth_pending_read){
        line, joins->epoch + begin, joins->epoch + until, joins->epoch + ready, sectors, 1};
    joins->latest = fth_later(joins->latest, read->until);
}

#endif
