/* The rule that finds TLBs (src/probe/tlb/tlb_levels.c and the files that it uses): walks over more
 * pages than a level has entries take longer by its miss penalty. */
#include "lru.h"
#include "probe/tlb/probe_tlb.h"
#include "scripted.h"

/* A GPU with up to two levels. */
struct truth {
    uint64_t page_bytes;
    size_t entries[2];   /* 0: there is no such level */
    unsigned penalty[2]; /* cycles, if the levels before miss, too */
    bool random;         /* replacement */
    unsigned noise;      /* cycles of each load */
    unsigned outliers;   /* loads per load that takes 400 cycles more; 0: none does */
};

struct machine {
    struct truth truth;
    struct lru levels[2];
};

enum { HIT = 280 }; /* cycles of a timed hop that hits the L2 and the first TLB */

/* Translates an address and returns the cycles that it takes. */
static unsigned translate(struct machine *machine, uint64_t address)
{
    const struct truth *truth = &machine->truth;
    unsigned cycles = 0;
    for (size_t i = 0; i < 2 && truth->entries[i]; i++) {
        if (lru_access(&machine->levels[i], address / truth->page_bytes))
            break;
        cycles = truth->penalty[i];
    }
    return cycles;
}

static void execute(struct scripted *scripted, const struct fth_request *request, size_t index,
                    uint32_t *samples)
{
    struct machine *machine = scripted->truth;
    const struct truth *truth = &machine->truth;
    const struct fth_step *step = &request->chase.steps[index];
    const uint64_t count = step->chain.count;
    const uint64_t start = ((uint64_t)step->chain.array << 44) + step->chain.start_bytes;
    for (uint64_t pass = 0; pass < step->passes; pass++)
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t element = step->reverse ? count - 1 - i : i;
            const uint64_t address = start + element * step->chain.stride_bytes;
            const unsigned more = translate(machine, address);
            if (step->kind != FTH_STEP_TIME_HOPS)
                continue;
            /* Lines differ by up to 20 cycles, always by the same. */
            const unsigned line = (unsigned)((address >> 7) * 13 % 21);
            const bool outlier =
                truth->outliers && fth_rng_below(&scripted->rng, truth->outliers) == 0;
            *samples++ = (uint32_t)((int)(HIT + line + more + (outlier ? 400 : 0)) +
                                    noise_of(scripted, truth->noise));
        }
}

static struct fth_tlbs probe(const struct truth *truth, uint64_t seed)
{
    struct machine machine = {.truth = *truth};
    struct scripted scripted = {.execute = execute, .truth = &machine};
    struct fth_device device = scripted_device(&scripted, seed);
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_tlbs tlbs = {.count = 0};
    struct fth_error error = NO_ERROR;
    for (size_t i = 0; i < 2; i++)
        machine.levels[i] = (struct lru){.entries = truth->entries[i], .random = truth->random};
    if (fth_probe_tlbs(&prober, UINT64_C(8) << 30, 40 << 20, &tlbs, &error) != FTH_OK &&
        error.status != FTH_INCONCLUSIVE)
        fail_msg("%s", error.cause);
    return tlbs;
}

/* Whether the level is that of the truth, with a high confidence. */
static bool is_right(const struct fth_tlb_level *level, const struct truth *truth, size_t index)
{
    const double penalty = truth->penalty[index] - (index ? truth->penalty[index - 1] : 0);
    return level->page_bytes == truth->page_bytes && level->entries == truth->entries[index] &&
           level->penalty_cycles > penalty - 4 && level->penalty_cycles < penalty + 4 &&
           fth_confidence(level->page_evidence) > 0.9 &&
           fth_confidence(level->entries_evidence) > 0.9;
}

/* Whether the level has figures other than those of the truth, with a confidence that claims that
 * they are right. */
static bool is_wrong(const struct fth_tlb_level *level, const struct truth *truth, size_t index)
{
    const bool page = level->page_bytes && level->page_bytes != truth->page_bytes &&
                      fth_confidence(level->page_evidence) > 0.9;
    const bool entries = level->entries && (index > 1 || level->entries != truth->entries[index]) &&
                         fth_confidence(level->entries_evidence) > 0.9;
    return page || entries;
}

static void levels_are_found_or_unknown(void **state)
{
    (void)state;
    static const struct {
        struct truth truth;
        size_t levels; /* that are found with all figures */
        bool maybe;    /* or unknown, but not wrong */
    } rows[] = {
        {{.page_bytes = 2 << 20, .entries = {16}, .penalty = {60}}, 1, false},
        {{.page_bytes = 2 << 20, .entries = {24}, .penalty = {60}, .noise = 4}, 1, false},
        {{.page_bytes = 4 << 20, .entries = {16, 64}, .penalty = {40, 150}}, 2, false},
        {{.page_bytes = 2 << 20, .entries = {16, 96}, .penalty = {40, 150}, .noise = 3}, 2, false},
        {{.page_bytes = 2 << 20, .entries = {20}, .penalty = {60}, .noise = 3, .outliers = 500},
         1,
         true},
        {{.page_bytes = 2 << 20, .entries = {32}, .penalty = {80}, .random = true}, 1, true},
        /* The first load of memory has no TLB miss to show: one level holds all pages. */
        {{.page_bytes = 64 << 20, .entries = {1024}, .penalty = {60}}, 0, false},
        /* A penalty below what is looked for, and one that the noise hides. */
        {{.page_bytes = 2 << 20, .entries = {16}, .penalty = {2}}, 0, false},
        {{.page_bytes = 2 << 20, .entries = {16}, .penalty = {5}, .noise = 60}, 0, true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const struct truth *truth = &rows[i].truth;
            const struct fth_tlbs found = probe(truth, seed);
            for (size_t k = 0; k < found.count; k++)
                if (is_wrong(&found.levels[k], truth, k))
                    fail_msg("row %zu, level %zu: %llu entries of %llu bytes", i, k,
                             (unsigned long long)found.levels[k].entries,
                             (unsigned long long)found.levels[k].page_bytes);
            if (rows[i].maybe)
                continue;
            if (found.count != rows[i].levels)
                fail_msg("row %zu: %zu levels", i, found.count);
            for (size_t k = 0; k < found.count; k++)
                if (!is_right(&found.levels[k], truth, k))
                    fail_msg("row %zu, level %zu: %llu entries, confidence %g, %g cycles", i, k,
                             (unsigned long long)found.levels[k].entries,
                             fth_confidence(found.levels[k].entries_evidence),
                             found.levels[k].penalty_cycles);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_found_or_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
