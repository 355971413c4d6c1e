/* What is explored, from a file:
 *
 *     {"schema": "fathom-exploration/1",
 *      "set": {"gpu.sms": "8"},
 *      "studies": [{"name": "capacity", "traces": ["2mm.json", "atax.json rows"],
 *                   "set": {"l1.ways": "4"}, "vary": {"l1.size_bytes": ["8K", "16K"]},
 *                   "l1_off": true}]}
 *
 * A trace is a file, beside the spec where its path is not absolute, and perhaps the kernel that is
 * meant. Names that take their values together are joined with '+', and so are the values, unless
 * one is for all of them. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "read exploration";

struct reading {
    struct fth_exploration *exploration;
    const char *name, *folder;
    const char *const *sizes;
    size_t size_count;
    const struct fth_log *log;
    struct fth_error *error;
};

static enum fth_status refuse(const struct reading *reading, const char *where, const char *cause)
{
    return fth_fail(reading->error, FTH_INVALID, operation, reading->name, "%s: %s", where, cause);
}

/* A value as text, whether it is written as one or as a number. */
static bool text_of(const json_t *value, char *text, size_t size)
{
    if (json_is_string(value))
        snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_number(value))
        fth_number_format(json_number_value(value), text, size);
    return json_is_string(value) || json_is_number(value);
}

static enum fth_status read_settings(const struct reading *reading, json_t *settings,
                                     struct fth_study *study)
{
    const char *name;
    json_t *value;
    enum fth_status status = FTH_OK;
    if (settings && !json_is_object(settings))
        return refuse(reading, "set", "is no object");
    json_object_foreach (settings, name, value) {
        char text[128];
        if (!text_of(value, text, sizeof text))
            return refuse(reading, name, "is neither a text nor a number");
        status = fth_study_set(reading->exploration, study, name, text, reading->error);
        if (status != FTH_OK)
            break;
    }
    return status;
}

static enum fth_status read_axes(const struct reading *reading, json_t *vary,
                                 struct fth_study *study)
{
    const char *names;
    json_t *list, *value;
    enum fth_status status = FTH_OK;
    if (vary && !json_is_object(vary))
        return refuse(reading, "vary", "is no object");
    json_object_foreach (vary, names, list) {
        char texts[64][128];
        const char *values[64];
        size_t i;
        if (!json_is_array(list) || json_array_size(list) > 64)
            return refuse(reading, names, "is no list of at most 64 values");
        json_array_foreach (list, i, value) {
            values[i] = texts[i];
            if (!text_of(value, texts[i], sizeof texts[i]))
                return refuse(reading, names, "has a value that is neither a text nor a number");
        }
        status = fth_study_vary(reading->exploration, study, names, values, json_array_size(list),
                                reading->error);
        if (status != FTH_OK)
            break;
    }
    return status;
}

/* "2mm.json" or "atax.json rows". */
static enum fth_status read_trace(const struct reading *reading, const char *text,
                                  struct fth_study *study)
{
    const char *blank = strrchr(text, ' ');
    const int size = blank ? (int)(blank - text) : (int)strlen(text);
    char path[4096];
    size_t number;
    snprintf(path, sizeof path, "%s%s%.*s", *text == '/' ? "" : reading->folder,
             *text == '/' ? "" : "/", size, text);
    enum fth_status status =
        fth_subject_open(reading->exploration, path, reading->sizes, reading->size_count,
                         reading->log, &number, reading->error);
    return status == FTH_OK ? fth_study_source(reading->exploration, study, number,
                                               blank ? blank + 1 : NULL, reading->error)
                            : status;
}

static enum fth_status read_study(const struct reading *reading, json_t *object, json_t *common)
{
    static const char *const known[] = {"name", "about", "traces", "set", "vary", "l1_off"};
    const char *name = json_string_value(json_object_get(object, "name")), *key;
    json_t *traces = json_object_get(object, "traces"), *trace;
    size_t i;
    if (!json_is_object(object) || !name || !*name || !json_is_array(traces))
        return refuse(reading, "studies", "a study has a name and a list of traces");
    json_object_foreach (object, key, trace) {
        bool found = false;
        for (i = 0; i < FTH_COUNT(known); i++)
            found = found || strcmp(key, known[i]) == 0;
        if (!found)
            return refuse(reading, key, "a study has name, about, traces, set, vary, l1_off");
    }
    struct fth_study *study = fth_study_add(reading->exploration, name);
    if (!study)
        return fth_fail(reading->error, FTH_NO_MEMORY, operation, reading->name, "out of memory");
    study->l1_off = json_is_true(json_object_get(object, "l1_off"));
    enum fth_status status = read_settings(reading, common, study);
    if (status == FTH_OK)
        status = read_settings(reading, json_object_get(object, "set"), study);
    if (status == FTH_OK)
        status = read_axes(reading, json_object_get(object, "vary"), study);
    json_array_foreach (traces, i, trace) {
        if (status == FTH_OK)
            status = json_is_string(trace) ? read_trace(reading, json_string_value(trace), study)
                                           : refuse(reading, name, "a trace is a text");
    }
    return status;
}

static enum fth_status read_text(const struct reading *reading, const char *text, size_t size)
{
    json_t *root = NULL, *study;
    size_t i;
    enum fth_status status = fth_json_parse(reading->name, text, size, &root, reading->error);
    if (status != FTH_OK)
        return status;
    const char *schema = json_string_value(json_object_get(root, "schema"));
    json_t *studies = json_object_get(root, "studies");
    if (!schema || strcmp(schema, "fathom-exploration/1") != 0)
        status = refuse(reading, "schema", "it is not fathom-exploration/1");
    else if (!json_is_array(studies) || json_array_size(studies) == 0)
        status = refuse(reading, "studies", "there are none");
    json_array_foreach (studies, i, study) {
        if (status == FTH_OK)
            status = read_study(reading, study, json_object_get(root, "set"));
    }
    json_decref(root);
    return status;
}

enum fth_status fth_explore_read(struct fth_exploration *exploration, const char *path,
                                 const char *const *sizes, size_t size_count,
                                 const struct fth_log *log, struct fth_error *error)
{
    struct fth_buffer content = {0};
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    const struct reading reading = {exploration, path, folder, sizes, size_count, log, error};
    enum fth_status status = fth_file_read(path, 1 << 24, &content, error);
    if (status == FTH_OK)
        status = read_text(&reading, content.data ? content.data : "", content.size);
    fth_buffer_fini(&content);
    return status;
}

enum fth_status fth_explore_preset(struct fth_exploration *exploration, const char *name,
                                   const char *folder, const char *const *sizes, size_t size_count,
                                   const struct fth_log *log, struct fth_error *error)
{
    const struct reading reading = {exploration, name, folder, sizes, size_count, log, error};
    for (size_t i = 0; i < fth_embedded_preset_count; i++)
        if (strcmp(fth_embedded_presets[i].name, name) == 0)
            return read_text(&reading, fth_embedded_presets[i].data, fth_embedded_presets[i].size);
    return fth_fail(error, FTH_NOT_FOUND, operation, name, "there is no such preset; there is %s",
                    fth_embedded_preset_count ? fth_embedded_presets[0].name : "none");
}

const char *fth_explore_preset_at(size_t index)
{
    return index < fth_embedded_preset_count ? fth_embedded_presets[index].name : NULL;
}
