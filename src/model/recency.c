/* Reuse distances within sets: how many other lines of its set were used since a line was.
 *
 * Each set has a clock and a bit for each tick. A line's last use is a set bit; the distance is how
 * many bits are set past its own, which a machine counts 64 at a time:
 *
 *     tick    0 1 2 3 4 5 6 7 …
 *     line    - B - A - C D -      B is at 3, D at 0
 *     bits    0 1 0 1 0 1 1 0
 *
 * When the ticks are used up, those that are set move to the front in their order. With twice as
 * many ticks as ways that is at most once in as many uses as there are ways. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#define NEVER UINT32_MAX

struct fth_recency {
    uint32_t sets, ways, words; /* 64 ticks a word */
    uint32_t *now;              /* [sets] */
    uint64_t *bits;             /* [sets][words] */
    uint32_t *ticks;            /* [sets][ways] of each way, or NEVER */
    uint32_t *at;               /* [sets][64 words] the way of each tick */
};

enum fth_status fth_recency_create(const struct fth_shape *shape, struct fth_recency **out,
                                   struct fth_error *error)
{
    struct fth_recency *recency = calloc(1, sizeof *recency);
    *out = NULL;
    if (recency) {
        const size_t sets = (size_t)shape->sets;
        recency->sets = (uint32_t)shape->sets;
        recency->ways = (uint32_t)shape->ways;
        recency->words = (2 * recency->ways + 63) / 64;
        recency->now = calloc(sets, sizeof *recency->now);
        recency->bits = calloc(sets * recency->words, sizeof *recency->bits);
        recency->ticks = malloc(sets * recency->ways * sizeof *recency->ticks);
        recency->at = malloc(sets * recency->words * 64 * sizeof *recency->at);
    }
    if (!recency || !recency->now || !recency->bits || !recency->ticks || !recency->at) {
        fth_recency_destroy(recency);
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory for %llu sets",
                        (unsigned long long)shape->sets);
    }
    fth_recency_clear(recency);
    *out = recency;
    return FTH_OK;
}

void fth_recency_destroy(struct fth_recency *recency)
{
    if (!recency)
        return;
    free(recency->now);
    free(recency->bits);
    free(recency->ticks);
    free(recency->at);
    free(recency);
}

void fth_recency_clear(struct fth_recency *recency)
{
    const size_t sets = recency->sets;
    memset(recency->now, 0, sets * sizeof *recency->now);
    memset(recency->bits, 0, sets * recency->words * sizeof *recency->bits);
    memset(recency->ticks, 0xff, sets * recency->ways * sizeof *recency->ticks);
}

static void forget(struct fth_recency *recency, uint32_t set, uint32_t tick)
{
    recency->bits[(size_t)set * recency->words + tick / 64] &= ~(UINT64_C(1) << (tick % 64));
}

/* Moves the ticks that are set to the front. */
static void compact(struct fth_recency *recency, uint32_t set)
{
    uint64_t *bits = recency->bits + (size_t)set * recency->words;
    uint32_t *at = recency->at + (size_t)set * recency->words * 64;
    uint32_t *ticks = recency->ticks + (size_t)set * recency->ways;
    uint32_t count = 0;
    for (uint32_t word = 0; word < recency->words; word++)
        for (uint64_t left = bits[word]; left; left &= left - 1) {
            const uint32_t way = at[word * 64 + (uint32_t)__builtin_ctzll(left)];
            at[count] = way;
            ticks[way] = count++;
        }
    for (uint32_t word = 0; word < recency->words; word++)
        bits[word] = count >= 64 * (word + 1) ? UINT64_MAX
                     : count > 64 * word      ? (UINT64_C(1) << (count % 64)) - 1
                                              : 0;
    recency->now[set] = count;
}

static uint32_t count_newer(const struct fth_recency *recency, uint32_t set, uint32_t tick)
{
    const uint64_t *bits = recency->bits + (size_t)set * recency->words;
    const uint32_t last = (recency->now[set] - 1) / 64;
    uint32_t word = tick / 64;
    uint32_t newer = (uint32_t)__builtin_popcountll(bits[word] & ~UINT64_C(1) << (tick % 64));
    while (++word <= last)
        newer += (uint32_t)__builtin_popcountll(bits[word]);
    return newer;
}

uint32_t fth_recency_touch(struct fth_recency *recency, uint32_t set, uint32_t way, bool fresh)
{
    uint32_t *tick = &recency->ticks[(size_t)set * recency->ways + way];
    uint32_t distance = UINT32_MAX;
    if (*tick != NEVER) {
        if (!fresh) {
            if (*tick + 1 == recency->now[set])
                return 0; /* the newest already */
            distance = count_newer(recency, set, *tick);
        }
        forget(recency, set, *tick);
    }
    if (recency->now[set] == recency->words * 64)
        compact(recency, set);
    *tick = recency->now[set]++;
    recency->bits[(size_t)set * recency->words + *tick / 64] |= UINT64_C(1) << (*tick % 64);
    recency->at[(size_t)set * recency->words * 64 + *tick] = way;
    return distance;
}

void fth_recency_drop(struct fth_recency *recency, uint32_t set, uint32_t way)
{
    uint32_t *tick = &recency->ticks[(size_t)set * recency->ways + way];
    if (*tick != NEVER)
        forget(recency, set, *tick);
    *tick = NEVER;
}
