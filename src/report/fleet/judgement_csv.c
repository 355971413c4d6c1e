/* Writes a judgement as CSV: one row per finding, or in long form, one row per measurement and
 * figure. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void number_cell(struct fth_buffer *out, double number, bool last)
{
    char text[40];
    fth_csv_cell(out, isfinite(number) ? fth_number_format(number, text, sizeof text) : NULL, last);
}

/* Appends the cells that identify a GPU, at the time of a measurement unless that is NULL. */
static void gpu_cells(const struct fth_fleet_gpu *gpu,
                      const struct fth_fleet_measurement *measurement, struct fth_buffer *out)
{
    const char *host = measurement && measurement->host ? measurement->host : gpu->host;
    const char *driver = measurement && measurement->driver ? measurement->driver : gpu->driver;
    const char *const cells[] = {gpu->name, host, gpu->group, gpu->model, driver};
    for (size_t i = 0; i < FTH_COUNT(cells); i++)
        fth_csv_cell(out, cells[i], false);
}

/* ---- findings ---- */

/* Appends a value of a finding: a number, or a text. */
static void value_cell(double number, const char *text, struct fth_buffer *out)
{
    if (text)
        fth_csv_cell(out, text, false);
    else
        number_cell(out, number, false);
}

static void finding_cells(const struct fth_fleet_finding *finding, struct fth_buffer *out)
{
    fth_csv_cell(out, finding->figure, false);
    fth_csv_cell(out, fth_fleet_kind_name(finding->kind), false);
    value_cell(finding->value, finding->text, out);
    value_cell(fth_round_digits(finding->usual, 7), finding->usual_text, out);
    number_cell(out, fth_round_digits(finding->effect, 5), false);
    fth_csv_cell(out, finding->worse ? "yes" : "no", false);
    number_cell(out, fth_round_digits(finding->distance, 5), false);
    number_cell(out, fth_round_digits(finding->p, 5), false);
    number_cell(out, (double)finding->measurements, false);
    number_cell(out, (double)finding->deviating, false);
    fth_csv_cell(out, finding->severe ? "yes" : "no", true);
}

/* Appends the rows of a GPU. One without findings, which was not judged, has one row. */
static void result_rows(const struct fth_fleet_judgement *judgement,
                        const struct fth_fleet_result *result, struct fth_buffer *out)
{
    struct fth_buffer begin = {0};
    gpu_cells(fth_judged_gpu(judgement, result), NULL, &begin);
    fth_csv_cell(&begin, fth_verdict_name(result->verdict), false);
    fth_csv_cell(&begin, result->reason ? result->reason : result->cause, false);
    for (size_t i = 0; i < result->finding_count; i++) {
        fth_buffer_append(out, begin.data ? begin.data : "", begin.size);
        finding_cells(&result->findings[i], out);
    }
    if (!result->finding_count) {
        fth_buffer_append(out, begin.data ? begin.data : "", begin.size);
        fth_buffer_text(out, ",,,,,,,,,,\n");
    }
    out->failed = out->failed || begin.failed;
    fth_buffer_fini(&begin);
}

void fth_judgement_csv(const struct fth_fleet_judgement *judgement,
                       const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet_result **order = fth_judgement_order(judgement, out);
    fth_buffer_text(out, "gpu,host,group,model,driver,verdict,cause,figure,kind,value,usual,effect,"
                         "worse,distance,p,measurements,deviating,severe\n");
    for (size_t i = 0; order && i < judgement->fleet->gpu_count && !out->failed; i++)
        if (options->all || order[i]->verdict != FTH_FLEET_HEALTHY)
            result_rows(judgement, order[i], out);
    free((void *)order);
}

/* ---- long form ---- */

/* Appends the rows of a measurement. `begin` has the cells that identify the GPU and the time. */
static void measurement_rows(const struct fth_fleet *fleet,
                             const struct fth_fleet_measurement *measurement,
                             const struct fth_buffer *begin, struct fth_buffer *out)
{
    char number[40];
    for (size_t i = 0; i < measurement->value_count; i++) {
        const struct fth_fleet_value *value = &measurement->values[i];
        fth_buffer_append(out, begin->data ? begin->data : "", begin->size);
        fth_csv_cell(out, fleet->figures[value->figure].name, false);
        if (isfinite(value->number)) {
            fth_buffer_text(out, fth_number_format(value->number, number, sizeof number));
            fth_buffer_text(out, ",\n");
        } else {
            fth_buffer_text(out, ",");
            fth_csv_cell(out, value->text, true);
        }
    }
}

void fth_judgement_long(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet *fleet = judgement->fleet;
    char time[32];
    (void)options;
    fth_buffer_text(out, "gpu,host,group,model,driver,verdict,time,figure,value,text\n");
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        for (size_t j = 0; j < gpu->measurement_count && !out->failed; j++) {
            const struct fth_fleet_measurement *measurement =
                &fleet->measurements[fleet->by_gpu[gpu->first_measurement + j]];
            struct fth_buffer begin = {0};
            gpu_cells(gpu, measurement, &begin);
            fth_csv_cell(&begin, fth_verdict_name(judgement->results[i].verdict), false);
            fth_csv_cell(&begin, fth_time_format(measurement->time, time), false);
            measurement_rows(fleet, measurement, &begin, out);
            out->failed = out->failed || begin.failed;
            fth_buffer_fini(&begin);
        }
    }
}
