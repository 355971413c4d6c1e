/* The trap of Mei and Chu (2017, 4.1, Fig. 4 and 5): two classical methods, both by average
 * latency, on the texture cache of a GTX 780, which has 4 sets of 96 lines of 32 bytes chosen by
 * the bits 7 and 8 of the address. They contradict each other, and neither is right; looking at
 * single loads is.
 *
 *   against the stride (Saavedra 1992): the latency stops rising at the line, and falls again where
 *       so few elements are left that they fit: N / s of them, taken for the ways of a set
 *   against the size (Wong 2010): beyond the size the latency rises in as many steps as there are
 *       sets, each as wide as a line
 *
 * The paper reads a fall at a stride of 2 KiB from its Fig. 4 (a = 24, T = 16). A cache of the very
 * structure that it finds in the end falls at 128 bytes already, where 384 elements fill its four
 * sets exactly, as the simulated one does: the method then says one set of 384 ways. Fig. 5 comes
 * out as printed. */
#include "check.h"
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KIB = 1024, SIZE = 12 * KIB };

static struct fth_device *open_kepler(void)
{
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("sim:gtx780", NULL, &device, NULL), FTH_OK);
    return device;
}

/* Cycles a load of repeated passes over so many bytes, as both methods measure. */
static double average(struct fth_device *device, uint64_t bytes, uint64_t stride)
{
    const struct fth_prober prober = {.device = device, .sms = 1};
    struct fth_chain chain = {.stride_bytes = stride, .count = bytes / stride};
    struct fth_request request = fth_request_make(0);
    struct fth_answers answers = {0};
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_TEXTURE, chain, 2);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_TEXTURE, chain, 1);
    assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
    double cycles = (double)answers.items[0].cycles[0] / (double)chain.count;
    fth_answers_fini(&answers);
    return cycles;
}

struct structure {
    uint64_t line, sets, ways;
};

/* N = 48 KiB, strides that double. */
static struct structure by_stride(struct fth_device *device, FILE *plot)
{
    enum { STRIDES = 11 };
    const uint64_t bytes = (uint64_t)48 * KIB;
    double cycles[STRIDES], max = 0;
    uint64_t line = 0, fall = 0;
    for (unsigned i = 0; i < STRIDES; i++) {
        cycles[i] = average(device, bytes, (uint64_t)4 << i);
        max = fmax(max, cycles[i]);
        fprintf(plot, "# stride %5llu %6.1f cycles\n", 4ull << i, cycles[i]);
    }
    for (unsigned i = 0; i < STRIDES; i++) {
        uint64_t stride = (uint64_t)4 << i;
        if (!line && cycles[i] > 0.98 * max)
            line = stride;
        if (line && !fall && cycles[i] < 0.7 * max)
            fall = stride;
    }
    assert_true(line && fall);
    uint64_t ways = bytes / fall;
    return (struct structure){line, SIZE / (ways * line), ways};
}

/* s = 8 bytes, sizes from 12 KiB on. */
static struct structure by_size(struct fth_device *device, FILE *plot)
{
    enum { STEP = 16, SIZES = 48 };
    double cycles[SIZES];
    uint64_t rises = 0, first = 0, last = 0;
    for (unsigned i = 0; i < SIZES; i++)
        cycles[i] = average(device, SIZE + (uint64_t)i * STEP, 8);
    for (unsigned i = 1; i < SIZES; i++) {
        double rise = (cycles[i] - cycles[i - 1]) / (cycles[SIZES - 1] - cycles[0]);
        if (rise < 0.1)
            continue;
        fprintf(plot, "# size 12 KiB + %3u: up to %.1f cycles\n", i * STEP, cycles[i]);
        first = rises ? first : i;
        last = i;
        rises++;
    }
    assert_true(rises > 1);
    uint64_t line = (last - first) * STEP / (rises - 1);
    return (struct structure){line, rises, SIZE / (line * rises)};
}

static void trap(void **state)
{
    (void)state;
    struct fth_device *device = open_kepler();
    struct structure stride = by_stride(device, stdout), size = by_size(device, stdout);
    assert_int_equal(stride.line, 32);
    assert_int_equal(stride.ways, 384);
    assert_int_equal(stride.sets, 1);
    assert_int_equal(size.line, 128);
    assert_int_equal(size.sets, 4);
    assert_int_equal(size.ways, 24);

    struct fth_gpu *gpu = NULL;
    const struct fth_dissect_options options = {.only = "texture"};
    assert_int_equal(fth_dissect(device, &options, &gpu, NULL), FTH_OK);
    assert_int_equal(fth_gpu_number(gpu, "texture", "size_bytes", 0), SIZE);
    assert_int_equal(fth_gpu_number(gpu, "texture", "line_bytes", 0), 32);
    assert_int_equal(fth_gpu_number(gpu, "texture", "sets", 0), 4);
    assert_int_equal(fth_gpu_number(gpu, "texture", "ways", 0), 96);
    assert_string_equal(fth_gpu_text(gpu, "texture", "index"), "bits:[7,8]");
    assert_string_equal(fth_gpu_text(gpu, "texture", "policy"), "lru");
    fth_gpu_destroy(gpu);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
