# Positions in the source. Code of inlined functions has its own position and those of the calls, also
# if it is in another file. The names of the files follow the code, as nvcc writes them.
cat >k.ptx <<'PTX'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
	.reg .f32 %f<4>; .reg .b32 %r<2>; .reg .b64 %rd<6>;
	.loc 1 4 0
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	.loc 1 13 9
	.loc 2 112 3, function_name $L__info_string0, inlined_at 1 13 9
	ld.global.f32 %f1, [%rd4];
	.loc 3 6 5, function_name $L__info_string1, inlined_at 1 13 9
	.loc 3 2 5, function_name $L__info_string2+4, inlined_at 3 6 5
	ld.global.f32 %f2, [%rd4+4];
	.loc 1 13 9
	st.global.f32 [%rd5], %f1;
	.loc 9 5 1, function_name $L__info_string0, inlined_at 1 20 1
	st.global.f32 [%rd5+4], %f2;
	ret;
}
	.file 1 "/home/user/src/k.cu"
	.file 3 "/home/user/src/helper.cuh", 1700000000, 1234
	.file 2 "/cuda/include/intrinsics.hpp"
	.section .debug_str
	{
$L__info_string0:
.b8 95,95,108,100,103,0
$L__info_string1:
.b8 109,105,100,100,108,101,0
$L__info_string2:
.b8 108,101,97,102,0
	}
PTX
launch='-b 32 -a ptr:f32[33] -a ptr:f32[33]'
fathom trace k.ptx $launch --lines
fathom trace k.ptx $launch --lines --format csv
fathom model k.ptx $launch --gpu h200 --lines 2>/dev/null
fathom model k.ptx $launch --gpu h200 --json 2>/dev/null | sed -n 's/, "metrics".*//; /source_file/p'
# The trace file, a truncated one and the text of --dump have the same positions.
fathom trace k.ptx $launch -o k.trace 2>/dev/null
fathom trace k.trace --lines >expected
head -c -24 k.trace | fathom trace - --lines | cmp - expected && echo 'truncated: the same'
fathom trace k.trace --dump >dump
grep '^#' dump
fathom trace dump --lines | cmp - expected && echo 'dump: the same'
fathom trace dump -o again.trace 2>/dev/null
fathom trace again.trace --dump | cmp - dump && echo 'dump of the dump: the same'
# A fault names the position.
fathom run k.ptx -b 32 -a 'ptr:f32[32]' -a 'ptr:f32[33]'; echo $?
fathom run k.ptx -b 32 -a 'ptr:f32[33]' -a 'ptr:f32[32]'; echo $?
# A position of an instruction that is not declared, and one without a line.
printf '# instruction 0 bytes 4 line 1 source 2\n# source 1 2 k.cu\n0 0 0 R:0 1 0x100\n' | fathom trace -; echo $?
printf '# instruction 0 bytes 4 line 1 source 2\n# source 0 k.cu\n0 0 0 R:0 1 0x100\n' | fathom trace -; echo $?
