/* What measurements of real GPUs tell about cards of their model.
 *
 * A number of card c in run r is modelled as mean + card(c) + run(c, r), in logarithms, because
 * differences between cards are relative. The variances are the usual estimates of a one-way
 * analysis of variance with random effects (Searle, Casella and McCulloch, Variance Components,
 * 1992): within = mean square of the residuals; between = variance of the cards' means minus
 * within / runs, at least 0. Few cards give few degrees of freedom: with four cards, the standard
 * deviation between cards has a relative standard error of 40 %.
 *
 * The residuals of a run are kept together as one vector. A generated measurement takes a whole
 * vector, so that figures which vary together in a real run do so in a generated one. */
#include "fleet/generate/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "generate a fleet";

/* Collects the GPUs that have at least two measurements, and these measurements. */
static enum fth_status collect_rows(struct fth_generate_base *base, struct fth_error *error)
{
    const struct fth_fleet *from = base->from;
    struct fth_arena *arena = &base->arena;
    size_t *counts = fth_arena_array(arena, from->gpu_count + 1, sizeof *counts);
    base->cards = fth_arena_array(arena, from->gpu_count + 1, sizeof *base->cards);
    base->first_row = fth_arena_array(arena, from->gpu_count + 2, sizeof *base->first_row);
    base->rows = fth_arena_array(arena, from->measurement_count + 1, sizeof *base->rows);
    if (!counts || !base->cards || !base->first_row || !base->rows)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < from->measurement_count; i++)
        counts[from->measurements[i].gpu]++;
    for (size_t g = 0; g < from->gpu_count; g++) {
        if (counts[g] < 2)
            continue;
        for (size_t i = 0; i < from->measurement_count; i++)
            if (from->measurements[i].gpu == g)
                base->rows[base->row_count++] = i;
        base->cards[base->card_count++] = g;
        base->first_row[base->card_count] = base->row_count;
    }
    if (base->card_count < 2)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the base needs at least two GPUs with at least two measurements each, to "
                        "know how cards and runs differ; it has %zu",
                        base->card_count);
    const struct fth_fleet_gpu *first = &from->gpus[base->cards[0]];
    for (size_t c = 1; c < base->card_count; c++) {
        const char *model = from->gpus[base->cards[c]].model;
        if (!model || !first->model || strcmp(model, first->model) != 0)
            return fth_fail(error, FTH_INVALID, operation, NULL,
                            "the GPUs of the base must be of one model, not '%s' and '%s'",
                            first->model ? first->model : "unknown", model ? model : "unknown");
    }
    return FTH_OK;
}

/* Returns a number of a row; NAN if it has none. */
static double number_of(const struct fth_generate_base *base, size_t row, size_t figure)
{
    const struct fth_fleet_value *value =
        fth_fleet_find(&base->from->measurements[base->rows[row]], (uint32_t)figure);
    return value ? value->number : NAN;
}

/* Returns the largest power of ten that all numbers of a figure are multiples of. */
static double find_step(const struct fth_generate_base *base, size_t figure)
{
    double step = 1e-6;
    for (int exponent = 15; exponent > -6; exponent--) {
        bool fits = true;
        const double candidate = pow(10, exponent);
        for (size_t row = 0; row < base->row_count && fits; row++) {
            const double units = number_of(base, row, figure) / candidate;
            /* Doubles have 15 digits; the numbers have at most 8. */
            fits =
                isnan(units) || (units >= 0.5 && fabs(units - round(units)) < 1e-9 * fabs(units));
        }
        if (fits) {
            step = candidate;
            break;
        }
    }
    return step;
}

/* Mean of a column over the rows of a card; NAN if none has it. */
static double mean_over_card(const struct fth_generate_base *base, const double *column,
                             size_t stride, size_t card, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t row = base->first_row[card]; row < base->first_row[card + 1]; row++) {
        const double number = column[row * stride];
        if (isnan(number))
            continue;
        sum += number;
        ++*count;
    }
    return *count ? sum / (double)*count : NAN;
}

/* Variances of a column, which is replaced by its residuals. `means` gets the cards' means minus
 * the mean of these, which is returned. The residuals are enlarged by sqrt(n / (n - 1)), so that
 * their mean square is the variance from run to run. */
