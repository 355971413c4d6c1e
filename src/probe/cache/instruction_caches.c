/* Measures the instruction caches with straight-line code that is executed repeatedly. While the
 * code fits into a cache, the cycles per instruction are those of fetching from this cache; when it
 * no longer fits, those of fetching from the next one (Jia et al., "Dissecting the NVIDIA Volta GPU
 * Architecture via Microbenchmarking", 2018).
 *
 *   cycles per                     ┌───────   beyond the last cache
 *   instruction        ┌───────────┘
 *              ────────┘                      the edges are the sizes of L0 and L1
 *                 length of the code
 *
 * A curve over lengths that grow by 9 % each shows the plateaus. A straight line through the
 * passes of a plateau (cycles against instructions) gives its cycles per instruction, and shows
 * from which length on passes take longer. Around an edge every length is measured.
 *
 * The size of an instruction is not measured; it is known from the architecture. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find instruction caches";

/* ---- the curve ---- */

enum {
    WARM_PASSES = 3,        /* more than one, for caches whose policy is not LRU. Chosen. */
    TIMED_PASSES = 5,       /* odd, so that the median is one of the passes. Chosen. */
    LENGTHS_PER_OCTAVE = 8, /* lengths per doubling, from DENSE_INSTRUCTIONS on. Chosen. */
    /* Below this, every multiple of FTH_FETCH_BLOCK is measured. The first MIN_POINTS lengths give
     * the fixed cost of a pass. */
    DENSE_INSTRUCTIONS = 8 * FTH_FETCH_BLOCK,
    MIN_INSTRUCTIONS = 2 * FTH_FETCH_BLOCK, /* shortest code that can be part of a plateau */
    MAX_POINTS = 80,       /* maximum lengths of a curve; measure_curve() needs 56 */
    SHORT_INSTRUCTION = 4, /* bytes up to which an instruction is a short one */
    /* Maximum length of code with short instructions: twice the largest instruction cache of AMD's
     * GPUs (64 KiB). The clock of gfx11, which has 20 bits, does not overflow in longer code if a
     * line of 64 bytes takes less than 512 cycles. */
    MAX_SHORT = 32768
};

/* ---- plateaus ---- */

enum {
    MIN_POINTS = 3,  /* lengths of a plateau. Chosen: two are always on a line. */
    MIN_SEGMENT = 2, /* lengths between two change points. Chosen. */
    MAX_PLATEAUS = MAX_POINTS / 2 + 1
};
/* Smallest step of the curve that is looked for. This and the next two are differences of the
 * logarithm of the cycles per instruction: 0.02 is 2 %. Chosen, not derived. */
static const double resolution = 0.02;
/* Neighbouring parts of the curve that differ by less than same_level are one plateau. A part whose
 * values differ by max_rise or more is not a plateau. Chosen, not derived. */
static const double same_level = 0.08, max_rise = 0.05;
/* Two rates (cycles per instruction) that differ by at most this fraction count as the same.
 * Chosen: the resolution of the curve. */
static const double same_rate = 0.02;

/* ---- edges ---- */

/* A pass is slower than the line of its plateau if it exceeds it by more than the largest of: these
 * cycles, this fraction of the line, and this multiple of the plateau's median deviation from the
 * line. Chosen, not derived. */
static const double slow_cycles = 4, slow_fraction = 0.002, slow_deviations = 6;
enum { CONFIRMATIONS = 3 }; /* repeats on each side of an edge. Chosen. */

/* A length of code and the median cycles of a pass. */
struct rate_point {
    uint64_t instructions;
    double cycles;
};

struct rate_curve {
    struct rate_point points[MAX_POINTS];
    size_t count;
    size_t samples;
    double clock_mhz;
};

/* A fitted line: cycles of a pass = start + slope * instructions. `deviation` is the median
 * distance of the points from it. */
struct line {
    double start, slope, deviation;
};

struct plateau {
    size_t from, to; /* indices of its points: from .. to - 1 */
    double level;    /* mean logarithm of the cycles per instruction */
    struct line line;
};

static enum fth_status out_of_memory(struct fth_error *error)
{
    return fth_no_memory(error, operation, NULL);
}

