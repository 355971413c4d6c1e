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
    /* Lag in cycles with which a pair of SMs is tested. An SM waits for its clock in a loop and
     * begins up to 32 cycles late, so the actual lag differs. Only reads with an actual lag from
     * MIN_LAG to MAX_LAG count: on an H200, joined reads with a shorter lag take as long as others,
     * and reads with a lag of more than 48 cycles are not always joined. */
    TEST_LAG = 34,
    MIN_LAG = 20,
    MAX_LAG = 48,
    MIN_TRIALS = 6,   /* reads that decide about a pair of SMs. Chosen, not derived. */
    MAX_ATTEMPTS = 4, /* to have as many. Chosen, not derived. */
    ALONE_LAG = FTH_PAIR_MAX_LAG_CYCLES,
    /* SMs that are compared with all others before the probe concludes that none joins. Chosen. */
    MAX_LONELY = 4,
    WINDOW_STEP = 8,  /* difference between two lags of the search for the window, in cycles */
    WINDOW_STEPS = 64 /* number of these lags */
};
/* A joined read is faster by at least this fraction of the lag. It would be 1 without costs; on an
 * H200 it is 0.7 for a lag of 32 cycles, as joining costs 10 cycles. */
static const double min_saved_fraction = 1.0 / 3;
/* Maximum fraction of reads that may be exceptions to the ends of the window's interval. Chosen. */
static const double max_exceptions = 0.05;
/* Cycles between the reading of the clock and the issue of the load may differ by this much between
 * the two SMs. Chosen: about one instruction. */
static const double lag_uncertainty = 4;

