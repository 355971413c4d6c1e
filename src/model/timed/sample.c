/* Sampling: simulates the beginning of a launch, and estimates the counts of the whole launch.
 *
 *   |------------------- simulated -------------------|
 *   0           1/4          1/2         3/4         now
 *   |------------|------------|-----------|-----------|- - - - rest of the launch - - - -|
 *
 * At the end of each window, the sampler computes what four parts of the simulation predict for the
 * whole launch: its last half, the two quarters of this half, and the two quarters in its middle.
 * If the predicted hit ratios are almost equal, and the wanted part of the launch has been
 * simulated, the simulation stops. The rest of the launch is assumed to behave like the last half.
 * A launch whose predictions still differ after half of its accesses is simulated completely.
 *
 * Each instruction is extrapolated separately: the pace of the launch says how often warps execute
 * it. So it does not matter that the blocks of a wave execute the same instruction at about the
 * same time.
 *
 * Lines that the L2 evicts later may still be in it when the simulation stops. The sectors that are
 * written to memory are therefore estimated from the changed sectors and from the lines that the
 * whole launch allocates. docs/model/precision.md has the errors that were measured. */
#include "model/timed/timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Launches with fewer accesses are simulated completely. Chosen: this takes about a tenth of a
     * second, and such launches are often too short to become steady. */
    MIN_ACCESSES = 100000,
    /* Windows per 1/rate of the accesses. Chosen: the half and the quarters of the shortest
     * simulated part are whole windows. */
    WINDOWS = 16,
    MIN_WINDOWS = WINDOWS / 2, /* windows that are simulated at least */
    /* Blocks of a launch with at least MANY_WAVES waves start at the same time in the first one,
     * and are distributed evenly only after MIN_WAVES_X2 / 2 waves; chosen. */
    MANY_WAVES = 6,
    MIN_WAVES_X2 = 5,
    /* The expected error of a hit ratio is ERROR_FACTOR times the largest difference between the
     * predictions, plus MIN_ERROR. Calibrated on the workloads (docs/model/precision.md). */
    ERROR_FACTOR = 3
};
#define MIN_ERROR 0.013
/* Maximum difference of the predicted hit ratios. Chosen by experiment: with 0.5 points, more of
 * the workloads have an error of more than a point. */
#define MAX_DIFFERENCE 0.0025
/* Maximum ratio of the predicted sectors. Chosen: a level that receives few reads at the moment has
 * steady hit ratios, but may receive many again. */
#define MAX_RATIO 1.1
/* Maximum part of the accesses whose instructions have not been executed yet; chosen. */
#define MAX_UNSEEN 0.01

/* What a launch has done until the end of a window. */
struct snapshot {
    uint64_t accesses, ticks;
    struct fth_l2_use use;
    uint64_t *performed;                /* [instructions] accesses */
    struct fth_model_counts *l1;        /* [instructions + 1] */
    struct fth_l2_counts *l2;           /* [instructions + 1] */
    struct fth_model_misses *l1_misses; /* [instructions + 1]; 0 if they are not known */
};

struct fth_sampler {
    const struct fth_trace *trace;
    unsigned rate;
    size_t instructions;
    struct snapshot
        *snapshots; /* the ends of the windows of the launch; the first one: its start */
    size_t count, allocated, capacity;
    uint64_t accesses;   /* of the launch */
    uint64_t least;      /* accesses that are simulated at least */
    uint64_t next, step; /* end of the current window, and length of a window, in accesses */
    uint64_t *totals;    /* [instructions] accesses in the launch */
    uint64_t *warps;     /* [instructions][3] the same, by kind */
    bool has_totals;     /* they are known from the pace of the launch */
    double differences[FTH_MODEL_LEVELS];
};

