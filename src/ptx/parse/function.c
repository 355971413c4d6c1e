/* Parses functions and kernels: parameters, directives and bodies (PTX ISA, "Kernel and Function
 * Directives"). Variables and registers are parsed in data.c, instructions in assemble.c; names.c
 * keeps the symbols. */
#include "ptx/parse/parser.h"

#include <string.h>

/* Appends a parameter or result, and reserves its space in the function's parameter memory. (A
 * parameter in a register leaves that space unused.) The new slot has no register yet. */
static bool add_slot(struct fth_ptx_parser *parser, struct fth_ptx_slot **slots, size_t *count,
                     const struct fth_ptx_declaration *declaration)
{
    /* Functions have few parameters, so copying the array for each one is cheap. */
    struct fth_ptx_slot *more = fth_arena_array(&parser->module->arena, *count + 1, sizeof *more);
    if (!more)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    if (*count)
        memcpy(more, *slots, *count * sizeof *more);
    struct fth_ptx_function *function = parser->function;
    function->param_bytes = fth_ptx_align_up(function->param_bytes, declaration->align);
    more[(*count)++] =
        (struct fth_ptx_slot){NO_REGISTER, function->param_bytes, declaration->bytes};
    function->param_bytes += declaration->bytes;
    *slots = more;
    return true;
}

/* Parses a parameter or result in a register, such as ".reg .b32 x", after ".reg". slot.row is the
 * index of the register. (Registers are rows of values, one per lane; see struct fth_ptx_slot.) */
static bool parse_register_parameter(struct fth_ptx_parser *parser, struct fth_ptx_slot **slots,
                                     size_t *count)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_declaration declaration;
    if (!fth_ptx_parse_declaration(parser, &declaration))
        return false;
    struct fth_ptx_symbol *symbol =
        fth_ptx_parser_define(parser, &declaration.name, SYMBOL_REGISTER);
    if (!symbol || !add_slot(parser, slots, count, &declaration))
        return false;
    if (declaration.dimensions)
        return fth_ptx_lexer_fail(lexer, &declaration.name,
                                  "a parameter in a register cannot be an array");
    symbol->type = declaration.type;
    symbol->count = 1;
    symbol->first = parser->function->register_count++;
    (*slots)[*count - 1].row = (int32_t)symbol->first;
    return true;
}

static bool add_kernel_parameter(struct fth_ptx_parser *parser,
                                 const struct fth_ptx_declaration *declaration)
{
    struct fth_ptx_kernel *kernel = &parser->function->kernel;
    size_t count = kernel->parameter_count;
    struct fth_ptx_parameter *more =
        fth_arena_array(&parser->module->arena, count + 1, sizeof *more);
    if (!more)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    if (count)
        memcpy(more, kernel->parameters, count * sizeof *more);
    const char *name =
        fth_ptx_parser_copy_text(parser, declaration->name.start, declaration->name.size);
    if (!name)
        return false;
    size_t offset = fth_ptx_align_up(kernel->parameter_bytes, declaration->align);
    more[count] = (struct fth_ptx_parameter){name, offset, declaration->bytes,
                                             fth_ptx_type_name(declaration->type)};
    kernel->parameters = more;
    kernel->parameter_count = count + 1;
    kernel->parameter_bytes = offset + declaration->bytes;
    return true;
}

/* Parses the parameters of a kernel or function, or its results, such as
 * "(.param .b32 a, .param .align 8 .b8 b[16])". */
static bool parse_parameters(struct fth_ptx_parser *parser, bool results)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_function *function = parser->function;
    if (!fth_ptx_lexer_expect(lexer, "("))
        return false;
    if (fth_ptx_lexer_accept(lexer, ")"))
        return true;
    do {
        struct fth_ptx_declaration declaration;
        struct fth_ptx_slot **slots = results ? &function->results : &function->arguments;
        size_t *count = results ? &function->result_count : &function->argument_count;
        if (!function->is_kernel && fth_ptx_lexer_accept(lexer, ".reg")) {
            if (!parse_register_parameter(parser, slots, count))
                return false;
            continue;
        }
        if (!fth_ptx_lexer_expect(lexer, ".param") ||
            !fth_ptx_parse_declaration(parser, &declaration))
            return false;
        struct fth_ptx_symbol *symbol =
            fth_ptx_parser_define(parser, &declaration.name, SYMBOL_VARIABLE);
        if (!symbol)
            return false;
        symbol->type = declaration.type;
        symbol->variable =
            (struct fth_ptx_variable){.space = FTH_SPACE_PARAM, .bytes = declaration.bytes};
        if (function->is_kernel) {
            if (!add_kernel_parameter(parser, &declaration))
                return false;
            /* SPACE_ARGUMENT is an additional space that only the engine uses (engine.h). */
            symbol->variable.space = (enum fth_ptx_space)SPACE_ARGUMENT;
            symbol->variable.address =
                function->kernel.parameters[function->kernel.parameter_count - 1].offset;
        } else {
            if (!add_slot(parser, slots, count, &declaration))
                return false;
            symbol->variable.address = (*slots)[*count - 1].offset;
        }
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ")");
}

