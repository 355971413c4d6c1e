/* The units on the way to the L2 that join reads: one per group of SMs. A unit knows the last read
 * of each line that it has sent on. docs/model/time.md defines when reads are joined. */
#ifndef FTH_MODEL_TIMED_JOINS_H
#define FTH_MODEL_TIMED_JOINS_H

#include "model/timed/timed.h"

/* Size of the table of reads under way, per group of SMs: a power of two. Chosen: about as many as
 * a group has under way at full load; a read that another one replaces is not joined any more. */
enum { FTH_JOIN_SLOTS = 1 << 13 };

/* A read that is under way, as the join unit knows it. It fills one line of the host's caches. */
struct fth_pending_read {
    _Alignas(64) uint64_t line;
    uint64_t begin;   /* when it arrived at the join unit */
    uint64_t until;   /* when the L2 has its data; up to then, other reads can be joined to it */
    uint64_t ready;   /* when its data is at the SM */
    uint32_t first;   /* sectors that its first part requested */
    uint32_t sectors; /* that it requests so far */
    uint32_t count;   /* reads that have become one */
};

struct fth_join_units {
    uint32_t *group_of_sm; /* [group_sms]; NULL: reads are not joined */
    size_t group_sms;
    struct fth_pending_read *reads; /* [groups][FTH_JOIN_SLOTS] */
    struct fth_arena memory;        /* of `reads` */
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

/* Whether the read of an entry is under way for a read of the same line that arrives at `at`, which
 * includes the epoch. Reads are handled in the order in which their SMs issue them, so the other
 * read may arrive after this one. It would then be joined to this one only if it arrives before the
 * data of this one, which takes about as long. */
static inline bool fth_joins_pending(const struct fth_pending_read *read, uint64_t line,
                                     uint64_t at)
{
    return read && read->line == line && at < read->until &&
           read->begin < at + (read->until - read->begin);
}

/* Joins a part of a request of sent->line that arrives at the unit at `now` with the read of the
 * entry of the line, *read, if that is possible. *ready: when its data is at the SM. A first part
 * of other sectors of the line ends joins with the other read, and no read is joined with it: *read
 * becomes NULL. A further part is only joined if the first one was. `most`: reads that become one.
 */
static inline bool fth_joins_join(const struct fth_join_units *joins, uint32_t sm,
                                  struct fth_sent_read *sent, uint32_t sectors, uint64_t now,
                                  uint32_t most, struct fth_pending_read **read, uint64_t *ready)
{
    struct fth_pending_read *other = fth_joins_find(joins, sm, sent->line);
    const bool is_first = !sent->sectors;
    sent->sectors |= sectors;
    *read = other;
    if (!fth_joins_pending(other, sent->line, joins->epoch + now))
        return false;
    *ready = other->ready - joins->epoch;
    if (!is_first)
        return sent->joined && !(sectors & ~other->sectors);
    if (other->sectors != sectors && other->first != sectors) {
        other->until = 0;
        *read = NULL;
        return false;
    }
    sent->joined = other->count < most;
    other->count += sent->joined;
    return sent->joined;
}

/* Notes a part that goes on to the L2: the first one becomes the read of its entry, a further one
 * is added to it if it is still there. `read`: from fth_joins_join(); NULL: no read is joined with
 * it. */
static inline void fth_joins_note(struct fth_join_units *joins, struct fth_pending_read *read,
                                  const struct fth_sent_read *sent, bool is_first, uint32_t sectors,
                                  uint64_t begin, uint64_t until, uint64_t ready)
{
    if (!read || sent->joined)
        return;
    if (is_first)
        *read = (struct fth_pending_read){
            .line = sent->line, .begin = joins->epoch + begin, .first = sectors, .count = 1};
    else if (read->line != sent->line || read->begin != joins->epoch + begin)
        return;
    read->sectors |= sectors;
    if (is_first || read->until) /* 0: a read of other sectors has ended the joins */
        read->until = fth_later(read->until, joins->epoch + until);
    read->ready = fth_later(read->ready, joins->epoch + ready);
    joins->latest = fth_later(joins->latest, read->until);
}

#endif
