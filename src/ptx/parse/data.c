/* Parses types and declarations: variables with their initial values, and registers. Also assigns
 * their addresses and register numbers. */
#include "ptx/parse/parser.h"

#include <string.h>

/* Limits that reject nonsensical files before they exhaust the host's memory: 64 GiB per variable,
 * and 100,000 registers and as many predicates per function. Chosen, not derived. */
#define MAX_VARIABLE_BYTES ((uint64_t)1 << 36)
#define MAX_REGISTERS 100000u

/* ---- numbers ---- */

bool fth_ptx_parse_count(struct fth_ptx_parser *parser, uint64_t max, uint64_t *count)
{
    const struct fth_ptx_token token = parser->lexer.token;
    if (token.kind != TOKEN_INTEGER || token.integer > max)
        return fth_ptx_lexer_fail(&parser->lexer, &token, "expected an integer of at most %llu",
                                  (unsigned long long)max);
    *count = token.integer;
    fth_ptx_lexer_next(&parser->lexer);
    return true;
}

uint64_t fth_ptx_align_up(uint64_t address, uint64_t align)
{
    return (address + align - 1) / align * align;
}

/* ---- declarations of memory ---- */

/* Returns the number of elements of the outermost list of an initial value, which begins at the
 * next token. */
static uint64_t count_initial_values(const struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer ahead = fth_ptx_lexer_ahead(&parser->lexer);
    uint64_t commas = 0, depth = 0, tokens = 0;
    do {
        depth += fth_ptx_token_is(&ahead.token, "{");
        depth -= depth && fth_ptx_token_is(&ahead.token, "}");
        commas += depth == 1 && fth_ptx_token_is(&ahead.token, ",");
        tokens++;
        fth_ptx_lexer_next(&ahead);
    } while (depth && ahead.token.kind != TOKEN_END);
    return tokens > 2 ? commas + 1 : 0; /* two tokens: {} */
}

/* Parses the dimensions of an array, such as "[2][3]", and computes the size of the variable. The
 * first dimension can be open: "[]". */
static bool parse_dimensions(struct fth_ptx_parser *parser, struct fth_ptx_declaration *out)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    while (fth_ptx_lexer_accept(lexer, "[")) {
        if (out->dimensions == MAX_DIMENSIONS)
            return fth_ptx_lexer_fail(lexer, &out->name, "an array can have at most %d dimensions",
                                      MAX_DIMENSIONS);
        uint64_t *size = &out->sizes[out->dimensions];
        if (out->dimensions == 0 && fth_ptx_token_is(&lexer->token, "]"))
            out->open_array = true;
        else if (!fth_ptx_parse_count(parser, MAX_VARIABLE_BYTES, size))
            return false;
        out->dimensions++;
        if (!fth_ptx_lexer_expect(lexer, "]"))
            return false;
    }
    if (out->open_array && fth_ptx_token_is(&lexer->token, "="))
        out->sizes[0] = count_initial_values(parser);
    out->bytes = (uint64_t)fth_ptx_type_bytes(out->type) * out->vector;
    for (unsigned i = 0; i < out->dimensions; i++) {
        if (out->sizes[i] && out->bytes > MAX_VARIABLE_BYTES / out->sizes[i])
            return fth_ptx_lexer_fail(lexer, &out->name, "the variable is larger than 64 GiB");
        out->bytes *= out->sizes[i];
    }
    return true;
}

