/* Writes the results of the cache model as a fathom-model/1 document (docs/model.md). */
#include "report/results/model_figures.h"

#include <string.h>

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
    const bool off = fth_figure_sum(row->bypassed.sectors) != 0;
    fth_json_key(json, "metrics");
    fth_json_begin(json, '{', true);
    write_number(json, "L1_R_Hit", fth_model_hit_ratio(&row->l1, true));
    write_number(json, "L2_Hit", fth_model_hit_ratio(&row->l2, false));
    write_number(json, "L2_Hit_L1B", fth_model_hit_ratio(&row->bypassed, false));
    write_number(json, "L1_R_Trans", (double)row->l1.sectors[FTH_TRACE_READ]);
    write_number(json, "L2_Trans", (double)fth_figure_sum(row->l2.sectors));
    write_number(json, "L2_Trans_L1B",
                 off ? (double)fth_figure_sum(row->bypassed.sectors) : (double)NAN);
    write_number(json, "L2_R_Hit", fth_model_hit_ratio(&row->l2, true));
    write_number(json, "L2_W_Hit", fth_figure_write_hit_ratio(&row->l2));
    fth_json_end(json, '}');
}

static void write_position(struct fth_json_writer *json, const char *file, uint32_t line,
                           const char *function)
{
    if (file) {
        fth_json_key(json, "source_file");
        fth_json_text(json, file);
    }
    if (line) {
        fth_json_key(json, "source_line");
        fth_json_number(json, line);
    }
    if (function) {
        char name[FTH_NAME_BYTES];
        fth_demangle(function, FTH_NAME_SHORT, name, sizeof name);
        fth_json_key(json, "function");
        fth_json_text(json, name);
    }
}

