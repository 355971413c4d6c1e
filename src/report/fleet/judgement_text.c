/* Writes a judgement for the terminal: how many GPUs have which verdict, those that are not healthy
 * with their findings, groups that differ, and what could not be judged and why. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much is listed. Chosen, not derived; other formats have everything. */
enum { MAX_GPUS = 50, MAX_FINDINGS = 8, MAX_NAMES = 4, MAX_GROUPS = 20, MAX_PROBLEMS = 10 };
enum { MAX_MISSING = 20 };

void fth_figure_text(const char *figure, double number, struct fth_buffer *out)
{
    char text[40];
    if (fth_ends_with(figure, "_bytes"))
        fth_buffer_text(out, fth_size_format(number, text, sizeof text));
    else if (fth_ends_with(figure, "_bytes_per_s"))
        fth_buffer_format(out, number >= 1e12 ? "%.3f TB/s" : "%.1f GB/s",
                          number / (number >= 1e12 ? 1e12 : 1e9));
    else
        fth_buffer_text(out, fth_number_format(fth_round_digits(number, 4), text, sizeof text));
}

void fth_foreign_text(const char *before, const char *text, const char *after,
                      struct fth_buffer *out)
{
    enum { MAX_COLUMNS = 400 }; /* Chosen: several lines. */
    if (!text)
        return;
    fth_buffer_text(out, before);
    fth_text_append(out, text, MAX_COLUMNS, "...");
    fth_buffer_text(out, after);
}

