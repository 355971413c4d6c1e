/* Parses types and declarations: variables with their initial values, and registers. Also assigns
 * their addresses and register numbers. */
#include "ptx/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits that reject nonsensical files before they exhaust the host's memory: 64 GiB per variable,
 * and 100,000 registers and as many predicates per function. Heuristic. */
#define MAX_VARIABLE_BYTES ((uint64_t)1 << 36)
#define MAX_REGISTERS 100000u

/* ---- types and numbers ---- */

static const struct {
    const char *name;
    enum type type;
} types[] = {
    {"b8", T_B8},         {"b16", T_B16},   {"b32", T_B32}, {"b64", T_B64},     {"u8", T_U8},
    {"u16", T_U16},       {"u32", T_U32},   {"u64", T_U64}, {"s8", T_S8},       {"s16", T_S16},
    {"s32", T_S32},       {"s64", T_S64},   {"f16", T_F16}, {"f16x2", T_F16X2}, {"bf16", T_BF16},
    {"bf16x2", T_BF16X2}, {"f32", T_F32},   {"f64", T_F64}, {"u16x2", T_U16X2}, {"s16x2", T_S16X2},
    {"tf32", T_TF32},     {"pred", T_PRED},
};

enum type parse_type(const char *text, size_t size)
{
    if (size && *text == '.') {
        text++;
        size--;
    }
    for (size_t i = 0; i < FTH_COUNT(types); i++)
        if (strlen(types[i].name) == size && memcmp(types[i].name, text, size) == 0)
            return types[i].type;
    return T_NONE;
}

static size_t type_index(enum type type)
{
    size_t i = 0;
    while (types[i].type != type)
        i++;
    return i;
}

unsigned type_bytes(enum type type)
{
    /* A table indexed by type is fast: every load and store calls this function. */
    static const uint8_t bytes[] = {
        [T_B8] = 1,    [T_B16] = 2,   [T_B32] = 4,  [T_B64] = 8,    [T_U8] = 1,  [T_U16] = 2,
        [T_U32] = 4,   [T_U64] = 8,   [T_S8] = 1,   [T_S16] = 2,    [T_S32] = 4, [T_S64] = 8,
        [T_F16] = 2,   [T_F16X2] = 4, [T_BF16] = 2, [T_BF16X2] = 4, [T_F32] = 4, [T_F64] = 8,
        [T_U16X2] = 4, [T_S16X2] = 4, [T_TF32] = 4, [T_PRED] = 1,
    };
    return bytes[type];
}

const char *type_name(enum type type)
{
    return type == T_NONE ? "" : types[type_index(type)].name;
}

bool type_is_signed(enum type type)
{
    return type >= T_S8 && type <= T_S64;
}

bool type_is_float(enum type type)
{
    return type >= T_F16 && type <= T_F64;
}

bool parse_count(struct parser *parser, uint64_t max, uint64_t *count)
{
    const struct token token = parser->lexer.token;
    if (token.kind != TOKEN_INTEGER || token.integer > max)
        return lexer_fail(&parser->lexer, &token, "expected an integer of at most %llu",
                          (unsigned long long)max);
    *count = token.integer;
    lexer_next(&parser->lexer);
    return true;
}

uint64_t align_up(uint64_t address, uint64_t align)
{
    return (address + align - 1) / align * align;
}

/* ---- declarations of memory ---- */

