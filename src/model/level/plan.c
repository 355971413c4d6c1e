/* Plans the order in which a cache with several banks processes the requests of a group.
 *
 * Banks affect each other only through the MSHRs that they share. A *cluster* is the banks of one
 * set of MSHRs. Clusters are processed one after the other. In each step of a cluster, every bank
 * processes the first requests of its queue, one per port, and over all banks of the cluster,
 * requests of lower warps go first. In Table 3, A and C of {A, B, C, D} get the two registers; in
 * the next step, B and D go before the requests of the second warp.
 *
 * A plan is this order if no request fails, which is the usual case; banks.c handles failures. It
 * depends on the banks and ports, but not on what the cache holds. Caches that receive the same
 * requests and have the same banks therefore share plans (l2_sides.c). */
#include "model/level/cache_level.h"

#include <stdlib.h>
#include <string.h>

/* ---- address mapping ---- */

/* Sets *which to the part that the address belongs to. Returns the address within that part, where
 * the pieces of the part are contiguous. */
static FTH_INLINE uint64_t split_address(const struct fth_interleaving *interleaving,
                                         uint64_t address, uint64_t *which)
{
    if (interleaving->powers_of_two) {
        const uint64_t piece = address >> interleaving->bytes_shift;
        *which = piece & (interleaving->count - 1);
        return piece >> interleaving->count_shift << interleaving->bytes_shift |
               (address & (interleaving->bytes - 1));
    }
    const uint64_t piece = address / interleaving->bytes;
    *which = piece % interleaving->count;
    return piece / interleaving->count * interleaving->bytes + address % interleaving->bytes;
}

/* Returns the unit of an address. Addresses are interleaved over the partitions, and within a
 * partition over its banks (Figure 1 b). *local gets the address within the unit. */
static FTH_INLINE uint32_t find_unit(const struct fth_banking *banking, uint64_t address,
                                     uint64_t *local)
{
    uint64_t partition, bank;
    address = split_address(&banking->partitions, address, &partition);
    *local = split_address(&banking->banks, address, &bank);
    return (uint32_t)(partition * banking->banks.count + bank);
}

/* ---- the order ---- */

/* The next free port of a unit. */
struct port {
    uint32_t step, used; /* `used` ports are taken in this step */
    uint32_t cluster;
};

/* Memory for the plan of one group. */
struct scratch {
    uint64_t *lines;           /* [requests] in their order of arrival */
    struct fth_planned *items; /* [requests] the same */
    uint32_t *by_step;         /* [requests] indices of requests */
    uint32_t *steps;           /* [requests] number of requests of each step, later their place */
    uint32_t *clusters;        /* [units] the same for clusters */
    struct port *ports;        /* [units] */
};

static bool divide_scratch(struct fth_plan *plan, size_t count, struct scratch *scratch)
{
    const size_t units = plan->banking.unit_count;
    const size_t bytes =
        count * (sizeof *scratch->lines + sizeof *scratch->items + 2 * sizeof(uint32_t)) +
        units * (sizeof(uint32_t) + sizeof *scratch->ports);
    if (bytes > plan->scratch_bytes) {
        free(plan->scratch);
        plan->scratch = malloc(2 * bytes);
        plan->scratch_bytes = plan->scratch ? 2 * bytes : 0;
        if (!plan->scratch)
            return false;
    }
    scratch->lines = plan->scratch;
    scratch->items = (struct fth_planned *)(void *)(scratch->lines + count);
    scratch->by_step = (uint32_t *)(void *)(scratch->items + count);
    scratch->steps = scratch->by_step + count;
    scratch->clusters = scratch->steps + count;
    scratch->ports = (struct port *)(void *)(scratch->clusters + units);
    memset(scratch->steps, 0, (count + units) * sizeof *scratch->steps);
    for (size_t unit = 0, cluster = 0; unit < units; cluster++)
        for (size_t i = 0; i < plan->banking.cluster_units && unit < units; i++)
            scratch->ports[unit++] = (struct port){.cluster = (uint32_t)cluster};
    return true;
}

static bool reserve(struct fth_plan *plan, size_t count)
{
    if (plan->count + count <= plan->capacity)
        return true;
    const size_t capacity = 2 * (plan->count + count);
    struct fth_planned *items = realloc(plan->items, capacity * sizeof *items);
    if (!items)
        return false;
    plan->items = items;
    uint64_t *lines = realloc(plan->lines, capacity * sizeof *lines);
    if (!lines)
        return false;
    plan->lines = lines;
    plan->capacity = capacity;
    return true;
}

