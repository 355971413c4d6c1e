/* Refuses descriptions whose figures no GPU has and that would take too long or too much memory to
 * simulate. docs/simulator.md lists the same limits. */
#include "base/json.h"
#include "device/sim/sim.h"

#include <math.h>
#include <string.h>

/* The range of an attribute. All values are chosen, at least ten times what the GPUs in data/gpus
 * have, except where a comment says otherwise. The first row that matches applies. */
static const struct limit {
    const char *section; /* NULL: every section */
    const char *attribute;
    double min, max;
} limits[] = {
    {"device", "sms", 1, 1024}, /* the maximum of runner.c */
    {"device", "clock_mhz", 1, 10000},
    {"device", "clock_resolution_cycles", 0, 1e6},
    {"device", "max_threads_per_sm", 1, 65536},
    {"device", "max_threads_per_block", 1, 65536},
    {"device", "cores_per_sm", 1, 65536},
    {"device", "link_load_latency_ns", 0, 1e6},
    {"device", "managed_fault_ns", 0, 1e9},
    {"device", "managed_page_bytes", 4096, 1 << 21}, /* up to the largest block, sim_remote.c */
    {"noise", "jitter_cycles", 0, 1e6},
    {"memory", "refresh_period_ns", 100, 1e9},
    {"memory", "refresh_cycles", 0, 1e6},
    {"memory", "pause_period_ns", 100, 1e9},
    {"memory", "pause_cycles", 0, 1e6},
    {"memory", "size_bytes", 1, (double)((uint64_t)1 << 42)},
    {"shared", "size_bytes", 1, 1 << 24}, /* the window of a block in a cluster, ptx/engine.h */
    {"shared", "max_block_bytes", 1, 1 << 24},
    {"lds", "size_bytes", 1, 1 << 24},
    {"lds", "max_block_bytes", 1, 1 << 24},
    {"registers", "size_bytes", 1, INFINITY}, /* not simulated */
    {"l2", "size_bytes", 1, 1 << 29},         /* twice the largest last-level cache of any GPU */
    {"l3", "size_bytes", 1, 1 << 29},
    {NULL, "size_bytes", 1, 1 << 24},
    {NULL, "default_size_bytes", 1, 1 << 29},
    {NULL, "carveout_size_bytes", 1, 1 << 24},
    {NULL, "carveout_bytes", 0, 1 << 24},
    {NULL, "unified_bytes", 1, 1 << 29},
    {NULL, "line_bytes", 1, 4096}, /* the longest line of a write-back cache, cache/cache.c */
    {NULL, "sector_bytes", 1, 4096},
    {NULL, "fill_bytes", 1, 65536},
    {NULL, "sets", 1, 1 << 24},
    {NULL, "ways", 1, 1 << 24},
    {NULL, "set_ways", 1, 1 << 24},
    {NULL, "per_sm", 1, 1024},
    {NULL, "partitions", 1, 64},
    {NULL, "join_group_by_sm", 0, 65535}, /* as many as SMs */
    {NULL, "slices", 1, 4096},
    {NULL, "slice_latency_cycles", 0, 1e6},
    {NULL, "join_window_cycles", 0, 1e6},
    {NULL, "banks", 1, 1024}, /* the maximum of conflict_degree() in sim_path.c */
    {NULL, "bank_bytes", 1, 1024},
    {NULL, "page_bytes", 1, (double)((uint64_t)1 << 36)},
    {NULL, "entries", 1, 1 << 20},
    {NULL, "reach_bytes", 1, (double)((uint64_t)1 << 46)},
    {NULL, "latency_cycles", 0, 1e6},
    {NULL, "far_latency_cycles", 0, 1e6},
    {NULL, "latency_ns", 0, 1e6},
    {NULL, "tlb_miss_cycles", 0, 1e6},
    {NULL, "miss_penalty_cycles", 0, 1e6},
    {NULL, "conflict_cycles", 0, 1e6},
    {NULL, "page_table_switch_cycles", 0, 1e6},
    {NULL, "cycles_per_instruction", 0, 1e4},
    {NULL, "store_latency_cycles", 0, 1e6},
    {NULL, "bytes_per_cycle", 0.1, 1e6}, /* a request then takes less than a bucket of a port */
    {NULL, "store_bytes_per_cycle", 0.1, 1e6},
    {NULL, "copy_cycles", 0, 200},
};

/* Attributes with a bandwidth, of which 0 means unlimited. Otherwise it is at least this many bytes
 * per second, so that the time of a copy of all memory does not overflow. */
static const char *const bandwidths[] = {"read_bytes_per_s", "write_bytes_per_s",
                                         "copy_bytes_per_s", "peak_bytes_per_s"};
static const double min_bandwidth = 1e9;

/* Maximum number of lines of all caches and entries of all TLBs together. Chosen: a line takes
 * about 60 bytes of the host's memory, hence 1 GB; the caches of an H200 have less than a million.
 */
#define MAX_LINES ((uint64_t)1 << 24)

