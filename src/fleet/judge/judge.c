/* The judgement: one verdict per GPU. This file compares each GPU with its cohort by the methods of
 * the other files, and collects what they find, in this order:
 *
 *   1. for each cohort: the distribution of each figure on healthy GPUs (judge_model.c),
 *      then, for each GPU of the cohort:
 *        numbers that are worse than usual (judge_numbers.c)
 *        exact figures that differ (judge_exact.c)
 *        states that are faults by themselves (judge_state.c)
 *   2. for all GPUs together: which findings are severe, and the verdicts
 *   3. groups of GPUs that differ together (judge_groups.c)
 *   4. a cause for the findings of each GPU (causes.c)
 */
#include "fleet/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Defaults of the options (fathom/fleets.h). */
#define DEFAULT_FALSE_ALARMS 0.001
#define DEFAULT_MIN_EFFECT 0.02

const char *fth_judge_text(struct fth_judge *judge, const char *text)
{
    return fth_arena_text(&judge->judgement->arena, text);
}

enum fth_status fth_judge_add(struct fth_judge *judge, struct fth_fleet_result *result,
                              const struct fth_fleet_finding *finding)
{
    if (!fth_grow((void **)&result->findings, result->finding_count, &result->finding_capacity,
                  sizeof *result->findings))
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    result->findings[result->finding_count++] = *finding;
    return FTH_OK;
}

/* ---- the cohort that is being judged ---- */

static bool is_judged_kind(enum fth_fleet_kind kind)
{
    return kind != FTH_FLEET_CONTEXT;
}

static void release_cohort(struct fth_judge *judge)
{
    struct fth_judge_cohort *cohort = &judge->cohort;
    for (size_t i = 0; i < cohort->figure_count; i++)
        free(cohort->figures[i].points);
    free(cohort->figures);
    cohort->figures = NULL;
    cohort->figure_count = 0;
}

static enum fth_status prepare_figure(struct fth_judge *judge, struct fth_judge_figure *figure,
                                      const struct fth_reference_figure *reference)
{
    const struct fth_fleet *fleet = judge->fleet;
    figure->reference = reference;
    figure->index = fth_fleet_figure_find(fleet, reference->name);
    figure->column = UINT32_MAX;
    if (figure->index != UINT32_MAX) {
        figure->name = fleet->figures[figure->index].name;
        figure->column = judge->columns[figure->index];
    } else {
        figure->name = fth_judge_text(judge, reference->name);
        if (!figure->name)
            return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    }
    /* A reference of another version of fathom, or a damaged one, may have another kind. */
    if (figure->index != UINT32_MAX && fleet->figures[figure->index].kind != reference->kind) {
        figure->why = "the reference has another kind of figure";
        return FTH_OK;
    }
    const bool number = reference->kind == FTH_FLEET_RATE || reference->kind == FTH_FLEET_TIME;
    FTH_TRY(number ? fth_judge_number_prepare(judge, figure)
                   : fth_judge_exact_prepare(judge, figure));
    if (figure->index == UINT32_MAX)
        figure->why = "no GPU of the fleet has it";
    return FTH_OK;
}

/* Prepares the figures of a cohort. */
static enum fth_status prepare_cohort(struct fth_judge *judge, const struct fth_fleet_cohort *of)
{
    struct fth_judge_cohort *cohort = &judge->cohort;
    uint32_t *slots = cohort->slots;
    release_cohort(judge);
    *cohort = (struct fth_judge_cohort){.slots = slots};
    for (size_t i = 0; i < judge->fleet->figure_count; i++)
        slots[i] = UINT32_MAX;
    cohort->reference = fth_reference_cohort_for(judge->reference, of);
    if (!cohort->reference)
        return FTH_OK;
    cohort->figures = calloc(cohort->reference->figure_count + 1, sizeof *cohort->figures);
    if (!cohort->figures)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t i = 0; i < cohort->reference->figure_count; i++) {
        const struct fth_reference_figure *reference = &cohort->reference->figures[i];
        if (!is_judged_kind(reference->kind))
            continue;
        struct fth_judge_figure *figure = &cohort->figures[cohort->figure_count++];
        FTH_TRY(prepare_figure(judge, figure, reference));
        if (figure->index != UINT32_MAX)
            slots[figure->index] = (uint32_t)(figure - cohort->figures);
        cohort->judged_figures += !figure->why && reference->kind != FTH_FLEET_STATE;
    }
    FTH_TRY(fth_judge_common_spread(judge));
    fth_judge_common_tail(cohort);
    return FTH_OK;
}

