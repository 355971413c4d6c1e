/* Fleets made from measurements of real GPUs, with faults, to test how well fleets are judged.
 *
 * Each generated card differs from the mean card by an offset per figure, drawn from a normal
 * distribution with the covariance that the real cards have (generate_base.c). Each of its
 * measurements adds the residuals of one run of a real card, its parent, and copies from this run
 * what is not a number of performance. A part of the variance comes from a second run of the
 * parent: otherwise an unusual run would recur exactly in many GPUs, and stand apart from the
 * others as no real distribution does (B. W. Silverman and G. A. Young, "The Bootstrap: To Smooth
 * or Not to Smooth?", Biometrika 74, 1987). Numbers are rounded like the measured ones.
 *
 * What is assumed: the shape of the distribution between cards, above all its tails, because few
 * cards were measured; and that noise does not depend on the card's offset. */
#include "fleet/generate/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "generate a fleet";

enum {
    GPUS_PER_HOST = 8,
    DEFAULT_HOSTS_PER_RACK = 16,
    MAX_GPUS = 1000000,
    MAX_MEASUREMENTS = 10000,
};
static const int64_t FIRST_TIME = 1767232800; /* 2026-01-01T02:00:00Z; then one per day */
static const int64_t DAY = 86400;
/* The whiskers of a box plot of normal numbers are at 2.698 standard deviations. Published is the
 * distance between them: Sinha et al., "Not All GPUs Are Created Equal", SC 2022. */
static const double WHISKERS = 2 * 2.698;
/* Variance of a figure that cards have in common with all other figures, in published spreads.
 * Chosen, not published. */
static const double COMMON = 0.5;
/* Part of the variance of the noise that comes from the second run. Chosen. */
static const double SMOOTHING = 0.1;

struct state {
    struct fth_generate_base base;
    struct fth_fleet_generate_options options;
    struct fth_generate_fault *faults;
    struct fth_rng rng;
    struct fth_rng fault_rng; /* its own, so that faults do not change the healthy GPUs */
    struct fth_fleet *fleet;
    uint32_t *map;    /* figure of the base -> figure of the new fleet */
    double *deviance; /* per figure: standard deviation between cards, with a published spread */
    double *offset;   /* per figure, of the card that is made */
    double *sm_offset, *fingerprint;
    struct fth_fleet_value *values;
    uint32_t *fault_of; /* per GPU: index of the fault + 1; 0: healthy */
    struct fth_buffer truth;
};

/* A standard normal number, by the method of Box and Muller. */
static double draw_normal(struct fth_rng *rng)
{
    const double radius = sqrt(-2 * log(1 - fth_rng_unit(rng)));
    return radius * cos(6.283185307179586 * fth_rng_unit(rng));
}

/* Returns by what the offsets of a card are multiplied, for Student's t distribution: 1 for the
 * normal distribution. */
static double draw_tail(struct state *state)
{
    double squares = 0;
    const unsigned freedom = state->options.tail;
    for (unsigned i = 0; i < freedom; i++) {
        const double normal = draw_normal(&state->rng);
        squares += normal * normal;
    }
    return freedom ? 1 / sqrt(squares / freedom) : 1;
}

