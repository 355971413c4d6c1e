/* The figures of a simulated GPU that a driver would report, and the architecture, which follows
 * from them. All other figures must be measured, as on a real GPU. */
#include "device/sim/sim.h"

#include <math.h>
#include <string.h>

/* Devices of other vendors than NVIDIA are reached through OpenCL, which reports less. */
static const struct {
    const char *section, *attribute;
    bool by_opencl;
} driver_attributes[] = {
    {"device", "name", true},
    {"device", "vendor", true},
    {"device", "kind", true},
    {"device", "architecture", false},
    {"device", "compute_capability", false},
    {"device", "sms", true},
    {"device", "warp_size", true},
    {"device", "clock_mhz", true},
    {"device", "clock_source", true},
    {"device", "clock_resolution_cycles", true},
    {"device", "memory_clock_mhz", false},
    {"device", "memory_bus_bits", false},
    {"device", "max_threads_per_block", true},
    {"device", "max_threads_per_sm", false},
    {"shared", "size_bytes", false},
    {"shared", "max_block_bytes", false},
    {"l2", "size_bytes", false},
    {"memory", "size_bytes", true},
    {"registers", "size_bytes", false},
};

/* Scopes of the elements above. They have no source, because no driver reports them. */
static const struct {
    const char *element, *scope;
} scopes[] = {{"shared", "sm"}, {"l2", "gpu"}, {"memory", "gpu"}, {"registers", "sm"}};

bool fth_sim_is_foreign(const struct fth_gpu *gpu)
{
    const char *vendor = fth_gpu_text(gpu, "device", "vendor");
    return vendor && strcmp(vendor, "NVIDIA") != 0;
}

static enum fth_status find_section(struct fth_gpu *facts, const char *name,
                                    struct fth_gpu_section **section, struct fth_error *error)
{
    *section = fth_gpu_section(facts, name);
    if (*section)
        return FTH_OK;
    FTH_TRY(fth_gpu_add_element(facts, name, error));
    *section = fth_gpu_section(facts, name);
    for (size_t i = 0; i < FTH_COUNT(scopes); i++)
        if (strcmp(scopes[i].element, name) == 0) {
            struct fth_attribute scope = fth_attribute_make("scope", FTH_TEXT);
            scope.text = scopes[i].scope;
            FTH_TRY(fth_gpu_set(facts, *section, &scope, error));
        }
    return FTH_OK;
}

static enum fth_status set_fact(struct fth_gpu *facts, const char *name,
                                const struct fth_attribute *from, struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(find_section(facts, name, &section, error));
    if (strcmp(from->name, "scope") == 0)
        return FTH_OK; /* find_section has set it */
    struct fth_attribute attribute = fth_attribute_make(from->name, from->kind);
    attribute.number = from->number;
    attribute.text = from->text;
    attribute.source =
        strcmp(from->name, "architecture") == 0 ? FTH_SOURCE_DERIVED : FTH_SOURCE_DRIVER;
    return fth_gpu_set(facts, section, &attribute, error);
}

/* Returns the memory clock in MHz as a driver reports it, which is half the data rate. A
 * description gives the clock in the convention of its source, so the peak bandwidth is used if the
 * description has it. */
static double memory_clock(const struct fth_gpu *gpu)
{
    double peak = fth_gpu_number(gpu, "memory", "peak_bytes_per_s", NAN);
    double bits = fth_gpu_number(gpu, "device", "memory_bus_bits", NAN);
    double clock_mhz = peak / (bits / 8) / 2 / 1e6;
    return isnan(clock_mhz) ? fth_gpu_number(gpu, "device", "memory_clock_mhz", NAN) : clock_mhz;
}

enum fth_status fth_sim_facts_create(const struct fth_gpu *gpu, const struct fth_sim_plan *plan,
                                     struct fth_gpu **facts, struct fth_error *error)
{
    struct fth_attribute backend = fth_attribute_make("backend", FTH_TEXT);
    struct fth_attribute sms = fth_attribute_make("sms", FTH_NUMBER);
    struct fth_attribute memory = fth_attribute_make("size_bytes", FTH_NUMBER);
    struct fth_attribute unit_source = fth_attribute_make("unit_source", FTH_TEXT);
    struct fth_attribute code = fth_attribute_make("instruction_bytes", FTH_NUMBER);
    const char *vendor = fth_gpu_text(gpu, "device", "vendor");
    backend.text = "simulated";
    unit_source.text = "%smid";
    sms.number = plan->sms;
    memory.number = (double)plan->memory_bytes;
    const bool foreign = fth_sim_is_foreign(gpu);
    FTH_TRY(fth_gpu_create(facts, error));
    for (size_t i = 0; i < FTH_COUNT(driver_attributes); i++) {
        const struct fth_attribute *known =
            fth_gpu_attribute(gpu, driver_attributes[i].section, driver_attributes[i].attribute);
        if (!known || (foreign && !driver_attributes[i].by_opencl))
            continue;
        struct fth_attribute each = *known;
        if (strcmp(driver_attributes[i].attribute, "memory_clock_mhz") == 0)
            each.number = memory_clock(gpu);
        FTH_TRY(set_fact(*facts, driver_attributes[i].section, &each, error));
    }
    /* Every driver reports these, so they are set even if the description lacks them. */
    FTH_TRY(set_fact(*facts, "device", &sms, error));
    FTH_TRY(set_fact(*facts, "memory", &memory, error));
    if (foreign)
        FTH_TRY(set_fact(*facts, "device", &unit_source, error));
    /* There is no code of known length for the other vendors. */
    code.number = (double)plan->code.bytes;
    if (foreign && vendor && strcmp(vendor, "AMD") == 0)
        FTH_TRY(set_fact(*facts, "device", &code, error));
    return set_fact(*facts, "device", &backend, error);
}

/* Copies the figures of one section. */
static enum fth_status copy_section(const struct fth_gpu *facts, const char *name,
                                    struct fth_gpu *gpu, struct fth_error *error)
{
    const struct fth_attribute *attribute;
    for (size_t i = 0; (attribute = fth_gpu_attribute_at(facts, name, i)); i++)
        FTH_TRY(set_fact(gpu, name, attribute, error));
    return FTH_OK;
}

enum fth_status fth_sim_facts_copy(const struct fth_gpu *facts, struct fth_gpu *gpu,
                                   struct fth_error *error)
{
    FTH_TRY(copy_section(facts, "device", gpu, error));
    for (size_t i = 0; i < fth_gpu_element_count(facts); i++)
        FTH_TRY(copy_section(facts, fth_gpu_element_name(facts, i), gpu, error));
    return FTH_OK;
}
