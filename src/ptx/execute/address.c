/* Resolves the address of each lane of an access to host memory. An access that is misaligned or
 * outside of its memory fails the launch, and the error names the instruction, the thread and the
 * address, as a memory checker does. */
#include "ptx/execute/address.h"

/* ---- host memory, one function per space ---- */

/* Returns the host address of `bytes` bytes at an offset into a memory of `size` bytes, or NULL if
 * they are not entirely inside. */
static inline uint8_t *within(uint8_t *memory, uint64_t size, uint64_t offset, unsigned bytes)
{
    return offset <= size && size - offset >= bytes ? memory + offset : NULL;
}

/* If this is NULL because the host is out of memory, fth_ptx_reserve_shared has already set that
 * error, which takes precedence over the fault that the caller reports. */
static inline uint8_t *host_of_shared(struct fth_ptx_block *block, uint64_t address, unsigned bytes)
{
    if (!block->shared && !fth_ptx_reserve_shared(block))
        return NULL;
    return within(block->shared, block->shared_bytes, address, bytes);
}

/* A kernel without local variables has no local memory. */
static inline uint8_t *host_of_local(const struct fth_ptx_warp *warp, int lane, uint64_t address,
                                     unsigned bytes)
{
    return warp->local ? within(warp->local + (uint64_t)lane * warp->local_stride,
                                warp->local_bytes, address, bytes)
                       : NULL;
}

/* The parameters of calls: each lane has its own in each frame. */
static inline uint8_t *host_of_param(const struct fth_ptx_warp *warp, int lane, uint64_t address,
                                     unsigned bytes)
{
    const struct fth_ptx_frame *frame = warp->frame;
    uint64_t size = frame->function->param_bytes;
    return frame->params ? within(frame->params + (uint64_t)lane * size, size, address, bytes)
                         : NULL;
}

/* The arguments of the kernel, which are the same for all threads. */
static inline uint8_t *host_of_argument(const struct fth_ptx_warp *warp, uint64_t address,
                                        unsigned bytes)
{
    const struct fth_ptx_run *run = warp->block->run;
    return within((uint8_t *)run->arguments, run->kernel->kernel.parameter_bytes, address, bytes);
}

/* Returns the allocation of global or constant memory that contains the address, or NULL. */
static inline const struct fth_ptx_allocation *allocation_of(struct fth_ptx_warp *warp,
                                                             uint64_t address)
{
    const struct fth_ptx_allocation **last = warp->last_allocations;
    for (size_t i = 0; i < FTH_COUNT(warp->last_allocations) && last[i]; i++)
        if (address - last[i]->base < last[i]->bytes)
            return last[i];
    const struct fth_ptx_allocation *found =
        fth_ptx_find_allocation(warp->block->run->machine->memory, address);
    if (found) {
        memmove(last + 1, last, sizeof warp->last_allocations - sizeof *last);
        last[0] = found;
    }
    return found;
}

/* Global and constant memory. */
static inline uint8_t *host_of_global(struct fth_ptx_warp *warp, uint64_t address, unsigned bytes)
{
    const struct fth_ptx_allocation *found = allocation_of(warp, address);
    return found ? within(found->host, found->bytes, address - found->base, bytes) : NULL;
}

/* Returns the host address of a lane of the group, or NULL if its access is outside of the memory
 * of the space. */
static inline uint8_t *host_of(struct fth_ptx_warp *warp, const struct fth_ptx_lane_group *group,
                               int lane, unsigned bytes)
{
    uint64_t address = group->addresses[lane];
    switch (group->space) {
    case FTH_SPACE_SHARED: return host_of_shared(group->block, address, bytes);
    case FTH_SPACE_LOCAL: return host_of_local(warp, lane, address, bytes);
    case FTH_SPACE_PARAM: return host_of_param(warp, lane, address, bytes);
    case SPACE_ARGUMENT: return host_of_argument(warp, address, bytes);
    default: return host_of_global(warp, address, bytes);
    }
}

