# Invalid arguments are rejected before anything is opened or measured; messages suggest what was meant.
try() { fathom topo "$@"; echo "$?: $*"; }
try --only l3
try --only l1,textur
try --only ''
try --only l1,
try --only everything,l1
try --device
try --device sim
try --device cuda
try --device sin:v100
try --device gpu
try --device ''
try --device sim:
try --device sim:v10
try --device sim:no/such/file.json
try --device sim:/dev/null
try --format xml
try --format jso --device sim:v100
try --json -o no/such/folder/gpu.json
try --json -o /dev/null/gpu.json
try --device sim:v100 --record no/such/folder/run.rec
try --device sim:v100 --record .
try v100
try --recrod run.rec
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new
try --device cuda:9
try --device cuda:x
try --device cuda:GPU-0
ls
