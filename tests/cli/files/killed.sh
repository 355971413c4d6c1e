# A process that is killed leaves no file behind, neither beside its output nor in the temporary folder.
w=$FATHOM_ROOT/examples/workloads
mkdir out tmp
export TMPDIR=$PWD/tmp
echo old >out/old.trace
for output in out/old.trace out/new.trace; do
    for i in 1 2 3; do
        fathom trace "$w/fdtd.json" --set N=256 --set T=20000 -o $output >/dev/null 2>&1 &
        until ls -l /proc/$!/fd 2>/dev/null | grep -q "$PWD/out/"; do sleep 0.01; done
        kill -KILL $!
        wait $! 2>/dev/null
        echo "$output $?"
    done
done
cat out/old.trace
ls -A out tmp
