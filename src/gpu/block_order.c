/* The SM that executes each block of a grid, by the rule of a description
 * (docs/gpu-description.md#placement-of-blocks).
 *
 * With the order "gpc", a GPU first distributes as many complete rounds as the grid has, with one
 * block per SM, then the remaining blocks:
 *
 *   - In a round, GPC after GPC receives one block per SM. The GPCs of block_first_gpcs come first.
 *     They receive the blocks of later rounds early: block_return_blocks lists how many blocks the
 *     other GPCs receive before each return. The last number applies to all further returns.
 *   - The remaining blocks go to SMs one by one: first to the GPCs of block_first_gpcs, to one SM
 *     of each TPC before the next SM of a TPC, and in turn to one TPC of each GPC. The blocks are
 *     then numbered GPC after GPC again.
 *
 * The GPC that is first differs from launch to launch. It is an argument of the functions.
 *
 * The rule was derived from the blocks of 124 launches on an H200, see
 * docs/methods/placement.md. */
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

struct fth_block_order {
    uint32_t sms;
    uint32_t gpcs[2];   /* number of GPCs: [1] that come first, [0] others */
    uint32_t first_sms; /* SMs of the GPCs that come first */
    uint32_t return_blocks[FTH_MAX_BLOCK_RETURNS]; /* [return_count] */
    uint32_t return_count; /* 0: the GPCs that come first never come early */
    uint32_t *listed;      /* [sms] by GPC, those that come first in front; by TPC; by number */
    uint32_t *begin;       /* [gpcs + 1] where a GPC begins in `listed` */
    uint32_t *filled;      /* [sms] the order in which a round that is not complete fills SMs */
    bool *used;            /* [sms] buffer */
};

/* ---- description ---- */

/* Copies a list with one number per SM. Returns false if it is not one, or a number is too large.
 */
static bool take_list(const struct fth_gpu *gpu, const char *name, uint32_t sms, uint16_t *list)
{
    const struct fth_attribute *attribute = fth_gpu_attribute(gpu, "device", name);
    if (!attribute || attribute->kind != FTH_NUMBERS || attribute->count != sms)
        return false;
    for (uint32_t i = 0; i < sms; i++) {
        if (!(attribute->numbers[i] >= 0 && attribute->numbers[i] <= UINT16_MAX))
            return false;
        list[i] = (uint16_t)attribute->numbers[i];
    }
    return true;
}

void fth_sm_map_read(const struct fth_gpu *gpu, struct fth_sm_map *map)
{
    const double sms = fth_gpu_number(gpu, "device", "sms", 0);
    const char *order = fth_gpu_text(gpu, "device", "block_order");
    const struct fth_attribute *first = fth_gpu_attribute(gpu, "device", "block_first_gpcs");
    const struct fth_attribute *returns = fth_gpu_attribute(gpu, "device", "block_return_blocks");
    *map = (struct fth_sm_map){0};
    if (!(sms >= 1 && sms <= FTH_MAX_MAPPED_SMS) ||
        !take_list(gpu, "gpc_by_sm", (uint32_t)sms, map->gpc))
        return;
    map->sms = (uint32_t)sms;
    if (!take_list(gpu, "tpc_by_sm", map->sms, map->tpc))
        for (uint32_t sm = 0; sm < map->sms; sm++)
            map->tpc[sm] = (uint16_t)sm;
    for (uint32_t sm = 0; sm < map->sms; sm++)
        for (size_t i = 0; first && first->kind == FTH_NUMBERS && i < first->count; i++)
            map->first[sm] = map->first[sm] || first->numbers[i] == map->gpc[sm];
    map->by_gpc = order && strcmp(order, "gpc") == 0;
    for (size_t i = 0; returns && returns->kind == FTH_NUMBERS && i < returns->count &&
                       i < FTH_MAX_BLOCK_RETURNS && returns->numbers[i] <= UINT32_MAX;
         i++)
        map->return_blocks[map->return_count++] = (uint32_t)returns->numbers[i];
}

/* ---- order ---- */

