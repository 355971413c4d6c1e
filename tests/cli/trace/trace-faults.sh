# A truncated trace is shown up to the point where it ends; a corrupt one is rejected.
w=$FATHOM_ROOT/examples/workloads
fathom trace "$w/hspot.json" --set N=20 -o h.trace 2>/dev/null
size=$(wc -c <h.trace)
head -c $((size - 30)) h.trace >cut.trace
fathom trace cut.trace --format csv 2>err; echo $?
sed 's/[0-9][0-9]* of the [0-9]* bytes/A of the B bytes/' err
{ head -c 300 h.trace; printf 'x'; tail -c +302 h.trace; } >bad.trace
fathom trace bad.trace 2>err; echo $?
sed 's/byte [0-9]*/byte A/' err
fathom trace h.trace -o other.trace; echo $?
printf 'hello\n' >hello
fathom trace hello; echo $?
fathom trace missing.trace; echo $?
fathom trace; echo $?
fathom trace "$w/hspot.json" --set N=20 -o no/such/h.trace; echo $?
printf '0 0 0 R\n' >bad.txt
fathom trace bad.txt -o bad.out; echo $?
ls
