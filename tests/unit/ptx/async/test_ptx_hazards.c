/* Tests the search for missing waits: kernels that lack one wait, barrier or fence each, and the
 * same kernels with it. The rules are those of the PTX ISA. */
#include "check.h"
#include "ptx/async/tensor_map.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"
/* A kernel with a buffer of 4 KiB: its address in %rd0, that of the thread's 16 bytes in %rd2, the
 * shared address of the thread's 16 bytes in %r1, and of those of the thread with the opposite
 * index (of 128 threads) in %r3. p0 is true in thread 0. The tensor map describes the buffer. */
#define KERNEL(BODY)                                                                               \
    HEAD ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 buffer) {\n"                \
         ".shared .align 128 .b8 s[8192]; .shared .align 8 .b64 m;\n"                              \
         ".reg .pred p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; "                 \
         ".reg .f32 %f<16>;\n"                                                                     \
         "ld.param.u64 %rd0, [buffer]; mov.b64 %rd9, map; cvta.param.u64 %rd9, %rd9;\n"            \
         "mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd0, %rd2;\n"            \
         "shl.b32 %r1, %r0, 4; xor.b32 %r3, %r1, 2032; setp.eq.u32 p0, %r0, 0;\n"                  \
         "mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r20, %cluster_ctarank;\n" BODY "\nret;\n}\n"

enum { MAX_TEXT = 16384, THREADS = 128 };

static void keep_message(void *user, enum fth_level level, const char *text)
{
    char *all = user;
    const size_t used = strlen(all);
    assert_int_equal(level, FTH_LOG_WARNING);
    snprintf(all + used, MAX_TEXT - used, "%s\n", text);
}

/* Runs a kernel and looks for missing waits. A kernel with mapa runs in a cluster of two blocks.
 * `text` receives the findings. */
static enum fth_status run_kernel(const char *code, enum fth_copy_order order, char text[MAX_TEXT],
                                  struct fth_error *error)
{
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffer;
    unsigned char arguments[136];
    const uint32_t blocks = strstr(code, "mapa") ? 2 : 1;
    const struct fth_log log = {.message = keep_message, .user = text};
    text[0] = '\0';
    if (fth_ptx_read_text("test.ptx", code, strlen(code), &module, error) != FTH_OK)
        fail_msg("%s\n%s", error->cause, error->excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 4096, &buffer, NULL), FTH_OK);
    const struct fth_ptx_tensor_map map = {.type = FTH_TENSOR_U32,
                                           .rank = 2,
                                           .address = buffer,
                                           .sizes = {32, 32},
                                           .strides = {128},
                                           .element_strides = {1, 1},
                                           .box = {8, 4}};
    assert_int_equal(fth_ptx_tensor_map_encode(&map, arguments, NULL), FTH_OK);
    memcpy(arguments + 128, &buffer, 8);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {blocks},
                                          .cluster = {blocks},
                                          .block = {THREADS},
                                          .arguments = arguments,
                                          .argument_bytes = sizeof arguments,
                                          .max_instructions = 100000,
                                          .log = &log,
                                          .copy_order = order,
                                          .check_async = true};
    const enum fth_status status = fth_ptx_run(machine, &launch, NULL, error);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return status;
}

/* Runs a kernel in each order of copies. If `expected` is NULL, nothing may be found; otherwise one
 * finding, which contains the text. */
static void check_kernel(const char *name, const char *code, const char *expected)
{
    for (int order = FTH_COPY_LATE; order <= FTH_COPY_RANDOM; order++) {
        char text[MAX_TEXT];
        struct fth_error error = NO_ERROR;
        const enum fth_status status = run_kernel(code, (enum fth_copy_order)order, text, &error);
        const char *end = strchr(text, '\n');
        if (!expected && (status != FTH_OK || text[0]))
            fail_msg("%s, order %d: %s: %s", name, order, error.cause, text);
        if (!expected)
            continue;
        if (status != FTH_INVALID || !end || end[1] || !strstr(text, expected))
            fail_msg("%s, order %d: not '%s', but %s: %s", name, order, expected, error.cause,
                     text);
        assert_contains(error.cause, "1 pair of instructions race");
        assert_contains(text, "kernel 'k': line ");
    }
}

