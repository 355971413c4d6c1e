/* Creates and destroys the L1s of the model with time, and gives their counts. */
#include "model/timed/timed_l1.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_timed_l1s_create(uint64_t sms, size_t instructions, struct fth_timed_l1s **out,
                                     struct fth_error *error)
{
    struct fth_timed_l1s *l1s = calloc(1, sizeof *l1s);
    *out = l1s;
    if (l1s) {
        l1s->sms = sms;
        l1s->instructions = instructions;
        l1s->l1s = calloc((size_t)sms, sizeof *l1s->l1s);
        l1s->waits_until = calloc((size_t)sms, sizeof *l1s->waits_until);
        l1s->caches = calloc((size_t)sms, sizeof *l1s->caches);
        l1s->counts = calloc(instructions + 1, sizeof *l1s->counts);
    }
    if (l1s && l1s->l1s && l1s->waits_until && l1s->caches && l1s->counts)
        return FTH_OK;
    fth_timed_l1s_destroy(l1s);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

void fth_timed_l1s_destroy(struct fth_timed_l1s *l1s)
{
    if (!l1s)
        return;
    for (uint64_t i = 0; l1s->caches && i < l1s->sms; i++)
        fth_timed_cache_fini(&l1s->caches[i]);
    for (uint64_t i = 0; l1s->l1s && i < l1s->sms; i++)
        fth_shadow_destroy(l1s->l1s[i].shadow);
    fth_totals_fini(&l1s->totals);
    free(l1s->misses);
    free(l1s->l1s);
    free(l1s->waits_until);
    free(l1s->caches);
    free(l1s->counts);
    free(l1s);
}

enum fth_status fth_timed_l1s_diagnose(struct fth_timed_l1s *l1s, struct fth_error *error)
{
    l1s->misses = calloc(l1s->instructions + 1, sizeof *l1s->misses);
    return l1s->misses ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

struct fth_model_misses *fth_timed_l1s_misses(struct fth_timed_l1s *l1s)
{
    return l1s->misses;
}

struct fth_model_counts *fth_timed_l1s_counts(struct fth_timed_l1s *l1s)
{
    return l1s->counts;
}

const struct fth_cache_level_totals *fth_timed_l1s_totals(const struct fth_timed_l1s *l1s)
{
    return &l1s->totals;
}

void fth_timed_l1s_set_curves(struct fth_timed_l1s *l1s, struct fth_curves *curves)
{
    l1s->curves = curves;
}

void fth_timed_l1s_reset_counts(struct fth_timed_l1s *l1s)
{
    memset(l1s->counts, 0, (l1s->instructions + 1) * sizeof *l1s->counts);
    if (l1s->misses)
        memset(l1s->misses, 0, (l1s->instructions + 1) * sizeof *l1s->misses);
    fth_totals_clear(&l1s->totals);
}
