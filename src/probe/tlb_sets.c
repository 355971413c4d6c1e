/* Sets, ways and policy of a TLB. With one page more at a time than fit, one set after the other
 * overflows, and all its pages begin to miss: how many is its number of ways and one (Mei and Chu,
 * 2017, Section 4.4 and Fig. 8). A larger set shows as a larger step. Of many pages, which a hash
 * may deal to the sets unevenly, some steps are taken, and their slope tells.
 *
 * Where other pages miss in each pass, so that it is not LRU, the pages that ever miss are counted:
 * a set that overflows loses each of its pages sooner or later, and no others are lost.
 *
 * Which page a full set gives up tells the policy: all pages that fit are walked over, the first
 * one is used again, and one page more is loaded. Where the least recent one goes it is the second,
 * where the first one in goes it is the first. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256,
    L2_PART = 16,
    MOST_HOPS = 8192,
    PASSES = 15, /* an inner level that is not LRU has a page now and then */
    FEW_PASSES = 3,
    MANY_PAGES = 512,
    BATCH = 16,
    REPEATS = 9,
    UNSTEADY_STAIRS = 16, /* sets of a TLB that is not LRU, at most */
    MOST_ROUNDS = 64,
    WARM = 4, /* passes for each page until all that fit are there, as in tlb_entries.c */
    INNER_TIMES = 3,
    CLEAR = 6, /* standard deviations of a load by which a miss shows in it, as in rung.c */
    LEAST_SLOPES = 3,
    FIRSTS = 8,
    LATER = 8 /* a part of all pages more */
};
/* The logarithm of how sure it is that every page that can miss has done so. */
static const double all_seen = 5;
/* So far may the misses of a walk be from where the slope has them. */
static const double slope_tolerance = 0.1;

