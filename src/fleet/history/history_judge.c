/* Adds to a judgement what the history of its GPUs shows: figures that became worse, as findings;
 * cards that were swapped or moved, as notes.
 *
 * This is a second test of each GPU, with the same permitted probability of a false alarm as the
 * comparison with the other GPUs. The findings of both tests are in one list, the most important
 * first. A GPU without a cause so far gets one from how its figures changed since the earlier
 * measurements, by the rules of judge/causes.c. */
#include "fleet/history/history.h"
#include "fleet/judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "compare with the history";

/* Defaults as in fth_fleet_judge, and the limits of severe findings. */
static const double default_false_alarms = 0.001, default_min_effect = 0.02;
static const double severe_effect = 0.05, severe_p = 0.01;

/* The comparison in progress. */
struct comparison {
    struct fth_fleet_judgement *judgement;
    struct fth_fleet_history *history;
    double false_alarms, min_effect;
    struct fth_history_noise noise;
    struct fth_buffer name; /* of the current GPU (fth_history_name) */
    uint32_t *columns;      /* [figures] column of the heat map; UINT32_MAX: none */
    float *ratios; /* [GPUs][columns] ln(newest / earlier measurements); NAN: not compared */
};

/* Returns the name of a judged GPU in the history; NULL: no memory. */
static const char *name_of(void *user, size_t index)
{
    struct comparison *comparison = user;
    const struct fth_fleet_gpu *gpu = &comparison->judgement->fleet->gpus[index];
    return fth_history_name(gpu, gpu->host, gpu->slot, &comparison->name);
}

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
                                  .newest = (uint32_t)(FTH_HISTORY_MAX_MEASUREMENTS + now->count));
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

/* Returns whether a finding is more important than another one, as in judge/judge.c. */
static bool precedes(const struct fth_fleet_finding *a, const struct fth_fleet_finding *b)
{
    if (a->severe != b->severe)
        return a->severe;
    if (a->worse != b->worse)
        return a->worse;
    return a->single_p < b->single_p;
}

/* Adds a finding behind those that are at least as important. */
static enum fth_status add_finding(struct fth_fleet_judgement *judgement,
                                   struct fth_fleet_result *result,
                                   const struct fth_fleet_finding *finding, struct fth_error *error)
{
    if (!fth_grow((void **)&result->findings, result->finding_count, &result->finding_capacity,
                  sizeof *result->findings))
        return fth_no_memory(error, operation, NULL);
    size_t at = result->finding_count++;
    for (; at > 0 && precedes(finding, &result->findings[at - 1]); at--)
        result->findings[at] = result->findings[at - 1];
    result->findings[at] = *finding;
    worsen(judgement, result, finding->severe);
    return FTH_OK;
}

/* Copies a text that may be NULL into the judgement. */
static const char *keep_text(struct fth_fleet_judgement *judgement, const char *text)
{
    return text ? fth_arena_text(&judgement->arena, text) : NULL;
}

/* Adds a change as a finding, unless the comparison with other GPUs already found the figure, and
 * found it as severe as the change is. */
static enum fth_status note_change(struct comparison *comparison, struct fth_fleet_result *result,
                                   const struct fth_history_change *change, const char *context,
                                   struct fth_error *error)
{
    struct fth_fleet_judgement *judgement = comparison->judgement;
    const struct fth_fleet_figure *figure = &judgement->fleet->figures[change->figure];
    struct fth_fleet_finding *known = find_finding(result, figure->name);
    const bool severe = figure->kind <= FTH_FLEET_TIME && fabs(change->effect) >= severe_effect &&
                        change->p * (double)judgement->fleet->gpu_count < severe_p;
    if (known && known->worse && (known->severe || !severe)) {
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
        .p = change->p,
        .single_p = change->single_p,
        .measurements = change->now_count,
        .deviating = change->now_count,
        .severe = severe,
        .history = true,
        .note = keep_text(judgement, context),
    };
    return add_finding(judgement, result, &finding, error);
}

/* Returns whether a change is a reason for suspicion. */
static bool is_reason(const struct comparison *comparison, const struct fth_history_change *change,
                      bool other_driver, enum fth_fleet_kind kind)
{
    if (!change->worse || change->p > comparison->false_alarms)
        return false;
    if (kind == FTH_FLEET_EXACT)
        return !other_driver; /* a new driver reports some properties in another way */
    return fabs(change->effect) >= comparison->min_effect;
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
    const char *name = name_of(comparison, index);
    if (!name)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(read_earlier(comparison, &now, name, earlier, &before, error));
    if (before.count == 0)
        return FTH_OK;
    FTH_TRY(fth_history_compare(&before, &now, &comparison->noise, &earlier->arena, &changes,
                                &count, error));
    FTH_TRY(fth_history_context(&before, &now, &earlier->arena, &context, error));
    const bool other_driver = has_other_driver(&before, &now);
    const size_t columns = comparison->judgement->column_count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t column = comparison->columns[changes[i].figure];
        if (column != UINT32_MAX)
            comparison->ratios[index * columns + column] = (float)log1p(changes[i].effect);
        if (is_reason(comparison, &changes[i], other_driver,
                      fleet->figures[changes[i].figure].kind))
            FTH_TRY(note_change(comparison, &comparison->judgement->results[index], &changes[i],
                                context, error));
    }
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

