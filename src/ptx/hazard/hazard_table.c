/* The asynchronous operations in flight of a cluster, in a list and in a hash table by the units of
 * 16 bytes that they access. */
#include "ptx/hazard/hazard.h"

#include <stdlib.h>

/* Buckets of the table: about as many as a block of a Hopper GPU has units of shared memory, which
 * is what a pipeline has in flight. A power of two. */
enum { TABLE_BITS = 14, TABLE_SIZE = 1 << TABLE_BITS };
/* Maximum number of operations in the table. If there are more, the oldest one is removed. Chosen,
 * not derived: twice the number of copies that can be in flight. */
enum { MAX_OPERATIONS = 8192 };

static uint32_t bucket_of(uint64_t unit)
{
    return (uint32_t)(unit * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));
}

void fth_hazard_add_fresh(struct fth_hazards *hazards, const struct fth_hazard_range *range)
{
    struct fth_hazard_range *last =
        hazards->fresh_count ? &hazards->fresh[hazards->fresh_count - 1] : NULL;
    if (last && last->end == range->start && last->kind == range->kind &&
        last->lane == range->lane) {
        last->end = range->end;
        return;
    }
    if (!hazards->fresh || hazards->fresh_count == hazards->fresh_capacity) {
        const size_t capacity = hazards->fresh_capacity ? 2 * hazards->fresh_capacity : 64;
        struct fth_hazard_range *grown = realloc(hazards->fresh, capacity * sizeof *grown);
        if (!grown) {
            fth_hazards_fail(hazards);
            return;
        }
        hazards->fresh = grown;
        hazards->fresh_capacity = capacity;
    }
    hazards->fresh[hazards->fresh_count++] = *range;
}

/* Enlarges the array of nodes. Returns false when out of memory. */
static bool grow_nodes(struct fth_hazards *hazards)
{
    const size_t capacity = hazards->node_capacity ? 2 * hazards->node_capacity : 1024;
    struct fth_hazard_node *grown = realloc(hazards->nodes, capacity * sizeof *grown);
    if (!hazards->buckets)
        hazards->buckets = calloc(TABLE_SIZE, sizeof *hazards->buckets);
    if (grown) {
        hazards->nodes = grown;
        hazards->node_capacity = capacity;
    }
    return grown && hazards->buckets;
}

/* Adds a range to the table. Returns false when out of memory. */
static bool insert(struct fth_hazards *hazards, struct fth_hazard_operation *operation,
                   struct fth_hazard_range *range)
{
    for (uint64_t unit = range->start / HAZARD_UNIT; unit * HAZARD_UNIT < range->end; unit++) {
        uint32_t index = hazards->free_node;
        if (index) {
            hazards->free_node = hazards->nodes[index].next;
        } else {
            if (hazards->node_count + 1 >= hazards->node_capacity && !grow_nodes(hazards))
                return false;
            index = (uint32_t)++hazards->node_count;
        }
        uint32_t *bucket = &hazards->buckets[bucket_of(unit)];
        hazards->nodes[index] = (struct fth_hazard_node){
            .unit = unit, .operation = operation, .range = range, .next = *bucket};
        *bucket = index;
    }
    return true;
}

static void erase(struct fth_hazards *hazards, const struct fth_hazard_range *range)
{
    if (!hazards->buckets)
        return; /* out of memory */
    for (uint64_t unit = range->start / HAZARD_UNIT; unit * HAZARD_UNIT < range->end; unit++) {
        uint32_t *link = &hazards->buckets[bucket_of(unit)];
        while (*link &&
               (hazards->nodes[*link].unit != unit || hazards->nodes[*link].range != range))
            link = &hazards->nodes[*link].next;
        const uint32_t index = *link;
        if (!index)
            return; /* out of memory */
        *link = hazards->nodes[index].next;
        hazards->nodes[index].next = hazards->free_node;
        hazards->free_node = index;
    }
}

