/* Digests of the GPU's memory, computed by the GPU. Only the chunks whose digests have changed are
 * copied to the host, because the GPU reads its memory far faster than the host can copy it. */
#include "capture.h"

/* Mixes a word with its index in the chunk, %k, and adds it to the sums %a and %b. The multipliers
 * are those of the finalizers of MurmurHash3 and SplitMix64. */
#define MIX(word)                                                                                  \
    "mul.lo.u64 %i, %k, 0x9e3779b97f4a7c15;\n"                                                     \
    "xor.b64 %x, " word ", %i;\n"                                                                  \
    "shr.u64 %y, %x, 33;\n"                                                                        \
    "xor.b64 %x, %x, %y;\n"                                                                        \
    "mul.lo.u64 %x, %x, 0xff51afd7ed558ccd;\n"                                                     \
    "shr.u64 %y, %x, 33;\n"                                                                        \
    "xor.b64 %x, %x, %y;\n"                                                                        \
    "mul.lo.u64 %x, %x, 0xc4ceb9fe1a85ec53;\n"                                                     \
    "shr.u64 %y, %x, 33;\n"                                                                        \
    "xor.b64 %x, %x, %y;\n"                                                                        \
    "add.u64 %a, %a, %x;\n"                                                                        \
    "add.u64 %x, %x, %i;\n"                                                                        \
    "mul.lo.u64 %x, %x, 0xbf58476d1ce4e5b9;\n"                                                     \
    "shr.u64 %y, %x, 27;\n"                                                                        \
    "xor.b64 %x, %x, %y;\n"                                                                        \
    "add.u64 %b, %b, %x;\n"

/* One block of 256 threads per chunk of 64 KiB. A thread reads 16 bytes in each of 16 iterations.
 * The mixed words of all threads are added, in any order. */
static const char ptx[] =
    ".version 7.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry fathom_digest(.param .u64 data, .param .u64 out)\n"
    "{\n"
    ".reg .u64 %at, %out, %w<2>, %x, %y, %i, %k, %a, %b;\n"
    ".reg .u32 %t, %c, %j;\n"
    ".reg .pred %p;\n"
    ".shared .align 8 .u64 sums[2];\n"
    "mov.u32 %t, %tid.x;\n"
    "mov.u32 %c, %ctaid.x;\n"
    "setp.lt.u32 %p, %t, 2;\n"
    "mul.wide.u32 %i, %t, 8;\n"
    "mov.u64 %x, sums;\n"
    "add.u64 %i, %i, %x;\n"
    "mov.u64 %a, 0;\n"
    "mov.u64 %b, 0;\n"
    "@%p st.shared.u64 [%i], %a;\n"
    "bar.sync 0;\n"
    "ld.param.u64 %at, [data];\n"
    "mul.wide.u32 %i, %c, 65536;\n"
    "add.u64 %at, %at, %i;\n"
    "mul.wide.u32 %i, %t, 16;\n"
    "add.u64 %at, %at, %i;\n"
    "mul.wide.u32 %k, %t, 2;\n"
    "add.u64 %k, %k, 1;\n"
    "mov.u32 %j, 0;\n"
    "next:\n"
    "ld.global.v2.u64 {%w0, %w1}, [%at];\n" MIX("%w0") "add.u64 %k, %k, 1;\n" MIX(
        "%w1") "add.u64 %k, %k, 511;\n"
               "add.u64 %at, %at, 4096;\n"
               "add.u32 %j, %j, 1;\n"
               "setp.lt.u32 %p, %j, 16;\n"
               "@%p bra next;\n"
               "mov.u64 %x, sums;\n"
               "red.shared.add.u64 [%x], %a;\n"
               "red.shared.add.u64 [%x+8], %b;\n"
               "bar.sync 0;\n"
               "setp.lt.u32 %p, %t, 2;\n"
               "@!%p ret;\n"
               "mul.wide.u32 %i, %t, 8;\n"
               "add.u64 %x, %x, %i;\n"
               "ld.shared.u64 %a, [%x];\n"
               "ld.param.u64 %out, [out];\n"
               "mul.wide.u32 %k, %c, 16;\n"
               "add.u64 %out, %out, %k;\n"
               "add.u64 %out, %out, %i;\n"
               "st.global.u64 [%out], %a;\n"
               "ret;\n"
               "}\n";

/* What is loaded on the GPU, in the first context that captures. */
static struct {
    void *context, *module, *kernel;
    uint64_t buffer, buffer_bytes;
    bool has_failed; /* without digests, all memory is copied */
} gpu;

/* Loads the kernel. Returns false if there are no digests in the current context. */
static bool load(void)
{
    void *context = NULL;
    if (gpu.has_failed || CALL(cuCtxGetCurrent, (void **), &context) != SUCCESS)
        return false;
    if (gpu.kernel)
        return context == gpu.context;
    gpu.context = context;
    gpu.has_failed = getenv("FATHOM_CAPTURE_COPY") ||
                     CALL(cuModuleLoadData, (void **, const void *), &gpu.module, ptx) != SUCCESS ||
                     CALL(cuModuleGetFunction, (void **, void *, const char *), &gpu.kernel,
                          gpu.module, "fathom_digest") != SUCCESS;
    return !gpu.has_failed;
}

/* Makes the buffer for digests large enough. */
static bool reserve(uint64_t bytes)
{
    if (gpu.buffer_bytes >= bytes)
        return true;
    if (gpu.buffer)
        (void)CALL(cuMemFree_v2, (uint64_t), gpu.buffer);
    gpu.buffer_bytes = 0;
    gpu.has_failed = CALL(cuMemAlloc_v2, (uint64_t *, size_t), &gpu.buffer, bytes) != SUCCESS;
    if (gpu.has_failed)
        gpu.buffer = 0;
    else
        gpu.buffer_bytes = bytes;
    return !gpu.has_failed;
}

bool capture_digests(uint64_t address, size_t chunks, struct fth_digest *digests)
{
    void *parameters[] = {&address, &gpu.buffer};
    if (chunks == 0 || chunks > INT32_MAX || address % 16 || !load() ||
        !reserve((uint64_t)chunks * sizeof *digests))
        return false;
    gpu.has_failed =
        CALL(cuLaunchKernel,
             (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
              void **, void **),
             gpu.kernel, (unsigned)chunks, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL) != SUCCESS ||
        CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), digests, gpu.buffer,
             chunks * sizeof *digests) != SUCCESS;
    return !gpu.has_failed;
}
