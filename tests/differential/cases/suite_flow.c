/* Cases for constants, guarded instructions and branches: PTX ISA, "Constants", "Predicated
 * Execution" and "Control Flow Instructions". */
#include "../suite.h"

struct constant {
    const char *signature, *type, *text;
};

static void add_moves(struct diff_builder *b, const struct constant *constants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        diff_add(b,
                 &(struct diff_spec){
                     .name = diff_text(b, "mov.%s %s", constants[i].type, constants[i].text),
                     .signature = constants[i].signature,
                     .threads = 4,
                     .code = diff_text(b, "mov.%s d, %s;", constants[i].type, constants[i].text)});
}

/* Constant expressions, which appear in hand-written PTX but not in nvcc's output. */
static void add_expressions(struct diff_builder *b)
{
    static const struct constant constants[] = {
        {":w", "s32", "(3 + 4) * 5 - 100 / 7 % 5"},
        {":w", "s32", "1 << 31 >> 3"},
        {":w", "u32", "~5 & 0xff | 0x100 ^ 0x3"},
        {":w", "s32", "!0 + !7"},
        {":w", "s32", "3 > 2 && 1 <= 0 || 5 != 6"},
        {":w", "s32", "2 < 1 ? 10 : -20"},
        {":w", "s32", "(.s64) -1 >> 4"},
        {":f", "f32", "0.5 + 0.25"},
    };
    diff_family(b, "constant expressions", NULL);
    add_moves(b, constants, FTH_COUNT(constants));
}

/* Constants in every notation that an assembler must accept. */
static void add_constants(struct diff_builder *b)
{
    static const struct constant constants[] = {
        {":w", "u32", "0"},
        {":w", "u32", "4294967295"},
        {":w", "s32", "-2147483648"},
        {":w", "u32", "0xDEADbeef"},
        {":w", "u32", "0XffffffffU"},
        {":w", "u32", "0b1011"},
        {":w", "u32", "0B111U"},
        {":w", "u32", "0777"},
        {":w", "u32", "WARP_SZ"},
        {":h", "s16", "-32768"},
        {":h", "u16", "65535"},
        {":l", "s64", "-9223372036854775808"},
        {":l", "u64", "18446744073709551615U"},
        {":l", "u64", "0x8000000000000001"},
        {":f", "f32", "0f3F800001"},
        {":f", "f32", "0F7FC00123"},
        {":f", "f32", "0.1"},
        {":f", "f32", "-1.5e-3"},
        {":f", "f32", "1e40"},
        {":f", "f32", "1e-42"},
        {":f", "f32", "16777217.0"},
        {":d", "f64", "0d3FF0000000000001"},
        {":d", "f64", "0D7FF8000000000123"},
        {":d", "f64", "0.1"},
        {":d", "f64", "-2.2250738585072014e-308"},
        {":d", "f64", "1e-300"},
        {":d", "f64", "9007199254740993.0"},
    };
    diff_family(b, "constants", NULL);
    add_moves(b, constants, FTH_COUNT(constants));
    static const struct diff_spec others[] = {
        {.name = "add.f32 constant", .signature = "f:f", .code = "add.f32 d, a, 0f3DCCCCCD;"},
        {.name = "fma.rn.f64 constant", .signature = "d:d", .code = "fma.rn.f64 d, a, 0.1, 3.0;"},
        {.name = "cvt.rn.f32.s32 constant", .signature = ":f", .code = "cvt.rn.f32.s32 d, -7;"},
        {.name = "setp.lt.s32 constant", .signature = "w:p", .code = "setp.lt.s32 d, a, -1;"},
        {.name = "setp.lt.u32 constant", .signature = "w:p", .code = "setp.lt.u32 d, a, -1;"},
        {.name = "shr.s64 constant", .signature = "l:l", .code = "shr.s64 d, a, 63;"},
        {.name = "and.b64 constant", .signature = "l:l", .code = "and.b64 d, a, -4294967296;"},
        {.name = "mad.wide.s32 constant", .signature = "w:l", .code = "mad.wide.s32 d, a, -3, 7;"},
    };
    for (size_t i = 0; i < FTH_COUNT(others); i++)
        diff_add(b, &others[i]);
}

/* Operands for the branches: a small loop count, equal in every fourth warp, and random bits. */
static void loop_counts(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    operands[0] = thread / 32 % 4 == 0 ? 5 : fth_rng_below(rng, 40);
    operands[1] = fth_rng_next(rng) & 0xffffffff;
}

