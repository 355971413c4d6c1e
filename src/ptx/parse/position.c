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
 * is that of the last .loc directive of the function with this position. */
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
static const struct fth_ptx_place *add_place(struct fth_ptx_parser *parser,
                                             const uint64_t numbers[3],
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

bool fth_ptx_parse_location(struct fth_ptx_parser *parser)
{
    struct fth_ptx_lexer *lexer = &parser->lexer;
    uint64_t numbers[3];
    const struct fth_ptx_place *call = NULL;
    if (!parse_numbers(parser, numbers))
        return false;
    while (fth_ptx_lexer_accept(lexer, ",")) {
        if (fth_ptx_lexer_accept(lexer, "function_name")) {
            fth_ptx_lexer_next(lexer); /* a label in .debug_str, and optionally an offset */
            if (fth_ptx_lexer_accept(lexer, "+"))
                fth_ptx_lexer_next(lexer);
        } else if (!fth_ptx_lexer_expect(lexer, "inlined_at") ||
                   !parse_call_position(parser, &call)) {
            return false;
        }
    }
    const struct fth_ptx_place *place = add_place(parser, numbers, call);
    if (!place)
        return false;
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

void fth_ptx_name_files(struct fth_ptx_parser *parser)
{
    if (parser->file_count == 0)
        return;
    qsort(parser->files, parser->file_count, sizeof *parser->files, by_number);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct fth_ptx_place *place = parser->places[i]; place;
             place = place->next_in_bucket) {
            const struct fth_ptx_file key = {.number = place->file_number};
            const struct fth_ptx_file *file =
                bsearch(&key, parser->files, parser->file_count, sizeof key, by_number);
            place->position.file = file ? file->name : NULL;
        }
}
