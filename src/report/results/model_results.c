/* Writes the results of the cache model. Text and CSV have one table, selected by the view:
 * kernels, launches, instructions, distances, curves or parameters. JSON has everything. */
#include "model/model.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static double percent(double ratio)
{
    return isnan(ratio) ? ratio : round(10000 * ratio) / 100;
}

static double round_to_tenth(double number)
{
    return isnan(number) ? number : round(10 * number) / 10;
}

/* Returns the time floor in microseconds, rounded to nanoseconds. */
static double floor_us(const struct fth_model_row *row, const struct fth_model_params *params,
                       enum fth_model_limit *limit)
{
    const double seconds = fth_model_floor_s(row, params, limit);
    return isnan(seconds) ? seconds : round(1e9 * seconds) / 1e3;
}

/* Returns the estimated time in microseconds, rounded to nanoseconds; NAN without time. */
static double time_us(const struct fth_model_row *row)
{
    return round(1e9 * row->seconds) / 1e3;
}

/* Returns a count that only the model without time has; NAN with time. */
static double step_count(const struct fth_model_row *row, uint64_t count)
{
    return isnan(row->seconds) ? (double)count : (double)NAN;
}

/* Returns the ratio of write sectors that hit; NAN if there are none. */
static double write_hit_ratio(const struct fth_model_counts *counts)
{
    const uint64_t sectors = counts->sectors[FTH_TRACE_WRITE];
    return sectors ? (double)counts->hits[FTH_TRACE_WRITE] / (double)sectors : (double)NAN;
}

/* Returns the sum over reads, writes and atomics. */
static uint64_t sum(const uint64_t by_kind[3])
{
    return by_kind[0] + by_kind[1] + by_kind[2];
}

static const struct fth_column row_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"launches", "Launches", FTH_COLUMN_NUMBER},
    {"l1_bytes", "L1", FTH_COLUMN_BYTES},
    {"blocks_per_sm", "Blk/SM", FTH_COLUMN_NUMBER},
    {"l1_read_sectors", "L1 reads", FTH_COLUMN_NUMBER},
    {"l1_read_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"l1_merged_sectors", "merged", FTH_COLUMN_NUMBER},
    {"l1_fails", "fails", FTH_COLUMN_NUMBER},
    {"l1_steps", "steps", FTH_COLUMN_NUMBER},
    {"l2_sectors", "L2", FTH_COLUMN_NUMBER},
    {"l2_hit_percent", "all hit%", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent", "rd hit%", FTH_COLUMN_NUMBER},
    {"l2_write_hit_percent", "wr hit%", FTH_COLUMN_NUMBER},
    {"l2_sectors_l1_off", "L1 off: L2", FTH_COLUMN_NUMBER},
    {"l2_hit_percent_l1_off", "all hit%", FTH_COLUMN_NUMBER},
    {"dram_read_bytes", "DRAM reads", FTH_COLUMN_BYTES},
    {"dram_write_bytes", "writes", FTH_COLUMN_BYTES},
    {"access_cycles", "Cyc/rd", FTH_COLUMN_NUMBER},
    {"time_us", "Time us", FTH_COLUMN_NUMBER},
    {"time_floor_us", "Floor us", FTH_COLUMN_NUMBER},
    {"limited_by", "Limit", FTH_COLUMN_TEXT},
};
static const char *const limits[] = {[FTH_LIMIT_NONE] = NULL,
                                     [FTH_LIMIT_L1] = "l1",
                                     [FTH_LIMIT_L2] = "l2",
                                     [FTH_LIMIT_MEMORY] = "memory"};
/* In the table of launches, the second column is the number of the launch. */
static const struct fth_column launch_column = {"launch", "Launch", FTH_COLUMN_NUMBER};

static const struct fth_column line_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"line", "PTX line", FTH_COLUMN_NUMBER},
    {"source_file", "File", FTH_COLUMN_TEXT},
    {"source_line", "Line", FTH_COLUMN_NUMBER},
    {"kind", "Kind", FTH_COLUMN_TEXT},
    {"bytes", "Bytes", FTH_COLUMN_NUMBER},
    {"warp_requests", "Requests", FTH_COLUMN_NUMBER},
    {"l1_sectors", "L1", FTH_COLUMN_NUMBER},
    {"l1_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"l2_sectors", "L2", FTH_COLUMN_NUMBER},
    {"l2_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"dram_read_bytes", "DRAM reads", FTH_COLUMN_BYTES},
    {"access_cycles", "Cyc/rd", FTH_COLUMN_NUMBER},
    {"inlined_at", "Inlined at", FTH_COLUMN_TEXT},
};

/* C1R: reads of the L1; C1W: its writes; C2R and C2W: those of the L2. */
static const struct fth_column profile_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL}, {"distance", "Distance", FTH_COLUMN_TEXT},
    {"C1R", "C1R", FTH_COLUMN_NUMBER},       {"C1W", "C1W", FTH_COLUMN_NUMBER},
    {"C2R", "C2R", FTH_COLUMN_NUMBER},       {"C2W", "C2W", FTH_COLUMN_NUMBER},
};