/* A kernel in two parts with something between them that must not be missing. */
struct hazard {
    const char *name;
    const char *correct, *faulty;
    const char *expected; /* in the finding */
};
/* The statements BEFORE, MISSING and AFTER are the correct kernel. */
#define LACKS(BEFORE, MISSING, AFTER) KERNEL(BEFORE MISSING AFTER), KERNEL(BEFORE AFTER)
/* The correct kernel has other statements in place of those of the faulty one. */
#define DIFFERS(BEFORE, RIGHT, WRONG, AFTER) KERNEL(BEFORE RIGHT AFTER), KERNEL(BEFORE WRONG AFTER)

static void check_hazards(const struct hazard *hazards, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_kernel(hazards[i].name, hazards[i].correct, NULL);
        check_kernel(hazards[i].name, hazards[i].faulty, hazards[i].expected);
    }
}

/* ---- cp.async ---- */

#define COPY "cp.async.ca.shared.global [%r1], [%rd2], 16;\n"
#define COMMIT "cp.async.commit_group;\n"
#define WAIT "cp.async.wait_group 0;\n"
#define READ_OWN "ld.shared.u32 %r5, [%r1];\n"
#define READ_OTHER "ld.shared.u32 %r5, [%r3];\n"
#define BARRIER "bar.sync 0;\n"

static void copies_of_threads(void **state)
{
    (void)state;
    static const struct hazard hazards[] = {
        {"read", LACKS(COPY COMMIT, WAIT, READ_OWN),
         "read of 4 bytes at shared address 0x0, which line 11 (cp.async.ca.shared.global) may not "
         "have written yet; missing in between: cp.async.wait_group or a wait for its mbarrier "
         "(128 times)"},
        {"no group", DIFFERS(COPY, "cp.async.wait_all;\n", WAIT, READ_OWN),
         "(ld.shared.u32), block (0,0,0), thread (0,0,0): read of 4 bytes"},
        {"wrong group", DIFFERS(COPY COMMIT, WAIT, "cp.async.wait_group 1;\n", READ_OWN),
         "may not have written yet"},
        {"write", LACKS(COPY COMMIT, WAIT, "st.shared.u32 [%r1+12], %r10;\n"),
         "write of 4 bytes at shared address 0xc, which line 11"},
        {"atomic", LACKS(COPY COMMIT, WAIT, "red.shared.add.u32 [%r1], 1;\n"),
         "atomic access of 4 bytes at shared address 0x0, which line 11"},
        {"source", LACKS(COPY COMMIT, WAIT, "st.global.u32 [%rd2], %r10;\n"),
         "which line 11 (cp.async.ca.shared.global) may not have read yet; missing in between: "
         "cp.async.wait_group"},
        {"second copy", LACKS(COPY COMMIT, WAIT, COPY COMMIT WAIT),
         "asynchronous write of 16 bytes at shared address 0x0"},
        {"other thread", LACKS(COPY COMMIT WAIT, BARRIER, READ_OTHER),
         "which line 11 (cp.async.ca.shared.global) has written; missing in between: a barrier "
         "after the wait"},
        {"barrier, but no wait", LACKS(COPY COMMIT, WAIT, BARRIER READ_OTHER),
         "may not have written yet"},
    };
    check_hazards(hazards, FTH_COUNT(hazards));
}

/* Bytes beside a copy, and reads of its source, are no race. */
static void neighbours_are_no_race(void **state)
{
    (void)state;
    check_kernel("beside",
                 KERNEL("cp.async.ca.shared.global [%r1], [%rd2], 4;\n" COMMIT
                        "st.shared.u32 [%r1+4], %r10; ld.shared.u32 %r5, [%r1+12];\n"
                        "ld.global.u32 %r5, [%rd2]; st.global.u32 [%rd2+8], %r10;\n" WAIT),
                 NULL);
}

/* ---- mbarriers ---- */

#define INIT                                                                                       \
    "@p0 mbarrier.init.shared.b64 [m], 1;\n"                                                       \
    "fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define LOAD                                                                                       \
    "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [m], 1024;\n"                                     \
    "@p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], 1024, "    \
    "[m];\n"
/* Adds a copy to the phase. */
#define MORE                                                                                       \
    "@p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [m], 1024;\n"                                   \
    "@p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], 1024, "    \
    "[m];\n"
/* Waits for the first phase of the mbarrier. */
#define WAIT_PHASE                                                                                 \
    "{ .reg .pred q; again: mbarrier.try_wait.parity.shared.b64 q, [m], 0; @!q bra again; }\n"
#define SECOND_PHASE                                                                               \
    "{ .reg .pred q; again: mbarrier.try_wait.parity.shared.b64 q, [m], 1; @!q bra again; }\n"
