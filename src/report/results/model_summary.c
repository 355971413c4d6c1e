/* Writes a summary of the results of the cache model: an overview with one row per kernel or
 * launch, and for the kernels that take longest, the figures of each level of the memory system. */
#include "report/results/model_figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of kernels that are shown in detail. Chosen: they fill two or three screens. */
enum { MAX_DETAILS = 5 };

/* ---- overview ---- */

static const struct fth_column overview_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"launches", "Launches", FTH_COLUMN_NUMBER},
    {"requested_bytes", "Requested", FTH_COLUMN_BYTES},
    {"moved_l1_bytes", "L1", FTH_COLUMN_BYTES},
    {"moved_l2_bytes", "L2", FTH_COLUMN_BYTES},
    {"moved_memory_bytes", "Memory", FTH_COLUMN_BYTES},
    {"l1_efficiency_percent", "Used %", FTH_COLUMN_NUMBER},
    {"l1_read_hit_percent", "L1 rd hit%", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent", "L2 rd hit%", FTH_COLUMN_NUMBER},
    {"l2_write_hit_percent", "L2 wr hit%", FTH_COLUMN_NUMBER},
    {"time_floor_us", "Floor us", FTH_COLUMN_NUMBER},
    {"time_us", "Time us", FTH_COLUMN_NUMBER},
    {"bottleneck", "Bottleneck", FTH_COLUMN_TEXT},
};
/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const overview_drop[] = {
    "l2_write_hit_percent", "l2_read_hit_percent", "l1_read_hit_percent", "launches",
    "time_floor_us",        "requested_bytes",     "moved_l1_bytes",      NULL};

static void put_overview(struct fth_cells *cells, const struct fth_model_row *row,
                         const struct fth_model_params *params, bool launches)
{
    struct fth_model_traffic traffic;
    struct fth_model_floors floors;
    enum fth_model_limit limit;
    fth_model_traffic(row, params, &traffic);
    fth_model_floors(row, params, &floors);
    const uint64_t requested = fth_figure_sum(row->demand.requested_bytes);
    fth_cells_put_text(cells, row->kernel);
    fth_cells_put(cells, NULL, (double)(launches ? fth_figure_launch_number(row) : row->launches));
    fth_cells_put(cells, NULL, requested ? (double)requested : (double)NAN);
    fth_cells_put(cells, NULL, (double)traffic.l1_bytes);
    fth_cells_put(cells, NULL, (double)traffic.l2_bytes);
    fth_cells_put(cells, NULL, (double)traffic.memory_bytes);
    fth_cells_put(cells, NULL, fth_figure_round_to_tenth(100 * traffic.l1_efficiency));
    fth_cells_put(cells, NULL, fth_figure_percent(fth_model_hit_ratio(&row->l1, true)));
    fth_cells_put(cells, NULL, fth_figure_percent(fth_model_hit_ratio(&row->l2, true)));
    fth_cells_put(cells, NULL, fth_figure_percent(fth_figure_write_hit_ratio(&row->l2)));
    fth_cells_put(cells, NULL, fth_figure_floor_us(row, params, &limit));
    fth_cells_put(cells, NULL, fth_figure_time_us(row));
    fth_cells_put_text(cells, fth_model_limit_name(floors.bottleneck));
}

static void write_overview(const struct fth_model_result *result,
                           const struct fth_model_params *params, bool launches,
                           const struct fth_report_options *options, struct fth_buffer *out,
                           bool *failed)
{
    const enum fth_model_view view = launches ? FTH_MODEL_VIEW_LAUNCHES : FTH_MODEL_VIEW_KERNELS;
    struct fth_column columns[FTH_COUNT(overview_columns)];
    struct fth_cells cells = {0};
    const struct fth_model_row *row;
    memcpy(columns, overview_columns, sizeof columns);
    if (launches)
        columns[1] = (struct fth_column){"launch", "Launch", FTH_COLUMN_NUMBER};
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        if (fth_model_view_shows(view, row))
            put_overview(&cells, row, params, launches);
    struct fth_table table = {columns, FTH_COUNT(columns), cells.items,
                              cells.count / FTH_COUNT(columns)};
    if (!cells.failed) {
        if (!result->timed)
            fth_table_leave_out(&cells, &table, "time_us");
        if (launches) /* the demand is only known of kernels */
            fth_table_leave_out(&cells, &table, "requested_bytes");
        if (launches)
            fth_table_leave_out(&cells, &table, "l1_efficiency_percent");
        table.cells = cells.items;
        fth_table_add_intervals(&cells, &table, view, result, false, options->utf8);
        fth_text_table_fit(&table, overview_drop, options, out);
    }
    *failed = *failed || cells.failed;
    fth_cells_fini(&cells);
}

