/* Compares a measured description with the true one; see closure_compare.h. */
#include "closure/closure_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double max_wrong_confidence = 0.95;

/* The figures to compare if the truth has them. Figures with a tolerance of 0 are the structure of
 * the GPU. The tolerance of the others is in cycles: the rounding of the description, or the
 * resolution of the method. */
static const struct figure {
    const char *element, *attribute;
    double tolerance;
    bool may_be_missing; /* need not be found, nor be unknown for a reason */
} figures[] = {
    {"l1", "size_bytes", 0, false},
    {"l1", "default_size_bytes", 0, false},
    {"l1", "line_bytes", 0, false},
    {"l1", "sector_bytes", 0, false},
    {"l1", "latency_cycles", 0.05, false},
    {"l1", "per_sm", 0, false},
    {"texture", "size_bytes", 0, false},
    {"texture", "line_bytes", 0, false},
    {"texture", "sector_bytes", 0, false},
    {"texture", "latency_cycles", 0.05, false},
    {"texture", "per_sm", 0, false},
    {"readonly", "size_bytes", 0, false},
    {"readonly", "line_bytes", 0, false},
    {"readonly", "sector_bytes", 0, false},
    {"readonly", "latency_cycles", 0.05, false},
    {"readonly", "per_sm", 0, false},
    {"constant_l1", "size_bytes", 0, false},
    {"constant_l1", "line_bytes", 0, false},
    {"constant_l1", "latency_cycles", 0.05, false},
    {"constant_l1", "per_sm", 0, false},
    {"constant_l15", "size_bytes", 0, false},
    {"constant_l15", "line_bytes", 0, false},
    {"constant_l15", "latency_cycles", 0.05, false},
    {"instruction_l0", "size_bytes", 0, true}, /* a single cache is called L1 */
    {"instruction_l1", "size_bytes", 0, false},
    {"instruction_l15", "size_bytes", 0, false},
    {"instruction_l0", "cycles_per_instruction", 0.05, true},
    {"instruction_l1", "cycles_per_instruction", 0.05, false},
    {"instruction_l15", "cycles_per_instruction", 0.05, false},
    {"shared", "latency_cycles", 0.05, false},
    {"cluster_shared", "latency_cycles", 0.05, false},
    {"cluster_shared", "far_latency_cycles", 0.05, false},
    {"l2", "latency_cycles", 0.05, false},
    {"l2", "partitions", 0, false},
    {"l2", "far_latency_cycles", 0.5, false}, /* from single loads: whole cycles */
    {"l2", "line_bytes", 0, false},
    {"l2", "fill_bytes", 0, false},
    {"memory", "latency_cycles", 0.5, false},
    {"memory", "far_latency_cycles", 0.5, false},
    {"tlb_l1", "reach_bytes", 0, false},
    {"tlb_l1", "page_bytes", 0, false},
    {"tlb_l1", "entries", 0, false},
    {"tlb_l1", "miss_penalty_cycles", 0.6, false},
    {"tlb_l2", "reach_bytes", 0, true}, /* can exceed the size of memory */
    {"tlb_l2", "page_bytes", 0, true},
    {"tlb_l2", "entries", 0, true},
    {"tlb_l2", "miss_penalty_cycles", 0.6, true},
    {"tlb_l3", "reach_bytes", 0, true},
    {"tlb_l3", "page_bytes", 0, true},
    {"tlb_l3", "entries", 0, true},
    {"tlb_l3", "miss_penalty_cycles", 0.6, true},
};
/* Elements whose "shared_with" is compared. */
static const char *const sharing[] = {"l1", "texture", "readonly", "constant_l15"};
/* Caches whose resident_bytes and full_miss_bytes follow from their structure. */
static const char *const data_caches[] = {"l1", "texture", "readonly"};
/* Further rows: whether elements were found that do not exist, and whether a latency from whole
 * passes contradicts that from single loads. */
