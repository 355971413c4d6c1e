/* Has a GPU changed? Compares its newest measurements with its own earlier ones, figure by figure.
 *
 * Rates and times are compared by their logarithms. The change is the difference of the medians; it
 * is divided by its standard deviation, which follows from the noise from run to run. The noise
 * comes from the earlier measurements of the GPU and from those of all GPUs of the history, which
 * matter most if the GPU has few. Both are estimated from the differences of successive
 * measurements, so that an old change is not taken as noise. The probability of such a change
 * without a cause is that of Student's distribution.
 *
 * Sizes, counts and texts have changed if all earlier values are equal and all newest ones are
 * equal to each other but not to them. A value of the driver is right. A measured value can be
 * wrong by chance; the probability that all newest values are wrong is the p-value. The probability
 * of one wrong value is the smaller one of 1 - confidence and the rate at which such values differ
 * from one measurement to the next in the history (judge_exact.c works in the same way).
 *
 * All p-values are multiplied by the number of figures that were tested (Bonferroni).
 *
 * Assumption: the noise of the earlier measurements contains what differs from day to day. If all
 * of them were made within minutes, it does not, and only the minimum effect of the judgement
 * prevents alarms. */
#include "fleet/history/history.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "compare with the history";

/* Maximum degrees of freedom of the noise of all other GPUs together. Chosen: a GPU with about 45
 * measurements then has the same weight as all other GPUs. */
#define MAX_SHARED_FREEDOM 30.0
/* Degrees of freedom of the noise of other GPUs (deviation_of) per difference of successive
 * measurements. Simulated with normal values: 0.48 to 0.74, the smallest for long histories, in
 * which neighbouring differences depend on each other. */
#define FREEDOM_PER_DIFFERENCE 0.48
/* Fewer degrees of freedom give no usable noise. Chosen: a GPU without others in the history needs
 * six earlier measurements. */
#define MIN_FREEDOM 3.0
/* Smallest noise: the resolution of the figures, which have four digits. */
static const double min_noise = 2e-4;
/* The variance of a median of many normal values, divided by that of their mean: pi / 2. */
static const double median_variance = 1.5708;
/* Equal values that are required before a change of an exact figure is reported. Chosen. */
enum { MIN_EXACT = 3 };
/* From this confidence on, the rate of wrong values is that of all exact figures together, as in
 * judge_exact.c. */
static const double sure = 0.99;
/* GPUs from which the noise is estimated. Chosen: enough for 1 % of precision. */
enum { MAX_NOISE_GPUS = 400 };

/* ---- values of a span ---- */

static const struct fth_fleet_value *value_at(const struct fth_history_span *span, size_t index,
                                              uint32_t figure)
{
    return fth_fleet_find(&span->fleet->measurements[span->measurements[index]], figure);
}

/* Collects the positive numbers of a figure in the order of time. Returns how many there are. */
static size_t collect_numbers(const struct fth_history_span *span, uint32_t figure, double *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < span->count; i++) {
        const struct fth_fleet_value *value = value_at(span, i, figure);
        if (value && value->number > 0)
            numbers[count++] = value->number;
    }
    return count;
}

