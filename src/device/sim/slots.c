/* Turns, a cycle each, of something that serves one at a time, and exactly: a scheduler that issues
 * an instruction a cycle, the banks of shared memory that give a word each. As blocks and warps are
 * not simulated in the order of time, a turn that is free may lie before turns that are taken:
 * there is a bit for every cycle, in a ring of words that carry their number. What lies further
 * back than the ring reaches is not limited any more. */
#include "device/sim/sim.h"

#include <stdlib.h>

enum { WORD_CYCLES = 64, RING_BITS = 12 };

struct sim_slot_word {
    int64_t number;
    uint64_t taken; /* a bit a cycle */
};

/* The word of that number, taken over from an older one; NULL: too far back. */
static struct sim_slot_word *word_at(struct sim_slots *slots, int64_t number)
{
    struct sim_slot_word *word = &slots->ring[number & ((1 << RING_BITS) - 1)];
    if (word->number > number)
        return NULL;
    if (word->number < number)
        *word = (struct sim_slot_word){.number = number};
    return word;
}

int64_t sim_slots_take(struct sim_slots *slots, int64_t time, unsigned count)
{
    if (!slots->ring) {
        slots->ring = calloc((size_t)1 << RING_BITS, sizeof *slots->ring);
        if (!slots->ring)
            return 0;
    }
    const int64_t first = time / SIM_CYCLE;
    int64_t number = first / WORD_CYCLES, begin = -1;
    const int64_t last = number + (1 << RING_BITS) - 1;
    for (unsigned from = (unsigned)(first % WORD_CYCLES); number < last; number++, from = 0) {
        struct sim_slot_word *word = word_at(slots, number);
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
    return begin <= first ? 0 : begin * SIM_CYCLE - time;
}

void sim_slots_fini(struct sim_slots *slots)
{
    free(slots->ring);
    slots->ring = NULL;
}
