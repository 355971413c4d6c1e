/* Collects the counts of each launch in rows: one per launch, one per kernel, and one per kernel
 * and instruction. */
#include "model/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum fth_status fth_model_rows_init(struct fth_model_rows *rows, const struct fth_trace *trace,
                                    struct fth_error *error)
{
    *rows =
        (struct fth_model_rows){.trace = trace, .instructions = fth_trace_instruction_count(trace)};
    rows->launches = calloc(fth_trace_launch_count(trace) + 1, sizeof *rows->launches);
    return rows->launches ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

static void free_row(struct fth_model_row *row)
{
    for (int i = 0; i < 2; i++) {
        free(row->l1_profile[i].counts);
        free(row->l2_profile[i].counts);
    }
}

void fth_model_rows_fini(struct fth_model_rows *rows)
{
    for (size_t i = 0; rows->launches && i < fth_trace_launch_count(rows->trace); i++)
        free_row(&rows->launches[i]);
    for (size_t i = 0; i < rows->kernel_count * (rows->instructions + 1); i++)
        free_row(&rows->kernels[i]);
    free(rows->launches);
    free(rows->kernels);
    free(rows->names);
}

/* ---- the counts of a launch ---- */

/* The rows of a kernel, created at first use: the whole kernel, then its instructions. NULL: out of
 * memory. */
static struct fth_model_row *find_kernel(struct fth_model_rows *rows, const char *name)
{
    const size_t stride = rows->instructions + 1;
    for (size_t i = 0; i < rows->kernel_count; i++)
        if (strcmp(rows->names[i], name) == 0)
            return rows->kernels + i * stride;
    if (!fth_grow((void **)&rows->names, rows->kernel_count, &rows->name_capacity,
                  sizeof *rows->names) ||
        !fth_grow((void **)&rows->kernels, rows->kernel_count, &rows->kernel_capacity,
                  stride * sizeof *rows->kernels))
        return NULL;
    struct fth_model_row *kernel = rows->kernels + rows->kernel_count * stride;
    for (size_t i = 0; i < stride; i++)
        kernel[i] = (struct fth_model_row){
            .kernel = name,
            .launch = SIZE_MAX,
            .instruction = i ? fth_trace_instruction_at(rows->trace, i - 1) : NULL,
            .seconds = i ? (double)NAN : 0};
    rows->names[rows->kernel_count++] = name;
    return kernel;
}

/* Adds the counts of one instruction with these hints in this launch to a row. */
static void add_instruction(const struct fth_launch_counts *counts, size_t i, uint32_t hints,
                            struct fth_model_row *row)
{
    const struct fth_l2_counts *l2 = &counts->l2[i];
    const bool is_local = hints & FTH_TRACE_LOCAL, is_texture = hints & FTH_TRACE_TEXTURE;
    for (int kind = 0; kind < 3; kind++) {
        const uint64_t warps =
            hints & FTH_TRACE_CONTINUES ? 0 : counts->warps[3 * i + (size_t)kind];
        row->warps[kind] += warps;
        row->local_warps[kind] += is_local ? warps : 0;
        row->texture_warps[kind] += is_texture ? warps : 0;
    }
    for (size_t t = 0; t < counts->l1_arrays; t++) {
        fth_counts_add(&row->l1, &counts->l1[t][i]);
        if (is_local)
            fth_counts_add(&row->local, &counts->l1[t][i]);
        if (is_texture)
            fth_counts_add(&row->texture, &counts->l1[t][i]);
        if (counts->l1_misses)
            fth_misses_add(&row->l1_misses, &counts->l1_misses[t][i]);
    }
    fth_misses_add(&row->l2_misses, &l2->misses);
    fth_counts_add(&row->l2, &l2->counts);
    row->far_hits += l2->far_hits;
    row->dram_reads += l2->dram_reads;
    row->dram_writes += l2->dram_writes;
    if (counts->bypassed)
        fth_counts_add(&row->bypassed, &counts->bypassed[i].counts);
}

/* Adds the accesses of a launch to shared memory to its row, and to the rows of their instructions,
 * which follow that of the kernel. */
static void add_shared(const struct fth_trace *trace, size_t launch, struct fth_model_row *row,
                       struct fth_model_row *kernel)
{
    const struct fth_trace_shared *shared;
    for (size_t i = 0; (shared = fth_trace_shared_at(trace, launch, i)); i++) {
        struct fth_shared_counts counts = {.wavefronts = shared->wavefronts,
                                           .ideal_wavefronts = shared->ideal_wavefronts,
                                           .padded_wavefronts = shared->padded_wavefronts};
        counts.requests[fth_trace_instruction_at(trace, shared->instruction)->kind] =
            shared->requests;
        fth_shared_counts_add(&row->shared, &counts);
        fth_shared_counts_add(&kernel[shared->instruction + 1].shared, &counts);
    }
}

/* Adds the steps, fails and profiles of all L1s and L2 sides to a row. Steps are the maximum over
 * the L1s and over the sides, because these work in parallel. */
static bool add_totals(const struct fth_launch_counts *counts, struct fth_model_row *row)
{
    bool ok = true;
    for (size_t i = 0; i < counts->l1_total_count; i++) {
        const struct fth_cache_level_totals *totals = counts->l1_totals[i];
        if (!totals)
            continue;
        row->l1_steps = totals->steps > row->l1_steps ? totals->steps : row->l1_steps;
        row->l1_fails += totals->fails;
        for (int k = 0; k < 2; k++)
            ok = ok &&
                 fth_profile_add(&row->l1_profile[k], totals->profile[k], totals->profile_size);
    }
    for (size_t i = 0; i < counts->l2_total_count; i++) {
        const struct fth_cache_level_totals *totals = counts->l2_totals[i];
        row->l2_steps = totals->steps > row->l2_steps ? totals->steps : row->l2_steps;
        row->l2_fails += totals->fails;
        for (int k = 0; k < 2; k++)
            ok = ok &&
                 fth_profile_add(&row->l2_profile[k], totals->profile[k], totals->profile_size);
    }
    return ok;
}

/* Returns the number of SMs that have blocks of a launch. */
static double used_sms(const struct fth_trace_launch *launch, const struct fth_setting *setting)
{
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    return (double)(blocks < setting->sms ? blocks : setting->sms);
}

enum fth_status fth_model_rows_add(struct fth_model_rows *rows, size_t launch,
                                   const struct fth_launch_counts *counts, struct fth_error *error)
{
    struct fth_model_row *row = &rows->launches[launch];
    *row = (struct fth_model_row){.kernel = fth_trace_launch_at(rows->trace, launch)->kernel,
                                  .launch = launch,
                                  .launches = 1,
                                  .l1_bytes = counts->setting->l1_bytes,
                                  .blocks_at_once = counts->setting->blocks_at_once,
                                  .seconds = counts->seconds,
                                  .simulated_warps = counts->simulated,
                                  .l1_error_sectors = counts->l1_error,
                                  .l2_error_sectors = counts->l2_error};
    struct fth_model_row *kernel = find_kernel(rows, row->kernel);
    if (!kernel)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < rows->instructions; i++) {
        const uint32_t hints = fth_trace_instruction_at(rows->trace, i)->hints;
        add_instruction(counts, i, hints, row);
        add_instruction(counts, i, hints, &kernel[fth_trace_first_part(rows->trace, i) + 1]);
    }
    add_shared(rows->trace, launch, row, kernel);
    row->dram_reads += counts->l2[rows->instructions].dram_reads;
    row->dram_writes += counts->l2[rows->instructions].dram_writes;
    row->l1_read_sectors_per_sm =
        (double)row->l1.sectors[FTH_TRACE_READ] /
        used_sms(fth_trace_launch_at(rows->trace, launch), counts->setting);
    return add_totals(counts, row) && fth_row_add(kernel, row)
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

/* ---- the result ---- */

/* Appends a row to the result, which takes over its profiles. */
static bool move_row(struct fth_model_result *result, struct fth_model_row *row)
{
    if (!fth_grow((void **)&result->rows, result->row_count, &result->row_capacity,
                  sizeof *result->rows))
        return false;
    result->rows[result->row_count++] = *row;
    memset(row->l1_profile, 0, sizeof row->l1_profile);
    memset(row->l2_profile, 0, sizeof row->l2_profile);
    return true;
}

/* Moves the rows of a kernel to the result: the kernel, its launches if there are several, and its
 * instructions that were executed. */
static bool move_kernel(struct fth_model_rows *rows, size_t kernel, struct fth_model_result *result)
{
    struct fth_model_row *row = rows->kernels + kernel * (rows->instructions + 1);
    const size_t launches = fth_trace_launch_count(rows->trace);
    bool ok = move_row(result, &row[0]);
    for (size_t i = 0; i < launches && row[0].launches > 1 && ok; i++)
        if (rows->launches[i].kernel && strcmp(rows->launches[i].kernel, row[0].kernel) == 0)
            ok = move_row(result, &rows->launches[i]);
    for (size_t i = 1; i <= rows->instructions && ok; i++)
        if (row[i].warps[0] + row[i].warps[1] + row[i].warps[2] || row[i].shared.requests[0] ||
            row[i].shared.requests[1] || row[i].shared.requests[2])
            ok = move_row(result, &row[i]);
    return ok;
}

enum fth_status fth_model_rows_take(struct fth_model_rows *rows, const struct fth_curves *curves,
                                    struct fth_model_result **out, struct fth_error *error)
{
    struct fth_model_result *result = calloc(1, sizeof *result);
    bool ok = result != NULL;
    *out = NULL;
    for (size_t i = 0; i < rows->kernel_count && ok; i++)
        ok = move_kernel(rows, i, result);
    if (ok && curves)
        ok = fth_curves_finish(curves, result);
    if (!ok) {
        fth_model_result_destroy(result);
        return fth_no_memory(error, "model caches", NULL);
    }
    *out = result;
    return FTH_OK;
}
