/* Measures the sets, ways, index function and replacement policy of one cache, or of an L2 with one
 * partition. The results become attributes with a confidence, or reasons under "unknown". */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of timed passes over one line more than fits, including two warm-up passes. The latencies
 * of all loads of these passes are the *series* of a cache, which dissect prints and --series
 * saves. Heuristic. FIRST_COMPARED is the first pass that is compared with the one before it. */
enum { SERIES_PASSES = 6, FIRST_COMPARED = 3 };

/* The dissection of one cache. */
struct dissection {
    struct fth_discovery *discovery;
    const struct fth_dissect_options *options;
    const char *element;
    struct fth_cache_plan plan;
    struct fth_overflow overflow;
    bool repeats; /* the same loads miss in every pass over one line more than fits */
    struct fth_evidence repeats_evidence;
};

/* ---- writing attributes ---- */

static struct fth_gpu *gpu_of(const struct dissection *dissection)
{
    return dissection->discovery->gpu;
}

/* Writes a reason why an attribute of the cache is unknown. */
static enum fth_status unknown(const struct dissection *dissection, const char *attribute,
                               const char *reason, struct fth_error *error)
{
    return fth_note_unknown(gpu_of(dissection), dissection->element, attribute, reason, error);
}

/* Writes the same reason for all attributes of the structure. */
static enum fth_status structure_unknown(const struct dissection *dissection, const char *reason,
                                         struct fth_error *error)
{
    static const char *const attributes[] = {"sets", "ways", "index"};
    for (size_t i = 0; i < FTH_COUNT(attributes); i++)
        FTH_TRY(unknown(dissection, attributes[i], reason, error));
    return FTH_OK;
}

static const char structure_method[] =
    "load one line more than fits and find which lines it evicts; verify with chains that stay in "
    "one set";

/* Returns a note about the structure, without a value. */
static struct fth_note structure_note(const struct dissection *dissection,
                                      const struct fth_structure *found, const char *attribute)
{
    return (struct fth_note){.element = dissection->element,
                             .attribute = attribute,
                             .evidence = &found->evidence,
                             .samples = found->samples,
                             .method = structure_method};
}

/* Returns the number of lines of all sets. If the sets differ, `ways` is 0 and `set_ways` has the
 * ways of each set. */
static uint64_t count_lines(const struct fth_structure *found)
{
    uint64_t lines = found->sets * found->ways;
    for (uint64_t set = 0; found->set_ways && set < found->sets; set++)
        lines += found->set_ways[set];
    return lines;
}

/* Writes sets x ways x line as the size if it differs from the largest contiguous footprint that
 * fits. A contiguous array need not fill all sets evenly. */
static enum fth_status note_size(const struct dissection *dissection,
                                 const struct fth_structure *found, struct fth_error *error)
{
    double bytes = (double)(count_lines(found) * dissection->plan.line_bytes);
    if (bytes == fth_gpu_number(gpu_of(dissection), dissection->element, "size_bytes", NAN))
        return FTH_OK;
    char why[96];
    snprintf(why, sizeof why, "%llu contiguous bytes fit, which do not fill all sets",
             (unsigned long long)dissection->plan.fits_bytes);
    struct fth_note note = structure_note(dissection, found, "size_bytes");
    note.number = bytes;
    note.method = "sets x ways x line";
    note.note = why;
    return fth_note(gpu_of(dissection), &note, error);
}

/* Writes the index function or, if the schema has no name for it, its formula as the reason. */
static enum fth_status note_index(const struct dissection *dissection,
                                  const struct fth_structure *found, struct fth_error *error)
{
    struct fth_note note = structure_note(dissection, found, "index");
    note.text = found->index;
    if (found->index[0])
        return fth_note(gpu_of(dissection), &note, error);
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
    struct fth_note sets = structure_note(dissection, found, "sets");
    sets.number = (double)found->sets;
    sets.note = where;
    FTH_TRY(fth_note(gpu_of(dissection), &sets, error));
    const uint64_t lines = size_bytes / dissection->plan.line_bytes;
    struct fth_note ways = structure_note(dissection, found, "ways");
    ways.number = (double)lines / (double)found->sets;
    ways.method = "bytes that fit / sets / line_bytes";
    FTH_TRY(lines % found->sets
                ? unknown(dissection, "ways", "the lines that fit are not a multiple of the sets",
                          error)
                : fth_note(gpu_of(dissection), &ways, error));
    return note_index(dissection, found, error);
}

