/* The values of the parameters of the model: from text, with checks, and as text. The table of all
 * parameters is in params_table.c. */
#include "model/params_table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *default_of(size_t key)
{
    return fth_parameter_row(key)->default_value[key < FTH_KEY_SMS ? key / FTH_LEVEL_KEYS : 0];
}

static void name_of(size_t key, char name[40])
{
    if (key < FTH_KEY_SMS)
        snprintf(name, 40, "%s.%s", key < FTH_LEVEL_KEYS ? "l1" : "l2",
                 fth_parameter_row(key)->name);
    else
        snprintf(name, 40, "%s", fth_parameter_row(key)->name);
}

bool fth_model_parameter(size_t index, struct fth_model_parameter *parameter)
{
    if (index >= FTH_MODEL_KEYS)
        return false;
    const struct fth_parameter_row *row = fth_parameter_row(index);
    *parameter = (struct fth_model_parameter){
        .unit = row->unit,
        .what = index < FTH_LEVEL_KEYS && row->l1_what ? row->l1_what : row->what,
        .default_value = default_of(index),
        .from = row->from};
    name_of(index, parameter->name);
    return true;
}

/* ---- values ---- */

void fth_model_put_text(struct fth_model_params *params, size_t key, const char *text,
                        enum fth_model_source source)
{
    struct fth_model_value *value = &params->values[key];
    value->source = source;
    snprintf(value->text, sizeof value->text, "%s", text);
}

void fth_model_put(struct fth_model_params *params, size_t key, double number,
                   enum fth_model_source source)
{
    char text[40];
    fth_model_put_text(params, key,
                       isnan(number) ? "" : fth_number_format(number, text, sizeof text), source);
    params->values[key].number = number;
}

uint64_t fth_model_integer(const struct fth_model_params *params, size_t key)
{
    return (uint64_t)params->values[key].number;
}

