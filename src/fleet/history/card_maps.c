/* Can two measurements be of the same chip? Each measurement has the latency of the L2 from each
 * SM, the map of the SMs (docs/fingerprints.md). On chips with other working SMs, the SM with a
 * given number is at another place, and the map differs.
 *
 * The distance of two mean maps is the root mean square of their differences over the SMs, divided
 * by its expectation for one chip:
 *
 *   d = sqrt(mean (a_i - b_i)^2) / (noise * sqrt(1 / runs of a + 1 / runs of b))
 *
 * It is about 1 for maps of one chip, whatever the numbers of runs, and grows with them for others.
 *
 * The limits come from 15 measurements each of four H200s. The noise of one measurement is 0.82 %,
 * because the map also depends on the memory that the driver allocates. Distances between random
 * parts of the measurements of one card have a standard deviation of 0.08 and a maximum of 1.41
 * (4000 draws). So the limit for "other" is six standard deviations above 1. Of the four cards,
 * three have the same map, and the fourth differs from it by about 0.5 %: to exceed the limit, this
 * needs about seven measurements on both sides. Cards with the same map cannot be told apart; a
 * match therefore means "can be this card", and only if no other card matches, "is this card". */
#include "fleet/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "compare fingerprints";

const double fth_card_same_limit = 1.25, fth_card_other_limit = 1.5;

/* Standard deviation of one measurement on H200s, as a fraction of the mean over the SMs. */
static const double usual_noise = 0.0082;
/* Differences of successive maps that are required to estimate the noise. Chosen. */
enum { MIN_DIFFERENCES = 10 };

double fth_card_distance(const struct fth_card_map *a, const struct fth_card_map *b, double noise)
{
    if (a->sms != b->sms || a->sms == 0 || a->runs == 0 || b->runs == 0)
        return NAN;
    double squares = 0;
    for (size_t i = 0; i < a->sms; i++)
        squares += (a->mean[i] - b->mean[i]) * (a->mean[i] - b->mean[i]);
    const double variance = noise * noise * (1 / (double)a->runs + 1 / (double)b->runs);
    return sqrt(squares / (double)a->sms / variance);
}

/* Writes the latencies of a measurement divided by their mean. */
static void normalise(const struct fth_fleet_measurement *measurement, double *map)
{
    const size_t count = measurement->fingerprint_count;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += measurement->fingerprint[i];
    for (size_t i = 0; i < count; i++)
        map[i] = measurement->fingerprint[i] * (double)count / sum;
}

enum fth_status fth_card_map(const struct fth_history_span *span, struct fth_arena *arena,
                             struct fth_card_map *map, struct fth_error *error)
{
    const struct fth_fleet_measurement *all = span->fleet->measurements;
    *map = (struct fth_card_map){.sms = 0};
    for (size_t i = 0; i < span->count && map->sms == 0; i++)
        map->sms = all[span->measurements[i]].fingerprint_count;
    if (map->sms == 0)
        return FTH_OK;
    map->mean = fth_arena_array(arena, map->sms, sizeof *map->mean);
    double *one = calloc(map->sms, sizeof *one);
    if (!map->mean || !one) {
        free(one);
        return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < span->count; i++) {
        const struct fth_fleet_measurement *measurement = &all[span->measurements[i]];
        if (measurement->fingerprint_count != map->sms)
            continue; /* it has none, or some SMs were hidden */
        normalise(measurement, one);
        map->runs++;
        for (size_t j = 0; j < map->sms; j++)
            map->mean[j] += (one[j] - map->mean[j]) / (double)map->runs;
    }
    free(one);
    return FTH_OK;
}

/* Collects the sums of the maps of a span: sums[i] is that of the first i + 1 maps. Returns their
 * number. at[i]: index of the measurement. */
