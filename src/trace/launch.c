/* A kernel of a PTX file with typed arguments, as they are given on the command line:
 *
 *   i32:4096  f32:1.5  u64:0x10          a number of that type
 *   ptr:f32[1024]                        a buffer of zeros
 *   ptr:f32[64*64]=random                numbers between 0 and 1; of integer types, any
 *   ptr:u32[256]=iota  ptr:f32[16]=1.5   0, 1, 2, …; the same number everywhere
 *   ptr:u32[]=file:data.bin              the contents of a file, as many as it holds
 */
#include "trace/trace.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *alias;
    unsigned bytes;
    bool is_signed, is_float;
} elements[] = {
    {"u8", "b8", 1, false, false},   {"s8", "i8", 1, true, false},
    {"u16", "b16", 2, false, false}, {"s16", "i16", 2, true, false},
    {"u32", "b32", 4, false, false}, {"s32", "i32", 4, true, false},
    {"u64", "b64", 8, false, false}, {"s64", "i64", 8, true, false},
    {"f32", "f32", 4, true, true},   {"f64", "f64", 8, true, true},
};

struct argument {
    size_t element; /* row of `elements` */
    bool is_buffer;
    uint64_t value; /* bits of the number, or address of the buffer */
    uint64_t count; /* of the buffer */
};

enum { MOST_ARGUMENTS = 64 };
#define MOST_ELEMENTS ((uint64_t)1 << 36)

struct fth_launch {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    const struct fth_ptx_kernel *kernel;
    struct argument arguments[MOST_ARGUMENTS];
    size_t argument_count;
    struct fth_rng rng;
};

static const char operation[] = "read argument";

enum fth_status fth_launch_create(const char *path, const char *kernel, uint64_t seed,
                                  struct fth_launch **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_launch *launch = calloc(1, sizeof *launch);
    if (!launch)
        return fth_fail(error, FTH_NO_MEMORY, "read PTX", path, "out of memory");
    fth_rng_init(&launch->rng, seed);
    enum fth_status status = fth_ptx_read_file(path, &launch->module, error);
    if (status == FTH_OK)
        status = fth_ptx_machine_create(launch->module, &launch->machine, error);
    if (status == FTH_OK) {
        const struct fth_ptx_kernel *first = fth_ptx_kernel_at(launch->module, 0);
        launch->kernel = kernel ? fth_ptx_kernel(launch->module, kernel) : first;
        if (!first)
            status = fth_fail(error, FTH_INVALID, "read PTX", path, "there is no kernel in it");
        else if (!launch->kernel || (!kernel && fth_ptx_kernel_at(launch->module, 1))) {
            char names[256] = "";
            const struct fth_ptx_kernel *each;
            for (size_t i = 0; (each = fth_ptx_kernel_at(launch->module, i)); i++) {
                size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", each->name);
            }
            status = fth_fail(error, FTH_NOT_FOUND, "find kernel", kernel ? kernel : "",
                              "the file has %s; name one of them", names);
        }
    }
    if (status != FTH_OK) {
        fth_launch_destroy(launch);
        return status;
    }
    *out = launch;
    return FTH_OK;
}

void fth_launch_destroy(struct fth_launch *launch)
{
    if (!launch)
        return;
    fth_ptx_machine_destroy(launch->machine);
    fth_ptx_destroy(launch->module);
    free(launch);
}

/* ---- numbers ---- */

static uint64_t float_to_bits(double value, unsigned bytes)
{
    float single = (float)value;
    uint32_t word;
    uint64_t bits;
    memcpy(&word, &single, sizeof word);
    memcpy(&bits, &value, sizeof bits);
    return bytes == 4 ? word : bits;
}

/* A whole text as a number of the type; false where it is none or does not fit. */
static bool parse_number(const char *text, size_t element, uint64_t *bits)
{
    char *end;
    errno = 0;
    if (elements[element].is_float) {
        double value = strtod(text, &end);
        *bits = float_to_bits(value, elements[element].bytes);
        return end != text && *end == '\0';
    }
    bool negative = *text == '-';
    if (!isdigit((unsigned char)text[negative]))
        return false;
    uint64_t magnitude = strtoull(text + negative, &end, 0);
    if (*end || errno)
        return false;
    uint64_t most = UINT64_MAX >> (64 - 8 * elements[element].bytes);
    bool fits =
        negative ? elements[element].is_signed && magnitude <= most / 2 + 1 : magnitude <= most;
    *bits = (negative ? -magnitude : magnitude) & most;
    return fits;
}

