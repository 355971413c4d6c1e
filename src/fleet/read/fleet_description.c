/* Descriptions (fathom-gpu/1) as measurements. A document is read directly, without building a
 * description of it, which takes less time; the values of attributes are checked only as far as
 * they are figures. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read a measurement";

/* The items of a list. */
struct items {
    double *numbers;
    const char **texts;
    size_t count;
};

/* Reads a list of numbers or of texts. False: no memory. *valid: it is such a list. */
static bool read_items(const struct fth_json *list, struct items *items, bool *valid)
{
    const size_t count = fth_json_count(list);
    *valid = true;
    items->count = count;
    items->numbers = calloc(count + 1, sizeof *items->numbers);
    items->texts = calloc(count + 1, sizeof *items->texts);
    if (!items->numbers || !items->texts)
        return false;
    size_t i = 0, texts = 0;
    FTH_JSON_EACH_ITEM (item, list) {
        items->numbers[i] = fth_json_double(item);
        items->texts[i] = fth_json_string(item);
        texts += items->texts[i] != NULL;
        *valid = *valid && (items->texts[i] || fth_json_is_number(item));
        i++;
    }
    *valid = *valid && (texts == 0 || texts == count);
    return true;
}

static enum fth_status put_list(struct fth_fleet_builder *builder, const char *section,
                                const struct fth_json *list, struct fth_fleet_attribute *attribute,
                                struct fth_error *error)
{
    struct items items = {0};
    bool valid = false;
    enum fth_status status = FTH_OK;
    if (!read_items(list, &items, &valid)) {
        status = fth_no_memory(error, operation, builder->draft.file);
    } else if (valid) {
        attribute->count = items.count;
        if (items.count && items.texts[0])
            attribute->texts = items.texts;
        else
            attribute->numbers = items.numbers;
        status = fth_fleet_builder_put(builder, section, attribute, error);
    }
    free(items.numbers);
    free(items.texts);
    return status;
}

/* Reads an attribute. Values of other types, which a later version may write, are ignored. */
static enum fth_status put_attribute(struct fth_fleet_builder *builder, const char *section,
                                     const struct fth_json *member, struct fth_error *error)
{
    const struct fth_json *value = member;
    struct fth_fleet_attribute attribute = {.name = member->key, .number = NAN, .confidence = NAN};
    if (fth_json_is(member, FTH_JSON_OBJECT)) {
        value = fth_json_get(member, "value");
        const struct fth_json *confidence = fth_json_get(member, "confidence");
        const char *source = fth_json_string(fth_json_get(member, "source"));
        if (fth_json_is_number(confidence))
            attribute.confidence = fth_json_double(confidence);
        if (source && strcmp(source, "simulated") == 0)
            builder->draft.gpu.simulated = true;
    }
    if (fth_json_is(value, FTH_JSON_LIST))
        return put_list(builder, section, value, &attribute, error);
    if (fth_json_is_number(value))
        attribute.number = fth_json_double(value);
    else
        attribute.text = fth_json_string(value);
    if (!attribute.text && isnan(attribute.number))
        return FTH_OK;
    return fth_fleet_builder_put(builder, section, &attribute, error);
}

static enum fth_status put_section(struct fth_fleet_builder *builder, const char *section,
                                   const struct fth_json *object, struct fth_error *error)
{
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                        "%s: expected an object", section);
    FTH_JSON_EACH_MEMBER (member, object)
        if (strcmp(member->key, "unknown") != 0)
            FTH_TRY(put_attribute(builder, section, member, error));
    return FTH_OK;
}

enum fth_status fth_fleet_add_description(struct fth_fleet_builder *builder,
                                          const struct fth_json *root, struct fth_error *error)
{
    const struct fth_json *elements = fth_json_get(root, "elements");
    FTH_TRY(put_section(builder, "device", fth_json_get(root, "device"), error));
    if (!fth_json_is(elements, FTH_JSON_OBJECT))
        return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                        "elements: expected an object");
    FTH_JSON_EACH_MEMBER (element, elements)
        FTH_TRY(put_section(builder, element->key, element, error));
    return fth_fleet_builder_finish(builder, error);
}

/* ---- descriptions in memory ---- */

static enum fth_status put_gpu_section(struct fth_fleet_builder *builder,
                                       const struct fth_gpu_section *section,
                                       struct fth_error *error)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct fth_attribute *from = &section->attributes[i];
        const struct fth_fleet_attribute attribute = {
            .name = from->name,
            .number = from->kind == FTH_NUMBER ? from->number : NAN,
            .text = from->kind == FTH_TEXT ? from->text : NULL,
            .numbers = from->kind == FTH_NUMBERS ? from->numbers : NULL,
            .texts = from->kind == FTH_TEXTS ? from->texts : NULL,
            .count = from->count,
            .confidence = from->confidence};
        if (from->source == FTH_SOURCE_SIMULATED)
            builder->draft.gpu.simulated = true;
        if (from->kind != FTH_RAW)
            FTH_TRY(fth_fleet_builder_put(builder, section->name, &attribute, error));
    }
    return FTH_OK;
}

enum fth_status fth_fleet_add_gpu(struct fth_fleet *fleet, const struct fth_gpu *gpu,
                                  const char *file, struct fth_error *error)
{
    struct fth_fleet_builder builder = {.fleet = fleet};
    fth_fleet_builder_reset(&builder, file, NULL);
    enum fth_status status = put_gpu_section(&builder, &gpu->device, error);
    for (size_t i = 0; status == FTH_OK && i < gpu->element_count; i++)
        status = put_gpu_section(&builder, &gpu->elements[i], error);
    if (status == FTH_OK)
        status = fth_fleet_builder_finish(&builder, error);
    fth_fleet_builder_fini(&builder);
    return status;
}

/* ---- documents of any kind ---- */

enum fth_status fth_fleet_add_document(struct fth_fleet_builder *builder, const char *file,
                                       const char *path, const char *text, size_t size,
                                       struct fth_error *error)
{
    struct fth_json_document document = {0};
    const size_t figures = builder->fleet->figure_count;
    fth_fleet_builder_reset(builder, file, path);
    enum fth_status status = fth_json_parse(file, text, size, &document, error);
    if (status != FTH_OK)
        return status;
    const char *schema = fth_json_string(fth_json_get(document.root, "schema"));
    if (schema && strcmp(schema, "fathom-gpu/1") == 0)
        status = fth_fleet_add_description(builder, document.root, error);
    else if (schema && strcmp(schema, "fathom-fleet-record/1") == 0)
        status = fth_fleet_add_record(builder, document.root, error);
    else
        status = fth_fail(error, FTH_INVALID, operation, file,
                          "it is neither a GPU description (fathom-gpu/1) nor a measurement "
                          "(fathom-fleet-record/1): its \"schema\" is %s",
                          schema ? schema : "missing");
    if (status != FTH_OK)
        fth_fleet_forget_figures(builder->fleet, figures);
    fth_json_fini(&document);
    return status;
}
