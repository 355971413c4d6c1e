/* The latency of a memory access of a warp. The addresses of the lanes are coalesced into requests.
 * Each request looks up the levels of its path until one has the data. The slowest request
 * determines the latency of the access.
 *
 *   global .ca     L1 ─┐                             global .nc   read-only ─┐
 *   global .cg …       ├─► TLBs ─► L2 ─► L3 ─► memory    texture  texture ───┤
 *   local          L1 ─┘                             constant  L1 ─► L1.5 ───┘
 *
 * If the description has a vector L1 and an L1, that L1 is the outer L1 (FTH_SIM_OUTER_L1), which
 * global, local and constant loads look up after the caches above.
 *
 * The latency of a request is that of the level that has the data, not a sum over levels. If the
 * description has the effect of the access's cache operator or hints, it applies (sim_hints.c). */
#include "device/sim/sim.h"

#include <math.h>
#include <string.h>

/* A request is a contiguous range of bytes within an aligned segment of 128 bytes. An SM sends one
 * request per cycle. */
#define SEGMENT_BYTES 128
#define REQUEST_MICROCYCLES 1000000u
/* Maximum requests of one access: 32 lanes with four words each in different segments, as vector
 * accesses to local memory have. */
enum { MAX_REQUESTS = 128 };

struct request {
    uint64_t address, bytes;
};

struct requests {
    struct request list[MAX_REQUESTS];
    unsigned count;
    uint64_t last_segment; /* the highest segment of all requests */
};

/* Addresses of local memory, far from all allocations. Each warp has a part in which words with the
 * same offset of all 32 lanes are adjacent. */
#define LOCAL_BASE ((uint64_t)1 << 58)
#define LOCAL_WARP_BYTES ((uint64_t)1 << 26)

/* ---- requests ---- */

/* Adds a range within one segment: extends a request that touches or overlaps it, or adds one. */
static void add_request(struct requests *requests, uint64_t address, uint64_t bytes)
{
    const uint64_t end = address + bytes, segment = address / SEGMENT_BYTES;
    /* Search from the last request, because neighbouring lanes mostly access neighbouring
     * addresses. In a segment above all others, there is no request to extend. */
    unsigned i = requests->count && segment <= requests->last_segment ? requests->count : 0;
    while (i-- > 0) {
        struct request *each = &requests->list[i];
        uint64_t each_end = each->address + each->bytes;
        if (each->address / SEGMENT_BYTES != segment || address > each_end || end < each->address)
            continue;
        uint64_t from = address < each->address ? address : each->address;
        each->bytes = (end > each_end ? end : each_end) - from;
        each->address = from;
        return;
    }
    if (requests->count == 0 || segment > requests->last_segment)
        requests->last_segment = segment;
    if (requests->count < MAX_REQUESTS)
        requests->list[requests->count++] = (struct request){address, bytes};
}

/* Adds an access of one lane to local memory, word by word. */
static void add_local(struct requests *requests, uint64_t base, uint64_t lane, uint64_t address,
                      uint64_t bytes)
{
    for (uint64_t end = address + bytes; address < end;) {
        uint64_t next = (address | 3) + 1, stop = next < end ? next : end;
        add_request(requests, base + (address / 4) * SEGMENT_BYTES + lane * 4 + address % 4,
                    stop - address);
        address = stop;
    }
}

/* Whether all 32 lanes access adjacent words, as streams mostly do. */
static bool is_contiguous(const struct fth_ptx_access *access)
{
    if (access->mask != UINT32_MAX)
        return false;
    const uint64_t first = access->addresses[0];
    uint64_t differs = first % access->bytes;
    for (unsigned lane = 1; lane < 32; lane++)
        differs |= access->addresses[lane] ^ (first + (uint64_t)lane * access->bytes);
    return differs == 0;
}

/* Whether all active lanes access the same address, as when they read parameters. */
static bool is_uniform(const struct fth_ptx_access *access)
{
    const uint64_t first = access->addresses[__builtin_ctz(access->mask)];
    uint64_t differs = 0;
    for (uint32_t left = access->mask; left; left &= left - 1)
        differs |= access->addresses[__builtin_ctz(left)] ^ first;
    return differs == 0;
}

