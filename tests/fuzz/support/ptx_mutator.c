/* Changes PTX text by the grammar of PTX. Changes of random bytes almost always make a module that
 * the parser rejects at once. This mutator inserts, replaces, moves and removes whole statements,
 * which it makes from templates of the instructions that the engine knows (ptx_vocabulary.c). Most
 * of the modules are therefore accepted, and their kernels run. A small part of the changes replace
 * single words, so that invalid combinations are tested, too.
 *
 * The statements use the names that `fuzz_ptx_skeleton` declares. A statement that is moved to a
 * module with other names is rejected, which is harmless. */
#include "support/ptx_mutator.h"

#include "base/base.h"
#include "support/ptx_vocabulary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 8, MAX_STATEMENT = 512 };

/* ---- statements from templates ---- */

struct statement {
    char text[MAX_STATEMENT];
    size_t size;
};

static uint64_t below(struct fth_rng *rng, uint64_t bound)
{
    return fth_rng_below(rng, bound);
}

static void put(struct statement *statement, const char *text, size_t size)
{
    if (size > sizeof statement->text - 1 - statement->size)
        size = sizeof statement->text - 1 - statement->size;
    memcpy(statement->text + statement->size, text, size);
    statement->size += size;
    statement->text[statement->size] = '\0';
}

static void put_text(struct statement *statement, const char *text)
{
    put(statement, text, strlen(text));
}

static void put_one_of(struct statement *statement, struct fth_rng *rng,
                       const struct fuzz_words *list)
{
    put_text(statement, list->words[below(rng, list->count)]);
}

static void put_number(struct statement *statement, const char *format, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, format, (unsigned)number);
    put_text(statement, text);
}

/* Appends "[BASE]" or "[BASE+OFFSET]" with one of two bases. */
static void put_address(struct statement *statement, struct fth_rng *rng, const char *base,
                        const char *other)
{
    static const char *const offsets[] = {"",   "",    "",    "+4",    "+8",  "+16",
                                          "+2", "+64", "+-8", "+4096", "-16", "+1"};
    put_text(statement, "[");
    if (below(rng, 16) == 0)
        put_number(statement, "%%r%u", below(rng, 16));
    else
        put_text(statement, below(rng, 3) ? base : other);
    put_text(statement, offsets[below(rng, FTH_COUNT(offsets))]);
    put_text(statement, "]");
}

/* Appends any operand that can be a source. */
static void put_source(struct statement *statement, struct fth_rng *rng)
{
    const uint64_t kind = below(rng, 32);
    if (kind < 22)
        put_number(statement, "%%r%u", below(rng, 16));
    else if (kind < 28)
        put_one_of(statement, rng, &fuzz_ptx_numbers);
    else if (kind < 30)
        put_one_of(statement, rng, &fuzz_ptx_specials);
    else if (kind == 30)
        put_one_of(statement, rng, &fuzz_ptx_symbols);
    else
        put_number(statement, "%%a%u", below(rng, 4));
}

/* Appends a vector of `count` registers that follow each other, at most all 16. */
static void put_vector(struct statement *statement, struct fth_rng *rng, unsigned count)
{
    const uint64_t first = below(rng, 17 - count);
    for (unsigned i = 0; i < count; i++)
        put_number(statement, i ? ", %%r%u" : "{%%r%u", first + i);
    put_text(statement, "}");
}

/* Appends the operand that a letter after '$' stands for. */
static void put_operand(struct statement *statement, struct fth_rng *rng, char letter)
{
    switch (letter) {
    case 'd':
    case 'e': put_number(statement, "%%r%u", below(rng, 16)); break;
    case 'q':
        put_text(statement, below(rng, 3) ? "" : "!");
        put_number(statement, "%%p%u", below(rng, 8));
        break;
    case 'p': put_number(statement, "%%p%u", below(rng, 8)); break;
    case 'n': put_number(statement, "%u", below(rng, 256)); break;
    case 'Q': put_number(statement, "%%q%u", below(rng, 4)); break;
    case '1':
    case '2':
    case '4':
    case '8': put_vector(statement, rng, (unsigned)(letter - '0')); break;
    case 'w': put_vector(statement, rng, 16); break;
    case 'b':
        if (below(rng, 8))
            put_text(statement, "[b0]");
        else
            put_address(statement, rng, "b0", "dyn");
        break;
    case 'L': put_number(statement, "L%u", below(rng, LABELS)); break;
    case 'g': put_address(statement, rng, "%a1", "g0"); break;
    case 'h': put_address(statement, rng, "h0", "dyn"); break;
    case 'l': put_address(statement, rng, "l0", "l0"); break;
    case 'k': put_address(statement, rng, "c0", "c0"); break;
    case 'm': put_address(statement, rng, "p0", "p3"); break;
    case 'x': put_address(statement, rng, below(rng, 2) ? "%a2" : "%a3", "%a1"); break;
    default: put_source(statement, rng); break;
    }
}

