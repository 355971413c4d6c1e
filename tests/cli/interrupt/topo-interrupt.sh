# Ctrl-C or SIGTERM during topo: complete results are shown, the recording is complete up to that point,
# and the exit code is 130. A second signal ends the program at once.
for signal in INT TERM; do
    fathom topo --device sim:h200 --record run.rec >out 2>err &
    # The measurement runs after a second of CPU time; with sanitizers, after four seconds.
    until [ "$(awk '{ print $14 }' /proc/$!/stat)" -ge "$([ "$FATHOM_SANITIZED" ] && echo 400 || echo 100)" ]; do sleep 0.01; done
    kill -$signal $!
    wait $!
    echo "$?: $(cat err)"
    head -n 1 out
    ls
    # The recording answers the requests that were made; it reports the first one that was not.
    fathom topo --device replay:run.rec 2>&1 | grep -c 'the recording has no answer to'
    rm run.rec
done
# A kernel that never ends. fathom waits for it after the first signal, and ends at the second one. The signals are repeated,
# because two signals that come before the first one is handled are one.
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=hang fathom topo --device cuda:0 >out 2>err &
pid=$!
until grep -q libcuda /proc/$pid/maps; do sleep 0.01; done
while kill -INT $pid 2>/dev/null; do sleep 0.1; done &
wait $pid
echo "$?: $(cat out err)"
