/* Imports .traceg files: traces of real GPUs that Accel-Sim's tracer records with NVBit (Khairy et
 * al., "Accel-Sim", ISCA 2020). A file describes one kernel. It starts with header lines, each with
 * a leading dash. The thread blocks follow one after the other; each lists its warps, and each warp
 * its instructions, one per line:
 *
 *     PC mask destination-count [R…] opcode source-count [R…] width [encoding addresses]
 *
 * The encoding is 0 for a list of addresses, 1 for a first address and a stride, and 2 for a first
 * address and differences. The fields in the last brackets exist only if the width is not 0. Before
 * version 3 of the format, four more numbers (block and warp) come first. With "-enable lineinfo",
 * the source line comes before the PC. Accesses to global memory are stored in the trace; those to
 * other memory spaces are only counted. */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct traceg {
    const char *path;
    struct fth_lines *lines;
    struct fth_trace_writer *writer;
    char kernel[256];
    uint32_t grid[3], block[3];
    uint64_t version, lineinfo;       /* of the header lines */
    uint64_t shared_base, local_base; /* generic addresses of the windows; 0: unknown */
    bool launch_begun;
    uint64_t block_index;      /* of the current block, linear */
    uint32_t warp;             /* current warp */
    uint64_t next_numbers[32]; /* per warp: the number of its next access */
    struct fth_records records;
    struct fth_trace_launch totals;
    struct fth_error *error;
};

/* Size in bytes of the windows of shared and local memory in the generic address space. This is an
 * assumption, because the file states only their base addresses. */
#define WINDOW_BYTES (1u << 24)

static enum fth_status refuse(struct traceg *traceg, const char *cause)
{
    return fth_fail(traceg->error, FTH_INVALID, "read trace", traceg->path, "line %zu: %s",
                    fth_lines_number(traceg->lines), cause);
}

/* If the line starts with `what`, reads the three numbers that follow. */
static void read_shape(const char *line, const char *what, uint32_t shape[3])
{
    const char *text = fth_text_after(line, what);
    uint64_t numbers[3];
    if (text && fth_text_numbers(text, 10, 0x7fffffff, 3, numbers))
        for (int i = 0; i < 3; i++)
            shape[i] = (uint32_t)numbers[i];
}

/* If the line starts with `what`, reads the number that follows; 0 if it is not valid. */
static void read_value(const char *line, const char *what, int base, uint64_t *number)
{
    const char *text = fth_text_after(line, what);
    if (text && !fth_text_numbers(text, base, UINT64_MAX, 1, number))
        *number = 0;
}

static void read_header_line(struct traceg *traceg, const char *line)
{
    const char *name = fth_text_after(line, "-kernel name = ");
    if (name)
        snprintf(traceg->kernel, sizeof traceg->kernel, "%s", name);
    read_shape(line, "-grid dim = ", traceg->grid);
    read_shape(line, "-block dim = ", traceg->block);
    read_value(line, "-accelsim tracer version = ", 10, &traceg->version);
    read_value(line, "-enable lineinfo = ", 10, &traceg->lineinfo);
    read_value(line, "-shmem base_addr = ", 16, &traceg->shared_base);
    read_value(line, "-local mem base_addr = ", 16, &traceg->local_base);
}

static enum fth_status begin_launch(struct traceg *traceg)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= traceg->block[i] <= 1024 ? traceg->block[i] : 0;
    if (threads == 0 || threads > 1024 || !traceg->grid[0] || !traceg->grid[1] || !traceg->grid[2])
        return refuse(traceg, "the header has no valid '-grid dim' and '-block dim'");
    traceg->launch_begun = true;
    return fth_trace_writer_begin(traceg->writer, traceg->kernel[0] ? traceg->kernel : "kernel",
                                  traceg->grid, traceg->block, traceg->error);
}

static enum fth_status begin_block(struct traceg *traceg, const char *line)
{
    const char *text = fth_text_after(line, "thread block = ");
    uint64_t at[3];
    if (!text || !fth_text_numbers(text, 10, 0x7fffffff, 3, at))
        return refuse(traceg, "expected 'thread block = X,Y,Z'");
    enum fth_status status = traceg->launch_begun ? FTH_OK : begin_launch(traceg);
    traceg->block_index = (at[2] * traceg->grid[1] + at[1]) * traceg->grid[0] + at[0];
    memset(traceg->next_numbers, 0, sizeof traceg->next_numbers);
    return status;
}

/* ---- instructions ---- */

enum space { NOT_MEMORY, GLOBAL, GENERIC, SHARED, LOCAL, CONSTANT, TEXTURE };

