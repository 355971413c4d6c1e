/* Memory that a function takes from the stack of each thread while it runs (PTX ISA, "Stack
 * Manipulation Instructions"):
 *
 *     alloca.u64        d, a, align     a bytes of local memory; d receives their address
 *     stacksave.u64     d               the current end of the stack
 *     stackrestore.u64  a               frees what was taken since the stacksave that returned a
 *
 * The stack grows upwards, and its end is the same for all threads of a frame: alloca takes the
 * largest of their sizes. Threads that execute the instruction separately get different memory.
 * stackrestore therefore only frees memory if all threads of the frame execute it together;
 * otherwise the memory stays in use until the function returns. */
#include "ptx/parse/operand.h"
#include "ptx/runtime/runtime.h"

#include <string.h>

/* The largest stack of a thread in bytes: the local memory that a thread can have (CUDA C++
 * Programming Guide, "Technical Specifications per Compute Capability"). */
#define MAX_STACK_BYTES ((uint64_t)512 << 10)
/* The default and the maximum of the alignment (PTX ISA, "alloca"). */
enum { MIN_STACK_ALIGN = 8, MAX_STACK_ALIGN = 1 << 23 };

static void run_alloca(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *sizes = row(warp, inst->s[0]);
    struct fth_ptx_frame *frame = warp->frame;
    uint64_t align = inst->s[1] == NO_REGISTER ? MIN_STACK_ALIGN : row(warp, inst->s[1])[0];
    uint64_t bytes = 0;
    FOR_LANES(mask, bytes = sizes[lane] > bytes ? sizes[lane] : bytes;);
    if (align > MAX_STACK_ALIGN || (align & (align - 1)) != 0) {
        fth_ptx_warp_fault(warp, inst, first_lane(mask),
                           "the alignment %llu is not a power of 2, or is larger than 2^23",
                           (unsigned long long)align);
        return;
    }
    if (align < MIN_STACK_ALIGN)
        align = MIN_STACK_ALIGN;
    const uint64_t start = (frame->local_end + align - 1) / align * align;
    if (start > MAX_STACK_BYTES || bytes > MAX_STACK_BYTES - start) {
        fth_ptx_warp_fault(warp, inst, first_lane(mask),
                           "%llu bytes do not fit on the stack of a thread, which has %llu bytes",
                           (unsigned long long)bytes, (unsigned long long)MAX_STACK_BYTES);
        return;
    }
    frame->local_end = start + bytes;
    uint64_t *rd = out_row(warp, inst->d[0]);
    if (fth_ptx_reserve_local(warp, frame))
        FOR_LANES(mask, rd[lane] = start;);
}

static void run_stacksave(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = warp->frame->local_end;);
}

static void run_stackrestore(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                             uint32_t mask)
{
    const uint64_t *ends = row(warp, inst->s[0]);
    struct fth_ptx_frame *frame = warp->frame;
    const uint64_t first = frame->local_base + frame->function->local_bytes;
    uint64_t end = first;
    FOR_LANES(mask, {
        if (ends[lane] < first || ends[lane] > frame->local_end) {
            fth_ptx_warp_fault(warp, inst, lane, "0x%llx is not an earlier end of the stack",
                               (unsigned long long)ends[lane]);
            return;
        }
        end = ends[lane] > end ? ends[lane] : end;
    });
    if (mask == frame->live)
        frame->local_end = end;
}

bool fth_ptx_family_stack(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    static const char *const types[] = {"u32", "u64"};
    const bool save = strcmp(statement->base, "stacksave") == 0;
    const bool restore = strcmp(statement->base, "stackrestore") == 0;
    const size_t results = restore ? 0 : 1;
    const size_t count = save || restore ? 1 : statement->operand_count == 2 ? 2 : 3;
    const int32_t *rows;
    if (fth_ptx_take_one_of(statement, types, FTH_COUNT(types)) < 0 ||
        statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_check_operand_count(parser, statement, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!fth_ptx_take_registers(parser, statement, i, 1, i < results, &rows))
            return false;
        if (i < results && *rows < 0)
            return fth_ptx_refuse_operand(parser, statement, i, "a register");
        *(i < results ? &inst->d[0] : &inst->s[i - results]) = *rows;
    }
    inst->run = save ? run_stacksave : restore ? run_stackrestore : run_alloca;
    return true;
}
