/* References as documents (fathom-fleet-reference/1). A distribution is a list of pairs: the index
 * of an interval of the logarithm (see sketch.c), relative to the one before, and its count. */
#include "fleet/fleet.h"

#include <math.h>
#include <string.h>

static const char operation[] = "read a reference";

/* Largest reference that is read. Chosen: about 100 times that of 10,000 GPUs. */
#define MAX_BYTES ((size_t)64 * 1024 * 1024)

/* ---- writing ---- */

static void write_text(struct fth_json_writer *json, const char *key, const char *text)
{
    fth_json_key(json, key);
    if (text)
        fth_json_text(json, text);
    else
        fth_json_null(json);
}

static void write_bool(struct fth_json_writer *json, const char *key, bool value)
{
    fth_json_key(json, key);
    fth_json_bool(json, value);
}

static void write_count(struct fth_json_writer *json, const char *key, uint64_t count)
{
    fth_json_key(json, key);
    fth_json_number(json, (double)count);
}

/* Writes a distribution unless it is empty. */
static void write_sketch(struct fth_json_writer *json, const char *key,
                         const struct fth_sketch *sketch)
{
    if (sketch->bin_count == 0)
        return;
    int64_t before = 0;
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < sketch->bin_count; i++) {
        fth_json_number(json, (double)(sketch->bins[i].index - before));
        fth_json_number(json, sketch->bins[i].count);
        before = sketch->bins[i].index;
    }
    fth_json_end(json, ']');
}

static void write_figure(struct fth_json_writer *json, const struct fth_reference_figure *figure)
{
    fth_json_begin(json, '{', true);
    write_text(json, "figure", figure->name);
    write_text(json, "kind", fth_fleet_kind_name(figure->kind));
    write_sketch(json, "gpus", &figure->gpus);
    write_sketch(json, "repeats", &figure->repeats);
    if (figure->repeated_gpus)
        write_count(json, "repeated_gpus", figure->repeated_gpus);
    if (figure->value_count) {
        fth_json_key(json, "values");
        fth_json_begin(json, '[', true);
        for (size_t i = 0; i < figure->value_count; i++) {
            fth_json_begin(json, '{', true);
            write_text(json, "value", figure->values[i].text);
            write_count(json, "gpus", figure->values[i].gpus);
            fth_json_end(json, '}');
        }
        fth_json_end(json, ']');
    }
    if (figure->other_gpus)
        write_count(json, "other_gpus", figure->other_gpus);
    fth_json_end(json, '}');
}

static void write_cohort(struct fth_json_writer *json, const struct fth_reference_cohort *cohort)
{
    fth_json_begin(json, '{', false);
    write_text(json, "model", cohort->cohort.model);
    write_text(json, "backend", cohort->cohort.backend);
    write_bool(json, "simulated", cohort->cohort.simulated);
    write_text(json, "driver", cohort->cohort.driver);
    write_text(json, "board", cohort->cohort.board);
    write_bool(json, "mixed_drivers", cohort->cohort.mixed_drivers);
    write_bool(json, "mixed_boards", cohort->cohort.mixed_boards);
    write_count(json, "gpus", cohort->cohort.gpu_count);
    fth_json_key(json, "figures");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < cohort->figure_count; i++)
        write_figure(json, &cohort->figures[i]);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

enum fth_status fth_fleet_reference_text(const struct fth_fleet_reference *reference, char **text,
                                         size_t *size, struct fth_error *error)
{
    struct fth_buffer out = {0};
    struct fth_json_writer json = {.out = &out};
    fth_json_begin(&json, '{', false);
    write_text(&json, "schema", "fathom-fleet-reference/1");
    fth_json_key(&json, "cohorts");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < reference->cohort_count; i++)
        write_cohort(&json, &reference->cohorts[i]);
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    const enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}

/* ---- reading ---- */

struct reader {
    const char *name; /* of the file */
    struct fth_fleet_reference *reference;
    struct fth_json_path path; /* of the current value */
    struct fth_error *error;
};

#define refuse(reader, ...)                                                                        \
    fth_json_refuse((reader)->error, operation, (reader)->name, &(reader)->path, __VA_ARGS__)

/* Reads a member that is a text; `required`: not null or missing. */
static enum fth_status read_text(struct reader *reader, const struct fth_json *object,
                                 const char *key, bool required, const char **text)
{
    const struct fth_json *value = fth_json_get(object, key);
    *text = fth_json_string(value);
    if (*text || (!required && (!value || fth_json_is(value, FTH_JSON_NULL))))
        return FTH_OK;
    fth_json_path_key(&reader->path, key);
    return refuse(reader, "expected a string");
}

