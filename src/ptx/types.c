/* The types of PTX: names, sizes and classes. */
#include "ptx/engine.h"

#include <string.h>

static const struct {
    const char *name;
    enum fth_ptx_type type;
} types[] = {
    {"b8", T_B8},         {"b16", T_B16},   {"b32", T_B32}, {"b64", T_B64},     {"u8", T_U8},
    {"u16", T_U16},       {"u32", T_U32},   {"u64", T_U64}, {"s8", T_S8},       {"s16", T_S16},
    {"s32", T_S32},       {"s64", T_S64},   {"f16", T_F16}, {"f16x2", T_F16X2}, {"bf16", T_BF16},
    {"bf16x2", T_BF16X2}, {"f32", T_F32},   {"f64", T_F64}, {"u16x2", T_U16X2}, {"s16x2", T_S16X2},
    {"b128", T_B128},     {"pred", T_PRED},
};

enum fth_ptx_type fth_ptx_type_find(const char *text, size_t size)
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

static size_t type_index(enum fth_ptx_type type)
{
    size_t i = 0;
    while (types[i].type != type)
        i++;
    return i;
}

unsigned fth_ptx_type_bytes(enum fth_ptx_type type)
{
    /* A table indexed by type is fast: every load and store calls this function. */
    static const uint8_t bytes[] = {
        [T_B8] = 1,    [T_B16] = 2,   [T_B32] = 4,   [T_B64] = 8,    [T_U8] = 1,  [T_U16] = 2,
        [T_U32] = 4,   [T_U64] = 8,   [T_S8] = 1,    [T_S16] = 2,    [T_S32] = 4, [T_S64] = 8,
        [T_F16] = 2,   [T_F16X2] = 4, [T_BF16] = 2,  [T_BF16X2] = 4, [T_F32] = 4, [T_F64] = 8,
        [T_U16X2] = 4, [T_S16X2] = 4, [T_B128] = 16, [T_PRED] = 1,
    };
    return bytes[type];
}

const char *fth_ptx_type_name(enum fth_ptx_type type)
{
    return type == T_NONE ? "" : types[type_index(type)].name;
}

bool fth_ptx_type_is_signed(enum fth_ptx_type type)
{
    return type >= T_S8 && type <= T_S64;
}

bool fth_ptx_type_is_float(enum fth_ptx_type type)
{
    return type >= T_F16 && type <= T_F64;
}