static void coalesce(const struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                     struct requests *requests)
{
    requests->count = 0;
    bool local = access->space == FTH_SPACE_LOCAL;
    uint64_t index = (uint64_t)access->who.sm * FTH_SIM_MAX_RESIDENT; /* of the warp on the GPU */
    index = (index + timing->blocks[access->who.rank].slot) * FTH_SIM_MAX_WARPS + access->who.warp;
    uint64_t base = LOCAL_BASE + index * LOCAL_WARP_BYTES;
    if (!local && is_contiguous(access)) {
        uint64_t at = access->addresses[0], end = at + 32 * (uint64_t)access->bytes;
        for (uint64_t next; at < end; at = next) {
            next = at / SEGMENT_BYTES * SEGMENT_BYTES + SEGMENT_BYTES;
            next = next < end ? next : end;
            requests->list[requests->count++] = (struct request){at, next - at};
        }
        return;
    }
    if (!local && access->mask && is_uniform(access)) {
        requests->list[0] =
            (struct request){access->addresses[__builtin_ctz(access->mask)], access->bytes};
        requests->count = 1;
        return;
    }
    for (uint32_t left = access->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (local)
            add_local(requests, base, lane, access->addresses[lane], access->bytes);
        else
            add_request(requests, access->addresses[lane], access->bytes);
    }
}

/* ---- paths ---- */

/* Whether a load passes L1 without a lookup. */
static bool passes_l1(const struct fth_ptx_access *access, const struct fth_sim_effect *effect)
{
    const bool strong = access->cache_op == FTH_CACHE_CG || access->cache_op == FTH_CACHE_CV ||
                        access->cache_op == FTH_CACHE_VOLATILE;
    if (!effect->known)
        return strong;
    return effect->fill_bytes == 0 && (strong || access->hints.strong);
}

/* The caches of the SM that a read goes through, ending with FTH_SIM_ELEMENTS. */
static const uint8_t *find_path(const struct fth_sim_plan *plan,
                                const struct fth_ptx_access *access,
                                const struct fth_sim_effect *effect)
{
    static const uint8_t none[] = {FTH_SIM_ELEMENTS},
                         l1[] = {FTH_SIM_L1, FTH_SIM_OUTER_L1, FTH_SIM_ELEMENTS},
                         readonly[] = {FTH_SIM_READONLY, FTH_SIM_ELEMENTS},
                         texture[] = {FTH_SIM_TEXTURE, FTH_SIM_ELEMENTS},
                         constant[] = {FTH_SIM_CONSTANT_L1, FTH_SIM_CONSTANT_L15, FTH_SIM_OUTER_L1,
                                       FTH_SIM_ELEMENTS};
    switch (access->space) {
    case FTH_SPACE_TEXTURE: return texture;
    case FTH_SPACE_CONST: return constant;
    case FTH_SPACE_LOCAL: return plan->l1_caches_local ? l1 : none;
    default: break;
    }
    if (passes_l1(access, effect))
        return none;
    if (access->cache_op == FTH_CACHE_NC && plan->levels[FTH_SIM_READONLY].present)
        return readonly;
    return plan->l1_caches_global ? l1 : none;
}

/* Returns the latency that translation adds to a hit in L1: 0 if L1 is virtually addressed. */
static int64_t l1_translation(struct fth_sim_timing *timing, const struct fth_ptx_warp_id *who,
                              uint64_t address)
{
    if (!timing->plan->l1_physical)
        return 0;
    const int64_t penalty = fth_sim_tlbs_look_up(&timing->tlbs, who->sm, address);
    return penalty ? penalty + timing->plan->l1_tlb_extra : 0;
}

/* How a read of global memory goes through the caches. The effects are unknown for other spaces. */
struct read_way {
    const uint8_t *path;
    struct fth_sim_effect l1, l2;
};

static struct read_way find_way(const struct fth_sim_plan *plan,
                                const struct fth_ptx_access *access)
{
    struct read_way way = {.path = NULL};
    if (access->space == FTH_SPACE_GLOBAL) {
        way.l1 = fth_sim_l1_effect(&plan->hints, access);
        way.l2 = fth_sim_l2_effect(&plan->hints, access);
    }
    way.path = find_path(plan, access, &way.l1);
    return way;
}

