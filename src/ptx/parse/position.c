/* Parses .file and .loc directives: the positions of instructions in the source code (PTX ISA,
 * "Debugging Directives").
 *
 * Code of an inlined function has a position in the function and the position of the call:
 *
 *     .loc 1 7 5
 *     .loc 2 6 5, function_name $L__info_string0, inlined_at 1 7 5
 *     .loc 2 2 5, function_name $L__info_string1, inlined_at 2 6 5
 *
 * The call itself can be in an inlined function, so the positions form a chain: 2:2 is in 2:6,
 * which is in 1:7. The directive only has the position of the innermost call. The rest of the chain
 * is that of the last .loc directive of the function with this position.
 *
 * Older versions of LLVM, and so of Triton, write the calls only as a comment, in the form of
 * DebugLoc::print, with files without folders and without the names of functions:
 *
 *     .loc 2 2 5    // helper.py:2:5 @[ helper.py:6:5 @[ kernel.py:7:5 ] ]
 *
 * The name of the inlined function is a string in the section .debug_str: at a label, at an offset
 * from a label, or at an offset from the begin of the section (".debug_str+16"). */
#include "ptx/debug/debug.h"
#include "ptx/parse/parser.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(uint32_t file, uint32_t line, uint32_t column)
{
    uint32_t hash = file;
    hash = hash * 31 + line;
    hash = hash * 31 + column;
    return hash % BUCKETS;
}

/* Returns the last position of the current function with these numbers, or NULL. */
static const struct fth_ptx_place *find_place(const struct fth_ptx_parser *parser, uint32_t file,
                                              uint32_t line, uint32_t column)
{
    const struct fth_ptx_place *place = parser->places[bucket_of(file, line, column)];
    while (place && (place->file_number != file || place->position.line != line ||
                     place->column != column || place->function != parser->function_index))
        place = place->next_in_bucket;
    return place;
}

/* Adds a position to the current function. Returns NULL when out of memory. */
static struct fth_ptx_place *add_place(struct fth_ptx_parser *parser, const uint64_t numbers[3],
                                       const struct fth_ptx_place *inlined_at)
{
    struct fth_ptx_place *place = fth_arena_alloc(&parser->module->arena, sizeof *place);
    if (!place) {
        fth_ptx_lexer_no_memory(&parser->lexer);
        return NULL;
    }
    const uint32_t file = (uint32_t)numbers[0], line = (uint32_t)numbers[1];
    const uint32_t column = (uint32_t)numbers[2];
    struct fth_ptx_place **bucket = &parser->places[bucket_of(file, line, column)];
    *place = (struct fth_ptx_place){
        .position = {.line = line, .inlined_at = inlined_at ? &inlined_at->position : NULL},
        .file_number = file,
        .column = column,
        .function = parser->function_index,
        .next_in_bucket = *bucket,
    };
    *bucket = place;
    return place;
}

static bool parse_numbers(struct fth_ptx_parser *parser, uint64_t numbers[3])
{
    for (int i = 0; i < 3; i++)
        if (!fth_ptx_parse_count(parser, UINT32_MAX, &numbers[i]))
            return false;
    return true;
}

/* Parses "FILE LINE COLUMN" after "inlined_at". */
static bool parse_call_position(struct fth_ptx_parser *parser, const struct fth_ptx_place **call)
{
    uint64_t numbers[3];
    if (!parse_numbers(parser, numbers))
        return false;
    *call = find_place(parser, (uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]);
    if (!*call)
        *call = add_place(parser, numbers, NULL);
    return *call != NULL;
}

/* ---- calls in comments ---- */

/* Maximum number of calls that are read from a comment; more are ignored. Chosen: a trace keeps 32
 * positions. */
enum { MAX_CALLS = 32 };

/* A position in a comment: "FILE:LINE:COLUMN". */
struct written {
    const char *file;
    size_t file_size;
    uint64_t numbers[3]; /* the first one is not used */
};

/* Reads a position that begins at `at` and ends before " @[" or " ]", and returns its end; NULL: it
 * is none. */
