/* Tests the lists of chunks of images (capsule_lists.c), the table of digests and the digest. */
#include "capsule/capsule_parts.h"
#include "check.h"

#include <stdlib.h>

/* ---- lists ---- */

/* A change of one entry of a list. */
struct change {
    uint64_t index;
    uint32_t chunk;
};

/* Decodes a list that differs from `list` in these entries, which are in order. */
static enum fth_status change(struct fth_chunk_lists *lists, struct fth_chunk_list *list,
                              const struct change *changes, size_t count, uint32_t chunk_count,
                              const char **fault)
{
    struct fth_buffer content = {0};
    uint64_t end = 0, expected = 1;
    for (size_t i = 0; i < count; i++) {
        fth_put_varint(changes[i].index - end, &content);
        fth_put_varint(1, &content);
        fth_put_varint(fth_zigzag(changes[i].chunk - expected), &content);
        end = changes[i].index + 1;
        expected = (uint64_t)changes[i].chunk + 1;
    }
    struct fth_capsule_decoder decoder = {.bytes = fth_bytes_of(&content)};
    fth_chunk_list_decode(lists, list, chunk_count, &decoder);
    const enum fth_status status = fth_capsule_decoded(&decoder);
    *fault = decoder.fault;
    fth_buffer_fini(&content);
    return status;
}

static int by_index(const void *a, const void *b)
{
    const struct change *first = a, *second = b;
    return (first->index > second->index) - (first->index < second->index);
}

/* Many lists, each with changes of an earlier one, against plain arrays of the entries that were
 * ever changed. */
static void lists_share_nodes(void **state)
{
    (void)state;
    enum { PLACES = 40, LISTS = 400, CHUNKS = 1000 };
    static const uint64_t sizes[] = {
        1, FTH_CHUNK_BYTES * UINT64_C(64), FTH_CHUNK_BYTES * UINT64_C(64) + 1,
        FTH_CHUNK_BYTES * UINT64_C(5000), FTH_CAPSULE_MAX_REGION_BYTES};
    static uint32_t values[LISTS][PLACES];
    for (size_t size = 0; size < FTH_COUNT(sizes); size++) {
        struct fth_chunk_lists lists = {0};
        struct fth_chunk_list list[LISTS] = {fth_chunk_list_of_zeros(sizes[size])};
        struct fth_rng rng;
        const uint64_t chunks = fth_capsule_chunks_of(sizes[size]);
        struct change places[PLACES];
        fth_rng_init(&rng, size);
        memset(values, 0, sizeof values);
        for (size_t i = 0; i < PLACES; i++)
            places[i].index = fth_rng_below(&rng, chunks);
        places[0].index = 0;
        places[1].index = chunks - 1;
        qsort(places, PLACES, sizeof *places, by_index);
        for (size_t i = 1; i < LISTS; i++) {
            const size_t from = fth_rng_below(&rng, i);
            struct change changes[PLACES];
            const char *fault;
            size_t count = 0;
            memcpy(values[i], values[from], sizeof values[i]);
            list[i] = list[from];
            for (size_t j = 0; j < PLACES; j++) {
                if (fth_rng_below(&rng, 8) > 0 || (j > 0 && places[j].index == places[j - 1].index))
                    continue;
                values[i][j] = (uint32_t)fth_rng_below(&rng, CHUNKS);
                changes[count++] = (struct change){places[j].index, values[i][j]};
            }
            assert_int_equal(change(&lists, &list[i], changes, count, CHUNKS, &fault), FTH_OK);
        }
        for (size_t i = 0; i < LISTS; i++)
            for (size_t j = 0, k = 0; j < PLACES; j++) {
                k = j > 0 && places[j].index == places[j - 1].index ? k : j;
                assert_int_equal(fth_chunk_list_get(&lists, &list[i], places[j].index),
                                 values[i][k]);
            }
        fth_chunk_lists_fini(&lists);
    }
}

