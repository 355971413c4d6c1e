/* Tests of ptx/cost/cost_loads.c: which loads from global memory an assembler removes, and of which
 * vectors it loads parts. tests/assemble/loads compares the rules with ptxas; these tests need no
 * assembler. Also tests that traces have the accesses that remain, and those to matrices. */
#include "check.h"
#include "folder.h"
#include "ptx/engine.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

#define KERNEL                                                                                     \
    ".version 8.4\n.target %s\n.address_size 64\n.func other(.reg .b32 x) { ret; }\n"              \
    ".visible .entry k(.param .u64 p) {\n"                                                         \
    ".reg .pred %%p<4>; .reg .b32 %%r<20>; .reg .b64 %%rd<8>; .reg .f32 %%f<8>;\n"                 \
    ".reg .b16 %%h<4>; .shared .align 16 .b8 s[64];\n"                                             \
    "ld.param.u64 %%rd1, [p]; add.s64 %%rd2, %%rd1, 1024;\n%s\nret; }\n"
#define FIRST "ld.global.u32 %r1, [%rd1];"
#define SECOND "ld.global.u32 %r2, [%rd1];"
#define USE "st.shared.v2.u32 [s], {%r1, %r2};"

/* What becomes of the loads from global memory of a kernel, in their order: `-` if the load is
 * removed, `=` if it stays, or bytes@offset of the parts that are loaded. */
