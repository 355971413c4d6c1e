/* The state of the L2 of the model with time, for timed_l2.c and timed_l2_create.c. */
#ifndef FTH_MODEL_TIMED_L2_H
#define FTH_MODEL_TIMED_L2_H

#include "model/timed/timed_joins.h"

/* ---- atomics ---- */

/* A unit of the L2 executes the atomics on 512 contiguous bytes, as on an H200
 * (docs/results/diagnosis-h200.md), at a distance from each other. */

/* Size of the table of units that execute atomics: a power of two. Chosen: enough for the busy
 * ones; two units that share an entry are not delayed. */
enum { FTH_ATOMIC_SLOTS = 1 << 12, FTH_ATOMIC_SHIFT = 64 - 12, FTH_ATOMIC_UNIT_BYTES = 512 };

/* A unit that executes the atomics of some contiguous bytes, and when it can take the next one. */
struct fth_atomic_unit {
    uint64_t number, free_at;
};

struct fth_atomic_units {
    struct fth_atomic_unit units[FTH_ATOMIC_SLOTS];
};

/* Returns when an atomic that arrives at `now` begins. It occupies the unit of its line with each
 * sector. */
static inline uint64_t fth_atomics_begin(struct fth_atomic_units *atomics,
                                         const struct fth_timing *timing,
                                         const struct fth_timed_line *line, uint64_t now)
{
    const uint64_t number = line->line / FTH_ATOMIC_UNIT_BYTES;
    struct fth_atomic_unit *unit =
        &atomics->units[number * UINT64_C(0x9e3779b97f4a7c15) >> FTH_ATOMIC_SHIFT];
    if (unit->number != number)
        *unit = (struct fth_atomic_unit){.number = number};
    const uint64_t begin = fth_later(now, unit->free_at);
    unit->free_at = begin + fth_count_bits(line->sectors) *
                                timing->atomic[(line->flags & FTH_LINE_REQUEST_FLOAT) != 0];
    return begin;
}

/* ---- the L2 ---- */

struct side {
    struct fth_timed_cache cache;
    /* [sets][partial_words] ways with partly written sectors, one bit each */
    uint64_t *partial_sets;
    uint64_t *partial_since;   /* [cache.slots] the write that made the line of the slot partial */
    uint64_t free_at;          /* when it can send the next sector */
    struct fth_shadow *shadow; /* NULL: the causes of misses are not wanted */
};

struct fth_timed_l2 {
    struct fth_timing timing;
    struct fth_shape shape;
    struct side *sides;
    uint64_t side_count, home_mask;
    const struct fth_index *index; /* of every side */
    uint64_t fill_bytes;           /* of the shape; at least a sector and at most a line */
    uint64_t memory_free_at;
    uint64_t stores_free_at; /* when the L2 can take the next sector of a store */
    uint64_t input_free_at;  /* the same of a store or from memory */
    uint64_t *port_free_at;  /* [sms] */
    uint8_t *side_of_sm;     /* [sms] */
    struct fth_join_units joins;
    size_t sms;
    struct fth_atomic_units atomics;
    uint32_t partial_words; /* of struct side.partial_sets, per set */
    uint64_t partial_ways;  /* maximum number of partly written lines per set; 0: no limit */
    uint64_t partial_writes;
    uint64_t allocated_lines;     /* in this launch */
    uint64_t launch_sectors;      /* that a launch reads from memory if the L2 is empty */
    bool used;                    /* by an earlier launch */
    struct fth_curves *curves;    /* NULL: not wanted */
    struct fth_l2_counts *counts; /* [instructions + 1] */
    size_t instructions;
    struct fth_cache_level_totals totals;
};

#endif
