/* Sampling of launches: a kernel that is launched many times is simulated in some of its launches
 * only.
 *
 * A family is the launches of a kernel with blocks of the same size, in their order. It is divided
 * into strata of consecutive launches, and one launch of each is simulated, at a pseudo-random
 * place so that periods of the launches do not coincide with the strata. The counts of the others
 * are interpolated. Each simulated launch is also compared with what its neighbours predict for it.
 * If the deviations are too large for the number of simulated launches, the strata are halved.
 * docs/model/precision.md has the errors that were measured. */
#include "model/timed/timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Smaller families are simulated completely: two launches do not show how much they differ. */
    MIN_LAUNCHES = 4,
    /* Minimum number of strata, if there are at least LARGE_LAUNCHES launches, and otherwise. */
    LARGE_LAUNCHES = 16,
    MIN_LARGE_STRATA = 4,
    MIN_STRATA = 2
};
/* Maximum of two standard errors of a hit ratio. Chosen: 0.4 points, somewhat less than the error
 * of 0.5 points that samples should have. */
#define MAX_ERROR 0.004
/* Part of the expected error that does not depend on the deviations; chosen. */
#define MIN_ERROR 0.001
/* The value between two neighbours with the same variance differs from that of a launch by 1.5
 * times this variance. */
#define NEIGHBOUR_VARIANCE 1.5

struct family {
    const struct fth_trace_launch *first;
    size_t *launches; /* [count] ascending */
    size_t count, capacity;
    size_t strata;
    double errors[FTH_MODEL_LEVELS]; /* expected, of the hit ratios of interpolated launches */
};

/* A launch of the trace. */
struct member {
    struct family *family; /* NULL: in none */
    size_t index;          /* in the family */
    bool wanted;
    uint64_t *words; /* its counts; NULL: not simulated */
    struct fth_launch_estimate counts;
    struct fth_cache_level_totals totals[FTH_MODEL_LEVELS];
};

struct fth_families {
    const struct fth_trace *trace;
    size_t instructions;
    unsigned rate;
    struct family *families;
    size_t count, capacity;
    struct member *members; /* [launches of the trace] */
    uint64_t *words;        /* counts of the launch that was interpolated last */
    struct fth_launch_estimate estimate;
};

/* ---- counts as an array of integers ---- */

static size_t warp_words(const struct fth_families *families)
{
    return 3 * families->instructions;
}

/* Words of the counts of all instructions. Those behind them belong to no instruction. */
static size_t word_count(const struct fth_families *families)
{
    return warp_words(families) +
           (families->instructions + 1) *
               (sizeof(struct fth_model_counts) + sizeof(struct fth_l2_counts) +
                sizeof(struct fth_model_misses)) /
               sizeof(uint64_t);
}

/* Sets the arrays of an estimate to parts of `words`. */
static void set_arrays(const struct fth_families *families, uint64_t *words,
                       struct fth_launch_estimate *estimate)
{
    const size_t rows = families->instructions + 1;
    estimate->warps = words;
    estimate->l1 = (struct fth_model_counts *)(void *)(words + warp_words(families));
    estimate->l2 = (struct fth_l2_counts *)(void *)(estimate->l1 + rows);
    estimate->l1_misses = (struct fth_model_misses *)(void *)(estimate->l2 + rows);
}

/* ---- creation ---- */

static struct family *find_family(const struct fth_families *families,
                                  const struct fth_trace_launch *launch)
{
    for (size_t i = 0; i < families->count; i++) {
        const struct fth_trace_launch *first = families->families[i].first;
        if (strcmp(first->kernel, launch->kernel) == 0 &&
            memcmp(first->block, launch->block, sizeof first->block) == 0 &&
            first->shared_bytes == launch->shared_bytes)
            return &families->families[i];
    }
    return NULL;
}

