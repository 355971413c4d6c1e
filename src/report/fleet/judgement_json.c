/* Writes a judgement as a fathom-fleet/2 document (docs/report.md). The document of a large fleet
 * stays small: it lists only GPUs that are not healthy, up to a limit, the largest cohorts with
 * their figures, and the first groups. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the document, chosen so that it stays below 800 kB: GPUs, cohorts, figures of all
 * cohorts together (a figure takes about 500 bytes) and files that could not be read; bytes of the
 * lists of GPUs, groups, problems and missing GPUs. judgement_heat.c has the limits of the heat
 * map. With the option `all`, there is no limit of the GPUs. */
enum { MAX_GPUS = 1000, MAX_COHORTS = 150, MAX_FIGURES = 400, MAX_PROBLEMS = 200 };
enum { MAX_GPU_BYTES = 300000, MAX_GROUP_BYTES = 40000, MAX_PROBLEM_BYTES = 40000 };
enum { MAX_MISSING_BYTES = 20000 };
/* Significant digits of values and of statistics. */
enum { VALUE_DIGITS = 7, STATISTIC_DIGITS = 4 };

static void put_count(struct fth_json_writer *json, const char *key, size_t count)
{
    fth_json_key(json, key);
    fth_json_number(json, (double)count);
}

static void put_number(struct fth_json_writer *json, const char *key, double number, int digits)
{
    fth_json_key(json, key);
    fth_json_number(json, fth_round_digits(number, digits));
}

static void put_text(struct fth_json_writer *json, const char *key, const char *text)
{
    fth_json_key(json, key);
    fth_json_text_or_null(json, text);
}

static void put_bool(struct fth_json_writer *json, const char *key, bool value)
{
    fth_json_key(json, key);
    fth_json_bool(json, value);
}

/* ---- the head ---- */

static void put_counts(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    const struct fth_fleet *fleet = judgement->fleet;
    fth_json_key(json, "options");
    fth_json_begin(json, '{', true);
    put_number(json, "false_alarms", judgement->false_alarms, VALUE_DIGITS);
    put_number(json, "min_effect", judgement->min_effect, VALUE_DIGITS);
    fth_json_end(json, '}');
    fth_json_key(json, "counts");
    fth_json_begin(json, '{', true);
    put_count(json, "gpus", fleet->gpu_count);
    put_count(json, "measurements", fleet->measurement_count);
    put_count(json, "healthy", judgement->healthy);
    put_count(json, "suspect", judgement->suspect);
    put_count(json, "failed", judgement->failed);
    put_count(json, "not_judged", judgement->not_judged);
    put_count(json, "problems", fleet->problem_count);
    fth_json_end(json, '}');
}

/* Writes what was expected and is missing, if the user stated what to expect. */
static void put_expected(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    size_t listed = 0;
    if (!judgement->expects)
        return;
    fth_json_key(json, "expected");
    fth_json_begin(json, '{', false);
    put_number(json, "gpus", judgement->expected_gpus ? (double)judgement->expected_gpus : NAN,
               VALUE_DIGITS);
    fth_json_key(json, "missing");
    fth_json_begin(json, '[', false);
    for (const size_t start = json->out->size;
         listed < judgement->missing_count && json->out->size - start <= MAX_MISSING_BYTES;
         listed++) {
        fth_json_begin(json, '{', true);
        put_text(json, "host", judgement->missing[listed].host);
        put_text(json, "gpu", judgement->missing[listed].gpu);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
    put_count(json, "missing_left_out", judgement->missing_count - listed);
    fth_json_end(json, '}');
}

static void put_problems(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    const struct fth_fleet *fleet = judgement->fleet;
    const size_t start = json->out->size;
    fth_json_key(json, "problems");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < fleet->problem_count && i < MAX_PROBLEMS &&
                       json->out->size - start <= MAX_PROBLEM_BYTES;
         i++) {
        fth_json_begin(json, '{', true);
        put_text(json, "file", fleet->problems[i].file);
        put_text(json, "reason", fleet->problems[i].reason);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
    fth_json_key(json, "notes");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < judgement->note_count; i++)
        fth_json_text(json, judgement->notes[i]);
    fth_json_end(json, ']');
}

/* ---- cohorts ---- */

