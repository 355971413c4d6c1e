/* Computes statistics of a trace: requests, sectors, lines and footprints per kernel and per
 * instruction.
 *
 * A sector has 32 bytes and a line 128, as on every NVIDIA GPU since Maxwell. A request of a warp
 * counts each sector once, even if several threads access it. This is the number that the hardware
 * counters l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st} report. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Binary logarithms of the sizes of a sector, a line and a page of the footprint table; the number
 * of access kinds (read, write, atomic). */
enum { SECTOR_BITS = 5, LINE_BITS = 7, PAGE_BITS = 11, KINDS = 3 };

/* 64 consecutive sectors. Bit i of sectors[kind] is set if such an access touched sector i. */
struct page {
    uint64_t number; /* index of the page plus 1; 0: the slot is free */
    uint64_t sectors[KINDS];
};

/* The set of sectors that were accessed: a hash table of pages with linear probing. */
struct footprint {
    struct page *pages;
    size_t count, capacity; /* the capacity is a power of two */
};

/* Returns the slot of a page, or the free slot where it belongs. */
static struct page *find_page(struct footprint *footprint, uint64_t number)
{
    size_t mask = footprint->capacity - 1;
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (footprint->pages[at].number && footprint->pages[at].number != number + 1)
        at = (at + 1) & mask;
    return &footprint->pages[at];
}

static bool grow_footprint(struct footprint *footprint)
{
    struct footprint larger = {.capacity = footprint->capacity ? 2 * footprint->capacity : 256,
                               .count = footprint->count};
    larger.pages = calloc(larger.capacity, sizeof *larger.pages);
    if (!larger.pages)
        return false;
    for (size_t i = 0; i < footprint->capacity; i++)
        if (footprint->pages[i].number)
            *find_page(&larger, footprint->pages[i].number - 1) = footprint->pages[i];
    free(footprint->pages);
    *footprint = larger;
    return true;
}

/* Adds a sector to the footprint. Returns false if memory is exhausted. */
static bool mark_sector(struct footprint *footprint, uint64_t sector,
                        enum fth_trace_access_kind kind)
{
    if (2 * footprint->count >= footprint->capacity && !grow_footprint(footprint))
        return false;
    uint64_t number = sector >> (PAGE_BITS - SECTOR_BITS);
    struct page *page = find_page(footprint, number);
    if (!page->number) {
        page->number = number + 1;
        footprint->count++;
    }
    page->sectors[kind] |= UINT64_C(1) << (sector & 63);
    return true;
}

/* ---- rows ---- */

/* A row of the result and the footprint from which its last fields are computed. */
struct row {
    struct fth_trace_row row;
    struct footprint footprint;
};

struct kernel {
    struct row total;
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

/* Writes the distinct sectors or lines that a request touches to `out`, sorted, and returns their
 * number. `bytes` is the access size per lane; `shift` is SECTOR_BITS or LINE_BITS. Insertion is
 * fast here because the unit of a lane is usually that of the lane before it, or the next one. */
static size_t distinct_units(const struct fth_trace_access *access, uint32_t bytes, unsigned shift,
                             uint64_t *out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < access->threads; i++) {
        uint64_t last = (access->addresses[i] + bytes - 1) >> shift;
        for (uint64_t unit = access->addresses[i] >> shift; unit <= last; unit++) {
            size_t at = count;
            while (at > 0 && out[at - 1] > unit)
                at--;
            if (at > 0 && out[at - 1] == unit)
                continue;
            memmove(out + at + 1, out + at, (count - at) * sizeof *out);
            out[at] = unit;
            count++;
        }
    }
    return count;
}

/* Counts an access to local memory: each word of 4 bytes per lane is in lines of its own. The
 * footprint is that of one warp, since the trace does not know where the memory of a warp is. */
static bool add_local(struct kernel *kernel, const struct fth_trace_access *access,
                      const struct fth_trace_instruction *instruction)
{
    struct row *row = &kernel->instructions[access->instruction];
    struct fth_trace_access word = *access;
    const uint32_t bytes = instruction->bytes < 4 ? instruction->bytes : 4;
    const enum fth_trace_access_kind kind = instruction->kind;
    uint64_t units[32 * 2];
    row->row.requests[kind]++;
    row->row.accesses[kind] += access->threads;
    kernel->total.row.local_requests[kind]++;
    for (uint32_t at = 0; at < instruction->bytes; at += 4) {
        row->row.lines[kind] += distinct_units(&word, bytes, LINE_BITS, units);
        const size_t count = distinct_units(&word, bytes, SECTOR_BITS, units);
        row->row.sectors[kind] += count;
        kernel->total.row.local_sectors[kind] += count;
        for (size_t i = 0; i < count; i++)
            if (!mark_sector(&row->footprint, units[i], kind))
                return false;
        for (uint32_t i = 0; i < access->threads; i++)
            word.addresses[i] += 128; /* the next word of the lane */
    }
    return true;
}

static bool count_access(struct row *row, enum fth_trace_access_kind kind, uint32_t threads,
                         const uint64_t *sectors, size_t sector_count, size_t lines)
{
    row->row.requests[kind]++;
    row->row.accesses[kind] += threads;
    row->row.sectors[kind] += sector_count;
    row->row.lines[kind] += lines;
    for (size_t i = 0; i < sector_count; i++)
        if (!mark_sector(&row->footprint, sectors[i], kind))
            return false;
    return true;
}

