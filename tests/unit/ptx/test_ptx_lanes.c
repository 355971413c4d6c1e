/* Tests of ptx/: which lanes of a warp take part, and which registers an instruction writes. */
#include "check.h"
#include "ptx/ptx.h"

#include <string.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Runs the kernel k(.param .u64 out, .param .v2 pair) with one warp and compares the 32 words that
 * it writes to `out`. */
static void expect_words(const char *text, const uint32_t expected[32])
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    struct {
        uint64_t buffer;
        uint32_t pair[2];
    } arguments = {.pair = {5, 7}};
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 128, &arguments.buffer, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .arguments = &arguments,
                                          .argument_bytes = sizeof arguments,
                                          .block = {32},
                                          .max_instructions = 1000000};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const uint32_t *words = fth_ptx_host(machine, arguments.buffer, 128);
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(words[i], expected[i]);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* The first register of a kernel is a destination like any other. "_" discards an element. */
static void vectors_of_arguments_are_loaded(void **state)
{
    (void)state;
    uint32_t expected[32];
    for (uint32_t i = 0; i < 32; i++)
        expected[i] = 5 + 7 + 7;
    expect_words(HEAD ".visible .entry k(.param .u64 out, .param .align 8 .b8 pair[8]) {\n"
                      ".reg .b32 %a<4>; .reg .b64 %rd<4>;\n"
                      "ld.param.v2.u32 {%a0, %a1}, [pair];\n"
                      "ld.param.v2.u32 {_, %a2}, [pair];\n"
                      "add.u32 %a0, %a0, %a1; add.u32 %a0, %a0, %a2;\n"
                      "mov.u32 %a3, %laneid; mul.wide.u32 %rd1, %a3, 4;\n"
                      "ld.param.u64 %rd0, [out]; add.u64 %rd0, %rd0, %rd1;\n"
                      "st.global.u32 [%rd0], %a0; ret; }\n",
                 expected);
}

/* The lower half of the warp loops for so long that the upper half runs ahead and waits at the
 * shuffle. When the lower half arrives, all lanes execute it together. */
static void lanes_that_wait_at_a_shuffle_take_part_in_it(void **state)
{
    (void)state;
    uint32_t expected[32];
    for (uint32_t i = 0; i < 32; i++)
        expected[i] = 100 + (i ^ 16);
    expect_words(HEAD ".visible .entry k(.param .u64 out, .param .align 8 .b8 pair[8]) {\n"
                      ".reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
                      "mov.u32 %r0, %laneid; add.u32 %r1, %r0, 100;\n"
                      "setp.ge.u32 %p0, %r0, 16; @%p0 bra after;\n"
                      "mov.u32 %r2, 0;\n"
                      "loop: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 20000; @%p1 bra loop;\n"
                      "after: shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;\n"
                      "mul.wide.u32 %rd1, %r0, 4; ld.param.u64 %rd0, [out];\n"
                      "add.u64 %rd0, %rd0, %rd1; st.global.u32 [%rd0], %r3; ret; }\n",
                 expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_arguments_are_loaded),
        cmocka_unit_test(lanes_that_wait_at_a_shuffle_take_part_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
