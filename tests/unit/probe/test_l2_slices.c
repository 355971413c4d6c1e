/* Tests the slices of the L2, from the request (device/family/family_contend.c) through the
 * simulated GPU (device/sim/memory/sim_slices.c) to the probe (probe/l2/l2_slices.c,
 * probe/l2/slice_hash.c). The probe measures simulated GPUs, whose descriptions are the truth;
 * requests also run on the stand-in for NVIDIA's driver (tests/standin), which the loader finds
 * through LD_LIBRARY_PATH. */
#include "check.h"
#include "described_device.h"
#include "device/family/family.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_BYTES = FTH_CONTEND_PAGE_BYTES, LINE_BYTES = 128 };

/* ---- requests ---- */

static struct fth_request make_contend(uint32_t sm, uint32_t target)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_CONTEND;
    request.sm = sm;
    request.contend = (struct fth_contend){.target_bytes = target,
                                           .rival_count = 2,
                                           .rivals = {0, 2},
                                           .range_count = 1,
                                           .ranges = {{0, LINE_BYTES, 8}}};
    return request;
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    struct fth_request valid = make_contend(3, PAGE_BYTES - LINE_BYTES);
    valid.contend.ranges[0] = (struct fth_contend_range){4, 512, FTH_CONTEND_MAX_LINES};
    assert_int_equal(fth_request_check(&valid, NULL), FTH_OK);
    assert_int_equal(fth_request_samples(&valid), FTH_CONTEND_MAX_LINES + 2);
    struct fth_request faults[15];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = make_contend(3, 0);
    faults[0].contend.target_bytes = 64;
    faults[1].contend.target_bytes = PAGE_BYTES;
    faults[2].contend.rival_count = FTH_CONTEND_MAX_RIVALS + 1;
    faults[3].contend.rivals[1] = 3;
    faults[4].contend.rivals[1] = 0;
    faults[5].sm = FTH_ANY_SM;
    faults[6].contend.range_count = 0;
    faults[7].contend.range_count = FTH_CONTEND_MAX_RANGES + 1;
    faults[8].contend.ranges[0].count = 0;
    faults[9].contend.ranges[0].stride_bytes = 130;
    faults[10].contend.ranges[0].start_bytes = PAGE_BYTES - 7 * LINE_BYTES;
    faults[11].contend.range_count = 2;
    faults[11].contend.ranges[1] = (struct fth_contend_range){0, 4, FTH_CONTEND_MAX_LINES};
    faults[12].cold = true;
    faults[13].carveout_percent = 101;
    faults[14].contend.ranges[0].count = FTH_CONTEND_MAX_LINES + 1;
    static const char *const members[FTH_COUNT(faults)] = {"contend.target_bytes",
                                                           "contend.target_bytes",
                                                           "contend.rival_count",
                                                           "contend.rivals",
                                                           "contend.rivals",
                                                           "sm",
                                                           "contend.range_count",
                                                           "contend.range_count",
                                                           "contend.ranges.count",
                                                           "contend.ranges.stride_bytes",
                                                           "contend.ranges.stride_bytes",
                                                           "contend.ranges",
                                                           "cold",
                                                           "carveout_percent",
                                                           "contend.ranges.count"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&faults[i], &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
    }
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request requests[2] = {make_contend(5, 4096), make_contend(1, 0)};
    requests[0].contend.range_count = 2;
    requests[0].contend.ranges[1] = (struct fth_contend_range){1024, 2176, 128};
    requests[1].contend.rival_count = 0;
    memset(requests[1].contend.rivals, 0, sizeof requests[1].contend.rivals);
    static const char *const texts[] = {"contend 4096 by 0,2 lines 0:128x8,1024:2176x128; sm 5",
                                        "contend 0 lines 0:128x8; sm 1"};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        struct fth_buffer text = {0};
        struct fth_request again;
        fth_request_write(&requests[i], &text);
        assert_string_equal(text.data, texts[i]);
        assert_int_equal(fth_request_read(text.data, text.size, &again, NULL), FTH_OK);
        assert_memory_equal(&again.contend, &requests[i].contend, sizeof again.contend);
        fth_buffer_fini(&text);
    }
    static const char *const wrong[] = {"contend 0 by lines 0:128x8; sm 1", "contend 0; sm 1",
                                        "contend 0 lines 0:128; sm 1",
                                        "contend 0 lines 0:4x1,0:4x1,0:4x1,0:4x1,0:4x1; sm 1"};
    struct fth_request request;
    for (size_t i = 0; i < FTH_COUNT(wrong); i++)
        assert_int_equal(fth_request_read(wrong[i], strlen(wrong[i]), &request, NULL), FTH_INVALID);
}

