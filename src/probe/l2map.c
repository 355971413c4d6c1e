/* A closer look at the L2, for those who want to know how it works: which partition a line has its
 * home in and how that follows from its address, on which side each SM is, whether lines leave in
 * an order that repeats, and whether memory sends more than was asked for.
 *
 * Homes show in the experiment of l2.c: after a touch of seven tenths of the size the near
 * partition has lost the lines. Those at home in the far one are found there, at the far latency,
 * or, where they are gone from there too, in far memory; those at home near come from near memory.
 *
 * A home that is the parity of some bits of the address changes with each of these bits, wherever
 * the line is, and never with another: so every bit is looked at by itself, in pairs of lines that
 * differ in nothing else. Bits that change it now and then are part of something that is no parity.
 *
 * Mei and Chu (2017, 4.6) saw no cold misses in arrays up to two thirds of an L2, and took it for
 * prefetching; and no order in the misses beyond its size. */
#include "probe/l2.h"

#include <math.h>
#include <stdlib.h>

enum {
    PAIRS = 64,     /* lines with a bit, and as many without */
    PAGE_BITS = 21, /* neighbouring pages of memory need not be neighbours: 2 MiB is the least */
    SIDE_LINES = 128,
    PREFETCH_HOPS = 2048,
    ORDER_LINES = 512,
    BESIDE = 3 /* the step of a request that is for the TLBs */
};
static const double part_touched = 0.7;
/* Timings that fall on the wrong side of an edge are some per cent on an H200: of pairs that a bit
 * makes, which could also differ now and then; and of a row as two SMs see it, which is the same or
 * the opposite, while chance has as many of 100 lines in one case of ten thousand. */
static const double few_pairs = 0.15, few_lines = 0.3;

/* ---- decisions ---- */

enum fth_home fth_home_of(uint32_t cycles, const struct fth_l2_map_plan *plan)
{
    if (cycles <= plan->near_edge)
        return FTH_HOME_UNKNOWN; /* it has not left */
    if (cycles <= plan->memory_edge)
        return FTH_HOME_FAR;
    if (isnan(plan->memory_middle) || cycles > 2 * plan->memory_middle) /* a disturbance */
        return FTH_HOME_UNKNOWN;
    return cycles <= plan->memory_middle ? FTH_HOME_NEAR : FTH_HOME_FAR;
}

/* How many of the pairs have known homes, and how many of these differ. */
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

enum fth_relation fth_decide_relation(const uint8_t *a, const uint8_t *b, size_t count, double few)
{
    size_t differ, known = compare_homes(a, b, count, &differ);
    if (known < 8)
        return FTH_RELATION_UNKNOWN;
    double part = (double)differ / (double)known;
    return part < few       ? FTH_RELATION_SAME
           : part > 1 - few ? FTH_RELATION_OPPOSITE
                            : FTH_RELATION_MIXED;
}

double fth_prefetched_part(const uint32_t *cycles, size_t count, double threshold)
{
    size_t there = 0;
    for (size_t i = 1; i < count; i++) /* the first may be slow for other reasons */
        there += cycles[i] <= threshold;
    return count > 1 ? (double)there / (double)(count - 1) : NAN;
}

double fth_same_fates(const uint32_t *a, const uint32_t *b, size_t count, double edge)
{
    size_t same = 0, lost_a = 0, lost_b = 0;
    for (size_t i = 0; i < count; i++) {
        lost_a += a[i] > edge;
        lost_b += b[i] > edge;
        same += (a[i] > edge) == (b[i] > edge);
    }
    double n = (double)count, p = (double)lost_a / n, q = (double)lost_b / n;
    double chance = p * q + (1 - p) * (1 - q);
    /* Where all or none are lost, nothing can be told. */
    return chance < 0.95 ? ((double)same / n - chance) / (1 - chance) : NAN;
}

/* ---- experiments ---- */

/* The lines are loaded, other memory is touched, their pages are brought back into the TLBs by
 * other lines, and they are timed. */
static struct fth_request make_request(const struct fth_l2_map_plan *plan, struct fth_chain lines,
                                       uint32_t sm, double part)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain first = {.array = 1, .stride_bytes = plan->line_bytes, .count = 1};
    struct fth_chain touched = first, beside = lines;
    touched.count = (uint64_t)((double)plan->size_bytes * part) / plan->line_bytes;
    beside.start_bytes += lines.stride_bytes / 2;
    request.sm = sm;
    request.alone = true;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
    fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, touched, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, beside, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    return request;
}

/* Between what the far partition and what near memory answers, as this SM sees them: halfway
 * between the means on either side (Ridler and Calvard 1978). */
static double refine_edge(const uint32_t *cycles, size_t count, const struct fth_l2_map_plan *plan)
{
    double edge = plan->memory_edge;
    for (int turn = 0; turn < 8; turn++) {
        double sums[2] = {0, 0}, counts[2] = {0, 0};
        for (size_t i = 0; i < count; i++) {
            if (cycles[i] <= plan->near_edge || cycles[i] > plan->memory_middle)
                continue;
            sums[cycles[i] > edge] += cycles[i];
            counts[cycles[i] > edge]++;
        }
        if (counts[0] == 0 || counts[1] == 0)
            break;
        edge = (sums[0] / counts[0] + sums[1] / counts[1]) / 2;
    }
    return edge;
}

/* Where lines are found in the far partition, far memory is not asked: what takes longer than near
 * memory was disturbed (one in ten on an H200), and tells nothing. */
