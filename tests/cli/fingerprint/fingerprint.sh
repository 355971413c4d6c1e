# Enrolls, lists, identifies, exports, imports and forgets GPUs.
card() {
    cat <<END
{"schema": "fathom-gpu/1", "device": {"name": "Card", "sms": 4, "clock_mhz": 1000, "compute_capability": "7.5"},
 "elements": {"l1": {"latency_cycles": $1}, "constant_l1": {}, "shared": {},
  "l2": {"size_bytes": 524288, "latency_cycles": 220}, "memory": {"latency_cycles": $2}}}
END
}
card 32 450 >one.json
card 32.4 447 >two.json
card 31.8 460 >three.json
export XDG_DATA_HOME=$PWD/data
untimed() { sed 's/20[0-9-]*T[0-9:]*Z/TIME/g'; }
# Masks distances, because they depend on how the clock is read. The limits do not.
plain() { sed 's/"distance": [0-9.]*/"distance": D/'; }
fathom fingerprint enroll one --device sim:one.json --runs 3
fathom fingerprint enroll two --device sim:two.json --runs 3 --json
fathom fingerprint enroll two --device sim:two.json --runs 2 --format csv
ls data/fathom
fathom fingerprint list | untimed
fathom fingerprint list --accuracy --json | untimed
fathom fingerprint identify --device sim:one.json --runs 1 --json | plain
fathom fingerprint identify --device sim:two.json --json | plain; echo $?
# A GPU that is not enrolled, and one with another number of SMs.
fathom fingerprint identify --device sim:three.json --runs 1 >refused; echo $? $(awk '{ print $1, $2 }' refused)
sed -i 's/"sms": 4/"sms": 5/' three.json
fathom fingerprint identify --device sim:three.json --runs 1; echo $?
# Another store.
fathom fingerprint export -o all.json; fathom fingerprint export | cmp - all.json
fathom fingerprint import all.json --store other.db
fathom fingerprint import - --store other.db --json <all.json
fathom fingerprint export --store other.db | cmp - all.json
fathom fingerprint forget one --store other.db
fathom fingerprint list --store other.db --format csv | untimed
# Enrolling from a recording gives the same features as enrolling the GPU.
features() { fathom fingerprint export --store $1 | sed -n 's/.*"features"/features/p'; }
fathom fingerprint enroll one --device sim:one.json --runs 2 --record one.rec --store a.db
fathom fingerprint enroll one --device replay:one.rec --runs 2 --store b.db
features a.db >a; features b.db | cmp - a; wc -l <a
rm -r data; ls