#define TENSOR_LOAD                                                                                \
    "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [m], 128;\n"                                      \
    "@p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], "   \
    "[%rd9, {%r10, %r11}], [m];\n"
/* Thread 0 stores 16 bytes in block 0 of the cluster. */
#define STORE_ASYNC                                                                                \
    "mov.u32 %r8, m; mapa.shared::cluster.u32 %r8, %r8, 0; mov.u32 %r9, 0;\n"                      \
    "mapa.shared::cluster.u32 %r9, %r9, 0;\n"                                                      \
    "setp.eq.u32 p3, %r20, 0; and.pred p4, p0, p3; not.pred p5, p3; and.pred p5, p0, p5;\n"        \
    "@p4 mbarrier.arrive.expect_tx.shared.b64 _, [m], 4;\n"                                        \
    "barrier.cluster.arrive; barrier.cluster.wait;\n"                                              \
    "@p5 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], %r10, [%r8];\n"     \
    "barrier.cluster.arrive; barrier.cluster.wait; @!p3 bra done;\n"
#define DONE "done: barrier.cluster.arrive; barrier.cluster.wait;\n"

static void counted_copies(void **state)
{
    (void)state;
    static const struct hazard hazards[] = {
        {"read", LACKS(INIT LOAD "@!p0 bra done;\n", WAIT_PHASE, READ_OWN "done: " WAIT_PHASE),
         "read of 4 bytes at shared address 0x0, which line 14 "
         "(cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes) may not have written "
         "yet; missing in between: a wait for its mbarrier"},
        {"tensor",
         LACKS(INIT TENSOR_LOAD "@!p0 bra done;\n", WAIT_PHASE, READ_OWN "done: " WAIT_PHASE),
         "(cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes) may "
         "not have written yet"},
        {"write",
         LACKS(INIT LOAD "@!p0 bra done;\n", WAIT_PHASE,
               "st.shared.u32 [%r1+1020], %r10;\n"
               "done: " WAIT_PHASE),
         "write of 4 bytes at shared address 0x3fc"},
        {"second copy",
         DIFFERS(INIT LOAD, WAIT_PHASE BARRIER LOAD SECOND_PHASE, MORE WAIT_PHASE, ""),
         "asynchronous write of 1024 bytes at shared address 0x0"},
        {"end", LACKS(INIT LOAD, WAIT_PHASE, BARRIER),
         "line 14 (cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes), block "
         "(0,0,0), thread (0,0,0): the block ends, and with it its shared memory, while the copy "
         "is in flight; missing in between: a wait for its mbarrier"},
        {"st.async", LACKS(INIT STORE_ASYNC, WAIT_PHASE, "@p0 " READ_OWN WAIT_PHASE DONE),
         "read of 4 bytes at shared address 0x0, which line 18 (st.async.weak"},
        {"cp.async with an mbarrier",
         LACKS("@p0 mbarrier.init.shared.b64 [m], 128;\n"
               "bar.sync 0;\n" COPY "cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n",
               WAIT_PHASE, READ_OTHER WAIT_PHASE),
         "which line 13 (cp.async.ca.shared.global) may not have written yet"},
    };
    check_hazards(hazards, FTH_COUNT(hazards));
}

/* ---- copies to global memory ---- */

#define WRITE "st.shared.u32 [%r1], %r10;\n"
#define FENCE "fence.proxy.async.shared::cta;\n"
#define STORE "@p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 1024;\n"
#define TENSOR_STORE                                                                               \
    "@p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd9, {%r10, %r11}], [s];\n"
#define COMMIT_BULK "@p0 cp.async.bulk.commit_group;\n"
#define WAIT_READ "@p0 cp.async.bulk.wait_group.read 0;\n"
#define WAIT_BULK "@p0 cp.async.bulk.wait_group 0;\n"

