/* Checks a GPU description: each value against its rule in the schema, then the relations between
 * attributes of one section, then those between sections. The error names the first violation and
 * its path. A number that is absent violates no relation. */
#include "base/json.h"
#include "gpu/gpu.h"
#include "stats/stats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The section that is being checked. */
struct check {
    const struct fth_gpu *gpu;
    const struct fth_gpu_section *section;
    const char *operation, *argument; /* for errors */
    struct fth_error *error;
};

/* Fails with FTH_INVALID. The cause consists of the path of the attribute and the reason. */
FTH_PRINTF(3, 4)
static enum fth_status refuse(const struct check *check, const char *attribute, const char *reason,
                              ...)
{
    struct fth_json_path path;
    char text[256];
    va_list arguments;
    va_start(arguments, reason);
    fth_vformat(text, sizeof text, reason, arguments);
    va_end(arguments);
    fth_gpu_path(check->gpu, check->section, attribute, &path);
    return fth_fail(check->error, FTH_INVALID, check->operation, check->argument, "%s: %s",
                    path.text, text);
}

/* Returns the value of an attribute of the section; NAN if it is absent. */
static double number(const struct check *check, const char *name)
{
    return fth_gpu_number(check->gpu, check->section->name, name, NAN);
}

/* ---- one value ---- */

/* Returns how a number violates a rule, or NULL. */
static const char *number_fault(double value, enum fth_rule rule)
{
    if (!isfinite(value))
        return "is not a finite number";
    if (fabs(value) > FTH_JSON_MAX_NUMBER)
        return "exceeds 2^53";
    bool whole = value == rint(value);
    switch (rule) {
    case FTH_RULE_COUNT: return whole && value >= 1 ? NULL : "is not a whole number of at least 1";
    case FTH_RULE_WHOLE: return whole && value >= 0 ? NULL : "is not a whole number of at least 0";
    case FTH_RULE_POSITIVE: return value > 0 ? NULL : "is not greater than 0";
    case FTH_RULE_NOT_NEGATIVE: return value >= 0 ? NULL : "is negative";
    case FTH_RULE_FRACTION: return value >= 0 && value <= 1 ? NULL : "is not between 0 and 1";
    default: return NULL;
    }
}

static bool is_capability(const char *text)
{
    size_t major = strspn(text, "0123456789");
    if (major == 0 || text[major] != '.')
        return false;
    size_t minor = strspn(text + major + 1, "0123456789");
    return minor > 0 && text[major + 1 + minor] == '\0';
}

static enum fth_status check_text(const struct check *check, const struct fth_attribute_def *def,
                                  const char *text)
{
    unsigned bits[64];
    switch (def->rule) {
    case FTH_RULE_CHOICE: {
        char known[128] = "";
        for (const char *const *choice = def->choices; *choice; choice++) {
            if (strcmp(*choice, text) == 0)
                return FTH_OK;
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *choice);
        }
        return refuse(check, def->name, "'%s' is not one of %s", text, known);
    }
    case FTH_RULE_INDEX:
        if (fth_index_parse(text, bits) < 0)
            return refuse(check, def->name,
                          "'%s' is not one of mod, shift:N, xor, prime, bits:[N,N,…]", text);
        return FTH_OK;
    case FTH_RULE_CAPABILITY:
        return is_capability(text)
                   ? FTH_OK
                   : refuse(check, def->name, "'%s' does not have the form 9.0", text);
    default: return *text ? FTH_OK : refuse(check, def->name, "is empty");
    }
}

static enum fth_status check_number(const struct check *check, const struct fth_attribute_def *def,
                                    double value)
{
    char text[40];
    const char *fault = number_fault(value, def->rule);
    return fault ? refuse(check, def->name, "%s %s", fth_number_format(value, text, sizeof text),
                          fault)
                 : FTH_OK;
}

static enum fth_status check_value(const struct check *check, const struct fth_attribute *a,
                                   const struct fth_attribute_def *def)
{
    enum fth_status status = FTH_OK;
    switch (a->kind) {
    case FTH_NUMBER: return check_number(check, def, a->number);
    case FTH_TEXT: return check_text(check, def, a->text);
    case FTH_NUMBERS:
        for (size_t i = 0; i < a->count && status == FTH_OK; i++)
            status = check_number(check, def, a->numbers[i]);
        break;
    case FTH_TEXTS:
        for (size_t i = 0; i < a->count && status == FTH_OK; i++)
            status = check_text(check, def, a->texts[i]);
        break;
    case FTH_RAW: break;
    }
    if (status == FTH_OK && a->kind == FTH_NUMBERS && a->count == 0)
        status = refuse(check, a->name, "is an empty list");
    return status;
}