bool fth_ptx_parse_declaration(struct fth_ptx_parser *parser, struct fth_ptx_declaration *out)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *out = (struct fth_ptx_declaration){.vector = 1};
    while (lexer->token.kind == TOKEN_WORD && *lexer->token.start == '.') {
        const struct fth_ptx_token token = lexer->token;
        enum fth_ptx_type type = fth_ptx_type_find(token.start, token.size);
        fth_ptx_lexer_next(lexer);
        if (fth_ptx_token_is(&token, ".align")) {
            uint64_t align;
            if (!fth_ptx_parse_count(parser, 4096, &align))
                return false;
            if (align == 0 || (align & (align - 1)))
                return fth_ptx_lexer_fail(lexer, &token, "the alignment must be a power of two");
            /* An .align after the type belongs to .ptr: the alignment of the data pointed to. */
            if (out->type == T_NONE)
                out->align = align;
        } else if (fth_ptx_token_is(&token, ".v2") || fth_ptx_token_is(&token, ".v4")) {
            out->vector = fth_ptx_token_is(&token, ".v2") ? 2 : 4;
        } else if (fth_ptx_token_is(&token, ".attribute")) {
            while (lexer->token.kind != TOKEN_END && !fth_ptx_lexer_accept(lexer, ")"))
                fth_ptx_lexer_next(lexer);
        } else if (type != T_NONE) {
            out->type = type;
        } else if (fth_ptx_token_is(&token, ".texref") || fth_ptx_token_is(&token, ".surfref") ||
                   fth_ptx_token_is(&token, ".samplerref")) {
            out->type = T_B64; /* the handle of a texture or surface (fth_ptx_bind) */
        } else if (!fth_ptx_token_is(&token, ".ptr") && !fth_ptx_token_is(&token, ".global") &&
                   !fth_ptx_token_is(&token, ".const") && !fth_ptx_token_is(&token, ".shared") &&
                   !fth_ptx_token_is(&token, ".local")) {
            return fth_ptx_lexer_fail(lexer, &token, "unsupported type or attribute");
        }
    }
    if (out->type == T_NONE || out->type == T_PRED || lexer->token.kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, &lexer->token, "expected a type and a name");
    out->name = lexer->token;
    fth_ptx_lexer_next(lexer);
    if (!parse_dimensions(parser, out))
        return false;
    if (out->align == 0)
        out->align = (uint64_t)fth_ptx_type_bytes(out->type) * out->vector;
    return true;
}

/* Parses a symbol in an initialiser: NAME or generic(NAME), with an optional offset. The generic
 * address of a global or constant variable equals its address in its own space. */
static bool parse_initial_symbol(struct fth_ptx_parser *parser, uint64_t *value)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    bool generic = fth_ptx_lexer_accept(lexer, "generic");
    if (generic && !fth_ptx_lexer_expect(lexer, "("))
        return false;
    const struct fth_ptx_token token = lexer->token;
    const struct fth_ptx_symbol *symbol = fth_ptx_parser_find(parser, token.start, token.size);
    if (symbol && symbol->kind == SYMBOL_FUNCTION)
        *value = CODE_WINDOW + (uint64_t)16 * symbol->first;
    else if (symbol && symbol->kind == SYMBOL_VARIABLE &&
             (symbol->variable.space == FTH_SPACE_GLOBAL ||
              symbol->variable.space == FTH_SPACE_CONST))
        *value = symbol->variable.address;
    else
        return fth_ptx_lexer_fail(lexer, &token,
                                  "expected a .global or .const variable or a function");
    fth_ptx_lexer_next(lexer);
    if (generic && !fth_ptx_lexer_expect(lexer, ")"))
        return false;
    while (fth_ptx_token_is(&lexer->token, "+") || fth_ptx_token_is(&lexer->token, "-")) {
        bool minus = fth_ptx_token_is(&lexer->token, "-");
        uint64_t offset = 0;
        fth_ptx_lexer_next(lexer);
        if (!fth_ptx_parse_count(parser, INT64_MAX, &offset))
            return false;
        *value = minus ? *value - offset : *value + offset;
    }
    return true;
}

/* Parses one initial value and appends it to the values. */
static bool parse_initial_value(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                                struct fth_buffer *values)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    uint64_t bits;
    bool minus = fth_ptx_lexer_accept(lexer, "-");
    const struct fth_ptx_token token = lexer->token;
    if (token.kind == TOKEN_WORD) {
        if (!parse_initial_symbol(parser, &bits))
            return false;
    } else if (token.kind == TOKEN_INTEGER || token.kind == TOKEN_FLOAT32 ||
               token.kind == TOKEN_FLOAT64) {
        bits = token.integer;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (token.kind == TOKEN_FLOAT64 && type == T_F32) {
            float single = (float)(minus ? -value : value);
            uint32_t word;
            memcpy(&word, &single, sizeof word);
            bits = word;
        } else if (token.kind == TOKEN_FLOAT64 && minus) {
            bits ^= (uint64_t)1 << 63;
        } else if (token.kind == TOKEN_INTEGER && minus) {
            bits = -bits;
        }
        fth_ptx_lexer_next(lexer);
    } else {
        return fth_ptx_lexer_fail(lexer, &token, "expected a number or a name");
    }
    /* The high half of a number of 128 bits is zero, also of a negative one (ptxas 13.0). */
    const uint64_t halves[2] = {bits, 0};
    fth_buffer_append(values, halves, fth_ptx_type_bytes(type));
    return true;
}

