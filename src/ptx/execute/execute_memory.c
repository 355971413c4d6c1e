/* Loads, stores, asynchronous copies and texture fetches. */
#include "ptx/execute/address.h"

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

static void run_ld(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    unsigned size = fth_ptx_type_bytes(type), count = inst->vector ? inst->vector : 1;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, size * count, false, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, size * count, FTH_ACCESS_READ))
            return;
        if (inst->slice & SLICE_SKIPS)
            continue;
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
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, size * count, true, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, size * count, FTH_ACCESS_WRITE))
            return;
        if (inst->slice & SLICE_SKIPS)
            continue;
        for (unsigned e = 0; e < count; e++) {
            const uint64_t *ra = row(warp, inst->s[1 + e]);
            /* The host and the GPU are both little-endian: the low bytes come first. */
            FOR_LANES(group.mask, memcpy(group.host[lane] + (size_t)size * e, &ra[lane], size););
        }
    }
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

/* ---- textures ---- */

/* Fetches from one-dimensional textures with integer coordinates. A texel has up to four channels.
 * Each channel has four bytes. Channels that the texture lacks are 0, except the fourth, which is
 * 1, also outside of the texture. The channels that the texture has are 0 outside of it. The
 * observer sees a fetch outside of the texture as a read of the first texel, and gets one texel
 * size for all lanes: that of the last active lane's texture. */
static void run_tex(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_memory *memory = warp->block->run->machine->memory;
    const uint64_t *handles = row(warp, inst->s[0]), *coordinates = row(warp, inst->s[1]);
    struct fth_ptx_lane_group group = {.space = FTH_SPACE_TEXTURE, .mask = mask};
    uint64_t fetched[4][LANES]; /* by channel */
    unsigned bytes = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint64_t handle = handles[lane];
        if (handle == 0 || handle > memory->texture_count ||
            memory->textures[handle - 1].texels == 0 /* freed */) {
            fth_ptx_warp_fault(warp, inst, lane, "0x%llx is not a texture",
                               (unsigned long long)handle);
            return;
        }
        const struct fth_ptx_texture *texture = &memory->textures[handle - 1];
        int64_t x = (int32_t)coordinates[lane];
        bytes = 4 * texture->channels;
        uint64_t values[4] = {0, 0, 0,
                              texture->texel_format == FTH_TEXEL_F32 ? 0x3f800000u /* 1.0 */ : 1};
        bool inside = x >= 0 && (uint64_t)x < texture->texels;
        group.addresses[lane] = texture->address + (inside ? (uint64_t)x * bytes : 0);
        const uint8_t *host = NULL;
        if (inside) {
            host = fth_ptx_resolve_global(warp, inst, lane, group.addresses[lane], bytes);
            if (!host)
                return;
        }
        for (unsigned c = 0; c < texture->channels; c++)
            values[c] = inside ? load_value(host + (size_t)4 * c, T_U32) : 0;
        for (unsigned c = 0; c < 4; c++)
            fetched[c][lane] = values[c];
    }
    if (!fth_ptx_notify_access(warp, inst, &group, bytes, FTH_ACCESS_READ))
        return;
    for (unsigned c = 0; c < 4; c++)
        if (inst->d[c] >= 0) { /* not "_" */
            uint64_t *rd = out_row(warp, inst->d[c]);
            FOR_LANES(mask, rd[lane] = fetched[c][lane];);
        }
}

/* ---- no effect ---- */

/* Fences have nothing to do, because each warp executes its accesses in program order. (Between
 * blocks that run on different host threads, the memory order is that of the host.) Prefetches and
 * cache hints have no effect on the contents of memory. PTX allows discard to leave the contents
 * unchanged, and nanosleep to take no time. */
static void run_no_op(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    (void)warp;
    (void)inst;
    (void)mask;
}

/* ---- selection of handlers ---- */

static bool select_load_store(struct fth_ptx_inst *inst, bool store)
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

bool fth_ptx_select_memory(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "ld") == 0 || strcmp(base, "ldu") == 0)
        return select_load_store(inst, false);
    if (strcmp(base, "st") == 0)
        return select_load_store(inst, true);
    if (strcmp(base, "tex") == 0) {
        inst->run = run_tex;
        return inst->mode == 1 /* .1d */ && inst->vector == 4 && inst->type2 == T_S32 &&
               !inst->result_is_predicate && has_sources(inst, 2);
    }
    static const char *const no_ops[] = {"prefetch", "prefetchu", "discard", "applypriority",
                                         "nanosleep"};
    for (size_t i = 0; i < FTH_COUNT(no_ops); i++)
        if (strcmp(base, no_ops[i]) == 0) {
            inst->run = run_no_op;
            return true;
        }
    return false;
}
