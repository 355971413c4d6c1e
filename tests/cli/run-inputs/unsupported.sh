# A kernel with an instruction that fathom does not know can be named, but not run. The other kernels of
# the file run. Their names need no template arguments if they are unique.
cat > k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z15transpose_naivePfPKfi(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.global.f32 %f1, [%rd2];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry _Z15transpose_tiledILi32ELi0EEvPfPKfi(.param .u64 out, .param .u64 in, .param .u32 n) { ret; }
.visible .entry _Z15transpose_tiledILi32ELi1EEvPfPKfi(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .b32 %r<4>;
    frobnicate.u32 %r1, %r2, 7;
    add.frob.u32 %r1, %r2, %r3;
    ret;
}
.func helper() { .reg .b32 %r<2>; xyzzy.b32 %r1; ret; }
.visible .entry calls() { call helper; ret; }
PTX
set -- -q -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' -a 1
fathom run k.ptx -e transpose_naive "$@"; echo $?
fathom run k.ptx -e 'transpose_tiled<32,0>' "$@"; echo $?
fathom run k.ptx -e 'transpose_tiled<32,1>' "$@"; echo $?
fathom run k.ptx -e transpose_tiled "$@"; echo $?
fathom run k.ptx -e calls; echo $?
fathom trace k.ptx -e transpose_naive "$@" --format csv | cut -d, -f1-3
fathom model k.ptx -e transpose_naive "$@" --gpu none --format csv | cut -d, -f1-3
fathom model k.ptx -e 'transpose_tiled<32,1>' "$@" --gpu none --format csv; echo $?
fathom explore k.ptx -e 'transpose_tiled<32,0>' "$@" --gpu none --vary l1.ways=2 --format csv | cut -d, -f1-3
fathom run k.ptx -q | grep '"kernel"'
