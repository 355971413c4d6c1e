/* Adds to a judgement what the history of its GPUs shows: figures that became worse, as findings;
 * cards that were swapped or moved, as notes.
 *
 * This is a second test of each GPU, with the same permitted probability of a false alarm as the
 * comparison with the other GPUs: the p-value of each figure is multiplied by the number of figures
 * that were tested. */
#include "fleet/history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "compare with the history";

/* Earlier measurements of each GPU that are used. Chosen: a season of weekly measurements. */
enum { MAX_EARLIER = 40 };
/* GPUs from which the noise is estimated. Chosen: enough for 1 % of precision. */
enum { MAX_NOISE_GPUS = 400 };
/* Defaults as in fth_fleet_judge, and the limits of severe findings. */
static const double default_false_alarms = 0.001, default_min_effect = 0.02;
static const double severe_effect = 0.05, severe_p = 0.01;

/* The comparison in progress. */
struct comparison {
    struct fth_fleet_judgement *judgement;
    struct fth_fleet_history *history;
    double false_alarms, min_effect;
    struct fth_history_noise noise;
};

/* ---- earlier measurements ---- */

/* Returns the time of the first of the newest measurements, 0 if one has no time. */
static int64_t first_time(const struct fth_history_span *now)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < now->count; i++) {
        const int64_t time = now->fleet->measurements[now->measurements[i]].time;
        first = time < first ? time : first;
    }
    return first == INT64_MAX ? 0 : first;
}

static bool same_values(const struct fth_fleet *old_fleet, const struct fth_fleet_measurement *old,
                        const struct fth_fleet *new_fleet, const struct fth_fleet_measurement *new)
{
    if (old->value_count != new->value_count)
        return false;
    for (size_t i = 0; i < old->value_count; i++) {
        const struct fth_fleet_value *value = &old->values[i];
        const uint32_t figure =
            fth_fleet_figure_find(new_fleet, old_fleet->figures[value->figure].name);
        const struct fth_fleet_value *other =
            figure == UINT32_MAX ? NULL : fth_fleet_find(new, figure);
        if (!other || (value->text != NULL) != (other->text != NULL) ||
            (value->text ? strcmp(value->text, other->text) != 0 : value->number != other->number))
            return false;
    }
    return true;
}

/* Returns whether a measurement of the history is one of those that are judged, or was made
 * later. */
static bool is_new(const struct fth_fleet *fleet, const struct fth_fleet_measurement *measurement,
                   const struct fth_history_span *now, int64_t first)
{
    if (first > 0 && measurement->time > 0)
        return measurement->time >= first;
    for (size_t i = 0; i < now->count; i++)
        if (same_values(fleet, measurement, now->fleet,
                        &now->fleet->measurements[now->measurements[i]]))
            return true;
    return false;
}

/* Reads the earlier measurements of a GPU. `before` refers to the fleet; its indices are in the
 * arena of the fleet. */
static enum fth_status read_earlier(struct comparison *comparison,
                                    const struct fth_history_span *now, const char *name,
                                    struct fth_fleet *fleet, struct fth_history_span *before,
                                    struct fth_error *error)
{
    const int64_t first = first_time(now);
    const struct fth_fleet_history_options options =
        FTH_FLEET_HISTORY_OPTIONS(.gpu = name, .until = first,
                                  .newest = (uint32_t)(MAX_EARLIER + now->count));
    *before = (struct fth_history_span){.fleet = fleet};
    FTH_TRY(fth_history_load(comparison->history, &options, true, fleet, error));
    FTH_TRY(fth_fleet_arrange(fleet, NULL, error));
    size_t *indices = fth_arena_array(&fleet->arena, fleet->measurement_count + 1, sizeof *indices);
    if (!indices)
        return fth_no_memory(error, operation, NULL);
    before->measurements = indices;
    for (size_t i = 0; i < fleet->measurement_count; i++)
        if (!is_new(fleet, &fleet->measurements[fleet->by_gpu[i]], now, first))
            indices[before->count++] = fleet->by_gpu[i];
    return FTH_OK;
}

