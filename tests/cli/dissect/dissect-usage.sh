# Elements that are no caches are rejected. Caches that the GPU lacks, or that cannot be overflowed, are
# reported, and the others are dissected.
try() { fathom dissect "$@"; echo "$?: $*"; }
try l9
try shared
try --device sim:gtx780 l1 tlb_l3 constant_l1 --format csv -o tlb.csv
try memory l1
try --device sim:v10 l1
try --format xml
try --device sim:gtx560ti readonly constant_l1 --format csv -o out.csv
grep -c constant_l1,sets out.csv
try --device sim:h200 constant_l15 --json -o out.json
try --device sim:gtx780 constant_l1 --series no/such/folder/loads.csv -o out.txt
