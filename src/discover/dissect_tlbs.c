/* Taking apart the TLBs that were found: sets, ways and policy of each level, with the walks that
 * say so; and the spectrum of latencies (Mei and Chu 2017, Figures 8 and 14), through L2 and
 * through L1. */
#include "discover/discover.h"
#include "probe/tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that may be taken, as for finding the TLBs. */
static const double memory_part = 0.7;
/* Walks that are kept, at most: the first ones tell small sets, the last one that all miss. */
enum { MAX_KEPT = 48, MAX_SETS = 256, MAX_PAGES = 6000 /* lines that any L2 holds */ };

static const char *const names[FTH_MAX_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};

static const char sets_method[] =
    "how many pages miss with each page more than fit: all of a set, one set after the other";

/* ---- what is known ---- */

static uint64_t whole(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    return (uint64_t)fth_gpu_number(gpu, element, attribute, 0);
}

/* The levels as the description has them; those whose figures are not all known have no entries. */
static void recall(const struct fth_gpu *gpu, struct fth_tlbs *tlbs)
{
    *tlbs = (struct fth_tlbs){.count = 0};
    for (size_t i = 0; i < FTH_MAX_TLBS && fth_gpu_attribute_count(gpu, names[i]); i++) {
        struct fth_tlb_level *level = &tlbs->levels[tlbs->count++];
        const struct fth_attribute *entries = fth_gpu_attribute(gpu, names[i], "entries");
        level->page_bytes = whole(gpu, names[i], "page_bytes");
        level->entries = level->page_bytes && entries ? (uint64_t)entries->number : 0;
        level->entries_confidence = entries ? entries->confidence : 0;
        level->penalty_cycles = fth_gpu_number(gpu, names[i], "miss_penalty_cycles", 0);
    }
}

/* ---- sets ---- */

static enum fth_status note_ways(struct fth_gpu *gpu, const char *name,
                                 const struct fth_tlb_sets *found, struct fth_error *error)
{
    double ways[MAX_SETS];
    size_t count = 0;
    uint64_t sets = 0;
    for (size_t i = 0; i < found->kind_count; i++) {
        for (uint64_t j = 0; j < found->kinds[i].sets && count < MAX_SETS; j++)
            ways[count++] = (double)found->kinds[i].ways;
        sets += found->kinds[i].sets;
    }
    enum fth_status status = fth_note_sure(gpu, name, "sets", (double)sets, found->confidence,
                                           found->samples, sets_method, error);
    if (status != FTH_OK)
        return status;
    if (found->kind_count == 1)
        return fth_note_sure(gpu, name, "ways", (double)found->kinds[0].ways, found->confidence,
                             found->samples, sets_method, error);
    return fth_note_numbers(gpu, name, "set_ways", ways, count, found->confidence, found->samples,
                            sets_method, error);
}

/* The walks themselves. */
static enum fth_status note_stairs(struct fth_gpu *gpu, const char *name,
                                   const struct fth_tlb_sets *found, struct fth_error *error)
{
    double pages[MAX_KEPT], missed[MAX_KEPT];
    size_t count = 0;
    if (found->stair_count == 0)
        return FTH_OK;
    for (size_t i = 0; i < found->stair_count; i++) {
        if (count == MAX_KEPT - 1 && i + 1 < found->stair_count)
            continue;
        pages[count] = (double)found->stairs[i].pages;
        missed[count++] = (double)found->stairs[i].missing;
    }
    enum fth_status status = fth_note_numbers(gpu, name, "overflow_pages", pages, count, NAN,
                                              found->samples, "walks over them", error);
    return status == FTH_OK
               ? fth_note_numbers(gpu, name, "overflow_missed", missed, count, NAN, found->samples,
                                  found->policy == FTH_TLB_UNSTEADY ? "missed in any pass"
                                                                    : "missed in most passes",
                                  error)
               : status;
}

