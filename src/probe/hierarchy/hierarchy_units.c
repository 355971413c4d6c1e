/* The units of a device, and which of them share a cache.
 *
 * A unit walks a chain that fits into a quarter of the cache, another unit walks a chain of twice
 * the size of the cache, and the first unit walks its chain again. If both share the cache, all
 * loads of the last pass miss, otherwise they hit. Disturbances only make a pass slower, so the
 * fast passes of a request decide. There are two controls: if the unit walks the long chain itself,
 * its loads must miss; and if a unit whose long chain evicts lines walks a chain of a few lines,
 * they must hit. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <stdlib.h>

enum {
    LAUNCHES = 4,      /* of a batch of the search for units */
    MAX_BATCHES = 8,   /* if units are missing: a busy CPU may not execute all threads at once */
    GROUPS_PER_SM = 8, /* work-groups of each, per unit that the driver reports */
    ROUNDS = 16,       /* of a request, unless the plan says otherwise */
    REPEATS = 3,       /* requests with different orders of the chains */
    ATTEMPTS = 8,      /* executions of a request that could not use both units */
    FEW_LINES = 8,     /* of the control's chain */
    OWN_FRACTION = 4,  /* the own chain has this part of the cache */
    OTHER_FACTOR = 2   /* the other chain has as many times the size */
};

/* ---- units ---- */

