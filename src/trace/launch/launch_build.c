/* Launches, and their buffers and arguments, as given on the command line:
 *
 *   i32:4096  f32:1.5  u64:0x10          a number of the type
 *   ptr:f32[1024]                        a buffer of zeros
 *   ptr:f32[64*64]=random                random: floats from 0 to 1, integers from the full range
 *   ptr:f32[64]=random(-1,1)             random between two limits; integers include both limits
 *   ptr:u32[256]=iota                    0, 1, 2, …
 *   ptr:f32[16]=1.5                      the same number in every element
 *   ptr:f32[64]=(i % 8) / 8              an expression of the index i
 *   ptr:u32[]=file:data.bin              the contents of a file, as many elements as it holds
 *
 * Launch files describe buffers in the same way, without "ptr:"; their arguments refer to buffers
 * by name.
 */
#include "base/json.h"
#include "trace/launch/launch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of elements of a buffer. Chosen, not derived: 64 GiB of bytes, more than most
 * hosts have; it keeps sizes in bytes far below 2^64. */
#define MAX_ELEMENTS ((uint64_t)1 << 36)
/* Maximum size in bytes of a buffer whose size is that of its file. It bounds the memory that a
 * small compressed file can take. Chosen: larger buffers state their number of elements. */
#define MAX_OPEN_BYTES ((uint64_t)4 << 30)

static const char operation[] = "read argument";

/* ---- kernels ---- */

enum fth_status fth_launch_find_kernel(const struct fth_launch *launch, const char *name,
                                       const struct fth_ptx_kernel **kernel,
                                       struct fth_error *error)
{
    const struct fth_ptx_kernel *each;
    *kernel = fth_ptx_kernel_at(launch->module, 0);
    if (!*kernel)
        return fth_fail(error, FTH_INVALID, "read PTX", launch->path,
                        "the file contains no kernel (.entry)");
    if (!name && !fth_ptx_kernel_at(launch->module, 1))
        return FTH_OK;
    *kernel = name ? fth_ptx_kernel(launch->module, name) : NULL;
    if (*kernel)
        return FTH_OK;
    char names[256] = "";
    for (size_t i = 0; (each = fth_ptx_kernel_at(launch->module, i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", each->name);
    }
    return fth_fail(error, FTH_NOT_FOUND, "find kernel", name ? name : "",
                    "choose one of the kernels of the file: %s", names);
}

/* Lists the parameters of the kernel for a message: "u64 of 8 bytes, u32 of 4 bytes". */
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
                        "it takes %zu arguments (%s), but %zu were given", kernel->parameter_count,
                        wanted, step->argument_count);
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct fth_scalar_type *element = step->arguments[i].element;
        unsigned bytes = element ? element->bytes : 8;
        if (kernel->parameters[i].bytes != bytes)
            return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                            "argument %zu has %u bytes, but the kernel takes %s", i + 1, bytes,
                            wanted);
    }
    /* The PTX engine and the driver check the number of threads and the grid. Only the driver
     * checks this limit, which all GPUs have (CUDA C++ Programming Guide, "Compute Capabilities").
     */
    if (step->block[2] > 64)
        return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                        "%u threads per block along z exceed the limit of 64", step->block[2]);
    return FTH_OK;
}

/* ---- creating launches ---- */

enum fth_status fth_launch_grow(void **items, size_t count, size_t *capacity, size_t size,
                                struct fth_error *error)
{
    if (fth_grow(items, count, capacity, size))
        return FTH_OK;
    return fth_no_memory(error, "read launch", NULL);
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
    return fth_no_memory(error, "read launch", path);
}

enum fth_status fth_launch_parse_ptx(struct fth_launch *launch, struct fth_error *error)
{
    return fth_ptx_read_text(launch->ptx_path, launch->ptx.data ? launch->ptx.data : "",
                             launch->ptx.size, &launch->module, error);
}

/* Parses the text of a launch and adds its only step. */
static enum fth_status add_step(struct fth_launch *launch, const char *kernel,
                                struct fth_error *error)
{
    struct fth_launch_step step = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    FTH_TRY(fth_launch_parse_ptx(launch, error));
    FTH_TRY(fth_launch_find_kernel(launch, kernel, &step.kernel, error));
    FTH_TRY(fth_launch_grow((void **)&launch->steps, 0, &launch->step_capacity,
                            sizeof *launch->steps, error));
    launch->steps[launch->step_count++] = step;
    return FTH_OK;
}

