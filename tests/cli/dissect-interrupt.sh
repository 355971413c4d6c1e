# Ctrl-C while dissecting: what is complete is shown and kept, the exit code says so.
fathom dissect --device sim:h200 --record run.rec >out 2>err &
until ls run.rec.*.part >/dev/null 2>&1; do sleep 0.01; done
kill -INT $!
wait $!
echo "$?: $(cat err)"
head -n 1 out
ls
