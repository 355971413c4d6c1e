/* Parses the operands of an instruction. */
#include "ptx/parse/operand.h"

#include <string.h>

/* Returns the bits that the row of an immediate must hold so that an instruction of this type reads
 * the constant from it. */
static uint64_t constant_bits(const struct fth_ptx_constant *constant, enum fth_ptx_type type)
{
    bool to_float = type == T_F32 || type == T_F64 || type == T_F16 || type == T_BF16;
    double value;
    if (constant->is_float)
        memcpy(&value, &constant->bits, sizeof value);
    else
        value = constant->is_unsigned ? (double)constant->bits : (double)(int64_t)constant->bits;
    /* A literal such as 0f3f800000 consists of the bits of an f32. They are used unchanged, except
     * by floating-point instructions of another width, which need the value. */
    if (constant->is_f32_literal && type != T_F64 && type != T_F16 && type != T_BF16)
        return constant->word;
    /* An integer is used unchanged, too, except by f32 and f64 instructions, which need its value.
     * PTX has no f16 and bf16 literals, so an integer operand of these types is a bit pattern. */
    if (!constant->is_float && (!to_float || type == T_F16 || type == T_BF16))
        return constant->bits;
    if (type == T_F32) {
        float single = (float)value;
        uint32_t word;
        memcpy(&word, &single, sizeof word);
        return word;
    }
    if (type == T_F16 || type == T_BF16)
        return type == T_F16 ? fth_ptx_half_from_double(value, R_RN)
                             : fth_ptx_bfloat_from_double(value, R_RN);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Emits an instruction that reads a special register into a new register, and returns its row. When
 * out of memory, returns 0; the lexer then has the error. */
static int32_t special_row(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                           int special)
{
    struct fth_ptx_inst *inst = fth_ptx_parser_emit(parser, token, "mov");
    if (!inst)
        return 0;
    inst->run = fth_ptx_run_special;
    inst->mode = (uint8_t)special;
    inst->d[0] = fth_ptx_parser_new_register(parser);
    return inst->d[0];
}

/* True for the special registers that only a driver or a profiler gives a value. */
static bool is_missing_register(const struct fth_ptx_token *token)
{
    static const char *const starts[] = {"%pm", "%envreg", "%reserved_smem_", "%aggr_smem_size",
                                         "%current_graph_exec"};
    for (size_t i = 0; i < FTH_COUNT(starts); i++)
        if (token->size >= strlen(starts[i]) &&
            memcmp(token->start, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Returns a row with the address of a symbol. The addresses of local variables depend on the frame,
 * and that of dynamic shared memory is known only after the whole module has been parsed. For both,
 * emits instructions that compute the address, from special registers that exist only inside the
 * engine. When out of memory, returns 0; the lexer then has the error. */
static int32_t symbol_row(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                          const struct fth_ptx_symbol *symbol)
{
    if (symbol->kind == SYMBOL_FUNCTION)
        /* CODE_WINDOW + 16 * i is the address of function i (engine.h). */
        return fth_ptx_parser_immediate(parser, CODE_WINDOW + (uint64_t)16 * symbol->first);
    const struct fth_ptx_variable *variable = &symbol->variable;
    if (variable->space == FTH_SPACE_SHARED &&
        variable->address ==
            UINT64_MAX /* dynamic shared memory, see fth_ptx_parse_variable in data.c */)
        return special_row(parser, token, fth_ptx_special_register("%dynamic_shared", 15));
    if (variable->space == FTH_SPACE_LOCAL) {
        int32_t base = special_row(parser, token, fth_ptx_special_register("%local_base", 11));
        struct fth_ptx_inst *inst = fth_ptx_parser_emit(parser, token, "add");
        if (!inst)
            return 0;
        inst->type = T_U64;
        inst->s[0] = base;
        inst->s[1] = fth_ptx_parser_immediate(parser, variable->address);
        inst->d[0] = fth_ptx_parser_new_register(parser);
        fth_ptx_select_integer(inst, "add");
        return inst->d[0];
    }
    return fth_ptx_parser_immediate(parser, variable->address);
}

bool fth_ptx_parse_simple_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                                  struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const struct fth_ptx_token token = lexer->token;
    operand->token = token;
    operand->kind = OPERAND_ROW;
    if (token.kind != TOKEN_WORD) {
        struct fth_ptx_constant constant;
        if (!fth_ptx_parse_constant(parser, &constant))
            return false;
        operand->row = fth_ptx_parser_immediate(parser, constant_bits(&constant, type));
        return true;
    }
    fth_ptx_lexer_next(lexer);
    if (token.size == 1 && *token.start == '_') {
        operand->kind = OPERAND_SINK;
        operand->row = NO_REGISTER;
        return true;
    }
    struct fth_ptx_symbol *symbol = NULL;
    uint32_t index;
    if (fth_ptx_parser_find_register(parser, &token, &symbol, &index)) {
        if (symbol->kind == SYMBOL_PREDICATE) {
            operand->kind = OPERAND_PREDICATE;
            operand->predicate = index;
            operand->predicate2 = UINT32_MAX;
        } else if (symbol->type == T_B128) {
            int32_t *halves = fth_arena_array(&parser->module->arena, 2, sizeof *halves);
            if (!halves)
                return fth_ptx_lexer_no_memory(lexer);
            halves[0] = (int32_t)index;
            halves[1] = (int32_t)index + 1;
            operand->kind = OPERAND_VECTOR;
            operand->elements = halves;
            operand->element_count = 2;
        } else {
            operand->row = (int32_t)index;
        }
        return true;
    }
    int special = fth_ptx_special_register(token.start, token.size);
    if (special >= 0) {
        operand->row = special_row(parser, &token, special);
        return true;
    }
    if (is_missing_register(&token))
        return fth_ptx_lexer_unsupported(lexer, &token,
                                         "the special register '%.*s' is not supported",
                                         (int)token.size, token.start);
    symbol = fth_ptx_parser_find(parser, token.start, token.size);
    if (!symbol || (symbol->kind != SYMBOL_VARIABLE && symbol->kind != SYMBOL_FUNCTION))
        return fth_ptx_lexer_fail(lexer, &token, "'%.*s' is not declared", (int)token.size,
                                  token.start);
    operand->has_space = symbol->kind == SYMBOL_VARIABLE;
    operand->space = (uint8_t)symbol->variable.space;
    operand->row = symbol_row(parser, &token, symbol);
    return true;
}

static bool parse_vector(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                         struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    int32_t rows[MAX_ELEMENTS];
    size_t count = 0;
    operand->kind = OPERAND_VECTOR;
    do {
        struct fth_ptx_operand element = {.kind = OPERAND_ROW};
        if (count == MAX_ELEMENTS)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "a vector can have at most %d elements",
                                      MAX_ELEMENTS);
        if (!fth_ptx_parse_simple_operand(parser, type, &element))
            return false;
        if (element.kind != OPERAND_ROW && element.kind != OPERAND_SINK)
            return fth_ptx_lexer_fail(
                lexer, &element.token,
                "a predicate or a register of 128 bits cannot be an element of a vector");
        rows[count++] = element.row;
    } while (fth_ptx_lexer_accept(lexer, ","));
    int32_t *elements = fth_arena_array(&parser->module->arena, count, sizeof *elements);
    if (!elements)
        return fth_ptx_lexer_no_memory(lexer);
    memcpy(elements, rows, count * sizeof *elements);
    operand->elements = elements;
    operand->element_count = count;
    return fth_ptx_lexer_expect(lexer, "}");
}

/* Parses the coordinates of a texture access after the comma: "{%f1, %f2}", a single one without
 * braces, or "sampler, {%f1, %f2}". */
static bool parse_coordinates(struct fth_ptx_parser *parser, struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_operand coordinates = {.kind = OPERAND_VECTOR};
    bool in_braces = fth_ptx_lexer_accept(lexer, "{");
    if (!in_braces) {
        struct fth_ptx_operand single = {.kind = OPERAND_ROW};
        if (!fth_ptx_parse_simple_operand(parser, T_S32, &single))
            return false;
        if (single.kind != OPERAND_ROW)
            return fth_ptx_lexer_fail(lexer, &single.token, "expected a register");
        operand->has_sampler = fth_ptx_lexer_accept(lexer, ",");
        operand->sampler = single.row;
        in_braces = operand->has_sampler && fth_ptx_lexer_accept(lexer, "{");
        if (!operand->has_sampler) {
            int32_t *row = fth_arena_array(&parser->module->arena, 1, sizeof *row);
            if (!row)
                return fth_ptx_lexer_no_memory(lexer);
            *row = single.row;
            operand->elements = row;
            operand->element_count = 1;
            return true;
        }
    }
    if (!in_braces)
        return fth_ptx_lexer_expect(lexer, "{");
    if (!parse_vector(parser, T_S32, &coordinates))
        return false;
    operand->element_count = coordinates.element_count;
    operand->elements = coordinates.elements;
    return true;
}

/* Parses "[%rd1+8]", "[name]" or "[%rd1, {%r1}]" after the bracket. The vector holds the
 * coordinates of a texture access. */
static bool parse_address(struct fth_ptx_parser *parser, struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!fth_ptx_parse_simple_operand(parser, T_U64, operand))
        return false;
    if (operand->kind != OPERAND_ROW)
        return fth_ptx_lexer_fail(lexer, &operand->token,
                                  "a predicate or a register of 128 bits cannot be an address");
    operand->kind = OPERAND_ADDRESS;
    while (fth_ptx_token_is(&lexer->token, "+") || fth_ptx_token_is(&lexer->token, "-")) {
        bool minus = fth_ptx_lexer_accept(lexer, "-");
        if (!minus)
            fth_ptx_lexer_next(lexer);
        minus = fth_ptx_lexer_accept(lexer, "-") ? !minus : minus; /* as in "+-8" */
        if (lexer->token.kind != TOKEN_INTEGER)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "expected an integer offset");
        /* Offsets wrap around, as addresses do: unsigned arithmetic cannot overflow. */
        uint64_t offset = minus ? -lexer->token.integer : lexer->token.integer;
        operand->offset = (int64_t)((uint64_t)operand->offset + offset);
        fth_ptx_lexer_next(lexer);
    }
    return (!fth_ptx_lexer_accept(lexer, ",") || parse_coordinates(parser, operand)) &&
           fth_ptx_lexer_expect(lexer, "]");
}

