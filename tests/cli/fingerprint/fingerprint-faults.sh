# Errors of fingerprint: the message says what to do, the exit code has the kind of error, and files are
# not changed.
export XDG_DATA_HOME=$PWD/data
try() {
    echo "-- $*" >&2
    fathom fingerprint "$@" 2>message
    echo "$*: $?"
    sed "s|$PWD|.|" message >&2
}
cp "$FATHOM_ROOT/tests/dist/fingerprints.json" .
try
try enrol
try enroll
try enroll a b
try list b
try enroll '' --device sim:gtx980
try enroll a --runs 1
try identify --runs 0
try identify --runs x
try export --format csv
try list
try identify --device sim:gtx980
try forget a
try enroll a --device sim:nosuch
ls data/fathom
try identify --device sim:gtx980 --store nowhere/x.db
try enroll a --device sim:gtx980 --store nowhere/x.db
echo notes >notes.txt
try enroll a --device sim:gtx980 --store notes.txt
cat notes.txt
try import notes.txt
echo '{}' | try import -
fathom fingerprint import fingerprints.json
try forget node8
try import fingerprints.json --json
# Files cannot grow: the existing contents are kept.
trap '' XFSZ
full() { (ulimit -f 0; fathom fingerprint "$@" 2>&1; echo "$1: $?") | sed "s|$PWD|.|"; }
full import fingerprints.json --store full.db
full forget node7
fathom fingerprint list --json | grep -c node7
env -u XDG_DATA_HOME -u HOME fathom fingerprint list; echo $?
unset XDG_DATA_HOME
HOME=$PWD try list
