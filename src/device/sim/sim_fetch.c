/* Instruction fetch. The time to issue an instruction is the `cycles_per_instruction` of the
 * innermost cache that holds its line. Straight-line code that does not fit into a cache therefore
 * runs at the rate of the next one. While a warp executes within one line of the innermost cache,
 * the caches are not looked up again. */
#include "device/sim/sim.h"

/* The address of code is far from all data, so that code and data never have the same address in an
 * array that holds both. */
#define CODE_BASE ((uint64_t)1 << 60)

/* Looks up the line in one cache after the other and fills those that miss. Returns the issue time
 * at the level that has it. Sets *end to the end of the data that the missing levels fetch, or to
 * `line` if the first level hits. */
static int64_t look_up(struct fth_sim_timing *timing, const struct fth_ptx_warp_id *who,
                       uint64_t line, uint64_t *end)
{
    const struct fth_sim_plan *plan = timing->plan;
    uint64_t address = CODE_BASE + line, bytes = timing->fetch_line_bytes;
    *end = line;
    for (unsigned i = FTH_SIM_INSTRUCTION_L0; i <= FTH_SIM_INSTRUCTION_L15; i++) {
        const struct fth_sim_level *level = &plan->levels[i];
        if (!level->present)
            continue;
        struct fth_cache *cache =
            fth_sim_caches_get(&timing->caches, (enum fth_sim_element)i, who->sm, who->warp);
        timing->failed = timing->failed || !cache;
        if (!cache || fth_sim_cache_read(cache, &plan->arrays[level->array], &address, &bytes))
            return level->fetch_cost;
        *end = address + bytes - CODE_BASE;
    }
    return plan->fetch_miss_cost;
}

void fth_sim_fetch_init(struct fth_sim_timing *timing)
{
    const struct fth_sim_plan *plan = timing->plan;
    timing->fetch_cost = FTH_SIM_CYCLE;
    for (unsigned i = FTH_SIM_INSTRUCTION_L15; i >= FTH_SIM_INSTRUCTION_L0; i--)
        if (plan->levels[i].present) {
            timing->fetch_line_bytes = plan->arrays[plan->levels[i].array].line_bytes;
            timing->fetch_cost = plan->levels[i].fetch_cost;
        }
}

/* Returns the address, in FTH_PTX_INSTRUCTION_BYTES per instruction, of the first instruction that
 * starts at or after `byte` of the machine code. */
static uint64_t instruction_at(const struct fth_code_size *code, uint64_t byte)
{
    uint64_t index = (byte * code->instructions + code->bytes - 1) / code->bytes;
    return index * FTH_PTX_INSTRUCTION_BYTES;
}

int64_t fth_sim_fetch(struct fth_sim_timing *timing, struct fth_sim_warp *warp,
                      const struct fth_ptx_warp_id *who, uint64_t address)
{
    if (timing->fetch_line_bytes == 0) {
        warp->fetch_from = 0;
        warp->fetch_span = UINT64_MAX;
        warp->fetch_cost = timing->fetch_cost;
        return warp->fetch_cost;
    }
    const struct fth_code_size *code = &timing->plan->code;
    uint64_t byte = address / FTH_PTX_INSTRUCTION_BYTES * code->bytes / code->instructions;
    uint64_t line = byte & ~(timing->fetch_line_bytes - 1);
    if (line != warp->fetch_line ||
        (address != warp->fetch_next && warp->fetch_cost != timing->fetch_cost)) {
        /* The rest of an outer cache's longer line is still arriving, at the outer cache's rate. */
        bool in_flight = address == warp->fetch_next && byte < warp->fetch_end;
        int64_t last = warp->fetch_cost;
        uint64_t end;
        warp->fetch_line = line;
        warp->fetch_from = instruction_at(code, line);
        warp->fetch_span = instruction_at(code, line + timing->fetch_line_bytes) - warp->fetch_from;
        warp->fetch_cost = look_up(timing, who, line, &end);
        if (in_flight && warp->fetch_cost < last)
            warp->fetch_cost = last;
        else
            warp->fetch_end = end;
    }
    warp->fetch_next = address + FTH_PTX_INSTRUCTION_BYTES;
    return warp->fetch_cost;
}