/* ---- causes ---- */

/* Allocates what the rules about causes need. */
static enum fth_status allocate(struct comparison *comparison, struct fth_error *error)
{
    const struct fth_fleet *fleet = comparison->judgement->fleet;
    const size_t cells = fleet->gpu_count * comparison->judgement->column_count;
    uint32_t column = 0;
    comparison->columns = calloc(fleet->figure_count + 1, sizeof *comparison->columns);
    comparison->ratios = calloc(cells + 1, sizeof *comparison->ratios);
    if (!comparison->columns || !comparison->ratios)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < fleet->figure_count; i++)
        comparison->columns[i] = fleet->figures[i].kind <= FTH_FLEET_TIME ? column++ : UINT32_MAX;
    for (size_t i = 0; i < cells; i++)
        comparison->ratios[i] = NAN;
    return FTH_OK;
}

/* Returns whether the cause of a GPU is to be found in its history. */
static bool lacks_cause(const struct fth_fleet_result *result)
{
    bool found = false;
    for (size_t i = 0; i < result->finding_count; i++)
        found = found || (result->findings[i].history && result->findings[i].worse);
    return found && !result->cause;
}

/* Names the causes of GPUs that have none, from the changes since their earlier measurements. The
 * rules see a copy of the judgement, in which the verdicts of the other GPUs are "healthy". */
static enum fth_status find_causes(struct comparison *comparison, struct fth_error *error)
{
    struct fth_fleet_judgement *judgement = comparison->judgement, copy = *judgement;
    struct fth_fleet *fleet = (struct fth_fleet *)judgement->fleet; /* the rules only read it */
    struct fth_judge judge = {.fleet = fleet,
                              .judgement = &copy,
                              .columns = comparison->columns,
                              .ratios = comparison->ratios,
                              .error = error};
    copy.results = calloc(fleet->gpu_count + 1, sizeof *copy.results);
    if (!copy.results)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        copy.results[i] = judgement->results[i];
        if (!lacks_cause(&judgement->results[i]))
            copy.results[i].verdict = FTH_FLEET_HEALTHY;
    }
    enum fth_status status = fth_judge_causes(&judge);
    judgement->arena = copy.arena; /* it has grown by the causes */
    for (size_t i = 0; i < fleet->gpu_count; i++)
        judgement->results[i].cause = copy.results[i].cause;
    free(copy.results);
    return status;
}

/* ---- cards ---- */

/* Copies a measurement of the judged fleet to a fleet, without values. The GPU gets the name that
 * it has in the history. */
static enum fth_status copy_measurement(struct comparison *comparison,
                                        const struct fth_fleet_measurement *measurement,
                                        struct fth_fleet *to, struct fth_error *error)
{
    const struct fth_fleet *from = comparison->judgement->fleet;
    struct fth_fleet_draft draft = {.gpu = from->gpus[measurement->gpu],
                                    .time = measurement->time,
                                    .file = measurement->file,
                                    .fingerprint = measurement->fingerprint,
                                    .fingerprint_count = measurement->fingerprint_count};
    draft.gpu.host = measurement->host ? measurement->host : draft.gpu.host;
    draft.gpu.slot = measurement->slot ? measurement->slot : draft.gpu.slot;
    draft.gpu.name = draft.path =
        fth_history_name(&draft.gpu, draft.gpu.host, draft.gpu.slot, &comparison->name);
    if (!draft.gpu.name)
        return fth_no_memory(error, operation, NULL);
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
                                              .history = true,
                                              .note = "The fingerprint shows another chip than "
                                                      "before: the board was repaired, or the UUID "
                                                      "is not genuine."};
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
        FTH_FLEET_HISTORY_OPTIONS(.newest = FTH_HISTORY_MAX_MEASUREMENTS,
                                  .until = first < INT64_MAX ? first : 0);
    FTH_TRY(fth_history_load(comparison->history, &options, false, all, error));
    for (size_t i = 0; i < fleet->measurement_count; i++)
        FTH_TRY(copy_measurement(comparison, &fleet->measurements[i], all, error));
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
    enum fth_status status = allocate(&comparison, error);
    if (status == FTH_OK)
        status = fth_history_estimate_noise(history, judgement->fleet->gpu_count, name_of,
                                            &comparison, &comparison.noise, error);
    if (status == FTH_OK)
        status = compare_all(&comparison, error);
    if (status == FTH_OK)
        status = fth_fleet_create(&all, error);
    if (status == FTH_OK)
        status = note_cards(&comparison, all, error);
    if (status == FTH_OK)
        status = find_causes(&comparison, error);
    fth_fleet_destroy(all);
    fth_history_noise_fini(&comparison.noise);
    fth_buffer_fini(&comparison.name);
    free(comparison.columns);
    free(comparison.ratios);
    return status;
}
