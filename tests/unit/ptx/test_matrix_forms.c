/* Tests of ptx/matrix/: the forms of the instructions on matrices that the engine executes. Others
 * are refused. */
#include "check.h"
#include "ptx/ptx.h"
#include "refused.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .b32 s;\n"                            \
    ".visible .entry k(.param .u64 p) {\n"                                                         \
    ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"

/* Instructions on matrices, with the shapes and the numbers of registers of the PTX ISA. In the
 * operands, r4 is a vector of four registers of 32 bits, d2 one of two registers of 64 bits, u2 one
 * whose elements are unused ('_'), and i2 one of immediates. `cause`: part of the message with
 * which the instruction is refused; NULL: it is accepted. */
struct matrix_form {
    const char *opcode, *operands, *cause;
};

/* Writes the operands in PTX to `text`. */
static void expand(const char *operands, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (const char *at = operands; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        const bool is_vector = length > 1 && strchr("rdui", *at) && at[1] >= '1' && at[1] <= '9';
        const int count = is_vector ? (int)strtol(at + 1, NULL, 10) : 0;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                 is_vector ? "{" : "");
        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, size - used,
                                     *at == 'u'   ? "%s_"
                                     : *at == 'i' ? "%s%d"
                                     : *at == 'r' ? "%s%%r%d"
                                                  : "%s%%rd%d",
                                     i ? ", " : "", i % 8);
        used += (size_t)snprintf(text + used, size - used, "%.*s", is_vector ? 1 : (int)length,
                                 is_vector ? "}" : at);
        assert_true(used < size);
        at += length;
    }
}

static void check_matrix_forms(const struct matrix_form *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char operands[2048], text[4096];
        struct fth_error error = NO_ERROR;
        expand(rows[i].operands, operands, sizeof operands);
        snprintf(text, sizeof text, "%s%s %s;\nret; }\n", HEAD, rows[i].opcode, operands);
        const bool refused = is_refused(text, strlen(text), &error);
        if (refused != (rows[i].cause != NULL))
            fail_msg("%s: %s %s: %s", refused ? "refused" : "accepted", rows[i].opcode,
                     rows[i].operands, error.cause);
        if (refused && !strstr(error.cause, rows[i].cause))
            fail_msg("%s %s: %s", rows[i].opcode, rows[i].operands, error.cause);
    }
}

#define F16 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

