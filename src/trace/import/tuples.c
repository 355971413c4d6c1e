/* Imports traces of other tools (docs/traces.md). This file reads traces in text form; traceg.c
 * reads those of Accel-Sim. A line of a text trace is one tuple of the RDGC paper (M. Kiani and
 * A. Rajabzadeh, "RDGC: A Reuse Distance-Based Approach to GPU Cache Performance Analysis"). A
 * tuple with five fields is an access of a thread, one with more fields an access of a warp.
 */
/* clang-format off */
/*
 *     AN BID TID S ADD
 *     AN BID WID S NT ADD ADD …
 *
 *     AN    access number: index of the access among those of its warp, from 0
 *     BID   linear index of the block in the grid
 *     TID   linear index of the thread in the block
 *     WID   index of the warp in the block
 *     S     R or 0 (read), W or 1 (write), or A (atomic); the suffix of "R:3" refers to
 *           instruction 3
 *     NT    number of active lanes; "2/0x5" also gives their mask, otherwise the first NT lanes
 *           are active
 *     ADD   address of each active lane, in bytes
 *
 * Blanks, commas, braces and parentheses separate the fields. Numbers are decimal, hexadecimal with
 * 0x, or octal with a leading 0. The first line that is not empty must not start with a comma or a
 * parenthesis; otherwise the format is not recognised.
 *
 * Lines that start with # are comments, except the following, which `fathom trace --dump` writes.
 * Their numbers are always decimal.
 *
 *     # kernel NAME                              starts a launch
 *     # grid X Y Z                               default: just large enough for the largest BID
 *     # block X Y Z                              default: just large enough for the largest TID, or
 *                                                for the last active lane of the largest WID
 *     # instruction 3 bytes 4 line 57 source 12  describes instruction 3: its bytes per lane, its
 *                                                line in the PTX file, and its line in the source
 *
 * An instruction line applies to all tuples that follow, also to those of later launches. An access
 * without an instruction number has 4 bytes per lane. An instruction number must not exceed the
 * highest one that a line has described so far; a lower number that no line describes has 4 bytes
 * per lane. All accesses of a launch are kept in memory until its last line has been read. */
/* clang-format on */
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

struct fth_lines {
    struct fth_zreader *reader;
    struct fth_buffer line;
    char chunk[1 << 16];
    size_t at, size; /* next byte and number of bytes in the chunk */
    size_t number;   /* of the line that was returned last, from 1 */
    bool end;
};

/* Maximum length of a line. A tuple with 32 addresses has less than a thousand bytes. */
#define MAX_LINE_BYTES ((size_t)1 << 16)
_Static_assert(MAX_LINE_BYTES == 65536, "the message of fth_lines_next states this limit");

enum fth_status fth_lines_open(const char *path, struct fth_lines **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fth_no_memory(error, "read", path);
    enum fth_status status = fth_zreader_open(path, &(*out)->reader, error);
    if (status != FTH_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

enum fth_status fth_lines_next(struct fth_lines *lines, char **line, struct fth_error *error)
{
    lines->line.size = 0;
    *line = NULL;
    for (;;) {
        if (lines->at == lines->size && !lines->end) {
            FTH_TRY(fth_zreader_read(lines->reader, lines->chunk, sizeof lines->chunk, &lines->size,
                                     error));
            lines->at = 0;
            lines->end = lines->size == 0;
        }
        const char *from = lines->chunk + lines->at;
        const char *feed = memchr(from, '\n', lines->size - lines->at);
        size_t size = feed ? (size_t)(feed - from) : lines->size - lines->at;
        fth_buffer_append(&lines->line, from, size);
        lines->at += size + (feed ? 1 : 0);
        if (lines->line.failed)
            return fth_no_memory(error, "read trace", NULL);
        if (lines->line.size > MAX_LINE_BYTES)
            return fth_fail(error, FTH_INVALID, "read trace", NULL,
                            "line %zu is longer than 65536 bytes", lines->number + 1);
        if (feed || (lines->end && lines->line.size > 0))
            break;
        if (lines->end)
            return FTH_OK;
    }
    lines->number++;
    fth_buffer_text(&lines->line, ""); /* allocates memory also for an empty line */
    *line = lines->line.data;
    return *line ? FTH_OK : fth_no_memory(error, "read trace", NULL);
}

size_t fth_lines_number(const struct fth_lines *lines)
{
    return lines->number;
}

void fth_lines_close(struct fth_lines *lines)
{
    if (!lines)
        return;
    fth_zreader_close(lines->reader);
    fth_buffer_fini(&lines->line);
    free(lines);
}

const char *fth_text_after(const char *text, const char *beginning)
{
    size_t size = strlen(beginning);
    return strncmp(text, beginning, size) == 0 ? text + size : NULL;
}

bool fth_text_numbers(const char *text, int base, uint64_t max, size_t count, uint64_t *numbers)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        text += strspn(text, " \t,(");
        errno = 0;
        numbers[i] = strtoull(text, &end, base);
        if (end == text || *text == '-' || errno || numbers[i] > max)
            return false;
        text = end;
    }
    return true;
}

