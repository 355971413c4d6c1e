# A file that is replaced keeps its mode, links stay links, and a folder without permission is named.
umask 022
fathom gpus v100 --json >expected
touch private && chmod 600 private
fathom gpus v100 --json -o private && cmp private expected && stat -c %a private
mkdir folder
ln -s folder/target link
ln -s no/such/target astray
fathom gpus v100 --json -o link && cmp folder/target expected && readlink link
chmod 640 folder/target
fathom gpus v100 --json -o link && cmp folder/target expected && stat -c %a folder/target
fathom gpus v100 --json -o astray; echo $?
fathom gpus v100 -o folder; echo $?
# A merge and a recording are written in the same way.
echo '0 0 0 R 4' >tuples
fathom explore tuples --gpu none --vary l1.ways=2,4 -o points 2>/dev/null
cp points merged && chmod 600 merged && fathom merge points -o merged && cmp points merged && stat -c %a merged
touch run.rec && chmod 600 run.rec
fathom topo --device sim:gtx980 --only l1 --record run.rec >/dev/null 2>&1 && stat -c %a run.rec
# Commands check the folder before they begin to measure. Root may write everywhere.
place=$(mktemp -d)
mkdir "$place/closed" && chmod 555 "$place/closed" && chmod 755 "$place"
cp "$FATHOM_PROGRAM" "$place/fathom"
as_nobody=
[ "$(id -u)" = 0 ] && as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
(cd "$place" && $as_nobody ./fathom topo --device sim:h200 -o closed/x.json; echo $?; ls closed)
rm -r "$place"
