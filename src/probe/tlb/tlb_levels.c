/* How many TLB levels are there, and what are the page size, the number of entries and the miss
 * penalty of each? The probe times every load of a pointer chase separately (a fine-grained
 * pointer chase: Mei and Chu 2017, Section 4). The loads of a chain are a constant stride apart,
 * usually a page or more. probe_tlb.h defines position, baseline, excess and step. pages.c measures
 * the excess of each load, and tlb_step.c finds out which loads missed.
 *
 * With more and more loads, the excess rises in steps, one per level. A candidate is such a step:
 * it begins between two numbers of loads. The search is a state machine over candidates, from the
 * lowest step to the highest. It looks for steps above the floor, an excess that the levels found
 * so far explain.
 *
 *                    no step above the floor, or is_full()
 *    start ──► FIND_STEP ────────────────────────────────► DONE
 *               ▲  ▲  │
 *               │  │  │ a step above the floor
 *               │  │  ▼
 *               │  │ MEASURE ── is_duplicate() ──► MERGE
 *               │  │  │                             │
 *               │  │  │ otherwise                   │
 *               │  │  ▼                             │
 *               │  └─ACCEPT                         │
 *               └───────────────────────────────────┘
 *
 *   FIND_STEP  Makes a walk longer until some loads have a higher excess than the floor
 *              (tlb_candidates.c). The loads follow the spread chain: its stride is not a multiple
 *              of any page size, so that a TLB distributes the pages over all its sets. If the page
 *              size of the previous level is known, a second chain with that stride is examined,
 *              too: it has more loads in the same memory. takes_page_chain() selects one of the two
 *              steps.
 *   MEASURE    Determines the page size (tlb_page_size.c), the entries (tlb_entries.c) and the
 *              penalty (tlb_penalty.c) of the candidate.
 *   ACCEPT     The candidate becomes a level. The floor rises to the excess of its misses.
 *   MERGE      The candidate is the previous level again. Some loads take more or fewer cycles than
 *              most for a miss of the same TLB, which looks like a second step. If more loads show
 *              this step than the lower one (determines_penalty()), it determines the penalty of
 *              the previous level. The floor rises to the step of the candidate.
 *   DONE       The levels are complete. A failed measurement ends the search in any state.
 *
 * The floor rises with each step that is found, so the search ends. docs/methods.md lists the
 * assumptions. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>

/* ---- constants of the chains ---- */

enum {
    /* Number of loads that the spread chain should have at least. Its stride is halved until memory
     * has space for them, or until the stride is not greater than FTH_TLB_MIN_PAGE. Chosen, not
     * derived: a chain with fewer loads could not fill a level of as many entries. */
    WANTED_LOADS = 128,
    /* Maximum length of the second chain, in loads per entry of the previous level. This is enough
     * to fill a next level whose pages are up to 16 times as large as those of the previous level
     * and which has up to 2.5 times as many entries (16 * 2.5 = 40). Chosen to save time. */
    LOADS_PER_ENTRY = 40,
    /* Walks over fewer loads than this may be too short to show a further level. Chosen: the last
     * level of most GPUs has fewer entries (Mei and Chu 2017, Table 5). */
    ENOUGH_LOADS = 1024,
    /* Length of the chain on which a candidate's entries are counted: this many times the bytes at
     * which the step was found. Chosen, not derived: room for a level that began to miss early
     * because the spread chain filled some of its sets before others. */
    ENTRIES_FACTOR = 8
};
/* Stride of the spread chain: about 64 MiB divided by the golden ratio, in bytes. Multiples of it
 * are evenly distributed over any number of sets. */
static const uint64_t spread_stride = 41473536;

/* ---- the search ---- */

enum state { FIND_STEP, MEASURE, ACCEPT, MERGE, DONE };

struct level_search {
    struct fth_tlb_survey *survey;
    struct fth_pages *spread; /* the spread chain */
    struct fth_tlbs *tlbs;    /* result: the levels that were accepted */
    double floor_excess;      /* cycles; FIND_STEP looks for a step above it */
    /* Walks over up to this many loads of the spread chain show no step above the floor: the
     * previous FIND_STEP, with a lower floor, has found none. */
    uint64_t spread_fitting_loads;
    struct fth_tlb_candidate candidate; /* that is examined; MEASURE corrects its step */
    double found_excess;                /* miss excess of its step when FIND_STEP found it */
    struct fth_tlb_level level;         /* figures of the candidate, after MEASURE */
    struct fth_tlb_onset onset;         /* of the candidate, after MEASURE */
    /* The candidate of the level that was accepted last. The miss excess of its step is corrected
     * by the penalty that was measured. All zero before the first level. */
    struct fth_tlb_candidate last;
    struct fth_tlb_onset last_onset;
};

