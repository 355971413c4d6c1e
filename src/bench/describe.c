/* What of the benches belongs into the GPU's description, and what they have to know of a cache
 * before they can use it. */
#include "bench/bench.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

enum { LINE = 128, PASSES = 2, LADDER = 8 };
/* A footprint fits where a load takes no longer than in the smallest one, but for so much. */
static const double same = 1.1;

enum fth_status fth_bench_describe(const struct fth_bench_run *run, const char *element,
                                   const char *attribute, double value, size_t samples,
                                   const char *method, struct fth_error *error)
{
    return fth_note_count(run->described, element, attribute, value, samples, method, error);
}

enum fth_status fth_bench_rate(const struct fth_bench_run *run, enum fth_bandwidth_target target,
                               const char *key, double bytes_per_cycle, struct fth_error *error)
{
    struct fth_bandwidth found;
    char name[64], method[64];
    enum fth_status status =
        fth_probe_bandwidth(&run->prober, run->gpu, target, false, &found, error);
    if (status != FTH_OK)
        return fth_bench_failure(run->bench, key, status, error);
    status = fth_note_rate(run->described, target, &found, error);
    snprintf(name, sizeof name, "%s_tb_per_s", key);
    if (status == FTH_OK)
        status = fth_bench_figure(run->bench, name, round(found.bytes_per_s / 1e9) / 1e3, "TB/s",
                                  "all SMs at once, the best launch and the best repeat", error);
    const double clock_mhz = isfinite(found.clock_mhz)
                                 ? found.clock_mhz
                                 : fth_gpu_number(run->gpu, "device", "clock_mhz", NAN);
    const double theory = bytes_per_cycle * (double)run->prober.sms * clock_mhz * 1e6;
    snprintf(name, sizeof name, "%s_of_theory", key);
    snprintf(method, sizeof method, "over %.4g bytes a cycle and SM", bytes_per_cycle);
    if (status == FTH_OK && isfinite(theory))
        status = fth_bench_figure(run->bench, name, round(1000 * found.bytes_per_s / theory) / 1000,
                                  "", method, error);
    return status;
}

enum fth_status fth_bench_l1_bytes(const struct fth_bench_run *run, uint64_t *bytes,
                                   struct fth_error *error)
{
    /* The first is past L1: what is as slow as that is not in L1. */
    static const uint64_t kib[LADDER] = {4, 4, 8, 16, 32, 64, 128, 192};
    struct fth_request requests[LADDER];
    for (size_t i = 0; i < LADDER; i++) {
        const struct fth_chain chain = {.stride_bytes = LINE, .count = (kib[i] << 10) / LINE};
        const enum fth_path path = i ? FTH_PATH_CA : FTH_PATH_CG;
        requests[i] = fth_request_make(0);
        fth_request_add(&requests[i], FTH_STEP_WALK, path, chain, PASSES);
        fth_request_add(&requests[i], FTH_STEP_TIME_PASS, path, chain, 1);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(&run->prober, requests, LADDER, &answers, error);
    *bytes = 0;
    double hop[LADDER];
    for (size_t i = 0; i < LADDER && status == FTH_OK; i++)
        hop[i] = answers.items[i].cycles[0] / (double)requests[i].steps[0].chain.count;
    for (size_t i = 1; i < LADDER && status == FTH_OK && hop[1] * same < hop[0]; i++) {
        if (hop[i] > hop[1] * same)
            break;
        *bytes = kib[i] << 10;
    }
    fth_answers_fini(&answers);
    return status;
}
