/* Further figures of the TLBs for 'fathom dissect': sets, ways and policy of each level, with the
 * walks that they are derived from (Mei and Chu 2017, Fig. 8), and the latency of a load for each
 * combination of cache hits and TLB hits (their Fig. 14), through L2 and through L1. */
#include "discover/discover.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of walks in the description. The first ones show the overflow of small sets, and
 * the last one, which is always kept, shows that all pages miss. */
enum { MAX_WALKS = 48 };
/* Maximum length of set_ways, and of pages in the experiment for the spectrum: any L2 holds one
 * line of each. */
enum { MAX_SETS = 256, MAX_PAGES = 6000 };

static const char sets_method[] =
    "number of pages that miss as pages are added one by one: all pages of each overflowing set";

/* ---- reading the description ---- */

static uint64_t read_count(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    return (uint64_t)fth_gpu_number(gpu, element, attribute, 0);
}

/* Reads the levels from the description. A level whose page size or number of entries is not known
 * gets 0 entries. */
static void read_levels(const struct fth_gpu *gpu, struct fth_tlbs *tlbs)
{
    *tlbs = (struct fth_tlbs){.count = 0};
    for (size_t i = 0; i < FTH_MAX_TLBS && fth_gpu_attribute_count(gpu, fth_tlb_elements[i]); i++) {
        struct fth_tlb_level *level = &tlbs->levels[tlbs->count++];
        const struct fth_attribute *entries =
            fth_gpu_attribute(gpu, fth_tlb_elements[i], "entries");
        level->page_bytes = read_count(gpu, fth_tlb_elements[i], "page_bytes");
        level->entries = level->page_bytes && entries ? (uint64_t)entries->number : 0;
        level->penalty_cycles = fth_gpu_number(gpu, fth_tlb_elements[i], "miss_penalty_cycles", 0);
    }
}

/* ---- sets ---- */

/* Returns the confidence of a figure of a TLB: at most that of its entries, which the figure
 * depends on. */
static double confidence_of(const struct fth_gpu *gpu, const char *name,
                            struct fth_evidence evidence)
{
    const struct fth_attribute *entries = fth_gpu_attribute(gpu, name, "entries");
    return fmin(fth_confidence(evidence), entries ? entries->confidence : NAN);
}

static enum fth_status note_ways(struct fth_gpu *gpu, const char *name,
                                 const struct fth_tlb_sets *found, struct fth_error *error)
{
    double ways[MAX_SETS];
    size_t count = 0;
    uint64_t sets = 0;
    for (size_t i = 0; i < found->set_size_count; i++) {
        for (uint64_t j = 0; j < found->set_sizes[i].sets && count < MAX_SETS; j++)
            ways[count++] = (double)found->set_sizes[i].ways;
        sets += found->set_sizes[i].sets;
    }
    const double confidence = confidence_of(gpu, name, found->evidence);
    struct fth_note note = {.element = name,
                            .attribute = "sets",
                            .number = (double)sets,
                            .evidence = &found->evidence,
                            .confidence = &confidence,
                            .samples = found->samples,
                            .method = sets_method};
    FTH_TRY(fth_note(gpu, &note, error));
    if (found->set_size_count == 1) {
        note.attribute = "ways";
        note.number = (double)found->set_sizes[0].ways;
    } else {
        note.attribute = "set_ways";
        note.numbers = ways;
        note.count = count;
    }
    return fth_note(gpu, &note, error);
}

/* Writes the number of pages and of misses of each walk over more pages than fit. */
static enum fth_status note_miss_curve(struct fth_gpu *gpu, const char *name,
                                       const struct fth_tlb_sets *found, struct fth_error *error)
{
    double pages[MAX_WALKS], missed[MAX_WALKS];
    size_t count = 0;
    if (found->miss_curve_count == 0)
        return FTH_OK;
    for (size_t i = 0; i < found->miss_curve_count; i++) {
        if (count == MAX_WALKS - 1 && i + 1 < found->miss_curve_count)
            continue;
        pages[count] = (double)found->miss_curve[i].pages;
        missed[count++] = (double)found->miss_curve[i].missed;
    }
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = name,
                                        .attribute = "overflow_pages",
                                        .numbers = pages,
                                        .count = count,
                                        .evidence = &found->curve_evidence,
                                        .samples = found->samples,
                                        .method = "number of pages of each walk"},
                     error));
    return fth_note(gpu,
                    &(struct fth_note){.element = name,
                                       .attribute = "overflow_missed",
                                       .numbers = missed,
                                       .count = count,
                                       .evidence = &found->curve_evidence,
                                       .samples = found->samples,
                                       .method = found->policy == FTH_TLB_NOT_PERIODIC
                                                     ? "pages that missed in any pass"
                                                     : "pages that missed in most passes"},
                    error);
}

