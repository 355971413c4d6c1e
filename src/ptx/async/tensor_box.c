/* Boxes of tensors: which elements a tensor copy moves, in the order in which they are in shared
 * memory (PTX ISA, "Tensors").
 *
 * In tile mode, a box is a range of each dimension. In im2col mode, it is a number of consecutive
 * pixels of images, each with an offset; the pixels of an image are those between two corners.
 *
 * A box consists of rows: elements that are next to each other in both memories. A row is a range
 * of dimension 0 or, in im2col mode, channels of a pixel. In an interleaved layout, the channels of
 * a tensor are in slices of 16 or 32 bytes. The last but one dimension of such a tensor counts
 * slices, dimension 0 is that of the pixels of a line, and a row is a slice. */
#include "ptx/async/async.h"

unsigned fth_ptx_tensor_slice_bytes(const struct fth_ptx_tensor_map *map)
{
    static const uint8_t bytes[] = {
        [FTH_INTERLEAVE_NONE] = 0, [FTH_INTERLEAVE_16] = 16, [FTH_INTERLEAVE_32] = 32};
    return bytes[map->interleave];
}

/* The number of slices that have this number of channels. */
static uint64_t slices_of(const struct fth_ptx_tensor_map *map, uint32_t channels)
{
    const unsigned bytes = fth_ptx_tensor_slice_bytes(map);
    return ((uint64_t)channels * fth_ptx_tensor_type_bytes(map->type) + bytes - 1) / bytes;
}

/* The first dimension that is not inside of a row. */
static unsigned outer_dimension(const struct fth_ptx_tensor_map *map)
{
    return map->interleave == FTH_INTERLEAVE_NONE ? 1 : 0;
}

static bool counts_slices(const struct fth_ptx_tensor_map *map, unsigned d)
{
    return map->interleave != FTH_INTERLEAVE_NONE && d == map->rank - 2;
}

/* The number of rows of the box along an outer dimension, in tile mode. */
static uint64_t extent(const struct fth_ptx_tensor_map *map, unsigned d)
{
    if (counts_slices(map, d))
        return slices_of(map, map->box[d]);
    return (map->box[d] + map->element_strides[d] - 1) / map->element_strides[d];
}

/* The number of slices of each pixel, in im2col mode; 1 without slices. */
static uint64_t pixel_slices(const struct fth_ptx_tensor_map *map)
{
    return map->interleave == FTH_INTERLEAVE_NONE ? 1 : slices_of(map, map->channels);
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
        return map->pixels * pixel_slices(map);
    for (unsigned d = outer_dimension(map); d < map->rank; d++)
        count *= extent(map, d);
    return count;
}

uint64_t fth_ptx_box_bytes(const struct fth_ptx_tensor_map *map)
{
    return fth_ptx_box_row_elements(map) * fth_ptx_box_rows(map) *
           fth_ptx_tensor_type_bytes(map->type);
}

/* Sets which elements of the row are inside of the tensor, and their address, from the coordinates.
 */
static void place_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    const unsigned outer = outer_dimension(map), bytes = fth_ptx_tensor_type_bytes(map->type);
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

/* Advances to the next pixel of the images; in an interleaved layout, to the first pixel of the
 * next slice after the last pixel. */
static void next_pixel(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    const unsigned outer = outer_dimension(map), images = map->rank - 1;
    if (row->index % map->pixels == 0) {
        for (unsigned d = 0; d < map->rank; d++)
            row->at[d] = box->at[d];
        row->at[images - 1] += (int64_t)(row->index / map->pixels);
        return;
    }
    for (unsigned i = 0; i < map->rank - 2; i++) {
        const unsigned d = outer + i;
        row->at[d] += map->element_strides[d];
        if (row->at[d] < (int64_t)map->sizes[d] + map->upper[i])
            return;
        row->at[d] = map->lower[i];
    }
    row->at[images]++;
}

void fth_ptx_box_next_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &box->map;
    row->index++;
    if (map->is_im2col) {
        next_pixel(box, row);
    } else {
        uint64_t rest = row->index;
        for (unsigned d = outer_dimension(map); d < map->rank; d++) {
            const uint64_t step = counts_slices(map, d) ? 1 : map->element_strides[d];
            row->at[d] = box->at[d] + (int64_t)(rest % extent(map, d) * step);
            rest /= extent(map, d);
        }
    }
    place_row(box, row);
}
