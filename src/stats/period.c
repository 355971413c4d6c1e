/* Does a sequence repeat itself, and after how many steps?
 *
 * A chase around an array that just overflows an LRU (or FIFO) cache misses in the same places
 * round after round; under random replacement it does not (X. Mei and X. Chu, "Dissecting GPU
 * Memory Hierarchy through Microbenchmarking", IEEE TPDS 28, 2017, 4.2, where an aperiodic sequence
 * rules LRU out). So the sequence is laid over itself, shifted by each candidate period, and the
 * places that agree are counted.
 *
 * Where 97 of 100 accesses hit, any two stretches agree nearly everywhere. What counts is the
 * agreement beyond chance, Cohen's kappa ("A Coefficient of Agreement for Nominal Scales",
 * Educational and Psychological Measurement 20, 1960): with the share a of the pairs that agree and
 * the share c that would if the same values stood in random order,
 *
 *      match = (a - c) / (1 - c)          1: repeats exactly, 0: as a shuffled sequence would.
 *
 * The chance that a shuffled sequence matches so well at any of the candidates is bounded by
 * Chernoff's exp(-n KL(a || c)) (Annals of Mathematical Statistics 23, 1952) times their number.
 * Assumed in that: that the pairs are independent, which overlapping ones are not quite. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "look for a period"

static size_t agreements(const uint32_t *sequence, size_t pairs, size_t shift)
{
    size_t agree = 0;
    for (size_t i = 0; i < pairs; i++)
        agree += sequence[i] == sequence[i + shift];
    return agree;
}

/* The share of all pairs of places, with replacement, that hold the same value. */
static double chance_agreement(const double *sorted, size_t count)
{
    double sum = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end] == sorted[i];)
            end++;
        double share = (double)(end - i) / (double)count;
        sum += share * share;
    }
    return sum;
}

static double tail_bound(double agree, double chance, size_t pairs)
{
    if (agree <= chance)
        return 1;
    double divergence = agree * log(agree / chance);
    if (agree < 1)
        divergence += (1 - agree) * log((1 - agree) / (1 - chance));
    return exp(-(double)pairs * divergence);
}

enum fth_status fth_period_find(const uint32_t *sequence, size_t count, size_t max_period,
                                double tolerance, struct fth_period *result,
                                struct fth_error *error)
{
    if (count < 2)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "%zu values are too few", count);
    if (!(tolerance >= 0 && tolerance < 1))
        return fth_fail(error, FTH_INVALID, OPERATION, "tolerance", "%g is not from 0 to 1",
                        tolerance);
    double *sorted = NULL;
    enum fth_status status = fth_sorted_u32(sequence, count, OPERATION, &sorted, error);
    if (status != FTH_OK)
        return status;
    bool constant = sorted[0] == sorted[count - 1];
    double chance = chance_agreement(sorted, count);
    free(sorted);
    if (max_period == 0 || max_period > count / 2)
        max_period = count / 2;
    struct fth_period best = {.match = -INFINITY};
    if (constant)
        best = (struct fth_period){.periodic = true, .period = 1, .match = 1, .confidence = 0};
    for (size_t period = 1; period <= max_period && !best.periodic; period++) {
        size_t pairs = count - period;
        double agree = (double)agreements(sequence, pairs, period) / (double)pairs;
        double match = (agree - chance) / (1 - chance);
        if (match <= best.match)
            continue;
        double bound = (double)max_period * tail_bound(agree, chance, pairs);
        best = (struct fth_period){
            .periodic = match >= 1 - tolerance,
            .period = period,
            .match = match,
            .confidence = fmax(1 - bound, 0),
        };
    }
    *result = best;
    return FTH_OK;
}
