/* The time at which instructions issue and complete. Each warp issues in order: an instruction
 * issues after its predecessor, when all its source registers are ready. Its results are ready some
 * cycles later or, for a load, when the load returns. A chain of dependent loads therefore takes
 * exactly the sum of their latencies. A clock that is read after an instruction that uses a loaded
 * value includes the latency of the load.
 *
 * Blocks are executed one after the other, each from the time at which its SM has a free slot. The
 * blocks of a cluster are executed alternately. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time from the issue of an arithmetic instruction to the issue of one that uses its result, as on
 * Volta and later GPUs. */
#define ALU_LATENCY (4 * FTH_SIM_CYCLE)
/* Maximum number of instructions that fetch is ahead of issue. Chosen, not derived. */
#define FETCH_AHEAD 16
/* Time between two launches in microseconds. Chosen, not derived: the order of magnitude of a
 * launch through the driver. */
#define LAUNCH_GAP_US 3
/* log2 of the buckets of the ports of an SM: 2^13 buckets of 256 cycles cover 2 million cycles. */
#define SM_RING_BITS 13
/* log2 of the words of the rings of units that serve one request per cycle. The banks of shared
 * memory have 2^15 words of 64 cycles, which cover 2 million cycles as the ports do: a block that
 * copies shared memory takes several 100,000 cycles, and the next one on the SM, which runs at the
 * same time, is simulated after it. The schedulers have 2^12 words, which cover 262,144 cycles. */
#define BANK_RING_BITS 15
#define ISSUE_RING_BITS 12

enum fth_status fth_sim_timing_init(struct fth_sim_timing *timing, const struct fth_sim_plan *plan,
                                    struct fth_error *error)
{
    *timing = (struct fth_sim_timing){.plan = plan};
    timing->sms = calloc(plan->sms, sizeof *timing->sms);
    timing->free_at = calloc((size_t)plan->sms * FTH_SIM_MAX_RESIDENT, sizeof *timing->free_at);
    if (!timing->sms || !timing->free_at)
        return fth_no_memory(error, "simulate GPU", NULL);
    for (uint32_t i = 0; i < plan->sms; i++) {
        timing->sms[i].requests.bits = timing->sms[i].flight.bits = timing->sms[i].l1.bits =
            timing->sms[i].shared.bits = timing->sms[i].cluster.bits = SM_RING_BITS;
        timing->sms[i].banks.bits = timing->sms[i].engine.bits = BANK_RING_BITS;
        for (size_t j = 0; j < FTH_SIM_SCHEDULERS; j++)
            timing->sms[i].issue[j].bits = ISSUE_RING_BITS;
    }
    fth_sim_noise_init(&timing->noise, plan);
    fth_sim_fetch_init(timing);
    FTH_TRY(fth_sim_merges_init(&timing->merges, plan->merge_window, error));
    FTH_TRY(fth_sim_places_init(&timing->places, plan, error));
    FTH_TRY(fth_sim_caches_init(&timing->caches, plan, error));
    FTH_TRY(fth_sim_tlbs_init(&timing->tlbs, plan, error));
    return fth_sim_l2_init(&timing->l2, plan, error);
}

void fth_sim_timing_fini(struct fth_sim_timing *timing)
{
    for (uint32_t i = 0; timing->sms && i < timing->plan->sms; i++) {
        fth_sim_port_fini(&timing->sms[i].requests);
        fth_sim_port_fini(&timing->sms[i].flight);
        fth_sim_port_fini(&timing->sms[i].l1);
        fth_sim_port_fini(&timing->sms[i].shared);
        fth_sim_slots_fini(&timing->sms[i].banks);
        for (size_t j = 0; j < FTH_SIM_SCHEDULERS; j++)
            fth_sim_slots_fini(&timing->sms[i].issue[j]);
        fth_sim_port_fini(&timing->sms[i].cluster);
        fth_sim_slots_fini(&timing->sms[i].engine);
    }
    for (size_t i = 0; i < FTH_COUNT(timing->warps); i++) {
        free(timing->warps[i].ready);
        free(timing->warps[i].loads);
    }
    free(timing->sms);
    free(timing->free_at);
    fth_sim_merges_fini(&timing->merges);
    fth_sim_places_fini(&timing->places);
    fth_sim_caches_fini(&timing->caches);
    fth_sim_tlbs_fini(&timing->tlbs);
    fth_sim_l2_fini(&timing->l2);
    fth_sim_remote_free(&timing->remote);
}

