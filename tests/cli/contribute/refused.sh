# What cannot be contributed, and packs that are not valid: one line that says what to measure again, and exit code 2.
try() { fathom gpus --contribute "$@" -o pack.tar.zst; echo $?; test -e pack.tar.zst && echo 'a pack exists'; }
cp "$FATHOM_ROOT/tests/replay/full-h200.json" gpu.json
cp "$FATHOM_ROOT/tests/replay/h200.zst" gpu.zst
echo '- descriptions'
fathom topo --device sim:gt740m --only l2 --json --record sim.zst -q >sim.json
try sim.json
cp "$FATHOM_ROOT/data/gpus/v100.json" v100.json
try v100.json --recording gpu.zst
cp "$FATHOM_ROOT/tests/replay/h200.json" short.json
try short.json --recording gpu.zst
sed '0,/"periodic": {"value": "no"/s//"periodic": {"value": "yes"/' gpu.json >changed.json
cmp -s gpu.json changed.json && echo 'nothing was changed'
try changed.json --recording gpu.zst
sed '0,/"source": "measured"/s//"source": "published"/' gpu.json >published.json
try published.json --recording gpu.zst
sed '/"read_bytes_per_s"/d' gpu.json >missing.json
try missing.json --recording gpu.zst
sed 's/, "samples": [0-9]*//; s/, "confidence": [0-9.]*//' gpu.json >unsure.json
try unsure.json --recording gpu.zst
echo '- recordings'
try gpu.json --recording nothing.zst
try gpu.json --recording "$FATHOM_ROOT/tests/replay/opencl/h200.zst"
try gpu.json --recording "$FATHOM_ROOT/tests/replay/bench-memory-h200.zst"
head -c 100000 gpu.zst >truncated.zst
try gpu.json --recording truncated.zst
echo '- packs'
check() { fathom gpus --check "$1"; echo $?; }
fathom gpus --contribute gpu.json -o good.tar.zst >out
zstd -dcq good.tar.zst >good.tar
tar xf good.tar
head -c 3000 good.tar >short.tar
check short.tar
check gpu.json
check nothing.tar
tar cf lacking.tar --format=ustar contribution.txt description.json
check lacking.tar
cp gpu.zst other.txt
tar cf more.tar --format=ustar contribution.txt other.txt
check more.tar
cp gpu.json description.json
tar cf personal.tar --format=ustar contribution.txt description.json recording.rec
check personal.tar
mkdir folder
tar cf folder.tar --format=ustar folder
check folder.tar
echo '- options'
fathom gpus --contribute gpu.json; echo $?
fathom gpus --contribute gpu.json -o -; echo $?
fathom gpus --contribute gpu.txt -o pack; echo $?
fathom gpus --contribute gpu.json --check pack -o pack; echo $?
fathom gpus v100 --check pack; echo $?
fathom gpus --recording gpu.zst; echo $?
fathom gpus --check pack -o file; echo $?
fathom gpus --check pack --json; echo $?
fathom gpus --contribute gpu.json -o nowhere/pack; echo $?
