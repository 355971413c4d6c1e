# The GPU is lost during a bench: the exit code is that of the device's failure, the points that were measured before are
# shown, and the last table says that points are missing.
cat >small.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Small", "compute_capability": "7.5", "sms": 2, "clock_mhz": 1000},
 "elements": {"l1": {"size_bytes": 16384, "latency_cycles": 30}, "shared": {"size_bytes": 49152},
              "l2": {"size_bytes": 524288, "latency_cycles": 200}, "memory": {"size_bytes": 16777216, "latency_cycles": 500}}}
END
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/small.json
while read -r bench launches; do
    FATHOM_STANDIN=lost-later:$launches fathom bench "$bench" --device cuda:0 --json -o "$bench.json" 2>err
    echo "$bench, launch $launches: exit code $?"
    sed 's/^/    /' err
    [ ! -e "$bench.json" ] || grep -o 'the device failed: [^"]*' "$bench.json" | sed 's/^/    /'
done <<END
banks 4
shared 4
scaling 4
latency 4
arith 4
atomics 4
global 4
link 4
stream 4
END
# Rows that were complete stay.
FATHOM_STANDIN=lost-later:40 fathom bench atomics --device cuda:0 | tail -n +3 | cut -c 1-50
