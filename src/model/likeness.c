/* What models have in common, as numbers to compare: those that get the same requests can share the
 * reading of a trace, those with the same L1s besides what comes out of these (many.c). */
#include "model/model.h"

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

/* Which request goes to which SM when, and what a request is. */
static uint64_t find_stream(const struct fth_model_params *params,
                            const struct fth_setting *setting)
{
    const char *mapping = params->values[FTH_KEY_MAPPING].text;
    const uint64_t numbers[] = {
        setting->sms,    setting->schedulers,    setting->blocks_at_once, setting->warps_per_block,
        setting->blocks, setting->l1.line_shift, setting->l1.sector_shift};
    uint64_t state = mix_text(1, mapping);
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        state = mix(state, numbers[i]);
    return fth_placement_drawn(mapping) ? mix(state, fth_model_whole(params, FTH_KEY_SEED)) : state;
}

/* All of a cache but its ways. */
static uint64_t mix_shape(uint64_t state, const struct fth_shape *shape)
{
    const uint64_t numbers[] = {
        shape->line_bytes,  shape->sector_bytes,    shape->fill_bytes, shape->sets,
        shape->partitions,  shape->banks,           shape->ports,      shape->mshr_merges,
        shape->write,       shape->partition_bytes, shape->bank_bytes, shape->bypass,
        shape->merged_hits, shape->mshr_sets,       shape->mshr_size};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        state = mix(state, numbers[i]);
    state = mix_text(mix_text(state, shape->index), shape->policy);
    if (strcmp(shape->policy, "random") == 0)
        state = mix(state, shape->seed);
    /* What passes is not waited for. */
    return shape->bypass == FTH_BYPASS_ALL
               ? state
               : mix_real(mix_real(state, shape->fixed), shape->per_busy);
}

void fth_likeness_find(const struct fth_model_params *params, const struct fth_setting *setting,
                       struct fth_likeness *likeness)
{
    const struct fth_shape *l2 = &setting->l2;
    const uint64_t active = setting->blocks < setting->sms ? setting->blocks : setting->sms;
    likeness->stream = find_stream(params, setting);
    const uint64_t l1 = mix_shape(likeness->stream, &setting->l1);
    likeness->l1 = mix(mix(l1, setting->l1.ways), setting->l1.lines);
    likeness->ladder = fth_ladder_allows(&setting->l1) ? l1 : 0;
    uint64_t state = mix(mix(2, l2->line_shift), l2->sector_shift);
    state = mix(mix(state, setting->sides), setting->home_mask);
    likeness->past = mix_text(state, params->values[FTH_KEY_SIDE_OF_SM].text);
    likeness->below = mix_text(likeness->past, params->values[FTH_KEY_JOINS].text);
    likeness->below = mix(likeness->below, fth_model_whole(params, FTH_KEY_JOIN_ROUNDS));
    likeness->room_lines = active * setting->l1.lines * setting->l1.partitions * setting->l1.banks +
                           setting->sides * l2->lines * l2->partitions * l2->banks;
}

enum fth_status fth_model_likeness(const struct fth_trace *trace, const char *kernel,
                                   const struct fth_model_params *params,
                                   struct fth_likeness *likeness, struct fth_error *error)
{
    *likeness = (struct fth_likeness){0};
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        struct fth_setting setting;
        struct fth_likeness own;
        if (kernel && strcmp(kernel, launch->kernel) != 0)
            continue;
        const enum fth_status status = fth_model_setting(params, launch, &setting, error);
        if (status != FTH_OK)
            return status;
        fth_likeness_find(params, &setting, &own);
        likeness->stream = mix(likeness->stream, own.stream);
        likeness->l1 = mix(likeness->l1, own.l1);
        likeness->ladder = mix(likeness->ladder, own.ladder ? own.ladder : own.l1);
        likeness->below = mix(likeness->below, own.below);
        likeness->past = mix(likeness->past, own.past);
        if (likeness->room_lines < own.room_lines)
            likeness->room_lines = own.room_lines;
    }
    return FTH_OK;
}
