/* The traces that Accel-Sim's tracer takes of real GPUs with NVBit (Khairy et al., "Accel-Sim",
 * ISCA 2020): a head of lines with a dash, then block after block, in it warp after warp, an
 * instruction a line,
 *
 *     PC mask destinations [R…] opcode sources [R…] width [how addresses]
 *
 * where the addresses are a list (0), a first one and a stride (1), or a first one and differences
 * (2). Before version 3 a line begins with block and warp; with -enable lineinfo, the source line
 * comes before the PC. Only accesses to global memory are kept; others are counted. */
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
    uint64_t version, lineinfo, shared_base, local_base;
    bool begun;
    uint64_t block_index;
    uint32_t warp;
    uint64_t numbers[32];
    struct fth_records records;
    struct fth_trace_launch totals;
    struct fth_error *error;
};

/* The windows that shared and local memory have in generic addresses. */
#define WINDOW_BYTES (1u << 24)

static enum fth_status refuse(struct traceg *traceg, const char *cause)
{
    return fth_fail(traceg->error, FTH_INVALID, "read trace", traceg->path, "line %zu: %s",
                    fth_lines_number(traceg->lines), cause);
}

/* Three numbers in parentheses, where the line is about them. */
static void read_shape(const char *line, const char *what, uint32_t shape[3])
{
    const char *text = fth_text_behind(line, what);
    uint64_t numbers[3];
    if (text && fth_text_numbers(text, 10, 0x7fffffff, 3, numbers))
        for (int i = 0; i < 3; i++)
            shape[i] = (uint32_t)numbers[i];
}

static void read_fact(const char *line, const char *what, int base, uint64_t *number)
{
    const char *text = fth_text_behind(line, what);
    if (text && !fth_text_numbers(text, base, UINT64_MAX, 1, number))
        *number = 0;
}

static void read_head(struct traceg *traceg, const char *line)
{
    const char *name = fth_text_behind(line, "-kernel name = ");
    if (name)
        snprintf(traceg->kernel, sizeof traceg->kernel, "%s", name);
    read_shape(line, "-grid dim = ", traceg->grid);
    read_shape(line, "-block dim = ", traceg->block);
    read_fact(line, "-accelsim tracer version = ", 10, &traceg->version);
    read_fact(line, "-enable lineinfo = ", 10, &traceg->lineinfo);
    read_fact(line, "-shmem base_addr = ", 16, &traceg->shared_base);
    read_fact(line, "-local mem base_addr = ", 16, &traceg->local_base);
}

static enum fth_status begin(struct traceg *traceg)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= traceg->block[i] <= 1024 ? traceg->block[i] : 0;
    if (threads == 0 || threads > 1024 || !traceg->grid[0] || !traceg->grid[1] || !traceg->grid[2])
        return refuse(traceg, "the head has no grid and block before the first thread block");
    traceg->begun = true;
    return fth_trace_writer_begin(traceg->writer, traceg->kernel[0] ? traceg->kernel : "kernel",
                                  traceg->grid, traceg->block, traceg->error);
}

static enum fth_status begin_block(struct traceg *traceg, const char *line)
{
    const char *text = fth_text_behind(line, "thread block = ");
    uint64_t at[3];
    if (!text || !fth_text_numbers(text, 10, 0x7fffffff, 3, at))
        return refuse(traceg, "not such as 'thread block = 0,0,0'");
    enum fth_status status = traceg->begun ? FTH_OK : begin(traceg);
    traceg->block_index = (at[2] * traceg->grid[1] + at[1]) * traceg->grid[0] + at[0];
    memset(traceg->numbers, 0, sizeof traceg->numbers);
    return status;
}

/* ---- instructions ---- */

enum target { NOT_MEMORY, GLOBAL, GENERIC, SHARED, LOCAL, CONSTANT, TEXTURE };

static enum target target_of(const char *opcode, enum fth_trace_access_kind *kind)
{
    static const struct {
        const char *name;
        enum target target;
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
            return opcodes[i].target;
        }
    return NOT_MEMORY;
}

/* The width is in the opcode ("LDG.E.64", "LDG.E.U8"); what NVBit says of it can be wrong. */
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

/* Words of a line. */
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

/* A count, and as many registers, which nobody asks for. */
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

static bool read_addresses(char **at, size_t count, uint64_t addresses[32])
{
    unsigned long long how, first, value;
    if (!read_number(at, 10, &how) || how > 2 || !read_number(at, 16, &first))
        return false;
    addresses[0] = first;
    char *word = how == 1 ? next_word(at) : NULL;
    if (how == 1 && !word)
        return false;
    long long stride = word ? strtoll(word, NULL, 10) : 0;
    for (size_t i = 1; i < count; i++) {
        if (how == 0) {
            if (!read_number(at, 16, &value))
                return false;
            addresses[i] = value;
            continue;
        }
        word = how == 2 ? next_word(at) : NULL;
        if (how == 2 && !word)
            return false;
        addresses[i] = addresses[i - 1] + (uint64_t)(word ? strtoll(word, NULL, 10) : stride);
    }
    return true;
}

