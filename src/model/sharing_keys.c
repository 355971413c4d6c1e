/* Hash keys that tell multi_run.c and the exploration which models can share work. Models whose L1s
 * receive the same requests share the reading of the trace. Models that also have the same L1s
 * share the simulation of the L1s. Keys are compared instead of parameters; they are 64-bit hashes,
 * and a collision is assumed not to occur. */
#include "model/level/level.h"

#include <string.h>

static uint64_t mix(uint64_t state, uint64_t number)
{
    state = (state ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 29;
}

static uint64_t mix_text(uint64_t state, const char *text)
{
    state = mix(state, strlen(text));
    for (; *text; text++)
        state = mix(state, (unsigned char)*text);
    return state;
}

static uint64_t mix_real(uint64_t state, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return mix(state, bits);
}

/* Mixes in what the value of a parameter stands for if it is "description". */
static uint64_t mix_described(uint64_t state, const struct fth_model_params *params, size_t key)
{
    const struct fth_sm_map *map = &params->sm_map;
    const bool sides = key == FTH_KEY_SIDE_OF_SM;
    state = mix_text(state, params->values[key].text);
    if (strcmp(params->values[key].text, "description") != 0)
        return state;
    for (size_t i = 0; sides && i < params->side_count; i++)
        state = mix(state, params->side_of_sm[i]);
    for (uint32_t i = 0; !sides && i < map->sms; i++)
        state =
            mix(state, (uint64_t)map->gpc[i] << 32 | (uint64_t)map->tpc[i] << 1 | map->first[i]);
    for (uint32_t i = 0; !sides && i < map->return_count; i++)
        state = mix(state, map->return_blocks[i]);
    return state;
}

/* Key of the requests that each SM issues, and of their order. */
static uint64_t find_stream(const struct fth_model_params *params,
                            const struct fth_setting *setting)
{
    const char *mapping = params->values[FTH_KEY_MAPPING].text;
    const uint64_t numbers[] = {setting->sms,
                                setting->schedulers,
                                setting->blocks_at_once,
                                setting->warps_per_block,
                                setting->blocks,
                                setting->l1.line_shift,
                                setting->l1.sector_shift,
                                setting->local_bytes,
                                setting->local_first,
                                setting->local_warps};
    uint64_t state = mix_described(1, params, FTH_KEY_MAPPING);
    for (size_t i = 0; i < FTH_VARIANTS; i++)
        state = mix(state, (uint64_t)params->variants.l2_fill[i] << 8 | params->variants.l1[i]);
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        state = mix(state, numbers[i]);
    return fth_placement_is_random(mapping) ? mix(state, fth_model_integer(params, FTH_KEY_SEED))
                                            : state;
}

static uint64_t mix_masks(uint64_t state, const struct fth_hash_masks *masks)
{
    for (size_t i = 0; masks && i < masks->set_count; i++)
        state = mix(state, masks->set[i]);
    for (size_t i = 0; masks && i < masks->row_count; i++)
        state = mix(state, masks->row[i]);
    return state;
}

/* Mixes in everything that determines the behaviour of a cache, except the ways and the latency. */
static uint64_t mix_shape(uint64_t state, const struct fth_shape *shape)
{
    const uint64_t numbers[] = {
        shape->line_bytes,   shape->sector_bytes,    shape->fill_bytes, shape->sets,
        shape->partitions,   shape->banks,           shape->ports,      shape->mshr_merges,
        shape->write,        shape->partition_bytes, shape->bank_bytes, shape->bypass,
        shape->merged_hits,  shape->mshr_sets,       shape->mshr_size,  shape->row_ways,
        shape->masks != NULL};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        state = mix(state, numbers[i]);
    state = mix_text(mix_text(state, shape->index), shape->policy);
    state = mix_masks(state, shape->masks);
    if (strcmp(shape->policy, "random") == 0)
        state = mix(state, shape->seed);
    return state;
}

static uint64_t mix_latency(uint64_t state, const struct fth_shape *shape)
{
    /* A bypassed cache has no misses in flight, so the latency does not matter. */
    return shape->bypass == FTH_BYPASS_ALL
               ? state
               : mix_real(mix_real(state, shape->latency_fixed), shape->latency_per_busy);
}

static uint64_t mix_size(uint64_t state, const struct fth_shape *shape)
{
    return mix(mix(state, shape->ways), shape->lines);
}

void fth_sharing_keys_compute(const struct fth_model_params *params,
                              const struct fth_setting *setting, struct fth_sharing_keys *keys)
{
    const struct fth_shape *l2 = &setting->l2;
    const uint64_t active = setting->blocks < setting->sms ? setting->blocks : setting->sms;
    keys->stream = find_stream(params, setting);
    const uint64_t shape = mix_shape(keys->stream, &setting->l1);
    const uint64_t l1 = mix_latency(shape, &setting->l1);
    keys->l1 = mix_size(l1, &setting->l1);
    keys->l1_except_ways = fth_lru_stack_supports(&setting->l1) ? l1 : 0;
    keys->l1_except_latency = mix_size(shape, &setting->l1);
    uint64_t state = mix(mix(2, l2->line_shift), l2->sector_shift);
    state = mix(mix(state, setting->sides), setting->home_mask);
    keys->bypassed_l2_input = mix_described(state, params, FTH_KEY_SIDE_OF_SM);
    keys->l2_input = mix_described(keys->bypassed_l2_input, params, FTH_KEY_JOINS);
    keys->l2_input = mix(keys->l2_input, fth_model_integer(params, FTH_KEY_JOIN_ROUNDS));
    keys->l2 = mix_size(mix_latency(mix_shape(keys->l2_input, l2), l2), l2);
    keys->l2 = mix(keys->l2, setting->cold);
    keys->cache_lines = active * setting->l1.lines * setting->l1.partitions * setting->l1.banks +
                        setting->sides * l2->lines * l2->partitions * l2->banks;
}

enum fth_status fth_model_sharing_keys(const struct fth_trace *trace, const char *kernel,
                                       const struct fth_model_params *params,
                                       struct fth_sharing_keys *keys, struct fth_error *error)
{
    *keys = (struct fth_sharing_keys){0};
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        struct fth_setting setting;
        struct fth_sharing_keys own;
        if (kernel && strcmp(kernel, launch->kernel) != 0)
            continue;
        FTH_TRY(fth_model_setting(params, launch, &setting, error));
        fth_sharing_keys_compute(params, &setting, &own);
        keys->stream = mix(keys->stream, own.stream);
        keys->l1 = mix(keys->l1, own.l1);
        keys->l1_except_ways =
            mix(keys->l1_except_ways, own.l1_except_ways ? own.l1_except_ways : own.l1);
        keys->l1_except_latency = mix(keys->l1_except_latency, own.l1_except_latency);
        keys->l2 = mix(keys->l2, own.l2);
        keys->l2_input = mix(keys->l2_input, own.l2_input);
        keys->bypassed_l2_input = mix(keys->bypassed_l2_input, own.bypassed_l2_input);
        if (keys->cache_lines < own.cache_lines)
            keys->cache_lines = own.cache_lines;
    }
    return FTH_OK;
}
