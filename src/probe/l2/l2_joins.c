/* Which SMs join their reads on the way to the L2, within which time, and of which extent.
 *
 * Two SMs read the same lines, the second one some cycles (the lag) after the first one. If a unit
 * between the SMs and the L2 joins the two reads, the data of the second read arrive together with
 * those of the first one. The second read then takes less time than it does alone, by about the
 * lag:
 *
 *   first   |------------ latency ------------|
 *   second       lag  |------- shorter -------|
 *
 * The same read with a lag of more than the latency shows how long it takes alone. On an H200, the
 * SMs of a GPC join their reads (docs/results/h200.md). */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>

enum {
    LINES = 12,        /* lines per pair of SMs. Chosen, not derived. */
    WINDOW_LINES = 48, /* lines per lag of the search for the window. Chosen, not derived. */
    /* Distance between the lines, in lines. It is odd, so that they are spread over the slices. */
    LINE_STRIDE = 9,
    /* Lags with which a pair of SMs is tested. On an H200, reads are joined up to a lag of about 60
     * cycles, and the lag is uncertain by about 10 cycles. */
    SHORT_LAG = 32,
    LONG_LAG = 44,
    ALONE_LAG = FTH_PAIR_MAX_LAG_CYCLES,
    /* SMs that are compared with all others before the probe concludes that none joins. Chosen. */
    MAX_LONELY = 4,
    WINDOW_STEP = 8,  /* resolution of the window in cycles */
    WINDOW_STEPS = 64 /* number of lags that are tried */
};
/* A joined read is faster by at least this fraction of the lag. It would be 1 without costs; on an
 * H200 it is 0.7 for a lag of 32 cycles, as joining costs 10 cycles. */
static const double min_saved_fraction = 1.0 / 3;

struct study {
    const struct fth_prober *prober;
    uint64_t line_bytes, sector_bytes;
    struct fth_joins *found;
    uint32_t *alone; /* [sms][LINES] cycles of each SM's reads if nothing is joined */
};

size_t fth_count_joined(const uint32_t *alone, const uint32_t *cycles, size_t count,
                        double lag_cycles)
{
    size_t joined = 0;
    for (size_t i = 0; i < count; i++)
        joined += (double)cycles[i] + min_saved_fraction * lag_cycles <= (double)alone[i];
    return joined;
}

static struct fth_request make_request(const struct study *study, uint32_t first, uint32_t second,
                                       uint32_t lag, uint32_t lines)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_PAIR;
    request.pair = (struct fth_pair){.first = first,
                                     .second = second,
                                     .lag_cycles = lag,
                                     .lines = lines,
                                     .stride_bytes = LINE_STRIDE * study->line_bytes,
                                     .bytes = (uint32_t)FTH_MIN(study->line_bytes, 128)};
    return request;
}

/* ---- groups ---- */

