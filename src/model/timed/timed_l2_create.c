/* Creates and destroys the L2 of the model with time, begins launches, and gives its counts. */
#include "model/timed/timed_l2.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static enum fth_status init(struct fth_timed_l2 *l2, const struct fth_model_params *params,
                            const struct fth_setting *setting, struct fth_error *error)
{
    l2->sides = calloc((size_t)l2->side_count, sizeof *l2->sides);
    l2->port_free_at = calloc(l2->sms, sizeof *l2->port_free_at);
    l2->side_of_sm = calloc(l2->sms, sizeof *l2->side_of_sm);
    l2->counts = calloc(l2->instructions + 1, sizeof *l2->counts);
    if (!l2->sides || !l2->port_free_at || !l2->side_of_sm || !l2->counts ||
        !fth_totals_init(&l2->totals, &l2->shape))
        return fth_no_memory(error, "model caches", NULL);
    l2->launch_sectors = fth_model_integer(params, FTH_KEY_LAUNCH_SECTORS);
    l2->partial_ways = fth_model_integer(params, FTH_KEY_PARTIAL_WAYS);
    l2->fill_bytes = fth_later(l2->shape.fill_bytes, l2->shape.sector_bytes);
    l2->fill_bytes = FTH_MIN(l2->fill_bytes, l2->shape.line_bytes);
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        FTH_TRY(fth_timed_cache_init(&side->cache, &l2->shape, l2->shape.seed + i, 1, error));
        l2->partial_words = (side->cache.cache->max_ways + WORD_BITS - 1) / WORD_BITS;
        side->partial_since =
            fth_cache_array(side->cache.cache, side->cache.slots, sizeof *side->partial_since);
        side->partial_sets =
            fth_cache_array(side->cache.cache, (size_t)side->cache.cache->sets * l2->partial_words,
                            sizeof *side->partial_sets);
        if (!side->partial_since || !side->partial_sets)
            return fth_no_memory(error, "model caches", NULL);
    }
    l2->index = &l2->sides[0].cache.cache->index;
    FTH_TRY(fth_side_of_sms(params, setting, l2->side_of_sm, error));
    return fth_joins_init(&l2->joins, params, error);
}

enum fth_status fth_timed_l2_create(const struct fth_model_params *params,
                                    const struct fth_setting *setting, size_t instructions,
                                    struct fth_timed_l2 **out, struct fth_error *error)
{
    struct fth_timed_l2 *l2 = calloc(1, sizeof *l2);
    *out = NULL;
    if (!l2)
        return fth_no_memory(error, "model caches", NULL);
    l2->shape = setting->l2;
    l2->side_count = setting->sides;
    l2->home_mask = setting->home_mask;
    l2->sms = (size_t)setting->sms;
    l2->instructions = instructions;
    const enum fth_status status = init(l2, params, setting, error);
    if (status == FTH_OK)
        *out = l2;
    else
        fth_timed_l2_destroy(l2);
    return status;
}

void fth_timed_l2_destroy(struct fth_timed_l2 *l2)
{
    if (!l2)
        return;
    for (uint64_t i = 0; l2->sides && i < l2->side_count; i++) {
        fth_timed_cache_fini(&l2->sides[i].cache);
        fth_shadow_destroy(l2->sides[i].shadow);
    }
    free(l2->sides);
    free(l2->port_free_at);
    free(l2->side_of_sm);
    fth_joins_fini(&l2->joins);
    free(l2->counts);
    fth_totals_fini(&l2->totals);
    free(l2);
}

enum fth_status fth_timed_l2_diagnose(struct fth_timed_l2 *l2, struct fth_error *error)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        FTH_TRY(fth_shadow_create(&l2->shape, l2->shape.lines, &l2->sides[i].shadow, error));
    return FTH_OK;
}

bool fth_timed_l2_failed(const struct fth_timed_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        if (l2->sides[i].shadow && fth_shadow_failed(l2->sides[i].shadow))
            return true;
    return false;
}

/* Empties a side. */
static void clear_side(const struct fth_timed_l2 *l2, struct side *side)
{
    const struct fth_cache *cache = side->cache.cache;
    const bool all = !cache->used_sets || cache->used_set_count == cache->sets;
    if (all)
        memset(side->partial_sets, 0,
               (size_t)cache->sets * l2->partial_words * sizeof *side->partial_sets);
    for (uint32_t i = 0; !all && i < cache->used_set_count;
         i++) /* they are narrow: one word each */
        side->partial_sets[cache->used_sets[i]] = 0;
    fth_cache_clear(side->cache.cache);
    if (side->shadow)
        fth_shadow_clear(side->shadow, l2->shape.lines);
}

void fth_timed_l2_begin(struct fth_timed_l2 *l2, const struct fth_timing *timing, bool cold)
{
    l2->timing = *timing;
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        if (cold)
            clear_side(l2, side);
        else
            fth_timed_cache_land(&side->cache);
        side->free_at = 0;
    }
    l2->memory_free_at = l2->stores_free_at = l2->input_free_at = 0;
    l2->allocated_lines = 0;
    memset(&l2->atomics, 0, sizeof l2->atomics);
    l2->counts[l2->instructions].dram_reads += cold || !l2->used ? l2->launch_sectors : 0;
    l2->used = true;
    memset(l2->port_free_at, 0, l2->sms * sizeof *l2->port_free_at);
    fth_joins_begin(&l2->joins);
}

struct fth_l2_counts *fth_timed_l2_counts(struct fth_timed_l2 *l2)
{
    return l2->counts;
}

const struct fth_cache_level_totals *fth_timed_l2_totals(const struct fth_timed_l2 *l2)
{
    return &l2->totals;
}

void fth_timed_l2_get_use(const struct fth_timed_l2 *l2, struct fth_l2_use *use)
{
    *use = (struct fth_l2_use){.allocated_lines = l2->allocated_lines};
    for (uint64_t i = 0; i < l2->side_count; i++) {
        const struct fth_cache *cache = l2->sides[i].cache.cache;
        use->lines += cache->slots;
        for (uint32_t slot = 0; cache->has_dirty && slot < cache->slots; slot++)
            if (fth_line_of(cache, slot)->number != FTH_NO_LINE)
                use->dirty_sectors += fth_count_bits(*fth_dirty_of(cache, slot));
    }
}

void fth_timed_l2_set_curves(struct fth_timed_l2 *l2, struct fth_curves *curves)
{
    l2->curves = curves;
}

void fth_timed_l2_reset_counts(struct fth_timed_l2 *l2)
{
    memset(l2->counts, 0, (l2->instructions + 1) * sizeof *l2->counts);
    fth_totals_clear(&l2->totals);
}
