/* Tests the texts of the OpenCL programs: which files they consist of, in which order, and which
 * definitions a sweep gets. tests/opencl compiles them. */
#include "check.h"
#include "kernels/kernels.h"

#include <string.h>

/* Asserts that `text` contains the parts in this order. The list ends with NULL. */
static void assert_order(const char *text, const char *const *parts)
{
    const char *at = text;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found)
            fail_msg("'%s' is missing, or in the wrong place", *parts);
        else
            at = found + strlen(*parts);
    }
}

static void chases_consist_of_prelude_definitions_and_kernels(void **state)
{
    (void)state;
    static const struct {
        enum fth_opencl_vendor vendor;
        const char *clock; /* in the prelude; NULL: there is none */
    } cases[] = {
        {FTH_OPENCL_AMD, "s_memtime %0"},         {FTH_OPENCL_INTEL_GPU, "intel_get_cycle_counter"},
        {FTH_OPENCL_NVIDIA, "%%clock64"},         {FTH_OPENCL_X86, "rdtsc"},
        {FTH_OPENCL_ARM64, "mrs %0, cntvct_el0"}, {FTH_OPENCL_OTHER, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_buffer text = {0};
        struct fth_error error = NO_ERROR;
        const char *const common[] = {"#ifndef FTH_LOAD\n", "kernel void fth_chase(",
                                      "kernel void fth_pace(", NULL};
        const char *const whole[] = {cases[i].clock ? cases[i].clock : "", common[0], NULL};
        assert_int_equal(fth_kernels_opencl(cases[i].vendor, &text, &error), FTH_OK);
        assert_order(text.data, whole);
        assert_order(text.data, common);
        for (size_t j = 0; j < FTH_COUNT(cases); j++)
            if (j != i && cases[j].clock)
                assert_null(strstr(text.data, cases[j].clock));
        fth_buffer_fini(&text);
    }
}

static void sweeps_have_their_definitions(void **state)
{
    (void)state;
    static const struct {
        enum fth_opencl_vendor vendor;
        struct fth_sweep_code code;
        const char *parts[8];
    } cases[] = {
        {FTH_OPENCL_AMD,
         {FTH_SWEEP_TRIAD, true, 16, 4, 32, false},
         {"FTH_WIDE 1\n", "FTH_VECTOR_WORDS 2\n", "FTH_SWEEP_UNROLL 4\n",
          "FTH_LANES 32\n#define FTH_READS 1\n", "FTH_READS_OTHER 1\n", "FTH_WRITES 1\n",
          "FTH_RESULT(x, y) ((x) + (y) * FTH_SCALE)\n"}},
        {FTH_OPENCL_X86,
         {FTH_SWEEP_READ, false, 16, 8, 1, false},
         {"#define FTH_CPU\n", "FTH_WIDE 0\n", "FTH_VECTOR_WORDS 4\n", "FTH_SWEEP_UNROLL 8\n",
          "FTH_READS_OTHER 0\n", "FTH_WRITES 0\n"}},
        {FTH_OPENCL_ARM64,
         {FTH_SWEEP_WRITE, false, 4, 1, 32, false},
         {"#define FTH_CPU\n", "FTH_VECTOR_WORDS 1\n", "FTH_READS 0\n", "FTH_WRITES 1\n"}},
        {FTH_OPENCL_NVIDIA,
         {FTH_SWEEP_COPY, false, 16, 1, 32, true},
         {"FTH_VECTOR_WORDS 4\n", "ld.global.cg.L2::cache_hint.v4", "#ifndef FTH_GET\n"}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_buffer text = {0};
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_kernels_opencl_sweep(cases[i].vendor, &cases[i].code, &text, &error),
                         FTH_OK);
        assert_order(text.data, cases[i].parts);
        assert_non_null(strstr(text.data, "kernel void fth_sweep("));
        assert_int_equal(strncmp(text.data, "#define FTH_CPU\n", 16) == 0,
                         cases[i].vendor == FTH_OPENCL_X86 || cases[i].vendor == FTH_OPENCL_ARM64);
        assert_int_equal(strstr(text.data, "cache_hint") != NULL, cases[i].code.hinted);
        fth_buffer_fini(&text);
    }
}

static void sweeps_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const struct fth_sweep_code codes[] = {
        {FTH_SWEEP_COPY, false, 16, 4, 32, true},  /* cache hints */
        {FTH_SWEEP_COPY, false, 32, 4, 32, false}, /* wider than the widest vector */
        {FTH_SWEEP_READ, true, 16, 4, 32, false},  /* a read has 4-byte words */
        {FTH_SWEEP_TRIAD, true, 16, 8, 32, false}, /* too many vectors in flight */
    };
    for (size_t i = 0; i < FTH_COUNT(codes); i++) {
        struct fth_buffer text = {0};
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_kernels_opencl_sweep(FTH_OPENCL_AMD, &codes[i], &text, &error),
                         FTH_UNSUPPORTED);
        assert_int_equal(text.size, 0);
        fth_buffer_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chases_consist_of_prelude_definitions_and_kernels),
        cmocka_unit_test(sweeps_have_their_definitions),
        cmocka_unit_test(sweeps_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
