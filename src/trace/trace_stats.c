/* Computes statistics of a trace: requests, sectors, lines and footprints per kernel and per
 * instruction.
 *
 * A sector has 32 bytes and a line 128, as on every NVIDIA GPU since Maxwell. A request of a warp
 * counts each sector once, even if several threads access it. This is the number that the hardware
 * counters l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st} report. */
#include "trace/trace.h"

#include "trace/footprint.h"

#include <stdlib.h>
#include <string.h>

/* Binary logarithms of the sizes of a sector and a line; the number of access kinds (read, write,
 * atomic). */
enum { SECTOR_BITS = 5, LINE_BITS = 7, KINDS = 3 };

/* ---- rows ---- */

/* The row of an instruction and the footprint from which its last fields are computed. All accesses
 * of an instruction are of the same kind. */
struct row {
    struct fth_trace_row row;
    struct fth_footprint footprint;
};

struct kernel {
    /* Until the end, it has only what the rows of instructions do not have. */
    struct fth_trace_row total;
    struct row
        *instructions; /* one per instruction of the trace; only those with requests are shown */
};

struct fth_trace_stats {
    struct kernel *kernels;
    size_t kernel_count, kernel_capacity;
    size_t instruction_count;
    const struct fth_trace_row **shown;
    size_t shown_count;
};

/* Sorts the addresses of an access. Insertion is fast here because they usually are in order. */
static void sort_addresses(struct fth_trace_access *access)
{
    for (uint32_t i = 1; i < access->threads; i++) {
        const uint64_t address = access->addresses[i];
        uint32_t at = i;
        for (; at > 0 && access->addresses[at - 1] > address; at--)
            access->addresses[at] = access->addresses[at - 1];
        access->addresses[at] = address;
    }
}

/* Returns the number of sectors or lines from the byte `first` to the byte `last`, without those
 * before the unit *next. *next becomes the unit after the last one. */
static uint64_t count_units(uint64_t first, uint64_t last, unsigned shift, uint64_t *next)
{
    const uint64_t begin = first >> shift > *next ? first >> shift : *next;
    const uint64_t end = (last >> shift) + 1;
    if (begin >= end)
        return 0;
    *next = end;
    return end - begin;
}

/* Counts an access with sorted addresses, and adds its words to the footprint of the row. The
 * ranges of lanes that overlap or follow each other directly are counted together. Returns false if
 * memory is exhausted. */
static bool count_access(struct row *row, enum fth_trace_access_kind kind,
                         const struct fth_trace_access *access, uint32_t bytes)
{
    uint64_t used = 0, next_sector = 0, next_line = 0;
    for (uint32_t i = 0; i < access->threads;) {
        const uint64_t first = access->addresses[i];
        uint64_t end = first + bytes;
        for (i++; i < access->threads && access->addresses[i] <= end; i++)
            end = access->addresses[i] + bytes;
        used += end - first;
        row->row.sectors[kind] += count_units(first, end - 1, SECTOR_BITS, &next_sector);
        row->row.lines[kind] += count_units(first, end - 1, LINE_BITS, &next_line);
        if (!fth_footprint_add(&row->footprint, first, end - 1))
            return false;
    }
    row->row.requested_bytes[kind] += (uint64_t)access->threads * bytes;
    row->row.used_bytes[kind] += used;
    row->row.ideal_sectors[kind] += (used + (1U << SECTOR_BITS) - 1) >> SECTOR_BITS;
    return true;
}

/* Counts an access to local memory: each word of 4 bytes per lane is in lines of its own. The
 * footprint is that of one warp, since the trace does not know where the memory of a warp is. */
