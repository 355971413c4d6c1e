/* Curves: the misses of fully associative LRU caches of every size, from the exact stack distances
 * of all reads of each L1 and of the L2 (distance.c). They are an option of a run of one model. */
#include "model/run/run.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_curves_create(uint64_t sms, struct fth_curves **out, struct fth_error *error)
{
    struct fth_curves *curves = calloc(1, sizeof *curves);
    enum fth_status status = FTH_OK;
    *out = NULL;
    if (curves) {
        curves->sms = sms;
        curves->l1 = calloc((size_t)sms, sizeof(struct fth_distances *));
    }
    if (!curves || !curves->l1)
        status = fth_no_memory(error, "model caches", NULL);
    else
        status = fth_distances_create(&curves->l2, error);
    if (status == FTH_OK)
        *out = curves;
    else
        fth_curves_destroy(curves);
    return status;
}

void fth_curves_destroy(struct fth_curves *curves)
{
    if (!curves)
        return;
    for (uint64_t sm = 0; curves->l1 && sm < curves->sms; sm++)
        fth_distances_destroy(curves->l1[sm]);
    fth_distances_destroy(curves->l2);
    free(curves->l1);
    free(curves);
}

bool fth_curves_use_sm(struct fth_curves *curves, uint32_t sm)
{
    return curves->l1[sm] || fth_distances_create(&curves->l1[sm], NULL) == FTH_OK;
}

/* Adds sectors of a line to a stream. */
static bool add_sectors(const struct fth_curves *curves, struct fth_distances *distances,
                        uint64_t line, uint64_t sectors)
{
    uint64_t numbers[64];
    size_t count = 0;
    for (uint64_t left = sectors; left; left &= left - 1)
        numbers[count++] = (line >> curves->sector_shift) + (uint64_t)__builtin_ctzll(left);
    return fth_distances_add(distances, numbers, count, NULL);
}

void fth_curves_add_l1(struct fth_curves *curves, uint32_t sm, uint64_t line, uint64_t sectors)
{
    curves->failed = curves->failed || !fth_curves_use_sm(curves, sm) ||
                     !add_sectors(curves, curves->l1[sm], line, sectors);
}

void fth_curves_add_l2(struct fth_curves *curves, uint64_t line, uint64_t sectors)
{
    curves->failed = curves->failed || !add_sectors(curves, curves->l2, line, sectors);
}

bool fth_curves_add(struct fth_curves *curves, uint32_t sm, const struct fth_line_request *request,
                    uint64_t sent)
{
    return request->kind != FTH_TRACE_READ ||
           (add_sectors(curves, curves->l1[sm], request->line, request->sectors) &&
            add_sectors(curves, curves->l2, request->line, sent));
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

bool fth_curves_finish(const struct fth_curves *curves, struct fth_model_result *result)
{
    bool ok = !curves->failed && add_curve(&result->curves[FTH_MODEL_L2], curves->l2);
    for (uint64_t sm = 0; sm < curves->sms && ok; sm++)
        if (curves->l1[sm])
            ok = add_curve(&result->curves[FTH_MODEL_L1], curves->l1[sm]);
    return ok;
}
