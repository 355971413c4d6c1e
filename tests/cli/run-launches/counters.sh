# run --counters prints what a GPU's counters would count, for each launch.
cat >copy.ptx <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 stride)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<6>;
    .shared .align 16 .b8 s[4096];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [stride];
    mov.u32 %r2, %tid.x;
    mul.lo.u32 %r2, %r2, %r1;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    shl.b32 %r2, %r2, 2;
    mov.u32 %r3, s;
    add.u32 %r2, %r2, %r3;
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.wait_all;
    ld.shared.u32 %r4, [%r2];
    st.global.u32 [%rd2], %r4;
    ret;
}
END
cat >copies.json <<END
{"schema": "fathom-launch/1", "ptx": "copy.ptx", "buffers": {"x": "u32[1024]", "y": "u32[1024]"},
 "launches": [{"grid": 2, "block": 64, "args": ["x", "y", "i32:1"]}, {"grid": 1, "block": 32, "args": ["x", "y", "i32:32"]}]}
END
fathom run copies.json --counters 2>/dev/null
fathom run copies.json --counters --json --quiet
fathom run copy.ptx --counters -b 1 -a 'ptr:u32[1]' -a 'ptr:u32[1]' -a i32:0 --format csv 2>/dev/null
# What cannot be combined.
fathom run copies.json --counters --on cuda:0; echo $?
fathom run copies.json --counters --verify; echo $?
