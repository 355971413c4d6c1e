/* Tests of ptx/cost/: machine instructions and cycles of PTX, which instructions are merged, and
 * how soon a warp needs the result of a load. The expected numbers are counted by hand from what
 * ptxas 13.0 makes of the code for sm_90. */
#include "check.h"
#include "ptx/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>

/* With the target `debug`, the assembler removes no loads. */
#define HEAD                                                                                       \
    ".version 8.4\n.target sm_90, debug\n.address_size 64\n.func other(.reg .f32 x) { ret; }\n"    \
    ".visible .entry k(.param .u64 in) {\n"
#define REGISTERS                                                                                  \
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<16>;\n"  \
    ".reg .f64 %d<8>; .shared .align 16 .b8 s[256];\n"

static struct fth_ptx_module *parse(const char *body)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    char text[4096];
    snprintf(text, sizeof text, "%s%s\nret; }\n", HEAD REGISTERS "START:\n", body);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, text);
    return module;
}

static const struct fth_ptx_function *kernel_of(const struct fth_ptx_module *module)
{
    return &module->functions[module->function_count - 1];
}

/* ---- merged instructions ---- */

static const struct {
    const char *body;
    uint64_t instructions; /* without the two ret at the end, of which the parser adds one */
} sums[] = {
    /* single instructions */
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", 1},
    {"mov.b32 %r1, %r2;", 0},
    {"mov.u32 %r1, %tid.x;", 1},
    {"cvta.to.global.u64 %rd1, %rd2;", 0},
    {"add.s64 %rd1, %rd2, %rd3;", 2},
    {"add.s32 %r1, %r2, %r3;", 1},
    {"ld.global.f32 %f1, [%rd1];", 1},
    {"ld.param.u64 %rd1, [in];", 1},
    {"@%p1 bra START;", 1},
    {"bar.sync 0;", 1},
    /* IMAD and LEA */
    {"mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5; mov.b32 %r6, %r4;", 1},
    {"shl.b32 %r1, %r2, 2; add.s32 %r4, %r1, %r5; mov.b32 %r6, %r4;", 1},
    /* both results are needed */
    {"mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5; st.global.u32 [%rd1], %r1;", 3},
    /* a product that is used in another block */
    {"mul.lo.s32 %r1, %r2, %r3; NEXT: add.s32 %r4, %r1, %r5; @%p1 bra NEXT;", 3},
    /* an instruction with a guard */
    {"@%p1 mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;", 2},
    /* a register with two values */
    {"mul.lo.s32 %r1, %r2, %r3; add.s32 %r1, %r1, %r5;", 2},
    /* IMAD.WIDE */
    {"mul.wide.s32 %rd1, %r1, 4; add.s64 %rd2, %rd3, %rd1; ld.global.u32 %r2, [%rd2];", 2},
    {"mul.wide.s32 %rd1, %r1, 4; add.s64 %rd2, %rd3, %rd1; add.s64 %rd4, %rd5, %rd1;", 2},
    {"mul.wide.s32 %rd1, %r1, 4; add.s64 %rd2, %rd3, %rd1; NEXT: add.s64 %rd2, %rd2, %rd1;"
     "@%p1 bra NEXT;",
     3},
    {"mul.wide.s32 %rd1, %r1, 4; add.s64 %rd2, %rd3, %rd1; st.global.u64 [%rd2], %rd1;", 3},
    /* LEA.HI.X.SX32 */
    {"cvt.s64.s32 %rd1, %r1; add.s64 %rd2, %rd3, %rd1; add.s64 %rd4, %rd5, %rd1;", 4},
    {"cvt.s64.s32 %rd1, %r1; add.s64 %rd2, %rd3, %rd1; st.global.u64 [%rd2], %rd1;", 4},
    /* LEA and LEA.HI.X */
    {"shl.b64 %rd1, %rd2, 2; add.s64 %rd3, %rd1, %rd4; ld.global.u32 %r1, [%rd3];", 3},
    /* IADD3 adds three numbers */
    {"add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5; mov.b32 %r6, %r4;", 1},
    {"add.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5; add.s32 %r6, %r4, %r7; mov.b32 %r8, %r6;", 2},
    /* LOP3 */
    {"and.b32 %r1, %r2, %r3; or.b32 %r4, %r1, %r5; mov.b32 %r6, %r4;", 1},
    {"not.b32 %r1, %r2; and.b32 %r3, %r1, %r4; xor.b32 %r5, %r3, %r6; mov.b32 %r7, %r5;", 2},
    /* a comparison that is combined with a predicate */
    {"setp.lt.s32 %p1, %r1, %r2; and.pred %p3, %p1, %p2; @%p3 bra START;", 2},
    {"and.pred %p3, %p1, %p2; @%p3 bra START;", 2},
    /* signs of operands */
    {"neg.f32 %f1, %f2; add.rn.f32 %f3, %f1, %f4;", 1},
    {"neg.f32 %f1, %f2; st.global.f32 [%rd1], %f1;", 2},
    {"neg.s32 %r1, %r2; add.s32 %r3, %r1, %r4; mov.b32 %r5, %r3;", 1},
    {"neg.s32 %r1, %r2; mad.lo.s32 %r3, %r1, %r4, %r5;", 2},
    /* a constant offset of an address */
    {"add.s64 %rd1, %rd2, 512; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1+4], %r1;", 2},
    {"add.s64 %rd1, %rd2, 512; ld.global.u32 %r1, [%rd1]; st.global.u64 [%rd3], %rd1;", 4},
    {"add.s64 %rd1, %rd2, %rd3; ld.global.u32 %r1, [%rd1];", 3},
    /* LDS.128 */
    {"ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f2, [%r1+4]; ld.shared.f32 %f3, [%r1+8];"
     "ld.shared.f32 %f4, [%r1+12];",
     1},
    {"ld.shared.f32 %f1, [%r1+12]; ld.shared.f32 %f2, [%r1]; ld.shared.f32 %f3, [%r2+8];"
     "ld.shared.f32 %f4, [%r1+8]; ld.shared.f32 %f5, [%r1+16]; ld.shared.f32 %f6, [%r1+4];",
     3},
    {"ld.shared.f32 %f1, [%r1+4]; ld.shared.f32 %f2, [%r1+8]; ld.shared.f32 %f3, [%r1+12];"
     "ld.shared.f32 %f4, [%r1+16];",
     4},
    {"ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f2, [%r1]; ld.shared.f32 %f3, [%r1];"
     "ld.shared.f32 %f4, [%r1];",
     4},
    {"ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f2, [%r1+4]; add.s32 %r1, %r1, %r2;"
     "ld.shared.f32 %f3, [%r1+8]; ld.shared.f32 %f4, [%r1+12];",
     5},
    {"ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f2, [%r1+4]; bar.sync 0;"
     "ld.shared.f32 %f3, [%r1+8]; ld.shared.f32 %f4, [%r1+12];",
     5},
    {"ld.shared.f64 %d1, [%r1]; ld.shared.f64 %d2, [%r1+8];", 2},
    /* a divisor that does not change in a loop, one that does, and a division outside of a loop */
    {"mov.u32 %r5, %tid.x; NEXT: div.u32 %r1, %r1, %r5; rem.s32 %r2, %r2, 10; @%p1 bra NEXT;", 21},
    {"NEXT: add.s32 %r5, %r5, 1; div.u32 %r1, %r1, %r5; @%p1 bra NEXT;", 20},
    {"div.u32 %r1, %r1, %r5;", 18},
    /* A product that the engine fuses with a sum has no effect. */
    {"mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5; st.global.f32 [%rd1], %f4;", 2},
};

