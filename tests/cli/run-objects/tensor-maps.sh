# Tensor maps, null pointers and structs as arguments. The kernel writes 64 bytes of its second parameter,
# from byte 40 on. In the PTX engine's encoding of tensor maps, these are the sizes and three strides.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new
cat >words.ptx <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry words(.param .u64 to, .param .align 64 .b8 what[128], .param .u64 scratch)
{
    .reg .b64 %rd<7>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd6, [scratch];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, what;
    add.u64 %rd4, %rd3, %rd2;
    ld.param.b32 %r2, [%rd4+40];
    add.u64 %rd5, %rd1, %rd2;
    add.u64 %rd5, %rd5, %rd6;
    st.global.b32 [%rd5], %r2;
    ret;
}
END
cat >maps.json <<END
{"schema": "fathom-launch/1", "ptx": "words.ptx", "sizes": {"N": 128},
 "buffers": {"a": "bf16[N*64]", "tile": "u32[16]", "im2col": "u32[16]", "struct": "u32[16]"},
 "launches": [
   {"grid": 1, "block": 16, "args": ["tile",
     {"tensormap": "a", "sizes": [64, "N"], "box": [64, 16], "swizzle": 128, "l2_promotion": 256}, "null"]},
   {"grid": 1, "block": 16, "args": ["im2col",
     {"tensormap": "a", "type": "u16", "sizes": [8, 16, 8, 4], "channels": 8, "pixels": 32,
      "lower_corner": [-1, -1], "upper_corner": [-1, -1]}, "null"]},
   {"grid": 1, "block": 16, "args": ["struct",
     ["bytes:$(printf '%080d' 0)", "u64:1", "f16:1", "i32:-N", {"tensormap": "a", "sizes": [8], "box": [8]}], "null"]}]}
END
sed 's/, {"tensormap": "a", "sizes": \[8\], "box": \[8\]}\]/, "bytes:'"$(printf '%0144d' 0)"'"]/' maps.json >fits.json
fathom run fits.json --show 0 | tail -n +3
for device in cuda:0 sim:h200; do
    fathom run fits.json --show 0 --on $device 2>/dev/null | tail -n +3
done
# Errors: the struct is too large; the map breaks a rule; the driver or the GPU has no tensor maps.
fathom run maps.json; echo $?
sed 's/"swizzle": 128/"swizzle": 64/' fits.json | fathom run -
sed 's/"swizzle": 128/"swizle": 128/' fits.json | fathom run -
FATHOM_STANDIN_GPU=rtx2060 fathom run fits.json --on cuda:0
LD_LIBRARY_PATH=$FATHOM_STANDINS/bare fathom run fits.json --on cuda:0
