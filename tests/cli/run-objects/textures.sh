# Textures and surfaces as arguments. Thread (x, y) reads the texture at (x, y) / 2, adds the texel of the
# surface, and writes the sum to the surface. The second launch reads through a texture what the first one wrote.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new
cat >add.ptx <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 texture, .param .u64 surface)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<4>;
    .reg .f32 %f<8>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [surface];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    cvt.rn.f32.u32 %f1, %r1;
    cvt.rn.f32.u32 %f2, %r2;
    mul.f32 %f1, %f1, 0.5;
    mul.f32 %f2, %f2, 0.5;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    mul.lo.u32 %r1, %r1, 4;
    suld.b.2d.b32.trap {%r3}, [%rd2, {%r1, %r2}];
    mov.b32 %f7, %r3;
    add.f32 %f7, %f7, %f3;
    mov.b32 %r3, %f7;
    sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r3};
    ret;
}
END
cat >textures.json <<END
{"schema": "fathom-launch/1", "ptx": "add.ptx", "sizes": {"W": 4, "H": 2},
 "buffers": {"a": "f32[W*H+1]=iota", "b": "f32[W*H]=100", "c": "f32[W*H]"},
 "launches": [
   {"grid": 1, "block": ["W", "H"], "args": [
     {"texture": "a+1", "sizes": ["W", "H"], "filter": "linear", "address": ["border", "clamp"], "border": [16, 0, 0, 0]},
     {"surface": "b", "sizes": ["W", "H"]}]},
   {"grid": 1, "block": ["W", "H"], "args": [
     {"texture": "b", "sizes": ["W", "H"], "address": "wrap", "normalized": true},
     {"surface": "c", "sizes": ["W", "H"]}]}]}
END
fathom run textures.json --show 0 | tail -n +3
for device in cuda:0 sim:h200; do
    fathom run textures.json --show 0 --on $device 2>/dev/null | tail -n +3
done
fathom trace textures.json
# Errors: the buffer is too small; a key or a value is wrong; the driver has no arrays.
sed 's/"b", "sizes": \["W", "H"\]}\]/"b", "sizes": ["W", "2*H"]}]/' textures.json | fathom run -
sed 's/"filter"/"filtre"/' textures.json | fathom run -
sed 's/"linear"/"cubic"/' textures.json | fathom run -
LD_LIBRARY_PATH=$FATHOM_STANDINS/bare fathom run textures.json --on cuda:0