static enum fth_status check_provenance(const struct check *check, const struct fth_attribute *a)
{
    if (!isnan(a->confidence) && number_fault(a->confidence, FTH_RULE_FRACTION))
        return refuse(check, a->name, "confidence %g is not between 0 and 1", a->confidence);
    if (!isnan(a->samples) && number_fault(a->samples, FTH_RULE_WHOLE))
        return refuse(check, a->name, "samples %g is not a whole number of at least 0", a->samples);
    if ((!isnan(a->low) || !isnan(a->high)) && a->kind != FTH_NUMBER)
        return refuse(check, a->name, "only a number has an interval");
    if (a->low > a->number)
        return refuse(check, a->name, "low %g is above the value, %g", a->low, a->number);
    if (a->high < a->number)
        return refuse(check, a->name, "high %g is below the value, %g", a->high, a->number);
    const char *at = a->reference ? a->reference : "", *key;
    size_t size;
    while (fth_reference_next(&at, &key, &size)) {
        const struct fth_named_texts *references = &check->gpu->references;
        size_t i = 0;
        while (i < references->count && (strlen(references->items[i].name) != size ||
                                         strncmp(references->items[i].name, key, size) != 0))
            i++;
        if (i == references->count)
            return refuse(check, a->name, "reference '%.*s' is not in \"references\"", (int)size,
                          key);
    }
    return FTH_OK;
}

/* ---- relations within a section ---- */

/* Returns the size of what sets and ways describe: one instance of a cache or, for the L2, one
 * partition. */
static double part_bytes(const struct check *check)
{
    double partitions = number(check, "partitions");
    return number(check, "size_bytes") / (isnan(partitions) ? 1 : partitions);
}

/* Computes the total number of ways in all sets, from set_ways or from sets and ways; NAN if they
 * are unknown. Fails if these attributes contradict each other. */
static enum fth_status count_ways(const struct check *check, double *total)
{
    const struct fth_attribute *set_ways =
        fth_gpu_attribute(check->gpu, check->section->name, "set_ways");
    double sets = number(check, "sets"), ways = number(check, "ways");
    *total = sets * ways;
    if (!set_ways)
        return FTH_OK;
    *total = 0;
    for (size_t i = 0; i < set_ways->count; i++) {
        *total += set_ways->numbers[i];
        if (!isnan(ways) && set_ways->numbers[i] != ways)
            return refuse(check, "ways", "%g, but set_ways contains %g", ways,
                          set_ways->numbers[i]);
    }
    if (!isnan(sets) && sets != (double)set_ways->count)
        return refuse(check, "sets", "%g, but set_ways has length %zu", sets, set_ways->count);
    return FTH_OK;
}

static enum fth_status check_divides(const struct check *check, const char *part, const char *whole)
{
    double a = number(check, part), b = number(check, whole);
    if (isnan(a) || isnan(b) || fmod(b, a) == 0)
        return FTH_OK;
    return refuse(check, part, "%.0f does not divide %s (%.0f)", a, whole, b);
}

/* Checks that attribute `less` does not exceed attribute `more`. */
static enum fth_status check_order(const struct check *check, const char *less, const char *more)
{
    double a = number(check, less), b = number(check, more);
    if (a > b) {
        char low[40], high[40];
        return refuse(check, less, "%s exceeds %s (%s)", fth_number_format(a, low, sizeof low),
                      more, fth_number_format(b, high, sizeof high));
    }
    return FTH_OK;
}

/* Checks size = ways of all sets x line size and, for a TLB, entries = ways of all sets and reach =
 * entries x page size. */
static enum fth_status check_structure(const struct check *check)
{
    double total, line = number(check, "line_bytes"), part = part_bytes(check);
    FTH_TRY(count_ways(check, &total));
    if (total * line != part && !isnan(total * line) && !isnan(part))
        return refuse(check, "size_bytes",
                      "%.0f%s, but the ways of all sets (%.0f) x line_bytes (%.0f) are %.0f", part,
                      isnan(number(check, "partitions")) ? "" : " per partition", total, line,
                      total * line);

