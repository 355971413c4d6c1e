/* Filling in the templates of chases, clusters, instruction fetch and streams. */
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* PTX 5.0 (CUDA 8) is accepted by the first drivers for all of Maxwell and Pascal. The driver can
 * compile PTX for sm_50 for every later GPU. */
static const char version[] = "5.0", target[] = "sm_50";

_Static_assert(sizeof(struct fth_fetch_request) == 48, "fetch.ptx reads 48 bytes");
_Static_assert(sizeof(struct fth_branch_request) == 40, "branch.ptx reads 40 bytes");
_Static_assert(sizeof(struct fth_chase_step) == 64, "experiments.ptx reads steps of 64 bytes");
_Static_assert(sizeof(struct fth_chase_request) == (size_t)64 * (1 + FTH_CHASE_STEPS),
               "and no padding");

/* What differs between the paths: how a pass begins, the load, the check that waits for the load,
 * and the value that an address never has. `description` is a comment in the generated code. */
struct path {
    const char *name;
    const char *description;
    const char *begin, *load, *check, *impossible;
};

/* The number of consecutive loads per iteration of the loop of a timed pass, so that the loop
 * itself adds little. On an H200 it adds nothing: passes of 32 to 256 loads that hit the L1 take
 * exactly 46 cycles more than 32 cycles per load. */
enum { UNROLL_BITS = 5, UNROLL = 1 << UNROLL_BITS };

#define CHECK_POINTER "setp.eq.u64 %broken, %p, 0xffffffffffffffff;"
#define NO_POINTER "all ones"

static const struct path paths[FTH_PATH_COUNT] = {
    [FTH_PATH_CA] = {"ca", "global memory through L1", "mov.u64 %p, %first;",
                     "ld.global.ca.u64 %p, [%p];", CHECK_POINTER, NO_POINTER},
    [FTH_PATH_CG] = {"cg", "global memory past L1", "mov.u64 %p, %first;",
                     "ld.global.cg.u64 %p, [%p];", CHECK_POINTER, NO_POINTER},
    [FTH_PATH_READONLY] = {"readonly", "global memory through the read-only path",
                           "mov.u64 %p, %first;", "ld.global.nc.u64 %p, [%p];", CHECK_POINTER,
                           NO_POINTER},
    [FTH_PATH_TEXTURE] = {"texture", "a linear texture; addresses are texel indices",
                          "cvt.u32.u64 %x, %first;",
                          "tex.1d.v4.u32.s32 {%x, %y, %z, %w}, [%texture, {%x}];",
                          "setp.eq.u32 %broken, %x, 0xffffffff;", NO_POINTER},
    [FTH_PATH_CONSTANT] = {"constant", "the constant bank", "mov.u64 %p, %first;",
                           "ld.const.u64 %p, [%p];", CHECK_POINTER, NO_POINTER},
    [FTH_PATH_SHARED] = {"shared", "shared memory; the first address is an offset in the arena",
                         "mov.u64 %p, arena; add.u64 %p, %p, %first;", "ld.shared.u64 %p, [%p];",
                         CHECK_POINTER, NO_POINTER},
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
    return out->failed ? fth_no_memory(error, "fill in kernel template", name) : FTH_OK;
}

/* Returns the text of an embedded template. If there is none, returns a text that
 * fth_kernels_fill refuses. */
static const char *find_template(const char *name)
{
    for (size_t i = 0; i < fth_embedded_kernel_count; i++)
        if (strcmp(fth_embedded_kernels[i].name, name) == 0)
            return fth_embedded_kernels[i].data;
    return "{{no such template}}";
}

enum fth_status fth_kernels_fill_named(const char *name, const struct fth_kernel_value *values,
                                       size_t count, struct fth_buffer *out,
                                       struct fth_error *error)
{
    return fth_kernels_fill(name, find_template(name), values, count, out, error);
}

