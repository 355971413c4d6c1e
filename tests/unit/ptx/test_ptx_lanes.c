/* Tests of ptx/: which lanes of a warp take part, which registers an instruction writes, barriers,
 * asynchronous copies and local memory. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>
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

/* Lanes load different arguments, with an address in the first register. */
static void lanes_load_different_arguments(void **state)
{
    (void)state;
    uint32_t expected[32];
    for (uint32_t i = 0; i < 32; i++)
        expected[i] = i % 2 ? 7 : 5;
    expect_words(HEAD ".visible .entry k(.param .u64 out, .param .align 8 .b8 pair[8]) {\n"
                      ".reg .b64 %x; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
                      "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 1; mul.wide.u32 %rd1, %r1, 4;\n"
                      "mov.u64 %x, pair; add.u64 %x, %x, %rd1; ld.param.u32 %r2, [%x];\n"
                      "mul.wide.u32 %rd1, %r0, 4; ld.param.u64 %rd0, [out];\n"
                      "add.u64 %rd0, %rd0, %rd1; st.global.u32 [%rd0], %r2; ret; }\n",
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

/* ---- blocks ---- */

/* Runs the kernel k(.param .u64 out) with this grid, cluster and block. Returns the 1,024 words
 * that it can write, or fails with `cause` if that is not NULL. */
static void run_blocks(const char *text, const uint32_t sizes[3], uint32_t words[1024],
                       const char *cause)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    uint64_t buffer = 0;
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 4096, &buffer, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {sizes[0]},
                                          .cluster = {sizes[1]},
                                          .block = {sizes[2]},
                                          .arguments = &buffer,
                                          .argument_bytes = sizeof buffer,
                                          .max_instructions = 1000000};
    const enum fth_status status = fth_ptx_run(machine, &launch, NULL, &error);
    if (status != (cause ? FTH_INVALID : FTH_OK))
        fail_msg("status %d: %s", (int)status, error.cause);
    if (cause)
        assert_string_equal(error.cause, cause);
    memcpy(words, fth_ptx_host(machine, buffer, 4096), 4096);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

#define REGISTERS                                                                                  \
    ".reg .pred %p<6>; .reg .b32 %r<12>; .reg .b64 %rd<6>;\nld.param.u64 %rd0, [out];\n"
#define KERNEL(BODY)                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {\n"        \
    ".shared .align 16 .b8 s[256];\n" REGISTERS BODY "\nret;\n}\n"
/* Stores %r9 in the word of the thread. */
#define STORE                                                                                      \
    "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mad.lo.u32 %r10, %r10, %r11, %tid.x;\n"        \
    "mad.wide.u32 %rd0, %r10, 4, %rd0; st.global.u32 [%rd0], %r9;\n"

/* One block of a cluster is late. The others must not pass the barrier before it has stored its
 * value, whichever block it is. */
static void the_cluster_waits_for_each_block(void **state)
{
    (void)state;
    for (uint32_t late = 0; late < 4; late++) {
        char text[2048];
        static const char pattern[] =
            KERNEL("mov.u32 %r0, %cluster_ctarank; setp.ne.u32 %p0, %r0, LATE; @%p0 bra arrive;\n"
                   "mov.u32 %r1, 0;\n"
                   "again: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20000; @%p1 bra again;\n"
                   "st.shared.u32 [s], 77;\n"
                   "arrive: barrier.cluster.arrive; barrier.cluster.wait;\n"
                   "mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, LATE;\n"
                   "ld.shared::cluster.u32 %r9, [%r3];\n"
                   "barrier.cluster.arrive; barrier.cluster.wait;\n" STORE);
        uint32_t words[1024];
        const char *from = pattern;
        *text = '\0';
        for (const char *place; (place = strstr(from, "LATE")); from = place + 4)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%u", (int)(place - from),
                     from, late);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s", from);
        run_blocks(text, (uint32_t[]){8, 4, 2}, words, NULL);
        for (size_t i = 0; i < 16; i++)
            assert_int_equal(words[i], 77);
    }
}

