/* Launches, and their arguments as they are given on the command line and in launch files:
 *
 *   i32:4096  f32:1.5  u64:0x10          a number of that type
 *   ptr:f32[1024]                        a buffer of zeros
 *   ptr:f32[64*64]=random                numbers between 0 and 1; of integer types, any
 *   ptr:f32[64]=random(-1,1)             between these; of integer types both included
 *   ptr:u32[256]=iota  ptr:f32[16]=1.5   0, 1, 2, …; the same number everywhere
 *   ptr:f32[64]=(i % 8) / 8              an expression of the index i
 *   ptr:u32[]=file:data.bin              the contents of a file, as many as it holds
 */
#include "trace/launch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS ((uint64_t)1 << 36)

static const char operation[] = "read argument";

/* ---- kernels ---- */

const struct fth_ptx_kernel *fth_launch_find(const struct fth_launch *launch, const char *name,
                                             struct fth_error *error)
{
    const struct fth_ptx_kernel *first = fth_ptx_kernel_at(launch->module, 0), *each;
    if (!first) {
        fth_fail(error, FTH_INVALID, "read PTX", launch->path, "there is no kernel in it");
        return NULL;
    }
    if (!name && !fth_ptx_kernel_at(launch->module, 1))
        return first;
    const struct fth_ptx_kernel *found = name ? fth_ptx_kernel(launch->module, name) : NULL;
    if (found)
        return found;
    char names[256] = "";
    for (size_t i = 0; (each = fth_ptx_kernel_at(launch->module, i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", each->name);
    }
    fth_fail(error, FTH_NOT_FOUND, "find kernel", name ? name : "",
             "the file has %s; name one of them", names);
    return NULL;
}

/* What the kernel takes, for a message: "u64 of 8 bytes, u32 of 4 bytes". */
static void describe_parameters(const struct fth_ptx_kernel *kernel, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const struct fth_ptx_parameter *parameter = &kernel->parameters[i];
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s of %zu bytes", i ? ", " : "", parameter->type,
                 parameter->bytes);
    }
}

enum fth_status fth_step_check(const struct fth_launch_step *step, struct fth_error *error)
{
    const struct fth_ptx_kernel *kernel = step->kernel;
    char wanted[256];
    describe_parameters(kernel, wanted, sizeof wanted);
    if (step->argument_count != kernel->parameter_count)
        return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                        "it takes %zu arguments (%s), and %zu were given", kernel->parameter_count,
                        wanted, step->argument_count);
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct fth_element *element = step->arguments[i].element;
        unsigned bytes = element ? element->bytes : 8;
        if (kernel->parameters[i].bytes != bytes)
            return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                            "argument %zu has %u bytes, and the kernel takes %s", i + 1, bytes,
                            wanted);
    }
    return FTH_OK;
}

/* ---- the handle ---- */

enum fth_status fth_launch_grow(void **items, size_t count, size_t *capacity, size_t size,
                                struct fth_error *error)
{
    if (fth_grow(items, count, capacity, size))
        return FTH_OK;
    return fth_fail(error, FTH_NO_MEMORY, "read launch", NULL, "out of memory");
}

enum fth_status fth_launch_new(const char *path, uint64_t seed, struct fth_launch **out,
                               struct fth_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->seed = seed;
        (*out)->path = strdup(path);
        (*out)->scope.variables[0] = (struct fth_variable){"i", 0};
        (*out)->scope.count = 1;
    }
    if (*out && (*out)->path)
        return FTH_OK;
    free(*out);
    *out = NULL;
    return fth_fail(error, FTH_NO_MEMORY, "read launch", path, "out of memory");
}

enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                  struct fth_launch **out, struct fth_error *error)
{
    struct fth_launch *launch = NULL;
    *out = NULL;
    enum fth_status status = fth_launch_new(path, seed, &launch, error);
    if (!launch)
        return status;
    launch->ptx_path = launch->path;
    status = fth_ptx_read_file(path, &launch->module, error);
    const struct fth_ptx_kernel *found =
        status == FTH_OK ? fth_launch_find(launch, kernel, error) : NULL;
    if (status == FTH_OK && !found)
        status = fth_ptx_kernel_at(launch->module, 0) ? FTH_NOT_FOUND : FTH_INVALID;
    if (status == FTH_OK)
        status = fth_launch_grow((void **)&launch->steps, 0, &launch->step_capacity,
                                 sizeof *launch->steps, error);
    if (status != FTH_OK) {
        fth_launch_destroy(launch);
        return status;
    }
    launch->steps[launch->step_count++] =
        (struct fth_launch_step){.kernel = found, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    *out = launch;
    return FTH_OK;
}

void fth_launch_destroy(struct fth_launch *launch)
{
    if (!launch)
        return;
    if (launch->executor.close)
        launch->executor.close(launch->executor.context);
    for (size_t i = 0; i < launch->buffer_count; i++)
        fth_expression_destroy(launch->buffers[i].expression);
    fth_ptx_destroy(launch->module);
    fth_arena_fini(&launch->arena);
    free(launch->buffers);
    free(launch->steps);
    free(launch->expectations);
    free(launch->given);
    free(launch->path);
    free(launch);
}

void fth_launch_set_shape(struct fth_launch *launch, const struct fth_launch_shape *shape)
{
    struct fth_launch_step *step = &launch->steps[0];
    memcpy(step->grid, shape->grid, sizeof step->grid);
    memcpy(step->block, shape->block, sizeof step->block);
    step->shared_bytes = shape->shared_bytes;
}

size_t fth_launch_step_count(const struct fth_launch *launch)
{
    return launch->step_count;
}

const char *fth_launch_kernel(const struct fth_launch *launch, size_t step)
{
    return step < launch->step_count ? launch->steps[step].kernel->name : NULL;
}

/* ---- buffers ---- */

/* The number that a text with sizes in it stands for. */
static enum fth_status evaluate(const struct fth_launch *launch, const char *text, size_t size,
                                double *value, struct fth_error *error)
{
    char copy[256];
    *value = 0;
    if (size >= sizeof copy)
        return fth_fail(error, FTH_INVALID, "read expression", text, "too long");
    memcpy(copy, text, size);
    copy[size] = '\0';
    struct fth_expression *expression;
    enum fth_status status = fth_expression_create(copy, &launch->scope, &expression, error);
    if (status == FTH_OK)
        *value = fth_expression_value(expression, &launch->scope);
    fth_expression_destroy(expression);
    return status;
}

enum fth_status fth_launch_evaluate(const struct fth_launch *launch, const char *text,
                                    double *value, struct fth_error *error)
{
    return evaluate(launch, text, strlen(text), value, error);
}

/* "1024]" or "N*N]"; false where it is no whole number of elements. */
static bool parse_count(const struct fth_launch *launch, const char **text, uint64_t *count)
{
    size_t size = strcspn(*text, "]");
    double value;
    if ((*text)[size] != ']' || evaluate(launch, *text, size, &value, NULL) != FTH_OK ||
        !(value >= 1) || value > (double)MAX_ELEMENTS || value != floor(value))
        return false;
    *count = (uint64_t)value;
    *text += size;
    return true;
}

/* "random" or "random(LOW,HIGH)". */
static enum fth_status parse_random(const struct fth_launch *launch, const char *how,
                                    struct fth_launch_buffer *buffer, struct fth_error *error)
{
    buffer->fill = FTH_FILL_RANDOM;
    buffer->whole_range = !buffer->element->is_float;
    buffer->high = 1;
    if (*how == '\0')
        return FTH_OK;
    size_t low = strcspn(how, ","), high = strcspn(how + low, ")");
    if (how[low] != ',' || how[low + high] != ')' || how[low + high + 1] != '\0')
        return fth_fail(error, FTH_INVALID, operation, how, "not such as random(-1,1)");
    buffer->whole_range = false;
    enum fth_status status = evaluate(launch, how + 1, low - 1, &buffer->low, error);
    if (status == FTH_OK)
        status = evaluate(launch, how + low + 1, high - 1, &buffer->high, error);
    if (status == FTH_OK && !(buffer->low <= buffer->high))
        status = fth_fail(error, FTH_INVALID, operation, how, "the second must be the larger");
    if (status == FTH_OK && !buffer->element->is_float &&
        (ceil(buffer->low) > floor(buffer->high) || fabs(buffer->low) > FTH_JSON_MAX_NUMBER ||
         fabs(buffer->high) > FTH_JSON_MAX_NUMBER))
        status = fth_fail(error, FTH_INVALID, operation, how, "there is no whole number between");
    return status;
}

/* The contents behind "=". */
static enum fth_status parse_fill(struct fth_launch *launch, const char *text, const char *how,
                                  struct fth_launch_buffer *buffer, struct fth_error *error)
{
    if (strcmp(how, "zero") == 0 || strcmp(how, "iota") == 0) {
        buffer->fill = *how == 'i' ? FTH_FILL_IOTA : FTH_FILL_ZERO;
        return FTH_OK;
    }
    if (strcmp(how, "random") == 0 || strncmp(how, "random(", 7) == 0)
        return parse_random(launch, how + 6, buffer, error);
    if (fth_element_parse(buffer->element, how, &buffer->bits)) {
        buffer->fill = FTH_FILL_SAME;
        return FTH_OK;
    }
    buffer->fill = FTH_FILL_EXPRESSION;
    struct fth_error why = FTH_NO_ERROR;
    if (fth_expression_create(how, &launch->scope, &buffer->expression, &why) == FTH_OK)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, text,
                    "'%s' is none of zero, random, iota, file:PATH, a number, or an expression of "
                    "i: %s",
                    how, why.cause);
}

