/* What an access to shared memory costs: its wavefronts as they are, without bank conflicts, and
 * with padding.
 *
 * Ideal wavefronts are those that the access takes if no two lanes of a group need different words
 * of one bank: one for each group of lanes (wavefronts.c) of which at least one takes part.
 *
 * Padded wavefronts are those with one word of padding after every 32 words: word w is at word w +
 * w / 32. */
#include "trace/counters/counters.h"

#include <string.h>

enum { LANES = 32, ROW_BYTES = 128, WORD_BYTES = 4 };

static void pad(const uint64_t *addresses, uint64_t padded[LANES], uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        padded[lane] = addresses[lane] + addresses[lane] / ROW_BYTES * WORD_BYTES;
    }
}

struct fth_shared_cost fth_access_shared_cost(const struct fth_ptx_access *access)
{
    if (access->path == FTH_PTX_PATH_CLUSTER) {
        const unsigned counted = fth_cluster_wavefronts(access);
        return (struct fth_shared_cost){counted, counted, counted};
    }
    uint64_t padded[LANES];
    struct fth_ptx_access moved = *access;
    moved.addresses = padded;
    pad(access->addresses, padded, access->mask);
    const struct fth_wavefronts wavefronts = fth_access_wavefronts(access);
    return (struct fth_shared_cost){.wavefronts = wavefronts.count,
                                    .ideal = wavefronts.ideal,
                                    .padded = fth_access_wavefronts(&moved).count};
}

/* ---- the cache ---- */

/* Computes the key of an access. Accesses whose addresses differ by a multiple of 128 bytes cost
 * the same, with and without padding. */
static void find_key(const struct fth_ptx_access *access, struct fth_shared_key *key)
{
    key->mask = access->mask;
    key->facts = access->bytes | (uint32_t)access->kind << 8 | (uint32_t)access->unit << 12 |
                 (uint32_t)access->path << 16 | (uint32_t)access->compares << 20;
    if (!access->addresses) {
        const struct fth_ptx_linear *linear = access->linear;
        const uint64_t numbers[] = {linear->base % ROW_BYTES, linear->step, linear->row_step};
        key->facts |= UINT32_C(1) << 21 | access->row_lanes << 22;
        key->count = 2 * 3; /* words of 4 bytes in `numbers` */
        memcpy(key->numbers, numbers, sizeof numbers);
        return;
    }
    const uint64_t first =
        access->mask ? access->addresses[__builtin_ctz(access->mask)] / ROW_BYTES * ROW_BYTES : 0;
    key->count = LANES;
    for (unsigned lane = 0; lane < LANES; lane++)
        key->numbers[lane] =
            access->mask >> lane & 1 ? (uint32_t)(access->addresses[lane] - first) : 0;
}

static size_t slot_of(const struct fth_shared_key *key)
{
    uint32_t hash = key->mask * UINT32_C(0x9e3779b1) + key->facts;
    for (uint32_t i = 0; i < key->count; i++)
        hash += key->numbers[i] * (UINT32_C(0x85ebca6b) + 2 * i);
    return (hash ^ hash >> 15) * UINT32_C(0x9e3779b1) >> (32 - FTH_SHARED_CACHE_BITS);
}

static bool is_same(const struct fth_shared_key *a, const struct fth_shared_key *b)
{
    return a->mask == b->mask && a->facts == b->facts &&
           memcmp(a->numbers, b->numbers, a->count * sizeof a->numbers[0]) == 0;
}

static void expand(const struct fth_ptx_access *access, uint64_t addresses[LANES])
{
    const struct fth_ptx_linear *linear = access->linear;
    for (uint32_t lane = 0; lane < LANES; lane++)
        addresses[lane] = linear->base + lane % access->row_lanes * linear->step +
                          lane / access->row_lanes * linear->row_step;
}

struct fth_shared_cost fth_shared_cache_find(struct fth_shared_cache *cache,
                                             const struct fth_ptx_access *access)
{
    struct fth_shared_key key;
    find_key(access, &key);
    struct fth_shared_slot *slot = &cache->slots[slot_of(&key)];
    if (slot->known && is_same(&slot->key, &key))
        return slot->cost;
    uint64_t addresses[LANES];
    struct fth_ptx_access expanded = *access;
    if (!access->addresses) {
        expand(access, addresses);
        expanded.addresses = addresses;
    }
    *slot = (struct fth_shared_slot){
        .known = true, .key = key, .cost = fth_access_shared_cost(&expanded)};
    return slot->cost;
}
