/* Writes the result of replaying a capsule: one row per launch, one per kernel, one per parameter.
 */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fth_column launch_columns[] = {
    {"launch", "Launch", FTH_COLUMN_NUMBER}, {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"grid", "Grid", FTH_COLUMN_NUMBERS},    {"block", "Block", FTH_COLUMN_NUMBERS},
    {"result", "Result", FTH_COLUMN_TEXT},   {"reason", "Reason", FTH_COLUMN_TEXT},
};
static const struct fth_column kernel_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"launches", "Launches", FTH_COLUMN_NUMBER},
    {"exact", "Exact", FTH_COLUMN_NUMBER},
    {"differs", "Differs", FTH_COLUMN_NUMBER},
    {"not_compared", "Not compared", FTH_COLUMN_NUMBER},
    {"failed", "Failed", FTH_COLUMN_NUMBER},
    {"skipped", "Skipped", FTH_COLUMN_NUMBER},
    {"reason", "Reason", FTH_COLUMN_TEXT},
};

static const struct fth_column parameter_columns[] = {
    {"launch", "Launch", FTH_COLUMN_NUMBER}, {"parameter", "Parameter", FTH_COLUMN_NUMBER},
    {"offset", "Offset", FTH_COLUMN_NUMBER}, {"name", "Name", FTH_COLUMN_TEXT},
    {"type", "Type", FTH_COLUMN_TEXT},       {"value", "Value", FTH_COLUMN_TEXT},
    {"memory", "Memory", FTH_COLUMN_TEXT},
};

static const char lacks_data[] = "its addresses or its control flow depend on data that the "
                                 "capsule does not contain";

/* Returns the reason of a launch, or NULL. */
static const char *reason_of(const struct fth_replay_launch *launch)
{
    return launch->reason[0] ? launch->reason : launch->lacks_data ? lacks_data : NULL;
}

/* Adds three numbers as one cell. */
static void put_shape(struct fth_cells *cells, const uint32_t shape[3])
{
    char text[48];
    snprintf(text, sizeof text, "%u %u %u", (unsigned)shape[0], (unsigned)shape[1],
             (unsigned)shape[2]);
    const char *kept = fth_arena_text(&cells->arena, text);
    cells->failed = cells->failed || !kept;
    fth_cells_put_text(cells, kept);
}

static struct fth_table launch_table(const struct fth_replay *replay, struct fth_cells *cells)
{
    const size_t count = fth_replay_launch_count(replay);
    for (size_t i = 0; i < count; i++) {
        const struct fth_replay_launch *launch = fth_replay_launch_at(replay, i);
        fth_cells_put(cells, NULL, (double)launch->number);
        fth_cells_put_text(cells, launch->kernel);
        put_shape(cells, launch->grid);
        put_shape(cells, launch->block);
        fth_cells_put_text(cells, fth_replay_outcome_name(launch->outcome));
        fth_cells_put_text(cells, reason_of(launch));
    }
    return (struct fth_table){launch_columns, FTH_COUNT(launch_columns), cells->items, count};
}

/* Writes one row per parameter of the launches, and of each member of a struct. */
static struct fth_table parameter_table(const struct fth_replay *replay, struct fth_cells *cells)
{
    const struct fth_replay_launch *launch;
    size_t rows = 0;
    for (size_t i = 0; (launch = fth_replay_launch_at(replay, i)); i++)
        for (size_t k = 0; k < launch->parameter_count; k++, rows++) {
            const struct fth_replay_parameter *parameter = fth_replay_parameter_at(launch, k);
            fth_cells_put(cells, NULL, (double)launch->number);
            fth_cells_put(cells, NULL, (double)parameter->number);
            fth_cells_put(cells, NULL, (double)parameter->offset);
            fth_cells_put_text(cells, parameter->name);
            fth_cells_put_text(cells, parameter->type);
            fth_cells_put_text(cells, parameter->value);
            fth_cells_put_text(cells, parameter->memory);
        }
    return (struct fth_table){parameter_columns, FTH_COUNT(parameter_columns), cells->items, rows};
}

/* ---- kernels ---- */

static int compare_kernels(const void *a, const void *b)
{
    const struct fth_replay_launch *const *left = a, *const *right = b;
    const int order = strcmp((*left)->kernel, (*right)->kernel);
    return order ? order
                 : ((*left)->number > (*right)->number) - ((*left)->number < (*right)->number);
}