/* ---- noise ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the differences of the logarithms of successive values of a GPU to a list. */
static bool add_differences(const double *numbers, size_t count, double **list, size_t *size,
                            size_t *capacity)
{
    for (size_t i = 1; i < count; i++) {
        if (!fth_grow((void **)list, *size, capacity, sizeof **list))
            return false;
        (*list)[(*size)++] = fabs(log(numbers[i] / numbers[i - 1]));
    }
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Returns the standard deviation of the values whose successive absolute differences these are:
 * from the median and from the 90 % quantile, which is larger if the tails are heavy. */
static double deviation_of(double *differences, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(differences, count, sizeof *differences, compare_numbers);
    const double median = differences[count / 2], high = differences[(count * 9) / 10];
    return fmax(fmax(1.4826 * median, high / 1.6449) / sqrt(2), min_noise);
}

static struct fth_history_span span_of(const struct fth_fleet *fleet, size_t gpu)
{
    return (struct fth_history_span){fleet, fleet->by_gpu + fleet->gpus[gpu].first_measurement,
                                     fleet->gpus[gpu].measurement_count};
}

/* Estimates the noise of one figure. `numbers` has space for the values of a GPU. */
static enum fth_status find_noise(const struct fth_fleet *fleet, uint32_t figure, double *numbers,
                                  double *deviation, size_t *count, struct fth_error *error)
{
    double *differences = NULL;
    size_t capacity = 0;
    bool good = true;
    *count = 0;
    for (size_t i = 0; i < fleet->gpu_count && good; i++) {
        const struct fth_history_span span = span_of(fleet, i);
        const size_t known = collect_numbers(&span, figure, numbers);
        good = add_differences(numbers, known, &differences, count, &capacity);
    }
    *deviation = good ? deviation_of(differences, *count) : (double)NAN;
    free(differences);
    return good ? FTH_OK : fth_no_memory(error, operation, NULL);
}

static bool equal_values(const struct fth_fleet_value *a, const struct fth_fleet_value *b)
{
    if (a->text || b->text)
        return a->text && b->text && strcmp(a->text, b->text) == 0;
    return a->number == b->number;
}

/* Counts how often a measured exact figure differs from one measurement to the next. A wrong value
 * between right ones counts twice, so the rate of wrong values is not underestimated. */
static void count_changes(const struct fth_fleet *fleet, uint32_t figure, size_t *changes,
                          size_t *pairs)
{
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_history_span span = span_of(fleet, i);
        const struct fth_fleet_value *last = NULL;
        for (size_t j = 0; j < span.count; j++) {
            const struct fth_fleet_value *value = value_at(&span, j, figure);
            if (!value || isnan(value->confidence))
                continue;
            *pairs += last != NULL;
            *changes += last && !equal_values(last, value);
            last = value;
        }
    }
}

enum fth_status fth_history_noise(const struct fth_fleet *fleet, struct fth_history_noise *noise,
                                  struct fth_error *error)
{
    struct fth_arena *arena = &noise->arena;
    const size_t figures = fleet->figure_count;
    *noise = (struct fth_history_noise){.count = figures};
    noise->figures = fth_arena_array(arena, figures + 1, sizeof *noise->figures);
    noise->deviations = fth_arena_array(arena, figures + 1, sizeof *noise->deviations);
    noise->counts = fth_arena_array(arena, figures + 1, sizeof *noise->counts);
    noise->changes = fth_arena_array(arena, figures + 1, sizeof *noise->changes);
    double *numbers = calloc(fleet->measurement_count + 1, sizeof *numbers);
    enum fth_status status = FTH_OK;
    if (!noise->figures || !noise->deviations || !noise->counts || !noise->changes || !numbers)
        status = fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < figures && status == FTH_OK; i++)
        noise->figures[i] = fleet->figures[i].name;
    if (status == FTH_OK && figures > 1)
        qsort(noise->figures, figures, sizeof *noise->figures, compare_names);
    for (size_t i = 0; i < figures && status == FTH_OK; i++) {
        const uint32_t figure = fth_fleet_figure_find(fleet, noise->figures[i]);
        noise->deviations[i] = NAN;
        noise->counts[i] = noise->changes[i] = 0;
        if (fleet->figures[figure].kind == FTH_FLEET_EXACT)
            count_changes(fleet, figure, &noise->changes[i], &noise->counts[i]);
        noise->exact_changes += noise->changes[i];
        noise->exact_pairs += fleet->figures[figure].kind == FTH_FLEET_EXACT ? noise->counts[i] : 0;
        if (fleet->figures[figure].kind <= FTH_FLEET_TIME)
            status =
                find_noise(fleet, figure, numbers, &noise->deviations[i], &noise->counts[i], error);
        noise->figures[i] = fth_arena_text(arena, noise->figures[i]);
        if (status == FTH_OK && !noise->figures[i])
            status = fth_no_memory(error, operation, NULL);
    }
    free(numbers);
    if (status != FTH_OK)
        fth_history_noise_fini(noise);
    return status;
}

void fth_history_noise_fini(struct fth_history_noise *noise)
{
    fth_arena_fini(&noise->arena);
    *noise = (struct fth_history_noise){.count = 0};
}

