/* Counts what the rules need to know of the instructions of a kernel: how many sectors its accesses
 * need and how many would do, the distances between lanes, and what the warps of a block share. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "find hints";

enum {
    LANES = 32,
    SECTOR_BITS = 5,
    SECTOR_BYTES = 32,
    /* Maximum number of different strides that are counted per instruction. Chosen: an instruction
     * with regular addresses has one or two. */
    STRIDES = 8
};

/* What is counted for an instruction besides its fact. */
struct state {
    size_t fact; /* index in facts->items; SIZE_MAX: none */
    uint64_t strides[STRIDES], counts[STRIDES];
    size_t stride_count;
    /* The distance between the first two lanes of the first access, and where in a struct of this
     * size its first lane accesses. */
    uint64_t struct_bytes, phase;
};

struct count {
    const struct fth_trace *trace;
    struct fth_facts *facts;
    struct state *states; /* by instruction of the trace */
    struct fth_seen seen; /* sectors and addresses of the current blocks */
};

/* ---- one access ---- */

static void sort_addresses(uint64_t *addresses, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t address = addresses[i];
        uint32_t at = i;
        for (; at > 0 && addresses[at - 1] > address; at--)
            addresses[at] = addresses[at - 1];
        addresses[at] = address;
    }
}

/* Counts the distances from each lane to the next one. */
static void count_strides(struct state *state, struct fth_fact *fact,
                          const struct fth_trace_access *access)
{
    uint32_t index = 0;
    for (uint32_t lane = 0; lane + 1 < LANES; lane++) {
        const bool both = (access->mask >> lane & 3) == 3;
        const uint64_t stride = both ? access->addresses[index + 1] - access->addresses[index] : 0;
        index += access->mask >> lane & 1;
        if (!stride)
            continue;
        size_t i = 0;
        while (i < state->stride_count && state->strides[i] != stride)
            i++;
        fact->neighbours++;
        if (i == STRIDES)
            continue;
        if (i == state->stride_count) {
            state->strides[i] = stride;
            state->stride_count++;
        }
        state->counts[i]++;
    }
}

/* Counts whether an access is at the same place of its structs as the first access, if neighbouring
 * lanes access neighbouring structs. */
static void count_phase(struct state *state, struct fth_fact *fact,
                        const struct fth_trace_access *access)
{
    const uint64_t first = access->addresses[0];
    const uint64_t stride = access->threads > 1 ? access->addresses[1] - first : 0;
    if (!stride)
        return;
    if (!state->struct_bytes) {
        state->struct_bytes = stride;
        state->phase = first % stride;
    }
    fact->strided++;
    fact->in_phase += stride == state->struct_bytes && first % stride == state->phase;
}

/* fth_seen_put for a count. A block that accesses more than the set can hold begins anew; what it
 * repeats is then undercounted. */
static enum fth_status put(struct count *count, uint64_t unit, uint32_t block, uint32_t initial,
                           uint32_t *value, bool *is_new, struct fth_error *error)
{
    struct fth_error first = FTH_NO_ERROR;
    uint32_t *found = NULL;
    enum fth_status status =
        fth_seen_put(&count->seen, unit, block, initial, &found, is_new, &first);
    if (status == FTH_INVALID) {
        fth_seen_clear(&count->seen);
        first = FTH_NO_ERROR;
        status = fth_seen_put(&count->seen, unit, block, initial, &found, is_new, &first);
    }
    if (status != FTH_OK)
        return fth_error_move(error, &first);
    *value = *found;
    return FTH_OK;
}

/* Counts the different sectors of an access and, for a load, those that another warp of the block
 * has loaded before. `sorted` has the addresses in ascending order. */
static enum fth_status count_sectors(struct count *count, struct fth_fact *fact,
                                     const struct fth_trace_access *access, const uint64_t *sorted,
                                     uint32_t block, struct fth_error *error)
{
    const uint32_t bytes = fact->instruction->bytes;
    uint64_t next = 0;
    for (uint32_t i = 0; i < access->threads; i++) {
        const uint64_t last = (sorted[i] + bytes - 1) >> SECTOR_BITS;
        uint64_t sector = sorted[i] >> SECTOR_BITS;
        for (sector = sector < next ? next : sector; sector <= last; sector++) {
            uint32_t warp = access->warp;
            bool is_new = true;
            fact->sectors++;
            if (fact->instruction->kind == FTH_TRACE_READ)
                FTH_TRY(put(count, sector, block, access->warp, &warp, &is_new, error));
            fact->shared_sectors += !is_new && warp != access->warp;
        }
        next = last + 1;
    }
    return FTH_OK;
}

/* Returns a number for the source line of an instruction and the calls through which it was
 * inlined. Copies of an unrolled instruction have the same number. */
static uint64_t line_key(const struct fth_trace_instruction *instruction)
{
    uint64_t key = instruction->source_line ? 0 : instruction->line;
    for (const struct fth_source_position *at = instruction->source; at; at = at->inlined_at)
        key = (key ^ at->line) * UINT64_C(0x9e3779b97f4a7c15);
    return key;
}

