/* Writes the usual figures of each cohort for the terminal, with what can be detected in them, and
 * the figures that could not be judged. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cohorts and figures that are shown without the option `all`. Chosen. */
enum { MAX_COHORTS = 8, MAX_REASON_FIGURES = 6 };

/* The main figures, in this order; others are shown with the option `all`. */
static const char *const main_figures[] = {
    "memory.read_bytes_per_s", "memory.write_bytes_per_s",   "memory.copy_bytes_per_s",
    "memory.latency_cycles",   "l2.read_bytes_per_s",        "l2.write_bytes_per_s",
    "l2.latency_cycles",       "l1.read_bytes_per_s",        "l1.latency_cycles",
    "shared.read_bytes_per_s", "tlb_l1.miss_penalty_cycles", "device.loaded_clock_mhz",
};

static bool is_number(const struct fth_fleet_figure_summary *figure)
{
    return figure->kind == FTH_FLEET_RATE || figure->kind == FTH_FLEET_TIME;
}

static const struct fth_fleet_figure_summary *find(const struct fth_fleet_cohort_summary *cohort,
                                                   const char *name)
{
    for (size_t i = 0; i < cohort->figure_count; i++)
        if (strcmp(cohort->figures[i].name, name) == 0)
            return &cohort->figures[i];
    return NULL;
}

/* Returns a text of the arena of the cells, and frees the buffer. */
static const char *keep(struct fth_cells *cells, struct fth_buffer *text)
{
    const char *kept = fth_arena_text(&cells->arena, text->data ? text->data : "");
    cells->failed = cells->failed || text->failed || !kept;
    fth_buffer_fini(text);
    return kept;
}

/* Appends a cell with a fraction in percent. */
static void percent_cell(struct fth_cells *cells, double fraction)
{
    struct fth_buffer text = {0};
    if (fraction >= 10)
        fth_buffer_text(&text, ">1000");
    else if (isfinite(fraction))
        fth_buffer_format(&text, "%.2f", 100 * fraction);
    fth_cells_put_text(cells, text.data ? keep(cells, &text) : NULL);
}

static void figure_row(struct fth_cells *cells, const struct fth_fleet_figure_summary *figure)
{
    struct fth_buffer median = {0};
    fth_cells_put_text(cells, figure->name);
    fth_cells_put(cells, NULL, (double)figure->gpu_count);
    if (isfinite(figure->median))
        fth_figure_text(figure->name, figure->median, &median);
    fth_cells_put_text(cells, median.data ? keep(cells, &median) : NULL);
    percent_cell(cells, figure->spread);
    percent_cell(cells, figure->noise);
    percent_cell(cells, figure->detectable);
}

/* Appends the table of the figures of a cohort that are numbers. */
static void put_figures(const struct fth_fleet_cohort_summary *cohort,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    static const struct fth_column columns[] = {
        {"figure", "Figure", FTH_COLUMN_TEXT},   {"gpus", "GPUs", FTH_COLUMN_NUMBER},
        {"median", "Median", FTH_COLUMN_REMARK}, {"spread", "Spread %", FTH_COLUMN_REMARK},
        {"noise", "Noise %", FTH_COLUMN_REMARK}, {"detectable", "Detectable %", FTH_COLUMN_REMARK}};
    static const char *const drop[] = {"noise", "gpus", NULL};
    struct fth_cells cells = {0};
    for (size_t i = 0; i < FTH_COUNT(main_figures) && !options->all; i++) {
        const struct fth_fleet_figure_summary *figure = find(cohort, main_figures[i]);
        if (figure && is_number(figure))
            figure_row(&cells, figure);
    }
    for (size_t i = 0; i < cohort->figure_count && options->all; i++)
        if (is_number(&cohort->figures[i]))
            figure_row(&cells, &cohort->figures[i]);
    const struct fth_table table = {columns, FTH_COUNT(columns), cells.items,
                                    cells.count / FTH_COUNT(columns)};
    if (table.row_count && !cells.failed)
        fth_text_table_fit(&table, drop, options, out);
    out->failed = out->failed || cells.failed;
    fth_cells_fini(&cells);
}

/* Names the figures of a cohort that were not judged, those with the same reason together. */
static void put_reasons(const struct fth_fleet_cohort_summary *cohort,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    struct fth_buffer text = {0};
    for (size_t i = 0; i < cohort->figure_count; i++) {
        const char *reason = cohort->figures[i].reason;
        size_t count = 0;
        bool named = !reason;
        for (size_t j = 0; j < i && !named; j++)
            named = cohort->figures[j].reason && strcmp(cohort->figures[j].reason, reason) == 0;
        if (named)
            continue;
        fth_buffer_text(&text, "Not judged: ");
        for (size_t j = i; j < cohort->figure_count; j++) {
            if (!cohort->figures[j].reason || strcmp(cohort->figures[j].reason, reason) != 0)
                continue;
            if (options->all || count < MAX_REASON_FIGURES)
                fth_foreign_text(count ? ", " : "", cohort->figures[j].name, "", &text);
            count++;
        }
        if (!options->all && count > MAX_REASON_FIGURES)
            fth_buffer_format(&text, " and %zu more", count - MAX_REASON_FIGURES);
        fth_foreign_text(": ", reason, "\n", &text);
    }
    fth_write_prose(&text, options, out);
}

static void put_cohort(const struct fth_fleet_cohort_summary *cohort,
                       const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet_cohort *of = &cohort->cohort;
    struct fth_buffer head = {0};
    fth_foreign_text("\n", of->model ? of->model : "unknown model", "", &head);
    if (of->simulated)
        fth_buffer_text(&head, ", simulated");
    else if (of->backend && strcmp(of->backend, "cuda") != 0)
        fth_foreign_text(", ", of->backend, "", &head);
    fth_foreign_text(", driver ", of->driver, "", &head);
    fth_foreign_text(", board ", of->board, "", &head);
    fth_buffer_format(&head, ": %zu GPU%s, %zu measurement%s\n", of->gpu_count,
                      of->gpu_count == 1 ? "" : "s", cohort->measurement_count,
                      cohort->measurement_count == 1 ? "" : "s");
    /* The list of GPUs that were not judged already has the reason. */
    if (cohort->not_judged == 0)
        fth_foreign_text("Not judged: ", cohort->reason, "\n", &head);
    fth_write_prose(&head, options, out);
    if (cohort->reason)
        return;
    put_figures(cohort, options, out);
    put_reasons(cohort, options, out);
}

void fth_judgement_cohorts(const struct fth_fleet_judgement *judgement,
                           const struct fth_report_options *options, struct fth_buffer *out)
{
    struct fth_buffer note = {0};
    size_t shown = 0;
    for (; shown < judgement->cohort_count && (options->all || shown < MAX_COHORTS); shown++)
        put_cohort(&judgement->cohorts[shown], options, out);
    if (shown < judgement->cohort_count)
        fth_buffer_format(&note,
                          "\n%zu more combinations of model, driver and board are shown with "
                          "--all.\n",
                          judgement->cohort_count - shown);
    fth_write_prose(&note, options, out);
}
