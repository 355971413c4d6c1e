# Buffers and arguments of the types f16, bf16, e4m3 and e5m2: contents, printed values and expected
# results. The kernel adds one f16 number to each element.
cat >add.ptx <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 a, .param .f16 x)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .b16 %h<4>;
    ld.param.u64 %rd1, [a];
    ld.param.b16 %h1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 2;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.b16 %h2, [%rd3];
    add.rn.f16 %h3, %h2, %h1;
    st.global.b16 [%rd3], %h3;
    ret;
}
END
fathom run add.ptx -b 8 -a 'ptr:f16[8]=iota' -a f16:0.5 2>/dev/null
fathom run add.ptx -b 4 -a 'ptr:f16[4]=random(-1,1)' -a 'f16:1/4' --json 2>/dev/null
fathom run add.ptx -b 1 -a 'ptr:e4m3[9]=i*64' -a f16:0 --show 0 2>/dev/null
# 2^15 * 2^i: the largest number of e5m2 is 57344, of f16 65504.
printf '\000\170\000\174' >two.bin
cat >types.json <<END
{"schema": "fathom-launch/1", "ptx": "add.ptx",
 "buffers": {"h": "f16[4]=32768*(i+1)", "b": "bf16[4]=1/3", "e4": "e4m3[4]=random(-2,2)",
             "e5": "e5m2[4]=16384*(i+1)", "f": "f16[]=file:two.bin"},
 "launches": [{"grid": 1, "block": 2, "args": ["f", "f16:0"]}],
 "expect": [{"buffer": "f", "file": "two.bin"}, {"buffer": "b", "sum": 1.3359375, "moment": 0.8349609375},
            {"buffer": "e5", "file": "five.bin"}]}
END
fathom run types.json 2>/dev/null
printf '\164\170\172\173' >five.bin
fathom run types.json --verify 2>/dev/null; echo $?
printf '\164\170\172\172' >five.bin
fathom run types.json --verify; echo $?
# Errors.
fathom run add.ptx -b 1 -a 'ptr:f8[1]' -a f16:1
fathom run add.ptx -b 1 -a 'ptr:f16[1]' -a f16:one
fathom run add.ptx -b 1 -a 'ptr:f16[1]' -a e4m3:1
