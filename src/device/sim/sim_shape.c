/* Computes the parameters of the caches and TLBs of a simulated GPU from its description; see
 * sim_shape.h. docs/simulator.md lists the same rules. */
#include "device/sim/sim_shape.h"

#include <math.h>
#include <string.h>

/* SMs that share an element of scope "gpc". The GPCs of recent GPUs have 16 to 18 SMs. */
#define SMS_PER_GPC 16
#define MAX_SECTORS 64 /* sectors per line, one bit each in a 64-bit word of cache/ */
/* Maximum number of instances per SM: warp w of a block uses instance w modulo per_sm, so instances
 * beyond the number of warps of a block would not be used. */
#define MAX_PER_SM 32

double fth_sim_storage_number(const struct fth_sim_storage *storage, const char *attribute,
                              double fallback)
{
    for (size_t i = 0; storage->names[i]; i++) {
        double number = fth_gpu_number(storage->gpu, storage->names[i], attribute, NAN);
        if (!isnan(number))
            return number;
    }
    return fallback;
}

const struct fth_attribute *fth_sim_storage_attribute(const struct fth_sim_storage *storage,
                                                      const char *name)
{
    for (size_t i = 0; storage->names[i]; i++) {
        const struct fth_attribute *found =
            fth_gpu_attribute(storage->gpu, storage->names[i], name);
        if (found)
            return found;
    }
    return NULL;
}

void fth_sim_fill_scope(struct fth_sim_shape *shape, const struct fth_sim_storage *storage,
                        enum fth_sim_scope fallback, uint32_t sms)
{
    static const char *const names[] = {[FTH_SIM_SCOPE_SM] = "sm",
                                        [FTH_SIM_SCOPE_GPC] = "gpc",
                                        [FTH_SIM_SCOPE_GROUP] = "group",
                                        [FTH_SIM_SCOPE_GPU] = "gpu"};
    const struct fth_attribute *scope = fth_sim_storage_attribute(storage, "scope");
    const bool grouped = !isnan(fth_sim_storage_number(
        storage, "sms_per_instance", fth_sim_storage_number(storage, "instances", NAN)));
    shape->scope = grouped ? FTH_SIM_SCOPE_GROUP : fallback;
    for (unsigned i = 0; scope && i < FTH_COUNT(names); i++)
        if (strcmp(scope->text, names[i]) == 0)
            shape->scope = (enum fth_sim_scope)i;
    /* Consecutive SMs share an instance, as many as the description says or as follows from the
     * number of instances. */
    const double instances = fth_sim_storage_number(storage, "instances", sms);
    const double shared_by =
        fth_sim_storage_number(storage, "sms_per_instance", ceil((double)sms / instances));
    shape->sms_per_instance = (uint32_t)fmin(shared_by, sms);
}

uint32_t fth_sim_owner(const struct fth_sim_shape *shape, uint32_t sm)
{
    switch (shape->scope) {
    case FTH_SIM_SCOPE_SM: return sm;
    case FTH_SIM_SCOPE_GPC: return sm / SMS_PER_GPC;
    case FTH_SIM_SCOPE_GROUP: return sm / shape->sms_per_instance;
    default: return 0;
    }
}

uint32_t fth_sim_owner_count(const struct fth_sim_shape *shape, uint32_t sms)
{
    return fth_sim_owner(shape, sms - 1) + 1;
}

/* ---- cache arrays: the storage of one or more elements ---- */

uint64_t fth_sim_floor_power(double number, uint64_t min)
{
    uint64_t power = min;
    while ((double)(power * 2) <= number)
        power *= 2;
    return power;
}

const uint64_t *fth_sim_copy_counts(struct fth_arena *arena, const struct fth_attribute *list)
{
    uint64_t *counts = fth_arena_array(arena, list->count + 1, sizeof *counts);
    for (size_t i = 0; counts && i < list->count; i++)
        counts[i] = (uint64_t)list->numbers[i];
    return counts;
}

bool fth_sim_fill_sets(struct fth_arena *arena, const struct fth_sim_storage *storage,
                       struct fth_sim_shape *shape, uint64_t lines, uint64_t default_sets,
                       uint64_t default_ways)
{
    const struct fth_attribute *list = fth_sim_storage_attribute(storage, "set_ways");
    uint64_t sum = 0;
    for (size_t i = 0; list && i < list->count; i++)
        sum += (uint64_t)list->numbers[i];
    if (list && sum == lines) {
        shape->sets = list->count;
        shape->ways = (uint64_t)list->numbers[0]; /* not used: set_ways applies */
        shape->set_ways = fth_sim_copy_counts(arena, list);
        return shape->set_ways != NULL;
    }
    uint64_t sets = (uint64_t)fth_sim_storage_number(storage, "sets", 0);
    uint64_t ways = (uint64_t)fth_sim_storage_number(storage, "ways", 0);
    unsigned bits[64];
    const struct fth_attribute *index = fth_sim_storage_attribute(storage, "index");
    int index_bits = index ? fth_index_parse(index->text, bits) : 0;
    if (sets == 0 && ways == 0 && index_bits > 0 && index_bits < 32)
        sets = (uint64_t)1 << index_bits;
    if (sets && ways && sets * ways != lines)
        sets = ways = 0; /* they belong to a cache of another size */
    if (sets == 0 || lines % sets) {
        if (ways && lines % ways == 0)
            sets = lines / ways;
        else if (default_ways)
            sets = lines % default_ways == 0 ? lines / default_ways : lines & -lines;
        else
            for (sets = default_sets; sets > 1 && lines % sets;)
                sets /= 2;
    }
    shape->sets = sets ? sets : 1;
    shape->ways = lines / shape->sets;
    return true;
}

