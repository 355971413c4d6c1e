/* Parses a PTX module: its directives (PTX ISA, "Directives"). Functions are parsed in function.c,
 * variables in data.c. */
#include "ptx/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

static bool parse_directive(struct fth_ptx_parser *parser)
{
    static const char *const linkage[] = {".visible", ".weak", ".extern", ".common"};
    struct fth_ptx_lexer *lexer = &parser->lexer;
    bool external = false;
    /* Linkage words can come in any order, so each match restarts the search. */
    for (size_t i = 0; i < FTH_COUNT(linkage); i++)
        if (fth_ptx_lexer_accept(lexer, linkage[i])) {
            external = external || i == 2; /* .extern */
            i = (size_t)-1;
        }
    if (fth_ptx_lexer_accept(lexer, ".entry"))
        return fth_ptx_parse_function(parser, true);
    if (fth_ptx_lexer_accept(lexer, ".func"))
        return fth_ptx_parse_function(parser, false);
    if (fth_ptx_lexer_accept(lexer, ".global"))
        return fth_ptx_parse_variable(parser, FTH_SPACE_GLOBAL, external);
    if (fth_ptx_lexer_accept(lexer, ".const"))
        return fth_ptx_parse_variable(parser, FTH_SPACE_CONST, external);
    if (fth_ptx_lexer_accept(lexer, ".shared"))
        return fth_ptx_parse_variable(parser, FTH_SPACE_SHARED, external);
    if (fth_ptx_lexer_accept(lexer, ".file"))
        return fth_ptx_parse_file(parser);
    if (fth_ptx_lexer_accept(lexer, ".pragma") || fth_ptx_lexer_accept(lexer, ".alias"))
        return fth_ptx_skip_statement(parser);
    if (fth_ptx_token_is(&lexer->token, ".section"))
        return fth_ptx_skip_braces(parser);
    return fth_ptx_lexer_fail(lexer, &lexer->token,
                              "expected a module directive such as .entry, .func or .global");
}

/* Parses .version, .target and .address_size. */
static bool parse_head(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!fth_ptx_token_is(&lexer->token, ".version"))
        return fth_ptx_lexer_fail(lexer, &lexer->token, "a PTX file must begin with .version");
    fth_ptx_lexer_next(lexer);
    fth_ptx_lexer_next(lexer);
    if (!fth_ptx_lexer_expect(lexer, ".target"))
        return false;
    do {
        if (fth_ptx_token_is(&lexer->token, "debug"))
            parser->module->keeps_variables = true;
        fth_ptx_lexer_next(lexer);
    } while (fth_ptx_lexer_accept(lexer, ","));
    if (fth_ptx_lexer_accept(lexer, ".address_size")) {
        const struct fth_ptx_token token = lexer->token;
        uint64_t bits;
        if (!fth_ptx_parse_count(parser, 64, &bits))
            return false;
        if (bits != 64)
            return fth_ptx_lexer_fail(lexer, &token, "only 64-bit addresses are supported");
    }
    return true;
}

/* Reports that a function is called which the file does not define. The runtime's functions that
 * launch kernels from kernels have names of their own. */
static void report_undefined(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                             const char *name)
{
    static const char *const launches[] = {"cudaLaunchDevice", "cudaGetParameterBuffer",
                                           "__cudaCDP2"};
    const char *text = "'%s' is called, but this file does not define it";
    for (size_t i = 0; i < FTH_COUNT(launches); i++)
        if (strncmp(name, launches[i], strlen(launches[i])) == 0)
            text = "'%s' is called: kernels that launch kernels (dynamic parallelism) are not "
                   "supported";
    fth_ptx_lexer_report(&parser->lexer, FTH_UNSUPPORTED, token, text, name);
}

/* Checks the calls of a function against the functions of the whole module. A function that was
 * declared before the call can be defined after it, with other arguments or as a kernel, or not at
 * all. */