/* Writes the ways of each set. */
static enum fth_status note_set_ways(const struct dissection *dissection,
                                     const struct fth_structure *found, struct fth_error *error)
{
    double *ways = calloc(found->sets, sizeof *ways);
    if (!ways)
        return fth_no_memory(error, "dissect", NULL);
    for (uint64_t set = 0; set < found->sets; set++)
        ways[set] = (double)found->set_ways[set];
    struct fth_note note = structure_note(dissection, found, "set_ways");
    note.numbers = ways;
    note.count = found->sets;
    enum fth_status status = fth_note(gpu_of(dissection), &note, error);
    free(ways);
    return status;
}

static enum fth_status note_structure(const struct dissection *dissection,
                                      const struct fth_structure *found, struct fth_error *error)
{
    struct fth_note note = structure_note(dissection, found, "sets");
    note.number = (double)found->sets;
    FTH_TRY(fth_note(gpu_of(dissection), &note, error));
    note.attribute = "ways";
    note.number = (double)found->ways;
    FTH_TRY(found->ways ? fth_note(gpu_of(dissection), &note, error)
                        : note_set_ways(dissection, found, error));
    FTH_TRY(note_index(dissection, found, error));
    return note_size(dissection, found, error);
}

/* Writes the share of each way in all replacements. */
static enum fth_status note_weights(const struct dissection *dissection,
                                    const struct fth_replacement *found, struct fth_error *error)
{
    double *shares = calloc(found->ways, sizeof *shares);
    if (!shares)
        return fth_no_memory(error, "dissect", NULL);
    for (uint64_t way = 0; found->way_shares && way < found->ways; way++)
        /* Thousandths are sufficient: with the 12,000 replacements that replacement_policy.c
         * counts, a share has a standard deviation of up to 0.005. A weight in a description must
         * not be 0.
         */
        shares[way] = fmax(round(found->way_shares[way] * 1e3) / 1e3, 1e-3);
    enum fth_status status =
        fth_note(gpu_of(dissection),
                 &(struct fth_note){.element = dissection->element,
                                    .attribute = "way_weights",
                                    .numbers = shares,
                                    .count = found->ways,
                                    .evidence = &found->evidence,
                                    .samples = found->replaced,
                                    .method = "share of each way in all replacements, in the order "
                                              "in which the ways were filled"},
                 error);
    free(shares);
    return status;
}

/* Writes why the rows of the policy clock are unknown. */
static enum fth_status rows_unknown(const struct dissection *dissection, struct fth_error *error)
{
    static const char reason[] =
        "not measured: the victims show that rows are visited in turn, but not how many there are";
    FTH_TRY(unknown(dissection, "rows", reason, error));
    return unknown(dissection, "row_ways", reason, error);
}

static enum fth_status note_policy(const struct dissection *dissection,
                                   const struct fth_replacement *found, struct fth_error *error)
{
    FTH_TRY(fth_note(gpu_of(dissection),
                     &(struct fth_note){.element = dissection->element,
                                        .attribute = "policy",
                                        .text = found->policy,
                                        .evidence = &found->evidence,
                                        .samples = found->samples,
                                        .method = strcmp(found->policy, "clock") == 0
                                                      ? "order of the victims in a set that "
                                                        "overflows by one line"
                                                  : found->way_shares
                                                      ? "replacements counted by way, in a set "
                                                        "that overflows by one line"
                                                      : "the only policy of several that predicts "
                                                        "every hit and miss"},
                     error));
    if (strcmp(found->policy, "clock") == 0)
        return rows_unknown(dissection, error);
    return strcmp(found->policy, "weighted") == 0 ? note_weights(dissection, found, error) : FTH_OK;
}

/* ---- one cache ---- */

/* Reads the size and the line from the description. Returns false and writes `reason` if the cache
 * cannot be dissected. */
