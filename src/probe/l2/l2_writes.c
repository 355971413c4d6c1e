/* Finds out what a store does to the L2.
 *
 * Stores to lines that are not in the L2: after a flush, one lane stores to whole lines, and to the
 * first 8 bytes of others, and then times loads of what it wrote. If the stores allocate lines,
 * sectors that were written completely are found in the L2. A sector that was written in part is
 * found only if the L2 remembers which bytes were written; otherwise the sector comes from memory.
 *
 * Copies of lines (an L2 with two partitions): an SM loads lines whose home is the far partition,
 * which puts copies into its near one. An SM of the other side stores to the lines. If the first SM
 * then finds the lines at the far latency, the store has invalidated the copies; at the near
 * latency, they were kept, and the hardware updates them. Only kernels in sequence can run on two
 * SMs in a given order, so a control experiment shows that copies survive the end of a kernel. */
#include "probe/l2/probe_l2.h"

enum {
    WORD = 8, /* bytes of an element of a chain, and of a store */
    /* Arrays; l2_geometry.c and l2map.c use 0 to 6. Arrays of 8 and above have a header. */
    PARTIAL_ARRAY = 6,
    WHOLE_ARRAY = 7,
    WHOLE_BYTES = 4096,  /* that are written completely. Chosen: at least 16 lines of 256 bytes. */
    PARTIAL_LINES = 128, /* maximum number of lines that are written in part. Chosen. */
    PARTIAL_PART = 16,   /* they are at most this part of the lines of the L2. Chosen. */
    PARTIAL_STRIDE = 11, /* distance between them, in lines: a prime, as in l2map.c */
    REPEATS = 5,         /* of an experiment. Odd: a majority decides. Chosen. */
    COPY_LINES = 128,    /* lines whose copies are watched. Chosen. */
    COPY_STRIDE = 37,    /* distance between them, in lines: a prime, as in l2map.c */
    MIN_COPIES = 8       /* minimum number of copies for a decision. Chosen, as in l2map.c. */
};
/* Fraction of loads that find the data in L2 if it is lost, at most, and if it is kept, at least.
 * The loads either all find it or all do not, apart from disturbed ones. Chosen, not derived. */
static const double max_lost = 0.2, min_kept = 0.8;
/* The same for partly written sectors, with the limits of the sector (l2_outcomes.c): a near
 * partition requests whole sectors of lines whose home is the far one, so that with two partitions
 * only half of the loads can find written bytes. */
static const double max_partial_lost = 0.1, min_partial_kept = 0.4;

/* ---- missing lines ---- */

/* What happens to the lines between the flush and the timed loads. */
enum experiment {
    NOTHING, /* control: the flush has evicted the lines */
    LOADS,   /* control: the L2 keeps lines that were just loaded */
    STORES,
    EXPERIMENTS
};

/* Returns a cold request that writes or loads whole lines and parts of lines, and then times loads
 * of all of them. */
static struct fth_request make_request(const struct fth_l2_map_plan *plan,
                                       enum experiment experiment)
{
    const uint64_t max = plan->size_bytes / plan->line_bytes / PARTIAL_PART;
    const struct fth_chain whole = {
        .array = WHOLE_ARRAY, .stride_bytes = WORD, .count = WHOLE_BYTES / WORD};
    const struct fth_chain partial = {.array = PARTIAL_ARRAY,
                                      .stride_bytes = PARTIAL_STRIDE * plan->line_bytes,
                                      .count = max < PARTIAL_LINES ? max : PARTIAL_LINES};
    const enum fth_step_kind kind = experiment == STORES ? FTH_STEP_WRITE : FTH_STEP_WALK;
    const enum fth_path path = experiment == STORES ? FTH_PATH_CA : FTH_PATH_CG;
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0;
    if (experiment != NOTHING) {
        fth_request_add(&request, kind, path, whole, 1);
        fth_request_add(&request, kind, path, partial, 1);
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, whole, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, partial, 1);
    return request;
}

