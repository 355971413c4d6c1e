/* Filling in the template of accesses with cache operators and hints, hint.ptx. */
#include "kernels/kernels.h"

#include <stdio.h>

/* The PTX version that introduced the hints, and the oldest GPU that has cache policies. */
static const char version[] = "7.4", target[] = "sm_80";

/* Cycles that `survive` waits after the accesses, so that prefetches are complete. Chosen:
 * more than twice the latency of memory of every GPU that we know. */
enum { SETTLE_CYCLES = 2500 };

#define LOAD(words) "    ld." words ".u32 %word, [%x];\n"
#define LOAD_POLICY(priority)                                                                      \
    "    createpolicy.fractional.L2::" priority ".b64 %policy, 1.0;\n"                             \
    "    ld.global.L2::cache_hint.u32 %word, [%x], %policy;\n"
/* A store of one word if the timed reads go through the L1, and otherwise of 32 bytes: the L2 has
 * to fetch a sector that was written in part. */
#define STORE(words)                                                                               \
    "    @%cached st." words ".u32 [%x], %zero;\n"                                                 \
    "    @!%cached st." words ".v4.u32 [%x], {%zero, %zero, %zero, %zero};\n"                      \
    "    @!%cached st." words ".v4.u32 [%x+16], {%zero, %zero, %zero, %zero};\n"
#define STORE_POLICY(priority)                                                                     \
    "    createpolicy.fractional.L2::" priority ".b64 %policy, 1.0;\n"                             \
    "    @%cached st.global.L2::cache_hint.u32 [%x], %zero, %policy;\n"                            \
    "    @!%cached st.global.L2::cache_hint.v4.u32 [%x], {%zero, %zero, %zero, %zero}, %policy;\n" \
    "    @!%cached st.global.L2::cache_hint.v4.u32 [%x+16], {%zero, %zero, %zero, %zero}, "        \
    "%policy;\n"
#define COPY(cache, size, bytes)                                                                   \
    "    cp.async." cache ".shared.global" size " [landing], [%x], " bytes ";\n"                   \
    "    cp.async.wait_all;\n"
static const char *const accesses[FTH_VARIANTS] = {
    [FTH_VARIANT_NONE] = "",
    [FTH_VARIANT_LD_CA] = LOAD("global.ca"),
    [FTH_VARIANT_LD_CG] = LOAD("global.cg"),
    [FTH_VARIANT_LD_CS] = LOAD("global.cs"),
    [FTH_VARIANT_LD_LU] = LOAD("global.lu"),
    [FTH_VARIANT_LD_CV] = LOAD("global.cv"),
    [FTH_VARIANT_LD_VOLATILE] = LOAD("volatile.global"),
    [FTH_VARIANT_LD_RELAXED] = LOAD("relaxed.gpu.global"),
    [FTH_VARIANT_LD_NC] = LOAD("global.nc"),
    [FTH_VARIANT_LD_L2_64B] = LOAD("global.L2::64B"),
    [FTH_VARIANT_LD_L2_128B] = LOAD("global.L2::128B"),
    [FTH_VARIANT_LD_L2_256B] = LOAD("global.L2::256B"),
    [FTH_VARIANT_LD_L1_NORMAL] = LOAD("global.L1::evict_normal"),
    [FTH_VARIANT_LD_L1_UNCHANGED] = LOAD("global.L1::evict_unchanged"),
    [FTH_VARIANT_LD_L1_FIRST] = LOAD("global.L1::evict_first"),
    [FTH_VARIANT_LD_L1_LAST] = LOAD("global.L1::evict_last"),
    [FTH_VARIANT_LD_L1_NO_ALLOCATE] = LOAD("global.L1::no_allocate"),
    [FTH_VARIANT_LD_L2_NORMAL] = LOAD_POLICY("evict_normal"),
    [FTH_VARIANT_LD_L2_UNCHANGED] = LOAD_POLICY("evict_unchanged"),
    [FTH_VARIANT_LD_L2_FIRST] = LOAD_POLICY("evict_first"),
    [FTH_VARIANT_LD_L2_LAST] = LOAD_POLICY("evict_last"),
    [FTH_VARIANT_PREFETCH_L1] = "    prefetch.global.L1 [%x];\n",
    [FTH_VARIANT_PREFETCH_L2] = "    prefetch.global.L2 [%x];\n",
    [FTH_VARIANT_PREFETCH_L2_NORMAL] = "    prefetch.global.L2::evict_normal [%x];\n",
    [FTH_VARIANT_PREFETCH_L2_LAST] = "    prefetch.global.L2::evict_last [%x];\n",
    [FTH_VARIANT_ST_WB] = STORE("global.wb"),
    [FTH_VARIANT_ST_CG] = STORE("global.cg"),
    [FTH_VARIANT_ST_CS] = STORE("global.cs"),
    [FTH_VARIANT_ST_WT] = STORE("global.wt"),
    [FTH_VARIANT_ST_VOLATILE] = STORE("volatile.global"),
    [FTH_VARIANT_ST_RELAXED] = STORE("relaxed.gpu.global"),
    [FTH_VARIANT_ST_L1_FIRST] = STORE("global.L1::evict_first"),
    [FTH_VARIANT_ST_L1_LAST] = STORE("global.L1::evict_last"),
    [FTH_VARIANT_ST_L1_NO_ALLOCATE] = STORE("global.L1::no_allocate"),
    [FTH_VARIANT_ST_L2_NORMAL] = STORE_POLICY("evict_normal"),
    [FTH_VARIANT_ST_L2_FIRST] = STORE_POLICY("evict_first"),
    [FTH_VARIANT_ST_L2_LAST] = STORE_POLICY("evict_last"),
    [FTH_VARIANT_CP_CA] = COPY("ca", "", "4"),
    [FTH_VARIANT_CP_CG] = COPY("cg", "", "16"),
    [FTH_VARIANT_CP_L2_64B] = COPY("ca", ".L2::64B", "4"),
    [FTH_VARIANT_CP_L2_128B] = COPY("ca", ".L2::128B", "4"),
    [FTH_VARIANT_CP_L2_256B] = COPY("ca", ".L2::256B", "4"),
};

/* Appends the code that branches to the access of %variant, and the accesses. */
static void add_accesses(struct fth_buffer *out)
{
    for (unsigned i = 1; i < FTH_VARIANTS; i++)
        fth_buffer_format(out, "    setp.eq.u32 %%q, %%variant, %u;\n    @%%q bra variant_%u;\n", i,
                          i);
    fth_buffer_text(out, "    bra variants_end;\n");
    for (unsigned i = 1; i < FTH_VARIANTS; i++)
        fth_buffer_format(out, "variant_%u:\n%s    bra variants_end;\n", i, accesses[i]);
    fth_buffer_text(out, "variants_end:\n");
}

enum fth_status fth_kernels_hint(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer code = {0};
    char settle[24];
    snprintf(settle, sizeof settle, "%d", SETTLE_CYCLES);
    add_accesses(&code);
    enum fth_status status = FTH_OK;
    if (code.failed) {
        status = fth_no_memory(error, "fill in kernel template", "hint");
    } else {
        const struct fth_kernel_value values[] = {
            {"version", version}, {"target", target}, {"access", code.data}, {"settle", settle}};
        status = fth_kernels_fill_named("hint", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&code);
    return status;
}
