/* The state of a model run: the caches and the counts by launch, kernel and instruction. An L1 is
 * created at its first use and emptied for each launch; the L2 is kept, unless l2.cold is set. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_work_init(struct fth_model_work *work, struct fth_error *error)
{
    work->instructions = fth_trace_instruction_count(work->trace);
    work->count_arrays = fth_workers_thread_count(work->options.threads);
    work->sms = fth_model_integer(work->params, FTH_KEY_SMS);
    work->l1 = calloc((size_t)work->sms, sizeof *work->l1);
    work->used = calloc((size_t)work->sms, sizeof *work->used);
    work->side_of_sm = calloc((size_t)work->sms, sizeof *work->side_of_sm);
    work->first_group = calloc((size_t)work->sms, sizeof *work->first_group);
    work->l1_distances = calloc((size_t)work->sms, sizeof(struct fth_distances *));
    work->l1_counts = calloc(work->count_arrays, sizeof *work->l1_counts);
    for (size_t i = 0; work->l1_counts && i < work->count_arrays; i++)
        work->l1_counts[i] = calloc(work->instructions + 1, sizeof **work->l1_counts);
    work->warps = calloc(3 * (work->instructions + 1), sizeof *work->warps);
    work->launches = calloc(fth_trace_launch_count(work->trace) + 1, sizeof *work->launches);
    bool ok = work->l1 && work->used && work->side_of_sm && work->first_group &&
              work->l1_distances && work->l1_counts && work->warps && work->launches;
    for (size_t i = 0; ok && i < work->count_arrays; i++)
        ok = work->l1_counts[i] != NULL;
    if (!ok)
        return fth_no_memory(error, "model caches", NULL);
    fth_workers_create(work, work->count_arrays);
    return work->options.curves ? fth_distances_create(&work->l2_distances, error) : FTH_OK;
}

void fth_batch_fini(struct fth_batch *batch)
{
    fth_requests_fini(&batch->requests);
    free(batch->groups);
    *batch = (struct fth_batch){0};
}

static void free_row(struct fth_model_row *row)
{
    for (int i = 0; i < 2; i++) {
        free(row->l1_profile[i].counts);
        free(row->l2_profile[i].counts);
    }
}

static void free_l1s(struct fth_model_work *work)
{
    for (uint64_t sm = 0; work->l1 && sm < work->sms; sm++) {
        fth_cache_level_destroy(work->l1[sm]);
        work->l1[sm] = NULL;
    }
}

void fth_work_fini(struct fth_model_work *work)
{
    fth_workers_destroy(work->workers);
    free_l1s(work);
    for (uint64_t sm = 0; work->l1_distances && sm < work->sms; sm++)
        fth_distances_destroy(work->l1_distances[sm]);
    for (size_t i = 0; work->l1_counts && i < work->count_arrays; i++)
        free(work->l1_counts[i]);
    for (size_t i = 0; work->launches && i < fth_trace_launch_count(work->trace); i++)
        free_row(&work->launches[i]);
    for (size_t i = 0; i < work->kernel_count * (work->instructions + 1); i++)
        free_row(&work->kernels[i]);
    fth_placement_destroy(work->placement);
    fth_distances_destroy(work->l2_distances);
    fth_join_destroy(work->join);
    free(work->join_group_of_sm);
    fth_l2_destroy(work->l2);
    fth_l2_destroy(work->bypassed);
    for (size_t i = 0; i < FTH_MAX_WINDOW_WAVES; i++)
        fth_batch_fini(&work->batches[i]);
    free(work->l1);
    free(work->stack_totals);
    free(work->used);
    free(work->side_of_sm);
    free(work->first_group);
    free(work->l1_distances);
    free(work->l1_counts);
    free(work->warps);
    free(work->launches);
    free(work->kernels);
    free(work->names);
    free(work);
}

/* ---- start of a launch ---- */

/* Sets the L2 side of each SM from the parameter l2.side_of_sm. */
static enum fth_status read_sides(struct fth_model_work *work, struct fth_error *error)
{
    const char *text = work->params->values[FTH_KEY_SIDE_OF_SM].text;
    uint32_t *sides = NULL;
    size_t count = 0;
    enum fth_status status = FTH_OK;
    if (strcmp(text, "alternate") != 0)
        status = fth_number_list("l2.side_of_sm", text, work->setting.sides, &sides, &count, error);
    for (uint64_t sm = 0; status == FTH_OK && sm < work->sms; sm++)
        work->side_of_sm[sm] =
            (uint8_t)(count ? sides[sm % count] : (uint32_t)(sm % work->setting.sides));
    free(sides);
    return status;
}

/* Reads the join group of each SM from the parameter l2.joins, once per run. */
static enum fth_status read_join_groups(struct fth_model_work *work, struct fth_error *error)
{
    const char *text = work->params->values[FTH_KEY_JOINS].text;
    if (strcmp(text, "none") == 0 || work->join_group_of_sm)
        return FTH_OK;
    work->join = fth_join_create();
    return work->join ? fth_number_list("l2.joins", text, UINT32_MAX, &work->join_group_of_sm,
                                        &work->join_group_count, error)
                      : fth_no_memory(error, "model caches", NULL);
}

