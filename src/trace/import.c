/* Imports traces in text form, which use the tuples of the RDGC paper (docs/traces.md). A line is
 * an access of a thread, if it has five fields, or else of a warp:
 *
 *     AN BID TID S ADD
 *     AN BID WID S NT ADD ADD …
 *
 * Blanks, commas, braces and parentheses separate the fields. Numbers are decimal, or hexadecimal
 * with 0x. S is R or 0 (read), W or 1 (write), or A (atomic); a suffix ":3" refers to
 * instruction 3. NT may be followed by a mask of the active lanes, as in "2/0x5"; otherwise the
 * first NT lanes are active. Lines that start with # are comments, except these, which `fathom
 * trace --dump` writes:
 *
 *     # kernel NAME                              starts a launch
 *     # grid X Y Z                               default: just large enough for the largest BID
 *     # block X Y Z                              default: just large enough for the largest TID
 *     # instruction 3 bytes 4 line 57 source 12  describes the accesses with ":3"; accesses
 *                                                without such a suffix have 4 bytes per lane
 *
 * All accesses of a launch are kept in memory until its last line has been read. */
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
    size_t number;   /* of the last line */
    bool end;
};

/* Maximum length of a line. A tuple with 32 addresses has less than a thousand characters. */
#define MAX_LINE_BYTES ((size_t)1 << 16)

enum fth_status fth_lines_open(const char *path, struct fth_lines **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fth_fail(error, FTH_NO_MEMORY, "read", path, "out of memory");
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
            enum fth_status status = fth_zreader_read(lines->reader, lines->chunk,
                                                      sizeof lines->chunk, &lines->size, error);
            if (status != FTH_OK)
                return status;
            lines->at = 0;
            lines->end = lines->size == 0;
        }
        const char *from = lines->chunk + lines->at;
        const char *feed = memchr(from, '\n', lines->size - lines->at);
        size_t size = feed ? (size_t)(feed - from) : lines->size - lines->at;
        fth_buffer_append(&lines->line, from, size);
        lines->at += size + (feed ? 1 : 0);
        if (lines->line.failed)
            return fth_fail(error, FTH_NO_MEMORY, "read trace", NULL, "out of memory");
        if (lines->line.size > MAX_LINE_BYTES)
            return fth_fail(error, FTH_INVALID, "read trace", NULL,
                            "line %zu is longer than 65536 characters", lines->number + 1);
        if (feed || (lines->end && lines->line.size > 0))
            break;
        if (lines->end)
            return FTH_OK;
    }
    lines->number++;
    fth_buffer_text(&lines->line, ""); /* allocates memory also for an empty line */
    *line = lines->line.data;
    return *line ? FTH_OK : fth_fail(error, FTH_NO_MEMORY, "read trace", NULL, "out of memory");
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

/* The access of one thread. */
struct tuple {
    uint64_t number, block, address;
    uint32_t warp, lane, instruction;
};

/* Maximum number of an instruction in '# instruction', plus one. It limits the size of the array
 * `declared`. */
enum { MAX_INSTRUCTIONS = 1 << 16 };

struct import {
    const char *path;
    struct fth_lines *lines;
    struct fth_trace_writer *writer;
    struct tuple *tuples;
    size_t count, capacity;
    char kernel[256];
    uint32_t grid[3], block[3];
    bool has_content; /* the current launch has a kernel, a shape or an access */
    /* Instructions from '# instruction' lines, by their number in the text. */
    struct fth_trace_instruction *declared;
    size_t declared_count, declared_capacity;
    struct fth_error *error;
};

static enum fth_status refuse(struct import *import, const char *cause)
{
    return fth_fail(import->error, FTH_INVALID, "read trace", import->path, "line %zu: %s",
                    fth_lines_number(import->lines), cause);
}