/* Measures code of these lengths and adds the points to the curve. */
static enum fth_status measure(const struct fth_prober *prober, const uint64_t *lengths,
                               size_t count, struct rate_curve *curve, struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    if (!requests)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_FETCH;
        requests[i].fetch =
            (struct fth_fetch){.instructions = lengths[i], .passes = WARM_PASSES + TIMED_PASSES};
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        struct fth_summary summary;
        status =
            fth_summary_u32(answers.items[i].cycles + WARM_PASSES, TIMED_PASSES, &summary, error);
        if (status != FTH_OK)
            break;
        curve->points[curve->count++] = (struct rate_point){lengths[i], summary.median};
        curve->samples += TIMED_PASSES;
        curve->clock_mhz = answers.items[i].clock_mhz;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Returns the maximum length of code in instructions. */
static uint64_t max_length(const struct fth_code_size *code)
{
    return code->bytes <= SHORT_INSTRUCTION * code->instructions ? MAX_SHORT : FTH_MAX_FETCH;
}

static enum fth_status measure_curve(const struct fth_prober *prober, uint64_t longest,
                                     struct rate_curve *curve, struct fth_error *error)
{
    uint64_t lengths[MAX_POINTS];
    size_t count = 0;
    for (uint64_t n = FTH_FETCH_BLOCK; n < DENSE_INSTRUCTIONS; n += FTH_FETCH_BLOCK)
        lengths[count++] = n;
    for (unsigned i = 0; count < MAX_POINTS; i++) {
        double n = DENSE_INSTRUCTIONS * exp2((double)i / LENGTHS_PER_OCTAVE);
        uint64_t blocks = (uint64_t)llround(n / FTH_FETCH_BLOCK);
        if (blocks * FTH_FETCH_BLOCK > longest)
            break;
        if (blocks * FTH_FETCH_BLOCK > lengths[count - 1])
            lengths[count++] = blocks * FTH_FETCH_BLOCK;
    }
    return measure(prober, lengths, count, curve, error);
}

/* ---- lines ---- */

static double predict(const struct line *line, uint64_t instructions)
{
    return line->start + line->slope * (double)instructions;
}

static double tolerance(const struct line *line, uint64_t instructions)
{
    return fmax(fmax(slow_cycles, slow_fraction * predict(line, instructions)),
                slow_deviations * line->deviation);
}

/* Fits a line: its slope is the median of the slopes between any two points (Theil 1950, Sen 1968),
 * which is robust against a few points that belong to an edge. */
static enum fth_status fit(const struct rate_point *points, size_t count, struct line *line,
                           struct fth_error *error)
{
    double *values = calloc(count * count, sizeof *values);
    if (!values)
        return out_of_memory(error);
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            values[pairs++] = (points[j].cycles - points[i].cycles) /
                              (double)(points[j].instructions - points[i].instructions);
    struct line found = {0};
    enum fth_status status = fth_quantile_f64(values, pairs, 0.5, &found.slope, error);
    for (size_t i = 0; i < count; i++)
        values[i] = points[i].cycles - found.slope * (double)points[i].instructions;
    if (status == FTH_OK)
        status = fth_quantile_f64(values, count, 0.5, &found.start, error);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(points[i].cycles - predict(&found, points[i].instructions));
    if (status == FTH_OK)
        status = fth_quantile_f64(values, count, 0.5, &found.deviation, error);
    free(values);
    if (status == FTH_OK)
        *line = found;
    return status;
}

/* ---- plateaus ---- */

/* Adds a part of the curve to the plateaus: merges it with the last one, adds it as a new one, or
 * ignores it if it is too short or rises. */
static void add_plateau(const double *rates, struct plateau part, struct plateau *plateaus,
                        size_t *count)
{
    double min = rates[part.from], max = min;
    for (size_t i = part.from; i < part.to; i++) {
        min = fmin(min, rates[i]);
        max = fmax(max, rates[i]);
        part.level += rates[i] / (double)(part.to - part.from);
    }
    struct plateau *last = *count ? &plateaus[*count - 1] : NULL;
    if (last && fabs(part.level - last->level) < same_level && max - min < same_level)
        last->to = part.to;
    else if (part.to - part.from >= MIN_POINTS && max - min < max_rise)
        plateaus[(*count)++] = part;
}

/* Finds the plateaus of the curve and their lines. Lengths below MIN_INSTRUCTIONS are ignored
 * because the fixed cost of a pass dominates them. */
static enum fth_status find_plateaus(const struct rate_curve *curve, struct plateau *plateaus,
                                     size_t *count, struct fth_error *error)
{
    double rates[MAX_POINTS] = {0}, penalty;
    struct line first = {0};
    size_t from = 0;
    FTH_TRY(fit(curve->points, MIN_POINTS, &first, error));
    while (from < curve->count && curve->points[from].instructions < MIN_INSTRUCTIONS)
        from++;
    for (size_t i = from; i < curve->count; i++) {
        double cycles = curve->points[i].cycles - first.start;
        if (!(cycles > 0))
            return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                            "%llu instructions take no longer than an empty pass",
                            (unsigned long long)curve->points[i].instructions);
        rates[i] = log(cycles / (double)curve->points[i].instructions);
    }
    struct fth_changes changes = {0};
    const size_t points = curve->count - from;
    FTH_TRY(fth_change_penalty(rates + from, points, resolution, &penalty, error));
    FTH_TRY(fth_changes_find(rates + from, points, MIN_SEGMENT, penalty, &changes, error));
    enum fth_status status = FTH_OK;
    *count = 0;
    for (size_t i = 0; i <= changes.count; i++) {
        struct plateau part = {.from = from + (i ? changes.indices[i - 1] : 0),
                               .to = i < changes.count ? from + changes.indices[i] : curve->count};
        add_plateau(rates, part, plateaus, count);
    }
    for (size_t i = 0; i < *count && status == FTH_OK; i++) {
        struct plateau *plateau = &plateaus[i];
        status =
            fit(curve->points + plateau->from, plateau->to - plateau->from, &plateau->line, error);
    }
    fth_changes_fini(&changes);
    return status;
}

