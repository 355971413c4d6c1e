/* Filling in the templates of STREAM's kernels: sweep.ptx, and pattern.ptx, which writes and checks
 * their arrays. */
#include "kernels/kernels.h"

#include <stdio.h>

/* The same versions as in kernels.c. L2 cache hints came with CUDA 11.4 (PTX 7.4) and Ampere. */
static const char version[] = "5.0", target[] = "sm_50";
static const char hint_version[] = "7.4", hint_target[] = "sm_80";

static const struct {
    const char *name;
    bool reads, reads_other, writes;
    unsigned first, second, third; /* coefficients of the result: first x + second y + third */
} kinds[FTH_SWEEP_KINDS] = {
    [FTH_SWEEP_READ] = {"read", true, false, false, 1, 0, 0},
    [FTH_SWEEP_WRITE] = {"write", false, false, true, 0, 0, FTH_SWEEP_SCALAR},
    [FTH_SWEEP_COPY] = {"copy", true, false, true, 1, 0, 0},
    [FTH_SWEEP_MUL] = {"mul", true, false, true, FTH_SWEEP_SCALAR, 0, 0},
    [FTH_SWEEP_ADD] = {"add", true, true, true, 1, 1, 0},
    [FTH_SWEEP_TRIAD] = {"triad", true, true, true, 1, FTH_SWEEP_SCALAR, 0},
};

const char *fth_sweep_kind_name(enum fth_sweep_kind kind)
{
    return kinds[kind].name;
}

unsigned fth_sweep_arrays(enum fth_sweep_kind kind)
{
    return (unsigned)kinds[kind].reads + kinds[kind].reads_other + kinds[kind].writes;
}

void fth_sweep_coefficients(enum fth_sweep_kind kind, uint64_t coefficients[3])
{
    coefficients[0] = kinds[kind].first;
    coefficients[1] = kinds[kind].second;
    coefficients[2] = kinds[kind].third;
}

bool fth_kernels_has_sweep(const struct fth_sweep_code *code)
{
    const bool needs_4_byte_words = code->kind == FTH_SWEEP_READ || code->kind == FTH_SWEEP_WRITE;
    const uint32_t min_vector = code->wide ? 8 : 4,
                   max_unroll = kinds[code->kind].reads_other ? 4 : 8;
    const bool powers_of_two =
        !(code->vector_bytes & (code->vector_bytes - 1)) && !(code->unroll & (code->unroll - 1));
    return powers_of_two && code->vector_bytes >= min_vector && code->vector_bytes <= 16 &&
           code->unroll >= 1 && code->unroll <= max_unroll && code->lanes >= 1 &&
           code->lanes <= 32 && !(code->lanes & (code->lanes - 1)) &&
           !(code->wide && needs_4_byte_words);
}

/* Appends the registers of a vector: "%a4" or "{%a4, %a5}". With `registers` "s", every word is the
 * scalar %s. */
static void add_vector(struct fth_buffer *out, const char *registers, uint32_t words,
                       uint32_t first)
{
    fth_buffer_text(out, words > 1 ? "{" : "");
    for (uint32_t i = 0; i < words; i++)
        if (*registers == 's')
            fth_buffer_format(out, "%s%%s", i ? ", " : "");
        else
            fth_buffer_format(out, "%s%%%s%u", i ? ", " : "", registers, first + i);
    fth_buffer_text(out, words > 1 ? "}" : "");
}

static const char *type_of(const struct fth_sweep_code *code)
{
    return code->kind == FTH_SWEEP_READ ? "u32" : code->wide ? "f64" : "f32";
}

static void add_loads(struct fth_buffer *out, const struct fth_sweep_code *code,
                      const char *registers, const char *place)
{
    const uint32_t words = code->vector_bytes / (code->wide ? 8 : 4);
    for (uint32_t i = 0; i < code->unroll; i++) {
        fth_buffer_format(out, "    ld.global.cg%s%s.%s ", code->hinted ? ".L2::cache_hint" : "",
                          words == 4   ? ".v4"
                          : words == 2 ? ".v2"
                                       : "",
                          type_of(code));
        add_vector(out, registers, words, i * words);
        fth_buffer_format(out, ", [%s + %u]%s;\n", place, i * code->lanes * code->vector_bytes,
                          code->hinted ? ", %keep" : "");
    }
}

