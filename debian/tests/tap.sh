# Functions of the tests in this folder, which print TAP. A test sets nothing before it reads this file.
set -u
work=${AUTOPKGTEST_TMP:-$(mktemp -d)}
[ -n "${AUTOPKGTEST_TMP-}" ] || trap 'rm -rf "$work"' EXIT
documents=/usr/share/doc/fathom
number=0
failed=0

# check NAME COMMAND...: passes if the command succeeds.
check() {
    number=$((number + 1))
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $number - $name"
    else
        failed=1
        echo "not ok $number - $name"
        sed 's/^/# /' "$work/log"
    fi
}

# prints PATTERN COMMAND...: the command succeeds, and its output has a line with the regular expression.
prints() {
    pattern=$1
    shift
    "$@" >"$work/printed" 2>&1
    code=$?
    cat "$work/printed"
    [ $code -eq 0 ] && grep -qE -- "$pattern" "$work/printed"
}

# finish: prints the number of tests and ends with 1 if one failed.
finish() {
    echo "1..$number"
    exit $failed
}
