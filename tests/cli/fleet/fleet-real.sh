# Fifteen measurements each of eight real H200s: all cards are healthy, judged together, by ten measurements, by one measurement of each,
# and each card by the reference of the others. Prints how often, the exit code and the first line.
zstd -dqc "$FATHOM_ROOT/tests/fleet/h200-records.jsonl.zst" >all.jsonl
judge() { fathom fleet judge "$@" >out; code=$?; echo "$code: $(head -n 1 out)"; }
judge all.jsonl
cards=$(grep -o '"gpu": *"[^"]*' all.jsonl | grep -o 'GPU-.*' | sort -u)
for card in $cards; do grep -e "$card" all.jsonl >"$card.jsonl"; done
head -q -n 10 GPU-*.jsonl >ten.jsonl
judge ten.jsonl
for run in $(seq 15); do
    for card in $cards; do sed -n "${run}p" "$card.jsonl"; done >one.jsonl
    judge one.jsonl
done | sort | uniq -c | sed 's/^ *//'
for card in $cards; do
    grep -v -e "$card" all.jsonl >others.jsonl
    fathom fleet reference others.jsonl -o ref.json
    judge "$card.jsonl" --reference ref.json
    sed -n 15p "$card.jsonl" >one.jsonl
    judge one.jsonl --reference ref.json
done | sort | uniq -c | sed 's/^ *//'