static void copies_to_global_memory(void **state)
{
    (void)state;
    static const struct hazard hazards[] = {
        {"proxy", LACKS(WRITE, FENCE, BARRIER STORE COMMIT_BULK WAIT_READ),
         "asynchronous read of 16 bytes at shared address 0x0, which line 11 (st.shared.u32) has "
         "written; missing in between: fence.proxy.async (64 times)"},
        {"proxy, reading side",
         LACKS(WRITE BARRIER, "@p0 " FENCE, TENSOR_STORE COMMIT_BULK WAIT_READ),
         "missing in between: fence.proxy.async"},
        {"fence of some warps",
         DIFFERS(WRITE, FENCE, "@p0 " FENCE, BARRIER STORE COMMIT_BULK WAIT_READ),
         "0x200, which line 11 (st.shared.u32) has written; missing in between: fence.proxy.async"},
        {"source", LACKS(STORE COMMIT_BULK, WAIT_READ BARRIER, WRITE WAIT_READ),
         "which line 11 (cp.async.bulk.global.shared::cta.bulk_group) may not have read yet; "
         "missing in between: cp.async.bulk.wait_group.read"},
        {"source, other thread", LACKS(STORE COMMIT_BULK WAIT_READ, BARRIER, "@!p0 " WRITE),
         "has read; missing in between: a barrier after the wait"},
        {"end", LACKS(STORE COMMIT_BULK, WAIT_READ, BARRIER), "the block ends"},
        {"destination",
         DIFFERS(STORE COMMIT_BULK, WAIT_BULK, WAIT_READ, "@p0 ld.global.u32 %r5, [%rd0+1020];"),
         "at global address 0x7f00002003fc, which line 11 "
         "(cp.async.bulk.global.shared::cta.bulk_group) may not have written yet; missing in "
         "between: cp.async.bulk.wait_group"},
    };
    check_hazards(hazards, FTH_COUNT(hazards));
    /* Two reductions in the same place may be in any order. */
    check_kernel(
        "reductions",
        KERNEL("@p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [s], 512;\n"
               "@p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [s], 512;\n"
               "@p0 red.global.add.u32 [%rd0], 1;\n" COMMIT_BULK WAIT_READ),
        NULL);
}

/* ---- wgmma ---- */

/* A has 64 rows and 16 columns of f16, at address 0 in parts of 8 rows; B is at 2048. */
#define DESCRIPTORS "mov.b64 %rd10, 0x1000080000; mov.b64 %rd11, 0x1000080080;\n"
#define WGMMA_FENCE "wgmma.fence.sync.aligned;\n"
#define PRODUCT                                                                                    \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, 1, 1, 1, " \
    "0, 0;\n"
#define PRODUCT_OF_REGISTERS                                                                       \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, "     \
    "%rd11, 1, 1, 1, 0;\n"
#define COMMIT_WGMMA "wgmma.commit_group.sync.aligned;\n"
#define WAIT_WGMMA "wgmma.wait_group.sync.aligned 0;\n"
#define ISSUE DESCRIPTORS WGMMA_FENCE PRODUCT COMMIT_WGMMA

static void products_in_flight(void **state)
{
    (void)state;
    static const struct hazard hazards[] = {
        {"result", LACKS(ISSUE, WAIT_WGMMA, "add.f32 %f5, %f3, %f4;\n" WAIT_WGMMA),
         "line 15 (add.f32), block (0,0,0), thread (0,0,0): reads the accumulator of line 13 "
         "(wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16), which is in flight; missing in "
         "between: wgmma.wait_group (4 times)"},
        {"moved result",
         LACKS(ISSUE "mov.b32 %r4, %f0; mov.b32 {%h0, %h1}, %r4; mov.b16 %h2, %h0;\n", WAIT_WGMMA,
               "add.u16 %h3, %h2, 1;\n" WAIT_WGMMA),
         "(add.u16), block (0,0,0), thread (0,0,0): reads the accumulator of line 13"},
        {"wrong group",
         DIFFERS(ISSUE, WAIT_WGMMA, "wgmma.wait_group.sync.aligned 1;\n",
                 "st.global.f32 [%rd2], %f0;\n" WAIT_WGMMA),
         "(st.global.f32), block (0,0,0), thread (0,0,0): reads the accumulator of line 13"},
        {"accumulator", LACKS(ISSUE, WAIT_WGMMA, "cvt.rn.f32.u32 %f0, %r0;\n" WAIT_WGMMA),
         "writes the accumulator of line 13"},
        {"A in registers",
         LACKS(DESCRIPTORS WGMMA_FENCE PRODUCT_OF_REGISTERS COMMIT_WGMMA, WAIT_WGMMA,
               "add.u32 %r5, %r5, 1;\n" WAIT_WGMMA),
         "writes a register of A of line 13"},
        {"A in shared memory", LACKS(ISSUE, WAIT_WGMMA, "st.shared.u32 [%r1], %r10;\n" WAIT_WGMMA),
         "write of 4 bytes at shared address 0x0, which line 13 "
         "(wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16) may not have read yet; missing in "
         "between: wgmma.wait_group"},
        {"B", LACKS(ISSUE, WAIT_WGMMA, "@p0 st.shared.u32 [%r1+2300], %r10;\n" WAIT_WGMMA),
         "write of 4 bytes at shared address 0x8fc, which line 13"},
    };
    check_hazards(hazards, FTH_COUNT(hazards));
}

