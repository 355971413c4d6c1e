/* Tests of ptx/: the types of PTX (types.c), and the conversions between double and the 16-bit
 * formats (half.c), for every value of these formats. */
#include "check.h"
#include "ptx/engine.h"

#include <math.h>
#include <stdio.h>

static void types_have_names_sizes_and_classes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum fth_ptx_type type;
        unsigned bytes;
        bool is_signed, is_float;
    } rows[] = {
        {"b8", T_B8, 1, false, false},       {"b16", T_B16, 2, false, false},
        {"b32", T_B32, 4, false, false},     {"b64", T_B64, 8, false, false},
        {"u8", T_U8, 1, false, false},       {"u16", T_U16, 2, false, false},
        {"u32", T_U32, 4, false, false},     {"u64", T_U64, 8, false, false},
        {"s8", T_S8, 1, true, false},        {"s16", T_S16, 2, true, false},
        {"s32", T_S32, 4, true, false},      {"s64", T_S64, 8, true, false},
        {"f16", T_F16, 2, false, true},      {"f16x2", T_F16X2, 4, false, true},
        {"bf16", T_BF16, 2, false, true},    {"bf16x2", T_BF16X2, 4, false, true},
        {"f32", T_F32, 4, false, true},      {"f64", T_F64, 8, false, true},
        {"u16x2", T_U16X2, 4, false, false}, {"s16x2", T_S16X2, 4, false, false},
        {"b128", T_B128, 16, false, false},  {"pred", T_PRED, 1, false, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char dotted[16];
        snprintf(dotted, sizeof dotted, ".%s", rows[i].name);
        assert_int_equal(fth_ptx_type_find(rows[i].name, strlen(rows[i].name)), rows[i].type);
        assert_int_equal(fth_ptx_type_find(dotted, strlen(dotted)), rows[i].type);
        assert_string_equal(fth_ptx_type_name(rows[i].type), rows[i].name);
        assert_int_equal(fth_ptx_type_bytes(rows[i].type), rows[i].bytes);
        assert_int_equal(fth_ptx_type_is_signed(rows[i].type), rows[i].is_signed);
        assert_int_equal(fth_ptx_type_is_float(rows[i].type), rows[i].is_float);
    }
    static const char *const others[] = {"", ".", "b", "b3", "b321", "..b32", "x32", "pred "};
    for (size_t i = 0; i < FTH_COUNT(others); i++)
        assert_int_equal(fth_ptx_type_find(others[i], strlen(others[i])), T_NONE);
    assert_int_equal(fth_ptx_type_find("b32x", 3), T_B32);
    assert_string_equal(fth_ptx_type_name(T_NONE), "");
}

/* A 16-bit format. */
struct format {
    double (*to_double)(uint16_t bits);
    uint16_t (*from_double)(double value, enum fth_ptx_rounding rounding);
    unsigned fraction_bits;
    int min_exponent; /* of the smallest normal number */
};

static const struct format formats[] = {
    {fth_ptx_half_to_double, fth_ptx_half_from_double, 10, -14},
    {fth_ptx_bfloat_to_double, fth_ptx_bfloat_from_double, 7, -126},
};

static const enum fth_ptx_rounding all[] = {R_NONE, R_RN, R_RZ, R_RM, R_RP};

/* Numbers are equally spaced between powers of two: the spacing is one unit of the fraction. */
static void numbers_have_their_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        const struct format *format = &formats[i];
        const uint16_t infinity =
            (uint16_t)(0x7fff >> format->fraction_bits << format->fraction_bits);
        double value = 0;
        for (uint16_t bits = 0; bits < infinity; bits++) {
            assert_true(format->to_double(bits) == value);
            assert_true(format->to_double(0x8000 | bits) == -value);
            assert_int_equal(signbit(format->to_double(0x8000 | bits)) != 0, 1);
            const int exponent = bits >> format->fraction_bits;
            value += ldexp(1, format->min_exponent + (exponent ? exponent - 1 : 0) -
                                  (int)format->fraction_bits);
        }
        assert_true(format->to_double(infinity) == (double)INFINITY);
        assert_true(format->to_double(0x8000 | infinity) == -(double)INFINITY);
        assert_true(isnan(format->to_double(infinity | 1)));
        assert_true(isnan(format->to_double(0xffff)));
    }
    assert_true(fth_ptx_half_to_double(0x3c00) == 1);
    assert_true(fth_ptx_half_to_double(0x7bff) == 65504);
    assert_true(fth_ptx_bfloat_to_double(0x3f80) == 1);
}

/* Checks how a positive value and its negative are rounded, in the order of `all`. */
static void check_rounding(const struct format *format, double value, uint16_t below,
                           uint16_t above, uint16_t nearest)
{
    const uint16_t expected[] = {below, nearest, below, below, above};
    const uint16_t negative[] = {below, nearest, below, above, below};
    for (size_t i = 0; i < FTH_COUNT(all); i++) {
        if (format->from_double(value, all[i]) != expected[i] ||
            format->from_double(-value, all[i]) != (0x8000 | negative[i]))
            fail_msg("%a, rounding %d: %x, %x", value, (int)all[i],
                     format->from_double(value, all[i]), format->from_double(-value, all[i]));
    }
}

static void values_between_two_numbers_are_rounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        const struct format *format = &formats[i];
        const uint16_t infinity =
            (uint16_t)(0x7fff >> format->fraction_bits << format->fraction_bits);
        for (uint16_t bits = 0; bits + 1 < infinity; bits++) {
            const double low = format->to_double(bits),
                         high = format->to_double((uint16_t)(bits + 1)), middle = (low + high) / 2;
            const uint16_t next = (uint16_t)(bits + 1);
            check_rounding(format, low, bits, bits, bits);
            check_rounding(format, middle, bits, next, bits % 2 ? next : bits);
            check_rounding(format, nextafter(middle, 0), bits, next, bits);
            check_rounding(format, nextafter(middle, (double)INFINITY), bits, next, next);
        }
        /* Beyond the largest number, it is as if there were one more. */
        const uint16_t largest = infinity - 1;
        const double most = format->to_double(largest);
        const double half_unit = (most - format->to_double((uint16_t)(largest - 1))) / 2;
        check_rounding(format, most, largest, largest, largest);
        check_rounding(format, nextafter(most + half_unit, 0), largest, infinity, largest);
        check_rounding(format, most + half_unit, largest, infinity, infinity);
        check_rounding(format, most * 4, largest, infinity, infinity);
        check_rounding(format, (double)INFINITY, infinity, infinity, infinity);
        for (size_t k = 0; k < FTH_COUNT(all); k++)
            assert_int_equal(format->from_double(-(double)NAN, all[k]), 0x7fff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names_sizes_and_classes),
        cmocka_unit_test(numbers_have_their_values),
        cmocka_unit_test(values_between_two_numbers_are_rounded),
    };
    return cmocka_run_group_tests_name("ptx_types", tests, NULL, NULL);
}