/* Adds the row of a kernel with these launches. The reason is the first one. */
static void put_kernel(struct fth_cells *cells, const struct fth_replay_launch *const *launches,
                       size_t count)
{
    double outcomes[FTH_REPLAY_FAILED + 1] = {0};
    const char *reason = NULL;
    for (size_t i = 0; i < count; i++) {
        outcomes[launches[i]->outcome]++;
        reason = reason ? reason : reason_of(launches[i]);
    }
    fth_cells_put_text(cells, launches[0]->kernel);
    fth_cells_put(cells, NULL, (double)count);
    fth_cells_put(cells, NULL, outcomes[FTH_REPLAY_EXACT]);
    fth_cells_put(cells, NULL, outcomes[FTH_REPLAY_DIFFERS]);
    fth_cells_put(cells, NULL, outcomes[FTH_REPLAY_RAN] + outcomes[FTH_REPLAY_NOT_VERIFIED]);
    fth_cells_put(cells, NULL, outcomes[FTH_REPLAY_FAILED]);
    fth_cells_put(cells, NULL, outcomes[FTH_REPLAY_SKIPPED]);
    fth_cells_put_text(cells, reason);
}

/* The launches of a kernel: `count` elements of a sorted list. */
struct group {
    const struct fth_replay_launch *const *launches;
    size_t count;
};

static int compare_groups(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    const uint64_t first = left->launches[0]->number, second = right->launches[0]->number;
    return (first > second) - (first < second);
}

/* Writes one row per kernel, in the order of their first launches. */
static struct fth_table kernel_table(const struct fth_replay *replay, struct fth_cells *cells)
{
    const size_t count = fth_replay_launch_count(replay);
    struct fth_table table = {kernel_columns, FTH_COUNT(kernel_columns), NULL, 0};
    const struct fth_replay_launch **launches = calloc(count + 1, sizeof *launches);
    struct group *groups = calloc(count + 1, sizeof *groups);
    cells->failed = cells->failed || !launches || !groups;
    for (size_t i = 0; i < count && !cells->failed; i++)
        launches[i] = fth_replay_launch_at(replay, i);
    if (!cells->failed)
        qsort(launches, count, sizeof *launches, compare_kernels);
    for (size_t i = 0; i < count && !cells->failed; i++) {
        if (i == 0 || strcmp(launches[i]->kernel, launches[i - 1]->kernel) != 0)
            groups[table.row_count++].launches = launches + i;
        groups[table.row_count - 1].count++;
    }
    if (!cells->failed)
        qsort(groups, table.row_count, sizeof *groups, compare_groups);
    for (size_t i = 0; i < table.row_count && !cells->failed; i++)
        put_kernel(cells, groups[i].launches, groups[i].count);
    free(launches);
    free(groups);
    table.cells = cells->items;
    return table;
}

/* ---- formats ---- */

static void write_json(const struct fth_replay *replay, const struct fth_table *launches,
                       const struct fth_table *kernels, const struct fth_table *parameters,
                       struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-replay/1");
    if (fth_replay_truncated(replay)) {
        fth_json_key(&json, "truncated");
        fth_json_text(&json, fth_replay_truncated(replay));
    }
    fth_json_key(&json, "kernels");
    fth_json_table(&json, kernels);
    fth_json_key(&json, "launches");
    fth_json_table(&json, launches);
    if (parameters->row_count) {
        fth_json_key(&json, "parameters");
        fth_json_table(&json, parameters);
    }
    fth_json_end(&json, '}');
}

enum fth_status fth_report_replay(const char *format, const struct fth_replay *replay,
                                  const struct fth_report_options *given, char **text, size_t *size,
                                  struct fth_error *error)
{
    struct fth_report_options options;
    struct fth_cells launch_cells = {0}, kernel_cells = {0}, parameter_cells = {0};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", given, &options, sizeof options, error));
    FTH_TRY(fth_report_check(format, FTH_REPORT_TABLE, error));
    const struct fth_table launches = launch_table(replay, &launch_cells);
    const struct fth_table kernels = kernel_table(replay, &kernel_cells);
    const struct fth_table parameters = parameter_table(replay, &parameter_cells);
    enum fth_status status = launch_cells.failed || kernel_cells.failed || parameter_cells.failed
                                 ? fth_no_memory(error, "write report", NULL)
                                 : FTH_OK;
    if (status == FTH_OK && strcmp(format, "csv") == 0)
        status = fth_report_table(format, &launches, &options, text, size, error);
    else if (status == FTH_OK) {
        if (strcmp(format, "json") == 0) {
            write_json(replay, &launches, &kernels, &parameters, &out);
        } else {
            fth_text_table(&launches, &options, &out);
            fth_buffer_text(&out, "\n");
            fth_text_table(&kernels, &options, &out);
            if (parameters.row_count) {
                fth_buffer_text(&out, "\n");
                fth_text_table(&parameters, &options, &out);
            }
        }
        status = fth_buffer_take(&out, text, size, error);
    }
    fth_buffer_fini(&out);
    fth_cells_fini(&launch_cells);
    fth_cells_fini(&kernel_cells);
    fth_cells_fini(&parameter_cells);
    return status;
}
