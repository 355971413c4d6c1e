/* Parses one instruction: guard, opcode with modifiers, and operands, and stores them in a struct
 * fth_ptx_inst. The fth_ptx_select_* functions of execute_*.c then choose the function that
 * executes it, or reject the combination. */
#include "ptx/parse/parser.h"

#include <stdio.h>
#include <string.h>

/* ---- operands ---- */

/* The kinds of operands. A row holds one value per lane, and an operand stores the index of its
 * row: an index >= 0 is a register of the function, and an index i < 0 is row ~i of the module's
 * pool of immediates (engine.h). */
enum operand_kind {
    OPERAND_ROW, /* a register, or an immediate */
    OPERAND_PREDICATE,
    OPERAND_VECTOR,
    OPERAND_ADDRESS,
    OPERAND_SINK /* '_': a destination that is not needed */
};

/* Maximum number of operands of an instruction, of elements of a vector, and of arguments (or
 * results) of a call. */
enum { MAX_OPERANDS = 8, MAX_ELEMENTS = 8, MAX_CALL_SLOTS = 64 };

struct operand {
    enum operand_kind kind;
    struct fth_ptx_token token;
    int32_t row;                    /* index of the row: OPERAND_ROW, and the base of an address */
    uint32_t predicate;             /* OPERAND_PREDICATE: its index */
    uint32_t predicate2;            /* the second predicate of p|q; UINT32_MAX: none */
    bool negated;                   /* !p */
    int32_t elements[MAX_ELEMENTS]; /* rows: OPERAND_VECTOR, and the coordinates of a texture */
    size_t element_count;
    int64_t offset; /* added to an address */
    bool has_space; /* the operand is a variable, and `space` is its state space */
    uint8_t space;
};

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

/* Parses a register, predicate, special register, '_', constant expression, or name of a variable
 * or function. A constant gets the type `type`. */
static bool parse_simple_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                                 struct operand *operand)
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
                         struct operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    operand->kind = OPERAND_VECTOR;
    do {
        struct operand element = {.kind = OPERAND_ROW};
        if (operand->element_count == MAX_ELEMENTS)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "a vector can have at most 8 elements");
        if (!parse_simple_operand(parser, type, &element))
            return false;
        if (element.kind == OPERAND_PREDICATE)
            return fth_ptx_lexer_fail(lexer, &element.token,
                                      "a predicate cannot be an element of a vector");
        operand->elements[operand->element_count++] = element.row;
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, "}");
}

/* Parses "[%rd1+8]", "[name]" or "[%rd1, {%r1}]" after the bracket. The vector holds the
 * coordinates of a texture access. */
static bool parse_address(struct fth_ptx_parser *parser, struct operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (!parse_simple_operand(parser, T_U64, operand))
        return false;
    if (operand->kind == OPERAND_PREDICATE)
        return fth_ptx_lexer_fail(lexer, &operand->token, "a predicate cannot be an address");
    operand->kind = OPERAND_ADDRESS;
    while (fth_ptx_token_is(&lexer->token, "+") || fth_ptx_token_is(&lexer->token, "-")) {
        bool minus = fth_ptx_lexer_accept(lexer, "-");
        if (!minus)
            fth_ptx_lexer_next(lexer);
        minus = fth_ptx_lexer_accept(lexer, "-") ? !minus : minus; /* as in "+-8" */
        if (lexer->token.kind != TOKEN_INTEGER)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "expected an integer offset");
        int64_t offset = (int64_t)lexer->token.integer;
        operand->offset += minus ? -offset : offset;
        fth_ptx_lexer_next(lexer);
    }
    if (fth_ptx_lexer_accept(lexer, ",")) {
        if (!fth_ptx_lexer_expect(lexer, "{"))
            return false;
        struct operand coordinates = {.kind = OPERAND_VECTOR};
        if (!parse_vector(parser, T_S32, &coordinates))
            return false;
        operand->element_count = coordinates.element_count;
        memcpy(operand->elements, coordinates.elements, sizeof operand->elements);
    }
    return fth_ptx_lexer_expect(lexer, "]");
}

