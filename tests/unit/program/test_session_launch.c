/* Tests sessions (program/): which launches are traced, what a launch passes to the PTX engine,
 * modules, and the estimate of times. */
#include "check.h"
#include "program/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* A kernel that does nothing: one instruction per warp. */
#define EMPTY(NAME) ".visible .entry " NAME "(.param .u64 p) { ret; }\n"
/* A thread stores what it knows of the launch, 32 bytes per thread of the grid: the extent of the
 * grid and of the block, the cluster, the dynamic shared memory, and the SM. */
#define SHAPE                                                                                      \
    ".visible .entry shape(.param .u64 to) { .reg .b32 %r<12>; .reg .b64 %w<2>; .reg .pred %p;\n"  \
    "ld.param.u64 %w0, [to]; mov.u32 %r0, %nctaid.x; mov.u32 %r1, %nctaid.y;\n"                    \
    "mov.u32 %r2, %nctaid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %ntid.z;\n"  \
    "mov.u32 %r6, %cluster_nctaid.x; mov.u32 %r7, %dynamic_smem_size; mov.u32 %r8, %smid;\n"       \
    "mov.u32 %r9, %ctaid.x; mov.u32 %r10, %cluster_nctaid.y; setp.ne.u32 %p, %r9, 3;\n"            \
    "@%p ret; st.global.v4.u32 [%w0], {%r0, %r1, %r2, %r3};\n"                                     \
    "st.global.v4.u32 [%w0+16], {%r4, %r5, %r6, %r7};\n"                                           \
    "st.global.v2.u32 [%w0+32], {%r8, %r10}; ret; }\n"
#define LOOP                                                                                       \
    ".visible .entry loop(.param .u64 p) { .reg .b32 %r; .reg .pred %p; mov.u32 %r, 0;\n"          \
    "again: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 1000; @%p bra again; ret; }\n"
#define PRINT                                                                                      \
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"                       \
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"                                          \
    ".visible .entry print(.param .u64 p) { .reg .b64 %w; .param .b64 x; .param .b64 y;\n"         \
    ".param .b32 i; mov.u64 %w, text; cvta.global.u64 %w, %w; st.param.b64 [x], %w;\n"             \
    "mov.u64 %w, 0; st.param.b64 [y], %w; call (i), vprintf, (x, y); ret; }\n"
/* Reads shared memory while a copy to it may be in flight. */
#define RACE                                                                                       \
    ".visible .entry race(.param .u64 from) { .shared .align 16 .b8 s[16]; .reg .b64 %w;\n"        \
    ".reg .b32 %r<2>; ld.param.u64 %w, [from]; mov.u32 %r0, s;\n"                                  \
    "cp.async.ca.shared.global [%r0], [%w], 16; cp.async.wait_all;\n"                              \
    "cp.async.ca.shared.global [%r0], [%w], 16; ld.shared.u32 %r1, [%r0];\n"                       \
    "st.global.u32 [%w], %r1; ret; }\n"

/* ---- sessions ---- */

