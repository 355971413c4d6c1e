/* The slices of the L2: how many there are, which address bits select the slice of a line, and how
 * long each SM waits for a hit in each slice.
 *
 * A slice serves a limited number of reads per cycle. While several SMs (rivals) read one line, the
 * target, all the time, another SM times reads of other lines. Reads of lines in the slice of the
 * target wait for those of the rivals, and the others do not:
 *
 *   rivals:  target, target, target, …
 *   line 0    318   ─┐
 *   line 1   2907    ├─ only line 1 is in the slice of the target
 *   line 2    301   ─┘
 *
 * So one request finds all lines of a slice. The next target is a line that is in no slice yet,
 * until there is none. An SM only reads from its near partition of the L2 here, so each partition
 * is examined with its own SMs. On an H200, reads of the target by SMs near the other partition
 * delay nothing.
 *
 * The latencies then follow without rivals: the median over the lines of a slice, for each SM. (Z.
 * Jin et al., "Uncovering Real GPU NoC Characteristics: Implications on Interconnect Architecture",
 * MICRO 2024, measured such latencies, and found the slice of a line with a profiler.) Latencies
 * alone do not tell the slices apart: on an H200, several slices have the same latencies from all
 * SMs. */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The lines: consecutive ones, which show the granularity, and lines all over the page. Chosen:
     * nearly all differences of two addresses of a page occur several times. */
    NEXT_LINES = 256,
    SPREAD_LINES = 512,
    SPREAD_STRIDE = 31, /* in lines; odd, and nearly the page divided by SPREAD_LINES */
    LINES = NEXT_LINES + SPREAD_LINES,
    SPREAD_PAGE_LINES = 16384, /* lines of a page of 2 MiB for which these numbers were chosen */
    MAX_RIVALS = 4,            /* Chosen: on an H200, two are sufficient */
    MAX_SLICES = 128,          /* of a partition: more than half of them have two lines or more */
    BASE_REPEATS = 3,          /* requests without rivals, whose minimum counts. Chosen. */
    MAX_REPEATS = 3,           /* requests with rivals, if some reads are disturbed. Chosen. */
    MAP_REPEATS = 2,           /* the same for the latencies of all SMs. Chosen. */
    CHECKS = 4,                /* slices that are found again with another target. Chosen. */
    MAX_WRONG = 2              /* lines that may then be in the wrong slice. Chosen. */
};
/* Minimum cycles by which the rivals delay a read of the target itself. Chosen: more than the noise
 * of an H200, where a read is delayed by 2,500 cycles. */
static const double min_delay_cycles = 60;
/* A line is in the slice of the target if its read is delayed by at least this fraction of the
 * target's delay, and in another one if it is delayed by at most the other fraction. Chosen. */
static const double min_same_fraction = 0.5, max_other_fraction = 0.3;
/* Maximum fraction of lines between the two, and of lines that are in the wrong slice in a check.
 * Chosen, not derived. */
static const double max_unclear_fraction = 0.02;
/* What is found from the SMs of one partition. */
struct side {
    uint32_t reader; /* the SM that times the lines */
    uint32_t rivals[MAX_RIVALS];
    uint32_t rival_count;
    size_t repeats;         /* of each request with rivals */
    double base[LINES];     /* cycles of each line without rivals */
    uint32_t slices[LINES]; /* UINT32_MAX: not yet known */
    size_t slice_count;
};

struct study {
    const struct fth_prober *prober;
    const struct fth_slice_plan *plan;
    struct fth_slices *found;
    uint64_t offsets[LINES]; /* of the lines in the page */
    struct side *sides;      /* [plan->partitions] */
};

static const char no_delay[] = "reads of a line by several SMs do not delay other reads of it";

static enum fth_status fail(struct fth_error *error, const char *cause)
{
    return fth_fail(error, FTH_INCONCLUSIVE, "find L2 slices", NULL, "%s", cause);
}

