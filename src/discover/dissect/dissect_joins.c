/* Which SMs join their reads on the way to the L2, for 'fathom dissect' (probe/l2/l2_joins.c). */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes the window and the extent of joins, or why they are not known. */
static enum fth_status note_join_figures(struct fth_gpu *gpu, const struct fth_joins *found,
                                         size_t sms, struct fth_error *error)
{
    if (found->group_count == sms) {
        static const char none[] = "no two SMs join their reads";
        FTH_TRY(fth_note_unknown(gpu, "l2", "join_window_cycles", none, error));
        return fth_note_unknown(gpu, "l2", "join_extent", none, error);
    }
    if (isnan(found->window_cycles))
        FTH_TRY(fth_note_unknown(gpu, "l2", "join_window_cycles",
                                 "reads are joined at every lag, or at none", error));
    else
        FTH_TRY(fth_note(gpu,
                         &(struct fth_note){.element = "l2",
                                            .attribute = "join_window_cycles",
                                            .number = found->window_cycles,
                                            .interval = (const double[]){found->low, found->high},
                                            .samples = found->samples,
                                            .method = "lag that separates joined reads of two "
                                                      "SMs from others; lines in the near L2"},
                         error));
    if (!found->has_extent)
        return fth_note_unknown(gpu, "l2", "join_extent",
                                "reads of single sectors are not joined, or lines have one sector",
                                error);
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "join_extent",
                                       .text = found->joins_lines ? "line" : "sectors",
                                       .evidence = &found->extent_evidence,
                                       .samples = found->samples,
                                       .method = "whether reads of different sectors of a line are "
                                                 "joined"},
                    error);
}

/* Returns an SM that joins with no other, if most SMs join with others; SIZE_MAX: there is none. On
 * an H200, the reads of an SM were not seen to be joined with those of its group in 3 of about 100
 * runs. */
static size_t find_lonely_sm(const struct fth_joins *found, size_t sms)
{
    size_t lonely = 0, last = SIZE_MAX;
    for (size_t i = 0; i < sms; i++) {
        size_t same = 0;
        for (size_t j = 0; j < sms; j++)
            same += found->groups[j] == found->groups[i];
        if (same == 1) {
            lonely++;
            last = i;
        }
    }
    return 2 * lonely < sms ? last : SIZE_MAX;
}

/* Writes the groups of SMs that join their reads, or why they are not known. */
static enum fth_status note_join_groups(struct fth_gpu *gpu, const struct fth_joins *found,
                                        double *numbers, size_t sms, struct fth_error *error)
{
    const struct fth_evidence evidence = {.repeats = (double)found->checked,
                                          .agree = (double)found->agreed};
    const size_t lonely = find_lonely_sm(found, sms);
    char reason[96];
    if (lonely != SIZE_MAX) {
        snprintf(reason, sizeof reason, "SM %zu joins reads with no other SM, and most SMs do",
                 lonely);
        return fth_note_unknown(gpu, "l2", "join_group_by_sm", reason, error);
    }
    for (size_t i = 0; i < sms; i++)
        numbers[i] = found->groups[i];
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "join_group_by_sm",
                                       .numbers = numbers,
                                       .count = sms,
                                       .evidence = &evidence,
                                       .samples = found->samples,
                                       .method = "which SMs read a line faster if another SM "
                                                 "reads it just before"},
                    error);
}

static enum fth_status note_joins(struct fth_gpu *gpu, const struct fth_joins *found,
                                  double *numbers, size_t sms, struct fth_error *error)
{
    FTH_TRY(note_join_groups(gpu, found, numbers, sms, error));
    return note_join_figures(gpu, found, sms, error);
}

enum fth_status fth_dissect_joins(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const size_t sms = discovery->prober.sms;
    const double line = fth_gpu_number(gpu, "l2", "line_bytes", 128);
    /* Without a sector size, the fill tells which parts of a line can be read separately. */
    const double sector =
        fth_gpu_number(gpu, "l2", "sector_bytes", fth_gpu_number(gpu, "l2", "fill_bytes", line));
    struct fth_joins found = {.groups = calloc(sms, sizeof *found.groups)};
    double *numbers = calloc(sms, sizeof *numbers);
    enum fth_status status;
    if (!found.groups || !numbers) {
        status = fth_no_memory(error, "find joined reads", NULL);
        goto out;
    }
    status = fth_probe_joins(&discovery->prober, (uint64_t)line, (uint64_t)sector, &found, error);
    if (status == FTH_OK)
        status = note_joins(discovery->gpu, &found, numbers, sms, error);
    else
        status = fth_note_failure(discovery->gpu, "l2", "join_group_by_sm", status, error);
out:
    free(numbers);
    free(found.groups);
    return status;
}