    double entries = number(check, "entries"), page = number(check, "page_bytes");
    double reach = number(check, "reach_bytes");
    if (!isnan(entries) && !isnan(total) && entries != total)
        return refuse(check, "entries", "%.0f, but the ways of all sets are %.0f", entries, total);
    double count = isnan(entries) ? total : entries;
    if (!isnan(count * page) && !isnan(reach) && count * page != reach)
        return refuse(check, "reach_bytes", "%.0f, but %.0f entries x page_bytes (%.0f) are %.0f",
                      reach, count, page, count * page);
    return FTH_OK;
}

/* Limits and defaults of the policy clock, the same as in the simulated caches (cache/cache.h and
 * cache/policy/clock.c). */
enum { MAX_ROWS = 65536, MAX_ROW_WAYS = 32, DEFAULT_ROW_WAYS = 4, MAX_HASH_MASKS = 16 };
/* All masks below are represented exactly by a number of a description. */
#define MAX_HASH_MASK ldexp(1, 53)

/* Checks the attributes of the policy clock. An L2 and an L3 write back, and the simulated caches
 * implement the policy only for caches that do not. */
static enum fth_status check_rows(const struct check *check, const char *policy)
{
    const double rows = number(check, "rows"), row_ways = number(check, "row_ways");
    const double ways = number(check, "ways");
    const double tags = rows * (isnan(row_ways) ? DEFAULT_ROW_WAYS : row_ways);
    const bool clock = policy && strcmp(policy, "clock") == 0;
    if (clock &&
        (strcmp(check->section->name, "l2") == 0 || strcmp(check->section->name, "l3") == 0))
        return refuse(check, "policy", "clock, which an L2 or L3 cannot have");
    if (!clock && !(isnan(rows) && isnan(row_ways)))
        return refuse(check, isnan(rows) ? "row_ways" : "rows",
                      "present, but the policy is not clock");
    if (rows > MAX_ROWS || (!isnan(rows) && ((uint64_t)rows & ((uint64_t)rows - 1)) != 0))
        return refuse(check, "rows", "%.0f is not a power of two up to %d", rows, MAX_ROWS);
    if (row_ways > MAX_ROW_WAYS)
        return refuse(check, "row_ways", "%.0f is more than %d", row_ways, MAX_ROW_WAYS);
    if (tags < ways)
        return refuse(check, "rows", "%.0f, which is too few for %.0f ways", rows, ways);
    return FTH_OK;
}

/* Adds the masks of an attribute to `space`. Fails if they do not select one of `count` sets or
 * rows, or are not independent of each other and of those before: then no line would have some of
 * the sets or rows. */
static enum fth_status check_hash_masks(const struct check *check, const char *name,
                                        const char *selected, struct fth_gf2 *space)
{
    const struct fth_attribute *masks = fth_gpu_attribute(check->gpu, check->section->name, name);
    const double count = number(check, selected), line = number(check, "line_bytes");
    if (!masks)
        return FTH_OK;
    if (isnan(count))
        return refuse(check, name, "%s is missing", selected);
    if (masks->count > MAX_HASH_MASKS || ldexp(1, (int)masks->count) != count)
        return refuse(check, name, "%zu masks do not select one of %.0f %s", masks->count, count,
                      selected);
    for (size_t i = 0; i < masks->count; i++) {
        if (masks->numbers[i] >= MAX_HASH_MASK)
            return refuse(check, name, "%.0f is not below 2^53", masks->numbers[i]);
        if (!isnan(line) && fmod(masks->numbers[i], line) != 0)
            return refuse(check, name, "%.0f has bits inside a line of %.0f bytes",
                          masks->numbers[i], line);
        if (!fth_gf2_add(space, (uint64_t)masks->numbers[i]))
            return refuse(check, name, "%.0f is the XOR of other masks", masks->numbers[i]);
    }
    return FTH_OK;
}

/* Checks the hash of sets and rows. */
static enum fth_status check_hash(const struct check *check)
{
    const char *section = check->section->name;
    const struct fth_attribute *sets = fth_gpu_attribute(check->gpu, section, "set_masks");
    const struct fth_attribute *rows = fth_gpu_attribute(check->gpu, section, "row_masks");
    const char *policy = fth_gpu_text(check->gpu, section, "policy");
    struct fth_gf2 space = {0};
    if (sets && strcmp(section, "l2") == 0)
        return refuse(check, "set_masks", "present, but an L2 cannot have them");
    if (sets && fth_gpu_text(check->gpu, section, "index"))
        return refuse(check, "set_masks", "present, but index is present, too");
    if (sets && !rows && policy && strcmp(policy, "clock") == 0)
        return refuse(check, "set_masks", "row_masks is missing, which the policy clock needs");
    if (rows && !sets && number(check, "sets") != 1)
        return refuse(check, "row_masks", "set_masks is missing");
    FTH_TRY(check_hash_masks(check, "set_masks", "sets", &space));
    return check_hash_masks(check, "row_masks", "rows", &space);
}

