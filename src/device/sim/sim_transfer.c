/* Copies between host and device by the driver. A copy takes the latency of the link plus its bytes
 * at the link's bandwidth, whatever its size. */
#include "device/sim/sim.h"

#include <math.h>

/* Returns the time of a byte in millionths of a cycle; 0: the bandwidth is unknown. */
static double byte_time(const struct fth_gpu *gpu, const char *attribute, double clock_mhz)
{
    const double rate = fth_gpu_number(gpu, "device", attribute, NAN);
    return isnan(rate) ? 0 : clock_mhz * 1e12 / rate;
}

void fth_sim_host_link_init(struct fth_sim_host_link *link, const struct fth_gpu *gpu,
                            double clock_mhz)
{
    static const struct {
        enum fth_transfer_kind kind;
        bool pinned;
        const char *attribute;
    } rows[] = {
        {FTH_TRANSFER_TO_DEVICE, true, "link_to_device_bytes_per_s"},
        {FTH_TRANSFER_FROM_DEVICE, true, "link_from_device_bytes_per_s"},
        {FTH_TRANSFER_BOTH, true, "link_both_bytes_per_s"},
        {FTH_TRANSFER_TO_DEVICE, false, "link_pageable_to_device_bytes_per_s"},
        {FTH_TRANSFER_FROM_DEVICE, false, "link_pageable_from_device_bytes_per_s"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        link->bytes_per_s[rows[i].kind][rows[i].pinned] =
            fth_gpu_number(gpu, "device", rows[i].attribute, NAN);
    link->bytes_per_s[FTH_TRANSFER_BOTH][false] = NAN;
    link->latency_ns = fth_gpu_number(gpu, "device", "link_latency_ns", NAN);
    link->load_latency_ns = fth_gpu_number(gpu, "device", "link_load_latency_ns", NAN);
    link->fault_ns = fth_gpu_number(gpu, "device", "managed_fault_ns", NAN);
    link->page_bytes = (uint64_t)fth_gpu_number(gpu, "device", "managed_page_bytes", 0);
    link->rates.read = byte_time(gpu, "link_load_bytes_per_s", clock_mhz);
    link->rates.write = byte_time(gpu, "link_store_bytes_per_s", clock_mhz);
}

enum fth_status fth_sim_transfer(const struct fth_sim_host_link *link,
                                 const struct fth_transfer *transfer, uint32_t *samples,
                                 struct fth_error *error)
{
    if (transfer->kind > FTH_TRANSFER_BOTH)
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL, "there is no other GPU");
    const double rate = link->bytes_per_s[transfer->kind][transfer->pinned];
    if (isnan(rate) || isnan(link->latency_ns))
        return fth_fail(error, FTH_UNSUPPORTED, "transfer", NULL,
                        "the description has no latency or bandwidth of the host link");
    const double bytes = (double)transfer->bytes * (transfer->kind == FTH_TRANSFER_BOTH ? 2 : 1);
    const double ns = link->latency_ns + bytes / rate * 1e9;
    for (uint32_t i = 0; i < transfer->repeats; i++)
        samples[i] = ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
    return FTH_OK;
}
