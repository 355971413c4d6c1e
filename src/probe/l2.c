/* The L2 as one SM sees it: what a miss brings in, the line, partitions, and where it ends.
 *
 * All but the first come from one experiment. Some lines are loaded, one an SM's load at a time;
 * then the whole block touches other memory, a certain footprint at a certain stride; then the
 * lines are timed one by one. A line is still near, was found in another partition, or comes from
 * memory: its fate.
 *
 *   line        a touch every so many bytes puts a line's worth of room to use where the stride is
 *               at most a line, and less beyond: fewer lines are lost from twice the line on
 *   sector      lines are not loaded but written, so many bytes of each, and not touched: where
 *               less than a sector was written, the rest has to come from memory
 *   partitions  where there are two, the near one keeps copies of lines that are at home in the
 *               other; they leave it at half the size, and are then found at home, which takes
 *               longer than near and less than memory
 *   size        all lines stay as long as the footprint is less than the size, and none does beyond
 *               it, where the oldest line is replaced
 *
 * None of it asks for a policy or for the way sets are chosen: which lines leave depends on them,
 * that fewer leave where fewer are put in does not. Each touch goes to memory that was not touched
 * lately, since some policies keep what was used before. */
#include "probe/l2.h"

#include <math.h>
#include <stdlib.h>

enum {
    ELEMENT = 8,
    BOTH_WAYS = 16, /* an element that is walked backwards, too */
    WIDTHS = 4,     /* of what is written: 16 to 128 bytes */
    TURNS = 3,      /* of writing each of them */
    WRITTEN = WIDTHS * TURNS,
    FILL_HOPS = 1024,
    MAX_STRIDES = 6, /* from what a miss brings in on */
    LONGEST_STRIDE = 1024,
    HOME_LINES = 256, /* that are written */
    MIN_LINES = 64,   /* that are timed; one for each KiB of the L2, */
    MAX_LINES = 1024, /* and not more */
    MAX_SLOTS = 4,
    SMALL_BYTES = 256 << 10 /* an L2 that is not larger than any */
};
/* Lines lie a KiB apart at least, each in a line of its own, and so many times what a miss brings
 * in: primes that are no number of sets, so that all sets have as many, however these are chosen.
 */
static const uint64_t apart_bytes = 1024, apart_counts[] = {11, 17, 37, 67, 131};
/* What is touched to find the line: enough for all to leave where the oldest is replaced. */
static const double line_footprint = 1.6;
/* Footprints of the curve, as parts of the size; those between `first_within` and `last_within` are
 * more than one of two partitions holds and less than both do. */
static const double footprints[] = {0.3, 0.45, 0.6, 0.75, 0.9, 1.1, 1.25};
enum { FOOTPRINTS = FTH_COUNT(footprints), FIRST_WITHIN = 2, LAST_WITHIN = 4 };

/* Of loads that are a plateau at least, and what a near one may be off from L2's latency. */
static const double min_plateau = 0.1, near_part = 0.05;

/* ---- experiments ---- */

struct l2 {
    const struct fth_prober *prober;
    const struct fth_l2_plan *plan;
    struct fth_l2_found *found;
    uint64_t size_bytes;
    uint64_t lines;      /* that are timed */
    uint64_t slot_bytes; /* of memory that a touch may take */
    uint64_t slots, slot;
    double near_edge, memory_edge; /* of a timed hop */
};

/* Where the lines of a request lie: never where those of one before it did. */
static struct fth_chain lines_of(const struct l2 *l2, uint64_t slot)
{
    uint64_t fill = l2->found->fill.value;
    size_t choice = 0;
    while (choice + 1 < FTH_COUNT(apart_counts) && apart_counts[choice] * fill < apart_bytes)
        choice++;
    uint64_t stride = apart_counts[choice] * fill;
    stride = (stride + BOTH_WAYS - 1) / BOTH_WAYS * BOTH_WAYS;
    return (struct fth_chain){
        .stride_bytes = stride, .start_bytes = slot * l2->lines * stride, .count = l2->lines};
}