static size_t partition_of(const struct fth_slice_plan *plan, size_t sm)
{
    return plan->partition_by_sm ? (size_t)plan->partition_by_sm[sm] : 0;
}

/* ---- requests ---- */

/* Returns a request without rivals. */
static struct fth_request make_base_request(const struct study *study, uint32_t sm, size_t target)
{
    const uint32_t line = (uint32_t)study->plan->line_bytes;
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_CONTEND;
    request.sm = sm;
    request.contend = (struct fth_contend){
        .target_bytes = (uint32_t)study->offsets[target],
        .range_count = 2,
        .ranges = {{.start_bytes = 0, .stride_bytes = line, .count = NEXT_LINES},
                   {.start_bytes = NEXT_LINES * line,
                    .stride_bytes = SPREAD_STRIDE * line,
                    .count = SPREAD_LINES}}};
    return request;
}

static struct fth_request make_request(const struct study *study, const struct side *side,
                                       size_t target)
{
    struct fth_request request = make_base_request(study, side->reader, target);
    request.contend.rival_count = side->rival_count;
    memcpy(request.contend.rivals, side->rivals, side->rival_count * sizeof *side->rivals);
    return request;
}

/* Sets the offsets of the lines, in the order of the samples. */
static void set_offsets(struct study *study)
{
    const uint64_t line = study->plan->line_bytes;
    for (size_t i = 0; i < LINES; i++)
        study->offsets[i] =
            (i < NEXT_LINES ? i : NEXT_LINES + (i - NEXT_LINES) * SPREAD_STRIDE) * line;
}

/* Measures the lines without rivals, from `count` SMs: the minimum of `repeats` requests.
 * cycles[count][LINES]; all[count][repeats][LINES]: each of them, or NULL. Adds the number of reads
 * that were delayed nevertheless to `outliers`. */
static enum fth_status measure_base(struct study *study, const uint32_t *sms, size_t count,
                                    size_t repeats, double *cycles, double *all, size_t *outliers,
                                    struct fth_error *error)
{
    struct fth_request *requests = calloc(count * repeats, sizeof *requests);
    struct fth_answers answers = {0};
    if (!requests)
        return fth_no_memory(error, "find L2 slices", NULL);
    for (size_t i = 0; i < count * repeats; i++)
        requests[i] = make_base_request(study, sms[i / repeats], 0);
    const enum fth_status status =
        fth_ask(study->prober, requests, count * repeats, &answers, error);
    free(requests);
    for (size_t i = 0; i < answers.count; i++) {
        study->found->samples += answers.items[i].count;
        for (size_t j = 0; j < LINES; j++) {
            double *min = &cycles[i / repeats * LINES + j];
            const double each = answers.items[i].cycles[j + 1];
            if (all)
                all[i * LINES + j] = each;
            *outliers += i % repeats != 0 && fabs(each - *min) > min_delay_cycles;
            *min = i % repeats == 0 || each < *min ? each : *min;
        }
    }
    fth_answers_fini(&answers);
    return status;
}

/* ---- the lines of one slice ---- */

/* Selects the SMs of a partition: the last one times the lines, and the rivals are evenly spread
 * over the others. */
static enum fth_status choose_sms(const struct study *study, size_t partition, struct side *side,
                                  struct fth_error *error)
{
    size_t count = 0, index = 0;
    for (size_t sm = 0; sm < study->prober->sms; sm++)
        if (partition_of(study->plan, sm) == partition) {
            count++;
            side->reader = (uint32_t)sm;
        }
    if (count < 2)
        return fail(error, "each partition needs an SM that reads and one that contends");
    const size_t others = count - 1, wanted = others < MAX_RIVALS ? others : MAX_RIVALS;
    for (uint32_t sm = 0; sm < side->reader; sm++)
        if (partition_of(study->plan, sm) == partition) {
            if (index * wanted / others == side->rival_count && side->rival_count < wanted)
                side->rivals[side->rival_count++] = sm;
            index++;
        }
    return FTH_OK;
}

