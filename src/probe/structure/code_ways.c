/* The ways of instruction caches, from branches that are a power of two apart.
 *
 * A pass executes a few instructions at each of n places. While the places fit into a cache, each
 * costs the same. With a stride of S bytes they use W / S sets in turn, where W is the number of
 * bytes of one way (sets x line). When all these sets are full, each further place makes one more
 * set overflow. With LRU, FIFO or PLRU, all lines of this set then miss in every pass:
 *
 *   cycles of                      ╱        a: every place hits; a place costs `hit` cycles
 *   a pass                   ╱ c            b: a place costs miss + ways x (miss - hit) cycles,
 *                          ╱ b                 because it evicts the other lines of its set
 *                 ╱‾‾‾‾‾‾‾                  c: every place misses; a place costs `miss` cycles
 *               a
 *
 * Part b has one such place per set, and its last one is number (ways + 1) x W / S. The cost of the
 * places must confirm the ways. The code of the loop itself makes a few sets overflow earlier. A
 * result counts if at least two strides agree on ways and W. */
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find ways of instruction caches";

enum {
    WARM_PASSES = 4, /* until a cache with a policy like PLRU holds all that fits. Chosen. */
    TIMED_PASSES = 3,
    MIN_PLATEAU = 4, /* lengths. Chosen. */
    MAX_PLATEAUS = 8,
    MIN_STRIDES = 2,       /* that must agree */
    REFINED = 8,           /* places after part b that give the cost of a miss. Chosen. */
    INSTRUCTION_BYTES = 16 /* other machine codes have no strides that are powers of two */
};
/* The mean costs of a place on a plateau differ by at most this fraction; those of two plateaus
 * differ by more than the second fraction. Chosen, not derived. */
static const double plateau_range = 0.03, plateau_gap = 0.08;
/* A place belongs to part b if it costs more than `miss` by this fraction of the difference between
 * miss and hit. Just before part b, the mean cost of a place is that of a hit, plus at most the
 * fraction max_before of the difference. Chosen, not derived. */
static const double min_extra = 0.5, max_before = 0.35;
/* The median number of misses that a place of part b adds to others must be that of the ways, up to
 * max_deviation plus the fraction same_ways of the ways. Chosen, not derived: misses that follow
 * each other take a little less time than others. */
static const double max_deviation = 0.35, same_ways = 0.2;

/* The cycles of a pass over 1, 2, …, `count` places; cycles[0] is the fixed cost of a pass. */
struct branch_curve {
    double cycles[FTH_BRANCH_BLOCKS + 1];
    size_t count;
};

/* A range of lengths with the same mean cost of a place. */
struct branch_plateau {
    size_t from, to; /* both included */
    double cost;
};