static enum fth_status make_l2(struct fth_model_work *work, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (!work->l2) {
        status = fth_l2_create(&work->setting, work->instructions, &work->l2, error);
        if (status == FTH_OK && work->options.bypassed)
            status = fth_l2_create(&work->setting, work->instructions, &work->bypassed, error);
    } else if (work->setting.cold) {
        fth_l2_clear(work->l2);
        if (work->bypassed)
            fth_l2_clear(work->bypassed);
    }
    return status;
}

enum fth_status fth_work_begin(struct fth_model_work *work, size_t launch, struct fth_error *error)
{
    const struct fth_trace_launch *head = fth_trace_launch_at(work->trace, launch);
    FTH_TRY(fth_model_setting(work->params, head, &work->setting, error));
    fth_placement_destroy(work->placement);
    work->placement = NULL;
    enum fth_status status =
        fth_placement_create(work->params, &work->setting, &work->placement, error);
    if (status == FTH_OK)
        status = read_sides(work, error);
    if (status == FTH_OK)
        status = read_join_groups(work, error);
    if (status == FTH_OK)
        status = make_l2(work, error);
    if (work->join)
        fth_join_clear(work->join);
    work->rounds_since_join_clear = 0;
    work->active_sms = work->setting.blocks < work->sms ? work->setting.blocks : work->sms;
    work->groups_since_flush = work->bypassed_groups_since_flush = 0;
    if (work->setting.l1.lines != work->l1_shape.lines)
        free_l1s(work);
    work->l1_shape = work->setting.l1;
    memset(work->used, 0, (size_t)work->sms * sizeof *work->used);
    return status;
}

enum fth_status fth_work_prepare_l1(struct fth_model_work *work, uint32_t sm,
                                    struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (work->used[sm])
        return FTH_OK;
    work->used[sm] = true;
    if (work->l1[sm]) {
        fth_cache_level_clear(work->l1[sm]);
        fth_cache_level_set_latency(work->l1[sm], &work->setting.l1);
    } else {
        status = fth_cache_level_create(&work->setting.l1, &work->l1[sm], error);
    }
    if (status == FTH_OK && work->options.curves && !work->l1_distances[sm])
        status = fth_distances_create(&work->l1_distances[sm], error);
    return status;
}

/* ---- end of a launch ---- */

/* The rows of a kernel, created at first use: the whole kernel, then its instructions. NULL: out of
 * memory. */
static struct fth_model_row *find_kernel(struct fth_model_work *work, const char *name)
{
    const size_t stride = work->instructions + 1;
    for (size_t i = 0; i < work->kernel_count; i++)
        if (strcmp(work->names[i], name) == 0)
            return work->kernels + i * stride;
    if (!fth_grow((void **)&work->names, work->kernel_count, &work->name_capacity,
                  sizeof *work->names) ||
        !fth_grow((void **)&work->kernels, work->kernel_count, &work->kernel_capacity,
                  stride * sizeof *work->kernels))
        return NULL;
    struct fth_model_row *rows = work->kernels + work->kernel_count * stride;
    for (size_t i = 0; i < stride; i++)
        rows[i] = (struct fth_model_row){
            .kernel = name,
            .launch = SIZE_MAX,
            .instruction = i ? fth_trace_instruction_at(work->trace, i - 1) : NULL};
    work->names[work->kernel_count++] = name;
    return rows;
}

/* Adds the counts of one instruction in this launch to a row. */
static void add_instruction_counts(const struct fth_model_work *work, size_t i,
                                   struct fth_model_row *row)
{
    const struct fth_l2_counts *l2 = fth_l2_counts(work->l2, i);
    for (int kind = 0; kind < 3; kind++)
        row->warps[kind] += work->warps[3 * i + (size_t)kind];
    for (size_t t = 0; t < work->count_arrays; t++)
        fth_counts_add(&row->l1, &work->l1_counts[t][i]);
    fth_counts_add(&row->l2, &l2->counts);
    row->far_hits += l2->far_hits;
    row->dram_reads += l2->dram_reads;
    row->dram_writes += l2->dram_writes;
    if (work->bypassed)
        fth_counts_add(&row->bypassed, &fth_l2_counts(work->bypassed, i)->counts);
}

/* Adds the steps, fails and profiles of all L1s and L2 sides to a row. Steps are the maximum over
 * the L1s and over the sides, because these work in parallel. */
