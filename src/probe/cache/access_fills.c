/* Finds out which bytes an access brings into L1 or L2, by its cache operator and hints.
 *
 * Each trial has memory of its own: a part with several lines. The trial accesses one word in the
 * second quarter of its part with a variant of a load, store or copy, or with a prefetch, waits,
 * and then times a read of one word of the part, which hits if the cache holds it. Trials with the
 * same variant time the words of all sectors of the part in turn, because the timed read itself
 * changes the cache:
 *
 *   part    | . . . . | # # . . | . . . . | . . . . |    sectors; #: the timed read hits
 *                       ^ word of the variant             64 bytes are filled
 *
 * The sectors that hit must be an aligned block around the word, of the same size for a word at the
 * start and one at the end of a line. Controls: after a plain load the word itself hits. For L1, it
 * misses after a load past L1, which leaves it in the L2. For the L2, all words miss without an
 * access, because all parts are evicted from it before the trials. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

enum {
    LINES = 4,       /* lines of a part, at least */
    MAX_BLOCK = 256, /* the largest size of a hint, in bytes */
    MIN_PART_BYTES = 2 * MAX_BLOCK,
    MAX_POSITIONS = 64, /* timed words per part. Chosen: enough for lines of 512 bytes */
    WORD_BYTES = 32,    /* alignment of the accesses */
    REPEATS = 8,        /* trials of each word. Chosen, not derived. */
    /* Cycles from the access to the timed read, so that a prefetch is complete. Chosen: more than
     * twice the latency of memory of every GPU that we know. */
    DELAY_CYCLES = 2500,
    OFFSETS = 2
};
/* Fraction of the reads of a word that hit if it is not filled, at most, and if it is, at least.
 * Chosen: two of eight trials may seem to be hits or misses. On an H200, hits in the far partition
 * take up to 511 cycles and the fastest misses 505, so that the threshold separates all but one of
 * about 700 trials. Two of the eight of a word are then on the wrong side of it once in 14 runs, as
 * a run has 1,440 words, and three of them once in thousands of runs. The words that hit must be an
 * aligned block in any case. */
static const double max_missing = 0.3, min_filled = 0.7;
/* Quantiles of the control experiments between which the threshold lies. */
static const double hit_quantile = 0.9, miss_quantile = 0.25;
/* The known threshold is just below the fastest misses. This fraction of the distance to the hits
 * is subtracted, so that slower hits and faster misses, if there are any, have the same margin. */
static const double threshold_margin = 0.1;

/* The experiment: its dimensions, and the samples of both requests. */
struct fill_study {
    const struct fth_fill_plan *plan;
    enum fth_variant control;      /* a load that fills the cache */
    enum fth_variant miss_control; /* after this one, the word itself or any word misses */
    uint64_t variants;             /* set of enum fth_variant */
    uint32_t part_bytes, positions, offsets[OFFSETS];
    double threshold_cycles;
    struct fth_answers answers;
};

/* The variants of a request: loads and prefetches, or stores and copies, and the controls. The L1
 * distinguishes all but the hints that are for the L2. */
static uint64_t find_variants(const struct fth_fill_plan *plan)
{
    static const enum fth_variant for_l2[] = {
        FTH_VARIANT_LD_L2_64B,    FTH_VARIANT_LD_L2_128B,         FTH_VARIANT_LD_L2_256B,
        FTH_VARIANT_LD_L2_NORMAL, FTH_VARIANT_LD_L2_UNCHANGED,    FTH_VARIANT_LD_L2_FIRST,
        FTH_VARIANT_LD_L2_LAST,   FTH_VARIANT_PREFETCH_L2_NORMAL, FTH_VARIANT_PREFETCH_L2_LAST,
        FTH_VARIANT_ST_L2_NORMAL, FTH_VARIANT_ST_L2_FIRST,        FTH_VARIANT_ST_L2_LAST,
        FTH_VARIANT_CP_L2_64B,    FTH_VARIANT_CP_L2_128B,         FTH_VARIANT_CP_L2_256B};
    const uint64_t loads = (UINT64_C(1) << FTH_VARIANT_LOADS_END) - 1;
    uint64_t variants = loads;
    if (plan->stores)
        variants = ((UINT64_C(1) << FTH_VARIANTS) - 1) ^ loads;
    for (size_t i = 0; i < FTH_COUNT(for_l2) && plan->path == FTH_PATH_CA; i++)
        variants &= ~(UINT64_C(1) << for_l2[i]);
    return variants | UINT64_C(1) << FTH_VARIANT_NONE | UINT64_C(1) << FTH_VARIANT_LD_CA |
           UINT64_C(1) << FTH_VARIANT_LD_CG;
}

