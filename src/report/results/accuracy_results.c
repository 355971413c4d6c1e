/* Shows how far predictions of the model are from the counters of a GPU: for each kernel the
 * figures that both have, and the mean error of each figure over all kernels. */
#include "profile/profile.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };

/* All that a comparison consists of. */
struct accuracy {
    struct fth_profile gpu, model;
    struct fth_profile_comparison comparison;
    char *gpu_name; /* that the predictions are for; NULL: unknown */
};

static void accuracy_fini(struct accuracy *accuracy)
{
    fth_profile_comparison_fini(&accuracy->comparison);
    fth_profile_fini(&accuracy->gpu);
    fth_profile_fini(&accuracy->model);
    free(accuracy->gpu_name);
}

const char *fth_accuracy_metrics(void)
{
    return fth_ncu_metrics();
}

bool fth_is_model_result(const char *path)
{
    struct fth_profile profile = {0};
    char *gpu = NULL;
    /* Standard input can be read only once; it is then never recognised. */
    const bool is = strcmp(path, "-") != 0 && fth_file_is_regular(path) &&
                    fth_model_totals_read(path, &profile, &gpu, NULL) == FTH_OK;
    fth_profile_fini(&profile);
    free(gpu);
    return is;
}

/* ---- JSON ---- */

static void put_number(struct fth_json_writer *json, const char *key, double number)
{
    fth_json_key(json, key);
    fth_json_number(json, number);
}

static void put_pair(struct fth_json_writer *json, const struct fth_profile_pair *pair)
{
    fth_json_key(json, pair->figure->key);
    fth_json_begin(json, '{', true);
    put_number(json, "measured", pair->measured);
    put_number(json, "predicted", pair->predicted);
    put_number(json, pair->figure->is_ratio ? "error_points" : "error_percent", pair->error);
    fth_json_key(json, "in_mean");
    fth_json_bool(json, pair->counts);
    fth_json_end(json, '}');
}

static void put_kernels(struct fth_json_writer *json,
                        const struct fth_profile_comparison *comparison)
{
    fth_json_key(json, "kernels");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < comparison->count;) {
        const struct fth_profile_pair *first = &comparison->pairs[i];
        fth_json_begin(json, '{', false);
        fth_json_key(json, "kernel");
        fth_json_kernel(json, first->model->name);
        put_number(json, "measured_launches", (double)first->gpu->launches);
        put_number(json, "predicted_launches", (double)first->model->launches);
        fth_json_key(json, "figures");
        fth_json_begin(json, '{', false);
        for (; i < comparison->count && comparison->pairs[i].gpu == first->gpu; i++)
            put_pair(json, &comparison->pairs[i]);
        fth_json_end(json, '}');
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void put_errors(struct fth_json_writer *json,
                       const struct fth_profile_comparison *comparison)
{
    fth_json_key(json, "errors");
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < fth_profile_figure_count; i++) {
        const struct fth_profile_error *error = &comparison->errors[i];
        if (!error->kernels)
            continue;
        const bool is_ratio = fth_profile_figures[i].is_ratio;
        fth_json_key(json, fth_profile_figures[i].key);
        fth_json_begin(json, '{', true);
        put_number(json, "kernels", (double)error->kernels);
        put_number(json, is_ratio ? "mean_points" : "mean_percent", error->mean);
        put_number(json, is_ratio ? "maximum_points" : "maximum_percent", error->maximum);
        fth_json_end(json, '}');
    }
    fth_json_end(json, '}');
}

static void put_json(const struct accuracy *accuracy, struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-accuracy/1");
    if (accuracy->gpu_name) {
        fth_json_key(&json, "gpu");
        fth_json_text(&json, accuracy->gpu_name);
    }
    put_kernels(&json, &accuracy->comparison);
    put_errors(&json, &accuracy->comparison);
    fth_json_key(&json, "not_predicted");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < accuracy->comparison.unpaired_count; i++)
        fth_json_text(&json, accuracy->comparison.unpaired[i]->name);
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
}

/* ---- text and CSV ---- */

/* Rounds a figure as the text format shows it: ratios and times with two digits, others whole. */
static double rounded(const struct fth_profile_pair *pair, double value)
{
    const bool whole = !pair->figure->is_ratio && pair->figure->value != FTH_PROFILE_TIME_US;
    return whole ? round(value) : round(100 * value) / 100;
}

static void fill_row(struct fth_cell *row, const struct fth_profile_pair *pair, bool is_text)
{
    row[0].text = pair->model->name;
    row[1].text = is_text ? pair->figure->head : pair->figure->key;
    row[2].number = is_text ? rounded(pair, pair->measured) : pair->measured;
    row[3].number = is_text ? rounded(pair, pair->predicted) : pair->predicted;
    row[4].number = is_text ? round(100 * pair->error) / 100 : pair->error;
    row[5].text = pair->figure->is_ratio ? "points" : "%";
}

