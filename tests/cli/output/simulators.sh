# The formats of simulators.
fathom gpus h200 --format accel-sim -o gpgpusim.config && grep -E '^-gpgpu_(n_clusters|n_mem|cache:dl[12]|shmem_option|unified_l1d_size|clock_domains) ' gpgpusim.config
fathom gpus mi210 --format gem5 | grep -E '^--(gpu-device|num-compute-units|tc[cp]-(size|assoc)|num-tccs)='
# The shell removes the comments.
fathom gpus mi300x --format gem5 -o options && set -- $(sed 's/#.*//' options) && echo "$#" "$1"
fathom topo --device sim:v100 --format accel-sim | grep -c simulated
# Not for tables and CPUs.
fathom bench banks --device sim:v100 --format accel-sim
echo '{"schema": "fathom-gpu/1", "device": {"name": "x", "kind": "cpu", "sms": 4}, "elements": {}}' >cpu.json
fathom gpus cpu.json --format gem5
fathom gpus h200 --format accelsim; echo $?
