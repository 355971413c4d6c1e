/* Reads studies from a JSON file or a built-in preset:
 *
 *     {"schema": "fathom-exploration/1",
 *      "set": {"gpu.sms": "8"},
 *      "studies": [{"name": "capacity", "traces": ["2mm.json", "atax.json rows"],
 *                   "set": {"l1.ways": "4"}, "vary": {"l1.size_bytes": ["8K", "16K"]},
 *                   "l1_off": true}]}
 *
 * An entry of "traces" is a path, relative to the folder of the file, optionally followed by a
 * blank and the name of the only kernel to model. Parameters that vary together are separated by
 * '+', and so are their values; a value without '+' is used for all of them. */
#include "base/json.h"
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "read exploration";

/* Maximum size of a file with studies in bytes, and maximum number of values of an axis. Chosen:
 * the preset has two kilobytes and at most seven values per axis. */
#define MAX_SPEC_BYTES ((size_t)16 << 20)
enum { MAX_VALUES = 64 };
_Static_assert(MAX_VALUES == 64, "the message of read_axes states this limit");

/* What the functions of this file share. `name` is used in errors; `folder` is where traces are. */
struct reader {
    struct fth_exploration *exploration;
    const char *name, *folder;
    struct fth_launch_options launch; /* the sizes of launch files */
    const struct fth_log *log;
    struct fth_error *error;
};

static enum fth_status refuse(const struct reader *reader, const char *where, const char *cause)
{
    return fth_fail(reader->error, FTH_INVALID, operation, reader->name, "%s: %s", where, cause);
}

/* Converts a JSON string or number to text. Returns false for other values. */
static bool value_text(const struct fth_json *value, char *text, size_t size)
{
    if (fth_json_is(value, FTH_JSON_TEXT))
        snprintf(text, size, "%s", fth_json_string(value));
    else if (fth_json_is_number(value))
        fth_number_format(fth_json_double(value), text, size);
    return fth_json_is(value, FTH_JSON_TEXT) || fth_json_is_number(value);
}

static enum fth_status read_settings(const struct reader *reader, const struct fth_json *settings,
                                     struct fth_study *study)
{
    if (settings && !fth_json_is(settings, FTH_JSON_OBJECT))
        return refuse(reader, "set", "must be an object");
    FTH_JSON_EACH_MEMBER (value, settings) {
        const char *name = value->key;
        char text[128];
        if (!value_text(value, text, sizeof text))
            return refuse(reader, name, "must be a string or a number");
        FTH_TRY(fth_study_set(reader->exploration, study, name, text, reader->error));
    }
    return FTH_OK;
}

static enum fth_status read_axes(const struct reader *reader, const struct fth_json *vary,
                                 struct fth_study *study)
{
    if (vary && !fth_json_is(vary, FTH_JSON_OBJECT))
        return refuse(reader, "vary", "must be an object");
    FTH_JSON_EACH_MEMBER (list, vary) {
        char texts[MAX_VALUES][128];
        const char *names = list->key, *values[MAX_VALUES];
        size_t i = 0;
        if (!fth_json_is(list, FTH_JSON_LIST) || fth_json_count(list) > MAX_VALUES)
            return refuse(reader, names, "must be a list of at most 64 values");
        FTH_JSON_EACH_ITEM (value, list) {
            values[i] = texts[i];
            if (!value_text(value, texts[i], sizeof texts[i]))
                return refuse(reader, names, "its values must be strings or numbers");
            i++;
        }
        FTH_TRY(fth_study_vary(reader->exploration, study, names, values, fth_json_count(list),
                               reader->error));
    }
    return FTH_OK;
}

/* Opens a trace and adds it to a study; `text` is "2mm.json" or, with a kernel, "atax.json rows".
 */
static enum fth_status read_trace(const struct reader *reader, const char *text,
                                  struct fth_study *study)
{
    const char *blank = strrchr(text, ' ');
    const int size = blank ? (int)(blank - text) : (int)strlen(text);
    char path[4096];
    size_t number;
    int fd;
    snprintf(path, sizeof path, "%s%s%.*s", *text == '/' ? "" : reader->folder,
             *text == '/' ? "" : "/", size, text);
    /* The author of the file cannot make fathom wait for a pipe. */
    FTH_TRY(fth_file_open_regular(path, &fd, reader->error));
    close(fd);
    FTH_TRY(fth_input_open(reader->exploration, path, &reader->launch, reader->log, &number,
                           reader->error));
    return fth_study_input(reader->exploration, study, number, blank ? blank + 1 : NULL,
                           reader->error);
}

