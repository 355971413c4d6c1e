/* The table of PTX instructions: how many machine instructions they become, and their latency.
 *
 * Source: measured on an H200 (driver 580, ptxas 13.0, sm_90). A kernel of one warp executes a
 * chain of 8 instructions, and another one a chain of 24. The difference of the executed
 * instructions (counter smsp__inst_executed) and of the cycles, divided by 16, is that of one
 * instruction. Where the chain needs a second instruction, such as the addition after a load, its
 * share is subtracted. Instructions with a slow path for special operands (division, square root)
 * have ordinary operands. tests/assemble/costs compares the machine instructions with what the
 * installed ptxas makes. Comments mark rows with another source. The row "*" is for all others: one
 * instruction, and the latency of most arithmetic.
 *
 * The latency of accesses to global and local memory, textures and surfaces, and that of barriers
 * and fences, is 0 here: it depends on caches and on other warps. */
#include "ptx/cost/cost.h"
#include "ptx/execute/execute.h"

struct row {
    const char *pattern; /* of the opcode: * stands for any characters, ? for one */
    struct fth_ptx_weight weight;
};

/* The first row that fits counts. */
static const struct row rows[] = {
    /* Copies between registers, and conversions that only rename them. */
    {"mov.*", {0, 0}},
    {"cvta*", {0, 0}},
    {"cvt.?32.?64", {0, 0}},
    {"cvt.?16.?32", {0, 0}},
    {"cvt.?16.?64", {0, 0}},
    {"cvt.?8.?16", {0, 0}},
    {"cvt.?8.?32", {0, 0}},
    {"cvt.u64.u32", {0, 0}},
    {"mov", {1, 9}}, /* reads a special register; the latency is that of %clock */

    /* Division and remainder. */
    {"div.approx*.ftz.f32", {2, 19}},
    {"div.approx*.f32", {5, 41}},
    {"div.full*.ftz.f32", {5, 41}},
    {"div.full*.f32", {8, 45}},
    {"div.rn*.f32", {8, 44}},
    {"div.r?*.f32", {35, 201}},
    {"div*.f64", {14, 111}},
    {"div.s16", {28, 159}},
    {"div.u16", {21, 146}},
    {"rem.s16", {30, 171}},
    {"rem.u16", {23, 159}},
    {"div.s64", {85, 342}},
    {"div.u64", {69, 316}},
    {"rem.s64", {79, 339}},
    {"rem.u64", {65, 313}},
    {"div.s32", {23, 135}},
    {"div.u32", {18, 126}},
    {"rem.s32", {20, 134}},
    {"rem.u32", {17, 126}},

    /* Functions. */
    {"rcp.approx.ftz.f64", {2, 17}},
    {"rcp*.f64", {9, 60}},
    {"rcp.approx.ftz.f32", {1, 19}},
    {"rcp.approx.f32", {7, 41}},
    {"rcp*.f32", {8, 64}},
    {"sqrt*.f64", {16, 79}},
    {"sqrt.r*.f32", {8, 42}},
    {"sqrt.approx.ftz.f32", {1, 17}},
    {"sqrt*.f32", {4, 39}},
    {"rsqrt.approx.ftz.f*", {1, 17}},
    {"rsqrt*.f64", {12, 54}},
    {"rsqrt*.f32", {4, 39}},
    {"lg2.approx.ftz.f32", {1, 17}},
    {"lg2*", {4, 39}},
    {"ex2*x2", {2, 17}},
    {"ex2.approx.f32", {4, 39}},
    {"ex2*", {1, 17}},
    {"tanh*x2", {2, 17}},
    {"tanh*", {1, 17}},
    {"sin*", {2, 21}},
    {"cos*", {2, 21}},

    /* Floating-point numbers. */
    {"setp*.f64", {1, 10}},
    {"min.f64", {8, 25}},
    {"max.f64", {8, 25}},
    {"add*.f64", {1, 8}},
    {"sub*.f64", {1, 8}},
    {"mul*.f64", {1, 8}},
    {"fma*.f64", {1, 8}},
    {"mad*.f64", {1, 8}},
    {"add*f16x2", {1, 8}},
    {"sub*f16x2", {1, 8}},
    {"mul*f16x2", {1, 8}},
    {"fma*f16x2", {1, 8}},
    {"testp*", {2, 8}},

    /* Integers. */
    {"add*.?64", {2, 6}},
    {"sub*.?64", {2, 6}},
    {"mul.lo.?64", {4, 16}},
    {"mad.lo*.?64", {4, 18}},
    {"mul.hi.s64", {16, 54}},
    {"mad.hi*.s64", {16, 54}}, /* those of mul.hi.s64 */
    {"mul.hi.u64", {7, 33}},
    {"mad.hi*.u64", {7, 22}},
    {"min.?64", {4, 12}},
    {"max.?64", {4, 12}},
    {"abs.s64", {5, 16}},
    {"neg.s64", {2, 6}},
    {"and.b64", {2, 4}},
    {"or.b64", {2, 4}},
    {"xor.b64", {2, 4}},
    {"not.b64", {2, 4}},
    {"shl.b64", {2, 8}},
    {"shr.?64", {2, 8}},
    {"setp*.?64", {2, 8}},
    {"selp.?64", {2, 4}},
    {"brev.b64", {2, 17}},
    {"popc.b64", {3, 21}}, /* two POPC and an addition */
    {"clz.b64", {4, 27}},  /* derived from clz.b32 */
    {"bfind*64", {3, 21}}, /* derived from bfind.u32 */
    {"bfe.?64", {4, 10}},
    {"bfi.b64", {3, 14}},
    {"mul.wide.?16", {2, 10}},
    {"mul.lo.?16", {2, 10}},
    {"mad.lo.?16", {2, 10}},
    {"mul24*", {2, 10}},
    {"mad24*", {2, 10}},
    {"shr.?16", {2, 8}},
    {"mul.hi.?32", {1, 9}},
    {"mad.hi*.?32", {1, 9}},
    {"mul.wide*", {1, 5}},
    {"mad.wide*", {1, 5}},
    {"bfe*", {2, 8}},
    {"bfi.b32", {2, 8}},
    {"popc*", {1, 17}},
    {"brev*", {1, 17}},
    {"bfind*", {1, 17}},
    {"clz*", {2, 23}},
    {"vadd*", {5, 32}}, /* this and the other video instructions: those of vabsdiff */
    {"vsub*", {5, 32}},
    {"vabsdiff*", {5, 32}},
    {"vmin*", {5, 32}},
    {"vmax*", {5, 32}},
    {"vset*", {5, 32}},
    {"vsh?.*", {5, 32}},
    {"vmad*", {5, 32}},

    /* Conversions. */
    {"cvt*.tf32.f32", {3, 22}},
    {"cvt*f16x2*", {1, 4}},
    {"cvt*e?m?x2*", {1, 4}},
    {"cvt.f32.f16", {1, 5}},
    {"cvt*.f16.f32", {1, 5}},
    {"cvt.f32.bf16", {1, 5}},
    {"cvt.rn.f32.?32", {1, 4}},
    {"cvt.sat*.f32.f32", {1, 4}},
    {"cvt.rn*", {1, 18}},
    {"cvt.r*", {1, 18}},
    {"cvt.f64.f32", {1, 18}},

    /* Instructions of the whole warp. */
    {"shfl*", {1, 20}}, /* in a chain with add.f32, as in reductions */
    {"vote*", {1, 13}},
    {"match*", {1, 28}},
    {"redux*", {2, 45}},
    {"activemask*", {1, 13}},
    {"bar.red*", {2, 0}},
    {"barrier.red*", {2, 0}},
    {"barrier.cluster*", {2, 0}},
    {"bar*", {1, 0}},
    {"membar.cta", {1, 0}},
    {"membar*", {4, 0}},
    {"fence.acq_rel.cta", {1, 0}},
    {"fence.*.gpu", {4, 0}},
    {"fence.*.sys", {4, 0}},

    /* Memory. */
    {"ld.shared*", {1, 23}},
    {"ld.acquire*", {2, 0}},
    {"ldmatrix*.x1.*", {1, 24}},
    {"ldmatrix*.x2.*", {1, 27}},
    {"ldmatrix*", {1, 31}},
    {"atom.shared*.add.f32", {7, 91}},  /* one iteration of a loop with CAS */
    {"atom.shared*.add.f64", {8, 111}}, /* the same */
    {"atom.shared*.add.?64", {8, 108}}, /* the same */
    {"atom.shared*.cas.*", {1, 34}},
    {"atom.shared*", {1, 28}},
    {"ld.param*", {1, 4}}, /* observed in kernels; the latency is chosen as that of arithmetic */
    {"ld.const*", {1, 30}},
    {"ld.*", {1, 0}},
    {"ldu.*", {1, 0}},
    {"atom.*", {1, 0}},
    {"tex.*", {1, 0}},
    {"tld4.*", {1, 0}},
    {"suld.*", {1, 0}},
    {"st.*", {1, 0}},
    {"red.*", {1, 0}},

    /* Matrices. */
    {"wmma.load*.shared*", {2, 31}}, /* instructions of wmma and mma: as ptxas 13.0 makes them */
    {"wmma.load.a*.row*", {4, 0}},
    {"wmma.load.b*.col*", {4, 0}},
    {"wmma.load.c*", {4, 0}},
    {"wmma.load*", {6, 0}},
    {"wmma.store*", {4, 0}},
    {"wmma.mma*", {3, 24}},
    {"mma*", {1, 24}},

    {"*", {1, 4}},
};

/* Returns true if the text has the pattern. */
static bool matches(const char *pattern, const char *text)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            while (!matches(pattern + 1, text))
                if (!*text++)
                    return false;
            return true;
        }
        if (!*text || (*pattern != '?' && *pattern != *text))
            return false;
        text++;
    }
    return !*text;
}

struct fth_ptx_weight fth_ptx_weigh(const struct fth_ptx_inst *inst)
{
    /* A product that fuse/ has fused with a sum. */
    if (inst->run == fth_ptx_run_nothing &&
        (fth_ptx_is_opcode(inst, "mul") || fth_ptx_is_opcode(inst, "div") ||
         fth_ptx_is_opcode(inst, "neg")))
        return (struct fth_ptx_weight){0};
    size_t i = 0;
    /* The comparison of the first characters excludes most rows. The last row fits all. */
    while ((rows[i].pattern[0] != inst->opcode[0] && rows[i].pattern[0] != '*') ||
           !matches(rows[i].pattern, inst->opcode))
        i++;
    return rows[i].weight;
}
