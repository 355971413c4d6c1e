/* Finds the writer of a format of judgements by its name, and has the parts that several writers
 * use. */
#include "report/fleet/judgement.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"text", "json", "csv", "long", "jsonl", "prometheus"};
static fth_judgement_writer *const writers[FTH_COUNT(formats)] = {
    fth_judgement_text, fth_judgement_json,  fth_judgement_csv,
    fth_judgement_long, fth_judgement_lines, fth_judgement_prometheus};

const char *fth_report_judgement_format(size_t index)
{
    return index < FTH_COUNT(formats) ? formats[index] : NULL;
}

enum fth_status fth_judgement_check(const char *format, struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        if (strcmp(formats[i], format) == 0)
            return FTH_OK;
    return fth_format_unknown(format, formats, FTH_COUNT(formats), error);
}

enum fth_status fth_report_judgement(const char *format,
                                     const struct fth_fleet_judgement *judgement,
                                     const struct fth_report_options *options, char **text,
                                     size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    FTH_TRY(fth_judgement_check(format, error));
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        if (strcmp(formats[i], format) == 0)
            writers[i](judgement, &known, &out);
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}

const char *fth_verdict_name(enum fth_fleet_verdict verdict)
{
    static const char *const names[] = {"healthy", "suspect", "failed", "not_judged"};
    return names[verdict];
}

const struct fth_fleet_gpu *fth_judged_gpu(const struct fth_fleet_judgement *judgement,
                                           const struct fth_fleet_result *result)
{
    return &judgement->fleet->gpus[result->gpu];
}

/* Returns the position of a verdict in the order: the worst first. */
static int rank(enum fth_fleet_verdict verdict)
{
    static const int ranks[] = {3, 1, 0, 2};
    return ranks[verdict];
}

/* Returns how probable the most important finding is; exact figures have no probability. */
static double probability(const struct fth_fleet_result *result)
{
    if (!result->finding_count)
        return 1;
    return isnan(result->findings[0].p) ? 0 : result->findings[0].p;
}

static int by_severity(const void *a, const void *b)
{
    const struct fth_fleet_result *first = *(const struct fth_fleet_result *const *)a;
    const struct fth_fleet_result *second = *(const struct fth_fleet_result *const *)b;
    const int ranks[] = {rank(first->verdict), rank(second->verdict)};
    const double p[] = {probability(first), probability(second)};
    if (ranks[0] != ranks[1])
        return ranks[0] - ranks[1];
    if (p[0] != p[1])
        return p[0] < p[1] ? -1 : 1;
    return first->gpu < second->gpu ? -1 : first->gpu > second->gpu;
}

const struct fth_fleet_result **fth_judgement_order(const struct fth_fleet_judgement *judgement,
                                                    struct fth_buffer *out)
{
    const size_t count = judgement->fleet->gpu_count;
    const struct fth_fleet_result **order = calloc(count + 1, sizeof(*order));
    if (!order) {
        out->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = &judgement->results[i];
    qsort((void *)order, count, sizeof(*order), by_severity);
    return order;
}

const struct fth_fleet_measurement *fth_last_measurement(const struct fth_fleet *fleet,
                                                         const struct fth_fleet_gpu *gpu)
{
    if (!gpu->measurement_count)
        return NULL;
    const size_t last = gpu->first_measurement + gpu->measurement_count - 1;
    return &fleet->measurements[fleet->by_gpu[last]];
}

const struct fth_fleet_figure_summary *fth_judged_figure(
    const struct fth_fleet_judgement *judgement, const struct fth_fleet_gpu *gpu, const char *name)
{
    if (gpu->cohort >= judgement->cohort_count)
        return NULL;
    const struct fth_fleet_cohort_summary *cohort = &judgement->cohorts[gpu->cohort];
    for (size_t i = 0; i < cohort->figure_count; i++)
        if (strcmp(cohort->figures[i].name, name) == 0)
            return &cohort->figures[i];
    return NULL;
}

const char *fth_time_format(int64_t seconds, char text[32])
{
    text[0] = '\0';
    if (seconds)
        fth_time_write(seconds, text);
    return text;
}

double fth_round_digits(double number, int digits)
{
    char text[40];
    if (!isfinite(number) || (number == rint(number) && fabs(number) <= FTH_JSON_MAX_NUMBER))
        return number;
    fth_format(text, sizeof text, "%.*g", digits, number);
    return fth_strtod(text, NULL);
}

void fth_json_text_or_null(struct fth_json_writer *json, const char *text)
{
    if (!text) {
        fth_json_null(json);
        return;
    }
    if (fth_utf8_is_valid(text)) {
        fth_json_text(json, text);
        return;
    }
    char *copy = strdup(text);
    if (copy) {
        fth_make_printable(copy);
        fth_json_text(json, copy);
    }
    json->out->failed = json->out->failed || !copy;
    free(copy);
}
