/* Tests of communication between threads: shuffles, votes, barriers, clusters, and sums, scans and
 * sorts that use them. */
#include "kernel_helpers.h"

#include <math.h>
#include <stdlib.h>

/* ---- sums ---- */

/* The sum that lane 0 gets from a tree of shuffles (shfl.down). Overwrites `lanes`. */
static float tree_sum(float *lanes)
{
    for (int step = 16; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            lanes[i] += lanes[i + step];
    return lanes[0];
}

static void check_dot(struct kernel *k, const char *file)
{
    enum { COUNT = 1500, BLOCKS = 3, BLOCK = 128 };
    load_kernel(k, file, "dot");
    ADD_ARGUMENT(k, int32_t, COUNT);
    float *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    float *sums = add_buffer(k, BLOCKS * sizeof *sums), want[BLOCKS];
    fill_f32(k, a, COUNT, -1, 1);
    fill_f32(k, b, COUNT, -1, 1);
    launch(k, BLOCKS, BLOCK);
    for (int block = 0; block < BLOCKS; block++) {
        float warps[32] = {0}, lanes[BLOCK] = {0};
        for (int t = 0; t < BLOCK; t++)
            for (int i = block * BLOCK + t; i < COUNT; i += BLOCKS * BLOCK)
                lanes[t] = fmaf(a[i], b[i], lanes[t]);
        for (int warp = 0; warp < BLOCK / 32; warp++)
            warps[warp] = tree_sum(lanes + 32 * warp);
        want[block] = tree_sum(warps);
    }
    check_f32("sums", sums, want, BLOCKS, 0);
}

void kernel_dot(void **state)
{
    check_dot(*state, "warps/dot");
}

void kernel_dot_xor(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 128 };
    load_kernel(k, "warps/dot", "dot_xor");
    double *a = add_buffer(k, COUNT * sizeof *a), *b = add_buffer(k, COUNT * sizeof *b);
    double *sums = add_buffer(k, COUNT * sizeof *sums), want[2][COUNT];
    fill_f64(k, a, COUNT, -1, 1);
    fill_f64(k, b, COUNT, -1, 1);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++)
        want[0][i] = a[i] * b[i];
    for (int step = 1, now = 0; step < 16; step *= 2, now = !now)
        for (int i = 0; i < COUNT; i++)
            want[!now][i] = want[now][i] + want[now][i ^ step];
    check_f64("sums", sums, want[0], COUNT, 0); /* after four steps */
}

/* ---- scans and sorts ---- */

void kernel_scan_block(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 350, BLOCK = 128 };
    load_kernel(k, "warps/scan", "scan_block");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, -1000, 1000);
    launch_3d(k, (uint32_t[3]){3, 1, 1}, (uint32_t[3]){BLOCK, 1, 1}, 2 * BLOCK * sizeof *in);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i] + (i % BLOCK ? want[i - 1] : 0);
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_scan_warp(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 250, BLOCK = 96 };
    load_kernel(k, "warps/scan", "scan_warp");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint64_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, 3, BLOCK);
    uint64_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i] + (i % BLOCK ? want[i - 1] : 0);
    CHECK_INTEGERS("out", out, want, COUNT);
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void check_bitonic(struct kernel *k, const char *file)
{
    enum { BLOCKS = 2, BLOCK = 128 };
    load_kernel(k, file, "bitonic");
    assert_int_equal(k->info->max_block[0], BLOCK);
    uint32_t *keys = add_buffer(k, BLOCKS * BLOCK * sizeof *keys);
    uint16_t *places = add_buffer(k, BLOCKS * BLOCK * sizeof *places);
    fill_bytes(k, keys, BLOCKS * BLOCK * sizeof *keys);
    uint32_t *before = copy_to_host(k, keys, BLOCKS * BLOCK * sizeof *keys);
    uint32_t *want = copy_to_host(k, keys, BLOCKS * BLOCK * sizeof *keys);
    launch(k, BLOCKS, BLOCK);
    for (int block = 0; block < BLOCKS; block++)
        qsort(want + block * BLOCK, BLOCK, sizeof *want, by_value);
    CHECK_INTEGERS("keys", keys, want, BLOCKS * BLOCK);
    for (int i = 0; i < BLOCKS * BLOCK; i++) {
        assert_true(places[i] < BLOCK);
        assert_int_equal(before[i / BLOCK * BLOCK + places[i]], keys[i]);
    }
}

