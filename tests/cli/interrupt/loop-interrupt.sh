# Ctrl-C while a kernel loops: one signal ends the command within a second, nothing incomplete is left, and the exit
# code is 130. Points of an exploration that were finished before stay.
cat >loop.ptx <<'END'
.version 6.0
.target sm_70
.address_size 64
.visible .entry loop(.param .u64 a)
{
again:
    bra again;
}
.visible .entry store(.param .u64 a)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
END
launch() { echo '{"schema": "fathom-launch/1", "ptx": "loop.ptx", "buffers": {"a": "u32[4]"}, "launches": [{"kernel": "'"$1"'", "grid": 1, "block": 32, "args": ["a"]}]}'; }
launch loop >loop.json
launch store >store.json
fathom explore store.json --gpu none --vary l1.ways=2,4 -o points -q
cp points before
interrupt() {
    echo "$*"
    fathom "$@" >out 2>err &
    pid=$!
    # The kernel runs when the process has used a tenth of a second.
    until [ "$(awk '{ print $14 }' /proc/$pid/stat)" -ge 10 ]; do sleep 0.02; done
    kill -INT $pid
    (sleep 1 && kill -KILL $pid) 2>/dev/null &
    late=$!
    wait $pid
    echo "$?: $(cat out err)"
    kill $late
    rm out err
}
interrupt trace loop.json -o loop.trace
interrupt trace loop.json
interrupt model loop.json --gpu h200 -q
interrupt explore loop.json --gpu none --vary l1.ways=2,4
interrupt explore store.json loop.json --gpu none --vary l1.ways=2,4 -o other
cmp points before && ls
