/* What a driver tells of a GPU, and no more: a simulated GPU is asked to be discovered, and must
 * not give away what it was built from. */
#include "device/sim/sim.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *section, *attribute;
} told[] = {
    {"device", "name"},
    {"device", "vendor"},
    {"device", "compute_capability"},
    {"device", "sms"},
    {"device", "warp_size"},
    {"device", "clock_mhz"},
    {"device", "memory_clock_mhz"},
    {"device", "memory_bus_bits"},
    {"device", "max_threads_per_block"},
    {"device", "max_threads_per_sm"},
    {"shared", "size_bytes"},
    {"shared", "max_block_bytes"},
    {"l2", "size_bytes"},
    {"memory", "size_bytes"},
    {"registers", "size_bytes"},
};

static enum fth_status tell(struct fth_gpu *facts, const char *section,
                            const struct fth_attribute *from, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (!fth_gpu_section(facts, section))
        status = fth_gpu_add_element(facts, section, error);
    if (status != FTH_OK)
        return status;
    struct fth_attribute attribute = fth_attribute_make(from->name, from->kind);
    attribute.number = from->number;
    attribute.text = from->text;
    attribute.source = FTH_SOURCE_DRIVER;
    return fth_gpu_set(facts, fth_gpu_section(facts, section), &attribute, error);
}

/* A driver's memory clock is half the rate of data. Descriptions have it as their source counts it,
 * and the peak with which it is consistent. */
static double memory_clock(const struct fth_gpu *gpu)
{
    double peak = fth_gpu_number(gpu, "memory", "peak_bytes_per_s", NAN);
    double bits = fth_gpu_number(gpu, "device", "memory_bus_bits", NAN);
    double clock_mhz = peak / (bits / 8) / 2 / 1e6;
    return isnan(clock_mhz) ? fth_gpu_number(gpu, "device", "memory_clock_mhz", NAN) : clock_mhz;
}

enum fth_status sim_facts_create(const struct fth_gpu *gpu, const struct sim_plan *plan,
                                 struct fth_gpu **facts, struct fth_error *error)
{
    struct fth_attribute backend = fth_attribute_make("backend", FTH_TEXT);
    struct fth_attribute sms = fth_attribute_make("sms", FTH_NUMBER);
    struct fth_attribute memory = fth_attribute_make("size_bytes", FTH_NUMBER);
    backend.text = "simulated";
    sms.number = plan->sms;
    memory.number = (double)plan->memory_bytes;
    enum fth_status status = fth_gpu_create(facts, error);
    for (size_t i = 0; i < FTH_COUNT(told) && status == FTH_OK; i++) {
        const struct fth_attribute *known =
            fth_gpu_attribute(gpu, told[i].section, told[i].attribute);
        if (!known)
            continue;
        struct fth_attribute each = *known;
        if (strcmp(told[i].attribute, "memory_clock_mhz") == 0)
            each.number = memory_clock(gpu);
        status = tell(*facts, told[i].section, &each, error);
    }
    /* What every driver knows, whether or not the description does. */
    if (status == FTH_OK)
        status = tell(*facts, "device", &sms, error);
    if (status == FTH_OK)
        status = tell(*facts, "memory", &memory, error);
    if (status == FTH_OK)
        status = tell(*facts, "device", &backend, error);
    return status;
}

enum fth_status sim_facts_copy(const struct fth_gpu *facts, struct fth_gpu *gpu,
                               struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    const struct fth_attribute *attribute;
    for (size_t i = 0; (attribute = fth_gpu_attribute_at(facts, "device", i)) && status == FTH_OK;
         i++)
        status = tell(gpu, "device", attribute, error);
    for (size_t e = 0; e < fth_gpu_element_count(facts); e++) {
        const char *name = fth_gpu_element_name(facts, e);
        for (size_t i = 0; (attribute = fth_gpu_attribute_at(facts, name, i)) && status == FTH_OK;
             i++)
            status = tell(gpu, name, attribute, error);
    }
    return status;
}
