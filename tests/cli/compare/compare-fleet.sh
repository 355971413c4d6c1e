# compare --fleet judges the GPUs of a folder, as fleet judge does.
# fleet ARGUMENT...: prints the judgement without the column of effects that can be detected, which is a matter of other tests.
fleet() {
    fathom compare --fleet "$@" >judged.txt
    code=$?
    sed 's/^\([a-z0-9_]*\.[a-z_]* .*[^ ]\)  *[^ ]*$/\1/' judged.txt
    echo "code $code"
}
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
fleet fleet
# --within is the smallest difference that counts.
fathom compare --fleet fleet --within 30 --format csv
echo "code $?"
# The document can be shown in a report.
fathom compare --fleet fleet --json -o differs.json
echo "code $?"
fathom fleet judge fleet --json | cmp - differs.json
fathom report differs.json -o differs.html && grep -c '"schema":"fathom-fleet/2"' differs.html
rm fleet/node3.json fleet/node4.json
fleet fleet

# Of two GPUs that differ, the worse one is listed.
rm fleet/*
gpu a one 32 lru
gpu b one 64 lru
fleet fleet

# Files that cannot be read are reported; the others are compared.
echo '{' >fleet/broken.json
fleet fleet
rm fleet/*
fleet fleet
fleet nowhere

# A description of a simulated GPU, as a node without a driver writes it, is not healthy, and does not count as one of the fleet.
mkdir mixed
for node in 1 2 3; do
    fathom gpus gtx980 --json | sed 's/"name": "/"backend": "cuda", &/' >mixed/node$node.json
done
fathom topo --device sim:gtx980 --only shared --json -q -o mixed/node4.json
fleet mixed
fathom compare --fleet mixed --format csv
echo "code $?"
