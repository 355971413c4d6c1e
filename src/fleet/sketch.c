/* Distributions of positive numbers that can be merged without loss: a histogram of the logarithm.
 * Each interval is 0.02 % wide, so a quantile is at most 0.01 % away from the exact one. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Width of an interval: the difference of the natural logarithms of its ends. */
static const double WIDTH = 0.0002;

void fth_sketch_fini(struct fth_sketch *sketch)
{
    free(sketch->bins);
    *sketch = (struct fth_sketch){0};
}

/* Returns the index of the interval that has a number. */
static int32_t index_of(double number)
{
    return (int32_t)floor(log(number) / WIDTH);
}

/* Returns the position of the first bin whose index is at least `index`. */
static size_t find_bin(const struct fth_sketch *sketch, int32_t index)
{
    size_t low = 0, high = sketch->bin_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sketch->bins[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum fth_status fth_sketch_put(struct fth_sketch *sketch, int32_t index, uint32_t count,
                               struct fth_error *error)
{
    static const char operation[] = "add to a distribution";
    const size_t at = find_bin(sketch, index);
    const bool exists = at < sketch->bin_count && sketch->bins[at].index == index;
    if (exists && sketch->bins[at].count > UINT32_MAX - count)
        return fth_fail(error, FTH_INVALID, operation, NULL, "the count of an interval overflows");
    if (!exists) {
        if (!fth_grow((void **)&sketch->bins, sketch->bin_count, &sketch->bin_capacity,
                      sizeof *sketch->bins))
            return fth_no_memory(error, operation, NULL);
        memmove(&sketch->bins[at + 1], &sketch->bins[at],
                (sketch->bin_count - at) * sizeof *sketch->bins);
        sketch->bins[at] = (struct fth_sketch_bin){index, 0};
        sketch->bin_count++;
    }
    sketch->bins[at].count += count;
    sketch->count += count;
    return FTH_OK;
}

enum fth_status fth_sketch_add(struct fth_sketch *sketch, double number, struct fth_error *error)
{
    if (!(number > 0) || !isfinite(number))
        return fth_fail(error, FTH_INVALID, "add to a distribution", NULL,
                        "the number is not positive and finite");
    return fth_sketch_put(sketch, index_of(number), 1, error);
}

enum fth_status fth_sketch_merge(struct fth_sketch *sketch, const struct fth_sketch *other,
                                 struct fth_error *error)
{
    for (size_t i = 0; i < other->bin_count; i++)
        FTH_TRY(fth_sketch_put(sketch, other->bins[i].index, other->bins[i].count, error));
    return FTH_OK;
}

double fth_sketch_bin_log(const struct fth_sketch_bin *bin)
{
    return (bin->index + 0.5) * WIDTH;
}

/* Returns the number with this rank, from 0 on. */
static double number_at(const struct fth_sketch *sketch, uint64_t rank)
{
    uint64_t seen = 0;
    size_t i = 0;
    while (i + 1 < sketch->bin_count && seen + sketch->bins[i].count <= rank)
        seen += sketch->bins[i++].count;
    return exp(fth_sketch_bin_log(&sketch->bins[i]));
}

double fth_sketch_quantile(const struct fth_sketch *sketch, double fraction)
{
    if (sketch->count == 0)
        return NAN;
    const double rank = fraction * (double)(sketch->count - 1);
    const double below = number_at(sketch, (uint64_t)floor(rank));
    const double above = number_at(sketch, (uint64_t)ceil(rank));
    return below + (above - below) * (rank - floor(rank));
}

double fth_sketch_upper(const struct fth_sketch *sketch, double fraction, double without)
{
    const bool known = without > 0 && isfinite(without);
    const size_t at = known ? find_bin(sketch, index_of(without)) : sketch->bin_count;
    const bool found = at < sketch->bin_count && sketch->bins[at].index == index_of(without);
    const uint64_t all = sketch->count - found;
    uint64_t seen = 0;
    for (size_t i = 0; i < sketch->bin_count && all > 0; i++) {
        seen += sketch->bins[i].count - (found && i == at);
        if (seen > 0 && (double)seen >= fraction * (double)all)
            return exp(fth_sketch_bin_log(&sketch->bins[i]));
    }
    return NAN;
}

double fth_sketch_deviation(const struct fth_sketch *sketch, double centre)
{
    if (sketch->count == 0 || !(centre > 0))
        return NAN;
    /* Goes from the centre to both sides, always to the nearer bin, until half of the numbers was
     * seen. */
    const double logarithm = log(centre);
    const uint64_t low_rank = (sketch->count - 1) / 2, high_rank = sketch->count / 2;
    size_t above = find_bin(sketch, index_of(centre)), below = above;
    double low = NAN;
    for (uint64_t seen = 0; below > 0 || above < sketch->bin_count;) {
        const double down =
            below > 0 ? fabs(logarithm - fth_sketch_bin_log(&sketch->bins[below - 1])) : INFINITY;
        const double up = above < sketch->bin_count
                              ? fabs(fth_sketch_bin_log(&sketch->bins[above]) - logarithm)
                              : INFINITY;
        seen += sketch->bins[up <= down ? above++ : --below].count;
        if (isnan(low) && seen > low_rank)
            low = fmin(up, down);
        if (seen > high_rank)
            return (low + fmin(up, down)) / 2;
    }
    return low;
}
