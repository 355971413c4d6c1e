/* Which single cause explains the findings of a GPU? Each rule looks at how figures changed
 * together. For example, an SM clock that is 5 % lower makes all rates of SMs 5 % lower and all
 * latencies in ns 5 % higher, and leaves latencies in cycles as they are. The first rule that
 * applies decides. A cause is a hint for the operator; it does not change the verdict. */
#include "fleet/judge/judge.h"

#include <math.h>
#include <string.h>

/* Figures that change less are "as usual" for the rules. Chosen: between the noise of these figures
 * (0.2 %, docs/methods/fleet.md) and the default min_effect. */
#define UNCHANGED 0.01
/* How closely figures must change together, relative to the change. Chosen. */
#define TOGETHER 0.35

/* Figures whose rate is bound by the SMs: number of SMs times clock. */
static const char *const sm_rates[] = {
    "l1.read_bytes_per_s",          "shared.read_bytes_per_s",  "shared.write_bytes_per_s",
    "shared.copy_bytes_per_s",      "texture.read_bytes_per_s", "readonly.read_bytes_per_s",
    "constant_l1.read_bytes_per_s",
};
/* Latencies within the SM, in time. */
static const char *const sm_times[] = {
    "l1.latency_ns",
    "shared.latency_ns",
    "texture.latency_ns",
    "readonly.latency_ns",
    "constant_l1.latency_ns",
    "constant_l15.latency_ns",
    "cluster_shared.latency_ns",
};
static const char *const memory_rates[] = {"memory.read_bytes_per_s", "memory.write_bytes_per_s",
                                           "memory.copy_bytes_per_s"};
static const char *const l2_rates[] = {"l2.read_bytes_per_s", "l2.write_bytes_per_s",
                                       "l2.copy_bytes_per_s"};
static const char *const l2_times[] = {"l2.latency_cycles", "l2.far_latency_cycles",
                                       "l2.latency_ns"};

/* The GPU for which a cause is sought. */
struct view {
    struct fth_judge *judge;
    const struct fth_fleet_result *result;
    /* Changes of the figures above: medians, for the memory the lowest one; NAN: unknown. */
    double sms, times, memory;
};

/* Returns value / usual - 1 of a figure of the GPU; NAN: unknown. */
static double change_of(const struct fth_judge *judge, const struct fth_fleet_result *result,
                        const char *figure)
{
    const uint32_t index = fth_fleet_figure_find(judge->fleet, figure);
    if (index == UINT32_MAX || judge->columns[index] == UINT32_MAX)
        return NAN;
    return expm1(
        (double)
            judge->ratios[result->gpu * judge->judgement->column_count + judge->columns[index]]);
}

/* Returns the median change of several figures; NAN: none is known. */
static double median_change(const struct fth_judge *judge, const struct fth_fleet_result *result,
                            const char *const *figures, size_t count)
{
    double changes[8];
    size_t known = 0;
    for (size_t i = 0; i < count && known < FTH_COUNT(changes); i++) {
        changes[known] = change_of(judge, result, figures[i]);
        known += isnan(changes[known]) ? 0 : 1;
    }
    return known ? fth_fleet_median(changes, known) : NAN;
}

/* Returns the lowest change of several figures; NAN: none is known. */
static double lowest_change(const struct fth_judge *judge, const struct fth_fleet_result *result,
                            const char *const *figures, size_t count)
{
    double lowest = NAN;
    for (size_t i = 0; i < count; i++)
        lowest = fmin(lowest, change_of(judge, result, figures[i]));
    return lowest;
}

static const struct fth_fleet_finding *find(const struct view *view, const char *figure)
{
    for (size_t i = 0; i < view->result->finding_count; i++) {
        const struct fth_fleet_finding *finding = &view->result->findings[i];
        if (finding->worse && strcmp(finding->figure, figure) == 0)
            return finding;
    }
    return NULL;
}

/* Returns whether one of the figures is a finding. */
static bool any(const struct view *view, const char *const *figures, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (find(view, figures[i]))
            return true;
    return false;
}

/* Returns whether all findings are of figures that begin with one of two texts. */
static bool only(const struct view *view, const char *start, const char *other)
{
    for (size_t i = 0; i < view->result->finding_count; i++) {
        const struct fth_fleet_finding *finding = &view->result->findings[i];
        if (finding->worse && strncmp(finding->figure, start, strlen(start)) != 0 &&
            strncmp(finding->figure, other, strlen(other)) != 0)
            return false;
    }
    return true;
}