static const struct fth_column curve_columns[] = {
    {"size_bytes", "Size", FTH_COLUMN_BYTES},
    {"l1_miss_percent", "L1 miss %", FTH_COLUMN_NUMBER},
    {"l2_miss_percent", "L2 miss %", FTH_COLUMN_NUMBER},
};

static const struct fth_column parameter_columns[] = {
    {"name", "Parameter", FTH_COLUMN_TEXT},
    {"value", "Value", FTH_COLUMN_TEXT},
    {"source", "Source", FTH_COLUMN_TEXT},
    {"what", "Meaning", FTH_COLUMN_TEXT},
};

static const char *const sources[] = {"default", "description", "set"};

static void put_count(struct fth_cells *cells, uint64_t number)
{
    fth_cells_put(cells, NULL, (double)number);
}

/* Returns the number of a launch in the trace, from 1. If a kernel has only one launch, the row of
 * the kernel is also that of its launch. */
static uint64_t launch_number(const struct fth_model_row *row)
{
    return (row->launch == SIZE_MAX ? row->last_launch : row->launch) + 1;
}

static void put_row(struct fth_cells *cells, const struct fth_model_row *row,
                    enum fth_model_view view, const struct fth_model_params *params)
{
    const uint64_t off = sum(row->bypassed.sectors);
    fth_cells_put_text(cells, row->kernel);
    put_count(cells, view == FTH_MODEL_VIEW_LAUNCHES ? launch_number(row) : row->launches);
    put_count(cells, row->l1_bytes);
    put_count(cells, row->blocks_at_once);
    put_count(cells, row->l1.sectors[FTH_TRACE_READ]);
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->l1, true)));
    put_count(cells, sum(row->l1.merges));
    fth_cells_put(cells, NULL, step_count(row, row->l1_fails));
    fth_cells_put(cells, NULL, step_count(row, row->l1_steps));
    put_count(cells, sum(row->l2.sectors));
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->l2, false)));
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->l2, true)));
    fth_cells_put(cells, NULL, percent(write_hit_ratio(&row->l2)));
    fth_cells_put(cells, NULL, off ? (double)off : (double)NAN);
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->bypassed, false)));
    put_count(cells, 32 * row->dram_reads);
    put_count(cells, 32 * row->dram_writes);
    fth_cells_put(cells, NULL, round_to_tenth(fth_model_access_cycles(row, params)));
    enum fth_model_limit limit;
    fth_cells_put(cells, NULL, time_us(row));
    fth_cells_put(cells, NULL, floor_us(row, params, &limit));
    fth_cells_put_text(cells, limits[limit]);
}

/* Adds the calls through which inlined code became part of the kernel, the innermost one first. */
static void put_calls(struct fth_cells *cells, const struct fth_source_position *source)
{
    char text[1024] = "";
    if (source && source->inlined_at)
        fth_source_text(source->inlined_at, text, sizeof text);
    const char *copy = fth_arena_text(&cells->arena, text);
    cells->failed = cells->failed || !copy;
    fth_cells_put_text(cells, copy);
}

static void put_line(struct fth_cells *cells, const struct fth_model_row *row,
                     const struct fth_model_params *params)
{
    const struct fth_trace_instruction *instruction = row->instruction;
    fth_cells_put_text(cells, row->kernel);
    fth_cells_put(cells, NULL, instruction->line ? (double)instruction->line : (double)NAN);
    fth_cells_put_text(cells, fth_source_file(instruction->source));
    fth_cells_put(cells, NULL,
                  instruction->source_line ? (double)instruction->source_line : (double)NAN);
    fth_cells_put_text(cells, fth_trace_kind_name(instruction));
    put_count(cells, instruction->bytes);
    put_count(cells, sum(row->warps));
    put_count(cells, sum(row->l1.sectors));
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->l1, false)));
    put_count(cells, sum(row->l2.sectors));
    fth_cells_put(cells, NULL, percent(fth_model_hit_ratio(&row->l2, false)));
    put_count(cells, 32 * row->dram_reads);
    fth_cells_put(cells, NULL, round_to_tenth(fth_model_access_cycles(row, params)));
    put_calls(cells, instruction->source);
}

