/* Finds a replacement policy by the name that a GPU description uses. */
#include "cache/cache.h"

#include <string.h>

static const struct fth_policy *const policies[] = {
    &fth_policy_lru,   &fth_policy_fifo,   &fth_policy_lfu,
    &fth_policy_plru,  &fth_policy_random, &fth_policy_weighted,
    &fth_policy_clock, &fth_policy_srrip,  &fth_policy_drrip,
};

enum fth_status fth_policy_find(const char *name, const struct fth_policy **policy,
                                struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(policies); i++)
        if (strcmp(policies[i]->name, name) == 0) {
            *policy = policies[i];
            return FTH_OK;
        }
    return fth_fail(error, FTH_INVALID, "build a cache", "policy",
                    "'%s' is not one of lru, fifo, lfu, plru, random, weighted, clock, srrip, "
                    "drrip",
                    name);
}