/* Returns why a cohort cannot be compared; NULL: it can. */
static const char *cohort_reason(const struct fth_judge *judge, const struct fth_fleet_cohort *of)
{
    if (judge->cohort.judged_figures)
        return NULL;
    if (!judge->own)
        return "the reference has no GPUs of this model, backend, driver and board";
    return of->gpu_count < 2 ? "it is the only GPU of its model, backend, driver and board"
                             : "no figure can be compared";
}

/* Fills the summary of a cohort. */
static enum fth_status summarise_cohort(struct fth_judge *judge,
                                        struct fth_fleet_cohort_summary *summary,
                                        const struct fth_fleet_cohort *of)
{
    const struct fth_judge_cohort *cohort = &judge->cohort;
    summary->cohort = *of;
    summary->reason = cohort_reason(judge, of);
    summary->figures = fth_arena_array(&judge->judgement->arena, cohort->figure_count + 1,
                                       sizeof *summary->figures);
    if (!summary->figures)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    summary->figure_count = summary->figure_capacity = cohort->figure_count;
    for (size_t i = 0; i < cohort->figure_count; i++) {
        const struct fth_judge_figure *figure = &cohort->figures[i];
        struct fth_fleet_figure_summary *to = &summary->figures[i];
        *to = (struct fth_fleet_figure_summary){
            .name = figure->name,
            .kind = figure->reference->kind,
            .gpu_count = (size_t)figure->known_gpus,
            .median = NAN,
            .spread = NAN,
            .noise = NAN,
            .low = NAN,
            .high = NAN,
            .detectable = NAN,
            .usual = figure->usual,
            .reason = figure->why,
            .from = NAN,
            .to = NAN,
        };
        if (to->kind == FTH_FLEET_RATE || to->kind == FTH_FLEET_TIME)
            fth_judge_number_summary(judge, figure, to);
    }
    return FTH_OK;
}

/* ---- a GPU ---- */

/* Returns the backend of the first GPU of the fleet, or of the reference, that is not simulated.
 * NULL: all are simulated. */
static const char *find_real_backend(const struct fth_judge *judge)
{
    const struct fth_fleet *fleet = judge->fleet;
    for (size_t i = 0; i < fleet->gpu_count; i++)
        if (!fleet->gpus[i].simulated)
            return fleet->gpus[i].backend ? fleet->gpus[i].backend : "unknown";
    for (size_t i = 0; i < judge->reference->cohort_count && !judge->own; i++)
        if (!judge->reference->cohorts[i].cohort.simulated)
            return "cuda";
    return NULL;
}

/* A simulated GPU among real ones is a fault: probably the node has no driver. */
static enum fth_status judge_backend(struct fth_judge *judge, struct fth_fleet_result *result)
{
    const struct fth_fleet *fleet = judge->fleet;
    if (!fleet->gpus[result->gpu].simulated || !judge->real_backend)
        return FTH_OK;
    return fth_judge_add(
        judge, result,
        &(struct fth_fleet_finding){
            .figure = "device.backend",
            .kind = FTH_FLEET_EXACT,
            .value = NAN,
            .usual = NAN,
            .text = "simulated",
            .usual_text = judge->real_backend,
            .effect = NAN,
            .worse = true,
            .distance = NAN,
            .measurements = fleet->gpus[result->gpu].measurement_count,
            .deviating = fleet->gpus[result->gpu].measurement_count,
            .note = "The measurement is of a simulated GPU: check the driver of the host.",
        });
}

/* The figures by which a GPU is judged above all. Quick and whole measurements have them, so that a
 * GPU without one, unlike the others, could not be measured completely. */
