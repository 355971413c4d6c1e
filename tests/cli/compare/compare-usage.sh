# Errors in the arguments of compare.
fathom compare
echo "code $?"
fathom compare a100
echo "code $?"
fathom compare a100 a200
echo "code $?"
fathom compare a100 sim:nowhere
echo "code $?"
fathom compare a100 v100 --within much
echo "code $?"
fathom compare a100 v100 --within -1
echo "code $?"
fathom compare a100 v100 --format hwloc
echo "code $?"
fathom compare a100 --fleet .
echo "code $?"
fathom compare a100 v100 -o nowhere/file
echo "code $?"