/* Measures the curve of one stride. */
static enum fth_status measure(const struct fth_prober *prober, unsigned distance,
                               struct branch_curve *curve, struct fth_error *error)
{
    struct fth_request *requests = calloc(FTH_BRANCH_BLOCKS, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    curve->count = (size_t)FTH_BRANCH_BLOCKS >> distance;
    for (size_t i = 0; i < curve->count; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_BRANCH;
        requests[i].branch = (struct fth_branch){.stride = (uint64_t)FTH_FETCH_BLOCK << distance,
                                                 .count = i + 1,
                                                 .passes = WARM_PASSES + TIMED_PASSES};
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, curve->count, &answers, error);
    for (size_t i = 0; i < curve->count && status == FTH_OK; i++) {
        struct fth_summary summary;
        status =
            fth_summary_u32(answers.items[i].cycles + WARM_PASSES, TIMED_PASSES, &summary, error);
        if (status == FTH_OK)
            curve->cycles[i + 1] = summary.median;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Returns the mean cost of a place in a pass over `length` places. */
static double mean_cost(const struct branch_curve *curve, size_t length)
{
    return (curve->cycles[length] - curve->cycles[0]) / (double)length;
}

/* Returns the cost of the n-th place: the difference of two passes. */
static double last_cost(const struct branch_curve *curve, size_t n)
{
    return curve->cycles[n] - curve->cycles[n - 1];
}

/* Adds a plateau of the mean cost. Its cost is the median cost of its places. If this is the cost
 * of the plateau before, some places were added in between that miss in every pass, and the two are
 * one level. */
static enum fth_status add_plateau(const struct branch_curve *curve, struct branch_plateau found,
                                   struct branch_plateau *plateaus, size_t *count,
                                   struct fth_error *error)
{
    double costs[FTH_BRANCH_BLOCKS + 1];
    for (size_t n = found.from; n <= found.to; n++)
        costs[n - found.from] = last_cost(curve, n);
    FTH_TRY(fth_quantile_f64(costs, found.to - found.from + 1, 0.5, &found.cost, error));
    if (*count > 0 && found.cost < plateaus[*count - 1].cost * (1 + plateau_gap))
        plateaus[*count - 1].to = found.to;
    else if (*count < MAX_PLATEAUS)
        plateaus[(*count)++] = found;
    return FTH_OK;
}

/* Finds the plateaus of the mean cost. A plateau of less than an eighth of its lengths is part of a
 * transition. */
static enum fth_status find_plateaus(const struct branch_curve *curve,
                                     struct branch_plateau *plateaus, size_t *count,
                                     struct fth_error *error)
{
    *count = 0;
    for (size_t from = 2; from <= curve->count;) {
        double min = mean_cost(curve, from), max = min;
        size_t to = from;
        for (; to <= curve->count; to++) {
            const double cost = mean_cost(curve, to);
            if (fmax(max, cost) > fmin(min, cost) * (1 + plateau_range))
                break;
            min = fmin(min, cost);
            max = fmax(max, cost);
        }
        if (to - from < MIN_PLATEAU || to - from < from / 8) {
            from++;
            continue;
        }
        FTH_TRY(add_plateau(curve, (struct branch_plateau){.from = from, .to = to - 1}, plateaus,
                            count, error));
        from = to;
    }
    return FTH_OK;
}

/* The places of part b, and the costs of a hit before it and of a miss after it. */
struct overflow_part {
    size_t first, last; /* 0: there is none */
    double hit, miss;
    double extra[FTH_BRANCH_BLOCKS + 1];  /* misses that each place adds to other places */
    size_t places[FTH_BRANCH_BLOCKS + 1]; /* the numbers of these places */
    size_t count;
};

/* Finds part b: places that add misses to others. */
static void find_part(const struct branch_curve *curve, struct overflow_part *part)
{
    const double hit = part->hit, miss = part->miss;
    part->count = 0;
    for (size_t n = 2; n <= curve->count; n++) {
        const double extra = (last_cost(curve, n) - miss) / (miss - hit);
        /* Before, not all places missed the caches inside this one. */
        if (extra < min_extra || mean_cost(curve, n - 1) < hit * (1 - plateau_gap))
            continue;
        /* After, all places missed this cache: this is part b of the next one. */
        const double missing = (double)(n - 1) * (mean_cost(curve, n - 1) - hit) / (miss - hit);
        if (missing > (double)(n - 2))
            break;
        part->places[part->count] = n;
        part->extra[part->count++] = extra;
    }
}

/* Removes places that add less than half as many misses as the median. These are places in sets
 * that the code of the loop uses as well, and the place after part b: the last place of a pass
 * executes fewer instructions than the others, so that a part of its cost appears one place later.
 */
static enum fth_status trim_part(struct overflow_part *part, struct fth_error *error)
{
    double median = 0;
    size_t kept = 0;
    if (part->count)
        FTH_TRY(fth_quantile_f64(part->extra, part->count, 0.5, &median, error));
    for (size_t i = 0; i < part->count; i++)
        if (part->extra[i] >= median / 2) {
            part->places[kept] = part->places[i];
            part->extra[kept++] = part->extra[i];
        }
    part->count = kept;
    part->first = kept ? part->places[0] : 0;
    part->last = kept ? part->places[kept - 1] : 0;
    return FTH_OK;
}

/* Finds part b of one stride. The costs of a hit and a miss differ a little from stride to stride,
 * because a place executes one more branch for each larger distance. They are therefore taken from
 * the neighbourhood of a first guess of part b. `shown` is false if the stride does not show part b
 * with hits before it and misses after it. */
static enum fth_status refine_part(const struct branch_curve *curve, struct overflow_part *part,
                                   bool *shown, struct fth_error *error)
{
    double after[REFINED];
    size_t count = 0;
    *shown = false;
    find_part(curve, part);
    FTH_TRY(trim_part(part, error));
    /* The place directly after part b may still add a part of a miss. */
    for (size_t n = part->last + 2; n <= curve->count && count < REFINED; n++)
        after[count++] = last_cost(curve, n);
    if (part->count == 0 || part->first < 3 || count == 0)
        return FTH_OK;
    FTH_TRY(fth_quantile_f64(after, count, 0.5, &part->miss, error));
    /* The first place of part b may be missing in the guess, so that two places before count. */
    part->hit = fmin(fmin(last_cost(curve, part->first - 1), last_cost(curve, part->first - 2)),
                     mean_cost(curve, part->first - 1));
    if (!(part->miss > part->hit * (1 + plateau_gap)))
        return FTH_OK;
    find_part(curve, part);
    FTH_TRY(trim_part(part, error));
    *shown = part->count > 0 && part->first > 2 &&
             mean_cost(curve, part->first - 1) <= part->hit + max_before * (part->miss - part->hit);
    return FTH_OK;
}

/* What one stride shows: `sets` sets with `ways` ways each. ways 0: nothing. With one set, the
 * bytes of a way are at most the stride, otherwise they are `way_bytes`. */
struct stride_result {
    uint64_t ways, sets, way_bytes;
};

/* Finds the ways and the bytes of a way from the curve of one stride. Each set overflows once, at
 * one place of part b: earlier than others if the code of the loop uses the set as well. */
static enum fth_status find_overflow(const struct branch_curve *curve, uint64_t stride_bytes,
                                     double hit, double miss, struct stride_result *result,
                                     struct fth_error *error)
{
    struct overflow_part *part = calloc(1, sizeof *part);
    *result = (struct stride_result){0};
    if (!part)
        return fth_no_memory(error, operation, NULL);
    part->hit = hit;
    part->miss = miss;
    bool shown;
    double extra = 0;
    enum fth_status status = refine_part(curve, part, &shown, error);
    if (status == FTH_OK && shown)
        status = fth_quantile_f64(part->extra, part->count, 0.5, &extra, error);
    if (status == FTH_OK && shown && part->last % part->count == 0) {
        const uint64_t ways = part->last / part->count - 1;
        if (ways >= 1 && fabs(extra - (double)ways) <= max_deviation + same_ways * (double)ways)
            *result = (struct stride_result){ways, part->count, part->count * stride_bytes};
    }
    free(part);
    return status;
}

/* Returns whether a stride supports the result of another one. */
static bool supports(const struct stride_result *result, const struct stride_result *other)
{
    return result->ways == other->ways &&
           (result->way_bytes == other->way_bytes ||
            (result->sets == 1 && result->way_bytes > other->way_bytes));
}

/* Finds the result that most strides support. */
static void choose(const struct stride_result *results, size_t count, struct fth_code_ways *found)
{
    unsigned best = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned agree = 0;
        all += results[i].ways > 0;
        for (size_t j = 0; j < count; j++)
            agree += supports(&results[j], &results[i]);
        if (results[i].sets > 1 && agree > best) {
            best = agree;
            found->ways = results[i].ways;
            found->way_bytes = results[i].way_bytes;
        }
    }
    if (best < MIN_STRIDES)
        found->ways = found->way_bytes = 0;
    found->evidence = (struct fth_evidence){.repeats = all, .agree = best};
}

enum fth_status fth_probe_code_ways(const struct fth_prober *prober,
                                    const struct fth_code_size *code,
                                    struct fth_code_ways found[FTH_MAX_CODE_WAYS], size_t *count,
                                    struct fth_error *error)
{
    *count = 0;
    if (code->bytes != INSTRUCTION_BYTES * code->instructions)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the method needs instructions of %d bytes", INSTRUCTION_BYTES);
    struct branch_curve *curves = calloc(FTH_BRANCH_DISTANCES, sizeof *curves);
    if (!curves)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    for (unsigned i = 0; i < FTH_BRANCH_DISTANCES && status == FTH_OK; i++)
        status = measure(prober, i, &curves[i], error);
    /* The innermost cache holds at least four places. */
    for (unsigned i = 0; i < FTH_BRANCH_DISTANCES; i++)
        curves[i].cycles[0] = 2 * curves[i].cycles[2] - curves[i].cycles[4];
    struct branch_plateau plateaus[MAX_PLATEAUS];
    size_t levels = 0;
    if (status == FTH_OK)
        status = find_plateaus(&curves[0], plateaus, &levels, error);
    for (size_t i = 0; i + 1 < levels && *count < FTH_MAX_CODE_WAYS && status == FTH_OK; i++) {
        struct stride_result results[FTH_BRANCH_DISTANCES];
        for (unsigned j = 0; j < FTH_BRANCH_DISTANCES && status == FTH_OK; j++)
            status = find_overflow(&curves[j], (uint64_t)FTH_FETCH_BLOCK * INSTRUCTION_BYTES << j,
                                   plateaus[i].cost, plateaus[i + 1].cost, &results[j], error);
        struct fth_code_ways *next = &found[*count];
        *next = (struct fth_code_ways){.samples = (size_t)FTH_BRANCH_BLOCKS * 2 * TIMED_PASSES};
        if (status == FTH_OK)
            choose(results, FTH_BRANCH_DISTANCES, next);
        *count += next->ways > 0;
    }
    free(curves);
    return status;
}
