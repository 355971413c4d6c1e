# Every description of the catalogue is printed the same after it was read back from a pipe and from files.
for gpu in $(fathom gpus --format csv | sed -n '2,$s/,.*//p'); do
    fathom gpus "$gpu" --json >once.json
    fathom gpus "$gpu" --json | fathom gpus - --json | cmp - once.json
    fathom gpus once.json --json | cmp - once.json
    fathom gpus once.json --json -o twice.json
    cmp once.json twice.json
    echo "$gpu"
done
