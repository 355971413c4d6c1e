/* Reads edits of traces from text, such as "layout=45,transpose.cu:7", and finds the instructions
 * that they apply to. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "edit trace";

static const struct {
    const char *name;
    enum fth_edit_kind kind;
} kinds[] = {{"layout=", FTH_EDIT_LAYOUT},
             {"merge=", FTH_EDIT_MERGE},
             {"hint=", FTH_EDIT_HINT},
             {"blocks=", FTH_EDIT_BLOCKS},
             {"pad=", FTH_EDIT_PAD}};

static const char *const operators[FTH_EDIT_OPERATORS] = {
    [FTH_EDIT_NC] = "nc",
    [FTH_EDIT_CG] = "cg",
    [FTH_EDIT_EVICT_FIRST] = "evict_first",
    [FTH_EDIT_EVICT_LAST] = "evict_last",
    [FTH_EDIT_NO_ALLOCATE] = "no_allocate",
    [FTH_EDIT_ASYNC] = "async",
};

/* Returns the index in `kinds`, or that of its end. */
static size_t find_kind(const char *text)
{
    size_t i = 0;
    while (i < FTH_COUNT(kinds) && !fth_text_after(text, kinds[i].name))
        i++;
    return i;
}

bool fth_trace_edit_known(const char *text)
{
    return find_kind(text) < FTH_COUNT(kinds);
}

bool fth_edit_global(const struct fth_trace_instruction *instruction)
{
    return !(instruction->hints & (FTH_TRACE_LOCAL | FTH_TRACE_TEXTURE | FTH_TRACE_SHARED));
}

/* Returns whether an edit of this kind can change the accesses of the instruction. */
static bool applies(enum fth_edit_kind kind, const struct fth_trace_instruction *instruction)
{
    if (kind == FTH_EDIT_PAD)
        return instruction->hints & FTH_TRACE_SHARED;
    if (!fth_edit_global(instruction))
        return false;
    return kind == FTH_EDIT_HINT    ? instruction->kind == FTH_TRACE_READ
           : kind == FTH_EDIT_MERGE ? instruction->kind != FTH_TRACE_WRITE
                                    : true;
}

/* ---- lines ---- */

/* Returns whether an instruction, or a call that it is inlined in, is on this line of a file. The
 * file may be given with or without its folder. */
static bool is_at(const struct fth_trace_instruction *instruction, const char *file, uint64_t line)
{
    if (!file)
        return instruction->line == line;
    for (const struct fth_source_position *at = instruction->source; at; at = at->inlined_at)
        if (at->line == line && at->file &&
            (strcmp(at->file, file) == 0 || strcmp(fth_source_file(at), file) == 0))
            return true;
    return false;
}

/* Chooses the instructions on one line: "45" or "kernel.cu:7". Modifies `text`. */
static enum fth_status choose_line(char *text, const struct fth_trace *trace, struct fth_edit *edit,
                                   struct fth_error *error)
{
    char *colon = strrchr(text, ':');
    const char *file = colon ? text : NULL;
    uint64_t line = 0;
    if (!fth_text_integer(colon ? colon + 1 : text, &line) || line == 0 || colon == text)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "this is not a line; expected a line of the PTX such as 45, a line of the "
                        "source such as kernel.cu:7, or 'all'");
    size_t found = 0;
    if (colon)
        *colon = '\0';
    for (size_t i = 0; i < fth_trace_instruction_count(trace); i++) {
        const struct fth_trace_instruction *instruction = fth_trace_instruction_at(trace, i);
        if (!is_at(instruction, file, line))
            continue;
        found++;
        edit->chosen[i] = edit->chosen[i] || applies(edit->kind, instruction);
    }
    if (colon)
        *colon = ':';
    return found ? FTH_OK
                 : fth_fail(error, FTH_NOT_FOUND, operation, text,
                            "the trace has no access to memory on this line; 'fathom model "
                            "--lines' lists the lines");
}