/* ---- launches and blocks ---- */

void fth_sim_timing_launch(struct fth_sim_timing *timing, uint64_t code_base, uint32_t blocks,
                           uint32_t threads, uint32_t cluster, uint64_t shared_bytes,
                           int carveout_percent)
{
    const struct fth_sim_plan *plan = timing->plan;
    fth_sim_l2_launch(&timing->l2, blocks < plan->sms ? blocks : plan->sms);
    for (uint32_t i = 0; i < plan->sms; i++)
        timing->sms[i].l1.unpaired_reads = timing->sms[i].shared.unpaired_reads =
            timing->sms[i].cluster.unpaired_reads = 0;
    fth_sim_tlbs_launch(&timing->tlbs);
    fth_sim_caches_launch(&timing->caches,
                          fth_sim_plan_l1_bytes(plan, carveout_percent, shared_bytes));
    timing->code_base = code_base;
    timing->warp_count = (threads + 31) / 32;
    timing->cluster = cluster;
    timing->blocks_started = 0;
    uint64_t max_resident = plan->warps_per_sm / timing->warp_count;
    if (shared_bytes && plan->shared_bytes / shared_bytes < max_resident)
        max_resident = plan->shared_bytes / shared_bytes;
    timing->max_resident = max_resident < 1                      ? 1
                           : max_resident > FTH_SIM_MAX_RESIDENT ? FTH_SIM_MAX_RESIDENT
                                                                 : (uint32_t)max_resident;
    if (!fth_sim_places_launch(&timing->places, blocks, cluster, timing->max_resident))
        timing->failed = true;
    const uint32_t blocks_per_sm = plan->sms ? (blocks + plan->sms - 1) / plan->sms : blocks;
    timing->schedulers_shared =
        timing->warp_count *
            (blocks_per_sm < timing->max_resident ? blocks_per_sm : timing->max_resident) >
        FTH_SIM_SCHEDULERS;
    for (size_t i = 0; i < (size_t)plan->sms * FTH_SIM_MAX_RESIDENT; i++)
        timing->free_at[i] = timing->start;
    timing->end = timing->start;
    for (size_t i = 0; i < FTH_COUNT(timing->blocks); i++)
        timing->blocks[i].block = UINT64_MAX;
    for (size_t i = 0; i < FTH_COUNT(timing->warps); i++)
        timing->warps[i].block = UINT64_MAX;
}

/* Ends the block that has this rank, if there is one, and frees its slot on the SM. */
static void end_block(struct fth_sim_timing *timing, uint32_t rank)
{
    if (timing->blocks[rank].block == UINT64_MAX)
        return;
    int64_t end = timing->start;
    for (uint32_t i = 0; i < timing->warp_count; i++) {
        const struct fth_sim_warp *warp = &timing->warps[rank * FTH_SIM_MAX_WARPS + i];
        end = warp->now > end ? warp->now : end;
        end = warp->pending > end ? warp->pending : end;
    }
    timing->free_at[(size_t)timing->blocks[rank].sm * FTH_SIM_MAX_RESIDENT +
                    timing->blocks[rank].slot] = end;
    timing->end = end > timing->end ? end : timing->end;
}

/* Ends the previous block of the rank and starts this one in the slot that is free first. */
static void begin_block(struct fth_sim_timing *timing, const struct fth_ptx_warp_id *who)
{
    end_block(timing, who->rank);
    const int64_t *slot_free_at = timing->free_at + (size_t)who->sm * FTH_SIM_MAX_RESIDENT;
    uint32_t slot = 0;
    for (uint32_t i = 1; i < timing->max_resident; i++)
        if (slot_free_at[i] < slot_free_at[slot])
            slot = i;
    if (timing->blocks_started++ % timing->cluster == 0) /* the first block of a cluster */
        timing->cluster_complete[0] = timing->cluster_complete[1] = 0;
    timing->blocks[who->rank].block = who->block;
    timing->blocks[who->rank].sm = who->sm;
    timing->blocks[who->rank].slot = slot;
    fth_sim_mbarriers_clear(timing, who->rank);
    for (uint32_t i = 0; i < timing->warp_count; i++) {
        struct fth_sim_warp *warp = &timing->warps[who->rank * FTH_SIM_MAX_WARPS + i];
        warp->copies = (struct fth_sim_warp_copies){.done = 0};
        warp->block = who->block;
        warp->now = warp->issued = warp->pending = warp->fetched = slot_free_at[slot];
        warp->fetch_line = warp->fetch_next = UINT64_MAX;
        warp->fetch_end = warp->fetch_span = 0;
        if (warp->loads)
            memset(warp->loads, 0, timing->plan->warp_loads * sizeof *warp->loads);
        if (warp->ready_count)
            memset(warp->ready, 0, warp->ready_count * sizeof *warp->ready);
    }
}

