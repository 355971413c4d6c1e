/* The wavefronts of an access to shared memory.
 *
 * Shared memory has 32 banks of 4 bytes. In a wavefront, each bank delivers or takes one word, for
 * any number of lanes. A group of lanes needs as many wavefronts as there are different words in
 * the busiest bank. The groups are:
 *
 *   up to 4 bytes per lane          all lanes
 *   8 bytes                         16 lanes each
 *   16 bytes, ldmatrix, stmatrix    8 lanes each
 *
 * The groups of a load are twice as large if the lanes have the same address in pairs: each lane
 * the one of its neighbour, or each lane the one of the lane at distance 2. A lane that does not
 * take part fits any other. */
#include "trace/counters/counters.h"

enum { LANES = 32, BANKS = 32, WORD_BYTES = 4, MAX_WORDS = LANES * 4 };

/* Returns the largest number of different words that the lanes of the mask access in one bank. */
static unsigned busiest_bank(const struct fth_ptx_access *access, uint32_t mask)
{
    /* The words of each bank form a list. Its elements are numbered from 1; 0 is its end. */
    uint64_t words[MAX_WORDS + 1];
    uint8_t first[BANKS] = {0}, next[MAX_WORDS + 1];
    unsigned count = 0, per_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t address = access->addresses[__builtin_ctz(left)];
        const uint64_t last = (address + access->bytes - 1) / WORD_BYTES;
        for (uint64_t word = address / WORD_BYTES; word <= last; word++) {
            const unsigned bank = word % BANKS;
            unsigned at = first[bank];
            while (at && words[at] != word)
                at = next[at];
            if (at)
                continue;
            words[++count] = word;
            next[count] = first[bank];
            first[bank] = (uint8_t)count;
            most = ++per_bank[bank] > most ? per_bank[bank] : most;
        }
    }
    return most;
}

/* Whether each lane has the address of the lane with this bit of its index inverted. */
static bool in_pairs(const struct fth_ptx_access *access, unsigned bit)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned other = lane ^ bit;
        if (access->mask >> lane & 1 && access->mask >> other & 1 &&
            access->addresses[lane] != access->addresses[other])
            return false;
    }
    return true;
}

/* The number of lanes of a group. */
static unsigned group_size(const struct fth_ptx_access *access)
{
    if (access->bytes <= WORD_BYTES)
        return LANES;
    const unsigned size = access->bytes == 2 * WORD_BYTES ? LANES / 2 : LANES / 4;
    const bool loads = access->kind == FTH_ACCESS_READ && access->unit == FTH_UNIT_LANES;
    return loads && (in_pairs(access, 1) || in_pairs(access, 2)) ? 2 * size : size;
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
    struct fth_wavefronts wavefronts = {0};
    if (access->kind == FTH_ACCESS_ATOMIC)
        return atomic_wavefronts(access);
    const unsigned size = group_size(access);
    for (unsigned lane = 0; lane < LANES; lane += size) {
        const uint32_t group = (size == LANES ? UINT32_MAX : (UINT32_C(1) << size) - 1) << lane;
        const unsigned needed = busiest_bank(access, access->mask & group);
        wavefronts.count += needed;
        wavefronts.conflicts += needed ? needed - 1 : 0;
    }
    return wavefronts;
}

unsigned fth_cluster_wavefronts(const struct fth_ptx_access *access)
{
    return access->kind == FTH_ACCESS_ATOMIC ? 1 : 0;
}
