/* Reduces a model run to what the HTML page shows. The run of a large kernel can have a million
 * different reuse distances and a profile for every launch, but the page only draws the curves and
 * the kernels. So each curve is kept at a few hundred cache sizes, where it stays exact, and the
 * launches are removed. Instructions, of which a kernel can have thousands, lose what the page does
 * not show, and counts that are all 0. The rest of the document does not change. */
#include "base/json.h"
#include "report/report.h"

/* A cache size is kept if it is SIZE_STEP times the last kept size, which is an eighth of an
 * octave, or if at least 1/PARTS of the accesses hit at this size but not at the last one. Curves
 * with at most PARTS distances are kept as they are. The values are chosen, not derived; they leave
 * a few hundred points per curve. */
static const double SIZE_STEP = 1.09;
enum { PARTS = 256 };

/* Reads an integer from 0 to 2^53, which a double represents exactly. */
static bool read_whole(const struct fth_json *number, int64_t *value)
{
    *value = fth_json_integer(number);
    return fth_json_is(number, FTH_JSON_INTEGER) && *value >= 0 && *value <= INT64_C(1) << 53;
}

/* Reads a pair [distance, number of accesses with that distance]. */
static bool read_pair(const struct fth_json *pair, int64_t *distance, int64_t *count)
{
    return fth_json_count(pair) == 2 && read_whole(fth_json_item(pair, 0), distance) &&
           read_whole(fth_json_item(pair, 1), count);
}

/* Returns the sum of the counts, or -1 if a list entry is no such pair or the sum is too large. */
static int64_t sum_pairs(const struct fth_json *pairs)
{
    int64_t sum = 0, distance, count;
    FTH_JSON_EACH_ITEM (pair, pairs) {
        if (!read_pair(pair, &distance, &count) || sum > INT64_C(1) << 53)
            return -1;
        sum += count;
    }
    return sum;
}

/* Merges neighbouring distances. The count of each kept distance is the sum of the counts since the
 * previous one, so that the hit ratio at the kept sizes does not change. */
static void thin_curve(struct fth_json_document *document, struct fth_json *curve)
{
    struct fth_json *pairs = fth_json_get(curve, "distances");
    const int64_t total = sum_pairs(pairs);
    int64_t last_size = 0, sum = 0, distance = 0, count = 0;
    if (fth_json_count(pairs) <= PARTS || total < 0)
        return;
    struct fth_json *kept = fth_json_put(document, NULL, NULL, FTH_JSON_LIST);
    FTH_JSON_EACH_ITEM (pair, pairs) {
        if (!read_pair(pair, &distance, &count))
            continue;
        sum += count;
        if (pair->next && (double)(distance + 1) < SIZE_STEP * (double)last_size &&
            sum < total / PARTS)
            continue;
        struct fth_json *merged = fth_json_put(document, kept, NULL, FTH_JSON_LIST);
        fth_json_put_integer(document, merged, NULL, distance);
        fth_json_put_integer(document, merged, NULL, sum);
        last_size = distance + 1;
        sum = 0;
    }
    if (kept)
        pairs->items = kept->items;
}

/* Returns whether an object has members and all of them are 0; lists count by their items. */
static bool is_all_zero(const struct fth_json *object)
{
    FTH_JSON_EACH_MEMBER (member, object) {
        FTH_JSON_EACH_ITEM (item, member)
            if (!fth_json_is(item, FTH_JSON_INTEGER) || fth_json_integer(item) != 0)
                return false;
        if (!fth_json_is(member, FTH_JSON_LIST) &&
            (!fth_json_is(member, FTH_JSON_INTEGER) || fth_json_integer(member) != 0))
            return false;
    }
    return fth_json_is(object, FTH_JSON_OBJECT);
}

static void remove_keys(struct fth_json *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count && fth_json_is(object, FTH_JSON_OBJECT); i++)
        fth_json_remove(object, keys[i]);
}

static void thin_instruction(struct fth_json *row)
{
    static const char *const unused[] = {
        "requested_bytes", "used_bytes",  "touched_bytes",     "efficiency",        "hit_ratios",
        "bytes",           "l2_far_hits", "dram_read_sectors", "dram_write_sectors"};
    static const char *const counts[] = {"l1_misses", "l2_misses", "shared"};
    /* The page computes ratios from the sectors and hits of the levels. */
    static const char *const computed[] = {"metrics", "access_cycles"};
    static const char *const unused_counts[] = {"requests", "merges"};
    struct fth_json *l1 = fth_json_get(row, "l1"), *l2 = fth_json_get(row, "l2");
    remove_keys(row, unused, FTH_COUNT(unused));
    if (l1 && l2) {
        remove_keys(row, computed, FTH_COUNT(computed));
        remove_keys(l1, unused_counts, FTH_COUNT(unused_counts));
        remove_keys(l2, unused_counts, FTH_COUNT(unused_counts));
    }
    for (size_t i = 0; i < FTH_COUNT(counts); i++)
        if (is_all_zero(fth_json_get(row, counts[i])))
            fth_json_remove(row, counts[i]);
}

void fth_model_condense(struct fth_json_document *document)
{
    fth_json_remove(document->root, "launches");
    struct fth_json *rows = fth_json_items(fth_json_get(document->root, "instructions"));
    for (struct fth_json *row = rows; row; row = row->next)
        if (fth_json_is(row, FTH_JSON_OBJECT))
            thin_instruction(row);
    thin_curve(document, fth_json_get(document->root, "l1_curve"));
    thin_curve(document, fth_json_get(document->root, "l2_curve"));
}
