/* Numbers the blocks of a launch in another order. The number of a block decides its SM and when it
 * starts; what the block does stays the same. */
#include "advice/advice_parts.h"

uint64_t fth_blocks_number(const struct fth_edit *edit, const uint32_t grid[3], uint64_t block)
{
    const uint64_t width = grid[0], height = grid[1], plane = width * height;
    const uint64_t x = block % width, y = block % plane / width, z = block / plane;
    if (edit->tile == 0)
        return z * plane + x * height + y;
    /* The squares follow each other along x. Those at the right and the lower edge are smaller. */
    const uint64_t tile = edit->tile, left = x / tile * tile, top = y / tile * tile;
    const uint64_t columns = width - left < tile ? width - left : tile;
    const uint64_t rows = height - top < tile ? height - top : tile;
    return z * plane + top * width + left * rows + (y - top) * columns + (x - left);
}

void fth_blocks_grid(const struct fth_edit *edit, const uint32_t grid[3], uint32_t result[3])
{
    const bool swap = edit->kind == FTH_EDIT_BLOCKS && edit->tile == 0;
    result[0] = grid[swap ? 1 : 0];
    result[1] = grid[swap ? 0 : 1];
    result[2] = grid[2];
}