static bool parse_operand(struct fth_ptx_parser *parser, enum fth_ptx_type type,
                          struct operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *operand = (struct operand){.token = lexer->token, .predicate2 = UINT32_MAX};
    if (fth_ptx_lexer_accept(lexer, "{"))
        return parse_vector(parser, type, operand);
    if (fth_ptx_lexer_accept(lexer, "["))
        return parse_address(parser, operand);
    bool negated = false;
    if (fth_ptx_token_is(&lexer->token,
                         "!")) { /* before a number, '!' is part of a constant expression */
        struct fth_ptx_lexer ahead = *lexer;
        fth_ptx_lexer_next(&ahead);
        negated = ahead.token.kind == TOKEN_WORD;
        if (negated)
            fth_ptx_lexer_next(lexer);
    }
    if (!parse_simple_operand(parser, type, operand))
        return false;
    operand->negated = negated;
    if (negated && operand->kind != OPERAND_PREDICATE)
        return fth_ptx_lexer_fail(lexer, &operand->token,
                                  "'!' can only be applied to a predicate or a number");
    if (fth_ptx_lexer_accept(lexer, "|")) { /* p|q: two destinations */
        struct operand second = {.kind = OPERAND_ROW};
        if (!parse_simple_operand(parser, type, &second))
            return false;
        if (second.kind == OPERAND_PREDICATE)
            operand->predicate2 = second.predicate;
        else if (second.kind != OPERAND_SINK)
            return fth_ptx_lexer_fail(lexer, &second.token,
                                      "expected a predicate register after '|'");
    }
    return true;
}

/* ---- instructions ---- */

struct fth_ptx_inst *fth_ptx_parser_emit(struct fth_ptx_parser *parser,
                                         const struct fth_ptx_token *token, const char *opcode)
{
    struct fth_ptx_function *function = parser->function;
    void *code = function->code;
    if (!fth_ptx_parser_grow(parser, &code, function->code_count, &function->code_capacity,
                             sizeof *function->code))
        return NULL;
    function->code = code;
    struct fth_ptx_inst *inst = &function->code[function->code_count];
    *inst = (struct fth_ptx_inst){.opcode = opcode,
                                  .index = (uint32_t)function->code_count,
                                  .line = token->line,
                                  .file = parser->file,
                                  .source_line = parser->source_line,
                                  .predicate = UINT32_MAX,
                                  .predicate2 = UINT32_MAX};
    for (size_t i = 0; i < FTH_COUNT(inst->d); i++)
        inst->d[i] = NO_REGISTER;
    for (size_t i = 0; i < FTH_COUNT(inst->s); i++)
        inst->s[i] = NO_REGISTER;
    function->code_count++;
    return inst;
}

static bool is_one_of(const char *base, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(base, list[i]) == 0)
            return true;
    return false;
}

/* Returns true if the instruction has no destination operand. */
static bool has_no_result(const char *base, const struct fth_ptx_inst *inst)
{
    if (inst->flags & F_RED)
        return false; /* bar.red has a result, unlike red, bar.sync and bar.arrive */
    static const char *const list[] = {"st",        "red",     "bar",           "barrier",
                                       "membar",    "fence",   "prefetch",      "prefetchu",
                                       "nanosleep", "discard", "applypriority", "cp"};
    return is_one_of(base, list, FTH_COUNT(list));
}

/* Stores the operands where the functions that execute the instruction expect them:
 *
 *   destination         d[0], or d[0], d[1] and so on for a vector
 *   second destination  d[1] if both are predicates (setp), predicate2 after a register (shfl)
 *   sources             s[0], s[1] and so on; each element of a vector counts as one source
 *   address             s[] for the row, `offset` if it is the first source, otherwise `offset2`
 *   source predicates   s[] for logical instructions (and.pred), otherwise `predicate` (selp) */
