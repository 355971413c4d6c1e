/* The plan of an exploration: studies, each a grid of its inputs (traces) and axes (parameters that
 * vary). Points are numbered study by study, within a study input by input, within an input GPU by
 * GPU, and within a GPU with the last axis varying fastest. A point therefore has the same number
 * in every process that runs the same exploration. */
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "explore";

enum fth_status fth_explore_create(const struct fth_model_params *base,
                                   struct fth_exploration **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_exploration *exploration = calloc(1, sizeof *exploration);
    if (!exploration)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = fth_model_params_copy(base, &exploration->base, error);
    if (status == FTH_OK)
        *out = exploration;
    else
        fth_explore_destroy(exploration);
    return status;
}

void fth_explore_destroy(struct fth_exploration *exploration)
{
    if (!exploration)
        return;
    for (size_t i = 0; i < exploration->input_count; i++)
        fth_input_close(&exploration->inputs[i]);
    for (size_t i = 0; i < exploration->gpu_count; i++)
        fth_model_params_destroy(exploration->gpus[i].params);
    free(exploration->gpus);
    fth_model_params_destroy(exploration->base);
    fth_arena_fini(&exploration->arena);
    free(exploration->inputs);
    free(exploration->studies);
    free(exploration->settings);
    free(exploration->job_of);
    free(exploration->first_point);
    free(exploration->header);
    free(exploration);
}

enum fth_status fth_explore_gpu(struct fth_exploration *exploration, const char *name,
                                const struct fth_model_params *params, struct fth_error *error)
{
    for (size_t i = 0; i < exploration->gpu_count; i++)
        if (strcmp(exploration->gpus[i].name, name) == 0)
            return fth_fail(error, FTH_INVALID, operation, name, "the GPU is listed twice");
    if (!fth_grow((void **)&exploration->gpus, exploration->gpu_count, &exploration->gpu_capacity,
                  sizeof *exploration->gpus))
        return fth_no_memory(error, operation, NULL);
    struct fth_explored_gpu *gpu = &exploration->gpus[exploration->gpu_count];
    gpu->name = fth_arena_text(&exploration->arena, name);
    if (!gpu->name)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_model_params_copy(params, &gpu->params, error));
    exploration->gpu_count++;
    return FTH_OK;
}

struct fth_study *fth_study_add(struct fth_exploration *exploration, const char *name)
{
    if (!fth_grow((void **)&exploration->studies, exploration->study_count,
                  &exploration->study_capacity, sizeof *exploration->studies))
        return NULL;
    struct fth_study *study = &exploration->studies[exploration->study_count];
    *study = (struct fth_study){.name = fth_arena_text(&exploration->arena, name)};
    if (!study->name)
        return NULL;
    exploration->study_count++;
    return study;
}

/* Returns a copy of an array with one more element, in the arena. NULL without memory. */
static void *copy_longer(struct fth_exploration *exploration, const void *items, size_t count,
                         size_t size)
{
    char *longer = fth_arena_array(&exploration->arena, count + 1, size);
    if (longer && count)
        memcpy(longer, items, count * size);
    return longer;
}

/* Collects the different kernels of a trace in the order of their first launches. `names` has room
 * for one per launch. Returns their number. */
static size_t collect_kernels(const struct fth_trace *trace, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const char *name = fth_trace_launch_at(trace, i)->kernel;
        size_t k = 0;
        while (k < count && strcmp(names[k], name) != 0)
            k++;
        if (k == count)
            names[count++] = name;
    }
    return count;
}

/* Finds the kernel of a trace that the user means (see fth_name_match). *found is its name in the
 * trace. */