static enum fth_status check_replacement(const struct check *check)
{
    const char *section = check->section->name;
    const char *policy = fth_gpu_text(check->gpu, section, "policy");
    const struct fth_attribute *weights = fth_gpu_attribute(check->gpu, section, "way_weights");
    bool weighted = policy && strcmp(policy, "weighted") == 0;
    if (weighted && !weights)
        return refuse(check, "policy", "weighted, but way_weights is missing");
    if (weights && !weighted)
        return refuse(check, "way_weights", "present, but the policy is not weighted");
    double ways = number(check, "ways");
    if (weights && !isnan(ways) && (double)weights->count != ways)
        return refuse(check, "way_weights", "has length %zu, but there are %g ways", weights->count,
                      ways);

    FTH_TRY(check_rows(check, policy));
    FTH_TRY(check_hash(check));
    const char *index = fth_gpu_text(check->gpu, section, "index");
    double sets = number(check, "sets");
    unsigned bits[64];
    int count = index ? fth_index_parse(index, bits) : 0;
    if (count > 0 && !isnan(sets) && ldexp(1, count) != sets)
        return refuse(check, "index", "%d bits select %.0f sets, but there are %.0f", count,
                      ldexp(1, count), sets);
    return FTH_OK;
}

/* Checks that lists that belong together have the same length, and their values against each other.
 */
static enum fth_status check_lists(const struct check *check)
{
    static const char *const pairs[][2] = {{"overflow_pages", "overflow_missed"},
                                           {"spectrum_patterns", "spectrum_cycles"},
                                           {"access_variants", "access_fill_bytes"}};
    const char *section = check->section->name;
    for (size_t i = 0; i < FTH_COUNT(pairs); i++) {
        const struct fth_attribute *a = fth_gpu_attribute(check->gpu, section, pairs[i][0]);
        const struct fth_attribute *b = fth_gpu_attribute(check->gpu, section, pairs[i][1]);
        const size_t first = a ? a->count : 0, second = b ? b->count : 0;
        if (first != second)
            return refuse(check, pairs[i][0], "has length %zu, but %s has length %zu", first,
                          pairs[i][1], second);
    }
    const struct fth_attribute *pages = fth_gpu_attribute(check->gpu, section, "overflow_pages");
    const struct fth_attribute *missed = fth_gpu_attribute(check->gpu, section, "overflow_missed");
    for (size_t i = 0; pages && i < pages->count; i++)
        if (missed->numbers[i] > pages->numbers[i])
            return refuse(check, "overflow_missed", "%.0f exceeds overflow_pages (%.0f)",
                          missed->numbers[i], pages->numbers[i]);
    const struct fth_attribute *partition_by_sm =
        fth_gpu_attribute(check->gpu, section, "partition_by_sm");
    const double partitions = number(check, "partitions");
    for (size_t i = 0; partition_by_sm && i < partition_by_sm->count; i++)
        if (partition_by_sm->numbers[i] >= partitions)
            return refuse(check, "partition_by_sm", "%.0f, but there are %.0f partitions",
                          partition_by_sm->numbers[i], partitions);
    return FTH_OK;
}

/* Checks a list with one number per SM. `*list` becomes the attribute, or NULL without it. */
static enum fth_status check_by_sm(const struct check *check, const char *name,
                                   const struct fth_attribute **list)
{
    const double sms = number(check, "sms");
    *list = fth_gpu_attribute(check->gpu, check->section->name, name);
    if (*list && !isnan(sms) && (double)(*list)->count != sms)
        return refuse(check, name, "has length %zu, but there are %.0f SMs", (*list)->count, sms);
    for (size_t i = 0; *list && i < (*list)->count; i++)
        if ((*list)->numbers[i] >= (double)(*list)->count)
            return refuse(check, name, "%.0f is not below the number of SMs, %zu",
                          (*list)->numbers[i], (*list)->count);
    return FTH_OK;
}