static const struct matrix_form mma_forms[] = {
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "r4 r2 %r1 r4", NULL},
    {F16, "r4 r4 r2 r4", NULL},
    {F16, "u4 r4 r2 r4", NULL},
    {F16, "r4 i4 i2 i4", NULL},
    {F16, "i4 r4 r2 r4", "operand 1 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r3 r4 r2 r4", "operand 1 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r5 r4 r2 r4", "operand 1 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r4 r3 r2 r4", "operand 2 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r4 u4 r2 r4", "operand 2 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r4 r4 %r1 r4", "operand 3 of '" F16 "' must be a vector of 2 registers"},
    {F16, "r4 r4 u2 r4", "operand 3 of '" F16 "' must be a vector of 2 registers"},
    {F16, "r4 r4 r2 r2", "operand 4 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r4 r4 r2 u4", "operand 4 of '" F16 "' must be a vector of 4 registers"},
    {F16, "r4 r4 r2", "'" F16 "' takes 4 operands"},
    {F16, "r4 r4 r2 r4 r4", "'" F16 "' takes 4 operands"},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "r2 r4 r2 r2", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", "r2 r4 r2 r2", "not supported"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16", "r4 r4 r2 r2", "not supported"},
    {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "r4 r4 r2 r4", "'.row' of"},
    {"mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32", "r4 r4 r2 r4", "'.col' of"},
    {"mma.sync.m16n8k16.row.col.f32.f16.f16.f32", "r4 r4 r2 r4", "'.m16n8k16' of"},
    {"mma.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r4 r2 r4", "'.aligned' of"},
    {F16 ".rn", "r4 r4 r2 r4", "'.rn' of"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "r4 r8 r4 r4", "'.m16n8k32' of"},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "r4 r2 %r1 r4", NULL},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16", "r2 r2 %r1 r2", NULL},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.s8.f32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "d2 %rd1 %rd1 d2", NULL},
    {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "d4 d2 %rd1 d4", NULL},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "d4 d4 d2 d4", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "d4 d8 d4 d4", NULL},
    {"mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", "r2 %r1 %r1 r2", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", "r4 r2 %r1 r4", NULL},
    {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k32.satfinite.row.col.s32.s8.s8.s32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.s8.s8.f32", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32", "r2 %r1 %r1 r2", NULL},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32", "r4 r2 %r1 r4", NULL},
    {"mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.s4.s32", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "r2 %r1 %r1 r2", NULL},
    {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "r4 r2 %r1 r4", NULL},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r4 r4 r2 r4", NULL},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and", "r4 r4 r2 r4", "not supported"},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.popc", "r4 r4 r2 r4", "'.popc' of"},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.or.popc", "r4 r4 r2 r4", "'.or' of"},
    {"mma.sync.aligned.m16n8k256.row.col.satfinite.s32.b1.b1.s32.and.popc", "r4 r4 r2 r4",
     "not supported"},
    /* Volta's shape. */
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "r8 r2 r2 r8", NULL},
    {"mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", "r4 r2 r2 r4", NULL},
    {"mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16", "r4 r2 r2 r8", "operand 4 of"},
    {"mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16", "r4 r2 r4 r4", "operand 3 of"},
    {"mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32", "r8 r4 r2 r8", "operand 2 of"},
    {"mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32", "r4 r2 r2 r8", "operand 1 of"},
    {"mma.sync.aligned.m8n8k4.col.col.f32.f16.f16.f32", "r8 r2 r2", "takes 4 operands"},
    {"mma.sync.aligned.m8n8k4.col.f32.f16.f16.f32", "r8 r2 r2 r8", "not supported"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.bf16.f32", "r8 r2 r2 r8", "not supported"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.bf16.f16.f32", "r8 r2 r2 r8", "not supported"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32.rn", "r8 r2 r2 r8", "'.rn' of"},
};

