# Every action refuses a store that is not one, with a message and the exit code of invalid input, and
# never waits for a pipe.
cp "$FATHOM_ROOT/tests/dist/fingerprints.json" .
fathom fingerprint import fingerprints.json --store good.db
all() {
    rm -f messages
    for action in "enroll a --device sim:gtx980" "identify --device sim:gtx980" list "list --accuracy" \
        "forget node7" export "import fingerprints.json"; do
        # shellcheck disable=SC2086
        fathom fingerprint $action --store "$@" 2>>messages
        echo "$action: $?"
    done
    sort -u messages >&2
}
# Writes bytes, as octal escapes, at an offset of a copy of the store.
patch() {
    cp good.db bad.db
    printf "$2" | dd of=bad.db bs=1 seek="$1" conv=notrunc 2>/dev/null
    cp bad.db before.db
}
echo "-- a negative version"; echo "-- a negative version" >&2
patch 60 '\200\0\0\0'
all bad.db
cmp bad.db before.db
echo "-- a write-ahead log"; echo "-- a write-ahead log" >&2
patch 18 '\2\2'
all bad.db
cmp bad.db before.db
echo "-- a pipe"; echo "-- a pipe" >&2
mkfifo pipe
all pipe
echo "-- a folder"; echo "-- a folder" >&2
mkdir folder
all folder
echo "-- too large"; echo "-- too large" >&2
all good.db --max-bytes 4K
all good.db --max-bytes 0 | sort -u
all good.db --max-bytes many | sort -u
# A journal that is a pipe.
mkfifo good.db-journal
fathom fingerprint list --store good.db
echo $?
rm good.db-journal
fathom fingerprint list --store good.db --max-bytes 1M
ls
