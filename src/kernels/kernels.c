/* Filling in the templates. */
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* PTX 5.0 (CUDA 8) is what the first drivers for all of Maxwell and Pascal take, and sm_50 what
 * every later GPU is compiled for from the same text. */
static const char version[] = "5.0", target[] = "sm_50";

_Static_assert(sizeof(struct fth_fetch_request) == 48, "fetch.ptx reads 48 bytes");
_Static_assert(sizeof(struct fth_chase_step) == 64, "experiments.ptx reads steps of 64 bytes");
_Static_assert(sizeof(struct fth_chase_request) == 64 * (1 + FTH_CHASE_STEPS), "and no padding");

/* How the paths differ: the load, where a pass begins, and what a place never is. */
struct path {
    const char *name;
    const char *what;
    const char *begin, *load, *ask, *never;
};

/* Loads in a row in a timed pass: what a turn of the loop costs beyond its loads (6 cycles on an
 * H200) is spread over so many. */
enum { UNROLL_BITS = 5, UNROLL = 1 << UNROLL_BITS };

#define POINTER_ASK "setp.eq.u64 %broken, %p, 0xffffffffffffffff;"
#define POINTER_NEVER "all ones"

static const struct path paths[FTH_PATH_COUNT] = {
    [FTH_PATH_CA] = {"ca", "global memory through L1", "mov.u64 %p, %first;",
                     "ld.global.ca.u64 %p, [%p];", POINTER_ASK, POINTER_NEVER},
    [FTH_PATH_CG] = {"cg", "global memory past L1", "mov.u64 %p, %first;",
                     "ld.global.cg.u64 %p, [%p];", POINTER_ASK, POINTER_NEVER},
    [FTH_PATH_READONLY] = {"readonly", "global memory through the read-only path",
                           "mov.u64 %p, %first;", "ld.global.nc.u64 %p, [%p];", POINTER_ASK,
                           POINTER_NEVER},
    [FTH_PATH_TEXTURE] = {"texture", "a linear texture; places are the indices of texels",
                          "cvt.u32.u64 %x, %first;",
                          "tex.1d.v4.u32.s32 {%x, %y, %z, %w}, [%texture, {%x}];",
                          "setp.eq.u32 %broken, %x, 0xffffffff;", POINTER_NEVER},
    [FTH_PATH_CONSTANT] = {"constant", "the constant bank", "mov.u64 %p, %first;",
                           "ld.const.u64 %p, [%p];", POINTER_ASK, POINTER_NEVER},
    [FTH_PATH_SHARED] = {"shared", "shared memory; the first place counts from the arena's start",
                         "mov.u64 %p, arena; add.u64 %p, %p, %first;", "ld.shared.u64 %p, [%p];",
                         POINTER_ASK, POINTER_NEVER},
};

const char *fth_path_name(enum fth_path path)
{
    return paths[path].name;
}

static const struct fth_kernel_value *find(const struct fth_kernel_value *values, size_t count,
                                           const char *name, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(values[i].name) == size && strncmp(values[i].name, name, size) == 0)
            return &values[i];
    return NULL;
}

enum fth_status fth_kernels_fill(const char *name, const char *text,
                                 const struct fth_kernel_value *values, size_t count,
                                 struct fth_buffer *out, struct fth_error *error)
{
    const char *at = text, *open;
    while ((open = strstr(at, "{{"))) {
        const char *close = strstr(open, "}}");
        const struct fth_kernel_value *value =
            close ? find(values, count, open + 2, (size_t)(close - open) - 2) : NULL;
        if (!value)
            return fth_fail(error, FTH_INVALID, "fill in kernel template", name,
                            "no value for the placeholder at byte %zu", (size_t)(open - text));
        fth_buffer_append(out, at, (size_t)(open - at));
        fth_buffer_text(out, value->value);
        at = close + 2;
    }
    fth_buffer_text(out, at);
    return out->failed
               ? fth_fail(error, FTH_NO_MEMORY, "fill in kernel template", name, "out of memory")
               : FTH_OK;
}

static const char *template(const char *name)
{
    for (size_t i = 0; i < fth_embedded_kernel_count; i++)
        if (strcmp(fth_embedded_kernels[i].name, name) == 0)
            return fth_embedded_kernels[i].data;
    return "{{no such template}}";
}

