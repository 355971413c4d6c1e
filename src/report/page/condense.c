/* Reduces a model run to what the HTML page shows. The run of a large kernel can have a million
 * different reuse distances and a profile for every launch, but the page only draws the curves and
 * the kernels. So each curve is kept at a few hundred cache sizes, where it stays exact, and the
 * launches are removed. The rest of the document does not change. */
#include "base/json.h"
#include "report/report.h"

/* A cache size is kept if it is SIZE_STEP times the last kept size, which is an eighth of an
 * octave, or if at least 1/PARTS of the accesses hit at this size but not at the last one. Curves
 * with at most PARTS distances are kept as they are. The values are chosen, not derived; they leave
 * a few hundred points per curve. */
static const double SIZE_STEP = 1.09;
enum { PARTS = 256 };

/* Reads an integer from 0 to 2^53, which a double represents exactly. */
static bool read_whole(const json_t *number, json_int_t *value)
{
    *value = json_integer_value(number);
    return json_is_integer(number) && *value >= 0 && *value <= INT64_C(1) << 53;
}

/* Reads a pair [distance, number of accesses with that distance]. */
static bool read_pair(const json_t *pair, json_int_t *distance, json_int_t *count)
{
    return json_array_size(pair) == 2 && read_whole(json_array_get(pair, 0), distance) &&
           read_whole(json_array_get(pair, 1), count);
}

/* Returns the sum of the counts, or -1 if a list entry is no such pair or the sum is too large. */
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

/* Merges neighbouring distances. The count of each kept distance is the sum of the counts since the
 * previous one, so that the hit ratio at the kept sizes does not change. Returns false when out of
 * memory. */
static bool thin_curve(json_t *curve)
{
    json_t *pairs = json_object_get(curve, "distances"), *kept;
    const size_t size = json_array_size(pairs);
    const json_int_t total = sum_pairs(pairs);
    json_int_t last_size = 0, sum = 0, distance = 0, count = 0;
    if (size <= PARTS || total < 0)
        return true;
    kept = json_array();
    if (!kept)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!read_pair(json_array_get(pairs, i), &distance, &count))
            continue;
        sum += count;
        if (i + 1 < size && (double)(distance + 1) < SIZE_STEP * (double)last_size &&
            sum < total / PARTS)
            continue;
        if (json_array_append_new(kept, json_pack("[I, I]", distance, sum)) != 0) {
            json_decref(kept);
            return false;
        }
        last_size = distance + 1;
        sum = 0;
    }
    return json_object_set_new(curve, "distances", kept) == 0;
}

bool fth_model_condense(json_t *model)
{
    json_object_del(model, "launches");
    return thin_curve(json_object_get(model, "l1_curve")) &&
           thin_curve(json_object_get(model, "l2_curve"));
}