/* ---- the levels of one kernel ---- */

static const struct fth_column level_columns[] = {
    {"level", "", FTH_COLUMN_TEXT},
    {"bytes", "Bytes", FTH_COLUMN_BYTES},
    {"efficiency_percent", "Used %", FTH_COLUMN_NUMBER},
    {"read_hit_percent", "Read hit %", FTH_COLUMN_NUMBER},
    {"write_hit_percent", "Write hit %", FTH_COLUMN_NUMBER},
    {"floor_us", "Floor us", FTH_COLUMN_NUMBER},
};

static double microseconds(double seconds)
{
    return isnan(seconds) ? seconds : round(1e9 * seconds) / 1e3;
}

struct level {
    const char *name;
    enum fth_model_limit limit;
    double bytes, efficiency, read_hits, write_hits;
};

static void put_level(struct fth_cells *cells, const struct level *level,
                      const struct fth_model_floors *floors)
{
    const bool is_longest = level->limit != FTH_LIMIT_NONE && level->limit == floors->bottleneck;
    char name[40];
    snprintf(name, sizeof name, "%s%s", level->name, is_longest ? " (bottleneck)" : "");
    const char *text = fth_arena_text(&cells->arena, name);
    cells->failed = cells->failed || !text;
    fth_cells_put_text(cells, text);
    fth_cells_put(cells, NULL, level->bytes);
    fth_cells_put(cells, NULL, fth_figure_round_to_tenth(100 * level->efficiency));
    fth_cells_put(cells, NULL, fth_figure_percent(level->read_hits));
    fth_cells_put(cells, NULL, fth_figure_percent(level->write_hits));
    fth_cells_put(cells, NULL, microseconds(floors->seconds[level->limit]));
}

static void write_levels(const struct fth_model_row *row, const struct fth_model_params *params,
                         const struct fth_model_floors *floors,
                         const struct fth_report_options *options, struct fth_buffer *out,
                         bool *failed)
{
    struct fth_model_traffic traffic;
    struct fth_cells cells = {0};
    const double none = (double)NAN;
    fth_model_traffic(row, params, &traffic);
    const uint64_t requested = fth_figure_sum(row->demand.requested_bytes);
    const struct fth_shared_counts *shared = &row->shared;
    const struct level levels[] = {
        {"requested", FTH_LIMIT_NONE, requested ? (double)requested : none, none, none, none},
        {"L1", FTH_LIMIT_L1, (double)traffic.l1_bytes, traffic.l1_efficiency,
         fth_model_hit_ratio(&row->l1, true), fth_figure_write_hit_ratio(&row->l1)},
        {"L2", FTH_LIMIT_L2, (double)traffic.l2_bytes, traffic.l2_efficiency,
         fth_model_hit_ratio(&row->l2, true), fth_figure_write_hit_ratio(&row->l2)},
        {"memory", FTH_LIMIT_MEMORY, (double)traffic.memory_bytes, traffic.memory_efficiency, none,
         none},
        {"shared memory", FTH_LIMIT_SHARED, none,
         shared->wavefronts ? (double)shared->ideal_wavefronts / (double)shared->wavefronts : none,
         none, none},
        {"instruction issue", FTH_LIMIT_ISSUE, none, none, none, none},
    };
    for (size_t i = 0; i < FTH_COUNT(levels); i++)
        if (levels[i].limit != FTH_LIMIT_SHARED || shared->wavefronts)
            put_level(&cells, &levels[i], floors);
    const struct fth_table table = {level_columns, FTH_COUNT(level_columns), cells.items,
                                    cells.count / FTH_COUNT(level_columns)};
    if (!cells.failed)
        fth_text_table(&table, options, out);
    *failed = *failed || cells.failed;
    fth_cells_fini(&cells);
}

/* Writes why the reads of a level miss, with the parts of the causes, the largest first. */
static void write_misses(const char *level, const struct fth_model_misses *misses, size_t width,
                         struct fth_buffer *out)
{
    char lead[80], text[200] = "";
    struct {
        const char *name;
        uint64_t sectors;
    } causes[] = {{"cold", misses->cold},
                  {"capacity", misses->capacity},
                  {"conflict", misses->conflict},
                  {"coherence", misses->coherence},
                  {"sector not fetched", misses->sector}};
    uint64_t all = 0;
    for (size_t i = 0; i < FTH_COUNT(causes); i++)
        all += causes[i].sectors;
    if (!all)
        return;
    snprintf(lead, sizeof lead, "%s read misses (%" PRIu64 " sectors): ", level, all);
    for (size_t shown = 0; shown < FTH_COUNT(causes); shown++) {
        size_t most = 0;
        for (size_t i = 1; i < FTH_COUNT(causes); i++)
            most = causes[i].sectors > causes[most].sectors ? i : most;
        if (!causes[most].sectors)
            break;
        const size_t used = strlen(text);
        fth_format(text + used, sizeof text - used, "%s%s %.1f %%", shown ? ", " : "",
                   causes[most].name, 100 * (double)causes[most].sectors / (double)all);
        causes[most].sectors = 0;
    }
    fth_text_wrap(out, lead, text, width);
}

