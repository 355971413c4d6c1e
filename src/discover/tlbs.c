/* The TLBs on the way to memory. */
#include "discover/discover.h"

#include <math.h>

/* Memory that may be taken to find out about TLBs. */
static const double tlb_part = 0.7;

enum fth_status fth_discover_tlbs(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char *const names[FTH_MOST_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    const struct fth_attribute *memory = fth_gpu_attribute(discovery->gpu, "memory", "size_bytes");
    if (!memory ||
        !(fth_discovery_wants(discovery, names[0]) || fth_discovery_wants(discovery, names[1])))
        return FTH_OK;
    fth_log_progress(discovery->prober.log, "TLBs", 0.8);
    const struct fth_attribute *l2 = fth_gpu_attribute(discovery->gpu, "l2", "size_bytes");
    struct fth_tlbs tlbs = {.count = 0};
    struct fth_gpu *gpu = discovery->gpu;
    enum fth_status status =
        fth_probe_tlbs(&discovery->prober, (uint64_t)(memory->number * tlb_part),
                       l2 ? (uint64_t)l2->number : 1 << 20, &tlbs, error);
    if (status != FTH_OK)
        status = fth_note_failure(gpu, names[tlbs.count < FTH_MOST_TLBS ? tlbs.count : 0],
                                  "reach_bytes", status, error);
    for (size_t i = 0; i < tlbs.count && i < FTH_MOST_TLBS && status == FTH_OK; i++) {
        const struct fth_tlb_level *level = &tlbs.levels[i];
        status = fth_note_count(gpu, names[i], "reach_bytes", (double)level->reach_bytes,
                                tlbs.samples, "the largest footprint without the penalty", error);
        if (status == FTH_OK)
            status = fth_note_count(
                gpu, names[i], "miss_penalty_cycles", round(10 * level->penalty_cycles) / 10,
                tlbs.samples, "what loads of one line a page cost more beyond the reach", error);
        if (status == FTH_OK && level->page_bytes)
            status =
                fth_note_count(gpu, names[i], "page_bytes", (double)level->page_bytes, tlbs.samples,
                               "the stride from which on every load pays", error);
        if (status == FTH_OK && level->page_bytes)
            status = fth_note_count(gpu, names[i], "entries",
                                    (double)level->reach_bytes / (double)level->page_bytes,
                                    tlbs.samples, "reach / page", error);
    }
    return status;
}