static void counts_machine_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(sums); i++) {
        struct fth_ptx_module *module = parse(sums[i].body);
        const struct fth_ptx_function *function = kernel_of(module);
        const struct fth_ptx_cost *costs = function->costs;
        const uint64_t got = costs[function->code_count - 2].instructions;
        if (got != sums[i].instructions)
            fail_msg("%llu instructions, not %llu: %s", (unsigned long long)got,
                     (unsigned long long)sums[i].instructions, sums[i].body);
        fth_ptx_destroy(module);
    }
}

/* ---- chains of dependent instructions ---- */

static const struct {
    const char *body;
    uint64_t cycles; /* until the last instruction of the body can start */
} chains[] = {
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", 0},
    {"fma.rn.f32 %f1, %f2, %f3, %f4; fma.rn.f32 %f5, %f1, %f3, %f4;", 4},
    {"fma.rn.f32 %f1, %f2, %f3, %f4; fma.rn.f32 %f5, %f2, %f3, %f4;", 0},
    {"fma.rn.f32 %f1, %f1, %f3, %f4; fma.rn.f32 %f1, %f1, %f3, %f4; fma.rn.f32 %f1, %f1, %f3, %f4;",
     8},
    /* the latest start counts, not that of the last instruction */
    {"fma.rn.f32 %f1, %f2, %f3, %f4; fma.rn.f32 %f5, %f1, %f3, %f4; mov.b32 %r1, %r2;", 4},
    {"fma.rn.f64 %d1, %d2, %d3, %d4; fma.rn.f64 %d5, %d1, %d3, %d4;", 8},
    {"ld.shared.f32 %f1, [%r1]; fma.rn.f32 %f2, %f1, %f3, %f4;", 23},
    /* the duration of an access to global memory is not part of it */
    {"ld.global.f32 %f1, [%rd1]; fma.rn.f32 %f2, %f1, %f3, %f4;", 0},
    /* the guard is an operand */
    {"setp.lt.s32 %p1, %r1, %r2; @%p1 fma.rn.f32 %f1, %f2, %f3, %f4;", 4},
    /* two blocks: 4 and 8 cycles */
    {"fma.rn.f32 %f1, %f2, %f3, %f4; fma.rn.f32 %f5, %f1, %f3, %f4;"
     "NEXT: fma.rn.f32 %f1, %f5, %f3, %f4; fma.rn.f32 %f1, %f1, %f3, %f4;"
     "fma.rn.f32 %f1, %f1, %f3, %f4; @%p1 bra NEXT;",
     12},
};

