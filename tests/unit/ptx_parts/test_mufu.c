/* Tests of ptx/mufu.c: the special functions give the bits of an H200. The digests are of what an
 * H200 computed; docs/results/special-functions-h200.md tells how. */
#include "base/base.h"
#include "check.h"
#include "ptx/mufu.h"

/* Mixes an operand and its result. A digest is the sum over all operands. */
static uint64_t mix(uint32_t operand, uint32_t result)
{
    uint64_t z = ((uint64_t)operand << 32 | result) + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 65,536 operands, evenly distributed over all bit patterns. */
static void functions_of_one_operand(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t (*function)(uint32_t x, bool ftz);
        uint64_t digests[2]; /* without and with .ftz */
    } rows[] = {
        {"ex2", fth_ptx_approx_ex2, {0x7caa3a2e44324ecb, 0x2236736b28d5ea8d}},
        {"rcp", fth_ptx_approx_rcp, {0xe9a0c2b9fb5dd3e8, 0x1db816a8cb932dd1}},
        {"rsqrt", fth_ptx_approx_rsqrt, {0x1a8ab1b94c86e5c4, 0x2c59fffbae3f6ccf}},
        {"sqrt", fth_ptx_approx_sqrt, {0xb6f2d1d01d8a885e, 0x32fc6f1902b63fe5}},
        {"lg2", fth_ptx_approx_lg2, {0x5a267bdc133cb55f, 0xf28af0daebcbc85c}},
        {"sin", fth_ptx_approx_sin, {0x61edd7515db17c8d, 0x61edd7515db17c8d}},
        {"cos", fth_ptx_approx_cos, {0xabd4352b4ecf2202, 0xabd4352b4ecf2202}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int ftz = 0; ftz < 2; ftz++) {
            uint64_t sum = 0;
            for (uint32_t k = 0; k < 65536; k++)
                sum += mix(k * 65521, rows[i].function(k * 65521, ftz));
            if (sum != rows[i].digests[ftz])
                fail_msg("%s%s: the digest is 0x%016llx", rows[i].name, ftz ? ".ftz" : "",
                         (unsigned long long)sum);
        }
}

/* The same operands, for functions without .ftz or always with it. */
static void functions_of_one_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t (*function)(uint32_t x);
        uint64_t digest;
    } rows[] = {
        {"tanh", fth_ptx_mufu_tanh, 0x23a7394a2ce8e803},
        {"rcp64h", fth_ptx_mufu_rcp64h, 0x31c60023bf87e04d},
        {"rsq64h", fth_ptx_mufu_rsq64h, 0xf36e7070e87bdca6},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < 65536; k++)
            sum += mix(k * 65521, rows[i].function(k * 65521));
        if (sum != rows[i].digest)
            fail_msg("%s: the digest is 0x%016llx", rows[i].name, (unsigned long long)sum);
    }
}

/* Returns a random pattern for a number. */
static uint32_t scatter(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static void divisions(void **state)
{
    (void)state;
    static const struct {
        uint32_t (*function)(uint32_t x, uint32_t y, bool ftz);
        uint64_t digests[2];
    } rows[] = {
        {fth_ptx_approx_div, {0x50ad254cf07ac1db, 0x1acd6d2bf09a503c}},
        {fth_ptx_full_div, {0x9be334d92137df0d, 0x17dbbd02c72a63d1}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int ftz = 0; ftz < 2; ftz++) {
            uint64_t sum = 0;
            for (uint32_t k = 0; k < 65536; k++) {
                const uint32_t x = scatter(2 * k), y = scatter(2 * k + 1);
                sum += mix(x ^ scatter(y), rows[i].function(x, y, ftz));
            }
            assert_int_equal(sum, rows[i].digests[ftz]);
        }
}

struct edge {
    uint32_t (*function)(uint32_t x);
    uint32_t x, result;
};

static void check_edges(const struct edge *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].function(rows[i].x) != rows[i].result)
            fail_msg("row %zu: 0x%08x gives 0x%08x", i, rows[i].x, rows[i].function(rows[i].x));
}