static void write_instruction(struct fth_json_writer *json,
                              const struct fth_trace_instruction *instruction)
{
    fth_json_key(json, "line");
    fth_json_number(json, instruction->line);
    const struct fth_source_position *source = instruction->source;
    write_position(json, source ? source->file : NULL, instruction->source_line,
                   source ? source->function : NULL);
    if (source && source->inlined_at) {
        fth_json_key(json, "inlined_at");
        fth_json_begin(json, '[', true);
        for (source = source->inlined_at; source; source = source->inlined_at) {
            fth_json_begin(json, '{', true);
            write_position(json, source->file, source->line, source->function);
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
    write_number(json, "time_floor_us", fth_figure_floor_us(row, params, &limit));
    fth_json_key(json, "limited_by");
    if (fth_model_limit_name(limit))
        fth_json_text(json, fth_model_limit_name(limit));
    else
        fth_json_null(json);
}

static void write_misses(struct fth_json_writer *json, const char *key,
                         const struct fth_model_misses *misses)
{
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    write_number(json, "cold", (double)misses->cold);
    write_number(json, "capacity", (double)misses->capacity);
    write_number(json, "conflict", (double)misses->conflict);
    write_number(json, "coherence", (double)misses->coherence);
    write_number(json, "sector", (double)misses->sector);
    fth_json_end(json, '}');
}

static void write_shared(struct fth_json_writer *json, const struct fth_shared_counts *shared)
{
    fth_json_key(json, "shared");
    fth_json_begin(json, '{', true);
    write_by_kind(json, "requests", shared->requests);
    write_number(json, "wavefronts", (double)shared->wavefronts);
    write_number(json, "ideal_wavefronts", (double)shared->ideal_wavefronts);
    write_number(json, "padded_wavefronts", (double)shared->padded_wavefronts);
    fth_json_end(json, '}');
}

/* Writes what the threads need, what is moved at each level, and why reads miss. */
static void write_diagnosis(struct fth_json_writer *json, const struct fth_model_row *row,
                            const struct fth_model_params *params, bool sampled)
{
    struct fth_model_traffic traffic;
    fth_model_traffic(row, params, &traffic);
    if (!sampled) { /* a sample does not say what all threads need */
        write_by_kind(json, "requested_bytes", row->demand.requested_bytes);
        write_by_kind(json, "used_bytes", row->demand.used_bytes);
        write_by_kind(json, "ideal_sectors", row->demand.ideal_sectors);
        write_number(json, "touched_bytes", (double)row->demand.touched_all_bytes);
    }
    fth_json_key(json, "moved_bytes");
    fth_json_begin(json, '{', true);
    write_number(json, "l1", (double)traffic.l1_bytes);
    write_number(json, "l2", (double)traffic.l2_bytes);
    write_number(json, "memory", (double)traffic.memory_bytes);
    fth_json_end(json, '}');
    fth_json_key(json, "efficiency");
    fth_json_begin(json, '{', true);
    write_number(json, "l1", traffic.l1_efficiency);
    write_number(json, "l2", traffic.l2_efficiency);
    write_number(json, "memory", traffic.memory_efficiency);
    fth_json_end(json, '}');
    fth_json_key(json, "hit_ratios");
    fth_json_begin(json, '{', true);
    write_number(json, "l1_read", fth_model_hit_ratio(&row->l1, true));
    write_number(json, "l1_write", fth_figure_write_hit_ratio(&row->l1));
    write_number(json, "l2_read", fth_model_hit_ratio(&row->l2, true));
    write_number(json, "l2_write", fth_figure_write_hit_ratio(&row->l2));
    fth_json_end(json, '}');
    write_misses(json, "l1_misses", &row->l1_misses);
    write_misses(json, "l2_misses", &row->l2_misses);
}

static void write_floors(struct fth_json_writer *json, const struct fth_model_row *row,
                         const struct fth_model_params *params)
{
    struct fth_model_floors floors;
    fth_model_floors(row, params, &floors);
    fth_json_key(json, "floors_us");
    fth_json_begin(json, '{', true);
    for (int i = FTH_LIMIT_L1; i <= FTH_LIMIT_ISSUE; i++)
        write_number(json, fth_model_limit_name((enum fth_model_limit)i),
                     round(1e9 * floors.seconds[i]) / 1e3);
    fth_json_end(json, '}');
    fth_json_key(json, "bottleneck");
    if (floors.bottleneck == FTH_LIMIT_NONE)
        fth_json_null(json);
    else
        fth_json_text(json, fth_model_limit_name(floors.bottleneck));
    write_number(json, "warp_instructions", row->warp_instructions);
}

/* Writes a count that only the model without time has. */
static void write_step_count(struct fth_json_writer *json, const char *key,
                             const struct fth_model_row *row, uint64_t count)
{
    write_number(json, key, fth_figure_step_count(row, count));
}

static void write_row(struct fth_json_writer *json, enum fth_model_view view,
                      const struct fth_model_row *row, const struct fth_model_intervals *intervals,
                      const struct fth_model_result *result, const struct fth_model_params *params)
{
    const bool sampled = result->sample, diagnosed = result->diagnosed;
    fth_json_begin(json, '{', row->instruction != NULL);
    fth_json_key(json, "kernel");
    fth_json_kernel(json, row->kernel);
    if (row->instruction)
        write_instruction(json, row->instruction);
    else if (view == FTH_MODEL_VIEW_LAUNCHES)
        write_number(json, "launch", (double)fth_figure_launch_number(row));
    else
        write_number(json, "launches", (double)row->launches);
    write_metrics(json, row);
    write_by_kind(json, "warp_requests", row->warps);
    write_counts(json, "l1", &row->l1);
    write_counts(json, "l2", &row->l2);
    if (fth_figure_sum(row->local_warps) && !row->instruction) {
        write_by_kind(json, "warp_requests_local", row->local_warps);
        write_counts(json, "l1_local", &row->local);
    }
    if (fth_figure_sum(row->texture_warps) && !row->instruction) {
        write_by_kind(json, "warp_requests_texture", row->texture_warps);
        write_counts(json, "l1_texture", &row->texture);
    }
    if (fth_figure_sum(row->bypassed.sectors))
        write_counts(json, "l2_l1_off", &row->bypassed);
    write_number(json, "l2_far_hits", (double)row->far_hits);
    write_number(json, "dram_read_sectors", (double)row->dram_reads);
    write_number(json, "dram_write_sectors", (double)row->dram_writes);
    write_number(json, "access_cycles",
                 fth_figure_round_to_tenth(fth_model_access_cycles(row, params)));
    if (diagnosed)
        write_diagnosis(json, row, params, sampled);
    if (fth_figure_sum(row->shared.requests))
        write_shared(json, &row->shared);
    if (!row->instruction) {
        write_number(json, "time_us", fth_figure_time_us(row));
        write_floor(json, row, params);
        write_floors(json, row, params);
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
        if (view == FTH_MODEL_VIEW_LINES ? row->instruction != NULL
                                         : fth_model_view_shows(view, row))
            write_row(json, view, row, fth_model_intervals(result, i), result, params);
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
        fth_json_text(json, fth_source_names[source]);
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

void fth_write_model_json(const struct fth_model_result *result,
                          const struct fth_model_params *params,
                          const struct fth_model_report *more, struct fth_buffer *out)
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
        if (more->hints)
            fth_json_hints(&json, more->hints);
        if (more->sources)
            fth_json_sources(&json, result, more);
        for (int level = 1; level <= 2; level++)
            if (fth_model_curve(result, level))
                write_curve(&json, level == 1 ? "l1_curve" : "l2_curve",
                            fth_model_curve(result, level));
    }
    fth_json_end(&json, '}');
}