/* ---- the hash ---- */

/* Masks with a basis of `count` vectors above the granularity, and the number of slices. */
struct hash_truth {
    uint64_t masks[8], granularity;
    size_t count, slices;
};

static struct hash_truth random_hash(struct fth_rng *rng, size_t slices)
{
    struct hash_truth truth = {.slices = slices,
                               .granularity = (uint64_t)LINE_BYTES << fth_rng_below(rng, 2)};
    struct fth_gf2 space = {0};
    while ((size_t)1 << truth.count < slices)
        truth.count++;
    /* A number of slices that is no power of two is a function of a few more parities. */
    truth.count += slices & (slices - 1) ? 2 : 0;
    for (size_t i = 0; i < truth.count; i++) {
        uint64_t mask;
        do /* The lowest bit must select a slice, so that the granularity is not larger. */
            mask = fth_rng_below(rng, PAGE_BYTES / truth.granularity) * truth.granularity |
                   (i == 0 ? truth.granularity : 0);
        while (!fth_gf2_add(&space, mask));
        truth.masks[i] = mask;
    }
    return truth;
}

static uint32_t slice_of(const struct hash_truth *truth, uint64_t address)
{
    uint32_t number = 0;
    for (size_t i = 0; i < truth->count; i++)
        number |= (uint32_t)__builtin_parityll(address & truth->masks[i]) << i;
    return number % (uint32_t)truth->slices;
}

/* Whether both masks have the same space. */
static bool same_space(const struct hash_truth *truth, const struct fth_slice_hash *hash)
{
    struct fth_gf2 a = {0}, b = {0};
    for (size_t i = 0; i < truth->count; i++)
        fth_gf2_add(&a, truth->masks[i]);
    for (size_t i = 0; i < hash->mask_count; i++)
        fth_gf2_add(&b, hash->masks[i]);
    return fth_gf2_equal(&a, &b);
}

enum { HASH_LINES = 768 };

/* Finds the hash from 256 consecutive lines and from lines all over the page, of which the first
 * `wrong` are in the wrong slice. */
static enum fth_status find_hash(const struct hash_truth *truth, size_t wrong,
                                 struct fth_slice_hash *hash)
{
    static uint64_t offsets[HASH_LINES];
    static uint32_t slices[HASH_LINES];
    for (size_t i = 0; i < HASH_LINES; i++) {
        offsets[i] = (i < 256 ? i : 256 + (i - 256) * 31) * LINE_BYTES;
        slices[i] = (slice_of(truth, offsets[i]) + (i % 97 < wrong)) % (uint32_t)truth->slices;
    }
    return fth_find_slice_hash(&(struct fth_sliced_lines){.offsets = offsets,
                                                          .slices = slices,
                                                          .count = HASH_LINES,
                                                          .slice_count = truth->slices,
                                                          .line_bytes = LINE_BYTES,
                                                          .page_bytes = PAGE_BYTES},
                               hash, NULL);
}

static void parities_that_determine_the_slice_are_found(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 40, 47, 48, 64};
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    for (size_t i = 0; i < 8 * FTH_COUNT(counts); i++) {
        const struct hash_truth truth = random_hash(&rng, counts[i % FTH_COUNT(counts)]);
        struct fth_slice_hash hash;
        assert_int_equal(find_hash(&truth, 0, &hash), FTH_OK);
        assert_int_equal(hash.slice_bytes, truth.granularity);
        assert_true(same_space(&truth, &hash));
        assert_true(hash.linear == ((truth.slices & (truth.slices - 1)) == 0));
        /* Lines with the same parities are in the same slice. */
        for (uint64_t at = 0; at < PAGE_BYTES; at += 4224)
            if (fth_slice_parities(&hash, at) == fth_slice_parities(&hash, 0))
                assert_int_equal(slice_of(&truth, at), slice_of(&truth, 0));
    }
}

/* Differences that leave all lines of a block in their slice, but not all lines of the page: the
 * masks are right, or there is a doubt. All but the last row were wrong when the difference with
 * the most pairs was always taken for a vector of the kernel. */