/* 70 threads, of which 24 have a true predicate. */
static void reductions_count_the_threads_of_a_block(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint32_t result;
    } rows[] = {
        {"bar.red.popc.u32 %r9, 1, %p0;", 24},
        {"bar.red.popc.u32 %r9, 1, !%p0;", 46},
        {"bar.red.and.pred %p1, 1, %p0; selp.u32 %r9, 5, 6, %p1;", 6},
        {"bar.red.or.pred %p1, 1, %p0; selp.u32 %r9, 5, 6, %p1;", 5},
        {"bar.red.and.pred %p1, 1, %p2; selp.u32 %r9, 5, 6, %p1;", 5},
        {"bar.red.or.pred %p1, 1, !%p2; selp.u32 %r9, 5, 6, %p1;", 6},
        {"bar.red.popc.u32 %r9, 15, 96, %p0;", 24},
        /* one thread of the last warp differs from all others */
        {"setp.eq.u32 %p0, %r0, 69; bar.red.or.pred %p1, 1, %p0; selp.u32 %r9, 5, 6, %p1;", 5},
        {"setp.eq.u32 %p0, %r0, 69; bar.red.and.pred %p1, 1, !%p0; selp.u32 %r9, 5, 6, %p1;", 6},
        {"setp.eq.u32 %p0, %r0, 69; bar.red.popc.u32 %r9, 1, %p0;", 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        uint32_t words[1024];
        static const char pattern[] =
            KERNEL("mov.u32 %r0, %tid.x; rem.u32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 0;\n"
                   "setp.lt.u32 %p2, %r0, 70; BODY\n" STORE);
        const char *place = strstr(pattern, "BODY");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pattern), pattern, rows[i].body,
                 place + 4);
        run_blocks(text, (uint32_t[]){1, 1, 70}, words, NULL);
        for (size_t k = 0; k < 70; k++)
            if (words[k] != rows[i].result)
                fail_msg("%s thread %zu: %u", rows[i].body, k, words[k]);
        assert_int_equal(words[70], 0);
    }
}

/* Pairs of warps wait at different barriers. In each pair, the second warp is late: it loops, and
 * stores a value that the first one reads after the barrier. */
static void barriers_are_independent(void **state)
{
    (void)state;
    static const char *const waits[] = {"bar.sync %r2, 64;\n",
                                        /* The late warp only arrives. */
                                        "@%p1 bar.sync %r2, 64;\n@!%p1 bar.arrive %r2, 64;\n"};
    for (size_t i = 0; i < FTH_COUNT(waits); i++) {
        char text[2048];
        uint32_t words[1024];
        static const char pattern[] =
            KERNEL("mov.u32 %r0, %warpid; shr.u32 %r2, %r0, 1; and.b32 %r1, %r0, 1;\n"
                   "mov.u32 %r3, s; mad.lo.u32 %r3, %r2, 4, %r3; setp.eq.u32 %p1, %r1, 0;\n"
                   "@%p1 bra meet;\nmov.u32 %r4, 0;\n"
                   "again: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 9000; @%p2 bra again;\n"
                   "add.u32 %r5, %r2, 50; st.shared.u32 [%r3], %r5;\n"
                   "meet: WAIT ld.shared.u32 %r9, [%r3];\n" STORE);
        const char *place = strstr(pattern, "WAIT");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pattern), pattern, waits[i],
                 place + 4);
        run_blocks(text, (uint32_t[]){2, 1, 128}, words, NULL);
        for (size_t k = 0; k < 256; k++)
            assert_int_equal(words[k], 50 + k % 128 / 64);
    }
    /* Threads that have exited do not take part. */
    uint32_t words[1024];
    run_blocks(KERNEL("mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 40; @%p0 exit;\n"
                      "bar.sync 0; mov.u32 %r9, 3;\n" STORE),
               (uint32_t[]){1, 1, 96}, words, NULL);
    for (size_t k = 0; k < 96; k++)
        assert_int_equal(words[k], k < 40 ? 3 : 0);
}