/* Measures all lines while the rivals read the target: the minimum of `side->repeats` requests. */
static enum fth_status measure_delayed(struct study *study, const struct side *side, size_t target,
                                       uint32_t *cycles, struct fth_error *error)
{
    struct fth_request requests[MAX_REPEATS];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < side->repeats; i++)
        requests[i] = make_request(study, side, target);
    FTH_TRY(fth_ask(study->prober, requests, side->repeats, &answers, error));
    for (size_t i = 0; i < side->repeats; i++) {
        const uint32_t *each = answers.items[i].cycles;
        for (size_t j = 0; j < LINES + 2; j++)
            cycles[j] = i == 0 || each[j] < cycles[j] ? each[j] : cycles[j];
        study->found->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Finds the lines in the slice of the target. */
static enum fth_status find_slice(struct study *study, const struct side *side, size_t target,
                                  bool *in_slice, struct fth_error *error)
{
    uint32_t cycles[LINES + 2];
    FTH_TRY(measure_delayed(study, side, target, cycles, error));
    /* The target is also timed at the end, when the rivals must still be reading it. */
    const double delay = fmin(cycles[0], cycles[LINES + 1]) - side->base[target];
    size_t unclear = 0;
    for (size_t i = 0; i < LINES; i++) {
        const double each = cycles[i + 1] - side->base[i];
        in_slice[i] = i == target || each >= min_same_fraction * delay;
        unclear += i != target && each > max_other_fraction * delay && !in_slice[i];
    }
    if (delay < min_delay_cycles)
        return fail(error, no_delay);
    return (double)unclear > max_unclear_fraction * LINES
               ? fail(error, "some reads are delayed too little or too much to tell the slice")
               : FTH_OK;
}

/* Whether the rivals delay reads of their own target. This takes little time, in particular on a
 * simulated GPU without slices. */
static enum fth_status check_delay(struct study *study, const struct side *side,
                                   struct fth_error *error)
{
    struct fth_request requests[2] = {make_base_request(study, side->reader, 0),
                                      make_request(study, side, 0)};
    struct fth_answers answers = {0};
    for (size_t i = 0; i < 2; i++)
        requests[i].contend.range_count = requests[i].contend.ranges[0].count = 1;
    FTH_TRY(fth_ask(study->prober, requests, 2, &answers, error));
    bool delayed = true;
    /* The first and the last sample are those of the target. */
    for (size_t i = 0; i < 3; i += 2)
        delayed =
            delayed && answers.items[1].cycles[i] >= answers.items[0].cycles[i] + min_delay_cycles;
    study->found->samples += answers.items[0].count + answers.items[1].count;
    fth_answers_fini(&answers);
    return delayed ? FTH_OK : fail(error, no_delay);
}

/* Returns the slice that already has most of the lines, or a new one. A single line that was not
 * delayed with the others of its slice becomes a target, and finds that slice again. */
static uint32_t choose_slice(const struct side *side, const bool *in_slice)
{
    size_t counts[MAX_SLICES + 1] = {0}, all = 0;
    for (size_t i = 0; i < LINES; i++)
        if (in_slice[i]) {
            counts[FTH_MIN(side->slices[i], MAX_SLICES)]++;
            all++;
        }
    for (uint32_t i = 0; i < side->slice_count; i++)
        if (2 * counts[i] > all)
            return i;
    return (uint32_t)side->slice_count;
}

/* Finds all slices of a partition: each line that is in none is the target of a request. */
static enum fth_status find_side(struct study *study, struct side *side, struct fth_error *error)
{
    bool in_slice[LINES];
    size_t wrong = 0, outliers = 0;
    FTH_TRY(check_delay(study, side, error));
    FTH_TRY(
        measure_base(study, &side->reader, 1, BASE_REPEATS, side->base, NULL, &outliers, error));
    side->repeats = outliers ? MAX_REPEATS : 1;
    memset(side->slices, 0xff, sizeof side->slices);
    for (size_t i = 0; i < LINES; i++) {
        if (side->slices[i] != UINT32_MAX)
            continue;
        if (side->slice_count == MAX_SLICES)
            return fail(error, "there are too many slices");
        FTH_TRY(find_slice(study, side, i, in_slice, error));
        const uint32_t slice = choose_slice(side, in_slice);
        wrong += slice < side->slice_count;
        side->slice_count += slice == side->slice_count;
        for (size_t j = 0; j < LINES; j++) {
            if (in_slice[j] && side->slices[j] == UINT32_MAX)
                side->slices[j] = slice;
            wrong += in_slice[j] && side->slices[j] != slice;
        }
    }
    return (double)wrong > max_unclear_fraction * LINES
               ? fail(error, "lines are in several slices at the same time")
               : FTH_OK;
}

/* Finds some slices again, with the last line of each as the target. */
static enum fth_status check_side(struct study *study, const struct side *side,
                                  struct fth_error *error)
{
    const size_t checks = side->slice_count < CHECKS ? side->slice_count : CHECKS;
    bool in_slice[LINES];
    for (size_t i = 0; i < checks; i++) {
        const size_t slice = i * side->slice_count / checks;
        size_t target = LINES - 1, wrong = 0;
        while (side->slices[target] != slice)
            target--;
        FTH_TRY(find_slice(study, side, target, in_slice, error));
        for (size_t j = 0; j < LINES; j++)
            wrong += in_slice[j] != (side->slices[j] == slice);
        study->found->evidence.repeats++;
        study->found->evidence.agree += wrong <= MAX_WRONG;
    }
    return FTH_OK;
}

/* ---- numbers of slices ---- */

static enum fth_status find_hash(struct study *study, struct fth_error *error)
{
    struct fth_slices *found = study->found;
    const struct side *side = &study->sides[0];
    const struct fth_sliced_lines lines = {.offsets = study->offsets,
                                           .slices = side->slices,
                                           .count = LINES,
                                           .slice_count = side->slice_count,
                                           .line_bytes = study->plan->line_bytes,
                                           .page_bytes = FTH_CONTEND_PAGE_BYTES};
    struct fth_error cause = FTH_NO_ERROR;
    const enum fth_status status = fth_find_slice_hash(&lines, &found->hash, &cause);
    found->has_hash = status == FTH_OK;
    if (status == FTH_INCONCLUSIVE) {
        memcpy(found->hash_cause, cause.cause, sizeof found->hash_cause);
        return FTH_OK;
    }
    if (status != FTH_OK && error)
        *error = cause;
    return status;
}

/* Renumbers the slices of the first partition. If the hash is linear, the number of a slice are its
 * parities; otherwise they are numbered in the order of their lowest addresses. */
static void number_slices(struct study *study)
{
    const struct fth_slices *found = study->found;
    struct side *side = &study->sides[0];
    uint32_t numbers[MAX_SLICES], used = 0;
    memset(numbers, 0xff, sizeof numbers);
    /* The lines are in the order of their addresses. */
    for (size_t i = 0; i < LINES; i++) {
        uint32_t *number = &numbers[side->slices[i]];
        if (*number == UINT32_MAX)
            *number = found->has_hash && found->hash.linear
                          ? fth_slice_parities(&found->hash, study->offsets[i])
                          : used++;
        side->slices[i] = *number;
    }
}

/* Returns the slice of the first partition that has most of the lines of a slice of another one. */
static uint32_t find_match(const struct side *first, const struct side *other, uint32_t slice)
{
    size_t counts[MAX_SLICES] = {0};
    uint32_t best = 0;
    for (size_t i = 0; i < LINES; i++)
        counts[first->slices[i]] += other->slices[i] == slice;
    for (uint32_t i = 1; i < first->slice_count; i++)
        best = counts[i] > counts[best] ? i : best;
    return best;
}

/* Gives the slices of another partition the numbers of those of the first one that have the same
 * lines. FTH_INCONCLUSIVE: there are no such slices. */
static enum fth_status match_slices(const struct side *first, struct side *other,
                                    struct fth_error *error)
{
    static const char cause[] = "the partitions distribute lines over their slices differently";
    uint32_t numbers[MAX_SLICES];
    bool used[MAX_SLICES] = {false};
    size_t wrong = 0;
    if (first->slice_count != other->slice_count)
        return fail(error, cause);
    for (uint32_t i = 0; i < other->slice_count; i++) {
        numbers[i] = find_match(first, other, i);
        if (used[numbers[i]])
            return fail(error, cause);
        used[numbers[i]] = true;
    }
    for (size_t i = 0; i < LINES; i++) {
        other->slices[i] = numbers[other->slices[i]];
        wrong += other->slices[i] != first->slices[i];
    }
    return (double)wrong > max_unclear_fraction * LINES ? fail(error, cause) : FTH_OK;
}

/* ---- the map ---- */

/* Computes the cycles of each slice from one SM: the median over its lines. With two partitions,
 * a hit on a copy of a line whose home is the far partition takes a few cycles more on an H200.
 * Therefore the lines of either home are separate, and the lower median counts. */
static enum fth_status find_row(const struct study *study, const struct side *side,
                                const double *cycles, double *row, struct fth_error *error)
{
    const uint64_t home_mask = study->plan->home_mask;
    for (size_t slice = 0; slice < side->slice_count; slice++) {
        row[slice] = INFINITY;
        for (int home = 0; home < 2; home++) {
            double values[LINES], median;
            size_t used = 0;
            for (size_t i = 0; i < LINES; i++)
                if (side->slices[i] == slice &&
                    __builtin_parityll(study->offsets[i] & home_mask) == home)
                    values[used++] = cycles[i];
            if (used == 0)
                continue;
            FTH_TRY(fth_quantile_f64(values, used, 0.5, &median, error));
            row[slice] = fmin(row[slice], median);
        }
    }
    return FTH_OK;
}

/* Computes the mean over the lines from one SM. Reads that take longer than the others of their
 * slice by min_delay_cycles do not count: their lines had been evicted, or another program delayed
 * them. row[slices]: the median of each slice. */
static double find_mean(const struct side *side, const double *cycles, const double *row)
{
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < LINES; i++)
        if (cycles[i] <= row[side->slices[i]] + min_delay_cycles) {
            sum += cycles[i];
            used++;
        }
    return sum / (double)used; /* at least the medians count */
}