static void lines_of_one_block_do_not_mislead(void **state)
{
    (void)state;
    static const struct {
        size_t slices;
        uint64_t seed;
    } rows[] = {{3, 2301},   {3, 7501}, {5, 2403},  {6, 104}, {6, 3504},
                {10, 13506}, {24, 909}, {48, 7712}, {5, 2903}};
    size_t right = 0;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_rng rng;
        struct fth_slice_hash hash;
        fth_rng_init(&rng, rows[i].seed);
        const struct hash_truth truth = random_hash(&rng, rows[i].slices);
        assert_int_equal(find_hash(&truth, 0, &hash), FTH_OK);
        const bool same = same_space(&truth, &hash);
        assert_true(same || hash.doubtful);
        right += same;
    }
    assert_int_equal(right, FTH_COUNT(rows) - 1);
}

/* One line in a hundred is in the wrong slice: the result is right or unknown. */
static void a_few_wrong_lines_do_not_mislead(void **state)
{
    (void)state;
    struct fth_rng rng;
    unsigned right = 0;
    fth_rng_init(&rng, 4);
    for (size_t i = 0; i < 40; i++) {
        const struct hash_truth truth = random_hash(&rng, (size_t)2 << i % 4);
        struct fth_slice_hash hash;
        const enum fth_status status = find_hash(&truth, 1, &hash);
        assert_true(status == FTH_INCONCLUSIVE || same_space(&truth, &hash));
        right += status == FTH_OK;
    }
    assert_true(right >= 36);
}

