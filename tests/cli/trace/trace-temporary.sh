# Temporary traces have no name: nothing is left behind by an error, by Ctrl-C or by a kill.
w=$FATHOM_ROOT/examples/workloads
mkdir tmp
export TMPDIR=$PWD/tmp
fathom model "$w/atax.json" --gpu none --set N=64 >/dev/null 2>&1; echo $?
fathom explore "$w/atax.json" --gpu none --set N=64 --vary l1.ways=3 >/dev/null 2>&1; echo $?
for signal in INT KILL; do
    for command in 'trace --set T=20000' 'model --gpu none --set T=20000' 'explore --gpu none --set T=20000'; do
        fathom $command "$w/fdtd.json" --set N=256 >/dev/null 2>&1 &
        until ls -l /proc/$!/fd 2>/dev/null | grep -q 'tmp/.*deleted'; do sleep 0.01; done
        kill -$signal $!
        wait $! 2>/dev/null
        echo "$signal ${command%% *} $?"
    done
done
ls tmp
TMPDIR=/no/such/folder fathom model "$w/atax.json" --gpu none --set N=64 2>&1 | tail -n 1