/* Finds what timing adds to the latency of a load: the reads of an SM take, on average over all
 * lines and for a typical SM, as long as the L2's latency and the overhead together.
 * rows[sms][per_partition]: the medians of the slices. */
static enum fth_status find_overhead(const struct study *study, const double *cycles,
                                     const double *rows, double *overhead, struct fth_error *error)
{
    const size_t sms = study->prober->sms;
    double *means = calloc(sms, sizeof *means), typical;
    if (!means)
        return fth_no_memory(error, "find L2 slices", NULL);
    for (size_t i = 0; i < sms; i++)
        means[i] = find_mean(&study->sides[partition_of(study->plan, i)], cycles + i * LINES,
                             rows + i * study->found->per_partition);
    const enum fth_status status = fth_quantile_f64(means, sms, 0.5, &typical, error);
    free(means);
    if (status == FTH_OK)
        *overhead = typical - study->plan->latency_cycles;
    return status;
}

/* Computes the mean of the middle half of the values, which it sorts. Unlike a median, it is not
 * limited to whole cycles. */
static enum fth_status find_middle(const double *values, size_t count, double *middle,
                                   struct fth_error *error)
{
    double *sorted = NULL;
    FTH_TRY(fth_sorted_f64(values, count, "find L2 slices", &sorted, error));
    const size_t cut = count / 4;
    *middle = 0;
    for (size_t i = cut; i < count - cut; i++)
        *middle += sorted[i] / (double)(count - 2 * cut);
    free(sorted);
    return FTH_OK;
}

