/* L2 and device memory. With several partitions, each line has a home partition: the parity of its
 * address under a mask. An SM accesses its near partition, which also holds copies of lines whose
 * home is another partition. If the near partition misses, the home partition is accessed, with
 * the far latency. If that misses too, the line comes from memory.
 *
 *   SM ──► near partition ──(home is near)──────────► memory
 *                         └─(home is far)──► home ──► memory, far
 *
 * Writes and atomics are executed in the home partition. They invalidate copies in the others,
 * unless the description says that writes update them (plan->l2_writes).
 *
 * Written data goes to memory when it is evicted, but it uses memory bandwidth when it becomes
 * dirty. The total is the same, and no SM has to wait for the writes of another one. */
#include "device/sim/sim.h"

#include <stdlib.h>

/* log2 of the buckets of a port's ring: 2^14 buckets of 256 cycles cover 4 million cycles. */
#define RING_BITS 14
/* Addresses of another program, far from all allocations and from local memory. */
#define NEIGHBOUR_BASE ((uint64_t)1 << 59)

enum fth_status fth_sim_l2_init(struct fth_sim_l2 *l2, const struct fth_sim_plan *plan,
                                struct fth_error *error)
{
    *l2 = (struct fth_sim_l2){.plan = plan, .sharers = plan->sms};
    FTH_TRY(fth_sim_joins_init(&l2->joins, plan, error));
    FTH_TRY(fth_sim_slice_load_init(&l2->load, plan, error));
    l2->partitions = calloc(plan->partitions, sizeof *l2->partitions);
    l2->ports = calloc(plan->sms, sizeof *l2->ports);
    if (!l2->partitions || !l2->ports)
        return fth_no_memory(error, "simulate GPU", NULL);
    for (uint32_t i = 0; i < plan->sms; i++)
        l2->ports[i].l2.bits = l2->ports[i].memory.bits = l2->ports[i].link.bits = RING_BITS;
    for (uint32_t i = 0; i < plan->partitions; i++)
        FTH_TRY(fth_sim_cache_create(&plan->l2, plan->seed + i, &l2->partitions[i], error));
    return FTH_OK;
}

void fth_sim_l2_fini(struct fth_sim_l2 *l2)
{
    for (uint32_t i = 0; l2->partitions && i < l2->plan->partitions; i++)
        fth_cache_destroy(l2->partitions[i]);
    free(l2->partitions);
    fth_sim_joins_fini(&l2->joins);
    fth_sim_slice_load_fini(&l2->load);
    for (uint32_t i = 0; l2->ports && i < l2->plan->sms; i++) {
        fth_sim_port_fini(&l2->ports[i].l2);
        fth_sim_port_fini(&l2->ports[i].memory);
        fth_sim_port_fini(&l2->ports[i].link);
    }
    free(l2->ports);
}

void fth_sim_l2_launch(struct fth_sim_l2 *l2, uint32_t sms)
{
    l2->sharers = sms;
    for (uint32_t i = 0; i < l2->plan->sms; i++)
        l2->ports[i].l2.unpaired_reads = l2->ports[i].memory.unpaired_reads =
            l2->ports[i].link.unpaired_reads = 0;
}

void fth_sim_l2_sweep(struct fth_sim_l2 *l2, uint64_t bytes)
{
    const struct fth_sim_plan *plan = l2->plan;
    for (uint32_t i = 0; i < plan->partitions; i++) {
        /* After as much as the L2 holds, nothing of this program is left. */
        if (bytes >= plan->l2.size_bytes) {
            fth_cache_clear(l2->partitions[i]);
            continue;
        }
        for (uint64_t at = 0; at < bytes; at += plan->l2.line_bytes) {
            uint64_t address = NEIGHBOUR_BASE + at, size = plan->l2.line_bytes;
            fth_sim_cache_read(l2->partitions[i], &plan->l2, &address, &size);
        }
    }
}

/* Returns the home partition of a line. With more than two partitions, it is the number of set
 * address bits under the mask, modulo the number of partitions. */
static uint32_t home_of(const struct fth_sim_plan *plan, uint64_t address)
{
    if (plan->partitions == 1)
        return 0;
    return (uint32_t)__builtin_popcountll(address & plan->home_mask) % plan->partitions;
}