/* Lanes of different paths meet at different instructions bar.warp.sync. */
static void lanes_meet_at_different_barriers(void **state)
{
    (void)state;
    uint32_t words[1024];
    run_blocks(KERNEL("mov.u32 %r0, %laneid; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;\n"
                      "setp.lt.u32 %p0, %r0, 20; @%p0 bra low;\n"
                      "st.shared.u32 [%r2], 5; bar.warp.sync -1; ld.shared.u32 %r9, [%r1];\n"
                      "bra join;\n"
                      "low: add.u32 %r3, %r0, 60; st.shared.u32 [%r2], %r3; bar.warp.sync -1;\n"
                      "ld.shared.u32 %r9, [%r1+124];\njoin:\n" STORE),
               (uint32_t[]){1, 1, 32}, words, NULL);
    for (size_t k = 0; k < 32; k++)
        assert_int_equal(words[k], k < 20 ? 5 : 60);
    /* A mask of some lanes only. */
    run_blocks(KERNEL("mov.u32 %r0, %laneid; setp.ge.u32 %p0, %r0, 8; @%p0 bra others;\n"
                      "bar.warp.sync 0xff; activemask.b32 %r9; bra join;\n"
                      "others: mov.u32 %r9, 1;\njoin:\n" STORE),
               (uint32_t[]){1, 1, 32}, words, NULL);
    for (size_t k = 0; k < 32; k++)
        assert_int_equal(words[k], k < 8 ? 0xff : 1);
}

/* The first register of a kernel is the destination of an instruction. The buffer begins with the
 * words 41, 42, 43 and 44. */
static void the_first_register_can_be_a_destination(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        uint32_t value;
    } rows[] = {
        {"ld.global.u32 %a, [%rd0+4];", 42},
        {"ld.global.v2.u32 {%a, _}, [%rd0+8];", 43},
        {"ld.global.v2.u32 {_, %a}, [%rd0+8];", 44},
        {"atom.global.add.u32 %a, [%rd0], 1;", 41},
        {"atom.global.cas.b32 %a, [%rd0], 41, 9;", 41},
        {"mov.u32 %a, %ntid.x;", 1},
        {"mov.b64 {%a, _}, 0x700000005;", 5},
        {"mov.b64 {_, %a}, 0x700000005;", 7},
        {"shfl.sync.idx.b32 %a, 6, 0, 31, 1;", 6},
        {"vote.sync.ballot.b32 %a, %p0, 1;", 1},
        {"match.any.sync.b32 %a, 3, 1;", 1},
        {"redux.sync.add.u32 %a, 8, 1;", 8},
        {"activemask.b32 %a;", 1},
        {"bar.red.popc.u32 %a, 0, %p0;", 1},
        {"set.lt.u32.u32 %a, 1, 2;", 0xffffffff},
        {"selp.u32 %a, 4, 5, %p0;", 4},
        {"cvt.u32.u16 %a, 9;", 9},
        {"add.u32 %a, 2, 3;", 5},
        {"call (%a), f, (11);", 22},
        {"getctarank.shared::cluster.u32 %a, 0;", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        uint32_t words[1024];
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_90\n.address_size 64\n"
                 ".func (.reg .b32 y) f(.reg .b32 x) { add.u32 y, x, x; ret; }\n"
                 ".visible .entry k(.param .u64 out) {\n.reg .b32 %%a;\n%s"
                 "setp.eq.u32 %%p0, 1, 1; mov.u32 %%a, 99;\n"
                 "st.global.v4.u32 [%%rd0], {41, 42, 43, 44};\n%s\n"
                 "st.global.u32 [%%rd0+64], %%a; ret; }\n",
                 REGISTERS, rows[i].statement);
        run_blocks(text, (uint32_t[]){1, 1, 1}, words, NULL);
        if (words[16] != rows[i].value)
            fail_msg("%s: %u", rows[i].statement, words[16]);
    }
}

