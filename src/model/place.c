/* Which SM executes a block, and in which wave. The mapping policies are those of Table 2 of the
 * paper, an even random one, a list of SMs that is repeated, and the order of the GPU's
 * description (gpu/block_order.c). An SM executes CB blocks at the same time, and when all of them
 * are finished the next CB (Algorithms 2 and 3). The blocks that all SMs execute in such a round
 * are a *wave*. */
#include "model/model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a file with a list of numbers, and maximum number of blocks of a random mapping,
 * which has a table entry for each. Both only limit the memory; chosen, not derived. */
enum { MAX_LIST_BYTES = 1 << 24, MAX_RANDOM_BLOCKS = 1 << 28 };

struct fth_placement {
    uint64_t blocks, sms, blocks_at_once;
    uint64_t group;    /* consecutive blocks that go to one SM; 0: `table` is used */
    uint32_t *table;   /* [table_size] SM of block i modulo table_size */
    uint32_t *earlier; /* [table_size] earlier entries of the table with the same SM */
    uint32_t *share;   /* [sms] entries of the table with this SM */
    size_t table_size;
    uint64_t max_share, min_share; /* of the SMs that occur in the table */
    uint32_t *shuffled; /* [sms] a permutation, in an order other than the plain one; else NULL */
    uint64_t *ranges;   /* [waves][2] first and last block, for random mappings; otherwise NULL */
};

static enum fth_status refuse(const char *name, const char *cause, struct fth_error *error)
{
    fth_fail(error, FTH_INVALID, "model caches", name, "%s", cause);
    return FTH_INVALID;
}

enum fth_status fth_number_list(const char *what, const char *text, uint64_t max,
                                uint32_t **numbers, size_t *count, struct fth_error *error)
{
    struct fth_buffer content = {0};
    size_t capacity = 0;
    enum fth_status status = FTH_OK;
    *numbers = NULL;
    *count = 0;
    if (*text == '@') {
        status = fth_file_read(text + 1, FTH_FILE_LIMIT("a list of numbers", MAX_LIST_BYTES),
                               &content, error);
        text = content.data ? content.data : "";
    }
    while (status == FTH_OK) {
        while (*text == ',' || isspace((unsigned char)*text))
            text++;
        if (!*text)
            break;
        char *end;
        unsigned long long number = strtoull(text, &end, 10);
        if (end == text || *text == '-' || number >= max)
            status = fth_fail(error, FTH_INVALID, "read list", what,
                              "'%.20s' is not a number below %llu", text, (unsigned long long)max);
        else if (!fth_grow((void **)numbers, *count, &capacity, sizeof **numbers))
            status = fth_no_memory(error, "model caches", NULL);
        else
            (*numbers)[(*count)++] = (uint32_t)number;
        text = end;
    }
    if (status == FTH_OK && *count == 0)
        status = refuse(what, "the list is empty", error);
    fth_buffer_fini(&content);
    return status;
}

/* Whether the parameter has the value that stands for an attribute of the description. */
static bool is_described(const struct fth_model_params *params, size_t key)
{
    return strcmp(params->values[key].text, "description") == 0;
}

enum fth_status fth_sm_list(const struct fth_model_params *params, size_t key, uint64_t max,
                            uint32_t **numbers, size_t *count, struct fth_error *error)
{
    const bool sides = key == FTH_KEY_SIDE_OF_SM;
    const char *name = sides ? "l2.side_of_sm" : "l2.joins";
    const size_t known = sides ? params->side_count : params->join_count;
    if (!is_described(params, key))
        return fth_number_list(name, params->values[key].text, max, numbers, count, error);
    *numbers = calloc(known + 1, sizeof **numbers);
    *count = known;
    if (!*numbers)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < known; i++) {
        (*numbers)[i] = sides ? params->side_of_sm[i] : params->join_group[i];
        if ((*numbers)[i] >= max)
            return refuse(name, "the description has more sides than l2.sides", error);
    }
    return known ? FTH_OK
                 : refuse(name,
                          sides ? "the description does not say which side of the L2 SMs are near"
                                : "the description does not say which SMs join their reads",
                          error);
}

enum fth_status fth_side_of_sms(const struct fth_model_params *params,
                                const struct fth_setting *setting, uint8_t *side_of_sm,
                                struct fth_error *error)
{
    uint32_t *list = NULL;
    size_t count = 0;
    enum fth_status status = FTH_OK;
    if (strcmp(params->values[FTH_KEY_SIDE_OF_SM].text, "alternate") != 0)
        status = fth_sm_list(params, FTH_KEY_SIDE_OF_SM, setting->sides, &list, &count, error);
    for (uint64_t sm = 0; status == FTH_OK && sm < setting->sms; sm++)
        side_of_sm[sm] = (uint8_t)(count ? list[sm % count] : sm % setting->sides);
    free(list);
    return status;
}