static enum fth_status note_policy(struct fth_gpu *gpu, const char *name,
                                   const struct fth_tlb_sets *found, struct fth_error *error)
{
    static const char method[] =
        "all pages that fit, the first one again, one page more: which one is gone";
    static const char chance[] =
        "how many pages after the last miss the next one is: any equally often (G-test)";
    const bool random = found->policy == FTH_TLB_RANDOM;
    const bool unsteady = random || found->policy == FTH_TLB_UNSTEADY;
    if (found->policy == FTH_TLB_POLICY_UNKNOWN)
        return fth_note_unknown(
            gpu, name, "policy",
            found->kind_count == 0 ? "its sets are not known"
                                   : "which page goes was not seen: there is too little memory, or "
                                     "the level before this one holds too many of its pages",
            error);
    enum fth_status status =
        fth_note_text(gpu, name, "periodic", unsteady ? "no" : "yes",
                      "whether the same pages miss in every pass over more than fit", error);
    if (status != FTH_OK)
        return status;
    if (unsteady && !random)
        return fth_note_unknown(
            gpu, name, "policy",
            "not LRU: other pages miss in each pass over more than fit; that each "
            "goes equally often, as by chance, was not seen",
            error);
    if (found->policy == FTH_TLB_OTHER)
        return fth_note_unknown(gpu, name, "policy",
                                "the same pages miss in each pass over more than fit, but fewer "
                                "of a set than with LRU or FIFO",
                                error);
    struct fth_gpu_section *section;
    struct fth_attribute policy = fth_attribute_make("policy", FTH_TEXT);
    policy.text = random                              ? "random"
                  : found->policy == FTH_TLB_TREE     ? "plru"
                  : found->policy == FTH_TLB_FIRST_IN ? "fifo"
                                                      : "lru";
    policy.source = FTH_SOURCE_MEASURED;
    policy.confidence = found->policy_confidence;
    policy.method = random ? chance : method;
    status = fth_note_section(gpu, name, &section, error);
    return status == FTH_OK ? fth_gpu_set(gpu, section, &policy, error) : status;
}

static enum fth_status note_sets(struct fth_gpu *gpu, const char *name,
                                 const struct fth_tlb_sets *found, struct fth_error *error)
{
    enum fth_status status = note_stairs(gpu, name, found, error);
    if (status == FTH_OK && found->kind_count)
        status = note_ways(gpu, name, found, error);
    else if (status == FTH_OK)
        status =
            fth_note_unknown(gpu, name, "sets", found->doubt ? found->doubt : "not found", error);
    return status == FTH_OK ? note_policy(gpu, name, found, error) : status;
}

/* Why a level cannot be taken apart: what is not known of it. */
static enum fth_status note_missing(struct fth_gpu *gpu, const char *name, struct fth_error *error)
{
    const char *why = fth_gpu_unknown(gpu, name, "entries");
    char reason[300];
    if (fth_gpu_attribute_count(gpu, name) == 0 && !why)
        snprintf(reason, sizeof reason, "no such level was found");
    else
        snprintf(reason, sizeof reason, "its entries are not known%s%s", why ? ": " : "",
                 why ? why : "");
    enum fth_status status = fth_note_unknown(gpu, name, "sets", reason, error);
    return status == FTH_OK ? fth_note_unknown(gpu, name, "policy", reason, error) : status;
}

/* Tells who wants to know of the loads. */
static void tell_series(const struct fth_dissect_options *options, const char *name,
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
                                 const struct fth_tlbs *tlbs, size_t which, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    struct fth_tlb_sets found = {0};
    const struct fth_tlb_sets_plan plan = {
        .tlbs = tlbs,
        .which = which,
        .max_bytes = (uint64_t)(fth_gpu_number(gpu, "memory", "size_bytes", 0) * memory_part),
        .l2_bytes = (uint64_t)fth_gpu_number(gpu, "l2", "size_bytes", 1 << 20)};
    enum fth_status status = fth_probe_tlb_sets(&discovery->prober, &plan, &found, error);
    if (status == FTH_OK) {
        tell_series(options, names[which], tlbs->levels[which].page_bytes, &found);
        status = note_sets(gpu, names[which], &found, error);
    } else {
        status = fth_note_failure(gpu, names[which], "sets", status, error);
    }
    fth_tlb_sets_fini(&found);
    return status;
}

