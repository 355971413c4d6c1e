/* Cubes: the face of a direction, and the texels across the edges of a face (CUDA C++ Programming
 * Guide, "Cubemap Textures"). */
#include "ptx/mufu.h"
#include "ptx/texture/texture.h"

#include <float.h>
#include <math.h>

/* The axes of the two coordinates in a face, and their directions. The face 2 * a is where axis a
 * is positive, the face 2 * a + 1 where it is negative. */
static const struct {
    uint8_t axis[2];
    int8_t sign[2];
} faces[] = {
    {{2, 1}, {-1, -1}}, {{2, 1}, {1, -1}}, {{0, 2}, {1, 1}},
    {{0, 2}, {1, -1}},  {{0, 1}, {1, -1}}, {{0, 1}, {-1, -1}},
};

/* Returns the size of a coordinate. A NaN is smaller than every number. */
static float size_of(float x)
{
    return isnan(x) ? -1 : fabsf(x);
}

/* Converts a coordinate in a face from the range of -1 to 1. It keeps the sign of numbers that are
 * too small to change a 1. */
static double face_coordinate(float x)
{
    const float limited = isnan(x) || fabsf(x) < FLT_MIN ? 0 : x < -1 ? -1 : x > 1 ? 1 : x;
    return (floor((double)limited * 0x1p30) / 0x1p30 + 1) / 2;
}

void fth_ptx_select_face(struct fth_ptx_position *position)
{
    float at[3], largest = 0;
    for (unsigned i = 0; i < 3; i++) {
        at[i] = (float)position->at[i];
        largest = fmaxf(largest, fabsf(at[i]));
    }
    const float reciprocal = as_float(fth_ptx_mufu_rcp(float_bits(largest)));
    for (unsigned i = 0; i < 3; i++)
        at[i] *= reciprocal;
    const float x = size_of(at[0]), y = size_of(at[1]), z = size_of(at[2]);
    const unsigned axis = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
    const unsigned face = 2 * axis + (at[axis] < 0);
    position->axes = 2;
    for (unsigned i = 0; i < 2; i++)
        position->at[i] = face_coordinate((float)faces[face].sign[i] * at[faces[face].axis[i]]);
    position->face = face;
}

bool fth_ptx_cross_edge(int64_t size, unsigned face, int64_t at[3])
{
    /* The coordinates of the texel in a cube with edges of 2 * size around the origin. */
    int64_t in_cube[3] = {0, 0, 0};
    unsigned edge = 3; /* the axis along which the texel is outside */
    in_cube[face / 2] = face & 1 ? 1 - size : size - 1;
    for (unsigned i = 0; i < 2; i++) {
        int64_t coordinate = 2 * at[i] + 1 - size;
        if (at[i] < 0 || at[i] >= size) {
            if (edge < 3) {
                at[0] = -1; /* beyond a corner */
                return false;
            }
            edge = faces[face].axis[i];
            coordinate = at[i] < 0 ? -size : size;
        }
        in_cube[faces[face].axis[i]] = faces[face].sign[i] * coordinate;
    }
    if (edge == 3)
        return true;
    const unsigned other = 2 * edge + (in_cube[edge] < 0);
    for (unsigned i = 0; i < 2; i++)
        at[i] = (faces[other].sign[i] * in_cube[faces[other].axis[i]] + size - 1) / 2;
    at[2] += (int64_t)other - face;
    return true;
}