static void adds_latencies_of_dependent_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(chains); i++) {
        struct fth_ptx_module *module = parse(chains[i].body);
        const struct fth_ptx_function *function = kernel_of(module);
        const uint64_t got = function->costs[function->code_count - 2].cycles;
        if (got != chains[i].cycles)
            fail_msg("%llu cycles, not %llu: %s", (unsigned long long)got,
                     (unsigned long long)chains[i].cycles, chains[i].body);
        fth_ptx_destroy(module);
    }
}

/* ---- weights ---- */

/* Some rows of the table, and instructions that no row names. */
static const struct {
    const char *instruction;
    uint32_t instructions, cycles;
} weights[] = {
    {"add.f32 %f1, %f2, %f3;", 1, 4},
    {"fma.rn.f64 %d1, %d2, %d3, %d4;", 1, 8},
    {"ex2.approx.ftz.f32 %f1, %f2;", 1, 17},
    {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", 1, 20},
    {"atom.shared.add.u32 %r1, [%r2], %r3;", 1, 28},
    {"atom.shared.cas.b32 %r1, [%r2], %r3, %r4;", 1, 34},
    {"atom.shared.add.f64 %d1, [%r2], %d2;", 8, 111},
    {"atom.shared.add.u64 %rd1, [%r2], %rd2;", 8, 108},
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", 1, 24},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r3, %r4, %r5}, [%r2];", 1, 31},
    {"ld.const.u32 %r1, [%rd1];", 1, 30},
    {"mul.lo.s64 %rd1, %rd2, %rd3;", 4, 16},
    {"st.global.f32 [%rd1], %f1;", 1, 0},
};

static void knows_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(weights); i++) {
        struct fth_ptx_module *module = parse(weights[i].instruction);
        const struct fth_ptx_weight got = fth_ptx_weigh(&kernel_of(module)->code[0]);
        if (got.instructions != weights[i].instructions || got.cycles != weights[i].cycles)
            fail_msg("%u instructions, %u cycles: %s", got.instructions, got.cycles,
                     weights[i].instruction);
        fth_ptx_destroy(module);
    }
}

/* ---- waits ---- */

#define NEVER UINT32_MAX
#define LOAD "ld.global.f32 %f1, [%rd1];"
#define STAGE "st.shared.f32 [%r1], %f1;"
#define OTHERS "fma.rn.f32 %f10, %f11, %f12, %f13; fma.rn.f32 %f14, %f11, %f12, %f13;"

