# A launch file may read regular files below its own folder. --allow-files permits other places, but no pipes and devices,
# which could block or never end.
mkdir -p own/data other
cp "$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx" own/k.ptx
cp own/k.ptx other/k.ptx
head -c 16 /dev/zero | tee own/data/16 other/16 >own/16
ln -s ../data/../../other/16 own/data/out
ln -s ../16 own/data/in
mkfifo own/pipe
try() {
    ptx=$1 contents=$2
    shift 2
    cat >own/launch.json <<END
{"schema": "fathom-launch/1", "ptx": "$ptx", "buffers": {"x": "f32[4]=file:$contents", "y": "f32[4]"},
 "launches": [{"kernel": "saxpy", "grid": 1, "block": 32, "args": ["i32:4", "f32:1", "x", "y"]}],
 "expect": [{"buffer": "y", "file": "$contents"}]}
END
    timeout 20 fathom run own/launch.json --show 1 "$@" 2>&1 | sed -n 's/^fathom: saxpy:.*/works/; $p' | sed "s|$PWD|.|"
}
try k.ptx 16
try k.ptx data/16 --verify
try k.ptx ./data/in
try k.ptx "$PWD/own/16"
try k.ptx data/out
try k.ptx data/out --allow-files --verify
try k.ptx ../other/16
try k.ptx ../other/16 --allow-files
try ../other/k.ptx 16
try ../other/k.ptx 16 --allow-files
try k.ptx "$PWD/other/16"
try k.ptx /etc/passwd
try k.ptx /dev/zero
try k.ptx /dev/zero --allow-files
try k.ptx pipe
try k.ptx pipe --allow-files
try pipe 16
try k.ptx data
try k.ptx none
try k.ptx ../none
# The same file for every command; from standard input, the folder is the working directory.
try k.ptx ../other/16 >/dev/null
for command in trace 'model --gpu none' 'explore --gpu none --vary l1.ways=2'; do
    fathom $command own/launch.json 2>&1 | tail -n 1
    fathom $command own/launch.json --allow-files >/dev/null 2>&1; echo $?
done
echo '{"schema": "fathom-exploration/1", "studies": [{"name": "a", "traces": ["own/launch.json"]}]}' >spec.json
fathom explore --file spec.json
fathom explore --file spec.json --allow-files --format csv 2>&1 | tail -n 1 | cut -d, -f 1-4
cd own && fathom run - <launch.json
# A buffer reads no more of a file than it needs: these files expand to gigabytes.
head -c 67108864 /dev/zero | zstd -q >one.zst
expand() { i=0; while [ $i -lt $1 ]; do cat one.zst; i=$((i + 1)); done; }
limit_memory() { [ "$FATHOM_SANITIZED" ] || ulimit -v 1000000; }
expand 32 >zeros.zst
(limit_memory; timeout 20 fathom run k.ptx -a i32:4 -a f32:1 -a 'ptr:f32[4]=file:zeros.zst' -a 'ptr:f32[4]' --show 1)
expand 65 >more.zst
(limit_memory; timeout 60 fathom run k.ptx -a i32:4 -a f32:1 -a 'ptr:f32[]=file:more.zst' -a 'ptr:f32[4]'); echo $?
