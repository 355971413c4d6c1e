/* Loads, stores, atomics, texture fetches and address conversions. The address of each lane is
 * resolved to host memory. An access that is misaligned or outside of its memory fails the launch,
 * and the error names the instruction, the thread and the address, as a memory checker does. */
#include "ptx/execute.h"

#include <math.h>

/* ---- address resolution ---- */

/* The space of a generic address. The only parameters with generic addresses are the arguments of
 * the kernel; this function returns FTH_SPACE_PARAM for them. Constant variables have addresses in
 * the range of global memory, so it returns FTH_SPACE_GLOBAL for them. */
static enum fth_ptx_space space_of(uint64_t address)
{
    return address - SHARED_WINDOW < WINDOW_BYTES  ? FTH_SPACE_SHARED
           : address - LOCAL_WINDOW < WINDOW_BYTES ? FTH_SPACE_LOCAL
           : address - PARAM_WINDOW < WINDOW_BYTES ? FTH_SPACE_PARAM
                                                   : FTH_SPACE_GLOBAL;
}

static const char *space_name(unsigned space)
{
    switch (space) {
    case FTH_SPACE_SHARED: return "shared";
    case FTH_SPACE_LOCAL: return "local";
    case FTH_SPACE_CONST: return "constant";
    case FTH_SPACE_PARAM:
    case SPACE_ARGUMENT: return "parameter";
    default: return "global";
    }
}

/* Reports a fault. `address` is relative to the space. `write` is also true for atomics. */
static void out_of_bounds(struct warp *warp, const struct inst *inst, int lane, uint64_t address,
                          unsigned bytes, unsigned space, bool write)
{
    warp_fault(warp, inst, lane, "%s of %u bytes at 0x%llx, outside the %s memory",
               write ? "write" : "read", bytes, (unsigned long long)address, space_name(space));
}

/* The host address of `bytes` bytes at an offset into a memory of `size` bytes. NULL if they are
 * not entirely inside. */
static inline uint8_t *within(uint8_t *memory, uint64_t size, uint64_t offset, unsigned bytes)
{
    return offset <= size && size - offset >= bytes ? memory + offset : NULL;
}

/* The host address of an access to the shared memory of a block, or NULL. If it is NULL because the
 * host is out of memory, reserve_shared has already set that error, which takes precedence over the
 * fault that the caller reports. */
static inline uint8_t *resolve_shared(struct block *block, uint64_t address, unsigned bytes)
{
    if (!block->shared && !reserve_shared(block))
        return NULL;
    return within(block->shared, block->shared_bytes, address, bytes);
}

/* The host address of a lane's access in a space that is neither generic nor shared. NULL if the
 * access is outside of the memory of that space. Here, unlike in space_of, FTH_SPACE_PARAM
 * holds the parameters of calls: each lane has its own in each frame. SPACE_ARGUMENT holds the
 * arguments of the kernel, which are the same for all threads. */
static inline uint8_t *resolve(struct warp *warp, int lane, uint64_t address, unsigned bytes,
                               unsigned space)
{
    switch (space) {
    case FTH_SPACE_LOCAL: /* a kernel without local variables has no local memory */
        return warp->local ? within(warp->local + (uint64_t)lane * warp->local_bytes,
                                    warp->local_bytes, address, bytes)
                           : NULL;
    case FTH_SPACE_PARAM: {
        const struct frame *frame = warp->frame;
        return frame->params ? within(frame->params + (uint64_t)lane * frame->function->param_bytes,
                                      frame->function->param_bytes, address, bytes)
                             : NULL;
    }
    case SPACE_ARGUMENT: {
        const struct run *run = warp->block->run;
        return within((uint8_t *)run->arguments, run->kernel->kernel.parameter_bytes, address,
                      bytes);
    }
    default: {
        const struct allocation *found = warp->last_allocation;
        if (!found || address - found->base >= found->bytes) {
            found = find_allocation(warp->block->run->machine->memory, address);
            if (!found)
                return NULL;
            warp->last_allocation = found;
        }
        return within(found->host, found->bytes, address - found->base, bytes);
    }
    }
}

/* The lanes of an access whose addresses are in the same space and, for shared memory, in the same
 * block. With generic or cluster addresses, the lanes of one access can belong to different spaces
 * or blocks. The access then consists of several groups, which are handled one after the other. */