/* ---- the spectrum ---- */

/* What a load takes in each pattern that there is, less what timing it costs. */
static enum fth_status note_patterns(struct fth_gpu *gpu, const char *element,
                                     const struct fth_spectrum *found, double overhead,
                                     struct fth_error *error)
{
    static const char *const words[FTH_PATTERNS] = {"P1", "P2", "P3", "P4", "P5", "P6"};
    static const char method[] = "one experiment: first touch of many pages, again, twice what the "
                                 "first TLB holds, other lines of a few, the first ones again";
    const char *present[FTH_PATTERNS];
    double cycles[FTH_PATTERNS];
    size_t count = 0;
    for (int i = 0; i < FTH_PATTERNS; i++) {
        if (found->patterns[i].presence != FTH_PRESENT)
            continue;
        present[count] = words[i];
        cycles[count++] = round(10 * (found->patterns[i].cycles.value - overhead)) / 10;
    }
    enum fth_status status =
        fth_note_texts(gpu, element, "spectrum_patterns", present, count, NAN, method, error);
    return status == FTH_OK ? fth_note_numbers(gpu, element, "spectrum_cycles", cycles, count, NAN,
                                               found->samples, method, error)
                            : status;
}

/* No pattern of the TLBs on a hit: L1 is asked before any TLB. */
static enum fth_status note_addressing(struct fth_gpu *gpu, const struct fth_spectrum *found,
                                       struct fth_error *error)
{
    const enum fth_presence one = found->patterns[FTH_PATTERN_HIT_MISS].presence;
    const enum fth_presence both = found->patterns[FTH_PATTERN_HIT_MISS_BOTH].presence;
    const bool virtual = one == FTH_ABSENT && both != FTH_PRESENT;
    enum fth_status status = FTH_OK;
    if (one == FTH_PRESENT)
        status = fth_note_count(gpu, "l1", "tlb_miss_cycles",
                                round(10 * (found->patterns[FTH_PATTERN_HIT_MISS].cycles.value -
                                            found->patterns[FTH_PATTERN_HIT].cycles.value)) /
                                    10,
                                found->samples, "the second pattern less the first", error);
    if (status != FTH_OK)
        return status;
    return fth_note_text(gpu, "l1", "addressing", virtual ? "virtual" : "physical",
                         virtual ? "a hit takes as long whether a TLB has its page or none does"
                                 : "a hit takes longer where the first TLB does not have its page",
                         error);
}

static enum fth_status note_page_table(struct fth_gpu *gpu, const struct fth_spectrum *found,
                                       struct fth_error *error)
{
    static const char method[] = "first touches that take a quarter longer, equally far apart";
    if (found->patterns[FTH_PATTERN_SWITCH].presence != FTH_PRESENT || !found->page_table_bytes)
        return FTH_OK;
    const double more = found->patterns[FTH_PATTERN_SWITCH].cycles.value -
                        found->patterns[FTH_PATTERN_COLD_MISS].cycles.value;
    enum fth_status status =
        fth_note_count(gpu, "memory", "page_table_bytes", (double)found->page_table_bytes,
                       found->samples, method, error);
    return status == FTH_OK ? fth_note_count(gpu, "memory", "page_table_switch_cycles",
                                             round(10 * more) / 10, found->samples, method, error)
                            : status;
}

/* Lines that L1 has for sure, however they fall into its sets. */
static uint64_t half_of_l1(const struct fth_gpu *gpu)
{
    const double line = fth_gpu_number(gpu, "l1", "line_bytes", 128);
    return (uint64_t)(fth_gpu_number(gpu, "l1", "size_bytes", 0) / line / 2);
}