/* The wait of the first load or copy of each body. */
static const struct {
    const char *body;
    uint32_t wait;
} waits[] = {
    /* a stored value, an address and a branch stall the warp */
    {LOAD "st.global.f32 [%rd2], %f1;", 1},
    {LOAD OTHERS "st.global.f32 [%rd2], %f1;", 3},
    {"ld.global.u64 %rd3, [%rd1]; ld.global.f32 %f2, [%rd3];", 1},
    {"ld.global.u32 %r1, [%rd1]; setp.lt.s32 %p1, %r1, %r2;" OTHERS "@%p1 bra START;", 4},
    /* arithmetic does not, before the end of the block */
    {LOAD "fma.rn.f32 %f2, %f1, %f3, %f4;" OTHERS "bar.sync 0; st.global.f32 [%rd2], %f2;", 4},
    {LOAD "fma.rn.f32 %f2, %f1, %f3, %f4;" OTHERS "NEXT:" OTHERS "@%p1 bra NEXT;", 3},
    /* but what depends on the result does, if it is stored */
    {LOAD "fma.rn.f32 %f2, %f1, %f3, %f4; st.global.f32 [%rd2], %f2;" OTHERS, 2},
    /* a store to shared memory does so after the last load of the block that can be moved ahead */
    {LOAD STAGE, 1},
    {LOAD STAGE OTHERS "bar.sync 0;", 1},
    {LOAD STAGE "ld.global.f32 %f2, [%rd2]; st.shared.f32 [%r2], %f2; bar.sync 0;", 3},
    {LOAD "fma.rn.f32 %f1, %f1, %f3, %f4;" STAGE OTHERS "ld.global.f32 %f2, [%rd2];", 6},
    {LOAD STAGE OTHERS "bar.sync 0; ld.global.f32 %f2, [%rd2];", 1},
    {LOAD STAGE OTHERS "NEXT: ld.global.f32 %f2, [%rd2]; @%p1 bra NEXT;", 1},
    {LOAD STAGE "st.global.f32 [%rd2], %f2; ld.global.f32 %f2, [%rd2];", 1},
    {LOAD STAGE "ld.shared.f32 %f3, [%r2]; ld.global.f32 %f2, [%rd2];", 4},
    {"ld.global.u64 %rd3, [%rd1]; st.shared.u64 [%r1], %rd3; ld.global.f32 %f2, [%rd3];", 1},
    /* never, if nothing uses it, or after it is overwritten in all lanes */
    {LOAD OTHERS, NEVER},
    {LOAD "mov.f32 %f1, %f2; st.global.f32 [%rd2], %f1;", NEVER},
    {LOAD "@%p1 mov.f32 %f1, %f2; st.global.f32 [%rd2], %f1;", 1},
    /* a load with a guard; a guard that depends on it */
    {"@%p1 ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1;", 1},
    {"ld.global.u32 %r1, [%rd1]; setp.lt.s32 %p1, %r1, %r2; @%p1 st.global.f32 [%rd2], %f1;", 2},
    /* a branch forward is not followed; one without a condition is */
    {LOAD "@%p1 bra NEXT; fma.rn.f32 %f2, %f1, %f3, %f4;" OTHERS "st.global.f32 [%rd2], %f2;"
          "NEXT: bar.sync 0;",
     5},
    {LOAD "bra NEXT; fma.rn.f32 %f2, %f1, %f3, %f4; NEXT:" OTHERS "st.global.f32 [%rd2], %f1;", 4},
    /* a loop that uses the result in its next iteration, and one that only loads it again */
    {"NEXT: fma.rn.f32 %f2, %f1, %f3, %f2;" OTHERS LOAD "@%p1 bra NEXT;", 5},
    {"NEXT:" LOAD OTHERS "@%p1 bra NEXT;", 4},
    /* a loop that ends without using it */
    {LOAD "NEXT:" OTHERS "@%p1 bra NEXT; st.global.f32 [%rd2], %f1;", 7},
    {LOAD "NEXT: bra NEXT;", NEVER},
    /* a barrier alone does not wait for a load, a fence and a call do */
    {LOAD "bar.sync 0;" OTHERS "st.global.f32 [%rd2], %f1;", 4},
    {LOAD OTHERS "membar.gl;" OTHERS, 6},
    {LOAD OTHERS "call other, (%f2);" OTHERS, 3},
    /* targets that depend on a register are unknown */
    {LOAD "T: .branchtargets START; brx.idx %r1, T;", NEVER},
    /* shared memory and atomics */
    {"ld.shared.f32 %f1, [%r1];" OTHERS "st.global.f32 [%rd2], %f1;", 3},
    {"atom.global.add.f32 %f1, [%rd1], %f2;" OTHERS "st.global.f32 [%rd2], %f1;", 3},
    {"red.global.add.f32 [%rd1], %f2; st.global.f32 [%rd2], %f2;", NEVER},
    /* copies: the warp waits for their group */
    {"cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 0;",
     2},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1;",
     NEVER},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group;"
     "cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1;",
     4},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4;" OTHERS "cp.async.wait_all;", 3},
};