static enum fth_status refuse(const struct fth_gpu *gpu, const struct fth_gpu_section *section,
                              const char *attribute, double value, const char *relation,
                              double limit, struct fth_error *error)
{
    struct fth_json_path path;
    char number[40], bound[40];
    fth_gpu_path(gpu, section, attribute, &path);
    return fth_fail(error, FTH_INVALID, "simulate GPU", fth_gpu_text(gpu, "device", "name"),
                    "%s: %s is %s %s, the limit of simulated GPUs", path.text,
                    fth_number_format(value, number, sizeof number), relation,
                    fth_number_format(limit, bound, sizeof bound));
}

static enum fth_status check_number(const struct fth_gpu *gpu,
                                    const struct fth_gpu_section *section, const char *attribute,
                                    double value, struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(bandwidths); i++)
        if (strcmp(bandwidths[i], attribute) == 0 && value > 0 && value < min_bandwidth)
            return refuse(gpu, section, attribute, value, "below", min_bandwidth, error);
    size_t i = 0;
    while (i < FTH_COUNT(limits) &&
           (strcmp(limits[i].attribute, attribute) != 0 ||
            (limits[i].section && strcmp(limits[i].section, section->name) != 0)))
        i++;
    if (i == FTH_COUNT(limits))
        return FTH_OK;
    if (value > limits[i].max)
        return refuse(gpu, section, attribute, value, "above", limits[i].max, error);
    return value < limits[i].min
               ? refuse(gpu, section, attribute, value, "below", limits[i].min, error)
               : FTH_OK;
}

static enum fth_status check_section(const struct fth_gpu *gpu,
                                     const struct fth_gpu_section *section, struct fth_error *error)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct fth_attribute *attribute = &section->attributes[i];
        if (attribute->kind == FTH_NUMBER)
            FTH_TRY(check_number(gpu, section, attribute->name, attribute->number, error));
        for (size_t k = 0; attribute->kind == FTH_NUMBERS && k < attribute->count; k++)
            FTH_TRY(check_number(gpu, section, attribute->name, attribute->numbers[k], error));
    }
    return FTH_OK;
}

/* The warps of simulated GPUs have 32 lanes, as those of the PTX engine and of NVIDIA's GPUs. The
 * wavefronts of GPUs of other vendors have other sizes. Such a size is only reported; kernels are
 * executed in warps of 32 lanes. */
static enum fth_status check_warp_size(const struct fth_gpu *gpu, struct fth_error *error)
{
    const double size = fth_gpu_number(gpu, "device", "warp_size", 32);
    if (size == 32 || fth_sim_is_foreign(gpu))
        return FTH_OK;
    return refuse(gpu, &gpu->device, "warp_size", size, size > 32 ? "above" : "below", 32, error);
}

enum fth_status fth_sim_check_description(const struct fth_gpu *gpu, struct fth_error *error)
{
    FTH_TRY(check_section(gpu, &gpu->device, error));
    FTH_TRY(check_warp_size(gpu, error));
    FTH_TRY(check_section(gpu, &gpu->noise, error));
    for (size_t i = 0; i < gpu->element_count; i++)
        FTH_TRY(check_section(gpu, &gpu->elements[i], error));
    return FTH_OK;
}

/* Adds the lines of all instances of an array to *total. */
static enum fth_status add_lines(const struct fth_sim_shape *shape, const char *element,
                                 uint64_t instances, uint64_t *total, struct fth_error *error)
{
    uint64_t lines = shape->set_ways ? 0 : shape->sets * shape->ways;
    for (uint64_t i = 0; shape->set_ways && i < shape->sets; i++)
        lines += shape->set_ways[i];
    if (lines <= MAX_LINES && lines * instances <= MAX_LINES - *total) {
        *total += lines * instances;
        return FTH_OK;
    }
    return fth_fail(error, FTH_INVALID, "simulate GPU", element,
                    "%llu lines or entries in each of %llu instances; together with those of the "
                    "other caches and TLBs, they exceed %llu, the limit of simulated GPUs",
                    (unsigned long long)lines, (unsigned long long)instances,
                    (unsigned long long)MAX_LINES);
}

enum fth_status fth_sim_check_plan(const struct fth_sim_plan *plan, struct fth_error *error)
{
    static const char *const tlbs[FTH_SIM_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    uint64_t total = 0;
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++) {
        const struct fth_sim_level *level = &plan->levels[i];
        const struct fth_sim_shape *shape = &plan->arrays[level->array];
        bool first = level->present; /* of the elements that share the array */
        for (unsigned k = 0; k < i; k++)
            first = first && !(plan->levels[k].present && plan->levels[k].array == level->array);
        if (first)
            FTH_TRY(add_lines(shape, level->name,
                              (uint64_t)fth_sim_owner_count(shape, plan->sms) * shape->per_sm,
                              &total, error));
    }
    FTH_TRY(add_lines(&plan->l2, "l2", plan->partitions, &total, error));
    if (plan->has_l3)
        FTH_TRY(
            add_lines(&plan->l3, "l3", fth_sim_owner_count(&plan->l3, plan->sms), &total, error));
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++)
        if (plan->tlbs[i].present)
            FTH_TRY(add_lines(&plan->tlbs[i].shape, tlbs[i],
                              fth_sim_owner_count(&plan->tlbs[i].shape, plan->sms), &total, error));
    return FTH_OK;
}