static void put_figure(const struct fth_fleet_figure_summary *figure, struct fth_json_writer *json)
{
    fth_json_begin(json, '{', true);
    put_text(json, "figure", figure->name);
    put_text(json, "kind", fth_fleet_kind_name(figure->kind));
    put_count(json, "gpus", figure->gpu_count);
    put_number(json, "median", figure->median, VALUE_DIGITS);
    put_number(json, "spread", figure->spread, STATISTIC_DIGITS);
    put_number(json, "noise", figure->noise, STATISTIC_DIGITS);
    put_number(json, "low", figure->low, VALUE_DIGITS);
    put_number(json, "high", figure->high, VALUE_DIGITS);
    put_number(json, "detectable", figure->detectable, STATISTIC_DIGITS);
    put_text(json, "usual", figure->usual);
    put_text(json, "reason", figure->reason);
    put_number(json, "from", figure->bin_count ? figure->from : (double)NAN, VALUE_DIGITS);
    put_number(json, "to", figure->bin_count ? figure->to : (double)NAN, VALUE_DIGITS);
    fth_json_key(json, "bins");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < figure->bin_count; i++)
        fth_json_number(json, figure->bins[i]);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

/* What is written of a cohort. */
struct extent {
    const struct fth_fleet_cohort_summary *cohort;
    bool listed;
    size_t figures; /* the first ones */
};

/* The largest first; those of the same size in the order of the judgement. */
static int by_size(const void *a, const void *b)
{
    const struct fth_fleet_cohort_summary *x = ((const struct extent *)a)->cohort;
    const struct fth_fleet_cohort_summary *y = ((const struct extent *)b)->cohort;
    if (x->cohort.gpu_count != y->cohort.gpu_count)
        return x->cohort.gpu_count > y->cohort.gpu_count ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_address(const void *a, const void *b)
{
    const struct fth_fleet_cohort_summary *x = ((const struct extent *)a)->cohort;
    const struct fth_fleet_cohort_summary *y = ((const struct extent *)b)->cohort;
    return (x > y) - (x < y);
}

/* Chooses the largest cohorts and, of these, the first ones whose figures do not exceed the limit.
 * Returns an array in the order of the judgement, which the caller frees; NULL: no memory. */
static struct extent *choose_cohorts(const struct fth_fleet_judgement *judgement)
{
    const size_t count = judgement->cohort_count;
    struct extent *extents = calloc(count + 1, sizeof *extents);
    size_t figures = 0;
    for (size_t i = 0; extents && i < count; i++)
        extents[i].cohort = &judgement->cohorts[i];
    if (!extents || count == 0)
        return extents;
    qsort(extents, count, sizeof *extents, by_size);
    for (size_t i = 0; i < count && i < MAX_COHORTS; i++) {
        const size_t own = extents[i].cohort->figure_count;
        extents[i].listed = true;
        if (i == 0)
            extents[i].figures = FTH_MIN(own, (size_t)MAX_FIGURES);
        else
            extents[i].figures = figures + own <= MAX_FIGURES ? own : 0;
        figures += own; /* also those that are left out: a smaller cohort does not replace them */
    }
    qsort(extents, count, sizeof *extents, by_address);
    return extents;
}

static void put_cohort(const struct extent *extent, size_t index, struct fth_json_writer *json)
{
    const struct fth_fleet_cohort_summary *cohort = extent->cohort;
    fth_json_begin(json, '{', false);
    put_count(json, "id", index);
    put_text(json, "model", cohort->cohort.model);
    put_text(json, "backend", cohort->cohort.backend);
    put_bool(json, "simulated", cohort->cohort.simulated);
    put_text(json, "driver", cohort->cohort.driver);
    put_text(json, "board", cohort->cohort.board);
    put_count(json, "gpus", cohort->cohort.gpu_count);
    put_count(json, "measurements", cohort->measurement_count);
    put_count(json, "healthy", cohort->healthy);
    put_count(json, "suspect", cohort->suspect);
    put_count(json, "failed", cohort->failed);
    put_count(json, "not_judged", cohort->not_judged);
    put_text(json, "reason", cohort->reason);
    put_count(json, "figures_left_out", cohort->figure_count - extent->figures);
    fth_json_key(json, "figures");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < extent->figures; i++)
        put_figure(&cohort->figures[i], json);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

static void put_cohorts(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    struct extent *extents = choose_cohorts(judgement);
    size_t listed = 0;
    json->out->failed = json->out->failed || !extents;
    fth_json_key(json, "cohorts");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; extents && i < judgement->cohort_count; i++)
        if (extents[i].listed) {
            put_cohort(&extents[i], i, json);
            listed++;
        }
    fth_json_end(json, ']');
    put_count(json, "cohorts_left_out", judgement->cohort_count - listed);
    free(extents);
}

/* ---- GPUs ---- */

/* Writes a value of a finding: a number or a text. */
static void put_value(struct fth_json_writer *json, const char *key, double number,
                      const char *text)
{
    if (text)
        put_text(json, key, text);
    else
        put_number(json, key, number, VALUE_DIGITS);
}

