/* Reads a GPU description from JSON. This file checks the JSON type of each value; validate.c,
 * which checks every description that is read, then checks the values themselves. */
#include "base/json.h"
#include "gpu/gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest description that is read. A sanity limit: about 200 times the largest description in
 * data/gpus when it was chosen. */
#define MAX_DESCRIPTION_BYTES ((size_t)16 * 1024 * 1024)

static const char operation[] = "read GPU description";

struct reader {
    const char *name; /* file name, for messages */
    const struct fth_log *log;
    struct fth_gpu *gpu;
    struct fth_json_path path; /* of the current value */
    struct fth_error *error;
};

/* Fails with FTH_INVALID at the current path. */
#define refuse(reader, ...)                                                                        \
    fth_json_refuse((reader)->error, operation, (reader)->name, &(reader)->path, __VA_ARGS__)

/* Warns about an unknown key. `treatment` says what happens to it; `nearest` may be NULL. */
static void warn_unknown(struct reader *reader, const char *what, const char *treatment,
                         const char *nearest)
{
    fth_log_message(reader->log, FTH_LOG_WARNING, "%s: %s: unknown %s, %s%s%s%s", reader->name,
                    reader->path.text, what, treatment, nearest ? " (did you mean '" : "",
                    nearest ? nearest : "", nearest ? "'?)" : "");
}

static const char *type_name(const struct fth_json *value)
{
    switch (value->kind) {
    case FTH_JSON_OBJECT: return "an object";
    case FTH_JSON_LIST: return "a list";
    case FTH_JSON_TEXT: return "a string";
    case FTH_JSON_INTEGER:
    case FTH_JSON_REAL: return "a number";
    case FTH_JSON_TRUE:
    case FTH_JSON_FALSE: return "a boolean";
    default: return "null";
    }
}

static enum fth_status wrong_type(struct reader *reader, const char *expected,
                                  const struct fth_json *value)
{
    if (fth_json_is(value, FTH_JSON_NULL))
        return refuse(reader, "null; omit unknown attributes and give the reason in \"unknown\"");
    return refuse(reader, "expected %s, found %s", expected, type_name(value));
}

static enum fth_status read_number(struct reader *reader, const struct fth_json *value,
                                   double *number)
{
    if (!fth_json_is_number(value))
        return wrong_type(reader, "a number", value);
    /* Integers are compared as integers: converted to a double, 2^53 + 1 would become 2^53. */
    const int64_t max = (int64_t)FTH_JSON_MAX_NUMBER;
    bool exceeds = fth_json_is(value, FTH_JSON_INTEGER)
                       ? value->integer > max || value->integer < -max
                       : fabs(value->real) > FTH_JSON_MAX_NUMBER;
    if (exceeds)
        return refuse(reader,
                      "the number exceeds 2^53, which not all JSON readers represent exactly");
    *number = fth_json_double(value);
    return FTH_OK;
}

static enum fth_status read_text(struct reader *reader, const struct fth_json *value,
                                 const char **text)
{
    if (!fth_json_is(value, FTH_JSON_TEXT))
        return wrong_type(reader, "a string", value);
    *text = fth_json_string(value);
    return FTH_OK;
}

static enum fth_status read_list(struct reader *reader, const struct fth_json *value,
                                 struct fth_attribute *attribute)
{
    if (!fth_json_is(value, FTH_JSON_LIST))
        return wrong_type(reader, "a list", value);
    size_t count = fth_json_count(value);
    /* The lists are needed only until fth_gpu_set copies them. They are allocated in the arena, so
     * that they need not be freed separately. */
    struct fth_arena *arena = &reader->gpu->arena;
    double *numbers = fth_arena_array(arena, count, sizeof *numbers);
    const char **texts = fth_arena_array(arena, count, sizeof *texts);
    if (!numbers || !texts)
        return fth_no_memory(reader->error, operation, reader->name);
    enum fth_status status = FTH_OK;
    size_t i = 0;
    FTH_JSON_EACH_ITEM (item, value) {
        size_t before = fth_json_path_index(&reader->path, i);
        status = attribute->kind == FTH_NUMBERS ? read_number(reader, item, &numbers[i])
                                                : read_text(reader, item, &texts[i]);
        fth_json_path_back(&reader->path, before);
        if (status != FTH_OK)
            break;
        i++;
    }
    attribute->count = count;
    attribute->numbers = numbers;
    attribute->texts = texts;
    return status;
}

