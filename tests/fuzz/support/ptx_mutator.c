/* Changes PTX text by the grammar of PTX. Changes of random bytes almost always make a module that
 * the parser rejects at once. This mutator inserts, replaces, moves and removes whole statements,
 * which it makes from templates of the instructions that the engine knows (src/ptx/execute/). Most
 * of the modules are therefore accepted, and their kernels run. A small part of the changes replace
 * single words, so that invalid combinations are tested, too.
 *
 * The statements use the names that `skeleton` declares. A statement that is moved to a module with
 * other names is rejected, which is harmless. */
#include "support/ptx_mutator.h"

#include "base/base.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the vocabulary ---- */

/* Templates of statements. "{a/b}" stands for one of the alternatives, "<" and ">" for braces.
 *
 *   $d $e   registers as destination and as source     $s  any source: register, number, symbol
 *   $p $q   a predicate; one that can be negated       $n  a number from 0 to 255
 *   $g $h $l $k $m $x   addresses in global, shared, local, constant and parameter memory, and
 *                       generic addresses              $L  a label */
static const char *const instructions[] = {
    "{add/sub/min/max/div/rem}.{u16/s16/u32/s32/u64/s64} $d, $s, $s",
    "{mul.lo/mul.hi}.{u16/s16/u32/s32/u64/s64} $d, $s, $s",
    "{mad.lo/mad.hi/sad}.{u16/s16/u32/s32/u64/s64} $d, $s, $s, $s",
    "{mul/mad}.wide.{u16/s16/u32/s32} $d, $s, $s{/, $s}",
    "mad.hi.sat.s32 $d, $s, $s, $s",
    "{mul24/mad24}.{lo/hi}.{u32/s32} $d, $s, $s{/, $s}",
    "{add/sub}.{sat.s32/cc.u32/cc.s32/cc.u64} $d, $s, $s",
    "{addc/subc}{/.cc}.{u32/s32/u64/s64} $d, $s, $s",
    "{mad/madc}.{lo/hi}{/.cc}.{u32/s32/u64} $d, $s, $s, $s",
    "{abs/neg}.{s16/s32/s64/f32/ftz.f32/f64/f16/bf16/f16x2} $d, $s",
    "{dp4a/dp2a.lo/dp2a.hi}.{u32/s32}.{u32/s32} $d, $s, $s, $s",
    "{vadd/vsub/vabsdiff/vmin/vmax}.{u32/s32}.{u32/s32}.{u32/s32}{/.sat} $d, $e{/.b3/.h0}, $s",
    "{vadd/vsub/vabsdiff/vmin/vmax}.{u32/s32}.u32.s32{/.sat}.{add/min/max} $d, $e, $e.b1, $s",
    "{vadd/vsub/vmin}.{u32/s32}.u32.s32{/.sat} $d{.b0/.b3/.h1}, $e{/.h0}, $e, $s",
    "{vshl/vshr}.{u32/s32}.{u32/s32}.u32{/.sat}.{clamp/wrap}{/.add} $d, $e, $e{/, $s}",
    "vmad.{u32/s32}.{u32/s32}.{u32/s32}{/.po}{/.sat}{/.shr7/.shr15} $d, {/-}$e, $e{/.h1}, {/-}$e",
    "vset.{u32/s32}.{u32/s32}.{eq/lt/ge}{/.add/.min} $d{/.b2}, $e, $e{/, $s}",
    "{vadd/vsub/vabsdiff/vmin/vmax/vavrg}{2/4}.{u32/s32}.{u32/s32}.u32{/.sat/.add} $d, $e, $e, $e",
    "{vadd2/vavrg2}.u32.u32.u32 $d{/.h1}, $e{/.h31}, $e{/.h02}, $e",
    "{vsub4/vset4}.{u32/s32}.u32.{u32/ne} $d{/.b310}, $e{/.b7310}, $e, $e",
    "{add/min/max}{/.relu}.{u16x2/s16x2} $d, $s, $s",
    "{and/or/xor}.{b16/b32/b64} $d, $s, $s",
    "{not/cnot}.{b16/b32/b64} $d, $s",
    "{and/or/xor}.pred $p, $p, $p",
    "not.pred $p, $p",
    "shl.{b16/b32/b64} $d, $s, $s",
    "shr.{b16/b32/b64/u16/s16/u32/s32/u64/s64} $d, $s, $s",
    "shf.{l/r}.{wrap/clamp}.b32 $d, $s, $s, $s",
    "lop3.b32 $d, $s, $s, $s, $n",
    "{popc/clz/brev}.{b32/b64} $d, $s",
    "bfind{/.shiftamt}.{u32/s32/u64/s64} $d, $s",
    "bfe.{u32/s32/u64/s64} $d, $s, $s, $s",
    "bfi.{b32/b64} $d, $s, $s, $s, $s",
    "prmt.b32{/.f4e/.b4e/.rc8/.ecl/.ecr/.rc16} $d, $s, $s, $s",
    "{bmsk/szext}.{clamp/wrap}.{b32/u32/s32} $d, $s, $s",
    "fns.b32 $d, $s, $s, $s",
    "{add/sub/mul}{/.rn/.rz/.rm/.rp}{/.ftz}{/.sat}.{f32/f16/f16x2/bf16} $d, $s, $s",
    "{add/sub/mul/div/fma}{/.rn/.rz/.rm/.rp}.f64 $d, $s, $s{/, $s}",
    "{fma/mad}{.rn/.rz/.rm/.rp}{/.ftz}{/.sat}.f32 $d, $s, $s, $s",
    "fma.rn{/.ftz}{/.relu}.{f16/f16x2/bf16/bf16x2} $d, $s, $s, $s",
    "div{.rn/.rz/.approx/.full}{/.ftz}.f32 $d, $s, $s",
    "{rcp/sqrt}{.rn/.rz/.rm/.rp/.approx}{/.ftz}.{f32/f64} $d, $s",
    "{rsqrt/ex2/lg2/sin/cos}.approx{/.ftz}.{f32/f64} $d, $s",
    "{tanh/ex2}.approx{/.ftz}.{f32/f16/f16x2/bf16} $d, $s",
    "{min/max}{/.ftz}{/.NaN}{/.xorsign.abs}.{f32/f64/f16/f16x2/bf16} $d, $s, $s",
    "copysign.{f32/f64} $d, $s, $s",
    "testp.{finite/infinite/number/notanumber/normal/subnormal}.{f32/f64} $p, $s",
    "cvt{/.sat}.{u8/s8/u16/s16/u32/s32/u64/s64}.{u8/s8/u16/s16/u32/s32/u64/s64} $d, $s",
    "cvt{.rni/.rzi/.rmi/.rpi}{/.ftz}{/.sat}.{u8/s16/u32/s32/u64/s64}.{f16/f32/f64} $d, $s",
    "cvt{.rn/.rz/.rm/.rp}{/.sat}.{f16/bf16/f32/f64}.{u8/s8/u16/s32/u64/s64} $d, $s",
    "cvt{/.rn/.rz/.rm/.rp/.rni/.rzi}{/.ftz}{/.sat}.{f16/bf16/f32/f64}.{f16/bf16/f32/f64} $d, $s",
    "cvt.{rn/rz}{/.relu}.{f16x2/bf16x2}.f32 $d, $s, $s",
    "cvt.rna.tf32.f32 $d, $s",
    "setp.{eq/ne/lt/le/gt/ge}{/.and/.or/.xor}.{u16/s32/u64/f32/f64/f16} $p, $s, $s{/, $q}",
    "setp.{lo/ls/hi/hs}.{u32/u64} $p|$p, $s, $s",
    "setp.{equ/neu/ltu/leu/gtu/geu/num/nan}{/.ftz}.{f32/f64/f16} $p{/|$p}, $s, $s",
    "setp.{eq/lt}.{f16x2/bf16x2} $p|$p, $s, $s",
    "set.{eq/lt/ge/nan}{/.and/.xor}{/.ftz}.{u32/s32/f32}.{u32/s64/f32/f16x2} $d, $s, $s{/, $q}",
    "selp.{b16/b32/b64/u32/f32/f64} $d, $s, $s, $p",
    "slct.{u32/b64/f32}.{s32/f32} $d, $s, $s, $s",
    "mov.{u16/b32/u32/b64/u64/f32/f64} $d, $s",
    "mov.pred $p, {$p/!$p/0/1}",
    "mov.b64 $d, <$s, $s>",
    "mov.{b64/b32} <$d, {$d/_}>, $s",
    "mov.b{32/64} $d, <$s, $s, $s, $s>",
    "mov.b64 <$d, _, $d, _>, $s",
    "ld.global{/.ca/.cg/.cs/.lu/.cv/.nc/.volatile}.{u8/s8/u16/s16/b32/s32/f32/u64/f64} $d, $g",
    "ld.global{/.nc}.v2.{b8/u16/b32/u64} <$d, {$d/_}>, $g",
    "ld.{global/shared}.v4.{b8/u16/b32} <$d, $d, _, $d>, {$g/$h}",
    "ld.shared{/::cta/::cluster}.{u8/s16/b32/u64/f32} $d, $h",
    "ld.local.{u8/s16/b32/u64} $d, $l",
    "ld.const.{u8/s16/b32/u64} $d, $k",
    "ld.param.{u8/s16/b32/u64} $d, $m",
    "ld{/.volatile/.relaxed.gpu/.acquire.sys}.{u8/s16/b32/u64} $d, $x",
    "ldu.global.{u32/u64} $d, $g",
    "st.global{/.wb/.cg/.cs/.wt/.volatile}.{u8/u16/b32/f32/u64/f64} $g, $s",
    "st.{global/shared}.v2.{b8/u16/b32/u64} {$g/$h}, <$s, $s>",
    "st.{global/shared}.v4.b32 {$g/$h}, <$s, $s, $s, $s>",
    "st.shared{/::cta/::cluster}.{u8/u16/b32/u64} $h, $s",
    "st.local.{u8/u16/b32/u64} $l, $s",
    "st{/.volatile/.release.gpu}.{u8/u16/b32/u64} $x, $s",
    "atom{/.global/.shared}.{add/min/max/and/or/xor/exch}.{u32/s32/b32/u64} $d, {$x/$g/$h}, $s",
    "atom{/.global/.shared}.{inc/dec}.u32 {$d/_}, {$x/$g/$h}, $s",
    "atom{/.global/.shared}.cas.{b16/b32/b64} $d, {$x/$g/$h}, $s, $s",
    "atom{/.global}.add{/.noftz}.{f32/f64/f16x2/bf16x2/f16/bf16} $d, {$x/$g}, $s",
    "red{/.global/.shared}.{add/min/max/and/or/xor/inc/dec}.{u32/s32/b32/u64/f32} {$x/$g/$h}, $s",
    "cp.async.{ca/cg}.shared.global $h, $g, {4/8/16}{/, $s}",
    "cp.async.{commit_group/wait_all}",
    "cp.async.wait_group $n",
    "{membar.gl/membar.sys/fence.sc.gpu/fence.acq_rel.cta}",
    "{prefetch.global.L1/prefetch.global.L2/prefetchu.L1} $g",
    "tex.1d.v4.{u32/s32/f32}.{s32/f32} <$d, $d, _, $d>, [{$e/1}, <$s>]",
    "tex{/.base/.level}.2d.v4.f32.f32 <$d, $d, _, $d>{/|$p}, [2, <$s, $s>]{/, $s}{/, <$s, $s>}",
    "tex.grad.2d.v4.f32.{s32/f32} <$d, $d, _, $d>, [2, <$s, $s>], <$s, $s>, <$s, $s>",
    "tex.3d.v4.f32.{s32/f32} <$d, $d, _, $d>, [3, <$s, $s, $s, $s>]",
    "tex.{acube/a2d}.v4.f32.f32 <$d, $d, _, $d>, [{4/$e}, {/3, }<$s, $s, $s, $s>]",
    "tld4.{r/a}.2d.v4.f32.f32 <$d, $d, _, $d>, [2, <$s, $s>]",
    "{txq/suq}.{width/height/depth/array_size/channel_order} $d, [{1/2/3/4/5/$e}]",
    "istypep.{texref/samplerref/surfref} $p, {$e/1/5}",
    "suld.b.2d{/.cg}.{b8/b32/b64}.{trap/clamp/zero} $d, [5, <{$s/8}, {$s/1}>]",
    "suld.b.2d.{v2.b64/v2.b32/v2.b16}.{trap/clamp/zero} <$d, $d>, [5, <{$s/16}, {$s/1}>]",
    "sust.b.2d.{b8/b32/b64}.{trap/clamp/zero} [5, <{$s/8}, {$s/1}>], $s",
    "sured.b.{add/min/max/and/or}.2d.{u32/s32/u64}.{trap/clamp/zero} [5, <{$s/8}, {$s/1}>], $s",
    "cvta{/.to}.{global/shared/local/const/param}.u64 $d, $s",
    "isspacep.{global/shared/shared::cluster/local/const/param} $p, $s",
    "mapa{/.shared::cluster}.{u32/u64} $d, $s, $s",
    "getctarank{/.shared::cluster}.{u32/u64} $d, $s",
    "shfl.sync.{up/down/bfly/idx}.b32 {$d/_}{/|$p}, $s, $s, $s, {-1/$s}",
    "shfl.{up/down/bfly/idx}.b32 $d{/|$p}, $s, $s, $s",
    "vote.sync.{all/any/uni}.pred $p, $q, {-1/$s}",
    "vote.sync.ballot.b32 $d, $q, {-1/$s}",
    "vote.{all/any/uni}.pred $p, $q",
    "match.{any/all}.sync.{b32/b64} {$d/_}{/|$p}, $s, {-1/$s}",
    "redux.sync.{add/min/max/and/or/xor}.{u32/s32/b32} $d, $s, {-1/$s}",
    "activemask.b32 $d",
    "{bar/barrier}.sync{/.aligned} {0/1/15/$s}{/, 32/, 64/, $s}",
    "bar.arrive $n, {32/64}",
    "bar.red.{and/or}.pred $p, {0/1/$e}, $q",
    "bar.red.popc.u32 $d, 0, $q",
    "bar.warp.sync {-1/$s}",
    "barrier.cluster.{arrive/wait}",
    "nanosleep.u32 $s",
    "{discard.global.L2/applypriority.global.L2::evict_normal} $g, 128",
    "bra{/.uni} $L",
    "brx.idx $e, T0",
    "call{/.uni} ($d), f0, ({$e/$n/$s})",
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
    "<.param .b32 v0; st.param.b32 [v0], $s; .param .b64 v1; call (v1), f1, (v0); ld.param.b64 "
    "$d, [v1];>",
    "<.reg .b64 %f; mov.u64 %f, {f0/%a0/$e}; call ($d), %f, ($e), P0;>",
    "<.param .b64 v0; .param .b64 v1; .param .b32 v2; st.param.b64 [v0], {$e/%a0}; st.param.b64 "
    "[v1], {$e/%a1}; call (v2), vprintf, (v0, v1);>",
    "<.param .b64 v0; .param .b64 v1; st.param.b64 [v0], {$n/$e/4194304}; call (v1), malloc, (v0); "
    "ld.param.b64 $d, [v1]; st.param.b64 [v0], {$e/$e/0}; call free, (v0);>",
    "{ret/exit/trap/brkpt}",
    "{ret/exit}",
};

