/* Checks each access to shared memory against the last accesses of other threads to the same bytes.
 *
 * Shared memory is divided into units: as many bytes as the smallest access of the module has, at
 * most 4. A plain write after which the bytes are the same as before is no race with other writes
 * or with earlier reads: threads may store the same value. Copies of asynchronous instructions are
 * checked elsewhere (hazard_access.c). */
#include "ptx/hazard/hazard.h"

#include <stdlib.h>

/* An access of one lane to a unit. */
struct access {
    struct fth_race_unit *unit;
    const struct fth_ptx_block *block; /* owner of the shared memory */
    uint64_t offset;
    struct fth_race_entry own;
};

/* ---- reports ---- */

static const struct fth_ptx_warp *warp_of(const struct fth_races *races, uint32_t thread)
{
    const uint32_t index = thread / LANES, per_block = races->hazards->warps_per_block;
    return &races->hazards->cluster->blocks[index / per_block].warps[index % per_block];
}

static enum fth_race_scope scope_of(const struct fth_ptx_warp *warp,
                                    const struct fth_ptx_warp *other)
{
    return warp == other                 ? RACE_IN_WARP
           : warp->block == other->block ? RACE_IN_BLOCK
                                         : RACE_IN_CLUSTER;
}

static void report(struct fth_races *races, const struct fth_race_entry *own, const char *kind,
                   const struct fth_race_entry *entry, const char *entry_kind, uint64_t offset)
{
    const struct fth_ptx_warp *warp = warp_of(races, own->thread);
    const struct fth_ptx_warp *other = warp_of(races, entry->thread);
    const enum fth_race_scope scope = scope_of(warp, other);
    struct fth_finding *finding =
        fth_hazard_repeat(races->hazards, HAZARD_RACE, own->inst, entry->inst);
    if (!finding) {
        char place[320];
        fth_ptx_warp_place(other, entry->inst, (int)(entry->thread % LANES), place, sizeof place);
        finding = fth_hazard_report(
            races->hazards, HAZARD_RACE, warp, own->inst, (int)(own->thread % LANES), entry->inst,
            "%s%s of shared address 0x%llx races with the %s%s of %s", own->strong ? "atomic " : "",
            kind, (unsigned long long)offset, entry->strong ? "atomic " : "", entry_kind, place);
    }
    if (finding && scope > finding->scope)
        finding->scope = scope;
}

/* ---- accesses to a unit ---- */

/* True if two lanes of a warp execute the same store, of which one wins. */
static bool is_same_store(const struct fth_race_entry *entry, const struct fth_race_entry *own)
{
    return entry->inst == own->inst && entry->thread / LANES == own->thread / LANES &&
           entry->time == own->time;
}

/* True if two accesses to a unit, at least one of which writes, race. */
static bool races_with(const struct fth_races *races, const struct fth_race_entry *entry,
                       const struct fth_race_entry *own)
{
    if (!entry->inst || entry->thread == own->thread || (entry->strong && own->strong))
        return false;
    return !is_same_store(entry, own) && !fth_race_is_ordered(races, entry, own);
}

/* Keeps a write that races with an earlier access until it is known whether it changes the
 * contents. */
static void add_write(struct fth_races *races, const struct access *access,
                      const struct fth_race_entry *other, bool other_reads)
{
    if (races->write_count == races->write_capacity) {
        const size_t capacity = races->write_capacity ? 2 * races->write_capacity : 64;
        struct fth_race_write *grown = realloc(races->writes, capacity * sizeof *grown);
        if (!grown) {
            fth_hazards_fail(races->hazards);
            return;
        }
        races->writes = grown;
        races->write_capacity = capacity;
    }
    struct fth_race_write *write = &races->writes[races->write_count++];
    *write = (struct fth_race_write){.unit = access->unit,
                                     .block = access->block,
                                     .offset = access->offset,
                                     .other = *other,
                                     .own = access->own,
                                     .other_reads = other_reads};
    memcpy(write->before, access->block->shared + access->offset, races->unit_bytes);
}

void fth_race_check_writes(struct fth_races *races)
{
    for (size_t i = 0; i < races->write_count; i++) {
        const struct fth_race_write *write = &races->writes[i];
        if (memcmp(write->before, write->block->shared + write->offset, races->unit_bytes) != 0)
            report(races, &write->own, "write", &write->other,
                   write->other_reads ? "read" : "write", write->offset);
        else if (!write->other_reads)
            write->unit->writer.repeats = REPEATS_ANY;
    }
    races->write_count = 0;
}

static void write_plain(struct fth_races *races, const struct access *access)
{
    struct fth_race_unit *unit = access->unit;
    for (int i = 0; i < RACE_READERS; i++)
        if (races_with(races, &unit->readers[i], &access->own))
            add_write(races, access, &unit->readers[i], true);
    if (races_with(races, &unit->writer, &access->own))
        add_write(races, access, &unit->writer, false);
    if (races_with(races, &unit->atomic, &access->own))
        report(races, &access->own, "write", &unit->atomic, "access", access->offset);
    const bool repeats =
        unit->writer.thread != access->own.thread && is_same_store(&unit->writer, &access->own);
    *unit = (struct fth_race_unit){.writer = access->own};
    unit->writer.repeats = repeats ? REPEATS_IN_WARP : REPEATS_NONE;
}