static void add_stores(struct fth_buffer *out, const struct fth_sweep_code *code)
{
    const uint32_t words = code->vector_bytes / (code->wide ? 8 : 4);
    for (uint32_t i = 0; i < code->unroll; i++) {
        fth_buffer_format(out, "    st.global%s%s.%s [%%to + %u], ",
                          code->hinted ? ".L2::cache_hint" : "",
                          words == 4   ? ".v4"
                          : words == 2 ? ".v2"
                                       : "",
                          type_of(code), i * code->lanes * code->vector_bytes);
        add_vector(out, code->kind == FTH_SWEEP_WRITE ? "s" : "a", words, i * words);
        fth_buffer_text(out, code->hinted ? ", %drop;\n" : ";\n");
    }
}

/* Appends the arithmetic on one word. */
static void add_word(struct fth_buffer *out, const struct fth_sweep_code *code, uint32_t i)
{
    const char *type = type_of(code);
    switch (code->kind) {
    case FTH_SWEEP_READ: fth_buffer_format(out, "    add.u32 %%sum, %%sum, %%a%u;\n", i); break;
    case FTH_SWEEP_MUL:
        fth_buffer_format(out, "    mul.rn.%s %%a%u, %%a%u, %%s;\n", type, i, i);
        break;
    case FTH_SWEEP_ADD:
        fth_buffer_format(out, "    add.rn.%s %%a%u, %%a%u, %%b%u;\n", type, i, i, i);
        break;
    case FTH_SWEEP_TRIAD:
        fth_buffer_format(out, "    fma.rn.%s %%a%u, %%b%u, %%s, %%a%u;\n", type, i, i, i);
        break;
    default: break;
    }
}

static void add_group(struct fth_buffer *out, const struct fth_sweep_code *code)
{
    const uint32_t words = code->vector_bytes / (code->wide ? 8 : 4);
    if (kinds[code->kind].reads)
        add_loads(out, code, "a", "%from");
    if (kinds[code->kind].reads_other)
        add_loads(out, code, "b", "%other");
    for (uint32_t i = 0; i < code->unroll * words; i++)
        add_word(out, code, i);
    if (kinds[code->kind].writes)
        add_stores(out, code);
}

/* Each lane of 256 blocks adds to a sum of its own, so that few atomics have the same address. */
static const char end_of_read[] = "    ld.param.u64 %sums, [sums];\n"
                                  "    and.b32 %row, %block, 255;\n"
                                  "    shl.b32 %row, %row, 5;\n"
                                  "    and.b32 %lane, %thread, 31;\n"
                                  "    add.u32 %row, %row, %lane;\n"
                                  "    mul.wide.u32 %wide, %row, 4;\n"
                                  "    add.u64 %sums, %sums, %wide;\n"
                                  "    red.global.add.u32 [%sums], %sum;\n";
static const char policies[] = "createpolicy.fractional.L2::evict_last.b64 %keep, 1.0;\n"
                               "    createpolicy.fractional.L2::evict_first.b64 %drop, 1.0;";

enum fth_status fth_kernels_sweep(const struct fth_sweep_code *code, struct fth_buffer *out,
                                  struct fth_error *error)
{
    char unroll[24], vector_bytes[24], lanes[24], last_lane[24], lane_bits[24], group_bytes[24],
        registers[24], scalar[24];
    const uint32_t words = code->vector_bytes / (code->wide ? 8 : 4);
    struct fth_buffer group = {0};
    snprintf(unroll, sizeof unroll, "%u", code->unroll);
    snprintf(vector_bytes, sizeof vector_bytes, "%u", code->vector_bytes);
    snprintf(lanes, sizeof lanes, "%u", code->lanes);
    snprintf(last_lane, sizeof last_lane, "%u", code->lanes - 1);
    snprintf(lane_bits, sizeof lane_bits, "%d", __builtin_ctz(code->lanes));
    snprintf(group_bytes, sizeof group_bytes, "%u",
             code->lanes * code->unroll * code->vector_bytes);
    snprintf(registers, sizeof registers, "%u", code->unroll * words);
    snprintf(scalar, sizeof scalar, code->kind == FTH_SWEEP_READ ? "%d" : "%d.0", FTH_SWEEP_SCALAR);
    add_group(&group, code);
    const struct fth_kernel_value values[] = {
        {"name", kinds[code->kind].name},
        {"type", type_of(code)},
        {"version", code->hinted ? hint_version : version},
        {"target", code->hinted ? hint_target : target},
        {"unroll", unroll},
        {"vector_bytes", vector_bytes},
        {"lanes", lanes},
        {"last_lane", last_lane},
        {"lane_bits", lane_bits},
        {"group_bytes", group_bytes},
        {"registers", registers},
        {"scalar", scalar},
        {"policies", code->hinted ? policies : ""},
        {"group", group.data},
        {"end", code->kind == FTH_SWEEP_READ ? end_of_read : ""},
    };
    enum fth_status status =
        group.failed ? fth_no_memory(error, "fill in kernel template", "sweep")
                     : fth_kernels_fill_named("sweep", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&group);
    return status;
}

