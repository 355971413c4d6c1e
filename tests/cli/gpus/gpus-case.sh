# Names of GPUs are not case-sensitive.
fathom gpus V100 --json | cmp - "$FATHOM_ROOT/data/gpus/v100.json"