/* ---- edges ---- */

/* Returns whether the pass is as fast as the plateau of the line. */
static bool is_fast(const struct line *line, const struct rate_point *point)
{
    return point->cycles <=
           predict(line, point->instructions) + tolerance(line, point->instructions);
}

/* Returns whether the pass is as slow as the plateau of the line. */
static bool is_full(const struct line *line, const struct rate_point *point)
{
    return point->cycles >=
           predict(line, point->instructions) - tolerance(line, point->instructions);
}

/* Measures both sides of an edge again. The evidence is the number of repeats with the same
 * verdict. */
static enum fth_status confirm(const struct fth_prober *prober, const struct line *line,
                               uint64_t fits, uint64_t misses, struct fth_fetch_level *level,
                               struct fth_error *error)
{
    uint64_t lengths[2 * CONFIRMATIONS];
    struct rate_curve again = {0};
    unsigned same = 0;
    for (size_t i = 0; i < FTH_COUNT(lengths); i++)
        lengths[i] = i % 2 ? misses : fits;
    FTH_TRY(measure(prober, lengths, FTH_COUNT(lengths), &again, error));
    for (size_t i = 0; i < again.count; i++)
        same += is_fast(line, &again.points[i]) == (i % 2 == 0);
    level->evidence = (struct fth_evidence){.repeats = 2 * CONFIRMATIONS, .agree = same};
    return FTH_OK;
}

/* Measures every length from one point to the other, both included. If there are more than
 * MAX_POINTS, the spacing is a larger multiple of FTH_FETCH_BLOCK. */
static enum fth_status measure_between(const struct fth_prober *prober,
                                       const struct rate_point *low, const struct rate_point *high,
                                       struct rate_curve *between, struct fth_error *error)
{
    uint64_t lengths[MAX_POINTS];
    size_t count = 0;
    uint64_t first = low->instructions, last = high->instructions, step = FTH_FETCH_BLOCK;
    while ((last - first) / step >= MAX_POINTS)
        step += FTH_FETCH_BLOCK;
    for (uint64_t n = first; n < last; n += step)
        lengths[count++] = n;
    lengths[count++] = last;
    *between = (struct rate_curve){0};
    return measure(prober, lengths, count, between, error);
}

static uint64_t bytes_of(const struct fth_fetch_levels *levels, uint64_t instructions)
{
    return instructions * levels->code.bytes / levels->code.instructions;
}

/* Finds the edge between a plateau and the next one. If code becomes slower without reaching a next
 * plateau (`outer` NULL), finds only where this begins. */
