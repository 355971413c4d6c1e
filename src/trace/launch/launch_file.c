/* Reads launch files (docs/launch-files.md): JSON documents with sizes, buffers, launches and the
 * expected contents of buffers. struct fth_launch holds the contents of a whole file; each of its
 * steps is one launch of a kernel. Loops over launches are unrolled while they are read, so that
 * the result is a plain list of steps. */
#include "trace/launch/launch_reader.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_STEPS is the maximum number of launches in a file. MAX_ITERATIONS is the maximum number of
 * loop iterations, summed over all loops of the file. MAX_LOOP_DEPTH is the maximum nesting of
 * loops. Chosen, not derived: they limit the memory and time that a small file with large loops can
 * cost. */
enum { MAX_STEPS = 1 << 16, MAX_ITERATIONS = 1 << 16, MAX_LOOP_DEPTH = 8 };
/* Maximum of "shared", in bytes: far above the shared memory of any GPU, so that the conversion to
 * an integer cannot overflow. */
enum { MAX_SHARED_BYTES = 1 << 30 };
/* Maximum number of blocks of a cluster along one dimension; fth_step_check checks their
 * product. */
enum { MAX_CLUSTER = 16 };
_Static_assert(MAX_ITERATIONS == 65536 && MAX_LOOP_DEPTH == 8,
               "messages of read_loop state these limits");

/* ---- sizes ---- */

/* `settings` are the "NAME=VALUE" texts of the command line. Returns the VALUE of the last one
 * whose NAME is `name`, or NULL if there is none. */
static const char *find_setting(const char *const *settings, size_t count, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = count; i-- > 0;)
        if (strncmp(settings[i], name, length) == 0 && settings[i][length] == '=')
            return settings[i] + length + 1;
    return NULL;
}

static enum fth_status add_variable(struct fth_launch_reader *reader, const char *name,
                                    double value)
{
    struct fth_scope *scope = &reader->launch->scope;
    if (scope->count == FTH_MAX_VARIABLES)
        return fth_reader_refuse(reader, "too many sizes and loop variables");
    char *copy = fth_arena_text(&reader->launch->arena, name);
    if (!copy)
        return fth_reader_no_memory(reader);
    scope->variables[scope->count++] = (struct fth_variable){copy, value};
    return FTH_OK;
}

static bool is_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

/* Reads the sizes. A size may depend on those before it. `settings` are the "NAME=VALUE" texts of
 * the command line; "--set N=64" also changes the sizes that depend on N. */
static enum fth_status read_sizes(struct fth_launch_reader *reader, const char *const *settings,
                                  size_t count)
{
    const struct fth_json *object = fth_json_get(reader->root, "sizes");
    size_t back = fth_json_path_key(&reader->path, "sizes");
    if (object && !fth_json_is(object, FTH_JSON_OBJECT))
        return fth_reader_refuse(reader, "expected an object");
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key, *given = find_setting(settings, count, key);
        double number = 0;
        /* fth_scope_find returns FTH_MAX_VARIABLES for a name that is not used yet. */
        if (!is_name(key) ||
            fth_scope_find(&reader->launch->scope, key, strlen(key)) != FTH_MAX_VARIABLES)
            return fth_reader_refuse(
                reader, "'%s' cannot be the name of a size; use an identifier that is not in use",
                key);
        size_t inner = fth_json_path_key(&reader->path, key);
        FTH_TRY(given ? fth_reader_context(reader, fth_launch_evaluate(reader->launch, given,
                                                                       &number, reader->error))
                      : fth_reader_number(reader, value, &number));
        fth_json_path_back(&reader->path, inner);
        FTH_TRY(add_variable(reader, key, number));
    }
    fth_json_path_back(&reader->path, back);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(settings[i], "=");
        size_t found = fth_scope_find(&reader->launch->scope, settings[i], length);
        /* Variable 0 is `i`, the index of an element in a buffer. It is not a size. */
        if (settings[i][length] != '=' || found == 0 || found == FTH_MAX_VARIABLES)
            return fth_fail(reader->error, FTH_INVALID, "set size", settings[i],
                            "expected NAME=VALUE with the name of a size in '%s'",
                            reader->launch->path);
    }
    return FTH_OK;
}