enum fth_status fth_sampler_create(const struct fth_trace *trace, unsigned rate,
                                   struct fth_sampler **out, struct fth_error *error)
{
    struct fth_sampler *sampler = calloc(1, sizeof *sampler);
    *out = sampler;
    if (sampler) {
        sampler->trace = trace;
        sampler->rate = rate;
        sampler->instructions = fth_trace_instruction_count(trace);
        sampler->totals = calloc(sampler->instructions + 1, sizeof *sampler->totals);
        sampler->warps = calloc(3 * (sampler->instructions + 1), sizeof *sampler->warps);
    }
    if (sampler && sampler->totals && sampler->warps)
        return FTH_OK;
    fth_sampler_destroy(sampler);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

void fth_sampler_destroy(struct fth_sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; i < sampler->allocated; i++) {
        free(sampler->snapshots[i].performed);
        free(sampler->snapshots[i].l1);
        free(sampler->snapshots[i].l2);
        free(sampler->snapshots[i].l1_misses);
    }
    free(sampler->snapshots);
    free(sampler->totals);
    free(sampler->warps);
    free(sampler);
}

/* Reads from the pace how often the warps of a launch execute each instruction. */
static void find_totals(struct fth_sampler *sampler, size_t launch)
{
    const struct fth_pace *pace = fth_trace_pace(sampler->trace, launch);
    uint64_t sum = 0;
    memset(sampler->totals, 0, sampler->instructions * sizeof *sampler->totals);
    for (size_t i = 0; pace && i < pace->count; i++)
        if (pace->steps[i].to < sampler->instructions) {
            sampler->totals[pace->steps[i].to] += pace->steps[i].count;
            sum += pace->steps[i].count;
        }
    sampler->has_totals = sum == sampler->accesses;
}

void fth_sampler_begin(struct fth_sampler *sampler, size_t launch, uint64_t blocks, uint64_t slots)
{
    sampler->accesses = fth_trace_launch_at(sampler->trace, launch)->accesses;
    sampler->least = blocks / slots < MANY_WAVES
                         ? 0
                         : (uint64_t)((double)sampler->accesses * MIN_WAVES_X2 / 2 * (double)slots /
                                      (double)blocks);
    sampler->step = sampler->accesses / sampler->rate / WINDOWS;
    sampler->next = sampler->accesses < MIN_ACCESSES ? UINT64_MAX : 0;
    sampler->count = 0;
    find_totals(sampler, launch);
}

bool fth_sampler_is_due(const struct fth_sampler *sampler, uint64_t accesses)
{
    return accesses >= sampler->next;
}

/* ---- estimates ---- */

/* A part of the launch between two snapshots, and the rest after `now`. */
struct part {
    const struct snapshot *from, *to, *now;
};

static double extend(uint64_t from, uint64_t to, double by)
{
    return to > from ? (double)(to - from) * by : 0;
}

/* Returns what a count is at the end of the launch, if it continues `rest` times like the window
 * from `before` to `now`. */
static uint64_t extrapolate(uint64_t before, uint64_t now, double rest)
{
    return now + (uint64_t)llround(extend(before, now, rest));
}

/* Returns the length of the rest of the launch, relative to the part. */
static double find_rest(const struct fth_sampler *sampler, const struct part *part)
{
    if (part->now->accesses >= sampler->accesses || part->to->accesses <= part->from->accesses)
        return 0;
    return (double)(sampler->accesses - part->now->accesses) /
           (double)(part->to->accesses - part->from->accesses);
}

/* Returns the same for the accesses of one instruction. If the part has none of them, the rest is
 * relative to everything that has been simulated, and *part changes. */
static double find_rest_of(const struct fth_sampler *sampler, size_t i, struct part *part)
{
    if (!sampler->has_totals)
        return find_rest(sampler, part);
    const uint64_t done = part->now->performed[i], total = sampler->totals[i];
    if (part->to->performed[i] <= part->from->performed[i]) {
        part->from = &sampler->snapshots[0];
        part->to = part->now;
    }
    const uint64_t length = part->to->performed[i] - part->from->performed[i];
    return total > done && length ? (double)(total - done) / (double)length : 0;
}

