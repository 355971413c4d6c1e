/* Tests of ptx/: the forms of each instruction that the engine executes. A form with an operand
 * more or less, or with a predicate in place of a register, is refused. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b32 s;\n"                             \
    ".visible .entry k(.param .u64 p) {\n"                                                         \
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n"     \
    ".reg .f64 %fd<4>;\n"

static bool is_accepted(const char *statement)
{
    char text[1024];
    struct fth_error error = NO_ERROR;
    snprintf(text, sizeof text, "%s%s\nret; }\n", HEAD, statement);
    return !is_refused(text, strlen(text), &error);
}

/* What else is accepted: one more operand at the end, one less, or a predicate as the first
 * operand. Instructions without an effect in the engine are accepted with any operands. */
enum { MORE = 1, LESS = 2, PREDICATE = 4 };

static const struct {
    const char *statement;
    unsigned also;
} forms[] = {
    /* moves */
    {"mov.u32 %r1, %r2", 0},
    {"mov.f64 %fd1, %fd2", 0},
    {"mov.pred %p1, %p2", 0},
    {"mov.b64 %rd1, {%r1, %r2}", 0},
    {"mov.b64 {%r1, %r2}, %rd1", 0},
    {"mov.b32 {%h1, %h2}, %r1", 0},
    {"mov.b32 {%r1}, %r2", 0},
    {"mov.b32 %r1, {%r2}", 0},
    {"selp.u32 %r1, %r2, %r3, %p1", 0},
    {"slct.u32.s32 %r1, %r2, %r3, %r4", 0},
    {"slct.f32.f32 %f1, %f2, %f3, %f4", 0},
    /* integers */
    {"add.u32 %r1, %r2, %r3", 0},
    {"add.s64 %rd1, %rd2, %rd3", 0},
    {"add.sat.s32 %r1, %r2, %r3", 0},
    {"sub.u16 %h1, %h2, %h3", 0},
    {"mul.lo.u32 %r1, %r2, %r3", 0},
    {"mul.hi.s32 %r1, %r2, %r3", 0},
    {"mul.wide.u32 %rd1, %r2, %r3", 0},
    {"mad.lo.s32 %r1, %r2, %r3, %r4", 0},
    {"mad.hi.u32 %r1, %r2, %r3, %r4", 0},
    {"mad.wide.s32 %rd1, %r2, %r3, %rd4", 0},
    {"mul24.lo.s32 %r1, %r2, %r3", 0},
    {"mad24.lo.s32 %r1, %r2, %r3, %r4", 0},
    {"div.s32 %r1, %r2, %r3", 0},
    {"rem.u64 %rd1, %rd2, %rd3", 0},
    {"abs.s32 %r1, %r2", 0},
    {"neg.s32 %r1, %r2", 0},
    {"min.s32 %r1, %r2, %r3", 0},
    {"max.u64 %rd1, %rd2, %rd3", 0},
    {"sad.u32 %r1, %r2, %r3, %r4", 0},
    {"add.cc.u32 %r1, %r2, %r3", 0},
    {"addc.u32 %r1, %r2, %r3", 0},
    {"addc.cc.s64 %rd1, %rd2, %rd3", 0},
    {"sub.cc.u32 %r1, %r2, %r3", 0},
    {"subc.u32 %r1, %r2, %r3", 0},
    {"mad.lo.cc.u32 %r1, %r2, %r3, %r4", 0},
    {"madc.hi.u32 %r1, %r2, %r3, %r4", 0},
    {"dp4a.u32.s32 %r1, %r2, %r3, %r4", 0},
    {"dp2a.lo.u32.u32 %r1, %r2, %r3, %r4", 0},
    {"add.u16x2 %r1, %r2, %r3", 0},
    {"min.relu.s16x2 %r1, %r2, %r3", 0},
    {"max.u16x2 %r1, %r2, %r3", 0},
    {"vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r4", 0},
    /* bits */
    {"and.b32 %r1, %r2, %r3", 0},
    {"or.b64 %rd1, %rd2, %rd3", 0},
    {"xor.b16 %h1, %h2, %h3", 0},
    {"not.b32 %r1, %r2", 0},
    {"cnot.b32 %r1, %r2", 0},
    {"and.pred %p1, %p2, %p3", 0},
    {"not.pred %p1, %p2", 0},
    {"shl.b32 %r1, %r2, %r3", 0},
    {"shr.s64 %rd1, %rd2, %r3", 0},
    {"shf.l.wrap.b32 %r1, %r2, %r3, %r4", 0},
    {"shf.r.clamp.b32 %r1, %r2, %r3, %r4", 0},
    {"bfe.u32 %r1, %r2, %r3, %r4", 0},
    {"bfi.b64 %rd1, %rd2, %rd3, %r3, %r4", 0},
    {"bfind.u32 %r1, %r2", 0},
    {"bfind.shiftamt.s64 %r1, %rd2", 0},
    {"brev.b32 %r1, %r2", 0},
    {"clz.b64 %r1, %rd2", 0},
    {"popc.b32 %r1, %r2", 0},
    {"prmt.b32 %r1, %r2, %r3, %r4", 0},
    {"prmt.b32.f4e %r1, %r2, %r3, %r4", 0},
    {"lop3.b32 %r1, %r2, %r3, %r4, 0xe8", 0},
    {"szext.wrap.s32 %r1, %r2, %r3", 0},
    {"bmsk.clamp.b32 %r1, %r2, %r3", 0},
    /* floating point */
    {"add.rn.f32 %f1, %f2, %f3", 0},
    {"sub.ftz.f32 %f1, %f2, %f3", 0},
    {"mul.rz.f64 %fd1, %fd2, %fd3", 0},
    {"fma.rn.sat.f32 %f1, %f2, %f3, %f4", 0},
    {"mad.f32 %f1, %f2, %f3, %f4", 0},
    {"div.rn.f32 %f1, %f2, %f3", 0},
    {"div.approx.ftz.f32 %f1, %f2, %f3", 0},
    {"div.full.f32 %f1, %f2, %f3", 0},
    {"div.rn.f64 %fd1, %fd2, %fd3", 0},
    {"sqrt.rn.f32 %f1, %f2", 0},
    {"sqrt.approx.f32 %f1, %f2", 0},
    {"rsqrt.approx.f32 %f1, %f2", 0},
    {"rcp.rn.f64 %fd1, %fd2", 0},
    {"rcp.approx.ftz.f64 %fd1, %fd2", 0},
    {"sin.approx.f32 %f1, %f2", 0},
    {"cos.approx.ftz.f32 %f1, %f2", 0},
    {"lg2.approx.f32 %f1, %f2", 0},
    {"ex2.approx.f32 %f1, %f2", 0},
    {"tanh.approx.f32 %f1, %f2", 0},
    {"min.f32 %f1, %f2, %f3", 0},
    {"max.NaN.f32 %f1, %f2, %f3", 0},
    {"abs.f64 %fd1, %fd2", 0},
    {"neg.ftz.f32 %f1, %f2", 0},
    {"copysign.f32 %f1, %f2, %f3", 0},
    {"testp.finite.f32 %p1, %f1", 0},
    {"add.f16 %h1, %h2, %h3", 0},
    {"fma.rn.relu.f16 %h1, %h2, %h3, %h0", 0},
    {"mul.f16x2 %r1, %r2, %r3", 0},
    {"fma.rn.bf16x2 %r1, %r2, %r3, %r4", 0},
    {"min.NaN.f16 %h1, %h2, %h3", 0},
    {"ex2.approx.f16 %h1, %h2", 0},
    {"tanh.approx.f16x2 %r1, %r2", 0},
    {"abs.bf16 %h1, %h2", 0},
    /* conversions and comparisons */
    {"cvt.u64.u32 %rd1, %r2", 0},
    {"cvt.sat.s8.s32 %r1, %r2", 0},
    {"cvt.rzi.s32.f32 %r1, %f2", 0},
    {"cvt.rn.f32.u64 %f1, %rd2", 0},
    {"cvt.rn.f16.f32 %h1, %f2", 0},
    {"cvt.rn.f16x2.f32 %r1, %f2, %f3", 0},
    {"cvt.rna.tf32.f32 %r1, %f2", 0},
    {"setp.lt.u32 %p1, %r2, %r3", 0},
    {"setp.eq.f16x2 %p1|%p2, %r2, %r3", 0},
    {"setp.lt.and.f32 %p1, %f2, %f3, %p2", 0},
    {"set.lt.u32.f32 %r1, %f2, %f3", 0},
    {"set.lt.or.f32.s32 %f1, %r2, %r3, %p1", 0},
    /* memory */
    {"ld.global.u32 %r1, [%rd1]", 0},
    {"ld.global.v2.u32 {%r1, %r2}, [%rd1]", 0},
    {"ld.volatile.global.f64 %fd1, [%rd1]", 0},
    {"ldu.global.u32 %r1, [%rd1]", 0},
    {"st.global.u32 [%rd1], %r1", 0},
    {"st.shared.v4.f32 [s], {%f1, %f2, %f3, %f4}", 0},
    {"tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}]", MORE},
    {"cp.async.ca.shared.global [%r1], [%rd1], 16", MORE},
    {"cp.async.cg.shared.global [%r1], [%rd1], 16, %r2", LESS},
    {"cp.async.wait_group 0", 0},
    {"atom.global.add.u32 %r1, [%rd1], %r2", 0},
    {"atom.global.cas.b64 %rd2, [%rd1], %rd3, %rd4", 0},
    {"atom.shared.exch.b32 %r1, [s], %r2", 0},
    {"atom.global.add.f16 %h1, [%rd1], %h2", 0},
    {"atom.global.cas.b16 %h1, [%rd1], %h2, %h3", 0},
    {"red.global.max.s64 [%rd1], %rd2", 0},
    {"red.global.and.b32 [%rd1], %r2", 0},
    {"cvta.to.global.u64 %rd1, %rd2", 0},
    {"cvta.shared.u64 %rd1, %rd2", 0},
    {"mapa.shared::cluster.u32 %r1, %r2, %r3", 0},
    {"mapa.u64 %rd1, %rd2, %r3", 0},
    {"getctarank.shared::cluster.u32 %r1, %r2", 0},
    {"isspacep.global %p1, %rd1", 0},
    /* warps and barriers */
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1", 0},
    {"shfl.up.b32 %r1|%p1, %r2, 1, 0", 0},
    {"vote.sync.all.pred %p1, %p2, -1", 0},
    {"vote.ballot.b32 %r1, %p2", 0},
    {"match.any.sync.b32 %r1, %r2, -1", 0},
    {"match.all.sync.b64 %r1|%p1, %rd2, -1", 0},
    {"redux.sync.add.u32 %r1, %r2, -1", 0},
    {"activemask.b32 %r1", 0},
    {"bar.sync 1, 64", LESS},
    {"bar.arrive 1, 64", 0},
    {"bar.red.popc.u32 %r1, 1, %p1", MORE},
    {"bar.red.and.pred %p1, 1, 64, %p2", 0},
    {"bar.warp.sync -1", 0},
    {"barrier.sync 1", MORE},
    {"membar.gl", 0},
    {"fence.sc.gpu", 0},
    {"nanosleep.u32 20", MORE | LESS | PREDICATE},
    {"pmevent 3", MORE | LESS | PREDICATE},
};