static bool place_operands(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                           const char *base, const struct operand *operands, size_t count)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    size_t source = 0;
    for (size_t i = 0; i < count; i++) {
        const struct operand *operand = &operands[i];
        bool result = i == 0 && !has_no_result(base, inst);
        if (operand->kind == OPERAND_VECTOR) {
            int32_t *to = result ? inst->d : inst->s + source;
            size_t capacity = result ? FTH_COUNT(inst->d) : FTH_COUNT(inst->s) - source;
            if (operand->element_count > capacity)
                return fth_ptx_lexer_fail(lexer, &operand->token,
                                          "the vector has too many elements for this instruction");
            for (size_t e = 0; e < operand->element_count; e++) {
                to[e] = operand->elements[e];
                if (result && to[e] < 0 && to[e] != NO_REGISTER)
                    return fth_ptx_lexer_fail(lexer, &operand->token,
                                              "the destination must be a register");
            }
            if (inst->vector == 0)
                inst->vector = (uint8_t)operand->element_count;
            source += result ? 0 : operand->element_count;
            continue;
        }
        if (result && operand->kind == OPERAND_PREDICATE) {
            inst->result_is_predicate = true;
            inst->d[0] = (int32_t)operand->predicate;
            inst->d[1] =
                operand->predicate2 == UINT32_MAX ? NO_REGISTER : (int32_t)operand->predicate2;
            continue;
        }
        if (result) {
            if (operand->kind != OPERAND_SINK && operand->row < 0)
                return fth_ptx_lexer_fail(lexer, &operand->token,
                                          "the destination must be a register");
            inst->d[0] = operand->row;
            if (operand->predicate2 != UINT32_MAX)
                inst->predicate2 = operand->predicate2;
            continue;
        }
        /* Logical instructions on predicates, such as and.pred, can have two source predicates.
         * Every other instruction has at most one, which is stored in `predicate` below. Some of
         * these other instructions have the type .pred, too. The condition excludes them: mov, set
         * and setp by their names, vote and bar.red by their flags. */
        if (operand->kind == OPERAND_PREDICATE && inst->type == T_PRED && inst->flags == 0 &&
            !fth_ptx_compares(base) && strcmp(base, "mov") != 0) {
            if (source == 2 || operand->negated)
                return fth_ptx_lexer_fail(
                    lexer, &operand->token,
                    "a negated or third predicate operand is not supported here");
            inst->s[source++] = (int32_t)operand->predicate;
            inst->predicate_source_count++;
            continue;
        }
        if (operand->kind == OPERAND_PREDICATE) {
            inst->predicate = operand->predicate;
            inst->negated = operand->negated;
            continue;
        }
        if (source == FTH_COUNT(inst->s))
            return fth_ptx_lexer_fail(lexer, &operand->token, "too many operands");
        if (operand->kind == OPERAND_SINK)
            return fth_ptx_lexer_fail(lexer, &operand->token, "'_' can only be a destination");
        inst->s[source++] = operand->row;
        if (operand->kind == OPERAND_ADDRESS && source > 1) {
            inst->offset2 = operand->offset;
        } else if (operand->kind == OPERAND_ADDRESS) {
            inst->offset = operand->offset;
            /* The row holds an address within the state space of the variable, so the instruction
             * should access this space. If the instruction has .param, the variable decides whether
             * that is the arguments of the kernel (SPACE_ARGUMENT) or the parameters of calls
             * (FTH_SPACE_PARAM, see engine.h). An instruction without a state space takes the
             * variable's space, too, unless that is FTH_SPACE_PARAM: parameters of calls can only
             * be accessed with .param. Any other space that the instruction names is kept. */
            if (operand->has_space &&
                (inst->space == FTH_SPACE_PARAM ||
                 (inst->space == FTH_SPACE_GENERIC && operand->space != FTH_SPACE_PARAM)))
                inst->space = operand->space;
            for (size_t e = 0; e < operand->element_count && source < FTH_COUNT(inst->s); e++)
                inst->s[source++] = operand->elements[e];
        }
    }
    return true;
}

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
        return fth_ptx_lexer_fail(lexer, &lexer->token, "out of memory");
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
            struct operand operand = {.kind = OPERAND_ROW};
            if (!parse_simple_operand(parser, T_B64, &operand))
                return false;
            if (operand.kind != OPERAND_ROW)
                return fth_ptx_lexer_fail(lexer, &token,
                                          "expected a register, a number or a .param variable");
            (*slots)[(*count)++] = (struct fth_ptx_slot){operand.row, 0, 8};
        }
    } while (fth_ptx_lexer_accept(lexer, ","));
    return fth_ptx_lexer_expect(lexer, ")");
}

