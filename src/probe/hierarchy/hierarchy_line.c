/* The line size of a level: the bytes that a load brings into the cache.
 *
 * A request flushes the level with another array, walks a chain A whose elements are far apart, and
 * then times one pass over a chain B, whose elements lie `distance` bytes behind those of A:
 *
 *        |A...B...........|A...B...........|A...B...........|     stride 512 bytes
 *
 * If the distance is less than the line, the loads of B hit; otherwise they miss. The line is the
 * smallest distance at which they miss. The time of a pass is compared with that over A itself,
 * once with A in the cache and once after the flush.
 *
 * The elements are visited in pseudo-random order, so that no stride prefetcher helps. Some CPUs
 * fetch pairs of lines into their second cache. Behind the first cache, only a distance that misses
 * says something certain then: the line is at most this long. A line is not shorter than that of
 * the cache before it, so it is known if already this distance misses. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdlib.h>

enum {
    STRIDE_BYTES = 1024, /* of the chains A and B: more than twice the longest line */
    MIN_DISTANCE = 16,
    DISTANCES = 6,           /* 16 to 512 bytes */
    PAIRS = 4,               /* pairs of rounds must agree */
    ROUNDS = 2 * PAIRS,      /* repeats. Chosen */
    TRIALS = 2,              /* in a request: three steps each */
    FLUSH_STRIDE_BYTES = 32, /* of the array that flushes: at most the shortest line */
    FIRST_FLUSH_FACTOR = 4,  /* it is this many times as large as the first cache, ... */
    FLUSH_FACTOR = 3,        /* ... and as a later one */
    MIN_COUNT = 8,
    MAX_COUNT = 64,        /* elements of A and B */
    ROUND_BYTES = 5 * 4096 /* distance between the chains of two rounds */
};
/* The chains fill at most this fraction of the level. */
static const double filled_fraction = 0.25;
/* Passes are hits or misses if the difference from passes that only hit is at most or at least this
 * fraction of the difference between hits and misses. Chosen: a pass in which about half
 * of the loads miss is undecided. */
static const double hit_fraction = 0.35, miss_fraction = 0.65;

/* What a request times after the flush. */
enum subject { HITS, MISSES, FIRST_DISTANCE };
enum { SUBJECTS = FIRST_DISTANCE + DISTANCES };

static uint64_t distance_of(unsigned subject)
{
    return (uint64_t)MIN_DISTANCE << (subject - FIRST_DISTANCE);
}

static uint64_t count_of(const struct fth_hierarchy_line_plan *plan)
{
    const double count = filled_fraction * (double)plan->size_bytes / STRIDE_BYTES;
    return count < MIN_COUNT ? MIN_COUNT : count > MAX_COUNT ? MAX_COUNT : (uint64_t)count;
}

static struct fth_request make_request(const struct fth_hierarchy_line_plan *plan, unsigned subject,
                                       unsigned round)
{
    const uint64_t flush_factor = plan->smallest_bytes ? FLUSH_FACTOR : FIRST_FLUSH_FACTOR;
    const struct fth_chain flush = {.array = 1,
                                    .stride_bytes = FLUSH_STRIDE_BYTES,
                                    .count = flush_factor * plan->size_bytes / FLUSH_STRIDE_BYTES,
                                    .seed = 1};
    struct fth_chain near = {.start_bytes = (uint64_t)round * ROUND_BYTES,
                             .stride_bytes = STRIDE_BYTES,
                             .count = count_of(plan),
                             .seed = 1 + round};
    struct fth_chain timed = near;
    if (subject >= FIRST_DISTANCE)
        timed.start_bytes += distance_of(subject);
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    for (unsigned i = 0; i < TRIALS; i++) {
        fth_request_add(&request, FTH_STEP_WALK, plan->first->path, flush, 1);
        if (subject != MISSES)
            fth_request_add(&request, FTH_STEP_WALK, plan->first->path, near, 1);
        fth_request_add(&request, FTH_STEP_TIME_PASS, plan->first->path, timed, 1);
    }
    return request;
}

/* Decides from the times of one round. Returns 0 if it is undecided. *ambiguous: also the shortest
 * distance hits, which a prefetcher may cause. */
