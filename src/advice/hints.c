/* Finds hints: lets the rules propose changes of a kernel, runs the model with each of them, and
 * keeps those that save time. */
#include "advice/advice_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find hints";

enum {
    DEFAULT_HINTS = 3,
    /* Chosen: about ten seconds per run of the model. */
    DEFAULT_ACCESSES = 4000000,
    /* Candidates that are computed per hint. Chosen: most candidates that come late gain little. */
    COMPUTED_PER_HINT = 2
};
/* The gain below which a hint is left out. It is smaller than the error of the model, so it only
 * removes changes without effect. Chosen. */
static const double MIN_GAIN = 0.03;
/* Of several changes, the first one counts that has at least this part of the best gain. Chosen:
 * rules list changes in the order of how easy they are. */
static const double ALMOST_BEST = 0.8;

/* The rules, in this order: an instruction that one of the first three explains is left out by the
 * others of these three. */
static fth_hint_rule *const rules[] = {
    fth_rule_structs,  fth_rule_uncoalesced, fth_rule_atomics,   fth_rule_redundant,
    fth_rule_capacity, fth_rule_block_order, fth_rule_streaming, fth_rule_bypass,
    fth_rule_banks,    fth_rule_staged,
};

struct fth_hints {
    struct fth_arena arena;
    struct fth_hint *items;
    size_t count, capacity;
};

/* What is needed to compute gains. */
struct advisor {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    const struct fth_model_result *result;
    struct fth_hints_options options;
    struct fth_hints *hints;
    bool several_kernels;
};

/* ---- figures ---- */

static double bytes_of(const struct fth_model_counts *counts, const struct fth_model_params *params,
                       enum fth_model_level level)
{
    const double sector = params->values[fth_model_key(level, FTH_KEY_SECTOR)].number;
    const double line = params->values[fth_model_key(level, FTH_KEY_LINE)].number;
    return (double)(counts->sectors[0] + counts->sectors[1] + counts->sectors[2]) *
           (sector > 0 ? sector : line);
}

static struct fth_hint_figures figures_of(const struct fth_model_row *row,
                                          const struct fth_model_params *params)
{
    const struct fth_model_counts memory = {.sectors = {row->dram_reads, row->dram_writes, 0}};
    return (struct fth_hint_figures){.seconds = row->seconds,
                                     .l1_bytes = bytes_of(&row->l1, params, FTH_MODEL_L1),
                                     .l2_bytes = bytes_of(&row->l2, params, FTH_MODEL_L2),
                                     .memory_bytes = bytes_of(&memory, params, FTH_MODEL_L2),
                                     .shared_wavefronts = (double)row->shared.wavefronts};
}

/* Returns the part that a change saves: of the time or, if it is unknown, of the bytes of the level
 * that limits the kernel; of the bytes of all levels, if this is unknown, too. `is_shared`: of the
 * wavefronts of shared memory instead of bytes. */
static double gain_of(const struct fth_hint_figures *before, const struct fth_hint_figures *after,
                      enum fth_model_limit limit, bool is_shared)
{
    const double all[2] = {before->l1_bytes + before->l2_bytes + before->memory_bytes,
                           after->l1_bytes + after->l2_bytes + after->memory_bytes};
    if (isfinite(before->seconds) && isfinite(after->seconds))
        return 1 - after->seconds / before->seconds;
    if (is_shared)
        return 1 - after->shared_wavefronts / before->shared_wavefronts;
    switch (limit) {
    case FTH_LIMIT_L1: return 1 - after->l1_bytes / before->l1_bytes;
    case FTH_LIMIT_L2: return 1 - after->l2_bytes / before->l2_bytes;
    case FTH_LIMIT_MEMORY: return 1 - after->memory_bytes / before->memory_bytes;
    case FTH_LIMIT_SHARED: return 1 - after->shared_wavefronts / before->shared_wavefronts;
    default: break;
    }
    return 1 - all[1] / all[0];
}

/* ---- runs of the model ---- */

/* Runs the model for one kernel and takes its figures. */
static enum fth_status run(const struct advisor *advisor, const struct fth_trace *trace,
                           const struct fth_model_params *params, const char *kernel,
                           struct fth_hint_figures *figures, struct fth_error *error)
{
    struct fth_model_result *result = NULL;
    const struct fth_model_options options =
        FTH_MODEL_OPTIONS(.kernel = kernel, .threads = advisor->options.threads,
                          .log = advisor->options.log, .sample = advisor->result->sample);
    FTH_TRY(fth_model_run(trace, params, &options, &result, error));
    const struct fth_model_row *row = fth_model_row(result, 0);
    if (row)
        *figures = figures_of(row, params);
    fth_model_result_destroy(result);
    return FTH_OK;
}