static const char *read_written(const char *at, const char *end, struct written *written)
{
    const char *stop = at, *colons[2];
    while (stop < end && !(*stop == ' ' && (stop[1] == ']' || (stop[1] == '@' && stop[2] == '['))))
        if ((unsigned char)*stop++ < ' ') /* names go to the terminal */
            return NULL;
    const char *last = stop;
    for (int i = 1; i >= 0; i--) {
        char *digits_end;
        while (last > at && last[-1] >= '0' && last[-1] <= '9')
            last--;
        if (last == at || last[-1] != ':')
            return NULL;
        colons[i] = --last;
        written->numbers[i + 1] = strtoull(last + 1, &digits_end, 10);
        if (digits_end == last + 1 || written->numbers[i + 1] > UINT32_MAX)
            return NULL;
    }
    written->file = at;
    written->file_size = (size_t)(colons[0] - at);
    return written->file_size ? stop : NULL;
}

/* Reads the calls in the comment of a directive whose operands begin at `text`. The comment must
 * begin with the line and the column of the directive. */
static bool parse_comment(struct fth_ptx_parser *parser, const char *text,
                          const uint64_t numbers[3], const struct fth_ptx_place **call)
{
    struct written written[MAX_CALLS + 1];
    size_t count = 0;
    const char *at = text + strcspn(text, "\r\n./"); /* a point begins another directive */
    if (at[0] != '/' || at[1] != '/')
        return true;
    const char *end = at + strcspn(at, "\r\n");
    at += 2 + strspn(at + 2, " \t");
    while (at < end && count <= MAX_CALLS && (at = read_written(at, end, &written[count]))) {
        count++;
        at = at < end && at[1] == '@' ? at + 3 : end;
        at += strspn(at, " ");
    }
    if (count < 2 || written[0].numbers[1] != numbers[1] || written[0].numbers[2] != numbers[2])
        return true;
    while (--count > 0) {
        written[count].numbers[0] = UINT32_MAX; /* no directive has this number of a file */
        struct fth_ptx_place *place = add_place(parser, written[count].numbers, *call);
        if (!place)
            return false;
        place->file_text = written[count].file;
        place->file_size = written[count].file_size;
        *call = place;
    }
    return true;
}

/* ---- directives ---- */

/* Parses "LABEL" or "LABEL+OFFSET" after "function_name". */
static void parse_function_name(struct fth_ptx_parser *parser, struct fth_ptx_token *label,
                                uint64_t *offset)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    *label = lexer->token;
    *offset = 0;
    fth_ptx_lexer_next(lexer);
    if (fth_ptx_lexer_accept(lexer, "+")) {
        *offset = lexer->token.kind == TOKEN_INTEGER ? lexer->token.integer : UINT64_MAX;
        fth_ptx_lexer_next(lexer);
    }
}

bool fth_ptx_parse_location(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    uint64_t numbers[3], offset = 0;
    struct fth_ptx_token label = {.kind = TOKEN_END};
    const struct fth_ptx_place *call = NULL;
    const char *text = lexer->token.start;
    if (!parse_numbers(parser, numbers))
        return false;
    while (fth_ptx_lexer_accept(lexer, ",")) {
        if (fth_ptx_lexer_accept(lexer, "function_name"))
            parse_function_name(parser, &label, &offset);
        else if (!fth_ptx_lexer_expect(lexer, "inlined_at") || !parse_call_position(parser, &call))
            return false;
    }
    if (!call && !parse_comment(parser, text, numbers, &call))
        return false;
    struct fth_ptx_place *place = add_place(parser, numbers, call);
    if (!place)
        return false;
    if (label.kind == TOKEN_WORD) {
        place->label = label.start;
        place->label_size = label.size;
        place->label_offset = offset;
        parser->has_function_names = true;
    }
    parser->file = place->file_number;
    parser->source = place->position.line ? &place->position : NULL;
    return true;
}

