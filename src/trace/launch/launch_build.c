/* Launches and their buffers, as given on the command line:
 *
 *   ptr:f32[1024]                        a buffer of zeros
 *   ptr:f32[64][64]                      the same with 64*64 elements, row by row
 *   ptr:f32[64*64]=random                random: floats from 0 to 1, integers from the full range
 *   ptr:f32[64]=random(-1,1)             random between two limits; integers include both limits
 *   ptr:u32[256]=iota                    0, 1, 2, …
 *   ptr:f32[16]=1.5                      the same number in every element
 *   ptr:f32[64]=(i % 8) / 8              an expression of the index i
 *   ptr:u32[]=file:data.bin              the contents of a file, as many elements as it holds
 *
 * Launch files describe buffers in the same way, without "ptr:".
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

/* Adds a step with the default shape. */
static enum fth_status add_step(struct fth_launch *launch, const struct fth_ptx_kernel *kernel,
                                struct fth_error *error)
{
    FTH_TRY(fth_launch_grow((void **)&launch->steps, launch->step_count, &launch->step_capacity,
                            sizeof *launch->steps, error));
    launch->steps[launch->step_count++] =
        (struct fth_launch_step){.kernel = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    return FTH_OK;
}

/* Parses the text of a launch and adds a step for `kernel`, or for every kernel. */
static enum fth_status add_steps(struct fth_launch *launch, const char *kernel, bool all_kernels,
                                 struct fth_error *error)
{
    const struct fth_ptx_kernel *found;
    FTH_TRY(fth_launch_parse_ptx(launch, &kernel, kernel ? 1 : 0, error));
    if (kernel || !all_kernels || !fth_ptx_kernel_at(launch->module, 1)) {
        FTH_TRY(fth_launch_find_kernel(launch, kernel, &found, error));
        return add_step(launch, found, error);
    }
    for (size_t i = 0; (found = fth_ptx_kernel_at(launch->module, i)); i++)
        FTH_TRY(add_step(launch, found, error));
    return FTH_OK;
}

enum fth_status fth_launch_create_text(const char *path, struct fth_buffer *text,
                                       const char *kernel, bool all_kernels, uint64_t seed,
                                       struct fth_launch **out, struct fth_error *error)
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
    status = add_steps(launch, kernel, all_kernels, error);
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
        return fth_launch_create_text(path, &text, kernel, false, seed, out, error);
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
    free(launch->counters);
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
    const bool has_cluster = known.cluster[0] || known.cluster[1] || known.cluster[2];
    for (int i = 0; i < 3; i++)
        step->cluster[i] = has_cluster && !known.cluster[i] ? 1 : known.cluster[i];
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
    buffer->whole_range = !fth_scalar_is_float(buffer->element);
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
    if (!fth_scalar_is_float(buffer->element) &&
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
    buffer->path = resolve_path(launch, path, launch->ptx_path != launch->path);
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

/* Parses the dimensions in brackets, such as "64]" or "64][N]", and moves *at behind them. The
 * count is their product. `text` is the whole argument, for messages. */
static enum fth_status parse_dimensions(const struct fth_launch *launch, const char *text,
                                        const char **at, uint64_t *count, struct fth_error *error)
{
    *count = 1;
    for (;;) {
        uint64_t size = 0;
        FTH_TRY(parse_count(launch, text, at, &size, error));
        if (*count && size > MAX_ELEMENTS / *count)
            return fth_fail(error, FTH_INVALID, operation, text,
                            "the product of the dimensions exceeds 2^36 elements");
        *count *= size;
        if (*++*at != '[')
            return FTH_OK;
        ++*at;
    }
}

enum fth_status fth_launch_parse_buffer(struct fth_launch *launch, const char *text,
                                        struct fth_launch_buffer *buffer, struct fth_error *error)
{
    const char *type = strncmp(text, "ptr:", 4) == 0 ? text + 4 : text;
    size_t size = strcspn(type, "[");
    buffer->element = fth_scalar_type_find(type, size);
    if (!buffer->element)
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "unknown type; expected a buffer such as f32[1024]=random (types: u8 to u64, "
            "s8 to s64, f16, bf16, f32, f64, e4m3, e5m2)");
    /* Without a bracket, `at` is the end of the text, and parse_count reports the missing count. */
    const char *at = type + size + (type[size] == '[');
    bool open = type[size] == '[' && *at == ']';
    if (!open)
        FTH_TRY(parse_dimensions(launch, text, &at, &buffer->count, error));
    else
        at += 1;
    if (open && buffer->symbol) {
        buffer->count = buffer->symbol_bytes / buffer->element->bytes;
        open = false;
    }
    if (*at && *at != '=')
        return fth_fail(error, FTH_INVALID, operation, text,
                        "unexpected '%s' after the count; the contents follow '='", at);
    const char *contents = *at == '=' ? at + 1 : "zero";
    buffer->fill = FTH_FILL_MODULE;
    if (buffer->symbol && *at != '=')
        return FTH_OK;
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
    FTH_TRY(fth_launch_parse_buffer(launch, text, &buffer, error));
    launch->buffers[launch->buffer_count++] = buffer;
    return FTH_OK;
}