static int compare_units(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds a unit if it is new. */
static enum fth_status add_unit(struct fth_units *units, uint32_t unit, struct fth_error *error)
{
    for (size_t i = 0; i < units->count; i++)
        if (units->numbers[i] == unit)
            return FTH_OK;
    if (unit == UINT32_MAX)
        return fth_fail(error, FTH_UNSUPPORTED, "find units", NULL,
                        "the device does not tell which unit executes a work-group");
    if (units->count == FTH_MAX_UNITS)
        return fth_fail(error, FTH_INCONCLUSIVE, "find units", NULL,
                        "work-groups ran on more than %d units", FTH_MAX_UNITS);
    units->numbers[units->count++] = unit;
    return FTH_OK;
}

/* Adds the units of a few launches. */
static enum fth_status add_launches(const struct fth_prober *prober, size_t sms, uint32_t hold_ns,
                                    struct fth_units *units, struct fth_error *error)
{
    struct fth_request requests[LAUNCHES];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < LAUNCHES; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_PLACE;
        requests[i].alone = true;
        requests[i].place =
            (struct fth_place_request){.blocks = (uint32_t)FTH_MIN(sms * GROUPS_PER_SM, 1 << 16),
                                       .threads = 1,
                                       .hold_ns = hold_ns};
    }
    FTH_TRY(fth_ask_once(prober, requests, LAUNCHES, &answers, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < answers.count; i++)
        for (size_t k = 0; status == FTH_OK && k + 1 < answers.items[i].count; k += 2) {
            status = add_unit(units, answers.items[i].cycles[k], error);
            units->samples++;
        }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_units(const struct fth_prober *prober, size_t sms, uint32_t hold_ns,
                                struct fth_units *units, struct fth_error *error)
{
    *units = (struct fth_units){.count = 0};
    for (unsigned i = 0; i < MAX_BATCHES && units->count < sms; i++)
        FTH_TRY(add_launches(prober, sms, hold_ns, units, error));
    qsort(units->numbers, units->count, sizeof units->numbers[0], compare_units);
    return FTH_OK;
}

/* ---- sharing ---- */

/* One experiment: two units, and the length of the other chain. */
struct trial {
    const struct fth_prober *prober;
    const struct fth_sharers_plan *plan;
    uint32_t first, second;
    uint64_t other;
};

static struct fth_request request_of(const struct trial *trial, unsigned repeat)
{
    const struct fth_sharers_plan *plan = trial->plan;
    const uint64_t quarter = plan->size_bytes / OWN_FRACTION,
                   own = 2 * plan->near_bytes > quarter ? 2 * plan->near_bytes : quarter;
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SHARE;
    request.alone = true;
    request.share = (struct fth_share){.path = plan->path,
                                       .first = trial->first,
                                       .second = trial->second,
                                       .rounds = plan->rounds ? plan->rounds : ROUNDS,
                                       .stride_bytes = plan->line_bytes,
                                       .own = own / plan->line_bytes,
                                       .other = trial->other,
                                       .seed = plan->path == FTH_PATH_CA ? 1 + repeat : 0};
    return request;
}

/* Executes a request until both units had a work-group. */
static enum fth_status ask(const struct trial *trial, const struct fth_request *request,
                           struct fth_answers *answers, struct fth_error *error)
{
    enum fth_status status = FTH_INCONCLUSIVE;
    for (unsigned i = 0; i < ATTEMPTS && status == FTH_INCONCLUSIVE; i++) {
        if (i && error)
            *error = FTH_NO_ERROR;
        status = fth_ask_once(trial->prober, request, 1, answers, error);
    }
    return status;
}

/* Adds 1 to *misses if the loads of the first unit miss. */
static enum fth_status count_miss(const struct trial *trial, unsigned repeat, unsigned *misses,
                                  size_t *samples, struct fth_error *error)
{
    const double middle = (trial->plan->hit_cycles + trial->plan->miss_cycles) / 2;
    const struct fth_request request = request_of(trial, repeat);
    struct fth_answers answers = {0};
    double cycles = 0;
    FTH_TRY(ask(trial, &request, &answers, error));
    enum fth_status status =
        fth_low_mean(answers.items[0].cycles, answers.items[0].count, 1, &cycles, error);
    *samples += answers.items[0].count;
    fth_answers_fini(&answers);
    *misses += cycles > middle * (double)request.share.own;
    return status;
}

static enum fth_status contradict(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_INCONCLUSIVE, "find sharing units", NULL, "%s", cause);
}

/* Executes the experiment with `first` and each unit of which `chosen` is not 0 (NULL: all units).
 * misses[i] is the number of repeats in which unit i evicts the lines of `first`. The chains of a
 * repeat stay in memory for all units. */
static enum fth_status try_units(const struct trial *trial, const struct fth_units *units,
                                 const unsigned *chosen, unsigned *misses, size_t *samples,
                                 struct fth_error *error)
{
    struct trial each = *trial;
    for (unsigned repeat = 0; repeat < REPEATS; repeat++)
        for (size_t i = 0; i < units->count; i++) {
            each.second = units->numbers[i];
            if (!chosen || chosen[i])
                FTH_TRY(count_miss(&each, repeat, &misses[i], samples, error));
        }
    return FTH_OK;
}

/* Counts the units that share the cache with `first`, including itself. */
static enum fth_status count_sharers(const struct fth_prober *prober, const struct fth_units *units,
                                     const struct fth_sharers_plan *plan, uint32_t first,
                                     struct fth_sharers *sharing, struct fth_error *error)
{
    unsigned few_misses[FTH_MAX_UNITS] = {0}, many_misses[FTH_MAX_UNITS] = {0};
    struct trial trial = {.prober = prober,
                          .plan = plan,
                          .first = first,
                          .other = OTHER_FACTOR * plan->size_bytes / plan->line_bytes};
    size_t count = 0;
    FTH_TRY(try_units(&trial, units, NULL, many_misses, &sharing->samples, error));
    /* A unit whose long chain evicts nothing needs no control. */
    trial.other = FEW_LINES;
    FTH_TRY(try_units(&trial, units, many_misses, few_misses, &sharing->samples, error));
    for (size_t i = 0; i < units->count; i++) {
        if (units->numbers[i] == first && many_misses[i] < REPEATS)
            return contradict(error, "a chain of twice the size does not evict the lines of the "
                                     "unit that walks it");
        if (few_misses[i])
            return contradict(error, "lines are evicted while another unit walks a short chain: "
                                     "other programs use the cache");
        if (many_misses[i] && many_misses[i] < REPEATS)
            return contradict(error, "repeated measurements disagree");
        count += many_misses[i] == REPEATS;
    }
    sharing->count = count > sharing->count ? count : sharing->count;
    return FTH_OK;
}

enum fth_status fth_probe_sharers(const struct fth_prober *prober, const struct fth_units *units,
                                  const struct fth_sharers_plan *plan, struct fth_sharers *sharing,
                                  struct fth_error *error)
{
    *sharing = (struct fth_sharers){.evidence = {.repeats = REPEATS, .agree = REPEATS}};
    if (units->count < 2)
        return contradict(error, "only one unit executes work-groups");
    FTH_TRY(count_sharers(prober, units, plan, units->numbers[0], sharing, error));
    return count_sharers(prober, units, plan, units->numbers[units->count - 1], sharing, error);
}