static bool add_totals(const struct fth_model_work *work, struct fth_model_row *row)
{
    bool ok = true;
    for (uint64_t sm = 0; sm < work->sms; sm++) {
        if (!work->used[sm])
            continue;
        const struct fth_cache_level_totals *totals =
            work->stack_totals ? work->stack_totals[sm] : fth_cache_level_totals(work->l1[sm]);
        row->l1_steps = totals->steps > row->l1_steps ? totals->steps : row->l1_steps;
        row->l1_fails += totals->fails;
        for (int i = 0; i < 2; i++)
            ok = ok &&
                 fth_profile_add(&row->l1_profile[i], totals->profile[i], totals->profile_size);
    }
    for (uint64_t side = 0; side < work->setting.sides; side++) {
        const struct fth_cache_level_totals *totals = fth_l2_totals(work->l2, side);
        row->l2_steps = totals->steps > row->l2_steps ? totals->steps : row->l2_steps;
        row->l2_fails += totals->fails;
        for (int i = 0; i < 2; i++)
            ok = ok &&
                 fth_profile_add(&row->l2_profile[i], totals->profile[i], totals->profile_size);
    }
    return ok;
}

enum fth_status fth_work_add_results(struct fth_model_work *work, size_t launch,
                                     struct fth_error *error)
{
    struct fth_model_row *row = &work->launches[launch];
    *row = (struct fth_model_row){.kernel = fth_trace_launch_at(work->trace, launch)->kernel,
                                  .launch = launch,
                                  .launches = 1,
                                  .l1_bytes = work->setting.l1_bytes,
                                  .blocks_at_once = work->setting.blocks_at_once};
    struct fth_model_row *kernel = find_kernel(work, row->kernel);
    if (!kernel)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < work->instructions; i++) {
        add_instruction_counts(work, i, row);
        add_instruction_counts(work, i, &kernel[i + 1]);
    }
    row->dram_writes += fth_l2_counts(work->l2, work->instructions)->dram_writes;
    return add_totals(work, row) && fth_row_add(kernel, row)
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

void fth_work_reset_counts(struct fth_model_work *work)
{
    for (uint64_t sm = 0; sm < work->sms; sm++)
        if (work->used[sm] && work->l1[sm])
            fth_cache_level_reset_totals(work->l1[sm]);
    for (size_t t = 0; t < work->count_arrays; t++)
        memset(work->l1_counts[t], 0, (work->instructions + 1) * sizeof **work->l1_counts);
    memset(work->warps, 0, 3 * (work->instructions + 1) * sizeof *work->warps);
    fth_l2_reset_counts(work->l2);
    if (work->bypassed)
        fth_l2_reset_counts(work->bypassed);
}

enum fth_status fth_work_end(struct fth_model_work *work, size_t launch, struct fth_error *error)
{
    const enum fth_status status = fth_work_add_results(work, launch, error);
    if (status == FTH_OK)
        fth_work_reset_counts(work);
    return status;
}

/* ---- result ---- */

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

/* Adds a stream of stack distances to a curve. */
static bool add_curve(struct fth_model_curve *curve, const struct fth_distances *distances)
{
    size_t count;
    uint64_t fresh;
    const uint64_t *profile = fth_distances_profile(distances, &count, &fresh);
    if (count > curve->count || !curve->profile) {
        uint64_t *larger = realloc(curve->profile, (count + 1) * sizeof *larger);
        if (!larger)
            return false;
        memset(larger + curve->count, 0, (count + 1 - curve->count) * sizeof *larger);
        curve->profile = larger;
        curve->count = count;
    }
    for (size_t i = 0; i < count; i++)
        curve->profile[i] += profile[i];
    curve->fresh += fresh;
    return true;
}

static bool add_curves(const struct fth_model_work *work, struct fth_model_result *result)
{
    bool ok = add_curve(&result->curves[FTH_MODEL_L2], work->l2_distances);
    for (uint64_t sm = 0; sm < work->sms && ok; sm++)
        if (work->l1_distances[sm])
            ok = add_curve(&result->curves[FTH_MODEL_L1], work->l1_distances[sm]);
    return ok;
}

/* Moves the rows of a kernel to the result: the kernel, its launches if there are several, and its
 * instructions that were executed. */
static bool add_kernel(struct fth_model_work *work, size_t kernel, struct fth_model_result *result)
{
    struct fth_model_row *rows = work->kernels + kernel * (work->instructions + 1);
    const size_t launches = fth_trace_launch_count(work->trace);
    bool ok = move_row(result, &rows[0]);
    for (size_t i = 0; i < launches && rows[0].launches > 1 && ok; i++)
        if (work->launches[i].kernel && strcmp(work->launches[i].kernel, rows[0].kernel) == 0)
            ok = move_row(result, &work->launches[i]);
    for (size_t i = 1; i <= work->instructions && ok; i++)
        if (rows[i].warps[0] + rows[i].warps[1] + rows[i].warps[2])
            ok = move_row(result, &rows[i]);
    return ok;
}

enum fth_status fth_work_result(struct fth_model_work *work, struct fth_model_result **out,
                                struct fth_error *error)
{
    struct fth_model_result *result = calloc(1, sizeof *result);
    bool ok = result != NULL;
    for (size_t i = 0; i < work->kernel_count && ok; i++)
        ok = add_kernel(work, i, result);
    if (ok && work->options.curves)
        ok = add_curves(work, result);
    if (!ok) {
        fth_model_result_destroy(result);
        return fth_no_memory(error, "model caches", NULL);
    }
    *out = result;
    return FTH_OK;
}
