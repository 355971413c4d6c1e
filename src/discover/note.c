/* Writes measured figures into a description, as attributes with their provenance. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Maximum difference in cycles between the latencies from whole passes and from single loads for
 * which they are considered equal. One cycle is the resolution of a single load. */
static const double max_difference_cycles = 1;

const char fth_pass_method[] =
    "whole passes over two chains of different lengths, warm caches; median over passes";

/* The method of fth_probe_latency if passes over the same chain differ. */
static const char disturbed_method[] =
    "single loads, because whole passes were disturbed; minus the cost of reading the clock";

enum fth_status fth_note_section(struct fth_gpu *gpu, const char *element,
                                 struct fth_gpu_section **section, struct fth_error *error)
{
    *section = fth_gpu_section(gpu, element);
    if (*section)
        return FTH_OK;
    enum fth_status status = fth_gpu_add_element(gpu, element, error);
    *section = fth_gpu_section(gpu, element);
    return status;
}

/* Sets the attribute and removes its entry under "unknown". */
static enum fth_status set_known(struct fth_gpu *gpu, struct fth_gpu_section *section,
                                 const struct fth_attribute *attribute, struct fth_error *error)
{
    struct fth_named_texts *unknown = &section->unknown;
    for (size_t i = 0; i < unknown->count; i++)
        if (strcmp(unknown->items[i].name, attribute->name) == 0) {
            memmove(&unknown->items[i], &unknown->items[i + 1],
                    (unknown->count - i - 1) * sizeof *unknown->items);
            unknown->count--;
            break;
        }
    return fth_gpu_set(gpu, section, attribute, error);
}

void fth_note_remove(struct fth_gpu *gpu, const char *element, const char *attribute)
{
    struct fth_gpu_section *section = fth_gpu_section(gpu, element);
    for (size_t i = 0; section && i < section->count; i++)
        if (strcmp(section->attributes[i].name, attribute) == 0) {
            memmove(&section->attributes[i], &section->attributes[i + 1],
                    (section->count - i - 1) * sizeof *section->attributes);
            section->count--;
            return;
        }
}

enum fth_status fth_note_number(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(fth_note_section(gpu, note->element, &section, error));
    struct fth_attribute attribute = fth_attribute_make(note->attribute, FTH_NUMBER);
    attribute.number = note->value;
    attribute.source = FTH_SOURCE_MEASURED;
    attribute.method = note->method;
    attribute.note = note->note;
    attribute.confidence = note->confidence;
    attribute.samples = note->samples ? (double)note->samples : NAN;
    attribute.low = note->low;
    attribute.high = note->high;
    return set_known(gpu, section, &attribute, error);
}

enum fth_status fth_note_count(struct fth_gpu *gpu, const char *element, const char *attribute,
                               double value, size_t samples, const char *method,
                               struct fth_error *error)
{
    return fth_note_value(gpu, element, attribute, value, NAN, samples, method, error);
}

enum fth_status fth_note_value(struct fth_gpu *gpu, const char *element, const char *attribute,
                               double value, double confidence, size_t samples, const char *method,
                               struct fth_error *error)
{
    return fth_note_number(gpu,
                           &(struct fth_note){.element = element,
                                              .attribute = attribute,
                                              .value = value,
                                              .low = NAN,
                                              .high = NAN,
                                              .confidence = confidence,
                                              .samples = samples,
                                              .method = method},
                           error);
}

/* Sets an attribute whose value is a text or a list. */
static enum fth_status note_text_or_list(struct fth_gpu *gpu, const char *element,
                                         struct fth_attribute *attribute, const char *method,
                                         struct fth_error *error)
{
    struct fth_gpu_section *section;
    enum fth_status status = fth_note_section(gpu, element, &section, error);
    attribute->source = FTH_SOURCE_MEASURED;
    attribute->method = method;
    return status == FTH_OK ? set_known(gpu, section, attribute, error) : status;
}

enum fth_status fth_note_text(struct fth_gpu *gpu, const char *element, const char *attribute,
                              const char *text, const char *method, struct fth_error *error)
{
    struct fth_attribute new_attribute = fth_attribute_make(attribute, FTH_TEXT);
    new_attribute.text = text;
    return note_text_or_list(gpu, element, &new_attribute, method, error);
}

enum fth_status fth_note_numbers(struct fth_gpu *gpu, const char *element, const char *attribute,
                                 const double *numbers, size_t count, double confidence,
                                 size_t samples, const char *method, struct fth_error *error)
{
    struct fth_attribute new_attribute = fth_attribute_make(attribute, FTH_NUMBERS);
    new_attribute.numbers = numbers;
    new_attribute.count = count;
    new_attribute.confidence = confidence;
    new_attribute.samples = samples ? (double)samples : NAN;
    return note_text_or_list(gpu, element, &new_attribute, method, error);
}