struct fth_hazard_operation *fth_hazard_create(struct fth_hazards *hazards,
                                               struct fth_ptx_warp *warp,
                                               const struct fth_ptx_inst *inst, uint32_t serial)
{
    const size_t count = hazards->fresh_count;
    hazards->fresh_count = 0;
    if (count == 0 || hazards->has_failed)
        return NULL;
    if (hazards->operation_count >= MAX_OPERATIONS)
        fth_hazard_advance(hazards, hazards->operations, FULL_MASK, false, HAZARD_GONE);
    struct fth_hazard_operation *operation =
        calloc(1, sizeof *operation + count * sizeof *operation->ranges);
    if (!operation) {
        fth_hazards_fail(hazards);
        return NULL;
    }
    operation->inst = inst;
    operation->warp = warp;
    operation->serial = serial;
    operation->left = operation->range_count = count;
    operation->previous = hazards->last_operation;
    if (hazards->last_operation)
        hazards->last_operation->next = operation;
    else
        hazards->operations = operation;
    hazards->last_operation = operation;
    hazards->operation_count++;
    memcpy(operation->ranges, hazards->fresh, count * sizeof *operation->ranges);
    for (size_t i = 0; i < count; i++)
        if (!insert(hazards, operation, &operation->ranges[i])) {
            fth_hazards_fail(hazards);
            break;
        }
    return operation;
}

static void end_range(struct fth_hazards *hazards, struct fth_hazard_operation *operation,
                      struct fth_hazard_range *range)
{
    if (range->state == HAZARD_LOCAL)
        hazard_warp(hazards, operation->warp)->local--;
    else if (range->state == HAZARD_COUNTED)
        hazards->counted_count--;
    range->state = HAZARD_GONE;
    operation->left--;
    erase(hazards, range);
}

/* Removes an operation whose ranges are all gone. */
static void remove_operation(struct fth_hazards *hazards, struct fth_hazard_operation *operation)
{
    *(operation->previous ? &operation->previous->next : &hazards->operations) = operation->next;
    *(operation->next ? &operation->next->previous : &hazards->last_operation) =
        operation->previous;
    hazards->operation_count--;
    if (operation->copy)
        operation->copy->operation = NULL;
    free(operation);
}

void fth_hazard_advance(struct fth_hazards *hazards, struct fth_hazard_operation *operation,
                        uint32_t lanes, bool only_reads, enum fth_hazard_state state)
{
    for (size_t i = 0; i < operation->range_count; i++) {
        struct fth_hazard_range *range = &operation->ranges[i];
        if (!(lanes >> range->lane & 1) || range->state >= state ||
            (only_reads && range->kind != FTH_ACCESS_READ))
            continue;
        if (state == HAZARD_GONE) {
            end_range(hazards, operation, range);
            continue;
        }
        hazards->counted_count += state == HAZARD_COUNTED;
        hazards->counted_count -= range->state == HAZARD_COUNTED;
        hazard_warp(hazards, operation->warp)->local += state == HAZARD_LOCAL;
        range->state = (uint8_t)state;
    }
    if (operation->left == 0)
        remove_operation(hazards, operation);
}

/* Ends the ranges of an operation in this state; of all mbarriers, if `mbarrier` is NULL. */
static void end_ranges(struct fth_hazards *hazards, struct fth_hazard_operation *operation,
                       enum fth_hazard_state state, const uint8_t *mbarrier)
{
    for (size_t i = 0; i < operation->range_count; i++) {
        struct fth_hazard_range *range = &operation->ranges[i];
        if (range->state == state && (!mbarrier || range->mbarrier == mbarrier))
            end_range(hazards, operation, range);
    }
    if (operation->left == 0)
        remove_operation(hazards, operation);
}

void fth_hazard_end_local(struct fth_hazards *hazards, const struct fth_ptx_warp *warp)
{
    struct fth_hazard_operation *next;
    if (!hazard_warp(hazards, warp)->local)
        return;
    for (struct fth_hazard_operation *at = hazards->operations; at; at = next) {
        next = at->next;
        if (at->warp == warp)
            end_ranges(hazards, at, HAZARD_LOCAL, NULL);
    }
}

void fth_hazard_end_counted(struct fth_hazards *hazards, const uint8_t *mbarrier)
{
    struct fth_hazard_operation *next;
    if (!hazards->counted_count)
        return;
    for (struct fth_hazard_operation *at = hazards->operations; at; at = next) {
        next = at->next;
        end_ranges(hazards, at, HAZARD_COUNTED, mbarrier);
    }
}

const struct fth_hazard_node *fth_hazard_find(const struct fth_hazards *hazards, uint64_t unit,
                                              const struct fth_hazard_node *node)
{
    if (!hazards->operation_count || !hazards->buckets)
        return NULL;
    uint32_t index = node ? node->next : hazards->buckets[bucket_of(unit)];
    while (index && hazards->nodes[index].unit != unit)
        index = hazards->nodes[index].next;
    return index ? &hazards->nodes[index] : NULL;
}