static enum fth_status find_kernel(struct fth_exploration *exploration, size_t input,
                                   const char *wanted, const char **found, struct fth_error *error)
{
    const struct fth_input *from = &exploration->inputs[input];
    const size_t launches = fth_trace_launch_count(from->trace);
    const char **names = fth_arena_array(&exploration->arena, launches + 1, sizeof *names);
    bool *matches = fth_arena_array(&exploration->arena, launches + 1, sizeof *matches);
    if (!names || !matches)
        return fth_no_memory(error, operation, NULL);
    const size_t count = collect_kernels(from->trace, names);
    const size_t match_count = fth_name_match(wanted, names, count, matches);
    for (size_t i = 0; i < count; i++)
        if (matches[i])
            *found = names[i];
    if (match_count == 1)
        return (*found = fth_arena_text(&exploration->arena, *found))
                   ? FTH_OK
                   : fth_no_memory(error, operation, NULL);
    if (match_count == 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, from->name,
                        "the trace does not launch a kernel '%s'", wanted);
    char list[300];
    fth_name_list(names, count, matches, FTH_NAME_PARAMETERS, list, sizeof list);
    return fth_fail(error, FTH_NOT_FOUND, operation, from->name, "several kernels match '%s': %s",
                    wanted, list);
}

enum fth_status fth_study_input(struct fth_exploration *exploration, struct fth_study *study,
                                size_t input, const char *kernel, struct fth_error *error)
{
    size_t *inputs =
        copy_longer(exploration, study->inputs, study->input_count, sizeof *study->inputs);
    const char **kernels =
        copy_longer(exploration, study->kernels, study->input_count, sizeof *study->kernels);
    if (!inputs || !kernels)
        return fth_no_memory(error, operation, NULL);
    inputs[study->input_count] = input;
    kernels[study->input_count] = NULL;
    if (kernel)
        FTH_TRY(find_kernel(exploration, input, kernel, &kernels[study->input_count], error));
    study->input_count++;
    study->inputs = inputs;
    study->kernels = kernels;
    return FTH_OK;
}

/* ---- parameters ---- */

enum fth_status fth_explore_set(struct fth_exploration *exploration, const char *name,
                                const char *value, struct fth_error *error)
{
    struct fth_model_params *trial = NULL;
    enum fth_status status = fth_model_params_copy(exploration->base, &trial, error);
    if (status == FTH_OK)
        status = fth_model_set(trial, name, value, error);
    fth_model_params_destroy(trial);
    if (status != FTH_OK)
        return status;
    if (!fth_grow((void **)&exploration->settings, exploration->setting_count,
                  &exploration->setting_capacity, sizeof *exploration->settings))
        return fth_no_memory(error, operation, NULL);
    struct fth_explore_setting *setting = &exploration->settings[exploration->setting_count++];
    setting->name = fth_arena_text(&exploration->arena, name);
    setting->value = fth_arena_text(&exploration->arena, value);
    return setting->name && setting->value ? FTH_OK : fth_no_memory(error, operation, NULL);
}

enum fth_status fth_study_set(struct fth_exploration *exploration, struct fth_study *study,
                              const char *name, const char *value, struct fth_error *error)
{
    struct fth_explore_setting *settings =
        copy_longer(exploration, study->settings, study->setting_count, sizeof *settings);
    if (!settings)
        return fth_no_memory(error, operation, NULL);
    settings[study->setting_count].name = fth_arena_text(&exploration->arena, name);
    settings[study->setting_count].value = fth_arena_text(&exploration->arena, value);
    study->settings = settings;
    return settings[study->setting_count].name && settings[study->setting_count++].value
               ? FTH_OK
               : fth_no_memory(error, operation, NULL);
}

void fth_value_part(const char *text, size_t part, char *out, size_t size)
{
    const bool whole = !strchr(text, '+');
    for (size_t i = 0; i < part && !whole; i++) {
        const char *next = strchr(text, '+');
        text = next ? next + 1 : "";
    }
    snprintf(out, size, "%.*s", (int)strcspn(text, "+"), text);
}

static size_t count_parts(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == '+';
    return count;
}

/* Sets the parameters of an axis to its value with index `value`. */
static enum fth_status apply_value(struct fth_model_params *params, const struct fth_axis *axis,
                                   size_t value, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < axis->name_count && status == FTH_OK; i++) {
        char text[128];
        fth_value_part(axis->values[value], i, text, sizeof text);
        status = fth_model_set(params, axis->names[i], text, error);
    }
    return status;
}