/* Measures the reads of each SM while nothing is joined with them. */
static enum fth_status measure_alone(struct study *study, struct fth_error *error)
{
    const uint32_t sms = (uint32_t)study->prober->sms;
    struct fth_request *requests = calloc(sms, sizeof *requests);
    struct fth_answers answers = {0};
    if (!requests)
        return fth_no_memory(error, "find joined reads", NULL);
    for (uint32_t i = 0; i < sms; i++)
        requests[i] = make_request(study, i ? 0 : 1, i, ALONE_LAG, LINES);
    enum fth_status status = fth_ask(study->prober, requests, sms, &answers, error);
    for (size_t i = 0; i < answers.count; i++) {
        for (size_t j = 0; j < LINES; j++)
            study->alone[i * LINES + j] = answers.items[i].cycles[LINES + j];
        study->found->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Compares the reads of a pair of SMs, one per lag, with those alone. Returns whether they are
 * joined, and counts whether the two lags agree. */
static bool decide_pair(struct study *study, uint32_t second, const struct fth_samples *samples)
{
    const uint32_t *alone = study->alone + (size_t)second * LINES;
    const size_t at_short = fth_count_joined(alone, samples[0].cycles + LINES, LINES, SHORT_LAG);
    const size_t at_long = fth_count_joined(alone, samples[1].cycles + LINES, LINES, LONG_LAG);
    study->found->samples += samples[0].count + samples[1].count;
    study->found->checked++;
    study->found->agreed += (2 * at_short > LINES) == (2 * at_long > LINES);
    return at_short + at_long > LINES;
}

/* Finds the SMs without a group that join reads with the SM `first`, and gives all of them a group.
 * *partners receives their number. */
static enum fth_status find_partners(struct study *study, uint32_t first, size_t *partners,
                                     struct fth_error *error)
{
    const uint32_t sms = (uint32_t)study->prober->sms;
    struct fth_joins *found = study->found;
    struct fth_request *requests = calloc(2 * (size_t)sms, sizeof *requests);
    struct fth_answers answers = {0};
    size_t count = 0;
    enum fth_status status = FTH_OK;
    if (!requests)
        return fth_no_memory(error, "find joined reads", NULL);
    const uint32_t group = (uint32_t)found->group_count++;
    found->groups[first] = group;
    for (uint32_t i = first + 1; i < sms; i++)
        if (found->groups[i] == UINT32_MAX) {
            requests[count++] = make_request(study, first, i, SHORT_LAG, LINES);
            requests[count++] = make_request(study, first, i, LONG_LAG, LINES);
        }
    if (count)
        status = fth_ask(study->prober, requests, count, &answers, error);
    *partners = 0;
    for (size_t i = 0; i + 1 < answers.count; i += 2)
        if (decide_pair(study, requests[i].pair.second, &answers.items[i])) {
            found->groups[requests[i].pair.second] = group;
            ++*partners;
        }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Divides the SMs into groups. If several SMs join with no other, the rest is not tested. */
static enum fth_status find_groups(struct study *study, struct fth_error *error)
{
    const size_t sms = study->prober->sms;
    struct fth_joins *found = study->found;
    size_t lonely = 0, partners = 0;
    bool any = false;
    for (size_t i = 0; i < sms; i++)
        found->groups[i] = UINT32_MAX;
    for (size_t i = 0; i < sms && (any || lonely < MAX_LONELY); i++) {
        if (found->groups[i] != UINT32_MAX)
            continue;
        FTH_TRY(find_partners(study, (uint32_t)i, &partners, error));
        any = any || partners;
        lonely += partners == 0;
    }
    for (size_t i = 0; i < sms; i++)
        if (found->groups[i] == UINT32_MAX)
            found->groups[i] = (uint32_t)found->group_count++;
    return FTH_OK;
}

/* ---- window and extent ---- */

/* Finds two SMs of one group. Returns false if there are none. */
static bool find_pair(const struct study *study, uint32_t *first, uint32_t *second)
{
    const size_t sms = study->prober->sms;
    for (size_t i = 0; i < sms; i++)
        for (size_t j = i + 1; j < sms; j++)
            if (study->found->groups[i] == study->found->groups[j]) {
                *first = (uint32_t)i;
                *second = (uint32_t)j;
                return true;
            }
    return false;
}

/* Decides the window from the number of joined reads at each lag: that after which no longer half
 * of them are joined. */
static void decide_window(struct fth_joins *found, const size_t *joined)
{
    size_t last_all = 0, last_half = 0, first_none = WINDOW_STEPS;
    for (size_t i = 0; i < WINDOW_STEPS; i++) {
        if (joined[i] == WINDOW_LINES && last_all == i)
            last_all = i + 1;
        if (2 * joined[i] >= WINDOW_LINES && last_half == i)
            last_half = i + 1;
        if (joined[i] != 0)
            first_none = i + 1;
    }
    if (last_half == 0 || last_half == WINDOW_STEPS)
        return;
    /* Lag i is (i + 2) * WINDOW_STEP. */
    found->window_cycles = ((double)last_half + 1.5) * WINDOW_STEP;
    found->low = ((double)last_all + 1) * WINDOW_STEP;
    found->high = fmax(found->window_cycles, ((double)first_none + 2) * WINDOW_STEP);
}

/* Measures the two SMs with growing lags. */
static enum fth_status find_window(struct study *study, uint32_t first, uint32_t second,
                                   struct fth_error *error)
{
    struct fth_request requests[WINDOW_STEPS + 1];
    struct fth_answers answers = {0};
    size_t joined[WINDOW_STEPS];
    for (uint32_t i = 0; i < WINDOW_STEPS; i++)
        requests[i] = make_request(study, first, second, (i + 2) * WINDOW_STEP, WINDOW_LINES);
    requests[WINDOW_STEPS] = make_request(study, first, second, ALONE_LAG, WINDOW_LINES);
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    const uint32_t *alone = answers.items[WINDOW_STEPS].cycles + WINDOW_LINES;
    for (size_t i = 0; i < WINDOW_STEPS; i++)
        joined[i] = fth_count_joined(alone, answers.items[i].cycles + WINDOW_LINES, WINDOW_LINES,
                                     requests[i].pair.lag_cycles);
    for (size_t i = 0; i < answers.count; i++)
        study->found->samples += answers.items[i].count;
    decide_window(study->found, joined);
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Finds out whether reads of different sectors of a line are joined. */
static enum fth_status find_extent(struct study *study, uint32_t first, uint32_t second,
                                   struct fth_error *error)
{
    struct fth_joins *found = study->found;
    const uint32_t sector = (uint32_t)study->sector_bytes;
    if (2 * study->sector_bytes > FTH_MIN(study->line_bytes, 128))
        return FTH_OK; /* a line has one sector, or a request cannot address the second one */
    struct fth_request requests[4];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        requests[i] =
            make_request(study, first, second, i % 2 ? ALONE_LAG : SHORT_LAG, WINDOW_LINES);
        requests[i].pair.bytes = sector;
        requests[i].pair.offset_bytes = i < 2 ? 0 : sector;
    }
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    size_t joined[2];
    for (size_t i = 0; i < 2; i++)
        joined[i] =
            fth_count_joined(answers.items[2 * i + 1].cycles + WINDOW_LINES,
                             answers.items[2 * i].cycles + WINDOW_LINES, WINDOW_LINES, SHORT_LAG);
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    /* Reads of the same sector are joined in any case; otherwise the experiment shows nothing. */
    found->has_extent = 2 * joined[0] > WINDOW_LINES;
    found->joins_lines = 2 * joined[1] > WINDOW_LINES;
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_joins(const struct fth_prober *prober, uint64_t line_bytes,
                                uint64_t sector_bytes, struct fth_joins *found,
                                struct fth_error *error)
{
    struct study study = {
        .prober = prober, .line_bytes = line_bytes, .sector_bytes = sector_bytes, .found = found};
    uint32_t first = 0, second = 0;
    uint32_t *groups = found->groups;
    *found = (struct fth_joins){.groups = groups, .window_cycles = NAN, .low = NAN, .high = NAN};
    if (prober->sms < 2)
        return fth_fail(error, FTH_INCONCLUSIVE, "find joined reads", NULL,
                        "the GPU has only one SM");
    study.alone = calloc(prober->sms * LINES, sizeof *study.alone);
    if (!study.alone)
        return fth_no_memory(error, "find joined reads", NULL);
    enum fth_status status = measure_alone(&study, error);
    if (status == FTH_OK)
        status = find_groups(&study, error);
    if (status == FTH_OK && find_pair(&study, &first, &second)) {
        status = find_window(&study, first, second, error);
        if (status == FTH_OK)
            status = find_extent(&study, first, second, error);
    }
    free(study.alone);
    return status;
}
