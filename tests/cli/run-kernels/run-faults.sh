# Faults of a kernel are reported with line, block and thread; syntax errors with the line and a caret.
ptx=$FATHOM_ROOT/tests/kernels/floats/saxpy.ptx
fathom run "$ptx" -g 4 -b 256 -a i32:1001 -a f32:2 -a 'ptr:f32[1000]' -a 'ptr:f32[1000]'; echo $?
sed 's/fma.rn.f32/fma.rq.f32/' "$ptx" >bad.ptx
fathom run bad.ptx -g 1 -b 32 -a i32:1 -a f32:2 -a 'ptr:f32[1]' -a 'ptr:f32[1]'; echo $?
head -c 700 "$ptx" >cut.ptx
fathom run cut.ptx; echo $?
: >empty.ptx
fathom run empty.ptx; echo $?
head -c 1000 /dev/zero >zero.ptx
fathom run zero.ptx; echo $?
fathom run missing.ptx; echo $?
fathom run; echo $?
