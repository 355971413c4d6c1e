/* Traces as text, in the tuples of the paper: a line an access of a thread
 *
 *     AN BID TID S ADD
 *
 * or of a warp
 *
 *     AN BID WID S NT ADD ADD …
 *
 * told apart by their length. Blanks, commas and braces separate; numbers are decimal, or with 0x.
 * S is R, W or A (atomic), or 0 for a read and 1 for a write; ":3" behind it names an instruction.
 * NT may have the lanes behind it, "2/0x5"; otherwise they are the first ones. Lines with # are
 * comments, but for those that fathom's own dump has:
 *
 *     # kernel NAME                              a launch begins
 *     # grid X Y Z      # block X Y Z            otherwise as large as the largest BID and TID
 *     # instruction 3 bytes 4 line 57 source 12  of the accesses with ":3"; 4 bytes otherwise */
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
    size_t at, size, number;
    bool end;
};

/* Longer lines than any trace has: 32 addresses take less than a thousand characters. */
#define LONGEST_LINE ((size_t)1 << 16)

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
        if (lines->line.size > LONGEST_LINE)
            return fth_fail(error, FTH_INVALID, "read trace", NULL, "line %zu is too long",
                            lines->number + 1);
        if (feed || (lines->end && lines->line.size > 0))
            break;
        if (lines->end)
            return FTH_OK;
    }
    lines->number++;
    fth_buffer_text(&lines->line, ""); /* an empty line has bytes, too */
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

const char *fth_text_behind(const char *text, const char *beginning)
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

/* ---- a launch, until it is complete ---- */

/* One thread's share of an access. */
struct tuple {
    uint64_t number, block, address;
    uint32_t warp, lane, instruction;
};

enum { MAX_INSTRUCTIONS = 1 << 16 };

