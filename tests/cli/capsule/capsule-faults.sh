# What does not apply to capsules, and faulty ones.
cp "$FATHOM_ROOT/tests/cli/capsule/program.capsule" .
fathom run program.capsule --grid 4; echo $?
fathom run program.capsule --counters; echo $?
fathom run program.capsule --kernel '('; echo $?
fathom run program.capsule --kernel other; echo $?
fathom run program.capsule --launch 3..1; echo $?
fathom run program.capsule --max-memory 100 --launch 0 -q; echo $?
fathom run program.capsule --max-memory much; echo $?
fathom run - <program.capsule; echo $?
fathom trace program.capsule --entry scale; echo $?
fathom trace program.capsule --launch 4; echo $?
fathom trace program.capsule --kernel other -o none.trace; echo $?
[ -e none.trace ] || echo "no trace"
fathom model program.capsule --gpu none --set N=4; echo $?
cp "$FATHOM_ROOT/examples/workloads/2mm.json" .
fathom run 2mm.json --kernel mm; echo $?
# A truncated capsule is replayed up to the point where it ends; a damaged one is refused.
head -c 2600 program.capsule >cut.capsule
fathom run cut.capsule -q; echo $?
head -c 40 program.capsule >short.capsule
fathom run short.capsule; echo $?
