# GPUs and hosts that are missing: 'fathom fleet judge --expect-gpus' and '--expect-hosts'.
record() { # UUID HOST SLOT DAY
    printf '{"schema":"fathom-fleet-record/1","gpu":"%s","host":"%s","slot":"0000:0%s:00.0",' "$1" "$2" "$3"
    printf '"model":"NVIDIA H200","driver":"580.1","backend":"cuda","time":"2026-11-%sT03:00:00Z",' "$4"
    printf '"figures":{"memory.read_bytes_per_s":46%s0000000000,"l2.size_bytes":62914560}}\n' "$(($4 % 7))"
}
night() { # DAY HOST...: two GPUs per host
    day=$1
    shift
    for host; do
        record "GPU-$host-1" "$host.example.org" 1 "$day"
        record "GPU-$host-2" "$host.example.org" 2 "$day"
    done
}
show() {
    echo "-- $*"
    fathom fleet judge "$@" 2>&1 | grep -v '^[a-z0-9_]*\.[a-z_]* \|^Figure\|^$'
    fathom fleet judge "$@" >/dev/null 2>&1
    echo "exit code $?"
}
night 10 old >old.jsonl
night 17 node1 node2 node3 node4 >before.jsonl
fathom fleet add before.jsonl --store fleet.db -q >/dev/null
sed 's/2026-11-10/2026-08-10/' old.jsonl >older.jsonl
fathom fleet add older.jsonl --store fleet.db -q >/dev/null
night 18 node1 node2 node4 | grep -v GPU-node4-2 >now.jsonl
printf 'host,group\nnode1,rack1\nnode2,rack1\n# spare\nnode3,rack2\nnode4.example.org,rack2\nnode1.example.com,rack3\n' >racks.csv
show now.jsonl --expect-gpus 5
show now.jsonl --expect-gpus 8
show now.jsonl --expect-gpus 8 --store fleet.db
show now.jsonl --expect-hosts racks.csv --groups racks.csv
fathom fleet judge now.jsonl --expect-gpus 8 --store fleet.db --json 2>/dev/null | grep -A 7 '"expected"'
fathom fleet judge now.jsonl --expect-gpus 8 --store fleet.db --format prometheus 2>/dev/null | grep '^fathom_fleet_\(expected\|missing\)'
fathom fleet judge now.jsonl --expect-gpus 8 -o judged.txt
fathom fleet judge now.jsonl --expect-hosts racks.csv -o judged.txt
echo '# no hosts' >none.txt
show now.jsonl --expect-hosts none.txt
for wrong in '--expect-gpus 0' '--expect-gpus many' '--expect-hosts nowhere.txt'; do
    # shellcheck disable=SC2086
    fathom fleet judge now.jsonl $wrong 2>&1
    echo "exit code $?"
done
