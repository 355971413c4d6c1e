# run --save writes the buffers as files that 'expect' and 'file:' read.
cp "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" .
cat >save.json <<END
{"schema": "fathom-launch/1", "ptx": "saxpy.ptx", "sizes": {"N": 4},
 "buffers": {"x": "f32[N]=iota", "y": "f32[N]=1"},
 "launches": [{"kernel": "saxpy", "grid": 1, "block": 4, "args": ["i32:N", "f32:2", "x", "y"]}],
 "expect": [{"buffer": "y", "file": "results/y.bin"}]}
END
fathom run save.json --save results 2>/dev/null
ls results
od -An -tx1 results/y.bin
fathom run save.json --verify 2>/dev/null; echo $?
# A file is replaced, also when the results are verified at the same time.
fathom run save.json --set N=2 --save results --verify 2>/dev/null; echo $?
od -An -tx1 results/y.bin
fathom run saxpy.ptx -e saxpy -b 2 -a i32:2 -a f32:2 -a 'ptr:f32[2]=1' -a 'ptr:f32[2]=1' --save . --json >/dev/null 2>&1
ls argument*
# A run that fails saves nothing. Errors.
sed 's/"x": "f32\[N\]/"x": "f32[1]/' save.json >short.json
fathom run short.json --save failed 2>&1 | sed 's/0x[0-9a-f]*/ADDRESS/'; ls -d failed 2>/dev/null
fathom run save.json --save saxpy.ptx; echo $?
fathom run save.json --save no/such/folder; echo $?
