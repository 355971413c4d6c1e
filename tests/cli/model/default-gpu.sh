# The GPU without --gpu: the one of this computer if there is a description of it, otherwise an H200. A
# real GPU is hidden; the stand-in driver reports one nevertheless.
export CUDA_VISIBLE_DEVICES=
echo '0 0 0 R 4' >tuples
model() { fathom model tuples "$@" --format csv | cut -d, -f1-4; }
echo '- none'
model
fathom model --parameters --format csv | grep '^gpu.sms'
fathom explore tuples --vary l1.ways=8 --format csv | cut -d, -f1-4
echo '- a GPU with a description'
fathom gpus v100 --json >gpu.json
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json model
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json fathom model --parameters --format csv | grep '^gpu.sms'
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json fathom model tuples -q --format csv | wc -l
echo '- a GPU without one'
sed 's/Tesla V100/Tesla V1000/' gpu.json >other.json
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/other.json model
echo '- a driver that does not work'
LD_LIBRARY_PATH=$FATHOM_STANDINS/broken model
echo '- generic parameters, and those of a GPU'
model --gpu none
model --gpu generic --set l1.ways=2
model --gpu gtx970
fathom model --parameters --gpu none --format csv | grep '^gpu.sms'
echo '- studies of a file always have generic parameters'
echo '{"schema": "fathom-exploration/1", "studies": [{"name": "a", "traces": ["tuples"]}]}' >spec.json
fathom explore --file spec.json -o points.jsonl && grep -c '"gpu"' points.jsonl
fathom model tuples --gpu non; echo $?
