/* Is a state that the driver reports a fault by itself? Each rule looks at one or two figures of
 * the latest measurement that has them. Earlier measurements only show for how long the state has
 * been a fault. The rules about counters compare with the other GPUs of the cohort. */
#include "fleet/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum test {
    ABOVE_ZERO, /* a counter that must be 0 */
    /* Likewise, unless the figure `other` is known. Errors since the GPU was made may have been
     * repaired long ago; without the counter of new errors, this cannot be known. */
    ABOVE_ZERO_WITHOUT,
    YES,         /* a text that must not be "yes" */
    BELOW_OTHER, /* a number that must not be below that of the figure `other` */
    /* Likewise, and the usual value of the cohort must not be below it either: the generation of a
     * PCI Express link drops while the GPU is idle, and a GPU in a virtual machine may not see its
     * NVLinks. */
    BELOW_OTHER_AND_COHORT,
    CONTAINS, /* a text that must not contain `other` */
    MANY,     /* a counter that must not be far above those of other GPUs */
};
struct rule {
    const char *figure;
    enum test test;
    const char *other;
    bool severe;
    const char *note;
};
static const struct rule rules[] = {
    {"device.ecc_uncorrectable_volatile", ABOVE_ZERO, NULL, true,
     "ECC has found errors that it could not correct since the driver was loaded: reset the GPU."},
    {"device.ecc_uncorrectable", ABOVE_ZERO_WITHOUT, "device.ecc_uncorrectable_volatile", true,
     "ECC has found errors that it could not correct."},
    {"memory.ecc_uncorrectable", ABOVE_ZERO_WITHOUT, "device.ecc_uncorrectable_volatile", true,
     "ECC has found errors of the memory that it could not correct."},
    {"memory.remap_failure", YES, NULL, true, "A row of the memory could not be remapped."},
    {"memory.remap_pending", YES, NULL, false,
     "A row of the memory is remapped when the GPU is reset."},
    {"device.pcie_lanes", BELOW_OTHER, "device.max_pcie_lanes", true,
     "The PCI Express link has fewer lanes than it can have."},
    {"device.pcie_generation", BELOW_OTHER_AND_COHORT, "device.max_pcie_generation", true,
     "The PCI Express link has a lower generation than it can have."},
    {"device.nvlinks_active", BELOW_OTHER_AND_COHORT, "device.nvlinks", true,
     "Some NVLinks are inactive."},
    {"device.throttling", CONTAINS, "thermal", false,
     "The clocks are reduced because of the temperature."},
    {"device.throttling", CONTAINS, "power brake", false,
     "The clocks are reduced by the power brake of the system."},
    {"device.throttling", CONTAINS, "hardware slowdown", false,
     "The clocks are reduced by the hardware."},
    {"device.loaded_throttling", CONTAINS, "thermal", false,
     "The clocks are reduced because of the temperature."},
    {"device.loaded_throttling", CONTAINS, "power brake", false,
     "The clocks are reduced by the power brake of the system."},
    {"device.loaded_throttling", CONTAINS, "hardware slowdown", false,
     "The clocks are reduced by the hardware."},
    {"device.ecc_correctable", MANY, NULL, false,
     "ECC has corrected far more errors than on other GPUs."},
    {"memory.ecc_correctable", MANY, NULL, false,
     "ECC has corrected far more errors of the memory than on other GPUs."},
    {"memory.remapped_rows_uncorrectable", MANY, NULL, false,
     "More rows of the memory were remapped than on other GPUs."},
    {"device.pcie_replays", MANY, NULL, false,
     "The PCI Express link has repeated far more packets than those of other GPUs."},
    {"device.nvlink_errors", MANY, NULL, false,
     "The NVLinks have far more errors than those of other GPUs."},
};

/* A counter is far above those of other GPUs if it is more than MANY_FACTOR times what the part
 * MANY_QUANTILE of them has at most, and at least many_from(). All chosen. */
