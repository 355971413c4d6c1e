# Measurements that are already in the history are not compared with themselves: 'judge --store' gives
# the same verdicts before and after 'add'. Before the first 'add', there is no history, which is only
# noted.
fathom fleet generate --from "$FATHOM_ROOT/tests/fleet/h200-records.jsonl.zst" --gpus 64 --measurements 6 --seed 1 --fault memory-bandwidth:-10 -o all.jsonl
days=$(grep -o '"time": *"[^"T]*' all.jsonl | sort -u)
last=$(echo "$days" | tail -n 1)
grep -v "$last" all.jsonl >earlier.jsonl
grep "$last" all.jsonl >newest.jsonl
echo "$days" | wc -l
judge() { fathom fleet judge newest.jsonl --store fleet.db >out; echo "exit code $?"; head -n 1 out; }
judge
fathom fleet add earlier.jsonl --store fleet.db >out
judge
fathom fleet add newest.jsonl --store fleet.db >out
judge
# A figure of another kind in a reference is not judged.
fathom fleet reference newest.jsonl -o ref.json
sed 's/"figure": "device.sms", "kind": "exact", "values": \[[^]]*\]/"figure": "device.sms", "kind": "rate", "gpus": [24415, 64], "repeats": []/' ref.json >odd.json
cmp -s ref.json odd.json && echo same
fathom fleet judge newest.jsonl --reference odd.json >out; echo "exit code $?"; head -n 1 out