/* ---- faults ---- */

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

/* Reports a fault. `address` is relative to the space. */
static void report_outside(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                           uint64_t address, unsigned bytes, unsigned space, bool write)
{
    fth_ptx_warp_fault_of(
        warp, inst, lane, FTH_FAULT_ADDRESS, "%s of %u bytes at 0x%llx, outside the %s memory",
        write ? "write" : "read", bytes, (unsigned long long)address, space_name(space));
}

const uint8_t *fth_ptx_resolve_global(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                      int lane, uint64_t address, unsigned bytes)
{
    const uint8_t *host = host_of_global(warp, address, bytes);
    if (!host)
        report_outside(warp, inst, lane, address, bytes, FTH_SPACE_GLOBAL, false);
    if (host && inst->slice &&
        !fth_slice_allows(warp->block->run->slice, inst, FTH_SPACE_GLOBAL, address, bytes, false)) {
        fth_ptx_run_inconclusive(warp);
        return NULL;
    }
    return host;
}

const uint8_t *fth_ptx_resolve_argument(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                        int lane, uint64_t address, unsigned bytes)
{
    const uint8_t *host = host_of_argument(warp, address, bytes);
    if (!host)
        report_outside(warp, inst, lane, address, bytes, SPACE_ARGUMENT, false);
    return host;
}

/* The unit of bulk copies in bytes, to which their addresses and sizes are aligned. */
enum { COPY_UNIT = 16 };

uint8_t *fth_ptx_resolve_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                               unsigned space, uint64_t *address, uint64_t bytes, bool write,
                               struct fth_ptx_block **block)
{
    if (space == FTH_SPACE_GENERIC)
        space = space_of(*address);
    *block = NULL;
    uint8_t *host = NULL;
    const bool aligned = *address % COPY_UNIT == 0 && bytes % COPY_UNIT == 0;
    if (space == FTH_SPACE_SHARED || space == SPACE_CLUSTER) {
        uint64_t offset = shared_offset(*address);
        *block = space == SPACE_CLUSTER || offset >= CLUSTER_WINDOW ? block_at(warp, offset)
                                                                    : warp->block;
        if (*block && warp->block->cluster->count > 1)
            offset %= CLUSTER_WINDOW;
        if (*block && bytes <= UINT32_MAX)
            host = host_of_shared(*block, offset, (unsigned)bytes);
        *address = offset;
    } else if (bytes <= UINT32_MAX) {
        host = host_of_global(warp, *address, (unsigned)bytes);
    }
    if (!aligned)
        fth_ptx_warp_fault_of(
            warp, inst, lane, FTH_FAULT_ALIGNMENT,
            "%s of %llu bytes at 0x%llx; address and size must be multiples of %d",
            write ? "write" : "read", (unsigned long long)bytes, (unsigned long long)*address,
            COPY_UNIT);
    else if (!host)
        report_outside(warp, inst, lane, *address, (unsigned)bytes,
                       space == SPACE_CLUSTER ? FTH_SPACE_SHARED : space, write);
    if (aligned && host && inst->slice &&
        !fth_slice_allows(warp->block->run->slice, inst, space, *address, bytes, write)) {
        fth_ptx_run_inconclusive(warp);
        return NULL;
    }
    return aligned ? host : NULL;
}

/* ---- groups: each function sets the addresses of the lanes, and the space ---- */

/* Reduces a group in shared memory to the lanes that access the same block as the first lane. Their
 * addresses become offsets into the shared memory of that block. If the address of the first lane
 * belongs to no block, the group does not change, and find_hosts then reports that the address is
 * outside of the memory. */
