# --only restricts the measurement to the named elements. A message says if nothing of them was measured.
measured() { sed -n 's/^    "\([a-z0-9_]*\)": {$/\1/p; s/^      "\([a-z0-9_]*\)":.*"measured".*/measured/p' | uniq |
    awk '/^measured$/ { print last } { last = $0 }'; }
fathom topo --device sim:gtx980 --only l2 --json | measured
fathom topo --device sim:v100 --only memory,l1 --json | measured | sort
fathom topo --device sim:gtx980 --only registers --json | measured
# A TLB level is measured together with the others. A level that the GPU does not have gets a reason.
fathom topo --device sim:gtx980 --only tlb_l3 --json >tlbs.json
measured <tlbs.json
grep -A 3 '"tlb_l3"' tlbs.json
