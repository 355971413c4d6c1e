/* The operations of operate.ptx: their names, their PTX, and the compute capability that they need.
 */
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* The memory that an operation accesses; REGISTERS: none. */
enum operation_space { REGISTERS, SHARED, GLOBAL };

/* In `text`, $a stands for the register of the chain and $d for a second register. The text can
 * have several dependent instructions; `instructions` is their number. Integer additions use every
 * result twice, because the compiler would otherwise merge two additions into one of three
 * operands. A copy goes from address $f to $g; only the host knows their distance, so that the
 * compiler cannot remove a load or store. */
struct operation_row {
    const char *name, *title;
    struct {
        const char *type;        /* of the registers */
        uint64_t factor, addend; /* operands that keep the numbers in range */
    } operands;
    const char *text;
    unsigned instructions;
    unsigned results; /* per instruction: 2 for pairs, 4 for vectors of four words */
    enum operation_space space;
    unsigned capability; /* 53 for 5.3 */
    const char *version;
    const char *store; /* of a copy: all chains load, then all chains store; otherwise NULL */
    /* The thread's address stays in %place, and the word and the chain hold 0. */
    bool keeps_address;
    /* Of an operation without a result: the operation that waits for all before it, because it
     * accesses the same word. Otherwise NULL. */
    const char *last;
};

/* Operations on memory add 0, which leaves the address in memory unchanged. */
#define WORD                                                                                       \
    {                                                                                              \
        "u32", 0, 0                                                                                \
    }
#define LONG                                                                                       \
    {                                                                                              \
        "u64", 0, 0                                                                                \
    }
#define F16                                                                                        \
    {                                                                                              \
        "b16", 0x3c00, 0x1400                                                                      \
    }
#define F16X2                                                                                      \
    {                                                                                              \
        "b32", 0x3c003c00, 0x14001400                                                              \
    }
#define BF16X2                                                                                     \
    {                                                                                              \
        "b32", 0x3f803f80, 0x3a803a80                                                              \
    }
#define F32                                                                                        \
    {                                                                                              \
        "f32", 0x3f800000, 0x3a800000                                                              \
    }
#define F64                                                                                        \
    {                                                                                              \
        "f64", UINT64_C(0x3ff0000000000000), UINT64_C(0x3f50000000000000)                          \
    }
#define S32                                                                                        \
    {                                                                                              \
        "s32", 3, 1                                                                                \
    }
#define S64                                                                                        \
    {                                                                                              \
        "s64", 3, 1                                                                                \
    }

/* Operands of atomics that keep their address: they add 0. */
#define ZERO_PAIR                                                                                  \
    {                                                                                              \
        "b32", 0, 0                                                                                \
    }
#define ZERO_F32                                                                                   \
    {                                                                                              \
        "f32", 0, 0                                                                                \
    }
#define ZERO_F64                                                                                   \
    {                                                                                              \
        "f64", 0, 0                                                                                \
    }

/* The lowest compute capability that the kernels support. Each macro below is the end of a row: the
 * capability, the PTX version, and no store. */
enum { MIN_CAPABILITY = 50 };
#define EVERY_GPU MIN_CAPABILITY, "5.0", NULL, false, NULL
#define FP16 53, "5.0", NULL, false, NULL
#define AMPERE 80, "7.0", NULL, false, NULL
#define HOPPER 90, "7.8", NULL, false, NULL
/* The rows of atomics that keep their address. `what` is the scope or the type and `suffix` what
 * follows the name of the instruction in PTX; the capability and the PTX version come last. Scopes
 * and fp64 came with Pascal, fp16 pairs in PTX 6.2, clusters with Hopper (PTX ISA, atom). */
#define ATOM(what, suffix, title, operands, ...)                                                   \
    {                                                                                              \
        "atom." what, "atom " title, operands, "atom" suffix " $a, [%place], $a;", 1, 1, GLOBAL,   \
            __VA_ARGS__, NULL, true, NULL                                                          \
    }
#define RED(what, suffix, title, operands, ...)                                                    \
    {                                                                                              \
        "red." what, "red " title, operands, "red" suffix " [%place], %b;", 1, 1, GLOBAL,          \
            __VA_ARGS__, NULL, true, "    atom" suffix " %a0, [%place], %b;\n"                     \
    }
