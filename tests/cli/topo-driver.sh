# A GPU behind the driver, here a stand-in that runs kernels on the simulated GPU: the same figures
# as from the simulated GPU itself, beside what the driver tells. It is the default.
# (With four of its sixteen SMs, since each access of the streams that a GPU behind the driver is measured with is simulated.)
fathom gpus gtx980 --json | sed 's/"sms": {"value": 16/"sms": {"value": 4/' >gpu.json
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json
fathom | tee drawn
fathom topo --device cuda:0 --json --record cuda.rec >cuda.json; echo $?
fathom gpus cuda.json | cmp - drawn
fathom topo --device replay:cuda.rec --json | cmp - cuda.json
fathom topo --device replay:cuda.rec | head -n 1
fathom topo --device sim:gpu.json --json >sim.json
measured() { grep -v bytes_per_s "$1" | grep -o '"[a-z0-9_]*": {"value": [^,]*, "source": "measured"' | sort; }
measured cuda.json >a
measured sim.json | cmp - a && grep -c measured a | sed 's/^0$/nothing/; s/^[0-9][0-9]*$/some/'
# By its UUID; the second of two; without the management library; a slice.
fathom topo --device cuda:GPU-00000000-1111-2222-3333-444444444444 --only l2 | head -n 1
FATHOM_STANDIN=two fathom topo --device cuda:1 --only l2 --json | grep '"uuid"'
FATHOM_STANDIN=no-nvml fathom topo --only l2 --json | grep -c '"source": "driver"' | sed 's/^[0-9]*$/some/'
FATHOM_STANDIN=mig FATHOM_STANDIN_GPU=gtx980 fathom topo --device cuda:MIG-aaaaaaa1-1111-2222-3333-444444444444 --only l2 --json | grep '"sms"\|"uuid"'