static void add_branches(struct diff_builder *b)
{
    diff_family(b, "control flow", NULL);
    static const struct diff_spec cases[] = {
        {.name = "guarded", .signature = "wwp:w", .code = "mov.b32 d, 9;\n@c sub.s32 d, a, b;"},
        {.name = "guarded by the opposite",
         .signature = "wwp:w",
         .code = "mov.b32 d, 9;\n@!c sub.s32 d, a, b;"},
        {.name = "either branch",
         .signature = "wwp:w",
         .code = "@c bra THEN;\nsub.s32 d, a, b;\nbra JOIN;\nTHEN:\nadd.s32 d, a, b;\nJOIN:\n"
                 "xor.b32 d, d, 1;"},
        {.name = "loop as often as each lane likes",
         .signature = "ww:w",
         .fill = loop_counts,
         .threads = 512,
         .registers = ".reg .pred z;",
         .code = "mov.b32 d, b;\nmov.u32 j, a;\nsetp.eq.u32 z, j, 0;\n@z bra DONE;\nAGAIN:\n"
                 "mul.lo.u32 d, d, 1664525;\nadd.u32 d, d, 1013904223;\nsub.u32 j, j, 1;\n"
                 "setp.ne.u32 z, j, 0;\n@z bra AGAIN;\nDONE:"},
        {.name = "loop with a way out",
         .signature = "ww:w",
         .fill = loop_counts,
         .threads = 512,
         .registers = ".reg .pred z;",
         .code = "mov.u32 d, 0;\nmov.u32 j, b;\nAGAIN:\nsetp.eq.u32 z, d, a;\n@z bra DONE;\n"
                 "and.b32 k, j, 1;\nsetp.eq.u32 z, k, 1;\nshr.u32 j, j, 1;\nadd.u32 d, d, 1;\n"
                 "@z bra AGAIN;\nadd.u32 d, d, 100;\nsetp.lt.u32 z, d, 900;\n@z bra AGAIN;\n"
                 "DONE:\nmad.lo.u32 d, j, 3, d;"},
        {.name = "loop in a loop, and a vote after it",
         .signature = "ww:ww",
         .fill = loop_counts,
         .threads = 512,
         .registers = ".reg .pred z;\n.reg .b32 m;",
         .code = "mov.u32 d, 0;\nand.b32 j, a, 7;\nOUTER:\nand.b32 k, b, 7;\nadd.u32 k, k, j;\n"
                 "INNER:\nadd.u32 d, d, k;\nxor.b32 d, d, j;\nsub.s32 k, k, 1;\n"
                 "setp.gt.s32 z, k, 0;\n@z bra INNER;\nsub.s32 j, j, 1;\nsetp.ge.s32 z, j, 0;\n"
                 "@z bra OUTER;\nbar.warp.sync 0xffffffff;\nsetp.gt.u32 z, d, 60;\n"
                 "vote.sync.ballot.b32 q, z, 0xffffffff;"},
        {.name = "brx.idx",
         .signature = "ww:w",
         .fill = loop_counts,
         .threads = 512,
         .code = "and.b32 j, a, 3;\nTABLE: .branchtargets ZERO, ONE, TWO, THREE;\n"
                 "brx.idx j, TABLE;\nZERO:\nmov.b32 d, b;\nbra JOIN;\nONE:\nnot.b32 d, b;\n"
                 "bra JOIN;\nTWO:\nadd.u32 d, b, a;\nTHREE:\nmul.lo.u32 d, b, 7;\nJOIN:"},
        {.name = "some lanes leave early",
         .signature = "ww:w",
         .fill = loop_counts,
         .threads = 512,
         .registers = ".reg .pred z;\n.reg .b32 m;",
         .code = "st.global.b32 [pd], b;\nsetp.gt.u32 z, a, 20;\n@z exit;\n"
                 "mul.lo.u32 m, a, b;\nst.global.b32 [pd], m;\nsetp.gt.u32 z, a, 10;\n@z ret;\n"
                 "st.global.b32 [pd], a;"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        diff_add(b, &cases[i]);
}

void diff_add_flow(struct diff_builder *builder)
{
    add_constants(builder);
    add_expressions(builder);
    add_branches(builder);
}
