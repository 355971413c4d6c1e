# Without arguments for kernels that have parameters, 'fathom run' prints a launch file to edit.
cat > k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z5scaleIfEvPT_PKS0_ifbN2ns6ParamsEPKiPvP6float4PA4_d6__halfPFvvE(.param .u64 out, .param .u64 in, .param .u32 n, .param .f32 f,
    .param .u8 flag, .param .align 8 .b8 params[12], .param .u64 index, .param .u64 any, .param .u64 vectors, .param .u64 rows,
    .param .align 2 .b8 half[2], .param .u64 callback)
.reqntid 16, 8
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.global.f32 %f1, [%rd2];
    st.global.f32 [%rd1], %f1;
    ret;
}
PTX
cp k.ptx two.ptx
cat >> two.ptx <<'PTX'
.visible .entry c_kernel(.param .u64 data, .param .u32 n, .param .b32 bits, .param .f64 x, .param .u16 small) .maxntid 64 { ret; }
.visible .entry _Z4sortPi(.param .u64 keys) .reqnctapercluster 2 { ret; }
.visible .entry _Z4sortPf(.param .u64 keys) { ret; }
.visible .entry none() { ret; }
PTX
fathom run k.ptx > launch.json; echo $?
cat launch.json
fathom run launch.json --show 2
echo '- several kernels'
fathom run two.ptx -o two.json; echo $?
cat two.json
fathom run two.json -q --show 1
echo '- one of several'
fathom run two.ptx -e c_k -g 3,2 -b 64 --shared 1K -q
echo '- standard input'
fathom run - -q < k.ptx | grep '"ptx"'
echo '- kernels without parameters run'
fathom run two.ptx -e none
echo '- other commands need the arguments'
fathom trace k.ptx; echo $?
fathom trace two.ptx; echo $?
echo '- the members of a struct that the kernel loads'
cat > struct.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 8 .b8 p[48], .param .align 4 .b8 unused[4])
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .f64 %fd1;
    .reg .f32 %f<3>;
    ld.param.f64 %fd1, [p+24];
    ld.param.b32 %r1, [p+8];
    ld.param.u64 %rd1, [p];
    ld.param.v2.f32 {%f1, %f2}, [p+32];
    ld.param.u32 %r2, [p+28];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    st.global.f32 [%rd2+4], %f2;
    ret;
}
PTX
fathom run struct.ptx -g 1 -b 1 -q > struct.json
cat struct.json
fathom run struct.json -q --show 2
echo '- types from debug information'
cp "$FATHOM_ROOT/tests/kernels/spaces/typed_params.ptx" .
fathom run typed_params.ptx -q -o typed.json; cat typed.json
fathom run typed.json -q --show 1