/* The level that was accepted last; NULL: none was. */
static struct fth_tlb_level *previous_level(const struct level_search *search)
{
    return search->tlbs->count ? &search->tlbs->levels[search->tlbs->count - 1] : NULL;
}

/* ---- predicates ---- */

static bool is_full(const struct fth_tlbs *tlbs)
{
    return tlbs->count >= FTH_MAX_TLBS;
}

/* Whether the candidate is a step above the floor. Every step that is found is; the comparison only
 * makes sure that the search ends. */
static bool is_above_floor(const struct level_search *search)
{
    return search->candidate.found && search->candidate.step.miss_excess > search->floor_excess;
}

/* Whether the candidate of the second chain replaces that of the spread chain: if its step is
 * lower, or if the two differ by less than the smallest penalty that the probe looks for. */
static bool takes_page_chain(const struct fth_tlb_candidate *by_page,
                             const struct fth_tlb_candidate *by_spread)
{
    return by_page->found &&
           (!by_spread->found ||
            by_page->step.miss_excess < by_spread->step.miss_excess + FTH_TLB_MIN_RISE);
}

/* Whether the second chain may be as long as memory and L2 allow. If the spread chain shows no
 * further level, the next level may have more entries than that chain has loads. But if pages are
 * very large, the second chain would have hardly more loads than the spread chain. */
static bool needs_longest_chain(const struct level_search *search,
                                const struct fth_tlb_level *previous)
{
    return !search->candidate.found && 2 * previous->page_bytes <= search->spread->stride_bytes;
}

/* Whether the candidate begins to miss at the same number of pages as the previous level, with the
 * same page size. */
static bool has_same_onset(const struct level_search *search, const struct fth_tlb_level *previous)
{
    return search->level.page_bytes == previous->page_bytes && search->onset.pages &&
           search->onset.pages == search->last_onset.pages;
}

/* Whether a number of entries was measured for the candidate that is not that of the previous
 * level. None is measured if its page size is unknown, or if the previous level holds many of the
 * pages that would fill it. */
static bool has_own_entries(const struct fth_tlb_level *level, const struct fth_tlb_level *previous)
{
    return !level->hidden && level->page_bytes && level->entries != previous->entries;
}

/* Whether the candidate holds the same pages as the previous level. Such a level would never hit.
 */
static bool has_same_reach(const struct fth_tlb_level *level, const struct fth_tlb_level *previous)
{
    return !level->hidden && level->page_bytes && level->page_bytes == previous->page_bytes &&
           level->entries && level->entries == previous->entries;
}

/* Whether the candidate is the previous level again. It is if it has the same onset or the same
 * reach. It also is if it has no entries of its own, and a lower penalty than the previous level.
 */
static bool is_duplicate(const struct level_search *search, const struct fth_tlb_level *previous)
{
    return has_same_onset(search, previous) || has_same_reach(&search->level, previous) ||
           (!has_own_entries(&search->level, previous) &&
            search->level.penalty_cycles < previous->penalty_cycles);
}

/* Whether the step of a duplicate determines the penalty of the previous level: more loads show it
 * than the lower step. */
static bool determines_penalty(const struct level_search *search,
                               const struct fth_tlb_level *previous)
{
    return has_same_onset(search, previous) && search->onset.misses > search->last_onset.misses;
}

/* ---- FIND_STEP ---- */

/* Length of the second chain. It is limited to save time, unless needs_longest_chain(). The chain
 * is needed even if the spread chain shows a step: the next level may have fewer entries than the
 * previous one, but larger pages. On the spread chain, every load needs its own entry in both
 * levels. As soon as loads miss the previous level, they miss the next one, too. On the second
 * chain, several loads share a page of the next level, which therefore overflows later.
 * LOADS_PER_ENTRY is enough for this if the pages are not much larger. */
static uint64_t page_chain_loads(const struct level_search *search,
                                 const struct fth_tlb_level *previous)
{
    if (needs_longest_chain(search, previous))
        return UINT64_MAX;
    return LOADS_PER_ENTRY * (previous->entries ? previous->entries : search->last.onset_loads);
}

/* The number of loads of the second chain that certainly show no step. As long as all loads hit the
 * previous level, the next one is not used. 0: unknown. */
static uint64_t fitting_loads_by_page(const struct level_search *search)
{
    return search->last_onset.pages ? search->last_onset.pages - 1 : 0;
}

