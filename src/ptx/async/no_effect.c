/* Fences, and instructions that the engine accepts and does not need. Each warp executes its
 * accesses in program order, and copies become visible as soon as they are executed, so fences only
 * order the accesses of different host threads, which run different blocks. A launch runs alone, so
 * that it waits for no other grid. A warp has all registers that its kernel declares. Cache
 * policies are not modelled; their results are never looked at. */
#include "ptx/async/async.h"

/* Skips all words that are in the list. Returns false at one that is not. */
static bool take_all(struct fth_ptx_statement *statement, const char *const *words, size_t count)
{
    while (statement->next_word < statement->word_count)
        if (fth_ptx_take_one_of(statement, words, count) < 0)
            return false;
    return true;
}

bool fth_ptx_family_fence(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    static const char *const words[] = {"sc",
                                        "acq_rel",
                                        "acquire",
                                        "release",
                                        "cta",
                                        "cluster",
                                        "gpu",
                                        "sys",
                                        "gl",
                                        "proxy",
                                        "alias",
                                        "async",
                                        "global",
                                        "shared::cta",
                                        "shared::cluster",
                                        "tensormap::generic",
                                        "async::generic",
                                        "mbarrier_init",
                                        "sync_restrict::shared::cta",
                                        "sync_restrict::shared::cluster"};
    inst->run = fth_ptx_run_fence;
    return take_all(statement, words, FTH_COUNT(words)) || fth_ptx_refuse(parser, statement);
}

/* griddepcontrol waits for other grids, setmaxnreg changes the number of registers. */
bool fth_ptx_family_resources(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                              struct fth_ptx_inst *inst)
{
    static const char *const words[] = {"wait", "launch_dependents", "inc", "dec",
                                        "sync", "aligned",           "u32"};
    inst->run = fth_ptx_run_nothing;
    return take_all(statement, words, FTH_COUNT(words)) || fth_ptx_refuse(parser, statement);
}

/* A policy is the enum fth_ptx_priority of all of its accesses, whatever its fraction or range. */
static void run_policy(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t priority = inst->l2_priority;
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = priority;);
}

/* Returns the first priority of createpolicy. The second one, which accesses outside of the
 * fraction or range have, can only be evict_first or evict_unchanged. */
static enum fth_ptx_priority policy_priority(const struct fth_ptx_statement *statement)
{
    return fth_ptx_has_word(statement, "L2::evict_last")        ? FTH_PRIORITY_LAST
           : fth_ptx_has_word(statement, "L2::evict_normal")    ? FTH_PRIORITY_NORMAL
           : fth_ptx_has_word(statement, "L2::evict_first")     ? FTH_PRIORITY_FIRST
           : fth_ptx_has_word(statement, "L2::evict_unchanged") ? FTH_PRIORITY_UNCHANGED
                                                                : FTH_PRIORITY_NONE;
}

bool fth_ptx_family_policy(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                           struct fth_ptx_inst *inst)
{
    static const char *const words[] = {"fractional",
                                        "range",
                                        "cvt",
                                        "global",
                                        "L2",
                                        "L2::evict_last",
                                        "b64",
                                        "L2::evict_normal",
                                        "L2::evict_first",
                                        "L2::evict_unchanged"};
    const int32_t *rows;
    inst->l2_priority = (uint8_t)policy_priority(statement);
    if (!take_all(statement, words, FTH_COUNT(words)))
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_take_registers(parser, statement, 0, 1, true, &rows))
        return false;
    if (*rows < 0)
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    inst->d[0] = *rows;
    inst->run = run_policy;
    return true;
}
