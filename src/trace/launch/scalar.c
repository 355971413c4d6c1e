/* The number types of buffers and arguments, and conversions of their values between text, bits and
 * double. */
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fth_scalar_type types[] = {
    {"u8", "b8", 1, false, FTH_SCALAR_INTEGER},   {"s8", "i8", 1, true, FTH_SCALAR_INTEGER},
    {"u16", "b16", 2, false, FTH_SCALAR_INTEGER}, {"s16", "i16", 2, true, FTH_SCALAR_INTEGER},
    {"u32", "b32", 4, false, FTH_SCALAR_INTEGER}, {"s32", "i32", 4, true, FTH_SCALAR_INTEGER},
    {"u64", "b64", 8, false, FTH_SCALAR_INTEGER}, {"s64", "i64", 8, true, FTH_SCALAR_INTEGER},
    {"f32", NULL, 4, true, FTH_SCALAR_FLOAT},     {"f64", NULL, 8, true, FTH_SCALAR_DOUBLE},
    {"f16", NULL, 2, true, FTH_SCALAR_F16},       {"bf16", NULL, 2, true, FTH_SCALAR_BF16},
    {"e4m3", NULL, 1, true, FTH_SCALAR_E4M3},     {"e5m2", NULL, 1, true, FTH_SCALAR_E5M2},
};

static bool is_name(const char *name, const char *text, size_t size)
{
    return name && strlen(name) == size && strncmp(name, text, size) == 0;
}

const struct fth_scalar_type *fth_scalar_type_find(const char *name, size_t size)
{
    for (size_t i = 0; i < FTH_COUNT(types); i++)
        if (is_name(types[i].name, name, size) || is_name(types[i].alias, name, size))
            return &types[i];
    return NULL;
}

/* The types of C++ whose values are one or more numbers. */
static const struct cpp_type {
    const char *name;
    const char *element;
    unsigned lanes; /* numbers per value */
} cpp_types[] = {
    {"float", "f32", 1},
    {"double", "f64", 1},
    {"__half", "f16", 1},
    {"__nv_bfloat16", "bf16", 1},
    {"__nv_fp8_e4m3", "e4m3", 1},
    {"__nv_fp8_e5m2", "e5m2", 1},
    {"bool", "u8", 1},
    {"char", "s8", 1},
    {"signed char", "s8", 1},
    {"unsigned char", "u8", 1},
    {"short", "s16", 1},
    {"unsigned short", "u16", 1},
    {"int", "s32", 1},
    {"unsigned int", "u32", 1},
    {"long", "s64", 1},
    {"unsigned long", "u64", 1},
    {"long long", "s64", 1},
    {"unsigned long long", "u64", 1},
    {"float2", "f32", 2},
    {"float3", "f32", 3},
    {"float4", "f32", 4},
    {"double2", "f64", 2},
    {"int2", "s32", 2},
    {"int4", "s32", 4},
    {"uint2", "u32", 2},
    {"uint4", "u32", 4},
    {"__half2", "f16", 2},
    {"__nv_bfloat162", "bf16", 2},
};

const struct fth_scalar_type *fth_scalar_type_of_cpp(const char *name, size_t size, unsigned *lanes)
{
    for (size_t i = 0; i < FTH_COUNT(cpp_types); i++)
        if (is_name(cpp_types[i].name, name, size)) {
            *lanes = cpp_types[i].lanes;
            return fth_scalar_type_find(cpp_types[i].element, strlen(cpp_types[i].element));
        }
    *lanes = 0;
    return NULL;
}

bool fth_scalar_is_float(const struct fth_scalar_type *element)
{
    return element->format != FTH_SCALAR_INTEGER;
}

/* Returns the format of a type with 8 or 16 bits. */
static enum fth_ptx_format small_format(const struct fth_scalar_type *element)
{
    switch (element->format) {
    case FTH_SCALAR_F16: return FTH_FORMAT_F16;
    case FTH_SCALAR_BF16: return FTH_FORMAT_BF16;
    case FTH_SCALAR_E4M3: return FTH_FORMAT_E4M3;
    default: return FTH_FORMAT_E5M2;
    }
}

/* Returns the bits of a value as a number of a floating-point type. */
static uint64_t float_to_bits(const struct fth_scalar_type *element, double value)
{
    float single = (float)value;
    uint32_t word;
    uint64_t bits;
    switch (element->format) {
    case FTH_SCALAR_FLOAT: memcpy(&word, &single, sizeof word); return word;
    case FTH_SCALAR_DOUBLE: memcpy(&bits, &value, sizeof bits); return bits;
    default: return fth_ptx_format_from_double(small_format(element), value);
    }
}

bool fth_scalar_parse(const struct fth_scalar_type *element, const char *text, uint64_t *bits)
{
    if (fth_scalar_is_float(element)) {
        char *end;
        double value = fth_strtod(text, &end);
        *bits = float_to_bits(element, value);
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
    if (fth_scalar_is_float(element)) {
        *bits = float_to_bits(element, value);
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
    const unsigned shift = 64 - 8 * element->bytes;
    float single;
    double value;
    switch (element->format) {
    case FTH_SCALAR_INTEGER:
        return element->is_signed ? (double)((int64_t)(bits << shift) >> shift) : (double)bits;
    case FTH_SCALAR_FLOAT: memcpy(&single, bytes, sizeof single); return (double)single;
    case FTH_SCALAR_DOUBLE: memcpy(&value, bytes, sizeof value); return value;
    default: return fth_ptx_format_to_double(small_format(element), (uint32_t)bits);
    }
}

void fth_scalar_format(const struct fth_scalar_type *element, const void *bytes,
                       struct fth_buffer *out)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, element->bytes);
    char text[40];
    if (element->format == FTH_SCALAR_DOUBLE) {
        fth_number_format(fth_scalar_to_double(element, bytes), text, sizeof text);
    } else if (fth_scalar_is_float(element)) {
        fth_format(text, sizeof text, "%.9g", fth_scalar_to_double(element, bytes));
    } else if (element->is_signed) {
        unsigned shift = 64 - 8 * element->bytes;
        snprintf(text, sizeof text, "%lld", (long long)((int64_t)(bits << shift) >> shift));
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    }
    fth_buffer_text(out, text);
}
