/* Loads and stores. */
#include "ptx/execute/address.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- loads and stores ---- */

static inline uint64_t load_value(const uint8_t *host, enum fth_ptx_type type)
{
    switch (type) {
    case T_S8: return (uint64_t)(int8_t)*host;
    case T_U8:
    case T_B8: return *host;
    case T_S16: {
        int16_t v;
        memcpy(&v, host, sizeof v);
        return (uint64_t)v;
    }
    case T_S32: {
        int32_t v;
        memcpy(&v, host, sizeof v);
        return (uint64_t)v;
    }
    case T_U16:
    case T_B16:
    case T_F16:
    case T_BF16: {
        uint16_t v;
        memcpy(&v, host, sizeof v);
        return v;
    }
    case T_U32:
    case T_B32:
    case T_F32:
    case T_F16X2:
    case T_BF16X2: {
        uint32_t v;
        memcpy(&v, host, sizeof v);
        return v;
    }
    default: {
        uint64_t v;
        memcpy(&v, host, sizeof v);
        return v;
    }
    }
}

/* Finds the next lanes that access the same memory, and reports their access. Returns false if
 * there are none left, after a fault, and if the trace needs no data of the access. */
static inline bool next_group(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                              uint32_t *mask, unsigned bytes, bool write,
                              struct fth_ptx_lane_group *group)
{
    while (*mask) {
        if (!fth_ptx_resolve_group(warp, inst, mask, bytes, write, group) ||
            !fth_ptx_notify_access(warp, inst, group, bytes,
                                   write ? FTH_ACCESS_WRITE : FTH_ACCESS_READ))
            return false;
        if (!(inst->slice & SLICE_SKIPS))
            return true;
    }
    return false;
}

static void run_ld(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    unsigned size = fth_ptx_type_bytes(type), count = inst->vector ? inst->vector : 1;
    struct fth_ptx_lane_group group;
    while (next_group(warp, inst, &mask, size * count, false, &group)) {
        for (unsigned e = 0; e < count; e++) {
            if (inst->d[e] < 0)
                continue; /* "_": the element is discarded */
            uint64_t *rd = out_row(warp, inst->d[e]);
            if (size == 4 && type != T_S32)
                FOR_LANES(group.mask, uint32_t v; memcpy(&v, group.host[lane] + (size_t)4 * e, 4);
                          rd[lane] = v;);
            else
                FOR_LANES(group.mask,
                          rd[lane] = load_value(group.host[lane] + (size_t)size * e, type););
        }
    }
}

static void run_st(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    unsigned size = fth_ptx_type_bytes((enum fth_ptx_type)inst->type),
             count = inst->vector ? inst->vector : 1;
    struct fth_ptx_lane_group group;
    while (next_group(warp, inst, &mask, size * count, true, &group)) {
        for (unsigned e = 0; e < count; e++) {
            const uint64_t *ra = row(warp, inst->s[1 + e]);
            /* The host and the GPU are both little-endian: the low bytes come first. */
            FOR_LANES(group.mask, memcpy(group.host[lane] + (size_t)size * e, &ra[lane], size););
        }
    }
}

/* ---- accesses with a memory order ---- */

/* Blocks of a launch run on several host threads. Kernels pass data from block to block by loads
 * and stores with a memory order, and rely on two properties of the GPU. An access of up to 16
 * bytes is not divided: a load sees all of a store or nothing of it, also if they are vectors (CUB
 * stores a sum and the flag that it is valid in this way). The accesses before a store are visible
 * to those that load what it has stored. */

enum { WHOLE_BYTES = 16 };

/* x86-64 processors with AVX load and store 16 aligned bytes at once, as Intel and AMD document.
 * Other hosts may divide them, so accesses of this size exclude each other there. */
#ifdef __x86_64__
enum { IS_DIVIDED = 0 };
#else
enum { IS_DIVIDED = 1 };
#endif

static inline void begin_whole(const struct fth_ptx_warp *warp, unsigned bytes)
{
    if (IS_DIVIDED && bytes == WHOLE_BYTES)
        pthread_mutex_lock(warp->block->run->lock);
}

static inline void end_whole(const struct fth_ptx_warp *warp, unsigned bytes)
{
    if (IS_DIVIDED && bytes == WHOLE_BYTES)
        pthread_mutex_unlock(warp->block->run->lock);
}

/* Values of 4, 8 and 16 bytes, at any address. Accesses to volatile objects are not divided if they
 * are aligned, whatever the compiler's options are. */
typedef uint32_t word __attribute__((aligned(1), may_alias));
typedef uint64_t two_words __attribute__((aligned(1), may_alias));
typedef uint64_t four_words __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies a value with one load and one store. */
static inline void copy_whole(uint8_t *to, const uint8_t *from, unsigned bytes)
{
    if (bytes == sizeof(four_words))
        *(volatile four_words *)to = *(const volatile four_words *)from;
    else if (bytes == sizeof(two_words))
        *(volatile two_words *)to = *(const volatile two_words *)from;
    else if (bytes == sizeof(word))
        *(volatile word *)to = *(const volatile word *)from;
    else
        memcpy(to, from, bytes);
}