/* True for an unknown change, too: a quick measurement does not have all figures. */
static bool unchanged(double change)
{
    return !(fabs(change) > UNCHANGED);
}

static bool together(double a, double b)
{
    return fabs(a - b) <= TOGETHER * fmax(fabs(a), fabs(b));
}

/* ---- rules; each writes a sentence and returns whether it applies ---- */

static bool is_number(const struct fth_fleet_finding *finding)
{
    return finding->kind == FTH_FLEET_RATE || finding->kind == FTH_FLEET_TIME;
}

/* Returns whether a finding has a note that states its reason. The notes of other rates and times
 * than impossible ones say what else has changed since earlier measurements
 * (history/history_judge.c), which is not a reason. */
static bool has_reason(const struct fth_fleet_finding *finding)
{
    return finding->note && !(is_number(finding) && finding->value > 0 && isfinite(finding->value));
}

/* A figure of zero or an infinite one. */
static bool impossible_figure(const struct view *view, char *text, size_t size)
{
    const struct fth_fleet_finding *first = &view->result->findings[0];
    if (!is_number(first) || !has_reason(first))
        return false;
    fth_format(text, size, "%s", first->note);
    return true;
}

static bool fewer_sms(const struct view *view, char *text, size_t size)
{
    const struct fth_fleet_finding *finding = find(view, "device.sms");
    if (!finding || !(finding->value < finding->usual))
        return false;
    fth_format(text, size, "The GPU has %.0f instead of %.0f SMs.", finding->value, finding->usual);
    return true;
}

static bool lower_clock(const struct view *view, char *text, size_t size)
{
    const struct fth_fleet_finding *finding = find(view, "device.loaded_clock_mhz");
    const struct fth_fleet_finding *reason = find(view, "device.loaded_throttling");
    if (!reason)
        reason = find(view, "device.throttling");
    const bool slower =
        view->sms < -UNCHANGED && view->times > UNCHANGED && together(-view->sms, view->times);
    if (!finding && !slower)
        return false;
    fth_format(text, size, "The SM clock is lower by %.1f %%%s%s%s.",
               -100 * (finding ? finding->effect : view->sms), reason ? " (" : "",
               reason ? reason->text : "", reason ? ")" : "");
    return true;
}

/* Rates of SMs are lower by the same factor while the latencies are as usual: SMs do not work. */
static bool idle_sms(const struct view *view, char *text, size_t size)
{
    if (!any(view, sm_rates, FTH_COUNT(sm_rates)) || !(view->sms < -UNCHANGED) ||
        !unchanged(view->times))
        return false;
    fth_format(text, size,
               "The rates of the SMs are lower by %.1f %% at the usual latencies, as if SMs were "
               "missing.",
               -100 * view->sms);
    return true;
}

static bool slow_memory(const struct view *view, char *text, size_t size)
{
    if (!any(view, memory_rates, FTH_COUNT(memory_rates)) || !(view->memory < -UNCHANGED) ||
        !unchanged(view->sms) || any(view, l2_rates, FTH_COUNT(l2_rates)))
        return false;
    const bool ecc = find(view, "device.ecc_uncorrectable_volatile") ||
                     find(view, "memory.ecc_uncorrectable") || find(view, "memory.ecc_correctable");
    const bool rows = find(view, "memory.remap_failure") || find(view, "memory.remap_pending") ||
                      find(view, "memory.remapped_rows_uncorrectable");
    fth_format(text, size, "Only the memory bandwidth is lower (%.1f %%): %s.", -100 * view->memory,
               ecc    ? "ECC reports errors of the memory"
               : rows ? "rows of the memory were remapped"
                      : "check the memory clock, ECC errors and remapped rows");
    return true;
}

