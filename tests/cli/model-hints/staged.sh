# Loads that only fill shared memory: cp.async is proposed, and its effect computed. The second kernel
# also adds up what it loads, and the third one uses it as an address in shared memory.
kernel() { # NAME, INSTRUCTIONS AFTER THE LOAD
    cat <<PTX
.visible .entry $1(.param .u64 out, .param .u64 in)
{
.reg .u64 %a, %b, %o; .reg .u32 %x, %t, %k, %s, %r; .reg .f32 %v, %w, %sum; .reg .pred %p;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %a, [in]; ld.param.u64 %b, [out];
mov.u32 %x, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %x, %x, 8192, %t;
mul.wide.u32 %o, %x, 4; add.u64 %a, %a, %o;
mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s; mov.f32 %sum, 0f00000000; mov.u32 %k, 0;
loop:
ld.global.f32 %v, [%a];
$2
bar.sync 0;
ld.shared.f32 %w, [tile]; add.f32 %sum, %sum, %w;
ld.shared.f32 %w, [tile + 4]; add.f32 %sum, %sum, %w;
ld.shared.f32 %w, [tile + 8]; add.f32 %sum, %sum, %w;
bar.sync 0;
add.u64 %a, %a, 512; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 64;
@%p bra loop;
mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 128, %t;
mul.wide.u32 %o, %x, 4; add.u64 %b, %b, %o; st.global.f32 [%b], %sum;
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_90\n.address_size 64\n'
    kernel staged 'st.shared.f32 [%s], %v;'
    kernel added 'st.shared.f32 [%s], %v; add.f32 %sum, %sum, %v;'
    kernel indexed 'mov.b32 %r, %v; and.b32 %r, %r, 1020; st.shared.f32 [%r], %sum;'
} >k.ptx
for k in staged added indexed; do
    echo "--- $k"
    fathom model k.ptx -e $k -g 132 -b 128 -a 'ptr:f32[16896]' -a 'ptr:f32[1081344]' --gpu h200 --hints --quiet |
        sed -n '/^Hints/,$p'
done
echo '--- what if'
fathom model k.ptx -e staged -g 132 -b 128 -a 'ptr:f32[16896]' -a 'ptr:f32[1081344]' --gpu h200 --what-if hint=13:async --quiet |
    grep -e Estimated -e 'L1 read'
echo '--- faults'
fathom model k.ptx -e staged -g 132 -b 128 -a 'ptr:f32[16896]' -a 'ptr:f32[1081344]' --gpu h200 --what-if hint=13:soon --quiet