static void finds_the_first_use_of_a_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(waits); i++) {
        struct fth_ptx_module *module = parse(waits[i].body);
        const struct fth_ptx_inst *inst = kernel_of(module)->code;
        while (!inst->operands->accesses)
            inst++;
        if (inst->operands->wait != waits[i].wait)
            fail_msg("%u, not %u: %s", inst->operands->wait, waits[i].wait, waits[i].body);
        fth_ptx_destroy(module);
    }
}

/* Code that is longer than what is followed. */
static void the_distance_has_a_limit(void **state)
{
    (void)state;
    static const char one[] = "fma.rn.f32 %f3, %f4, %f5, %f6;\n";
    for (size_t count = 1000; count <= 1100; count += 100) {
        char *text = calloc(1, 4096 + count * sizeof one);
        struct fth_ptx_module *module = NULL;
        assert_non_null(text);
        strcpy(text, HEAD REGISTERS LOAD);
        for (size_t i = 0; i < count; i++)
            strcat(text, one);
        strcat(text, "st.global.f32 [%rd2], %f1; ret; }\n");
        assert_int_equal(fth_ptx_read_text("t", text, strlen(text), &module, NULL), FTH_OK);
        assert_int_equal(kernel_of(module)->code[0].operands->wait,
                         count == 1000 ? 1001 : UINT32_MAX);
        fth_ptx_destroy(module);
        free(text);
    }
}

/* ---- execution ---- */

/* What the observer sees at each store: machine instructions of the warp, two of which are at the
 * start of each kernel, and cycles. */
struct seen {
    uint64_t issued[8], cycles[8];
    size_t count;
};

static bool store_cost(void *user, const struct fth_ptx_access *access)
{
    struct seen *seen = user;
    if (access->kind != FTH_ACCESS_WRITE || seen->count == FTH_COUNT(seen->issued))
        return true;
    seen->issued[seen->count] = access->issued;
    seen->cycles[seen->count++] = access->cycles;
    return true;
}

static struct seen run(const char *body, bool skip_data)
{
    struct fth_ptx_module *module = parse(body);
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = NO_ERROR;
    struct seen seen = {.count = 0};
    uint64_t buffer;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, NULL), FTH_OK);
    const struct fth_ptx_observer observer = {
        .user = &seen, .takes_linear = true, .access = store_cost};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {32, 1, 1},
                                          .arguments = &buffer,
                                          .argument_bytes = sizeof buffer,
                                          .skip_data = skip_data,
                                          .observer = &observer};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, body);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return seen;
}

#define STORE "st.global.u32 [%rd1], %r1;"
#define CHAIN "fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f1, %f1, %f2, %f3;"

static const struct {
    const char *body;
    size_t count;
    uint64_t issued[4], cycles[4];
} runs[] = {
    {"ld.param.u64 %rd1, [in];" CHAIN STORE, 1, {6}, {4}},
    /* a loop of four iterations: each has a chain, an addition, a store, a comparison, a branch */
    {"ld.param.u64 %rd1, [in]; mov.u32 %r1, 0;"
     "NEXT:" CHAIN "add.s32 %r1, %r1, 1;" STORE "setp.lt.s32 %p1, %r1, 4; @%p1 bra NEXT;",
     4,
     {7, 13, 19, 25},
     {4, 12, 20, 28}},
    /* the lanes diverge: the warp executes both sides, one after the other */
    {"ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 4; @%p1 bra LOW;" CHAIN
     "bra BOTH; LOW:" CHAIN CHAIN "BOTH: bar.warp.sync -1;" STORE,
     1,
     {15},
     {29}}, /* 13 of tid, setp and bra, 4 of one chain, 12 of the other */
    /* lanes whose guard is false do not execute it, but the warp issues it */
    {"ld.param.u64 %rd1, [in]; mov.u32 %r1, 0; setp.gt.u32 %p1, %r1, 4; @%p1 " CHAIN STORE,
     1,
     {7},
     {8}},
};

/* The costs are those of the instructions that the warp executes, also if a launch without data
 * skips most of them. */