static const struct fth_model_counts *counts_of(const struct snapshot *snapshot, int level,
                                                size_t i)
{
    return level == FTH_MODEL_L1 ? &snapshot->l1[i] : &snapshot->l2[i].counts;
}

/* Predicts the sectors of all reads in a level, and their hits. */
static void predict(const struct fth_sampler *sampler, int level, const struct part *part,
                    double *sectors, double *hits)
{
    *sectors = *hits = 0;
    for (size_t i = 0; i < sampler->instructions; i++) {
        struct part own = *part;
        const double rest = find_rest_of(sampler, i, &own);
        const struct fth_model_counts *from = counts_of(own.from, level, i),
                                      *to = counts_of(own.to, level, i),
                                      *now = counts_of(own.now, level, i);
        *sectors += (double)now->sectors[FTH_TRACE_READ] +
                    extend(from->sectors[FTH_TRACE_READ], to->sectors[FTH_TRACE_READ], rest);
        *hits += (double)now->hits[FTH_TRACE_READ] +
                 extend(from->hits[FTH_TRACE_READ], to->hits[FTH_TRACE_READ], rest);
    }
}

/* The snapshot after the given part of the simulated windows. */
static const struct snapshot *snapshot_at(const struct fth_sampler *sampler, size_t quarters)
{
    return &sampler->snapshots[(sampler->count - 1) * quarters / 4];
}

static struct part last_half(const struct fth_sampler *sampler)
{
    const struct snapshot *now = snapshot_at(sampler, 4);
    return (struct part){snapshot_at(sampler, 2), now, now};
}

/* Whether almost all accesses of the launch are of instructions that have been executed. */
static bool is_complete(const struct fth_sampler *sampler)
{
    const struct snapshot *now = snapshot_at(sampler, 4);
    uint64_t unseen = 0;
    for (size_t i = 0; sampler->has_totals && i < sampler->instructions; i++)
        unseen += now->performed[i] ? 0 : sampler->totals[i];
    return (double)unseen <= MAX_UNSEEN * (double)sampler->accesses;
}

/* Compares what the parts of the simulation predict. */
static bool is_steady(struct fth_sampler *sampler)
{
    const struct snapshot *const at[] = {snapshot_at(sampler, 0), snapshot_at(sampler, 1),
                                         snapshot_at(sampler, 2), snapshot_at(sampler, 3),
                                         snapshot_at(sampler, 4)};
    const struct part parts[] = {
        {at[2], at[4], at[4]}, {at[2], at[3], at[4]}, {at[3], at[4], at[4]}, {at[1], at[3], at[4]}};
    bool steady = true;
    for (int level = 0; level < FTH_MODEL_LEVELS; level++) {
        double ratios[2] = {1, 0}, all[2] = {INFINITY, 0};
        for (size_t i = 0; i < FTH_COUNT(parts); i++) {
            double sectors, hits;
            predict(sampler, level, &parts[i], &sectors, &hits);
            const double ratio = sectors > 0 ? hits / sectors : 0;
            ratios[0] = fmin(ratios[0], ratio);
            ratios[1] = fmax(ratios[1], ratio);
            all[0] = fmin(all[0], sectors);
            all[1] = fmax(all[1], sectors);
        }
        sampler->differences[level] = ratios[1] - ratios[0];
        steady =
            steady && sampler->differences[level] < MAX_DIFFERENCE && all[1] <= MAX_RATIO * all[0];
    }
    return steady;
}

/* ---- windows ---- */