bool fth_ptx_skip_statement(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    while (lexer->token.kind != TOKEN_END && !fth_ptx_token_is(&lexer->token, ";"))
        fth_ptx_lexer_next(lexer);
    return fth_ptx_lexer_expect(lexer, ";");
}

bool fth_ptx_skip_braces(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    while (lexer->token.kind != TOKEN_END && !fth_ptx_token_is(&lexer->token, "{"))
        fth_ptx_lexer_next(lexer);
    while (lexer->token.kind != TOKEN_END && !fth_ptx_token_is(&lexer->token, "}"))
        fth_ptx_lexer_next(lexer);
    return fth_ptx_lexer_expect(lexer, "}");
}

/* Parses a branch table, "NAME: .branchtargets L1, L2;", after ".branchtargets". */
static bool parse_branch_table(struct fth_ptx_parser *parser, const struct fth_ptx_token *name)
{
    struct fth_ptx_module *module = parser->module;
    void *tables = module->tables;
    if (!fth_ptx_parser_grow(parser, &tables, module->table_count, &module->table_capacity,
                             sizeof *module->tables))
        return false;
    module->tables = tables;
    struct fth_ptx_symbol *symbol = fth_ptx_parser_define(parser, name, SYMBOL_TABLE);
    if (!symbol)
        return false;
    symbol->first = (uint32_t)module->table_count;
    /* The labels are counted first, because fth_ptx_parser_use_label keeps pointers into the array.
     */
    struct fth_ptx_lexer *lexer = &parser->lexer, ahead = parser->lexer;
    size_t count = 1;
    ahead.error = NULL; /* the lexer itself will report it */
    while (ahead.token.kind != TOKEN_END && !fth_ptx_token_is(&ahead.token, ";")) {
        count += fth_ptx_token_is(&ahead.token, ",");
        fth_ptx_lexer_next(&ahead);
    }
    uint32_t *targets = fth_arena_array(&module->arena, count, sizeof *targets);
    if (!targets)
        return fth_ptx_lexer_no_memory(lexer);
    module->tables[module->table_count++] = (struct fth_ptx_branch_table){count, targets};
    size_t i = 0;
    do {
        if (lexer->token.kind != TOKEN_WORD)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "expected a label");
        /* UINT32_MAX: the label is used by an element of the table, not by a branch. */
        if (!fth_ptx_parser_use_label(parser, &lexer->token, UINT32_MAX, &targets[i++]))
            return false;
        fth_ptx_lexer_next(lexer);
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ";");
}

/* Parses a directive in the body of a function. *done is false if the current token does not begin
 * one. */
static bool parse_body_directive(struct fth_ptx_parser *parser, bool *done)
{
    static const struct {
        const char *word;
        enum fth_ptx_space space;
    } spaces[] = {{".local", FTH_SPACE_LOCAL},
                  {".shared", FTH_SPACE_SHARED},
                  {".param", FTH_SPACE_PARAM},
                  {".global", FTH_SPACE_GLOBAL},
                  {".const", FTH_SPACE_CONST}};
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *done = true;
    for (size_t i = 0; i < FTH_COUNT(spaces); i++)
        if (fth_ptx_lexer_accept(lexer, spaces[i].word))
            return fth_ptx_parse_variable(parser, spaces[i].space, false);
    if (fth_ptx_lexer_accept(lexer, ".reg"))
        return fth_ptx_parse_registers(parser);
    if (fth_ptx_lexer_accept(lexer, ".loc"))
        return fth_ptx_parse_location(parser);
    if (fth_ptx_lexer_accept(lexer, ".pragma"))
        return fth_ptx_skip_statement(parser);
    if (fth_ptx_token_is(&lexer->token, ".section"))
        return fth_ptx_skip_braces(parser);
    *done = false;
    return true;
}