/* Declarations of a module, and of a function body. */
static const char *const directives[] = {
    ".global .align {1/8/16/4096} .{b8/u16/f32/u64} g$n[{1/16/$n/100000}] = <$n, -1, 1.5>;",
    ".global .u64 g$n[4] = <g0, f0, generic(g0)+8, c0>;",
    ".const .{u32/f64} c$n = $n;",
    ".shared .align {4/128} .b8 h$n[$n];",
    ".extern .shared .b8 h$n[];",
    ".func (.param .b64 r) f$n (.param .b32 a, .param .align 8 .b8 b[$n]);",
    ".func f{0/1/$n} {(.reg .b32 a)/(.param .b32 a)/};",
    ".pragma \"nounroll\";",
};
static const char *const body_directives[] = {
    ".reg .{b32/pred/f64} %{r/p/x}{/<$n>};",
    ".local .align {4/16} .b8 l$n[{1/$n/100000}];",
    ".shared .{u32/f64} h$n[$n];",
    ".param .b{8/64} v$n[$n];",
    ".loc 1 $n $n",
    ".loc 1 $n $n, function_name L0+$n, inlined_at 1 2 3",
    "T$n: .branchtargets $L, $L;",
    "<",
    ">",
};

static const char *const numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "4",
                                      "31",
                                      "32",
                                      "33",
                                      "63",
                                      "64",
                                      "255",
                                      "65535",
                                      "0x7fffffff",
                                      "0x80000000",
                                      "0xffffffff",
                                      "4294967296",
                                      "0x7fffffffffffffff",
                                      "0x8000000000000000",
                                      "0xffffffffffffffffU",
                                      "0f3f800000",
                                      "0f7fc00000",
                                      "0fff800000",
                                      "0f00000001",
                                      "0d3ff0000000000000",
                                      "0d7ff8000000000000",
                                      "0d0000000000000001",
                                      "1.5",
                                      "-1e300",
                                      "(1<<5)|3",
                                      "-(2*3)/-1",
                                      "1>2?3:~4"};