static enum fth_status find_edge(const struct fth_prober *prober, const struct rate_curve *curve,
                                 const struct plateau *inner, const struct plateau *outer,
                                 struct fth_fetch_levels *levels, struct fth_fetch_level *level,
                                 struct fth_error *error)
{
    const struct rate_point *points = curve->points;
    /* The first point of the outer plateau counts as slow in any case. */
    size_t fast = (outer ? outer->from : curve->count - 1) - 1;
    while (fast > inner->from && !is_fast(&inner->line, &points[fast]))
        fast--;
    struct rate_curve between;
    FTH_TRY(measure_between(prober, &points[fast], &points[fast + 1], &between, error));
    size_t i = between.count - 2;
    while (i > 0 && !is_fast(&inner->line, &between.points[i]))
        i--;
    level->fits_bytes = bytes_of(levels, between.points[i].instructions);
    level->misses_bytes = bytes_of(levels, between.points[i + 1].instructions);
    levels->samples += between.samples;
    FTH_TRY(confirm(prober, &inner->line, between.points[i].instructions,
                    between.points[i + 1].instructions, level, error));
    if (!outer)
        return FTH_OK;
    size_t full = outer->to - 1;
    while (full > fast + 1 && is_full(&outer->line, &points[full - 1]))
        full--;
    if (full > fast + 1) {
        FTH_TRY(measure_between(prober, &points[full - 1], &points[full], &between, error));
        levels->samples += between.samples;
    }
    i = between.count - 1;
    while (i > 0 && is_full(&outer->line, &between.points[i - 1]))
        i--;
    level->full_miss_bytes = bytes_of(levels, between.points[i].instructions);
    return FTH_OK;
}

/* ---- the probe ---- */

/* Sets the cycles per instruction of a plateau. */
static enum fth_status set_cycles(const struct rate_curve *curve, const struct plateau *plateau,
                                  struct fth_figure *cycles, struct fth_error *error)
{
    double rates[MAX_POINTS];
    size_t count = 0;
    for (size_t i = plateau->from; i < plateau->to; i++)
        rates[count++] =
            (curve->points[i].cycles - plateau->line.start) / (double)curve->points[i].instructions;
    struct fth_summary summary;
    FTH_TRY(fth_summary_f64(rates, count, &summary, error));
    *cycles = (struct fth_figure){.value = plateau->line.slope,
                                  .low = summary.p05,
                                  .high = summary.p95,
                                  .samples = count * TIMED_PASSES,
                                  .clock_mhz = curve->clock_mhz};
    return fth_agreement(rates, count, same_rate * plateau->line.slope, &cycles->confidence, error);
}

static enum fth_status ask_code_size(const struct fth_prober *prober, struct fth_code_size *code,
                                     struct fth_error *error)
{
    struct fth_gpu *gpu = NULL;
    *code = prober->code;
    if (code->bytes)
        return FTH_OK;
    FTH_TRY(fth_gpu_create(&gpu, error));
    enum fth_status status = fth_device_describe(prober->device, gpu, error);
    if (status == FTH_OK)
        *code = fth_gpu_code_size(gpu);
    fth_gpu_destroy(gpu);
    return status;
}

enum fth_status fth_probe_fetch(const struct fth_prober *prober, struct fth_fetch_levels *levels,
                                struct fth_error *error)
{
    struct rate_curve curve = {0};
    struct plateau plateaus[MAX_PLATEAUS];
    size_t count = 0;
    *levels = (struct fth_fetch_levels){0};
    FTH_TRY(ask_code_size(prober, &levels->code, error));
    levels->longest_bytes = bytes_of(levels, max_length(&levels->code));
    FTH_TRY(measure_curve(prober, max_length(&levels->code), &curve, error));
    FTH_TRY(find_plateaus(&curve, plateaus, &count, error));
    if (count == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "the cycles per instruction have no plateau");
    if (count > FTH_MAX_FETCH_LEVELS)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "found %zu plateaus, more than there can be cache levels", count);
    levels->samples = curve.samples;
    const struct rate_point *longest = &curve.points[curve.count - 1];
    for (size_t i = 0; i < count; i++) {
        const struct plateau *inner = &plateaus[i], *outer = i + 1 < count ? inner + 1 : NULL;
        FTH_TRY(set_cycles(&curve, inner, &levels->items[i].cycles, error));
        if (outer || !is_fast(&inner->line, longest))
            FTH_TRY(find_edge(prober, &curve, inner, outer, levels, &levels->items[i], error));
    }
    levels->count = count;
    return FTH_OK;
}
