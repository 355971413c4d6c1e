/* Writes a judgement in the text exposition format of Prometheus, for the textfile collector of its
 * node exporter. The samples of a metric are together, as the format requires.
 *
 * A monitoring system stores each combination of labels as a series of its own. So the samples of a
 * GPU have only the labels that tell where it is; model, driver and board are labels of
 * fathom_gpu_info. Figures that are as usual are written only with the option `all`. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Appends a label with a value, escaped as the format requires: backslash, quote and newline. Bytes
 * that are not UTF-8 and control characters become '?'. A label without a value is left out. */
static void put_label(const char *name, const char *value, struct fth_buffer *out)
{
    struct fth_buffer text = {0};
    if (!value)
        return;
    fth_buffer_text(out, out->size && out->data[out->size - 1] != '{' ? "," : "");
    fth_buffer_text(out, name);
    fth_buffer_text(out, "=\"");
    for (const char *at = value; *at;) {
        const size_t size = strcspn(at, "\\\"\n");
        text.size = 0;
        fth_buffer_append(&text, at, size);
        if (text.data)
            fth_make_printable(text.data);
        fth_buffer_text(out, text.data ? text.data : "");
        at += size;
        if (*at)
            fth_buffer_text(out, *at == '\\' ? "\\\\" : *at == '"' ? "\\\"" : "\\n");
        at += *at != '\0';
    }
    fth_buffer_text(out, "\"");
    out->failed = out->failed || text.failed;
    fth_buffer_fini(&text);
}

static void put_head(const char *name, const char *help, struct fth_buffer *out)
{
    fth_buffer_format(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_value(double value, struct fth_buffer *out)
{
    char text[40];
    fth_buffer_text(out, "} ");
    fth_buffer_text(out, fth_number_format(value, text, sizeof text));
    fth_buffer_text(out, "\n");
}

/* The labels of a GPU, without brackets. */
struct labels {
    struct fth_buffer *items; /* per GPU of the fleet */
    size_t count;
};

static bool labels_init(struct labels *labels, const struct fth_fleet *fleet)
{
    labels->items = calloc(fleet->gpu_count + 1, sizeof *labels->items);
    if (!labels->items)
        return false;
    labels->count = fleet->gpu_count;
    for (size_t i = 0; i < labels->count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        put_label("gpu", gpu->name, &labels->items[i]);
        put_label("host", gpu->host, &labels->items[i]);
        put_label("slot", gpu->slot, &labels->items[i]);
        put_label("group", gpu->group, &labels->items[i]);
        if (labels->items[i].failed)
            return false;
    }
    return true;
}

static void labels_fini(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        fth_buffer_fini(&labels->items[i]);
    free(labels->items);
}

/* Appends the beginning of a sample of a GPU. `figure` may be NULL. */
static void begin_sample(const char *metric, const struct fth_buffer *labels, const char *figure,
                         struct fth_buffer *out)
{
    fth_buffer_text(out, metric);
    fth_buffer_text(out, "{");
    fth_buffer_append(out, labels->data, labels->size);
    put_label("figure", figure, out);
}

/* Returns the number of a figure of a GPU: the median of its measurements. NAN: it has none, or the
 * figure is not exported. */
static double figure_of(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                        uint32_t figure)
{
    size_t count;
    if (fleet->figures[figure].kind == FTH_FLEET_EXACT)
        return NAN;
    return fth_fleet_gpu_median(fleet, gpu, figure, &count);
}

static void put_figures(const struct fth_fleet *fleet, const struct labels *labels,
                        struct fth_buffer *out)
{
    static const char metric[] = "fathom_gpu_figure";
    put_head(metric, "Median of the measurements of a figure, in the unit that its name ends with.",
             out);
    for (uint32_t i = 0; i < fleet->figure_count; i++)
        for (size_t j = 0; j < fleet->gpu_count && !out->failed; j++) {
            const double value = figure_of(fleet, &fleet->gpus[j], i);
            if (!isfinite(value))
                continue;
            begin_sample(metric, &labels->items[j], fleet->figures[i].name, out);
            put_value(value, out);
        }
}

static const char effect_metric[] = "fathom_gpu_effect";

/* Returns whether an earlier finding is of the same figure: a series must not occur twice. */
static bool is_repeated(const struct fth_fleet_result *result, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(result->findings[i].figure, result->findings[index].figure) == 0)
            return true;
    return false;
}

/* Writes the effects of the findings. */
static void put_findings(const struct fth_fleet_judgement *judgement, const struct labels *labels,
                         struct fth_buffer *out)
{
    for (size_t i = 0; i < labels->count; i++)
        for (size_t j = 0; j < judgement->results[i].finding_count; j++) {
            const struct fth_fleet_finding *finding = &judgement->results[i].findings[j];
            if (!isfinite(finding->effect) || is_repeated(&judgement->results[i], j))
                continue;
            begin_sample(effect_metric, &labels->items[i], finding->figure, out);
            put_value(fth_round_digits(finding->effect, 6), out);
        }
}

/* Writes the effects of all rates and times. */
static void put_effects(const struct fth_fleet_judgement *judgement, const struct labels *labels,
                        struct fth_buffer *out)
{
    const struct fth_fleet *fleet = judgement->fleet;
    for (uint32_t i = 0; i < fleet->figure_count; i++) {
        const enum fth_fleet_kind kind = fleet->figures[i].kind;
        if (kind != FTH_FLEET_RATE && kind != FTH_FLEET_TIME)
            continue;
        const struct fth_fleet_figure_summary *usual = NULL;
        for (size_t j = 0; j < fleet->gpu_count && !out->failed; j++) {
            /* Most neighbours are of the same cohort. */
            if (j == 0 || fleet->gpus[j].cohort != fleet->gpus[j - 1].cohort)
                usual = fth_judged_figure(judgement, &fleet->gpus[j], fleet->figures[i].name);
            const double value = figure_of(fleet, &fleet->gpus[j], i);
            const double effect = usual ? value / usual->median - 1 : (double)NAN;
            if (!isfinite(effect))
                continue;
            begin_sample(effect_metric, &labels->items[j], fleet->figures[i].name, out);
            put_value(fth_round_digits(effect, 6), out);
        }
    }
}

static double count_worse(const struct fth_fleet_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->finding_count; i++)
        count += result->findings[i].worse;
    return (double)count;
}

