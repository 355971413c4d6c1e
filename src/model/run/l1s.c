/* The L1s of all SMs of one model. They process the parts of a batch that belong to their SMs
 * independently of each other, so several threads can do this at the same time; each thread has its
 * own counts. An L1 is created at its first use and emptied for each launch. */
#include "model/run/run.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_l1s_init(struct fth_l1s *l1s, uint64_t sms, size_t instructions,
                             size_t count_arrays, struct fth_error *error)
{
    *l1s = (struct fth_l1s){.sms = sms, .instructions = instructions, .count_arrays = count_arrays};
    l1s->levels = calloc((size_t)sms, sizeof(struct fth_cache_level *));
    l1s->totals = calloc((size_t)sms, sizeof(const struct fth_cache_level_totals *));
    l1s->first_group = calloc((size_t)sms, sizeof *l1s->first_group);
    l1s->counts = calloc(count_arrays, sizeof(struct fth_model_counts *));
    if (!l1s->levels || !l1s->totals || !l1s->first_group || !l1s->counts)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < count_arrays; i++) {
        l1s->counts[i] = calloc(instructions + 1, sizeof **l1s->counts);
        if (!l1s->counts[i])
            return fth_no_memory(error, "model caches", NULL);
    }
    return FTH_OK;
}

enum fth_status fth_l1s_diagnose(struct fth_l1s *l1s, struct fth_error *error)
{
    l1s->misses = calloc(l1s->count_arrays, sizeof(struct fth_model_misses *));
    for (size_t i = 0; l1s->misses && i < l1s->count_arrays; i++) {
        l1s->misses[i] = calloc(l1s->instructions + 1, sizeof **l1s->misses);
        if (!l1s->misses[i])
            return fth_no_memory(error, "model caches", NULL);
    }
    return l1s->misses ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

static void free_levels(struct fth_l1s *l1s)
{
    for (uint64_t sm = 0; l1s->levels && sm < l1s->sms; sm++) {
        fth_cache_level_destroy(l1s->levels[sm]);
        l1s->levels[sm] = NULL;
    }
}

void fth_l1s_fini(struct fth_l1s *l1s)
{
    free_levels(l1s);
    for (size_t i = 0; l1s->counts && i < l1s->count_arrays; i++)
        free(l1s->counts[i]);
    for (size_t i = 0; l1s->misses && i < l1s->count_arrays; i++)
        free(l1s->misses[i]);
    free(l1s->levels);
    free(l1s->totals);
    free(l1s->first_group);
    free(l1s->counts);
    free(l1s->misses);
}

/* Between the launches of a model, only the number of lines of its L1s and their latency change. */
void fth_l1s_begin(struct fth_l1s *l1s, const struct fth_shape *shape)
{
    if (shape->lines != l1s->shape.lines)
        free_levels(l1s);
    l1s->shape = *shape;
    memset(l1s->totals, 0, (size_t)l1s->sms * sizeof *l1s->totals);
}

/* Creates or empties the L1 of an SM at its first use in a launch. */
static enum fth_status prepare(struct fth_l1s *l1s, uint32_t sm, struct fth_error *error)
{
    if (l1s->totals[sm])
        return FTH_OK;
    if (l1s->levels[sm]) {
        fth_cache_level_clear(l1s->levels[sm]);
        fth_cache_level_set_latency(l1s->levels[sm], &l1s->shape);
    } else {
        FTH_TRY(fth_cache_level_create(&l1s->shape, &l1s->levels[sm], error));
        if (l1s->misses)
            FTH_TRY(fth_cache_level_diagnose(l1s->levels[sm], error));
    }
    l1s->totals[sm] = fth_cache_level_totals(l1s->levels[sm]);
    return FTH_OK;
}

enum fth_status fth_l1s_link(struct fth_l1s *l1s, struct fth_issue_batch *batch,
                             struct fth_error *error)
{
    if (batch->requests.failed)
        return fth_no_memory(error, "model caches", NULL);
    for (uint64_t sm = 0; sm < l1s->sms; sm++)
        l1s->first_group[sm] = UINT32_MAX;
    for (size_t g = batch->group_count; g-- > 0;) {
        struct fth_issue_group *group = &batch->groups[g];
        group->next = l1s->first_group[group->sm];
        l1s->first_group[group->sm] = (uint32_t)g;
        FTH_TRY(prepare(l1s, group->sm, error));
    }
    return FTH_OK;
}

bool fth_l1s_run_sm(struct fth_l1s *l1s, struct fth_issue_batch *batch, uint32_t sm, size_t thread)
{
    const struct fth_next_level next_level = {0}; /* request->missing keeps the forwarded sectors */
    if (l1s->misses && l1s->levels[sm])
        fth_cache_level_set_misses(l1s->levels[sm], l1s->misses[thread]);
    for (uint32_t g = l1s->first_group[sm]; g != UINT32_MAX; g = batch->groups[g].next) {
        struct fth_issue_group *group = &batch->groups[g];
        if (!fth_cache_level_run(l1s->levels[sm], batch->requests.items + group->first,
                                 group->count, batch->requests.runs, l1s->counts[thread],
                                 &next_level))
            return false;
        group->forwards = fth_cache_level_forwards(l1s->levels[sm]);
    }
    return true;
}

bool fth_l1s_run(struct fth_l1s *l1s, struct fth_issue_batch *batch)
{
    bool ok = true;
    for (uint64_t sm = 0; sm < l1s->sms && ok; sm++)
        ok = fth_l1s_run_sm(l1s, batch, (uint32_t)sm, 0);
    return ok;
}

void fth_l1s_reset_counts(struct fth_l1s *l1s)
{
    for (uint64_t sm = 0; sm < l1s->sms; sm++)
        if (l1s->totals[sm] && l1s->levels[sm])
            fth_cache_level_reset_totals(l1s->levels[sm]);
    for (size_t i = 0; i < l1s->count_arrays; i++)
        memset(l1s->counts[i], 0, (l1s->instructions + 1) * sizeof **l1s->counts);
    for (size_t i = 0; l1s->misses && i < l1s->count_arrays; i++)
        memset(l1s->misses[i], 0, (l1s->instructions + 1) * sizeof **l1s->misses);
}
