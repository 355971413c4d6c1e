/* 'fathom dissect': measures the sets, ways, index function and replacement policy of each cache
 * that a discovery found. The results become attributes with a confidence, or reasons under
 * "unknown". */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of timed passes over one line more than fits, including two warm-up passes. The latencies
 * of all loads of these passes are the *series* of a cache, which dissect prints and --series
 * saves. Heuristic. */
enum { SERIES_PASSES = 6 };

static const struct {
    const char *element;
    enum fth_path path;
    int carveout_percent; /* 0: no shared memory, so that the L1 is largest; -1: driver's choice */
} caches[] = {
    {"l1", FTH_PATH_CA, 0},
    {"texture", FTH_PATH_TEXTURE, 0},
    {"readonly", FTH_PATH_READONLY, 0},
    {"constant_l1", FTH_PATH_CONSTANT, -1},
    {"constant_l15", FTH_PATH_CONSTANT, -1},
};
/* OTHER_STAGES counts the further steps of the progress display: L2, TLBs, done. */
enum { CACHES = sizeof caches / sizeof caches[0], OTHER_STAGES = 3 };

bool fth_can_dissect(const char *element)
{
    if (strcmp(element, "l2") == 0 || strncmp(element, "tlb_", 4) == 0)
        return true;
    for (size_t i = 0; i < CACHES; i++)
        if (strcmp(caches[i].element, element) == 0)
            return true;
    return false;
}

/* The dissection of one cache. */
struct dissection {
    struct fth_discovery *discovery;
    const struct fth_dissect_options *options;
    const char *element;
    struct fth_cache_plan plan;
    struct fth_overflow overflow;
    bool repeats; /* the same loads miss in every pass over one line more than fits */
};

/* ---- writing attributes ---- */

/* Writes an attribute with its provenance. (The field attribute.note is something else: a remark.)
 */
static enum fth_status note(const struct dissection *dissection, struct fth_attribute attribute,
                            double confidence, size_t samples, const char *method,
                            struct fth_error *error)
{
    struct fth_gpu_section *section;
    enum fth_status status =
        fth_note_section(dissection->discovery->gpu, dissection->element, &section, error);
    attribute.source = FTH_SOURCE_MEASURED;
    attribute.confidence = confidence;
    attribute.samples = samples ? (double)samples : NAN; /* 0: not counted */
    attribute.method = method;
    return status == FTH_OK ? fth_gpu_set(dissection->discovery->gpu, section, &attribute, error)
                            : status;
}

static struct fth_attribute number(const char *name, double value)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBER);
    attribute.number = value;
    return attribute;
}

static struct fth_attribute text(const char *name, const char *value)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_TEXT);
    attribute.text = value;
    return attribute;
}

static enum fth_status unknown(const struct dissection *dissection, const char *attribute,
                               const char *reason, struct fth_error *error)
{
    return fth_note_unknown(dissection->discovery->gpu, dissection->element, attribute, reason,
                            error);
}

/* Writes the same reason for several attributes; the list ends with NULL. */
static enum fth_status all_unknown(const struct dissection *dissection,
                                   const char *const *attributes, const char *reason,
                                   struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (; *attributes && status == FTH_OK; attributes++)
        status = unknown(dissection, *attributes, reason, error);
    return status;
}

static const char *const structure_names[] = {"sets", "ways", "index", NULL};

/* Writes sets x ways x line as the size if it differs from the largest contiguous footprint that
 * fits. A contiguous array need not fill all sets evenly. If the sets differ, `ways` is 0 and
 * `set_ways` has the ways of each set. */
static enum fth_status note_size(const struct dissection *dissection,
                                 const struct fth_structure *found, struct fth_error *error)
{
    uint64_t lines = found->sets * found->ways;
    for (uint64_t set = 0; found->set_ways && set < found->sets; set++)
        lines += found->set_ways[set];
    double bytes = (double)(lines * dissection->plan.line_bytes);
    if (bytes == fth_gpu_number(dissection->discovery->gpu, dissection->element, "size_bytes", NAN))
        return FTH_OK;
    struct fth_attribute size = number("size_bytes", bytes);
    char why[96];
    snprintf(why, sizeof why, "%llu contiguous bytes fit, which do not fill all sets",
             (unsigned long long)dissection->plan.fits_bytes);
    size.note = why;
    return note(dissection, size, found->confidence, found->samples, "sets x ways x line", error);
}

