/* What an access to shared memory costs: its wavefronts as they are, without bank conflicts, and
 * with padding.
 *
 * Ideal wavefronts are those that would move the bytes of all lanes that take part, 128 bytes each,
 * or those that the access takes, whichever is less: lanes with the same address share a word. A
 * compare-and-swap moves two operands.
 *
 * Padded wavefronts are those with one element of padding per row of an array in shared memory. An
 * element has the size of the access, at least a word. The length of a row is unknown, so two are
 * tried, and the fewer wavefronts count: 32 elements, and the 128 bytes of all banks. For a word,
 * both are the same: word w is at word w + w / 32. */
#include "trace/counters/counters.h"

#include <string.h>

enum { LANES = 32, ROW_BYTES = 128, WORD_BYTES = 4, WAYS = FTH_SHARED_LINEAR_WAYS };

/* Returns the size of the elements that an access moves, for padding: 4, 8 or 16 bytes. */
static unsigned element_bytes(const struct fth_ptx_access *access)
{
    return access->bytes <= WORD_BYTES ? WORD_BYTES : access->bytes <= 8 ? 8 : 16;
}

/* Returns the wavefronts with an element of padding after every `row_bytes`. */
static unsigned count_padded(const struct fth_ptx_access *access, uint64_t row_bytes)
{
    uint64_t padded[LANES];
    struct fth_ptx_access moved = *access;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = access->addresses[lane];
        padded[lane] = address + address / row_bytes * element_bytes(access);
    }
    moved.addresses = padded;
    return fth_access_wavefronts(&moved).count;
}

/* Returns the wavefronts with the better of two paddings. */
static unsigned count_least_padded(const struct fth_ptx_access *access)
{
    const unsigned element = element_bytes(access), count = count_padded(access, ROW_BYTES);
    if (element == WORD_BYTES)
        return count;
    const unsigned other = count_padded(access, (uint64_t)LANES * element);
    return other < count ? other : count;
}

/* The wavefronts that move the bytes of all lanes. */
static unsigned count_needed(const struct fth_ptx_access *access)
{
    const unsigned bytes = (unsigned)__builtin_popcount(access->mask) * access->bytes;
    return (bytes + ROW_BYTES - 1) / ROW_BYTES * (access->compares ? 2 : 1);
}

struct fth_shared_cost fth_access_shared_cost(const struct fth_ptx_access *access)
{
    if (access->path == FTH_PTX_PATH_CLUSTER) {
        const unsigned counted = fth_cluster_wavefronts(access);
        return (struct fth_shared_cost){counted, counted, counted};
    }
    const unsigned taken = fth_access_wavefronts(access).count, needed = count_needed(access);
    return (struct fth_shared_cost){.wavefronts = taken,
                                    .ideal = taken < needed ? taken : needed,
                                    .padded = count_least_padded(access)};
}

bool fth_shares_request(const struct fth_ptx_access *access)
{
    enum { MAX_ADDRESSES = 8 };
    uint32_t changes = 0;
    uint64_t last = 0;
    if (!access->is_merged)
        return false;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const struct fth_ptx_linear *linear = access->linear;
        const uint64_t address = access->addresses
                                     ? access->addresses[lane]
                                     : linear->base + lane % access->row_lanes * linear->step +
                                           lane / access->row_lanes * linear->row_step;
        changes += left == access->mask || address != last;
        last = address;
    }
    return changes <= MAX_ADDRESSES;
}

/* ---- the cache ---- */

/* The constants are those of well-known hash functions. */
static uint32_t mix(uint32_t hash)
{
    return (hash ^ hash >> 15) * UINT32_C(0x9e3779b1);
}

/* What determines the cost besides the addresses and the mask. */
static uint32_t facts_of(const struct fth_ptx_access *access)
{
    return access->bytes | (uint32_t)access->kind << 8 | (uint32_t)access->unit << 12 |
           (uint32_t)access->path << 16 | (uint32_t)access->compares << 20;
}

/* A slot that is not in use has the mask 0, which no access has. */
static bool has_key(const struct fth_shared_linear_slot *slot, const uint32_t key[5])
{
    return slot->key[0] == key[0] && slot->key[1] == key[1] && slot->key[2] == key[2] &&
           slot->key[3] == key[3] && slot->key[4] == key[4];
}

/* Accesses whose addresses differ by a multiple of this number of bytes, the length of 32 elements,
 * cost the same, with and without padding. */
static uint64_t period(const struct fth_ptx_access *access)
{
    return (uint64_t)LANES * element_bytes(access);
}

/* Differences of addresses in shared memory need less than 32 bits. */
static struct fth_shared_cost find_linear(struct fth_shared_cache *cache,
                                          const struct fth_ptx_access *access)
{
    const struct fth_ptx_linear *linear = access->linear;
    const uint32_t key[] = {access->mask, facts_of(access) | access->row_lanes << 21,
                            (uint32_t)linear->step, (uint32_t)linear->row_step,
                            (uint32_t)(linear->base % period(access))};
    const uint32_t hash =
        mix(key[0] + key[1] * UINT32_C(0x85ebca6b) + key[2] * UINT32_C(0xc2b2ae35) +
            key[3] * UINT32_C(0x27d4eb2f) + key[4] * UINT32_C(0x165667b1));
    struct fth_shared_linear_slot *ways =
        &cache->linear[(size_t)WAYS * (hash >> (32 - FTH_SHARED_LINEAR_BITS))];
    for (unsigned way = 0; way < WAYS; way++)
        if (has_key(&ways[way], key))
            return ways[way].cost;
    memmove(ways + 1, ways, (WAYS - 1) * sizeof *ways);
    uint64_t addresses[LANES];
    struct fth_ptx_access expanded = *access;
    for (uint32_t lane = 0; lane < LANES; lane++)
        addresses[lane] = linear->base + lane % access->row_lanes * linear->step +
                          lane / access->row_lanes * linear->row_step;
    expanded.addresses = addresses;
    memcpy(ways->key, key, sizeof key);
    ways->cost = fth_access_shared_cost(&expanded);
    return ways->cost;
}

static struct fth_shared_cost find_listed(struct fth_shared_cache *cache,
                                          const struct fth_ptx_access *access)
{
    const uint64_t lowest = access->addresses[__builtin_ctz(access->mask)];
    const uint64_t first = lowest - lowest % period(access);
    const uint32_t facts = facts_of(access);
    uint32_t numbers[LANES], hash = access->mask + facts * UINT32_C(0x85ebca6b);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        numbers[lane] = access->mask >> lane & 1 ? (uint32_t)(access->addresses[lane] - first) : 0;
        hash += numbers[lane] * (UINT32_C(0xc2b2ae35) + 2 * lane);
    }
    struct fth_shared_slot *slot = &cache->listed[mix(hash) >> (32 - FTH_SHARED_LISTED_BITS)];
    if (slot->mask == access->mask && slot->facts == facts &&
        memcmp(slot->numbers, numbers, sizeof numbers) == 0)
        return slot->cost;
    slot->mask = access->mask;
    slot->facts = facts;
    memcpy(slot->numbers, numbers, sizeof numbers);
    slot->cost = fth_access_shared_cost(access);
    return slot->cost;
}

struct fth_shared_cost fth_shared_cache_find(struct fth_shared_cache *cache,
                                             const struct fth_ptx_access *access)
{
    if (!access->mask)
        return (struct fth_shared_cost){0};
    return access->addresses ? find_listed(cache, access) : find_linear(cache, access);
}