/* Computes what distinguishes the SM from others: for each slice, the cycles of all its reads. The
 * lines of either home count equally. `all`: the reads of the SM, [MAP_REPEATS][LINES]. */
static enum fth_status find_profile(const struct study *study, const struct side *side,
                                    const double *all, double *profile, struct fth_error *error)
{
    for (size_t slice = 0; slice < side->slice_count; slice++) {
        double sum = 0, homes = 0;
        for (int home = 0; home < 2; home++) {
            double values[MAP_REPEATS * LINES], middle;
            size_t used = 0;
            for (size_t i = 0; i < MAP_REPEATS * (size_t)LINES; i++)
                if (side->slices[i % LINES] == slice &&
                    __builtin_parityll(study->offsets[i % LINES] & study->plan->home_mask) == home)
                    values[used++] = all[i];
            if (used == 0)
                continue;
            FTH_TRY(find_middle(values, used, &middle, error));
            sum += middle;
            homes++;
        }
        profile[slice] = sum / homes; /* a slice has at least one line */
    }
    return FTH_OK;
}

/* The latencies of all SMs. */
struct sm_map {
    double *rows;     /* [sms][per_partition] the latency of each slice */
    double *profiles; /* [sms][per_partition] cycles by which SMs are grouped */
};

static enum fth_status measure_rows(struct study *study, struct sm_map *map,
                                    struct fth_error *error)
{
    const size_t sms = study->prober->sms, each = study->found->per_partition;
    uint32_t *list = calloc(sms, sizeof *list);
    double *cycles = calloc(sms * LINES, sizeof *cycles);
    double *all = calloc(sms * MAP_REPEATS * LINES, sizeof *all);
    size_t outliers = 0; /* the median ignores them */
    double overhead = 0;
    enum fth_status status = FTH_OK;
    if (!list || !cycles || !all)
        status = fth_no_memory(error, "find L2 slices", NULL);
    for (size_t i = 0; i < sms && status == FTH_OK; i++)
        list[i] = (uint32_t)i;
    if (status == FTH_OK)
        status = measure_base(study, list, sms, MAP_REPEATS, cycles, all, &outliers, error);
    for (size_t i = 0; i < sms && status == FTH_OK; i++) {
        const struct side *side = &study->sides[partition_of(study->plan, i)];
        status = find_row(study, side, cycles + i * LINES, map->rows + i * each, error);
        if (status == FTH_OK)
            status = find_profile(study, side, all + i * MAP_REPEATS * LINES,
                                  map->profiles + i * each, error);
    }
    if (status == FTH_OK)
        status = find_overhead(study, cycles, map->rows, &overhead, error);
    for (size_t i = 0; i < sms * each && status == FTH_OK; i++)
        map->rows[i] -= overhead;
    free(list);
    free(cycles);
    free(all);
    return status;
}

