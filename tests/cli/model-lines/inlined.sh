# Inlined functions have names, which nvcc writes to the section .debug_str. The lines of the kernel that call them,
# and the calls in JSON, name them; traces keep them.
cp "$FATHOM_ROOT/tests/kernels/memory/inlined.ptx" "$FATHOM_ROOT/tests/kernels/memory/inlined.cu" .
launch='-g 4 -b 32 -a 128 -a ptr:f32[128] -a ptr:f32[128]'
fathom model inlined.ptx $launch --gpu h200 -q --source | tee out
echo 'lines of more than 80 columns:'
sed 's/[–…]/-/g' out | awk 'length($0) > 80'
fathom model inlined.ptx $launch --gpu h200 -q --lines
echo 'a wide terminal'
COLUMNS=160 fathom model inlined.ptx $launch --gpu h200 -q --lines
COLUMNS=120 fathom model inlined.ptx $launch --gpu h200 -q --source | grep '\['
echo 'CSV and JSON'
fathom model inlined.ptx $launch --gpu h200 -q --lines --format csv | cut -d , -f 1-3,18-
fathom model inlined.ptx $launch --gpu h200 -q --json | sed -n 's/, "kind".*//; s/.*"demangled": "inlined", "line"/"line"/p'
# The trace file, a truncated one and the text of --dump have the same names.
fathom trace inlined.ptx $launch -o i.trace 2>/dev/null
fathom model i.trace --gpu h200 -q --source | cmp - out && echo 'trace: the same'
head -c -24 i.trace >cut.trace
fathom model cut.trace --gpu h200 -q --source 2>/dev/null | cmp - out && echo 'truncated: the same'
fathom trace i.trace --dump >dump
grep '^# [sf]' dump
fathom trace dump -o again.trace 2>/dev/null
fathom trace again.trace --dump | cmp - dump && echo 'dump of the dump: the same'
# Several functions on one line, and a name that is longer than half of the width. With the target debug, the assembler removes no
# loads.
cat >many.ptx <<'PTX'
.version 8.0
.target sm_90, debug
.address_size 64
.file 1 "many.cu"
.visible .entry k(.param .u64 p)
{
.reg .u64 %a; .reg .u32 %v;
ld.param.u64 %a, [p];
.loc 1 9 1, function_name .debug_str+2, inlined_at 1 2 1
ld.global.u32 %v, [%a];
.loc 1 9 1, function_name $b, inlined_at 1 2 1
ld.global.u32 %v, [%a+128];
.loc 1 9 1, function_name .debug_str+2, inlined_at 1 2 1
ld.global.u32 %v, [%a+256];
.loc 1 9 1, function_name $long, inlined_at 1 3 1
ld.global.u32 %v, [%a+384];
.loc 1 9 1, function_name $unknown, inlined_at 1 4 1
ld.global.u32 %v, [%a+512];
ret;
}
.section .debug_str
{
.b8 120,0,97,98,99,0
$b: .b8 97,98,0
$long: // string offset=9 ; {a, b}
.b8 110 // n, n
.b8 97,109,101,95,111,102,95,97,95,118,101,114,121,95,108,111,110,103,95,102,117,110,99,116,105,111,110,0
}
PTX
printf 'kernel\n    abc(ab(p)); // a comment\n    call(p); // a comment\n    call(p);\n' >many.cu
fathom model many.ptx -b 32 -a 'ptr:u32[256]' --gpu h200 -q --source
fathom model many.ptx -b 32 -a 'ptr:u32[256]' --gpu h200 -q --lines
# The name of a function without a position.
printf '# instruction 0 bytes 4 line 1 source 2\n# function 0 f\n0 0 0 R:0 1 0x100\n' | fathom trace -; echo $?
# Triton writes the calls of inlined functions as comments.
softmax=$FATHOM_ROOT/tests/modern/triton/rows/softmax
grep -c '^[[:space:]]*\.loc.*standard\.py.*@\[ kernels_basic\.py' "$softmax.ptx"
fathom model "$softmax.json" --gpu h200 -q --lines
