# Arguments that do not match the kernel's parameters are rejected; the message says what is expected.
ptx=$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx
try() { fathom run "$ptx" "$@"; echo $?; }
try -a i32:5
try -a i32:5 -a f32:1 -a f32:1 -a f32:1
try -a i32:99999999999
try -a i32:five
try -a u32:-1
try -a float:1
try -a 'ptr:f32[]'
try -a 'ptr:f32[0]'
try -a 'ptr:f32[99999999999999]'
try -a 'ptr:f32[4]=noise'
try -a 'ptr:f32[4]=file:missing'
try --entry nothing
try --grid 0
try --block 32,32,32,32
try --show many
try --shared 12X
try -b 2048 -a i32:1 -a f32:1 -a 'ptr:f32[4]' -a 'ptr:f32[4]'
try -b 1,1,65 -a i32:1 -a f32:1 -a 'ptr:f32[4]' -a 'ptr:f32[4]'
# Leading zeros do not make a number octal.
try --show 010 -a i32:010 -a f32:1 -a 'ptr:f32[011]=1' -a 'ptr:f32[011]=iota' --seed 08
fathom run "$FATHOM_ROOT/tests/kernels/warps/barriers.ptx" -a i32:1; echo $?
