/* Tests of ptx/: the video instructions. The expected values are computed by hand from the PTX ISA.
 * Where an H200 differs from the PTX ISA, they are those of the H200. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

/* Formats a kernel that loads a, b and c, executes an instruction and stores d. */
static void format_kernel(char *text, size_t size, const char *instruction)
{
    snprintf(text, size,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 p) {\n.reg .b32 a, b, c, d; .reg .b64 q;\n"
             "ld.param.u64 q, [p]; ld.global.u32 a, [q]; ld.global.u32 b, [q+4];\n"
             "ld.global.u32 c, [q+8]; ld.global.u32 d, [q+12];\n%s;\n"
             "st.global.u32 [q+12], d; ret; }\n",
             instruction);
}

static uint32_t execute(const char *instruction, uint32_t a, uint32_t b, uint32_t c)
{
    char text[1024];
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    uint64_t buffer;
    format_kernel(text, sizeof text, instruction);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 16, &buffer, NULL), FTH_OK);
    uint32_t *words = fth_ptx_host(machine, buffer, 16);
    memcpy(words, (const uint32_t[]){a, b, c}, 12);
    const struct fth_ptx_launch launch = {
        .kernel = "k", .arguments = &buffer, .argument_bytes = sizeof buffer};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s: %s", instruction, error.cause);
    const uint32_t result = words[3];
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return result;
}

struct row {
    const char *instruction;
    uint32_t a, b, c, d;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t d = execute(rows[i].instruction, rows[i].a, rows[i].b, rows[i].c);
        if (d != rows[i].d)
            fail_msg("%s: 0x%08x, expected 0x%08x", rows[i].instruction, d, rows[i].d);
    }
}

static void scalar_instructions_select_parts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"vadd.u32.u32.u32 d, a, b", 0xffffffff, 2, 0, 1},
        {"vadd.s32.u32.s32 d, a.b3, b.h1", 0xfe000000, 0xfffd0000, 0, 0xfb},
        {"vadd.s32.s32.s32.sat d, a, b", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"vsub.u32.u32.u32.sat d, a, b", 3, 5, 0, 0},
        {"vsub.s32.u32.u32 d, a, b", 3, 5, 0, 0xfffffffe},
        {"vabsdiff.u32.s32.s32 d, a, b", 0x80000000, 0x7fffffff, 0, 0xffffffff},
        {"vmin.s32.s32.u32 d, a.b0, b", 0xff, 5, 0, 0xffffffff},
        {"vmin.u32.u32.u32 d, a, b", 0xff, 5, 0, 5},
        {"vmax.s32.s32.s32 d, a.h0, b.h1", 0x8000, 0xffff0000, 0, 0xffffffff},
        /* secondary operations */
        {"vadd.s32.s32.s32.add d, a, b, c", 1, 2, 4, 7},
        {"vadd.s32.s32.s32.min d, a, b, c", 1, 2, 0xffffffff, 0xffffffff},
        {"vadd.u32.u32.u32.min d, a, b, c", 1, 2, 0xffffffff, 3},
        {"vsub.u32.u32.u32.sat.max d, a, b, c", 1, 2, 9, 9},
        /* merges into a part of c */
        {"vadd.u32.u32.u32 d.b2, a, b, c", 0xff, 2, 0x11223344, 0x11013344},
        {"vadd.u32.u32.u32.sat d.b2, a, b, c", 0xff, 2, 0x11223344, 0x11ff3344},
        {"vsub.s32.u32.u32 d.h0, a, b, c", 0, 1, 0x11223344, 0x1122ffff},
        /* comparisons */
        {"vset.s32.s32.lt d, a, b", 0xffffffff, 0, 0, 1},
        {"vset.u32.u32.lt d, a, b", 0xffffffff, 0, 0, 0},
        {"vset.u32.u32.ge.add d, a, b, c", 2, 2, 5, 6},
        {"vset.u32.u32.ne d.b3, a.b0, b.b1, c", 0x12, 0x1200, 0x55667788, 0x00667788},
    };
    check_rows(rows, FTH_COUNT(rows));
}

static void shifts_clamp_or_wrap_the_amount(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"vshl.u32.u32.u32.clamp d, a, b", 1, 31, 0, 0x80000000},
        {"vshl.u32.u32.u32.clamp d, a, b", 1, 33, 0, 0},
        {"vshl.u32.u32.u32.wrap d, a, b", 1, 33, 0, 2},
        {"vshl.u32.u32.u32.sat.clamp d, a, b", 3, 31, 0, 0xffffffff},
        {"vshl.s32.s32.u32.sat.clamp d, a, b", 0xffffffff, 32, 0, 0x80000000},
        {"vshr.s32.s32.u32.clamp d, a, b", 0x80000000, 99, 0, 0xffffffff},
        {"vshr.u32.u32.u32.clamp d, a, b.b1", 0x80000000, 0x400, 0, 0x08000000},
        {"vshr.s32.s32.u32.wrap.add d, a, b, c", 0xfffffff0, 34, 10, 6},
    };
    check_rows(rows, FTH_COUNT(rows));
}

