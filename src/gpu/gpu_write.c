/* Writes a GPU description as JSON, with one attribute per line and the fields of an attribute in a
 * fixed order. Two documents can therefore be compared with diff, and reading a document and
 * writing it again gives the same bytes. */
#include "gpu/gpu.h"

#include <math.h>

static void write_value(struct fth_json_writer *json, const struct fth_attribute *attribute)
{
    switch (attribute->kind) {
    case FTH_NUMBER: fth_json_number(json, attribute->number); break;
    case FTH_TEXT: fth_json_text(json, attribute->text); break;
    case FTH_RAW: fth_json_raw(json, attribute->text); break;
    case FTH_NUMBERS:
    case FTH_TEXTS:
        fth_json_begin(json, '[', true);
        for (size_t i = 0; i < attribute->count; i++)
            if (attribute->kind == FTH_NUMBERS)
                fth_json_number(json, attribute->numbers[i]);
            else
                fth_json_text(json, attribute->texts[i]);
        fth_json_end(json, ']');
        break;
    }
}

static void write_text_field(struct fth_json_writer *json, const char *key, const char *text)
{
    if (text) {
        fth_json_key(json, key);
        fth_json_text(json, text);
    }
}

static void write_number_field(struct fth_json_writer *json, const char *key, double number)
{
    if (!isnan(number)) {
        fth_json_key(json, key);
        fth_json_number(json, number);
    }
}

/* Returns whether an attribute has no provenance, so that its value alone is written. */
static bool is_plain(const struct fth_attribute *a)
{
    return a->source == FTH_SOURCE_NONE && !a->method && !a->reference && !a->note &&
           isnan(a->confidence) && isnan(a->samples) && isnan(a->low) && isnan(a->high);
}

static void write_attribute(struct fth_json_writer *json, const struct fth_attribute *attribute)
{
    fth_json_key(json, attribute->name);
    if (is_plain(attribute)) {
        write_value(json, attribute);
        return;
    }
    fth_json_begin(json, '{', true);
    fth_json_key(json, "value");
    write_value(json, attribute);
    write_text_field(json, "source", fth_source_name(attribute->source));
    write_text_field(json, "method", attribute->method);
    write_text_field(json, "reference", attribute->reference);
    write_number_field(json, "confidence", attribute->confidence);
    write_number_field(json, "samples", attribute->samples);
    write_number_field(json, "low", attribute->low);
    write_number_field(json, "high", attribute->high);
    write_text_field(json, "note", attribute->note);
    fth_json_end(json, '}');
}

static void write_named(struct fth_json_writer *json, const char *key,
                        const struct fth_named_texts *list)
{
    if (list->count == 0)
        return;
    fth_json_key(json, key);
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < list->count; i++)
        write_text_field(json, list->items[i].name, list->items[i].text);
    fth_json_end(json, '}');
}

static void write_section(struct fth_json_writer *json, const struct fth_gpu_section *section)
{
    fth_json_key(json, section->name);
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < section->count; i++)
        write_attribute(json, &section->attributes[i]);
    write_named(json, "unknown", &section->unknown);
    fth_json_end(json, '}');
}

enum fth_status fth_gpu_write_text(const struct fth_gpu *gpu, char **text, size_t *size,
                                   struct fth_error *error)
{
    struct fth_buffer out = {0};
    struct fth_json_writer json = {.out = &out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-gpu/1");
    write_section(&json, &gpu->device);
    if (gpu->noise.count)
        write_section(&json, &gpu->noise);
    fth_json_key(&json, "elements");
    fth_json_begin(&json, '{', false);
    for (size_t i = 0; i < gpu->element_count; i++)
        write_section(&json, &gpu->elements[i]);
    fth_json_end(&json, '}');
    write_named(&json, "references", &gpu->references);
    fth_json_end(&json, '}');
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
