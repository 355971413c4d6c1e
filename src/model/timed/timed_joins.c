/* The groups of SMs whose reads are joined. */
#include "model/timed/timed_joins.h"

#include <stdlib.h>
#include <string.h>

enum fth_status fth_joins_init(struct fth_join_units *joins, const struct fth_model_params *params,
                               struct fth_error *error)
{
    uint32_t groups = 0;
    if (strcmp(params->values[FTH_KEY_JOINS].text, "none") == 0)
        return FTH_OK;
    FTH_TRY(fth_sm_list(params, FTH_KEY_JOINS, FTH_MAX_MAPPED_SMS + 1, &joins->group_of_sm,
                        &joins->group_sms, error));
    for (size_t i = 0; i < joins->group_sms; i++)
        groups = joins->group_of_sm[i] >= groups ? joins->group_of_sm[i] + 1 : groups;
    const size_t count = (size_t)groups * FTH_JOIN_SLOTS + 1; /* one more, to align them */
    char *memory = fth_arena_array(&joins->memory, count, sizeof *joins->reads);
    if (!memory)
        return fth_no_memory(error, "model caches", NULL);
    const size_t rest = (uintptr_t)memory % sizeof *joins->reads;
    joins->reads =
        (struct fth_pending_read *)(void *)(memory + (rest ? sizeof *joins->reads - rest : 0));
    return FTH_OK;
}

void fth_joins_fini(struct fth_join_units *joins)
{
    free(joins->group_of_sm);
    fth_arena_fini(&joins->memory);
}
