fathom gpus --json | head -n 3
fathom gpus --format csv | head -n 3