/* Metrics with one sample per GPU. */
static void put_gpus(const struct fth_fleet_judgement *judgement, const struct labels *labels,
                     struct fth_buffer *out)
{
    const struct fth_fleet *fleet = judgement->fleet;
    put_head("fathom_gpu_verdict", "-1: not judged, 0: healthy, 1: suspect, 2: failed.", out);
    for (size_t i = 0; i < labels->count; i++) {
        begin_sample("fathom_gpu_verdict", &labels->items[i], NULL, out);
        const enum fth_fleet_verdict verdict = judgement->results[i].verdict;
        put_value(verdict == FTH_FLEET_NOT_JUDGED ? -1 : (double)verdict, out);
    }
    put_head("fathom_gpu_info", "Always 1; the labels tell what the GPU is.", out);
    for (size_t i = 0; i < labels->count; i++) {
        begin_sample("fathom_gpu_info", &labels->items[i], NULL, out);
        put_label("model", fleet->gpus[i].model, out);
        put_label("driver", fleet->gpus[i].driver, out);
        put_label("board", fleet->gpus[i].board, out);
        put_value(1, out);
    }
    put_head("fathom_gpu_findings", "Number of figures that are worse than usual.", out);
    for (size_t i = 0; i < labels->count; i++) {
        begin_sample("fathom_gpu_findings", &labels->items[i], NULL, out);
        put_value(count_worse(&judgement->results[i]), out);
    }
    put_head("fathom_gpu_measured_timestamp_seconds", "Time of the last measurement.", out);
    for (size_t i = 0; i < labels->count; i++) {
        const struct fth_fleet_measurement *last = fth_last_measurement(fleet, &fleet->gpus[i]);
        if (!last || !last->time)
            continue;
        begin_sample("fathom_gpu_measured_timestamp_seconds", &labels->items[i], NULL, out);
        put_value((double)last->time, out);
    }
}

static void put_fleet(const struct fth_fleet_judgement *judgement, struct fth_buffer *out)
{
    const size_t counts[] = {judgement->healthy, judgement->suspect, judgement->failed,
                             judgement->not_judged};
    put_head("fathom_fleet_gpus", "Number of GPUs by verdict.", out);
    for (size_t i = 0; i < FTH_COUNT(counts); i++)
        fth_buffer_format(out, "fathom_fleet_gpus{verdict=\"%s\"} %zu\n",
                          fth_verdict_name((enum fth_fleet_verdict)i), counts[i]);
    put_head("fathom_fleet_problems", "Number of files that give no measurement of a GPU.", out);
    fth_buffer_format(out, "fathom_fleet_problems %zu\n", judgement->fleet->problem_count);
    if (!judgement->expects)
        return;
    if (judgement->expected_gpus) {
        put_head("fathom_fleet_expected_gpus", "Number of GPUs that should be judged.", out);
        fth_buffer_format(out, "fathom_fleet_expected_gpus %zu\n", judgement->expected_gpus);
    }
    put_head("fathom_fleet_missing",
             "Always 1; the labels name a host or GPU without measurements.", out);
    for (size_t i = 0; i < judgement->missing_count; i++) {
        fth_buffer_text(out, "fathom_fleet_missing{");
        put_label("host", judgement->missing[i].host, out);
        put_label("gpu", judgement->missing[i].gpu, out);
        put_value(1, out);
    }
}

void fth_judgement_prometheus(const struct fth_fleet_judgement *judgement,
                              const struct fth_report_options *options, struct fth_buffer *out)
{
    struct labels labels = {0};
    if (labels_init(&labels, judgement->fleet)) {
        put_fleet(judgement, out);
        put_gpus(judgement, &labels, out);
        if (options->all)
            put_figures(judgement->fleet, &labels, out);
        put_head(effect_metric,
                 "Ratio of a figure to the usual value, minus 1: -0.05 is 5 percent less than "
                 "usual.",
                 out);
        if (options->all)
            put_effects(judgement, &labels, out);
        else
            put_findings(judgement, &labels, out);
    } else {
        out->failed = true;
    }
    labels_fini(&labels);
}