/* Parses "|q", the second of two destinations, if there is one. */
static bool parse_second(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                         struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_operand second = {.kind = OPERAND_ROW};
    if (!fth_ptx_lexer_accept(lexer, "|"))
        return true;
    if (!fth_ptx_parse_simple_operand(parser, type, &second))
        return false;
    if (second.kind == OPERAND_PREDICATE)
        operand->predicate2 = second.predicate;
    else if (second.kind != OPERAND_SINK)
        return fth_ptx_lexer_fail(lexer, &second.token, "expected a predicate register after '|'");
    return true;
}

bool fth_ptx_parse_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                           struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *operand = (struct fth_ptx_operand){.token = lexer->token, .predicate2 = UINT32_MAX};
    if (fth_ptx_lexer_accept(lexer, "{"))
        return parse_vector(parser, type, operand) && parse_second(parser, type, operand);
    if (fth_ptx_lexer_accept(lexer, "["))
        return parse_address(parser, operand);
    bool negated = false;
    if (fth_ptx_token_is(&lexer->token,
                         "!")) { /* before a number, '!' is part of a constant expression */
        negated = fth_ptx_lexer_ahead(lexer).token.kind == TOKEN_WORD;
        if (negated)
            fth_ptx_lexer_next(lexer);
    }
    if (!fth_ptx_parse_simple_operand(parser, type, operand))
        return false;
    operand->negated = negated;
    if (negated && operand->kind != OPERAND_PREDICATE)
        return fth_ptx_lexer_fail(lexer, &operand->token,
                                  "'!' can only be applied to a predicate or a number");
    return parse_second(parser, type, operand);
}

