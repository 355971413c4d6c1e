/* Slices of the L2. The slice of a line follows from the parities of the masks in the description:
 * they are its number or, if there are fewer slices than parities can select, the number is their
 * remainder. Without masks, it is the remainder of the address divided by the bytes per slice. (The
 * description does not tell this part of a hash.)
 *
 * How long an access takes depends on the slice and on the SM: what the description has for them
 * replaces the latency of the L2, and accesses that the slice cannot serve take longer or shorter
 * by the same time.
 *
 * A slice serves SLICE_BYTES_PER_CYCLE, one read after the other. Blocks run at the same time but
 * are simulated one after the other, so reads do not arrive in the order of time. Therefore time is
 * divided into intervals, and the slice keeps how much work the reads of each interval are. A read
 * waits for what is left of the work of its own interval and of those before:
 *
 *   work      |#########|##   |###  |
 *   time      |-----|-----|-----|      as long as three intervals: nothing is left
 *
 * Unlike a port (sim_port.c), a slice that is busy all the time does not make a read wait until it
 * is not: reads of blocks that are simulated later share the intervals. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>

enum {
    /* A100: 5120 bytes per cycle from 80 slices (NVIDIA, A100 whitepaper). */
    SLICE_BYTES_PER_CYCLE = 64,
    INTERVAL_CYCLES = 64,
    RING_BITS = 14, /* log2 of the number of intervals that are kept: a million cycles */
    /* Intervals whose work counts, up to that of the read. Chosen: limits the waiting time, as the
     * number of reads that an SM has in flight does. */
    MAX_INTERVALS = 16
};

struct fth_sim_slice_interval {
    int64_t number; /* time of its start / interval */
    int64_t work;   /* time that the slice needs for the reads of the interval */
};

/* Returns the time that the latency of each slice from each group of SMs exceeds that of the L2. */
static int64_t *find_extras(struct fth_sim_plan *plan, const struct fth_attribute *cycles)
{
    int64_t *extras = fth_arena_array(&plan->arena, cycles->count, sizeof *extras);
    for (size_t i = 0; extras && i < cycles->count; i++)
        extras[i] = (int64_t)llround(cycles->numbers[i] * FTH_SIM_CYCLE) - plan->l2_latency;
    return extras;
}

/* Fills in the latencies, if the description has them. Returns false without memory. */
static bool fill_latencies(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    struct fth_sim_slices *slices = &plan->slices;
    const struct fth_attribute *groups = fth_gpu_attribute(gpu, "l2", "slice_group_by_sm");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, "l2", "slice_latency_cycles");
    if (!groups || !cycles || groups->count != plan->sms)
        return true;
    uint32_t *numbers = fth_arena_array(&plan->arena, plan->sms, sizeof *numbers);
    const int64_t *extras = find_extras(plan, cycles);
    if (!numbers || !extras)
        return false;
    for (uint32_t i = 0; i < plan->sms; i++) {
        /* A description that was validated has all these latencies. */
        if ((groups->numbers[i] + 1) * slices->count > (double)cycles->count)
            return true;
        numbers[i] = (uint32_t)groups->numbers[i];
    }
    slices->groups = numbers;
    slices->extras = extras;
    return true;
}

bool fth_sim_slices_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const struct fth_attribute *masks = fth_gpu_attribute(gpu, "l2", "slice_masks");
    const double count = fth_gpu_number(gpu, "l2", "slices", 0) / plan->partitions;
    const double bytes = fth_gpu_number(gpu, "l2", "slice_bytes", 0);
    if (!(bytes >= 1) || !(count >= 1) || count != floor(count))
        return true;
    const size_t mask_count = masks ? masks->count : 0;
    uint64_t *list = fth_arena_array(&plan->arena, mask_count + 1, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < mask_count; i++)
        list[i] = (uint64_t)masks->numbers[i];
    plan->slices = (struct fth_sim_slices){.count = (uint32_t)count,
                                           .bytes = (uint64_t)bytes,
                                           .masks = list,
                                           .mask_count = mask_count};
    return fill_latencies(plan, gpu);
}

uint32_t fth_sim_slice_of(const struct fth_sim_slices *slices, uint64_t address)
{
    uint64_t number = slices->mask_count ? 0 : address / slices->bytes;
    for (size_t i = 0; i < slices->mask_count; i++)
        number |= ((uint64_t)__builtin_popcountll(address & slices->masks[i]) & 1) << i;
    return (uint32_t)(number % slices->count);
}

int64_t fth_sim_slice_extra(const struct fth_sim_slices *slices, uint32_t sm, uint64_t address)
{
    if (!slices->extras)
        return 0;
    return slices
        ->extras[(size_t)slices->groups[sm] * slices->count + fth_sim_slice_of(slices, address)];
}

enum fth_status fth_sim_slice_load_init(struct fth_sim_slice_load *load,
                                        const struct fth_sim_plan *plan, struct fth_error *error)
{
    *load = (struct fth_sim_slice_load){.slices = &plan->slices};
    if (plan->slices.count == 0)
        return FTH_OK;
    load->rings = calloc((size_t)plan->slices.count * plan->partitions, sizeof *load->rings);
    load->count = plan->slices.count * plan->partitions;
    return load->rings ? FTH_OK : fth_no_memory(error, "simulate GPU", NULL);
}

void fth_sim_slice_load_fini(struct fth_sim_slice_load *load)
{
    for (uint32_t i = 0; load->rings && i < load->count; i++)
        free(load->rings[i]);
    free(load->rings);
    load->rings = NULL;
}

/* Returns the ring of the slice of an address; NULL without memory. */
static struct fth_sim_slice_interval *ring_of(struct fth_sim_slice_load *load, uint32_t partition,
                                              uint64_t address)
{
    const struct fth_sim_slices *slices = load->slices;
    struct fth_sim_slice_interval **ring =
        &load->rings[partition * slices->count + fth_sim_slice_of(slices, address)];
    if (!*ring)
        *ring = calloc((size_t)1 << RING_BITS, sizeof **ring);
    load->failed = load->failed || !*ring;
    return *ring;
}

int64_t fth_sim_slice_wait(struct fth_sim_slice_load *load, uint32_t partition, uint64_t address,
                           uint64_t bytes, int64_t time)
{
    static const int64_t length = (int64_t)INTERVAL_CYCLES * FTH_SIM_CYCLE;
    static const int64_t last = (1 << RING_BITS) - 1;
    struct fth_sim_slice_interval *ring = load->rings ? ring_of(load, partition, address) : NULL;
    const int64_t number = time / length;
    if (!ring || ring[number & last].number > number)
        return 0; /* there are no slices, or the ring no longer covers this time */
    if (ring[number & last].number < number)
        ring[number & last] = (struct fth_sim_slice_interval){.number = number};
    int64_t work = 0, wait = 0, spent = time % length;
    for (int64_t i = number; i >= 0 && i > number - MAX_INTERVALS; i--) {
        work += ring[i & last].number == i ? ring[i & last].work : 0;
        wait = work - spent > wait ? work - spent : wait;
        spent += length;
    }
    ring[number & last].work += (int64_t)(bytes * FTH_SIM_CYCLE / SLICE_BYTES_PER_CYCLE);
    return wait;
}
