/* The rule that finds page tables (src/probe/tlb/spectrum.c): first touches of pages that take
 * longer, at equal distances, begin a new page table. */
#include "probe/tlb/probe_tlb.h"
#include "scripted.h"

enum {
    ENTRIES = 16,       /* of the first TLB */
    SECOND_ENTRIES = 96 /* of the second one */
};
static const uint64_t page_bytes = 2 << 20;

/* The latencies of a GPU, in cycles of a timed hop. */
struct truth {
    unsigned distance; /* pages from one slow first touch to the next; 0: none is slow */
    unsigned extra;    /* cycles by which they are slower */
    unsigned noise;    /* of every load, in cycles */
    unsigned shown;    /* repeats, of five, that show them */
    bool irregular;    /* the distances are not equal */
    bool others;       /* each repeat has a slow first touch at another place, too */
};

/* A first touch takes 900 cycles, a load from memory 600, a hit 300, 30 more after a miss of the
 * first TLB and 60 more after one of both. */
static void execute(struct scripted *scripted, const struct fth_request *request, size_t index,
                    uint32_t *samples)
{
    const struct truth *truth = scripted->truth;
    const struct fth_step *step = &request->chase.steps[index];
    static const unsigned cycles[FTH_MAX_STEPS] = {900, 0, 360, 0, 330, 0, 600, 300};
    if (step->kind != FTH_STEP_TIME_HOPS)
        return;
    const bool is_first = request->cold && index == 0;
    const bool shows = scripted->requests / 2 < truth->shown;
    for (uint64_t i = 0; i < step->passes * step->chain.count; i++) {
        const unsigned irregular = truth->irregular ? (unsigned)(i * i % 7) : 0;
        const bool other = truth->others && i == 21 + scripted->requests / 2;
        const bool slow =
            other || (truth->distance && shows && i > 0 && (i + irregular) % truth->distance == 0);
        samples[i] = (uint32_t)((int)(request->cold ? cycles[index] : 300) +
                                noise_of(scripted, truth->noise) +
                                (is_first && slow ? (int)truth->extra : 0));
    }
}

static struct fth_spectrum probe(const struct truth *truth)
{
    struct truth copy = *truth;
    struct scripted scripted = {.execute = execute, .truth = &copy};
    struct fth_device device = scripted_device(&scripted, 3);
    const struct fth_prober prober = {.device = &device, .sms = 1};
    const struct fth_spectrum_plan plan = {.path = FTH_PATH_CG,
                                           .carveout_percent = -1,
                                           .page_bytes = page_bytes,
                                           .first_entries = ENTRIES,
                                           .second_entries = SECOND_ENTRIES,
                                           .max_bytes = UINT64_C(16) << 30};
    struct fth_spectrum spectrum;
    assert_int_equal(fth_probe_spectrum(&prober, &plan, &spectrum, NULL), FTH_OK);
    return spectrum;
}

static void equal_distances_of_slow_first_touches_are_page_tables(void **state)
{
    (void)state;
    static const struct {
        struct truth truth;
        unsigned pages;       /* of the page table that is found, in strides; 0: none */
        double low, high;     /* the confidence is in this range */
        double low_c, high_c; /* cycles of a switch */
    } rows[] = {
        {{.distance = 16, .extra = 500, .shown = 5}, 16, 0.998, 1, 500, 500},
        {{.distance = 32, .extra = 500, .shown = 5}, 32, 0.998, 1, 500, 500},
        {{.distance = 16, .extra = 500, .shown = 5, .noise = 20}, 16, 0.99, 1, 470, 530},
        /* Most repeats show it: found, but less certain. */
        {{.distance = 16, .extra = 500, .shown = 4}, 16, 0.98, 0.995, 500, 500},
        {{.distance = 16, .extra = 500, .shown = 3}, 16, 0.9, 0.95, 500, 500},
        /* Most repeats do not show it. */
        {{.distance = 16, .extra = 500, .shown = 2}, 0, 0.9, 0.95, 0, 0},
        {{.distance = 0, .shown = 5}, 0, 0.99, 1, 0, 0},
        {{.distance = 0, .shown = 5, .noise = 40}, 0, 0.99, 1, 0, 0},
        /* 200 of 900 cycles are less than a quarter: this can be noise of the memory. */
        {{.distance = 16, .extra = 200, .shown = 5}, 0, 0.99, 1, 0, 0},
        {{.distance = 16, .extra = 500, .shown = 5, .irregular = true}, 0, 0.99, 1, 0, 0},
        /* The medians show equal distances, but no repeat does. */
        {{.distance = 40, .extra = 500, .shown = 5, .others = true}, 0, 0.99, 1, 0, 0},
        /* One slow touch has no distance. */
        {{.distance = 100, .extra = 500, .shown = 5}, 0, 0.99, 1, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_spectrum found = probe(&rows[i].truth);
        const double confidence = fth_confidence(found.table_evidence);
        if (found.page_table_bytes != rows[i].pages * found.stride_bytes ||
            confidence < rows[i].low || confidence > rows[i].high)
            fail_msg("row %zu: %llu bytes, confidence %g", i,
                     (unsigned long long)found.page_table_bytes, confidence);
        assert_int_equal(found.patterns[FTH_PATTERN_SWITCH].presence,
                         rows[i].pages ? FTH_PRESENT : FTH_ABSENT);
        if (rows[i].pages &&
            (found.table_switch.value < rows[i].low_c || found.table_switch.value > rows[i].high_c))
            fail_msg("row %zu: a switch takes %g cycles", i, found.table_switch.value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_distances_of_slow_first_touches_are_page_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
