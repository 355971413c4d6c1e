/* Tests of the sets of accessed words, against one flag per word. */
#include "check.h"

#include "trace/footprint.h"

#include <string.h>

enum { WORDS = 1 << 13, SECTOR_WORDS = 8, BASES = 2 };

/* Where the flags begin in memory: in the same slots of a small table, and near the end. */
static const uint64_t bases[BASES] = {0, UINT64_C(1) << 52};

struct reference {
    bool words[BASES][WORDS];
};

static void mark(struct reference *reference, int base, uint64_t first, uint64_t last)
{
    for (uint64_t word = first / 4; word <= last / 4; word++)
        reference->words[base][word] = true;
}

static void check_sizes(const struct fth_footprint *footprint, const struct reference *reference)
{
    uint64_t words = 0, sectors = 0, word_bytes, sector_bytes;
    for (int base = 0; base < BASES; base++)
        for (size_t i = 0; i < WORDS; i += SECTOR_WORDS) {
            uint64_t here = 0;
            for (size_t k = 0; k < SECTOR_WORDS; k++)
                here += reference->words[base][i + k];
            words += here;
            sectors += here > 0;
        }
    fth_footprint_sum(footprint, &word_bytes, &sector_bytes);
    assert_int_equal(word_bytes, 4 * words);
    assert_int_equal(sector_bytes, UINT64_C(4) * SECTOR_WORDS * sectors);
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, last, word_bytes, sector_bytes;
    } rows[] = {
        {0, 0, 4, 32},           /* one byte */
        {3, 4, 8, 32},           /* the end of a word and the begin of the next one */
        {28, 35, 8, 64},         /* two sectors */
        {0, 255, 256, 256},      /* a whole mask */
        {252, 256, 8, 64},       /* across masks */
        {2044, 2051, 8, 64},     /* across pages */
        {100, 9999, 9900, 9920}, /* several pages */
        {8, 4, 0, 0},            /* none */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_footprint footprint = {0};
        uint64_t word_bytes, sector_bytes;
        assert_true(fth_footprint_add(&footprint, rows[i].first, rows[i].last));
        fth_footprint_sum(&footprint, &word_bytes, &sector_bytes);
        assert_int_equal(word_bytes, rows[i].word_bytes);
        assert_int_equal(sector_bytes, rows[i].sector_bytes);
        fth_footprint_fini(&footprint);
        fth_footprint_sum(&footprint, &word_bytes, &sector_bytes);
        assert_int_equal(word_bytes + sector_bytes, 0);
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

/* Random ranges in two sets, which are then merged. */
static void test_random(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 40; round++) {
        struct fth_footprint sets[2] = {{0}, {0}};
        static struct reference references[3];
        memset(references, 0, sizeof references);
        for (int i = 0; i < 20 << (round % 4); i++) {
            const int set = (int)(next_random(&random) % 2);
            const int base = (int)(next_random(&random) % BASES);
            const uint64_t first = next_random(&random) % (4 * WORDS - 600);
            const uint64_t last = first + next_random(&random) % (round % 2 ? 600 : 16);
            assert_true(fth_footprint_add(&sets[set], bases[base] + first, bases[base] + last));
            mark(&references[set], base, first, last);
            mark(&references[2], base, first, last);
        }
        check_sizes(&sets[0], &references[0]);
        check_sizes(&sets[1], &references[1]);
        assert_true(fth_footprint_merge(&sets[0], &sets[1]));
        check_sizes(&sets[0], &references[2]);
        check_sizes(&sets[1], &references[1]);
        fth_footprint_fini(&sets[0]);
        fth_footprint_fini(&sets[1]);
    }
}

/* More pages than the first table has. */
static void test_growth(void **state)
{
    (void)state;
    enum { PAGES = 3000, STRIDE = 1 << 16 };
    struct fth_footprint footprint = {0};
    uint64_t word_bytes, sector_bytes;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < PAGES; i++)
            assert_true(fth_footprint_add(&footprint, i * STRIDE, i * STRIDE + 3));
    fth_footprint_sum(&footprint, &word_bytes, &sector_bytes);
    assert_int_equal(word_bytes, 4 * PAGES);
    assert_int_equal(sector_bytes, 32 * PAGES);
    fth_footprint_fini(&footprint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
