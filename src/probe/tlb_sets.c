/* Sets, ways and policy of a TLB. With one page more at a time than fit, one set after the other
 * overflows, and all its pages begin to miss: how many is its number of ways and one (Mei and Chu,
 * 2017, Section 4.4 and Fig. 8). A larger set shows as a larger step.
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
    PASSES = 5,
    FEW_PASSES = 3,
    MANY_PAGES = 512,
    BATCH = 16,
    REPEATS = 9
};

struct study {
    const struct fth_prober *prober;
    const struct fth_tlb_sets_plan *plan;
    const struct fth_tlb_level *level;
    struct fth_pages pages;
    struct fth_rung rung;
    uint64_t inner_entries; /* of all levels before */
    uint64_t first;         /* pages that fit */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- stairs ---- */

/* How many pages miss, for each number of pages from those that fit on, until all do. */
static enum fth_status climb(struct study *study, struct fth_tlb_sets *sets,
                             struct fth_error *error)
{
    const uint64_t most = study->pages.most;
    sets->stairs = calloc(FTH_MOST_STAIRS, sizeof *sets->stairs);
    if (!sets->stairs)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    for (uint64_t next = study->first; sets->stair_count < FTH_MOST_STAIRS && next <= most;) {
        struct fth_page_walk walks[BATCH];
        size_t count =
            (size_t)least(least(BATCH, most - next + 1), FTH_MOST_STAIRS - sets->stair_count);
        for (size_t i = 0; i < count; i++)
            walks[i] = (struct fth_page_walk){.count = next + i,
                                              .passes = next > MANY_PAGES ? FEW_PASSES : PASSES};
        enum fth_status status = fth_pages_walk(&study->pages, walks, count, error);
        if (status != FTH_OK)
            return status;
        bool all = false;
        for (size_t i = 0; i < count && !all; i++, next++) {
            uint64_t missing = fth_rung_misses(&walks[i], &study->rung).steady;
            sets->stairs[sets->stair_count++] = (struct fth_tlb_stair){next, missing};
            /* The page of the samples may never miss. */
            all = missing + 1 >= next;
        }
        fth_page_walks_fini(walks, count);
        if (all)
            break;
    }
    return FTH_OK;
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

/* A step that is lower by one than the ways: the page of the samples is in that set, and never
 * misses the first level. */
static void add_kept_page(struct fth_tlb_sets *sets)
{
    uint64_t ways = sets->kinds[sets->kind_count - 1].ways;
    if (sets->kinds[sets->kind_count - 1].sets != 1)
        return;
    sets->kind_count--;
    add_kind(sets, ways + 1);
}

/* Each step that is more than a page is a set. */
static void count_sets(const struct study *study, struct fth_tlb_sets *sets)
{
    const struct fth_tlb_stair *stairs = sets->stairs;
    const size_t last = sets->stair_count;
    for (size_t i = 1; i < last && !sets->doubt; i++) {
        if (stairs[i].missing < stairs[i - 1].missing)
            sets->doubt = "with more pages fewer miss: something disturbs, or the policy is random";
        else if (stairs[i].missing > stairs[i - 1].missing + 1)
            add_kind(sets, stairs[i].missing - stairs[i - 1].missing - 1);
    }
    if (!sets->doubt && (last < 2 || stairs[last - 1].missing + 1 < stairs[last - 1].pages))
        sets->doubt = "there is too little memory for all sets to overflow";
    if (!sets->doubt && sets->kind_count && study->inner_entries == 0 &&
        count_ways(sets) + 1 == study->level->entries)
        add_kept_page(sets);
    if (!sets->doubt && count_ways(sets) != study->level->entries)
        sets->doubt = "the ways of all sets are not as many as the entries: pages fall into them "
                      "unevenly";
    if (sets->doubt)
        sets->kind_count = 0;
    else
        sets->confidence = study->level->entries_confidence;
}

/* ---- policy ---- */

/* As many other pages, so that none is left; all pages that fit; the first of them again; one more
 * in its set; others, so that no inner level has the first any more; then all are timed. Page 0,
 * which a launch needs between the steps, has its place all the time. */
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
    rest.count = entries;
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
    if (!study->level->steady) {
        sets->policy = FTH_TLB_UNSTEADY;
        sets->policy_confidence = study->level->entries_confidence;
        return FTH_OK;
    }
    if (study->level->entries < 4 || 2 * study->level->entries + 2 > study->pages.most)
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

static enum fth_status examine(struct study *study, struct fth_tlb_sets *sets,
                               struct fth_error *error)
{
    /* Walks over few pages first, so that what lines cost by themselves comes from few walks. */
    const uint64_t few = study->inner_entries ? study->inner_entries : study->level->entries;
    fth_pages_fit(&study->pages, least(few, study->level->entries) / 2);
    enum fth_status status = climb(study, sets, error);
    if (status == FTH_OK && study->level->steady)
        count_sets(study, sets);
    else if (status == FTH_OK)
        sets->doubt = "other pages miss in each pass";
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
    study.rung.single = level->single;
    study.first = level->entries;
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
