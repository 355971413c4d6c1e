/* The architectures of entries, and which PTX a GPU would execute. The driver compiles PTX for its
 * own architecture and for later ones; CUDA's architecture-specific and family-specific features
 * (the suffixes 'a' and 'f') restrict this. */
#include "fatbin/fatbin.h"

#include <stdio.h>

const char *fth_fatbin_target_format(const struct fth_fatbin_entry *entry, char *text, size_t size)
{
    const char suffix[] = {entry->target.suffix, '\0'};
    snprintf(text, size, "%s_%u%s", entry->kind == FTH_FATBIN_PTX ? "compute" : "sm",
             entry->target.number, suffix);
    return text;
}

/* Returns whether a GPU of architecture `number` executes PTX for this target. */
static bool executes(uint32_t number, const struct fth_fatbin_target *target)
{
    switch (target->suffix) {
    case 'a': return target->number == number;
    case 'f': return target->number <= number && target->number / 10 == number / 10;
    default: return target->number <= number;
    }
}

/* Returns how specific a target is: the architecture, then the suffix. */
static uint64_t rank(const struct fth_fatbin_target *target)
{
    const unsigned suffix = target->suffix == 'a' ? 2 : target->suffix == 'f';
    return (uint64_t)target->number * 4 + suffix;
}

/* Returns the index of the first entry of a container, or of a later one if it has none. The
 * entries are sorted by their containers. */
static size_t first_entry(const struct fth_fatbin *fatbin, size_t container)
{
    size_t low = 0, high = fatbin->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (fatbin->entries[middle].container < container)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fth_fatbin_entry *fth_fatbin_choose(const struct fth_fatbin *fatbin, size_t container,
                                                 uint32_t number)
{
    const struct fth_fatbin_entry *best = NULL;
    const size_t end = first_entry(fatbin, container + 1);
    for (size_t i = first_entry(fatbin, container); i < end; i++) {
        const struct fth_fatbin_entry *entry = &fatbin->entries[i];
        if (entry->kind == FTH_FATBIN_PTX && executes(number, &entry->target) &&
            (!best || rank(&entry->target) > rank(&best->target)))
            best = entry;
    }
    return best;
}

const struct fth_fatbin_entry *fth_fatbin_lowest(const struct fth_fatbin *fatbin, size_t container)
{
    const struct fth_fatbin_entry *best = NULL;
    const size_t end = first_entry(fatbin, container + 1);
    for (size_t i = first_entry(fatbin, container); i < end; i++) {
        const struct fth_fatbin_entry *entry = &fatbin->entries[i];
        if (entry->kind == FTH_FATBIN_PTX && (!best || rank(&entry->target) < rank(&best->target)))
            best = entry;
    }
    return best;
}
