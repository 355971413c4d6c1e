# Drivers and GPUs that fail: what is wrong is told, the exit code says whose fault it is, and no
# half of a file stays. A recording of what was answered before is kept.
export FATHOM_STANDIN_GPU=gtx980
try() {
    echo "$1:" >&2
    LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=$1 fathom topo --device ${2:-cuda:0} --json -o gpu.json --record run.rec
    echo "$1: $?" $(ls)
    rm -f run.rec gpu.json
}
try none
try uninitialised
try no-memory:4096
try jit
try hang
try lost-later
try lost-later:12
try mig cuda:MIG-aaaaaaa9-1111-2222-3333-444444444444
for age in old bare; do
    LD_LIBRARY_PATH=$FATHOM_STANDINS/$age fathom topo --device cuda:0; echo $?
done
# One that is there and does not work is not replaced by a simulated one.
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=jit fathom; echo $?
LD_LIBRARY_PATH=$FATHOM_STANDINS/bare fathom; echo $?
