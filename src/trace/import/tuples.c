/* Imports traces in text form (docs/traces.md). A line is one tuple of the RDGC paper (M. Kiani and
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
 * Blanks, commas, braces and parentheses separate the fields. Numbers are decimal, also with leading
 * zeros, or hexadecimal with 0x.
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
 *     # instruction … local                      the instruction accesses local memory
 *     # local 64                                 bytes of local memory per thread of the launch
 *
 * An instruction line applies to all tuples that follow, also to those of later launches. An access
 * without an instruction number has 4 bytes per lane. An instruction number must not exceed the
 * highest one that a line has described so far; a lower number that no line describes has 4 bytes
 * per lane. All accesses of a launch are kept in memory until its last line has been read. */
/* clang-format on */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting the accesses of a launch ---- */

/* The access of one thread: a tuple of a thread, or one lane of a tuple of a warp. */
struct thread_access {
    uint64_t number, block, address;
    /* Which access of the warp it belongs to, if the warp has several with this number and this
     * instruction. For a tuple of a warp: the line. For a tuple of a thread: the line while the
     * launch is read; then how many earlier tuples the same thread has (number_repetitions). */
    uint64_t record;
    uint32_t warp, lane, instruction;
    bool of_warp; /* from a tuple of a warp */
};

/* The numbers of instructions in '# instruction' lines must be below this limit, which bounds the
 * size of the array `declared`. Chosen, not derived: kernels have far fewer memory instructions. */
enum { MAX_INSTRUCTIONS = 1 << 16 };

struct import {
    const char *path; /* of the text file that is imported, for messages */
    struct fth_lines *lines;
    struct fth_trace_writer *writer;
    struct thread_access *accesses;
    size_t count, capacity;
    char kernel[256];
    uint32_t grid[3], block[3];
    uint64_t local_bytes; /* per thread; 0: not stated */
    bool has_content;     /* the current launch has a kernel, a shape or an access */
    /* Instructions from '# instruction' lines, by their number in the text. If the numbers have
     * gaps, the missing instructions have 4 bytes per lane. */
    struct fth_trace_instruction *declared;
    size_t declared_count, declared_capacity;
    struct fth_arena arena; /* positions in the source, from '# source' lines */
    struct fth_error *error;
};

static enum fth_status refuse(struct import *import, const char *cause)
{
    return fth_fail(import->error, FTH_INVALID, "read trace", import->path, "line %zu: %s",
                    fth_lines_number(import->lines), cause);
}

