/* Decides on the line, sector, partitions and size of the L2 from the outcomes that l2_geometry.c
 * measures. The evidence for a decision is from a bootstrap: the decision is repeated for resamples
 * of the same samples, and those agree that lead to the same decision (Efron 1979). */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>

static size_t total(const struct fth_outcomes *outcomes)
{
    return outcomes->near_count + outcomes->far_count + outcomes->memory_count;
}

double fth_outcome_fraction(size_t part, const struct fth_outcomes *outcomes)
{
    return total(outcomes) ? (double)part / (double)total(outcomes) : 0;
}

struct fth_outcomes fth_count_outcomes(const uint32_t *cycles, size_t count, double near_threshold,
                                       double memory_threshold)
{
    struct fth_outcomes outcomes = {0};
    for (size_t i = 0; i < count; i++)
        if (cycles[i] <= near_threshold)
            outcomes.near_count++;
        else if (cycles[i] <= memory_threshold)
            outcomes.far_count++;
        else
            outcomes.memory_count++;
    return outcomes;
}

/* Returns a bootstrap resample: as many outcomes, drawn with replacement. Each half of a random
 * number draws one outcome: it is near if the half is below the fraction of near outcomes, times
 * 2^32, and so on. This takes a third of the time of drawing indices. */
static struct fth_outcomes draw(struct fth_rng *rng, const struct fth_outcomes *outcomes)
{
    const uint64_t all = total(outcomes);
    const uint64_t near_limit = all ? ((uint64_t)outcomes->near_count << 32) / all : 0;
    const uint64_t far_limit =
        all ? ((uint64_t)(outcomes->near_count + outcomes->far_count) << 32) / all : 0;
    size_t near = 0, in_l2 = 0;
    for (uint64_t drawn = 0; drawn < all; drawn += 2) {
        const uint64_t number = fth_rng_next(rng);
        const uint64_t first = number >> 32, second = number & UINT32_MAX;
        near += first < near_limit;
        in_l2 += first < far_limit;
        near += drawn + 1 < all && second < near_limit;
        in_l2 += drawn + 1 < all && second < far_limit;
    }
    return (struct fth_outcomes){
        .near_count = near, .far_count = in_l2 - near, .memory_count = (size_t)all - in_l2};
}

/* A rule that decides from outcomes; 0: undecided. The meaning of `argument` depends on the rule.
 */
typedef uint64_t decide(const struct fth_outcomes *outcomes, size_t count, uint64_t argument);

/* Decides for each of the arguments. All decisions share the resamples, because drawing them takes
 * more time than deciding. */
static void decide_each(decide *rule, const struct fth_outcomes *outcomes, size_t count,
                        const uint64_t *arguments, size_t decision_count,
                        struct fth_decision *decisions)
{
    size_t same_counts[FTH_FOOTPRINT_DECISIONS] = {0};
    bool any = false;
    for (size_t k = 0; k < decision_count; k++) {
        decisions[k].value = rule(outcomes, count, arguments[k]);
        any = any || decisions[k].value;
    }
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    for (size_t i = 0; i < FTH_BOOTSTRAP_DRAWS && any; i++) {
        struct fth_outcomes drawn[FTH_MAX_OUTCOMES];
        for (size_t j = 0; j < count; j++)
            drawn[j] = draw(&rng, &outcomes[j]);
        for (size_t k = 0; k < decision_count; k++)
            same_counts[k] +=
                decisions[k].value && rule(drawn, count, arguments[k]) == decisions[k].value;
    }
    for (size_t k = 0; k < decision_count; k++)
        decisions[k].evidence = fth_resampled(same_counts[k]);
}

static struct fth_decision decide_with_evidence(decide *rule, const struct fth_outcomes *outcomes,
                                                size_t count, uint64_t argument)
{
    struct fth_decision decision;
    decide_each(rule, outcomes, count, &argument, 1, &decision);
    return decision;
}

/* ---- constants of the rules ---- */

/* Standard deviations by which two fractions differ by chance at most. A conventional limit: four
 * are exceeded once in 16,000 cases of a normal distribution. */
static const double max_chance_deviations = 4;
/* Line: a touch of 1.6 times the size evicts 80 % of the lines if replacement is random, and a
 * touch of half as many lines evicts 55 %. With LRU these are 100 % and 0 %, or 50 % if the longer
 * stride uses only every second set. A minimum fall of 0.1 is well below all of these differences,
 * and a minimum loss of 0.3 well below all of these losses. */