static bool check_calls(struct fth_ptx_parser *parser, struct fth_ptx_function *function)
{
    const struct fth_ptx_module *module = parser->module;
    for (size_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        if (inst->control != K_CALL)
            continue;
        const struct fth_ptx_call_site *site = &module->calls[inst->target];
        const struct fth_ptx_function *callee = &module->functions[site->function];
        struct fth_ptx_token token = {.start = site->text, .line = site->line};
        if (!callee->has_body && callee->builtin == BUILTIN_NONE) {
            report_undefined(parser, &token, callee->name);
            if (!fth_ptx_keep_unsupported(parser, function))
                return false;
        } else if (!fth_ptx_call_fits(module, site)) {
            return fth_ptx_lexer_fail(
                &parser->lexer, &token,
                "'%s' is defined below with other arguments and results than this call has",
                callee->name);
        }
    }
    return true;
}

/* A function that calls one which the engine cannot execute cannot be executed either. Each round
 * adds the callers of the functions of the round before. */
static void spread_unsupported(struct fth_ptx_module *module)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < module->function_count; i++) {
            struct fth_ptx_function *function = &module->functions[i];
            for (size_t pc = 0; pc < function->code_count && !function->unsupported; pc++) {
                if (function->code[pc].control != K_CALL)
                    continue;
                const struct fth_ptx_call_site *site = &module->calls[function->code[pc].target];
                function->unsupported = module->functions[site->function].unsupported;
                changed = changed || function->unsupported;
            }
        }
    }
}

/* Computes what is known only after the whole module has been parsed: the address of dynamic shared
 * memory, the static shared memory of each kernel and, for observers, the code offset of each
 * instruction and the registers that it reads and writes (fth_ptx_find_operands). Rejects calls
 * that do not fit the functions.
 *
 * The static shared memory of a kernel holds two groups of variables: those of the module,
 * including the ones in bodies of functions that are not kernels (place_variable in data.c), and
 * those in its own body. The kernel's own variables follow the module variables that precede the
 * kernel in the file. Module variables that come later in the file start at the same address as the
 * kernel's own, because the kernel cannot refer to them. The exception are kernels that can call a
 * function which is declared before the kernel and defined after it: later module variables follow
 * those of these kernels (shared_floor). */
static bool finish(struct fth_ptx_parser *parser)
{
    struct fth_ptx_module *module = parser->module;
    uint64_t end = module->shared_end;
    for (size_t i = 0; i < module->function_count; i++) {
        struct fth_ptx_function *function = &module->functions[i];
        end = function->shared_end > end ? function->shared_end : end;
        if (!function->has_body)
            function->builtin = fth_ptx_find_builtin(function);
    }
    /* Dynamic shared memory is aligned to 128 bytes, or more if a declaration says so. Chosen, not
     * derived: this is more than any PTX type needs. */
    const uint64_t align = parser->dynamic_align > 128 ? parser->dynamic_align : 128;
    module->dynamic_shared = fth_ptx_align_up(end, align);
    for (size_t i = 0; i < module->function_count; i++) {
        struct fth_ptx_function *function = &module->functions[i];
        if (!fth_ptx_fuse(module, function) ||
            !fth_ptx_find_operands(module, function, module->code_bytes))
            return fth_ptx_lexer_no_memory(&parser->lexer);
        /* Each function begins at a multiple of 128 bytes (see fth_ptx_code_bytes in ptx.h). */
        module->code_bytes +=
            fth_ptx_align_up(function->code_count * FTH_PTX_INSTRUCTION_BYTES, 128);
    }
    for (size_t i = 0; i < module->function_count; i++) {
        struct fth_ptx_function *function = &module->functions[i];
        function->kernel.shared_bytes =
            function->shared_end > module->shared_end ? function->shared_end : module->shared_end;
        if (!check_calls(parser, function))
            return false;
    }
    spread_unsupported(module);
    return true;
}

/* Parses the whole text. On failure, the lexer has the status and the error. */
static bool parse_module(struct fth_ptx_parser *parser)
{
    void *parents = NULL;
    if (!fth_ptx_parser_grow(parser, &parents, 0, &parser->scope_capacity,
                             sizeof *parser->scope_parents))
        return false;
    parser->scope_parents = parents;
    parser->scope_parents[parser->scope_count++] = 0; /* scope 0 is the whole module */
    if (!parse_head(parser))
        return false;
    while (parser->lexer.token.kind != TOKEN_END)
        if (!parse_directive(parser))
            return false;
    return fth_ptx_name_places(parser) && parser->lexer.status == FTH_OK && finish(parser);
}

