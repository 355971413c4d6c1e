# A trace is made without the data that no access depends on. The address of the store below leaves
# its buffer and changes the indices that the loads need, so that fathom must start again and execute
# everything. A trace that goes to a pipe is always made by a full execution.
cat >k.ptx <<'PTX'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
	.reg .b32 %r<8>; .reg .b64 %rd<12>; .reg .pred %p<2>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	mov.u32 %r4, 0;
again:
	ld.global.u32 %r2, [%rd5];
	mul.wide.u32 %rd7, %r2, 4;
	add.s64 %rd8, %rd3, %rd7;
	ld.global.u32 %r3, [%rd8];
	st.global.u32 [%rd6-512], %r3;
	add.u32 %r4, %r4, 1;
	setp.lt.u32 %p1, %r4, 3;
	@%p1 bra again;
	ret;
}
PTX
launch='-b 64 -a ptr:u32[64]=iota -a ptr:u32[64] -a ptr:u32[64]=5'
fathom trace k.ptx $launch -o file.trace
fathom trace k.ptx $launch -o - >pipe.trace
cmp file.trace pipe.trace && echo 'the same'
fathom trace file.trace --dump | tail -1
# The results can be checked, and the trace is the same as without the check.
fathom trace "$FATHOM_ROOT/examples/workloads/atax.json" --set N=256 -o a.trace
fathom trace "$FATHOM_ROOT/examples/workloads/atax.json" --set N=256 --verify -o b.trace 2>/dev/null
cmp a.trace b.trace && echo 'the same'