enum fth_status fth_launch_create_text(const char *path, struct fth_buffer *text,
                                       const char *kernel, uint64_t seed, struct fth_launch **out,
                                       struct fth_error *error)
{
    struct fth_launch *launch = NULL;
    *out = NULL;
    enum fth_status status = fth_launch_new(path, seed, &launch, error);
    if (status != FTH_OK) {
        fth_buffer_fini(text);
        return status;
    }
    launch->allow_files = true; /* the caller names all files */
    launch->ptx_path = launch->path;
    launch->ptx = *text;
    *text = (struct fth_buffer){0};
    status = add_step(launch, kernel, error);
    if (status == FTH_OK)
        *out = launch;
    else
        fth_launch_destroy(launch);
    return status;
}

enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                  struct fth_launch **out, struct fth_error *error)
{
    struct fth_buffer text = {0};
    *out = NULL;
    enum fth_status status = fth_file_read(path, FTH_PTX_LIMIT, &text, error);
    if (status == FTH_OK)
        return fth_launch_create_text(path, &text, kernel, seed, out, error);
    fth_buffer_fini(&text);
    return status;
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
    fth_buffer_fini(&launch->ptx);
    fth_arena_fini(&launch->arena);
    free(launch->buffers);
    free(launch->steps);
    free(launch->expectations);
    free(launch->arguments);
    free(launch->path);
    free(launch);
}