static void write_kernel(const struct fth_model_row *row, const struct fth_model_params *params,
                         const struct fth_report_options *options, struct fth_buffer *out,
                         bool *failed)
{
    char name[FTH_NAME_BYTES], number[40];
    struct fth_model_floors floors;
    fth_model_floors(row, params, &floors);
    fth_demangle(row->kernel, FTH_NAME_SHORT, name, sizeof name);
    fth_buffer_text(out, options->colour ? "\033[1m" : "");
    fth_text_append(out, name, fth_report_columns(options), options->utf8 ? "…" : "~");
    fth_buffer_text(out, options->colour ? "\033[0m" : "");
    fth_buffer_text(out, "\n");
    write_levels(row, params, &floors, options, out, failed);
    const double floor_s = fth_model_floor_s(row, params, NULL);
    if (!isnan(row->seconds)) {
        fth_number_format(fth_figure_time_us(row), number, sizeof number);
        fth_buffer_format(out, "Estimated time: %s us", number);
        if (!isnan(floor_s) && floors.longest != FTH_LIMIT_NONE)
            fth_buffer_format(out, ", %.0f %% of it at the limit of %s",
                              100 * fmin(1, floor_s / row->seconds),
                              floors.longest == FTH_LIMIT_L1       ? "the L1"
                              : floors.longest == FTH_LIMIT_L2     ? "the L2"
                              : floors.longest == FTH_LIMIT_MEMORY ? "memory"
                              : floors.longest == FTH_LIMIT_SHARED ? "shared memory"
                                                                   : "the schedulers");
        fth_buffer_text(out, floors.bottleneck == FTH_LIMIT_LATENCY
                                 ? ".\nThe rest is latency, contention for single addresses, or "
                                   "the launch itself.\n"
                                 : ".\n");
    }
    if (row->shared.wavefronts)
        fth_buffer_format(
            out, "Shared memory: %" PRIu64 " wavefronts, %" PRIu64 " without bank conflicts\n",
            row->shared.wavefronts, row->shared.ideal_wavefronts);
    write_misses("L1", &row->l1_misses, fth_report_columns(options), out);
    write_misses("L2", &row->l2_misses, fth_report_columns(options), out);
}

/* ---- the summary ---- */

/* Returns the time by which kernels are ranked; without time, the floor. */
static double rank_of(const struct fth_model_row *row, const struct fth_model_params *params)
{
    const double seconds =
        isnan(row->seconds) ? fth_model_floor_s(row, params, NULL) : row->seconds;
    return isnan(seconds) ? 0 : seconds;
}

/* Chooses the kernels that take longest, in this order. Returns their number. */
static size_t choose_kernels(const struct fth_model_result *result,
                             const struct fth_model_params *params,
                             const struct fth_model_row *chosen[MAX_DETAILS], size_t *kernels)
{
    const struct fth_model_row *row;
    size_t count = 0;
    *kernels = 0;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        if (!fth_model_view_shows(FTH_MODEL_VIEW_KERNELS, row))
            continue;
        ++*kernels;
        size_t at = count;
        while (at > 0 && rank_of(chosen[at - 1], params) < rank_of(row, params))
            at--;
        if (at == MAX_DETAILS)
            continue;
        count = count < MAX_DETAILS ? count + 1 : count;
        memmove(chosen + at + 1, chosen + at, (count - 1 - at) * sizeof *chosen);
        chosen[at] = row;
    }
    return count;
}

void fth_write_model_summary(const struct fth_model_result *result,
                             const struct fth_model_params *params, bool launches,
                             const struct fth_report_options *options, struct fth_buffer *out,
                             bool *failed)
{
    const struct fth_model_row *chosen[MAX_DETAILS];
    size_t kernels;
    const size_t count = choose_kernels(result, params, chosen, &kernels);
    if (launches || kernels != 1)
        write_overview(result, params, launches, options, out, failed);
    for (size_t i = 0; !launches && i < count; i++) {
        fth_buffer_text(out, i || kernels != 1 ? "\n" : "");
        write_kernel(chosen[i], params, options, out, failed);
    }
    if (!launches && kernels > count)
        fth_buffer_format(out,
                          "\nThe %zu kernels that take longest are shown in detail, out of %zu.\n",
                          count, kernels);
}
