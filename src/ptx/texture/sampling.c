/* The texels that a coordinate stands for (CUDA C++ Programming Guide, "Texture Fetching"). The
 * nearest texel of x is the one with index floor(x). An interpolation takes the texels i and i + 1
 * with i = floor(x - 0.5), and the fraction of x - 0.5 is the weight of the second one. It has 8
 * bits, as in the texture units: x - 0.5 is rounded to a multiple of 1/256. The sum of the weighted
 * texels is computed in double precision and rounded once. */
#include "ptx/texture/texture.h"

#include <math.h>

/* ---- coordinates ---- */

/* The texels of one axis. An index of -1 is outside of the texture. */
struct axis {
    size_t count; /* 1 or 2 */
    int64_t index[2];
    double weight[2];
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

/* Finds the texels of one axis. */
static struct axis find_axis(const struct fth_ptx_sampling *sampling,
                             const struct fth_ptx_position *position, unsigned axis, int64_t size,
                             bool linear)
{
    enum fth_ptx_address_mode mode = sampling->address_modes[axis];
    const int32_t offset = position->offset[axis];
    double x = cut(position->at[axis]);
    if (position->is_integer) {
        const int64_t index = (int64_t)x + offset;
        return (struct axis){1, {apply_mode(FTH_ADDRESS_BORDER, index, size)}, {1}};
    }
    if (sampling->is_normalized) {
        if (mode == FTH_ADDRESS_WRAP)
            x -= floor(x);
        x = cut(x * (double)size);
    } else if (mode == FTH_ADDRESS_WRAP || mode == FTH_ADDRESS_MIRROR) {
        mode = FTH_ADDRESS_CLAMP;
    }
    if (!linear)
        return (struct axis){1, {apply_mode(mode, (int64_t)floor(x) + offset, size)}, {1}};
    const int64_t fixed = (int64_t)floor((x - 0.5) * FRACTIONS + 0.5);
    const int64_t first = (fixed >= 0 ? fixed : fixed - FRACTIONS + 1) / FRACTIONS;
    const double second_weight = (double)(fixed - first * FRACTIONS) / FRACTIONS;
    return (struct axis){
        2,
        {apply_mode(mode, first + offset, size), apply_mode(mode, first + 1 + offset, size)},
        {1 - second_weight, second_weight}};
}

void fth_ptx_select_face(struct fth_ptx_position *position)
{
    const double x = position->at[0], y = position->at[1], z = position->at[2];
    double s, t, m;
    unsigned face;
    if (fabs(x) >= fabs(y) && fabs(x) >= fabs(z)) {
        face = x < 0;
        m = fabs(x);
        s = face ? z : -z;
        t = -y;
    } else if (fabs(y) >= fabs(z)) {
        face = 2 + (y < 0);
        m = fabs(y);
        s = x;
        t = face == 3 ? -z : z;
    } else {
        face = 4 + (z < 0);
        m = fabs(z);
        s = face == 5 ? -x : x;
        t = -y;
    }
    position->axes = 2;
    position->at[0] = (s / m + 1) / 2;
    position->at[1] = (t / m + 1) / 2;
    position->layer = position->layer * 6 + face;
}

void fth_ptx_find_taps(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                       const struct fth_ptx_position *position, bool all, struct fth_ptx_taps *taps)
{
    const int64_t sizes[] = {(int64_t)image->width, (int64_t)image->height, (int64_t)image->depth};
    struct axis axes[3];
    for (unsigned i = 0; i < 3; i++)
        axes[i] = i < position->axes
                      ? find_axis(sampling, position, i, sizes[i], all || sampling->is_linear)
                      : (struct axis){1, {0}, {1}};
    if (position->axes < 3) /* a layer past the last one stands for the last one */
        axes[2].index[0] =
            (int64_t)(position->layer < image->depth ? position->layer : image->depth - 1);
    taps->count = 0;
    for (size_t z = 0; z < axes[2].count; z++)
        for (size_t y = 0; y < axes[1].count; y++)
            for (size_t x = 0; x < axes[0].count; x++) {
                const int64_t at[] = {axes[0].index[x], axes[1].index[y], axes[2].index[z]};
                const bool inside = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
                const size_t tap = taps->count++;
                taps->inside[tap] = inside;
                taps->weights[tap] = axes[0].weight[x] * axes[1].weight[y] * axes[2].weight[z];
                taps->addresses[tap] = image->address;
                if (inside)
                    taps->addresses[tap] +=
                        ((uint64_t)at[2] * image->height + (uint64_t)at[1]) * image->pitch_bytes +
                        (uint64_t)at[0] * fth_ptx_texel_bytes(image);
            }
}

/* ---- texels ---- */

bool fth_ptx_returns_floats(const struct fth_ptx_image *image,
                            const struct fth_ptx_sampling *sampling)
{
    return image->format == FTH_TEXEL_F32 || image->format == FTH_TEXEL_F16 ||
           sampling->reads_as_floats;
}

/* Returns one channel, as the 32 bits of an integer or of a float. */
static uint32_t read_channel(const struct fth_ptx_image *image, bool as_floats, const uint8_t *host)
{
    uint16_t half = 0;
    uint32_t word = 0;
    int32_t value;
    double max;
    switch (image->format) {
    case FTH_TEXEL_U8:
        value = *host;
        max = UINT8_MAX;
        break;
    case FTH_TEXEL_S8:
        value = *host < 0x80 ? *host : *host - 0x100; /* signed */
        max = INT8_MAX;
        break;
    case FTH_TEXEL_U16:
        memcpy(&half, host, sizeof half);
        value = half;
        max = UINT16_MAX;
        break;
    case FTH_TEXEL_S16:
        memcpy(&half, host, sizeof half);
        value = (int16_t)half;
        max = INT16_MAX;
        break;
    case FTH_TEXEL_F16:
        memcpy(&half, host, sizeof half);
        return float_bits((float)fth_ptx_half_to_double(half));
    default: memcpy(&word, host, sizeof word); return word;
    }
    if (!as_floats)
        return (uint32_t)value;
    const double ratio = value / max;
    return float_bits((float)(ratio < -1 ? -1 : ratio));
}

void fth_ptx_read_texel(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                        const uint8_t *host, bool border, uint32_t channels[4])
{
    const bool floats = fth_ptx_returns_floats(image, sampling);
    const unsigned bytes = fth_ptx_texel_bytes(image) / image->channels;
    for (unsigned c = 0; c < 4; c++) {
        const float color = border ? sampling->border[c] : 0;
        if (c >= image->channels) /* a channel that the texture does not have */
            channels[c] = c < 3 ? 0 : floats ? float_bits(1) : 1;
        else if (host)
            channels[c] = read_channel(image, sampling->reads_as_floats, host + (size_t)c * bytes);
        else
            channels[c] = floats ? float_bits(color) : (uint32_t)(int64_t)cut(color);
    }
}
