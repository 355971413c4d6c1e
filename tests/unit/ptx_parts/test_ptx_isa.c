/* Tests of ptx/: which instructions of the PTX ISA the engine executes. tests/ptx-isa/
 * instructions.txt lists them all, with a statement for each form, and docs/ptx.md must agree. */
#include "check.h"
#include "ptx/refused.h"

#include <stdio.h>
#include <stdlib.h>

/* The names that the statements use. The guard is never true, so that nothing is executed. */
static const char head[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".global .align 8 .b8 global[1024];\n.shared .align 16 .b8 shared[1024];\n"
    ".shared .align 8 .b64 bar;\n.global .texref texture;\n"
    ".func (.reg .b32 result) function (.reg .b32 argument) {\nmov.b32 result, argument; ret; }\n"
    ".visible .entry k(.param .b32 parameter) {\n.reg .pred %p<4>; .reg .b8 %b<4>;\n"
    ".reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<8>; .reg .b128 %q<4>;\n"
    ".reg .f32 %f<16>; .reg .f64 %e<4>;\nsetp.ne.u32 %p3, %r15, %r15;\n"
    "targets: .branchtargets AT, END;\n"
    "prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n@%p3 ";
static const char tail[] = ";\nAT:\nEND: ret;\n}\n";

struct line {
    char section[64], name[48], statement[256];
    bool executed;
};

/* Parses a line of the list. Returns false for comments and headings. */
static bool parse_line(const char *text, struct line *line)
{
    if (sscanf(text, "[%63[^]]", line->section) == 1 || text[0] == '#' || text[0] == '\n')
        return false;
    line->executed = text[0] != '-' && text[0] != '*';
    if (sscanf(text + (line->executed ? 0 : 2), "%47[^:]: %255[^\n]", line->name,
               line->statement) != 2)
        fail_msg("instructions.txt: %s", text);
    return true;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Returns column `column` of the row of a section in the table of docs/ptx.md. */
static void find_column(const char *document, const char *section, int column, char *cell,
                        size_t size)
{
    char start[80];
    snprintf(start, sizeof start, "\n| %s |", section);
    const char *at = strstr(document, start);
    if (!at)
        fail_msg("docs/ptx.md has no row for the section '%s'", section);
    at += strlen(start);
    for (int i = 1; i < column; i++) {
        at = strchr(at, '|');
        assert_non_null(at);
        at++;
    }
    const size_t bytes = strcspn(at, "|\n");
    assert_true(bytes < size);
    memcpy(cell, at, bytes);
    cell[bytes] = 0;
}

static void check_document(const char *document, const struct line *line)
{
    char cell[4096], name[64];
    find_column(document, line->section, line->executed ? 1 : 2, cell, sizeof cell);
    snprintf(name, sizeof name, "`%s`", line->name);
    if (!strstr(cell, name))
        fail_msg("docs/ptx.md: %s is missing in the row '%s', column %s", name, line->section,
                 line->executed ? "executed" : "refused");
}

static void instructions(void **state)
{
    (void)state;
    char *document = read_text(FTH_SOURCE_ROOT "/docs/ptx.md");
    FILE *file = fopen(FTH_SOURCE_ROOT "/tests/ptx-isa/instructions.txt", "r");
    assert_non_null(file);
    struct line line = {.section = ""};
    char text[512];
    size_t executed = 0, refused = 0;
    while (fgets(text, sizeof text, file)) {
        if (!parse_line(text, &line))
            continue;
        char ptx[2048];
        const int size = snprintf(ptx, sizeof ptx, "%s%s%s", head, line.statement, tail);
        assert_true(size > 0 && (size_t)size < sizeof ptx);
        struct fth_error error = NO_ERROR;
        const bool is = is_refused(ptx, (size_t)size, &error);
        if (is == line.executed)
            fail_msg("'%s' is %s: %s", line.statement, is ? "refused" : "not refused", error.cause);
        check_document(document, &line);
        *(is ? &refused : &executed) += 1;
    }
    fclose(file);
    free(document);
    assert_true(executed > 200 && refused > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
