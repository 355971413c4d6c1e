/* What all rules use: texts, the lines of instructions, and lists of candidates. */
#include "advice/advice_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *fth_rule_text(struct fth_arena *arena, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)fth_vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    return fth_arena_text(arena, text);
}

bool fth_candidate_add(struct fth_candidates *candidates,
                       const struct fth_candidate_hint *candidate)
{
    for (size_t i = 0; i < candidate->trial_count; i++)
        if (!candidate->trials[i])
            return false;
    if ((!candidate->hint.text && !candidate->complete) || !candidate->hint.evidence ||
        !fth_grow((void **)&candidates->items, candidates->count, &candidates->capacity,
                  sizeof *candidates->items))
        return false;
    candidates->items[candidates->count] = *candidate;
    candidates->items[candidates->count++].hint.kernel = candidates->facts->kernel;
    return true;
}

const char *fth_rule_edit(struct fth_candidates *candidates, const char *name, const bool *chosen,
                          const char *end)
{
    const struct fth_facts *facts = candidates->facts;
    struct fth_buffer text = {0};
    bool known = true;
    fth_buffer_format(&text, "%s=", name);
    for (size_t i = 0, count = 0; i < facts->count; i++) {
        const uint32_t line = facts->items[i].instruction->line;
        bool listed = false; /* an earlier instruction is on the same line */
        for (size_t k = 0; k < i && chosen[i]; k++)
            listed = listed || (chosen[k] && facts->items[k].instruction->line == line);
        if (!chosen[i] || listed)
            continue;
        known = known && line;
        fth_buffer_format(&text, "%s%u", count++ ? "," : "", (unsigned)line);
    }
    fth_buffer_text(&text, end);
    const char *copy = text.failed ? NULL
                       : known     ? fth_arena_text(candidates->arena, text.data)
                                   : "";
    fth_buffer_fini(&text);
    return copy;
}

bool fth_candidate_add_edit(struct fth_candidates *candidates, struct fth_candidate_hint candidate,
                            const char *name, const bool *chosen, const char *end)
{
    const char *edit = fth_rule_edit(candidates, name, chosen, end);
    candidate.trials[0] = edit;
    candidate.trial_count = !edit || *edit;
    return fth_candidate_add(candidates, &candidate);
}

const char *fth_rule_place(const struct fth_trace_instruction *instruction, char *text, size_t size)
{
    if (fth_source_file(instruction->source))
        return fth_source_text(instruction->source, text, size);
    if (instruction->source_line)
        (void)fth_format(text, size, "source line %u", (unsigned)instruction->source_line);
    else if (instruction->line)
        (void)fth_format(text, size, "PTX line %u", (unsigned)instruction->line);
    else
        (void)fth_format(text, size, "an unknown line");
    return text;
}

bool fth_rule_same_line(const struct fth_trace_instruction *a,
                        const struct fth_trace_instruction *b)
{
    return a == b || (a->source_line && a->source_line == b->source_line && a->kind == b->kind &&
                      fth_source_equal(a->source, b->source));
}

void fth_rule_unrolled(const struct fth_candidates *candidates, size_t first, bool *chosen)
{
    const struct fth_facts *facts = candidates->facts;
    for (size_t i = 0; i < facts->count; i++)
        chosen[i] = i == first || (i > first && !candidates->explained[i] &&
                                   fth_rule_same_line(facts->items[i].instruction,
                                                      facts->items[first].instruction));
}
