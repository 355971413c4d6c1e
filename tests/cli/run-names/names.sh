# Kernels have C++ names in tables and messages. --entry and launch files accept them in several
# forms, as well as their beginnings.
cat > k.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z9transposeILi32ELi0EEvPfPKf(.param .u64 out, .param .u64 in)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.global.f32 %f1, [%rd2];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry _Z9transposeILi64ELi1EEvPfPKf(.param .u64 out, .param .u64 in) { ret; }
.visible .entry _ZN2ns5scaleI6__halfEEvPT_mNS_6ParamsE(.param .u64 data, .param .u64 count, .param .align 8 .b8 params[24]) { ret; }
.visible .entry _Z4sortPi(.param .u64 keys) { ret; }
.visible .entry _Z4sortPf(.param .u64 keys) { ret; }
.visible .entry plain() { ret; }
PTX
try() { fathom run k.ptx "$@" -a 'ptr:f32[1]' -a 'ptr:f32[1]=3'; echo $?; }
try -e '_Z9transposeILi32ELi0EEvPfPKf'
for name in 'transpose<32, 0>' 'transpose<32,0>' 'transpose<32,0>(float*,float const*)' 'void transpose<32, 0>(float*, float const*)' \
    'transpose<3' '_Z9transposeILi3'; do
    try -q -e "$name"
done
echo '- plain names and their beginnings, which must be unique'
for name in ns::scale ns:: transpose trans 'transpose<48, 0>' sort 'sort(int*)' 'sort(float*)' plai plainer ''; do
    try -e "$name"
done
echo '- tables and files'
fathom run k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' -q --counters
fathom run k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' -q --counters --json
fathom trace k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3'
fathom trace k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' --format csv
fathom model k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' --gpu h200 --json | grep -o '"kernel": .*"launches": 1\|"demangled": "[^"]*"'
fathom explore k.ptx -e 'transpose<32,0>' -a 'ptr:f32[1]' -a 'ptr:f32[1]=3' --gpu h200 --vary l1.ways=2 -q
fathom run k.ptx -e 'transpose<32,0>' -a null -a null; echo $?
cat > launch.json <<'JSON'
{"schema": "fathom-launch/1", "ptx": "k.ptx", "buffers": {"a": "f32[1]", "b": "f32[1]=3"}, "launches": [
  {"kernel": "transpose<32,0>", "grid": 1, "block": 1, "args": ["a", "b"]}]}
JSON
fathom run launch.json -q
sed -i 's/transpose<32,0>/transpose/' launch.json
fathom run launch.json -q; echo $?
