/* Finds out whether the L1 still has a line after an access to it, by the cache operator and the
 * hints of the access.
 *
 * Each trial has a line of its own. It reads a word of the line with a plain load, accesses the
 * word with the variant, waits, and times another plain load of the word. The timed load hits if
 * the line is still there. Control: without an access in between, it hits. */
#include "probe/cache/probe_cache.h"

enum {
    REPEATS = 8,         /* trials of each variant. Chosen, not derived. */
    DELAY_CYCLES = 2500, /* as in access_fills.c */
    WORD_BYTES = 32      /* alignment of the accesses */
};
/* Fraction of the trials that hit if the line is not kept, at most, and if it is, at least. Chosen:
 * one of eight trials may be disturbed. */
static const double max_missing = 0.2, min_kept = 0.8;

static struct fth_request make_request(const struct fth_fill_plan *plan, uint64_t variants)
{
    /* Two lines per trial; the second one is for the read that fills the TLBs. Not a power of two,
     * so that the lines are in different sets. */
    const uint32_t stride = 3 * (uint32_t)plan->line_bytes;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    request.family = FTH_FAMILY_HINT;
    request.hint = (struct fth_access_hint){.kind = FTH_HINT_FILL,
                                            .path = plan->path,
                                            .variants = variants,
                                            .stride_bytes = stride,
                                            .first = (uint32_t)(plan->start_bytes / stride),
                                            .step_bytes = WORD_BYTES,
                                            .positions = 1,
                                            .repeats = REPEATS,
                                            .delay_cycles = DELAY_CYCLES,
                                            .held = true};
    return request;
}

static size_t count_hits(const struct fth_samples *answer, size_t place, double threshold_cycles)
{
    size_t hits = 0;
    for (size_t i = 0; i < REPEATS; i++)
        hits += answer->cycles[place * REPEATS + i] <= threshold_cycles;
    return hits;
}

static void decide(const struct fth_samples *answer, const struct fth_fill_plan *plan,
                   const enum fth_variant *variants, size_t count, uint64_t set,
                   struct fth_access_keeps *found)
{
    struct fth_evidence trials = {.repeats = 0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t before = set & ((UINT64_C(1) << variants[i]) - 1);
        const size_t hits =
            count_hits(answer, (size_t)__builtin_popcountll(before), plan->threshold_cycles);
        const bool kept = (double)hits >= min_kept * REPEATS;
        if (!kept && (double)hits > max_missing * REPEATS)
            continue;
        found->kept[i] = kept ? FTH_KEPT_YES : FTH_KEPT_NO;
        trials.repeats += REPEATS;
        trials.agree += (double)(kept ? hits : REPEATS - hits);
    }
    /* A repeat is a trial of each variant. */
    found->evidence =
        (struct fth_evidence){.repeats = REPEATS, .agree = REPEATS * fth_evidence_share(trials)};
}

enum fth_status fth_probe_access_keeps(const struct fth_prober *prober,
                                       const struct fth_fill_plan *plan,
                                       const enum fth_variant *variants, size_t count,
                                       struct fth_access_keeps *found, struct fth_error *error)
{
    struct fth_answers answers = {0};
    uint64_t set = UINT64_C(1) << FTH_VARIANT_NONE;
    *found = (struct fth_access_keeps){.samples = 0};
    for (size_t i = 0; i < count; i++)
        set |= UINT64_C(1) << variants[i];
    const struct fth_request request = make_request(plan, set);
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    enum fth_status status = FTH_OK;
    found->samples = answers.items[0].count;
    if ((double)count_hits(&answers.items[0], 0, plan->threshold_cycles) < min_kept * REPEATS)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find which lines stay", NULL,
                          "a line that was just read misses");
    else
        decide(&answers.items[0], plan, variants, count, set, found);
    fth_answers_fini(&answers);
    return status;
}
