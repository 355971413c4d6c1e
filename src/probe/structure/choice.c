/* Computes how well each of several policies explains which lines a set replaces.
 *
 * The measure is the minimum description length (Rissanen 1978): the bits per replacement that are
 * needed to encode the victim, given the policy. A policy that chooses by a rule (LRU, FIFO, LFU)
 * is right for a fraction of the replacements; for the rest, any other line may be the victim. A
 * random policy costs the entropy of its choice. Each parameter that a policy leaves open costs
 * half the logarithm of the number of replacements.
 *
 * As in replacement_policy.c, one line more than the ways is walked again and again, so that
 * exactly one line is not resident, and the line of each miss is the victim of the previous miss. A
 * set is tracked from its first fill on. Replacements count from when every line has missed at
 * least once, because the order of arrival of all lines is known only then.
 *
 * The policy clock has a signature of its own: its hand visits each line once per revolution,
 * whether the line is used or not. So a victim always is one of the lines that arrived first. With
 * LRU and FIFO this holds, too, but there every victim is the line that is used next, so that every
 * load misses. */
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdlib.h>

/* Minimum number of replacements per way for a comparison. The usual rule for tests of counts. */
enum { MIN_CHOICES_PER_WAY = 5 };

/* Minimum number of ways to recognise the policy clock, and the part of the lines, a quarter, that
 * must contain every victim. With 8 ways and 5 replacements per way, a random choice satisfies this
 * with a probability of 4^-40. Chosen; in 20 runs on H200s with 42 ways, all victims were among the
 * 9 lines that had arrived first. */
enum { MIN_CLOCK_WAYS = 8, CLOCK_PART = 4 };

void fth_choices_fini(struct fth_choices *choices)
{
    free(choices->by_arrival);
    free(choices->by_way);
    *choices = (struct fth_choices){.ways = 0};
}

/* The contents of a set while it is tracked; `lines` is its number of ways plus one. */
struct set {
    uint32_t *by_arrival_order; /* [lines] all lines by their latest arrival, the oldest first */
    uint32_t *way;              /* [lines] way of each line */
    bool *known;                /* [lines] the line arrived while the set was tracked */
    uint64_t unknown;           /* number of lines that did not */
};

/* Returns the index of the line in the order of arrival; 0: oldest. */
static uint64_t rank_of(const struct set *set, uint64_t lines, uint32_t line)
{
    uint64_t rank = 0;
    while (rank < lines && set->by_arrival_order[rank] != line)
        rank++;
    return rank;
}

/* Makes the line the newest in the order of arrival. */
static void arrive(struct set *set, uint64_t lines, uint32_t line)
{
    uint64_t rank = rank_of(set, lines, line);
    for (; rank + 1 < lines; rank++)
        set->by_arrival_order[rank] = set->by_arrival_order[rank + 1];
    set->by_arrival_order[lines - 1] = line;
    set->unknown -= !set->known[line];
    set->known[line] = true;
}

/* Adds the replacements of one set. Each missed line is the victim of the miss before it. As the
 * walk is cyclic, the least recently used line at that time was the one after the line of that
 * miss. */
static void track(struct fth_choices *choices, struct set *set, const uint32_t *missed,
                  size_t count)
{
    const uint64_t ways = choices->ways, lines = ways + 1;
    uint32_t last = (uint32_t)ways;
    for (uint32_t line = 0; line < lines; line++) {
        set->by_arrival_order[line] = line;
        set->way[line] = line;
        set->known[line] = false;
    }
    set->unknown = lines;
    for (size_t i = 0; i < count; i++) {
        const uint32_t victim = missed[i];
        if (set->unknown == 0 && victim != last) {
            choices->by_arrival[rank_of(set, lines, victim)]++;
            choices->by_way[set->way[victim] % ways]++;
            choices->lru_victims += victim == (last + 1) % lines;
            choices->replaced++;
        }
        set->way[last] = set->way[victim];
        arrive(set, lines, victim);
        last = victim;
    }
}

enum fth_status fth_choices_add(struct fth_choices *choices, uint64_t ways, const uint32_t *missed,
                                size_t count, struct fth_error *error)
{
    if (choices->ways == 0) {
        choices->by_arrival = calloc(ways + 1, sizeof *choices->by_arrival);
        choices->by_way = calloc(ways + 1, sizeof *choices->by_way);
        choices->ways = ways;
    }
    if (choices->ways != ways)
        return FTH_OK;
    struct set set = {.by_arrival_order = calloc(ways + 1, sizeof *set.by_arrival_order),
                      .way = calloc(ways + 1, sizeof *set.way),
                      .known = calloc(ways + 1, sizeof *set.known)};
    const bool allocated =
        choices->by_arrival && choices->by_way && set.by_arrival_order && set.way && set.known;
    if (allocated)
        track(choices, &set, missed, count);
    free(set.by_arrival_order);
    free(set.way);
    free(set.known);
    return allocated ? FTH_OK : fth_no_memory(error, "compare policies", NULL);
}

/* ---- bits per replacement ---- */

/* Returns the contribution of a fraction part / all to the entropy, in bits; 0 if `part` is 0. */
static double entropy(uint64_t part, uint64_t all)
{
    const double fraction = (double)part / (double)all;
    return part ? -fraction * log2(fraction) : 0;
}

