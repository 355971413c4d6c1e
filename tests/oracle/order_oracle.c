/* The SM and the wave of each block, and the order in which the model processes accesses and the
 * threads of an atomic. */
#include "model_oracle.h"

#include <stdlib.h>
#include <string.h>

/* Returns the SM of a block. *index_on_sm is the number of earlier blocks on the same SM. */
static uint64_t place_block(const struct oracle_model *model, uint64_t block, uint64_t *index_on_sm)
{
    uint64_t placed[256] = {0}, sm = 0, list[64], listed = 0;
    for (const char *at = model->mapping; *at >= '0' && *at <= '9';) {
        char *end;
        list[listed++] = strtoull(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    const uint64_t group = strcmp(model->mapping, "bpart1") == 0   ? 4
                           : strcmp(model->mapping, "bpart2") == 0 ? 8
                                                                   : 1;
    for (uint64_t b = 0; b <= block; b++) {
        sm = listed ? list[b % listed] : b / group % model->sms;
        *index_on_sm = placed[sm]++;
    }
    return sm;
}

/* By wave, access number, block and warp. */
static int compare(const void *a, const void *b)
{
    const struct placed_access *x = a, *y = b;
    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    if (x->access.number != y->access.number)
        return x->access.number < y->access.number ? -1 : 1;
    if (x->access.block != y->access.block)
        return x->access.block < y->access.block ? -1 : 1;
    return x->access.warp < y->access.warp ? -1 : x->access.warp > y->access.warp;
}

struct placed_access *oracle_order(const struct oracle_model *model, uint64_t blocks,
                                   uint64_t warps, const struct oracle_access *accesses,
                                   size_t count)
{
    uint64_t sm_of[256], wave_of[256], place_of[256]; /* [block] */
    uint64_t resident_blocks = model->max_warps / warps;
    resident_blocks = resident_blocks < model->max_blocks ? resident_blocks : model->max_blocks;
    struct placed_access *order = malloc((count + 1) * sizeof *order);
    if (!order || model->sms == 0 || resident_blocks == 0 || blocks > 256)
        abort();
    const uint64_t most[2] = {model->max_warps, resident_blocks * warps};
    for (uint64_t block = 0; block < blocks; block++) {
        uint64_t index;
        sm_of[block] = place_block(model, block, &index);
        wave_of[block] = index / resident_blocks;
        place_of[block] = index % resident_blocks;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t block = accesses[i].block;
        order[i] = (struct placed_access){accesses[i], sm_of[block], wave_of[block]};
        for (uint32_t t = 0; accesses[i].local && t < accesses[i].threads; t++)
            order[i].access.addresses[t] += oracle_local_memory(
                &model->local, most, sm_of[block], place_of[block] * warps + accesses[i].warp);
    }
    qsort(order, count, sizeof *order, compare);
    return order;
}

uint64_t oracle_address(const struct oracle_access *access, uint32_t thread, uint32_t byte)
{
    if (!access->local)
        return access->addresses[thread] + byte;
    return access->addresses[thread] + (uint64_t)(byte / ORACLE_WORD) * ORACLE_WORD_DISTANCE +
           byte % ORACLE_WORD;
}

uint32_t oracle_turn(const struct oracle_access *access, uint32_t thread, uint32_t byte)
{
    if (access->local)
        return byte / ORACLE_WORD;
    if (access->together)
        return thread / access->together;
    uint32_t turn = 0, same = 0;
    for (uint32_t t = 0; t < access->threads; t++) {
        turn += t < thread && access->addresses[t] == access->addresses[thread];
        same += access->addresses[t] == access->addresses[0];
    }
    return access->kind == FTH_TRACE_ATOMIC && same < access->threads ? turn : 0;
}