/* Reads a count up to `max`; a missing one is 0. */
static enum fth_status read_count(struct reader *reader, const struct fth_json *object,
                                  const char *key, uint64_t max, uint64_t *count)
{
    const struct fth_json *value = fth_json_get(object, key);
    *count = 0;
    if (!value)
        return FTH_OK;
    if (!fth_json_is(value, FTH_JSON_INTEGER) || value->integer < 0 ||
        (uint64_t)value->integer > max) {
        fth_json_path_key(&reader->path, key);
        return refuse(reader, "expected a whole number of at most %llu", (unsigned long long)max);
    }
    *count = (uint64_t)value->integer;
    return FTH_OK;
}

static enum fth_status read_sketch(struct reader *reader, const struct fth_json *object,
                                   const char *key, struct fth_sketch *sketch)
{
    /* Indices of the smallest positive double, 4.94e-324, and of the largest one. */
    enum { MIN_INDEX = -3722201, MAX_INDEX = 3548913 };
    const struct fth_json *list = fth_json_get(object, key);
    const size_t before = fth_json_path_key(&reader->path, key);
    int64_t index = 0;
    if (list && (!fth_json_is(list, FTH_JSON_LIST) || fth_json_count(list) % 2))
        return refuse(reader, "expected a list of pairs");
    for (const struct fth_json *step = fth_json_items(list), *count; step; step = count->next) {
        count = step->next;
        if (!fth_json_is(step, FTH_JSON_INTEGER) || step->integer < MIN_INDEX ||
            step->integer > MAX_INDEX - MIN_INDEX || (sketch->bin_count && step->integer < 1) ||
            (index += step->integer) > MAX_INDEX)
            return refuse(reader, "the index of interval %zu is wrong", sketch->bin_count);
        if (!fth_json_is(count, FTH_JSON_INTEGER) || count->integer < 1 ||
            count->integer > UINT32_MAX)
            return refuse(reader, "the count of interval %zu is wrong", sketch->bin_count);
        FTH_TRY(fth_sketch_put(sketch, (int32_t)index, (uint32_t)count->integer, reader->error));
    }
    fth_json_path_back(&reader->path, before);
    return FTH_OK;
}

/* Reads the values of an exact figure. */
static enum fth_status read_values(struct reader *reader, const struct fth_json *object,
                                   struct fth_reference_figure *figure)
{
    const uint64_t max = (uint64_t)FTH_JSON_MAX_NUMBER;
    const size_t before = fth_json_path_key(&reader->path, "values");
    size_t i = 0;
    FTH_JSON_EACH_ITEM (item, fth_json_get(object, "values")) {
        const size_t at = fth_json_path_index(&reader->path, i++);
        const char *text = NULL;
        uint64_t gpus = 0;
        FTH_TRY(read_text(reader, item, "value", true, &text));
        FTH_TRY(read_count(reader, item, "gpus", max, &gpus));
        FTH_TRY(fth_reference_add_value(reader->reference, figure, text, gpus, reader->error));
        fth_json_path_back(&reader->path, at);
    }
    fth_json_path_back(&reader->path, before);
    uint64_t other = 0;
    FTH_TRY(read_count(reader, object, "other_gpus", max, &other));
    figure->other_gpus += other;
    return FTH_OK;
}

static enum fth_status read_figure(struct reader *reader, struct fth_reference_cohort *cohort,
                                   const struct fth_json *object)
{
    const char *name = NULL, *kind_name = NULL;
    enum fth_fleet_kind kind = FTH_FLEET_EXACT;
    struct fth_reference_figure *figure = NULL;
    FTH_TRY(read_text(reader, object, "figure", true, &name));
    FTH_TRY(read_text(reader, object, "kind", true, &kind_name));
    if (!fth_fleet_kind_parse(kind_name, &kind)) {
        fth_json_path_key(&reader->path, "kind");
        return refuse(reader, "'%s' is not one of rate, time, exact, state, context", kind_name);
    }
    if (fth_reference_find(cohort, name))
        return refuse(reader, "figure '%s' occurs twice", name);
    FTH_TRY(
        fth_reference_add_figure(reader->reference, cohort, name, kind, &figure, reader->error));
    FTH_TRY(read_sketch(reader, object, "gpus", &figure->gpus));
    FTH_TRY(read_sketch(reader, object, "repeats", &figure->repeats));
    FTH_TRY(
        read_count(reader, object, "repeated_gpus", figure->gpus.count, &figure->repeated_gpus));
    return read_values(reader, object, figure);
}

