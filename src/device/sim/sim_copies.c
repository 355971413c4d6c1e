/* Asynchronous copies. The PTX engine executes a copy when it is issued; here is computed when it
 * is complete. An mbarrier and a group of copies are complete when the last copy that belongs to
 * them is. A thread that sees a complete mbarrier, or waits for a group, continues at that time.
 *
 * The copy engine of an SM executes bulk and tensor copies one after the other. A copy occupies it
 * for the time of its bytes, and at least for a minimum time. A load takes longer than a load of
 * the warp by a constant time. */
#include "device/sim/sim.h"

/* Cycles of the latency of a copy that are instructions of the thread that measures it: the issue
 * of the copy, the test of the mbarrier and the branches around them. They are part of the figure
 * in the description. Determined with the kernel copies.ptx. */
#define THREAD_CYCLES 34

void fth_sim_engine_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    struct fth_sim_copy_engine *engine = &plan->engine;
    const double latency = fth_gpu_number(gpu, "tma", "latency_cycles", 0);
    const double store = fth_gpu_number(gpu, "tma", "store_latency_cycles", 0);
    const double bytes_per_cycle = fth_gpu_number(gpu, "tma", "bytes_per_cycle", 0);
    const double store_bytes_per_cycle = fth_gpu_number(gpu, "tma", "store_bytes_per_cycle", 0);
    engine->present = latency > 0;
    if (!engine->present)
        return;
    const int64_t overhead =
        (int64_t)((latency - THREAD_CYCLES) * FTH_SIM_CYCLE) - plan->l2_latency;
    const int64_t store_latency = (int64_t)((store - THREAD_CYCLES) * FTH_SIM_CYCLE);
    engine->overhead = overhead > 0 ? overhead : 0;
    engine->store_latency = store_latency > 0 ? store_latency : 0;
    engine->cycles_per_byte = bytes_per_cycle > 0 ? 1 / bytes_per_cycle : 0;
    engine->store_cycles_per_byte = store_bytes_per_cycle > 0 ? 1 / store_bytes_per_cycle : 0;
    engine->copy_cycles = fth_gpu_number(gpu, "tma", "copy_cycles", 0);
}

int64_t fth_sim_engine_take(struct fth_sim_timing *timing, struct fth_sim_warp *warp, uint32_t sm,
                            int64_t time, uint64_t bytes, bool stores)
{
    const struct fth_sim_copy_engine *engine = &timing->plan->engine;
    struct fth_sim_sm *unit = &timing->sms[sm];
    struct fth_sim_warp_copies *copies = &warp->copies;
    copies->needed +=
        (double)bytes * (stores ? engine->store_cycles_per_byte : engine->cycles_per_byte);
    /* The first request of a small copy occupies the engine for all of the copy. */
    const double total =
        copies->needed > engine->copy_cycles ? copies->needed : engine->copy_cycles;
    double cycles = total - copies->charged;
    copies->charged = total;
    cycles += unit->engine_rest;
    const unsigned whole = (unsigned)cycles;
    unit->engine_rest = cycles - whole;
    return whole ? fth_sim_slots_take(&unit->engine, time, whole) : 0;
}

void fth_sim_copies_note(struct fth_sim_warp *warp, const struct fth_ptx_access *access,
                         int64_t done)
{
    struct fth_sim_warp_copies *copies = &warp->copies;
    copies->done = done > copies->done ? done : copies->done;
    if (access->unit != FTH_UNIT_COPY_ENGINE && access->unit != FTH_UNIT_LANE_COPY)
        return;
    int64_t *open = &copies->open[access->unit == FTH_UNIT_COPY_ENGINE];
    *open = done > *open ? done : *open;
}

/* ---- mbarriers ---- */

void fth_sim_mbarriers_clear(struct fth_sim_timing *timing, uint32_t rank)
{
    for (size_t i = 0; i < FTH_SIM_MBARRIERS; i++)
        timing->mbarriers[rank][i] = (struct fth_sim_mbarrier){.offset = UINT64_MAX};
}

/* Returns the entry of an mbarrier. */
static struct fth_sim_mbarrier *find_mbarrier(struct fth_sim_timing *timing,
                                              const struct fth_ptx_copy_event *event)
{
    struct fth_sim_mbarrier *entry =
        &timing->mbarriers[event->target][event->mbarrier / 8 % FTH_SIM_MBARRIERS];
    if (entry->offset != event->mbarrier)
        *entry = (struct fth_sim_mbarrier){.offset = event->mbarrier};
    return entry;
}

/* ---- groups ---- */

static void commit(struct fth_sim_warp_copies *copies, bool bulk)
{
    const uint64_t count = copies->group_count[bulk]++;
    const int64_t before = count ? copies->groups[bulk][(count - 1) % FTH_SIM_GROUPS] : 0;
    const int64_t open = copies->open[bulk];
    copies->groups[bulk][count % FTH_SIM_GROUPS] = open > before ? open : before;
    copies->open[bulk] = 0;
}

/* Returns the end of all groups but the last `pending` ones. */
static int64_t end_of_groups(const struct fth_sim_warp_copies *copies, bool bulk, uint64_t pending)
{
    const uint64_t count = copies->group_count[bulk];
    if (pending >= count || pending >= FTH_SIM_GROUPS)
        return 0;
    return copies->groups[bulk][(count - 1 - pending) % FTH_SIM_GROUPS];
}

/* Returns the end of all copies, also of those that are in no group. */
static int64_t end_of_all(const struct fth_sim_warp_copies *copies, bool bulk)
{
    const int64_t groups = end_of_groups(copies, bulk, 0);
    return copies->open[bulk] > groups ? copies->open[bulk] : groups;
}

/* ---- callbacks ---- */

bool fth_sim_on_range(void *user, const struct fth_ptx_range *range)
{
    fth_sim_warp_of(user, &range->who)->copies.multicast = range->multicast;
    return true;
}

bool fth_sim_on_copies(void *user, const struct fth_ptx_copy_event *event)
{
    struct fth_sim_timing *timing = user;
    struct fth_sim_warp *warp = fth_sim_warp_of(timing, &event->who);
    int64_t end = 0;
    switch (event->step) {
    case FTH_COPY_STEP_SIGNAL: {
        int64_t *complete = &find_mbarrier(timing, event)->complete[event->parity];
        end = event->bulk ? warp->copies.done : end_of_all(&warp->copies, false);
        *complete = end > *complete ? end : *complete;
        warp->copies.signalled = true;
        return true;
    }
    case FTH_COPY_STEP_COMMIT: commit(&warp->copies, event->bulk); return true;
    case FTH_COPY_STEP_TEST: end = find_mbarrier(timing, event)->complete[event->parity]; break;
    default:
        end = event->uncommitted ? end_of_all(&warp->copies, event->bulk)
                                 : end_of_groups(&warp->copies, event->bulk, event->pending);
        break;
    }
    warp->now = end > warp->now ? end : warp->now;
    return true;
}
