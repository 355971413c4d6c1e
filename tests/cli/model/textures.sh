# Textures and surfaces: the texels are in the trace at the addresses at which a GPU has them.
cat >k.ptx <<'PTX'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 buffer, .param .u64 surface)
{
	.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p1;
	ld.param.u64 %rd1, [image];
	ld.param.u64 %rd2, [buffer];
	ld.param.u64 %rd3, [surface];
	mov.u32 %r1, %tid.x;
	setp.ge.u32 %p1, %r1, 9;
	@%p1 ret;
	cvt.rn.f32.u32 %f1, %r1;
	mov.f32 %f2, 0f40000000;
	tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
	tex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [%rd2, {%r1}];
	shl.b32 %r2, %r1, 2;
	mov.u32 %r3, 1;
	sust.b.2d.b32.trap [%rd3, {%r2, %r3}], {%r1};
	ret;
}
PTX
cat >k.json <<'JSON'
{
  "schema": "fathom-launch/1", "ptx": "k.ptx",
  "buffers": {"a": "f32[16*16]=iota", "b": "f32[64]=iota", "c": "f32[16*16]"},
  "launches": [{"kernel": "k", "grid": 1, "block": 32,
    "args": [{"texture": "a", "sizes": [16, 16], "filter": "linear"},
             {"texture": "b", "sizes": [64], "linear_memory": true}, {"surface": "c", "sizes": [16, 16]}]}]
}
JSON
fathom trace k.json -o k.trace
fathom trace k.trace
fathom trace k.trace --lines
fathom trace k.trace --dump | tee dump.txt
# The text is a trace again.
fathom trace dump.txt --lines
fathom model k.trace --gpu h200 --lines --quiet
