/* Tests of words that several threads or blocks update: atomics, fences, locks. The expected values
 * do not depend on the order of the threads. */
#include "kernel_helpers.h"

void kernel_histogram(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 3000, BINS = 64 };
    load_kernel(k, "atomics/histogram", "histogram");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint8_t *in = add_buffer(k, COUNT);
    uint32_t *counts = add_buffer(k, BINS * sizeof *counts), want[BINS] = {0};
    fill_bytes(k, in, COUNT);
    for (int i = 0; i < COUNT; i += 3)
        in[i] = 7; /* many lanes increment this bin */
    launch(k, 4, 96);
    for (int i = 0; i < COUNT; i++)
        want[in[i] % BINS]++;
    CHECK_INTEGERS("counts", counts, want, BINS);
}

void kernel_atomics_int(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150, NO_THREAD = 999 };
    static const uint32_t start[13] = {5, 6, 0xffffffff, 0, 0xffffffff, 0, 0, 3, 4, 0, NO_THREAD};
    load_kernel(k, "atomics/atomics", "atomics_int");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in), *words = add_buffer(k, sizeof start);
    int32_t *signs = add_buffer(k, 2 * sizeof *signs), want_signs[2] = {0, 0};
    uint32_t *tickets = add_buffer(k, COUNT * sizeof *tickets), want[9];
    fill_bytes(k, in, COUNT * sizeof *in);
    memcpy(words, start, sizeof start);
    memcpy(want, start, sizeof want);
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++) {
        uint32_t x = in[i];
        want[0] += x;
        want[1] -= x;
        want[2] = x < want[2] ? x : want[2];
        want[3] = x > want[3] ? x : want[3];
        want[4] &= x | 0xff;
        want[5] |= x & 0xf0f0f0f0;
        want[6] ^= x;
        want[7] = want[7] >= 16 ? 0 : want[7] + 1;
        want[8] = want[8] == 0 || want[8] > 9 ? 9 : want[8] - 1;
        want_signs[0] = (int32_t)x < want_signs[0] ? (int32_t)x : want_signs[0];
        want_signs[1] = (int32_t)x > want_signs[1] ? (int32_t)x : want_signs[1];
    }
    CHECK_INTEGERS("words", words, want, 9);
    CHECK_INTEGERS("signs", signs, want_signs, 2);
    /* The order of the threads is undefined. Each thread exchanged its index with that of the
     * thread before it, so each index appears once in `tickets`, except the last, which is in
     * words[10]. */
    uint32_t seen[NO_THREAD + 1] = {0};
    assert_int_equal(words[9], COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_true(tickets[i] <= NO_THREAD);
        seen[tickets[i]]++;
    }
    assert_true(words[10] < COUNT);
    seen[words[10]]++;
    for (uint32_t i = 0; i <= NO_THREAD; i++)
        assert_int_equal(seen[i], i < COUNT || i == NO_THREAD);
    /* Exactly one thread replaced the 0 in words[11], and stored its index in words[12]. */
    assert_in_range(words[11], 1, COUNT);
    assert_int_equal(words[12], words[11] - 1);
}

void kernel_atomics_wide(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150 };
    static const uint64_t start[6] = {1, UINT64_MAX, 1ull << 63, UINT64_MAX, 0, 0};
    load_kernel(k, "atomics/atomics", "atomics_wide");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint64_t *in = add_buffer(k, COUNT * sizeof *in), *words = add_buffer(k, sizeof start);
    float *sum = add_buffer(k, sizeof *sum), want_sum = 0;
    double *sums = add_buffer(k, 2 * sizeof *sums), want_sums[2] = {0, 1};
    fill_bytes(k, in, COUNT * sizeof *in);
    uint64_t want[6];
    memcpy(words, start, sizeof start);
    memcpy(want, start, sizeof start);
    sums[1] = 1;
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = in[i];
        want[0] += x;
        want[1] = x < want[1] ? x : want[1];
        want[2] = (int64_t)x > (int64_t)want[2] ? x : want[2];
        want[3] &= x | 0xffff0000;
        want[4] |= x & 0x0f0f0f0f0f0f0f0f;
        want[5] ^= x;
        want_sum += (float)(x % 64) * 0.25f;
        want_sums[0] += (double)(x % 1024) * 0.125;
        want_sums[1] *= x % 2 ? 2.0 : 0.5;
    }
    CHECK_INTEGERS("words", words, want, 6);
    check_f32("sum", sum, &want_sum, 1, 0);
    check_f64("sums", sums, want_sums, 2, 0);
}

