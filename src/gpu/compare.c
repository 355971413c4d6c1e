/* What differs between two descriptions. A measured figure stands for an interval, so two figures
 * differ only where their intervals do not meet; a figure without one is its own interval. */
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

/* Lists of names (shared_with) have no order; lists of numbers (set_ways) do. */
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
    static const char *const device[] = {"uuid",
                                         "pci_bus",
                                         "backend",
                                         "driver",
                                         "cuda_version",
                                         "pcie_generation",
                                         "current_clock_mhz",
                                         "current_memory_clock_mhz",
                                         "power_w",
                                         "temperature_c",
                                         "mps",
                                         "kernel_timeout"};
    /* What figures were read off: it is never twice the same. Over 20 runs of one H200, what is
     * resident in L1 was 14 different figures, and the L2's onset 18 MiB or, twice, 27; the sizes,
     * and all other ends of ramps, were the same each time, so that these are compared. */
    static const char *const plots[] = {"latency_by_sm_cycles", "disturbed_by_warp",
                                        "resident_bytes"};
    if (strcmp(section, "l2") == 0 && strcmp(name, "onset_bytes") == 0)
        return true;
    if (strcmp(section, "noise") == 0)
        return true;
    for (size_t i = 0; strcmp(section, "device") == 0 && i < FTH_COUNT(device); i++)
        if (strcmp(name, device[i]) == 0)
            return true;
    for (size_t i = 0; i < FTH_COUNT(plots); i++)
        if (strcmp(name, plots[i]) == 0)
            return true;
    return false;
}

struct comparison {
    const struct fth_gpu *a, *b;
    void (*each)(void *, const struct fth_difference *);
    void *user;
    size_t count;
};

static void report(struct comparison *comparison, const char *section, const char *name,
                   const struct fth_attribute *a, const struct fth_attribute *b)
{
    comparison->count++;
    if (comparison->each)
        comparison->each(comparison->user,
                         &(struct fth_difference){section, name, a, b,
                                                  a && b ? fth_attribute_apart(a, b) : NAN,
                                                  fth_is_circumstance(section, name)});
}

/* `section` is one of the first description unless `only_b`: then what only the second has. */
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
