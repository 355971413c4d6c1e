/* The rule that finds the constant L1.5 (src/probe/cache/constant_caches.c): constant loads that
 * take longer than a hit in the constant L1 and clearly less than a hit in the L2. */
#include "lru.h"
#include "probe/cache/probe_cache.h"
#include "scripted.h"

/* The constant caches of a GPU. Latencies are in cycles. */
struct truth {
    uint64_t l1_bytes, l15_bytes; /* 0: there is no L1.5 */
    unsigned l1_line, l15_line;
    unsigned l1_cycles, l15_cycles, l2_cycles;
    unsigned noise;
    unsigned outliers; /* loads per load that takes 100 cycles more; 0: none does */
};

struct machine {
    struct truth truth;
    struct lru l1, l15;
};

enum { OVERHEAD = 20 }; /* of timing a hop */

static unsigned load(struct machine *machine, uint64_t address)
{
    const struct truth *truth = &machine->truth;
    const bool l1 = lru_access(&machine->l1, address / truth->l1_line);
    if (l1)
        return truth->l1_cycles;
    if (truth->l15_bytes && lru_access(&machine->l15, address / truth->l15_line))
        return truth->l15_cycles;
    return truth->l2_cycles;
}

static void empty(struct machine *machine)
{
    machine->l1 = (struct lru){.entries = machine->truth.l1_bytes / machine->truth.l1_line};
    machine->l15 = (struct lru){.entries = machine->truth.l15_bytes / machine->truth.l15_line};
}

static void execute(struct scripted *scripted, const struct fth_request *request, size_t index,
                    uint32_t *samples)
{
    struct machine *machine = scripted->truth;
    const struct truth *truth = &machine->truth;
    const struct fth_step *step = &request->chase.steps[index];
    const uint64_t count = step->chain.count;
    if (index == 0) /* the caches of an SM are empty when a block starts */
        empty(machine);
    for (uint64_t pass = 0; pass < step->passes; pass++) {
        unsigned sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t element = step->reverse ? count - 1 - i : i;
            const uint64_t address = step->chain.start_bytes + element * step->chain.stride_bytes;
            unsigned cycles =
                step->path == FTH_PATH_CONSTANT ? load(machine, address) : truth->l2_cycles;
            if (truth->outliers && fth_rng_below(&scripted->rng, truth->outliers) == 0)
                cycles += 100;
            sum += cycles;
            if (step->kind == FTH_STEP_TIME_HOPS)
                *samples++ =
                    (uint32_t)((int)(OVERHEAD + cycles) + noise_of(scripted, truth->noise));
        }
        if (step->kind == FTH_STEP_TIME_PASS)
            *samples++ = OVERHEAD + sum;
    }
}

static enum fth_status probe(const struct truth *truth, uint64_t seed, struct fth_constants *found,
                             struct fth_error *error)
{
    struct machine machine = {.truth = *truth};
    struct scripted scripted = {.execute = execute, .truth = &machine};
    struct fth_device device = scripted_device(&scripted, seed);
    const struct fth_prober prober = {.device = &device, .sms = 1};
    empty(&machine);
    return fth_probe_constants(&prober, NULL, found, error);
}

static void slower_loads_show_the_l15(void **state)
{
    (void)state;
    static const struct {
        struct truth truth;
        bool has_l15;
        const char *cause; /* why there is no result; NULL: there is one */
    } rows[] = {
        {{2048, 32768, 64, 256, 30, 90, 220, 0, 0}, true, NULL},
        {{2048, 32768, 64, 256, 30, 90, 220, 2, 0}, true, NULL},
        {{2048, 16384, 64, 64, 30, 110, 260, 1, 2000}, true, NULL},
        {{4096, 32768, 64, 256, 40, 100, 200, 1, 0}, true, NULL},
        {{2048, 0, 64, 64, 30, 0, 220, 1, 0}, false, NULL},
        /* An L1.5 that is nearly as slow as the L2 is not told from it. */
        {{2048, 32768, 64, 256, 30, 215, 220, 0, 0}, false, NULL},
        {{2048, 0, 64, 64, 200, 0, 220, 0, 0}, false, "constant loads take as long as L2 loads"},
        {{65536, 0, 65536, 64, 30, 0, 220, 0, 0}, false, "all constant loads take equally long"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct truth *truth = &rows[i].truth;
        struct fth_constants found;
        struct fth_error error = NO_ERROR;
        const enum fth_status status = probe(truth, i, &found, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INCONCLUSIVE : FTH_OK);
        if (rows[i].cause) {
            assert_contains(error.cause, rows[i].cause);
            continue;
        }
        if (found.has_l15 != rows[i].has_l15)
            fail_msg("row %zu: has_l15 is %d", i, found.has_l15);
        assert_int_equal(found.l1.capacity.fits_bytes, truth->l1_bytes);
        assert_int_equal(found.l1.line_bytes, truth->l1_line);
        assert_true(fth_confidence(found.l1.capacity.evidence) > 0.9);
        if (!rows[i].has_l15)
            continue;
        assert_int_equal(found.l15_status, FTH_OK);
        if (found.l15.capacity.fits_bytes != truth->l15_bytes ||
            found.l15.line_bytes != truth->l15_line)
            fail_msg("row %zu: %llu bytes, lines of %llu", i,
                     (unsigned long long)found.l15.capacity.fits_bytes,
                     (unsigned long long)found.l15.line_bytes);
        assert_true(fth_confidence(found.l15.capacity.evidence) > 0.9);
        assert_true(fth_confidence(found.l15.line_evidence) > 0.9);
        assert_true(found.l15.cycles.value > truth->l15_cycles - 2 &&
                    found.l15.cycles.value < truth->l15_cycles + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slower_loads_show_the_l15),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