static enum fth_status read_value(struct reader *reader, const struct fth_json *value,
                                  struct fth_attribute *attribute)
{
    switch (attribute->kind) {
    case FTH_NUMBER: return read_number(reader, value, &attribute->number);
    case FTH_TEXT: return read_text(reader, value, &attribute->text);
    default: return read_list(reader, value, attribute);
    }
}

/* Reads an attribute in its object form: "value" and the fields of its provenance. */
static enum fth_status read_provenance(struct reader *reader, const struct fth_json *object,
                                       struct fth_attribute *attribute)
{
    const struct fth_json *value = fth_json_get(object, "value");
    if (!value)
        return refuse(reader, "the object has no \"value\"");
    enum fth_status status = read_value(reader, value, attribute);
    FTH_JSON_EACH_MEMBER (field, object) {
        const char *key = field->key;
        const struct {
            const char *name;
            const char **text;
            double *number;
        } fields[] = {
            {"method", &attribute->method, NULL},   {"reference", &attribute->reference, NULL},
            {"note", &attribute->note, NULL},       {"confidence", NULL, &attribute->confidence},
            {"samples", NULL, &attribute->samples}, {"low", NULL, &attribute->low},
            {"high", NULL, &attribute->high},
        };
        if (status != FTH_OK)
            break;
        if (strcmp(key, "value") == 0)
            continue;
        size_t before = fth_json_path_key(&reader->path, key);
        size_t i = 0;
        while (i < FTH_COUNT(fields) && strcmp(fields[i].name, key) != 0)
            i++;
        if (strcmp(key, "source") == 0) {
            const char *name = NULL;
            status = read_text(reader, field, &name);
            if (status == FTH_OK && !fth_source_parse(name, &attribute->source))
                status =
                    refuse(reader, "'%s' is not one of measured, driver, derived, published", name);
        } else if (i == FTH_COUNT(fields)) {
            warn_unknown(reader, "field", "ignored", NULL);
        } else if (fields[i].text) {
            status = read_text(reader, field, fields[i].text);
        } else {
            status = read_number(reader, field, fields[i].number);
        }
        fth_json_path_back(&reader->path, before);
    }
    return status;
}

/* Keeps an unknown attribute as JSON text. It may be from a later version, or misspelt. */
static enum fth_status read_raw(struct reader *reader, struct fth_gpu_section *section,
                                const char *key, const struct fth_json *value)
{
    warn_unknown(reader, "attribute", "kept unchanged",
                 fth_schema_suggest_attribute(section->name, key));
    enum { DIGITS = 17 }; /* enough for every double */
    struct fth_buffer text = {0};
    fth_json_write(&text, value, DIGITS, false);
    struct fth_attribute attribute = fth_attribute_make(key, FTH_RAW);
    attribute.text = text.data;
    enum fth_status status = text.failed
                                 ? fth_no_memory(reader->error, operation, reader->name)
                                 : fth_gpu_set(reader->gpu, section, &attribute, reader->error);
    fth_buffer_fini(&text);
    return status;
}

/* Reads an object that maps names to texts: the reasons why attributes of a section are unknown or,
 * if `section` is NULL, the references. `expected` describes the object in errors. */
static enum fth_status read_named_texts(struct reader *reader, struct fth_gpu_section *section,
                                        const struct fth_json *object, const char *expected)
{
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return wrong_type(reader, expected, object);
    enum fth_status status = FTH_OK;
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key;
        const char *text = NULL;
        size_t before = fth_json_path_key(&reader->path, key);
        status = read_text(reader, value, &text);
        if (status == FTH_OK)
            status = section ? fth_gpu_set_unknown(reader->gpu, section, key, text, reader->error)
                             : fth_gpu_set_reference(reader->gpu, key, text, reader->error);
        fth_json_path_back(&reader->path, before);
        if (status != FTH_OK)
            break;
    }
    return status;
}

static enum fth_status read_attribute(struct reader *reader, struct fth_gpu_section *section,
                                      const char *key, const struct fth_json *value)
{
    const struct fth_attribute_def *def = fth_schema_attribute(section->name, key);
    if (!def)
        return read_raw(reader, section, key, value);
    struct fth_attribute attribute = fth_attribute_make(key, def->kind);
    FTH_TRY(fth_json_is(value, FTH_JSON_OBJECT) ? read_provenance(reader, value, &attribute)
                                                : read_value(reader, value, &attribute));
    return fth_gpu_set(reader->gpu, section, &attribute, reader->error);
}

