# Drivers and GPUs that fail: the error is reported, the exit code has the kind of error, and no
# partial description is left. A recording of the requests before the failure is kept.
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
# If there is a GPU but it does not work, fathom does not fall back to a simulated one.
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=jit fathom; echo $?
LD_LIBRARY_PATH=$FATHOM_STANDINS/bare fathom; echo $?