struct import {
    const char *path;
    struct fth_lines *lines;
    struct fth_trace_writer *writer;
    struct tuple *tuples;
    size_t count, capacity;
    char kernel[256];
    uint32_t grid[3], block[3];
    bool begun; /* something of a launch was there */
    /* Instructions as the text has them, by their number there, and the writer's for a kind. */
    struct fth_trace_instruction *given;
    size_t given_count, given_capacity;
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

/* The shape of the launch, where the text did not say it. */
static void guess_shape(struct import *import)
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
                break; /* the thread again: an access of its own */
            record.mask |= lane;
            addresses[count++] = import->tuples[end].address;
        }
        if (record.warp >= warps) {
            status = refuse(import, "a warp that the block does not have");
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

static enum fth_status end_launch(struct import *import)
{
    if (!import->begun)
        return FTH_OK;
    guess_shape(import);
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
    import->begun = false;
    import->kernel[0] = '\0';
    memset(import->grid, 0, sizeof import->grid);
    memset(import->block, 0, sizeof import->block);
    return status;
}

/* ---- tuples ---- */

/* The next word, up to blanks, commas and braces; NULL at the end. Ends it with a NUL. */
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

static bool whole(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    return end != text && !*end && !errno && *text != '-';
}

static enum fth_status find_instruction(struct import *import, const char *word, uint32_t *number)
{
    struct fth_trace_instruction facts = {.bytes = 4};
    uint64_t given;
    switch (word[0]) {
    case 'R':
    case '0': facts.kind = FTH_TRACE_READ; break;
    case 'W':
    case '1': facts.kind = FTH_TRACE_WRITE; break;
    case 'A': facts.kind = FTH_TRACE_ATOMIC; break;
    default: return refuse(import, "S must be R, W, A, 0 or 1");
    }
    if (word[1] == ':') {
        if (!whole(word + 2, &given) || given >= import->given_count)
            return refuse(import, "no such instruction was told of");
        enum fth_trace_access_kind kind = facts.kind;
        facts = import->given[given];
        facts.kind = kind;
    } else if (word[1]) {
        return refuse(import, "S must be R, W, A, 0 or 1");
    }
    size_t found = fth_trace_writer_instruction(import->writer, &facts);
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
    import->begun = true;
    return FTH_OK;
}

/* NT and the addresses. */
static enum fth_status read_warp(struct import *import, struct tuple tuple, char **words,
                                 size_t count)
{
    uint64_t threads, mask = UINT64_MAX;
    char *slash = strchr(words[0], '/');
    if (slash)
        *slash = '\0';
    if (!whole(words[0], &threads) || threads < 1 || threads > 32 || count != threads + 1)
        return refuse(import, "NT and the number of addresses are not the same");
    if (slash && (!whole(slash + 1, &mask) || mask > UINT32_MAX ||
                  (uint64_t)__builtin_popcountll(mask) != threads))
        return refuse(import, "the lanes are not as many as NT");
    for (size_t i = 1; i < count; i++, mask &= mask - 1) {
        tuple.lane = (uint32_t)__builtin_ctzll(mask);
        if (!whole(words[i], &tuple.address))
            return refuse(import, "no address");
        enum fth_status status = add_tuple(import, &tuple);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

static enum fth_status read_tuple(struct import *import, char *line)
{
    enum { MAX_WORDS = 40 };
    char *words[MAX_WORDS];
    size_t count = 0;
    uint64_t who;
    struct tuple tuple = {0};
    for (char *word; count < MAX_WORDS && (word = next_word(&line));)
        words[count++] = word;
    if (count == 0)
        return FTH_OK;
    if (count < 5 || !whole(words[0], &tuple.number) || !whole(words[1], &tuple.block) ||
        !whole(words[2], &who))
        return refuse(import, "neither AN BID TID S ADD nor AN BID WID S NT ADD...");
    if (tuple.block > UINT32_MAX || who >= (count == 5 ? 1024 : 32))
        return refuse(import, "a block or thread that no GPU has");
    enum fth_status status = find_instruction(import, words[3], &tuple.instruction);
    if (status != FTH_OK)
        return status;
    if (count > 5) {
        tuple.warp = (uint32_t)who;
        return read_warp(import, tuple, words + 4, count - 4);
    }
    tuple.warp = (uint32_t)(who / 32);
    tuple.lane = (uint32_t)(who % 32);
    return whole(words[4], &tuple.address) ? add_tuple(import, &tuple)
                                           : refuse(import, "no address");
}

/* ---- comments that say something ---- */

static enum fth_status read_shape(struct import *import, const char *text, uint32_t shape[3])
{
    uint64_t threads = 1, numbers[3];
    if (!fth_text_numbers(text, 10, 0x7fffffff, 3, numbers) || !numbers[0] || !numbers[1] ||
        !numbers[2])
        return refuse(import, "three numbers expected");
    for (int i = 0; i < 3; i++) {
        shape[i] = (uint32_t)numbers[i];
        threads *= shape[i] <= 1024 ? shape[i] : 1025;
    }
    import->begun = true;
    return shape == import->block && threads > 1024 ? refuse(import, "a block that no GPU takes")
                                                    : FTH_OK;
}

static enum fth_status read_instruction(struct import *import, const char *text)
{
    static const char *const names[] = {"bytes ", "line ", "source "};
    uint64_t facts[3], number;
    bool fine = fth_text_numbers(text, 10, MAX_INSTRUCTIONS - 1, 1, &number);
    for (size_t i = 0; i < FTH_COUNT(names) && fine; i++) {
        const char *at = strstr(text, names[i]);
        fine = at && fth_text_numbers(at + strlen(names[i]), 10, UINT32_MAX, 1, &facts[i]);
    }
    if (!fine || facts[0] < 1 || facts[0] > 64)
        return refuse(import, "not such as 'instruction 3 bytes 4 line 57 source 12'");
    while (import->given_count <= number) {
        if (!fth_grow((void **)&import->given, import->given_count, &import->given_capacity,
                      sizeof *import->given))
            return fth_fail(import->error, FTH_NO_MEMORY, "read trace", import->path,
                            "out of memory");
        import->given[import->given_count++] = (struct fth_trace_instruction){.bytes = 4};
    }
    import->given[number] = (struct fth_trace_instruction){.bytes = (uint32_t)facts[0],
                                                           .line = (uint32_t)facts[1],
                                                           .source_line = (uint32_t)facts[2],
                                                           .index = (uint32_t)number};
    return FTH_OK;
}

static enum fth_status read_comment(struct import *import, char *text)
{
    text += strspn(text, "# \t");
    text[strcspn(text, "\r")] = '\0';
    const char *behind;
    if ((behind = fth_text_behind(text, "kernel "))) {
        enum fth_status status = end_launch(import);
        snprintf(import->kernel, sizeof import->kernel, "%s", behind);
        import->begun = true;
        return status;
    }
    if ((behind = fth_text_behind(text, "grid ")))
        return read_shape(import, behind, import->grid);
    if ((behind = fth_text_behind(text, "block ")))
        return read_shape(import, behind, import->block);
    if ((behind = fth_text_behind(text, "instruction ")))
        return read_instruction(import, behind);
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
    free(import.given);
    return status;
}

/* ---- which kind it is ---- */

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
                        "it begins neither as tuples do nor as a .traceg");
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
