# Errors in a launch file are reported with their place in the file.
w=$FATHOM_ROOT/examples/workloads
cp "$w/ptx/fdtd.ptx" .
try() { sed "$1" "$w/fdtd.json" | sed "s|ptx/||" >bad.json; fathom run bad.json --set N=16; echo $?; }
try 's/"launches": \[$/"lunches": [/'
try 's/launch\/1/launch\/2/'
try 's/fdtd.ptx/none.ptx/' 2>&1 | sed "s|$FATHOM_ROOT|ROOT|g"
try 's/"magnetic"/"magnetics"/'
try 's/f32\[N\*N\]=random(-1,1)/f32[N*K]/'
try 's/f32\[T\]=iota/f32[T]=nothing/'
try 's/\["ex", "hz", "i32:N"\]/["ex", "hz"]/'
try 's/"i32:t"/"i32:t\/3"/'
try 's/"block": \[32, 8\]/"block": [32, 64]/'
try 's/"to": "T"/"to": "1e9"/'
try 's/"buffer": "ex"/"buffer": "ez"/'
try 's/\["ceil(N\/32)"/[0/'
try 's/"T": 4/"T": "M"/'
try 's/"for": "t"/"for": "N"/'
try 's/"schema"/"seed": 1.5, &/'
try 's/"block": \[32, 8\]/&, "shared": 0.5/'
try 's/"block": \[32, 8\]/"block": [1, 1, 65]/'
# The message about a fault in a kernel also names the launch. Several blocks fail; which one fails first depends on the host's threads.
sed "s/f32\[N\*N\]=random(-1,1)/f32[N]/; s|ptx/||" "$w/fdtd.json" >bad.json
fathom run bad.json --set N=16 2>&1 | sed 's/0x[0-9a-f]*/ADDRESS/; s/line [0-9]*/line LINE/; s/(0,[0-9]*,0)/POSITION/g'
# Options for launch files are rejected for PTX files, and the other way round.
fathom run "$w/fdtd.json" --set M=3 2>&1 | sed "s|$FATHOM_ROOT|ROOT|g"
fathom run "$w/fdtd.json" -g 4 2>&1 | sed "s|$FATHOM_ROOT|ROOT|g"
fathom run "$w/ptx/fdtd.ptx" --set N=4 2>&1 | sed "s|$FATHOM_ROOT|ROOT|g"
