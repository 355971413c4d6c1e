/* The texels that a coordinate stands for (CUDA C++ Programming Guide, "Texture Fetching"). The
 * nearest texel of x is the one with index floor(x). An interpolation takes the texels i and i + 1
 * with i = floor(x - 0.5), and the fraction of x - 0.5 is the weight of the second one. It has 8
 * bits: x - 0.5 is rounded to a multiple of 1/256. What the guide leaves open follows the results
 * of an H200 (docs/ptx.md, "Textures and surfaces"). */
#include "ptx/texture/texture.h"

#include <float.h>
#include <math.h>

/* ---- coordinates ---- */

/* The texels of one axis. An index of -1 is outside of the texture. */
struct axis {
    size_t count; /* 1 or 2 */
    int64_t index[2];
    uint32_t fraction; /* the weight of the second texel, in 1/256 */
};

/* The number of fractions of a texel that an interpolation tells apart. */
enum { FRACTIONS = 256 };

/* Coordinates beyond this are cut, so that they fit into integers. It is larger than any texture.
 */
#define MAX_COORDINATE 0x1p40

/* Returns the index that an index outside of the axis stands for, or -1. */
static int64_t apply_mode(enum fth_ptx_address_mode mode, int64_t index, int64_t size)
{
    switch (mode) {
    case FTH_ADDRESS_WRAP: return (index % size + size) % size;
    case FTH_ADDRESS_MIRROR:
        index = (index % (2 * size) + 2 * size) % (2 * size);
        return index < size ? index : 2 * size - 1 - index;
    case FTH_ADDRESS_CLAMP: return index < 0 ? 0 : index < size ? index : size - 1;
    default: return index >= 0 && index < size ? index : -1;
    }
}

static double cut(double x)
{
    return isnan(x)              ? 0
           : x < -MAX_COORDINATE ? -MAX_COORDINATE
           : x > MAX_COORDINATE  ? MAX_COORDINATE
                                 : x;
}

/* Converts a normalised coordinate to texels. Only the first bits of its fraction count. */
static double scale(double x, enum fth_ptx_address_mode mode, int64_t size)
{
    const bool is_power_of_2 = (size & (size - 1)) == 0;
    const double steps = is_power_of_2 ? 0x1p22 : 0x1p21;
    if (!isfinite(x) && (mode == FTH_ADDRESS_WRAP || mode == FTH_ADDRESS_MIRROR))
        return 0;
    if (mode == FTH_ADDRESS_WRAP)
        x -= floor(x);
    else if (mode == FTH_ADDRESS_MIRROR)
        x -= 2 * floor(x / 2);
    return floor(cut(x) * steps) / steps * (double)size;
}

enum selection { NEAREST, LINEAR, GATHER };

/* Finds the texels of one axis. */
static struct axis find_axis(const struct fth_ptx_sampling *sampling,
                             const struct fth_ptx_position *position, unsigned axis, int64_t size,
                             enum selection selection)
{
    enum fth_ptx_address_mode mode = sampling->address_modes[axis];
    const int32_t offset = position->offset[axis];
    double x = position->at[axis];
    if (position->is_integer) {
        const int64_t index = (int64_t)x + offset;
        return (struct axis){1, {apply_mode(FTH_ADDRESS_BORDER, index, size)}, 0};
    }
    if (fabs(x) < FLT_MIN)
        x = 0;
    if (sampling->is_seamless)
        mode = FTH_ADDRESS_CLAMP;
    if (sampling->is_normalized)
        x = scale(x, mode, size);
    else if (mode == FTH_ADDRESS_WRAP || mode == FTH_ADDRESS_MIRROR)
        mode = FTH_ADDRESS_CLAMP;
    x = cut(x);
    if (selection == NEAREST)
        return (struct axis){1, {apply_mode(mode, (int64_t)floor(x) + offset, size)}, 0};
    int64_t fixed = (int64_t)floor((x - 0.5) * FRACTIONS + 0.5) + (int64_t)offset * FRACTIONS;
    /* Outside, the last texel has all the weight. */
    if (mode == FTH_ADDRESS_CLAMP && selection == LINEAR && !sampling->is_seamless)
        fixed = fixed < 0 ? 0 : fixed > (size - 1) * FRACTIONS ? (size - 1) * FRACTIONS : fixed;
    const int64_t first = (fixed >= 0 ? fixed : fixed - FRACTIONS + 1) / FRACTIONS;
    struct axis found = {2, {first, first + 1}, (uint32_t)(fixed - first * FRACTIONS)};
    for (size_t i = 0; i < 2 && !sampling->is_seamless; i++)
        found.index[i] = apply_mode(mode, found.index[i], size);
    return found;
}