/* ---- collecting the accesses of a launch ---- */

/* The access of one thread: a tuple of a thread, or one lane of a tuple of a warp. */
struct thread_access {
    uint64_t number, block, address;
    uint32_t warp, lane, instruction;
};

/* The numbers of instructions in '# instruction' lines must be below this limit, which bounds the
 * size of the array `declared`. Heuristic. */
enum { MAX_INSTRUCTIONS = 1 << 16 };

struct import {
    const char *path; /* of the text file that is imported */
    struct fth_lines *lines;
    struct fth_trace_writer *writer;
    struct thread_access *accesses;
    size_t count, capacity;
    char kernel[256];
    uint32_t grid[3], block[3];
    bool has_content; /* the current launch has a kernel, a shape or an access */
    /* Instructions from '# instruction' lines, by their number in the text. If the numbers have
     * gaps, the missing instructions have 4 bytes per lane. */
    struct fth_trace_instruction *declared;
    size_t declared_count, declared_capacity;
    struct fth_error *error;
};

static enum fth_status refuse(struct import *import, const char *cause)
{
    return fth_fail(import->error, FTH_INVALID, "read trace", import->path, "line %zu: %s",
                    fth_lines_number(import->lines), cause);
}

/* Sorts the lanes of each warp access next to each other, in ascending order. The order of the warp
 * accesses among each other does not matter: the writer sorts them by access number, block and warp
 * (write.c). */
