/* A GPU description in memory: sections of attributes, in the order in which they were added. */
#include "gpu/gpu.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "build GPU description";

enum fth_status fth_gpu_create(struct fth_gpu **out, struct fth_error *error)
{
    struct fth_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return fth_no_memory(error, operation, NULL);
    gpu->device.name = "device";
    gpu->noise.name = "noise";
    *out = gpu;
    return FTH_OK;
}

static void section_fini(struct fth_gpu_section *section)
{
    free(section->attributes);
    free(section->unknown.items);
}

void fth_gpu_destroy(struct fth_gpu *gpu)
{
    if (!gpu)
        return;
    section_fini(&gpu->device);
    section_fini(&gpu->noise);
    for (size_t i = 0; i < gpu->element_count; i++)
        section_fini(&gpu->elements[i]);
    free(gpu->elements);
    free(gpu->references.items);
    fth_arena_fini(&gpu->arena);
    free(gpu);
}

const struct fth_gpu_section *fth_gpu_find_section(const struct fth_gpu *gpu, const char *name)
{
    if (strcmp(name, "device") == 0)
        return &gpu->device;
    if (strcmp(name, "noise") == 0)
        return &gpu->noise;
    for (size_t i = 0; i < gpu->element_count; i++)
        if (strcmp(gpu->elements[i].name, name) == 0)
            return &gpu->elements[i];
    return NULL;
}

struct fth_gpu_section *fth_gpu_section(struct fth_gpu *gpu, const char *name)
{
    return (struct fth_gpu_section *)fth_gpu_find_section(gpu, name);
}

enum fth_status fth_gpu_add_element(struct fth_gpu *gpu, const char *name, struct fth_error *error)
{
    if (fth_gpu_find_section(gpu, name))
        return fth_fail(error, FTH_INVALID, operation, name, "the section already exists");
    void *elements = gpu->elements;
    if (!fth_grow(&elements, gpu->element_count, &gpu->element_capacity, sizeof *gpu->elements))
        return fth_no_memory(error, operation, NULL);
    gpu->elements = elements;
    struct fth_gpu_section section = {.name = fth_arena_text(&gpu->arena, name)};
    if (!section.name)
        return fth_no_memory(error, operation, NULL);
    gpu->elements[gpu->element_count++] = section;
    return FTH_OK;
}

struct fth_attribute fth_attribute_make(const char *name, enum fth_kind kind)
{
    return (struct fth_attribute){
        .name = name,
        .kind = kind,
        .number = NAN,
        .confidence = NAN,
        .samples = NAN,
        .low = NAN,
        .high = NAN,
    };
}

/* Copies a text, which may be NULL, to the arena. Sets *ok to false without memory. */
static const char *copy_text(struct fth_gpu *gpu, const char *text, bool *ok)
{
    if (!text)
        return NULL;
    const char *copy = fth_arena_text(&gpu->arena, text);
    *ok = *ok && copy;
    return copy;
}

enum fth_status fth_gpu_set(struct fth_gpu *gpu, struct fth_gpu_section *section,
                            const struct fth_attribute *attribute, struct fth_error *error)
{
    struct fth_attribute copy = *attribute;
    bool ok = true;
    copy.name = copy_text(gpu, attribute->name, &ok);
    copy.text = copy_text(gpu, attribute->text, &ok);
    copy.method = copy_text(gpu, attribute->method, &ok);
    copy.reference = copy_text(gpu, attribute->reference, &ok);
    copy.note = copy_text(gpu, attribute->note, &ok);
    if (attribute->kind == FTH_NUMBERS) {
        double *numbers = fth_arena_array(&gpu->arena, attribute->count, sizeof *numbers);
        ok = ok && numbers;
        if (numbers && attribute->count)
            memcpy(numbers, attribute->numbers, attribute->count * sizeof *numbers);
        copy.numbers = numbers;
    }
    if (attribute->kind == FTH_TEXTS) {
        const char **texts = fth_arena_array(&gpu->arena, attribute->count, sizeof *texts);
        ok = ok && texts;
        for (size_t i = 0; texts && i < attribute->count; i++)
            texts[i] = copy_text(gpu, attribute->texts[i], &ok);
        copy.texts = texts;
    }
    if (!ok)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < section->count; i++)
        if (strcmp(section->attributes[i].name, copy.name) == 0) {
            section->attributes[i] = copy;
            return FTH_OK;
        }
    void *attributes = section->attributes;
    if (!fth_grow(&attributes, section->count, &section->capacity, sizeof copy))
        return fth_no_memory(error, operation, NULL);
    section->attributes = attributes;
    section->attributes[section->count++] = copy;
    return FTH_OK;
}

static enum fth_status add_named(struct fth_gpu *gpu, struct fth_named_texts *list,
                                 const char *name, const char *text, struct fth_error *error)
{
    void *items = list->items;
    bool ok = fth_grow(&items, list->count, &list->capacity, sizeof *list->items);
    if (ok) {
        list->items = items;
        struct fth_named_text item = {copy_text(gpu, name, &ok), copy_text(gpu, text, &ok)};
        list->items[list->count] = item;
    }
    if (!ok)
        return fth_no_memory(error, operation, NULL);
    list->count++;
    return FTH_OK;
}

enum fth_status fth_gpu_set_unknown(struct fth_gpu *gpu, struct fth_gpu_section *section,
                                    const char *name, const char *reason, struct fth_error *error)
{
    return add_named(gpu, &section->unknown, name, reason, error);
}

