/* Parses one instruction: guard, opcode with modifiers, and operands, and stores them in a struct
 * fth_ptx_inst. The fth_ptx_select_* functions of execute_*.c then choose the function that
 * executes it, or reject the combination. */
#include "ptx/parse/operand.h"

#include "ptx/video/video.h"

#include <stdio.h>
#include <string.h>

/* ---- emitting ---- */

/* Returns an instruction without operands, at the current position of the text. */
static struct fth_ptx_inst blank_instruction(const struct fth_ptx_parser *parser, uint32_t line)
{
    struct fth_ptx_inst inst = {.line = line,
                                .source_file = parser->file,
                                .source = parser->source,
                                .policy = NO_REGISTER,
                                .predicate = UINT32_MAX,
                                .predicate2 = UINT32_MAX};
    for (size_t i = 0; i < FTH_COUNT(inst.d); i++)
        inst.d[i] = NO_REGISTER;
    for (size_t i = 0; i < FTH_COUNT(inst.s); i++)
        inst.s[i] = NO_REGISTER;
    return inst;
}

/* Appends a copy of the instruction to the function and returns it. Returns NULL when out of
 * memory. */
static struct fth_ptx_inst *append(struct fth_ptx_parser *parser, const struct fth_ptx_inst *inst)
{
    struct fth_ptx_function *function = parser->function;
    void *code = function->code;
    if (!fth_ptx_parser_grow(parser, &code, function->code_count, &function->code_capacity,
                             sizeof *function->code))
        return NULL;
    function->code = code;
    struct fth_ptx_inst *appended = &function->code[function->code_count];
    *appended = *inst;
    appended->index = (uint32_t)function->code_count++;
    return appended;
}

struct fth_ptx_inst *fth_ptx_parser_emit(struct fth_ptx_parser *parser,
                                         const struct fth_ptx_token *token, const char *opcode)
{
    struct fth_ptx_inst inst = blank_instruction(parser, token->line);
    inst.opcode = opcode;
    return append(parser, &inst);
}

/* ---- parsing ---- */

/* Parses a guard such as "@%p1" or "@!%p1", if there is one. */
static bool parse_guard(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!fth_ptx_lexer_accept(lexer, "@"))
        return true;
    inst->guarded = true;
    inst->guard_negated = fth_ptx_lexer_accept(lexer, "!");
    const struct fth_ptx_token token = lexer->token;
    struct fth_ptx_symbol *symbol = NULL;
    if (token.kind != TOKEN_WORD ||
        !fth_ptx_parser_find_register(parser, &token, &symbol, &inst->guard) ||
        symbol->kind != SYMBOL_PREDICATE)
        return fth_ptx_lexer_fail(lexer, &token, "expected a predicate register as the guard");
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Splits an opcode such as "ld.global.v4.f32" at its dots. The first part is the base, which has
 * space for every supported opcode; a longer one is cut, and matches none of them. */