static void keep_one_block(const struct fth_ptx_warp *warp, struct fth_ptx_lane_group *group)
{
    struct fth_ptx_block *block = block_at(warp, group->addresses[first_lane(group->mask)]);
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

/* Generic addresses: keeps the lanes in the space of the first lane. */
static void group_generic(const struct fth_ptx_warp *warp, const uint64_t *base, uint64_t offset,
                          struct fth_ptx_lane_group *group)
{
    enum fth_ptx_space space = space_of(base[first_lane(group->mask)] + offset);
    uint64_t window = window_of(space);
    uint32_t same = 0;
    FOR_LANES(group->mask, {
        uint64_t address = base[lane] + offset;
        if (space_of(address) == space) {
            same |= 1u << lane;
            group->addresses[lane] = address - window;
        }
    });
    group->mask = same;
    /* For space_of, FTH_SPACE_PARAM means the arguments of the kernel. */
    group->space = space == FTH_SPACE_PARAM ? SPACE_ARGUMENT : space;
    if (space == FTH_SPACE_SHARED)
        keep_one_block(warp, group);
}

static void group_shared(const uint64_t *base, uint64_t offset, struct fth_ptx_lane_group *group)
{
    FOR_LANES(group->mask, group->addresses[lane] = shared_offset(base[lane] + offset););
    group->space = FTH_SPACE_SHARED;
}

/* An access to the local space may also use a generic address of that space. */
static void group_local(const uint64_t *base, uint64_t offset, struct fth_ptx_lane_group *group)
{
    FOR_LANES(group->mask, {
        uint64_t address = base[lane] + offset;
        group->addresses[lane] =
            space_of(address) == FTH_SPACE_LOCAL ? address - LOCAL_WINDOW : address;
    });
    group->space = FTH_SPACE_LOCAL;
}

/* Sets the host addresses of all lanes if every access is aligned and inside of the `size` bytes of
 * host memory that begin at address `base`, and returns true then. This is the usual case, and the
 * loop has no branches, so that the compiler can vectorise it. */
static inline bool find_hosts_in(uint8_t *memory, uint64_t base, uint64_t size, unsigned bytes,
                                 struct fth_ptx_lane_group *group)
{
    if (!memory || size < bytes)
        return false;
    uint64_t last = size - bytes, invalid = 0;
    FOR_LANES(group->mask, {
        uint64_t offset = group->addresses[lane] - base;
        invalid |= (uint64_t)(offset > last) | (group->addresses[lane] & (bytes - 1));
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the offset may lie outside of the memory. */
        group->host[lane] = (uint8_t *)((uintptr_t)memory + (uintptr_t)offset);
    });
    return invalid == 0;
}

/* Tries find_hosts_in for the memory that the first lane accesses. */
static inline bool find_all_hosts(struct fth_ptx_warp *warp, unsigned bytes,
                                  struct fth_ptx_lane_group *group)
{
    const struct fth_ptx_block *block = group->block;
    if (group->space == FTH_SPACE_SHARED)
        return find_hosts_in(block->shared, 0, block->shared_bytes, bytes, group);
    if (group->space != FTH_SPACE_GLOBAL)
        return false;
    const struct fth_ptx_allocation *found =
        allocation_of(warp, group->addresses[first_lane(group->mask)]);
    return found && find_hosts_in(found->host, found->base, found->bytes, bytes, group);
}

/* Sets the host address of each lane. Reports a fault and returns false if an address is invalid.
 */
static bool find_hosts(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, unsigned bytes,
                       bool write, struct fth_ptx_lane_group *group)
{
    if (find_all_hosts(warp, bytes, group))
        return true;
    /* One by one, up to the first lane whose address is invalid. */
    for (uint32_t left = group->mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint64_t address = group->addresses[lane];
        if (address & (bytes - 1)) {
            fth_ptx_warp_fault_of(warp, inst, lane, FTH_FAULT_ALIGNMENT,
                                  "%s of %u bytes at 0x%llx, which is not aligned to %u",
                                  write ? "write" : "read", bytes, (unsigned long long)address,
                                  bytes);
            return false;
        }
        group->host[lane] = host_of(warp, group, lane, bytes);
        if (!group->host[lane]) {
            report_outside(warp, inst, lane, address, bytes, group->space, write);
            return false;
        }
    }
    return true;
}

/* Checks an access of a sliced launch. */
static bool is_allowed(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, unsigned bytes,
                       bool write, const struct fth_ptx_lane_group *group)
{
    const struct fth_slice *slice = warp->block->run->slice;
    const struct fth_ptx_allocation *allocation = NULL;
    if (inst->slice == SLICE_SKIPS && !write)
        return true;
    for (uint32_t left = group->mask; left; left &= left - 1) {
        const uint64_t address = group->addresses[first_lane(left)];
        /* The lanes of one allocation have the same answer. */
        if (allocation && address - allocation->base < allocation->bytes)
            continue;
        if (group->space == FTH_SPACE_GLOBAL)
            allocation = allocation_of(warp, address);
        if (!fth_slice_allows(slice, inst, group->space, address, bytes, write)) {
            fth_ptx_run_inconclusive(warp);
            return false;
        }
    }
    return true;
}

bool fth_ptx_resolve_group(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t *mask, unsigned bytes, bool write,
                           struct fth_ptx_lane_group *group)
{
    return fth_ptx_resolve_addresses(warp, inst, row(warp, inst->s[0]), mask, bytes, write, group);
}

/* Sets the addresses of the group. Returns true if all accesses are aligned and inside of the
 * `size` bytes from address `start` on. `shared`: they are addresses in shared memory. */
static inline bool are_inside(const uint64_t *base, uint64_t offset, bool shared, uint64_t start,
                              uint64_t size, unsigned bytes, struct fth_ptx_lane_group *group)
{
    uint64_t invalid = 0;
    if (size < bytes)
        return false;
    FOR_LANES(group->mask, {
        const uint64_t given = base[lane] + offset;
        const uint64_t address = shared ? shared_offset(given) : given;
        invalid |= (uint64_t)(address - start > size - bytes) | (address & (bytes - 1));
        group->addresses[lane] = address;
    });
    return invalid == 0;
}

/* Resolves an access to one allocation of global memory, or to the shared memory of the block, by
 * an instruction that moves no data, so that the host addresses are not needed. Returns false if it
 * is another access, or one that must be checked lane by lane. */
static bool resolve_skipped(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            const uint64_t *base, unsigned bytes, bool write,
                            struct fth_ptx_lane_group *group)
{
    const uint64_t offset = (uint64_t)inst->offset;
    group->space = inst->space;
    if (inst->space == FTH_SPACE_SHARED)
        return !(write && fth_slice_has_exact_shared(warp->block->run->slice)) &&
               are_inside(base, offset, true, 0, warp->block->shared_bytes, bytes, group);
    if (inst->space != FTH_SPACE_GLOBAL)
        return false;
    const struct fth_ptx_allocation *found =
        allocation_of(warp, base[first_lane(group->mask)] + offset);
    return found && !(write && (found->exact || found->is_constant)) &&
           are_inside(base, offset, false, found->base, found->bytes, bytes, group);
}

bool fth_ptx_resolve_addresses(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                               const uint64_t *base, uint32_t *mask, unsigned bytes, bool write,
                               struct fth_ptx_lane_group *group)
{
    uint64_t offset = (uint64_t)inst->offset;
    group->mask = *mask;
    group->block = warp->block;
    if (inst->slice == SLICE_SKIPS && resolve_skipped(warp, inst, base, bytes, write, group)) {
        *mask = 0;
        return true;
    }
    switch (inst->space) {
    case FTH_SPACE_GENERIC: group_generic(warp, base, offset, group); break;
    case FTH_SPACE_SHARED: /* only the shared memory of the warp's own block */
        group_shared(base, offset, group);
        break;
    case SPACE_CLUSTER:
        group_shared(base, offset, group);
        keep_one_block(warp, group);
        break;
    case FTH_SPACE_LOCAL: group_local(base, offset, group); break;
    default:
        FOR_LANES(group->mask, group->addresses[lane] = base[lane] + offset;);
        group->space = inst->space;
    }
    *mask &= ~group->mask;
    if (!find_hosts(warp, inst, bytes, write, group))
        return false;
    if (inst->slice && !is_allowed(warp, inst, bytes, write, group))
        return false;
    if (write && group->space == FTH_SPACE_CONST) {
        fth_ptx_warp_fault(warp, inst, first_lane(group->mask), "write to constant memory");
        return false;
    }
    return true;
}

/* ---- observers ---- */

/* The path of an access to a memory space. `block` is the owner of shared memory. */
static enum fth_ptx_path path_of(const struct fth_ptx_warp *warp,
                                 const struct fth_ptx_access *access,
                                 const struct fth_ptx_block *block)
{
    switch (access->space) {
    case FTH_SPACE_SHARED: return block == warp->block ? FTH_PTX_PATH_SHARED : FTH_PTX_PATH_CLUSTER;
    case FTH_SPACE_CONST:
    case FTH_SPACE_PARAM: return FTH_PTX_PATH_CONSTANT;
    default: break;
    }
    const bool passes = access->kind == FTH_ACCESS_ATOMIC || access->cache_op == FTH_CACHE_CG ||
                        access->cache_op == FTH_CACHE_CV || access->cache_op == FTH_CACHE_VOLATILE;
    return passes ? FTH_PTX_PATH_L2 : FTH_PTX_PATH_L1;
}

/* The hints of an instruction. Its policy is that of the first active lane. */
static struct fth_ptx_hints hints_of(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                     uint32_t mask)
{
    struct fth_ptx_hints hints = {.l1 = (enum fth_ptx_priority)inst->l1_priority,
                                  .l2 = (enum fth_ptx_priority)inst->l2_priority,
                                  .l2_bytes = inst->l2_bytes,
                                  .strong = inst->flags & F_STRONG};
    /* A slice of a launch does not compute policies. Observers of prefetches observe whole
     * launches.
     */
    if (inst->policy != NO_REGISTER && warp->block->run->observer->prefetch) {
        const uint64_t policy = row(warp, inst->policy)[first_lane(mask)];
        hints.l2 = policy <= FTH_PRIORITY_LAST ? (enum fth_ptx_priority)policy : FTH_PRIORITY_NONE;
    }
    return hints;
}

void fth_ptx_run_prefetch(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_run *run = warp->block->run;
    const struct fth_ptx_observer *observer = run->observer;
    if (!observer || !observer->prefetch || inst->space != FTH_SPACE_GLOBAL || !mask)
        return;
    uint64_t addresses[LANES] = {0};
    const uint64_t *base = row(warp, inst->s[0]);
    FOR_LANES(mask, addresses[lane] = base[lane] + (uint64_t)inst->offset;);
    struct fth_ptx_access access = {.who = warp->issue.who,
                                    .instruction = inst->index,
                                    .line = inst->line,
                                    .source_file = inst->source_file,
                                    .source = inst->source,
                                    .space = FTH_SPACE_GLOBAL,
                                    .hints = hints_of(warp, inst, mask),
                                    .kind = FTH_ACCESS_READ,
                                    .mask = mask,
                                    .bytes = 1,
                                    .addresses = addresses,
                                    .row_lanes = run->row_lanes};
    access.hints.prefetch = inst->mode == 1 ? 1 : 2;
    if (!observer->prefetch(observer->user, &access))
        warp->failed = true;
}

/* What some instructions add to an access; NULL for the others. */
struct additions {
    const uint64_t *destinations;
    const struct fth_ptx_texels *texels;
};

/* Passes an access to the observer, which must have the callback. `block` is the owner of shared
 * memory. Either `addresses` or `linear` is NULL. */
static bool notify(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, unsigned space,
                   const struct fth_ptx_block *block, uint32_t mask, unsigned bytes,
                   enum fth_ptx_access_kind kind, const uint64_t *addresses,
                   const struct fth_ptx_linear *linear, struct additions additions)
{
    const struct fth_ptx_run *run = warp->block->run;
    const struct fth_ptx_observer *observer = run->observer;
    const struct fth_ptx_cost cost = fth_ptx_warp_cost(warp);
    struct fth_ptx_access access = {
        .who = warp->issue.who,
        .instruction = inst->index,
        .line = inst->line,
        .source_file = inst->source_file,
        .source = inst->source,
        .space = space == SPACE_ARGUMENT ? FTH_SPACE_PARAM : (enum fth_ptx_space)space,
        .target = space == FTH_SPACE_SHARED ? block->rank : warp->block->rank,
        .cache_op = inst->flags & F_VOLATILE ? FTH_CACHE_VOLATILE
                    : inst->flags & F_NC     ? FTH_CACHE_NC
                                             : (enum fth_ptx_cache_op)inst->cache_op,
        .hints = hints_of(warp, inst, mask),
        .kind = kind,
        .mask = mask,
        .bytes = bytes,
        .addresses = addresses,
        .linear = linear,
        .row_lanes = run->row_lanes,
        .unit = (enum fth_ptx_unit)inst->unit,
        .returns = inst->operands->write_count > 0,
        .compares = kind == FTH_ACCESS_ATOMIC && inst->atomic == A_CAS,
        .is_float =
            kind == FTH_ACCESS_ATOMIC && fth_ptx_type_is_float((enum fth_ptx_type)inst->type),
        .in_registers = inst->operands->in_registers,
        .is_spill = inst->operands->is_spill,
        .is_removed = inst->operands->is_removed,
        .parts = inst->operands->parts,
        .is_merged = inst->operands->is_merged,
        .begins_merged = inst->operands->begins_merged,
        .is_staged = inst->operands->is_staged,
        .wait = inst->operands->wait,
        .issued = cost.instructions,
        .cycles = cost.cycles,
        .destinations = additions.destinations,
        .texels = additions.texels};
    access.path = path_of(warp, &access, block);
    if (observer->access(observer->user, &access))
        return true;
    warp->failed = true;
    return false;
}

/* A register that is spilled or loaded again. The engine keeps it in the register, so only an
 * observer can see this. The instruction is not in the PTX, so %clock does not count it. */
void fth_ptx_run_spill(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    uint64_t addresses[LANES];
    warp->block->clock--;
    if (!observer || !observer->access)
        return;
    for (size_t lane = 0; lane < LANES; lane++)
        addresses[lane] = warp->frame->local_base + (uint64_t)inst->offset;
    (void)notify(warp, inst, FTH_SPACE_LOCAL, warp->block, mask,
                 fth_ptx_type_bytes((enum fth_ptx_type)inst->type),
                 inst->operands->read_count ? FTH_ACCESS_WRITE : FTH_ACCESS_READ, addresses, NULL,
                 (struct additions){NULL, NULL});
}

bool fth_ptx_notify_texels(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           const struct fth_ptx_lane_group *group, unsigned bytes,
                           enum fth_ptx_access_kind kind, const struct fth_ptx_texels *texels)
{
    const struct fth_ptx_run *run = warp->block->run;
    if (!run->sees_accesses)
        return true;
    if (run->check_async)
        fth_hazard_access(warp, inst, group, bytes, kind);
    return !run->observer || !run->observer->access ||
           notify(warp, inst, group->space, group->block, group->mask, bytes, kind,
                  group->addresses, NULL, (struct additions){NULL, texels});
}

bool fth_ptx_notify_access(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           const struct fth_ptx_lane_group *group, unsigned bytes,
                           enum fth_ptx_access_kind kind)
{
    return fth_ptx_notify_texels(warp, inst, group, bytes, kind, NULL);
}

bool fth_ptx_notify_sources(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            const struct fth_ptx_lane_group *group, unsigned bytes,
                            const uint64_t *destinations)
{
    const struct fth_ptx_run *run = warp->block->run;
    if (!run->sees_accesses)
        return true;
    if (run->check_async)
        fth_hazard_access(warp, inst, group, bytes, FTH_ACCESS_READ);
    return !run->observer || !run->observer->access ||
           notify(warp, inst, group->space, group->block, group->mask, bytes, FTH_ACCESS_READ,
                  group->addresses, NULL, (struct additions){destinations, NULL});
}

bool fth_ptx_notify_copied(struct fth_ptx_warp *warp, struct fth_ptx_range range)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    range.who = warp->issue.who;
    if (!observer || !observer->range || observer->range(observer->user, &range))
        return true;
    warp->failed = true;
    return false;
}

