# A full disk: told, with exit code 1, wherever the results were to go.
fathom topo --device sim:gtx980 >/dev/full; echo $?
fathom topo --device sim:gtx980 --json -o /dev/full; echo $?
fathom topo --device sim:gtx980 --json --record /dev/full | head -n 2
fathom topo --device sim:gtx980 --record /dev/full >/dev/null 2>&1; echo $?
fathom topo --device sim:gtx980 --json -o kept.json; echo $?
fathom topo --device sim:gtx980 --json -o kept.json; echo $?
ls
