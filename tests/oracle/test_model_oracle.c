/* Compares the cache model of src/model with the oracle of model_oracle.h, on random GPUs and
 * random accesses. All counts must be equal.
 *
 * usage: test_model_oracle [FIRST LAST]      the range of seeds; 1 to 1000 by default */
#include "../unit/check.h"
#include "../unit/folder.h"
#include "miss_oracle.h"
#include "model/model.h"
#include "model_oracle.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned first_seed = 1, last_seed = 1000;

static uint64_t below(struct fth_rng *rng, uint64_t bound)
{
    return fth_rng_below(rng, bound);
}

/* One of the numbers at random. */
#define PICK(rng, ...)                                                                             \
    ((const uint64_t[]){                                                                           \
        __VA_ARGS__}[below(rng, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

static void random_cache(struct fth_rng *rng, bool l2, struct oracle_cache *cache)
{
    static const char *const indices[] = {"mod", "shift:1", "shift:3", "prime", "xor"};
    static const char *const policies[] = {"lru",    "lru",  "lru",   "fifo", "lfu",
                                           "random", "plru", "srrip", "drrip"};
    static const char *const bypasses[] = {"off", "off", "won", "won", "rwon"};
    *cache = (struct oracle_cache){.line_bytes = PICK(rng, 32, 64, 128, 128),
                                   .ways = PICK(rng, 1, 2, 3, 4, 8),
                                   .partitions = PICK(rng, 1, 1, 2, 3),
                                   .banks = PICK(rng, 1, 1, 2),
                                   .ports = PICK(rng, 1, 2, 4),
                                   .index = indices[below(rng, 5)],
                                   .policy = policies[below(rng, 9)],
                                   .bypass = bypasses[below(rng, l2 ? 4 : 5)],
                                   .merged_hits = below(rng, 2),
                                   .mshr_sets = PICK(rng, 1, 1, 2, 4),
                                   .mshr_size = PICK(rng, 0, 1, 2, 4, 32),
                                   .mshr_merges = PICK(rng, 0, 1, 2, 8),
                                   .fixed = (double)PICK(rng, 1, 2, 3, 7),
                                   .per_busy = below(rng, 2) ? 0 : (double)PICK(rng, 1, 2, 8) / 8};
    if (l2 && strcmp(cache->bypass, "won") == 0 && below(rng, 2))
        cache->bypass = "off";
    if (strcmp(cache->policy, "plru") == 0 && cache->ways == 3)
        cache->ways = 4;
    cache->sector_bytes = below(rng, 2) ? 0 : cache->line_bytes / PICK(rng, 1, 2, 4);
    /* The oracle counts one use of a line per sector. */
    if (strcmp(cache->policy, "lfu") == 0 || strstr(cache->policy, "rrip"))
        cache->sector_bytes = 0;
    const uint64_t sector = cache->sector_bytes ? cache->sector_bytes : cache->line_bytes;
    cache->fill_bytes = below(rng, 2) ? 0 : sector * PICK(rng, 1, 2);
    if (cache->fill_bytes > cache->line_bytes)
        cache->fill_bytes = cache->line_bytes;
    cache->partition_bytes = cache->line_bytes * PICK(rng, 1, 2, 4);
    cache->bank_bytes = cache->line_bytes * PICK(rng, 1, 2);
    cache->size_bytes = cache->line_bytes * cache->ways * PICK(rng, 1, 2, 3, 4) *
                        cache->partitions * cache->banks * (l2 ? 4 : 1);
}

static void random_model(struct fth_rng *rng, struct oracle_model *model)
{
    static const char *const mappings[] = {"rr", "bpart1", "bpart2", "1,0,0"};
    random_cache(rng, false, &model->l1);
    random_cache(rng, true, &model->l2);
    model->sms = PICK(rng, 2, 3, 5);
    model->schedulers = PICK(rng, 1, 2, 4);
    model->max_warps = PICK(rng, 4, 6, 16);
    model->max_blocks = PICK(rng, 1, 2, 3, 8);
    model->seed = below(rng, 1000);
    model->mapping = mappings[below(rng, 4)];
    model->sides = PICK(rng, 1, 1, 2);
    model->home_mask = PICK(rng, 128, 256, 0x180);
    model->local.stack = PICK(rng, 0, 16, 64, 80, 1024);
    model->local.reserved = PICK(rng, 0, 16, 576);
}

static void set(struct fth_model_params *params, const char *level, const char *name,
                const char *value)
{
    char full[64];
    struct fth_error error = NO_ERROR;
    snprintf(full, sizeof full, "%s.%s", level, name);
    if (fth_model_set(params, full, value, &error) != FTH_OK)
        fail_msg("%s=%s: %s", full, value, error.cause);
}

static void set_number(struct fth_model_params *params, const char *level, const char *name,
                       uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    set(params, level, name, text);
}

static void set_cache(struct fth_model_params *params, const char *level,
                      const struct oracle_cache *cache)
{
    char latency[64];
    set_number(params, level, "size_bytes", cache->size_bytes);
    set_number(params, level, "ways", cache->ways);
    set_number(params, level, "line_bytes", cache->line_bytes);
    set_number(params, level, "sector_bytes", cache->sector_bytes);
    set_number(params, level, "fill_bytes", cache->fill_bytes);
    set_number(params, level, "partitions", cache->partitions);
    set_number(params, level, "partition_bytes", cache->partition_bytes);
    set_number(params, level, "banks", cache->banks);
    set_number(params, level, "bank_bytes", cache->bank_bytes);
    set_number(params, level, "ports", cache->ports);
    set(params, level, "index", cache->index);
    set(params, level, "policy", cache->policy);
    set(params, level, "bypass", cache->bypass);
    set(params, level, "merged", cache->merged_hits ? "hit" : "miss");
    set_number(params, level, "mshr_sets", cache->mshr_sets);
    set_number(params, level, "mshr_size", cache->mshr_size);
    set_number(params, level, "mshr_merges", cache->mshr_merges);
    snprintf(latency, sizeof latency, "%g,%g", cache->fixed, cache->per_busy);
    set(params, level, "latency", latency);
}

/* ---- cache operators and hints ---- */

/* A variant of an access, as traces and descriptions have it, and its random effects. */
struct variant {
    const char *name;
    uint32_t cache_op, hints;
    bool sized;  /* a size of a prefetch, which has no effect on the L1 */
    bool passes; /* the access is not looked up in the L1 if it fills nothing */
    enum fth_trace_access_kind kind;
    uint64_t l1_fill, l2_fill;
    bool keeps;
};
enum { VARIANTS = 7 };

static void random_variants(struct fth_rng *rng, struct variant *variants)
{
    static const struct variant all[VARIANTS] = {
        {.name = "ld.cg", .cache_op = 2, .passes = true},
        {.name = "ld.volatile", .cache_op = 9, .passes = true},
        {.name = "ld.relaxed", .hints = 1 << 8, .passes = true},
        {.name = "ld.lu", .cache_op = 4},
        {.name = "ld.L1::no_allocate", .hints = 5},
        {.name = "ld.L2::128B", .hints = 2 << 6, .sized = true},
        {.name = "st.cs", .cache_op = 3, .kind = FTH_TRACE_WRITE}};
    for (size_t i = 0; i < VARIANTS; i++) {
        variants[i] = all[i];
        variants[i].l1_fill = PICK(rng, 0, 0, 32);
        variants[i].l2_fill = PICK(rng, 32, 64, 128, 256);
        variants[i].keeps = below(rng, 2);
    }
}

/* Returns a description that has nothing but the effects. The caller frees it. */
static struct fth_gpu *describe(const struct variant *variants)
{
    char lists[2][3][512] = {{{0}}}, text[4096];
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    for (size_t level = 0; level < 2; level++)
        for (size_t i = 0; i < VARIANTS; i++) {
            const struct variant *each = &variants[i];
            const uint64_t fill = level ? each->l2_fill : each->l1_fill;
            if (level == 0 && each->sized)
                continue;
            const char *comma = *lists[level][0] ? ", " : "";
            snprintf(strchr(lists[level][0], 0), 64, "%s\"%s\"", comma, each->name);
            snprintf(strchr(lists[level][1], 0), 64, "%s%llu", comma, (unsigned long long)fill);
            snprintf(strchr(lists[level][2], 0), 64, "%s\"%s\"", comma, each->keeps ? "yes" : "no");
        }
    const int size = snprintf(
        text, sizeof text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {\"l1\": "
        "{\"access_variants\": [%s], \"access_fill_bytes\": [%s], \"access_keeps\": [%s]}, \"l2\": "
        "{\"access_variants\": [%s], \"access_fill_bytes\": [%s]}}}",
        lists[0][0], lists[0][1], lists[0][2], lists[1][0], lists[1][1]);
    if (fth_gpu_read_text("test", text, (size_t)size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

/* Gives the accesses of one instruction a variant of their kind, or none. */
static void apply_variants(struct fth_rng *rng, const struct variant *variants,
                           struct oracle_access *accesses, size_t count)
{
    for (uint64_t number = 0; number < 4; number++) {
        const struct variant *variant = &variants[below(rng, VARIANTS)];
        const bool plain = below(rng, 4) == 0;
        for (size_t i = 0; i < count; i++) {
            struct oracle_access *access = &accesses[i];
            if (plain || access->number != number || access->kind != variant->kind ||
                access->local || access->together)
                continue;
            access->cache_op = variant->cache_op;
            access->hints = variant->hints;
            access->l2_fill_bytes = access->kind == FTH_TRACE_READ ? variant->l2_fill : 0;
            if (variant->sized || variant->l1_fill)
                continue;
            access->l1 = !variant->keeps   ? ORACLE_EVICT
                         : variant->passes ? ORACLE_BYPASS
                                           : ORACLE_NO_ALLOCATE;
        }
    }
}

static struct fth_model_params *params_of(const struct oracle_model *model,
                                          const struct fth_gpu *gpu)
{
    struct fth_model_params *params;
    assert_int_equal(fth_model_params_create(gpu, &params, NULL), FTH_OK);
    set_cache(params, "l1", &model->l1);
    set_cache(params, "l2", &model->l2);
    set_number(params, "gpu", "sms", model->sms);
    set_number(params, "gpu", "schedulers", model->schedulers);
    set_number(params, "gpu", "max_warps", model->max_warps);
    set_number(params, "gpu", "max_blocks", model->max_blocks);
    set_number(params, "gpu", "seed", model->seed);
    set(params, "gpu", "mapping", model->mapping);
    set_number(params, "l2", "sides", model->sides);
    set_number(params, "l2", "home_mask", model->home_mask);
    set_number(params, "gpu", "local_stack_bytes", model->local.stack);
    set_number(params, "gpu", "local_reserved_bytes", model->local.reserved);
    return params;
}

/* ---- random accesses, as a trace ---- */

enum { BLOCKS = 9, WARPS = 3, NUMBERS = 4, MAX = BLOCKS * WARPS * NUMBERS };

static size_t random_accesses(struct fth_rng *rng, struct oracle_access *accesses)
{
    size_t count = 0;
    const uint64_t footprint = PICK(rng, 512, 2048, 8192);
    const enum fth_trace_access_kind kinds[NUMBERS] = {
        FTH_TRACE_READ, below(rng, 3) ? FTH_TRACE_READ : FTH_TRACE_WRITE,
        below(rng, 4) ? FTH_TRACE_WRITE : FTH_TRACE_ATOMIC, FTH_TRACE_READ};
    for (uint64_t block = 0; block < BLOCKS; block++)
        for (uint32_t warp = 0; warp < WARPS; warp++)
            for (uint64_t number = 0; number < NUMBERS; number++) {
                struct oracle_access *access = &accesses[count];
                if (below(rng, 8) == 0)
                    continue;
                *access = (struct oracle_access){.number = number,
                                                 .block = block,
                                                 .warp = warp,
                                                 .threads = (uint32_t)(1 + below(rng, 32)),
                                                 .bytes = number % 2 ? 4 : 8,
                                                 .kind = kinds[number]};
                const uint64_t stride = PICK(rng, 0, 4, 8, 8, 16, 40, 256);
                /* Groups of `group` lanes access memory with a stride. There is a positive or
                 * negative gap between the groups. One lane of `stray_interval` has a random
                 * address. */
                const uint64_t group = PICK(rng, 32, 32, 4, 8, 16);
                const uint64_t gap = PICK(rng, 64, 300, 1024, 0 - UINT64_C(200));
                const uint64_t base = 2048 + below(rng, footprint / 4) * 4;
                const uint64_t stray_interval = PICK(rng, 20, 1000);
                for (uint32_t t = 0; t < access->threads; t++)
                    access->addresses[t] = below(rng, stray_interval)
                                               ? base + t * stride + t / group * gap
                                               : below(rng, footprint / 4) * 4;
                count++;
            }
    /* The accesses of one instruction can be to local memory. */
    const uint64_t local = below(rng, UINT64_C(2) * NUMBERS);
    const uint32_t bytes = (uint32_t)PICK(rng, 1, 2, 4, 8, 16);
    for (size_t i = 0; i < count; i++)
        if (accesses[i].number == local && accesses[i].kind != FTH_TRACE_ATOMIC) {
            accesses[i].local = true;
            accesses[i].bytes = bytes;
            accesses[i].hints = FTH_TRACE_LOCAL;
            /* The L1 does not keep a store of a part of a word. */
            if (bytes < 4 && accesses[i].kind == FTH_TRACE_WRITE)
                accesses[i].l1 = ORACLE_NO_ALLOCATE;
        }
    /* Those of another one can be to a texture. */
    const uint64_t texture = below(rng, UINT64_C(2) * NUMBERS);
    const uint32_t texels = (uint32_t)below(rng, 3), lanes = (uint32_t)below(rng, 4);
    for (size_t i = 0; i < count; i++)
        if (accesses[i].number == texture && !accesses[i].local &&
            accesses[i].kind != FTH_TRACE_ATOMIC) {
            accesses[i].together = 1u << (texels + lanes);
            accesses[i].hints = FTH_TRACE_TEXTURE | texels << 14 | lanes << 16;
        }
    return count;
}

static void write_trace(const struct oracle_access *accesses, size_t count)
{
    struct fth_trace_writer *writer;
    struct fth_records records = {0};
    struct fth_error error = NO_ERROR;
    const uint32_t grid[3] = {BLOCKS, 1, 1}, block[3] = {32 * WARPS, 1, 1};
    assert_int_equal(fth_trace_writer_create("o.trace", &writer, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", grid, block, &error), FTH_OK);
    for (size_t i = 0; i < count; i++) {
        const struct oracle_access *a = &accesses[i];
        const size_t instruction = fth_trace_writer_instruction(
            writer, &(struct fth_trace_instruction){.line = (uint32_t)a->number + 1,
                                                    .kind = a->kind,
                                                    .bytes = a->bytes,
                                                    .cache_op = a->cache_op,
                                                    .hints = a->hints});
        const struct fth_record record = {.number = a->number,
                                          .block = a->block,
                                          .instruction = (uint32_t)instruction,
                                          .warp = a->warp,
                                          .mask = a->threads == 32 ? UINT32_MAX
                                                                   : (1u << a->threads) - 1};
        assert_true(fth_records_add(&records, &record, a->addresses));
    }
    const struct fth_trace_launch totals = {.local_bytes = ORACLE_LOCAL_BYTES};
    assert_int_equal(fth_trace_writer_add(writer, &records, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_end(writer, &totals, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, &error), FTH_OK);
    fth_records_fini(&records);
}

/* ---- comparison ---- */

static void check_equal(unsigned seed, const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected)
        fail_msg("seed %u, %s: %llu, but the oracle has %llu", seed, what,
                 (unsigned long long)found, (unsigned long long)expected);
}

static void check_level(unsigned seed, const char *level, const struct fth_model_counts *found,
                        const struct oracle_counts *expected)
{
    static const char *const kinds[] = {"read", "write", "atomic"};
    char what[64];
    for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, "%s %s", level, kinds[k]);
        check_equal(seed, what, found->requests[k], expected->requests[k]);
        check_equal(seed, what, found->sectors[k], expected->sectors[k]);
        check_equal(seed, what, found->merges[k], expected->merges[k]);
        check_equal(seed, what, found->hits[k], expected->hits[k]);
    }
}

static void check_profile(unsigned seed, const char *what, const struct fth_model_profile *found,
                          const uint64_t *expected, uint64_t ways)
{
    for (size_t i = 0; i <= ways; i++)
        check_equal(seed, what, i < found->count ? found->counts[i] : 0, expected[i]);
}

static uint64_t seen_misses[2][MISS_CAUSES]; /* over all seeds */

/* Compares the causes of misses, which must be those of all reads that missed. */
static void check_misses(unsigned seed, const struct fth_model_row *row,
                         const struct oracle_result *expected)
{
    static const char *const names[] = {"cold", "capacity", "conflict", "coherence", "sector"};
    for (int level = 0; level < 2; level++) {
        const struct oracle_counts *counts = level ? &expected->l2 : &expected->l1;
        uint64_t found[MISS_CAUSES], sum = 0;
        char what[32];
        miss_counts(level ? &row->l2_misses : &row->l1_misses, found);
        for (int cause = 0; cause < MISS_CAUSES; cause++) {
            snprintf(what, sizeof what, "L%d %s", level + 1, names[cause]);
            check_equal(seed, what, found[cause], counts->misses[cause]);
            sum += found[cause];
            seen_misses[level][cause] += found[cause];
        }
        check_equal(seed, "misses", sum, counts->sectors[0] - counts->hits[0]);
    }
}

static void compare_row(unsigned seed, const struct fth_model_row *row,
                        const struct oracle_model *model, const struct oracle_result *expected,
                        bool diagnose)
{
    check_level(seed, "L1", &row->l1, &expected->l1);
    check_equal(seed, "L1 steps", row->l1_steps, expected->l1.steps);
    check_equal(seed, "L1 fails", row->l1_fails, expected->l1.fails);
    check_level(seed, "L2", &row->l2, &expected->l2);
    check_equal(seed, "L2 steps", row->l2_steps, expected->l2.steps);
    check_equal(seed, "L2 fails", row->l2_fails, expected->l2.fails);
    if (diagnose)
        check_misses(seed, row, expected);
    else
        assert_memory_equal(&row->l1_misses, &(struct fth_model_misses){0}, sizeof row->l1_misses);
    check_equal(seed, "far hits", row->far_hits, expected->far_hits);
    check_equal(seed, "memory reads", row->dram_reads, expected->dram_reads);
    check_equal(seed, "memory writes", row->dram_writes, expected->dram_writes);
    for (int k = 0; k < 2; k++) {
        check_profile(seed, "L1 profile", &row->l1_profile[k], expected->l1.profile[k],
                      model->l1.ways);
        check_profile(seed, "L2 profile", &row->l2_profile[k], expected->l2.profile[k],
                      model->l2.ways);
    }
}

static void compare(unsigned seed)
{
    struct fth_rng rng;
    struct oracle_model model;
    struct oracle_result expected;
    static struct oracle_access accesses[MAX];
    struct fth_error error = NO_ERROR;
    struct fth_trace *trace;
    struct fth_model_result *result = NULL;
    fth_rng_init(&rng, seed);
    random_model(&rng, &model);
    const size_t count = random_accesses(&rng, accesses);
    /* Every other GPU has effects of cache operators and hints. */
    struct fth_gpu *gpu = NULL;
    struct variant variants[VARIANTS];
    if (seed % 2) {
        random_variants(&rng, variants);
        gpu = describe(variants);
        apply_variants(&rng, variants, accesses, count);
    }
    struct fth_model_params *params = params_of(&model, gpu);
    fth_gpu_destroy(gpu);
    write_trace(accesses, count);
    assert_int_equal(fth_trace_open("o.trace", &trace, &error), FTH_OK);
    oracle_model_run(&model, BLOCKS, WARPS, accesses, count, &expected);
    /* The caches have faster paths if the causes of misses are not wanted. */
    for (int diagnose = 0; diagnose < 2; diagnose++) {
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.threads = seed % 5, .diagnose = diagnose);
        if (fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
            fail_msg("seed %u: %s: %s", seed, error.argument, error.cause);
        compare_row(seed, fth_model_row(result, 0), &model, &expected, diagnose);
        fth_model_result_destroy(result);
    }
    fth_trace_close(trace);
    fth_model_params_destroy(params);
}

static void all_counts_match_the_oracle(void **state)
{
    (void)state;
    for (unsigned seed = first_seed; seed <= last_seed; seed++)
        compare(seed);
    for (int cause = 0; cause < MISS_CAUSES && last_seed - first_seed >= 200; cause++)
        assert_true(seen_misses[0][cause] > 100 && seen_misses[1][cause] > 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_counts_match_the_oracle)};
    if (argc == 3) {
        first_seed = (unsigned)strtoul(argv[1], NULL, 10);
        last_seed = (unsigned)strtoul(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests_name("model oracle", tests, enter_folder, leave_folder);
}
