/* Sampling: simulates the beginning of a launch, and estimates the counts of the whole launch.
 *
 *   start  window  window  rest
 *   |-----|-------|-------|- - - - - - - - - - - - - - - - -|
 *                         stop
 *
 * The launch is divided into windows. At the end of each window, the sampler compares the hit
 * ratios that this window and the one before it predict for the whole launch. If they are almost
 * equal, and the wanted part of the launch has been simulated, the simulation stops. The rest of
 * the launch is assumed to behave like the last window. A launch whose windows always differ is
 * simulated completely.
 *
 * If all blocks of a launch run at the same time, a window is a number of accesses. Otherwise it is
 * a number of waves of blocks, because blocks of a wave do the same at the same time: the
 * instructions of a part of a wave are not those of the whole kernel.
 *
 * Lines that the L2 evicts later may still be in it when the simulation stops. The sectors that are
 * written to memory are therefore estimated from the changed sectors and from the lines that the
 * whole launch allocates. docs/model/precision.md has the errors that were measured. */
#include "model/timed/timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Launches with fewer accesses are simulated completely. Chosen: this takes less than half a
     * second, and such launches are often too short to become steady. */
    MIN_ACCESSES = 400000,
    MIN_WAVES = 6, /* minimum number of waves for windows that consist of waves; chosen */
    SNAPSHOTS = 3, /* the start of the window before the last, and the ends of the last two */
    /* The expected error of a hit ratio is ERROR_FACTOR times the difference between the windows,
     * plus MIN_ERROR. Calibrated on the workloads (docs/model/precision.md), so that at most one of
     * 20 kernels has a larger error. */
    ERROR_FACTOR = 3
};
#define MIN_ERROR 0.01
/* Maximum difference of the hit ratios that two windows predict. Chosen: half of MIN_ERROR. */
#define MAX_DIFFERENCE 0.005

/* What a launch has done until the end of a window. */
struct snapshot {
    uint64_t accesses, ticks, loaded;
    struct fth_l2_use use;
    struct fth_model_counts *l1;        /* [instructions + 1] */
    struct fth_l2_counts *l2;           /* [instructions + 1] */
    uint64_t *warps;                    /* [instructions][3] */
    struct fth_model_misses *l1_misses; /* [instructions + 1]; 0 if they are not known */
};

struct fth_sampler {
    unsigned rate;
    size_t instructions;
    struct snapshot snapshots[SNAPSHOTS]; /* the last one is the newest */
    size_t count;                         /* snapshots so far */
    uint64_t accesses;                    /* of the launch */
    bool by_blocks;
    uint64_t next, step; /* end of the current window, and length of a window, in blocks if
                          * by_blocks, otherwise in accesses */
    double differences[FTH_MODEL_LEVELS];
};

enum fth_status fth_sampler_create(unsigned rate, size_t instructions, struct fth_sampler **out,
                                   struct fth_error *error)
{
    struct fth_sampler *sampler = calloc(1, sizeof *sampler);
    bool ok = sampler != NULL;
    for (size_t i = 0; ok && i < SNAPSHOTS; i++) {
        struct snapshot *snapshot = &sampler->snapshots[i];
        snapshot->l1 = calloc(instructions + 1, sizeof *snapshot->l1);
        snapshot->l2 = calloc(instructions + 1, sizeof *snapshot->l2);
        snapshot->warps = calloc(3 * (instructions + 1), sizeof *snapshot->warps);
        snapshot->l1_misses = calloc(instructions + 1, sizeof *snapshot->l1_misses);
        ok = snapshot->l1 && snapshot->l2 && snapshot->warps && snapshot->l1_misses;
    }
    *out = ok ? sampler : NULL;
    if (!ok) {
        fth_sampler_destroy(sampler);
        return fth_no_memory(error, "model caches", NULL);
    }
    sampler->rate = rate;
    sampler->instructions = instructions;
    return FTH_OK;
}