/* Through the cache of that element. */
static enum fth_status find_spectrum(struct fth_discovery *discovery, const struct fth_tlbs *tlbs,
                                     const char *element, enum fth_path path, bool two_homes,
                                     struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_tlb_level *first = &tlbs->levels[0], *second = &tlbs->levels[1];
    const bool two = tlbs->count > 1 && second->page_bytes;
    const uint64_t page =
        two && second->page_bytes > first->page_bytes ? second->page_bytes : first->page_bytes;
    const uint64_t max = (uint64_t)(fth_gpu_number(gpu, "memory", "size_bytes", 0) * memory_part);
    /* Where it is not known how many pages the second one has, as many as there is memory for. */
    const uint64_t all = FTH_MIN(max / page * 3 / 4, MAX_PAGES);
    const struct fth_spectrum_plan plan = {.path = path,
                                           .carveout_percent = path == FTH_PATH_CA ? 0 : -1,
                                           .page_bytes = page,
                                           .first_entries = first->entries,
                                           .last_entries = !two              ? 0
                                                           : second->entries ? second->entries
                                                                             : all,
                                           .two_homes = two_homes,
                                           .held_lines = path == FTH_PATH_CA ? half_of_l1(gpu) : 0,
                                           .max_bytes = max};
    struct fth_spectrum found;
    enum fth_status status = fth_probe_spectrum(&discovery->prober, &plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(gpu, element, "spectrum_cycles", status, error);
    if (path == FTH_PATH_CG && two && second->entries == 0 &&
        found.patterns[FTH_PATTERN_HIT_MISS_BOTH].presence != FTH_PRESENT)
        return fth_note_unknown(gpu, element, "spectrum_cycles",
                                "memory does not show what the second TLB does not have", error);
    status = note_patterns(gpu, element, &found, discovery->l2_overhead_cycles, error);
    if (status == FTH_OK && path == FTH_PATH_CA)
        status = note_addressing(gpu, &found, error);
    if (status == FTH_OK && path == FTH_PATH_CG)
        status = note_page_table(gpu, &found, error);
    return status;
}

/* ---- all of it ---- */

enum fth_status fth_dissect_tlbs(struct fth_discovery *discovery,
                                 const struct fth_dissect_options *options, struct fth_error *error)
{
    struct fth_tlbs tlbs;
    struct fth_gpu *gpu = discovery->gpu;
    bool any = false;
    enum fth_status status = FTH_OK;
    recall(gpu, &tlbs);
    for (size_t i = 0; i < FTH_MAX_TLBS && status == FTH_OK; i++) {
        if (!fth_discovery_wants(discovery, names[i]))
            continue;
        any = true;
        if (i < tlbs.count && tlbs.levels[i].entries)
            status = find_sets(discovery, options, &tlbs, i, error);
        else if (i < tlbs.count || discovery->only)
            status = note_missing(gpu, names[i], error);
    }
    if (!any || tlbs.count == 0 || tlbs.levels[0].entries == 0)
        return status;
    struct fth_figure near = {.value = NAN, .low = NAN}, far = {.value = NAN};
    if (status == FTH_OK)
        status = fth_probe_memory_latency(&discovery->prober, discovery->l2_overhead_cycles, &near,
                                          &far, error);
    const bool two = isfinite(far.value);
    if (status != FTH_OK)
        return fth_note_failure(gpu, "l2", "spectrum_cycles", status, error);
    status = find_spectrum(discovery, &tlbs, "l2", FTH_PATH_CG, two, error);
    if (status == FTH_OK && fth_gpu_attribute(gpu, "l1", "size_bytes"))
        status = find_spectrum(discovery, &tlbs, "l1", FTH_PATH_CA, two, error);
    return status;
}