/* Turns numbers of elements into the places of the first of them. */
static void add_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t own = counts[i];
        counts[i] = sum;
        sum += own;
    }
}

/* Sorts the requests of each step by warp, and within a warp by unit. Insertion sort is fast here
 * because they are mostly in order. */
static void sort_steps(struct fth_planned *items, uint64_t *lines, size_t count,
                       const struct fth_line_request *requests)
{
    for (size_t i = 1; i < count; i++) {
        const struct fth_planned item = items[i];
        const uint64_t line = lines[i];
        const uint32_t warp = requests[item.request].warp;
        size_t at = i;
        for (; at && items[at - 1].step == item.step && items[at - 1].cluster == item.cluster;
             at--) {
            const uint32_t before = requests[items[at - 1].request].warp;
            if (before < warp || (before == warp && items[at - 1].unit <= item.unit))
                break;
            items[at] = items[at - 1];
            lines[at] = lines[at - 1];
        }
        items[at] = item;
        lines[at] = line;
    }
}

/* Finds the unit, the line and the step of each request. Returns the last step. *descends: the
 * requests are not in strictly ascending order of warps. */
static FTH_INLINE uint32_t place_requests(const struct fth_banking *shared,
                                          const struct fth_line_request *requests, size_t count,
                                          const struct scratch *scratch, bool *descends)
{
    const struct fth_banking banking = *shared; /* a local copy, which no store can alias */
    uint32_t last_step = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t local;
        const uint32_t unit = find_unit(&banking, requests[i].line, &local);
        struct port *port = &scratch->ports[unit];
        const uint32_t step = port->step;
        scratch->lines[i] = local >> banking.line_shift;
        scratch->items[i] = (struct fth_planned){.request = (uint32_t)i,
                                                 .step = step,
                                                 .unit = (uint16_t)unit,
                                                 .cluster = (uint16_t)port->cluster};
        scratch->steps[step]++;
        scratch->clusters[port->cluster]++;
        last_step = step > last_step ? step : last_step;
        port->used++;
        port->step += port->used == banking.ports;
        port->used = port->used == banking.ports ? 0 : port->used;
        found |= i && requests[i].warp <= requests[i - 1].warp;
    }
    *descends = found;
    return last_step;
}

FTH_CLONES
static bool extend(struct fth_plan *plan, const struct fth_line_request *requests, size_t count)
{
    struct fth_planned *items = plan->items + plan->count;
    uint64_t *lines = plan->lines + plan->count;
    struct scratch scratch;
    bool descends;
    if (!divide_scratch(plan, count, &scratch))
        return false;
    const uint32_t last_step = place_requests(&plan->banking, requests, count, &scratch, &descends);
    add_up(scratch.steps, last_step + 1);
    add_up(scratch.clusters, plan->banking.unit_count);
    for (size_t i = 0; i < count; i++)
        scratch.by_step[scratch.steps[scratch.items[i].step]++] = (uint32_t)i;
    for (size_t i = 0; i < count; i++) {
        const uint32_t request = scratch.by_step[i];
        const uint32_t place = scratch.clusters[scratch.items[request].cluster]++;
        items[place] = scratch.items[request];
        lines[place] = scratch.lines[request];
    }
    if (descends)
        sort_steps(items, lines, count, requests);
    return true;
}

bool fth_plan_extend(struct fth_plan *plan, const struct fth_line_request *requests, size_t count)
{
    if (!count)
        return true;
    if (!reserve(plan, count) || !extend(plan, requests, count))
        return false;
    plan->count += count;
    return true;
}

static bool same_interleaving(const struct fth_interleaving *a, const struct fth_interleaving *b)
{
    return a->count == b->count && a->bytes == b->bytes;
}

bool fth_plan_use(struct fth_plan *plan, const struct fth_banking *banking)
{
    const struct fth_banking *own = &plan->banking;
    if (own->unit_count == banking->unit_count && own->cluster_units == banking->cluster_units &&
        own->ports == banking->ports && own->line_shift == banking->line_shift &&
        same_interleaving(&own->partitions, &banking->partitions) &&
        same_interleaving(&own->banks, &banking->banks))
        return true;
    plan->banking = *banking;
    plan->count = 0;
    return false;
}

void fth_plan_fini(struct fth_plan *plan)
{
    free(plan->items);
    free(plan->lines);
    free(plan->scratch);
    *plan = (struct fth_plan){0};
}