static void operands_are_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(forms); i++) {
        const char *statement = forms[i].statement;
        char text[200];
        unsigned also = 0;
        snprintf(text, sizeof text, "%s;", statement);
        if (!is_accepted(text))
            fail_msg("refused: %s", statement);
        snprintf(text, sizeof text, "%s, %%r7;", statement);
        also |= is_accepted(text) ? MORE : 0;
        /* Without the last operand; a vector counts as one. */
        const char *end = statement + strlen(statement);
        int depth = 0;
        while (end > statement && !(*end == ',' && depth == 0) && !(*end == ' ' && depth == 0)) {
            depth += (*end == '}' || *end == ']') - (*end == '{' || *end == '[');
            end--;
        }
        if (*end == ' ' && end[-1] == ',')
            end--;
        snprintf(text, sizeof text, "%.*s;", (int)(end - statement), statement);
        also |= is_accepted(text) ? LESS : 0;
        /* A predicate as the first operand, or a register in place of a predicate. */
        const char *space = strchr(statement, ' ');
        if (space) {
            const char *rest = strpbrk(space, ",|");
            if (space[1] == '{' || space[1] == '[')
                rest = strpbrk(space, "}]") + 1;
            snprintf(text, sizeof text, "%.*s %s%s;", (int)(space - statement), statement,
                     space[1] == '%' && space[2] == 'p' ? "%rd0" : "%p0", rest ? rest : "");
            also |= is_accepted(text) ? PREDICATE : 0;
        }
        if (also != forms[i].also)
            fail_msg("%s: %u", statement, also);
    }
}