/* ---- asynchronous copies ---- */

/* Copies from the buffer to shared memory and back. The bytes beyond the size are zeros. */
static void asynchronous_copies_have_three_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *sizes;
        uint32_t words[4];
        const char *cause;
    } rows[] = {
        {"4", {0x101, 0, 0, 0}, NULL},
        {"8", {0x101, 0x202, 0, 0}, NULL},
        {"16", {0x101, 0x202, 0x303, 0x404}, NULL},
        {"16, 0", {0, 0, 0, 0}, NULL},
        {"16, 5", {0x101, 0x02, 0, 0}, NULL},
        {"16, 16", {0x101, 0x202, 0x303, 0x404}, NULL},
        {"8, 20", {0x101, 0x202, 0, 0}, NULL},
        {"12",
         {0},
         "line 10 (cp.async.ca.shared.global), block (0,0,0), thread (0,0,0): cp.async of 12 "
         "bytes; "
         "it must be 4, 8 or 16"},
        {"7",
         {0},
         "line 10 (cp.async.ca.shared.global), block (0,0,0), thread (0,0,0): cp.async of 7 bytes; "
         "it must be 4, 8 or 16"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        uint32_t words[1024];
        static const char pattern[] =
            KERNEL("st.global.v4.u32 [%rd0], {0x101, 0x202, 0x303, 0x404}; mov.u32 %r1, s;\n"
                   "st.shared.v4.u32 [s+32], {0, 0, 0, 0};\n"
                   "cp.async.ca.shared.global [%r1+32], [%rd0], SIZES;\n"
                   "cp.async.commit_group; cp.async.wait_group 0;\n"
                   "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s+32];\n"
                   "st.global.v4.u32 [%rd0+64], {%r2, %r3, %r4, %r5};");
        const char *place = strstr(pattern, "SIZES");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(place - pattern), pattern, rows[i].sizes,
                 place + 5);
        run_blocks(text, (uint32_t[]){1, 1, 1}, words, rows[i].cause);
        if (!rows[i].cause)
            assert_memory_equal(words + 16, rows[i].words, 16);
    }
}

/* ---- local memory ---- */

/* The local memory of a function begins at a multiple of 16 bytes after that of its caller. */
static void frames_have_their_own_local_memory(void **state)
{
    (void)state;
    static const struct {
        unsigned bytes; /* of the kernel */
        uint32_t address;
    } rows[] = {{1, 16}, {4, 16}, {15, 16}, {16, 16}, {17, 32}, {32, 32}, {33, 48}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        uint32_t words[1024];
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_90\n.address_size 64\n"
                 ".func (.reg .b64 y) f() { .local .b32 z; mov.u64 y, z; st.local.u32 [z], 9; "
                 "ret; }\n"
                 ".visible .entry k(.param .u64 out) {\n.local .align 1 .b8 l[%u];\n%s"
                 "st.local.u8 [l], 7; call (%%rd1), f; cvt.u32.u64 %%r9, %%rd1;\n"
                 "st.global.u32 [%%rd0], %%r9; ld.local.u8 %%r9, [l];\n"
                 "st.global.u32 [%%rd0+4], %%r9; ret; }\n",
                 rows[i].bytes, REGISTERS);
        run_blocks(text, (uint32_t[]){1, 1, 1}, words, NULL);
        assert_int_equal(words[0], rows[i].address);
        assert_int_equal(words[1], 7);
    }
}

/* The registers and predicates of each warp are 0 at first, although a warp takes the memory of an
 * earlier one, which has changed them. */
static void registers_are_zero_at_first(void **state)
{
    (void)state;
    uint32_t words[1024];
    run_blocks(KERNEL("selp.u32 %r9, 100, 40, %p3; add.u32 %r9, %r9, %r7;\n" STORE
                      "mov.u32 %r7, 5; setp.eq.u32 %p3, %r7, 5;"),
               (uint32_t[]){8, 1, 64}, words, NULL);
    for (size_t i = 0; i < 512; i++)
        assert_int_equal(words[i], 40);
}

