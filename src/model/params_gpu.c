/* Takes the parameters of the model from a GPU description. A parameter whose attribute is missing
 * from the description keeps its default value and is reported as a default. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sets a parameter from an attribute of the description, which is a number or a text; does nothing
 * if the description does not have it. */
static void take(struct fth_model_params *params, size_t key, const struct fth_gpu *gpu,
                 const char *section, const char *name)
{
    const double number = fth_gpu_number(gpu, section, name, (double)NAN);
    const char *text = fth_gpu_text(gpu, section, name);
    if (!isnan(number))
        fth_model_put(params, key, number, FTH_MODEL_DESCRIPTION);
    else if (text)
        fth_model_put_text(params, key, text, FTH_MODEL_DESCRIPTION);
}

static void take_level(struct fth_model_params *params, enum fth_model_level level,
                       const struct fth_gpu *gpu)
{
    static const struct {
        enum fth_model_key key;
        const char *name;
    } attributes[] = {
        {FTH_KEY_SIZE, "size_bytes"},
        {FTH_KEY_LINE, "line_bytes"},
        {FTH_KEY_SECTOR, "sector_bytes"},
        {FTH_KEY_FILL, "fill_bytes"},
        {FTH_KEY_INDEX, "index"},
        {FTH_KEY_POLICY, "policy"},
        {FTH_KEY_LATENCY_CYCLES, "latency_cycles"},
        {FTH_KEY_BYTES_PER_S, "read_bytes_per_s"},
    };
    const char *element = level == FTH_MODEL_L1 ? "l1" : "l2";
    const bool has_fill = !isnan(fth_gpu_number(gpu, element, "fill_bytes", (double)NAN));
    const double line = fth_gpu_number(gpu, element, "line_bytes", (double)NAN);
    for (size_t i = 0; i < FTH_COUNT(attributes); i++)
        take(params, fth_model_key(level, attributes[i].key), gpu, element, attributes[i].name);
    /* Descriptions of older GPUs have a line size but no sector size. The default sector size is
     * kept if it fits into the line; otherwise the line is one sector. Without fill_bytes, a fill
     * is one sector. */
    if (!isnan(line) && isnan(fth_gpu_number(gpu, element, "sector_bytes", (double)NAN))) {
        double sector = params->values[fth_model_key(level, FTH_KEY_SECTOR)].number;
        if (sector > line)
            fth_model_put(params, fth_model_key(level, FTH_KEY_SECTOR), 0, FTH_MODEL_DEFAULT);
        if (!has_fill)
            fth_model_put(params, fth_model_key(level, FTH_KEY_FILL), 0, FTH_MODEL_DEFAULT);
    }
    /* Sets take precedence over ways, because the number of sets stays the same when the carve-out
     * changes the size of the L1. */
    const double sets = fth_gpu_number(gpu, element, "sets", (double)NAN);
    const double ways = fth_gpu_number(gpu, element, "ways", (double)NAN);
    if (!isnan(sets) || !isnan(ways)) {
        fth_model_put(params, fth_model_key(level, FTH_KEY_SETS), isnan(sets) ? 0 : sets,
                      FTH_MODEL_DESCRIPTION);
        fth_model_put(params, fth_model_key(level, FTH_KEY_WAYS), isnan(sets) ? ways : 0,
                      FTH_MODEL_DESCRIPTION);
        const double size = fth_gpu_number(gpu, element, "size_bytes", (double)NAN);
        if (isnan(size) && !isnan(sets) && !isnan(ways) && !isnan(line))
            fth_model_put(params, fth_model_key(level, FTH_KEY_SIZE), sets * ways * line,
                          FTH_MODEL_DESCRIPTION);
    }
    if (level == FTH_MODEL_L1 &&
        fth_hash_masks_read(&params->l1_masks, fth_gpu_attribute(gpu, element, "set_masks"),
                            fth_gpu_attribute(gpu, element, "row_masks"))) {
        params->l1_row_ways = (uint64_t)fth_gpu_number(gpu, element, "row_ways", 0);
        fth_model_put_text(params, fth_model_key(level, FTH_KEY_INDEX), "description",
                           FTH_MODEL_DESCRIPTION);
    }
    /* The policy "weighted" needs a weight for each way, which the model does not have. The closest
     * policy that it implements is random replacement. */
    if (strcmp(params->values[fth_model_key(level, FTH_KEY_POLICY)].text, "weighted") == 0)
        fth_model_put_text(params, fth_model_key(level, FTH_KEY_POLICY), "random",
                           FTH_MODEL_DEFAULT);
}

