# Makes a fleet with faults from measurements of real GPUs. Equal seeds give equal fleets.
records=$FATHOM_ROOT/tests/fleet/h200-records.jsonl.zst
set -- --from "$records" --gpus 20 --measurements 2 --seed 3 --racks 2
fathom fleet generate "$@" --fault memory-bandwidth:-20:2 --fault sms:-2:1:50% --fault no-gpu --truth truth.csv -o a.jsonl
fathom fleet generate "$@" --fault memory-bandwidth:-20:2 --fault sms:-2:1:50% --fault no-gpu -o b.jsonl.zst
cat truth.csv
zstd -dqc b.jsonl.zst | cmp - a.jsonl && echo equal
wc -l <a.jsonl
# Without faults, the other GPUs are the same.
fathom fleet generate "$@" | sort >healthy
sort a.jsonl | comm -3 - healthy | grep -c .
grep -c '"group": "rack02"' a.jsonl
for spread in 3 published; do
    fathom fleet generate --from "$records" --gpus 3 --spread $spread --tail 5 | wc -l
done