static const char gpu_text[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"sms\": 5, \"clock_mhz\": 1000},"
    " \"elements\": {\"memory\": {\"size_bytes\": 1000000, \"peak_bytes_per_s\": 2e9}}}";

static struct fth_gpu *read_gpu(const char *text)
{
    struct fth_error error = NO_ERROR;
    struct fth_gpu *gpu = NULL;
    if (fth_gpu_read_text("gpu", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    return gpu;
}

static struct fth_session *open_session(const struct fth_session_options *options)
{
    struct fth_session *session;
    struct fth_error error = NO_ERROR;
    if (fth_session_create(options, &session, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return session;
}

static struct fth_session_module *load(struct fth_session *session, const char *text)
{
    struct fth_session_module *module;
    struct fth_error error = NO_ERROR;
    if (fth_session_load(session, "test", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return module;
}

static enum fth_status run(struct fth_session *session, struct fth_session_module *module,
                           const char *kernel, uint64_t argument, struct fth_error *error)
{
    enum fth_ptx_fault fault;
    return fth_session_run(
        session,
        &(struct fth_session_launch){.module = module,
                                     .kernel = fth_session_kernel(module, kernel),
                                     .grid = {1, 1, 1},
                                     .block = {1, 1, 1},
                                     .arguments = &argument},
        &fault, error);
}

/* ---- traces ---- */

/* The launches are the kernels a, b, f(int), a, b, f(int), in this order. */
static const struct {
    const char *expression;
    uint64_t first, end;
    const char *traced; /* a letter per launch in the trace; 'f' is f(int) */
} selections[] = {
    {NULL, 0, 0, "abfabf"},   {NULL, 1, 0, "bfabf"}, {NULL, 5, 0, "f"},     {NULL, 6, 0, ""},
    {NULL, 0, 1, "a"},        {NULL, 0, 5, "abfab"}, {NULL, 2, 4, "fa"},    {NULL, 3, 3, ""},
    {NULL, 0, 100, "abfabf"}, {"a", 0, 0, "aa"},     {"a|b", 0, 0, "abab"}, {"^_Z1fi$", 0, 0, "ff"},
    {"^f$", 0, 0, "ff"},      {"(a|f)", 1, 4, "fa"}, {"c", 0, 0, ""},       {"^.$", 0, 0, "abfabf"},
    {"[ab]", 4, 5, "b"},      {"Z", 0, 0, "ff"},
};

static int open_file(void)
{
    char path[] = "/tmp/fathom-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    return file;
}

/* Runs the six launches with a selection, and returns their trace. */
static struct fth_trace *trace_selected(const struct fth_gpu *gpu, size_t row, int file)
{
    static const char *const kernels[] = {"a", "b", "_Z1fi"};
    struct fth_trace_writer *writer;
    struct fth_trace *trace;
    assert_int_equal(fth_trace_writer_attach(file, "trace", &writer, NULL), FTH_OK);
    struct fth_session *session =
        open_session(&(struct fth_session_options){.gpu = gpu,
                                                   .trace = writer,
                                                   .traced_kernels = selections[row].expression,
                                                   .traced_first = selections[row].first,
                                                   .traced_end = selections[row].end});
    struct fth_session_module *module = load(session, HEAD EMPTY("a") EMPTY("b") EMPTY("_Z1fi"));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(run(session, module, kernels[i % 3], 0, NULL), FTH_OK);
    fth_session_destroy(session);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_attach(file, "trace", &trace, NULL), FTH_OK);
    return trace;
}

static void launches_to_trace_are_selected(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    for (size_t row = 0; row < FTH_COUNT(selections); row++) {
        const int file = open_file();
        struct fth_trace *trace = trace_selected(gpu, row, file);
        char traced[8] = "";
        for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
            const char *kernel = fth_trace_launch_at(trace, i)->kernel;
            traced[i] = strcmp(kernel, "_Z1fi") == 0 ? 'f' : kernel[0];
        }
        assert_string_equal(traced, selections[row].traced);
        fth_trace_close(trace);
        close(file);
    }
    fth_gpu_destroy(gpu);
}

static void an_expression_must_be_valid(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_session *session;
    struct fth_error error = NO_ERROR;
    const struct fth_session_options options = {.gpu = gpu, .traced_kernels = "a("};
    assert_int_equal(fth_session_create(&options, &session, &error), FTH_INVALID);
    assert_null(session);
    assert_string_equal(error.operation, "select kernels");
    assert_string_equal(error.argument, "a(");
    assert_contains(error.cause, "this is not a regular expression: ");
    assert_true(strlen(error.cause) > strlen("this is not a regular expression: "));
    fth_gpu_destroy(gpu);
}

/* The trace has the shape of the launch, and the shared memory: 16 bytes of the kernel and those of
 * the launch. */
static void a_trace_has_the_facts_of_the_launch(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_trace_writer *writer;
    struct fth_trace *trace;
    enum fth_ptx_fault fault;
    uint64_t address;
    const int file = open_file();
    assert_int_equal(fth_trace_writer_attach(file, "trace", &writer, NULL), FTH_OK);
    struct fth_session *session =
        open_session(&(struct fth_session_options){.gpu = gpu, .trace = writer});
    struct fth_session_module *module = load(session, HEAD RACE);
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_DEVICE, 16, &address, NULL), FTH_OK);
    const struct fth_session_launch launch = {.module = module,
                                              .kernel = fth_session_kernel(module, "race"),
                                              .grid = {2, 3, 4},
                                              .block = {5, 1, 2},
                                              .shared_bytes = 1000,
                                              .arguments = &address};
    assert_int_equal(fth_session_run(session, &launch, &fault, NULL), FTH_OK);
    fth_session_destroy(session);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_attach(file, "trace", &trace, NULL), FTH_OK);
    const struct fth_trace_launch *found = fth_trace_launch_at(trace, 0);
    assert_memory_equal(found->grid, launch.grid, sizeof launch.grid);
    assert_memory_equal(found->block, launch.block, sizeof launch.block);
    assert_int_equal(found->shared_bytes, 1016);
    assert_int_equal(found->longest, 3); /* two copies and a store */
    assert_int_equal(found->accesses, 24 * 3);
    assert_int_equal(found->shared, 24 * 3); /* two copies and a load */
    fth_trace_close(trace);
    close(file);
    fth_gpu_destroy(gpu);
}

/* A traced launch that fails reports what the kernel did. */
static void a_traced_launch_can_fail(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_trace_writer *writer;
    struct fth_error error = NO_ERROR;
    const int file = open_file();
    assert_int_equal(fth_trace_writer_attach(file, "trace", &writer, NULL), FTH_OK);
    struct fth_session *session =
        open_session(&(struct fth_session_options){.gpu = gpu, .trace = writer});
    struct fth_session_module *module = load(session, HEAD RACE);
    assert_int_equal(run(session, module, "race", 64, &error), FTH_INVALID);
    assert_contains(error.cause, "outside the global memory");
    fth_session_destroy(session);
    fth_trace_writer_abort(writer);
    close(file);
    fth_gpu_destroy(gpu);
}

/* ---- launches ---- */

static void kernels_see_the_shape_of_the_launch(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    enum fth_ptx_fault fault;
    uint64_t address;
    struct fth_session *session = open_session(&(struct fth_session_options){.gpu = gpu});
    struct fth_session_module *module = load(session, HEAD SHAPE);
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_DEVICE, 40, &address, NULL), FTH_OK);
    const uint32_t *seen = fth_session_host(session, address, 40);
    struct fth_session_launch launch = {.module = module,
                                        .kernel = fth_session_kernel(module, "shape"),
                                        .grid = {4, 2, 1},
                                        .block = {3, 5, 7},
                                        .cluster = {2, 2, 1},
                                        .shared_bytes = 48,
                                        .arguments = &address};
    assert_int_equal(fth_session_run(session, &launch, &fault, NULL), FTH_OK);
    static const uint32_t clustered[] = {4, 2, 1, 3, 5, 7, 2, 48};
    assert_memory_equal(seen, clustered, sizeof clustered);
    assert_int_equal(seen[9], 2);
    /* Block 3 of 4, and then of 4 * 1 * 2 blocks: the last one to store is number 7, on SM 2. */
    launch = (struct fth_session_launch){.module = module,
                                         .kernel = launch.kernel,
                                         .grid = {4, 1, 1},
                                         .block = {6, 1, 1},
                                         .arguments = &address};
    assert_int_equal(fth_session_run(session, &launch, &fault, NULL), FTH_OK);
    static const uint32_t plain[] = {4, 1, 1, 6, 1, 1, 1, 0, 3, 1};
    assert_memory_equal(seen, plain, sizeof plain);
    launch.grid[2] = 2;
    launch.cooperative = true; /* the blocks run one after the other */
    assert_int_equal(fth_session_run(session, &launch, &fault, NULL), FTH_OK);
    assert_int_equal(seen[2], 2);
    assert_int_equal(seen[8], 7 % 5);
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

static void collect(void *user, const char *text, size_t size)
{
    fth_buffer_append(user, text, size);
}

static void count_warning(void *user, enum fth_level level, const char *text)
{
    (void)text;
    *(int *)user += level == FTH_LOG_WARNING;
}

static void options_reach_the_kernels(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_buffer output = {0};
    struct fth_error error = NO_ERROR;
    uint64_t address;
    int warnings = 0;
    const struct fth_log log = {.message = count_warning, .user = &warnings};
    for (int checked = 0; checked < 2; checked++) {
        struct fth_session *session =
            open_session(&(struct fth_session_options){.gpu = gpu,
                                                       .max_instructions = checked ? 3000 : 3002,
                                                       .check_races = checked,
                                                       .log = &log,
                                                       .print = collect,
                                                       .print_user = &output});
        struct fth_session_module *module = load(session, HEAD PRINT RACE LOOP);
        assert_int_equal(fth_session_alloc(session, FTH_MEMORY_DEVICE, 16, &address, NULL), FTH_OK);
        assert_int_equal(run(session, module, "print", 0, NULL), FTH_OK);
        assert_int_equal(run(session, module, "race", address, NULL), FTH_OK);
        /* The load and the store can both race with the second copy. */
        assert_int_equal(warnings, 2 * checked);
        /* The loop has 3 * 1000 instructions, and the kernel 2 others. */
        assert_int_equal(run(session, module, "loop", 0, &error), checked ? FTH_INVALID : FTH_OK);
        fth_session_destroy(session);
    }
    assert_contains(error.cause, "3000 instructions");
    assert_int_equal(output.size, 6);
    assert_memory_equal(output.data, "hi\nhi\n", 6);
    fth_buffer_fini(&output);
    fth_gpu_destroy(gpu);
}

/* ---- modules ---- */

static void modules_have_kernels_and_variables(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_error error = NO_ERROR;
    struct fth_session *session = open_session(&(struct fth_session_options){.gpu = gpu});
    struct fth_session_module *modules[3], *none;
    uint64_t addresses[3], bytes;
    for (size_t i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD ".global .u32 v[%zu] = {%zu};\n" EMPTY("a") EMPTY("b"),
                 i + 1, i + 7);
        modules[i] = load(session, text);
        assert_true(fth_session_variable(modules[i], "v", &addresses[i], &bytes));
        assert_int_equal(bytes, 4 * (i + 1));
        const uint32_t *value = fth_session_host(session, addresses[i], bytes);
        assert_int_equal(*value, i + 7);
        assert_false(fth_session_variable(modules[i], "w", &addresses[i], &bytes));
    }
    assert_string_equal(fth_session_kernel(modules[0], "b")->name, "b");
    assert_null(fth_session_kernel(modules[0], "c"));
    assert_string_equal(fth_session_kernel_at(modules[1], 0)->name, "a");
    assert_string_equal(fth_session_kernel_at(modules[1], 1)->name, "b");
    assert_null(fth_session_kernel_at(modules[1], 2));
    /* The memory of a module ends with it; a module is unloaded only once. */
    fth_session_unload(session, modules[1]);
    assert_null(fth_session_host(session, addresses[1], 4));
    assert_non_null(fth_session_host(session, addresses[0], 4));
    assert_non_null(fth_session_host(session, addresses[2], 4));
    fth_session_unload(session, modules[1]);
    fth_session_unload(session, modules[2]);
    assert_null(fth_session_host(session, addresses[2], 4));
    assert_int_equal(run(session, modules[0], "a", 0, NULL), FTH_OK);
    assert_int_equal(fth_session_load(session, "wrong", "x", 1, &none, &error), FTH_INVALID);
    assert_null(none);
    assert_string_equal(error.argument, "wrong");
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

static void load_file(const char *name, struct fth_buffer *content)
{
    char path[512];
    snprintf(path, sizeof path, FTH_SOURCE_ROOT "/tests/fatbin/%s", name);
    assert_int_equal(fth_file_read(path, FTH_FILE_LIMIT("a test file", 65536), content, NULL),
                     FTH_OK);
}

/* The PTX for the GPU's architecture is loaded, or else that for the lowest one. The file has
 * entries for compute_75 to compute_120a; only their targets differ. */
static void images_are_loaded(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint32_t architecture;
        enum fth_status status;
        const char *kernel, *cause;
    } rows[] = {
        {"zstd.fatbin", 90, FTH_OK, "scale", NULL},
        {"shift.fatbin", 90, FTH_OK, "shift", NULL},
        {"plain.fatbin", 70, FTH_OK, "scale", NULL},
        {"architectures.fatbin", 90, FTH_OK, "scale", NULL},
        {"architectures.fatbin", 60, FTH_OK, "scale", NULL},
        {"machine-zstd.fatbin", 80, FTH_UNSUPPORTED, NULL,
         "the code of kernel 'scale' has no PTX; compile it with 'nvcc -gencode "
         "arch=compute_80,code=compute_80'"},
        {"scale.cu", 90, FTH_INVALID, NULL, "offset 0: expected a container"},
    };
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_session *session = open_session(&(struct fth_session_options){.gpu = gpu});
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer image = {0};
        struct fth_error error = NO_ERROR;
        struct fth_session_module *module;
        load_file(rows[i].file, &image);
        assert_int_equal(fth_session_load_image(session, "image", image.data, rows[i].architecture,
                                                &module, &error),
                         rows[i].status);
        fth_buffer_fini(&image);
        assert_int_equal(module != NULL, rows[i].status == FTH_OK);
        if (module) {
            assert_non_null(fth_session_kernel(module, rows[i].kernel));
        } else {
            assert_string_equal(error.argument, "image");
            assert_contains(error.cause, rows[i].cause);
        }
    }
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