/* Chooses the instructions on a list of lines. Modifies `text`. */
static enum fth_status choose(char *text, const struct fth_trace *trace, struct fth_edit *edit,
                              struct fth_error *error)
{
    const size_t count = fth_trace_instruction_count(trace);
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < count; i++)
            edit->chosen[i] = applies(edit->kind, fth_trace_instruction_at(trace, i));
    } else {
        for (char *at = text, *next; at; at = next) {
            next = strchr(at, ',');
            if (next)
                *next++ = '\0';
            FTH_TRY(choose_line(at, trace, edit, error));
        }
    }
    for (size_t i = 0; i < count; i++)
        if (edit->chosen[i])
            return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, text,
                    edit->kind == FTH_EDIT_PAD    ? "there is no access to shared memory"
                    : edit->kind == FTH_EDIT_HINT ? "there is no load from global memory"
                    : edit->kind == FTH_EDIT_MERGE
                        ? "there is no load from global memory and no atomic"
                        : "there is no access to global memory");
}

/* ---- operators and orders of blocks ---- */

/* Cuts the operator off "LINES:OPERATOR". */
static enum fth_status take_operator(char *text, struct fth_edit *edit, struct fth_error *error)
{
    char *colon = strrchr(text, ':');
    for (size_t i = 0; i < FTH_EDIT_OPERATORS && colon; i++)
        if (strcmp(colon + 1, operators[i]) == 0) {
            edit->load_operator = (enum fth_edit_operator)i;
            *colon = '\0';
            return FTH_OK;
        }
    return fth_fail(
        error, FTH_INVALID, operation, text,
        "expected LINES:OPERATOR with nc, cg, evict_first, evict_last, no_allocate or async");
}

static enum fth_status parse_blocks(const char *text, const struct fth_trace *trace,
                                    struct fth_edit *edit, struct fth_error *error)
{
    const char *tile = fth_text_after(text, "tile");
    uint64_t blocks = 0;
    if (strcmp(text, "swap") != 0 &&
        (!tile || !fth_text_integer(tile, &blocks) || blocks < 2 || blocks > 65536))
        return fth_fail(error, FTH_INVALID, operation, text,
                        "this is not an order of blocks; expected swap, or tileN with N from 2 to "
                        "65536");
    edit->tile = (uint32_t)blocks;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        if (launch->grid[0] > 1 && launch->grid[1] > 1)
            return FTH_OK;
    }
    return fth_fail(error, FTH_INVALID, operation, text,
                    "no launch has a grid with more than one block in x and in y");
}

enum fth_status fth_edit_parse(const char *text, const struct fth_trace *trace,
                               struct fth_edit *edit, struct fth_error *error)
{
    const size_t kind = find_kind(text);
    if (kind == FTH_COUNT(kinds))
        return fth_fail(error, FTH_INVALID, operation, text,
                        "this is not an edit of a trace; expected layout=, merge=, hint=, "
                        "blocks= or pad=");
    const char *value = text + strlen(kinds[kind].name);
    *edit = (struct fth_edit){.kind = kinds[kind].kind};
    if (edit->kind == FTH_EDIT_BLOCKS)
        return parse_blocks(value, trace, edit, error);
    char *copy = strdup(value);
    edit->chosen = calloc(fth_trace_instruction_count(trace) + 1, sizeof *edit->chosen);
    enum fth_status status = copy && edit->chosen ? FTH_OK : fth_no_memory(error, operation, text);
    if (status == FTH_OK && edit->kind == FTH_EDIT_HINT)
        status = take_operator(copy, edit, error);
    if (status == FTH_OK)
        status = choose(copy, trace, edit, error);
    free(copy);
    if (status != FTH_OK)
        fth_edit_fini(edit);
    return status;
}

void fth_edit_fini(struct fth_edit *edit)
{
    free(edit->chosen);
    edit->chosen = NULL;
}