static const char structure_method[] =
    "load one line more than fits and find which lines it evicts; verify with chains that stay in "
    "one set";

/* Writes the index function or, if the schema has no name for it, its formula as the reason. */
static enum fth_status note_index(const struct dissection *dissection,
                                  const struct fth_structure *found, struct fth_error *error)
{
    if (found->index[0])
        return note(dissection, text("index", found->index), found->confidence, found->samples,
                    structure_method, error);
    char reason[320];
    snprintf(reason, sizeof reason, "the set index consists of XORs of address bits (%s)",
             found->hash);
    return unknown(dissection, "index", reason, error);
}

/* Writes a structure that was measured under the largest carve-out, where the cache is smaller. It
 * is assumed that the number of sets does not depend on the carve-out, and that the ways do. */
static enum fth_status note_smaller(const struct dissection *dissection,
                                    const struct fth_structure *found, uint64_t size_bytes,
                                    struct fth_error *error)
{
    char where[96];
    snprintf(where, sizeof where, "measured under the largest carve-out, with %llu ways",
             (unsigned long long)found->ways);
    struct fth_attribute sets = number("sets", (double)found->sets);
    sets.note = where;
    enum fth_status status =
        note(dissection, sets, found->confidence, found->samples, structure_method, error);
    uint64_t lines = size_bytes / dissection->plan.line_bytes;
    if (status == FTH_OK && lines % found->sets)
        status =
            unknown(dissection, "ways", "the lines that fit are not a multiple of the sets", error);
    else if (status == FTH_OK)
        status =
            note(dissection, number("ways", (double)lines / (double)found->sets), found->confidence,
                 found->samples, "bytes that fit / sets / line_bytes", error);
    return status == FTH_OK ? note_index(dissection, found, error) : status;
}

static enum fth_status note_structure(const struct dissection *dissection,
                                      const struct fth_structure *found, struct fth_error *error)
{
    const char *method = structure_method;
    double confidence = found->confidence;
    enum fth_status status = note(dissection, number("sets", (double)found->sets), confidence,
                                  found->samples, method, error);
    if (status == FTH_OK && found->ways)
        status = note(dissection, number("ways", (double)found->ways), confidence, found->samples,
                      method, error);
    if (status == FTH_OK && !found->ways) {
        double *ways = calloc(found->sets, sizeof *ways);
        struct fth_attribute list = fth_attribute_make("set_ways", FTH_NUMBERS);
        for (uint64_t set = 0; ways && set < found->sets; set++)
            ways[set] = (double)found->set_ways[set];
        list.numbers = ways;
        list.count = found->sets;
        status = ways ? note(dissection, list, confidence, found->samples, method, error)
                      : fth_no_memory(error, "dissect", NULL);
        free(ways);
    }
    if (status == FTH_OK)
        status = note_index(dissection, found, error);
    return status == FTH_OK ? note_size(dissection, found, error) : status;
}

static enum fth_status note_policy(const struct dissection *dissection,
                                   const struct fth_replacement *found, struct fth_error *error)
{
    bool weighted = strcmp(found->policy, "weighted") == 0;
    const char *method = found->way_shares
                             ? "replacements counted by way, in a set that overflows by one line"
                             : "the only policy of several that predicts every hit and miss";
    enum fth_status status = note(dissection, text("policy", found->policy), found->confidence,
                                  found->samples, method, error);
    if (status != FTH_OK || !weighted)
        return status;
    struct fth_attribute list = fth_attribute_make("way_weights", FTH_NUMBERS);
    double *shares = calloc(found->ways, sizeof *shares);
    for (uint64_t way = 0; shares && found->way_shares && way < found->ways; way++)
        /* Thousandths are sufficient: with the 12,000 replacements that replacement.c counts, a
         * share has a standard deviation of up to 0.005. A weight in a description must not be 0.
         */
        shares[way] = fmax(round(found->way_shares[way] * 1e3) / 1e3, 1e-3);
    list.numbers = shares;
    list.count = found->ways;
    status =
        shares ? note(dissection, list, found->confidence, found->replaced,
                      "share of each way in all replacements, in the order in which the ways were "
                      "filled",
                      error)
               : fth_no_memory(error, "dissect", NULL);
    free(shares);
    return status;
}

/* ---- one cache ---- */

/* Reads the size and the line from the description. Returns false and writes `reason` if the cache
 * cannot be dissected. */