/* ---- registers of 128 bits, and atomic operations on vectors ---- */

/* Lanes 0 to 7 run; %rd0 is the address of the lane's 16 bytes of the output, %rd1 that of all. */
#define WIDE(BODY)                                                                                 \
    HEAD ".visible .entry k(.param .u64 out, .param .align 8 .b8 pair[8]) {\n"                     \
         ".reg .pred p; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b128 %q<4>;\n"   \
         ".reg .f32 %f<9>;\n"                                                                      \
         "mov.u32 %r0, %laneid; setp.gt.u32 p, %r0, 7; @p exit; mul.wide.u32 %rd0, %r0, 16;\n"     \
         "ld.param.u64 %rd1, [out]; add.u64 %rd0, %rd0, %rd1;\n" BODY " ret; }\n"
#define FIRST_LANE "setp.ne.u32 p, %r0, 0; @p exit;\n"

static void halves_are_moved(void **state)
{
    (void)state;
    uint32_t expected[32] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        expected[(size_t)4 * i] = 256 + i;
        expected[(size_t)4 * i + 2] = 512 + i;
    }
    static const char lanes[] =
        "cvt.u64.u32 %rd2, %r0; add.u64 %rd3, %rd2, 512; add.u64 %rd2, %rd2, 256;\n";
    static const char *const moves[] = {
        "mov.b128 %q0, {%rd2, %rd3}; st.global.b128 [%rd0], %q0;",
        "mov.b128 %q0, {%rd2, %rd3}; mov.b128 %q1, %q0; st.global.v2.u64 [%rd0], {%rd2, %rd3};\n"
        "mov.b128 {%rd4, %rd5}, %q1; st.global.v2.u64 [%rd0], {%rd4, %rd5};",
        /* both halves are read before one is written */
        "mov.b128 %q0, {%rd3, %rd2}; mov.b128 {%rd2, %rd3}, {%rd3, %rd2};\n"
        "mov.b128 %q0, {%rd3, %rd2}; st.global.b128 [%rd0], %q0;",
        "mov.b128 %q0, {%rd2, %rd2}; mov.b128 %q1, {%rd3, %rd3}; mov.b128 {%rd4, _}, %q0;\n"
        "mov.b128 {_, %rd5}, %q1; st.global.v2.u64 [%rd0], {%rd4, %rd5};",
        "mov.b128 %q0, {%rd2, %rd3}; st.global.b128 [%rd0], %q0; ld.global.b128 %q2, [%rd0];\n"
        "mov.b128 %q0, {%rd3, %rd3}; st.global.b128 [%rd0], %q0; st.global.b128 [%rd0], %q2;",
    };
    const char *whole = WIDE("BODY"), *body = strstr(whole, "BODY");
    for (size_t i = 0; i < FTH_COUNT(moves); i++) {
        char text[2048];
        snprintf(text, sizeof text, "%.*s%s%s%s", (int)(body - whole), whole, lanes, moves[i],
                 body + 4);
        expect_words(text, expected);
    }
}