static bool parse_opcode(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const struct fth_ptx_token *token = &lexer->token;
    if (token->kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, token, "expected an instruction");
    const char *at = token->start, *end = token->start + token->size;
    const char *dot = memchr(at, '.', token->size);
    size_t size = (size_t)((dot ? dot : end) - at);
    statement->opcode = *token;
    statement->word_count = statement->next_word = statement->operand_count = 0;
    snprintf(statement->base, sizeof statement->base, "%.*s", size < 15 ? (int)size : 15, at);
    while (dot) {
        const char *word = dot + 1;
        dot = memchr(word, '.', (size_t)(end - word));
        if (statement->word_count == MAX_WORDS)
            return fth_ptx_lexer_fail(lexer, token, "an opcode can have at most %d words",
                                      MAX_WORDS);
        statement->words[statement->word_count++] =
            (struct fth_ptx_word){word, (size_t)((dot ? dot : end) - word)};
    }
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Applies the words after the base to the instruction. */
static bool apply_modifiers(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                            struct fth_ptx_inst *inst)
{
    for (; statement->next_word < statement->word_count; statement->next_word++) {
        const struct fth_ptx_word *word = &statement->words[statement->next_word];
        if (!fth_ptx_apply_modifier(inst, statement->base, word->start, word->size))
            return fth_ptx_refuse(parser, statement);
    }
    /* mov has no .v2; its vectors are in braces */
    return !(inst->vector && strcmp(statement->base, "mov") == 0) ||
           fth_ptx_refuse(parser, statement);
}

/* Returns how an instruction changes the control flow if this is all that it does, or K_NONE. */
static enum fth_ptx_control flow_control(const char *base)
{
    static const struct {
        const char *base;
        enum fth_ptx_control control;
    } list[] = {{"bra", K_BRANCH}, {"brx", K_BRANCH_TABLE}, {"call", K_CALL}, {"ret", K_RETURN},
                {"exit", K_EXIT},  {"trap", K_TRAP},        {"brkpt", K_TRAP}};
    for (size_t i = 0; i < FTH_COUNT(list); i++)
        if (strcmp(list[i].base, base) == 0)
            return list[i].control;
    return K_NONE;
}

/* Parses the operands. Literals have the types of `typed`. */
static bool parse_operands(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                           const struct fth_ptx_inst *typed)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const char *base = statement->base;
    const bool video = fth_ptx_is_video(base);
    if (fth_ptx_token_is(&lexer->token, ";"))
        return true;
    do {
        size_t index = statement->operand_count;
        if (index == MAX_OPERANDS)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "too many operands");
        /* A literal has the type of the instruction. For cvt, set and setp, it has the second type
         * (if there is one). For slct, only the last operand has the second type. */
        bool second = strcmp(base, "cvt") == 0 || fth_ptx_compares(base) ||
                      (strcmp(base, "slct") == 0 && index == 3);
        unsigned type = second && typed->type2 ? typed->type2 : typed->type;
        struct fth_ptx_operand *operand = &statement->operands[index];
        if (!(video ? fth_ptx_parse_video_operand(parser, operand)
                    : fth_ptx_parse_operand(parser, (enum fth_ptx_type)type, operand)))
            return false;
        statement->operand_count++;
    } while (fth_ptx_lexer_accept(lexer, ","));
    return true;
}

/* For "mov.u32 %r1, %tid.x", the operand has emitted an instruction that reads the special register
 * into a new register. Changes the destination of that instruction to %r1 and returns true: the mov
 * itself is not needed. */
static bool fold_special(struct fth_ptx_parser *parser, const struct fth_ptx_inst *parsed,
                         const struct fth_ptx_operand *operands)
{
    struct fth_ptx_function *function = parser->function;
    struct fth_ptx_inst *last =
        function->code_count ? &function->code[function->code_count - 1] : NULL;
    if (!last || last->run != fth_ptx_run_special || operands[1].kind != OPERAND_ROW ||
        operands[1].row != last->d[0] || operands[0].kind != OPERAND_ROW || operands[0].row < 0 ||
        parsed->type == T_PRED || parsed->flags)
        return false;
    last->d[0] = operands[0].row;
    last->guarded = parsed->guarded;
    last->guard = parsed->guard;
    last->guard_negated = parsed->guard_negated;
    return true;
}

/* True for "mov.pred %p1, %r1", which is not valid. The source of mov.pred can only be a register
 * that an operand has emitted: a special register, as in "mov.pred %p1, %is_explicit_cluster".
 * `emitted` is the number of instructions before the operands. */
static bool moves_register_to_predicate(const struct fth_ptx_parser *parser,
                                        const struct fth_ptx_inst *inst, size_t emitted)
{
    return inst->type == T_PRED && strncmp(inst->opcode, "mov", 3) == 0 && inst->s[0] >= 0 &&
           parser->function->code_count == emitted;
}

/* True if the opcode can have two types. With another opcode, a second type means an instruction
 * that the engine does not have, such as "add.f32.f16" of sm_100. */
static bool takes_second_type(const char *base)
{
    static const char *const bases[] = {"cvt", "set", "slct", "dp2a", "dp4a"};
    for (size_t i = 0; i < FTH_COUNT(bases); i++)
        if (strcmp(bases[i], base) == 0)
            return true;
    return false;
}

/* Chooses the function that executes the instruction. Returns false if there is none. */
static bool select_instruction(struct fth_ptx_inst *inst, const char *base)
{
    static bool (*const selectors[])(struct fth_ptx_inst * inst, const char *base) = {
        fth_ptx_select_move,   fth_ptx_select_integer, fth_ptx_select_bits,
        fth_ptx_select_float,  fth_ptx_select_convert, fth_ptx_select_memory,
        fth_ptx_select_atomic, fth_ptx_select_address, fth_ptx_select_warp,
    };
    if (inst->type2 != T_NONE && !takes_second_type(base))
        return false;
    for (size_t i = 0; i < FTH_COUNT(selectors); i++)
        if (selectors[i](inst, base))
            return true;
    return false;
}