/* Lines are loaded, memory is touched (unless `bytes` is 0), and they are timed. */
static struct fth_request make_request(struct l2 *l2, uint64_t bytes, uint64_t stride)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain lines = lines_of(l2, l2->slot);
    struct fth_chain touched = {.array = 1,
                                .start_bytes = l2->slot % l2->slots * l2->slot_bytes,
                                .stride_bytes = stride,
                                .count = bytes / stride};
    struct fth_chain first = {.array = 1, .stride_bytes = LONGEST_STRIDE, .count = 1};
    l2->slot++;
    request.alone = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    if (touched.count) {
        fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
        fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, touched, 1);
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    return request;
}

/* The latency of those that are neither near nor from memory. */
static enum fth_status find_far(struct l2 *l2, const struct fth_samples *samples,
                                struct fth_error *error)
{
    uint32_t *between = calloc(samples->count, sizeof *between);
    if (!between)
        return fth_fail(error, FTH_NO_MEMORY, "find partitions", NULL, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->cycles[i] > l2->near_edge && samples->cycles[i] <= l2->memory_edge)
            between[count++] = samples->cycles[i];
    enum fth_status status = fth_plateau_figure(between, count, l2->plan->overhead_cycles,
                                                &l2->found->far_latency, error);
    l2->found->far_latency.clock_mhz = samples->clock_mhz;
    free(between);
    return status;
}

/* What near hits take at most: some quartiles' distances above the upper quartile, which a few
 * slow ones do not move. */
static enum fth_status find_near_edge(struct l2 *l2, const struct fth_samples *samples,
                                      struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status =
        fth_sorted_u32(samples->cycles, samples->count, "find partitions", &sorted, error);
    if (status == FTH_OK) {
        double low = fth_quantile_sorted(sorted, samples->count, 0.25);
        double high = fth_quantile_sorted(sorted, samples->count, 0.75);
        l2->near_edge = high + 2.5 * (high - low) + 4;
    }
    free(sorted);
    return status;
}

static enum fth_status ask_fates(struct l2 *l2, const struct fth_request *requests, size_t count,
                                 struct fth_answers *answers, struct fth_fates *fates,
                                 struct fth_error *error)
{
    enum fth_status status = fth_ask(l2->prober, requests, count, answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        const struct fth_samples *samples = &answers->items[i];
        fates[i] = fth_fates_count(samples->cycles, samples->count, l2->near_edge, l2->memory_edge);
        l2->found->samples += samples->count;
    }
    return status;
}

/* The fates after each of several touches. */
static enum fth_status find_fates(struct l2 *l2, const uint64_t *bytes, const uint64_t *strides,
                                  size_t count, struct fth_answers *answers,
                                  struct fth_fates *fates, struct fth_error *error)
{
    struct fth_request requests[FTH_MAX_FATES] = {0};
    for (size_t i = 0; i < count; i++)
        requests[i] = make_request(l2, bytes[i], strides[i]);
    return ask_fates(l2, requests, count, answers, fates, error);
}

/* What memory brings in at a time: the distances between loads that come from there. */
static enum fth_status find_fill(struct l2 *l2, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = {.stride_bytes = ELEMENT, .count = FILL_HOPS};
    request.cold = true;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(l2->prober, &request, 1, &answers, error);
    if (status == FTH_OK) {
        const struct fth_samples *walk = &answers.items[0];
        const double threshold =
            l2->plan->overhead_cycles + sqrt(l2->plan->l2_cycles * l2->plan->memory->value);
        l2->found->fill = fth_decide_period(walk->cycles, walk->count, threshold);
        l2->found->fill.value *= ELEMENT;
        l2->found->samples += walk->count;
    }
    fth_answers_fini(&answers);
    return status;
}