void fth_find_homes(const uint32_t *cycles, size_t count, const struct fth_l2_map_plan *plan,
                    uint8_t *homes)
{
    struct fth_l2_map_plan seen = *plan;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += cycles[i] > plan->near_edge && cycles[i] <= plan->memory_edge;
    const bool all = 4 * found >= count;
    if (all)
        seen.memory_edge = refine_edge(cycles, count, plan);
    for (size_t i = 0; i < count; i++)
        homes[i] = all && cycles[i] > plan->memory_middle ? FTH_HOME_UNKNOWN
                                                          : (uint8_t)fth_home_of(cycles[i], &seen);
}

enum fth_status fth_probe_home_mask(const struct fth_prober *prober,
                                    const struct fth_l2_map_plan *plan, struct fth_home_mask *found,
                                    struct fth_error *error)
{
    struct fth_request requests[PAGE_BITS + 1];
    uint64_t weights[PAGE_BITS + 1];
    size_t count = 0;
    /* From the highest bit on, so that all of the memory is had at once and does not move. The last
     * are the lines without any of the bits. */
    for (uint64_t weight = (uint64_t)1 << (PAGE_BITS - 1);; weight /= 2) {
        weights[count] = weight < plan->line_bytes ? 0 : weight;
        struct fth_chain lines = {.array = 3,
                                  .start_bytes = weights[count],
                                  .stride_bytes = (uint64_t)1 << PAGE_BITS,
                                  .count = PAIRS};
        requests[count] = make_request(plan, lines, 0, part_touched);
        /* Half a stride on is the highest bit: the lines for the TLBs have to be others. */
        requests[count].steps[BESIDE].chain.start_bytes = weights[count] + 3 * plan->line_bytes;
        if (weights[count++] == 0)
            break;
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count, &answers, error);
    uint8_t without[PAIRS] = {0}, with[PAIRS] = {0};
    *found = (struct fth_home_mask){0};
    if (status == FTH_OK)
        fth_find_homes(answers.items[count - 1].cycles, PAIRS, plan, without);
    for (size_t i = 0; i + 1 < count && status == FTH_OK; i++) {
        fth_find_homes(answers.items[i].cycles, PAIRS, plan, with);
        enum fth_relation relation = fth_decide_relation(without, with, PAIRS, few_pairs);
        found->samples += answers.items[i].count;
        found->looked_at |= weights[i];
        found->mask |= relation == FTH_RELATION_OPPOSITE ? weights[i] : 0;
        found->mixed |= relation == FTH_RELATION_MIXED ? weights[i] : 0;
        found->unknown |= relation == FTH_RELATION_UNKNOWN ? weights[i] : 0;
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_sm_sides(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, enum fth_relation *sides,
                                   size_t *samples, struct fth_error *error)
{
    /* Primes that are no number of sets: all sets have as many of the lines. */
    const struct fth_chain lines = {
        .array = 4, .stride_bytes = 37 * plan->line_bytes, .count = SIDE_LINES};
    struct fth_request *requests = calloc(prober->sms, sizeof *requests);
    struct fth_answers answers = {0};
    if (!requests)
        return fth_fail(error, FTH_NO_MEMORY, "find the sides of the SMs", NULL, "out of memory");
    for (size_t i = 0; i < prober->sms; i++)
        requests[i] = make_request(plan, lines, (uint32_t)i, part_touched);
    enum fth_status status = fth_ask(prober, requests, prober->sms, &answers, error);
    uint8_t first[SIDE_LINES] = {0}, each[SIDE_LINES] = {0};
    for (size_t i = 0; i < prober->sms && status == FTH_OK; i++) {
        fth_find_homes(answers.items[i].cycles, SIDE_LINES, plan, each);
        if (i == 0)
            fth_find_homes(answers.items[0].cycles, SIDE_LINES, plan, first);
        sides[i] = fth_decide_relation(first, each, SIDE_LINES, few_lines);
        *samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

enum fth_status fth_probe_prefetch(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, double *part,
                                   size_t *samples, struct fth_error *error)
{
    /* No more than a quarter of the L2, which is well within the two thirds. */
    uint64_t max = plan->size_bytes / 4 / plan->line_bytes;
    struct fth_chain lines = {.array = 5,
                              .stride_bytes = plan->line_bytes,
                              .count = max < PREFETCH_HOPS ? max : PREFETCH_HOPS};
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    if (status == FTH_OK) {
        *part =
            fth_prefetched_part(answers.items[0].cycles, answers.items[0].count, plan->memory_edge);
        *samples += answers.items[0].count;
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_l2_order(const struct fth_prober *prober,
                                   const struct fth_l2_map_plan *plan, double *agreement,
                                   size_t *samples, struct fth_error *error)
{
    static const double parts[] = {0.4, 0.55, 0.7, 0.85, 1};
    const uint64_t max = plan->size_bytes / 16 / plan->line_bytes;
    const struct fth_chain lines = {.array = 6,
                                    .stride_bytes = 11 * plan->line_bytes,
                                    .count = max < ORDER_LINES ? max : ORDER_LINES};
    /* The same twice, each after the same: once more at the beginning, which does not count. */
    struct fth_request requests[3 * FTH_COUNT(parts)];
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = make_request(plan, lines, 0, parts[i / 3]);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FTH_COUNT(requests), &answers, error);
    double agreements[FTH_COUNT(parts)];
    size_t told = 0;
    *agreement = NAN;
    for (size_t i = 0; i < FTH_COUNT(parts) && status == FTH_OK; i++) {
        const struct fth_samples *a = &answers.items[3 * i + 1], *b = a + 1;
        double same = fth_same_fates(a->cycles, b->cycles, a->count, plan->memory_edge);
        if (!isnan(same))
            agreements[told++] = same;
        *samples += a->count + b->count;
    }
    /* Where nearly all lines leave, or nearly none, a few disturbed ones decide: the median. */
    if (status == FTH_OK && told)
        status = fth_quantile_f64(agreements, told, 0.5, agreement, error);
    fth_answers_fini(&answers);
    return status;
}
