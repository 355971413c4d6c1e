/* Tests registers that are linear in the lane (slice/linear.c of the PTX engine): random kernels
 * must make the same accesses without data as in a full execution, for blocks of several shapes.
 * The kernels compute indices with the instructions that keep registers linear, and with some that
 * do not, on paths that diverge. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>

enum { NARROW = 8, WIDE = 6, WORDS = 1 << 14, STEPS = 30, MAX_TEXT = 1 << 16 };

/* ---- random kernels ---- */

struct program {
    char text[MAX_TEXT];
    size_t size;
    struct fth_rng rng;
    unsigned labels;
};

FTH_PRINTF(2, 3)
static void emit(struct program *program, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size =
        vsnprintf(program->text + program->size, MAX_TEXT - program->size, format, arguments);
    va_end(arguments);
    assert_true(size >= 0 && (size_t)size < MAX_TEXT - program->size);
    program->size += (size_t)size;
}

static unsigned below(struct program *program, unsigned limit)
{
    return (unsigned)fth_rng_below(&program->rng, limit);
}

/* Instructions with numbers instead of registers: D and A, B are registers of 32 bits, X and Y, Z
 * of 64 bits, N is a small number, P a predicate, and C a comparison. */
static const char *const patterns[] = {"add.s32 D, A, B",
                                       "add.s32 D, A, N",
                                       "sub.s32 D, A, B",
                                       "sub.s32 D, N, A",
                                       "neg.s32 D, A",
                                       "mul.lo.s32 D, A, N",
                                       "mul.lo.s32 D, A, B",
                                       "mad.lo.s32 D, A, N, B",
                                       "mad.lo.u32 D, A, %q, B",
                                       "shl.b32 D, A, N",
                                       "shl.b32 D, A, %q",
                                       "min.s32 D, A, B",
                                       "max.u32 D, A, N",
                                       "min.u32 D, A, %q",
                                       "mov.u32 D, A",
                                       "mov.u32 D, N",
                                       "mov.u32 D, %tid.x",
                                       "mov.u32 D, %tid.y",
                                       "mov.u32 D, %tid.z",
                                       "mov.u32 D, %laneid",
                                       "mov.u32 D, %warpid",
                                       "and.b32 D, A, N",
                                       "xor.b32 D, A, B",
                                       "shr.u32 D, %q, N",
                                       "div.u32 D, %q, N",
                                       "rem.u32 D, A, N",
                                       "selp.b32 D, A, B, P",
                                       "cvt.u32.u64 D, Y",
                                       "mul.wide.s32 X, A, N",
                                       "mul.wide.u32 X, A, N",
                                       "mad.wide.s32 X, A, N, Y",
                                       "mad.wide.u32 X, A, B, Y",
                                       "cvt.s64.s32 X, A",
                                       "cvt.u64.u32 X, A",
                                       "cvt.s64.u32 X, A",
                                       "add.s64 X, Y, Z",
                                       "sub.s64 X, Y, Z",
                                       "shl.b64 X, Y, N",
                                       "mul.lo.s64 X, Y, N",
                                       "max.s64 X, Y, Z",
                                       "min.u64 X, Y, Z",
                                       "mov.u64 X, Y",
                                       "setp.C.s32 P, A, B",
                                       "setp.C.s32 P, A, N",
                                       "setp.C.u32 P, A, B",
                                       "setp.C.s64 P, Y, Z",
                                       "setp.C.u64 P, Y, Z",
                                       "setp.C.and.s32 P, A, N, P",
                                       "ld.param.u32 D, [n]",
                                       "setp.C.u32 P, %q, N",
                                       "mul.hi.u32 D, A, N"};