/* Returns the SM whose slot becomes free first. */
static uint32_t find_free_sm(const struct fth_sim_timing *timing)
{
    uint32_t found = 0;
    int64_t earliest = INT64_MAX;
    for (uint32_t sm = 0; sm < timing->plan->sms; sm++) {
        const int64_t *free_at = timing->free_at + (size_t)sm * FTH_SIM_MAX_RESIDENT;
        for (uint32_t slot = 0; slot < timing->max_resident; slot++)
            if (free_at[slot] < earliest) {
                earliest = free_at[slot];
                found = sm;
            }
    }
    return found;
}

static uint32_t on_place(void *user, uint64_t block)
{
    struct fth_sim_timing *timing = user;
    const struct fth_sim_places *places = &timing->places;
    if (block < places->first_wave || timing->cluster != 1 || !timing->plan->refill_free)
        return fth_sim_places_get(places, block);
    end_block(timing, 0);
    return find_free_sm(timing);
}

/* Whether there was no memory for something that is created when it is first used. */
static bool lacks_memory(const struct fth_sim_timing *timing)
{
    bool failed =
        timing->failed || timing->tlbs.failed || timing->l2.failed || timing->l2.load.failed;
    for (uint32_t i = 0; i < timing->plan->sms; i++) {
        const struct fth_sim_sm *sm = &timing->sms[i];
        const struct fth_sim_l2_ports *outer = &timing->l2.ports[i];
        failed = failed || sm->requests.failed || sm->flight.failed || sm->l1.failed ||
                 sm->shared.failed || sm->cluster.failed || sm->engine.failed || sm->banks.failed ||
                 outer->l2.failed || outer->l3.failed || outer->memory.failed || outer->link.failed;
        for (size_t j = 0; j < FTH_SIM_SCHEDULERS; j++)
            failed = failed || sm->issue[j].failed;
    }
    return failed;
}

bool fth_sim_timing_finish(struct fth_sim_timing *timing)
{
    for (uint32_t rank = 0; rank < FTH_SIM_MAX_CLUSTER; rank++)
        end_block(timing, rank);
    int64_t gap = (int64_t)(LAUNCH_GAP_US * timing->plan->clock_mhz) + 1;
    int64_t start = timing->end / FTH_SIM_CYCLE + gap + FTH_SIM_BUCKET_CYCLES - 1;
    timing->start = start / FTH_SIM_BUCKET_CYCLES * FTH_SIM_BUCKET_CYCLES * FTH_SIM_CYCLE;
    return !lacks_memory(timing);
}

bool fth_sim_timing_copy(struct fth_sim_timing *timing, uint64_t bytes)
{
    const struct fth_sim_rates *rates = &timing->plan->memory_rates;
    const double microcycles = (double)bytes * (rates->read + rates->write + rates->copy_extra);
    if (!(microcycles > 0))
        return false;
    fth_sim_timing_launch(timing, 0, 0, 1, 1, 0, -1);
    timing->end = timing->start + (int64_t)(microcycles / 1e6 * FTH_SIM_CYCLE);
    fth_sim_timing_finish(timing);
    return true;
}

/* ---- instructions ---- */

/* Makes space for at least `count` registers and predicates of the warp. */
static bool grow_ready(struct fth_sim_timing *timing, struct fth_sim_warp *warp, uint32_t count)
{
    int64_t *ready = realloc(warp->ready, (size_t)count * 2 * sizeof *ready);
    if (!ready) {
        timing->failed = true;
        return false;
    }
    memset(ready + warp->ready_count, 0, (count * 2 - warp->ready_count) * sizeof *ready);
    warp->ready = ready;
    warp->ready_count = count * 2;
    return true;
}

/* Issues an instruction whose fetch takes `cost`. While a warp waits for a load, fetch continues
 * for at most FETCH_AHEAD instructions. Code that mostly waits therefore issues one instruction per
 * cycle, and other code issues at the rate of its fetch. */