static void multiply_adds_scale_and_negate(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"vmad.u32.u32.u32 d, a, b, c", 3, 4, 5, 17},
        {"vmad.u32.u32.u32.po d, a, b, c", 3, 4, 5, 18},
        {"vmad.s32.u32.u32 d, -a, b, c", 3, 4, 5, (uint32_t)-7},
        {"vmad.s32.u32.u32 d, a, b, -c", 3, 4, 5, 7},
        {"vmad.u32.u32.u32 d, -a, -b, c", 3, 4, 5, 17},
        {"vmad.s32.s32.s32.shr7 d, a.b0, b.b1, c", 0x80, 0x7f00, 0, (uint32_t)-127},
        {"vmad.u32.u32.u32.sat d, a, b, c", 0x10000, 0x10000, 0, 0xffffffff},
    };
    check_rows(rows, FTH_COUNT(rows));
}

/* Results that differ from the PTX ISA. */
static void scalar_instructions_have_limits(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* Large results do not become the largest unsigned word, but negative ones become 0. */
        {"vadd.u32.u32.u32.sat d, a, b", 0xffffffff, 2, 0, 1},
        {"vadd.u32.u32.s32.sat d, a, b", 1, 0xfffffffe, 0, 0},
        {"vabsdiff.u32.u32.s32.sat d, a, b", 0xffffffff, 0xfffffffd, 0, 2},
        /* Negative results become the largest number of the part. */
        {"vsub.u32.u32.u32.sat d.b3, a, b, c", 3, 5, 0x11223344, 0xff223344},
        {"vsub.s32.u32.u32.sat d.b0, a, b, c", 3, 5, 0x11223344, 0x1122337f},
        /* Sums with the highest bit set are larger than any c. */
        {"vadd.u32.u32.u32.min d, a, b, c", 0x80000000, 1, 0xffffffff, 0xffffffff},
        {"vsub.u32.u32.u32.max d, a, b, c", 0xfffffff2, 2, 0xfffffff9, 0xfffffff0},
        {"vadd.s32.u32.u32.max d, a, b, c", 0x7fffffff, 1, 5, 5},
        /* Differences have 33 bits, and other negative numbers are larger than any c. */
        {"vabsdiff.u32.u32.s32.max d, a, b, c", 0xffffffff, 0xffffffff, 9, 0},
        {"vmin.u32.s32.s32.min d, a, b, c", 0xffffffff, 5, 9, 9},
        /* Shifted words have 34 bits. */
        {"vshl.u32.u32.u32.sat.clamp d, a, b", 0xffffffff, 99, 0, 0},
        {"vshl.u32.u32.u32.sat.clamp d, a, b", 4, 32, 0, 0},
        {"vshl.s32.u32.u32.sat.wrap d, a, b", 0x7fffffff, 10, 0, 0xfffffc00},
        {"vshl.s32.u32.u32.clamp.min d, a, b, c", 0xffffffff, 32, 0xfffffffd, 0},
        {"vshl.u32.u32.u32.clamp.add d, a, b, c", 0xffffffff, 31, 0xffffff80, 0x7fffff80},
        /* Saturated ones with the highest bit set are larger than any c, others are not. */
        {"vshl.u32.u32.u32.sat.clamp.min d, a, b, c", 0x80000000, 0, 0xffffff00, 0xffffff00},
        {"vshl.u32.s32.u32.sat.wrap.max d, a, b, c", 3, 30, 0xffffff00, 0xc0000000},
        {"vshr.u32.u32.u32.sat.clamp.max d, a, b, c", 0xaaaaaaaa, 0, 0xffffff00, 0xaaaaaaaa},
        {"vshr.u32.u32.u32.clamp.max d, a, b, c", 0xaaaaaaaa, 0, 0xffffff00, 0xffffff00},
        /* The upper half of c gets the upper half of the result. */
        {"vadd.u32.u32.u32 d.h1, a, b, c", 0x12345678, 1, 0x55556666, 0x12346666},
        {"vsub.s32.u32.u32.sat d.h1, a, b, c", 0, 0x9000, 0x11223344, 0x00003344},
        {"vshl.u32.u32.u32.sat.clamp d.h1, a, b, c", 0x12345, 4, 0x55556666, 0x00126666},
        /* Words are multiplied and added as signed numbers. */
        {"vmad.u32.u32.u32.shr15 d, a, b, c", 0xffffffff, 0xffffffff, 0xffffffff, 0},
        {"vmad.s32.s32.u32.sat d, a, b, c", 0xffffffff, 0xffffffff, 0, 1},
        {"vmad.u32.u32.u32.shr7 d, a.h0, b.h0, c", 0xffff, 0x80, 0, 0xffff},
        {"vmad.u32.u32.u32.sat d, a, b, c", 0xffffffff, 2, 0, 0},
        {"vmad.u32.u32.u32.sat.shr7 d, a, b, c", 0xffffffff, 2, 0, 0xffffffff},
    };
    check_rows(rows, FTH_COUNT(rows));
}

