# A full disk is reported with exit code 1, whichever file the results go to.
# The measurements come from a recording, because their results do not matter here.
fathom topo --device sim:gtx980 --record run.rec >/dev/null
fathom topo --device replay:run.rec >/dev/full; echo $?
fathom topo --device replay:run.rec --json -o /dev/full; echo $?
fathom topo --device replay:run.rec --json --record /dev/full | head -n 2
fathom topo --device replay:run.rec --record /dev/full >/dev/null 2>&1; echo $?
fathom topo --device sim:gtx980 --only registers --record /dev/full >/dev/null 2>&1; echo $?
fathom topo --device replay:run.rec --json -o kept.json; echo $?
fathom topo --device replay:run.rec --json -o kept.json; echo $?
ls
