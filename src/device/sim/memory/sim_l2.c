/* L2, L3 and device memory. With several partitions, each line has a home partition: the parity of
 * its address under a mask. An SM accesses its near partition, which also holds copies of lines
 * whose home is another partition. If the near partition misses, the home partition is accessed,
 * with the far latency. If that misses too, the line comes from memory.
 *
 *   SM ──► near partition ──(home is near)──────────► memory
 *                         └─(home is far)──► home ──► memory, far
 *
 * Writes and atomics are executed in the home partition. They invalidate copies in the others,
 * unless the description says that writes update them (plan->l2_writes).
 *
 * If groups of SMs have their own L2 (plan->l2_by_sm), each of these is a partition, and the home
 * of every line is the partition of the SM that accesses it.
 *
 * If there is an L3, it is accessed when the L2 misses, and memory only if the L3 misses, too. What
 * is written also enters the L3.
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
    l2->l3_count = plan->has_l3 ? fth_sim_owner_count(&plan->l3, plan->sms) : 0;
    FTH_TRY(fth_sim_joins_init(&l2->joins, plan, error));
    FTH_TRY(fth_sim_slice_load_init(&l2->load, plan, error));
    l2->partitions = calloc(plan->partitions, sizeof *l2->partitions);
    l2->l3 = calloc((size_t)l2->l3_count + 1, sizeof *l2->l3);
    l2->ports = calloc(plan->sms, sizeof *l2->ports);
    if (!l2->partitions || !l2->l3 || !l2->ports)
        return fth_no_memory(error, "simulate GPU", NULL);
    for (uint32_t i = 0; i < plan->sms; i++)
        l2->ports[i].l2.bits = l2->ports[i].l3.bits = l2->ports[i].memory.bits =
            l2->ports[i].link.bits = RING_BITS;
    /* L2s of groups of SMs are created when they are first used, except for the first one, so that
     * an invalid shape is reported before any launch. */
    for (uint32_t i = 0; i < (plan->l2_by_sm ? 1 : plan->partitions); i++)
        FTH_TRY(fth_sim_cache_create(&plan->l2, plan->seed + i, &l2->partitions[i], error));
    return plan->has_l3 ? fth_sim_cache_create(&plan->l3, plan->seed, l2->l3, error) : FTH_OK;
}

void fth_sim_l2_fini(struct fth_sim_l2 *l2)
{
    for (uint32_t i = 0; l2->partitions && i < l2->plan->partitions; i++)
        fth_cache_destroy(l2->partitions[i]);
    for (uint32_t i = 0; l2->l3 && i < l2->l3_count; i++)
        fth_cache_destroy(l2->l3[i]);
    free(l2->partitions);
    free(l2->l3);
    fth_sim_joins_fini(&l2->joins);
    fth_sim_slice_load_fini(&l2->load);
    for (uint32_t i = 0; l2->ports && i < l2->plan->sms; i++) {
        fth_sim_port_fini(&l2->ports[i].l2);
        fth_sim_port_fini(&l2->ports[i].l3);
        fth_sim_port_fini(&l2->ports[i].memory);
        fth_sim_port_fini(&l2->ports[i].link);
    }
    free(l2->ports);
}

void fth_sim_l2_launch(struct fth_sim_l2 *l2, uint32_t sms)
{
    l2->sharers = sms;
    for (uint32_t i = 0; i < l2->plan->sms; i++)
        l2->ports[i].l2.unpaired_reads = l2->ports[i].l3.unpaired_reads =
            l2->ports[i].memory.unpaired_reads = l2->ports[i].link.unpaired_reads = 0;
}

/* Creates a cache if it does not exist yet. Without memory, sets l2->failed and returns false. */
static bool create_once(struct fth_sim_l2 *l2, const struct fth_sim_shape *shape, uint32_t index,
                        struct fth_cache **cache)
{
    if (*cache || fth_sim_cache_create(shape, l2->plan->seed + index, cache, NULL) == FTH_OK)
        return true;
    l2->failed = true;
    return false;
}

/* Creates the caches that accesses of the SM use. Returns false without memory. */
static bool prepare(struct fth_sim_l2 *l2, uint32_t sm)
{
    const struct fth_sim_plan *plan = l2->plan;
    const uint32_t near = plan->near_partitions[sm];
    const uint32_t owner = plan->has_l3 ? fth_sim_owner(&plan->l3, sm) : 0;
    return create_once(l2, &plan->l2, near, &l2->partitions[near]) &&
           (!plan->has_l3 || create_once(l2, &plan->l3, owner, &l2->l3[owner]));
}

