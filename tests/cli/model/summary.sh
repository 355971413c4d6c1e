# The summary of kernels, their lines and their source: what is moved per level, why reads miss, and the bottleneck.
# No line of the default output has more than 80 columns; a wide terminal gets more columns of the same table.
cat >helper.cuh <<'CODE'
// the inlined function
CODE
cat >k.cu <<'CODE'
// line 1
// line 2
	inlined(x); // a line with a tab
// line 4
// line 5
// line 6
// line 7
// line 8
read and write of structs
// line 10
CODE
cat >k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.file 1 "/nowhere/k.cu"
.file 2 "/nowhere/helper.cuh"
// Reads and writes the first word of structs of 32 bytes, through shared memory with 32-way bank conflicts.
.visible .entry structs(.param .u64 cells)
{
.reg .u64 %a, %o; .reg .u32 %x, %i, %v, %s; .shared .align 4 .b8 tile[4096];
ld.param.u64 %a, [cells];
mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; mad.lo.u32 %x, %x, 32, %i;
mul.wide.u32 %o, %x, 32; add.u64 %a, %a, %o;
.loc 2 1 0, function_name $L__info, inlined_at 1 3 9
ld.global.u32 %v, [%a];
mul.lo.u32 %s, %i, 128; mov.u32 %i, tile; add.u32 %s, %s, %i;
.loc 1 9 0
st.shared.u32 [%s], %v;
ld.shared.u32 %v, [%s];
st.global.u32 [%a], %v;
ret;
}
.section .debug_str
{
$L__info:
.b8 105,110,108,105,110,101,100,0
}
// Copies words. It has no source.
.visible .entry copy(.param .u64 out, .param .u64 in)
{
.reg .u64 %a, %b, %o; .reg .u32 %x, %i, %v;
ld.param.u64 %a, [in]; ld.param.u64 %b, [out];
mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; mad.lo.u32 %x, %x, 128, %i;
mul.wide.u32 %o, %x, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o;
ld.global.u32 %v, [%a];
st.global.u32 [%b], %v;
ret;
}
PTX
cat >k.json <<'JSON'
{"schema": "fathom-launch/1", "ptx": "k.ptx",
 "buffers": {"cells": "u32[65536]=i", "in": "u32[32768]=i", "out": "u32[32768]"},
 "launches": [{"kernel": "structs", "grid": 256, "block": 32, "args": ["cells"]},
              {"kernel": "copy", "grid": 256, "block": 128, "args": ["out", "in"]},
              {"kernel": "copy", "grid": 256, "block": 128, "args": ["out", "in"]}]}
JSON
fathom trace k.json -o k.trace 2>/dev/null
for view in '' --launches --lines --source; do
    echo "view $view"
    fathom model k.trace --gpu h200 -q $view | tee out
    sed 's/[–…]/-/g' out | awk 'length($0) > 80'
done
echo 'without time'
fathom model k.trace --gpu h200 --set gpu.timing=off -q | head -n 12
echo 'a wide terminal'
COLUMNS=200 fathom model k.trace --gpu h200 -q | head -n 3
COLUMNS=200 fathom model k.trace --gpu h200 -q --lines | head -n 3
echo 'one kernel'
fathom model k.ptx -e structs -g 256 -b 32 -a 'ptr:u32[65536]' --gpu h200 -q | head -n 3
echo 'the PTX where there is no source'
fathom model k.ptx -e copy -g 2 -b 128 -a 'ptr:u32[256]' -a 'ptr:u32[256]' --gpu h200 -q --source
echo 'CSV and JSON'
fathom model k.trace --gpu h200 -q --lines --format csv
fathom model k.trace --gpu h200 -q --source --json >out
grep -c '"kind": "shared' out
sed -n '/"sources"/,$p' out | head -n 8
grep -m 1 '"floors_us"' out
grep -m 1 '"l1_misses"' out
echo 'a source file that has been shortened is not shown'
head -n 5 k.cu >short; mv short k.cu
fathom model k.trace --gpu h200 -q --source | head -n 3
