/* Helper functions for the tests of kernels: arguments, launches, random input, comparisons. */
#include "kernel_helpers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Limit per launch: far more instructions than any kernel here executes, so a kernel that reaches
 * it hangs. */
#define MAX_INSTRUCTIONS 20000000

/* ---- kernels ---- */

static void require_ok(enum fth_status status, const struct fth_error *error)
{
    char text[1024];
    if (status != FTH_OK)
        fail_msg("%s", fth_error_text(error, text, sizeof text));
}

int kernel_setup(void **state)
{
    struct kernel *k = calloc(1, sizeof *k);
    if (!k)
        return -1;
    fth_rng_init(&k->rng, 1);
    *state = k;
    return 0;
}

int kernel_teardown(void **state)
{
    struct kernel *k = *state;
    fth_ptx_machine_destroy(k->machine);
    fth_ptx_destroy(k->module);
    fth_arena_fini(&k->arena);
    free(k);
    return 0;
}

void load_kernel(struct kernel *k, const char *file, const char *name)
{
    struct fth_error error = NO_ERROR;
    char path[1024];
    /* A test may load several kernels one after the other. */
    fth_ptx_machine_destroy(k->machine);
    fth_ptx_destroy(k->module);
    k->machine = NULL;
    k->module = NULL;
    k->argument_count = 0;
    snprintf(path, sizeof path, "%s/tests/kernels/%s.ptx", FTH_SOURCE_ROOT, file);
    struct fth_buffer text = {0};
    require_ok(fth_file_read(path, FTH_PTX_LIMIT, &text, &error), &error);
    require_ok(fth_ptx_read_text(path, text.data, text.size, &k->module, &error), &error);
    fth_buffer_fini(&text);
    require_ok(fth_ptx_machine_create(k->module, &k->machine, &error), &error);
    k->info = fth_ptx_kernel(k->module, name);
    if (!k->info) {
        fail_msg("%s.ptx has no kernel %s", file, name);
        return; /* for static analysers that do not know that fail_msg does not return */
    }
    assert_true(k->info->parameter_bytes <= sizeof k->arguments);
}

void add_argument(struct kernel *k, const void *value, size_t bytes)
{
    if (k->argument_count >= k->info->parameter_count)
        fail_msg("%s has only %zu parameters", k->info->name, k->info->parameter_count);
    const struct fth_ptx_parameter *parameter = &k->info->parameters[k->argument_count++];
    if (parameter->bytes != bytes)
        fail_msg("%s: %s has %zu bytes, not %zu", k->info->name, parameter->name, parameter->bytes,
                 bytes);
    assert_true(parameter->offset + bytes <= k->info->parameter_bytes);
    memcpy(k->arguments + parameter->offset, value, bytes);
}

void *alloc_buffer(struct kernel *k, size_t bytes, uint64_t *address)
{
    struct fth_error error = NO_ERROR;
    require_ok(fth_ptx_alloc(k->machine, bytes, address, &error), &error);
    void *host = fth_ptx_host(k->machine, *address, bytes);
    assert_non_null(host);
    return host;
}

void *add_buffer(struct kernel *k, size_t bytes)
{
    uint64_t address = 0;
    void *host = alloc_buffer(k, bytes, &address);
    add_argument(k, &address, sizeof address);
    return host;
}

void *module_variable(struct kernel *k, const char *name, size_t bytes)
{
    uint64_t address = 0, size = 0;
    if (!fth_ptx_symbol(k->machine, name, &address, &size))
        fail_msg("the module has no variable %s", name);
    assert_int_equal(size, bytes);
    void *host = fth_ptx_host(k->machine, address, bytes);
    assert_non_null(host);
    return host;
}

void launch_3d(struct kernel *k, const uint32_t grid[3], const uint32_t block[3], size_t shared)
{
    struct fth_error error = NO_ERROR;
    struct fth_ptx_launch launch = {.kernel = k->info->name,
                                    .dynamic_shared_bytes = shared,
                                    .arguments = k->arguments,
                                    .argument_bytes = k->info->parameter_bytes,
                                    .sms = 3,
                                    .check_races = true, /* they lack no barriers and no waits */
                                    .max_instructions = MAX_INSTRUCTIONS};
    assert_int_equal(k->argument_count, k->info->parameter_count);
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    struct fth_ptx_totals totals = {.fault = FTH_FAULT_NONE};
    check_slice(k, &launch);
    require_ok(fth_ptx_run(k->machine, &launch, &totals, &error), &error);
    assert_true(totals.warp_instructions > 0);
    assert_true(totals.thread_instructions >= totals.warp_instructions);
}