/* Adds a launch to its family, which is created if it is the first one. */
static bool add_launch(struct fth_families *families, size_t index)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(families->trace, index);
    struct family *family = find_family(families, launch);
    if (!family) {
        if (!fth_grow((void **)&families->families, families->count, &families->capacity,
                      sizeof *families->families))
            return false;
        family = &families->families[families->count++];
        *family = (struct family){.first = launch};
    }
    if (!fth_grow((void **)&family->launches, family->count, &family->capacity,
                  sizeof *family->launches))
        return false;
    family->launches[family->count++] = index;
    return true;
}

/* Marks a launch of each stratum in which none is marked yet. */
static void choose_launches(struct fth_families *families, const struct family *family)
{
    for (size_t i = 0; i < family->strata; i++) {
        const size_t first = family->count * i / family->strata;
        const size_t end = family->count * (i + 1) / family->strata;
        const uint64_t random = (i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
        bool has_one = false;
        for (size_t k = first; k < end; k++)
            has_one = has_one || families->members[family->launches[k]].wanted;
        if (!has_one && end > first)
            families->members[family->launches[first + random % (end - first)]].wanted = true;
    }
}

/* Chooses the first launches that are simulated. */
static void begin_family(struct fth_families *families, struct family *family)
{
    if (family->count < MIN_LAUNCHES)
        return;
    const size_t least = family->count < LARGE_LAUNCHES ? MIN_STRATA : MIN_LARGE_STRATA;
    const size_t wanted = family->count / 2 / families->rate;
    family->strata = wanted > least ? wanted : least;
    for (size_t i = 0; i < family->count; i++) {
        families->members[family->launches[i]].family = family;
        families->members[family->launches[i]].index = i;
    }
    choose_launches(families, family);
}

enum fth_status fth_families_create(const struct fth_trace *trace, const char *kernel,
                                    unsigned rate, struct fth_families **out,
                                    struct fth_error *error)
{
    struct fth_families *families = calloc(1, sizeof *families);
    const size_t launches = fth_trace_launch_count(trace);
    bool ok = families != NULL;
    *out = families;
    if (ok) {
        families->trace = trace;
        families->instructions = fth_trace_instruction_count(trace);
        families->rate = rate;
        families->members = calloc(launches + 1, sizeof *families->members);
        families->words = calloc(word_count(families), sizeof *families->words);
        ok = families->members && families->words;
    }
    for (size_t i = 0; i < launches && ok; i++)
        if (fth_launch_is_selected(trace, i, kernel))
            ok = add_launch(families, i);
    for (size_t i = 0; ok && i < families->count; i++)
        begin_family(families, &families->families[i]);
    if (ok)
        return FTH_OK;
    fth_families_destroy(families);
    *out = NULL;
    return fth_no_memory(error, "model caches", NULL);
}

void fth_families_destroy(struct fth_families *families)
{
    if (!families)
        return;
    for (size_t i = 0; families->members && i < fth_trace_launch_count(families->trace); i++) {
        free(families->members[i].words);
        for (int level = 0; level < FTH_MODEL_LEVELS; level++)
            fth_totals_fini(&families->members[i].totals[level]);
    }
    for (size_t i = 0; i < families->count; i++)
        free(families->families[i].launches);
    free(families->families);
    free(families->members);
    free(families->words);
    free(families);
}

/* ---- interpolation ---- */

/* Returns the simulated launch nearest to `index` in a direction (-1 or 1), without `index` itself;
 * NULL: there is none. */
static const struct member *find_neighbour(const struct fth_families *families,
                                           const struct family *family, size_t index, int direction)
{
    for (size_t i = index + (size_t)direction; i < family->count; i += (size_t)direction)
        if (families->members[family->launches[i]].words)
            return &families->members[family->launches[i]];
    return NULL;
}

/* The neighbours of a launch, and the weight of the second one. With only one, both are this one.
 */
struct neighbours {
    const struct member *before, *after;
    double weight;
};

static struct neighbours find_neighbours(const struct fth_families *families,
                                         const struct family *family, size_t index)
{
    struct neighbours found = {find_neighbour(families, family, index, -1),
                               find_neighbour(families, family, index, 1), 0};
    if (found.before && found.after)
        found.weight = (double)(index - found.before->index) /
                       (double)(found.after->index - found.before->index);
    found.before = found.before ? found.before : found.after;
    found.after = found.after ? found.after : found.before;
    return found;
}

static uint64_t accesses_of(const struct fth_families *families, const struct member *member)
{
    const size_t launch = member->family->launches[member->index];
    return fth_trace_launch_at(families->trace, launch)->accesses;
}

static double mix(const struct neighbours *neighbours, double before, double after)
{
    return before + (after - before) * neighbours->weight;
}

/* Makes the causes of misses sum up to the misses: rounding may have changed them. */
static void adjust_misses(const struct fth_model_counts *counts, struct fth_model_misses *misses)
{
    uint64_t *const causes[] = {&misses->cold, &misses->capacity, &misses->conflict,
                                &misses->coherence, &misses->sector};
    const uint64_t all = counts->sectors[FTH_TRACE_READ] - counts->hits[FTH_TRACE_READ];
    uint64_t sum = 0, *largest = causes[0];
    for (size_t i = 0; i < FTH_COUNT(causes); i++) {
        sum += *causes[i];
        largest = *causes[i] > *largest ? causes[i] : largest;
    }
    if (sum)
        *largest += all - sum;
}

/* Interpolates the counts of a launch. Counts of instructions are interpolated per access. */
static void interpolate(struct fth_families *families, const struct member *member)
{
    const struct neighbours near = find_neighbours(families, member->family, member->index);
    if (!near.before || !near.after) /* does not happen: a launch of each stratum is simulated */
        return;
    const struct fth_launch_estimate *before = &near.before->counts, *after = &near.after->counts;
    struct fth_launch_estimate *estimate = &families->estimate;
    const double accesses = (double)accesses_of(families, member);
    const double from = accesses / (double)accesses_of(families, near.before);
    const double to = accesses / (double)accesses_of(families, near.after);
    for (size_t i = 0; i < word_count(families); i++)
        families->words[i] = (uint64_t)llround(
            mix(&near, from * (double)near.before->words[i], to * (double)near.after->words[i]));
    set_arrays(families, families->words, estimate);
    const size_t last = families->instructions;
    const struct fth_l2_counts *others[] = {&before->l2[last], &after->l2[last]};
    estimate->l2[last].dram_reads =
        (uint64_t)llround(mix(&near, (double)others[0]->dram_reads, (double)others[1]->dram_reads));
    for (size_t i = 0; i < families->instructions; i++) {
        adjust_misses(&estimate->l1[i], &estimate->l1_misses[i]);
        adjust_misses(&estimate->l2[i].counts, &estimate->l2[i].misses);
    }
    estimate->ticks = (uint64_t)llround(mix(&near, (double)before->ticks, (double)after->ticks));
    estimate->simulated = 0;
    memset(estimate->totals, 0, sizeof estimate->totals);
    estimate->l1_error = mix(&near, from * before->l1_error, to * after->l1_error);
    estimate->l2_error = mix(&near, from * before->l2_error, to * after->l2_error);
    for (size_t i = 0; i < families->instructions; i++) {
        estimate->l1_error +=
            member->family->errors[FTH_MODEL_L1] * (double)estimate->l1[i].sectors[FTH_TRACE_READ];
        estimate->l2_error += member->family->errors[FTH_MODEL_L2] *
                              (double)estimate->l2[i].counts.sectors[FTH_TRACE_READ];
    }
}

/* ---- deviations ---- */

/* Returns the hit ratio of reads of a launch in a level; 0 without reads. */
static double hit_ratio(const struct fth_families *families,
                        const struct fth_launch_estimate *estimate, int level)
{
    uint64_t sectors = 0, hits = 0;
    for (size_t i = 0; i < families->instructions; i++) {
        const struct fth_model_counts *counts =
            level == FTH_MODEL_L1 ? &estimate->l1[i] : &estimate->l2[i].counts;
        sectors += counts->sectors[FTH_TRACE_READ];
        hits += counts->hits[FTH_TRACE_READ];
    }
    return sectors ? (double)hits / (double)sectors : 0;
}

/* Computes the expected errors of a family. Returns whether they are small enough. */
static bool is_accurate(const struct fth_families *families, struct family *family)
{
    bool accurate = true;
    for (int level = 0; level < FTH_MODEL_LEVELS; level++) {
        double squares = 0, simulated = 0;
        for (size_t i = 0; i < family->count; i++) {
            const struct member *member = &families->members[family->launches[i]];
            if (!member->words)
                continue;
            const struct neighbours near = find_neighbours(families, family, i);
            const double deviation = hit_ratio(families, &member->counts, level) -
                                     mix(&near, hit_ratio(families, &near.before->counts, level),
                                         hit_ratio(families, &near.after->counts, level));
            squares += deviation * deviation;
            simulated++;
        }
        const double left = 1 - simulated / (double)family->count;
        const double error = 2 * sqrt(squares / NEIGHBOUR_VARIANCE / simulated / simulated * left);
        family->errors[level] = error + MIN_ERROR;
        accurate = accurate && error <= MAX_ERROR;
    }
    return accurate;
}

/* ---- the order of the simulation ---- */

/* Returns the next launch of a family that must be simulated; SIZE_MAX: none. */
static size_t next_of_family(struct fth_families *families, struct family *family)
{
    for (;;) {
        size_t simulated = 0;
        for (size_t i = 0; i < family->count; i++) {
            const struct member *member = &families->members[family->launches[i]];
            if (member->wanted && !member->words)
                return family->launches[i];
            simulated += member->wanted;
        }
        if (!family->strata || simulated == family->count || is_accurate(families, family))
            return SIZE_MAX;
        family->strata = 2 * family->strata < family->count ? 2 * family->strata : family->count;
        choose_launches(families, family);
    }
}

size_t fth_families_next(struct fth_families *families)
{
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < families->count && next == SIZE_MAX; i++)
        next = next_of_family(families, &families->families[i]);
    return next;
}