/* Looks for a step on the second chain, whose stride is the page of the previous level, and makes
 * it the candidate if takes_page_chain(). */
static enum fth_status find_step_by_page(struct level_search *search,
                                         const struct fth_tlb_level *previous,
                                         struct fth_error *error)
{
    struct fth_tlb_survey *survey = search->survey;
    struct fth_tlb_candidate by_page = {0};
    struct fth_pages pages;
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_tlb_open_chain(survey, previous->page_bytes + FTH_TLB_SKEW_BYTES,
                                                page_chain_loads(search, previous), &pages, &fault);
    if (status == FTH_OK)
        status = fth_tlb_choose_groups(survey, &search->last, &pages, &fault);
    if (status == FTH_OK)
        status = fth_tlb_find_candidate(survey, &pages, search->floor_excess,
                                        fitting_loads_by_page(search), &by_page, &fault);
    fth_tlb_close_chain(survey, &pages);
    /* FTH_INCONCLUSIVE is no failure here. Memory can be too small for the second chain; then the
     * candidate of the spread chain is still valid. Or even the shortest walk shows a step, which
     * is a valid candidate for this level. */
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        return fth_error_move(error, &fault);
    if (takes_page_chain(&by_page, &search->candidate))
        search->candidate = by_page;
    return FTH_OK;
}

static enum fth_status find_step(struct level_search *search, enum state *state,
                                 struct fth_error *error)
{
    const struct fth_tlb_level *previous = previous_level(search);
    struct fth_tlb_candidate *candidate = &search->candidate;
    FTH_TRY(fth_tlb_find_candidate(search->survey, search->spread, search->floor_excess,
                                   search->spread_fitting_loads, candidate, error));
    if (candidate->found)
        search->spread_fitting_loads = candidate->fitting_loads;
    if (!previous)
        fth_tlb_survey_first_step(search->survey, candidate, search->spread);
    else if (previous->page_bytes)
        FTH_TRY(find_step_by_page(search, previous, error));
    /* The penalty is measured relative to the misses of the previous level, even if a duplicate has
     * raised the floor. */
    candidate->step.hit_excess = search->last.step.miss_excess;
    search->found_excess = candidate->step.miss_excess;
    *state = is_above_floor(search) && !is_full(search->tlbs) ? MEASURE : DONE;
    return FTH_OK;
}

/* ---- MEASURE ---- */

/* How many loads the inner level holds at a stride of one page of the outer level; 0: unknown. */
static uint64_t loads_held(const struct fth_tlb_level *inner, const struct fth_tlb_level *outer)
{
    const uint64_t loads_per_entry = inner->page_bytes / outer->page_bytes;
    return inner->entries * (loads_per_entry ? loads_per_entry : 1);
}

/* Finds the entries and the penalty of the candidate, on a chain whose stride is its page. */
static enum fth_status find_entries_and_penalty(struct level_search *search,
                                                const struct fth_tlb_level *previous,
                                                struct fth_error *error)
{
    struct fth_tlb_survey *survey = search->survey;
    struct fth_tlb_candidate *candidate = &search->candidate;
    struct fth_tlb_level *level = &search->level;
    struct fth_pages pages;
    struct fth_tlb_search entries = {.pages = &pages,
                                     .step = &candidate->step,
                                     .inner_periodic = survey->periodic,
                                     .inner_loads = previous ? loads_held(previous, level) : 0};
    enum fth_status status = fth_tlb_open_chain(survey, level->page_bytes + FTH_TLB_SKEW_BYTES,
                                                ENTRIES_FACTOR * candidate->onset_loads *
                                                    candidate->stride_bytes / level->page_bytes,
                                                &pages, error);
    if (status == FTH_OK)
        status = fth_tlb_choose_groups(survey, candidate, &pages, error);
    if (status == FTH_OK)
        status = fth_tlb_find_entries(&entries, previous ? &search->last.step : NULL, level, error);
    if (status == FTH_OK && entries.onset)
        status = fth_tlb_find_penalty(survey, &entries, level, &search->onset, error);
    fth_tlb_close_chain(survey, &pages);
    return status;
}

/* Determines page size, entries and penalty of the candidate. A page size or number of entries that
 * is not found is 0, with a reason in level.doubt. Where no onset is found, the penalty is the
 * height of the step, without an interval. */