/* Operands at which the cases of the functions change. */
static void edges(void **state)
{
    (void)state;
    static const struct edge rows[] = {
        {fth_ptx_mufu_ex2, 0x007fffff, 0x3f800000},   {fth_ptx_mufu_ex2, 0xbf800000, 0x3f000000},
        {fth_ptx_mufu_ex2, 0xbf800001, 0x3efffffe},   {fth_ptx_mufu_ex2, 0xc2fc0000, 0x00800000},
        {fth_ptx_mufu_ex2, 0xc2fc0001, 0x00000000},   {fth_ptx_mufu_ex2, 0x42ffffff, 0x7f7fffa8},
        {fth_ptx_mufu_ex2, 0x43000000, 0x7f800000},   {fth_ptx_mufu_ex2, 0xff800000, 0x00000000},
        {fth_ptx_mufu_ex2, 0xffc00001, 0x7fffffff},   {fth_ptx_mufu_rcp, 0x807fffff, 0xff800000},
        {fth_ptx_mufu_rcp, 0x00800000, 0x7e800000},   {fth_ptx_mufu_rcp, 0x7e800000, 0x00800000},
        {fth_ptx_mufu_rcp, 0x7e800001, 0x00000000},   {fth_ptx_mufu_rcp, 0xff800000, 0x80000000},
        {fth_ptx_mufu_rcp, 0x7f800001, 0x7fffffff},   {fth_ptx_mufu_rsqrt, 0x80000001, 0xff800000},
        {fth_ptx_mufu_rsqrt, 0x00800000, 0x5f000000}, {fth_ptx_mufu_rsqrt, 0x7e800001, 0x1ffffffe},
        {fth_ptx_mufu_rsqrt, 0x3f800000, 0x3f800000}, {fth_ptx_mufu_rsqrt, 0x3f800001, 0x3f7ffffe},
        {fth_ptx_mufu_rsqrt, 0x43000000, 0x3db504f2}, {fth_ptx_mufu_rsqrt, 0x7f800000, 0x00000000},
        {fth_ptx_mufu_rsqrt, 0xbf800000, 0x7fffffff}, {fth_ptx_mufu_sqrt, 0x807fffff, 0x80000000},
        {fth_ptx_mufu_sqrt, 0x7f7fffff, 0x5f7fffff},  {fth_ptx_mufu_sqrt, 0x7f800000, 0x7f800000},
        {fth_ptx_mufu_sqrt, 0xff800000, 0x7fffffff},  {fth_ptx_mufu_lg2, 0x007fffff, 0xff800000},
        {fth_ptx_mufu_lg2, 0x00800000, 0xc2fbffff},   {fth_ptx_mufu_lg2, 0x3f800000, 0x00000000},
        {fth_ptx_mufu_lg2, 0x3f800001, 0x3495f600},   {fth_ptx_mufu_lg2, 0x3f000000, 0xbf7ffffe},
        {fth_ptx_mufu_lg2, 0x7f800000, 0x7f800000},   {fth_ptx_mufu_lg2, 0xbf800000, 0x7fffffff},
        {fth_ptx_mufu_sin, 0x7f800000, 0x7fffffff},   {fth_ptx_mufu_sin, 0x80000000, 0x80000000},
        {fth_ptx_mufu_sin, 0x7f7fffff, 0x00000000},   {fth_ptx_mufu_cos, 0xff7fffff, 0x3f800000},
        {fth_ptx_mufu_tanh, 0x80000001, 0x80000001},  {fth_ptx_mufu_tanh, 0x3b7fffff, 0x3b7fffff},
        {fth_ptx_mufu_tanh, 0x3b80003f, 0x3b800000},  {fth_ptx_mufu_tanh, 0x3c000000, 0x3bffff00},
        {fth_ptx_mufu_tanh, 0xbf800000, 0xbf42f848},  {fth_ptx_mufu_tanh, 0x40ffffff, 0x3f7ffffc},
        {fth_ptx_mufu_tanh, 0x41000000, 0x3f800000},  {fth_ptx_mufu_tanh, 0xff800000, 0xbf800000},
        {fth_ptx_mufu_tanh, 0xffc00001, 0x7fffffff},
    };
    check_edges(rows, FTH_COUNT(rows));
}

/* The same for the upper words of f64 numbers. */
static void edges_of_upper_words(void **state)
{
    (void)state;
    static const struct edge rows[] = {
        {fth_ptx_mufu_rcp64h, 0x800fffff, 0xfff00000},
        {fth_ptx_mufu_rcp64h, 0x00100000, 0x7fd00000},
        {fth_ptx_mufu_rcp64h, 0x3ff00000, 0x3ff00000},
        {fth_ptx_mufu_rcp64h, 0xbff00001, 0xbfeffffe},
        {fth_ptx_mufu_rcp64h, 0x7fd00000, 0x00100000},
        {fth_ptx_mufu_rcp64h, 0x7fd00001, 0x00000000},
        {fth_ptx_mufu_rcp64h, 0xfff00000, 0x80000000},
        {fth_ptx_mufu_rcp64h, 0xfff00001, 0x7fffffff},
        {fth_ptx_mufu_rsq64h, 0x800fffff, 0xfff00000},
        {fth_ptx_mufu_rsq64h, 0x00100000, 0x5fe00000},
        {fth_ptx_mufu_rsq64h, 0x3ff00000, 0x3ff00000},
        {fth_ptx_mufu_rsq64h, 0x3ff00001, 0x3feffffe},
        {fth_ptx_mufu_rsq64h, 0x7fe00000, 0x1ff6a09e},
        {fth_ptx_mufu_rsq64h, 0x7ff00000, 0x00000000},
        {fth_ptx_mufu_rsq64h, 0x7ff00001, 0x7fffffff},
        {fth_ptx_mufu_rsq64h, 0xbff00000, 0x7fffffff},
    };
    check_edges(rows, FTH_COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_of_one_operand),
                                       cmocka_unit_test(functions_of_one_form),
                                       cmocka_unit_test(divisions), cmocka_unit_test(edges),
                                       cmocka_unit_test(edges_of_upper_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
