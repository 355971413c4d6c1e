/* Families of instructions with a syntax of their own. The opcodes of these instructions have many
 * words in a fixed order, such as "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", and their
 * operands are long vectors. A family takes the words one after the other, checks the operands, and
 * stores both in a struct that begins with struct fth_ptx_detail. */
#include "ptx/parse/operand.h"

#include "ptx/async/async.h"
#include "ptx/matrix/matrix.h"
#include "ptx/texture/texture.h"
#include "ptx/video/video.h"

#include <stdio.h>
#include <string.h>

/* clusterlaunchcontrol; the name is longer than `base` of struct fth_ptx_statement. */
static bool refuse_cluster_launch(struct fth_ptx_parser *parser,
                                  struct fth_ptx_statement *statement, struct fth_ptx_inst *inst)
{
    (void)inst;
    return fth_ptx_lexer_unsupported(&parser->lexer, &statement->opcode,
                                     "'clusterlaunchcontrol' is not supported: it exists from "
                                     "sm_100 on, and the engine executes up to sm_90");
}

fth_ptx_family *fth_ptx_find_family(const struct fth_ptx_statement *statement)
{
    static const struct {
        const char *base;
        fth_ptx_family *family;
    } families[] = {{"mma", fth_ptx_family_mma},
                    {"ldmatrix", fth_ptx_family_ldmatrix},
                    {"stmatrix", fth_ptx_family_stmatrix},
                    {"movmatrix", fth_ptx_family_movmatrix},
                    {"wgmma", fth_ptx_family_wgmma},
                    {"wmma", fth_ptx_family_wmma},
                    {"mbarrier", fth_ptx_family_mbarrier},
                    {"cp", fth_ptx_family_cp},
                    {"tensormap", fth_ptx_family_tensormap},
                    {"multimem", fth_ptx_family_multimem},
                    {"fence", fth_ptx_family_fence},
                    {"membar", fth_ptx_family_fence},
                    {"griddepcontrol", fth_ptx_family_resources},
                    {"setmaxnreg", fth_ptx_family_resources},
                    {"createpolicy", fth_ptx_family_policy},
                    {"alloca", fth_ptx_family_stack},
                    {"stacksave", fth_ptx_family_stack},
                    {"stackrestore", fth_ptx_family_stack},
                    {"tex", fth_ptx_family_tex},
                    {"tld4", fth_ptx_family_tld4},
                    {"txq", fth_ptx_family_query},
                    {"suq", fth_ptx_family_query},
                    {"istypep", fth_ptx_family_istypep},
                    {"suld", fth_ptx_family_surface},
                    {"sust", fth_ptx_family_surface},
                    {"sured", fth_ptx_family_surface},
                    {"clusterlaunchco", refuse_cluster_launch}};
    for (size_t i = 0; i < FTH_COUNT(families); i++)
        if (strcmp(statement->base, families[i].base) == 0)
            return families[i].family;
    return fth_ptx_is_video(statement->base)   ? fth_ptx_family_video
           : fth_ptx_is_narrow(statement)      ? fth_ptx_family_narrow
           : fth_ptx_is_pack(statement)        ? fth_ptx_family_pack
           : fth_ptx_is_wide(statement)        ? fth_ptx_family_wide
           : fth_ptx_is_store_async(statement) ? fth_ptx_family_store_async
                                               : NULL;
}

bool fth_ptx_has_word(const struct fth_ptx_statement *statement, const char *word)
{
    for (size_t i = 0; i < statement->word_count; i++)
        if (statement->words[i].size == strlen(word) &&
            memcmp(statement->words[i].start, word, strlen(word)) == 0)
            return true;
    return false;
}

static bool is_next(const struct fth_ptx_statement *statement, const char *word)
{
    const struct fth_ptx_word *next = &statement->words[statement->next_word];
    return statement->next_word < statement->word_count && strlen(word) == next->size &&
           memcmp(word, next->start, next->size) == 0;
}

bool fth_ptx_take_word(struct fth_ptx_statement *statement, const char *word)
{
    bool found = is_next(statement, word);
    statement->next_word += found;
    return found;
}

int fth_ptx_take_one_of(struct fth_ptx_statement *statement, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fth_ptx_take_word(statement, words[i]))
            return (int)i;
    return -1;
}

bool fth_ptx_refuse(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement)
{
    const struct fth_ptx_token *opcode = &statement->opcode;
    if (statement->next_word >= statement->word_count)
        return fth_ptx_lexer_unsupported(&parser->lexer, opcode,
                                         "'%.*s' with these operands is not supported",
                                         (int)opcode->size, opcode->start);
    const struct fth_ptx_word *word = &statement->words[statement->next_word];
    struct fth_ptx_token culprit = *opcode;
    culprit.start = word->start;
    culprit.size = word->size;
    return fth_ptx_lexer_unsupported(&parser->lexer, &culprit, "'.%.*s' of '%.*s' is not supported",
                                     (int)word->size, word->start, (int)opcode->size,
                                     opcode->start);
}