struct lane_group {
    uint64_t addresses[LANES]; /* within the space */
    uint8_t *host[LANES];      /* host addresses */
    unsigned space;
    struct block *block; /* for shared memory: the block that it belongs to */
    uint32_t mask;       /* lanes of the group; the others have no entries above */
};

/* The block of the cluster that a shared address belongs to, or NULL. The shared address space of a
 * cluster is divided into windows of CLUSTER_WINDOW bytes: window 0 is the warp's own block,
 * window r + 1 the block with rank r. */
static struct block *block_at(const struct warp *warp, uint64_t address)
{
    struct cluster *cluster = warp->block->cluster;
    uint64_t window = address / CLUSTER_WINDOW;
    return window == 0 || cluster->count == 1 ? warp->block
           : window <= cluster->count         ? &cluster->blocks[window - 1]
                                              : NULL;
}

/* Reduces a group in shared memory to the lanes that access the same block as the first lane. Their
 * addresses become offsets into the shared memory of that block. If the address of the first lane
 * belongs to no block, the group does not change, and resolve_next_group then reports that the
 * address is out of bounds. */
static void keep_one_block(const struct warp *warp, struct lane_group *group)
{
    struct block *block = block_at(warp, group->addresses[first_lane(group->mask)]);
    if (warp->block->cluster->count == 1 || !block)
        return;
    uint32_t same = 0;
    FOR_LANES(group->mask, {
        if (block_at(warp, group->addresses[lane]) == block) {
            same |= 1u << lane;
            group->addresses[lane] %= CLUSTER_WINDOW;
        }
    });
    group->mask = same;
    group->block = block;
}

/* Resolves the lanes of *mask that belong to the same group as the first one, and removes them from
 * *mask. Each lane accesses `bytes` bytes, a power of two. Reports a fault and returns false if an
 * address is invalid. */
static bool resolve_next_group(struct warp *warp, const struct inst *inst, uint32_t *mask,
                               unsigned bytes, bool write, struct lane_group *group)
{
    const uint64_t *base = row(warp, inst->s[0]);
    uint64_t offset = (uint64_t)inst->offset;
    unsigned space = inst->space == SPACE_CLUSTER ? FTH_SPACE_SHARED : inst->space;
    group->mask = *mask;
    group->block = warp->block;
    if (space == FTH_SPACE_GENERIC) {
        space = space_of(base[first_lane(*mask)] + offset);
        uint64_t window = space == FTH_SPACE_SHARED  ? SHARED_WINDOW
                          : space == FTH_SPACE_LOCAL ? LOCAL_WINDOW
                          : space == FTH_SPACE_PARAM ? PARAM_WINDOW
                                                     : 0;
        uint32_t same = 0;
        FOR_LANES(*mask, {
            uint64_t address = base[lane] + offset;
            if (space_of(address) == space) {
                same |= 1u << lane;
                group->addresses[lane] = address - window;
            }
        });
        if (space == FTH_SPACE_PARAM)
            space = SPACE_ARGUMENT; /* space_of means the arguments of the kernel */
        group->mask = same;
    } else {
        FOR_LANES(*mask, group->addresses[lane] = base[lane] + offset;);
        /* An access to the shared or local space may also use a generic address of that space.
         * Only the low 32 bits of other shared addresses are used. */
        if (space == FTH_SPACE_SHARED || space == FTH_SPACE_LOCAL)
            FOR_LANES(*mask, {
                uint64_t address = group->addresses[lane];
                if (space_of(address) == space)
                    group->addresses[lane] =
                        address - (space == FTH_SPACE_SHARED ? SHARED_WINDOW : LOCAL_WINDOW);
                else if (space == FTH_SPACE_SHARED)
                    group->addresses[lane] = (uint32_t)address;
            });
    }
    /* With .shared, only the shared memory of the warp's own block can be accessed. */
    if (space == FTH_SPACE_SHARED && inst->space != FTH_SPACE_SHARED)
        keep_one_block(warp, group);
    *mask &= ~group->mask;
    group->space = space;
    for (uint32_t left = group->mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint64_t address = group->addresses[lane];
        if (address & (bytes - 1)) {
            warp_fault(warp, inst, lane, "%s of %u bytes at 0x%llx, which is not aligned to %u",
                       write ? "write" : "read", bytes, (unsigned long long)address, bytes);
            return false;
        }
        group->host[lane] = space == FTH_SPACE_SHARED ? resolve_shared(group->block, address, bytes)
                                                      : resolve(warp, lane, address, bytes, space);
        if (!group->host[lane]) {
            out_of_bounds(warp, inst, lane, address, bytes, space, write);
            return false;
        }
    }
    if (write && space == FTH_SPACE_CONST) {
        warp_fault(warp, inst, first_lane(group->mask), "write to constant memory");
        return false;
    }
    return true;
}

