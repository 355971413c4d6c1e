# The output of printf is missing. A message says so, once per kernel.
cat >print.ptx <<'PTX'
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry prints(.param .u64 p)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	.param .b64 format;
	.param .b64 values;
	.param .b32 result;
	mov.u64 %rd1, text;
	st.param.b64 [format], %rd1;
	mov.u64 %rd2, 0;
	st.param.b64 [values], %rd2;
	call.uni (result), vprintf, (format, values);
	ret;
}
.visible .entry prints_too(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.param .b64 format;
	.param .b64 values;
	.param .b32 result;
	call.uni (result), vprintf, (format, values);
	ret;
}
.visible .entry quiet(.param .u64 p)
{
	ret;
}
PTX
cat >launch.json <<'JSON'
{"schema": "fathom-launch/1", "ptx": "print.ptx", "buffers": {"p": "i32[4]"}, "launches": [
  {"kernel": "prints", "grid": 4, "block": 64, "args": ["p"]}, {"kernel": "quiet", "grid": 1, "block": 32, "args": ["p"]},
  {"kernel": "prints_too", "grid": 1, "block": 32, "args": ["p"]}, {"kernel": "prints", "grid": 1, "block": 32, "args": ["p"]}]}
JSON
fathom run launch.json
fathom trace launch.json
fathom run print.ptx -e quiet -b 32 -a 'ptr:i32[4]'
