/* Joins reads on their way to the L2: if SMs of one group read exactly the same sectors of a line
 * at about the same time, the L2 sees one request. On an H200 the L2 sees 8,720 of the 10,120
 * sectors that the L1s miss in the normalise kernel of CORR, in which 32 blocks each read the same
 * row of means. That is about one read per GPC (docs/results/model-h200.md).
 *
 * The reads of the current join window are kept in a hash table with linear probing. Entries carry
 * the number of their window, so that a new window makes all entries stale without clearing them.
 */
#include "model/run/run.h"

#include <stdlib.h>
#include <string.h>

struct read_entry {
    uint64_t line, sectors;
    uint32_t sm_group;
    uint32_t window; /* number of its window; entries of older windows are stale */
};

struct fth_join {
    struct read_entry *table;
    size_t capacity; /* a power of two */
    size_t used;     /* entries of the current window */
    uint32_t window; /* number of the current window, never 0 */
};

struct fth_join *fth_join_create(void)
{
    struct fth_join *join = calloc(1, sizeof *join);
    if (!join)
        return NULL;
    join->capacity = 1 << 12; /* only the initial size: grow() doubles it */
    join->window = 1;
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
    if (++join->window == 0) {
        memset(join->table, 0, join->capacity * sizeof *join->table);
        join->window = 1;
    }
}

/* The entry of this read, or the stale entry in which it can be stored. */
static struct read_entry *find(const struct fth_join *join, uint32_t sm_group, uint64_t line,
                               uint64_t sectors)
{
    const uint64_t hash = (line + sm_group + (sectors << 40)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (join->capacity - 1);
    while (join->table[at].window == join->window &&
           (join->table[at].line != line || join->table[at].sm_group != sm_group ||
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
        if (before.table[i].window == before.window)
            *find(join, before.table[i].sm_group, before.table[i].line, before.table[i].sectors) =
                before.table[i];
    free(before.table);
    return true;
}

bool fth_join_read(struct fth_join *join, uint32_t sm_group, uint64_t line, uint64_t *sectors)
{
    if (2 * join->used >= join->capacity && !grow(join))
        return false;
    struct read_entry *read_entry = find(join, sm_group, line, *sectors);
    if (read_entry->window == join->window) {
        *sectors = 0;
        return true;
    }
    *read_entry = (struct read_entry){
        .line = line, .sectors = *sectors, .sm_group = sm_group, .window = join->window};
    join->used++;
    return true;
}