static const double min_line_loss = 0.3, min_line_fall = 0.1;
/* Minimum fraction of the resamples that agree on a line: twice as many as all others. Chosen. */
static const double min_line_share = 2.0 / 3;
/* Sector: fraction of the lines that are found in L2 if less than a sector was written, and if more
 * was. The limits are well between 0 and the 0.5 that two partitions leave. */
static const double max_found_below = 0.1, min_found_above = 0.4;
/* Partitions: fraction of lines in the far partition. With two partitions, it is a half if
 * replacement is LRU, and a fifth if it is random. With one partition, only stray slow loads look
 * far. Clearly more than half would mean more than two partitions. The limits are between these
 * values; where exactly is chosen, not derived. */
static const double max_stray_far = 0.04, min_far = 0.1, max_far = 0.6;
/* Footprints: maximum rate of loads that seem evicted because of noise, and maximum fraction of
 * lines left at a full miss. Chosen, not derived. */
static const double max_noise_rate = 0.01, max_left = 0.04;
/* Standard deviations of noise that are no eviction. They are exceeded about once in a thousand
 * cases. */
static const double max_noise_deviations = 3;

/* ---- rules ---- */

/* Returns the maximum difference of the two memory fractions that chance explains. */
static double max_chance_difference(const struct fth_outcomes *a, const struct fth_outcomes *b)
{
    double p = fth_outcome_fraction(a->memory_count, a),
           q = fth_outcome_fraction(b->memory_count, b);
    return max_chance_deviations *
           sqrt(p * (1 - p) / (double)total(a) + q * (1 - q) / (double)total(b));
}

static uint64_t line_of(const struct fth_outcomes *outcomes, size_t strides, uint64_t smallest)
{
    if (strides < 2 || fth_outcome_fraction(outcomes[0].memory_count, &outcomes[0]) < min_line_loss)
        return 0;
    for (size_t i = 1; i < strides; i++) {
        double fall = fth_outcome_fraction(outcomes[0].memory_count, &outcomes[0]) -
                      fth_outcome_fraction(outcomes[i].memory_count, &outcomes[i]);
        if (fall > fmax(min_line_fall, max_chance_difference(&outcomes[0], &outcomes[i])))
            return smallest << (i - 1);
        if (fall > min_line_fall) /* a fall, but not a significant one */
            return 0;
    }
    return 0;
}

struct fth_decision fth_decide_line(const struct fth_outcomes *outcomes, size_t strides,
                                    uint64_t smallest)
{
    return decide_with_evidence(line_of, outcomes,
                                strides < FTH_MAX_OUTCOMES ? strides : FTH_MAX_OUTCOMES, smallest);
}

struct fth_decision fth_likely_line(struct fth_decision line)
{
    return fth_evidence_share(line.evidence) >= min_line_share ? line : (struct fth_decision){0};
}

/* If less than a sector was written, all lines come from memory. From a sector on, they are found
 * in L2, at least those whose home is the near partition. (For a line with a far home, the near
 * partition requests a whole fill, of which the rest must come from memory.) */
static uint64_t sector_of(const struct fth_outcomes *outcomes, size_t widths, uint64_t smallest)
{
    for (size_t i = 0; i < widths; i++) {
        double kept = 1 - fth_outcome_fraction(outcomes[i].memory_count, &outcomes[i]);
        if (kept > min_found_above)
            return i ? smallest << i : 0; /* the sector may be shorter than the smallest width */
        if (kept > max_found_below)
            return 0;
    }
    return 0;
}

struct fth_decision fth_decide_sector(const struct fth_outcomes *outcomes, size_t widths,
                                      uint64_t smallest)
{
    return decide_with_evidence(sector_of, outcomes,
                                widths < FTH_MAX_OUTCOMES ? widths : FTH_MAX_OUTCOMES, smallest);
}

static uint64_t partitions_of(const struct fth_outcomes *outcomes, size_t count, uint64_t unused)
{
    double far = 0;
    (void)unused;
    for (size_t i = 0; i < count; i++)
        far = fmax(far, fth_outcome_fraction(outcomes[i].far_count, &outcomes[i]));
    return far < max_stray_far ? 1 : far > min_far && far < max_far ? 2 : 0;
}