void kernel_bitonic(void **state)
{
    check_bitonic(*state, "warps/bitonic");
}

void kernel_newer_warps(void **state)
{
    check_dot(*state, "flow/newer");
    check_bitonic(*state, "flow/newer");
}

/* ---- votes and shuffles ---- */

void kernel_votes(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 192 };
    load_kernel(k, "warps/votes", "votes");
    uint32_t *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, 9 * COUNT * sizeof *out), want[9 * COUNT];
    fill_s32(k, (int32_t *)in, COUNT, 0, INT32_MAX);
    for (int i = 0; i < 32; i++)
        in[i] = 12; /* equal values in the first warp */
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++) {
        uint32_t *w = want + 9 * i, first = in[i / 32 * 32] >> (i / 64 % 2 ? 31 : 0);
        memset(w, 0, 9 * sizeof *w);
        w[2] = w[5] = 1;
        w[6] = 0xffffffff;
        for (int lane = 0; lane < 32; lane++) {
            uint32_t x = in[i / 32 * 32 + lane], bit = 1u << lane;
            w[0] |= x & 1 ? bit : 0;
            w[1] |= x % 64 == 0;
            w[2] &= x % 64 != 0;
            w[3] |= x % 5 == in[i] % 5 ? bit : 0;
            w[5] &= x >> (i / 64 % 2 ? 31 : 0) == first;
            if (in[i] % 3 == 0 && x % 3 == 0) {
                w[7] |= x & 2 ? bit : 0;
                w[8] |= x % 4 == in[i] % 4 ? bit : 0;
            }
        }
        w[4] = w[5] ? 0xffffffff : 0;
    }
    CHECK_INTEGERS("out", out, want, 9 * COUNT);
}

void kernel_shuffles(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 128 };
    load_kernel(k, "warps/votes", "shuffles");
    int32_t *in = add_buffer(k, COUNT * sizeof *in);
    int32_t *out = add_buffer(k, 6 * COUNT * sizeof *out), want[6 * COUNT];
    fill_s32(k, in, COUNT, 0, 1000000);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        const int32_t *warp = in + i / 32 * 32;
        int lane = i % 32;
        want[6 * i] = warp[in[i] & 31];
        want[6 * i + 1] = warp[lane / 8 * 8 + (lane + 3) % 8];
        want[6 * i + 2] = lane % 8 >= 2 ? warp[lane - 2] : in[i];
        want[6 * i + 3] = lane % 16 + 5 < 16 ? warp[lane + 5] : in[i];
        want[6 * i + 4] = warp[lane ^ 9];
        want[6 * i + 5] = lane < 20 ? warp[19 - lane] : -1;
    }
    CHECK_INTEGERS("out", out, want, 6 * COUNT);
}

void kernel_parts(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 128, RESULTS = 7 };
    load_kernel(k, "warps/votes", "parts");
    uint32_t *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, RESULTS * COUNT * sizeof *out), want[RESULTS * COUNT];
    fill_bytes(k, in, COUNT * sizeof *in);
    for (int i = 8; i < 16; i++)
        in[i] = 2 * in[i] | 1; /* all odd, so that these eight lanes agree */
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        const uint32_t *warp = in + i / 32 * 32;
        int lane = i % 32, first = lane & 24;
        uint32_t *w = want + RESULTS * i, fours = 0;
        memset(w, 0, RESULTS * sizeof *w);
        w[2] = 1;
        bool same = true;
        for (int j = first; j < first + 8; j++) {
            uint32_t x = warp[j], bit = 1u << j;
            w[0] |= x & 1 ? bit : 0;
            w[1] |= x % 16 == 0;
            w[2] &= x % 8 != 0;
            w[3] |= x % 3 == in[i] % 3 ? bit : 0;
            same = same && x % 2 == in[i] % 2;
        }
        w[4] = same ? (0xffu << first) + 1 : 0;
        w[5] = warp[first + (int)(in[i] % 8)];
        for (int j = 1; j < 32; j += 2)
            fours |= warp[j] & 4 ? 1u << j : 0;
        w[6] = lane % 2 ? warp[lane ^ 2] + fours : warp[lane ^ 4] * 3;
    }
    CHECK_INTEGERS("out", out, want, RESULTS * COUNT);
}

