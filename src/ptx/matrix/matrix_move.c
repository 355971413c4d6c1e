/* ldmatrix, stmatrix and movmatrix: moves of matrices of 8 x 8 elements of 16 bits (PTX ISA, "Warp-
 * level matrix load instruction: ldmatrix" and the next ones).
 *
 * One to four matrices are in memory, as rows of 16 bytes. Lane 8 * m + r has the address of row r
 * of matrix m. In registers, lane l holds the elements l % 4 * 2 and l % 4 * 2 + 1 of row l / 4 of
 * each matrix, one matrix per register. With .trans, rows and columns are exchanged. */
#include "ptx/matrix/matrix.h"

#include "ptx/execute/address.h"

enum { SIZE = 8, ROW_BYTES = 16 };

struct fth_ptx_matrix_move {
    struct fth_ptx_detail detail;
    unsigned count; /* of matrices */
    bool transposed;
    const int32_t *rows; /* registers, one per matrix */
};

/* ---- execution ---- */

/* Finds the host memory of the rows of all matrices, and reports the access. Returns false after a
 * fault. */
static bool find_rows(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, unsigned count,
                      bool write, uint8_t *hosts[LANES])
{
    uint32_t mask = count == 4 ? FULL_MASK : (1u << (SIZE * count)) - 1;
    while (mask) {
        struct fth_ptx_lane_group group;
        if (!fth_ptx_resolve_group(warp, inst, &mask, ROW_BYTES, write, &group) ||
            !fth_ptx_notify_access(warp, inst, &group, ROW_BYTES,
                                   write ? FTH_ACCESS_WRITE : FTH_ACCESS_READ))
            return false;
        FOR_LANES(group.mask, hosts[lane] = group.host[lane];);
    }
    return true;
}

/* The address of element e (0 or 1) of a lane in matrix m. */
static uint8_t *element_at(const struct fth_ptx_matrix_move *move, uint8_t *const hosts[LANES],
                           unsigned m, unsigned lane, unsigned e)
{
    const unsigned r = lane / 4, c = lane % 4 * 2 + e;
    return move->transposed ? hosts[SIZE * m + c] + (size_t)2 * r
                            : hosts[SIZE * m + r] + (size_t)2 * c;
}

static void run_ldmatrix(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_matrix_move *move = (const struct fth_ptx_matrix_move *)inst->detail;
    uint8_t *hosts[LANES] = {NULL};
    (void)mask; /* all lanes take part */
    if (!find_rows(warp, inst, move->count, false, hosts) || inst->slice & SLICE_SKIPS)
        return;
    uint64_t loaded[4][LANES];
    for (unsigned m = 0; m < move->count; m++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint16_t halves[2];
            for (unsigned e = 0; e < 2; e++)
                memcpy(&halves[e], element_at(move, hosts, m, lane, e), 2);
            loaded[m][lane] = halves[0] | (uint64_t)halves[1] << 16;
        }
    for (unsigned m = 0; m < move->count; m++)
        if (move->rows[m] >= 0) /* not "_" */
            memcpy(out_row(warp, move->rows[m]), loaded[m], sizeof loaded[m]);
}

static void run_stmatrix(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_matrix_move *move = (const struct fth_ptx_matrix_move *)inst->detail;
    uint8_t *hosts[LANES] = {NULL};
    (void)mask; /* all lanes take part */
    if (!find_rows(warp, inst, move->count, true, hosts) || inst->slice & SLICE_SKIPS)
        return;
    for (unsigned m = 0; m < move->count; m++) {
        const uint64_t *values = row(warp, move->rows[m]);
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < 2; e++) {
                const uint16_t half = (uint16_t)(values[lane] >> (16 * e));
                memcpy(element_at(move, hosts, m, lane, e), &half, 2);
            }
    }
}

/* movmatrix transposes a matrix in registers. */
static void run_movmatrix(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint16_t elements[SIZE][SIZE];
    (void)mask; /* all lanes take part */
    const uint64_t *from = row(warp, inst->s[0]);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned e = 0; e < 2; e++)
            elements[lane / 4][lane % 4 * 2 + e] = (uint16_t)(from[lane] >> (16 * e));
    uint64_t *to = out_row(warp, inst->d[0]);
    for (unsigned lane = 0; lane < LANES; lane++)
        to[lane] = elements[(size_t)2 * (lane % 4)][lane / 4] |
                   (uint64_t)elements[(size_t)2 * (lane % 4) + 1][lane / 4] << 16;
}

/* ---- parsing ---- */

/* Parses ".sync.aligned.m8n8.x4.trans.shared.b16". */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_matrix_move *move,
                        struct fth_ptx_inst *inst)
{
    static const char *const counts[] = {"x1", "x2", "x4"};
    if (!fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned") ||
        !fth_ptx_take_word(statement, "m8n8"))
        return false;
    const int count = fth_ptx_take_one_of(statement, counts, FTH_COUNT(counts));
    if (count < 0)
        return false;
    move->count = 1u << count;
    move->transposed = fth_ptx_take_word(statement, "trans");
    (void)fth_ptx_take_space(statement, &inst->space); /* otherwise, the address is generic */
    return fth_ptx_take_word(statement, "b16") && statement->next_word == statement->word_count;
}

static bool parse_move(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                       bool load, struct fth_ptx_inst *inst)
{
    struct fth_ptx_matrix_move *move = fth_arena_alloc(&parser->module->arena, sizeof *move);
    if (!move)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    if (!parse_words(statement, move, inst))
        return fth_ptx_refuse(parser, statement);
    inst->unit = FTH_UNIT_MATRIX;
    const size_t registers = load ? 0 : 1;
    return fth_ptx_check_operand_count(parser, statement, 2) &&
           fth_ptx_take_registers(parser, statement, registers, move->count, load, &move->rows) &&
           fth_ptx_take_address(parser, statement, 1 - registers, inst) &&
           fth_ptx_set_detail(parser, statement, load ? 1 : 0, &move->detail, inst) &&
           fth_ptx_converge(parser, load ? run_ldmatrix : run_stmatrix, inst);
}

bool fth_ptx_family_ldmatrix(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                             struct fth_ptx_inst *inst)
{
    return parse_move(parser, statement, true, inst);
}

bool fth_ptx_family_stmatrix(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                             struct fth_ptx_inst *inst)
{
    return parse_move(parser, statement, false, inst);
}

bool fth_ptx_family_movmatrix(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                              struct fth_ptx_inst *inst)
{
    static const char *const words[] = {"sync", "aligned", "m8n8", "trans", "b16"};
    const int32_t *to, *from;
    for (size_t i = 0; i < FTH_COUNT(words); i++)
        if (!fth_ptx_take_word(statement, words[i]))
            return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_check_operand_count(parser, statement, 2) ||
        !fth_ptx_take_registers(parser, statement, 0, 1, true, &to) ||
        !fth_ptx_take_registers(parser, statement, 1, 1, false, &from))
        return false;
    if (*to < 0)
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    inst->d[0] = *to;
    inst->s[0] = *from;
    return fth_ptx_converge(parser, run_movmatrix, inst);
}