/* Bytes that an access moves between L2 and memory. */
struct l2_traffic {
    uint64_t fetched, written;
};

/* Reads bytes within one line. Returns the latency and adds the bytes fetched from memory to
 * `traffic`. */
static int64_t read_line(struct fth_sim_l2 *l2, uint32_t near, uint64_t address, uint64_t bytes,
                         const struct fth_sim_effect *effect, struct l2_traffic *traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    uint32_t home = home_of(plan, address);
    if (fth_sim_hinted_read(l2->partitions[near], &plan->l2, effect, &address, &bytes))
        return plan->l2_latency;
    if (home != near &&
        fth_sim_hinted_read(l2->partitions[home], &plan->l2, effect, &address, &bytes))
        return plan->l2_far_latency;
    traffic->fetched += bytes;
    return home == near ? plan->memory_latency : plan->memory_far_latency;
}

/* Returns how long an access to memory waits for a refresh or a pause. Real memories refresh each
 * channel at another time; here all of them are refreshed at once. */
static int64_t wait_for_refresh(const struct fth_sim_plan *plan, int64_t time)
{
    int64_t wait = 0;
    for (size_t i = 0; i < FTH_COUNT(plan->delays); i++) {
        if (plan->delays[i].period <= 0)
            continue;
        const int64_t left = plan->delays[i].time - time % plan->delays[i].period;
        wait = left > wait ? left : wait;
    }
    return wait;
}

/* Reads the other lines of the aligned bytes that a miss at `address` brings into the L2. */
static void read_further(struct fth_sim_l2 *l2, uint32_t near, uint64_t address,
                         const struct fth_sim_effect *effect, struct l2_traffic *traffic)
{
    const uint64_t line_bytes = l2->plan->l2.line_bytes, line = address & ~(line_bytes - 1);
    const uint64_t start = address / effect->fill_bytes * effect->fill_bytes;
    for (uint64_t at = start; at < start + effect->fill_bytes; at += line_bytes)
        if (at != line)
            read_line(l2, near, at, line_bytes, effect, traffic);
}

/* Returns how long the access waits for bandwidth between the SM and L2 and, for `traffic`, between
 * L2 and memory. */
static int64_t wait_for_bandwidth(struct fth_sim_l2 *l2, uint32_t sm, int64_t time,
                                  uint64_t read_bytes, uint64_t written_bytes,
                                  struct l2_traffic traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    struct fth_sim_l2_ports *link = &l2->ports[sm];
    int64_t wait =
        fth_sim_port_move(&link->l2, &plan->l2_rates, l2->sharers, time, read_bytes, written_bytes);
    if (traffic.fetched || traffic.written)
        wait += fth_sim_port_move(&link->memory, &plan->memory_rates, l2->sharers, time + wait,
                                  traffic.fetched, traffic.written);
    return traffic.fetched ? wait + wait_for_refresh(plan, time + wait) : wait;
}

int64_t fth_sim_l2_hinted_read(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                               const struct fth_sim_effect *effect, int64_t time)
{
    const struct fth_sim_plan *plan = l2->plan;
    /* A read covers whole sectors: if only a part of a sector was written, the rest is fetched from
     * memory, as on an H200. With masks, it covers only its own bytes. */
    const uint64_t sector = plan->l2_writes.masks ? 1 : plan->l2.sector_bytes;
    const uint64_t line_bytes = plan->l2.line_bytes;
    uint64_t end = (address + bytes + sector - 1) & ~(sector - 1);
    struct l2_traffic traffic = {0};
    int64_t latency = 0;
    for (uint64_t at = address & ~(sector - 1); at < end;) {
        uint64_t next = (at & ~(line_bytes - 1)) + line_bytes, stop = next < end ? next : end;
        int64_t line_latency = 0;
        if (!fth_sim_join(&l2->joins, sm, at, stop - at, time, &line_latency)) {
            const uint64_t fetched = traffic.fetched;
            const uint32_t near = plan->near_partitions[sm];
            line_latency = read_line(l2, near, at, stop - at, effect, &traffic);
            if (effect->known && effect->fill_bytes > line_bytes && traffic.fetched > fetched)
                read_further(l2, near, at, effect, &traffic);
            line_latency += fth_sim_slice_extra(&plan->slices, sm, at) +
                            fth_sim_slice_wait(&l2->load, near, at, stop - at, time);
            fth_sim_join_keep(&l2->joins, sm, at, stop - at, time, line_latency);
        }
        latency = line_latency > latency ? line_latency : latency;
        at = stop;
    }
    return latency + wait_for_bandwidth(l2, sm, time, bytes, 0, traffic);
}