/* Computes the weights of the texels of a filter, in the order of the taps: x, then y, then z. Each
 * is a multiple of 1/256. The weight of an image is divided between its columns, and the weight of
 * a column between its rows. */
static void find_weights(const struct axis axes[3], uint16_t weights[MAX_TAPS])
{
    size_t tap = 0;
    for (size_t z = 0; z < axes[2].count; z++) {
        const uint32_t image = z ? axes[2].fraction : FRACTIONS - axes[2].fraction;
        const uint32_t column1 = (image * axes[0].fraction + FRACTIONS / 2) / FRACTIONS;
        const uint32_t column0 = image - column1;
        const uint32_t row1_column1 = (column1 * axes[1].fraction + FRACTIONS / 2) / FRACTIONS;
        const uint32_t row1_column0 = (column0 * axes[1].fraction + FRACTIONS / 2 - 1) / FRACTIONS;
        const uint32_t all[2][2] = {{column0 - row1_column0, column1 - row1_column1},
                                    {row1_column0, row1_column1}};
        for (size_t y = 0; y < axes[1].count; y++)
            for (size_t x = 0; x < axes[0].count; x++)
                weights[tap++] = (uint16_t)all[y][x];
    }
}

/* Returns false if integer coordinates are outside of the texture whatever their values are: they
 * reach no missing layer, and a texture of one dimension only in linear memory. */
static bool has_integer_coordinates(const struct fth_ptx_image *image,
                                    const struct fth_ptx_position *position)
{
    return position->layer < image->depth &&
           (image->geometry != FTH_GEOMETRY_1D || image->is_linear_memory);
}

/* Finds the rows of a texture of one dimension with a border in y. y is 0, half a texel from the
 * border. A negative offset of x moves y by -1, out of the texture. */
static struct axis find_row(const struct fth_ptx_position *position, enum selection selection)
{
    const int64_t row = position->offset[0] < 0 ? -1 : 0;
    return selection == LINEAR ? (struct axis){2, {-1, row}, FRACTIONS / 2}
                               : (struct axis){1, {row}, 0};
}

/* Stores the address of a texel. An index of -1 is outside of the texture. */
static void place_tap(const struct fth_ptx_image *image, const int64_t at[3], size_t tap,
                      struct fth_ptx_taps *taps)
{
    taps->inside[tap] = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
    taps->addresses[tap] = taps->gpu_addresses[tap] = image->address;
    if (!taps->inside[tap])
        return;
    const uint64_t x = (uint64_t)at[0] * fth_ptx_texel_bytes(image);
    taps->addresses[tap] +=
        ((uint64_t)at[2] * image->height + (uint64_t)at[1]) * image->pitch_bytes + x;
    taps->gpu_addresses[tap] = fth_ptx_texel_address(image, x, (uint64_t)at[1], (uint64_t)at[2]);
}

/* Divides the weight of a texel beyond a corner of a cube between the other three. */
static void share_corner(struct fth_ptx_taps *taps)
{
    const unsigned corner = (unsigned)taps->corner;
    const unsigned weight = taps->weights[corner], third = (weight + 1) / 3;
    taps->weights[corner] = 0;
    taps->used[corner] = false;
    taps->weights[corner ^ 1] = (uint16_t)(taps->weights[corner ^ 1] + third);
    taps->weights[corner ^ 2] = (uint16_t)(taps->weights[corner ^ 2] + third);
    taps->weights[corner ^ 3] = (uint16_t)(taps->weights[corner ^ 3] + weight - 2 * third);
}