static bool add_local(struct row *row, const struct fth_trace_access *access,
                      const struct fth_trace_instruction *instruction)
{
    struct fth_trace_access word = *access;
    const uint32_t bytes = instruction->bytes < 4 ? instruction->bytes : 4;
    const enum fth_trace_access_kind kind = instruction->kind;
    sort_addresses(&word);
    row->row.requests[kind]++;
    row->row.accesses[kind] += access->threads;
    for (uint32_t at = 0; at < instruction->bytes; at += 4) {
        if (!count_access(row, kind, &word, bytes))
            return false;
        for (uint32_t i = 0; i < access->threads; i++)
            word.addresses[i] += 128; /* the next word of the lane */
    }
    return true;
}

const char *fth_trace_kind_name(const struct fth_trace_instruction *instruction)
{
    static const char *const kinds[] = {"read", "write", "atomic"};
    static const char *const local[] = {"local read", "local write", "local atomic"};
    static const char *const spill[] = {"spill read", "spill write", ""};
    static const char *const texture[] = {"texture read", "surface write", "surface atomic"};
    static const char *const shared[] = {"shared read", "shared write", "shared atomic"};
    return (instruction->hints & FTH_TRACE_SHARED    ? shared
            : instruction->hints & FTH_TRACE_SPILL   ? spill
            : instruction->hints & FTH_TRACE_LOCAL   ? local
            : instruction->hints & FTH_TRACE_TEXTURE ? texture
                                                     : kinds)[instruction->kind];
}

size_t fth_trace_first_part(const struct fth_trace *trace, size_t instruction)
{
    const struct fth_trace_instruction *part = fth_trace_instruction_at(trace, instruction), *other;
    if (!(part->hints & FTH_TRACE_CONTINUES))
        return instruction;
    for (size_t i = 0; (other = fth_trace_instruction_at(trace, i)); i++)
        if (other->line == part->line && other->index == part->index && other->kind == part->kind &&
            other->bytes == part->bytes && other->hints == (part->hints & ~FTH_TRACE_CONTINUES))
            return i;
    return instruction;
}

/* Counts an access to a texture or surface: each request of the texture unit. */
static bool add_texels(struct row *row, const struct fth_trace_access *access,
                       const struct fth_trace_instruction *instruction)
{
    const uint32_t bits =
        FTH_TRACE_TEXELS(instruction->hints) * FTH_TRACE_TEXTURE_LANES(instruction->hints);
    const uint32_t low = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
    struct fth_trace_access part = {.threads = 0};
    for (uint32_t first = 0, done = 0; first < 32; first += bits, done += part.threads) {
        part.threads = (uint32_t)__builtin_popcount(access->mask >> first & low);
        if (!part.threads)
            continue;
        memcpy(part.addresses, access->addresses + done, part.threads * sizeof *part.addresses);
        sort_addresses(&part);
        row->row.requests[instruction->kind]++;
        row->row.accesses[instruction->kind] += part.threads;
        if (!count_access(row, instruction->kind, &part, instruction->bytes))
            return false;
    }
    return true;
}

static bool add_access(struct kernel *kernel, const struct fth_trace *trace,
                       const struct fth_trace_access *access)
{
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(trace, access->instruction);
    struct row *row = &kernel->instructions[access->instruction];
    if (instruction->hints & FTH_TRACE_LOCAL)
        return add_local(row, access, instruction);
    if (instruction->hints & FTH_TRACE_TEXTURE)
        return add_texels(&kernel->instructions[fth_trace_first_part(trace, access->instruction)],
                          access, instruction);
    struct fth_trace_access sorted = *access;
    sort_addresses(&sorted);
    row->row.requests[instruction->kind]++;
    row->row.accesses[instruction->kind] += access->threads;
    return count_access(row, instruction->kind, &sorted, instruction->bytes);
}

/* Finds the statistics of a kernel and adds them if they are missing. NULL: memory is exhausted. */
static struct kernel *find_kernel(struct fth_trace_stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->kernel_count; i++)
        if (strcmp(stats->kernels[i].total.kernel, name) == 0)
            return &stats->kernels[i];
    if (!fth_grow((void **)&stats->kernels, stats->kernel_count, &stats->kernel_capacity,
                  sizeof *stats->kernels))
        return NULL;
    struct kernel *kernel = &stats->kernels[stats->kernel_count];
    *kernel = (struct kernel){.total = {.kernel = name}};
    kernel->instructions = calloc(stats->instruction_count + 1, sizeof *kernel->instructions);
    if (!kernel->instructions)
        return NULL;
    stats->kernel_count++;
    return kernel;
}

