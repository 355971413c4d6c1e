/* Combines the bytes of a copy with those of the destination: cp.reduce.async.bulk. Global memory
 * is shared by host threads, so each element is changed atomically. */
#include "ptx/async/async.h"

static const struct {
    const char *word;
    enum fth_ptx_atomic_op op;
} ops[] = {{"add", A_ADD}, {"min", A_MIN}, {"max", A_MAX}, {"inc", A_INC},
           {"dec", A_DEC}, {"and", A_AND}, {"or", A_OR},   {"xor", A_XOR}};

const char *fth_ptx_reduction_name(enum fth_ptx_atomic_op op)
{
    size_t i = 0;
    while (i + 1 < FTH_COUNT(ops) && ops[i].op != op)
        i++;
    return ops[i].word;
}

bool fth_ptx_take_reduction_op(struct fth_ptx_statement *statement,
                               struct fth_ptx_reduction *reduction)
{
    reduction->op = A_NONE;
    for (size_t i = 0; i < FTH_COUNT(ops) && reduction->op == A_NONE; i++)
        if (fth_ptx_take_word(statement, ops[i].word))
            reduction->op = ops[i].op;
    return reduction->op != A_NONE;
}

bool fth_ptx_take_reduction_type(struct fth_ptx_statement *statement,
                                 struct fth_ptx_reduction *reduction)
{
    static const struct {
        const char *word;
        enum fth_ptx_type type;
    } types[] = {{"f16", T_F16}, {"bf16", T_BF16}, {"b32", T_B32}, {"u32", T_U32}, {"s32", T_S32},
                 {"b64", T_B64}, {"u64", T_U64},   {"s64", T_S64}, {"f32", T_F32}, {"f64", T_F64}};
    reduction->type = T_NONE;
    for (size_t i = 0; i < FTH_COUNT(types) && reduction->type == T_NONE; i++)
        if (fth_ptx_take_word(statement, types[i].word))
            reduction->type = types[i].type;
    return reduction->type != T_NONE;
}

bool fth_ptx_take_reduction(struct fth_ptx_statement *statement,
                            struct fth_ptx_reduction *reduction)
{
    if (!fth_ptx_take_reduction_op(statement, reduction))
        return false;
    (void)fth_ptx_take_word(statement, "noftz");
    return fth_ptx_take_reduction_type(statement, reduction);
}

void fth_ptx_reduce(const struct fth_ptx_reduction *reduction, uint8_t *to, const uint8_t *from,
                    uint64_t bytes)
{
    const unsigned size = fth_ptx_type_bytes(reduction->type);
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        uint64_t value = 0;
        memcpy(&value, from + at, size);
        (void)fth_ptx_update(reduction->type, reduction->op, to + at, value, 0,
                             !reduction->keeps_subnormals);
    }
}