static void wide_words_are_exchanged(void **state)
{
    (void)state;
    /* What is stored at last, and what was there before each operation. */
    static const uint32_t expected[32] = {7, 0, 8, 0, 0, 0, 0, 0, 1, 0,
                                          2, 0, 1, 0, 2, 0, 3, 0, 2, 0};
    expect_words(
        WIDE(
            FIRST_LANE
            "mov.u64 %rd2, 0; mov.u64 %rd3, 1; mov.u64 %rd4, 2; mov.u64 %rd5, 3; mov.u64 %rd6, 7;\n"
            "mov.u64 %rd7, 8; mov.b128 %q0, {%rd2, %rd2}; mov.b128 %q1, {%rd3, %rd4};\n"
            "atom.acq_rel.gpu.global.cas.b128 %q2, [%rd1], %q0, %q1; st.global.b128 [%rd1+16], "
            "%q2;\n"
            /* The high half differs, then the low half. */
            "mov.b128 %q0, {%rd3, %rd5}; mov.b128 %q3, {%rd6, %rd6};\n"
            "atom.global.cas.b128 %q2, [%rd1], %q0, %q3; st.global.b128 [%rd1+32], %q2;\n"
            "mov.b128 %q0, {%rd5, %rd4}; atom.global.b128.cas %q2, [%rd1], %q0, %q3;\n"
            "st.global.b128 [%rd1+48], %q2;\n"
            "mov.b128 %q0, {%rd3, %rd4}; atom.global.cas.b128 _, [%rd1], %q0, {%rd5, %rd4};\n"
            "mov.b128 %q0, {%rd6, %rd7};\n"
            "atom.global.exch.b128 %q0, [%rd1], %q0; st.global.b128 [%rd1+64], %q0;"),
        expected);
}

static void vectors_are_updated(void **state)
{
    (void)state;
    /* Words 0 to 3: 8 lanes add 1, 2, 3 and 4. Words 4 to 7: what lane 7 found there. */
    static const uint32_t sums[32] = {0x41000000, 0x41800000, 0x41c00000, 0x42000000,  /* 8 to 32 */
                                      0x40e00000, 0x41600000, 0x41a80000, 0x41e00000}; /* 7 to 28 */
    expect_words(
        WIDE("mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000; mov.f32 %f2, 0f40400000;\n"
             "mov.f32 %f3, 0f40800000;\n"
             "atom.global.v4.f32.add {%f4, %f5, %f6, %f7}, [%rd1], {%f0, %f1, %f2, %f3};\n"
             "setp.eq.u32 p, %r0, 7; @p st.global.v4.f32 [%rd1+16], {%f4, %f5, %f6, %f7};"),
        sums);
    /* Words 0 and 1: two sums. Words 4 and 5: halves, of which the larger and the smaller stay. */
    static const uint32_t halves[32] = {0x41000000, 0x41800000, 0, 0,          0x40003c00,
                                        0xbc000000, 0,          0, 0x44004200, 0x48004600};
    expect_words(
        WIDE("mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000;\n"
             "red.relaxed.gpu.global.add.v2.f32 [%rd1], {%f0, %f1};\n" FIRST_LANE
             "mov.b16 %h0, 0x3c00; mov.b16 %h1, 0x4000; mov.b16 %h2, 0xbc00; mov.b16 %h3, 0;\n"
             "red.global.max.noftz.v2.f16 [%rd1+16], {%h0, %h1};\n"
             "red.global.max.noftz.v2.f16 [%rd1+16], {%h2, %h0};\n"
             "red.global.min.noftz.v2.f16 [%rd1+20], {%h0, %h2};\n"
             "mov.b32 %r1, 0x40003c00; mov.b32 %r2, 0x44004200;\n"
             "red.global.add.noftz.v2.f16x2 [%rd1+32], {%r1, %r2};\n"
             "mov.b32 %r2, 0x44004200; mov.b32 %r1, 0x40004000;\n"
             "red.global.add.noftz.v2.f16x2 [%rd1+32], {%r1, %r2};"),
        halves);
}