/* Appends the code of a path (walk.ptx), and to `dispatch` the branch to it. */
static enum fth_status add_walk(enum fth_path number, struct fth_buffer *walks,
                                struct fth_buffer *dispatch, struct fth_error *error)
{
    const struct path *path = &paths[number];
    struct fth_buffer loads = {0};
    char unroll[24], unroll_bits[24], unroll_rest[24];
    snprintf(unroll, sizeof unroll, "%d", UNROLL);
    snprintf(unroll_bits, sizeof unroll_bits, "%d", UNROLL_BITS);
    snprintf(unroll_rest, sizeof unroll_rest, "%d", UNROLL - 1);
    for (int i = 0; i < UNROLL; i++)
        fth_buffer_format(&loads, "    %s\n", path->load);
    const struct fth_kernel_value values[] = {
        {"path", path->name},         {"what", path->description}, {"begin", path->begin},
        {"load", path->load},         {"ask", path->check},        {"never", path->impossible},
        {"loads", loads.data},        {"unroll", unroll},          {"unroll_bits", unroll_bits},
        {"unroll_rest", unroll_rest},
    };
    enum fth_status status =
        loads.failed ? fth_no_memory(error, "fill in kernel template", "walk")
                     : fth_kernels_fill_named("walk", values, FTH_COUNT(values), walks, error);
    fth_buffer_fini(&loads);
    fth_buffer_format(dispatch,
                      "    setp.eq.u32 %%is_path, %%path, %u;\n    @%%is_path bra walk_%s;\n",
                      (unsigned)number, path->name);
    return status;
}

enum fth_status fth_kernels_experiments(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer walks = {0}, dispatch = {0};
    enum fth_status status = FTH_OK;
    for (unsigned i = 0; i < FTH_PATH_COUNT && status == FTH_OK; i++)
        status = add_walk((enum fth_path)i, &walks, &dispatch, error);
    char max_steps[24], request_bytes[24];
    snprintf(max_steps, sizeof max_steps, "%d", FTH_CHASE_STEPS);
    snprintf(request_bytes, sizeof request_bytes, "%zu", sizeof(struct fth_chase_request));
    if (status == FTH_OK && (walks.failed || dispatch.failed))
        status = fth_no_memory(error, "fill in kernel template", NULL);
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"version", version},        {"target", target},
            {"most_steps", max_steps},   {"request_bytes", request_bytes},
            {"dispatch", dispatch.data}, {"walks", walks.data},
        };
        status = fth_kernels_fill_named("experiments", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&walks);
    fth_buffer_fini(&dispatch);
    return status;
}

enum fth_status fth_kernels_share(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer walks = {0}, dispatch = {0};
    char patience[24];
    snprintf(patience, sizeof patience, "%d", FTH_STREAM_MAX_WAIT_CYCLES);
    enum fth_status status = add_walk(FTH_PATH_CA, &walks, &dispatch, error);
    if (status == FTH_OK)
        status = add_walk(FTH_PATH_CONSTANT, &walks, &dispatch, error);
    if (status == FTH_OK && (walks.failed || dispatch.failed))
        status = fth_no_memory(error, "fill in kernel template", "share");
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {{"version", version},
                                                  {"target", target},
                                                  {"patience", patience},
                                                  {"dispatch", dispatch.data},
                                                  {"walks", walks.data}};
        status = fth_kernels_fill_named("share", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&walks);
    fth_buffer_fini(&dispatch);
    return status;
}

enum fth_status fth_kernels_pair(struct fth_buffer *out, struct fth_error *error)
{
    char period[24], head_start[24], patience[24];
    snprintf(period, sizeof period, "%d", FTH_PAIR_PERIOD_CYCLES);
    snprintf(head_start, sizeof head_start, "%d", FTH_PAIR_HEAD_START_CYCLES);
    snprintf(patience, sizeof patience, "%d", FTH_STREAM_MAX_WAIT_CYCLES);
    const struct fth_kernel_value values[] = {{"version", version},
                                              {"target", target},
                                              {"period", period},
                                              {"head_start", head_start},
                                              {"patience", patience}};
    return fth_kernels_fill_named("pair", values, FTH_COUNT(values), out, error);
}

enum fth_status fth_kernels_contend(struct fth_buffer *out, struct fth_error *error)
{
    const struct fth_kernel_value values[] = {{"version", version}, {"target", target}};
    return fth_kernels_fill_named("contend", values, FTH_COUNT(values), out, error);
}

/* Converts the element %x to a line number. %half is half the number of bits of %mask. Each step
 * maps the numbers from 0 to the mask one to one to the same numbers. The multipliers are odd: 2^32
 * divided by the golden ratio (Knuth, vol. 3, section 6.4) and those of MurmurHash3's finaliser
 * (Appleby). */
