/* The programs in OpenCL C: the prelude of the vendor, the definitions that it leaves out, and the
 * kernels. */
#include "kernels/kernels.h"

#include <string.h>

static const char *const preludes[FTH_OPENCL_VENDORS] = {
    [FTH_OPENCL_AMD] = "amd", [FTH_OPENCL_INTEL_GPU] = "intel", [FTH_OPENCL_NVIDIA] = "nvidia",
    [FTH_OPENCL_X86] = "x86", [FTH_OPENCL_ARM64] = "arm64",     [FTH_OPENCL_OTHER] = NULL,
};

/* Appends an embedded file. */
static enum fth_status add_file(const char *name, struct fth_buffer *out, struct fth_error *error)
{
    for (size_t i = 0; i < fth_embedded_opencl_count; i++)
        if (strcmp(fth_embedded_opencl[i].name, name) == 0) {
            fth_buffer_text(out, fth_embedded_opencl[i].data);
            return out->failed ? fth_no_memory(error, "write kernels", name) : FTH_OK;
        }
    return fth_fail(error, FTH_INVALID, "write kernels", name, "no such file was embedded");
}

enum fth_status fth_kernels_opencl(enum fth_opencl_vendor vendor, struct fth_buffer *out,
                                   struct fth_error *error)
{
    if (preludes[vendor])
        FTH_TRY(add_file(preludes[vendor], out, error));
    FTH_TRY(add_file("other", out, error));
    FTH_TRY(add_file("chase", out, error));
    return add_file("units", out, error);
}

enum fth_status fth_kernels_opencl_image(enum fth_opencl_vendor vendor, struct fth_buffer *out,
                                         struct fth_error *error)
{
    FTH_TRY(fth_kernels_opencl(vendor, out, error));
    return add_file("images", out, error);
}

bool fth_kernels_opencl_has_code(enum fth_opencl_vendor vendor, uint64_t stride_bytes)
{
    return vendor == FTH_OPENCL_X86 || vendor == FTH_OPENCL_ARM64 ||
           (vendor == FTH_OPENCL_AMD && stride_bytes == 0);
}

enum fth_status fth_kernels_opencl_fetch(enum fth_opencl_vendor vendor, uint64_t stride_bytes,
                                         uint64_t count, struct fth_buffer *out,
                                         struct fth_error *error)
{
    fth_buffer_format(out, "#define FTH_CODE_STRIDE %llu\n#define FTH_CODE_COUNT %llu\n",
                      (unsigned long long)stride_bytes, (unsigned long long)count);
    if (preludes[vendor])
        FTH_TRY(add_file(preludes[vendor], out, error));
    FTH_TRY(add_file("other", out, error));
    return add_file("fetch", out, error);
}

/* The result of each kind, of an element of x and one of y. An fma and a separate multiplication
 * have the same result, because the elements are small integers. */
static const char *const results[FTH_SWEEP_KINDS] = {
    [FTH_SWEEP_READ] = "(x)",        [FTH_SWEEP_WRITE] = "((fth_vector)FTH_SCALE)",
    [FTH_SWEEP_COPY] = "(x)",        [FTH_SWEEP_MUL] = "((x) * FTH_SCALE)",
    [FTH_SWEEP_ADD] = "((x) + (y))", [FTH_SWEEP_TRIAD] = "((x) + (y) * FTH_SCALE)",
};

enum fth_status fth_kernels_opencl_sweep(enum fth_opencl_vendor vendor,
                                         const struct fth_sweep_code *code, struct fth_buffer *out,
                                         struct fth_error *error)
{
    const bool reads = code->kind != FTH_SWEEP_WRITE, writes = code->kind != FTH_SWEEP_READ;
    if (!fth_kernels_has_sweep(code) || (code->hinted && vendor != FTH_OPENCL_NVIDIA))
        return fth_fail(error, FTH_UNSUPPORTED, "write kernels", fth_sweep_kind_name(code->kind),
                        "OpenCL has no kernel with these vectors, or with cache hints for this "
                        "vendor");
    if (vendor == FTH_OPENCL_X86 || vendor == FTH_OPENCL_ARM64)
        fth_buffer_text(out, "#define FTH_CPU\n");
    fth_buffer_format(out,
                      "#define FTH_WIDE %d\n#define FTH_VECTOR_WORDS %u\n"
                      "#define FTH_SWEEP_UNROLL %u\n#define FTH_LANES %u\n"
                      "#define FTH_READS %d\n#define FTH_READS_OTHER %d\n#define FTH_WRITES %d\n"
                      "#define FTH_SCALE ((fth_word)%d)\n#define FTH_RESULT(x, y) %s\n",
                      code->wide, code->vector_bytes / (code->wide ? 8 : 4), code->unroll,
                      code->lanes, reads, fth_sweep_arrays(code->kind) == 3, writes,
                      FTH_SWEEP_SCALAR, results[code->kind]);
    if (code->hinted)
        FTH_TRY(add_file("hints", out, error));
    return add_file("arrays", out, error);
}