void fth_sampler_destroy(struct fth_sampler *sampler)
{
    for (size_t i = 0; sampler && i < SNAPSHOTS; i++) {
        free(sampler->snapshots[i].l1);
        free(sampler->snapshots[i].l2);
        free(sampler->snapshots[i].warps);
        free(sampler->snapshots[i].l1_misses);
    }
    free(sampler);
}

void fth_sampler_begin(struct fth_sampler *sampler, uint64_t accesses, uint64_t blocks,
                       uint64_t slots)
{
    const uint64_t windows = UINT64_C(2) * sampler->rate;
    sampler->accesses = accesses;
    sampler->count = 0;
    sampler->by_blocks = blocks / slots >= MIN_WAVES;
    if (sampler->by_blocks) {
        const uint64_t waves = blocks / slots / windows;
        sampler->step = (waves ? waves : 1) * slots;
        sampler->next = 2 * slots; /* when the blocks after the first wave have started */
    } else {
        sampler->step = accesses / windows;
        sampler->next = sampler->step;
    }
    if (accesses < MIN_ACCESSES)
        sampler->next = UINT64_MAX;
}

bool fth_sampler_is_due(const struct fth_sampler *sampler, uint64_t accesses, uint64_t blocks)
{
    return (sampler->by_blocks ? blocks : accesses) >= sampler->next;
}

/* ---- estimates ---- */

/* Returns what a count is at the end of the launch, if the rest of it continues like the window
 * from `before` to `now`. `rest` is the length of the rest in windows. */
static uint64_t extrapolate(uint64_t before, uint64_t now, double rest)
{
    return now > before ? now + (uint64_t)llround((double)(now - before) * rest) : now;
}

static double find_rest(const struct fth_sampler *sampler, const struct snapshot *before,
                        const struct snapshot *now)
{
    if (now->accesses >= sampler->accesses || now->accesses <= before->accesses)
        return 0;
    return (double)(sampler->accesses - now->accesses) / (double)(now->accesses - before->accesses);
}

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

/* Sums the reads of all instructions in a level. */
static void sum_reads(const struct fth_sampler *sampler, const struct snapshot *snapshot, int level,
                      double *sectors, double *hits)
{
    *sectors = *hits = 0;
    for (size_t i = 0; i < sampler->instructions; i++) {
        const struct fth_model_counts *counts =
            level == FTH_MODEL_L1 ? &snapshot->l1[i] : &snapshot->l2[i].counts;
        *sectors += (double)counts->sectors[FTH_TRACE_READ];
        *hits += (double)counts->hits[FTH_TRACE_READ];
    }
}

/* Returns the hit ratio of all reads in a level that a window predicts; 0 without reads. */
static double predict_ratio(const struct fth_sampler *sampler, int level,
                            const struct snapshot *before, const struct snapshot *now)
{
    double sectors[2], hits[2];
    const double rest = find_rest(sampler, before, now);
    sum_reads(sampler, before, level, &sectors[0], &hits[0]);
    sum_reads(sampler, now, level, &sectors[1], &hits[1]);
    const double all = sectors[1] + (sectors[1] - sectors[0]) * rest;
    return all > 0 ? (hits[1] + (hits[1] - hits[0]) * rest) / all : 0;
}

/* Compares the last two windows. */
static bool is_steady(struct fth_sampler *sampler)
{
    const struct snapshot *first = &sampler->snapshots[0];
    bool steady = true;
    if (first[1].accesses <= first[0].accesses || first[2].accesses <= first[1].accesses)
        return false;
    for (int level = 0; level < FTH_MODEL_LEVELS; level++) {
        sampler->differences[level] = fabs(predict_ratio(sampler, level, &first[1], &first[2]) -
                                           predict_ratio(sampler, level, &first[0], &first[1]));
        steady = steady && sampler->differences[level] < MAX_DIFFERENCE;
    }
    return steady;
}