static const char *const further[] = {"elements", "timing"};
enum {
    FIGURES = FTH_COUNT(figures),
    SHARING_ROW = FIGURES,
    EVIDENCE_ROW = SHARING_ROW + FTH_COUNT(sharing),
    ELEMENTS_ROW = EVIDENCE_ROW + 2 * FTH_COUNT(data_caches),
    TIMING_ROW,
    ROWS
};
_Static_assert((int)ROWS <= (int)MAX_COMPARED, "one row per figure");

/* A latency is close if it differs by at most this many cycles, or by this fraction. */
static const double close_cycles = 1, close_fraction = 0.01;
/* The same for L2 and memory if the slices of the L2 have latencies of their own: in the
 * description of the H200, the average over the slices is 1.2 % below that of the L2. */
static const double slices_fraction = 0.015;
/* Resolution of full_miss_bytes, as a fraction of the size: FULL_MISS_PARTS in capacity.c. */
static const double full_miss_resolution = 1.0 / 64;
/* Difference of resident_bytes that a few slow hits cause: same_resident in capacity.c. */
static const double resident_resolution = 0.03;

size_t compared_count(void)
{
    return ROWS;
}

void compared_name(size_t row, char *name, size_t size)
{
    if (row < FIGURES)
        snprintf(name, size, "%s.%s", figures[row].element, figures[row].attribute);
    else if (row < EVIDENCE_ROW)
        snprintf(name, size, "%s.shared_with", sharing[row - SHARING_ROW]);
    else if (row < ELEMENTS_ROW)
        snprintf(name, size, "%s.%s", data_caches[(row - EVIDENCE_ROW) / 2],
                 (row - EVIDENCE_ROW) % 2 ? "full_miss_bytes" : "resident_bytes");
    else
        snprintf(name, size, "%s", further[row - ELEMENTS_ROW]);
}

/* One comparison, and where its verdicts go. */
struct comparison {
    const char *name; /* of the GPU */
    const struct fth_gpu *truth, *found;
    struct verdicts *verdicts;
    struct fth_buffer *lines, *records; /* records: NULL if they are not wanted */
};

/* Whether a row compares the structure of the GPU, not a time. */
static bool is_structural(size_t row)
{
    return row < FIGURES ? figures[row].tolerance == 0 : row < ELEMENTS_ROW;
}

/* Appends a figure that was found to the records. */
static void record(const struct comparison *comparison, size_t row, enum verdict verdict,
                   const struct fth_attribute *measured)
{
    const char *method = measured->method ? measured->method : "";
    char name[64];
    double repeats = NAN, agree = NAN;
    /* The repeats are the last part of the method that begins with a number (discover/note.c). */
    for (const char *part = method; (part = strstr(part, "; ")) != NULL;) {
        part += 2;
        char *end;
        const double number = strtod(part, &end);
        if (strncmp(end, " of ", 4) == 0) {
            agree = number;
            repeats = strtod(end + 4, &end);
            if (strncmp(end, " repeats agree", 14) == 0)
                break;
        } else if (strncmp(end, " % of the resamples", 19) == 0) {
            repeats = 10; /* which resamples count as */
            agree = number / 10;
            break;
        }
        agree = repeats = NAN;
    }
    compared_name(row, name, sizeof name);
    fth_buffer_format(comparison->records, "%s,%s,%s,%d,%g,%g,%g,%d,%d,%d\n", comparison->name,
                      name, is_structural(row) ? "structure" : "time",
                      verdict == EXACT || verdict == CLOSE, measured->confidence, repeats, agree,
                      strstr(method, " agree, but ") != NULL,
                      strstr(method, "interrupted requests") != NULL,
                      strstr(method, "of the resamples agree") != NULL);
}

/* Counts the verdict. Adds a line with the details unless the figure is exact. `measured`: the
 * figure, or NULL if it was not found. */
FTH_PRINTF(5, 6)
static void judge(const struct comparison *comparison, size_t row, enum verdict verdict,
                  const struct fth_attribute *measured, const char *format, ...)
{
    static const char *const words[VERDICTS] = {"exact",     "close",   "unknown",
                                                "no reason", "doubted", "WRONG"};
    char text[400], name[64];
    va_list arguments;
    comparison->verdicts->counts[row][verdict]++;
    if (measured && comparison->records)
        record(comparison, row, verdict, measured);
    if (verdict == EXACT)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    compared_name(row, name, sizeof name);
    fth_buffer_format(comparison->lines, "# %s: %s: %s: %s\n", comparison->name, words[verdict],
                      name, text);
}