/* Reads `bytes` of memory of another program through a cache; NULL: it is not used yet. */
static void sweep_cache(struct fth_cache *cache, const struct fth_sim_shape *shape, uint64_t bytes)
{
    /* After as much as the cache holds, nothing of this program is left. */
    if (cache && bytes >= shape->size_bytes)
        fth_cache_clear(cache);
    for (uint64_t at = 0; cache && bytes < shape->size_bytes && at < bytes;
         at += shape->line_bytes) {
        uint64_t address = NEIGHBOUR_BASE + at, size = shape->line_bytes;
        fth_sim_cache_read(cache, shape, &address, &size);
    }
}

void fth_sim_l2_sweep(struct fth_sim_l2 *l2, uint64_t bytes)
{
    const struct fth_sim_plan *plan = l2->plan;
    for (uint32_t i = 0; i < plan->partitions; i++)
        sweep_cache(l2->partitions[i], &plan->l2, bytes);
    for (uint32_t i = 0; i < l2->l3_count; i++)
        sweep_cache(l2->l3[i], &plan->l3, bytes);
}

/* Returns the home partition of a line that an SM near the partition `near` accesses. With more
 * than two partitions, it is the number of set address bits under the mask, modulo the number of
 * partitions. */
static uint32_t home_of(const struct fth_sim_plan *plan, uint32_t near, uint64_t address)
{
    if (plan->partitions == 1 || plan->l2_by_sm)
        return near;
    return (uint32_t)__builtin_popcountll(address & plan->home_mask) % plan->partitions;
}

/* Bytes that an access moves between L2 and memory, and those that it moves from and to the L3. */
struct l2_traffic {
    uint64_t fetched, written;
    uint64_t l3_read, l3_written;
};

/* Reads what the L2 lacks from the L3, or else from memory. Returns the latency and adds the bytes
 * to `traffic`. `far`: the time that the access takes longer because of its partition. */
static int64_t read_behind(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                           int64_t far, struct l2_traffic *traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    if (plan->has_l3) {
        struct fth_cache *cache = l2->l3[fth_sim_owner(&plan->l3, sm)];
        traffic->l3_read += bytes;
        if (fth_sim_cache_read(cache, &plan->l3, &address, &bytes))
            return plan->l3_latency + far;
    }
    traffic->fetched += bytes;
    return plan->memory_latency + far;
}

/* Adds what a write sends to memory, and enters it into the L3. */
static void write_behind(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                         uint64_t written, struct l2_traffic *traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    traffic->written += written;
    if (!plan->has_l3 || written == 0)
        return;
    traffic->l3_written += written;
    fth_sim_cache_read(l2->l3[fth_sim_owner(&plan->l3, sm)], &plan->l3, &address, &bytes);
}

/* Reads bytes within one line. Returns the latency and adds the bytes fetched from memory to
 * `traffic`. */
