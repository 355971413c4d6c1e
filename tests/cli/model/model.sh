# Hits and misses of kernels in the caches: per kernel, launch, instruction and reuse distance; and the
# parameters of the modelled GPU.
w=$FATHOM_ROOT/examples/workloads
fathom trace "$w/atax.json" --set N=256 -o a.trace
fathom model a.trace --gpu h200
fathom model a.trace --gpu h200 --lines
fathom model a.trace --gpu gtx970 --l1-off --format csv
fathom model a.trace --profile --set gpu.sms=2 --set l1.size_bytes=16K --set l1.ways=4 --set l2.size_bytes=256K
fathom model a.trace --curve
fathom model a.trace --curve --set l1.sector_bytes=0 2>/dev/null | head -n 2
fathom model "$w/gramschm.json" --set N=3 --launches --gpu v100
# The second kernel has one launch, which is the second of the trace.
fathom model "$w/2mm.json" --set N=16 --launches --format csv 2>/dev/null | cut -d, -f1,2
fathom model --parameters --gpu h200 --set l1.ways=8 | grep -v default
# The launch file and its trace give the same results.
fathom model "$w/atax.json" --set N=256 --gpu h200 --json >one
fathom model a.trace --gpu h200 --threads 1 --json >two
cmp one two && echo 'the same'
grep -c L1_R_Hit one
fathom gpus h200 --json | fathom model a.trace --gpu - | tail -n 2