static const char *const specials[] = {
    "%tid.x",       "%tid.y",           "%ntid.x",      "%ctaid.x",
    "%nctaid.x",    "%laneid",          "%warpid",      "%smid",
    "%nsmid",       "%lanemask_lt",     "%clock",       "%clock64",
    "%globaltimer", "%cluster_ctarank", "%clusterid.x", "%nwarpid",
    "%lanemask_ge", "%total_smem_size", "WARP_SZ",      "%dynamic_smem_size"};
static const char *const symbols[] = {"g0", "c0", "h0", "l0", "dyn", "f0"};

/* A module that declares all names of the templates. Its registers hold addresses of every space
 * and values that differ between the threads of a warp. */
static const char skeleton[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".global .align 16 .b8 g0[256];\n"
    ".const .align 8 .u32 c0[16] = {1, 2, 3};\n"
    ".shared .align 16 .b8 h0[256];\n"
    ".extern .shared .align 16 .b8 dyn[];\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 a);\n"
    ".extern .func free (.param .b64 a);\n"
    ".func (.reg .b32 y) f0 (.reg .b32 x)\n"
    "{\n"
    ".reg .pred %p<8>;\n"
    ".reg .b64 %r<16>;\n"
    ".reg .b64 %a<4>;\n"
    ".local .align 16 .b8 l0[64];\n"
    "P0: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
    "T0: .branchtargets L0, L1;\n"
    "mov.u64 %a1, g0;\n"
    "add.u32 y, x, 1;\n"
    "L0:\n"
    "L1:\n"
    "ret;\n"
    "}\n"
    ".func (.param .b64 y) f1 (.param .b32 x)\n"
    "{\n"
    ".reg .pred %p<8>;\n"
    ".reg .b64 %r<16>;\n"
    ".reg .b64 %a<4>;\n"
    ".local .align 16 .b8 l0[64];\n"
    "P0: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
    "T0: .branchtargets L0, L1;\n"
    "ld.param.b32 %r0, [x];\n"
    "mov.u64 %a1, g0;\n"
    "st.param.b64 [y], %r0;\n"
    "L0:\n"
    "L1:\n"
    "ret;\n"
    "}\n"
    ".visible .entry k0(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3)\n"
    "{\n"
    ".reg .pred %p<8>;\n"
    ".reg .b64 %r<16>;\n"
    ".reg .b64 %a<4>;\n"
    ".local .align 16 .b8 l0[64];\n"
    "P0: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
    "T0: .branchtargets L0, L1, L2, L3;\n"
    "ld.param.u64 %a0, [p0];\n"
    "ld.param.u64 %a1, [p1];\n"
    "ld.param.u64 %r15, [p2];\n"
    "mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %r1, %r0, 8;\n"
    "add.u64 %a1, %a1, %r1;\n"
    "mov.u64 %a2, h0;\n"
    "cvta.shared.u64 %a2, %a2;\n"
    "mov.u64 %a3, l0;\n"
    "cvta.local.u64 %a3, %a3;\n"
    "and.b32 %r2, %r0, 1;\n"
    "setp.eq.u32 %p1, %r2, 0;\n"
    "setp.lt.u32 %p2, %r0, 7;\n"
    "L0:\n"
    "add.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p3, %r3, 3;\n"
    "@%p3 bra L0;\n"
    "L1:\n"
    "st.global.u64 [%a1], %r3;\n"
    "L2:\n"
    "L3:\n"
    "ret;\n"
    "}\n";

enum { LABELS = 8, MAX_STATEMENT = 512 };

/* ---- statements from templates ---- */

struct statement {
    char text[MAX_STATEMENT];
    size_t size;
};

static uint64_t below(struct fth_rng *rng, uint64_t bound)
{
    return fth_rng_below(rng, bound);
}

static void put(struct statement *statement, const char *text, size_t size)
{
    if (size > sizeof statement->text - 1 - statement->size)
        size = sizeof statement->text - 1 - statement->size;
    memcpy(statement->text + statement->size, text, size);
    statement->size += size;
    statement->text[statement->size] = '\0';
}

static void put_text(struct statement *statement, const char *text)
{
    put(statement, text, strlen(text));
}

#define put_one_of(statement, rng, list)                                                           \
    put_text(statement, (list)[below(rng, sizeof(list) / sizeof *(list))])

static void put_number(struct statement *statement, const char *format, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, format, (unsigned)number);
    put_text(statement, text);
}