void fth_ptx_find_taps(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                       const struct fth_ptx_position *position, bool all, struct fth_ptx_taps *taps)
{
    const int64_t sizes[] = {(int64_t)image->width, (int64_t)image->height, (int64_t)image->depth};
    const enum selection selection = all ? GATHER : sampling->is_linear ? LINEAR : NEAREST;
    struct axis axes[3];
    for (unsigned i = 0; i < 3; i++)
        axes[i] = i < position->axes ? find_axis(sampling, position, i, sizes[i], selection)
                                     : (struct axis){1, {0}, 0};
    if (image->geometry == FTH_GEOMETRY_1D && !position->is_integer &&
        sampling->address_modes[1] == FTH_ADDRESS_BORDER)
        axes[1] = find_row(position, selection);
    if (position->axes < 3) { /* a layer past the last one stands for the last one */
        const uint64_t faces = image->geometry >= FTH_GEOMETRY_CUBE ? 6 : 1;
        const uint64_t layers = image->depth / faces;
        const uint64_t layer = position->layer < layers ? position->layer : layers - 1;
        axes[2].index[0] = (int64_t)(layer * faces + position->face);
        if (position->is_integer && !has_integer_coordinates(image, position))
            axes[2].index[0] = -1;
    }
    find_weights(axes, taps->weights);
    taps->count = 0;
    taps->corner = -1;
    for (size_t z = 0; z < axes[2].count; z++)
        for (size_t y = 0; y < axes[1].count; y++)
            for (size_t x = 0; x < axes[0].count; x++) {
                int64_t at[] = {axes[0].index[x], axes[1].index[y], axes[2].index[z]};
                const size_t tap = taps->count++;
                taps->used[tap] = (!x || axes[0].fraction) && (!y || axes[1].fraction) &&
                                  (!z || axes[2].fraction);
                if (sampling->is_seamless && !fth_ptx_cross_edge(sizes[0], position->face, at))
                    taps->corner = (int)tap;
                place_tap(image, at, tap, taps);
            }
    if (taps->corner >= 0)
        share_corner(taps);
}

/* ---- texels ---- */

bool fth_ptx_returns_floats(const struct fth_ptx_image *image,
                            const struct fth_ptx_sampling *sampling)
{
    return image->format == FTH_TEXEL_F32 || image->format == FTH_TEXEL_F16 ||
           sampling->reads_as_floats;
}

/* Returns the largest value of an integer format that is read as floats, which stands for 1. */
static double max_value(enum fth_ptx_texel format)
{
    return format == FTH_TEXEL_U8    ? UINT8_MAX
           : format == FTH_TEXEL_S8  ? INT8_MAX
           : format == FTH_TEXEL_U16 ? UINT16_MAX
                                     : INT16_MAX;
}

/* Interprets the first bits of a word as a channel of the format. */
static uint32_t decode(enum fth_ptx_texel format, uint32_t word)
{
    switch (format) {
    case FTH_TEXEL_U8: return word & UINT8_MAX;
    case FTH_TEXEL_S8: return (uint32_t)(int32_t)(int8_t)word;
    case FTH_TEXEL_U16: return word & UINT16_MAX;
    case FTH_TEXEL_S16: return (uint32_t)(int32_t)(int16_t)word;
    case FTH_TEXEL_F16:
        if ((word & 0x7c00) == 0x7c00) /* a NaN keeps its bits, as does an infinity */
            return (word & 0x8000) << 16 | 0x7f800000 | (word & 0x3ff) << 13;
        return float_bits((float)fth_ptx_half_to_double((uint16_t)word));
    default: return word;
    }
}

/* Returns a channel of the border's color in the format of the texture. */
static uint32_t border_channel(const struct fth_ptx_image *image,
                               const struct fth_ptx_sampling *sampling, float color)
{
    if (image->format == FTH_TEXEL_F16) {
        const uint32_t half = fth_ptx_half_from_double((double)color, R_RZ);
        return decode(image->format, half);
    }
    if (!sampling->reads_as_floats) /* the bits of the color */
        return decode(image->format, float_bits(color));
    const bool is_signed = image->format == FTH_TEXEL_S8 || image->format == FTH_TEXEL_S16;
    const double lowest = is_signed ? -1 : 0;
    const double limited = color > 1 ? 1 : color > lowest ? (double)color : lowest;
    /* The color keeps four bits more than the format has. Ties are rounded toward zero. */
    const double max = max_value(image->format), steps = 16 * (max + 1);
    const double size = ceil(floor(fabs(limited) * steps) / steps * max - 0.5);
    return (uint32_t)(int32_t)(limited < 0 ? -size : size);
}

void fth_ptx_read_texel(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                        const uint8_t *host, bool border, uint32_t channels[4])
{
    const unsigned bytes = fth_ptx_texel_bytes(image) / image->channels;
    for (unsigned c = 0; c < 4; c++) {
        uint32_t word = 0;
        if (c < image->channels && host) {
            memcpy(&word, host + (size_t)c * bytes, bytes);
            channels[c] = decode(image->format, word);
        } else {
            channels[c] = c < image->channels && border
                              ? border_channel(image, sampling, sampling->border[c])
                              : 0;
        }
    }
}

uint32_t fth_ptx_convert_channel(const struct fth_ptx_image *image,
                                 const struct fth_ptx_sampling *sampling, uint32_t channel)
{
    if (!sampling->reads_as_floats)
        return channel;
    const double ratio = (int32_t)channel / max_value(image->format);
    return float_bits((float)(ratio < -1 ? -1 : ratio));
}
