# Clusters of one to three dimensions, from launch files and from the command line, in the PTX engine,
# on a simulated GPU and through the driver. The kernel writes the rank of each block in its cluster,
# plus 100 if it has more than 48 KiB of dynamic shared memory.
export LD_LIBRARY_PATH=$FATHOM_STANDINS/new
cat >rank.ptx <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 to)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<4>;
    .reg .b32 %r<9>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r4, %ctaid.z;
    mov.u32 %r5, %nctaid.y;
    mad.lo.u32 %r2, %r4, %r5, %r2;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    mov.u32 %r6, %cluster_ctarank;
    mov.u32 %r7, %dynamic_smem_size;
    setp.gt.u32 %p1, %r7, 49152;
    add.u32 %r8, %r6, 100;
    selp.b32 %r6, %r8, %r6, %p1;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.b32 [%rd3], %r6;
    ret;
}
END
cat >clusters.json <<END
{"schema": "fathom-launch/1", "ptx": "rank.ptx", "sizes": {"N": 16},
 "buffers": {"none": "u32[4]", "x": "u32[4]", "xyz": "u32[16]", "large": "u32[N]"},
 "launches": [
   {"grid": 4, "block": 1, "args": ["none"]},
   {"grid": 4, "block": 1, "cluster": 2, "args": ["x"]},
   {"grid": [4, 2, 2], "block": 1, "cluster": [2, 1, 2], "args": ["xyz"]},
   {"grid": [8, 2], "block": 1, "cluster": ["N/2", 2], "shared": 65536, "args": ["large"]}]}
END
fathom run clusters.json --show 0
for device in cuda:0 sim:h200; do
    fathom run clusters.json --show 0 --on $device 2>/dev/null
done
fathom run rank.ptx -g 4,2 -b 1 -c 2,2 -a 'ptr:u32[8]' 2>/dev/null
fathom run rank.ptx -g 4,2 -b 1 --cluster 4 -a 'ptr:u32[8]' --on cuda:0 2>/dev/null
# A kernel can require clusters itself, also large ones.
sed 's/^{/.reqnctapercluster 8, 2, 1\n{/' rank.ptx >required.ptx
for device in cuda:0 sim:h200; do
    fathom run required.ptx -g 8,2 -b 1 -a 'ptr:u32[16]' --show 0 --on $device 2>/dev/null
done
fathom run required.ptx -g 8,2 -b 1 -c 4,2 -a 'ptr:u32[16]'
# A trace has the accesses of all 40 blocks.
fathom trace clusters.json -o t.trace
# Errors.
fathom run rank.ptx -g 4 -b 1 -c 3 -a 'ptr:u32[4]'; echo $?
fathom run rank.ptx -g 64 -b 1 -c 32 -a 'ptr:u32[64]'
fathom run rank.ptx -g 4 -b 1 -c two -a 'ptr:u32[4]'; echo $?
fathom run clusters.json -c 2
FATHOM_STANDIN_GPU=rtx2060 fathom run clusters.json --on cuda:0
sed 's/"cluster": 2/"clusters": 2/' clusters.json | fathom run -