/* Returns whether a text is one of the words in a list such as "lru, fifo, lfu". */
static bool is_one_of(const char *words, const char *text)
{
    size_t size = strlen(text);
    if (size == 0)
        return false; /* strstr finds it everywhere, even at the end of the list */
    for (const char *at = words; (at = strstr(at, text)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

static enum fth_status refuse(const char *name, const char *cause, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "set parameter", name, "%s", cause);
}

static bool parse_number(const struct fth_parameter_row *row, const char *text, double *number)
{
    uint64_t bytes;
    char *end;
    errno = 0;
    if (row->kind == FTH_PARAMETER_BYTES && fth_size_parse(text, &bytes, NULL) == FTH_OK) {
        *number = (double)bytes;
        return true;
    }
    *number =
        row->kind == FTH_PARAMETER_REAL ? fth_strtod(text, &end) : (double)strtoull(text, &end, 0);
    return row->kind != FTH_PARAMETER_BYTES && end != text && !*end && !errno && *text != '-' &&
           isfinite(*number);
}

/* Whether it is the value of l1.index that stands for the masks of the description. */
static bool is_l1_description(size_t key, const char *text)
{
    return key == fth_model_key(FTH_MODEL_L1, FTH_KEY_INDEX) && strcmp(text, "description") == 0;
}

/* Sets one parameter from text, after checking it. A REAL that is empty becomes NAN: unknown. */
static enum fth_status set_key(struct fth_model_params *params, size_t key, const char *text,
                               enum fth_model_source source, struct fth_error *error)
{
    const struct fth_parameter_row *row = fth_parameter_row(key);
    char name[40], cause[200];
    name_of(key, name);
    if (strlen(text) >= sizeof params->values[key].text)
        return refuse(name,
                      "the value is too long; if it is a list, write it to a file and use @FILE",
                      error);
    if (row->kind == FTH_PARAMETER_WORD || row->kind == FTH_PARAMETER_TEXT) {
        unsigned bits[64];
        snprintf(cause, sizeof cause, "'%.60s' is not one of: %s", text, row->unit);
        if ((row->kind == FTH_PARAMETER_WORD && !is_one_of(row->unit, text)) ||
            (key % FTH_LEVEL_KEYS == FTH_KEY_INDEX && key < FTH_KEY_SMS &&
             !is_l1_description(key, text) && fth_index_parse(text, bits) < 0))
            return refuse(name, cause, error);
        fth_model_put_text(params, key, text, source);
        return FTH_OK;
    }
    double number;
    if (!*text && row->kind == FTH_PARAMETER_REAL) {
        fth_model_put(params, key, (double)NAN, source);
        return FTH_OK;
    }
    if (!parse_number(row, text, &number)) {
        snprintf(cause, sizeof cause, "'%.60s' is not a %s", text,
                 row->kind == FTH_PARAMETER_BYTES
                     ? "size, such as 32K"
                     : "valid number (only a number of cycles may have a fraction)");
        return refuse(name, cause, error);
    }
    if (number < row->min || number > row->max) {
        snprintf(cause, sizeof cause, "%.60s is not between %.0f and %.0f", text, row->min,
                 row->max);
        return refuse(name, cause, error);
    }
    fth_model_put(params, key, number, source);
    return FTH_OK;
}

/* Checks that the numbers of the description are in the range of their parameters. */
static enum fth_status check_description(const struct fth_model_params *params,
                                         struct fth_error *error)
{
    for (size_t key = 0; key < FTH_MODEL_KEYS; key++) {
        const struct fth_parameter_row *row = fth_parameter_row(key);
        const struct fth_model_value *value = &params->values[key];
        char name[40];
        if (value->source != FTH_MODEL_DESCRIPTION || row->kind == FTH_PARAMETER_WORD ||
            row->kind == FTH_PARAMETER_TEXT ||
            !(value->number < row->min || value->number > row->max))
            continue;
        name_of(key, name);
        return fth_fail(
            error, FTH_INVALID, "model caches of", params->gpu,
            "its description gives %s the value %s, but the model is limited to %.0f to "
            "%.0f; correct the description",
            name, value->text, row->min, row->max);
    }
    return FTH_OK;
}

/* The model executes PTX, in warps of 32 threads, and has two levels of caches. Its rules were
 * found on GPUs of NVIDIA. */
static enum fth_status check_vendor(const struct fth_gpu *gpu, struct fth_error *error)
{
    if (strcmp(fth_gpu_unit(gpu).name, "SM") == 0)
        return FTH_OK;
    return fth_fail(error, FTH_UNSUPPORTED, "model caches of", fth_gpu_text(gpu, "device", "name"),
                    "the model covers GPUs of NVIDIA only: it executes PTX, in warps of 32 "
                    "threads, and knows no caches but L1 and L2");
}

enum fth_status fth_model_params_create(const struct fth_gpu *gpu, struct fth_model_params **params,
                                        struct fth_error *error)
{
    *params = NULL;
    if (gpu)
        FTH_TRY(check_vendor(gpu, error));
    *params = calloc(1, sizeof **params);
    if (!*params)
        return fth_no_memory(error, "set parameters", NULL);
    enum fth_status status = FTH_OK;
    for (size_t key = 0; key < FTH_MODEL_KEYS && status == FTH_OK; key++)
        status = set_key(*params, key, default_of(key), FTH_MODEL_DEFAULT, error);
    if (status == FTH_OK && gpu) {
        fth_model_describe(*params, gpu);
        status = check_description(*params, error);
    }
    if (status != FTH_OK) {
        fth_model_params_destroy(*params);
        *params = NULL;
    }
    return status;
}

enum fth_status fth_model_params_copy(const struct fth_model_params *params,
                                      struct fth_model_params **copy, struct fth_error *error)
{
    *copy = malloc(sizeof **copy);
    if (!*copy)
        return fth_no_memory(error, "set parameters", NULL);
    **copy = *params;
    return FTH_OK;
}

void fth_model_params_destroy(struct fth_model_params *params)
{
    free(params);
}

enum fth_status fth_model_set(struct fth_model_params *params, const char *name, const char *value,
                              struct fth_error *error)
{
    char names[FTH_MODEL_KEYS][40];
    const char *list[FTH_MODEL_KEYS];
    for (size_t key = 0; key < FTH_MODEL_KEYS; key++) {
        name_of(key, names[key]);
        list[key] = names[key];
        if (strcmp(names[key], name) != 0)
            continue;
        enum fth_status status = set_key(params, key, value, FTH_MODEL_SET, error);
        /* If sets or ways is set (and not to 0), the other one becomes 0, that is, it is derived.
         * So the one that is set last counts. FTH_KEY_WAYS directly follows FTH_KEY_SETS. */
        size_t level_key = key % FTH_LEVEL_KEYS;
        if (status == FTH_OK && key < FTH_KEY_SMS && params->values[key].number > 0 &&
            (level_key == FTH_KEY_SETS || level_key == FTH_KEY_WAYS))
            fth_model_put(params, level_key == FTH_KEY_SETS ? key + 1 : key - 1, 0, FTH_MODEL_SET);
        return status;
    }
    const char *nearest = fth_suggest(name, list, FTH_MODEL_KEYS);
    return nearest ? fth_fail(error, FTH_NOT_FOUND, "set parameter", name,
                              "no such parameter; did you mean %s?", nearest)
                   : fth_fail(error, FTH_NOT_FOUND, "set parameter", name,
                              "no such parameter; 'fathom model --parameters' lists them");
}

const char *fth_model_value(const struct fth_model_params *params, size_t index,
                            enum fth_model_source *source)
{
    if (index >= FTH_MODEL_KEYS)
        return NULL;
    if (source)
        *source = params->values[index].source;
    return params->values[index].text;
}