static bool prepare(struct dissection *dissection, char *reason, size_t size)
{
    const struct fth_gpu *gpu = dissection->discovery->gpu;
    const char *element = dissection->element;
    double bytes = fth_gpu_number(gpu, element, "size_bytes", NAN);
    double line = fth_gpu_number(gpu, element, "line_bytes",
                                 fth_gpu_number(gpu, element, "sector_bytes", NAN));
    /* A chain of constant loads is limited to the constant bank, which has 64 KiB. */
    double max_bytes = dissection->plan.path == FTH_PATH_CONSTANT ? 65536 : INFINITY;
    const char *why = fth_gpu_unknown(gpu, element, isnan(bytes) ? "size_bytes" : "line_bytes");
    if (isnan(bytes) && !why && fth_gpu_attribute_count(gpu, element) == 0)
        snprintf(reason, size, "this GPU has no such cache, or these loads bypass it");
    else if (isnan(bytes))
        snprintf(reason, size, "it cannot be overflowed, because its size is not known%s%s",
                 why ? ": " : "", why ? why : "");
    else if (bytes >= max_bytes)
        snprintf(reason, size,
                 "it cannot be overflowed, because the constant bank is not larger than it");
    else if (isnan(line))
        snprintf(reason, size, "its line size is not known%s%s", why ? ": " : "", why ? why : "");
    else {
        dissection->plan.line_bytes = (uint64_t)line;
        dissection->plan.fits_bytes = (uint64_t)bytes / (uint64_t)line * (uint64_t)line;
        return true;
    }
    return false;
}

/* Whether the status only means that there is no answer. The caller then writes the cause of
 * the error as the reason under "unknown". */
static bool has_no_answer(enum fth_status status)
{
    return status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED;
}

/* Measures the series of passes over one line more than fits, and whether the same loads miss in
 * every pass. The first two of the SERIES_PASSES passes are the warm-up; each pass after the third
 * is compared with the one before it. The threshold between hits and misses is the geometric mean
 * of the two latencies.
 */
static enum fth_status find_series(struct dissection *dissection, struct fth_error *error)
{
    double hit = NAN, miss = NAN;
    FTH_TRY(fth_probe_hit_and_miss(&dissection->discovery->prober, &dissection->plan, &hit, &miss,
                                   error));
    dissection->plan.threshold_cycles = sqrt(hit * miss);
    enum fth_status status = fth_probe_overflow(&dissection->discovery->prober, &dissection->plan,
                                                SERIES_PASSES, &dissection->overflow, error);
    dissection->repeats = true;
    for (size_t i = 3 * dissection->overflow.lines; i < dissection->overflow.count; i++)
        dissection->repeats =
            dissection->repeats &&
            (dissection->overflow.cycles[i] > dissection->plan.threshold_cycles) ==
                (dissection->overflow.cycles[i - dissection->overflow.lines] >
                 dissection->plan.threshold_cycles);
    return status;
}

/* Passes the loads of the series to the callback, if the caller has set one. */
static void report_series(const struct dissection *dissection, const struct fth_replacement *policy)
{
    if (!dissection->options->series)
        return;
    uint32_t lines[FTH_MAX_REPLAY] = {0};
    int ways[FTH_MAX_REPLAY] = {0};
    for (size_t i = 0; i < policy->replay_count; i++) {
        lines[i] = policy->replay[i].line;
        ways[i] = policy->replay[i].way;
    }
    const struct fth_series series = {.element = dissection->element,
                                      .stride_bytes = dissection->plan.line_bytes,
                                      .lines = dissection->overflow.lines,
                                      .count = dissection->overflow.count,
                                      .cycles = dissection->overflow.cycles,
                                      .threshold_cycles = dissection->plan.threshold_cycles,
                                      .ways = policy->ways,
                                      .replay_count = policy->replay_count,
                                      .replay_lines = lines,
                                      .replay_ways = ways};
    dissection->options->series(dissection->options->user, &series);
}

/* Writes whether the same loads miss in every pass. */
static enum fth_status note_periodic(const struct dissection *dissection, struct fth_error *error)
{
    return fth_note_text(dissection->discovery->gpu, dissection->element, "periodic",
                         dissection->repeats ? "yes" : "no",
                         "whether the same loads miss in every pass over one line more than fits",
                         error);
}

/* Writes how well each policy predicts the replacements that were observed, in bits per
 * replacement, and a summary as the reason why the policy is unknown. The summary says that no
 * policy explains every replacement; this is assumed, not checked. */