bool fth_ptx_parse_file(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    uint64_t number;
    if (!fth_ptx_parse_count(parser, UINT32_MAX, &number))
        return false;
    const struct fth_ptx_token token = lexer->token;
    if (token.kind != TOKEN_STRING)
        return fth_ptx_lexer_fail(lexer, &token, "expected the name of a file in quotes");
    void *files = parser->files;
    if (!fth_ptx_parser_grow(parser, &files, parser->file_count, &parser->file_capacity,
                             sizeof *parser->files))
        return false;
    parser->files = files;
    char *name = fth_arena_alloc(&parser->module->arena, token.size);
    if (!name)
        return fth_ptx_lexer_no_memory(lexer);
    for (size_t i = 0; i + 2 < token.size; i++) {
        const char c = token.start[i + 1];
        name[i] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c; /* names go to the terminal */
    }
    parser->files[parser->file_count++] = (struct fth_ptx_file){(uint32_t)number, name};
    fth_ptx_lexer_next(lexer);
    while (fth_ptx_lexer_accept(lexer, ",")) /* a timestamp and a size */
        fth_ptx_lexer_next(lexer);
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct fth_ptx_file *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Sets the name of the file of a position in a comment: that of a file with this name in any
 * folder, or the name itself. Reports an error when out of memory. */
static void name_written_file(struct fth_ptx_parser *parser, struct fth_ptx_place *place)
{
    for (size_t i = 0; i < parser->file_count && !place->position.file; i++) {
        const char *name = parser->files[i].name, *slash = strrchr(name, '/');
        const char *base = slash ? slash + 1 : name;
        if (strlen(base) == place->file_size &&
            memcmp(base, place->file_text, place->file_size) == 0)
            place->position.file = name;
    }
    if (!place->position.file)
        place->position.file = fth_ptx_parser_copy_text(parser, place->file_text, place->file_size);
}

static void name_file(struct fth_ptx_parser *parser, struct fth_ptx_place *place)
{
    if (place->file_text) {
        name_written_file(parser, place);
        return;
    }
    const struct fth_ptx_file key = {.number = place->file_number};
    const struct fth_ptx_file *file =
        parser->file_count ? bsearch(&key, parser->files, parser->file_count, sizeof key, by_number)
                           : NULL;
    place->position.file = file ? file->name : NULL;
}

/* The section .debug_str. `text` is a copy in the arena of the module. */
struct strings {
    char *text;
    size_t size; /* without the NUL that ends the copy */
    struct fth_debug_labels labels;
};

/* Reads the section .debug_str. Control characters become question marks, because the names go to
 * the terminal. Returns false when out of memory. */
static bool read_strings(struct fth_ptx_parser *parser, struct strings *strings)
{
    struct fth_buffer bytes = {0};
    fth_debug_section(parser->module->text, ".debug_str", &bytes, &strings->labels);
    fth_debug_labels_sort(&strings->labels);
    const bool ok = !bytes.failed && !strings->labels.failed;
    strings->text = ok ? fth_arena_alloc(&parser->module->arena, bytes.size + 1) : NULL;
    strings->size = bytes.size;
    for (size_t i = 0; strings->text && i < bytes.size; i++) {
        const char c = bytes.data[i];
        strings->text[i] = (c && (unsigned char)c < 0x20) || c == 0x7f ? '?' : c;
    }
    if (strings->text)
        strings->text[bytes.size] = '\0';
    fth_buffer_fini(&bytes);
    return strings->text != NULL;
}

/* Sets the name of the function that contains a position, if the section has it and fth_demangle
 * can write it. */
static void name_function(const struct strings *strings, struct fth_ptx_place *place)
{
    static const char section[] = ".debug_str";
    if (!place->label)
        return;
    const bool is_section = place->label_size == sizeof section - 1 &&
                            memcmp(place->label, section, sizeof section - 1) == 0;
    const struct fth_debug_label *label =
        is_section ? NULL
                   : fth_debug_labels_find(&strings->labels, place->label, place->label_size);
    const size_t start = label ? label->offset : 0;
    if ((!is_section && !label) || start > strings->size ||
        place->label_offset >= strings->size - start)
        return;
    const char *name = strings->text + start + place->label_offset;
    if (*name && strnlen(name, FTH_NAME_BYTES) < FTH_NAME_BYTES)
        place->position.function = name;
}

bool fth_ptx_name_places(struct fth_ptx_parser *parser)
{
    struct strings strings = {0};
    const bool ok = !parser->has_function_names || read_strings(parser, &strings);
    if (parser->file_count)
        qsort(parser->files, parser->file_count, sizeof *parser->files, by_number);
    for (size_t i = 0; i < BUCKETS && ok; i++)
        for (struct fth_ptx_place *place = parser->places[i]; place;
             place = place->next_in_bucket) {
            name_file(parser, place);
            name_function(&strings, place);
        }
    fth_debug_labels_fini(&strings.labels);
    return ok || fth_ptx_lexer_no_memory(&parser->lexer);
}