#define ATOM_SHARED(what, suffix, title, operands, ...)                                            \
    {                                                                                              \
        "atom.shared." what, "atom " title ", shared memory", operands,                            \
            "atom.shared" suffix " $a, [%place], $a;", 1, 1, SHARED, __VA_ARGS__, NULL, true, NULL \
    }

static const struct operation_row rows[] = {
    [FTH_ADD_F16] = {"add.f16", "add fp16", F16, "add.rn.f16 $a, $a, %b;", 1, 1, REGISTERS, FP16},
    [FTH_MUL_F16] = {"mul.f16", "mul fp16", F16, "mul.rn.f16 $a, $a, %b;", 1, 1, REGISTERS, FP16},
    [FTH_FMA_F16] = {"fma.f16", "fma fp16", F16, "fma.rn.f16 $a, $a, %b, %c;", 1, 1, REGISTERS,
                     FP16},
    [FTH_ADD_F16X2] = {"add.f16x2", "add fp16 pairs", F16X2, "add.rn.f16x2 $a, $a, %b;", 1, 2,
                       REGISTERS, FP16},
    [FTH_MUL_F16X2] = {"mul.f16x2", "mul fp16 pairs", F16X2, "mul.rn.f16x2 $a, $a, %b;", 1, 2,
                       REGISTERS, FP16},
    [FTH_FMA_F16X2] = {"fma.f16x2", "fma fp16 pairs", F16X2, "fma.rn.f16x2 $a, $a, %b, %c;", 1, 2,
                       REGISTERS, FP16},
    [FTH_ADD_BF16X2] = {"add.bf16x2", "add bf16 pairs", BF16X2, "add.rn.bf16x2 $a, $a, %b;", 1, 2,
                        REGISTERS, HOPPER},
    [FTH_MUL_BF16X2] = {"mul.bf16x2", "mul bf16 pairs", BF16X2, "mul.rn.bf16x2 $a, $a, %b;", 1, 2,
                        REGISTERS, HOPPER},
    [FTH_FMA_BF16X2] = {"fma.bf16x2", "fma bf16 pairs", BF16X2, "fma.rn.bf16x2 $a, $a, %b, %c;", 1,
                        2, REGISTERS, AMPERE},
    [FTH_ADD_F32] = {"add.f32", "add fp32", F32, "add.rn.f32 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_MUL_F32] = {"mul.f32", "mul fp32", F32, "mul.rn.f32 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_FMA_F32] = {"fma.f32", "fma fp32", F32, "fma.rn.f32 $a, $a, %b, %c;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_ADD_F64] = {"add.f64", "add fp64", F64, "add.rn.f64 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_MUL_F64] = {"mul.f64", "mul fp64", F64, "mul.rn.f64 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_FMA_F64] = {"fma.f64", "fma fp64", F64, "fma.rn.f64 $a, $a, %b, %c;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_ADD_S32] = {"add.s32", "add int32", S32, "add.s32 $a, $a, $d;\n    add.s32 $d, $d, $a;", 2,
                     1, REGISTERS, EVERY_GPU},
    [FTH_MUL_S32] = {"mul.s32", "mul int32", S32, "mul.lo.s32 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_MAD_S32] = {"mad.s32", "mad int32", S32, "mad.lo.s32 $a, $a, %b, %c;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_ADD_S64] = {"add.s64", "add int64", S64, "add.s64 $a, $a, $d;\n    add.s64 $d, $d, $a;", 2,
                     1, REGISTERS, EVERY_GPU},
    [FTH_MUL_S64] = {"mul.s64", "mul int64", S64, "mul.lo.s64 $a, $a, %b;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_MAD_S64] = {"mad.s64", "mad int64", S64, "mad.lo.s64 $a, $a, %b, %c;", 1, 1, REGISTERS,
                     EVERY_GPU},
    [FTH_RSQRT_F32] = {"rsqrt.f32", "1/sqrt fp32, approximate", F32, "rsqrt.approx.ftz.f32 $a, $a;",
                       1, 1, REGISTERS, EVERY_GPU},
    [FTH_SQRT_F32] = {"sqrt.f32", "sqrt fp32, approximate", F32, "sqrt.approx.ftz.f32 $a, $a;", 1,
                      1, REGISTERS, EVERY_GPU},
    [FTH_SIN_F32] = {"sin.f32", "sin fp32, approximate", F32, "sin.approx.ftz.f32 $a, $a;", 1, 1,
                     REGISTERS, EVERY_GPU},
    [FTH_COS_F32] = {"cos.f32", "cos fp32, approximate", F32, "cos.approx.ftz.f32 $a, $a;", 1, 1,
                     REGISTERS, EVERY_GPU},
    [FTH_EX2_F32] = {"ex2.f32", "2^x fp32, approximate", F32, "ex2.approx.ftz.f32 $a, $a;", 1, 1,
                     REGISTERS, EVERY_GPU},
    [FTH_LG2_F32] = {"lg2.f32", "log2 fp32, approximate", F32, "lg2.approx.ftz.f32 $a, $a;", 1, 1,
                     REGISTERS, EVERY_GPU},
    [FTH_LOAD_SHARED_4] = {"load.shared.4", "load 4 B, shared memory", WORD,
                           "ld.shared.u32 $a, [$a];", 1, 1, SHARED, EVERY_GPU},
    [FTH_LOAD_SHARED_8] = {"load.shared.8", "load 8 B, shared memory", LONG,
                           "ld.shared.u64 $a, [$a];", 1, 1, SHARED, EVERY_GPU},
    [FTH_LOAD_L2] = {"load.l2", "load 8 B past L1", LONG, "ld.global.cg.u64 $a, [$a];", 1, 1,
                     GLOBAL, EVERY_GPU},
    [FTH_COPY_SHARED_4] = {"copy.shared.4", "copy 4 B within shared memory", WORD,
                           "ld.shared.u32 $a, [$f];", 1, 1, SHARED, MIN_CAPABILITY, "5.0",
                           "st.shared.u32 [$g], $a;", false, NULL},
    [FTH_COPY_SHARED_16] = {"copy.shared.16", "copy 16 B within shared memory", WORD,
                            "ld.shared.v4.u32 {$a, $x, $y, $z}, [$f];", 1, 4, SHARED,
                            MIN_CAPABILITY, "5.0", "st.shared.v4.u32 [$g], {$a, $x, $y, $z};",
                            false, NULL},
    [FTH_ATOMIC_SHARED] = {"atomic.shared", "atomic add, shared memory", WORD,
                           "atom.shared.add.u32 $a, [$a], %b;", 1, 1, SHARED, EVERY_GPU},
    [FTH_ATOMIC_GLOBAL] = {"atomic.global", "atomic add, global memory", LONG,
                           "atom.global.add.u64 $a, [$a], %b;", 1, 1, GLOBAL, EVERY_GPU},
    [FTH_ATOMIC_CAS] = {"cas.global", "compare and swap, global memory", LONG,
                        "atom.global.cas.b64 $a, [$a], $a, $a;", 1, 1, GLOBAL, EVERY_GPU},
    [FTH_ATOM_CTA] = ATOM("cta", ".cta.global.add.u32", "u32, scope cta", WORD, 60, "5.0"),
    [FTH_ATOM_CLUSTER] =
        ATOM("cluster", ".cluster.global.add.u32", "u32, scope cluster", WORD, 90, "7.8"),
    [FTH_ATOM_GPU] = ATOM("gpu", ".gpu.global.add.u32", "u32, scope gpu", WORD, 60, "5.0"),
    [FTH_ATOM_SYS] = ATOM("sys", ".sys.global.add.u32", "u32, scope sys", WORD, 60, "5.0"),
    [FTH_ATOM_U64] = ATOM("u64", ".gpu.global.add.u64", "u64", LONG, 60, "5.0"),
    [FTH_ATOM_F16X2] =
        ATOM("f16x2", ".gpu.global.add.noftz.f16x2", "fp16 pairs", ZERO_PAIR, 60, "6.2"),
    [FTH_ATOM_F32] = ATOM("f32", ".gpu.global.add.f32", "fp32", ZERO_F32, 60, "5.0"),
    [FTH_ATOM_F64] = ATOM("f64", ".gpu.global.add.f64", "fp64", ZERO_F64, 60, "5.0"),
    [FTH_RED_CTA] = RED("cta", ".cta.global.add.u32", "u32, scope cta", WORD, 60, "5.0"),
    [FTH_RED_CLUSTER] =
        RED("cluster", ".cluster.global.add.u32", "u32, scope cluster", WORD, 90, "7.8"),
    [FTH_RED_GPU] = RED("gpu", ".gpu.global.add.u32", "u32, scope gpu", WORD, 60, "5.0"),
    [FTH_RED_SYS] = RED("sys", ".sys.global.add.u32", "u32, scope sys", WORD, 60, "5.0"),
    [FTH_RED_U64] = RED("u64", ".gpu.global.add.u64", "u64", LONG, 60, "5.0"),
    [FTH_RED_F16X2] =
        RED("f16x2", ".gpu.global.add.noftz.f16x2", "fp16 pairs", ZERO_PAIR, 60, "6.2"),
    [FTH_RED_F32] = RED("f32", ".gpu.global.add.f32", "fp32", ZERO_F32, 60, "5.0"),
    [FTH_RED_F64] = RED("f64", ".gpu.global.add.f64", "fp64", ZERO_F64, 60, "5.0"),
    [FTH_ATOM_SHARED_U32] = ATOM_SHARED("u32", ".add.u32", "u32", WORD, MIN_CAPABILITY, "5.0"),
    [FTH_ATOM_SHARED_U64] = ATOM_SHARED("u64", ".add.u64", "u64", LONG, MIN_CAPABILITY, "5.0"),
    [FTH_ATOM_SHARED_F16X2] =
        ATOM_SHARED("f16x2", ".add.noftz.f16x2", "fp16 pairs", ZERO_PAIR, 60, "6.2"),
    [FTH_ATOM_SHARED_F32] = ATOM_SHARED("f32", ".add.f32", "fp32", ZERO_F32, MIN_CAPABILITY, "5.0"),
    [FTH_ATOM_SHARED_F64] = ATOM_SHARED("f64", ".add.f64", "fp64", ZERO_F64, 60, "5.0"),
    [FTH_RED_SHARED_U32] = {"red.shared.u32", "red u32, shared memory", WORD,
                            "red.shared.add.u32 [%place], %b;", 1, 1, SHARED, MIN_CAPABILITY, "5.0",
                            NULL, true, "    atom.shared.add.u32 %a0, [%place], %b;\n"},
};
_Static_assert(FTH_COUNT(rows) == FTH_OPERATIONS, "a row for every operation");