/* The metadata of a row are in one, two or four lanes, which the last operand selects. */
static const struct matrix_form sparse_forms[] = {
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 %r1 3", NULL},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 %r1 4",
     "must be a number from 0 to 3"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 %r1 %r1",
     "operand 6 of 'mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32' must be a number from 0"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 %r1 r2", "operand 6 of"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 r2 0", "operand 5 of"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4 %r1", "takes 6 operands"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "r4 r2 r2 r4", "takes 6 operands"},
    {F16, "r4 r4 r2 r4 %r1 0", "takes 4 operands"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16", "r2 r4 r4 r2 %r1 1",
     NULL},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", "r4 r4 r4 r4 %r1 2",
     "must be 0 or 1"},
    {"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "r4 r2 r2 r4 %r1 3", NULL},
    {"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "r4 r2 r2 r4 %r1 4",
     "must be a number from 0 to 3"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "r4 r4 r4 r4 %r1 1", NULL},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "r4 r4 r4 r4 %r1 2",
     "must be 0 or 1"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32", "r4 r4 r4 r4 %r1 0", NULL},
    {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32", "r4 r4 r4 r4 %r1 1", "must be 0"},
    {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "r4 r2 r2 r4 %r1 1", NULL},
    {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "r4 r2 r2 r4 %r1 2", "must be 0 or 1"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32", "r4 r4 r4 r4 %r1 0", NULL},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32", "r4 r4 r4 r4 %r1 1", "must be 0"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", "r4 r2 r2 r4 %r1 1", NULL},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", "r4 r2 r2 r4 %r1 2", "must be 0 or 1"},
    {"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32", "r4 r4 r4 r4 %r1 0", NULL},
    {"mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32", "r4 r4 r4 r4 %r1 1", "must be 0"},
    {"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "r4 r1 r1 r4 %r1 0", "'.m16n8k8' of"},
    {"mma.sp.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "d4 %rd1 %rd1 d4 %r1 0",
     "not supported"},
};

#define WGMMA "wgmma.mma_async.sync.aligned."

static const struct matrix_form wgmma_forms[] = {
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 -1 0 1", NULL},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 1 -1 1 1 0", NULL},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 r4 %rd2 %p1 1 1 1", NULL},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 r4 %rd2 %p1 1 1 0 1", "takes 7 operands"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 r3 %rd2 %p1 1 1 1", "operand 2 of"},
    {WGMMA "m64n8k16.f32.f16.f16", "r2 %rd1 %rd2 %p1 1 1 0 0",
     "operand 1 of '" WGMMA "m64n8k16.f32.f16.f16' must be a vector of 4 registers"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 r4 %p1 1 1 0 0", "operand 3 of"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 r2 1 1 0 0", "must be a predicate"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 0 1 0 0", "must be 1 or -1"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 2 0 0", "must be 1 or -1"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 %r1 0 0", "operand 6 of"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 2 0", "must be 0 or 1"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0 -1", "operand 8 of"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0", "operand 8 of"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0 0 0", "takes 8 operands"},
    {WGMMA "m64n8k16.f32.f16.f16", "r4 %rd1 %rd2", "must be a predicate"},
    {WGMMA "m64n256k16.f32.bf16.bf16", "r128 %rd1 %rd2 %p1 1 1 0 0", NULL},
    {WGMMA "m64n264k16.f32.bf16.bf16", "r128 %rd1 %rd2 %p1 1 1 0 0", "'.m64n264k16' of"},
    {WGMMA "m64n4k16.f32.bf16.bf16", "r2 %rd1 %rd2 %p1 1 1 0 0", "'.m64n4k16' of"},
    {WGMMA "m64n8k8.f32.bf16.bf16", "r4 %rd1 %rd2 %p1 1 1 0 0", "'.m64n8k8' of"},
    {WGMMA "m64n40k16.f16.f16.f16", "r10 %rd1 %rd2 %p1 1 1 0 0", NULL},
    {WGMMA "m64n8k16.f16.bf16.bf16", "r2 %rd1 %rd2 %p1 1 1 0 0", "not supported"},
    {WGMMA "m64n8k16.f32.f16.bf16", "r4 %rd1 %rd2 %p1 1 1 0 0", "not supported"},
    {WGMMA "m64n8k16.satfinite.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0 0", "not supported"},
    {WGMMA "m64n8k16.f32.f16.f16.rn", "r4 %rd1 %rd2 %p1 1 1 0 0", "'.rn' of"},
    {WGMMA "m64n8k16.f32.f16", "r4 %rd1 %rd2 %p1 1 1 0 0", "not supported"},
    {"wgmma.mma_async.sync.m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0 0", "'.m64n8k16' of"},
    {"wgmma.mma_async.aligned.m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %p1 1 1 0 0", "'.aligned' of"},
    {WGMMA "m64n8k8.f32.tf32.tf32", "r4 %rd1 %rd2 %p1 1 -1", NULL},
    {WGMMA "m64n8k8.f32.tf32.tf32", "r4 %rd1 %rd2 %p1 1 -1 0 0", "takes 6 operands"},
    {WGMMA "m64n8k8.f32.tf32.f16", "r4 %rd1 %rd2 %p1 1 -1", "not supported"},
    {WGMMA "m64n8k32.f16.e4m3.e5m2", "r2 %rd1 %rd2 %p1 1 1", NULL},
    {WGMMA "m64n8k32.f32.e5m2.e5m2", "r4 r4 %rd2 %p1 1 1", NULL},
    {WGMMA "m64n8k32.f32.e5m2.f16", "r4 r4 %rd2 %p1 1 1", "not supported"},
    {WGMMA "m64n8k32.s32.s8.u8", "r4 %rd1 %rd2 %p1", NULL},
    {WGMMA "m64n8k32.satfinite.s32.u8.s8", "r4 r4 %rd2 %p1", NULL},
    {WGMMA "m64n8k32.s32.s8.u8", "r4 %rd1 %rd2 %p1 1 1", "takes 4 operands"},
    {WGMMA "m64n8k32.f32.s8.u8", "r4 %rd1 %rd2 %p1", "not supported"},
    {WGMMA "m64n8k32.s32.s8.e4m3", "r4 %rd1 %rd2 %p1", "not supported"},
    {WGMMA "m64n8k32.s32.e4m3.e4m3", "r4 %rd1 %rd2 %p1", "not supported"},
    {WGMMA "m64n24k32.s32.s8.s8", "r12 %rd1 %rd2 %p1", NULL},
    {WGMMA "m64n40k32.s32.s8.s8", "r20 %rd1 %rd2 %p1", "'.m64n40k32' of"},
    {WGMMA "m64n48k32.s32.s8.s8", "r24 %rd1 %rd2 %p1", NULL},
    {WGMMA "m64n8k256.s32.b1.b1.and.popc", "r4 %rd1 %rd2 %p1", NULL},
    {WGMMA "m64n8k256.s32.b1.b1.xor.popc", "r4 %rd1 %rd2 %p1", "'.xor' of"},
    {WGMMA "m64n8k256.s32.b1.b1.and", "r4 %rd1 %rd2 %p1", "not supported"},
    {WGMMA "m64n8k256.f32.b1.b1.and.popc", "r4 %rd1 %rd2 %p1", "not supported"},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k512.s32.b1.b1.and.popc", "r4 %rd1 %rd2 %r1 0 %p1",
     "not supported"},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "r4 %rd1 %rd2 %r1 1 %p1 1 1 0 1",
     NULL},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "r4 %rd1 %rd2 %r1 2 %p1 1 1 0 1",
     "operand 5 of"},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16", "r4 %rd1 %rd2 %r1 1 %p1 1 1 0 1",
     "'.m64n8k16' of"},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", "r4 %rd1 %rd2 %r1 0 %p1", NULL},
    {"wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8", "r4 %rd1 %rd2 %r1 1 %p1", "must be 0"},
    {"wgmma.fence.sync.aligned", "", NULL},
    {"wgmma.fence.sync.aligned", "0", "takes 0 operands"},
    {"wgmma.fence.sync", "", "not supported"},
    {"wgmma.fence.aligned", "", "'.aligned' of"},
    {"wgmma.commit_group.sync.aligned", "", NULL},
    {"wgmma.commit_group.sync.aligned", "0", "takes 0 operands"},
    {"wgmma.wait_group.sync.aligned", "0", NULL},
    {"wgmma.wait_group.sync.aligned", "", "takes 1 operands"},
    {"wgmma.sync.aligned", "", "'.sync' of"},
};

