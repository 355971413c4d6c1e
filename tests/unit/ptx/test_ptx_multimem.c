/* Tests multimem in the PTX engine: loads, stores and reductions of a multicast object of one
 * device, which is plain memory. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>

/* A kernel with the address of 64 bytes that it changes in %rd0, and that of 64 bytes of operands
 * and results in %rd1. */
#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 a, .param .u64 b) {\n"                                          \
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"                                        \
    "ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];\n"

enum { WORDS = 16 };

/* Runs `body` on two buffers and compares both with what is expected: `before` and `operands` are
 * their first words before, `after` and `results` after the launch. The others are 0. */
struct example {
    const char *body;
    uint32_t before[4], operands[4], after[4], results[4];
};

static void run_example(const struct example *example)
{
    char text[1024];
    struct fth_error error = NO_ERROR;
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    uint64_t addresses[2];
    uint32_t *hosts[2];
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, example->body);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", example->body, error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fth_ptx_alloc(machine, WORDS * sizeof(uint32_t), &addresses[i], NULL),
                         FTH_OK);
        hosts[i] = fth_ptx_host(machine, addresses[i], WORDS * sizeof(uint32_t));
    }
    memcpy(hosts[0], example->before, sizeof example->before);
    memcpy(hosts[1], example->operands, sizeof example->operands);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .arguments = addresses,
                                          .argument_bytes = sizeof addresses,
                                          .max_instructions = 1000};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s: %s", example->body, fth_error_text(&error, text, sizeof text));
    for (int i = 0; i < 4; i++)
        if (hosts[0][i] != example->after[i] || hosts[1][i] != example->results[i])
            fail_msg("%s: word %d: %08x %08x", example->body, i, hosts[0][i], hosts[1][i]);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* A load of a multicast object of one device returns what is in memory, whatever it combines. */
static void test_load(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"multimem.ld_reduce.weak.global.add.u32 %r0, [%rd0+4]; st.global.u32 [%rd1], %r0;",
         {1, 0x80000002, 3},
         {0},
         {1, 0x80000002, 3},
         {0x80000002}},
        {"multimem.ld_reduce.acquire.sys.global.min.s64 %rd2, [%rd0+8]; st.u64 [%rd1], %rd2;",
         {1, 2, 3, 0x80000000},
         {0},
         {1, 2, 3, 0x80000000},
         {3, 0x80000000}},
        {"multimem.ld_reduce.relaxed.gpu.global.xor.b32 %r0, [%rd0]; st.global.u32 [%rd1], %r0;",
         {0x1234},
         {9, 9},
         {0x1234},
         {0x1234, 9}},
        {"multimem.ld_reduce.relaxed.gpu.global.add.f64 %rd2, [%rd0]; st.u64 [%rd1], %rd2;",
         {1, 0x3ff00000},
         {0},
         {1, 0x3ff00000},
         {1, 0x3ff00000}},
        {"multimem.ld_reduce.relaxed.gpu.global.add.v4.f32 {%r0, %r1, _, %r3}, [%rd0];\n"
         "st.global.v2.u32 [%rd1], {%r3, %r1}; st.global.u32 [%rd1+8], %r0;",
         {0x3f800000, 1, 2, 0x40000000},
         {0},
         {0x3f800000, 1, 2, 0x40000000},
         {0x40000000, 1, 0x3f800000}},
        {"multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.v2.bf16x2 {%r0, %r1}, [%rd0];\n"
         "st.global.v2.u32 [%rd1], {%r1, %r0};",
         {0x3f803f80, 0x40004000},
         {0},
         {0x3f803f80, 0x40004000},
         {0x40004000, 0x3f803f80}},
        {"multimem.ld_reduce.relaxed.gpu.global.max.v8.f16 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, "
         "%h7}, [%rd0];\nst.global.v4.u16 [%rd1], {%h7, %h6, %h1, %h0};",
         {0x00010000, 0x00030002, 0x00050004, 0x00070006},
         {0},
         {0x00010000, 0x00030002, 0x00050004, 0x00070006},
         {0x00060007, 0x00000001}}};
    for (size_t i = 0; i < FTH_COUNT(examples); i++)
        run_example(&examples[i]);
}

