# Memory accesses of kernels: per kernel, per instruction, and one by one.
w=$FATHOM_ROOT/examples/workloads
fathom trace "$w/atax.json" --set N=64
fathom trace "$w/atax.json" --set N=64 --lines
fathom trace "$w/bp.json" --set N=32 --json
# A trace file gives the same summary. The output of --dump can be read as a trace again.
fathom trace "$w/hspot.json" --set N=20 -o h.trace
fathom trace h.trace >one
fathom trace h.trace --dump >h.txt
head -n 12 h.txt | cut -c 1-76
fathom trace h.txt -o again.trace
fathom trace again.trace >two
cmp one two && fathom trace again.trace --dump | cmp - h.txt && echo 'the same'
ls
# A PTX file without a launch file.
fathom trace "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" -g 4 -b 256 -a i32:1000 -a f32:2 \
    -a 'ptr:f32[1000]=iota' -a 'ptr:f32[1000]=1' --format csv
# Traces in the formats of other programs.
fathom trace "$FATHOM_ROOT/tests/fuzz/corpus/import/traceg"
printf '0 0 0 0 0x100\n0 0 1 0 0x104\n1 0 0 1 0x200\n' >tuples
fathom trace tuples --lines
