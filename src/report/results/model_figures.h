/* What the files that write results of the cache model share. */
#ifndef FTH_MODEL_FIGURES_H
#define FTH_MODEL_FIGURES_H

#include "model/model.h"
#include "report/report.h"

#include <math.h>

static inline double fth_figure_percent(double ratio)
{
    return isnan(ratio) ? ratio : round(10000 * ratio) / 100;
}

static inline double fth_figure_round_to_tenth(double number)
{
    return isnan(number) ? number : round(10 * number) / 10;
}

/* Returns the time floor in microseconds, rounded to nanoseconds. */
static inline double fth_figure_floor_us(const struct fth_model_row *row,
                                         const struct fth_model_params *params,
                                         enum fth_model_limit *limit)
{
    const double seconds = fth_model_floor_s(row, params, limit);
    return isnan(seconds) ? seconds : round(1e9 * seconds) / 1e3;
}

/* Returns the estimated time in microseconds, rounded to nanoseconds; NAN without time. */
static inline double fth_figure_time_us(const struct fth_model_row *row)
{
    return round(1e9 * row->seconds) / 1e3;
}

/* Returns a count that only the model without time has; NAN with time. */
static inline double fth_figure_step_count(const struct fth_model_row *row, uint64_t count)
{
    return isnan(row->seconds) ? (double)count : (double)NAN;
}

/* Returns the ratio of write sectors that hit; NAN if there are none. */
static inline double fth_figure_write_hit_ratio(const struct fth_model_counts *counts)
{
    const uint64_t sectors = counts->sectors[FTH_TRACE_WRITE];
    return sectors ? (double)counts->hits[FTH_TRACE_WRITE] / (double)sectors : (double)NAN;
}

/* Returns the sum over reads, writes and atomics. */
static inline uint64_t fth_figure_sum(const uint64_t by_kind[3])
{
    return by_kind[0] + by_kind[1] + by_kind[2];
}

/* Returns the number of a launch in the trace, from 1. If a kernel has only one launch, the row of
 * the kernel is also that of its launch. */
static inline uint64_t fth_figure_launch_number(const struct fth_model_row *row)
{
    return (row->launch == SIZE_MAX ? row->last_launch : row->launch) + 1;
}

/* The names of enum fth_model_source. */
static const char *const fth_source_names[] = {"default", "description", "set"};

/* ---- model_json.c ---- */

/* Writes a fathom-model/1 document. `result` NULL: only the parameters. */
void fth_write_model_json(const struct fth_model_result *result,
                          const struct fth_model_params *params,
                          const struct fth_model_report *more, struct fth_buffer *out);

/* ---- model_summary.c ---- */

/* Writes an overview of the kernels or launches, which fits the width of the terminal, and the
 * figures per level of the kernels that take longest. */
void fth_write_model_summary(const struct fth_model_result *result,
                             const struct fth_model_params *params, bool launches,
                             const struct fth_report_options *options, struct fth_buffer *out,
                             bool *failed);

/* ---- model_hints.c ---- */

/* Write hints for the kernels of a result as text, and as a list "hints". */
void fth_write_hints(const struct fth_hints *hints, const struct fth_model_result *result,
                     const struct fth_report_options *options, struct fth_buffer *out);
void fth_json_hints(struct fth_json_writer *json, const struct fth_hints *hints);

/* ---- model_source.c ---- */

/* How the figures of source lines are written. */
enum fth_lines_form {
    FTH_LINES_TEXT,    /* a table per kernel */
    FTH_LINES_LISTING, /* next to the text of the source */
    FTH_LINES_CSV      /* one table of all kernels */
};
void fth_write_model_source(const struct fth_model_result *result,
                            const struct fth_model_params *params, enum fth_lines_form form,
                            const struct fth_model_report *more,
                            const struct fth_report_options *options, struct fth_buffer *out,
                            bool *failed);
/* Writes the text of the source files of all kernels as a list "sources". */
void fth_json_sources(struct fth_json_writer *json, const struct fth_model_result *result,
                      const struct fth_model_report *more);

#endif