static int64_t read_line(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                         const struct fth_sim_effect *effect, struct l2_traffic *traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    const uint32_t near = plan->near_partitions[sm], home = home_of(plan, near, address);
    if (fth_sim_hinted_read(l2->partitions[near], &plan->l2, effect, &address, &bytes))
        return plan->l2_latency;
    if (home != near &&
        fth_sim_hinted_read(l2->partitions[home], &plan->l2, effect, &address, &bytes))
        return plan->l2_far_latency;
    const int64_t far = home == near ? 0 : plan->memory_far_latency - plan->memory_latency;
    return read_behind(l2, sm, address, bytes, far, traffic);
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
static void read_further(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address,
                         const struct fth_sim_effect *effect, struct l2_traffic *traffic)
{
    const uint64_t line_bytes = l2->plan->l2.line_bytes, line = address & ~(line_bytes - 1);
    const uint64_t start = address / effect->fill_bytes * effect->fill_bytes;
    for (uint64_t at = start; at < start + effect->fill_bytes; at += line_bytes)
        if (at != line)
            read_line(l2, sm, at, line_bytes, effect, traffic);
}

/* Returns how long the access waits for bandwidth between the SM and L2 and, for `traffic`, between
 * L2 and L3 or memory. */
static int64_t wait_for_bandwidth(struct fth_sim_l2 *l2, uint32_t sm, int64_t time,
                                  uint64_t read_bytes, uint64_t written_bytes,
                                  struct l2_traffic traffic)
{
    const struct fth_sim_plan *plan = l2->plan;
    struct fth_sim_l2_ports *link = &l2->ports[sm];
    int64_t wait =
        fth_sim_port_move(&link->l2, &plan->l2_rates, l2->sharers, time, read_bytes, written_bytes);
    if (traffic.l3_read || traffic.l3_written)
        wait += fth_sim_port_move(&link->l3, &plan->l3_rates, l2->sharers, time + wait,
                                  traffic.l3_read, traffic.l3_written);
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
    if (!prepare(l2, sm))
        return 0;
    for (uint64_t at = address & ~(sector - 1); at < end;) {
        uint64_t next = (at & ~(line_bytes - 1)) + line_bytes, stop = next < end ? next : end;
        int64_t line_latency = 0;
        if (!fth_sim_join(&l2->joins, sm, at, stop - at, time, &line_latency)) {
            const uint64_t fetched = traffic.fetched;
            const uint32_t near = plan->near_partitions[sm];
            line_latency = read_line(l2, sm, at, stop - at, effect, &traffic);
            if (effect->known && effect->fill_bytes > line_bytes && traffic.fetched > fetched)
                read_further(l2, sm, at, effect, &traffic);
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

/* Removes a line from all partitions but its home. */
static void drop_copies(struct fth_sim_l2 *l2, uint32_t home, uint64_t address)
{
    for (uint32_t i = 0; i < l2->plan->partitions; i++)
        if (i != home && l2->partitions[i])
            fth_cache_invalidate(l2->partitions[i], address, NULL);
}

int64_t fth_sim_l2_write(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                         const struct fth_sim_effect *effect, int64_t time)
{
    const struct fth_sim_plan *plan = l2->plan;
    uint64_t end = address + bytes, line_bytes = plan->l2.line_bytes;
    const uint32_t near = plan->near_partitions[sm];
    struct l2_traffic traffic = {0};
    int64_t latency = plan->l2_latency;
    if (!prepare(l2, sm))
        return 0;
    for (uint64_t at = address; at < end;) {
        uint64_t next = (at & ~(line_bytes - 1)) + line_bytes, stop = next < end ? next : end;
        uint32_t home = home_of(plan, near, at);
        const uint64_t written = write_line(l2, home, at, stop - at, effect);
        write_behind(l2, sm, at, stop - at, written, &traffic);
        if (!plan->l2_writes.keeps_copies)
            drop_copies(l2, home, at);
        if (home != near)
            latency = plan->l2_far_latency;
        at = stop;
    }
    return latency + wait_for_bandwidth(l2, sm, time, 0, bytes, traffic);
}

void fth_sim_l2_discard(struct fth_sim_l2 *l2, uint64_t address, uint64_t bytes)
{
    const uint64_t line_bytes = l2->plan->l2.line_bytes, end = address + bytes;
    for (uint64_t at = address & ~(line_bytes - 1); at < end; at += line_bytes)
        drop_copies(l2, UINT32_MAX, at);
    const uint64_t l3_line = l2->plan->has_l3 ? l2->plan->l3.line_bytes : 1;
    for (uint64_t at = address & ~(l3_line - 1); l2->l3_count && at < end; at += l3_line)
        for (uint32_t i = 0; i < l2->l3_count; i++)
            if (l2->l3[i])
                fth_cache_invalidate(l2->l3[i], at, NULL);
}

int64_t fth_sim_l2_atomic(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                          int64_t time)
{
    const struct fth_sim_plan *plan = l2->plan;
    const uint32_t near = plan->near_partitions[sm], home = home_of(plan, near, address);
    uint64_t from = address, missing = bytes;
    struct l2_traffic traffic = {0};
    if (!prepare(l2, sm))
        return 0;
    int64_t latency = home == near ? plan->l2_latency : plan->l2_far_latency;
    if (!fth_sim_cache_read(l2->partitions[home], &plan->l2, &from, &missing))
        latency = read_behind(l2, sm, from, missing,
                              home == near ? 0 : plan->memory_far_latency - plan->memory_latency,
                              &traffic);
    write_behind(l2, sm, address, bytes, write_line(l2, home, address, bytes, NULL), &traffic);
    drop_copies(l2, home, address);
    return latency + wait_for_bandwidth(l2, sm, time, 0, bytes, traffic) +
           fth_sim_slice_extra(&plan->slices, sm, address);
}
