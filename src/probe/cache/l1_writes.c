/* Finds out what a store does to L1: whether a store to a missing line allocates the line, and
 * whether a store to a cached line updates or evicts it.
 *
 * One lane stores to some lines, and then times a load of each of them through L1. Before the
 * stores, the lines are loaded either through L1, so that the stores hit, or past it, so that they
 * miss. A third experiment times the other half of each line, which shows whether an eviction
 * affects the whole line. The stores write what is there anyway and load nothing
 * (FTH_STEP_WRITE), and no fence follows them, because a fence would empty L1.
 *
 * Two control experiments without stores give the times of hits and misses. All experiments run
 * several times, on different SMs if there are several. */
#include "probe/cache/probe_cache.h"

#include <math.h>

enum {
    /* Lines of an experiment, at most a quarter of those of L1, so that all of them fit whatever
     * the index function. Both limits are chosen: with 8 lines, one disturbed load is no more than
     * the fraction that the decision allows. */
    MAX_LINES = 64,
    MIN_LINES = 8,
    LINES_PART = 4,
    REPEATS = 15 /* of each experiment. Odd: a majority decides. Chosen. */
};
/* Fraction of loads that find the data if it is lost, at most, and if it is kept, at least. The
 * loads of an experiment either all hit or all miss, apart from disturbed ones; more than one in
 * ten is not seen even if another program uses the GPU. Chosen: twice that. */
static const double max_lost = 0.2, min_kept = 0.8;

enum experiment {
    HIT,        /* control: loads of lines that were loaded before */
    MISS,       /* control: loads of lines that were loaded past L1 */
    WRITE_MISS, /* stores to lines that were loaded past L1, then loads */
    WRITE_HIT,  /* stores to lines that were loaded before, then loads */
    NEIGHBOUR,  /* the same, then loads of the other half of the lines */
    EXPERIMENTS
};

static struct fth_request make_request(const struct fth_l1_write_plan *plan,
                                       enum experiment experiment, uint64_t lines)
{
    struct fth_request request = fth_request_make(plan->carveout_percent);
    const struct fth_chain written = {.stride_bytes = plan->line_bytes, .count = lines};
    struct fth_chain neighbour = written;
    neighbour.start_bytes = plan->line_bytes / 2;
    const bool past_l1 = experiment == MISS || experiment == WRITE_MISS;
    fth_request_add(&request, FTH_STEP_WALK, past_l1 ? FTH_PATH_CG : FTH_PATH_CA, written, 1);
    if (experiment == NEIGHBOUR)
        fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CA, neighbour, 1);
    if (experiment >= WRITE_MISS)
        fth_request_add(&request, FTH_STEP_WRITE, FTH_PATH_CA, written, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CA,
                    experiment == NEIGHBOUR ? neighbour : written, 1);
    return request;
}

/* Finds the median over the repeats of the median time of a load. */
static enum fth_status find_median(const struct fth_samples *repeats, double *median,
                                   struct fth_error *error)
{
    double medians[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        struct fth_summary summary;
        FTH_TRY(fth_summary_u32(repeats[i].cycles, repeats[i].count, &summary, error));
        medians[i] = summary.median;
    }
    return fth_quantile_f64(medians, REPEATS, 0.5, median, error);
}

/* Decides whether the loads of an experiment hit. */
static struct fth_write_effect decide(const struct fth_samples *repeats, double threshold)
{
    struct fth_found_loads loads[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        loads[i] = (struct fth_found_loads){.loads = repeats[i].count};
        for (size_t k = 0; k < repeats[i].count; k++)
            loads[i].found += repeats[i].cycles[k] <= threshold;
    }
    return fth_decide_effect(loads, REPEATS, max_lost, min_kept);
}

/* Decides all experiments from their samples, REPEATS answers each. */
static enum fth_status decide_all(const struct fth_samples *answers, struct fth_l1_writes *found,
                                  struct fth_error *error)
{
    double hit, miss;
    FTH_TRY(find_median(answers + (size_t)HIT * REPEATS, &hit, error));
    FTH_TRY(find_median(answers + (size_t)MISS * REPEATS, &miss, error));
    const double threshold = sqrt(hit * miss);
    struct fth_write_effect effects[EXPERIMENTS];
    for (size_t i = 0; i < EXPERIMENTS; i++)
        effects[i] = decide(answers + i * REPEATS, threshold);
    if (effects[HIT].outcome != FTH_WRITE_KEPT || effects[MISS].outcome != FTH_WRITE_LOST)
        return fth_fail(
            error, FTH_INCONCLUSIVE, "find what a store does to L1", NULL,
            "without stores, loads that hit L1 take %.0f cycles and loads past it %.0f; "
            "%zu of %zu and %zu of %zu are fast",
            hit, miss, effects[HIT].found, effects[HIT].loads, effects[MISS].found,
            effects[MISS].loads);
    found->miss = effects[WRITE_MISS];
    found->hit = effects[WRITE_HIT];
    found->neighbour = effects[NEIGHBOUR];
    return FTH_OK;
}

enum fth_status fth_probe_l1_writes(const struct fth_prober *prober,
                                    const struct fth_l1_write_plan *plan,
                                    struct fth_l1_writes *found, struct fth_error *error)
{
    struct fth_request requests[EXPERIMENTS * REPEATS];
    struct fth_answers answers = {0};
    const uint64_t lines =
        FTH_MIN(plan->size_bytes / plan->line_bytes / LINES_PART, (uint64_t)MAX_LINES);
    *found = (struct fth_l1_writes){.samples = 0};
    if (lines < MIN_LINES)
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L1", NULL,
                        "L1 has too few lines");
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = make_request(plan, (enum experiment)(i / REPEATS), lines);
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    const enum fth_status status = decide_all(answers.items, found, error);
    fth_answers_fini(&answers);
    return status;
}