/* "1024" or "64*64". */
static bool parse_count(const char **text, uint64_t *count)
{
    *count = 1;
    do {
        char *end;
        if (!isdigit((unsigned char)**text))
            return false;
        errno = 0;
        uint64_t factor = strtoull(*text, &end, 0);
        if (errno || factor == 0 || *count > MOST_ELEMENTS / factor)
            return false;
        *count *= factor;
        *text = end;
    } while (**text == '*' && (*text)++);
    return true;
}

/* ---- buffers ---- */

static void fill(struct fth_launch *launch, const struct argument *argument, uint8_t *host,
                 const char *how, uint64_t same)
{
    unsigned bytes = elements[argument->element].bytes;
    bool is_float = elements[argument->element].is_float;
    for (uint64_t i = 0; i < argument->count; i++) {
        uint64_t bits = same;
        if (strcmp(how, "random") == 0)
            bits = is_float ? float_to_bits(fth_rng_unit(&launch->rng), bytes)
                            : fth_rng_next(&launch->rng);
        else if (strcmp(how, "iota") == 0)
            bits = is_float ? float_to_bits((double)i, bytes) : i;
        memcpy(host + i * bytes, &bits, bytes);
    }
}

/* "ptr:" is behind us: TYPE[COUNT]=HOW. */
static enum fth_status add_buffer(struct fth_launch *launch, const char *text, const char *rest,
                                  struct argument *argument, struct fth_error *error)
{
    unsigned bytes = elements[argument->element].bytes;
    const char *at = rest;
    bool open = strncmp(at, "[]", 2) == 0;
    if (*at++ != '[' || (!open && (!parse_count(&at, &argument->count) || *at != ']')))
        return fth_fail(error, FTH_INVALID, operation, text,
                        "a count in brackets expected, such as [1024] or [64*64]");
    at += 1;
    const char *how = *at == '=' ? at + 1 : "zero";
    if (*at && *at != '=')
        return fth_fail(error, FTH_INVALID, operation, text, "'%s' behind the count", at);
    struct fth_buffer content = {0};
    enum fth_status status = FTH_OK;
    uint64_t same = 0;
    if (strncmp(how, "file:", 5) == 0) {
        status = fth_file_read(how + 5, (size_t)1 << 36, &content, error);
        if (status == FTH_OK && open)
            argument->count = content.size / bytes;
        if (status == FTH_OK && (argument->count == 0 || content.size < argument->count * bytes))
            status = fth_fail(error, FTH_INVALID, operation, text,
                              "the file holds %zu bytes, which is too few", content.size);
    } else if (open) {
        status =
            fth_fail(error, FTH_INVALID, operation, text, "only a file can say how many there are");
    } else if (strcmp(how, "zero") != 0 && strcmp(how, "random") != 0 && strcmp(how, "iota") != 0 &&
               !parse_number(how, argument->element, &same)) {
        status = fth_fail(error, FTH_INVALID, operation, text,
                          "'%s' is none of zero, random, iota, file:PATH, or a number", how);
    }
    if (status == FTH_OK)
        status = fth_ptx_alloc(launch->machine, argument->count * bytes, &argument->value, error);
    if (status == FTH_OK) {
        uint8_t *host = fth_ptx_host(launch->machine, argument->value, argument->count * bytes);
        if (content.data)
            memcpy(host, content.data, argument->count * bytes);
        else if (strcmp(how, "zero") != 0)
            fill(launch, argument, host, how, same);
    }
    fth_buffer_fini(&content);
    return status;
}

enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    const char *type = text;
    struct argument argument = {.is_buffer = strncmp(text, "ptr:", 4) == 0};
    if (argument.is_buffer)
        type += 4;
    size_t size = strcspn(type, ":["), element = 0;
    while (element < FTH_COUNT(elements) && (strlen(elements[element].name) != size ||
                                             (strncmp(elements[element].name, type, size) != 0 &&
                                              strncmp(elements[element].alias, type, size) != 0)))
        element++;
    if (element == FTH_COUNT(elements))
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "begins with no type; i32:5, f32:1.5 and ptr:f32[1024]=random are arguments");
    if (launch->argument_count == MOST_ARGUMENTS)
        return fth_fail(error, FTH_INVALID, operation, text, "too many arguments");
    argument.element = element;
    enum fth_status status = FTH_OK;
    if (argument.is_buffer)
        status = add_buffer(launch, text, type + size, &argument, error);
    else if (type[size] != ':' || !parse_number(type + size + 1, element, &argument.value))
        status = fth_fail(error, FTH_INVALID, operation, text, "not a number of type %s",
                          elements[element].name);
    if (status == FTH_OK)
        launch->arguments[launch->argument_count++] = argument;
    return status;
}