enum fth_status fth_gpu_set_reference(struct fth_gpu *gpu, const char *key, const char *text,
                                      struct fth_error *error)
{
    return add_named(gpu, &gpu->references, key, text, error);
}

size_t fth_gpu_element_count(const struct fth_gpu *gpu)
{
    return gpu->element_count;
}

const char *fth_gpu_element_name(const struct fth_gpu *gpu, size_t index)
{
    return index < gpu->element_count ? gpu->elements[index].name : NULL;
}

size_t fth_gpu_attribute_count(const struct fth_gpu *gpu, const char *section)
{
    const struct fth_gpu_section *found = fth_gpu_find_section(gpu, section);
    return found ? found->count : 0;
}

const struct fth_attribute *fth_gpu_attribute_at(const struct fth_gpu *gpu, const char *section,
                                                 size_t index)
{
    const struct fth_gpu_section *found = fth_gpu_find_section(gpu, section);
    return found && index < found->count ? &found->attributes[index] : NULL;
}

const struct fth_attribute *fth_gpu_attribute(const struct fth_gpu *gpu, const char *section,
                                              const char *name)
{
    const struct fth_gpu_section *found = fth_gpu_find_section(gpu, section);
    for (size_t i = 0; found && i < found->count; i++)
        if (strcmp(found->attributes[i].name, name) == 0)
            return &found->attributes[i];
    return NULL;
}

double fth_gpu_number(const struct fth_gpu *gpu, const char *section, const char *name,
                      double absent)
{
    const struct fth_attribute *attribute = fth_gpu_attribute(gpu, section, name);
    return attribute && attribute->kind == FTH_NUMBER ? attribute->number : absent;
}

const char *fth_gpu_text(const struct fth_gpu *gpu, const char *section, const char *name)
{
    const struct fth_attribute *attribute = fth_gpu_attribute(gpu, section, name);
    return attribute && attribute->kind == FTH_TEXT ? attribute->text : NULL;
}

const char *fth_gpu_unknown_at(const struct fth_gpu *gpu, const char *section, size_t index,
                               const char **name)
{
    const struct fth_gpu_section *found = fth_gpu_find_section(gpu, section);
    if (!found || index >= found->unknown.count)
        return NULL;
    *name = found->unknown.items[index].name;
    return found->unknown.items[index].text;
}

const char *fth_gpu_unknown(const struct fth_gpu *gpu, const char *section, const char *name)
{
    const struct fth_gpu_section *found = fth_gpu_find_section(gpu, section);
    for (size_t i = 0; found && i < found->unknown.count; i++)
        if (strcmp(found->unknown.items[i].name, name) == 0)
            return found->unknown.items[i].text;
    return NULL;
}

void fth_gpu_path(const struct fth_gpu *gpu, const struct fth_gpu_section *section,
                  const char *attribute, struct fth_json_path *path)
{
    *path = (struct fth_json_path){.size = 0};
    if (section != &gpu->device && section != &gpu->noise)
        fth_json_path_key(path, "elements");
    fth_json_path_key(path, section->name);
    if (attribute)
        fth_json_path_key(path, attribute);
}

bool fth_reference_next(const char **at, const char **key, size_t *size)
{
    const char *start = *at + strspn(*at, " ");
    if (!*start)
        return false;
    const char *end = start + strcspn(start, ";");
    *key = start;
    *size = strcspn(start, ",; ");
    *at = *end ? end + 1 : end;
    return true;
}

/* Chosen: more than any machine has. */
enum { MAX_INSTRUCTION_BYTES = 64 };

struct fth_code_size fth_gpu_code_size(const struct fth_gpu *gpu)
{
    const char *capability = fth_gpu_text(gpu, "device", "compute_capability"),
               *vendor = fth_gpu_text(gpu, "device", "vendor");
    const double bytes = fth_gpu_number(gpu, "device", "instruction_bytes",
                                        vendor && strcmp(vendor, "AMD") == 0 ? 4 : 0);
    if (bytes >= 1 && bytes <= MAX_INSTRUCTION_BYTES)
        return (struct fth_code_size){(uint64_t)bytes, 1};
    long major = capability ? strtol(capability, NULL, 10) : 7;
    return major >= 7   ? (struct fth_code_size){16, 1}
           : major >= 5 ? (struct fth_code_size){32, 3}
           : major >= 3 ? (struct fth_code_size){64, 7}
                        : (struct fth_code_size){8, 1};
}

struct fth_unit_words fth_gpu_unit(const struct fth_gpu *gpu)
{
    const char *kind = fth_gpu_text(gpu, "device", "kind");
    const char *vendor = fth_gpu_text(gpu, "device", "vendor");
    if (kind && strcmp(kind, "cpu") == 0)
        return (struct fth_unit_words){"core", "cores", "core", "CPU"};
    const char *device = kind && strcmp(kind, "accelerator") == 0 ? "dev." : "GPU";
    if (!vendor || strncmp(vendor, "NVIDIA", strlen("NVIDIA")) == 0)
        return (struct fth_unit_words){"SM", "SMs", "SM", device};
    return (struct fth_unit_words){"compute unit", "compute units", "CU", device};
}

double fth_gpu_units_per_instance(const struct fth_gpu *gpu, const char *element)
{
    const double units = fth_gpu_number(gpu, "device", "sms", NAN);
    const double each = fth_gpu_number(gpu, element, "sms_per_instance", NAN);
    const char *scope = fth_gpu_text(gpu, element, "scope");
    if (!isnan(each))
        return each;
    if (scope && strcmp(scope, "sm") == 0)
        return 1;
    return scope && strcmp(scope, "gpu") == 0 ? units : NAN;
}