enum fth_status fth_kernels_experiments(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer walks = {0}, dispatch = {0};
    char unroll[24], unroll_bits[24], unroll_rest[24];
    snprintf(unroll, sizeof unroll, "%d", UNROLL);
    snprintf(unroll_bits, sizeof unroll_bits, "%d", UNROLL_BITS);
    snprintf(unroll_rest, sizeof unroll_rest, "%d", UNROLL - 1);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_PATH_COUNT && status == FTH_OK; i++) {
        const struct path *path = &paths[i];
        struct fth_buffer loads = {0};
        for (int j = 0; j < UNROLL; j++)
            fth_buffer_format(&loads, "    %s\n", path->load);
        const struct fth_kernel_value values[] = {
            {"path", path->name},         {"what", path->what}, {"begin", path->begin},
            {"load", path->load},         {"ask", path->ask},   {"never", path->never},
            {"loads", loads.data},        {"unroll", unroll},   {"unroll_bits", unroll_bits},
            {"unroll_rest", unroll_rest},
        };
        status = loads.failed ? fth_fail(error, FTH_NO_MEMORY, "fill in kernel template", "walk",
                                         "out of memory")
                              : fth_kernels_fill("walk", template("walk"), values,
                                                 FTH_COUNT(values), &walks, error);
        fth_buffer_fini(&loads);
        fth_buffer_format(&dispatch,
                          "    setp.eq.u32 %%is_path, %%path, %zu;\n    @%%is_path bra walk_%s;\n",
                          i, path->name);
    }
    char most_steps[24], request_bytes[24];
    snprintf(most_steps, sizeof most_steps, "%d", FTH_CHASE_STEPS);
    snprintf(request_bytes, sizeof request_bytes, "%zu", sizeof(struct fth_chase_request));
    if (status == FTH_OK && (walks.failed || dispatch.failed))
        status = fth_fail(error, FTH_NO_MEMORY, "fill in kernel template", NULL, "out of memory");
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"version", version},        {"target", target},
            {"most_steps", most_steps},  {"request_bytes", request_bytes},
            {"dispatch", dispatch.data}, {"walks", walks.data},
        };
        status = fth_kernels_fill("experiments", template("experiments"), values, FTH_COUNT(values),
                                  out, error);
    }
    fth_buffer_fini(&walks);
    fth_buffer_fini(&dispatch);
    return status;
}

enum fth_status fth_kernels_cluster(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer loads = {0};
    char unroll[24], unroll_bits[24], unroll_rest[24];
    snprintf(unroll, sizeof unroll, "%d", UNROLL);
    snprintf(unroll_bits, sizeof unroll_bits, "%d", UNROLL_BITS);
    snprintf(unroll_rest, sizeof unroll_rest, "%d", UNROLL - 1);
    for (int i = 0; i < UNROLL; i++)
        fth_buffer_text(&loads, "    ld.u64 %p, [%p];\n");
    const struct fth_kernel_value values[] = {{"loads", loads.data},
                                              {"unroll", unroll},
                                              {"unroll_bits", unroll_bits},
                                              {"unroll_rest", unroll_rest}};
    enum fth_status status =
        loads.failed
            ? fth_fail(error, FTH_NO_MEMORY, "fill in kernel template", "cluster", "out of memory")
            : fth_kernels_fill("cluster", template("cluster"), values, FTH_COUNT(values), out,
                               error);
    fth_buffer_fini(&loads);
    return status;
}

/* ---- instruction fetch ---- */

enum {
    /* Sums that the arithmetic goes round, so that none is needed before it is there: an addition
     * takes 4 cycles since Volta and 6 on Maxwell and Pascal. */
    FETCH_CHAINS = 8,
    /* Instructions of fetch.ptx that stand before the straight-line code. */
    FETCH_OWN = 35
};
_Static_assert(FETCH_OWN + 2 < FTH_FETCH_BLOCK, "they are part of the first block");

/* A block is left at its end; whether it is, is asked at its start, so that the branch does not
 * wait for the answer. */
static void append_block(struct fth_buffer *out, unsigned number, unsigned instructions)
{
    fth_buffer_format(out, "    setp.eq.u32 %%last, %%blocks, %u;\n", number + 1);
    for (unsigned i = 0; i < instructions - 2; i++)
        fth_buffer_format(out, "    fma.rn.f32 %%a%u, %%a%u, %%x, %%y;\n", i % FETCH_CHAINS,
                          i % FETCH_CHAINS);
    fth_buffer_text(out, "    @%last bra.uni passed;\n");
}

enum fth_status fth_kernels_fetch(uint64_t instructions, struct fth_buffer *out,
                                  struct fth_error *error)
{
    struct fth_buffer blocks = {0}, begin = {0}, end = {0};
    char block[24], chains[24];
    snprintf(block, sizeof block, "%d", FTH_FETCH_BLOCK);
    snprintf(chains, sizeof chains, "%d", FETCH_CHAINS);
    for (unsigned i = 0; i < instructions / FTH_FETCH_BLOCK; i++)
        append_block(&blocks, i, FTH_FETCH_BLOCK - (i == 0 ? FETCH_OWN : 0));
    for (unsigned i = 0; i < FETCH_CHAINS; i++)
        fth_buffer_format(&begin, "    mov.f32 %%a%u, %%y;\n", i);
    for (unsigned i = 1; i < FETCH_CHAINS; i++)
        fth_buffer_format(&end, "    add.f32 %%a0, %%a0, %%a%u;\n", i);
    enum fth_status status = FTH_OK;
    if (blocks.failed || begin.failed || end.failed)
        status =
            fth_fail(error, FTH_NO_MEMORY, "fill in kernel template", "fetch", "out of memory");
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"version", version},     {"target", target},      {"block", block},
            {"chains", chains},       {"blocks", blocks.data}, {"begin_chains", begin.data},
            {"end_chains", end.data},
        };
        status =
            fth_kernels_fill("fetch", template("fetch"), values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&blocks);
    fth_buffer_fini(&begin);
    fth_buffer_fini(&end);
    return status;
}
