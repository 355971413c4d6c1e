#include "support/ptx_vocabulary.h"

#include "base/base.h"

#define WORDS(list)                                                                                \
    {                                                                                              \
        list, FTH_COUNT(list)                                                                      \
    }

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): long templates take two lines. */
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
    "{txq/suq}.{width/height/depth/array_size/channel_order}.b32 $d, [{1/2/3/4/5/$e}]",
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
    "nanosleep.u32 $s",
    "{discard.global.L2/applypriority.global.L2::evict_normal} $g, 128",
    "bra{/.uni} $L",
    "brx.idx $e, T0",
    "call{/.uni} ($d), f0, ({$e/$n/$s})",
    "<.param .b32 v0; st.param.b32 [v0], $s; .param .b64 v1; call (v1), f1, (v0); ld.param.b64 $d, "
    "[v1];>",
    "<.reg .b64 %f; mov.u64 %f, {f0/%a0/$e}; call ($d), %f, ($e), P0;>",
    "<.param .b64 v0; .param .b64 v1; .param .b32 v2; st.param.b64 [v0], {$e/%a0}; st.param.b64 "
    "[v1], {$e/%a1}; call (v2), vprintf, (v0, v1);>",
    "<.param .b64 v0; .param .b64 v1; st.param.b64 [v0], {$n/$e/4194304}; call (v1), malloc, (v0); "
    "ld.param.b64 $d, [v1]; st.param.b64 [v0], {$e/$e/0}; call free, (v0);>",
    /* Matrices. */
    "mma.sync.aligned.m16n8k16.row.col.f32.{f16.f16/bf16.bf16}.f32 $4, $4, $2, $4",
    "mma.sync.aligned.m16n8k8.row.col.f32.{f16.f16/bf16.bf16}.f32 $4, $2, $1, $4",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 $2, $4, $2, $2",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 $4, $4, $2, $4",
    "mma.sync.aligned.m8n8k4.{row/col}.{row/col}.f32.f16.f16.f32 $8, $2, $2, $8",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 $2, $1, $1, $2",
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 $4, $8, $4, $4",
    "mma.sync.aligned.m16n8k{16.row.col.s32.s8.u8.s32/32.row.col.s32.s4.s4.s32} $4, $2, $1, $4",
    "mma.sync.aligned.m16n8k32.row.col{/.satfinite}.s32.{s8/u8}.{s8/u8}.s32 $4, $4, $2, $4",
    "mma.sync.aligned.m8n8k32.row.col{/.satfinite}.s32.{s4/u4}.{s4/u4}.s32 $2, $1, $1, $2",
    "mma.sync.aligned.m16n8k64.row.col{/.satfinite}.s32.{s4/u4}.{s4/u4}.s32 $4, $4, $2, $4",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.{xor/and}.popc $4, $4, $2, $4",
    "mma.sync.aligned.m16n8k32.row.col.f32.{e4m3/e5m2}.{e4m3/e5m2}.f32 $4, $4, $2, $4",
    "mma.sp{/::ordered_metadata}.sync.aligned.m16n8k32.row.col.f32.{f16.f16/bf16.bf16}.f32 $4, $4, "
    "$4, $4, $e, {0/1}",
    "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 $2, $2, $2, $2, $e, {0/1/2/3}",
    "mma.sp.sync.aligned.m16n8k{8.row.col.f32.tf32.tf32.f32 $4, $2, "
    "$2/16.row.col.f32.tf32.tf32.f32 $4, $4, $4}, $4, $e, {0/1}",
    "mma.sp.sync.aligned.m16n8k64.row.col{/.satfinite}.s32.{s8/u8}.{s8/u8}.s32 $4, $4, $4, $4, $e, "
    "0",
    "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.{e4m3/e5m2}.f32 $4, $4, $4, $4, $e, 0",
    "wmma.load.{a/b}.sync.aligned.{row/col}.{m16n16k16/m8n32k16/m32n8k16}{/.global}.f16 $8, $g{/, "
    "16/, $s}",
    "wmma.load.{a/b}.sync.aligned.{row/col}.m16n16k16.shared.{f16 $8/bf16 $4/s8 $2/u8 $2}, $h{/, "
    "8/, $s}",
    "wmma.load.c.sync.aligned.{row/col}.m16n16k16{/.global}.{f32 $8/f16 $4/s32 $8}, $g{/, 16}",
    "wmma.load.{a/b}.sync.aligned.{row/col}.m16n16k8.tf32 $4, $x{/, 8}",
    "wmma.load.{a.sync.aligned.row/b.sync.aligned.col}.{m8n8k32.s4/m8n8k128.b1/m8n8k4.f64} $1, $x",
    "wmma.mma.sync.aligned.{row/col}.{row/col}.{m16n16k16/m8n32k16/m32n8k16}.f32.f32 $8, $8, $8, "
    "$8",
    "wmma.mma.sync.aligned.row.{row/col}.m16n16k16.f16.f16 $4, $8, $8, $4",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 $8, $4, $4, $8",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 $8, $4, $4, $8",
    "wmma.mma.sync.aligned.{row/col}.col.m16n16k16.s32.{s8.s8/u8.u8}.s32{/.satfinite} $8, $2, $2, "
    "$8",
    "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64{/.rn/.rz} $2, $1, $1, $2",
    "wmma.mma.{xor/and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 $2, $1, $1, $2",
    "wmma.store.d.sync.aligned.{row/col}.m16n16k16{/.global}.{f32/s32} $g, $8{/, 16/, $s}",
    "wmma.store.d.sync.aligned.{row/col}.m16n16k16{/.shared}.f16 {$h/$x}, $4{/, 16}",
    "ldmatrix.sync.aligned.m8n8.{x1/x1.trans}{/.shared}.b16 $1, $h",
    "ldmatrix.sync.aligned.m8n8.{x2/x2.trans}{/.shared/.shared::cta}.b16 $2, {$h/$x}",
    "ldmatrix.sync.aligned.m8n8.x4{/.trans}.shared.b16 $4, $h",
    "stmatrix.sync.aligned.m8n8.x1{/.trans}.shared.b16 $h, $1",
    "stmatrix.sync.aligned.m8n8.x2{/.trans}{/.shared}.b16 {$h/$x}, $2",
    "stmatrix.sync.aligned.m8n8.x4{/.trans}.shared.b16 $h, $4",
    "movmatrix.sync.aligned.m8n8.trans.b16 $d, $e",
    "wgmma.{fence/commit_group}.sync.aligned",
    "wgmma.wait_group.sync.aligned {0/1/7}",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.{f16.f16/bf16.bf16} $4, {$e, $e, $p, 1, -1, 0, "
    "1/$4, $e, $p, -1, 1, 0/$e, $e, $p, 1, 1, 1, 0}",
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 $8, $e, $e, $p, 1, 1, {0/1}, {0/1}",
    "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 $w, $4, $e, $p, 1, -1, {0/1}",
    "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 $2, $e, $e, $p, 1, 1, 0, {0/1}",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 $4, {$e/$4}, $e, $p, {1/-1}, 1",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.{e4m3/e5m2}.{e4m3/e5m2} $4, {$e/$4}, $e, $p, 1, 1",
    "wgmma.mma_async.sync.aligned.m64n8k32{/.satfinite}.s32.{s8/u8}.{s8/u8} $4, {$e/$4}, $e, $p",
    "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc $4, {$e/$4}, $e, $p",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 $4, {$e, $e, $e, 0, $p, 1, -1, 0, 1/$4, "
    "$e, $e, 1, $p, 1, 1, 1}",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.{s32.s8.s8 $4, $e, $e, $e, 0, $p/f32.e4m3.e5m2 $4, "
    "$4, $e, $e, 0, $p, 1, 1}",
    /* mbarriers. */
    "mbarrier.init{/.shared/.shared::cta}.b64 $b, {1/2/32/40/$s}",
    "mbarrier.inval{/.shared}.b64 $b",
    "mbarrier.arrive{/_drop}{/.release.cta/.release.cluster}{/.shared/.shared::cta}.b64 {$d/_}, "
    "$b{/, 1/, $s}",
    "mbarrier.arrive{/_drop}.release.cluster.shared::cluster.b64 _, {$b/[$e]}{/, 1}",
    "mbarrier.arrive{/_drop}.expect_tx{/.release.cta}{/.shared/.shared::cta}.b64 {$d/_}, $b, "
    "{16/0/$s}",
    "mbarrier.arrive{/_drop}.noComplete{/.shared}.b64 $d, $b, {1/$s}",
    "mbarrier.{expect_tx/complete_tx}.relaxed.{cta.shared/cta.shared::cta/"
    "cluster.shared::cluster}.b64 $b, {16/$s}",
    "mbarrier.{test_wait/try_wait}{/.acquire.cta/.relaxed.cta/.acquire.cluster}{/.shared}.b64 $p, "
    "$b, $e",
    "mbarrier.{test_wait/try_wait}.parity{/.acquire.cta}{/.shared/.shared::cta}.b64 $p, $b, "
    "{0/1/$e}",
    "mbarrier.try_wait{/.parity}.shared.b64 $p, $b, $e, $s",
    "mbarrier.pending_count.b64 $d, $e",
    /* Asynchronous copies. */
    "cp.async.mbarrier.arrive{/.noinc}{/.shared}.b64 $b",
    "cp.async.{ca/cg}.shared.global{.L2::128B $h, $g, 16/.L2::cache_hint $h, $g, 16, $e/ $h, $g, "
    "16, $s}",
    "cp.async.bulk.shared::{cluster/cta}.global.mbarrier::complete_tx::bytes $h, $g, "
    "{16/32/256/$s}, $b",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint $h, $g, 16, "
    "$b, $e",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster $h, $g, "
    "{16/64}, $b, $e",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes {$h/[$e]}, $h, "
    "{16/64/$s}, {$b/[$e]}",
    "cp.async.bulk.global.shared::cta.bulk_group{ $g, $h, 16/.L2::cache_hint $g, $h, 64, $e/ $g, "
    "$h, $s}",
    "cp.async.bulk.prefetch.L2.global $g, {16/64/$s}",
    "cp.async.bulk.{commit_group/wait_group 0/wait_group.read 0/wait_group 1/wait_group $n}",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.{add/min/max/inc/dec/and/or/xor}.{u32/s32/"
    "u64/s64/b32/b64} $g, $h, {16/64/$s}",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.{add/min/max}{/.noftz}.{f16/bf16/f32/f64} "
    "$g, $h, {16/64}",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{add/min/max/"
    "inc/dec/and/or/xor}.{u32/s32/u64/b32} {$h/[$e]}, $h, {16/64}, {$b/[$e]}",
    "cp.async.bulk.tensor.1d.shared::cluster.global{/.tile}.mbarrier::complete_tx::bytes $h, [%a4, "
    "<$s>], $b",
    "cp.async.bulk.tensor.2d.shared::cluster.global{/.tile}.mbarrier::complete_tx::bytes{ $h, "
    "[%a5, <$s, $s>], $b/.L2::cache_hint $h, [%a5, <$s, $s>], $b, $e}",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
    "cluster $h, [%a5, <$s, $s>], $b, $e",
    "cp.async.bulk.tensor.3d.shared::cluster.global{/.tile}.mbarrier::complete_tx::bytes $h, [%a6, "
    "<$s, $s, $s>], $b",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes $h, [%a7, "
    "<$s, $s, $s, $s>], $b, <$s, $s>",
    "cp.async.bulk.tensor.5d.shared::cluster.global{/.tile}.mbarrier::complete_tx::bytes $h, [%a8, "
    "<$s, $s, $s, $s, $s>], $b",
    "cp.async.bulk.tensor.{1d.global.shared::cta.bulk_group [%a4, "
    "<$s>]/2d.global.shared::cta.tile.bulk_group [%a5, <$s, "
    "$s>]/4d.global.shared::cta.im2col_no_offs.bulk_group [%a7, <$s, $s, $s, "
    "$s>]/5d.global.shared::cta.bulk_group [%a8, <$s, $s, $s, $s, $s>]}, $h",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{add/min/max/inc/dec/and/or/xor}{/"
    ".tile}.bulk_group [{%a5/$e}, <$s, $s>], $h",
    "cp.reduce.async.bulk.tensor.3d.global.shared::cta.{add/min/max/and}.bulk_group [%a6, <$s, $s, "
    "$s>], $h",
    "cp.async.bulk.prefetch.tensor.{1d.L2.global [%a4, <$s>]/2d.L2.global.tile [%a5, <$s, "
    "$s>]/4d.L2.global.im2col [%a7, <$s, $s, $s, $s>], <$s, $s>}",
    "tensormap.replace.tile.{rank/elemtype/interleave_layout/swizzle_mode/fill_mode}.{shared::cta/"
    "global}.b1024.b32 {$h/$g}, {0/1/2/3/4/$n}",
    "tensormap.replace.tile.{box_dim/global_dim/element_stride}.{shared::cta.b1024.b32 "
    "$h/global.b1024.b32 $g}, {0/1/2/4/5}, {1/8/$s}",
    "tensormap.replace.tile.global_{stride.shared::cta.b1024.b64 $h, "
    "0/stride.shared::cta.b1024.b64 $h, 3/address.shared::cta.b1024.b64 $h}, {16/%a0/$s}",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{gpu/sys}.sync.aligned "
    "$g, $h, 128",
    "{prefetch.tensormap [%a5]/fence.proxy.tensormap::generic.acquire.gpu $g, 128}",
    "fence.{proxy.alias/proxy.async/proxy.async.global/proxy.async.shared::cta/"
    "mbarrier_init.release.cluster}",
    "griddepcontrol.{wait/launch_dependents}",
    "st.async{/.weak}.shared::cluster.mbarrier::complete_tx::bytes.{b32/u64/f32} {$h/[$e]}, $s, "
    "{$b/[$e]}",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.{v2.b32/v2.u64} {$h/[$e]}, $2, $b",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.{b32/f32} $h, $4, $b",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{inc/dec/min/max/and/"
    "or/xor/add}.{u32/s32/b32/u64} {$h/[$e]}, $s, {$b/[$e]}",
    /* 8-bit floats, 128 bits, vectors, and the rest. */
    "cvt.rn.satfinite{/.relu}.{e4m3x2/e5m2x2}.f32 $d, $s, $s",
    "cvt.rn.satfinite{/.relu}.{e4m3x2/e5m2x2}.f16x2 $d, $s",
    "cvt.rn{/.relu}.f16x2.{e4m3x2/e5m2x2} $d, $s",
    "cvt.rn.satfinite.{f16/bf16/tf32}.f32 $d, $s",
    "mov.b128 {$Q, <$e, $e>/<$d, $d>, $Q/$Q, $Q}",
    "ld{.global/.shared/}.b128 $Q, {[g0]/$g/$h/$x}",
    "st{.global/.shared/}.b128 {[g0]/$g/$h/$x}, $Q",
    "atom{/.global/.shared}.exch.b128 $Q, {[g0]/[h0]/$g/$x}, $Q",
    "atom{/.global/.shared}.cas.b128 {$Q/_}, {[g0]/[h0]/$g/$x}, $Q, $Q",
    "atom.global.{v2.f32.add $2, $g, $2/v4.f32.add $4, $g, $4}",
    "atom.global.{v2/v2}.{f16/bf16/f16x2}.{add/min/max}.noftz $2, $g, $2",
    "atom{/.global}.v4.{f16/bf16x2}.{add/min/max}.noftz $4, [g0], $4",
    "red{/.global}.{v2.f32.add $g, $2/v4.f32.add [g0], $4}",
    "red{/.global}.v8.{f16/bf16}.{add/min/max}.noftz [g0{/+16}], $8",
    "red{/.global}.{v2/v2}.{f16x2/bf16x2}.{add/min/max}.noftz $g, $2",
    "multimem.{ld_reduce.global.add.f32 $d, $g/st.global.u32 $g, $s/red.global.add.u32 $g, $s}",
    "elect.sync {$d/_}|$p, {-1/$s}",
    "setmaxnreg.{inc/dec}.sync.aligned.u32 {24/240/$n}",
    "createpolicy.fractional.L2::evict_{last/first/normal}.b64 $d{/, 0f3f000000}",
    "createpolicy.range.global.L2::evict_last.b64 $d, $g, $s, $s",
    "barrier.cluster.{arrive/arrive.release/arrive.relaxed/wait/wait.acquire}{/.aligned}",
    "tex.{a1d.v4.f32.f32 <$d, $d, _, $d>, [$e, <$s, $s>]/3d.v4.f32.f32 <$d, $d, _, $d>, [3, <$s, "
    "$s, $s, $s>], <1, 0, $s, 0>}",
    "tex.cube.v4.f32.f32 <$d, $d, _, $d>, [{4/2}, <$s, $s, $s, $s>]",
    "tld4.{g/b}.2d.v4.{u32/s32/f32}.f32 <$d, $d, _, $d>, [2, <$s, $s>]{/, <$s, $s>}",
    "{suld.b.2d.v4.b32.clamp <$d, $d, _, $d>, [5, <$s, 1>]/sust.b.2d.v4.b16.zero [5, <8, $s>], "
    "<$s, $s, $s, $s>}",
    "<.param .b64 v0; .param .b32 v1; st.param.b64 [v0], {$e/%a0}; st.param.b32 [v1], $e; call "
    "__assertfail, (v0, v0, v1, v0, v0);>",
    "{ret/exit/trap/brkpt}",
    "{ret/exit}",
};

static const char *const directives[] = {
    ".global .align {1/8/16/4096} .{b8/u16/f32/u64} g$n[{1/16/$n/100000}] = <$n, -1, 1.5>;",
    ".global .u64 g$n[4] = <g0, f0, generic(g0)+8, c0>;",
    ".const .{u32/f64} c$n = $n;",
    ".shared .align {4/128} .b8 h$n[$n];",
    ".extern .shared .b8 h$n[];",
    ".func (.param .b64 r) f$n (.param .b32 a, .param .align 8 .b8 b[$n]);",
    ".func f{0/1/$n} {(.reg .b32 a)/(.param .b32 a)/};",
    ".pragma \"nounroll\";",
    ".global .{texref/samplerref/surfref} t$n;",
    ".reqnctapercluster {1/2/2, 1, 1/$n}",
    ".{maxntid/reqntid} {40/64/128/$n}",
    ".explicitcluster",
};
static const char *const body_directives[] = {
    ".reg .{b32/pred/f64} %{r/p/x}{/<$n>};",
    ".local .align {4/16} .b8 l$n[{1/$n/100000}];",
    ".shared .{u32/f64} h$n[$n];",
    ".param .b{8/64} v$n[$n];",
    ".reg .b128 %{q/z}{/<$n>};",
    ".shared .align {8/128} .b64 b$n[$n];",
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

/* NOLINTEND(bugprone-suspicious-missing-comma) */

const struct fuzz_words fuzz_ptx_instructions = WORDS(instructions);
const struct fuzz_words fuzz_ptx_directives = WORDS(directives);
const struct fuzz_words fuzz_ptx_body_directives = WORDS(body_directives);
const struct fuzz_words fuzz_ptx_numbers = WORDS(numbers);
const struct fuzz_words fuzz_ptx_specials = WORDS(specials);
const struct fuzz_words fuzz_ptx_symbols = WORDS(symbols);

const char fuzz_ptx_skeleton[] =
    ".version 8.6\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".global .align 16 .b8 g0[256];\n"
    ".const .align 8 .u32 c0[16] = {1, 2, 3};\n"
    ".shared .align 128 .b8 h0[2048];\n"
    ".shared .align 8 .b64 b0[4];\n"
    ".extern .shared .align 16 .b8 dyn[];\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 a);\n"
    ".extern .func free (.param .b64 a);\n"
    ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
    ".param .b64 e);\n"
    ".func (.reg .b32 y) f0 (.reg .b32 x)\n"
    "{\n"
    ".reg .pred %p<8>;\n"
    ".reg .b64 %r<16>;\n"
    ".reg .b64 %a<9>;\n"
    ".reg .b128 %q<4>;\n"
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
    ".reg .b64 %a<9>;\n"
    ".reg .b128 %q<4>;\n"
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
    ".visible .entry k0(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3,\n"
    ".param .align 64 .b8 p4[128], .param .align 64 .b8 p5[128], .param .align 64 .b8 p6[128],\n"
    ".param .align 64 .b8 p7[128], .param .align 64 .b8 p8[128])\n"
    "{\n"
    ".reg .pred %p<8>;\n"
    ".reg .b64 %r<16>;\n"
    ".reg .b64 %a<9>;\n"
    ".reg .b128 %q<4>;\n"
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
    "mov.u64 %a4, p4;\n"
    "cvta.param.u64 %a4, %a4;\n"
    "add.u64 %a5, %a4, 128;\n"
    "add.u64 %a6, %a4, 256;\n"
    "add.u64 %a7, %a4, 384;\n"
    "add.u64 %a8, %a4, 512;\n"
    "mbarrier.init.shared.b64 [b0], 40;\n"
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
