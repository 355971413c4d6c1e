/* The sectors of an access, and the wavefronts of an access to shared memory.
 *
 * Shared memory has 32 banks of 4 bytes. In a wavefront, each bank delivers or takes one word. An
 * access of 8 or 16 bytes per lane takes place in two or four groups of lanes. */
#include "trace/counters/counters.h"

enum {
    LANES = 32,
    BANKS = 32,
    WORD_BYTES = 4,
    SECTOR_BYTES = 32,
    LINE_BYTES = 128,
    MAX_WORDS = LANES * 4
};

/* Adds a value to a set, unless it is in it. */
static void insert(uint64_t *set, unsigned *count, uint64_t value)
{
    for (unsigned i = *count; i-- > 0;)
        if (set[i] == value)
            return;
    set[(*count)++] = value;
}

unsigned fth_access_sectors(const struct fth_ptx_access *access)
{
    uint64_t sectors[2 * LANES]; /* an access of a lane has at most 32 bytes */
    unsigned count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t address = access->addresses[__builtin_ctz(left)];
        const uint64_t last = (address + access->bytes - 1) / SECTOR_BYTES;
        for (uint64_t sector = address / SECTOR_BYTES; sector <= last; sector++)
            insert(sectors, &count, sector);
    }
    return count;
}

/* The copy engine fills one line of shared memory after the other. */
uint64_t fth_range_sectors(uint64_t address, uint64_t bytes, uint64_t shared)
{
    uint64_t sectors = 0;
    for (uint64_t at = 0, part; at < bytes; at += part) {
        part = LINE_BYTES - (shared + at) % LINE_BYTES;
        part = part < bytes - at ? part : bytes - at;
        sectors += (address + at + part - 1) / SECTOR_BYTES - (address + at) / SECTOR_BYTES + 1;
    }
    return sectors;
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

struct fth_wavefronts fth_access_wavefronts(const struct fth_ptx_access *access)
{
    const unsigned groups = access->bytes <= WORD_BYTES ? 1 : access->bytes / WORD_BYTES;
    const unsigned size = LANES / groups;
    struct fth_wavefronts wavefronts = {0, 0};
    for (unsigned group = 0; group < groups; group++) {
        const uint32_t lanes = (size == LANES ? UINT32_MAX : (UINT32_C(1) << size) - 1)
                               << (group * size);
        const unsigned needed = busiest_bank(access, access->mask & lanes);
        wavefronts.count += needed;
        wavefronts.conflicts += needed > 1 ? needed - 1 : 0;
    }
    return wavefronts;
}