static enum fth_status note_choices(const struct dissection *dissection,
                                    const struct fth_choices *choices, struct fth_error *error)
{
    static const char method[] =
        "bits needed to encode which line was evicted, in sets that overflow by one line";
    struct fth_choice_bits judged[FTH_CHOICE_POLICIES];
    const char *names[FTH_CHOICE_POLICIES];
    double bits[FTH_CHOICE_POLICIES];
    const size_t count = fth_choices_compare(choices, judged);
    for (size_t i = 0; i < count; i++) {
        names[i] = judged[i].name;
        bits[i] = round(judged[i].bits * 100) / 100;
    }
    enum fth_status status = fth_note_texts(dissection->discovery->gpu, dissection->element,
                                            "policy_candidates", names, count, NAN, method, error);
    if (status == FTH_OK)
        status = fth_note_numbers(dissection->discovery->gpu, dissection->element, "policy_bits",
                                  bits, count, NAN, choices->replaced, method, error);
    if (status != FTH_OK)
        return status;
    char reason[300];
    snprintf(reason, sizeof reason,
             "no policy explains every replacement: in sets of %llu ways, %llu lines were evicted; "
             "%.0f %% of them were the oldest in the set, and all were among the %llu oldest",
             (unsigned long long)choices->ways, (unsigned long long)choices->replaced,
             100 * (double)choices->by_arrival[0] / (double)choices->replaced,
             (unsigned long long)fth_choices_max_rank(choices));
    return unknown(dissection, "policy", reason, error);
}

static enum fth_status find_policy(struct dissection *dissection,
                                   const struct fth_structure *structure,
                                   struct fth_replacement *policy, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_choice_bits judged[FTH_CHOICE_POLICIES];
    /* Without a chain that stays in one set, fth_probe_policy cannot run. But the search for the
     * sets may have observed enough replacements to compare the policies (structure->choices). */
    if (structure->one_set.count == 0 && structure->choices.ways == structure->ways &&
        fth_choices_compare(&structure->choices, judged))
        return note_choices(dissection, &structure->choices, error);
    if (structure->one_set.count == 0) {
        char reason[256];
        snprintf(reason, sizeof reason,
                 "no chain is known to stay within one set; with one line more than fits, the "
                 "misses %s the same in every pass, so the policy %s LRU",
                 dissection->repeats ? "are" : "are not",
                 dissection->repeats ? "may be" : "is not");
        return unknown(dissection, "policy", reason, error);
    }
    enum fth_status status = fth_probe_policy(&dissection->discovery->prober, &dissection->plan,
                                              &structure->one_set, policy, &fault);
    if (status == FTH_OK)
        return note_policy(dissection, policy, error);
    if (has_no_answer(status))
        return unknown(
            dissection, "policy",
            dissection->repeats && strcmp(dissection->element, "constant_l15") == 0
                ? "LRU or FIFO: the oldest line is evicted, but the constant L1 serves repeated "
                  "loads, so the two cannot be distinguished"
                : fault.cause,
            error);
    if (error)
        *error = fault;
    return status;
}

/* Tries to find the sets under the largest carve-out, where the cache has fewer lines. In
 * spite of its name, the attribute default_size_bytes is the size of the cache there, not a size
 * that the driver chooses by default. On success, the dissection continues with that carve-out.
 * Returns false if this does not help. */
static bool try_smaller(struct dissection *dissection, struct fth_structure *structure)
{
    double bytes =
        fth_gpu_number(dissection->discovery->gpu, dissection->element, "default_size_bytes", NAN);
    struct fth_cache_plan plan = dissection->plan;
    if (isnan(bytes) || plan.carveout_percent != 0)
        return false;
    plan.carveout_percent = 100;
    plan.fits_bytes = (uint64_t)bytes / plan.line_bytes * plan.line_bytes;
    if (fth_probe_sets(&dissection->discovery->prober, &plan, structure, NULL) != FTH_OK)
        return false;
    if (structure->ways) {
        dissection->plan = plan;
        return true;
    }
    fth_structure_fini(structure);
    return false;
}