/* Checks each value of an axis, so that mistakes are reported before any model runs. */
static enum fth_status check_values(const struct fth_exploration *exploration,
                                    const struct fth_axis *axis, struct fth_error *error)
{
    struct fth_model_params *trial = NULL;
    enum fth_status status = fth_model_params_copy(exploration->base, &trial, error);
    for (size_t v = 0; v < axis->value_count && status == FTH_OK; v++) {
        const size_t parts = count_parts(axis->values[v]);
        if (parts != 1 && parts != axis->name_count)
            status = fth_fail(error, FTH_INVALID, operation, axis->values[v],
                              "%zu values for %zu parameters", parts, axis->name_count);
        for (size_t other = 0; other < v && status == FTH_OK; other++)
            if (strcmp(axis->values[v], axis->values[other]) == 0)
                status = fth_fail(error, FTH_INVALID, operation, axis->names[0],
                                  "the value %s is listed twice", axis->values[v]);
        if (status == FTH_OK)
            status = apply_value(trial, axis, v, error);
    }
    fth_model_params_destroy(trial);
    return status;
}

/* Copies the names and values of an axis. */
static enum fth_status fill_axis(struct fth_exploration *exploration, const char *names,
                                 const char *const *values, struct fth_axis *axis,
                                 struct fth_error *error)
{
    axis->names = fth_arena_array(&exploration->arena, axis->name_count, sizeof *axis->names);
    axis->values =
        fth_arena_array(&exploration->arena, axis->value_count + 1, sizeof *axis->values);
    if (!axis->names || !axis->values)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < axis->name_count; i++) {
        char name[128];
        fth_value_part(names, i, name, sizeof name);
        axis->names[i] = fth_arena_text(&exploration->arena, name);
        if (!axis->names[i])
            return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < axis->value_count; i++)
        axis->values[i] = values[i];
    return FTH_OK;
}

enum fth_status fth_study_vary(struct fth_exploration *exploration, struct fth_study *study,
                               const char *names, const char *const *values, size_t count,
                               struct fth_error *error)
{
    struct fth_axis axis = {.name_count = count_parts(names)};
    const char **expanded = NULL;
    if (study->axis_count == FTH_MAX_AXES)
        return fth_fail(error, FTH_INVALID, operation, names,
                        "more than %d axes; vary fewer parameters, or some together (A+B)",
                        FTH_MAX_AXES);
    if (count == 0)
        return fth_fail(error, FTH_INVALID, operation, names, "it has no values");
    enum fth_status status =
        fth_values_expand(&exploration->arena, values, count, &expanded, &axis.value_count, error);
    if (status == FTH_OK)
        status = fill_axis(exploration, names, expanded, &axis, error);
    free(expanded);
    if (status != FTH_OK)
        return status;
    struct fth_axis *axes =
        copy_longer(exploration, study->axes, study->axis_count, sizeof *study->axes);
    if (!axes)
        return fth_no_memory(error, operation, NULL);
    axes[study->axis_count++] = axis;
    study->axes = axes;
    return check_values(exploration, &axis, error);
}

/* ---- the study of the command line ---- */

/* The study for --vary and traces on the command line: the one without a name, which is added on
 * first use. NULL without memory. */
static struct fth_study *command_line_study(struct fth_exploration *exploration)
{
    for (size_t i = 0; i < exploration->study_count; i++)
        if (!*exploration->studies[i].name)
            return &exploration->studies[i];
    return fth_study_add(exploration, "");
}

/* Parses "NAME=V1,V2". If the text contains ';', it separates the values, which may then contain
 * commas. */
