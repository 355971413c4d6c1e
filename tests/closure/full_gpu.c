/* Random descriptions of small GPUs for the closure test of 'fathom topo --full'; see full_gpu.h.
 */
#include "closure/full_gpu.h"

#include "check.h"
#include "gpu/gpu.h"
#include "stats/stats.h"

#include <string.h>

enum { MAX_GPCS = 4, MAX_TPCS = 4, MAX_SMS = 2 * MAX_GPCS * MAX_TPCS };
enum { LINE_BYTES = 128, SECTOR_BYTES = 32, PAGE_BYTES = 2 << 20 };

static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

static const char *one_of(struct fth_rng *rng, const char *const *words, size_t count)
{
    return words[fth_rng_below(rng, count)];
}

/* Where the SMs are. The numbers of a list are those of each SM. */
struct layout {
    size_t sms;
    unsigned gpc[MAX_SMS], tpc[MAX_SMS], group[MAX_SMS], partition[MAX_SMS];
};

/* One to four GPCs of one to four TPCs with two SMs each. The TPCs are numbered in random order. */
static struct layout random_layout(struct fth_rng *rng, bool two_partitions)
{
    struct layout layout = {0};
    unsigned owner[MAX_GPCS * MAX_TPCS], side[MAX_GPCS];
    size_t tpcs = 0;
    const unsigned gpcs = (unsigned)between(rng, 1, MAX_GPCS);
    for (unsigned gpc = 0; gpc < gpcs; gpc++) {
        side[gpc] = two_partitions && fth_rng_below(rng, 2);
        for (uint64_t left = between(rng, 1, MAX_TPCS); left; left--)
            owner[tpcs++] = gpc;
    }
    for (size_t i = tpcs; i > 1; i--) {
        const size_t other = fth_rng_below(rng, i);
        const unsigned moved = owner[i - 1];
        owner[i - 1] = owner[other];
        owner[other] = moved;
    }
    /* The partition of the first SM is 0. */
    const unsigned flip = side[owner[0]];
    for (size_t sm = 0; sm < 2 * tpcs; sm++) {
        layout.tpc[sm] = (unsigned)sm / 2;
        layout.gpc[sm] = layout.group[sm] = owner[sm / 2];
        layout.partition[sm] = side[owner[sm / 2]] ^ flip;
    }
    layout.sms = 2 * tpcs;
    return layout;
}