static int by_access(const void *a, const void *b)
{
    const struct thread_access *one = a, *other = b;
    const uint64_t keys[][2] = {{one->block, other->block},
                                {one->number, other->number},
                                {one->warp, other->warp},
                                {one->instruction, other->instruction},
                                {one->lane, other->lane}};
    for (size_t i = 0; i < FTH_COUNT(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool same_access(const struct thread_access *a, const struct thread_access *b)
{
    return a->block == b->block && a->number == b->number && a->warp == b->warp &&
           a->instruction == b->instruction;
}

/* If the text states no grid or block, chooses the smallest one that contains all accesses. */
static void infer_shape(struct import *import)
{
    uint64_t blocks = 1, threads = 1;
    for (size_t i = 0; i < import->count; i++) {
        const struct thread_access *access = &import->accesses[i];
        uint64_t thread = (uint64_t)access->warp * 32 + access->lane;
        blocks = access->block >= blocks ? access->block + 1 : blocks;
        threads = thread >= threads ? thread + 1 : threads;
    }
    if (!import->grid[0])
        memcpy(import->grid, (uint32_t[3]){(uint32_t)blocks, 1, 1}, sizeof import->grid);
    if (!import->block[0])
        memcpy(import->block, (uint32_t[3]){(uint32_t)threads, 1, 1}, sizeof import->block);
}

/* Combines the accesses of threads into those of warps and adds them to the writer. */
static enum fth_status write_accesses(struct import *import)
{
    struct fth_records records = {0};
    enum fth_status status = FTH_OK;
    uint32_t warps = (import->block[0] * import->block[1] * import->block[2] + 31) / 32;
    for (size_t i = 0, end; i < import->count && status == FTH_OK; i = end) {
        const struct thread_access *first = &import->accesses[i];
        struct fth_record record = {.number = first->number,
                                    .block = first->block,
                                    .instruction = first->instruction,
                                    .warp = first->warp};
        uint64_t addresses[32];
        size_t count = 0;
        for (end = i; end < import->count && same_access(first, &import->accesses[end]); end++) {
            uint32_t lane = 1u << import->accesses[end].lane;
            /* A thread that occurs again starts another record. The accesses are sorted by lane, so
             * the lanes 0 0 1 1 become three records: {0}, {0, 1}, {1}. */
            if (record.mask & lane)
                break;
            record.mask |= lane;
            addresses[count++] = import->accesses[end].address;
        }
        if (record.warp >= warps) {
            status = refuse(
                import, "the launch that ends here has a warp outside its block; check '# block'");
            break;
        }
        fth_records_clear(&records);
        status = fth_records_add(&records, &record, addresses)
                     ? fth_trace_writer_add(import->writer, &records, import->error)
                     : fth_no_memory(import->error, "read trace", import->path);
    }
    fth_records_fini(&records);
    return status;
}

/* Writes the collected launch, if there is one, and prepares for the next. A text trace does not
 * contain the totals that struct fth_trace_launch has for other memory spaces: the numbers of their
 * accesses are written as 0, and the shared memory per block as UINT64_MAX (unknown). */
static enum fth_status end_launch(struct import *import)
{
    if (!import->has_content)
        return FTH_OK;
    infer_shape(import);
    if (import->count)
        qsort(import->accesses, import->count, sizeof *import->accesses, by_access);
    enum fth_status status =
        fth_trace_writer_begin(import->writer, import->kernel[0] ? import->kernel : "kernel",
                               import->grid, import->block, import->error);
    if (status == FTH_OK)
        status = write_accesses(import);
    if (status == FTH_OK)
        status = fth_trace_writer_end(
            import->writer, &(struct fth_trace_launch){.shared_bytes = UINT64_MAX}, import->error);
    import->count = 0;
    import->has_content = false;
    import->kernel[0] = '\0';
    memset(import->grid, 0, sizeof import->grid);
    memset(import->block, 0, sizeof import->block);
    return status;
}

/* ---- tuples ---- */

/* Returns the next field, terminated by a NUL, and advances *at; NULL at the end of the line. */
static char *next_word(char **at)
{
    static const char separators[] = " \t\r,{}()";
    char *word = *at + strspn(*at, separators);
    if (!*word)
        return NULL;
    char *end = word + strcspn(word, separators);
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Parses a decimal, octal (leading 0) or hexadecimal (0x) number. Returns false if the text is
 * anything else or contains more. */
static bool parse_integer(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    return end != text && !*end && !errno && *text != '-';
}

/* Parses the field S. *number is the number that the writer assigned to the instruction. */
static enum fth_status find_instruction(struct import *import, const char *word, uint32_t *number)
{
    struct fth_trace_instruction instruction = {.bytes = 4};
    uint64_t index;
    switch (word[0]) {
    case 'R':
    case '0': instruction.kind = FTH_TRACE_READ; break;
    case 'W':
    case '1': instruction.kind = FTH_TRACE_WRITE; break;
    case 'A': instruction.kind = FTH_TRACE_ATOMIC; break;
    default: return refuse(import, "S must be R, W, A, 0 or 1");
    }
    if (word[1] == ':') {
        if (!parse_integer(word + 2, &index) || index >= import->declared_count)
            return refuse(import, "no '# instruction' line describes this instruction");
        enum fth_trace_access_kind kind = instruction.kind;
        instruction = import->declared[index];
        instruction.kind = kind;
    } else if (word[1]) {
        return refuse(import, "S must be R, W, A, 0 or 1");
    }
    size_t found = fth_trace_writer_instruction(import->writer, &instruction);
    if (found == SIZE_MAX)
        return fth_no_memory(import->error, "read trace", import->path);
    *number = (uint32_t)found;
    return FTH_OK;
}

static enum fth_status add_access(struct import *import, const struct thread_access *access)
{
    if (!fth_grow((void **)&import->accesses, import->count, &import->capacity, sizeof *access))
        return fth_no_memory(import->error, "read trace", import->path);
    import->accesses[import->count++] = *access;
    import->has_content = true;
    return FTH_OK;
}

/* Reads NT and the addresses of a tuple of a warp; words[0] is NT. */
static enum fth_status read_warp(struct import *import, struct thread_access access, char **words,
                                 size_t count)
{
    uint64_t threads, mask = UINT64_MAX;
    char *slash = strchr(words[0], '/');
    if (slash)
        *slash = '\0';
    if (!parse_integer(words[0], &threads) || threads < 1 || threads > 32 || count != threads + 1)
        return refuse(import, "NT must be from 1 to 32 and equal to the number of addresses");
    if (slash && (!parse_integer(slash + 1, &mask) || mask > UINT32_MAX ||
                  (uint64_t)__builtin_popcountll(mask) != threads))
        return refuse(import, "the mask after NT must have NT bits set");
    for (size_t i = 1; i < count; i++, mask &= mask - 1) {
        access.lane = (uint32_t)__builtin_ctzll(mask);
        if (!parse_integer(words[i], &access.address))
            return refuse(import, "invalid address");
        FTH_TRY(add_access(import, &access));
    }
    return FTH_OK;
}

static enum fth_status read_tuple(struct import *import, char *line)
{
    enum { MAX_WORDS = 40 }; /* more than the 5 + 32 fields of the longest valid tuple */
    char *words[MAX_WORDS];
    size_t count = 0;
    uint64_t who; /* TID or WID */
    struct thread_access access = {0};
    for (char *word; count < MAX_WORDS && (word = next_word(&line));)
        words[count++] = word;
    if (count == 0)
        return FTH_OK;
    if (count < 5 || !parse_integer(words[0], &access.number) ||
        !parse_integer(words[1], &access.block) || !parse_integer(words[2], &who))
        return refuse(import, "expected AN BID TID S ADD or AN BID WID S NT ADD...");
    if (access.block > UINT32_MAX || who >= (count == 5 ? 1024 : 32))
        return refuse(import,
                      "out of range: BID must be below 2^32, TID below 1024 and WID below 32");
    FTH_TRY(find_instruction(import, words[3], &access.instruction));
    if (count > 5) {
        access.warp = (uint32_t)who;
        return read_warp(import, access, words + 4, count - 4);
    }
    access.warp = (uint32_t)(who / 32);
    access.lane = (uint32_t)(who % 32);
    return parse_integer(words[4], &access.address) ? add_access(import, &access)
                                                    : refuse(import, "invalid address");
}

/* ---- comments with information about the launch ---- */

/* Reads "X Y Z" into `shape`, which is import->grid or import->block. */
static enum fth_status read_shape(struct import *import, const char *text, uint32_t shape[3])
{
    uint64_t threads = 1, numbers[3]; /* `threads` is only used for a block */
    if (!fth_text_numbers(text, 10, 0x7fffffff, 3, numbers) || !numbers[0] || !numbers[1] ||
        !numbers[2])
        return refuse(import, "expected three positive integers");
    for (int i = 0; i < 3; i++) {
        shape[i] = (uint32_t)numbers[i];
        /* 1025 instead of a larger number: the product stays above 1024 and cannot overflow. */
        threads *= shape[i] <= 1024 ? shape[i] : 1025;
    }
    import->has_content = true;
    return shape == import->block && threads > 1024
               ? refuse(import, "a block has at most 1024 threads")
               : FTH_OK;
}

/* Reads "N bytes N line N source N". A trace allows 1 to 64 bytes per lane; see struct
 * fth_trace_instruction. */
static enum fth_status read_instruction(struct import *import, const char *text)
{
    static const char *const names[] = {"bytes ", "line ", "source "};
    uint64_t values[3], number;
    bool ok = fth_text_numbers(text, 10, MAX_INSTRUCTIONS - 1, 1, &number);
    for (size_t i = 0; i < FTH_COUNT(names) && ok; i++) {
        const char *at = strstr(text, names[i]);
        ok = at && fth_text_numbers(at + strlen(names[i]), 10, UINT32_MAX, 1, &values[i]);
    }
    if (!ok || values[0] < 1 || values[0] > 64)
        return refuse(
            import,
            "expected 'instruction N bytes N line N source N', with 1 to 64 bytes per lane");
    while (import->declared_count <= number) {
        if (!fth_grow((void **)&import->declared, import->declared_count,
                      &import->declared_capacity, sizeof *import->declared))
            return fth_no_memory(import->error, "read trace", import->path);
        import->declared[import->declared_count++] = (struct fth_trace_instruction){.bytes = 4};
    }
    import->declared[number] = (struct fth_trace_instruction){.bytes = (uint32_t)values[0],
                                                              .line = (uint32_t)values[1],
                                                              .source_line = (uint32_t)values[2],
                                                              .index = (uint32_t)number};
    return FTH_OK;
}

/* Reads a line that starts with #. */
static enum fth_status read_comment(struct import *import, char *text)
{
    text += strspn(text, "# \t");
    text[strcspn(text, "\r")] = '\0';
    const char *rest;
    if ((rest = fth_text_after(text, "kernel "))) {
        enum fth_status status = end_launch(import);
        snprintf(import->kernel, sizeof import->kernel, "%s", rest);
        import->has_content = true;
        return status;
    }
    if ((rest = fth_text_after(text, "grid ")))
        return read_shape(import, rest, import->grid);
    if ((rest = fth_text_after(text, "block ")))
        return read_shape(import, rest, import->block);
    if ((rest = fth_text_after(text, "instruction ")))
        return read_instruction(import, rest);
    return FTH_OK;
}

static enum fth_status import_text(const char *from, struct fth_trace_writer *writer,
                                   struct fth_error *error)
{
    struct import import = {.path = from, .writer = writer, .error = error};
    char *line;
    enum fth_status status = fth_lines_open(from, &import.lines, error);
    while (status == FTH_OK) {
        status = fth_lines_next(import.lines, &line, error);
        if (status != FTH_OK || !line)
            break;
        status = line[strspn(line, " \t")] == '#' ? read_comment(&import, line)
                                                  : read_tuple(&import, line);
    }
    if (status == FTH_OK)
        status = end_launch(&import);
    fth_lines_close(import.lines);
    free(import.accesses);
    free(import.declared);
    return status;
}

/* ---- file formats ---- */

enum fth_trace_kind fth_trace_recognise(const char *path)
{
    struct fth_lines *lines = NULL;
    char *line = NULL;
    struct fth_container *container = NULL;
    if (fth_container_open(path, &container, NULL) == FTH_OK) {
        fth_container_close(container);
        return FTH_TRACE_OWN;
    }
    enum fth_trace_kind kind = FTH_TRACE_NONE;
    enum fth_status status = fth_lines_open(path, &lines, NULL);
    do
        status = status == FTH_OK ? fth_lines_next(lines, &line, NULL) : status;
    while (status == FTH_OK && line && !line[strspn(line, " \t\r")]);
    /* A .traceg file of Accel-Sim starts with a header line such as "-kernel name = …". The first
     * line of a text trace must be a comment, or a tuple that starts with a number or a brace. */
    if (status == FTH_OK && line)
        kind = line[0] == '-'                                      ? FTH_TRACE_TRACEG
               : strchr("#{0123456789", line[strspn(line, " \t")]) ? FTH_TRACE_TEXT
                                                                   : FTH_TRACE_NONE;
    fth_lines_close(lines);
    return kind;
}

enum fth_status fth_trace_import(const char *from, const char *path, struct fth_error *error)
{
    struct fth_trace_writer *writer;
    struct fth_lines *lines;
    /* Opened only to report a file that cannot be opened: fth_trace_recognise reports no error. */
    FTH_TRY(fth_lines_open(from, &lines, error));
    fth_lines_close(lines);
    enum fth_trace_kind kind = fth_trace_recognise(from);
    if (kind != FTH_TRACE_TEXT && kind != FTH_TRACE_TRACEG)
        return fth_fail(error, FTH_INVALID, "read trace", from,
                        "unknown format: the first line is neither a tuple nor a .traceg header");
    FTH_TRY(fth_trace_writer_create(path, &writer, error));
    enum fth_status status = kind == FTH_TRACE_TEXT ? import_text(from, writer, error)
                                                    : fth_traceg_import(from, writer, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}
