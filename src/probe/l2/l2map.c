/* Maps the L2 for `fathom dissect`: which partition is the home of a line and which address bits
 * decide it, which partition is near to each SM, whether evictions repeat, and whether lines are
 * prefetched from memory.
 *
 * Homes are found with the experiment of l2_geometry.c. After a touch of 0.7 of the size, the near
 * partition has evicted the tracked lines. A line whose home is the far partition is found there,
 * at the far latency, or in far memory if that partition has evicted it, too. A line whose home is
 * the near partition comes from near memory.
 *
 * If the home is the parity of some address bits, inverting one of these bits always changes the
 * home, and inverting any other bit never does. Therefore each bit is tested separately, with pairs
 * of lines that differ only in this bit. If a bit changes the home of some pairs only, the home is
 * not a parity.
 *
 * Mei and Chu (2017, section 4.6) saw no cold misses in arrays of up to two thirds of the L2, which
 * they explain by prefetching, and no order in the misses of larger arrays. */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>

/* Arrays of the lines of each experiment, so that none is in the memory of another one. The touched
 * memory is array 1, as in l2_geometry.c, which also uses arrays 0 and 2. */
enum { TOUCHED_ARRAY = 1, PAIR_ARRAY = 3, SIDE_ARRAY, PREFETCH_ARRAY, ORDER_ARRAY };

/* ---- homes ---- */

enum {
    PAIRS = FTH_HOME_PAGES, /* pairs of lines per address bit. Chosen, not derived. */
    /* Only bits below this are tested: pages of 2 MiB that are adjacent in virtual memory need not
     * be adjacent in physical memory. */
    PAGE_BITS = 21,
    SIDE_LINES = 128, /* tracked lines per SM. Chosen, not derived. */
    /* Distance between them, in lines. A prime, so that the lines are spread evenly over all sets.
     */
    SIDE_STRIDE = 37,
    TLB_STEP = 3,  /* index of the step that warms the TLBs, in make_request */
    TLB_LINES = 3, /* distance in lines to the line that warms the TLBs for a tested line */
    MIN_KNOWN = 8, /* minimum known pairs for a relation of homes. Chosen, not derived. */
    /* The far partition still holds its lines if one in FOUND_PART tracked lines is found there.
     * Chosen: half of what two partitions give. */
    FOUND_PART = 4,
    MAX_TURNS = 8 /* of the search for a threshold, which converges in a few. Chosen. */
};
_Static_assert(FTH_HOME_PAGE_BYTES == 1 << PAGE_BITS, "the pages of the pairs");
/* Footprint of the touch, as a fraction of the L2's size: more than one of two partitions, less
 * than both. */
static const double touched_fraction = 0.7;
/* Maximum fraction of pairs (or lines) that may contradict a relation of homes. On an H200 a few
 * percent of the timings fall on the wrong side of a threshold. The limit for pairs is lower
 * because a bit may really change the home of some pairs only. Two SMs see either the same or the
 * opposite homes; of 100 random lines, at most 30 % or at least 70 % agree in one case of ten
 * thousand. */
static const double max_wrong_pairs = 0.15, max_wrong_lines = 0.3;
/* A load that takes longer than this multiple of the threshold of far memory was disturbed. Chosen,
 * not derived. */
static const double disturbed_factor = 2;

/* ---- prefetching and the order of evictions ---- */

enum {
    PREFETCH_HOPS = 2048, /* maximum number of lines in the walk that finds prefetching. Chosen. */
    PREFETCH_PART = 4,    /* a quarter of the L2 is well within the two thirds of Mei and Chu */
    ORDER_LINES = 512,    /* maximum number of tracked lines when evictions are compared. Chosen. */
    ORDER_PART = 16,      /* they are at most this part of the lines of the L2. Chosen. */
    ORDER_STRIDE = 11,    /* distance between them, in lines: a prime, as above */
    /* Each footprint is measured three times. The first time does not count, so that the other two
     * start from the same state. */
    ORDER_REPEATS = 3
};
/* Footprints after which evictions are compared, as fractions of the L2's size: from less than one
 * of two partitions to all. Chosen. */
static const double order_fractions[] = {0.4, 0.55, 0.7, 0.85, 1};
/* Maximum agreement by chance. Above it, nearly all or nearly no lines are evicted, and repeats
 * always agree. Chosen, not derived. */