static bool copy_totals(const struct fth_cache_level_totals *from,
                        struct fth_cache_level_totals *to)
{
    *to = (struct fth_cache_level_totals){.profile_size = from->profile_size};
    for (int i = 0; i < 2; i++) {
        to->profile[i] = calloc(to->profile_size, sizeof *to->profile[i]);
        if (!to->profile[i])
            return false;
        memcpy(to->profile[i], from->profile[i], to->profile_size * sizeof *to->profile[i]);
    }
    return true;
}

enum fth_status fth_families_store(struct fth_families *families, size_t launch,
                                   const struct fth_launch_estimate *counts,
                                   struct fth_error *error)
{
    struct member *member = &families->members[launch];
    const size_t rows = families->instructions + 1;
    member->words = calloc(word_count(families), sizeof *member->words);
    if (!member->words)
        return fth_no_memory(error, "model caches", NULL);
    member->counts = *counts;
    for (int level = 0; level < FTH_MODEL_LEVELS; level++) {
        if (!copy_totals(counts->totals[level], &member->totals[level]))
            return fth_no_memory(error, "model caches", NULL);
        member->counts.totals[level] = &member->totals[level];
    }
    set_arrays(families, member->words, &member->counts);
    memcpy(member->words, counts->warps, warp_words(families) * sizeof *counts->warps);
    memcpy(member->counts.l1, counts->l1, rows * sizeof *counts->l1);
    memcpy(member->counts.l2, counts->l2, rows * sizeof *counts->l2);
    if (counts->l1_misses)
        memcpy(member->counts.l1_misses, counts->l1_misses, rows * sizeof *counts->l1_misses);
    return FTH_OK;
}

const struct fth_launch_estimate *fth_families_get(struct fth_families *families, size_t launch)
{
    const struct member *member = &families->members[launch];
    if (!member->family)
        return NULL;
    if (member->words)
        return &member->counts;
    interpolate(families, member);
    return &families->estimate;
}