static const char *const main_figures[] = {
    "memory.read_bytes_per_s", "memory.write_bytes_per_s", "memory.copy_bytes_per_s",
    "memory.latency_cycles",   "l2.read_bytes_per_s",      "l2.latency_cycles",
    "shared.read_bytes_per_s", "shared.latency_cycles",    "l1.latency_cycles",
};
/* A main figure is expected if this part of the other GPUs, and at least this many, have it.
 * Chosen: all measurements of H200s have all of them. */
#define EXPECTED_PART 0.95
#define EXPECTED_GPUS 2

/* Returns whether no measurement of a GPU has a figure. */
static bool lacks(const struct fth_judge *judge, uint32_t gpu, const char *name)
{
    const uint32_t figure = fth_fleet_figure_find(judge->fleet, name);
    size_t count = 0;
    return figure == UINT32_MAX ||
           isnan(fth_fleet_gpu_median(judge->fleet, &judge->fleet->gpus[gpu], figure, &count));
}

/* A GPU without a main figure that the others have must not count as healthy. */
static enum fth_status judge_lacking(struct fth_judge *judge, struct fth_fleet_result *result)
{
    const struct fth_reference_cohort *reference = judge->cohort.reference;
    const size_t runs = judge->fleet->gpus[result->gpu].measurement_count;
    for (size_t i = 0; i < FTH_COUNT(main_figures) && reference; i++) {
        const struct fth_reference_figure *figure = fth_reference_find(reference, main_figures[i]);
        const double others = (double)reference->cohort.gpu_count - (judge->own ? 1 : 0);
        if (!figure || figure->gpus.count < EXPECTED_GPUS ||
            (double)figure->gpus.count < EXPECTED_PART * others ||
            !lacks(judge, result->gpu, main_figures[i]))
            continue;
        FTH_TRY(fth_judge_add(judge, result,
                              &(struct fth_fleet_finding){
                                  .figure = main_figures[i],
                                  .kind = figure->kind,
                                  .value = NAN,
                                  .usual = fth_sketch_quantile(&figure->gpus, 0.5),
                                  .text = "unknown",
                                  .effect = NAN,
                                  .worse = true,
                                  .distance = NAN,
                                  .measurements = runs,
                                  .deviating = runs,
                                  .note = "The GPU could not be measured completely.",
                              }));
    }
    return FTH_OK;
}

static enum fth_status judge_gpu(struct fth_judge *judge, uint32_t gpu, const char *cohort_reason)
{
    struct fth_fleet_result *result = &judge->judgement->results[gpu];
    size_t judged = 0;
    FTH_TRY(judge_backend(judge, result));
    FTH_TRY(fth_judge_numbers(judge, result, &judged));
    FTH_TRY(fth_judge_exact(judge, result, &judged));
    FTH_TRY(fth_judge_state(judge, result));
    if (!judged) {
        result->verdict = FTH_FLEET_NOT_JUDGED;
        result->reason =
            cohort_reason ? cohort_reason : "its measurements have no figure that can be compared";
        return FTH_OK;
    }
    return judge_lacking(judge, result);
}

/* Orders findings by importance. */
static int compare_findings(const void *a, const void *b)
{
    const struct fth_fleet_finding *x = a, *y = b;
    if (x->severe != y->severe)
        return x->severe ? -1 : 1;
    if (x->worse != y->worse)
        return x->worse ? -1 : 1;
    if (x->single_p != y->single_p)
        return x->single_p < y->single_p ? -1 : 1;
    const double left = isnan(x->effect) ? 0 : fabs(x->effect);
    const double right = isnan(y->effect) ? 0 : fabs(y->effect);
    if (left != right)
        return left > right ? -1 : 1;
    return strcmp(x->figure, y->figure);
}

