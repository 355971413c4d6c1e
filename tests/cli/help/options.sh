# All forms of options, and arguments that begin with a dash.
fathom gpus v100 --format=csv | head -n 2
fathom gpus --format csv v100 | head -n 1
fathom gpus v100 --json -oa.json && cmp a.json "$FATHOM_ROOT/data/gpus/v100.json"
fathom gpus v100 --json --output=b.json && cmp a.json b.json
fathom gpus v100 --json -o - | cmp - a.json
cp a.json ./-dash.json
fathom gpus --json -- -dash.json | cmp - a.json
# If an option is repeated, the last one counts.
fathom gpus v100 --format csv --format json | cmp - a.json
