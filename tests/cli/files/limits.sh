# Readers have limits in bytes: a small compressed file that expands to gigabytes is refused, quickly and in little memory.
# The message names the limit and the option that raises it.
[ "$FATHOM_SANITIZED" ] || ulimit -v 4000000
echo '0 0 0 R 4' >tuples
fathom explore tuples --gpu none --vary l1.ways=2,4 -o points 2>/dev/null
head -c 67108864 /dev/zero | zstd -q >one.zst
expand() { i=0; while [ $i -lt $1 ]; do cat one.zst; i=$((i + 1)); done; }
(zstd -q -c points; expand 17) >bomb.zst
timeout 60 fathom merge bomb.zst; echo $?
timeout 60 fathom merge points bomb.zst -o out --max-bytes 1M; echo $?
timeout 60 fathom merge points --max-bytes 1K; echo $?
timeout 60 fathom merge points --max-bytes much; echo $?
fathom merge points points --max-bytes 1G -o out && cmp out points
expand 17 >zeros.zst
timeout 60 fathom gpus zeros.zst; echo $?
timeout 60 fathom topo --device replay:zeros.zst; echo $?
timeout 60 fathom report zeros.zst -o report.html; echo $?
timeout 60 fathom explore --file zeros.zst; echo $?
timeout 60 fathom fingerprint import zeros.zst --store store.db; echo $?
timeout 60 fathom model tuples --gpu none --set gpu.mapping=@zeros.zst 2>&1 | tail -n 1
timeout 60 fathom trace zeros.zst; echo $?
(echo '{"schema": "fathom-launch/1", "about": "' | zstd -q; expand 17) >launch.zst
timeout 60 fathom run launch.zst; echo $?
(echo '.version 7.0' | zstd -q; expand 17) >ptx.zst
timeout 60 fathom run ptx.zst; echo $?
# Many values in little text.
(printf '{"schema": "fathom-x", "x": ['; yes 0, | head -c 60000000 | tr -d '\n'; echo '0]}') >values.json
timeout 60 fathom report values.json -o report.html; echo $?
# Counts that no GPU has.
sed 's/"value": 80,/"value": 2147483648,/' "$FATHOM_ROOT/data/gpus/v100.json" >sms.json
timeout 60 fathom model tuples --gpu sms.json; echo $?
timeout 60 fathom gpus sms.json --format hwloc; echo $?
ls
