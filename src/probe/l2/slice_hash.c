/* Which address bits select the slice of a line, from lines whose slices are known.
 *
 * A GPU spreads lines over the slices of its L2 by a hash. The first step of such a hash is usually
 * linear over GF(2): it computes parities (XORs) of address bits. If the number of slices is a
 * power of two, these parities are the number of the slice. Otherwise a further step, which is not
 * linear, computes it from the parities.
 *
 * The linear step is found by the differences (XORs of two addresses) that never change the slice:
 * two addresses have the same parities if and only if they differ by a vector of the kernel of the
 * linear step. The differences form a vector space, and the masks of the parities are a basis of
 * its orthogonal space (stats/gf2.c). A page has few address bits, so every difference is tested
 * with all pairs of lines that have it.
 *
 * Assumption: a difference of the kernel leaves every address of the page in its slice, and any
 * other difference changes the slice of half of the addresses or more. A difference in between
 * shows that a vector of the kernel is wrong: the measured pairs of lines with this vector happened
 * to be in one slice, and other pairs are not. */
#include "probe/l2/probe_l2.h"

#include <stdlib.h>

/* Minimum fraction of the pairs with a difference that are in one slice, for a difference of the
 * kernel: single lines may be assigned to the wrong slice. Chosen: with two slices, half of all
 * pairs with another difference are in one slice. */
static const double min_same_fraction = 0.95;
enum {
    MAX_BITS = 16, /* address bits between the size of a line and that of the page */
    /* Pairs that decide about a difference are as many as the address bits and these. If half of
     * the pairs of every difference are in one slice by chance, one in a thousand hashes has a
     * difference with all of that many pairs in one slice. */
    MORE_PAIRS = 10,
    /* Pairs, all of them in one slice, that are too many for chance if slices are many, but too few
     * to decide. Chosen, not derived. */
    DOUBTFUL_PAIRS = 6,
    /* Candidates for vectors of the kernel that each one is compared with. Chosen: most of them are
     * right, so that a wrong one conflicts with many. */
    MAX_COMPARED = 64
};

/* Minimum fraction of the pairs with a difference that are in one slice, from which on a difference
 * outside the kernel contradicts the kernel, if there are at least BETWEEN_PAIRS pairs. Chosen: the
 * fraction is at most a half if the kernel is right, and three quarters for the sum of a right and
 * a wrong vector. */
static const double between_fraction = 0.68;
enum { BETWEEN_PAIRS = 64 };

static unsigned log2_of(uint64_t number)
{
    return 63 - (unsigned)__builtin_clzll(number);
}

static bool is_power_of_two(uint64_t number)
{
    return number && (number & (number - 1)) == 0;
}

/* For each difference of two lines, in lines: the number of pairs that have it, and of those in one
 * slice. */
struct differences {
    uint32_t *pairs, *same;
    size_t count;
};

static void count_pairs(const struct fth_sliced_lines *lines, struct differences *differences)
{
    for (size_t i = 0; i < lines->count; i++)
        for (size_t j = 0; j < i; j++) {
            const size_t at = (lines->offsets[i] ^ lines->offsets[j]) / lines->line_bytes;
            differences->pairs[at]++;
            differences->same[at] += lines->slices[i] == lines->slices[j];
        }
}

/* Whether nearly all pairs with a difference are in one slice, and there are at least `min_pairs`.
 */
static bool is_same(const struct differences *differences, size_t at, unsigned min_pairs)
{
    return differences->pairs[at] >= min_pairs &&
           (double)differences->same[at] >= min_same_fraction * (double)differences->pairs[at];
}

/* Whether a difference leaves more lines in their slice than one that changes it, but not all. */
static bool is_between(const struct differences *differences, size_t at)
{
    return differences->pairs[at] >= BETWEEN_PAIRS &&
           (double)differences->same[at] > between_fraction * (double)differences->pairs[at];
}

/* Finds the size of the largest aligned blocks whose lines are all in one slice. */
static uint64_t find_granularity(const struct fth_sliced_lines *lines,
                                 const struct differences *differences)
{
    size_t at = 1;
    while (at < differences->count &&
           is_same(differences, at, log2_of(differences->count) + MORE_PAIRS))
        at *= 2;
    return at * lines->line_bytes;
}

/* Adds the counts of each difference to that of its remainder modulo the kernel: differences with
 * the same remainder have the same effect. */
static void reduce_all(const struct fth_gf2 *kernel, struct differences *differences)
{
    for (size_t at = 1; at < differences->count; at++) {
        const size_t to = (size_t)fth_gf2_reduce(kernel, at);
        if (to == at)
            continue;
        differences->pairs[to] += differences->pairs[at];
        differences->same[to] += differences->same[at];
        differences->pairs[at] = differences->same[at] = 0;
    }
}

/* Differences that leave nearly all of their pairs in one slice. Those of the kernel are closed
 * under XOR; others are not. */
struct candidates {
    size_t *list; /* space for all differences */
    size_t count;
};

static void collect(const struct differences *differences, unsigned min_pairs,
                    struct candidates *candidates)
{
    candidates->count = 0;
    for (size_t at = 1; at < differences->count; at++)
        if (is_same(differences, at, min_pairs))
            candidates->list[candidates->count++] = at;
}

