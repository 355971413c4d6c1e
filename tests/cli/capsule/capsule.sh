# Capsules: run, trace, model and explore. write_capsule.c describes their launches.
cp "$FATHOM_ROOT/tests/cli/capsule/program.capsule" "$FATHOM_ROOT/tests/cli/capsule/light.capsule" .
fathom run program.capsule; echo $?
fathom run program.capsule --verify; echo $?
fathom run program.capsule --verify --kernel '^scale' --launch 0..2; echo $?
fathom run program.capsule --verify --launch 3 --json; echo $?
fathom run program.capsule --launch 4 --format csv; echo $?
fathom run light.capsule --launch ..1; echo $?
fathom run light.capsule --launch 0..1; echo $?
fathom trace program.capsule -o p.trace; echo $?
fathom trace p.trace --format csv | cut -d, -f1-6
fathom trace program.capsule --launch 1 --dump | tail -4 | cut -c1-50
fathom trace - --kernel scatter --format csv <program.capsule | cut -d, -f1-6
fathom model program.capsule --gpu h200 --kernel scale --format csv -q | cut -d, -f1-5
fathom explore light.capsule --gpu none --launch 0 --vary l1.ways=2,4 --format csv 2>/dev/null | cut -d, -f1-4
# The parameters of a launch, by type.
fathom run program.capsule --launch 1; echo $?
fathom run program.capsule --parameters --kernel scale --launch 0..2; echo $?
