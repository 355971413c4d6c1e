# Drivers that are broken, too old, without a GPU, or failing: the list states the reason. A list without
# GPUs is not an error.
mkdir broken
: >broken/libcuda.so.1
# The path in the message can have any length.
COLUMNS=9999 LD_LIBRARY_PATH=$PWD/broken:$FATHOM_STANDINS/opencl fathom devices | sed "s|$PWD|HERE|"
LD_LIBRARY_PATH=$FATHOM_STANDINS/old fathom devices
for mode in none uninitialised lost; do
    LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=$mode fathom devices
done