static void add_list(struct fth_buffer *text, const char *name, const unsigned *list, size_t count)
{
    fth_buffer_format(text, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(text, "%s%u", i ? "," : "", list[i]);
    fth_buffer_text(text, "]");
}

static void add_text(struct fth_buffer *text, const char *name, const char *value)
{
    fth_buffer_format(text, ", \"%s\": \"%s\"", name, value);
}

static void add_number(struct fth_buffer *text, const char *name, uint64_t value)
{
    fth_buffer_format(text, ", \"%s\": %llu", name, (unsigned long long)value);
}

static void add_masks(struct fth_buffer *text, const char *name, const uint64_t *list, size_t count)
{
    fth_buffer_format(text, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(text, "%s%llu", i ? "," : "", (unsigned long long)list[i]);
    fth_buffer_text(text, "]");
}

/* ---- loads with hints ---- */

/* What the variants of a load do in one cache. */
struct effects {
    bool listed[FTH_VARIANTS];
    uint64_t bytes[FTH_VARIANTS];
    const char *priority[FTH_VARIANTS];
};

static bool is_l2_only(size_t variant)
{
    return strncmp(fth_variant_names[variant], "ld.L2", 5) == 0 ||
           strncmp(fth_variant_names[variant], "prefetch.L2::", 13) == 0;
}

/* Draws what the variants do. The plain loads, ld.ca and ld.cg, are normal. A miss of L1 fetches no
 * more than the L2 fills, which would otherwise be filled as well. The hints for the L2 do not
 * affect L1; its eviction priorities have the fill of ld.ca, and its sizes the priority of ld.ca.
 * Only variants that are measured last keep lines in the L2: a small L2 would otherwise have no
 * place for other lines during the measurements that follow. */
static void draw_effects(struct fth_rng *rng, uint64_t fill_bytes, struct effects *l1,
                         struct effects *l2)
{
    static const char *const priorities[] = {"normal", "first", "last"};
    *l1 = *l2 = (struct effects){{false}, {0}, {NULL}};
    for (size_t i = FTH_VARIANT_NONE + 1; i < FTH_VARIANT_LOADS_END; i++) {
        const bool plain = i == FTH_VARIANT_LD_CA || i == FTH_VARIANT_LD_CG;
        const bool sized = i >= FTH_VARIANT_LD_L2_64B && i <= FTH_VARIANT_LD_L2_256B;
        const bool policy = is_l2_only(i) && !sized && fth_variant_names[i][0] == 'l';
        l1->listed[i] = !is_l2_only(i);
        l1->bytes[i] = i == FTH_VARIANT_LD_CA ? SECTOR_BYTES
                       : i == FTH_VARIANT_LD_CG
                           ? 0
                           : fth_rng_below(rng, 1 + fill_bytes / SECTOR_BYTES) * SECTOR_BYTES;
        /* A fill is one sector or, for a line of four, two or four. */
        l1->bytes[i] -= l1->bytes[i] == 3 * SECTOR_BYTES ? SECTOR_BYTES : 0;
        l1->priority[i] = plain ? "normal" : priorities[fth_rng_below(rng, 3)];
        l2->listed[i] = true;
        l2->bytes[i] = fill_bytes << (plain || policy ? 0 : fth_rng_below(rng, 3));
        const unsigned kinds = is_l2_only(i) && i >= FTH_VARIANT_LD_L2_LAST ? 3 : 2;
        l2->priority[i] = plain || sized ? "normal" : priorities[fth_rng_below(rng, kinds)];
        if (l1->bytes[i] == 0)
            l1->priority[i] = "none";
    }
}

static void add_effects(struct fth_buffer *text, const struct effects *effects)
{
    static const char *const lists[] = {"access_variants", "access_fill_bytes",
                                        "access_priorities"};
    for (size_t list = 0; list < FTH_COUNT(lists); list++) {
        const char *comma = "";
        fth_buffer_format(text, ", \"%s\": [", lists[list]);
        for (size_t i = 0; i < FTH_VARIANTS; i++) {
            if (!effects->listed[i])
                continue;
            if (list == 1)
                fth_buffer_format(text, "%s%llu", comma, (unsigned long long)effects->bytes[i]);
            else
                fth_buffer_format(text, "%s\"%s\"", comma,
                                  list == 0 ? fth_variant_names[i] : effects->priority[i]);
            comma = ",";
        }
        fth_buffer_text(text, "]");
    }
}

/* What is drawn in addition to the structure of L1 and L2. */
struct extras {
    bool sliced;         /* the L2 has slices */
    bool hinted;         /* the description says what loads with hints do */
    uint64_t fill_bytes; /* of the L2 */
    struct effects l1, l2;
    const char *addressing;                   /* of the L1; NULL: the GPU has no TLB */
    uint64_t page_table_bytes, switch_cycles; /* 0: accesses of other page tables are not slower */
};

/* ---- L1 and L2 ---- */

static const char *const allocations[] = {"allocate", "no_allocate"};

static void add_l1(struct fth_rng *rng, struct fth_buffer *text, const struct extras *extras)
{
    static const char *const hits[] = {"update", "evict"}, *const evicted[] = {"sector", "line"};
    fth_buffer_text(text, "\"l1\": {\"scope\": \"sm\", \"latency_cycles\": 32");
    add_number(text, "line_bytes", 128);
    add_number(text, "sector_bytes", 32);
    add_number(text, "size_bytes", between(rng, 64, 192) * 128);
    add_text(text, "write_miss", one_of(rng, allocations, FTH_COUNT(allocations)));
    const char *const hit = one_of(rng, hits, FTH_COUNT(hits));
    const char *const what = one_of(rng, evicted, FTH_COUNT(evicted));
    add_text(text, "write_hit", hit);
    if (strcmp(hit, "evict") == 0)
        add_text(text, "write_evicts", what);
    if (extras->hinted)
        add_effects(text, &extras->l1);
    if (extras->addressing)
        add_text(text, "addressing", extras->addressing);
    fth_buffer_text(text, "}, ");
}

/* An L2 with slices has no joins: a simulated GPU joins the reads that would delay others. */
static void add_joins(struct fth_rng *rng, struct fth_buffer *text, const struct layout *layout,
                      bool sliced)
{
    static const char *const extents[] = {"sectors", "line"};
    const uint64_t window = between(rng, 60, 140);
    const char *const extent = one_of(rng, extents, FTH_COUNT(extents));
    if (fth_rng_below(rng, 4) == 0 || sliced)
        return;
    add_list(text, "join_group_by_sm", layout->group, layout->sms);
    add_number(text, "join_window_cycles", window);
    add_text(text, "join_extent", extent);
}

/* Cycles by which the latency of a slice differs from that of the L2, at most. Chosen: with more,
 * the means of chains of different length, over few slices, differ by more than 3 %, as if the
 * longer one did not fit (src/probe/load_latency.c). */
enum { MAX_SLICE_EXTRA = 8 };

/* Adds slices to an L2. The parities that select them are independent of each other and of the
 * home, and the slice changes at every `granularity` bytes. A number of slices that is no power of
 * two is a function of two more parities. */
static void add_slices(struct fth_rng *rng, struct fth_buffer *text, const struct layout *layout,
                       uint64_t home_mask, uint64_t latency)
{
    static const unsigned counts[] = {2, 3, 4, 5, 6, 8};
    const unsigned slices = counts[fth_rng_below(rng, FTH_COUNT(counts))];
    const uint64_t granularity = (uint64_t)LINE_BYTES << fth_rng_below(rng, 2);
    uint64_t masks[8], cycles[MAX_GPCS * 8];
    size_t mask_count = 0, groups = 0;
    struct fth_gf2 space = {0};
    while ((size_t)1 << mask_count < slices)
        mask_count++;
    mask_count += slices & (slices - 1) ? 2 : 0;
    if (home_mask)
        fth_gf2_add(&space, home_mask);
    for (size_t i = 0; i < mask_count; i++)
        do
            masks[i] = fth_rng_below(rng, PAGE_BYTES / granularity) * granularity |
                       (i == 0 ? granularity : 0);
        while (!fth_gf2_add(&space, masks[i]));
    for (size_t i = 0; i < layout->sms; i++)
        groups = layout->group[i] >= groups ? layout->group[i] + 1 : groups;
    for (size_t i = 0; i < groups * slices; i++)
        cycles[i] = latency + between(rng, 0, 2 * MAX_SLICE_EXTRA) - MAX_SLICE_EXTRA;
    add_number(text, "slices", slices * (home_mask ? 2 : 1));
    add_number(text, "slice_bytes", granularity);
    add_masks(text, "slice_masks", masks, mask_count);
    add_list(text, "slice_group_by_sm", layout->group, layout->sms);
    add_masks(text, "slice_latency_cycles", cycles, groups * slices);
}

/* An L2 with one or two partitions. Its size is at least four times that of the largest L1. */
static void add_l2(struct fth_rng *rng, struct fth_rng *more, struct fth_buffer *text,
                   const struct layout *layout, bool two_partitions, const struct extras *extras)
{
    static const char *const policies[] = {"lru", "lru", "fifo"},
                             *const partly[] = {"fetch", "mask"},
                             *const copies[] = {"invalidate", "update"},
                             *const functions[] = {"mod", "xor"};
    const uint64_t ways = between(rng, 4, 20), latency = between(rng, 180, 400);
    const uint64_t sets = (uint64_t)1 << between(rng, ways < 8 ? 8 : 6, 9);
    fth_buffer_format(text, "\"l2\": {\"scope\": \"gpu\", \"latency_cycles\": %llu",
                      (unsigned long long)latency);
    add_number(text, "line_bytes", 128);
    add_number(text, "sector_bytes", 32);
    add_number(text, "sets", sets);
    add_number(text, "ways", ways);
    add_number(text, "size_bytes", sets * ways * 128 * (two_partitions ? 2 : 1));
    add_text(text, "policy", one_of(rng, policies, FTH_COUNT(policies)));
    add_text(text, "index", one_of(rng, functions, FTH_COUNT(functions)));
    add_text(text, "write_miss", one_of(rng, allocations, FTH_COUNT(allocations)));
    add_text(text, "partial_write", one_of(rng, partly, FTH_COUNT(partly)));
    const char *const copy = one_of(rng, copies, FTH_COUNT(copies));
    /* The home must not follow from the set alone: lines of one home would then use only a part of
     * the sets, and an L2 with two partitions would behave like one with one. So the mask has a bit
     * above those that select the set. */
    const unsigned above = 7 + (unsigned)__builtin_ctzll(sets) + (unsigned)between(rng, 0, 2);
    const uint64_t far = latency + between(rng, 80, 200), memory = far + between(rng, 120, 400);
    const uint64_t mask = between(rng, 0, 31) << 12 | (uint64_t)1 << (above < 12 ? 12 : above);
    if (two_partitions) {
        add_text(text, "write_far_copy", copy);
        add_number(text, "partitions", 2);
        add_number(text, "far_latency_cycles", far);
        add_number(text, "home_mask", mask);
        add_list(text, "partition_by_sm", layout->partition, layout->sms);
    }
    add_joins(rng, text, layout, extras->sliced);
    if (extras->sliced)
        add_slices(more, text, layout, two_partitions ? mask : 0, latency);
    add_number(text, "fill_bytes", extras->fill_bytes);
    if (extras->hinted)
        add_effects(text, &extras->l2);
    fth_buffer_format(text,
                      "}, \"memory\": {\"scope\": \"gpu\", \"size_bytes\": 4294967296, "
                      "\"latency_cycles\": %llu",
                      (unsigned long long)memory);
    if (extras->page_table_bytes) {
        add_number(text, "page_table_bytes", extras->page_table_bytes);
        add_number(text, "page_table_switch_cycles", extras->switch_cycles);
    }
    fth_buffer_text(text, "}");
}

/* ---- instruction and constant caches ---- */

/* The storage of a cache. */
struct storage {
    uint64_t sets, ways, line_bytes;
};

static uint64_t storage_bytes(struct storage storage)
{
    return storage.sets * storage.ways * storage.line_bytes;
}

static void add_storage(struct fth_buffer *text, const char *name, struct storage storage)
{
    fth_buffer_format(text, "\"%s\": {\"scope\": \"sm\"", name);
    add_number(text, "size_bytes", storage_bytes(storage));
    add_number(text, "line_bytes", storage.line_bytes);
    add_number(text, "sets", storage.sets);
    add_number(text, "ways", storage.ways);
}

/* Draws a policy that a cache with this many ways can have: the tree of PLRU needs a power of two.
 */
static const char *draw_policy(struct fth_rng *rng, uint64_t ways)
{
    static const char *const policies[] = {"lru", "fifo", "plru"};
    return one_of(rng, policies, ways < 4 || ways & (ways - 1) ? 2 : 3);
}

/* Adds one or two instruction caches and two constant caches. A single instruction cache is called
 * L1, two are called L0 and L1. The constant L1.5 shares its storage
 * with the last instruction cache, and can then be larger than the 64 KiB of a constant bank, or
 * has its own. */
static void add_code_and_constants(struct fth_rng *rng, struct fth_buffer *text)
{
    static const char *const all[] = {"instruction_l0", "instruction_l1"};
    const size_t levels = between(rng, 1, 2);
    const char *const *names = all + FTH_COUNT(all) - levels;
    const bool unified = fth_rng_below(rng, 2);
    uint64_t way_bytes = UINT64_C(2048) << fth_rng_below(rng, 2);
    uint64_t tenths = between(rng, 10, 20); /* of cycles per instruction */
    struct storage storage = {0};
    for (size_t i = 0; i < levels; i++) {
        storage.line_bytes = UINT64_C(64) << fth_rng_below(rng, 3);
        storage.sets = way_bytes / storage.line_bytes;
        storage.ways = between(rng, 4, 8);
        add_storage(text, names[i], storage);
        add_text(text, "policy", unified ? "lru" : draw_policy(rng, storage.ways));
        fth_buffer_format(text, ", \"cycles_per_instruction\": %llu.%llu",
                          (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
        if (unified && i + 1 == levels)
            fth_buffer_text(text, ", \"shared_with\": [\"constant_l15\"]");
        fth_buffer_text(text, "}, ");
        way_bytes *= 4;
        tenths = tenths * between(rng, 20, 30) / 10;
    }
    const struct storage first = {
        .sets = UINT64_C(1) << between(rng, 2, 3), .ways = between(rng, 2, 4), .line_bytes = 64};
    add_storage(text, "constant_l1", first);
    add_text(text, "policy", draw_policy(rng, first.ways));
    add_number(text, "latency_cycles", between(rng, 12, 30));
    fth_buffer_text(text, "}, ");
    if (!unified)
        storage = (struct storage){.sets = UINT64_C(1) << between(rng, 4, 5),
                                   .ways = between(rng, 4, 8),
                                   .line_bytes = 64 << fth_rng_below(rng, 2)};
    add_storage(text, "constant_l15", storage);
    add_text(text, "policy", "lru");
    add_number(text, "latency_cycles", between(rng, 70, 110));
    if (unified)
        fth_buffer_format(text, ", \"shared_with\": [\"%s\"]", names[levels - 1]);
    fth_buffer_text(text, "}, ");
}

/* ---- TLBs ---- */

/* Adds one or two TLBs. */
static void add_tlbs(struct fth_rng *rng, struct fth_buffer *text)
{
    static const char *const names[] = {"tlb_l1", "tlb_l2"}, *const policies[] = {"lru", "fifo"};
    const size_t levels = between(rng, 1, 2);
    const uint64_t page = (uint64_t)PAGE_BYTES << fth_rng_below(rng, 2);
    uint64_t entries = 0;
    for (size_t i = 0; i < levels; i++) {
        const uint64_t sets = UINT64_C(1) << fth_rng_below(rng, 2 + i);
        const uint64_t ways =
            i ? (3 * entries + sets - 1) / sets : between(rng, 16 / sets, 24 / sets);
        entries = sets * ways;
        fth_buffer_format(text, "\"%s\": {\"scope\": \"gpu\"", names[i]);
        add_number(text, "page_bytes", page);
        add_number(text, "entries", entries);
        add_number(text, "reach_bytes", entries * page);
        add_number(text, "sets", sets);
        add_number(text, "ways", ways);
        add_text(text, "policy", one_of(rng, policies, FTH_COUNT(policies)));
        add_number(text, "miss_penalty_cycles", between(rng, 40, 120));
        fth_buffer_text(text, "}, ");
    }
}

/* ---- the whole description ---- */

static struct extras draw_extras(struct fth_rng *rng)
{
    static const char *const addressings[] = {"virtual", "physical"};
    struct extras extras = {.sliced = fth_rng_below(rng, 4) > 0,
                            .hinted = fth_rng_below(rng, 2),
                            .fill_bytes = (uint64_t)SECTOR_BYTES << fth_rng_below(rng, 3)};
    draw_effects(rng, extras.fill_bytes, &extras.l1, &extras.l2);
    const char *const addressing = one_of(rng, addressings, FTH_COUNT(addressings));
    const uint64_t table = UINT64_C(134217728) << fth_rng_below(rng, 2);
    const uint64_t cycles = between(rng, 600, 1200);
    if (fth_rng_below(rng, 2) == 0)
        return extras;
    extras.addressing = addressing;
    if (fth_rng_below(rng, 2)) {
        extras.page_table_bytes = table;
        extras.switch_cycles = cycles;
    }
    return extras;
}

/* Most GPUs limit the loads of a warp in flight. The numbers are independent of the others. */
static void add_flight(uint64_t seed, struct fth_buffer *text)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed + 1000000);
    if (fth_rng_below(&rng, 4))
        add_number(text, "loads_per_scoreboard", between(&rng, 16, 120));
}

struct fth_buffer full_description(uint64_t seed, bool noisy, bool disturbed)
{
    static const char *const orders[] = {"sm", "gpc"}, *const refills[] = {"free", "order"};
    struct fth_rng rng, more;
    struct fth_buffer text = {0};
    fth_rng_init(&rng, seed);
    fth_rng_init(&more, ~seed); /* independent of the placement and the structures of L1 and L2 */
    const bool two_partitions = fth_rng_below(&rng, 2);
    const struct layout layout = random_layout(&rng, two_partitions);
    struct extras extras = draw_extras(&more);
    fth_buffer_format(&text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Random\", \"sms\": "
                      "%zu, \"clock_mhz\": 1500, \"compute_capability\": \"9.0\"",
                      layout.sms);
    add_list(&text, "gpc_by_sm", layout.gpc, layout.sms);
    add_list(&text, "tpc_by_sm", layout.tpc, layout.sms);
    const char *const order = one_of(&rng, orders, FTH_COUNT(orders));
    add_text(&text, "block_order", order);
    /* A simulated GPU executes one block after the other. Reads are only delayed by those of blocks
     * before, so that the last SM, which times them, must have the last block. */
    extras.sliced = extras.sliced && strcmp(order, "sm") == 0;
    add_text(&text, "block_refill", one_of(&rng, refills, FTH_COUNT(refills)));
    add_flight(seed, &text);
    fth_buffer_format(&text, "}, \"noise\": {\"seed\": %llu%s%s}, \"elements\": {",
                      (unsigned long long)seed,
                      noisy || disturbed ? ", \"jitter_cycles\": 2, \"outlier_rate\": 0.001" : "",
                      disturbed ? ", \"neighbour_rate\": 0.00001" : "");
    add_l1(&rng, &text, &extras);
    if (fth_rng_below(&more, 2))
        add_code_and_constants(&more, &text);
    if (extras.addressing)
        add_tlbs(&more, &text);
    add_l2(&rng, &more, &text, &layout, two_partitions, &extras);
    fth_buffer_text(&text, ", \"cluster_shared\": {\"scope\": \"gpc\", \"latency_cycles\": 180}, "
                           "\"shared\": {\"scope\": \"sm\", \"size_bytes\": 65536, "
                           "\"max_block_bytes\": 65536, "
                           "\"latency_cycles\": 24}}}");
    return text;
}
