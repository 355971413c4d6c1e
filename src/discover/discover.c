/* Runs a discovery: reads what the driver reports, then runs the stages. Each stage uses the
 * results of earlier ones. */
#include "discover/discover.h"

#include <string.h>

/* Latencies come first, because all other stages need them to distinguish hits from misses. */
static fth_stage *const stages[] = {
    fth_discover_l2_latency, fth_discover_sm,     fth_discover_shared, fth_discover_carveouts,
    fth_discover_constants,  fth_discover_memory, fth_discover_l2,     fth_discover_tlbs,
    fth_discover_cold,       fth_discover_rates,  fth_discover_gates,
};

bool fth_discovery_wants(const struct fth_discovery *discovery, const char *element)
{
    if (!discovery->only)
        return true;
    size_t size = strlen(element);
    for (const char *at = discovery->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, element, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Rejects names that are not elements. */
static enum fth_status check_only(const char *only, struct fth_error *error)
{
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        size_t size = strcspn(at, ",");
        if (size < sizeof name) {
            memcpy(name, at, size);
            name[size] = '\0';
            if (fth_schema_element(name))
                continue;
        }
        const char *near = size < sizeof name ? fth_schema_suggest_element(name) : NULL;
        return fth_fail(error, FTH_INVALID, "select elements", only,
                        near ? "unknown element '%.*s' (did you mean '%s'?)"
                             : "unknown element '%.*s'",
                        (int)(size < 40 ? size : 40), at, near);
    }
    return FTH_OK;
}

enum fth_status fth_discovery_run(struct fth_discovery *discovery,
                                  const struct fth_discover_options *options,
                                  struct fth_error *error)
{
    struct fth_device *device = discovery->prober.device;
    discovery->prober.log = options->log;
    discovery->only = options->only;
    enum fth_status status = check_only(options->only, error);
    if (status == FTH_OK)
        status = fth_gpu_create(&discovery->gpu, error);
    if (status == FTH_OK)
        status = fth_device_describe(device, discovery->gpu, error);
    if (status == FTH_OK) {
        const struct fth_attribute *sms = fth_gpu_attribute(discovery->gpu, "device", "sms");
        discovery->prober.sms = sms && sms->number >= 1 ? (size_t)sms->number : 1;
        discovery->prober.thorough = options->thorough;
        /* Simulating every access of a stream takes long, so it must be requested. */
        const char *backend = fth_gpu_text(discovery->gpu, "device", "backend");
        discovery->simulated = backend && strcmp(backend, "simulated") == 0;
        if (discovery->simulated && !options->thorough)
            discovery->no_bandwidth = true;
    }
    for (size_t i = 0; i < FTH_COUNT(stages) && status == FTH_OK; i++)
        status = stages[i](discovery, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery->gpu);
        discovery->gpu = NULL;
    }
    return status;
}

enum fth_status fth_discover(struct fth_device *device, const struct fth_discover_options *options,
                             struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_discover_options known;
    struct fth_discovery discovery = {.prober = {.device = device}};
    *gpu = NULL;
    FTH_TRY(fth_options_read("fth_discover_options", options, &known, sizeof known, error));
    options = &known;
    enum fth_status status = fth_discovery_run(&discovery, options, error);
    fth_log_progress(options->log, "done", 1);
    *gpu = discovery.gpu;
    return status;
}