/* Parses the operands of "call (result), function, (arguments)[, prototype];".
 *
 * Limitation: an argument that emits an instruction (a special register, or the address of a local
 * variable or of dynamic shared memory) does not have the right value, because that instruction
 * comes after the call. Compilers pass such values in registers or .param variables. */
static bool parse_call(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_module *module = parser->module;
    uint32_t index = inst->index; /* `inst` moves if an argument emits an instruction */
    struct fth_ptx_call_site site = {.function = UINT32_MAX}; /* UINT32_MAX: an indirect call */
    const struct fth_ptx_token results = lexer->token;
    if (fth_ptx_token_is(&results, "(")) {
        if (!parse_call_slots(parser, &site.results, &site.result_count) ||
            !fth_ptx_lexer_expect(lexer, ","))
            return false;
        for (size_t i = 0; i < site.result_count; i++)
            if (site.results[i].row < 0 && site.results[i].row != NO_REGISTER)
                return fth_ptx_lexer_fail(lexer, &results,
                                          "a result must be a register or a .param variable");
        /* A special register or an address emits an instruction that reads it. It cannot receive a
         * result, and `inst` may have moved. */
        if (parser->function->code_count != (size_t)index + 1)
            return fth_ptx_lexer_fail(lexer, &results,
                                      "a result must be a register or a .param variable");
    }
    const struct fth_ptx_token name = lexer->token;
    struct fth_ptx_symbol *symbol = NULL;
    uint32_t number;
    if (name.kind == TOKEN_WORD && fth_ptx_parser_find_register(parser, &name, &symbol, &number) &&
        symbol->kind == SYMBOL_REGISTER) {
        inst->control = K_CALL_INDIRECT;
        inst->s[0] = (int32_t)number;
    } else {
        symbol = fth_ptx_parser_find(parser, name.start, name.size);
        if (name.kind != TOKEN_WORD || !symbol || symbol->kind != SYMBOL_FUNCTION)
            return fth_ptx_lexer_fail(lexer, &name, "expected a declared function or a register");
        inst->control = K_CALL;
        site.function = symbol->first;
    }
    fth_ptx_lexer_next(lexer);
    if (fth_ptx_lexer_accept(lexer, ",")) {
        if (fth_ptx_token_is(&lexer->token, "(") &&
            !parse_call_slots(parser, &site.arguments, &site.argument_count))
            return false;
        fth_ptx_lexer_accept(lexer, ",");
        if (lexer->token.kind == TOKEN_WORD) /* the prototype of an indirect call */
            fth_ptx_lexer_next(lexer);
    }
    if (site.function != UINT32_MAX) { /* indirect calls are checked when they are executed */
        const struct fth_ptx_function *callee = &module->functions[site.function];
        if (callee->is_kernel ||
            !fth_ptx_slots_match(site.arguments, site.argument_count, callee->arguments,
                                 callee->argument_count) ||
            !fth_ptx_slots_match(site.results, site.result_count, callee->results,
                                 callee->result_count))
            return fth_ptx_lexer_fail(lexer, &name,
                                      "'%s' is not a function with these arguments and results",
                                      callee->name);
    }
    void *calls = module->calls;
    if (!fth_ptx_parser_grow(parser, &calls, module->call_count, &module->call_capacity,
                             sizeof *module->calls))
        return false;
    module->calls = calls;
    parser->function->code[index].target = (uint32_t)module->call_count;
    module->calls[module->call_count++] = site;
    return true;
}

/* Parses the operands of "bra LABEL;" or, if `table`, "brx.idx %r1, TABLE;". `index` is the
 * index of the branch instruction in the function. Limitation: as in parse_call, a special register
 * in the place of %r1 is read after the branch, so the branch does not use its value. */
