# fleet judge finds the GPUs of a fleet that differ from the others of their model. Each of these cases was missed before: one GPU with
# 20 % less bandwidth among 500 that are equal, and a node without a driver, which measures a simulated GPU.
# gpu NUMBER BANDWIDTH BACKEND
gpu() {
    cat >"fleet/node$1-GPU-$1.json" <<END
{"schema": "fathom-gpu/1", "device": {"name": "H200", "backend": "$3", "uuid": "GPU-$1", "driver": "580", "sms": 132}, "elements": {
  "l2": {"size_bytes": 62914560, "latency_cycles": 277.5, "read_bytes_per_s": 8838000000000},
  "memory": {"size_bytes": 150109880320, "latency_cycles": 528.2, "read_bytes_per_s": $2}}}
END
}
# judge ARGUMENT...: prints the judgement without the column of effects that can be detected, which is a matter of other tests.
judge() {
    fathom fleet judge "$@" >judged.txt
    code=$?
    sed 's/^\([a-z0-9_]*\.[a-z_]* .*[^ ]\)  *[^ ]*$/\1/' judged.txt
    echo "code $code"
}
mkdir fleet
i=0
while [ $i -lt 500 ]; do
    gpu $((i + 1000)) 4588000000000 cuda
    i=$((i + 1))
done
judge fleet
gpu 1234 3670400000000 cuda
judge fleet
fathom compare --fleet fleet | head -n 4
fathom fleet judge fleet --format csv | sed 's/"[^"]*"/CAUSE/' | cut -d, -f1,2,6-12
gpu 1234 4588000000000 cuda
gpu 1499 4588000000000 simulated
fathom fleet judge fleet >judged.txt
echo "code $?"
head -n 6 judged.txt
# Files that are no descriptions are named and counted.
gpu 1499 4588000000000 cuda
echo '{' >fleet/broken.json
fathom fleet judge fleet | head -n 4
fathom fleet judge fleet --json | grep -A 2 '"counts"\|"problems"'
