/* Writes measured values into a description, as attributes with their provenance, or the reasons
 * why they are unknown. */
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

/* ---- attributes ---- */

/* Finds the section of an element and adds it if it is missing. */
static enum fth_status find_section(struct fth_gpu *gpu, const char *element,
                                    struct fth_gpu_section **section, struct fth_error *error)
{
    if (!fth_gpu_find_section(gpu, element))
        FTH_TRY(fth_gpu_add_element(gpu, element, error));
    *section = fth_gpu_section(gpu, element);
    return FTH_OK;
}

/* Removes the reason why an attribute is unknown. */
static void forget_reason(struct fth_gpu_section *section, const char *attribute)
{
    struct fth_named_texts *unknown = &section->unknown;
    for (size_t i = 0; i < unknown->count; i++)
        if (strcmp(unknown->items[i].name, attribute) == 0) {
            memmove(&unknown->items[i], &unknown->items[i + 1],
                    (unknown->count - i - 1) * sizeof *unknown->items);
            unknown->count--;
            break;
        }
}

enum fth_status fth_note_attribute(struct fth_gpu *gpu, const char *element,
                                   const struct fth_attribute *attribute, struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(find_section(gpu, element, &section, error));
    forget_reason(section, attribute->name);
    return fth_gpu_set(gpu, section, attribute, error);
}

double fth_round_to_tenth(double value)
{
    return round(value * 10) / 10;
}

/* Calibration does not resolve more than four decimal places. */
double fth_round_confidence(double confidence)
{
    return round(confidence * 1e4) / 1e4;
}

/* Writes a figure in cycles. For latency_cycles, also writes latency_ns if the clock is known. */
static enum fth_status note_figure(struct fth_gpu *gpu, const struct fth_note *note,
                                   struct fth_error *error)
{
    const struct fth_figure *figure = note->figure;
    struct fth_note cycles = *note;
    cycles.figure = NULL;
    cycles.number = fth_round_to_tenth(figure->value);
    cycles.interval =
        (const double[]){fth_round_to_tenth(figure->low), fth_round_to_tenth(figure->high)};
    cycles.confidence = figure->confidence > 0 ? &figure->confidence : NULL;
    cycles.samples = figure->samples;
    cycles.method = figure->disturbed ? disturbed_method : note->method;
    cycles.note = figure->note;
    FTH_TRY(fth_note(gpu, &cycles, error));
    if (strcmp(note->attribute, "latency_cycles") != 0 || !isfinite(figure->clock_mhz) ||
        figure->clock_mhz <= 0)
        return FTH_OK;
    const double ns_per_cycle = 1e3 / figure->clock_mhz;
    struct fth_note ns = cycles;
    ns.attribute = "latency_ns";
    ns.number = fth_round_to_tenth(figure->value * ns_per_cycle);
    ns.interval = (const double[]){fth_round_to_tenth(figure->low * ns_per_cycle),
                                   fth_round_to_tenth(figure->high * ns_per_cycle)};
    ns.method = "latency in cycles / SM clock observed by the kernel";
    return fth_note(gpu, &ns, error);
}

enum fth_source fth_note_source(const struct fth_gpu *gpu)
{
    const char *backend = fth_gpu_text(gpu, "device", "backend");
    return backend && strcmp(backend, "simulated") == 0 ? FTH_SOURCE_SIMULATED
                                                        : FTH_SOURCE_MEASURED;
}

/* Maximum length of a method with the number of repeats. */
enum { METHOD_BYTES = 400 };

/* Sets the confidence of an attribute, and adds the number of repeats to its method. `method` has
 * the space for it. */
static void set_evidence(struct fth_attribute *attribute, struct fth_evidence evidence,
                         char method[METHOD_BYTES])
{
    if (!(evidence.repeats > 0))
        return;
    attribute->confidence = fth_confidence(evidence);
    char repeats[64];
    if (evidence.resampled)
        fth_format(repeats, sizeof repeats, "%.3g %% of the resamples agree",
                   100 * fth_evidence_share(evidence));
    else
        fth_format(repeats, sizeof repeats, "%.0f of %.0f repeats agree", evidence.agree,
                   evidence.repeats);
    fth_format(method, METHOD_BYTES, "%s%s%s%s%s", attribute->method ? attribute->method : "",
               attribute->method ? "; " : "", repeats, evidence.doubt ? ", but " : "",
               evidence.doubt ? evidence.doubt : "");
    attribute->method = method;
}

enum fth_status fth_note(struct fth_gpu *gpu, const struct fth_note *note, struct fth_error *error)
{
    char method[METHOD_BYTES];
    if (note->figure)
        return note_figure(gpu, note, error);
    struct fth_attribute attribute =
        fth_attribute_make(note->attribute, note->text      ? FTH_TEXT
                                            : note->texts   ? FTH_TEXTS
                                            : note->numbers ? FTH_NUMBERS
                                                            : FTH_NUMBER);
    attribute.text = note->text;
    attribute.texts = note->texts;
    attribute.numbers = note->numbers;
    attribute.count = note->count;
    attribute.source = note->source == FTH_SOURCE_NONE ? fth_note_source(gpu) : note->source;
    attribute.method = note->method;
    attribute.note = note->note;
    if (attribute.kind == FTH_NUMBER)
        attribute.number = note->number;
    if (note->interval) {
        attribute.low = note->interval[0];
        attribute.high = note->interval[1];
    }
    if (note->evidence)
        set_evidence(&attribute, *note->evidence, method);
    if (note->confidence)
        attribute.confidence = *note->confidence;
    attribute.confidence = fth_round_confidence(attribute.confidence);
    if (note->samples)
        attribute.samples = (double)note->samples;
    return fth_note_attribute(gpu, note->element, &attribute, error);
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

/* ---- reasons ---- */

enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element, const char *attribute,
                                 const char *reason, struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(find_section(gpu, element, &section, error));
    fth_note_remove(gpu, element, attribute);
    if (fth_gpu_unknown(gpu, element, attribute))
        return FTH_OK; /* keep the first reason */
    return fth_gpu_set_unknown(gpu, section, attribute, reason, error);
}

enum fth_status fth_note_reason(struct fth_gpu *gpu, const char *element, const char *attribute,
                                const char *reason, struct fth_error *error)
{
    struct fth_gpu_section *section;
    FTH_TRY(find_section(gpu, element, &section, error));
    forget_reason(section, attribute);
    return fth_note_unknown(gpu, element, attribute, reason, error);
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

enum fth_status fth_note_number(struct fth_gpu *gpu, const char *element, const char *attribute,
                                uint64_t number, const struct fth_evidence *evidence,
                                size_t samples, const char *method, struct fth_error *error)
{
    return fth_note(gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = attribute,
                                       .number = (double)number,
                                       .evidence = evidence,
                                       .samples = samples,
                                       .method = method},
                    error);
}

/* ---- remarks ---- */

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