static enum fth_status read_section(struct reader *reader, const char *name,
                                    const struct fth_json *object)
{
    struct fth_gpu_section *section = fth_gpu_section(reader->gpu, name);
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return wrong_type(reader, "an object", object);
    enum fth_status status = FTH_OK;
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key;
        size_t before = fth_json_path_key(&reader->path, key);
        status =
            strcmp(key, "unknown") == 0
                ? read_named_texts(reader, section, value, "an object with a reason per attribute")
                : read_attribute(reader, section, key, value);
        fth_json_path_back(&reader->path, before);
        if (status != FTH_OK)
            break;
    }
    return status;
}

static enum fth_status read_elements(struct reader *reader, const struct fth_json *object)
{
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return wrong_type(reader, "an object", object);
    enum fth_status status = FTH_OK;
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key;
        size_t before = fth_json_path_key(&reader->path, key);
        if (!fth_schema_element(key))
            warn_unknown(reader, "element", "kept unchanged", fth_schema_suggest_element(key));
        status = fth_gpu_add_element(reader->gpu, key, reader->error);
        if (status == FTH_OK)
            status = read_section(reader, key, value);
        fth_json_path_back(&reader->path, before);
        if (status != FTH_OK)
            break;
    }
    return status;
}

static enum fth_status read_document(struct reader *reader, const struct fth_json *root)
{
    if (!fth_json_is(root, FTH_JSON_OBJECT))
        return wrong_type(reader, "an object", root);
    const char *schema = fth_json_string(fth_json_get(root, "schema"));
    if (!schema || strcmp(schema, "fathom-gpu/1") != 0) {
        fth_json_path_key(&reader->path, "schema");
        return schema ? refuse(reader, "'%s' is not supported; this version reads fathom-gpu/1",
                               schema)
                      : refuse(reader, "missing; a GPU description has \"fathom-gpu/1\" here");
    }
    static const char *const required[] = {"device", "elements"};
    for (size_t i = 0; i < FTH_COUNT(required); i++)
        if (!fth_json_get(root, required[i])) {
            fth_json_path_key(&reader->path, required[i]);
            return refuse(reader, "missing");
        }
    enum fth_status status = FTH_OK;
    FTH_JSON_EACH_MEMBER (value, root) {
        const char *key = value->key;
        size_t before = fth_json_path_key(&reader->path, key);
        if (strcmp(key, "device") == 0 || strcmp(key, "noise") == 0)
            status = read_section(reader, key, value);
        else if (strcmp(key, "elements") == 0)
            status = read_elements(reader, value);
        else if (strcmp(key, "references") == 0)
            status = read_named_texts(reader, NULL, value, "an object with a source per key");
        else if (strcmp(key, "schema") != 0)
            warn_unknown(reader, "key", "ignored", NULL);
        fth_json_path_back(&reader->path, before);
        if (status != FTH_OK)
            break;
    }
    return status;
}

enum fth_status fth_gpu_read_text(const char *name, const char *text, size_t size,
                                  const struct fth_log *log, struct fth_gpu **gpu,
                                  struct fth_error *error)
{
    *gpu = NULL;
    struct fth_json_document document = {0};
    struct reader reader = {.name = name, .log = log, .error = error};
    enum fth_status status = fth_json_parse(name, text, size, &document, error);
    if (status != FTH_OK || (status = fth_gpu_create(&reader.gpu, error)) != FTH_OK ||
        (status = read_document(&reader, document.root)) != FTH_OK)
        goto out;
    status = fth_gpu_check(reader.gpu, operation, name, error);
out:
    fth_json_fini(&document);
    if (status == FTH_OK)
        *gpu = reader.gpu;
    else
        fth_gpu_destroy(reader.gpu);
    return status;
}

enum fth_status fth_gpu_read_file(const char *path, const struct fth_log *log, struct fth_gpu **gpu,
                                  struct fth_error *error)
{
    *gpu = NULL;
    struct fth_buffer content = {0};
    enum fth_status status = fth_file_read(
        path, FTH_FILE_LIMIT("a GPU description", MAX_DESCRIPTION_BYTES), &content, error);
    if (status == FTH_OK)
        status = fth_gpu_read_text(strcmp(path, "-") == 0 ? "standard input" : path,
                                   content.data ? content.data : "", content.size, log, gpu, error);
    fth_buffer_fini(&content);
    return status;
}