static void put_finding(const struct fth_fleet_finding *finding, struct fth_json_writer *json)
{
    fth_json_begin(json, '{', true);
    put_text(json, "figure", finding->figure);
    put_text(json, "kind", fth_fleet_kind_name(finding->kind));
    put_value(json, "value", finding->value, finding->text);
    put_value(json, "usual", finding->usual, finding->usual_text);
    put_number(json, "effect", finding->effect, STATISTIC_DIGITS);
    put_bool(json, "worse", finding->worse);
    put_number(json, "distance", finding->distance, STATISTIC_DIGITS);
    put_number(json, "p", finding->p, STATISTIC_DIGITS);
    put_count(json, "measurements", finding->measurements);
    put_count(json, "deviating", finding->deviating);
    put_bool(json, "severe", finding->severe);
    if (finding->history)
        put_bool(json, "history", true);
    if (finding->note)
        put_text(json, "note", finding->note);
    fth_json_end(json, '}');
}

/* Writes the last values of the figures that are not judged: temperature, power ... */
static void put_context(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                        struct fth_json_writer *json)
{
    const struct fth_fleet_measurement *last = fth_last_measurement(fleet, gpu);
    fth_json_key(json, "context");
    fth_json_begin(json, '{', true);
    for (size_t i = 0; last && i < last->value_count; i++) {
        const struct fth_fleet_value *value = &last->values[i];
        if (fleet->figures[value->figure].kind == FTH_FLEET_CONTEXT)
            put_value(json, fleet->figures[value->figure].name, value->number, value->text);
    }
    fth_json_end(json, '}');
}

static void put_gpu(const struct fth_fleet_judgement *judgement,
                    const struct fth_fleet_result *result, struct fth_json_writer *json)
{
    const struct fth_fleet_gpu *gpu = fth_judged_gpu(judgement, result);
    fth_json_begin(json, '{', true);
    put_text(json, "gpu", gpu->name);
    put_text(json, "host", gpu->host);
    put_text(json, "slot", gpu->slot);
    put_text(json, "group", gpu->group);
    put_count(json, "cohort", gpu->cohort);
    put_text(json, "verdict", fth_verdict_name(result->verdict));
    put_count(json, "measurements", gpu->measurement_count);
    put_text(json, "cause", result->cause);
    put_text(json, "reason", result->reason);
    put_context(judgement->fleet, gpu, json);
    fth_json_key(json, "findings");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < result->finding_count; i++)
        put_finding(&result->findings[i], json);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

static void put_gpus(const struct fth_fleet_judgement *judgement,
                     const struct fth_report_options *options, struct fth_json_writer *json)
{
    const struct fth_fleet_result **order = fth_judgement_order(judgement, json->out);
    const size_t start = json->out->size;
    size_t wanted = 0, listed = 0;
    fth_json_key(json, "gpus");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; order && i < judgement->fleet->gpu_count; i++) {
        if (!options->all && order[i]->verdict == FTH_FLEET_HEALTHY)
            continue;
        wanted++;
        if (!options->all && (listed == MAX_GPUS || json->out->size - start > MAX_GPU_BYTES))
            continue;
        put_gpu(judgement, order[i], json);
        listed++;
    }
    fth_json_end(json, ']');
    put_count(json, "gpus_left_out", wanted - listed);
    free((void *)order);
}

static void put_groups(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    const size_t start = json->out->size;
    size_t listed = 0;
    fth_json_key(json, "groups");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < judgement->group_count && json->out->size - start <= MAX_GROUP_BYTES;
         i++, listed++) {
        const struct fth_fleet_group_finding *group = &judgement->groups[i];
        fth_json_begin(json, '{', true);
        put_text(json, "kind", group->kind);
        put_text(json, "name", group->name);
        put_text(json, "figure", group->figure);
        put_count(json, "gpus", group->gpu_count);
        put_number(json, "value", group->value, VALUE_DIGITS);
        put_number(json, "usual", group->usual, VALUE_DIGITS);
        put_number(json, "effect", group->effect, STATISTIC_DIGITS);
        put_number(json, "p", group->p, STATISTIC_DIGITS);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
    put_count(json, "groups_left_out", judgement->group_count - listed);
}

void fth_judgement_json(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    put_text(&json, "schema", "fathom-fleet/2");
    put_counts(judgement, &json);
    put_expected(judgement, &json);
    put_problems(judgement, &json);
    put_cohorts(judgement, &json);
    put_gpus(judgement, options, &json);
    put_groups(judgement, &json);
    fth_json_key(&json, "heat_map");
    if (!fth_judgement_heat_map(judgement, &json))
        out->failed = true;
    fth_json_end(&json, '}');
}