/* ---- buffers ---- */

static enum fth_status read_buffers(struct fth_launch_reader *reader)
{
    const struct fth_json *object = fth_json_get(reader->root, "buffers");
    size_t back = fth_json_path_key(&reader->path, "buffers");
    if (object && !fth_json_is(object, FTH_JSON_OBJECT))
        return fth_reader_refuse(reader, "expected an object");
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key;
        size_t inner = fth_json_path_key(&reader->path, key);
        if (!is_name(key) || fth_scalar_type_find(key, strlen(key)) || strcmp(key, "null") == 0 ||
            strcmp(key, "bytes") == 0)
            return fth_reader_refuse(reader,
                                     "'%s' cannot be the name of a buffer; use an identifier that "
                                     "is not a type, null or bytes",
                                     key);
        if (!fth_json_is(value, FTH_JSON_TEXT))
            return fth_reader_refuse(reader, "expected a string such as \"f32[N*N]=random\"");
        char *name = fth_arena_text(&reader->launch->arena, key);
        if (!name)
            return fth_reader_no_memory(reader);
        FTH_TRY(fth_reader_context(
            reader,
            fth_launch_add_buffer(reader->launch, name, fth_json_string(value), reader->error)));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* Reads the contents of variables: a text, a number, or null for those that the module states. */
static enum fth_status read_variables(struct fth_launch_reader *reader)
{
    const struct fth_json *object = fth_json_get(reader->root, "variables");
    size_t back = fth_json_path_key(&reader->path, "variables");
    if (object && !fth_json_is(object, FTH_JSON_OBJECT))
        return fth_reader_refuse(reader, "expected an object");
    FTH_JSON_EACH_MEMBER (value, object) {
        size_t inner = fth_json_path_key(&reader->path, value->key);
        char number[40];
        const char *text = fth_json_string(value);
        if (fth_json_is_number(value)) {
            fth_number_format(fth_json_double(value), number, sizeof number);
            text = number;
        }
        if (!text && !fth_json_is(value, FTH_JSON_NULL))
            return fth_reader_refuse(
                reader, "expected a string such as \"f32[64]=random\", a number or null");
        FTH_TRY(fth_reader_context(
            reader, fth_launch_add_variable(reader->launch, value->key, text, reader->error)));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* ---- launches ---- */

/* Reads a grid, a block or a cluster: one number, or an array of one to three numbers. */
static enum fth_status read_shape(struct fth_launch_reader *reader, const struct fth_json *object,
                                  const char *key, double max, uint32_t shape[3])
{
    const struct fth_json *value = fth_json_get(object, key);
    size_t back = fth_json_path_key(&reader->path, key), count = 1;
    if (fth_json_is(value, FTH_JSON_LIST))
        count = fth_json_count(value);
    if (!value || count < 1 || count > 3)
        return fth_reader_refuse(reader, "expected one to three numbers");
    for (size_t i = 0; i < 3; i++) {
        double number = 1;
        if (i < count)
            FTH_TRY(fth_reader_integer(
                reader, fth_json_is(value, FTH_JSON_LIST) ? fth_json_item(value, i) : value, 1, max,
                &number));
        shape[i] = (uint32_t)number;
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* The arguments that are read: those of a kernel, or the members of a struct. */
struct argument_list {
    const struct fth_ptx_kernel *kernel; /* NULL: of a struct */
    unsigned depth;                      /* number of structs around them */
};

static enum fth_status read_argument_list(struct fth_launch_reader *reader,
                                          const struct fth_json *list,
                                          const struct argument_list *place,
                                          const struct fth_launch_argument **out, size_t *count);

/* Reads an argument that is a text or a number. */
static enum fth_status read_value(struct fth_launch_reader *reader, const struct fth_json *value,
                                  const struct fth_ptx_kernel *kernel, size_t index,
                                  struct fth_launch_argument *argument)
{
    char number[40];
    const char *text = fth_json_string(value);
    if (fth_json_is_number(value)) {
        fth_number_format(fth_json_double(value), number, sizeof number);
        text = number;
    }
    if (!text)
        return fth_reader_refuse(reader,
                                 "expected a number, a string (a buffer, or a number such as "
                                 "\"i32:N\"), an object (a tensor map, a texture or a surface) or "
                                 "an array (a struct)");
    return fth_reader_context(reader, fth_launch_parse_argument(reader->launch, kernel, index, text,
                                                                argument, reader->error));
}

/* Reads a text, a number, an object (a tensor map, a texture or a surface) or a list (a struct). */
static enum fth_status read_argument(struct fth_launch_reader *reader, const struct fth_json *value,
                                     const struct argument_list *place, size_t index,
                                     struct fth_launch_argument *argument)
{
    if (fth_json_get(value, "texture") || fth_json_get(value, "surface"))
        return fth_reader_texture(reader, value, argument);
    if (fth_json_is(value, FTH_JSON_OBJECT))
        return fth_reader_tensor_map(reader, value, argument);
    if (!fth_json_is(value, FTH_JSON_LIST))
        return read_value(reader, value, place->kernel, index, argument);
    if (place->depth == FTH_MAX_STRUCT_DEPTH)
        return fth_reader_refuse(reader, "structs can be nested %d deep", FTH_MAX_STRUCT_DEPTH);
    *argument = (struct fth_launch_argument){.kind = FTH_ARGUMENT_STRUCT};
    return read_argument_list(reader, value, &(struct argument_list){.depth = place->depth + 1},
                              &argument->members, &argument->count);
}

static enum fth_status read_argument_list(struct fth_launch_reader *reader,
                                          const struct fth_json *list,
                                          const struct argument_list *place,
                                          const struct fth_launch_argument **out, size_t *count)
{
    *count = fth_json_count(list);
    struct fth_launch_argument *arguments =
        fth_arena_array(&reader->launch->arena, *count ? *count : 1, sizeof *arguments);
    if (!arguments)
        return fth_reader_no_memory(reader);
    size_t i = 0;
    FTH_JSON_EACH_ITEM (value, list) {
        size_t inner = fth_json_path_index(&reader->path, i);
        FTH_TRY(read_argument(reader, value, place, i, &arguments[i]));
        i++;
        fth_json_path_back(&reader->path, inner);
    }
    *out = arguments;
    return FTH_OK;
}

static enum fth_status read_arguments(struct fth_launch_reader *reader,
                                      const struct fth_json *object, struct fth_launch_step *step)
{
    const struct fth_json *list = fth_json_get(object, "args");
    size_t back = fth_json_path_key(&reader->path, "args");
    if (list && !fth_json_is(list, FTH_JSON_LIST))
        return fth_reader_refuse(reader, "expected an array");
    FTH_TRY(read_argument_list(reader, list, &(struct argument_list){.kernel = step->kernel},
                               &step->arguments, &step->argument_count));
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* Reads one launch, {"kernel": …, "grid": …, …}, and appends it to the steps. */
static enum fth_status read_step(struct fth_launch_reader *reader, const struct fth_json *object)
{
    static const char *const keys[] = {"kernel", "grid", "block", "cluster", "shared", "args"};
    struct fth_launch *launch = reader->launch;
    struct fth_launch_step step = {0};
    double shared = 0;
    FTH_TRY(fth_reader_keys(reader, object, keys, FTH_COUNT(keys)));
    const struct fth_json *kernel = fth_json_get(object, "kernel");
    if (kernel && !fth_json_is(kernel, FTH_JSON_TEXT))
        return fth_reader_refuse(reader, "\"kernel\" must be a string");
    FTH_TRY(fth_reader_context(
        reader, fth_launch_find_kernel(launch, kernel ? fth_json_string(kernel) : NULL,
                                       &step.kernel, reader->error)));
    /* Each dimension of the grid and of the block is checked here against the maximum of CUDA along
     * x. The maxima of the grid along y and z, which are smaller, and the maximum number of threads
     * per block are checked when the step runs. */
    FTH_TRY(read_shape(reader, object, "grid", 0x7fffffff, step.grid));
    FTH_TRY(read_shape(reader, object, "block", 1024, step.block));
    if (fth_json_get(object, "cluster"))
        FTH_TRY(read_shape(reader, object, "cluster", MAX_CLUSTER, step.cluster));
    FTH_TRY(fth_reader_member(reader, object, "shared", 0, &shared));
    if (!(shared >= 0) || shared > MAX_SHARED_BYTES || shared != floor(shared))
        return fth_reader_refuse(
            reader, "\"shared\" is %.9g; expected a whole number of bytes from 0 to 2^30", shared);
    step.shared_bytes = (size_t)shared;
    FTH_TRY(read_arguments(reader, object, &step));
    FTH_TRY(fth_reader_context(reader, fth_step_check(&step, reader->error)));
    if (launch->step_count == MAX_STEPS)
        return fth_reader_refuse(reader, "the file has more than %d launches", MAX_STEPS);
    FTH_TRY(fth_launch_grow((void **)&launch->steps, launch->step_count, &launch->step_capacity,
                            sizeof step, reader->error));
    launch->steps[launch->step_count++] = step;
    return FTH_OK;
}

static enum fth_status read_steps(struct fth_launch_reader *reader, const struct fth_json *object);

/* Reads {"for": "t", "from": 0, "to": "T", "launches": […]} once for each value of the variable
 * from `from` to `to`, excluding `to`. */
static enum fth_status read_loop(struct fth_launch_reader *reader, const struct fth_json *object)
{
    static const char *const keys[] = {"for", "from", "to", "launches"};
    const struct fth_json *name = fth_json_get(object, "for");
    double from, to;
    FTH_TRY(fth_reader_keys(reader, object, keys, FTH_COUNT(keys)));
    if (!fth_json_is(name, FTH_JSON_TEXT) || !is_name(fth_json_string(name)) ||
        fth_scope_find(&reader->launch->scope, fth_json_string(name), name->size) !=
            FTH_MAX_VARIABLES)
        return fth_reader_refuse(
            reader,
            "\"for\" must be the name of the loop variable, an identifier that is not in use");
    if (reader->loop_depth == MAX_LOOP_DEPTH)
        return fth_reader_refuse(reader, "more than 8 nested loops");
    FTH_TRY(fth_reader_member(reader, object, "from", 0, &from));
    FTH_TRY(fth_reader_member(reader, object, "to", NAN, &to));
    if (isnan(to) || !(to - from <= MAX_ITERATIONS))
        return fth_reader_refuse(reader,
                                 "\"to\" is missing, or the loop has more than 65536 iterations");
    FTH_TRY(add_variable(reader, fth_json_string(name), from));
    struct fth_scope *scope = &reader->launch->scope;
    size_t variable = scope->count - 1;
    enum fth_status status = FTH_OK;
    reader->loop_depth++;
    for (double t = from; t < to && status == FTH_OK; t++) {
        scope->variables[variable].value = t;
        status =
            ++reader->iterations > MAX_ITERATIONS
                ? fth_reader_refuse(reader, "the loops of the file have more than %d iterations",
                                    MAX_ITERATIONS)
                : read_steps(reader, object);
    }
    reader->loop_depth--;
    if (status == FTH_OK)
        scope->count = variable;
    return status;
}

/* Reads the array object["launches"], which consists of launches and loops. */
static enum fth_status read_steps(struct fth_launch_reader *reader, const struct fth_json *object)
{
    const struct fth_json *list = fth_json_get(object, "launches");
    size_t back = fth_json_path_key(&reader->path, "launches");
    if (!fth_json_is(list, FTH_JSON_LIST) || fth_json_count(list) == 0)
        return fth_reader_refuse(reader, "expected a non-empty array of launches");
    size_t i = 0;
    FTH_JSON_EACH_ITEM (each, list) {
        size_t inner = fth_json_path_index(&reader->path, i++);
        FTH_TRY(fth_json_get(each, "for") ? read_loop(reader, each) : read_step(reader, each));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* ---- expected results ---- */

/* Sets *matches to whether the sizes of the file have the values that the "sizes" of an expectation
 * state. */
static enum fth_status matches_sizes(struct fth_launch_reader *reader,
                                     const struct fth_json *object, bool *matches)
{
    const struct fth_json *sizes = fth_json_get(object, "sizes");
    *matches = true;
    FTH_JSON_EACH_MEMBER (value, sizes) {
        const struct fth_scope *scope = &reader->launch->scope;
        size_t variable = fth_scope_find(scope, value->key, strlen(value->key));
        double number = 0;
        if (variable == FTH_MAX_VARIABLES)
            return fth_reader_refuse(reader, "unknown size '%s'", value->key);
        FTH_TRY(fth_reader_number(reader, value, &number));
        *matches = *matches && scope->variables[variable].value == number;
    }
    return FTH_OK;
}

/* Adds the expectation, unless it is meant for other values of the sizes. If the buffer has
 * n elements v[0] to v[n - 1], "sum" is Σ v[i] and "moment" is Σ v[i] (i + 1) / n. "relative"
 * and "absolute" are tolerances; see verify.c. */
static enum fth_status read_expectation(struct fth_launch_reader *reader,
                                        const struct fth_json *object)
{
    static const char *const keys[] = {"buffer",   "file",     "sum",  "moment",
                                       "relative", "absolute", "sizes"};
    struct fth_launch *launch = reader->launch;
    struct fth_expectation expected = {0};
    bool matches = false;
    FTH_TRY(fth_reader_keys(reader, object, keys, FTH_COUNT(keys)));
    const char *name = fth_json_string(fth_json_get(object, "buffer"));
    for (expected.buffer = 0; expected.buffer < launch->buffer_count; expected.buffer++)
        if (name && strcmp(launch->buffers[expected.buffer].name, name) == 0)
            break;
    if (expected.buffer == launch->buffer_count)
        return fth_reader_refuse(reader, "\"buffer\" must name one of the buffers");
    FTH_TRY(matches_sizes(reader, object, &matches));
    if (!matches)
        return FTH_OK;
    const char *file = fth_json_string(fth_json_get(object, "file"));
    expected.path = file ? fth_launch_resolve_path(launch, file) : NULL;
    if (file && !expected.path)
        return fth_reader_no_memory(reader);
    if (!file && (!fth_json_get(object, "sum") || !fth_json_get(object, "moment")))
        return fth_reader_refuse(reader, "expected \"file\", or both \"sum\" and \"moment\"");
    FTH_TRY(fth_reader_member(reader, object, "sum", 0, &expected.sum));
    FTH_TRY(fth_reader_member(reader, object, "moment", 0, &expected.moment));
    FTH_TRY(fth_reader_member(reader, object, "relative", 0, &expected.relative));
    FTH_TRY(fth_reader_member(reader, object, "absolute", 0, &expected.absolute));
    FTH_TRY(fth_launch_grow((void **)&launch->expectations, launch->expectation_count,
                            &launch->expectation_capacity, sizeof expected, reader->error));
    launch->expectations[launch->expectation_count++] = expected;
    return FTH_OK;
}

static enum fth_status read_expectations(struct fth_launch_reader *reader)
{
    const struct fth_json *list = fth_json_get(reader->root, "expect");
    size_t back = fth_json_path_key(&reader->path, "expect");
    if (list && !fth_json_is(list, FTH_JSON_LIST))
        return fth_reader_refuse(reader, "expected an array");
    size_t i = 0;
    FTH_JSON_EACH_ITEM (each, list) {
        size_t inner = fth_json_path_index(&reader->path, i++);
        FTH_TRY(read_expectation(reader, each));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* ---- the document ---- */

/* The names of kernels that the launches of a file state. */
struct kernel_names {
    const char **names;
    size_t count, capacity;
};

/* Appends the names of the kernels of object["launches"]. Whatever is not a launch, and launches
 * beyond the maximum, are ignored; read_steps reports them. */
static enum fth_status collect_kernels(const struct fth_json *object, unsigned depth,
                                       struct kernel_names *kernels, struct fth_error *error)
{
    FTH_JSON_EACH_ITEM (each, fth_json_get(object, "launches")) {
        const char *name = fth_json_string(fth_json_get(each, "kernel"));
        if (name && kernels->count < MAX_STEPS) {
            FTH_TRY(fth_launch_grow((void **)&kernels->names, kernels->count, &kernels->capacity,
                                    sizeof name, error));
            kernels->names[kernels->count++] = name;
        }
        if (depth < MAX_LOOP_DEPTH)
            FTH_TRY(collect_kernels(each, depth + 1, kernels, error));
    }
    return FTH_OK;
}

static enum fth_status read_module(struct fth_launch_reader *reader)
{
    struct kernel_names kernels = {0};
    const struct fth_json *ptx = fth_json_get(reader->root, "ptx");
    if (!fth_json_is(ptx, FTH_JSON_TEXT))
        return fth_reader_refuse(reader, "\"ptx\" must be the path of a file with PTX");
    const char *path = fth_launch_resolve_path(reader->launch, fth_json_string(ptx));
    if (!path)
        return fth_reader_no_memory(reader);
    reader->launch->ptx_path = path;
    FTH_TRY(fth_launch_read_file(reader->launch, path, FTH_PTX_LIMIT, &reader->launch->ptx,
                                 reader->error));
    enum fth_status status = collect_kernels(reader->root, 0, &kernels, reader->error);
    if (status == FTH_OK)
        status = fth_launch_parse_ptx(reader->launch, kernels.names, kernels.count, reader->error);
    free(kernels.names);
    return status;
}

static enum fth_status read_document(struct fth_launch_reader *reader, const char *const *settings,
                                     size_t count)
{
    static const char *const keys[] = {"schema",  "about",     "ptx",      "seed",  "sizes",
                                       "buffers", "variables", "launches", "expect"};
    static const char schema[] = "fathom-launch/1";
    FTH_TRY(fth_reader_keys(reader, reader->root, keys, FTH_COUNT(keys)));
    const char *stated = fth_json_string(fth_json_get(reader->root, "schema"));
    if (!stated || strcmp(stated, schema) != 0)
        return fth_reader_refuse(reader, "\"schema\" must be \"%s\"", schema);
    double seed = 1;
    FTH_TRY(fth_reader_member(reader, reader->root, "seed", 1, &seed));
    if (!(seed >= 0) || seed > FTH_JSON_MAX_NUMBER || seed != floor(seed))
        return fth_reader_refuse(reader, "\"seed\" must be an integer from 0 to 2^53");
    reader->launch->seed = (uint64_t)seed;
    FTH_TRY(read_module(reader));
    FTH_TRY(read_sizes(reader, settings, count));
    FTH_TRY(read_buffers(reader));
    FTH_TRY(read_variables(reader));
    FTH_TRY(read_steps(reader, reader->root));
    return read_expectations(reader);
}

enum fth_status fth_launch_read_text(const char *path, const char *text, size_t size,
                                     const struct fth_launch_options *options,
                                     struct fth_launch **out, struct fth_error *error)
{
    struct fth_json_document document = {0};
    struct fth_launch *launch = NULL;
    *out = NULL;
    /* The seed, here 1, is replaced by read_document. */
    enum fth_status status = fth_launch_new(path, 1, &launch, error);
    if (!launch)
        return status;
    launch->allow_files = options->allow_files;
    status = fth_json_parse(path, text, size, &document, error);
    if (status == FTH_OK) {
        struct fth_launch_reader reader = {.launch = launch, .root = document.root, .error = error};
        /* `sizes` are the "NAME=VALUE" texts, which the functions above call `settings`. */
        status = read_document(&reader, options->sizes, options->size_count);
    }
    if (status == FTH_OK)
        *out = launch;
    else
        fth_launch_destroy(launch);
    fth_json_fini(&document);
    return status;
}

enum fth_status fth_launch_read(const char *path, const char *const *sizes, size_t size_count,
                                struct fth_launch **out, struct fth_error *error)
{
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.sizes = sizes, .size_count = size_count);
    struct fth_buffer content = {0};
    *out = NULL;
    enum fth_status status = fth_file_read(path, FTH_LAUNCH_FILE_LIMIT, &content, error);
    if (status == FTH_OK)
        status = fth_launch_read_text(path, content.data, content.size, &options, out, error);
    fth_buffer_fini(&content);
    return status;
}