/* ---- the pattern ---- */

/* The head of the loop over the elements. At its end, %bits is the expected value of the element at
 * %place. */
static const char begin[] =
    "    .reg .u64 %place, %i, %count, %step, %wide, %hash, %first, %second, %third, %x, %y;\n"
    "    .reg .u32 %thread, %block, %threads, %blocks, %count32, %word;\n"
    "    .reg .b{{bits}} %bits, %found;\n"
    "    .reg .f{{bits}} %value;\n"
    "    .reg .pred %more, %wrong;\n"
    "    ld.param.u64 %count, [count];\n"
    "    ld.param.u64 %first, [first];\n"
    "    ld.param.u64 %second, [second];\n"
    "    ld.param.u64 %third, [third];\n"
    "    mov.u32 %thread, %tid.x;\n"
    "    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %threads, %ntid.x;\n"
    "    mov.u32 %blocks, %nctaid.x;\n"
    "    mul.wide.u32 %i, %block, %threads;\n"
    "    cvt.u64.u32 %wide, %thread;\n"
    "    add.u64 %i, %i, %wide;\n"
    "    mul.wide.u32 %step, %blocks, %threads;\n"
    "    mov.u32 %count32, 0;\n"
    "    mov.u32 %word, 0;\n"
    "    setp.ge.u64 %more, %i, %count;\n"
    "    @%more bra done;\n"
    "each:\n"
    "    mul.lo.u64 %hash, %i, 0x9e3779b97f4a7c15;\n"
    "    shr.u64 %x, %hash, 52;\n"
    "    shr.u64 %y, %hash, 40;\n"
    "    and.b64 %y, %y, 4095;\n"
    "    mad.lo.u64 %wide, %x, %first, %third;\n"
    "    mad.lo.u64 %wide, %y, %second, %wide;\n"
    "    cvt.rn.f{{bits}}.u64 %value, %wide;\n"
    "    mov.b{{bits}} %bits, %value;\n"
    "    ld.param.u64 %place, [address];\n"
    "    mul.lo.u64 %wide, %i, {{bytes}};\n"
    "    add.u64 %place, %place, %wide;";
static const char next[] = "    add.u64 %i, %i, %step;\n"
                           "    setp.lt.u64 %more, %i, %count;\n"
                           "    @%more bra each;\n"
                           "done:";

enum fth_status fth_kernels_pattern(bool wide, struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer loop = {0};
    const struct fth_kernel_value widths[] = {{"bits", wide ? "64" : "32"},
                                              {"bytes", wide ? "8" : "4"}};
    enum fth_status status =
        fth_kernels_fill("pattern", begin, widths, FTH_COUNT(widths), &loop, error);
    if (status == FTH_OK) {
        const struct fth_kernel_value values[] = {
            {"type", wide ? "f64" : "f32"}, {"bits", wide ? "64" : "32"},
            {"version", version},           {"target", target},
            {"begin", loop.data},           {"next", next}};
        status = fth_kernels_fill_named("pattern", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&loop);
    return status;
}

uint64_t fth_sweep_element(uint64_t index, bool wide, const uint64_t coefficients[3])
{
    const uint64_t hash = index * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t x = hash >> 52, y = hash >> 40 & 4095;
    const uint64_t value = coefficients[0] * x + coefficients[1] * y + coefficients[2];
    union {
        double number;
        uint64_t bits;
    } as_f64 = {.number = (double)value};
    union {
        float number;
        uint32_t bits;
    } as_f32 = {.number = (float)value};
    return wide ? as_f64.bits : as_f32.bits;
}
