/* The spectrum of a load's latency: in a cache or not, its page in a TLB or not (Mei and Chu, 2017,
 * Section 5.2, P1 to P6). They link one chain of three strides. Here it is one experiment of
 * several steps over the same pages, a line each:
 *
 *   first touch of many pages       in no cache, in no TLB (P5); each page table for the first
 *                                   time (P6)
 *   the same again                  in the cache; meanwhile more pages than the second TLB has (P3)
 *   twice what the first TLB has    in the cache, in the second TLB (P2)
 *   other lines, all of one page    in no cache, in the first TLB (P4)
 *   the first lines of a few pages  in the cache, in the first TLB (P1)
 *
 * What the TLBs have is seen to by loads of other lines of the pages that go past L1, which may
 * hold fewer lines than the TLBs have pages, and may need no TLB. Whether a pattern costs more than
 * the one before is seen on lines that both have: lines differ among each other by more than a
 * TLB's penalty.
 *
 * An L1 may have lost lines meanwhile; an H200's loses up to half of them when a step begins. Hits
 * that pay for their page do so all alike: where a good part of the loads takes no longer than a
 * hit whose page is at hand, these are the hits, and the others were lost. */
#include "probe/tlb.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256,
    FEW = 8, /* pages that any TLB has, at most */
    REPEATS = 5,
    OTHERS = 63,
    NEAR_ARRAY = 7,
    NEAR_STRIDE = 4096 + SKEW,
    OTHER_LINE = 64 << 10, /* bytes from one line of a page to another */
    MIN_RISE = 3,          /* cycles */
    HITS_PART = 4,         /* one load in so many */
    MAX_STRIDE = 32 << 20
};
/* A step of the chain that is so much longer than others has to do with page tables. */
static const double switch_part = 0.25;

/* Where the samples of a step begin, in the order of the steps. */
enum part { PART_TOUCH, PART_AGAIN, PART_TWICE, PART_OTHER, PART_FIRST, PARTS };

/* Which one shows a pattern; the first touch is looked at by itself. */
static const enum part parts[FTH_PATTERNS] = {[FTH_PATTERN_HIT] = PART_FIRST,
                                              [FTH_PATTERN_HIT_MISS] = PART_TWICE,
                                              [FTH_PATTERN_HIT_MISS_BOTH] = PART_AGAIN,
                                              [FTH_PATTERN_COLD] = PART_OTHER};

struct study {
    const struct fth_spectrum_plan *plan;
    uint64_t stride;
    uint64_t many; /* pages that no TLB has */
    uint64_t counts[PARTS];
    struct fth_answers answers;
    double *scratch;
};

/* Lines near to each other, and others among them. */
static struct fth_chain near_lines(uint64_t start_bytes)
{
    return (struct fth_chain){.array = NEAR_ARRAY,
                              .start_bytes = start_bytes,
                              .stride_bytes = NEAR_STRIDE,
                              .count = OTHERS};
}

/* Loads of other lines of so many pages, past L1. */
static void add_pages(const struct study *study, struct fth_request *request, uint64_t count)
{
    const struct fth_chain beside = {.array = FTH_FAR_ARRAY,
                                     .start_bytes = OTHER_LINE / 2,
                                     .stride_bytes = study->stride,
                                     .count = count};
    fth_request_add(request, FTH_STEP_WALK, FTH_PATH_CG, beside, 1);
}

/* The lines of one of the other parts. */
static void time_lines(const struct study *study, struct fth_request *request, enum part part)
{
    const struct fth_chain lines = {
        .array = FTH_FAR_ARRAY, .stride_bytes = study->stride, .count = study->counts[part]};
    /* The first ones twice: the first pass brings their pages. */
    fth_request_add(request, FTH_STEP_TIME_HOPS, study->plan->path, lines,
                    part == PART_FIRST ? 2 : 1);
}