/* ---- totals ---- */

/* Whether the requests of an instruction are part of the sums of its kernel. Those to local memory
 * and to textures have sums of their own. */
static bool is_global(const struct fth_trace *trace, size_t instruction)
{
    return !(fth_trace_instruction_at(trace, instruction)->hints &
             (FTH_TRACE_LOCAL | FTH_TRACE_TEXTURE));
}

/* Adds the requests of an instruction to those of its kernel. */
static void add_to_total(struct fth_trace_row *total, const struct fth_trace_row *row,
                         uint32_t hints)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (hints & FTH_TRACE_LOCAL) {
            total->local_requests[kind] += row->requests[kind];
            total->local_sectors[kind] += row->sectors[kind];
        } else if (hints & FTH_TRACE_TEXTURE) {
            total->texture_requests[kind] += row->requests[kind];
            total->texture_sectors[kind] += row->sectors[kind];
        } else {
            total->requests[kind] += row->requests[kind];
            total->accesses[kind] += row->accesses[kind];
            total->sectors[kind] += row->sectors[kind];
            total->lines[kind] += row->lines[kind];
            total->requested_bytes[kind] += row->requested_bytes[kind];
            total->used_bytes[kind] += row->used_bytes[kind];
            total->ideal_sectors[kind] += row->ideal_sectors[kind];
        }
    }
}

/* Computes the words that the instructions of a kernel touched, those of the kinds whose bits are
 * set. Returns false if memory is exhausted. */
static bool sum_kinds(const struct kernel *kernel, const struct fth_trace *trace, size_t count,
                      unsigned kinds, uint64_t *touched, uint64_t *footprint)
{
    struct fth_footprint sum = {0};
    bool done = true;
    for (size_t i = 0; i < count && done; i++)
        if (is_global(trace, i) && kinds >> fth_trace_instruction_at(trace, i)->kind & 1)
            done = fth_footprint_merge(&sum, &kernel->instructions[i].footprint);
    fth_footprint_sum(&sum, touched, footprint);
    fth_footprint_fini(&sum);
    return done;
}

/* Computes the row of a kernel from those of its instructions. */
static bool sum_kernel(struct kernel *kernel, const struct fth_trace *trace, size_t count)
{
    struct fth_trace_row *total = &kernel->total;
    for (size_t i = 0; i < count; i++)
        add_to_total(total, &kernel->instructions[i].row,
                     fth_trace_instruction_at(trace, i)->hints);
    for (int kind = 0; kind < KINDS; kind++)
        if (!sum_kinds(kernel, trace, count, 1U << kind, &total->touched_bytes[kind],
                       &total->footprint_bytes[kind]))
            return false;
    return sum_kinds(kernel, trace, count, (1U << KINDS) - 1, &total->touched_all_bytes,
                     &total->footprint_all_bytes);
}

/* Computes the footprint sizes of an instruction and frees its footprint. */
static void sum_instruction(struct row *row, enum fth_trace_access_kind kind)
{
    fth_footprint_sum(&row->footprint, &row->row.touched_all_bytes, &row->row.footprint_all_bytes);
    row->row.touched_bytes[kind] = row->row.touched_all_bytes;
    row->row.footprint_bytes[kind] = row->row.footprint_all_bytes;
    fth_footprint_fini(&row->footprint);
}

/* ---- launches ---- */

