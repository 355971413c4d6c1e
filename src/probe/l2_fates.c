/* What the fates of lines say of the L2 (l2.c): its line, sector and partitions, and where it ends.
 * Each decision is made again for draws of the same samples, and how often it is the same is how
 * sure it is. */
#include "probe/l2.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 200 };

static size_t total(const struct fth_fates *fates)
{
    return fates->near_count + fates->far_count + fates->memory_count;
}

double fth_fates_share(size_t part, const struct fth_fates *fates)
{
    return total(fates) ? (double)part / (double)total(fates) : 0;
}

struct fth_fates fth_fates_count(const uint32_t *cycles, size_t count, double near_edge,
                                 double memory_edge)
{
    struct fth_fates fates = {0};
    for (size_t i = 0; i < count; i++)
        if (cycles[i] <= near_edge)
            fates.near_count++;
        else if (cycles[i] <= memory_edge)
            fates.far_count++;
        else
            fates.memory_count++;
    return fates;
}

/* As many samples, drawn from those that there are. */
static struct fth_fates draw(struct fth_rng *rng, const struct fth_fates *fates)
{
    const size_t all = total(fates), not_memory = fates->near_count + fates->far_count;
    size_t near = 0, in_l2 = 0;
    for (size_t i = 0; i < all; i++) {
        const uint64_t which = fth_rng_below(rng, all);
        near += which < fates->near_count;
        in_l2 += which < not_memory;
    }
    return (struct fth_fates){
        .near_count = near, .far_count = in_l2 - near, .memory_count = all - in_l2};
}

/* What is decided, again for draws of the same samples. */
typedef uint64_t decide(const struct fth_fates *fates, size_t count, uint64_t argument);

static struct fth_decision decide_surely(decide *rule, const struct fth_fates *fates, size_t count,
                                         uint64_t argument)
{
    struct fth_decision verdict = {.value = rule(fates, count, argument)};
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    size_t alike = 0;
    for (size_t i = 0; i < DRAWS && verdict.value; i++) {
        struct fth_fates drawn[FTH_MAX_FATES];
        for (size_t j = 0; j < count; j++)
            drawn[j] = draw(&rng, &fates[j]);
        alike += rule(drawn, count, argument) == verdict.value;
    }
    verdict.confidence = (double)alike / (DRAWS + 1);
    return verdict;
}

/* What two shares of so many samples differ by at most by chance: four standard deviations. */
static double chance(const struct fth_fates *a, const struct fth_fates *b)
{
    double p = fth_fates_share(a->memory_count, a), q = fth_fates_share(b->memory_count, b);
    return 4 * sqrt(p * (1 - p) / (double)total(a) + q * (1 - q) / (double)total(b));
}

/* Where lines are replaced at random, 80 % are lost to a footprint of 1.6 and 55 % to half as many
 * lines; in order, all and none, or half of them where the sets are every second one. A tenth is
 * well below all of these. */
static uint64_t line_of(const struct fth_fates *fates, size_t strides, uint64_t smallest)
{
    const double min_loss = 0.3, min_fall = 0.1;
    if (strides < 2 || fth_fates_share(fates[0].memory_count, &fates[0]) < min_loss)
        return 0;
    for (size_t i = 1; i < strides; i++) {
        double fall = fth_fates_share(fates[0].memory_count, &fates[0]) -
                      fth_fates_share(fates[i].memory_count, &fates[i]);
        if (fall > fmax(min_fall, chance(&fates[0], &fates[i])))
            return smallest << (i - 1);
        if (fall > min_fall) /* neither the same nor clearly less */
            return 0;
    }
    return 0;
}

struct fth_decision fth_decide_line(const struct fth_fates *fates, size_t strides,
                                    uint64_t smallest)
{
    return decide_surely(line_of, fates, strides < FTH_MAX_FATES ? strides : FTH_MAX_FATES,
                         smallest);
}

/* Less than a sector, and all of it comes from memory; a sector and more is found in L2, at least
 * where it is at home in the near partition (another one asks for as much as memory brings in). */