static const char element_to_line[] = "    mad.lo.u32 %x, %x, 0x9E3779B1, %seed;\n"
                                      "    and.b32 %x, %x, %mask;\n"
                                      "    shr.u32 %y, %x, %half;\n"
                                      "    xor.b32 %x, %x, %y;\n"
                                      "    mul.lo.u32 %x, %x, 0x85EBCA6B;\n"
                                      "    and.b32 %x, %x, %mask;\n"
                                      "    shr.u32 %y, %x, %half;\n"
                                      "    xor.b32 %x, %x, %y;\n"
                                      "    mul.lo.u32 %x, %x, 0xC2B2AE35;\n"
                                      "    and.b32 %x, %x, %mask;\n"
                                      "    shr.u32 %y, %x, %half;\n"
                                      "    xor.b32 %x, %x, %y;";

uint32_t fth_evict_line(uint32_t lines, uint32_t seed, uint32_t element)
{
    const uint32_t mask = lines - 1;
    const unsigned half = ((unsigned)__builtin_popcount(mask) + 1) / 2;
    uint32_t x = (element * UINT32_C(0x9E3779B1) + seed) & mask;
    x ^= x >> half;
    x = (x * UINT32_C(0x85EBCA6B)) & mask;
    x ^= x >> half;
    x = (x * UINT32_C(0xC2B2AE35)) & mask;
    return x ^ x >> half;
}

enum fth_status fth_kernels_evict(struct fth_buffer *out, struct fth_error *error)
{
    /* Groups of a first sweep: somewhat more than the ways of known L2s, as Vila et al. recommend
     * (ways + 1). Pieces are divided into at most 1 << FACTOR_BITS smaller ones. */
    enum { GROUPS = 24, FACTOR_BITS = 4 };
    char numbers[7][24];
    const uint32_t figures[7] = {4 * FTH_EVICT_LIST, 4 * FTH_EVICT_REMOVALS, FTH_EVICT_LIST,
                                 FTH_EVICT_REMOVALS, FTH_EVICT_MEMBERS,      GROUPS,
                                 FACTOR_BITS};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        snprintf(numbers[i], sizeof numbers[i], "%u", (unsigned)figures[i]);
    const struct fth_kernel_value values[] = {
        {"version", version},          {"target", target},
        {"to_line", element_to_line},  {"list_bytes", numbers[0]},
        {"removed_bytes", numbers[1]}, {"list_size", numbers[2]},
        {"removals", numbers[3]},      {"members", numbers[4]},
        {"groups", numbers[5]},        {"factor_bits", numbers[6]},
    };
    return fth_kernels_fill_named("evict", values, FTH_COUNT(values), out, error);
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
        loads.failed ? fth_no_memory(error, "fill in kernel template", "cluster")
                     : fth_kernels_fill_named("cluster", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&loads);
    return status;
}

enum fth_status fth_kernels_place(struct fth_buffer *out, struct fth_error *error)
{
    const struct fth_kernel_value values[] = {{"version", version}, {"target", target}};
    return fth_kernels_fill_named("place", values, FTH_COUNT(values), out, error);
}

/* ---- instruction fetch ---- */

enum {
    /* The number of accumulators that the arithmetic uses in rotation, so that no instruction waits
     * for a result: the latency is 4 cycles since Volta and 6 on Maxwell and Pascal. */
    FETCH_CHAINS = 8,
    /* The number of instructions of fetch.ptx before the straight-line code. */
    FETCH_OVERHEAD = 39
};
_Static_assert(FETCH_OVERHEAD + 2 < FTH_FETCH_BLOCK, "they are part of the first block");

/* Appends one block. Its first instruction tests whether it is the last block of the request, its
 * last one branches, so that the branch does not wait for the test. Formatting each of the 16,384
 * instructions would take 3 ms. */
