/* How often memory delays loads. One thread loads a line again and again, and discards it from
 * the L2 after each load, so that every load goes to memory. DRAM refreshes its rows
 * periodically and delays the loads that arrive meanwhile. The times of the delayed loads have the
 * period of the refresh, which a periodogram finds (stats/period.c). Rarer and longer delays
 * (pauses) have a period of their own. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "measure refresh";

enum {
    LINE_BYTES = 128, /* of a discarded line */
    LINES = 1,        /* Lines in several channels would have delays at different times. On an
                       * H200, the coherence of one line is 0.8 to 0.98, of eight lines 0.2 to 0.98. */
    PASSES = 32768,   /* 16 ms on an H200: 8,000 refreshes and 160 pauses */
    REPEATS = 3,
    MAX_EVENTS = 4000, /* from whose times the period is found, to limit the computation */
    MIN_EVENTS = 20
};
/* Loads can fall into step with the refresh: a delayed load begins the next ones later, until the
 * same load of the loop is always delayed. The delays then still have the period of the refresh,
 * but they can all be shorter than the refresh. The latency of a line without delays is therefore
 * the minimum of its loads, and the longest delay is a lower bound of the duration of a refresh. */

/* A load was delayed if it takes longer than the minimum by more than this many times the distance
 * from the minimum to the median, and by more cycles than the second number. Chosen: on an H200,
 * the distance is 13 to 20 cycles, and undelayed loads are within three times of it. */
static const double min_distances = 4, min_delay_cycles = 4;
/* A delay is a pause if it is more than this many times the median of all delays. Chosen: loads
 * arrive at any time of a refresh, so that its delays are up to twice their median. */
static const double min_pause = 2.5;
/* Minimum coherence (struct fth_period). Chosen: random events have a coherence of about 1 /
 * sqrt(events), at most 0.22 of 20. On an H200, it is above 0.9. */
static const double min_coherence = 0.5;
/* The shortest period in mean distances of two loads, and the longest one in parts of the whole
 * series. At least two loads a period are needed, and a few periods. */
static const double min_loads = 2.5, max_part = 0.1;
/* Repeats agree if their periods differ by at most this fraction. */
static const double same_period = 1e-3;
/* Quantile of the delays that is reported as the longest one. */
static const double longest_delay = 0.98;
/* Loads are in step with the delays if the longest delay is less than this many times the median:
 * it is twice the median if loads arrive at any time of a delay. Chosen between 1 and 2. */
static const double min_longest_ratio = 1.5;
/* Multiples of the true period that are looked for. Chosen. */
enum { MAX_MULTIPLE = 8 };
/* A period is a multiple if fewer loads than this fraction of the expected ones arrive when the
 * delays between two that were seen would be. Chosen, not derived. */
static const double min_seen_fraction = 0.5;
/* Two consecutive delays are one period apart if their distance differs by at most this fraction.
 */
static const double same_distance = 0.05;

/* The loads of one repeat. */
struct series {
    const uint32_t *cycles, *begins;
    size_t count;
    double undelayed[LINES]; /* latency without delays */
    double min_delay[LINES]; /* of a load that was delayed, in cycles */
    double clock_mhz;
};

static enum fth_status find_undelayed(struct series *series, struct fth_error *error)
{
    const size_t per_line = series->count / LINES;
    double *one = malloc(per_line * sizeof *one);
    if (!one)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    for (size_t line = 0; line < LINES && status == FTH_OK; line++) {
        for (size_t i = 0; i < per_line; i++)
            one[i] = series->cycles[i * LINES + line];
        double median = 0;
        status = fth_quantile_f64(one, per_line, 0, &series->undelayed[line], error);
        if (status == FTH_OK)
            status = fth_quantile_f64(one, per_line, 0.5, &median, error);
        series->min_delay[line] =
            fmax(min_delay_cycles, min_distances * (median - series->undelayed[line]));
    }
    free(one);
    return status;
}

/* The delayed loads of one repeat: when they began, and their delays, in cycles. */
struct events {
    double *times, *delays;
    size_t count;
    double duration;
};

