/* Tests of the number types of buffers and arguments. The floating-point types of 8 and 16 bits are
 * compared with a search through all their values. */
#include "check.h"
#include "trace/launch/launch.h"

#include <math.h>
#include <stdlib.h>

/* A floating-point type, its fraction bits, its exponent bias, its largest finite number, and
 * whether larger numbers become this number instead of infinity. */
static const struct type {
    const char *name;
    unsigned bits, fraction_bits;
    int bias;
    uint32_t largest;
    double largest_value;
    bool saturates;
} types[] = {
    {"f16", 16, 10, 15, 0x7bff, 65504, false},
    {"bf16", 16, 7, 127, 0x7f7f, 3.3895313892515355e38, false},
    {"e4m3", 8, 3, 7, 0x7e, 448, true},
    {"e5m2", 8, 2, 15, 0x7b, 57344, true},
};

static const struct fth_scalar_type *find(const char *name)
{
    const struct fth_scalar_type *found = fth_scalar_type_find(name, strlen(name));
    assert_non_null(found);
    return found;
}

/* The value of finite bits, from the definition of the format. */
static double value_of(const struct type *type, uint32_t bits)
{
    const uint32_t exponent = bits >> type->fraction_bits;
    const double fraction =
        (double)(bits % (1u << type->fraction_bits)) / (double)(1u << type->fraction_bits);
    return exponent ? (1 + fraction) * pow(2, (int)exponent - type->bias)
                    : fraction * pow(2, 1 - type->bias);
}

static double to_double(const struct type *type, uint32_t bits)
{
    const uint64_t stored = bits;
    return fth_scalar_to_double(find(type->name), &stored);
}

static uint64_t from_double(const struct type *type, double value)
{
    uint64_t bits;
    assert_true(fth_scalar_from_double(find(type->name), value, &bits));
    return bits;
}

static void finite_values_have_the_defined_value(void **state)
{
    (void)state;
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        const uint32_t sign = 1u << (type->bits - 1);
        assert_true(to_double(type, type->largest) == type->largest_value);
        for (uint32_t bits = 0; bits <= type->largest; bits++) {
            const double value = value_of(type, bits);
            assert_true(to_double(type, bits) == value);
            assert_true(to_double(type, sign | bits) == -value);
            assert_int_equal(from_double(type, value), bits);
            assert_int_equal(from_double(type, -value), sign | bits);
        }
        for (uint32_t bits = type->largest + 1; bits < sign; bits++) {
            const bool infinite = strcmp(type->name, "e4m3") != 0 && bits == type->largest + 1;
            assert_true(infinite ? isinf(to_double(type, bits)) : isnan(to_double(type, bits)));
        }
    }
}

/* Between two neighbours, the nearer one is chosen; in the middle, the one with an even number. */
static void values_are_rounded_to_nearest_even(void **state)
{
    (void)state;
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        for (uint32_t low = 0; low < type->largest; low++) {
            const double below = value_of(type, low), above = value_of(type, low + 1);
            const double middle = (below + above) / 2;
            assert_int_equal(from_double(type, middle), low % 2 ? low + 1 : low);
            assert_int_equal(from_double(type, nextafter(middle, 0)), low);
            assert_int_equal(from_double(type, nextafter(middle, INFINITY)), low + 1);
        }
    }
}

static void large_values_overflow(void **state)
{
    (void)state;
    for (size_t t = 0; t < FTH_COUNT(types); t++) {
        const struct type *type = &types[t];
        const uint32_t sign = 1u << (type->bits - 1);
        const double last = type->largest_value - value_of(type, type->largest - 1);
        const uint32_t overflow = type->saturates ? type->largest : type->largest + 1;
        assert_int_equal(from_double(type, nextafter(type->largest_value + last / 2, 0)),
                         type->largest);
        assert_int_equal(from_double(type, type->largest_value + last), overflow);
        assert_int_equal(from_double(type, -1e300), sign | overflow);
        assert_int_equal(from_double(type, INFINITY), overflow);
        assert_int_equal(from_double(type, NAN), sign - 1);
    }
}

static void texts_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
        uint64_t bits;
        const char *written; /* NULL: the text is not accepted */
    } cases[] = {
        {"f16", "0.5", 0x3800, "0.5"},
        {"f16", "-1e9", 0xfc00, "-inf"},
        {"f16", "0.1", 0x2e66, "0.0999755859"},
        {"bf16", "3.14159", 0x4049, "3.140625"},
        {"e4m3", "449", 0x7e, "448"},
        {"e4m3", "-0.001953125", 0x81, "-0.001953125"},
        {"e5m2", "1e9", 0x7b, "57344"},
        {"e5m2", "x", 0, NULL},
        {"f32", "0.1", 0x3dcccccd, "0.100000001"},
        {"f64", "0.1", 0x3fb999999999999a, "0.1"},
        {"i8", "-1", 0xff, "-1"},
        {"u16", "65536", 0, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        uint64_t bits = 0;
        assert_int_equal(fth_scalar_parse(find(cases[i].type), cases[i].text, &bits),
                         cases[i].written != NULL);
        if (!cases[i].written)
            continue;
        assert_int_equal(bits, cases[i].bits);
        struct fth_buffer text = {0};
        fth_scalar_format(find(cases[i].type), &bits, &text);
        assert_int_equal(text.size, strlen(cases[i].written));
        assert_memory_equal(text.data, cases[i].written, text.size);
        fth_buffer_fini(&text);
    }
}

static void names_and_aliases_are_found(void **state)
{
    (void)state;
    assert_ptr_equal(find("i32"), find("s32"));
    assert_ptr_equal(find("b8"), find("u8"));
    assert_null(fth_scalar_type_find("f1", 2));
    assert_null(fth_scalar_type_find("f16x2", 5));
    assert_true(fth_scalar_is_float(find("e5m2")));
    assert_false(fth_scalar_is_float(find("s64")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_values_have_the_defined_value),
        cmocka_unit_test(values_are_rounded_to_nearest_even),
        cmocka_unit_test(large_values_overflow),
        cmocka_unit_test(texts_are_read_and_written),
        cmocka_unit_test(names_and_aliases_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
