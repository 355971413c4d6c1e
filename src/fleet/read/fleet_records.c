/* Measurements as JSON lines (fathom-fleet-record/1): the figures of one measurement without the
 * provenance that a description has. A record is about a fifth of a description, and files of
 * records can be concatenated. */
#include "fleet/fleet.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read a record";

/* ---- reading ---- */

/* Reads a member that is a text or missing. */
static enum fth_status read_text(struct fth_fleet_builder *builder, const struct fth_json *root,
                                 const char *key, const char **text, struct fth_error *error)
{
    const struct fth_json *value = fth_json_get(root, key);
    if (!value || fth_json_is(value, FTH_JSON_NULL))
        return FTH_OK;
    *text = fth_json_string(value);
    return *text ? FTH_OK
                 : fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                            "%s: expected a string", key);
}

static enum fth_status read_identity(struct fth_fleet_builder *builder, const struct fth_json *root,
                                     struct fth_error *error)
{
    struct fth_fleet_gpu *gpu = &builder->draft.gpu;
    const struct {
        const char *key, **text;
    } members[] = {
        {"gpu", &gpu->uuid},    {"host", &gpu->host},       {"slot", &gpu->slot},
        {"group", &gpu->group}, {"model", &gpu->model},     {"driver", &gpu->driver},
        {"board", &gpu->board}, {"backend", &gpu->backend}, {"time", &builder->measured_at}};
    for (size_t i = 0; i < FTH_COUNT(members); i++)
        FTH_TRY(read_text(builder, root, members[i].key, members[i].text, error));
    const char *file = NULL;
    FTH_TRY(read_text(builder, root, "file", &file, error));
    if (file)
        builder->draft.file = builder->draft.path = file;
    gpu->simulated = fth_json_is(fth_json_get(root, "simulated"), FTH_JSON_TRUE);
    return FTH_OK;
}

/* Reads the members of "figures" (numbers) or "texts". */
static enum fth_status read_values(struct fth_fleet_builder *builder, const struct fth_json *root,
                                   const char *key, struct fth_error *error)
{
    const struct fth_json *values = fth_json_get(root, key);
    const struct fth_json *confidences = fth_json_get(root, "confidence");
    const bool numbers = strcmp(key, "figures") == 0;
    if (values && !fth_json_is(values, FTH_JSON_OBJECT))
        return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                        "%s: expected an object", key);
    FTH_JSON_EACH_MEMBER (member, values) {
        const struct fth_json *confidence = fth_json_get(confidences, member->key);
        const char *text = fth_json_string(member);
        if (strlen(member->key) >= FTH_FIGURE_NAME ||
            (numbers ? !fth_json_is_number(member) : !text))
            return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                            "%s.%.60s: expected %s", key, member->key,
                            numbers ? "a number" : "a string");
        FTH_TRY(fth_fleet_builder_add(
            builder, member->key, numbers ? fth_json_double(member) : NAN, text,
            fth_json_is_number(confidence) ? fth_json_double(confidence) : NAN, error));
    }
    return FTH_OK;
}

static enum fth_status read_fingerprint(struct fth_fleet_builder *builder,
                                        const struct fth_json *list, struct fth_error *error)
{
    const size_t count = fth_json_count(list);
    double *numbers = realloc(builder->fingerprint, (count + 1) * sizeof *numbers);
    if (!numbers)
        return fth_no_memory(error, operation, builder->draft.file);
    builder->fingerprint = numbers;
    builder->fingerprint_count = 0;
    FTH_JSON_EACH_ITEM (item, list) {
        if (!fth_json_is_number(item) || !(fth_json_double(item) > 0))
            return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                            "fingerprint: expected a list of positive numbers");
        numbers[builder->fingerprint_count++] = fth_json_double(item);
    }
    return FTH_OK;
}

enum fth_status fth_fleet_add_record(struct fth_fleet_builder *builder, const struct fth_json *root,
                                     struct fth_error *error)
{
    FTH_TRY(read_identity(builder, root, error));
    FTH_TRY(read_values(builder, root, "figures", error));
    FTH_TRY(read_values(builder, root, "texts", error));
    FTH_TRY(read_fingerprint(builder, fth_json_get(root, "fingerprint"), error));
    return fth_fleet_builder_finish(builder, error);
}

/* ---- writing ---- */

/* Writes records. */
struct record_writer {
    const struct fth_fleet *fleet;
    uint32_t *by_name;                     /* figures in the order of their names */
    const struct fth_fleet_value **values; /* [figures] of the current measurement; NULL: none */
    struct fth_buffer out;
};

