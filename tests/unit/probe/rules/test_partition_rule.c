/* The rule that counts the partitions of the L2, and the one that finds the onset of evictions
 * (src/probe/l2/l2_geometry.c and l2_outcomes.c), from constructed latencies of lines. */
#include "probe/l2/probe_l2.h"
#include "scripted.h"

enum {
    SIZE_BYTES = 8 << 20,
    LINE_BYTES = 128,
    FILL_BYTES = 64,
    SECTOR_BYTES = 32,
    /* Cycles of a timed hop. */
    NEAR = 300,
    FAR = 480,
    MEMORY = 700
};

/* Where lines are found after a touch. Fractions are of the tracked lines. */
struct truth {
    double far;     /* found far after touches of 0.6 to 0.9 of the size */
    double slow;    /* found far although they were loaded just before */
    double early;   /* in memory after the smallest footprint */
    double lost;    /* in memory after a touch of 0.45 of the size */
    double beyond;  /* the same after touches of 0.6 to 0.9 of the size */
    unsigned kept;  /* the first touches of 0.45 of the size that evict nothing */
    unsigned noise; /* cycles */
    unsigned touches;
};

/* Returns the cycles of hop `i` of `count`, of which the fraction `far` is far and `memory` in
 * memory. */
static uint32_t hop(struct scripted *scripted, uint64_t i, uint64_t count, double far,
                    double memory)
{
    const struct truth *truth = scripted->truth;
    const double place = ((double)(i * 7 % count) + 0.5) / (double)count;
    const int cycles = place < memory ? MEMORY : place < memory + far ? FAR : NEAR;
    return (uint32_t)(cycles + noise_of(scripted, truth->noise));
}

/* Times the tracked lines after a touch of `bytes` with a stride. */
static void time_tracked(struct scripted *scripted, const struct fth_step *step, double bytes,
                         uint64_t stride, uint32_t *samples)
{
    struct truth *truth = scripted->truth;
    const double part = bytes / SIZE_BYTES;
    /* A touch with twice the stride of a line fills half as many lines. */
    const double filled = stride > LINE_BYTES ? part * LINE_BYTES / (double)stride : part;
    double far = 0, memory = 0;
    if (bytes == 0)
        far = truth->slow;
    else if (filled > 1)
        memory = 1;
    else if (part > 0.52) {
        far = truth->far;
        memory = truth->beyond;
    } else if (part > 0.37)
        memory = truth->touches++ < truth->kept ? 0 : truth->lost;
    else
        memory = truth->early;
    for (uint64_t i = 0; i < step->chain.count; i++)
        samples[i] = hop(scripted, i, step->chain.count, far, memory);
}

static void execute(struct scripted *scripted, const struct fth_request *request, size_t index,
                    uint32_t *samples)
{
    const struct fth_chase *chase = &request->chase;
    const struct fth_step *step = &chase->steps[index];
    if (step->kind != FTH_STEP_TIME_HOPS)
        return;
    if (request->cold) { /* the first walk: memory returns FILL_BYTES for each miss */
        for (uint64_t i = 0; i < step->chain.count; i++)
            samples[i] = i * step->chain.stride_bytes % FILL_BYTES ? NEAR : MEMORY;
        return;
    }
    if (step->chain.array == 2) { /* lines of which 16 bytes per step were written */
        const bool whole = chase->step_count * 16 >= SECTOR_BYTES;
        for (uint64_t i = 0; i < step->chain.count; i++)
            samples[i] = whole ? NEAR : MEMORY;
        return;
    }
    double bytes = 0;
    uint64_t stride = LINE_BYTES;
    for (size_t k = 0; k < index; k++)
        if (chase->steps[k].kind == FTH_STEP_TOUCH) {
            stride = chase->steps[k].chain.stride_bytes;
            bytes = (double)(chase->steps[k].chain.count * stride);
        }
    time_tracked(scripted, step, bytes, stride, samples);
}

