# Hints and changes of traces: three kernels with a known fault and one without.
cat >k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.file 1 "k.cu"
// out[x * 64 + y] = in[y * 64 + x], with 4 rows per block
.visible .entry transpose(.param .u64 out, .param .u64 in)
{
.reg .u64 %a, %b, %o; .reg .u32 %x, %y, %i, %v;
ld.param.u64 %a, [in]; ld.param.u64 %b, [out];
mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; mad.lo.u32 %x, %x, 32, %i;
mov.u32 %y, %ctaid.y; mov.u32 %i, %tid.y; mad.lo.u32 %y, %y, 4, %i;
mad.lo.u32 %i, %y, 64, %x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;
.loc 1 7 0
ld.global.u32 %v, [%a];
mad.lo.u32 %i, %x, 64, %y; mul.wide.u32 %o, %i, 4; add.u64 %b, %b, %o;
.loc 1 8 0
st.global.u32 [%b], %v;
ret;
}
// out[i] = cells[i].a + cells[i].b + cells[i + 1].a; a cell has 32 bytes
.visible .entry stencil(.param .u64 out, .param .u64 cells)
{
.reg .u64 %a, %b, %o; .reg .u32 %x, %i, %u, %v, %w;
ld.param.u64 %a, [cells]; ld.param.u64 %b, [out];
mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; mad.lo.u32 %x, %x, 128, %i;
mul.wide.u32 %o, %x, 32; add.u64 %a, %a, %o;
.loc 1 17 0
ld.global.u32 %u, [%a];
ld.global.u32 %v, [%a + 8];
ld.global.u32 %w, [%a + 32];
add.u32 %u, %u, %v; add.u32 %u, %u, %w;
mul.wide.u32 %o, %x, 4; add.u64 %b, %b, %o;
st.global.u32 [%b], %u;
ret;
}
// count[data[i] % 16]++ for eight values per thread
.visible .entry histogram(.param .u64 count, .param .u64 data)
{
.reg .u64 %a, %b, %o; .reg .u32 %x, %i, %k, %v; .reg .pred %p;
ld.param.u64 %a, [data]; ld.param.u64 %b, [count];
mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; mad.lo.u32 %x, %x, 1024, %i;
mul.wide.u32 %o, %x, 4; add.u64 %a, %a, %o; mov.u32 %k, 0;
loop:
.loc 1 27 0
ld.global.u32 %v, [%a];
and.b32 %v, %v, 15; mul.wide.u32 %o, %v, 4; add.u64 %o, %b, %o;
.loc 1 28 0
red.global.add.u32 [%o], 1;
add.u64 %a, %a, 512; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 8;
@%p bra loop;
ret;
}
// out[i] = in[i]
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
 "buffers": {"in": "u32[4096]=i", "out": "u32[4096]", "cells": "u32[33024]=i", "data": "u32[131072]=random",
             "count": "u32[16]"},
 "launches": [{"kernel": "transpose", "grid": [2, 16], "block": [32, 4], "args": ["out", "in"]},
              {"kernel": "stencil", "grid": 32, "block": 128, "args": ["out", "cells"]},
              {"kernel": "histogram", "grid": 128, "block": 128, "args": ["count", "data"]},
              {"kernel": "copy", "grid": 32, "block": 128, "args": ["out", "in"]}]}
JSON
fathom trace k.json -o k.trace 2>/dev/null
echo "the text has no line with more than 80 columns, and each kernel with a fault has its hint first"
fathom model k.trace --gpu h200 --set gpu.timing=off --hints -q >hints; sed 's/[–…]/-/g' hints | awk 'length($0) > 80'; cat hints
echo "changes"
sectors() { fathom model k.trace --gpu h200 --set gpu.timing=off --lines --format csv -q "$@" | grep "^transpose" | cut -d, -f1-14; }
sectors
sectors --what-if layout=k.cu:8
fathom model k.trace --gpu h200 --set gpu.timing=off --what-if merge=all --what-if blocks=swap --what-if l1.size_bytes=64K --format csv -q | cut -d, -f1-7
echo "errors"
fathom model k.trace --gpu h200 --what-if layout=1; echo $?
fathom model k.trace --gpu h200 --what-if layout; echo $?
fathom model k.trace --gpu h200 --what-if l1.wais=4; echo $?
echo "JSON"
fathom model k.trace --gpu h200 --set gpu.timing=off -q --hints --json | sed -n '/"hints"/,$p' | grep -E '"(rule|source_line|what_if)"'