static const double max_chance = 0.95;

/* ---- decisions ---- */

enum fth_home fth_home_of(uint32_t cycles, const struct fth_l2_map_plan *plan)
{
    if (cycles <= plan->near_threshold)
        return FTH_HOME_UNKNOWN; /* the line was not evicted from the near partition */
    if (cycles <= plan->memory_threshold)
        return FTH_HOME_FAR;
    if (isnan(plan->far_memory_threshold) || cycles > disturbed_factor * plan->far_memory_threshold)
        return FTH_HOME_UNKNOWN;
    return cycles <= plan->far_memory_threshold ? FTH_HOME_NEAR : FTH_HOME_FAR;
}

/* Returns the number of pairs whose homes are both known; `differ` receives how many of these
 * differ. */
static size_t compare_homes(const uint8_t *a, const uint8_t *b, size_t count, size_t *differ)
{
    size_t known = 0;
    *differ = 0;
    for (size_t i = 0; i < count; i++) {
        if (a[i] == FTH_HOME_UNKNOWN || b[i] == FTH_HOME_UNKNOWN)
            continue;
        known++;
        *differ += a[i] != b[i];
    }
    return known;
}

enum fth_relation fth_decide_relation(const uint8_t *a, const uint8_t *b, size_t count,
                                      double max_wrong_fraction)
{
    size_t differ, known = compare_homes(a, b, count, &differ);
    if (known < MIN_KNOWN)
        return FTH_RELATION_UNKNOWN;
    double fraction = (double)differ / (double)known;
    return fraction < max_wrong_fraction       ? FTH_RELATION_SAME
           : fraction > 1 - max_wrong_fraction ? FTH_RELATION_OPPOSITE
                                               : FTH_RELATION_MIXED;
}

struct fth_evidence fth_relation_evidence(const uint8_t *a, const uint8_t *b, size_t count,
                                          enum fth_relation relation)
{
    size_t differ;
    const size_t known = compare_homes(a, b, count, &differ);
    return (struct fth_evidence){
        .repeats = (double)known,
        .agree = (double)(relation == FTH_RELATION_OPPOSITE ? differ : known - differ)};
}

double fth_prefetched_part(const uint32_t *cycles, size_t count, double threshold)
{
    size_t hits = 0;
    for (size_t i = 1; i < count; i++) /* the first hop may be slow for other reasons */
        hits += cycles[i] <= threshold;
    return count > 1 ? (double)hits / (double)(count - 1) : NAN;
}

double fth_eviction_agreement(const uint32_t *a, const uint32_t *b, size_t count, double threshold)
{
    size_t same = 0, lost_a = 0, lost_b = 0;
    for (size_t i = 0; i < count; i++) {
        lost_a += a[i] > threshold;
        lost_b += b[i] > threshold;
        same += (a[i] > threshold) == (b[i] > threshold);
    }
    double n = (double)count, p = (double)lost_a / n, q = (double)lost_b / n;
    double chance = p * q + (1 - p) * (1 - q);
    return chance < max_chance ? ((double)same / n - chance) / (1 - chance) : NAN;
}

/* ---- experiments ---- */

/* Returns a request that loads the lines, touches `fraction` of the L2's size in other memory,
 * loads other lines of the same pages to warm the TLBs, and times the lines. */
static struct fth_request make_request(const struct fth_l2_map_plan *plan, struct fth_chain lines,
                                       uint32_t sm, double fraction)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain first = {.array = TOUCHED_ARRAY, .stride_bytes = plan->line_bytes, .count = 1};
    struct fth_chain touched = first, tlb_lines = lines;
    touched.count = (uint64_t)((double)plan->size_bytes * fraction) / plan->line_bytes;
    tlb_lines.start_bytes += lines.stride_bytes / 2;
    request.sm = sm;
    request.alone = true;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
    fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, touched, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, tlb_lines, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    return request;
}

/* Returns the threshold between hits in the far partition and loads from near memory for one SM. It
 * is moved halfway between the means on either side, repeatedly (Ridler and Calvard 1978). */