enum fth_status fth_launch_set_shape(struct fth_launch *launch,
                                     const struct fth_launch_shape *shape, struct fth_error *error)
{
    struct fth_launch_shape known;
    struct fth_launch_step *step = &launch->steps[0];
    FTH_TRY(fth_options_read("fth_launch_shape", shape, &known, sizeof known, error));
    memcpy(step->grid, known.grid, sizeof step->grid);
    memcpy(step->block, known.block, sizeof step->block);
    step->shared_bytes = known.shared_bytes;
    return FTH_OK;
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

/* Evaluates the first `size` characters of `text`, which may use the sizes of the launch. */
static enum fth_status evaluate(const struct fth_launch *launch, const char *text, size_t size,
                                double *value, struct fth_error *error)
{
    char copy[256];
    *value = 0;
    if (size >= sizeof copy)
        return fth_fail(error, FTH_INVALID, "read expression", text,
                        "an expression has at most 255 characters");
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

/* Parses "1024]" or "N*N]" and moves *at to the bracket. `text` is the whole argument, for
 * messages.
 */
static enum fth_status parse_count(const struct fth_launch *launch, const char *text,
                                   const char **at, uint64_t *count, struct fth_error *error)
{
    static const char expected[] = "expected the number of elements in brackets, such as [1024] or "
                                   "[N*N]: an integer from 1 to "
                                   "2^36";
    const size_t size = strcspn(*at, "]");
    double value = 0;
    struct fth_error why = FTH_NO_ERROR;
    const bool closed = (*at)[size] == ']';
    if (closed && evaluate(launch, *at, size, &value, &why) == FTH_NO_MEMORY)
        return fth_error_move(error, &why);
    if (why.status != FTH_OK)
        return fth_fail(error, FTH_INVALID, operation, text, "%s: %s", expected, why.cause);
    if (!closed || !(value >= 1) || value > (double)MAX_ELEMENTS || value != floor(value))
        return fth_fail(error, FTH_INVALID, operation, text, "%s", expected);
    *count = (uint64_t)value;
    *at += size;
    return FTH_OK;
}

/* Parses what follows "random": nothing or "(LOW,HIGH)". */
static enum fth_status parse_random(const struct fth_launch *launch, const char *contents,
                                    struct fth_launch_buffer *buffer, struct fth_error *error)
{
    buffer->fill = FTH_FILL_RANDOM;
    buffer->whole_range = !buffer->element->is_float;
    buffer->high = 1;
    if (*contents == '\0')
        return FTH_OK;
    size_t low = strcspn(contents, ","), high = strcspn(contents + low, ")");
    if (contents[low] != ',' || contents[low + high] != ')' || contents[low + high + 1] != '\0')
        return fth_fail(error, FTH_INVALID, operation, contents,
                        "expected random or random(LOW,HIGH), such as random(-1,1)");
    buffer->whole_range = false;
    FTH_TRY(evaluate(launch, contents + 1, low - 1, &buffer->low, error));
    FTH_TRY(evaluate(launch, contents + low + 1, high - 1, &buffer->high, error));
    if (!(buffer->low <= buffer->high))
        return fth_fail(error, FTH_INVALID, operation, contents,
                        "LOW must not be greater than HIGH");
    if (!buffer->element->is_float &&
        (ceil(buffer->low) > floor(buffer->high) || fabs(buffer->low) > FTH_JSON_MAX_NUMBER ||
         fabs(buffer->high) > FTH_JSON_MAX_NUMBER))
        return fth_fail(error, FTH_INVALID, operation, contents,
                        "no integer lies between LOW and HIGH, or one of them exceeds 2^53");
    return FTH_OK;
}

/* Parses the contents, which follow "=". `text` is the whole argument, for messages. */
static enum fth_status parse_fill(struct fth_launch *launch, const char *text, const char *contents,
                                  struct fth_launch_buffer *buffer, struct fth_error *error)
{
    if (strcmp(contents, "zero") == 0 || strcmp(contents, "iota") == 0) {
        buffer->fill = *contents == 'i' ? FTH_FILL_IOTA : FTH_FILL_ZERO;
        return FTH_OK;
    }
    if (strcmp(contents, "random") == 0 || strncmp(contents, "random(", 7) == 0)
        return parse_random(launch, contents + 6, buffer, error);
    if (fth_scalar_parse(buffer->element, contents, &buffer->bits)) {
        buffer->fill = FTH_FILL_CONSTANT;
        return FTH_OK;
    }
    buffer->fill = FTH_FILL_EXPRESSION;
    struct fth_error why = FTH_NO_ERROR;
    if (fth_expression_create(contents, &launch->scope, &buffer->expression, &why) == FTH_OK)
        return FTH_OK;
    if (why.status == FTH_NO_MEMORY)
        return fth_error_move(error, &why);
    return fth_fail(error, FTH_INVALID, operation, text,
                    "'%s' is not zero, iota, random, random(LOW,HIGH), file:PATH, a number or an "
                    "expression of i: %s",
                    contents, why.cause);
}

/* Copies a path; a relative path in a launch file is relative to the folder of the launch file. */
static const char *resolve_path(struct fth_launch *launch, const char *path,
                                bool relative_to_launch)
{
    const char *slash = relative_to_launch && *path != '/' ? strrchr(launch->path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - launch->path) + 1 : 0;
    char *full = fth_arena_alloc(&launch->arena, folder + strlen(path) + 1);
    if (full) {
        memcpy(full, launch->path, folder);
        memcpy(full + folder, path, strlen(path) + 1);
    }
    return full;
}

const char *fth_launch_resolve_path(struct fth_launch *launch, const char *path)
{
    return resolve_path(launch, path, true);
}

/* Sets the file of a buffer. `open`: the brackets are empty, and the buffer gets as many elements
 * as the file holds. `text` is the whole argument, for messages. */
static enum fth_status use_file(struct fth_launch *launch, const char *text, const char *path,
                                bool open, struct fth_launch_buffer *buffer,
                                struct fth_error *error)
{
    const unsigned bytes = buffer->element->bytes;
    /* One byte more than the limit tells whether the file exceeds it. */
    const uint64_t max = open ? MAX_OPEN_BYTES + 1 : buffer->count * bytes;
    uint64_t holds = 0;
    buffer->fill = FTH_FILL_FILE;
    buffer->path = resolve_path(launch, path, buffer->name != NULL);
    if (!buffer->path)
        return fth_no_memory(error, operation, text);
    FTH_TRY(fth_launch_read_data(launch, buffer->path, NULL, max, &holds, error));
    if (open && holds == max)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the file is larger than 4 GiB, the limit for a buffer without a count; "
                        "give the number of elements in the brackets");
    if (open)
        buffer->count = holds / bytes;
    if (holds < bytes || holds / bytes < buffer->count)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the file holds only %llu elements of this type",
                        (unsigned long long)(holds / bytes));
    return FTH_OK;
}