#define MANY_FACTOR 10.0
#define MANY_QUANTILE 0.95
/* Returns the smallest count that can be a fault. Healthy GPUs that have run for years have fewer
 * events. */
static double many_from(const char *figure)
{
    return strstr(figure, "remapped_rows") ? 4 : strstr(figure, "pcie_replays") ? 10000 : 100;
}

/* Returns the value of a figure in the latest measurement that has it. */
static const struct fth_fleet_value *latest(const struct fth_fleet *fleet,
                                            const struct fth_fleet_gpu *gpu, const char *name)
{
    const uint32_t figure = fth_fleet_figure_find(fleet, name);
    const struct fth_fleet_value *found = NULL;
    for (size_t i = gpu->measurement_count; figure != UINT32_MAX && i > 0 && !found; i--)
        found = fth_fleet_find(fth_judge_measurement(fleet, gpu, i - 1), figure);
    return found;
}

static const struct fth_judge_figure *figure_of(const struct fth_judge *judge, uint32_t index)
{
    const uint32_t slot = judge->cohort.slots[index];
    return slot == UINT32_MAX ? NULL : &judge->cohort.figures[slot];
}

/* Returns whether the usual value of the cohort is above a value. */
static bool below_cohort(const struct fth_judge *judge, const struct fth_fleet_value *value)
{
    const struct fth_judge_figure *figure = figure_of(judge, value->figure);
    return figure && figure->usual && figure->usual_number > value->number;
}

/* The rule that is applied to a GPU. */
struct check {
    const struct fth_judge *judge;
    const struct fth_fleet_gpu *gpu;
    const struct rule *rule;
    double upper; /* MANY: what most other GPUs have at most; NAN: unknown */
};

/* The same as upper_count for a reference without the distribution of the counter, as earlier
 * versions wrote it: from the values that it has. `own` is NAN if the GPU is not part of it. */
static double upper_value(const struct fth_reference_figure *figure, double own)
{
    size_t own_index = figure->value_count;
    uint64_t all = figure->other_gpus, seen = 0;
    for (size_t i = 0; i < figure->value_count; i++) {
        all += figure->values[i].gpus;
        if (fth_strtod(figure->values[i].text, NULL) == own)
            own_index = i;
    }
    all -= !isnan(own) && all > 0;
    for (size_t i = 0; i < figure->value_count && all > 0; i++) {
        seen += figure->values[i].gpus - (i == own_index);
        if (seen > 0 && (double)seen >= MANY_QUANTILE * (double)all)
            return fth_strtod(figure->values[i].text, NULL);
    }
    return NAN; /* no other GPU, or more different values than the reference keeps */
}

/* Returns what the part MANY_QUANTILE of the other GPUs has at most; NAN: unknown. */
static double upper_count(const struct check *check, uint32_t index)
{
    const struct fth_judge_figure *judged = figure_of(check->judge, index);
    if (!judged)
        return NAN;
    /* The value with which the GPU itself is part of the reference; NAN: it is not. */
    const double own =
        check->judge->own ? fth_fleet_gpu_mode(check->judge->fleet, check->gpu, index) : NAN;
    if (!judged->reference->gpus.count)
        return upper_value(judged->reference, own);
    /* The distribution has 1 + the number. */
    const double upper = fth_sketch_upper(&judged->reference->gpus, MANY_QUANTILE,
                                          isnan(own) ? NAN : 1 + fth_reference_round(own));
    return fth_reference_round(round(upper - 1));
}

/* Returns whether the rule uses a second figure. */
static bool has_other(const struct rule *rule)
{
    return rule->test == BELOW_OTHER || rule->test == BELOW_OTHER_AND_COHORT ||
           rule->test == ABOVE_ZERO_WITHOUT;
}

/* Returns whether a value is a fault. *usual gets what the value should be; NAN: nothing in
 * particular. */
