/* What cache operators and hints do: which bytes an access of a variant brings into L1 and L2, and
 * with which eviction priority. The description has it per variant (access_variants); an
 * instruction can combine several, such as ld.global.nc.L1::no_allocate.L2::128B. */
#include "device/sim/sim.h"

#include <string.h>

static enum fth_cache_priority priority_of(const char *name)
{
    return strcmp(name, "first") == 0  ? FTH_CACHE_FIRST
           : strcmp(name, "last") == 0 ? FTH_CACHE_LAST
                                       : FTH_CACHE_NORMAL;
}

static void read_effects(const struct fth_gpu *gpu, const char *element,
                         struct fth_sim_effect *effects)
{
    const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "access_variants");
    const struct fth_attribute *bytes = fth_gpu_attribute(gpu, element, "access_fill_bytes");
    const struct fth_attribute *priorities = fth_gpu_attribute(gpu, element, "access_priorities");
    const struct fth_attribute *keeps = fth_gpu_attribute(gpu, element, "access_keeps");
    for (size_t i = 0; names && bytes && i < names->count && i < bytes->count; i++) {
        enum fth_variant variant;
        if (!fth_variant_find(names->texts[i], strlen(names->texts[i]), &variant))
            continue;
        effects[variant] =
            (struct fth_sim_effect){.known = true, .fill_bytes = (uint64_t)bytes->numbers[i]};
        if (priorities && i < priorities->count)
            effects[variant].priority = priority_of(priorities->texts[i]);
        effects[variant].keeps = keeps && i < keeps->count && strcmp(keeps->texts[i], "yes") == 0;
        effects[variant].evicts = keeps && i < keeps->count && strcmp(keeps->texts[i], "no") == 0;
    }
}

void fth_sim_hints_init(struct fth_sim_hints *hints, const struct fth_gpu *gpu)
{
    *hints = (struct fth_sim_hints){0};
    read_effects(gpu, "l1", hints->l1);
    read_effects(gpu, "l2", hints->l2);
}

bool fth_sim_hints_store(const struct fth_sim_hints *hints)
{
    bool stores = false;
    for (enum fth_variant i = FTH_VARIANT_LOADS_END; i < FTH_VARIANTS; i++)
        stores = stores || (hints->l1[i].known && (hints->l1[i].fill_bytes || hints->l1[i].keeps));
    return stores;
}

/* Returns the variants of an access. */
static struct fth_ptx_variants find_variants(const struct fth_ptx_access *access)
{
    const struct fth_ptx_hints *hints = &access->hints;
    if (!hints->prefetch)
        return fth_ptx_variants_of(access->kind, access->cache_op, fth_ptx_pack_hints(access));
    const enum fth_variant base = hints->prefetch == 1             ? FTH_VARIANT_PREFETCH_L1
                                  : hints->l2 == FTH_PRIORITY_LAST ? FTH_VARIANT_PREFETCH_L2_LAST
                                  : hints->l2 == FTH_PRIORITY_NORMAL
                                      ? FTH_VARIANT_PREFETCH_L2_NORMAL
                                      : FTH_VARIANT_PREFETCH_L2;
    return (struct fth_ptx_variants){.base = base, .other = base};
}

/* Returns the effect of a variant or, if the description does not have it, of another one. */
static struct fth_sim_effect choose(const struct fth_sim_effect *effects, enum fth_variant variant,
                                    enum fth_variant other)
{
    return effects[variant].known ? effects[variant] : effects[other];
}

struct fth_sim_effect fth_sim_l1_effect(const struct fth_sim_hints *hints,
                                        const struct fth_ptx_access *access)
{
    const struct fth_ptx_variants variants = find_variants(access);
    return choose(hints->l1, variants.base, variants.other);
}

struct fth_sim_effect fth_sim_l2_effect(const struct fth_sim_hints *hints,
                                        const struct fth_ptx_access *access)
{
    const struct fth_ptx_variants variants = find_variants(access);
    struct fth_sim_effect effect = choose(hints->l2, variants.base, variants.other);
    const struct fth_sim_effect sized = choose(hints->l2, variants.size, variants.other_size);
    const struct fth_sim_effect *chosen = &hints->l2[variants.policy];
    if (sized.known) {
        effect.known = true;
        effect.fill_bytes = sized.fill_bytes;
    }
    if (chosen->known) {
        effect.fill_bytes = effect.known ? effect.fill_bytes : chosen->fill_bytes;
        effect.priority = chosen->priority;
        effect.known = true;
    }
    return effect;
}

/* Whether the cache holds all of the bytes. */
static bool holds(const struct fth_cache *cache, const struct fth_sim_shape *shape,
                  uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address, end = address + bytes; at < end;) {
        const uint64_t next = (at & ~(shape->line_bytes - 1)) + shape->line_bytes;
        const uint64_t stop = next < end ? next : end;
        if (fth_cache_probe(cache, at, stop - at) != FTH_CACHE_HIT)
            return false;
        at = stop;
    }
    return true;
}

bool fth_sim_hinted_read(struct fth_cache *cache, const struct fth_sim_shape *shape,
                         const struct fth_sim_effect *effect, uint64_t *address, uint64_t *bytes)
{
    if (!effect->known)
        return fth_sim_cache_read(cache, shape, address, bytes);
    if (effect->fill_bytes == 0)
        return holds(cache, shape, *address, *bytes) &&
               fth_sim_cache_read(cache, shape, address, bytes);
    struct fth_sim_shape filled = *shape;
    filled.fill_bytes =
        effect->fill_bytes < shape->line_bytes ? effect->fill_bytes : shape->line_bytes;
    if (filled.fill_bytes < shape->sector_bytes)
        filled.fill_bytes = shape->sector_bytes;
    /* Without memory for priorities, the lines have none. */
    const bool prioritized =
        effect->priority != FTH_CACHE_NORMAL && fth_cache_prioritize(cache, effect->priority);
    const bool hit = fth_sim_cache_read(cache, &filled, address, bytes);
    if (prioritized)
        (void)fth_cache_prioritize(cache, FTH_CACHE_NORMAL);
    return hit;
}