/* Copies the table of carve-outs: how many bytes the L1 has with each carve-out. If the description
 * does not list these L1 sizes, they are the unified storage minus the carve-out. The first
 * carve-out that leaves nothing ends the table. */
static void take_carveouts(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    const struct fth_attribute *carveouts = fth_gpu_attribute(gpu, "shared", "carveout_bytes");
    const struct fth_attribute *sizes = fth_gpu_attribute(gpu, "l1", "carveout_size_bytes");
    const double unified = fth_gpu_number(gpu, "l1", "unified_bytes", 0);
    params->unified_bytes = (uint64_t)unified;
    if (!carveouts || (sizes && sizes->count != carveouts->count))
        return;
    for (size_t i = 0; i < carveouts->count && i < FTH_MODEL_MAX_CARVEOUTS; i++) {
        double left = unified - carveouts->numbers[i];
        if (sizes)
            left = sizes->numbers[i];
        if (!(left > 0))
            break;
        params->carveout_bytes[i] = (uint64_t)carveouts->numbers[i];
        params->carveout_l1_bytes[i] = (uint64_t)left;
        params->carveout_count = i + 1;
    }
}

/* Returns the value of `bypass` that the description implies: "off" if the L1 keeps what a store
 * writes, whether it misses or hits, and "won" if it keeps neither. NULL if the description lacks
 * one of the two, or if they differ, which the model does not have. */
static const char *described_writes(const struct fth_gpu *gpu)
{
    const char *miss = fth_gpu_text(gpu, "l1", "write_miss");
    const char *hit = fth_gpu_text(gpu, "l1", "write_hit");
    if (!miss || !hit)
        return NULL;
    const bool allocates = strcmp(miss, "allocate") == 0, updates = strcmp(hit, "update") == 0;
    return allocates != updates ? NULL : allocates ? "off" : "won";
}

/* If the description does not say it: before Volta (compute capability 7.0), writes bypass the L1
 * and evict the line they hit (CUDA C Programming Guide; Section 3.1 of the paper). A GPU without
 * an L1, or whose L1 does not cache global memory, bypasses it for reads and writes. */
static void take_writes(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    const char *capability = fth_gpu_text(gpu, "device", "compute_capability");
    const char *described = described_writes(gpu);
    if (described)
        fth_model_put_text(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_BYPASS), described,
                           FTH_MODEL_DESCRIPTION);
    else if (capability && capability[0] >= '1' && capability[0] <= '6' && capability[1] == '.')
        fth_model_put_text(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_BYPASS), "won",
                           FTH_MODEL_DESCRIPTION);
    const struct fth_attribute *caches = fth_gpu_attribute(gpu, "l1", "caches");
    bool global = !caches;
    for (size_t i = 0; caches && i < caches->count; i++)
        global = global || strcmp(caches->texts[i], "global") == 0;
    if (!global || !fth_gpu_find_section(gpu, "l1"))
        fth_model_put_text(params, fth_model_key(FTH_MODEL_L1, FTH_KEY_BYPASS), "rwon",
                           FTH_MODEL_DESCRIPTION);
}

/* Rounds within which reads of SMs of a group join. Tuned on an H200, with the L2 errors of several
 * kernels in view (docs/results/model-h200.md). */
enum { JOIN_ROUNDS = 12 };

/* Whether two SMs are in the same group. */
static bool has_pair(const uint32_t *group, size_t count)
{
    bool seen[FTH_MAX_MAPPED_SMS + 1] = {false};
    for (size_t i = 0; i < count; i++) {
        if (seen[group[i]])
            return true;
        seen[group[i]] = true;
    }
    return false;
}

/* Takes the groups of SMs whose reads join, if they were measured. Returns false otherwise. */
static bool take_join_groups(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    const struct fth_attribute *groups = fth_gpu_attribute(gpu, "l2", "join_group_by_sm");
    if (!groups || groups->kind != FTH_NUMBERS || groups->count > FTH_MAX_MAPPED_SMS)
        return false;
    for (size_t i = 0; i < groups->count; i++) {
        if (!(groups->numbers[i] <= FTH_MAX_MAPPED_SMS))
            return false;
        params->join_group[i] = (uint32_t)groups->numbers[i];
    }
    params->join_count = groups->count;
    return true;
}