/* Operands of wide instructions, and whether they are accepted. */
static void wide_forms_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        bool accepted;
    } rows[] = {
        {"mov.b128 %q0, %q1;", true},
        {"mov.b128 %q0, %rd1;", false},
        {"mov.b128 %q0;", false},
        {"mov.b128 %q0, %q1, %q2;", false},
        {"atom.global.exch.b128 %q0, [%rd1], %q1;", true},
        {"atom.global.exch.b128 _, [%rd1], %q1;", true},
        {"atom.global.exch.b128 [%rd1], %q1;", false},
        {"atom.global.exch.b128 %rd0, [%rd1], %q1;", false},
        {"atom.global.exch.b128 %q0, [%rd1], %rd1;", false},
        {"atom.global.exch.b128 %q0, %rd1, %q1;", false},
        {"atom.global.exch.b128 %q0, [%rd1], %q1, %q2;", false},
        {"atom.global.cas.b128 %q0, [%rd1], %q1, %q2;", true},
        {"atom.global.cas.b128 %q0, [%rd1], %q1;", false},
        {"atom.global.add.b128 %q0, [%rd1], %q1;", false},
        {"atom.global.exch.v2.b128 %q0, [%rd1], %q1;", false},
        {"atom.global.exch.L2::cache_hint.b128 %q0, [%rd1], %q1, %rd2;", true},
        {"atom.global.exch.L2::cache_hint.b128 %q0, [%rd1], %q1;", false},
        {"red.global.add.v2.f32 [%rd1], {%f0, %f1};", true},
        {"red.global.add.v4.f32 [%rd1], {%f0, %f1};", false},
        {"red.global.add.v8.f32 [%rd1], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};", false},
        {"red.global.add.v8.f16 [%rd1], {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7};", true},
        {"red.global.max.v8.bf16 [%rd1], {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7};", true},
        {"red.global.min.v4.f16x2 [%rd1], {%r0, %r1, %r2, %r3};", true},
        {"red.global.add.v4.bf16x2 [%rd1], {%r0, %r1, %r2, %r3};", true},
        {"red.global.add.v8.f16x2 [%rd1], {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};", false},
        {"red.global.min.v2.f32 [%rd1], {%f0, %f1};", false},
        {"red.global.max.v2.f32 [%rd1], {%f0, %f1};", false},
        {"red.global.exch.v2.f16 [%rd1], {%h0, %h1};", false},
        {"red.global.v2.f16 [%rd1], {%h0, %h1};", false},
        {"red.global.add.v2 [%rd1], {%r0, %r1};", false},
        {"red.global.add.v2.u32 [%rd1], {%r0, %r1};", false},
        {"red.global.add.v3.f32 [%rd1], {%f0, %f1, %f2};", false},
        {"red.global.add.v2.f32 {%f0, %f1}, [%rd1], {%f0, %f1};", false},
        {"red.global.add.L2::cache_hint.v2.f32 [%rd1], {%f0, %f1}, %rd2;", true},
        {"atom.global.add.v2.f32 {%f2, %f3}, [%rd1], {%f0, %f1};", true},
        {"atom.global.add.v2.f32 {_, %f3}, [%rd1], {%f0, %f1};", true},
        {"atom.global.add.v2.f32 {%f2, %f3}, [%rd1], {%f0, _};", false},
        {"atom.global.add.v2.f32 {%f2, %f3, %f4, %f5}, [%rd1], {%f0, %f1};", false},
    };
    const char *whole = WIDE("BODY"), *body = strstr(whole, "BODY");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(body - whole), whole, rows[i].statement,
                 body + 4);
        if (is_refused(text, strlen(text), &error) == rows[i].accepted)
            fail_msg("%s: %s", rows[i].statement, error.cause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_arguments_are_loaded),
        cmocka_unit_test(lanes_load_different_arguments),
        cmocka_unit_test(lanes_that_wait_at_a_shuffle_take_part_in_it),
        cmocka_unit_test(the_cluster_waits_for_each_block),
        cmocka_unit_test(reductions_count_the_threads_of_a_block),
        cmocka_unit_test(barriers_are_independent),
        cmocka_unit_test(lanes_meet_at_different_barriers),
        cmocka_unit_test(the_first_register_can_be_a_destination),
        cmocka_unit_test(asynchronous_copies_have_three_sizes),
        cmocka_unit_test(frames_have_their_own_local_memory),
        cmocka_unit_test(registers_are_zero_at_first),
        cmocka_unit_test(halves_are_moved),
        cmocka_unit_test(wide_words_are_exchanged),
        cmocka_unit_test(vectors_are_updated),
        cmocka_unit_test(wide_forms_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