enum fth_status fth_history_estimate_noise(struct fth_fleet_history *history, size_t gpu_count,
                                           fth_history_namer *name, void *user,
                                           struct fth_history_noise *noise, struct fth_error *error)
{
    const size_t step = gpu_count / MAX_NOISE_GPUS + 1;
    struct fth_fleet *sample = NULL;
    FTH_TRY(fth_fleet_create(&sample, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < gpu_count && status == FTH_OK; i += step) {
        const struct fth_fleet_history_options options =
            FTH_FLEET_HISTORY_OPTIONS(.gpu = name(user, i), .newest = FTH_HISTORY_MAX_MEASUREMENTS);
        status = options.gpu ? fth_history_load(history, &options, true, sample, error)
                             : fth_no_memory(error, operation, NULL);
    }
    if (status == FTH_OK)
        status = fth_fleet_arrange(sample, NULL, error);
    if (status == FTH_OK)
        status = fth_history_noise(sample, noise, error);
    fth_fleet_destroy(sample);
    return status;
}

/* Returns the index of a figure, SIZE_MAX if the noise does not have it. */
static size_t find_figure(const struct fth_history_noise *noise, const char *figure)
{
    const char **found = noise->count ? bsearch(&figure, noise->figures, noise->count,
                                                sizeof *noise->figures, compare_names)
                                      : NULL;
    return found ? (size_t)(found - noise->figures) : SIZE_MAX;
}

/* Finds the noise of a figure in the other GPUs. `own`: differences of the GPU itself, which the
 * estimate may contain and which must not count twice. Returns the degrees of freedom; 0: none. */
static double shared_noise(const struct fth_history_noise *noise, const char *figure, size_t own,
                           double *deviation)
{
    const size_t found = find_figure(noise, figure);
    *deviation = found == SIZE_MAX ? (double)NAN : noise->deviations[found];
    if (isnan(*deviation) || noise->counts[found] <= own)
        return 0;
    return fmin(FREEDOM_PER_DIFFERENCE * (double)(noise->counts[found] - own), MAX_SHARED_FREEDOM);
}

/* Returns the probability that a measured value is wrong. */
static double chance_of_wrong(const struct fth_history_noise *noise, const char *figure,
                              double confidence)
{
    const size_t found = find_figure(noise, figure);
    const double changes = found == SIZE_MAX ? 0 : (double)noise->changes[found];
    const double pairs = found == SIZE_MAX ? 0 : (double)noise->counts[found];
    const double pooled = ((double)noise->exact_changes + 0.5) / ((double)noise->exact_pairs + 1);
    const double rate = confidence < sure ? (changes + 0.5) / (pairs + 1)
                                          : fmax(pooled, pairs > 0 ? changes / pairs : 0);
    return fmin(1 - confidence, rate);
}

/* ---- comparing one figure ---- */

/* Returns the degrees of freedom of the mean square of successive differences of `count` values,
 * divided by 2: the variance of this estimate is (3 count - 4) / (count - 1)^2 times the fourth
 * power of the standard deviation (J. von Neumann et al., "The Mean Square Successive Difference",
 * Annals of Mathematical Statistics 12, 1941), and that of a variance with f degrees of freedom is
 * 2 / f times this power. */
static double freedom_of_differences(size_t count)
{
    const double n = (double)count;
    return count < 2 ? 0 : 2 * (n - 1) * (n - 1) / (3 * n - 4);
}

/* Returns the variance of the median of `count` values with variance 1. */
static double variance_of_median(size_t count)
{
    return (count > 2 ? median_variance : 1) / (double)count;
}

/* Compares a rate or a time. `work` has space for all values of both spans. Returns false if it
 * cannot be tested. */
static bool compare_numbers_of(const struct fth_history_span *before,
                               const struct fth_history_span *now, uint32_t old_figure,
                               uint32_t new_figure, const struct fth_history_noise *noise,
                               double *work, struct fth_history_change *change)
{
    const struct fth_fleet_figure *figure = &now->fleet->figures[new_figure];
    double *old = work, *new = work + before->count, shared, squares = 0;
    const size_t old_count = collect_numbers(before, old_figure, old);
    const size_t new_count = collect_numbers(now, new_figure, new);
    if (old_count == 0 || new_count == 0)
        return false;
    for (size_t i = 1; i < old_count; i++)
        squares += pow(log(old[i] / old[i - 1]), 2) / 2;
    const double others = shared_noise(noise, figure->name, old_count - 1, &shared);
    const double own = freedom_of_differences(old_count), freedom = own + others;
    if (freedom < MIN_FREEDOM)
        return false;
    /* The variances are averaged with their degrees of freedom as weights. */
    const double own_variance = old_count > 1 ? squares / (double)(old_count - 1) : 0;
    const double variance =
        (own * own_variance + (others > 0 ? others * shared * shared : 0)) / freedom;
    const double deviation = fmax(sqrt(variance), min_noise);
    const double from = fth_fleet_median(old, old_count), to = fth_fleet_median(new, new_count);
    const double step = log(to / from);
    *change = (struct fth_history_change){.figure = new_figure,
                                          .before = from,
                                          .now = to,
                                          .effect = to / from - 1,
                                          .before_count = old_count,
                                          .now_count = new_count};
    change->distance =
        step / (deviation * sqrt(variance_of_median(old_count) + variance_of_median(new_count)));
    change->p = change->single_p = fth_student_tail(fabs(change->distance), freedom);
    change->worse = figure->kind == FTH_FLEET_RATE ? to < from : to > from;
    return true;
}

/* Returns the value of a figure if all measurements that have it agree, NULL if they do not. */
static const struct fth_fleet_value *common_value(const struct fth_history_span *span,
                                                  uint32_t figure, size_t *count)
{
    const struct fth_fleet_value *common = NULL;
    *count = 0;
    for (size_t i = 0; i < span->count; i++) {
        const struct fth_fleet_value *value = value_at(span, i, figure);
        if (value && common && !equal_values(value, common))
            return NULL;
        common = value ? value : common;
        *count += value != NULL;
    }
    return common;
}

/* Returns the smallest confidence of the values of a figure; NAN: they are the driver's. */
static double lowest_confidence(const struct fth_history_span *span, uint32_t figure)
{
    double lowest = NAN;
    for (size_t i = 0; i < span->count; i++) {
        const struct fth_fleet_value *value = value_at(span, i, figure);
        lowest = value ? fmin(lowest, (double)value->confidence) : lowest;
    }
    return lowest;
}

/* Compares an exact figure. Returns false if it cannot be tested or has not changed. *tested counts
 * the figures that chance can change: those that were measured. */
static bool compare_exact(const struct fth_history_span *before, const struct fth_history_span *now,
                          uint32_t old_figure, uint32_t new_figure,
                          const struct fth_history_noise *noise, size_t *tested,
                          struct fth_history_change *change)
{
    size_t old_count, new_count;
    const struct fth_fleet_value *old = common_value(before, old_figure, &old_count);
    const struct fth_fleet_value *new = common_value(now, new_figure, &new_count);
    if (!old || !new || old_count < MIN_EXACT)
        return false;
    const double confidence = lowest_confidence(now, new_figure);
    *tested += isnan(confidence) ? 0 : 1;
    if (equal_values(old, new))
        return false;
    const char *name = now->fleet->figures[new_figure].name;
    const double wrong = isnan(confidence) ? 0 : chance_of_wrong(noise, name, confidence);
    const double p = pow(wrong, (double)new_count);
    *change = (struct fth_history_change){.figure = new_figure,
                                          .before = old->number,
                                          .now = new->number,
                                          .before_text = old->text,
                                          .now_text = new->text,
                                          .effect = NAN,
                                          .distance = NAN,
                                          .p = p,
                                          .single_p = p,
                                          .worse = true,
                                          .before_count = old_count,
                                          .now_count = new_count};
    if (!old->text && !new->text && old->number != 0)
        change->effect = new->number / old->number - 1;
    return true;
}

enum fth_status fth_history_compare(const struct fth_history_span *before,
                                    const struct fth_history_span *now,
                                    const struct fth_history_noise *noise, struct fth_arena *arena,
                                    struct fth_history_change **changes, size_t *count,
                                    struct fth_error *error)
{
    const struct fth_fleet *fleet = now->fleet;
    size_t tested = 0;
    *count = 0;
    *changes = fth_arena_array(arena, fleet->figure_count + 1, sizeof **changes);
    double *work = calloc(before->count + now->count + 1, sizeof *work);
    if (!*changes || !work) {
        free(work);
        return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < fleet->figure_count && before->count && now->count; i++) {
        const enum fth_fleet_kind kind = fleet->figures[i].kind;
        const uint32_t figure = (uint32_t)i;
        const uint32_t old = fth_fleet_figure_find(before->fleet, fleet->figures[i].name);
        if (old == UINT32_MAX)
            continue;
        struct fth_history_change *change = &(*changes)[*count];
        const bool number = kind <= FTH_FLEET_TIME &&
                            compare_numbers_of(before, now, old, figure, noise, work, change);
        const bool exact = kind == FTH_FLEET_EXACT &&
                           compare_exact(before, now, old, figure, noise, &tested, change);
        tested += number;
        *count += number || exact ? 1 : 0;
    }
    for (size_t i = 0; i < *count; i++)
        (*changes)[i].p = fmin(1, (*changes)[i].single_p * (double)tested);
    free(work);
    return FTH_OK;
}

/* ---- what else changed ---- */

static void note_texts(struct fth_buffer *note, const char *what, const char *old, const char *new)
{
    if (!old || !new || strcmp(old, new) == 0)
        return;
    fth_buffer_format(note, "%s%s %s -> %s", note->size ? ", " : "Also changed: ", what, old, new);
}

/* Returns the value of a figure in one measurement of a span. */
static const struct fth_fleet_value *find_named(const struct fth_history_span *span, size_t index,
                                                const char *name)
{
    const uint32_t figure = fth_fleet_figure_find(span->fleet, name);
    return figure == UINT32_MAX ? NULL : value_at(span, index, figure);
}

/* Adds a number that differs by more than 1 %, or a text that differs. */
static void note_figure(struct fth_buffer *note, const char *what,
                        const struct fth_fleet_value *old, const struct fth_fleet_value *new)
{
    char from[40], to[40];
    if (!old || !new)
        return;
    if (old->text || new->text) {
        note_texts(note, what, old->text, new->text);
        return;
    }
    if (fabs(new->number - old->number) <= 0.01 * fabs(old->number))
        return;
    fth_number_format(old->number, from, sizeof from);
    fth_number_format(new->number, to, sizeof to);
    note_texts(note, what, from, to);
}

enum fth_status fth_history_context(const struct fth_history_span *before,
                                    const struct fth_history_span *now, struct fth_arena *arena,
                                    const char **note, struct fth_error *error)
{
    static const struct {
        const char *figure, *what;
    } circumstances[] = {
        {"device.clock_mhz", "SM clock in MHz"},
        {"device.memory_clock_mhz", "memory clock in MHz"},
        {"device.loaded_clock_mhz", "SM clock under load in MHz"},
        {"device.throttling", "throttling"},
    };
    struct fth_buffer text = {0};
    *note = NULL;
    if (before->count == 0 || now->count == 0)
        return FTH_OK;
    const struct fth_fleet_measurement *old =
        &before->fleet->measurements[before->measurements[before->count - 1]];
    const struct fth_fleet_measurement *new = &now->fleet->measurements[now->measurements[0]];
    note_texts(&text, "driver", old->driver, new->driver);
    note_texts(&text, "board", old->board, new->board);
    note_texts(&text, "host", old->host, new->host);
    note_texts(&text, "slot", old->slot, new->slot);
    for (size_t i = 0; i < FTH_COUNT(circumstances); i++)
        note_figure(&text, circumstances[i].what,
                    find_named(before, before->count - 1, circumstances[i].figure),
                    find_named(now, 0, circumstances[i].figure));
    enum fth_status status = FTH_OK;
    fth_buffer_text(&text, text.size > 0 ? "." : "");
    if (text.size > 0 && !text.failed)
        *note = fth_arena_text(arena, text.data);
    if (text.failed || (text.size > 0 && !*note))
        status = fth_no_memory(error, operation, NULL);
    fth_buffer_fini(&text);
    return status;
}