static enum fth_status read_cohort(struct reader *reader, const struct fth_json *object)
{
    struct fth_fleet_cohort cohort = {0};
    struct fth_reference_cohort *added = NULL;
    uint64_t gpus = 0;
    FTH_TRY(read_text(reader, object, "model", false, &cohort.model));
    FTH_TRY(read_text(reader, object, "backend", false, &cohort.backend));
    FTH_TRY(read_text(reader, object, "driver", false, &cohort.driver));
    FTH_TRY(read_text(reader, object, "board", false, &cohort.board));
    FTH_TRY(read_count(reader, object, "gpus", (uint64_t)FTH_JSON_MAX_NUMBER, &gpus));
    cohort.simulated = fth_json_is(fth_json_get(object, "simulated"), FTH_JSON_TRUE);
    cohort.mixed_drivers = fth_json_is(fth_json_get(object, "mixed_drivers"), FTH_JSON_TRUE);
    cohort.mixed_boards = fth_json_is(fth_json_get(object, "mixed_boards"), FTH_JSON_TRUE);
    cohort.gpu_count = (size_t)gpus;
    const size_t count = reader->reference->cohort_count;
    FTH_TRY(fth_reference_add_cohort(reader->reference, &cohort, &added, reader->error));
    if (reader->reference->cohort_count == count)
        return refuse(reader, "the cohort occurs twice");
    const struct fth_json *figures = fth_json_get(object, "figures");
    const size_t before = fth_json_path_key(&reader->path, "figures");
    size_t i = 0;
    if (!fth_json_is(figures, FTH_JSON_LIST))
        return refuse(reader, "expected a list");
    FTH_JSON_EACH_ITEM (item, figures) {
        const size_t at = fth_json_path_index(&reader->path, i++);
        FTH_TRY(read_figure(reader, added, item));
        fth_json_path_back(&reader->path, at);
    }
    fth_json_path_back(&reader->path, before);
    return FTH_OK;
}

static enum fth_status read_document(struct reader *reader, const struct fth_json *root)
{
    const char *schema = fth_json_string(fth_json_get(root, "schema"));
    const struct fth_json *cohorts = fth_json_get(root, "cohorts");
    size_t i = 0;
    if (!schema || strcmp(schema, "fathom-fleet-reference/1") != 0)
        return fth_fail(reader->error, FTH_INVALID, operation, reader->name,
                        "it is not a reference (fathom-fleet-reference/1): its \"schema\" is %s",
                        schema ? schema : "missing");
    fth_json_path_key(&reader->path, "cohorts");
    if (!fth_json_is(cohorts, FTH_JSON_LIST))
        return refuse(reader, "expected a list");
    FTH_JSON_EACH_ITEM (item, cohorts) {
        const size_t at = fth_json_path_index(&reader->path, i++);
        FTH_TRY(read_cohort(reader, item));
        fth_json_path_back(&reader->path, at);
    }
    return FTH_OK;
}

enum fth_status fth_reference_read_text(const char *name, const char *text, size_t size,
                                        struct fth_fleet_reference **reference,
                                        struct fth_error *error)
{
    struct fth_json_document document = {0};
    struct reader reader = {.name = name, .error = error};
    *reference = NULL;
    enum fth_status status = fth_json_parse(name, text, size, &document, error);
    if (status == FTH_OK)
        status = fth_reference_create(&reader.reference, error);
    if (status == FTH_OK)
        status = read_document(&reader, document.root);
    fth_json_fini(&document);
    if (status == FTH_OK)
        *reference = reader.reference;
    else
        fth_fleet_reference_destroy(reader.reference);
    return status;
}

enum fth_status fth_fleet_reference_read(const char *path, struct fth_fleet_reference **reference,
                                         struct fth_error *error)
{
    struct fth_buffer content = {0};
    *reference = NULL;
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a reference", MAX_BYTES), &content, error);
    if (status == FTH_OK)
        status = fth_reference_read_text(strcmp(path, "-") == 0 ? "standard input" : path,
                                         content.data ? content.data : "", content.size, reference,
                                         error);
    fth_buffer_fini(&content);
    return status;
}