static enum fth_status find_line(struct l2 *l2, struct fth_error *error)
{
    uint64_t bytes[MAX_STRIDES], strides[MAX_STRIDES];
    struct fth_fates fates[MAX_STRIDES];
    struct fth_answers answers = {0};
    size_t count = 0;
    for (uint64_t stride = l2->found->fill.value; count < MAX_STRIDES && stride <= LONGEST_STRIDE;
         stride *= 2) {
        bytes[count] = (uint64_t)((double)l2->size_bytes * line_footprint);
        strides[count++] = stride;
    }
    enum fth_status status = find_fates(l2, bytes, strides, count, &answers, fates, error);
    fth_answers_fini(&answers);
    if (status == FTH_OK)
        l2->found->line = fth_decide_line(fates, count, l2->found->fill.value);
    return status;
}

static enum fth_status find_curve(struct l2 *l2, struct fth_error *error)
{
    struct fth_l2_found *found = l2->found;
    struct fth_decision partitions = {0};
    uint64_t wholes[FOOTPRINTS], bytes[FOOTPRINTS], strides[FOOTPRINTS];
    struct fth_fates fates[FOOTPRINTS];
    struct fth_answers answers = {0};
    const uint64_t line = found->line.value ? found->line.value : found->fill.value;
    if (l2->lines > l2->size_bytes / line / 8)
        l2->lines = l2->size_bytes / line / 8;
    for (size_t i = 0; i < FOOTPRINTS; i++) {
        wholes[i] = (uint64_t)((double)l2->size_bytes * footprints[i]);
        /* For all to stay, the lines themselves need room, too; for all to leave, they do not. */
        bytes[i] = wholes[i] - (footprints[i] < 1 ? l2->lines * line : 0);
        strides[i] = line;
    }
    enum fth_status status = find_fates(l2, bytes, strides, FOOTPRINTS, &answers, fates, error);
    if (status == FTH_OK) {
        partitions = fth_decide_partitions(&fates[FIRST_WITHIN], LAST_WITHIN - FIRST_WITHIN + 1);
        /* No far lines say something only where lines stay for a while, and leave in the end. */
        if (partitions.value == 1 &&
            (!found->line.value || fth_fates_share(fates[0].near_count, &fates[0]) < 0.5))
            partitions = (struct fth_decision){0};
        if (partitions.value)
            found->partitions = partitions;
        struct fth_decision *const ends[] = {
            [0] = &found->onset,
            [FTH_END_GONE] = &found->full_miss,
            [FTH_END_NEAR] = &found->near_onset,
            [FTH_END_NEAR | FTH_END_GONE] = &found->near_full_miss,
        };
        for (size_t i = 0; i < FTH_COUNT(ends); i++) {
            *ends[i] = fth_decide_end(fates, FOOTPRINTS, (unsigned)i);
            if (ends[i]->value)
                ends[i]->value = wholes[ends[i]->value - 1];
        }
    }
    size_t max = FIRST_WITHIN;
    for (size_t i = FIRST_WITHIN; i <= LAST_WITHIN && status == FTH_OK; i++)
        max = fates[i].far_count > fates[max].far_count ? i : max;
    if (status == FTH_OK && partitions.value > 1)
        status = find_far(l2, &answers.items[max], error);
    fth_answers_fini(&answers);
    return status;
}

/* ---- the sector ---- */

/* Lines that are written when their chains are built, and by nothing else: the first 16 bytes of
 * each, 32, … by the width's index. The first chain is timed, the others are only there to be
 * built.
 */
static struct fth_request make_written(const struct l2 *l2, size_t index, size_t slot)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = lines_of(l2, slot);
    chain.array = 2;
    request.alone = true;
    request.sm = 0;
    for (size_t i = 0; i < (size_t)1 << index; i++) {
        fth_request_add(&request, i ? FTH_STEP_WALK : FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
        request.steps[i].reverse = true;
        chain.start_bytes += BOTH_WAYS;
    }
    return request;
}

/* The memory for it has to be there before, so that what clearing it left in L2 has gone. That for
 * lines and touches is had at once, too, instead of more and more of it. */