static bool prepare(struct dissection *dissection, char *reason, size_t size)
{
    const struct fth_gpu *gpu = gpu_of(dissection);
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

/* Finds out whether the same loads miss in every pass after the warm-up. If they do, all passes are
 * the evidence; if not, those that differ from the pass before them. */
static void compare_passes(struct dissection *dissection)
{
    const size_t lines = dissection->overflow.lines;
    const uint32_t *cycles = dissection->overflow.cycles;
    const double threshold = dissection->plan.threshold_cycles;
    double passes = 0, different = 0;
    for (size_t first = FIRST_COMPARED * lines;
         lines && first + lines <= dissection->overflow.count; first += lines, passes++) {
        bool same = true;
        for (size_t i = first; i < first + lines; i++)
            same = same && (cycles[i] > threshold) == (cycles[i - lines] > threshold);
        different += !same;
    }
    dissection->repeats = different == 0;
    dissection->repeats_evidence =
        (struct fth_evidence){.repeats = passes, .agree = dissection->repeats ? passes : different};
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
    compare_passes(dissection);
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
    return fth_note(gpu_of(dissection),
                    &(struct fth_note){.element = dissection->element,
                                       .attribute = "periodic",
                                       .text = dissection->repeats ? "yes" : "no",
                                       .evidence = &dissection->repeats_evidence,
                                       .method = "whether the same loads miss in every pass over "
                                                 "one line more than fits"},
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
    struct fth_evidence evidence;
    FTH_TRY(fth_choices_resample(choices, &evidence, error));
    for (size_t i = 0; i < count; i++) {
        names[i] = judged[i].name;
        bits[i] = round(judged[i].bits * 100) / 100;
    }
    FTH_TRY(fth_note(gpu_of(dissection),
                     &(struct fth_note){.element = dissection->element,
                                        .attribute = "policy_candidates",
                                        .texts = names,
                                        .count = count,
                                        .evidence = &evidence,
                                        .samples = choices->replaced,
                                        .method = method,
                                        .note = "the resamples agree if the same policy needs the "
                                                "fewest bits"},
                     error));
    FTH_TRY(fth_note(gpu_of(dissection),
                     &(struct fth_note){.element = dissection->element,
                                        .attribute = "policy_bits",
                                        .numbers = bits,
                                        .count = count,
                                        .evidence = &evidence,
                                        .samples = choices->replaced,
                                        .method = method},
                     error));
    char reason[300];
    snprintf(reason, sizeof reason,
             "no policy explains every replacement: in sets of %llu ways, %llu lines were evicted; "
             "%.0f %% of them were the oldest in the set, and all were among the %llu oldest",
             (unsigned long long)choices->ways, (unsigned long long)choices->replaced,
             100 * (double)choices->by_arrival[0] / (double)choices->replaced,
             (unsigned long long)fth_choices_max_rank(choices));
    return unknown(dissection, "policy", reason, error);
}

/* Writes the policy clock, which the replacements that the search for the sets observed show. */
static enum fth_status note_clock(const struct dissection *dissection,
                                  const struct fth_choices *choices, struct fth_error *error)
{
    /* The evidence is the revolutions of the hand, summed over all windows. */
    const double turns = floor((double)choices->replaced / (double)(choices->ways + 1));
    const struct fth_evidence evidence = {.repeats = turns, .agree = turns};
    char why[160];
    snprintf(why, sizeof why,
             "in sets of %llu ways, each of %llu victims was one of the %llu lines that arrived "
             "first; %.0f %% were the first",
             (unsigned long long)choices->ways, (unsigned long long)choices->replaced,
             (unsigned long long)fth_choices_max_rank(choices),
             100 * (double)choices->by_arrival[0] / (double)choices->replaced);
    FTH_TRY(fth_note(gpu_of(dissection),
                     &(struct fth_note){.element = dissection->element,
                                        .attribute = "policy",
                                        .text = "clock",
                                        .evidence = &evidence,
                                        .samples = choices->replaced,
                                        .method = "order of the victims in sets that overflow by "
                                                  "one line",
                                        .note = why},
                     error));
    return rows_unknown(dissection, error);
}

/* Whether the constant L1 may hold all of these lines, which are one set of the L1.5. No repeated
 * load then reaches the L1.5, where LRU does the same as FIFO. */
static bool may_hide_reuse(const struct fth_gpu *gpu, const struct fth_chain *lines)
{
    enum { MAX_L1_SETS = 1024 }; /* many more than a constant L1 has */
    uint64_t counts[MAX_L1_SETS] = {0}, max = 0;
    const uint64_t sets = (uint64_t)fth_gpu_number(gpu, "constant_l1", "sets", 0);
    const uint64_t ways = (uint64_t)fth_gpu_number(gpu, "constant_l1", "ways", 0);
    const uint64_t line = (uint64_t)fth_gpu_number(gpu, "constant_l1", "line_bytes", 0);
    const char *index = fth_gpu_text(gpu, "constant_l1", "index");
    if (!sets || sets > MAX_L1_SETS || !ways || !line || !index || strcmp(index, "mod") != 0)
        return true;
    for (uint64_t i = 0; i < lines->count; i++) {
        uint64_t *count = &counts[(lines->start_bytes + i * lines->stride_bytes) / line % sets];
        max = ++*count > max ? *count : max;
    }
    return max <= ways;
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
        return fth_choices_show_clock(&structure->choices)
                   ? note_clock(dissection, &structure->choices, error)
                   : note_choices(dissection, &structure->choices, error);
    if (structure->one_set.count == 0) {
        char reason[256];
        snprintf(reason, sizeof reason,
                 "no chain is known to stay within one set; with one line more than fits, the "
                 "misses %s the same in every pass, so the policy %s LRU",
                 dissection->repeats ? "are" : "are not",
                 dissection->repeats ? "may be" : "is not");
        return unknown(dissection, "policy", reason, error);
    }
    const bool is_outer = strcmp(dissection->element, "constant_l15") == 0;
    enum fth_status status = fth_probe_policy(&dissection->discovery->prober, &dissection->plan,
                                              &structure->one_set, policy, &fault);
    const bool hidden = status == FTH_OK && is_outer && strcmp(policy->policy, "fifo") == 0 &&
                        may_hide_reuse(gpu_of(dissection), &structure->one_set);
    if (status == FTH_OK && !hidden)
        return note_policy(dissection, policy, error);
    if (hidden || has_no_answer(status))
        return unknown(
            dissection, "policy",
            hidden || (dissection->repeats && is_outer)
                ? "LRU or FIFO: the oldest line is evicted, but the constant L1 serves repeated "
                  "loads, so the two cannot be distinguished"
                : fault.cause,
            error);
    return fth_error_move(error, &fault);
}

/* Tries to find the sets under the largest carve-out, where the cache has fewer lines. In
 * spite of its name, the attribute default_size_bytes is the size of the cache there, not a size
 * that the driver chooses by default. On success, the dissection continues with that carve-out.
 * *found is false if this does not help. */
static enum fth_status try_smaller(struct dissection *dissection, struct fth_structure *structure,
                                   bool *found, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    *found = false;
    double bytes =
        fth_gpu_number(gpu_of(dissection), dissection->element, "default_size_bytes", NAN);
    struct fth_cache_plan plan = dissection->plan;
    if (isnan(bytes) || plan.carveout_percent != 0)
        return FTH_OK;
    plan.carveout_percent = 100;
    plan.fits_bytes = (uint64_t)bytes / plan.line_bytes * plan.line_bytes;
    if (fth_probe_sets(&dissection->discovery->prober, &plan, structure, &fault) != FTH_OK)
        return has_no_answer(fault.status) ? FTH_OK : fth_error_move(error, &fault);
    *found = structure->ways > 0;
    if (*found)
        dissection->plan = plan;
    else
        fth_structure_fini(structure);
    return FTH_OK;
}

/* Writes the sets that fth_probe_sets has found. If it has failed with `status` and `fault`, tries
 * to find them under the largest carve-out, or writes the reason. */
static enum fth_status note_sets(struct dissection *dissection, struct fth_structure *structure,
                                 enum fth_status status, const struct fth_error *fault,
                                 struct fth_error *error)
{
    const uint64_t size_bytes = dissection->plan.fits_bytes;
    bool found = false;
    if (status == FTH_OK)
        return note_structure(dissection, structure, error);
    if (status == FTH_INCONCLUSIVE)
        FTH_TRY(try_smaller(dissection, structure, &found, error));
    if (found)
        return note_smaller(dissection, structure, size_bytes, error);
    return has_no_answer(status) ? structure_unknown(dissection, fault->cause, error)
                                 : fth_error_move(error, fault);
}

/* Measures the sets. They must have at least as many lines as fit. Otherwise they are those of
 * another cache, such as a constant L1, which serves many of the loads, or code takes a part of
 * them. */
static enum fth_status find_sets(const struct dissection *dissection,
                                 struct fth_structure *structure, struct fth_error *error)
{
    const struct fth_cache_plan *plan = &dissection->plan;
    FTH_TRY(fth_probe_sets(&dissection->discovery->prober, plan, structure, error));
    const uint64_t lines = count_lines(structure), sets = structure->sets;
    if (lines * plan->line_bytes >= plan->fits_bytes)
        return FTH_OK;
    fth_structure_fini(structure);
    return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                    "a mapping to %llu sets with %llu lines was found, but %llu lines fit: other "
                    "loads or code use a part of them, or they are the sets of another cache",
                    (unsigned long long)sets, (unsigned long long)lines,
                    (unsigned long long)(plan->fits_bytes / plan->line_bytes));
}

static enum fth_status dissect(struct dissection *dissection, struct fth_error *error)
{
    char reason[400];
    if (!prepare(dissection, reason, sizeof reason)) {
        FTH_TRY(structure_unknown(dissection, reason, error));
        return unknown(dissection, "policy", reason, error);
    }
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {0};
    struct fth_replacement policy = {0};
    enum fth_status status = find_series(dissection, &fault);
    if (status == FTH_OK)
        status = find_sets(dissection, &structure, &fault);
    status = note_sets(dissection, &structure, status, &fault, error);
    if (status != FTH_OK ||
        (status = find_policy(dissection, &structure, &policy, error)) != FTH_OK)
        goto out;
    if (dissection->overflow.count) {
        report_series(dissection, &policy);
        status = note_periodic(dissection, error);
    }
out:
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    fth_overflow_fini(&dissection->overflow);
    return status;
}

enum fth_status fth_dissect_cache(struct fth_discovery *discovery,
                                  const struct fth_dissect_options *options,
                                  const struct fth_dissected_cache *cache, struct fth_error *error)
{
    struct dissection dissection = {
        .discovery = discovery,
        .options = options,
        .element = cache->element,
        .plan = {.path = cache->path, .carveout_percent = cache->carveout_percent}};
    return dissect(&dissection, error);
}

/* ---- L2 ---- */

/* Writes the structure of the L2 and the line that its search has found, if the line was not known
 * before. If it was, and is another one, the structure is wrong: it is forgotten. */
static enum fth_status note_l2_structure(const struct dissection *dissection,
                                         struct fth_structure *structure, struct fth_error *error)
{
    const double known = fth_gpu_number(gpu_of(dissection), "l2", "line_bytes", NAN);
    if (!isnan(known) && known != (double)dissection->plan.line_bytes) {
        char reason[160];
        snprintf(
            reason, sizeof reason,
            "evictions from a full set show lines of %llu bytes, but others show lines of %.0f "
            "bytes",
            (unsigned long long)dissection->plan.line_bytes, known);
        structure->ways = 0;
        return structure_unknown(dissection, reason, error);
    }
    struct fth_note line = structure_note(dissection, structure, "line_bytes");
    line.number = (double)dissection->plan.line_bytes;
    line.method = "fill a set, then load a word at some distance from a further line of that set; "
                  "the smallest distance at which no line is evicted";
    if (isnan(known))
        FTH_TRY(fth_note(gpu_of(dissection), &line, error));
    return note_structure(dissection, structure, error);
}

static enum fth_status dissect_l2(struct dissection *dissection, struct fth_error *error)
{
    const double bytes = fth_gpu_number(gpu_of(dissection), "l2", "size_bytes", NAN);
    const double parts = fth_gpu_number(gpu_of(dissection), "l2", "partitions", 1);
    if (isnan(bytes) || parts > 1) {
        const char *reason = isnan(bytes)
                                 ? "its size is not known"
                                 : "it has several partitions, and the near one also holds "
                                   "copies of lines of the others; chains with a constant "
                                   "stride cannot separate them";
        FTH_TRY(structure_unknown(dissection, reason, error));
        return unknown(dissection, "policy", reason, error);
    }
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {0};
    struct fth_replacement policy = {0};
    enum fth_status status = fth_probe_l2_sets(&dissection->discovery->prober, (uint64_t)bytes,
                                               &dissection->plan, &structure, &fault);
    status = status == FTH_OK        ? note_l2_structure(dissection, &structure, error)
             : has_no_answer(status) ? structure_unknown(dissection, fault.cause, error)
                                     : fth_error_move(error, &fault);
    if (status != FTH_OK)
        goto out;
    if (structure.ways) {
        /* No series is measured. The value does not matter: find_policy reads `repeats` only if no
         * chain in one set is known, or for the constant L1.5. When fth_probe_l2_sets finds the
         * ways, it also finds such a chain. */
        dissection->repeats = true;
        status = find_policy(dissection, &structure, &policy, error);
    } else {
        /* In an L2, all sets have the same number of ways, so `ways` is 0 only if the sets are not
         * known. */
        status = unknown(dissection, "policy", "its sets are not known", error);
    }
out:
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    return status;
}

enum fth_status fth_dissect_l2(struct fth_discovery *discovery,
                               const struct fth_dissect_options *options, struct fth_error *error)
{
    struct dissection dissection = {.discovery = discovery, .options = options, .element = "l2"};
    return dissect_l2(&dissection, error);
}