int64_t fth_sim_l2_read(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                        int64_t time)
{
    static const struct fth_sim_effect none = {.known = false};
    return fth_sim_l2_hinted_read(l2, sm, address, bytes, &none, time);
}

/* Writes bytes within one line of the home partition. `effect` may be NULL. Returns the bytes that
 * will have to be written to memory. */
static uint64_t write_line(struct fth_sim_l2 *l2, uint32_t home, uint64_t address, uint64_t bytes,
                           const struct fth_sim_effect *effect)
{
    struct fth_cache_result result;
    struct fth_cache *cache = l2->partitions[home];
    const bool bypasses =
        effect && effect->known ? effect->fill_bytes == 0 : l2->plan->l2_writes.bypasses;
    if (bypasses && fth_cache_probe(cache, address, bytes) != FTH_CACHE_HIT)
        return bytes;
    /* Without memory for priorities, the lines have none. */
    const bool prioritized = effect && effect->priority != FTH_CACHE_NORMAL &&
                             fth_cache_prioritize(cache, effect->priority);
    fth_cache_access(cache, address, bytes, FTH_CACHE_WRITE, &result);
    if (prioritized)
        (void)fth_cache_prioritize(cache, FTH_CACHE_NORMAL);
    return (uint64_t)__builtin_popcountll(result.dirtied | result.below) *
           l2->plan->l2.sector_bytes;
}

static void drop_copies(struct fth_sim_l2 *l2, uint32_t home, uint64_t address)
{
    for (uint32_t i = 0; i < l2->plan->partitions; i++)
        if (i != home)
            fth_cache_invalidate(l2->partitions[i], address, NULL);
}

int64_t fth_sim_l2_write(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                         const struct fth_sim_effect *effect, int64_t time)
{
    const struct fth_sim_plan *plan = l2->plan;
    uint64_t end = address + bytes, line_bytes = plan->l2.line_bytes;
    struct l2_traffic traffic = {0};
    int64_t latency = plan->l2_latency;
    for (uint64_t at = address; at < end;) {
        uint64_t next = (at & ~(line_bytes - 1)) + line_bytes, stop = next < end ? next : end;
        uint32_t home = home_of(plan, at);
        traffic.written += write_line(l2, home, at, stop - at, effect);
        if (!plan->l2_writes.keeps_copies)
            drop_copies(l2, home, at);
        if (home != plan->near_partitions[sm])
            latency = plan->l2_far_latency;
        at = stop;
    }
    return latency + wait_for_bandwidth(l2, sm, time, 0, bytes, traffic);
}

void fth_sim_l2_discard(struct fth_sim_l2 *l2, uint64_t address, uint64_t bytes)
{
    const uint64_t line_bytes = l2->plan->l2.line_bytes, end = address + bytes;
    for (uint64_t at = address & ~(line_bytes - 1); at < end; at += line_bytes)
        for (uint32_t i = 0; i < l2->plan->partitions; i++)
            fth_cache_invalidate(l2->partitions[i], at, NULL);
}

int64_t fth_sim_l2_atomic(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                          int64_t time)
{
    const struct fth_sim_plan *plan = l2->plan;
    uint32_t home = home_of(plan, address);
    bool near = home == plan->near_partitions[sm];
    uint64_t from = address, missing = bytes;
    struct l2_traffic traffic = {0};
    bool hit = fth_sim_cache_read(l2->partitions[home], &plan->l2, &from, &missing);
    traffic.fetched = hit ? 0 : missing;
    traffic.written = write_line(l2, home, address, bytes, NULL);
    drop_copies(l2, home, address);
    int64_t wait = wait_for_bandwidth(l2, sm, time, 0, bytes, traffic) +
                   fth_sim_slice_extra(&plan->slices, sm, address);
    if (hit)
        return wait + (near ? plan->l2_latency : plan->l2_far_latency);
    return wait + (near ? plan->memory_latency : plan->memory_far_latency);
}
