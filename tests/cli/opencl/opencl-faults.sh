# Failures of OpenCL devices: what failed, and why. The results before a failure are kept.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/opencl
for mode in none busy build stopped no-memory:100 lost; do
    FATHOM_STANDIN_OPENCL=$mode fathom bench latency --device opencl:0
    echo "$mode -> $?"
done
# A device that fails while it is measured.
FATHOM_STANDIN_OPENCL=lost:100 fathom bench latency --device opencl:0
echo "lost later -> $?"