bool parse_declaration(struct parser *parser, struct declaration *out)
{
    struct lexer *lexer = &parser->lexer;
    *out = (struct declaration){.align = 0};
    uint64_t vector = 1;
    while (lexer->token.kind == TOKEN_WORD && *lexer->token.start == '.') {
        const struct token token = lexer->token;
        enum type type = parse_type(token.start, token.size);
        lexer_next(lexer);
        if (token_is(&token, ".align")) {
            uint64_t align;
            if (!parse_count(parser, 4096, &align))
                return false;
            if (align == 0 || (align & (align - 1)))
                return lexer_fail(lexer, &token, "the alignment must be a power of two");
            /* An .align after the type belongs to .ptr: the alignment of the data pointed to. */
            if (out->type == T_NONE)
                out->align = align;
        } else if (token_is(&token, ".v2") || token_is(&token, ".v4")) {
            vector = token_is(&token, ".v2") ? 2 : 4;
        } else if (token_is(&token, ".attribute")) {
            while (lexer->token.kind != TOKEN_END && !lexer_accept(lexer, ")"))
                lexer_next(lexer);
        } else if (type != T_NONE) {
            out->type = type;
        } else if (!token_is(&token, ".ptr") && !token_is(&token, ".global") &&
                   !token_is(&token, ".const") && !token_is(&token, ".shared") &&
                   !token_is(&token, ".local")) {
            return lexer_fail(lexer, &token, "unsupported type or attribute");
        }
    }
    if (out->type == T_NONE || out->type == T_PRED || lexer->token.kind != TOKEN_WORD)
        return lexer_fail(lexer, &lexer->token, "expected a type and a name");
    out->name = lexer->token;
    lexer_next(lexer);
    uint64_t element = (uint64_t)type_bytes(out->type) * vector, count = 1;
    while (lexer_accept(lexer, "[")) {
        uint64_t size = 0;
        out->has_array = true;
        if (token_is(&lexer->token, "]"))
            out->open_array = true;
        else if (!parse_count(parser, MAX_VARIABLE_BYTES, &size))
            return false;
        if (size && count > MAX_VARIABLE_BYTES / element / size)
            return lexer_fail(lexer, &out->name, "the variable is larger than 64 GiB");
        count *= size;
        if (!lexer_expect(lexer, "]"))
            return false;
    }
    out->bytes = out->has_array ? element * count : element;
    if (out->align == 0)
        out->align = element;
    return true;
}

/* Parses a symbol in an initialiser: NAME or generic(NAME), with an optional offset. The generic
 * address of a global or constant variable equals its address in its own space. */
static bool parse_initial_symbol(struct parser *parser, uint64_t *value)
{
    struct lexer *lexer = &parser->lexer;
    bool generic = lexer_accept(lexer, "generic");
    if (generic && !lexer_expect(lexer, "("))
        return false;
    const struct token token = lexer->token;
    const struct symbol *symbol = parser_find(parser, token.start, token.size);
    if (symbol && symbol->kind == SYMBOL_FUNCTION)
        *value = CODE_WINDOW + (uint64_t)16 * symbol->first;
    else if (symbol && symbol->kind == SYMBOL_VARIABLE &&
             (symbol->variable.space == FTH_SPACE_GLOBAL ||
              symbol->variable.space == FTH_SPACE_CONST))
        *value = symbol->variable.address;
    else
        return lexer_fail(lexer, &token, "expected a .global or .const variable or a function");
    lexer_next(lexer);
    if (generic && !lexer_expect(lexer, ")"))
        return false;
    while (token_is(&lexer->token, "+") || token_is(&lexer->token, "-")) {
        bool minus = token_is(&lexer->token, "-");
        uint64_t offset;
        lexer_next(lexer);
        if (!parse_count(parser, INT64_MAX, &offset))
            return false;
        *value = minus ? *value - offset : *value + offset;
    }
    return true;
}

static bool parse_initial_value(struct parser *parser, enum type type, uint8_t *data)
{
    struct lexer *lexer = &parser->lexer;
    uint64_t bits;
    bool minus = lexer_accept(lexer, "-");
    const struct token token = lexer->token;
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
        lexer_next(lexer);
    } else {
        return lexer_fail(lexer, &token, "expected a number or a name");
    }
    memcpy(data, &bits, type_bytes(type));
    return true;
}

/* Parses an initialiser after "=": "5", "{1, 2}" or "{{1, 2}, {3, 4}}". Nested braces are accepted
 * but not needed: the values fill the variable in the order of the text. */
static bool parse_initialiser(struct parser *parser, const struct declaration *declaration,
                              uint8_t *data)
{
    struct lexer *lexer = &parser->lexer;
    uint64_t at = 0, element = type_bytes(declaration->type);
    unsigned depth = 0;
    do {
        while (lexer_accept(lexer, "{"))
            depth++;
        if (!token_is(&lexer->token, "}")) {
            if (at + element > declaration->bytes)
                return lexer_fail(lexer, &lexer->token,
                                  "more initial values than the variable has elements");
            if (!parse_initial_value(parser, declaration->type, data + at))
                return false;
            at += element;
        }
        while (depth && lexer_accept(lexer, "}"))
            depth--;
    } while (lexer_accept(lexer, ","));
    return depth == 0 || lexer_expect(lexer, "}");
}