/* Sets verdicts and counts. */
static void conclude(struct fth_judge *judge)
{
    struct fth_fleet_judgement *judgement = judge->judgement;
    for (size_t g = 0; g < judge->fleet->gpu_count; g++) {
        struct fth_fleet_result *result = &judgement->results[g];
        struct fth_fleet_cohort_summary *cohort = &judgement->cohorts[judge->fleet->gpus[g].cohort];
        if (result->finding_count > 1)
            qsort(result->findings, result->finding_count, sizeof *result->findings,
                  compare_findings);
        bool worse = false, severe = false;
        for (size_t i = 0; i < result->finding_count; i++) {
            worse |= result->findings[i].worse;
            severe |= result->findings[i].worse && result->findings[i].severe;
        }
        if (worse) {
            result->verdict = severe ? FTH_FLEET_FAILED : FTH_FLEET_SUSPECT;
            result->reason = NULL;
        }
        size_t *const counts[][2] = {
            [FTH_FLEET_HEALTHY] = {&judgement->healthy, &cohort->healthy},
            [FTH_FLEET_SUSPECT] = {&judgement->suspect, &cohort->suspect},
            [FTH_FLEET_FAILED] = {&judgement->failed, &cohort->failed},
            [FTH_FLEET_NOT_JUDGED] = {&judgement->not_judged, &cohort->not_judged},
        };
        ++*counts[result->verdict][0];
        ++*counts[result->verdict][1];
        cohort->measurement_count += judge->fleet->gpus[g].measurement_count;
    }
}

/* ---- the fleet ---- */

/* Chooses the columns of the heat map, and allocates what has one element per GPU. */
static enum fth_status allocate(struct fth_judge *judge)
{
    struct fth_fleet *fleet = judge->fleet;
    struct fth_fleet_judgement *judgement = judge->judgement;
    struct fth_arena *arena = &judgement->arena;
    const size_t gpus = fleet->gpu_count, figures = fleet->figure_count;
    judge->columns = calloc(figures + 1, sizeof *judge->columns);
    judge->cohort.slots = calloc(figures + 1, sizeof *judge->cohort.slots);
    judge->order = calloc(gpus + 1, sizeof *judge->order);
    judgement->results = fth_arena_array(arena, gpus + 1, sizeof *judgement->results);
    judgement->cohorts =
        fth_arena_array(arena, fleet->cohort_count + 1, sizeof *judgement->cohorts);
    judgement->columns = fth_arena_array(arena, figures + 1, sizeof *judgement->columns);
    if (!judge->columns || !judge->cohort.slots || !judge->order || !judgement->results ||
        !judgement->cohorts || !judgement->columns)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t i = 0; i < figures; i++) {
        const struct fth_fleet_figure *figure = &fleet->figures[i];
        const bool number = figure->kind == FTH_FLEET_RATE || figure->kind == FTH_FLEET_TIME;
        judge->columns[i] = number ? (uint32_t)judgement->column_count : UINT32_MAX;
        if (number)
            judgement->columns[judgement->column_count++] = figure->name;
    }
    const size_t columns = judgement->column_count;
    float *scores = fth_arena_array(arena, gpus * columns + 1, sizeof *scores);
    judge->ratios = calloc(gpus * columns + 1, sizeof *judge->ratios);
    if (!scores || !judge->ratios)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t i = 0; i < gpus * columns; i++)
        scores[i] = judge->ratios[i] = NAN;
    for (size_t i = 0; i < gpus; i++)
        judgement->results[i] =
            (struct fth_fleet_result){.gpu = (uint32_t)i, .scores = &scores[i * columns]};
    judgement->cohort_count = fleet->cohort_count;
    return FTH_OK;
}

/* Orders the GPUs by cohort. */
static enum fth_status order_gpus(struct fth_judge *judge)
{
    const struct fth_fleet *fleet = judge->fleet;
    size_t *next = calloc(fleet->cohort_count + 1, sizeof *next);
    if (!next)
        return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    for (size_t i = 0; i < fleet->gpu_count; i++)
        next[fleet->gpus[i].cohort + 1]++;
    for (size_t i = 1; i <= fleet->cohort_count; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < fleet->gpu_count; i++)
        judge->order[next[fleet->gpus[i].cohort]++] = (uint32_t)i;
    free(next);
    return FTH_OK;
}