static const struct {
    const char *body, *loads;
} rows[] = {
    {FIRST SECOND USE, "= -"},
    /* another address, size, extension of the sign or operator */
    {FIRST "ld.global.u32 %r2, [%rd1+4];" USE, "= ="},
    {FIRST "ld.global.u32 %r2, [%rd2];" USE, "= ="},
    {FIRST "ld.global.u8 %r2, [%rd1];" USE, "= ="},
    {"ld.global.u16 %r1, [%rd1]; ld.global.s16 %r2, [%rd1];" USE, "= ="},
    {"ld.global.u16 %r1, [%rd1]; ld.global.b16 %h1, [%rd1]; cvt.u32.u16 %r2, %h1;" USE, "= -"},
    {FIRST "ld.global.f32 %f1, [%rd1]; mov.b32 %r2, %f1;" USE, "= -"},
    {FIRST "ld.global.nc.u32 %r2, [%rd1];" USE, "= ="},
    {FIRST "ld.global.cg.u32 %r2, [%rd1];" USE, "= ="},
    {"ld.volatile.global.u32 %r1, [%rd1]; ld.volatile.global.u32 %r2, [%rd1];" USE, "= ="},
    /* the same address in another register, and another one in the same register */
    {"ld.global.u32 %r1, [%rd1+1032]; ld.global.u32 %r2, [%rd2+8];" USE, "= -"},
    {FIRST "add.s64 %rd1, %rd1, 4;" SECOND USE, "= ="},
    {"ld.global.u64 %rd1, [%rd1]; ld.global.u32 %r2, [%rd1];" USE, "= ="},
    /* what might change the value */
    {FIRST "st.global.u32 [%rd2], %r1;" SECOND USE, "= ="},
    {"ld.global.nc.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ld.global.nc.u32 %r2, [%rd1];" USE,
     "= -"},
    {FIRST "st.shared.u32 [s], %r1;" SECOND USE, "= -"},
    {FIRST "bar.sync 0;" SECOND USE, "= ="},
    {FIRST "bar.warp.sync 0xffffffff;" SECOND USE, "= ="},
    {FIRST "membar.gl;" SECOND USE, "= ="},
    {FIRST "call other, (%r1);" SECOND USE, "= ="},
    {FIRST "red.global.add.u32 [%rd2], %r1;" SECOND USE, "= ="},
    {FIRST "red.shared.add.u32 [s], %r1;" SECOND USE, "= -"},
    {FIRST "cp.async.ca.shared.global [s], [%rd2], 4;" SECOND USE, "= ="},
    {FIRST "cp.async.commit_group;" SECOND USE, "= -"},
    {FIRST "div.rn.f32 %f1, %f2, %f3;" SECOND USE, "= ="},
    {FIRST "div.s32 %r3, %r4, %r5;" SECOND USE, "= -"},
    {FIRST "prefetch.global.L1 [%rd2];" SECOND USE, "= ="},
    /* a value that has been stored */
    {"st.global.u32 [%rd1], %r3;" SECOND USE, "-"},
    {"st.global.cg.u32 [%rd1], %r3;" SECOND USE, "="},
    {"st.global.u32 [%rd1], %r3; st.global.u32 [%rd2], %r3;" SECOND USE, "="},
    /* guards */
    {FIRST "@%p1 ld.global.u32 %r2, [%rd1];" USE, "= -"},
    {"@%p1 ld.global.u32 %r1, [%rd1]; @%p1 ld.global.u32 %r2, [%rd1];" USE, "= ="},
    /* branches and loops */
    {FIRST "@%p1 bra OUT; add.u32 %r3, %r4, %r5; OUT:" SECOND USE, "= -"},
    {"@%p1 bra OUT;" FIRST "OUT:" SECOND USE, "= ="},
    {"@%p1 bra ELSE;" FIRST "bra OUT; ELSE:" FIRST "OUT:" SECOND USE, "= = -"},
    {FIRST "@%p1 bra OUT; bar.sync 0; OUT:" SECOND USE, "= ="},
    {FIRST "NEXT:" SECOND USE "@%p1 bra NEXT;", "= -"},
    {FIRST "NEXT:" SECOND USE "bar.sync 0; @%p1 bra NEXT;", "= ="},
    {FIRST "NEXT: add.u32 %r3, %r3, 1; @%p1 bra NEXT;" SECOND USE, "= ="},
    {"ld.global.nc.u32 %r1, [%rd1]; NEXT: add.u32 %r3, %r3, 1; @%p1 bra NEXT;"
     "ld.global.nc.u32 %r2, [%rd1];" USE,
     "= -"},
    /* unused results */
    {FIRST, "-"},
    {FIRST "add.u32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;", "-"},
    {FIRST "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], %r3;", "="},
    {FIRST "call other, (%r1);", "="},
    {"ld.volatile.global.u32 %r1, [%rd1];", "="},
    /* vectors */
    {"ld.global.v2.u32 {%r1, %r2}, [%rd1]; ld.global.u32 %r3, [%rd1+4];" USE
     "st.shared.u32 [s], %r3;",
     "= -"},
    {"ld.global.v2.u32 {%r1, %r3}, [%rd1];" USE, "4@0"},
    {"ld.global.v4.u32 {%r3, %r4, %r5, %r1}, [%rd1];" USE, "4@12"},
    {"ld.global.v4.u32 {%r3, %r4, %r1, %r2}, [%rd1];" USE, "8@8"},
    {"ld.global.v4.u32 {%r3, %r1, %r2, %r4}, [%rd1];" USE, "4@4,4@8"},
    {"ld.global.v4.u32 {%r1, %r3, %r4, %r2}, [%rd1];" USE, "4@0,4@12"},
    {"ld.global.v4.u32 {%r1, %r3, %r2, %r4}, [%rd1];" USE "st.shared.u32 [s], %r4;", "="},
    {"ld.global.v4.u16 {%r3, %r4, %r5, %r1}, [%rd1];" USE, "2@6"},
    {"ld.global.v4.u16 {%r1, %r3, %r4, %r2}, [%rd1];" USE, "="},
    {"ld.global.v4.u16 {%r1, %r2, %r3, %r4}, [%rd1];" USE, "4@0"},
    {"ld.global.v4.u8 {%r1, %r3, %r4, %r5}, [%rd1];" USE, "="},
    {"ld.global.v2.u64 {%rd3, %rd4}, [%rd1]; st.shared.u64 [s], %rd4;", "8@8"},
    /* a removed load uses an element of the one that stays */
    {"ld.global.v4.u32 {%r1, %r3, %r4, %r5}, [%rd1];"
     "ld.global.v4.u32 {%r6, %r2, %r7, %r8}, [%rd1];" USE,
     "8@0 -"},
};

