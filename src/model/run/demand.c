/* What the threads of kernels need: counts of the trace that do not depend on the caches. */
#include "model/run/run.h"

#include <math.h>
#include <string.h>

/* Adds what the instruction of a row needs to the row of its kernel. */
static void add_demand(struct fth_model_demand *to, const struct fth_model_demand *from,
                       bool is_texture)
{
    for (int kind = 0; kind < 3; kind++) {
        to->requested_bytes[kind] += from->requested_bytes[kind];
        to->used_bytes[kind] += from->used_bytes[kind];
        to->ideal_sectors[kind] += from->ideal_sectors[kind];
        to->touched_bytes[kind] += is_texture ? from->touched_bytes[kind] : 0;
    }
    to->touched_all_bytes += is_texture ? from->touched_all_bytes : 0;
}

static void copy_demand(struct fth_model_demand *to, const struct fth_trace_row *from)
{
    memcpy(to->requested_bytes, from->requested_bytes, sizeof to->requested_bytes);
    memcpy(to->used_bytes, from->used_bytes, sizeof to->used_bytes);
    memcpy(to->ideal_sectors, from->ideal_sectors, sizeof to->ideal_sectors);
    memcpy(to->touched_bytes, from->touched_bytes, sizeof to->touched_bytes);
    to->touched_all_bytes = from->touched_all_bytes;
}

/* Finds the counts of a row, beginning at row *at of the statistics, which have the same order. */
static const struct fth_trace_row *find_row(const struct fth_trace_stats *stats,
                                            const struct fth_model_row *row, size_t *at)
{
    const struct fth_trace_row *found;
    for (size_t i = *at; (found = fth_trace_stats_row(stats, i)); i++)
        if (found->instruction == row->instruction && strcmp(found->kernel, row->kernel) == 0) {
            *at = i + 1;
            return found;
        }
    return NULL;
}

enum fth_status fth_model_add_demand(const struct fth_trace *trace,
                                     const struct fth_model_options *options,
                                     struct fth_model_result *result, struct fth_error *error)
{
    struct fth_trace_stats *stats = NULL;
    FTH_TRY(fth_trace_stats_of_kernel(trace, options->kernel, options->log, &stats, error));
    struct fth_model_row *kernel = NULL;
    result->diagnosed = true;
    for (size_t i = 0, at = 0; i < result->row_count; i++) {
        struct fth_model_row *row = &result->rows[i];
        if (row->launch != SIZE_MAX)
            continue;
        const struct fth_trace_row *counts = find_row(stats, row, &at);
        if (!counts)
            continue;
        copy_demand(&row->demand, counts);
        if (row->instruction && kernel) {
            add_demand(&kernel->demand, &row->demand, row->instruction->hints & FTH_TRACE_TEXTURE);
            continue;
        }
        /* The counts of a kernel are the sums over its instructions. */
        kernel = row;
        memset(row->demand.requested_bytes, 0, sizeof row->demand.requested_bytes);
        memset(row->demand.used_bytes, 0, sizeof row->demand.used_bytes);
        memset(row->demand.ideal_sectors, 0, sizeof row->demand.ideal_sectors);
    }
    fth_trace_stats_destroy(stats);
    return FTH_OK;
}

double fth_launch_instructions(const struct fth_trace *trace, size_t launch)
{
    const struct fth_pace *pace = fth_trace_pace(trace, launch);
    double instructions = pace && pace->count ? 0 : (double)NAN;
    for (size_t i = 0; pace && i < pace->count; i++)
        instructions += (double)pace->steps[i].instructions;
    return instructions;
}
