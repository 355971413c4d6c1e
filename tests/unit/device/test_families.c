/* Tests of the families of experiments (device/family/): which requests they refuse. */
#include "fake_machine.h"

static struct fth_request read_request(const char *text)
{
    struct fth_request request;
    struct fth_error error = NO_ERROR;
    if (fth_request_read(text, strlen(text), &request, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    return request;
}

/* ---- refused requests ---- */

/* Texts that are valid apart from one member, and the nearest valid ones (no cause). */
static const struct {
    const char *text, *argument, *cause;
} refused[] = {
    {"time-hops ca 0:8x1", NULL, NULL},
    {"time-hops ca 0:4x1", "steps[0].chain.stride_bytes",
     "4 is less than the 8 bytes of an element"},
    {"time-hops texture 0:4x1", NULL, NULL},
    {"time-hops ca 0:16x1 reverse", NULL, NULL},
    {"time-hops ca 0:8x1 reverse", "steps[0].chain.stride_bytes",
     "8 is less than the 16 bytes of an element"},
    {"time-hops ca 0:12x1", "steps[0].chain.stride_bytes",
     "12 is not a multiple of the 8 bytes of an element"},
    {"time-hops ca 0+4:8x1", "steps[0].chain.start_bytes",
     "4 is not a multiple of the 8 bytes of an element"},
    {"time-hops ca 0:8x0", "steps[0].chain.count", "a chain must have at least one element"},
    {"time-hops constant 0:64x1024", NULL, NULL},
    {"time-hops constant 0+64:64x1023", NULL, NULL},
    {"time-hops constant 0+64:64x1024", "steps[0].chain.count",
     "1024 elements with a stride of 64 bytes from offset 64 extend beyond the 65536 bytes of the "
     "constant bank"},
    {"time-hops shared 0+1048584:8x1", "steps[0].chain.count",
     "1 elements with a stride of 8 bytes from offset 1048584 extend beyond the 1048576 bytes of "
     "shared memory"},
    {"time-hops ca 0:8x9 step 6", "steps[0].chain.step",
     "the step 6 and the count 9 have a common factor"},
    {"time-hops ca 0:16x9 step 2 reverse", "steps[0].reverse",
     "only chains in memory order (step 1) can be walked in reverse"},
    {"time-hops ca 0:8x4 warp 31", NULL, NULL},
    {"time-hops ca 0:8x4 warp 32", "steps[0].warp", "index 32 is too large; a block has 32 warps"},
    {"time-hops ca 0:8x4 passes 0", "steps[0].passes", "a step must have at least one pass"},
    {"time-hops ca 0:8x4; touch ca 0:8x4", "steps[1].path", "touch steps must use the path cg"},
    {"time-hops ca 0:16x4; touch cg 0:16x4 reverse", "steps[1].reverse",
     "touch steps read in no particular order"},
    {"time-hops ca 0:8x4; touch cg 1:8x4", "steps[1].chain.array",
     "array 1 is touched, but no step walks it"},
    {"time-hops ca 0:8x4; touch cg 0:24x4", NULL, NULL},
    {"time-clock ca 0:8x4", "steps[0].path",
     "time-clock and time-sink steps must use the path cg and one pass"},
    {"time-sink cg 0:8x4 passes 2", "steps[0].passes",
     "time-clock and time-sink steps must use the path cg and one pass"},
    {"walk ca 0:8x4; time-hops shared 0:8x4", "steps[1].chain.array",
     "array 0 is used in global memory and in shared memory"},
    {"walk ca 0:8x4; time-hops shared 1:8x4", NULL, NULL},
    {"walk ca 0:8x4; time-hops ca 0:16x4", "steps[1].chain.stride_bytes",
     "array 0 already has a chain with a stride of 8"},
    {"walk ca 0:8x5 step 2; time-hops ca 0:8x5", "steps[1].chain.step",
     "array 0 already has a chain with a step of 2"},
    {"walk ca 0:8x5 step 2; time-hops ca 0:8x5 step 2", NULL, NULL},
    {"walk ca 0:8x5 step 2; time-hops ca 0+40:8x5 step 2", NULL, NULL},
    {"walk ca 0:8x5 step 2; time-hops ca 0+32:8x5 step 2", "steps[1].chain.step",
     "two different chains with a step other than 1 overlap in array 0"},
    {"walk ca 0+32:8x5 step 2; time-hops ca 0:8x5 step 2", "steps[1].chain.step",
     "two different chains with a step other than 1 overlap in array 0"},
    {"walk ca 0:8x5 step 2; time-hops ca 0:8x7 step 2", "steps[1].chain.step",
     "two different chains with a step other than 1 overlap in array 0"},
    {"walk ca 0:32x5; time-hops ca 0+8:32x5", NULL, NULL},
    {"walk ca 0:32x5 reverse; time-hops ca 0+8:32x5", "steps[1].chain.start_bytes",
     "elements of two chains partly overlap in array 0"},
    {"walk ca 0:32x5 reverse; time-hops ca 0+16:32x5", NULL, NULL},
    {"walk ca 0+8:32x5; time-hops ca 0:32x5 reverse", "steps[1].chain.start_bytes",
     "elements of two chains partly overlap in array 0"},
    {"walk ca 0+16:32x5; time-hops ca 0:32x5 reverse", NULL, NULL},
    {"walk ca 0+24:32x5; time-hops ca 0:32x5 reverse", NULL, NULL},
    {"walk ca 0:8x4", "steps", "at least one step must be timed"},
    {"time-hops ca 0:8x4 passes 67108864", NULL, NULL},
    {"time-hops ca 0:8x4 passes 67108865", "steps",
     "268435460 samples exceed the maximum of 268435456"},
    {"stream read cg 65536 1x256x4 sms 1024", NULL, NULL},
    {"stream read cg 65536 1x256x4 sms 1025", "stream.sms", "1025 is too large"},
    {"stream read cg 65536 32x256x4", NULL, NULL},
    {"stream read cg 65536 0x256x4", "stream.blocks_per_sm", "0 is not in the range 1 to 32"},
    {"stream read cg 65536 33x256x4", "stream.blocks_per_sm", "33 is not in the range 1 to 32"},
    {"stream read cg 65536 1x1024x4", NULL, NULL},
    {"stream read cg 65536 1x0x4", "stream.threads",
     "0 is not a multiple of 32 in the range 32 to 1024"},
    {"stream read cg 65536 1x48x4", "stream.threads",
     "48 is not a multiple of 32 in the range 32 to 1024"},
    {"stream read cg 65536 1x1056x4", "stream.threads",
     "1056 is not a multiple of 32 in the range 32 to 1024"},
    {"stream read shared 4096 each 1x32x4 cluster 2", NULL, NULL},
    {"stream write shared 4096 each 1x32x4 cluster 16", NULL, NULL},
    {"stream read shared 4096 each 1x32x4 cluster 1", "stream.cluster",
     "1 is not a power of two in the range 2 to 16"},
    {"stream read shared 4096 each 1x32x4 cluster 6", "stream.cluster",
     "6 is not a power of two in the range 2 to 16"},
    {"stream read shared 4096 each 1x32x4 cluster 32", "stream.cluster",
     "32 is not a power of two in the range 2 to 16"},
    {"stream copy shared 4096 each 1x32x4 cluster 2", "stream.cluster",
     "a stream in a cluster can only read or write shared memory"},
    {"stream read cg 4096 each 1x32x4 cluster 2", "stream.cluster",
     "a stream in a cluster can only read or write shared memory"},
    {"stream read shared 4096 each 2x32x4 cluster 2", "stream.blocks_per_sm",
     "must be 1 in a cluster"},
    {"stream read cg 512 1x32x4", NULL, NULL},
    {"stream read cg 70368744177664 1x32x4", NULL, NULL},
    {"stream read cg 0 1x32x4", "stream.bytes",
     "0 is not a positive multiple of 512 up to 70368744177664"},
    {"stream read cg 768 1x32x4", "stream.bytes",
     "768 is not a positive multiple of 512 up to 70368744177664"},
    {"stream read cg 70368744178176 1x32x4", "stream.bytes",
     "70368744178176 is not a positive multiple of 512 up to 70368744177664"},
    {"stream read cg 2048 1x32x16", NULL, NULL},
    {"stream read cg 1024 1x32x16", "stream.bytes",
     "1024 is not a positive multiple of 2048 up to 70368744177664"},
    {"stream read shared 1048576 each 1x32x4", NULL, NULL},
    {"stream read shared 1049088 each 1x32x4", "stream.bytes",
     "1049088 is not a positive multiple of 512 up to 1048576"},
    {"stream read constant 65536 each 1x32x8", NULL, NULL},
    {"stream read constant 16 each 1x32x4", NULL, NULL},
    {"stream read constant 65568 each 1x32x8", "stream.bytes",
     "65568 is not a positive multiple of 32 up to 65536"},
    {"stream read cg 512 1x32x4 passes 4294967296", NULL, NULL},
    {"stream read cg 512 1x32x4 passes 0", "stream.passes",
     "0 is not in the range 1 to 4294967296"},
    {"stream read cg 512 1x32x4 passes 4294967297", "stream.passes",
     "4294967297 is not in the range 1 to 4294967296"},
    {"stream write ca 512 1x32x4", "stream.path", "a write must use the path cg or shared"},
    {"stream copy ca 512 1x32x4", "stream.path", "a copy must use the path cg or shared"},
    {"stream read cg 512 1x32x2", "stream.vector_bytes",
     "accesses of 2 bytes are not available for the path cg"},
    {"stream read texture 1024 1x32x8", "stream.vector_bytes",
     "accesses of 8 bytes are not available for the path texture"},
    {"stream read shared 512 1x32x4", "stream.shared_by_all",
     "with the path shared, every block has its own array"},
    {"stream read constant 512 1x32x4", "stream.shared_by_all",
     "with the path constant, every block has its own array"},
    {"stream read cg 512 each 1x32x4; cold", "cold",
     "a cold stream must make one pass over one global array for all blocks"},
    {"stream read cg 512 1x32x4 passes 2; cold", "cold",
     "a cold stream must make one pass over one global array for all blocks"},
    {"stream read texture 512 1x32x4; cold", "cold",
     "a cold stream must make one pass over one global array for all blocks"},
    {"stream read cg 512 1x32x4; sm 0", "sm", "the SM cannot be chosen for this family"},
    {"stream read cg 512 each 128 1x32x4", NULL, NULL},
    {"stream read cg 512 each 130 1x32x4", "stream.block_stride_bytes",
     "requires reads of one global array per block and a multiple of 128"},
    {"stream write cg 512 each 128 1x32x4", "stream.block_stride_bytes",
     "requires reads of one global array per block and a multiple of 128"},
    {"stream read texture 512 each 128 1x32x4", "stream.block_stride_bytes",
     "requires reads of one global array per block and a multiple of 128"},
    {"stream read shared 512 each 128 1x32x4", "stream.block_stride_bytes",
     "requires reads of one global array per block and a multiple of 128"},
    {"stream read cg 512 each 70368744177792 1x32x4", "stream.block_stride_bytes",
     "requires reads of one global array per block and a multiple of 128"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1", NULL, NULL},
    {"sweep copy f32 4 1x1 vector 4 unroll 1", NULL, NULL},
    {"sweep copy f32 128 1x0 vector 4 unroll 1", "sweep.threads",
     "0 is not a power of two in the range 1 to 1024"},
    {"sweep copy f32 128 1x48 vector 4 unroll 1", "sweep.threads",
     "48 is not a power of two in the range 1 to 1024"},
    {"sweep copy f32 128 1x2048 vector 4 unroll 1", "sweep.threads",
     "2048 is not a power of two in the range 1 to 1024"},
    {"sweep copy f32 128 1073741824x1024 vector 4 unroll 1", NULL, NULL},
    {"sweep copy f32 128 0x32 vector 4 unroll 1", "sweep.blocks",
     "0 is not in the range 1 to 1073741824"},
    {"sweep copy f32 128 1073741825x32 vector 4 unroll 1", "sweep.blocks",
     "1073741825 is not in the range 1 to 1073741824"},
    {"sweep copy f32 128 1x32 vector 3 unroll 1", "sweep.unroll",
     "a copy with 1 vectors of 3 bytes is not available"},
    {"sweep add f32 4096 1x32 vector 4 unroll 8", "sweep.unroll",
     "a add with 8 vectors of 4 bytes is not available"},
    {"sweep copy f32 64 1x32 vector 4 unroll 1", "sweep.bytes",
     "64 is not a positive multiple of 128 up to 70368744177664"},
    {"sweep copy f32 0 1x32 vector 4 unroll 1", "sweep.bytes",
     "0 is not a positive multiple of 128 up to 70368744177664"},
    {"sweep copy f32 70368744177664 1x32 vector 4 unroll 1", NULL, NULL},
    {"sweep copy f32 70368744177792 1x32 vector 4 unroll 1", "sweep.bytes",
     "70368744177792 is not a positive multiple of 128 up to 70368744177664"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1 repeats 65536", NULL, NULL},
    {"sweep copy f32 128 1x32 vector 4 unroll 1 repeats 0", "sweep.repeats",
     "0 is not in the range 1 to 65536"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1 repeats 65537", "sweep.repeats",
     "65537 is not in the range 1 to 65536"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1; sm 1", "sm",
     "the SM cannot be chosen for this family"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1; carveout 1", "carveout_percent",
     "the carve-out cannot be chosen for this family"},
    {"operate fma.f32 chains 8 rounds 16777216 threads 1024 sms 0 per-sm 32 passes 65536", NULL,
     NULL},
    {"operate fma.f32 chains 0 rounds 1 threads 1 sms 0", "operate.chains",
     "0 is not in the range 1 to 8"},
    {"operate fma.f32 chains 9 rounds 1 threads 1 sms 0", "operate.chains",
     "9 is not in the range 1 to 8"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0 per-sm 33", "operate.per_sm",
     "33 is not in the range 1 to 32"},
    {"operate fma.f32 chains 1 rounds 0 threads 1 sms 0", "operate.rounds",
     "0 is not in the range 1 to 16777216"},
    {"operate fma.f32 chains 1 rounds 16777217 threads 1 sms 0", "operate.rounds",
     "16777217 is not in the range 1 to 16777216"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0 passes 0", "operate.passes",
     "0 is not in the range 1 to 65536"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0 passes 65537", "operate.passes",
     "65537 is not in the range 1 to 65536"},
    {"operate fma.f32 chains 1 rounds 1 threads 0 sms 0", "operate.threads",
     "0 is not in the range 1 to 1024"},
    {"operate fma.f32 chains 1 rounds 1 threads 1025 sms 0", "operate.threads",
     "1025 is not in the range 1 to 1024"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0; sm 1", "sm",
     "the SM cannot be chosen for this family"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0; cold", "cold",
     "not available for this family"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0; stride 4", "operate.stride_bytes",
     "the operation does not access memory"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 0 blocks 4", "operate.stride_bytes",
     "the operation does not access memory"},
    {"operate copy.shared.4 chains 1 rounds 1 threads 1 sms 0; stride 6", "operate.stride_bytes",
     "6 or 0 is not a multiple of the 4 bytes of an element"},
    {"operate copy.shared.4 chains 1 rounds 1 threads 1 sms 0; stride 4 blocks 6",
     "operate.stride_bytes", "4 or 6 is not a multiple of the 4 bytes of an element"},
    {"operate copy.shared.4 chains 1 rounds 1 threads 1 sms 0; stride 0", "operate.stride_bytes",
     "a copy needs a stride, so that each thread has its own words"},
    {"operate copy.shared.4 chains 8 rounds 1 threads 1024 sms 0; stride 64", NULL, NULL},
    {"operate copy.shared.4 chains 8 rounds 1 threads 1024 sms 0; stride 68",
     "operate.stride_bytes",
     "1024 threads with a stride of 68 bytes need more than 1048576 bytes of memory"},
    {"operate atomic.global chains 1 rounds 1 threads 1024 sms 0; stride 4194304", NULL, NULL},
    {"operate atomic.global chains 1 rounds 1 threads 1024 sms 0; stride 4194312",
     "operate.stride_bytes",
     "1024 threads with a stride of 4194312 bytes need more than 4294967296 bytes of memory"},
    {"operate atomic.global chains 1 rounds 1 threads 1 sms 0; stride 8 blocks 4294967304",
     "operate.stride_bytes",
     "1 threads with a stride of 8 bytes need more than 4294967296 bytes of memory"},
    {"operate atomic.global chains 1 rounds 1 threads 64 sms 0; stride 8 per-warp",
     "operate.per_warp", "threads cannot share the word of this operation"},
    {"operate atom.gpu chains 1 rounds 1 threads 1024 sms 0; stride 4096 per-warp", NULL, NULL},
    {"visit cg device 4x16777216", NULL, NULL},
    {"visit cg device 4x16777217", "visit.count",
     "16777217 words and 1 passes are not 1 to 16777216 visits"},
    {"visit cg device 4x8388608 passes 3", "visit.count",
     "8388608 words and 3 passes are not 1 to 16777216 visits"},
    {"visit cg device 4x0", "visit.count", "0 words and 1 passes are not 1 to 16777216 visits"},
    {"visit cg device 6x2", "visit.stride_bytes",
     "6 is not a multiple of 4 up to 1073741824, or the words need more than 1099511627776 bytes"},
    {"visit discard device 64x2", "visit.stride_bytes",
     "64 is not a multiple of the 128 bytes of a discarded line"},
    {"visit cg device 4x9 step 3", "visit.step",
     "3 is more than the number of words, or has a common factor with it"},
    {"visit cg host 4x9; cold", "cold", "only the GPU's memory is cached in the L2"},
    {"traffic device 8192 1x32x16 part 16 of 16", NULL, NULL},
    {"traffic device 8192 1x32x2 part 16 of 16", "traffic.vector_bytes", "2 is not 4, 8 or 16"},
    {"traffic device 8192 1x48x16 part 16 of 16", "traffic.threads",
     "48 is not a multiple of 32 up to 1024"},
    {"traffic device 8192 0x32x16 part 16 of 16", "traffic.blocks",
     "0 is not in the range 1 to 16777216"},
    {"traffic device 8192 1x32x16 part 16 of 16 writes 33", "traffic.writes", "33 is more than 32"},
    {"traffic device 8192 1x32x16 part 16 of 16 repeats 0", "traffic.repeats",
     "0 is not in the range 1 to 65536"},
    {"traffic device 8192 1x32x16 part 8 of 16", "traffic.used_bytes",
     "8 is not a power of two of at least a vector"},
    {"traffic device 8192 1x32x16 part 48 of 64", "traffic.used_bytes",
     "48 is not a power of two of at least a vector"},
    {"traffic device 8192 1x32x16 part 32 of 16", "traffic.stride_bytes",
     "16 is not a multiple of a vector from the used bytes to 1073741824"},
    {"traffic device 4096 1x32x16 part 32 of 32", NULL, NULL},
    {"traffic device 1024 1x32x16 part 32 of 32", "traffic.bytes",
     "1024 is not a positive multiple of 2048, or the array is too large"},
    {"traffic host 8192 1x32x16 part 32 of 32; cold", "cold",
     "only the GPU's memory is cached in the L2"},
    {"cluster 16 target 15 8x4", NULL, NULL},
    {"cluster 1 target 0 8x4", "cluster.size", "1 is not a power of two in the range 2 to 16"},
    {"cluster 3 target 0 8x4", "cluster.size", "3 is not a power of two in the range 2 to 16"},
    {"cluster 32 target 0 8x4", "cluster.size", "32 is not a power of two in the range 2 to 16"},
    {"cluster 2 target 2 8x4", "cluster.target", "index 2 is too large; the cluster has 2 blocks"},
    {"cluster 2 target 0 8x4 passes 0", "cluster.passes", "0 is not in the range 1 to 268435456"},
    {"cluster 2 target 0 8x4 passes 268435457", "cluster.passes",
     "268435457 is not in the range 1 to 268435456"},
    {"cluster 2 target 0 8x4 passes 268435456", NULL, NULL},
    {"cluster 2 target 0 8x4; sm 1", "sm", "the SM cannot be chosen for this family"},
    {"cluster 2 target 0 8x4; cold", "cold", "not available for this family"},
    {"cluster 2 target 0 0x4", "cluster.chain.stride_bytes",
     "0 is not a multiple of the 8 bytes of an element"},
    {"cluster 2 target 0 12x4", "cluster.chain.stride_bytes",
     "12 is not a multiple of the 8 bytes of an element"},
    {"cluster 2 target 0 +4:8x4", "cluster.chain.start_bytes",
     "4 is not a multiple of the 8 bytes of an element"},
    {"cluster 2 target 0 8x0", "cluster.chain.count", "a chain must have at least one element"},
    {"cluster 2 target 0 8x131072", NULL, NULL},
    {"cluster 2 target 0 8x131073", "cluster.chain.count",
     "131073 elements with a stride of 8 bytes from offset 0 extend beyond the 1048576 bytes of "
     "shared memory"},
    {"cluster 2 target 0 +8:8x131071", NULL, NULL},
    {"cluster 2 target 0 +8:8x131072", "cluster.chain.count",
     "131072 elements with a stride of 8 bytes from offset 8 extend beyond the 1048576 bytes of "
     "shared memory"},
    {"cluster 2 target 0 +1048584:8x1", "cluster.chain.count",
     "1 elements with a stride of 8 bytes from offset 1048584 extend beyond the 1048576 bytes of "
     "shared memory"},
    {"cluster 2 target 0 8x6 step 4", "cluster.chain.step",
     "the step 4 and the count 6 have a common factor"},
    {"fetch 16384 passes 16777216", NULL, NULL},
    {"fetch 0", "fetch.instructions", "0 is not a multiple of 64 in the range 64 to 65536"},
    {"fetch 100", "fetch.instructions", "100 is not a multiple of 64 in the range 64 to 65536"},
    {"fetch 65600", "fetch.instructions", "65600 is not a multiple of 64 in the range 64 to 65536"},
    {"fetch 16448", NULL, NULL},
    {"fetch 512 stride 64 passes 6", NULL, NULL},
    {"fetch 8192 stride 64", NULL, NULL},
    {"fetch 8193 stride 64", "fetch.instructions", "8193 is not in the range 1 to 8192"},
    {"fetch 1 stride 48", "fetch.stride_bytes", "48 is not a multiple of 32 up to 524288"},
    {"fetch 64 passes 0", "fetch.passes", "0 is not in the range 1 to 16777216"},
    {"fetch 64 passes 16777217", "fetch.passes", "16777217 is not in the range 1 to 16777216"},
    {"fetch 64; cold", "cold", "code cannot be evicted from the L2"},
    {"transfer to-device pinned 1099511627776 repeats 65536", NULL, NULL},
    {"transfer to-peer 1 peer 1023", NULL, NULL},
    {"transfer to-device pinned 0", "transfer.bytes", "0 is not in the range 1 to 1099511627776"},
    {"transfer to-device pinned 1099511627777", "transfer.bytes",
     "1099511627777 is not in the range 1 to 1099511627776"},
    {"transfer to-device pinned 1 repeats 0", "transfer.repeats",
     "0 is not in the range 1 to 65536"},
    {"transfer to-device pinned 1 repeats 65537", "transfer.repeats",
     "65537 is not in the range 1 to 65536"},
    {"transfer to-peer pinned 1", "transfer.pinned", "this kind of transfer uses no host memory"},
    {"transfer to-peer 1 peer 1024", "transfer.peer",
     "1024 is too large, or this kind of transfer uses no other GPU"},
    {"transfer to-device pinned 1 peer 1", "transfer.peer",
     "1 is too large, or this kind of transfer uses no other GPU"},
    {"transfer within 1; sm 1", "sm",
     "the SM, the carve-out and cold caches cannot be chosen for this family"},
    {"transfer within 1; carveout 1", "sm",
     "the SM, the carve-out and cold caches cannot be chosen for this family"},
    {"transfer within 1; cold", "cold",
     "the SM, the carve-out and cold caches cannot be chosen for this family"},
};

static void requests_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(refused); i++) {
        struct fth_request request;
        struct fth_error error = NO_ERROR;
        const enum fth_status status =
            fth_request_read(refused[i].text, strlen(refused[i].text), &request, &error);
        if (!refused[i].cause && status != FTH_OK)
            fail_msg("%s: %s", refused[i].text, error.cause);
        if (!refused[i].cause)
            continue;
        if (status != FTH_INVALID || strcmp(error.cause, refused[i].cause) != 0 ||
            strcmp(error.argument, refused[i].argument) != 0)
            fail_msg("%s: %s: %s", refused[i].text, error.argument, error.cause);
        assert_string_equal(error.operation, "check request");
    }
}

/* A character that no request contains is not read, wherever it is. */
static void unexpected_characters_are_found(void **state)
{
    (void)state;
    static const char *const texts[] = {
        ("walk ca 0+256:128x7 step 3 warp 2 passes 2; time-hops ca 1:128x2048 reverse; sm 3; "
         "carveout 0; alone"),
        "walk cg 1:1024x1; touch cg 1+512:256x64 passes 2; time-pass cg 0:128x16; cold",
        "fetch 1024 passes 2; time-hops constant 0+64:64x256 step 3; sm 5; carveout 50",
        "cluster 2 target 0 +64:16x7 step 3 passes 4; carveout 100",
        "stream read cg 10485760 each 240256 1x1024x16 passes 4",
        "stream write shared 65536 each 1x1024x16 sms 4 cluster 2 passes 64; carveout 100",
        ("operate atomic.global chains 1 rounds 1 threads 256 sms 132 per-sm 2 passes 2; stride 8 "
         "blocks 65536; carveout 25"),
        "sweep triad f64 1073741824 264x1024 vector 16 unroll 4 hinted repeats 5; cold",
        "sweep copy f32 4096 1x32 vector 4 unroll 1",
        "transfer from-device pageable 268435456 repeats 5",
        "transfer to-peer 268435456 peer 1 repeats 5",
        "operate red.gpu chains 1 rounds 1 threads 64 sms 0; stride 128 per-warp blocks 65536",
        "visit discard device 128x8 step 3 passes 2048 stamped; sm 2; carveout 0",
        "traffic managed 1073741824 264x1024x16 part 32 of 128 writes 8 repeats 3",
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        (void)read_request(texts[i]);
        for (size_t at = 0; at < strlen(texts[i]); at++) {
            char text[200], cause[300];
            size_t position = SIZE_MAX;
            struct fth_request request;
            struct fth_error error = NO_ERROR;
            snprintf(text, sizeof text, "%s", texts[i]);
            text[at] = '?';
            assert_int_equal(fth_request_read(text, strlen(text), &request, &error), FTH_INVALID);
            static const char start[] = "unexpected text after ";
            if (strncmp(error.cause, start, strlen(start)) == 0)
                position = strtoul(error.cause + strlen(start), NULL, 10);
            if (position > at)
                fail_msg("%s: %s", text, error.cause);
            snprintf(cause, sizeof cause, "unexpected text after %zu bytes of: %s", position, text);
            assert_memory_equal(error.cause, cause, strlen(error.cause) < 90 ? strlen(cause) : 60);
        }
    }
}

/* ---- requests that this GPU cannot execute ---- */

static const char *const impossible[][2] = {
    {"stream read cg 512 1x32x4 sms 4", NULL},
    {"stream read cg 512 1x32x4 sms 5", "5 SMs requested, the GPU has 4"},
    {"stream read shared 4096 each 1x32x4 cluster 4", NULL},
    {"stream read shared 4096 each 1x32x4 cluster 8",
     "4 blocks cannot be divided into clusters of 8"},
    {"stream read shared 4096 each 1x32x4 sms 3 cluster 2",
     "3 blocks cannot be divided into clusters of 2"},
    {"stream read shared 49152 each 1x32x4", NULL},
    {"stream copy shared 24576 each 1x32x4", NULL},
    {"stream read shared 49664 each 1x32x4",
     "49664 bytes of shared memory requested, a block can have 49152"},
    {"stream copy shared 25088 each 1x32x4",
     "50176 bytes of shared memory requested, a block can have 49152"},
    {"stream read texture 4194304 1x32x4", NULL},
    {"stream read texture 4194816 1x32x4", "1048704 texels requested, the maximum is 1048576"},
    {"stream read texture 1048576 each 1x32x4", NULL},
    {"stream read texture 1049088 each 1x32x4", "1049088 texels requested, the maximum is 1048576"},
    {"stream copy cg 35184372088832 1x32x4", NULL},
    {"stream copy cg 35184372089344 1x32x4", "70368744178688 bytes of arrays are too many"},
    {"sweep copy f32 128 1x32 vector 4 unroll 1 hinted",
     "cache hints require a real GPU with compute capability 8.0 or later"},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 4", NULL},
    {"operate fma.f32 chains 1 rounds 1 threads 1 sms 5", "the GPU has fewer SMs than requested"},
    {"operate copy.shared.4 chains 6 rounds 1 threads 1024 sms 0; stride 4", NULL},
    {"operate copy.shared.4 chains 7 rounds 1 threads 1024 sms 0; stride 4",
     "the request needs more shared memory than a block can have"},
    {"cluster 4 target 0 8x6144", NULL},
    {"cluster 4 target 0 8x6145", "the request needs more shared memory than a block can have"},
    {"cluster 4 target 0 +8:8x6144", "the request needs more shared memory than a block can have"},
    {"cluster 8 target 0 8x4", "the cluster has more blocks than the GPU has SMs"},
    {"share 2 6 ca 64 own 8 other 8 rounds 1", NULL},
    {"share 2 6 ca 4 own 8 other 8 rounds 1",
     "the stride is not a multiple of 8 bytes, the size of a pointer"},
    {"share 2 6 ca 64 own 8 other 8388608 rounds 1", NULL},
    {"share 2 6 ca 64 own 8 other 8388609 rounds 1", "a chain exceeds 512 MiB"},
    {"share 2 6 ca 64 own 8388609 other 8 rounds 1", "a chain exceeds 512 MiB"},
    {"fetch 64; sm 3", NULL},
    {"fetch 64 stride 64", "only CPUs execute code that consists of branches"},
    {"fetch 64; sm 4", "the GPU has no SM with this index"},
};

static void requests_that_the_gpu_cannot_execute_are_refused(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    for (size_t i = 0; i < FTH_COUNT(impossible); i++) {
        struct fth_lowered lowered;
        struct fth_error error = NO_ERROR;
        const struct fth_request request = read_request(impossible[i][0]);
        const enum fth_status status = fth_request_lower(&runner, &request, &lowered, &error);
        if (impossible[i][1] ? status == FTH_OK || strcmp(error.cause, impossible[i][1]) != 0
                             : status != FTH_OK)
            fail_msg("%s: %s", impossible[i][0], error.cause);
        if (impossible[i][1])
            assert_int_equal(status,
                             strstr(impossible[i][0], "; sm") ? FTH_UNAVAILABLE : FTH_UNSUPPORTED);
    }
    static const char *const missing[] = {"share 1 6 ca 64 own 8 other 8 rounds 1",
                                          "share 6 7 constant 64 own 8 other 8 rounds 1"};
    for (size_t i = 0; i < 2; i++) {
        struct fth_lowered lowered;
        struct fth_error error = NO_ERROR;
        const struct fth_request request = read_request(missing[i]);
        assert_int_equal(fth_request_lower(&runner, &request, &lowered, &error), FTH_NOT_FOUND);
        assert_string_equal(error.cause, "the GPU has no SM with this number");
    }
    /* Older GPUs, and one that does not know its capability. */
    static const char *const clusters[] = {"stream read shared 4096 each 1x32x4 cluster 2",
                                           "cluster 2 target 0 8x4"};
    for (size_t i = 0; i < 2; i++) {
        struct fth_lowered lowered;
        struct fth_error error = NO_ERROR;
        const struct fth_request request = read_request(clusters[i]);
        runner.facts.capability = 89;
        assert_int_equal(fth_request_lower(&runner, &request, &lowered, &error), FTH_UNSUPPORTED);
        assert_string_equal(error.cause, "clusters require compute capability 9.0 or later");
    }
}

/* The kernel that is compiled ahead for a sweep is the one that the sweep launches. */
static void the_kernel_of_a_sweep_is_known_before_it_runs(void **state)
{
    (void)state;
    static const char text[] = "sweep copy f32 4096 1x32 vector 16 unroll 2 hinted";
    const struct fth_sweep_code code = {
        .kind = FTH_SWEEP_COPY, .vector_bytes = 16, .unroll = 2, .lanes = 32, .hinted = true};
    struct fth_request request;
    struct fth_buffer ahead = {0}, launched = {0};
    assert_int_equal(fth_request_read(text, strlen(text), &request, NULL), FTH_OK);
    assert_int_equal(fth_family_of(FTH_FAMILY_SWEEP)->request_ptx(&request, &ahead, NULL), FTH_OK);
    assert_int_equal(fth_kernels_sweep(&code, &launched, NULL), FTH_OK);
    assert_string_equal(ahead.data, launched.data);
    fth_buffer_fini(&ahead);
    fth_buffer_fini(&launched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_checked),
        cmocka_unit_test(unexpected_characters_are_found),
        cmocka_unit_test(requests_that_the_gpu_cannot_execute_are_refused),
        cmocka_unit_test(the_kernel_of_a_sweep_is_known_before_it_runs),
    };
    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
