/* The number types of buffers and arguments, and conversions of their values between text, bits and
 * double. */
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fth_scalar_type types[] = {
    {"u8", "b8", 1, false, false},   {"s8", "i8", 1, true, false},
    {"u16", "b16", 2, false, false}, {"s16", "i16", 2, true, false},
    {"u32", "b32", 4, false, false}, {"s32", "i32", 4, true, false},
    {"u64", "b64", 8, false, false}, {"s64", "i64", 8, true, false},
    {"f32", "f32", 4, true, true},   {"f64", "f64", 8, true, true},
};

const struct fth_scalar_type *fth_scalar_type_find(const char *name, size_t size)
{
    for (size_t i = 0; i < FTH_COUNT(types); i++)
        if (strlen(types[i].name) == size &&
            (strncmp(types[i].name, name, size) == 0 || strncmp(types[i].alias, name, size) == 0))
            return &types[i];
    return NULL;
}

/* Returns the bits of a value as float (4 bytes) or double (8 bytes). */
static uint64_t float_to_bits(double value, unsigned bytes)
{
    float single = (float)value;
    uint32_t word;
    uint64_t bits;
    memcpy(&word, &single, sizeof word);
    memcpy(&bits, &value, sizeof bits);
    return bytes == 4 ? word : bits;
}

bool fth_scalar_parse(const struct fth_scalar_type *element, const char *text, uint64_t *bits)
{
    if (element->is_float) {
        char *end;
        double value = fth_strtod(text, &end);
        *bits = float_to_bits(value, element->bytes);
        return end != text && *end == '\0';
    }
    bool negative = *text == '-';
    uint64_t magnitude;
    if (!fth_text_integer(text + negative, &magnitude))
        return false;
    uint64_t max = UINT64_MAX >> (64 - 8 * element->bytes);
    bool fits = negative ? element->is_signed && magnitude <= max / 2 + 1 : magnitude <= max;
    *bits = (negative ? -magnitude : magnitude) & max;
    return fits;
}

bool fth_scalar_from_double(const struct fth_scalar_type *element, double value, uint64_t *bits)
{
    if (element->is_float) {
        *bits = float_to_bits(value, element->bytes);
        return true;
    }
    /* As in fth_scalar_parse, a signed type also accepts the upper half of the unsigned range, so
     * that 0xffffffff is valid for s32. Negative values need a signed type. */
    double max = ldexp(1, (int)(8 * element->bytes)), min = element->is_signed ? -max / 2 : 0;
    if (value != floor(value) || value < min || value >= max)
        return false;
    *bits =
        (value < 0 ? -(uint64_t)-value : (uint64_t)value) & UINT64_MAX >> (64 - 8 * element->bytes);
    return true;
}

double fth_scalar_to_double(const struct fth_scalar_type *element, const void *bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, element->bytes);
    if (element->is_float && element->bytes == 4) {
        float single;
        memcpy(&single, bytes, sizeof single);
        return (double)single;
    }
    if (element->is_float) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    unsigned shift = 64 - 8 * element->bytes;
    return element->is_signed ? (double)((int64_t)(bits << shift) >> shift) : (double)bits;
}

void fth_scalar_format(const struct fth_scalar_type *element, const void *bytes,
                       struct fth_buffer *out)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, element->bytes);
    char text[40];
    if (element->is_float && element->bytes == 4) {
        fth_format(text, sizeof text, "%.9g", fth_scalar_to_double(element, bytes));
    } else if (element->is_float) {
        fth_number_format(fth_scalar_to_double(element, bytes), text, sizeof text);
    } else if (element->is_signed) {
        unsigned shift = 64 - 8 * element->bytes;
        snprintf(text, sizeof text, "%lld", (long long)((int64_t)(bits << shift) >> shift));
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    }
    fth_buffer_text(out, text);
}
