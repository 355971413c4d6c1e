# 'fathom fleet add' and 'history', and 'judge --store': measurements over time, what changed, cards
# that were swapped or moved.
record() { # UUID HOST DAY DRIVER BANDWIDTH
    printf '{"schema":"fathom-fleet-record/1","gpu":%s,"host":"%s","slot":"0000:00:06.0",' "$1" "$2"
    printf '"model":"NVIDIA H200","driver":"%s","backend":"cuda","time":"2026-11-%sT03:00:00Z",' "$4" "$3"
    printf '"figures":{"memory.read_bytes_per_s":%s,"l2.latency_cycles":277.%s,"l2.size_bytes":62914560},' "$5" "$(($3 % 3))"
    printf '"texts":{"device.throttling":"none"}}\n'
}
night() { # DAY: four nodes; the bandwidth varies by 0.2 %
    for node in 1 2 3 4; do
        record "\"GPU-0000000$node\"" "node$node" "$1" 580.1 "46$((($1 * 7 + node * 3) % 10))0000000000"
    done
}
for day in 11 12 13 14 15 16; do night $day >$day.jsonl; done
show() {
    echo "-- $*"
    fathom fleet "$@"
    echo "exit code $?"
}
show add 11.jsonl 12.jsonl --store fleet.db
show add 12.jsonl 13.jsonl --store fleet.db
show add 14.jsonl 15.jsonl 16.jsonl --store fleet.db --json
show history --store fleet.db

# The next night: the card of node 1 is slower with a new driver, and those of nodes 2 and 3 were
# exchanged. Node 4 has a new card.
{
    record '"GPU-00000001"' node1 17 590.2 4330000000000
    record '"GPU-00000003"' node2 17 580.1 4610000000000
    record '"GPU-00000002"' node3 17 580.1 4620000000000
    record '"GPU-00000005"' node4 17 580.1 4630000000000
} >17.jsonl
show judge 17.jsonl --store fleet.db --format csv
fathom fleet judge 17.jsonl --store fleet.db --json >judgement.json
grep -c '"history": *true' judgement.json
show add 17.jsonl --store fleet.db
show history --store fleet.db
show history node4 --store fleet.db
show history GPU-00000001 --store fleet.db
show history GPU-00000001 --store fleet.db --format csv | grep -v size_bytes | tail -6
show history GPU-00000001 --store fleet.db --json | tail -30
show add --forget-before 2026-11-17 --store fleet.db
# The default path.
XDG_DATA_HOME=$PWD/data fathom fleet add 11.jsonl --json | sed "s|$PWD|.|"
XDG_DATA_HOME=$PWD/data fathom fleet history GPU-00000003