static enum fth_status read_study(const struct reader *reader, const struct fth_json *object,
                                  const struct fth_json *common)
{
    static const char *const known[] = {"name", "about", "traces", "set", "vary", "l1_off"};
    const char *name = fth_json_string(fth_json_get(object, "name"));
    const struct fth_json *traces = fth_json_get(object, "traces");
    if (!fth_json_is(object, FTH_JSON_OBJECT) || !name || !*name ||
        !fth_json_is(traces, FTH_JSON_LIST))
        return refuse(reader, "studies",
                      "each study must be an object with a name and a list of traces");
    FTH_JSON_EACH_MEMBER (member, object) {
        bool found = false;
        for (size_t i = 0; i < FTH_COUNT(known); i++)
            found = found || strcmp(member->key, known[i]) == 0;
        if (!found)
            return refuse(reader, member->key,
                          "unknown key; a study has name, about, traces, set, vary, l1_off");
    }
    struct fth_study *study = fth_study_add(reader->exploration, name);
    if (!study)
        return fth_no_memory(reader->error, operation, reader->name);
    study->l1_off = fth_json_is(fth_json_get(object, "l1_off"), FTH_JSON_TRUE);
    FTH_TRY(read_settings(reader, common, study));
    FTH_TRY(read_settings(reader, fth_json_get(object, "set"), study));
    FTH_TRY(read_axes(reader, fth_json_get(object, "vary"), study));
    FTH_JSON_EACH_ITEM (trace, traces) {
        if (!fth_json_is(trace, FTH_JSON_TEXT))
            return refuse(reader, name, "traces must be strings");
        FTH_TRY(read_trace(reader, fth_json_string(trace), study));
    }
    return FTH_OK;
}

static enum fth_status read_text(const struct reader *reader, const char *text, size_t size)
{
    struct fth_json_document document = {0};
    FTH_TRY(fth_json_parse(reader->name, text, size, &document, reader->error));
    const struct fth_json *root = document.root;
    enum fth_status status = FTH_OK;
    const char *schema = fth_json_string(fth_json_get(root, "schema"));
    const struct fth_json *studies = fth_json_get(root, "studies");
    if (!schema || strcmp(schema, "fathom-exploration/1") != 0)
        status = refuse(reader, "schema", "must be fathom-exploration/1");
    else if (!fth_json_is(studies, FTH_JSON_LIST) || fth_json_count(studies) == 0)
        status = refuse(reader, "studies", "must be a list with at least one study");
    FTH_JSON_EACH_ITEM (study, studies)
        if (status == FTH_OK)
            status = read_study(reader, study, fth_json_get(root, "set"));
    fth_json_fini(&document);
    return status;
}

/* Copies those options that apply to all launch files of a file or preset. */
static enum fth_status read_options(const struct fth_launch_options *given,
                                    struct fth_launch_options *options, struct fth_error *error)
{
    struct fth_launch_options known;
    FTH_TRY(fth_options_read("fth_launch_options", given, &known, sizeof known, error));
    *options = (struct fth_launch_options)FTH_LAUNCH_OPTIONS(.sizes = known.sizes,
                                                             .size_count = known.size_count,
                                                             .allow_files = known.allow_files,
                                                             .no_spills = known.no_spills);
    return FTH_OK;
}

enum fth_status fth_explore_read(struct fth_exploration *exploration, const char *path,
                                 const struct fth_launch_options *options,
                                 const struct fth_log *log, struct fth_error *error)
{
    struct fth_buffer content = {0};
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    struct reader reader = {
        .exploration = exploration, .name = path, .folder = folder, .log = log, .error = error};
    FTH_TRY(read_options(options, &reader.launch, error));
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a file of studies", MAX_SPEC_BYTES), &content, error);
    if (status == FTH_OK)
        status = read_text(&reader, content.data ? content.data : "", content.size);
    fth_buffer_fini(&content);
    return status;
}

enum fth_status fth_explore_preset(struct fth_exploration *exploration, const char *name,
                                   const char *folder, const struct fth_launch_options *options,
                                   const struct fth_log *log, struct fth_error *error)
{
    struct reader reader = {
        .exploration = exploration, .name = name, .folder = folder, .log = log, .error = error};
    FTH_TRY(read_options(options, &reader.launch, error));
    for (size_t i = 0; i < fth_embedded_preset_count; i++)
        if (strcmp(fth_embedded_presets[i].name, name) == 0)
            return read_text(&reader, fth_embedded_presets[i].data, fth_embedded_presets[i].size);
    return fth_fail(error, FTH_NOT_FOUND, operation, name, "no such preset; available: %s",
                    fth_embedded_preset_count ? fth_embedded_presets[0].name : "none");
}

const char *fth_explore_preset_at(size_t index)
{
    return index < fth_embedded_preset_count ? fth_embedded_presets[index].name : NULL;
}