/* Reports the access of a group to the observer. False if the observer ends the launch. */
static bool notify_access(struct warp *warp, const struct inst *inst,
                          const struct lane_group *group, unsigned bytes,
                          enum fth_ptx_access_kind kind)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !observer->access)
        return true;
    const struct fth_ptx_access access = {
        .who = warp->issue.who,
        .instruction = inst->index,
        .line = inst->line,
        .source_file = inst->file,
        .source_line = inst->source_line,
        .space =
            group->space == SPACE_ARGUMENT ? FTH_SPACE_PARAM : (enum fth_ptx_space)group->space,
        .target = group->space == FTH_SPACE_SHARED ? group->block->rank : warp->block->rank,
        .cache_op = inst->flags & F_VOLATILE ? FTH_CACHE_VOLATILE
                    : inst->flags & F_NC     ? FTH_CACHE_NC
                                             : (enum fth_ptx_cache_op)inst->cache_op,
        .kind = kind,
        .mask = group->mask,
        .bytes = bytes,
        .addresses = group->addresses};
    if (observer->access(observer->user, &access))
        return true;
    warp->failed = true;
    return false;
}

/* ---- loads and stores ---- */

static inline uint64_t load_value(const uint8_t *host, enum type type)
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

static void run_ld(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    enum type type = (enum type)inst->type;
    unsigned size = type_bytes(type), count = inst->vector ? inst->vector : 1;
    while (mask) {
        struct lane_group group;
        if (!resolve_next_group(warp, inst, &mask, size * count, false, &group) ||
            !notify_access(warp, inst, &group, size * count, FTH_ACCESS_READ))
            return;
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

static void run_st(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    unsigned size = type_bytes((enum type)inst->type), count = inst->vector ? inst->vector : 1;
    while (mask) {
        struct lane_group group;
        if (!resolve_next_group(warp, inst, &mask, size * count, true, &group) ||
            !notify_access(warp, inst, &group, size * count, FTH_ACCESS_WRITE))
            return;
        for (unsigned e = 0; e < count; e++) {
            const uint64_t *ra = row(warp, inst->s[1 + e]);
            /* The host and the GPU are both little-endian: the low bytes come first. */
            FOR_LANES(group.mask, memcpy(group.host[lane] + (size_t)size * e, &ra[lane], size););
        }
    }
}

/* Loads a kernel argument from a constant address. It is the same for all lanes. */
static void run_ld_argument(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    enum type type = (enum type)inst->type;
    unsigned size = type_bytes(type), count = inst->vector ? inst->vector : 1;
    uint64_t address = row(warp, inst->s[0])[first_lane(mask)] + (uint64_t)inst->offset;
    const uint8_t *host = resolve(warp, 0, address, size * count, SPACE_ARGUMENT);
    if (!host) {
        out_of_bounds(warp, inst, first_lane(mask), address, size * count, SPACE_ARGUMENT, false);
        return;
    }
    for (unsigned e = 0; e < count; e++) {
        if (inst->d[e] < 0)
            continue; /* "_": the element is discarded */
        uint64_t value = load_value(host + (size_t)size * e, type);
        uint64_t *rd = out_row(warp, inst->d[e]);
        FOR_LANES(mask, rd[lane] = value;);
    }
}

/* cp.async copies immediately, so the instructions that wait for it have nothing to do. With a
 * fourth operand, only that number of bytes is copied, and the rest is set to zero. */
static void run_copy(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    unsigned bytes = (unsigned)row(warp, inst->s[2])[first_lane(mask)];
    const uint64_t *sizes = inst->s[3] != NO_REGISTER ? row(warp, inst->s[3]) : NULL;
    if (bytes != 4 && bytes != 8 && bytes != 16) {
        warp_fault(warp, inst, first_lane(mask), "cp.async of %u bytes; it must be 4, 8 or 16",
                   bytes);
        return;
    }
    struct inst store = *inst, load = *inst;
    store.space = FTH_SPACE_SHARED;
    load.space = FTH_SPACE_GLOBAL;
    load.s[0] = inst->s[1];
    load.offset = inst->offset2;
    /* The spaces are fixed, so the first group of each access contains all lanes. */
    struct lane_group to, from;
    uint32_t lanes = mask;
    if (!resolve_next_group(warp, &store, &lanes, bytes, true, &to))
        return;
    lanes = mask;
    if (!resolve_next_group(warp, &load, &lanes, bytes, false, &from) ||
        !notify_access(warp, &load, &from, bytes, FTH_ACCESS_READ) ||
        !notify_access(warp, &store, &to, bytes, FTH_ACCESS_WRITE))
        return;
    FOR_LANES(mask, {
        unsigned copied = sizes && sizes[lane] < bytes ? (unsigned)sizes[lane] : bytes;
        memset(to.host[lane], 0, bytes);
        memcpy(to.host[lane], from.host[lane], copied);
    });
}

/* ---- atomics ---- */

/* Bit patterns of f32: the sign, the exponent (0 for zero and subnormal numbers), and the NaN that
 * additions return. */
#define F32_SIGN 0x80000000u
#define F32_EXPONENT 0x7f800000
#define F32_NAN 0x7fffffffu
/* Bit patterns of f64: the NaN of an addition without a NaN operand, such as inf - inf, and the bit
 * that makes a NaN quiet. */
#define F64_NAN 0x7ff8000000000000u
#define F64_QUIET 0x0008000000000000u

/* As on an H200: f32 additions in global memory treat subnormal operands and results as zero; f64
 * additions in global memory return a NaN operand unchanged. In shared memory, additions follow
 * IEEE 754. */
static uint64_t add_f32(uint64_t old, uint64_t b, bool global)
{
    uint32_t x = (uint32_t)old, y = (uint32_t)b;
    if (global && (x & F32_EXPONENT) == 0)
        x &= F32_SIGN;
    if (global && (y & F32_EXPONENT) == 0)
        y &= F32_SIGN;
    float sum = as_float(x) + as_float(y);
    uint32_t bits = sum != sum ? F32_NAN : float_bits(sum);
    return global && (bits & F32_EXPONENT) == 0 ? bits & F32_SIGN : bits;
}

static uint64_t add_f64(uint64_t old, uint64_t b, bool global)
{
    double x = as_double(old), y = as_double(b), sum = x + y;
    if (sum == sum)
        return double_bits(sum);
    uint64_t nan = y != y ? b : x != x ? old : F64_NAN;
    return global ? nan : nan | F64_QUIET;
}

/* The new value of a word in memory. `old` is its present value; b and c are the operands. */
static uint64_t atomic_result(const struct inst *inst, uint64_t old, uint64_t b, uint64_t c,
                              bool global)
{
    enum type type = (enum type)inst->type;
    bool wide = type_bytes(type) == 8;
    switch (inst->atomic) {
    case A_ADD:
        if (type == T_F32)
            return add_f32(old, b, global);
        if (type == T_F64)
            return add_f64(old, b, global);
        if (type == T_F16X2 || type == T_BF16X2) {
            uint64_t result = 0;
            for (int half = 0; half < 32; half += 16) {
                uint16_t x = (uint16_t)(old >> half), y = (uint16_t)(b >> half);
                uint16_t sum =
                    type == T_F16X2
                        ? half_from_double(half_to_double(x) + half_to_double(y), R_RN)
                        : bfloat_from_double(bfloat_to_double(x) + bfloat_to_double(y), R_RN);
                result |= (uint64_t)sum << half;
            }
            return result;
        }
        if (type == T_F16)
            return half_from_double(half_to_double((uint16_t)old) + half_to_double((uint16_t)b),
                                    R_RN);
        if (type == T_BF16)
            return bfloat_from_double(
                bfloat_to_double((uint16_t)old) + bfloat_to_double((uint16_t)b), R_RN);
        return old + b;
    case A_MIN:
        if (type_is_signed(type))
            return wide ? ((int64_t)old < (int64_t)b ? old : b)
                        : ((int32_t)old < (int32_t)b ? old : b);
        return old < b ? old : b;
    case A_MAX:
        if (type_is_signed(type))
            return wide ? ((int64_t)old > (int64_t)b ? old : b)
                        : ((int32_t)old > (int32_t)b ? old : b);
        return old > b ? old : b;
    case A_INC: return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
    case A_DEC: return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    case A_EXCH: return b;
    default: return old == b ? c : old; /* cas */
    }
}

/* Executes any atomic operation on a word. Other blocks may run on other threads of the host, so
 * the host memory is updated atomically, by a loop of compare-and-swap. Returns the old value. */
#define UPDATE(T)                                                                                  \
    do {                                                                                           \
        T *place = (T *)(void *)host, seen = __atomic_load_n(place, __ATOMIC_RELAXED), next;       \
        do                                                                                         \
            next = (T)atomic_result(inst, seen, (T)b, (T)c, global);                               \
        while (!__atomic_compare_exchange_n(place, &seen, next, false, __ATOMIC_SEQ_CST,           \
                                            __ATOMIC_RELAXED));                                    \
        return seen;                                                                               \
    } while (0)

static uint64_t update(const struct inst *inst, uint8_t *host, uint64_t b, uint64_t c, bool global)
{
    switch (type_bytes((enum type)inst->type)) {
    case 2: UPDATE(uint16_t);
    case 4: UPDATE(uint32_t);
    default: UPDATE(uint64_t);
    }
}

static void run_atomic(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    unsigned bytes = type_bytes((enum type)inst->type);
    const uint64_t *rb = row(warp, inst->s[1]);
    const uint64_t *rc = inst->s[2] != NO_REGISTER ? row(warp, inst->s[2]) : rb;
    uint64_t old[LANES] = {0};
    uint32_t all = mask;
    while (mask) {
        struct lane_group group;
        if (!resolve_next_group(warp, inst, &mask, bytes, true, &group) ||
            !notify_access(warp, inst, &group, bytes, FTH_ACCESS_ATOMIC))
            return;
        bool global = group.space == FTH_SPACE_GLOBAL;
        FOR_LANES(group.mask,
                  old[lane] = update(inst, group.host[lane], rb[lane], rc[lane], global););
    }
    if (inst->d[0] >= 0) { /* red has no result; that of atom can be "_" */
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(all, rd[lane] = old[lane];);
    }
}

/* ---- textures ---- */

/* Fetches from one-dimensional textures with integer coordinates. A texel has up to four channels.
 * Each channel has four bytes. Channels that the texture lacks are 0, except the fourth, which is
 * 1, also outside of the texture. The channels that the texture has are 0 outside of it. The
 * observer sees a fetch outside of the texture as a read of the first texel, and gets one texel
 * size for all lanes: that of the last active lane's texture. */
static void run_tex(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const struct memory *memory = warp->block->run->machine->memory;
    const uint64_t *handles = row(warp, inst->s[0]), *coordinates = row(warp, inst->s[1]);
    struct lane_group group = {.space = FTH_SPACE_TEXTURE, .mask = mask};
    uint64_t fetched[4][LANES]; /* by channel */
    unsigned bytes = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint64_t handle = handles[lane];
        if (handle == 0 || handle > memory->texture_count ||
            memory->textures[handle - 1].texels == 0 /* freed */) {
            warp_fault(warp, inst, lane, "0x%llx is not a texture", (unsigned long long)handle);
            return;
        }
        const struct texture *texture = &memory->textures[handle - 1];
        int64_t x = (int32_t)coordinates[lane];
        bytes = 4 * texture->channels;
        uint64_t values[4] = {0, 0, 0,
                              texture->texel_format == FTH_TEXEL_F32 ? 0x3f800000u /* 1.0 */ : 1};
        bool inside = x >= 0 && (uint64_t)x < texture->texels;
        group.addresses[lane] = texture->address + (inside ? (uint64_t)x * bytes : 0);
        const uint8_t *host =
            inside ? resolve(warp, lane, group.addresses[lane], bytes, FTH_SPACE_GLOBAL) : NULL;
        if (inside && !host) {
            out_of_bounds(warp, inst, lane, group.addresses[lane], bytes, FTH_SPACE_GLOBAL, false);
            return;
        }
        for (unsigned c = 0; c < texture->channels; c++)
            values[c] = inside ? load_value(host + (size_t)4 * c, T_U32) : 0;
        for (unsigned c = 0; c < 4; c++)
            fetched[c][lane] = values[c];
    }
    if (!notify_access(warp, inst, &group, bytes, FTH_ACCESS_READ))
        return;
    for (unsigned c = 0; c < 4; c++)
        if (inst->d[c] >= 0) { /* not "_" */
            uint64_t *rd = out_row(warp, inst->d[c]);
            FOR_LANES(mask, rd[lane] = fetched[c][lane];);
        }
}

/* ---- addresses ---- */

/* The start of a space in the generic address space. */
static uint64_t window_of(unsigned space)
{
    return space == FTH_SPACE_SHARED || space == SPACE_CLUSTER   ? SHARED_WINDOW
           : space == FTH_SPACE_LOCAL                            ? LOCAL_WINDOW
           : space == FTH_SPACE_PARAM || space == SPACE_ARGUMENT ? PARAM_WINDOW
                                                                 : 0;
}

UNARY(run_cvta, uint64_t, a + window_of(inst->space))
UNARY(run_cvta_to, uint64_t, a - window_of(inst->space))

static void run_isspacep(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint32_t lanes = 0;
    unsigned space = inst->space == SPACE_ARGUMENT  ? FTH_SPACE_PARAM
                     : inst->space == SPACE_CLUSTER ? FTH_SPACE_SHARED
                                                    : inst->space;
    FOR_LANES(mask, {
        bool holds = space_of(ra[lane]) == space;
        /* .shared is the memory of the warp's own block, .shared::cluster that of any block. */
        if (inst->space == FTH_SPACE_SHARED)
            holds = holds && block_at(warp, ra[lane] - SHARED_WINDOW) == warp->block;
        /* space_of does not distinguish constant from global memory; the allocation does. */
        if (space == FTH_SPACE_CONST || (space == FTH_SPACE_GLOBAL && holds)) {
            const struct allocation *found =
                find_allocation(warp->block->run->machine->memory, ra[lane]);
            holds = space == FTH_SPACE_CONST ? found && found->is_constant
                                             : !(found && found->is_constant);
        }
        lanes |= (uint32_t)holds << lane;
    });
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* The offset of a shared address, generic or not, from the start of the shared space. */
static uint64_t shared_offset(uint64_t address)
{
    return space_of(address) == FTH_SPACE_SHARED ? address - SHARED_WINDOW : (uint32_t)address;
}

/* mapa: the corresponding shared address in another block of the cluster. */
static void run_mapa(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const struct cluster *cluster = warp->block->cluster;
    uint64_t *rd = out_row(warp, inst->d[0]);
    uint64_t base = inst->space == FTH_SPACE_GENERIC ? SHARED_WINDOW : 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint32_t rank = (uint32_t)rb[lane];
        if (rank >= cluster->count || (base && space_of(ra[lane]) != FTH_SPACE_SHARED)) {
            warp_fault(warp, inst, lane, "cannot map 0x%llx to block %u of a cluster of %u blocks",
                       (unsigned long long)ra[lane], rank, cluster->count);
            return;
        }
        uint64_t offset = shared_offset(ra[lane]);
        rd[lane] =
            base +
            (cluster->count == 1 ? offset : (rank + 1) * CLUSTER_WINDOW + offset % CLUSTER_WINDOW);
    }
}

/* getctarank: the rank of the block that a shared address belongs to. */
static void run_getctarank(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, {
        const struct block *block = block_at(warp, shared_offset(ra[lane]));
        rd[lane] = block ? block->rank : UINT32_MAX;
    });
}

