# Ctrl-C during dissect: complete results are shown, the recording is kept, and the exit code is 130.
fathom dissect --device sim:h200 --record run.rec >out 2>err &
until [ "$(awk '{ print $14 }' /proc/$!/stat)" -ge "$([ "$FATHOM_SANITIZED" ] && echo 400 || echo 100)" ]; do sleep 0.01; done
kill -INT $!
wait $!
echo "$?: $(cat err)"
head -n 1 out
ls