static void fences_of_products(void **state)
{
    (void)state;
    static const struct hazard hazards[] = {
        {"none", LACKS(DESCRIPTORS, WGMMA_FENCE, PRODUCT COMMIT_WGMMA WAIT_WGMMA),
         "missing before the first wgmma.mma_async: wgmma.fence"},
        {"accumulator",
         LACKS(DESCRIPTORS WGMMA_FENCE "add.f32 %f2, %f2, %f2;\n", WGMMA_FENCE,
               PRODUCT COMMIT_WGMMA WAIT_WGMMA),
         "line 13 (add.f32) has written one of its registers; missing in between: wgmma.fence"},
        {"A in registers",
         LACKS(DESCRIPTORS WGMMA_FENCE "cvt.u32.u64 %r4, %rd0;\n", WGMMA_FENCE,
               PRODUCT_OF_REGISTERS COMMIT_WGMMA WAIT_WGMMA),
         "line 13 (cvt.u32.u64) has written one of its registers; missing in between: wgmma.fence"},
        {"shared memory", LACKS("st.shared.u32 [%r1], %r10;\n", FENCE, BARRIER ISSUE WAIT_WGMMA),
         "which line 11 (st.shared.u32) has written; missing in between: fence.proxy.async"},
    };
    check_hazards(hazards, FTH_COUNT(hazards));
    /* Products of the same shape may use an accumulator one after the other. A wait for all groups
     * but the last one completes the others. Compilers move zeros into an accumulator after the
     * fence. */
    check_kernel("chain",
                 KERNEL(ISSUE "mov.b32 %r4, %f0; mov.b32 %f0, %r4;\n" PRODUCT PRODUCT COMMIT_WGMMA
                              "wgmma.wait_group.sync.aligned 1;\n" PRODUCT COMMIT_WGMMA WAIT_WGMMA
                              "mov.f32 %f0, 0f00000000;\n" PRODUCT COMMIT_WGMMA WAIT_WGMMA
                              "st.global.f32 [%rd2], %f0;\n"),
                 NULL);
}

/* ---- findings ---- */

/* The findings do not depend on the number of host threads, and only some of them are logged. */
static void findings_are_limited(void **state)
{
    (void)state;
    char code[8192], text[MAX_TEXT], *at = code;
    struct fth_error error = NO_ERROR;
    at += snprintf(at, 4096, "%s", KERNEL(COPY COMMIT));
    at = strstr(code, "\nret;");
    for (int i = 0; i < 25; i++)
        at += snprintf(at, 64, "\n%s", READ_OWN);
    snprintf(at, 64, "ret;\n}\n");
    assert_int_equal(run_kernel(code, FTH_COPY_LATE, text, &error), FTH_INVALID);
    assert_contains(error.cause, "25 pairs of instructions race");
    assert_contains(text, "kernel 'k': 5 more findings\n");
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 21);
}

/* The table holds 8192 operations at a time; more than that follow each other here. */
static void copies_that_are_complete_are_forgotten(void **state)
{
    (void)state;
    static const char code[] = KERNEL(
        "mov.u32 %r21, 2200;\nloop: " COPY COMMIT WAIT BARRIER
        "sub.u32 %r21, %r21, 1; setp.ne.u32 p1, %r21, 0; @p1 bra loop;\n" COPY COMMIT READ_OWN);
    char text[MAX_TEXT];
    struct fth_error error = NO_ERROR;
    assert_int_equal(run_kernel(code, FTH_COPY_LATE, text, &error), FTH_INVALID);
    assert_contains(error.cause, "1 pair of instructions race");
    assert_contains(text, "may not have written yet");
    assert_contains(text, "(128 times)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_threads),
        cmocka_unit_test(neighbours_are_no_race),
        cmocka_unit_test(counted_copies),
        cmocka_unit_test(copies_to_global_memory),
        cmocka_unit_test(products_in_flight),
        cmocka_unit_test(fences_of_products),
        cmocka_unit_test(findings_are_limited),
        cmocka_unit_test(copies_that_are_complete_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
