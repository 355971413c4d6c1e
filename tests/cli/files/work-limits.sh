# A kernel in an endless loop reaches the limit of instructions, which every command that executes kernels names.
cat >loop.ptx <<'END'
.version 6.0
.target sm_70
.address_size 64
.visible .entry loop()
{
again:
    bra again;
}
END
try() { echo "$*"; fathom "$@" --max-instructions 100000; echo "code $?"; }
try run loop.ptx
try run loop.ptx --on sim:gtx980
try trace loop.ptx -o loop.trace
try model loop.ptx --gpu none -q
try explore loop.ptx --gpu none --vary l1.ways=2,4
echo '{"schema": "fathom-exploration/1", "studies": [{"name": "s", "traces": ["loop.ptx"], "vary": {"l1.ways": [2, 4]}}]}' >study.json
try explore --file study.json
fathom topo --device sim:gtx980 --max-instructions 100
echo "code $?"
fathom run loop.ptx --max-instructions none
echo "code $?"
# Figures that no simulated GPU can have are refused.
gpu() { echo '{"schema": "fathom-gpu/1", "device": {"name": "Test", '"$1"'}, "elements": {'"$2"'}}' >gpu.json; fathom topo --device sim:gpu.json; echo "code $?"; }
gpu '"clock_mhz": 4503599627370496'
gpu '"sms": 70368744177664, "warp_size": 7'
gpu '"sms": 4' '"l2": {"size_bytes": 1099511627776}'
# A GPU that hangs is given up after a time that an option sets.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new FATHOM_STANDIN=hang
fathom run loop.ptx --on cuda:0 --max-seconds 0.1
echo "code $?"
fathom run loop.ptx --on cuda:0 --max-seconds -1
echo "code $?"
ls