/* Removes the lines of an access from a cache of its SM. */
static void evict_lines(struct fth_sim_timing *timing, enum fth_sim_element element,
                        const struct fth_ptx_warp_id *who, struct request request)
{
    const struct fth_sim_level *level = &timing->plan->levels[element];
    struct fth_cache *cache =
        level->present ? fth_sim_caches_get(&timing->caches, element, who->sm, who->warp) : NULL;
    const uint64_t line_bytes = timing->plan->arrays[level->array].line_bytes;
    for (uint64_t at = request.address & ~(line_bytes - 1);
         cache && at < request.address + request.bytes; at += line_bytes)
        fth_cache_invalidate(cache, at, NULL);
}

/* Returns how long a read that misses waits because the SM has as many sectors in flight as it can.
 * Reads do not arrive in the order of time, so the limit is one of their rate: as many sectors as
 * the limit in the time that this read takes. */
static int64_t wait_in_flight(struct fth_sim_timing *timing, uint32_t sm, struct request request,
                              int64_t latency, int64_t time)
{
    const struct fth_sim_plan *plan = timing->plan;
    if (plan->sm_sectors == 0)
        return 0;
    const uint64_t sector = plan->l2.sector_bytes;
    const uint64_t sectors =
        (request.address + request.bytes - 1) / sector - request.address / sector + 1;
    const double cycles = (double)latency / FTH_SIM_CYCLE * (double)sectors / plan->sm_sectors;
    /* A read occupies at most a bucket, as in fth_sim_port_move. */
    return fth_sim_port_take(&timing->sms[sm].flight, time,
                             (uint32_t)(fmin(cycles, FTH_SIM_BUCKET_CYCLES) * 1e6));
}

static int64_t read_latency(struct fth_sim_timing *timing, const struct fth_ptx_warp_id *who,
                            const struct read_way *way, struct request request, int64_t time)
{
    const uint8_t *path = way->path;
    const struct fth_sim_plan *plan = timing->plan;
    if (way->l1.evicts) /* reads that pass L1 can evict what it holds */
        evict_lines(timing, FTH_SIM_L1, who, request);
    for (; *path != FTH_SIM_ELEMENTS; path++) {
        const struct fth_sim_level *level = &plan->levels[*path];
        if (!level->present)
            continue;
        struct fth_cache *cache =
            fth_sim_caches_get(&timing->caches, (enum fth_sim_element) * path, who->sm, who->warp);
        if (!cache) {
            timing->failed = true;
            return level->latency;
        }
        const uint64_t bytes = request.bytes;
        const uint64_t address = request.address;
        static const struct fth_sim_effect none = {.known = false};
        const bool is_l1 =
            plan->levels[FTH_SIM_L1].present && level->array == plan->levels[FTH_SIM_L1].array;
        if (fth_sim_hinted_read(cache, &plan->arrays[level->array], is_l1 ? &way->l1 : &none,
                                &request.address, &request.bytes))
            return level->latency +
                   (*path == FTH_SIM_L1 ? l1_translation(timing, who, address) : 0) +
                   fth_sim_port_move(&timing->sms[who->sm].l1, &level->rates, 1, time, bytes, 0);
    }
    int64_t penalty = 0;
    if (fth_sim_remote_access(&timing->remote, &timing->l2, who->sm, request.address, request.bytes,
                              false, time, &penalty))
        return penalty;
    penalty += fth_sim_tlbs_look_up(&timing->tlbs, who->sm, request.address);
    const int64_t latency =
        penalty + fth_sim_l2_hinted_read(&timing->l2, who->sm, request.address, request.bytes,
                                         &way->l2, time + penalty);
    return latency + wait_in_flight(timing, who->sm, request, latency, time);
}

/* Updates L1 for a write to global memory within one line, as the description says. A hit means
 * that L1 holds the line or, if only sectors are evicted, a sector that is written. */
static void write_line_l1(const struct fth_sim_l1_writes *writes, struct fth_cache *cache,
                          struct request request)
{
    if (!writes->updates &&
        (writes->evicts_sectors
             ? fth_cache_invalidate_sectors(cache, request.address, request.bytes)
             : fth_cache_invalidate(cache, request.address, NULL)))
        return;
    if (writes->allocates || (writes->updates && fth_cache_probe(cache, request.address,
                                                                 request.bytes) == FTH_CACHE_HIT))
        fth_cache_access(cache, request.address, request.bytes, FTH_CACHE_WRITE, NULL);
}