void kernel_meet(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 128 };
    load_kernel(k, "warps/votes", "meet");
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, 0, 1000);
    launch(k, 2, 64);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = i % 32 == 5 ? -1 : in[i / 32 * 32 + 5] * 3 + in[i] % 7;
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_left(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 45 };
    load_kernel(k, "warps/votes", "left");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, 1, 64);
    uint32_t want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        want[i] = in[i / 32 * 32 + 3];
        for (int j = i / 32 * 32; j < i / 32 * 32 + 32 && j < COUNT; j++)
            want[i] += in[j] & 1 ? 1u << j % 32 : 0;
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_coalesced(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 150, THREADS = 192 };
    load_kernel(k, "warps/coalesced", "coalesced");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in);
    int32_t *places = add_buffer(k, COUNT * sizeof *places), want[COUNT] = {0};
    int32_t *sums = add_buffer(k, THREADS / 8 * sizeof *sums), want_sums[THREADS / 8] = {0};
    fill_s32(k, in, COUNT, -10, 10);
    launch(k, 3, 64);
    for (int i = 0; i < COUNT; i++) {
        int leader = -1, rank = 0, size = 0;
        for (int j = i / 32 * 32; j < i / 32 * 32 + 32 && j < COUNT; j++) {
            if (in[j] <= 0)
                continue;
            leader = leader < 0 ? j : leader;
            rank += j < i;
            size++;
        }
        want[i] = in[i] > 0 ? (leader * 64 + rank) * 64 + size : 0;
    }
    for (int i = 0; i < THREADS / 8; i++) {
        for (int j = 8 * i; j < 8 * i + 8 && j < COUNT; j++)
            want_sums[i] += 2 * in[j];
        want_sums[i] += 8 * i + 8 > COUNT;
    }
    CHECK_INTEGERS("places", places, want, COUNT);
    CHECK_INTEGERS("sums", sums, want_sums, THREADS / 8);
}

void kernel_redux(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 128 };
    load_kernel(k, "warps/redux", "redux");
    uint32_t *in = add_buffer(k, COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, 9 * COUNT * sizeof *out), want[9 * COUNT];
    fill_bytes(k, in, COUNT * sizeof *in);
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        const uint32_t *warp = in + i / 32 * 32;
        uint32_t *w = want + 9 * i, min = warp[0], max = warp[0];
        int32_t low = (int32_t)warp[0], high = low;
        memset(w, 0, 9 * sizeof *w);
        w[3] = 0xffffffff;
        for (int lane = 0; lane < 32; lane++) {
            uint32_t x = warp[lane];
            min = x < min ? x : min;
            max = x > max ? x : max;
            low = (int32_t)x < low ? (int32_t)x : low;
            high = (int32_t)x > high ? (int32_t)x : high;
            w[0] += x;
            w[3] &= x | 0xff;
            w[4] |= x & 0xf0f;
            w[5] ^= x;
            w[8] += lane >= 12 && i % 32 >= 12 ? x : 0;
        }
        w[1] = min;
        w[2] = max;
        w[6] = (uint32_t)low;
        w[7] = (uint32_t)high;
    }
    CHECK_INTEGERS("out", out, want, 9 * COUNT);
}

void kernel_compact(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 230, BLOCK = 96, BLOCKS = 3 };
    load_kernel(k, "warps/compact", "compact");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in);
    int32_t *out = add_buffer(k, BLOCKS * BLOCK * sizeof *out), want[BLOCKS * BLOCK] = {0};
    int32_t *counts = add_buffer(k, BLOCKS * sizeof *counts), want_counts[BLOCKS] = {0};
    fill_s32(k, in, COUNT, 1, 1000);
    launch(k, BLOCKS, BLOCK);
    for (int i = 0; i < COUNT; i++)
        if (in[i] % 3 == 0)
            want[i / BLOCK * BLOCK + want_counts[i / BLOCK]++] = in[i];
    CHECK_INTEGERS("counts", counts, want_counts, BLOCKS);
    CHECK_INTEGERS("out", out, want, BLOCKS * BLOCK);
}

/* ---- barriers ---- */

void kernel_named_barriers(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 256 };
    load_kernel(k, "warps/barriers", "named_barriers");
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, -1000, 1000);
    launch(k, 2, 128);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i ^ 63];
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_producer(void **state)
{
    struct kernel *k = *state;
    enum { ROUNDS = 7, COUNT = ROUNDS * 32 };
    load_kernel(k, "warps/barriers", "producer");
    ADD_ARGUMENT(k, int32_t, ROUNDS);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, -1000, 1000);
    launch(k, 1, 64);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++)
        want[i] = in[i ^ 31] + i / 32;
    CHECK_INTEGERS("out", out, want, COUNT);
}