/* Checks that the slices of the L2, their hash and their latencies fit together. */
static enum fth_status check_slices(const struct check *check)
{
    const char *section = check->section->name;
    const struct fth_attribute *masks = fth_gpu_attribute(check->gpu, section, "slice_masks");
    const struct fth_attribute *groups =
        fth_gpu_attribute(check->gpu, section, "slice_group_by_sm");
    const struct fth_attribute *cycles =
        fth_gpu_attribute(check->gpu, section, "slice_latency_cycles");
    const double slices = number(check, "slices"), partitions = number(check, "partitions");
    const double each = slices / (isnan(partitions) ? 1 : partitions);
    double group_count = 0;
    if (!masks && !groups && !cycles)
        return FTH_OK;
    if (isnan(slices))
        return refuse(check, masks ? "slice_masks" : "slice_latency_cycles", "slices is missing");
    if (each != floor(each))
        return refuse(check, "slices", "%.0f is not a multiple of the number of partitions, %.0f",
                      slices, partitions);
    if (masks && (masks->count > 16 || each > ldexp(1, (int)masks->count)))
        return refuse(check, "slice_masks", "%zu masks cannot select %.0f slices", masks->count,
                      each);
    for (size_t i = 0; groups && i < groups->count; i++)
        group_count = fmax(group_count, groups->numbers[i] + 1);
    if (!groups != !cycles || (cycles && (double)cycles->count != group_count * each))
        return refuse(
            check, "slice_latency_cycles",
            "has length %zu, but slice_group_by_sm has %.0f groups and a partition has %g "
            "slices",
            cycles ? cycles->count : 0, group_count, each);
    return FTH_OK;
}

/* Checks where the SMs are, and in which order they receive blocks. */
static enum fth_status check_placement(const struct check *check)
{
    const char *section = check->section->name,
               *order = fth_gpu_text(check->gpu, section, "block_order");
    const struct fth_attribute *gpcs, *tpcs;
    const struct fth_attribute *first = fth_gpu_attribute(check->gpu, section, "block_first_gpcs");
    FTH_TRY(check_by_sm(check, "gpc_by_sm", &gpcs));
    FTH_TRY(check_by_sm(check, "tpc_by_sm", &tpcs));
    /* Longer lists are not used (block_order.c). */
    for (size_t i = 0; gpcs && tpcs && tpcs->count <= FTH_MAX_MAPPED_SMS && i < tpcs->count; i++)
        for (size_t j = 0; j < i && j < gpcs->count && i < gpcs->count; j++)
            if (tpcs->numbers[i] == tpcs->numbers[j] && gpcs->numbers[i] != gpcs->numbers[j])
                return refuse(check, "tpc_by_sm", "SMs %zu and %zu of TPC %.0f are in two GPCs", j,
                              i, tpcs->numbers[i]);
    if (order && strcmp(order, "gpc") == 0 && !gpcs)
        return refuse(check, "block_order", "gpc, but gpc_by_sm is missing");
    for (size_t i = 0; first && i < first->count; i++) {
        size_t sm = 0;
        while (gpcs && sm < gpcs->count && gpcs->numbers[sm] != first->numbers[i])
            sm++;
        if (!gpcs || sm == gpcs->count)
            return refuse(check, "block_first_gpcs", "%.0f is not in gpc_by_sm", first->numbers[i]);
    }
    return FTH_OK;
}

/* Checks that attributes of writes do not contradict each other: what a write evicts is only known
 * if it evicts something, and a far copy needs a second partition. */
static enum fth_status check_writes(const struct check *check)
{
    const char *section = check->section->name;
    const char *hit = fth_gpu_text(check->gpu, section, "write_hit");
    if (fth_gpu_attribute(check->gpu, section, "write_evicts") && hit && strcmp(hit, "evict") != 0)
        return refuse(check, "write_evicts", "present, but write_hit is %s", hit);
    if (fth_gpu_attribute(check->gpu, section, "write_far_copy") &&
        number(check, "partitions") == 1)
        return refuse(check, "write_far_copy", "present, but there is only one partition");
    return FTH_OK;
}

/* Checks the lists of the variants of accesses: no variant is in the list twice, and the lists that
 * can be absent have an element for each. */
