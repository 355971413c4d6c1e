# Ctrl-C, or SIGTERM, while measuring: what is complete is shown, the recording is whole, the exit
# code says so. A second one ends the program at once.
for signal in INT TERM; do
    fathom topo --device sim:h200 --record run.rec >out 2>err &
    # The recording is begun when the measuring begins.
    until ls run.rec.*.part >/dev/null 2>&1; do sleep 0.01; done
    kill -$signal $!
    wait $!
    echo "$?: $(cat err)"
    head -n 1 out
    ls
    # What it holds it answers; the rest was never asked.
    fathom topo --device replay:run.rec 2>&1 | grep -c 'while it was recorded, this was'
    rm run.rec
done
# A kernel that never ends, and that is waited for for 3 s.
LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=hang fathom topo --device cuda:0 >out 2>err &
sleep 0.5
kill -INT $!
sleep 0.2
kill -INT $! 2>/dev/null
wait $!
echo "$?: $(cat out err)"