/* Counts the loads that found their data in the L2: every `step`-th of the samples from `first` to
 * `end`. */
static struct fth_found_loads count_found(const struct fth_samples *samples, size_t first,
                                          size_t end, size_t step, double threshold)
{
    struct fth_found_loads loads = {0};
    for (size_t i = first; i < end && i < samples->count; i += step) {
        loads.found += samples->cycles[i] <= threshold;
        loads.loads++;
    }
    return loads;
}

/* Decides both effects of an experiment. Only the first load of each fill is counted: in memory it
 * is a miss, after which the others hit. */
static void decide(const struct fth_samples *answers, enum experiment experiment,
                   const struct fth_l2_map_plan *plan, uint64_t fill_bytes,
                   struct fth_l2_writes *found)
{
    struct fth_found_loads whole[REPEATS], partial[REPEATS];
    const size_t whole_loads = WHOLE_BYTES / WORD, step = (size_t)(fill_bytes / WORD);
    for (size_t i = 0; i < REPEATS; i++) {
        const struct fth_samples *each = &answers[i * EXPERIMENTS + experiment];
        whole[i] = count_found(each, 0, whole_loads, step ? step : 1, plan->memory_threshold);
        partial[i] = count_found(each, whole_loads, each->count, 1, plan->memory_threshold);
    }
    found->whole = fth_decide_effect(whole, REPEATS, max_lost, min_kept);
    found->partial = fth_decide_effect(partial, REPEATS, max_partial_lost, min_partial_kept);
}

/* Whether both effects have this outcome. */
static bool have_outcome(const struct fth_l2_writes *found, enum fth_write_outcome outcome)
{
    return found->whole.outcome == outcome && found->partial.outcome == outcome;
}

enum fth_status fth_probe_l2_writes(const struct fth_prober *prober,
                                    const struct fth_l2_map_plan *plan, uint64_t fill_bytes,
                                    struct fth_l2_writes *found, struct fth_error *error)
{
    struct fth_request requests[REPEATS * EXPERIMENTS];
    struct fth_answers answers = {0};
    struct fth_l2_writes all[EXPERIMENTS];
    *found = (struct fth_l2_writes){.samples = 0};
    if (plan->size_bytes / plan->line_bytes < PARTIAL_PART)
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L2", NULL,
                        "it has too few lines");
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = make_request(plan, (enum experiment)(i % EXPERIMENTS));
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    for (size_t i = 0; i < EXPERIMENTS; i++)
        decide(answers.items, (enum experiment)i, plan, fill_bytes, &all[i]);
    *found = all[STORES];
    found->samples = 0;
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    fth_answers_fini(&answers);
    if (!have_outcome(&all[LOADS], FTH_WRITE_KEPT))
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L2", NULL,
                        "without stores, only %zu of %zu loads find what was loaded before",
                        all[LOADS].whole.found + all[LOADS].partial.found,
                        all[LOADS].whole.loads + all[LOADS].partial.loads);
    if (!have_outcome(&all[NOTHING], FTH_WRITE_LOST))
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L2", NULL,
                        "%zu of %zu loads find the data after a flush, without a store",
                        all[NOTHING].whole.found + all[NOTHING].partial.found,
                        all[NOTHING].whole.loads + all[NOTHING].partial.loads);
    return FTH_OK;
}

/* ---- copies in the near partition ---- */

/* The requests of one repeat, in the order in which they run. */
enum { LOAD, CONTROL, STORE, CHECK, STAGES };

static void make_stages(const struct fth_chain *lines, uint32_t writer,
                        struct fth_request requests[STAGES])
{
    const struct fth_chain other = {.array = WHOLE_ARRAY, .stride_bytes = WORD, .count = 1};
    for (size_t i = 0; i < STAGES; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].alone = true;
        requests[i].sm = i == STORE ? writer : 0;
    }
    fth_request_add(&requests[LOAD], FTH_STEP_WALK, FTH_PATH_CG, *lines, 1);
    fth_request_add(&requests[STORE], FTH_STEP_WRITE, FTH_PATH_CA, *lines, 1);
    for (size_t i = 0; i < STAGES; i++) /* every request must time something */
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CG, i == STORE ? other : *lines,
                        1);
}