/* Fences have nothing to do, because each warp executes its accesses in program order. (Between
 * blocks that run on different host threads, the memory order is that of the host.) Prefetches and
 * cache hints have no effect on the contents of memory. PTX allows discard to leave the contents
 * unchanged, and nanosleep to take no time. */
static void run_no_op(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    (void)warp;
    (void)inst;
    (void)mask;
}

/* ---- selection of handlers ---- */

/* The number of source operands after the address, which is s[0]. */
static int value_count(const struct inst *inst)
{
    int count = 0;
    while (count < (int)FTH_COUNT(inst->s) - 1 && inst->s[1 + count] != NO_REGISTER)
        count++;
    return count;
}

static bool select_load_store(struct inst *inst, bool store)
{
    unsigned count = inst->vector ? inst->vector : 1;
    if (inst->type == T_NONE || inst->type == T_PRED || inst->s[0] == NO_REGISTER || count > 4 ||
        inst->result_is_predicate || inst->flags & ~(uint32_t)(F_VOLATILE | F_NC) ||
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
    inst->run = store                                             ? run_st
                : inst->space == SPACE_ARGUMENT && inst->s[0] < 0 ? run_ld_argument
                                                                  : run_ld;
    return !(store && (inst->space == SPACE_ARGUMENT || inst->space == FTH_SPACE_CONST));
}

/* Only atom can have a result (`may_have_result`), red cannot. */
static bool select_atomic(struct inst *inst, bool may_have_result)
{
    enum type type = (enum type)inst->type;
    unsigned bytes = type_bytes(type);
    int values = inst->atomic == A_CAS ? 2 : 1;
    bool is_float = type_is_float(type);
    inst->run = run_atomic;
    return inst->atomic != A_NONE && inst->vector == 0 && !inst->result_is_predicate &&
           (bytes == 4 || bytes == 8 || (bytes == 2 && (inst->atomic == A_CAS || is_float))) &&
           (!is_float || inst->atomic == A_ADD || inst->atomic == A_EXCH) &&
           inst->s[0] != NO_REGISTER && value_count(inst) == values && inst->flags == 0 &&
           (may_have_result || inst->d[0] == NO_REGISTER);
}

bool select_memory(struct inst *inst, const char *base)
{
    if (strcmp(base, "ld") == 0 || strcmp(base, "ldu") == 0)
        return select_load_store(inst, false);
    if (strcmp(base, "st") == 0)
        return select_load_store(inst, true);
    if (strcmp(base, "atom") == 0 || strcmp(base, "red") == 0)
        return select_atomic(inst, base[0] == 'a');
    if (strcmp(base, "cvta") == 0) {
        inst->run = inst->flags & F_TO ? run_cvta_to : run_cvta;
        return inst->space != FTH_SPACE_GENERIC && has_operands(inst, 1) &&
               !(inst->flags & ~(uint32_t)F_TO);
    }
    if (strcmp(base, "mapa") == 0 || strcmp(base, "getctarank") == 0) {
        bool maps = base[0] == 'm';
        inst->run = maps ? run_mapa : run_getctarank;
        return (inst->space == FTH_SPACE_GENERIC || inst->space == SPACE_CLUSTER) &&
               (inst->type == T_U64 || inst->type == T_U32) && inst->flags == 0 &&
               has_operands(inst, maps ? 2 : 1);
    }
    if (strcmp(base, "isspacep") == 0) {
        inst->run = run_isspacep;
        return inst->result_is_predicate && inst->s[0] != NO_REGISTER;
    }
    if (strcmp(base, "tex") == 0) {
        inst->run = run_tex;
        return inst->mode == 1 /* .1d */ && inst->vector == 4 && inst->type2 == T_S32 &&
               inst->s[0] != NO_REGISTER && inst->s[1] != NO_REGISTER;
    }
    static const char *const no_ops[] = {"membar",  "fence",         "prefetch", "prefetchu",
                                         "discard", "applypriority", "nanosleep"};
    for (size_t i = 0; i < FTH_COUNT(no_ops); i++)
        if (strcmp(base, no_ops[i]) == 0) {
            inst->run = run_no_op;
            return true;
        }
    if (strcmp(base, "cp") == 0) { /* `mode` is set for commit_group, wait_group and wait_all */
        inst->run = inst->mode ? run_no_op : run_copy;
        return inst->mode || (inst->s[0] != NO_REGISTER && inst->s[2] != NO_REGISTER);
    }
    return false;
}