static bool parse_branch(struct fth_ptx_parser *parser, uint32_t index, bool table)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (table) {
        struct operand operand;
        if (!parse_operand(parser, T_U32, &operand) || !fth_ptx_lexer_expect(lexer, ","))
            return false;
        const struct fth_ptx_symbol *symbol =
            fth_ptx_parser_find(parser, lexer->token.start, lexer->token.size);
        if (operand.kind != OPERAND_ROW || !symbol || symbol->kind != SYMBOL_TABLE)
            return fth_ptx_lexer_fail(lexer, &lexer->token,
                                      "expected an index and the name of a .branchtargets list");
        fth_ptx_lexer_next(lexer);
        struct fth_ptx_inst *inst = &parser->function->code[index];
        inst->control = K_BRANCH_TABLE;
        inst->s[0] = operand.row;
        inst->target = symbol->first;
        return true;
    }
    if (lexer->token.kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, &lexer->token, "expected a label");
    parser->function->code[index].control = K_BRANCH;
    if (!fth_ptx_parser_use_label(parser, &lexer->token, index, NULL))
        return false;
    fth_ptx_lexer_next(lexer);
    return true;
}

/* Splits an opcode such as "ld.global.v4.f32" at its dots, stores the first part in `base`, and
 * applies the others to the instruction. `base` has space for every supported opcode. A longer
 * first part is cut, and matches none of them. */
static bool parse_opcode(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                         struct fth_ptx_inst *inst, char base[16])
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    const char *at = token->start, *end = token->start + token->size;
    const char *dot = memchr(at, '.', token->size);
    size_t size = (size_t)((dot ? dot : end) - at);
    snprintf(base, 16, "%.*s", size < 15 ? (int)size : 15, at);
    while (dot) {
        const char *word = dot + 1;
        dot = memchr(word, '.', (size_t)(end - word));
        size_t length = (size_t)((dot ? dot : end) - word);
        if (!fth_ptx_apply_modifier(inst, base, word, length)) {
            struct fth_ptx_token culprit = *token;
            culprit.start = word;
            culprit.size = length;
            return fth_ptx_lexer_fail(lexer, &culprit, "'.%.*s' of '%.*s' is not supported",
                                      (int)length, word, (int)token->size, token->start);
        }
    }
    return true;
}

/* Returns the enum fth_ptx_control of an instruction that only changes the control flow, or K_NONE.
 */
static int flow_control(const char *base)
{
    static const struct {
        const char *base;
        enum fth_ptx_control control;
    } list[] = {{"bra", K_BRANCH}, {"brx", K_BRANCH_TABLE}, {"call", K_CALL},
                {"ret", K_RETURN}, {"exit", K_EXIT},        {"trap", K_TRAP}};
    for (size_t i = 0; i < FTH_COUNT(list); i++)
        if (strcmp(list[i].base, base) == 0)
            return (int)list[i].control;
    return K_NONE;
}

static bool parse_operands(struct fth_ptx_parser *parser, const char *base,
                           const struct fth_ptx_inst *parsed, struct operand *operands,
                           size_t *count)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *count = 0;
    if (fth_ptx_token_is(&lexer->token, ";"))
        return true;
    do {
        if (*count == MAX_OPERANDS)
            return fth_ptx_lexer_fail(lexer, &lexer->token, "too many operands");
        /* A literal has the type of the instruction. For cvt, set and setp, it has the second type
         * (if there is one). For slct, only the last operand has the second type. */
        enum fth_ptx_type type = (enum fth_ptx_type)parsed->type;
        if (strcmp(base, "cvt") == 0 || fth_ptx_compares(base) ||
            (strcmp(base, "slct") == 0 && *count == 3))
            type =
                parsed->type2 ? (enum fth_ptx_type)parsed->type2 : (enum fth_ptx_type)parsed->type;
        if (!parse_operand(parser, type, &operands[(*count)++]))
            return false;
    } while (fth_ptx_lexer_accept(lexer, ","));
    return true;
}

/* For "mov.u32 %r1, %tid.x", the previous instruction has read the special register into a new
 * register. Changes its destination to %r1 and returns true: the mov itself is not needed. */
static bool fold_special(struct fth_ptx_parser *parser, const struct fth_ptx_inst *parsed,
                         const struct operand *operands)
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

/* Chooses the function that executes the instruction. Returns false if there is none. */
static bool select_instruction(struct fth_ptx_inst *inst, const char *base)
{
    static bool (*const selectors[])(struct fth_ptx_inst * inst, const char *base) = {
        fth_ptx_select_move,   fth_ptx_select_integer, fth_ptx_select_bits,
        fth_ptx_select_float,  fth_ptx_select_convert, fth_ptx_select_memory,
        fth_ptx_select_atomic, fth_ptx_select_address, fth_ptx_select_warp,
    };
    for (size_t i = 0; i < FTH_COUNT(selectors); i++)
        if (selectors[i](inst, base))
            return true;
    return false;
}

