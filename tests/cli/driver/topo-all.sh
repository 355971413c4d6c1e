# All GPUs of a machine in turn, on the stand-in driver. Names of GPUs contain escape sequences there.
fathom gpus gtx980 --json | sed 's/"sms": {"value": 16/"sms": {"value": 2/' >gpu.json
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN_GPU=$PWD/gpu.json FATHOM_STANDIN=two
try() { fathom "$@"; echo "$* -> $?"; }
strip() { sed "s/^$(hostname | cut -d. -f1) /HOST /; s/[0-9.]* s\$/SECONDS s/; s/^[^ ]* GPU/HOST GPU/"; }
# Two GPUs: a line for each, and a file for each.
fathom topo --device all --quick --summary --json -o '%h-%g.json' | strip; ls | sed "s/^$(hostname | cut -d. -f1)-/HOST-/"
grep -ho '"\(host\|measured_at\|loaded_[a-z_]*\)"' ./*-GPU-00000000*.json
# Text of both GPUs, one after the other.
fathom topo --device all --only shared | grep -c '^┌'
# Results that could not be told apart are refused before anything is measured.
try topo --device all --quick --json
try topo --device all --quick --json -o gpus.json
try topo --device all --quick --record gpu.rec
# One of the GPUs fails: the other one is still measured.
FATHOM_STANDIN=lost
try topo --device all --quick --json -q -o 'lost-%g.json'; ls lost-*
# A single GPU needs no pattern.
FATHOM_STANDIN=one
fathom topo --device all --quick --json | grep '"backend"\|"uuid"'
# A recording of a GPU gives host, time and the state under load of the original measurement.
fathom topo --quick --record quick.rec --json >quick.json
sleep 1
fathom topo --device replay:quick.rec --quick --json | cmp - quick.json && echo same
# A node without a driver or a GPU writes nothing.
mkdir none && cd none || exit
FATHOM_STANDIN=none
try topo --json -q -o '%h-%g.json'
try topo --json -q -o '%h.json'
try topo --device all --json -q -o '%h-%g.json'
try topo --device all --quick
LD_LIBRARY_PATH=
try topo --json -q -o '%h-%g.json' 2>&1 | sed 's/(.*)//'
ls
# The user may still name a simulated GPU.
fathom topo --device sim:gtx980 --quick --json -o '%g.json'; ls
