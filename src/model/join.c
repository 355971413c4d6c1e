/* Reads that are joined on their way to the L2: what SMs near each other ask for at about the same
 * time is asked for once. On an H200 the L2 sees 8,720 of the 10,120 sectors that the L1s miss in
 * CORR's normalise, where 32 blocks each read the same row of means: about once a GPC
 * (docs/results/model-h200.md). */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    uint64_t line, sectors;
    uint32_t who;
    uint32_t round; /* when; others are stale */
};

struct fth_join {
    struct seen *table;
    size_t capacity, used; /* a power of two; of the last round */
    uint32_t round;
};

struct fth_join *fth_join_create(void)
{
    struct fth_join *join = calloc(1, sizeof *join);
    if (!join)
        return NULL;
    join->capacity = 1 << 12;
    join->round = 1;
    join->table = calloc(join->capacity, sizeof *join->table);
    if (!join->table) {
        free(join);
        return NULL;
    }
    return join;
}

void fth_join_destroy(struct fth_join *join)
{
    if (!join)
        return;
    free(join->table);
    free(join);
}

void fth_join_clear(struct fth_join *join)
{
    join->used = 0;
    if (++join->round == 0) {
        memset(join->table, 0, join->capacity * sizeof *join->table);
        join->round = 1;
    }
}

static struct seen *find(const struct fth_join *join, uint32_t who, uint64_t line, uint64_t sectors)
{
    const uint64_t hash = (line + who + (sectors << 40)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (join->capacity - 1);
    while (join->table[at].round == join->round &&
           (join->table[at].line != line || join->table[at].who != who ||
            join->table[at].sectors != sectors))
        at = (at + 1) & (join->capacity - 1);
    return &join->table[at];
}

static bool grow(struct fth_join *join)
{
    const struct fth_join before = *join;
    join->capacity *= 2;
    join->table = calloc(join->capacity, sizeof *join->table);
    if (!join->table) {
        *join = before;
        return false;
    }
    for (size_t i = 0; i < before.capacity; i++)
        if (before.table[i].round == before.round)
            *find(join, before.table[i].who, before.table[i].line, before.table[i].sectors) =
                before.table[i];
    free(before.table);
    return true;
}

bool fth_join_read(struct fth_join *join, uint32_t who, uint64_t line, uint64_t *sectors)
{
    if (2 * join->used >= join->capacity && !grow(join))
        return false;
    struct seen *seen = find(join, who, line, *sectors);
    if (seen->round == join->round) {
        *sectors = 0;
        return true;
    }
    *seen = (struct seen){.line = line, .sectors = *sectors, .who = who, .round = join->round};
    join->used++;
    return true;
}