/* Appends "[BASE]" or "[BASE+OFFSET]" with one of two bases. */
static void put_address(struct statement *statement, struct fth_rng *rng, const char *base,
                        const char *other)
{
    static const char *const offsets[] = {"",   "",    "",    "+4",    "+8",  "+16",
                                          "+2", "+64", "+-8", "+4096", "-16", "+1"};
    put_text(statement, "[");
    if (below(rng, 16) == 0)
        put_number(statement, "%%r%u", below(rng, 16));
    else
        put_text(statement, below(rng, 3) ? base : other);
    put_one_of(statement, rng, offsets);
    put_text(statement, "]");
}

/* Appends any operand that can be a source. */
static void put_source(struct statement *statement, struct fth_rng *rng)
{
    const uint64_t kind = below(rng, 32);
    if (kind < 22)
        put_number(statement, "%%r%u", below(rng, 16));
    else if (kind < 28)
        put_one_of(statement, rng, numbers);
    else if (kind < 30)
        put_one_of(statement, rng, specials);
    else if (kind == 30)
        put_one_of(statement, rng, symbols);
    else
        put_number(statement, "%%a%u", below(rng, 4));
}

/* Appends the operand that a letter after '$' stands for. */
static void put_operand(struct statement *statement, struct fth_rng *rng, char letter)
{
    switch (letter) {
    case 'd':
    case 'e': put_number(statement, "%%r%u", below(rng, 16)); break;
    case 'q':
        put_text(statement, below(rng, 3) ? "" : "!");
        put_number(statement, "%%p%u", below(rng, 8));
        break;
    case 'p': put_number(statement, "%%p%u", below(rng, 8)); break;
    case 'n': put_number(statement, "%u", below(rng, 256)); break;
    case 'L': put_number(statement, "L%u", below(rng, LABELS)); break;
    case 'g': put_address(statement, rng, "%a1", "g0"); break;
    case 'h': put_address(statement, rng, "h0", "dyn"); break;
    case 'l': put_address(statement, rng, "l0", "l0"); break;
    case 'k': put_address(statement, rng, "c0", "c0"); break;
    case 'm': put_address(statement, rng, "p0", "p3"); break;
    case 'x': put_address(statement, rng, below(rng, 2) ? "%a2" : "%a3", "%a1"); break;
    default: put_source(statement, rng); break;
    }
}