/* Parses the operands of an instruction that is not a branch, call or return, and emits it. The
 * operands come first, because they can emit instructions themselves, such as reads of special
 * registers. */
static bool parse_ordinary(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                           struct fth_ptx_inst *inst)
{
    const struct fth_ptx_operand *operands = statement->operands;
    const char *base = statement->base;
    size_t emitted = parser->function->code_count;
    if (!parse_operands(parser, statement, inst))
        return false;
    /* The last operand is then a cache policy, which has no effect on values. */
    if (fth_ptx_has_word(statement, "L2::cache_hint") && statement->operand_count > 1) {
        const struct fth_ptx_operand *last = &operands[--statement->operand_count];
        inst->policy = last->kind == OPERAND_ROW ? last->row : NO_REGISTER;
    }
    size_t count = statement->operand_count;
    if (strcmp(base, "mov") == 0 && count == 2 && parser->function->code_count > emitted &&
        fold_special(parser, inst, operands))
        return true;
    if (!fth_ptx_place_operands(parser, inst, base, operands, count))
        return false;
    if (inst->space == FTH_SPACE_PARAM && parser->function->is_kernel && strcmp(base, "ld") == 0 &&
        count > 1 && !operands[1].has_space)
        inst->space = SPACE_ARGUMENT; /* an address in a register refers to kernel arguments */
    if (!select_instruction(inst, base) || moves_register_to_predicate(parser, inst, emitted))
        return fth_ptx_refuse(parser, statement);
    return fth_ptx_check_addresses(parser, base, operands, count) && append(parser, inst) != NULL;
}

/* Parses the operands of an instruction that only changes the control flow, and emits it. */
static bool parse_control(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst)
{
    bool ok = true; /* ret, exit and trap have no operands */
    if (inst->control == K_CALL)
        ok = fth_ptx_parse_call(parser, inst);
    else if (inst->control == K_BRANCH)
        ok = fth_ptx_parse_branch(parser);
    else if (inst->control == K_BRANCH_TABLE)
        ok = fth_ptx_parse_table_branch(parser, inst);
    return ok && append(parser, inst) != NULL;
}

static bool parse_supported(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_inst inst = blank_instruction(parser, 0);
    struct fth_ptx_statement statement;
    if (!parse_guard(parser, &inst) || !parse_opcode(parser, &statement))
        return false;
    inst.line = statement.opcode.line;
    inst.opcode = fth_ptx_parser_copy_text(parser, statement.opcode.start, statement.opcode.size);
    if (!inst.opcode)
        return false;
    fth_ptx_family *family = fth_ptx_find_family(&statement);
    bool ok;
    if (family) {
        ok = parse_operands(parser, &statement, &inst) && family(parser, &statement, &inst) &&
             append(parser, &inst) != NULL;
    } else {
        inst.control = (uint8_t)flow_control(statement.base);
        ok = apply_modifiers(parser, &statement, &inst) &&
             (inst.control == K_NONE ? parse_ordinary(parser, &statement, &inst)
                                     : parse_control(parser, &inst));
    }
    return ok && fth_ptx_lexer_expect(lexer, ";");
}

bool fth_ptx_keep_unsupported(struct fth_ptx_parser *parser, struct fth_ptx_function *function)
{
    struct fth_error *error = parser->lexer.error;
    parser->lexer.status = FTH_OK;
    if (!function->unsupported) {
        struct fth_error *kept = fth_arena_alloc(&parser->module->arena, sizeof *kept);
        if (!kept)
            return fth_ptx_lexer_no_memory(&parser->lexer);
        *kept = *error;
        function->unsupported = kept;
    }
    *error = FTH_NO_ERROR;
    return true;
}

/* Skips an instruction that the engine cannot execute, which begins at `start`. `emitted` is the
 * number of instructions before it. */
static bool skip_unsupported(struct fth_ptx_parser *parser, const struct fth_ptx_lexer *start,
                             size_t emitted)
{
    if (!fth_ptx_keep_unsupported(parser, parser->function))
        return false;
    parser->function->code_count = emitted; /* operands can have emitted instructions */
    parser->lexer = *start;
    return fth_ptx_skip_statement(parser);
}

bool fth_ptx_parse_instruction(struct fth_ptx_parser *parser)
{
    const struct fth_ptx_lexer start = parser->lexer;
    const size_t emitted = parser->function->code_count;
    return parse_supported(parser) ||
           (parser->lexer.status == FTH_UNSUPPORTED && skip_unsupported(parser, &start, emitted));
}