struct study {
    const struct fth_prober *prober;
    uint64_t line_bytes, sector_bytes;
    struct fth_joins *found;
    uint32_t *alone;        /* [sms][LINES] cycles of each SM's reads if nothing is joined */
    uint32_t first, second; /* two SMs that join reads, for the window and the extent */
    bool has_pair;
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

/* ---- trials ---- */

/* One read of the second SM: how long after the first one it began, and whether it was joined. */
struct trial {
    double lag_cycles;
    bool joined;
};

/* Makes a trial of each line of a request with an actual lag from MIN_LAG to `max_lag`. Returns
 * their number. */
static size_t make_trials(const struct fth_request *request, const struct fth_samples *samples,
                          const uint32_t *alone, double max_lag, struct trial *trials)
{
    const uint32_t lag = request->pair.lag_cycles, lines = request->pair.lines;
    const uint32_t *cycles = samples->cycles, *delays = cycles + 2 * (size_t)lines;
    size_t count = 0;
    for (size_t i = 0; i < lines; i++) {
        const double actual = (double)lag + delays[lines + i] - delays[i];
        if (actual >= MIN_LAG && actual <= max_lag)
            trials[count++] = (struct trial){
                actual, fth_count_joined(&alone[i], &cycles[lines + i], 1, actual) == 1};
    }
    return count;
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

/* What is known about the two SMs of a pair, for each of them as the first one. */
struct pair_counts {
    uint32_t sms[2];
    size_t trials[2], joined[2];
};

/* Adds the reads of both directions of a pair, two requests. */
static void count_pair(struct study *study, const struct fth_request *requests,
                       const struct fth_samples *samples, struct pair_counts *counts)
{
    struct trial trials[LINES];
    for (size_t i = 0; i < 2; i++) {
        const size_t count =
            make_trials(&requests[i], &samples[i],
                        study->alone + (size_t)requests[i].pair.second * LINES, MAX_LAG, trials);
        counts->trials[i] += count;
        for (size_t j = 0; j < count; j++)
            counts->joined[i] += trials[j].joined;
        study->found->samples += samples[i].count;
    }
}

static bool is_decided(const struct pair_counts *counts)
{
    return counts->trials[0] >= MIN_TRIALS && counts->trials[1] >= MIN_TRIALS;
}

/* Asks for the reads of all pairs that are not decided yet. `requests` has space for two requests
 * per pair. */
static enum fth_status ask_pairs(struct study *study, struct pair_counts *pairs, size_t count,
                                 struct fth_request *requests, struct fth_error *error)
{
    struct fth_answers answers = {0};
    size_t asked = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 2 && !is_decided(&pairs[i]); j++)
            requests[asked++] =
                make_request(study, pairs[i].sms[j], pairs[i].sms[1 - j], TEST_LAG, LINES);
    if (asked)
        FTH_TRY(fth_ask(study->prober, requests, asked, &answers, error));
    for (size_t i = 0, at = 0; i < count && at < asked; i++)
        if (!is_decided(&pairs[i])) {
            count_pair(study, &requests[at], &answers.items[at], &pairs[i]);
            at += 2;
        }
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Decides whether two SMs join reads: in one direction, more than half of the reads are joined. One
 * direction is sufficient, because a simulated GPU joins a read only with one that it has executed
 * before. */
static bool decide_pair(struct study *study, const struct pair_counts *counts)
{
    double shares[2];
    for (size_t i = 0; i < 2; i++)
        shares[i] = (double)counts->joined[i] / (double)(counts->trials[i] + !counts->trials[i]);
    const size_t better = shares[1] > shares[0];
    study->found->checked++;
    study->found->agreed +=
        is_decided(counts) && (shares[better] <= 0.25 || shares[better] >= 0.75);
    if (shares[better] <= 0.5)
        return false;
    if (!study->has_pair) {
        study->has_pair = true;
        study->first = counts->sms[better];
        study->second = counts->sms[1 - better];
    }
    return true;
}

/* Finds the SMs without a group that join reads with the SM `first`, and gives all of them a group.
 * *partners receives their number. */
static enum fth_status find_partners(struct study *study, uint32_t first, size_t *partners,
                                     struct fth_error *error)
{
    const size_t sms = study->prober->sms;
    struct fth_joins *found = study->found;
    struct pair_counts *pairs = calloc(sms, sizeof *pairs);
    struct fth_request *requests = calloc(2 * sms, sizeof *requests);
    size_t count = 0;
    enum fth_status status =
        pairs && requests ? FTH_OK : fth_no_memory(error, "find joined reads", NULL);
    const uint32_t group = (uint32_t)found->group_count++;
    found->groups[first] = group;
    for (uint32_t i = first + 1; status == FTH_OK && i < sms; i++)
        if (found->groups[i] == UINT32_MAX)
            pairs[count++] = (struct pair_counts){.sms = {first, i}};
    for (size_t i = 0; status == FTH_OK && i < MAX_ATTEMPTS; i++)
        status = ask_pairs(study, pairs, count, requests, error);
    *partners = 0;
    for (size_t i = 0; status == FTH_OK && i < count; i++)
        if (decide_pair(study, &pairs[i])) {
            found->groups[pairs[i].sms[1]] = group;
            ++*partners;
        }
    free(requests);
    free(pairs);
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

/* ---- small groups ---- */

/* Lags with which a small group is tested again. The two blocks of a pair do not always meet at the
 * same time: on an H200, they differ by up to about 50 cycles in one launch of a hundred. A lag
 * that is shorter or longer by as much makes up for it. */
static const uint32_t other_lags[2][4] = {{TEST_LAG, 4, 64, 94}, {TEST_LAG, 14, 64, 124}};
/* Minimum saving in cycles of a read that is joined, if its lag is not known. On an H200, reads of
 * the same line differ by up to 7 cycles. */
enum { MIN_SAVED = 10 };

/* Whether two SMs join reads at one of the lags: most reads of one launch are faster than alone. */
static enum fth_status test_again(struct study *study, uint32_t a, uint32_t b,
                                  const uint32_t lags[4], bool *joined, struct fth_error *error)
{
    struct fth_request requests[2 * 4];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = make_request(study, i % 2 ? b : a, i % 2 ? a : b, lags[i / 2], LINES);
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    *joined = false;
    for (size_t i = 0; i < answers.count; i++) {
        const uint32_t *alone = study->alone + (size_t)requests[i].pair.second * LINES;
        const uint32_t *cycles = answers.items[i].cycles + LINES;
        size_t saved = 0;
        for (size_t j = 0; j < LINES; j++)
            saved += cycles[j] + MIN_SAVED <= alone[j];
        *joined = *joined || 2 * saved > LINES;
        study->found->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Gives all SMs of group `from` the number `to`, and closes the gap in the numbers. */
static void unite(struct fth_joins *found, size_t sms, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sms; i++) {
        if (found->groups[i] == from)
            found->groups[i] = to;
        found->groups[i] -= found->groups[i] > from;
    }
    found->group_count--;
}

/* The first and the last SM of a group. */
struct group_ends {
    uint32_t sms[2];
};

/* Tests a group again with each earlier one, up to twice, and unites it with the first one that it
 * joins reads with. The second time, the last SMs of both groups are tested: what keeps two SMs
 * from meeting in time may concern these two only. */
static enum fth_status test_group(struct study *study, const struct group_ends *ends,
                                  uint32_t group, struct fth_error *error)
{
    for (size_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < group; i++) {
            bool joined = false;
            FTH_TRY(test_again(study, ends[i].sms[turn], ends[group].sms[turn], other_lags[turn],
                               &joined, error));
            if (joined) {
                unite(study->found, study->prober->sms, group, i);
                return FTH_OK;
            }
        }
    return FTH_OK;
}

/* Tests groups with at most half as many SMs as the largest one again. */
static enum fth_status test_small_groups(struct study *study, struct fth_error *error)
{
    const size_t sms = study->prober->sms;
    struct fth_joins *found = study->found;
    size_t *sizes = calloc(sms, sizeof *sizes), largest = 0;
    struct group_ends *ends = calloc(sms, sizeof *ends);
    enum fth_status status =
        sizes && ends ? FTH_OK : fth_no_memory(error, "find joined reads", NULL);
    for (uint32_t i = 0; status == FTH_OK && i < sms; i++) {
        const uint32_t group = found->groups[i];
        if (sizes[group] == 0)
            ends[group].sms[0] = i;
        ends[group].sms[1] = i;
        largest = ++sizes[group] > largest ? sizes[group] : largest;
    }
    /* From the last group on: the numbers of the groups before it do not change. */
    for (uint32_t i = (uint32_t)found->group_count; status == FTH_OK && i-- > 1;)
        if (2 * sizes[i] <= largest)
            status = test_group(study, ends, i, error);
    free(ends);
    free(sizes);
    return status;
}

/* ---- window and extent ---- */

static int compare_lags(const void *a, const void *b)
{
    const double x = ((const struct trial *)a)->lag_cycles;
    const double y = ((const struct trial *)b)->lag_cycles;
    return (x > y) - (x < y);
}

/* Decides the window from all trials: the lag that separates joined reads from others with the
 * fewest exceptions. The interval reaches from the last lag up to which nearly all reads are joined
 * to the first one after which nearly none is. */
static void decide_window(struct fth_joins *found, struct trial *trials, size_t count)
{
    size_t joined = 0, total = 0, best = 0, low = 0, high = 0;
    qsort(trials, count, sizeof *trials, compare_lags);
    for (size_t i = 0; i < count; i++)
        total += trials[i].joined;
    size_t fewest = total;
    for (size_t i = 1; i <= count; i++) {
        joined += trials[i - 1].joined;
        const size_t exceptions = i - joined + (total - joined);
        if (exceptions < fewest) {
            fewest = exceptions;
            best = i;
        }
        if ((double)(i - joined) <= max_exceptions * (double)i)
            low = i;
        if (!high && (double)(total - joined) <= max_exceptions * (double)(count - i))
            high = i;
    }
    if (best == 0 || best == count || high == 0 || high == count || low == 0)
        return;
    found->window_cycles = (trials[best - 1].lag_cycles + trials[best].lag_cycles) / 2;
    found->low = fmin(trials[low - 1].lag_cycles, trials[best - 1].lag_cycles) - lag_uncertainty;
    found->high = fmax(trials[high].lag_cycles, trials[best].lag_cycles) + lag_uncertainty;
}

/* The middle one of three numbers. */
static uint32_t median_of_three(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Measures the two SMs with growing lags. */
static enum fth_status find_window(struct study *study, struct fth_error *error)
{
    enum { ALONE = WINDOW_STEPS, REQUESTS = ALONE + 3 };
    struct fth_request requests[REQUESTS];
    struct fth_answers answers = {0};
    struct trial trials[WINDOW_STEPS * WINDOW_LINES];
    uint32_t alone[WINDOW_LINES];
    size_t count = 0;
    for (uint32_t i = 0; i < REQUESTS; i++)
        requests[i] = make_request(study, study->first, study->second,
                                   i < ALONE ? (i + 2) * WINDOW_STEP : ALONE_LAG, WINDOW_LINES);
    FTH_TRY(fth_ask(study->prober, requests, REQUESTS, &answers, error));
    for (size_t i = 0; i < WINDOW_LINES; i++)
        alone[i] = median_of_three(answers.items[ALONE].cycles[WINDOW_LINES + i],
                                   answers.items[ALONE + 1].cycles[WINDOW_LINES + i],
                                   answers.items[ALONE + 2].cycles[WINDOW_LINES + i]);
    for (size_t i = 0; i < REQUESTS; i++) {
        study->found->samples += answers.items[i].count;
        if (i < ALONE)
            count += make_trials(&requests[i], &answers.items[i], alone, FTH_PAIR_PERIOD_CYCLES,
                                 trials + count);
    }
    decide_window(study->found, trials, count);
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Finds out whether reads of different sectors of a line are joined. */
static enum fth_status find_extent(struct study *study, struct fth_error *error)
{
    struct fth_joins *found = study->found;
    const uint32_t sector = (uint32_t)study->sector_bytes;
    if (2 * study->sector_bytes > FTH_MIN(study->line_bytes, 128))
        return FTH_OK; /* a line has one sector, or a request cannot address the second one */
    struct fth_request requests[4];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        requests[i] = make_request(study, study->first, study->second, i % 2 ? ALONE_LAG : TEST_LAG,
                                   WINDOW_LINES);
        requests[i].pair.bytes = sector;
        requests[i].pair.offset_bytes = i < 2 ? 0 : sector;
    }
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    struct trial trials[WINDOW_LINES];
    bool joined[2];
    for (size_t i = 0; i < 2; i++) {
        const size_t count =
            make_trials(&requests[2 * i], &answers.items[2 * i],
                        answers.items[2 * i + 1].cycles + WINDOW_LINES, MAX_LAG, trials);
        size_t sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += trials[j].joined;
        joined[i] = 2 * sum > count;
        const struct fth_evidence evidence = {.repeats = (double)count,
                                              .agree = (double)(joined[i] ? sum : count - sum)};
        found->extent_evidence =
            i ? fth_weaker_evidence(found->extent_evidence, evidence) : evidence;
    }
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    /* Reads of the same sector are joined in any case; otherwise the experiment shows nothing. */
    found->has_extent = joined[0];
    found->joins_lines = joined[1];
    fth_answers_fini(&answers);
    return FTH_OK;
}

enum fth_status fth_probe_joins(const struct fth_prober *prober, uint64_t line_bytes,
                                uint64_t sector_bytes, struct fth_joins *found,
                                struct fth_error *error)
{
    struct study study = {
        .prober = prober, .line_bytes = line_bytes, .sector_bytes = sector_bytes, .found = found};
    uint32_t *groups = found->groups;
    *found = (struct fth_joins){.groups = groups, .window_cycles = NAN, .low = NAN, .high = NAN};
    if (prober->sms < 2)
        return fth_fail(error, FTH_INCONCLUSIVE, "find joined reads", NULL,
                        "the GPU has only one SM");
    study.alone = calloc(prober->sms * (size_t)LINES, sizeof *study.alone);
    if (!study.alone)
        return fth_no_memory(error, "find joined reads", NULL);
    enum fth_status status = measure_alone(&study, error);
    if (status == FTH_OK)
        status = find_groups(&study, error);
    if (status == FTH_OK)
        status = test_small_groups(&study, error);
    if (status == FTH_OK && study.has_pair) {
        status = find_window(&study, error);
        if (status == FTH_OK)
            status = find_extent(&study, error);
    }
    free(study.alone);
    return status;
}