/* Returns the number of candidates, of up to MAX_COMPARED, whose sum with a candidate changes the
 * slice of some pairs. A vector of the kernel conflicts only with candidates that are none. */
static size_t count_conflicts(const struct differences *differences,
                              const struct candidates *candidates, size_t candidate,
                              unsigned min_pairs)
{
    const size_t compared = FTH_MIN(candidates->count, MAX_COMPARED);
    size_t conflicts = 0;
    for (size_t i = 0; i < compared; i++) {
        const size_t sum = candidate ^ candidates->list[i * candidates->count / compared];
        conflicts +=
            sum && differences->pairs[sum] >= min_pairs && !is_same(differences, sum, min_pairs);
    }
    return conflicts;
}

/* Finds the kernel, in lines: of the candidates with the fewest conflicts, the one with the most
 * pairs is a vector of it, until there is no candidate. */
static void find_kernel(struct differences *differences, struct candidates *candidates,
                        struct fth_gf2 *kernel)
{
    for (;;) {
        /* There are as many remainders as the address bits that are left can have. */
        const unsigned min_pairs = log2_of(differences->count) - fth_gf2_rank(kernel) + MORE_PAIRS;
        size_t best = 0, fewest = SIZE_MAX;
        collect(differences, min_pairs, candidates);
        for (size_t i = 0; i < candidates->count; i++) {
            const size_t at = candidates->list[i];
            const size_t conflicts = count_conflicts(differences, candidates, at, min_pairs);
            if (conflicts < fewest ||
                (conflicts == fewest && differences->pairs[at] > differences->pairs[best])) {
                best = at;
                fewest = conflicts;
            }
        }
        if (best == 0)
            return;
        fth_gf2_add(kernel, best);
        reduce_all(kernel, differences);
    }
}

static enum fth_status fail(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_INCONCLUSIVE, "find the hash of the L2 slices", NULL, "%s", cause);
}

/* Finds the masks from counted differences of `bits` address bits above those of a line. */
static enum fth_status find_masks(const struct fth_sliced_lines *lines,
                                  struct differences *differences, unsigned bits,
                                  struct fth_slice_hash *hash, struct fth_error *error)
{
    struct fth_gf2 kernel = {0}, masks;
    size_t tested = 0, doubtful = 0, between = 0;
    struct candidates candidates = {.list = calloc(differences->count, sizeof *candidates.list)};
    if (!candidates.list)
        return fth_no_memory(error, "find the hash of the L2 slices", NULL);
    find_kernel(differences, &candidates, &kernel);
    free(candidates.list);
    for (size_t at = 1; at < differences->count; at++) {
        tested += differences->pairs[at] >= DOUBTFUL_PAIRS;
        doubtful += is_same(differences, at, DOUBTFUL_PAIRS);
        between += is_between(differences, at);
    }
    hash->doubtful = between > 0;
    /* Nearly all remainders must be known to change the slice. */
    if (doubtful || 2 * (tested + 1) < differences->count >> fth_gf2_rank(&kernel))
        return fail(error, "there are too few pairs of lines");
    fth_gf2_orthogonal(&kernel, bits, &masks);
    if (fth_gf2_rank(&masks) > FTH_MAX_SLICE_MASKS ||
        lines->slice_count > (size_t)1 << fth_gf2_rank(&masks))
        return fail(error, "there are more slices than the parities of address bits can select");
    for (uint64_t left = masks.pivots; left; left &= left - 1)
        hash->masks[hash->mask_count++] = masks.rows[__builtin_ctzll(left)] * lines->line_bytes;
    hash->linear = lines->slice_count == (size_t)1 << hash->mask_count;
    return FTH_OK;
}

enum fth_status fth_find_slice_hash(const struct fth_sliced_lines *lines,
                                    struct fth_slice_hash *hash, struct fth_error *error)
{
    *hash = (struct fth_slice_hash){.slice_bytes = lines->line_bytes};
    if (!is_power_of_two(lines->page_bytes) || !is_power_of_two(lines->line_bytes) ||
        lines->page_bytes / lines->line_bytes > (uint64_t)1 << MAX_BITS)
        return fail(error, "the size of a line or page is unusual");
    struct differences differences = {.count = lines->page_bytes / lines->line_bytes};
    differences.pairs = calloc(differences.count, sizeof *differences.pairs);
    differences.same = calloc(differences.count, sizeof *differences.same);
    enum fth_status status = FTH_OK;
    if (!differences.pairs || !differences.same) {
        status = fth_no_memory(error, "find the hash of the L2 slices", NULL);
    } else {
        count_pairs(lines, &differences);
        hash->slice_bytes = find_granularity(lines, &differences);
        status = find_masks(lines, &differences, log2_of(differences.count), hash, error);
    }
    free(differences.pairs);
    free(differences.same);
    return status;
}

uint32_t fth_slice_parities(const struct fth_slice_hash *hash, uint64_t address)
{
    uint32_t parities = 0;
    for (size_t i = 0; i < hash->mask_count; i++)
        parities |= ((uint32_t)__builtin_popcountll(address & hash->masks[i]) & 1) << i;
    return parities;
}