static double refine_threshold(const uint32_t *cycles, size_t count,
                               const struct fth_l2_map_plan *plan)
{
    double threshold = plan->memory_threshold;
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        double sums[2] = {0, 0}, counts[2] = {0, 0};
        for (size_t i = 0; i < count; i++) {
            if (cycles[i] <= plan->near_threshold || cycles[i] > plan->far_memory_threshold)
                continue;
            sums[cycles[i] > threshold] += cycles[i];
            counts[cycles[i] > threshold]++;
        }
        if (counts[0] == 0 || counts[1] == 0)
            break;
        threshold = (sums[0] / counts[0] + sums[1] / counts[1]) / 2;
    }
    return threshold;
}

/* If many of the lines are found in the far partition, that partition still holds its lines, and
 * none comes from far memory. A load that takes longer than near memory was then disturbed (one
 * in ten on an H200), and its home stays unknown. */
void fth_find_homes(const uint32_t *cycles, size_t count, const struct fth_l2_map_plan *plan,
                    uint8_t *homes)
{
    struct fth_l2_map_plan local_plan = *plan;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += cycles[i] > plan->near_threshold && cycles[i] <= plan->memory_threshold;
    const bool all = FOUND_PART * found >= count;
    if (all)
        local_plan.memory_threshold = refine_threshold(cycles, count, plan);
    for (size_t i = 0; i < count; i++)
        homes[i] = all && cycles[i] > plan->far_memory_threshold
                       ? FTH_HOME_UNKNOWN
                       : (uint8_t)fth_home_of(cycles[i], &local_plan);
}

