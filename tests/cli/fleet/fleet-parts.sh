# Measurements are collected, and references made, in parts on several nodes; the results are those of the whole fleet.
# judge ARGUMENT...: prints the judgement without the column of effects that can be detected, which is a matter of other tests.
judge() {
    fathom fleet judge "$@" >judged.txt
    code=$?
    sed 's/^\([a-z0-9_]*\.[a-z_]* .*[^ ]\)  *[^ ]*$/\1/' judged.txt
    echo "code $code"
}
mkdir one two
i=0
while [ $i -lt 40 ]; do
    [ $i -lt 20 ] && folder=one || folder=two
    cat >"$folder/node$i.json" <<END
{"schema": "fathom-gpu/1", "device": {"name": "H200", "backend": "cuda", "uuid": "GPU-$((i + 10))", "driver": "580", "sms": 132}, "elements": {
  "memory": {"latency_cycles": 528.$((i % 7)), "read_bytes_per_s": 45$((i % 9))8000000000}}}
END
    i=$((i + 1))
done
fathom fleet collect one -o one.jsonl
fathom fleet collect two -o two.jsonl.zst -q
head -c 4 two.jsonl.zst | od -An -tx1
wc -l <one.jsonl
judge one two
mv judged.txt whole.txt
fathom fleet judge one.jsonl two.jsonl.zst | cmp - whole.txt
fathom fleet judge - two.jsonl.zst <one.jsonl | cmp - whole.txt
fathom fleet reference one two -o whole.json
fathom fleet reference one -o one.json
fathom fleet reference two.jsonl.zst -o two.json.zst
fathom fleet reference one.json two.json.zst | cmp - whole.json
fathom fleet reference two.json.zst one.jsonl | cmp - whole.json

# One GPU alone cannot be judged; with a reference, it can.
mkdir new
sed 's/GPU-10/GPU-99/' one/node0.json >new/node99.json
judge new
judge new --reference whole.json
sed -i 's/"read_bytes_per_s": 4508/"read_bytes_per_s": 3208/' new/node99.json
fathom fleet judge new --reference whole.json -o judged.txt
echo "code $?"
head -n 4 judged.txt
sed -i 's/"sms": 132/"sms": 130/; s/"read_bytes_per_s": 3208/"read_bytes_per_s": 4508/' new/node99.json
fathom fleet judge new --reference whole.json | head -n 5