/* A long chain of images of 1 GiB with one change each needs one node per level and image. */
static void long_chains_need_little_memory(void **state)
{
    (void)state;
    enum { IMAGES = 10000, CHUNKS = (1 << 30) / FTH_CHUNK_BYTES };
    struct fth_chunk_lists lists = {0};
    struct fth_chunk_list list = fth_chunk_list_of_zeros(1 << 30);
    assert_int_equal(list.levels, 3);
    for (uint32_t i = 0; i < IMAGES; i++) {
        const struct change one = {i * UINT64_C(7919) % CHUNKS, i + 1};
        const char *fault;
        assert_int_equal(change(&lists, &list, &one, 1, IMAGES, &fault), FTH_OK);
    }
    assert_int_equal(lists.count, 1 + 3 * IMAGES);
    assert_int_equal(fth_chunk_list_get(&lists, &list, 7919), 2);
    fth_chunk_lists_fini(&lists);
}

/* Entries that stay the same take no memory. */
static void equal_entries_need_no_memory(void **state)
{
    (void)state;
    struct fth_chunk_lists lists = {0};
    struct fth_chunk_list list = fth_chunk_list_of_zeros(1 << 30);
    const struct change zeros[] = {{0, 0}, {5, 0}}, one[] = {{5, 1}};
    const char *fault;
    assert_int_equal(change(&lists, &list, zeros, 2, 1, &fault), FTH_OK);
    assert_int_equal(lists.count, 0);
    assert_int_equal(change(&lists, &list, one, 1, 1, &fault), FTH_OK);
    assert_int_equal(change(&lists, &list, one, 1, 1, &fault), FTH_OK);
    assert_int_equal(lists.count, 4);
    fth_chunk_lists_fini(&lists);
}

/* The memory of lists is limited. */
static void lists_have_a_limit(void **state)
{
    (void)state;
    struct fth_chunk_lists lists = {0};
    struct fth_chunk_list list = fth_chunk_list_of_zeros(FTH_CHUNK_BYTES);
    const struct change one = {0, 1}, two = {0, 2};
    const char *fault;
    assert_int_equal(change(&lists, &list, &one, 1, 2, &fault), FTH_OK);
    lists.count = (1 << 30) / sizeof *lists.nodes; /* as if these nodes existed */
    assert_int_equal(change(&lists, &list, &two, 1, 2, &fault), FTH_INVALID);
    assert_string_equal(fault, "the lists of chunks up to here need more than 1 GiB of memory");
    fth_chunk_lists_fini(&lists);
}

/* ---- the table ---- */

static void tables_find_what_was_added(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct fth_digest_table table = {0};
    for (uint32_t i = 1; i <= COUNT; i++) {
        /* Many digests share a word, and the place where the search begins. */
        const struct fth_digest digest = {{i % 100, i}}, other = {{i, i % 100 + COUNT}};
        assert_int_equal(fth_digest_table_find(&table, &digest), 0);
        assert_int_equal(fth_digest_table_find(&table, &other), 0);
        assert_true(fth_digest_table_add(&table, &digest, i));
    }
    for (uint32_t i = 1; i <= COUNT; i++) {
        const struct fth_digest digest = {{i % 100, i}};
        assert_int_equal(fth_digest_table_find(&table, &digest), i);
    }
    fth_digest_table_fini(&table);
}

/* ---- the digest ---- */

static unsigned differing_bits(const struct fth_digest *a, const struct fth_digest *b)
{
    unsigned count = 0;
    for (size_t i = 0; i < 2; i++)
        for (uint64_t word = a->words[i] ^ b->words[i]; word; word &= word - 1)
            count++;
    return count;
}

/* Files contain digests. The values come from another program. */
static void digests_do_not_change(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t words[2];
    } rows[] = {
        {0, {0x2fd40fa1b384d578, 0xecb63c2d5c328d4c}},
        {1, {0x986f06e2a49bb316, 0x339a5929ba135d03}},
        {64, {0x1e11aca466f7a483, 0x9a983626e4a1f30e}},
        {1000, {0x2400c12363b43a7d, 0x54de047cf86331f8}},
    };
    unsigned char data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 31 + 7);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_digest digest = fth_digest(data, rows[i].size);
        assert_int_equal(digest.words[0], rows[i].words[0]);
        assert_int_equal(digest.words[1], rows[i].words[1]);
    }
}