/* Appends one of the alternatives of "{a/b/c}", which begin at `from` and may contain operands.
 * Returns what follows the '}'. */
static const char *put_alternative(struct statement *statement, struct fth_rng *rng,
                                   const char *from)
{
    const char *end = strchr(from, '}');
    size_t count = 1;
    for (const char *c = from; c < end; c++)
        count += *c == '/';
    for (uint64_t left = below(rng, count); left > 0; from++)
        left -= *from == '/';
    for (; from < end && *from != '/'; from++)
        if (*from == '$')
            put_operand(statement, rng, *++from);
        else
            put(statement, from, 1);
    return end + 1;
}

static void put_template(struct statement *statement, struct fth_rng *rng, const char *template)
{
    while (*template)
        switch (*template) {
        case '{': template = put_alternative(statement, rng, template + 1); break;
        case '$':
            put_operand(statement, rng, template[1]);
            template += 2;
            break;
        case '<':
        case '>': put_text(statement, *template ++ == '<' ? "{" : "}"); break;
        default: put(statement, template ++, 1); break;
        }
}

/* Makes an instruction with its newline. */
static void make_instruction(struct statement *statement, struct fth_rng *rng)
{
    const char *template = instructions[below(rng, FTH_COUNT(instructions))];
    statement->size = 0;
    if (below(rng, 5) == 0 && *template != '<') {
        put_text(statement, "@");
        put_operand(statement, rng, 'q');
        put_text(statement, " ");
    }
    put_template(statement, rng, template);
    put_text(statement, *template == '<' ? "\n" : ";\n");
}

