# A quick measurement gives the same latencies as a whole one, and no other figures. It works from a
# recording as well.
try() { fathom "$@"; echo "$* -> $?"; }
fathom topo --device sim:gtx980 --quick --record quick.rec --json >quick.json; echo $?
fathom topo --device sim:gtx980 --json >whole.json; echo $?
figures() { grep -o '"[a-z0-9_]*": {"value": [^,]*, "source": "simulated"' "$1" | sort -u; }
figures quick.json | sed 's/, "source.*//'
figures whole.json >whole
figures quick.json | comm -23 - whole
fathom topo --device replay:quick.rec --quick --json | cmp - quick.json && echo 'the recording gives the same'
# A simulated GPU has no host and no time, so that its description is the same each time.
grep -c 'measured_at\|"host"\|loaded_' quick.json
# One line for the logs of jobs. Without a GPU it begins with the name of this machine.
fathom topo --device sim:gtx980 --quick --summary | sed 's/^[^ ]* /HOST /; s/[0-9.]* s$/SECONDS s/'
fathom topo --device sim:gtx980 --quick --summary --json -o gpu.json | wc -l
cmp gpu.json quick.json && echo same
try topo --device sim:gtx980 --quick --only l1
try topo --device sim:gtx980 --quick --full
try topo --device sim:gtx980 --summary --json