static void test_store(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"ld.global.u32 %r0, [%rd1]; multimem.st.relaxed.sys.global.s32 [%rd0+4], %r0;",
         {1, 2, 3},
         {77},
         {1, 77, 3},
         {77}},
        {"ld.global.u64 %rd2, [%rd1]; multimem.st.weak.b64 [%rd0], %rd2;",
         {1, 2, 3},
         {4, 5},
         {4, 5, 3},
         {4, 5}},
        {"ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];\n"
         "multimem.st.release.gpu.global.v4.f16x2 [%rd0], {%r3, %r2, %r1, %r0};",
         {0},
         {1, 2, 3, 4},
         {4, 3, 2, 1},
         {1, 2, 3, 4}},
        {"ld.global.v2.u16 {%h0, %h1}, [%rd1]; multimem.st.weak.global.v2.bf16 [%rd0], {%h1, %h0};",
         {7, 8},
         {0x00020001},
         {0x00010002, 8},
         {0x00020001}}};
    for (size_t i = 0; i < FTH_COUNT(examples); i++)
        run_example(&examples[i]);
}

/* A reduction changes memory as red does. */
static void test_reduce(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"ld.global.u32 %r0, [%rd1]; multimem.red.relaxed.gpu.global.add.u32 [%rd0+4], %r0;",
         {1, 2, 3},
         {40},
         {1, 42, 3},
         {40}},
        {"ld.global.u64 %rd2, [%rd1]; multimem.red.release.gpu.global.max.s64 [%rd0], %rd2;",
         {5, 0x80000000, 1},
         {4, 0},
         {4, 0, 1},
         {4, 0}},
        {"ld.global.u32 %r0, [%rd1]; multimem.red.weak.global.and.b32 [%rd0], %r0;",
         {0xff, 1},
         {0x1f0},
         {0xf0, 1},
         {0x1f0}},
        {"ld.global.v2.u32 {%r0, %r1}, [%rd1];\n"
         "multimem.red.relaxed.gpu.global.add.v2.f32 [%rd0], {%r0, %r1};",
         {0x3f800000, 0x40000000, 1},
         {0x3f800000, 0x3f800000},
         {0x40000000, 0x40400000, 1},
         {0x3f800000, 0x3f800000}},
        {"ld.global.u32 %r0, [%rd1]; multimem.red.relaxed.gpu.global.add.f16x2 [%rd0], %r0;",
         {0x3c004000},
         {0x3c003c00},
         {0x40004200},
         {0x3c003c00}},
        {"ld.global.v2.u32 {%r0, %r1}, [%rd1];\n"
         "multimem.red.relaxed.gpu.global.min.v2.bf16x2 [%rd0], {%r0, %r1};",
         {0x3f804000, 0x3f80bf80},
         {0x40003f80, 0x40003f80},
         {0x3f803f80, 0x3f80bf80},
         {0x40003f80, 0x40003f80}}};
    for (size_t i = 0; i < FTH_COUNT(examples); i++)
        run_example(&examples[i]);
}

/* What NVIDIA's assembler refuses for sm_90, too. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "multimem.ld_reduce.relaxed.gpu.global.add.s64 %rd2, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.add.b32 %r0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.min.f32 %r0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.inc.u32 %r0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.and.u32 %r0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.add.f16 %h0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.add.v2.u32 {%r0, %r1}, [%rd0];",
        ("multimem.ld_reduce.relaxed.gpu.global.add.v8.f32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, "
         "[%rd0];"),
        "multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.f32 %r0, [%rd0];",
        "multimem.ld_reduce.relaxed.gpu.global.min.acc::f32.f16x2 %r0, [%rd0];",
        "multimem.red.relaxed.gpu.global.add.acc::f32.f16x2 [%rd0], %r0;",
        "multimem.st.relaxed.gpu.global.add.u32 [%rd0], %r0;",
        "multimem.st.relaxed.gpu.shared.u32 [%rd0], %r0;",
        "multimem.st.relaxed.gpu.global.u32 [%rd0], {%r0, %r1};",
        "multimem.st.relaxed.gpu.global.u32 [%rd0];",
        "multimem.ld.relaxed.gpu.global.u32 %r0, [%rd0];"};
    for (size_t i = 0; i < FTH_COUNT(bodies); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, bodies[i]);
        struct fth_error error = NO_ERROR;
        if (!is_refused(text, strlen(text), &error))
            fail_msg("accepted: %s", bodies[i]);
    }
}

/* An address in shared memory is not that of a multicast object. */
static void test_outside(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".shared .align 8 .b64 s; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2;\n"
             "multimem.st.weak.u32 [%rd2], %r0;\nret;\n}\n";
    struct fth_error error = NO_ERROR;
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    const uint64_t arguments[2] = {0, 0};
    assert_int_equal(fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error), FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {
        .kernel = "k", .arguments = arguments, .argument_bytes = sizeof arguments};
    assert_int_not_equal(fth_ptx_run(machine, &launch, NULL, &error), FTH_OK);
    assert_non_null(strstr(error.cause, "outside the global memory"));
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),    cmocka_unit_test(test_store),
        cmocka_unit_test(test_reduce),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
