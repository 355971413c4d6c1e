# Bank conflicts of shared memory per instruction. The rows follow those of global memory; they have wavefronts instead of sectors. The
# dump leaves them out, so that it can be converted back, and so does the table of the model.
cat >k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry transpose(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .shared .b32 tile[1024]; .shared .b32 sum;
	.loc 1 4 0
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mad.lo.u32 %r3, %r2, 32, %r1;
	mad.lo.u32 %r4, %r1, 32, %r2;
	mul.wide.u32 %rd3, %r3, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	shl.b32 %r3, %r3, 2;
	shl.b32 %r4, %r4, 2;
	mov.u32 %r5, tile;
	add.u32 %r3, %r3, %r5;
	add.u32 %r4, %r4, %r5;
	.loc 1 5 9
	ld.global.f32 %f1, [%rd4];
	st.shared.f32 [%r3], %f1;
	bar.sync 0;
	.loc 1 7 9
	ld.shared.f32 %f2, [%r4];
	st.global.f32 [%rd5], %f2;
	red.shared.add.f32 [sum], %f2;
	ret;
}
	.file 1 "/home/user/src/k.cu"
PTX
kernel="k.ptx -b 32,32 -a ptr:f32[1024] -a ptr:f32[1024]"
fathom trace $kernel --lines
fathom trace $kernel --lines --json -o k.trace --quiet
echo "--- from the file, and from a truncated one"
fathom trace k.trace --lines --format csv | grep shared
head -c $(($(wc -c <k.trace) - 30)) k.trace >cut.trace
fathom trace cut.trace --lines --format csv 2>/dev/null | grep -c shared
echo "--- dump"
fathom trace k.trace --dump | grep "^# instruction"
fathom trace k.trace --dump >k.txt
fathom trace k.txt --dump | cmp - k.txt && echo "the dump can be converted back"
echo "--- model"
fathom model k.trace --gpu h200 --lines --format csv --quiet | cut -d, -f 1-5