/* Counts the copies that are still there after the stores, among those that the control experiment
 * found. Returns no loads if the control found too few of them, or if lines are in memory
 * afterwards: then something else has evicted them. */
static struct fth_found_loads count_copies(const struct fth_samples *control,
                                           const struct fth_samples *check, const uint8_t *homes,
                                           const struct fth_l2_map_plan *plan)
{
    struct fth_found_loads copies = {0};
    size_t far_lines = 0, in_memory = 0;
    for (size_t i = 0; i < COPY_LINES; i++) {
        if (homes[i] != FTH_HOME_FAR)
            continue;
        far_lines++;
        if (control->cycles[i] > plan->near_threshold)
            continue;
        copies.loads++;
        copies.found += check->cycles[i] <= plan->near_threshold;
        in_memory += check->cycles[i] > plan->memory_threshold;
    }
    const bool clear = copies.loads >= MIN_COPIES &&
                       (double)copies.loads >= min_kept * (double)far_lines &&
                       (double)in_memory <= max_lost * (double)copies.loads;
    return clear ? copies : (struct fth_found_loads){0};
}

/* Measures one repeat. If another program interrupts it, some requests run again, out of order; the
 * repeat then has no loads. */
static enum fth_status measure_copies(const struct fth_prober *prober,
                                      const struct fth_l2_map_plan *plan,
                                      const struct fth_chain *lines, uint32_t writer,
                                      const uint8_t *homes, struct fth_found_loads *copies,
                                      size_t *samples, struct fth_error *error)
{
    struct fth_request requests[STAGES];
    struct fth_answers answers = {0};
    struct fth_prober counting = *prober;
    size_t interruptions = 0;
    counting.interruptions = &interruptions;
    make_stages(lines, writer, requests);
    FTH_TRY(fth_ask(&counting, requests, STAGES, &answers, error));
    *copies = count_copies(&answers.items[CONTROL], &answers.items[CHECK], homes, plan);
    if (interruptions)
        *copies = (struct fth_found_loads){0};
    if (prober->interruptions)
        *prober->interruptions += interruptions;
    for (size_t i = 0; i < answers.count; i++)
        *samples += answers.items[i].count;
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_far_copies(const struct fth_prober *prober,
                                     const struct fth_l2_map_plan *plan, uint32_t writer,
                                     struct fth_write_effect *copies, size_t *samples,
                                     struct fth_error *error)
{
    const struct fth_chain lines = {.array = PARTIAL_ARRAY,
                                    .stride_bytes = COPY_STRIDE * plan->line_bytes,
                                    .count = COPY_LINES};
    uint8_t homes[COPY_LINES] = {0};
    struct fth_found_loads repeats[REPEATS];
    size_t far_lines = 0;
    *copies = (struct fth_write_effect){.outcome = FTH_WRITE_UNDECIDED};
    FTH_TRY(fth_probe_homes(prober, plan, lines, 0, homes, samples, error));
    for (size_t i = 0; i < COPY_LINES; i++)
        far_lines += homes[i] == FTH_HOME_FAR;
    if (far_lines < MIN_COPIES)
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to copies", NULL,
                        "only %zu of %d lines are known to have their home in the far partition",
                        far_lines, COPY_LINES);
    for (size_t i = 0; i < REPEATS; i++)
        FTH_TRY(measure_copies(prober, plan, &lines, writer, homes, &repeats[i], samples, error));
    *copies = fth_decide_effect(repeats, REPEATS, max_lost, min_kept);
    if (copies->loads == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to copies", NULL,
                        "copies in the near partition do not stay from one kernel to the next");
    return FTH_OK;
}
