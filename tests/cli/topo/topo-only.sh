# --only restricts the measurement to the named elements. A message says if nothing of them was measured.
measured() { sed -n 's/^    "\([a-z0-9_]*\)": {$/\1/p; s/^      "\([a-z0-9_]*\)":.*"simulated".*/measured/p' | uniq |
    awk '/^measured$/ { print last } { last = $0 }'; }
fathom topo --device sim:gtx980 --only l2 --json | measured
fathom topo --device sim:gtx980 --only memory,l1 --json | measured | sort
fathom topo --device sim:gtx980 --only registers --json | measured
# A TLB level is measured together with the others. A level that the GPU does not have gets a reason.
fathom topo --device sim:gtx980 --only tlb_l3 --json >tlbs.json
measured <tlbs.json
grep -A 3 '"tlb_l3"' tlbs.json
# Every other element that is not found gets a reason, too. What the driver reports is a figure.
for element in cluster_shared instruction_l0 instruction_l15 registers; do
    fathom topo --device sim:gtx980 --only $element --json | sed -n "/\"$element\"/,/^    }/p"
done
fathom topo --device sim:gtx560ti --only texture,constant_l15,instruction_l1,readonly --json | sed -n '/"unknown"/,/}/p'