static enum fth_status dissect_cache(struct dissection *dissection, struct fth_error *error)
{
    char reason[400];
    if (!prepare(dissection, reason, sizeof reason)) {
        enum fth_status status = all_unknown(dissection, structure_names, reason, error);
        return status == FTH_OK ? unknown(dissection, "policy", reason, error) : status;
    }
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {.confidence = NAN};
    struct fth_replacement policy = {.confidence = NAN};
    const uint64_t size_bytes = dissection->plan.fits_bytes;
    enum fth_status status = find_series(dissection, &fault);
    if (status == FTH_OK)
        status =
            fth_probe_sets(&dissection->discovery->prober, &dissection->plan, &structure, &fault);
    bool smaller = status == FTH_INCONCLUSIVE && try_smaller(dissection, &structure);
    if (smaller)
        status = note_smaller(dissection, &structure, size_bytes, error);
    else if (status == FTH_OK)
        status = note_structure(dissection, &structure, error);
    else if (has_no_answer(status))
        status = all_unknown(dissection, structure_names, fault.cause, error);
    else if (error)
        *error = fault;
    if (status == FTH_OK)
        status = find_policy(dissection, &structure, &policy, error);
    if (status == FTH_OK && dissection->overflow.count) {
        report_series(dissection, &policy);
        status = note_periodic(dissection, error);
    }
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    fth_overflow_fini(&dissection->overflow);
    return status;
}

/* ---- L2 ---- */

static enum fth_status dissect_l2(struct dissection *dissection, struct fth_error *error)
{
    struct fth_discovery *discovery = dissection->discovery;
    double bytes = fth_gpu_number(discovery->gpu, "l2", "size_bytes", NAN);
    double parts = fth_gpu_number(discovery->gpu, "l2", "partitions", 1);
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {.confidence = NAN};
    struct fth_replacement policy = {.confidence = NAN};
    if (isnan(bytes) || parts > 1) {
        const char *reason = isnan(bytes)
                                 ? "its size is not known"
                                 : "it has several partitions, and the near one also holds "
                                   "copies of lines of the others; chains with a constant "
                                   "stride cannot separate them";
        enum fth_status status = all_unknown(dissection, structure_names, reason, error);
        return status == FTH_OK ? unknown(dissection, "policy", reason, error) : status;
    }
    enum fth_status status = fth_probe_l2_sets(&discovery->prober, (uint64_t)bytes,
                                               &dissection->plan, &structure, &fault);
    if (status == FTH_OK && isnan(fth_gpu_number(discovery->gpu, "l2", "line_bytes", NAN)))
        status = note(dissection, number("line_bytes", (double)dissection->plan.line_bytes),
                      structure.confidence, structure.samples,
                      "fill a set, then load a word at some distance from a further line of that "
                      "set; the smallest distance at which no line is evicted",
                      error);
    if (status == FTH_OK)
        status = note_structure(dissection, &structure, error);
    else if (has_no_answer(status))
        status = all_unknown(dissection, structure_names, fault.cause, error);
    else if (error)
        *error = fault;
    if (status == FTH_OK && structure.ways) {
        /* No series is measured. The value does not matter: find_policy reads `repeats` only if no
         * chain in one set is known, or for the constant L1.5. When fth_probe_l2_sets finds the
         * ways, it also finds such a chain. */
        dissection->repeats = true;
        status = find_policy(dissection, &structure, &policy, error);
    } else if (status == FTH_OK) {
        /* In an L2, all sets have the same number of ways, so `ways` is 0 only if the sets are not
         * known. */
        status = unknown(dissection, "policy", "its sets are not known", error);
    }
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    return status;
}

/* ---- timing overhead ---- */

static enum fth_status find_timing(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure clock, timing;
    FTH_TRY(fth_probe_timing(&discovery->prober, &clock, &timing, error));
    FTH_TRY(fth_note_latency(discovery->gpu, "device", "clock_read_cycles", &clock,
                             "two clock reads with nothing between them", error));
    return fth_note_latency(discovery->gpu, "device", "timing_cycles", &timing,
                            "two clock reads with the work of a timed load between them "
                            "(store a sample, wait for a value), without the load",
                            error);
}

/* ---- all elements ---- */

/* Returns the list of elements to discover before the dissection: those to be dissected. `list` is
 * a buffer for it. */
static const char *elements_to_discover(const struct fth_dissect_options *options, char *list,
                                        size_t size)
{
    if (options->only) {
        /* The discovery measures all TLB levels together, if tlb_l1 or tlb_l2 is in its list. */
        const char *more = strstr(options->only, "tlb_") ? ",tlb_l1" : "";
        return (size_t)snprintf(list, size, "%s%s", options->only, more) < size ? list
                                                                                : options->only;
    }
    size_t used = 0;
    for (size_t i = 0; i < CACHES && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i ? "," : "", caches[i].element);
    if (used < size)
        snprintf(list + used, size - used, ",l2,tlb_l1,tlb_l2,tlb_l3");
    return list;
}