/* Adds an instruction, sometimes with a guard. */
static void add_instruction(struct program *program)
{
    static const char *const signed_comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const char *pattern = patterns[below(program, FTH_COUNT(patterns))];
    if (below(program, 6) == 0)
        emit(program, "@%s%%p%u ", below(program, 2) ? "!" : "", below(program, 4));
    for (const char *at = pattern; *at; at++)
        switch (*at) {
        case 'A':
        case 'B':
        case 'D': emit(program, "%%r%u", below(program, NARROW)); break;
        case 'X':
        case 'Y':
        case 'Z': emit(program, "%%w%u", below(program, WIDE)); break;
        case 'N':
            emit(program, "%d", (int)below(program, 9) - (strchr(pattern, '%') ? 0 : 3));
            break;
        case 'P': emit(program, "%%p%u", below(program, 4)); break;
        case 'C': emit(program, "%s", signed_comparisons[below(program, 6)]); break;
        default: emit(program, "%c", *at);
        }
    emit(program, ";\n");
}

/* Adds accesses whose addresses show the value of a register: of all lanes, and, without further
 * arithmetic, of those whose value is small. */
static void add_accesses(struct program *program)
{
    const unsigned wide = below(program, WIDE);
    if (below(program, 2))
        emit(program, "cvt.%s %%w%u, %%r%u;\n", below(program, 2) ? "s64.s32" : "u64.u32", wide,
             below(program, NARROW));
    emit(program, "and.b64 %%t0, %%w%u, %d; shl.b64 %%t0, %%t0, 2; add.u64 %%t0, %%in, %%t0;\n",
         wide, WORDS - 1);
    emit(program, "ld.global.u32 %%z, [%%t0];\n");
    emit(program, "setp.lt.u64 %%s, %%w%u, %d; shl.b64 %%t1, %%w%u, 2;\n", wide, WORDS, wide);
    emit(program, "add.u64 %%t1, %%in, %%t1; @%%s st.global.u32 [%%t1], %%z;\n");
}

/* Adds instructions, some of them in branches and loops. */
static void add_body(struct program *program, unsigned depth)
{
    for (unsigned i = 0; i < (unsigned)STEPS >> depth; i++) {
        const unsigned choice = below(program, 16), label = program->labels;
        if (choice == 0 && depth < 2) {
            program->labels++;
            emit(program, "@%%p%u bra skip%u;\n", below(program, 4), label);
            add_body(program, depth + 1);
            emit(program, "skip%u:\n", label);
        } else if (choice == 1 && depth < 2) {
            program->labels++;
            emit(program, "mov.u32 %%c%u, 0;\nloop%u:\n", depth, label);
            add_body(program, depth + 1);
            emit(program, "add.u32 %%c%u, %%c%u, 1; and.b32 %%e, %%r%u, 3;\n", depth, depth,
                 below(program, NARROW));
            emit(program, "setp.lt.u32 %%s, %%c%u, %%e; @%%s bra loop%u;\n", depth, label);
        } else if (choice == 2 && below(program, 8) == 0) {
            emit(program, "@%%p%u ret;\n", below(program, 4));
        } else if (choice < 5) {
            add_accesses(program);
        } else {
            add_instruction(program);
        }
    }
}

static void make_program(struct program *program, uint64_t seed)
{
    *program = (struct program){.size = 0};
    fth_rng_init(&program->rng, seed);
    emit(program, ".version 8.0\n.target sm_90\n.address_size 64\n"
                  ".visible .entry k(.param .u64 buffer, .param .u32 n)\n"
                  "{ .reg .pred %%p<4>, %%s; .reg .b32 %%r<8>, %%q, %%z, %%e, %%c<2>;\n"
                  "  .reg .b64 %%w<6>, %%in, %%t<2>;\n"
                  "  ld.param.u64 %%in, [buffer]; ld.param.u32 %%q, [n];\n"
                  "  mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%tid.y; mov.u32 %%r3, %%ctaid.x;\n"
                  "  mad.lo.s32 %%r4, %%r2, 7, %%r1; cvt.s64.s32 %%w1, %%r4;\n"
                  "  setp.lt.u32 %%p1, %%r1, 5; setp.eq.u32 %%p2, %%r2, 0;\n");
    add_body(program, 0);
    add_accesses(program);
    emit(program, "ret; }\n");
}

