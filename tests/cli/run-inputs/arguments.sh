# Arguments: structs, numbers without types, buffers with several dimensions and of small floats. run,
# trace, model and explore accept the same ones.
cat > k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 weights[64];
.const .align 4 .u32 stride;
.global .align 4 .f32 total = 0f3F000000;
// scale(float*, int, float, ns::Params): out[i] = weights[0] * x + total
.visible .entry _Z5scalePfifN2ns6ParamsE(.param .u64 out, .param .u32 n, .param .f32 x, .param .align 8 .b8 params[16])
{
    .reg .b64 %rd<8>;
    .reg .b32 %r<6>;
    .reg .f32 %f<6>;
    .reg .pred %p1;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [x];
    ld.param.u64 %rd6, [params+8];
    cvta.to.global.u64 %rd4, %rd6;
    mov.u32 %r2, %tid.x;
    setp.ge.s32 %p1, %r2, %r1;
    @%p1 ret;
    ld.const.u32 %r3, [stride];
    mul.lo.s32 %r4, %r2, %r3;
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    add.s64 %rd5, %rd4, %rd2;
    ld.global.f32 %f5, [%rd5];
    ld.const.f32 %f2, [weights];
    ld.global.f32 %f3, [total];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    add.f32 %f4, %f4, %f5;
    st.global.f32 [%rd3], %f4;
    ret;
}
PTX
set -- k.ptx -b 32 -a 'ptr:f32[16][8]' -a 4 -a 0.5 -a '{i32:7, ptr:f32[16][8]=i}' --variable 'weights=f32[4][4]=2' --variable stride=8
fathom run "$@" --show 9
fathom run "$@" --variable total --json -q --show 9
fathom run "$@" --on sim:h200 --show 9 -q
LD_LIBRARY_PATH=$FATHOM_STANDINS/new fathom run "$@" --on cuda:0 --show 9 -q
fathom run "$@" --save saved -q >/dev/null && ls saved
echo '- the same accesses in all commands'
fathom trace "$@" --format csv | cut -d, -f1-6
fathom model "$@" --gpu none --format csv -q | cut -d, -f1-5
fathom explore "$@" --gpu none --vary l1.ways=4 --format csv -q | cut -d, -f1-6
cat > launch.json <<'JSON'
{"schema": "fathom-launch/1", "ptx": "k.ptx", "sizes": {"N": 4}, "buffers": {"a": "f32[16][8]", "b": "f32[16][8]=i"},
 "variables": {"weights": "f32[N][N]=2", "stride": 8, "total": null},
 "launches": [{"grid": 1, "block": 32, "args": ["a", "N", 0.5, ["i32:7", "b"]]}],
 "expect": [{"buffer": "total", "sum": 0.5, "moment": 0.5}]}
JSON
fathom run launch.json --show 9
fathom run launch.json --verify
fathom trace launch.json --format csv | cut -d, -f1-6
fathom model launch.json --gpu none --format csv -q | cut -d, -f1-5
fathom run launch.json --variable stride=1; echo $?
echo '- the launch file to start from'
fathom run k.ptx -q | tee skeleton.json
fathom run skeleton.json -q --show 1
echo '- errors'
for argument in 0.5 five 'ptr:f32[4' '{i32:7' '{7}' '{i32:7,f32:1}'; do
    fathom run k.ptx -a 'ptr:f32[16]' -a "$argument"; echo $?
done
fathom run k.ptx -a 5; echo $?
fathom run k.ptx -a 'ptr:f32[16]' -a 4 -a 1 -a '{i32:7,f32:1}'; echo $?
fathom run k.ptx -a 'ptr:f32[16]' -a 4 -a 1 -a 7; echo $?
for variable in weight=f32:1 weights=1 'weights=f32[17]' total=file:none total= 'total' '' xyzzy; do
    fathom run k.ptx -b 32 -a 'ptr:f32[16]' -a 4 -a 1 -a '{i32:7,null}' --variable total=1 --variable "$variable"; echo $?
done
fathom run k.ptx -b 32 -a 'ptr:f32[16]' -a 4 -a 1 -a '{i32:7,null}' --variable stride=0.5; echo $?
echo '- small floats'
cat > small.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4noneP6__halfP13__nv_bfloat16P13__nv_fp8_e4m3P13__nv_fp8_e5m26__half(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
    .param .align 2 .b8 e[2]) { ret; }
PTX
fathom run small.ptx -q -a 'ptr:f16[2][2]=i/3' -a 'ptr:bf16[4]=i/3' -a 'ptr:e4m3[4]=i/3' -a 'ptr:e5m2[4]=random' -a 0.5
fathom run small.ptx -q
