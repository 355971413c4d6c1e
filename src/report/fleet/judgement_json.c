/* Writes a judgement as a fathom-fleet/2 document (docs/report.md). The document of a large fleet
 * stays small: it lists only GPUs that are not healthy, up to a limit, and the figures of the
 * largest cohorts. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the document, chosen so that it stays below 700 kB: GPUs, bytes of their list, files
 * that could not be read, and figures of cohorts (a figure takes about 500 bytes). With the option
 * `all`, there is no limit of the first two. */
enum { MAX_GPUS = 1000, MAX_GPU_BYTES = 300000, MAX_PROBLEMS = 200, MAX_FIGURES = 400 };
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

static void put_problems(const struct fth_fleet_judgement *judgement, struct fth_json_writer *json)
{
    const struct fth_fleet *fleet = judgement->fleet;
    fth_json_key(json, "problems");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < fleet->problem_count && i < MAX_PROBLEMS; i++) {
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

/* Returns whether the figures of a cohort are written: those of the largest cohorts, up to a limit.
 */
static bool has_figures(const struct fth_fleet_judgement *judgement, size_t index)
{
    const struct fth_fleet_cohort_summary *cohort = &judgement->cohorts[index];
    size_t before = 0; /* figures of larger cohorts */
    for (size_t i = 0; i < judgement->cohort_count; i++) {
        const struct fth_fleet_cohort_summary *other = &judgement->cohorts[i];
        if (other->cohort.gpu_count > cohort->cohort.gpu_count ||
            (other->cohort.gpu_count == cohort->cohort.gpu_count && i < index))
            before += other->figure_count;
    }
    return before == 0 || before + cohort->figure_count <= MAX_FIGURES;
}

static void put_cohort(const struct fth_fleet_judgement *judgement, size_t index,
                       struct fth_json_writer *json)
{
    const struct fth_fleet_cohort_summary *cohort = &judgement->cohorts[index];
    const bool figures = has_figures(judgement, index);
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
    put_count(json, "figures_left_out", figures ? 0 : cohort->figure_count);
    fth_json_key(json, "figures");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; figures && i < cohort->figure_count; i++)
        put_figure(&cohort->figures[i], json);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
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
    fth_json_key(json, "groups");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < judgement->group_count; i++) {
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
}

void fth_judgement_json(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    put_text(&json, "schema", "fathom-fleet/2");
    put_counts(judgement, &json);
    put_problems(judgement, &json);
    fth_json_key(&json, "cohorts");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < judgement->cohort_count; i++)
        put_cohort(judgement, i, &json);
    fth_json_end(&json, ']');
    put_gpus(judgement, options, &json);
    put_groups(judgement, &json);
    fth_json_key(&json, "heat_map");
    if (!fth_judgement_heat_map(judgement, &json))
        out->failed = true;
    fth_json_end(&json, '}');
}
