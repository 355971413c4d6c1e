/* The size of a cache whose misses begin at one footprint.
 *
 * Up to its size, a footprint has no misses, except those that the timing code and other programs
 * cause. Beyond, every further line makes a set overflow. So the number of misses per pass is a
 * line with a small slope that turns into one with a large slope. The size is the last footprint
 * before the turn.
 *
 *   misses |                .'
 *          |              .'
 *          |            .'
 *          |.........--'
 *          +-----------+------ footprint
 *                     size
 *
 * Rounds use different memory. If the cache is indexed by physical addresses and the pages are not
 * contiguous, or if the sets are hashed, misses begin gradually, and at another footprint in each
 * round. The size is unknown then. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdlib.h>

enum {
    STEPS_BELOW = 20,
    STEPS_ABOVE = 8, /* footprints below and above the approximate size */
    STEPS = STEPS_BELOW + STEPS_ABOVE + 1,
    STEPS_PER_SIZE = 128, /* the approximate size, in steps; a step is at least a line */
    LEFT_STEPS = 8,       /* footprints that fit which a turn needs */
    RIGHT_STEPS = 3,      /* footprints after it */
    ROUNDS = 8,
    GROUP = 2,
    GROUPS = ROUNDS / GROUP, /* groups of rounds must agree */
    BISECTIONS = 7,
    BISECTION_ROUNDS = 3,
    UNIT_BYTES = 1024, /* sizes are multiples of it */
    MIN_TAIL = 8,      /* loads behind the last group that show what they take longer. Chosen */
    MAX_ODD_PART = 15  /* a size is a power of two times an odd number up to this */
};
/* Fraction of the loads that miss at the footprint in the middle of the search. */
static const double missed_at_edge = 0.1;
/* At the turn, at most this fraction of the loads misses, plus those that the lines of the timing
 * code cause. Chosen. */
static const double max_missed_before = 0.06, max_background = 10;
/* Loads behind the last group that take longer by less are corrected for nothing. Chosen. */
static const double min_tail_misses = 0.05;
/* min_misses_per_line: each line beyond the size causes at least one miss with every policy; less
 * because of noise. significant: a deviation in standard deviations of the points before.
 * sharp_fraction: a sharp turn has at least this fraction of the misses of the sharpest one.
 * Chosen. */
static const double min_misses_per_line = 0.6, significant = 5, sharp_fraction = 0.5;

/* The footprints of a search, and the misses per pass that each round shows. */
struct turn_search {
    const struct fth_edge_plan *plan;
    uint64_t step_bytes, first_bytes;
    double misses[ROUNDS][STEPS];
    double tail_misses; /* subtracted for each load behind the last group of loads; see correct() */
};

/* Returns the number of elements of a footprint. */
static uint64_t count_of(const struct turn_search *search, size_t step)
{
    return (search->first_bytes + step * search->step_bytes) / search->plan->line_bytes;
}

/* Takes the minimum of the rounds. */
static void take_minimum(const struct turn_search *search, unsigned from, unsigned to,
                         double misses[STEPS])
{
    for (size_t i = 0; i < STEPS; i++) {
        misses[i] = search->misses[from][i];
        for (unsigned round = from + 1; round < to; round++)
            misses[i] = fmin(misses[i], search->misses[round][i]);
        misses[i] -= search->tail_misses * (double)(count_of(search, i) % FTH_PASS_GROUP);
    }
}

/* Fits a line to the points before `end`; returns its standard deviation. */
static double fit_line(const double *misses, size_t from, size_t end, double *slope, double *at_0)
{
    double x = 0, y = 0, xx = 0, xy = 0, squares = 0;
    const double n = (double)(end - from);
    for (size_t i = from; i < end; i++) {
        x += (double)i / n;
        y += misses[i] / n;
    }
    for (size_t i = from; i < end; i++) {
        xx += ((double)i - x) * ((double)i - x);
        xy += ((double)i - x) * (misses[i] - y);
    }
    *slope = xy / xx;
    *at_0 = y - *slope * x;
    for (size_t i = from; i < end; i++)
        squares += pow(misses[i] - *at_0 - *slope * (double)i, 2);
    return sqrt(squares / (n - 2));
}

/* Returns by how many misses the footprints after `last` exceed the line through those before; 0:
 * it is not significant. */
