# --full adds the figures of 'fathom dissect' to the description: sizes and latencies as without it, sets and ways in addition.
fathom topo --device sim:gtx980 --json -o plain.json
fathom topo --device sim:gtx980 --full --json -o full.json
fathom compare plain.json full.json
sed -n 's/^      "\(sets\|ways\|policy\|block_order\)": {"value": \([^,]*\),.*/\1 \2/p' full.json | sort | uniq
# The text has the drawing of the topology and the table of the dissection.
fathom topo --device sim:gtx980 --full --only constant_l1 -o full.txt
grep -c 'Sets  Ways  Index' full.txt
grep -c '^Sources' full.txt
# A simulated GPU made from it is dissected like the first one.
fathom dissect --device sim:gtx980 constant_l1 | grep '^constant_l1 '
fathom dissect --device sim:full.json constant_l1 | grep '^constant_l1 '