static struct fth_ptx_module *parse(const char *target, const char *body)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    char text[4096];
    snprintf(text, sizeof text, KERNEL, target, body);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, text);
    return module;
}

/* Adds what becomes of a load to the text. */
static void describe(const struct fth_ptx_operands *operands, char *text, size_t size)
{
    const struct fth_ptx_parts *parts = &operands->parts;
    char *end = text + strlen(text);
    if (*text)
        *end++ = ' ';
    snprintf(end, size - (size_t)(end - text), "%s", operands->is_removed ? "-" : "=");
    for (unsigned i = 0; i < parts->count; i++) {
        end += i ? strlen(end) : 0;
        snprintf(end, size - (size_t)(end - text), "%s%u@%u", i ? "," : "", parts->bytes,
                 parts->offsets[i]);
    }
}

static void knows_which_loads_remain(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_ptx_module *module = parse("sm_90", rows[i].body);
        const struct fth_ptx_function *function = &module->functions[module->function_count - 1];
        char found[64] = "";
        for (size_t pc = 0; pc < function->code_count; pc++) {
            const struct fth_ptx_inst *inst = &function->code[pc];
            if (inst->space == FTH_SPACE_GLOBAL && fth_ptx_is_opcode(inst, "ld"))
                describe(inst->operands, found, sizeof found);
        }
        if (strcmp(found, rows[i].loads) != 0)
            fail_msg("%s, not %s: %s", found, rows[i].loads, rows[i].body);
        fth_ptx_destroy(module);
    }
}

/* An assembler that compiles for debugging keeps all loads. */
static void debugging_keeps_all_loads(void **state)
{
    (void)state;
    struct fth_ptx_module *module = parse("sm_90, debug", FIRST SECOND);
    const struct fth_ptx_function *function = &module->functions[module->function_count - 1];
    for (size_t pc = 0; pc < function->code_count; pc++)
        assert_false(function->code[pc].operands->is_removed);
    fth_ptx_destroy(module);
}

/* Removed loads are no machine instructions, and two parts are two. */
static void counts_the_loads_that_remain(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        uint64_t more;
    } pairs[] = {
        {FIRST USE, FIRST SECOND USE, 0},
        {FIRST USE, FIRST "ld.global.u32 %r2, [%rd1+4];" USE, 1},
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];" USE,
         "ld.global.v4.u32 {%r1, %r3, %r4, %r2}, [%rd1];" USE, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(pairs); i++) {
        uint64_t counts[2];
        for (size_t k = 0; k < 2; k++) {
            struct fth_ptx_module *module = parse("sm_90", k ? pairs[i].other : pairs[i].one);
            const struct fth_ptx_function *function =
                &module->functions[module->function_count - 1];
            counts[k] = function->costs[function->code_count].instructions;
            fth_ptx_destroy(module);
        }
        assert_int_equal(counts[1] - counts[0], pairs[i].more);
    }
}

