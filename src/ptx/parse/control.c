/* Parses the operands of the instructions that change the control flow: calls and branches. */
#include "ptx/parse/operand.h"

/* Maximum number of arguments, and of results, of a call. */
enum { MAX_CALL_SLOTS = 64 };

/* ---- calls ---- */

/* Parses the arguments or results of a call, such as "(param0, %r1, 5)": .param variables of the
 * caller, registers and numbers. Each of them becomes a slot (row, offset, bytes). */
static bool parse_call_slots(struct fth_ptx_parser *parser, struct fth_ptx_slot **slots,
                             size_t *count)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!fth_ptx_lexer_expect(lexer, "("))
        return false;
    *count = 0;
    *slots = fth_arena_array(&parser->module->arena, MAX_CALL_SLOTS, sizeof **slots);
    if (!*slots)
        return fth_ptx_lexer_no_memory(lexer);
    if (fth_ptx_lexer_accept(lexer, ")"))
        return true;
    do {
        const struct fth_ptx_token token = lexer->token;
        const struct fth_ptx_symbol *symbol =
            token.kind == TOKEN_WORD ? fth_ptx_parser_find(parser, token.start, token.size) : NULL;
        if (*count == MAX_CALL_SLOTS)
            return fth_ptx_lexer_fail(lexer, &token,
                                      "a call can have at most 64 arguments and 64 results");
        if (symbol && symbol->kind == SYMBOL_VARIABLE &&
            symbol->variable.space == FTH_SPACE_PARAM) {
            (*slots)[(*count)++] = (struct fth_ptx_slot){NO_REGISTER, symbol->variable.address,
                                                         symbol->variable.bytes};
            fth_ptx_lexer_next(lexer);
        } else {
            struct fth_ptx_operand operand = {.kind = OPERAND_ROW};
            if (!fth_ptx_parse_simple_operand(parser, T_B64, &operand))
                return false;
            if (operand.kind != OPERAND_ROW)
                return fth_ptx_lexer_fail(lexer, &token,
                                          "expected a register, a number or a .param variable");
            (*slots)[(*count)++] = (struct fth_ptx_slot){operand.row, 0, 8};
        }
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ")");
}

/* Parses the results of a call, such as "(%r1), ", if there are any. */
static bool parse_results(struct fth_ptx_parser *parser, struct fth_ptx_call_site *site)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const struct fth_ptx_token token = lexer->token;
    if (!fth_ptx_token_is(&token, "("))
        return true;
    size_t emitted = parser->function->code_count;
    if (!parse_call_slots(parser, &site->results, &site->result_count) ||
        !fth_ptx_lexer_expect(lexer, ","))
        return false;
    /* A special register or an address emits an instruction that reads it, and cannot receive a
     * result. */
    bool valid = parser->function->code_count == emitted;
    for (size_t i = 0; i < site->result_count; i++)
        if (site->results[i].row < 0 && site->results[i].row != NO_REGISTER)
            valid = false;
    return valid ||
           fth_ptx_lexer_fail(lexer, &token, "a result must be a register or a .param variable");
}

/* Parses what is called: the name of a function, or a register with the address of one. */
static bool parse_callee(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                         struct fth_ptx_call_site *site)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const struct fth_ptx_token token = lexer->token;
    struct fth_ptx_symbol *symbol = NULL;
    uint32_t number;
    site->text = token.start;
    site->line = token.line;
    if (token.kind == TOKEN_WORD &&
        fth_ptx_parser_find_register(parser, &token, &symbol, &number) &&
        symbol->kind == SYMBOL_REGISTER) {
        inst->control = K_CALL_INDIRECT;
        inst->s[0] = (int32_t)number;
        site->function = UINT32_MAX;
    } else {
        symbol = fth_ptx_parser_find(parser, token.start, token.size);
        if (token.kind != TOKEN_WORD || !symbol || symbol->kind != SYMBOL_FUNCTION)
            return fth_ptx_lexer_fail(lexer, &token, "expected a declared function or a register");
        inst->control = K_CALL;
        site->function = symbol->first;
    }
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Parses ", (arguments)[, prototype]" after the name of the function. */
static bool parse_arguments(struct fth_ptx_parser *parser, struct fth_ptx_call_site *site)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!fth_ptx_lexer_accept(lexer, ","))
        return true;
    if (fth_ptx_token_is(&lexer->token, "(") &&
        !parse_call_slots(parser, &site->arguments, &site->argument_count))
        return false;
    fth_ptx_lexer_accept(lexer, ",");
    if (lexer->token.kind == TOKEN_WORD) /* the prototype of an indirect call */
        fth_ptx_lexer_next(lexer);
    return true;
}

bool fth_ptx_call_fits(const struct fth_ptx_module *module, const struct fth_ptx_call_site *site)
{
    if (site->function == UINT32_MAX)
        return true;
    const struct fth_ptx_function *callee = &module->functions[site->function];
    return !callee->is_kernel &&
           fth_ptx_slots_match(site->arguments, site->argument_count, callee->arguments,
                               callee->argument_count) &&
           fth_ptx_slots_match(site->results, site->result_count, callee->results,
                               callee->result_count);
}

/* Parses the operands of "call (result), function, (arguments)[, prototype];". */
bool fth_ptx_parse_call(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst)
{
    struct fth_ptx_module *module = parser->module;
    struct fth_ptx_call_site site = {0};
    if (!parse_results(parser, &site))
        return false;
    const struct fth_ptx_token name = parser->lexer.token;
    if (!parse_callee(parser, inst, &site) || !parse_arguments(parser, &site))
        return false;
    if (!fth_ptx_call_fits(module, &site))
        return fth_ptx_lexer_fail(&parser->lexer, &name,
                                  "'%s' is not a function with these arguments and results",
                                  module->functions[site.function].name);
    void *calls = module->calls;
    if (!fth_ptx_parser_grow(parser, &calls, module->call_count, &module->call_capacity,
                             sizeof *module->calls))
        return false;
    module->calls = calls;
    inst->target = (uint32_t)module->call_count;
    module->calls[module->call_count++] = site;
    return true;
}

/* ---- branches ---- */

/* Parses the operand of "bra LABEL;". fth_ptx_parser_resolve_labels sets the target. */
bool fth_ptx_parse_branch(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (lexer->token.kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, &lexer->token, "expected a label");
    if (!fth_ptx_parser_use_label(parser, &lexer->token, (uint32_t)parser->function->code_count,
                                  NULL))
        return false;
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Parses the operands of "brx.idx %r1, TABLE;". */
bool fth_ptx_parse_table_branch(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_operand operand;
    if (!fth_ptx_parse_operand(parser, T_U32, &operand) || !fth_ptx_lexer_expect(lexer, ","))
        return false;
    const struct fth_ptx_symbol *symbol =
        fth_ptx_parser_find(parser, lexer->token.start, lexer->token.size);
    if (operand.kind != OPERAND_ROW || !symbol || symbol->kind != SYMBOL_TABLE)
        return fth_ptx_lexer_fail(lexer, &lexer->token,
                                  "expected an index and the name of a .branchtargets list");
    fth_ptx_lexer_next(lexer);
    inst->s[0] = operand.row;
    inst->target = symbol->first;
    return true;
}