static void make_directive(struct statement *statement, struct fth_rng *rng, bool in_body)
{
    statement->size = 0;
    put_template(statement, rng,
                 in_body ? body_directives[below(rng, FTH_COUNT(body_directives))]
                         : directives[below(rng, FTH_COUNT(directives))]);
    put_text(statement, "\n");
}

/* ---- changes of the text ---- */

/* The text that is changed. It ends with a NUL, which `size` does not count. */
struct text {
    char *data;
    size_t size, max_size;
};

/* Replaces `removed` bytes at `at` by others, unless the text becomes too large. */
static void replace(struct text *text, size_t at, size_t removed, const char *added, size_t size)
{
    if (text->size - removed + size > text->max_size)
        return;
    memmove(text->data + at + size, text->data + at + removed, text->size - at - removed + 1);
    memcpy(text->data + at, added, size);
    text->size = text->size - removed + size;
}

/* Returns the start of a random line, and its size with the newline. */
static size_t random_line(const struct text *text, struct fth_rng *rng, size_t *size)
{
    size_t at = text->size ? (size_t)below(rng, text->size) : 0;
    while (at > 0 && text->data[at - 1] != '\n')
        at--;
    *size = strcspn(text->data + at, "\n");
    *size += at + *size < text->size;
    return at;
}