static void warps_add_up_what_they_execute(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(runs); i++)
        for (int skip = 0; skip < 2; skip++) {
            const struct seen seen = run(runs[i].body, skip);
            assert_int_equal(seen.count, runs[i].count);
            for (size_t k = 0; k < seen.count; k++)
                if (seen.issued[k] != runs[i].issued[k] || seen.cycles[k] != runs[i].cycles[k])
                    fail_msg("store %zu: %llu instructions, %llu cycles: %s", k,
                             (unsigned long long)seen.issued[k], (unsigned long long)seen.cycles[k],
                             runs[i].body);
        }
}

/* ---- local variables in registers ---- */

static const struct {
    const char *body;  /* `v` is a local array of 64 bytes */
    bool in_registers; /* all accesses of the kernel to it are */
} variables[] = {
    {"st.local.u32 [v], %r1; ld.local.u32 %r2, [v+4];", true},
    {"mov.u64 %rd1, v; add.s64 %rd2, %rd1, 16; st.local.v4.u32 [%rd2+16], {%r1, %r1, %r1, %r1};",
     true},
    {"mov.u64 %rd1, v; cvta.local.u64 %rd2, %rd1; sub.s64 %rd3, %rd2, -4; st.u32 [%rd3], %r1;"
     "ld.u32 %r2, [%rd2+8];",
     true},
    {"@%p1 st.local.u32 [v], %r1;", true},
    /* the position depends on a register */
    {"mov.u64 %rd1, v; add.s64 %rd2, %rd1, %rd3; st.local.u32 [%rd2], %r1;"
     "ld.local.u32 %r2, [%rd1];",
     false},
    {"mov.u64 %rd1, v; NEXT: st.local.u32 [%rd1], %r1; add.s64 %rd1, %rd1, 4; @%p1 bra NEXT;",
     false},
    {"mov.u64 %rd1, v; add.s64 %rd2, %rd1, 4; selp.b64 %rd3, %rd1, %rd2, %p1;"
     "ld.local.u32 %r1, [%rd3];",
     false},
    {"mov.u64 %rd1, v; @%p1 mov.u64 %rd1, %rd2; ld.local.u32 %r1, [%rd1];", false},
    /* the address is stored, or passed to a function */
    {"mov.u64 %rd1, v; st.local.u64 [%rd1], %rd1;", false},
    {"mov.u64 %rd1, v; st.global.u64 [%rd2], %rd1; ld.local.u32 %r1, [%rd1];", false},
    {"mov.u64 %rd1, v; { .param .b64 x; st.param.b64 [x], %rd1; } ld.local.u32 %r1, [%rd1];",
     false},
    {"mov.u64 %rd1, v; call takes, (%rd1); ld.local.u32 %r1, [%rd1];", false},
    /* every access must take place */
    {"ld.volatile.local.u32 %r1, [v];", false},
};

/* Returns how many accesses of the kernel are to local memory, and how many of these are in
 * registers. */
static size_t count_accesses(const char *target, const char *body, size_t *in_registers)
{
    char text[4096];
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    size_t count = 0;
    snprintf(text, sizeof text,
             ".version 8.4\n.target %s\n.address_size 64\n.func takes(.reg .b64 x) { ret; }\n"
             ".visible .entry k() {\n%s.local .align 16 .b8 v[64];\n%s\nret; }\n",
             target, REGISTERS, body);
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, text);
    const struct fth_ptx_function *function = kernel_of(module);
    *in_registers = 0;
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        count += inst->operands->accesses &&
                 (inst->space == FTH_SPACE_LOCAL || inst->space == FTH_SPACE_GENERIC);
        *in_registers += inst->operands->in_registers;
    }
    fth_ptx_destroy(module);
    return count;
}

static void knows_variables_in_registers(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(variables); i++) {
        size_t found;
        const size_t count = count_accesses("sm_90", variables[i].body, &found);
        if (found != (variables[i].in_registers ? count : 0))
            fail_msg("%zu of %zu accesses: %s", found, count, variables[i].body);
        /* With the modifier debug, variables stay in memory. */
        count_accesses("sm_90, debug", variables[i].body, &found);
        assert_int_equal(found, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_machine_instructions),
        cmocka_unit_test(adds_latencies_of_dependent_instructions),
        cmocka_unit_test(knows_weights),
        cmocka_unit_test(finds_the_first_use_of_a_load),
        cmocka_unit_test(the_distance_has_a_limit),
        cmocka_unit_test(warps_add_up_what_they_execute),
        cmocka_unit_test(knows_variables_in_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