static struct fth_request make_request(const struct study *study)
{
    struct fth_request request = fth_request_make(study->plan->carveout_percent);
    request.alone = request.cold = true;
    request.sm = 0;
    time_lines(study, &request, PART_TOUCH);
    add_pages(study, &request, study->many);
    time_lines(study, &request, PART_AGAIN);
    add_pages(study, &request, study->counts[PART_TWICE]);
    time_lines(study, &request, PART_TWICE);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, near_lines(NEAR_STRIDE / 2), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, study->plan->path, near_lines(0), 1);
    time_lines(study, &request, PART_FIRST);
    return request;
}

/* Before each of them, so that the TLBs have none of the first pages. */
static struct fth_request make_reset(const struct study *study)
{
    struct fth_request request = fth_request_make(study->plan->carveout_percent);
    request.alone = true;
    request.sm = 0;
    add_pages(study, &request, study->many);
    time_lines(study, &request, PART_FIRST); /* a request has something to tell */
    return request;
}

/* The median over the repeats of one hop of a part. */
static enum fth_status median_at(const struct study *study, enum part part, uint64_t place,
                                 double *median, struct fth_error *error)
{
    uint64_t before = part == PART_FIRST ? study->counts[PART_FIRST] : 0;
    double column[REPEATS];
    for (unsigned i = 0; i < (unsigned)part; i++)
        before += study->counts[i];
    for (size_t i = 0; i < REPEATS; i++)
        column[i] = study->answers.items[2 * i + 1].cycles[before + place];
    return fth_quantile_f64(column, REPEATS, 0.5, median, error);
}

/* The hops [1, count) of a part, each its median over the repeats, into the scratch. */
static enum fth_status gather(const struct study *study, enum part part, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (uint64_t i = 1; i < study->counts[part] && status == FTH_OK; i++)
        status = median_at(study, part, i, &study->scratch[i - 1], error);
    return status;
}

static enum fth_status summarize(const struct study *study, const double *values, size_t count,
                                 double quantile, struct fth_figure *figure,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    double value = NAN;
    enum fth_status status = fth_summary_f64(values, count, &summary, error);
    if (status == FTH_OK)
        status = fth_quantile_f64(values, count, quantile, &value, error);
    if (status == FTH_OK)
        *figure = (struct fth_figure){.value = value,
                                      .low = summary.p05,
                                      .high = summary.p95,
                                      .samples = count * REPEATS,
                                      .clock_mhz = study->answers.items[1].clock_mhz};
    return status;
}

/* Where memory is near for half of the lines, the median of those. */
static double cold_quantile(const struct study *study)
{
    return study->plan->two_homes ? 0.25 : 0.5;
}

/* How much more lines cost in one part than in another: the same lines, but for an L1, in which all
 * are as near, and which may lose a few for other reasons. */
static enum fth_status compare(const struct study *study, const struct fth_spectrum *spectrum,
                               enum fth_pattern more_pattern, enum fth_pattern less_pattern,
                               double *difference, struct fth_error *error)
{
    if (study->plan->path == FTH_PATH_CA) {
        *difference = spectrum->patterns[more_pattern].cycles.value -
                      spectrum->patterns[less_pattern].cycles.value;
        return FTH_OK;
    }
    const enum part more = parts[more_pattern], less = parts[less_pattern];
    double differences[FEW];
    size_t count = 0;
    enum fth_status status = FTH_OK;
    for (uint64_t i = 1; i < study->counts[PART_FIRST] && status == FTH_OK; i++, count++) {
        double high, low = 0;
        status = median_at(study, more, i, &high, error);
        if (status == FTH_OK)
            status = median_at(study, less, i, &low, error);
        differences[count] = high - low;
    }
    return status == FTH_OK ? fth_quantile_f64(differences, count, 0.5, difference, error) : status;
}

/* Hops of the first touch that take much longer, each as far from the next: where a page table
 * ends. Splits them from the others, which come first. */
