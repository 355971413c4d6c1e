/* Tests loads with cache operators and hints: their requests, the probes of what they fill and of
 * eviction priorities (probe/cache/access_fills.c, access_priorities.c), and the attributes that
 * fth_dissect writes. The probes run on small simulated GPUs, whose descriptions are the truth. */
#include "check.h"
#include "discover/discover.h"
#include "folder.h"
#include "probe/cache/probe_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- simulated GPUs ---- */

enum {
    L1_BYTES = 16384,
    L2_BYTES = 262144,
    LINE = 128,
    SECTOR = 32,
    L2_FILL = 64,
    L1_CYCLES = 32,
    L2_CYCLES = 200,
    MEMORY_CYCLES = 450
};

static const char quiet[] = "\"seed\": 1", noisy[] = "\"seed\": 7, \"jitter_cycles\": 2, "
                                                     "\"outlier_rate\": 0.005";

/* What a GPU does, by variant. */
struct truth {
    bool listed[FTH_VARIANTS];
    unsigned bytes[FTH_VARIANTS];
    const char *priority[FTH_VARIANTS];
    const char *kept[FTH_VARIANTS]; /* NULL: the description does not have it */
};

static void write_truth(const struct truth *truth, struct fth_buffer *text)
{
    static const char *const lists[] = {"access_variants", "access_fill_bytes", "access_priorities",
                                        "access_keeps"};
    const size_t count = FTH_COUNT(lists) - (truth->kept[FTH_VARIANT_LD_CA] ? 0 : 1);
    for (size_t list = 0; list < count; list++) {
        bool any = false;
        fth_buffer_format(text, ", \"%s\": [", lists[list]);
        for (size_t i = 0; i < FTH_VARIANTS; i++) {
            if (!truth->listed[i])
                continue;
            fth_buffer_text(text, any ? ", " : "");
            any = true;
            if (list == 0)
                fth_buffer_format(text, "\"%s\"", fth_variant_names[i]);
            else if (list == 1)
                fth_buffer_format(text, "%u", truth->bytes[i]);
            else
                fth_buffer_format(text, "\"%s\"", list == 2 ? truth->priority[i] : truth->kept[i]);
        }
        fth_buffer_text(text, "]");
    }
}

