# Hits and misses of kernels in the caches: per kernel, launch, instruction and reuse distance; and the
# parameters of the modelled GPU.
w=$FATHOM_ROOT/examples/workloads
fathom trace "$w/atax.json" --set N=256 -o a.trace
fathom model a.trace --gpu h200 --rdgc
fathom model a.trace --gpu h200 --rdgc --lines
fathom model a.trace --gpu h200 --lines --json 2>/dev/null | sed -n '/"instructions"/,/}/p' | head -n 6
fathom model a.trace --gpu gtx970 --l1-off --format csv
fathom model a.trace --gpu none --profile --set gpu.sms=2 --set l1.size_bytes=16K --set l1.ways=4 --set l2.size_bytes=256K
fathom model a.trace --gpu none --curve
fathom model a.trace --gpu none --curve --set l1.sector_bytes=0 2>/dev/null | head -n 2
fathom model "$w/gramschm.json" --set N=3 --launches --gpu v100
fathom model "$w/gramschm.json" --set N=3 --launches --gpu v100 --rdgc
# The second kernel has one launch, which is the second of the trace.
fathom model "$w/2mm.json" --gpu none --set N=16 --launches --format csv 2>/dev/null | cut -d, -f1,2
fathom model --parameters --gpu h200 --set l1.ways=8 | grep -v default
# The launch file and its trace give the same results.
fathom model "$w/atax.json" --set N=256 --gpu h200 --json >one
fathom model a.trace --gpu h200 --threads 1 --json >two
cmp one two && echo 'the same'
grep -c L1_R_Hit one
fathom gpus h200 --json | fathom model a.trace --gpu - --rdgc | tail -n 2
# The launches of a kernel that is launched once are in the JSON output, with their number.
fathom model "$w/2mm.json" --gpu none --set N=16 --json 2>/dev/null | sed -n '/"launches": \[/,/^  \]/s/^ *"\(kernel\|launch\)": \(.*\),$/\1 \2/p'
fathom model "$w/gramschm.json" --gpu none --set N=2 --json 2>/dev/null | sed -n '/"launches": \[/,/^  \]/s/^ *"\(kernel\|launch\)": \(.*\),$/\1 \2/p'
# A trace through a pipe.
fathom trace "$w/atax.json" --set N=256 -o - | fathom model - --gpu h200 --json 2>/dev/null | cmp - one && echo 'the same'
fathom model --parameters --gpu none | grep size_bytes
# Without time, writes hit the sectors that are already there, also if they write other bytes: 7 of 8.
printf '%s\n' '# instruction 0 bytes 4 line 1 source 0' '0 0 0 W:0 1 0' '1 0 0 W:0 1 4' '2 0 0 W:0 1 8' '3 0 0 W:0 1 12' \
    '4 0 0 W:0 1 16' '5 0 0 W:0 1 20' '6 0 0 W:0 1 24' '7 0 0 W:0 1 28' |
    fathom model - --gpu h200 --set gpu.timing=off --format csv 2>/dev/null | cut -d, -f10-13
# Local memory passes the caches. Textures do not: the model says how many requests it leaves out.
fathom trace "$FATHOM_ROOT/tests/kernels/spaces/local_array.ptx" -g 1 -b 32 -a i32:32 -a 'ptr:u8[512]' -a 'ptr:u32[32]' -o l.trace
fathom trace l.trace
fathom model l.trace --gpu h200 --lines 2>/dev/null | head -n 4
fathom model l.trace --gpu h200 --json 2>/dev/null | grep local\" | head -n 1
fathom trace l.trace --dump | grep -m 2 local
fathom trace l.trace >one
fathom trace l.trace --dump | fathom trace - | cmp - one && echo 'the same'
fathom model "$FATHOM_ROOT/tests/model/heldout/stencil/bicubic.json" --set W=32 --set H=16 --gpu h200 >/dev/null
# With and without time: --l1-off gives the same counts, and --curve has the same reads in another order.
fathom model a.trace --gpu h200 --l1-off --format csv 2>/dev/null | cut -d, -f1,8,9,14,15
fathom model a.trace --gpu h200 --l1-off --format csv --set gpu.timing=off | cut -d, -f1,8,9,14,15,19
fathom model a.trace --gpu h200 --curve 2>/dev/null | tail -n 1
fathom model a.trace --gpu h200 --set l2.banks=1 --json 2>&1 | grep 'with\|timed\|time_us'
fathom model a.trace --gpu none --set gpu.timing=on
echo $?
# Several orders of the blocks: the values are those of the plain order, with their ranges.
fathom trace "$w/2mm.json" --set N=64 -o b.trace 2>/dev/null
fathom model b.trace --gpu h200 --orders 4
fathom model b.trace --gpu h200 --orders 4 --format csv 2>/dev/null | cut -d, -f1,6,10,12,19,22-25,28-29,34-
fathom model b.trace --gpu h200 --orders 4 --threads 1 --launches 2>/dev/null | head -n 2
fathom model b.trace --gpu h200 --orders 4 --json 2>/dev/null | grep 'orders\|"intervals"' | head -n 2
fathom model b.trace --gpu h200 --orders 4 --json 2>/dev/null | grep -v 'orders\|"intervals"' >orders
fathom model b.trace --gpu h200 --json 2>/dev/null | cmp - orders && echo 'the same'
fathom model a.trace --gpu none --orders 3 --set l1.size_bytes=1K 2>/dev/null
fathom model a.trace --gpu none --orders 1
fathom model a.trace --gpu none --orders many
# Short launches are simulated completely, and of longer ones a sixteenth or more.
fathom model "$w/mvt.json" --set N=2304 --gpu h200 --sample 8
fathom model "$w/mvt.json" --set N=2304 --gpu h200 --sample 8 --json 2>/dev/null | grep '"simulated'
fathom model a.trace --gpu h200 --sample 8
fathom model a.trace --gpu h200 --sample 8 --json 2>/dev/null | grep '"sample' | head -n 2
fathom model a.trace --gpu h200 --sample 1
fathom model a.trace --gpu none --sample 8
fathom model a.trace --gpu h200 --sample 8 --curve