static double turn_at(const struct turn_search *search, const double *misses, size_t last)
{
    const double lines = (double)search->step_bytes / (double)search->plan->line_bytes;
    double slope, at_0, more = 0;
    const double deviation = fit_line(misses, last + 1 - LEFT_STEPS, last + 1, &slope, &at_0);
    for (size_t i = 1; i <= RIGHT_STEPS; i++) {
        more = misses[last + i] - at_0 - slope * (double)(last + i);
        if (more <= fmax(significant * deviation, min_misses_per_line * lines * (double)i))
            return 0;
    }
    return more;
}

/* Returns the index of the last footprint before the first sharp turn; 0: there is none. Lines that
 * the timing code uses can cause less sharp turns before. */
static size_t find_turn(const struct turn_search *search, const double *misses)
{
    double sharpest = 0;
    size_t turn = LEFT_STEPS - 1;
    for (size_t last = LEFT_STEPS - 1; last + RIGHT_STEPS < STEPS; last++)
        sharpest = fmax(sharpest, turn_at(search, misses, last));
    if (!(sharpest > 0))
        return 0;
    while (turn_at(search, misses, turn) < sharp_fraction * sharpest)
        turn++;
    const double loads = (double)(search->first_bytes + turn * search->step_bytes) /
                         (double)search->plan->line_bytes;
    return misses[turn] <= max_missed_before * loads + max_background ? turn : 0;
}

/* Chooses the footprints: steps of a power of two times the line. */
static void plan_steps(struct turn_search *search, uint64_t edge_bytes)
{
    const struct fth_edge_plan *plan = search->plan;
    search->step_bytes = plan->line_bytes;
    while (2 * search->step_bytes <= edge_bytes / STEPS_PER_SIZE)
        search->step_bytes *= 2;
    const uint64_t unit = search->step_bytes > UNIT_BYTES ? search->step_bytes : UNIT_BYTES;
    const uint64_t centre = (edge_bytes + unit / 2) / unit * unit;
    search->first_bytes = centre > STEPS_BELOW * search->step_bytes
                              ? centre - STEPS_BELOW * search->step_bytes
                              : search->step_bytes;
}

/* Finds the footprint at which the fraction `missed_at_edge` of the loads misses. */
static enum fth_status find_centre(const struct fth_prober *prober,
                                   const struct fth_edge_plan *plan, uint64_t *bytes,
                                   struct fth_edge *edge, struct fth_error *error)
{
    uint64_t fits = plan->edge_bytes * 3 / 4, misses = plan->edge_bytes * 3 / 2;
    for (unsigned i = 0; i < BISECTIONS; i++) {
        struct fth_pass passes[BISECTION_ROUNDS];
        struct fth_pass_time times[BISECTION_ROUNDS];
        const uint64_t middle = (fits + misses) / 2, count = middle / plan->line_bytes;
        double least = INFINITY;
        for (unsigned round = 0; round < BISECTION_ROUNDS; round++)
            passes[round] = (struct fth_pass){plan->first->path, plan->line_bytes, count, round, 0};
        FTH_TRY(fth_time_passes(prober, plan->first->resolution, passes, BISECTION_ROUNDS, times,
                                error));
        for (size_t round = 0; round < BISECTION_ROUNDS; round++) {
            least = fmin(least, times[round].cycles);
            edge->samples += times[round].samples;
        }
        const double load = (least - plan->first->overhead_cycles) / (double)count;
        if (load - plan->hit_cycles > missed_at_edge * (plan->miss_cycles - plan->hit_cycles))
            misses = middle;
        else
            fits = middle;
    }
    *bytes = misses;
    return FTH_OK;
}

/* Times all footprints in all rounds. */
static enum fth_status measure(const struct fth_prober *prober, struct turn_search *search,
                               struct fth_edge *edge, struct fth_error *error)
{
    const struct fth_edge_plan *plan = search->plan;
    struct fth_pass passes[STEPS];
    struct fth_pass_time times[STEPS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < STEPS; i++)
            passes[i] = (struct fth_pass){.path = plan->first->path,
                                          .stride_bytes = plan->line_bytes,
                                          .count = count_of(search, i),
                                          .round = round};
        FTH_TRY(fth_time_passes(prober, plan->first->resolution, passes, STEPS, times, error));
        for (size_t i = 0; i < STEPS; i++) {
            search->misses[round][i] = (times[i].cycles - plan->first->overhead_cycles -
                                        (double)passes[i].count * plan->hit_cycles) /
                                       (plan->miss_cycles - plan->hit_cycles);
            edge->samples += times[i].samples;
        }
    }
    return FTH_OK;
}

