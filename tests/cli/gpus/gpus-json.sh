# The list of GPUs as JSON and CSV.
fathom gpus --json | head -n 3
fathom gpus --format csv | head -n 3
