# Copies between host and GPU through the stand-in driver. The GPU has space for copies of 16 MiB but not of 256 MiB. Two modes: with
# a second GPU, and without pinned memory.
cat >small.json <<END
{"schema": "fathom-gpu/1", "device": {"name": "Small", "compute_capability": "7.5", "sms": 2, "clock_mhz": 1000},
 "elements": {"l2": {"size_bytes": 524288, "latency_cycles": 200}, "memory": {"size_bytes": 67108864, "latency_cycles": 500}}}
END
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/small.json
for mode in two no-pinned; do
    export FATHOM_STANDIN=$mode
    fathom bench link --device cuda:0 --record $mode.rec | grep '^– '
    # A replay gives the same rows; the times are not compared.
    fathom bench link --device replay:$mode.rec --format csv | grep '^link,.*,\(direction\|copy_mib\|route\),'
done
