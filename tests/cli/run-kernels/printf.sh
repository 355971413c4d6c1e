# 'fathom run' prints the output of printf before the buffers, in the order of the blocks; with JSON, on stderr. Other commands say
# that they drop it, once per kernel. A failed assertion names the file and the line.
cat >print.ptx <<'PTX'
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[10] = {98, 108, 111, 99, 107, 32, 37, 100, 10, 0};
.global .align 1 .b8 file[4] = {97, 46, 99, 0};
.visible .entry prints(.param .u64 p)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<4>;
	.local .align 8 .b8 numbers[8];
	.param .b64 format;
	.param .b64 values;
	.param .b32 result;
	mov.u64 %rd1, text;
	st.param.b64 [format], %rd1;
	mov.u64 %rd2, numbers;
	mov.u32 %r1, %ctaid.x;
	st.local.u32 [%rd2], %r1;
	cvta.local.u64 %rd3, %rd2;
	st.param.b64 [values], %rd3;
	call.uni (result), vprintf, (format, values);
	ret;
}
.visible .entry fails(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.param .b64 a;
	.param .b32 c;
	mov.u64 %rd1, file;
	st.param.b64 [a], %rd1;
	st.param.b32 [c], 7;
	call.uni __assertfail, (a, a, c, a, a);
	ret;
}
.visible .entry quiet(.param .u64 p)
{
	ret;
}
PTX
cat >launch.json <<'JSON'
{"schema": "fathom-launch/1", "ptx": "print.ptx", "buffers": {"p": "i32[4]"}, "launches": [
  {"kernel": "prints", "grid": 4, "block": 1, "args": ["p"]}, {"kernel": "quiet", "grid": 1, "block": 32, "args": ["p"]},
  {"kernel": "prints", "grid": 1, "block": 2, "args": ["p"]}]}
JSON
fathom run launch.json
fathom run launch.json --json
fathom trace launch.json
fathom run print.ptx -e fails -b 32 -a 'ptr:i32[4]'
fathom run print.ptx -e quiet -b 32 -a 'ptr:i32[4]'