static enum fth_status count_launch(struct fth_trace_stats *stats, const struct fth_trace *trace,
                                    size_t index, struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(trace, index);
    struct kernel *kernel = find_kernel(stats, launch->kernel);
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access;
    if (!kernel)
        return fth_no_memory(error, "count accesses", NULL);
    kernel->total.launches++;
    if (launch->longest > kernel->total.longest)
        kernel->total.longest = launch->longest;
    enum fth_status status = fth_trace_cursor_open(trace, index, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next(cursor, &access, error);
        if (status != FTH_OK || !access)
            break;
        if (!add_access(kernel, trace, access))
            status = fth_no_memory(error, "count accesses", NULL);
    }
    fth_trace_cursor_close(cursor);
    return status;
}

/* Builds the list of rows: each kernel, followed by its instructions. */
static enum fth_status finish(struct fth_trace_stats *stats, const struct fth_trace *trace,
                              struct fth_error *error)
{
    stats->shown = calloc(stats->kernel_count * (stats->instruction_count + 1) + 1, sizeof(void *));
    if (!stats->shown)
        return fth_no_memory(error, "count accesses", NULL);
    for (size_t k = 0; k < stats->kernel_count; k++) {
        struct kernel *kernel = &stats->kernels[k];
        if (!sum_kernel(kernel, trace, stats->instruction_count))
            return fth_no_memory(error, "count accesses", NULL);
        stats->shown[stats->shown_count++] = &kernel->total;
        for (size_t i = 0; i < stats->instruction_count; i++) {
            struct row *row = &kernel->instructions[i];
            if (row->footprint.count == 0)
                continue;
            row->row.kernel = kernel->total.kernel;
            row->row.instruction = fth_trace_instruction_at(trace, i);
            row->row.launches = kernel->total.launches;
            sum_instruction(row, row->row.instruction->kind);
            stats->shown[stats->shown_count++] = &row->row;
        }
    }
    return FTH_OK;
}

enum fth_status fth_trace_stats_of_kernel(const struct fth_trace *trace, const char *kernel,
                                          const struct fth_log *log, struct fth_trace_stats **out,
                                          struct fth_error *error)
{
    *out = NULL;
    struct fth_trace_stats *stats = calloc(1, sizeof *stats);
    if (!stats)
        return fth_no_memory(error, "count accesses", NULL);
    stats->instruction_count = fth_trace_instruction_count(trace);
    enum fth_status status = FTH_OK;
    size_t launches = fth_trace_launch_count(trace);
    for (size_t i = 0; i < launches && status == FTH_OK; i++) {
        if (kernel && strcmp(fth_trace_launch_at(trace, i)->kernel, kernel) != 0)
            continue;
        fth_log_progress(log, "count accesses", (double)i / (double)launches);
        status = fth_log_interrupted(log)
                     ? fth_fail(error, FTH_INTERRUPTED, "count accesses", NULL, "interrupted")
                     : count_launch(stats, trace, i, error);
    }
    fth_log_progress(log, "count accesses", 1);
    if (status == FTH_OK)
        status = finish(stats, trace, error);
    if (status == FTH_OK)
        *out = stats;
    else
        fth_trace_stats_destroy(stats);
    return status;
}

enum fth_status fth_trace_stats_create(const struct fth_trace *trace, const struct fth_log *log,
                                       struct fth_trace_stats **out, struct fth_error *error)
{
    return fth_trace_stats_of_kernel(trace, NULL, log, out, error);
}

const struct fth_trace_row *fth_trace_stats_row(const struct fth_trace_stats *stats, size_t index)
{
    return index < stats->shown_count ? stats->shown[index] : NULL;
}

void fth_trace_stats_destroy(struct fth_trace_stats *stats)
{
    if (!stats)
        return;
    for (size_t k = 0; k < stats->kernel_count; k++) {
        struct kernel *kernel = &stats->kernels[k];
        for (size_t i = 0; i < stats->instruction_count; i++)
            fth_footprint_fini(&kernel->instructions[i].footprint);
        free(kernel->instructions);
    }
    free(stats->kernels);
    free(stats->shown);
    free(stats);
}