static inline void issue_instruction(struct fth_sim_timing *timing, struct fth_sim_warp *warp,
                                     const struct fth_ptx_issue *issue, int64_t cost)
{
    const struct fth_ptx_operands *operands = issue->operands;
    int64_t *ready = warp->ready; /* NULL: the kernel has no registers */
    const uint32_t base = issue->operand_base;
    int64_t time = warp->now;
    warp->fetched += cost;
    if (warp->fetched < time - FETCH_AHEAD * cost)
        warp->fetched = time - FETCH_AHEAD * cost;
    time = warp->fetched > time ? warp->fetched : time;
    for (unsigned i = 0; i < operands->read_count; i++)
        time = ready[base + operands->reads[i]] > time ? ready[base + operands->reads[i]] : time;
    if (operands->drains && warp->pending > time)
        time = warp->pending;
    if (timing->schedulers_shared && !issue->alone)
        time += fth_sim_slots_take(
            &timing->sms[issue->who.sm].issue[issue->who.warp % FTH_SIM_SCHEDULERS], time,
            operands->accesses ? 1 : timing->plan->issue_cycles);
    warp->issued = time;
    warp->operands = operands;
    warp->operand_base = base;
    warp->now = time + FTH_SIM_CYCLE;
    warp->copies.done = time;
    warp->copies.charged = warp->copies.needed = 0;
    warp->copies.signalled = false;
    if (issue->mask == 0)
        return;
    int64_t done = time + (operands->accesses ? FTH_SIM_CYCLE : ALU_LATENCY);
    for (unsigned i = 0; i < operands->write_count; i++)
        ready[base + operands->writes[i]] = done;
}

/* Handles the first instruction of a block, of a function or of a line. It is separate from the
 * common case, which then needs no stack frame. */
__attribute__((noinline)) static bool issue_slow_path(struct fth_sim_timing *timing,
                                                      struct fth_sim_warp *warp,
                                                      const struct fth_ptx_issue *issue)
{
    if (issue->who.block != warp->block)
        begin_block(timing, &issue->who);
    if (issue->operand_end > warp->ready_count && !grow_ready(timing, warp, issue->operand_end))
        return false;
    uint64_t address = timing->code_base + issue->operands->code_offset;
    issue_instruction(timing, warp, issue, fth_sim_fetch(timing, warp, &issue->who, address));
    return !timing->failed;
}

static bool on_issue(void *user, const struct fth_ptx_issue *issue)
{
    struct fth_sim_timing *timing = user;
    struct fth_sim_warp *warp = fth_sim_warp_of(timing, &issue->who);
    uint64_t address = timing->code_base + issue->operands->code_offset;
    /* In most cases, the innermost cache has just delivered the line of the instruction. */
    bool same_line =
        address - warp->fetch_from < warp->fetch_span && warp->fetch_cost == timing->fetch_cost;
    if (!same_line || issue->who.block != warp->block || issue->operand_end > warp->ready_count)
        return issue_slow_path(timing, warp, issue);
    issue_instruction(timing, warp, issue, timing->fetch_cost);
    return true;
}

/* Lets another program run before an access, if it does. Returns the time this takes. */
static int64_t run_neighbour(struct fth_sim_timing *timing)
{
    const struct fth_sim_plan *plan = timing->plan;
    const bool l3_is_larger = plan->l3.size_bytes > plan->l2.size_bytes;
    uint64_t bytes = 0;
    const int64_t time = fth_sim_noise_neighbour(
        &timing->noise, l3_is_larger ? plan->l3.size_bytes : plan->l2.size_bytes, &bytes);
    if (time == 0)
        return 0;
    fth_sim_caches_empty(&timing->caches);
    fth_sim_l2_sweep(&timing->l2, bytes);
    if (bytes)
        fth_sim_tlbs_empty(&timing->tlbs);
    return time;
}

/* If a warp has as many loads in flight as it can, delays the instruction until one returns.
 * Returns the place of a load that has returned; NULL: the number is not limited, or there is no
 * memory. */
