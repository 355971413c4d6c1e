/* The SMs on which the blocks of a launch run. If the description has no order of blocks, block i
 * runs on SM i modulo the number of SMs. Otherwise the first blocks, as many as the GPU holds at
 * the same time, follow that order (gpu/block_order.c). In both cases, a later block runs where the
 * first block ends (block_refill "free"), or the order is repeated. The GPC at which a launch
 * begins changes from launch to launch. */
#include "device/sim/sim.h"

#include <stdlib.h>

enum fth_status fth_sim_places_init(struct fth_sim_places *places, const struct fth_sim_plan *plan,
                                    struct fth_error *error)
{
    *places = (struct fth_sim_places){.plan = plan};
    return plan->sm_map.sms ? fth_block_order_create(&plan->sm_map, &places->order, error) : FTH_OK;
}

void fth_sim_places_fini(struct fth_sim_places *places)
{
    fth_block_order_destroy(places->order);
    free(places->table);
}

bool fth_sim_places_launch(struct fth_sim_places *places, uint64_t blocks, uint32_t cluster,
                           uint32_t max_resident)
{
    const struct fth_sim_plan *plan = places->plan;
    const uint64_t resident = (uint64_t)plan->sms * max_resident;
    places->count = 0;
    places->launches++;
    places->first_wave = blocks < resident ? blocks : resident;
    if (!places->order || !blocks || (cluster == 1 && !plan->sm_map.by_gpc))
        return true;
    const uint32_t first = fth_block_order_gpcs(places->order, true);
    const uint32_t others = fth_block_order_gpcs(places->order, false);
    /* Both change with each launch. Chosen, not derived. */
    const struct fth_block_start start = {.first = first ? (uint32_t)(places->launches % first) : 0,
                                          .other =
                                              others ? (uint32_t)(places->launches % others) : 0};
    uint64_t count = places->first_wave;
    count = count < cluster ? cluster : count / cluster * cluster;
    uint32_t *table = realloc(places->table, (size_t)count * sizeof *table);
    if (!table)
        return false;
    places->table = table;
    if (cluster == 1)
        fth_block_order_grid(places->order, start, count, count, table);
    else if (!fth_block_order_clusters(places->order, start, cluster, count, table))
        return true;
    places->count = (size_t)count;
    return true;
}

bool fth_sim_places_fit(const struct fth_sim_places *places, uint32_t cluster)
{
    const struct fth_block_start start = {0, 0};
    return !places->order || fth_block_order_clusters(places->order, start, cluster, 0, NULL);
}

uint32_t fth_sim_places_get(const struct fth_sim_places *places, uint64_t block)
{
    return places->count ? places->table[block % places->count]
                         : (uint32_t)(block % places->plan->sms);
}