/* ---- observers ---- */

struct seen {
    uint64_t digest, accesses, linear;
};

static void add(struct seen *seen, uint64_t word)
{
    seen->digest = (seen->digest ^ word) * UINT64_C(0x100000001b3);
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct seen *seen = user;
    add(seen, access->who.block << 32 | access->who.warp);
    add(seen, (uint64_t)access->instruction << 32 | access->mask);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const struct fth_ptx_linear *linear = access->linear;
        add(seen, access->addresses ? access->addresses[lane]
                                    : linear->base + lane % access->row_lanes * linear->step +
                                          lane / access->row_lanes * linear->row_step);
    }
    seen->accesses++;
    seen->linear += access->addresses == NULL;
    return true;
}

/* ---- tests ---- */

static struct seen run(struct fth_ptx_machine *machine, const uint32_t block[3], uint64_t buffer,
                       bool skip_data, bool takes_linear)
{
    struct seen seen = {0};
    const struct fth_ptx_observer observer = {
        .user = &seen, .takes_linear = takes_linear, .access = on_access};
    const struct {
        uint64_t buffer;
        uint32_t n;
    } arguments = {buffer, 3};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {2, 1, 1},
                                          .block = {block[0], block[1], block[2]},
                                          .arguments = &arguments,
                                          .argument_bytes = 12,
                                          .max_instructions = 100000,
                                          .skip_data = skip_data,
                                          .observer = &observer};
    struct fth_ptx_totals totals;
    struct fth_error error = NO_ERROR;
    if (fth_ptx_run(machine, &launch, &totals, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    add(&seen, totals.warp_instructions);
    add(&seen, totals.thread_instructions);
    return seen;
}

static void accesses_are_the_same(void **state)
{
    (void)state;
    static const uint32_t blocks[][3] = {{32, 1, 1}, {64, 2, 1}, {16, 6, 1}, {8, 4, 3}, {2, 2, 8},
                                         {16, 1, 1}, {48, 1, 1}, {20, 3, 1}, {1, 32, 1}};
    uint64_t linear = 0, accesses = 0;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct program *program = malloc(sizeof *program);
        struct fth_ptx_module *module;
        struct fth_ptx_machine *machine;
        uint64_t buffer;
        struct fth_error error = NO_ERROR;
        make_program(program, seed);
        if (fth_ptx_read_text("test.ptx", program->text, program->size, &module, &error) != FTH_OK)
            fail_msg("%s\n%s", error.cause, error.excerpt);
        assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
        assert_int_equal(fth_ptx_alloc(machine, WORDS * sizeof(uint32_t), &buffer, NULL), FTH_OK);
        const uint32_t *block = blocks[seed % FTH_COUNT(blocks)];
        const struct seen full = run(machine, block, buffer, false, false);
        const struct seen sliced = run(machine, block, buffer, true, false);
        const struct seen compact = run(machine, block, buffer, true, true);
        if (sliced.digest != full.digest || compact.digest != full.digest)
            fail_msg("seed %llu, block %ux%ux%u: the accesses differ\n%s", (unsigned long long)seed,
                     block[0], block[1], block[2], program->text);
        linear += compact.linear;
        accesses += compact.accesses;
        fth_ptx_machine_destroy(machine);
        fth_ptx_destroy(module);
        free(program);
    }
    /* The test is worth something only if many addresses were linear, and many were not. */
    assert_true(linear > accesses / 10 && linear < accesses);
}

/* Lane 0 multiplies matrices whose other elements are in registers of lanes that do not take part.
 * Those registers are zero if the threads do not exist, and have the value of before the branch if
 * they wait. */