bool fth_sim_fill_policy(struct fth_arena *arena, const struct fth_sim_storage *storage,
                         struct fth_sim_shape *shape)
{
    const struct fth_attribute *index = fth_sim_storage_attribute(storage, "index");
    const struct fth_attribute *policy = fth_sim_storage_attribute(storage, "policy");
    const struct fth_attribute *weights = fth_sim_storage_attribute(storage, "way_weights");
    unsigned bits[64];
    int index_bits = index ? fth_index_parse(index->text, bits) : 0;
    bool fits = index_bits == 0 ||
                (index_bits > 0 && index_bits < 32 && (uint64_t)1 << index_bits == shape->sets);
    for (int i = 0; i < index_bits; i++)
        fits = fits && (uint64_t)1 << bits[i] >= shape->line_bytes;
    shape->index = index && fits ? fth_arena_text(arena, index->text) : "mod";
    shape->policy = policy ? fth_arena_text(arena, policy->text) : "lru";
    if (!shape->index || !shape->policy)
        return false;
    shape->rows = (uint64_t)fth_sim_storage_number(storage, "rows", 0);
    shape->row_ways = (uint64_t)fth_sim_storage_number(storage, "row_ways", 0);
    if (!fth_hash_masks_copy(arena, fth_sim_storage_attribute(storage, "set_masks"),
                             fth_sim_storage_attribute(storage, "row_masks"), shape->line_bytes,
                             shape->sets, shape->rows, &shape->masks))
        return false;
    if (strcmp(shape->policy, "weighted") != 0)
        return true;
    if (!weights || weights->count != shape->ways || shape->set_ways) {
        shape->policy = "lru";
        return true;
    }
    double *kept = fth_arena_array(arena, weights->count, sizeof *kept);
    if (!kept)
        return false;
    memcpy(kept, weights->numbers, weights->count * sizeof *kept);
    shape->way_weights = kept;
    shape->way_weight_count = weights->count;
    return true;
}

bool fth_sim_fill_shape(struct fth_arena *arena, const struct fth_sim_storage *storage,
                        struct fth_sim_shape *shape, uint64_t size_bytes, double default_line,
                        uint64_t default_sets, uint64_t default_ways)
{
    bool known = !isnan(fth_sim_storage_number(storage, "line_bytes", NAN));
    shape->line_bytes =
        fth_sim_floor_power(fth_sim_storage_number(storage, "line_bytes", default_line), 4);
    while (!known && size_bytes % shape->line_bytes && shape->line_bytes > 4)
        shape->line_bytes /= 2;
    uint64_t lines = size_bytes / shape->line_bytes;
    lines = lines ? lines : 1;
    shape->size_bytes = lines * shape->line_bytes;
    shape->sector_bytes = fth_sim_floor_power(
        fth_sim_storage_number(storage, "sector_bytes", (double)shape->line_bytes), 1);
    if (shape->sector_bytes > shape->line_bytes)
        shape->sector_bytes = shape->line_bytes;
    if (shape->line_bytes / shape->sector_bytes > MAX_SECTORS)
        shape->sector_bytes = shape->line_bytes / MAX_SECTORS;
    shape->fill_bytes =
        (uint64_t)fth_sim_storage_number(storage, "fill_bytes", (double)shape->sector_bytes);
    shape->per_sm = (uint32_t)fmin(fth_sim_storage_number(storage, "per_sm", 1), MAX_PER_SM);
    return fth_sim_fill_sets(arena, storage, shape, lines, default_sets, default_ways) &&
           fth_sim_fill_policy(arena, storage, shape);
}

enum fth_status fth_sim_cache_create(const struct fth_sim_shape *shape, uint64_t seed,
                                     struct fth_cache **cache, struct fth_error *error)
{
    const struct fth_cache_config config = {.line_bytes = shape->line_bytes,
                                            .sector_bytes = shape->sector_bytes,
                                            .sets = shape->sets,
                                            .ways = shape->ways,
                                            .set_ways = shape->set_ways,
                                            .index = shape->index,
                                            .policy = shape->policy,
                                            .way_weights = shape->way_weights,
                                            .way_weight_count = shape->way_weight_count,
                                            .rows = shape->rows,
                                            .row_ways = shape->row_ways,
                                            .masks = shape->masks,
                                            .write = shape->write,
                                            .seed = seed};
    return fth_cache_create(&config, cache, error);
}