/* Parses the initial value of a variable or, from `dimension` on, of a part of it, such as "5",
 * "{1, 2}" or "{{1, 2}, {3}}": a list in braces for each dimension and for a vector. Lists of
 * dimensions can be shorter than these. The values fill the variable in the order of the text, as
 * NVIDIA's assembler does (ptxas 13.0): the braces of short lists leave no gaps. Appends the values
 * to `values`. */
static bool parse_initialiser(struct fth_ptx_parser *parser,
                              const struct fth_ptx_declaration *declaration, unsigned dimension,
                              struct fth_buffer *values)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const bool in_array = dimension < declaration->dimensions;
    const bool in_vector = dimension == declaration->dimensions && declaration->vector > 1;
    if (!in_array && !in_vector)
        return parse_initial_value(parser, declaration->type, values);
    const uint64_t size = in_array ? declaration->sizes[dimension] : declaration->vector;
    uint64_t count = 0;
    if (!fth_ptx_lexer_expect(lexer, "{"))
        return false;
    const struct fth_ptx_token first = lexer->token;
    if (!(in_array && fth_ptx_token_is(&first, "}")))
        do {
            if (count++ == size)
                return fth_ptx_lexer_fail(lexer, &lexer->token,
                                          "more initial values than the variable has elements");
            if (!parse_initialiser(parser, declaration, dimension + 1, values))
                return false;
        } while (fth_ptx_lexer_accept(lexer, ","));
    if (in_vector && count != size)
        return fth_ptx_lexer_fail(lexer, &first, "expected %u values of a vector",
                                  declaration->vector);
    return fth_ptx_lexer_expect(lexer, "}");
}

/* Parses the initial value of a variable in global or constant memory. */
static bool parse_initial_data(struct fth_ptx_parser *parser,
                               const struct fth_ptx_declaration *declaration,
                               struct fth_ptx_variable *variable)
{
    struct fth_buffer values = {0};
    bool ok = parse_initialiser(parser, declaration, 0, &values);
    if (ok && values.size > 0)
        variable->data = fth_arena_alloc(&parser->module->arena, values.size);
    if (variable->data) {
        memcpy(variable->data, values.data, values.size);
        variable->data_bytes = values.size;
    }
    if (ok && (values.failed || (values.size > 0 && !variable->data)))
        ok = fth_ptx_lexer_no_memory(&parser->lexer);
    fth_buffer_fini(&values);
    return ok;
}

/* Returns the address that the caller has chosen for a variable, or NULL. */
static const uint64_t *find_placement(const struct fth_ptx_parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->placement_count; i++)
        if (strcmp(parser->placements[i].variable, name) == 0)
            return &parser->placements[i].address;
    return NULL;
}

/* Adds a global or constant variable to the module and assigns its address. */
static struct fth_ptx_variable *add_global(struct fth_ptx_parser *parser,
                                           const struct fth_ptx_declaration *declaration,
                                           enum fth_ptx_space space)
{
    struct fth_ptx_module *module = parser->module;
    void *variables = module->variables;
    if (!fth_ptx_parser_grow(parser, &variables, module->variable_count, &module->variable_capacity,
                             sizeof *module->variables))
        return NULL;
    module->variables = variables;
    /* Variables are aligned to 256 bytes, as in an allocator, with a gap of at least one byte
     * between them. An access beyond the end of a variable is therefore a fault. */
    uint64_t align = declaration->align > 256 ? declaration->align : 256;
    uint64_t address = fth_ptx_align_up(module->global_end + 1, align);
    const char *name =
        fth_ptx_parser_copy_text(parser, declaration->name.start, declaration->name.size);
    if (!name)
        return NULL;
    const uint64_t *placement = find_placement(parser, name);
    if (placement)
        address = *placement;
    else
        module->global_end = address + declaration->bytes;
    struct fth_ptx_variable *variable = &module->variables[module->variable_count++];
    *variable = (struct fth_ptx_variable){.name = name,
                                          .type = declaration->type,
                                          .space = space,
                                          .address = address,
                                          .bytes = declaration->bytes,
                                          .align = declaration->align,
                                          .is_placed = placement != NULL};
    return variable;
}

/* Assigns the address of a shared, local or parameter variable in its space. */
static uint64_t place_variable(struct fth_ptx_parser *parser, enum fth_ptx_space space,
                               const struct fth_ptx_declaration *declaration)
{
    uint64_t *end = &parser->module->shared_end;
    if (space == FTH_SPACE_LOCAL)
        end = &parser->function->local_bytes;
    else if (space == FTH_SPACE_PARAM)
        end = &parser->function->param_bytes;
    else if (parser->function && parser->function->is_kernel)
        end = &parser->function_shared_end;
    /* A variable that a function uses must not overlap those of the kernels that can call it. */
    uint64_t start = end == &parser->module->shared_end && parser->shared_floor > *end
                         ? parser->shared_floor
                         : *end;
    uint64_t address = fth_ptx_align_up(start, declaration->align);
    *end = address + declaration->bytes;
    return address;
}