const char *fth_operation_name(enum fth_operation operation)
{
    return (unsigned)operation < FTH_OPERATIONS ? rows[operation].name : "?";
}

const char *fth_operation_title(enum fth_operation operation)
{
    return (unsigned)operation < FTH_OPERATIONS ? rows[operation].title : "?";
}

unsigned fth_operation_results(enum fth_operation operation)
{
    return rows[operation].results;
}

unsigned fth_operation_capability(enum fth_operation operation)
{
    return rows[operation].capability > MIN_CAPABILITY ? rows[operation].capability : 0;
}

bool fth_operation_in_shared(enum fth_operation operation)
{
    return rows[operation].space == SHARED;
}

bool fth_operation_in_global(enum fth_operation operation)
{
    return rows[operation].space == GLOBAL;
}

/* Returns the width of a row's registers in bits, as text. */
static const char *bits_of(const struct operation_row *row)
{
    return strstr(row->operands.type, "64") ? "64" : strstr(row->operands.type, "16") ? "16" : "32";
}

unsigned fth_operation_bytes(enum fth_operation operation)
{
    const struct operation_row *row = &rows[operation];
    return (*bits_of(row) == '6' ? 8 : 4) * row->results;
}

bool fth_operation_keeps_address(enum fth_operation operation)
{
    return rows[operation].keeps_address;
}

