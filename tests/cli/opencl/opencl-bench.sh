# Benches on OpenCL devices, and what is left out. The stand-in has a cache of 4 KiB; a hit takes 4 cycles, a miss 100. It
# has no kernels for sweeps.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/opencl FATHOM_STANDIN_OPENCL=tiny
fathom bench latency --device opencl:0 --record bench.rec --format csv -o bench.csv
awk -F, '$3 == "curve" { curve = $4 } $3 == "footprint_bytes" { bytes = $4 }
    $3 == "latency_cycles" && bytes >= 2048 && bytes <= 8192 { print curve, bytes, $4 }' bench.csv
FATHOM_STANDIN_OPENCL=none fathom bench latency --device replay:bench.rec --format csv -o again.csv
cmp bench.csv again.csv && echo same
fathom bench latency --device opencl:0 | grep '^–'
fathom bench stream --device opencl:0
echo "stream -> $?"
fathom bench --device opencl:0 | grep '^[A-Z]'
fathom bench latency banks --device opencl:0
echo "banks -> $?"
# What needs experiments that OpenCL devices do not have is refused.
fathom dissect --device opencl:0
echo "dissect -> $?"
fathom topo --full --device opencl:0
echo "full -> $?"
