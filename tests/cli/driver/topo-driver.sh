# Measures a GPU through the stand-in driver, which executes kernels on a simulated GPU. The measured
# figures must be those of the simulated GPU; figures from the driver are added. A GPU of the driver is
# the default device. The GPU has two of its sixteen SMs to save time: on a GPU behind the driver,
# bandwidth is measured with streams, and every access of them is simulated.
fathom gpus gtx980 --json | sed 's/"sms": {"value": 16/"sms": {"value": 2/' >gpu.json
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json
fathom topo --record cuda.rec | tee drawn
fathom topo --device replay:cuda.rec --json >cuda.json; echo $?
fathom gpus cuda.json | cmp - drawn
fathom topo --device replay:cuda.rec | head -n 1
fathom topo --device sim:gpu.json --json >sim.json
measured() { grep -v 'bytes_per_s\|loaded_' "$1" | grep -o '"[a-z0-9_]*": {"value": [^,]*, "source": "\(measured\|simulated\)"' | sed 's/"simulated"/"measured"/' | sort; }
measured cuda.json >a
measured sim.json | cmp - a && grep -c measured a | sed 's/^0$/nothing/; s/^[0-9][0-9]*$/some/'
# Selected by UUID; the second of two GPUs; without the management library; a MIG slice.
fathom topo --device cuda:GPU-00000000-1111-2222-3333-444444444444 --only l2 | head -n 1
FATHOM_STANDIN=two fathom topo --device cuda:1 --only l2 --json | grep '"uuid"'
FATHOM_STANDIN=no-nvml fathom topo --only l2 --json | grep -c '"source": "driver"' | sed 's/^[0-9]*$/some/'
FATHOM_STANDIN=mig FATHOM_STANDIN_GPU=gtx980 fathom topo --device cuda:MIG-aaaaaaa1-1111-2222-3333-444444444444 --only l2 --json | grep '"sms"\|"uuid"'
# The driver creates one queue, unless the user wants others.
FATHOM_STANDIN=queues:1 fathom topo --device cuda:0 --only shared >/dev/null; echo $?
FATHOM_STANDIN=queues:8 fathom topo --device cuda:0 --only shared; echo $?
CUDA_DEVICE_MAX_CONNECTIONS=8 FATHOM_STANDIN=queues:8 fathom topo --device cuda:0 --only shared >/dev/null; echo $?