bool fth_ptx_parse_variable(struct fth_ptx_parser *parser, enum fth_ptx_space space, bool external)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_declaration declaration;
    do {
        if (!fth_ptx_parse_declaration(parser, &declaration))
            return false;
        struct fth_ptx_symbol *symbol =
            fth_ptx_parser_define(parser, &declaration.name, SYMBOL_VARIABLE);
        if (!symbol)
            return false;
        symbol->type = declaration.type;
        symbol->variable = (struct fth_ptx_variable){
            .space = space, .bytes = declaration.bytes, .align = declaration.align};
        bool dynamic = space == FTH_SPACE_SHARED && (external || declaration.open_array);
        if (dynamic) {
            if (declaration.align > parser->dynamic_align)
                parser->dynamic_align = declaration.align;
            symbol->variable.address =
                UINT64_MAX; /* after all static variables: computed in finish() */
        } else if (space == FTH_SPACE_GLOBAL || space == FTH_SPACE_CONST) {
            if (external)
                return fth_ptx_lexer_fail(
                    lexer, &declaration.name,
                    "external variables are not supported: modules are not linked");
            struct fth_ptx_variable *variable = add_global(parser, &declaration, space);
            if (!variable)
                return false;
            symbol->variable.address = variable->address;
            if (fth_ptx_lexer_accept(lexer, "=") &&
                !parse_initial_data(parser, &declaration, variable))
                return false;
        } else {
            symbol->variable.address = place_variable(parser, space, &declaration);
        }
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ";");
}

/* Example: .reg .b32 %r<100>, %x; */
/* Remembers registers of 64 bits or more. */
static bool add_wide_rows(struct fth_ptx_parser *parser, const struct fth_ptx_symbol *symbol)
{
    struct fth_ptx_function *function = parser->function;
    void *rows = function->wide_rows;
    if (!fth_ptx_parser_grow(parser, &rows, function->wide_count, &function->wide_capacity,
                             sizeof *function->wide_rows))
        return false;
    function->wide_rows = rows;
    function->wide_rows[function->wide_count++] =
        (struct fth_ptx_rows){symbol->first, symbol->count};
    return true;
}

bool fth_ptx_parse_registers(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_function *function = parser->function;
    while (fth_ptx_lexer_accept(lexer, ".v2") || fth_ptx_lexer_accept(lexer, ".v4"))
        return fth_ptx_lexer_fail(lexer, &lexer->token, "vector registers are not supported");
    enum fth_ptx_type type = fth_ptx_type_find(lexer->token.start, lexer->token.size);
    if (lexer->token.kind != TOKEN_WORD || type == T_NONE)
        return fth_ptx_lexer_fail(lexer, &lexer->token, "expected a supported register type");
    fth_ptx_lexer_next(lexer);
    do {
        const struct fth_ptx_token token = lexer->token;
        if (token.kind != TOKEN_WORD)
            return fth_ptx_lexer_fail(lexer, &token, "expected a register name");
        fth_ptx_lexer_next(lexer);
        const enum fth_ptx_symbol_kind kind = type == T_PRED ? SYMBOL_PREDICATE : SYMBOL_REGISTER;
        const bool many = fth_ptx_lexer_accept(lexer, "<");
        struct fth_ptx_symbol *symbol = many ? fth_ptx_parser_define_stem(parser, &token, kind)
                                             : fth_ptx_parser_define(parser, &token, kind);
        if (!symbol)
            return false;
        uint64_t count = 1;
        if (many && (!fth_ptx_parse_count(parser, MAX_REGISTERS, &count) ||
                     !fth_ptx_lexer_expect(lexer, ">")))
            return false;
        uint32_t *total = type == T_PRED ? &function->predicate_count : &function->register_count;
        if (type == T_B128)
            count *= 2; /* two rows each */
        if (*total + count > MAX_REGISTERS)
            return fth_ptx_lexer_fail(lexer, &token,
                                      "a function can have at most 100000 registers");
        symbol->type = type;
        symbol->first = *total;
        symbol->count = (uint32_t)count;
        *total += (uint32_t)count;
        if (fth_ptx_type_bytes(type) >= 8 && !add_wide_rows(parser, symbol))
            return false;
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ";");
}