static enum fth_status note_policy(struct fth_gpu *gpu, const char *name,
                                   const struct fth_tlb_sets *found, struct fth_error *error)
{
    static const char method[] =
        "load all pages that fit, the first one again, then one more; find which one was evicted";
    static const char random_method[] =
        "number of pages between consecutive misses: all values are equally frequent (G-test)";
    const bool random = found->policy == FTH_TLB_RANDOM;
    const bool unsteady = random || found->policy == FTH_TLB_NOT_PERIODIC;
    if (found->policy == FTH_TLB_POLICY_UNKNOWN)
        return fth_note_unknown(
            gpu, name, "policy",
            found->set_size_count == 0
                ? "its sets are not known"
                : "the evicted page could not be identified: there is too little memory, or the "
                  "previous level holds too many of the pages",
            error);
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = name,
                                        .attribute = "periodic",
                                        .text = unsteady ? "no" : "yes",
                                        .evidence = &found->policy_evidence,
                                        .method = "whether the same pages miss in every pass over "
                                                  "more pages than fit"},
                     error));
    if (unsteady && !random)
        return fth_note_unknown(
            gpu, name, "policy",
            "not LRU: different pages miss in each pass over more pages than fit; that all are "
            "evicted equally often, as with random replacement, was not confirmed",
            error);
    if (found->policy == FTH_TLB_OTHER)
        return fth_note_unknown(gpu, name, "policy",
                                "the same pages miss in each pass over more pages than fit, but "
                                "fewer pages per set than with LRU or FIFO",
                                error);
    const double confidence = confidence_of(gpu, name, found->policy_evidence);
    return fth_note(gpu,
                    &(struct fth_note){.element = name,
                                       .attribute = "policy",
                                       .text = random                          ? "random"
                                               : found->policy == FTH_TLB_PLRU ? "plru"
                                               : found->policy == FTH_TLB_FIFO ? "fifo"
                                                                               : "lru",
                                       .evidence = &found->policy_evidence,
                                       .confidence = &confidence,
                                       .method = random ? random_method : method},
                    error);
}

static enum fth_status note_sets(struct fth_gpu *gpu, const char *name,
                                 const struct fth_tlb_sets *found, struct fth_error *error)
{
    FTH_TRY(note_miss_curve(gpu, name, found, error));
    FTH_TRY(found->set_size_count
                ? note_ways(gpu, name, found, error)
                : fth_note_unknown(gpu, name, "sets", found->doubt ? found->doubt : "not found",
                                   error));
    return note_policy(gpu, name, found, error);
}

/* Writes the reason why a level cannot be dissected. */
static enum fth_status note_missing(struct fth_gpu *gpu, const char *name, struct fth_error *error)
{
    const char *why = fth_gpu_unknown(gpu, name, "entries");
    char reason[300];
    if (fth_gpu_attribute_count(gpu, name) == 0 && !why)
        snprintf(reason, sizeof reason, "this level was not found");
    else
        snprintf(reason, sizeof reason, "its number of entries is not known%s%s", why ? ": " : "",
                 why ? why : "");
    FTH_TRY(fth_note_unknown(gpu, name, "sets", reason, error));
    return fth_note_unknown(gpu, name, "policy", reason, error);
}

/* Passes the loads of the series to the callback, if the caller has set one. */
static void report_series(const struct fth_dissect_options *options, const char *name,
                          uint64_t page_bytes, const struct fth_tlb_sets *found)
{
    const struct fth_series series = {.element = name,
                                      .stride_bytes = page_bytes,
                                      .lines = (size_t)found->series.pages,
                                      .count = found->series.count,
                                      .cycles = found->series.cycles,
                                      .threshold_cycles = NAN,
                                      .missed = found->series.missed};
    if (options->series && found->series.count)
        options->series(options->user, &series);
}

static enum fth_status find_sets(struct fth_discovery *discovery,
                                 const struct fth_dissect_options *options,
                                 const struct fth_tlbs *tlbs, size_t level_index,
                                 struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    struct fth_tlb_sets found = {0};
    const struct fth_tlb_sets_plan plan = {
        .tlbs = tlbs,
        .level_index = level_index,
        .max_bytes =
            (uint64_t)(fth_gpu_number(gpu, "memory", "size_bytes", 0) * fth_walked_memory_fraction),
        .l2_bytes = (uint64_t)fth_gpu_number(gpu, "l2", "size_bytes", 1 << 20)};
    enum fth_status status = fth_probe_tlb_sets(&discovery->prober, &plan, &found, error);
    if (status == FTH_OK) {
        report_series(options, fth_tlb_elements[level_index], tlbs->levels[level_index].page_bytes,
                      &found);
        status = note_sets(gpu, fth_tlb_elements[level_index], &found, error);
    } else {
        status = fth_note_failure(gpu, fth_tlb_elements[level_index], "sets", status, error);
    }
    fth_tlb_sets_fini(&found);
    return status;
}

