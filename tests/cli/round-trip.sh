# What is written reads back to the same bytes, from a pipe, a file and a compressed file.
for gpu in $(fathom gpus --format csv | sed -n '2,$s/,.*//p'); do
    fathom gpus "$gpu" --json >once.json
    fathom gpus "$gpu" --json | fathom gpus - --json | cmp - once.json
    fathom gpus once.json --json | cmp - once.json
    fathom gpus once.json --json -o twice.json
    cmp once.json twice.json
    echo "$gpu"
done
