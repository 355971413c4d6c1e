# Runs a kernel that nvcc compiled and prints its buffers, as text and in formats for scripts.
ptx=$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx
fathom run "$ptx" -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]=iota' -a 'ptr:f32[10*100]=1'
fathom run "$ptx" --grid 4,1,1 --block 256x1 --arg i32:3 --arg f32:0.5 --arg 'ptr:f32[4]=2' \
    --arg 'ptr:f32[4]' --show 0 --json
# Random buffers are the same in every run; another seed gives other values.
fathom run "$ptx" -a i32:0 -a f32:1 -a 'ptr:f32[4]=random' -a 'ptr:f32[4]' --format csv 2>/dev/null
fathom run "$ptx" -a i32:0 -a f32:1 -a 'ptr:f32[4]=random' -a 'ptr:f32[4]' --format csv --seed 2 \
    2>/dev/null
# A buffer from a file.
printf '\000\000\200\077\000\000\000\100' >two.bin
fathom run "$ptx" -a i32:2 -a f32:1 -a 'ptr:f32[]=file:two.bin' -a 'ptr:f32[2]=10' 2>/dev/null