static void lanes_that_do_not_take_part_keep_their_registers(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 buffer, .param .u32 n)\n"
        "{ .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %w<3>;\n"
        "  ld.param.u64 %w0, [buffer]; mov.u32 %r0, %tid.x; mov.u32 %r1, 0x02020202;\n"
        "  setp.ne.u32 %p, %r0, 0; @%p bra done;\n"
        "  mov.u32 %r1, 0x01010101; mov.u32 %r2, 0x01010101;\n"
        "  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r3, %r4}, {%r2}, {%r1}, {%r5, %r5};\n"
        "  mad.wide.u32 %w1, %r3, 4, %w0; ld.global.u32 %r5, [%w1];\n"
        "  done: ret; }\n";
    for (uint32_t threads = 1; threads <= 32; threads *= 32) {
        const uint32_t block[] = {threads, 1, 1};
        struct fth_ptx_module *module;
        struct fth_ptx_machine *machine;
        uint64_t buffer;
        assert_int_equal(fth_ptx_read_text("test.ptx", text, strlen(text), &module, NULL), FTH_OK);
        assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
        assert_int_equal(fth_ptx_alloc(machine, 1024, &buffer, NULL), FTH_OK);
        const struct seen full = run(machine, block, buffer, false, false);
        const struct seen sliced = run(machine, block, buffer, true, false);
        assert_int_equal(full.accesses, 2);
        assert_true(sliced.digest == full.digest);
        fth_ptx_machine_destroy(machine);
        fth_ptx_destroy(module);
    }
}

/* The error of an access at base + tid.x * step + offset, for the threads from `first` on. The
 * buffer has 64 words. */
static void find_fault(int step, int offset, int first, bool skip_data, struct fth_error *error)
{
    char text[1000];
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    uint64_t buffer;
    struct seen seen = {0};
    const struct fth_ptx_observer observer = {
        .user = &seen, .takes_linear = true, .access = on_access};
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 buffer)\n"
             "{ .reg .pred %%p; .reg .b32 %%r; .reg .b64 %%w<3>;\n"
             "  ld.param.u64 %%w0, [buffer]; mov.u32 %%r, %%tid.x; setp.ge.s32 %%p, %%r, %d;\n"
             "  mul.wide.s32 %%w1, %%r, %d; add.s64 %%w2, %%w0, %%w1;\n"
             "  @%%p st.global.u32 [%%w2+%d], 1; ret; }\n",
             first, step, offset);
    assert_int_equal(fth_ptx_read_text("test.ptx", text, strlen(text), &module, NULL), FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, NULL), FTH_OK);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {32, 1, 1},
                                          .arguments = &buffer,
                                          .argument_bytes = sizeof buffer,
                                          .skip_data = skip_data,
                                          .observer = &observer};
    const enum fth_status status = fth_ptx_run(machine, &launch, NULL, error);
    assert_int_equal(status, error->status);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

static void faults_are_the_same(void **state)
{
    (void)state;
    static const struct {
        int step, offset, first;
        bool fails;
    } cases[] = {{4, 128, 0, false},  {4, 132, 0, true},   {4, 132, 1, true},
                 {4, -4, 1, false},   {4, -4, 0, true},    {8, 0, 0, false},
                 {8, 8, 0, true},     {-4, 124, 0, false}, {-4, 120, 0, true},
                 {-4, 252, 2, false}, {-8, 252, 0, false}, {-8, 248, 31, false},
                 {-8, 244, 31, true}, {6, 0, 0, true},     {6, 2, 31, false},
                 {0, 252, 0, false},  {0, 256, 0, true},   {1 << 30, 0, 0, true}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_error full = NO_ERROR, sliced = NO_ERROR;
        find_fault(cases[i].step, cases[i].offset, cases[i].first, false, &full);
        find_fault(cases[i].step, cases[i].offset, cases[i].first, true, &sliced);
        assert_string_equal(sliced.cause, full.cause);
        assert_int_equal(full.status != FTH_OK, cases[i].fails);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_the_same),
        cmocka_unit_test(lanes_that_do_not_take_part_keep_their_registers),
        cmocka_unit_test(faults_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