static void hashes_need_enough_lines(void **state)
{
    (void)state;
    static const uint64_t offsets[] = {0, 128, 256, 384};
    static const uint32_t slices[] = {0, 1, 0, 1};
    struct fth_slice_hash hash;
    struct fth_error error = NO_ERROR;
    struct fth_sliced_lines lines = {.offsets = offsets,
                                     .slices = slices,
                                     .count = 4,
                                     .slice_count = 2,
                                     .line_bytes = LINE_BYTES,
                                     .page_bytes = PAGE_BYTES};
    assert_int_equal(fth_find_slice_hash(&lines, &hash, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "there are too few pairs of lines");
    assert_int_equal(hash.slice_bytes, LINE_BYTES);
    lines.line_bytes = 96;
    assert_int_equal(fth_find_slice_hash(&lines, &hash, NULL), FTH_INCONCLUSIVE);
}

/* ---- simulated GPUs ---- */

/* A description with slices. */
struct truth {
    uint32_t sms, partitions, groups;
    struct hash_truth hash;
    const char *noise;
    double cycles[512]; /* [groups][slices] */
};

static void write_list(struct fth_buffer *text, const char *name, const double *values,
                       size_t count)
{
    fth_buffer_format(text, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(text, "%s%.1f", i ? "," : "", values[i]);
    fth_buffer_text(text, "]");
}

static uint32_t group_of(const struct truth *truth, uint32_t sm)
{
    return sm % truth->groups;
}

static void write_slices(const struct truth *truth, struct fth_buffer *text)
{
    double numbers[64];
    fth_buffer_format(text, ", \"slices\": %zu, \"slice_bytes\": %llu",
                      truth->partitions * truth->hash.slices,
                      (unsigned long long)truth->hash.granularity);
    for (size_t i = 0; i < truth->hash.count; i++)
        numbers[i] = (double)truth->hash.masks[i];
    write_list(text, "slice_masks", numbers, truth->hash.count);
    for (uint32_t i = 0; i < truth->sms; i++)
        numbers[i] = group_of(truth, i);
    write_list(text, "slice_group_by_sm", numbers, truth->sms);
    write_list(text, "slice_latency_cycles", truth->cycles, truth->groups * truth->hash.slices);
}

static struct fth_gpu *make_gpu(const struct truth *truth, bool slices)
{
    struct fth_buffer text = {0};
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    fth_buffer_format(&text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": "
                      "%u, \"clock_mhz\": 1500, \"compute_capability\": \"9.0\"}, \"noise\": {%s}, "
                      "\"elements\": {\"l2\": {\"size_bytes\": 8388608, \"line_bytes\": 128, "
                      "\"sector_bytes\": 32, \"latency_cycles\": 250, \"far_latency_cycles\": 400, "
                      "\"partitions\": %u",
                      truth->sms, truth->noise, truth->partitions);
    if (slices)
        write_slices(truth, &text);
    fth_buffer_text(&text,
                    "}, \"memory\": {\"size_bytes\": 1073741824, \"latency_cycles\": 600}}}");
    if (fth_gpu_read_text("test.json", text.data, text.size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text.data);
    fth_buffer_fini(&text);
    return gpu;
}

static struct fth_device *open_gpu(const struct truth *truth, bool slices)
{
    struct fth_gpu *gpu = make_gpu(truth, slices);
    struct fth_device *device = open_described(gpu);
    fth_gpu_destroy(gpu);
    return device;
}

static struct truth random_truth(struct fth_rng *rng, uint32_t partitions, size_t slices,
                                 const char *noise)
{
    struct truth truth = {.sms = 12,
                          .partitions = partitions,
                          .groups = 2 * partitions,
                          .hash = random_hash(rng, slices),
                          .noise = noise};
    for (size_t i = 0; i < truth.groups * slices; i++)
        truth.cycles[i] = 225 + (double)fth_rng_below(rng, 50);
    return truth;
}

/* SMs wait for each slice as long as the description says, and reads of one slice wait for each
 * other. */
static void slices_have_latencies_and_a_bandwidth(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 9);
    const struct truth truth = random_truth(&rng, 2, 6, "");
    struct fth_gpu *gpu = make_gpu(&truth, true);
    struct fth_sim_plan plan;
    struct fth_sim_slice_load load;
    assert_int_equal(fth_sim_plan_init(&plan, gpu, NULL), FTH_OK);
    assert_int_equal(plan.slices.count, 6);
    for (uint64_t at = 0; at < PAGE_BYTES; at += 1152)
        for (uint32_t sm = 0; sm < truth.sms; sm += 5) {
            const uint32_t slice = slice_of(&truth.hash, at);
            assert_int_equal(fth_sim_slice_of(&plan.slices, at), slice);
            assert_int_equal(
                fth_sim_slice_extra(&plan.slices, sm, at),
                llround(1000 * (truth.cycles[group_of(&truth, sm) * 6 + slice] - 250)));
        }
    assert_int_equal(fth_sim_slice_load_init(&load, &plan, NULL), FTH_OK);
    /* 200 lines take 400 cycles of the slice. */
    for (size_t i = 0; i < 200; i++)
        fth_sim_slice_wait(&load, 1, 0, 128, 0);
    assert_int_equal(fth_sim_slice_wait(&load, 1, 0, 0, 0), 400 * FTH_SIM_CYCLE);
    assert_int_equal(fth_sim_slice_wait(&load, 1, 0, 0, (int64_t)356 * FTH_SIM_CYCLE),
                     44 * FTH_SIM_CYCLE);
    assert_int_equal(fth_sim_slice_wait(&load, 1, 0, 0, (int64_t)600 * FTH_SIM_CYCLE), 0);
    assert_int_equal(fth_sim_slice_wait(&load, 0, 0, 0, 0), 0);
    uint64_t other = 0;
    while (slice_of(&truth.hash, other) == slice_of(&truth.hash, 0))
        other += LINE_BYTES;
    assert_int_equal(fth_sim_slice_wait(&load, 1, other, 0, 0), 0);
    fth_sim_slice_load_fini(&load);
    fth_sim_plan_fini(&plan);
    fth_gpu_destroy(gpu);
}

static void sides_of(const struct truth *truth, double *sides)
{
    for (uint32_t i = 0; i < truth->sms; i++)
        sides[i] = i % truth->partitions;
}

static enum fth_status probe(const struct truth *truth, bool slices, struct fth_slices *found,
                             struct fth_error *error)
{
    struct fth_device *device = open_gpu(truth, slices);
    const struct fth_prober prober = {.device = device, .sms = truth->sms};
    double sides[64];
    sides_of(truth, sides);
    const enum fth_status status =
        fth_probe_slices(&prober,
                         &(struct fth_slice_plan){.line_bytes = LINE_BYTES,
                                                  .latency_cycles = 250,
                                                  .partitions = truth->partitions,
                                                  .partition_by_sm = sides},
                         found, error);
    fth_device_close(device);
    return status;
}

/* Compares latencies, except for what they have in common: the probe takes their average from its
 * plan. The slices of a hash that is not linear have numbers of their own. */
static void check_map(const struct truth *truth, const struct fth_slices *found)
{
    const size_t slices = truth->hash.slices;
    uint32_t numbers[64], used = 0;
    memset(numbers, 0xff, sizeof numbers);
    for (uint64_t at = 0; used < slices; at += LINE_BYTES) {
        uint32_t *number = &numbers[slice_of(&truth->hash, at)];
        if (*number == UINT32_MAX) {
            *number = found->hash.linear ? fth_slice_parities(&found->hash, at) : used;
            used++;
        }
    }
    const double common =
        found->cycles[found->sms.groups[0] * slices + numbers[0]] - truth->cycles[0];
    for (uint32_t sm = 0; sm < truth->sms; sm++)
        for (size_t i = 0; i < slices; i++) {
            const double cycles = found->cycles[found->sms.groups[sm] * slices + numbers[i]];
            const double expected = truth->cycles[group_of(truth, sm) * slices + i];
            assert_true(fabs(cycles - expected - common) <= 2);
        }
}

/* Random slices, hashes and latencies, with and without noise, are found again, or unknown. */
static void finds_random_slices(void **state)
{
    (void)state;
    static const struct {
        uint32_t partitions;
        size_t slices;
        const char *noise;
    } cases[] = {
        {1, 4, ""},
        {2, 3, ""},
        {1, 5, "\"jitter_cycles\": 2, \"seed\": 5"},
        {1, 2, "\"jitter_cycles\": 1, \"seed\": 8, \"outlier_rate\": 0.003"},
    };
    struct fth_rng rng;
    unsigned right = 0;
    fth_rng_init(&rng, 7);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct truth truth =
            random_truth(&rng, cases[i].partitions, cases[i].slices, cases[i].noise);
        struct fth_slices found;
        struct fth_error error = NO_ERROR;
        const enum fth_status status = probe(&truth, true, &found, &error);
        if (status == FTH_INCONCLUSIVE) {
            print_message("# case %zu: %s\n", i, error.cause);
            continue;
        }
        assert_int_equal(status, FTH_OK);
        assert_int_equal(found.slices, truth.partitions * truth.hash.slices);
        assert_int_equal(found.per_partition, truth.hash.slices);
        assert_int_equal(found.hash.slice_bytes, truth.hash.granularity);
        assert_true(!found.has_hash || same_space(&truth.hash, &found.hash));
        assert_true(fth_confidence(found.evidence) > 0.5);
        check_map(&truth, &found);
        right += found.has_hash;
        fth_slices_fini(&found);
    }
    assert_true(right + 1 >= FTH_COUNT(cases));
}

static void a_gpu_without_slices_has_unknown_ones(void **state)
{
    (void)state;
    const struct truth truth = {.sms = 6, .partitions = 1, .noise = "\"jitter_cycles\": 2"};
    struct fth_slices found;
    struct fth_error error = NO_ERROR;
    assert_int_equal(probe(&truth, false, &found, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause,
                        "reads of a line by several SMs do not delay other reads of it");
    assert_null(found.cycles);
    const struct truth alone = {.sms = 1, .partitions = 1, .noise = ""};
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(probe(&alone, false, &found, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "each partition needs");
}

/* The driver's stand-in executes the same requests. */
static void the_driver_executes_requests(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    struct fth_request requests[2] = {make_contend(1, 0), make_contend(1, 128)};
    struct fth_samples samples[2] = {0};
    requests[0].contend.rival_count = requests[1].contend.rival_count = 1;
    assert_int_equal(fth_device_measure(device, requests, 2, samples, NULL), FTH_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(samples[i].status, FTH_OK);
        assert_int_equal(samples[i].count, 10);
        for (size_t j = 0; j < 10; j++)
            assert_true(samples[i].cycles[j] > 0);
        fth_samples_fini(&samples[i]);
    }
    requests[0].sm = 100000;
    assert_int_equal(fth_device_measure(device, requests, 1, samples, NULL), FTH_OK);
    assert_int_equal(samples[0].status, FTH_NOT_FOUND);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(parities_that_determine_the_slice_are_found),
        cmocka_unit_test(lines_of_one_block_do_not_mislead),
        cmocka_unit_test(a_few_wrong_lines_do_not_mislead),
        cmocka_unit_test(hashes_need_enough_lines),
        cmocka_unit_test(slices_have_latencies_and_a_bandwidth),
        cmocka_unit_test(finds_random_slices),
        cmocka_unit_test(a_gpu_without_slices_has_unknown_ones),
        cmocka_unit_test(the_driver_executes_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
