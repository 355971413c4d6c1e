/* Stores the operands of an instruction where the functions that execute it expect them:
 *
 *   destination         d[0], or d[0], d[1] and so on for a vector
 *   second destination  d[1] if both are predicates (setp), predicate2 after a register (shfl)
 *   sources             s[0], s[1] and so on; each element of a vector counts as one source
 *   address             s[] for the row, `offset` for the offset
 *   source predicates   s[] for logical instructions (and.pred), otherwise `predicate` (selp) */
#include "ptx/parse/operand.h"

#include <string.h>

/* Returns true if the instruction has no destination operand. */
static bool has_no_result(const char *base, const struct fth_ptx_inst *inst)
{
    if (inst->flags & F_RED)
        return false; /* bar.red has a result, unlike red, bar.sync and bar.arrive */
    static const char *const list[] = {
        "st",        "red",       "bar",     "barrier",       "prefetch",
        "prefetchu", "nanosleep", "discard", "applypriority", "pmevent"};
    for (size_t i = 0; i < FTH_COUNT(list); i++)
        if (strcmp(base, list[i]) == 0)
            return true;
    return false;
}

/* Copies the elements of a vector to rows[], which has space for `capacity` rows. The vector must
 * have as many elements as the opcode says (.v2, .v4). The exception is mov, whose opcode never
 * says it. */
static bool place_vector(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst, const char *base,
                         const struct fth_ptx_operand *operand, int32_t *rows, size_t capacity)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    size_t count = operand->element_count, expected = inst->vector ? inst->vector : 1;
    if (count > capacity)
        return fth_ptx_lexer_fail(lexer, &operand->token,
                                  "the vector has too many elements for this instruction");
    if (strcmp(base, "mov") != 0 && count != expected)
        return fth_ptx_lexer_fail(lexer, &operand->token,
                                  "the vector has %zu elements; this instruction takes %zu", count,
                                  expected);
    memcpy(rows, operand->elements, count * sizeof *rows);
    if (inst->vector == 0)
        inst->vector = (uint8_t)count;
    return true;
}

static bool is_register(int32_t row)
{
    return row >= 0;
}

/* Places the first operand of an instruction that has a destination. */
static bool place_result(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst, const char *base,
                         const struct fth_ptx_operand *operand)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    switch (operand->kind) {
    case OPERAND_VECTOR:
        if (!place_vector(parser, inst, base, operand, inst->d, FTH_COUNT(inst->d)))
            return false;
        for (size_t e = 0; e < operand->element_count; e++)
            if (!is_register(inst->d[e]) && inst->d[e] != NO_REGISTER)
                return fth_ptx_lexer_fail(lexer, &operand->token,
                                          "the destination must be a register");
        return true;
    case OPERAND_PREDICATE:
        inst->result_is_predicate = true;
        inst->d[0] = (int32_t)operand->predicate;
        inst->d[1] = operand->predicate2 == UINT32_MAX ? NO_REGISTER : (int32_t)operand->predicate2;
        return true;
    default:
        if (operand->kind == OPERAND_ADDRESS)
            return fth_ptx_lexer_fail(lexer, &operand->token,
                                      "the destination must be a register, not an address");
        if (operand->kind != OPERAND_SINK && !is_register(operand->row))
            return fth_ptx_lexer_fail(lexer, &operand->token, "the destination must be a register");
        if (inst->vector)
            return fth_ptx_lexer_fail(lexer, &operand->token,
                                      "expected a vector of %u elements in braces", inst->vector);
        inst->d[0] = operand->row;
        inst->predicate2 = operand->predicate2;
        return true;
    }
}

/* Logical instructions on predicates, such as and.pred, can have two source predicates, which are
 * stored in s[]. Every other instruction has at most one, which is stored in `predicate`. Some of
 * these other instructions have the type .pred, too. The condition excludes them: mov, set and setp
 * by their names, vote and bar.red by their flags. */
