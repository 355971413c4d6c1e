# run --on executes launches on a device instead of directly in the PTX engine: on the stand-in driver
# and on a simulated GPU. The results must be the same.
w=$FATHOM_ROOT/examples/workloads
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new
while read -r name size; do
    fathom run "$w/$name.json" --set "$size" --show 0 >engine 2>totals
    for device in cuda:0 sim:h200; do
        fathom run "$w/$name.json" --set "$size" --show 0 --on $device 2>$name | cmp - engine
        cat $name
    done
done <<END2
2mm N=24
bp N=64
gramschm N=8
hspot N=30
nw N=32
END2
cp "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" .
cat >own.json <<END2
{"schema": "fathom-launch/1", "ptx": "saxpy.ptx", "sizes": {"N": 8},
 "buffers": {"x": "f32[N]=iota", "y": "f32[N]=1"},
 "launches": [{"kernel": "saxpy", "grid": 2, "block": 4, "args": ["i32:N", "f32:2", "x", "y"]}],
 "expect": [{"buffer": "y", "sum": 64, "moment": 46.5, "sizes": {"N": 8}},
            {"buffer": "y", "sum": 40, "moment": 30, "sizes": {"N": 6}}]}
END2
fathom run own.json --verify --on cuda:0; echo $?
fathom run own.json --verify --on cuda:0 --set N=6; echo $?
fathom run "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" -g 2 -b 4 -a i32:8 -a f32:2 -a 'ptr:f32[8]=iota' -a 'ptr:f32[8]=1' --on cuda:0
# Errors.
try() { mode=$1; shift; FATHOM_STANDIN=$mode fathom run "$@" 2>&1 | sed "s|$FATHOM_ROOT|ROOT|g; s/0x[0-9a-f]*/ADDRESS/"; }
try one own.json --on cuda:7
try one own.json --on cud:0
try one own.json --on "replay:$FATHOM_ROOT/tests/replay/h200.zst"
try jit own.json --on cuda:0
try no-memory:64 "$w/2mm.json" --set N=8 --on cuda:0
try lost-later:2 "$w/2mm.json" --set N=8 --on cuda:0
try one "$w/2mm.json" --set N=8 --on sim:none
sed 's/"grid": 2, "block": 4/"grid": 1, "block": [8, 8, 64]/' own.json >large.json
try one large.json --on cuda:0
sed 's/"x": "f32\[N\]/"x": "f32[1]/' own.json >short.json
try one short.json --on cuda:0
# The PTX can come from a pipe, which can be read only once.
arguments='-g 2 -b 4 -a i32:8 -a f32:2 -a ptr:f32[8]=iota -a ptr:f32[8]=1'
mkfifo pipe
for device in cuda:0 sim:h200; do
    cat saxpy.ptx | fathom run - $arguments --on $device
    cat saxpy.ptx >pipe &
    fathom run pipe $arguments --on $device
done
LD_LIBRARY_PATH=$FATHOM_STANDINS/bare fathom run own.json --on cuda:0; echo $?