enum fth_status fth_explore_vary(struct fth_exploration *exploration, const char *text,
                                 struct fth_error *error)
{
    struct fth_study *study = command_line_study(exploration);
    const char *equals = strchr(text, '=');
    char names[256];
    if (!study)
        return fth_no_memory(error, operation, NULL);
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof names)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "expected NAME=VALUE,VALUE..., such as l1.size_bytes=8K,16K");
    snprintf(names, sizeof names, "%.*s", (int)(equals - text), text);
    const char *separator = strchr(equals, ';') ? ";" : ",";
    const char **values = NULL;
    size_t count = 0, capacity = 0;
    enum fth_status status = FTH_OK;
    for (const char *at = equals + 1; at && status == FTH_OK;) {
        const size_t size = strcspn(at, separator);
        char *value = fth_arena_alloc(&exploration->arena, size + 1);
        if (!value || !fth_grow((void **)&values, count, &capacity, sizeof *values)) {
            status = fth_no_memory(error, operation, NULL);
            break;
        }
        memcpy(value, at, size);
        values[count++] = value;
        at = at[size] ? at + size + 1 : NULL;
    }
    if (status == FTH_OK)
        status = fth_study_vary(exploration, study, names, values, count, error);
    free(values);
    return status;
}

enum fth_status fth_explore_trace(struct fth_exploration *exploration, const char *path,
                                  const struct fth_launch_options *options,
                                  const struct fth_log *log, struct fth_error *error)
{
    struct fth_study *study = command_line_study(exploration);
    size_t number;
    if (!study)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_input_open(exploration, path, options, log, &number, error));
    return fth_study_input(exploration, study, number, NULL, error);
}

void fth_explore_scope(struct fth_exploration *exploration, bool l1_off)
{
    struct fth_study *study = command_line_study(exploration);
    if (study)
        study->l1_off = l1_off;
}

void fth_explore_max_instructions(struct fth_exploration *exploration, uint64_t max_instructions)
{
    exploration->max_instructions = max_instructions;
}

/* ---- points ---- */

void fth_point_at(const struct fth_exploration *exploration, size_t number, struct fth_point *point)
{
    const struct fth_study *study = exploration->studies;
    while (number >= study->first + study->points)
        study++;
    *point = (struct fth_point){.number = number, .study = study};
    size_t rest = number - study->first;
    for (size_t i = study->axis_count; i-- > 0;) {
        point->values[i] = rest % study->axes[i].value_count;
        rest /= study->axes[i].value_count;
    }
    if (exploration->gpu_count) {
        point->gpu = &exploration->gpus[rest % exploration->gpu_count];
        rest /= exploration->gpu_count;
    }
    point->input = &exploration->inputs[study->inputs[rest]];
    point->kernel = study->kernels[rest];
}

enum fth_status fth_point_params(const struct fth_exploration *exploration,
                                 const struct fth_point *point, struct fth_model_params **params,
                                 struct fth_error *error)
{
    const struct fth_study *study = point->study;
    enum fth_status status =
        fth_model_params_copy(point->gpu ? point->gpu->params : exploration->base, params, error);
    for (size_t i = 0; i < study->setting_count && status == FTH_OK; i++)
        status = fth_model_set(*params, study->settings[i].name, study->settings[i].value, error);
    for (size_t i = 0; i < exploration->setting_count && status == FTH_OK; i++)
        status = fth_model_set(*params, exploration->settings[i].name,
                               exploration->settings[i].value, error);
    for (size_t i = 0; i < study->axis_count && status == FTH_OK; i++)
        status = apply_value(*params, &study->axes[i], point->values[i], error);
    if (status != FTH_OK) {
        fth_model_params_destroy(*params);
        *params = NULL;
    }
    return status;
}