bool fth_ptx_parse_instruction(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    struct fth_ptx_inst parsed = {.control = K_NONE};
    struct fth_ptx_token guard = {.kind = TOKEN_END};
    if (fth_ptx_lexer_accept(lexer, "@")) {
        parsed.guard_negated = fth_ptx_lexer_accept(lexer, "!");
        guard = lexer->token;
        struct fth_ptx_symbol *symbol = NULL;
        if (guard.kind != TOKEN_WORD ||
            !fth_ptx_parser_find_register(parser, &guard, &symbol, &parsed.guard) ||
            symbol->kind != SYMBOL_PREDICATE)
            return fth_ptx_lexer_fail(lexer, &guard, "expected a predicate register as the guard");
        parsed.guarded = true;
        fth_ptx_lexer_next(lexer);
    }
    const struct fth_ptx_token token = lexer->token;
    char base[16];
    if (token.kind != TOKEN_WORD)
        return fth_ptx_lexer_fail(lexer, &token, "expected an instruction");
    if (!parse_opcode(parser, &token, &parsed, base))
        return false;
    if (parsed.vector && strcmp(base, "mov") == 0) /* mov has no .v2; its vectors are in braces */
        return fth_ptx_lexer_fail(lexer, &token, "'%.*s' is not supported", (int)token.size,
                                  token.start);
    fth_ptx_lexer_next(lexer);

    enum fth_ptx_control control = (enum fth_ptx_control)flow_control(base);
    struct operand operands[MAX_OPERANDS];
    size_t count = 0;
    /* Parse the operands before emitting the instruction: they can emit instructions that must come
     * first, such as reads of special registers. Calls and branches are emitted before their
     * operands are parsed; for the consequences, see parse_call and parse_branch. */
    if (control == K_NONE && !parse_operands(parser, base, &parsed, operands, &count))
        return false;
    if (control == K_NONE && strcmp(base, "mov") == 0 && count == 2 &&
        fold_special(parser, &parsed, operands))
        return fth_ptx_lexer_expect(lexer, ";");
    char *opcode = fth_arena_alloc(&parser->module->arena, token.size + 1);
    struct fth_ptx_inst *inst = fth_ptx_parser_emit(parser, &token, opcode ? opcode : "");
    if (!inst || !opcode)
        return fth_ptx_lexer_fail(lexer, &token, "out of memory");
    memcpy(opcode, token.start, token.size);
    uint32_t index = inst->index;
    /* Copy everything that was parsed, and keep what fth_ptx_parser_emit() has set. */
    struct fth_ptx_inst emitted = *inst;
    *inst = parsed;
    inst->opcode = emitted.opcode;
    inst->index = emitted.index;
    inst->line = emitted.line;
    inst->file = emitted.file;
    inst->source_line = emitted.source_line;
    inst->predicate = inst->predicate2 = UINT32_MAX;
    memcpy(inst->d, emitted.d, sizeof inst->d);
    memcpy(inst->s, emitted.s, sizeof inst->s);
    inst->control = (uint8_t)control;
    if (control == K_CALL) {
        if (!parse_call(parser, inst))
            return false;
    } else if (control == K_BRANCH || control == K_BRANCH_TABLE) {
        if (!parse_branch(parser, index, control == K_BRANCH_TABLE))
            return false;
    } else if (control == K_NONE) {
        if (!place_operands(parser, inst, base, operands, count))
            return false;
        if (inst->space == FTH_SPACE_PARAM && parser->function->is_kernel &&
            strcmp(base, "ld") == 0 && count > 1 && !operands[1].has_space)
            inst->space = SPACE_ARGUMENT; /* an address in a register refers to kernel arguments */
        if (!select_instruction(inst, base))
            return fth_ptx_lexer_fail(lexer, &token, "'%.*s' with these operands is not supported",
                                      (int)token.size, token.start);
    }
    return fth_ptx_lexer_expect(lexer, ";");
}