static size_t split_switches(double *values, size_t count, double usual, uint64_t *distance)
{
    size_t switches = 0, last = 0, same = 0, pairs = 0;
    double *long_ones = calloc(count, sizeof *long_ones);
    *distance = 0;
    if (!long_ones)
        return 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] <= usual * (1 + switch_part)) {
            values[kept++] = values[i];
            continue;
        }
        if (switches) {
            uint64_t apart = i - last;
            *distance = *distance ? *distance : apart;
            same += apart == *distance;
            pairs++;
        }
        last = i;
        long_ones[switches++] = values[i];
    }
    for (size_t i = 0; i < switches; i++)
        values[kept + i] = long_ones[i];
    free(long_ones);
    if (pairs == 0 || same * 4 < pairs * 3)
        *distance = 0;
    return *distance ? switches : 0;
}

static enum fth_status note_first_touch(const struct study *study, struct fth_spectrum *spectrum,
                                        struct fth_error *error)
{
    const size_t count = (size_t)study->counts[PART_TOUCH] - 1;
    uint64_t distance = 0;
    double usual;
    enum fth_status status = gather(study, PART_TOUCH, error);
    if (status == FTH_OK)
        status = fth_quantile_f64(study->scratch, count, 0.5, &usual, error);
    if (status != FTH_OK)
        return status;
    size_t switches = split_switches(study->scratch, count, usual, &distance);
    spectrum->page_table_bytes = distance * (study->stride - SKEW);
    spectrum->patterns[FTH_PATTERN_SWITCH].presence = switches ? FTH_PRESENT : FTH_ABSENT;
    status = summarize(study, study->scratch, count - switches, cold_quantile(study),
                       &spectrum->patterns[FTH_PATTERN_COLD_MISS].cycles, error);
    if (status == FTH_OK && switches)
        status = summarize(study, study->scratch + count - switches, switches, 0.5,
                           &spectrum->patterns[FTH_PATTERN_SWITCH].cycles, error);
    return status;
}

static enum fth_presence presence_of(double difference)
{
    return difference > MIN_RISE ? FTH_PRESENT : FTH_ABSENT;
}

/* The cycles of hits of L1 in the third pattern. Few pages can still be in the first TLB; the lines
 * of more than these that take no longer than in the first pattern were hits, and paid nothing. */
static enum fth_status find_hits(const struct study *study, struct fth_spectrum *spectrum,
                                 struct fth_error *error)
{
    const double max = spectrum->patterns[FTH_PATTERN_HIT].cycles.value + MIN_RISE;
    const size_t count = (size_t)study->counts[PART_AGAIN] - 1;
    size_t hits = 0;
    enum fth_status status = gather(study, PART_AGAIN, error);
    for (size_t i = 0; i < count; i++)
        if (study->scratch[i] <= max)
            study->scratch[hits++] = study->scratch[i];
    if (status != FTH_OK || hits * HITS_PART < count || hits <= 2 * study->plan->first_entries)
        return status;
    return summarize(study, study->scratch, hits, 0.5,
                     &spectrum->patterns[FTH_PATTERN_HIT_MISS_BOTH].cycles, error);
}

