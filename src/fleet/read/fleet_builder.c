/* Collects the values of one measurement: sorts attributes of a description into what identifies
 * the measurement, the fingerprint, and figures. */
#include "fleet/fleet.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read a measurement";

void fth_fleet_builder_reset(struct fth_fleet_builder *builder, const char *file, const char *path)
{
    builder->draft = (struct fth_fleet_draft){.file = file, .path = path};
    builder->value_count = 0;
    builder->fingerprint_count = 0;
    builder->part_number = builder->vbios = builder->measured_at = NULL;
}

void fth_fleet_builder_fini(struct fth_fleet_builder *builder)
{
    free(builder->values);
    free(builder->fingerprint);
    fth_buffer_fini(&builder->text);
}

/* ---- values ---- */

/* Adds a value of a figure. */
static enum fth_status add_value(struct fth_fleet_builder *builder, uint32_t figure, double number,
                                 const char *text, double confidence, struct fth_error *error)
{
    if (!fth_grow((void **)&builder->values, builder->value_count, &builder->value_capacity,
                  sizeof *builder->values))
        return fth_no_memory(error, operation, builder->draft.file);
    builder->values[builder->value_count++] = (struct fth_fleet_value){
        figure, confidence >= 0 && confidence <= 1 ? (float)confidence : NAN, number, text};
    return FTH_OK;
}

enum fth_status fth_fleet_builder_add(struct fth_fleet_builder *builder, const char *name,
                                      double number, const char *text, double confidence,
                                      struct fth_error *error)
{
    const uint32_t figure = fth_fleet_figure_index(builder->fleet, name);
    if (figure == UINT32_MAX && builder->fleet->figure_count == FTH_FLEET_MAX_FIGURES)
        return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                        "%s: the fleet has %d figures already, the maximum", name,
                        FTH_FLEET_MAX_FIGURES);
    if (figure == UINT32_MAX)
        return fth_no_memory(error, operation, builder->draft.file);
    return add_value(builder, figure, number, text, confidence, error);
}

enum fth_status fth_fleet_builder_copy(struct fth_fleet_builder *builder, const char *name,
                                       uint32_t *figure, const struct fth_fleet_value *value,
                                       struct fth_error *error)
{
    if (*figure != UINT32_MAX)
        return add_value(builder, *figure, value->number, value->text, (double)value->confidence,
                         error);
    FTH_TRY(fth_fleet_builder_add(builder, name, value->number, value->text,
                                  (double)value->confidence, error));
    *figure = builder->values[builder->value_count - 1].figure;
    return FTH_OK;
}

/* Keeps an attribute of the device that identifies the measurement. Returns false for other
 * attributes. */
static bool keep_identity(struct fth_fleet_builder *builder, const char *name, const char *text)
{
    struct fth_fleet_gpu *gpu = &builder->draft.gpu;
    const struct {
        const char *name, **text;
    } members[] = {
        {"name", &gpu->model},
        {"uuid", &gpu->uuid},
        {"host", &gpu->host},
        {"pci_bus", &gpu->slot},
        {"driver", &gpu->driver},
        {"backend", &gpu->backend},
        {"vbios", &builder->vbios},
        {"board_part_number", &builder->part_number},
        {"measured_at", &builder->measured_at},
    };
    for (size_t i = 0; i < FTH_COUNT(members); i++)
        if (strcmp(members[i].name, name) == 0) {
            *members[i].text = text;
            return true;
        }
    return false;
}

/* Writes the name of a figure. False: it is too long. */
static bool figure_name(const char *section, const char *attribute, char name[FTH_FIGURE_NAME])
{
    const size_t before = strlen(section), after = strlen(attribute);
    if (before + after + 2 > FTH_FIGURE_NAME)
        return false;
    memcpy(name, section, before);
    name[before] = '.';
    memcpy(name + before + 1, attribute, after);
    name[before + 1 + after] = '\0';
    return true;
}

/* Keeps the latencies that identify a card. */
static enum fth_status keep_fingerprint(struct fth_fleet_builder *builder, const double *numbers,
                                        size_t count, struct fth_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!(numbers[i] > 0))
            return FTH_OK; /* a damaged description; the other figures may be right */
    double *copy = realloc(builder->fingerprint, (count + 1) * sizeof *copy);
    if (!copy)
        return fth_no_memory(error, operation, builder->draft.file);
    memcpy(copy, numbers, count * sizeof *copy);
    builder->fingerprint = copy;
    builder->fingerprint_count = count;
    return FTH_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a list as text, "1024, 1024, 64", interned. The order of texts has no meaning; they are
 * sorted. NULL: no memory. */
