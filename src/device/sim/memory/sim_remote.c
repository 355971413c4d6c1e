/* Memory of the host that kernels access through the link, and managed memory.
 *
 * Loads and stores of host memory take the latency of the link, and share its bandwidth. The L1
 * caches what they read, the L2 does not, as on an H200.
 *
 * Managed memory resides in host memory at first. The first access to a page is a fault, after
 * which the page is in the GPU's memory. Like NVIDIA's driver (uvm_perf_prefetch.c in
 * github.com/NVIDIA/open-gpu-kernel-modules), a fault moves the largest aligned block, up to
 * MAX_BLOCK_BYTES, of which then more than half would be on the GPU. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest block that NVIDIA's driver moves at once. */
static const uint64_t max_block_bytes = UINT64_C(2) << 20;

enum fth_status fth_sim_remote_check(const struct fth_sim_plan *plan, enum fth_residence residence,
                                     struct fth_error *error)
{
    const struct fth_sim_host_link *link = &plan->link;
    const bool managed = residence == FTH_RESIDES_MANAGED;
    if (managed ? isnan(link->fault_ns) || !link->page_bytes : isnan(link->load_latency_ns))
        return fth_fail(error, FTH_UNSUPPORTED, "simulate GPU", NULL, "the description has no %s",
                        managed ? "cost of a fault (device.managed_fault_ns) and page size"
                                : "latency of loads from the host (device.link_load_latency_ns)");
    return FTH_OK;
}

enum fth_status fth_sim_remote_alloc(struct fth_sim_remote *remote, const struct fth_sim_plan *plan,
                                     enum fth_residence residence, uint64_t address, uint64_t bytes,
                                     struct fth_error *error)
{
    const struct fth_sim_host_link *link = &plan->link;
    const bool managed = residence == FTH_RESIDES_MANAGED;
    if (remote->bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "simulate GPU", NULL,
                        "only one allocation of host memory at a time is simulated");
    if (managed) {
        remote->page_count = (size_t)((bytes + link->page_bytes - 1) / link->page_bytes);
        remote->resident = calloc(remote->page_count, 1);
        if (!remote->resident)
            return fth_no_memory(error, "simulate GPU", NULL);
    }
    remote->address = address;
    remote->bytes = bytes;
    return FTH_OK;
}

void fth_sim_remote_free(struct fth_sim_remote *remote)
{
    free(remote->resident);
    remote->resident = NULL;
    remote->page_count = 0;
    remote->address = remote->bytes = 0;
}

void fth_sim_remote_prefetch(struct fth_sim_remote *remote)
{
    if (remote->resident)
        memset(remote->resident, 1, remote->page_count);
}

static int64_t time_of(const struct fth_sim_plan *plan, double ns)
{
    return (int64_t)(ns * plan->clock_mhz / 1e3 * FTH_SIM_CYCLE);
}

/* Moves the page, and the block around it, to the GPU. Returns the bytes that move. */
static uint64_t move_block(struct fth_sim_remote *remote, uint64_t page_bytes, size_t page)
{
    size_t from = page, to = page + 1;
    for (size_t pages = 2; pages * page_bytes <= max_block_bytes; pages *= 2) {
        const size_t begin = page / pages * pages;
        const size_t end = FTH_MIN(begin + pages, remote->page_count);
        size_t present = 0;
        for (size_t i = begin; i < end; i++)
            present += remote->resident[i] || (i >= from && i < to);
        if (2 * present > pages) {
            from = begin;
            to = end;
        }
    }
    uint64_t moved = 0;
    for (size_t i = from; i < to; i++) {
        moved += remote->resident[i] ? 0 : page_bytes;
        remote->resident[i] = 1;
    }
    return moved;
}

bool fth_sim_remote_access(struct fth_sim_remote *remote, struct fth_sim_l2 *l2, uint32_t sm,
                           uint64_t address, uint64_t bytes, bool stores, int64_t time,
                           int64_t *latency)
{
    const struct fth_sim_plan *plan = l2->plan;
    const struct fth_sim_host_link *link = &plan->link;
    *latency = 0;
    if (address < remote->address || address - remote->address >= remote->bytes)
        return false;
    if (remote->resident) {
        const size_t page = (size_t)((address - remote->address) / link->page_bytes);
        if (!remote->resident[page]) {
            const double rate = link->bytes_per_s[FTH_TRANSFER_TO_DEVICE][true];
            const uint64_t moved = move_block(remote, link->page_bytes, page);
            *latency =
                time_of(plan, link->fault_ns + (isnan(rate) ? 0 : 1e9 * (double)moved / rate));
        }
        return false;
    }
    *latency = time_of(plan, link->load_latency_ns) +
               fth_sim_port_move(&l2->ports[sm].link, &link->rates, l2->sharers, time,
                                 stores ? 0 : bytes, stores ? bytes : 0);
    return true;
}
