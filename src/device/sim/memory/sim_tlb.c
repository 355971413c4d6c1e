/* Address translation. The caches of an SM are virtually addressed, except for an L1 that the
 * description declares as physical, so only requests that leave the SM are translated. The TLBs are
 * looked up level by level until one has the page, and each level that misses adds its penalty.
 * TLBs keep their contents between launches. If no TLB has the page, a page table is needed. Each
 * page table that the launch has not used yet must be activated first, which takes time for all but
 * the first one of a launch. */
#include "device/sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_sim_tlbs_init(struct fth_sim_tlbs *tlbs, const struct fth_sim_plan *plan,
                                  struct fth_error *error)
{
    *tlbs = (struct fth_sim_tlbs){.plan = plan};
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++) {
        if (!plan->tlbs[i].present)
            continue;
        const struct fth_sim_shape *shape = &plan->tlbs[i].shape;
        tlbs->caches[i] = calloc(fth_sim_owner_count(shape, plan->sms), sizeof *tlbs->caches[i]);
        if (!tlbs->caches[i])
            return fth_no_memory(error, "simulate GPU", NULL);
        /* Create the first instance now, so that an invalid shape is reported before any launch. */
        FTH_TRY(fth_sim_cache_create(shape, plan->seed + i, tlbs->caches[i], error));
    }
    return FTH_OK;
}

void fth_sim_tlbs_fini(struct fth_sim_tlbs *tlbs)
{
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++) {
        uint32_t owners =
            tlbs->caches[i] ? fth_sim_owner_count(&tlbs->plan->tlbs[i].shape, tlbs->plan->sms) : 0;
        for (uint32_t owner = 0; owner < owners; owner++)
            fth_cache_destroy(tlbs->caches[i][owner]);
        free(tlbs->caches[i]);
    }
}

void fth_sim_tlbs_launch(struct fth_sim_tlbs *tlbs)
{
    memset(tlbs->active, 0, sizeof tlbs->active);
    tlbs->any_active = false;
}

void fth_sim_tlbs_empty(struct fth_sim_tlbs *tlbs)
{
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++) {
        const uint32_t owners =
            tlbs->caches[i] ? fth_sim_owner_count(&tlbs->plan->tlbs[i].shape, tlbs->plan->sms) : 0;
        for (uint32_t owner = 0; owner < owners; owner++)
            if (tlbs->caches[i][owner])
                fth_cache_clear(tlbs->caches[i][owner]);
    }
}

/* Activates the page table of the address. Returns the time this takes. */
static int64_t activate(struct fth_sim_tlbs *tlbs, uint64_t address)
{
    if (tlbs->plan->page_table_bytes == 0)
        return 0;
    uint8_t *active = &tlbs->active[address / tlbs->plan->page_table_bytes % FTH_SIM_PAGE_TABLES];
    const bool costs = tlbs->any_active && !*active;
    *active = true;
    tlbs->any_active = true;
    return costs ? tlbs->plan->page_table_switch : 0;
}

int64_t fth_sim_tlbs_look_up(struct fth_sim_tlbs *tlbs, uint32_t sm, uint64_t address)
{
    const struct fth_sim_plan *plan = tlbs->plan;
    int64_t penalty = 0;
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++) {
        if (!plan->tlbs[i].present)
            continue;
        uint32_t owner = fth_sim_owner(&plan->tlbs[i].shape, sm);
        struct fth_cache **cache = &tlbs->caches[i][owner];
        if (!*cache && fth_sim_cache_create(&plan->tlbs[i].shape,
                                            plan->seed + i + (uint64_t)owner * FTH_SIM_TLBS, cache,
                                            NULL) != FTH_OK) {
            tlbs->failed = true;
            return 0;
        }
        if (fth_cache_access(*cache, address, 1, FTH_CACHE_READ, NULL) == FTH_CACHE_HIT)
            return penalty;
        penalty += plan->tlbs[i].penalty;
    }
    return penalty + activate(tlbs, address);
}