/* Parses the text of a buffer: its type, count and contents. */
static enum fth_status parse_buffer(struct fth_launch *launch, const char *text,
                                    struct fth_launch_buffer *buffer, struct fth_error *error)
{
    const char *type = strncmp(text, "ptr:", 4) == 0 ? text + 4 : text;
    size_t size = strcspn(type, "[");
    buffer->element = fth_scalar_type_find(type, size);
    if (!buffer->element)
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "unknown type; expected a buffer such as f32[1024]=random (types: u8 to u64, "
            "s8 to s64, f32, f64)");
    /* Without a bracket, `at` is the end of the text, and parse_count reports the missing count. */
    const char *at = type + size + (type[size] == '[');
    const bool open = type[size] == '[' && *at == ']';
    if (!open)
        FTH_TRY(parse_count(launch, text, &at, &buffer->count, error));
    at += 1;
    if (*at && *at != '=')
        return fth_fail(error, FTH_INVALID, operation, text,
                        "unexpected '%s' after the count; the contents follow '='", at);
    const char *contents = *at == '=' ? at + 1 : "zero";
    if (strncmp(contents, "file:", 5) == 0)
        return use_file(launch, text, contents + 5, open, buffer, error);
    if (open)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the brackets may be empty only with =file:PATH; give a count");
    return parse_fill(launch, text, contents, buffer, error);
}

enum fth_status fth_launch_add_buffer(struct fth_launch *launch, const char *name, const char *text,
                                      struct fth_error *error)
{
    struct fth_launch_buffer buffer = {.name = name};
    FTH_TRY(fth_launch_grow((void **)&launch->buffers, launch->buffer_count,
                            &launch->buffer_capacity, sizeof *launch->buffers, error));
    FTH_TRY(parse_buffer(launch, text, &buffer, error));
    launch->buffers[launch->buffer_count++] = buffer;
    return FTH_OK;
}

/* ---- arguments ---- */

static enum fth_status parse_scalar(const struct fth_launch *launch, const char *text,
                                    struct fth_launch_argument *argument, struct fth_error *error)
{
    size_t size = strcspn(text, ":[");
    argument->element = fth_scalar_type_find(text, size);
    if (!argument->element)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "unknown type or buffer; expected i32:5, f32:1.5, ptr:f32[1024]=random "
                        "(command line) or the name of a buffer (launch file)");
    const char *number = text + size + 1;
    double value = 0;
    if (text[size] == ':' && fth_scalar_parse(argument->element, number, &argument->bits))
        return FTH_OK;
    struct fth_error why = FTH_NO_ERROR;
    if (text[size] == ':' && fth_launch_evaluate(launch, number, &value, &why) == FTH_OK &&
        fth_scalar_from_double(argument->element, value, &argument->bits))
        return FTH_OK;
    if (why.status == FTH_NO_MEMORY)
        return fth_error_move(error, &why);
    return fth_fail(error, FTH_INVALID, operation, text,
                    "the value is not a number of type %s or is out of range",
                    argument->element->name);
}

/* Finds the buffer whose name is the first `size` characters of `text`. */
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
    FTH_TRY(plus ? fth_launch_evaluate(launch, plus + 1, &offset, error) : FTH_OK);
    if (!(offset >= 0) || offset != floor(offset) ||
        offset > (double)launch->buffers[argument->buffer].count)
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "the offset must be an integer from 0 to the number of elements of the buffer");
    argument->offset = (uint64_t)offset;
    return FTH_OK;
}

enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    struct fth_launch_argument argument = {0};
    struct fth_launch_step *step = &launch->steps[0];
    FTH_TRY(fth_launch_grow((void **)&launch->arguments, launch->argument_count,
                            &launch->argument_capacity, sizeof *launch->arguments, error));
    step->arguments = launch->arguments; /* which may have moved */
    if (strncmp(text, "ptr:", 4) == 0 && fth_scalar_type_find(text + 4, strcspn(text + 4, "["))) {
        FTH_TRY(fth_launch_add_buffer(launch, NULL, text, error));
        argument.buffer = launch->buffer_count - 1;
        launch->buffers[argument.buffer].number = launch->argument_count + 1;
    } else {
        FTH_TRY(parse_scalar(launch, text, &argument, error));
    }
    launch->arguments[launch->argument_count++] = argument;
    step->argument_count = launch->argument_count;
    return FTH_OK;
}
