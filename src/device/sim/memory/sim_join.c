/* Joined reads. A unit between the SMs and the L2 joins reads of the same sectors (or of the same
 * line) by SMs of one group: while the first one is under way from the unit to the L2 and back,
 * others are not sent, and their data arrive together with those of the first one. The window of
 * the description is this time for a hit in the near L2. A read that takes longer, for example
 * because it comes from memory, has a window that is longer by the same time, as on an H200.
 *
 * Blocks are simulated one after the other, so the reads of a launch do not arrive in the order of
 * time. Time is therefore divided into intervals, and the unit keeps one read per line, group and
 * interval, in a table that is indexed by their hash. A read is only joined with an earlier one
 * that was simulated before it. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRY_BITS = 14,
    /* Length of an interval in cycles. A window that is longer has no effect beyond it. Chosen:
     * more than the latency of memory on every known GPU. */
    INTERVAL_CYCLES = 2048
};

struct fth_sim_join_entry {
    uint64_t address, bytes;
    uint32_t group;
    bool used;
    int64_t start, end; /* of the read */
};

bool fth_sim_joins_plan(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, "l2", "join_group_by_sm");
    const double window = fth_gpu_number(gpu, "l2", "join_window_cycles", 0);
    const struct fth_attribute *extent = fth_gpu_attribute(gpu, "l2", "join_extent");
    if (!list || list->count != plan->sms || !(window > 0))
        return true;
    uint32_t *groups = fth_arena_array(&plan->arena, list->count, sizeof *groups);
    if (!groups)
        return false;
    for (size_t i = 0; i < list->count; i++)
        groups[i] = (uint32_t)list->numbers[i];
    plan->join_groups = groups;
    plan->join_window = (int64_t)llround(window * FTH_SIM_CYCLE);
    plan->joins_lines = extent && strcmp(extent->text, "line") == 0;
    return true;
}

enum fth_status fth_sim_joins_init(struct fth_sim_joins *joins, const struct fth_sim_plan *plan,
                                   struct fth_error *error)
{
    *joins = (struct fth_sim_joins){.plan = plan};
    if (!plan->join_groups)
        return FTH_OK;
    joins->entries = calloc((size_t)1 << ENTRY_BITS, sizeof *joins->entries);
    return joins->entries ? FTH_OK : fth_no_memory(error, "simulate GPU", NULL);
}

void fth_sim_joins_fini(struct fth_sim_joins *joins)
{
    free(joins->entries);
    joins->entries = NULL;
}

static int64_t interval_of(int64_t time)
{
    return time / ((int64_t)INTERVAL_CYCLES * FTH_SIM_CYCLE);
}

static struct fth_sim_join_entry *entry_of(const struct fth_sim_joins *joins, uint32_t group,
                                           uint64_t address, int64_t interval)
{
    /* The multiplier is 2^64 divided by the golden ratio (Knuth, vol. 3, section 6.4). */
    static const uint64_t multiplier = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t key = address / joins->plan->l2.line_bytes * multiplier + group;
    key = (key ^ key >> 32) * multiplier + (uint64_t)interval;
    return &joins->entries[key * multiplier >> (64 - ENTRY_BITS)];
}

/* Whether two reads within one line may be joined. */
static bool match(const struct fth_sim_plan *plan, const struct fth_sim_join_entry *entry,
                  const struct fth_sim_join_entry *read)
{
    if (!entry->used || entry->group != read->group)
        return false;
    if (plan->joins_lines)
        return entry->address / plan->l2.line_bytes == read->address / plan->l2.line_bytes;
    const uint64_t sector = plan->l2.sector_bytes;
    return entry->address / sector == read->address / sector &&
           (entry->address + entry->bytes - 1) / sector ==
               (read->address + read->bytes - 1) / sector;
}

/* Joins a read with that of the entry, if they match and the first one is still under way. */
static bool join(const struct fth_sim_plan *plan, const struct fth_sim_join_entry *entry,
                 const struct fth_sim_join_entry *read, int64_t *latency)
{
    if (!match(plan, entry, read) || read->start < entry->start || read->start >= entry->end)
        return false;
    const int64_t longer = entry->end - entry->start - plan->l2_latency;
    if (read->start - entry->start > plan->join_window + (longer > 0 ? longer : 0))
        return false;
    *latency = entry->end - read->start;
    return true;
}

bool fth_sim_join(const struct fth_sim_joins *joins, uint32_t sm, uint64_t address, uint64_t bytes,
                  int64_t time, int64_t *latency)
{
    const struct fth_sim_plan *plan = joins->plan;
    if (!joins->entries)
        return false;
    const struct fth_sim_join_entry read = {
        .address = address, .bytes = bytes, .group = plan->join_groups[sm], .start = time};
    const int64_t interval = interval_of(time);
    return join(plan, entry_of(joins, read.group, address, interval), &read, latency) ||
           join(plan, entry_of(joins, read.group, address, interval - 1), &read, latency);
}

void fth_sim_join_keep(const struct fth_sim_joins *joins, uint32_t sm, uint64_t address,
                       uint64_t bytes, int64_t time, int64_t latency)
{
    if (!joins->entries)
        return;
    const uint32_t group = joins->plan->join_groups[sm];
    *entry_of(joins, group, address, interval_of(time)) =
        (struct fth_sim_join_entry){.address = address,
                                    .bytes = bytes,
                                    .group = group,
                                    .used = true,
                                    .start = time,
                                    .end = time + latency};
}