/* Returns the verdict on a wrong figure. One without a confidence (NAN) counts as certain. */
static enum verdict wrong(const struct fth_attribute *measured)
{
    return measured && measured->confidence < max_wrong_confidence ? DOUBTED : CONTRADICTED;
}

static bool list_contains(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* A constant L1.5 of at least 64 KiB, the size of a constant bank, can only be measured if it also
 * holds code. */
static bool is_not_measurable(const struct fth_gpu *truth, const struct figure *figure)
{
    return strcmp(figure->element, "constant_l15") == 0 &&
           strcmp(figure->attribute, "size_bytes") == 0 &&
           fth_gpu_number(truth, "constant_l15", "size_bytes", 0) >= 65536 &&
           !fth_gpu_attribute(truth, "constant_l15", "shared_with");
}

/* Returns why the figure is unknown: its own reason, or that of the first figures of its element,
 * on which the others depend. NULL: there is no reason. */
static const char *reason_of(const struct fth_gpu *found, const char *element,
                             const char *attribute)
{
    static const char *const first[] = {"size_bytes", "latency_cycles", "reach_bytes"};
    const char *reason = fth_gpu_unknown(found, element, attribute);
    for (size_t i = 0; i < FTH_COUNT(first) && !reason; i++)
        reason = fth_gpu_unknown(found, element, first[i]);
    if (!reason && strncmp(attribute, "far_", 4) == 0)
        reason = fth_gpu_unknown(found, "l2", "partitions");
    return reason;
}

static void judge_missing(const struct comparison *comparison, size_t row,
                          const struct figure *figure, double expected)
{
    const char *reason = reason_of(comparison->found, figure->element, figure->attribute);
    const bool expects_nothing = is_not_measurable(comparison->truth, figure);
    if (!reason && figure->may_be_missing)
        return;
    judge(comparison, row,
          !reason           ? UNEXPLAINED
          : expects_nothing ? EXACT
                            : UNKNOWN,
          NULL, "is %g, not found: %s", expected, reason ? reason : "no reason");
}

/* Returns the tolerance of a figure. Single loads are measured in whole cycles. If slices of the L2
 * have latencies of their own, the average depends on the slices that the loads are in. */
static double tolerance_of(const struct comparison *comparison, const struct figure *figure,
                           const struct fth_attribute *expected,
                           const struct fth_attribute *measured)
{
    double tolerance = figure->tolerance;
    if (tolerance > 0 && measured->method && strncmp(measured->method, "single loads", 12) == 0)
        tolerance = fmax(tolerance, 0.5);
    if (tolerance > 0 && fth_gpu_attribute(comparison->truth, "l2", "slice_latency_cycles") &&
        (strcmp(figure->element, "l2") == 0 || strcmp(figure->element, "memory") == 0))
        tolerance = fmax(tolerance, slices_fraction * expected->number);
    return tolerance;
}

static void compare_figure(const struct comparison *comparison, size_t row)
{
    const struct figure *figure = &figures[row];
    const struct fth_attribute *expected =
        fth_gpu_attribute(comparison->truth, figure->element, figure->attribute);
    const struct fth_attribute *measured =
        fth_gpu_attribute(comparison->found, figure->element, figure->attribute);
    if (!expected)
        return;
    if (!measured) {
        judge_missing(comparison, row, figure, expected->number);
        return;
    }
    const double tolerance = tolerance_of(comparison, figure, expected, measured);
    const double close =
        tolerance > 0 ? fmax(close_cycles, close_fraction * expected->number) : tolerance;
    const double error = fabs(measured->number - expected->number);
    judge(comparison, row,
          is_not_measurable(comparison->truth, figure) ? wrong(measured)
          : error <= tolerance + 1e-9                  ? EXACT
          : error <= close + 1e-9                      ? CLOSE
                                                       : wrong(measured),
          measured, "is %g, found %g (confidence %g)", expected->number, measured->number,
          measured->confidence);
}

/* Whether another data cache was found, so that a data cache can share with it. A constant L1.5 can
 * always share with code. */
static bool has_other_cache(const struct fth_gpu *found, const char *element)
{
    bool other = strcmp(element, "constant_l15") == 0;
    for (size_t i = 0; i < FTH_COUNT(data_caches); i++)
        other = other || (strcmp(data_caches[i], element) != 0 &&
                          fth_gpu_attribute(found, data_caches[i], "size_bytes"));
    return other;
}

/* Both must list the same of the elements in `sharing`. An empty list says that the cache shares
 * with none; if there is no list, there must be a reason. */
static void compare_sharing(const struct comparison *comparison, size_t index)
{
    const char *element = sharing[index];
    const size_t row = SHARING_ROW + index;
    const struct fth_attribute *expected =
        fth_gpu_attribute(comparison->truth, element, "shared_with");
    const struct fth_attribute *measured =
        fth_gpu_attribute(comparison->found, element, "shared_with");
    if (fth_gpu_attribute_count(comparison->truth, element) == 0 ||
        (!expected && !measured && !has_other_cache(comparison->found, element)))
        return;
    if (!measured) {
        const char *reason = reason_of(comparison->found, element, "shared_with");
        judge(comparison, row, reason ? UNKNOWN : UNEXPLAINED, NULL, "not found: %s",
              reason ? reason : "no reason");
        return;
    }
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (list_contains(expected, sharing[i]) != list_contains(measured, sharing[i])) {
            judge(comparison, row, wrong(measured), measured, "%s: %s (confidence %g)", sharing[i],
                  list_contains(expected, sharing[i]) ? "not found" : "found, but wrong",
                  measured->confidence);
            return;
        }
    judge(comparison, row, EXACT, measured, "%s", "");
}

/* With LRU or FIFO replacement and the index function "mod", a reverse walk over more than the
 * cache holds hits exactly what the cache holds, and a footprint of one more line per set has no
 * hit. */
static void compare_evidence(const struct comparison *comparison, size_t index)
{
    const char *element = data_caches[index];
    const struct fth_gpu *truth = comparison->truth;
    const struct fth_attribute *policy = fth_gpu_attribute(truth, element, "policy");
    const struct fth_attribute *function = fth_gpu_attribute(truth, element, "index");
    const struct fth_attribute *resident =
        fth_gpu_attribute(comparison->found, element, "resident_bytes");
    const struct fth_attribute *full_miss =
        fth_gpu_attribute(comparison->found, element, "full_miss_bytes");
    if (!policy || !function || fth_gpu_attribute(truth, element, "set_ways") ||
        (strcmp(policy->text, "lru") != 0 && strcmp(policy->text, "fifo") != 0) ||
        strcmp(function->text, "mod") != 0)
        return;
    const double size = fth_gpu_number(truth, element, "size_bytes", 0);
    const double way =
        fth_gpu_number(truth, element, "line_bytes", 0) * fth_gpu_number(truth, element, "sets", 0);
    if (resident)
        judge(comparison, EVIDENCE_ROW + 2 * index,
              resident->number == size                                      ? EXACT
              : fabs(resident->number - size) <= resident_resolution * size ? CLOSE
                                                                            : wrong(resident),
              resident, "is %g, found %g (confidence %g)", size, resident->number,
              resident->confidence);
    if (full_miss)
        judge(comparison, EVIDENCE_ROW + 2 * index + 1,
              full_miss->number > size &&
                      full_miss->number <= size + way + full_miss_resolution * size + 256
                  ? EXACT
                  : wrong(full_miss),
              full_miss, "is %g to %g, found %g (confidence %g)", size, size + way,
              full_miss->number, full_miss->confidence);
}

/* Timing whole passes and timing single loads must give the same latencies on a simulated GPU. The
 * note of a latency reports a difference. */
static void compare_timing_methods(const struct comparison *comparison)
{
    static const char *const elements[] = {"l1", "texture", "readonly", "constant_l1", "shared"};
    for (size_t i = 0; i < FTH_COUNT(elements); i++) {
        const struct fth_attribute *cycles =
            fth_gpu_attribute(comparison->found, elements[i], "latency_cycles");
        if (cycles)
            judge(comparison, TIMING_ROW,
                  cycles->note && strstr(cycles->note, "load by load") ? CLOSE : EXACT, NULL,
                  "%s: %s", elements[i], cycles->note ? cycles->note : "");
    }
}

static unsigned count_instruction_caches(const struct fth_gpu *gpu)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    unsigned count = 0;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        count += fth_gpu_attribute_count(gpu, names[i]) > 0;
    return count;
}