static const struct matrix_form wmma_forms[] = {
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "r8 [%rd1]", NULL},
    {"wmma.load.b.sync.aligned.col.m8n32k16.shared.f16", "r8 [s] %r1", NULL},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "r4 [%rd1]", "operand 1 of"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "r8 %rd1", "must be an address in brackets"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "r8 [%rd1] r2", "operand 3 of"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "r8", "takes 2 operands"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16", "r8 [%rd1] 16 16", "takes 2 operands"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.bf16", "r4 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.row.m32n8k16.bf16", "r8 [%rd1]", NULL},
    {"wmma.load.b.sync.aligned.row.m32n8k16.bf16", "r2 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.row.m16n16k16.s8", "r2 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.row.m32n8k16.u8", "r4 [%rd1]", NULL},
    {"wmma.load.b.sync.aligned.col.m32n8k16.u8", "%r1 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.row.m8n32k16.u8", "%r1 [%rd1]", NULL},
    {"wmma.load.b.sync.aligned.row.m8n32k16.s8", "r4 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.col.m16n16k8.tf32", "r4 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.col.m8n8k4.f64", "%rd2 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.row.m8n8k32.s4", "%r1 [%rd1]", NULL},
    {"wmma.load.a.sync.aligned.col.m8n8k32.s4", "%r1 [%rd1]", "not supported"},
    {"wmma.load.b.sync.aligned.col.m8n8k32.u4", "%r1 [%rd1]", NULL},
    {"wmma.load.b.sync.aligned.row.m8n8k32.u4", "%r1 [%rd1]", "not supported"},
    {"wmma.load.b.sync.aligned.col.m8n8k128.b1", "%r1 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.row.m8n8k128.s32", "r2 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.row.m8n8k32.s32", "r2 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m32n8k16.s32", "r8 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m16n16k16.f32", "r8 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m16n16k16.f16", "r4 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m16n16k8.f32", "r8 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m16n16k8.f16", "r4 [%rd1]", "not supported"},
    {"wmma.load.c.sync.aligned.col.m16n16k8.s32", "r8 [%rd1]", "not supported"},
    {"wmma.load.c.sync.aligned.col.m8n8k4.f64", "d2 [%rd1]", NULL},
    {"wmma.load.c.sync.aligned.col.m8n8k4.f32", "r2 [%rd1]", "not supported"},
    {"wmma.load.c.sync.aligned.col.m8n8k32.f32", "r2 [%rd1]", "not supported"},
    {"wmma.load.c.sync.aligned.col.m16n16k16.f64", "d8 [%rd1]", "not supported"},
    {"wmma.load.d.sync.aligned.row.m16n16k16.f16", "r4 [%rd1]", "'.d' of"},
    {"wmma.load.a.aligned.row.m16n16k16.f16", "r8 [%rd1]", "'.aligned' of"},
    {"wmma.load.a.sync.row.m16n16k16.f16", "r8 [%rd1]", "'.row' of"},
    {"wmma.load.a.sync.aligned.m16n16k16.f16", "r8 [%rd1]", "'.m16n16k16' of"},
    {"wmma.load.a.sync.aligned.row.m16n8k16.f16", "r8 [%rd1]", "'.m16n8k16' of"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f32", "r8 [%rd1]", "not supported"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16.rn", "r8 [%rd1]", "'.rn' of"},
    {"wmma.store.d.sync.aligned.row.m16n16k16.global.f32", "[%rd1] r8", NULL},
    {"wmma.store.d.sync.aligned.col.m16n16k16.global.f16", "[%rd1] r4 %r1", NULL},
    {"wmma.store.d.sync.aligned.col.m16n16k16.global.f16", "r4 [%rd1]", "operand 2 of"},
    {"wmma.store.d.sync.aligned.col.m16n16k16.global.bf16", "[%rd1] r4", "not supported"},
    {"wmma.store.a.sync.aligned.col.m16n16k16.global.f16", "[%rd1] r8", "'.a' of"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "r8 r8 r8 r8", NULL},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f16.f32", "r4 r8 r8 r8", NULL},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r8 r8 r8 r4", NULL},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r8 r8 r8 r8", "operand 4 of"},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r8 r8 r4 r4", "operand 3 of"},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r8 r4 r8 r4", "operand 2 of"},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r4 r8 r8 r4", "operand 1 of"},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "u8 r8 r8 r4", NULL},
    {"wmma.mma.sync.aligned.col.row.m32n8k16.f32.f16", "r8 r8 r8", "takes 4 operands"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "r8 r4 r4 r8", NULL},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f16", "r8 r4 r4 r4", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.bf16.f32", "r8 r8 r4 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.f32", "r8 r8 r8 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32", "r8 r8 r8 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite", "r8 r2 r2 r8", NULL},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32", "r8 r2 r2 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite", "r8 r8 r8 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "r8 r4 r4 r8", NULL},
    {"wmma.mma.sync.aligned.row.col.m16n16k8.f32.f32", "r8 r8 r8 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", "d2 %rd1 %rd1 d2", NULL},
    {"wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn", "d2 %rd1 %rd1 d2", NULL},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.rn", "r8 r8 r8 r8", "not supported"},
    {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32", "r2 %r1 %r1 r2", NULL},
    {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "r2 %r1 %r1 r2", NULL},
    {"wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "r2 %r1 %r1 r2", NULL},
    {"wmma.mma.and.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "r2 %r1 %r1 r2", "'.sync' of"},
    {"wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "r2 %r1 %r1 r2", "not supported"},
    {"wmma.mma.and.popc.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32", "r2 %r1 %r1 r2",
     "not supported"},
    {"wmma.mma.sync.row.col.m16n16k16.f32.f32", "r8 r8 r8 r8", "'.row' of"},
    {"wmma.mma.aligned.row.col.m16n16k16.f32.f32", "r8 r8 r8 r8", "'.aligned' of"},
    {"wmma.mma.sync.aligned.row.m16n16k16.f32.f32", "r8 r8 r8 r8", "'.m16n16k16' of"},
    {"wmma.mma.sync.aligned.m16n16k16.f32.f32", "r8 r8 r8 r8", "'.m16n16k16' of"},
    {"wmma.frob.sync.aligned.m16n16k16.f32.f32", "r8 r8 r8 r8", "'.frob' of"},
    /* moves of matrices */
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16", "%r1 [s]", NULL},
    {"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "r2 [s]", NULL},
    {"ldmatrix.sync.aligned.m8n8.x4.b16", "r4 [%rd1]", NULL},
    {"ldmatrix.sync.aligned.m8n8.x4.b16", "u4 [%rd1]", NULL},
    {"ldmatrix.sync.aligned.m8n8.x4.b16", "r2 [%rd1]", "operand 1 of"},
    {"ldmatrix.sync.aligned.m8n8.x2.b16", "r4 [%rd1]", "operand 1 of"},
    {"ldmatrix.sync.aligned.m8n8.x2.b16", "r2 %rd1", "must be an address in brackets"},
    {"ldmatrix.sync.aligned.m8n8.x2.b16", "r2", "takes 2 operands"},
    {"ldmatrix.sync.aligned.m8n8.x3.b16", "r4 [%rd1]", "'.x3' of"},
    {"ldmatrix.sync.aligned.m8n8.b16", "r4 [%rd1]", "'.b16' of"},
    {"ldmatrix.sync.aligned.x1.b16", "%r1 [%rd1]", "'.x1' of"},
    {"ldmatrix.sync.m8n8.x1.b16", "%r1 [%rd1]", "'.m8n8' of"},
    {"ldmatrix.aligned.m8n8.x1.b16", "%r1 [%rd1]", "'.aligned' of"},
    {"ldmatrix.sync.aligned.m8n8.x1.b8", "%r1 [%rd1]", "'.b8' of"},
    {"ldmatrix.sync.aligned.m8n8.x1.b16.trans", "%r1 [%rd1]", "'.trans' of"},
    {"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "[s] r4", NULL},
    {"stmatrix.sync.aligned.m8n8.x4.shared.b16", "[s] u4", "operand 2 of"},
    {"stmatrix.sync.aligned.m8n8.x4.shared.b16", "r4 [s]", "operand 2 of"},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "%r1 %r2", NULL},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "_ %r2", "must be a register"},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "%r1 _", "operand 2 of"},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "%r1 r2", "operand 2 of"},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "%r1", "takes 2 operands"},
    {"movmatrix.sync.aligned.m8n8.b16", "%r1 %r2", "'.b16' of"},
};

static void matrices_have_their_shapes(void **state)
{
    (void)state;
    check_matrix_forms(mma_forms, FTH_COUNT(mma_forms));
    check_matrix_forms(sparse_forms, FTH_COUNT(sparse_forms));
    check_matrix_forms(wgmma_forms, FTH_COUNT(wgmma_forms));
    check_matrix_forms(wmma_forms, FTH_COUNT(wmma_forms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_have_their_shapes),
    };
    return cmocka_run_group_tests_name("matrix_forms", tests, NULL, NULL);
}