/* Returns the number of hits at distances from `from` to `to` - 1. NAN: there is no profile. */
static double count_hits(const struct fth_model_profile *profile, size_t from, size_t to)
{
    double counted = 0;
    if (profile->count == 0)
        return (double)NAN;
    for (size_t i = from; i < to && i + 1 < profile->count; i++)
        counted += (double)profile->counts[i];
    return counted;
}

/* Returns the number of misses, which is the last count of a profile. NAN: there is no profile. */
static double miss_count(const struct fth_model_profile *profile)
{
    return profile->count ? (double)profile->counts[profile->count - 1] : (double)NAN;
}

/* Adds rows for the distances 0, 1, 2 to 3, 4 to 7, and so on, and one for the misses. */
static void put_profile(struct fth_cells *cells, const struct fth_model_row *row)
{
    size_t max_count = row->l1_profile[0].count > row->l2_profile[0].count
                           ? row->l1_profile[0].count
                           : row->l2_profile[0].count;
    for (size_t from = 0, to = 1; from + 1 < max_count; from = to, to = 2 * to) {
        char *text = fth_arena_alloc(&cells->arena, 48);
        if (!text) {
            cells->failed = true;
            return;
        }
        snprintf(text, 48, to == from + 1 ? "%zu" : "%zu to %zu", from, to - 1);
        fth_cells_put_text(cells, row->kernel);
        fth_cells_put_text(cells, text);
        for (int i = 0; i < 4; i++)
            fth_cells_put(
                cells, NULL,
                count_hits(i < 2 ? &row->l1_profile[i] : &row->l2_profile[i - 2], from, to));
    }
    fth_cells_put_text(cells, row->kernel);
    fth_cells_put_text(cells, "miss");
    for (int i = 0; i < 4; i++)
        fth_cells_put(cells, NULL,
                      miss_count(i < 2 ? &row->l1_profile[i] : &row->l2_profile[i - 2]));
}

/* Returns the percentage of reads that miss in a fully associative LRU cache of `sectors` sectors.
 * NAN: there are no reads. */
static double miss_percent(const struct fth_model_curve *curve, size_t sectors)
{
    double all = curve ? (double)curve->fresh : 0, hits = 0;
    for (size_t i = 0; curve && i < curve->count; i++) {
        all += (double)curve->profile[i];
        hits += i < sectors ? (double)curve->profile[i] : 0;
    }
    return all > 0 ? percent(1 - hits / all) : (double)NAN;
}

/* Adds a row for each cache size, doubling from 32 sectors until everything fits. */
static void put_curve(struct fth_cells *cells, const struct fth_model_result *result,
                      const struct fth_model_params *params)
{
    const struct fth_model_curve *l1 = fth_model_curve(result, 1), *l2 = fth_model_curve(result, 2);
    const size_t l1_count = l1 ? l1->count : 0, l2_count = l2 ? l2->count : 0;
    const size_t max_count = l1_count > l2_count ? l1_count : l2_count;
    const double sector = params->values[fth_model_key(FTH_MODEL_L1, FTH_KEY_SECTOR)].number;
    const double line = params->values[fth_model_key(FTH_MODEL_L1, FTH_KEY_LINE)].number;
    const double sector_bytes = sector > 0 ? sector : line; /* 0: a line is one sector */
    for (size_t sectors = 32; l1 || l2; sectors *= 2) {
        fth_cells_put(cells, NULL, (double)sectors * sector_bytes);
        fth_cells_put(cells, NULL, miss_percent(l1, sectors));
        fth_cells_put(cells, NULL, miss_percent(l2, sectors));
        if (sectors >= max_count)
            break;
    }
}

static void put_parameters(struct fth_cells *cells, const struct fth_model_params *params)
{
    struct fth_model_parameter parameter;
    for (size_t i = 0; fth_model_parameter(i, &parameter); i++) {
        enum fth_model_source source;
        const char *value = fth_model_value(params, i, &source);
        const char *name = fth_arena_text(&cells->arena, parameter.name);
        cells->failed = cells->failed || !name;
        fth_cells_put_text(cells, name);
        fth_cells_put_text(cells, value);
        fth_cells_put_text(cells, sources[source]);
        fth_cells_put_text(cells, parameter.what);
    }
}

