/* Copies the counts of accesses to shared memory into an edited trace, and removes the bank
 * conflicts that padding removes.
 *
 * A trace knows how many wavefronts each instruction has with padding, and how many wavefronts all
 * instructions have between two accesses to global memory, but not which instruction has them. So
 * the wavefronts of all steps shrink in the same proportion. */
#include "advice/advice_parts.h"

bool fth_edit_shared(const struct fth_trace *trace, size_t launch, const struct fth_edit *edit,
                     const uint32_t *numbers, struct fth_shared_table *table, struct fth_pace *pace)
{
    const struct fth_trace_shared *from;
    double before = 0, after = 0;
    for (size_t i = 0; (from = fth_trace_shared_at(trace, launch, i)); i++) {
        const uint32_t number = numbers[from->instruction];
        struct fth_trace_shared *row = fth_shared_row(table, number);
        if (!row)
            return false;
        *row = *from;
        row->instruction = number;
        if (edit->kind == FTH_EDIT_PAD && edit->chosen[from->instruction])
            row->wavefronts = from->padded_wavefronts;
        before += (double)from->wavefronts;
        after += (double)row->wavefronts;
    }
    for (size_t i = 0; i < pace->count && edit->kind == FTH_EDIT_PAD && before > 0; i++)
        pace->steps[i].shared = (uint64_t)((double)pace->steps[i].shared * after / before + 0.5);
    return true;
}