/* Computes a checksum of everything that the result of a point depends on. */
static enum fth_status point_key(const struct fth_exploration *exploration, size_t number,
                                 uint64_t *key, struct fth_error *error)
{
    struct fth_point point;
    struct fth_model_params *params = NULL;
    fth_point_at(exploration, number, &point);
    FTH_TRY(fth_point_params(exploration, &point, &params, error));
    const uint64_t first_point[3] = {(uint64_t)(point.input - exploration->inputs),
                                     (uint64_t)point.study->l1_off,
                                     point.gpu ? (uint64_t)(point.gpu - exploration->gpus) : 0};
    *key = fth_line_checksum(first_point, sizeof first_point, FTH_LINE_START);
    if (point.kernel)
        *key = fth_line_checksum(point.kernel, strlen(point.kernel) + 1, *key);
    const char *value;
    for (size_t i = 0; (value = fth_model_value(params, i, NULL)); i++)
        *key = fth_line_checksum(value, strlen(value) + 1, *key);
    fth_model_params_destroy(params);
    return FTH_OK;
}

/* A point and its checksum, for sorting. */
struct keyed {
    uint64_t key;
    size_t point;
};

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* Makes points with the same checksum one job. Jobs are numbered in the order of their first
 * points. */
static enum fth_status find_jobs(struct fth_exploration *exploration, struct fth_error *error)
{
    const size_t points = exploration->points;
    struct keyed *keyed = calloc(points, sizeof *keyed);
    enum fth_status status = FTH_OK;
    /* An earlier call may have failed halfway. */
    free(exploration->job_of);
    free(exploration->first_point);
    exploration->jobs = 0;
    exploration->job_of = calloc(points, sizeof *exploration->job_of);
    exploration->first_point = calloc(points, sizeof *exploration->first_point);
    if (!keyed || !exploration->job_of || !exploration->first_point) {
        free(keyed);
        return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < points && status == FTH_OK; i++) {
        keyed[i].point = i;
        status = point_key(exploration, i, &keyed[i].key, error);
    }
    if (status == FTH_OK) {
        qsort(keyed, points, sizeof *keyed, compare_keys);
        for (size_t i = 0; i < points; i++)
            exploration->job_of[keyed[i].point] = i && keyed[i].key == keyed[i - 1].key
                                                      ? exploration->job_of[keyed[i - 1].point]
                                                      : keyed[i].point;
        /* So far job_of holds the first point of each job. Replace it by the number of the job; the
         * first point of a job comes before its others. */
        for (size_t i = 0; i < points; i++) {
            const size_t first = exploration->job_of[i];
            if (first == i)
                exploration->first_point[exploration->jobs] = i;
            exploration->job_of[i] = first == i ? exploration->jobs++ : exploration->job_of[first];
        }
    }
    free(keyed);
    return status;
}

enum fth_status fth_plan_complete(struct fth_exploration *exploration, struct fth_error *error)
{
    if (exploration->header)
        return FTH_OK;
    exploration->points = 0;
    for (size_t i = 0; i < exploration->study_count; i++) {
        struct fth_study *study = &exploration->studies[i];
        study->first = exploration->points;
        study->points = study->input_count;
        if (exploration->gpu_count && study->points <= FTH_MAX_POINTS)
            study->points *= exploration->gpu_count;
        for (size_t a = 0; a < study->axis_count && study->points <= FTH_MAX_POINTS; a++)
            study->points *= study->axes[a].value_count;
        if (study->points > FTH_MAX_POINTS - exploration->points)
            return fth_fail(error, FTH_INVALID, operation, NULL,
                            "more than %d points; vary fewer parameters or values", FTH_MAX_POINTS);
        exploration->points += study->points;
    }
    if (exploration->points == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "nothing to explore: there is no trace");
    FTH_TRY(find_jobs(exploration, error));
    struct fth_buffer header = {0};
    size_t size;
    fth_line_describe(&header, exploration);
    enum fth_status status = fth_buffer_take(&header, &exploration->header, &size, error);
    fth_buffer_fini(&header);
    if (status == FTH_OK)
        exploration->identity = fth_line_checksum(exploration->header, size, FTH_LINE_START);
    return status;
}

size_t fth_explore_points(const struct fth_exploration *exploration, size_t *jobs)
{
    if (jobs)
        *jobs = exploration->jobs;
    return exploration->points;
}