static bool is_fault(const struct check *check, const struct fth_fleet_value *value,
                     const struct fth_fleet_value *other, double *usual)
{
    const struct rule *rule = check->rule;
    *usual = NAN;
    switch (rule->test) {
    case ABOVE_ZERO: *usual = 0; return value->number > 0;
    case ABOVE_ZERO_WITHOUT: *usual = 0; return !other && value->number > 0;
    case YES: return value->text && strcmp(value->text, "yes") == 0;
    case BELOW_OTHER:
    case BELOW_OTHER_AND_COHORT:
        *usual = other ? other->number : NAN;
        return other && value->number < other->number &&
               (rule->test == BELOW_OTHER || below_cohort(check->judge, value));
    case CONTAINS: return value->text && strstr(value->text, rule->other);
    case MANY:
        *usual = check->upper;
        return value->number >= many_from(rule->figure) &&
               value->number > MANY_FACTOR * check->upper;
    }
    return false;
}

/* Counts the measurements that have the figure, and those in which it is a fault. */
static void count_faults(const struct check *check, uint32_t index,
                         struct fth_fleet_finding *finding)
{
    const struct fth_fleet *fleet = check->judge->fleet;
    const struct fth_fleet_value *latest_other =
        has_other(check->rule) ? latest(fleet, check->gpu, check->rule->other) : NULL;
    finding->lasting = true;
    for (size_t i = 0; i < check->gpu->measurement_count; i++) {
        const struct fth_fleet_measurement *measurement =
            fth_judge_measurement(fleet, check->gpu, i);
        const struct fth_fleet_value *value = fth_fleet_find(measurement, index);
        const struct fth_fleet_value *other =
            latest_other ? fth_fleet_find(measurement, latest_other->figure) : NULL;
        double unused;
        if (!value)
            continue;
        const bool fault = is_fault(check, value, other ? other : latest_other, &unused);
        finding->measurements++;
        finding->lasting = finding->lasting && (fault || !finding->deviating);
        finding->deviating += fault;
    }
}

static enum fth_status report(struct fth_judge *judge, struct fth_fleet_result *result,
                              const struct check *check, const struct fth_fleet_value *value,
                              double usual)
{
    const struct rule *rule = check->rule;
    const bool text = isnan(value->number);
    struct fth_fleet_finding finding = {
        .figure = judge->fleet->figures[value->figure].name,
        .kind = FTH_FLEET_STATE,
        .value = value->number,
        .usual = usual,
        .text = value->text,
        .usual_text = !text               ? NULL
                      : rule->test == YES ? "no"
                                          : "none",
        .effect = usual > 0 ? value->number / usual - 1 : NAN,
        .worse = true,
        .distance = NAN,
        .severe = rule->severe,
        .note = rule->note,
    };
    count_faults(check, value->figure, &finding);
    return fth_judge_add(judge, result, &finding);
}

enum fth_status fth_judge_state(struct fth_judge *judge, struct fth_fleet_result *result)
{
    const struct fth_fleet *fleet = judge->fleet;
    struct check check = {.judge = judge, .gpu = &fleet->gpus[result->gpu]};
    for (size_t i = 0; i < FTH_COUNT(rules); i++) {
        check.rule = &rules[i];
        const struct fth_fleet_value *value = latest(fleet, check.gpu, rules[i].figure);
        /* Small counts are never faults. This saves the search for what other GPUs have. */
        if (!value || (rules[i].test == MANY && !(value->number >= many_from(rules[i].figure))))
            continue;
        check.upper = rules[i].test == MANY ? upper_count(&check, value->figure) : NAN;
        const struct fth_fleet_value *other =
            has_other(&rules[i]) ? latest(fleet, check.gpu, rules[i].other) : NULL;
        double usual;
        if (is_fault(&check, value, other, &usual))
            FTH_TRY(report(judge, result, &check, value, usual));
    }
    return FTH_OK;
}