static enum fth_status put_table(const char *format, const struct fth_report_options *options,
                                 const struct fth_profile_comparison *comparison,
                                 struct fth_buffer *out, struct fth_error *error)
{
    static const struct fth_column columns[COLUMNS] = {
        {"kernel", "Kernel", FTH_COLUMN_KERNEL}, {"figure", "Figure", FTH_COLUMN_TEXT},
        {"measured", "GPU", FTH_COLUMN_NUMBER},  {"predicted", "Model", FTH_COLUMN_NUMBER},
        {"error", "Error", FTH_COLUMN_NUMBER},   {"error_unit", "", FTH_COLUMN_TEXT},
    };
    struct fth_cell *cells = calloc(comparison->count + 1, COLUMNS * sizeof *cells);
    char *text = NULL;
    size_t size = 0;
    if (!cells)
        return fth_no_memory(error, "compare counters", NULL);
    for (size_t i = 0; i < comparison->count; i++)
        fill_row(&cells[COLUMNS * i], &comparison->pairs[i], strcmp(format, "text") == 0);
    const struct fth_table table = {columns, COLUMNS, cells, comparison->count};
    enum fth_status status = fth_report_table(format, &table, options, &text, &size, error);
    if (status == FTH_OK)
        fth_buffer_append(out, text, size);
    fth_free(text);
    free(cells);
    return status;
}

/* Appends the name of a kernel and, below it, a note. Names of kernels of libraries can have
 * thousands of characters. */
static void put_note(const char *kernel, const char *note, struct fth_buffer *out)
{
    enum { NAME_COLUMNS = 79, NOTE_COLUMNS = 80 }; /* a colon follows the name */
    char name[FTH_NAME_BYTES];
    fth_demangle(kernel, FTH_NAME_SHORT, name, sizeof name);
    fth_text_append(out, name, NAME_COLUMNS, "...");
    fth_buffer_text(out, ":\n");
    fth_text_wrap(out, "  ", note, NOTE_COLUMNS);
}

/* Says which kernels were only partly measured or predicted. */
static void put_notes(const struct fth_profile_comparison *comparison, struct fth_buffer *out)
{
    const struct fth_profile_kernel *last = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct fth_profile_pair *pair = &comparison->pairs[i];
        if (pair->gpu != last && pair->gpu->launches != pair->model->launches) {
            char note[160];
            fth_format(note, sizeof note,
                       "the profile has %llu launches, the prediction %llu; numbers are means per "
                       "launch.",
                       (unsigned long long)pair->gpu->launches,
                       (unsigned long long)pair->model->launches);
            put_note(pair->model->name, note, out);
        }
        last = pair->gpu;
    }
    for (size_t i = 0; i < comparison->unpaired_count; i++)
        put_note(comparison->unpaired[i]->name,
                 "not compared, because its counters were not predicted.", out);
}

static void put_summary(const struct fth_profile_comparison *comparison, struct fth_buffer *out)
{
    fth_buffer_text(out, "\nMean error (maximum) of kernels with at least 10,000 sectors:\n");
    bool any = false;
    for (size_t i = 0; i < fth_profile_figure_count; i++) {
        const struct fth_profile_error *error = &comparison->errors[i];
        if (!error->kernels)
            continue;
        any = true;
        fth_buffer_format(out, "  %-17s %6.2f (%.2f) %s, %zu kernel%s\n",
                          fth_profile_figures[i].head, error->mean, error->maximum,
                          fth_profile_figures[i].is_ratio ? "points" : "%", error->kernels,
                          error->kernels == 1 ? "" : "s");
    }
    if (!any)
        fth_buffer_text(out, "  there is no such kernel\n");
}

/* ---- entry point ---- */

static enum fth_status read_files(struct accuracy *accuracy, const char *model_path,
                                  const char *counters_path, struct fth_error *error)
{
    FTH_TRY(fth_model_totals_read(model_path, &accuracy->model, &accuracy->gpu_name, error));
    FTH_TRY(fth_ncu_read(counters_path, &accuracy->gpu, error));
    return fth_profile_compare(&accuracy->gpu, &accuracy->model, &accuracy->comparison, error);
}

static size_t count_beyond(const struct fth_profile_comparison *comparison, double within)
{
    size_t beyond = 0;
    for (size_t i = 0; i < comparison->count; i++)
        beyond += comparison->pairs[i].counts && fabs(comparison->pairs[i].error) > within;
    return within > 0 ? beyond : 0;
}

enum fth_status fth_report_accuracy(const char *format, const struct fth_accuracy_options *options,
                                    const char *model_path, const char *counters_path, char **text,
                                    size_t *size, size_t *beyond, struct fth_error *error)
{
    struct fth_accuracy_options known;
    struct accuracy accuracy = {0};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    *beyond = 0;
    FTH_TRY(fth_options_read("fth_accuracy_options", options, &known, sizeof known, error));
    FTH_TRY(fth_report_check(format, FTH_REPORT_TABLE, error));
    enum fth_status status = read_files(&accuracy, model_path, counters_path, error);
    if (status == FTH_OK && strcmp(format, "json") == 0)
        put_json(&accuracy, &out);
    else if (status == FTH_OK)
        status = put_table(format, known.report, &accuracy.comparison, &out, error);
    if (status == FTH_OK && strcmp(format, "text") == 0) {
        put_summary(&accuracy.comparison, &out);
        put_notes(&accuracy.comparison, &out);
    }
    if (status == FTH_OK) {
        *beyond = count_beyond(&accuracy.comparison, known.within);
        status = fth_buffer_take(&out, text, size, error);
    }
    fth_buffer_fini(&out);
    accuracy_fini(&accuracy);
    return status;
}
