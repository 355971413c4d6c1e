# A simulated GPU agrees with the description that it was made from. The description of the H200 has no replacement policy of the L1,
# and the simulator assumes LRU; figures that follow from the policy are therefore compared only with --all.
cat >gpu.json <<'END'
{"schema": "fathom-gpu/1", "device": {"name": "small", "sms": 2, "warp_size": 32, "clock_mhz": 1000}, "elements": {
  "l1": {"size_bytes": 16384, "line_bytes": 128, "latency_cycles": 32, "full_miss_bytes": 24576, "onset_bytes": 16512},
  "l2": {"size_bytes": 1048576, "line_bytes": 128, "latency_cycles": 200},
  "memory": {"size_bytes": 1073741824, "latency_cycles": 500}}}
END
fathom topo --device sim:gpu.json --only l1 --json -o measured.json
fathom compare measured.json gpu.json
echo "code $?"
fathom compare gpu.json measured.json --all | grep full_miss
# With a policy, the figure is compared.
sed 's/"line_bytes": 128, "latency_cycles": 32/"policy": "lru", &/' gpu.json >policy.json
fathom compare measured.json policy.json
echo "code $?"