/* Returns the earlier cache in the table that shares storage with this one and was to be dissected
 * as well; NULL if there is none. */
static const char *find_same_cache(const struct fth_discovery *discovery, size_t index)
{
    const struct fth_attribute *with =
        fth_gpu_attribute(discovery->gpu, caches[index].element, "shared_with");
    for (size_t i = 0; with && i < index; i++)
        for (size_t j = 0; j < with->count; j++)
            if (strcmp(with->texts[j], caches[i].element) == 0 &&
                fth_discovery_wants(discovery, caches[i].element))
                return caches[i].element;
    return NULL;
}

/* Copies the structure of a cache to another one that shares its storage. */
static enum fth_status copy_structure(const struct dissection *dissection, const char *from,
                                      struct fth_error *error)
{
    static const char *const names[] = {
        "size_bytes",        "sets",        "ways",    "set_ways", "index", "policy", "way_weights",
        "policy_candidates", "policy_bits", "periodic"};
    struct fth_gpu *gpu = dissection->discovery->gpu;
    char method[80];
    snprintf(method, sizeof method, "shares storage with %s", from);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(names) && status == FTH_OK; i++) {
        const struct fth_attribute *known = fth_gpu_attribute(gpu, from, names[i]);
        const char *reason = fth_gpu_unknown(gpu, from, names[i]);
        /* names[0] is the size. If both elements have the same size, its provenance is kept. */
        const bool same = known && i == 0 &&
                          known->number == fth_gpu_number(gpu, dissection->element, names[i], NAN);
        if (known && !same)
            status = note(dissection, *known, known->confidence,
                          known->samples > 0 ? (size_t)known->samples : 0, method, error);
        else if (!known && reason)
            status = unknown(dissection, names[i], reason, error);
    }
    return status;
}

static enum fth_status dissect_all(struct fth_discovery *discovery,
                                   const struct fth_dissect_options *options,
                                   struct fth_error *error)
{
    enum fth_status status = find_timing(discovery, error);
    for (size_t i = 0; i < CACHES && status == FTH_OK; i++) {
        struct dissection dissection = {
            .discovery = discovery,
            .options = options,
            .element = caches[i].element,
            .plan = {.path = caches[i].path, .carveout_percent = caches[i].carveout_percent}};
        /* A missing cache is only reported if the user named it. */
        bool present = fth_gpu_attribute_count(discovery->gpu, caches[i].element) > 0;
        if (!fth_discovery_wants(discovery, caches[i].element) || (!present && !options->only))
            continue;
        char what[64];
        snprintf(what, sizeof what, "dissect %s", caches[i].element);
        fth_log_progress(options->log, what, (double)(i + 1) / (CACHES + OTHER_STAGES));
        const char *same = find_same_cache(discovery, i);
        status =
            same ? copy_structure(&dissection, same, error) : dissect_cache(&dissection, error);
    }
    struct dissection l2 = {.discovery = discovery, .options = options, .element = "l2"};
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2")) {
        fth_log_progress(options->log, "dissect l2", (CACHES + 1.0) / (CACHES + OTHER_STAGES));
        status = dissect_l2(&l2, error);
        if (status == FTH_OK)
            status = fth_dissect_l2_map(discovery, error);
    }
    if (status == FTH_OK) {
        fth_log_progress(options->log, "dissect TLBs", (CACHES + 2.0) / (CACHES + OTHER_STAGES));
        status = fth_dissect_tlbs(discovery, options, error);
    }
    return status;
}

enum fth_status fth_dissect(struct fth_device *device, const struct fth_dissect_options *options,
                            struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_dissect_options known;
    char list[1024];
    *gpu = NULL;
    FTH_TRY(fth_options_read("fth_dissect_options", options, &known, sizeof known, error));
    options = &known;
    const struct fth_discover_options first = {
        .only = elements_to_discover(options, list, sizeof list), .log = options->log};
    struct fth_discovery discovery = {.prober = {.device = device}, .no_bandwidth = true};
    enum fth_status status = fth_discovery_run(&discovery, &first, error);
    discovery.only = options->only;
    if (status == FTH_OK)
        status = dissect_all(&discovery, options, error);
    fth_log_progress(options->log, "done", 1);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery.gpu);
        discovery.gpu = NULL;
    }
    *gpu = discovery.gpu;
    return status;
}
