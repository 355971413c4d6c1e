/* How well each of several policies explains which lines a set gives up, in bits a replacement:
 * the likelihood of what was seen, as the length of its shortest description (Rissanen 1978).
 *
 * One line more than the ways is walked over and over, so that one line is missing at any time and
 * the next miss tells what the last one threw out (as in policy.c). A policy that chooses by a rule
 * is right in some cases, and in the others any line may have gone; one that chooses by chance
 * spends the logarithm of how unlikely it was. What a policy leaves open, and has to be told first,
 * is paid for, too: half the logarithm of the number of replacements for each.
 *
 * A set is followed from its first fill on. When every line has come at least once, the order in
 * which they came is known, and it counts from there on. */
#include "probe/structure.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_CHOICES_PER_WAY = 5 };

void fth_choices_fini(struct fth_choices *choices)
{
    free(choices->by_arrival);
    free(choices->by_way);
    *choices = (struct fth_choices){.ways = 0};
}

/* What is known of a set while it is followed. */
struct set {
    uint32_t
        *arrived;  /* [lines] those that are there, the first that came in front; then the rest */
    uint32_t *way; /* [lines] that each is in */
    bool *known;   /* [lines] it came while it was followed */
    uint64_t unknown; /* how many did not */
};

static uint64_t place_of(const struct set *set, uint64_t lines, uint32_t line)
{
    uint64_t place = 0;
    while (place < lines && set->arrived[place] != line)
        place++;
    return place;
}

/* The line comes, and is the last that did. */
static void arrive(struct set *set, uint64_t lines, uint32_t line)
{
    uint64_t place = place_of(set, lines, line);
    for (; place + 1 < lines; place++)
        set->arrived[place] = set->arrived[place + 1];
    set->arrived[lines - 1] = line;
    set->unknown -= !set->known[line];
    set->known[line] = true;
}

static void follow(struct fth_choices *choices, struct set *set, const uint32_t *missed,
                   size_t count)
{
    const uint64_t ways = choices->ways, lines = ways + 1;
    uint32_t last = (uint32_t)ways;
    for (uint32_t line = 0; line < lines; line++) {
        set->arrived[line] = line;
        set->way[line] = line;
        set->known[line] = false;
    }
    set->unknown = lines;
    for (size_t i = 0; i < count; i++) {
        const uint32_t gone = missed[i];
        if (set->unknown == 0 && gone != last) {
            choices->by_arrival[place_of(set, lines, gone)]++;
            choices->by_way[set->way[gone] % ways]++;
            choices->min_recent += gone == (last + 1) % lines;
            choices->replaced++;
        }
        set->way[last] = set->way[gone];
        arrive(set, lines, gone);
        last = gone;
    }
}

enum fth_status fth_choices_follow(struct fth_choices *choices, uint64_t ways,
                                   const uint32_t *missed, size_t count, struct fth_error *error)
{
    if (choices->ways == 0) {
        choices->by_arrival = calloc(ways + 1, sizeof *choices->by_arrival);
        choices->by_way = calloc(ways + 1, sizeof *choices->by_way);
        choices->ways = ways;
    }
    if (choices->ways != ways)
        return FTH_OK;
    struct set set = {.arrived = calloc(ways + 1, sizeof *set.arrived),
                      .way = calloc(ways + 1, sizeof *set.way),
                      .known = calloc(ways + 1, sizeof *set.known)};
    const bool room = choices->by_arrival && choices->by_way && set.arrived && set.way && set.known;
    if (room)
        follow(choices, &set, missed, count);
    free(set.arrived);
    free(set.way);
    free(set.known);
    return room ? FTH_OK
                : fth_fail(error, FTH_NO_MEMORY, "compare policies", NULL, "out of memory");
}

/* ---- bits ---- */

/* What a share adds; nothing where it is 0. */
static double entropy(uint64_t part, uint64_t all)
{
    const double share = (double)part / (double)all;
    return part ? -share * log2(share) : 0;
}

/* To tell so many shares first. */
static double told_bits(uint64_t shares, uint64_t all)
{
    return (double)shares / 2 * log2((double)all) / (double)all;
}

/* A rule that was right so often of all, and otherwise one of so many others went. */
static double rule_bits(uint64_t right, uint64_t all, uint64_t others)
{
    return entropy(right, all) + entropy(all - right, all) +
           (double)(all - right) / (double)all * log2((double)others) + told_bits(1, all);
}

/* Chance, with shares that have to be told, up to the last that there is. */
static double share_bits(const uint64_t *counts, uint64_t count, uint64_t all)
{
    double bits = 0;
    uint64_t told = 0;
    for (uint64_t i = 0; i < count; i++) {
        bits += entropy(counts[i], all);
        told = counts[i] ? i + 1 : told;
    }
    return bits + told_bits(told, all);
}

size_t fth_choices_judge(const struct fth_choices *choices, struct fth_choice_bits *bits)
{
    const uint64_t all = choices->replaced, ways = choices->ways;
    if (all < MIN_CHOICES_PER_WAY * ways || ways < 2)
        return 0;
    const struct fth_choice_bits found[FTH_CHOICES] = {
        {"lru", rule_bits(choices->min_recent, all, ways - 1)},
        {"fifo", rule_bits(choices->by_arrival[0], all, ways - 1)},
        {"lfu", rule_bits(choices->by_arrival[ways - 1], all, ways - 1)},
        {"random", log2((double)ways)},
        {"weighted", share_bits(choices->by_way, ways, all)},
        {"by arrival", share_bits(choices->by_arrival, ways, all)},
    };
    for (size_t i = 0; i < FTH_CHOICES; i++)
        bits[i] = found[i];
    return FTH_CHOICES;
}

uint64_t fth_choices_reach(const struct fth_choices *choices)
{
    uint64_t reach = choices->ways;
    while (reach > 1 && choices->by_arrival[reach - 1] == 0)
        reach--;
    return reach;
}