static void write_strong(struct fth_races *races, const struct access *access)
{
    struct fth_race_unit *unit = access->unit;
    for (int i = 0; i < RACE_READERS; i++)
        if (races_with(races, &unit->readers[i], &access->own))
            report(races, &access->own, "access", &unit->readers[i], "read", access->offset);
    if (races_with(races, &unit->writer, &access->own))
        report(races, &access->own, "access", &unit->writer, "write", access->offset);
    unit->atomic = access->own;
}

/* Keeps a read. It takes the place of a read that it is ordered after: what races with that one
 * races with this one. Otherwise, reads of different warps are kept. */
static void keep_reader(struct fth_races *races, struct fth_race_entry *readers,
                        const struct fth_race_entry *own)
{
    int free_slot = -1;
    for (int i = 0; i < RACE_READERS; i++)
        if (!readers[i].inst || readers[i].thread == own->thread ||
            fth_race_is_ordered(races, &readers[i], own)) {
            readers[i].inst = NULL;
            free_slot = i;
        }
    if (free_slot < 0 && readers[0].thread / LANES == readers[1].thread / LANES &&
        own->thread / LANES != readers[0].thread / LANES)
        free_slot = 1;
    if (free_slot >= 0)
        readers[free_slot] = *own;
}

static void read_unit(struct fth_races *races, const struct access *access)
{
    struct fth_race_unit *unit = access->unit;
    const char *kind = access->own.strong ? "access" : "read";
    const bool same_warp = unit->writer.thread / LANES == access->own.thread / LANES;
    const bool repeats = unit->writer.repeats == REPEATS_ANY ||
                         (unit->writer.repeats == REPEATS_IN_WARP && same_warp);
    if (!repeats && races_with(races, &unit->writer, &access->own))
        report(races, &access->own, kind, &unit->writer, "write", access->offset);
    if (races_with(races, &unit->atomic, &access->own))
        report(races, &access->own, kind, &unit->atomic, "access", access->offset);
    keep_reader(races, unit->readers, &access->own);
}

/* ---- accesses of lanes ---- */

/* True if the access is strong: atomic, volatile, or with a memory order. */
static bool is_strong(const struct fth_ptx_inst *inst, enum fth_ptx_access_kind kind)
{
    static const char *const words[] = {"acquire", "release", "relaxed", "volatile", "mmio"};
    if (kind == FTH_ACCESS_ATOMIC)
        return true;
    if (inst->opcode[0] == '\0' || inst->opcode[1] == '\0' || inst->opcode[2] != '.')
        return false; /* neither ld nor st */
    for (size_t i = 0; i < FTH_COUNT(words); i++)
        if (strncmp(inst->opcode + 3, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Returns the units of a block, or NULL when out of memory. */
static struct fth_race_unit *units_of(struct fth_races *races, const struct fth_ptx_block *block)
{
    struct fth_race_unit **units = &races->units[block->rank];
    if (!*units)
        *units = calloc(races->hazards->run->shared_bytes / races->unit_bytes + 1, sizeof **units);
    if (!*units)
        fth_hazards_fail(races->hazards);
    return *units;
}

/* Checks the units that a lane accesses as a whole. */
static void access_shared(struct fth_races *races, const struct fth_ptx_block *block,
                          uint64_t start, unsigned bytes, enum fth_ptx_access_kind kind,
                          const struct fth_race_entry *own)
{
    struct fth_race_unit *units = units_of(races, block);
    const uint64_t size = races->unit_bytes;
    if (!units)
        return;
    for (uint64_t at = (start + size - 1) / size; (at + 1) * size <= start + bytes; at++) {
        const struct access access = {
            .unit = &units[at], .block = block, .offset = at * size, .own = *own};
        if (kind == FTH_ACCESS_READ)
            read_unit(races, &access);
        else if (own->strong)
            write_strong(races, &access);
        else
            write_plain(races, &access);
    }
}

void fth_race_access(struct fth_races *races, const struct fth_ptx_warp *warp,
                     const struct fth_ptx_inst *inst, const struct fth_ptx_lane_group *group,
                     unsigned bytes, enum fth_ptx_access_kind kind)
{
    const bool is_barrier = inst->unit == FTH_UNIT_BARRIER, strong = is_strong(inst, kind);
    if (!strong && (group->space != FTH_SPACE_SHARED || is_barrier))
        return;
    const uint32_t index = warp->block->rank * races->hazards->warps_per_block + warp->index;
    struct fth_race_entry own = {.inst = fth_hazard_original(warp, inst), .strong = strong};
    for (uint32_t left = group->mask; left && !races->hazards->has_failed; left &= left - 1) {
        const int lane = first_lane(left);
        own.thread = (index * LANES + (uint32_t)lane) & 0x1fffffff;
        own.time = races->warps[index].time;
        if (group->space == FTH_SPACE_SHARED && !is_barrier)
            access_shared(races, group->block, group->addresses[lane] & UINT32_MAX, bytes, kind,
                          &own);
        /* An atomic operation cannot be ordered after what it learns by itself. */
        if (strong && kind != FTH_ACCESS_WRITE && !is_barrier)
            fth_race_learn(races, warp, group->host[lane]);
        if (strong && kind != FTH_ACCESS_READ)
            fth_race_publish(races, warp, group->host[lane]);
    }
}