/* A trace has the parts of a vector, and no access of a load that is removed. */
static void traces_have_the_loads_that_remain(void **state)
{
    (void)state;
    static const char launch[] =
        "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"buffers\": {\"p\": "
        "\"u32[2048]\"}, \"launches\": [{\"grid\": 1, \"block\": 1, \"args\": [\"p\"]}]}";
    char text[4096];
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    snprintf(text, sizeof text, KERNEL, "sm_90",
             "ld.global.v4.u32 {%r1, %r3, %r4, %r2}, [%rd1];" USE
             "ld.global.u32 %r5, [%rd1+12]; st.shared.u32 [s], %r5; ld.global.u32 %r6, [%rd2];");
    write_plain("k.ptx", text, strlen(text));
    write_plain("k.json", launch, strlen(launch));
    if (fth_trace_obtain("k.json", NULL, &trace, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    struct fth_trace_cursor *cursor;
    const struct fth_trace_access *access;
    uint64_t first = 0;
    size_t count = 0;
    assert_int_equal(fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
    while (fth_trace_next(cursor, &access, NULL) == FTH_OK && access) {
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(trace, access->instruction);
        assert_int_equal(instruction->bytes, 4);
        first = count ? first : access->addresses[0];
        assert_int_equal(access->addresses[0], first + (count ? 12 : 0));
        count++;
    }
    assert_int_equal(count, 2);
    fth_trace_cursor_close(cursor);
    fth_trace_close(trace);
}

/* Matrices in global memory. The numbers are those of ptxas 13.0 for sm_90: lanes exchange elements
 * of 16 bits, and two words next to each other are one access. */
static const struct {
    const char *instruction;
    size_t count; /* of the accesses */
    uint32_t bytes;
} matrices[] = {
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];",
     4, 4},
    {"wmma.load.a.sync.aligned.col.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];",
     4, 4},
    {"wmma.load.b.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];", 4, 4},
    {"wmma.load.b.sync.aligned.row.m16n16k16.global.s8 {%r0,%r1}, [%rd1];", 8, 1},
    {"wmma.load.c.sync.aligned.col.m16n16k16.global.f16 {%r0,%r1,%r2,%r3}, [%rd1];", 4, 4},
    {"wmma.load.c.sync.aligned.row.m16n16k16.global.s32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];",
     4, 8},
    {"wmma.load.c.sync.aligned.col.m16n16k16.global.s32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];",
     8, 4},
    {"wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd1], "
     "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};",
     4, 8},
    {"wmma.store.d.sync.aligned.col.m16n16k16.global.f16 [%rd1], {%r0,%r1,%r2,%r3};", 4, 4},
};

static void joins_accesses_to_matrices(void **state)
{
    (void)state;
    static const char launch[] =
        "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"buffers\": {\"p\": "
        "\"u32[2048]\"}, \"launches\": [{\"grid\": 1, \"block\": 32, \"args\": [\"p\"]}]}";
    write_plain("k.json", launch, strlen(launch));
    for (size_t i = 0; i < FTH_COUNT(matrices); i++) {
        char text[4096];
        struct fth_trace *trace = NULL;
        struct fth_error error = NO_ERROR;
        struct fth_trace_cursor *cursor;
        const struct fth_trace_access *access;
        size_t count = 0;
        uint64_t bytes = 0;
        snprintf(text, sizeof text, KERNEL, "sm_90", matrices[i].instruction);
        write_plain("k.ptx", text, strlen(text));
        if (fth_trace_obtain("k.json", NULL, &trace, &error) != FTH_OK)
            fail_msg("%s: %s", matrices[i].instruction, error.cause);
        assert_int_equal(fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
        for (; fth_trace_next(cursor, &access, NULL) == FTH_OK && access; count++)
            bytes += fth_trace_instruction_at(trace, access->instruction)->bytes;
        if (count != matrices[i].count || bytes != count * matrices[i].bytes)
            fail_msg("%zu accesses: %s", count, matrices[i].instruction);
        fth_trace_cursor_close(cursor);
        fth_trace_close(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_which_loads_remain),
        cmocka_unit_test(debugging_keeps_all_loads),
        cmocka_unit_test(counts_the_loads_that_remain),
        cmocka_unit_test(traces_have_the_loads_that_remain),
        cmocka_unit_test(joins_accesses_to_matrices),
    };
    return cmocka_run_group_tests_name("loads", tests, enter_folder, leave_folder);
}
