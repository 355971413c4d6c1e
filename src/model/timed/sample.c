/* Sampling: simulates one of N lines, and estimates the counts of all lines from them. The method
 * is that of C. Waldspurger et al., "Efficient MRC Construction with SHARDS" (FAST 2015): a hash of
 * the line selects it, so that a line is simulated with all its accesses or not at all, and the
 * caches are smaller by the same rate. docs/model/precision.md has the errors that were measured.
 *
 *   lines     The hash consists of XORs of bits of the line number. Its classes are unions of rows
 *             of an L1 with the policy "clock" (cache/clock.c), so that these rows behave as in the
 *             whole L1. The lines of an aligned array are distributed evenly among the classes.
 *   counts    The sectors that the L1 receives are counted exactly, because this needs no cache.
 *             Misses, and all that follows from them, are multiplied by N. So an access of many
 *             warps to a few lines that hit adds no error (SHARDS-adj in the paper).
 *   times     A warp does not stop at an access without simulated lines. It continues after the
 *             average latency of earlier accesses of the same instruction. Each simulated line
 *             occupies ports and bandwidths N times as long.
 *   errors    The simulated lines are divided into groups. The spread of the misses among these
 *             groups is the error to be expected.
 *
 * Most accesses of an instruction have the same pattern of lanes, shifted by a multiple of the line
 * size. The lines of such a pattern are computed once. */
#include "model/timed/timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BITS = 7, /* of the rows of a set of the policy "clock" by default: 128 */
    /* A smaller cache has fewer sets if at least MIN_SETS remain, and otherwise fewer ways, of
     * which at least MIN_WAYS must remain. Chosen: with fewer, it differs too much from the whole
     * cache.
     */
    MIN_SETS = 16,
    MIN_WAYS = 2,
    /* Lines of a set that the policy "clock" does not use on average, because it evicts five lines
     * at a time (cache/clock.c). A smaller set has as many, so it needs that many more. */
    CLOCK_FREE_LINES = 4,
    CHOSEN_CLASS = 21, /* the class of lines that is simulated, modulo N; chosen */
    LATENCY_SHIFT = 5, /* a new latency changes the average by 1/32; chosen */
    ONE_SHIFT = 16,
    ONE = 1 << ONE_SHIFT
};

/* Average latencies of an instruction, in ticks; 0: unknown. */
struct latency {
    uint64_t hit, miss;
    uint64_t missing; /* part of its accesses that miss or wait for an earlier miss, 0 to ONE */
    uint64_t average; /* of all accesses */
};

struct fth_sampler {
    uint64_t rate; /* N */
    unsigned rate_shift, row_shift;
    uint64_t simulated[2];             /* one bit per folded number of a line */
    struct fth_shape shape;            /* of the L1 */
    struct fth_line_pattern *patterns; /* [instructions] the last pattern of each instruction */
    struct fth_line_pattern scratch;   /* of an access whose pattern is not kept */
    struct fth_line_requests requests;
    struct latency *latencies; /* [instructions] */
    uint64_t first_latency;
    bool missed, waited;             /* what the reads of the current access have found */
    struct fth_model_counts *totals; /* [instructions] sectors and requests of all lines */
    size_t instructions;
    struct fth_sample_groups groups[FTH_MODEL_LEVELS];
};

/* ---- lines ---- */

/* Folds the number of a line to the bits of a row. */
static inline uint64_t fold(const struct fth_sampler *sampler, uint64_t line)
{
    uint64_t number = line >> sampler->row_shift;
    for (unsigned step = ROW_BITS; step < 64; step *= 2)
        number ^= number >> step;
    return number & ((1u << ROW_BITS) - 1);
}

static inline bool is_simulated(const struct fth_sampler *sampler, uint64_t line)
{
    const uint64_t number = fold(sampler, line);
    return sampler->simulated[number / 64] >> (number % 64) & 1;
}

/* Selects the folded numbers of lines that are simulated: those that give CHOSEN_CLASS when they
 * are folded further, to the bits of the rate. */