/* Each request has parts of its own, because a hint can have an effect on later requests. */
static struct fth_request make_request(const struct fill_study *study, size_t index)
{
    /* Not a power of two, so that the parts are in different sets. Blocks of 256 bytes stay
     * aligned. */
    const uint64_t line = study->plan->line_bytes;
    const uint32_t stride = 2 * study->part_bytes + (uint32_t)(line > MAX_BLOCK ? line : MAX_BLOCK);
    /* Loads and prefetches are more than the others. */
    const uint32_t trials = (uint32_t)FTH_VARIANT_LOADS_END * REPEATS * study->positions;
    const uint32_t part = (uint32_t)index + (study->plan->stores ? OFFSETS : 0);
    struct fth_request request = fth_request_make(study->plan->carveout_percent);
    request.family = FTH_FAMILY_HINT;
    request.cold = study->plan->path == FTH_PATH_CG;
    request.hint = (struct fth_access_hint){.kind = FTH_HINT_FILL,
                                            .path = study->plan->path,
                                            .variants = study->variants,
                                            .stride_bytes = stride,
                                            .first = (uint32_t)(study->plan->start_bytes / stride) +
                                                     part * trials,
                                            .offset_bytes = study->offsets[index],
                                            .step_bytes = (uint32_t)study->plan->sector_bytes,
                                            .positions = study->positions,
                                            .repeats = REPEATS,
                                            .delay_cycles = DELAY_CYCLES};
    return request;
}

/* The cycles of a trial. The answer has the variants of the set in their order. */
static uint32_t cycles_of(const struct fill_study *study, size_t offset, enum fth_variant variant,
                          size_t repeat, size_t position)
{
    const uint64_t before = study->variants & ((UINT64_C(1) << variant) - 1);
    const size_t trial = (size_t)__builtin_popcountll(before) * REPEATS + repeat;
    return study->answers.items[offset].cycles[trial * study->positions + position];
}

/* The number of trials of a word that hit. */
static size_t count_hits(const struct fill_study *study, size_t offset, enum fth_variant variant,
                         size_t position)
{
    size_t hits = 0;
    for (size_t i = 0; i < REPEATS; i++)
        hits += cycles_of(study, offset, variant, i, position) <= study->threshold_cycles;
    return hits;
}

/* The position of the word that the variants access. */
static size_t own_position(const struct fill_study *study, size_t offset)
{
    return study->offsets[offset] / study->plan->sector_bytes;
}

/* ---- controls ---- */

/* Computes a quantile of the controls: of the word itself after a variant, or of all words without
 * an access. */
static enum fth_status find_quantile(const struct fill_study *study, enum fth_variant variant,
                                     double quantile, double *cycles, struct fth_error *error)
{
    double values[OFFSETS * REPEATS * MAX_POSITIONS];
    size_t count = 0;
    for (size_t offset = 0; offset < OFFSETS; offset++)
        for (size_t i = 0; i < REPEATS; i++)
            for (size_t position = 0; position < study->positions; position++)
                if (variant == FTH_VARIANT_NONE || position == own_position(study, offset))
                    values[count++] = cycles_of(study, offset, variant, i, position);
    return fth_quantile_f64(values, count, quantile, cycles, error);
}

/* Finds the threshold, and checks that it separates the controls. */
static enum fth_status check_controls(struct fill_study *study, struct fth_error *error)
{
    double hit, miss;
    FTH_TRY(find_quantile(study, study->control, hit_quantile, &hit, error));
    FTH_TRY(find_quantile(study, study->miss_control, miss_quantile, &miss, error));
    const double known = study->plan->threshold_cycles;
    study->threshold_cycles =
        known > 0 ? known - threshold_margin * (known - hit) : sqrt(hit * miss);
    if (hit <= study->threshold_cycles && study->threshold_cycles < miss)
        return FTH_OK;
    return fth_fail(error, FTH_INCONCLUSIVE, "find what a load fills", NULL,
                    "reads of a word that the cache holds take %.0f cycles, reads of others %.0f; "
                    "the threshold is %.0f",
                    hit, miss, study->threshold_cycles);
}