/* Estimates what the loads of a chain behind its last whole group take longer than a hit, as a
 * fraction of a miss. The kernels execute them in a loop of one load, whose other instructions a
 * hit of few cycles does not hide. Misses only make a pass longer, so that the footprint with the
 * least excess per such load has the fewest of them. Returns whether there is an excess. */
static bool correct(struct turn_search *search)
{
    double misses[STEPS], least = INFINITY;
    take_minimum(search, 0, ROUNDS, misses);
    for (size_t i = 0; i < STEPS; i++) {
        const uint64_t tail = count_of(search, i) % FTH_PASS_GROUP;
        if (tail >= MIN_TAIL)
            least = fmin(least, misses[i] / (double)tail);
    }
    if (!(least > min_tail_misses && least < INFINITY))
        return false;
    search->tail_misses = least;
    return true;
}

/* Measures the footprints of the search, and finds the turn in the minimum of the rounds. */
static enum fth_status search_window(const struct fth_prober *prober, struct turn_search *search,
                                     struct fth_edge *edge, size_t *turn, struct fth_error *error)
{
    double misses[STEPS];
    search->tail_misses = 0;
    FTH_TRY(measure(prober, search, edge, error));
    take_minimum(search, 0, ROUNDS, misses);
    *turn = find_turn(search, misses);
    if (*turn > 0 || !correct(search))
        return FTH_OK;
    take_minimum(search, 0, ROUNDS, misses);
    *turn = find_turn(search, misses);
    return FTH_OK;
}

/* Moves the footprints down if misses begin before those that a turn can be at, where the line
 * through the later ones shows no miss: a tenth of the loads of a small cache can miss many lines
 * after its size. Only for steps of a line, with which passes are short; the edge of a larger cache
 * is rather gradual because its pages are scattered. Returns whether it did. */
static bool move_down(struct turn_search *search)
{
    double misses[STEPS], slope, at_0;
    take_minimum(search, 0, ROUNDS, misses);
    fit_line(misses, LEFT_STEPS, STEPS, &slope, &at_0);
    const double begin = -at_0 / slope;
    if (search->step_bytes > search->plan->line_bytes || !(slope > 0) || begin >= LEFT_STEPS ||
        begin < -STEPS_BELOW)
        return false;
    const uint64_t down = (uint64_t)(STEPS_BELOW - begin) * search->step_bytes;
    if (search->first_bytes <= down)
        return false;
    search->first_bytes -= down;
    return true;
}

/* Whether the size is one that caches have. */
static bool is_usual(uint64_t bytes)
{
    const uint64_t odd = bytes / (bytes & (~bytes + 1));
    return bytes % UNIT_BYTES == 0 && odd <= MAX_ODD_PART;
}

enum fth_status fth_probe_edge(const struct fth_prober *prober, const struct fth_edge_plan *plan,
                               struct fth_edge *edge, struct fth_error *error)
{
    struct turn_search search = {.plan = plan};
    double misses[STEPS];
    *edge = (struct fth_edge){0};
    uint64_t centre = 0;
    size_t turn;
    FTH_TRY(find_centre(prober, plan, &centre, edge, error));
    plan_steps(&search, centre);
    FTH_TRY(search_window(prober, &search, edge, &turn, error));
    if (turn == 0 && move_down(&search))
        FTH_TRY(search_window(prober, &search, edge, &turn, error));
    edge->bytes = search.first_bytes + turn * search.step_bytes;
    edge->evidence.repeats = GROUPS;
    for (unsigned group = 0; group < GROUPS; group++) {
        take_minimum(&search, group * GROUP, (group + 1) * GROUP, misses);
        edge->evidence.agree += find_turn(&search, misses) == turn;
    }
    if (turn == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the size", NULL,
                        "misses do not begin at one footprint");
    if (2 * edge->evidence.agree <= edge->evidence.repeats)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the size", NULL,
                        "misses begin at different footprints in different memory");
    if (!plan->any_size && !is_usual(edge->bytes))
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the size", NULL,
                        "misses begin at %llu bytes, which is not the size of a cache",
                        (unsigned long long)edge->bytes);
    return FTH_OK;
}