static struct fth_request reserve_memory(const struct l2 *l2)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain written = lines_of(l2, WRITTEN);
    written.array = 2;
    written.count = 1;
    struct fth_chain first = {.array = 1, .stride_bytes = LONGEST_STRIDE, .count = 1}, last = first;
    last.start_bytes = l2->slots * l2->slot_bytes - LONGEST_STRIDE;
    struct fth_chain lines = lines_of(l2, 1 + MAX_STRIDES + FOOTPRINTS);
    lines.count = 1;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, written, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
    fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, last, 1);
    return request;
}

/* What else uses the L2 only makes lines leave: of several turns the one counts that lost fewest.
 */
static enum fth_status find_sector(struct l2 *l2, struct fth_error *error)
{
    struct fth_request requests[WRITTEN];
    struct fth_fates fates[WRITTEN];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < WRITTEN; i++)
        requests[i] = make_written(l2, i % WIDTHS, i);
    enum fth_status status = ask_fates(l2, requests, WRITTEN, &answers, fates, error);
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    for (size_t i = WIDTHS; i < WRITTEN; i++)
        if (fates[i].memory_count < fates[i % WIDTHS].memory_count)
            fates[i % WIDTHS] = fates[i];
    l2->found->sector = fth_decide_sector(fates, WIDTHS, BOTH_WAYS);
    /* What is brought in is a sector at least, and a line has one at least. */
    if (l2->found->sector.value > l2->found->fill.value)
        l2->found->sector = (struct fth_decision){0};
    return FTH_OK;
}

/* ---- lines that do not stay ---- */

/* The plateaus of lines that were written just before, and so are at home only. */
static enum fth_status tell_homes(struct l2 *l2, const struct fth_samples *samples,
                                  struct fth_error *error)
{
    const double near = l2->plan->overhead_cycles + l2->plan->l2_cycles;
    struct fth_clusters plateaus;
    enum fth_status status =
        fth_modes_u32(samples->cycles, samples->count, min_plateau, &plateaus, error);
    if (status != FTH_OK)
        return status;
    if (plateaus.count < 2 || fabs(plateaus.items[0].median - near) > near_part * near ||
        plateaus.thresholds[0] >= l2->memory_edge)
        return fth_fail(error, FTH_INCONCLUSIVE, "find partitions", NULL,
                        "L2 and memory take about as long");
    l2->near_edge = plateaus.thresholds[0];
    const struct fth_fates fates =
        fth_fates_count(samples->cycles, samples->count, l2->near_edge, l2->memory_edge);
    const struct fth_decision partitions = fth_decide_partitions(&fates, 1);
    if (partitions.value < 2)
        return FTH_OK;
    l2->found->partitions = partitions;
    l2->found->unsettled = true;
    return find_far(l2, samples, error);
}

/* Where what was used most often stays, new lines push out each other before anything is touched. A
 * few that were written are still at home, near or far. */
static enum fth_status find_homes(struct l2 *l2, struct fth_error *error)
{
    struct fth_request request = make_written(l2, WIDTHS - 1, WIDTHS - 1);
    for (size_t i = 0; i < request.step_count; i++)
        request.steps[i].chain.count = HOME_LINES;
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(l2->prober, &request, 1, &answers, error);
    if (status == FTH_OK) {
        l2->found->samples += answers.items[0].count;
        status = tell_homes(l2, &answers.items[0], error);
    }
    fth_answers_fini(&answers);
    return status;
}

/* ---- the size, where the driver does not tell it ---- */

/* The share of lines that a touch of so many bytes sends to memory. */
static enum fth_status find_loss(struct l2 *l2, uint64_t bytes, double *loss,
                                 struct fth_error *error)
{
    struct fth_fates fates;
    struct fth_answers answers = {0};
    l2->slot = 0;
    enum fth_status status =
        find_fates(l2, &bytes, &l2->found->fill.value, 1, &answers, &fates, error);
    fth_answers_fini(&answers);
    *loss = status == FTH_OK ? fth_fates_share(fates.memory_count, &fates) : NAN;
    return status;
}

/* Where the oldest line is replaced, all are gone once as much as the size was touched, and at most
 * half of them (those at home in the near one of two partitions) at four fifths of it. */