/* Returns whether a line can be preceded by an instruction: it is in a body, after the registers.
 */
static bool is_in_body(const struct text *text, size_t at)
{
    const char saved = text->data[at];
    text->data[at] = '\0';
    const char *open = NULL, *close = NULL;
    for (const char *c = text->data; (c = strstr(c, "\n{\n")); c++)
        open = c;
    for (const char *c = text->data; (c = strstr(c, "\n}\n")); c++)
        close = c;
    text->data[at] = saved;
    return open && (!close || close < open) && text->data[at] != '.' && text->data[at] != '{';
}

/* Returns the start of a random line of a body, and its size. Rarely, it is any line. */
static size_t random_statement(const struct text *text, struct fth_rng *rng, size_t *size)
{
    size_t at = random_line(text, rng, size);
    const bool any = below(rng, 32) == 0;
    for (int tries = 0; tries < 32 && !any && (!is_in_body(text, at) || text->data[at] == '}');
         tries++)
        at = random_line(text, rng, size);
    return at;
}

/* Inserts up to four instructions, or replaces statements by them. */
static void insert_instructions(struct text *text, struct fth_rng *rng, bool replaced)
{
    struct statement statement;
    for (uint64_t i = 1 + below(rng, 4); i > 0; i--) {
        size_t size;
        const size_t at = random_statement(text, rng, &size);
        make_instruction(&statement, rng);
        replace(text, at, replaced && text->data[at] != 'L' ? size : 0, statement.text,
                statement.size);
    }
}

static void insert_directive(struct text *text, struct fth_rng *rng)
{
    struct statement statement;
    size_t size;
    const size_t at = random_line(text, rng, &size);
    make_directive(&statement, rng, is_in_body(text, at) || text->data[at] == '.');
    replace(text, at, 0, statement.text, statement.size);
}

/* Copies a line to another place, or moves it there. */
static void copy_line(struct text *text, struct fth_rng *rng, bool move)
{
    struct statement statement = {.size = 0};
    size_t size;
    size_t at = random_statement(text, rng, &size);
    put(&statement, text->data + at, size);
    if (move)
        replace(text, at, size, "", 0);
    at = random_statement(text, rng, &size);
    replace(text, at, 0, statement.text, statement.size);
}