/* Returns the route of each SM to the L2, for struct fth_slice_profiles; NULL: no memory. SMs near
 * different partitions read different slices, and SMs that join their reads share a unit between
 * them and the L2. */
static uint32_t *find_routes(const struct study *study)
{
    const size_t sms = study->prober->sms;
    const double *joins = study->plan->join_group_by_sm;
    uint32_t *routes = calloc(sms, sizeof *routes);
    for (size_t i = 0; routes && i < sms; i++)
        routes[i] = (uint32_t)(partition_of(study->plan, i) +
                               (joins ? study->plan->partitions * (size_t)joins[i] : 0));
    return routes;
}

/* Computes the latencies of each group: the means of its SMs. */
static enum fth_status find_group_means(struct fth_slices *found, const double *rows, size_t sms,
                                        struct fth_error *error)
{
    const size_t each = found->per_partition;
    size_t *members = calloc(found->sms.count, sizeof *members);
    found->cycles = calloc(found->sms.count * each, sizeof *found->cycles);
    if (!found->cycles || !members) {
        free(members);
        return fth_no_memory(error, "find L2 slices", NULL);
    }
    for (size_t i = 0; i < sms; i++)
        members[found->sms.groups[i]]++;
    for (size_t i = 0; i < sms; i++) {
        const size_t group = found->sms.groups[i];
        for (size_t j = 0; j < each; j++)
            found->cycles[group * each + j] += rows[i * each + j] / (double)members[group];
    }
    free(members);
    return FTH_OK;
}