static void vectors_select_elements(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"vadd2.u32.u32.u32 d, a, b, c", 0x0001ffff, 0x00020001, 9, 0x00030000},
        {"vadd2.u32.u32.u32.sat d, a, b, c", 0x0001ffff, 0x00020001, 9, 0x0003ffff},
        {"vadd2.s32.s32.s32.add d, a, b, c", 0xffff0001, 0xffff0002, 10, 11},
        {"vadd2.u32.u32.u32 d.h1, a, b, c", 0x00010002, 0x00030004, 0x55556666, 0x00046666},
        {"vadd2.u32.u32.u32 d, a.h23, b.h01, c", 0x00010002, 0x00100020, 0, 0x00220011},
        {"vavrg2.s32.s32.s32 d, a, b, c", 0xfffd0001, 0x00000002, 0, 0xfffe0002},
        {"vabsdiff2.u32.u32.u32 d, a, b, c", 0x00050001, 0x00020009, 0, 0x00030008},
        {"vset2.s32.s32.gt d, a, b, c", 0x0001ffff, 0, 0, 0x00010000},
        {"vsub4.u32.u32.u32 d, a, b, c", 0x01020304, 0x02020202, 0, 0xff000102},
        {"vsub4.u32.u32.u32.sat d, a, b, c", 0x01020304, 0x02020202, 0, 0x00000102},
        {"vmin4.s32.s32.s32 d, a, b, c", 0x80017f02, 0x01ff0103, 0, 0x80ff0102},
        {"vmax4.u32.u32.u32 d.b20, a, b, c", 0x80017f02, 0x01ff0103, 0, 0x00ff0003},
        {"vavrg4.u32.u32.u32 d, a, b, c", 0x01020304, 0x02020202, 0, 0x02020303},
        {"vabsdiff4.u32.u32.u32.add d, a, b, c", 0x01020304, 0x02020202, 100, 104},
        {"vset4.u32.u32.eq.add d, a.b3210, b.b3210, c", 0x01020304, 0, 5, 9},
        {"vadd4.u32.u32.u32 d, a.b7654, b.b0123, c", 0x01020304, 0x10203040, 0, 0x14233241},
    };
    check_rows(rows, FTH_COUNT(rows));
}

static void invalid_parts_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "vadd.u32.u32.u32 d, a.b4, b",
        "vadd.u32.u32.u32 d, a.h2, b",
        "vadd.u32.u32.u32 d, a.h10, b",
        "vadd.u32.u32.u32 d, -a, b",
        "vadd.u32.u32.u32 d.b0, a, b",
        "vadd.u32.u32.u32.add d.b0, a, b, c",
        "vadd2.u32.u32.u32 d, a, b",
        "vadd2.u32.u32.u32 d, a.b10, b, c",
        "vadd2.u32.u32.u32 d, a.h40, b, c",
        "vadd2.u32.u32.u32 d.h01, a, b, c",
        "vadd4.u32.u32.u32 d, a.b321, b, c",
        "vadd4.u32.u32.u32.sat.add d, a, b, c",
        "vmad.u32.u32.u32.po d, -a, b, c",
        "vset.u32.u32 d, a, b",
        "vset.u32.u32.lt.sat d, a, b",
        "vadd.u32.u32 d, a, b",
        "vadd.u32.u32.f32 d, a, b",
        "vadd.u32.u32.u32 5, a, b",
        "vshl.u32.u32.u32.min.clamp.po d, a, b, c",
        "add.u32 d, a.b0, b",
        "add.u32 d, -a, b",
    };
    for (size_t i = 0; i < FTH_COUNT(lines); i++) {
        char text[1024];
        struct fth_ptx_module *module = NULL;
        struct fth_ptx_machine *machine = NULL;
        struct fth_error error = NO_ERROR;
        uint64_t buffer;
        format_kernel(text, sizeof text, lines[i]);
        enum fth_status status = fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error);
        if (status == FTH_OK) {
            assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
            assert_int_equal(fth_ptx_alloc(machine, 16, &buffer, NULL), FTH_OK);
            const struct fth_ptx_launch launch = {
                .kernel = "k", .arguments = &buffer, .argument_bytes = sizeof buffer};
            status = fth_ptx_run(machine, &launch, NULL, &error);
        }
        if (status == FTH_OK)
            fail_msg("accepted: %s", lines[i]);
        fth_ptx_machine_destroy(machine);
        fth_ptx_destroy(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_instructions_select_parts),
        cmocka_unit_test(shifts_clamp_or_wrap_the_amount),
        cmocka_unit_test(multiply_adds_scale_and_negate),
        cmocka_unit_test(scalar_instructions_have_limits),
        cmocka_unit_test(vectors_select_elements),
        cmocka_unit_test(invalid_parts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