static void append_block(struct fth_buffer *out, unsigned number, unsigned instructions)
{
    static const char *const arithmetic[FETCH_CHAINS] = {
        "    fma.rn.f32 %a0, %a0, %x, %y;\n", "    fma.rn.f32 %a1, %a1, %x, %y;\n",
        "    fma.rn.f32 %a2, %a2, %x, %y;\n", "    fma.rn.f32 %a3, %a3, %x, %y;\n",
        "    fma.rn.f32 %a4, %a4, %x, %y;\n", "    fma.rn.f32 %a5, %a5, %x, %y;\n",
        "    fma.rn.f32 %a6, %a6, %x, %y;\n", "    fma.rn.f32 %a7, %a7, %x, %y;\n"};
    fth_buffer_format(out, "    setp.eq.u32 %%last, %%blocks, %u;\n", number + 1);
    for (unsigned i = 0; i < instructions - 2; i++)
        fth_buffer_text(out, arithmetic[i % FETCH_CHAINS]);
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
        append_block(&blocks, i, FTH_FETCH_BLOCK - (i == 0 ? FETCH_OVERHEAD : 0));
    for (unsigned i = 0; i < FETCH_CHAINS; i++)
        fth_buffer_format(&begin, "    mov.f32 %%a%u, %%y;\n", i);
    for (unsigned i = 1; i < FETCH_CHAINS; i++)
        fth_buffer_format(&end, "    add.f32 %%a0, %%a0, %%a%u;\n", i);
    enum fth_status status = FTH_OK;
    if (blocks.failed || begin.failed || end.failed)
        status = fth_no_memory(error, "fill in kernel template", "fetch");
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"version", version},     {"target", target},      {"block", block},
            {"chains", chains},       {"blocks", blocks.data}, {"begin_chains", begin.data},
            {"end_chains", end.data},
        };
        status = fth_kernels_fill_named("fetch", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&blocks);
    fth_buffer_fini(&begin);
    fth_buffer_fini(&end);
    return status;
}

/* ---- strided branches ---- */

/* Instructions of arithmetic at each place that a request executes. Chosen: few lines of code, but
 * enough instructions that their issue takes longer than the branches wait for their conditions. */
enum { BRANCH_WORK = 16 };

static void append_arithmetic(struct fth_buffer *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(out, "    fma.rn.f32 %%a%u, %%a%u, %%x, %%y;\n", i % FETCH_CHAINS,
                          i % FETCH_CHAINS);
}

/* Appends one block: the test for the end, arithmetic, one branch per distance, and arithmetic that
 * no request executes. */
static void append_branches(struct fth_buffer *out, unsigned number)
{
    fth_buffer_format(
        out, "b%u:\n    sub.u32 %%left, %%left, 1;\n    setp.eq.u32 %%last, %%left, 0;\n", number);
    append_arithmetic(out, BRANCH_WORK);
    fth_buffer_text(out, "    @%last bra.uni passed;\n");
    for (unsigned i = 0; i < FTH_BRANCH_DISTANCES; i++) {
        const unsigned next = number + (1U << i);
        fth_buffer_format(out, "    @%%far%u bra.uni ", i);
        if (next < FTH_BRANCH_BLOCKS)
            fth_buffer_format(out, "b%u;\n", next);
        else
            fth_buffer_text(out, "passed;\n");
    }
    append_arithmetic(out, FTH_FETCH_BLOCK - BRANCH_WORK - FTH_BRANCH_DISTANCES - 3);
}

enum fth_status fth_kernels_branch(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer blocks = {0}, distances = {0}, begin = {0}, end = {0};
    char block[24], chains[24], count[24];
    snprintf(block, sizeof block, "%d", FTH_FETCH_BLOCK);
    snprintf(chains, sizeof chains, "%d", FETCH_CHAINS);
    snprintf(count, sizeof count, "%d", FTH_BRANCH_DISTANCES);
    for (unsigned i = 0; i < FTH_BRANCH_BLOCKS; i++)
        append_branches(&blocks, i);
    for (unsigned i = 0; i < FTH_BRANCH_DISTANCES; i++)
        fth_buffer_format(&distances, "    setp.eq.u32 %%far%u, %%distance, %u;\n", i, i);
    for (unsigned i = 0; i < FETCH_CHAINS; i++)
        fth_buffer_format(&begin, "    mov.f32 %%a%u, %%y;\n", i);
    for (unsigned i = 1; i < FETCH_CHAINS; i++)
        fth_buffer_format(&end, "    add.f32 %%a0, %%a0, %%a%u;\n", i);
    enum fth_status status = FTH_OK;
    if (blocks.failed || distances.failed || begin.failed || end.failed)
        status = fth_no_memory(error, "fill in kernel template", "branch");
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"version", version},
            {"target", target},
            {"block", block},
            {"chains", chains},
            {"distances", count},
            {"blocks", blocks.data},
            {"begin_chains", begin.data},
            {"begin_distances", distances.data},
            {"end_chains", end.data},
        };
        status = fth_kernels_fill_named("branch", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&blocks);
    fth_buffer_fini(&distances);
    fth_buffer_fini(&begin);
    fth_buffer_fini(&end);
    return status;
}

