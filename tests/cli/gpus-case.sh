# A name is found whatever its case.
fathom gpus V100 --json | cmp - "$FATHOM_ROOT/data/gpus/v100.json"
