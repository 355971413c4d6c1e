/* How many loads of a warp and how many sectors of an SM can be in flight, and which stores are
 * merged, for 'fathom dissect' (probe/rate/loads_in_flight.c, store_merges.c). */
#include "discover/discover.h"
#include "probe/rate/probe_rate.h"

#include <math.h>

static enum fth_status note_sectors(struct fth_discovery *discovery, uint32_t warp_loads,
                                    struct fth_error *error)
{
    static const char attribute[] = "sectors_in_flight_per_sm";
    struct fth_sm_sectors found;
    const enum fth_status status =
        fth_probe_sm_sectors(&discovery->prober, warp_loads, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "device", attribute, status, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "device",
                                       .attribute = attribute,
                                       .number = round(found.sectors),
                                       .interval = (const double[]){found.low, found.high},
                                       .samples = found.samples,
                                       .method = "latency of a load divided by the cycles per "
                                                 "sector, from memory and from the L2"},
                    error);
}

static enum fth_status note_merges(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char attribute[] = "store_merge_cycles";
    struct fth_store_merges found;
    if (fth_gpu_attribute_count(discovery->gpu, "l1") == 0)
        return FTH_OK;
    const enum fth_status status = fth_probe_store_merges(&discovery->prober, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l1", attribute, status, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "l1",
                                       .attribute = attribute,
                                       .number = round(found.window_cycles),
                                       .interval = (const double[]){found.low, found.high},
                                       .samples = found.samples,
                                       .method =
                                           "lag from which on stores of two warps to the same "
                                           "lines take as long as stores to different lines"},
                    error);
}

enum fth_status fth_dissect_flight(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char attribute[] = "loads_per_scoreboard";
    struct fth_warp_loads found;
    const enum fth_status status = fth_probe_warp_loads(&discovery->prober, &found, error);
    if (status == FTH_OK)
        FTH_TRY(fth_note(discovery->gpu,
                         &(struct fth_note){.element = "device",
                                            .attribute = attribute,
                                            .number = found.loads,
                                            .evidence = &found.evidence,
                                            .samples = found.samples,
                                            .method = "number of independent loads after which a "
                                                      "warp waits for the first one"},
                         error));
    else
        FTH_TRY(fth_note_failure(discovery->gpu, "device", attribute, status, error));
    FTH_TRY(note_sectors(discovery, found.loads, error));
    return note_merges(discovery, error);
}
