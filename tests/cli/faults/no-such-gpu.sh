# Unknown GPUs and missing files.
fathom gpus nosuch
echo $?
fathom gpus v10
echo $?
fathom gpus ./v100
echo $?
fathom gpus missing.json