/* Estimates the noise from the newest GPUs of the judgement that have a history. */
static enum fth_status estimate_noise(struct comparison *comparison, struct fth_error *error)
{
    const struct fth_fleet *fleet = comparison->judgement->fleet;
    const size_t step = fleet->gpu_count / MAX_NOISE_GPUS + 1;
    struct fth_fleet *sample = NULL;
    FTH_TRY(fth_fleet_create(&sample, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fleet->gpu_count && status == FTH_OK; i += step) {
        const struct fth_fleet_history_options options =
            FTH_FLEET_HISTORY_OPTIONS(.gpu = fleet->gpus[i].name, .newest = MAX_EARLIER);
        status = fth_history_load(comparison->history, &options, true, sample, error);
    }
    if (status == FTH_OK)
        status = fth_fleet_arrange(sample, NULL, error);
    if (status == FTH_OK)
        status = fth_history_noise(sample, &comparison->noise, error);
    fth_fleet_destroy(sample);
    return status;
}

/* ---- findings ---- */

static struct fth_fleet_finding *find_finding(struct fth_fleet_result *result, const char *figure)
{
    for (size_t i = 0; i < result->finding_count; i++)
        if (strcmp(result->findings[i].figure, figure) == 0)
            return &result->findings[i];
    return NULL;
}

/* Returns the number of GPUs with a verdict, in the judgement or in a cohort. */
static size_t *counter(size_t *healthy, size_t *suspect, size_t *failed, size_t *not_judged,
                       enum fth_fleet_verdict verdict)
{
    switch (verdict) {
    case FTH_FLEET_HEALTHY: return healthy;
    case FTH_FLEET_SUSPECT: return suspect;
    case FTH_FLEET_FAILED: return failed;
    default: return not_judged;
    }
}

/* Makes the verdict of a GPU at least as bad. */
static void worsen(struct fth_fleet_judgement *judgement, struct fth_fleet_result *result,
                   bool severe)
{
    const enum fth_fleet_verdict verdict = severe ? FTH_FLEET_FAILED : FTH_FLEET_SUSPECT;
    struct fth_fleet_judgement *all = judgement;
    if (result->verdict == FTH_FLEET_FAILED || result->verdict == verdict)
        return;
    const uint32_t cohort = judgement->fleet->gpus[result->gpu].cohort;
    --*counter(&all->healthy, &all->suspect, &all->failed, &all->not_judged, result->verdict);
    ++*counter(&all->healthy, &all->suspect, &all->failed, &all->not_judged, verdict);
    if (cohort < judgement->cohort_count) {
        struct fth_fleet_cohort_summary *one = &judgement->cohorts[cohort];
        --*counter(&one->healthy, &one->suspect, &one->failed, &one->not_judged, result->verdict);
        ++*counter(&one->healthy, &one->suspect, &one->failed, &one->not_judged, verdict);
    }
    result->verdict = verdict;
    result->reason = NULL;
}

static enum fth_status add_finding(struct fth_fleet_judgement *judgement,
                                   struct fth_fleet_result *result,
                                   const struct fth_fleet_finding *finding, struct fth_error *error)
{
    if (!fth_grow((void **)&result->findings, result->finding_count, &result->finding_capacity,
                  sizeof *result->findings))
        return fth_no_memory(error, operation, NULL);
    result->findings[result->finding_count++] = *finding;
    worsen(judgement, result, finding->severe);
    return FTH_OK;
}

/* Copies a text that may be NULL into the judgement. */
static const char *keep_text(struct fth_fleet_judgement *judgement, const char *text)
{
    return text ? fth_arena_text(&judgement->arena, text) : NULL;
}

/* Adds a change as a finding, unless the comparison with other GPUs already found the figure. */
static enum fth_status note_change(struct comparison *comparison, struct fth_fleet_result *result,
                                   const struct fth_history_change *change, size_t tested,
                                   const char *context, struct fth_error *error)
{
    struct fth_fleet_judgement *judgement = comparison->judgement;
    const struct fth_fleet_figure *figure = &judgement->fleet->figures[change->figure];
    const double p = fmin(1, change->p * (double)tested);
    struct fth_fleet_finding *known = find_finding(result, figure->name);
    if (known && known->worse) {
        known->note = known->note ? known->note : keep_text(judgement, context);
        return FTH_OK;
    }
    const struct fth_fleet_finding finding = {
        .figure = figure->name,
        .kind = figure->kind,
        .value = change->now,
        .usual = change->before,
        .text = change->now_text,
        .usual_text = keep_text(judgement, change->before_text),
        .effect = change->effect,
        .worse = change->worse,
        .distance = change->distance,
        .p = p,
        .single_p = change->p,
        .measurements = change->now_count,
        .deviating = change->now_count,
        .severe = figure->kind <= FTH_FLEET_TIME && fabs(change->effect) >= severe_effect &&
                  p * (double)judgement->fleet->gpu_count < severe_p,
        .history = true,
        .note = keep_text(judgement, context),
    };
    return add_finding(judgement, result, &finding, error);
}

/* Returns whether a change is a reason for suspicion. */
static bool is_reason(const struct comparison *comparison, const struct fth_history_change *change,
                      size_t tested, bool other_driver, enum fth_fleet_kind kind)
{
    if (kind == FTH_FLEET_EXACT)
        return !other_driver; /* a new driver reports some properties in another way */
    return change->worse && change->p * (double)tested <= comparison->false_alarms &&
           fabs(change->effect) >= comparison->min_effect;
}

/* Returns the number of changes that have a p-value. */
static size_t count_tested(const struct fth_fleet *fleet, const struct fth_history_change *changes,
                           size_t count)
{
    size_t tested = 0;
    for (size_t i = 0; i < count; i++)
        tested += fleet->figures[changes[i].figure].kind <= FTH_FLEET_TIME;
    return tested;
}

static bool has_other_driver(const struct fth_history_span *before,
                             const struct fth_history_span *now)
{
    const char *old = before->fleet->measurements[before->measurements[before->count - 1]].driver;
    const char *new = now->fleet->measurements[now->measurements[0]].driver;
    return old && new &&strcmp(old, new) != 0;
}

/* Compares one GPU with its earlier measurements. `earlier` is an empty fleet. */
static enum fth_status compare_gpu(struct comparison *comparison, size_t index,
                                   struct fth_fleet *earlier, struct fth_error *error)
{
    const struct fth_fleet *fleet = comparison->judgement->fleet;
    const struct fth_fleet_gpu *gpu = &fleet->gpus[index];
    const struct fth_history_span now = {fleet, fleet->by_gpu + gpu->first_measurement,
                                         gpu->measurement_count};
    struct fth_history_span before;
    struct fth_history_change *changes = NULL;
    size_t count = 0;
    const char *context = NULL;
    FTH_TRY(read_earlier(comparison, &now, gpu->name, earlier, &before, error));
    if (before.count == 0)
        return FTH_OK;
    FTH_TRY(fth_history_compare(&before, &now, &comparison->noise, &earlier->arena, &changes,
                                &count, error));
    FTH_TRY(fth_history_context(&before, &now, &earlier->arena, &context, error));
    const size_t tested = count_tested(fleet, changes, count);
    const bool other_driver = has_other_driver(&before, &now);
    for (size_t i = 0; i < count; i++)
        if (is_reason(comparison, &changes[i], tested, other_driver,
                      fleet->figures[changes[i].figure].kind))
            FTH_TRY(note_change(comparison, &comparison->judgement->results[index], &changes[i],
                                tested, context, error));
    return FTH_OK;
}

static enum fth_status compare_all(struct comparison *comparison, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < comparison->judgement->fleet->gpu_count && status == FTH_OK; i++) {
        struct fth_fleet *earlier = NULL;
        status = fth_fleet_create(&earlier, error);
        if (status == FTH_OK)
            status = compare_gpu(comparison, i, earlier, error);
        fth_fleet_destroy(earlier);
    }
    return status;
}