/* Finds elements that were found although the truth does not have them. */
static void find_nonexistent(const struct comparison *comparison)
{
    static const char *const elements[] = {"texture", "readonly", "constant_l1",    "constant_l15",
                                           "tlb_l1",  "tlb_l2",   "cluster_shared", "tlb_l3"};
    const struct fth_gpu *truth = comparison->truth, *found = comparison->found;
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        if (fth_gpu_attribute_count(found, elements[i]) &&
            !fth_gpu_attribute_count(truth, elements[i])) {
            const bool tlb = strncmp(elements[i], "tlb", 3) == 0;
            const struct fth_attribute *most =
                fth_gpu_attribute(found, elements[i], tlb ? "reach_bytes" : "size_bytes");
            if (!most && tlb) /* its penalty is the only figure */
                most = fth_gpu_attribute(found, elements[i], "miss_penalty_cycles");
            judge(comparison, ELEMENTS_ROW, wrong(most), most, "%s does not exist (confidence %g)",
                  elements[i], most ? most->confidence : NAN);
        }
    /* Two instruction caches may have any two of the three names. */
    if (count_instruction_caches(found) > count_instruction_caches(truth))
        judge(comparison, ELEMENTS_ROW, CONTRADICTED, NULL, "%u instruction caches, not %u",
              count_instruction_caches(found), count_instruction_caches(truth));
    const struct fth_attribute *smaller = fth_gpu_attribute(found, "l1", "default_size_bytes");
    if (smaller && !fth_gpu_attribute(truth, "l1", "default_size_bytes") &&
        !fth_gpu_attribute(truth, "l1", "unified_bytes"))
        judge(comparison, ELEMENTS_ROW, wrong(smaller), smaller, "%s",
              "the L1 does not shrink with the carve-out");
}

