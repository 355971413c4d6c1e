/* Writes the ways of the instruction caches, and of a constant L1.5 that shares its storage with
 * one of them (probe/structure/code_ways.c). */
#include "discover/discover.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const elements[] = {"instruction_l0", "instruction_l1", "instruction_l15",
                                       "constant_l15"};
static const char constants[] = "constant_l15";

/* The size of a cache, measured with straight-line code or with code and constants, is at most
 * max_excess times its ways x the bytes of a way, and at least min_part of them: the code of the
 * loops and what the hardware fetches in advance take a part of the cache. Chosen, not derived. */
static const double max_excess = 1.02, min_part = 0.65;
/* It is also at most this many bytes more: the distance of two lengths of code. The constants of a
 * few lines may be evicted although code and constants fit (probe/cache/constant_code.c), so that
 * the next length can seem to fit as well. */
enum { CODE_STEP_BYTES = 1024 };

static const char method[] =
    "branches that are 1, 2, 4, … KiB apart: the number of places at which "
    "all of them miss";

/* Whether the ways of this element are to be found: it was found, and it holds code. */
static bool holds_code(const struct fth_discovery *discovery, const char *element)
{
    const struct fth_gpu *gpu = discovery->gpu;
    if (!fth_discovery_wants(discovery, element) || !fth_gpu_attribute(gpu, element, "size_bytes"))
        return false;
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element, "shared_with");
    return strcmp(element, constants) != 0 || (with && with->count > 0);
}

/* Returns the result whose size is nearest to that of the element; NULL: none is near. */
static const struct fth_code_ways *find_ways(double size_bytes, const struct fth_code_ways *found,
                                             size_t count)
{
    const struct fth_code_ways *nearest = NULL;
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        const double bytes = (double)(found[i].ways * found[i].way_bytes),
                     part = size_bytes / bytes;
        if (part < min_part || size_bytes > fmax(max_excess * bytes, bytes + CODE_STEP_BYTES))
            continue;
        if (!nearest || fabs(log(part)) < best) {
            nearest = &found[i];
            best = fabs(log(part));
        }
    }
    return nearest;
}

/* Returns the line of a cache, which may be known from an element that shares its storage; NAN:
 * unknown. */
static double find_line(const struct fth_gpu *gpu, const char *element)
{
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element, "shared_with");
    double line = fth_gpu_number(gpu, element, "line_bytes", NAN);
    for (size_t i = 0; with && i < with->count && isnan(line); i++)
        line = fth_gpu_number(gpu, with->texts[i], "line_bytes", NAN);
    return line;
}

/* Writes the sets, if the line is known. */
static enum fth_status note_sets(struct fth_gpu *gpu, const char *element,
                                 const struct fth_code_ways *ways, struct fth_note note,
                                 struct fth_error *error)
{
    const double line = find_line(gpu, element);
    const double sets = (double)ways->way_bytes / line;
    note.attribute = "sets";
    note.number = sets;
    if (isfinite(sets) && sets >= 1 && sets == floor(sets))
        return fth_note(gpu, &note, error);
    char reason[96];
    snprintf(reason, sizeof reason, "a way has %llu bytes, but the line was not measured",
             (unsigned long long)ways->way_bytes);
    return fth_note_unknown(gpu, element, "sets", reason, error);
}

static enum fth_status note_ways(struct fth_gpu *gpu, const char *element,
                                 const struct fth_code_ways *ways, struct fth_error *error)
{
    const double size = fth_gpu_number(gpu, element, "size_bytes", NAN);
    char what[96], fits[96];
    snprintf(what, sizeof what, "a way has %llu bytes", (unsigned long long)ways->way_bytes);
    snprintf(fits, sizeof fits, "%.0f bytes fit next to the code of the measurement", size);
    struct fth_note note = {.element = element,
                            .attribute = "ways",
                            .number = (double)ways->ways,
                            .evidence = &ways->evidence,
                            .samples = ways->samples,
                            .method = method,
                            .note = what};
    FTH_TRY(fth_note(gpu, &note, error));
    FTH_TRY(note_sets(gpu, element, ways, note, error));
    if (size == (double)(ways->ways * ways->way_bytes))
        return FTH_OK;
    note.attribute = "size_bytes";
    note.number = (double)(ways->ways * ways->way_bytes);
    note.method = "ways x bytes of a way";
    note.note = fits;
    return fth_note(gpu, &note, error);
}

/* Writes the same reason for all attributes. */
static enum fth_status note_no_ways(struct fth_gpu *gpu, const char *element, const char *reason,
                                    struct fth_error *error)
{
    FTH_TRY(fth_note_unknown(gpu, element, "sets", reason, error));
    return fth_note_unknown(gpu, element, "ways", reason, error);
}

enum fth_status fth_dissect_code(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_gpu *gpu = discovery->gpu;
    bool wanted = false;
    for (size_t i = 0; i < FTH_COUNT(elements); i++)
        wanted = wanted || holds_code(discovery, elements[i]);
    if (!wanted)
        return FTH_OK;
    struct fth_code_ways found[FTH_MAX_CODE_WAYS];
    struct fth_error fault = FTH_NO_ERROR;
    size_t count;
    const struct fth_code_size code = fth_gpu_code_size(gpu);
    const enum fth_status status =
        fth_probe_code_ways(&discovery->prober, &code, found, &count, &fault);
    if (status != FTH_OK && status != FTH_INCONCLUSIVE && status != FTH_UNSUPPORTED)
        return fth_error_move(error, &fault);
    for (size_t i = 0; i < FTH_COUNT(elements); i++) {
        const char *element = elements[i];
        if (!holds_code(discovery, element) || fth_gpu_attribute(gpu, element, "ways"))
            continue;
        const struct fth_code_ways *ways =
            find_ways(fth_gpu_number(gpu, element, "size_bytes", NAN), found, count);
        const char *reason = status == FTH_OK
                                 ? "no number of ways explains when strided branches miss"
                                 : fault.cause;
        FTH_TRY(ways ? note_ways(gpu, element, ways, error)
                     : note_no_ways(gpu, element, reason, error));
    }
    return FTH_OK;
}