static struct fth_l2_found probe(const struct truth *truth)
{
    struct truth copy = *truth;
    struct scripted scripted = {.execute = execute, .truth = &copy};
    struct fth_device device = scripted_device(&scripted, 5);
    const struct fth_prober prober = {.device = &device, .sms = 1};
    const struct fth_figure memory = {.value = MEMORY, .low = MEMORY - 50, .high = MEMORY + 50};
    const struct fth_l2_plan plan = {.size_bytes = SIZE_BYTES,
                                     .max_bytes = UINT64_C(1) << 30,
                                     .l2_cycles = NEAR,
                                     .memory = &memory};
    struct fth_l2_found found;
    struct fth_error error = NO_ERROR;
    if (fth_probe_l2(&prober, &plan, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(found.fill.value, FILL_BYTES);
    assert_int_equal(found.line.value, LINE_BYTES);
    assert_int_equal(found.sector.value, SECTOR_BYTES);
    return found;
}

static void far_lines_show_the_partitions(void **state)
{
    (void)state;
    static const struct {
        struct truth truth;
        uint64_t partitions; /* 0: unknown */
        double low, high;    /* the confidence is in this range */
    } rows[] = {
        {{.far = 0}, 1, 0.99, 1},
        {{.far = 0, .noise = 3}, 1, 0.99, 1},
        {{.far = 0.02}, 1, 0.99, 1},            /* stray slow loads */
        {{.far = 0.035}, 1, 0.2, 0.9},          /* nearly too many */
        {{.far = 0.5}, 2, 0.99, 1},             /* LRU */
        {{.far = 0.2, .noise = 3}, 2, 0.99, 1}, /* random replacement */
        {{.far = 0.105}, 2, 0.4, 0.99},
        {{.far = 0.07}, 0, 0, 0},             /* too many for noise, too few for two */
        {{.far = 0.75}, 0, 0, 0},             /* more than two partitions */
        {{.far = 0.3, .slow = 0.2}, 0, 0, 0}, /* a part of one partition is slower */
        {{.far = 0, .early = 0.6}, 0, 0, 0},  /* the lines do not even stay for a while */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_l2_found found = probe(&rows[i].truth);
        const double confidence =
            found.partitions.value ? fth_confidence(found.partitions.evidence) : 0;
        if (found.partitions.value != rows[i].partitions || confidence < rows[i].low ||
            confidence > rows[i].high)
            fail_msg("row %zu: %llu partitions, confidence %g", i,
                     (unsigned long long)found.partitions.value, confidence);
        if (rows[i].partitions == 2)
            assert_true(found.far_latency.value > FAR - 3 && found.far_latency.value < FAR + 3);
    }
}

/* A touch of 0.45 of the size evicts a few lines in most memory, and none in some. */
static void the_onset_holds_in_all_memory(void **state)
{
    (void)state;
    static const struct {
        struct truth truth;
        double onset;     /* as a fraction of the size; 0: unknown */
        double low, high; /* the confidence is in this range */
    } rows[] = {
        {{.lost = 0}, 0.9, 0.998, 1},
        {{.lost = 0, .beyond = 0.1, .noise = 3}, 0.45, 0.998, 1},
        {{.lost = 0.02, .beyond = 0.1}, 0.3, 0.998, 1},
        /* Whether ten lines of 1,024 are noise depends on the resample. */
        {{.lost = 0.01, .beyond = 0.1}, 0.3, 0.9, 0.995},
        /* The first memory, or the first two, evict nothing, and the others do. */
        {{.lost = 0.02, .beyond = 0.1, .kept = 1}, 0.3, 0.99, 0.998},
        {{.lost = 0.02, .beyond = 0.1, .kept = 2}, 0.3, 0.98, 0.99},
        {{.lost = 0.02, .beyond = 0.1, .kept = 4}, 0.45, 0.998, 1},
        {{.early = 0.02, .lost = 0.02, .beyond = 0.1}, 0, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_l2_found found = probe(&rows[i].truth);
        const double onset = (double)found.onset.value / SIZE_BYTES;
        const double confidence = onset > 0 ? fth_confidence(found.onset.evidence) : 0;
        if (onset < rows[i].onset - 0.01 || onset > rows[i].onset + 0.01 ||
            confidence < rows[i].low || confidence > rows[i].high)
            fail_msg("row %zu: %g, confidence %g", i, onset, confidence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_lines_show_the_partitions),
        cmocka_unit_test(the_onset_holds_in_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