/* Returns whether the L1 caches global loads. */
static bool caches_global(const struct fth_gpu *gpu)
{
    const struct fth_attribute *caches = fth_gpu_attribute(gpu, "l1", "caches");
    return caches ? list_contains(caches, "global")
                  : fth_gpu_attribute(gpu, "l1", "size_bytes") != NULL;
}

void compare_gpus(const char *name, const struct fth_gpu *truth, const struct fth_gpu *found,
                  struct verdicts *verdicts, struct fth_buffer *lines, struct fth_buffer *records)
{
    const struct comparison comparison = {name, truth, found, verdicts, lines, records};
    const bool global = caches_global(truth);
    const struct fth_attribute *l1 = fth_gpu_attribute(found, "l1", "size_bytes");
    if (!global && l1)
        judge(&comparison, ELEMENTS_ROW, wrong(l1), l1, "%s",
              "an L1 was found, but global loads are not cached");
    for (size_t i = 0; i < FIGURES; i++)
        if (global || strcmp(figures[i].element, "l1") != 0)
            compare_figure(&comparison, i);
    for (size_t i = 0; i < FTH_COUNT(sharing); i++)
        if (global || strcmp(sharing[i], "l1") != 0)
            compare_sharing(&comparison, i);
    for (size_t i = 0; i < FTH_COUNT(data_caches); i++)
        if (global || strcmp(data_caches[i], "l1") != 0)
            compare_evidence(&comparison, i);
    find_nonexistent(&comparison);
    compare_timing_methods(&comparison);
}