const char *fth_trace_kind_name(const struct fth_trace_instruction *instruction)
{
    static const char *const kinds[] = {"read", "write", "atomic"};
    static const char *const local[] = {"local read", "local write", "local atomic"};
    static const char *const texture[] = {"texture read", "surface write", "surface atomic"};
    static const char *const shared[] = {"shared read", "shared write", "shared atomic"};
    return (instruction->hints & FTH_TRACE_SHARED    ? shared
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
static bool add_texels(struct kernel *kernel, const struct fth_trace_access *access,
                       const struct fth_trace_instruction *instruction, struct row *row)
{
    const uint32_t bits =
        FTH_TRACE_TEXELS(instruction->hints) * FTH_TRACE_TEXTURE_LANES(instruction->hints);
    const uint32_t low = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
    struct fth_trace_access part = {.threads = 0};
    uint64_t sectors[32 * 3], lines[32 * 2];
    for (uint32_t first = 0, done = 0; first < 32; first += bits, done += part.threads) {
        part.threads = (uint32_t)__builtin_popcount(access->mask >> first & low);
        if (!part.threads)
            continue;
        memcpy(part.addresses, access->addresses + done, part.threads * sizeof *part.addresses);
        const size_t count = distinct_units(&part, instruction->bytes, SECTOR_BITS, sectors);
        kernel->total.row.texture_requests[instruction->kind]++;
        kernel->total.row.texture_sectors[instruction->kind] += count;
        if (!count_access(row, instruction->kind, part.threads, sectors, count,
                          distinct_units(&part, instruction->bytes, LINE_BITS, lines)))
            return false;
    }
    return true;
}

static bool add_access(struct kernel *kernel, const struct fth_trace *trace,
                       const struct fth_trace_access *access)
{
    /* Each of 32 lanes accesses at most 64 bytes: up to three sectors or two lines if unaligned. */
    uint64_t sectors[32 * 3], lines[32 * 2];
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(trace, access->instruction);
    if (instruction->hints & FTH_TRACE_LOCAL)
        return add_local(kernel, access, instruction);
    if (instruction->hints & FTH_TRACE_TEXTURE)
        return add_texels(kernel, access, instruction,
                          &kernel->instructions[fth_trace_first_part(trace, access->instruction)]);
    size_t sector_count = distinct_units(access, instruction->bytes, SECTOR_BITS, sectors);
    size_t line_count = distinct_units(access, instruction->bytes, LINE_BITS, lines);
    return count_access(&kernel->total, instruction->kind, access->threads, sectors, sector_count,
                        line_count) &&
           count_access(&kernel->instructions[access->instruction], instruction->kind,
                        access->threads, sectors, sector_count, line_count);
}

/* Finds the statistics of a kernel and adds them if they are missing. NULL: memory is exhausted. */
static struct kernel *find_kernel(struct fth_trace_stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->kernel_count; i++)
        if (strcmp(stats->kernels[i].total.row.kernel, name) == 0)
            return &stats->kernels[i];
    if (!fth_grow((void **)&stats->kernels, stats->kernel_count, &stats->kernel_capacity,
                  sizeof *stats->kernels))
        return NULL;
    struct kernel *kernel = &stats->kernels[stats->kernel_count];
    *kernel = (struct kernel){.total = {.row = {.kernel = name}}};
    kernel->instructions = calloc(stats->instruction_count + 1, sizeof *kernel->instructions);
    if (!kernel->instructions)
        return NULL;
    stats->kernel_count++;
    return kernel;
}

/* Computes the footprint sizes of a row and frees its footprint table. */
static void sum_footprint(struct row *row)
{
    for (size_t i = 0; i < row->footprint.capacity; i++) {
        const struct page *page = &row->footprint.pages[i];
        uint64_t any = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            any |= page->sectors[kind];
            row->row.footprint_bytes[kind] += (uint64_t)__builtin_popcountll(page->sectors[kind])
                                              << SECTOR_BITS;
        }
        row->row.footprint_all_bytes += (uint64_t)__builtin_popcountll(any) << SECTOR_BITS;
    }
    free(row->footprint.pages);
    row->footprint = (struct footprint){0};
}

static enum fth_status count_launch(struct fth_trace_stats *stats, const struct fth_trace *trace,
                                    size_t index, struct fth_error *error)
{
    const struct fth_trace_launch *launch = fth_trace_launch_at(trace, index);
    struct kernel *kernel = find_kernel(stats, launch->kernel);
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access;
    if (!kernel)
        return fth_no_memory(error, "count accesses", NULL);
    kernel->total.row.launches++;
    if (launch->longest > kernel->total.row.longest)
        kernel->total.row.longest = launch->longest;
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
        sum_footprint(&kernel->total);
        stats->shown[stats->shown_count++] = &kernel->total.row;
        for (size_t i = 0; i < stats->instruction_count; i++) {
            struct row *row = &kernel->instructions[i];
            if (row->footprint.count == 0)
                continue;
            row->row.kernel = kernel->total.row.kernel;
            row->row.instruction = fth_trace_instruction_at(trace, i);
            row->row.launches = kernel->total.row.launches;
            sum_footprint(row);
            stats->shown[stats->shown_count++] = &row->row;
        }
    }
    return FTH_OK;
}

enum fth_status fth_trace_stats_create(const struct fth_trace *trace, const struct fth_log *log,
                                       struct fth_trace_stats **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_trace_stats *stats = calloc(1, sizeof *stats);
    if (!stats)
        return fth_no_memory(error, "count accesses", NULL);
    stats->instruction_count = fth_trace_instruction_count(trace);
    enum fth_status status = FTH_OK;
    size_t launches = fth_trace_launch_count(trace);
    for (size_t i = 0; i < launches && status == FTH_OK; i++) {
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
        free(kernel->total.footprint.pages);
        for (size_t i = 0; i < stats->instruction_count; i++)
            free(kernel->instructions[i].footprint.pages);
        free(kernel->instructions);
    }
    free(stats->kernels);
    free(stats->shown);
    free(stats);
}