/* ---- decisions ---- */

/* Finds the size of the block that an access fills. Returns false if the trials contradict each
 * other or if it is not an aligned block around the word. Adds the trials to the evidence. */
static bool find_block(const struct fill_study *study, size_t offset, enum fth_variant variant,
                       uint64_t *bytes, struct fth_evidence *evidence)
{
    size_t first = SIZE_MAX, last = 0, count = 0;
    for (size_t position = 0; position < study->positions; position++) {
        const size_t hits = count_hits(study, offset, variant, position);
        const bool filled = (double)hits >= min_filled * REPEATS;
        if (!filled && (double)hits > max_missing * REPEATS)
            return false;
        evidence->repeats += REPEATS;
        evidence->agree += (double)(filled ? hits : REPEATS - hits);
        if (filled) {
            first = count++ == 0 ? position : first;
            last = position;
        }
    }
    *bytes = count * study->plan->sector_bytes;
    const size_t own = own_position(study, offset);
    return count == 0 || ((count & (count - 1)) == 0 && last - first + 1 == count &&
                          first % count == 0 && first <= own && own <= last);
}

static void decide(const struct fill_study *study, struct fth_access_fills *found)
{
    struct fth_evidence trials = {.repeats = 0};
    for (enum fth_variant i = FTH_VARIANT_NONE + 1; i < FTH_VARIANTS; i++) {
        if (!(study->variants >> i & 1) || (i < FTH_VARIANT_LOADS_END) == study->plan->stores)
            continue;
        uint64_t bytes[OFFSETS];
        struct fth_evidence own = {.repeats = 0};
        if (find_block(study, 0, i, &bytes[0], &own) && find_block(study, 1, i, &bytes[1], &own) &&
            bytes[0] == bytes[1]) {
            found->variants[found->count] = i;
            found->bytes[found->count++] = bytes[0];
            trials.repeats += own.repeats;
            trials.agree += own.agree;
        } else {
            found->undecided++;
        }
    }
    /* A repeat is a trial of each word of each variant. */
    found->evidence =
        (struct fth_evidence){.repeats = REPEATS, .agree = REPEATS * fth_evidence_share(trials)};
}

enum fth_status fth_probe_access_fills(const struct fth_prober *prober,
                                       const struct fth_fill_plan *plan,
                                       struct fth_access_fills *found, struct fth_error *error)
{
    const uint64_t part =
        LINES * plan->line_bytes > MIN_PART_BYTES ? LINES * plan->line_bytes : MIN_PART_BYTES;
    struct fill_study study = {
        .plan = plan,
        .control = plan->path == FTH_PATH_CA ? FTH_VARIANT_LD_CA : FTH_VARIANT_LD_CG,
        .miss_control = plan->path == FTH_PATH_CA ? FTH_VARIANT_LD_CG : FTH_VARIANT_NONE,
        .variants = find_variants(plan),
        .part_bytes = (uint32_t)part,
        .positions = (uint32_t)(part / plan->sector_bytes)};
    *found = (struct fth_access_fills){.count = 0};
    if (study.positions > MAX_POSITIONS || part % plan->sector_bytes ||
        plan->line_bytes % WORD_BYTES || plan->sector_bytes % WORD_BYTES)
        return fth_fail(error, FTH_INCONCLUSIVE, "find what a load fills", NULL,
                        "lines of %.0f bytes with sectors of %.0f bytes are not supported",
                        (double)plan->line_bytes, (double)plan->sector_bytes);
    study.offsets[0] = study.part_bytes / LINES;
    study.offsets[1] = study.offsets[0] + (uint32_t)plan->line_bytes - WORD_BYTES;
    struct fth_request requests[OFFSETS];
    for (size_t i = 0; i < OFFSETS; i++)
        requests[i] = make_request(&study, i);
    FTH_TRY(fth_ask(prober, requests, OFFSETS, &study.answers, error));
    for (size_t i = 0; i < OFFSETS; i++)
        found->samples += study.answers.items[i].count;
    const enum fth_status status = check_controls(&study, error);
    if (status == FTH_OK)
        decide(&study, found);
    found->threshold_cycles = study.threshold_cycles;
    fth_answers_fini(&study.answers);
    return status;
}