static enum fth_status check_variants(const struct check *check)
{
    const char *section = check->section->name;
    const struct fth_attribute *variants =
        fth_gpu_attribute(check->gpu, section, "access_variants");
    static const char *const lists[] = {"access_priorities", "access_keeps"};
    const size_t count = variants ? variants->count : 0;
    for (size_t i = 0; i < FTH_COUNT(lists); i++) {
        const struct fth_attribute *list = fth_gpu_attribute(check->gpu, section, lists[i]);
        if (list && list->count != count)
            return refuse(check, lists[i], "has length %zu, but access_variants has length %zu",
                          list->count, count);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(variants->texts[i], variants->texts[j]) == 0)
                return refuse(check, "access_variants", "contains '%s' twice", variants->texts[i]);
    return FTH_OK;
}

/* Checks all relations within the section. */
static enum fth_status check_relations(const struct check *check)
{
    static const struct {
        bool divides; /* `part` must divide `whole`; otherwise it must not exceed it */
        const char *part, *whole;
    } pairs[] = {
        {true, "line_bytes", "size_bytes"},
        {true, "sector_bytes", "line_bytes"},
        {true, "line_bytes", "default_size_bytes"},
        {false, "default_size_bytes", "size_bytes"},
        {false, "size_bytes", "unified_bytes"},
        {false, "onset_bytes", "full_miss_bytes"},
        {false, "max_block_bytes", "size_bytes"},
        {false, "latency_cycles", "far_latency_cycles"},
        {false, "latency_cycles", "cold_latency_cycles"},
        {false, "read_bytes_per_s", "peak_bytes_per_s"},
        {false, "write_bytes_per_s", "peak_bytes_per_s"},
        {false, "copy_bytes_per_s", "peak_bytes_per_s"},
        {false, "xcds", "sms"},
        {false, "shader_arrays", "sms"},
    };
    for (size_t i = 0; i < FTH_COUNT(pairs); i++)
        FTH_TRY(pairs[i].divides ? check_divides(check, pairs[i].part, pairs[i].whole)
                                 : check_order(check, pairs[i].part, pairs[i].whole));
    FTH_TRY(check_structure(check));
    FTH_TRY(check_replacement(check));
    FTH_TRY(check_placement(check));
    FTH_TRY(check_writes(check));
    FTH_TRY(check_variants(check));
    FTH_TRY(check_slices(check));
    return check_lists(check);
}

/* ---- relations between sections ---- */

/* Checks how many instances an element has, and how many SMs one of them serves. Some SMs of a
 * group can be disabled, so that instances times SMs can be more than the SMs of the device. But
 * every SM has an instance, and every instance serves an SM. */
static enum fth_status check_instances(const struct check *check)
{
    const double sms = fth_gpu_number(check->gpu, "device", "sms", NAN);
    const double instances = number(check, "instances");
    const double each = number(check, "sms_per_instance"), per_sm = number(check, "per_sm");
    const char *scope = fth_gpu_text(check->gpu, check->section->name, "scope");
    if (each > sms)
        return refuse(check, "sms_per_instance", "%.0f exceeds device.sms (%.0f)", each, sms);
    if (each > 1 && !isnan(per_sm))
        return refuse(check, "sms_per_instance", "%.0f, but per_sm is present, too", each);
    if (instances > sms * (isnan(per_sm) ? 1 : per_sm))
        return refuse(check, "instances", "%.0f are more than device.sms (%.0f)%s", instances, sms,
                      isnan(per_sm) ? "" : " x per_sm");
    if (instances * each < sms)
        return refuse(check, "instances", "%.0f of %.0f SMs each are too few for device.sms (%.0f)",
                      instances, each, sms);
    if (scope && strcmp(scope, "sm") == 0 && (each > 1 || instances < sms))
        return refuse(check, "scope", "sm, but an instance serves several SMs");
    if (scope && strcmp(scope, "gpu") == 0 && (instances > 1 || each < sms))
        return refuse(check, "scope", "gpu, but an instance does not serve all SMs");
    return FTH_OK;
}

/* Checks that the element does not contradict another one: LDS is AMD's name of shared memory and
 * has one size, and an L3 is behind the L2. */