/* Collects the loads that were delayed. */
static void collect(const struct series *series, struct events *events)
{
    double now = 0;
    for (size_t i = 0; i < series->count; i++) {
        const double latency = series->undelayed[i % LINES];
        now += i ? (uint32_t)(series->begins[i] - series->begins[i - 1]) : 0;
        if (series->cycles[i] - latency <= series->min_delay[i % LINES])
            continue;
        events->times[events->count] = now;
        events->delays[events->count++] = series->cycles[i] - latency;
    }
    events->duration = now;
}

/* ---- multiples of the period ---- */

/* The loads that arrive in windows in which memory would delay them if the true period was a part
 * of the one that was found, and the windows. */
struct windows {
    double loads, windows;
};

/* Adds the windows between two consecutive delays that end at `from` and at `to`. A window is
 * `length` cycles long; `times` are those of all loads, from index `first` on. */
static void add_windows(const double *times, size_t first, size_t count, double from, double to,
                        double length, unsigned parts, struct windows *found)
{
    size_t i = first;
    for (unsigned part = 1; part < parts; part++) {
        const double end = from + (to - from) * part / parts;
        while (i < count && times[i] < end - length)
            i++;
        found->loads += i < count && times[i] < end;
        found->windows++;
    }
}

/* Returns the largest number of delays per period that the loads do not contradict; 1: only one.
 * Loads in step with the delays can arrive between all delays but every second, third, … one, which
 * alone is seen then. `times` are those of all loads. */
static unsigned find_multiple(const double *times, size_t count, const struct events *events,
                              double period, double longest)
{
    const double interval = times[count - 1] / (double)count;
    unsigned multiple = 1;
    for (unsigned parts = 2; parts <= MAX_MULTIPLE; parts++) {
        struct windows found = {0, 0};
        size_t load = 0;
        for (size_t i = 0; i + 1 < events->count; i++) {
            const double apart = events->times[i + 1] - events->times[i];
            while (load < count && times[load] <= events->times[i])
                load++;
            if (fabs(apart / period - 1) <= same_distance)
                add_windows(times, load, count, events->times[i] + events->delays[i],
                            events->times[i + 1] + events->delays[i + 1], longest, parts, &found);
        }
        const double expected = found.windows * fmin(longest / interval, 1);
        if (found.windows > 0 && found.loads < min_seen_fraction * expected)
            multiple = parts;
    }
    return multiple;
}

/* Finds the period of the events with delays above `low` and up to `high` cycles. Removes the
 * others from `events`. `times` are those of all loads. */
static enum fth_status find_delays(const struct series *series, const double *times,
                                   struct events events, double low, double high,
                                   struct fth_delays *found, struct fth_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < events.count; i++) {
        if (events.delays[i] <= low || events.delays[i] > high)
            continue;
        const double time = events.times[i], delay = events.delays[i];
        events.times[count] = time;
        events.delays[count++] = delay;
    }
    *found = (struct fth_delays){.period_ns = NAN, .cycles = NAN, .events = count};
    if (count < MIN_EVENTS) {
        fth_format(found->reason, sizeof found->reason, "only %zu of %zu loads were delayed", count,
                   series->count);
        return FTH_OK;
    }
    struct fth_period period;
    FTH_TRY(fth_find_period(events.times, FTH_MIN(count, (size_t)MAX_EVENTS),
                            min_loads * events.duration / (double)series->count,
                            max_part * events.duration, &period, error));
    if (period.coherence < min_coherence) {
        fth_format(found->reason, sizeof found->reason,
                   "the delays of %zu of %zu loads have no common period (coherence %.2f)", count,
                   series->count, period.coherence);
        return FTH_OK;
    }
    double median;
    found->period_ns = period.period / series->clock_mhz * 1e3;
    FTH_TRY(fth_quantile_f64(events.delays, count, longest_delay, &found->cycles, error));
    FTH_TRY(fth_quantile_f64(events.delays, count, 0.5, &median, error));
    events.count = count;
    found->in_step = found->cycles < min_longest_ratio * median;
    found->multiple = find_multiple(times, series->count, &events, period.period, found->cycles);
    return FTH_OK;
}

/* Finds refreshes and pauses in the loads of a series. `times` has space for five numbers per load.
 */