enum fth_status fth_probe_homes(const struct fth_prober *prober, const struct fth_l2_map_plan *plan,
                                struct fth_chain lines, uint32_t sm, uint8_t *homes,
                                size_t *samples, struct fth_error *error)
{
    const struct fth_request request = make_request(plan, lines, sm, touched_fraction);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    fth_find_homes(answers.items[0].cycles, answers.items[0].count, plan, homes);
    *samples += answers.items[0].count;
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_home_mask(const struct fth_prober *prober,
                                    const struct fth_l2_map_plan *plan, struct fth_home_mask *found,
                                    struct fth_error *error)
{
    struct fth_request requests[PAGE_BITS + 1];
    uint64_t weights[PAGE_BITS + 1];
    size_t count = 0;
    /* The highest bit comes first, so that the device allocates all memory at once and does not
     * move it. The last request has the lines with none of the bits set. */
    for (uint64_t weight = (uint64_t)1 << (PAGE_BITS - 1);; weight /= 2) {
        weights[count] = weight < plan->line_bytes ? 0 : weight;
        struct fth_chain lines = {.array = PAIR_ARRAY,
                                  .start_bytes = weights[count],
                                  .stride_bytes = (uint64_t)1 << PAGE_BITS,
                                  .count = PAIRS};
        requests[count] = make_request(plan, lines, 0, touched_fraction);
        /* The default, half a stride further, is the highest tested bit: other lines must warm the
         * TLBs. */
        requests[count].chase.steps[TLB_STEP].chain.start_bytes =
            weights[count] + TLB_LINES * plan->line_bytes;
        if (weights[count++] == 0)
            break;
    }
    struct fth_answers answers = {0};
    uint8_t without[PAIRS] = {0}, with[PAIRS] = {0};
    *found = (struct fth_home_mask){0};
    struct fth_l2_map_plan slower = *plan; /* each line is in a page of its own */
    slower.near_threshold += plan->page_miss_cycles;
    slower.memory_threshold += plan->page_miss_cycles;
    slower.far_memory_threshold += plan->page_miss_cycles;
    FTH_TRY(fth_ask(prober, requests, count, &answers, error));
    fth_find_homes(answers.items[count - 1].cycles, PAIRS, &slower, without);
    for (size_t i = 0; i + 1 < count; i++) {
        fth_find_homes(answers.items[i].cycles, PAIRS, &slower, with);
        enum fth_relation relation = fth_decide_relation(without, with, PAIRS, max_wrong_pairs);
        const struct fth_evidence evidence = fth_relation_evidence(without, with, PAIRS, relation);
        found->evidence = i ? fth_weaker_evidence(found->evidence, evidence) : evidence;
        found->samples += answers.items[i].count;
        found->tested |= weights[i];
        found->mask |= relation == FTH_RELATION_OPPOSITE ? weights[i] : 0;
        found->mixed |= relation == FTH_RELATION_MIXED ? weights[i] : 0;
        found->unknown |= relation == FTH_RELATION_UNKNOWN ? weights[i] : 0;
    }
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_sm_sides(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, enum fth_relation *sides,
                                   struct fth_evidence *evidence, size_t *samples,
                                   struct fth_error *error)
{
    const struct fth_chain lines = {
        .array = SIDE_ARRAY, .stride_bytes = SIDE_STRIDE * plan->line_bytes, .count = SIDE_LINES};
    struct fth_request *requests = calloc(prober->sms, sizeof *requests);
    struct fth_answers answers = {0};
    if (!requests)
        return fth_no_memory(error, "find the sides of the SMs", NULL);
    for (size_t i = 0; i < prober->sms; i++)
        requests[i] = make_request(plan, lines, (uint32_t)i, touched_fraction);
    enum fth_status status = fth_ask(prober, requests, prober->sms, &answers, error);
    uint8_t first[SIDE_LINES] = {0}, each[SIDE_LINES] = {0};
    for (size_t i = 0; i < prober->sms && status == FTH_OK; i++) {
        fth_find_homes(answers.items[i].cycles, SIDE_LINES, plan, each);
        if (i == 0)
            fth_find_homes(answers.items[0].cycles, SIDE_LINES, plan, first);
        sides[i] = fth_decide_relation(first, each, SIDE_LINES, max_wrong_lines);
        const struct fth_evidence own = fth_relation_evidence(first, each, SIDE_LINES, sides[i]);
        *evidence = i ? fth_weaker_evidence(*evidence, own) : own;
        *samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

enum fth_status fth_probe_prefetch(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, double *fraction,
                                   size_t *samples, struct fth_error *error)
{
    const uint64_t max = plan->size_bytes / PREFETCH_PART / plan->line_bytes;
    struct fth_chain lines = {.array = PREFETCH_ARRAY,
                              .stride_bytes = plan->line_bytes,
                              .count = max < PREFETCH_HOPS ? max : PREFETCH_HOPS};
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    *fraction = fth_prefetched_part(answers.items[0].cycles, answers.items[0].count,
                                    plan->memory_threshold);
    *samples += answers.items[0].count;
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_l2_order(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, double *agreement,
                                   struct fth_evidence *evidence, size_t *samples,
                                   struct fth_error *error)
{
    enum { FRACTIONS = FTH_COUNT(order_fractions) };
    const uint64_t max = plan->size_bytes / ORDER_PART / plan->line_bytes;
    const struct fth_chain lines = {.array = ORDER_ARRAY,
                                    .stride_bytes = ORDER_STRIDE * plan->line_bytes,
                                    .count = max < ORDER_LINES ? max : ORDER_LINES};
    struct fth_request requests[ORDER_REPEATS * FRACTIONS];
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = make_request(plan, lines, 0, order_fractions[i / ORDER_REPEATS]);
    struct fth_answers answers = {0};
    double agreements[FRACTIONS];
    size_t known_count = 0;
    enum fth_status status = FTH_OK;
    *agreement = NAN;
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    for (size_t i = 0; i < FRACTIONS; i++) {
        const struct fth_samples *a = &answers.items[ORDER_REPEATS * i + 1], *b = a + 1;
        double same =
            fth_eviction_agreement(a->cycles, b->cycles, a->count, plan->memory_threshold);
        if (!isnan(same))
            agreements[known_count++] = same;
        *samples += a->count + b->count;
    }
    /* A footprint that evicts nearly all or nearly no lines is decided by a few disturbed loads.
     * The median over the footprints ignores it. */
    if (known_count)
        status = fth_quantile_f64(agreements, known_count, 0.5, agreement, error);
    /* Without a footprint that decides it, all repeats agree that either all lines are evicted or
     * none. */
    *evidence = (struct fth_evidence){
        .repeats = FRACTIONS, .agree = known_count ? (double)(FRACTIONS - known_count) : FRACTIONS};
    for (size_t i = 0; i < known_count; i++)
        evidence->agree += (agreements[i] > 0.5) == (*agreement > 0.5);
    fth_answers_fini(&answers);
    return status;
}
