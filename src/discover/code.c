/* The instruction cache of CPUs, and of GPUs of other vendors than NVIDIA. */
#include "discover/discover.h"
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <string.h>

static const char element[] = "instruction_l1";
/* The odd part of the sizes that instruction caches of GPUs have: 16, 32, 48, 64 KiB, … Chosen. */
enum { UNIT_BYTES = 1024, MAX_ODD_PART = 3 };

/* Which units share the cache would need kernels that execute code on two of them at a time. */
static const char sharing_reason[] = "there is no experiment that executes code on two units";
static const char line_reason[] = "straight-line code uses every line completely";
static const char ways_reason[] = "there is no experiment with code of chosen sets";

/* Writes the size, and that nothing else is known of the structure. */
static enum fth_status note_size(struct fth_discovery *discovery, const struct fth_note *size,
                                 struct fth_error *error)
{
    FTH_TRY(fth_note(discovery->gpu, size, error));
    FTH_TRY(fth_note_unknown(discovery->gpu, element, "line_bytes", line_reason, error));
    FTH_TRY(fth_note_unknown(discovery->gpu, element, "ways", ways_reason, error));
    FTH_TRY(fth_note_unknown(discovery->gpu, element, "sets", ways_reason, error));
    return fth_note_unknown(discovery->gpu, element, "sms_per_instance", sharing_reason, error);
}

/* ---- CPUs ---- */

static enum fth_status find_cpu_code(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_code_cache cache;
    enum fth_status status = fth_probe_code_cache(&discovery->prober, &cache, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "size_bytes", status, error);
    /* The next cache may be unified, and its limit shows in code as well. */
    if ((double)cache.bytes >= fth_gpu_number(discovery->gpu, "l2", "size_bytes", INFINITY))
        return fth_note_unknown(discovery->gpu, element, "size_bytes",
                                "only code that does not fit into the L2 becomes slower", error);
    FTH_TRY(fth_note(discovery->gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "scope",
                                        .text = "sm",
                                        .source = FTH_SOURCE_DERIVED,
                                        .method = "from the architecture"},
                     error));
    return note_size(discovery,
                     &(struct fth_note){.element = element,
                                        .attribute = "size_bytes",
                                        .number = (double)cache.bytes,
                                        .evidence = &cache.evidence,
                                        .samples = cache.samples,
                                        .method = "the length at which straight-line code and "
                                                  "branches become slower",
                                        .note = "the nearest size that instruction caches have"},
                     error);
}

/* ---- GPUs ---- */

/* Returns the size that caches have and that is at least `fits` and at most `misses`: the code
 * around the loop needs some lines as well, so that code of the size of the cache may not fit. 0:
 * there is none, or more than one. */
static uint64_t usual_size(uint64_t fits, uint64_t misses)
{
    uint64_t found = 0;
    for (uint64_t size = (fits + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES; size <= misses;
         size += UNIT_BYTES) {
        if (size == 0 || size / (size & (~size + 1)) > MAX_ODD_PART)
            continue;
        if (found)
            return 0;
        found = size;
    }
    return found;
}

static enum fth_status note_level(struct fth_discovery *discovery,
                                  const struct fth_fetch_levels *levels,
                                  const struct fth_fetch_level *level, struct fth_error *error)
{
    const uint64_t size = usual_size(level->fits_bytes, level->misses_bytes);
    char text[160];
    if (!size) {
        fth_format(text, sizeof text,
                   "code of %llu bytes fits and code of %llu does not, and between them is no size "
                   "that instruction caches have",
                   (unsigned long long)level->fits_bytes, (unsigned long long)level->misses_bytes);
        return fth_note_unknown(discovery->gpu, element, "size_bytes", text, error);
    }
    fth_format(text, sizeof text, "code of %llu bytes fits, code of %llu does not",
               (unsigned long long)level->fits_bytes, (unsigned long long)level->misses_bytes);
    FTH_TRY(note_size(discovery,
                      &(struct fth_note){.element = element,
                                         .attribute = "size_bytes",
                                         .number = (double)size,
                                         .evidence = &level->evidence,
                                         .samples = levels->samples,
                                         .method = "the longest straight-line code at this rate",
                                         .note = text},
                      error));
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "cycles_per_instruction",
                                       .figure = &level->cycles,
                                       .method = "straight-line code executed by one work-item"},
                    error);
}

static enum fth_status find_gpu_code(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_fetch_levels levels = {.count = 0};
    enum fth_status status = fth_probe_fetch(&discovery->prober, &levels, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "size_bytes", status, error);
    if (levels.count != 2)
        return fth_note_unknown(discovery->gpu, element, "size_bytes",
                                levels.count < 2 ? "all code is executed at the same rate"
                                                 : "straight-line code shows more than one cache",
                                error);
    return note_level(discovery, &levels, &levels.items[0], error);
}

enum fth_status fth_discover_code(struct fth_discovery *discovery, struct fth_error *error)
{
    const char *kind = fth_gpu_text(discovery->gpu, "device", "kind");
    if (!fth_gpu_attribute(discovery->gpu, "device", "instruction_bytes"))
        return fth_note_unknown(discovery->gpu, element, "size_bytes",
                                "fathom has no code of known length for this device, and older "
                                "recordings contain none",
                                error);
    return kind && strcmp(kind, "cpu") == 0 ? find_cpu_code(discovery, error)
                                            : find_gpu_code(discovery, error);
}
