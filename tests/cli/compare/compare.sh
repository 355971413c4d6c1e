# Compares two descriptions. Figures whose intervals do not overlap are reported, and the exit code is then 5.
fathom compare k20c K20C || echo "code $?"
fathom compare p100 v100
echo "code $?"

# A measured GPU and the description of its model, which was measured on another GPU: bandwidths differ by up to 14 %. The same GPU with two faults: an L1 of half the size, and another memory latency.
cp "$FATHOM_ROOT/tests/replay/h200.json" measured.json
fathom compare measured.json h200 --within 15
echo "code $?"
sed 's/"size_bytes": {"value": 246784, "source": "measured",.*"high": [0-9]*/"size_bytes": {"value": 123392, "source": "measured"/
    /^    "memory": {/,/^    }/ s/\("latency_cycles": {"value": \)[0-9.]*,\(.*\)"low": [0-9.]*, "high": [0-9.]*/\1400,\2"low": 390, "high": 410/' \
    measured.json >odd.json
fathom compare odd.json h200 --within 15
echo "code $?"
fathom compare odd.json h200 --within 40
echo "code $?"
fathom compare odd.json h200 --within 40 --json
fathom compare odd.json h200 --within 30 --format csv -o differences.csv
echo "code $?"
cat differences.csv
fathom compare odd.json measured.json --all --within 40 | head -n 3

# Where the L2 starts to miss and where nothing hits any more varies from run to run and is compared only with --all. The footprint at
# which every access misses the L1 is always compared.
sed '/"onset_bytes": {"value": 18874368/{s/28311552/47185920/; s/18874368/37748736/g}
     /"full_miss_bytes": {"value": 69206016/{s/69206016/94371840/g; s/56623104/78643200/}' measured.json >again.json
cmp -s measured.json again.json && echo 'the edit changed nothing'
fathom compare measured.json again.json
echo "code $?"
fathom compare measured.json again.json --all
echo "code $?"
sed '/"full_miss_bytes": {"value": 327680/{s/327680/299008/g; s/325728/297056/}' measured.json >again.json
fathom compare measured.json again.json
echo "code $?"

# An argument that names a device is measured first.
cat >small.json <<'END'
{"schema": "fathom-gpu/1", "device": {"name": "small", "sms": 2, "warp_size": 32, "clock_mhz": 1000},
 "elements": {"l2": {"size_bytes": 1048576, "line_bytes": 128, "latency_cycles": 200},
              "memory": {"size_bytes": 1073741824, "latency_cycles": 500}}}
END
fathom compare sim:small.json small.json
echo "code $?"
