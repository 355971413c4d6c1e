# Runs the launches of a launch file in order, also with other sizes, and verifies the results.
w=$FATHOM_ROOT/examples/workloads
fathom run "$w/2mm.json" --set N=40 --show 3
fathom run "$w/gramschm.json" --set N=8 --show 2 --json
fathom run "$w/syrk.json" --verify 2>/dev/null; echo $?
cp "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" .
cat >own.json <<END
{"schema": "fathom-launch/1", "about": "y = 2 x + y twice, the second time on half of it",
 "ptx": "saxpy.ptx",
 "sizes": {"N": 8, "HALF": "N/2"},
 "buffers": {"x": "f32[N]=iota", "y": "f32[N]=(i % 2) / 2", "r": "f32[4]=random(-1,1)",
             "k": "s32[3]=random(5,7)"},
 "launches": [
   {"kernel": "saxpy", "grid": "ceil(N/4)", "block": 4, "args": ["i32:N", "f32:2", "x", "y"]},
   {"kernel": "saxpy", "grid": 1, "block": [8], "args": ["i32:HALF", "f32:2", "x", "y+HALF"]}],
 "expect": [{"buffer": "y", "file": "y.bin", "absolute": 1e-6},
            {"buffer": "x", "sum": 28, "moment": 21, "sizes": {"N": 8}}]}
END
fathom run own.json
# The expected values come from a file: 0 2.5 4 6.5 8 12.5 16 20.5.
printf '\000\000\000\000\000\000\040\100\000\000\200\100\000\000\320\100' >y.bin
printf '\000\000\000\101\000\000\110\101\000\000\200\101\000\000\244\101' >>y.bin
fathom run own.json --verify; echo $?
printf '\000\000\000\101\000\000\110\101\000\000\200\101\000\000\244\102' | dd of=y.bin bs=16 seek=1 conv=notrunc 2>/dev/null
fathom run own.json --verify 2>/dev/null; echo $?
fathom run own.json --verify --set N=6; echo $?