/* ---- cards ---- */

/* Copies a measurement of the judged fleet to a fleet, without values. */
static enum fth_status copy_measurement(const struct fth_fleet *from,
                                        const struct fth_fleet_measurement *measurement,
                                        struct fth_fleet *to, struct fth_error *error)
{
    struct fth_fleet_draft draft = {.gpu = from->gpus[measurement->gpu],
                                    .time = measurement->time,
                                    .file = measurement->file,
                                    .fingerprint = measurement->fingerprint,
                                    .fingerprint_count = measurement->fingerprint_count};
    draft.gpu.host = measurement->host ? measurement->host : draft.gpu.host;
    draft.gpu.slot = measurement->slot ? measurement->slot : draft.gpu.slot;
    return fth_fleet_add(to, &draft, error);
}

/* Notes that a judgement has at most; a last one says how many there are more. Chosen. */
enum { MAX_NOTES = 100 };

static enum fth_status add_note(struct fth_fleet_judgement *judgement, const char *sentence,
                                struct fth_error *error)
{
    if (!judgement->notes) {
        judgement->notes =
            fth_arena_array(&judgement->arena, MAX_NOTES + 1, sizeof *judgement->notes);
        judgement->note_capacity = judgement->notes ? MAX_NOTES + 1 : 0;
    }
    const char *text = fth_arena_text(&judgement->arena, sentence);
    if (!text || !judgement->notes)
        return fth_no_memory(error, operation, NULL);
    judgement->notes[judgement->note_count++] = text;
    return FTH_OK;
}

/* Adds a note, unless there are too many. *count: of all notes so far. */
static enum fth_status add_few_notes(struct fth_fleet_judgement *judgement, const char *sentence,
                                     size_t *count, struct fth_error *error)
{
    return (*count)++ < MAX_NOTES ? add_note(judgement, sentence, error) : FTH_OK;
}

