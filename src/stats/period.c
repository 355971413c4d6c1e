/* Is a sequence periodic, and with which period?
 *
 * A pointer chase through an array that is slightly larger than an LRU or FIFO cache misses at the
 * same positions in every pass. With random replacement it does not (X. Mei and X. Chu, "Dissecting
 * GPU Memory Hierarchy through Microbenchmarking", IEEE TPDS 28, 2017, 4.2, where an aperiodic
 * sequence excludes LRU). For each candidate period, the sequence is compared with itself shifted
 * by that period, and the positions with equal values are counted.
 *
 * If 97 of 100 accesses hit, any two sections agree at nearly all positions. The measure is
 * therefore the agreement beyond chance, Cohen's kappa ("A Coefficient of Agreement for Nominal
 * Scales", Educational and Psychological Measurement 20, 1960). With a the fraction of pairs that
 * agree and c the fraction that would agree if the same values were in random order,
 *
 *      match = (a - c) / (1 - c)          1: repeats exactly; 0: like a shuffled sequence
 *
 * The probability that a shuffled sequence matches as well at any candidate period is at most
 * Chernoff's bound exp(-n KL(a || c)) (Annals of Mathematical Statistics 23, 1952) times the number
 * of candidates, where n is the number of pairs. The bound assumes that the pairs are independent,
 * which is only approximately true because they overlap. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define OPERATION "find a period"

/* Returns the number of the first `pairs` positions i at which values i and i + shift are equal. */
static size_t agreements(const uint32_t *sequence, size_t pairs, size_t shift)
{
    size_t agree = 0;
    for (size_t i = 0; i < pairs; i++)
        agree += sequence[i] == sequence[i + shift];
    return agree;
}

/* Returns the probability that two values drawn with replacement are equal. */
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

/* Returns Chernoff's bound for at least a fraction `agree` of `pairs` pairs to agree if each agrees
 * with probability `chance`. */
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
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "needs at least 2 values, not %zu",
                        count);
    if (!(tolerance >= 0 && tolerance < 1))
        return fth_fail(error, FTH_INVALID, OPERATION, "tolerance",
                        "%g is not at least 0 and below 1", tolerance);
    double *sorted = NULL;
    FTH_TRY(fth_sorted_u32(sequence, count, OPERATION, &sorted, error));
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