/* Computes `earlier`, `share`, `max_share` and `min_share` from the table. */
static enum fth_status count_shares(struct fth_placement *placement, struct fth_error *error)
{
    placement->earlier = calloc(placement->table_size + 1, sizeof *placement->earlier);
    placement->share = calloc(placement->sms, sizeof *placement->share);
    if (!placement->earlier || !placement->share)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < placement->table_size; i++)
        placement->earlier[i] = placement->share[placement->table[i]]++;
    placement->min_share = UINT64_MAX;
    for (uint64_t sm = 0; sm < placement->sms; sm++) {
        const uint64_t share = placement->share[sm];
        placement->max_share = share > placement->max_share ? share : placement->max_share;
        if (share && share < placement->min_share)
            placement->min_share = share;
    }
    return FTH_OK;
}

/* For random mappings: finds the first and the last block of each wave. The blocks of a wave have
 * similar numbers, so only a part of the trace needs to be read for it. */
static enum fth_status find_ranges(struct fth_placement *placement, struct fth_error *error)
{
    const uint64_t waves = fth_placement_waves(placement);
    placement->ranges = calloc((size_t)waves, 2 * sizeof *placement->ranges);
    if (!placement->ranges)
        return fth_no_memory(error, "model caches", NULL);
    for (uint64_t i = 0; i < waves; i++)
        placement->ranges[2 * i] = UINT64_MAX;
    for (uint64_t block = 0; block < placement->blocks; block++) {
        uint64_t wave;
        fth_placement_sm(placement, block, &wave);
        uint64_t *range = &placement->ranges[2 * wave];
        range[0] = range[0] < block ? range[0] : block;
        range[1] = block;
    }
    /* When several waves are read together, the caller takes the end of the last one as the end of
     * all. It must therefore not be less than the end of an earlier wave. */
    for (uint64_t i = 1; i < waves; i++)
        if (placement->ranges[2 * i + 1] < placement->ranges[2 * i - 1])
            placement->ranges[2 * i + 1] = placement->ranges[2 * i - 1];
    return FTH_OK;
}

/* Fills the table with random SMs: an independent choice for each block or, with `even`, a random
 * permutation of an even distribution. */
static enum fth_status assign_randomly(struct fth_placement *placement, uint64_t seed, bool even,
                                       struct fth_error *error)
{
    struct fth_rng rng;
    if (placement->blocks > MAX_RANDOM_BLOCKS)
        return refuse("gpu.mapping", "rand and shuffle support grids of at most 2^28 blocks",
                      error);
    fth_rng_init(&rng, seed);
    placement->table_size = (size_t)placement->blocks;
    placement->table = calloc(placement->table_size, sizeof *placement->table);
    if (!placement->table)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < placement->table_size; i++)
        placement->table[i] =
            (uint32_t)(even ? i % placement->sms : fth_rng_below(&rng, placement->sms));
    for (size_t i = placement->table_size; even && i-- > 1;) {
        const size_t other = (size_t)fth_rng_below(&rng, i + 1);
        const uint32_t sm = placement->table[i];
        placement->table[i] = placement->table[other];
        placement->table[other] = sm;
    }
    return FTH_OK;
}

bool fth_placement_is_random(const char *mapping)
{
    return strcmp(mapping, "rand") == 0 || strcmp(mapping, "shuffle") == 0;
}

/* Fills the table with the order of the description. If more blocks than that are resident at the
 * same time, the order is repeated. The GPC with which a GPU begins differs from launch to launch;
 * here it is the first one. Without the SMs of the description, blocks are distributed round robin.
 */
static enum fth_status assign_described(struct fth_placement *placement,
                                        const struct fth_sm_map *map, struct fth_error *error)
{
    const uint64_t resident = placement->sms * placement->blocks_at_once;
    const uint64_t size = FTH_MIN(placement->blocks, resident);
    struct fth_block_order *order = NULL;
    if (!map->sms || !map->by_gpc)
        return refuse("gpu.mapping", "the description does not say which SM receives a block",
                      error);
    if (map->sms != placement->sms) {
        placement->group = 1;
        return FTH_OK;
    }
    placement->table = calloc((size_t)size + 1, sizeof *placement->table);
    if (!placement->table)
        return fth_no_memory(error, "model caches", NULL);
    FTH_TRY(fth_block_order_create(map, &order, error));
    placement->table_size = (size_t)size;
    fth_block_order_grid(order, (struct fth_block_start){0, 0}, size, size, placement->table);
    fth_block_order_destroy(order);
    return count_shares(placement, error);
}

/* Fills a placement, of which the blocks, the SMs and the blocks at once are set. */
static enum fth_status assign_blocks(struct fth_placement *placement,
                                     const struct fth_model_params *params, struct fth_error *error)
{
    static const struct {
        const char *name;
        uint64_t group;
    } groups[] = {{"rr", 1}, {"bpart1", 4}, {"bpart2", 8}};
    const char *mapping = params->values[FTH_KEY_MAPPING].text;
    for (size_t i = 0; i < FTH_COUNT(groups); i++)
        if (strcmp(mapping, groups[i].name) == 0) {
            placement->group = groups[i].group;
            return FTH_OK;
        }
    if (is_described(params, FTH_KEY_MAPPING))
        return assign_described(placement, &params->sm_map, error);
    if (!fth_placement_is_random(mapping)) {
        FTH_TRY(fth_number_list("gpu.mapping", mapping, placement->sms, &placement->table,
                                &placement->table_size, error));
        return count_shares(placement, error);
    }
    FTH_TRY(assign_randomly(placement, fth_model_integer(params, FTH_KEY_SEED),
                            strcmp(mapping, "shuffle") == 0, error));
    FTH_TRY(count_shares(placement, error));
    return find_ranges(placement, error);
}