/* Returns the snapshot after the last one. NULL: no memory. */
static struct snapshot *add_snapshot(struct fth_sampler *sampler)
{
    const size_t rows = sampler->instructions + 1;
    if (sampler->count < sampler->allocated)
        return &sampler->snapshots[sampler->count++];
    if (!fth_grow((void **)&sampler->snapshots, sampler->allocated, &sampler->capacity,
                  sizeof *sampler->snapshots))
        return NULL;
    struct snapshot *snapshot = &sampler->snapshots[sampler->allocated++];
    *snapshot = (struct snapshot){.performed = calloc(rows, sizeof *snapshot->performed),
                                  .l1 = calloc(rows, sizeof *snapshot->l1),
                                  .l2 = calloc(rows, sizeof *snapshot->l2),
                                  .l1_misses = calloc(rows, sizeof *snapshot->l1_misses)};
    if (!snapshot->performed || !snapshot->l1 || !snapshot->l2 || !snapshot->l1_misses)
        return NULL;
    sampler->count++;
    return snapshot;
}

enum fth_status fth_sampler_mark(struct fth_sampler *sampler, const struct fth_sample_state *state,
                                 bool *enough, struct fth_error *error)
{
    const size_t rows = sampler->instructions + 1;
    struct snapshot *snapshot = add_snapshot(sampler);
    *enough = false;
    if (!snapshot)
        return fth_no_memory(error, "model caches", NULL);
    snapshot->accesses = state->accesses;
    snapshot->ticks = state->ticks;
    snapshot->use = state->use;
    memcpy(snapshot->performed, state->performed,
           sampler->instructions * sizeof *snapshot->performed);
    memcpy(snapshot->l1, state->l1, rows * sizeof *snapshot->l1);
    memcpy(snapshot->l2, state->l2, rows * sizeof *snapshot->l2);
    if (state->l1_misses)
        memcpy(snapshot->l1_misses, state->l1_misses, rows * sizeof *snapshot->l1_misses);
    sampler->next =
        state->accesses < sampler->accesses / 2 ? sampler->next + sampler->step : UINT64_MAX;
    *enough = sampler->count > MIN_WINDOWS && state->accesses >= sampler->least &&
              is_complete(sampler) && is_steady(sampler);
    return FTH_OK;
}

/* ---- the estimate ---- */

static uint64_t *counts_at(struct fth_model_counts *counts, size_t i)
{
    uint64_t *const arrays[] = {counts->requests, counts->sectors, counts->hits, counts->merges};
    return arrays[i];
}

static void extrapolate_counts(const struct fth_model_counts *before,
                               const struct fth_model_counts *now, double rest,
                               struct fth_model_counts *result)
{
    struct fth_model_counts from = *before, to = *now;
    for (size_t i = 0; i < 4; i++)
        for (int kind = 0; kind < 3; kind++)
            counts_at(result, i)[kind] =
                extrapolate(counts_at(&from, i)[kind], counts_at(&to, i)[kind], rest);
}

static uint64_t *cause_at(struct fth_model_misses *misses, size_t i)
{
    uint64_t *const causes[] = {&misses->cold, &misses->capacity, &misses->conflict,
                                &misses->coherence, &misses->sector};
    return causes[i];
}
enum { CAUSES = 5 };

/* Estimates the causes of the misses that `whole`, the estimated counts, has. The further misses
 * have the causes of those of the window, in the same proportions. The sum is exact. */
static void extrapolate_misses(const struct fth_model_misses *before,
                               const struct fth_model_misses *now,
                               const struct fth_model_counts *whole,
                               struct fth_model_misses *result)
{
    struct fth_model_misses from = *before, to = *now;
    uint64_t known = 0, window = 0, passed = 0, given = 0;
    for (size_t i = 0; i < CAUSES; i++) {
        known += *cause_at(&to, i);
        window += *cause_at(&to, i) - *cause_at(&from, i);
    }
    const uint64_t all = whole->sectors[FTH_TRACE_READ] - whole->hits[FTH_TRACE_READ];
    const uint64_t further = window && all > known ? all - known : 0;
    for (size_t i = 0; i < CAUSES; i++) {
        passed += *cause_at(&to, i) - *cause_at(&from, i);
        const uint64_t until = window ? (uint64_t)((fth_wide_word)further * passed / window) : 0;
        *cause_at(result, i) = *cause_at(&to, i) + until - given;
        given = until;
    }
}