static const char *list_text(struct fth_fleet_builder *builder,
                             const struct fth_fleet_attribute *attribute)
{
    struct fth_buffer *text = &builder->text;
    text->size = 0;
    fth_buffer_text(text, "");
    const char **sorted = calloc(attribute->count + 1, sizeof *sorted);
    if (!sorted)
        return NULL;
    for (size_t i = 0; attribute->texts && i < attribute->count; i++)
        sorted[i] = attribute->texts[i];
    if (attribute->texts)
        qsort(sorted, attribute->count, sizeof *sorted, compare_texts);
    for (size_t i = 0; i < attribute->count; i++) {
        char number[32];
        fth_buffer_text(text, i ? ", " : "");
        fth_buffer_text(text, attribute->texts ? sorted[i]
                                               : fth_number_format(attribute->numbers[i], number,
                                                                   sizeof number));
    }
    free(sorted);
    return text->failed ? NULL : fth_fleet_intern(builder->fleet, text->data);
}

/* Returns whether a list is compared as a whole. */
static bool is_exact(const char *figure)
{
    const enum fth_fleet_kind kind = fth_fleet_kind_of(figure);
    return kind == FTH_FLEET_EXACT || kind == FTH_FLEET_STATE;
}

enum fth_status fth_fleet_builder_put(struct fth_fleet_builder *builder, const char *section,
                                      const struct fth_fleet_attribute *attribute,
                                      struct fth_error *error)
{
    char name[FTH_FIGURE_NAME];
    if (strcmp(section, "device") == 0 && keep_identity(builder, attribute->name, attribute->text))
        return attribute->text ? FTH_OK
                               : fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                                          "device.%s: expected a string", attribute->name);
    if (!figure_name(section, attribute->name, name))
        return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                        "the name of an attribute is longer than %d bytes", FTH_FIGURE_NAME);
    const bool is_list = attribute->texts || attribute->numbers;
    if (strcmp(name, "l2.latency_by_sm_cycles") == 0 && attribute->numbers)
        return keep_fingerprint(builder, attribute->numbers, attribute->count, error);
    if (is_list && !is_exact(name))
        return FTH_OK; /* raw data that is not judged */
    const char *text = is_list ? list_text(builder, attribute) : attribute->text;
    if (is_list && !text)
        return fth_no_memory(error, operation, builder->draft.file);
    return fth_fleet_builder_add(builder, name, attribute->number, text, attribute->confidence,
                                 error);
}

/* Finds the host in the name of a file HOST-GPU-UUID.json, which 'fathom topo -o %h-%g.json'
 * writes. *host remains NULL if the name has another form. Returns false without memory. */
static bool host_of_file(struct fth_fleet_builder *builder, const char *file, const char **host)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *end = strstr(name, "-GPU-");
    if (!end || end == name)
        return true;
    builder->text.size = 0;
    fth_buffer_append(&builder->text, name, (size_t)(end - name));
    if (!builder->text.failed)
        *host = fth_fleet_intern(builder->fleet, builder->text.data);
    return *host != NULL;
}

enum fth_status fth_fleet_builder_finish(struct fth_fleet_builder *builder, struct fth_error *error)
{
    struct fth_fleet_draft *draft = &builder->draft;
    struct fth_fleet_gpu *gpu = &draft->gpu;
    if (builder->measured_at && !fth_time_parse(builder->measured_at, &draft->time))
        return fth_fail(error, FTH_INVALID, operation, draft->file,
                        "'%s' is not a time such as 2026-11-18T11:09:37Z", builder->measured_at);
    if (!gpu->host && !host_of_file(builder, draft->file, &gpu->host))
        return fth_no_memory(error, operation, draft->file);
    if (!gpu->board && (builder->part_number || builder->vbios)) {
        builder->text.size = 0;
        fth_buffer_format(&builder->text, "%s%s%s",
                          builder->part_number ? builder->part_number : "",
                          builder->part_number && builder->vbios ? " " : "",
                          builder->vbios ? builder->vbios : "");
        gpu->board =
            builder->text.failed ? NULL : fth_fleet_intern(builder->fleet, builder->text.data);
        if (!gpu->board)
            return fth_no_memory(error, operation, draft->file);
    }
    gpu->simulated = gpu->simulated || (gpu->backend && strcmp(gpu->backend, "simulated") == 0);
    draft->values = builder->values;
    draft->value_count = builder->value_count;
    draft->fingerprint = builder->fingerprint;
    draft->fingerprint_count = builder->fingerprint_count;
    return fth_fleet_add(builder->fleet, draft, error);
}