/* Adds a global or constant variable to the module and assigns its address. */
static struct variable *add_global(struct parser *parser, const struct declaration *declaration,
                                   enum fth_ptx_space space)
{
    struct fth_ptx_module *module = parser->module;
    void *variables = module->variables;
    if (!parser_grow(parser, &variables, module->variable_count, &module->variable_capacity,
                     sizeof *module->variables))
        return NULL;
    module->variables = variables;
    /* Variables are aligned to 256 bytes, as in an allocator, with a gap of at least one byte
     * between them. An access beyond the end of a variable is therefore a fault. */
    uint64_t align = declaration->align > 256 ? declaration->align : 256;
    uint64_t address = align_up(module->global_end + 1, align);
    module->global_end = address + declaration->bytes;
    struct variable *variable = &module->variables[module->variable_count++];
    *variable = (struct variable){
        .name = parser_copy_text(parser, declaration->name.start, declaration->name.size),
        .space = space,
        .address = address,
        .bytes = declaration->bytes,
        .align = declaration->align};
    return variable;
}

/* Assigns the address of a shared, local or parameter variable in its space. */
static uint64_t place_variable(struct parser *parser, enum fth_ptx_space space,
                               const struct declaration *declaration)
{
    uint64_t *end = &parser->module->shared_end;
    if (space == FTH_SPACE_LOCAL)
        end = &parser->function->local_bytes;
    else if (space == FTH_SPACE_PARAM)
        end = &parser->function->param_bytes;
    else if (parser->function && parser->function->is_kernel)
        end = &parser->function_shared_end;
    uint64_t address = align_up(*end, declaration->align);
    *end = address + declaration->bytes;
    return address;
}

bool parse_variable(struct parser *parser, enum fth_ptx_space space, bool external)
{
    struct lexer *lexer = &parser->lexer;
    struct declaration declaration;
    do {
        if (!parse_declaration(parser, &declaration))
            return false;
        struct symbol *symbol = parser_define(parser, &declaration.name, SYMBOL_VARIABLE);
        if (!symbol)
            return false;
        symbol->type = declaration.type;
        symbol->variable = (struct variable){
            .space = space, .bytes = declaration.bytes, .align = declaration.align};
        bool dynamic = space == FTH_SPACE_SHARED && (external || declaration.open_array);
        if (dynamic) {
            symbol->variable.address =
                UINT64_MAX; /* after all static variables: computed in finish() */
        } else if (space == FTH_SPACE_GLOBAL || space == FTH_SPACE_CONST) {
            if (external)
                return lexer_fail(lexer, &declaration.name,
                                  "external variables are not supported: modules are not linked");
            struct variable *variable = add_global(parser, &declaration, space);
            if (!variable)
                return false;
            symbol->variable.address = variable->address;
            if (lexer_accept(lexer, "=")) {
                variable->data = fth_arena_alloc(&parser->module->arena, variable->bytes + 8);
                if (!variable->data)
                    return lexer_fail(lexer, &declaration.name, "out of memory");
                if (!parse_initialiser(parser, &declaration, variable->data))
                    return false;
            }
        } else {
            symbol->variable.address = place_variable(parser, space, &declaration);
        }
    } while (lexer_accept(lexer, ","));
    return lexer_expect(lexer, ";");
}

/* Example: .reg .b32 %r<100>, %x; */
bool parse_registers(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct function *function = parser->function;
    while (lexer_accept(lexer, ".v2") || lexer_accept(lexer, ".v4"))
        return lexer_fail(lexer, &lexer->token, "vector registers are not supported");
    enum type type = parse_type(lexer->token.start, lexer->token.size);
    if (lexer->token.kind != TOKEN_WORD || type == T_NONE)
        return lexer_fail(lexer, &lexer->token, "expected a supported register type");
    lexer_next(lexer);
    do {
        const struct token token = lexer->token;
        if (token.kind != TOKEN_WORD)
            return lexer_fail(lexer, &token, "expected a register name");
        lexer_next(lexer);
        struct symbol *symbol =
            parser_define(parser, &token, type == T_PRED ? SYMBOL_PREDICATE : SYMBOL_REGISTER);
        if (!symbol)
            return false;
        uint64_t count = 1;
        if (lexer_accept(lexer, "<")) {
            symbol->parameterized = true;
            if (!parse_count(parser, MAX_REGISTERS, &count) || !lexer_expect(lexer, ">"))
                return false;
        }
        uint32_t *total = type == T_PRED ? &function->predicate_count : &function->register_count;
        if (*total + count > MAX_REGISTERS)
            return lexer_fail(lexer, &token, "a function can have at most 100000 registers");
        symbol->type = type;
        symbol->first = *total;
        symbol->count = (uint32_t)count;
        *total += (uint32_t)count;
    } while (lexer_accept(lexer, ","));
    return lexer_expect(lexer, ";");
}