/* ---- latencies with each TLB state (the spectrum) ---- */

/* Writes the latency of each pattern that was found, minus the timing overhead. */
static enum fth_status note_patterns(struct fth_gpu *gpu, const char *element,
                                     const struct fth_spectrum *found, double overhead,
                                     struct fth_error *error)
{
    static const char *const words[FTH_PATTERNS] = {"P1", "P2", "P3", "P4", "P5", "P6"};
    static const char method[] =
        "one experiment: first access to many pages; again; twice the pages "
        "of the first TLB; other lines of one page; the first lines of a "
        "few pages";
    const char *present[FTH_PATTERNS];
    double cycles[FTH_PATTERNS];
    size_t count = 0;
    for (int i = 0; i < FTH_PATTERNS; i++) {
        if (found->patterns[i].presence != FTH_PRESENT)
            continue;
        present[count] = words[i];
        cycles[count++] = fth_round_to_tenth(found->patterns[i].cycles.value - overhead);
    }
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "spectrum_patterns",
                                        .texts = present,
                                        .count = count,
                                        .evidence = &found->evidence,
                                        .samples = found->samples,
                                        .method = method},
                     error));
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "spectrum_cycles",
                                       .numbers = cycles,
                                       .count = count,
                                       .confidence = &found->cycles_confidence,
                                       .samples = found->samples,
                                       .method = method},
                    error);
}

/* Writes whether L1 is addressed virtually. It is if TLB misses do not slow down hits in L1. */
static enum fth_status note_addressing(struct fth_gpu *gpu, const struct fth_spectrum *found,
                                       struct fth_error *error)
{
    if (found->patterns[FTH_PATTERN_HIT_MISS].presence == FTH_PRESENT)
        FTH_TRY(fth_note(gpu,
                         &(struct fth_note){.element = "l1",
                                            .attribute = "tlb_miss_cycles",
                                            .figure = &found->tlb_miss,
                                            .method = "latency of P2 minus latency of P1; "
                                                      "interval: of all repeats"},
                         error));
    return fth_note(gpu,
                    &(struct fth_note){.element = "l1",
                                       .attribute = "addressing",
                                       .text = found->is_virtual ? "virtual" : "physical",
                                       .evidence = &found->addressing_evidence,
                                       .samples = found->samples,
                                       .method = found->is_virtual
                                                     ? "a hit takes the same time whether or not a "
                                                       "TLB has its page"
                                                     : "a hit takes longer if the first TLB does "
                                                       "not have its page"},
                    error);
}

/* Writes why the page tables are unknown. */
static enum fth_status note_no_table(struct fth_gpu *gpu, const char *reason,
                                     struct fth_error *error)
{
    FTH_TRY(fth_note_unknown(gpu, "memory", "page_table_bytes", reason, error));
    return fth_note_unknown(gpu, "memory", "page_table_switch_cycles", reason, error);
}

/* Writes the bytes of a page table, and the cycles of the first access to another one. Only a load
 * that misses all TLBs accesses a page table. Where a level was not measured, it may have held all
 * pages, and a page table may then cost time although no access shows it. */
static enum fth_status note_page_table(struct fth_gpu *gpu, const struct fth_tlbs *tlbs,
                                       const struct fth_spectrum *found, struct fth_error *error)
{
    static const char method[] =
        "first accesses that take a quarter longer than others, at equal distances";
    if (found->patterns[FTH_PATTERN_SWITCH].presence != FTH_PRESENT || !found->page_table_bytes)
        return tlbs->count < FTH_MAX_TLBS &&
                       fth_gpu_unknown(gpu, fth_tlb_elements[tlbs->count], "reach_bytes")
                   ? note_no_table(gpu, "a TLB whose entries are not known may have held all pages",
                                   error)
                   : FTH_OK;
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = "memory",
                                        .attribute = "page_table_bytes",
                                        .number = (double)found->page_table_bytes,
                                        .evidence = &found->table_evidence,
                                        .samples = found->samples,
                                        .method = method},
                     error));
    return fth_note(gpu,
                    &(struct fth_note){.element = "memory",
                                       .attribute = "page_table_switch_cycles",
                                       .figure = &found->table_switch,
                                       .method = method},
                    error);
}

/* Returns half of the lines of L1: they fit even if they are distributed unevenly over the sets. */
static uint64_t half_of_l1(const struct fth_gpu *gpu)
{
    const double line = fth_gpu_number(gpu, "l1", "line_bytes", 128);
    return (uint64_t)(fth_gpu_number(gpu, "l1", "size_bytes", 0) / line / 2);
}