/* Adds the last note if there are too many. */
static enum fth_status add_last_note(struct fth_fleet_judgement *judgement, size_t count,
                                     struct fth_error *error)
{
    char text[80];
    if (count <= MAX_NOTES)
        return FTH_OK;
    snprintf(text, sizeof text, "%zu more cards; 'fathom fleet history' lists them after 'add'",
             count - MAX_NOTES);
    return add_note(judgement, text, error);
}

/* Returns the index of the judged GPU with this name, or the number of GPUs. */
static size_t find_gpu(const struct fth_fleet *fleet, const char *name)
{
    size_t i = 0;
    while (i < fleet->gpu_count && strcmp(fleet->gpus[i].name, name) != 0)
        i++;
    return i;
}

/* Adds an event that the newest measurements show. Another chip is also a finding. */
static enum fth_status note_event(struct fth_fleet_judgement *judgement,
                                  const struct fth_fleet *all, const struct fth_card_event *event,
                                  size_t *count, struct fth_error *error)
{
    FTH_TRY(add_few_notes(judgement, event->sentence, count, error));
    const size_t gpu = find_gpu(judgement->fleet, all->gpus[event->gpu].name);
    if (event->kind != FTH_CARD_OTHER_CHIP || gpu == judgement->fleet->gpu_count)
        return FTH_OK;
    const struct fth_fleet_finding finding = {.figure = "l2.latency_by_sm_cycles",
                                              .kind = FTH_FLEET_EXACT,
                                              .value = NAN,
                                              .usual = NAN,
                                              .text = "another chip",
                                              .usual_text = "the chip of this UUID",
                                              .effect = NAN,
                                              .worse = true,
                                              .distance = event->distance,
                                              .p = 0,
                                              .measurements = 1,
                                              .deviating = 1,
                                              .history = true};
    return add_finding(judgement, &judgement->results[gpu], &finding, error);
}

/* Finds the events in the history together with the newest measurements. */
static enum fth_status note_cards(struct comparison *comparison, struct fth_fleet *all,
                                  struct fth_error *error)
{
    struct fth_fleet_judgement *judgement = comparison->judgement;
    const struct fth_fleet *fleet = judgement->fleet;
    struct fth_card_events events = {.count = 0};
    int64_t first = INT64_MAX;
    size_t count = 0;
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const int64_t time = fleet->measurements[i].time;
        first = time > 0 && time < first ? time : first;
    }
    /* The history may already have the measurements that are judged. Without the time limit, these
     * would count twice. */
    const struct fth_fleet_history_options options =
        FTH_FLEET_HISTORY_OPTIONS(.newest = MAX_EARLIER, .until = first < INT64_MAX ? first : 0);
    FTH_TRY(fth_history_load(comparison->history, &options, false, all, error));
    for (size_t i = 0; i < fleet->measurement_count; i++)
        FTH_TRY(copy_measurement(fleet, &fleet->measurements[i], all, error));
    FTH_TRY(fth_fleet_arrange(all, NULL, error));
    enum fth_status status = fth_card_events_find(all, &events, error);
    for (size_t i = 0; i < events.count && status == FTH_OK; i++)
        if (events.items[i].time >= first)
            status = note_event(judgement, all, &events.items[i], &count, error);
    if (status == FTH_OK)
        status = add_last_note(judgement, count, error);
    fth_card_events_fini(&events);
    return status;
}

enum fth_status fth_fleet_judge_history(struct fth_fleet_judgement *judgement,
                                        struct fth_fleet_history *history,
                                        const struct fth_fleet_judge_options *options,
                                        struct fth_error *error)
{
    struct fth_fleet_judge_options known;
    struct comparison comparison = {.judgement = judgement, .history = history};
    struct fth_fleet *all = NULL;
    FTH_TRY(fth_options_read("fth_fleet_judge_options", options, &known, sizeof known, error));
    comparison.false_alarms = known.false_alarms > 0 ? known.false_alarms : default_false_alarms;
    comparison.min_effect = known.min_effect > 0 ? known.min_effect : default_min_effect;
    enum fth_status status = estimate_noise(&comparison, error);
    if (status == FTH_OK)
        status = compare_all(&comparison, error);
    if (status == FTH_OK)
        status = fth_fleet_create(&all, error);
    if (status == FTH_OK)
        status = note_cards(&comparison, all, error);
    fth_fleet_destroy(all);
    fth_history_noise_fini(&comparison.noise);
    return status;
}
