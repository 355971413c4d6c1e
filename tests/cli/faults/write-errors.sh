# A full disk and a missing folder are reported with exit code 1; no partial file is left.
fathom gpus v100 >/dev/full; echo $?
fathom gpus >/dev/full; echo $?
fathom help >/dev/full; echo $?
fathom --version >/dev/full; echo $?
fathom gpus v100 -o no/such/folder/x.json; echo $?
fathom gpus v100 --json -o /dev/full; echo $?
fathom gpus nosuch -o kept.json 2>/dev/null; ls