/* Measures the spectrum through L1 (`path` FTH_PATH_CA) or L2 (FTH_PATH_CG). `far_extra_cycles`: by
 * which far memory is slower than near memory; NAN: there is no far memory. */
static enum fth_status find_spectrum(struct fth_discovery *discovery, const struct fth_tlbs *tlbs,
                                     const char *element, enum fth_path path,
                                     double far_extra_cycles, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_tlb_level *first = &tlbs->levels[0], *second = &tlbs->levels[1];
    const bool two = tlbs->count > 1 && second->page_bytes;
    const uint64_t page =
        two && second->page_bytes > first->page_bytes ? second->page_bytes : first->page_bytes;
    const uint64_t max =
        (uint64_t)(fth_gpu_number(gpu, "memory", "size_bytes", 0) * fth_walked_memory_fraction);
    /* If the number of entries of the second TLB is not known, use as many pages as memory has. */
    const uint64_t max_pages = FTH_MIN(max / page * 3 / 4, MAX_PAGES);
    const struct fth_spectrum_plan plan = {.path = path,
                                           .carveout_percent = path == FTH_PATH_CA ? 0 : -1,
                                           .page_bytes = page,
                                           .first_entries = first->entries,
                                           .second_entries = !two              ? 0
                                                             : second->entries ? second->entries
                                                                               : max_pages,
                                           .two_homes = !isnan(far_extra_cycles),
                                           .far_extra_cycles = fmax(far_extra_cycles, 0),
                                           .cached_lines =
                                               path == FTH_PATH_CA ? half_of_l1(gpu) : 0,
                                           .max_bytes = max};
    struct fth_spectrum found;
    enum fth_status status = fth_probe_spectrum(&discovery->prober, &plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, element, "spectrum_cycles", status, error);
    if (path == FTH_PATH_CG && two && second->entries == 0 &&
        found.patterns[FTH_PATTERN_HIT_MISS_BOTH].presence != FTH_PRESENT) {
        static const char reason[] = "even all available memory does not exceed the second TLB";
        FTH_TRY(note_no_table(gpu, reason, error));
        return fth_note_unknown(gpu, element, "spectrum_cycles", reason, error);
    }
    FTH_TRY(note_patterns(gpu, element, &found, discovery->l2_overhead_cycles, error));
    return path == FTH_PATH_CA ? note_addressing(gpu, &found, error)
                               : note_page_table(gpu, tlbs, &found, error);
}

/* ---- all levels ---- */

/* Measures the sets and the policy of each level that is to be dissected. *any is true if there is
 * one. */
static enum fth_status dissect_levels(struct fth_discovery *discovery,
                                      const struct fth_dissect_options *options,
                                      const struct fth_tlbs *tlbs, bool *any,
                                      struct fth_error *error)
{
    for (size_t i = 0; i < FTH_MAX_TLBS; i++) {
        if (!fth_discovery_wants(discovery, fth_tlb_elements[i]))
            continue;
        *any = true;
        FTH_TRY(fth_discovery_check_interrupt(discovery, error));
        if (i < tlbs->count && tlbs->levels[i].entries)
            FTH_TRY(find_sets(discovery, options, tlbs, i, error));
        else if (i < tlbs->count || discovery->only)
            FTH_TRY(note_missing(discovery->gpu, fth_tlb_elements[i], error));
    }
    return FTH_OK;
}

enum fth_status fth_dissect_tlbs(struct fth_discovery *discovery,
                                 const struct fth_dissect_options *options, struct fth_error *error)
{
    struct fth_tlbs tlbs;
    struct fth_gpu *gpu = discovery->gpu;
    bool any = false;
    read_levels(gpu, &tlbs);
    FTH_TRY(dissect_levels(discovery, options, &tlbs, &any, error));
    if (!any || tlbs.count == 0 || tlbs.levels[0].entries == 0)
        return FTH_OK;
    struct fth_figure near = {.value = NAN, .low = NAN}, far = {.value = NAN};
    enum fth_status status = fth_probe_memory_latency(
        &discovery->prober, discovery->l2_overhead_cycles, &near, &far, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, "l2", "spectrum_cycles", status, error);
    const double extra = far.value - near.value; /* NAN: there is no far memory */
    FTH_TRY(find_spectrum(discovery, &tlbs, "l2", FTH_PATH_CG, extra, error));
    return fth_gpu_attribute(gpu, "l1", "size_bytes")
               ? find_spectrum(discovery, &tlbs, "l1", FTH_PATH_CA, extra, error)
               : FTH_OK;
}
