# Wrong arguments of 'fathom fleet generate'.
records=$FATHOM_ROOT/tests/fleet/h200-records.jsonl.zst
try()
{
    fathom fleet generate "$@"
    echo "exit code $?" >&2
}
try
try --from "$records"
try --from "$records" --gpus 0
try --from "$records" --gpus 10 --spread none
try --from "$records" --gpus 10 --measurements x
try --from "$records" --gpus 10 --fault memory:-5
try --from "$records" --gpus 10 --fault memory-bandwidth
try --from "$records" --gpus 10 --fault memory-bandwidth:-5:11
try --from missing.jsonl --gpus 10
try --from "$FATHOM_ROOT/tests/replay/h200.json" --gpus 10
try out --from "$records" --gpus 10