/* Opens a simulated GPU. A truth can be NULL: then the description has no variants. */
static struct fth_prober open_gpu(const struct truth *l1, const struct truth *l2,
                                  const char *capability, const char *noise)
{
    struct fth_buffer text = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_prober prober = {.sms = 2};
    fth_buffer_format(&text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
                      "\"compute_capability\": \"%s\", \"sms\": 2, \"clock_mhz\": 1000}, "
                      "\"noise\": {%s}, \"elements\": {\"l1\": {\"size_bytes\": %d, "
                      "\"line_bytes\": %d, \"sector_bytes\": %d, \"sets\": 4, \"ways\": 32, "
                      "\"policy\": \"lru\", \"latency_cycles\": %d",
                      capability, noise, L1_BYTES, LINE, SECTOR, L1_CYCLES);
    if (l1)
        write_truth(l1, &text);
    fth_buffer_format(&text,
                      "}, \"l2\": {\"size_bytes\": %d, \"line_bytes\": %d, \"sector_bytes\": %d, "
                      "\"fill_bytes\": %d, \"sets\": 128, \"ways\": 16, \"policy\": \"lru\", "
                      "\"latency_cycles\": %d",
                      L2_BYTES, LINE, SECTOR, L2_FILL, L2_CYCLES);
    if (l2)
        write_truth(l2, &text);
    fth_buffer_format(&text, "}, \"memory\": {\"latency_cycles\": %d}}}", MEMORY_CYCLES);
    write_plain("gpu.json", text.data, text.size);
    if (fth_device_open("sim:./gpu.json", NULL, &prober.device, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", error.argument, error.cause, text.data);
    fth_buffer_fini(&text);
    return prober;
}

static const struct fth_fill_plan l1_fills = {.path = FTH_PATH_CA,
                                              .carveout_percent = 0,
                                              .line_bytes = LINE,
                                              .sector_bytes = SECTOR},
                                  l2_fills = {.path = FTH_PATH_CG,
                                              .carveout_percent = -1,
                                              .line_bytes = LINE,
                                              .sector_bytes = SECTOR,
                                              .start_bytes = 64 << 20};

static struct fth_access_fills find_fills(const struct fth_prober *prober,
                                          const struct fth_fill_plan *plan)
{
    struct fth_access_fills fills;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_probe_access_fills(prober, plan, &fills, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return fills;
}

/* ---- fills ---- */

/* Without lists in the description, operators that pass L1 and prefetches fill nothing. */
static void a_plain_gpu_fills_what_its_description_says(void **state)
{
    (void)state;
    const struct fth_prober prober = open_gpu(NULL, NULL, "9.0", quiet);
    const struct fth_access_fills l1 = find_fills(&prober, &l1_fills);
    const struct fth_access_fills l2 = find_fills(&prober, &l2_fills);
    assert_int_equal(l1.undecided, 0);
    assert_int_equal(l1.count, 15);
    for (size_t i = 0; i < l1.count; i++) {
        const char *name = fth_variant_names[l1.variants[i]];
        const bool passes = strcmp(name, "ld.cg") == 0 || strcmp(name, "ld.cv") == 0 ||
                            strcmp(name, "ld.volatile") == 0 || strncmp(name, "pre", 3) == 0;
        assert_int_equal(l1.bytes[i], passes ? 0 : SECTOR);
    }
    assert_int_equal(l2.undecided, 0);
    assert_int_equal(l2.count, FTH_VARIANT_LOADS_END - 1);
    for (size_t i = 0; i < l2.count; i++)
        assert_int_equal(l2.bytes[i],
                         strncmp(fth_variant_names[l2.variants[i]], "pre", 3) == 0 ? 0 : L2_FILL);
    assert_true(fth_confidence(l2.evidence) > 0.99);
    fth_device_close(prober.device);
}

static bool is_l2_only(size_t variant)
{
    return strncmp(fth_variant_names[variant], "ld.L2", 5) == 0 ||
           strncmp(fth_variant_names[variant], "prefetch.L2::", 13) == 0;
}

/* Draws what the variants do. The plain loads, ld.ca for L1 and ld.cg for the L2, are normal. A
 * miss of L1 fetches no more than the L2 fills, which would otherwise be filled as well. The hints
 * for the L2 do not affect L1; the policies have the fill of ld.ca, and the sizes its priority.
 * Only the last variants keep lines in the L2: others would fill this small L2 before the last ones
 * are measured. */
static void draw_truths(struct fth_rng *rng, struct truth *l1, struct truth *l2)
{
    static const char *const priorities[] = {"normal", "first", "last"};
    *l1 = *l2 = (struct truth){{false}, {0}, {NULL}, {NULL}};
    for (size_t i = FTH_VARIANT_NONE + 1; i < FTH_VARIANT_LOADS_END; i++) {
        const bool plain = i == FTH_VARIANT_LD_CA || i == FTH_VARIANT_LD_CG;
        const bool sized = i >= FTH_VARIANT_LD_L2_64B && i <= FTH_VARIANT_LD_L2_256B;
        const bool policy = is_l2_only(i) && !sized && fth_variant_names[i][0] == 'l';
        l1->listed[i] = !is_l2_only(i);
        l1->bytes[i] = i == FTH_VARIANT_LD_CA   ? SECTOR
                       : i == FTH_VARIANT_LD_CG ? 0
                                                : (unsigned)fth_rng_below(rng, 3) * SECTOR;
        l1->priority[i] = plain ? "normal" : priorities[fth_rng_below(rng, 3)];
        l2->listed[i] = true;
        l2->bytes[i] = (unsigned)L2_FILL << (plain || policy ? 0 : fth_rng_below(rng, 3));
        const unsigned kinds = i >= FTH_VARIANT_LD_L2_LAST ? 3 : 2;
        l2->priority[i] = plain || sized ? "normal" : priorities[fth_rng_below(rng, kinds)];
        if (l1->bytes[i] == 0)
            l1->priority[i] = "none";
    }
}

static void assert_fills(const struct fth_access_fills *fills, const struct truth *truth,
                         bool stores)
{
    size_t listed = 0;
    for (size_t i = stores ? FTH_VARIANT_LOADS_END : 0;
         i < (stores ? FTH_VARIANTS : FTH_VARIANT_LOADS_END); i++)
        listed += truth->listed[i];
    assert_int_equal(fills->count + fills->undecided, listed);
    for (size_t i = 0; i < fills->count; i++)
        if (fills->bytes[i] != truth->bytes[fills->variants[i]])
            fail_msg("%s fills %u bytes in %s, but %u were measured",
                     fth_variant_names[fills->variants[i]], truth->bytes[fills->variants[i]],
                     truth->listed[FTH_VARIANT_LD_L2_64B] ? "L2" : "L1", (unsigned)fills->bytes[i]);
}

static void assert_priorities(const struct fth_prober *prober, const struct fth_access_fills *fills,
                              const struct truth *truth, bool l1, bool exact)
{
    static const char *const words[] = {[FTH_ACCESS_UNKNOWN] = "unknown",
                                        [FTH_ACCESS_NORMAL] = "normal",
                                        [FTH_ACCESS_FIRST] = "first",
                                        [FTH_ACCESS_LAST] = "last"};
    const struct fth_priority_plan plan = {.path = l1 ? FTH_PATH_CA : FTH_PATH_CG,
                                           .carveout_percent = l1 ? 0 : -1,
                                           .line_bytes = LINE,
                                           .lines = (l1 ? L1_BYTES : L2_BYTES) / LINE,
                                           .start_bytes = l1 ? 32 << 20 : 96 << 20,
                                           .threshold_cycles = fills->threshold_cycles};
    enum fth_variant filling[FTH_VARIANTS];
    struct fth_access_priorities found;
    struct fth_error error = FTH_NO_ERROR;
    size_t count = 0, unknown = 0;
    for (size_t i = 0; i < fills->count; i++)
        if (fills->bytes[i])
            filling[count++] = fills->variants[i];
    if (fth_probe_access_priorities(prober, &plan, filling, count, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < count; i++) {
        unknown += found.priorities[i] == FTH_ACCESS_UNKNOWN;
        if (exact && found.priorities[i] == FTH_ACCESS_UNKNOWN)
            fail_msg("the priority of %s, %s in %s, is unknown", fth_variant_names[filling[i]],
                     truth->priority[filling[i]], l1 ? "L1" : "L2");
        if (found.priorities[i] != FTH_ACCESS_UNKNOWN &&
            strcmp(words[found.priorities[i]], truth->priority[filling[i]]) != 0)
            fail_msg("the priority of %s is %s, but %s was measured", fth_variant_names[filling[i]],
                     truth->priority[filling[i]], words[found.priorities[i]]);
    }
    assert_true(unknown <= count / 4);
}

/* Random GPUs, without and with noise. */
static void random_gpus_are_measured_right(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 5);
    for (unsigned i = 0; i < 6; i++) {
        struct truth l1, l2;
        const bool exact = i < 4;
        draw_truths(&rng, &l1, &l2);
        const struct fth_prober prober = open_gpu(&l1, &l2, "9.0", exact ? quiet : noisy);
        const struct fth_access_fills first = find_fills(&prober, &l1_fills);
        assert_true(!exact || first.undecided == 0);
        assert_fills(&first, &l1, false);
        assert_priorities(&prober, &first, &l1, true, exact);
        const struct fth_access_fills second = find_fills(&prober, &l2_fills);
        assert_true(!exact || second.undecided == 0);
        assert_fills(&second, &l2, false);
        assert_priorities(&prober, &second, &l2, false, exact);
        fth_device_close(prober.device);
    }
}

/* ---- stores and copies ---- */

static bool is_store(size_t variant)
{
    return fth_variant_names[variant][0] == 's';
}

/* Draws what stores and copies do, and which accesses evict a line from the L1. A load that fills
 * the L1 leaves the line there. Policies of stores have the fill of st.wb, and the sizes of copies
 * the priority of cp.async.ca. Only the last variant keeps lines in the L2. */
static void draw_stores(struct fth_rng *rng, struct truth *l1, struct truth *l2)
{
    static const char *const priorities[] = {"normal", "first", "last"};
    for (size_t i = FTH_VARIANT_LOADS_END; i < FTH_VARIANTS; i++) {
        const char *name = fth_variant_names[i];
        const bool l2_only = strstr(name, ".L2::") != NULL, store = is_store(i);
        l1->listed[i] = !l2_only;
        l1->bytes[i] = (unsigned)fth_rng_below(rng, store ? 2 : 3) * SECTOR;
        l1->priority[i] = l1->bytes[i] ? priorities[fth_rng_below(rng, 3)] : "none";
        l2->listed[i] = true;
        l2->bytes[i] = store ? (unsigned)fth_rng_below(rng, 2) * SECTOR
                             : (unsigned)L2_FILL << fth_rng_below(rng, 2);
        if (store && l2_only)
            l2->bytes[i] = l2->bytes[FTH_VARIANT_ST_WB];
        l2->priority[i] = !store && (l2_only || i == FTH_VARIANT_CP_CA)
                              ? "normal"
                              : priorities[fth_rng_below(rng, i == FTH_VARIANT_ST_L2_LAST ? 3 : 2)];
        if (l2->bytes[i] == 0)
            l2->priority[i] = "none";
    }
    for (size_t i = FTH_VARIANT_NONE + 1; i < FTH_VARIANTS; i++) {
        const bool stays = fth_variant_names[i][0] == 'p' || (!is_store(i) && l1->bytes[i]);
        l1->kept[i] = stays || fth_rng_below(rng, 2) ? "yes" : "no";
    }
}

static void assert_kept(const struct fth_prober *prober, const struct fth_access_fills *fills,
                        const struct truth *truth)
{
    static const char *const words[] = {
        [FTH_KEPT_UNKNOWN] = "unknown", [FTH_KEPT_YES] = "yes", [FTH_KEPT_NO] = "no"};
    struct fth_fill_plan plan = l1_fills;
    struct fth_access_keeps found;
    struct fth_error error = FTH_NO_ERROR;
    plan.start_bytes = 24 << 20;
    plan.threshold_cycles = fills->threshold_cycles;
    if (fth_probe_access_keeps(prober, &plan, fills->variants, fills->count, &found, &error) !=
        FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < fills->count; i++)
        if (strcmp(words[found.kept[i]], truth->kept[fills->variants[i]]) != 0)
            fail_msg("%s keeps a line: %s, but %s was measured",
                     fth_variant_names[fills->variants[i]], truth->kept[fills->variants[i]],
                     words[found.kept[i]]);
    assert_true(fth_confidence(found.evidence) > 0.9);
}

static void random_stores_are_measured_right(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (unsigned i = 0; i < 6; i++) {
        struct truth l1, l2;
        struct fth_fill_plan plan = l1_fills;
        draw_truths(&rng, &l1, &l2);
        draw_stores(&rng, &l1, &l2);
        const struct fth_prober prober = open_gpu(&l1, &l2, "9.0", quiet);
        plan.stores = true;
        const struct fth_access_fills first = find_fills(&prober, &plan);
        assert_int_equal(first.undecided, 0);
        assert_fills(&first, &l1, true);
        assert_priorities(&prober, &first, &l1, true, true);
        assert_kept(&prober, &first, &l1);
        const struct fth_access_fills loads = find_fills(&prober, &l1_fills);
        assert_kept(&prober, &loads, &l1);
        plan = l2_fills;
        plan.stores = true;
        const struct fth_access_fills second = find_fills(&prober, &plan);
        assert_int_equal(second.undecided, 0);
        assert_fills(&second, &l2, true);
        assert_priorities(&prober, &second, &l2, false, true);
        fth_device_close(prober.device);
    }
}

/* A description without lists: stores leave nothing in the L1, and what they write in the L2. */
static void plain_stores_do_what_the_description_says(void **state)
{
    (void)state;
    const struct fth_prober prober = open_gpu(NULL, NULL, "9.0", quiet);
    struct fth_fill_plan plan = l1_fills;
    plan.stores = true;
    const struct fth_access_fills l1 = find_fills(&prober, &plan);
    plan = l2_fills;
    plan.stores = true;
    const struct fth_access_fills l2 = find_fills(&prober, &plan);
    assert_int_equal(l1.count, 11);
    assert_int_equal(l2.count, FTH_VARIANTS - FTH_VARIANT_LOADS_END);
    for (size_t i = 0; i < l1.count; i++)
        assert_int_equal(l1.bytes[i], l1.variants[i] == FTH_VARIANT_CP_CA ? SECTOR : 0);
    for (size_t i = 0; i < l2.count; i++)
        assert_int_equal(l2.bytes[i], is_store(l2.variants[i]) ? SECTOR : L2_FILL);
    fth_device_close(prober.device);
}

/* ---- other L1s ---- */

/* Opens a GPU with this L1 and the default L2. */
static struct fth_prober open_l1(const char *l1)
{
    char text[1024];
    struct fth_prober prober = {.sms = 2};
    struct fth_error error = FTH_NO_ERROR;
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
             "\"compute_capability\": \"9.0\", \"sms\": 2, \"clock_mhz\": 1000}, \"elements\": "
             "{\"l1\": {%s}, \"l2\": {\"size_bytes\": %d, \"latency_cycles\": 100}, "
             "\"memory\": {\"latency_cycles\": 900}}}",
             l1, L2_BYTES);
    write_plain("gpu.json", text, strlen(text));
    if (fth_device_open("sim:./gpu.json", NULL, &prober.device, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", error.argument, error.cause, text);
    return prober;
}

/* A word that was loaded past L1 is in the L2: it must not count as one that L1 holds. */
static void an_l1_without_global_loads_is_inconclusive(void **state)
{
    (void)state;
    const struct fth_prober prober = open_l1("\"size_bytes\": 16384, \"line_bytes\": 128, "
                                             "\"latency_cycles\": 30, \"caches\": [\"local\"]");
    struct fth_access_fills fills;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_access_fills(&prober, &l1_fills, &fills, &error), FTH_INCONCLUSIVE);
    fth_device_close(prober.device);
}

/* With 64 lines and random replacement, a request has only four lines of each kind. */
static void a_small_random_l1_has_normal_priorities(void **state)
{
    (void)state;
    const struct fth_prober prober =
        open_l1("\"size_bytes\": 8192, \"line_bytes\": 128, \"sector_bytes\": 32, \"policy\": "
                "\"random\", \"latency_cycles\": 30");
    const struct fth_access_fills fills = find_fills(&prober, &l1_fills);
    const struct fth_priority_plan plan = {.path = FTH_PATH_CA,
                                           .carveout_percent = 0,
                                           .line_bytes = LINE,
                                           .lines = 64,
                                           .start_bytes = 32 << 20,
                                           .threshold_cycles = fills.threshold_cycles};
    static const enum fth_variant variants[] = {FTH_VARIANT_LD_CA, FTH_VARIANT_LD_CS,
                                                FTH_VARIANT_LD_NC, FTH_VARIANT_LD_L1_FIRST};
    struct fth_access_priorities found;
    assert_int_equal(
        fth_probe_access_priorities(&prober, &plan, variants, FTH_COUNT(variants), &found, NULL),
        FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(variants); i++)
        assert_int_equal(found.priorities[i], FTH_ACCESS_NORMAL);
    fth_device_close(prober.device);
}

/* Where reads of a quarter of the lines evict all lines that were read before, as with a cache that
 * is 16 times smaller than assumed, lines that are evicted first cannot be told from others. */
static void priorities_that_cannot_show_are_unknown(void **state)
{
    (void)state;
    const struct fth_prober prober =
        open_l1("\"size_bytes\": 8192, \"line_bytes\": 128, \"sector_bytes\": 32, \"policy\": "
                "\"lru\", \"latency_cycles\": 30");
    const struct fth_priority_plan plan = {.path = FTH_PATH_CA,
                                           .carveout_percent = 0,
                                           .line_bytes = LINE,
                                           .lines = 1024,
                                           .start_bytes = 32 << 20,
                                           .threshold_cycles = 60};
    static const enum fth_variant variants[] = {FTH_VARIANT_LD_CA, FTH_VARIANT_LD_CS};
    struct fth_access_priorities found;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(
        fth_probe_access_priorities(&prober, &plan, variants, FTH_COUNT(variants), &found, &error),
        FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "a quarter of the lines"));
    fth_device_close(prober.device);
}

/* ---- decisions ---- */

static void priorities_follow_from_what_stays(void **state)
{
    (void)state;
    static const struct {
        double own[3], plain[3];
        enum fth_access_priority priority;
    } rows[] = {
        {{1, 0.5, 0}, {1, 0.6, 0}, FTH_ACCESS_NORMAL},
        {{0, 0, 0}, {1, 0.6, 0}, FTH_ACCESS_FIRST},
        {{1, 1, 1}, {1, 0.6, 0}, FTH_ACCESS_LAST},
        {{1, 1, 0.5}, {1, 0.6, 0}, FTH_ACCESS_UNKNOWN}, /* neither last nor normal */
        {{1, 1, 1}, {1, 1, 1}, FTH_ACCESS_UNKNOWN},     /* nothing is evicted */
        {{0.45, 0, 0}, {1, 0.7, 0}, FTH_ACCESS_FIRST},  /* all, when most plain lines stay */
        {{0.2, 0, 0}, {1, 0.4, 0}, FTH_ACCESS_UNKNOWN}, /* some lines first, others not */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_decide_priority(rows[i].own, rows[i].plain, 3), rows[i].priority);
}

/* ---- dissect ---- */

static struct fth_gpu *dissect(const struct fth_prober *prober)
{
    const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.only = "l1,l2");
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_dissect(prober->device, &options, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_gpu_validate(gpu, NULL), FTH_OK);
    return gpu;
}

static void dissect_writes_the_lists(void **state)
{
    (void)state;
    struct truth l1 = {{false}, {0}, {NULL}, {NULL}}, l2 = l1;
    static const struct {
        enum fth_variant variant;
        unsigned l1, l2;
        const char *l1_priority, *l2_priority;
    } rows[] = {{FTH_VARIANT_LD_CA, 32, 64, "normal", "normal"},
                {FTH_VARIANT_LD_L1_NO_ALLOCATE, 0, 64, "none", "first"},
                {FTH_VARIANT_LD_L1_LAST, 32, 64, "last", "normal"},
                {FTH_VARIANT_LD_L2_128B, 0, 128, NULL, "normal"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const enum fth_variant variant = rows[i].variant;
        l1.listed[variant] = rows[i].l1_priority != NULL;
        l2.listed[variant] = true;
        l1.bytes[variant] = rows[i].l1;
        l2.bytes[variant] = rows[i].l2;
        l1.priority[variant] = rows[i].l1_priority;
        l2.priority[variant] = rows[i].l2_priority;
    }
    const struct fth_prober prober = open_gpu(&l1, &l2, "9.0", quiet);
    struct fth_gpu *gpu = dissect(&prober);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_dissection(gpu, NULL, &text, &size, NULL), FTH_OK);
    static const char *const lines[] = {
        "\nBytes that a miss fills      L1             L2\n",
        "\n  ld.ca                      32 B           64 B\n",
        "\n  ld.cg                      -              64 B\n",
        "\n  ld.L2::128B                               128 B\n",
        "\n  ld.L1::evict_last          32 B, last     64 B\n",
        "\n  ld.L1::no_allocate         -              64 B, first\n",
        "\n  prefetch.L2                -              -\n",
        "\n  st.wb                      evicts         32 B\n",
        "\n  cp.async.L2::128B                         128 B\n",
    };
    for (size_t i = 0; i < FTH_COUNT(lines); i++)
        if (!strstr(text, lines[i]))
            fail_msg("%s is missing in:\n%s", lines[i], text);
    free(text);
    fth_gpu_destroy(gpu);
    fth_device_close(prober.device);
}

static void an_old_gpu_has_no_hints(void **state)
{
    (void)state;
    const struct fth_prober prober = open_gpu(NULL, NULL, "7.5", quiet);
    struct fth_gpu *gpu = dissect(&prober);
    assert_null(fth_gpu_attribute(gpu, "l1", "access_variants"));
    assert_non_null(strstr(fth_gpu_unknown(gpu, "l1", "access_variants"), "8.0"));
    assert_non_null(strstr(fth_gpu_unknown(gpu, "l2", "access_variants"), "8.0"));
    fth_gpu_destroy(gpu);
    fth_device_close(prober.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_gpu_fills_what_its_description_says),
        cmocka_unit_test(random_gpus_are_measured_right),
        cmocka_unit_test(random_stores_are_measured_right),
        cmocka_unit_test(plain_stores_do_what_the_description_says),
        cmocka_unit_test(an_l1_without_global_loads_is_inconclusive),
        cmocka_unit_test(a_small_random_l1_has_normal_priorities),
        cmocka_unit_test(priorities_that_cannot_show_are_unknown),
        cmocka_unit_test(priorities_follow_from_what_stays),
        cmocka_unit_test(dissect_writes_the_lists),
        cmocka_unit_test(an_old_gpu_has_no_hints),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