static enum fth_status measure(struct level_search *search, enum state *state,
                               struct fth_error *error)
{
    const struct fth_tlb_level *previous = previous_level(search);
    struct fth_tlb_candidate *candidate = &search->candidate;
    struct fth_tlb_level *level = &search->level;
    search->onset = (struct fth_tlb_onset){0};
    *level = (struct fth_tlb_level){.penalty_cycles =
                                        candidate->step.miss_excess - candidate->step.hit_excess,
                                    .penalty_low = NAN,
                                    .penalty_high = NAN};
    FTH_TRY(fth_tlb_find_page(search->survey, candidate, level, error));
    level->per_load = candidate->step.per_load;
    if (level->page_bytes)
        FTH_TRY(find_entries_and_penalty(search, previous, error));
    *state = previous && is_duplicate(search, previous) ? MERGE : ACCEPT;
    return FTH_OK;
}

/* ---- ACCEPT and MERGE ---- */

static enum state accept(struct level_search *search)
{
    const struct fth_tlb_level *level = &search->level;
    search->tlbs->levels[search->tlbs->count++] = *level;
    fth_tlb_survey_level(search->survey, search->tlbs);
    search->last = search->candidate;
    search->last.step.miss_excess = search->last.step.hit_excess + level->penalty_cycles;
    search->last_onset = search->onset;
    search->floor_excess = search->last.step.miss_excess;
    return FIND_STEP;
}

/* Adds the penalty of a duplicate to that of the level. The penalty of the duplicate is measured
 * relative to the miss excess of the level, so the sum is the penalty of the loads that show the
 * duplicate's step. */
static void add_penalty(struct fth_tlb_level *level, const struct fth_tlb_level *duplicate)
{
    level->penalty_low = level->penalty_cycles + duplicate->penalty_low;
    level->penalty_high = level->penalty_cycles + duplicate->penalty_high;
    level->penalty_cycles += duplicate->penalty_cycles;
}

/* The floor rises above the step that was found, even if MEASURE has corrected it to a lower one.
 * Otherwise FIND_STEP would find it again. */
static enum state merge(struct level_search *search)
{
    struct fth_tlb_level *previous = previous_level(search);
    if (determines_penalty(search, previous)) {
        add_penalty(previous, &search->level);
        search->last.step.miss_excess = search->last.step.hit_excess + previous->penalty_cycles;
        search->last_onset = search->onset;
    }
    search->floor_excess = fmax(search->candidate.step.miss_excess, search->found_excess);
    return FIND_STEP;
}

/* ---- the probe ---- */

static enum fth_status find_levels(struct level_search *search, struct fth_error *error)
{
    for (enum state state = FIND_STEP; state != DONE;)
        switch (state) {
        case FIND_STEP: FTH_TRY(find_step(search, &state, error)); break;
        case MEASURE: FTH_TRY(measure(search, &state, error)); break;
        case ACCEPT: state = accept(search); break;
        case MERGE: state = merge(search); break;
        case DONE: break;
        }
    return FTH_OK;
}

/* The stride of the spread chain: at most `spread_stride`, and an odd number of 128-byte lines, so
 * that the lines fall into all sets of the L2. */
static uint64_t choose_spread_stride(uint64_t max_bytes)
{
    uint64_t stride = spread_stride;
    while (max_bytes / stride < WANTED_LOADS && stride > FTH_TLB_MIN_PAGE)
        stride /= 2;
    return stride / FTH_TLB_SKEW_BYTES * FTH_TLB_SKEW_BYTES + FTH_TLB_SKEW_BYTES / 2;
}

enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                               uint64_t l2_bytes, struct fth_tlbs *tlbs, struct fth_error *error)
{
    *tlbs = (struct fth_tlbs){0};
    struct fth_tlb_survey survey = {.prober = prober,
                                    .periodic = true,
                                    .max_bytes = max_bytes,
                                    .max_loads = fth_tlb_max_loads(l2_bytes)};
    struct fth_pages spread;
    struct level_search search = {.survey = &survey, .spread = &spread, .tlbs = tlbs};
    enum fth_status status =
        fth_tlb_open_chain(&survey, choose_spread_stride(max_bytes), UINT64_MAX, &spread, error);
    if (status == FTH_OK)
        status = find_levels(&search, error);
    const uint64_t page = previous_level(&search) ? previous_level(&search)->page_bytes : 0;
    const uint64_t stride = page ? page : spread.stride_bytes;
    if (survey.max_loads < max_bytes / stride && survey.max_loads < ENOUGH_LOADS)
        tlbs->l2_loads = survey.max_loads;
    fth_tlb_close_chain(&survey, &spread);
    tlbs->samples = survey.samples;
    return status;
}
