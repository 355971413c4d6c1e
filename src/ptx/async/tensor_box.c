/* Boxes of tensors: which elements a tensor copy moves, in the order in which they are in shared
 * memory (PTX ISA, "Tensors").
 *
 * In tile mode, a box is a range of each dimension. In im2col mode, it is a number of consecutive
 * pixels of images, each with an offset; the pixels of an image are those between two corners.
 *
 * A box consists of rows: elements that are next to each other in both memories. A row is a range
 * of dimension 0 or, in im2col mode, channels of a pixel. With a swizzle, each row takes as many
 * bytes of shared memory as the pattern of the swizzle is wide.
 *
 * In an interleaved layout, the channels of a tensor are in slices of 16 or 32 bytes. Dimension 0
 * counts the pixels of a line, the last but one dimension counts slices, and a row is a slice. A
 * box has the same slice of all its pixels: an H200 copies one slice, whatever
 * the size of the box in that dimension or the number of channels. */
#include "ptx/async/async.h"

unsigned fth_ptx_tensor_slice_bytes(const struct fth_ptx_tensor_map *map)
{
    static const uint8_t bytes[] = {
        [FTH_INTERLEAVE_NONE] = 0, [FTH_INTERLEAVE_16] = 16, [FTH_INTERLEAVE_32] = 32};
    return bytes[map->interleave];
}

/* The number of rows of the box along an outer dimension, in tile mode. */
static uint64_t extent(const struct fth_ptx_tensor_map *map, unsigned d)
{
    if (map->interleave != FTH_INTERLEAVE_NONE && d == map->rank - 2)
        return 1;
    return (map->box[d] + map->element_strides[d] - 1) / map->element_strides[d];
}

/* The width of the pattern of the swizzle. */
static uint64_t swizzle_bytes(const struct fth_ptx_tensor_map *map)
{
    return 16u << map->swizzle;
}

uint64_t fth_ptx_box_row_elements(const struct fth_ptx_tensor_map *map)
{
    if (map->interleave != FTH_INTERLEAVE_NONE)
        return fth_ptx_tensor_slice_bytes(map) / fth_ptx_tensor_type_bytes(map->type);
    return map->is_im2col ? map->channels : map->box[0];
}

uint64_t fth_ptx_box_rows(const struct fth_ptx_tensor_map *map)
{
    uint64_t count = 1;
    if (map->is_im2col)
        return map->pixels;
    for (unsigned d = fth_ptx_tensor_pixel_dimension(map); d < map->rank; d++)
        count *= extent(map, d);
    return count;
}

uint64_t fth_ptx_box_bytes(const struct fth_ptx_tensor_map *map)
{
    return fth_ptx_box_row_elements(map) * fth_ptx_box_rows(map) *
           fth_ptx_tensor_type_bytes(map->type);
}

uint64_t fth_ptx_box_pitch(const struct fth_ptx_tensor_map *map)
{
    if (map->interleave == FTH_INTERLEAVE_NONE && map->swizzle != FTH_SWIZZLE_NONE)
        return swizzle_bytes(map);
    return fth_ptx_box_row_elements(map) * fth_ptx_tensor_type_bytes(map->type);
}

uint64_t fth_ptx_box_shared_bytes(const struct fth_ptx_tensor_map *map)
{
    const uint64_t pattern = swizzle_bytes(map);
    const uint64_t bytes = fth_ptx_box_rows(map) * fth_ptx_box_pitch(map);
    return (bytes + pattern - 1) / pattern * pattern;
}

/* Sets which elements of the row are inside of the tensor, and their address, from the coordinates.
 */
static void place_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    const unsigned outer = fth_ptx_tensor_pixel_dimension(map),
                   bytes = fth_ptx_tensor_type_bytes(map->type);
    const unsigned unit = FTH_TENSOR_UNIT / bytes;
    const int64_t count = (int64_t)fth_ptx_box_row_elements(map);
    uint64_t address = map->address;
    bool inside = true;
    for (unsigned d = outer; d < map->rank; d++) {
        const bool pixel = map->is_im2col && d - outer < map->rank - 2;
        const int64_t at = row->at[d] + (pixel ? box->offsets[d - outer] : 0);
        inside = inside && at >= 0 && (uint64_t)at < map->sizes[d];
        address += (uint64_t)at * (d ? map->strides[d - 1] : fth_ptx_tensor_slice_bytes(map));
    }
    int64_t first = 0, end = count;
    if (outer) {
        const int64_t after = (int64_t)map->sizes[0] - row->at[0];
        first = row->at[0] < 0 ? -row->at[0] : 0;
        end = after < count ? after : count;
        address += (uint64_t)(row->at[0] + first) * bytes;
    }
    row->first = (uint64_t)first;
    row->end = inside && end > first ? (uint64_t)end : (uint64_t)first;
    row->unit_end = (row->end + unit - 1) / unit * unit;
    row->address = address;
}

void fth_ptx_box_first_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    row->index = 0;
    for (unsigned d = 0; d < FTH_TENSOR_MAX_RANK; d++)
        row->at[d] = box->at[d];
    place_row(box, row);
}

/* Advances to the next pixel of the images. */
static void next_pixel(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    const unsigned outer = fth_ptx_tensor_pixel_dimension(map);
    for (unsigned i = 0; i < map->rank - 2; i++) {
        const unsigned d = outer + i;
        row->at[d] += map->element_strides[d];
        if (row->at[d] < (int64_t)map->sizes[d] + map->upper[i])
            return;
        row->at[d] = map->lower[i];
    }
    row->at[map->rank - 1] += map->element_strides[map->rank - 1];
}

void fth_ptx_box_next_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    row->index++;
    if (map->is_im2col) {
        next_pixel(box, row);
    } else {
        uint64_t rest = row->index;
        for (unsigned d = fth_ptx_tensor_pixel_dimension(map); d < map->rank; d++) {
            row->at[d] = box->at[d] + (int64_t)(rest % extent(map, d) * map->element_strides[d]);
            rest /= extent(map, d);
        }
    }
    place_row(box, row);
}
