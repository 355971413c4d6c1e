/* Adding a bandwidth to the GPU's description, and a quick estimate of the L1's capacity for
 * benches that need it. */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

enum { LINE = 128, /* stride in bytes */ PASSES = 2 /* of the warm-up */, FOOTPRINTS = 8 };
/* A footprint fits into the L1 if its cycles per load are at most this many times those of the
 * smallest footprint. Heuristic. */
static const double fit_tolerance = 1.1;

enum fth_status fth_bench_add_bandwidth(const struct fth_bench_run *run,
                                        enum fth_bandwidth_target target, const char *key,
                                        double bytes_per_cycle, struct fth_error *error)
{
    struct fth_bandwidth found;
    char name[64], method[64];
    enum fth_status status =
        fth_probe_bandwidth(&run->prober, run->gpu, target, false, &found, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, key, status, error);
    FTH_TRY(fth_note_rate(run->described, target, &found, false, error));
    snprintf(name, sizeof name, "%s_tb_per_s", key);
    FTH_TRY(fth_bench_add_figure(run->bench, name, round(found.bytes_per_s / 1e9) / 1e3, "TB/s",
                                 "all SMs at once, best launch configuration and repeat", error));
    const double clock_mhz = isfinite(found.clock_mhz)
                                 ? found.clock_mhz
                                 : fth_gpu_number(run->gpu, "device", "clock_mhz", NAN);
    const double theory = bytes_per_cycle * (double)run->prober.sms * clock_mhz * 1e6;
    snprintf(name, sizeof name, "%s_of_theory", key);
    fth_format(method, sizeof method, "relative to %.4g bytes per cycle and SM", bytes_per_cycle);
    return isfinite(theory) ? fth_bench_add_figure(run->bench, name,
                                                   round(1000 * found.bytes_per_s / theory) / 1000,
                                                   "", method, error)
                            : FTH_OK;
}

enum fth_status fth_bench_l1_bytes(const struct fth_bench_run *run, uint64_t *bytes,
                                   struct fth_error *error)
{
    /* The first request bypasses the L1. If loads through the L1 are as slow, it does not cache
     * them. */
    static const uint64_t kib[FOOTPRINTS] = {4, 4, 8, 16, 32, 64, 128, 192};
    struct fth_request requests[FOOTPRINTS];
    for (size_t i = 0; i < FOOTPRINTS; i++) {
        const struct fth_chain chain = {.stride_bytes = LINE, .count = (kib[i] << 10) / LINE};
        const enum fth_path path = i ? FTH_PATH_CA : FTH_PATH_CG;
        requests[i] = fth_request_make(0);
        fth_request_add(&requests[i], FTH_STEP_WALK, path, chain, PASSES);
        fth_request_add(&requests[i], FTH_STEP_TIME_PASS, path, chain, 1);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, requests, FOOTPRINTS, &answers, error);
    *bytes = 0;
    double cycles_per_hop[FOOTPRINTS];
    for (size_t i = 0; i < FOOTPRINTS && status == FTH_OK; i++)
        cycles_per_hop[i] =
            answers.items[i].cycles[0] / (double)requests[i].chase.steps[0].chain.count;
    for (size_t i = 1; i < FOOTPRINTS && status == FTH_OK &&
                       cycles_per_hop[1] * fit_tolerance < cycles_per_hop[0];
         i++) {
        if (cycles_per_hop[i] > cycles_per_hop[1] * fit_tolerance)
            break;
        *bytes = kib[i] << 10;
    }
    fth_answers_fini(&answers);
    return status;
}
