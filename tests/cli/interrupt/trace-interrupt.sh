# Ctrl-C or SIGTERM: no partial trace is left, and the exit code is 130.
w=$FATHOM_ROOT/examples/workloads
for signal in INT TERM; do
    fathom trace "$w/fdtd.json" --set N=256 --set T=20000 -o fdtd.trace 2>err &
    until [ "$(awk '{ print $14 }' /proc/$!/stat)" -ge 10 ]; do sleep 0.01; done
    kill -$signal $!
    wait $!
    echo "$?: $(sed 's/launch [0-9]* of/launch A of/' err)"
    rm err
    ls
done
