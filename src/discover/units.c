/* The units (compute units, cores) of a device of another vendor, and how many of them share a
 * cache (docs/methods/hierarchy.md). Both need kernels that can read the number of their unit. */
#include "discover/discover.h"

#include <math.h>
#include <string.h>

/* Fields of the number of an AMD unit (kernels/opencl/amd.cl): the XCD is above bit 16, and what is
 * above bit 8 identifies the shader array. */
enum { XCD_SHIFT = 16, ARRAY_SHIFT = 8 };
/* Repeats that the numbers of XCDs and shader arrays are based on: the launches that find units. */
enum { PLACE_REPEATS = 4 };
/* Maximum number of lines of a cache times units. Chosen: more take too long. */
static const double max_lines = 1 << 21, max_simulated_lines = 1 << 18;
/* Rounds of a request on a simulated device, where they take long and where hardly anything makes a
 * pass slower. */
enum { SIM_ROUNDS = 1 };

/* Counts the different numbers that the units have above a bit. They are in ascending order. */
static size_t count_parts(const struct fth_units *units, unsigned shift)
{
    size_t count = 0;
    for (size_t i = 0; i < units->count; i++)
        count += i == 0 || units->numbers[i] >> shift != units->numbers[i - 1] >> shift;
    return count;
}

/* Writes what the numbers of an AMD GPU's units show. */
static enum fth_status note_parts(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char method[] = "different numbers of the units that executed work-groups";
    const struct fth_units *units = &discovery->units;
    const struct fth_evidence evidence = {.repeats = PLACE_REPEATS, .agree = PLACE_REPEATS};
    const size_t xcds = count_parts(units, XCD_SHIFT);
    if (xcds > 1)
        FTH_TRY(fth_note_number(discovery->gpu, "device", "xcds", xcds, &evidence, units->samples,
                                method, error));
    return fth_note_number(discovery->gpu, "device", "shader_arrays",
                           count_parts(units, ARRAY_SHIFT), &evidence, units->samples, method,
                           error);
}

/* Finds the units, once. *reason: why they are not known; empty if they are. */
static enum fth_status find_units(struct fth_discovery *discovery, char *reason, size_t size,
                                  struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    const char *source = fth_gpu_text(discovery->gpu, "device", "unit_source");
    const double sms = fth_gpu_number(discovery->gpu, "device", "sms", 0);
    reason[0] = '\0';
    if (strcmp(source, "none") == 0) {
        fth_format(reason, size, "the kernels cannot read which unit executes them");
        return FTH_OK;
    }
    if (discovery->units.count == 0) {
        enum fth_status status =
            fth_probe_units(&discovery->prober, (size_t)sms,
                            discovery->simulated ? 0 : FTH_UNIT_HOLD_NS, &discovery->units, &fault);
        if (status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED) {
            fth_format(reason, size, "%s", fault.cause);
            return FTH_OK;
        }
        if (status != FTH_OK)
            return fth_error_move(error, &fault);
        if (strcmp(source, "HW_ID") == 0 && (double)discovery->units.count == sms)
            FTH_TRY(note_parts(discovery, error));
    }
    if ((double)discovery->units.count != sms)
        fth_format(reason, size, "work-groups ran on %.0f units, but the driver reports %.0f",
                   (double)discovery->units.count, sms);
    return FTH_OK;
}

/* Writes how many units share a cache, and its scope. */
static enum fth_status note_sharing(struct fth_discovery *discovery, const char *element,
                                    const struct fth_sharers *sharing, struct fth_error *error)
{
    const char *scope = sharing->count == 1                        ? "sm"
                        : sharing->count == discovery->units.count ? "gpu"
                                                                   : "group";
    FTH_TRY(fth_note_number(discovery->gpu, element, "sms_per_instance", sharing->count,
                            &sharing->evidence, sharing->samples,
                            "units whose loads evict the lines of another unit", error));
    struct fth_attribute attribute = fth_attribute_make("scope", FTH_TEXT);
    attribute.text = scope;
    return fth_note_attribute(discovery->gpu, element, &attribute, error);
}

enum fth_status fth_discover_sharing(struct fth_discovery *discovery, const char *element,
                                     const struct fth_sharers_plan *plan, struct fth_error *error)
{
    static const char attribute[] = "sms_per_instance";
    char reason[192];
    struct fth_sharers sharing;
    struct fth_sharers_plan how = *plan;
    how.rounds = discovery->simulated ? SIM_ROUNDS : 0;
    /* Recordings of older versions do not have the experiment. */
    if (!fth_gpu_text(discovery->gpu, "device", "unit_source"))
        return FTH_OK;
    FTH_TRY(find_units(discovery, reason, sizeof reason, error));
    if (!reason[0] &&
        (double)plan->size_bytes / (double)plan->line_bytes * (double)discovery->units.count >
            (discovery->simulated ? max_simulated_lines : max_lines))
        fth_format(reason, sizeof reason, "the cache is too large to evict its lines");
    if (!reason[0] && plan->next_bytes && plan->next_bytes < 3 * plan->size_bytes)
        fth_format(reason, sizeof reason, "the level behind the cache is hardly larger");
    /* The own chain has twice the size of the cache before, and must fit. */
    if (!reason[0] && 2 * plan->near_bytes > plan->size_bytes / 4 * 3)
        fth_format(reason, sizeof reason, "the cache before it is hardly smaller");
    if (reason[0])
        return fth_note_unknown(discovery->gpu, element, attribute, reason, error);
    enum fth_status status =
        fth_probe_sharers(&discovery->prober, &discovery->units, &how, &sharing, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, attribute, status, error);
    return note_sharing(discovery, element, &sharing, error);
}