static uint64_t decide(const struct fth_hierarchy_line_plan *plan, const double *times,
                       bool *ambiguous)
{
    uint64_t line = 0;
    *ambiguous = false;
    const double count = (double)count_of(plan);
    /* If caches before the level hold A or a part of it, they do not hold the lines of B, which are
     * in the level if they hit. */
    double hits = times[HITS];
    if (plan->smallest_bytes)
        hits = fmax(hits, plan->first->overhead_cycles + count * plan->hit_cycles);
    /* The flush can evict data from later levels, too, where a prefetcher may put it back. If the
     * loop around a load takes longer than a hit (FTH_PASS_GROUP), it hides a part of the misses;
     * minima with a coarse clock are not precise enough for that. */
    const double expected = plan->factor > 1
                                ? plan->first->overhead_cycles + count * plan->miss_cycles - hits
                                : count * (plan->miss_cycles - plan->hit_cycles);
    const double misses = fmin(times[MISSES] - hits, expected);
    if (!(misses > 0))
        return 0;
    for (unsigned i = FIRST_DISTANCE; i < SUBJECTS; i++) {
        const double part = (times[i] - hits) / misses;
        const uint64_t distance = distance_of(i);
        if (distance < plan->smallest_bytes)
            continue;
        if (part > hit_fraction && part < miss_fraction)
            return 0;
        if (part >= miss_fraction && line == 0)
            line = distance;
        if (part <= hit_fraction && line) /* farther data is in the cache, but not nearer */
            return 0;
    }
    *ambiguous = plan->has_prefetchers && line > plan->smallest_bytes && plan->smallest_bytes;
    return line;
}

/* Returns the number of rounds. */
static unsigned rounds_of(const struct fth_hierarchy_line_plan *plan)
{
    return plan->factor > 1 ? plan->factor * ROUNDS : ROUNDS;
}

/* Takes the cycles of each subject from the rounds `from` to `to`: the minimum, or, with a clock
 * that is coarse for so few loads, the mean of the fast samples. */
static enum fth_status take_times(const struct fth_hierarchy_line_plan *plan,
                                  const struct fth_answers *answers, unsigned from, unsigned to,
                                  double *times, struct fth_error *error)
{
    uint32_t cycles[TRIALS * FTH_MAX_LINE_FACTOR * ROUNDS];
    for (unsigned i = 0; i < SUBJECTS; i++) {
        size_t count = 0;
        uint32_t least = UINT32_MAX;
        for (unsigned round = from; round < to; round++) {
            const struct fth_samples *item = &answers->items[round * SUBJECTS + i];
            for (size_t k = 0; k < item->count && k < TRIALS; k++) {
                least = item->cycles[k] < least ? item->cycles[k] : least;
                cycles[count++] = item->cycles[k];
            }
        }
        times[i] = count ? (double)least : INFINITY;
        if (plan->factor > 1 && count)
            FTH_TRY(fth_low_mean(cycles, count, plan->first->resolution, &times[i], error));
    }
    return FTH_OK;
}

/* Decides from all rounds, and counts the quarters of the rounds that agree. */
static enum fth_status conclude(const struct fth_hierarchy_line_plan *plan,
                                const struct fth_answers *answers, struct fth_hierarchy_line *line,
                                struct fth_error *error)
{
    double times[SUBJECTS];
    bool ambiguous, other;
    const unsigned rounds = rounds_of(plan), quarter = rounds / PAIRS;
    FTH_TRY(take_times(plan, answers, 0, rounds, times, error));
    line->bytes = decide(plan, times, &ambiguous);
    line->evidence.repeats = PAIRS;
    for (unsigned round = 0; round < rounds; round += quarter) {
        FTH_TRY(take_times(plan, answers, round, round + quarter, times, error));
        line->evidence.agree += decide(plan, times, &other) == line->bytes;
    }
    if (line->bytes && ambiguous)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the line", NULL,
                        "a load brings %llu bytes into the cache: the line is that long, or a "
                        "prefetcher fetches neighbours of a line",
                        (unsigned long long)line->bytes);
    if (!line->bytes || fth_evidence_share(line->evidence) <= 0.5)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the line", NULL,
                        "repeated measurements contradict each other");
    return FTH_OK;
}

enum fth_status fth_probe_hierarchy_line(const struct fth_prober *prober,
                                         const struct fth_hierarchy_line_plan *plan,
                                         struct fth_hierarchy_line *line, struct fth_error *error)
{
    const size_t count = (size_t)rounds_of(plan) * SUBJECTS;
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {NULL, 0};
    *line = (struct fth_hierarchy_line){0};
    if (!requests)
        return fth_no_memory(error, "measure the line", NULL);
    for (unsigned i = 0; i < count; i++)
        requests[i] = make_request(plan, i % SUBJECTS, i / SUBJECTS);
    enum fth_status status = fth_ask_once(prober, requests, count, &answers, error);
    for (size_t i = 0; i < answers.count; i++)
        line->samples += answers.items[i].count;
    if (status == FTH_OK)
        status = conclude(plan, &answers, line, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}
