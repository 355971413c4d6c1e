# The formats of fleet judge that other programs read. A small parser checks the text exposition format of Prometheus.
mkdir fleet
i=0
while [ $i -lt 30 ]; do
    [ $i = 7 ] && rate=3208 || rate=4508
    cat >"fleet/node$i.json" <<END
{"schema": "fathom-gpu/1", "device": {"name": "H \"200\"", "backend": "cuda", "uuid": "GPU-$((i + 10))", "driver": "580", "host": "node$i",
  "pci_bus": "0000:0$((i % 8)):00.0", "measured_at": "2026-11-18T11:09:37Z", "temperature_c": 38, "sms": 132}, "elements": {
  "memory": {"latency_cycles": 528.$((i % 7)), "read_bytes_per_s": ${rate}000000000, "ecc": "yes"}}}
END
    i=$((i + 1))
done
printf 'node7,rack\\1 "a"\nnode8,rack2\n' >groups.csv
judge() { fathom fleet judge fleet --groups groups.csv "$@"; }
judge --format csv -o findings.csv
echo "code $?"
# Distance and probability are a matter of other tests.
sed 's/,yes,-[0-9.]*,[-0-9.e]*,1,1,yes/,yes,DISTANCE,P,1,1,yes/' findings.csv
judge --format long | sed -n '1p; /GPU-17/p'
judge --format jsonl -o gpus.jsonl
wc -l <gpus.jsonl
grep GPU-17 gpus.jsonl
cat >read.py <<'END'
import re
import sys
types, samples, last = {}, {}, None
for line in open(sys.argv[1], encoding="utf-8"):
    comment = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)\n", line)
    if comment:
        if comment[1] == "TYPE":
            assert comment[2] not in types and comment[3] == "gauge", line
            types[comment[2]] = comment[3]
        continue
    sample = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)\n', line)
    assert sample and sample[1] in types, line
    assert last == sample[1] or sample[1] not in [name for name, _ in samples], "the samples of a metric are together"
    last = sample[1]
    labels = dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
    key = (sample[1], tuple(sorted(labels.items())))
    assert key not in samples, line
    samples[key] = float(sample[3])
print(len(types), "metrics,", len(samples), "samples")
for (name, labels), value in samples.items():
    labels = dict(labels)
    if labels.get("gpu") in (None, "GPU-17"):
        print(name, labels, value)
END
# Only verdicts and findings; with --all, all figures.
judge --format prometheus -o metrics.prom
echo "code $?"
python3 read.py metrics.prom
judge --format prometheus --all -o all.prom
python3 read.py all.prom
# A document of the judgement can be shown in a report.
judge --json -o fleet.json
python3 - <<'END'
import json
document = json.load(open("fleet.json", encoding="utf-8"))
print(document["schema"], document["counts"], len(document["gpus"]), document["gpus"][0]["group"], document["gpus"][0]["context"])
END
judge --all | grep -c ': healthy'
judge --format promethius
echo "code $?"
