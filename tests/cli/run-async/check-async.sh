# Missing waits for asynchronous copies are reported with line, source line, block and thread. The order of copies decides
# what a kernel without the wait sees.
cat >copy.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 tile[512];
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    cvt.u64.u32 %rd3, %r2;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    .loc 1 8 5
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.commit_group;
    // wait
    .loc 1 9 5
    ld.shared.u32 %r3, [%r2];
    st.global.u32 [%rd2], %r3;
    ret;
}
.file 1 "copy.cu"
END
sed 's|// wait|cp.async.wait_group 0;|' copy.ptx >right.ptx
set -- -g 2 -b 64 -a 'ptr:u32[64]=iota' -a 'ptr:u32[64]' --show 4
fathom run copy.ptx "$@" --check-async; echo $?
fathom run right.ptx "$@" --check-async --copy-order random:3; echo $?
fathom run copy.ptx "$@" -q --copy-order late
fathom run copy.ptx "$@" -q --copy-order early
fathom run right.ptx "$@" -q --copy-order random
fathom run right.ptx "$@" --copy-order soon; echo $?
fathom run right.ptx "$@" --copy-order random:-1; echo $?
fathom run right.ptx "$@" --check-async --on sim:h200; echo $?
