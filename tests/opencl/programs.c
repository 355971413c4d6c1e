/* Prints the OpenCL C of fathom's kernels as an OpenCL driver gets it.
 *
 * usage: programs VENDOR                      the chases
 *        programs VENDOR image                the chases, with those through an image
 *        programs VENDOR fetch STRIDE COUNT   code of COUNT instructions, STRIDE bytes apart
 *        programs VENDOR KIND TYPE VECTOR UNROLL [hinted]   the sweep: "triad f64 16 4"
 *
 * Without arguments, it prints the names of the vendors and of the sweeps. */
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const vendors[FTH_OPENCL_VENDORS] = {
    [FTH_OPENCL_AMD] = "amd", [FTH_OPENCL_INTEL_GPU] = "intel", [FTH_OPENCL_NVIDIA] = "nvidia",
    [FTH_OPENCL_X86] = "x86", [FTH_OPENCL_ARM64] = "arm64",     [FTH_OPENCL_OTHER] = "other",
};

static int list(void)
{
    for (size_t i = 0; i < FTH_OPENCL_VENDORS; i++)
        printf("vendor %s\n", vendors[i]);
    for (unsigned i = 0; i < FTH_SWEEP_KINDS; i++)
        printf("sweep %s\n", fth_sweep_kind_name((enum fth_sweep_kind)i));
    return 0;
}

static enum fth_status write_sweep(enum fth_opencl_vendor vendor, char **words, bool hinted,
                                   struct fth_buffer *text, struct fth_error *error)
{
    struct fth_sweep_code code = {.kind = FTH_SWEEP_READ,
                                  .wide = strcmp(words[1], "f64") == 0,
                                  .vector_bytes = (uint32_t)strtoul(words[2], NULL, 10),
                                  .unroll = (uint32_t)strtoul(words[3], NULL, 10),
                                  .lanes = 32,
                                  .hinted = hinted};
    while (code.kind < FTH_SWEEP_KINDS && strcmp(fth_sweep_kind_name(code.kind), words[0]) != 0)
        code.kind++;
    if (code.kind == FTH_SWEEP_KINDS)
        return fth_fail(error, FTH_INVALID, "write kernels", words[0], "no such sweep");
    return fth_kernels_opencl_sweep(vendor, &code, text, error);
}

int main(int argc, char **argv)
{
    struct fth_buffer text = {0};
    struct fth_error error = FTH_NO_ERROR;
    char message[700];
    enum fth_opencl_vendor vendor = FTH_OPENCL_AMD;
    if (argc == 1)
        return list();
    while (vendor < FTH_OPENCL_VENDORS && strcmp(vendors[vendor], argv[1]) != 0)
        vendor++;
    const bool hinted = argc == 7 && strcmp(argv[6], "hinted") == 0;
    if (vendor == FTH_OPENCL_VENDORS ||
        (argc != 2 && argc != 3 && argc != 5 && argc != 6 && !hinted)) {
        fprintf(stderr, "usage: programs VENDOR [image | fetch STRIDE COUNT | "
                        "KIND TYPE VECTOR UNROLL [hinted]]\n");
        return 2;
    }
    const enum fth_status status =
        argc == 2   ? fth_kernels_opencl(vendor, &text, &error)
        : argc == 3 ? fth_kernels_opencl_image(vendor, &text, &error)
        : argc == 5 ? fth_kernels_opencl_fetch(vendor, strtoul(argv[3], NULL, 10),
                                               strtoul(argv[4], NULL, 10), &text, &error)
                    : write_sweep(vendor, argv + 2, hinted, &text, &error);
    if (status == FTH_OK)
        fwrite(text.data, 1, text.size, stdout);
    else
        fprintf(stderr, "%s\n", fth_error_text(&error, message, sizeof message));
    fth_buffer_fini(&text);
    return status == FTH_OK ? 0 : 1;
}
