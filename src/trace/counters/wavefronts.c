/* The wavefronts of an access to shared memory.
 *
 * Shared memory has 32 banks of 4 bytes. In a wavefront, each bank delivers or takes one word, for
 * any number of lanes. A group of lanes needs as many wavefronts as there are different words in
 * the busiest bank. The groups are:
 *
 *   up to 4 bytes per lane, loads of 8 bytes     all lanes
 *   stores of 8 bytes                            16 lanes each
 *   16 bytes, ldmatrix, stmatrix                 8 lanes each
 *   loads of 16 bytes                            16 lanes if these have at most 8 addresses,
 *                                                otherwise 8 lanes each */
#include "trace/counters/counters.h"

enum { LANES = 32, BANKS = 32, WORD_BYTES = 4, MAX_WORDS = LANES * 4, HALF = 16, QUARTER = 8 };

/* Adds a value to a set, unless it is in it. */
static void insert(uint64_t *set, unsigned *count, uint64_t value)
{
    for (unsigned i = *count; i-- > 0;)
        if (set[i] == value)
            return;
    set[(*count)++] = value;
}

/* Returns the largest number of different words that the lanes of the mask access in one bank. */
static unsigned busiest_bank(const struct fth_ptx_access *access, uint32_t mask)
{
    uint64_t words[MAX_WORDS];
    unsigned count = 0, per_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t address = access->addresses[__builtin_ctz(left)];
        const uint64_t last = (address + access->bytes - 1) / WORD_BYTES;
        for (uint64_t word = address / WORD_BYTES; word <= last; word++)
            insert(words, &count, word);
    }
    for (unsigned i = 0; i < count; i++) {
        const unsigned now = ++per_bank[words[i] % BANKS];
        most = now > most ? now : most;
    }
    return most;
}

static unsigned count_addresses(const struct fth_ptx_access *access, uint32_t mask)
{
    uint64_t addresses[LANES];
    unsigned count = 0;
    for (uint32_t left = mask; left; left &= left - 1)
        insert(addresses, &count, access->addresses[__builtin_ctz(left)]);
    return count;
}

/* The number of lanes of the group that starts with this lane. */
static unsigned group_size(const struct fth_ptx_access *access, unsigned lane)
{
    const bool loads = access->kind == FTH_ACCESS_READ && access->unit == FTH_UNIT_LANES;
    const uint32_t half = access->mask & UINT32_C(0xffff) << lane / HALF * HALF;
    if (access->bytes <= WORD_BYTES || (access->bytes == 2 * WORD_BYTES && loads))
        return LANES;
    if (access->bytes == 2 * WORD_BYTES)
        return HALF;
    return loads && count_addresses(access, half) <= QUARTER ? HALF : QUARTER;
}

/* In an atomic, a bank serves one lane in a wavefront, even if the addresses are the same. A
 * compare-and-swap needs two wavefronts, for its two operands. */
static struct fth_wavefronts atomic_wavefronts(const struct fth_ptx_access *access)
{
    unsigned per_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t word = access->addresses[__builtin_ctz(left)] / WORD_BYTES;
        const unsigned now = ++per_bank[word % BANKS];
        most = now > most ? now : most;
    }
    return (struct fth_wavefronts){.count = access->compares ? 2 * most : most,
                                   .conflicts = most ? most - 1 : 0};
}

struct fth_wavefronts fth_access_wavefronts(const struct fth_ptx_access *access)
{
    struct fth_wavefronts wavefronts = {0, 0};
    if (access->kind == FTH_ACCESS_ATOMIC)
        return atomic_wavefronts(access);
    for (unsigned lane = 0, size; lane < LANES; lane += size) {
        size = group_size(access, lane);
        const uint32_t group = (size == LANES ? UINT32_MAX : (UINT32_C(1) << size) - 1) << lane;
        const unsigned needed = busiest_bank(access, access->mask & group);
        wavefronts.count += needed;
        wavefronts.conflicts += needed ? needed - 1 : 0;
    }
    return wavefronts;
}
