/* Tests that the PTX engine fails with FTH_NO_MEMORY whichever allocation fails, and that it frees
 * what it has allocated until then (tests/leaks checks that). */
#include "base/base.h"
#include "check.h"
#include "failing.h"
#include "ptx/execute/warp.h"
#include "ptx/ptx.h"

#include <pthread.h>
#include <stdio.h>

/* Fails the test unless the status is that of a lack of memory. The error must have no excerpt: no
 * line of the text is to blame. */
static void check_failure(enum fth_status status, const struct fth_error *error, size_t number)
{
    if (status != FTH_NO_MEMORY || error->status != FTH_NO_MEMORY || error->excerpt[0] ||
        !error->operation[0])
        fail_msg("allocation %zu: status %d, error %d: %s\n%s", number, status, error->status,
                 error->cause, error->excerpt);
}

/* Parses the text again and again. Each time, one allocation fails: the first one, then the second
 * one, and so on, until the text is parsed. Returns the number of allocations. */
static size_t parse_without_memory(const char *text, size_t size)
{
    for (size_t number = 1;; number++) {
        struct fth_ptx_module *module = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        enum fth_status status = fth_ptx_read_text("test.ptx", text, size, &module, &error);
        bool succeeded = !has_failed();
        fail_from(0, false);
        if (succeeded) {
            assert_int_equal(status, FTH_OK);
            fth_ptx_destroy(module);
            return number - 1;
        }
        check_failure(status, &error, number);
        assert_null(module);
    }
}

/* A kernel that calls a function, with everything that the parser allocates memory for: variables
 * with and without initial values, parameters, scopes, labels, a branch table, a prototype, special
 * registers, and immediates. */
static const char program[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .align 4 .u32 table[3] = {7, 8, 9};\n.const .f32 half = 0.5;\n"
    ".shared .align 8 .b8 common[24];\n"
    ".func (.param .b32 r) twice(.param .b32 a, .reg .b32 b)\n"
    "{ .reg .b32 %x; .local .b32 kept; ld.param.b32 %x, [a]; st.local.b32 [kept], %x;\n"
    "  add.u32 %x, %x, b; st.param.b32 [r], %x; ret; }\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n"
    "{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .b32 own;\n"
    "  .loc 1 3 2\n  .loc 2 5 1, function_name $L__s0, inlined_at 1 3 2\n"
    "  .loc 2 5 1 // helper.h:5:1 @[ other.cu:3:2 ]\n"
    "  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; @%p1 bra small;\n"
    "  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n"
    "    call (r), twice, (a, %ntid.x); ld.param.b32 %r2, [r]; }\n"
    "  and.b32 %r3, %r1, 1; targets: .branchtargets small, large; brx.idx %r3, targets;\n"
    "large: st.global.u32 [%rd1], %r2; st.shared.u32 [own], %r2;\n"
    "small: ret; }\n"
    ".file 1 \"kernel.cu\"\n.file 2 \"helper.h\"\n"
    ".section .debug_str\n{\n$L__s0:\n.b8 104,0\n}\n";

static void parsing_needs_every_allocation(void **state)
{
    (void)state;
    assert_true(parse_without_memory(program, strlen(program)) > 10);
    static const char *const files[] = {
        "atomics/scoped", "floats/spmv",         "flow/calls",      "flow/debug",
        "flow/indirect",  "flow/switch_ops",     "programs/sha256", "spaces/constants",
        "spaces/texture", "spaces/struct_param", "warps/clusters",
    };
    for (size_t i = 0; i < FTH_COUNT(files); i++) {
        char path[512];
        snprintf(path, sizeof path, FTH_SOURCE_ROOT "/tests/kernels/%s.ptx", files[i]);
        struct fth_buffer text = {0};
        assert_int_equal(
            fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 24), &text, NULL),
            FTH_OK);
        parse_without_memory(text.data, text.size);
        fth_buffer_fini(&text);
    }
}

