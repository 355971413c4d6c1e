# Kernels in fat binaries and object files, by all commands that accept PTX.
data=$FATHOM_ROOT/tests/fatbin
scale="-b 4 -a ptr:f32[4]=iota -a f32:2 -a i32:4"
for file in plain.fatbin lz4.fatbin zstd.fatbin architectures.fatbin relocatable.fatbin arm64.obj arm64-relocatable.obj; do
    echo "$file"
    fathom run "$data/$file" $scale
done
# A file of two translation units: the kernel selects the module.
fathom run "$data/x86_64.obj" -e scale $scale
fathom run "$data/x86_64.obj" -e shift $scale
# A compressed file, standard input, and the other commands.
zstd -q -c "$data/plain.fatbin" >plain.zst
fathom run plain.zst $scale
fathom run - $scale <"$data/lz4.fatbin"
fathom trace "$data/zstd.fatbin" $scale | head -n 3
fathom model "$data/x86_64.obj" -e shift $scale --gpu h200 --json 2>/dev/null | grep -o '"kernel": "shift"' | head -n 1
fathom explore "$data/zstd.fatbin" --gpu none $scale --vary l1.size_bytes=16K,32K --format csv 2>/dev/null | cut -d, -f1-4
# A launch file can name a fat binary. Its kernels select the module, also those in loops.
cp "$data/x86_64.obj" .
cat >launch.json <<'END'
{"schema": "fathom-launch/1", "ptx": "x86_64.obj", "buffers": {"a": "f32[4]=iota"},
 "launches": [{"for": "t", "to": 3, "launches": [
    {"kernel": "shift", "grid": 1, "block": 4, "args": ["a", "f32:10", "i32:4"]}]}]}
END
fathom run launch.json