static void run_ordered_ld(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    unsigned size = fth_ptx_type_bytes(type), count = inst->vector ? inst->vector : 1;
    uint8_t values[LANES][WHOLE_BYTES];
    struct fth_ptx_lane_group group;
    while (next_group(warp, inst, &mask, size * count, false, &group)) {
        begin_whole(warp, size * count);
        FOR_LANES(group.mask, copy_whole(values[lane], group.host[lane], size * count););
        end_whole(warp, size * count);
        atomic_thread_fence(memory_order_acquire);
        for (unsigned e = 0; e < count; e++) {
            if (inst->d[e] < 0)
                continue; /* "_": the element is discarded */
            uint64_t *rd = out_row(warp, inst->d[e]);
            FOR_LANES(group.mask, rd[lane] = load_value(values[lane] + (size_t)size * e, type););
        }
    }
}

static void run_ordered_st(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    unsigned size = fth_ptx_type_bytes((enum fth_ptx_type)inst->type),
             count = inst->vector ? inst->vector : 1;
    uint8_t values[LANES][WHOLE_BYTES];
    struct fth_ptx_lane_group group;
    while (next_group(warp, inst, &mask, size * count, true, &group)) {
        for (unsigned e = 0; e < count; e++) {
            const uint64_t *ra = row(warp, inst->s[1 + e]);
            FOR_LANES(group.mask, memcpy(values[lane] + (size_t)size * e, &ra[lane], size););
        }
        atomic_thread_fence(memory_order_release);
        begin_whole(warp, size * count);
        FOR_LANES(group.mask, copy_whole(group.host[lane], values[lane], size * count););
        end_whole(warp, size * count);
    }
}

/* A fence orders the accesses of the host thread that runs the warp. */
void fth_ptx_run_fence(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)warp;
    (void)inst;
    (void)mask;
    atomic_thread_fence(memory_order_seq_cst);
}

/* Loads a kernel argument from a constant address. It is the same for all lanes. */
static void run_ld_argument(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            uint32_t mask)
{
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    unsigned size = fth_ptx_type_bytes(type), count = inst->vector ? inst->vector : 1;
    uint64_t address = row(warp, inst->s[0])[first_lane(mask)] + (uint64_t)inst->offset;
    const uint8_t *host =
        fth_ptx_resolve_argument(warp, inst, first_lane(mask), address, size * count);
    if (!host)
        return;
    for (unsigned e = 0; e < count; e++) {
        if (inst->d[e] < 0)
            continue; /* "_": the element is discarded */
        uint64_t value = load_value(host + (size_t)size * e, type);
        uint64_t *rd = out_row(warp, inst->d[e]);
        FOR_LANES(mask, rd[lane] = value;);
    }
}

/* ---- no effect ---- */

/* Prefetches and cache hints have no effect on the contents of memory. PTX allows discard to leave
 * the contents unchanged, and nanosleep to take no time. pmevent triggers counters of a profiler.
 */
void fth_ptx_run_nothing(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)warp;
    (void)inst;
    (void)mask;
}

/* PTX defines discard for 128 bytes only. */
enum { DISCARDED_BYTES = 128 };

/* Discards lines of the L2, of which only observers know. */
static void run_discard(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !observer->discard)
        return;
    const uint64_t *addresses = row(warp, inst->s[0]);
    FOR_LANES(mask, if (!observer->discard(observer->user, &warp->issue.who,
                                           addresses[lane] + (uint64_t)inst->offset,
                                           DISCARDED_BYTES)) warp->failed = true;);
}

/* ---- selection of handlers ---- */

static bool select_load_store(struct fth_ptx_inst *inst, bool store)
{
    unsigned count = inst->vector ? inst->vector : 1;
    if (inst->type == T_NONE || inst->type == T_PRED || inst->s[0] == NO_REGISTER || count > 4 ||
        inst->result_is_predicate || inst->flags & ~(uint32_t)(F_VOLATILE | F_NC | F_STRONG) ||
        value_count(inst) != (store ? (int)count : 0))
        return false;
    /* Each result of a load is a register (not negative) or NO_REGISTER (negative). In a vector,
     * NO_REGISTER stands for "_", which discards the element. A load of a single value, with or
     * without braces (`vector` is 1 or 0), must have a register. */
    for (unsigned e = 0; !store && e < count; e++)
        if (inst->vector ? inst->d[e] == NO_REGISTER && count == 1 : inst->d[e] < 0)
            return false;
    /* Unlike a result, a source can be an immediate, which is negative, too. s[0] is not
     * NO_REGISTER here, so a negative s[0] is an immediate: the address is a constant. */
    const bool is_ordered =
        inst->flags & (F_VOLATILE | F_STRONG) &&
        count * fth_ptx_type_bytes((enum fth_ptx_type)inst->type) <= WHOLE_BYTES;
    if (inst->space == SPACE_ARGUMENT && inst->s[0] < 0)
        inst->run = store ? run_st : run_ld_argument;
    else if (is_ordered)
        inst->run = store ? run_ordered_st : run_ordered_ld;
    else
        inst->run = store ? run_st : run_ld;
    return !(store && (inst->space == SPACE_ARGUMENT || inst->space == FTH_SPACE_CONST));
}

bool fth_ptx_select_memory(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "ld") == 0 || strcmp(base, "ldu") == 0)
        return select_load_store(inst, false);
    if (strcmp(base, "st") == 0)
        return select_load_store(inst, true);
    if (strcmp(base, "discard") == 0) {
        inst->run = run_discard;
        return true;
    }
    if (strcmp(base, "prefetch") == 0) {
        inst->run = fth_ptx_run_prefetch;
        return true;
    }
    static const char *const no_ops[] = {"prefetchu", "applypriority", "nanosleep", "pmevent"};
    for (size_t i = 0; i < FTH_COUNT(no_ops); i++)
        if (strcmp(base, no_ops[i]) == 0) {
            inst->run = fth_ptx_run_nothing;
            return true;
        }
    return false;
}
