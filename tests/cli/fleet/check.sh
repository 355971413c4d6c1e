# Measures the GPUs of a machine and judges them against a reference, on the stand-in driver. The reference has 20 GPUs that differ
# a little in the bandwidth of memory.
fathom gpus gtx980 --json | sed 's/"sms": {"value": 16/"sms": {"value": 2/' >gpu.json
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json FATHOM_STANDIN=healthy
try() { fathom "$@" >out 2>err; echo "$* -> $?"; cat err; sed -n '1s/\..*/./p; s/^  \([a-z0-9]*\.[a-z_]*\) .*/\1/p' out; }
fathom topo --quick --json -q -o one.json
mkdir fleet
read=$(grep -o '"read_bytes_per_s": {"value": [0-9]*' one.json | tail -n 1 | grep -o '[0-9]*$')
for i in $(seq 20); do
    uuid=$(printf 'GPU-%08d-0000-0000-0000-000000000000' "$i")
    sed "s/GPU-00000000-1111-2222-3333-444444444444/$uuid/; s/\"read_bytes_per_s\": {\"value\": $read/\"read_bytes_per_s\": {\"value\": $((read / 1000 * (990 + i)))/; s/\"host\": {\"value\": \"[^\"]*/&$i/; s/, \"low\": [0-9.e+]*, \"high\": [0-9.e+]*//" one.json >"fleet/$i.json"
done
fathom fleet reference fleet -o ref.json; echo $?
try fleet check --reference ref.json --save 'kept-%g.json'; ls kept-*
try fleet check --reference ref.json --runs 2 --device cuda:0
# Each run has a file of its own, and all of them can be judged.
try fleet check --reference ref.json --runs 3 --save 'runs-%g.json'; ls runs-*
try fleet judge runs-*.json --reference ref.json
# The machine has one GPU.
try fleet check --reference ref.json --expect-gpus 1
try fleet check --reference ref.json --expect-gpus 2; sed -n 2p out
# A history names the missing GPUs of this host, but not those of other hosts, which are not measured.
try fleet check --reference ref.json --expect-gpus 2 --store fleet.db
sed 's/GPU-00000000-1111/GPU-77777777-1111/; s/"pci_bus": {"value": "[^"]*/&7/' one.json >second.json
fathom fleet add fleet second.json --store fleet.db -q >/dev/null
try fleet check --reference ref.json --expect-gpus 2 --store fleet.db
sed -n '2,/^$/p' out | tr '\n' ' ' | sed 's/Missing: [^ ]* /Missing: HOST /; s/ *$//'; echo
echo 'not a database' >damaged.db
try fleet check --reference ref.json --expect-gpus 1 --store damaged.db
# A GPU that the reference does not have cannot be judged, but it is not missing.
sed 's/"driver": "[^"]*"/"driver": "other"/' ref.json >other.json
try fleet check --reference other.json --expect-gpus 1
# The reference is of GPUs whose memory is faster.
for i in $(seq 20); do sed "s/\"read_bytes_per_s\": {\"value\": \([0-9]*\)\([0-9]\{9\}\)/\"read_bytes_per_s\": {\"value\": 9\1\2/" "fleet/$i.json" >"fleet/f$i.json"; rm "fleet/$i.json"; done
fathom fleet reference fleet -o fast.json
try fleet check --reference fast.json
# The clocks are reduced, and a link is not active.
FATHOM_STANDIN=one try fleet check --reference ref.json
# Memory errors that were not corrected.
FATHOM_STANDIN=ecc try fleet check --reference ref.json
# Without a GPU; a GPU that does not work; wrong options.
FATHOM_STANDIN=none try fleet check --reference ref.json
FATHOM_STANDIN=lost-later try fleet check --reference ref.json
FATHOM_STANDIN=none try fleet check --reference ref.json --expect-gpus 1
FATHOM_STANDIN=lost-later try fleet check --reference ref.json --expect-gpus 4
FATHOM_STANDIN=none try fleet check --reference ref.json --device cuda:0 --expect-gpus 1
try fleet check --reference ref.json --expect-gpus 1 --max-instructions many --device cuda:0
try fleet check --reference ref.json --expect-hosts ref.json
try fleet check
try fleet check --reference ref.json --runs 0
try fleet check --reference ref.json fleet
try fleet check --reference missing.json