static bool slow_partition(const struct view *view, char *text, size_t size)
{
    const bool times = any(view, l2_times, FTH_COUNT(l2_times));
    const bool rates = any(view, l2_rates, FTH_COUNT(l2_rates));
    const double near = change_of(view->judge, view->result, "l2.latency_cycles");
    const double far = change_of(view->judge, view->result, "l2.far_latency_cycles");
    if ((!times && !rates) || !unchanged(view->sms) || !unchanged(view->times))
        return false;
    const bool one_side =
        times && !isnan(near) && !isnan(far) && (unchanged(near) != unchanged(far));
    if (times && !rates && !one_side &&
        change_of(view->judge, view->result, "memory.latency_cycles") > UNCHANGED) {
        fth_format(text, size,
                   "The latencies of L2 and memory are higher at the usual bandwidths.");
        return true;
    }
    fth_format(text, size, "%s",
               one_side || (rates && !times) ? "One L2 partition is slower; the SMs are as usual."
                                             : "The L2 is slower; the SMs are as usual.");
    return true;
}

static bool other_tlb(const struct view *view, char *text, size_t size)
{
    if (!only(view, "tlb_", "tlb_"))
        return false;
    fth_format(text, size,
               "Only the TLB differs, as between revisions of a board or of its firmware.");
    return true;
}

static bool narrow_link(const struct view *view, char *text, size_t size)
{
    const struct fth_fleet_finding *lanes = find(view, "device.pcie_lanes");
    if (!lanes)
        return false;
    fth_format(text, size, "The PCI Express link has %.0f of %.0f lanes.", lanes->value,
               lanes->usual);
    return true;
}

/* The rule of a finding that states its own reason. */
static bool own_reason(const struct view *view, char *text, size_t size)
{
    for (size_t i = 0; i < view->result->finding_count; i++)
        if (has_reason(&view->result->findings[i]) && view->result->findings[i].worse) {
            fth_format(text, size, "%s", view->result->findings[i].note);
            return true;
        }
    return false;
}

static bool (*const rules[])(const struct view *, char *, size_t) = {
    impossible_figure, fewer_sms, lower_clock, idle_sms,   slow_memory,
    slow_partition,    other_tlb, narrow_link, own_reason,
};

/* Returns the host of a GPU if its GPUs differ together in a figure that is a finding of the GPU.
 */
static const char *common_host(const struct view *view)
{
    const struct fth_fleet_judgement *judgement = view->judge->judgement;
    const char *host = view->judge->fleet->gpus[view->result->gpu].host;
    for (size_t i = 0; host && i < judgement->group_count; i++) {
        const struct fth_fleet_group_finding *group = &judgement->groups[i];
        if (strcmp(group->kind, "host") == 0 && strcmp(group->name, host) == 0 &&
            find(view, group->figure))
            return host;
    }
    return NULL;
}

/* Returns whether only some measurements show the most important finding. A state that has lasted
 * since it appeared is not intermittent. */
static bool is_intermittent(const struct fth_fleet_result *result)
{
    const struct fth_fleet_finding *first = &result->findings[0];
    return first->deviating > 0 && first->deviating < first->measurements && !first->lasting;
}

enum fth_status fth_judge_causes(struct fth_judge *judge)
{
    for (size_t g = 0; g < judge->fleet->gpu_count; g++) {
        struct fth_fleet_result *result = &judge->judgement->results[g];
        if (result->verdict != FTH_FLEET_SUSPECT && result->verdict != FTH_FLEET_FAILED)
            continue;
        const struct view view = {
            .judge = judge,
            .result = result,
            .sms = median_change(judge, result, sm_rates, FTH_COUNT(sm_rates)),
            .times = median_change(judge, result, sm_times, FTH_COUNT(sm_times)),
            .memory = lowest_change(judge, result, memory_rates, FTH_COUNT(memory_rates)),
        };
        char text[320] = "";
        for (size_t i = 0; i < FTH_COUNT(rules) && !text[0]; i++)
            rules[i](&view, text, sizeof text);
        size_t used = strlen(text);
        if (is_intermittent(result)) {
            fth_format(text + used, sizeof text - used,
                       "%sThe fault is intermittent: only some measurements show it.",
                       used ? " " : "");
            used = strlen(text);
        }
        if (common_host(&view))
            fth_format(text + used, sizeof text - used,
                       "%sThe GPUs of the host differ together: check what they share.",
                       used ? " " : "");
        if (text[0] && !(result->cause = fth_judge_text(judge, text)))
            return fth_no_memory(judge->error, FTH_JUDGE_OPERATION, NULL);
    }
    return FTH_OK;
}
