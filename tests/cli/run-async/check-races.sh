# Races between threads on shared memory are reported once per pair of instructions, with lines, block and threads.
cat >reverse.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 tile[256];
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    cvt.u64.u32 %rd3, %r2;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r3, [%rd1];
    .loc 1 8 5
    st.shared.u32 [%r2], %r3;
    // barrier
    xor.b32 %r4, %r2, 252;
    .loc 1 10 5
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd2], %r5;
    ret;
}
.file 1 "reverse.cu"
END
sed 's|// barrier|bar.sync 0;|' reverse.ptx >right.ptx
set -- -g 2 -b 64 -a 'ptr:u32[64]=iota' -a 'ptr:u32[64]' --show 4
fathom run reverse.ptx "$@" --check-races; echo $?
fathom run reverse.ptx "$@" -q --check-async; echo $?
fathom run right.ptx "$@" -q --check-races; echo $?
fathom run right.ptx "$@" --check-races --on sim:h200; echo $?