/* Appends what a part of a template without alternatives stands for. */
static void put_plain(struct statement *statement, struct fth_rng *rng, const char *from,
                      const char *end)
{
    for (; from < end; from++)
        switch (*from) {
        case '$': put_operand(statement, rng, *++from); break;
        case '<': put_text(statement, "{"); break;
        case '>': put_text(statement, "}"); break;
        default: put(statement, from, 1); break;
        }
}

/* Appends one of the alternatives of "{a/b/c}", which begin at `from` and may contain operands.
 * Returns what follows the '}'. */
static const char *put_alternative(struct statement *statement, struct fth_rng *rng,
                                   const char *from)
{
    const char *end = strchr(from, '}');
    size_t count = 1;
    for (const char *c = from; c < end; c++)
        count += *c == '/';
    for (uint64_t left = below(rng, count); left > 0; from++)
        left -= *from == '/';
    put_plain(statement, rng, from, from + strcspn(from, "/}"));
    return end + 1;
}

static void put_template(struct statement *statement, struct fth_rng *rng, const char *template)
{
    while (*template) {
        const char *brace = template + strcspn(template, "{");
        put_plain(statement, rng, template, brace);
        template = *brace ? put_alternative(statement, rng, brace + 1) : brace;
    }
}

/* Makes an instruction with its newline. */
static void make_instruction(struct statement *statement, struct fth_rng *rng)
{
    const char *template = fuzz_ptx_instructions.words[below(rng, fuzz_ptx_instructions.count)];
    statement->size = 0;
    if (below(rng, 5) == 0 && *template != '<') {
        put_text(statement, "@");
        put_operand(statement, rng, 'q');
        put_text(statement, " ");
    }
    put_template(statement, rng, template);
    put_text(statement, *template == '<' ? "\n" : ";\n");
}

static void make_directive(struct statement *statement, struct fth_rng *rng, bool in_body)
{
    const struct fuzz_words *list = in_body ? &fuzz_ptx_body_directives : &fuzz_ptx_directives;
    statement->size = 0;
    put_template(statement, rng, list->words[below(rng, list->count)]);
    put_text(statement, "\n");
}

/* ---- changes of the text ---- */

/* The text that is changed. It ends with a NUL, which `size` does not count. */
struct text {
    char *data;
    size_t size, max_size;
};

/* Replaces `removed` bytes at `at` by others, unless the text becomes too large. */
static void replace(struct text *text, size_t at, size_t removed, const char *added, size_t size)
{
    if (text->size - removed + size > text->max_size)
        return;
    memmove(text->data + at + size, text->data + at + removed, text->size - at - removed + 1);
    memcpy(text->data + at, added, size);
    text->size = text->size - removed + size;
}

/* Returns the start of a random line, and its size with the newline. */
static size_t random_line(const struct text *text, struct fth_rng *rng, size_t *size)
{
    size_t at = text->size ? (size_t)below(rng, text->size) : 0;
    while (at > 0 && text->data[at - 1] != '\n')
        at--;
    *size = strcspn(text->data + at, "\n");
    *size += at + *size < text->size;
    return at;
}

/* Returns whether a line can be preceded by an instruction: it is in a body, after the registers.
 */
static bool is_in_body(const struct text *text, size_t at)
{
    const char saved = text->data[at];
    text->data[at] = '\0';
    const char *open = NULL, *close = NULL;
    for (const char *c = text->data; (c = strstr(c, "\n{\n")); c++)
        open = c;
    for (const char *c = text->data; (c = strstr(c, "\n}\n")); c++)
        close = c;
    text->data[at] = saved;
    return open && (!close || close < open) && text->data[at] != '.' && text->data[at] != '{';
}

/* Returns the start of a random line of a body, and its size. Rarely, it is any line. */
static size_t random_statement(const struct text *text, struct fth_rng *rng, size_t *size)
{
    size_t at = random_line(text, rng, size);
    const bool any = below(rng, 32) == 0;
    for (int tries = 0; tries < 32 && !any && (!is_in_body(text, at) || text->data[at] == '}');
         tries++)
        at = random_line(text, rng, size);
    return at;
}

/* Inserts up to four instructions, or replaces statements by them. */
static void insert_instructions(struct text *text, struct fth_rng *rng, bool replaced)
{
    struct statement statement;
    for (uint64_t i = 1 + below(rng, 4); i > 0; i--) {
        size_t size;
        const size_t at = random_statement(text, rng, &size);
        make_instruction(&statement, rng);
        replace(text, at, replaced && text->data[at] != 'L' ? size : 0, statement.text,
                statement.size);
    }
}

static void insert_directive(struct text *text, struct fth_rng *rng)
{
    struct statement statement;
    size_t size;
    const size_t at = random_line(text, rng, &size);
    make_directive(&statement, rng, is_in_body(text, at) || text->data[at] == '.');
    replace(text, at, 0, statement.text, statement.size);
}