struct study {
    const struct fth_prober *prober;
    const struct fth_tlb_sets_plan *plan;
    const struct fth_tlb_level *level;
    struct fth_pages pages;
    struct fth_rung rung;
    uint64_t inner_entries; /* of all levels before */
    uint64_t first;         /* page of the walks */
    bool steady;            /* the same pages miss in every pass */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- how it misses ---- */

/* Whether single loads tell a miss, from a walk that costs nothing; and then, whether the same
 * pages miss in every pass over half as many again as fit. */
static enum fth_status learn(struct study *study, uint64_t few, struct fth_error *error)
{
    struct fth_page_walk walk = {.count = few, .passes = PASSES};
    struct fth_page_spread spread = {0};
    enum fth_status status = fth_pages_walk(&study->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    status = fth_page_spread(&walk, &spread, error);
    fth_page_walks_fini(&walk, 1);
    study->rung.single = study->rung.value - study->rung.below > CLEAR * spread.single;
    study->steady = true;
    if (status != FTH_OK || !study->rung.single)
        return status;
    const uint64_t entries = study->level->entries;
    walk = (struct fth_page_walk){.count = least(entries + entries / 2 + 1, study->pages.most),
                                  .passes = PASSES};
    status = fth_pages_walk(&study->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    const struct fth_page_misses misses = fth_rung_misses(&walk, &study->rung);
    study->steady = misses.unsteady * 10 < misses.all;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* ---- stairs ---- */

static bool all_miss(const struct fth_tlb_stair *stair)
{
    /* The page of the samples may never miss. */
    return stair->missing + 1 >= stair->pages;
}

/* Walks over these numbers of pages, one after the other, until all miss. */
static enum fth_status climb_to(struct study *study, const uint64_t *counts, size_t count,
                                struct fth_tlb_sets *sets, struct fth_error *error)
{
    bool all = false;
    for (size_t from = 0; from < count && !all; from += BATCH) {
        struct fth_page_walk walks[BATCH];
        const size_t some = (size_t)least(BATCH, count - from);
        for (size_t i = 0; i < some; i++)
            walks[i] = (struct fth_page_walk){.first = study->first,
                                              .count = counts[from + i],
                                              .passes = counts[from + i] > MANY_PAGES ? FEW_PASSES
                                                                                      : PASSES};
        enum fth_status status = fth_pages_walk(&study->pages, walks, some, error);
        if (status != FTH_OK)
            return status;
        for (size_t i = 0; i < some && !all; i++) {
            sets->stairs[sets->stair_count++] = (struct fth_tlb_stair){
                walks[i].count, fth_rung_misses(&walks[i], &study->rung).steady};
            all = all_miss(&sets->stairs[sets->stair_count - 1]);
        }
        fth_page_walks_fini(walks, some);
    }
    return FTH_OK;
}

/* Where a hash deals pages to the sets, it may do so evenly from some pages on and not from others,
 * as an H200's does across a border of 64 GiB: the first page from which as many as there are
 * entries miss least. */
static enum fth_status choose_first(struct study *study, struct fth_error *error)
{
    const uint64_t entries = study->level->entries, needed = entries + entries / 4;
    const struct fth_page_walk all = {.count = entries, .passes = FEW_PASSES};
    struct fth_page_walk walks[FIRSTS];
    uint64_t fewest = UINT64_MAX;
    if (study->pages.most < needed + FIRSTS)
        return FTH_OK;
    for (size_t i = 0; i < FIRSTS; i++) {
        walks[i] = all;
        walks[i].first = (study->pages.most - needed) * i / (FIRSTS - 1);
    }
    enum fth_status status = fth_pages_walk(&study->pages, walks, FIRSTS, error);
    for (size_t i = 0; i < FIRSTS && status == FTH_OK; i++) {
        const uint64_t missing = fth_rung_misses(&walks[i], &study->rung).steady;
        if (missing < fewest)
            study->first = walks[i].first;
        fewest = least(fewest, missing);
    }
    if (status == FTH_OK)
        fth_page_walks_fini(walks, FIRSTS);
    return status;
}

/* One page more at a time where they are few, otherwise a growing number of them. */
static enum fth_status climb(struct study *study, struct fth_tlb_sets *sets,
                             struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    uint64_t counts[FTH_MOST_STAIRS] = {0};
    size_t count = 0;
    for (uint64_t more = 0;
         count < FTH_MOST_STAIRS && study->first + entries + more <= study->pages.most;
         more += entries > MANY_PAGES && more >= 4 ? more / 4 : 1)
        counts[count++] = entries + more;
    return climb_to(study, counts, count, sets, error);
}

/* The places that miss in any pass of a walk are marked; how often any did. */
static uint64_t mark_missed(const struct fth_page_walk *walk, const struct fth_rung *rung,
                            bool *missed)
{
    uint64_t times = 0;
    for (uint64_t i = 0; i < walk->passes * walk->count; i++)
        if (walk->excess[i] > fth_rung_threshold(rung)) {
            missed[i % walk->count] = true;
            times++;
        }
    return times;
}

/* How many of so many pages ever miss. Those that can are met at random, so that all are seen when
 * there were n (ln n + 5) misses of n of them, but for one in e^5. */
static enum fth_status count_ever(struct study *study, uint64_t pages, uint64_t *ever,
                                  struct fth_error *error)
{
    bool *missed = calloc(pages, sizeof *missed);
    if (!missed)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    enum fth_status status = FTH_OK;
    double times = 0, enough = 1;
    for (unsigned round = 0; round < MOST_ROUNDS && times < enough && status == FTH_OK; round++) {
        struct fth_page_walk walk = {.count = pages,
                                     .warm = WARM * pages,
                                     .passes = fth_page_passes(pages, FTH_MOST_PAGE_PASSES)};
        status = fth_pages_walk(&study->pages, &walk, 1, error);
        if (status != FTH_OK)
            break;
        times += (double)mark_missed(&walk, &study->rung, missed);
        fth_page_walks_fini(&walk, 1);
        *ever = 0;
        for (uint64_t i = 0; i < pages; i++)
            *ever += missed[i];
        enough = (double)*ever * (log(fmax((double)*ever, 1)) + all_seen);
    }
    free(missed);
    return status;
}

static enum fth_status climb_unsteadily(struct study *study, struct fth_tlb_sets *sets,
                                        struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    enum fth_status status = FTH_OK;
    sets->stairs[sets->stair_count++] = (struct fth_tlb_stair){entries, 0};
    for (uint64_t i = 1; i <= UNSTEADY_STAIRS && status == FTH_OK; i++) {
        struct fth_tlb_stair *stair = &sets->stairs[sets->stair_count++];
        stair->pages = entries + i;
        status = stair->pages <= study->pages.most
                     ? count_ever(study, stair->pages, &stair->missing, error)
                     : FTH_OK;
        if (all_miss(stair))
            break;
    }
    return status;
}

static void add_kind(struct fth_tlb_sets *sets, uint64_t ways)
{
    size_t i = 0;
    while (i < sets->kind_count && sets->kinds[i].ways > ways)
        i++;
    if (i < sets->kind_count && sets->kinds[i].ways == ways) {
        sets->kinds[i].sets++;
        return;
    }
    if (sets->kind_count == FTH_MOST_SET_KINDS) {
        sets->doubt = "the sets have too many different sizes";
        return;
    }
    for (size_t j = sets->kind_count++; j > i; j--)
        sets->kinds[j] = sets->kinds[j - 1];
    sets->kinds[i].sets = 1;
    sets->kinds[i].ways = ways;
}

static uint64_t count_ways(const struct fth_tlb_sets *sets)
{
    uint64_t ways = 0;
    for (size_t i = 0; i < sets->kind_count; i++)
        ways += sets->kinds[i].sets * sets->kinds[i].ways;
    return ways;
}

/* The same sets, one of those of a kind with a way more. */
static struct fth_tlb_sets with_one_more(const struct fth_tlb_sets *sets, size_t kind)
{
    struct fth_tlb_sets more = *sets;
    const uint64_t ways = more.kinds[kind].ways;
    if (--more.kinds[kind].sets == 0) {
        for (size_t i = kind + 1; i < more.kind_count; i++)
            more.kinds[i - 1] = more.kinds[i];
        more.kind_count--;
    }
    add_kind(&more, ways + 1);
    return more;
}

/* A step is lower by one than the ways: the page of the samples is in that set, and is always there
 * when its load is timed. Of all sets it is the one with which they are most alike; where that may
 * be this or that one, it stays open. */
static void add_kept_page(struct fth_tlb_sets *sets)
{
    size_t fewest = FTH_MOST_SET_KINDS + 1, times = 0;
    struct fth_tlb_sets best = *sets;
    for (size_t kind = 0; kind < sets->kind_count; kind++) {
        const struct fth_tlb_sets more = with_one_more(sets, kind);
        if (more.doubt || more.kind_count > fewest)
            continue;
        times = more.kind_count < fewest ? 1 : times + 1;
        fewest = more.kind_count;
        best = more;
    }
    if (times == 1)
        *sets = best;
}

/* Each step that is more than a page is a set. */
static void count_steps(const struct study *study, struct fth_tlb_sets *sets)
{
    const struct fth_tlb_stair *stairs = sets->stairs;
    const size_t last = sets->stair_count;
    for (size_t i = 1; i < last && !sets->doubt; i++) {
        if (stairs[i].missing < stairs[i - 1].missing)
            sets->doubt = "with more pages fewer miss: something disturbs, or the policy is random";
        else if (stairs[i].missing > stairs[i - 1].missing + 1)
            add_kind(sets, stairs[i].missing - stairs[i - 1].missing - 1);
    }
    if (!sets->doubt && (last < 2 || !all_miss(&stairs[last - 1])))
        sets->doubt = study->steady ? "there is too little memory for all sets to overflow"
                                    : "it is not LRU, and has too many sets to tell them apart";
    /* An inner level that always has the page of the samples keeps it from this one. */
    if (study->inner_entries && count_ways(sets) == study->level->entries)
        for (size_t i = 0; i < last; i++)
            sets->stairs[i].pages--;
    if (!sets->doubt && sets->kind_count && count_ways(sets) + 1 == study->level->entries)
        add_kept_page(sets);
    if (!sets->doubt && count_ways(sets) != study->level->entries)
        sets->doubt = "the ways of all sets are not as many as the entries: pages fall into them "
                      "unevenly";
    sets->confidence = study->level->entries_confidence;
}

/* Whether all pages miss as soon as there is one too many. */
static bool is_one_set(const struct fth_tlb_sets *sets)
{
    const struct fth_tlb_stair *last = &sets->stairs[sets->stair_count - 1];
    return sets->stair_count > 1 && all_miss(last) && last[-1].missing == 0 &&
           last->pages == last[-1].pages + 1;
}

enum fth_status fth_tlb_slope(const struct fth_tlb_stair *stairs, size_t count, double *slope,
                              struct fth_error *error)
{
    double slopes[FTH_MOST_STAIRS];
    size_t used = 0;
    *slope = NAN;
    const struct fth_tlb_stair *last = stairs + count - 1;
    for (const struct fth_tlb_stair *to = stairs + 1; to <= last && !all_miss(to); to++)
        if (LATER * (to[-1].pages - stairs->pages) >= last->pages - stairs->pages)
            slopes[used++] = ((double)to->missing - (double)to[-1].missing) /
                             ((double)to->pages - (double)to[-1].pages);
    return used < LEAST_SLOPES ? FTH_OK : fth_quantile_f64(slopes, used, 0.5, slope, error);
}

/* Whether the walks begin with the page of the samples, which stays in an inner level. */
static bool is_one_kept(const struct study *study)
{
    return study->inner_entries && study->first == 0;
}

/* Each page more makes all pages of a set miss, ways and one, and all sets are alike. How many
 * walks miss as much as that makes them is how sure it is. */
static enum fth_status count_by_slope(const struct study *study, struct fth_tlb_sets *sets,
                                      struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    double slope;
    enum fth_status status = fth_tlb_slope(sets->stairs, sets->stair_count, &slope, error);
    if (status != FTH_OK)
        return status;
    const uint64_t ways = is_one_set(sets) ? entries
                          : slope >= 1.5   ? (uint64_t)(slope + 0.5) - 1
                                           : 0;
    unsigned agree = 0, of = 0;
    for (size_t i = sets->stair_count / 2; ways && i < sets->stair_count; i++, of++) {
        const struct fth_tlb_stair *stair = &sets->stairs[i];
        const uint64_t pages = stair->pages - (is_one_kept(study) ? 1 : 0);
        const uint64_t more = pages > entries ? pages - entries : 0;
        const double foretold = (double)least(more * (ways + 1), pages);
        agree += fabs((double)stair->missing - foretold) <= slope_tolerance * foretold;
    }
    if (ways == 0)
        sets->doubt = "too few sets overflow in the memory that there is";
    else if (entries % ways)
        sets->doubt = "what each page more makes miss does not divide the entries";
    else if (2 * agree < of)
        sets->doubt = "pages fall into the sets unevenly";
    else {
        sets->kind_count = 1;
        sets->kinds[0].sets = entries / ways;
        sets->kinds[0].ways = ways;
    }
    for (size_t i = 0; is_one_kept(study) && i < sets->stair_count; i++)
        sets->stairs[i].pages--;
    sets->confidence = study->level->entries_confidence;
    if (ways != entries)
        sets->confidence = fmin(sets->confidence, (agree + 1.0) / (of + 2.0));
    return FTH_OK;
}

static enum fth_status count_sets(const struct study *study, struct fth_tlb_sets *sets,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (study->steady && study->level->entries > MANY_PAGES)
        status = count_by_slope(study, sets, error);
    else
        count_steps(study, sets);
    if (sets->doubt) {
        sets->kind_count = 0;
        sets->confidence = 0;
    }
    return status;
}

/* ---- policy ---- */

/* There are, beyond those that fit and one more: as many at most. */
static uint64_t other_pages(const struct study *study)
{
    const uint64_t entries = study->level->entries;
    return study->pages.most > entries + 2 ? least(entries, study->pages.most - entries - 2) : 0;
}

/* Other pages, some in each set, so that then all pages that fit come in in turn, whatever was
 * there; the first of them again; one more in its set; others, so that no inner level has the first
 * any more; then all are timed. Page 0, which a launch needs between the steps, has its place all
 * the time. */
static struct fth_request policy_request(const struct study *study)
{
    struct fth_request request = fth_request_make(-1);
    const uint64_t stride = study->pages.stride_bytes, entries = study->level->entries;
    struct fth_chain all = {.array = FTH_FAR_ARRAY,
                            .start_bytes = stride,
                            .stride_bytes = stride,
                            .count = entries - 1};
    struct fth_chain one = all, more = all, others = all, rest = all;
    one.count = more.count = 1;
    more.start_bytes = (entries + 1) * stride;
    rest.start_bytes = (entries + 2) * stride;
    rest.count = other_pages(study);
    others.start_bytes = 2 * stride;
    others.count = least(entries - 2, 2 * study->inner_entries);
    request.alone = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, rest, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, all, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, one, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, more, 1);
    if (study->inner_entries)
        fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, others, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, all, 1);
    return request;
}

/* By the medians over the repeats; how many of these say the same of the first page is how sure it
 * is. */
static enum fth_status judge_policy(const struct study *study, const struct fth_samples *repeats,
                                    struct fth_tlb_sets *sets, struct fth_error *error)
{
    const double threshold = fth_rung_threshold(&study->rung);
    const double *alone = study->pages.alone + 1;
    bool first = false, other = false;
    unsigned times = 0;
    for (size_t place = 0; place < repeats[0].count; place++) {
        double column[REPEATS], median;
        for (size_t i = 0; i < REPEATS; i++)
            column[i] = repeats[i].cycles[place] - alone[place];
        enum fth_status status = fth_quantile_f64(column, REPEATS, 0.5, &median, error);
        if (status != FTH_OK)
            return status;
        for (size_t i = 0; i < REPEATS && place == 0; i++)
            times += column[i] > threshold;
        if (place == 0)
            first = median > threshold;
        else
            other = other || median > threshold;
    }
    if (!first && !other)
        return FTH_OK;
    sets->policy = first ? FTH_TLB_FIRST_IN : FTH_TLB_LEAST_RECENT;
    sets->policy_confidence = ((first ? times : REPEATS - times) + 1.0) / (REPEATS + 2.0);
    return FTH_OK;
}

static enum fth_status find_policy(const struct study *study, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    /* An inner level that has many of the pages keeps from this one that they are used again. */
    if (study->level->entries < INNER_TIMES * study->inner_entries)
        return FTH_OK;
    if (!study->steady) {
        sets->policy = FTH_TLB_UNSTEADY;
        sets->policy_confidence = study->level->entries_confidence;
        return FTH_OK;
    }
    if (study->level->entries < 4 || other_pages(study) < study->level->entries / 4 + 1)
        return FTH_OK;
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = policy_request(study);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(study->prober, requests, REPEATS, &answers, error);
    for (size_t i = 0; i < answers.count; i++)
        sets->samples += answers.items[i].count;
    if (status == FTH_OK)
        status = judge_policy(study, answers.items, sets, error);
    fth_answers_fini(&answers);
    return status;
}

/* ---- all of it ---- */

/* All walks, with room for them. */
static enum fth_status climb_anyhow(struct study *study, struct fth_tlb_sets *sets,
                                    struct fth_error *error)
{
    sets->stairs = calloc(FTH_MOST_STAIRS, sizeof *sets->stairs);
    if (!sets->stairs)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    return study->steady ? climb(study, sets, error) : climb_unsteadily(study, sets, error);
}

/* From another page on, if there is one from which pages fall into the sets more evenly. */
static enum fth_status climb_elsewhere(struct study *study, struct fth_tlb_sets *sets,
                                       struct fth_error *error)
{
    enum fth_status status = choose_first(study, error);
    if (status != FTH_OK || study->first == 0)
        return status;
    fth_tlb_sets_fini(sets);
    *sets = (struct fth_tlb_sets){0};
    status = climb_anyhow(study, sets, error);
    return status == FTH_OK ? count_sets(study, sets, error) : status;
}

/* The same once more: where a step is a set, it must be the same step. */
static enum fth_status climb_again(struct study *study, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    struct fth_tlb_sets again = {0};
    enum fth_status status = climb_anyhow(study, &again, error);
    bool same = again.stair_count == sets->stair_count;
    for (size_t i = 0; i < sets->stair_count && same; i++)
        same = again.stairs[i].missing == sets->stairs[i].missing;
    if (!same)
        sets->doubt = "other pages miss when it is done again: something disturbs";
    fth_tlb_sets_fini(&again);
    return status;
}

static enum fth_status examine(struct study *study, struct fth_tlb_sets *sets,
                               struct fth_error *error)
{
    /* Walks over few pages first, so that what lines cost by themselves comes from few walks. */
    const uint64_t entries = study->level->entries;
    const uint64_t few = study->inner_entries ? study->inner_entries : entries;
    fth_pages_fit(&study->pages, least(few, entries) / 2);
    enum fth_status status = learn(study, least(few, entries) / 2, error);
    if (status == FTH_OK)
        status = climb_anyhow(study, sets, error);
    if (status == FTH_OK && entries <= MANY_PAGES)
        status = climb_again(study, sets, error);
    if (status == FTH_OK)
        status = count_sets(study, sets, error);
    if (status == FTH_OK && sets->doubt && study->steady && entries > MANY_PAGES)
        status = climb_elsewhere(study, sets, error);
    return status == FTH_OK ? find_policy(study, sets, error) : status;
}

enum fth_status fth_probe_tlb_sets(const struct fth_prober *prober,
                                   const struct fth_tlb_sets_plan *plan, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    *sets = (struct fth_tlb_sets){0};
    const struct fth_tlb_level *level = &plan->tlbs->levels[plan->which];
    if (plan->which >= plan->tlbs->count || level->entries < 2 || level->page_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLB sets", NULL,
                        "page and entries of this level are not known");
    struct study study = {.prober = prober, .plan = plan, .level = level};
    for (size_t i = 0; i < plan->which; i++) {
        study.rung.below += plan->tlbs->levels[i].penalty_cycles;
        study.inner_entries += plan->tlbs->levels[i].entries;
    }
    study.rung.value = study.rung.below + level->penalty_cycles;
    const uint64_t stride = level->page_bytes + SKEW;
    uint64_t most =
        least(least(plan->l2_bytes / 128 / L2_PART, MOST_HOPS), plan->most_bytes / stride - 1);
    enum fth_status status = fth_pages_open(
        prober, stride, least(most, 2 * level->entries + FTH_MOST_STAIRS), &study.pages, error);
    if (status == FTH_OK)
        status = examine(&study, sets, error);
    sets->samples += study.pages.samples;
    fth_pages_close(&study.pages);
    return status;
}

void fth_tlb_sets_fini(struct fth_tlb_sets *sets)
{
    free(sets->stairs);
    sets->stairs = NULL;
    sets->stair_count = 0;
}