bool fth_model_view_shows(enum fth_model_view view, const struct fth_model_row *row)
{
    switch (view) {
    case FTH_MODEL_VIEW_LINES: /* without the rows of shared memory, which have no sectors */
        return row->instruction && !(row->instruction->hints & FTH_TRACE_SHARED);
    case FTH_MODEL_VIEW_LAUNCHES:
        return !row->instruction && (row->launch != SIZE_MAX || row->launches == 1);
    default: return !row->instruction && row->launch == SIZE_MAX;
    }
}

static const struct fth_column *make_launch_columns(struct fth_cells *cells)
{
    struct fth_column *columns =
        fth_arena_array(&cells->arena, FTH_COUNT(row_columns), sizeof *columns);
    if (!columns) {
        cells->failed = true;
        return row_columns;
    }
    memcpy(columns, row_columns, sizeof row_columns);
    columns[1] = launch_column;
    return columns;
}

/* Leaves out the columns that a result does not have: with time it has no steps and no fails,
 * without it has no time. */
static void leave_out_columns(struct fth_cells *cells, struct fth_table *table,
                              const struct fth_model_result *result)
{
    if (result->timed) {
        fth_table_leave_out(cells, table, "l1_fails");
        fth_table_leave_out(cells, table, "l1_steps");
    } else {
        fth_table_leave_out(cells, table, "time_us");
    }
}

static struct fth_table make_table(struct fth_cells *cells, enum fth_model_view view,
                                   const struct fth_model_result *result,
                                   const struct fth_model_params *params)
{
    struct fth_table table = {row_columns, FTH_COUNT(row_columns), NULL, 0};
    const struct fth_model_row *row;
    if (view == FTH_MODEL_VIEW_LAUNCHES)
        table.columns = make_launch_columns(cells);
    else if (view == FTH_MODEL_VIEW_LINES)
        table = (struct fth_table){line_columns, FTH_COUNT(line_columns), NULL, 0};
    else if (view == FTH_MODEL_VIEW_PROFILE)
        table = (struct fth_table){profile_columns, FTH_COUNT(profile_columns), NULL, 0};
    else if (view == FTH_MODEL_VIEW_CURVE)
        table = (struct fth_table){curve_columns, FTH_COUNT(curve_columns), NULL, 0};
    else if (view == FTH_MODEL_VIEW_PARAMETERS)
        table = (struct fth_table){parameter_columns, FTH_COUNT(parameter_columns), NULL, 0};
    if (view == FTH_MODEL_VIEW_PARAMETERS)
        put_parameters(cells, params);
    else if (view == FTH_MODEL_VIEW_CURVE)
        put_curve(cells, result, params);
    else
        for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
            if (!fth_model_view_shows(view, row))
                continue;
            if (view == FTH_MODEL_VIEW_LINES)
                put_line(cells, row, params);
            else if (view == FTH_MODEL_VIEW_PROFILE)
                put_profile(cells, row);
            else
                put_row(cells, row, view, params);
        }
    table.cells = cells->items;
    table.row_count = cells->failed ? 0 : cells->count / table.column_count;
    return table;
}

/* ---- JSON ---- */

static void write_by_kind(struct fth_json_writer *json, const char *key, const uint64_t by_kind[3])
{
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (int kind = 0; kind < 3; kind++)
        fth_json_number(json, (double)by_kind[kind]);
    fth_json_end(json, ']');
}

static void write_number(struct fth_json_writer *json, const char *key, double number)
{
    fth_json_key(json, key);
    if (isnan(number))
        fth_json_null(json);
    else
        fth_json_number(json, number);
}

static void write_counts(struct fth_json_writer *json, const char *key,
                         const struct fth_model_counts *counts)
{
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    write_by_kind(json, "requests", counts->requests);
    write_by_kind(json, "sectors", counts->sectors);
    write_by_kind(json, "hits", counts->hits);
    write_by_kind(json, "merges", counts->merges);
    fth_json_end(json, '}');
}

static void write_profile(struct fth_json_writer *json, const char *key,
                          const struct fth_model_profile *profile)
{
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < profile->count; i++)
        fth_json_number(json, (double)profile->counts[i]);
    fth_json_end(json, ']');
}