/* A path beside the launch file, or as it is on the command line. */
static const char *resolve_path(struct fth_launch *launch, const char *path, bool beside)
{
    const char *slash = beside && *path != '/' ? strrchr(launch->path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - launch->path) + 1 : 0;
    char *whole = fth_arena_alloc(&launch->arena, folder + strlen(path) + 1);
    if (whole) {
        memcpy(whole, launch->path, folder);
        memcpy(whole + folder, path, strlen(path) + 1);
    }
    return whole;
}

const char *fth_launch_beside(struct fth_launch *launch, const char *path)
{
    return resolve_path(launch, path, true);
}

enum fth_status fth_launch_add_buffer(struct fth_launch *launch, const char *name, const char *text,
                                      struct fth_error *error)
{
    const char *type = strncmp(text, "ptr:", 4) == 0 ? text + 4 : text;
    size_t size = strcspn(type, "[");
    struct fth_launch_buffer buffer = {.name = name, .element = fth_element_find(type, size)};
    if (!buffer.element)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "begins with no type; f32[1024]=random is a buffer");
    const char *at = type + size;
    bool open = strncmp(at, "[]", 2) == 0;
    if (*at++ != '[' || (!open && !parse_count(launch, &at, &buffer.count)))
        return fth_fail(error, FTH_INVALID, operation, text,
                        "a count in brackets expected, such as [1024] or [64*64]");
    at += 1;
    if (*at && *at != '=')
        return fth_fail(error, FTH_INVALID, operation, text, "'%s' behind the count", at);
    const char *how = *at == '=' ? at + 1 : "zero";
    enum fth_status status = FTH_OK;
    if (strncmp(how, "file:", 5) == 0) {
        uint64_t holds = 0;
        buffer.fill = FTH_FILL_FILE;
        buffer.path = resolve_path(launch, how + 5, name != NULL);
        if (!buffer.path)
            return fth_fail(error, FTH_NO_MEMORY, operation, text, "out of memory");
        status = fth_launch_count_file(buffer.path, buffer.element, &holds, error);
        if (open)
            buffer.count = holds;
        if (status == FTH_OK && (holds == 0 || holds < buffer.count))
            status = fth_fail(error, FTH_INVALID, operation, text,
                              "the file holds %llu of them, which is too few",
                              (unsigned long long)holds);
    } else if (open) {
        status =
            fth_fail(error, FTH_INVALID, operation, text, "only a file can say how many there are");
    } else {
        status = parse_fill(launch, text, how, &buffer, error);
    }
    if (status == FTH_OK)
        status = fth_launch_grow((void **)&launch->buffers, launch->buffer_count,
                                 &launch->buffer_capacity, sizeof *launch->buffers, error);
    if (status == FTH_OK)
        launch->buffers[launch->buffer_count++] = buffer;
    else
        fth_expression_destroy(buffer.expression);
    return status;
}