/* Finds groups of SMs of the same route with equal profiles, and their latencies. */
static enum fth_status group_sms(struct study *study, const struct sm_map *map,
                                 struct fth_error *error)
{
    struct fth_slices *found = study->found;
    uint32_t *routes = find_routes(study);
    if (!routes)
        return fth_no_memory(error, "find L2 slices", NULL);
    const struct fth_slice_profiles profiles = {.cycles = map->profiles,
                                                .routes = routes,
                                                .sms = study->prober->sms,
                                                .slices = found->per_partition};
    enum fth_status status = fth_find_slice_groups(&profiles, &found->sms, error);
    free(routes);
    if (status == FTH_OK)
        status = find_group_means(found, map->rows, profiles.sms, error);
    return status;
}

static enum fth_status find_map(struct study *study, struct fth_error *error)
{
    const size_t count = study->prober->sms * study->found->per_partition;
    struct sm_map map = {.rows = calloc(count, sizeof *map.rows),
                         .profiles = calloc(count, sizeof *map.profiles)};
    enum fth_status status = map.rows && map.profiles
                                 ? measure_rows(study, &map, error)
                                 : fth_no_memory(error, "find L2 slices", NULL);
    if (status == FTH_OK)
        status = group_sms(study, &map, error);
    free(map.rows);
    free(map.profiles);
    return status;
}

/* ---- all ---- */

static enum fth_status find_all(struct study *study, struct fth_error *error)
{
    struct fth_slices *found = study->found;
    set_offsets(study);
    for (size_t i = 0; i < study->plan->partitions; i++) {
        struct side *side = &study->sides[i];
        FTH_TRY(choose_sms(study, i, side, error));
        FTH_TRY(find_side(study, side, error));
        if (side->slice_count < 2)
            return fail(error, "all lines delay each other, as in a single slice");
        FTH_TRY(check_side(study, side, error));
        found->slices += side->slice_count;
    }
    if (2 * found->evidence.agree < found->evidence.repeats)
        return fail(error, "another target in the same slice delays other lines");
    found->per_partition = study->sides[0].slice_count;
    FTH_TRY(find_hash(study, error));
    number_slices(study);
    for (size_t i = 1; i < study->plan->partitions; i++)
        FTH_TRY(match_slices(&study->sides[0], &study->sides[i], error));
    return find_map(study, error);
}

enum fth_status fth_probe_slices(const struct fth_prober *prober, const struct fth_slice_plan *plan,
                                 struct fth_slices *found, struct fth_error *error)
{
    *found = (struct fth_slices){.sms.groups = calloc(prober->sms, sizeof *found->sms.groups)};
    struct study study = {.prober = prober, .plan = plan, .found = found};
    study.sides = calloc(plan->partitions, sizeof *study.sides);
    enum fth_status status = FTH_OK;
    if (!found->sms.groups || !study.sides)
        status = fth_no_memory(error, "find L2 slices", NULL);
    else if (plan->line_bytes * SPREAD_PAGE_LINES != FTH_CONTEND_PAGE_BYTES)
        status = fail(error, "only L2s with lines of 128 bytes can be examined");
    else
        status = find_all(&study, error);
    free(study.sides);
    if (status != FTH_OK)
        fth_slices_fini(found);
    return status;
}

void fth_slices_fini(struct fth_slices *found)
{
    free(found->sms.groups);
    free(found->cycles);
    *found = (struct fth_slices){0};
}
