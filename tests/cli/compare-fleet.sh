# Which GPU of a folder is not like its siblings, and in what.
mkdir fleet
# gpu FILE MODEL L1-LATENCY POLICY
gpu() {
    cat >"fleet/$1.json" <<END
{"schema": "fathom-gpu/1", "device": {"name": "$2", "sms": 4, "uuid": "GPU-$1"}, "elements": {
  "l1": {"size_bytes": 16384, "line_bytes": 128, "policy": "$4", "latency_cycles": {"value": $3, "low": $3, "high": $(($3 + 1))}}}}
END
}
gpu node1 one 32 lru
gpu node2 one 33 lru
gpu node3 one 40 lru
gpu node4 one 32 fifo
gpu node5 one 31 lru
gpu node6 two 90 lru
gpu node7 two 90 lru
fathom compare --fleet fleet
echo "code $?"
fathom compare --fleet fleet --within 20 --json
echo "code $?"
rm fleet/node3.json fleet/node4.json
fathom compare --fleet fleet
echo "code $?"

# Of two that differ the second is told, though nobody can say which is the odd one. Of many of which each is another, neither.
rm fleet/*
gpu a one 32 lru
gpu b one 64 lru
fathom compare --fleet fleet
echo "code $?"
gpu c one 128 lru
fathom compare --fleet fleet
echo "code $?"

# What cannot be read is told; the rest is compared.
echo '{' >fleet/broken.json
fathom compare --fleet fleet
echo "code $?"
rm fleet/*
fathom compare --fleet fleet
echo "code $?"
fathom compare --fleet nowhere
echo "code $?"