/* Takes the groups of SMs whose reads join. If they were not measured, the SMs of a GPC form a
 * group, as on an H200 (docs/results/h200/requests.md). */
static void take_joins(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    bool joins = true;
    if (take_join_groups(params, gpu)) {
        /* Where no two SMs join their reads, those of one SM do not join either. */
        joins = has_pair(params->join_group, params->join_count);
    } else {
        for (size_t i = 0; i < params->sm_map.sms; i++)
            params->join_group[i] = params->sm_map.gpc[i];
        params->join_count = params->sm_map.sms;
    }
    if (params->join_count == 0)
        return;
    fth_model_put_text(params, FTH_KEY_JOINS, joins ? "description" : "none",
                       FTH_MODEL_DESCRIPTION);
    if (joins)
        fth_model_put(params, FTH_KEY_JOIN_ROUNDS, JOIN_ROUNDS, FTH_MODEL_DEFAULT);
}

/* Takes the order in which SMs receive blocks, their GPCs, and the partition of the L2 that they
 * are near. */
static void take_placement(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    const char *order = fth_gpu_text(gpu, "device", "block_order");
    const struct fth_attribute *sides = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    params->side_count = 0;
    params->join_count = 0;
    params->sm_map = (struct fth_sm_map){0};
    /* The SMs of the model are then not those of the description; see fth_model_describe. */
    if (fth_gpu_number(gpu, "l1", "per_sm", 1) > 1)
        return;
    fth_sm_map_read(gpu, &params->sm_map);
    if (order && strcmp(order, "sm") == 0)
        fth_model_put_text(params, FTH_KEY_MAPPING, "rr", FTH_MODEL_DESCRIPTION);
    if (params->sm_map.sms && params->sm_map.by_gpc)
        fth_model_put_text(params, FTH_KEY_MAPPING, "description", FTH_MODEL_DESCRIPTION);
    take_joins(params, gpu);
    if (!sides || sides->kind != FTH_NUMBERS || sides->count > FTH_MAX_MAPPED_SMS)
        return;
    for (size_t i = 0; i < sides->count; i++) {
        if (!(sides->numbers[i] <= UINT8_MAX))
            return;
        params->side_of_sm[i] = (uint8_t)sides->numbers[i];
    }
    params->side_count = sides->count;
    fth_model_put_text(params, FTH_KEY_SIDE_OF_SM, "description", FTH_MODEL_DESCRIPTION);
}

/* Whether loads of a variant that leaves nothing in the L1 pass it without a lookup. Others, such
 * as .L1::no_allocate, find what is there. */
static bool passes_l1(enum fth_variant variant)
{
    switch (variant) {
    case FTH_VARIANT_LD_CG:
    case FTH_VARIANT_LD_CV:
    case FTH_VARIANT_LD_VOLATILE:
    case FTH_VARIANT_LD_RELAXED:
    case FTH_VARIANT_CP_CG: return true;
    default: return false;
    }
}

static bool is_store(enum fth_variant variant)
{
    return variant >= FTH_VARIANT_ST_WB &&
           (variant < FTH_VARIANT_CP_CA || variant == FTH_VARIANT_ST_L2_LAST);
}

/* Returns what an access of a variant does in the L1. `keeps`: yes or no, whether the L1 still has
 * a line that it held before the access; NULL: unknown. */
static enum fth_l1_rule find_rule(enum fth_variant variant, double fill_bytes, const char *keeps)
{
    if (fill_bytes > 0)
        return FTH_L1_RULE_CACHED;
    const bool kept = keeps && strcmp(keeps, "yes") == 0;
    if (is_store(variant))
        return kept ? FTH_L1_RULE_NO_ALLOCATE : FTH_L1_RULE_EVICT;
    if (keeps && strcmp(keeps, "no") == 0)
        return FTH_L1_RULE_EVICT;
    return passes_l1(variant) ? FTH_L1_RULE_BYPASS : FTH_L1_RULE_NO_ALLOCATE;
}