/* An error in the text is reported in any case, if need be without the excerpt. */
static void errors_are_reported_without_memory(void **state)
{
    (void)state;
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n  .frob;\n";
    unsigned invalid = 0;
    bool failed = true;
    for (size_t number = 1; failed; number++) {
        struct fth_ptx_module *module = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status =
            fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error);
        failed = has_failed();
        fail_from(0, false);
        assert_null(module);
        if (status == FTH_NO_MEMORY && failed)
            continue;
        assert_int_equal(status, FTH_INVALID);
        assert_contains(error.cause, "line 4: expected a module directive");
        if (error.excerpt[0] || !failed)
            assert_string_equal(error.excerpt, "  .frob;\n  ^");
        invalid++;
    }
    assert_true(invalid > 1);
}

/* A kernel with copies and a product in flight that it does not wait for. */
static const char hazards[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 "
    "n)\n"
    "{ .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .shared .align 128 .b8 s[8192];\n"
    "  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 4;\n"
    "  cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group;\n"
    "  ld.shared.u32 %r2, [%r1]; st.shared.u32 [%r1], %r2;\n"
    "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd2, %rd2, 1, 1, 1, "
    "0, 0;\n"
    "  add.f32 %f0, %f0, %f0; ret; }\n";

/* Loads the module, allocates a buffer and runs the kernel. */
static enum fth_status run_program(const struct fth_ptx_module *module, struct fth_error *error)
{
    struct fth_ptx_machine *machine = NULL;
    struct {
        uint64_t p;
        uint32_t n;
    } arguments = {0, 0};
    enum fth_status status = fth_ptx_machine_create(module, &machine, error);
    if (status == FTH_OK)
        status = fth_ptx_alloc(machine, 4, &arguments.p, error);
    struct fth_ptx_launch launch = {.kernel = "k",
                                    .grid = {2, 1, 1},
                                    .block = {64, 1, 1},
                                    .cluster = {2, 1, 1},
                                    .arguments = &arguments,
                                    .argument_bytes = 12,
                                    .threads = 1,
                                    .check_async = true};
    if (status == FTH_OK)
        status = fth_ptx_run(machine, &launch, NULL, error);
    fth_ptx_machine_destroy(machine);
    return status;
}

/* Runs a program, whose status is `expected` once no allocation fails. */
static void run_without_memory(const char *text, enum fth_status expected)
{
    struct fth_ptx_module *module = NULL;
    assert_int_equal(fth_ptx_read_text("test.ptx", text, strlen(text), &module, NULL), FTH_OK);
    size_t number = 1;
    for (bool succeeded = false; !succeeded; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        enum fth_status status = run_program(module, &error);
        succeeded = !has_failed();
        fail_from(0, false);
        if (succeeded)
            assert_int_equal(status, expected);
        else
            check_failure(status, &error, number);
    }
    assert_true(number > 10);
    fth_ptx_destroy(module);
}

static void running_needs_every_allocation(void **state)
{
    (void)state;
    run_without_memory(program, FTH_OK);
    run_without_memory(hazards, FTH_INVALID);
}

/* A lack of memory does not hide what the kernel did before. */
static void the_first_failure_is_kept(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        struct fth_error error = NO_ERROR;
        const struct fth_ptx_function kernel = {.kernel = {.display_name = "k"}};
        struct fth_ptx_run run = {.kernel = &kernel,
                                  .lock = &lock,
                                  .error = &error,
                                  .status = failed ? FTH_INVALID : FTH_OK};
        fth_ptx_run_no_memory(&run);
        assert_int_equal(run.status, failed ? FTH_INVALID : FTH_NO_MEMORY);
        assert_int_equal(error.status, failed ? FTH_OK : FTH_NO_MEMORY);
        assert_string_equal(error.argument, failed ? "" : "k");
        assert_true(run.stop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_needs_every_allocation),
        cmocka_unit_test(errors_are_reported_without_memory),
        cmocka_unit_test(running_needs_every_allocation),
        cmocka_unit_test(the_first_failure_is_kept),
    };
    return cmocka_run_group_tests_name("ptx_memory", tests, NULL, NULL);
}
