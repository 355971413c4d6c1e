# A report is a single file. It is written completely or not at all.
try() { fathom report "$@"; echo "$?: $*"; }
cp "$FATHOM_ROOT/tests/replay/h200.json" "$FATHOM_ROOT/tests/replay/h200.zst" .
try h200.json h200.zst -o report.html
head -n 2 report.html
grep -c 'id="fathom-data"' report.html
[ "$(wc -c <report.html)" -lt 2000000 ] && echo small
fathom gpus k20c --json | fathom report - | grep -c 'Tesla K20c'

try
try nowhere.json -o out.html
echo '{"name": "something else"}' >other.json
try h200.json other.json -o out.html
printf 'fathom-recording/1\ncut' >cut.rec
try cut.rec -o out.html
echo '[{"name": "something else"}]' >list.json
try list.json -o out.html
fathom explore "$FATHOM_ROOT/examples/workloads/atax.json" --gpu none --set N=32 --set gpu.sms=2 --vary l1.size_bytes=4K,8K --threads 1 -o points.jsonl
try points.jsonl -o points.html
grep -o '"rows":\[{"point":0,[^}]*' points.html
fathom report - <points.jsonl | grep -c '"schema":"fathom-explore/1"'
sed -i '3s/rows/lines/' points.jsonl
try points.jsonl -o points.html
grep -c '"schema":"fathom-explore/1"' points.html
sed -i '1s/atax/gemm/' points.jsonl
try points.jsonl -o out.html
try "$FATHOM_ROOT/tests/browser/data/fleet.json" -o fleet.html 2>&1 | sed "s|$FATHOM_ROOT|ROOT|"
grep -c '"schema":"fathom-fleet/2"' fleet.html
[ "$(wc -c <fleet.html)" -lt 450000 ] && echo 'without the scripts of other documents'
try h200.json -o nowhere/out.html
try h200.json --json -o out.html
ls