void launch(struct kernel *k, uint32_t grid, uint32_t block)
{
    launch_3d(k, (uint32_t[3]){grid, 1, 1}, (uint32_t[3]){block, 1, 1}, 0);
}

/* ---- host memory and input ---- */

void *alloc_host(struct kernel *k, size_t bytes)
{
    void *memory = fth_arena_alloc(&k->arena, bytes);
    assert_non_null(memory);
    return memory;
}

void *copy_to_host(struct kernel *k, const void *from, size_t bytes)
{
    return memcpy(alloc_host(k, bytes), from, bytes);
}

void fill_bytes(struct kernel *k, void *to, size_t bytes)
{
    unsigned char *byte = to;
    for (size_t i = 0; i < bytes; i++)
        byte[i] = (unsigned char)(fth_rng_next(&k->rng) >> 56);
}

void fill_s32(struct kernel *k, int32_t *to, size_t count, int32_t low, int32_t high)
{
    uint64_t span = (uint64_t)((int64_t)high - low) + 1;
    for (size_t i = 0; i < count; i++)
        to[i] = (int32_t)(low + (int64_t)fth_rng_below(&k->rng, span));
}

void fill_f64(struct kernel *k, double *to, size_t count, double low, double high)
{
    for (size_t i = 0; i < count; i++)
        to[i] = low + (high - low) * fth_rng_unit(&k->rng);
}

void fill_f32(struct kernel *k, float *to, size_t count, float low, float high)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(low + ((double)high - low) * fth_rng_unit(&k->rng));
}

/* ---- comparisons ---- */

static uint64_t integer_at(const void *array, size_t index, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)array + index * size;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (size) {
    case 1: return memcpy(&u8, bytes, size), u8;
    case 2: return memcpy(&u16, bytes, size), u16;
    case 4: return memcpy(&u32, bytes, size), u32;
    default: return memcpy(&u64, bytes, size), u64;
    }
}

void check_integers(const char *what, const void *got, const void *want, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t g = integer_at(got, i, size), w = integer_at(want, i, size);
        if (g != w)
            fail_msg("%s[%zu]: got %" PRIu64 " (0x%" PRIx64 "), expected %" PRIu64 " (0x%" PRIx64
                     ")",
                     what, i, g, g, w, w);
    }
}

/* Maps floats to integers: the order is kept, and adjacent floats become adjacent integers. */
static int64_t f32_order(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? -(int64_t)(bits & 0x7fffffff) : (int64_t)bits;
}

static int64_t f64_order(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? -(int64_t)(bits & INT64_MAX) : (int64_t)bits;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

void check_f32(const char *what, const float *got, const float *want, size_t count, uint32_t ulps)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i]) && isnan(want[i]))
            continue;
        uint64_t ulps_apart = distance(f32_order(got[i]), f32_order(want[i]));
        /* If no error is allowed, the sign of a zero must be equal, too. */
        if (isnan(got[i]) || isnan(want[i]) || ulps_apart > ulps ||
            (ulps == 0 && !signbit(got[i]) != !signbit(want[i])))
            fail_msg("%s[%zu]: got %.9g (%a), expected %.9g (%a) within %" PRIu32 " ulp", what, i,
                     (double)got[i], (double)got[i], (double)want[i], (double)want[i], ulps);
    }
}

void check_f64(const char *what, const double *got, const double *want, size_t count, uint64_t ulps)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i]) && isnan(want[i]))
            continue;
        uint64_t ulps_apart = distance(f64_order(got[i]), f64_order(want[i]));
        if (isnan(got[i]) || isnan(want[i]) || ulps_apart > ulps ||
            (ulps == 0 && !signbit(got[i]) != !signbit(want[i])))
            fail_msg("%s[%zu]: got %.17g (%a), expected %.17g (%a) within %" PRIu64 " ulp", what, i,
                     got[i], got[i], want[i], want[i], ulps);
    }
}

void check_near(const char *what, size_t index, double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("%s[%zu]: got %.9g, expected %.9g within %.3g", what, index, got, want, bound);
}
