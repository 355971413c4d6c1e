/* Where a GPU has the texels of a CUDA array. The engine keeps them in rows. A GPU keeps them in
 * tiles, so that texels that are neighbours in two dimensions share a sector.
 *
 * A tile ("GOB") has 8 rows of 64 bytes. Its sectors have 2 rows of 16 bytes, and a line of 128
 * bytes is a square of four sectors: 4 rows of 32 bytes.
 *
 *      rows   bytes  0      16      32      48
 *      0, 1        | 0     | 2     | 8     | 10    |    the number of the sector in the tile:
 *      2, 3        | 1     | 3     | 9     | 11    |    sectors 0 to 3 are the first line
 *      4, 5        | 4     | 6     | 12    | 14    |
 *      6, 7        | 5     | 7     | 13    | 15    |
 *
 * Tiles form blocks. A block is one tile wide. In two dimensions, it has up to 16 tiles below each
 * other; in three dimensions, up to 16 tiles behind each other and one row of tiles. Blocks follow
 * in rows, then below each other, then behind each other. A layer begins after all blocks of the
 * layer before it.
 *
 * Source of the tile: the layout "TuringColor2D" of Mesa (src/nouveau/nil). That an H200 has this
 * tile, and the sizes of the blocks, were found by mapping the memory of 18 arrays as linear memory
 * (docs/results/textures-h200.md). */
#include "ptx/texture/texture.h"

enum {
    TILE_WIDTH = 64, /* bytes */
    TILE_ROWS = 8,
    TILE_BYTES = TILE_WIDTH * TILE_ROWS,
    MAX_BLOCK_TILES = 16
};

/* Arrays begin at this address plus (the address of their first texel in the engine << SCALE).
 * Chosen: no memory of the engine has such addresses, and arrays that do not overlap in the engine
 * do not overlap here, as padding makes an array at most 1 << SCALE times as large. Only images
 * that are narrower than a few bytes have more padding. */
#define ARRAYS (UINT64_C(1) << 57)
enum { SCALE = 6 };

static uint64_t divide_up(uint64_t number, uint64_t by)
{
    return number / by + (number % by != 0);
}

/* Returns the largest block of tiles below each other that is not higher than `tiles`. */
static uint64_t block_height(uint64_t tiles)
{
    uint64_t height = 1;
    while (height < MAX_BLOCK_TILES && 2 * height <= tiles)
        height *= 2;
    return height;
}

/* Returns the smallest block of tiles behind each other for `images` images. */
static uint64_t block_depth(uint64_t images)
{
    uint64_t depth = 1;
    while (depth < MAX_BLOCK_TILES && depth < images)
        depth *= 2;
    return depth;
}

static uint64_t offset_in_tile(uint64_t x, uint64_t y)
{
    return x / 32 * 256 + y / 4 * 128 + x % 32 / 16 * 64 + y % 4 * 16 + x % 16;
}

uint64_t fth_ptx_texel_address(const struct fth_ptx_image *image, uint64_t x, uint64_t y,
                               uint64_t z)
{
    if (image->is_linear_memory || image->is_pitched_memory)
        return image->address + (z * image->height + y) * image->pitch_bytes + x;
    const bool solid = image->geometry == FTH_GEOMETRY_3D;
    const uint64_t columns = divide_up(image->width * fth_ptx_texel_bytes(image), TILE_WIDTH);
    const uint64_t rows = divide_up(image->height, TILE_ROWS);
    const uint64_t height = solid ? 1 : block_height(rows),
                   depth = solid ? block_depth(image->depth) : 1;
    const uint64_t row = y / TILE_ROWS;
    const uint64_t block =
        ((z / depth) * divide_up(rows, height) + row / height) * columns + x / TILE_WIDTH;
    const uint64_t tile = block * height * depth + z % depth * height + row % height;
    return ARRAYS + (image->address << SCALE) + tile * TILE_BYTES +
           offset_in_tile(x % TILE_WIDTH, y % TILE_ROWS);
}
