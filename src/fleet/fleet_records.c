/* Measurements as JSON lines (fathom-fleet-record/1): the figures of one measurement without the
 * provenance that a description has. A record is about a fifth of a description, and files of
 * records can be concatenated. */
#include "fleet/fleet.h"

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
        if (!fth_json_is_number(item))
            return fth_fail(error, FTH_INVALID, operation, builder->draft.file,
                            "fingerprint: expected a list of numbers");
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