static bool place_source_predicate(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                                   const char *base, const struct fth_ptx_operand *operand,
                                   size_t *source)
{
    bool logical = inst->type == T_PRED && inst->flags == 0 && !fth_ptx_compares(base) &&
                   strcmp(base, "mov") != 0;
    if (!logical) {
        inst->predicate = operand->predicate;
        inst->negated = operand->negated;
        return true;
    }
    if (*source == 2 || operand->negated)
        return fth_ptx_lexer_fail(&parser->lexer, &operand->token,
                                  "a negated or third predicate operand is not supported here");
    inst->s[(*source)++] = (int32_t)operand->predicate;
    inst->predicate_source_count++;
    return true;
}

/* Stores the offset and the space of an address, and the coordinates of a texture. The row of the
 * address is already in s[]. */
static void place_address(struct fth_ptx_inst *inst, const struct fth_ptx_operand *operand,
                          size_t *source)
{
    inst->offset = operand->offset;
    /* The row holds an address within the state space of the variable, so the instruction should
     * access this space. If the instruction has .param, the variable decides whether that is the
     * arguments of the kernel (SPACE_ARGUMENT) or the parameters of calls (FTH_SPACE_PARAM, see
     * engine.h). An instruction without a state space takes the variable's space, too, unless that
     * is FTH_SPACE_PARAM: parameters of calls can only be accessed with .param. Any other space
     * that the instruction names is kept. */
    if (operand->has_space &&
        (inst->space == FTH_SPACE_PARAM ||
         (inst->space == FTH_SPACE_GENERIC && operand->space != FTH_SPACE_PARAM)))
        inst->space = operand->space;
    for (size_t e = 0; e < operand->element_count && *source < FTH_COUNT(inst->s); e++)
        inst->s[(*source)++] = operand->elements[e];
}

/* Places an operand that is not the destination. *source is the number of elements of s[] in use.
 */
static bool place_source(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst, const char *base,
                         const struct fth_ptx_operand *operand, size_t *source)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    if (operand->kind == OPERAND_VECTOR) {
        if (!place_vector(parser, inst, base, operand, inst->s + *source,
                          FTH_COUNT(inst->s) - *source))
            return false;
        *source += operand->element_count;
        return true;
    }
    if (operand->kind == OPERAND_PREDICATE)
        return place_source_predicate(parser, inst, base, operand, source);
    if (*source == FTH_COUNT(inst->s))
        return fth_ptx_lexer_fail(lexer, &operand->token, "too many operands");
    if (operand->kind == OPERAND_SINK)
        return fth_ptx_lexer_fail(lexer, &operand->token, "'_' can only be a destination");
    inst->s[(*source)++] = operand->row;
    if (operand->kind == OPERAND_ADDRESS)
        place_address(inst, operand, source);
    return true;
}

bool fth_ptx_check_addresses(struct fth_ptx_parser *parser, const char *base,
                             const struct fth_ptx_operand *operands, size_t count)
{
    /* The operands that are addresses, as a mask. No other instruction has any. */
    static const struct {
        const char *base;
        unsigned addresses;
    } list[] = {{"st", 1},        {"red", 1},     {"prefetch", 1},
                {"prefetchu", 1}, {"discard", 1}, {"applypriority", 1},
                {"ld", 2},        {"ldu", 2},     {"atom", 2}};
    unsigned addresses = 0;
    for (size_t i = 0; i < FTH_COUNT(list); i++)
        if (strcmp(base, list[i].base) == 0)
            addresses = list[i].addresses;
    for (size_t i = 0; i < count; i++) {
        const bool expected = addresses >> i & 1;
        if (expected != (operands[i].kind == OPERAND_ADDRESS))
            return fth_ptx_lexer_fail(&parser->lexer, &operands[i].token,
                                      expected ? "expected an address in brackets"
                                               : "an address in brackets is not allowed here");
    }
    return true;
}

bool fth_ptx_place_operands(struct fth_ptx_parser *parser, struct fth_ptx_inst *inst,
                            const char *base, const struct fth_ptx_operand *operands, size_t count)
{
    size_t source = 0;
    for (size_t i = 0; i < count; i++) {
        bool ok = i == 0 && !has_no_result(base, inst)
                      ? place_result(parser, inst, base, &operands[i])
                      : place_source(parser, inst, base, &operands[i], &source);
        if (!ok)
            return false;
    }
    return true;
}