/* Writes the six metrics of the paper with their names there, L2_R_Hit and L2_W_Hit. */
static void write_metrics(struct fth_json_writer *json, const struct fth_model_row *row)
{
    const bool off = sum(row->bypassed.sectors) != 0;
    fth_json_key(json, "metrics");
    fth_json_begin(json, '{', true);
    write_number(json, "L1_R_Hit", fth_model_hit_ratio(&row->l1, true));
    write_number(json, "L2_Hit", fth_model_hit_ratio(&row->l2, false));
    write_number(json, "L2_Hit_L1B", fth_model_hit_ratio(&row->bypassed, false));
    write_number(json, "L1_R_Trans", (double)row->l1.sectors[FTH_TRACE_READ]);
    write_number(json, "L2_Trans", (double)sum(row->l2.sectors));
    write_number(json, "L2_Trans_L1B", off ? (double)sum(row->bypassed.sectors) : (double)NAN);
    write_number(json, "L2_R_Hit", fth_model_hit_ratio(&row->l2, true));
    write_number(json, "L2_W_Hit", write_hit_ratio(&row->l2));
    fth_json_end(json, '}');
}

static void write_position(struct fth_json_writer *json, const char *file, uint32_t line)
{
    if (file) {
        fth_json_key(json, "source_file");
        fth_json_text(json, file);
    }
    if (line) {
        fth_json_key(json, "source_line");
        fth_json_number(json, line);
    }
}

static void write_instruction(struct fth_json_writer *json,
                              const struct fth_trace_instruction *instruction)
{
    fth_json_key(json, "line");
    fth_json_number(json, instruction->line);
    const struct fth_source_position *source = instruction->source;
    write_position(json, source ? source->file : NULL, instruction->source_line);
    if (source && source->inlined_at) {
        fth_json_key(json, "inlined_at");
        fth_json_begin(json, '[', true);
        for (source = source->inlined_at; source; source = source->inlined_at) {
            fth_json_begin(json, '{', true);
            write_position(json, source->file, source->line);
            fth_json_end(json, '}');
        }
        fth_json_end(json, ']');
    }
    fth_json_key(json, "kind");
    fth_json_text(json, fth_trace_kind_name(instruction));
    fth_json_key(json, "bytes");
    fth_json_number(json, instruction->bytes);
}

static void write_floor(struct fth_json_writer *json, const struct fth_model_row *row,
                        const struct fth_model_params *params)
{
    enum fth_model_limit limit;
    write_number(json, "time_floor_us", floor_us(row, params, &limit));
    fth_json_key(json, "limited_by");
    if (limits[limit])
        fth_json_text(json, limits[limit]);
    else
        fth_json_null(json);
}

/* Writes a count that only the model without time has. */
static void write_step_count(struct fth_json_writer *json, const char *key,
                             const struct fth_model_row *row, uint64_t count)
{
    write_number(json, key, step_count(row, count));
}

static void write_row(struct fth_json_writer *json, enum fth_model_view view,
                      const struct fth_model_row *row, const struct fth_model_intervals *intervals,
                      bool sampled, const struct fth_model_params *params)
{
    fth_json_begin(json, '{', row->instruction != NULL);
    fth_json_key(json, "kernel");
    fth_json_kernel(json, row->kernel);
    if (row->instruction)
        write_instruction(json, row->instruction);
    else if (view == FTH_MODEL_VIEW_LAUNCHES)
        write_number(json, "launch", (double)launch_number(row));
    else
        write_number(json, "launches", (double)row->launches);
    write_metrics(json, row);
    write_by_kind(json, "warp_requests", row->warps);
    write_counts(json, "l1", &row->l1);
    write_counts(json, "l2", &row->l2);
    if (sum(row->local_warps) && !row->instruction) {
        write_by_kind(json, "warp_requests_local", row->local_warps);
        write_counts(json, "l1_local", &row->local);
    }
    if (sum(row->texture_warps) && !row->instruction) {
        write_by_kind(json, "warp_requests_texture", row->texture_warps);
        write_counts(json, "l1_texture", &row->texture);
    }
    if (sum(row->bypassed.sectors))
        write_counts(json, "l2_l1_off", &row->bypassed);
    write_number(json, "l2_far_hits", (double)row->far_hits);
    write_number(json, "dram_read_sectors", (double)row->dram_reads);
    write_number(json, "dram_write_sectors", (double)row->dram_writes);
    write_number(json, "access_cycles", round_to_tenth(fth_model_access_cycles(row, params)));
    if (!row->instruction) {
        write_number(json, "time_us", time_us(row));
        write_floor(json, row, params);
        if (sampled) {
            write_number(json, "simulated_warp_requests", (double)row->simulated_warps);
            fth_json_sample_errors(json, row);
        }
        if (intervals)
            fth_json_intervals(json, intervals);
        write_number(json, "l1_bytes", (double)row->l1_bytes);
        write_number(json, "blocks_per_sm", (double)row->blocks_at_once);
        write_step_count(json, "l1_steps", row, row->l1_steps);
        write_step_count(json, "l2_steps", row, row->l2_steps);
        write_step_count(json, "l1_fails", row, row->l1_fails);
        write_step_count(json, "l2_fails", row, row->l2_fails);
        write_profile(json, "C1R", &row->l1_profile[0]);
        write_profile(json, "C1W", &row->l1_profile[1]);
        write_profile(json, "C2R", &row->l2_profile[0]);
        write_profile(json, "C2W", &row->l2_profile[1]);
    }
    fth_json_end(json, '}');
}