bool fth_operation_copies(enum fth_operation operation)
{
    return rows[operation].store != NULL;
}

void fth_operation_operands(enum fth_operation operation, uint64_t *first, uint64_t *second)
{
    *first = rows[operation].operands.factor;
    *second = rows[operation].operands.addend;
}

unsigned fth_operation_round(enum fth_operation operation, unsigned chains)
{
    return rows[operation].store ? FTH_OPERATE_ROUND / 2 / chains * chains : FTH_OPERATE_ROUND;
}

/* Appends `text` for one chain: replaces $x by the register %x followed by the chain's number. */
static void append_operation(struct fth_buffer *out, const char *text, unsigned chain)
{
    fth_buffer_text(out, "    ");
    for (const char *at = text; *at; at++)
        if (*at == '$' && at[1])
            fth_buffer_format(out, "%%%c%u", *++at, chain);
        else
            fth_buffer_append(out, at, 1);
    fth_buffer_text(out, "\n");
}

/* Appends all operations of a round. */
static void append_round(struct fth_buffer *out, enum fth_operation operation, unsigned chains)
{
    const struct operation_row *row = &rows[operation];
    if (!row->store) {
        for (unsigned i = 0; i < FTH_OPERATE_ROUND / row->instructions; i++)
            append_operation(out, row->text, i % chains);
        return;
    }
    for (unsigned i = 0; i < fth_operation_round(operation, chains) / chains; i++) {
        for (unsigned chain = 0; chain < chains; chain++)
            append_operation(out, row->text, chain);
        for (unsigned chain = 0; chain < chains; chain++)
            append_operation(out, row->store, chain);
    }
}