/* Each bit of the contents changes about half of the bits of the digest, in every word. */
static void each_bit_changes_the_digest(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 8, 16, 63, 64, 65, 200};
    for (size_t filling = 0; filling < 2; filling++) /* zeros, and other bytes */
        for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
            unsigned char data[200];
            uint64_t total = 0;
            for (size_t j = 0; j < sizes[i]; j++)
                data[j] = (unsigned char)(filling * (j * 59 + 3));
            const struct fth_digest before = fth_digest(data, sizes[i]);
            for (size_t bit = 0; bit < 8 * sizes[i]; bit++) {
                data[bit / 8] ^= (unsigned char)(1 << bit % 8);
                const struct fth_digest after = fth_digest(data, sizes[i]);
                data[bit / 8] ^= (unsigned char)(1 << bit % 8);
                const unsigned count = differing_bits(&before, &after);
                assert_in_range(count, 30, 98); /* 64, six standard deviations of 5.7 */
                total += count;
            }
            /* Five standard deviations of the mean. */
            const double mean = (double)total / (double)(8 * sizes[i]);
            const double deviation = 5.7 * 5.7 * 25 / (double)(8 * sizes[i]);
            assert_true((mean - 64) * (mean - 64) < deviation);
        }
}

/* Contents that differ in their number of zeros, and in the order of their words. */
static void similar_contents_have_different_digests(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static struct fth_digest digests[3 * COUNT];
    static const unsigned char zeros[COUNT];
    unsigned char data[COUNT + 16] = {0};
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++)
        digests[count++] = fth_digest(zeros, i);
    for (size_t i = 0; i < COUNT; i++) { /* one byte at different places of contents of one size */
        data[i] = 1;
        digests[count++] = fth_digest(data, COUNT);
        data[i] = 0;
    }
    for (size_t i = 0; i < COUNT; i++) { /* the same, followed by different numbers of zeros */
        data[0] = 1;
        digests[count++] = fth_digest(data, i + 1);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            /* Byte 0 of all bytes is in two of the lists. */
            if (i != 3 * COUNT - 1 || j != COUNT)
                assert_true(differing_bits(&digests[i], &digests[j]) > 20);
}

/* Digests of counters: every half of every word of many digests is different from the others. */
static void parts_of_digests_are_random(void **state)
{
    (void)state;
    enum { COUNT = 20000, BITS = 24 };
    static unsigned char seen[4][1 << BITS >> 3];
    unsigned repeated[4] = {0};
    unsigned char data[96] = {0};
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < COUNT; i++) {
        memcpy(data + 16, &i, sizeof i); /* only one pair of words differs */
        const struct fth_digest digest = fth_digest(data, sizeof data);
        for (size_t j = 0; j < 4; j++) {
            const uint64_t part =
                digest.words[j / 2] >> (j % 2 ? 64 - BITS : 0) & ((1 << BITS) - 1);
            repeated[j] += seen[j][part / 8] >> part % 8 & 1;
            seen[j][part / 8] |= (unsigned char)(1 << part % 8);
        }
    }
    /* Expected are COUNT² / 2 / 2^24 = 11.9, with a standard deviation of 3.5. */
    for (size_t j = 0; j < 4; j++)
        assert_in_range(repeated[j], 1, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_share_nodes),
        cmocka_unit_test(long_chains_need_little_memory),
        cmocka_unit_test(equal_entries_need_no_memory),
        cmocka_unit_test(lists_have_a_limit),
        cmocka_unit_test(tables_find_what_was_added),
        cmocka_unit_test(digests_do_not_change),
        cmocka_unit_test(each_bit_changes_the_digest),
        cmocka_unit_test(similar_contents_have_different_digests),
        cmocka_unit_test(parts_of_digests_are_random),
    };
    return cmocka_run_group_tests_name("capsule-lists", tests, NULL, NULL);
}