/* An SM with what the lists are sorted by. */
struct place {
    uint32_t sm, gpc, tpc;
    uint32_t phase; /* index of the SM in its TPC */
    uint32_t level; /* index of the TPC in its GPC */
    bool later;     /* its GPC does not come first */
};

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_listed(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int result = compare(a->later, b->later);
    result = result ? result : compare(a->gpc, b->gpc);
    result = result ? result : compare(a->tpc, b->tpc);
    return result ? result : compare(a->sm, b->sm);
}

static int compare_filled(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int result = compare(a->later, b->later);
    result = result ? result : compare(a->phase, b->phase);
    result = result ? result : compare(a->level, b->level);
    return result ? result : compare(a->gpc, b->gpc);
}

/* Fills the lists from `places`, an array of all SMs. */
static void make_lists(struct fth_block_order *order, struct place *places)
{
    const uint32_t sms = order->sms;
    uint32_t gpc = 0;
    qsort(places, sms, sizeof *places, compare_listed);
    for (uint32_t i = 0; i < sms; i++) {
        const struct place *before = i ? &places[i - 1] : NULL;
        const bool same_gpc = before && before->gpc == places[i].gpc;
        const bool same_tpc = same_gpc && before->tpc == places[i].tpc;
        places[i].phase = same_tpc ? before->phase + 1 : 0;
        places[i].level = same_tpc ? before->level : same_gpc ? before->level + 1 : 0;
        order->listed[i] = places[i].sm;
        order->first_sms += !places[i].later;
        if (!same_gpc) {
            order->begin[gpc++] = i;
            order->gpcs[!places[i].later]++;
        }
    }
    order->begin[gpc] = sms;
    qsort(places, sms, sizeof *places, compare_filled);
    for (uint32_t i = 0; i < sms; i++)
        order->filled[i] = places[i].sm;
}

enum fth_status fth_block_order_create(const struct fth_sm_map *map, struct fth_block_order **out,
                                       struct fth_error *error)
{
    struct fth_block_order *order = calloc(1, sizeof *order);
    struct place *places = calloc((size_t)map->sms + 1, sizeof *places);
    *out = order;
    if (order) {
        order->sms = map->sms;
        order->return_count = map->return_count;
        memcpy(order->return_blocks, map->return_blocks, sizeof order->return_blocks);
        order->listed = calloc((size_t)map->sms + 1, sizeof *order->listed);
        order->begin = calloc((size_t)map->sms + 1, sizeof *order->begin);
        order->filled = calloc((size_t)map->sms + 1, sizeof *order->filled);
        order->used = calloc((size_t)map->sms + 1, sizeof *order->used);
    }
    if (!order || !places || !order->listed || !order->begin || !order->filled || !order->used) {
        fth_block_order_destroy(order);
        free(places);
        *out = NULL;
        return fth_no_memory(error, "place blocks", NULL);
    }
    for (uint32_t sm = 0; sm < map->sms; sm++)
        places[sm] = (struct place){
            .sm = sm, .gpc = map->gpc[sm], .tpc = map->tpc[sm], .later = !map->first[sm]};
    make_lists(order, places);
    free(places);
    return FTH_OK;
}

void fth_block_order_destroy(struct fth_block_order *order)
{
    if (!order)
        return;
    free(order->listed);
    free(order->begin);
    free(order->filled);
    free(order->used);
    free(order);
}

uint32_t fth_block_order_gpcs(const struct fth_block_order *order, bool first)
{
    return order->gpcs[first];
}

/* ---- grids ---- */

/* The SMs of a grid while they are written. */
struct writer {
    const struct fth_block_order *order;
    uint32_t *sms;
    uint64_t count, limit;
};

/* Writes the SMs of the GPC with this index in `begin`; with `used_only`, those that are marked. */
static void write_gpc(struct writer *writer, uint32_t gpc, bool used_only)
{
    const struct fth_block_order *order = writer->order;
    for (uint32_t i = order->begin[gpc]; i < order->begin[gpc + 1]; i++)
        if ((!used_only || order->used[order->listed[i]]) && writer->count < writer->limit)
            writer->sms[writer->count++] = order->listed[i];
}

/* Writes all GPCs that come first, or all others, from `start` on. */
static void write_gpcs(struct writer *writer, bool first, uint32_t start, bool used_only)
{
    const struct fth_block_order *order = writer->order;
    const uint32_t gpcs = order->gpcs[first], offset = first ? 0 : order->gpcs[true];
    for (uint32_t i = 0; i < gpcs; i++)
        write_gpc(writer, offset + (start + i) % gpcs, used_only);
}

