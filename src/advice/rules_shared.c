/* The rule about shared memory: bank conflicts that an element of padding per row removes. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

/* Minimum number of wavefronts, and maximum number with padding, per wavefront without conflicts.
 * Chosen: a kernel with fewer conflicts gains little, and padding that leaves more than a few does
 * not solve the problem. */
static const double MIN_RATIO = 1.5, MAX_PADDED_RATIO = 1.25;

/* Returns the bytes by which a row must be longer, so that its elements stay aligned. */
static unsigned padding_bytes(const struct fth_trace_instruction *instruction)
{
    return instruction->bytes <= 4 ? 4 : instruction->bytes <= 8 ? 8 : 16;
}

/* Returns whether padding removes the bank conflicts of an instruction of the kernel. */
static bool has_conflicts(const struct fth_candidates *candidates, const struct fth_model_row *row)
{
    const double ideal = (double)row->shared.ideal_wavefronts;
    return row->instruction && row->instruction->bytes <= 16 && ideal > 0 &&
           strcmp(row->kernel, candidates->facts->kernel) == 0 &&
           (double)row->shared.wavefronts >= MIN_RATIO * ideal &&
           (double)row->shared.padded_wavefronts <= MAX_PADDED_RATIO * ideal;
}

/* Returns whether two instructions are on the same source line, and need the same padding. */
static bool on_same_line(const struct fth_trace_instruction *a,
                         const struct fth_trace_instruction *b)
{
    return padding_bytes(a) == padding_bytes(b) && fth_rule_same_line(a, b);
}

/* Returns a text on the padding of the rows: words, or elements of more bytes. */
static const char *padding_text(struct fth_arena *arena,
                                const struct fth_trace_instruction *instruction)
{
    const unsigned bytes = padding_bytes(instruction);
    return bytes == 4 ? "one word" : fth_rule_text(arena, "one element of %u bytes", bytes);
}

/* Sums of the instructions on one source line, and the edit for them. */
struct line {
    double requests, wavefronts, ideal, padded;
    struct fth_buffer edit;
};

static void add_row(struct line *line, const struct fth_model_row *row)
{
    const struct fth_shared_counts *counts = &row->shared;
    fth_buffer_format(&line->edit, "%s%u",
                      line->requests > 0 ? "," : "pad=", (unsigned)row->instruction->line);
    line->requests += (double)(counts->requests[0] + counts->requests[1] + counts->requests[2]);
    line->wavefronts += (double)counts->wavefronts;
    line->ideal += (double)counts->ideal_wavefronts;
    line->padded += (double)counts->padded_wavefronts;
}

static bool add_line(struct fth_candidates *candidates,
                     const struct fth_trace_instruction *instruction, const struct line *line)
{
    char place[200];
    const bool known = instruction->line && !line->edit.failed;
    const char *padding = padding_text(candidates->arena, instruction);
    return !line->edit.failed && padding &&
           fth_candidate_add(
               candidates,
               &(struct fth_candidate_hint){
                   .hint =
                       {
                           .rule = "bank_conflicts",
                           .instruction = instruction,
                           .text = fth_rule_text(
                               candidates->arena,
                               "Lanes of a warp access different words of the same bank of "
                               "shared memory at %s. Make the rows of the array %s longer, such "
                               "as [32][33] instead of [32][32].",
                               fth_rule_place(instruction, place, sizeof place), padding),
                           .evidence = fth_rule_text(
                               candidates->arena,
                               "%.1f wavefronts per request; %.1f would do, and %.1f remain with "
                               "%s of padding per row",
                               line->wavefronts / line->requests, line->ideal / line->requests,
                               line->padded / line->requests, padding),
                       },
                   .trials = {known ? fth_arena_text(candidates->arena, line->edit.data) : ""},
                   .trial_count = known,
                   .is_shared = true,
                   /* A wavefront takes as long as the four sectors of a line. */
                   .excess_sectors = 4 * (line->wavefronts - line->padded)});
}

bool fth_rule_banks(struct fth_candidates *candidates)
{
    const struct fth_model_row *rows = candidates->rows;
    bool *done = calloc(candidates->row_count + 1, sizeof *done);
    bool made = done;
    for (size_t i = 0; i < candidates->row_count && made; i++) {
        struct line line = {0};
        if (done[i] || !has_conflicts(candidates, &rows[i]))
            continue;
        for (size_t k = i; k < candidates->row_count; k++)
            if (has_conflicts(candidates, &rows[k]) &&
                on_same_line(rows[i].instruction, rows[k].instruction)) {
                add_row(&line, &rows[k]);
                done[k] = true;
            }
        made = add_line(candidates, rows[i].instruction, &line);
        fth_buffer_fini(&line.edit);
    }
    free(done);
    return made;
}
