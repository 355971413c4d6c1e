/* Units that serve exactly one request per cycle: a warp scheduler, which issues one instruction,
 * and the banks of shared memory, which each deliver one word. Blocks and warps are not simulated
 * in the order of time, so free cycles can precede reserved ones. Therefore every cycle has a bit,
 * in a ring of words. Each word stores its number, so an outdated word is recognised and reused.
 * Requests at times that the ring no longer covers are not limited. */
#include "device/sim/sim.h"

#include <stdlib.h>

enum { WORD_CYCLES = 64 };

struct fth_sim_slot_word {
    int64_t number; /* first cycle / WORD_CYCLES */
    uint64_t taken; /* one bit per cycle; 1: reserved */
};

/* Returns the word of that number and clears it if it was an older one. NULL: the ring no longer
 * covers it. */
static struct fth_sim_slot_word *word_at(struct fth_sim_slots *slots, int64_t number)
{
    struct fth_sim_slot_word *word = &slots->ring[number & (((int64_t)1 << slots->bits) - 1)];
    if (word->number > number)
        return NULL;
    if (word->number < number)
        *word = (struct fth_sim_slot_word){.number = number};
    return word;
}

int64_t fth_sim_slots_take(struct fth_sim_slots *slots, int64_t time, unsigned count)
{
    if (!slots->ring) {
        slots->ring = calloc((size_t)1 << slots->bits, sizeof *slots->ring);
        if (!slots->ring) {
            slots->failed = true;
            return 0;
        }
    }
    const int64_t first = time / FTH_SIM_CYCLE;
    int64_t number = first / WORD_CYCLES, begin = -1;
    const int64_t last = number + ((int64_t)1 << slots->bits) - 1;
    for (unsigned from = (unsigned)(first % WORD_CYCLES); number < last; number++, from = 0) {
        struct fth_sim_slot_word *word = word_at(slots, number);
        if (!word)
            return 0;
        for (uint64_t free = ~word->taken >> from << from; free && count; free &= free - 1) {
            const int bit = __builtin_ctzll(free);
            word->taken |= (uint64_t)1 << bit;
            begin = begin < 0 ? number * WORD_CYCLES + bit : begin;
            count--;
        }
        if (count == 0)
            break;
    }
    return begin <= first ? 0 : begin * FTH_SIM_CYCLE - time;
}

void fth_sim_slots_fini(struct fth_sim_slots *slots)
{
    free(slots->ring);
    slots->ring = NULL;
}