static bool parse_statement(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    bool done;
    if (!parse_body_directive(parser, &done))
        return false;
    if (done)
        return true;
    /* A label is a word before a colon. */
    if (lexer->token.kind == TOKEN_WORD) {
        const struct fth_ptx_lexer ahead = fth_ptx_lexer_ahead(lexer);
        if (fth_ptx_token_is(&ahead.token, ":")) {
            const struct fth_ptx_token name = lexer->token;
            fth_ptx_lexer_next(lexer);
            fth_ptx_lexer_next(lexer);
            if (fth_ptx_lexer_accept(lexer, ".branchtargets"))
                return parse_branch_table(parser, &name);
            if (fth_ptx_lexer_accept(lexer, ".callprototype") ||
                fth_ptx_lexer_accept(lexer, ".calltargets"))
                return fth_ptx_parser_define(parser, &name, SYMBOL_PROTOTYPE) &&
                       fth_ptx_skip_statement(parser);
            return fth_ptx_parser_define_label(parser, &name);
        }
    }
    return fth_ptx_parse_instruction(parser);
}

static bool parse_body(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    uint32_t outermost = parser->depth;
    if (!fth_ptx_lexer_expect(lexer, "{"))
        return false;
    while (lexer->status == FTH_OK) {
        if (fth_ptx_lexer_accept(lexer, "{")) {
            if (!fth_ptx_parser_open_scope(parser))
                return false;
        } else if (fth_ptx_token_is(&lexer->token, "}")) {
            fth_ptx_lexer_next(lexer);
            if (parser->depth == outermost)
                break;
            fth_ptx_parser_close_scope(parser);
        } else if (!parse_statement(parser)) {
            return false;
        }
    }
    if (lexer->status != FTH_OK)
        return false;
    /* Append a ret, for two reasons: control that reaches the end of the body returns, and a label
     * at the end needs an instruction to refer to. */
    struct fth_ptx_inst *last = fth_ptx_parser_emit(parser, &lexer->token, "ret");
    if (!last)
        return false;
    last->control = K_RETURN;
    return fth_ptx_parser_resolve_labels(parser);
}

/* Parses the directives between the parameters and the body (or the semicolon) of a function.
 * Stores the numbers of .maxntid, .reqntid and .reqnctapercluster, for example of
 * ".maxntid 256, 1, 1"; numbers that are left out become 1. Stores the number of .maxnreg and
 * .minnctapersm. Skips all other directives. */
static bool parse_function_directives(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    while (lexer->token.kind == TOKEN_WORD && *lexer->token.start == '.') {
        uint32_t *sizes =
            fth_ptx_token_is(&lexer->token, ".maxntid")   ? parser->function->kernel.max_block
            : fth_ptx_token_is(&lexer->token, ".reqntid") ? parser->function->kernel.required_block
            : fth_ptx_token_is(&lexer->token, ".reqnctapercluster")
                ? parser->function->kernel.required_cluster
                : NULL;
        uint32_t *number = fth_ptx_token_is(&lexer->token, ".maxnreg")
                               ? &parser->function->kernel.max_registers
                           : fth_ptx_token_is(&lexer->token, ".minnctapersm")
                               ? &parser->function->kernel.min_blocks
                               : NULL;
        const bool pragma = fth_ptx_token_is(&lexer->token, ".pragma");
        fth_ptx_lexer_next(lexer);
        for (int i = 0; lexer->token.kind == TOKEN_INTEGER; i++) {
            if (sizes && i < 3)
                sizes[i] = (uint32_t)lexer->token.integer;
            if (number && i == 0)
                *number = (uint32_t)lexer->token.integer;
            fth_ptx_lexer_next(lexer);
            fth_ptx_lexer_accept(lexer, ",");
        }
        for (int i = 1; sizes && sizes[0] && i < 3; i++)
            if (sizes[i] == 0)
                sizes[i] = 1;
        while (lexer->token.kind == TOKEN_STRING) {
            fth_ptx_lexer_next(lexer);
            fth_ptx_lexer_accept(lexer, ",");
        }
        if (pragma)
            fth_ptx_lexer_accept(lexer, ";");
    }
    return lexer->status == FTH_OK;
}

/* Returns the function of this name. Adds it first if the module has not declared it yet. Reports
 * an error and returns NULL if the name is that of a variable, or when out of memory. */
