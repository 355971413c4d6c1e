/* What the page needs of a model run. A run of a large kernel has a million distances and a profile
 * for each of its launches; the page draws a curve and the kernels. So a curve is kept at some
 * hundred sizes, at which it stays exact, and the launches are left out. The rest is as it was. */
#include "report/report.h"

/* A size is kept where it is an eighth of an octave above the last, or where more than a 256th of
 * the accesses came to hit since. */
static const double STEP = 1.09;
enum { PARTS = 256 };

/* Whole numbers that a double has, too. */
static bool read_whole(const json_t *number, json_int_t *value)
{
    *value = json_integer_value(number);
    return json_is_integer(number) && *value >= 0 && *value <= INT64_C(1) << 53;
}

/* A pair of a distance and how many accesses had it. */
static bool read_pair(const json_t *pair, json_int_t *distance, json_int_t *count)
{
    return json_array_size(pair) == 2 && read_whole(json_array_get(pair, 0), distance) &&
           read_whole(json_array_get(pair, 1), count);
}

/* The sum of the counts, or -1 where it is no list of such pairs. */
static json_int_t sum_pairs(const json_t *pairs)
{
    json_int_t sum = 0, distance, count;
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        if (!read_pair(json_array_get(pairs, i), &distance, &count) || sum > INT64_C(1) << 53)
            return -1;
        sum += count;
    }
    return sum;
}

static void thin_curve(json_t *curve)
{
    json_t *pairs = json_object_get(curve, "distances"), *kept;
    const size_t size = json_array_size(pairs);
    const json_int_t all = sum_pairs(pairs);
    json_int_t last = 0, sum = 0, distance = 0, count = 0;
    if (size <= PARTS || all < 0 || !(kept = json_array()))
        return;
    for (size_t i = 0; i < size; i++) {
        if (!read_pair(json_array_get(pairs, i), &distance, &count))
            continue;
        sum += count;
        if (i + 1 < size && (double)(distance + 1) < STEP * (double)last && sum < all / PARTS)
            continue;
        json_array_append_new(kept, json_pack("[I, I]", distance, sum));
        last = distance + 1;
        sum = 0;
    }
    json_object_set_new(curve, "distances", kept);
}

void fth_model_condense(json_t *model)
{
    thin_curve(json_object_get(model, "l1_curve"));
    thin_curve(json_object_get(model, "l2_curve"));
    json_object_del(model, "launches");
}