static int64_t *wait_for_load(struct fth_sim_timing *timing, struct fth_sim_warp *warp,
                              const struct fth_ptx_access *access)
{
    const uint32_t limit = timing->plan->warp_loads;
    if (limit == 0 || access->space != FTH_SPACE_GLOBAL || access->kind != FTH_ACCESS_READ ||
        access->unit != FTH_UNIT_LANES)
        return NULL;
    if (!warp->loads)
        warp->loads = calloc(limit, sizeof *warp->loads);
    if (!warp->loads) {
        timing->failed = true;
        return NULL;
    }
    int64_t *first = warp->loads;
    for (uint32_t i = 1; i<limit && * first> warp->issued; i++)
        first = warp->loads[i] < *first ? &warp->loads[i] : first;
    if (*first > warp->issued) {
        warp->issued = *first;
        warp->now = warp->issued + FTH_SIM_CYCLE;
    }
    return first;
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct fth_sim_timing *timing = user;
    struct fth_sim_warp *warp = fth_sim_warp_of(timing, &access->who);
    int64_t *load = wait_for_load(timing, warp, access);
    int64_t latency = run_neighbour(timing);
    latency += fth_sim_path_latency(timing, access, warp->issued + latency);
    if (access->kind != FTH_ACCESS_WRITE)
        latency = fth_sim_noise_add(&timing->noise, latency);
    int64_t done = warp->issued + latency;
    if (load)
        *load = done;
    fth_sim_copies_note(warp, access, done);
    warp->pending = done > warp->pending ? done : warp->pending;
    const struct fth_ptx_operands *operands = warp->operands;
    for (unsigned i = 0; i < operands->write_count; i++) {
        int64_t *ready = &warp->ready[warp->operand_base + operands->writes[i]];
        if (*ready < done)
            *ready = done;
    }
    return !timing->failed;
}

static bool on_prefetch(void *user, const struct fth_ptx_access *access)
{
    struct fth_sim_timing *timing = user;
    fth_sim_prefetch(timing, access, fth_sim_warp_of(timing, &access->who)->issued);
    return !timing->failed;
}

static bool on_barrier(void *user, uint64_t block, uint32_t barrier, uint32_t warps)
{
    (void)barrier;
    struct fth_sim_timing *timing = user;
    struct fth_sim_warp *block_warps = timing->warps;
    while (block_warps->block != block)
        block_warps += FTH_SIM_MAX_WARPS;
    int64_t latest = 0;
    for (uint32_t left = warps; left; left &= left - 1) {
        int64_t now = block_warps[__builtin_ctz(left)].now;
        latest = now > latest ? now : latest;
    }
    for (uint32_t left = warps; left; left &= left - 1)
        block_warps[__builtin_ctz(left)].now = latest;
    return true;
}

/* The barrier of a cluster completes when the last warp arrives, and waiting warps continue at that
 * time. Time never decreases, so the time of the phase before the previous one needs no reset. */
static bool on_cluster_barrier(void *user, const struct fth_ptx_warp_id *who, uint32_t phase,
                               bool waited)
{
    struct fth_sim_timing *timing = user;
    int64_t *complete = &timing->cluster_complete[phase & 1],
            *now = &fth_sim_warp_of(timing, who)->now;
    if (waited)
        *now = *complete > *now ? *complete : *now;
    else
        *complete = *now > *complete ? *now : *complete;
    return true;
}

static uint64_t on_clock(void *user, const struct fth_ptx_warp_id *who, bool global)
{
    struct fth_sim_timing *timing = user;
    const int64_t issued = fth_sim_warp_of(timing, who)->issued;
    const double step = timing->plan->clock_cycles;
    if (step > 1 && !global) /* the clock advances by more than a cycle at a time */
        return (uint64_t)(floor((double)issued / FTH_SIM_CYCLE / step) * step);
    /* Thousandths of a cycle, divided by cycles per microsecond, are nanoseconds. */
    return global ? (uint64_t)((double)issued / timing->plan->clock_mhz)
                  : (uint64_t)(issued / FTH_SIM_CYCLE);
}

static int64_t on_time(void *user, const struct fth_ptx_warp_id *who)
{
    return fth_sim_warp_of(user, who)->now;
}

static bool on_discard(void *user, const struct fth_ptx_warp_id *who, uint64_t address,
                       uint64_t bytes)
{
    (void)who;
    struct fth_sim_timing *timing = user;
    fth_sim_l2_discard(&timing->l2, address, bytes);
    return true;
}

const struct fth_ptx_observer fth_sim_observer = {.place = on_place,
                                                  .issue = on_issue,
                                                  .access = on_access,
                                                  .discard = on_discard,
                                                  .prefetch = on_prefetch,
                                                  .range = fth_sim_on_range,
                                                  .copies = fth_sim_on_copies,
                                                  .barrier = on_barrier,
                                                  .cluster_barrier = on_cluster_barrier,
                                                  .clock = on_clock,
                                                  .time = on_time};
