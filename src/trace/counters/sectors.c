/* The sectors of accesses to global memory, and to the shared memory of other blocks. */
#include "trace/counters/counters.h"

enum { LANES = 32, SECTOR_BYTES = 32, LINE_BYTES = 128 };

/* Returns how often a lane before this one accesses the same address. */
static unsigned same_before(const struct fth_ptx_access *access, int lane)
{
    unsigned count = 0;
    for (int i = 0; i < lane; i++)
        count += access->mask >> i & 1 && access->addresses[i] == access->addresses[lane];
    return count;
}

unsigned fth_access_sectors(const struct fth_ptx_access *access)
{
    /* An atomic combines the lanes of a sector that have different addresses. Lanes with the same
     * address follow one after the other, so the sector counts once in each turn. */
    struct {
        uint64_t sector;
        unsigned turn;
    } seen[2 * LANES]; /* an access of a lane has at most 32 bytes */
    unsigned count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t address = access->addresses[lane];
        const uint64_t last = (address + access->bytes - 1) / SECTOR_BYTES;
        const unsigned turn = access->kind == FTH_ACCESS_ATOMIC ? same_before(access, lane) : 0;
        for (uint64_t sector = address / SECTOR_BYTES; sector <= last; sector++) {
            unsigned i = 0;
            while (i < count && (seen[i].sector != sector || seen[i].turn != turn))
                i++;
            seen[i].sector = sector;
            seen[i].turn = turn;
            count += i == count;
        }
    }
    return count;
}

/* Returns the lanes whose data remains: of those that copy to the same address, the first. */
static uint32_t remaining_lanes(const struct fth_ptx_access *access)
{
    uint32_t lanes = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        bool remains = true;
        for (uint32_t before = lanes; before && remains; before &= before - 1)
            remains = access->destinations[__builtin_ctz(before)] != access->destinations[lane];
        lanes |= (uint32_t)remains << lane;
    }
    return lanes;
}

/* Two lanes share a sector if their data is in one sector of global memory and in one sector of
 * shared memory, at the same distance. */
unsigned fth_bypass_sectors(const struct fth_ptx_access *access)
{
    const uint32_t lanes = remaining_lanes(access);
    unsigned count = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t from = access->addresses[lane], to = access->destinations[lane];
        bool counts = true;
        for (int i = 0; i < lane && counts; i++) {
            const uint64_t other = access->addresses[i], other_to = access->destinations[i];
            counts = !(lanes >> i & 1) || other / SECTOR_BYTES != from / SECTOR_BYTES ||
                     other_to / SECTOR_BYTES != to / SECTOR_BYTES ||
                     (other_to - other) % SECTOR_BYTES != (to - from) % SECTOR_BYTES;
        }
        count += counts;
    }
    return count;
}

/* The sectors of `bytes` bytes from an address on. With multicast, an H200 reads at least two
 * sectors of each line. */
static uint64_t part_sectors(uint64_t address, uint64_t bytes, bool multicast)
{
    uint64_t sectors = 0;
    for (uint64_t at = address, end = address + bytes, next; at < end; at = next) {
        next = (at / LINE_BYTES + 1) * LINE_BYTES;
        next = next < end ? next : end;
        const uint64_t count = (next - 1) / SECTOR_BYTES - at / SECTOR_BYTES + 1;
        sectors += multicast && count < 2 ? 2 : count;
    }
    return sectors;
}

/* The copy engine fills one line of shared memory after the other. */
uint64_t fth_range_sectors(const struct fth_ptx_range *range)
{
    uint64_t sectors = 0;
    for (uint64_t at = 0, part; at < range->bytes; at += part) {
        part = LINE_BYTES - (range->shared + at) % LINE_BYTES;
        part = part < range->bytes - at ? part : range->bytes - at;
        sectors += part_sectors(range->address + at, part, range->multicast);
    }
    return sectors;
}