/* Copies a line to another place, or moves it there. */
static void copy_line(struct text *text, struct fth_rng *rng, bool move)
{
    struct statement statement = {.size = 0};
    size_t size;
    size_t at = random_statement(text, rng, &size);
    put(&statement, text->data + at, size);
    if (move)
        replace(text, at, size, "", 0);
    at = random_statement(text, rng, &size);
    replace(text, at, 0, statement.text, statement.size);
}

/* Replaces a word or a part of an opcode by another word of the vocabulary. */
static void change_word(struct text *text, struct fth_rng *rng)
{
    static const char letters[] = "despqnLghlkmxbQ14";
    struct statement statement = {.size = 0};
    size_t size, at = random_line(text, rng, &size), start = at + below(rng, size ? size : 1);
    while (start > at && isalnum((unsigned char)text->data[start - 1]))
        start--;
    size_t length = 0;
    while (isalnum((unsigned char)text->data[start + length]))
        length++;
    if (below(rng, 2)) {
        /* A word of another template: an opcode, a type or a modifier. */
        make_instruction(&statement, rng);
        char *dot = strchr(statement.text, '.');
        const char *word = dot ? dot + 1 : statement.text;
        replace(text, start, length, word, strcspn(word, ". ;\n"));
        return;
    }
    put_operand(&statement, rng, letters[below(rng, sizeof letters - 1)]);
    replace(text, start, length, statement.text, statement.size);
}

/* ---- labels ---- */

/* Returns the next use or definition of a label in text->data[from, to), or `to`. */
static size_t find_label(const struct text *text, size_t from, size_t to, char digit)
{
    for (size_t at = from; at + 1 < to; at++)
        if (text->data[at] == 'L' && text->data[at + 1] == digit &&
            !isalnum((unsigned char)text->data[at + 2]) &&
            (at == 0 || !isalnum((unsigned char)text->data[at - 1])))
            return at;
    return to;
}

/* Defines the labels that a body uses and does not define, and removes second definitions. */
static void repair_body(struct text *text, struct fth_rng *rng, size_t from, size_t *to)
{
    for (int index = 0; index < LABELS; index++) {
        const char digit = (char)('0' + index);
        bool used = false, defined = false;
        for (size_t at = find_label(text, from, *to, digit); at < *to;
             at = find_label(text, at + 1, *to, digit)) {
            const bool defines = text->data[at + 2] == ':';
            used = used || !defines;
            if (defines && defined) {
                replace(text, at, 3, "", 0);
                *to -= 3;
            }
            defined = defined || defines;
        }
        if (!used || defined || text->size + 4 > text->max_size)
            continue;
        size_t at = *to;
        if (below(rng, 2)) /* in the body instead of at its end */
            for (at = from + below(rng, *to - from); at > from && text->data[at - 1] != '\n';)
                at--;
        const char label[] = {'L', digit, ':', '\n'};
        replace(text, is_in_body(text, at) ? at : *to, 0, label, sizeof label);
        *to += sizeof label;
    }
}

static void repair_labels(struct text *text, struct fth_rng *rng)
{
    for (size_t at = 0; at < text->size;) {
        const char *open = strstr(text->data + at, "\n{\n");
        const char *close = open ? strstr(open, "\n}\n") : NULL;
        if (!close)
            return;
        size_t to = (size_t)(close - text->data) + 1;
        repair_body(text, rng, (size_t)(open - text->data) + 3, &to);
        at = to;
    }
}

/* ---- the mutator ---- */

static void change(struct text *text, struct fth_rng *rng)
{
    const uint64_t kind = below(rng, 100);
    size_t size;
    if (kind < 40)
        insert_instructions(text, rng, false);
    else if (kind < 60)
        insert_instructions(text, rng, true);
    else if (kind < 70) {
        const size_t at = random_statement(text, rng, &size);
        replace(text, at, size, "", 0);
    } else if (kind < 80)
        copy_line(text, rng, kind < 75);
    else if (kind < 90)
        change_word(text, rng);
    else if (kind < 95)
        insert_directive(text, rng);
    else
        text->size = LLVMFuzzerMutate((uint8_t *)text->data, text->size, text->max_size);
    for (size_t i = 0; i < text->size; i++) /* the functions above need a C string */
        if (text->data[i] == '\0')
            text->data[i] = ' ';
    text->data[text->size] = '\0';
}

size_t fuzz_mutate_ptx(char *data, size_t size, size_t max_size, unsigned seed)
{
    struct fth_rng rng;
    struct text text = {.size = size, .max_size = max_size, .data = malloc(max_size + 1)};
    if (!text.data)
        return size;
    fth_rng_init(&rng, seed);
    memcpy(text.data, data, size);
    text.data[size] = '\0';
    if (!strstr(text.data, ".version"))
        replace(&text, 0, text.size, fuzz_ptx_skeleton, strlen(fuzz_ptx_skeleton));
    for (uint64_t count = 1 + below(&rng, 3); count > 0; count--)
        change(&text, &rng);
    repair_labels(&text, &rng);
    memcpy(data, text.data, text.size);
    size = text.size;
    free(text.data);
    return size;
}