/* ---- streams ---- */

static const char *const stream_kinds[FTH_STREAM_KINDS] = {
    [FTH_STREAM_READ] = "read", [FTH_STREAM_WRITE] = "write", [FTH_STREAM_COPY] = "copy"};

const char *fth_stream_kind_name(enum fth_stream_kind kind)
{
    return stream_kinds[kind];
}

bool fth_kernels_has_stream(enum fth_stream_kind kind, enum fth_path path, uint32_t vector_bytes)
{
    if (vector_bytes != 4 && vector_bytes != 8 && vector_bytes != 16)
        return false;
    if (kind != FTH_STREAM_READ)
        return path == FTH_PATH_CG || path == FTH_PATH_SHARED;
    return path != FTH_PATH_TEXTURE || vector_bytes == 4;
}

void fth_kernels_stream_name(const struct fth_stream_code *code, char name[32])
{
    snprintf(name, 32, "%s_%s_%u", stream_kinds[code->kind],
             code->cluster ? "cluster" : paths[code->path].name, (unsigned)code->vector_bytes);
}

/* Appends the registers of a vector from number `first` on: "%v4" or "{%v4, %v5}". With a step of 0
 * all words are the same register. */
static void add_vector(struct fth_buffer *out, uint32_t words, uint32_t first, uint32_t step)
{
    if (words > 1)
        fth_buffer_text(out, "{");
    for (uint32_t i = 0; i < words; i++)
        fth_buffer_format(out, "%s%%v%u", i ? ", " : "", first + i * step);
    if (words > 1)
        fth_buffer_text(out, "}");
}

/* 64-bit registers if possible, because fewer instructions then combine the loaded values. */
static const char *word_type(uint32_t vector_bytes)
{
    return vector_bytes == 4 ? "u32" : "u64";
}

static const char *vector_type(uint32_t vector_bytes)
{
    return vector_bytes == 16 ? "v2.u64" : word_type(vector_bytes);
}

static void add_load(struct fth_buffer *out, const struct fth_stream_code *code, uint32_t vector)
{
    const enum fth_path path = code->path;
    const uint32_t bytes = code->vector_bytes;
    static const char *const loads[FTH_PATH_COUNT] = {[FTH_PATH_CA] = "ld.global.ca",
                                                      [FTH_PATH_CG] = "ld.global.cg",
                                                      [FTH_PATH_READONLY] = "ld.global.nc",
                                                      [FTH_PATH_CONSTANT] = "ld.const",
                                                      [FTH_PATH_SHARED] = "ld.shared"};
    if (path == FTH_PATH_TEXTURE) {
        /* The texture has only the first of the four channels. */
        fth_buffer_format(out,
                          "    add.u32 %%w0, %%x, %u;\n"
                          "    tex.1d.v4.u32.s32 {%%v%u, %%w1, %%w2, %%w3}, [%%texture, {%%w0}];\n",
                          32 * vector, vector);
        return;
    }
    const uint32_t words = bytes == 16 ? 2 : 1;
    fth_buffer_format(out, "    %s.%s ", code->cluster ? "ld" : loads[path], vector_type(bytes));
    add_vector(out, words, vector * words, 1);
    fth_buffer_format(out, ", [%%from + %u];\n",
                      vector * bytes * (path == FTH_PATH_CONSTANT ? 1 : 32));
}

/* Appends the instructions of a warp for one group of vectors. */
static void add_group(struct fth_buffer *out, const struct fth_stream_code *code)
{
    const enum fth_stream_kind kind = code->kind;
    const enum fth_path path = code->path;
    const uint32_t bytes = code->vector_bytes, words = bytes == 16 ? 2 : 1;
    if (path == FTH_PATH_TEXTURE)
        fth_buffer_text(out, "    shr.u64 %wide, %from, 2;\n    cvt.u32.u64 %x, %wide;\n");
    for (uint32_t i = 0; i < FTH_STREAM_UNROLL && kind != FTH_STREAM_WRITE; i++)
        add_load(out, code, i);
    for (uint32_t i = 0; i < FTH_STREAM_UNROLL * words && kind == FTH_STREAM_READ; i++)
        fth_buffer_format(out, "    xor.b%s %%sum, %%sum, %%v%u;\n", word_type(bytes) + 1, i);
    /* Each pass writes a different number. */
    if (kind == FTH_STREAM_WRITE)
        fth_buffer_format(out, "    cvt.%s.u64 %%v0, %%left;\n", word_type(bytes));
    for (uint32_t i = 0; i < FTH_STREAM_UNROLL && kind != FTH_STREAM_READ; i++) {
        fth_buffer_format(out, "    %s.%s [%%to + %u], ",
                          code->cluster             ? "st"
                          : path == FTH_PATH_SHARED ? "st.shared"
                                                    : "st.global",
                          vector_type(bytes), i * bytes * 32);
        add_vector(out, words, kind == FTH_STREAM_COPY ? i * words : 0, kind == FTH_STREAM_COPY);
        fth_buffer_text(out, ";\n");
    }
}

