/* Shows why fathom times single loads. Two classical methods use the average latency. Mei and Chu
 * (2017, Section 4.1, Fig. 4 and 5) apply them to the texture cache of a GTX 780 and get
 * contradictory and wrong structures. This test applies both methods and fth_dissect() to the
 * simulated cache. The truth is its description: 4 sets with 96 lines of 32 bytes each; bits 7 and
 * 8 of the address select the set.
 *
 *   Latency against stride (Saavedra 1992): the latency stops rising when the stride reaches the
 *       line size. It falls when so few elements are left that they fit. At this stride s, the
 *       method takes the number of elements N / s for the ways of a set.
 *   Latency against size (Wong 2010): for arrays larger than the cache, the latency rises in steps.
 *       The method takes their number for the number of sets and their width for the line size.
 *
 * In Fig. 4, the paper reads the fall at a stride of 2 KiB and derives 24 ways and 16 sets. In the
 * simulated cache, which has the structure that the paper finds in the end, the latency already
 * falls at 128 bytes, where 384 elements fill the four sets exactly. The method then gives one set
 * of 384 ways. Fig. 5 is reproduced as printed. */
#include "check.h"
#include "probe/cache/probe_cache.h"

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

/* Returns the average latency, in cycles, of the loads of a pass over `bytes` bytes, after two
 * passes of warm-up. */
static double average_cycles(struct fth_device *device, uint64_t bytes, uint64_t stride)
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

/* Latency against stride: N = 48 KiB, strides of 4 bytes to 4 KiB. */
static struct structure by_stride(struct fth_device *device, FILE *log_file)
{
    enum { STRIDES = 11 };
    const uint64_t bytes = (uint64_t)48 * KIB;
    double cycles[STRIDES], max_cycles = 0;
    uint64_t line = 0, fall = 0;
    for (unsigned i = 0; i < STRIDES; i++) {
        cycles[i] = average_cycles(device, bytes, (uint64_t)4 << i);
        max_cycles = fmax(max_cycles, cycles[i]);
        fprintf(log_file, "# stride %5llu: %6.1f cycles\n", 4ull << i, cycles[i]);
    }
    for (unsigned i = 0; i < STRIDES; i++) {
        uint64_t stride = (uint64_t)4 << i;
        if (!line && cycles[i] > 0.98 * max_cycles)
            line = stride;
        if (line && !fall && cycles[i] < 0.7 * max_cycles)
            fall = stride;
    }
    assert_true(line && fall);
    uint64_t ways = bytes / fall;
    return (struct structure){line, SIZE / (ways * line), ways};
}

/* Latency against size: s = 8 bytes, sizes from 12 KiB on. */
static struct structure by_size(struct fth_device *device, FILE *log_file)
{
    enum { STEP = 16, SIZES = 48 };
    double cycles[SIZES];
    uint64_t rises = 0, first = 0, last = 0;
    for (unsigned i = 0; i < SIZES; i++)
        cycles[i] = average_cycles(device, SIZE + (uint64_t)i * STEP, 8);
    for (unsigned i = 1; i < SIZES; i++) {
        double rise = (cycles[i] - cycles[i - 1]) / (cycles[SIZES - 1] - cycles[0]);
        if (rise < 0.1)
            continue;
        fprintf(log_file, "# size 12 KiB + %3u bytes: rises to %.1f cycles\n", i * STEP, cycles[i]);
        first = rises ? first : i;
        last = i;
        rises++;
    }
    assert_true(rises > 1);
    uint64_t line = (last - first) * STEP / (rises - 1);
    return (struct structure){line, rises, SIZE / (line * rises)};
}

static void only_single_loads_give_the_structure(void **state)
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
    const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.only = "texture");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_single_loads_give_the_structure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
