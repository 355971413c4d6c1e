# Replaying a recording gives the same document without the device, byte by byte. The drawing says that
# it is a replay.
fathom topo --device sim:gtx980 --json --record run.rec >measured.json; echo $?
fathom topo --device replay:run.rec --json -o replayed.json && cmp measured.json replayed.json
fathom topo --device replay:run.rec | head -n 1
# A recording of a replay gives the same document, too. Only the device that it names differs.
fathom topo --device replay:run.rec --json --record again.rec -o again.json
fathom topo --device replay:again.rec --json | cmp - measured.json
# If a request was not recorded, the message names the device to record it on.
fathom topo --device sim:gtx980 --only l2 --record part.rec >/dev/null
fathom topo --device replay:part.rec --only l2 --json >/dev/null; echo $?
fathom topo --device replay:part.rec 2>&1 >/dev/null | sed 's/no answer to: .*; to record/no answer to: REQUEST; to record/'
fathom topo --device replay:part.rec >/dev/null 2>&1; echo $?
# Recordings that are truncated, altered or empty; a file of another kind; a missing file.
size=$(wc -c <run.rec)
for bytes in 0 3 4 20 $((size / 2)) $((size - 1)); do
    head -c $bytes run.rec >cut.rec
    fathom topo --device replay:cut.rec >/dev/null 2>err; echo "cut: $?, $(grep -c "^fathom: .*cut.rec': " err) message"
done
for at in 0 10 $((size / 3)) $((size / 2)) $((size - 2)); do
    byte=$(od -An -tu1 -j $at -N 1 run.rec)
    { head -c $at run.rec; printf "\\$(printf %o $((byte ^ 16)))"; tail -c +$((at + 2)) run.rec; } >bad.rec
    fathom topo --device replay:bad.rec >/dev/null 2>err; echo "altered: $?, $(grep -c "^fathom: .*bad.rec': " err) message"
done
fathom topo --device replay:measured.json; echo $?
fathom topo --device replay:none.rec; echo $?
fathom topo --device replay:.; echo $?
fathom topo --device replay:; echo $?
ls
