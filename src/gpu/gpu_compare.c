/* Finds the differences between two descriptions. A measured number has an interval that contains
 * the true value; two numbers differ only if their intervals do not overlap. A number without an
 * interval counts as an interval of this single value. */
#include "gpu/gpu.h"

#include <math.h>
#include <string.h>

static double low_end(const struct fth_attribute *a)
{
    return isnan(a->low) ? a->number : a->low;
}

static double high_end(const struct fth_attribute *a)
{
    return isnan(a->high) ? a->number : a->high;
}

/* Compares lists of names, such as shared_with, whose order has no meaning. */
static bool same_texts(const struct fth_attribute *a, const struct fth_attribute *b)
{
    for (size_t i = 0; i < a->count; i++) {
        size_t j = 0;
        while (j < b->count && strcmp(a->texts[i], b->texts[j]) != 0)
            j++;
        if (j == b->count)
            return false;
    }
    return a->count == b->count;
}

bool fth_attribute_agrees(const struct fth_attribute *a, const struct fth_attribute *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case FTH_NUMBER: return low_end(a) <= high_end(b) && low_end(b) <= high_end(a);
    case FTH_NUMBERS:
        return a->count == b->count &&
               (a->count == 0 || memcmp(a->numbers, b->numbers, a->count * sizeof(double)) == 0);
    case FTH_TEXTS: return same_texts(a, b);
    default: return strcmp(a->text, b->text) == 0;
    }
}

double fth_attribute_apart(const struct fth_attribute *a, const struct fth_attribute *b)
{
    if (a->kind != FTH_NUMBER || b->kind != FTH_NUMBER)
        return NAN;
    double gap = fmax(low_end(a) - high_end(b), low_end(b) - high_end(a));
    double larger = fmax(fabs(a->number), fabs(b->number));
    return gap <= 0 ? 0 : larger > 0 ? gap / larger : NAN;
}

bool fth_is_circumstance(const char *section, const char *name)
{
    static const char *const device[] = {
        "uuid", "pci_bus", "backend", "driver", "cuda_version", "opencl_version", "clock_source",
        "unit_source", "instruction_bytes", "clock_resolution_cycles", "pcie_generation",
        "current_clock_mhz", "current_memory_clock_mhz", "power_w", "temperature_c", "mps",
        "kernel_timeout",
        /* Which SMs are disabled differs from card to card. */
        "gpc_by_sm", "tpc_by_sm", "block_first_gpcs",
        /* Where, when and in which state the GPU was measured. */
        "host", "measured_at", "board_part_number", "vbios", "serial", "memory_temperature_c",
        "loaded_clock_mhz", "loaded_power_w", "loaded_temperature_c", "loaded_throttling",
        "performance_state", "throttle_power_us", "throttle_thermal_us", "pcie_replays", "nvlinks",
        "nvlinks_active", "nvlink_errors", "ecc_correctable", "ecc_uncorrectable",
        "ecc_uncorrectable_volatile"};
    static const char *const memory[] = {"ecc_correctable",
                                         "ecc_uncorrectable",
                                         "remapped_rows_correctable",
                                         "remapped_rows_uncorrectable",
                                         "remap_pending",
                                         "remap_failure"};
    /* Raw data that varies from run to run. In 20 runs on one H200, resident_bytes of the L1 had 14
     * different values. Where the L2 starts to miss and where nothing hits any more depends on the
     * memory that the driver allocates: onset_bytes was 18 or 27 MiB, full_miss_bytes 66 or 75 MiB.
     * The sizes and these two figures of the other caches were the same each time, so they are
     * compared. */
    static const char *const raw_data[] = {"latency_by_sm_cycles", "disturbed_by_warp",
                                           "resident_bytes", "slice_group_by_sm",
                                           "slice_latency_cycles"};
    if (strcmp(section, "l2") == 0 &&
        (strcmp(name, "onset_bytes") == 0 || strcmp(name, "full_miss_bytes") == 0))
        return true;
    if (strcmp(section, "noise") == 0)
        return true;
    for (size_t i = 0; strcmp(section, "device") == 0 && i < FTH_COUNT(device); i++)
        if (strcmp(name, device[i]) == 0)
            return true;
    for (size_t i = 0; strcmp(section, "memory") == 0 && i < FTH_COUNT(memory); i++)
        if (strcmp(name, memory[i]) == 0)
            return true;
    for (size_t i = 0; i < FTH_COUNT(raw_data); i++)
        if (strcmp(name, raw_data[i]) == 0)
            return true;
    return false;
}

struct comparison {
    const struct fth_gpu *a, *b;
    void (*each)(void *, const struct fth_difference *);
    void *user;
    size_t count;
};

static bool is_simulated(const struct fth_gpu *gpu)
{
    const char *backend = fth_gpu_text(gpu, "device", "backend");
    return backend && strcmp(backend, "simulated") == 0;
}

/* Whether the figure of one description is a property of the simulator, and not of the GPU: it
 * follows from the replacement policy, one of the GPUs is simulated, and the other description has
 * no policy. The simulator then assumes LRU, with which a cache misses every access as soon as the
 * footprint exceeds it by a line per set; the real policy need not do so. */
static bool follows_assumed_policy(const struct comparison *comparison, const char *section,
                                   const char *name)
{
    static const char *const names[] = {"onset_bytes", "full_miss_bytes", "periodic"};
    const bool first = is_simulated(comparison->a), second = is_simulated(comparison->b);
    bool follows = false;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        follows = follows || strcmp(names[i], name) == 0;
    return follows && first != second &&
           !fth_gpu_attribute(first ? comparison->b : comparison->a, section, "policy");
}

static void report(struct comparison *comparison, const char *section, const char *name,
                   const struct fth_attribute *a, const struct fth_attribute *b)
{
    comparison->count++;
    if (comparison->each)
        comparison->each(
            comparison->user,
            &(struct fth_difference){section, name, a, b, a && b ? fth_attribute_apart(a, b) : NAN,
                                     fth_is_circumstance(section, name) ||
                                         follows_assumed_policy(comparison, section, name)});
}

/* Compares a section. If `only_b` is false, the section is of description a, and all its
 * differences are reported. Otherwise it is of description b, and only attributes that a lacks are
 * reported. */
static void compare_section(struct comparison *comparison, const struct fth_gpu_section *section,
                            bool only_b)
{
    const struct fth_gpu *other = only_b ? comparison->a : comparison->b;
    for (size_t i = 0; i < section->count; i++) {
        const struct fth_attribute *mine = &section->attributes[i];
        const struct fth_attribute *theirs = fth_gpu_attribute(other, section->name, mine->name);
        if (only_b && !theirs)
            report(comparison, section->name, mine->name, NULL, mine);
        else if (!only_b && !(theirs && fth_attribute_agrees(mine, theirs)))
            report(comparison, section->name, mine->name, mine, theirs);
    }
}

static void compare_all(struct comparison *comparison, const struct fth_gpu *gpu, bool only_b)
{
    compare_section(comparison, &gpu->device, only_b);
    compare_section(comparison, &gpu->noise, only_b);
    for (size_t i = 0; i < gpu->element_count; i++)
        compare_section(comparison, &gpu->elements[i], only_b);
}

size_t fth_gpu_compare(const struct fth_gpu *a, const struct fth_gpu *b,
                       void (*each)(void *user, const struct fth_difference *difference),
                       void *user)
{
    struct comparison comparison = {a, b, each, user, 0};
    compare_all(&comparison, a, false);
    compare_all(&comparison, b, true);
    return comparison.count;
}
