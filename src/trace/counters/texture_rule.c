/* How the texture unit processes an instruction. The rules are those of an H200
 * (docs/results/textures-h200.md). */
#include "trace/counters/counters.h"

struct fth_texture_rule fth_find_texture_rule(const struct fth_ptx_access *access)
{
    enum { LARGE_TEXEL = 16 }; /* bytes */
    const bool is_large = access->bytes >= LARGE_TEXEL;
    switch (access->texels->filter) {
    case 0:
        return (struct fth_texture_rule){access->space == FTH_SPACE_TEXTURE && is_large ? 2 : 3, 1};
    case 4: return (struct fth_texture_rule){is_large ? 1 : 2, is_large ? 2 : 1};
    case 8: return (struct fth_texture_rule){is_large ? 0 : 1, is_large ? 2 : 1};
    default: return (struct fth_texture_rule){2, 1};
    }
}
