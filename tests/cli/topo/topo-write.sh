# A full disk is reported with exit code 1, whichever file the results go to.
fathom topo --device sim:gtx980 >/dev/full; echo $?
fathom topo --device sim:gtx980 --json -o /dev/full; echo $?
fathom topo --device sim:gtx980 --json --record /dev/full | head -n 2
fathom topo --device sim:gtx980 --record /dev/full >/dev/null 2>&1; echo $?
fathom topo --device sim:gtx980 --json -o kept.json; echo $?
fathom topo --device sim:gtx980 --json -o kept.json; echo $?
ls