bool fth_ptx_notify_copies(struct fth_ptx_warp *warp, struct fth_ptx_copy_event event)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    event.who = warp->issue.who;
    if (!observer || !observer->copies || observer->copies(observer->user, &event))
        return true;
    warp->failed = true;
    return false;
}

/* ---- accesses with linear addresses ---- */

/* True if the accesses of the lanes of `mask` are aligned and inside of the `size` bytes from
 * address `start` on. */
static inline bool is_linear_inside(const struct fth_ptx_linear *address, uint32_t row_lanes,
                                    uint32_t mask, uint64_t start, uint64_t size, unsigned bytes)
{
    uint64_t low, span;
    if (!linear_range(address, row_lanes, mask, &low, &span) || size < bytes ||
        (address->base | address->step | address->row_step) & (bytes - 1))
        return false;
    const uint64_t offset = low - start, last = size - bytes;
    return offset <= last && last - offset >= span;
}

bool fth_ptx_access_linear(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           struct fth_ptx_linear address, uint32_t mask)
{
    const bool write = inst->linear & LINEAR_IS_WRITE;
    const struct fth_ptx_run *run = warp->block->run;
    address.base += (uint64_t)inst->offset;
    if (inst->space == FTH_SPACE_SHARED) {
        address.base -= space_of(address.base) == FTH_SPACE_SHARED ? SHARED_WINDOW : 0;
        if ((write && fth_slice_has_exact_shared(run->slice)) ||
            !is_linear_inside(&address, run->row_lanes, mask, 0, warp->block->shared_bytes,
                              inst->bytes))
            return false;
    } else {
        const struct fth_ptx_allocation *found =
            allocation_of(warp, address.base + (uint64_t)first_lane(mask) * address.step);
        if (!found || (write && (found->exact || found->is_constant)) ||
            !is_linear_inside(&address, run->row_lanes, mask, found->base, found->bytes,
                              inst->bytes))
            return false;
    }
    const struct fth_ptx_observer *observer = run->observer;
    const enum fth_ptx_access_kind kind = write ? FTH_ACCESS_WRITE : FTH_ACCESS_READ;
    uint64_t addresses[LANES];
    if (!observer || !observer->access)
        return true;
    if (!observer->takes_linear)
        linear_fill(&address, run->row_lanes, addresses);
    notify(warp, inst, inst->space, warp->block, mask, inst->bytes, kind,
           observer->takes_linear ? NULL : addresses, observer->takes_linear ? &address : NULL,
           (struct additions){NULL, NULL});
    return true;
}

bool fth_ptx_notify_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                          struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                          enum fth_ptx_access_kind kind)
{
    if (warp->block->run->check_async)
        fth_hazard_access_range(warp, inst, lane, block, address, bytes, kind);
    return fth_ptx_observe_range(warp, inst, block, address, bytes, kind);
}

bool fth_ptx_observe_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                           enum fth_ptx_access_kind kind)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !observer->access)
        return true;
    struct fth_ptx_lane_group group = {.space = block ? FTH_SPACE_SHARED : FTH_SPACE_GLOBAL,
                                       .block = block};
    for (uint64_t at = 0; at < bytes;) {
        group.mask = 0;
        for (unsigned lane = 0; lane < LANES && at < bytes; lane++, at += COPY_UNIT) {
            group.addresses[lane] = address + at;
            group.mask |= 1u << lane;
        }
        if (!notify(warp, inst, group.space, block, group.mask, COPY_UNIT, kind, group.addresses,
                    NULL, (struct additions){NULL, NULL}))
            return false;
    }
    return true;
}
