/* Writes a judgement as JSON lines, one per GPU, for databases and data frames: numbers are
 * numbers, and members without a value are null, so that each line has the same members. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <string.h>

/* Writes the texts that identify a GPU. */
static void put_identity(const struct fth_fleet_gpu *gpu, struct fth_json_writer *json)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"gpu", gpu->name},      {"uuid", gpu->uuid},   {"host", gpu->host},
                 {"slot", gpu->slot},     {"group", gpu->group}, {"model", gpu->model},
                 {"driver", gpu->driver}, {"board", gpu->board}, {"backend", gpu->backend}};
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        fth_json_key(json, texts[i].key);
        fth_json_text_or_null(json, texts[i].text);
    }
}

/* Writes the last value of each figure that is a text. */
static void put_texts(const struct fth_fleet *fleet, const struct fth_fleet_measurement *last,
                      struct fth_json_writer *json)
{
    fth_json_key(json, "texts");
    fth_json_begin(json, '{', true);
    for (size_t i = 0; last && i < last->value_count; i++)
        if (last->values[i].text) {
            fth_json_key(json, fleet->figures[last->values[i].figure].name);
            fth_json_text(json, last->values[i].text);
        }
    fth_json_end(json, '}');
}

/* Writes the numbers of a GPU: each is the median of its measurements. */
static void put_figures(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                        struct fth_json_writer *json)
{
    fth_json_key(json, "figures");
    fth_json_begin(json, '{', true);
    for (uint32_t i = 0; i < fleet->figure_count; i++) {
        size_t count;
        const double median = fth_fleet_gpu_median(fleet, gpu, i, &count);
        if (!isfinite(median))
            continue;
        fth_json_key(json, fleet->figures[i].name);
        fth_json_number(json, median);
    }
    fth_json_end(json, '}');
}

/* Writes the effect of each finding; null for those that are not numbers. */
static void put_findings(const struct fth_fleet_result *result, struct fth_json_writer *json)
{
    fth_json_key(json, "findings");
    fth_json_begin(json, '{', true);
    for (size_t i = 0; i < result->finding_count; i++) {
        size_t first = 0; /* the first finding of the figure, which is the most important one */
        while (strcmp(result->findings[first].figure, result->findings[i].figure) != 0)
            first++;
        if (first < i)
            continue;
        fth_json_key(json, result->findings[i].figure);
        fth_json_number(json, fth_round_digits(result->findings[i].effect, 5));
    }
    fth_json_end(json, '}');
}

static void put_line(const struct fth_fleet_judgement *judgement,
                     const struct fth_fleet_result *result, struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    char time[32];
    const struct fth_fleet *fleet = judgement->fleet;
    const struct fth_fleet_gpu *gpu = fth_judged_gpu(judgement, result);
    const struct fth_fleet_measurement *last = fth_last_measurement(fleet, gpu);
    const char *when = last ? fth_time_format(last->time, time) : "";
    fth_json_begin(&json, '{', true);
    put_identity(gpu, &json);
    fth_json_key(&json, "simulated");
    fth_json_bool(&json, gpu->simulated);
    fth_json_key(&json, "measurements");
    fth_json_number(&json, (double)gpu->measurement_count);
    fth_json_key(&json, "time");
    fth_json_text_or_null(&json, *when ? when : NULL);
    fth_json_key(&json, "verdict");
    fth_json_text(&json, fth_verdict_name(result->verdict));
    fth_json_key(&json, "cause");
    fth_json_text_or_null(&json, result->cause);
    fth_json_key(&json, "reason");
    fth_json_text_or_null(&json, result->reason);
    put_findings(result, &json);
    put_figures(fleet, gpu, &json);
    put_texts(fleet, last, &json);
    fth_json_end(&json, '}');
}

void fth_judgement_lines(const struct fth_fleet_judgement *judgement,
                         const struct fth_report_options *options, struct fth_buffer *out)
{
    (void)options;
    for (size_t i = 0; i < judgement->fleet->gpu_count && !out->failed; i++)
        put_line(judgement, &judgement->results[i], out);
}