static uint64_t sector_of(const struct fth_fates *fates, size_t widths, uint64_t smallest)
{
    const double max_found = 0.1, min_found = 0.4;
    for (size_t i = 0; i < widths; i++) {
        double kept = 1 - fth_fates_share(fates[i].memory_count, &fates[i]);
        if (kept > min_found)
            return i ? smallest << i : 0; /* the least may be more than a sector */
        if (kept > max_found)
            return 0;
    }
    return 0;
}

struct fth_decision fth_decide_sector(const struct fth_fates *fates, size_t widths,
                                      uint64_t smallest)
{
    return decide_surely(sector_of, fates, widths < FTH_MAX_FATES ? widths : FTH_MAX_FATES,
                         smallest);
}

/* With two partitions a half of the lines is found far away where the oldest is replaced, a fifth
 * where it is any; without, strays only. More than a half would be more partitions. */
static uint64_t partitions_of(const struct fth_fates *fates, size_t count, uint64_t unused)
{
    const double strays = 0.04, min = 0.1, max = 0.6;
    double far = 0;
    (void)unused;
    for (size_t i = 0; i < count; i++)
        far = fmax(far, fth_fates_share(fates[i].far_count, &fates[i]));
    return far < strays ? 1 : far > min && far < max ? 2 : 0;
}

struct fth_decision fth_decide_partitions(const struct fth_fates *fates, size_t footprint_count)
{
    return decide_surely(partitions_of, fates,
                         footprint_count < FTH_MAX_FATES ? footprint_count : FTH_MAX_FATES, 0);
}

/* The largest share of lines that are taken for lost at that rate, but for one time in a thousand.
 */
static double max_lost(double rate, const struct fth_fates *fates)
{
    return rate + 3 * sqrt(rate * (1 - rate) / (double)(total(fates) + 1));
}

/* All lines stay where no more seem lost than of the smallest footprint, of which none are but by
 * noise: not more than one load in a hundred is that slow. */
static uint64_t end_of(const struct fth_fates *fates, size_t count, uint64_t which)
{
    const double noise = 0.01, max_left = 0.04; /* where all but a few have gone */
    size_t same = 0, gone = count;
    double rate = noise;
    for (size_t i = 0; i < count; i++) {
        const size_t all = total(&fates[i]);
        const size_t left = fates[i].near_count + (which & FTH_END_NEAR ? 0 : fates[i].far_count);
        if (same == i && (double)(all - left) <= max_lost(rate, &fates[i]) * (double)all)
            same = i + 1;
        if (i == 0)
            rate = fmin(((double)(all - left) + 1) / ((double)all + 2), noise);
        if (fth_fates_share(left, &fates[i]) >= max_left)
            gone = i + 1;
    }
    if (which & FTH_END_GONE)
        return gone < count ? gone + 1 : 0;
    return same;
}

struct fth_decision fth_decide_end(const struct fth_fates *fates, size_t count, unsigned which)
{
    return decide_surely(end_of, fates, count < FTH_MAX_FATES ? count : FTH_MAX_FATES, which);
}

struct fth_decision fth_decide_period(const uint32_t *cycles, size_t count, double threshold)
{
    struct fth_decision verdict = {0};
    unsigned *counts = calloc(2 * count + 1, sizeof *counts), *drawn = counts + count;
    unsigned *distances = calloc(count + 1, sizeof *distances);
    if (!counts || !distances || count == 0)
        goto out;
    const struct fth_samples walk = {.cycles = (uint32_t *)cycles, .count = count};
    fth_count_distances(&walk, threshold, counts);
    verdict.value = fth_most_frequent(counts, (unsigned)count);
    size_t pairs = 0, alike = 0;
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = 0; k < counts[i]; k++)
            distances[pairs++] = i;
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    for (size_t i = 0; i < DRAWS && pairs && verdict.value; i++) {
        for (size_t k = 0; k < count; k++)
            drawn[k] = 0;
        for (size_t k = 0; k < pairs; k++)
            drawn[distances[fth_rng_below(&rng, pairs)]]++;
        alike += fth_most_frequent(drawn, (unsigned)count) == verdict.value;
    }
    verdict.confidence = (double)alike / (DRAWS + 1);
out:
    free(counts);
    free(distances);
    return verdict;
}