static enum space space_of(const char *opcode, enum fth_trace_access_kind *kind)
{
    static const struct {
        const char *name;
        enum space space;
        enum fth_trace_access_kind kind;
    } opcodes[] = {
        {"LDG", GLOBAL, FTH_TRACE_READ},     {"STG", GLOBAL, FTH_TRACE_WRITE},
        {"LDGSTS", GLOBAL, FTH_TRACE_READ},  {"ATOMG", GLOBAL, FTH_TRACE_ATOMIC},
        {"RED", GENERIC, FTH_TRACE_ATOMIC},  {"REDG", GLOBAL, FTH_TRACE_ATOMIC},
        {"ATOM", GENERIC, FTH_TRACE_ATOMIC}, {"LD", GENERIC, FTH_TRACE_READ},
        {"ST", GENERIC, FTH_TRACE_WRITE},    {"LDS", SHARED, FTH_TRACE_READ},
        {"LDSM", SHARED, FTH_TRACE_READ},    {"STS", SHARED, FTH_TRACE_WRITE},
        {"ATOMS", SHARED, FTH_TRACE_ATOMIC}, {"LDL", LOCAL, FTH_TRACE_READ},
        {"STL", LOCAL, FTH_TRACE_WRITE},     {"LDC", CONSTANT, FTH_TRACE_READ},
        {"TEX", TEXTURE, FTH_TRACE_READ},    {"TLD", TEXTURE, FTH_TRACE_READ},
    };
    size_t size = strcspn(opcode, ".");
    for (size_t i = 0; i < FTH_COUNT(opcodes); i++)
        if (strlen(opcodes[i].name) == size && strncmp(opcodes[i].name, opcode, size) == 0) {
            *kind = opcodes[i].kind;
            return opcodes[i].space;
        }
    return NOT_MEMORY;
}

/* Returns the access size per lane in bytes. It is taken from the opcode ("LDG.E.64", "LDG.E.U8"),
 * because the width that NVBit reports can be wrong. */
