# compare --fleet judges the GPUs of a folder, as fleet judge does.
mkdir fleet
# gpu FILE MODEL L1-LATENCY POLICY
gpu() {
    cat >"fleet/$1.json" <<END
{"schema": "fathom-gpu/1", "device": {"name": "$2", "sms": 4, "uuid": "GPU-$1"}, "elements": {
  "l1": {"size_bytes": 16384, "line_bytes": 128, "policy": "$4", "latency_cycles": {"value": $3, "low": $3, "high": $(($3 + 1))}}}}
END
}
gpu node1 one 320 lru
gpu node2 one 321 lru
gpu node3 one 400 lru
gpu node4 one 320 fifo
gpu node5 one 319 lru
gpu node6 two 900 lru
gpu node7 two 900 lru
fathom compare --fleet fleet
echo "code $?"
# --within is the smallest difference that counts.
fathom compare --fleet fleet --within 30 --format csv
echo "code $?"
# The document can be shown in a report.
fathom compare --fleet fleet --json -o differs.json
echo "code $?"
fathom fleet judge fleet --json | cmp - differs.json
fathom report differs.json -o differs.html && grep -c '"schema":"fathom-fleet/2"' differs.html
rm fleet/node3.json fleet/node4.json
fathom compare --fleet fleet
echo "code $?"

# Of two GPUs that differ, the worse one is listed.
rm fleet/*
gpu a one 32 lru
gpu b one 64 lru
fathom compare --fleet fleet
echo "code $?"
gpu c one 128 lru
fathom compare --fleet fleet
echo "code $?"

# Files that cannot be read are reported; the others are compared.
echo '{' >fleet/broken.json
fathom compare --fleet fleet
echo "code $?"
rm fleet/*
fathom compare --fleet fleet
echo "code $?"
fathom compare --fleet nowhere
echo "code $?"

# A description of a simulated GPU, as a node without a driver writes it, is not healthy, and does not count as one of the fleet.
mkdir mixed
for node in 1 2 3; do
    fathom gpus gtx980 --json | sed 's/"name": "/"backend": "cuda", &/' >mixed/node$node.json
done
fathom topo --device sim:gtx980 --only shared --json -q -o mixed/node4.json
fathom compare --fleet mixed
echo "code $?"
fathom compare --fleet mixed --format csv
echo "code $?"
