/* Tests vector spaces over GF(2) (stats/gf2.c) against a list of all sums of the vectors. */
#include "check.h"
#include "stats/stats.h"

enum { BITS = 6, VECTORS = 1 << BITS };

/* Marks all sums of the vectors. */
static void span(const uint64_t *vectors, size_t count, bool contains[VECTORS])
{
    memset(contains, 0, VECTORS * sizeof *contains);
    for (size_t subset = 0; subset < (size_t)1 << count; subset++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++)
            sum ^= subset >> i & 1 ? vectors[i] : 0;
        contains[sum] = true;
    }
}

/* Adds four vectors in all orders that the generator gives. Each addition must tell whether the
 * vector is new, and the rank and the reduced vectors must agree with the list. */
static void spaces_contain_the_sums_of_their_vectors(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    for (int round = 0; round < 200; round++) {
        struct fth_gf2 space = {0}, orthogonal, again = {0};
        uint64_t vectors[4];
        bool contains[VECTORS];
        size_t members = 0;
        for (size_t i = 0; i < 4; i++) {
            vectors[i] = fth_rng_below(&rng, VECTORS);
            span(vectors, i, contains);
            assert_int_equal(fth_gf2_add(&space, vectors[i]), !contains[vectors[i]]);
        }
        span(vectors, 4, contains);
        for (uint64_t v = 0; v < VECTORS; v++) {
            members += contains[v];
            assert_int_equal(fth_gf2_reduce(&space, v) == 0, contains[v]);
            assert_true(contains[v ^ fth_gf2_reduce(&space, v)]);
        }
        assert_int_equal((size_t)1 << fth_gf2_rank(&space), members);
        /* The same vectors in another order give the same space. */
        for (size_t i = 4; i-- > 0;)
            fth_gf2_add(&again, vectors[i]);
        assert_true(fth_gf2_equal(&space, &again));
        fth_gf2_orthogonal(&space, BITS, &orthogonal);
        for (uint64_t v = 0; v < VECTORS; v++) {
            bool is_orthogonal = true;
            for (size_t i = 0; i < 4; i++)
                is_orthogonal = is_orthogonal && !__builtin_parityll(v & vectors[i]);
            assert_int_equal(fth_gf2_reduce(&orthogonal, v) == 0, is_orthogonal);
        }
    }
}

static void spaces_differ_by_any_vector(void **state)
{
    (void)state;
    struct fth_gf2 a = {0}, b = {0}, all;
    const uint64_t high = UINT64_C(1) << 63;
    assert_true(fth_gf2_equal(&a, &b));
    assert_true(fth_gf2_add(&a, high | 1));
    assert_false(fth_gf2_equal(&a, &b));
    assert_false(fth_gf2_equal(&b, &a));
    assert_true(fth_gf2_add(&b, high));
    assert_false(fth_gf2_equal(&a, &b)); /* the same highest bit, another vector */
    assert_true(fth_gf2_add(&a, 1));
    assert_true(fth_gf2_add(&b, 1));
    assert_true(fth_gf2_equal(&a, &b));
    assert_int_equal(fth_gf2_rank(&a), 2);
    /* With more than 64 bits, all 64 are used. */
    fth_gf2_orthogonal(&a, 70, &all);
    assert_int_equal(fth_gf2_rank(&all), 62);
    fth_gf2_orthogonal(&a, 63, &all);
    assert_int_equal(fth_gf2_rank(&all), 62);
    fth_gf2_orthogonal(&a, 62, &all);
    assert_int_equal(fth_gf2_rank(&all), 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_contain_the_sums_of_their_vectors),
        cmocka_unit_test(spaces_differ_by_any_vector),
    };
    return cmocka_run_group_tests_name("gf2", tests, NULL, NULL);
}