/* What a store does to L1, if the description has the effect of its cache operator or its hints. */
static struct fth_sim_l1_writes hinted_writes(const struct fth_sim_l1_writes *plain,
                                              const struct fth_sim_effect *effect)
{
    struct fth_sim_l1_writes writes = *plain;
    if (effect->known)
        writes.allocates = effect->fill_bytes > 0;
    if (effect->keeps || effect->evicts)
        writes.updates = effect->keeps;
    return writes;
}

/* Updates L1 for a write. A local write allocates the line. An atomic in global memory, which is
 * executed in L2, evicts it. */
static void write_l1(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                     struct request request)
{
    const struct fth_sim_plan *plan = timing->plan;
    struct fth_sim_l1_writes writes = {.allocates = false}; /* of an atomic */
    struct fth_sim_effect effect = {.known = false};
    bool local = access->space == FTH_SPACE_LOCAL;
    if (local ? !plan->l1_caches_local : !plan->l1_caches_global)
        return;
    struct fth_cache *cache =
        fth_sim_caches_get(&timing->caches, FTH_SIM_L1, access->who.sm, access->who.warp);
    timing->failed = timing->failed || !cache;
    const struct fth_sim_shape *shape = &plan->arrays[plan->levels[FTH_SIM_L1].array];
    if (cache && local)
        fth_sim_cache_read(cache, shape, &request.address, &request.bytes);
    if (access->kind != FTH_ACCESS_ATOMIC) {
        effect = fth_sim_l1_effect(&plan->hints, access);
        writes = hinted_writes(&plan->l1_writes, &effect);
    }
    const bool prioritized = cache && effect.priority != FTH_CACHE_NORMAL &&
                             fth_cache_prioritize(cache, effect.priority);
    const uint64_t end = request.address + request.bytes;
    for (uint64_t at = request.address; cache && !local && at < end;) {
        const uint64_t next = (at & ~(shape->line_bytes - 1)) + shape->line_bytes;
        const uint64_t stop = next < end ? next : end;
        write_line_l1(&writes, cache, (struct request){at, stop - at});
        at = stop;
    }
    if (prioritized)
        (void)fth_cache_prioritize(cache, FTH_CACHE_NORMAL);
}

static int64_t write_latency(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                             struct request request, int64_t time)
{
    uint32_t sm = access->who.sm;
    write_l1(timing, access, request);
    evict_lines(timing, FTH_SIM_OUTER_L1, &access->who, request);
    if (access->kind == FTH_ACCESS_WRITE && access->unit == FTH_UNIT_LANES &&
        access->space == FTH_SPACE_GLOBAL &&
        fth_sim_merge(&timing->merges, sm, request.address / SEGMENT_BYTES, time))
        return timing->plan->l2_latency;
    int64_t penalty = 0;
    if (fth_sim_remote_access(&timing->remote, &timing->l2, sm, request.address, request.bytes,
                              access->kind == FTH_ACCESS_WRITE, time, &penalty))
        return penalty;
    penalty += fth_sim_tlbs_look_up(&timing->tlbs, sm, request.address);
    const struct fth_sim_level *l1 = &timing->plan->levels[FTH_SIM_L1];
    if (l1->present && access->kind == FTH_ACCESS_WRITE)
        penalty += fth_sim_port_move(&timing->sms[sm].l1, &l1->rates, 1, time, 0, request.bytes);
    time += penalty;
    if (access->kind == FTH_ACCESS_ATOMIC)
        return penalty + fth_sim_l2_atomic(&timing->l2, sm, request.address, request.bytes, time);
    struct fth_sim_effect effect = {.known = false};
    if (access->space == FTH_SPACE_GLOBAL)
        effect = fth_sim_l2_effect(&timing->plan->hints, access);
    return penalty +
           fth_sim_l2_write(&timing->l2, sm, request.address, request.bytes, &effect, time);
}

/* ---- shared memory ---- */

