# A measured description and its recording are checked and packed, without what identifies the card, and a pack is checked again.
version() { sed 's/^\(.* with fathom\): .*/\1: VERSION/'; }
cp "$FATHOM_ROOT/tests/replay/full-h200.json" gpu.json
cp "$FATHOM_ROOT/tests/replay/h200.zst" gpu.zst
fathom gpus --contribute gpu.json -o pack.tar.zst | version
fathom gpus --check pack.tar.zst | version
echo '- the archive'
zstd -dcq pack.tar.zst >pack.tar
tar tf pack.tar
grep -caE 'GPU-724d78fc|0000:00:06' pack.tar
tar xf pack.tar
version <contribution.txt | head -3
fathom gpus description.json --json | cmp - description.json
fathom topo --full --device replay:recording.rec --json | cmp - description.json
fathom gpus --check pack.tar | tail -1
echo '- the same bytes each time, also from what was packed'
fathom gpus --contribute gpu.json --recording gpu.zst -o again.tar.zst >out && cmp pack.tar.zst again.tar.zst
fathom gpus --contribute description.json --recording recording.rec -o packed.tar.zst | tail -2
echo '- a device with OpenCL'
cp "$FATHOM_ROOT/tests/replay/opencl/h200.json" opencl.json
cp "$FATHOM_ROOT/tests/replay/opencl/h200.zst" opencl.zst
fathom gpus --contribute opencl.json -o opencl.tar.zst | version
fathom gpus --check opencl.tar.zst | tail -1