/* ---- running ---- */

/* What the kernel takes, for a message: "(u64 a, u64 b, u32 n)". */
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

static enum fth_status pack(const struct fth_launch *launch, uint8_t *packed,
                            struct fth_error *error)
{
    const struct fth_ptx_kernel *kernel = launch->kernel;
    char wanted[256];
    describe_parameters(kernel, wanted, sizeof wanted);
    if (launch->argument_count != kernel->parameter_count)
        return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                        "it takes %zu arguments (%s), and %zu were given", kernel->parameter_count,
                        wanted, launch->argument_count);
    for (size_t i = 0; i < launch->argument_count; i++) {
        const struct argument *argument = &launch->arguments[i];
        const struct fth_ptx_parameter *parameter = &kernel->parameters[i];
        unsigned bytes = argument->is_buffer ? 8 : elements[argument->element].bytes;
        if (parameter->bytes != bytes)
            return fth_fail(error, FTH_INVALID, "launch kernel", kernel->name,
                            "argument %zu has %u bytes, and the kernel takes %s", i + 1, bytes,
                            wanted);
        memcpy(packed + parameter->offset, &argument->value, bytes);
    }
    return FTH_OK;
}

enum fth_status fth_launch_run(struct fth_launch *launch, const struct fth_launch_shape *shape,
                               struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_ptx_totals counted = {0, 0};
    uint8_t *packed = calloc(1, launch->kernel->parameter_bytes + 8);
    if (!packed)
        return fth_fail(error, FTH_NO_MEMORY, "launch kernel", launch->kernel->name,
                        "out of memory");
    enum fth_status status = pack(launch, packed, error);
    if (status == FTH_OK) {
        const struct fth_ptx_launch run = {
            .kernel = launch->kernel->name,
            .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
            .block = {shape->block[0], shape->block[1], shape->block[2]},
            .dynamic_shared_bytes = shape->shared_bytes,
            .arguments = packed,
            .argument_bytes = launch->kernel->parameter_bytes,
            .threads = shape->threads,
            .log = shape->log};
        status = fth_ptx_run(launch->machine, &run, &counted, error);
    }
    free(packed);
    if (totals)
        *totals =
            (struct fth_launch_totals){counted.warp_instructions, counted.thread_instructions};
    return status;
}

/* ---- looking ---- */

size_t fth_launch_argument_count(const struct fth_launch *launch)
{
    return launch->argument_count;
}

const char *fth_launch_kernel(const struct fth_launch *launch)
{
    return launch->kernel->name;
}

static void show_element(struct fth_buffer *out, size_t element, const uint8_t *host)
{
    uint64_t bits = 0;
    unsigned bytes = elements[element].bytes;
    memcpy(&bits, host, bytes);
    char text[40];
    if (elements[element].is_float) {
        double value;
        float single;
        uint32_t word = (uint32_t)bits;
        memcpy(&single, &word, sizeof single);
        memcpy(&value, &bits, sizeof value);
        if (bytes == 4)
            snprintf(text, sizeof text, "%.9g", (double)single);
        else
            fth_number_format(value, text, sizeof text);
    } else if (elements[element].is_signed) {
        unsigned shift = 64 - 8 * bytes;
        snprintf(text, sizeof text, "%lld", (long long)((int64_t)(bits << shift) >> shift));
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    }
    fth_buffer_text(out, text);
}

enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index, uint64_t most,
                                struct fth_launch_view *view, char **values,
                                struct fth_error *error)
{
    const struct argument *argument = &launch->arguments[index];
    unsigned bytes = elements[argument->element].bytes;
    uint64_t count = argument->is_buffer ? argument->count : 1;
    const uint8_t *host = argument->is_buffer
                              ? fth_ptx_host(launch->machine, argument->value, count * bytes)
                              : (const uint8_t *)&argument->value;
    *view = (struct fth_launch_view){elements[argument->element].name, argument->is_buffer, count};
    struct fth_buffer out = {0};
    uint64_t shown = most && most < count ? most : count;
    for (uint64_t i = 0; i < shown; i++) {
        fth_buffer_text(&out, i ? " " : "");
        show_element(&out, argument->element, host + i * bytes);
    }
    size_t size;
    enum fth_status status = fth_buffer_take(&out, values, &size, error);
    fth_buffer_fini(&out);
    return status;
}