static uint32_t width_of(const char *opcode)
{
    for (const char *dot = strchr(opcode, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *digits = dot + 1 + (dot[1] == 'U' || dot[1] == 'S');
        char *end;
        unsigned long bits = strtoul(digits, &end, 10);
        if (end != digits && (*end == '.' || !*end) && bits % 8 == 0 && bits >= 8 && bits <= 256)
            return (uint32_t)(bits / 8);
    }
    return 4;
}

/* Returns the next word of a line, terminated by a NUL; NULL at the end. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t\r");
    if (!*word)
        return NULL;
    *at = word + strcspn(word, " \t\r");
    if (**at)
        *(*at)++ = '\0';
    return word;
}

static bool read_number(char **at, int base, unsigned long long *value)
{
    char *word = next_word(at), *end;
    if (!word)
        return false;
    *value = strtoull(word, &end, base);
    return end != word && !*end;
}

/* Skips a count and that many register names. */
static bool skip_registers(char **at)
{
    unsigned long long count;
    if (!read_number(at, 10, &count) || count > 16)
        return false;
    for (unsigned long long i = 0; i < count; i++)
        if (!next_word(at))
            return false;
    return true;
}

/* Reads the encoding and the addresses of `count` lanes. */
static bool read_addresses(char **at, size_t count, uint64_t addresses[32])
{
    unsigned long long encoding, first, value;
    if (!read_number(at, 10, &encoding) || encoding > 2 || !read_number(at, 16, &first))
        return false;
    addresses[0] = first;
    char *word = encoding == 1 ? next_word(at) : NULL;
    if (encoding == 1 && !word)
        return false;
    long long stride = word ? strtoll(word, NULL, 10) : 0;
    for (size_t i = 1; i < count; i++) {
        if (encoding == 0) {
            if (!read_number(at, 16, &value))
                return false;
            addresses[i] = value;
            continue;
        }
        word = encoding == 2 ? next_word(at) : NULL;
        if (encoding == 2 && !word)
            return false;
        addresses[i] = addresses[i - 1] + (uint64_t)(word ? strtoll(word, NULL, 10) : stride);
    }
    return true;
}

static bool in_window(uint64_t address, uint64_t base)
{
    return base && address - base < WINDOW_BYTES;
}

static enum fth_status add_access(struct traceg *traceg, const struct fth_trace_instruction *facts,
                                  uint32_t mask, const uint64_t *addresses)
{
    size_t instruction = fth_trace_writer_instruction(traceg->writer, facts);
    const struct fth_record record = {.number = traceg->next_numbers[traceg->warp]++,
                                      .block = traceg->block_index,
                                      .instruction = (uint32_t)instruction,
                                      .warp = traceg->warp,
                                      .mask = mask};
    if (instruction == SIZE_MAX || !fth_records_add(&traceg->records, &record, addresses))
        return fth_no_memory(traceg->error, "read trace", traceg->path);
    return FTH_OK;
}

static enum fth_status read_instruction(struct traceg *traceg, char *line)
{
    unsigned long long pc, mask, width, source = 0, skipped;
    for (int i = 0; i < 4 && traceg->version < 3; i++)
        if (!read_number(&line, 10, &skipped))
            return refuse(traceg, "expected block and warp at the start of an instruction");
    if (traceg->lineinfo && !read_number(&line, 10, &source))
        return refuse(traceg, "expected a source line number at the start of an instruction");
    char *opcode = NULL;
    if (!read_number(&line, 16, &pc) || !read_number(&line, 16, &mask) || mask > UINT32_MAX ||
        !skip_registers(&line) || !(opcode = next_word(&line)) || !skip_registers(&line) ||
        !read_number(&line, 10, &width))
        return refuse(traceg, "expected an instruction as Accel-Sim's tracer writes it");
    struct fth_trace_instruction facts = {.line = (uint32_t)pc, .source_line = (uint32_t)source};
    uint64_t addresses[32] = {0};
    enum space space = width ? space_of(opcode, &facts.kind) : NOT_MEMORY;
    if (space == NOT_MEMORY || mask == 0)
        return FTH_OK;
    if (!read_addresses(&line, (size_t)__builtin_popcountll(mask), addresses))
        return refuse(traceg, "expected one address per active thread");
    if (space == GENERIC)
        space = in_window(addresses[0], traceg->shared_base)  ? SHARED
                : in_window(addresses[0], traceg->local_base) ? LOCAL
                                                              : GLOBAL;
    facts.bytes = width_of(opcode);
    switch (space) {
    case SHARED: traceg->totals.shared++; return FTH_OK;
    case LOCAL: traceg->totals.local++; return FTH_OK;
    case CONSTANT: traceg->totals.constant++; return FTH_OK;
    case TEXTURE: traceg->totals.texture++; return FTH_OK;
    default: return add_access(traceg, &facts, (uint32_t)mask, addresses);
    }
}

static enum fth_status read_line(struct traceg *traceg, char *line)
{
    line += strspn(line, " \t\r");
    if (line[0] == '-') {
        read_header_line(traceg, line);
        return FTH_OK;
    }
    if (strncmp(line, "#END_TB", 7) == 0) {
        enum fth_status status =
            fth_trace_writer_add(traceg->writer, &traceg->records, traceg->error);
        fth_records_clear(&traceg->records);
        return status;
    }
    if (line[0] == '#' || !line[0] || strncmp(line, "insts", 5) == 0)
        return FTH_OK;
    if (strncmp(line, "thread block", 12) == 0)
        return begin_block(traceg, line);
    uint32_t warps = (traceg->block[0] * traceg->block[1] * traceg->block[2] + 31) / 32;
    const char *warp = fth_text_after(line, "warp = ");
    uint64_t number;
    if (warp) {
        if (!fth_text_numbers(warp, 10, 31, 1, &number) || number >= warps)
            return refuse(traceg, "the warp index is outside the block");
        traceg->warp = (uint32_t)number;
        return FTH_OK;
    }
    return traceg->launch_begun
               ? read_instruction(traceg, line)
               : refuse(traceg, "an instruction before the first 'thread block' line");
}

enum fth_status fth_traceg_import(const struct fth_trace_input *input,
                                  struct fth_trace_writer *writer, const struct fth_log *log,
                                  struct fth_error *error)
{
    struct traceg traceg = {.path = input->name,
                            .writer = writer,
                            .totals = {.shared_bytes = UINT64_MAX},
                            .error = error};
    char *line;
    enum fth_status status = fth_lines_open(input, log, &traceg.lines, error);
    while (status == FTH_OK) {
        status = fth_lines_next(traceg.lines, &line, error);
        if (status != FTH_OK || !line)
            break;
        status = read_line(&traceg, line);
    }
    if (status == FTH_OK && !traceg.launch_begun)
        status = refuse(&traceg, "the file ends without a 'thread block' line");
    if (status == FTH_OK)
        status = fth_trace_writer_add(writer, &traceg.records, error);
    if (status == FTH_OK)
        status = fth_trace_writer_end(writer, &traceg.totals, error);
    fth_lines_close(traceg.lines);
    fth_records_fini(&traceg.records);
    return status;
}
