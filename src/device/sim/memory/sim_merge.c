/* Merged stores. The L1 keeps a store for a short time before it sends it to the L2. Stores of the
 * same SM to the same line within this time are sent together with it, and need no bandwidth of
 * their own. The table has the last store to each line that was sent; it is indexed by a hash, and
 * a store to another line with the same hash replaces the entry. */
#include "device/sim/memory/sim_merge.h"

#include <stdlib.h>

enum { ENTRY_BITS = 12 };

struct fth_sim_merge_entry {
    uint64_t line;
    int64_t time;
    uint32_t sm;
    bool used;
};

enum fth_status fth_sim_merges_init(struct fth_sim_merges *merges, int64_t window,
                                    struct fth_error *error)
{
    *merges = (struct fth_sim_merges){.window = window};
    if (window == 0)
        return FTH_OK;
    merges->entries = calloc((size_t)1 << ENTRY_BITS, sizeof *merges->entries);
    return merges->entries ? FTH_OK : fth_no_memory(error, "simulate GPU", NULL);
}

void fth_sim_merges_fini(struct fth_sim_merges *merges)
{
    free(merges->entries);
    merges->entries = NULL;
}

bool fth_sim_merge(const struct fth_sim_merges *merges, uint32_t sm, uint64_t line, int64_t time)
{
    /* The multiplier is 2^64 divided by the golden ratio (Knuth, vol. 3, section 6.4). */
    static const uint64_t multiplier = UINT64_C(0x9E3779B97F4A7C15);
    if (!merges->entries)
        return false;
    struct fth_sim_merge_entry *entry =
        &merges->entries[(line * multiplier + sm) * multiplier >> (64 - ENTRY_BITS)];
    if (entry->used && entry->line == line && entry->sm == sm && time >= entry->time &&
        time - entry->time <= merges->window)
        return true;
    *entry = (struct fth_sim_merge_entry){.line = line, .time = time, .sm = sm, .used = true};
    return false;
}