static int by_access(const void *a, const void *b)
{
    const struct tuple *one = a, *other = b;
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

static bool same_access(const struct tuple *a, const struct tuple *b)
{
    return a->block == b->block && a->number == b->number && a->warp == b->warp &&
           a->instruction == b->instruction;
}

/* If the text states no grid or block, chooses the smallest one that contains all accesses. */
static void infer_shape(struct import *import)
{
    uint64_t blocks = 1, threads = 1;
    for (size_t i = 0; i < import->count; i++) {
        const struct tuple *tuple = &import->tuples[i];
        uint64_t thread = (uint64_t)tuple->warp * 32 + tuple->lane;
        blocks = tuple->block >= blocks ? tuple->block + 1 : blocks;
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
        const struct tuple *first = &import->tuples[i];
        struct fth_record record = {.number = first->number,
                                    .block = first->block,
                                    .instruction = first->instruction,
                                    .warp = first->warp};
        uint64_t addresses[32];
        size_t count = 0;
        for (end = i; end < import->count && same_access(first, &import->tuples[end]); end++) {
            uint32_t lane = 1u << import->tuples[end].lane;
            if (record.mask & lane)
                break; /* a second access of the same thread is an access of its own */
            record.mask |= lane;
            addresses[count++] = import->tuples[end].address;
        }
        if (record.warp >= warps) {
            status = refuse(
                import, "the launch that ends here has a warp outside its block; check '# block'");
            break;
        }
        fth_records_clear(&records);
        status = fth_records_add(&records, &record, addresses)
                     ? fth_trace_writer_add(import->writer, &records, import->error)
                     : fth_fail(import->error, FTH_NO_MEMORY, "read trace", import->path,
                                "out of memory");
    }
    fth_records_fini(&records);
    return status;
}

/* Writes the collected launch, if there is one, and prepares for the next. The requests to other
 * memory spaces are unknown and stay 0; the shared memory per block is marked as unknown. */
static enum fth_status end_launch(struct import *import)
{
    if (!import->has_content)
        return FTH_OK;
    infer_shape(import);
    if (import->count)
        qsort(import->tuples, import->count, sizeof *import->tuples, by_access);
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

/* Accepts a decimal, octal (0) or hexadecimal (0x) number that is the whole text. */
static bool parse_integer(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    return end != text && !*end && !errno && *text != '-';
}

/* Parses the field S and returns the writer's number of the instruction. */
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
        return fth_fail(import->error, FTH_NO_MEMORY, "read trace", import->path, "out of memory");
    *number = (uint32_t)found;
    return FTH_OK;
}

static enum fth_status add_tuple(struct import *import, const struct tuple *tuple)
{
    if (!fth_grow((void **)&import->tuples, import->count, &import->capacity, sizeof *tuple))
        return fth_fail(import->error, FTH_NO_MEMORY, "read trace", import->path, "out of memory");
    import->tuples[import->count++] = *tuple;
    import->has_content = true;
    return FTH_OK;
}

/* Reads NT and the addresses of a tuple of a warp; words[0] is NT. */
static enum fth_status read_warp(struct import *import, struct tuple tuple, char **words,
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
        tuple.lane = (uint32_t)__builtin_ctzll(mask);
        if (!parse_integer(words[i], &tuple.address))
            return refuse(import, "invalid address");
        enum fth_status status = add_tuple(import, &tuple);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

static enum fth_status read_tuple(struct import *import, char *line)
{
    enum { MAX_WORDS = 40 }; /* more than the 5 + 32 fields of the longest valid tuple */
    char *words[MAX_WORDS];
    size_t count = 0;
    uint64_t who; /* TID or WID */
    struct tuple tuple = {0};
    for (char *word; count < MAX_WORDS && (word = next_word(&line));)
        words[count++] = word;
    if (count == 0)
        return FTH_OK;
    if (count < 5 || !parse_integer(words[0], &tuple.number) ||
        !parse_integer(words[1], &tuple.block) || !parse_integer(words[2], &who))
        return refuse(import, "expected AN BID TID S ADD or AN BID WID S NT ADD...");
    if (tuple.block > UINT32_MAX || who >= (count == 5 ? 1024 : 32))
        return refuse(
            import, "BID, TID or WID is out of range: a block has up to 1024 threads or 32 warps");
    enum fth_status status = find_instruction(import, words[3], &tuple.instruction);
    if (status != FTH_OK)
        return status;
    if (count > 5) {
        tuple.warp = (uint32_t)who;
        return read_warp(import, tuple, words + 4, count - 4);
    }
    tuple.warp = (uint32_t)(who / 32);
    tuple.lane = (uint32_t)(who % 32);
    return parse_integer(words[4], &tuple.address) ? add_tuple(import, &tuple)
                                                   : refuse(import, "invalid address");
}

/* ---- comments with information about the launch ---- */

static enum fth_status read_shape(struct import *import, const char *text, uint32_t shape[3])
{
    uint64_t threads = 1, numbers[3];
    if (!fth_text_numbers(text, 10, 0x7fffffff, 3, numbers) || !numbers[0] || !numbers[1] ||
        !numbers[2])
        return refuse(import, "expected three positive integers");
    for (int i = 0; i < 3; i++) {
        shape[i] = (uint32_t)numbers[i];
        threads *= shape[i] <= 1024 ? shape[i] : 1025;
    }
    import->has_content = true;
    return shape == import->block && threads > 1024
               ? refuse(import, "a block has at most 1024 threads")
               : FTH_OK;
}

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
        return refuse(import,
                      "expected 'instruction N bytes N line N source N', with 1 to 64 bytes");
    while (import->declared_count <= number) {
        if (!fth_grow((void **)&import->declared, import->declared_count,
                      &import->declared_capacity, sizeof *import->declared))
            return fth_fail(import->error, FTH_NO_MEMORY, "read trace", import->path,
                            "out of memory");
        import->declared[import->declared_count++] = (struct fth_trace_instruction){.bytes = 4};
    }
    import->declared[number] = (struct fth_trace_instruction){.bytes = (uint32_t)values[0],
                                                              .line = (uint32_t)values[1],
                                                              .source_line = (uint32_t)values[2],
                                                              .index = (uint32_t)number};
    return FTH_OK;
}

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
    free(import.tuples);
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
    enum fth_status status = fth_lines_open(from, &lines, error);
    if (status != FTH_OK)
        return status;
    fth_lines_close(lines);
    enum fth_trace_kind kind = fth_trace_recognise(from);
    if (kind != FTH_TRACE_TEXT && kind != FTH_TRACE_TRACEG)
        return fth_fail(error, FTH_INVALID, "read trace", from,
                        "unknown format: the first line is neither a tuple nor a .traceg header");
    status = fth_trace_writer_create(path, &writer, error);
    if (status != FTH_OK)
        return status;
    status = kind == FTH_TRACE_TEXT ? import_text(from, writer, error)
                                    : fth_traceg_import(from, writer, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}