static void parser_destroy(struct fth_ptx_parser *parser)
{
    if (!parser)
        return;
    free(parser->scope_parents);
    free(parser->scoped);
    free(parser->labels);
    free(parser->uses);
    free(parser->files);
    free(parser);
}

enum fth_status fth_ptx_read_text(const char *name, const char *text, size_t size,
                                  struct fth_ptx_module **out, struct fth_error *error)
{
    return fth_ptx_read_text_at(name, text, size, GLOBAL_BASE, out, error);
}

enum fth_status fth_ptx_read_text_at(const char *name, const char *text, size_t size,
                                     uint64_t address, struct fth_ptx_module **out,
                                     struct fth_error *error)
{
    return fth_ptx_read_text_placed(name, text, size, address, NULL, 0, out, error);
}

enum fth_status fth_ptx_read_text_placed(const char *name, const char *text, size_t size,
                                         uint64_t address,
                                         const struct fth_ptx_placement *placements,
                                         size_t placement_count, struct fth_ptx_module **out,
                                         struct fth_error *error)
{
    *out = NULL;
    enum fth_status status = FTH_OK;
    struct fth_error fault = FTH_NO_ERROR;
    if (fth_ptx_is_binary(text, size))
        return fth_fail(error, FTH_INVALID, "read PTX", name,
                        "this is a binary file, not PTX; compile the source with 'nvcc -ptx'");
    struct fth_ptx_module *module = calloc(1, sizeof *module);
    struct fth_ptx_parser *parser = calloc(1, sizeof *parser);
    if (module) {
        module->name = fth_arena_text(&module->arena, name);
        module->text = malloc(size + 1);
    }
    if (!parser || !module || !module->name || !module->text) {
        status = fth_no_memory(error, "read PTX", name);
        goto out;
    }
    /* The symbols of the parser point into this NUL-terminated copy of the text. */
    memcpy(module->text, text, size);
    module->text[size] = '\0';
    module->global_end = address;
    parser->module = module;
    parser->placements = placements;
    parser->placement_count = placement_count;
    fth_ptx_lexer_init(&parser->lexer, name, module->text, size, &fault);
    if (!parse_module(parser)) {
        status = fth_error_move(error, &fault);
        goto out;
    }
    *out = module;
    module = NULL;
out:
    parser_destroy(parser);
    fth_ptx_destroy(module);
    return status;
}

void fth_ptx_destroy(struct fth_ptx_module *module)
{
    if (!module)
        return;
    for (size_t i = 0; i < module->function_count; i++) {
        free(module->functions[i].code);
        free(module->functions[i].wide_rows);
    }
    free(module->functions);
    free(module->variables);
    free(module->pool);
    free(module->calls);
    free(module->tables);
    free(module->text);
    fth_arena_fini(&module->arena);
    free(module);
}

const char *fth_ptx_text(const struct fth_ptx_module *module)
{
    return module->text;
}

uint64_t fth_ptx_code_bytes(const struct fth_ptx_module *module)
{
    return module->code_bytes;
}

const struct fth_ptx_kernel *fth_ptx_kernel_at(const struct fth_ptx_module *module, size_t index)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_kernel && module->functions[i].has_body && index-- == 0)
            return &module->functions[i].kernel;
    return NULL;
}

const struct fth_ptx_kernel *fth_ptx_kernel(const struct fth_ptx_module *module, const char *name)
{
    const struct fth_ptx_kernel *kernel;
    for (size_t i = 0; (kernel = fth_ptx_kernel_at(module, i)); i++)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

bool fth_ptx_variable_at(const struct fth_ptx_module *module, size_t index,
                         struct fth_ptx_variable_facts *facts)
{
    if (index >= module->variable_count)
        return false;
    const struct fth_ptx_variable *variable = &module->variables[index];
    *facts = (struct fth_ptx_variable_facts){.name = variable->name,
                                             .type = fth_ptx_type_name(variable->type),
                                             .bytes = variable->bytes,
                                             .is_constant = variable->space == FTH_SPACE_CONST,
                                             .has_data = variable->data != NULL};
    return true;
}

const struct fth_error *fth_ptx_unsupported(const struct fth_ptx_module *module, const char *name)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_kernel && module->functions[i].has_body &&
            strcmp(module->functions[i].name, name) == 0)
            return module->functions[i].unsupported;
    return NULL;
}