/* Returns the cost of encoding the given number of parameters, in bits per replacement. */
static double parameter_bits(uint64_t parameters, uint64_t all)
{
    return (double)parameters / 2 * log2((double)all) / (double)all;
}

/* Returns the cost of a rule that was right in `right` of `all` cases; otherwise, the victim was
 * one of `others` lines. */
static double rule_bits(uint64_t right, uint64_t all, uint64_t others)
{
    return entropy(right, all) + entropy(all - right, all) +
           (double)(all - right) / (double)all * log2((double)others) + parameter_bits(1, all);
}

/* Returns the cost of a random choice whose fractions are parameters, up to the last one that is
 * not 0. */
static double weighted_bits(const uint64_t *counts, uint64_t count, uint64_t all)
{
    double bits = 0;
    uint64_t parameters = 0;
    for (uint64_t i = 0; i < count; i++) {
        bits += entropy(counts[i], all);
        parameters = counts[i] ? i + 1 : parameters;
    }
    return bits + parameter_bits(parameters, all);
}

size_t fth_choices_compare(const struct fth_choices *choices, struct fth_choice_bits *bits)
{
    const uint64_t all = choices->replaced, ways = choices->ways;
    if (all < MIN_CHOICES_PER_WAY * ways || ways < 2)
        return 0;
    const struct fth_choice_bits found[FTH_CHOICE_POLICIES] = {
        {"lru", rule_bits(choices->lru_victims, all, ways - 1)},
        {"fifo", rule_bits(choices->by_arrival[0], all, ways - 1)},
        {"lfu", rule_bits(choices->by_arrival[ways - 1], all, ways - 1)},
        {"random", log2((double)ways)},
        {"weighted", weighted_bits(choices->by_way, ways, all)},
        {"by arrival", weighted_bits(choices->by_arrival, ways, all)},
    };
    for (size_t i = 0; i < FTH_CHOICE_POLICIES; i++)
        bits[i] = found[i];
    return FTH_CHOICE_POLICIES;
}

/* ---- certainty ---- */

/* Seed of the draws: results do not change from run to run. */
enum { RESAMPLE_SEED = 11 };

/* Draws `total` times from the indices 0 to count - 1 with the given frequencies, whose sum is also
 * `total`, and counts the draws in `drawn`. */
static void draw_counts(struct fth_rng *rng, const uint64_t *counts, uint64_t count, uint64_t total,
                        uint64_t *drawn)
{
    for (uint64_t i = 0; i < count; i++)
        drawn[i] = 0;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t left = fth_rng_below(rng, total), at = 0;
        while (at + 1 < count && left >= counts[at])
            left -= counts[at++];
        drawn[at]++;
    }
}

/* Returns the policy that needs the fewest bits; NULL: there are too few replacements. */
static const char *best_policy(const struct fth_choices *choices)
{
    struct fth_choice_bits bits[FTH_CHOICE_POLICIES];
    const size_t count = fth_choices_compare(choices, bits);
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = bits[i].bits < bits[best].bits ? i : best;
    return count ? bits[best].name : NULL;
}

enum fth_status fth_choices_resample(const struct fth_choices *choices,
                                     struct fth_evidence *evidence, struct fth_error *error)
{
    const uint64_t ways = choices->ways;
    const char *const best = best_policy(choices);
    struct fth_choices again = {.ways = ways,
                                .by_arrival = calloc(ways + 1, sizeof *again.by_arrival),
                                .by_way = calloc(ways + 1, sizeof *again.by_way),
                                .replaced = choices->replaced};
    const bool allocated = again.by_arrival && again.by_way;
    struct fth_rng rng;
    size_t same = 0;
    fth_rng_init(&rng, RESAMPLE_SEED);
    for (size_t i = 0; best && allocated && i < FTH_BOOTSTRAP_DRAWS; i++) {
        const uint64_t lru[] = {choices->lru_victims, choices->replaced - choices->lru_victims};
        uint64_t drawn[2];
        draw_counts(&rng, choices->by_arrival, ways, choices->replaced, again.by_arrival);
        draw_counts(&rng, choices->by_way, ways, choices->replaced, again.by_way);
        draw_counts(&rng, lru, 2, choices->replaced, drawn);
        again.lru_victims = drawn[0];
        same += best_policy(&again) == best;
    }
    fth_choices_fini(&again);
    *evidence = best ? fth_resampled(same) : (struct fth_evidence){.repeats = 0};
    return allocated ? FTH_OK : fth_no_memory(error, "compare policies", NULL);
}

uint64_t fth_choices_max_rank(const struct fth_choices *choices)
{
    uint64_t max_rank = choices->ways;
    while (max_rank > 1 && choices->by_arrival[max_rank - 1] == 0)
        max_rank--;
    return max_rank;
}

bool fth_choices_show_clock(const struct fth_choices *choices)
{
    const uint64_t all = choices->replaced, ways = choices->ways;
    return ways >= MIN_CLOCK_WAYS && all >= MIN_CHOICES_PER_WAY * ways &&
           CLOCK_PART * fth_choices_max_rank(choices) <= ways && 2 * choices->lru_victims <= all;
}
