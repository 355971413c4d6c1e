/* Lines and sectors.
 *
 * What one miss fetches shows in a first walk over a cold cache, an element at a time: the hops
 * that are slow are as far apart as what each brings in. What is evicted together may be more (a
 * line of several sectors): after a full cache has taken another line, a walk back over what had
 * been there finds a gap, and this is a line. The walk goes back so that, where the oldest line is
 * replaced, what a miss brings in replaces what has been looked at already. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    FIRST_WALK_BYTES = 2048, /* not more than the smallest cache */
    REPEATS = 8,             /* SMs that do the same */
    MAX_RUN = 64,            /* hops: a line has no more sectors */
    MAX_COUNTS = FIRST_WALK_BYTES / 4 + 1
};

/* Of the runs of slow hops: fewer of one length are an exception. */
static const double min_part = 0.2;

unsigned fth_most_frequent(const unsigned *counts, unsigned size)
{
    unsigned best = 0, total = 0;
    for (unsigned i = 1; i < size; i++) {
        total += counts[i];
        best = counts[i] > counts[best] ? i : best;
    }
    return total && 2 * counts[best] > total ? best : 0;
}

void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts)
{
    size_t last = 0;
    for (size_t hop = 1; hop < walk->count; hop++)
        if (walk->cycles[hop] > threshold_cycles) {
            counts[hop - last]++;
            last = hop;
        }
}

static enum fth_status ask_everywhere(const struct fth_prober *prober,
                                      const struct fth_request *request,
                                      struct fth_answers *answers, struct fth_error *error)
{
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = *request;
    return fth_ask(prober, requests, REPEATS, answers, error);
}

/* The index from 1 on that stands for all. */
typedef unsigned picker(const unsigned *counts, unsigned size);

/* Takes the answer of all together, and how many of the repeats give it alone. */
static void decide(picker *pick, const unsigned all[MAX_COUNTS],
                   const unsigned counts[REPEATS][MAX_COUNTS], uint64_t unit,
                   struct fth_length *length)
{
    unsigned answer = pick(all, MAX_COUNTS), same = 0, silent = 0;
    for (size_t i = 0; i < REPEATS; i++) {
        unsigned any = 0;
        for (size_t j = 1; j < MAX_COUNTS; j++)
            any += counts[i][j];
        silent += any == 0; /* nothing was evicted: another line had left before */
        same += answer && pick(counts[i], MAX_COUNTS) == answer;
    }
    length->bytes = answer * unit;
    length->confidence = (same + 1.0) / (REPEATS - silent + 2.0);
}

/* A first walk is the same on all SMs: a hop is slow where it is in most of them. */
static void vote(const struct fth_answers *answers, double threshold, uint32_t *hops)
{
    for (size_t hop = 0; hop < answers->items[0].count; hop++) {
        size_t slow = 0;
        for (size_t i = 0; i < answers->count; i++)
            slow += answers->items[i].cycles[hop] > threshold;
        hops[hop] = 2 * slow > answers->count ? UINT32_MAX : 0;
    }
}

enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                      const struct fth_line_plan *plan, struct fth_length *length,
                                      struct fth_error *error)
{
    const uint64_t stride = plan->path == FTH_PATH_TEXTURE ? 4 : 8;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = stride, .count = FIRST_WALK_BYTES / stride};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    struct fth_answers answers = {0};
    *length = (struct fth_length){0};
    enum fth_status status = ask_everywhere(prober, &request, &answers, error);
    unsigned counts[REPEATS][MAX_COUNTS] = {{0}}, all[MAX_COUNTS] = {0};
    uint32_t hops[MAX_COUNTS];
    for (size_t i = 0; i < answers.count; i++) {
        length->samples += answers.items[i].count;
        fth_count_distances(&answers.items[i], plan->threshold_cycles, counts[i]);
    }
    if (status == FTH_OK) {
        const struct fth_samples voted = {.cycles = hops, .count = answers.items[0].count};
        vote(&answers, plan->threshold_cycles, hops);
        fth_count_distances(&voted, plan->threshold_cycles, all);
    }
    fth_answers_fini(&answers);
    decide(fth_most_frequent, all, (const unsigned(*)[MAX_COUNTS])counts, stride, length);
    if (status == FTH_OK && length->bytes == 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find what a miss fetches", NULL,
                          "the misses of a first walk are not evenly apart");
    return status;
}

