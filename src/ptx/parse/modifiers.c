/* The modifiers of an opcode, such as ".rn.f32": types, rounding modes, state spaces, cache
 * operators and others. Each sets a field of struct fth_ptx_inst. Whether a modifier makes sense
 * for the opcode is checked later, by the fth_ptx_select_* functions. */
#include "ptx/parse/parser.h"

#include <string.h>

/* The property that each modifier sets, and its value. Types are handled separately. */
static const struct {
    const char *word;
    enum {
        SET_FLAG,
        SET_ROUND,
        SET_COMPARE,
        SET_BOOLEAN,
        SET_SPACE,
        SET_CACHE,
        SET_VECTOR,
        SET_ATOMIC,
        SET_MODE,
        SET_L1_PRIORITY,
        SET_L2_PRIORITY,
        SET_L2_BYTES,
        SET_NOTHING
    } property;
    unsigned value;
} modifiers[] = {
    {"lo", SET_FLAG, F_LO},
    {"hi", SET_FLAG, F_HI},
    {"wide", SET_FLAG, F_WIDE},
    {"sat", SET_FLAG, F_SAT},
    {"ftz", SET_FLAG, F_FTZ},
    {"approx", SET_FLAG, F_APPROX},
    {"full", SET_FLAG, F_FULL},
    {"cc", SET_FLAG, F_CC},
    {"clamp", SET_FLAG, F_CLAMP},
    {"wrap", SET_FLAG, F_WRAP},
    {"l", SET_FLAG, F_LEFT},
    {"r", SET_FLAG, F_RIGHT},
    {"sync", SET_FLAG, F_SYNC},
    {"aligned", SET_NOTHING, 0},
    {"to", SET_FLAG, F_TO},
    {"NaN", SET_FLAG, F_NAN},
    {"xorsign", SET_FLAG, F_XORSIGN},
    {"abs", SET_FLAG, F_ABS},
    {"relu", SET_FLAG, F_RELU},
    {"oob", SET_FLAG, F_OOB},
    {"shiftamt", SET_FLAG, F_SHIFTAMT},
    {"volatile", SET_FLAG, F_VOLATILE},
    {"nc", SET_FLAG, F_NC},
    {"uni", SET_FLAG, F_UNI},
    {"arrive", SET_FLAG, F_ARRIVE},
    {"red", SET_FLAG, F_RED},
    {"any", SET_FLAG, F_ANY},
    {"all", SET_FLAG, F_ALL},
    {"ballot", SET_FLAG, F_BALLOT},
    {"wait", SET_FLAG, F_WAIT},
    {"mask", SET_NOTHING, 0}, /* of pmevent */
    {"noftz", SET_NOTHING, 0},

    {"rn", SET_ROUND, R_RN},
    {"rz", SET_ROUND, R_RZ},
    {"rm", SET_ROUND, R_RM},
    {"rp", SET_ROUND, R_RP},
    {"rni", SET_ROUND, R_RNI},
    {"rzi", SET_ROUND, R_RZI},
    {"rmi", SET_ROUND, R_RMI},
    {"rna", SET_ROUND, R_RNA},
    {"rpi", SET_ROUND, R_RPI},

    {"eq", SET_COMPARE, C_EQ},
    {"ne", SET_COMPARE, C_NE},
    {"lt", SET_COMPARE, C_LT},
    {"le", SET_COMPARE, C_LE},
    {"gt", SET_COMPARE, C_GT},
    {"ge", SET_COMPARE, C_GE},
    {"ls", SET_COMPARE, C_LS},
    {"hs", SET_COMPARE, C_HS},
    {"equ", SET_COMPARE, C_EQU},
    {"neu", SET_COMPARE, C_NEU},
    {"ltu", SET_COMPARE, C_LTU},
    {"leu", SET_COMPARE, C_LEU},
    {"gtu", SET_COMPARE, C_GTU},
    {"geu", SET_COMPARE, C_GEU},
    {"num", SET_COMPARE, C_NUM},
    {"nan", SET_COMPARE, C_NAN},

    {"and", SET_BOOLEAN, B_AND},
    {"or", SET_BOOLEAN, B_OR},
    {"xor", SET_BOOLEAN, B_XOR},
    {"popc", SET_BOOLEAN, B_POPC},

    {"add", SET_ATOMIC, A_ADD},
    {"min", SET_ATOMIC, A_MIN},
    {"max", SET_ATOMIC, A_MAX},
    {"inc", SET_ATOMIC, A_INC},
    {"dec", SET_ATOMIC, A_DEC},
    {"exch", SET_ATOMIC, A_EXCH},
    {"cas", SET_ATOMIC, A_CAS},

    {"global", SET_SPACE, FTH_SPACE_GLOBAL},
    {"shared", SET_SPACE, FTH_SPACE_SHARED},
    {"shared::cta", SET_SPACE, FTH_SPACE_SHARED},
    {"shared::cluster", SET_SPACE, SPACE_CLUSTER},
    {"local", SET_SPACE, FTH_SPACE_LOCAL},
    {"const", SET_SPACE, FTH_SPACE_CONST},
    {"param", SET_SPACE, FTH_SPACE_PARAM},
    {"param::entry", SET_SPACE, FTH_SPACE_PARAM},
    {"param::func", SET_SPACE, FTH_SPACE_PARAM},

    {"ca", SET_CACHE, FTH_CACHE_CA},
    {"cg", SET_CACHE, FTH_CACHE_CG},
    {"cs", SET_CACHE, FTH_CACHE_CS},
    {"lu", SET_CACHE, FTH_CACHE_LU},
    {"cv", SET_CACHE, FTH_CACHE_CV},
    {"wb", SET_CACHE, FTH_CACHE_WB},
    {"wt", SET_CACHE, FTH_CACHE_WT},

    {"v2", SET_VECTOR, 2},
    {"v4", SET_VECTOR, 4},
    {"v8", SET_VECTOR, 8},

    {"f4e", SET_MODE, 1},
    {"b4e", SET_MODE, 2},
    {"rc8", SET_MODE, 3},
    {"ecl", SET_MODE, 4},
    {"ecr", SET_MODE, 5},
    {"rc16", SET_MODE, 6},
    {"up", SET_MODE, 1},
    {"down", SET_MODE, 2},
    {"bfly", SET_MODE, 3},
    {"idx", SET_MODE, 4},
    {"finite", SET_MODE, 1},
    {"infinite", SET_MODE, 2},
    {"number", SET_MODE, 3},
    {"notanumber", SET_MODE, 4},
    {"normal", SET_MODE, 5},
    {"subnormal", SET_MODE, 6},
    {"warp", SET_MODE, 1},
    {"cta", SET_NOTHING, 0},

    {"relaxed", SET_FLAG, F_STRONG},
    {"acquire", SET_FLAG, F_STRONG},
    {"release", SET_FLAG, F_STRONG},
    {"acq_rel", SET_FLAG, F_STRONG},
    {"sc", SET_FLAG, F_STRONG},
    {"mmio", SET_FLAG, F_STRONG},

    /* A scope has no effect, because the engine completes every access at once. Cache hints are for
     * observers: the engine has no caches. */
    {"weak", SET_NOTHING, 0},
    {"gl", SET_NOTHING, 0},
    {"sys", SET_NOTHING, 0},
    {"gpu", SET_NOTHING, 0},
    {"cluster", SET_NOTHING, 0},
    {"tensormap", SET_NOTHING, 0},
    {"L1", SET_MODE, 1},
    {"L2", SET_MODE, 2},
    {"L1::evict_normal", SET_L1_PRIORITY, FTH_PRIORITY_NORMAL},
    {"L1::evict_unchanged", SET_L1_PRIORITY, FTH_PRIORITY_UNCHANGED},
    {"L1::evict_first", SET_L1_PRIORITY, FTH_PRIORITY_FIRST},
    {"L1::evict_last", SET_L1_PRIORITY, FTH_PRIORITY_LAST},
    {"L1::no_allocate", SET_L1_PRIORITY, FTH_PRIORITY_NO_ALLOCATE},
    {"L2::cache_hint", SET_NOTHING, 0},
    {"L2::64B", SET_L2_BYTES, 64},
    {"L2::128B", SET_L2_BYTES, 128},
    {"L2::256B", SET_L2_BYTES, 256},
    {"L2::evict_last", SET_L2_PRIORITY, FTH_PRIORITY_LAST},
    {"L2::evict_normal", SET_L2_PRIORITY, FTH_PRIORITY_NORMAL},
    {"L2::evict_first", SET_L2_PRIORITY, FTH_PRIORITY_FIRST},
    {"level::eviction_priority", SET_NOTHING, 0},
};