/* Returns the sectors that the whole launch writes to memory. Once the L2 is full, each allocated
 * line evicts another one. All changed sectors are therefore written except those of the last
 * lines, which still fit in the L2. */
static uint64_t estimate_writes(const struct snapshot *before, const struct snapshot *now,
                                size_t instructions, double rest)
{
    const uint64_t old = before->l2[instructions].dram_writes;
    const uint64_t written = now->l2[instructions].dram_writes;
    const double allocated =
        (double)extrapolate(before->use.allocated_lines, now->use.allocated_lines, rest);
    const double changed = (double)extrapolate(before->use.dirty_sectors + old,
                                               now->use.dirty_sectors + written, rest);
    const double evicted = 1 - (double)now->use.lines / allocated;
    const uint64_t continued = extrapolate(old, written, rest);
    const uint64_t full = evicted > 0 ? (uint64_t)llround(changed * evicted) : 0;
    return full > continued ? full : continued;
}

/* Returns the expected error of the hits of a level, in sectors. */
static double find_error(const struct fth_sampler *sampler, int level)
{
    const struct part half = last_half(sampler);
    double sectors, hits;
    predict(sampler, level, &half, &sectors, &hits);
    return (MIN_ERROR + ERROR_FACTOR * sampler->differences[level]) * sectors;
}

/* Sets how many accesses of each instruction the launch has. */
static void estimate_warps(const struct fth_sampler *sampler, const struct snapshot *now)
{
    const double rest = (double)(sampler->accesses - now->accesses) / (double)now->accesses;
    memset(sampler->warps, 0, 3 * sampler->instructions * sizeof *sampler->warps);
    for (size_t i = 0; i < sampler->instructions; i++)
        sampler->warps[3 * i + (size_t)fth_trace_instruction_at(sampler->trace, i)->kind] =
            sampler->has_totals ? sampler->totals[i] : extrapolate(0, now->performed[i], rest);
}

void fth_sampler_estimate(const struct fth_sampler *sampler, struct fth_launch_estimate *launch)
{
    const struct part half = last_half(sampler);
    const struct snapshot *now = half.now;
    const double rest_of_all = find_rest(sampler, &half);
    const size_t count = sampler->instructions;
    for (size_t i = 0; i <= count; i++) {
        struct part part = half;
        const double rest = i < count ? find_rest_of(sampler, i, &part) : rest_of_all;
        const struct snapshot *before = part.from;
        struct fth_l2_counts *l2 = &launch->l2[i];
        extrapolate_counts(&before->l1[i], &now->l1[i], rest, &launch->l1[i]);
        extrapolate_counts(&before->l2[i].counts, &now->l2[i].counts, rest, &l2->counts);
        if (launch->l1_misses)
            extrapolate_misses(&before->l1_misses[i], &now->l1_misses[i], &launch->l1[i],
                               &launch->l1_misses[i]);
        if (launch->l1_misses)
            extrapolate_misses(&before->l2[i].misses, &now->l2[i].misses, &l2->counts, &l2->misses);
        l2->far_hits = extrapolate(before->l2[i].far_hits, now->l2[i].far_hits, rest);
        l2->dram_reads = extrapolate(before->l2[i].dram_reads, now->l2[i].dram_reads, rest);
        l2->dram_writes = extrapolate(before->l2[i].dram_writes, now->l2[i].dram_writes, rest);
    }
    launch->l2[count].dram_writes = estimate_writes(half.from, now, count, rest_of_all);
    estimate_warps(sampler, now);
    launch->warps = sampler->warps;
    launch->ticks = extrapolate(half.from->ticks, now->ticks, rest_of_all);
    launch->l1_error = find_error(sampler, FTH_MODEL_L1);
    launch->l2_error = find_error(sampler, FTH_MODEL_L2);
}
