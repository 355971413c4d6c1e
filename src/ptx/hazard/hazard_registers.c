/* Checks the registers of wgmma: the accumulator must be neither read nor written, and the
 * registers of A not written, between wgmma.mma_async and the wgmma.wait_group of its group; and
 * when they have been written, wgmma.fence must come before wgmma.mma_async (PTX ISA,
 * "wgmma.fence").
 *
 * Compilers move registers where PTX allows no access, because their moves only give a value
 * another name. A move is therefore no access. The check follows the value to its new register, and
 * reports the first other instruction that uses it. */
#include "ptx/hazard/hazard.h"

/* True if the wgmma with this number is in flight. */
static bool in_flight(const struct fth_hazard_warp *state, uint32_t serial)
{
    return serial > state->complete;
}

static void report(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                   const struct fth_ptx_inst *inst, const struct fth_ptx_inst *wgmma, bool writes,
                   const char *what)
{
    fth_hazard_report(hazards, writes ? HAZARD_REGISTER_WRITE : HAZARD_REGISTER_READ, warp, inst,
                      first_lane(warp->mask), wgmma,
                      "%s %s of line %u (%s), which is in flight; missing in between: "
                      "wgmma.wait_group",
                      writes ? "writes" : "reads", what, wgmma->line, wgmma->opcode);
}

static void check_read(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                       const struct fth_ptx_inst *inst, const struct fth_hazard_register *reg)
{
    if (in_flight(hazard_warp(hazards, warp), reg->write_serial))
        report(hazards, warp, inst, reg->writer, false, "the accumulator");
}

static void check_write(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                        const struct fth_ptx_inst *inst, const struct fth_hazard_register *reg)
{
    const struct fth_hazard_warp *state = hazard_warp(hazards, warp);
    if (reg->direct && in_flight(state, reg->write_serial))
        report(hazards, warp, inst, reg->writer, true, "the accumulator");
    if (in_flight(state, reg->read_serial))
        report(hazards, warp, inst, reg->reader, true, "a register of A");
}

/* A move of registers, also of halves into a whole and back: the destinations have what is known of
 * the sources. */
static void move(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                 const struct fth_ptx_inst *inst, uint32_t registers)
{
    const struct fth_hazard_warp *state = hazard_warp(hazards, warp);
    const struct fth_ptx_operands *operands = inst->operands;
    struct fth_hazard_register value = {0};
    for (size_t i = 0; i < operands->read_count; i++) {
        if (operands->reads[i] >= registers)
            continue;
        const struct fth_hazard_register *from = &state->registers[operands->reads[i]];
        if (in_flight(state, from->write_serial) && from->write_serial > value.write_serial) {
            value.writer = from->writer;
            value.write_serial = from->write_serial;
        }
        value.changed = from->changed ? from->changed : value.changed;
    }
    for (size_t i = 0; i < operands->write_count; i++) {
        if (operands->writes[i] >= registers)
            continue;
        struct fth_hazard_register *to = &state->registers[operands->writes[i]];
        if (!value.writer || value.writer != to->writer)
            check_write(hazards, warp, inst, to); /* not the accumulator itself, moved back */
        *to = value;
    }
}

/* wgmma.fence, wgmma.commit_group and wgmma.wait_group. */
static void synchronise(struct fth_hazards *hazards, struct fth_ptx_warp *warp,
                        const struct fth_ptx_inst *inst, uint32_t registers)
{
    struct fth_hazard_warp *state = hazard_warp(hazards, warp);
    if (inst->mode == WGMMA_FENCE) {
        state->has_fence = true;
        for (uint32_t i = 0; i < registers; i++)
            state->registers[i].changed = NULL;
    } else if (inst->mode == WGMMA_COMMIT) {
        state->groups[state->group_count++ % MAX_GROUPS] = state->issued;
    } else if (inst->mode == WGMMA_WAIT) {
        const uint64_t pending = (uint32_t)row(warp, inst->s[0])[0];
        if (pending >= state->group_count || pending >= MAX_GROUPS)
            return;
        state->complete = state->groups[(state->group_count - 1 - pending) % MAX_GROUPS];
        struct fth_hazard_operation *next;
        for (struct fth_hazard_operation *at = hazards->operations; at; at = next) {
            next = at->next;
            if (at->warp == warp && at->serial && !in_flight(state, at->serial))
                fth_hazard_advance(hazards, at, FULL_MASK, false, HAZARD_GONE);
        }
    }
}