/* Appends "N GPUs", "1 GPU". */
static void put_count(size_t count, const char *noun, struct fth_buffer *out)
{
    fth_buffer_format(out, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* Appends what is missing. */
static void put_missing(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *text)
{
    const size_t count = judgement->missing_count;
    const size_t listed = options->all ? count : FTH_MIN(count, (size_t)MAX_MISSING);
    if (judgement->found_gpus < judgement->expected_gpus)
        fth_buffer_format(text, "Only %zu of %zu expected GPUs were %s.\n", judgement->found_gpus,
                          judgement->expected_gpus,
                          judgement->counts_measured ? "measured" : "judged");
    for (size_t i = 0; i < listed; i++) {
        const struct fth_fleet_missing *missing = &judgement->missing[i];
        fth_buffer_text(text, i ? ", " : "Missing: ");
        fth_foreign_text("", missing->host, missing->gpu ? " " : "", text);
        fth_foreign_text("", missing->gpu, "", text);
    }
    if (listed < count)
        fth_buffer_format(text, " and %zu more", count - listed);
    fth_buffer_text(text, count ? ".\n" : "");
}

/* Appends the numbers of the verdicts that occur. */
static void put_summary(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet *fleet = judgement->fleet;
    struct fth_buffer text = {0};
    put_count(fleet->gpu_count, "GPU", &text);
    fth_buffer_text(&text, ", ");
    put_count(fleet->measurement_count, "measurement", &text);
    fth_buffer_format(&text, ": %zu healthy, %zu suspect, %zu failed, %zu not judged.\n",
                      judgement->healthy, judgement->suspect, judgement->failed,
                      judgement->not_judged);
    put_missing(judgement, options, &text);
    for (size_t i = 0; i < judgement->note_count; i++)
        fth_foreign_text("", judgement->notes[i], "\n", &text);
    fth_write_prose(&text, options, out);
}

/* ---- GPUs ---- */

/* Appends the cells of a finding: figure, value, usual value, effect. */
static void finding_cells(const struct fth_fleet_finding *finding, struct fth_buffer cells[4])
{
    fth_text_append(&cells[0], finding->figure, 60, "...");
    if (finding->text)
        fth_text_append(&cells[1], finding->text, 30, "...");
    else if (!isnan(finding->value))
        fth_figure_text(finding->figure, finding->value, &cells[1]);
    fth_buffer_text(&cells[2], finding->history ? "earlier " : "usually ");
    if (finding->usual_text)
        fth_text_append(&cells[2], finding->usual_text, 30, "...");
    else if (!isnan(finding->usual))
        fth_figure_text(finding->figure, finding->usual, &cells[2]);
    else
        cells[2].size = 0;
    if (isfinite(finding->effect))
        fth_buffer_format(&cells[3], "%+.1f %%", 100 * finding->effect);
}

/* Appends the end of the line of a finding, and its note in a line of its own, unless that is the
 * cause that was named already. */
static void end_finding(const struct fth_fleet_finding *finding, const char *cause,
                        struct fth_buffer *line)
{
    if (finding->deviating && finding->deviating < finding->measurements)
        fth_buffer_format(line, "  in %zu of %zu measurements", finding->deviating,
                          finding->measurements);
    if (!finding->worse)
        fth_buffer_text(line, "  better than usual");
    while (line->size && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
    fth_buffer_text(line, "\n");
    if (!cause || !finding->note || strcmp(cause, finding->note) != 0)
        fth_foreign_text("    ", finding->note, "\n", line);
}

/* Appends the findings of a GPU as aligned columns. A line that is too wide is broken. */
static void put_findings(const struct fth_fleet_result *result,
                         const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t count = options->all || result->finding_count <= MAX_FINDINGS
                             ? result->finding_count
                             : MAX_FINDINGS;
    struct fth_buffer(*rows)[4] = calloc(count + 1, sizeof *rows);
    size_t widths[4] = {0};
    if (!rows) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        finding_cells(&result->findings[i], rows[i]);
        for (size_t j = 0; j < 4; j++) {
            const size_t width = rows[i][j].size ? fth_text_columns(rows[i][j].data) : 0;
            widths[j] = width > widths[j] ? width : widths[j];
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct fth_buffer line = {0};
        fth_buffer_text(&line, "  ");
        for (size_t j = 0; j < 4; j++) {
            const size_t width = rows[i][j].size ? fth_text_columns(rows[i][j].data) : 0;
            fth_buffer_repeat(&line, " ", j == 3 ? widths[j] - width : 0);
            fth_buffer_text(&line, rows[i][j].size ? rows[i][j].data : "");
            fth_buffer_repeat(&line, " ", j == 3 ? 0 : widths[j] - width + 2);
            line.failed = line.failed || rows[i][j].failed;
            fth_buffer_fini(&rows[i][j]);
        }
        end_finding(&result->findings[i], result->cause, &line);
        fth_write_prose(&line, options, out);
    }
    if (count < result->finding_count)
        fth_buffer_format(out, "  and %zu more\n", result->finding_count - count);
    free(rows);
}

static void put_gpu(const struct fth_fleet_judgement *judgement,
                    const struct fth_fleet_result *result, const struct fth_report_options *options,
                    struct fth_buffer *out)
{
    static const char *const verdicts[] = {"healthy", "suspect", "failed", "not judged"};
    const struct fth_fleet_gpu *gpu = fth_judged_gpu(judgement, result);
    struct fth_buffer text = {0};
    fth_foreign_text("\n", gpu->name, "", &text);
    fth_foreign_text(" on ", gpu->host, "", &text);
    fth_foreign_text(" (", gpu->group, ")", &text);
    fth_buffer_format(&text, ": %s\n", verdicts[result->verdict]);
    fth_foreign_text("  ", result->cause, "\n", &text);
    fth_foreign_text("  ", result->reason, "\n", &text);
    fth_write_prose(&text, options, out);
    put_findings(result, options, out);
}

/* Lists GPUs: those that are suspect or failed or, with the option `all`, all. */
static void put_gpus(const struct fth_fleet_judgement *judgement,
                     const struct fth_fleet_result *const *order,
                     const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t wanted =
        options->all ? judgement->fleet->gpu_count : judgement->suspect + judgement->failed;
    struct fth_buffer note = {0};
    size_t listed = 0;
    for (; listed < wanted && (options->all || listed < MAX_GPUS); listed++)
        put_gpu(judgement, order[listed], options, out);
    if (listed < wanted)
        fth_buffer_format(
            &note, "\n%zu more GPUs are not healthy; '--all' and '--format csv' list them.\n",
            wanted - listed);
    fth_write_prose(&note, options, out);
}

/* ---- groups ---- */

static void put_groups(const struct fth_fleet_judgement *judgement,
                       const struct fth_report_options *options, struct fth_buffer *out)
{
    struct fth_buffer text = {0};
    if (!judgement->group_count)
        return;
    fth_buffer_text(&text, "\nGPUs that differ together from the others:\n");
    for (size_t i = 0; i < judgement->group_count && (options->all || i < MAX_GROUPS); i++) {
        const struct fth_fleet_group_finding *group = &judgement->groups[i];
        fth_buffer_format(&text, "  %s ", group->kind);
        fth_foreign_text("", group->name, " (", &text);
        put_count(group->gpu_count, "GPU", &text);
        fth_foreign_text("): ", group->figure, " ", &text);
        fth_figure_text(group->figure, group->value, &text);
        fth_buffer_text(&text, ", usually ");
        fth_figure_text(group->figure, group->usual, &text);
        fth_buffer_format(&text, ", %+.1f %%\n", 100 * group->effect);
    }
    if (!options->all && judgement->group_count > MAX_GROUPS)
        fth_buffer_format(&text, "  and %zu more\n", judgement->group_count - MAX_GROUPS);
    fth_write_prose(&text, options, out);
}

/* ---- what was not judged ---- */

static int by_reason(const void *a, const void *b)
{
    const struct fth_fleet_result *first = *(const struct fth_fleet_result *const *)a;
    const struct fth_fleet_result *second = *(const struct fth_fleet_result *const *)b;
    const int order =
        strcmp(first->reason ? first->reason : "", second->reason ? second->reason : "");
    return order ? order : first->gpu < second->gpu ? -1 : first->gpu > second->gpu;
}

/* Names the first GPUs from `first` on that were not judged for the same reason. Returns their
 * number. */
static size_t put_reason(const struct fth_fleet_judgement *judgement,
                         const struct fth_fleet_result *const *first, size_t count,
                         struct fth_buffer *text)
{
    const char *reason = first[0]->reason ? first[0]->reason : "";
    size_t same = 1;
    while (same < count && strcmp(first[same]->reason ? first[same]->reason : "", reason) == 0)
        same++;
    fth_buffer_text(text, "  ");
    for (size_t i = 0; i < same && i < MAX_NAMES; i++) {
        const struct fth_fleet_gpu *gpu = fth_judged_gpu(judgement, first[i]);
        fth_foreign_text(i ? ", " : "", gpu->name, "", text);
        fth_foreign_text(" on ", gpu->host, "", text);
    }
    if (same > MAX_NAMES)
        fth_buffer_format(text, " and %zu more", same - MAX_NAMES);
    fth_foreign_text(": ", *reason ? reason : "no reason is known", "\n", text);
    return same;
}

/* Lists the GPUs that were not judged, by reason. They follow the suspect ones in `order`, which
 * this function reorders. */
static void put_not_judged(const struct fth_fleet_judgement *judgement,
                           const struct fth_fleet_result **order,
                           const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet_result **first = order + judgement->suspect + judgement->failed;
    struct fth_buffer text = {0};
    if (judgement->not_judged) {
        qsort((void *)first, judgement->not_judged, sizeof(*first), by_reason);
        fth_buffer_text(&text, "\nNot judged:\n");
    }
    for (size_t i = 0; i < judgement->not_judged;)
        i += put_reason(judgement, (const struct fth_fleet_result *const *)first + i,
                        judgement->not_judged - i, &text);
    fth_write_prose(&text, options, out);
}

static void put_problems(const struct fth_fleet *fleet, const struct fth_report_options *options,
                         struct fth_buffer *out)
{
    struct fth_buffer text = {0};
    if (fleet->problem_count)
        fth_buffer_text(&text, "\nFiles with problems:\n");
    for (size_t i = 0; i < fleet->problem_count && i < MAX_PROBLEMS; i++) {
        fth_foreign_text("  ", fleet->problems[i].file, "", &text);
        fth_foreign_text(": ", fleet->problems[i].reason, "\n", &text);
    }
    if (fleet->problem_count > MAX_PROBLEMS)
        fth_buffer_format(&text, "  and %zu more\n", fleet->problem_count - MAX_PROBLEMS);
    fth_write_prose(&text, options, out);
}

void fth_judgement_text(const struct fth_fleet_judgement *judgement,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_fleet_result **order = fth_judgement_order(judgement, out);
    if (!order)
        return;
    put_summary(judgement, options, out);
    put_gpus(judgement, (const struct fth_fleet_result *const *)order, options, out);
    put_groups(judgement, options, out);
    put_not_judged(judgement, order, options, out);
    put_problems(judgement->fleet, options, out);
    fth_judgement_cohorts(judgement, options, out);
    free((void *)order);
}