/* The error for an image without PTX names a kernel, if there is one that can be read. */
static void images_without_ptx_are_refused(void **state)
{
    (void)state;
    /* A container with one entry that is neither PTX nor machine code. */
    static const unsigned char other[16 + 64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 64, 0, 0,
                                                 0,    0,    0,    0,    0, 0, 0,  0, 0,  64};
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_session *session = open_session(&(struct fth_session_options){.gpu = gpu});
    struct fth_error error = NO_ERROR;
    struct fth_session_module *module;
    struct fth_buffer image = {0};
    assert_int_equal(fth_session_load_image(session, "image", other, 90, &module, &error),
                     FTH_UNSUPPORTED);
    assert_contains(error.cause, "the code of kernel '?' has no PTX");
    /* The same machine code twice; then damaged once, then twice. */
    load_file("machine-zstd.fatbin", &image);
    const size_t bytes = image.size - 16;
    char *entry = malloc(bytes);
    memcpy(entry, image.data + 16, bytes);
    fth_buffer_append(&image, entry, bytes);
    const uint64_t size = 2 * bytes;
    memcpy(image.data + 8, &size, sizeof size);
    for (size_t damaged = 0; damaged <= 2; damaged++) {
        error = NO_ERROR;
        if (damaged)
            image.data[16 + (damaged - 1) * bytes + 100] ^= 1;
        assert_int_equal(fth_session_load_image(session, "image", image.data, 90, &module, &error),
                         FTH_UNSUPPORTED);
        assert_contains(error.cause, damaged < 2 ? "kernel 'scale' has" : "kernel '?' has");
    }
    free(entry);
    fth_buffer_fini(&image);
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

/* ---- times ---- */

static void check_time(const struct fth_session *session, double expected)
{
    if (!(fabs(fth_session_time_ns(session) - expected) < 1e-6))
        fail_msg("%.9f ns instead of %.9f", fth_session_time_ns(session), expected);
}

/* A launch takes 2,500 ns, and 5 SMs at 1 GHz issue 20 instructions per nanosecond. A copy takes
 * 5,000 ns, and 18 ns per 1000 bytes (55 GB/s) of the link, or 1 ns per byte of a memory that reads
 * and writes 2 GB/s. */
static void times_are_estimated(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_gpu(gpu_text);
    struct fth_session *session = open_session(&(struct fth_session_options){.gpu = gpu});
    struct fth_session_module *module = load(session, HEAD LOOP);
    double expected = 0;
    check_time(session, expected);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(session, module, "loop", 0, NULL), FTH_OK);
        check_time(session, expected += 2500 + 3002 / 20.0);
    }
    fth_session_add_copy_time(session, 110, false);
    check_time(session, expected += 5000 + 2);
    fth_session_add_copy_time(session, 110, true);
    check_time(session, expected += 5000 + 110);
    assert_int_equal(fth_session_free_bytes(session), 1000000);
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
    /* A description without these figures: 132 SMs at 1,980 MHz, and 4.8 TB/s. */
    gpu =
        read_gpu("{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {}}");
    session = open_session(&(struct fth_session_options){.gpu = gpu});
    module = load(session, HEAD LOOP);
    assert_int_equal(run(session, module, "loop", 0, NULL), FTH_OK);
    expected = 2500 + 3002 / (4 * 132 * 1.98);
    check_time(session, expected);
    fth_session_add_copy_time(session, 2400, true);
    check_time(session, expected + 5000 + 1);
    assert_int_equal(fth_session_free_bytes(session), 141000000000);
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launches_to_trace_are_selected),
                                       cmocka_unit_test(an_expression_must_be_valid),
                                       cmocka_unit_test(a_trace_has_the_facts_of_the_launch),
                                       cmocka_unit_test(a_traced_launch_can_fail),
                                       cmocka_unit_test(kernels_see_the_shape_of_the_launch),
                                       cmocka_unit_test(options_reach_the_kernels),
                                       cmocka_unit_test(modules_have_kernels_and_variables),
                                       cmocka_unit_test(images_are_loaded),
                                       cmocka_unit_test(images_without_ptx_are_refused),
                                       cmocka_unit_test(times_are_estimated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