/* Appends the addresses of a copy. Each chain has one source address per thread of the block; the
 * destination is block_stride bytes further. The sources are set to 0. */
static void append_copy_addresses(struct fth_buffer *out, const struct operation_row *row,
                                  unsigned chains)
{
    fth_buffer_format(out,
                      "    .reg .u32 %%f<%u>, %%g<%u>, %%x<%u>, %%y<%u>, %%z<%u>;\n"
                      "    .reg .u32 %%threads, %%step, %%distance;\n"
                      "    ld.param.u32 %%distance, [block_stride];\n"
                      "    cvt.u32.u64 %%step, %%apart;\n"
                      "    mov.u32 %%f0, arena;\n"
                      "    mad.lo.u32 %%f0, %%thread, %%step, %%f0;\n"
                      "    mov.u32 %%threads, %%ntid.x;\n"
                      "    mul.lo.u32 %%step, %%step, %%threads;\n"
                      "    mov.u32 %%threads, 0;\n",
                      chains, chains, chains, chains, chains);
    for (unsigned i = 0; i < chains; i++) {
        if (i)
            fth_buffer_format(out, "    add.u32 %%f%u, %%f%u, %%step;\n", i, i - 1);
        fth_buffer_format(out, "    add.u32 %%g%u, %%f%u, %%distance;\n    mov.u32 %%a%u, 0;\n", i,
                          i, i);
        for (unsigned word = 0; word < row->results; word++)
            fth_buffer_format(out, "    st.shared.u32 [%%f%u + %u], %%threads;\n", i, 4 * word);
    }
    fth_buffer_text(out, "    bar.sync 0;\n");
}

/* Appends the computation of the thread's address, where it stores the address itself, or 0 if the
 * operation keeps its address. Such an operation needs no second operand; the parameter tells how
 * many bits of the thread's number to ignore. Addresses in shared memory have 32 bits. */
static void append_address(struct fth_buffer *out, const struct operation_row *row)
{
    const char *bits = bits_of(row), *space_name = row->space == SHARED ? "shared" : "global";
    if (row->keeps_address)
        fth_buffer_text(out, "    ld.param.u32 %t0, [second];\n"
                             "    shr.u32 %t0, %thread, %t0;\n"
                             "    cvt.u64.u32 %place, %t0;\n"
                             "    mul.lo.u64 %place, %place, %apart;\n");
    else
        fth_buffer_text(out, "    cvt.u64.u32 %place, %thread;\n"
                             "    mul.lo.u64 %place, %place, %apart;\n");
    fth_buffer_text(out, row->space == SHARED ? "    mov.u64 %memory, arena;\n"
                                              : "    ld.param.u64 %apart, [block_stride];\n"
                                                "    cvt.u64.u32 %wide, %block;\n"
                                                "    mad.lo.u64 %place, %wide, %apart, %place;\n");
    fth_buffer_text(out, "    add.u64 %place, %place, %memory;\n");
    if (row->keeps_address)
        fth_buffer_format(out, "    mov.u%s %%here, 0;\n", bits);
    else
        fth_buffer_format(out, "    cvt.u%s.u64 %%here, %%place;\n", bits);
    fth_buffer_format(out, "    st.%s.u%s [%%place], %%here;\n    bar.sync 0;\n", space_name, bits);
}