/* Prepares an order other than the plain one: in each wave beyond the first, the SMs exchange their
 * blocks, because a GPU starts a block wherever another one has ended. */
static enum fth_status shuffle_sms(struct fth_placement *placement, unsigned order,
                                   struct fth_error *error)
{
    struct fth_rng rng;
    placement->shuffled = calloc((size_t)placement->sms, sizeof *placement->shuffled);
    if (!placement->shuffled)
        return fth_no_memory(error, "model caches", NULL);
    fth_rng_init(&rng, order);
    for (uint32_t sm = 0; sm < placement->sms; sm++) {
        const uint64_t other = fth_rng_below(&rng, sm + 1);
        placement->shuffled[sm] = placement->shuffled[other];
        placement->shuffled[other] = sm;
    }
    return FTH_OK;
}

enum fth_status fth_placement_create(const struct fth_model_params *params,
                                     const struct fth_setting *setting, struct fth_placement **out,
                                     struct fth_error *error)
{
    struct fth_placement *placement = calloc(1, sizeof *placement);
    *out = NULL;
    if (!placement)
        return fth_no_memory(error, "model caches", NULL);
    *placement = (struct fth_placement){
        .blocks = setting->blocks, .sms = setting->sms, .blocks_at_once = setting->blocks_at_once};
    enum fth_status status = assign_blocks(placement, params, error);
    if (status == FTH_OK && params->order)
        status = shuffle_sms(placement, params->order, error);
    if (status == FTH_OK)
        *out = placement;
    else
        fth_placement_destroy(placement);
    return status;
}

void fth_placement_destroy(struct fth_placement *placement)
{
    if (!placement)
        return;
    free(placement->table);
    free(placement->earlier);
    free(placement->share);
    free(placement->shuffled);
    free(placement->ranges);
    free(placement);
}

/* Returns the SM of a block; *position gets the index of the block among those of its SM. */
static uint32_t find_position(const struct fth_placement *placement, uint64_t block,
                              uint64_t *position)
{
    uint64_t sm;
    if (placement->group) {
        const uint64_t group = placement->group;
        sm = block / group % placement->sms;
        *position = block / group / placement->sms * group + block % group;
    } else {
        const uint64_t at = block % placement->table_size;
        sm = placement->table[at];
        *position = block / placement->table_size * placement->share[sm] + placement->earlier[at];
    }
    return (uint32_t)sm;
}

uint32_t fth_placement_sm(const struct fth_placement *placement, uint64_t block, uint64_t *wave)
{
    uint64_t position;
    const uint32_t sm = find_position(placement, block, &position);
    *wave = position / placement->blocks_at_once;
    return placement->shuffled && *wave ? placement->shuffled[(sm + *wave) % placement->sms] : sm;
}

uint64_t fth_placement_place(const struct fth_placement *placement, uint64_t block)
{
    uint64_t position;
    find_position(placement, block, &position);
    return position % placement->blocks_at_once;
}

uint64_t fth_placement_waves(const struct fth_placement *placement)
{
    const uint64_t group = placement->group;
    /* The most blocks that one SM executes, rounded up to whole groups or whole tables. */
    const uint64_t max_blocks =
        group ? (placement->blocks + group * placement->sms - 1) / (group * placement->sms) * group
              : ((placement->blocks - 1) / placement->table_size + 1) * placement->max_share;
    return (max_blocks + placement->blocks_at_once - 1) / placement->blocks_at_once;
}

void fth_placement_range(const struct fth_placement *placement, uint64_t wave, uint64_t *first,
                         uint64_t *last)
{
    const uint64_t low = wave * placement->blocks_at_once,
                   high = low + placement->blocks_at_once - 1;
    if (placement->ranges) {
        *first = placement->ranges[2 * wave];
        *last = placement->ranges[2 * wave + 1];
    } else if (placement->group) {
        const uint64_t cycle =
            placement->group * placement->sms; /* blocks until the first SM again */
        *first = low / placement->group * cycle;
        *last = (high / placement->group + 1) * cycle - 1;
    } else {
        /* No SM reaches position `low` before table number low / max_share, and all SMs have passed
         * position `high` after table number high / min_share. */
        const uint64_t tables = low / placement->max_share;
        *first = (tables ? tables - 1 : 0) * placement->table_size;
        *last = (high / placement->min_share + 1) * placement->table_size - 1;
    }
    if (*last >= placement->blocks)
        *last = placement->blocks - 1;
}