static struct fth_ptx_function *find_or_add_function(struct fth_ptx_parser *parser,
                                                     const struct fth_ptx_token *token)
{
    struct fth_ptx_module *module = parser->module;
    const struct fth_ptx_symbol *symbol = fth_ptx_parser_find(parser, token->start, token->size);
    if (symbol && symbol->kind == SYMBOL_FUNCTION)
        return &module->functions[symbol->first];
    void *functions = module->functions;
    if (!fth_ptx_parser_grow(parser, &functions, module->function_count, &module->function_capacity,
                             sizeof *module->functions))
        return NULL;
    module->functions = functions;
    /* Functions are visible in the whole module, so the name belongs to the outermost scope, which
     * has depth 0. The depth is set only to make this explicit: PTX functions are not nested, so it
     * is 0 in any case. */
    uint32_t depth = parser->depth;
    parser->depth = 0;
    struct fth_ptx_symbol *defined = fth_ptx_parser_define(parser, token, SYMBOL_FUNCTION);
    parser->depth = depth;
    if (!defined)
        return NULL;
    const char *name = fth_ptx_parser_copy_text(parser, token->start, token->size);
    if (!name)
        return NULL;
    defined->first = (uint32_t)module->function_count;
    module->functions[module->function_count] = (struct fth_ptx_function){.name = name};
    return &module->functions[module->function_count++];
}

/* Returns true if the file has declared functions that it can still define. */
static bool lacks_definitions(const struct fth_ptx_module *module)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (!module->functions[i].has_body &&
            fth_ptx_find_builtin(&module->functions[i]) == BUILTIN_NONE)
            return true;
    return false;
}

/* Sets the C++ name of a kernel. False: memory is exhausted. */
static bool set_display_name(struct fth_ptx_parser *parser, struct fth_ptx_kernel *kernel)
{
    char text[FTH_NAME_BYTES];
    kernel->display_name = fth_demangle(kernel->name, FTH_NAME_SHORT, text, sizeof text)
                               ? fth_arena_text(&parser->module->arena, text)
                               : kernel->name;
    return kernel->display_name || fth_ptx_lexer_no_memory(&parser->lexer);
}

bool fth_ptx_parse_function(struct fth_ptx_parser *parser, bool is_kernel)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    /* The results precede the name. They are skipped here and parsed when the function is known. */
    struct fth_ptx_lexer result = *lexer;
    bool has_result = !is_kernel && fth_ptx_token_is(&lexer->token, "(");
    if (has_result)
        while (lexer->token.kind != TOKEN_END && !fth_ptx_lexer_accept(lexer, ")"))
            fth_ptx_lexer_next(lexer);
    const struct fth_ptx_token name = lexer->token;
    if (name.kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, &name, "expected a function name");
    struct fth_ptx_function *function = find_or_add_function(parser, &name);
    if (!function)
        return false;
    if (function->has_body)
        return fth_ptx_lexer_fail(lexer, &name, "function '%s' already has a body", function->name);
    *function = (struct fth_ptx_function){.name = function->name, .is_kernel = is_kernel};
    function->kernel.name = function->name;
    if (is_kernel && !set_display_name(parser, &function->kernel))
        return false;
    parser->function = function;
    parser->function_index = (size_t)(function - parser->module->functions);
    parser->function_shared_end = parser->module->shared_end;
    parser->file = 0;
    parser->source = NULL;
    if (!fth_ptx_parser_open_scope(parser))
        return false;
    fth_ptx_lexer_next(lexer);
    struct fth_ptx_lexer after_name = *lexer;
    if (has_result) {
        *lexer = result;
        if (!parse_parameters(parser, true))
            return false;
        *lexer = after_name;
    }
    bool ok = !fth_ptx_token_is(&lexer->token, "(") || parse_parameters(parser, false);
    ok = ok && parse_function_directives(parser);
    if (ok && !fth_ptx_lexer_accept(lexer, ";")) {
        ok = parse_body(parser);
        /* Look up the function again by its index. This is only a precaution for the case that the
         * array of functions moves; parsing a body adds no function, so it does not. */
        function = &parser->module->functions[parser->function_index];
        function->has_body = ok;
        function->shared_end = parser->function_shared_end;
        if (is_kernel && lacks_definitions(parser->module) &&
            function->shared_end > parser->shared_floor)
            parser->shared_floor = function->shared_end;
    }
    fth_ptx_parser_close_scope(parser);
    parser->function = NULL;
    return ok;
}