static void write_list(struct fth_json_writer *json, const char *key, enum fth_model_view view,
                       const struct fth_model_result *result, const struct fth_model_params *params)
{
    const struct fth_model_row *row;
    fth_json_key(json, key);
    fth_json_begin(json, '[', false);
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        if (fth_model_view_shows(view, row))
            write_row(json, view, row, fth_model_intervals(result, i), result->sample, params);
    fth_json_end(json, ']');
}

static void write_parameters(struct fth_json_writer *json, const struct fth_model_params *params)
{
    struct fth_model_parameter parameter;
    fth_json_key(json, "parameters");
    fth_json_begin(json, '{', false);
    for (size_t i = 0; fth_model_parameter(i, &parameter); i++) {
        enum fth_model_source source;
        const char *value = fth_model_value(params, i, &source);
        fth_json_key(json, parameter.name);
        fth_json_begin(json, '{', true);
        fth_json_key(json, "value");
        fth_json_text(json, value);
        fth_json_key(json, "source");
        fth_json_text(json, sources[source]);
        fth_json_end(json, '}');
    }
    fth_json_end(json, '}');
}

static void write_curve(struct fth_json_writer *json, const char *key,
                        const struct fth_model_curve *curve)
{
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    write_number(json, "new", (double)curve->fresh);
    fth_json_key(json, "distances");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < curve->count; i++)
        if (curve->profile[i]) {
            fth_json_begin(json, '[', true);
            fth_json_number(json, (double)i);
            fth_json_number(json, (double)curve->profile[i]);
            fth_json_end(json, ']');
        }
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

static void write_json(const struct fth_model_result *result, const struct fth_model_params *params,
                       struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-model/1");
    if (params->gpu[0]) {
        fth_json_key(&json, "gpu");
        fth_json_text(&json, params->gpu);
    }
    write_parameters(&json, params);
    if (result) {
        fth_json_key(&json, "timed");
        fth_json_bool(&json, result->timed);
        if (result->sample)
            write_number(&json, "sample", result->sample);
        if (result->orders)
            write_number(&json, "orders", result->orders);
        write_list(&json, "kernels", FTH_MODEL_VIEW_KERNELS, result, params);
        write_list(&json, "launches", FTH_MODEL_VIEW_LAUNCHES, result, params);
        write_list(&json, "instructions", FTH_MODEL_VIEW_LINES, result, params);
        for (int level = 1; level <= 2; level++)
            if (fth_model_curve(result, level))
                write_curve(&json, level == 1 ? "l1_curve" : "l2_curve",
                            fth_model_curve(result, level));
    }
    fth_json_end(&json, '}');
}

enum fth_status fth_report_model(const char *format, enum fth_model_view view,
                                 const struct fth_model_result *result,
                                 const struct fth_model_params *params,
                                 const struct fth_report_options *options, char **text,
                                 size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    enum fth_status status;
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    options = &known;
    if (strcmp(format, "json") == 0) {
        struct fth_buffer out = {0};
        write_json(result, params, &out);
        status = fth_buffer_take(&out, text, size, error);
        fth_buffer_fini(&out);
        return status;
    }
    struct fth_cells cells = {0};
    struct fth_table table = make_table(&cells, view, result, params);
    if (strcmp(format, "text") == 0 && result)
        leave_out_columns(&cells, &table, result);
    if (result)
        fth_table_add_intervals(&cells, &table, view, result, strcmp(format, "csv") == 0,
                                options->utf8);
    status = cells.failed ? fth_no_memory(error, "write report", NULL)
                          : fth_report_table(format, &table, options, text, size, error);
    fth_cells_fini(&cells);
    return status;
}