/* Replaces a word or a part of an opcode by another word of the vocabulary. */
static void change_word(struct text *text, struct fth_rng *rng)
{
    static const char letters[] = "despqnLghlkmx";
    struct statement statement = {.size = 0};
    size_t size, at = random_line(text, rng, &size), start = at + below(rng, size ? size : 1);
    while (start > at && isalnum((unsigned char)text->data[start - 1]))
        start--;
    size_t length = 0;
    while (isalnum((unsigned char)text->data[start + length]))
        length++;
    if (below(rng, 2)) {
        /* A word of another template: an opcode, a type or a modifier. */
        make_instruction(&statement, rng);
        char *dot = strchr(statement.text, '.');
        const char *word = dot ? dot + 1 : statement.text;
        replace(text, start, length, word, strcspn(word, ". ;\n"));
        return;
    }
    put_operand(&statement, rng, letters[below(rng, sizeof letters - 1)]);
    replace(text, start, length, statement.text, statement.size);
}

/* ---- labels ---- */

/* Returns the next use or definition of a label in text->data[from, to), or `to`. */
static size_t find_label(const struct text *text, size_t from, size_t to, char digit)
{
    for (size_t at = from; at + 1 < to; at++)
        if (text->data[at] == 'L' && text->data[at + 1] == digit &&
            !isalnum((unsigned char)text->data[at + 2]) &&
            (at == 0 || !isalnum((unsigned char)text->data[at - 1])))
            return at;
    return to;
}

/* Defines the labels that a body uses and does not define, and removes second definitions. */
static void repair_body(struct text *text, struct fth_rng *rng, size_t from, size_t *to)
{
    for (int index = 0; index < LABELS; index++) {
        const char digit = (char)('0' + index);
        bool used = false, defined = false;
        for (size_t at = find_label(text, from, *to, digit); at < *to;
             at = find_label(text, at + 1, *to, digit)) {
            const bool defines = text->data[at + 2] == ':';
            used = used || !defines;
            if (defines && defined) {
                replace(text, at, 3, "", 0);
                *to -= 3;
            }
            defined = defined || defines;
        }
        if (!used || defined || text->size + 4 > text->max_size)
            continue;
        size_t at = *to;
        if (below(rng, 2)) /* in the body instead of at its end */
            for (at = from + below(rng, *to - from); at > from && text->data[at - 1] != '\n';)
                at--;
        const char label[] = {'L', digit, ':', '\n'};
        replace(text, is_in_body(text, at) ? at : *to, 0, label, sizeof label);
        *to += sizeof label;
    }
}

static void repair_labels(struct text *text, struct fth_rng *rng)
{
    for (size_t at = 0; at < text->size;) {
        const char *open = strstr(text->data + at, "\n{\n");
        const char *close = open ? strstr(open, "\n}\n") : NULL;
        if (!close)
            return;
        size_t to = (size_t)(close - text->data) + 1;
        repair_body(text, rng, (size_t)(open - text->data) + 3, &to);
        at = to;
    }
}

/* ---- the mutator ---- */

static void change(struct text *text, struct fth_rng *rng)
{
    const uint64_t kind = below(rng, 100);
    size_t size;
    if (kind < 40)
        insert_instructions(text, rng, false);
    else if (kind < 60)
        insert_instructions(text, rng, true);
    else if (kind < 70) {
        const size_t at = random_statement(text, rng, &size);
        replace(text, at, size, "", 0);
    } else if (kind < 80)
        copy_line(text, rng, kind < 75);
    else if (kind < 90)
        change_word(text, rng);
    else if (kind < 95)
        insert_directive(text, rng);
    else
        text->size = LLVMFuzzerMutate((uint8_t *)text->data, text->size, text->max_size);
    for (size_t i = 0; i < text->size; i++) /* the functions above need a C string */
        if (text->data[i] == '\0')
            text->data[i] = ' ';
    text->data[text->size] = '\0';
}

size_t fuzz_mutate_ptx(char *data, size_t size, size_t max_size, unsigned seed)
{
    struct fth_rng rng;
    struct text text = {.size = size, .max_size = max_size, .data = malloc(max_size + 1)};
    if (!text.data)
        return size;
    fth_rng_init(&rng, seed);
    memcpy(text.data, data, size);
    text.data[size] = '\0';
    if (!strstr(text.data, ".version"))
        replace(&text, 0, text.size, skeleton, sizeof skeleton - 1);
    for (uint64_t count = 1 + below(&rng, 3); count > 0; count--)
        change(&text, &rng);
    repair_labels(&text, &rng);
    memcpy(data, text.data, text.size);
    size = text.size;
    free(text.data);
    return size;
}
