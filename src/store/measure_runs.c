/* Measures a fingerprint: several runs of the same measurements (probe/features.c) on one GPU.
 */
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static const char operation[] = "measure fingerprint";

/* Copies what the driver reports about the device into the arena. *copy is NULL if it does not
 * report it. */
static enum fth_status copy_fact(struct fth_runs *runs, const struct fth_gpu *gpu, const char *name,
                                 const char **copy, struct fth_error *error)
{
    const char *text = fth_gpu_text(gpu, "device", name);
    *copy = text ? fth_arena_text(&runs->arena, text) : NULL;
    return text && !*copy ? fth_no_memory(error, operation, NULL) : FTH_OK;
}

static enum fth_status measure(const struct fth_prober *prober, const struct fth_gpu *gpu,
                               size_t count, struct fth_runs *runs, struct fth_error *error)
{
    struct fth_run common = {.time = (int64_t)time(NULL),
                             .version = FTH_FEATURES_VERSION,
                             .count = fth_feature_count(prober)};
    FTH_TRY(copy_fact(runs, gpu, "name", &common.device, error));
    FTH_TRY(copy_fact(runs, gpu, "uuid", &common.uuid, error));
    FTH_TRY(copy_fact(runs, gpu, "driver", &common.driver, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        fth_log_progress(prober->log, "fingerprint", (double)i / (double)count);
        double *features = fth_arena_array(&runs->arena, common.count, sizeof *features);
        struct fth_run *run = fth_runs_add(runs);
        if (!features || !run)
            return fth_no_memory(error, operation, NULL);
        *run = common;
        run->features = features;
        status = fth_probe_fingerprint(prober, fth_gpu_number(gpu, "device", "clock_mhz", NAN),
                                       (unsigned)i, features, error);
        if (status == FTH_OK && fth_log_interrupted(prober->log))
            status = fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
    }
    fth_log_progress(prober->log, "done", 1);
    return status;
}

enum fth_status fth_fingerprint_measure(struct fth_device *device, size_t runs,
                                        const struct fth_log *log,
                                        struct fth_fingerprint **fingerprint,
                                        struct fth_error *error)
{
    struct fth_prober prober = {.device = device, .log = log};
    struct fth_gpu *gpu = NULL;
    struct fth_fingerprint *made = calloc(1, sizeof *made);
    *fingerprint = NULL;
    if (!made)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = fth_gpu_create(&gpu, error);
    if (status != FTH_OK)
        goto out;
    status = fth_device_describe(device, gpu, error);
    if (status != FTH_OK)
        goto out;
    prober.sms = (size_t)fmax(fth_gpu_number(gpu, "device", "sms", 1), 1);
    status = measure(&prober, gpu, runs, &made->runs, error);
    if (status != FTH_OK)
        goto out;
    *fingerprint = made;
    made = NULL;
out:
    fth_gpu_destroy(gpu);
    fth_fingerprint_destroy(made);
    return status;
}

void fth_fingerprint_destroy(struct fth_fingerprint *fingerprint)
{
    if (!fingerprint)
        return;
    fth_runs_fini(&fingerprint->runs);
    free(fingerprint);
}