bool fth_ptx_compares(const char *base)
{
    return strcmp(base, "set") == 0 || strcmp(base, "setp") == 0;
}

static bool is_atomic(const char *base)
{
    return strcmp(base, "atom") == 0 || strcmp(base, "red") == 0 || strcmp(base, "redux") == 0;
}

bool fth_ptx_apply_modifier(struct fth_ptx_inst *inst, const char *base, const char *word,
                            size_t size)
{
    enum fth_ptx_type type = fth_ptx_type_find(word, size);
    if (type == T_B128) { /* a load or store of two 64-bit elements; others: see wide.c */
        inst->type = T_B64;
        inst->vector = 2;
        return base[0] == 'l' || base[0] == 's';
    }
    if (type != T_NONE) {
        if (inst->type == T_NONE)
            inst->type = (uint8_t)type;
        else if (inst->type2 == T_NONE)
            inst->type2 = (uint8_t)type;
        else
            return false;
        return true;
    }
    /* Some words have a different meaning for these opcodes. */
    if (strcmp(base, "barrier") == 0 && size == 7 && memcmp(word, "cluster", 7) == 0) {
        inst->mode = 2;
        return true;
    }
    if (fth_ptx_compares(base) && size == 2 && memcmp(word, "lo", 2) == 0) {
        inst->comparison = C_LO;
        return true;
    }
    if (fth_ptx_compares(base) && size == 2 && memcmp(word, "hi", 2) == 0) {
        inst->comparison = C_HI;
        return true;
    }
    if (is_atomic(base) && size >= 2 && size <= 3) {
        enum fth_ptx_atomic_op op = size == 3 && memcmp(word, "and", 3) == 0   ? A_AND
                                    : size == 2 && memcmp(word, "or", 2) == 0  ? A_OR
                                    : size == 3 && memcmp(word, "xor", 3) == 0 ? A_XOR
                                                                               : A_NONE;
        if (op != A_NONE) {
            inst->atomic = (uint8_t)op;
            return true;
        }
    }
    for (size_t i = 0; i < FTH_COUNT(modifiers); i++) {
        if (strlen(modifiers[i].word) != size || memcmp(modifiers[i].word, word, size) != 0)
            continue;
        uint8_t value = (uint8_t)modifiers[i].value;
        switch (modifiers[i].property) {
        case SET_FLAG: inst->flags |= modifiers[i].value; break;
        case SET_ROUND: inst->rounding = value; break;
        case SET_COMPARE: inst->comparison = value; break;
        case SET_BOOLEAN: inst->boolean = value; break;
        case SET_SPACE: inst->space = value; break;
        case SET_CACHE: inst->cache_op = value; break;
        case SET_VECTOR: inst->vector = value; break;
        case SET_ATOMIC: inst->atomic = value; break;
        case SET_MODE: inst->mode = value; break;
        case SET_L1_PRIORITY: inst->l1_priority = value; break;
        case SET_L2_PRIORITY: inst->l2_priority = value; break;
        case SET_L2_BYTES: inst->l2_bytes = (uint16_t)modifiers[i].value; break;
        case SET_NOTHING: break;
        }
        return true;
    }
    return false;
}
