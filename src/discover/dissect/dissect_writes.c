/* What stores do to L1 and L2, for 'fathom dissect' (probe/cache/l1_writes.c,
 * probe/l2/l2_writes.c). The results become attributes with a confidence, or reasons under
 * "unknown". */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How an effect becomes an attribute: its values if loads find the data and if they do not. */
struct written {
    const char *element, *attribute;
    const char *if_kept, *if_lost;
    const char *method;
};

/* Writes the attribute, or the reason why it is unknown. */
static enum fth_status note_effect(struct fth_gpu *gpu, const struct written *written,
                                   const struct fth_write_effect *effect, size_t samples,
                                   struct fth_error *error)
{
    char loads[96];
    snprintf(loads, sizeof loads, "%zu of %zu loads found the data", effect->found, effect->loads);
    if (effect->outcome == FTH_WRITE_UNDECIDED)
        return fth_note_unknown(gpu, written->element, written->attribute, loads, error);
    return fth_note(gpu,
                    &(struct fth_note){.element = written->element,
                                       .attribute = written->attribute,
                                       .text = effect->outcome == FTH_WRITE_KEPT ? written->if_kept
                                                                                 : written->if_lost,
                                       .evidence = &effect->evidence,
                                       .samples = samples,
                                       .method = written->method,
                                       .note = loads},
                    error);
}

/* Writes the reason of a failed probe for several attributes of an element. The list ends with
 * NULL. Any status but FTH_INCONCLUSIVE and FTH_UNSUPPORTED is returned as it is. */
static enum fth_status note_failures(struct fth_gpu *gpu, const char *element,
                                     const char *const *attributes, enum fth_status status,
                                     struct fth_error *error)
{
    FTH_TRY(fth_note_failure(gpu, element, attributes[0], status, error));
    const char *reason = fth_gpu_unknown(gpu, element, attributes[0]);
    for (size_t i = 1; attributes[i]; i++)
        FTH_TRY(
            fth_note_unknown(gpu, element, attributes[i], reason ? reason : "inconclusive", error));
    return FTH_OK;
}

/* ---- L1 ---- */

static enum fth_status note_l1(struct fth_gpu *gpu, const struct fth_l1_writes *found,
                               struct fth_error *error)
{
    static const struct written miss = {
        "l1", "write_miss", "allocate", "no_allocate",
        "store to lines that are not in L1, then time a load of each"};
    static const struct written hit = {"l1", "write_hit", "update", "evict",
                                       "store to lines that are in L1, then time a load of each"};
    static const struct written evicts = {
        "l1", "write_evicts", "sector", "line",
        "store to lines that are in L1, then time a load of the other half of each"};
    FTH_TRY(note_effect(gpu, &miss, &found->miss, found->samples, error));
    FTH_TRY(note_effect(gpu, &hit, &found->hit, found->samples, error));
    if (found->hit.outcome == FTH_WRITE_UNDECIDED)
        return fth_note_unknown(gpu, "l1", "write_evicts",
                                "what a store evicts is only known if "
                                "write_hit is",
                                error);
    return found->hit.outcome == FTH_WRITE_LOST
               ? note_effect(gpu, &evicts, &found->neighbour, found->samples, error)
               : FTH_OK;
}

enum fth_status fth_dissect_l1_writes(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char *const attributes[] = {"write_miss", "write_hit", "write_evicts", NULL};
    struct fth_gpu *gpu = discovery->gpu;
    const double size = fth_gpu_number(gpu, "l1", "size_bytes", NAN);
    const double line = fth_gpu_number(gpu, "l1", "line_bytes", NAN);
    struct fth_l1_writes found = {.samples = 0};
    enum fth_status status;
    if (isnan(size) || isnan(line))
        status = fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L1", NULL,
                          "its %s is not known", isnan(size) ? "size" : "line");
    else
        status = fth_probe_l1_writes(&discovery->prober,
                                     &(struct fth_l1_write_plan){.carveout_percent = 0,
                                                                 .size_bytes = (uint64_t)size,
                                                                 .line_bytes = (uint64_t)line},
                                     &found, error);
    return status == FTH_OK ? note_l1(gpu, &found, error)
                            : note_failures(gpu, "l1", attributes, status, error);
}

/* ---- L2 ---- */

static enum fth_status note_l2(struct fth_gpu *gpu, const struct fth_l2_writes *found,
                               struct fth_error *error)
{
    static const struct written miss = {
        "l2", "write_miss", "allocate", "no_allocate",
        "store to whole lines that are not in L2, then time loads of them"};
    static const struct written partial = {
        "l2", "partial_write", "mask", "fetch",
        "store to 8 bytes of lines that are not in L2, then time loads of these bytes"};
    FTH_TRY(note_effect(gpu, &miss, &found->whole, found->samples, error));
    return found->whole.outcome == FTH_WRITE_KEPT
               ? note_effect(gpu, &partial, &found->partial, found->samples, error)
               : fth_note_unknown(gpu, "l2", "partial_write",
                                  "stores to missing lines are not known to allocate them", error);
}

/* Returns an SM whose near partition is not that of SM 0; 0: none is known. */
static uint32_t find_other_side(const struct fth_gpu *gpu, size_t sms)
{
    const struct fth_attribute *sides = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    for (size_t i = 1; sides && i < sides->count && i < sms; i++)
        if (sides->numbers[i] != sides->numbers[0])
            return (uint32_t)i;
    return 0;
}

static enum fth_status find_copies(struct fth_discovery *discovery, struct fth_error *error)
{
    static const struct written copy = {
        "l2", "write_far_copy", "update", "invalidate",
        "an SM loads lines of the far partition, an SM near that partition stores to them; whether "
        "the first SM still finds them near"};
    const uint32_t writer = find_other_side(discovery->gpu, discovery->prober.sms);
    struct fth_write_effect copies;
    size_t samples = 0;
    if (writer == 0)
        return fth_note_unknown(discovery->gpu, "l2", copy.attribute,
                                "no SM is known to be near another partition than SM 0", error);
    const enum fth_status status = fth_probe_far_copies(&discovery->prober, &discovery->l2_map,
                                                        writer, &copies, &samples, error);
    return status == FTH_OK ? note_effect(discovery->gpu, &copy, &copies, samples, error)
                            : fth_note_failure(discovery->gpu, "l2", copy.attribute, status, error);
}

enum fth_status fth_dissect_l2_writes(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char *const attributes[] = {"write_miss", "partial_write", NULL};
    struct fth_gpu *gpu = discovery->gpu;
    const struct fth_l2_map_plan *plan = &discovery->l2_map;
    struct fth_l2_writes found = {.samples = 0};
    enum fth_status status;
    if (plan->size_bytes == 0) /* fth_dissect_l2_map has written the reason */
        status = fth_fail(error, FTH_INCONCLUSIVE, "find what a store does to L2", NULL,
                          "its thresholds are not known");
    else
        status = fth_probe_l2_writes(
            &discovery->prober, plan,
            (uint64_t)fth_gpu_number(gpu, "l2", "fill_bytes", (double)plan->line_bytes), &found,
            error);
    FTH_TRY(status == FTH_OK ? note_l2(gpu, &found, error)
                             : note_failures(gpu, "l2", attributes, status, error));
    return plan->size_bytes && fth_gpu_number(gpu, "l2", "partitions", 1) == 2
               ? find_copies(discovery, error)
               : FTH_OK;
}