/* Returns the degree of the bank conflict: the largest number of different words that one bank has
 * to deliver. Atomics on the same word are serialized, so every word of an atomic access counts. On
 * an H200, atomics of 32 lanes on one word take 88 cycles, as long as on 32 words of one bank. */
static unsigned conflict_degree(const struct fth_sim_plan *plan,
                                const struct fth_ptx_access *access)
{
    enum { END = UINT16_MAX, MAX_WORDS = 32 * 16 };
    uint16_t heads[1024], chain[MAX_WORDS] = {0};
    uint64_t words[MAX_WORDS];
    unsigned count = 0, worst = 1;
    const bool serial = access->kind == FTH_ACCESS_ATOMIC;
    if (is_contiguous(access) && access->addresses[0] % plan->bank_bytes == 0) {
        uint64_t row = (uint64_t)plan->banks * plan->bank_bytes,
                 size = 32 * (uint64_t)access->bytes;
        return (unsigned)((size + row - 1) / row);
    }
    memset(heads, 0xff, plan->banks * sizeof *heads);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        uint64_t address = access->addresses[__builtin_ctz(left)];
        for (uint64_t word = address / plan->bank_bytes;
             word <= (address + access->bytes - 1) / plan->bank_bytes; word++) {
            uint16_t *head = &heads[word % plan->banks];
            unsigned length = 1;
            uint16_t at = *head;
            for (; at != END && (words[at] != word || serial); at = chain[at])
                length++;
            if (at != END || count == MAX_WORDS)
                continue;
            words[count] = word;
            chain[count] = *head;
            *head = (uint16_t)count++;
            worst = length > worst ? length : worst;
        }
    }
    return worst;
}

/* Returns the latency of an access to shared memory of the block `target` of the cluster. It is not
 * documented which SMs of a cluster are near each other. The simulator takes blocks of an even rank
 * and the next odd rank as neighbours. */
static int64_t block_latency(const struct fth_sim_plan *plan, uint32_t rank, uint32_t target)
{
    return target == rank         ? plan->shared_latency
           : target == (rank ^ 1) ? plan->cluster_latency
                                  : plan->cluster_far_latency;
}

static int64_t shared_latency(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                              int64_t time)
{
    const struct fth_sim_plan *plan = timing->plan;
    bool one_word = (access->mask & (access->mask - 1)) == 0 && access->bytes <= plan->bank_bytes;
    unsigned degree = one_word ? 1 : conflict_degree(plan, access);
    uint64_t bytes = (uint64_t)__builtin_popcount(access->mask) * access->bytes;
    const bool written = access->kind == FTH_ACCESS_WRITE;
    /* An access occupies the banks for a whole number of cycles, one per row. If the bandwidth of
     * the description corresponds to whole cycles, to within 0.02, that is the exact limit.
     * Otherwise a port limits the bytes, so that the average rate is right. */
    const struct fth_sim_rates *rates = &plan->shared_rates;
    const double exact_cycles = (double)bytes * (written ? rates->write : rates->read) / 1e6;
    const unsigned rows = (unsigned)(exact_cycles + 0.02);
    struct fth_sim_sm *sm = &timing->sms[access->who.sm];
    int64_t wait = fth_sim_slots_take(&sm->banks, time, rows > degree ? rows : degree);
    /* An access to another SM uses the bandwidth between SMs. Bandwidth on the other SM is not
     * modelled. */
    const bool own_block = access->target == access->who.rank;
    const bool exact_rows = own_block && (rates->copy_extra == 0) && exact_cycles > rows - 0.02 &&
                            exact_cycles < rows + 0.02;
    if (!exact_rows)
        wait += fth_sim_port_move(own_block ? &sm->shared : &sm->cluster,
                                  own_block ? rates : &plan->cluster_rates, 1, time + wait,
                                  written ? 0 : bytes, written ? bytes : 0);
    return block_latency(plan, access->who.rank, access->target) + (degree - 1) * plan->conflict +
           wait;
}

/* ---- the copy engine ---- */

/* Returns the latency of an access of the copy engine. Its accesses to the shared memory of its own
 * SM are part of the copy. A multicast reads global memory once, for the first of its blocks. */
