# --require-gpu: a node without a GPU writes no description of a simulated one. --quiet prints no notes, but errors.
try() { fathom "$@"; echo "$* -> $?"; }
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=none FATHOM_STANDIN_GPU=gtx980
try topo --require-gpu --json -o gpu.json
try bench banks --require-gpu -o bench.txt
try dissect l1 --require-gpu
try fingerprint enroll a --require-gpu --store prints.db
try topo --require-gpu --device sim:gtx980
try topo --require-gpu -q --device replay:gpu.rec
ls
export FATHOM_STANDIN=one
try topo --require-gpu --only shared --json -o gpu.json
ls
export FATHOM_STANDIN=none
fathom topo --quiet --only shared --json | grep '"backend"'
fathom devices -q | cat
fathom run "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" -g 2 -b 4 -a i32:8 -a f32:2 -a 'ptr:f32[8]=iota' -a 'ptr:f32[8]=1' -q