/* Finds the register of a token such as "%r1.b0", which selects a part of the register, and stores
 * the part. Returns false, without an error, if it is none. */
static bool find_part(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                      struct fth_ptx_operand *operand)
{
    const char *dot = token->kind == TOKEN_WORD ? memchr(token->start, '.', token->size) : NULL;
    if (!dot)
        return false;
    struct fth_ptx_token name = *token;
    struct fth_ptx_symbol *symbol = NULL;
    uint32_t index;
    name.size = (size_t)(dot - token->start);
    if (!fth_ptx_parser_find_register(parser, &name, &symbol, &index) ||
        symbol->kind != SYMBOL_REGISTER)
        return false;
    *operand = (struct fth_ptx_operand){.kind = OPERAND_ROW,
                                        .token = *token,
                                        .row = (int32_t)index,
                                        .part = dot + 1,
                                        .part_size = token->size - name.size - 1};
    return true;
}

bool fth_ptx_parse_video_operand(struct fth_ptx_parser *parser, struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    /* Before a number, '-' is part of a constant expression. */
    const bool minus =
        fth_ptx_token_is(&lexer->token, "-") && fth_ptx_lexer_ahead(lexer).token.kind == TOKEN_WORD;
    if (minus)
        fth_ptx_lexer_next(lexer);
    if (find_part(parser, &lexer->token, operand))
        fth_ptx_lexer_next(lexer);
    else if (!fth_ptx_parse_operand(parser, T_B32, operand))
        return false;
    operand->minus = minus;
    return true;
}