/* Compares what the accesses of one warp that are combined have in common. */
static int compare_origins(const struct thread_access *one, const struct thread_access *other)
{
    const uint64_t keys[][2] = {{one->block, other->block},
                                {one->number, other->number},
                                {one->warp, other->warp},
                                {one->instruction, other->instruction},
                                {one->of_warp, other->of_warp}};
    for (size_t i = 0; i < FTH_COUNT(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Sorts the tuples of each thread next to each other, in the order of their lines. */
static int by_thread(const void *a, const void *b)
{
    const struct thread_access *one = a, *other = b;
    const int origin = compare_origins(one, other);
    if (origin || one->lane != other->lane)
        return origin ? origin : one->lane < other->lane ? -1 : 1;
    return one->record < other->record ? -1 : one->record > other->record;
}

/* Sorts the lanes of each warp access next to each other, in ascending order. The order of the warp
 * accesses among each other does not matter: the writer sorts them by access number, block and warp
 * (trace_writer.c). */
static int by_access(const void *a, const void *b)
{
    const struct thread_access *one = a, *other = b;
    const int origin = compare_origins(one, other);
    if (origin || one->record != other->record)
        return origin ? origin : one->record < other->record ? -1 : 1;
    return one->lane < other->lane ? -1 : one->lane > other->lane;
}

static bool same_access(const struct thread_access *a, const struct thread_access *b)
{
    return compare_origins(a, b) == 0 && a->record == b->record;
}

/* Sets `record` of the tuples of threads: the first tuples of all threads of a warp with the same
 * number and instruction form one access, their second tuples another one, and so on. */
static void number_repetitions(struct import *import)
{
    uint64_t repetitions = 0;
    for (size_t i = 0; i < import->count; i++) {
        struct thread_access *access = &import->accesses[i];
        if (access->of_warp)
            continue;
        const bool again =
            i > 0 && access[-1].lane == access->lane && compare_origins(&access[-1], access) == 0;
        repetitions = again ? repetitions + 1 : 0;
        access->record = repetitions;
    }
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
            record.mask |= 1u << import->accesses[end].lane;
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
static enum fth_status refuse_access(const struct import *import,
                                     const struct thread_access *access, const char *what,
                                     uint64_t index, const char *of, const uint32_t shape[3])
{
    return fth_fail(import->error, FTH_INVALID, "read trace", import->path,
                    "line %llu: %s %llu is outside of the %s, which is %ux%ux%u; correct '# %s' or "
                    "leave it out",
                    (unsigned long long)access->record, what, (unsigned long long)index, of,
                    shape[0], shape[1], shape[2], of);
}

/* Refuses accesses outside of the grid or the block, if the text states their sizes. Dimensions are
 * below 2^31, so the product of two does not overflow. */
static enum fth_status check_shape(const struct import *import)
{
    const uint32_t *grid = import->grid, *block = import->block;
    const uint64_t rows = (uint64_t)grid[0] * grid[1];
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2]; /* at most 1024 */
    for (size_t i = 0; i < import->count; i++) {
        const struct thread_access *access = &import->accesses[i];
        const uint64_t thread = (uint64_t)access->warp * 32 + access->lane;
        if (grid[0] && access->block / rows >= grid[2])
            return refuse_access(import, access, "block", access->block, "grid", grid);
        if (block[0] && thread >= threads)
            return refuse_access(import, access, "thread", thread, "block", block);
    }
    return FTH_OK;
}

static enum fth_status end_launch(struct import *import)
{
    if (!import->has_content)
        return FTH_OK;
    FTH_TRY(check_shape(import));
    infer_shape(import);
    if (import->count) {
        qsort(import->accesses, import->count, sizeof *import->accesses, by_thread);
        number_repetitions(import);
        qsort(import->accesses, import->count, sizeof *import->accesses, by_access);
    }
    FTH_TRY(fth_trace_writer_begin(import->writer, import->kernel[0] ? import->kernel : "kernel",
                                   import->grid, import->block, import->error));
    FTH_TRY(write_accesses(import));
    FTH_TRY(fth_trace_writer_end(
        import->writer,
        &(struct fth_trace_launch){.shared_bytes = UINT64_MAX, .local_bytes = import->local_bytes},
        import->error));
    import->local_bytes = 0;
    import->count = 0;
    import->has_content = false;
    import->kernel[0] = '\0';
    memset(import->grid, 0, sizeof import->grid);
    memset(import->block, 0, sizeof import->block);
    return FTH_OK;
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
        if (!fth_text_integer(word + 2, &index) || index >= import->declared_count)
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
    if (!fth_text_integer(words[0], &threads) || threads < 1 || threads > 32 ||
        count != threads + 1)
        return refuse(import, "NT must be from 1 to 32 and equal to the number of addresses");
    if (slash && (!fth_text_integer(slash + 1, &mask) || mask > UINT32_MAX ||
                  (uint64_t)__builtin_popcountll(mask) != threads))
        return refuse(import, "the mask after NT must have NT bits set");
    for (size_t i = 1; i < count; i++, mask &= mask - 1) {
        access.lane = (uint32_t)__builtin_ctzll(mask);
        if (!fth_text_integer(words[i], &access.address))
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
    struct thread_access access = {.record = fth_lines_number(import->lines)};
    for (char *word; count < MAX_WORDS && (word = next_word(&line));)
        words[count++] = word;
    if (count == 0)
        return FTH_OK;
    if (count < 5 || !fth_text_integer(words[0], &access.number) ||
        !fth_text_integer(words[1], &access.block) || !fth_text_integer(words[2], &who))
        return refuse(import, "expected AN BID TID S ADD or AN BID WID S NT ADD...");
    /* BID + 1 blocks must be a valid grid. */
    if (access.block >= UINT32_MAX || who >= (count == 5 ? 1024 : 32))
        return refuse(import,
                      "out of range: BID must be below 2^32 - 1, TID below 1024 and WID below 32");
    FTH_TRY(find_instruction(import, words[3], &access.instruction));
    if (count > 5) {
        access.of_warp = true;
        access.warp = (uint32_t)who;
        return read_warp(import, access, words + 4, count - 4);
    }
    access.warp = (uint32_t)(who / 32);
    access.lane = (uint32_t)(who % 32);
    return fth_text_integer(words[4], &access.address) ? add_access(import, &access)
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

/* Reads "texture T L" of an instruction on a texture or surface: T texels per lane, and L lanes per
 * request (FTH_TRACE_TEXTURE). */
static enum fth_status read_texture(struct import *import, const char *text, uint32_t *hints)
{
    static const char word[] = " texture ";
    const char *at = strstr(text, word);
    uint64_t values[2];
    if (!at)
        return FTH_OK;
    if (fth_text_numbers(at + strlen(word), 10, UINT32_MAX, 2, values))
        for (uint32_t texels = 0; texels < 3; texels++)
            for (uint32_t lanes = 0; lanes < 4; lanes++) {
                const uint32_t found = FTH_TRACE_TEXTURE | texels << 14 | lanes << 16;
                if (values[0] == FTH_TRACE_TEXELS(found) &&
                    values[1] == FTH_TRACE_TEXTURE_LANES(found))
                    *hints |= found;
            }
    return *hints & FTH_TRACE_TEXTURE
               ? FTH_OK
               : refuse(import,
                        "expected 'texture N N', with 1, 2 or 4 texels per lane and 1, 2, 4 "
                        "or 8 lanes per request");
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
    if (strstr(text, " local"))
        import->declared[number].hints = FTH_TRACE_LOCAL;
    return read_texture(import, text, &import->declared[number].hints);
}

/* Reads "N LINE FILE", where N is the number of an instruction and FILE the rest of the line. The
 * first such line of an instruction is its position, the next one the call of the inlined function
 * that contains it, and so on. Positions beyond FTH_MAX_SOURCE_LEVELS are ignored. */
static enum fth_status read_source(struct import *import, const char *text)
{
    uint64_t numbers[2];
    const char *file = text;
    if (!fth_text_numbers(text, 10, UINT32_MAX, 2, numbers) || numbers[0] >= import->declared_count)
        return refuse(import,
                      "expected 'source N LINE FILE', with the number N of an instruction above");
    for (int i = 0; i < 2; i++) {
        file += strspn(file, " \t");
        file += strcspn(file, " \t");
    }
    file += strspn(file, " \t");
    const struct fth_source_position **end = &import->declared[numbers[0]].source;
    size_t levels = 0;
    /* The list is constant for everyone but the importer, which allocated it. */
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    for (; *end; end = &((struct fth_source_position *)(uintptr_t)*end)->inlined_at)
        levels++;
    if (levels == FTH_MAX_SOURCE_LEVELS)
        return FTH_OK;
    struct fth_source_position *position = fth_arena_alloc(&import->arena, sizeof *position);
    const char *name = *file ? fth_arena_text(&import->arena, file) : NULL;
    if (!position || (*file && !name))
        return fth_no_memory(import->error, "read trace", import->path);
    *position = (struct fth_source_position){.file = name, .line = (uint32_t)numbers[1]};
    *end = position;
    return FTH_OK;
}

/* Reads "N NAME", where N is the number of an instruction and NAME, the rest of the line, the
 * inlined function that contains its last position. */
static enum fth_status read_function(struct import *import, const char *text)
{
    uint64_t number = 0;
    const char *name = text;
    const bool known = fth_text_numbers(text, 10, UINT32_MAX, 1, &number) &&
                       number < import->declared_count && import->declared[number].source;
    if (!known)
        return refuse(import, "expected 'function N NAME' after a source of instruction N");
    name += strspn(name, " \t");
    name += strcspn(name, " \t");
    name += strspn(name, " \t");
    const struct fth_source_position *last = import->declared[number].source;
    while (last->inlined_at)
        last = last->inlined_at;
    if (!*name || strlen(name) >= FTH_NAME_BYTES || last->function)
        return FTH_OK;
    const char *copy = fth_arena_text(&import->arena, name);
    if (!copy)
        return fth_no_memory(import->error, "read trace", import->path);
    /* The list is constant for everyone but the importer, which allocated it. */
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    ((struct fth_source_position *)(uintptr_t)last)->function = copy;
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
    if ((rest = fth_text_after(text, "local ")))
        return fth_text_numbers(rest, 10, UINT32_MAX, 1, &import->local_bytes)
                   ? FTH_OK
                   : refuse(import, "expected 'local N', the bytes of local memory per thread");
    if ((rest = fth_text_after(text, "instruction ")))
        return read_instruction(import, rest);
    if ((rest = fth_text_after(text, "source ")))
        return read_source(import, rest);
    if ((rest = fth_text_after(text, "function ")))
        return read_function(import, rest);
    return FTH_OK;
}

enum fth_status fth_tuples_import(const struct fth_trace_input *input,
                                  struct fth_trace_writer *writer, const struct fth_log *log,
                                  struct fth_error *error)
{
    struct import import = {.path = input->name, .writer = writer, .error = error};
    char *line;
    enum fth_status status = fth_lines_open(input, log, &import.lines, error);
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
    fth_arena_fini(&import.arena);
    return status;
}