static size_t sum_maps(const struct fth_history_span *span, size_t sms, double *sums, size_t *at)
{
    size_t count = 0;
    for (size_t i = 0; i < span->count; i++) {
        const struct fth_fleet_measurement *measurement =
            &span->fleet->measurements[span->measurements[i]];
        double *sum = sums + count * sms;
        if (measurement->fingerprint_count != sms)
            continue;
        normalise(measurement, sum);
        for (size_t j = 0; j < sms && count > 0; j++)
            sum[j] += sums[(count - 1) * sms + j];
        at[count++] = i;
    }
    return count;
}

enum fth_status fth_card_change(const struct fth_history_span *span, size_t sms, size_t min_runs,
                                double noise, size_t *split, double *distance,
                                struct fth_error *error)
{
    double *sums = calloc(span->count + 2, sms * sizeof *sums);
    size_t *at = calloc(span->count + 1, sizeof *at);
    *distance = 0;
    if (!sums || !at) {
        free(sums);
        free(at);
        return fth_no_memory(error, operation, NULL);
    }
    const size_t count = sum_maps(span, sms, sums, at);
    double *old = sums + span->count * sms, *new = old + sms;
    for (size_t i = min_runs; i + min_runs <= count; i++) {
        for (size_t j = 0; j < sms; j++) {
            old[j] = sums[(i - 1) * sms + j] / (double)i;
            new[j] = (sums[(count - 1) * sms + j] - sums[(i - 1) * sms + j]) / (double)(count - i);
        }
        const struct fth_card_map before = {old, sms, i}, now = {new, sms, count - i};
        const double found = fth_card_distance(&before, &now, noise);
        if (found > *distance) {
            *distance = found;
            *split = at[i];
        }
    }
    free(sums);
    free(at);
    return FTH_OK;
}

/* Computes the mean square of the difference of two successive measurements of a GPU; NAN if they
 * cannot be compared. `work` has space for two maps. */
static double square_of_difference(const struct fth_fleet_measurement *a,
                                   const struct fth_fleet_measurement *b, double *work,
                                   size_t max_sms)
{
    const size_t count = a->fingerprint_count;
    if (count == 0 || count != b->fingerprint_count)
        return NAN;
    normalise(a, work);
    normalise(b, work + max_sms);
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (work[i] - work[max_sms + i]) * (work[i] - work[max_sms + i]);
    return squares / (double)count;
}

/* Collects the squares of all pairs of successive measurements of a GPU. Returns their number. */
static size_t collect_squares(const struct fth_fleet *fleet, double *squares, double *work,
                              size_t max_sms)
{
    size_t count = 0;
    for (size_t i = 1; i < fleet->measurement_count; i++) {
        const struct fth_fleet_measurement *a = &fleet->measurements[fleet->by_gpu[i - 1]];
        const struct fth_fleet_measurement *b = &fleet->measurements[fleet->by_gpu[i]];
        const double square = a->gpu == b->gpu ? square_of_difference(a, b, work, max_sms) : NAN;
        if (!isnan(square))
            squares[count++] = square;
    }
    return count;
}

enum fth_status fth_card_noise(const struct fth_fleet *fleet, double *noise,
                               struct fth_error *error)
{
    size_t max_sms = 1;
    for (size_t i = 0; i < fleet->measurement_count; i++)
        if (fleet->measurements[i].fingerprint_count > max_sms)
            max_sms = fleet->measurements[i].fingerprint_count;
    double *squares = calloc(fleet->measurement_count + 1, sizeof *squares);
    double *work = calloc(2 * max_sms, sizeof *work);
    *noise = usual_noise;
    if (squares && work) {
        const size_t count = collect_squares(fleet, squares, work, max_sms);
        /* The median is not affected by the few pairs between which a chip was exchanged. */
        if (count >= MIN_DIFFERENCES)
            *noise = sqrt(fth_fleet_median(squares, count) / 2);
        if (!(*noise > 0))
            *noise = usual_noise;
    }
    const bool good = squares && work;
    free(squares);
    free(work);
    return good ? FTH_OK : fth_no_memory(error, operation, NULL);
}