static enum fth_status measure_size(struct l2 *l2, struct fth_error *error)
{
    const double all = 0.95, half = 0.6;
    uint64_t low = 0, high = (uint64_t)64 << 10;
    double loss = 0;
    enum fth_status status = FTH_OK;
    for (; status == FTH_OK; high *= 2) {
        if (2 * high > l2->plan->max_bytes)
            return fth_fail(error, FTH_INCONCLUSIVE, "find L2's size", NULL,
                            "there is no end to it within the memory that was tried");
        status = find_loss(l2, high, &loss, error);
        if (status == FTH_OK && loss >= all)
            break;
        low = high;
    }
    while (status == FTH_OK && (high - low) * 128 > high) {
        uint64_t middle = (low + (high - low) / 2) & ~(uint64_t)(LONGEST_STRIDE - 1);
        status = find_loss(l2, middle, &loss, error);
        *(loss >= all ? &high : &low) = middle;
    }
    if (status == FTH_OK)
        status = find_loss(l2, high / 5 * 4, &loss, error);
    if (status == FTH_OK && loss > half)
        return fth_fail(error, FTH_INCONCLUSIVE, "find L2's size", NULL,
                        "lines leave little by little, all only after %llu KiB more",
                        (unsigned long long)high >> 10);
    l2->size_bytes = high;
    /* Two footprints decide, one on either side: Laplace's rule. */
    l2->found->size = (struct fth_decision){high, 0.75};
    return status;
}

/* What the edges are; and the memory for what comes. */
static enum fth_status calibrate(struct l2 *l2, struct fth_error *error)
{
    struct fth_request requests[] = {reserve_memory(l2), make_request(l2, 0, LONGEST_STRIDE)};
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(l2->prober, requests, FTH_COUNT(requests), &answers, error);
    if (status == FTH_OK) {
        l2->found->samples += answers.items[1].count;
        status = find_near_edge(l2, &answers.items[1], error);
        if (status == FTH_OK && l2->near_edge >= l2->memory_edge)
            status = find_homes(l2, error);
    }
    fth_answers_fini(&answers);
    return status;
}

/* How many lines are timed, and how much memory there is for touches. */
static void choose_lines(struct l2 *l2)
{
    uint64_t lines = l2->size_bytes / 1024;
    l2->lines = lines < MIN_LINES ? MIN_LINES : lines > MAX_LINES ? MAX_LINES : lines;
    l2->slot_bytes = 2 * l2->size_bytes & ~(uint64_t)(LONGEST_STRIDE - 1);
    l2->slots = l2->plan->max_bytes / l2->slot_bytes;
    l2->slots = l2->slots < 1 ? 1 : l2->slots > MAX_SLOTS ? MAX_SLOTS : l2->slots;
}

enum fth_status fth_probe_l2(const struct fth_prober *prober, const struct fth_l2_plan *plan,
                             struct fth_l2_found *found, struct fth_error *error)
{
    *found = (struct fth_l2_found){0};
    struct l2 l2 = {.prober = prober,
                    .plan = plan,
                    .found = found,
                    .size_bytes = plan->size_bytes ? plan->size_bytes : SMALL_BYTES,
                    .memory_edge = plan->overhead_cycles + plan->memory->low - 2};
    enum fth_status status = find_fill(&l2, error);
    if (status == FTH_OK && !found->fill.value)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the L2's line", NULL,
                        "loads that memory answers are not evenly apart");
    choose_lines(&l2);
    if (status == FTH_OK)
        status = calibrate(&l2, error);
    if (status == FTH_OK && !plan->size_bytes) {
        status = measure_size(&l2, error);
        choose_lines(&l2);
    }
    if (status == FTH_OK)
        status = find_line(&l2, error);
    if (status == FTH_OK)
        status = find_curve(&l2, error);
    if (status == FTH_OK)
        status = find_sector(&l2, error);
    found->near_edge = l2.near_edge;
    found->memory_edge = l2.memory_edge;
    return status;
}