/* ---- arguments ---- */

static enum fth_status parse_scalar(const struct fth_launch *launch, const char *text,
                                    struct fth_launch_argument *argument, struct fth_error *error)
{
    size_t size = strcspn(text, ":[");
    argument->element = fth_element_find(text, size);
    if (!argument->element)
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "begins with no type; i32:5, f32:1.5 and ptr:f32[1024]=random are arguments");
    double value = 0;
    if (text[size] == ':' &&
        (fth_element_parse(argument->element, text + size + 1, &argument->bits) ||
         (fth_launch_evaluate(launch, text + size + 1, &value, NULL) == FTH_OK &&
          fth_element_from_double(argument->element, value, &argument->bits))))
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, text, "not a number of type %s",
                    argument->element->name);
}

/* The buffer that a launch file's argument begins with, "NAME" or "NAME+OFFSET". */
static bool find_buffer(const struct fth_launch *launch, const char *text, size_t size,
                        size_t *index)
{
    for (*index = 0; *index < launch->buffer_count; (*index)++) {
        const char *name = launch->buffers[*index].name;
        if (name && strlen(name) == size && strncmp(name, text, size) == 0)
            return true;
    }
    return false;
}

enum fth_status fth_launch_parse_argument(struct fth_launch *launch, const char *text,
                                          struct fth_launch_argument *argument,
                                          struct fth_error *error)
{
    *argument = (struct fth_launch_argument){0};
    size_t size = strcspn(text, "+:");
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    if (!find_buffer(launch, text, size, &argument->buffer))
        return parse_scalar(launch, text, argument, error);
    const char *plus = strchr(text, '+');
    double offset = 0;
    enum fth_status status = plus ? fth_launch_evaluate(launch, plus + 1, &offset, error) : FTH_OK;
    if (status != FTH_OK)
        return status;
    if (!(offset >= 0) || offset != floor(offset) ||
        offset > (double)launch->buffers[argument->buffer].count)
        return fth_fail(error, FTH_INVALID, operation, text, "it leads out of the buffer");
    argument->offset = (uint64_t)offset;
    return FTH_OK;
}

enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    struct fth_launch_argument argument = {0};
    struct fth_launch_step *step = &launch->steps[0];
    enum fth_status status = fth_launch_grow((void **)&launch->given, launch->given_count,
                                             &launch->given_capacity, sizeof *launch->given, error);
    if (status != FTH_OK)
        return status;
    if (strncmp(text, "ptr:", 4) == 0 && fth_element_find(text + 4, strcspn(text + 4, "["))) {
        status = fth_launch_add_buffer(launch, NULL, text, error);
        if (status == FTH_OK) {
            argument.buffer = launch->buffer_count - 1;
            launch->buffers[argument.buffer].number = launch->given_count + 1;
        }
    } else {
        status = parse_scalar(launch, text, &argument, error);
    }
    if (status == FTH_OK)
        launch->given[launch->given_count++] = argument;
    step->arguments = launch->given;
    step->argument_count = launch->given_count;
    return status;
}
