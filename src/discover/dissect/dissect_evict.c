/* Sets, ways and policy of an L2 from eviction sets (probe/l2/l2_evict.c), for 'fathom dissect'.
 * They are used where chains with a constant stride do not find them (dissect_cache.c): in an L2
 * with several partitions, or with an index function that is a hash. */
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>

/* Maximum number of lines of a partition of a simulated GPU, because of the time: a search reads
 * hundreds of times as many lines as the partition holds, and takes about a second for this number.
 */
static const double max_simulated_lines = 8192;

static enum fth_status note_evict_sets(struct fth_gpu *gpu, const struct fth_eviction_sets *found,
                                       struct fth_error *error)
{
    char method[200];
    if (found->sets == 0 && isnan(found->evicted))
        return fth_note_reason(gpu, "l2", "sets",
                               "the lines of a partition are not a multiple of the ways", error);
    if (found->sets == 0) {
        fth_format(method, sizeof method,
                   "as many random lines as a partition holds evict %.2f of the lines read before; "
                   "with an even hash it would be %.2f",
                   found->evicted, found->expected);
        return fth_note_reason(gpu, "l2", "sets", method, error);
    }
    if (isnan(found->evicted))
        snprintf(method, sizeof method, "size of a partition / (ways x line)");
    else
        fth_format(method, sizeof method,
                   "size of a partition / (ways x line); as many random lines as a partition holds "
                   "evict %.2f of the lines read before, expected %.2f",
                   found->evicted, found->expected);
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "sets",
                                       .number = (double)found->sets,
                                       .evidence = &found->evidence,
                                       .samples = found->samples,
                                       .method = method},
                    error);
}

static enum fth_status note_evict_policy(struct fth_gpu *gpu, const struct fth_eviction_sets *found,
                                         struct fth_error *error)
{
    if (!found->policy)
        return fth_note_reason(gpu, "l2", "policy",
                               found->ambiguous_policy
                                   ? "more than one policy predicts every read of a set"
                                   : "neither LRU nor FIFO nor tree PLRU predicts every read of a "
                                     "set",
                               error);
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "policy",
                                       .text = found->policy,
                                       .evidence = &found->policy_evidence,
                                       .samples = found->samples,
                                       .method = "the only policy of several that predicts every "
                                                 "hit and miss of a set"},
                    error);
}

static enum fth_status note_eviction_sets(struct fth_gpu *gpu,
                                          const struct fth_eviction_sets *found,
                                          struct fth_error *error)
{
    char method[160];
    snprintf(method, sizeof method,
             "minimal sets of lines that evict a line: %zu of %zu targets have a set of this size",
             found->agreed, found->searched);
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = "l2",
                                        .attribute = "ways",
                                        .number = (double)found->ways,
                                        .evidence = &found->evidence,
                                        .samples = found->samples,
                                        .method = method},
                     error));
    FTH_TRY(note_evict_sets(gpu, found, error));
    FTH_TRY(note_evict_policy(gpu, found, error));
    return fth_note_reason(gpu, "l2", "index", "eviction sets do not show the index function",
                           error);
}

/* Adds the cause to the reasons why the structure is unknown. */
static enum fth_status note_no_sets(struct fth_gpu *gpu, const char *cause, struct fth_error *error)
{
    static const char *const attributes[] = {"sets", "ways", "policy"};
    for (size_t i = 0; i < FTH_COUNT(attributes); i++) {
        const char *earlier = fth_gpu_unknown(gpu, "l2", attributes[i]);
        char reason[600];
        snprintf(reason, sizeof reason, "%s%seviction sets: %s", earlier ? earlier : "",
                 earlier ? "; " : "", cause);
        FTH_TRY(fth_note_reason(gpu, "l2", attributes[i], reason, error));
    }
    return FTH_OK;
}

enum fth_status fth_dissect_eviction_sets(struct fth_discovery *discovery,
                                          const struct fth_l2_map_plan *map,
                                          struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    const double line = fth_gpu_number(gpu, "l2", "line_bytes", NAN);
    const double sector = fth_gpu_number(gpu, "l2", "sector_bytes", line);
    const double fill = fth_gpu_number(gpu, "l2", "fill_bytes", sector);
    const double partition = (double)map->size_bytes / fth_gpu_number(gpu, "l2", "partitions", 1);
    if (fth_gpu_attribute(gpu, "l2", "ways") || isnan(line))
        return FTH_OK;
    if (!fth_gpu_attribute(gpu, "l2", "partitions"))
        return note_no_sets(gpu, "the number of partitions is not known", error);
    if (discovery->simulated && partition / line > max_simulated_lines)
        return FTH_OK;
    const double hit = discovery->l2_overhead_cycles + discovery->l2.value;
    const struct fth_evict_plan plan = {
        .partition_bytes = (uint64_t)partition,
        .line_bytes = (uint64_t)line,
        /* The other half of the line, if it is valid separately, otherwise the next line. */
        .warm_bytes = (uint64_t)(2 * fmax(sector, fill) <= line ? line / 2 : line),
        .max_bytes =
            (uint64_t)(fth_walked_memory_fraction * fth_gpu_number(gpu, "memory", "size_bytes", 0)),
        /* With one partition, near_threshold is just below the latency of memory. */
        .threshold_cycles = fmin(map->near_threshold, (hit + map->memory_threshold) / 2)};
    struct fth_eviction_sets found;
    struct fth_error fault = FTH_NO_ERROR;
    const enum fth_status status =
        fth_probe_eviction_sets(&discovery->prober, &plan, &found, &fault);
    if (status == FTH_OK)
        return note_eviction_sets(gpu, &found, error);
    return status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED
               ? note_no_sets(gpu, fault.cause, error)
               : fth_error_move(error, &fault);
}