void kernel_barrier_votes(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 170, BLOCK = 64 };
    load_kernel(k, "warps/barriers", "barrier_votes");
    ADD_ARGUMENT(k, int32_t, COUNT);
    int32_t *in = add_buffer(k, COUNT * sizeof *in), *out = add_buffer(k, COUNT * sizeof *out);
    fill_s32(k, in, COUNT, 4, 90);
    in[10] = 3;    /* makes __syncthreads_and false in the first block */
    in[100] = 100; /* makes __syncthreads_or true in the second block */
    launch(k, 3, BLOCK);
    int32_t want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int count = 0, all = 1, any = 0;
        for (int j = i / BLOCK * BLOCK; j < i / BLOCK * BLOCK + BLOCK; j++) {
            int x = j < COUNT ? in[j] : 7;
            count += x % 2;
            all &= x != 3;
            any |= x == 100;
        }
        want[i] = count * 4 + all * 2 + any;
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}

/* ---- clusters ---- */

void kernel_cluster_sum(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 500, BLOCKS = 12 };
    load_kernel(k, "warps/clusters", "cluster_sum");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint32_t *in = add_buffer(k, BLOCKS * COUNT * sizeof *in);
    uint32_t *out = add_buffer(k, BLOCKS * 64 * sizeof *out), want[BLOCKS * 64] = {0};
    fill_bytes(k, in, BLOCKS * COUNT * sizeof *in);
    launch(k, BLOCKS, 64);
    for (int i = 0; i < BLOCKS * COUNT; i++)
        want[i / COUNT / 4 * 256 + (int)(in[i] % 256)]++;
    CHECK_INTEGERS("bins", out, want, BLOCKS * 64);
}

void kernel_cluster_ring(void **state)
{
    struct kernel *k = *state;
    enum { TURNS = 11, BLOCKS = 16, THREADS = 96 };
    load_kernel(k, "warps/clusters", "cluster_ring");
    ADD_ARGUMENT(k, int32_t, TURNS);
    int32_t *in = add_buffer(k, BLOCKS * THREADS * sizeof *in);
    int32_t *out = add_buffer(k, BLOCKS * THREADS * sizeof *out);
    uint32_t now[BLOCKS * THREADS], next[BLOCKS * THREADS], extra[BLOCKS * THREADS] = {0};
    fill_s32(k, in, BLOCKS * THREADS, -1000, 1000);
    launch(k, BLOCKS, THREADS);
    memcpy(now, in, sizeof now);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < BLOCKS * THREADS; i++) {
            uint32_t block = i / THREADS, to = block / 8 * 8 + (block + 1) % 8;
            next[to * THREADS + THREADS - 1 - i % THREADS] = now[i] * 3 + turn;
            for (uint32_t j = 0; j < i % THREADS % 7; j++)
                extra[i] = extra[i] * 5 + block % 8 + turn;
        }
        memcpy(now, next, sizeof now);
    }
    for (int i = 0; i < BLOCKS * THREADS; i++)
        now[i] ^= extra[i];
    CHECK_INTEGERS("out", out, (const int32_t *)now, BLOCKS * THREADS);
}

void kernel_cluster_cube(void **state)
{
    struct kernel *k = *state;
    enum { X = 4, Y = 2, Z = 6 };
    load_kernel(k, "warps/clusters", "cluster_cube");
    uint32_t *out = add_buffer(k, X * Y * Z * 8 * sizeof *out), want[X * Y * Z * 8];
    launch_3d(k, (uint32_t[3]){X, Y, Z}, (uint32_t[3]){32, 1, 1}, 0);
    for (uint32_t i = 0; i < X * Y * Z * 8; i++) {
        uint32_t rank = i % 8, x = i / 8 % X, y = i / 8 / X % Y, z = i / 8 / X / Y;
        uint32_t own = x % 2 + 2 * (y % 2) + 4 * (z % 2);
        want[i] = (x / 2 * 2 + rank % 2) + 10 * (y / 2 * 2 + rank / 2 % 2) +
                  100 * (z / 2 * 2 + rank / 4) + 1000 * rank + 10000 * own + 200000;
    }
    CHECK_INTEGERS("out", out, want, X * Y * Z * 8);
}
