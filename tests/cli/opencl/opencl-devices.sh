# The OpenCL devices of the stand-in, and how they are selected. The library is missing, is no library, or finds no device:
# the list states the reason, which is not an error.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=none FATHOM_STANDIN_OPENCL=two
fathom devices -q
fathom devices --json
for mode in none empty broken; do
    FATHOM_STANDIN_OPENCL=$mode fathom devices -q
done
mkdir broken
: >broken/libOpenCL.so.1
LD_LIBRARY_PATH=$PWD/broken:$FATHOM_STANDINS/new fathom devices -q | sed "s|$PWD|HERE|"
for device in opencl:9 opencl:1:1 opencl:nvidia opencl:gfx opencl: opencll:0; do
    fathom topo --device "$device"
    echo "$device -> $?"
done
fathom topo --device opencl:2 --require-gpu
echo "--require-gpu -> $?"