static void choose_lines(struct fth_sampler *sampler)
{
    for (unsigned i = 0; i < 1u << ROW_BITS; i++) {
        unsigned number = i;
        for (unsigned step = sampler->rate_shift; step < ROW_BITS; step *= 2)
            number ^= number >> step;
        if (((number ^ CHOSEN_CLASS) & (sampler->rate - 1)) == 0)
            sampler->simulated[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* ---- creation ---- */

/* Makes a cache smaller. */
static enum fth_status shrink(struct fth_shape *shape, uint64_t rate, const char *name,
                              struct fth_error *error)
{
    const bool by_ways = shape->sets < MIN_SETS * rate;
    if (strncmp(shape->index, "bits", 4) == 0 && !by_ways)
        return fth_fail(error, FTH_INVALID, "model caches", name,
                        "sampling is not possible with an index of address bits");
    if (by_ways && shape->lines / shape->sets < MIN_WAYS * rate)
        return fth_fail(error, FTH_INVALID, "model caches", name,
                        "the cache is too small to simulate one of %llu lines",
                        (unsigned long long)rate);
    if (by_ways) {
        const bool clock = strcmp(shape->policy, "clock") == 0;
        shape->lines = shape->lines / rate + (clock ? CLOCK_FREE_LINES * shape->sets : 0);
    } else {
        const uint64_t lines_per_set = shape->lines / shape->sets;
        shape->sets /= rate;
        shape->lines = shape->sets * lines_per_set;
    }
    shape->ways = (shape->lines + shape->sets - 1) / shape->sets;
    return FTH_OK;
}

enum fth_status fth_sample_shrink(struct fth_setting *setting, unsigned rate,
                                  struct fth_error *error)
{
    FTH_TRY(shrink(&setting->l1, rate, "l1.index", error));
    return shrink(&setting->l2, rate, "l2.index", error);
}

void fth_sample_slow_down(struct fth_timing *timing, unsigned rate)
{
    timing->port *= rate;
    timing->l2_sector *= rate;
    timing->mem_sector *= rate;
}

enum fth_status fth_sampler_create(unsigned rate, size_t instructions, struct fth_sampler **out,
                                   struct fth_error *error)
{
    struct fth_sampler *sampler = calloc(1, sizeof *sampler);
    *out = sampler;
    if (!sampler)
        return fth_no_memory(error, "model caches", NULL);
    sampler->rate = rate;
    sampler->rate_shift = (unsigned)__builtin_ctz(rate);
    sampler->instructions = instructions;
    sampler->patterns = calloc(instructions + 1, sizeof *sampler->patterns);
    sampler->latencies = calloc(instructions + 1, sizeof *sampler->latencies);
    sampler->totals = calloc(instructions + 1, sizeof *sampler->totals);
    if (sampler->patterns && sampler->latencies && sampler->totals)
        return FTH_OK;
    fth_sampler_destroy(sampler);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

static void free_pattern(struct fth_line_pattern *pattern)
{
    free(pattern->lines);
    free(pattern->runs);
    *pattern = (struct fth_line_pattern){0};
}

void fth_sampler_destroy(struct fth_sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; sampler->patterns && i < sampler->instructions; i++)
        free_pattern(&sampler->patterns[i]);
    free_pattern(&sampler->scratch);
    fth_line_requests_fini(&sampler->requests);
    free(sampler->patterns);
    free(sampler->latencies);
    free(sampler->totals);
    free(sampler);
}

void fth_sampler_begin(struct fth_sampler *sampler, const struct fth_setting *setting,
                       const struct fth_timing *timing)
{
    const uint64_t sets = setting->l1.sets;
    sampler->shape = setting->l1;
    choose_lines(sampler);
    sampler->row_shift =
        setting->l1.line_shift + (sets & (sets - 1) ? 0 : (unsigned)__builtin_ctzll(sets));
    sampler->first_latency = 2 * (timing->to_join + timing->to_l2) + timing->to_memory;
    memset(sampler->latencies, 0, sampler->instructions * sizeof *sampler->latencies);
    memset(sampler->totals, 0, sampler->instructions * sizeof *sampler->totals);
    memset(sampler->groups, 0, sizeof sampler->groups);
}

/* ---- patterns ---- */

/* Copies the requests of an access to a pattern, relative to the line of its first lane. */
static bool set_pattern(struct fth_line_pattern *pattern, const struct fth_shape *shape,
                        const struct fth_line_requests *requests, uint64_t base)
{
    while (pattern->line_capacity < requests->count || pattern->run_capacity < requests->run_count)
        if (!fth_grow((void **)&pattern->lines, pattern->line_capacity, &pattern->line_capacity,
                      sizeof *pattern->lines) ||
            !fth_grow((void **)&pattern->runs, pattern->run_capacity, &pattern->run_capacity,
                      sizeof *pattern->runs))
            return false;
    pattern->sectors = 0;
    pattern->line_count = (uint32_t)requests->count;
    for (size_t i = 0; i < requests->count; i++) {
        const struct fth_line_request *request = &requests->items[i];
        const bool whole = fth_is_whole_request(shape, request, requests->runs);
        pattern->lines[i] =
            (struct fth_timed_line){.line = request->line - base,
                                    .sectors = (uint32_t)request->sectors,
                                    .run = (uint16_t)request->run,
                                    .run_count = (uint8_t)(whole ? 0 : request->run_count),
                                    .flags = request->flags};
        pattern->sectors += (uint32_t)__builtin_popcountll(request->sectors);
    }
    memcpy(pattern->runs, requests->runs, requests->run_count * sizeof *pattern->runs);
    return true;
}

const struct fth_line_pattern *fth_sampler_find(struct fth_sampler *sampler,
                                                const struct fth_compact_access *access,
                                                const struct fth_trace_instruction *instruction)
{
    const uint64_t start = access->first & (sampler->shape.line_bytes - 1);
    const uint64_t step = access->threads > 1 ? access->steps[0] : 0;
    /* The requests of a texture also depend on which lanes take part. */
    const bool known = access->affine && !(instruction->hints & FTH_TRACE_TEXTURE);
    struct fth_line_pattern *pattern =
        known ? &sampler->patterns[access->instruction] : &sampler->scratch;
    if (!known || !pattern->line_count || pattern->start != start || pattern->step != step ||
        pattern->threads != access->threads) {
        fth_line_requests_clear(&sampler->requests);
        fth_coalesce(&sampler->requests, &sampler->shape, access, instruction);
        if (sampler->requests.failed ||
            !set_pattern(pattern, &sampler->shape, &sampler->requests, access->first - start))
            return NULL;
        pattern->start = start;
        pattern->step = step;
        pattern->threads = access->threads;
    }
    struct fth_model_counts *totals = &sampler->totals[access->instruction];
    totals->requests[instruction->kind] += pattern->line_count;
    totals->sectors[instruction->kind] += pattern->sectors;
    return pattern;
}

uint32_t fth_sampler_count_lines(const struct fth_sampler *sampler,
                                 const struct fth_line_pattern *pattern, uint64_t first,
                                 uint32_t *run_count)
{
    const uint64_t base = first - pattern->start;
    uint32_t count = 0;
    *run_count = 0;
    for (uint32_t i = 0; i < pattern->line_count; i++)
        if (is_simulated(sampler, base + pattern->lines[i].line)) {
            *run_count += pattern->lines[i].run_count;
            count++;
        }
    return count;
}

void fth_sampler_copy_lines(const struct fth_sampler *sampler,
                            const struct fth_line_pattern *pattern, uint64_t first,
                            struct fth_timed_access *access)
{
    const uint64_t base = first - pattern->start;
    struct fth_cache_run *runs =
        (struct fth_cache_run *)(void *)(access->lines + access->line_count);
    uint32_t count = 0, run_count = 0;
    for (uint32_t i = 0; i < pattern->line_count && count < access->line_count; i++) {
        const struct fth_timed_line *from = &pattern->lines[i];
        if (!is_simulated(sampler, base + from->line))
            continue;
        struct fth_timed_line *to = &access->lines[count++];
        *to = *from;
        to->line += base;
        to->run = (uint16_t)run_count;
        for (uint32_t k = 0; k < from->run_count; k++)
            runs[run_count++] = pattern->runs[from->run + k];
    }
}

/* ---- times ---- */

/* Changes an average by a part of the difference to a new value. */
static void average(uint64_t *old, uint64_t value)
{
    const int64_t change = (int64_t)value - (int64_t)*old;
    *old = *old ? (uint64_t)((int64_t)*old + change / (1 << LATENCY_SHIFT)) : value;
}

void fth_sampler_observe(struct fth_sampler *sampler, uint32_t instruction, uint64_t latency)
{
    struct latency *known = &sampler->latencies[instruction];
    const bool waited = sampler->missed || sampler->waited;
    /* Warps that wait for the same miss go on together. The time of each of them from miss to miss
     * is that of the whole miss, so a wait for a part of it is not averaged. */
    if (sampler->missed)
        average(&known->miss, latency);
    else if (!waited)
        average(&known->hit, latency);
    if (!known->average)
        known->missing = waited ? ONE : 0;
    known->missing += waited ? (ONE - known->missing) >> LATENCY_SHIFT : 0;
    known->missing -= waited ? 0 : known->missing >> LATENCY_SHIFT;
    const uint64_t miss = known->miss ? known->miss : latency;
    const uint64_t hit = known->hit ? known->hit : latency;
    known->average = (miss * known->missing + hit * (ONE - known->missing)) >> ONE_SHIFT;
    sampler->missed = sampler->waited = false;
}

void fth_skip_advance(struct fth_skip *skip, const struct fth_timed_access *step, uint64_t issue)
{
    const uint64_t issuing = step->gap * issue;
    const uint64_t latency = (uint64_t)step->latency << FTH_CYCLE_SHIFT;
    uint8_t kept = 0;
    skip->issued += step->gap;
    skip->gap += step->gap;
    skip->shared += step->shared;
    skip->barriers += step->barrier;
    skip->elapsed += issuing > latency ? issuing : latency;
    for (uint8_t i = 0; i < skip->load_count; i++) {
        const struct fth_skipped_load *load = &skip->loads[i];
        const int32_t after = (int32_t)(skip->issued - load->needed);
        if (after < 0) {
            skip->loads[kept++] = *load;
            continue;
        }
        const uint64_t at = load->ready + (uint32_t)after * issue;
        skip->elapsed = at > skip->elapsed ? at : skip->elapsed;
    }
    skip->load_count = kept;
}

void fth_skip_load(struct fth_skip *skip, const struct fth_sampler *sampler, uint32_t instruction,
                   uint32_t wait)
{
    const uint64_t known = sampler->latencies[instruction].average;
    const uint64_t latency = known ? known : sampler->first_latency;
    const struct fth_skipped_load load = {skip->issued + wait, skip->elapsed + latency};
    if (skip->load_count < FTH_SKIPPED_LOADS) {
        skip->loads[skip->load_count++] = load;
        return;
    }
    struct fth_skipped_load *last = &skip->loads[FTH_SKIPPED_LOADS - 1];
    if ((int32_t)(load.needed - last->needed) < 0)
        last->needed = load.needed;
    last->ready = load.ready > last->ready ? load.ready : last->ready;
}

void fth_skip_take(struct fth_skip *skip, struct fth_timed_access *access)
{
    const uint64_t cycles = skip->elapsed >> FTH_CYCLE_SHIFT;
    access->gap = skip->gap;
    access->latency = cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
    access->shared = (uint16_t)(skip->shared < UINT16_MAX ? skip->shared : UINT16_MAX);
    access->barrier = skip->barriers != skip->passed;
    access->phase = skip->passed = skip->barriers;
    for (uint8_t i = 0; i < skip->load_count; i++) {
        uint64_t *ready = &skip->loads[i].ready;
        *ready = *ready > skip->elapsed ? *ready - skip->elapsed : 0;
    }
    skip->gap = 0;
    skip->shared = 0;
    skip->elapsed = 0;
    skip->count = 0;
}

/* ---- counts ---- */

void fth_sampler_count(struct fth_sampler *sampler, enum fth_model_level level, uint64_t line,
                       uint32_t sectors, uint32_t misses, uint32_t waits)
{
    sampler->missed |= level == FTH_MODEL_L1 && misses;
    sampler->waited |= level == FTH_MODEL_L1 && waits;
    /* The bits of the row that do not select the class. */
    const uint64_t group = fold(sampler, line) >> sampler->rate_shift & (FTH_SAMPLE_GROUPS - 1);
    sampler->groups[level].sectors[group] += sectors;
    sampler->groups[level].misses[group] += misses;
}

/* Returns the expected error of the number of misses of a level, in sectors: the standard error of
 * the sum over groups. The number of sectors that reach the L2 is itself an estimate. For the L2,
 * the error is therefore that of the misses at the estimated number of sectors. */
static double find_error(const struct fth_sampler *sampler, enum fth_model_level level)
{
    const struct fth_sample_groups *groups = &sampler->groups[level];
    const double rate = (double)sampler->rate;
    const size_t rows = (size_t)1 << (ROW_BITS - sampler->rate_shift);
    const size_t count = FTH_MIN(rows, FTH_SAMPLE_GROUPS);
    double sectors = 0, misses = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sectors += (double)groups->sectors[i];
        misses += (double)groups->misses[i];
    }
    for (size_t i = 0; i < count; i++) {
        const double part = level == FTH_MODEL_L1 ? 1 / (double)count
                            : sectors > 0         ? (double)groups->sectors[i] / sectors
                                                  : 0;
        const double off = (double)groups->misses[i] - misses * part;
        squares += off * off;
    }
    return rate * sqrt(squares * (double)count / (double)(count - 1) * (1 - 1 / rate));
}

/* Returns count * numerator / denominator, rounded. */
static uint64_t scaled(uint64_t count, double numerator, double denominator)
{
    return (uint64_t)llround((double)count * numerator / denominator);
}

/* Scales the counts of an instruction in the L2. All sectors of writes and atomics are sent there,
 * so their ratio to those of the simulated lines is known. Otherwise it is assumed to be the rate.
 */
static void scale_l2(struct fth_model_counts *counts, const struct fth_model_counts *simulated,
                     const struct fth_model_counts *totals, uint64_t rate)
{
    for (int kind = 0; kind < 3; kind++) {
        const bool known = kind != FTH_TRACE_READ && simulated->sectors[kind];
        const double numerator = known ? (double)totals->sectors[kind] : (double)rate;
        const double denominator = known ? (double)simulated->sectors[kind] : 1;
        counts->requests[kind] = scaled(counts->requests[kind], numerator, denominator);
        counts->sectors[kind] = scaled(counts->sectors[kind], numerator, denominator);
        counts->hits[kind] = scaled(counts->hits[kind], numerator, denominator);
        counts->merges[kind] = scaled(counts->merges[kind], numerator, denominator);
        if (kind != FTH_TRACE_READ && !known) {
            /* None of its lines is simulated: they are few, so the L2 has them. */
            counts->requests[kind] = totals->requests[kind];
            counts->sectors[kind] = totals->sectors[kind];
            counts->hits[kind] = totals->sectors[kind];
        }
    }
}

/* Estimates the hits of an instruction in the L1s from the exact number of sectors. */
static void estimate_l1(struct fth_model_counts *counts, const struct fth_model_counts *totals,
                        uint64_t rate)
{
    for (int kind = 0; kind < 3; kind++) {
        const uint64_t misses = rate * (counts->sectors[kind] - counts->hits[kind]);
        const uint64_t sectors = totals->sectors[kind], merges = rate * counts->merges[kind];
        counts->requests[kind] = totals->requests[kind];
        counts->sectors[kind] = sectors;
        counts->hits[kind] = misses < sectors ? sectors - misses : 0;
        counts->merges[kind] = merges < counts->hits[kind] ? merges : counts->hits[kind];
    }
}

void fth_sampler_estimate(const struct fth_sampler *sampler, struct fth_model_counts *l1,
                          struct fth_l2_counts *l2, uint64_t launch_sectors,
                          struct fth_sample_errors *errors)
{
    const uint64_t rate = sampler->rate;
    l2[sampler->instructions].dram_reads -= launch_sectors;
    for (size_t i = 0; i <= sampler->instructions; i++) {
        if (i < sampler->instructions) {
            scale_l2(&l2[i].counts, &l1[i], &sampler->totals[i], rate);
            estimate_l1(&l1[i], &sampler->totals[i], rate);
        }
        l2[i].far_hits *= rate;
        l2[i].dram_reads *= rate;
        l2[i].dram_writes *= rate;
    }
    l2[sampler->instructions].dram_reads += launch_sectors;
    *errors = (struct fth_sample_errors){find_error(sampler, FTH_MODEL_L1),
                                         find_error(sampler, FTH_MODEL_L2)};
}