/* Runs the model with a parameter NAME=VALUE. */
static enum fth_status run_parameter(const struct advisor *advisor, const char *text,
                                     const char *kernel, struct fth_hint_figures *figures,
                                     struct fth_error *error)
{
    struct fth_model_params *params = NULL;
    char name[64];
    const char *value = strchr(text, '=');
    (void)fth_format(name, sizeof name, "%.*s", (int)(value - text), text);
    FTH_TRY(fth_model_params_copy(advisor->params, &params, error));
    enum fth_status status = fth_model_set(params, name, value + 1, error);
    if (status == FTH_OK)
        status = run(advisor, advisor->trace, params, kernel, figures, error);
    fth_model_params_destroy(params);
    return status;
}

/* Runs the model with a change. If the change is impossible, *known is false. */
static enum fth_status try_change(const struct advisor *advisor, const char *text,
                                  const char *kernel, struct fth_hint_figures *figures, bool *known,
                                  struct fth_error *error)
{
    struct fth_error own = FTH_NO_ERROR;
    enum fth_status status;
    if (fth_trace_edit_known(text)) {
        struct fth_trace *edited = NULL;
        status =
            fth_edit_kernel(advisor->trace, &text, 1, kernel, advisor->options.log, &edited, &own);
        if (status == FTH_OK)
            status = run(advisor, edited, advisor->params, kernel, figures, &own);
        fth_trace_close(edited);
    } else {
        status = run_parameter(advisor, text, kernel, figures, &own);
    }
    *known = status == FTH_OK;
    return status == FTH_OK || status == FTH_INVALID ? FTH_OK : fth_error_move(error, &own);
}

/* ---- gains ---- */

static const struct fth_hint_figures unknown_figures = {(double)NAN, (double)NAN, (double)NAN,
                                                        (double)NAN, (double)NAN};

/* Tries the changes of a candidate, and sets the gain of the hint and what it was computed with. */
static enum fth_status compute(const struct advisor *advisor, const struct fth_facts *facts,
                               const struct fth_candidate_hint *candidate,
                               enum fth_model_limit limit, struct fth_hint *hint,
                               struct fth_error *error)
{
    struct fth_hint_figures figures[FTH_MAX_TRIALS];
    double gains[FTH_MAX_TRIALS] = {0}, best = (double)-INFINITY;
    for (size_t i = 0; i < candidate->trial_count; i++) {
        bool known = false;
        figures[i] = unknown_figures;
        FTH_TRY(
            try_change(advisor, candidate->trials[i], facts->kernel, &figures[i], &known, error));
        gains[i] = known ? gain_of(&hint->before, &figures[i], limit, candidate->is_shared)
                         : (double)-INFINITY;
        best = fmax(best, gains[i]);
    }
    size_t chosen = 0;
    if (!isfinite(best))
        return FTH_OK; /* nothing could be computed */
    while (chosen + 1 < candidate->trial_count && gains[chosen] < fmin(best, best * ALMOST_BEST))
        chosen++;
    hint->what_if = candidate->trials[chosen];
    hint->after = figures[chosen];
    hint->gain = gains[chosen];
    if (candidate->complete &&
        !candidate->complete(&advisor->hints->arena, facts, candidate, chosen, &hint->text))
        return fth_no_memory(error, operation, NULL);
    return FTH_OK;
}

/* ---- hints of a kernel ---- */

static int compare_excess(const void *a, const void *b)
{
    const struct fth_candidate_hint *x = a, *y = b;
    return x->excess_sectors > y->excess_sectors ? -1 : x->excess_sectors < y->excess_sectors;
}

/* Sorts a few hints: larger gains first, unknown ones last. Equal ones keep their order. */
static void sort_hints(struct fth_hint *hints, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct fth_hint hint = hints[i];
        size_t at = i;
        for (; at > 0 && !isnan(hint.gain) && !(hints[at - 1].gain >= hint.gain); at--)
            hints[at] = hints[at - 1];
        hints[at] = hint;
    }
}

/* Makes a hint of a candidate, unless it gains too little. A candidate whose text depends on the
 * change that was tried is left out if none could be computed. */
static enum fth_status keep(struct advisor *advisor, const struct fth_facts *facts,
                            const struct fth_candidate_hint *candidate,
                            const struct fth_hint_figures *before, bool computed,
                            struct fth_error *error)
{
    struct fth_hints *hints = advisor->hints;
    struct fth_hint hint = candidate->hint;
    enum fth_model_limit limit = FTH_LIMIT_NONE;
    (void)fth_model_floor_s(facts->row, advisor->params, &limit);
    hint.before = *before;
    hint.after = unknown_figures;
    hint.gain = (double)NAN;
    hint.what_if = candidate->hint.what_if  ? candidate->hint.what_if
                   : candidate->trial_count ? candidate->trials[0]
                                            : "";
    if (computed)
        FTH_TRY(compute(advisor, facts, candidate, limit, &hint, error));
    if (hint.gain < MIN_GAIN || !hint.text)
        return FTH_OK;
    if (!fth_grow((void **)&hints->items, hints->count, &hints->capacity, sizeof hint))
        return fth_no_memory(error, operation, NULL);
    hints->items[hints->count++] = hint;
    return FTH_OK;
}