static int compare_names(const void *a, const void *b)
{
    const struct fth_fleet_figure *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static enum fth_status writer_init(struct record_writer *writer, struct fth_error *error)
{
    const struct fth_fleet *fleet = writer->fleet;
    const struct fth_fleet_figure **figures = calloc(fleet->figure_count + 1, sizeof *figures);
    writer->by_name = calloc(fleet->figure_count + 1, sizeof *writer->by_name);
    writer->values = calloc(fleet->figure_count + 1, sizeof *writer->values);
    if (!figures || !writer->by_name || !writer->values) {
        free(figures);
        return fth_no_memory(error, "write records", NULL);
    }
    for (size_t i = 0; i < fleet->figure_count; i++)
        figures[i] = &fleet->figures[i];
    qsort(figures, fleet->figure_count, sizeof *figures, compare_names);
    for (size_t i = 0; i < fleet->figure_count; i++)
        writer->by_name[i] = (uint32_t)(figures[i] - fleet->figures);
    free(figures);
    return FTH_OK;
}

/* Writes a member unless the text is unknown. */
static void write_text(struct fth_json_writer *json, const char *key, const char *text)
{
    if (!text)
        return;
    fth_json_key(json, key);
    fth_json_text(json, text);
}

/* Writes a confidence as the shortest number that is read as the same float. Descriptions have at
 * most four decimals. */
static void write_confidence(struct fth_json_writer *json, float confidence)
{
    const double rounded = round((double)confidence * 1e4) / 1e4;
    fth_json_number(json, (float)rounded == confidence ? rounded : (double)confidence);
}

/* What a member of a record consists of. */
enum part { NUMBERS, TEXTS, CONFIDENCES };

static bool has_part(const struct fth_fleet_value *value, enum part part)
{
    if (part == CONFIDENCES)
        return !isnan(value->confidence);
    return (part == NUMBERS) == (value->text == NULL);
}

/* Writes one of the members "figures", "texts" and "confidence". */
static void write_values(struct record_writer *writer, struct fth_json_writer *json,
                         const char *key, enum part part)
{
    const struct fth_fleet *fleet = writer->fleet;
    bool begun = false;
    for (size_t i = 0; i < fleet->figure_count; i++) {
        const struct fth_fleet_value *value = writer->values[writer->by_name[i]];
        if (!value || !has_part(value, part))
            continue;
        if (!begun) {
            fth_json_key(json, key);
            fth_json_begin(json, '{', true);
        }
        begun = true;
        fth_json_key(json, fleet->figures[value->figure].name);
        if (part == NUMBERS)
            fth_json_number(json, value->number);
        else if (part == TEXTS)
            fth_json_text(json, value->text);
        else
            write_confidence(json, value->confidence);
    }
    if (begun)
        fth_json_end(json, '}');
}

/* Writes what identifies a measurement. */
static void write_identity(const struct fth_fleet *fleet, struct fth_json_writer *json,
                           const struct fth_fleet_measurement *measurement)
{
    const struct fth_fleet_gpu *gpu = &fleet->gpus[measurement->gpu];
    char time[24];
    fth_time_write(measurement->time, time);
    write_text(json, "schema", "fathom-fleet-record/1");
    write_text(json, "gpu", gpu->uuid);
    write_text(json, "host", measurement->host ? measurement->host : gpu->host);
    write_text(json, "slot", measurement->slot ? measurement->slot : gpu->slot);
    write_text(json, "group", gpu->group);
    write_text(json, "model", gpu->model);
    write_text(json, "driver", measurement->driver ? measurement->driver : gpu->driver);
    write_text(json, "board", measurement->board ? measurement->board : gpu->board);
    write_text(json, "backend", gpu->backend);
    if (gpu->simulated && !(gpu->backend && strcmp(gpu->backend, "simulated") == 0)) {
        fth_json_key(json, "simulated");
        fth_json_bool(json, true);
    }
    write_text(json, "time", measurement->time ? time : NULL);
    /* Without a UUID, the path identifies the GPU. */
    write_text(json, "file", gpu->path ? gpu->path : measurement->file);
}

static void write_record(struct record_writer *writer,
                         const struct fth_fleet_measurement *measurement)
{
    struct fth_json_writer json = {.out = &writer->out};
    memset(writer->values, 0, writer->fleet->figure_count * sizeof *writer->values);
    for (size_t i = 0; i < measurement->value_count; i++)
        writer->values[measurement->values[i].figure] = &measurement->values[i];
    fth_json_begin(&json, '{', true);
    write_identity(writer->fleet, &json, measurement);
    write_values(writer, &json, "figures", NUMBERS);
    write_values(writer, &json, "texts", TEXTS);
    write_values(writer, &json, "confidence", CONFIDENCES);
    if (measurement->fingerprint_count) {
        fth_json_key(&json, "fingerprint");
        fth_json_begin(&json, '[', true);
        for (size_t i = 0; i < measurement->fingerprint_count; i++)
            fth_json_number(&json, measurement->fingerprint[i]);
        fth_json_end(&json, ']');
    }
    fth_json_end(&json, '}');
}

enum fth_status fth_fleet_records(const struct fth_fleet *fleet, char **text, size_t *size,
                                  struct fth_error *error)
{
    struct record_writer writer = {.fleet = fleet};
    *text = NULL;
    enum fth_status status = writer_init(&writer, error);
    for (size_t i = 0; status == FTH_OK && i < fleet->measurement_count; i++)
        write_record(&writer, &fleet->measurements[i]);
    if (status == FTH_OK)
        status = fth_buffer_take(&writer.out, text, size, error);
    fth_buffer_fini(&writer.out);
    free(writer.by_name);
    free(writer.values);
    return status;
}