struct fth_decision fth_decide_partitions(const struct fth_outcomes *outcomes,
                                          size_t footprint_count)
{
    return decide_with_evidence(
        partitions_of, outcomes,
        footprint_count < FTH_MAX_OUTCOMES ? footprint_count : FTH_MAX_OUTCOMES, 0);
}

/* Returns the maximum fraction of slow loads that noise of this rate explains. */
static double max_lost(double rate, const struct fth_outcomes *outcomes)
{
    return rate + max_noise_deviations * sqrt(rate * (1 - rate) / (double)(total(outcomes) + 1));
}

/* Returns the rate of loads that seem evicted because of noise, after a touch that evicts no line
 * and `lost` of `all` loads. */
static double find_noise_rate(size_t lost, size_t all)
{
    return fmin(((double)lost + 1) / ((double)all + 2), max_noise_rate);
}

bool fth_all_stay(const struct fth_outcomes *smallest, const struct fth_outcomes *outcomes)
{
    const double rate = find_noise_rate(smallest->memory_count, total(smallest));
    return (double)outcomes->memory_count <= max_lost(rate, outcomes) * (double)total(outcomes);
}

/* At the smallest footprint no line is evicted; loads that seem evicted there are noise. All lines
 * stay at a footprint as long as noise of this rate explains the lines that seem evicted. */
static uint64_t footprint_of(const struct fth_outcomes *outcomes, size_t count, uint64_t which)
{
    size_t same = 0, gone = count;
    double rate = max_noise_rate;
    for (size_t i = 0; i < count; i++) {
        const size_t all = total(&outcomes[i]);
        const size_t left =
            outcomes[i].near_count + (which & FTH_FOOTPRINT_NEAR ? 0 : outcomes[i].far_count);
        if (same == i && (double)(all - left) <= max_lost(rate, &outcomes[i]) * (double)all)
            same = i + 1;
        if (i == 0)
            rate = find_noise_rate(all - left, all);
        if (fth_outcome_fraction(left, &outcomes[i]) >= max_left)
            gone = i + 1;
    }
    if (which & FTH_FOOTPRINT_FULL_MISS)
        return gone < count ? gone + 1 : 0;
    return same;
}

void fth_decide_footprints(const struct fth_outcomes *outcomes, size_t count,
                           struct fth_decision decisions[FTH_FOOTPRINT_DECISIONS])
{
    uint64_t which[FTH_FOOTPRINT_DECISIONS];
    for (size_t i = 0; i < FTH_FOOTPRINT_DECISIONS; i++)
        which[i] = i;
    decide_each(footprint_of, outcomes, FTH_MIN(count, FTH_MAX_OUTCOMES), which,
                FTH_FOOTPRINT_DECISIONS, decisions);
}

enum fth_status fth_decide_period(const uint32_t *cycles, size_t count, double threshold,
                                  struct fth_decision *period, struct fth_error *error)
{
    struct fth_decision verdict = {0};
    unsigned *counts = calloc(2 * count + 1, sizeof *counts);
    unsigned *distances = calloc(count + 1, sizeof *distances);
    enum fth_status status =
        counts && distances ? FTH_OK : fth_no_memory(error, "find the fill of the L2", NULL);
    if (status != FTH_OK || count == 0)
        goto out;
    unsigned *drawn = counts + count;
    const struct fth_samples walk = {.cycles = (uint32_t *)cycles, .count = count};
    fth_count_distances(&walk, threshold, counts);
    verdict.value = fth_majority(counts, (unsigned)count);
    size_t pairs = 0, same_count = 0;
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = 0; k < counts[i]; k++)
            distances[pairs++] = i;
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    for (size_t i = 0; i < FTH_BOOTSTRAP_DRAWS && pairs && verdict.value; i++) {
        for (size_t k = 0; k < count; k++)
            drawn[k] = 0;
        for (size_t k = 0; k < pairs; k++)
            drawn[distances[fth_rng_below(&rng, pairs)]]++;
        same_count += fth_majority(drawn, (unsigned)count) == verdict.value;
    }
    verdict.evidence = fth_resampled(same_count);
out:
    free(counts);
    free(distances);
    *period = verdict;
    return status;
}