static enum fth_status analyse(struct series *series, double *times, struct fth_delays *refresh,
                               struct fth_delays *pauses, struct fth_error *error)
{
    struct events events = {.times = times, .delays = times + series->count};
    FTH_TRY(find_undelayed(series, error));
    collect(series, &events);
    double limit = 0;
    if (events.count)
        FTH_TRY(fth_quantile_f64(events.delays, events.count, 0.5, &limit, error));
    limit *= min_pause;
    struct events copy = events;
    copy.times = events.delays + series->count;
    copy.delays = copy.times + series->count;
    memcpy(copy.times, events.times, events.count * sizeof *copy.times);
    memcpy(copy.delays, events.delays, events.count * sizeof *copy.delays);
    double *const begins = copy.delays + series->count;
    for (size_t i = 0; i < series->count; i++)
        begins[i] = i ? begins[i - 1] + (uint32_t)(series->begins[i] - series->begins[i - 1]) : 0;
    FTH_TRY(find_delays(series, begins, events, 0, limit, refresh, error));
    return find_delays(series, begins, copy, limit, INFINITY, pauses, error);
}

/* Measures one repeat, on the SM with the index `sm`. */
static enum fth_status measure(const struct fth_prober *prober, uint32_t sm,
                               struct fth_delays *refresh, struct fth_delays *pauses,
                               struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_answers answers = {0};
    request.family = FTH_FAMILY_VISIT;
    request.sm = sm;
    request.visit = (struct fth_visit){.operation = FTH_VISIT_DISCARD,
                                       .stride_bytes = LINE_BYTES,
                                       .count = LINES,
                                       .passes = PASSES,
                                       .stamped = true};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    const struct fth_samples *samples = &answers.items[0];
    struct series series = {.cycles = samples->cycles,
                            .begins = samples->cycles + (size_t)LINES * PASSES,
                            .count = (size_t)LINES * PASSES,
                            .clock_mhz = samples->clock_mhz};
    double *times = malloc(5 * series.count * sizeof *times);
    enum fth_status status = times ? analyse(&series, times, refresh, pauses, error)
                                   : fth_no_memory(error, operation, NULL);
    free(times);
    fth_answers_fini(&answers);
    return status;
}

/* Combines the repeats: the figures of the first repeat with a period, and how many others agree.
 */
static void combine(const struct fth_delays repeats[REPEATS], struct fth_delays *found)
{
    size_t best = 0;
    while (best + 1 < REPEATS && isnan(repeats[best].period_ns))
        best++;
    *found = repeats[best];
    found->samples = (size_t)REPEATS * LINES * PASSES;
    found->evidence = (struct fth_evidence){.repeats = REPEATS};
    found->period_low_ns = found->period_high_ns = found->period_ns;
    for (size_t i = 0; i < REPEATS; i++) {
        const double period = repeats[i].period_ns;
        if (!(fabs(period / found->period_ns - 1) <= same_period))
            continue;
        found->evidence.agree++;
        found->cycles = fmax(found->cycles, repeats[i].cycles);
        found->in_step = found->in_step && repeats[i].in_step;
        found->multiple =
            repeats[i].multiple < found->multiple ? repeats[i].multiple : found->multiple;
        found->period_low_ns = fmin(found->period_low_ns, period);
        found->period_high_ns = fmax(found->period_high_ns, period);
    }
    found->cycles_evidence = found->evidence;
    if (found->multiple > 1)
        found->evidence.doubt =
            "the loads are in step with the delays, so that the period can be a "
            "multiple of the true one";
    if (found->in_step)
        found->cycles_evidence.doubt = "the loads are in step with the delays, and all are alike";
    if (!isnan(found->period_ns) && 2 * found->evidence.agree <= REPEATS) {
        found->period_ns = found->cycles = NAN;
        fth_format(found->reason, sizeof found->reason, "repeats of the measurement disagree");
    }
}

enum fth_status fth_probe_refresh(const struct fth_prober *prober, struct fth_delays *refresh,
                                  struct fth_delays *pauses, struct fth_error *error)
{
    struct fth_delays refreshes[REPEATS], stops[REPEATS];
    for (uint32_t i = 0; i < REPEATS; i++)
        FTH_TRY(measure(prober, prober->sms ? i % (uint32_t)prober->sms : 0, &refreshes[i],
                        &stops[i], error));
    combine(refreshes, refresh);
    combine(stops, pauses);
    return FTH_OK;
}