/* Forms that are accepted, and similar ones that are refused. */
static const char *const pairs[][2] = {
    {"mov.pred %p1, 1;", "mov.pred %p1, 1, 2;"},
    {"add.u32 %r1, %r2, %r3;", "add.u32.u32.u32 %r1, %r2, %r3;"},
    {"mov.pred %p1, %p2;", "mov.pred %p1, %r2;"},
    {"mov.b64 %rd1, {%r1, %r2};", "mov.b64 %rd1, {%h1, %h2, %h3};"},
    {"mov.b64 {%r1, %r2}, %rd1;", "mov.b32 {%h1, %h2, %h3}, %r1;"},
    {"slct.u32.s32 %r1, %r2, %r3, %r4;", "slct.u32.u32 %r1, %r2, %r3, %r4;"},
    {"slct.f32.f32 %f1, %f2, %f3, %f4;", "slct.f32.f64 %f1, %f2, %f3, %fd1;"},
    {"dp4a.u32.u32 %r1, %r2, %r3, %r4;", "dp4a.u32 %r1, %r2, %r3, %r4;"},
    {"min.s16x2 %r1, %r2, %r3;", "sub.s16x2 %r1, %r2, %r3;"},
    {"min.relu.s16x2 %r1, %r2, %r3;", "min.relu.u16x2 %r1, %r2, %r3;"},
    {"add.s16x2 %r1, %r2, %r3;", "add.relu.s16x2 %r1, %r2, %r3;"},
    {"vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r4;", "vabsdiff4.f32.u32.u32 %r1, %r2, %r3, %r4;"},
    {"wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, "
     "%fd1};",
     "wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, "
     "%fd1};"},
    {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, "
     "%fd1};",
     "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32.rn {%r0, %r1}, {%r2}, {%r3}, {%r0, "
     "%r1};"},
    {"add.cc.u32 %r1, %r2, %r3;", "add.cc.u16 %h1, %h2, %h3;"},
    {"mad.lo.cc.u32 %r1, %r2, %r3, %r4;", "mad.cc.u32 %r1, %r2, %r3, %r4;"},
    {"mad.hi.cc.u32 %r1, %r2, %r3, %r4;", "mad.wide.cc.u32 %r1, %r2, %r3, %r4;"},
    {"addc.u32 %r1, %r2, %r3;", "addc.sat.u32 %r1, %r2, %r3;"},
    {"xor.pred %p1, %p2, %p3;", "shl.pred %p1, %p2, %p3;"},
    {"not.pred %p1, %p2;", "not.pred %p1, %p2, %p3;"},
    {"or.pred %p1, %p2, %p3;", "or.pred %p1, %p2, %r3;"},
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", "fma.rni.f32 %f1, %f2, %f3, %f4;"},
    {"abs.f32 %f1, %f2;", "abs.rn.f32 %f1, %f2;"},
    {"sin.approx.f32 %f1, %f2;", "sin.f32 %f1, %f2;"},
    {"rsqrt.approx.f32 %f1, %f2;", "rsqrt.full.f32 %f1, %f2;"},
    {"cvt.rna.tf32.f32 %r1, %f2;", "cvt.rm.tf32.f32 %r1, %f2;"},
    {"cvt.rna.tf32.f32 %r1, %f2;", "cvt.rna.tf32.f64 %r1, %fd2;"},
    {"cvt.rna.tf32.f32 %r1, %f2;", "cvt.rna.sat.tf32.f32 %r1, %f2;"},
    {"cvt.rn.f16x2.f32 %r1, %f2, %f3;", "cvt.rm.f16x2.f32 %r1, %f2, %f3;"},
    {"cvt.rn.bf16x2.f32 %r1, %f2, %f3;", "cvt.rn.bf16x2.f64 %r1, %fd2, %fd3;"},
    {"cvt.u32.u64 %r1, %rd2;", "cvt.rn.u32.u64 %r1, %rd2;"},
    {"cvt.rzi.u32.f32 %r1, %f2;", "cvt.rz.u32.f32 %r1, %f2;"},
    {"cvt.rzi.u32.f32 %r1, %f2;", "cvt.u32.f32 %r1, %f2;"},
    {"cvt.u32.u16 %r1, %h2;", "cvt.u32.u16x2 %r1, %r2;"},
    {"cvt.u32.u16 %r1, %h2;", "cvt.u32 %r1, %h2;"},
    {"cvt.rn.f32.f64 %f1, %fd2;", "cvt.rn.f32.f16x2 %f1, %r2;"},
    {"setp.lt.u32 %p1, %r2, %r3;", "setp.u32 %p1, %r2, %r3;"},
    {"setp.lt.and.u32 %p1, %r2, %r3, %p2;", "setp.lt.and.u32 %p1, %r2, %r3;"},
    {"setp.lt.u32 %p1, %r2, %r3;", "setp.lt.u32 %p1, %r2, %r3, %p2;"},
    {"setp.lt.or.u32 %p1, %r2, %r3, %p2;", "setp.lt.popc.u32 %p1, %r2, %r3, %p2;"},
    {"setp.lt.ftz.f32 %p1, %f2, %f3;", "setp.lt.sat.f32 %p1, %f2, %f3;"},
    {"set.lt.u32.u32 %r1, %r2, %r3;", "set.lt.u32 %r1, %r2, %r3;"},
    {"set.lt.u32.u32 %r1, %r2, %r3;", "set.u32.u32 %r1, %r2, %r3;"},
    {"set.lt.u32.u32 %r1, %r2, %r3;", "set.lt.u32.u32 _, %r2, %r3;"},
    {"testp.finite.f32 %p1, %f2;", "testp.f32 %p1, %f2;"},
    {"testp.finite.f64 %p1, %fd2;", "testp.finite.f16 %p1, %h2;"},
    {"ld.global.u32 %r1, [%rd1];", "ld.global.pred %r1, [%rd1];"},
    {"ld.global.u32 %r1, [%rd1];", "ld.global %r1, [%rd1];"},
    {"ld.global.u32 %r1, [%rd1];", "ld.global.u32 _, [%rd1];"},
    {"ld.global.u32 {%r1}, [%rd1];", "ld.global.u32 {_}, [%rd1];"},
    {"ld.global.v2.u32 {_, %r1}, [%rd1];", "ld.global.ftz.u32 %r1, [%rd1];"},
    {"st.global.u32 [%rd1], %r1;", "st.const.u32 [%rd1], %r1;"},
    {"ld.param.u64 %rd1, [p];", "st.param.u64 [p], %rd1;"},
    {"tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];",
     "tex.1d.v4.f64.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%f1}];"},
    {"tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];",
     "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1];"},
    {"tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r1}];",
     "tex.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r1}];"},
    {"atom.global.add.u32 %r1, [%rd1], %r2;", "atom.global.u32 %r1, [%rd1], %r2;"},
    {"atom.global.add.u64 %rd2, [%rd1], %rd3;", "atom.global.add.u16 %h1, [%rd1], %h2;"},
    {"atom.global.cas.b16 %h1, [%rd1], %h2, %h3;", "atom.global.exch.b16 %h1, [%rd1], %h2;"},
    {"atom.global.add.f32 %f1, [%rd1], %f2;", "atom.global.min.f32 %f1, [%rd1], %f2;"},
    {"atom.global.exch.b32 %r1, [%rd1], %r2;", "atom.global.exch.ftz.b32 %r1, [%rd1], %r2;"},
    {"atom.global.add.u32 %r1, [%rd1], %r2;",
     "atom.global.v2.add.u32 {%r1, %r2}, [%rd1], {%r3, %r4};"},
    {"cvta.global.u64 %rd1, %rd2;", "cvta.u64 %rd1, %rd2;"},
    {"cvta.to.shared.u64 %rd1, %rd2;", "cvta.to.sat.shared.u64 %rd1, %rd2;"},
    {"mapa.shared::cluster.u64 %rd1, %rd2, %r3;", "mapa.global.u64 %rd1, %rd2, %r3;"},
    {"mapa.u32 %r1, %r2, %r3;", "mapa.u16 %h1, %h2, %r3;"},
    {"getctarank.u32 %r1, %r2;", "getctarank.sat.u32 %r1, %r2;"},
    {"shfl.sync.up.b32 %r1, %r2, 1, 0, -1;", "shfl.sync.b32 %r1, %r2, 1, 0, -1;"},
    {"shfl.sync.up.b32 %r1, %r2, 1, 0, -1;", "shfl.sync.up.b64 %rd1, %rd2, 1, 0, -1;"},
    {"shfl.up.b32 %r1, %r2, 1, 0;", "shfl.up.b32 %r1, %r2, 1, 0, -1;"},
    {"vote.sync.ballot.b32 %r1, %p2, -1;", "vote.sync.ballot.b32 %p1, %p2, -1;"},
    {"vote.sync.any.pred %p1, %p2, -1;", "vote.sync.any.pred %r1, %p2, -1;"},
    {"vote.sync.any.pred %p1, %p2, -1;", "vote.sync.any.pred %p1, %r2, -1;"},
    {"vote.sync.ballot.b32 %r1, %p2, -1;", "vote.sync.ballot.b32 _, %p2, -1;"},
    {"match.any.sync.b32 %r1, %r2, -1;", "match.any.b32 %r1, %r2, -1;"},
    {"match.any.sync.b32 %r1, %r2, -1;", "match.sync.b32 %r1, %r2, -1;"},
    {"match.any.sync.b64 %r1, %rd2, -1;", "match.any.sync.b16 %r1, %h2, -1;"},
    {"redux.sync.add.s32 %r1, %r2, -1;", "redux.add.s32 %r1, %r2, -1;"},
    {"redux.sync.add.s32 %r1, %r2, -1;", "redux.sync.s32 %r1, %r2, -1;"},
    {"redux.sync.xor.b32 %r1, %r2, -1;", "redux.sync.xor.b64 %rd1, %rd2, -1;"},
    {"redux.sync.max.u32 %r1, %r2, -1;", "redux.sync.max.f32 %f1, %f2, -1;"},
    {"redux.sync.max.u32 %r1, %r2, -1;", "redux.sync.max.u32 _, %r2, -1;"},
    {"bar.warp.sync -1;", "bar.warp -1;"},
    {"barrier.cluster.arrive;", "barrier.cluster.sync;"},
    {"barrier.cluster.wait;", "barrier.cluster.wait 1;"},
    {"barrier.cluster.wait;", "barrier.cluster.wait %p1;"},
    {"bar.sync 0;", "bar.sync;"},
    {"bar.sync 0;", "bar.sat.sync 0;"},
    {"bar.arrive 0, 64;", "bar.arrive 0;"},
    {"bar.red.and.pred %p1, 0, %p2;", "bar.red.and.pred %p1, 0;"},
    {"bar.red.or.pred %p1, 0, %p2;", "bar.red.xor.pred %p1, 0, %p2;"},
    {"bar.red.or.pred %p1, 0, %p2;", "bar.red.popc.pred %p1, 0, %p2;"},
    {"bar.red.popc.u32 %r1, 0, %p2;", "bar.red.and.u32 %r1, 0, %p2;"},
    {"bar.red.popc.u32 %r1, 0, %p2;", "bar.red.popc.u32 _, 0, %p2;"},
    {"bar.red.and.pred %p1, 0, %p2;", "bar.red.pred %p1, 0, %p2;"},
};

static void other_forms_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(pairs); i++) {
        if (!is_accepted(pairs[i][0]))
            fail_msg("refused: %s", pairs[i][0]);
        if (is_accepted(pairs[i][1]))
            fail_msg("accepted: %s", pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(other_forms_are_refused),
    };
    return cmocka_run_group_tests_name("ptx_forms", tests, NULL, NULL);
}
