# A kernel that may use 32 registers per thread and needs more: fathom adds loads and stores of local memory to the trace. They
# have the line of the instruction that they belong to.
{
    printf '.version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n'
    printf '.maxntid 1024, 1, 1\n.minnctapersm 2\n{\n.reg .pred %%p<2>; .reg .b32 %%r<4>; .reg .b64 %%rd<4>; .reg .f32 %%f<99>;\n'
    printf 'ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd2, %%r1, 4; add.s64 %%rd3, %%rd1, %%rd2;\n'
    seq 0 39 | sed 's/.*/echo "ld.global.f32 %f&, [%rd3+$((&*128))];"/' | sh
    printf 'ld.param.u32 %%r2, [n]; mov.u32 %%r3, 0;\nloop:\n'
    seq 0 39 | sed 's/.*/echo "fma.rn.f32 %f&, %f&, %f$(((&+1)%40)), 0f3F800000;"/' | sh
    printf 'add.u32 %%r3, %%r3, 1; setp.lt.u32 %%p1, %%r3, %%r2; @%%p1 bra loop;\n'
    seq 0 39 | sed 's/.*/echo "st.global.f32 [%rd3+$((&*128))], %f&;"/' | sh
    printf 'ret; }\n'
} >k.ptx
fathom trace k.ptx -a 'ptr:f32[32*40]=iota' -a i32:3 --stats
fathom trace k.ptx -a 'ptr:f32[32*40]=iota' -a i32:3 --stats --no-spills
fathom trace k.ptx -a 'ptr:f32[32*40]=iota' -a i32:3 -q -o k.trace
fathom trace k.trace --dump | sed -n '/local/p' | head -3
# Without the limit, the values are in registers.
sed -i '/^\.m[ai][xn]n/d' k.ptx
fathom trace k.ptx -a 'ptr:f32[32*40]=iota' -a i32:3 --stats