/* How often so many hops in a row are slow. The first does not count: its code comes from afar, and
 * it is of the newest line. What takes longer than a miss was disturbed and may have been one: it
 * does not end a row, which would make a line too short, and is none by itself. */
static void count_runs(const uint32_t *hops, size_t count, double low, double high,
                       unsigned counts[MAX_COUNTS])
{
    size_t run = 0, misses = 0;
    for (size_t hop = 1; hop <= count; hop++) {
        if (hop < count && hops[hop] > low) {
            run++;
            misses += hops[hop] <= high;
            continue;
        }
        if (misses && run <= MAX_RUN)
            counts[run]++;
        run = misses = 0;
    }
}

/* The shortest run that is no exception. Neighbouring lines may leave together, where they share a
 * set and one takes the other's place as it comes back; part of a line never leaves alone. */
static unsigned shortest_frequent(const unsigned *counts, unsigned size)
{
    unsigned total = 0;
    for (unsigned i = 1; i < size; i++)
        total += counts[i];
    for (unsigned i = 1; i < size && total; i++)
        if ((double)counts[i] >= min_part * total)
            return i;
    return 0;
}

/* Takes out what disturbances may have made: where single hops are slow at that rate, so many in a
 * row are at its power. Where then nothing is left it was one hop a line: more would have shown. */
static void discount(unsigned counts[REPEATS][MAX_COUNTS], double hops, double rate)
{
    bool longer = false;
    for (size_t run = MAX_RUN; run >= 1; run--) {
        unsigned all = 0;
        for (size_t i = 0; i < REPEATS; i++)
            all += counts[i][run];
        const bool chance = all <= fth_max_by_chance(REPEATS * hops * pow(rate, (double)run));
        longer = longer || !chance;
        for (size_t i = 0; chance && (run > 1 || longer) && i < REPEATS; i++)
            counts[i][run] = 0;
    }
}

enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                     const struct fth_line_plan *plan, uint64_t fetch_bytes,
                                     struct fth_length *length, struct fth_error *error)
{
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = fetch_bytes, .count = plan->size_bytes / fetch_bytes};
    struct fth_chain other = {.array = 1, .stride_bytes = fetch_bytes, .count = 1};
    if (plan->path == FTH_PATH_CONSTANT) { /* one bank: what lies behind */
        other.array = 0;
        other.start_bytes = chain.count * chain.stride_bytes;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 2);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, other, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    request.steps[2].reverse = true;
    const double low = fmax(plan->threshold_cycles, plan->miss_low_cycles);
    const double high = plan->miss_high_cycles > 0 ? plan->miss_high_cycles : INFINITY;
    struct fth_answers answers = {0};
    *length = (struct fth_length){0};
    enum fth_status status = ask_everywhere(prober, &request, &answers, error);
    unsigned counts[REPEATS][MAX_COUNTS] = {{0}};
    uint64_t slow = 0;
    for (size_t i = 0; i < answers.count; i++) {
        /* The second pass finds everything: what is slow there is a disturbance. */
        const uint32_t *again = answers.items[i].cycles + chain.count;
        for (size_t hop = 0; hop < chain.count; hop++)
            slow += again[hop] > low && again[hop] <= high;
        length->samples += answers.items[i].count;
        count_runs(again + chain.count, chain.count, low, high, counts[i]);
    }
    fth_answers_fini(&answers);
    const double hops = (double)chain.count;
    if (slow)
        discount(counts, hops, (double)slow / (REPEATS * hops));
    unsigned all[MAX_COUNTS] = {0};
    for (size_t i = 0; i < REPEATS; i++)
        for (size_t run = 1; run <= MAX_RUN; run++)
            all[run] += counts[i][run];
    decide(shortest_frequent, all, (const unsigned(*)[MAX_COUNTS])counts, fetch_bytes, length);
    if (status == FTH_OK && length->bytes == 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find the line", NULL,
                          "what is evicted has no one length");
    return status;
}