void fth_hazard_registers(struct fth_hazards *hazards, struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst)
{
    const uint32_t registers = hazards->run->kernel->register_count;
    const struct fth_hazard_warp *state = hazard_warp(hazards, warp);
    const struct fth_ptx_operands *operands = inst->operands;
    if (inst->async == ASYNC_MATRIX)
        return; /* fth_hazard_matrix follows */
    if (strncmp(inst->opcode, "wgmma.", 6) == 0) {
        synchronise(hazards, warp, inst, registers);
        return;
    }
    if (strncmp(inst->opcode, "mov.", 4) == 0) {
        move(hazards, warp, inst, registers);
        return;
    }
    for (size_t i = 0; i < operands->read_count; i++)
        if (operands->reads[i] < registers)
            check_read(hazards, warp, inst, &state->registers[operands->reads[i]]);
    for (size_t i = 0; i < operands->write_count; i++) {
        if (operands->writes[i] >= registers)
            continue;
        struct fth_hazard_register *reg = &state->registers[operands->writes[i]];
        check_write(hazards, warp, inst, reg);
        *reg = (struct fth_hazard_register){.changed = inst};
    }
}

/* Reports a wgmma.mma_async whose registers were written after the last wgmma.fence. */
static void check_fence(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                        const struct fth_ptx_inst *inst, const struct fth_ptx_inst *changed)
{
    if (!hazard_warp(hazards, warp)->has_fence)
        fth_hazard_report(hazards, HAZARD_NO_FENCE, warp, inst, 0, NULL,
                          "missing before the first wgmma.mma_async: wgmma.fence");
    else if (changed)
        fth_hazard_report(hazards, HAZARD_NO_FENCE, warp, inst, 0, changed,
                          "line %u (%s) has written one of its registers; missing in between: "
                          "wgmma.fence",
                          changed->line, changed->opcode);
}

void fth_hazard_matrix(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                       const int32_t *d_rows, size_t d_count, const int32_t *a_rows, size_t a_count,
                       bool adds)
{
    struct fth_hazards *hazards = warp->block->cluster->hazards;
    struct fth_hazard_warp *state = hazard_warp(hazards, warp);
    const struct fth_ptx_inst *changed = NULL;
    const uint32_t serial = ++state->issued;
    (void)fth_hazard_create(hazards, warp, inst, serial);
    if (hazards->has_failed || !state->registers || warp->frame->depth)
        return;
    for (size_t i = 0; i < a_count; i++) {
        if (a_rows[i] < 0)
            continue;
        struct fth_hazard_register *reg = &state->registers[a_rows[i]];
        check_read(hazards, warp, inst, reg);
        changed = reg->changed ? reg->changed : changed;
        reg->reader = inst;
        reg->read_serial = serial;
    }
    for (size_t i = 0; i < d_count; i++) {
        if (d_rows[i] < 0)
            continue;
        struct fth_hazard_register *reg = &state->registers[d_rows[i]];
        /* Products of the same shape and types may use the accumulator one after the other. */
        if (reg->writer && strcmp(reg->writer->opcode, inst->opcode) != 0)
            check_write(hazards, warp, inst, reg);
        changed = adds && reg->changed ? reg->changed : changed;
        reg->writer = inst;
        reg->write_serial = serial;
        reg->direct = true;
    }
    check_fence(hazards, warp, inst, changed);
}