/* Whether the GPCs that come first receive the blocks of their next round early. They have received
 * those of `rounds` rounds, and the others `since` blocks since then. */
static bool comes_early(const struct fth_block_order *order, uint64_t rounds, uint64_t since)
{
    if (!order->return_count || !rounds)
        return false;
    return since >= order->return_blocks[FTH_MIN(rounds, order->return_count) - 1];
}

/* Writes `rounds` complete rounds. */
static void write_rounds(struct writer *writer, struct fth_block_start start, uint64_t rounds)
{
    const struct fth_block_order *order = writer->order;
    const uint32_t others = order->gpcs[false];
    uint64_t first_rounds = 0, since = 0;
    for (uint64_t round = 0; round < rounds && writer->count < writer->limit; round++) {
        for (uint32_t i = 0; i < others; i++) {
            const bool early = comes_early(order, first_rounds, since);
            if (first_rounds < rounds && (early || first_rounds <= round)) {
                write_gpcs(writer, true, start.first, false);
                first_rounds++;
                since = 0;
            }
            const uint64_t before = writer->count;
            write_gpc(writer, order->gpcs[true] + (start.other + i) % others, false);
            since += writer->count - before;
        }
        if (!others)
            write_gpcs(writer, true, start.first, false);
    }
}

void fth_block_order_grid(const struct fth_block_order *order, struct fth_block_start start,
                          uint64_t blocks, uint64_t count, uint32_t *sms)
{
    struct writer writer = {order, sms, 0, count};
    const uint32_t rest = (uint32_t)(blocks % order->sms);
    write_rounds(&writer, start, blocks / order->sms);
    memset(order->used, 0, order->sms * sizeof *order->used);
    for (uint32_t i = 0; i < rest; i++)
        order->used[order->filled[i]] = true;
    write_gpcs(&writer, true, start.first, true);
    write_gpcs(&writer, false, start.other, true);
}

/* ---- clusters ---- */

static int compare_numbers(const void *a, const void *b)
{
    return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Writes the cluster with this index among those of a GPC: it takes the next `size` SMs of the GPC,
 * which are repeated, in ascending order. */
static void write_cluster(struct writer *writer, uint32_t gpc, uint64_t index, uint32_t size)
{
    const struct fth_block_order *order = writer->order;
    const uint32_t first = order->begin[gpc], own = order->begin[gpc + 1] - first;
    uint32_t *sms = writer->sms + writer->count;
    if (writer->count + size > writer->limit)
        return;
    for (uint32_t i = 0; i < size; i++)
        sms[i] = order->listed[first + (uint32_t)((index * size + i) % own)];
    qsort(sms, size, sizeof *sms, compare_numbers);
    writer->count += size;
}

bool fth_block_order_clusters(const struct fth_block_order *order, struct fth_block_start start,
                              uint32_t size, uint64_t count, uint32_t *sms)
{
    const uint32_t gpcs = order->gpcs[false] + order->gpcs[true];
    struct writer writer = {order, sms, 0, count / size * size};
    bool fits = false;
    for (uint32_t gpc = 0; gpc < gpcs; gpc++)
        fits = fits || order->begin[gpc + 1] - order->begin[gpc] >= size;
    /* In wave w, a GPC with n SMs has executed n * w / size clusters before, and executes those up
     * to n * (w + 1) / size. */
    for (uint64_t wave = 0; fits && writer.count < writer.limit; wave++)
        for (uint32_t level = 0; level <= order->sms / size; level++)
            for (uint32_t i = 0; i < gpcs; i++) {
                const bool first = i < order->gpcs[true];
                const uint32_t others = order->gpcs[false], before = order->gpcs[true];
                const uint32_t gpc = first ? (start.first + i) % before
                                           : before + (start.other + i - before) % others;
                const uint64_t own = order->begin[gpc + 1] - order->begin[gpc];
                const uint64_t index = own * wave / size + level;
                if (own >= size && index < own * (wave + 1) / size)
                    write_cluster(&writer, gpc, index, size);
            }
    return fits;
}