static enum fth_status count_access(struct count *count, const struct fth_trace_access *access,
                                    uint32_t block, struct fth_error *error)
{
    struct state *state = &count->states[access->instruction];
    if (state->fact == SIZE_MAX)
        return FTH_OK;
    struct fth_fact *fact = &count->facts->items[state->fact];
    const uint64_t key = line_key(fact->instruction);
    uint64_t sorted[LANES], different = 0;
    memcpy(sorted, access->addresses, access->threads * sizeof *sorted);
    sort_addresses(sorted, access->threads);
    count_strides(state, fact, access);
    count_phase(state, fact, access);
    if (fact->requests == 0)
        fact->first = access->addresses[0];
    fact->requests++;
    fact->accesses += access->threads;
    for (uint32_t i = 0; i < access->threads; i++) {
        uint32_t unused;
        bool is_new = false;
        different += i == 0 || sorted[i] != sorted[i - 1];
        if (fact->instruction->kind == FTH_TRACE_ATOMIC)
            FTH_TRY(put(count, (sorted[i] ^ key) | UINT64_C(1) << 63, block, 0, &unused, &is_new,
                        error));
        fact->block_addresses += is_new;
    }
    fact->ideal_sectors += (different * fact->instruction->bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    const uint64_t end = sorted[access->threads - 1] + fact->instruction->bytes;
    fact->low = sorted[0] < fact->low ? sorted[0] : fact->low;
    fact->high = end > fact->high ? end : fact->high;
    return count_sectors(count, fact, access, sorted, block, error);
}

/* ---- launches ---- */

/* Counts the accesses of some blocks of a launch. */
static enum fth_status count_blocks(struct count *count, size_t index, uint64_t first,
                                    uint64_t blocks, struct fth_error *error)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access = NULL;
    const struct fth_trace_launch *launch = fth_trace_launch_at(count->trace, index);
    fth_seen_clear(&count->seen);
    enum fth_status status =
        fth_trace_cursor_open(count->trace, index, first, first + blocks - 1, &cursor, error);
    do {
        if (status == FTH_OK)
            status = fth_trace_next(cursor, &access, error);
        if (status == FTH_OK && access)
            status = fth_edit_check(launch, access, error);
        if (status == FTH_OK && access && access->threads)
            status = count_access(count, access, (uint32_t)(access->block - first), error);
    } while (status == FTH_OK && access);
    fth_trace_cursor_close(cursor);
    return status;
}

static enum fth_status count_launch(struct count *count, size_t index, const struct fth_log *log,
                                    struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(count->trace, index);
    const uint64_t blocks = fth_launch_blocks(launch), chunk = fth_edit_chunk(launch);
    for (uint64_t first = 0; first < blocks; first += chunk) {
        if (fth_log_interrupted(log))
            return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
        FTH_TRY(count_blocks(count, index, first, blocks - first < chunk ? blocks - first : chunk,
                             error));
    }
    return FTH_OK;
}

/* ---- facts ---- */

/* Returns the model's row of an instruction; NULL: there is none. */
static const struct fth_model_row *find_row(const struct fth_model_result *result,
                                            const struct fth_trace_row *of)
{
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        if (row->instruction == of->instruction && strcmp(row->kernel, of->kernel) == 0)
            return row;
    return NULL;
}

/* Makes an empty fact for each instruction of the kernel that accesses global memory. */
static enum fth_status add_facts(struct count *count, const struct fth_trace_stats *stats,
                                 const struct fth_model_result *result, struct fth_error *error)
{
    struct fth_facts *facts = count->facts;
    const size_t instructions = fth_trace_instruction_count(count->trace);
    const struct fth_trace_row *row;
    count->states = calloc(instructions + 1, sizeof *count->states);
    facts->items = calloc(instructions + 1, sizeof *facts->items);
    if (!count->states || !facts->items)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < instructions; i++)
        count->states[i].fact = SIZE_MAX;
    for (size_t i = 0; (row = fth_trace_stats_row(stats, i)); i++) {
        if (strcmp(row->kernel, facts->kernel) != 0)
            continue;
        if (!row->instruction)
            facts->read_bytes = row->launches * row->footprint_bytes[FTH_TRACE_READ];
        if (!row->instruction || !fth_edit_global(row->instruction))
            continue;
        size_t index = 0;
        while (fth_trace_instruction_at(count->trace, index) != row->instruction)
            index++;
        count->states[index].fact = facts->count;
        facts->items[facts->count++] = (struct fth_fact){
            .instruction = row->instruction,
            .row = find_row(result, row),
            .footprint_sectors =
                row->launches * row->footprint_bytes[row->instruction->kind] / SECTOR_BYTES,
            .low = UINT64_MAX};
    }
    return FTH_OK;
}

/* Chooses the most frequent stride of each instruction. */
static void choose_strides(const struct count *count)
{
    for (size_t i = 0; i < fth_trace_instruction_count(count->trace); i++) {
        const struct state *state = &count->states[i];
        for (size_t k = 0; k < state->stride_count && state->fact != SIZE_MAX; k++) {
            struct fth_fact *fact = &count->facts->items[state->fact];
            if (state->counts[k] <= fact->stride_count)
                continue;
            fact->stride = state->strides[k];
            fact->stride_count = state->counts[k];
        }
    }
}

enum fth_status fth_facts_create(const struct fth_trace *trace, const struct fth_trace_stats *stats,
                                 const struct fth_model_result *result,
                                 const struct fth_model_row *row, const struct fth_log *log,
                                 struct fth_facts *facts, struct fth_error *error)
{
    *facts = (struct fth_facts){.kernel = row->kernel, .row = row};
    struct count count = {.trace = trace, .facts = facts};
    enum fth_status status = add_facts(&count, stats, result, error);
    for (size_t i = 0; i < fth_trace_launch_count(trace) && status == FTH_OK; i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        if (!fth_launch_is_of(launch, row->kernel))
            continue;
        facts->launch = launch;
        facts->accesses += launch->accesses;
        status = count_launch(&count, i, log, error);
    }
    if (status == FTH_OK)
        choose_strides(&count);
    else
        fth_facts_fini(facts);
    fth_seen_fini(&count.seen);
    free(count.states);
    return status;
}

void fth_facts_fini(struct fth_facts *facts)
{
    free(facts->items);
    *facts = (struct fth_facts){0};
}