bool fth_ptx_refuse_operand(struct fth_ptx_parser *parser,
                            const struct fth_ptx_statement *statement, size_t index,
                            const char *expected)
{
    const struct fth_ptx_token *token =
        index < statement->operand_count ? &statement->operands[index].token : &statement->opcode;
    return fth_ptx_lexer_fail(&parser->lexer, token, "operand %zu of '%.*s' must be %s", index + 1,
                              (int)statement->opcode.size, statement->opcode.start, expected);
}

bool fth_ptx_check_operand_count(struct fth_ptx_parser *parser,
                                 const struct fth_ptx_statement *statement, size_t count)
{
    if (statement->operand_count == count)
        return true;
    return fth_ptx_lexer_fail(&parser->lexer, &statement->opcode, "'%.*s' takes %zu operands",
                              (int)statement->opcode.size, statement->opcode.start, count);
}

bool fth_ptx_take_registers(struct fth_ptx_parser *parser,
                            const struct fth_ptx_statement *statement, size_t index, size_t count,
                            bool result, const int32_t **rows)
{
    const struct fth_ptx_operand *operand = &statement->operands[index];
    const bool single = operand->kind == OPERAND_ROW && count == 1;
    char expected[64];
    snprintf(expected, sizeof expected, count == 1 ? "a register" : "a vector of %zu registers",
             count);
    if (index >= statement->operand_count ||
        (!single && (operand->kind != OPERAND_VECTOR || operand->element_count != count)))
        return fth_ptx_refuse_operand(parser, statement, index, expected);
    *rows = single ? &operand->row : operand->elements;
    for (size_t i = 0; i < count; i++)
        if (result ? (*rows)[i] < 0 && (*rows)[i] != NO_REGISTER : (*rows)[i] == NO_REGISTER)
            return fth_ptx_refuse_operand(parser, statement, index, expected);
    if (single) { /* the operand itself does not live as long as the module */
        int32_t *row = fth_arena_array(&parser->module->arena, 1, sizeof *row);
        if (!row)
            return fth_ptx_lexer_no_memory(&parser->lexer);
        *row = operand->row;
        *rows = row;
    }
    return true;
}

/* Appends the registers of an operand to rows[], unless that is NULL, and returns their number. */
static size_t list_registers(const struct fth_ptx_operand *operand, int32_t *rows)
{
    size_t count = 0;
    if (operand->kind == OPERAND_ROW || operand->kind == OPERAND_ADDRESS) {
        if (rows)
            rows[count] = operand->row;
        count++;
    }
    for (size_t i = 0; i < operand->element_count; i++, count++)
        if (rows)
            rows[count] = operand->elements[i];
    return count;
}

bool fth_ptx_set_detail(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t results, struct fth_ptx_detail *detail, struct fth_ptx_inst *inst)
{
    size_t counts[2] = {0, 0}; /* results, sources */
    for (size_t i = 0; i < statement->operand_count; i++)
        counts[i >= results] += list_registers(&statement->operands[i], NULL);
    int32_t *rows =
        fth_arena_array(&parser->module->arena, counts[0] + counts[1] + 1, sizeof *rows);
    if (!rows)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    detail->writes = rows;
    detail->reads = rows + counts[0];
    detail->write_count = counts[0];
    detail->read_count = counts[1];
    for (size_t i = 0; i < statement->operand_count; i++)
        rows += list_registers(&statement->operands[i], rows);
    inst->detail = detail;
    return true;
}

bool fth_ptx_converge(struct fth_ptx_parser *parser, fth_ptx_run_function *run,
                      struct fth_ptx_inst *inst)
{
    inst->run = run;
    inst->control = K_CONVERGE;
    inst->target = FTH_COUNT(inst->s) - 1; /* the last source is the member mask: all lanes */
    inst->s[inst->target] = fth_ptx_parser_immediate(parser, FULL_MASK);
    return true;
}

bool fth_ptx_take_space(struct fth_ptx_statement *statement, uint8_t *space)
{
    static const struct {
        const char *word;
        uint8_t space;
    } spaces[] = {{"global", FTH_SPACE_GLOBAL},
                  {"shared", FTH_SPACE_SHARED},
                  {"shared::cta", FTH_SPACE_SHARED},
                  {"shared::cluster", SPACE_CLUSTER}};
    for (size_t i = 0; i < FTH_COUNT(spaces); i++)
        if (fth_ptx_take_word(statement, spaces[i].word)) {
            *space = spaces[i].space;
            return true;
        }
    return false;
}

bool fth_ptx_take_address(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                          size_t index, struct fth_ptx_inst *inst)
{
    const struct fth_ptx_operand *operand = &statement->operands[index];
    if (index >= statement->operand_count || operand->kind != OPERAND_ADDRESS ||
        operand->element_count)
        return fth_ptx_refuse_operand(parser, statement, index, "an address in brackets");
    inst->s[0] = operand->row;
    inst->offset = operand->offset;
    /* The row of a variable has an address in the space of the variable. */
    if (operand->has_space && inst->space == FTH_SPACE_GENERIC)
        inst->space = operand->space;
    return true;
}