static bool in_window(uint64_t address, uint64_t base)
{
    return base && address - base < WINDOW_BYTES;
}

static enum fth_status keep(struct traceg *traceg, const struct fth_trace_instruction *facts,
                            uint32_t mask, const uint64_t *addresses)
{
    size_t instruction = fth_trace_writer_instruction(traceg->writer, facts);
    const struct fth_record record = {.number = traceg->numbers[traceg->warp]++,
                                      .block = traceg->block_index,
                                      .instruction = (uint32_t)instruction,
                                      .warp = traceg->warp,
                                      .mask = mask};
    if (instruction == SIZE_MAX || !fth_records_add(&traceg->records, &record, addresses))
        return fth_fail(traceg->error, FTH_NO_MEMORY, "read trace", traceg->path, "out of memory");
    return FTH_OK;
}

static enum fth_status read_instruction(struct traceg *traceg, char *line)
{
    unsigned long long pc, mask, width, source = 0, skipped;
    for (int i = 0; i < 4 && traceg->version < 3; i++)
        if (!read_number(&line, 10, &skipped))
            return refuse(traceg, "no block and warp");
    if (traceg->lineinfo && !read_number(&line, 10, &source))
        return refuse(traceg, "no source line");
    char *opcode = NULL;
    if (!read_number(&line, 16, &pc) || !read_number(&line, 16, &mask) || mask > UINT32_MAX ||
        !skip_registers(&line) || !(opcode = next_word(&line)) || !skip_registers(&line) ||
        !read_number(&line, 10, &width))
        return refuse(traceg, "no instruction as Accel-Sim's tracer writes it");
    struct fth_trace_instruction facts = {.line = (uint32_t)pc, .source_line = (uint32_t)source};
    uint64_t addresses[32] = {0};
    enum target target = width ? target_of(opcode, &facts.kind) : NOT_MEMORY;
    if (target == NOT_MEMORY || mask == 0)
        return FTH_OK;
    if (!read_addresses(&line, (size_t)__builtin_popcountll(mask), addresses))
        return refuse(traceg, "not as many addresses as threads");
    if (target == GENERIC)
        target = in_window(addresses[0], traceg->shared_base)  ? SHARED
                 : in_window(addresses[0], traceg->local_base) ? LOCAL
                                                               : GLOBAL;
    facts.bytes = width_of(opcode);
    switch (target) {
    case SHARED: traceg->totals.shared++; return FTH_OK;
    case LOCAL: traceg->totals.local++; return FTH_OK;
    case CONSTANT: traceg->totals.constant++; return FTH_OK;
    case TEXTURE: traceg->totals.texture++; return FTH_OK;
    default: return keep(traceg, &facts, (uint32_t)mask, addresses);
    }
}

static enum fth_status read_line(struct traceg *traceg, char *line)
{
    line += strspn(line, " \t\r");
    if (line[0] == '-') {
        read_head(traceg, line);
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
    const char *warp = fth_text_behind(line, "warp = ");
    uint64_t number;
    if (warp) {
        if (!fth_text_numbers(warp, 10, 31, 1, &number) || number >= warps)
            return refuse(traceg, "a warp that the block does not have");
        traceg->warp = (uint32_t)number;
        return FTH_OK;
    }
    return traceg->begun ? read_instruction(traceg, line)
                         : refuse(traceg, "an instruction outside of a thread block");
}

enum fth_status fth_traceg_import(const char *from, struct fth_trace_writer *writer,
                                  struct fth_error *error)
{
    struct traceg traceg = {
        .path = from, .writer = writer, .totals = {.shared_bytes = UINT64_MAX}, .error = error};
    char *line;
    enum fth_status status = fth_lines_open(from, &traceg.lines, error);
    while (status == FTH_OK) {
        status = fth_lines_next(traceg.lines, &line, error);
        if (status != FTH_OK || !line)
            break;
        status = read_line(&traceg, line);
    }
    if (status == FTH_OK && !traceg.begun)
        status = refuse(&traceg, "there is no thread block in it");
    if (status == FTH_OK)
        status = fth_trace_writer_add(writer, &traceg.records, error);
    if (status == FTH_OK)
        status = fth_trace_writer_end(writer, &traceg.totals, error);
    fth_lines_close(traceg.lines);
    fth_records_fini(&traceg.records);
    return status;
}