static int64_t engine_latency(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                              int64_t time)
{
    const struct fth_sim_plan *plan = timing->plan;
    const struct fth_sim_copy_engine *engine = &plan->engine;
    struct fth_sim_warp *warp = fth_sim_warp_of(timing, &access->who);
    const uint32_t sm = access->who.sm;
    const bool reads = access->kind == FTH_ACCESS_READ;
    static const uint8_t no_caches[] = {FTH_SIM_ELEMENTS};
    static const struct read_way past_l1 = {.path = no_caches};
    if (access->space == FTH_SPACE_SHARED) {
        if (access->target == access->who.rank || warp->copies.multicast)
            return 0;
        const uint64_t bytes = (uint64_t)__builtin_popcount(access->mask) * access->bytes;
        int64_t wait = fth_sim_engine_take(timing, warp, sm, time, bytes, false);
        wait += fth_sim_port_move(&timing->sms[sm].cluster, &plan->cluster_rates, 1, time + wait, 0,
                                  bytes);
        return engine->overhead + wait + block_latency(plan, access->who.rank, access->target);
    }
    if (warp->copies.multicast && warp->copies.signalled)
        return 0;
    struct requests requests;
    coalesce(timing, access, &requests);
    int64_t worst = 0;
    for (unsigned i = 0; i < requests.count; i++) {
        const struct request *request = &requests.list[i];
        int64_t latency = fth_sim_engine_take(timing, warp, sm, time, request->bytes, !reads);
        if (reads)
            latency += engine->overhead + read_latency(timing, &access->who, &past_l1, *request,
                                                       time + latency + engine->overhead);
        else {
            (void)write_latency(timing, access, *request, time + latency);
            latency += engine->store_latency;
        }
        worst = latency > worst ? latency : worst;
    }
    return worst;
}

/* ---- the whole access ---- */

int64_t fth_sim_path_latency(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                             int64_t time)
{
    if (access->space == FTH_SPACE_PARAM)
        return 0; /* kernel parameters are always resident */
    if (access->unit == FTH_UNIT_COPY_ENGINE && timing->plan->engine.present)
        return engine_latency(timing, access, time);
    if (access->space == FTH_SPACE_SHARED)
        return shared_latency(timing, access, time);
    const struct read_way way = find_way(timing->plan, access);
    struct fth_sim_port *port = &timing->sms[access->who.sm].requests;
    if (access->kind == FTH_ACCESS_READ && access->space != FTH_SPACE_LOCAL &&
        (access->mask & (access->mask - 1)) == 0) {
        /* Fast path for one lane, as in every pointer chase. */
        struct request only = {access->addresses[__builtin_ctz(access->mask)], access->bytes};
        int64_t wait = fth_sim_port_take(port, time, REQUEST_MICROCYCLES);
        return wait + read_latency(timing, &access->who, &way, only, time + wait);
    }
    struct requests requests;
    coalesce(timing, access, &requests);
    int64_t worst = 0;
    for (unsigned i = 0; i < requests.count; i++) {
        int64_t sent = (int64_t)i * FTH_SIM_CYCLE;
        sent += fth_sim_port_take(port, time + sent, REQUEST_MICROCYCLES);
        int64_t latency =
            sent + (access->kind == FTH_ACCESS_READ
                        ? read_latency(timing, &access->who, &way, requests.list[i], time + sent)
                        : write_latency(timing, access, requests.list[i], time + sent));
        worst = latency > worst ? latency : worst;
    }
    return worst;
}

void fth_sim_prefetch(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                      int64_t time)
{
    static const uint8_t none[] = {FTH_SIM_ELEMENTS},
                         l1[] = {FTH_SIM_L1, FTH_SIM_OUTER_L1, FTH_SIM_ELEMENTS};
    const struct fth_sim_plan *plan = timing->plan;
    struct read_way way = {.l1 = fth_sim_l1_effect(&plan->hints, access),
                           .l2 = fth_sim_l2_effect(&plan->hints, access)};
    const bool fills_l1 = way.l1.known && way.l1.fill_bytes > 0 && plan->l1_caches_global;
    way.path = fills_l1 ? l1 : none;
    if (!fills_l1 && !(way.l2.known && way.l2.fill_bytes > 0))
        return;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const struct request request = {access->addresses[__builtin_ctz(left)], access->bytes};
        read_latency(timing, &access->who, &way, request, time);
    }
}