static enum fth_status evaluate(const struct study *study, struct fth_spectrum *spectrum,
                                struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (int i = FTH_PATTERN_HIT; i <= FTH_PATTERN_COLD && status == FTH_OK; i++) {
        status = gather(study, parts[i], error);
        if (status == FTH_OK)
            status = summarize(study, study->scratch, (size_t)study->counts[parts[i]] - 1,
                               i == FTH_PATTERN_COLD ? cold_quantile(study) : 0.5,
                               &spectrum->patterns[i].cycles, error);
    }
    if (status == FTH_OK && study->plan->path == FTH_PATH_CA)
        status = find_hits(study, spectrum, error);
    if (status == FTH_OK)
        status = note_first_touch(study, spectrum, error);
    double one = 0, both = 0, any = 0;
    if (status == FTH_OK)
        status = compare(study, spectrum, FTH_PATTERN_HIT_MISS, FTH_PATTERN_HIT, &one, error);
    if (status == FTH_OK)
        status =
            compare(study, spectrum, FTH_PATTERN_HIT_MISS_BOTH, FTH_PATTERN_HIT_MISS, &both, error);
    if (status == FTH_OK)
        status = compare(study, spectrum, FTH_PATTERN_HIT_MISS_BOTH, FTH_PATTERN_HIT, &any, error);
    /* A page that no TLB has costs no less than one that the second has: where it costs nothing,
     * the lines were slow because the cache had lost them, as an H200's L1 loses some at every
     * step. */
    one = fmin(one, any);
    /* A few lines may be farther away than most. */
    if (study->plan->path == FTH_PATH_CG && one > 0)
        spectrum->patterns[FTH_PATTERN_HIT].cycles.value =
            spectrum->patterns[FTH_PATTERN_HIT_MISS].cycles.value - one;
    const bool two = study->plan->last_entries > 0;
    const double cold = spectrum->patterns[FTH_PATTERN_COLD].cycles.value;
    spectrum->patterns[FTH_PATTERN_HIT].presence = FTH_PRESENT;
    spectrum->patterns[FTH_PATTERN_HIT_MISS].presence = presence_of(one);
    spectrum->patterns[FTH_PATTERN_HIT_MISS_BOTH].presence =
        two ? presence_of(both) : FTH_PRESENCE_UNKNOWN;
    spectrum->patterns[FTH_PATTERN_COLD].presence =
        presence_of(cold - spectrum->patterns[FTH_PATTERN_HIT].cycles.value);
    spectrum->patterns[FTH_PATTERN_COLD_MISS].presence =
        presence_of(spectrum->patterns[FTH_PATTERN_COLD_MISS].cycles.value - cold);
    return status;
}

/* The largest stride, a power of two, that there is memory for. */
static uint64_t choose_stride(const struct fth_spectrum_plan *plan, uint64_t count)
{
    uint64_t stride = MAX_STRIDE > plan->page_bytes ? MAX_STRIDE : plan->page_bytes;
    while (stride > plan->page_bytes && (count + 1) * (stride + SKEW) > plan->max_bytes)
        stride /= 2;
    return (count + 1) * (stride + SKEW) > plan->max_bytes ? 0 : stride;
}

enum fth_status fth_probe_spectrum(const struct fth_prober *prober,
                                   const struct fth_spectrum_plan *plan,
                                   struct fth_spectrum *spectrum, struct fth_error *error)
{
    *spectrum = (struct fth_spectrum){0};
    const uint64_t few = plan->first_entries / 2 < FEW ? plan->first_entries / 2 : FEW;
    const uint64_t twice = 2 * plan->first_entries;
    /* A quarter more than there are: one page too many for each set of eight, and more. */
    uint64_t many = plan->last_entries + plan->last_entries / 4 + 2;
    many = many > twice ? many : twice;
    const uint64_t held = plan->held_lines && plan->held_lines < many ? plan->held_lines : many;
    struct study study = {.plan = plan, .many = many, .counts = {held, held, twice, OTHERS, few}};
    const uint64_t stride = choose_stride(plan, many);
    if (few < 2 || held < twice || stride < (uint64_t)2 * OTHER_LINE)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the latency spectrum", NULL,
                        few < 2        ? "the first TLB is not known"
                        : held < twice ? "the cache holds fewer lines than the first TLB pages"
                                       : "too little memory");
    study.stride = stride + SKEW;
    spectrum->stride_bytes = stride;
    struct fth_request requests[2 * REPEATS];
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = i % 2 ? make_request(&study) : make_reset(&study);
    enum fth_status status = fth_ask(prober, requests, FTH_COUNT(requests), &study.answers, error);
    if (status != FTH_OK)
        return status;
    study.scratch = calloc(many + OTHERS, sizeof *study.scratch);
    if (study.scratch)
        status = evaluate(&study, spectrum, error);
    else
        status = fth_fail(error, FTH_NO_MEMORY, "find the latency spectrum", NULL, "out of memory");
    for (size_t i = 1; i < study.answers.count; i += 2)
        spectrum->samples += study.answers.items[i].count;
    free(study.scratch);
    fth_answers_fini(&study.answers);
    return status;
}
