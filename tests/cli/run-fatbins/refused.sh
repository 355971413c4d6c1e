# What fathom cannot run in a fat binary or an ELF file. Each message says why and what to do.
data=$FATHOM_ROOT/tests/fatbin
for file in machine-lz4.fatbin x86_64.obj lz4.fatbin arm64.obj; do
    cp "$data/$file" .
done
# Machine code only; with the name of a kernel, and in a file that has PTX of another kernel.
fathom run machine-lz4.fatbin
fathom run machine-lz4.fatbin -e scale
fathom run machine-lz4.fatbin -e other
cat "$data/shift.fatbin" machine-lz4.fatbin >mixed.fatbin
fathom run mixed.fatbin -e scale
# Several modules: a kernel is needed, and it must be one of theirs.
fathom run x86_64.obj
fathom run x86_64.obj -e skal
# Two modules with the same kernel, and the same module twice.
cat lz4.fatbin "$data/named.fatbin" >two.fatbin
cat lz4.fatbin "$data/zstd.fatbin" >same.fatbin
fathom run two.fatbin -e scale
fathom run same.fatbin -b 4 -a 'ptr:f32[4]=1' -a f32:3 -a i32:4
# A launch file whose kernels are in two modules.
cat >launch.json <<'END'
{"schema": "fathom-launch/1", "ptx": "x86_64.obj", "buffers": {"a": "f32[4]"},
 "launches": [{"kernel": "scale", "grid": 1, "block": 4, "args": ["a", "f32:1", "i32:4"]},
              {"kernel": "shift", "grid": 1, "block": 4, "args": ["a", "f32:1", "i32:4"]}]}
END
fathom run launch.json
# A launch file that launches a missing kernel twice.
sed 's/scale/missing/; s/shift/missing/' launch.json >missing.json
fathom run missing.json
# Damaged and truncated files, and files without CUDA code.
head -c 500 lz4.fatbin >short.fatbin
fathom run short.fatbin
head -c 900 x86_64.obj >short.obj
fathom run short.obj
printf '\120\355\125\272\001\000\020\000\000\000\000\000\000\000\000\000' >empty.fatbin
fathom run empty.fatbin
head -c 60 arm64.obj >header.obj
fathom trace header.obj