/* Computes the gains of the candidates, sorts the hints, and keeps the best. */
static enum fth_status keep_best(struct advisor *advisor, const struct fth_facts *facts,
                                 struct fth_candidates *candidates, struct fth_error *error)
{
    struct fth_hints *hints = advisor->hints;
    struct fth_hint_figures before = figures_of(facts->row, advisor->params);
    const bool computed = facts->accesses <= advisor->options.max_accesses;
    const size_t first = hints->count, max = advisor->options.max_hints;
    if (candidates->count)
        qsort(candidates->items, candidates->count, sizeof *candidates->items, compare_excess);
    /* The other kernels are not part of the runs below, but leave data in the L2. */
    if (computed && candidates->count && advisor->several_kernels)
        FTH_TRY(run(advisor, advisor->trace, advisor->params, facts->kernel, &before, error));
    for (size_t i = 0; i < candidates->count && i < COMPUTED_PER_HINT * max; i++)
        FTH_TRY(keep(advisor, facts, &candidates->items[i], &before, computed, error));
    if (hints->count > first)
        sort_hints(hints->items + first, hints->count - first);
    if (hints->count > first + max)
        hints->count = first + max;
    return FTH_OK;
}

/* Adds the hints of the kernel with this row. */
static enum fth_status advise(struct advisor *advisor, const struct fth_trace_stats *stats,
                              size_t index, struct fth_error *error)
{
    const struct fth_model_result *result = advisor->result;
    struct fth_facts facts;
    FTH_TRY(fth_facts_create(advisor->trace, stats, result, &result->rows[index],
                             advisor->options.log, &facts, error));
    struct fth_candidates candidates = {.arena = &advisor->hints->arena,
                                        .facts = &facts,
                                        .params = advisor->params,
                                        .rows = &result->rows[index],
                                        .row_count = result->row_count - index,
                                        .explained = calloc(facts.count + 1, sizeof(bool))};
    bool done = candidates.explained;
    for (size_t i = 0; i < FTH_COUNT(rules) && done; i++)
        done = rules[i](&candidates);
    const enum fth_status status = done ? keep_best(advisor, &facts, &candidates, error)
                                        : fth_no_memory(error, operation, NULL);
    free(candidates.explained);
    free(candidates.items);
    fth_facts_fini(&facts);
    return status;
}

/* Adds the hints of all kernels. */
static enum fth_status advise_all(struct advisor *advisor, struct fth_error *error)
{
    const struct fth_hints_options *options = &advisor->options;
    struct fth_trace_stats *stats = NULL;
    const struct fth_model_row *row;
    size_t kernels = 0;
    for (size_t i = 0; (row = fth_model_row(advisor->result, i)); i++)
        kernels += row->launch == SIZE_MAX && !row->instruction;
    advisor->several_kernels = kernels > 1;
    FTH_TRY(fth_trace_stats_create(advisor->trace, options->log, &stats, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; (row = fth_model_row(advisor->result, i)) && status == FTH_OK; i++)
        if (row->launch == SIZE_MAX && !row->instruction &&
            (!options->kernel || strcmp(options->kernel, row->kernel) == 0))
            status = advise(advisor, stats, i, error);
    fth_trace_stats_destroy(stats);
    return status;
}

enum fth_status fth_hints_create(const struct fth_trace *trace,
                                 const struct fth_model_params *params,
                                 const struct fth_model_result *result,
                                 const struct fth_hints_options *options, struct fth_hints **out,
                                 struct fth_error *error)
{
    struct advisor advisor = {.trace = trace, .params = params, .result = result};
    *out = NULL;
    FTH_TRY(fth_options_read("fth_hints_options", options, &advisor.options, sizeof advisor.options,
                             error));
    if (!advisor.options.max_hints)
        advisor.options.max_hints = DEFAULT_HINTS;
    if (!advisor.options.max_accesses)
        advisor.options.max_accesses = DEFAULT_ACCESSES;
    advisor.hints = calloc(1, sizeof *advisor.hints);
    if (!advisor.hints)
        return fth_no_memory(error, operation, NULL);
    const enum fth_status status = advise_all(&advisor, error);
    if (status == FTH_OK)
        *out = advisor.hints;
    else
        fth_hints_destroy(advisor.hints);
    return status;
}

const struct fth_hint *fth_hints_at(const struct fth_hints *hints, size_t index)
{
    return index < hints->count ? &hints->items[index] : NULL;
}

void fth_hints_destroy(struct fth_hints *hints)
{
    if (!hints)
        return;
    fth_arena_fini(&hints->arena);
    free(hints->items);
    free(hints);
}