bool fth_sampler_mark(struct fth_sampler *sampler, const struct fth_sample_state *state)
{
    struct snapshot oldest = sampler->snapshots[0];
    memmove(&sampler->snapshots[0], &sampler->snapshots[1],
            (SNAPSHOTS - 1) * sizeof *sampler->snapshots);
    oldest.accesses = state->accesses;
    oldest.ticks = state->ticks;
    oldest.loaded = state->loaded;
    oldest.use = state->use;
    memcpy(oldest.l1, state->l1, (sampler->instructions + 1) * sizeof *oldest.l1);
    memcpy(oldest.l2, state->l2, (sampler->instructions + 1) * sizeof *oldest.l2);
    if (state->l1_misses)
        memcpy(oldest.l1_misses, state->l1_misses,
               (sampler->instructions + 1) * sizeof *oldest.l1_misses);
    memcpy(oldest.warps, state->warps, 3 * sampler->instructions * sizeof *oldest.warps);
    sampler->snapshots[SNAPSHOTS - 1] = oldest;
    sampler->next += sampler->step;
    return ++sampler->count >= SNAPSHOTS && state->accesses >= sampler->accesses / sampler->rate &&
           is_steady(sampler);
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
static double find_error(const struct fth_sampler *sampler, int level, const struct snapshot *now,
                         double rest)
{
    const struct snapshot *before = now - 1;
    double sectors[2], hits[2];
    sum_reads(sampler, before, level, &sectors[0], &hits[0]);
    sum_reads(sampler, now, level, &sectors[1], &hits[1]);
    const double all = sectors[1] + (sectors[1] - sectors[0]) * rest;
    return (MIN_ERROR + ERROR_FACTOR * sampler->differences[level]) * all;
}

void fth_sampler_estimate(struct fth_sampler *sampler, struct fth_model_counts *l1,
                          struct fth_l2_counts *l2, struct fth_sample_estimate *estimate)
{
    const struct snapshot *now = &sampler->snapshots[SNAPSHOTS - 1], *before = now - 1;
    const double rest = find_rest(sampler, before, now);
    const size_t count = sampler->instructions;
    /* The streams load accesses of many blocks ahead, so that there may be none in a window. */
    const double unread = (double)(sampler->accesses - now->loaded) / (double)now->loaded;
    for (size_t i = 0; i <= count; i++) {
        extrapolate_counts(&before->l1[i], &now->l1[i], rest, &l1[i]);
        extrapolate_counts(&before->l2[i].counts, &now->l2[i].counts, rest, &l2[i].counts);
        if (estimate->l1_misses)
            extrapolate_misses(&before->l1_misses[i], &now->l1_misses[i], &l1[i],
                               &estimate->l1_misses[i]);
        if (estimate->l1_misses)
            extrapolate_misses(&before->l2[i].misses, &now->l2[i].misses, &l2[i].counts,
                               &l2[i].misses);
        l2[i].far_hits = extrapolate(before->l2[i].far_hits, now->l2[i].far_hits, rest);
        l2[i].dram_reads = extrapolate(before->l2[i].dram_reads, now->l2[i].dram_reads, rest);
        l2[i].dram_writes = extrapolate(before->l2[i].dram_writes, now->l2[i].dram_writes, rest);
        for (size_t kind = 0; kind < 3 && i < count; kind++)
            now->warps[3 * i + kind] = extrapolate(0, now->warps[3 * i + kind], unread);
    }
    l2[count].dram_writes = estimate_writes(before, now, count, rest);
    estimate->warps = now->warps;
    estimate->ticks = extrapolate(before->ticks, now->ticks, rest);
    estimate->simulated = now->accesses;
    estimate->l1_error = find_error(sampler, FTH_MODEL_L1, now, rest);
    estimate->l2_error = find_error(sampler, FTH_MODEL_L2, now, rest);
}
