/* A cache of the oracle of timed_oracle.h: its lines, with sectors in flight, sectors that are
 * written in part, and reuse distances. */
#ifndef FTH_TESTS_TIMED_LINES_H
#define FTH_TESTS_TIMED_LINES_H

#include "miss_oracle.h"
#include "timed_oracle.h"

/* The sectors of a line that are in flight; and those that another side has fetched last, with the
 * time at which its request arrived. */
struct timed_flight {
    uint64_t line, ready, sectors;
    uint64_t late, requested;
};

/* A line, and its sectors that are written in part. */
struct timed_partial {
    uint64_t line, set, sectors;
};

struct timed_lines {
    struct oracle *cache;
    uint64_t line_bytes, sector_bytes;
    bool lru;
    struct timed_partial *partials; /* of a side of the L2, the one that became so first at first */
    size_t partial_count;
    struct timed_flight *flights; /* one per line that has ever been allocated */
    size_t flight_count;
    struct timed_partial *uses; /* lines that are held, the one that was used last at first */
    size_t use_count;
    struct miss_history history; /* what the causes of misses depend on */
};

void timed_lines_init(struct timed_lines *lines, const struct timed_gpu *gpu,
                      const struct timed_cache_config *config, uint64_t size_bytes,
                      enum fth_write write, uint64_t seed);
void timed_lines_fini(struct timed_lines *lines);
/* Makes all lines absent. */
void timed_lines_clear(struct timed_lines *lines);
bool timed_lines_hold(const struct timed_lines *lines, uint64_t line);
/* Returns those of `sectors` of which a byte is absent: any byte, or with `bytes` one of these. */
uint64_t timed_lines_missing(const struct timed_lines *lines, uint64_t line, uint64_t sectors,
                             const unsigned char *bytes);
/* Returns those of `sectors` of which at least one byte is present. */
uint64_t timed_lines_touched(const struct timed_lines *lines, uint64_t line, uint64_t sectors);
/* Notes that an access has used a line and these of its sectors. */
void timed_lines_note_use(struct timed_lines *lines, uint64_t line, uint64_t sectors);
struct timed_flight *timed_lines_flight(struct timed_lines *lines, uint64_t line);
/* Returns those of `sectors`, which are present, that arrive after `now`. */
uint64_t timed_lines_flying(struct timed_lines *lines, uint64_t line, uint64_t sectors,
                            uint64_t now);
/* Reads or writes bytes of a line. The distance in the result is the reuse distance of the line;
 * UINT32_MAX: it was absent, or the policy is not LRU. */
struct fth_cache_result timed_lines_access(struct timed_lines *lines, uint64_t address,
                                           uint64_t bytes, enum fth_cache_kind kind);
void timed_lines_drop(struct timed_lines *lines, uint64_t line);
/* Removes a line from the list of partly written ones. Returns its partly written sectors. */
uint64_t timed_lines_forget_partial(struct timed_lines *lines, uint64_t line);
/* Makes space for one more item of a list. */
void *timed_grow(void *items, size_t count, size_t size);

#endif