static enum fth_status check_levels(const struct check *check)
{
    const char *self = check->section->name;
    const double l2 = fth_gpu_number(check->gpu, "l2", "latency_cycles", NAN);
    if (strcmp(self, "lds") == 0 && fth_gpu_find_section(check->gpu, "shared"))
        return refuse(check, NULL, "present, but elements.shared is present, too");
    if (strcmp(self, "lds") == 0 && fth_gpu_attribute(check->gpu, self, "carveout_bytes"))
        return refuse(check, "carveout_bytes", "present, but LDS has a fixed size");
    if (strcmp(self, "l3") == 0 && number(check, "latency_cycles") < l2)
        return refuse(check, "latency_cycles", "%g is below elements.l2.latency_cycles (%g)",
                      number(check, "latency_cycles"), l2);
    return FTH_OK;
}

/* Checks that the carve-outs are in ascending order, on which the model relies, and that there is
 * one L1 size per carve-out. */
static enum fth_status check_carveouts(const struct check *check)
{
    const char *self = check->section->name;
    const struct fth_attribute *l1_sizes =
        fth_gpu_attribute(check->gpu, self, "carveout_size_bytes");
    const struct fth_attribute *sizes = fth_gpu_attribute(check->gpu, "shared", "carveout_bytes");
    const size_t count = sizes ? sizes->count : 0;
    for (size_t i = 1; strcmp(self, "shared") == 0 && i < count; i++)
        if (sizes->numbers[i] <= sizes->numbers[i - 1])
            return refuse(check, "carveout_bytes", "not in ascending order: %.0f follows %.0f",
                          sizes->numbers[i], sizes->numbers[i - 1]);
    if (l1_sizes && l1_sizes->count != count)
        return refuse(check, "carveout_size_bytes",
                      "has length %zu, but elements.shared.carveout_bytes has length %zu",
                      l1_sizes->count, count);
    return FTH_OK;
}

static bool contains(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* Checks that caches that share storage list each other. */
static enum fth_status check_sharing(const struct check *check)
{
    const char *self = check->section->name;
    const struct fth_attribute *shared = fth_gpu_attribute(check->gpu, self, "shared_with");
    for (size_t i = 0; shared && i < shared->count; i++) {
        const char *other = shared->texts[i];
        if (strcmp(other, self) == 0)
            return refuse(check, "shared_with", "contains the element itself");
        if (strcmp(other, "device") == 0 || strcmp(other, "noise") == 0 ||
            !fth_gpu_find_section(check->gpu, other))
            return refuse(check, "shared_with", "'%s' is not an element of this GPU", other);
        if (!contains(fth_gpu_attribute(check->gpu, other, "shared_with"), self))
            return refuse(check, "shared_with",
                          "contains %s, but elements.%s.shared_with does not contain %s", other,
                          other, self);
    }
    return FTH_OK;
}

static enum fth_status check_attribute(const struct check *check,
                                       const struct fth_attribute *attribute)
{
    const char *section = check->section->name;
    const struct fth_attribute_def *def = fth_schema_attribute(section, attribute->name);
    if (!def)
        return FTH_OK;
    if (attribute->kind != def->kind)
        return refuse(check, attribute->name, "has the wrong type");
    if (fth_gpu_unknown(check->gpu, section, attribute->name))
        return refuse(check, attribute->name, "has a value and is also in \"unknown\"");
    FTH_TRY(check_value(check, attribute, def));
    return check_provenance(check, attribute);
}

static enum fth_status check_section(struct check *check, const struct fth_gpu_section *section)
{
    check->section = section;
    for (size_t i = 0; i < section->count; i++)
        FTH_TRY(check_attribute(check, &section->attributes[i]));
    FTH_TRY(check_relations(check));
    FTH_TRY(check_sharing(check));
    FTH_TRY(check_instances(check));
    FTH_TRY(check_levels(check));
    return check_carveouts(check);
}

enum fth_status fth_gpu_check(const struct fth_gpu *gpu, const char *operation,
                              const char *argument, struct fth_error *error)
{
    struct check check = {.gpu = gpu,
                          .section = &gpu->device,
                          .operation = operation,
                          .argument = argument,
                          .error = error};
    if (!fth_gpu_text(gpu, "device", "name"))
        return refuse(&check, "name", "missing");
    FTH_TRY(check_section(&check, &gpu->device));
    FTH_TRY(check_section(&check, &gpu->noise));
    for (size_t i = 0; i < gpu->element_count; i++)
        FTH_TRY(check_section(&check, &gpu->elements[i]));
    return FTH_OK;
}

enum fth_status fth_gpu_validate(const struct fth_gpu *gpu, struct fth_error *error)
{
    return fth_gpu_check(gpu, "check GPU description", NULL, error);
}
