# Installs the packages in this folder, in the order in which a user needs them, and runs their tests. Removes them at the end.
# scripts/deb runs it as root in a clean Debian 12. Prints TAP.
set -u
failed=0

# install PACKAGE...: passes if apt installs the packages, with what they depend on.
install() {
    if apt-get install -y --no-install-recommends "$@" >/tmp/apt.log 2>&1; then
        echo "ok 1 - apt installs $*"
    else
        echo "not ok 1 - apt installs $*"
        tail -n 20 /tmp/apt.log | sed 's/^/# /'
        failed=1
    fi
}

# try NAME: runs a test of debian/tests.
try() {
    echo "# debian/tests/$1"
    sh "/srv/tests/$1" || failed=1
}

install ./fathom_*.deb
try program
install ./libfathom0_*.deb ./libfathom-dev_*.deb gcc libc6-dev pkg-config
try library
install ./libfathom0_*.deb ./python3-fathom_*.deb python3-numpy
try python

# What packages leave behind: dpkg's own records are removed as well.
apt-get purge -y fathom libfathom0 libfathom-dev python3-fathom >/tmp/apt.log 2>&1 || failed=1
left=$(find / -xdev \( -path /srv -o -path /proc -o -path /sys -o -path /tmp -o -path /root \) -prune -o -name '*fathom*' -print)
if [ -z "$left" ]; then
    echo 'ok 1 - purging the packages removes all their files'
else
    echo 'not ok 1 - purging the packages removes all their files'
    echo "$left" | sed 's/^/# /'
    failed=1
fi

# The wheel, if it was built, without the packages: the example of the README prints what the README shows.
cat >/tmp/try-wheel.py <<'EOF'
import re, subprocess, sys
text = open("README.md", encoding="utf-8").read()
code, expected = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.S).groups()
printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
sys.exit(0 if printed.split() == expected.split() else "it printed:\n" + printed)
EOF
if ls ./fathom-*.whl >/dev/null 2>&1; then
    install python3-pip python3-numpy
    if python3 -m pip install --no-index --target /tmp/wheel ./fathom-*.whl >/tmp/wheel.log 2>&1 &&
        PYTHONPATH=/tmp/wheel python3 /tmp/try-wheel.py >>/tmp/wheel.log 2>&1; then
        echo 'ok 1 - pip installs the wheel, with which the example of the README works'
    else
        echo 'not ok 1 - pip installs the wheel, with which the example of the README works'
        tail -n 20 /tmp/wheel.log | sed 's/^/# /'
        failed=1
    fi
else
    echo 'ok 1 - the wheel works # SKIP it was not built; make dist does'
fi
exit $failed
