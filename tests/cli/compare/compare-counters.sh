# Compares what the model predicts for the kernels of the tutorial with counters of Nsight Compute, in both layouts of its CSV.
fathom model "$FATHOM_ROOT/examples/tutorial/particles.json" --gpu h200 --json -q -o model.json
counters=$FATHOM_ROOT/tests/cli/compare/ncu-raw.csv
fathom compare model.json "$counters"
echo "code $?"
fathom compare "$counters" model.json --within 50 --format csv
echo "code $?"
fathom compare model.json "$counters" --within 1 --json
echo "code $?"
fathom compare model.json "$FATHOM_ROOT/tests/cli/compare/ncu-details.csv"
fathom compare --metrics | tr , '\n' | sed -n '1p;$='

# A kernel of a library, with a long name, that was not predicted.
sed "s/step_soa/axpy_$(seq -s _ 500)/" "$counters" >library.csv
fathom compare model.json library.csv | tail -n 2

# Files that are no counters, counters of other kernels, and options that do not fit.
fathom compare model.json model.json
echo "code $?"
sed 's/step_/other_/' "$counters" >other.csv
fathom compare model.json other.csv
echo "code $?"
fathom compare --metrics model.json
echo "code $?"
