# The paths of their files distinguish GPUs without a UUID, also after 'fathom fleet collect'.
record='{"schema": "fathom-gpu/1", "device": {"name": "H200", "backend": "cuda", "driver": "580"}, "elements": {"l2": {"latency_cycles": 277.5}}}'
mkdir monday tuesday
echo "$record" >monday/gpu.json
echo "$record" >tuesday/gpu.json
fathom fleet judge monday tuesday | head -n 1
fathom fleet collect monday tuesday -o all.jsonl -q
fathom fleet judge all.jsonl | head -n 1
fathom fleet collect all.jsonl -q | cmp - all.jsonl
