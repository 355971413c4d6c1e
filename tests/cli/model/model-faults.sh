# Errors of model. A truncated trace is used up to the point where it ends; a corrupt one is rejected.
w=$FATHOM_ROOT/examples/workloads
fathom trace "$w/atax.json" --set N=64 -o a.trace 2>/dev/null
fathom model; echo $?
fathom model missing.trace --gpu none; echo $?
fathom model a.trace --gpu h300; echo $?
fathom model a.trace --gpu none --set l1.size; echo $?
fathom model a.trace --gpu none --set l1.wais=4; echo $?
fathom model a.trace --gpu none --set l1.ways=0 --set l1.sets=0 2>&1; echo $?
fathom model a.trace --gpu none --set l1.line_bytes=3; echo $?
fathom model a.trace --gpu none --set gpu.sms=1000000000; echo $?
fathom model a.trace --gpu none --set l1.ways=7; echo $?
fathom model a.trace --gpu none --set gpu.max_warps=1; echo $?
fathom model a.trace --gpu none --set gpu.mapping=@nowhere; echo $?
fathom model a.trace --gpu none --format xml; echo $?
fathom model a.trace --gpu none --threads many; echo $?
size=$(wc -c <a.trace)
head -c $((size - 30)) a.trace >cut.trace
fathom model cut.trace --gpu none --format csv 2>err | cut -d, -f1-6; sed 's/[0-9][0-9]* of the [0-9]* bytes/A of the B bytes/' err
fathom model cut.trace --gpu none >/dev/null 2>&1; echo $?
{ head -c 300 a.trace; printf 'x'; tail -c +302 a.trace; } >bad.trace
fathom model bad.trace --gpu none 2>/dev/null; echo $?
