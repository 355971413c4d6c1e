# Mistakes with the history of a fleet: messages, exit codes, files that stay as they are.
show() {
    echo "-- $*" >&2
    fathom fleet "$@"
    echo "exit code $?"
}
record='{"schema":"fathom-fleet-record/1","gpu":"GPU-1","host":"node1","model":"NVIDIA H200","backend":"cuda","time":"2026-11-01T03:00:00Z","figures":{"l2.size_bytes":1}}'
echo "$record" >one.jsonl
echo "$record" | sed 's/GPU-1/GPU-12/' >two.jsonl
show history --store nowhere.db
show add --store fleet.db
show add nosuch.jsonl --store fleet.db
show add one.jsonl --store nowhere/fleet.db
show add one.jsonl --forget-before yesterday --store fleet.db
show add one.jsonl --forget-before 2026-02-29 --store fleet.db
show add one.jsonl --forget-before 2028-02-29 --store fleet.db
show judge one.jsonl --store nowhere.db
show add one.jsonl two.jsonl --store fleet.db
show history GPU-1 node1 --store fleet.db
show history GPU-9 --store fleet.db
show history GPU- --store fleet.db
show history --store fleet.db --format hwloc
# A damaged file, a text file and a fingerprint store are refused and not changed.
head -c 6000 fleet.db >damaged.db
cp damaged.db before.db
show history --store damaged.db 2>&1 | sed 's/damaged ([^)]*)/damaged (...)/'
show add one.jsonl --store damaged.db 2>&1 | sed 's/damaged ([^)]*)/damaged (...)/'
cmp damaged.db before.db
echo 'notes' >notes.txt
show add one.jsonl --store notes.txt
cat notes.txt
fathom fingerprint enroll a --device sim:gtx980 --runs 2 --store fingerprints.db -q >/dev/null 2>&1
cp fingerprints.db before.db
show add one.jsonl --store fingerprints.db
cmp fingerprints.db before.db