/* Returns the instructions that compute the addresses of the arrays: from the parameters of the
 * launch, or of a variable. The array in another block of a cluster has a generic address, as in
 * cluster.ptx. */
static const char *array_addresses(const struct fth_stream_code *code)
{
    if (code->cluster)
        return "mov.u64 %source, arena; cvta.shared.u64 %source, %source;\n"
               "    mov.u32 %w0, %cluster_ctarank; xor.b32 %w0, %w0, 1;\n"
               "    mapa.u64 %source, %source, %w0; mov.u64 %target, %source;";
    switch (code->path) {
    case FTH_PATH_CONSTANT: return "mov.u64 %source, bank; mov.u64 %target, 0;";
    case FTH_PATH_SHARED:
        return "mov.u64 %source, arena; ld.param.u64 %target, [target];\n"
               "    add.u64 %target, %target, %source;";
    default: return "ld.param.u64 %source, [source]; ld.param.u64 %target, [target];";
    }
}

static const char *array_variables(enum fth_path path)
{
    switch (path) {
    case FTH_PATH_CONSTANT: return ".const .align 256 .b8 bank[65536];";
    case FTH_PATH_SHARED: return ".extern .shared .align 16 .b8 arena[];";
    default: return "";
    }
}

/* The shared memory of a block exists only while the block runs, so all blocks of a cluster wait at
 * the start and at the end. */
static const char cluster_barrier[] = "barrier.cluster.arrive; barrier.cluster.wait;";
static const char cluster_version[] = "7.8", cluster_target[] = "sm_90";

enum fth_status fth_kernels_stream(const struct fth_stream_code *code, struct fth_buffer *out,
                                   struct fth_error *error)
{
    const enum fth_stream_kind kind = code->kind;
    const enum fth_path path = code->path;
    const uint32_t vector_bytes = code->vector_bytes;
    char name[32], unroll[24], group_bytes[24], lane_bytes[24], max_wait[24], registers[24];
    const uint32_t lanes = path == FTH_PATH_CONSTANT ? 1 : 32;
    struct fth_buffer group = {0};
    fth_kernels_stream_name(code, name);
    snprintf(unroll, sizeof unroll, "%d", FTH_STREAM_UNROLL);
    snprintf(group_bytes, sizeof group_bytes, "%u",
             (unsigned)(FTH_STREAM_UNROLL * lanes * vector_bytes));
    snprintf(lane_bytes, sizeof lane_bytes, "%u", lanes == 1 ? 0 : (unsigned)vector_bytes);
    snprintf(max_wait, sizeof max_wait, "%d", FTH_STREAM_MAX_WAIT_CYCLES);
    snprintf(registers, sizeof registers, "%d", FTH_STREAM_UNROLL * (vector_bytes == 16 ? 2 : 1));
    add_group(&group, code);
    const char *fence = kind == FTH_STREAM_READ                     ? ""
                        : path == FTH_PATH_SHARED && !code->cluster ? "membar.cta;"
                                                                    : "membar.gl;";
    const struct fth_kernel_value values[] = {
        {"version", code->cluster ? cluster_version : version},
        {"target", code->cluster ? cluster_target : target},
        {"name", name},
        {"barrier", code->cluster ? cluster_barrier : ""},
        {"unroll", unroll},
        {"group_bytes", group_bytes},
        {"lane_bytes", lane_bytes},
        {"patience", max_wait},
        {"registers", registers},
        {"word", word_type(vector_bytes)},
        {"group", group.data},
        {"settle", fence},
        {"places", array_addresses(code)},
        {"variables", array_variables(path)},
    };
    enum fth_status status =
        group.failed ? fth_no_memory(error, "fill in kernel template", name)
                     : fth_kernels_fill_named("stream", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&group);
    return status;
}