void kernel_atomics_shared(void **state)
{
    struct kernel *k = *state;
    enum { BLOCKS = 3, BLOCK = 96 };
    load_kernel(k, "atomics/atomics", "atomics_shared");
    uint32_t *in = add_buffer(k, BLOCKS * BLOCK * sizeof *in);
    uint32_t *out = add_buffer(k, 8 * BLOCKS * sizeof *out), want[8 * BLOCKS];
    fill_bytes(k, in, BLOCKS * BLOCK * sizeof *in);
    launch(k, BLOCKS, BLOCK);
    for (int block = 0; block < BLOCKS; block++) {
        uint32_t low = UINT32_MAX, high = 0, mask = 0, exact = 0;
        uint64_t total = 0;
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            low = in[i] < low ? in[i] : low;
            high = in[i] > high ? in[i] : high;
            mask ^= in[i];
            total += (uint64_t)in[i] << 8;
            exact += in[i] & 255;
        }
        uint32_t results[8] = {low,
                               high,
                               mask,
                               BLOCK,
                               (uint32_t)total,
                               (uint32_t)(total >> 32),
                               exact,
                               BLOCK * (BLOCK - 1) / 2};
        memcpy(want + 8 * block, results, sizeof results);
    }
    CHECK_INTEGERS("out", out, want, 8 * BLOCKS);
}

void kernel_scoped(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150, BLOCK = 64, BLOCKS = 3 };
    load_kernel(k, "atomics/scoped", "scoped");
    ADD_ARGUMENT(k, uint32_t, COUNT);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *words = add_buffer(k, 4 * sizeof *words), want[4] = {0, 0, 7, 0};
    uint32_t *max = add_buffer(k, BLOCKS * sizeof *max), want_max[BLOCKS] = {0};
    float *sum = add_buffer(k, sizeof *sum), want_sum = 0;
    uint32_t *seen = add_buffer(k, COUNT * sizeof *seen);
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, BLOCKS, BLOCK);
    for (int i = 0; i < COUNT; i++) {
        want[0] += in[i];
        want[1] ^= in[i];
        want[3] |= 1u << in[i] % 32;
        want_max[i / BLOCK] = in[i] > want_max[i / BLOCK] ? in[i] : want_max[i / BLOCK];
        want_sum += (float)(in[i] % 8);
        assert_int_equal(seen[i], 7);
    }
    CHECK_INTEGERS("words", words, want, 4);
    CHECK_INTEGERS("max", max, want_max, BLOCKS);
    check_f32("sum", sum, &want_sum, 1, 0);
}

void kernel_aggregate(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 300 };
    load_kernel(k, "warps/compact", "aggregate");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *count = add_buffer(k, sizeof *count);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want = 0;
    fill_s32(k, in, COUNT, -10, 10);
    launch(k, 5, 64);
    bool seen[COUNT] = {false};
    for (int i = 0; i < COUNT; i++)
        want += in[i] < 0;
    assert_int_equal(*count, want);
    for (int i = 0; i < want; i++) {
        assert_in_range(out[i], 0, COUNT - 1);
        assert_true(in[out[i]] < 0 && !seen[out[i]]);
        seen[out[i]] = true;
    }
}

void kernel_last_block(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 1000, BLOCKS = 5, BLOCK = 64 };
    load_kernel(k, "atomics/last_block", "last_block");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in);
    int32_t *parts = add_buffer(k, BLOCKS * sizeof *parts), want_parts[BLOCKS] = {0};
    int32_t *result = add_buffer(k, sizeof *result), want = 0;
    fill_s32(k, in, COUNT, -1000, 1000);
    for (int i = 0; i < COUNT; i++)
        want_parts[i / BLOCK % BLOCKS] += in[i];
    for (int i = 0; i < BLOCKS; i++)
        want += want_parts[i] * (i + 1);
    for (int round = 0; round < 2; round++) { /* atomicInc resets the counter for the next launch */
        *result = 0;
        launch(k, BLOCKS, BLOCK);
        CHECK_INTEGERS("parts", parts, want_parts, BLOCKS);
        assert_int_equal(*result, want);
    }
}

void kernel_spin(void **state)
{
    struct kernel *k = *state;
    enum { BLOCKS = 3 };
    load_kernel(k, "atomics/spin", "spin");
    int32_t *in = add_buffer(k, BLOCKS * sizeof *in), *out = add_buffer(k, BLOCKS * sizeof *out);
    fill_s32(k, in, BLOCKS, -1000, 1000);
    launch(k, BLOCKS, 64);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(out[i], in[i] * 2 + 1);
}

void kernel_lock(void **state)
{
    struct kernel *k = *state;
    enum { ROUNDS = 2, BLOCKS = 2, BLOCK = 40 };
    load_kernel(k, "atomics/spin", "lock");
    ADD_ARGUMENT(k, int32_t, ROUNDS);
    int32_t *mutex = add_buffer(k, sizeof *mutex);
    int64_t *sums = add_buffer(k, 2 * sizeof *sums);
    launch(k, BLOCKS, BLOCK);
    assert_int_equal(*mutex, 0);
    assert_int_equal(sums[0], ROUNDS * BLOCKS * BLOCK);
    assert_int_equal(sums[1], ROUNDS * BLOCKS * (BLOCK * (BLOCK - 1) / 2));
}