/* Takes the effects of cache operators and hints. */
static void take_variants(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    static const char *const elements[] = {"l1", "l2"};
    params->variants = (struct fth_variant_rules){.l1 = {0}};
    for (size_t level = 0; level < FTH_COUNT(elements); level++) {
        const char *element = elements[level];
        const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "access_variants");
        const struct fth_attribute *bytes = fth_gpu_attribute(gpu, element, "access_fill_bytes");
        const struct fth_attribute *keeps = fth_gpu_attribute(gpu, element, "access_keeps");
        for (size_t i = 0; names && bytes && i < names->count && i < bytes->count; i++) {
            enum fth_variant variant;
            if (!fth_variant_find(names->texts[i], strlen(names->texts[i]), &variant))
                continue;
            if (level == 0)
                params->variants.l1[variant] = (uint8_t)find_rule(
                    variant, bytes->numbers[i], keeps && i < keeps->count ? keeps->texts[i] : NULL);
            else if (bytes->numbers[i] <= UINT16_MAX)
                params->variants.l2_fill[variant] = (uint16_t)bytes->numbers[i];
        }
    }
    /* What a plain load fills is a parameter, which can be set. */
    uint16_t *fills = params->variants.l2_fill;
    const uint16_t plain = fills[FTH_VARIANT_LD_CA];
    for (size_t i = 0; i < FTH_VARIANTS; i++)
        fills[i] = fills[i] == plain ? 0 : fills[i];
}

void fth_model_describe(struct fth_model_params *params, const struct fth_gpu *gpu)
{
    const char *name = fth_gpu_text(gpu, "device", "name");
    snprintf(params->gpu, sizeof params->gpu, "%s", name ? name : "");
    take_level(params, FTH_MODEL_L1, gpu);
    take_level(params, FTH_MODEL_L2, gpu);
    take_carveouts(params, gpu);
    take_writes(params, gpu);
    take_placement(params, gpu);
    take_variants(params, gpu);
    take(params, FTH_KEY_SMS, gpu, "device", "sms");
    /* An SM with several L1s is modelled as several SMs, as in Table 5 of the paper. */
    const double per_sm = fth_gpu_number(gpu, "l1", "per_sm", 1);
    if (per_sm > 1)
        fth_model_put(params, FTH_KEY_SMS, per_sm * params->values[FTH_KEY_SMS].number,
                      FTH_MODEL_DESCRIPTION);
    const double clock_mhz = fth_gpu_number(gpu, "device", "clock_mhz", (double)NAN);
    if (!isnan(clock_mhz))
        fth_model_put(params, FTH_KEY_CLOCK_HZ, clock_mhz * 1e6, FTH_MODEL_DESCRIPTION);
    take(params, FTH_KEY_STORE_MERGE_CYCLES, gpu, "l1", "store_merge_cycles");
    take(params, FTH_KEY_SCHEDULERS, gpu, "device", "schedulers_per_sm");
    take(params, FTH_KEY_MAX_BLOCKS, gpu, "device", "max_blocks_per_sm");
    take(params, FTH_KEY_REGISTERS, gpu, "device", "max_registers_per_block");
    take(params, FTH_KEY_SHARED, gpu, "shared", "size_bytes");
    take(params, FTH_KEY_RESERVED, gpu, "shared", "reserved_block_bytes");
    take(params, FTH_KEY_LOCAL_STACK, gpu, "device", "local_stack_bytes");
    take(params, FTH_KEY_LOCAL_RESERVED, gpu, "device", "local_reserved_bytes");
    take(params, FTH_KEY_SIDES, gpu, "l2", "partitions");
    take(params, FTH_KEY_HOME_MASK, gpu, "l2", "home_mask");
    take(params, FTH_KEY_FAR_CYCLES, gpu, "l2", "far_latency_cycles");
    take(params, FTH_KEY_MEMORY_CYCLES, gpu, "memory", "latency_cycles");
    take(params, FTH_KEY_WRITE_BYTES_PER_S, gpu, "l2", "write_bytes_per_s");
    take(params, FTH_KEY_MEMORY_BYTES_PER_S, gpu, "memory", "read_bytes_per_s");
    take(params, FTH_KEY_MEMORY_BYTES_PER_S, gpu, "memory", "peak_bytes_per_s");
    const double threads = fth_gpu_number(gpu, "device", "max_threads_per_sm", (double)NAN);
    if (threads >= 32)
        fth_model_put(params, FTH_KEY_MAX_WARPS, floor(threads / 32), FTH_MODEL_DESCRIPTION);
}