enum fth_status fth_note_texts(struct fth_gpu *gpu, const char *element, const char *attribute,
                               const char *const *texts, size_t count, double confidence,
                               const char *method, struct fth_error *error)
{
    struct fth_attribute new_attribute = fth_attribute_make(attribute, FTH_TEXTS);
    new_attribute.texts = texts;
    new_attribute.count = count;
    new_attribute.confidence = confidence;
    return note_text_or_list(gpu, element, &new_attribute, method, error);
}

const char *fth_note_agreement(const struct fth_discovery *discovery, double latency_cycles,
                               double overhead_cycles, char note[FTH_NOTE_BYTES])
{
    const double difference = overhead_cycles - discovery->l2_overhead_cycles;
    if (!(fabs(difference) > max_difference_cycles))
        return NULL;
    fth_format(
        note, FTH_NOTE_BYTES,
        "%.1f cycles if timed load by load; reading the clock costs %.1f cycles %s here than "
        "for L2 loads",
        latency_cycles + difference, fabs(difference), difference > 0 ? "more" : "less");
    return note;
}

/* Passes of a few hundred loads resolve a tenth of a cycle. */
static double round_to_tenth(double value)
{
    return round(value * 10) / 10;
}

enum fth_status fth_note_latency(struct fth_gpu *gpu, const char *element, const char *attribute,
                                 const struct fth_figure *figure, const char *method,
                                 struct fth_error *error)
{
    struct fth_note note = {.element = element,
                            .attribute = attribute,
                            .value = round_to_tenth(figure->value),
                            .low = round_to_tenth(figure->low),
                            .high = round_to_tenth(figure->high),
                            .confidence = figure->confidence > 0 ? figure->confidence : NAN,
                            .samples = figure->samples,
                            .method = figure->disturbed ? disturbed_method : method,
                            .note = figure->note};
    enum fth_status status = fth_note_number(gpu, &note, error);
    if (status != FTH_OK || strcmp(attribute, "latency_cycles") != 0 ||
        !isfinite(figure->clock_mhz) || figure->clock_mhz <= 0)
        return status;
    const double ns = 1e3 / figure->clock_mhz;
    note.attribute = "latency_ns";
    note.value = round_to_tenth(figure->value * ns);
    note.low = round_to_tenth(figure->low * ns);
    note.high = round_to_tenth(figure->high * ns);
    note.method = "latency in cycles / SM clock observed by the kernel";
    return fth_note_number(gpu, &note, error);
}

enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element, const char *attribute,
                                 const char *reason, struct fth_error *error)
{
    struct fth_gpu_section *section;
    enum fth_status status = fth_note_section(gpu, element, &section, error);
    fth_note_remove(gpu, element, attribute);
    if (status != FTH_OK || fth_gpu_unknown(gpu, element, attribute))
        return status; /* keep the first reason */
    return fth_gpu_set_unknown(gpu, section, attribute, reason, error);
}

enum fth_status fth_note_failure(struct fth_gpu *gpu, const char *element, const char *attribute,
                                 enum fth_status status, struct fth_error *error)
{
    if (status != FTH_INCONCLUSIVE && status != FTH_UNSUPPORTED)
        return status;
    char cause[sizeof error->cause] = "inconclusive";
    if (error) {
        memcpy(cause, error->cause, sizeof cause);
        *error = FTH_NO_ERROR;
    }
    return fth_note_unknown(gpu, element, attribute, cause, error);
}

enum fth_status fth_note_instances(struct fth_discovery *discovery, const char *element,
                                   const struct fth_walker *walker, struct fth_error *error)
{
    static const char method[] =
        "which warps of a full block evict lines that the first one loaded";
    struct fth_gpu *gpu = discovery->gpu;
    struct fth_instances found;
    struct fth_gpu_section *section;
    enum fth_status status = fth_probe_instances(&discovery->prober, walker, &found, error);
    if (status == FTH_OK)
        status = fth_note_value(gpu, element, "per_sm", found.count, found.confidence,
                                found.samples, method, error);
    else
        status = fth_note_failure(gpu, element, "per_sm", status, error);
    if (status == FTH_OK)
        status = fth_note_section(gpu, element, &section, error);
    if (status != FTH_OK)
        return status;
    /* The fraction for each warp, rounded to a thousandth. */
    for (size_t i = 0; i < FTH_MAX_WARPS; i++)
        found.disturbed[i] = round(1000 * found.disturbed[i]) / 1000;
    struct fth_attribute plot = fth_attribute_make("disturbed_by_warp", FTH_NUMBERS);
    plot.numbers = found.disturbed;
    plot.count = FTH_MAX_WARPS;
    plot.source = FTH_SOURCE_MEASURED;
    plot.method = "share of the first warp's lines that each warp evicted";
    return fth_gpu_set(gpu, section, &plot, error);
}