static double split_variance(const struct fth_generate_base *base, double *column, size_t stride,
                             double *means, double *between, double *within)
{
    double total = 0, squares = 0, noise = 0, freedom = 0, runs = 0;
    size_t cards = 0;
    for (size_t card = 0; card < base->card_count; card++) {
        size_t count;
        means[card] = mean_over_card(base, column, stride, card, &count);
        if (!count)
            continue;
        const double enlarge = count > 1 ? sqrt((double)count / (double)(count - 1)) : 0;
        for (size_t row = base->first_row[card]; row < base->first_row[card + 1]; row++) {
            double *number = &column[row * stride];
            if (isnan(*number))
                continue;
            const double residual = *number - means[card];
            noise += residual * residual;
            *number = residual * enlarge;
        }
        freedom += (double)(count - 1);
        runs += 1 / (double)count;
        total += means[card];
        cards++;
    }
    const double mean = cards ? total / (double)cards : NAN;
    for (size_t card = 0; card < base->card_count; card++) {
        means[card] = isnan(means[card]) ? 0 : means[card] - mean;
        squares += means[card] * means[card];
    }
    const double variance = freedom > 0 ? noise / freedom : 0;
    const double excess =
        cards > 1 ? squares / (double)(cards - 1) - variance * runs / (double)cards : 0;
    *within = sqrt(variance);
    *between = excess > 0 ? sqrt(excess) : 0;
    return mean;
}

/* Estimates one figure. Figures that are not positive numbers everywhere are copied. */
static void estimate_figure(struct fth_generate_base *base, size_t k, double *means)
{
    const struct fth_fleet *from = base->from;
    struct fth_generate_figure *figure = &base->figures[k];
    const enum fth_fleet_kind kind = from->figures[k].kind;
    double squares = 0, first = NAN;
    bool positive = kind == FTH_FLEET_RATE || kind == FTH_FLEET_TIME;
    for (size_t row = 0; row < base->row_count; row++) {
        const double number = number_of(base, row, k);
        first = isnan(first) ? number : first;
        figure->varies = figure->varies || (!isnan(number) && number != first);
        positive = positive && !(number <= 0) && !isinf(number);
        base->residuals[row * from->figure_count + k] = number > 0 ? log(number) : NAN;
    }
    figure->varies = figure->varies && positive;
    if (!positive || isnan(first))
        return;
    figure->step = find_step(base, k);
    /* One number does not tell the step. It is only needed for faults: four digits. */
    if (!figure->varies)
        figure->step = fmin(figure->step, pow(10, floor(log10(first)) - 3));
    figure->sign = kind == FTH_FLEET_RATE ? 1 : -1;
    figure->mean = split_variance(base, base->residuals + k, from->figure_count, means,
                                  &figure->between, &figure->within);
    /* The cards' means have the variance `between` plus a share of the noise; without it, their
     * directions, and therefore the correlations between figures, stay. */
    for (size_t card = 0; card < base->card_count; card++)
        squares += means[card] * means[card];
    for (size_t card = 0; card < base->card_count; card++)
        base->offsets[card * from->figure_count + k] =
            squares > 0 ? means[card] * figure->between / sqrt(squares) : 0;
}

static enum fth_status estimate_fingerprints(struct fth_generate_base *base, double *means,
                                             struct fth_error *error)
{
    const struct fth_fleet *from = base->from;
    size_t count = from->measurements[base->rows[0]].fingerprint_count;
    for (size_t row = 0; row < base->row_count; row++)
        if (from->measurements[base->rows[row]].fingerprint_count != count)
            count = 0;
    base->sm_count = count;
    base->sm_means = fth_arena_array(&base->arena, count + 1, sizeof(double));
    base->sm_between = fth_arena_array(&base->arena, count + 1, sizeof(double));
    base->sm_residuals = fth_arena_array(&base->arena, count * base->row_count + 1, sizeof(double));
    if (!base->sm_means || !base->sm_between || !base->sm_residuals)
        return fth_no_memory(error, operation, NULL);
    for (size_t row = 0; row < base->row_count && count; row++)
        memcpy(base->sm_residuals + row * count, from->measurements[base->rows[row]].fingerprint,
               count * sizeof(double));
    for (size_t sm = 0; sm < count; sm++) {
        double within;
        base->sm_means[sm] = split_variance(base, base->sm_residuals + sm, count, means,
                                            &base->sm_between[sm], &within);
    }
    return FTH_OK;
}

enum fth_status fth_generate_base_init(const struct fth_fleet *from, struct fth_generate_base *base,
                                       struct fth_error *error)
{
    memset(base, 0, sizeof *base);
    base->from = from;
    FTH_TRY(collect_rows(base, error));
    const size_t figures = from->figure_count;
    double *means = fth_arena_array(&base->arena, base->card_count, sizeof *means);
    base->figures = fth_arena_array(&base->arena, figures + 1, sizeof *base->figures);
    base->residuals = fth_arena_array(&base->arena, base->row_count * figures + 1, sizeof(double));
    base->offsets = fth_arena_array(&base->arena, base->card_count * figures + 1, sizeof(double));
    if (!means || !base->figures || !base->residuals || !base->offsets)
        return fth_no_memory(error, operation, NULL);
    for (size_t k = 0; k < figures; k++)
        estimate_figure(base, k, means);
    return estimate_fingerprints(base, means, error);
}

void fth_generate_base_fini(struct fth_generate_base *base)
{
    fth_arena_fini(&base->arena);
}