static enum fth_status judge_all(struct fth_judge *judge, const struct fth_log *log)
{
    const struct fth_fleet *fleet = judge->fleet;
    FTH_TRY(allocate(judge));
    FTH_TRY(order_gpus(judge));
    judge->real_backend = find_real_backend(judge);
    for (size_t c = 0, i = 0; c < fleet->cohort_count; c++) {
        struct fth_fleet_cohort_summary *summary = &judge->judgement->cohorts[c];
        FTH_TRY(prepare_cohort(judge, &fleet->cohorts[c]));
        FTH_TRY(summarise_cohort(judge, summary, &fleet->cohorts[c]));
        for (; i < fleet->gpu_count && fleet->gpus[judge->order[i]].cohort == c; i++)
            FTH_TRY(judge_gpu(judge, judge->order[i], summary->reason));
        fth_judge_count_tests(judge);
        if (fth_log_interrupted(log))
            return fth_fail(judge->error, FTH_INTERRUPTED, FTH_JUDGE_OPERATION, NULL,
                            "interrupted");
    }
    fth_judge_severity(judge);
    conclude(judge);
    FTH_TRY(fth_judge_groups(judge));
    return fth_judge_causes(judge);
}

/* Returns a number within limits, or the default if it is 0. */
static enum fth_status read_fraction(double given, double fallback, const char *name,
                                     double *fraction, struct fth_error *error)
{
    *fraction = given == 0 ? fallback : given;
    if (!(*fraction > 0 && *fraction < 1))
        return fth_fail(error, FTH_INVALID, FTH_JUDGE_OPERATION, name,
                        "it must be between 0 and 1");
    return FTH_OK;
}

enum fth_status fth_fleet_judge(struct fth_fleet *fleet,
                                const struct fth_fleet_judge_options *given,
                                struct fth_fleet_judgement **judgement, struct fth_error *error)
{
    struct fth_fleet_judge_options options;
    struct fth_fleet_reference *made = NULL;
    struct fth_judge judge = {.fleet = fleet, .error = error};
    *judgement = NULL;
    FTH_TRY(fth_options_read("fth_fleet_judge_options", given, &options, sizeof options, error));
    FTH_TRY(read_fraction(options.false_alarms, DEFAULT_FALSE_ALARMS, "false_alarms",
                          &judge.false_alarms, error));
    FTH_TRY(read_fraction(options.min_effect, DEFAULT_MIN_EFFECT, "min_effect", &judge.min_effect,
                          error));
    const struct fth_fleet_mixing mixing = {options.mix_drivers, options.mix_boards};
    enum fth_status status = fth_fleet_arrange(fleet, &mixing, error);
    judge.own = !options.reference;
    if (status == FTH_OK && judge.own)
        status = fth_fleet_refer(fleet, given, &made, error);
    judge.reference = judge.own ? made : options.reference;
    judge.judgement = calloc(1, sizeof *judge.judgement);
    if (status == FTH_OK && !judge.judgement)
        status = fth_no_memory(error, FTH_JUDGE_OPERATION, NULL);
    if (status == FTH_OK) {
        judge.judgement->fleet = fleet;
        judge.judgement->false_alarms = judge.false_alarms;
        judge.judgement->min_effect = judge.min_effect;
        status = judge_all(&judge, options.log);
    }
    release_cohort(&judge);
    free(judge.cohort.slots);
    free(judge.columns);
    free(judge.ratios);
    free(judge.order);
    free(judge.small_p);
    fth_fleet_reference_destroy(made);
    if (status == FTH_OK)
        *judgement = judge.judgement;
    else
        fth_fleet_judgement_destroy(judge.judgement);
    return status;
}

void fth_fleet_judgement_destroy(struct fth_fleet_judgement *judgement)
{
    if (!judgement)
        return;
    for (size_t i = 0; judgement->results && i < judgement->fleet->gpu_count; i++)
        free(judgement->results[i].findings);
    free(judgement->groups);
    fth_arena_fini(&judgement->arena);
    free(judgement);
}

struct fth_fleet_counts fth_fleet_judgement_counts(const struct fth_fleet_judgement *judgement)
{
    return (struct fth_fleet_counts){judgement->healthy, judgement->suspect, judgement->failed,
                                     judgement->not_judged};
}
