# Explorations of parameter grids: tables, files of points that a second run continues, shards, and errors.
launch=$FATHOM_ROOT/examples/workloads/atax.json
set -- "$launch" --gpu none --set N=64 --set gpu.sms=2 --vary l1.size_bytes=4K,8K --vary l1.policy=lru,fifo --threads 1
fathom explore "$@"
fathom explore "$@" --format csv | head -n 2
fathom explore "$@" -o all.jsonl
fathom explore "$@" -o all.jsonl
fathom explore "$@" -o part.%r --shard 1/2
fathom merge part.1 -o whole.jsonl; echo $?
fathom merge part.1 --partial --format csv | wc -l
fathom explore "$@" -o part.%r --shard 2/2
fathom merge part.1 part.2 -o whole.jsonl && cmp whole.jsonl all.jsonl && fathom merge whole.jsonl | head -n 2
printf cut >>all.jsonl
fathom explore "$@" -o all.jsonl && cmp whole.jsonl all.jsonl
fathom explore "$@" -o /dev/full; echo $?
fathom explore "$@" --shard 1/2; echo $?
fathom explore "$@" --shard 3/2 -o part; echo $?
fathom explore "$launch" --gpu none --vary l1.sise_bytes=4K; echo $?
fathom explore "$launch" --gpu none --vary l1.ways; echo $?
fathom explore; echo $?
fathom explore --preset rdgb; echo $?
fathom merge; echo $?
echo "{}" >other.json
fathom merge other.json; echo $?
echo '{"schema": "fathom-exploration/1", "studies": [{"name": "a", "traces": ["t.json none"], "varies": {}}]}' >spec.json
fathom explore --file spec.json; echo $?
fathom topo --device sim:gtx980 --only l1 --json -o '%g.json' && ls ./*gtx980*
# A study of only one kernel of a trace.
cp -r "$FATHOM_ROOT"/examples/workloads/atax.json "$FATHOM_ROOT"/examples/workloads/ptx .
echo '{"schema": "fathom-exploration/1", "studies": [{"name": "a", "traces": ["atax.json columns"], "vary": {"l1.size_bytes": ["4K", "8K"]}}]}' >one.json
fathom explore --file one.json --set N=64 --set gpu.sms=2 --threads 1
# Points with and without time. A point has the same time as a run of the model.
fathom explore "$launch" --gpu h200 --set N=64 --vary gpu.timing=auto,off --threads 1
fathom explore "$launch" --gpu h200 --set N=64 --vary l1.size_bytes=8K --threads 2 --format csv -q | cut -d, -f4,5,16,17
fathom model "$launch" --gpu h200 --set N=64 --set l1.size_bytes=8K --format csv -q | cut -d, -f1,19