/* Draws how wide each figure is spread: between its whiskers 4 % to 22 %, 8 % on average. */
static enum fth_status draw_published(struct state *state, struct fth_error *error)
{
    const size_t count = state->base.from->figure_count;
    size_t *order = fth_arena_array(&state->base.arena, count + 1, sizeof *order);
    size_t varying = 0;
    if (!order)
        return fth_no_memory(error, operation, NULL);
    for (size_t k = 0; k < count; k++)
        if (state->base.figures[k].varies)
            order[varying++] = k;
    for (size_t i = varying; i > 1; i--) {
        const size_t j = (size_t)fth_rng_below(&state->rng, i), last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
    for (size_t i = 0; i < varying; i++) {
        /* The mean of 0.04 + 0.18 u^3.5 over u from 0 to 1 is 0.08. */
        const double u = varying > 1 ? (double)i / (double)(varying - 1) : 0;
        state->deviance[order[i]] = (0.04 + 0.18 * pow(u, 3.5)) / WHISKERS;
    }
    return FTH_OK;
}

static void draw_card(struct state *state)
{
    const struct fth_generate_base *base = &state->base;
    const size_t count = base->from->figure_count;
    const double tail = draw_tail(state), spread = state->options.spread * tail;
    memset(state->offset, 0, count * sizeof *state->offset);
    if (state->options.published_spread) {
        const double common = draw_normal(&state->rng);
        for (size_t k = 0; k < count; k++)
            if (base->figures[k].varies)
                state->offset[k] = spread * state->deviance[k] *
                                   (sqrt(COMMON) * base->figures[k].sign * common +
                                    sqrt(1 - COMMON) * draw_normal(&state->rng));
    } else {
        for (size_t card = 0; card < base->card_count; card++) {
            const double weight = draw_normal(&state->rng) * spread;
            for (size_t k = 0; k < count; k++)
                state->offset[k] += weight * base->offsets[card * count + k];
        }
    }
    for (size_t sm = 0; sm < base->sm_count; sm++)
        state->sm_offset[sm] = base->sm_between[sm] * draw_normal(&state->rng);
}

/* Returns the noise of a figure in a measurement that is made from two real runs. */
static double draw_noise(const struct fth_generate_base *base, size_t row, size_t second, size_t k)
{
    const double first = base->residuals[row * base->from->figure_count + k],
                 other = base->residuals[second * base->from->figure_count + k];
    return isnan(other) ? first : sqrt(1 - SMOOTHING) * first + sqrt(SMOOTHING) * other;
}

/* Draws the values of one measurement of the card, before faults and rounding. */
static void draw_values(struct state *state, size_t row, size_t second,
                        struct fth_fleet_draft *draft)
{
    const struct fth_generate_base *base = &state->base;
    const struct fth_fleet_measurement *real = &base->from->measurements[base->rows[row]];
    for (size_t i = 0; i < real->value_count; i++) {
        struct fth_fleet_value *value = &state->values[i];
        *value = real->values[i];
        const size_t k = value->figure;
        const struct fth_generate_figure *figure = &base->figures[k];
        if (figure->varies && !isnan(value->number))
            value->number = exp(figure->mean + state->offset[k] + draw_noise(base, row, second, k));
        value->figure = state->map[k];
    }
    for (size_t sm = 0; sm < base->sm_count; sm++)
        state->fingerprint[sm] = round(10 * (base->sm_means[sm] + state->sm_offset[sm] +
                                             base->sm_residuals[row * base->sm_count + sm])) /
                                 10;
    draft->values = state->values;
    draft->value_count = real->value_count;
    draft->fingerprint = base->sm_count ? state->fingerprint : NULL;
    draft->fingerprint_count = base->sm_count;
}

static void round_values(struct state *state, size_t row)
{
    const struct fth_generate_base *base = &state->base;
    const struct fth_fleet_measurement *real = &base->from->measurements[base->rows[row]];
    for (size_t i = 0; i < real->value_count; i++) {
        const double step = base->figures[real->values[i].figure].step;
        double *number = &state->values[i].number;
        /* Steps below 1 are divided by, so that 277.7 stays the number nearest to 277.7. */
        if (step >= 1)
            *number = round(*number / step) * step;
        else if (step > 0)
            *number = round(*number * round(1 / step)) / round(1 / step);
    }
}

/* Adds all measurements of a card. Returns in *affected how many of them show the card's fault. */
static enum fth_status add_card(struct state *state, size_t gpu, struct fth_fleet_draft *draft,
                                size_t *affected, struct fth_error *error)
{
    const struct fth_generate_base *base = &state->base;
    const size_t parent = (size_t)fth_rng_below(&state->rng, base->card_count);
    const size_t first = base->first_row[parent], rows = base->first_row[parent + 1] - first;
    const struct fth_generate_fault *fault =
        state->fault_of[gpu] ? &state->faults[state->fault_of[gpu] - 1] : NULL;
    const size_t total = state->options.measurements;
    size_t left = fault ? (size_t)ceil(fault->share * (double)total) : 0;
    const struct fth_fleet_gpu identity = draft->gpu;
    *affected = 0;
    draw_card(state);
    for (size_t m = 0; m < total; m++) {
        const size_t row = first + (size_t)fth_rng_below(&state->rng, rows);
        char file[96];
        draft->gpu = identity;
        draw_values(state, row, first + (size_t)fth_rng_below(&state->rng, rows), draft);
        /* The measurements that show a fault are a random subset of the right size. */
        if (left && fth_rng_below(&state->fault_rng, total - m) < left) {
            left--;
            ++*affected;
            fth_generate_fault_apply(fault, gpu, state->fleet->figures, draft, state->values,
                                     state->fingerprint);
        }
        round_values(state, row);
        draft->time = FIRST_TIME + (int64_t)m * DAY;
        fth_format(file, sizeof file, "%s-%s-%zu.json", draft->gpu.host, draft->gpu.uuid, m + 1);
        draft->file = file;
        const enum fth_status status = fth_fleet_add(state->fleet, draft, error);
        draft->file = NULL;
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

/* Makes one GPU: its place, its measurements and its line in the list of faults. */
static enum fth_status add_gpu(struct state *state, size_t gpu, struct fth_error *error)
{
    const struct fth_generate_base *base = &state->base;
    struct fth_fleet_draft draft = {.gpu = base->from->gpus[base->cards[0]]};
    char host[32], uuid[48], slot[32], rack[32];
    const size_t index = gpu / GPUS_PER_HOST, hosts = (state->options.gpus + 7) / GPUS_PER_HOST;
    const size_t racks = FTH_MIN((size_t)state->options.racks, hosts);
    size_t affected;
    /* The seed is part of the UUID, so that fleets with different seeds can be mixed. */
    fth_format(uuid, sizeof uuid, "GPU-%08x-0000-4000-8000-%012zx",
               (unsigned)(state->options.seed & UINT32_MAX), gpu);
    fth_format(host, sizeof host, "node%04zu", index + 1);
    fth_format(slot, sizeof slot, "0000:%02x:00.0", (unsigned)(0x10 + gpu % GPUS_PER_HOST * 0x10));
    fth_format(rack, sizeof rack, "rack%02zu", index * racks / hosts + 1);
    draft.gpu.uuid = uuid;
    draft.gpu.name = uuid;
    draft.gpu.host = host;
    draft.gpu.slot = slot;
    draft.gpu.group = rack;
    FTH_TRY(add_card(state, gpu, &draft, &affected, error));
    if (state->fault_of[gpu])
        fth_buffer_format(&state->truth, "%s,%s,%s,%s,%zu,%zu\n", uuid, host, slot,
                          state->faults[state->fault_of[gpu] - 1].text, affected,
                          (size_t)state->options.measurements);
    return FTH_OK;
}

/* Decides which GPUs are faulty. A GPU has at most one fault. */
static enum fth_status choose_faulty(struct state *state, struct fth_error *error)
{
    const size_t gpus = state->options.gpus;
    size_t healthy = gpus;
    for (size_t f = 0; f < state->options.fault_count; f++) {
        const struct fth_generate_fault *fault = &state->faults[f];
        if (fault->count > healthy)
            return fth_fail(error, FTH_INVALID, operation, fault->text,
                            "the fleet has only %zu healthy GPUs left", healthy);
        for (size_t left = fault->count; left;) {
            const size_t gpu = (size_t)fth_rng_below(&state->fault_rng, gpus);
            if (state->fault_of[gpu])
                continue;
            state->fault_of[gpu] = (uint32_t)f + 1;
            left--;
            healthy--;
        }
        for (size_t gpu = 0; gpu < gpus && fault->probability > 0; gpu++)
            if (!state->fault_of[gpu] && fth_rng_unit(&state->fault_rng) < fault->probability) {
                state->fault_of[gpu] = (uint32_t)f + 1;
                healthy--;
            }
    }
    return FTH_OK;
}

static enum fth_status check_options(struct fth_fleet_generate_options *options,
                                     struct fth_error *error)
{
    if (options->gpus < 1 || options->gpus > MAX_GPUS)
        return fth_fail(error, FTH_INVALID, operation, NULL, "a fleet has 1 to %d GPUs, not %zu",
                        MAX_GPUS, options->gpus);
    options->measurements = options->measurements ? options->measurements : 1;
    if (options->measurements > MAX_MEASUREMENTS)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "a GPU has at most %d measurements, not %u", MAX_MEASUREMENTS,
                        options->measurements);
    const size_t hosts = (options->gpus + GPUS_PER_HOST - 1) / GPUS_PER_HOST;
    if (!options->racks)
        options->racks = (unsigned)((hosts + DEFAULT_HOSTS_PER_RACK - 1) / DEFAULT_HOSTS_PER_RACK);
    if (!(options->spread >= 0) || options->spread > 1000)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the spread is a factor from 0 to 1000");
    options->spread = options->spread > 0 ? options->spread : 1;
    return FTH_OK;
}

/* Allocates what is needed for drawing, and gives the new fleet the figures of the base. */
static enum fth_status prepare(struct state *state, struct fth_error *error)
{
    const struct fth_fleet *from = state->base.from;
    struct fth_arena *arena = &state->base.arena;
    const size_t figures = from->figure_count, faults = state->options.fault_count;
    size_t values = 1;
    for (size_t i = 0; i < from->measurement_count; i++)
        if (from->measurements[i].value_count > values)
            values = from->measurements[i].value_count;
    state->faults = fth_arena_array(arena, faults + 1, sizeof *state->faults);
    state->map = fth_arena_array(arena, figures + 1, sizeof *state->map);
    state->deviance = fth_arena_array(arena, figures + 1, sizeof(double));
    state->offset = fth_arena_array(arena, figures + 1, sizeof(double));
    state->sm_offset = fth_arena_array(arena, state->base.sm_count + 1, sizeof(double));
    state->fingerprint = fth_arena_array(arena, state->base.sm_count + 1, sizeof(double));
    state->values = fth_arena_array(arena, values, sizeof *state->values);
    state->fault_of = fth_arena_array(arena, state->options.gpus, sizeof *state->fault_of);
    if (!state->faults || !state->map || !state->deviance || !state->offset || !state->sm_offset ||
        !state->fingerprint || !state->values || !state->fault_of)
        return fth_no_memory(error, operation, NULL);
    for (size_t f = 0; f < faults; f++)
        FTH_TRY(fth_generate_fault_read(state->options.faults[f], &state->faults[f], error));
    FTH_TRY(fth_fleet_create(&state->fleet, error));
    for (size_t k = 0; k < figures; k++) {
        state->map[k] = fth_fleet_figure_index(state->fleet, from->figures[k].name);
        if (state->map[k] == UINT32_MAX)
            return fth_no_memory(error, operation, NULL);
    }
    return state->options.published_spread ? draw_published(state, error) : FTH_OK;
}

static enum fth_status generate(struct state *state, const struct fth_fleet *from,
                                struct fth_error *error)
{
    FTH_TRY(fth_generate_base_init(from, &state->base, error));
    fth_rng_init(&state->rng, state->options.seed);
    fth_rng_init(&state->fault_rng, ~state->options.seed);
    FTH_TRY(prepare(state, error));
    FTH_TRY(choose_faulty(state, error));
    fth_buffer_text(&state->truth, "gpu,host,slot,fault,affected,measurements\n");
    for (size_t gpu = 0; gpu < state->options.gpus; gpu++) {
        if (fth_log_interrupted(state->options.log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(add_gpu(state, gpu, error));
    }
    return FTH_OK;
}

enum fth_status fth_fleet_generate(const struct fth_fleet *from,
                                   const struct fth_fleet_generate_options *options,
                                   struct fth_fleet **fleet, char **truth, struct fth_error *error)
{
    struct state state = {0};
    size_t size;
    *fleet = NULL;
    if (truth)
        *truth = NULL;
    enum fth_status status = fth_options_read("struct fth_fleet_generate_options", options,
                                              &state.options, sizeof state.options, error);
    if (status == FTH_OK)
        status = check_options(&state.options, error);
    if (status == FTH_OK)
        status = generate(&state, from, error);
    if (status == FTH_OK && truth)
        status = fth_buffer_take(&state.truth, truth, &size, error);
    if (status == FTH_OK)
        *fleet = state.fleet;
    else
        fth_fleet_destroy(state.fleet);
    fth_buffer_fini(&state.truth);
    fth_generate_base_fini(&state.base);
    return status;
}