/* Appends the initial value of a chain: the first operand with its lowest bits changed by the
 * thread and the chain. If all were the same, the compiler would compute only one chain, and only
 * one thread per warp. */
static void append_seed(struct fth_buffer *out, const char *bits, unsigned chain)
{
    fth_buffer_format(out,
                      "    mad.lo.u32 %%t0, %%thread, %d, %u;\n"
                      "    and.b32 %%t0, %%t0, 63;\n"
                      "    cvt.u%s.u32 %%here, %%t0;\n"
                      "    xor.b%s %%here, %%here, %%bits;\n"
                      "    mov.b%s %%a%u, %%here;\n",
                      FTH_MAX_CHAINS + 1, chain, bits, bits, bits, chain);
}

/* Appends the initialisation of the chains, from the operands of the host or from the thread's
 * address. */
static void append_begin(struct fth_buffer *out, const struct operation_row *row, unsigned chains)
{
    const char *bits = bits_of(row);
    fth_buffer_format(out,
                      "    ld.param.b%s %%bits, [first];\n    mov.b%s %%b, %%bits;\n"
                      "    ld.param.b%s %%c, [second];\n",
                      bits, bits, bits);
    if (row->store) {
        append_copy_addresses(out, row, chains);
        return;
    }
    if (row->space != REGISTERS)
        append_address(out, row);
    for (unsigned i = 0; i < chains; i++) {
        if (row->space == REGISTERS)
            append_seed(out, bits, i);
        else
            fth_buffer_format(out, "    mov.b%s %%a%u, %%here;\n", bits, i);
        if (row->instructions > 1)
            fth_buffer_format(out, "    mov.b%s %%d%u, %%a%u;\n", bits, i, i);
    }
}

/* Appends a test that waits for every chain: whether all chains have the value -1, which never
 * happens. */
static void append_wait(struct fth_buffer *out, const struct operation_row *row, unsigned chains)
{
    const char *bits = bits_of(row);
    fth_buffer_text(out, row->last ? row->last : "");
    for (unsigned i = 0; i < chains; i++)
        fth_buffer_format(out, "    setp.eq.%sb%s %%broken, %%%c%u, %%ones%s;\n", i ? "and." : "",
                          bits, row->instructions > 1 ? 'd' : 'a', i, i ? ", %broken" : "");
    fth_buffer_text(out, "    @%broken bra leave;\n");
}

enum fth_status fth_kernels_operate(enum fth_operation operation, unsigned chains,
                                    struct fth_buffer *out, struct fth_error *error)
{
    const struct operation_row *row = &rows[operation];
    struct fth_buffer begin = {0}, operations = {0}, wait = {0};
    char target[16], round[16], chain_count[16];
    snprintf(target, sizeof target, "sm_%u", row->capability);
    snprintf(round, sizeof round, "%d", FTH_OPERATE_ROUND);
    snprintf(chain_count, sizeof chain_count, "%u", chains);
    append_begin(&begin, row, chains);
    append_round(&operations, operation, chains);
    append_wait(&wait, row, chains);
    const struct fth_kernel_value values[] = {
        {"version", row->version},    {"target", target},
        {"type", row->operands.type}, {"round", round},
        {"chains", chain_count},      {"begin", begin.data},
        {"wait", wait.data},          {"operations", operations.data},
        {"bits", bits_of(row)},       {"ones", "-1"},
    };
    enum fth_status status =
        begin.failed || operations.failed || wait.failed
            ? fth_no_memory(error, "fill in kernel template", row->name)
            : fth_kernels_fill_named("operate", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&begin);
    fth_buffer_fini(&operations);
    fth_buffer_fini(&wait);
    return status;
}
